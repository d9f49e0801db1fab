/* SPDX-License-Identifier: MIT */
/*
 * Checks whether a filter can be true for any of several events, and keeps the reason of the first
 * event that does not fit.
 */
#include "filter-fit.h"

#include "filter/filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

bool filter_fit_begin(struct filter_fit *fit, const char *text)
{
	struct filter_error error;

	*fit = (struct filter_fit){.program = NULL};
	if (!filter_parse(text, &fit->program, &fit->size, &error))
		return true;
	fit->program = NULL;
	return false;
}

/* The command line was checked for unknown contexts before, so each name exists. */
static int filter_fit_context(void *user, const char *name)
{
	(void)user;
	(void)name;
	return 0;
}

void filter_fit_event(struct filter_fit *fit, const struct side_event_description *event)
{
	const struct filter_names names = {.resolve = filter_fit_context};
	struct filter_error error = {.column = 0};

	fit->nr_events++;
	if (fit->fits || !fit->program)
		return;
	if (filter_link_size(fit->program, fit->size, event, &names, &error) >= 0)
		fit->fits = true;
	/* Prefer a reason with a suggestion to the first reason. */
	else if (!*fit->reason || (*error.hint && !*fit->hint)) {
		snprintf(fit->reason, sizeof(fit->reason), "%s", error.text);
		snprintf(fit->hint, sizeof(fit->hint), "%s", error.hint);
	}
}

void filter_fit_end(struct filter_fit *fit)
{
	free(fit->program);
	fit->program = NULL;
}
