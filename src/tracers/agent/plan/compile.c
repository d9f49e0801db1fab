/* SPDX-License-Identifier: MIT */
/*
 * A description into operations: stack-copy types, one argument cell each.
 */
#include <errno.h>
#include <stdio.h>

#include <side/abi/event-description.h>

#include "tracers/agent/plan/build.h"
#include "tracers/agent/plan/compile.h"

static int compile_type(
		struct plan_builder *builder, const struct side_type *type, int64_t *ret_size);

static unsigned int plan_compile_label_of(const struct side_type *type)
{
	return type->type.v;
}

static int push_scalar(struct plan_builder *builder, unsigned int label, unsigned int size)
{
	struct plan_op op = {.size = (uint8_t)size, .label = (uint16_t)label, .count = 1};

	op.code = (uint8_t)(size ? PLAN_SCALAR_1 + __builtin_ctz(size) : PLAN_SCALAR_0);
	return plan_push(builder, &op);
}

static int plan_compile_integer(
		struct plan_builder *builder, const struct side_type *type, int64_t *ret_size)
{
	struct plan_op op = {.code = PLAN_INTEGER, .label = type->type.v};
	bool partial;
	int error;

	error = plan_describe_integer(builder, &type->u.side_integer, 0, &op, &partial);
	if (error)
		return error;
	*ret_size = op.size;
	return partial ? plan_push(builder, &op) : push_scalar(builder, op.label, op.size);
}

static int plan_compile_bool(
		struct plan_builder *builder, const struct side_type *type, int64_t *ret_size)
{
	struct plan_op op = {.code = PLAN_BOOL, .label = type->type.v};
	bool partial;
	int error;

	error = plan_describe_bool(builder, &type->u.side_bool, 0, &op, &partial);
	if (error)
		return error;
	*ret_size = 1;
	return partial ? plan_push(builder, &op) : push_scalar(builder, op.label, 1);
}

static int plan_compile_float(
		struct plan_builder *builder, const struct side_type *type, int64_t *ret_size)
{
	struct plan_op op = {.code = PLAN_FLOAT16, .label = type->type.v, .width = 4};
	const struct side_type_float *description = &type->u.side_float;
	int error;

	error = plan_check_float(builder, description);
	if (error)
		return error;
	*ret_size = description->float_size == 2 ? 4 : description->float_size;
	if (description->float_size != 2)
		return push_scalar(builder, op.label, description->float_size);
	if (description->byte_order.v != SIDE_TYPE_FLOAT_WORD_ORDER_HOST)
		op.flags = PLAN_SWAP;
	return plan_push(builder, &op);
}

static int plan_compile_string(
		struct plan_builder *builder, const struct side_type *type, int64_t *ret_size)
{
	const struct side_type_string *description = &type->u.side_string;
	struct plan_op op = {.code = PLAN_STRING, .label = type->type.v};
	int error;

	error = plan_check_string(builder, description);
	if (error)
		return error;
	op.size = description->unit_size;
	if (op.size != 1)
		op.code = PLAN_WIDE_STRING;
	if (description->byte_order.v != SIDE_TYPE_BYTE_ORDER_HOST)
		op.flags = PLAN_SWAP;
	*ret_size = -1;
	return plan_push(builder, &op);
}

/* An operation with one type inside. */
static int compile_around(struct plan_builder *builder, const struct plan_op *op,
		const struct side_type *element, int64_t *ret_size)
{
	uint32_t at;
	int error;

	if (!element)
		return plan_refuse(builder, EINVAL, "its element type is missing");
	error = plan_open(builder, op, &at);
	if (!error)
		error = compile_type(builder, element, ret_size);
	if (!error)
		plan_close(builder, at);
	return error;
}

static int compile_fields(struct plan_builder *builder, const struct side_event_field *field,
		uint32_t length, int64_t *ret_size)
{
	bool top = builder->depth == 0;
	int error;

	*ret_size = 0;
	if (length && !field)
		return plan_refuse(builder, EINVAL, "its fields are missing");
	for (; length; length--, field++) {
		int64_t field_size = 0;

		if (top)
			builder->field = field;
		error = compile_type(builder, &field->side_type, &field_size);
		if (error)
			return error;
		*ret_size = plan_size_sum(*ret_size, field_size);
	}
	return 0;
}

static int plan_compile_struct(struct plan_builder *builder, const struct side_type_struct *type,
		int64_t *ret_size)
{
	struct plan_op op = {.code = PLAN_STRUCT, .label = SIDE_TYPE_STRUCT};
	uint32_t at;
	int error;

	if (!type)
		return plan_refuse(builder, EINVAL, "its structure is missing");
	op.count = side_array_length(&type->fields);
	error = plan_open(builder, &op, &at);
	if (!error)
		error = compile_fields(
				builder, side_array_elements(&type->fields), op.count, ret_size);
	if (!error)
		plan_close(builder, at);
	return error;
}

static int plan_compile_array(
		struct plan_builder *builder, const struct side_type_array *type, int64_t *ret_size)
{
	struct plan_op op = {.code = PLAN_ARRAY, .label = SIDE_TYPE_ARRAY};
	int error;

	if (!type)
		return plan_refuse(builder, EINVAL, "its array is missing");
	op.count = type->length;
	error = compile_around(builder, &op, side_ptr_get(type->elem_type), ret_size);
	*ret_size = error ? -1 : plan_size_times(*ret_size, type->length);
	return error;
}

/* The length is written as an unsigned integer of the storage size of its type. */
static int length_width(
		struct plan_builder *builder, const struct side_type *type, struct plan_op *op)
{
	struct plan_op length = {0};
	bool partial;
	int error;

	if (!type || !plan_is_integer(plan_compile_label_of(type)))
		return plan_refuse(builder, EINVAL, "its length must be an integer");
	error = plan_describe_integer(builder, &type->u.side_integer, 0, &length, &partial);
	op->width = length.size == 16 ? 8 : length.size;
	return error;
}

static int plan_compile_vla(
		struct plan_builder *builder, const struct side_type_vla *type, int64_t *ret_size)
{
	struct plan_op op = {.code = PLAN_VLA, .label = SIDE_TYPE_VLA};
	int error;

	if (!type)
		return plan_refuse(builder, EINVAL, "its VLA is missing");
	error = length_width(builder, side_ptr_get(type->length_type), &op);
	if (!error)
		error = compile_around(builder, &op, side_ptr_get(type->elem_type), ret_size);
	*ret_size = -1;
	return error;
}

static int compile_vla_visitor(struct plan_builder *builder,
		const struct side_type_vla_visitor *type, int64_t *ret_size)
{
	struct plan_op op = {.code = PLAN_VLA_VISITOR, .label = SIDE_TYPE_VLA_VISITOR};
	int error;

	if (!type)
		return plan_refuse(builder, EINVAL, "its VLA is missing");
	op.visitor = side_ptr_get(type->visitor);
	if (!op.visitor)
		return plan_refuse(builder, EINVAL, "its visitor is missing");
	error = length_width(builder, side_ptr_get(type->length_type), &op);
	if (!error)
		error = compile_around(builder, &op, side_ptr_get(type->elem_type), ret_size);
	*ret_size = -1;
	return error;
}

static int compile_optional(struct plan_builder *builder, const struct side_type_optional *type,
		int64_t *ret_size)
{
	struct plan_op op = {.code = PLAN_OPTIONAL, .label = SIDE_TYPE_OPTIONAL};
	int error;

	if (!type)
		return plan_refuse(builder, EINVAL, "its optional is missing");
	error = compile_around(builder, &op, side_ptr_get(type->elem_type), ret_size);
	*ret_size = -1;
	return error;
}

/* The selector is an operation of its own kind: its value is needed, too. */
static int push_selector(struct plan_builder *builder, const struct side_type *type)
{
	struct plan_op op = {.label = type->type.v};
	bool partial;
	int error;

	if (!plan_is_integer(plan_compile_label_of(type)))
		return plan_refuse(builder, EINVAL, "its selector must be an integer");
	error = plan_describe_integer(builder, &type->u.side_integer, 0, &op, &partial);
	if (error)
		return error;
	op.code = partial ? PLAN_INTEGER : PLAN_SELECTOR;
	return plan_push(builder, &op);
}

static int compile_variant(struct plan_builder *builder, const struct side_type_variant *type,
		int64_t *ret_size)
{
	struct plan_op op = {.code = PLAN_VARIANT, .label = SIDE_TYPE_VARIANT};
	const struct side_variant_option *option;
	uint32_t at, length;
	int error;

	if (!type)
		return plan_refuse(builder, EINVAL, "its variant is missing");
	option = side_array_elements(&type->options);
	length = side_array_length(&type->options);
	if (length && !option)
		return plan_refuse(builder, EINVAL, "its options are missing");
	error = plan_open(builder, &op, &at);
	if (!error)
		error = push_selector(builder, &type->selector);
	for (; length && !error; length--, option++) {
		struct plan_op range = {.code = PLAN_OPTION};

		range.begin = option->range_begin;
		range.end = option->range_end;
		error = compile_around(builder, &range, &option->side_type, ret_size);
	}
	if (!error)
		plan_close(builder, at);
	*ret_size = -1;
	return error;
}

static int compile_enum(
		struct plan_builder *builder, const struct side_type *element, int64_t *ret_size)
{
	if (!element || !plan_is_integer(plan_compile_label_of(element)))
		return plan_refuse(builder, EINVAL, "an enumeration needs an integer type");
	return plan_compile_integer(builder, element, ret_size);
}

static bool plan_is_bitmap_item(const struct side_type *type)
{
	return type &&
			(plan_compile_label_of(type) == SIDE_TYPE_BYTE ||
					plan_is_integer(plan_compile_label_of(type)));
}

static int compile_bitmap(
		struct plan_builder *builder, const struct side_type *element, int64_t *ret_size)
{
	const struct side_type_array *array;
	const struct side_type_vla *vla;
	bool valid = plan_is_bitmap_item(element);

	if (element && plan_compile_label_of(element) == SIDE_TYPE_ARRAY) {
		array = side_ptr_get(element->u.side_array);
		valid = array && plan_is_bitmap_item(side_ptr_get(array->elem_type));
	} else if (element && plan_compile_label_of(element) == SIDE_TYPE_VLA) {
		vla = side_ptr_get(element->u.side_vla);
		valid = vla && plan_is_bitmap_item(side_ptr_get(vla->elem_type));
	}
	if (!valid)
		return plan_refuse(builder, EINVAL,
				"a bitmap needs bytes, integers, or an array or VLA of them");
	return compile_type(builder, element, ret_size);
}

static int compile_type(
		struct plan_builder *builder, const struct side_type *type, int64_t *ret_size)
{
	const struct plan_op dynamic = {.code = PLAN_DYNAMIC};
	unsigned int label = plan_compile_label_of(type);

	switch (label) {
	case SIDE_TYPE_NULL: *ret_size = 0; return push_scalar(builder, label, 0);
	case SIDE_TYPE_BYTE: *ret_size = 1; return push_scalar(builder, label, 1);
	case SIDE_TYPE_BOOL: return plan_compile_bool(builder, type, ret_size);
	case SIDE_TYPE_POINTER: return plan_compile_integer(builder, type, ret_size);
	case SIDE_TYPE_FLOAT_BINARY16:
	case SIDE_TYPE_FLOAT_BINARY32:
	case SIDE_TYPE_FLOAT_BINARY64:
	case SIDE_TYPE_FLOAT_BINARY128: return plan_compile_float(builder, type, ret_size);
	case SIDE_TYPE_STRING_UTF8:
	case SIDE_TYPE_STRING_UTF16:
	case SIDE_TYPE_STRING_UTF32: return plan_compile_string(builder, type, ret_size);
	case SIDE_TYPE_STRUCT:
		return plan_compile_struct(builder, side_ptr_get(type->u.side_struct), ret_size);
	case SIDE_TYPE_VARIANT:
		return compile_variant(builder, side_ptr_get(type->u.side_variant), ret_size);
	case SIDE_TYPE_OPTIONAL:
		return compile_optional(builder, side_ptr_get(type->u.side_optional), ret_size);
	case SIDE_TYPE_ARRAY:
		return plan_compile_array(builder, side_ptr_get(type->u.side_array), ret_size);
	case SIDE_TYPE_VLA:
		return plan_compile_vla(builder, side_ptr_get(type->u.side_vla), ret_size);
	case SIDE_TYPE_VLA_VISITOR:
		return compile_vla_visitor(
				builder, side_ptr_get(type->u.side_vla_visitor), ret_size);
	case SIDE_TYPE_ENUM:
		return compile_enum(builder, side_ptr_get(type->u.side_enum.elem_type), ret_size);
	case SIDE_TYPE_ENUM_BITMAP:
		return compile_bitmap(builder, side_ptr_get(type->u.side_enum_bitmap.elem_type),
				ret_size);
	case SIDE_TYPE_DYNAMIC: *ret_size = -1; return plan_push(builder, &dynamic);
	default: break;
	}
	if (plan_is_integer(label))
		return plan_compile_integer(builder, type, ret_size);
	if (label >= SIDE_TYPE_GATHER_BOOL && label <= SIDE_TYPE_GATHER_ENUM)
		return plan_compile_gather(builder, type, ret_size);
	if (label >= _NR_SIDE_TYPE_LABEL)
		return plan_refuse(builder, EOPNOTSUPP, "its type is newer than this recorder");
	return plan_refuse(builder, EINVAL, "dynamic types are for arguments only");
}

static int compile_event(struct plan_builder *builder,
		const struct side_event_description *description, int64_t *ret_size)
{
	const struct plan_op end = {.code = PLAN_END};
	int error;

	if (description->struct_size < side_offsetofend(struct side_event_description,
						       side_event_description_orig_abi_last))
		return plan_refuse(builder, EINVAL, "the description is too short");
	if (description->version != SIDE_EVENT_DESCRIPTION_ABI_VERSION)
		return plan_refuse(builder, EOPNOTSUPP,
				"the description's version is newer than this recorder");
	error = compile_fields(builder, side_array_elements(&description->fields),
			side_array_length(&description->fields), ret_size);
	builder->last_at = UINT32_MAX;
	return error ? error : plan_push(builder, &end);
}

static void describe_error(const struct plan_builder *builder,
		const struct side_event_description *description, char *error, size_t error_size)
{
	const char *field = builder->field ? side_ptr_get(builder->field->field_name) : NULL;
	const char *provider = "?", *event = "?";

	if (!error)
		return;
	if (description->struct_size >= sizeof(*description)) {
		provider = side_ptr_get(description->provider_name);
		event = side_ptr_get(description->event_name);
	}
	snprintf(error, error_size, "cannot record event %.200s:%.200s%s%.200s%s: %s",
			provider ? provider : "?", event ? event : "?",
			builder->field ? ", field \"" : "", field ? field : "",
			builder->field ? "\"" : "", builder->message);
}

int plan_compile_ops(const struct side_event_description *description, struct plan_op *ops,
		uint32_t capacity, uint32_t *ret_count, int64_t *ret_size, char *error,
		size_t error_size)
{
	struct plan_builder builder = {
			.ops = ops,
			.capacity = ops ? capacity : PLAN_OPS_MAX,
			.last_at = UINT32_MAX,
	};
	int result;

	result = compile_event(&builder, description, ret_size);
	*ret_count = ops ? builder.count : builder.peak;
	if (result)
		describe_error(&builder, description, error, error_size);
	return result;
}
