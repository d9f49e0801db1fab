/* SPDX-License-Identifier: MIT */
/* The names that are taken in one structure, and how a SIDE name becomes one of them. */
#ifndef SIDE_CTF_NAMES_H
#define SIDE_CTF_NAMES_H

#include <stdint.h>

#include "ctf/arena.h"

struct ctf_names {
	struct ctf_arena *arena;
	struct ctf_name_entry *table; /* Open addressing; a power of two of entries. */
	uint32_t mask;
};

/* Room for `count` names. Returns 0 or -ENOMEM. */
int ctf_names_init(struct ctf_names *names, struct ctf_arena *arena, uint32_t count);
void ctf_names_free(struct ctf_names *names);

/*
 * `name`, or `name_2`, `name_3`, … if it is taken, or another that only has an underscore more or
 * less in front; NULL without memory.
 */
const char *ctf_names_take(struct ctf_names *names, const char *name);

/* `_` + name with every byte outside [A-Za-z0-9_] as `_`; `_unnamed` for "". */
const char *ctf_name_escape(struct ctf_arena *arena, const char *name);

#endif /* SIDE_CTF_NAMES_H */
