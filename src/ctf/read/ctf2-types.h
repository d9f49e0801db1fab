/* SPDX-License-Identifier: MIT */
/* Functions that the files share which make types from CTF 2 field classes. */
#ifndef SIDE_CTF_READ_CTF2_TYPES_H
#define SIDE_CTF_READ_CTF2_TYPES_H

#include "ctf/read/ctf2.h"

/* A range: two integers, the lower one first. */
struct ctf2_bounds {
	__int128 begin;
	__int128 end;
};

/* ctf2_is_event_scope(): true if names of fields have a leading underscore in the tree.
   ctf2_tree_name(): a copy of the name, with it if `underscore`. */
bool ctf2_is_event_scope(enum ctf_scope scope);
char *ctf2_tree_name(struct ctf2_reader *r, const char *name, bool underscore);

/* NULL after an error, as for all functions below. */
struct ctf_type *ctf2_new_type(struct ctf2_reader *r, enum ctf_kind kind, uint32_t align);
uint32_t ctf2_align(struct ctf2_reader *r, const struct ctf2_json *json, const char *key);
bool ctf2_bounds(struct ctf2_reader *r, const struct ctf2_json *json,
		struct ctf2_bounds *ret_bounds);
enum ctf_encoding ctf2_encoding(struct ctf2_reader *r, const struct ctf2_json *json);

/*
 * The role of a field. A role that has no meaning in its scope is ignored. If a field has several
 * roles, the first of the table counts: a total length is also a content length.
 */
enum ctf_role ctf2_roles(
		struct ctf2_reader *r, const struct ctf2_json *json, struct ctf_type *type);

struct ctf_type *ctf2_fixed_integer(struct ctf2_reader *r, const struct ctf2_json *json,
		bool is_signed, enum ctf_role *ret_role);
struct ctf_type *ctf2_variable_integer(struct ctf2_reader *r, const struct ctf2_json *json,
		bool is_signed, enum ctf_role *ret_role);
struct ctf_type *ctf2_boolean(struct ctf2_reader *r, const struct ctf2_json *json);
/* With or without names for bits. */
struct ctf_type *ctf2_bits(
		struct ctf2_reader *r, const struct ctf2_json *json, const struct ctf2_json *flags);
struct ctf_type *ctf2_float(struct ctf2_reader *r, const struct ctf2_json *json);

#endif /* SIDE_CTF_READ_CTF2_TYPES_H */
