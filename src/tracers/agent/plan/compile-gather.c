/* SPDX-License-Identifier: MIT */
/*
 * Gather types into memory operations.
 *
 * A direct structure has no operation: its members' offsets are counted from the base around it
 * (`origin`). What is copied as it is and lies side by side becomes one copy, arrays included.
 */
#include <errno.h>

#include "tracers/agent/plan/build.h"

static int compile_memory(struct plan_builder *builder, const struct side_type *type,
		uint64_t origin, int64_t *ret_size);

/* A stride that no operation holds. */
#define TOO_FAR (INT64_C(1) << 32)

static unsigned int plan_gather_label_of(const struct side_type *type)
{
	return type->type.v;
}

static int check_mode(struct plan_builder *builder, unsigned int mode)
{
	if (mode > SIDE_TYPE_GATHER_ACCESS_POINTER)
		return plan_refuse(builder, EINVAL, "its access mode is unknown");
	return 0;
}

/* Bytes from one element to the next, -1 when that depends on strings in it. */
static int64_t stride_of(const struct side_type *type)
{
	const struct side_type_gather *gather = &type->u.side_gather;
	const struct side_type *inner;
	const int64_t pointer = sizeof(void *);
	int64_t stride;

	switch (plan_gather_label_of(type)) {
	case SIDE_TYPE_GATHER_BYTE: return gather->u.side_byte.access_mode.v ? pointer : 1;
	case SIDE_TYPE_GATHER_BOOL:
		return gather->u.side_bool.access_mode.v ? pointer
							 : gather->u.side_bool.type.bool_size;
	case SIDE_TYPE_GATHER_INTEGER:
	case SIDE_TYPE_GATHER_POINTER:
		return gather->u.side_integer.access_mode.v
				? pointer
				: gather->u.side_integer.type.integer_size;
	case SIDE_TYPE_GATHER_FLOAT:
		return gather->u.side_float.access_mode.v ? pointer
							  : gather->u.side_float.type.float_size;
	case SIDE_TYPE_GATHER_STRING: return gather->u.side_string.access_mode.v ? pointer : -1;
	case SIDE_TYPE_GATHER_STRUCT:
		return gather->u.side_struct.access_mode.v ? pointer : gather->u.side_struct.size;
	case SIDE_TYPE_GATHER_ENUM: return stride_of(side_ptr_get(gather->u.side_enum.elem_type));
	default: /* SIDE_TYPE_GATHER_ARRAY */
		if (gather->u.side_array.access_mode.v)
			return pointer;
		inner = side_ptr_get(gather->u.side_array.type.elem_type);
		if (!gather->u.side_array.type.length)
			return 0;
		stride = stride_of(inner);
		if (stride > 0 && gather->u.side_array.type.length > UINT32_MAX / stride)
			return TOO_FAR;
		return stride < 0 ? -1 : stride * gather->u.side_array.type.length;
	}
}

/* Something of a known size behind `offset`, directly or through a pointer. */
static int push_at(struct plan_builder *builder, struct plan_op *op, uint64_t offset,
		unsigned int mode)
{
	struct plan_op pointer = {.code = PLAN_MEMORY_DEREFERENCE, .offset = offset};
	uint32_t at;
	int error;

	error = check_mode(builder, mode);
	if (error)
		return error;
	if (mode == SIDE_TYPE_GATHER_ACCESS_DIRECT) {
		op->offset = offset;
		return plan_push(builder, op);
	}
	error = plan_open(builder, &pointer, &at);
	if (!error)
		error = plan_push(builder, op);
	if (!error)
		plan_close(builder, at);
	return error;
}

static int plan_gather_integer(struct plan_builder *builder,
		const struct side_type_gather_integer *type, uint64_t origin, int64_t *ret_size)
{
	struct plan_op op = {0};
	bool partial;
	int error;

	error = plan_describe_integer(builder, &type->type, type->offset_bits, &op, &partial);
	if (error)
		return error;
	op.code = partial ? PLAN_MEMORY_INTEGER : PLAN_MEMORY_COPY;
	op.count = op.size;
	*ret_size = op.size;
	return push_at(builder, &op, origin + type->offset, type->access_mode.v);
}

static int plan_gather_bool(struct plan_builder *builder, const struct side_type_gather_bool *type,
		uint64_t origin, int64_t *ret_size)
{
	struct plan_op op = {0};
	bool partial;
	int error;

	error = plan_describe_bool(builder, &type->type, type->offset_bits, &op, &partial);
	if (error)
		return error;
	op.code = partial ? PLAN_MEMORY_BOOL : PLAN_MEMORY_COPY;
	op.count = 1;
	*ret_size = 1;
	return push_at(builder, &op, origin + type->offset, type->access_mode.v);
}

static int plan_gather_float(struct plan_builder *builder,
		const struct side_type_gather_float *type, uint64_t origin, int64_t *ret_size)
{
	struct plan_op op = {.code = PLAN_MEMORY_COPY};
	int error;

	error = plan_check_float(builder, &type->type);
	if (error)
		return error;
	op.size = (uint8_t)type->type.float_size;
	op.count = op.size;
	if (op.size == 2) {
		op.code = PLAN_MEMORY_FLOAT16;
		op.width = 4;
		if (type->type.byte_order.v != SIDE_TYPE_FLOAT_WORD_ORDER_HOST)
			op.flags = PLAN_SWAP;
	}
	*ret_size = op.size == 2 ? 4 : op.size;
	return push_at(builder, &op, origin + type->offset, type->access_mode.v);
}

/* A string may be NULL, so following the pointer is its own affair. */
static int plan_gather_string(struct plan_builder *builder,
		const struct side_type_gather_string *type, uint64_t origin, int64_t *ret_size)
{
	struct plan_op op = {.code = PLAN_MEMORY_STRING, .offset = origin + type->offset};
	int error;

	error = plan_check_string(builder, &type->type);
	if (!error)
		error = check_mode(builder, type->access_mode.v);
	if (error)
		return error;
	op.size = type->type.unit_size;
	if (type->type.byte_order.v != SIDE_TYPE_BYTE_ORDER_HOST)
		op.flags |= PLAN_SWAP;
	if (type->access_mode.v)
		op.flags |= PLAN_POINTER;
	*ret_size = -1;
	return plan_push(builder, &op);
}

static int compile_members(struct plan_builder *builder, const struct side_type_struct *type,
		uint64_t origin, int64_t *ret_size)
{
	const struct side_event_field *field = side_array_elements(&type->fields);
	uint32_t length = side_array_length(&type->fields);
	int error;

	*ret_size = 0;
	if (length && !field)
		return plan_refuse(builder, EINVAL, "its members are missing");
	for (; length; length--, field++) {
		int64_t member_size = 0;

		error = compile_memory(builder, &field->side_type, origin, &member_size);
		if (error)
			return error;
		*ret_size = plan_size_sum(*ret_size, member_size);
	}
	return 0;
}

static int plan_gather_struct(struct plan_builder *builder,
		const struct side_type_gather_struct *type, uint64_t origin, int64_t *ret_size)
{
	struct plan_op op = {.code = PLAN_MEMORY_DEREFERENCE, .offset = origin + type->offset};
	const struct side_type_struct *members = side_ptr_get(type->type);
	uint32_t at;
	int error;

	if (!members)
		return plan_refuse(builder, EINVAL, "its members are missing");
	error = check_mode(builder, type->access_mode.v);
	if (error)
		return error;
	if (type->access_mode.v == SIDE_TYPE_GATHER_ACCESS_DIRECT) {
		if (builder->depth++ >= PLAN_DEPTH_MAX)
			return plan_refuse(builder, E2BIG, "types are nested too deeply");
		error = compile_members(builder, members, origin + type->offset, ret_size);
		builder->depth--;
		return error;
	}
	error = plan_open(builder, &op, &at);
	if (!error)
		error = compile_members(builder, members, 0, ret_size);
	if (error)
		return error;
	if (builder->count == at + 1) /* no members, no need for the pointer */
		return plan_collapse(builder, at, NULL);
	plan_close(builder, at);
	return 0;
}

static int check_element(struct plan_builder *builder, const struct side_type *type)
{
	if (!type)
		return plan_refuse(builder, EINVAL, "its element type is missing");
	if (plan_gather_label_of(type) < SIDE_TYPE_GATHER_BOOL ||
			plan_gather_label_of(type) > SIDE_TYPE_GATHER_ENUM)
		return plan_refuse(builder, EINVAL, "gathered elements must be gather types");
	if (plan_gather_label_of(type) == SIDE_TYPE_GATHER_VLA)
		return plan_refuse(builder, EINVAL, "a gathered VLA cannot be an element");
	return 0;
}

/*
 * Elements from builder->count on, behind what was opened at `at`: are they one copy without gaps?
 */
static bool plan_gather_is_flat(const struct plan_builder *builder, uint32_t at, int64_t stride)
{
	return plan_has_single(builder, at) && builder->last.code == PLAN_MEMORY_COPY &&
			builder->last.count == stride;
}

static int compile_array_at(struct plan_builder *builder, const struct side_type_array *type,
		uint64_t offset, int64_t *ret_size)
{
	struct plan_op op = {.code = PLAN_MEMORY_ARRAY, .offset = offset, .count = type->length};
	struct plan_op before = builder->last;
	const struct side_type *element = side_ptr_get(type->elem_type);
	uint32_t at, before_at = builder->last_at;
	int64_t stride;
	int error;

	error = check_element(builder, element);
	if (!error)
		error = plan_open(builder, &op, &at);
	if (!error)
		error = compile_memory(builder, element, 0, ret_size);
	if (error)
		return error;
	*ret_size = plan_size_times(*ret_size, type->length);
	stride = stride_of(element);
	if (!type->length || builder->count == at + 1) {
		error = plan_collapse(builder, at, NULL);
		builder->last = before;
		builder->last_at = before_at;
		return error;
	}
	if (plan_gather_is_flat(builder, at, stride) &&
			(uint64_t)stride * type->length <= UINT32_MAX) {
		op.code = PLAN_MEMORY_COPY;
		op.offset += builder->last.offset;
		op.count = (uint32_t)stride * type->length;
		builder->depth--;
		builder->count = at;
		builder->last = before;
		builder->last_at = before_at;
		return plan_push(builder, &op);
	}
	if (stride > UINT32_MAX)
		return plan_refuse(builder, E2BIG, "its elements are too far apart");
	if (builder->ops) {
		builder->ops[at].stride = (uint32_t)(stride < 0 ? 0 : stride);
		if (stride < 0)
			builder->ops[at].code = PLAN_MEMORY_STRINGS_ARRAY;
	}
	plan_close(builder, at);
	return 0;
}

static int plan_gather_array(struct plan_builder *builder,
		const struct side_type_gather_array *type, uint64_t origin, int64_t *ret_size)
{
	struct plan_op op = {.code = PLAN_MEMORY_DEREFERENCE, .offset = origin + type->offset};
	uint32_t at;
	int error;

	error = check_mode(builder, type->access_mode.v);
	if (error)
		return error;
	if (type->access_mode.v == SIDE_TYPE_GATHER_ACCESS_DIRECT)
		return compile_array_at(builder, &type->type, origin + type->offset, ret_size);
	error = plan_open(builder, &op, &at);
	if (!error)
		error = compile_array_at(builder, &type->type, 0, ret_size);
	if (error)
		return error;
	if (builder->count == at + 1)
		return plan_collapse(builder, at, NULL);
	plan_close(builder, at);
	return 0;
}

static int compile_length(struct plan_builder *builder, const struct side_type *type,
		uint64_t origin, uint8_t *ret_width)
{
	const struct side_type_gather_integer *integer;
	struct plan_op op = {0};
	bool partial;
	int error;

	if (!type || plan_gather_label_of(type) != SIDE_TYPE_GATHER_INTEGER)
		return plan_refuse(builder, EINVAL, "its length must be a gathered integer");
	integer = &type->u.side_gather.u.side_integer;
	error = plan_describe_integer(builder, &integer->type, integer->offset_bits, &op, &partial);
	if (!error)
		error = check_mode(builder, integer->access_mode.v);
	if (error)
		return error;
	op.code = PLAN_MEMORY_LENGTH;
	op.offset = origin + integer->offset;
	if (integer->access_mode.v)
		op.flags |= PLAN_POINTER;
	*ret_width = op.size == 16 ? 8 : op.size;
	error = plan_push(builder, &op);
	builder->last_at = UINT32_MAX;
	return error;
}

static int plan_gather_vla(struct plan_builder *builder, const struct side_type_gather_vla *type,
		uint64_t origin, int64_t *ret_size)
{
	struct plan_op op = {.code = PLAN_MEMORY_VLA, .offset = origin + type->offset};
	const struct side_type *element = side_ptr_get(type->type.elem_type);
	uint32_t at;
	int64_t stride;
	bool flat;
	int error;

	error = check_mode(builder, type->access_mode.v);
	if (!error)
		error = check_element(builder, element);
	if (!error)
		error = plan_open(builder, &op, &at);
	if (!error)
		error = compile_length(
				builder, side_ptr_get(type->type.length_type), origin, &op.width);
	if (!error)
		error = compile_memory(builder, element, 0, ret_size);
	if (error)
		return error;
	*ret_size = -1;
	stride = stride_of(element);
	if (stride > UINT32_MAX)
		return plan_refuse(builder, E2BIG, "its elements are too far apart");
	flat = plan_gather_is_flat(builder, at + 1, stride);
	if (builder->ops) {
		builder->ops[at].width = op.width;
		builder->ops[at].stride = (uint32_t)(stride < 0 ? 0 : stride);
		builder->ops[at].flags = (type->access_mode.v ? PLAN_POINTER : 0) |
				(flat ? PLAN_FLAT : 0) | (stride < 0 ? PLAN_STRINGS : 0);
	}
	plan_close(builder, at);
	return 0;
}

/* One gather type whose data is at origin + its own offset from the current base. */
static int compile_memory(struct plan_builder *builder, const struct side_type *type,
		uint64_t origin, int64_t *ret_size)
{
	const struct side_type_gather *gather = &type->u.side_gather;
	const struct side_type *element;
	struct plan_op byte = {.code = PLAN_MEMORY_COPY, .count = 1};

	switch (plan_gather_label_of(type)) {
	case SIDE_TYPE_GATHER_BYTE:
		*ret_size = 1;
		return push_at(builder, &byte, origin + gather->u.side_byte.offset,
				gather->u.side_byte.access_mode.v);
	case SIDE_TYPE_GATHER_BOOL:
		return plan_gather_bool(builder, &gather->u.side_bool, origin, ret_size);
	case SIDE_TYPE_GATHER_INTEGER:
	case SIDE_TYPE_GATHER_POINTER:
		return plan_gather_integer(builder, &gather->u.side_integer, origin, ret_size);
	case SIDE_TYPE_GATHER_FLOAT:
		return plan_gather_float(builder, &gather->u.side_float, origin, ret_size);
	case SIDE_TYPE_GATHER_STRING:
		return plan_gather_string(builder, &gather->u.side_string, origin, ret_size);
	case SIDE_TYPE_GATHER_STRUCT:
		return plan_gather_struct(builder, &gather->u.side_struct, origin, ret_size);
	case SIDE_TYPE_GATHER_ARRAY:
		return plan_gather_array(builder, &gather->u.side_array, origin, ret_size);
	case SIDE_TYPE_GATHER_VLA:
		return plan_gather_vla(builder, &gather->u.side_vla, origin, ret_size);
	case SIDE_TYPE_GATHER_ENUM:
		element = side_ptr_get(gather->u.side_enum.elem_type);
		if (!element || plan_gather_label_of(element) != SIDE_TYPE_GATHER_INTEGER)
			return plan_refuse(builder, EINVAL,
					"a gathered enumeration needs a gathered integer");
		return plan_gather_integer(
				builder, &element->u.side_gather.u.side_integer, origin, ret_size);
	default:
		return plan_refuse(builder, EINVAL,
				"members of gathered structures must be gather types");
	}
}

/* A gather type as an argument cell: the base pointer is in it. */
int plan_compile_gather(
		struct plan_builder *builder, const struct side_type *type, int64_t *ret_size)
{
	struct plan_op op = {.code = PLAN_GATHER, .label = (uint16_t)plan_gather_label_of(type)};
	uint32_t at;
	int error;

	if (op.label == SIDE_TYPE_GATHER_ENUM)
		op.label = SIDE_TYPE_GATHER_INTEGER;
	error = plan_open(builder, &op, &at);
	if (!error)
		error = compile_memory(builder, type, 0, ret_size);
	if (error)
		return error;
	if (plan_has_single(builder, at) && builder->last.code == PLAN_MEMORY_COPY) {
		op.code = PLAN_GATHER_COPY;
		op.offset = builder->last.offset;
		op.count = builder->last.count;
		error = plan_collapse(builder, at, &op);
		builder->last_at = UINT32_MAX;
		return error;
	}
	plan_close(builder, at);
	return 0;
}
