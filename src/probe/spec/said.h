/* SPDX-License-Identifier: MIT */
#ifndef PROBE_RESOLVE_SAID_H
#define PROBE_RESOLVE_SAID_H

/* Values that somebody says by hand: TYPE:NAME:ADDR, `regs`, `reg:NAME`, `backtrace`. */

#include "fetch.h"
#include "parts.h"

/* Is it of the form TYPE:NAME:ADDR? */
bool said_is_value(const char *text);
bool said_seems_value(const char *text);
/* Names of ADDR are looked for in the module. */
int said_value(const char *text, struct resolve_module *module, struct value *value,
		struct resolve_error *error);

/* The context that is meant at the exit; NULL: it is of the entry. */
const char *said_at_exit(const char *context);

#define SAID_CONTEXT_MAX 18
/* What a context adds, up to SAID_CONTEXT_MAX values. */
int said_context(const char *text, struct resolve_module *module, struct value *values,
		size_t *count, struct resolve_error *error);

#endif /* PROBE_RESOLVE_SAID_H */
