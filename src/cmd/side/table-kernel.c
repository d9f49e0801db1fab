/* SPDX-License-Identifier: MIT */
/* The verb `kernel` in the table; its rules for texts stand in table.c. */
#include "table.h"

/* A table: laid out by hand. */
/* clang-format off */

const struct option table_kernel_options[] = {
	{ .name = NULL },
};

const char *const table_kernel_paragraphs[] = {
	"Shows the events that programs give to the kernel as user_events: for each its name, the encoding (native: plain "
	"fields; eventheader: each record says its own names and types; refused), the tracepoint that ftrace and perf "
	"know, the program and its process, how many calls it has written, and who listens: ftrace, its "
	"instances, perf. What a program could not register has the reason behind it. Exit status 1, with one line, where the "
	"kernel's side cannot be looked at.",
	"A program gives its events to the kernel when `SIDE_USER_EVENTS` is set in its environment: patterns with commas between "
	"them, all, or the path of a file with lines `events PATTERNS` and `encoding auto`, native or eventheader. "
	"`SIDE_USER_EVENTS_ENCODING` chooses the encoding for one start; an event chooses its own by its attribute "
	"side.user_events. No recorder is needed, and none is in the way: both may listen to an event.",
	NULL,
};

const struct example table_kernel_examples[] = {
	{ "side kernel status", "See what the kernel knows of programs that were started with SIDE_USER_EVENTS=all." },
	{ "side kernel status --json | jq -r 'select(.state == \"refused\") | [.event, .reason] | @tsv'",
		"Say what the kernel did not take, and why." },
	{ .command = NULL },
};

/* clang-format on */
