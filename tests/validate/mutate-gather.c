/* SPDX-License-Identifier: MIT */
/* Memory in the layout that the description of gather types has, and invalid pointers in it. */
#include <string.h>

#include "mutate-parts.h"

static void write_pointer(unsigned char *at, const void *pointer)
{
	memcpy(at, &pointer, sizeof(pointer));
}

/* Returns the address of the value: base + offset, or the target of the pointer there. */
static unsigned char *target(struct mutate *mutate, const struct where *where, unsigned char *base,
		uint64_t offset, unsigned int mode, bool is_scalar, bool null_is_right)
{
	unsigned char *to;

	if (mode == SIDE_TYPE_GATHER_ACCESS_DIRECT)
		return base + offset;
	to = mutate_take(mutate, 2048);
	write_pointer(base + offset, to);
	if (!null_is_right && mutate_point(mutate, where, NULL, "NULL slot"))
		write_pointer(base + offset, NULL);
	if (is_scalar && mutate_point(mutate, where, NULL, "wild slot"))
		write_pointer(base + offset, mutate_wild(mutate));
	return to;
}

static void gather_string(struct mutate *mutate, const struct where *where,
		const struct side_type_gather_string *type, unsigned char *base)
{
	unsigned int unit = type->type.unit_size;
	unsigned char *to = target(mutate, where, base, type->offset,
			side_enum_get(type->access_mode), true, true);

	memset(to, 'g', (size_t)(MUTATE_UNITS - 1) * unit);
	memset(to + (size_t)(MUTATE_UNITS - 1) * unit, 0, unit);
	if (side_enum_get(type->access_mode) == SIDE_TYPE_GATHER_ACCESS_POINTER &&
			mutate_point(mutate, where, NULL, "endless slot"))
		write_pointer(base + type->offset, mutate_endless());
}

static void gather_struct(struct mutate *mutate, const struct where *up,
		const struct side_type_gather_struct *type, unsigned char *base)
{
	const struct side_type_struct *structure = side_ptr_get(type->type);
	const struct side_event_field *fields = side_array_elements(&structure->fields);
	struct where word = mutate_where(up, "struct:", 0);
	unsigned char *to = target(mutate, up, base, type->offset, side_enum_get(type->access_mode),
			false, false);
	uint32_t i;

	for (i = 0; i < side_array_length(&structure->fields); i++) {
		struct where where = mutate_where(&word, "\"g?\"", 0);

		where.text[2] = side_ptr_get(fields[i].field_name)[1];
		mutate_gather(mutate, &where, &fields[i].side_type, to, to);
	}
}

/*
 * Bytes from one element to the next; they begin at offset 0, and have the sizes of mutate-tame.c.
 */
static void gather_elements(struct mutate *mutate, const struct where *up,
		const struct side_type *elem, uint32_t nr, unsigned char *base)
{
	size_t stride;
	uint32_t i;

	for (i = 0; i < nr; i++) {
		struct where where = mutate_where(up, "index: %u", i);

		mutate_gather(mutate, &where, elem, base, base);
		if (visit_gather_stride(elem, base, &stride))
			return;
		base += stride;
	}
}

static void gather_vla(struct mutate *mutate, const struct where *where,
		const struct side_type_gather_vla *type, unsigned char *base,
		unsigned char *length_base)
{
	const struct side_type_gather_integer *length =
			&side_ptr_get(type->type.length_type)->u.side_gather.u.side_integer;
	unsigned int size = length->type.integer_size;
	unsigned char *number = length_base + length->offset;
	bool is_last = side_enum_get(length->type.byte_order) == SIDE_TYPE_BYTE_ORDER_BE;
	unsigned char *to = target(mutate, where, base, type->offset,
			side_enum_get(type->access_mode), false, false);

	gather_elements(mutate, where, side_ptr_get(type->type.elem_type), MUTATE_GATHERED, to);
	memset(number, 0, size);
	number[is_last ? size - 1 : 0] = MUTATE_GATHERED;
	if ((length->type.signedness || size > 4) &&
			mutate_point(mutate, where, NULL, "negative length"))
		memset(number, 0xff, size);
}

void mutate_gather(struct mutate *mutate, const struct where *where, const struct side_type *type,
		unsigned char *base, unsigned char *length_base)
{
	const struct side_type_gather *gather = &type->u.side_gather;
	unsigned char *to;

	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_GATHER_BOOL:
		(void)target(mutate, where, base, gather->u.side_bool.offset,
				side_enum_get(gather->u.side_bool.access_mode), true, false);
		return;
	case SIDE_TYPE_GATHER_BYTE:
		(void)target(mutate, where, base, gather->u.side_byte.offset,
				side_enum_get(gather->u.side_byte.access_mode), true, false);
		return;
	case SIDE_TYPE_GATHER_FLOAT:
		(void)target(mutate, where, base, gather->u.side_float.offset,
				side_enum_get(gather->u.side_float.access_mode), true, false);
		return;
	case SIDE_TYPE_GATHER_STRING:
		gather_string(mutate, where, &gather->u.side_string, base);
		return;
	case SIDE_TYPE_GATHER_ENUM:
		mutate_gather(mutate, where, side_ptr_get(gather->u.side_enum.elem_type), base,
				base);
		return;
	case SIDE_TYPE_GATHER_STRUCT:
		gather_struct(mutate, where, &gather->u.side_struct, base);
		return;
	case SIDE_TYPE_GATHER_ARRAY:
		if (!gather->u.side_array.type.length)
			return;
		to = target(mutate, where, base, gather->u.side_array.offset,
				side_enum_get(gather->u.side_array.access_mode), false, false);
		gather_elements(mutate, where, side_ptr_get(gather->u.side_array.type.elem_type),
				gather->u.side_array.type.length, to);
		return;
	case SIDE_TYPE_GATHER_VLA:
		gather_vla(mutate, where, &gather->u.side_vla, base, length_base);
		return;
	default: /* GATHER_INTEGER, GATHER_POINTER */
		(void)target(mutate, where, base, gather->u.side_integer.offset,
				side_enum_get(gather->u.side_integer.access_mode), true, false);
	}
}
