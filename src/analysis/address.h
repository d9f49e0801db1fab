/* SPDX-License-Identifier: MIT */
/*
 * Addresses of code in a trace: what each address points to, and its symbol.
 *
 * `view` and `report` both use these functions, so that an address has the same symbol in both.
 */
#ifndef SIDE_ANALYSIS_ADDRESS_H
#define SIDE_ANALYSIS_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#define ADDRESS_ATTRIBUTE "side.address"

struct symbol;
struct symbols;

enum address_kind {
	ADDRESS_NONE,  /* a plain number */
	ADDRESS_EXACT, /* the instruction at the address, such as the location of a probe */
	ADDRESS_RETURN /* a return address: the call is before it */
};

struct address {
	enum address_kind kind;
	uint32_t trace; /* index of the trace; its process had the code mapped … */
	int64_t ns;     /* … at this time, in ns since 1970 */
	uint64_t address;
};

/*
 * What the attribute `side.address` says: the string `call`, or a boolean. `text` is NULL for a
 * boolean.
 */
enum address_kind address_kind_of_attribute(const char *text, bool value);
/* What the name of a pointer without the attribute says: "ip" and "caller" are return addresses. */
enum address_kind address_kind_of_name(const char *name);

/* Never NULL. Without a symbol, all members are empty. It belongs to `symbols`. */
const struct symbol *address_symbol(struct symbols *symbols, const struct address *address);

#endif /* SIDE_ANALYSIS_ADDRESS_H */
