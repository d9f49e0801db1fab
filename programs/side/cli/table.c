/* SPDX-License-Identifier: MIT */
/*
 * The table of the command line: all verbs, options and topics. Rules for texts: whole sentences
 * with a full stop, no markup. An option in a text is written as the user types it (`--strict`),
 * between back quotes.
 */
#include "table.h"

#include <string.h>

/* A table: laid out by hand. */
/* clang-format off */

static const char *const color_choices[] = { "auto", "always", "never", NULL };
static const char *const wrapper_choices[] = { "libc", "pthread", NULL };

const struct option command_common_options[] = {
	{
		.name = "color",
		.argument = "WHEN",
		.kind = OPTION_CHOICE,
		.completion = COMPLETE_CHOICE,
		.offset = offsetof(struct common_options, color),
		.choices = color_choices,
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
		.sentence = "Print what side does, and why.",
	},
	{
		.name = "no-pager",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct common_options, no_pager),
		.sentence = "Do not show long output through a pager (SIDE_PAGER, PAGER or less).",
	},
	{
		.name = "no-progress",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct common_options, no_progress),
		.sentence = "Show no progress of long work on the terminal.",
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
		.sentence = "List the events that match PATTERN. Can be given several times; see `side help patterns`.",
	},
	{
		.letter = 'p',
		.name = "pid",
		.argument = "PID",
		.kind = OPTION_LIST,
		.completion = COMPLETE_PROCESS_ID,
		.offset = offsetof(struct list_options, pids),
		.sentence = "List the events of this running process; the number can also be given alone.",
	},
	{
		.former_letter = 'l',
		.name = "libraries",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct list_options, libraries),
		.sentence = "For a FILE: also list the events of the libraries that it is linked with.",
	},
	{
		.letter = 'w',
		.name = "wrap",
		.argument = "WRAPPER",
		.kind = OPTION_LIST,
		.completion = COMPLETE_CHOICE,
		.offset = offsetof(struct list_options, wrappers),
		.choices = wrapper_choices,
		.sentence = "For a COMMAND: also list the events of a wrapper, which `side record -w` records.",
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
		.sentence = "List the events of all running programs that can be inspected. Programs without an agent, because they started before the daemon or without a recorder, are listed at the end; `side attach` adds the agent.",
	},
	{
		.letter = 'k',
		.name = "kernel",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct list_options, kernel),
		.sentence = "List the kernel's trace events, which `side record -k` and `side enable-event -k` record; operands are patterns of their names.",
	},
	{
		.name = "system",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct list_options, system),
		.sentence = "For sessions: use the daemon of the system.",
	},
	{ .name = NULL },
};

static const char *const list_paragraphs[] = {
	"Prints the events of a program or library: names, log levels, fields with their types, and attributes. "
	"Without an operand it lists the daemon's sessions, if a daemon runs; with the name of a session it prints what `side status` does.",
	"FILE is an executable, shared library, object file or static archive; it is read, not run. "
	"PID is a running process; its memory is read, the process continues undisturbed, and each event is shown with whether a tracer listens. "
	"COMMAND is started and stopped before its main function: then the events of all libraries that it loads, and those that its constructors register at run time, are listed.",
	"An operand of digits only is a PID. "
	"An operand with a slash, or the name of a file here, is a FILE. "
	"The name of a session is a SESSION. "
	"Everything else is a COMMAND found in PATH. "
	"After `--` everything is a COMMAND with its arguments.",
	"For a running process the list has the events of its mapped files, then those that it registered at run time. "
	"Events that are registered or unregistered while it is read can be missing. "
	"If its libside is another implementation that does not report them, a note reports that. "
	"A file without section headers can only be listed as a COMMAND.",
	NULL,
};

static const struct example list_examples[] = {
	{ "side list ./server",
		"List the events of an executable, without running it." },
	{ "side list --libraries /usr/bin/sqlite3",
		"Include the libraries that it needs." },
	{ "side list",
		"List the sessions of the daemon." },
	{ "side list -u",
		"List the events of all running programs." },
	{ "side list -k sched",
		"List the kernel's scheduler events." },
	{ "side list 4711 -e 'db:*'",
		"List the events of a running process, and which are enabled." },
	{ "side list -- ./server --check",
		"Start a command up to main and list all registered events." },
	{ "side list --json ./server | jq -r .event",
		"Print the list for another program." },
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
		.sentence = "Print the events that match PATTERN. Can be given several times; see `side help patterns`.",
	},
	{
		.name = "filter",
		.former_name = "where",
		.argument = "EXPRESSION",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct view_arguments, filter),
		.standard = "all events",
		.sentence = "Print the events for which EXPRESSION is true, such as `size > 4096 && $ctx.procname == \"redis*\"`; see `side help filters`.",
	},
	TABLE_TIME_OPTIONS(view_arguments,
			"Ignore events before TIME. See `side help times`. Packets of other times are not read, and damage in them is not reported.",
			"Ignore events after TIME, which is written as for `--from`."),
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
		.former_letter = 'f',
		.name = "follow",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct view_arguments, follow),
		.sentence = "Continue while the trace is recorded: print new events and new processes, about a second after they happened, until no recorder writes to DIR.",
	},
	{
		.name = "flat",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct view_arguments, flat),
		.sentence = "Print each event on a line of its own with all fields, not calls as a tree and formats as sentences.",
	},
	{
		.former_letter = 'a',
		.name = "attributes",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct view_arguments, attributes),
		.sentence = "Also print the attributes of events and types.",
	},
	{
		.name = "symbols",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct view_arguments, symbols),
		.sentence = "Print code addresses (the context ip, pointers named ip or caller, backtraces and callers of probes, and values with the attribute side.address) as function, file and line.",
	},
	{
		.name = "debuginfod",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct view_arguments, debuginfod),
		.sentence = "With `--symbols`: get missing debug information from the servers in DEBUGINFOD_URLS.",
	},
	{
		.name = "threads",
		.argument = "COUNT",
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct view_arguments, threads),
		.standard = "one a processor; a small trace is shown with one",
		.sentence = "Read with COUNT threads. The output does not depend on it.",
	},
	{
		.name = "repair",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct view_arguments, repair),
		.sentence = "First repair the trace in DIR if its recorder was killed: each file that ends within an event is shortened to the last complete one, so that all readers accept it. Refused while the trace is recorded.",
	},
	{ .name = NULL },
};

static const char *const view_paragraphs[] = {
	"Prints the events of the trace in DIR in the order of time, one a line: time, process, CPU, name and fields. "
	"DIR is the directory of `side record -o`, one trace inside it, or any directory with traces in CTF 1.8 or CTF 2 of any tracer (LTTng, barectf, perf).",
	COMMAND_SESSION_TRACE,
	"Entries and returns of functions (`side trace --exit`) are printed as a tree: `FUNCTION(ARGUMENTS) {`, the calls in it, and `} = VALUE; /* DURATION */`. "
	"A call without other events takes one line. "
	"Other events of a thread are in its tree if the context vtid is recorded. "
	"`no return` marks a call that did not return in the trace, `no entry` a return whose entry is not in it.",
	"A variadic event with a format of printf is printed as a sentence: `app:log: user bob took 12 ms`. "
	"The format is a text with the attribute `lang.c.format_string`, or the field `fmt` or `format`. "
	"If a conversion and its argument do not fit, the fields are printed.",
	"Losses are printed where they happened, and summed up at the end on standard error.",
	"Errors are reported on standard error, everything else is printed, and the exit status is 1. "
	"A trace that is being recorded is printed as it was when the command started, unless `--follow` is given.",
	NULL,
};

static const struct example view_examples[] = {
	{ "side view trace",
		"Print a whole trace." },
	{ "side view trace -e 'libc:malloc' -n 20",
		"Print the first 20 calls of malloc." },
	{ "side view trace --filter 'size > 4096' --from +1.5 --to +2",
		"Print large requests of half a second." },
	{ "side view --follow trace",
		"Print a trace while it is recorded." },
	{ "side view --flat calls",
		"Print entries and returns of functions one a line." },
	{ "side view --color=always trace | less -R",
		"Page through it with colours." },
	{ "side view --json trace | jq -r .event | sort | uniq -c",
		"Count events by name." },
	{ "side view --repair trace",
		"Repair the trace of a killed recorder, and print it." },
	{ .command = NULL },
};

static const char *const view_see_also[] = { "export", "record", "report", NULL };
static const char *const leaks_see_also[] = { "record", "report", "trace", NULL };
static const char *const locks_see_also[] = { "record", "report", "trace", NULL };
static const char *const report_see_also[] = { "export", "record", "view", NULL };
static const char *const calls_see_also[] = { "record", "slow", "trace", NULL };
static const char *const slow_see_also[] = { "calls", "report", "trace", NULL };
static const char *const diff_see_also[] = { "flame", "report", "slow", NULL };
static const char *const flame_see_also[] = { "export", "report", "slow", NULL };
static const char *const explore_see_also[] = { "report", "slow", "top", "view", NULL };
static const char *const export_see_also[] = { "record", "report", "view", NULL };

/* For the verbs of table-session.c and table-watch.c. */

static const char *const create_see_also[] = { "enable-event", "start", NULL };
static const char *const set_session_see_also[] = { "create", NULL };
static const char *const run_see_also[] = { "attach", "enable-event", "record", "start", "system", NULL };
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
static const char *const system_see_also[] = { "doctor", "enable-event", "run", NULL };
static const char *const probe_see_also[] = { "list", NULL };

/* expand */

static const struct option expand_table[] = {
	{
		.letter = 'o',
		.name = "output",
		.argument = "DIR",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_DIRECTORY,
		.offset = offsetof(struct expand_options, output),
		.standard = "the name of the trace with -expanded",
		.sentence = "Write to the new directory DIR.",
	},
	{ .name = NULL },
};

static const char *const expand_paragraphs[] = {
	"Decompresses a trace that was recorded with `--compress`: writes a copy of DIR with uncompressed data streams. side reads both; other readers of CTF read only the uncompressed one.",
	"Damage is reported on standard error, everything else is decompressed, and the exit status is 1.",
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
	{ VERBS_FIRST, VERB_RECORD, "record", "[--] COMMAND [ARGUMENT...]", COMPLETE_COMMAND, true, 0, 0,
		NULL, "Run a command and record its events.",
		table_record_paragraphs, table_record_options, table_record_examples, record_see_also },
	{ VERBS_FIRST, VERB_TRACE, "trace", "COMMAND [ARGUMENT...] | -p PID", COMPLETE_COMMAND_OR_FILE, false, 0, 0, NULL,
		"Record calls of functions in a program: one that is started, or one that runs.", table_trace_paragraphs, table_trace_options,
		table_trace_examples, trace_see_also },
	{ VERBS_FIRST, VERB_ATTACH, "attach", "PID | -p PID", COMPLETE_PROCESS_ID, false, 0, 0, NULL,
		"Record the events of a running program.", table_attach_paragraphs, table_attach_options,
		table_attach_examples, attach_see_also },
	{ VERBS_FIRST, VERB_LIST, "list", "[SESSION | FILE... | PID... | COMMAND | -- COMMAND [ARGUMENT...]]",
		COMPLETE_COMMAND_OR_FILE, false, 0, 0, NULL,
		"List the events of a program, library or process, or the sessions.", list_paragraphs, list_table,
		list_examples, list_see_also },
	{ VERBS_FIRST, VERB_VIEW, "view", "[DIR|SESSION]", COMPLETE_DIRECTORY, false, 0, 1, "missing operand: a trace to show",
		"Print the events of a trace.", view_paragraphs, view_table, view_examples, view_see_also },
	{ VERBS_FIRST, VERB_REPORT, "report", "[DIR|SESSION]", COMPLETE_DIRECTORY, false, 0, 1, "missing operand: a trace to report on",
		"Count events, measure durations, list losses.", command_report_paragraphs,
		command_report_options, command_report_examples, report_see_also },
	{ VERBS_FIRST, VERB_LEAKS, "leaks", "[--] COMMAND [ARGUMENT...] | -p PID | DIR|SESSION", COMPLETE_COMMAND_OR_FILE, true, 0, 0, NULL,
		"Find memory that a program does not free.", command_leaks_paragraphs,
		command_leaks_options, command_leaks_examples, leaks_see_also },
	{ VERBS_FIRST, VERB_LOCKS, "locks", "[--] COMMAND [ARGUMENT...] | -p PID | DIR|SESSION", COMPLETE_COMMAND_OR_FILE, true, 0, 0, NULL,
		"Find locks that threads wait for, and deadlocks.", command_locks_paragraphs,
		command_locks_options, command_locks_examples, locks_see_also },
	{ VERBS_FIRST, VERB_CALLS, "calls", "[--] COMMAND [ARGUMENT...] | -p PID | DIR|SESSION", COMPLETE_COMMAND_OR_FILE, true, 0, 0, NULL,
		"Count and measure the library calls of a program.", table_calls_paragraphs, table_calls_options,
		table_calls_examples, calls_see_also },
	{ VERBS_FIRST, VERB_SLOW, "slow", "[--] COMMAND [ARGUMENT...] | -p PID | DIR|SESSION", COMPLETE_COMMAND_OR_FILE, true, 0, 0, NULL,
		"Find the functions in which a program spends its time.", table_slow_paragraphs, table_slow_options,
		table_slow_examples, slow_see_also },
	{ VERBS_FIRST, VERB_FLAME, "flame", "[--] COMMAND [ARGUMENT...] | -p PID | DIR|SESSION", COMPLETE_COMMAND_OR_FILE, true, 0, 0, NULL,
		"Show call paths by time, memory or waits, as flame graphs do.", table_flame_paragraphs, table_flame_options,
		table_flame_examples, flame_see_also },
	{ VERBS_FIRST, VERB_DIFF, "diff", "BEFORE AFTER", COMPLETE_DIRECTORY, false, 2, 2, "missing operand: two traces to compare",
		"Compare two traces: slower, more frequent, larger.", table_diff_paragraphs, table_diff_options,
		table_diff_examples, diff_see_also },
	{ VERBS_FIRST, VERB_EXPLORE, "explore", "[DIR|SESSION] | -p PID", COMPLETE_DIRECTORY, false, 0, 1, NULL,
		"Look at a trace or a running program on the whole terminal.", table_explore_paragraphs, table_explore_options,
		table_explore_examples, explore_see_also },
	{ VERBS_FIRST, VERB_EXPORT, "export", "[DIR|SESSION]", COMPLETE_DIRECTORY, false, 0, 1, "missing operand: a trace to export",
		"Convert a trace for Perfetto, Chrome, spreadsheets and other tools.", command_export_paragraphs,
		command_export_options, command_export_examples, export_see_also },
	{ VERBS_FIRST, VERB_CREATE, "create", "[NAME]", COMPLETE_NONE, false, 0, 1, NULL,
		"Create a session, which records many programs.", table_create_paragraphs, table_create_options,
		table_create_examples, create_see_also },
	{ VERBS_FIRST, VERB_TOP, "top", "[SESSION]", COMPLETE_SESSION, false, 0, 1, NULL,
		"Show rates and losses of a running session.", table_top_paragraphs, table_top_options,
		table_top_examples, top_see_also },
	{ VERBS_FIRST, VERB_DOCTOR, "doctor", "[CHECK...]", COMPLETE_NONE, false, 0, 0, NULL,
		"Check the system and suggest fixes.", table_doctor_paragraphs, table_doctor_options,
		table_doctor_examples, doctor_see_also },
	{ VERBS_RECORD, VERB_PROBE, "probe", "list [--sdt] FILE|PID [GLOB]", COMPLETE_FILE, false, 1, 3,
		"missing operand: `list`", "List the functions and markers of a program that can be probed, and how.",
		table_probe_paragraphs, table_probe_options, table_probe_examples, probe_see_also },
	{ VERBS_RECORD, VERB_DETACH, "detach", "PID | -p PID", COMPLETE_PROCESS_ID, false, 0, 0, NULL,
		"Detach from a program.", table_detach_paragraphs, table_detach_options,
		table_detach_examples, detach_see_also },
	{ VERBS_RECORD, VERB_ADOPT, "adopt", "[DIR | PID]", COMPLETE_DIRECTORY, false, 0, 1, NULL,
		"Adopt buffers of programs that record without a daemon.", table_adopt_paragraphs,
		table_adopt_options, table_adopt_examples, adopt_see_also },
	{ VERBS_RECORD, VERB_RECOVER, "recover", "DIR|CORE...", COMPLETE_FILE, false, 1, 0, "missing operand: a directory or core dump to recover from",
		"Recover traces from the buffers of a killed recorder or program.", table_recover_paragraphs,
		table_recover_options, table_recover_examples, recover_see_also },
	{ VERBS_READ, VERB_EXPAND, "expand", "DIR|SESSION", COMPLETE_DIRECTORY, false, 1, 1, "missing operand: the trace to decompress",
		"Decompress a trace for other readers.", expand_paragraphs, expand_table,
		expand_examples, expand_see_also },
	{ VERBS_READ, VERB_SEND, "send", "DIR|SESSION URL", COMPLETE_DIRECTORY, false, 2, 2, "missing operand: a trace, and the URL to send it to",
		"Send a trace to another machine, even while it is recorded.", table_send_paragraphs,
		table_send_options, table_send_examples, send_see_also },
	{ VERBS_READ, VERB_RECEIVE, "receive", "[SOURCE...]", COMPLETE_FILE, false, 0, 0, NULL,
		"Receive traces from `side send`.", table_receive_paragraphs,
		table_receive_options, table_receive_examples, receive_see_also },
	{ VERBS_SESSIONS, VERB_SET_SESSION, "set-session", "NAME", COMPLETE_SESSION, false, 1, 1, "missing operand: the name of a session",
		"Choose the current session.", table_set_session_paragraphs, table_set_session_options,
		table_set_session_examples, set_session_see_also },
	{ VERBS_SESSIONS, VERB_ENABLE_EVENT, "enable-event", "[PATTERN...]", COMPLETE_EVENT, false, 0, 0, NULL,
		"Record events, or set probes in running programs.", table_enable_event_paragraphs, table_enable_event_options,
		table_enable_event_examples, enable_event_see_also },
	{ VERBS_SESSIONS, VERB_DISABLE_EVENT, "disable-event", "PATTERN... | -a", COMPLETE_EVENT, false, 0, 0, NULL,
		"Stop recording events.", table_disable_event_paragraphs, table_disable_event_options,
		table_disable_event_examples, disable_event_see_also },
	{ VERBS_SESSIONS, VERB_ADD_CONTEXT, "add-context", "NAME...", COMPLETE_CONTEXT, false, 0, 0, NULL,
		"Record context values with each event.", table_add_context_paragraphs, table_add_context_options,
		table_add_context_examples, add_context_see_also },
	{ VERBS_SESSIONS, VERB_START, "start", "[SESSION]", COMPLETE_SESSION, false, 0, 1, NULL,
		"Start recording.", table_start_paragraphs, table_start_options,
		table_start_examples, start_see_also },
	{ VERBS_SESSIONS, VERB_RUN, "run", "[--] COMMAND [ARGUMENT...]", COMPLETE_COMMAND, true, 1, 0, "missing operand: a command to run",
		"Run a command whose programs join the sessions, also without libside.", table_run_paragraphs, table_run_options,
		table_run_examples, run_see_also },
	{ VERBS_SESSIONS, VERB_STOP, "stop", "[SESSION]", COMPLETE_SESSION, false, 0, 1, NULL,
		"Stop recording.", table_stop_paragraphs, table_start_options,
		table_stop_examples, stop_see_also },
	{ VERBS_SESSIONS, VERB_STATUS, "status", "[SESSION]", COMPLETE_SESSION, false, 0, 1, NULL,
		"Show the state of a session: programs, channels, losses.", table_status_paragraphs, table_status_options,
		table_status_examples, status_see_also },
	{ VERBS_SESSIONS, VERB_SNAPSHOT, "snapshot", "[SESSION]", COMPLETE_SESSION, false, 0, 1, NULL,
		"Write a snapshot of the buffers.", table_snapshot_paragraphs, table_plain_options,
		table_snapshot_examples, snapshot_see_also },
	{ VERBS_SESSIONS, VERB_ROTATE, "rotate", "[SESSION]", COMPLETE_SESSION, false, 0, 1, NULL,
		"Start a new chunk of the trace.", table_rotate_paragraphs, table_plain_options,
		table_rotate_examples, rotate_see_also },
	{ VERBS_SESSIONS, VERB_CLEAR, "clear", "[SESSION]", COMPLETE_SESSION, false, 0, 1, NULL,
		"Delete what was recorded so far.", table_clear_paragraphs, table_plain_options,
		table_clear_examples, clear_see_also },
	{ VERBS_SESSIONS, VERB_STATEDUMP, "statedump", "[SESSION]", COMPLETE_SESSION, false, 0, 1, NULL,
		"Request a state dump from the programs.", table_statedump_paragraphs, table_start_options,
		table_statedump_examples, statedump_see_also },
	{ VERBS_SESSIONS, VERB_REGENERATE, "regenerate", "statedump [SESSION]", COMPLETE_SESSION, false, 1, 2,
		"missing operand: `statedump`", "Request a state dump (LTTng's name for it).",
		table_regenerate_paragraphs, table_start_options, table_regenerate_examples,
		regenerate_see_also },
	{ VERBS_SESSIONS, VERB_TRACK, "track", "OPTION...", COMPLETE_NONE, false, 0, 1, NULL,
		"Choose the processes to record.", table_track_paragraphs, table_track_options,
		table_track_examples, track_see_also },
	{ VERBS_SESSIONS, VERB_UNTRACK, "untrack", "OPTION...", COMPLETE_NONE, false, 0, 1, NULL,
		"Stop tracking processes.", table_untrack_paragraphs, table_untrack_options,
		table_untrack_examples, untrack_see_also },
	{ VERBS_SESSIONS, VERB_ENABLE_CHANNEL, "enable-channel", "NAME", COMPLETE_CHANNEL, false, 1, 1, "missing operand: the name of a channel",
		"Create or enable a channel.", table_enable_channel_paragraphs, table_enable_channel_options,
		table_enable_channel_examples, enable_channel_see_also },
	{ VERBS_SESSIONS, VERB_DISABLE_CHANNEL, "disable-channel", "NAME", COMPLETE_CHANNEL, false, 1, 1, "missing operand: the name of a channel",
		"Disable a channel.", table_disable_channel_paragraphs, table_disable_channel_options,
		table_disable_channel_examples, disable_channel_see_also },
	{ VERBS_SESSIONS, VERB_SAVE, "save", "[SESSION... | -a]", COMPLETE_SESSION, false, 0, 0, NULL,
		"Save session definitions to a file.", table_save_paragraphs, table_save_options,
		table_save_examples, save_see_also },
	{ VERBS_SESSIONS, VERB_LOAD, "load", "FILE...", COMPLETE_FILE, false, 1, 0, "missing operand: a file to load",
		"Create sessions from a saved file.", table_load_paragraphs, table_load_options,
		table_load_examples, load_see_also },
	{ VERBS_SESSIONS, VERB_DESTROY, "destroy", "[SESSION... | -a]", COMPLETE_SESSION, false, 0, 0, NULL,
		"Remove sessions; their traces are kept.", table_destroy_paragraphs, table_destroy_options,
		table_destroy_examples, destroy_see_also },
	{ VERBS_SYSTEM, VERB_DAEMON, "daemon", "", COMPLETE_NONE, false, 0, 1, NULL,
		"Start the daemon, or show where it runs.", table_daemon_paragraphs, table_daemon_options,
		table_daemon_examples, daemon_see_also },
	{ VERBS_SYSTEM, VERB_KERNEL, "kernel", "status", COMPLETE_NONE, false, 1, 1, "missing operand: `status`",
		"Show the events that programs write to the kernel (user_events).", table_kernel_paragraphs, table_kernel_options,
		table_kernel_examples, kernel_see_also },
	{ VERBS_SYSTEM, VERB_SYSTEM, "system", "on | off | status", COMPLETE_NONE, false, 1, 1, "missing operand: on, off or status",
		"Let every program that starts join the sessions, also without libside.", table_system_paragraphs, no_options,
		table_system_examples, system_see_also },
	{ VERBS_SYSTEM, VERB_COMPLETE, "complete", "KIND", COMPLETE_NONE, false, 1, 1, "missing operand: sessions, channels, events, processes or pids",
		"Print names for shell completion.", table_complete_paragraphs, table_complete_options,
		table_complete_examples, complete_see_also },
	{ VERBS_SYSTEM, VERB_VERSION, "version", "", COMPLETE_NONE, false, 0, 1, NULL,
		"Print the version.", table_version_paragraphs, no_options, table_version_examples,
		version_see_also },
	{ VERBS_SYSTEM, VERB_HELP, "help", "[VERB | TOPIC]", COMPLETE_VERB, false, 0, 1, NULL,
		"Print the help of a verb or topic.", help_paragraphs, no_options, help_examples, nothing },
	{ .name = NULL },
};

/* topics */

static const char *const patterns_paragraphs[] = {
	"A pattern is provider:event with globs, and can end in a log level. "
	"It matches the whole name of an event, so `*` matches any text, colons included. "
	"A pattern without a colon names providers: "
	"`db` is `db:*`. "
	"Quote patterns, so that the shell does not change them.",
	"An event is selected if any pattern matches it (or if all patterns begin with `!`), and none with `!` does. "
	"The order of patterns does not matter.",
	NULL,
};

static const struct term patterns_terms[] = {
	{ "db:open",
		"The event open of the provider db." },
	{ "db:*",
		"All events of the provider db. `?` matches one character, `[a-z]` one of a set, `[!a-z]` one outside the set; `\\` before a character makes it literal." },
	{ "!db:tick",
		"Not this event." },
	{ "db:*@WARNING",
		"Events of the log level WARNING and of all more severe ones. "
		"Levels: "
		"EMERG, ALERT, CRIT, ERR, WARNING, NOTICE, INFO and DEBUG, or 0 to 7." },
	{ "*@=DEBUG",
		"Events of exactly this log level." },
	{ NULL, NULL },
};

static const char *const contexts_paragraphs[] = {
	"Names for `--context` and `--event-context`, separated by commas. "
	"In filters they follow `$ctx.`; contexts of the application are `$app.PROVIDER:NAME`.",
	NULL,
};

static const char *const times_paragraphs[] = {
	"Times for `--from` and `--to` of `side view`, `side report` and `side export`. "
	"Both ends are included. "
	"`--last 5s` is the same as `--from -5s`.",
	"A relative time is a number of seconds, or a number with ns, us, ms, s, min or h.",
	NULL,
};

static const struct term times_terms[] = {
	{ "12:30, 12:30:15, 12:30:15.250", "A local time, on the day on which the trace begins." },
	{ "2026-01-31T12:30:15, 2026-01-31", "A local date and time, with T or a space between them, or a date alone. With Z at the end the time is in UTC." },
	{ "+1.5, +500ms, 500ms", "After the first event of the trace." },
	{ "-5s, -1.5", "Before the last event of the trace." },
	{ "1769862615.25", "Seconds since 1970." },
	{ "1769862615250000000", "Nanoseconds since 1970, as `side view --json` prints them as \"ns\". The number has 17 digits or more, or 10 digits or more followed by ns." },
	{ NULL, NULL },
};

static const char *const sessions_paragraphs[] = {
	"A session records many programs at once: those that run now, and those that start later. "
	"The daemon sided keeps it. "
	"Each user has a daemon, and the system may have another one. "
	"Verbs for sessions start the user's daemon if it does not run. "
	"Programs that use libside find the daemon when they start. "
	"A program that started before the daemon is added by `side attach --daemon -p PID`.",
	"The usual order: "
	"`side create`, `side enable-event`, `side start`, `side stop`, `side view`, `side destroy`. "
	"Verbs without a session name use the current session; `side create` and `side set-session` set it.",
	"When a verb returns, all programs have made the change. "
	"If a program is stopped or hangs, the verb names it and returns 5; the program makes the change when it continues.",
	NULL,
};

static const struct term sessions_terms[] = {
	{ "side create, set-session, destroy, save, load", "Create, select, remove and store sessions." },
	{ "side enable-event, disable-event, enable-channel, disable-channel, add-context", "Choose what to record." },
	{ "side track, untrack", "Choose which processes to record." },
	{ "side start, stop, snapshot, rotate, clear, statedump", "Choose when to record, and what to write." },
	{ "side status, list, top", "Show the state." },
	{ "side daemon, doctor", "Find out why it does not work." },
	{ NULL, NULL },
};

static const char *const status_paragraphs[] = {
	"Exit status:",
	NULL,
};

static const struct term status_terms[] = {
	{ "0", "Done." },
	{ "1", "Failed. Standard error has the problem, the reason and a hint." },
	{ "2", "The command line is wrong." },
	{ "3", "Not permitted. The message names the missing permission." },
	{ "4", "Done, but events were lost. `side record` uses it only with `--strict`." },
	{ "5", "Done, but some programs have not made the change yet. Standard error names them." },
	{ "6", "Of `side diff --fail-above`: something became slower, more frequent or larger than permitted." },
	{ "126, 127, 128+N", "Of `side record` and `side list -- COMMAND`: the command cannot be executed, was not found, or was killed by signal N. Any other status is the command's own." },
	{ NULL, NULL },
};

static const char *const environment_paragraphs[] = {
	"Environment variables:",
	NULL,
};

static const struct term environment_terms[] = {
	{ "NO_COLOR", "If set to anything but an empty text, colours are off unless `--color=always`." },
	{ "TERM", "If dumb, colours are off unless `--color=always`; there is no pager and no progress." },
	{ "SIDE_PAGER, PAGER", "The command that shows long output on a terminal: of view, report, list, probe list and help. The first one that is set is used; if it is empty or cat, there is no pager. Default: less, with LESS=FRX unless LESS is set." },
	{ "SIDE_DEBUG", "If set, libside and the agent in a traced program report their errors on standard error." },
	{ "SIDE_VALIDATE", "If set to anything but 0, each traced program checks its calls against the descriptions of its events and reports mismatches on standard error (`side record --validate`)." },
	{ "SIDE_RUNTIME", "The directory of the daemon's sockets. Default: /run/side for root; for other users side in XDG_RUNTIME_DIR, in /run/user/UID, or /tmp/side-UID." },
	{ "SIDE_USER_EVENTS", "For traced programs: which events they write to the kernel (`side kernel --help`)." },
	{ "SIDE_USER_EVENTS_ENCODING", "For traced programs: auto, native or eventheader." },
	{ "DEBUGINFOD_URLS", "Servers of debug information, as for elfutils; `side doctor` checks them." },
	{ "LD_LIBRARY_PATH", "Directories that `side list --libraries` searches, as the dynamic linker does." },
	{ NULL, NULL },
};

static const char *const json_paragraphs[] = {
	"With `--json` every verb prints JSON, one object a line. "
	"Each object has \"type\", and \"schema\", which is 1 and grows if the meaning of a member changes. "
	"New members can appear in any release.",
	"Data goes to standard output. Errors and summaries go to standard error.",
	NULL,
};

static const struct term json_terms[] = {
	{ "error", "Any verb: status, message, and hint, if there is one; mend is an earlier name of hint, and deprecated." },
	{ "note", "Any verb: message; also detail, with `--verbose`." },
	{ "summary", "Record, on standard error: output, bytes, processes, lost, losses, command_status." },
	{ "event", "List: event is provider:event, description the whole description as in a trace, source the file or process that has it; found is section if the file has it, registry if the process registered it at run time (or its file was removed); enabled, for a running process, whether a tracer listens. View: event, time, ns (since 1970), procname, vpid, cpu, fields." },
	{ "overview, process, count, histogram, durations, pair, slow, caller, lost, lost_packets",
		"Report: the rows of its tables." },
	{ "locks, deadlock, lock, waiting", "Locks: the overview, deadlocks, the rows of its tables, threads that wait at the end." },
	{ "session", "Status and list, a line for each session: name, state, current, output, bytes, lost; of one that is named on the command line also definition, processes, losses." },
	{ "create, start, enable-event, ...", "Verbs for sessions: the answer of the daemon, with pending (programs that have not made the change yet: pid, name, why) and unchanged." },
	{ "top, process, durations, count", "Top, for each interval: rates a second of the session, its processes, pairs (p50, p99, max in nanoseconds) and events." },
	{ "probe_site", "Probe: module, function, names, address, offset, runtime, size, method, displaced, patched, boundaries, bytes, pad, reason." },
	{ "probe_marker", "Probe: module, provider, name, arguments, address, semaphore, method; of a process runtime and listeners." },
	{ "kernel_event", "Kernel: event, tracepoint, state (native, eventheader, refused), pid, program, written, cut, lost, listeners, reason." },
	{ "check", "Doctor: name, state, for, found, hint (and mend, deprecated)." },
	{ "verb", "Help: the options and examples of a verb." },
	{ "version", "Version: version of the program." },
	{ NULL, NULL },
};

const struct topic command_topics[] = {
	{ "patterns", "Select events by name and log level.", patterns_paragraphs, patterns_terms },
	{ "sessions", "Record many programs at once.", sessions_paragraphs, sessions_terms },
	{ "channels", "Buffers with their own mode, size, events and contexts.", table_channels_paragraphs,
		table_channels_terms },
	{ "filters", "Select events by their values.", table_filters_paragraphs,
		table_filters_terms },
	{ "times", "Select events by their time.", times_paragraphs, times_terms },
	{ "contexts", "Values that can be recorded with each event.", contexts_paragraphs, NULL },
	{ "probes", "Record functions and instructions of programs without instrumentation.", table_probes_paragraphs, table_probes_terms },
	{ "global", "Probes in every process, through the kernel (uprobes).", table_global_paragraphs, table_global_terms },
	{ "exit-status", "The meaning of the exit status.", status_paragraphs, status_terms },
	{ "environment", "Environment variables of side.", environment_paragraphs,
		environment_terms },
	{ "json", "Output for programs.", json_paragraphs, json_terms },
	{ .name = NULL },
};

const char command_summary[] = "trace user-space programs";

const char *const command_introduction[] = {
	"Records what programs do: their events, calls of functions in any program, calls of the C library, and events of the kernel. "
	"Traces are in the Common Trace Format (CTF).",
	"Data goes to standard output, everything else to standard error.",
	NULL,
};

const struct example command_examples[] = {
	{ "side record -w libc -o trace -- ls -l", "Record a program." },
	{ "side view trace", "Print its events." },
	{ "side report trace", "Count its events." },
	{ "side list ./server", "List the events of a program." },
	{ "side create && side enable-event 'db:*' && side start", "Record all programs, now and later." },
	{ "side doctor", "Check the system." },
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
