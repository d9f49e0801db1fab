/* SPDX-License-Identifier: MIT */
/* Chooses unique names for the members of a structure. */
#ifndef SIDE_CTF_NAMES_H
#define SIDE_CTF_NAMES_H

#include <stdint.h>

#include "ctf/arena.h"

struct ctf_names {
	struct ctf_arena *arena;
	/* Open addressing; the number of entries is a power of two. */
	struct ctf_name_entry *table;
	uint32_t mask;
};

/* Allocates space for `count` names. Returns 0 or -ENOMEM. */
int ctf_names_init(struct ctf_names *names, struct ctf_arena *arena, uint32_t count);
void ctf_names_free(struct ctf_names *names);

/*
 * Returns `name`. If that name is used, or one that differs from it only by a leading underscore,
 * returns the first free one of `name_2`, `name_3`, … NULL: out of memory.
 */
const char *ctf_names_reserve(struct ctf_names *names, const char *name);

/* Returns `_` + name with every byte outside [A-Za-z0-9_] as `_`; `_unnamed` for "". */
const char *ctf_name_escape(struct ctf_arena *arena, const char *name);

#endif /* SIDE_CTF_NAMES_H */
