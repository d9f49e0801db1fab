/* SPDX-License-Identifier: MIT */
/* The verb `view`: show the events of a recording. */
#ifndef SIDE_ANALYSIS_VIEW_H
#define SIDE_ANALYSIS_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/listener.h"
#include "analysis/view-time.h"

struct ctf_reader;
struct where;

struct view_options {
	const char *dir;
	bool json;       /* One object a line instead of text. */
	bool colour;     /* The caller has looked at --color, NO_COLOR and the terminal. */
	bool attributes; /* Show the attributes of events and types too. */
	bool symbols;    /* Show addresses in the code as what stands there. */
	bool debuginfod; /* For that, servers may be asked. */
	bool repair;     /* First mend what a killed recorder left. */
	uint64_t limit;  /* Show at most so many events; 0: all. */
	bool follow;     /* Go on while the trace is being recorded. */

	/* Only what happened from … to (both included). */
	struct view_time from;
	struct view_time to;

	/* A condition on events, or NULL. */
	const struct where *where;

	unsigned int threads; /* To decode with, this one included; 0: as many as it pays. */

	/*
	 * Says whether an event is wanted ("provider:event", LTTng's log level or -1); NULL: all
	 * are. Asked once for each event of each trace.
	 */
	bool (*wanted)(void *context, const char *event, int loglevel);
	void *wanted_context;

	/* Called at the end when no event was shown; NULL: nobody asks. */
	void (*nothing)(void *context, const struct ctf_reader *reader);
	void *nothing_context;

	FILE *out; /* NULL: stdout. */
	/* Without `report`, messages go to standard error, after "side: ". */
	struct analysis_listener listener;

	/*
	 * Called when helper processes have started and before the trace is read, so that the caller can give up its rights:
	 * `writes` is the directory that is written to (with `repair`), or NULL. NULL: nothing is called.
	 */
	void (*confine)(const char *dir, const char *writes);
};

/*
 * Shows the events. 0; -EPIPE when nobody reads what is written and SIGPIPE is ignored; -EIO when something could not be read or
 * written, which has been reported.
 */
int view_run(const struct view_options *options);

#endif /* SIDE_ANALYSIS_VIEW_H */
