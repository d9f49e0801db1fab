/* SPDX-License-Identifier: MIT */
/* The part of the table for `top` and `doctor`; table.c has the rules for texts. */
#include "table.h"

/* A table: laid out by hand. */
/* clang-format off */

const struct option table_top_options[] = {
	{
		.letter = 'i',
		.name = "interval",
		.argument = "TIME",
		.kind = OPTION_TIME,
		.offset = offsetof(struct top_options, interval),
		.standard = "1s",
		.sentence = "Show rates every TIME.",
	},
	{
		.letter = 'n',
		.name = "count",
		.argument = "COUNT",
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct top_options, count),
		.standard = "until q is typed",
		.sentence = "End after COUNT intervals.",
	},
	{
		.letter = 'e',
		.name = "event",
		.argument = "PATTERN",
		.kind = OPTION_LIST,
		.completion = COMPLETE_EVENT,
		.offset = offsetof(struct top_options, patterns),
		.standard = "all events",
		.sentence = "Count the events that match PATTERN. Can be given several times.",
	},
	{
		.name = "pair",
		.argument = "BEGIN END",
		.two = true,
		.kind = OPTION_LIST,
		.completion = COMPLETE_EVENT,
		.offset = offsetof(struct top_options, pairs),
		.sentence = "Measure the time from each event that matches the pattern BEGIN to the next matching END, as `side report` does. Can be given several times.",
	},
	{
		.name = "key",
		.argument = "EXPRESSION",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct top_options, key),
		.standard = "the thread if it was recorded (context vtid), otherwise the process",
		.sentence = "With `--pair`: events belong together if EXPRESSION has the same value in both, in one process.",
	},
	{
		.name = "callers",
		.argument = "COUNT",
		.optional = true,
		.digits_follow = true,
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct top_options, callers),
		.sentence = "List the COUNT code locations from which most events came, as function, file and line; 10 without COUNT. The location is a field named caller, otherwise the first address of the context backtrace, otherwise the context ip.",
	},
	{
		.name = "debuginfod",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct top_options, debuginfod),
		.sentence = "With `--callers`: get missing debug information from the servers in DEBUGINFOD_URLS.",
	},
	{
		.letter = 's',
		.name = "session",
		.argument = "SESSION",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_SESSION,
		.offset = offsetof(struct top_options, session),
		.standard = "the current session",
		.sentence = "Use the session SESSION.",
	},
	{
		.name = "no-daemon",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct top_options, no_daemon),
		.sentence = "Accepted for scripts: this verb never starts a daemon.",
	},
	{
		.name = "system",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct top_options, system),
		.sentence = "Use the daemon of the system (/run/side) instead of the user's.",
	},
	{ .name = NULL },
};

const char *const table_top_paragraphs[] = {
	"Shows what a session records: bytes, events and losses a second of each process, and events a second of each event, the most frequent ones first. "
	"Losses are red. "
	"`q` ends it.",
	"Events are counted in the trace as it is written, about a second after they happened. "
	"Events that stay in rings (`--mode overwrite`) are not counted. "
	"Bytes and losses come from the recorder.",
	"`--callers` prints functions if the session records where libraries are loaded (`side create --symbols`). "
	"Otherwise it prints addresses.",
	"On a terminal each interval replaces the previous one; otherwise they follow one another.",
	NULL,
};

const struct example table_top_examples[] = {
	{ "side top",
		"Watch the current session." },
	{ "side top --pair 'db:query_begin' 'db:query_end' --key id",
		"Watch how long queries take." },
	{ "side top --callers 5 -e 'libc:malloc'",
		"Watch which lines allocate most often." },
	{ "side top --json -n 1 | jq 'select(.type == \"process\") | .lost'",
		"Print the losses of one interval for another program." },
	{ .command = NULL },
};

const struct option table_doctor_options[] = {
	{
		.name = "root",
		.argument = "DIR",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_DIRECTORY,
		.offset = offsetof(struct doctor_options, root),
		.standard = "/",
		.sentence = "Check only the files below DIR, such as the image of another machine.",
	},
	{ .name = NULL },
};

const char *const table_doctor_paragraphs[] = {
	"Checks what tracing needs on this machine, for this user. "
	"Prints for each check what it is for, what was found, and, if something is missing, the command that fixes it. "
	"Nothing is changed.",
	"CHECK is the name of a check, as in the list; the default is all checks. "
	"The state is ok, note (something optional is not available) or missing (sessions or recordings fail, or work badly). "
	"The exit status is 1 if anything is missing.",
	NULL,
};

const struct example table_doctor_examples[] = {
	{ "side doctor",
		"Find out why nothing is recorded." },
	{ "side doctor libside agent pkgconfig",
		"Check whether programs find this installation of libside, and whether its parts are of one release." },
	{ "side doctor ptrace perf",
		"Run two checks." },
	{ "side doctor --json | jq -r 'select(.hint) | .hint'",
		"Print the commands that fix what is missing." },
	{ .command = NULL },
};

/* clang-format on */
