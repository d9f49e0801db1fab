/* SPDX-License-Identifier: MIT */
/*
 * The moves of linked filters one by one, over arguments that the application has filled wrongly: a
 * missing part has no value.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "filter/memory.h"
#include "filter/op.h"

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

/* ---- a filter of moves ---- */

static struct {
	_Alignas(struct filter_body) char body[sizeof(struct filter_body)];
	struct filter_op op;
	struct filter_move moves[8];
	struct filter_range ranges[4];
	char text[16];
} made;

static struct side_arg arg;
static struct filter_value value;

static uint64_t offset_of(const void *at)
{
	return (uint64_t)((const char *)at - (const char *)&made);
}

static bool walk_from(enum filter_goal goal, const struct side_arg_dynamic_struct *variadic)
{
	const struct filter_run run = {
			.body = (const void *)made.body, .args = &arg, .variadic = variadic};

	made.op.goal = (uint8_t)goal;
	made.op.moves = (uint32_t)offset_of(made.moves);
	made.op.arg_index = variadic ? UINT32_MAX : 0;
	memset(&value, 0x5a, sizeof(value));
	if (filter_walk(&run, &made.op, &value))
		return true;
	CHECK(value.kind == FILTER_NONE);
	return false;
}

static bool walk(enum filter_goal goal)
{
	return walk_from(goal, NULL);
}

static bool walks_to(enum filter_goal goal, uint64_t number)
{
	return walk(goal) && value.kind == FILTER_INT && value.u == number;
}

static void set_argument(unsigned int label)
{
	memset(&arg, 0, sizeof(arg));
	arg.type.v = (uint16_t)label;
}

static struct side_arg number_argument(unsigned int label, uint64_t number)
{
	struct side_arg made_argument = {.flags = 0};

	made_argument.type.v = (uint16_t)label;
	made_argument.u.side_static.integer_value.side_u64 = number;
	return made_argument;
}

static struct filter_move u8_leaf(void)
{
	return (struct filter_move){
			.code = FILTER_LEAF_INTEGER, .size = 1, .bits = 8, .label = SIDE_TYPE_U8};
}

/* ---- bitmaps ---- */

static struct side_arg items[4];
static struct side_arg_vec item_vec;

static void set_items(unsigned int label, uint32_t nr)
{
	memset(items, 0, sizeof(items));
	for (uint32_t i = 0; i < nr; i++)
		items[i].type.v = (uint16_t)label;
	side_ptr_set(item_vec.sav, items);
	item_vec.len = nr;
	set_argument(SIDE_TYPE_VLA);
	side_ptr_set(arg.u.side_static.side_vla, &item_vec);
}

static void set_bit(unsigned int bits, unsigned int bit)
{
	unsigned char *bytes = (unsigned char *)&items[bit / bits].u.side_static;

	bytes[bit % bits / 8] |= (unsigned char)(1u << bit % 8);
}

static void bitmap_leaf(unsigned int label, unsigned int size, unsigned int holder)
{
	made.moves[0] = (struct filter_move){.code = FILTER_LEAF_BITMAP,
			.size = (uint8_t)size,
			.bits = (uint8_t)(8 * size),
			.item = (uint8_t)(8 * size),
			.label = (uint16_t)label,
			.index = holder,
			.count = 1,
			.ranges = offset_of(made.ranges)};
}

/* One bit is set: the ranges that have it are true. */
static void bitmaps(void)
{
	static const unsigned int labels[] = {
			SIDE_TYPE_U8, SIDE_TYPE_U16, SIDE_TYPE_U32, SIDE_TYPE_U64, SIDE_TYPE_U128};
	static const unsigned int edges[] = {0, 1, 6, 7, 8, 9, 14, 15, 16, 17, 23, 24, 31, 32, 33,
			48, 62, 63, 64, 65, 95, 96, 126, 127, 128, 129, 191, 192, 255, 256, 383};

	for (unsigned int form = 0; form < LENGTH(labels); form++) {
		unsigned int size = 1u << form, all = 3 * 8 * size;

		bitmap_leaf(labels[form], size, SIDE_TYPE_VLA);
		for (unsigned int bit = 0; bit < LENGTH(edges) && edges[bit] < all; bit++) {
			set_items(labels[form], 3);
			set_bit(8 * size, edges[bit]);
			for (unsigned int i = 0; i < LENGTH(edges); i++) {
				for (unsigned int k = i; k < LENGTH(edges); k++) {
					made.ranges[0] = (struct filter_range){edges[i], edges[k]};
					CHECK(walks_to(FILTER_GOAL_TEXT, bit >= i && bit <= k));
				}
			}
			made.ranges[0] = (struct filter_range){edges[bit], UINT64_MAX};
			CHECK(walks_to(FILTER_GOAL_TEXT, 1));
			made.ranges[0].begin++;
			CHECK(walks_to(FILTER_GOAL_TEXT, 0));
		}
	}
}

static void odd_bitmaps(void)
{
	bitmap_leaf(SIDE_TYPE_U16, 2, SIDE_TYPE_VLA);
	made.ranges[0] = (struct filter_range){1, 1};
	made.ranges[1] = (struct filter_range){18, 19};
	made.moves[0].count = 2;
	set_items(SIDE_TYPE_U16, 2);
	CHECK(walks_to(FILTER_GOAL_TEXT, 0));
	set_bit(16, 19);
	CHECK(walks_to(FILTER_GOAL_TEXT, 1));
	made.moves[0].count = 1;
	CHECK(walks_to(FILTER_GOAL_TEXT, 0));
	made.moves[0].count = 2;
	/* Another container, and items of another type. */
	arg.type.v = SIDE_TYPE_ARRAY;
	CHECK(!walk(FILTER_GOAL_TEXT));
	made.moves[0].index = SIDE_TYPE_ARRAY;
	made.moves[0].skip = 2;
	CHECK(walks_to(FILTER_GOAL_TEXT, 1));
	made.moves[0].skip = 3;
	CHECK(!walk(FILTER_GOAL_TEXT));
	made.moves[0].skip = 2;
	items[1].type.v = SIDE_TYPE_S16;
	CHECK(!walk(FILTER_GOAL_TEXT));
	items[1].type.v = SIDE_TYPE_U16;
	/* Without items, and without the vector. */
	item_vec.len = 0;
	made.moves[0].skip = 0;
	CHECK(walks_to(FILTER_GOAL_TEXT, 0));
	side_ptr_set(item_vec.sav, NULL);
	CHECK(walks_to(FILTER_GOAL_TEXT, 0));
	item_vec.len = 1;
	made.moves[0].skip = 1;
	CHECK(!walk(FILTER_GOAL_TEXT));
	side_ptr_set(arg.u.side_static.side_vla, NULL);
	CHECK(!walk(FILTER_GOAL_TEXT));
	/* One item is the scalar itself. */
	bitmap_leaf(SIDE_TYPE_U16, 2, SIDE_TYPE_U16);
	made.ranges[0] = (struct filter_range){9, 9};
	arg = number_argument(SIDE_TYPE_U16, 1 << 9);
	CHECK(walks_to(FILTER_GOAL_TEXT, 1));
	arg = number_argument(SIDE_TYPE_U16, 1 << 8 | 1 << 10);
	CHECK(walks_to(FILTER_GOAL_TEXT, 0));
	arg.type.v = SIDE_TYPE_U32;
	CHECK(!walk(FILTER_GOAL_TEXT));
}

/* ---- scalars ---- */

static void vectors(void)
{
	struct filter_move leaf = {.code = FILTER_LEAF_COUNT, .label = SIDE_TYPE_ARRAY, .count = 3};

	set_items(SIDE_TYPE_U8, 3);
	arg.type.v = SIDE_TYPE_ARRAY;
	made.moves[0] = leaf;
	CHECK(walks_to(FILTER_GOAL_LENGTH, 3));
	item_vec.len = 2;
	CHECK(!walk(FILTER_GOAL_LENGTH));
	CHECK(walks_to(FILTER_GOAL_PRESENCE, 1));
	made.moves[0].label = SIDE_TYPE_VLA;
	CHECK(!walk(FILTER_GOAL_LENGTH));
	CHECK(!walk(FILTER_GOAL_PRESENCE));
	arg.type.v = SIDE_TYPE_VLA;
	CHECK(walks_to(FILTER_GOAL_LENGTH, 2));
	side_ptr_set(arg.u.side_static.side_vla, NULL);
	CHECK(!walk(FILTER_GOAL_LENGTH));
	/* An element. */
	set_items(SIDE_TYPE_U8, 3);
	items[2] = number_argument(SIDE_TYPE_U8, 77);
	made.moves[0] = (struct filter_move){.code = FILTER_MOVE_VLA,
			.label = SIDE_TYPE_VLA,
			.index = 2,
			.count = UINT32_MAX};
	made.moves[1] = u8_leaf();
	CHECK(walks_to(FILTER_GOAL_VALUE, 77));
	item_vec.len = 2;
	CHECK(!walk(FILTER_GOAL_VALUE));
	item_vec.len = 3;
	made.moves[0].count = 4;
	CHECK(!walk(FILTER_GOAL_VALUE));
	made.moves[0].count = 3;
	CHECK(walks_to(FILTER_GOAL_VALUE, 77));
	items[2].type.v = SIDE_TYPE_S8;
	CHECK(!walk(FILTER_GOAL_VALUE));
	items[2].type.v = SIDE_TYPE_U8;
	arg.type.v = SIDE_TYPE_STRUCT;
	CHECK(!walk(FILTER_GOAL_VALUE));
	arg.type.v = SIDE_TYPE_VLA;
	side_ptr_set(item_vec.sav, NULL);
	CHECK(!walk(FILTER_GOAL_VALUE));
	side_ptr_set(arg.u.side_static.side_vla, NULL);
	CHECK(!walk(FILTER_GOAL_VALUE));
}

static void optionals_and_variants(void)
{
	struct side_arg_optional optional = {.selector = SIDE_OPTIONAL_ENABLED};
	struct side_arg_variant variant = {.selector = number_argument(SIDE_TYPE_S16, 0)};
	struct filter_move selector = {.code = FILTER_LEAF_INTEGER,
			.size = 2,
			.bits = 16,
			.flags = FILTER_SIGNED,
			.label = SIDE_TYPE_S16};

	optional.side_static = number_argument(SIDE_TYPE_U8, 9);
	set_argument(SIDE_TYPE_OPTIONAL);
	side_ptr_set(arg.u.side_static.side_optional, &optional);
	made.moves[0] = (struct filter_move){
			.code = FILTER_MOVE_OPTIONAL, .label = SIDE_TYPE_OPTIONAL};
	made.moves[1] = u8_leaf();
	CHECK(walks_to(FILTER_GOAL_VALUE, 9));
	optional.selector = SIDE_OPTIONAL_DISABLED;
	CHECK(!walk(FILTER_GOAL_VALUE));
	side_ptr_set(arg.u.side_static.side_optional, NULL);
	CHECK(!walk(FILTER_GOAL_VALUE));

	/* -3 to 5 selects a number, 6 nothing. */
	set_argument(SIDE_TYPE_VARIANT);
	side_ptr_set(arg.u.side_static.side_variant, &variant);
	variant.option = number_argument(SIDE_TYPE_U8, 8);
	made.moves[0] = (struct filter_move){
			.code = FILTER_MOVE_VARIANT, .label = SIDE_TYPE_VARIANT};
	made.moves[1] = selector;
	made.moves[2] = (struct filter_move){
			.code = FILTER_MOVE_OPTION, .begin = 6, .end = 6, .skip = 2};
	made.moves[3] = (struct filter_move){.code = FILTER_MOVE_NOTHING};
	made.moves[4] = (struct filter_move){
			.code = FILTER_MOVE_OPTION, .begin = -3, .end = 5, .skip = 2};
	made.moves[5] = u8_leaf();
	made.moves[6] = (struct filter_move){.code = FILTER_MOVE_NOTHING};
	for (int64_t i = -5; i < 9; i++) {
		variant.selector = number_argument(SIDE_TYPE_S16, (uint64_t)i);
		CHECK(walks_to(FILTER_GOAL_VALUE, 8) == (i >= -3 && i <= 5));
		CHECK(walk(FILTER_GOAL_PRESENCE) == (i >= -3 && i <= 5));
	}
	variant.selector = number_argument(SIDE_TYPE_U16, 1);
	CHECK(!walk(FILTER_GOAL_VALUE));
	side_ptr_set(arg.u.side_static.side_variant, NULL);
	CHECK(!walk(FILTER_GOAL_VALUE));
	/* A signed selector of 128 bits whose value does not fit 64 bits is in no option. */
	side_ptr_set(arg.u.side_static.side_variant, &variant);
	made.moves[1].size = 16;
	made.moves[1].bits = 128;
	made.moves[1].label = SIDE_TYPE_S128;
	variant.selector = number_argument(SIDE_TYPE_S128, 2);
	CHECK(walks_to(FILTER_GOAL_VALUE, 8));
	variant.selector.u.side_static.integer_value.side_u128_split[1] = 1;
	CHECK(!walk(FILTER_GOAL_VALUE));
	variant.selector.u.side_static.integer_value.side_u128_split[1] = 0;
	variant.selector.u.side_static.integer_value.side_u64 = UINT64_MAX;
	CHECK(!walk(FILTER_GOAL_VALUE));
}

/* Labels of a signed number, of an unsigned one of 64 bits. */
static void labels(void)
{
	made.moves[0] = (struct filter_move){.code = FILTER_LEAF_INTEGER,
			.size = 8,
			.bits = 64,
			.label = SIDE_TYPE_U64,
			.flags = FILTER_LABELS,
			.count = 2,
			.ranges = offset_of(made.ranges)};
	made.ranges[0] = (struct filter_range){(uint64_t)-4, (uint64_t)-3};
	made.ranges[1] = (struct filter_range){7, 9};
	for (int64_t i = -6; i < 12; i++) {
		arg = number_argument(SIDE_TYPE_U64, (uint64_t)i);
		CHECK(walks_to(FILTER_GOAL_TEXT, (i >= -4 && i <= -3) || (i >= 7 && i <= 9)));
		made.moves[0].count = 1;
		CHECK(walks_to(FILTER_GOAL_TEXT, i >= -4 && i <= -3));
		made.moves[0].count = 2;
	}
}

/* ---- memory ---- */

static struct {
	unsigned char before[3], length, number;
	char texts[24];
	const unsigned char *pointer;
} __attribute__((packed)) memory = {{1, 2, 3}, 2, 66, "a\0bc\0def\0g\0h\0ij", NULL};

static void gather(unsigned int label)
{
	set_argument(label);
	side_ptr_set(arg.u.side_static.side_vla_gather.ptr, &memory);
	side_ptr_set(arg.u.side_static.side_vla_gather.length_ptr, &memory);
	memset(made.moves, 0, sizeof(made.moves));
	made.moves[0] = (struct filter_move){.code = FILTER_MOVE_GATHER, .label = (uint16_t)label};
}

static struct filter_move memory_leaf(size_t offset)
{
	struct filter_move leaf = u8_leaf();

	leaf.flags = FILTER_IN_MEMORY;
	leaf.offset = offset;
	return leaf;
}

static void numbers_in_memory(void)
{
	static const unsigned char elsewhere = 55;

	gather(SIDE_TYPE_GATHER_STRUCT);
	made.moves[1] = (struct filter_move){.code = FILTER_MOVE_AT, .offset = 1};
	made.moves[2] = (struct filter_move){.code = FILTER_MOVE_ADD, .offset = 2};
	made.moves[3] = memory_leaf(1);
	CHECK(walks_to(FILTER_GOAL_VALUE, 66));
	CHECK(walks_to(FILTER_GOAL_PRESENCE, 1));
	/* The base is NULL. */
	side_ptr_set(arg.u.side_static.side_vla_gather.ptr, NULL);
	CHECK(!walk(FILTER_GOAL_VALUE));
	made.moves[1] = memory_leaf(1);
	CHECK(!walk(FILTER_GOAL_VALUE));
	CHECK(!walk(FILTER_GOAL_PRESENCE));
	/* A pointer in memory. */
	gather(SIDE_TYPE_GATHER_STRUCT);
	memory.pointer = &elsewhere;
	made.moves[1] = memory_leaf(offsetof(__typeof__(memory), pointer));
	made.moves[1].flags |= FILTER_POINTER;
	CHECK(walks_to(FILTER_GOAL_VALUE, 55));
	CHECK(walks_to(FILTER_GOAL_PRESENCE, 1));
	memory.pointer = NULL;
	CHECK(!walk(FILTER_GOAL_VALUE));
	CHECK(!walk(FILTER_GOAL_PRESENCE));
	made.moves[1].code = FILTER_LEAF_TEXT;
	CHECK(walks_to(FILTER_GOAL_PRESENCE, 1)); /* a NULL string is one */
	CHECK(walks_to(FILTER_GOAL_LENGTH, 6));
	made.moves[1].code = FILTER_MOVE_AT;
	made.moves[2] = memory_leaf(0);
	CHECK(!walk(FILTER_GOAL_VALUE));
	made.moves[1] = (struct filter_move){
			.code = FILTER_LEAF_COUNT, .count = 5, .flags = FILTER_IN_MEMORY};
	CHECK(walks_to(FILTER_GOAL_LENGTH, 5));
	arg.type.v = SIDE_TYPE_GATHER_ARRAY;
	CHECK(!walk(FILTER_GOAL_LENGTH));
}

/* The length is 2: elements 0 and 1 are there. */
static void vlas_in_memory(void)
{
	gather(SIDE_TYPE_GATHER_VLA);
	made.moves[1] = (struct filter_move){
			.code = FILTER_MOVE_MEMORY_VLA, .stride = 3, .offset = 1, .index = 1};
	made.moves[2] = memory_leaf(3);
	made.moves[2].code = FILTER_LEAF_LENGTH;
	made.moves[3] = memory_leaf(0);
	CHECK(walks_to(FILTER_GOAL_VALUE, 66));
	made.moves[1].index = 0;
	CHECK(walks_to(FILTER_GOAL_VALUE, 2));
	made.moves[1].index = 2;
	CHECK(!walk(FILTER_GOAL_VALUE));
	made.moves[1].index = 1;
	side_ptr_set(arg.u.side_static.side_vla_gather.length_ptr, NULL);
	CHECK(!walk(FILTER_GOAL_VALUE));
	side_ptr_set(arg.u.side_static.side_vla_gather.length_ptr, &memory);
	side_ptr_set(arg.u.side_static.side_vla_gather.ptr, NULL);
	CHECK(!walk(FILTER_GOAL_VALUE));
	/* The length itself. */
	made.moves[1] = made.moves[2];
	CHECK(walks_to(FILTER_GOAL_LENGTH, 2));
	side_ptr_set(arg.u.side_static.side_vla_gather.length_ptr, NULL);
	CHECK(!walk(FILTER_GOAL_LENGTH));
	/* Only a VLA has a second base. */
	gather(SIDE_TYPE_GATHER_STRUCT);
	made.moves[1] = memory_leaf(3);
	made.moves[1].code = FILTER_LEAF_LENGTH;
	CHECK(!walk(FILTER_GOAL_LENGTH));
	/* After a move, lengths are beside the elements. */
	made.moves[2] = made.moves[1];
	made.moves[1] = (struct filter_move){.code = FILTER_MOVE_AT, .offset = 1};
	made.moves[2].offset = 2;
	CHECK(walks_to(FILTER_GOAL_LENGTH, 2));
}

/* Lengths that are not valid numbers of elements: they have 32 bits at most. */
static void lengths(void)
{
	uint64_t length[2] = {UINT32_MAX, 0};

	gather(SIDE_TYPE_GATHER_VLA);
	side_ptr_set(arg.u.side_static.side_vla_gather.length_ptr, length);
	made.moves[1] = (struct filter_move){.code = FILTER_LEAF_LENGTH, .size = 8, .bits = 64};
	CHECK(walks_to(FILTER_GOAL_LENGTH, UINT32_MAX));
	length[0]++;
	CHECK(!walk(FILTER_GOAL_LENGTH));
	made.moves[1].size = 16;
	made.moves[1].bits = 128;
	CHECK(!walk(FILTER_GOAL_LENGTH));
	length[0] = 4;
	CHECK(walks_to(FILTER_GOAL_LENGTH, 4));
	length[1] = 1;
	CHECK(!walk(FILTER_GOAL_LENGTH));
}

static bool text_is(const char *text)
{
	return walk(FILTER_GOAL_VALUE) && value.kind == FILTER_STRING && value.unit_size == 1 &&
			value.size == FILTER_TERMINATED && !strcmp(value.text, text);
}

/* Adjacent strings: "a", "bc", "def", "g", "h", "ij". */
static void texts_in_memory(void)
{
	static const char *const texts[] = {"a", "bc", "def", "g", "h", "ij"};
	const size_t begin = offsetof(__typeof__(memory), texts);

	for (uint32_t i = 0; i < LENGTH(texts); i++) {
		gather(SIDE_TYPE_GATHER_ARRAY);
		made.moves[1] = (struct filter_move){.code = FILTER_MOVE_AT, .offset = begin - 2};
		made.moves[2] = (struct filter_move){
				.code = FILTER_MOVE_TEXTS, .index = i, .count = 1};
		made.moves[3] = (struct filter_move){
				.code = FILTER_MOVE_LEVEL, .size = 1, .offset = 2};
		made.moves[4] = (struct filter_move){.code = FILTER_LEAF_TEXT,
				.size = 1,
				.flags = FILTER_IN_MEMORY,
				.offset = 2};
		CHECK(text_is(texts[i]));
	}
	/* In rows of two, three rows. */
	for (uint32_t i = 0; i < 3; i++) {
		made.moves[2] = (struct filter_move){
				.code = FILTER_MOVE_TEXTS, .index = i, .count = 2};
		made.moves[3] = (struct filter_move){
				.code = FILTER_MOVE_LEVEL, .count = 2, .offset = 1};
		made.moves[4] = (struct filter_move){
				.code = FILTER_MOVE_LEVEL, .size = 1, .offset = 1};
		made.moves[5] = (struct filter_move){.code = FILTER_LEAF_TEXT,
				.size = 1,
				.flags = FILTER_IN_MEMORY,
				.offset = 2};
		CHECK(text_is(texts[2 * i]));
	}
}

/* ---- dynamic values ---- */

static struct side_arg dynamic[3];
static struct side_arg_dynamic_vla vla;

static void set_integer(struct side_arg *to, unsigned int size, uint64_t number)
{
	memset(to, 0, sizeof(*to));
	to->type.v = SIDE_TYPE_DYNAMIC_INTEGER;
	to->u.side_dynamic.side_integer.type.integer_size = (uint16_t)size;
	to->u.side_dynamic.side_integer.type.byte_order.v = SIDE_TYPE_BYTE_ORDER_HOST;
	to->u.side_dynamic.side_integer.value.side_u64 = number;
}

static void dynamic_scalars(void)
{
	made.moves[0] = (struct filter_move){.code = FILTER_MOVE_DYNAMIC};
	set_integer(&arg, 8, 1234);
	CHECK(walks_to(FILTER_GOAL_VALUE, 1234));
	CHECK(walks_to(FILTER_GOAL_PRESENCE, 1));
	CHECK(!walk(FILTER_GOAL_LENGTH));
	CHECK(!walk(FILTER_GOAL_TEXT));
	arg.u.side_dynamic.side_integer.type.integer_size = 3;
	CHECK(!walk(FILTER_GOAL_VALUE));
	arg.type.v = SIDE_TYPE_DYNAMIC_NULL - 1;
	CHECK(!walk(FILTER_GOAL_PRESENCE));
	arg.type.v = SIDE_TYPE_DYNAMIC_NULL;
	CHECK(walks_to(FILTER_GOAL_PRESENCE, 1));
	CHECK(!walk(FILTER_GOAL_VALUE));
	arg.type.v = SIDE_TYPE_DYNAMIC_VLA_VISITOR;
	CHECK(walks_to(FILTER_GOAL_PRESENCE, 1));
	CHECK(!walk(FILTER_GOAL_VALUE));
	CHECK(!walk(FILTER_GOAL_LENGTH));
	arg.type.v = SIDE_TYPE_DYNAMIC_VLA_VISITOR + 1;
	CHECK(!walk(FILTER_GOAL_PRESENCE));
	set_argument(SIDE_TYPE_DYNAMIC_BYTE);
	arg.u.side_dynamic.side_byte.value = 200;
	CHECK(walks_to(FILTER_GOAL_VALUE, 200));
	CHECK(!walk(FILTER_GOAL_LENGTH));
	set_argument(SIDE_TYPE_DYNAMIC_BOOL);
	arg.u.side_dynamic.side_bool.type.bool_size = 2;
	arg.u.side_dynamic.side_bool.type.byte_order.v = SIDE_TYPE_BYTE_ORDER_HOST;
	CHECK(walks_to(FILTER_GOAL_VALUE, 0));
	arg.u.side_dynamic.side_bool.value.side_bool16 = 256;
	CHECK(walks_to(FILTER_GOAL_VALUE, 1));
	set_argument(SIDE_TYPE_DYNAMIC_STRING);
	arg.u.side_dynamic.side_string.type.unit_size = 1;
	arg.u.side_dynamic.side_string.value = (uintptr_t) "four";
	CHECK(walks_to(FILTER_GOAL_LENGTH, 4));
	CHECK(text_is("four"));
	arg.u.side_dynamic.side_string.type.unit_size = 3;
	CHECK(!walk(FILTER_GOAL_VALUE));
}

static void dynamic_arrays(void)
{
	for (uint64_t i = 0; i < 3; i++)
		set_integer(&dynamic[i], 4, 30 + i);
	side_ptr_set(vla.sav, dynamic);
	vla.len = 3;
	set_argument(SIDE_TYPE_DYNAMIC_VLA);
	side_ptr_set(arg.u.side_dynamic.side_dynamic_vla, &vla);
	made.moves[0] = (struct filter_move){.code = FILTER_MOVE_DYNAMIC};
	CHECK(walks_to(FILTER_GOAL_LENGTH, 3));
	CHECK(!walk(FILTER_GOAL_VALUE));
	made.moves[0].count = 1;
	made.moves[1] = (struct filter_move){.code = FILTER_MOVE_INDEX, .index = 2};
	CHECK(walks_to(FILTER_GOAL_VALUE, 32));
	made.moves[1].index = 3;
	CHECK(!walk(FILTER_GOAL_VALUE));
	made.moves[1].index = 0;
	made.moves[1].code = FILTER_MOVE_NAME;
	CHECK(!walk(FILTER_GOAL_VALUE));
	made.moves[1].code = FILTER_MOVE_INDEX;
	made.moves[0].count = 2; /* an element of a number */
	CHECK(!walk(FILTER_GOAL_VALUE));
	made.moves[0].count = 1;
	side_ptr_set(vla.sav, NULL);
	CHECK(!walk(FILTER_GOAL_VALUE));
	side_ptr_set(arg.u.side_dynamic.side_dynamic_vla, NULL);
	CHECK(!walk(FILTER_GOAL_VALUE));
	made.moves[0].count = 0;
	CHECK(!walk(FILTER_GOAL_LENGTH));
}

static const char *const names[] = {"ab", "abc", NULL, "b", "a"};
static unsigned char fields[5 * sizeof(struct side_arg_dynamic_field)];
static struct side_arg_dynamic_struct structure;

static void make_fields(void)
{
	struct side_arg element;

	for (uint64_t i = 0; i < LENGTH(names); i++) {
		unsigned char *at = fields + i * sizeof(struct side_arg_dynamic_field);

		set_integer(&element, 1, 40 + i);
		memcpy(at + offsetof(struct side_arg_dynamic_field, field_name), &names[i],
				sizeof(*names));
		memcpy(at + offsetof(struct side_arg_dynamic_field, elem), &element,
				sizeof(element));
	}
	side_ptr_set(structure.fields, (const struct side_arg_dynamic_field *)(const void *)fields);
	structure.len = LENGTH(names);
}

static void ask_for_name(const char *name)
{
	made.moves[0] = (struct filter_move){.code = FILTER_MOVE_DYNAMIC, .count = 1};
	made.moves[1] = (struct filter_move){
			.code = FILTER_MOVE_NAME, .offset = offset_of(made.text)};
	strcpy(made.text, name);
}

static void dynamic_structures(void)
{
	make_fields();
	for (uint64_t i = 0; i < LENGTH(names); i++) {
		if (!names[i])
			continue;
		ask_for_name(names[i]);
		CHECK(walk_from(FILTER_GOAL_VALUE, &structure) && value.u == 40 + i);
		set_argument(SIDE_TYPE_DYNAMIC_STRUCT);
		side_ptr_set(arg.u.side_dynamic.side_dynamic_struct, &structure);
		CHECK(walks_to(FILTER_GOAL_VALUE, 40 + i));
		structure.len = (uint32_t)i;
		CHECK(!walk(FILTER_GOAL_VALUE));
		structure.len = LENGTH(names);
	}
	ask_for_name("abcd");
	CHECK(!walk(FILTER_GOAL_VALUE));
	ask_for_name("");
	CHECK(!walk(FILTER_GOAL_VALUE));
	ask_for_name("b");
	made.moves[1].code = FILTER_MOVE_INDEX;
	CHECK(!walk(FILTER_GOAL_VALUE));
	ask_for_name("b");
	side_ptr_set(structure.fields, NULL);
	CHECK(!walk(FILTER_GOAL_VALUE));
	side_ptr_set(arg.u.side_dynamic.side_dynamic_struct, NULL);
	CHECK(!walk(FILTER_GOAL_VALUE));
	made.op.arg_index = UINT32_MAX;
	CHECK(!walk(FILTER_GOAL_VALUE));
}

/* ---- visitors ---- */

static unsigned int shown; /* elements and fields for which the tracer returned OK */
static bool visitor_fails;

/* Continues after an error, and visits a NULL in between. */
static enum side_visitor_status show_elements(
		const struct side_tracer_visitor_ctx *tracer, void *context)
{
	const struct side_arg *all = context;

	for (unsigned int i = 0; i < 3; i++) {
		shown += tracer->write_elem(tracer, NULL) == SIDE_VISITOR_STATUS_OK;
		shown += tracer->write_elem(tracer, &all[i]) == SIDE_VISITOR_STATUS_OK;
	}
	return visitor_fails ? SIDE_VISITOR_STATUS_ERROR : SIDE_VISITOR_STATUS_OK;
}

static enum side_visitor_status show_fields(
		const struct side_tracer_dynamic_struct_visitor_ctx *tracer, void *context)
{
	const struct side_arg_dynamic_field *all = context;

	shown += tracer->write_field(tracer, NULL) == SIDE_VISITOR_STATUS_OK;
	for (unsigned int i = 0; i < LENGTH(names); i++) {
		if (tracer->write_field(tracer, &all[i]) == SIDE_VISITOR_STATUS_ERROR)
			break;
		shown++;
	}
	return SIDE_VISITOR_STATUS_ERROR;
}

static void static_visitors(void)
{
	struct side_arg_vla_visitor app;

	memset(&app, 0, sizeof(app));
	for (uint64_t i = 0; i < 3; i++)
		items[i] = number_argument(SIDE_TYPE_U8, 50 + i);
	side_ptr_set(app.app_ctx, items);
	set_argument(SIDE_TYPE_VLA_VISITOR);
	side_ptr_set(arg.u.side_static.side_vla_visitor, &app);
	for (uint32_t i = 0; i < 4; i++) {
		made.moves[0] = (struct filter_move){.code = FILTER_MOVE_VISITOR,
				.label = SIDE_TYPE_VLA_VISITOR,
				.index = i,
				.visitor = show_elements};
		made.moves[1] = u8_leaf();
		shown = 0;
		CHECK(walks_to(FILTER_GOAL_VALUE, 50 + i) == (i < 3));
		/* All before it, NULLs included. */
		CHECK(shown == (i < 3 ? 2 * i + 1 : 6));
	}
	made.moves[0].index = UINT32_MAX;
	CHECK(!walk(FILTER_GOAL_VALUE));
	made.moves[0] = (struct filter_move){.code = FILTER_LEAF_COUNT,
			.label = SIDE_TYPE_VLA_VISITOR,
			.visitor = show_elements};
	CHECK(walks_to(FILTER_GOAL_LENGTH, 3));
	visitor_fails = true;
	CHECK(!walk(FILTER_GOAL_LENGTH));
	visitor_fails = false;
	made.moves[0].visitor = NULL;
	CHECK(!walk(FILTER_GOAL_LENGTH));
	side_ptr_set(arg.u.side_static.side_vla_visitor, NULL);
	made.moves[0].visitor = show_elements;
	CHECK(!walk(FILTER_GOAL_LENGTH));
}

static void dynamic_visitors(void)
{
	struct side_arg_dynamic_vla_visitor elements;
	struct side_arg_dynamic_struct_visitor members;

	memset(&elements, 0, sizeof(elements));
	memset(&members, 0, sizeof(members));
	for (uint64_t i = 0; i < 3; i++)
		set_integer(&dynamic[i], 4, 60 + i);
	side_ptr_set(elements.visitor, show_elements);
	side_ptr_set(elements.app_ctx, dynamic);
	set_argument(SIDE_TYPE_DYNAMIC_VLA_VISITOR);
	side_ptr_set(arg.u.side_dynamic.side_dynamic_vla_visitor, &elements);
	for (uint32_t i = 0; i < 4; i++) {
		made.moves[0] = (struct filter_move){.code = FILTER_MOVE_DYNAMIC, .count = 1};
		made.moves[1] = (struct filter_move){.code = FILTER_MOVE_INDEX, .index = i};
		CHECK(walks_to(FILTER_GOAL_VALUE, 60 + i) == (i < 3));
	}
	made.moves[1].index = UINT32_MAX;
	CHECK(!walk(FILTER_GOAL_VALUE));
	made.moves[1].index = 0;
	made.moves[1].code = FILTER_MOVE_NAME;
	CHECK(!walk(FILTER_GOAL_VALUE));
	made.moves[0].count = 0;
	CHECK(walks_to(FILTER_GOAL_LENGTH, 3));
	CHECK(!walk(FILTER_GOAL_VALUE));

	make_fields();
	side_ptr_set(members.visitor, show_fields);
	side_ptr_set(members.app_ctx, fields);
	for (uint64_t i = 0; i < LENGTH(names); i++) {
		if (!names[i])
			continue;
		set_argument(SIDE_TYPE_DYNAMIC_STRUCT_VISITOR);
		side_ptr_set(arg.u.side_dynamic.side_dynamic_struct_visitor, &members);
		ask_for_name(names[i]);
		shown = 0;
		CHECK(walks_to(FILTER_GOAL_VALUE, 40 + i) && shown == i + 1);
	}
	ask_for_name("c");
	CHECK(!walk(FILTER_GOAL_VALUE));
	ask_for_name("b");
	made.moves[1].code = FILTER_MOVE_INDEX;
	CHECK(!walk(FILTER_GOAL_VALUE));
	made.moves[1].code = FILTER_MOVE_NAME;
	side_ptr_set(members.visitor, NULL);
	CHECK(!walk(FILTER_GOAL_VALUE));
	side_ptr_set(arg.u.side_dynamic.side_dynamic_struct_visitor, NULL);
	CHECK(!walk(FILTER_GOAL_VALUE));
}

/* ---- leaves of types ---- */

static void leaves(void)
{
	struct filter_move leaf;

	for (unsigned int size = 0; size < 34; size++) {
		bool is_size = size == 1 || size == 2 || size == 4 || size == 8 || size == 16;
		struct side_type_integer integer;
		struct side_type_float real;
		struct side_type_string string;
		struct side_type_bool truth;

		memset(&integer, 0, sizeof(integer));
		memset(&real, 0, sizeof(real));
		memset(&string, 0, sizeof(string));
		memset(&truth, 0, sizeof(truth));
		integer.integer_size = (uint16_t)size;
		integer.byte_order.v = SIDE_TYPE_BYTE_ORDER_HOST;
		real.float_size = (uint16_t)size;
		string.unit_size = (uint8_t)size;
		truth.bool_size = (uint16_t)size;
		CHECK(filter_leaf_float(&leaf, &real) == (is_size && size > 1));
		CHECK(filter_leaf_text(&leaf, &string) == (is_size && size < 8));
		CHECK(filter_leaf_bool(&leaf, &truth, 0) == (is_size && size < 16));
		CHECK(filter_leaf_integer(&leaf, &integer, 0) == is_size);
		if (!is_size || size == 16)
			continue;
		CHECK(leaf.code == FILTER_LEAF_INTEGER && leaf.size == size &&
				leaf.bits == 8 * size && !leaf.shift && !leaf.flags);
		integer.len_bits = (uint16_t)(8 * size - 3);
		integer.signedness = 1;
		integer.byte_order.v = !SIDE_TYPE_BYTE_ORDER_HOST;
		CHECK(filter_leaf_integer(&leaf, &integer, 3) && leaf.shift == 3);
		CHECK(leaf.bits == 8 * size - 3 && leaf.flags == (FILTER_SIGNED | FILTER_SWAP));
		CHECK(!filter_leaf_integer(&leaf, &integer, 4));
	}
}

int main(void)
{
	bitmaps();
	odd_bitmaps();
	vectors();
	optionals_and_variants();
	labels();
	numbers_in_memory();
	vlas_in_memory();
	lengths();
	texts_in_memory();
	dynamic_scalars();
	dynamic_arrays();
	dynamic_structures();
	static_visitors();
	dynamic_visitors();
	leaves();
	return 0;
}
