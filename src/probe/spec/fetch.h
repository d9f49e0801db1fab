/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_FETCH_H
#define SIDE_PROBE_SPEC_FETCH_H

/* Operations that get a value inside the program, collected. */

#include "probe/table/table.h"

#include <elfutils/libdw.h>

#define FETCH_NAME_MAX 128

/* x86-64, as DWARF counts them. */
#define FETCH_RBX 3
#define FETCH_RSP 7
#define FETCH_RIP 16
#define FETCH_XMM0 17

struct fetch {
	struct probe_fetch_op ops[PROBE_TABLE_OPS_MAX];
	uint32_t nr_ops;
};

/* What a field is, and how its value is got at one place. */
struct value {
	char name[FETCH_NAME_MAX];
	uint8_t type, size;
	bool guarded; /* behind a pointer that may be invalid */
	uint16_t limit;
	Dwarf_Die enumeration; /* its type, if it is one; else all 0 */
	struct fetch fetch;
};

/* Both: 0 or -E2BIG. Sums of constants become one. */
int fetch_op(struct fetch *fetch, enum probe_fetch_code code, unsigned int reg, unsigned int size,
		int64_t value);
/* Whether the kernel can do all of it, for who has it watch a place (probe/global). */
bool fetch_is_of_kernel(const struct fetch *fetch);
int fetch_add(struct fetch *fetch, int64_t value);
/* `left` becomes the sum of both. 0 or -E2BIG. */
int fetch_calculate(struct fetch *left, enum probe_fetch_sum sum, const struct fetch *right);
/* Both halves of a number of 16 bytes, the lower one in `low`, which becomes that of both. 0 or -E2BIG. */
int fetch_wide(struct fetch *low, const struct fetch *high);
/* Does it need registers that functions keep for their callers? */
bool fetch_needs_all(const struct fetch *fetch);

struct fetch_register {
	uint8_t number;      /* as DWARF counts; vectors from FETCH_XMM0 on */
	uint8_t bits, shift; /* the part that is meant */
};

/* "rdi", "%edi", "ah", "xmm0", "rip", "eflags". */
bool fetch_register_named(const char *name, size_t length, struct fetch_register *found);
/* Its value. */
int fetch_register(struct fetch *fetch, const struct fetch_register *which);
/* The full register of a number, without the sign; NULL: there is none. */
const char *fetch_register_name(unsigned int number);
/* Letters and digits of it, with a '_' for each way between them: a name for a field. */
void fetch_name(char name[FETCH_NAME_MAX], const char *text);

/* thread.c: the address of a variable that each thread has, by where it is among those of its module. 0, -ENOTSUP or -E2BIG. */
struct resolve_module;
int thread_variable(struct resolve_module *module, uint64_t offset, struct fetch *fetch);

#endif /* SIDE_PROBE_SPEC_FETCH_H */
