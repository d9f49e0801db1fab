/* SPDX-License-Identifier: MIT */
/* Errors, notes and progress of the analysis library, as the command line prints them. */
#ifndef PROGRAMS_SIDE_ANALYSIS_LIBRARY_MESSAGES_H
#define PROGRAMS_SIDE_ANALYSIS_LIBRARY_MESSAGES_H

#include "analysis/listener.h"

struct time_range;
struct view_options;
struct view_time;
struct where;

/*
 * A listener that prints messages, and progress as "side: VERB: read N events". `verb` must live as
 * long as the listener; NULL: no progress.
 */
struct analysis_listener command_listener(const char *verb);
/* The same with "wrote" instead of "read". */
struct analysis_listener command_write_listener(const char *verb);

/* view_run() with an exit status. */
int command_view(const struct view_options *options);

/* where_parse() and view_times_read() with an exit status. They print errors. */
int command_parse_where(const char *option, const char *text, struct where *ret_where);
int command_read_times(const struct time_range *times, struct view_time *ret_from,
		struct view_time *ret_to);

#endif /* PROGRAMS_SIDE_ANALYSIS_LIBRARY_MESSAGES_H */
