/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_FETCH_H
#define SIDE_PROBE_SPEC_FETCH_H

/* Build the operations that compute a value inside the traced program. */

#include "probe/table/table.h"

#include <elfutils/libdw.h>

#define FETCH_NAME_MAX 128

/* Register numbers of x86-64 in DWARF. */
#define FETCH_RBX 3
#define FETCH_RSP 7
#define FETCH_RIP 16
#define FETCH_XMM0 17

struct fetch {
	struct probe_fetch_op ops[PROBE_TABLE_OPS_MAX];
	uint32_t nr_ops;
};

/* A field of an event, and the operations that compute its value at one location. */
struct value {
	char name[FETCH_NAME_MAX];
	uint8_t type, size;
	bool guarded; /* behind a pointer that may be invalid */
	uint16_t limit;
	Dwarf_Die enumeration; /* the type of an enumeration; otherwise all 0 */
	struct fetch fetch;
};

/* Both return 0 or -E2BIG. fetch_add() merges with a constant that was added before. */
int fetch_op(struct fetch *fetch, enum probe_fetch_code code, unsigned int reg, unsigned int size,
		int64_t value);
/* Whether the kernel can perform all of these operations (probe/uprobe). */
bool fetch_is_of_kernel(const struct fetch *fetch);
int fetch_add(struct fetch *fetch, int64_t value);
/* Combine `left` and `right` in `left`. Returns 0 or -E2BIG. */
int fetch_calculate(struct fetch *left, enum probe_fetch_sum sum, const struct fetch *right);
/* Combine the halves of a 16-byte number in `low`. Returns 0 or -E2BIG. */
int fetch_wide(struct fetch *low, const struct fetch *high);
/* Whether the fetch reads registers that functions preserve for their callers. */
bool fetch_needs_all(const struct fetch *fetch);

struct fetch_register {
	uint8_t number;      /* number in DWARF; vector registers from FETCH_XMM0 on */
	uint8_t bits, shift; /* the part of the register that the name selects */
};

/* Find a register by name: "rdi", "%edi", "ah", "xmm0", "rip", "eflags". */
bool fetch_register_named(const char *name, size_t length, struct fetch_register *ret_found);
/* Append the operations that read the register. Returns 0 or -E2BIG. */
int fetch_register(struct fetch *fetch, const struct fetch_register *which);
/* Returns the name of the full register with this number, without `%`; NULL: no such register. */
const char *fetch_register_name(unsigned int number);
/*
 * Make a field name of an expression: letters and digits, with one '_' for the characters between
 * them.
 */
void fetch_name(char name[FETCH_NAME_MAX], const char *text);

/*
 * thread.c: append the address of a thread-local variable at this offset of its module's block.
 * Returns 0, -ENOTSUP or -E2BIG.
 */
struct resolve_module;
int thread_variable(struct resolve_module *module, uint64_t offset, struct fetch *ret_fetch);

#endif /* SIDE_PROBE_SPEC_FETCH_H */
