/* SPDX-License-Identifier: MIT */
/* The full-screen terminal view of `side explore`. */
#ifndef PROGRAMS_SIDE_EXPLORE_SCREEN_H
#define PROGRAMS_SIDE_EXPLORE_SCREEN_H

#include <stdbool.h>

struct error;
struct explore_answers;

#define SCREEN_COLUMNS_LEAST 40
#define SCREEN_LINES_LEAST 10

struct screen_options {
	const char *dir;
	const char *filter; /* NULL: none */
	bool colour;
	struct explore_answers *answers; /* NULL: stacks, leaks and locks are not shown */
	/*
	 * A trace that is being recorded is read again each second, until this descriptor is at its
	 * end of file. -1: the trace is complete.
	 */
	int recording;
};

/*
 * Starts the screen. Call it before the process is confined, because it reads the description of
 * the terminal. False: the terminal is not known.
 */
bool screen_open(const struct screen_options *options);
/* Restores the terminal. */
void screen_close(void);
/* Runs until the user quits, or until a signal. 0, or a negative errno: cannot read the trace. */
int screen_run(const struct screen_options *options, struct error *error);

#endif /* PROGRAMS_SIDE_EXPLORE_SCREEN_H */
