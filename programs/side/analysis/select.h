/* SPDX-License-Identifier: MIT */
/* Notes about patterns and filters that selected no event. */
#ifndef PROGRAMS_SIDE_ANALYSIS_SELECT_H
#define PROGRAMS_SIDE_ANALYSIS_SELECT_H

#include <stdbool.h>

struct ctf_reader;
struct pattern;
struct report_walk;
struct report_walk_options;

/*
 * Prints a note if `-e`, the filter or the times selected no event: the reason, and the nearest
 * names in the trace. `options` has no filter of its own.
 */
void command_note_no_match(const struct ctf_reader *reader,
		const struct report_walk_options *options, const char *filter);

/* The same, for a walk that had no event. */
void command_note_no_event(const struct report_walk *walk);

/*
 * Prints a note if no event class of the trace matches this half of a `--pair`.
 * True if there is none.
 */
bool command_note_pair(const struct ctf_reader *reader, const char *dir,
		const struct pattern *pattern, const char *text);

#endif /* PROGRAMS_SIDE_ANALYSIS_SELECT_H */
