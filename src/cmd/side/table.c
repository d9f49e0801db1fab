/* SPDX-License-Identifier: MIT */
/*
 * The one table of the command line. Text rules: whole sentences with a full stop, no markup; an
 * option inside a text is written as the user types it (`--strict`), between back quotes.
 */
#include "table.h"

#include <string.h>

/* A table: laid out by hand. */
/* clang-format off */

static const char *const color_words[] = { "auto", "always", "never", NULL };
static const char *const wrapper_words[] = { "libc", "pthread", NULL };

const struct option command_common_options[] = {
	{
		.name = "color",
		.argument = "WHEN",
		.kind = OPTION_CHOICE,
		.completion = COMPLETE_CHOICE,
		.offset = offsetof(struct common_options, color),
		.choices = color_words,
		.standard = "auto",
		.sentence = "Use colours: auto (on a terminal, unless NO_COLOR is set), always or never.",
	},
	{
		.name = "json",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct common_options, json),
		.sentence = "Print JSON, one object a line, each with a member \"schema\"; errors too.",
	},
	{
		.letter = 'q',
		.name = "quiet",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct common_options, quiet),
		.sentence = "Print no notes, progress or summary: data and errors only.",
	},
	{
		.letter = 'v',
		.name = "verbose",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct common_options, verbose),
		.sentence = "Say more about what is being done.",
	},
	{
		.letter = 'h',
		.name = "help",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct common_options, help),
		.sentence = "Print help, with examples, and exit.",
	},
	{
		.letter = 'V',
		.name = "version",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct common_options, version),
		.sentence = "Print the version and exit.",
	},
	{ .name = NULL },
};

/* record, recover: table-record.c */

static const char *const record_see_also[] = { "list", "recover", "view", NULL };
static const char *const attach_see_also[] = { "detach", "doctor", "record", NULL };
static const char *const detach_see_also[] = { "attach", NULL };
static const char *const recover_see_also[] = { "adopt", "record", "view", NULL };
static const char *const adopt_see_also[] = { "daemon", "doctor", "recover", "view", NULL };

/* list */

static const struct option list_table[] = {
	{
		.letter = 'e',
		.name = "event",
		.argument = "PATTERN",
		.kind = OPTION_LIST,
		.completion = COMPLETE_EVENT,
		.offset = offsetof(struct list_options, patterns),
		.standard = "all events",
		.sentence = "List the events that match PATTERN. May be given several times; see `side help patterns`.",
	},
	{
		.letter = 'l',
		.name = "libraries",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct list_options, libraries),
		.sentence = "For a FILE: list the events of the libraries that it is linked with, too.",
	},
	{
		.letter = 'w',
		.name = "wrap",
		.argument = "WRAPPER",
		.kind = OPTION_LIST,
		.completion = COMPLETE_CHOICE,
		.offset = offsetof(struct list_options, wrappers),
		.choices = wrapper_words,
		.sentence = "For a COMMAND: list the events of a wrapper, too, as `side record "
				"-w` would record them.",
	},
	{
		.name = "names",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct list_options, names),
		.sentence = "Print only provider:event, one a line.",
	},
	{
		.letter = 'u',
		.name = "userspace",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct list_options, userspace),
		.sentence = "List the events of all programs that run and may be looked at. Those that have no recorder, because "
				"they were started before the daemon or without one, are said at the end; `side attach` brings it.",
	},
	{
		.letter = 'k',
		.name = "kernel",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct list_options, kernel),
		.sentence = "List the kernel's trace events, which `side record -k` and `side enable-event -k` record; words are "
				"patterns of their names then.",
	},
	{
		.name = "system",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct list_options, system),
		.sentence = "For sessions: ask the daemon of the system.",
	},
	{ .name = NULL },
};

static const char *const list_paragraphs[] = {
	"Prints the events that a program or library has: names, log levels, fields with their "
	"types, and attributes. Without a word it lists the sessions of the daemon, if one runs; with the name of "
	"a session it shows what `side status` does.",
	"FILE is an executable, shared library, object file or static archive; it is read and not run. PID is the "
	"number of a running process; its memory is read, the process goes on undisturbed, and "
	"each event is shown with whether somebody listens to it. COMMAND is started and stopped "
	"before its main function: then the events of all libraries that it loads, and those that "
	"its constructors register at run time, are there.",
	"A word that is all digits is a PID; a word that has a slash, or names a file here, is a "
	"FILE; the name of a session is a SESSION; any other word is a COMMAND found in PATH. After `--` everything is a COMMAND with "
	"its arguments.",
	"In a running process the events are those that stand in the files that it has mapped, and "
	"those that it has registered at run time, which come last; what it registers or "
	"unregisters while it is being read may be missing. If its libside is another "
	"implementation that does not tell, a note says so. A file whose section headers were "
	"removed can only be listed as a COMMAND.",
	NULL,
};

static const struct example list_examples[] = {
	{ "side list ./server", "List what an executable could say, without running it." },
	{ "side list --libraries /usr/bin/sqlite3", "Look into the libraries that it needs, too." },
	{ "side list", "List the sessions of the daemon." },
	{ "side list -u", "List the events of all programs that run." },
	{ "side list -k sched", "List what the kernel says of its scheduler." },
	{ "side list 4711 -e 'db:*'", "List the events of a running process, and which are enabled." },
	{ "side list -- ./server --check", "Start a command up to main and list all that it registered." },
	{ "side list --json ./server | jq -r .event", "Let another program read the list." },
	{ .command = NULL },
};

static const char *const list_see_also[] = { "record", NULL };

/* view */

static const struct option view_table[] = {
	{
		.letter = 'e',
		.name = "event",
		.argument = "PATTERN",
		.kind = OPTION_LIST,
		.completion = COMPLETE_EVENT,
		.offset = offsetof(struct view_arguments, patterns),
		.standard = "all events",
		.sentence = "Show the events that match PATTERN. May be given several times; see `side help patterns`.",
	},
	{
		.name = "where",
		.argument = "EXPR",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct view_arguments, where),
		.standard = "all events",
		.sentence = "Show the events for which EXPR is true, as in `size > 4096 && "
				"$ctx.procname == \"redis*\"`; see `side help filters`.",
	},
	{
		.name = "from",
		.argument = "TIME",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct view_arguments, from),
		.standard = "the beginning",
		.sentence = "Show nothing that happened before TIME: HH:MM[:SS[.FRACTION]] on the day "
				"on which the trace begins, the same behind YYYY-MM-DD and a blank or T (and "
				"before Z: in UTC), SECONDS since 1970, or +SECONDS since the first event. "
				"Packets of other times are not read, nor is it told what is broken in them.",
	},
	{
		.name = "to",
		.argument = "TIME",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct view_arguments, to),
		.standard = "the end",
		.sentence = "Show nothing that happened after TIME, which is written as for `--from`.",
	},
	{
		.letter = 'n',
		.name = "count",
		.argument = "COUNT",
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct view_arguments, count),
		.standard = "all",
		.sentence = "Stop after COUNT events.",
	},
	{
		.letter = 'f',
		.name = "follow",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct view_arguments, follow),
		.sentence = "Go on while the trace is being recorded: show what is added, new processes "
				"too, about a second after it happened, until no recorder writes to DIR "
				"any more.",
	},
	{
		.letter = 'a',
		.name = "attributes",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct view_arguments, attributes),
		.sentence = "Show the attributes of events and types, too.",
	},
	{
		.name = "symbols",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct view_arguments, symbols),
		.sentence = "Show addresses in the code (the context ip, pointers that are called ip or caller, and what "
				"has the attribute side.address) as function, file and line.",
	},
	{
		.name = "debuginfod",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct view_arguments, debuginfod),
		.sentence = "With `--symbols`: ask the servers in DEBUGINFOD_URLS for debug information that is not here.",
	},
	{
		.name = "threads",
		.argument = "COUNT",
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct view_arguments, threads),
		.standard = "one a processor; a small trace is shown with one",
		.sentence = "Read with COUNT threads. What is shown does not depend on it.",
	},
	{
		.name = "repair",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct view_arguments, repair),
		.sentence = "First mend the trace in DIR if its recorder was killed: each file that ends "
				"in the middle of an event is shortened to what is whole, so that "
				"all readers take it. Refused while it is being recorded.",
	},
	{ .name = NULL },
};

static const char *const view_paragraphs[] = {
	"Prints the events of the trace in DIR in the order of time, one a line: time, process, "
	"CPU, name and fields. DIR is what `side record -o` wrote, one trace inside it, or "
	"any directory with traces in CTF 1.8 or CTF 2, whatever tracer wrote them (LTTng, barectf, perf).",
	COMMAND_SESSION_TRACE,
	"What was lost while recording is printed where it is known, and summed up at the end on "
	"standard error.",
	"What cannot be read is said on standard error, all else is shown, and the exit status is "
	"1. A recording that goes on is shown as it was when the command began, unless `--follow` is "
	"given.",
	NULL,
};

static const struct example view_examples[] = {
	{ "side view trace", "Print a whole trace." },
	{ "side view trace -e 'libc:malloc' -n 20", "Print the first 20 calls of malloc." },
	{ "side view trace --where 'size > 4096' --from +1.5 --to +2",
		"Print what was large in half a second." },
	{ "side view --follow trace", "Watch what is being recorded." },
	{ "side view --color=always trace | less -R", "Page through it with colours." },
	{ "side view --json trace | jq -r .event | sort | uniq -c", "Count events by name." },
	{ "side view --repair trace", "Mend what a killed recorder left, and print it." },
	{ .command = NULL },
};

static const char *const view_see_also[] = { "export", "record", "report", NULL };
static const char *const report_see_also[] = { "export", "record", "view", NULL };
static const char *const export_see_also[] = { "record", "report", "view", NULL };

/* Those of table-session.c and table-watch.c. */

static const char *const create_see_also[] = { "enable-event", "start", NULL };
static const char *const set_session_see_also[] = { "create", NULL };
static const char *const start_see_also[] = { "create", "stop", NULL };
static const char *const stop_see_also[] = { "destroy", "start", NULL };
static const char *const destroy_see_also[] = { "create", "stop", NULL };
static const char *const status_see_also[] = { "list", "top", NULL };
static const char *const enable_event_see_also[] = { "disable-event", "enable-channel", "list", "probe", NULL };
static const char *const trace_see_also[] = { "enable-event", "probe", "record", "view", NULL };
static const char *const disable_event_see_also[] = { "enable-event", NULL };
static const char *const enable_channel_see_also[] = { "enable-event", NULL };
static const char *const disable_channel_see_also[] = { "disable-event", "enable-channel", NULL };
static const char *const add_context_see_also[] = { "enable-event", NULL };
static const char *const track_see_also[] = { "untrack", NULL };
static const char *const untrack_see_also[] = { "track", NULL };
static const char *const snapshot_see_also[] = { "enable-channel", "rotate", NULL };
static const char *const rotate_see_also[] = { "create", "snapshot", NULL };
static const char *const clear_see_also[] = { "destroy", "rotate", NULL };
static const char *const statedump_see_also[] = { "start", NULL };
static const char *const regenerate_see_also[] = { "statedump", NULL };
static const char *const version_see_also[] = { "daemon", NULL };
static const char *const save_see_also[] = { "load", NULL };
static const char *const load_see_also[] = { "save", NULL };
static const char *const top_see_also[] = { "report", "status", NULL };
static const char *const daemon_see_also[] = { "create", "doctor", NULL };
static const char *const doctor_see_also[] = { "daemon", "list", NULL };
static const char *const complete_see_also[] = { "list", NULL };
static const char *const kernel_see_also[] = { "doctor", "list", NULL };
static const char *const probe_see_also[] = { "list", NULL };

/* expand */

static const struct option expand_table[] = {
	{
		.letter = 'o',
		.name = "output",
		.argument = "OUT",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_DIRECTORY,
		.offset = offsetof(struct expand_options, output),
		.standard = "DIR-expanded",
		.sentence = "Write to the new directory OUT.",
	},
	{ .name = NULL },
};

static const char *const expand_paragraphs[] = {
	"Makes a plain trace of one that was recorded with `--compress`: a copy of DIR in which "
	"every data stream is what it would have been without. side reads both kinds; other "
	"readers of CTF only the plain one.",
	"What is damaged is said on standard error, the rest is expanded all the same, and the exit "
	"status is 1.",
	NULL,
};

static const struct example expand_examples[] = {
	{ "side expand trace -o plain && babeltrace2 plain", "Show a compressed trace with Babeltrace." },
	{ .command = NULL },
};

static const char *const send_see_also[] = { "receive", "record", NULL };
static const char *const receive_see_also[] = { "send", "view", NULL };
static const char *const expand_see_also[] = { "record", "view", NULL };

/* help */

static const struct option no_options[] = { { .name = NULL } };

static const char *const help_paragraphs[] = {
	"Prints the help of a verb or of a topic; without one, the list of both.",
	NULL,
};

static const struct example help_examples[] = {
	{ "side help record", "Print what `side record --help` prints." },
	{ "side help patterns", "Print how events are selected." },
	{ "side help --json", "Print all verbs and options for another program to read." },
	{ .command = NULL },
};

static const char *const nothing[] = { NULL };

const struct verb command_verbs[] = {
	{ VERB_RECORD, "record", "[--] COMMAND [ARGUMENT...]", COMPLETE_COMMAND, true, 0, 0,
		NULL, "Run a command and record its events.",
		table_record_paragraphs, table_record_options, table_record_examples, record_see_also },
	{ VERB_ATTACH, "attach", "PID | -p PID", COMPLETE_PROCESS_ID, false, 0, 0, NULL,
		"Record the events of a program that runs.", table_attach_paragraphs, table_attach_options,
		table_attach_examples, attach_see_also },
	{ VERB_DETACH, "detach", "PID | -p PID", COMPLETE_PROCESS_ID, false, 0, 0, NULL,
		"Leave a program to itself that was attached to.", table_detach_paragraphs, table_detach_options,
		table_detach_examples, detach_see_also },
	{ VERB_RECOVER, "recover", "DIR|CORE...", COMPLETE_FILE, false, 1, 0, "there is nothing to recover from",
		"Make traces of what a killed recorder or program left.", table_recover_paragraphs,
		table_recover_options, table_recover_examples, recover_see_also },
	{ VERB_ADOPT, "adopt", "[PLACE | PID]", COMPLETE_DIRECTORY, false, 0, 1, NULL,
		"Make traces of what programs record without a daemon.", table_adopt_paragraphs,
		table_adopt_options, table_adopt_examples, adopt_see_also },
	{ VERB_LIST, "list", "[SESSION | FILE... | PID... | COMMAND | -- COMMAND [ARGUMENT...]]",
		COMPLETE_COMMAND_OR_FILE, false, 0, 0, NULL,
		"List the events that a program, library or process has, or sessions.", list_paragraphs, list_table,
		list_examples, list_see_also },
	{ VERB_VIEW, "view", "[DIR|SESSION]", COMPLETE_DIRECTORY, false, 0, 1, "there is no trace to show",
		"Print the events of a trace.", view_paragraphs, view_table, view_examples, view_see_also },
	{ VERB_EXPAND, "expand", "DIR|SESSION", COMPLETE_DIRECTORY, false, 1, 1, "there is no trace to expand",
		"Make a plain trace of a compressed one.", expand_paragraphs, expand_table,
		expand_examples, expand_see_also },
	{ VERB_REPORT, "report", "[DIR|SESSION]", COMPLETE_DIRECTORY, false, 0, 1, "there is no trace to report",
		"Count, measure and compare the events of a trace.", command_report_paragraphs,
		command_report_options, command_report_examples, report_see_also },
	{ VERB_EXPORT, "export", "[DIR|SESSION]", COMPLETE_DIRECTORY, false, 0, 1, "there is no trace to export",
		"Turn a trace into what other programs read.", command_export_paragraphs,
		command_export_options, command_export_examples, export_see_also },
	{ VERB_SEND, "send", "DIR|SESSION URL", COMPLETE_DIRECTORY, false, 2, 2, "there is no trace, or no place to send it to",
		"Send a trace to another place, also while it is being recorded.", table_send_paragraphs,
		table_send_options, table_send_examples, send_see_also },
	{ VERB_RECEIVE, "receive", "[SOURCE...]", COMPLETE_FILE, false, 0, 0, NULL,
		"Make traces of what `side send` sends.", table_receive_paragraphs,
		table_receive_options, table_receive_examples, receive_see_also },
	{ VERB_CREATE, "create", "[NAME]", COMPLETE_NONE, false, 0, 1, NULL,
		"Make a session.", table_create_paragraphs, table_create_options,
		table_create_examples, create_see_also },
	{ VERB_SET_SESSION, "set-session", "NAME", COMPLETE_SESSION, false, 1, 1, "there is no name of a session",
		"Choose the current session.", table_set_session_paragraphs, table_set_session_options,
		table_set_session_examples, set_session_see_also },
	{ VERB_START, "start", "[SESSION]", COMPLETE_SESSION, false, 0, 1, NULL,
		"Start a session: record from now on.", table_start_paragraphs, table_start_options,
		table_start_examples, start_see_also },
	{ VERB_STOP, "stop", "[SESSION]", COMPLETE_SESSION, false, 0, 1, NULL,
		"Stop a session.", table_stop_paragraphs, table_start_options,
		table_stop_examples, stop_see_also },
	{ VERB_DESTROY, "destroy", "[SESSION... | -a]", COMPLETE_SESSION, false, 0, 0, NULL,
		"End sessions; their traces stay.", table_destroy_paragraphs, table_destroy_options,
		table_destroy_examples, destroy_see_also },
	{ VERB_STATUS, "status", "[SESSION]", COMPLETE_SESSION, false, 0, 1, NULL,
		"Show what a session is, and how it does.", table_status_paragraphs, table_status_options,
		table_status_examples, status_see_also },
	{ VERB_ENABLE_EVENT, "enable-event", "[PATTERN...]", COMPLETE_EVENT, false, 0, 0, NULL,
		"Record events from now on.", table_enable_event_paragraphs, table_enable_event_options,
		table_enable_event_examples, enable_event_see_also },
	{ VERB_DISABLE_EVENT, "disable-event", "PATTERN... | -a", COMPLETE_EVENT, false, 0, 0, NULL,
		"Record events no more.", table_disable_event_paragraphs, table_disable_event_options,
		table_disable_event_examples, disable_event_see_also },
	{ VERB_ENABLE_CHANNEL, "enable-channel", "NAME", COMPLETE_CHANNEL, false, 1, 1, "there is no name of a channel",
		"Make a channel.", table_enable_channel_paragraphs, table_enable_channel_options,
		table_enable_channel_examples, enable_channel_see_also },
	{ VERB_DISABLE_CHANNEL, "disable-channel", "NAME", COMPLETE_CHANNEL, false, 1, 1, "there is no name of a channel",
		"Let a channel record nothing more.", table_disable_channel_paragraphs, table_disable_channel_options,
		table_disable_channel_examples, disable_channel_see_also },
	{ VERB_ADD_CONTEXT, "add-context", "NAME...", COMPLETE_CONTEXT, false, 0, 0, NULL,
		"Record more beside the events.", table_add_context_paragraphs, table_add_context_options,
		table_add_context_examples, add_context_see_also },
	{ VERB_TRACK, "track", "OPTION...", COMPLETE_NONE, false, 0, 1, NULL,
		"Choose the processes to record.", table_track_paragraphs, table_track_options,
		table_track_examples, track_see_also },
	{ VERB_UNTRACK, "untrack", "OPTION...", COMPLETE_NONE, false, 0, 1, NULL,
		"Take back what was tracked.", table_untrack_paragraphs, table_untrack_options,
		table_untrack_examples, untrack_see_also },
	{ VERB_SNAPSHOT, "snapshot", "[SESSION]", COMPLETE_SESSION, false, 0, 1, NULL,
		"Write what the rings hold now.", table_snapshot_paragraphs, table_plain_options,
		table_snapshot_examples, snapshot_see_also },
	{ VERB_ROTATE, "rotate", "[SESSION]", COMPLETE_SESSION, false, 0, 1, NULL,
		"Begin a new chunk of the traces.", table_rotate_paragraphs, table_plain_options,
		table_rotate_examples, rotate_see_also },
	{ VERB_CLEAR, "clear", "[SESSION]", COMPLETE_SESSION, false, 0, 1, NULL,
		"Drop what was recorded so far.", table_clear_paragraphs, table_plain_options,
		table_clear_examples, clear_see_also },
	{ VERB_STATEDUMP, "statedump", "[SESSION]", COMPLETE_SESSION, false, 0, 1, NULL,
		"Have programs say their state again.", table_statedump_paragraphs, table_start_options,
		table_statedump_examples, statedump_see_also },
	{ VERB_REGENERATE, "regenerate", "statedump [SESSION]", COMPLETE_SESSION, false, 1, 2,
		"it is not said what is to be made anew", "The same, as lttng calls it.",
		table_regenerate_paragraphs, table_start_options, table_regenerate_examples,
		regenerate_see_also },
	{ VERB_SAVE, "save", "[SESSION... | -a]", COMPLETE_SESSION, false, 0, 0, NULL,
		"Write the definitions of sessions.", table_save_paragraphs, table_save_options,
		table_save_examples, save_see_also },
	{ VERB_LOAD, "load", "FILE...", COMPLETE_FILE, false, 1, 0, "there is no file to load",
		"Make sessions of saved definitions.", table_load_paragraphs, table_load_options,
		table_load_examples, load_see_also },
	{ VERB_TOP, "top", "[SESSION]", COMPLETE_SESSION, false, 0, 1, NULL,
		"Watch rates and losses of a session.", table_top_paragraphs, table_top_options,
		table_top_examples, top_see_also },
	{ VERB_DAEMON, "daemon", "", COMPLETE_NONE, false, 0, 1, NULL,
		"Start the daemon, or tell where it is.", table_daemon_paragraphs, table_daemon_options,
		table_daemon_examples, daemon_see_also },
	{ VERB_DOCTOR, "doctor", "[CHECK...]", COMPLETE_NONE, false, 0, 0, NULL,
		"Say what is missing for tracing, and how to mend it.", table_doctor_paragraphs, table_doctor_options,
		table_doctor_examples, doctor_see_also },
	{ VERB_PROBE, "probe", "list [--sdt] FILE|PID [GLOB]", COMPLETE_FILE, false, 1, 3,
		"there is not said what is to be done", "Say which functions of a program can be probed, and how.",
		table_probe_paragraphs, table_probe_options, table_probe_examples, probe_see_also },
	{ VERB_TRACE, "trace", "-c COMMAND | -p PID", COMPLETE_NONE, false, 0, 0, NULL,
		"Record probes in a program that is started, or runs.", table_trace_paragraphs, table_trace_options,
		table_trace_examples, trace_see_also },
	{ VERB_KERNEL, "kernel", "status", COMPLETE_NONE, false, 1, 1, "there is not said what is to be shown",
		"Show the events that programs give to the kernel.", table_kernel_paragraphs, table_kernel_options,
		table_kernel_examples, kernel_see_also },
	{ VERB_COMPLETE, "complete", "KIND", COMPLETE_NONE, false, 1, 1, "there is no kind of names",
		"Print names for the completion of shells.", table_complete_paragraphs, table_complete_options,
		table_complete_examples, complete_see_also },
	{ VERB_VERSION, "version", "", COMPLETE_NONE, false, 0, 1, NULL,
		"Print the version.", table_version_paragraphs, no_options, table_version_examples,
		version_see_also },
	{ VERB_HELP, "help", "[VERB | TOPIC]", COMPLETE_VERB, false, 0, 1, NULL,
		"Print the help of a verb or topic.", help_paragraphs, no_options, help_examples, nothing },
	{ .name = NULL },
};

/* topics */

static const char *const patterns_paragraphs[] = {
	"A pattern is provider:event with globs, and may end in a log level. It is matched "
	"against the whole name of an event, so a `*` stands for any text, colons included. A "
	"pattern without a colon names providers: `db` is `db:*`. Write patterns between quotes, "
	"so that the shell leaves them alone.",
	"Several patterns: an event is selected if any pattern matches it (or if all patterns "
	"begin with `!`) and none with `!` does. Their order does not matter.",
	NULL,
};

static const struct term patterns_terms[] = {
	{ "db:open", "The event open of the provider db." },
	{ "db:*", "All events of the provider db. A `?` stands for one character, `[a-z]` for one "
			"of a set, `[!a-z]` for one that is not in the set; `\\` before a "
			"character takes it as it is." },
	{ "!db:tick", "Not this event." },
	{ "db:*@WARNING", "Events of the log level WARNING and of all more severe ones. The "
			"levels are EMERG, ALERT, CRIT, ERR, WARNING, NOTICE, INFO and DEBUG, or "
			"0 to 7." },
	{ "*@=DEBUG", "Events of exactly this log level." },
	{ NULL, NULL },
};

static const char *const contexts_paragraphs[] = {
	"Names for `--context` and `--event-context`, several with commas between them. In filters they stand "
	"behind `$ctx.`, those of the application as `$app.PROVIDER:NAME`.",
	NULL,
};

static const char *const sessions_paragraphs[] = {
	"A session records of many programs at once, of those that run and those that will, without starting them. "
	"It lives in the daemon sided, of which each user has one and the system may have another; verbs start the "
	"user's own when it does not run. Programs find it by themselves when they start: they need libside, and nothing else. Those that "
	"started before the daemon are reached by `side attach --daemon -p PID`.",
	"The usual way: `side create`, `side enable-event`, `side start`, `side stop`, `side view`, `side destroy`. "
	"The verbs mean the current session when none is named; `side create` and `side set-session` set it.",
	"Each change holds in every program when the verb returns. Programs that are stopped or hang are named, the exit status is "
	"5, and they switch when they run again.",
	NULL,
};

static const struct term sessions_terms[] = {
	{ "side create, set-session, destroy, save, load", "Which sessions there are." },
	{ "side enable-event, disable-event, enable-channel, disable-channel, add-context", "What is recorded." },
	{ "side track, untrack", "Of which processes." },
	{ "side start, stop, snapshot, rotate, clear, statedump", "When." },
	{ "side status, list, top", "How it goes." },
	{ "side daemon, doctor", "Why it does not." },
	{ NULL, NULL },
};

static const char *const status_paragraphs[] = {
	"The exit status says what happened:",
	NULL,
};

static const struct term status_terms[] = {
	{ "0", "Done." },
	{ "1", "Failed; a sentence on standard error says what, why and how to mend it." },
	{ "2", "The command line was wrong." },
	{ "3", "Not permitted; the sentence says which permission is missing." },
	{ "4", "Done, but events were lost. `side record` uses it only with `--strict`." },
	{ "5", "Done, but some programs have not switched over yet; they are named on standard error." },
	{ "126, 127, 128+N", "Of `side record` and `side list -- COMMAND`: the command cannot be "
			"executed, was not found, or was ended by signal N. Any other status is "
			"the command's own." },
	{ NULL, NULL },
};

static const char *const environment_paragraphs[] = {
	"These variables of the environment change what side does:",
	NULL,
};

static const struct term environment_terms[] = {
	{ "NO_COLOR", "If set to anything but an empty text, colours are off unless `--color=always`." },
	{ "TERM", "If dumb, colours are off unless `--color=always`." },
	{ "SIDE_DEBUG", "If set, the recorder inside the traced program reports its own troubles "
			"on standard error." },
	{ "SIDE_VALIDATE", "If set to anything but 0, each traced program compares its calls with the descriptions of its "
			"events and says on standard error what does not fit (`side record --validate`)." },
	{ "SIDE_RUNTIME", "The directory in which the daemon and programs meet. Default: /run/side for root, else side "
			"in XDG_RUNTIME_DIR, in /run/user/UID, or /tmp/side-UID." },
	{ "SIDE_USER_EVENTS", "For traced programs: which events they give to the kernel (`side help kernel`)." },
	{ "SIDE_USER_EVENTS_ENCODING", "For traced programs: auto, native or eventheader." },
	{ "DEBUGINFOD_URLS", "Servers of debug information, as elfutils has them; `side doctor` looks at it." },
	{ "LD_LIBRARY_PATH", "Searched by `side list --libraries`, as the dynamic linker does." },
	{ NULL, NULL },
};

static const char *const json_paragraphs[] = {
	"With `--json` every verb prints JSON: one object a line, with a member \"schema\" that "
	"is 1 and grows when the meaning of a member changes, and a member \"type\". New members "
	"may appear at any time.",
	"Data goes to standard output, errors and summaries to standard error, as in the form for people.",
	NULL,
};

static const struct term json_terms[] = {
	{ "error", "Any verb: status, message, and mend (what to do about it) where there is something to do." },
	{ "note", "Any verb: message; also detail, with `--verbose`." },
	{ "summary", "Record, on standard error: output, bytes, processes, lost, losses, command_status." },
	{ "event", "List: event is provider:event, description the whole description as it stands in a "
		   "trace, source the file or process that has it; found is section if it stands in that "
		   "file, registry if the process registered it at run time (or its file is gone); "
		   "enabled, for a running process, whether somebody listens. View: event, time, ns (since 1970), procname, vpid, cpu, fields." },
	{ "overview, process, count, histogram, durations, pair, slow, caller, lost, lost_packets",
		"Report: what its tables have." },
	{ "session", "Status and list, a line for each session: name, state, current, output, bytes, lost; of one that was "
		     "named also definition, processes, losses." },
	{ "create, start, enable-event, ...", "The verbs for sessions: what the daemon answered, with pending (programs that have not "
			"switched over yet: pid, name, why) and unchanged." },
	{ "top, process, durations, count", "Top, for each interval: rates a second of the session, its processes, pairs (p50, p99, max in "
			"nanoseconds) and events." },
	{ "probe_site", "Probe: module, function, names, address, offset, runtime, size, method, displaced, patched, boundaries, "
			"bytes, pad, reason." },
	{ "probe_marker", "Probe: module, provider, name, arguments, address, semaphore, method; of a process runtime and listeners." },
	{ "kernel_event", "Kernel: event, tracepoint, state (native, eventheader, refused), pid, program, written, cut, lost, "
			  "listeners, reason." },
	{ "check", "Doctor: name, state, for, found, mend." },
	{ "verb", "Help: the options and examples of a verb." },
	{ "version", "Version: version of the program." },
	{ NULL, NULL },
};

const struct topic command_topics[] = {
	{ "patterns", "How events are selected.", patterns_paragraphs, patterns_terms },
	{ "sessions", "Recording of many programs at once.", sessions_paragraphs, sessions_terms },
	{ "channels", "Rings with modes, rules and contexts of their own.", table_channels_paragraphs,
		table_channels_terms },
	{ "filters", "Which of the events that match are recorded or shown.", table_filters_paragraphs,
		table_filters_terms },
	{ "contexts", "What can be recorded beside an event.", contexts_paragraphs, NULL },
	{ "probes", "Places of programs that nobody instrumented.", table_probes_paragraphs, table_probes_terms },
	{ "global", "Probes of the kernel's, in every process.", table_global_paragraphs, table_global_terms },
	{ "status", "What the exit status means.", status_paragraphs, status_terms },
	{ "environment", "Variables that change what side does.", environment_paragraphs,
		environment_terms },
	{ "json", "The output for programs.", json_paragraphs, json_terms },
	{ .name = NULL },
};

const char command_summary[] = "record what programs do";

const char *const command_introduction[] = {
	"Records events of user-space programs: those that an instrumented program declares, and "
	"the calls that any program makes into the C library. Traces are kept in the Common Trace "
	"Format (CTF 1.8).",
	"Data goes to standard output, everything else to standard error.",
	NULL,
};

const struct example command_examples[] = {
	{ "side record -w libc -o trace -- ls -l", "Record a program." },
	{ "side view trace", "Look at what it did." },
	{ "side report trace", "See which events it has most of." },
	{ "side list ./server", "See which events a program has." },
	{ "side create && side enable-event 'db:*' && side start", "Record of all programs, those that run and those that will." },
	{ "side doctor", "See what is missing, and how to mend it." },
	{ .command = NULL },
};

/* clang-format on */

const struct verb *command_find_verb(const char *name)
{
	for (const struct verb *verb = command_verbs; verb->name; verb++) {
		if (!strcmp(verb->name, name))
			return verb;
	}
	return NULL;
}

const struct topic *command_find_topic(const char *name)
{
	for (const struct topic *topic = command_topics; topic->name; topic++) {
		if (!strcmp(topic->name, name))
			return topic;
	}
	return NULL;
}
