/* SPDX-License-Identifier: MIT */
/*
 * Reports misuse of the library after which it continued. Prints each message once, on stderr, only
 * if SIDE_DEBUG is set in the environment. Async-signal-safe.
 */
#ifndef SIDE_LIBSIDE_REPORT_H
#define SIDE_LIBSIDE_REPORT_H

enum report_reason {
	REPORT_STATE_VERSION,
	REPORT_DESCRIPTION_VERSION,
	REPORT_DESCRIPTION_SIZE,
	REPORT_NULL_ARGUMENT,
	REPORT_VARIADIC,
	REPORT_NR,
};

/* Read the environment. Called before any report. */
void report_init(void);

void report_once(enum report_reason report);

#endif /* SIDE_LIBSIDE_REPORT_H */
