/* SPDX-License-Identifier: MIT */
/*
 * Checks whether a filter can be true for any of several events, and keeps the reason of the first
 * event that does not fit.
 */
#ifndef PROGRAMS_SIDE_PROCESSES_FILTER_FIT_H
#define PROGRAMS_SIDE_PROCESSES_FILTER_FIT_H

#include <stdbool.h>
#include <stddef.h>

struct side_event_description;

struct filter_fit {
	void *program;
	size_t size;
	size_t nr_events; /* events compared */
	bool fits;        /* with at least one of them */
	char reason[256]; /* example: the event has no field "rowz" */
	char hint[96];    /* example: did you mean `rows`? May be empty */
};

/*
 * False if the text is no filter, or after a failed allocation. Call filter_fit_end() in both
 * cases.
 */
bool filter_fit_begin(struct filter_fit *fit, const char *text);
void filter_fit_event(struct filter_fit *fit, const struct side_event_description *event);
void filter_fit_end(struct filter_fit *fit);

#endif /* PROGRAMS_SIDE_PROCESSES_FILTER_FIT_H */
