/* SPDX-License-Identifier: MIT */
/*
 * Progress line of long operations on the terminal: starts after one second, is updated at most ten
 * times a second, and is removed at the end.
 */
#ifndef PROGRAMS_COMMON_PROGRESS_H
#define PROGRAMS_COMMON_PROGRESS_H

#include <stdbool.h>

struct common_options;

/*
 * Call it before pager_start(). Shows no progress if standard error is not a terminal, with
 * --quiet, --json or --no-progress, or if TERM is dumb.
 */
void progress_start(const struct common_options *common);
/* True if the line should be updated: after the first second, then 100 ms after each update. */
bool progress_is_due(void);
/* The same for callers that check once per event: reads the clock at each 4096th call only. */
bool progress_is_due_often(void);
/* Replaces the line. */
void progress_show(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Removes the line. Must precede other output on the terminal. */
void progress_clear(void);
/* Removes the line and ends progress. */
void progress_end(void);

#endif /* PROGRAMS_COMMON_PROGRESS_H */
