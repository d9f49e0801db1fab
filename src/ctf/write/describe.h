/* SPDX-License-Identifier: MIT */
/* Converts the parts of a SIDE description to field classes. */
#ifndef SIDE_CTF_WRITE_DESCRIBE_H
#define SIDE_CTF_WRITE_DESCRIBE_H

#include <side/abi/type-description.h>

#include "ctf/type.h"

/*
 * Make the labels of an enumeration over `integer` (section 4 of recording.md). *ret_type is the
 * integer itself if no label can be used. 0 or -ENOMEM.
 */
int ctf_describe_labels(struct ctf_arena *arena, const struct side_enum_mappings *mappings,
		struct ctf_type *integer, struct ctf_type **ret_type);

/* Name the bits of an integer: the part of the ranges that lies in it. 0 or -ENOMEM. */
int ctf_describe_flags(struct ctf_arena *arena, const struct side_enum_bitmap_mappings *mappings,
		struct ctf_type *integer);

/*
 * Make the tag of a variant (section 5): an enumeration with disjoint ranges o0, o1, …, none.
 * used[i] is true if option i can be selected, used[option count] the same for `none`.
 */
int ctf_describe_tag(struct ctf_arena *arena, const struct side_type_variant *variant,
		struct ctf_type *integer, struct ctf_type **ret_type, bool *used);

/* One node of a dynamic value (section 7). */
struct ctf_type *ctf_describe_node(struct ctf_arena *arena);

/* A boolean: u8 with the labels false and true. */
struct ctf_type *ctf_describe_bool(struct ctf_arena *arena);

/* Two 64-bit halves in the order that they have in memory. */
struct ctf_type *ctf_describe_int128(
		struct ctf_arena *arena, bool is_signed, bool big_endian, unsigned int base);

/* 16 bytes of a binary128 float. */
struct ctf_type *ctf_describe_float128(struct ctf_arena *arena);

/* Make the structure of contexts; *ret_type is NULL if there are none. 0 or -ENOMEM. */
int ctf_describe_contexts(struct ctf_arena *arena, const struct context_spec *contexts,
		uint32_t count, struct ctf_type **ret_type);

/* "out of memory for the description of an event" with -ENOMEM, which it returns. */
int ctf_describe_set_no_memory(struct error *error);

/*
 * Convert text of the description to UTF-8 that every reader accepts: bytes that are not UTF-8
 * become U+0080 to U+00FF.
 */
char *ctf_describe_text(struct ctf_arena *arena, const void *text, unsigned int unit_size,
		unsigned int byte_order);

#endif /* SIDE_CTF_WRITE_DESCRIBE_H */
