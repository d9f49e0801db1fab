/* SPDX-License-Identifier: MIT */
/* Walks gathered memory: arguments that are not copied to the stack. */
#include <errno.h>

#include "abi/arguments.h"

static int arguments_gather_fail(
		const struct visit_argument_walk *walk, const struct visit_step *step, int ret)
{
	if (ret == -EFAULT)
		return visit_fail(walk->error, step, ret, "gathered memory is at a NULL pointer");
	return visit_fail(walk->error, step, ret, "a gathered value has an impossible size");
}

/* Check the pointer of pointer mode; direct mode reads nothing yet. */
static int arguments_gather_reads_pointer(const struct visit_argument_walk *walk,
		const struct visit_step *step, const void *base, uint64_t offset, unsigned int mode)
{
	if (!base || mode != SIDE_TYPE_GATHER_ACCESS_POINTER)
		return 0;
	return visit_walk_check_memory(
			walk, step, visit_gather_at(base, offset), 1, sizeof(void *));
}

/* Check what visit_load_gather() reads: the pointer, if there is one, and the value. */
static int arguments_gather_reads_scalar(const struct visit_argument_walk *walk,
		const struct visit_step *step, const struct side_type *type, const void *base)
{
	const struct side_type_gather *gather = &type->u.side_gather;
	unsigned int mode;
	uint64_t offset;
	size_t size = 0; /* of a string: its reader finds the end */
	const void *at;
	int ret;

	if (!walk->ops->readable)
		return 0;
	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_GATHER_BOOL:
		offset = gather->u.side_bool.offset;
		mode = side_enum_get(gather->u.side_bool.access_mode);
		size = gather->u.side_bool.type.bool_size;
		break;
	case SIDE_TYPE_GATHER_BYTE:
		offset = gather->u.side_byte.offset;
		mode = side_enum_get(gather->u.side_byte.access_mode);
		size = 1;
		break;
	case SIDE_TYPE_GATHER_FLOAT:
		offset = gather->u.side_float.offset;
		mode = side_enum_get(gather->u.side_float.access_mode);
		size = gather->u.side_float.type.float_size;
		break;
	case SIDE_TYPE_GATHER_STRING:
		offset = gather->u.side_string.offset;
		mode = side_enum_get(gather->u.side_string.access_mode);
		break;
	default: /* GATHER_INTEGER, GATHER_POINTER */
		offset = gather->u.side_integer.offset;
		mode = side_enum_get(gather->u.side_integer.access_mode);
		size = gather->u.side_integer.type.integer_size;
		break;
	}
	ret = arguments_gather_reads_pointer(walk, step, base, offset, mode);
	if (ret || !size || visit_gather_access(base, offset, mode, &at))
		return ret;
	return visit_walk_check_memory(walk, step, at, 1, size);
}

static int arguments_gather_walk_struct(const struct visit_argument_walk *walk,
		const struct visit_location *location, const struct visit_step *up,
		const struct side_type *type, const void *base)
{
	const struct side_type_gather_struct *gather = &type->u.side_gather.u.side_struct;
	const struct side_type_struct *structure = side_ptr_get(gather->type);
	const struct side_event_field *fields = side_array_elements(&structure->fields);
	struct visit_step word = {.up = up, .kind = VISIT_STEP_WORD, .name = "struct:"};
	uint32_t i, nr = side_array_length(&structure->fields);
	struct visit_location inner;
	int ret = visit_walk_enter(walk, location, &word, type, &inner);

	if (!ret)
		ret = arguments_gather_reads_pointer(
				walk, up, base, gather->offset, side_enum_get(gather->access_mode));
	if (ret)
		return ret;
	ret = visit_gather_access(base, gather->offset, side_enum_get(gather->access_mode), &base);
	if (ret)
		return arguments_gather_fail(walk, up, ret);
	ret = WALK_CALL(walk, struct_begin, location, visit_attributes_of(&structure->attributes),
			nr);
	for (i = 0; !ret && i < nr; i++) {
		struct visit_step step = {
				.up = &word,
				.kind = VISIT_STEP_FIELD,
				.name = side_ptr_get(fields[i].field_name),
		};

		inner.type = &fields[i].side_type;
		inner.index = i;
		inner.name = step.name;
		ret = visit_walk_spend(walk, &step);
		if (!ret)
			ret = WALK_CALL(walk, field_begin, &inner);
		if (!ret)
			ret = visit_walk_gather(walk, &inner, &step, inner.type, base, base);
		if (!ret)
			ret = WALK_CALL(walk, field_end, &inner);
		ret = visit_walk_after_field(walk, &inner, ret);
	}
	return ret ? ret : WALK_CALL(walk, struct_end, location, nr);
}

static int arguments_gather_walk_elements(const struct visit_argument_walk *walk,
		const struct visit_location *location, const struct visit_step *up,
		const struct side_type *type, const struct side_type *elem,
		struct visit_attributes attributes, uint32_t nr, const void *base)
{
	struct visit_step step = {.up = up, .kind = VISIT_STEP_INDEX};
	struct visit_location inner;
	size_t stride;
	uint32_t i;
	int ret = visit_walk_enter(walk, location, up, type, &inner);

	if (!ret)
		ret = WALK_CALL(walk, array_begin, location, attributes, nr);
	inner.type = elem;
	inner.name = NULL;
	for (i = 0; !ret && i < nr; i++) {
		step.index = i;
		inner.index = i;
		ret = visit_walk_spend(walk, &step);
		if (!ret)
			ret = WALK_CALL(walk, element_begin, &inner);
		if (!ret)
			ret = visit_walk_gather(walk, &inner, &step, elem, base, base);
		if (!ret)
			ret = WALK_CALL(walk, element_end, &inner);
		if (ret || i + 1 == nr)
			break;
		ret = visit_gather_stride(elem, base, &stride);
		if (ret)
			return arguments_gather_fail(walk, &step, ret);
		base = visit_gather_at(base, stride);
	}
	return ret ? ret : WALK_CALL(walk, array_end, location, nr);
}

static int arguments_gather_walk_array(const struct visit_argument_walk *walk,
		const struct visit_location *location, const struct visit_step *step,
		const struct side_type *type, const void *base)
{
	const struct side_type_gather_array *gather = &type->u.side_gather.u.side_array;
	int ret = 0;

	/* Nothing is read for an empty VLA, so its pointers may be NULL. */
	if (gather->type.length &&
			arguments_gather_reads_pointer(walk, step, base, gather->offset,
					side_enum_get(gather->access_mode)))
		return -EFAULT;
	if (gather->type.length)
		ret = visit_gather_access(
				base, gather->offset, side_enum_get(gather->access_mode), &base);
	if (ret)
		return arguments_gather_fail(walk, step, ret);
	return arguments_gather_walk_elements(walk, location, step, type,
			side_ptr_get(gather->type.elem_type),
			visit_attributes_of(&gather->type.attributes), gather->type.length, base);
}

static int arguments_gather_walk_vla(const struct visit_argument_walk *walk,
		const struct visit_location *location, const struct visit_step *step,
		const struct side_type *type, const void *base, const void *length_base)
{
	const struct side_type_gather_vla *gather = &type->u.side_gather.u.side_vla;
	uint32_t nr;
	int ret = arguments_gather_reads_scalar(
			walk, step, side_ptr_get(gather->type.length_type), length_base);

	if (ret)
		return ret;
	ret = visit_gather_length(&gather->type, length_base, &nr);
	if (ret == -EINVAL)
		return visit_walk_differs(walk, step,
				"the length of a VLA is negative or above 32 bits",
				"a length of 32 bits", "another number");
	if (!ret && nr &&
			arguments_gather_reads_pointer(walk, step, base, gather->offset,
					side_enum_get(gather->access_mode)))
		return -EFAULT;
	if (!ret && nr)
		ret = visit_gather_access(
				base, gather->offset, side_enum_get(gather->access_mode), &base);
	if (ret)
		return arguments_gather_fail(walk, step, ret);
	return arguments_gather_walk_elements(walk, location, step, type,
			side_ptr_get(gather->type.elem_type),
			visit_attributes_of(&gather->type.attributes), nr, base);
}

int visit_walk_gather(const struct visit_argument_walk *walk, const struct visit_location *location,
		const struct visit_step *step, const struct side_type *type, const void *base,
		const void *length_base)
{
	const struct side_enum_mappings *mappings;
	const struct side_type *elem;
	struct visit_value value;
	int ret;

	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_GATHER_STRUCT:
		return arguments_gather_walk_struct(walk, location, step, type, base);
	case SIDE_TYPE_GATHER_ARRAY:
		return arguments_gather_walk_array(walk, location, step, type, base);
	case SIDE_TYPE_GATHER_VLA:
		return arguments_gather_walk_vla(walk, location, step, type, base, length_base);
	case SIDE_TYPE_GATHER_ENUM:
		mappings = side_ptr_get(type->u.side_gather.u.side_enum.mappings);
		elem = side_ptr_get(type->u.side_gather.u.side_enum.elem_type);
		ret = arguments_gather_reads_scalar(walk, step, elem, base);
		if (ret)
			return ret;
		ret = visit_load_gather(elem, base, &value);
		if (ret)
			return arguments_gather_fail(walk, step, ret);
		ret = WALK_CALL(walk, enum_begin, location,
				visit_attributes_of(&mappings->attributes));
		if (!ret)
			ret = WALK_CALL(walk, value, location, &value, visit_type_attributes(elem));
		return ret ? ret : WALK_CALL(walk, enum_end, location, mappings, &value);
	default:
		ret = arguments_gather_reads_scalar(walk, step, type, base);
		if (ret)
			return ret;
		ret = visit_load_gather(type, base, &value);
		if (ret)
			return arguments_gather_fail(walk, step, ret);
		return visit_walk_value(walk, location, step, &value, visit_type_attributes(type));
	}
}
