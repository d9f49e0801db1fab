/* SPDX-License-Identifier: MIT */
/*
 * Walks the arguments of an event by its description, except gathered and dynamic ones (other
 * files).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "abi/arguments.h"

static void abi_arguments_copy_text(char to[64], const char *word)
{
	(void)snprintf(to, 64, "%.63s", word);
}

int visit_walk_wrong_type(const struct visit_argument_walk *walk, const struct visit_step *step,
		unsigned int expected, unsigned int actual)
{
	int ret = visit_fail(walk->error, step, -EINVAL,
			"the description has the type %s (%u), the argument has %s (%u)",
			visit_label_name(expected), expected, visit_label_name(actual), actual);

	if (walk->error) {
		abi_arguments_copy_text(walk->error->expected, visit_label_name(expected));
		abi_arguments_copy_text(walk->error->found, visit_label_name(actual));
	}
	return ret;
}

int visit_walk_differs(const struct visit_argument_walk *walk, const struct visit_step *step,
		const char *what, const char *expected, const char *found)
{
	int ret = visit_fail(walk->error, step, -EINVAL, "%s", what);

	if (walk->error) {
		abi_arguments_copy_text(walk->error->expected, expected);
		abi_arguments_copy_text(walk->error->found, found);
	}
	return ret;
}

int visit_walk_wrong_number(const struct visit_argument_walk *walk, const struct visit_step *step,
		const char *what, uint32_t expected, uint32_t actual)
{
	bool is_array = what[0] == 'e'; /* `what` is "element" or "argument" */
	const char *plural = expected == 1 ? "" : "s";
	int ret = visit_fail(walk->error, step, -EINVAL,
			is_array ? "the described array has %u element%s, the argument has %u"
				 : "the description has %u field%s, the arguments are %u",
			(unsigned int)expected, plural, (unsigned int)actual);

	if (walk->error) {
		snprintf(walk->error->expected, sizeof(walk->error->expected), "%u %s%s",
				(unsigned int)expected, what, plural);
		snprintf(walk->error->found, sizeof(walk->error->found), "%u",
				(unsigned int)actual);
	}
	return ret;
}

int visit_walk_too_many(
		const struct visit_argument_walk *walk, const struct visit_step *step, size_t nr)
{
	int ret = visit_fail(walk->error, step, -E2BIG,
			"more than %u elements or fields: is the length right?",
			(unsigned int)walk->ops->parts_max);

	if (walk->error) {
		snprintf(walk->error->expected, sizeof(walk->error->expected), "at most %u",
				(unsigned int)walk->ops->parts_max);
		snprintf(walk->error->found, sizeof(walk->error->found), "%zu", nr);
	}
	return ret;
}

int visit_walk_length(const struct visit_argument_walk *walk, const struct visit_step *step,
		const struct side_type *length, uint32_t nr)
{
	unsigned int size = length->u.side_integer.integer_size;
	int ret;

	if (!walk->ops->exact || size >= sizeof(nr) || !(nr >> (8 * size)))
		return 0;
	ret = visit_fail(walk->error, step, -EINVAL, "the length %u does not fit %s",
			(unsigned int)nr, visit_label_name(length->type.v));
	if (walk->error) {
		snprintf(walk->error->expected, sizeof(walk->error->expected),
				"at most %u elements", (1u << (8 * size)) - 1);
		snprintf(walk->error->found, sizeof(walk->error->found), "%u", (unsigned int)nr);
	}
	return ret;
}

int visit_walk_check_text(const struct visit_argument_walk *walk, const struct visit_step *step,
		const void *text, unsigned int unit_size)
{
	int ret;

	if (!text || !walk->ops->readable_text ||
			walk->ops->readable_text(walk->priv, text, unit_size))
		return 0;
	ret = visit_fail(walk->error, step, -EFAULT,
			"the string at %p cannot be read up to its end", text);
	if (walk->error) {
		abi_arguments_copy_text(walk->error->expected, "a string that ends");
		snprintf(walk->error->found, sizeof(walk->error->found), "%p", text);
	}
	return ret;
}

int visit_walk_value(const struct visit_argument_walk *walk, const struct visit_location *location,
		const struct visit_step *step, const struct visit_value *value,
		struct visit_attributes attributes)
{
	int ret = 0;

	if (value->kind == VISIT_STRING)
		ret = visit_walk_check_text(walk, step, value->text.at, value->text.unit_size);
	return ret ? ret : WALK_CALL(walk, value, location, value, attributes);
}

int visit_walk_check_memory(const struct visit_argument_walk *walk, const struct visit_step *step,
		const void *address, size_t nr, size_t size)
{
	int ret;

	if (!nr)
		return 0;
	/* A corrupt length must not make the walk take minutes. */
	if (walk->ops->parts_max && nr > walk->ops->parts_max)
		return visit_walk_too_many(walk, step, nr);
	if (!walk->ops->readable || walk->ops->readable(walk->priv, address, nr * size))
		return 0;
	ret = visit_fail(walk->error, step, -EFAULT, "the memory at %p cannot be read", address);
	if (walk->error) {
		abi_arguments_copy_text(walk->error->expected, "memory that can be read");
		snprintf(walk->error->found, sizeof(walk->error->found), "%p (%zu bytes)", address,
				nr * size);
	}
	return ret;
}

int visit_walk_enter(const struct visit_argument_walk *walk, const struct visit_location *location,
		const struct visit_step *step, const struct side_type *type,
		struct visit_location *ret_inner)
{
	if (location->depth >= VISIT_DEPTH_MAX)
		return visit_fail(walk->error, step, -ELOOP, "values are nested more than %u deep",
				VISIT_DEPTH_MAX);
	*ret_inner = *location;
	ret_inner->depth++;
	ret_inner->type = type;
	return 0;
}

static int abi_arguments_walk_scalar(const struct visit_argument_walk *walk,
		const struct visit_location *location, const struct visit_step *step,
		const struct side_type *type, const struct side_arg *arg)
{
	struct visit_value value;

	if (visit_load_argument(type, arg, &value))
		return visit_fail(walk->error, step, -EINVAL, "the type %s has an impossible size",
				visit_label_name(type->type.v));
	return visit_walk_value(walk, location, step, &value, visit_type_attributes(type));
}

/* Walks the fields of the event or of a struct. */
static int abi_arguments_walk_fields(const struct visit_argument_walk *walk,
		const struct visit_location *location, const struct visit_step *up,
		const struct side_event_field *fields, uint32_t nr, const struct side_arg_vec *args)
{
	const struct side_arg *sav;
	uint32_t i, nr_args;
	int ret = args ? visit_walk_check_memory(walk, up, args, 1, sizeof(*args)) : 0;

	if (ret)
		return ret;
	sav = args ? side_ptr_get(args->sav) : NULL;
	nr_args = args ? args->len : 0;
	if (nr != nr_args)
		return visit_walk_wrong_number(walk, up, "argument", nr, nr_args);
	if (nr && !sav)
		return visit_fail(walk->error, up, -EFAULT, "the argument list is NULL");
	ret = visit_walk_check_memory(walk, up, sav, nr, sizeof(*sav));
	for (i = 0; !ret && i < nr; i++) {
		struct visit_step step = {
				.up = up,
				.kind = VISIT_STEP_FIELD,
				.name = side_ptr_get(fields[i].field_name),
		};
		struct visit_location field = *location;

		field.type = &fields[i].side_type;
		field.index = i;
		field.name = step.name;
		ret = visit_walk_spend(walk, &step);
		if (!ret)
			ret = WALK_CALL(walk, field_begin, &field);
		if (!ret)
			ret = visit_walk_argument(
					walk, &field, &step, &fields[i].side_type, &sav[i]);
		if (!ret)
			ret = WALK_CALL(walk, field_end, &field);
		ret = visit_walk_after_field(walk, &field, ret);
	}
	return ret;
}

static int abi_arguments_walk_struct(const struct visit_argument_walk *walk,
		const struct visit_location *location, const struct visit_step *up,
		const struct side_type *type, const struct side_arg *arg)
{
	const struct side_type_struct *structure = side_ptr_get(type->u.side_struct);
	struct visit_step step = {.up = up, .kind = VISIT_STEP_WORD, .name = "struct:"};
	uint32_t nr = side_array_length(&structure->fields);
	struct visit_location inner;
	int ret = visit_walk_enter(walk, location, &step, type, &inner);

	if (!ret && !side_ptr_get(arg->u.side_static.side_struct))
		ret = visit_fail(walk->error, &step, -EFAULT, "the structure argument is NULL");
	if (!ret)
		ret = WALK_CALL(walk, struct_begin, location,
				visit_attributes_of(&structure->attributes), nr);
	if (!ret)
		ret = abi_arguments_walk_fields(walk, &inner, &step,
				side_array_elements(&structure->fields), nr,
				side_ptr_get(arg->u.side_static.side_struct));
	return ret ? ret : WALK_CALL(walk, struct_end, location, nr);
}

static int abi_arguments_walk_element(const struct visit_argument_walk *walk,
		const struct visit_location *inner, const struct visit_step *up, uint32_t index,
		const struct side_type *type, const struct side_arg *arg)
{
	struct visit_step step = {.up = up, .kind = VISIT_STEP_INDEX, .index = index};
	struct visit_location location = *inner;
	int ret;

	location.type = type;
	location.index = index;
	location.name = NULL;
	ret = visit_walk_spend(walk, &step);
	if (!ret)
		ret = WALK_CALL(walk, element_begin, &location);
	if (!ret)
		ret = visit_walk_argument(walk, &location, &step, type, arg);
	return ret ? ret : WALK_CALL(walk, element_end, &location);
}

/* Walks an array (expected is its length) or a VLA (expected is VISIT_LENGTH_UNKNOWN). */
static int abi_arguments_walk_vec(const struct visit_argument_walk *walk,
		const struct visit_location *location, const struct visit_step *step,
		const struct side_type *type, const struct side_type *elem,
		struct visit_attributes attributes, uint32_t expected,
		const struct side_arg_vec *vec)
{
	const struct side_arg *sav;
	struct visit_location inner;
	uint32_t i, nr;
	int ret = visit_walk_enter(walk, location, step, type, &inner);

	if (ret)
		return ret;
	if (!vec)
		return visit_fail(walk->error, step, -EFAULT, "the %s argument is NULL",
				visit_label_name(type->type.v));
	ret = visit_walk_check_memory(walk, step, vec, 1, sizeof(*vec));
	if (ret)
		return ret;
	nr = vec->len;
	sav = side_ptr_get(vec->sav);
	if (side_enum_get(type->type) == SIDE_TYPE_ARRAY && nr != expected)
		return visit_walk_wrong_number(walk, step, "element", expected, nr);
	if (nr && !sav)
		return visit_fail(walk->error, step, -EFAULT, "the element list is NULL");
	ret = visit_walk_check_memory(walk, step, sav, nr, sizeof(*sav));
	if (!ret && side_enum_get(type->type) == SIDE_TYPE_VLA)
		ret = visit_walk_length(walk, step,
				side_ptr_get(side_ptr_get(type->u.side_vla)->length_type), nr);
	if (!ret)
		ret = WALK_CALL(walk, array_begin, location, attributes, nr);
	for (i = 0; !ret && i < nr; i++)
		ret = abi_arguments_walk_element(walk, &inner, step, i, elem, &sav[i]);
	return ret ? ret : WALK_CALL(walk, array_end, location, nr);
}

/* ---- visitors of the application ---- */

struct element_writer {
	/* the visitor of the application gets it; `priv` is this struct */
	struct side_tracer_visitor_ctx ctx;
	const struct visit_argument_walk *walk;
	const struct visit_location *inner;
	const struct visit_step *step;
	const struct side_type *elem;
	uint32_t nr;
	int ret; /* the first error of the walk; not replaced by later ones */
};

static enum side_visitor_status abi_arguments_write_element(
		const struct side_tracer_visitor_ctx *ctx, const struct side_arg *elem)
{
	struct element_writer *writer = ctx->priv;

	if (writer->ret)
		return SIDE_VISITOR_STATUS_ERROR;
	if (!elem)
		writer->ret = visit_fail(writer->walk->error, writer->step, -EFAULT,
				"the visitor wrote a NULL element");
	else if (writer->nr == VISIT_LENGTH_UNKNOWN - 1)
		writer->ret = visit_fail(writer->walk->error, writer->step, -EINVAL,
				"the visitor wrote too many elements");
	else
		writer->ret = abi_arguments_walk_element(writer->walk, writer->inner, writer->step,
				writer->nr++, writer->elem, elem);
	return writer->ret ? SIDE_VISITOR_STATUS_ERROR : SIDE_VISITOR_STATUS_OK;
}

static int abi_arguments_walk_vla_visitor(const struct visit_argument_walk *walk,
		const struct visit_location *location, const struct visit_step *step,
		const struct side_type *type, const struct side_arg *arg)
{
	const struct side_type_vla_visitor *visitor = side_ptr_get(type->u.side_vla_visitor);
	const struct side_arg_vla_visitor *app_arg =
			side_ptr_get(arg->u.side_static.side_vla_visitor);
	struct visit_location inner;
	struct element_writer writer = {
			.ctx = {.write_elem = abi_arguments_write_element, .priv = &writer},
			.walk = walk,
			.inner = &inner,
			.step = step,
			.elem = side_ptr_get(visitor->elem_type),
	};
	int ret = visit_walk_enter(walk, location, step, type, &inner);

	if (ret)
		return ret;
	if (!app_arg || !side_ptr_get(visitor->visitor))
		return visit_fail(walk->error, step, -EFAULT, "the visitor %s is NULL",
				app_arg ? "function" : "argument");
	ret = visit_walk_check_memory(walk, step, app_arg, 1, sizeof(*app_arg));
	if (!ret)
		ret = WALK_CALL(walk, array_begin, location,
				visit_attributes_of(&visitor->attributes), VISIT_LENGTH_UNKNOWN);
	if (ret)
		return ret;
	if (side_ptr_get(visitor->visitor)(&writer.ctx, side_ptr_get(app_arg->app_ctx)) !=
					SIDE_VISITOR_STATUS_OK &&
			!writer.ret)
		return visit_walk_differs(walk, step, "the visitor returned an error",
				"SIDE_VISITOR_STATUS_OK", "SIDE_VISITOR_STATUS_ERROR");
	if (!writer.ret)
		writer.ret = visit_walk_length(
				walk, step, side_ptr_get(visitor->length_type), writer.nr);
	return writer.ret ? writer.ret : WALK_CALL(walk, array_end, location, writer.nr);
}

/* ---- the other compounds ---- */

static int abi_arguments_walk_optional(const struct visit_argument_walk *walk,
		const struct visit_location *location, const struct visit_step *up,
		const struct side_type *type, const struct side_arg *arg)
{
	const struct side_type_optional *optional = side_ptr_get(type->u.side_optional);
	const struct side_arg_optional *value = side_ptr_get(arg->u.side_static.side_optional);
	struct visit_step step = {.up = up, .kind = VISIT_STEP_WORD, .name = "optional"};
	struct visit_location inner;
	int ret = visit_walk_enter(walk, location, &step, type, &inner);

	if (ret)
		return ret;
	if (!value)
		return visit_fail(walk->error, &step, -EFAULT, "the optional argument is NULL");
	ret = visit_walk_check_memory(walk, &step, value, 1, sizeof(*value));
	if (ret)
		return ret;
	inner.type = side_ptr_get(optional->elem_type);
	ret = WALK_CALL(walk, optional_begin, location, visit_attributes_of(&optional->attributes),
			value->selector != SIDE_OPTIONAL_DISABLED);
	if (!ret && value->selector != SIDE_OPTIONAL_DISABLED)
		ret = visit_walk_argument(walk, &inner, &step, inner.type, &value->side_static);
	return ret ? ret : WALK_CALL(walk, optional_end, location);
}

static int abi_arguments_walk_variant(const struct visit_argument_walk *walk,
		const struct visit_location *location, const struct visit_step *up,
		const struct side_type *type, const struct side_arg *arg)
{
	const struct side_type_variant *variant = side_ptr_get(type->u.side_variant);
	const struct side_arg_variant *chosen = side_ptr_get(arg->u.side_static.side_variant);
	struct visit_step step = {.up = up, .kind = VISIT_STEP_WORD, .name = "variant"};
	struct visit_value selector;
	struct visit_location inner;
	int64_t option;
	int ret = visit_walk_enter(walk, location, &step, type, &inner);

	if (ret)
		return ret;
	if (!chosen)
		return visit_fail(walk->error, &step, -EFAULT, "the variant argument is NULL");
	ret = visit_walk_check_memory(walk, &step, chosen, 1, sizeof(*chosen));
	if (ret)
		return ret;
	if (chosen->selector.type.v != variant->selector.type.v) {
		step.name = "selector";
		return visit_walk_wrong_type(
				walk, &step, variant->selector.type.v, chosen->selector.type.v);
	}
	if (visit_load_argument(&variant->selector, &chosen->selector, &selector))
		return visit_fail(
				walk->error, &step, -EINVAL, "the selector has an impossible size");
	option = visit_variant_option(variant, &selector);
	if (option < 0) {
		char digits[VISIT_DIGITS_MAX];

		visit_value_digits(&selector, 10, false, digits);
		ret = visit_fail(walk->error, &step, -EINVAL, "no option for the selector %s",
				digits);
		if (walk->error) {
			abi_arguments_copy_text(
					walk->error->expected, "a selector that has an option");
			abi_arguments_copy_text(walk->error->found, digits);
		}
		return ret;
	}
	inner.type = &side_array_at(&variant->options, option)->side_type;
	ret = WALK_CALL(walk, variant_begin, location, visit_attributes_of(&variant->attributes),
			&selector, (uint32_t)option);
	if (!ret)
		ret = visit_walk_argument(walk, &inner, &step, inner.type, &chosen->option);
	return ret ? ret : WALK_CALL(walk, variant_end, location);
}

static int abi_arguments_walk_enum(const struct visit_argument_walk *walk,
		const struct visit_location *location, const struct visit_step *step,
		const struct side_type *type, const struct side_arg *arg)
{
	const struct side_enum_mappings *mappings = side_ptr_get(type->u.side_enum.mappings);
	const struct side_type *elem = side_ptr_get(type->u.side_enum.elem_type);
	struct visit_value value;
	int ret;

	if (arg->type.v != elem->type.v)
		return visit_walk_wrong_type(walk, step, elem->type.v, arg->type.v);
	if (visit_load_argument(elem, arg, &value))
		return visit_fail(walk->error, step, -EINVAL, "the type %s has an impossible size",
				visit_label_name(elem->type.v));
	ret = WALK_CALL(walk, enum_begin, location, visit_attributes_of(&mappings->attributes));
	if (!ret)
		ret = WALK_CALL(walk, value, location, &value, visit_type_attributes(elem));
	return ret ? ret : WALK_CALL(walk, enum_end, location, mappings, &value);
}

static int abi_arguments_walk_bitmap(const struct visit_argument_walk *walk,
		const struct visit_location *location, const struct visit_step *step,
		const struct side_type *type, const struct side_arg *arg)
{
	const struct side_type *elem = side_ptr_get(type->u.side_enum_bitmap.elem_type);
	struct visit_bitmap bitmap = {.item_type = elem, .items = arg, .nr_items = 1};
	const struct side_arg_vec *vec;
	uint32_t i;
	int ret = 0;

	if (arg->type.v != elem->type.v)
		return visit_walk_wrong_type(walk, step, elem->type.v, arg->type.v);
	if (side_enum_get(elem->type) == SIDE_TYPE_ARRAY ||
			side_enum_get(elem->type) == SIDE_TYPE_VLA) {
		vec = side_ptr_get(arg->u.side_static.side_array); /* a VLA has the same offset */
		if (vec && visit_walk_check_memory(walk, step, vec, 1, sizeof(*vec)))
			return -EFAULT;
		if (!vec || (vec->len && !side_ptr_get(vec->sav)))
			return visit_fail(walk->error, step, -EFAULT, "the items are NULL");
		bitmap.items = side_ptr_get(vec->sav);
		bitmap.nr_items = vec->len;
		if (side_enum_get(elem->type) == SIDE_TYPE_ARRAY) {
			const struct side_type_array *array = side_ptr_get(elem->u.side_array);

			if (vec->len != array->length)
				return visit_walk_wrong_number(
						walk, step, "element", array->length, vec->len);
			bitmap.item_type = side_ptr_get(array->elem_type);
		} else {
			const struct side_type_vla *vla = side_ptr_get(elem->u.side_vla);

			bitmap.item_type = side_ptr_get(vla->elem_type);
			ret = visit_walk_length(
					walk, step, side_ptr_get(vla->length_type), vec->len);
		}
		if (!ret)
			ret = visit_walk_check_memory(walk, step, bitmap.items, bitmap.nr_items,
					sizeof(struct side_arg));
		if (ret)
			return ret;
	}
	for (i = 0; i < bitmap.nr_items; i++) {
		struct visit_step item = {.up = step, .kind = VISIT_STEP_INDEX, .index = i};

		if (visit_walk_spend(walk, &item))
			return -E2BIG;
		if (bitmap.items[i].type.v != bitmap.item_type->type.v)
			return visit_walk_wrong_type(walk, &item, bitmap.item_type->type.v,
					bitmap.items[i].type.v);
	}
	return WALK_CALL(walk, bitmap, location, side_ptr_get(type->u.side_enum_bitmap.mappings),
			&bitmap);
}

static int abi_arguments_walk_gather(const struct visit_argument_walk *walk,
		const struct visit_location *location, const struct visit_step *step,
		const struct side_type *type, const struct side_arg *arg)
{
	/*
	 * In struct side_arg, the base pointer of all gather types has the same offset; a gather
	 * VLA has a second one, for its length.
	 */
	const void *base = side_ptr_get(arg->u.side_static.side_vla_gather.ptr);
	const void *length_base = NULL;

	if (side_enum_get(type->type) == SIDE_TYPE_GATHER_VLA)
		length_base = side_ptr_get(arg->u.side_static.side_vla_gather.length_ptr);
	return visit_walk_gather(walk, location, step, type, base, length_base);
}

int visit_walk_argument(const struct visit_argument_walk *walk,
		const struct visit_location *location, const struct visit_step *step,
		const struct side_type *type, const struct side_arg *arg)
{
	unsigned int type_code = type->type.v, actual = arg->type.v;

	switch (type_code) {
	case SIDE_TYPE_ENUM: return abi_arguments_walk_enum(walk, location, step, type, arg);
	case SIDE_TYPE_ENUM_BITMAP:
		return abi_arguments_walk_bitmap(walk, location, step, type, arg);
	case SIDE_TYPE_DYNAMIC:
		if (!visit_label_is_dynamic(actual))
			return visit_walk_wrong_type(walk, step, type_code, actual);
		return visit_walk_dynamic(walk, location, step, arg);
	case SIDE_TYPE_GATHER_ENUM:
		if (actual != SIDE_TYPE_GATHER_INTEGER)
			return visit_walk_wrong_type(walk, step, SIDE_TYPE_GATHER_INTEGER, actual);
		return abi_arguments_walk_gather(walk, location, step, type, arg);
	default: break;
	}
	if (actual != type_code)
		return visit_walk_wrong_type(walk, step, type_code, actual);
	switch (type_code) {
	case SIDE_TYPE_STRUCT: return abi_arguments_walk_struct(walk, location, step, type, arg);
	case SIDE_TYPE_VARIANT: return abi_arguments_walk_variant(walk, location, step, type, arg);
	case SIDE_TYPE_OPTIONAL:
		return abi_arguments_walk_optional(walk, location, step, type, arg);
	case SIDE_TYPE_ARRAY:
		return abi_arguments_walk_vec(walk, location, step, type,
				side_ptr_get(side_ptr_get(type->u.side_array)->elem_type),
				visit_type_attributes(type),
				side_ptr_get(type->u.side_array)->length,
				side_ptr_get(arg->u.side_static.side_array));
	case SIDE_TYPE_VLA:
		return abi_arguments_walk_vec(walk, location, step, type,
				side_ptr_get(side_ptr_get(type->u.side_vla)->elem_type),
				visit_type_attributes(type), VISIT_LENGTH_UNKNOWN,
				side_ptr_get(arg->u.side_static.side_vla));
	case SIDE_TYPE_VLA_VISITOR:
		return abi_arguments_walk_vla_visitor(walk, location, step, type, arg);
	default:
		if (visit_label_is_gather(type_code))
			return abi_arguments_walk_gather(walk, location, step, type, arg);
		return abi_arguments_walk_scalar(walk, location, step, type, arg);
	}
}

int visit_arguments(const struct side_event_description *desc, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *variadic,
		const struct visit_argument_ops *ops, void *priv, struct visit_error *error)
{
	uint32_t parts = 0;
	struct visit_argument_walk walk = {
			.ops = ops, .priv = priv, .error = error, .parts = &parts};
	struct visit_location location = {.desc = desc};
	struct visit_step step = {
			.kind = VISIT_STEP_EVENT,
			.name = side_ptr_get(desc->provider_name),
			.name2 = side_ptr_get(desc->event_name),
	};
	uint32_t nr = side_array_length(&desc->fields);
	bool is_variadic = desc->flags & SIDE_EVENT_FLAG_VARIADIC;
	int ret;

	if (is_variadic && !variadic)
		return visit_fail(error, &step, -EFAULT, "the variadic part is NULL");
	if (is_variadic && visit_walk_check_memory(&walk, &step, variadic, 1, sizeof(*variadic)))
		return -EFAULT;
	ret = WALK_CALL(&walk, event_begin, &location);
	if (!ret && nr)
		ret = WALK_CALL(&walk, fields_begin, &location, nr);
	if (!ret)
		ret = abi_arguments_walk_fields(&walk, &location, &step,
				side_array_elements(&desc->fields), nr, args);
	if (!ret && nr)
		ret = WALK_CALL(&walk, fields_end, &location);
	if (!ret && is_variadic)
		ret = visit_walk_variadic(&walk, &location, &step, variadic);
	return ret ? ret : WALK_CALL(&walk, event_end, &location);
}
