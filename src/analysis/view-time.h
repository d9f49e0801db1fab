/* SPDX-License-Identifier: MIT */
/* Begin and end times, as users write them. */
#ifndef SIDE_ANALYSIS_VIEW_TIME_H
#define SIDE_ANALYSIS_VIEW_TIME_H

#include <stdbool.h>
#include <stdint.h>

struct error;

enum view_time_kind {
	VIEW_TIME_NONE,
	VIEW_TIME_EPOCH,      /* ns since 1970 */
	VIEW_TIME_BEFORE_END, /* ns before the last event */
	VIEW_TIME_DAY,        /* ns since midnight of the day on which the trace begins */
	VIEW_TIME_SINCE,      /* ns since the first event */
};

struct view_time {
	enum view_time_kind kind;
	int64_t ns;
};

/* The begin, the end, and a duration before the end, as users write them. NULL: not given. */
struct time_range {
	const char *from, *to, *last;
};

/* Reads one time in a form of the topic "times" (`side help times`). False: it has another form. */
bool view_time_parse(const char *text, struct view_time *ret_time);

bool view_times_is_set(const struct time_range *times);

/* Reads both ends; VIEW_TIME_NONE if not given. 0 or -EINVAL, of the kind ERROR_USAGE. */
int view_times_read(const struct time_range *times, struct view_time *ret_from,
		struct view_time *ret_to, struct error *error);

/*
 * Converts both ends to ns since 1970, both included. Relative times need the first or the last
 * event of the trace in `dir`.
 */
void view_times_resolve(const char *dir, const struct view_time *from, const struct view_time *to,
		int64_t *ret_from_ns, int64_t *ret_to_ns);

#endif /* SIDE_ANALYSIS_VIEW_TIME_H */
