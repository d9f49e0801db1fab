/* SPDX-License-Identifier: MIT */
/* Prints one interval of `side top`, as a table for people or as lines of JSON. */
#ifndef PROGRAMS_SIDE_WATCH_TOP_PRINT_H
#define PROGRAMS_SIDE_WATCH_TOP_PRINT_H

#include "programs/side/watch/top-trace.h"

/* A process, with its counters at the end of this interval and of the previous one. */
struct top_process {
	char name[64];
	uint64_t pid;
	uint64_t vpid; /* in the process's own namespace, as in its trace */
	uint64_t bytes, recorded, lost;
	uint64_t bytes_before, lost_before;
	bool seen; /* in the last answer */
};

struct top_view {
	char session[65];
	char state[32];
	double seconds;       /* length of the interval */
	double event_seconds; /* length of the interval of the events in the trace */
	uint64_t bytes, recorded, lost, bytes_before, lost_before;
	struct top_process *processes;
	size_t nr_processes;
	bool color;
	unsigned int rows, columns; /* of the terminal; 0: no limit */
	struct top_trace trace;
};

/* Return 0 or -ENOMEM. */
int top_print_text(const struct top_view *view, FILE *out);
int top_print_json(const struct top_view *view, FILE *out);

#endif /* PROGRAMS_SIDE_WATCH_TOP_PRINT_H */
