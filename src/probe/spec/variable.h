/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_VARIABLE_H
#define SIDE_PROBE_SPEC_VARIABLE_H

/* Variables by the names that the source has for them. */

#include "fetch.h"
#include "parts.h"

/*
 * Get the value of `n`, `p->name`, `list[2].next` or `*counter` at the location, or of `return` or
 * `return->name` at the function's exit. One value, or a structure and its members (item_values()),
 * at most `capacity`.
 */
int variable_values(const struct location *location, const char *expression, bool exit,
		struct value *ret_values, size_t capacity, size_t *ret_count, bool *ret_left_out,
		struct error *error);
/* parameters.c: the names for RESOLVE_PARAMETERS and RESOLVE_VARIABLES. */
struct variable_names {
	const char *names[PROBE_TABLE_FIELDS_MAX];
	size_t count;
	bool left_out; /* there are more */
};
int variable_names(const struct location *location, const char *text,
		struct variable_names *ret_names, struct error *error);
/*
 * Gets the function's return value at its exit, as one value, or as a structure and its members: at
 * most VARIABLE_RESULT_MAX together. Returns 1, 0 if it is not known, or a negative errno.
 * `*ret_nothing`: the function returns no value, or, with `*ret_left_out`, a number that no field
 * can hold.
 */
#define VARIABLE_RESULT_MAX 3
int variable_result(const struct location *location, struct value values[VARIABLE_RESULT_MAX],
		bool *ret_nothing, bool *ret_left_out, struct error *error);

#endif /* SIDE_PROBE_SPEC_VARIABLE_H */
