/* SPDX-License-Identifier: MIT */
/*
 * Addresses of code in a recording: of what kind they are, and their symbols. `view` and `report` both ask here, so one
 * address has one symbol.
 */
#ifndef SIDE_ANALYSIS_ADDRESS_H
#define SIDE_ANALYSIS_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#define ADDRESS_ATTRIBUTE "side.address"

struct symbol;
struct symbols;

enum address_kind {
	ADDRESS_NONE,  /* A number. */
	ADDRESS_EXACT, /* The instruction at the address, as the location of a probe. */
	ADDRESS_RETURN /* The call before the address: a function returns to it. */
};

struct address {
	enum address_kind kind;
	uint32_t trace; /* Number of the trace: what its process had mapped there … */
	int64_t ns;     /* … at this time. */
	uint64_t address;
};

/* Of the attribute `side.address`: the string `call`, or a boolean. */
enum address_kind address_kind_of_attribute(const char *text, bool value);
/* Of a pointer without the attribute, by its name: ip, caller. */
enum address_kind address_kind_of_name(const char *name);

/* Never NULL; an empty symbol if nothing is known. */
const struct symbol *address_symbol(struct symbols *symbols, const struct address *address);

#endif /* SIDE_ANALYSIS_ADDRESS_H */
