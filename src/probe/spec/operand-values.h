/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_OPERAND_VALUES_H
#define SIDE_PROBE_SPEC_OPERAND_VALUES_H

/* Values that the user describes by the operands of a marker: `arg1`, `string(arg1, arg2)`. */

#include "base/error.h"
#include "fetch.h"

#include <stdbool.h>

/* Whether the text, after an optional NAME=, begins with an operand: `arg1` or a form of it. */
bool operand_is_named(const char *text);
/*
 * Gets the value at a location with these operands, which are named arg1, arg2 and so on. Operands
 * that only other locations have must be in the array, too. Returns 0 or a negative errno.
 */
int operand_value(const char *text, const struct value *operands, size_t count,
		struct value *ret_value, struct error *error);

#endif /* SIDE_PROBE_SPEC_OPERAND_VALUES_H */
