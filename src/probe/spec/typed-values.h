/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_TYPED_VALUES_H
#define SIDE_PROBE_SPEC_TYPED_VALUES_H

/* Values that somebody says by hand: TYPE:NAME:ADDR, `regs`, `reg:NAME`, `backtrace`. */

#include "fetch.h"
#include "parts.h"

/* Is it of the form TYPE:NAME:ADDR? */
bool spec_is_value(const char *text);
bool spec_seems_value(const char *text);
/* Names of ADDR are looked for in the module. */
int spec_value(const char *text, struct resolve_module *module, struct value *value,
		struct resolve_error *error);

/* The context that is meant at the exit; NULL: it is of the entry. */
const char *spec_at_exit(const char *context);

#define SPEC_CONTEXT_MAX 18
/* What a context adds, up to SAID_CONTEXT_MAX values. */
int spec_context(const char *text, struct resolve_module *module, struct value *values,
		size_t *count, struct resolve_error *error);

#endif /* PROBE_RESOLVE_SAID_H */
