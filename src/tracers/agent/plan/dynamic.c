/* SPDX-License-Identifier: MIT */
/*
 * Dynamic values into bytes: a flat list of nodes in pre-order (docs/spec/recording.md, section 7).
 *
 * A value carries its type with it, so everything is found out here and now, and checked here. The
 * depth is limited, which bounds the stack.
 */
#include "tracers/agent/plan/bytes.h"
#include "tracers/agent/plan/op.h"

enum plan_node_kind {
	NODE_NULL = 0,
	NODE_BOOLEAN = 1,
	NODE_UNSIGNED = 2, /* 2, 3, 4, 5: 8 to 64 bits */
	NODE_SIGNED = 6,   /* 6, 7, 8, 9 */
	NODE_UNSIGNED_128 = 10,
	NODE_SIGNED_128 = 11,
	NODE_BYTE = 12,
	NODE_POINTER = 13,
	NODE_FLOAT32 = 14,
	NODE_FLOAT64 = 15,
	NODE_FLOAT16 = 16,
	NODE_FLOAT128 = 17,
	NODE_STRING = 18, /* 18, 19, 20: units of 1, 2, 4 bytes */
	NODE_STRUCTURE = 21,
	NODE_ARRAY = 22,
	NODE_ATTRIBUTES = 23,
};

/* One list of nodes in the output. */
struct node_list {
	struct plan_output *output;
	uint8_t *to; /* NULL after an error */
	uint32_t count;
};

typedef side_array_t(const struct side_attr) attribute_list;

static bool write_value(struct node_list *list, unsigned int depth, const char *name,
		const struct side_arg *arg);

static bool plan_dynamic_set_error(struct node_list *list, enum plan_reason reason)
{
	list->to = plan_fail(list->output, reason);
	return false;
}

/* Advance over `size` bytes that the caller will write. NULL: no room. */
static uint8_t *plan_dynamic_reserve(struct node_list *list, size_t size)
{
	uint8_t *to = list->to;

	if (!plan_has_space(list->output, to, size)) {
		plan_dynamic_set_error(list, PLAN_REASON_TOO_BIG);
		return NULL;
	}
	list->to = to + size;
	return to;
}

static bool plan_dynamic_write_text(struct node_list *list, const void *text,
		unsigned int unit_size, unsigned int order)
{
	const uint8_t *consumed;

	if (unit_size != 1 && unit_size != 2 && unit_size != 4)
		return plan_dynamic_set_error(list, PLAN_REASON_ARGUMENT_LABEL);
	if (unit_size != 1) {
		list->to = plan_write_wide_string(list->output, text, unit_size,
				order != SIDE_TYPE_BYTE_ORDER_HOST, &consumed, list->to);
		return list->to;
	}
	list->to = plan_copy_string(list->to, list->output->end, text);
	return list->to || plan_dynamic_set_error(list, PLAN_REASON_TOO_BIG);
}

/* What is a name has nothing to be called when it is NULL; a value that is NULL shows that. */
static bool write_text_value(struct node_list *list, const void *text, unsigned int unit_size,
		unsigned int order)
{
	if (text)
		return plan_dynamic_write_text(list, text, unit_size, order);
	list->to = plan_write_null_string(list->output, list->to);
	return list->to;
}

static bool begin_node(struct node_list *list, unsigned int depth)
{
	uint8_t *to;

	if (depth > PLAN_DYNAMIC_DEPTH_MAX)
		return plan_dynamic_set_error(list, PLAN_REASON_DEPTH);
	if (list->count == UINT32_MAX)
		return plan_dynamic_set_error(list, PLAN_REASON_LENGTH);
	to = plan_dynamic_reserve(list, 1);
	if (!to)
		return false;
	*to = (uint8_t)depth;
	list->count++;
	return true;
}

/* The kind, and `size` bytes of value that the caller writes. NULL: no room. */
static uint8_t *claim_value(struct node_list *list, enum plan_node_kind kind, size_t size)
{
	uint8_t *to = plan_dynamic_reserve(list, 1 + size);

	if (!to)
		return NULL;
	*to = (uint8_t)kind;
	return to + 1;
}

/* Depth, name, kind; then the value is claimed as above. */
static uint8_t *claim_node(struct node_list *list, unsigned int depth, const char *name,
		enum plan_node_kind kind, size_t size)
{
	if (!begin_node(list, depth))
		return NULL;
	if (!plan_dynamic_write_text(list, name ? name : "", 1, 0))
		return NULL;
	return claim_value(list, kind, size);
}

static bool write_integer(struct node_list *list, unsigned int size, unsigned int bits,
		bool is_signed, bool swap, const uint8_t *from)
{
	struct plan_op op = {.size = (uint8_t)size, .bits = (uint8_t)(bits ? bits : size * 8)};
	struct plan_integer value;
	uint8_t *to;

	if (size != 1 && size != 2 && size != 4 && size != 8 && size != 16)
		return plan_dynamic_set_error(list, PLAN_REASON_ARGUMENT_LABEL);
	if (bits > size * 8)
		return plan_dynamic_set_error(list, PLAN_REASON_ARGUMENT_LABEL);
	op.flags = (is_signed ? PLAN_SIGNED : 0) | (swap ? PLAN_SWAP : 0);
	value = plan_load_integer(&op, from);
	if (size == 16) {
		to = claim_value(list, is_signed ? NODE_SIGNED_128 : NODE_UNSIGNED_128, 16);
		if (!to)
			return false;
		plan_store_64(to + SIDE_INTEGER128_SPLIT_LOW * 8, value.low);
		plan_store_64(to + SIDE_INTEGER128_SPLIT_HIGH * 8, value.high);
		return true;
	}
	to = claim_value(list,
			(is_signed ? NODE_SIGNED : NODE_UNSIGNED) +
					(unsigned int)__builtin_ctz(size),
			size);
	if (to)
		plan_store(to, value.low, size);
	return to;
}

static bool write_pointer(
		struct node_list *list, const struct side_type_integer *type, const uint8_t *from)
{
	unsigned int size = type->integer_size, bits = type->len_bits;
	struct plan_op op = {.size = (uint8_t)size, .bits = (uint8_t)(bits ? bits : size * 8)};
	struct plan_integer value;
	uint8_t *to;

	if ((size != 4 && size != 8 && size != 16) || bits > size * 8)
		return plan_dynamic_set_error(list, PLAN_REASON_ARGUMENT_LABEL);
	if (side_enum_get(type->byte_order) != SIDE_TYPE_BYTE_ORDER_HOST)
		op.flags = PLAN_SWAP;
	value = plan_load_integer(&op, from);
	if (value.high)
		return plan_dynamic_set_error(list, PLAN_REASON_LENGTH);
	to = claim_value(list, NODE_POINTER, 8);
	if (to)
		plan_store_64(to, value.low);
	return to;
}

static bool write_bool(
		struct node_list *list, const struct side_type_bool *type, const uint8_t *from)
{
	unsigned int size = type->bool_size, bits = type->len_bits;
	struct plan_op op = {.size = (uint8_t)size, .bits = (uint8_t)(bits ? bits : size * 8)};
	uint8_t *to;

	if ((size != 1 && size != 2 && size != 4 && size != 8) || bits > size * 8)
		return plan_dynamic_set_error(list, PLAN_REASON_ARGUMENT_LABEL);
	if (side_enum_get(type->byte_order) != SIDE_TYPE_BYTE_ORDER_HOST)
		op.flags = PLAN_SWAP;
	to = claim_value(list, NODE_BOOLEAN, 1);
	if (to)
		*to = size == 1 && op.bits == 8 ? *from : plan_load_integer(&op, from).low != 0;
	return to;
}

static bool write_float(struct node_list *list, unsigned int size, bool swap, const uint8_t *from)
{
	uint8_t *to;

	switch (size) {
	case 2:
		to = claim_value(list, NODE_FLOAT16, 4);
		if (to)
			plan_store_32(to, plan_widen_float16((uint16_t)plan_load(from, 2, swap)));
		return to;
	case 4:
	case 8:
		to = claim_value(list, size == 4 ? NODE_FLOAT32 : NODE_FLOAT64, size);
		if (to)
			plan_store(to, plan_load(from, size, swap), size);
		return to;
	case 16:
		to = claim_value(list, NODE_FLOAT128, 16);
		if (to) {
			plan_store_64(to, plan_load(from + (swap ? 8 : 0), 8, swap));
			plan_store_64(to + 8, plan_load(from + (swap ? 0 : 8), 8, swap));
		}
		return to;
	default: return plan_dynamic_set_error(list, PLAN_REASON_ARGUMENT_LABEL);
	}
}

static bool plan_dynamic_write_string(struct node_list *list, const void *text,
		unsigned int unit_size, unsigned int order)
{
	uint8_t *to;

	if (unit_size != 1 && unit_size != 2 && unit_size != 4)
		return plan_dynamic_set_error(list, PLAN_REASON_ARGUMENT_LABEL);
	to = plan_dynamic_reserve(list, 1);
	if (!to)
		return false;
	*to = (uint8_t)(NODE_STRING + __builtin_ctz(unit_size));
	return write_text_value(list, text, unit_size, order);
}

static bool write_attribute_value(struct node_list *list, const struct side_attr_value *value)
{
	const struct side_type_raw_string *string = &value->u.string_value;
	const uint8_t *from = (const uint8_t *)&value->u;
	unsigned int type = value->type.v;
	uint8_t *to;

	switch (type) {
	case SIDE_ATTR_TYPE_NULL: return claim_value(list, NODE_NULL, 0);
	case SIDE_ATTR_TYPE_BOOL:
		to = claim_value(list, NODE_BOOLEAN, 1);
		if (to)
			*to = *from;
		return to;
	case SIDE_ATTR_TYPE_U8:
	case SIDE_ATTR_TYPE_U16:
	case SIDE_ATTR_TYPE_U32:
	case SIDE_ATTR_TYPE_U64:
	case SIDE_ATTR_TYPE_U128:
		return write_integer(list, 1u << (type - SIDE_ATTR_TYPE_U8), 0, false, false, from);
	case SIDE_ATTR_TYPE_S8:
	case SIDE_ATTR_TYPE_S16:
	case SIDE_ATTR_TYPE_S32:
	case SIDE_ATTR_TYPE_S64:
	case SIDE_ATTR_TYPE_S128:
		return write_integer(list, 1u << (type - SIDE_ATTR_TYPE_S8), 0, true, false, from);
	case SIDE_ATTR_TYPE_FLOAT_BINARY16:
	case SIDE_ATTR_TYPE_FLOAT_BINARY32:
	case SIDE_ATTR_TYPE_FLOAT_BINARY64:
	case SIDE_ATTR_TYPE_FLOAT_BINARY128:
		return write_float(list, 2u << (type - SIDE_ATTR_TYPE_FLOAT_BINARY16), false, from);
	case SIDE_ATTR_TYPE_STRING:
		return plan_dynamic_write_string(list, side_ptr_get(string->p), string->unit_size,
				string->byte_order.v);
	default: return plan_dynamic_set_error(list, PLAN_REASON_ARGUMENT_LABEL);
	}
}

/* The attributes of the value at depth - 1: a node, present only when there are any. */
static __attribute__((noinline)) bool write_attributes(
		struct node_list *list, unsigned int depth, const void *array)
{
	const attribute_list *attributes = array;
	const struct side_attr *attribute = side_array_elements(attributes);
	uint32_t length = side_array_length(attributes), i;
	uint8_t *to;

	if (!length)
		return true;
	if (!attribute)
		return plan_dynamic_set_error(list, PLAN_REASON_NULL_POINTER);
	to = claim_node(list, depth, NULL, NODE_ATTRIBUTES, 4);
	if (!to)
		return false;
	plan_store_32(to, length);
	for (i = 0; i < length; i++, attribute++) {
		const struct side_type_raw_string *key = &attribute->key;
		const void *text = side_ptr_get(key->p);

		if (!begin_node(list, depth + 1))
			return false;
		if (!plan_dynamic_write_text(list, text ? text : "", text ? key->unit_size : 1,
				    key->byte_order.v))
			return false;
		if (!write_attribute_value(list, &attribute->value))
			return false;
	}
	return true;
}

/* A node whose fields or elements the caller writes; *ret_count is where their number goes. */
static bool begin_compound(struct node_list *list, unsigned int depth, const char *name,
		enum plan_node_kind kind, const void *attributes, uint8_t **ret_count)
{
	*ret_count = claim_node(list, depth, name, kind, 4);
	return *ret_count && write_attributes(list, depth + 1, attributes);
}

static bool plan_dynamic_write_struct(struct node_list *list, unsigned int depth, const char *name,
		const struct side_arg_dynamic_struct *fields)
{
	const struct side_arg_dynamic_field *field;
	uint32_t length, i;
	uint8_t *count;

	if (!fields)
		return plan_dynamic_set_error(list, PLAN_REASON_NULL_POINTER);
	field = side_ptr_get(fields->fields);
	length = fields->len;
	if (length && !field)
		return plan_dynamic_set_error(list, PLAN_REASON_NULL_POINTER);
	if (!begin_compound(list, depth, name, NODE_STRUCTURE, &fields->attributes, &count))
		return false;
	plan_store_32(count, length);
	for (i = 0; i < length; i++, field++) {
		if (!write_value(list, depth + 1, side_ptr_get(field->field_name), &field->elem))
			return false;
	}
	return true;
}

static bool plan_dynamic_write_vla(struct node_list *list, unsigned int depth, const char *name,
		const struct side_arg_dynamic_vla *vla)
{
	const struct side_arg *arg;
	uint32_t length, i;
	uint8_t *count;

	if (!vla)
		return plan_dynamic_set_error(list, PLAN_REASON_NULL_POINTER);
	arg = side_ptr_get(vla->sav);
	length = vla->len;
	if (length && !arg)
		return plan_dynamic_set_error(list, PLAN_REASON_NULL_POINTER);
	if (!begin_compound(list, depth, name, NODE_ARRAY, &vla->attributes, &count))
		return false;
	plan_store_32(count, length);
	for (i = 0; i < length; i++) {
		if (!write_value(list, depth + 1, NULL, arg + i))
			return false;
	}
	return true;
}

/* What an application's visitor hands back to us through its context. */
struct dynamic_visit_state {
	struct node_list *list;
	unsigned int depth; /* of the children */
	uint32_t count;
};

static enum side_visitor_status visit_child(
		struct dynamic_visit_state *state, const char *name, const struct side_arg *arg)
{
	/* After an error nothing is written any more, whatever the visitor does. */
	if (!state->list->to)
		return SIDE_VISITOR_STATUS_ERROR;
	state->count++;
	return write_value(state->list, state->depth, name, arg) ? SIDE_VISITOR_STATUS_OK
								 : SIDE_VISITOR_STATUS_ERROR;
}

static enum side_visitor_status plan_dynamic_visit_element(
		const struct side_tracer_visitor_ctx *context, const struct side_arg *arg)
{
	return visit_child(context->priv, NULL, arg);
}

static enum side_visitor_status visit_field(
		const struct side_tracer_dynamic_struct_visitor_ctx *context,
		const struct side_arg_dynamic_field *field)
{
	if (!field)
		return visit_child(context->priv, NULL, NULL);
	return visit_child(context->priv, side_ptr_get(field->field_name), &field->elem);
}

static bool end_visit(
		struct dynamic_visit_state *state, enum side_visitor_status status, uint8_t *count)
{
	if (!state->list->to)
		return false;
	if (status != SIDE_VISITOR_STATUS_OK)
		return plan_dynamic_set_error(state->list, PLAN_REASON_VISITOR);
	plan_store_32(count, state->count);
	return true;
}

static __attribute__((noinline)) bool write_struct_visitor(struct node_list *list,
		unsigned int depth, const char *name,
		const struct side_arg_dynamic_struct_visitor *argument)
{
	struct dynamic_visit_state state = {list, depth + 1, 0};
	const struct side_tracer_dynamic_struct_visitor_ctx context = {visit_field, &state};
	side_dynamic_struct_visitor_func visitor;
	uint8_t *count;

	visitor = argument ? side_ptr_get(argument->visitor) : NULL;
	if (!visitor)
		return plan_dynamic_set_error(list, PLAN_REASON_NULL_POINTER);
	if (!begin_compound(list, depth, name, NODE_STRUCTURE, &argument->attributes, &count))
		return false;
	return end_visit(&state, visitor(&context, side_ptr_get(argument->app_ctx)), count);
}

static __attribute__((noinline)) bool write_vla_visitor(struct node_list *list, unsigned int depth,
		const char *name, const struct side_arg_dynamic_vla_visitor *argument)
{
	struct dynamic_visit_state state = {list, depth + 1, 0};
	const struct side_tracer_visitor_ctx context = {plan_dynamic_visit_element, &state};
	side_visitor_func visitor;
	uint8_t *count;

	visitor = argument ? side_ptr_get(argument->visitor) : NULL;
	if (!visitor)
		return plan_dynamic_set_error(list, PLAN_REASON_NULL_POINTER);
	if (!begin_compound(list, depth, name, NODE_ARRAY, &argument->attributes, &count))
		return false;
	return end_visit(&state, visitor(&context, side_ptr_get(argument->app_ctx)), count);
}

static __attribute__((noinline)) bool write_scalar(struct node_list *list, unsigned int depth,
		const char *name, const struct side_arg *arg)
{
	const union side_arg_dynamic *u = &arg->u.side_dynamic;
	const struct side_type_integer *integer = &u->side_integer.type;
	const void *attributes = &u->side_null.attributes; /* first in every scalar type */
	uint8_t *to;
	bool done;

	if (!begin_node(list, depth) || !plan_dynamic_write_text(list, name ? name : "", 1, 0))
		return false;
	switch (arg->type.v) {
	case SIDE_TYPE_DYNAMIC_NULL: done = claim_value(list, NODE_NULL, 0); break;
	case SIDE_TYPE_DYNAMIC_BOOL:
		done = write_bool(list, &u->side_bool.type, (const uint8_t *)&u->side_bool.value);
		break;
	case SIDE_TYPE_DYNAMIC_INTEGER:
		done = write_integer(list, integer->integer_size, integer->len_bits,
				integer->signedness,
				integer->byte_order.v != SIDE_TYPE_BYTE_ORDER_HOST,
				(const uint8_t *)&u->side_integer.value);
		break;
	case SIDE_TYPE_DYNAMIC_POINTER:
		done = write_pointer(list, integer, (const uint8_t *)&u->side_integer.value);
		break;
	case SIDE_TYPE_DYNAMIC_BYTE:
		to = claim_value(list, NODE_BYTE, 1);
		if (to)
			*to = u->side_byte.value;
		done = to;
		break;
	case SIDE_TYPE_DYNAMIC_FLOAT:
		done = write_float(list, u->side_float.type.float_size,
				u->side_float.type.byte_order.v != SIDE_TYPE_FLOAT_WORD_ORDER_HOST,
				(const uint8_t *)&u->side_float.value);
		break;
	case SIDE_TYPE_DYNAMIC_STRING:
		done = plan_dynamic_write_string(list,
				(const void *)(uintptr_t)u->side_string.value,
				u->side_string.type.unit_size, u->side_string.type.byte_order.v);
		break;
	default: return plan_dynamic_set_error(list, PLAN_REASON_ARGUMENT_LABEL);
	}
	return done && write_attributes(list, depth + 1, attributes);
}

static bool write_value(struct node_list *list, unsigned int depth, const char *name,
		const struct side_arg *arg)
{
	const union side_arg_dynamic *u;

	if (!arg)
		return plan_dynamic_set_error(list, PLAN_REASON_NULL_POINTER);
	u = &arg->u.side_dynamic;
	switch (arg->type.v) {
	case SIDE_TYPE_DYNAMIC_STRUCT:
		return plan_dynamic_write_struct(
				list, depth, name, side_ptr_get(u->side_dynamic_struct));
	case SIDE_TYPE_DYNAMIC_STRUCT_VISITOR:
		return write_struct_visitor(
				list, depth, name, side_ptr_get(u->side_dynamic_struct_visitor));
	case SIDE_TYPE_DYNAMIC_VLA:
		return plan_dynamic_write_vla(list, depth, name, side_ptr_get(u->side_dynamic_vla));
	case SIDE_TYPE_DYNAMIC_VLA_VISITOR:
		return write_vla_visitor(
				list, depth, name, side_ptr_get(u->side_dynamic_vla_visitor));
	default: return write_scalar(list, depth, name, arg);
	}
}

static uint8_t *begin_list(struct node_list *list)
{
	return plan_dynamic_reserve(list, 4);
}

uint8_t *plan_write_dynamic(struct plan_output *output, const struct side_arg *arg, uint8_t *to)
{
	struct node_list list = {output, to, 0};
	uint8_t *length = begin_list(&list);

	if (!length || !write_value(&list, 0, NULL, arg))
		return NULL;
	plan_store_32(length, list.count);
	return list.to;
}

/* The variadic part of a call is one structure. */
uint8_t *plan_write_variadic(struct plan_output *output,
		const struct side_arg_dynamic_struct *fields, uint8_t *to)
{
	struct node_list list = {output, to, 0};
	uint8_t *length = begin_list(&list);

	if (!length || !plan_dynamic_write_struct(&list, 0, NULL, fields))
		return NULL;
	plan_store_32(length, list.count);
	return list.to;
}
