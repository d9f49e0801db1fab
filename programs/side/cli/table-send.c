/* SPDX-License-Identifier: MIT */
/* The part of the table for `send` and `receive`; table.c has the rules for texts. */
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
		.sentence = "Limit the files in DIR to SIZE bytes. Delivered data is removed first. If the receiver does not answer for so long that this is not enough, the oldest packets are dropped and counted.",
	},
	{
		.name = "timeout",
		.argument = "TIME",
		.kind = OPTION_TIME,
		.offset = offsetof(struct send_arguments, timeout),
		.standard = "60s",
		.sentence = "Give up if the recording has ended and nothing was delivered for TIME.",
	},
	{
		.name = "session",
		.argument = "NAME",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct send_arguments, session),
		.standard = "the one in URL, or the name of DIR",
		.sentence = "The name of the session in the relay daemon.",
	},
	{
		.name = "speed",
		.argument = "BAUD",
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct send_arguments, speed),
		.standard = "unchanged",
		.sentence = "The speed of a serial line.",
	},
	{ .name = NULL },
};

const char *const table_send_paragraphs[] = {
	"Sends the trace in DIR to URL. "
	"If it is being recorded, also sends what is added, until the recording ends. "
	"The files in DIR are the buffer: nothing is lost while the receiver does not answer, and unacknowledged data is sent again.",
	"URL is net://HOST[:CONTROL[:DATA]][/SESSION] for a relay daemon (lttng-relayd; CTF 1.8 only), from which babeltrace2 and others read while the trace grows. "
	"For `side receive` it is tcp://HOST:PORT, the path of a file, a FIFO or a serial line, or `-` for standard output. side refuses a host without a scheme, unless a file of that name exists.",
	"There is no encryption: between machines, use a tunnel.",
	"The exit status is 4 if packets were dropped, 1 if something was not delivered.",
	NULL,
};

const struct example table_send_examples[] = {
	{ "side send trace net://localhost",
		"Send a trace to a relay daemon, even while it is recorded." },
	{ "side send trace tcp://collector:4000",
		"Send it to `side receive --listen 4000`." },
	{ "side send trace /dev/ttyS1 --speed 115200",
		"Send it over a serial line." },
	{ "side send trace - | ssh host side receive - -o trace",
		"Send it through another program." },
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
		.sentence = "Listen on a TCP port, for senders of this machine only unless an ADDRESS is given (0.0.0.0 or [::] for all).",
	},
	{
		.name = "keep",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct receive_arguments, keep),
		.sentence = "With `--listen`: continue after all senders have ended, until a signal.",
	},
	{
		.name = "speed",
		.argument = "BAUD",
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct receive_arguments, speed),
		.standard = "unchanged",
		.sentence = "The speed of a serial line.",
	},
	{
		.name = "force",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct receive_arguments, force),
		.sentence = "Write to DIR even if it is not empty. Existing files are not removed or changed.",
	},
	{ .name = NULL },
};

const char *const table_receive_paragraphs[] = {
	"Receives traces from `side send` or `side record --to`: from a file, a FIFO or a serial line, from standard input (`-`), from tcp://HOST:PORT, or on a TCP port. "
	"The traces can be read while they grow, for instance by `side view --follow`.",
	"It can start at any time. "
	"After damaged data it continues at the next complete frame. "
	"Missing data is counted in the traces, as discarded events of each stream, and reported at the end.",
	"With `--listen`, a connection that delivers no session within 10 seconds is closed, and one address has 32 connections at most. "
	"Received data is parsed without the right to run programs, to connect to others, or to write outside the output.",
	"It ends when all senders have reported that everything is sent, when the source ends, or at a signal. "
	"The exit status is 4 if packets were lost in transit.",
	NULL,
};

const struct example table_receive_examples[] = {
	{ "side receive --listen 4000 -o trace",
		"Receive from `side send DIR tcp://localhost:4000`." },
	{ "side receive /dev/ttyUSB0 --speed 115200 -o trace",
		"Receive from a serial line." },
	{ .command = NULL },
};

/* clang-format on */
