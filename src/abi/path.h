/* SPDX-License-Identifier: MIT */
/* The path of a walk, as a list of steps on the stack, and messages with that path. */
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
 * Write the message and the path into error, unless that is NULL. A text after '\n' in the format
 * is the hint. Returns code, for use as "return visit_fail(...)".
 */
int visit_fail(struct visit_error *error, const struct visit_step *here, int code,
		const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Write only message and hint. */
void visit_error_format(struct visit_error *error, const char *format, va_list args)
		__attribute__((format(printf, 2, 0)));

#endif /* SIDE_ABI_PATH_H */
