/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_PATCH_IMPORTS_H
#define SIDE_PROBE_PATCH_IMPORTS_H

/* Functions of the C library that loaded objects import, replaced by ours. */

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct patch_import {
	const char *name;
	void *ours; /* NULL: leave it */
	void *real; /* the C library's; a program's own function of that name is left */
};

struct patch_imports {
	const struct patch_import *functions;
	size_t count;
	uintptr_t except[2]; /* leave the objects that contain these addresses; 0: none */
};

/* The imports of one object that dl_iterate_phdr() reports. Changes what is bound, and what is bound later. */
void patch_imports_turn(const struct dl_phdr_info *info, const struct patch_imports *imports);

#endif /* SIDE_PROBE_PATCH_IMPORTS_H */
