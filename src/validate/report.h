/* SPDX-License-Identifier: MIT */
/* What a person reads of a wrong call or description, on standard error. */
#ifndef VALIDATE_REPORT_H
#define VALIDATE_REPORT_H

#include "visit/visit.h"

/*
 * A wrong call, once for each event, call site, field and kind of mismatch. Signal-safe, allocates nothing, keeps errno. code
 * is what the walk returned.
 */
void validate_report_call(const struct side_event_description *desc, const void *caller, int code,
		const struct visit_error *error);

/* A wrong description, when it is registered. is_used: its calls are checked nevertheless. */
void validate_report_description(const struct side_event_description *desc, bool is_used, int code,
		const struct visit_error *error);

#endif /* VALIDATE_REPORT_H */
