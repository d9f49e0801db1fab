/* SPDX-License-Identifier: MIT */
/* Prints reports of wrong calls and descriptions to standard error. */
#ifndef SIDE_TRACERS_VALIDATE_REPORT_H
#define SIDE_TRACERS_VALIDATE_REPORT_H

#include "abi/visit.h"

/*
 * Report a wrong call, once for each event, call site, field and kind of mismatch. `code` is the
 * result of the walk; `is_dropped`: the call is passed to no tracer. Signal-safe, allocates
 * nothing, preserves errno.
 */
void validate_report_call(const struct side_event_description *desc, const void *caller,
		bool is_dropped, int code, const struct visit_error *error);

/* Report at exit that `nr` calls were passed to no tracer. */
void validate_report_dropped(uint32_t nr);

/* The consequence of a wrong description. */
enum validate_use {
	VALIDATE_HIDDEN, /* reading it would crash the program: it is hidden from all tracers */
	VALIDATE_UNUSED, /* its calls cannot be checked */
	VALIDATE_WRONG,
	VALIDATE_DOUBTED, /* it works, but probably not as intended */
};

/* Report a wrong description when it is registered. */
void validate_report_description(const struct side_event_description *desc, enum validate_use use,
		int code, const struct visit_error *error);

#endif /* SIDE_TRACERS_VALIDATE_REPORT_H */
