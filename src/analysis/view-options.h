/* SPDX-License-Identifier: MIT */
/* Options of view_run(), for all parts that show events. */
#ifndef SIDE_ANALYSIS_VIEW_OPTIONS_H
#define SIDE_ANALYSIS_VIEW_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/listener.h"
#include "analysis/view-time.h"

struct ctf_reader;
struct where;

struct view_options {
	const char *dir;
	bool json;       /* one JSON object per line instead of text */
	bool colour;     /* use colours */
	bool flat;       /* text: one event a line, also entries and returns of functions */
	bool attributes; /* show the attributes of events and types */
	bool symbols;    /* show addresses of code as symbols */
	bool debuginfod; /* servers may be asked for debug files */
	bool repair;     /* first repair what a killed recorder left */
	uint64_t limit;  /* the largest number of events; 0: all */
	bool follow;     /* continue while the trace is being recorded */

	/* Only events between these times, both included. */
	struct view_time from;
	struct view_time to;

	/* a condition on events, or NULL */
	const struct where *where;

	unsigned int threads; /* threads that decode, this one included; 0: as many as are useful */

	/*
	 * Whether an event is wanted: `event` is "provider:event", `loglevel` is LTTng's, or -1.
	 * Called once for each event class of each trace. NULL: all are wanted.
	 */
	bool (*wanted)(void *context, const char *event, int loglevel);
	void *wanted_context;

	/* Called at the end if no event was shown. May be NULL. */
	void (*nothing)(void *context, const struct ctf_reader *reader);
	void *nothing_context;

	FILE *out; /* NULL: standard output */
	/* Without `report`, messages go to standard error, after "side: ". */
	struct analysis_listener listener;

	/*
	 * Called after helper processes have started and before the trace is read, so that the
	 * caller can drop its privileges. `writes` is the directory that will be written to (with
	 * `repair`), or NULL. May be NULL.
	 */
	void (*confine)(const char *dir, const char *writes);
};

#endif /* SIDE_ANALYSIS_VIEW_OPTIONS_H */
