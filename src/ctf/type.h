/* SPDX-License-Identifier: MIT */
/* Makes field classes, and formats errors. */
#ifndef SIDE_CTF_TYPE_H
#define SIDE_CTF_TYPE_H

#include "ctf/arena.h"
#include "ctf/ctf.h"

#define CTF_HOST_BIG_ENDIAN (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

/* Deepest nesting of field classes that is written or read. A SIDE level may take three of them. */
#define CTF_DEPTH_MAX 512

/* A range of a selector, before the reader knows whether the selector is signed. */
struct ctf_wide_range {
	__int128 begin;
	__int128 end;
	uint32_t option;
};

/* Byte aligned, host byte order, base 10. NULL: out of memory, as for all functions below. */
struct ctf_type *ctf_type_integer(struct ctf_arena *arena, unsigned int size, bool is_signed);
struct ctf_type *ctf_type_float(struct ctf_arena *arena, unsigned int size);
struct ctf_type *ctf_type_string(struct ctf_arena *arena);
struct ctf_type *ctf_type_struct(struct ctf_arena *arena, uint32_t member_count);
struct ctf_type *ctf_type_array(struct ctf_arena *arena, struct ctf_type *element, uint64_t length);
struct ctf_type *ctf_type_sequence(
		struct ctf_arena *arena, struct ctf_type *element, const char *reference);
struct ctf_type *ctf_type_variant(
		struct ctf_arena *arena, uint32_t option_count, const char *reference);
/* An integer with labels. */
struct ctf_type *ctf_type_enum(
		struct ctf_arena *arena, const struct ctf_type *integer, uint32_t label_count);

void ctf_member_set(
		struct ctf_member *member, const char *name, struct ctf_type *type, bool hidden);

#endif /* SIDE_CTF_TYPE_H */
