/* SPDX-License-Identifier: MIT */
/* The part of the table for `attach` and `detach`; table.c has the rules for texts. */
#include "table.h"

/* A table: laid out by hand. */
/* clang-format off */

/* In the order of enum session_channel_mode and enum session_format. */
static const char *const mode_choices[] = { "discard", "overwrite", "block", NULL };
static const char *const wrapper_choices[] = { "libc", "pthread", NULL };
static const char *const format_choices[] = { "ctf1", "ctf2", NULL };

const struct option table_attach_options[] = {
	{
		.letter = 'p',
		.name = "pid",
		.argument = "PID",
		.kind = OPTION_NUMBER,
		.completion = COMPLETE_PROCESS_ID,
		.offset = offsetof(struct attach_options, pid),
		.sentence = "The process to attach to; the number can also be given alone.",
	},
	{
		.letter = 'e',
		.name = "event",
		.argument = "PATTERN",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_EVENT,
		.ordered = true,
		.offset = offsetof(struct attach_options, channels),
		.standard = "all events",
		.sentence = "Record the events that match PATTERN. Can be given several times; see `side help patterns`.",
	},
	{
		.letter = 'f',
		.name = "filter",
		.argument = "EXPRESSION",
		.kind = OPTION_TEXT,
		.ordered = true,
		.offset = offsetof(struct attach_options, channels),
		.sentence = "Record an event only if EXPRESSION, such as `size > 4096`, is true. It applies to each `-e` before it, back to the previous `--filter`; before any `-e` it applies to all events. See `side help filters`.",
	},
	{
		.name = "context",
		.argument = "NAME,...",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_CONTEXT,
		.ordered = true,
		.offset = offsetof(struct attach_options, channels),
		.sentence = "Record these values with each event. See `side help contexts`.",
	},
	{
		.letter = 'w',
		.name = "wrap",
		.argument = "WRAPPER",
		.kind = OPTION_LIST,
		.completion = COMPLETE_CHOICE,
		.offset = offsetof(struct attach_options, wrappers),
		.choices = wrapper_choices,
		.sentence = "Record calls of a library as events, as `side record -w` does: libc (memory, files) or pthread (locks, threads). Can be given several times.",
	},
	{
		.letter = 'o',
		.name = "output",
		.argument = "DIR",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_DIRECTORY,
		.offset = offsetof(struct attach_options, output),
		.standard = "side-DATE-TIME in the current directory",
		.sentence = "Write the trace to DIR.",
	},
	{
		.name = "duration",
		.argument = "TIME",
		.kind = OPTION_TIME,
		.offset = offsetof(struct attach_options, duration),
		.standard = "until Ctrl-C, or the end of the program",
		.sentence = "Record for TIME: seconds, or a number with ms, s or min.",
	},
	{
		.name = "mode",
		.argument = "MODE",
		.kind = OPTION_CHOICE,
		.completion = COMPLETE_CHOICE,
		.ordered = true,
		.offset = offsetof(struct attach_options, channels),
		.choices = mode_choices,
		.standard = "discard",
		.sentence = "If a ring is full: discard, overwrite or block, as for `side record`.",
	},
	{
		.name = "buffer-size",
		.argument = "SIZE",
		.kind = OPTION_SIZE,
		.ordered = true,
		.offset = offsetof(struct attach_options, channels),
		.standard = "4M, but at most 64M for all rings of a process",
		.sentence = "Give each CPU of each process a ring of SIZE bytes, rounded to a power of two.",
	},
	TABLE_PRINT_OPTION(attach_options, "on standard output."),
	{
		.name = "symbols",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct attach_options, symbols),
		.sentence = "Record where the executable and its libraries are loaded, as `side record --symbols` does.",
	},
	{
		.name = "format",
		.argument = "FORMAT",
		.kind = OPTION_CHOICE,
		.completion = COMPLETE_CHOICE,
		.offset = offsetof(struct attach_options, format),
		.choices = format_choices,
		.standard = "ctf1",
		.sentence = "Write CTF 1.8 (ctf1) or CTF 2 (ctf2).",
	},
	{
		.name = "force",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct attach_options, force),
		.sentence = "Write to DIR even if it is not empty.",
	},
	{
		.name = "daemon",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct attach_options, daemon),
		.sentence = "Do not record here: connect the program to the daemon, as if it had started after it. It then belongs to the daemon's sessions.",
	},
	{
		.letter = 's',
		.name = "session",
		.argument = "SESSION",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_SESSION,
		.offset = offsetof(struct attach_options, session),
		.sentence = "Like `--daemon`, and fail if the session SESSION does not record the program.",
	},
	{
		.name = "system",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct attach_options, system),
		.sentence = "With `--daemon` or `-s`: use the daemon of the system (/run/side) instead of the user's.",
	},
	{
		.name = "in-sandbox",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct attach_options, in_sandbox),
		.sentence = "Attach even if the program is in a sandbox (seccomp). If its filter forbids what loading a library and creating a thread need, the filter ends the program.",
	},
	{ .name = NULL },
};

const char *const table_attach_paragraphs[] = {
	"Loads the agent into a running program and records its events until Ctrl-C, until the program ends, or for a `--duration`. "
	"Then the agent stops. "
	"With `--daemon` or `-s` nothing is recorded here: the program joins the daemon's sessions until `side detach`.",
	"The events are those that the program and its libraries declare with libside. "
	"With `-w`, calls of the C library are events too: the imported addresses of the program and its libraries lead to a wrapper until the recording ends. "
	"Calls through a pointer that the program has stored are not recorded; `side trace -p` records them by probes.",
	"One thread is stopped for a moment, where it can safely create a thread; the new thread loads the agent and ends. side refuses, and leaves the program unchanged, if no thread comes to such a point in two seconds, if the program is static, in a sandbox or of another architecture, if another tracer is attached, or if ptrace is not permitted.",
	"The library, libside and the stack of the ended thread stay in memory afterwards. "
	"Threads, descriptors and rings do not.",
	"A program in another mount or pid namespace, or with another root directory, gets the libraries as memory. "
	"With `--daemon` it connects through a socket that is created where it can see it, and removed with the last program that uses it.",
	NULL,
};

const struct example table_attach_examples[] = {
	{ "side attach -p 4711 -e 'db:*' -o trace --duration 10s",
		"Record a running program for ten seconds." },
	{ "side attach -p 4711 -e 'db:query' -f 'rows > 1000' -o slow",
		"Record large queries, until Ctrl-C." },
	{ "side attach -p 4711 --daemon",
		"Add a program to the daemon's sessions." },
	{ .command = NULL },
};

const struct option table_detach_options[] = {
	{
		.letter = 'p',
		.name = "pid",
		.argument = "PID",
		.kind = OPTION_NUMBER,
		.completion = COMPLETE_PROCESS_ID,
		.offset = offsetof(struct attach_options, pid),
		.sentence = "The process to detach from; the number can also be given alone.",
	},
	{
		.name = "in-sandbox",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct attach_options, in_sandbox),
		.sentence = "As for `side attach`.",
	},
	{ .name = NULL },
};

const char *const table_detach_paragraphs[] = {
	"Ends what `side attach` started: recordings whose recorder was killed, and with `--daemon` the connection to the daemon. "
	"Events then cost what they cost before.",
	"Do not use it while a recording continues: the recording would lose the program. "
	"End a recording with Ctrl-C.",
	NULL,
};

const struct example table_detach_examples[] = {
	{ "side detach -p 4711",
		"Detach from a program." },
	{ .command = NULL },
};

/* clang-format on */
