/* SPDX-License-Identifier: MIT */
/* Times on the command line. */
#ifndef CMD_SIDE_VIEW_TIME_H
#define CMD_SIDE_VIEW_TIME_H

#include <stdbool.h>
#include <stdint.h>

enum view_time_kind {
	VIEW_TIME_NONE,
	VIEW_TIME_EPOCH, /* ns since 1970. */
	VIEW_TIME_DAY,   /* ns since midnight, of the day on which the trace begins. */
	VIEW_TIME_SINCE, /* ns since the first event. */
};

struct view_time {
	enum view_time_kind kind;
	int64_t ns;
};

/*
 * 12:34[:56[.789]], with YYYY-MM-DD before it (a blank or T between) and Z behind it for UTC;
 * SECONDS since 1970; +SECONDS since the trace begins. False: it is none of these.
 */
bool view_time_parse(const char *text, struct view_time *time);

/* Nanoseconds since 1970, of a trace that begins at `begin`. */
int64_t view_time_resolve(const struct view_time *time, int64_t begin);

/* The same of an option (NULL: it was not given). 0, or an exit status: said. */
int view_time_read(const char *option, const char *text, struct view_time *time);

/* Both ends, included, of what is wanted of the trace in this directory, which is looked at if need be. */
void view_times_resolve(const char *dir, const struct view_time *from, const struct view_time *to,
		int64_t *from_ns, int64_t *to_ns);

#endif /* CMD_SIDE_VIEW_TIME_H */
