/* SPDX-License-Identifier: MIT */
/* The full-screen terminal view of `side explore`. */
#ifndef PROGRAMS_SIDE_EXPLORE_SCREEN_H
#define PROGRAMS_SIDE_EXPLORE_SCREEN_H

#include <stdbool.h>

#include "analysis/explore-answers.h"
#include "programs/side/answers/run.h"

struct error;

#define SCREEN_COLUMNS_LEAST 40
#define SCREEN_LINES_LEAST 10

struct screen_options {
	const char *dir;
	const char *filter; /* NULL: none */
	bool colour;
	struct explore_answers *answers;
	/*
	 * A trace that is being recorded is read again each second, until `end` is at its end of
	 * file. `end` is -1 if the trace is complete.
	 */
	struct answer_recording recording, answer_recordings[EXPLORE_ANSWERS];
	const char *temporary; /* a directory with traces of answers, or NULL */
	/*
	 * Where to write the number of an answer as a byte when it is shown for the first time. Then
	 * its recording begins. -1: it needs no recording of its own.
	 */
	int requests;
	int request_numbers[EXPLORE_ANSWERS];
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
