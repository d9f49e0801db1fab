/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_DEBUG_H
#define SIDE_PROBE_SPEC_DEBUG_H

/*
 * Debug information of compilers (DWARF), in the file itself or in a separate file with its build
 * id.
 */

#include "parts.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

struct scope_index;

struct debug {
	struct resolve_module *owner;
	Dwfl *dwfl;
	Dwfl_Module *module;
	Dwarf *dwarf;
	Dwarf_CFI *frames[2];       /* of .eh_frame and .debug_frame; NULL: the file has none */
	struct scope_index *scopes; /* index of scopes.c; NULL: not made yet */
};

/* Returns NULL if the module has no debug information, or if debug_failed() returns an error. */
struct debug *module_debug(struct resolve_module *module);
/*
 * Report and return the error of a call that failed since module_debug(): the item that it did not
 * find may exist. 0: none failed.
 */
int debug_failed(const struct resolve_module *module, struct error *error);
void debug_close(struct debug *debug);

#define DEBUG_UNITS_MAX 200000
/* Step to the next unit. Begin with `*offset` 0. Returns false after the last one. */
bool debug_next_unit(struct debug *debug, Dwarf_Off *offset, Dwarf_Die *ret_unit);
/*
 * Replace the skeleton of a split unit by its full part in another file (.dwo), if that file is
 * found.
 */
void debug_whole_unit(Dwarf_Die *unit);

/*
 * scopes.c: find the unit that contains an address of the file, and the chain of scopes to the
 * function there, as compiled, not inlined. debug_scope_chain() returns the number of
 * scopes, or 0.
 */
#define DEBUG_SCOPES_MAX 24
bool debug_unit(struct debug *debug, uint64_t address, Dwarf_Die *ret_unit);
unsigned int debug_scope_chain(
		struct debug *debug, uint64_t address, Dwarf_Die ret_scopes[DEBUG_SCOPES_MAX]);
void scope_index_free(struct scope_index *index);

/*
 * Returns the name of the file (.dwo) with the debug information of this address, if it was not
 * found; else NULL.
 */
const char *debug_missing_part(struct debug *debug, uint64_t address);
/*
 * Returns the scopes around an address from the innermost outwards; the caller frees `*ret_scopes`.
 * Inlined functions are followed by the scopes around the code that they are inlined into. With
 * `entry`, scopes within the function are left out. Returns -1 if there are none.
 */
int debug_scopes(struct debug *debug, uint64_t address, bool entry, Dwarf_Die **ret_scopes);
/* Find the compiled function at the address, not one that is inlined there. */
bool debug_function(struct debug *debug, uint64_t address, Dwarf_Die *ret_function);

/*
 * Call each() for each unit, as a whole. Stops when each() does not return 0, and returns its
 * result.
 */
int debug_units(struct debug *debug, int (*each)(void *user, Dwarf_Die *unit), void *user);

/*
 * definitions.c: find a global variable by name, such as `ns::name`; find the definition of a type
 * that this unit only declares.
 */
bool debug_global(struct debug *debug, const char *name, Dwarf_Die *ret_variable);
bool debug_type(struct debug *debug, Dwarf_Die *declared, Dwarf_Die *ret_type);

/*
 * Calls each() for each address where a statement of the line begins. `*ret_nearest` is the next
 * line that has code, or 0.
 */
int debug_lines(struct debug *debug, const char *source, int line,
		int (*each)(void *user, uint64_t address), void *user, int *ret_nearest);

/* The names of the functions to search for: symbols, or names that a user wrote. */
struct inlined_query {
	const char *const *names;
	size_t nr_names;
	uint64_t most_bytes; /* the bytes of debug information that are searched; 0: all */
};

/*
 * inlined.c: call each() for each address where a copy of the function is inlined. Stops when each()
 * does not return 0, and returns its result; or -E2BIG if the file has more than `most_bytes`.
 */
int debug_inlined(struct debug *debug, const struct inlined_query *query,
		int (*each)(void *user, uint64_t address, Dwarf_Die *copy), void *user);

#endif /* SIDE_PROBE_SPEC_DEBUG_H */
