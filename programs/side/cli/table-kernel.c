/* SPDX-License-Identifier: MIT */
/* The part of the table for `kernel`; table.c has the rules for texts. */
#include "table.h"

/* A table: laid out by hand. */
/* clang-format off */

const struct option table_kernel_options[] = {
	{ .name = NULL },
};

const char *const table_kernel_paragraphs[] = {
	"Shows the events that programs write to the kernel as user_events. "
	"For each event: its name; the encoding (native: plain fields; eventheader: each record has names and types; refused); its tracepoint for ftrace and perf; the program and its process; the number of written calls; and its listeners (ftrace, instances of it, perf). "
	"An event that could not be registered has the reason. "
	"The exit status is 1, with one line, if the kernel's tables cannot be read.",
	"A program writes its events to the kernel if `SIDE_USER_EVENTS` is set in its environment: patterns separated by commas, all, or the path of a file with lines `events PATTERNS` and `encoding auto`, native or eventheader. "
	"`SIDE_USER_EVENTS_ENCODING` chooses the encoding for one start; an event chooses its own by its attribute side.user_events. "
	"No recorder is needed. "
	"A recorder and the kernel can listen to the same event.",
	NULL,
};

const struct example table_kernel_examples[] = {
	{ "side kernel status",
		"Show the events of programs that were started with SIDE_USER_EVENTS=all." },
	{ "side kernel status --json | jq -r 'select(.state == \"refused\") | [.event, .reason] | @tsv'",
		"Print what the kernel refused, and why." },
	{ .command = NULL },
};

/* clang-format on */
