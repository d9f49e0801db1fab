/* SPDX-License-Identifier: MIT */
/* The interface between the two parts of --check: descriptions (check.c) and calls (calls.c). */
#ifndef PROGRAMS_READSIDE_CHECK_H
#define PROGRAMS_READSIDE_CHECK_H

#include "readside.h"

/* Report a wrong call of an event in code. `field` is "" if it concerns none. */
void check_report_call(struct check *check, const struct readside_event *event, const char *field,
		const char *text);

#endif /* PROGRAMS_READSIDE_CHECK_H */
