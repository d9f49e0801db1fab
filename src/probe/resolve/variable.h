/* SPDX-License-Identifier: MIT */
#ifndef PROBE_RESOLVE_VARIABLE_H
#define PROBE_RESOLVE_VARIABLE_H

/* Variables by the names that sources have for them. */

#include "fetch.h"
#include "parts.h"

/* `n`, `p->name`, `list[2].next`, `*counter`, as it is at that place. */
int variable_value(const struct place *place, const char *expression, struct value *value,
		struct resolve_error *error);
/* `return`, `return->name`, as it is at its exit. */
int variable_returned(const struct place *place, const char *expression, struct value *value,
		struct resolve_error *error);
/* What the function returns, as a value at its exit; false: nobody says it. `*nothing`: it returns nothing. */
bool variable_result(const struct place *place, struct value *value, bool *nothing);

#endif /* PROBE_RESOLVE_VARIABLE_H */
