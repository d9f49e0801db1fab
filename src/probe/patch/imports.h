/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_PATCH_IMPORTS_H
#define SIDE_PROBE_PATCH_IMPORTS_H

/* Replaces functions of the C library that loaded objects import by functions of side. */

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct patch_import {
	const char *name;
	void *replacement; /* NULL: do not replace it */
	/* the C library's function: an import that is bound to another one is left alone */
	void *real;
	/*
	 * An import that is not bound yet is replaced only if it wants this version of the
	 * function. NULL: any.
	 */
	const char *version;
	bool spares_definer; /* not in the object that defines the function, in any case */
};

struct patch_imports {
	const struct patch_import *functions;
	size_t count;
	uintptr_t except[4]; /* the objects that contain these addresses are not changed; 0: none */
	/*
	 * Replace calls only: an address that the code of an object also takes is left alone. Its
	 * calls are redirected one by one (stubs.h). Those that cannot be are counted in `nr_left`.
	 */
	bool calls_only;
	/* The reverse: leave imports that are not bound alone, and restore such calls. */
	bool bound_only;
	bool definers;   /* also in the object that defines the function, which may import it */
	size_t *nr_left; /* NULL: not counted */
	/* Objects that another thread relocates now, which are not changed. NULL: not counted. */
	size_t *nr_pending;
};

/*
 * Replaces the imports of one object that dl_iterate_phdr() reports, both those that are bound and
 * those that will be bound later.
 */
void patch_imports_replace(const struct dl_phdr_info *info, const struct patch_imports *imports);

#endif /* SIDE_PROBE_PATCH_IMPORTS_H */
