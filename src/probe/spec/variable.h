/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_VARIABLE_H
#define SIDE_PROBE_SPEC_VARIABLE_H

/* Variables by the names that sources have for them. */

#include "fetch.h"
#include "parts.h"

/*
 * `n`, `p->name`, `list[2].next`, `*counter`, as it is at that place; `return`, `return->name`, as it is at its exit. One value, or a
 * structure and its members (item_values()), at most `capacity`.
 */
int variable_values(const struct location *location, const char *expression, bool exit,
		struct value *values, size_t capacity, size_t *count, bool *left_out,
		struct resolve_error *error);
/* parameters.c: all that it has been given, and all that is there, instead of one name. */
struct variable_names {
	const char *names[PROBE_TABLE_FIELDS_MAX];
	size_t count;
	bool left_out; /* there are more */
};
int variable_names(const struct location *location, const char *text, struct variable_names *names,
		struct resolve_error *error);
/*
 * The return value of the function, as a value at its exit, or as a structure and its members, which are at most VARIABLE_RESULT_MAX
 * together. Returns 1, 0 if it is not known, or a negative errno. `*nothing`: it returns nothing, or, with `*left_out`, a number that no field
 * can hold.
 */
#define VARIABLE_RESULT_MAX 3
int variable_result(const struct location *location, struct value values[VARIABLE_RESULT_MAX],
		bool *nothing, bool *left_out, struct resolve_error *error);

#endif /* SIDE_PROBE_SPEC_VARIABLE_H */
