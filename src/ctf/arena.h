/* SPDX-License-Identifier: MIT */
/* Memory that is freed all at once: field-class trees, names, texts of one description or trace. */
#ifndef SIDE_CTF_ARENA_H
#define SIDE_CTF_ARENA_H

#include <stddef.h>

#include "ctf/ctf.h"

/* Zeroed memory for `count` things, or NULL. */
void *ctf_arena_alloc(struct ctf_arena *arena, size_t count, size_t size);
char *ctf_arena_copy(struct ctf_arena *arena, const char *text, size_t size);

/* Bytes handed out so far; hostile metadata is refused when it takes too much. */
size_t ctf_arena_used(const struct ctf_arena *arena);

/* An allocation has failed, of the arena or of something that it needs. */
void ctf_arena_fail(struct ctf_arena *arena);
bool ctf_arena_has_failed(const struct ctf_arena *arena);

#endif /* SIDE_CTF_ARENA_H */
