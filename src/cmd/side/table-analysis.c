/* SPDX-License-Identifier: MIT */
/* The table's part for `report` and `export`; the rules for texts stand in table.c. */
#include "command.h"
#include "table.h"

/* A table: laid out by hand. */
/* clang-format off */

#define WHERE_SENTENCE "events for which EXPRESSION is true: fields by their names, contexts as " \
		"`$ctx.NAME`; see docs/guide/filters.md. Those that lack what it names are left out."
#define PAIR_STANDARD "the thread where it was recorded (context vtid), else the process"

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
		.sentence = "Report on the events that match PATTERN. May be given several times; see `side help patterns`.",
	},
	{
		.name = "where",
		.argument = "EXPRESSION",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct report_options, where),
		.standard = "all events",
		.sentence = "Report on " WHERE_SENTENCE,
	},
	{
		.name = "from",
		.argument = "TIME",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct report_options, from),
		.standard = "the beginning",
		.sentence = "Report on nothing that happened before TIME, which is written as for "
				"`side view --from`: 12:34:56.789, +SECONDS since the first event, and so on.",
	},
	{
		.name = "to",
		.argument = "TIME",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct report_options, to),
		.standard = "the end",
		.sentence = "Report on nothing that happened after TIME.",
	},
	{
		.letter = 'b',
		.name = "by",
		.argument = "WHAT",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct report_options, by),
		.sentence = "Report on each group apart: event, process, thread, cpu, or the "
				"values of an expression, such as `size` or `$ctx.procname`. Write "
				"`(cpu)` for a field of that name.",
	},
	{
		.name = "histogram",
		.argument = "EXPRESSION",
		.kind = OPTION_LIST,
		.offset = offsetof(struct report_options, histograms),
		.sentence = "Draw the distribution of a number, by powers of two, over all events "
				"that have it. May be given several times.",
	},
	{
		.name = "pair",
		.argument = "BEGIN END",
		.two = true,
		.kind = OPTION_LIST,
		.completion = COMPLETE_EVENT,
		.offset = offsetof(struct report_options, pairs),
		.sentence = "Measure the time from each event that matches the pattern BEGIN to the "
				"next one that matches END and belongs to it: number, minimum, mean, "
				"percentiles, maximum, distribution. May be given several times.",
	},
	{
		.name = "key",
		.argument = "EXPRESSION",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct report_options, key),
		.standard = PAIR_STANDARD,
		.sentence = "With `--pair`: events belong together if EXPRESSION has the same value "
				"in both, in one process.",
	},
	{
		.name = "across",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct report_options, across),
		.sentence = "With `--key`: they may be of two processes.",
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
		.sentence = "With `--slowest`: show for each pair COUNT events of its thread before "
				"and behind its begin and its end. The trace is read twice.",
	},
	{
		.name = "calls",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct report_options, calls),
		.sentence = "List the functions of a call trace, as `side trace --function '*' --exit` "
				"records it: how often each was called, and how long that took, with "
				"(TOTAL) and without (SELF) the functions that it called.",
	},
	{
		.name = "tree",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct report_options, tree),
		.sentence = "Draw who called whom in a call trace, with the same figures.",
	},
	{
		.name = "callers",
		.argument = "COUNT",
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct report_options, callers),
		.standard = "none",
		.sentence = "List the COUNT places in the code from which most events came: by a field "
				"of the name caller, as the wrappers have it, else by the context ip.",
	},
	{
		.name = "debuginfod",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct report_options, debuginfod),
		.sentence = "With `--callers`: ask the servers in DEBUGINFOD_URLS for debug information that is not here.",
	},
	{
		.name = "losses",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct report_options, losses),
		.sentence = "List what was lost, by ring, event and reason.",
	},
	{
		.name = "counts",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct report_options, counts),
		.sentence = "List processes and events with their numbers also when another table "
				"is asked for.",
	},
	{
		.letter = 'n',
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
	"Reads the trace in DIR once, in the order of time, and prints what it amounts to: how long it "
	"is, how many events of which processes it has, how they are spread over time, how often "
	"each event is there. Another table that is asked for (`--histogram`, `--pair`, `--calls`, "
	"`--tree`, `--callers`, `--losses`) takes the place of the list of processes and events.",
	COMMAND_SESSION_TRACE,
	"An END belongs to the latest BEGIN before it that is still open, so calls may be nested. If "
	"both patterns match one event, the times between these events are measured.",
	"Numbers, minimum, mean, maximum and distributions are exact; percentiles are off by 1/512 of "
	"their value at most. Memory does not grow with the trace: of more than 10,000 groups, "
	"500,000 callers or 524,288 open begins the rest is put together or left out, which is said.",
	NULL,
};

const struct example command_report_examples[] = {
	{ "side report trace", "Get an overview of a trace." },
	{ "side report trace -e 'libc:*' --by process", "Count calls into the C library by process." },
	{ "side report trace -e 'libc:malloc' --histogram size --by caller", "See who allocates how much at a time." },
	{ "side report trace --pair 'db:query_begin' 'db:query_end' --key id --slowest 3 --around 5",
		"Measure queries, and see what happened around the slowest." },
	{ "side report trace --calls -n 20", "See where a program spends its time, by function." },
	{ "side report trace --pair 'net:request' 'net:request'", "Measure the times between requests." },
	{ "side report --json --losses trace | jq .count", "Let another program read what was lost." },
	{ .command = NULL },
};

/* export */

static const char *const format_words[] = { "perfetto", "chrome", "csv", "jsonl", "ctf1", "ctf2", NULL };

const struct option command_export_options[] = {
	{
		.letter = 't',
		.name = "to",
		.argument = "FORMAT",
		.kind = OPTION_CHOICE,
		.completion = COMPLETE_CHOICE,
		.offset = offsetof(struct export_options, format),
		.choices = format_words,
		.standard = "perfetto",
		.sentence = "What to make of the trace; see above.",
	},
	{
		.letter = 'o',
		.name = "output",
		.argument = "FILE",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_FILE,
		.offset = offsetof(struct export_options, output),
		.standard = "standard output, if it is no terminal",
		.sentence = "Write to FILE. For csv a name that ends in `/`, or a directory that is there: "
				"one file for each event. For ctf1 and ctf2: a new directory.",
	},
	{
		.letter = 'e',
		.name = "event",
		.argument = "PATTERN",
		.kind = OPTION_LIST,
		.completion = COMPLETE_EVENT,
		.offset = offsetof(struct export_options, patterns),
		.standard = "all events",
		.sentence = "Export the events that match PATTERN. May be given several times; see `side help patterns`.",
	},
	{
		.name = "where",
		.argument = "EXPRESSION",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct export_options, where),
		.standard = "all events",
		.sentence = "Export " WHERE_SENTENCE,
	},
	{
		.name = "pair",
		.argument = "BEGIN END",
		.two = true,
		.kind = OPTION_LIST,
		.completion = COMPLETE_EVENT,
		.offset = offsetof(struct export_options, pairs),
		.sentence = "For perfetto and chrome: draw a slice from each event that matches the "
				"pattern BEGIN to the one that matches END and belongs to it, as "
				"`side report` finds them. May be given several times.",
	},
	{
		.name = "key",
		.argument = "EXPRESSION",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct export_options, key),
		.standard = PAIR_STANDARD,
		.sentence = "With `--pair`: events belong together if EXPRESSION has the same value "
				"in both, in one process.",
	},
	{
		.name = "across",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct export_options, across),
		.sentence = "With `--key`: they may be of two processes.",
	},
	{ .name = NULL },
};

const char *const command_export_paragraphs[] = {
	"Writes the trace in DIR in a form that other programs read:",
	"perfetto: for https://ui.perfetto.dev and Perfetto's trace processor (SQL). Tracks for each "
	"process and thread (or CPU, where threads were not recorded), all fields as arguments.",
	"chrome: trace events as JSON, for chrome://tracing, Perfetto, speedscope and others. Larger, "
	"and times are relative to the first event.",
	"csv: a table (RFC 4180) with the columns ns, time, hostname, procname, vpid, vtid, cpu, event, "
	"loglevel, context and fields, the last two as JSON; or one file for each event, with its "
	"fields as columns.",
	"jsonl: one JSON object a line, the same as `side view --json`.",
	"ctf1, ctf2: a trace in CTF 1.8 or CTF 2, of the chosen events; the bytes of the records stay as they are.",
	"What was lost while recording is in all of them but csv, where it is said on standard error.",
	COMMAND_SESSION_TRACE,
	NULL,
};

const struct example command_export_examples[] = {
	{ "side export trace -o trace.perfetto", "Open it in https://ui.perfetto.dev." },
	{ "side export trace -o trace.perfetto --pair 'db:query_begin' 'db:query_end' --key id",
		"Draw queries as slices." },
	{ "side export trace --to chrome -o trace.json", "For speedscope or chrome://tracing." },
	{ "side export trace --to csv -e 'libc:malloc' -o tables/", "Make one table for each event." },
	{ "side export trace --to jsonl --where 'size > 4096' | jq .fields.size", "Let another program read the events." },
	{ "side export trace --to ctf2 -o trace2", "Make a CTF 2 trace of a CTF 1.8 one." },
	{ .command = NULL },
};
