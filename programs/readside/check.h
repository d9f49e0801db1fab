/* SPDX-License-Identifier: MIT */
/* What the two sides of --check share: descriptions (check.c) and calls (calls.c). */
#ifndef PROGRAMS_READSIDE_CHECK_H
#define PROGRAMS_READSIDE_CHECK_H

#include "readside.h"

/* Tell of a problem of a call of an event, in code. @field: "" for none. */
void check_report_call(struct check *check, const struct readside_event *event, const char *field,
		const char *text);

#endif /* PROGRAMS_READSIDE_CHECK_H */
