/* SPDX-License-Identifier: MIT */
/* Memory that is freed all at once: field-class trees, names and texts of one description or
   trace. */
#ifndef SIDE_CTF_ARENA_H
#define SIDE_CTF_ARENA_H

#include <stddef.h>

#include "ctf/ctf.h"

/* Allocate zeroed memory for `count` elements of `size` bytes. NULL: out of memory. */
void *ctf_arena_alloc(struct ctf_arena *arena, size_t count, size_t size);
char *ctf_arena_copy(struct ctf_arena *arena, const char *text, size_t size);

/* Bytes allocated so far; a parser refuses hostile metadata that needs too much. */
size_t ctf_arena_used(const struct ctf_arena *arena);

/* Note that an allocation failed, in the arena or elsewhere. ctf_arena_has_failed() returns it. */
void ctf_arena_fail(struct ctf_arena *arena);
bool ctf_arena_has_failed(const struct ctf_arena *arena);

#endif /* SIDE_CTF_ARENA_H */
