/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_OPERAND_H
#define SIDE_PROBE_SPEC_OPERAND_H

/* The operands of a marker, as the assembler wrote them: `8@%rdi -4@-20(%rbp) 4@$5`. */

#include "fetch.h"
#include "parts.h"

#define OPERANDS_MAX 40

/*
 * Parse up to OPERANDS_MAX operands into values named arg1, arg2 and so on; integers are extended
 * to 8 bytes. Symbols are looked up in the module (NULL: none). Returns 0 or a negative errno.
 */
int operands_read(const char *text, struct resolve_module *module, struct value *ret_values,
		size_t *ret_count, struct error *error);

#endif /* SIDE_PROBE_SPEC_OPERAND_H */
