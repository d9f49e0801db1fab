/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_SPEC_H
#define SIDE_PROBE_SPEC_SPEC_H

/* The text of a location in a spec, and the functions that it selects. */

#include "probe/spec/resolve.h"

struct location;
struct locations;
struct module_imports;
struct resolve_module;

#define SPEC_TEXT_MAX 4096
/* Instead of a function: the functions of a library that the program's executable imports. */
#define SPEC_IMPORTS "$imports"
/* Before the name of a function: its PLT entry. The same as CODE_PLT_SUFFIX after the name. */
#define SPEC_PLT "plt:"

enum spec_kind {
	SPEC_ADDRESS,
	SPEC_SYMBOL, /* with an optional offset */
	SPEC_LINE,   /* of a source file */
};

struct parsed_spec {
	enum spec_kind kind;
	char *library; /* a glob, or the beginning of a name; NULL: not given */
	char *name;    /* of the symbol or source file */
	bool glob;     /* the name can select several functions: a glob, or SPEC_IMPORTS */
	bool plt;      /* PLT entries, which call functions of this name in other files */
	/* for SPEC_IMPORTS: the names; set by locations_find(). NULL: the name is not SPEC_IMPORTS */
	const struct module_imports *imports;
	uint64_t number; /* address, offset or line */
};

/*
 * Parses an octal number with the prefix 0, a hexadecimal with 0x, or a decimal. Returns false if
 * the text is not one, or if it exceeds 64 bits.
 */
bool spec_number(const char *text, size_t length, uint64_t *ret_number);
/* Call spec_free() also after a failure. */
int spec_parse(const char *text, struct parsed_spec *ret_spec, struct error *error);
void spec_free(struct parsed_spec *spec);

/* Adds the functions of the module that the spec names. Returns 0, -ENOMEM or -E2BIG. */
int spec_find_functions(struct resolve_module *module, const struct parsed_spec *spec,
		struct locations *locations);
/*
 * Adds the PLT entries of the module that call functions of this name. Returns 0, -ENOMEM or
 * -E2BIG.
 */
int spec_find_plt(struct resolve_module *module, const struct parsed_spec *spec,
		struct locations *locations);
/* Adds a location, unless the list has it. Returns 0, -ENOMEM or -E2BIG. */
int locations_add(struct locations *locations, const struct location *location);

#endif /* SIDE_PROBE_SPEC_SPEC_H */
