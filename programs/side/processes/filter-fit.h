/* SPDX-License-Identifier: MIT */
/* Whether a filter can be true for any of some events: the reason of the first event that it does not fit. */
#ifndef PROGRAMS_SIDE_PROCESSES_FILTER_FIT_H
#define PROGRAMS_SIDE_PROCESSES_FILTER_FIT_H

#include <stdbool.h>
#include <stddef.h>

struct side_event_description;

struct filter_fit {
	void *program;
	size_t size;
	size_t nr_events; /* that were compared */
	bool fits;        /* one of them */
	char reason[256]; /* such as: the event has no field "rowz" */
	char hint[96];    /* such as: did you mean `rows`? May be empty */
};

/* False: the text is no filter, or out of memory. filter_fit_end() in both cases. */
bool filter_fit_begin(struct filter_fit *fit, const char *text);
void filter_fit_event(struct filter_fit *fit, const struct side_event_description *event);
void filter_fit_end(struct filter_fit *fit);

#endif /* PROGRAMS_SIDE_PROCESSES_FILTER_FIT_H */
