/* SPDX-License-Identifier: MIT */
/* Where a walk stands, as a list of steps on the stack, and sentences about what is wrong there. */
#ifndef SIDE_ABI_PATH_H
#define SIDE_ABI_PATH_H

#include <stdarg.h>

#include "abi/visit.h"

enum visit_step_kind {
	VISIT_STEP_EVENT,  /* name: provider, name2: event */
	VISIT_STEP_FIELD,  /* name */
	VISIT_STEP_INDEX,  /* index: an element */
	VISIT_STEP_OPTION, /* index: an option of a variant */
	VISIT_STEP_WORD,   /* name: "struct", "optional", "selector", ... */
};

struct visit_step {
	const struct visit_step *up;
	enum visit_step_kind kind;
	const char *name;
	const char *name2;
	uint32_t index;
};

/*
 * Write the sentence and the path to here into error, if there is one. What stands behind a line's end in the format says
 * what to do about it. Returns code, so that "return visit_fail(...)" reads well.
 */
int visit_fail(struct visit_error *error, const struct visit_step *here, int code,
		const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Sentence and mend alone. */
void visit_error_format(struct visit_error *error, const char *format, va_list args)
		__attribute__((format(printf, 2, 0)));

#endif /* SIDE_ABI_PATH_H */
