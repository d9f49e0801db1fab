/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_TYPED_VALUES_H
#define SIDE_PROBE_SPEC_TYPED_VALUES_H

/*
 * Values that the user describes by register and address: TYPE:NAME:ADDR, `regs`, `reg:NAME`,
 * `backtrace`.
 */

#include "fetch.h"
#include "parts.h"

/* Whether the text has the form TYPE:NAME:ADDR; spec_seems_value(): also with an unknown TYPE. */
bool spec_is_value(const char *text);
bool spec_seems_value(const char *text);
/* Parse the value. Symbols in ADDR are looked up in the module. */
int spec_value(const char *text, struct resolve_module *module, struct value *ret_value,
		struct error *error);

/* Returns the context without its prefix if it is for the exit; NULL: it is for the entry. */
const char *spec_at_exit(const char *context);

#define SPEC_CONTEXT_MAX 18
/* Get the values of a context, at most SPEC_CONTEXT_MAX. */
int spec_context(const char *text, struct resolve_module *module, struct value *ret_values,
		size_t *ret_count, struct error *error);

#endif /* SIDE_PROBE_SPEC_TYPED_VALUES_H */
