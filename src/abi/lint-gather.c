/* SPDX-License-Identifier: MIT */
/* Finds wrong positions of gathered values: offsets, and members outside of their struct. */
#include <inttypes.h>

#include "abi/lint.h"

/* The bytes of a value, relative to the base of its struct. */
struct extent {
	uint64_t offset;
	uint64_t size; /* 0: known only in a call */
	unsigned int mode;
};

#define EXTENT(member, bytes) ((struct extent){(member).offset, (bytes), (member).access_mode.v})

static struct extent abi_lint_gather_get_extent(const struct side_type *type);

/* 0: known only in a call. The budgets of the walk keep both factors small. */
static uint64_t lint_gather_array_size(
		const struct side_type_array *array, unsigned int pointer_size)
{
	struct extent elem = abi_lint_gather_get_extent(side_ptr_get(array->elem_type));

	return array->length *
			(elem.mode == SIDE_TYPE_GATHER_ACCESS_POINTER ? pointer_size : elem.size);
}

static struct extent abi_lint_gather_get_extent(const struct side_type *type)
{
	const struct side_type_gather *gather = &type->u.side_gather;

	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_GATHER_BOOL:
		return EXTENT(gather->u.side_bool, gather->u.side_bool.type.bool_size);
	case SIDE_TYPE_GATHER_INTEGER:
	case SIDE_TYPE_GATHER_POINTER:
		return EXTENT(gather->u.side_integer, gather->u.side_integer.type.integer_size);
	case SIDE_TYPE_GATHER_BYTE: return EXTENT(gather->u.side_byte, 1);
	case SIDE_TYPE_GATHER_FLOAT:
		return EXTENT(gather->u.side_float, gather->u.side_float.type.float_size);
	/* At least the terminator. */
	case SIDE_TYPE_GATHER_STRING:
		return EXTENT(gather->u.side_string, gather->u.side_string.type.unit_size);
	case SIDE_TYPE_GATHER_STRUCT:
		return EXTENT(gather->u.side_struct, gather->u.side_struct.size);
	case SIDE_TYPE_GATHER_ARRAY: return EXTENT(gather->u.side_array, 0);
	case SIDE_TYPE_GATHER_VLA: return EXTENT(gather->u.side_vla, 0);
	case SIDE_TYPE_GATHER_ENUM:
		return abi_lint_gather_get_extent(side_ptr_get(gather->u.side_enum.elem_type));
	default: return (struct extent){.mode = SIDE_TYPE_GATHER_ACCESS_DIRECT};
	}
}

/* Check the members of one level: a nested struct is checked on its own. */
static void lint_members(struct lint *lint, const struct side_type_gather_struct *type,
		const struct visit_node *node)
{
	const struct side_type_struct *structure = side_ptr_get(type->type);
	const struct side_event_field *fields = side_array_elements(&structure->fields);
	uint32_t i, nr = side_array_length(&structure->fields);
	uint64_t end;

	for (i = 0; i < nr; i++) {
		struct extent extent = abi_lint_gather_get_extent(&fields[i].side_type);

		if (extent.mode == SIDE_TYPE_GATHER_ACCESS_POINTER)
			extent.size = lint->pointer_size;
		/* Text of unknown length may begin at the end of the struct. */
		else if (side_enum_get(fields[i].side_type.type) == SIDE_TYPE_GATHER_STRING &&
				extent.offset == type->size)
			extent.size = 0;
		else if (side_enum_get(fields[i].side_type.type) == SIDE_TYPE_GATHER_ARRAY)
			extent.size = lint_gather_array_size(
					&fields[i].side_type.u.side_gather.u.side_array.type,
					lint->pointer_size);
		/* An absurd offset has a finding of its own. */
		if (extent.offset > LINT_OFFSET_MAX)
			continue;
		end = extent.offset + extent.size;
		if (end > type->size)
			lint_report(lint, VISIT_WARNING, node,
					"its member %.100s ends at byte %" PRIu64
					", after the %" PRIu32
					" bytes of the structure\ngive the size of the structure in memory, or correct the offset",
					side_ptr_get(fields[i].field_name), end, type->size);
	}
}

void lint_gather(struct lint *lint, const struct side_type *type, const struct visit_node *node)
{
	/* The finding for an enumeration is that of its element. */
	if (side_enum_get(type->type) != SIDE_TYPE_GATHER_ENUM &&
			abi_lint_gather_get_extent(type).offset > LINT_OFFSET_MAX)
		lint_report(lint, VISIT_ERROR, node,
				"the offset 0x%" PRIx64
				" is too large\ngive the offset of the member, in bytes",
				abi_lint_gather_get_extent(type).offset);
	if (side_enum_get(type->type) == SIDE_TYPE_GATHER_STRUCT)
		lint_members(lint, &type->u.side_gather.u.side_struct, node);
}
