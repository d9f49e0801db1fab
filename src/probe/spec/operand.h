/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_OPERAND_H
#define SIDE_PROBE_SPEC_OPERAND_H

/* The operands of a marker, as the assembler wrote them: `8@%rdi -4@-20(%rbp) 4@$5`. */

#include "fetch.h"
#include "parts.h"

#define OPERANDS_MAX 40

/*
 * Up to OPERANDS_MAX values, named arg1, arg2 and so on; integers are extended to 8 bytes. Symbols are looked for in the module
 * (NULL: there are none).
 */
int operands_read(const char *text, struct resolve_module *module, struct value *values,
		size_t *count, struct resolve_error *error);

#endif /* SIDE_PROBE_SPEC_OPERAND_H */
