/* SPDX-License-Identifier: MIT */
/*
 * Counts the events of a growing trace for `side top`: events by name, and the times between pairs
 * of events. The numbers are those of one interval; top_trace_reset() begins the next one.
 */
#ifndef PROGRAMS_SIDE_WATCH_TOP_TRACE_H
#define PROGRAMS_SIDE_WATCH_TOP_TRACE_H

#include "programs/common/command.h"
#include "programs/side/watch/top-callers.h"
#include "analysis/report-distribution.h"
#include "analysis/report-keys.h"
#include "analysis/report-pair.h"
#include "analysis/view-out.h"
#include "analysis/view-sink.h"

struct ctf_reader;
struct pattern;

struct top_event {
	uint64_t count; /* in this interval */
	uint64_t all;   /* since the beginning of the trace, or of watching */
};

struct top_trace {
	const struct top_options *options;
	struct pattern *patterns;
	struct report_pairs pairs;
	struct top_callers callers;
	struct identity identity;
	struct stats durations[PAIR_RULES_MAX]; /* of this interval */
	struct keys names;                      /* "provider:event" */
	struct top_event *events;               /* names.count elements */
	uint32_t capacity;
	struct top_event *by_process; /* process_capacity elements */
	uint32_t process_capacity;
	struct ctf_reader *reader; /* NULL: no trace exists yet */
	char directory[4096];
	struct view_sink sink;
	struct view_out scratch;
	int64_t from_ns; /* older events do not belong to an interval */
};

/* Returns 0 or an exit status, after a message. */
int top_trace_create(struct top_trace *trace, const struct top_options *options);
void top_trace_free(struct top_trace *trace);

/*
 * Reads the new events of the traces in `directory` up to that time, which must be at least a
 * second ago. Returns 0 or -ENOMEM.
 */
int top_trace_read(struct top_trace *trace, const char *directory, int64_t until);
void top_trace_reset(struct top_trace *trace);

/* The rows of events, sorted by count. The caller frees the array. NULL: out of memory. */
uint32_t *top_trace_order(const struct top_trace *trace);
/* The events of the process of this name and number, in its own namespace. */
struct top_event top_trace_process(const struct top_trace *trace, const char *name, uint64_t pid);
const char *top_trace_name(const struct top_trace *trace, uint32_t event);

#endif /* PROGRAMS_SIDE_WATCH_TOP_TRACE_H */
