/* SPDX-License-Identifier: MIT */
/* The part of the table for `report` and `export`; table.c has the rules for texts. */
#include "programs/common/command.h"
#include "table.h"

/* A table: laid out by hand. */
/* clang-format off */

#define FILTER_SENTENCE "events for which EXPRESSION is true: fields by their names, contexts as " \
		"`$ctx.NAME`; see `side help filters`. Events without a field that it names are left out."
#define PAIR_STANDARD "the thread if it was recorded (context vtid), otherwise the process"

/* report */

const struct option command_report_options[] = {
	{
		.letter = 'e',
		.name = "event",
		.argument = "PATTERN",
		.kind = OPTION_LIST,
		.completion = COMPLETE_EVENT,
		.offset = offsetof(struct report_options, patterns),
		.standard = "all events",
		.sentence = "Report on the events that match PATTERN. Can be given several times; see `side help patterns`.",
	},
	{
		.name = "filter",
		.former_name = "where",
		.argument = "EXPRESSION",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct report_options, filter),
		.standard = "all events",
		.sentence = "Report on " FILTER_SENTENCE,
	},
	TABLE_TIME_OPTIONS(report_options,
			"Ignore events before TIME, such as 12:30:15, +500ms or -5s. See `side help times`.",
			"Ignore events after TIME."),
	{
		.letter = 'b',
		.name = "by",
		.argument = "WHAT",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct report_options, by),
		.sentence = "Report each group separately: event, process, thread, cpu, caller (function, file and line), stack (the whole call stack), or the values of an expression, such as `size` or `$ctx.procname`. Write `(cpu)` for a field of that name.",
	},
	{
		.name = "histogram",
		.argument = "EXPRESSION",
		.kind = OPTION_LIST,
		.offset = offsetof(struct report_options, histograms),
		.sentence = "Draw the distribution of a number, by powers of two, over all events that have it. Can be given several times.",
	},
	{
		.name = "pair",
		.argument = "BEGIN END",
		.two = true,
		.kind = OPTION_LIST,
		.completion = COMPLETE_EVENT,
		.offset = offsetof(struct report_options, pairs),
		.sentence = "Measure the time from each event that matches the pattern BEGIN to the next matching END: number, minimum, mean, percentiles, maximum, distribution. Can be given several times.",
	},
	{
		.name = "key",
		.argument = "EXPRESSION",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct report_options, key),
		.standard = PAIR_STANDARD,
		.sentence = "With `--pair`: events belong together if EXPRESSION has the same value in both, in one process.",
	},
	{
		.name = "across",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct report_options, across),
		.sentence = "With `--key`: the two events can be of different processes.",
	},
	{
		.name = "slowest",
		.argument = "COUNT",
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct report_options, slowest),
		.standard = "none",
		.sentence = "With `--pair`: list the COUNT slowest pairs, up to 10,000.",
	},
	{
		.name = "around",
		.argument = "COUNT",
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct report_options, around),
		.standard = "none",
		.sentence = "With `--slowest`: for each pair, print COUNT events of its thread before and after its begin and its end. The trace is read twice.",
	},
	{
		.name = "calls",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct report_options, calls),
		.sentence = "List the functions of a call trace, as recorded by `side trace --function '*' --exit`: number of calls, and time with (TOTAL) and without (SELF) called functions.",
	},
	{
		.name = "tree",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct report_options, tree),
		.sentence = "Draw the call tree of a call trace, with the same columns.",
	},
	{
		.name = "callers",
		.argument = "COUNT",
		.optional = true,
		.digits_follow = true,
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct report_options, callers),
		.sentence = "List the COUNT code locations from which most events came, 10 if there is no COUNT: by a field named caller, otherwise by the first address of the context backtrace, otherwise by the context ip.",
	},
	{
		.name = "debuginfod",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct report_options, debuginfod),
		.sentence = "With `--callers`, `--by` caller, stack or an address: get missing debug information from the servers in DEBUGINFOD_URLS.",
	},
	{
		.name = "losses",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct report_options, losses),
		.sentence = "List losses by ring, event and reason.",
	},
	{
		.name = "counts",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct report_options, counts),
		.sentence = "Also list processes and events with their counts if another table is requested.",
	},
	{
		.name = "html",
		.argument = "FILE",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_FILE,
		.offset = offsetof(struct report_options, html),
		.sentence = "Write a page for a browser to FILE instead of text: timeline, flame graph, call tree and tables. The file has at most 5 MB.",
	},
	{
		.former_letter = 'n',
		.name = "rows",
		.argument = "COUNT",
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct report_options, rows),
		.standard = "all",
		.sentence = "Show at most COUNT rows of the tables of processes, events, calls and losses.",
	},
	{ .name = NULL },
};

const char *const command_report_paragraphs[] = {
	"Reads the trace in DIR once, in the order of time, and prints an overview: its length, processes, number and distribution of events. "
	"Other tables (`--histogram`, `--pair`, `--calls`, `--tree`, `--callers`, `--losses`) replace the list of processes and events.",
	COMMAND_SESSION_TRACE,
	"An END belongs to the latest open BEGIN before it, so calls can be nested. "
	"If both patterns match one event, the times between these events are measured.",
	"Numbers, minimum, mean, maximum and distributions are exact; percentiles differ by at most 1/512 of their value. "
	"Memory does not grow with the trace: beyond 10,000 groups, 500,000 callers or 524,288 open begins, the remainder is merged or left out, and a note reports it.",
	NULL,
};

const struct example command_report_examples[] = {
	{ "side report trace",
		"Print an overview of a trace." },
	{ "side report trace -e 'libc:*' --by process",
		"Count C library calls by process." },
	{ "side report trace -e 'libc:malloc' --histogram size --by caller",
		"Print the sizes of allocations by caller." },
	{ "side report trace --pair 'db:query_begin' 'db:query_end' --key id --slowest 3 --around 5",
		"Measure queries, and print the events around the slowest." },
	{ "side report trace --calls --rows 20",
		"Print where a program spends its time, by function." },
	{ "side report trace --pair 'net:request' 'net:request'",
		"Measure the times between requests." },
	{ "side report --html trace.html trace",
		"Write a page that can be sent to a colleague." },
	{ "side report --json --losses trace | jq .count",
		"Print losses for another program." },
	{ .command = NULL },
};

/* export */

const char *const command_export_formats[] = { "perfetto", "chrome", "csv", "jsonl", "ctf1", "ctf2", "folded", "speedscope", "pprof", "svg", NULL };
/* In the order of enum flame_weight and of enum flame_by. */
const char *const command_flame_weights[] = { "auto", "time", "count", "bytes", "wait", "on-cpu", "off-cpu", NULL };
const char *const command_flame_groups[] = { "nothing", "process", "thread", NULL };

const struct option command_export_options[] = {
	{
		.former_letter = 't',
		.name = "format",
		.argument = "FORMAT",
		.kind = OPTION_CHOICE,
		.completion = COMPLETE_CHOICE,
		.offset = offsetof(struct export_options, format),
		.choices = command_export_formats,
		.standard = "perfetto",
		.sentence = "The format to write; see above.",
	},
	{
		.letter = 'o',
		.name = "output",
		.argument = "FILE",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_FILE,
		.offset = offsetof(struct export_options, output),
		.standard = "standard output, unless it is a terminal",
		.sentence = "Write to FILE. For csv, a name that ends in `/` or an existing directory: one file for each event. For ctf1 and ctf2: a new directory.",
	},
	{
		.letter = 'e',
		.name = "event",
		.argument = "PATTERN",
		.kind = OPTION_LIST,
		.completion = COMPLETE_EVENT,
		.offset = offsetof(struct export_options, patterns),
		.standard = "all events",
		.sentence = "Export the events that match PATTERN. Can be given several times; see `side help patterns`.",
	},
	{
		.name = "filter",
		.former_name = "where",
		.argument = "EXPRESSION",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct export_options, filter),
		.standard = "all events",
		.sentence = "Export " FILTER_SENTENCE,
	},
	TABLE_TIME_OPTIONS(export_options,
			"Ignore events before TIME, such as 12:30:15, +500ms or -5s. See `side help times`.",
			"Ignore events after TIME."),
	{
		.name = "pair",
		.argument = "BEGIN END",
		.two = true,
		.kind = OPTION_LIST,
		.completion = COMPLETE_EVENT,
		.offset = offsetof(struct export_options, pairs),
		.sentence = "For perfetto and chrome: draw a slice from each event that matches the pattern BEGIN to the matching END, as `side report` pairs them. For folded, speedscope, pprof and svg: weigh the stack of BEGIN by this time. Can be given several times.",
	},
	{
		.name = "key",
		.argument = "EXPRESSION",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct export_options, key),
		.standard = PAIR_STANDARD,
		.sentence = "With `--pair`: events belong together if EXPRESSION has the same value in both, in one process.",
	},
	{
		.name = "across",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct export_options, across),
		.sentence = "With `--key`: the two events can be of different processes.",
	},
	{
		.name = "weight",
		.argument = "WEIGHT",
		.kind = OPTION_CHOICE,
		.completion = COMPLETE_CHOICE,
		.offset = offsetof(struct export_options, weight),
		.choices = command_flame_weights,
		.standard = "auto: time if there are calls, otherwise count",
		.sentence = "For folded, speedscope, pprof and svg: weigh call paths by time (without called functions), count, bytes (allocated), wait (for locks), on-cpu or off-cpu. count is of events or calls; on-cpu and off-cpu are parts of the time of calls.",
	},
	{
		.letter = 'b',
		.name = "by",
		.argument = "WHAT",
		.kind = OPTION_CHOICE,
		.completion = COMPLETE_CHOICE,
		.offset = offsetof(struct export_options, by),
		.choices = command_flame_groups,
		.standard = "nothing: equal call paths are one",
		.sentence = "For folded, speedscope, pprof and svg: keep each process or thread apart.",
	},
	{
		.name = "symbols",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct export_options, symbols),
		.sentence = "Write code addresses as function, file and line, with inlined functions, as `side view --symbols` does.",
	},
	{
		.name = "debuginfod",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct export_options, debuginfod),
		.sentence = "With `--symbols`, and for folded, speedscope, pprof and svg: get missing debug information from the servers in DEBUGINFOD_URLS.",
	},
	{ .name = NULL },
};

const char *const command_export_paragraphs[] = {
	"Converts the trace in DIR for other programs:",
	"perfetto: for https://ui.perfetto.dev and Perfetto's trace processor (SQL). "
	"A track for each process and thread (or CPU, if threads were not recorded), with all fields as arguments.",
	"chrome: trace events as JSON, for chrome://tracing, Perfetto, speedscope and others. "
	"Larger; times are relative to the first event.",
	"csv: a table (RFC 4180) with the columns ns, time, hostname, procname, vpid, vtid, cpu, event, loglevel, context and fields, the last two as JSON; or one file for each event, with its fields as columns.",
	"jsonl: one JSON object a line, the same as `side view --json`.",
	"ctf1, ctf2: a trace in CTF 1.8 or CTF 2 with the selected events; the bytes of the records do not change.",
	"folded: a line for each call path, `main;outer;inner 12`, for flamegraph.pl, inferno and other programs. "
	"speedscope: a file for https://www.speedscope.app. "
	"Without `--weight` and `--by`, it has the calls of a call trace in the order of time, with a profile for each thread. "
	"pprof: a file for `go tool pprof` and others. "
	"svg: a picture, for a browser, a wiki or print. "
	"folded, pprof and svg have no times of events. "
	"A path comes from the calls of a call trace, otherwise from the stack of each event. "
	"The stack is the context backtrace, a field caller, or the context ip.",
	"In perfetto and chrome, calls of functions (`side trace --exit`) are slices with the name of the function, nested in the track of their thread. "
	"The note `no return` marks a call whose return is not in the trace, and `no entry` a return whose entry is not in it.",
	"Addresses and pointers are hexadecimal, or with `--symbols` the function with file and line: `\"price+0x1f (shop.c:12)\"`. "
	"jsonl has the number, and its symbol beside it.",
	"perfetto, chrome, jsonl, ctf1 and ctf2 contain the losses of the recording. "
	"For the other formats, they are printed on standard error.",
	COMMAND_SESSION_TRACE,
	NULL,
};

const struct example command_export_examples[] = {
	{ "side export trace -o trace.perfetto",
		"Write a file for https://ui.perfetto.dev." },
	{ "side export trace -o trace.perfetto --pair 'db:query_begin' 'db:query_end' --key id",
		"Draw queries as slices." },
	{ "side export trace --format chrome -o trace.json",
		"Write a file for speedscope or chrome://tracing." },
	{ "side export trace --format csv -e 'libc:malloc' -o tables/",
		"Write one table for each event." },
	{ "side export trace --format chrome --symbols -o trace.json",
		"Write callers and call stacks with the names of functions." },
	{ "side export trace --format jsonl --filter 'size > 4096' | jq .fields.size",
		"Print events for another program." },
	{ "side export trace --format folded --weight bytes -o bytes.folded",
		"Write the bytes that each call path allocates, as folded stacks." },
	{ "side export trace --format pprof -o trace.pb.gz",
		"Write a file for `go tool pprof -http : trace.pb.gz`." },
	{ "side export trace --format svg -o trace.svg",
		"Draw a flame graph." },
	{ "side export trace --format ctf2 -o trace2",
		"Convert a CTF 1.8 trace to CTF 2." },
	{ .command = NULL },
};
