/* SPDX-License-Identifier: MIT */
/* The verbs `attach` and `detach` in the table; its rules for texts stand in table.c. */
#include "table.h"

/* A table: laid out by hand. */
/* clang-format off */

/* In the order of enum session_channel_mode and enum session_format. */
static const char *const mode_words[] = { "discard", "overwrite", "block", NULL };
static const char *const format_words[] = { "ctf1", "ctf2", NULL };

const struct option table_attach_options[] = {
	{
		.letter = 'p',
		.name = "pid",
		.argument = "PID",
		.kind = OPTION_NUMBER,
		.completion = COMPLETE_PROCESS_ID,
		.offset = offsetof(struct attach_options, pid),
		.sentence = "The program that is meant; its number may also stand alone.",
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
		.sentence = "Record the events that match PATTERN. May be given several times; see `side help patterns`.",
	},
	{
		.letter = 'f',
		.name = "filter",
		.argument = "EXPRESSION",
		.kind = OPTION_TEXT,
		.ordered = true,
		.offset = offsetof(struct attach_options, channels),
		.sentence = "Record an event only when EXPRESSION, like `size > 4096`, is true of it. "
				"It belongs to the `-e` before it, back to the last `--filter`; before any `-e` it belongs to "
				"all events. See `side help filters`.",
	},
	{
		.name = "context",
		.argument = "NAME,...",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_CONTEXT,
		.ordered = true,
		.offset = offsetof(struct attach_options, channels),
		.sentence = "Record these with each event. See `side help contexts`.",
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
		.sentence = "Record for TIME: seconds, or a number with ms, s or min behind it.",
	},
	{
		.name = "mode",
		.argument = "MODE",
		.kind = OPTION_CHOICE,
		.completion = COMPLETE_CHOICE,
		.ordered = true,
		.offset = offsetof(struct attach_options, channels),
		.choices = mode_words,
		.standard = "discard",
		.sentence = "What a full ring does: discard, overwrite or block, as of `side record`.",
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
		.sentence = "Record where the executable and its libraries are, as `side record --symbols` does.",
	},
	{
		.name = "format",
		.argument = "FORMAT",
		.kind = OPTION_CHOICE,
		.completion = COMPLETE_CHOICE,
		.offset = offsetof(struct attach_options, format),
		.choices = format_words,
		.standard = "ctf1",
		.sentence = "Describe the trace in CTF 1.8 (ctf1) or CTF 2 (ctf2).",
	},
	{
		.name = "force",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct attach_options, force),
		.sentence = "Write into DIR even if it is not empty.",
	},
	{
		.name = "daemon",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct attach_options, daemon),
		.sentence = "Record nothing here: have the program go to the daemon, as if it had been started after it. "
				"Then it belongs to the sessions of the daemon.",
	},
	{
		.letter = 's',
		.name = "session",
		.argument = "SESSION",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_SESSION,
		.offset = offsetof(struct attach_options, session),
		.sentence = "The same, and fail if the session SESSION does not record the program then.",
	},
	{
		.name = "system",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct attach_options, system),
		.sentence = "With `--daemon` or `-s`: the daemon of the system (/run/side), not the user's own.",
	},
	{
		.name = "in-sandbox",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct attach_options, in_sandbox),
		.sentence = "Attach to a program in a sandbox (seccomp), too. Its filter has to allow what loading a "
				"library and making a thread takes, or it ends the program.",
	},
	{ .name = NULL },
};

const char *const table_attach_paragraphs[] = {
	"Brings the recorder into a program that runs and was not started by side, and records its events until Ctrl-C, "
	"until the program ends, or for a `--duration`. Then the program is left to itself again. With `--daemon` or "
	"`-s` nothing is recorded here; the program comes to the daemon, and stays there until `side detach`.",
	"The events are those that the program and its libraries declare with libside. Calls of the C library "
	"(`side record -w`) cannot be had of a program that runs, because it is bound to them already.",
	"One thread is stopped for a moment, at a point where it may make a thread; that one loads the recorder, and "
	"ends. Where no thread comes to such a point in two seconds, where the program is linked statically, in a sandbox, or "
	"of another processor, and where another tracer is there or ptrace is not permitted, the program is left alone and a sentence "
	"says why.",
	"What stays after the end is the library itself, with libside, and the stack that the C library keeps of a thread that has "
	"ended; no thread, no descriptor and no memory of rings.",
	"A program in another mount or pid namespace, or with another root directory, is given the libraries as memory. With "
	"`--daemon` it comes to the daemon through a door: a socket that is made where it sees it, and goes with the last program "
	"that uses it.",
	NULL,
};

const struct example table_attach_examples[] = {
	{ "side attach -p 4711 -e 'db:*' -o trace --duration 10s", "Record ten seconds of a program that runs." },
	{ "side attach -p 4711 -e 'db:query' -f 'rows > 1000' -o slow", "Record large queries, until Ctrl-C." },
	{ "side attach -p 4711 --daemon", "Let the sessions of the daemon have it." },
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
		.sentence = "The program that is meant; its number may also stand alone.",
	},
	{
		.name = "in-sandbox",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct attach_options, in_sandbox),
		.sentence = "As of `side attach`.",
	},
	{ .name = NULL },
};

const char *const table_detach_paragraphs[] = {
	"Ends what `side attach` began: recordings whose recorder was killed, and with `--daemon` the connection to the daemon. "
	"Events of the program cost then what they cost before.",
	"A recording that goes on loses the program; a Ctrl-C is what ends it in order.",
	NULL,
};

const struct example table_detach_examples[] = {
	{ "side detach -p 4711", "Leave a program to itself." },
	{ .command = NULL },
};

/* clang-format on */
