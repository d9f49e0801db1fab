/* SPDX-License-Identifier: MIT */
/* Makes field classes. */

#include "ctf/type.h"

static struct ctf_type *type_new(struct ctf_arena *arena, enum ctf_kind kind, uint32_t align)
{
	struct ctf_type *type = ctf_arena_alloc(arena, 1, sizeof(*type));

	if (!type)
		return NULL;
	type->kind = kind;
	type->align = align;
	type->slot = -1;
	return type;
}

struct ctf_type *ctf_type_integer(struct ctf_arena *arena, unsigned int size, bool is_signed)
{
	struct ctf_type *type = type_new(arena, CTF_INTEGER, 8);

	if (!type)
		return NULL;
	type->size = (uint8_t)size;
	type->is_signed = is_signed;
	type->big_endian = CTF_HOST_BIG_ENDIAN;
	type->base = 10;
	return type;
}

struct ctf_type *ctf_type_float(struct ctf_arena *arena, unsigned int size)
{
	struct ctf_type *type = ctf_type_integer(arena, size, true);

	if (type)
		type->kind = CTF_FLOAT;
	return type;
}

struct ctf_type *ctf_type_string(struct ctf_arena *arena)
{
	return type_new(arena, CTF_STRING, 8);
}

struct ctf_type *ctf_type_struct(struct ctf_arena *arena, uint32_t member_count)
{
	struct ctf_type *type = type_new(arena, CTF_STRUCT, 1);

	if (!type)
		return NULL;
	type->member_count = member_count;
	type->members = ctf_arena_alloc(arena, member_count, sizeof(*type->members));
	return type->members ? type : NULL;
}

struct ctf_type *ctf_type_array(struct ctf_arena *arena, struct ctf_type *element, uint64_t length)
{
	struct ctf_type *type = type_new(arena, CTF_ARRAY, element->align);

	if (!type)
		return NULL;
	type->element = element;
	type->length = length;
	return type;
}

struct ctf_type *ctf_type_sequence(
		struct ctf_arena *arena, struct ctf_type *element, const char *reference)
{
	struct ctf_type *type = type_new(arena, CTF_SEQUENCE, element->align);

	if (!type)
		return NULL;
	type->element = element;
	type->reference = reference;
	return type;
}

struct ctf_type *ctf_type_variant(
		struct ctf_arena *arena, uint32_t option_count, const char *reference)
{
	struct ctf_type *type = ctf_type_struct(arena, option_count);

	if (!type)
		return NULL;
	type->kind = CTF_VARIANT;
	type->reference = reference;
	return type;
}

struct ctf_type *ctf_type_enum(
		struct ctf_arena *arena, const struct ctf_type *integer, uint32_t label_count)
{
	struct ctf_type *type = ctf_arena_alloc(arena, 1, sizeof(*type));

	if (!type)
		return NULL;
	*type = *integer;
	type->kind = CTF_ENUM;
	type->label_count = label_count;
	type->labels = ctf_arena_alloc(arena, label_count, sizeof(*type->labels));
	return type->labels ? type : NULL;
}

void ctf_member_set(struct ctf_member *member, const char *name, struct ctf_type *type, bool hidden)
{
	member->name = name;
	member->type = type;
	member->hidden = hidden;
	member->role = CTF_ROLE_NONE;
	member->slot = -1;
}
