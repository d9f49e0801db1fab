/* SPDX-License-Identifier: MIT */
/*
 * Makes field classes of a fixed structure, for types that CTF 1.8 does not have:
 * docs/spec/recording.md, sections 3 and 7.
 */
#include <stddef.h>

#include "ctf/write/describe.h"

struct ctf_type *ctf_describe_bool(struct ctf_arena *arena)
{
	struct ctf_type *u8 = ctf_type_integer(arena, 8, false);
	struct ctf_type *type = u8 ? ctf_type_enum(arena, u8, 2) : NULL;

	if (!type)
		return NULL;
	type->boolean = true;
	type->labels[0] = (struct ctf_label){"false", 0, 0};
	type->labels[1] = (struct ctf_label){"true", 1, 255};
	return type;
}

struct ctf_type *ctf_describe_int128(
		struct ctf_arena *arena, bool is_signed, bool big_endian, unsigned int base)
{
	struct ctf_type *low = ctf_type_integer(arena, 64, false);
	struct ctf_type *high = ctf_type_integer(arena, 64, is_signed);
	struct ctf_type *type = ctf_type_struct(arena, 2);

	if (!low || !high || !type)
		return NULL;
	low->big_endian = high->big_endian = big_endian;
	low->base = high->base = (uint8_t)base;
	ctf_member_set(&type->members[big_endian ? 1 : 0], "_lo", low, false);
	ctf_member_set(&type->members[big_endian ? 0 : 1], "_hi", high, false);
	return type;
}

struct ctf_type *ctf_describe_float128(struct ctf_arena *arena)
{
	struct ctf_type *byte = ctf_type_integer(arena, 8, false);
	struct ctf_type *bytes = byte ? ctf_type_array(arena, byte, 16) : NULL;
	struct ctf_type *type = ctf_type_struct(arena, 1);

	if (!bytes || !type)
		return NULL;
	byte->base = 16;
	byte->byte = true;
	ctf_member_set(&type->members[0], "_bytes", bytes, false);
	return type;
}

/* The types of a node, in the order of their numbers. */
enum node_shape {
	NODE_EMPTY,
	NODE_BOOL,
	NODE_UNSIGNED,
	NODE_SIGNED,
	NODE_HEX,
	NODE_FLOAT,
	NODE_INT128,
	NODE_FLOAT128,
	NODE_STRING,
	NODE_COUNT,
};

static const struct {
	const char *name;
	enum node_shape shape;
	unsigned int bits;
} node_kinds[] = {
		{"nothing", NODE_EMPTY, 0},
		{"boolean", NODE_BOOL, 0},
		{"uint8", NODE_UNSIGNED, 8},
		{"uint16", NODE_UNSIGNED, 16},
		{"uint32", NODE_UNSIGNED, 32},
		{"uint64", NODE_UNSIGNED, 64},
		{"int8", NODE_SIGNED, 8},
		{"int16", NODE_SIGNED, 16},
		{"int32", NODE_SIGNED, 32},
		{"int64", NODE_SIGNED, 64},
		{"uint128", NODE_INT128, 0},
		{"int128", NODE_INT128, 1},
		{"byte", NODE_HEX, 8},
		{"pointer", NODE_HEX, 64},
		{"float32", NODE_FLOAT, 32},
		{"float64", NODE_FLOAT, 64},
		{"float16", NODE_FLOAT, 32},
		{"float128", NODE_FLOAT128, 0},
		{"utf8", NODE_STRING, 0},
		{"utf16", NODE_STRING, 0},
		{"utf32", NODE_STRING, 0},
		{"structure", NODE_COUNT, 0},
		{"array", NODE_COUNT, 0},
		{"attributes", NODE_COUNT, 0},
};

#define NODE_KINDS (sizeof(node_kinds) / sizeof(node_kinds[0]))

static struct ctf_type *node_value(
		struct ctf_arena *arena, enum node_shape shape, unsigned int bits)
{
	struct ctf_type *type = NULL, *count;

	switch (shape) {
	case NODE_EMPTY: return ctf_type_struct(arena, 0);
	case NODE_BOOL: return ctf_describe_bool(arena);
	case NODE_UNSIGNED: return ctf_type_integer(arena, bits, false);
	case NODE_SIGNED: return ctf_type_integer(arena, bits, true);
	case NODE_HEX:
		type = ctf_type_integer(arena, bits, false);
		if (type)
			type->base = 16;
		return type;
	case NODE_FLOAT: return ctf_type_float(arena, bits);
	case NODE_INT128: return ctf_describe_int128(arena, bits, CTF_HOST_BIG_ENDIAN, 10);
	case NODE_FLOAT128: return ctf_describe_float128(arena);
	case NODE_STRING: return ctf_type_string(arena);
	case NODE_COUNT:
		count = ctf_type_integer(arena, 32, false);
		type = ctf_type_struct(arena, 1);
		if (!count || !type)
			return NULL;
		ctf_member_set(&type->members[0], "_count", count, false);
		return type;
	}
	return type;
}

/*
 * The structure is printed at each use: Babeltrace 2.0.4 does not find `_kind` in the second copy
 * of a named structure.
 */
struct ctf_type *ctf_describe_node(struct ctf_arena *arena)
{
	struct ctf_type *node = ctf_type_struct(arena, 4);
	struct ctf_type *u8 = ctf_type_integer(arena, 8, false);
	struct ctf_type *kind = u8 ? ctf_type_enum(arena, u8, NODE_KINDS) : NULL;
	struct ctf_type *value = ctf_type_variant(arena, NODE_KINDS, "_kind");
	struct ctf_type *name = ctf_type_string(arena);

	if (!node || !kind || !value || !name)
		return NULL;
	for (uint32_t i = 0; i < NODE_KINDS; i++) {
		struct ctf_type *option =
				node_value(arena, node_kinds[i].shape, node_kinds[i].bits);

		if (!option)
			return NULL;
		kind->labels[i] = (struct ctf_label){node_kinds[i].name, i, i};
		ctf_member_set(&value->members[i], node_kinds[i].name, option, false);
	}
	ctf_member_set(&node->members[0], "_depth", u8, false);
	ctf_member_set(&node->members[1], "_name", name, false);
	ctf_member_set(&node->members[2], "_kind", kind, false);
	ctf_member_set(&node->members[3], "_value", value, false);
	return node;
}
