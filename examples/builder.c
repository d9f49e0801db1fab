/* SPDX-License-Identifier: MIT */
/*
 * An event that is described at run time, as a JIT or an interpreter would: its fields are not
 * known when this program is compiled.
 *
 *	LD_PRELOAD=libside-console-tracer.so ./builder
 *	side record -o trace -- ./builder
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <side/builder.h>

/* The event jit:compiled with the fields name, tier (an enumeration) and blocks (a list of sizes). */
static struct side_builder *describe(void)
{
	struct side_builder *b = side_builder_create("jit", "compiled", SIDE_LOGLEVEL_INFO, 0);
	struct side_builder_type *u8, *u32, *name, *tier, *blocks;

	/* No check in between: the first error is told at the end. */
	u8 = side_builder_integer(b, 1, 0, SIDE_TYPE_BYTE_ORDER_HOST);
	u32 = side_builder_integer(b, 4, 0, SIDE_TYPE_BYTE_ORDER_HOST);
	name = side_builder_string(b, 1, SIDE_TYPE_BYTE_ORDER_HOST);
	tier = side_builder_enum(b, u8);
	side_builder_add_label(b, tier, "interpreted", 0, 0);
	side_builder_add_label(b, tier, "optimized", 1, 3);
	blocks = side_builder_vla(b, u32, u32);
	side_builder_attr_string(b, blocks, "unit", "bytes");

	side_builder_add_field(b, NULL, "name", name);
	side_builder_add_field(b, NULL, "tier", tier);
	side_builder_add_field(b, NULL, "blocks", blocks);

	if (side_builder_register(b) != SIDE_ERROR_OK) {
		fprintf(stderr, "builder: %s\n", side_builder_error(b));
		side_builder_destroy(b);
		return NULL;
	}
	return b;
}

/* Arguments are the plain structures of the ABI: a label and a value for each field. */
static void emit(const struct side_builder *b, const char *name, uint8_t tier,
		const uint32_t *blocks, uint32_t nr_blocks)
{
	struct side_arg elements[8], args[3];
	struct side_arg_vec list, vec;
	uint32_t i;

	if (!side_builder_enabled(b))
		return;
	memset(elements, 0, sizeof(elements));
	memset(args, 0, sizeof(args));
	for (i = 0; i < nr_blocks && i < 8; i++) {
		side_enum_set(elements[i].type, SIDE_TYPE_U32);
		elements[i].u.side_static.integer_value.side_u32 = blocks[i];
	}
	side_ptr_set(list.sav, elements);
	list.len = i;

	side_enum_set(args[0].type, SIDE_TYPE_STRING_UTF8);
	side_ptr_set(args[0].u.side_static.string_value, name);
	/* An enumeration has the label of its element. */
	side_enum_set(args[1].type, SIDE_TYPE_U8);
	args[1].u.side_static.integer_value.side_u8 = tier;
	side_enum_set(args[2].type, SIDE_TYPE_VLA);
	side_ptr_set(args[2].u.side_static.side_vla, &list);
	side_ptr_set(vec.sav, args);
	vec.len = 3;
	side_call(side_builder_state(b), &vec);
}

int main(void)
{
	static const uint32_t main_blocks[] = { 64, 128, 32 };
	struct side_builder *b = describe();

	if (!b)
		return 1;
	emit(b, "main", 2, main_blocks, 3);
	emit(b, "helper", 0, NULL, 0);
	/* No thread is in emit() any more: now the event may go. */
	return side_builder_destroy(b) != SIDE_ERROR_OK;
}
