/* SPDX-License-Identifier: MIT */
#ifndef PROBE_RESOLVE_LOCATE_H
#define PROBE_RESOLVE_LOCATE_H

/* Where a variable is while the program is at one place. */

#include "debug.h"
#include "fetch.h"

enum located_kind {
	LOCATED_MEMORY, /* the fetch is its address */
	LOCATED_VALUE,  /* the fetch is its value, of at most 8 bytes */
	LOCATED_PARTS,  /* its lower 8 bytes and the upper ones */
};

struct located {
	enum located_kind kind;
	struct fetch fetch, upper;
};

/* By DW_AT_location. `function` is the one of the machine at that address. */
int locate(struct debug *debug, Dwarf_Die *variable, Dwarf_Die *function, uint64_t address,
		struct located *located, struct resolve_error *error);

/*
 * convention.c: the argument of that number as callers put it, at the first instruction of the function. -ENOTSUP: they
 * cannot be told.
 */
int locate_argument(Dwarf_Die *function, Dwarf_Die *argument, struct located *located);
/* What it returns, at its exit; false: nobody knows. */
bool locate_result(Dwarf_Die *type, struct located *located);

/* The type without names, qualifiers; false: void. */
bool type_plain(Dwarf_Die *type);
/* Of DW_AT_type of a thing. */
bool type_of(Dwarf_Die *thing, Dwarf_Die *type);

#endif /* PROBE_RESOLVE_LOCATE_H */
