/* SPDX-License-Identifier: MIT */
/* One line on the terminal about long work: from one second on, at most ten times a second, and gone at the end. */
#ifndef PROGRAMS_COMMON_PROGRESS_H
#define PROGRAMS_COMMON_PROGRESS_H

#include <stdbool.h>

struct common_options;

/*
 * Before pager_start(). There is no progress if standard error is not a terminal, with --quiet, --json or --no-progress,
 * or if TERM is dumb.
 */
void progress_start(const struct common_options *common);
/* Is it time to show the line? False for one second, and for 100 ms after each line. */
bool progress_is_due(void);
/* The same, asked once per event: looks at the clock only each few thousand times. */
bool progress_is_due_often(void);
/* Replaces the line. */
void progress_show(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Removes the line. Before anything else is printed on the terminal. */
void progress_clear(void);
/* Removes the line, and shows none any more. */
void progress_end(void);

#endif /* PROGRAMS_COMMON_PROGRESS_H */
