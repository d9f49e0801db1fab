/* SPDX-License-Identifier: MIT */
/*
 * The events of a trace as lines that are found by their numbers, for `side explore`.
 *
 * The first walk through the trace sets marks: an event's number and its time. Another walk then
 * begins at the mark before a wanted event, so memory does not grow with the number of events.
 */
#ifndef SIDE_ANALYSIS_EXPLORE_EVENTS_H
#define SIDE_ANALYSIS_EXPLORE_EVENTS_H

#include "analysis/report-walk.h"

#define EXPLORE_MARKS_MAX 8192 /* a full table drops every second mark */
#define EXPLORE_LINES_MAX 1024 /* lines in memory, a power of two */
#define EXPLORE_LINE_MAX 65536 /* bytes of a line; the remainder is cut */

struct explore_mark {
	int64_t ns;
	uint64_t number; /* of the first event with this time */
};

struct explore_line {
	uint64_t number;
	char *text; /* NULL: none */
};

/* All zero is an empty one. */
struct explore_events {
	const struct report_walk *first; /* the walk that set the marks */
	struct explore_mark *marks;
	uint32_t nr_marks;
	uint64_t interval; /* the least number of events between marks */
	uint64_t nr_events;
	int64_t last_ns;
	bool unordered; /* some event has no time or an earlier time: no marks */
	bool no_memory;
	struct report_walk walk; /* a later walk, if `is_open` */
	bool is_open;
	uint64_t next; /* the number of the next event of `walk` */
	struct explore_line lines[EXPLORE_LINES_MAX];
};

/* Counts one event of the first walk, in the order of the walk. */
void explore_events_add(struct explore_events *events, const struct ctf_item *item);
void explore_events_free(struct explore_events *events);

/*
 * Returns the line of the event with this number: its time, name and values. NULL: the event cannot
 * be read again. The line is valid until the next call.
 */
const char *explore_events_line(struct explore_events *events, uint64_t number);

/*
 * Finds the first event from `number` on whose line contains `text`, without regard to case. The
 * search continues with the first event after the last one. It calls `stops` every few thousand
 * events, and ends if the result is true. Returns whether an event was found.
 */
bool explore_events_find(struct explore_events *events, uint64_t number, const char *text,
		bool (*stops)(void *user), void *user, uint64_t *ret_number);

#endif /* SIDE_ANALYSIS_EXPLORE_EVENTS_H */
