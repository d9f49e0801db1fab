/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_RECORD_NO_EVENTS_H
#define PROGRAMS_SIDE_RECORD_NO_EVENTS_H

/*
 * Explains why a recording of programs has no event: compares the user's selection with the events
 * in the files.
 */

struct option_uses;
struct session_summary;
struct text_list;

struct no_events_query {
	const struct option_uses *uses;   /* `-e` and `--filter` among others */
	const struct text_list *wrappers; /* NULL: none */
};

/* Prints a note about the programs of the recording. */
void no_events_explain(const struct no_events_query *query, const struct session_summary *summary);

#endif /* PROGRAMS_SIDE_RECORD_NO_EVENTS_H */
