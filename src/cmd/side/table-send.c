/* SPDX-License-Identifier: MIT */
/* The verbs `send` and `receive` in the table; its rules for texts stand in table.c. */
#include "table.h"

/* A table: laid out by hand. */
/* clang-format off */

const struct option table_send_options[] = {
	{
		.name = "spool",
		.argument = "SIZE",
		.kind = OPTION_SIZE,
		.offset = offsetof(struct send_arguments, spool),
		.standard = "nothing is removed",
		.sentence = "Let the files in DIR grow to SIZE bytes: beyond that, what was delivered is removed from "
				"them, and when the receiver is away for so long that this is not enough, the "
				"oldest packets are given up, and counted.",
	},
	{
		.name = "timeout",
		.argument = "TIME",
		.kind = OPTION_TIME,
		.offset = offsetof(struct send_arguments, timeout),
		.standard = "60s",
		.sentence = "Give up when the recording is over and nothing was delivered for TIME.",
	},
	{
		.name = "session",
		.argument = "NAME",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct send_arguments, session),
		.standard = "what stands in URL, or the name of DIR",
		.sentence = "What the relay daemon calls the session.",
	},
	{
		.name = "speed",
		.argument = "BAUD",
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct send_arguments, speed),
		.standard = "as it is",
		.sentence = "The speed of a serial line.",
	},
	{ .name = NULL },
};

const char *const table_send_paragraphs[] = {
	"Sends the trace in DIR to URL; if it is being recorded, what is added as well, until the "
	"recording ends. The files in DIR are what is sent from: nothing is lost while the receiver is away, "
	"and what it has not acknowledged is sent again when it is back.",
	"URL is net://HOST[:CONTROL[:DATA]][/SESSION] for a relay daemon (lttng-relayd; CTF 1.8 only), from "
	"which babeltrace2 and others read while the trace grows; or, for `side receive`, "
	"tcp://HOST:PORT, the path of a file, a FIFO or a serial line, or `-` for standard output. side refuses a host without a scheme, "
	"unless a file of that name exists.",
	"Neither encrypts: between machines, use a tunnel.",
	"The exit status is 4 if packets were given up, 1 if something was not delivered.",
	NULL,
};

const struct example table_send_examples[] = {
	{ "side send trace net://localhost", "Let a relay daemon have a trace, also while it is being recorded." },
	{ "side send trace tcp://collector:4000", "Send it to `side receive --listen 4000`." },
	{ "side send trace /dev/ttyS1 --speed 115200", "Send it over a serial line." },
	{ "side send trace - | ssh host side receive - -o trace", "Send it through another program." },
	{ .command = NULL },
};

const struct option table_receive_options[] = {
	{
		.letter = 'o',
		.name = "output",
		.argument = "DIR",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_DIRECTORY,
		.offset = offsetof(struct receive_arguments, output),
		.standard = "side-DATE-TIME in the current directory",
		.sentence = "Write the traces to DIR.",
	},
	{
		.name = "listen",
		.argument = "[ADDRESS:]PORT",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct receive_arguments, listen),
		.sentence = "Wait for senders on a TCP port, of this machine only unless an ADDRESS is given "
				"(0.0.0.0 or [::] for all).",
	},
	{
		.name = "keep",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct receive_arguments, keep),
		.sentence = "With `--listen`: go on when all senders have ended, until a signal comes.",
	},
	{
		.name = "speed",
		.argument = "BAUD",
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct receive_arguments, speed),
		.standard = "as it is",
		.sentence = "The speed of a serial line.",
	},
	{
		.name = "force",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct receive_arguments, force),
		.sentence = "Write into DIR even if it is not empty. Nothing that is there is removed or changed.",
	},
	{ .name = NULL },
};

const char *const table_receive_paragraphs[] = {
	"Makes traces of what `side send` or `side record --to` sends: from a file, a FIFO or a serial "
	"line, from standard input (`-`), from tcp://HOST:PORT, or from whoever connects to a port. They can be "
	"read while they grow, by `side view --follow` for one.",
	"It may begin at any time and find damage: it goes on at the next frame that is whole. What is missing "
	"is counted in the traces, as discarded events of each stream, and said at the end.",
	"It ends when all senders have said that they have sent everything, when the source ends, or at a "
	"signal. The exit status is 4 if something was lost on the way.",
	NULL,
};

const struct example table_receive_examples[] = {
	{ "side receive --listen 4000 -o trace", "Take what `side send DIR tcp://localhost:4000` sends." },
	{ "side receive /dev/ttyUSB0 --speed 115200 -o trace", "Listen to a serial line." },
	{ .command = NULL },
};

/* clang-format on */
