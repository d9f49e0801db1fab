/* SPDX-License-Identifier: MIT */
/* What a person reads of a wrong call or description, on standard error. */
#ifndef SIDE_TRACERS_VALIDATE_REPORT_H
#define SIDE_TRACERS_VALIDATE_REPORT_H

#include "abi/visit.h"

/*
 * A wrong call, once for each event, call site, field and kind of mismatch. Signal-safe, allocates nothing, keeps errno. code
 * is what the walk returned; is_dropped: no tracer is given it.
 */
void validate_report_call(const struct side_event_description *desc, const void *caller,
		bool is_dropped, int code, const struct visit_error *error);

/* The program ends, and so many calls were given to no tracer. */
void validate_report_dropped(uint32_t nr);

/* What becomes of an event whose description is wrong. */
enum validate_use {
	VALIDATE_HIDDEN, /* reading it would end the program: no tracer is told of it */
	VALIDATE_UNUSED, /* its calls cannot be checked */
	VALIDATE_WRONG,
	VALIDATE_DOUBTED, /* it works, but hardly as it was meant */
};

/* A wrong description, when it is registered. */
void validate_report_description(const struct side_event_description *desc, enum validate_use use,
		int code, const struct visit_error *error);

#endif /* SIDE_TRACERS_VALIDATE_REPORT_H */
