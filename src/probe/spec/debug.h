/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_DEBUG_H
#define SIDE_PROBE_SPEC_DEBUG_H

/* What compilers say of a file (DWARF): in it, or in a file beside it that has its build id. */

#include "parts.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

struct around;

struct debug {
	struct resolve_module *owner;
	Dwfl *dwfl;
	Dwfl_Module *module;
	Dwarf *dwarf;
	Dwarf_CFI *frames[2];  /* of unwinders and debuggers; NULL: there are none */
	struct around *around; /* around.c; NULL: nobody has asked yet */
};

/* NULL: the module has no debug information, or debug_failed() returns an error. */
struct debug *module_debug(struct resolve_module *module);
/* Report and return the error of a call that failed since module_debug(): the item that it did not find may exist. 0: none failed. */
int debug_failed(const struct resolve_module *module, struct resolve_error *error);
void debug_close(struct debug *debug);

/* The next unit; false: there is none. `*offset` is 0 at first. */
bool debug_next_unit(struct debug *debug, Dwarf_Off *offset, Dwarf_Die *unit);
/* The other half of a unit whose greater part is in a file of its own (.dwo). */
void debug_whole_unit(Dwarf_Die *unit);

/* around.c: the unit that has an address of the file, and from there to the function that is there in the machine: how many, or 0. */
#define DEBUG_SCOPES_MAX 24
bool debug_unit(struct debug *debug, uint64_t address, Dwarf_Die *unit);
unsigned int debug_around(
		struct debug *debug, uint64_t address, Dwarf_Die scopes[DEBUG_SCOPES_MAX]);
void around_free(struct around *around);

/* The file that has the greater part of what is said of an address (.dwo), if it was not found; else NULL. */
const char *debug_missing_part(struct debug *debug, uint64_t address);
/*
 * What is around an address, from the inside to the outside, to be freed: functions that were put into others with these around
 * them. At the entry of a function without what is inside of it. -1: nothing.
 */
int debug_scopes(struct debug *debug, uint64_t address, bool entry, Dwarf_Die **scopes);
/* The function that is there in the machine (not one that was put into it). */
bool debug_function(struct debug *debug, uint64_t address, Dwarf_Die *function);

/* Calls for each unit, as a whole; what each() returns if that is not 0. */
int debug_units(struct debug *debug, int (*each)(void *user, Dwarf_Die *unit), void *user);

/* elsewhere.c: a variable that is there all the time, as `ns::name`; a type that was only declared. */
bool debug_global(struct debug *debug, const char *name, Dwarf_Die *variable);
bool debug_type(struct debug *debug, Dwarf_Die *declared, Dwarf_Die *type);

/* Calls for each begin of a statement of that line; `*nearest` is the line behind it that has code, or 0. */
int debug_lines(struct debug *debug, const char *source, int line,
		int (*each)(void *user, uint64_t address), void *user, int *nearest);

/* Where pieces begin that are that function, put into others; what each() returns if that is not 0. */
int debug_inlined(struct debug *debug, const char *name, int (*each)(void *user, uint64_t address),
		void *user);

#endif /* SIDE_PROBE_SPEC_DEBUG_H */
