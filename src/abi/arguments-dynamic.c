/* SPDX-License-Identifier: MIT */
/* Walks arguments that carry their types: dynamic values and the variadic part of an event. */
#include <errno.h>

#include "abi/arguments.h"

/*
 * A dynamic value was not checked at registration, so its attributes and sizes are checked here,
 * before they are read.
 */
static int arguments_dynamic_check_attributes(const struct visit_argument_walk *walk,
		const struct visit_step *step, struct visit_attributes attributes)
{
	uint32_t i;
	int ret;

	if (attributes.nr && !attributes.attr)
		return visit_fail(walk->error, step, -EFAULT, "the attribute list is NULL");
	ret = visit_walk_check_memory(
			walk, step, attributes.attr, attributes.nr, sizeof(*attributes.attr));
	for (i = 0; !ret && i < attributes.nr; i++) {
		const struct side_attr *attr = &attributes.attr[i];
		unsigned int unit = attr->key.unit_size;
		bool wrong = !side_ptr_get(attr->key.p) || attr->value.type.v >= _NR_SIDE_ATTR_TYPE;

		wrong |= unit != 1 && unit != 2 && unit != 4;
		if (attr->value.type.v == SIDE_ATTR_TYPE_STRING) {
			unit = attr->value.u.string_value.unit_size;
			wrong |= unit != 1 && unit != 2 && unit != 4;
		}
		if (wrong)
			return visit_fail(walk->error, step, -EINVAL,
					"attribute %u has no key, an unknown type or unit size",
					(unsigned int)i);
		ret = visit_walk_spend(walk, step);
		if (!ret)
			ret = visit_walk_check_text(
					walk, step, side_ptr_get(attr->key.p), attr->key.unit_size);
		if (!ret && attr->value.type.v == SIDE_ATTR_TYPE_STRING)
			ret = visit_walk_check_text(walk, step,
					side_ptr_get(attr->value.u.string_value.p), unit);
	}
	return ret;
}

static struct visit_attributes arguments_dynamic_scalar_attributes(const struct side_arg *arg)
{
	const union side_arg_dynamic *u = &arg->u.side_dynamic;

	/* All type structs begin with their attributes. */
	return visit_attributes_of(&u->side_null.attributes);
}
_Static_assert(!offsetof(struct side_type_null, attributes) &&
				!offsetof(struct side_type_bool, attributes) &&
				!offsetof(struct side_type_byte, attributes) &&
				!offsetof(struct side_type_string, attributes) &&
				!offsetof(struct side_type_integer, attributes) &&
				!offsetof(struct side_type_float, attributes),
		"attributes come first");

static int abi_arguments_dynamic_walk_scalar(const struct visit_argument_walk *walk,
		const struct visit_location *location, const struct visit_step *step,
		const struct side_arg *arg)
{
	struct visit_attributes attributes = arguments_dynamic_scalar_attributes(arg);
	struct visit_value value;
	int ret = arguments_dynamic_check_attributes(walk, step, attributes);

	if (ret)
		return ret;
	if (visit_load_dynamic(arg, &value))
		return visit_fail(walk->error, step, -EINVAL, "the value %s has an impossible size",
				visit_label_name(arg->type.v));
	return visit_walk_value(walk, location, step, &value, attributes);
}

static int arguments_dynamic_walk_field(const struct visit_argument_walk *walk,
		const struct visit_location *inner, const struct visit_step *up, uint32_t index,
		const struct side_arg_dynamic_field *field)
{
	struct visit_step step = {
			.up = up,
			.kind = VISIT_STEP_FIELD,
			.name = side_ptr_get(field->field_name),
	};
	struct visit_location location = *inner;
	int ret;

	if (!step.name)
		return visit_fail(walk->error, up, -EFAULT, "the name of field %u is NULL",
				(unsigned int)index);
	/* Check the name first: an error would print it in its path. */
	ret = visit_walk_check_text(walk, up, step.name, 1);
	if (!ret)
		ret = visit_walk_spend(walk, &step);
	if (ret)
		return ret;
	location.index = index;
	location.name = step.name;
	ret = WALK_CALL(walk, field_begin, &location);
	if (!ret)
		ret = visit_walk_dynamic(walk, &location, &step, &field->elem);
	if (!ret)
		ret = WALK_CALL(walk, field_end, &location);
	return visit_walk_after_field(walk, &location, ret);
}

static int abi_arguments_dynamic_walk_element(const struct visit_argument_walk *walk,
		const struct visit_location *inner, const struct visit_step *up, uint32_t index,
		const struct side_arg *elem)
{
	struct visit_step step = {.up = up, .kind = VISIT_STEP_INDEX, .index = index};
	struct visit_location location = *inner;
	int ret;

	location.index = index;
	location.name = NULL;
	ret = visit_walk_spend(walk, &step);
	if (!ret)
		ret = WALK_CALL(walk, element_begin, &location);
	if (!ret)
		ret = visit_walk_dynamic(walk, &location, &step, elem);
	return ret ? ret : WALK_CALL(walk, element_end, &location);
}

static int abi_arguments_dynamic_walk_fields(const struct visit_argument_walk *walk,
		const struct visit_location *inner, const struct visit_step *step,
		const struct side_arg_dynamic_field *fields, uint32_t nr)
{
	uint32_t i;
	int ret = 0;

	if (nr && !fields)
		return visit_fail(walk->error, step, -EFAULT, "the field list is NULL");
	ret = visit_walk_check_memory(walk, step, fields, nr, sizeof(*fields));
	for (i = 0; !ret && i < nr; i++)
		ret = arguments_dynamic_walk_field(walk, inner, step, i, &fields[i]);
	return ret;
}

static int abi_arguments_dynamic_walk_struct(const struct visit_argument_walk *walk,
		const struct visit_location *location, const struct visit_location *inner,
		const struct visit_step *step, const struct side_arg_dynamic_struct *value)
{
	int ret;

	if (!value)
		return visit_fail(walk->error, step, -EFAULT, "the structure argument is NULL");
	ret = visit_walk_check_memory(walk, step, value, 1, sizeof(*value));
	if (!ret)
		ret = arguments_dynamic_check_attributes(
				walk, step, visit_attributes_of(&value->attributes));
	if (!ret)
		ret = WALK_CALL(walk, struct_begin, location,
				visit_attributes_of(&value->attributes), value->len);
	if (!ret)
		ret = abi_arguments_dynamic_walk_fields(
				walk, inner, step, side_ptr_get(value->fields), value->len);
	return ret ? ret : WALK_CALL(walk, struct_end, location, value->len);
}

static int arguments_dynamic_walk_vla(const struct visit_argument_walk *walk,
		const struct visit_location *location, const struct visit_location *inner,
		const struct visit_step *step, const struct side_arg_dynamic_vla *value)
{
	uint32_t i;
	int ret;

	if (value && visit_walk_check_memory(walk, step, value, 1, sizeof(*value)))
		return -EFAULT;
	if (!value || (value->len && !side_ptr_get(value->sav)))
		return visit_fail(walk->error, step, -EFAULT, "the element list is NULL");
	ret = visit_walk_check_memory(
			walk, step, side_ptr_get(value->sav), value->len, sizeof(struct side_arg));
	if (!ret)
		ret = arguments_dynamic_check_attributes(
				walk, step, visit_attributes_of(&value->attributes));
	if (!ret)
		ret = WALK_CALL(walk, array_begin, location,
				visit_attributes_of(&value->attributes), value->len);
	for (i = 0; !ret && i < value->len; i++)
		ret = abi_arguments_dynamic_walk_element(
				walk, inner, step, i, &side_ptr_get(value->sav)[i]);
	return ret ? ret : WALK_CALL(walk, array_end, location, value->len);
}

/* ---- visitors of the application ---- */

/* The context for the functions that the application calls back. */
struct dynamic_writer {
	const struct visit_argument_walk *walk;
	const struct visit_location *inner;
	const struct visit_step *step;
	uint32_t nr;
	int ret; /* the first error of the walk; not replaced by later ones */
};

static bool arguments_dynamic_may_write(struct dynamic_writer *writer, const void *thing)
{
	if (writer->ret)
		return false;
	if (!thing)
		writer->ret = visit_fail(writer->walk->error, writer->step, -EFAULT,
				"the visitor wrote a NULL pointer");
	else if (writer->nr == VISIT_LENGTH_UNKNOWN - 1)
		writer->ret = visit_fail(writer->walk->error, writer->step, -EINVAL,
				"the visitor wrote too many elements");
	return !writer->ret;
}

static enum side_visitor_status arguments_dynamic_write_element(
		const struct side_tracer_visitor_ctx *ctx, const struct side_arg *elem)
{
	struct dynamic_writer *writer = ctx->priv;

	if (arguments_dynamic_may_write(writer, elem))
		writer->ret = abi_arguments_dynamic_walk_element(
				writer->walk, writer->inner, writer->step, writer->nr++, elem);
	return writer->ret ? SIDE_VISITOR_STATUS_ERROR : SIDE_VISITOR_STATUS_OK;
}

static enum side_visitor_status arguments_dynamic_write_field(
		const struct side_tracer_dynamic_struct_visitor_ctx *ctx,
		const struct side_arg_dynamic_field *field)
{
	struct dynamic_writer *writer = ctx->priv;

	if (arguments_dynamic_may_write(writer, field))
		writer->ret = arguments_dynamic_walk_field(
				writer->walk, writer->inner, writer->step, writer->nr++, field);
	return writer->ret ? SIDE_VISITOR_STATUS_ERROR : SIDE_VISITOR_STATUS_OK;
}

static int arguments_dynamic_finish_visitor(
		const struct dynamic_writer *writer, enum side_visitor_status status)
{
	if (writer->ret)
		return writer->ret;
	if (status != SIDE_VISITOR_STATUS_OK)
		return visit_walk_differs(writer->walk, writer->step,
				"the visitor returned an error", "SIDE_VISITOR_STATUS_OK",
				"SIDE_VISITOR_STATUS_ERROR");
	return 0;
}

static int abi_arguments_dynamic_walk_struct_visitor(const struct visit_argument_walk *walk,
		const struct visit_location *location, const struct visit_location *inner,
		const struct visit_step *step,
		const struct side_arg_dynamic_struct_visitor *visitor)
{
	struct dynamic_writer writer = {.walk = walk, .inner = inner, .step = step};
	struct side_tracer_dynamic_struct_visitor_ctx ctx = {
			.write_field = arguments_dynamic_write_field,
			.priv = &writer,
	};
	int ret;

	if (visitor && visit_walk_check_memory(walk, step, visitor, 1, sizeof(*visitor)))
		return -EFAULT;
	if (!visitor || !side_ptr_get(visitor->visitor))
		return visit_fail(walk->error, step, -EFAULT, "the visitor is NULL");
	ret = arguments_dynamic_check_attributes(
			walk, step, visit_attributes_of(&visitor->attributes));
	if (!ret)
		ret = WALK_CALL(walk, struct_begin, location,
				visit_attributes_of(&visitor->attributes), VISIT_LENGTH_UNKNOWN);
	if (!ret)
		ret = arguments_dynamic_finish_visitor(&writer,
				side_ptr_get(visitor->visitor)(
						&ctx, side_ptr_get(visitor->app_ctx)));
	return ret ? ret : WALK_CALL(walk, struct_end, location, writer.nr);
}

static int abi_arguments_dynamic_walk_vla_visitor(const struct visit_argument_walk *walk,
		const struct visit_location *location, const struct visit_location *inner,
		const struct visit_step *step, const struct side_arg_dynamic_vla_visitor *visitor)
{
	struct dynamic_writer writer = {.walk = walk, .inner = inner, .step = step};
	struct side_tracer_visitor_ctx ctx = {
			.write_elem = arguments_dynamic_write_element, .priv = &writer};
	int ret;

	if (visitor && visit_walk_check_memory(walk, step, visitor, 1, sizeof(*visitor)))
		return -EFAULT;
	if (!visitor || !side_ptr_get(visitor->visitor))
		return visit_fail(walk->error, step, -EFAULT, "the visitor is NULL");
	ret = arguments_dynamic_check_attributes(
			walk, step, visit_attributes_of(&visitor->attributes));
	if (!ret)
		ret = WALK_CALL(walk, array_begin, location,
				visit_attributes_of(&visitor->attributes), VISIT_LENGTH_UNKNOWN);
	if (!ret)
		ret = arguments_dynamic_finish_visitor(&writer,
				side_ptr_get(visitor->visitor)(
						&ctx, side_ptr_get(visitor->app_ctx)));
	return ret ? ret : WALK_CALL(walk, array_end, location, writer.nr);
}

int visit_walk_dynamic(const struct visit_argument_walk *walk,
		const struct visit_location *location, const struct visit_step *up,
		const struct side_arg *arg)
{
	const union side_arg_dynamic *u = &arg->u.side_dynamic;
	struct visit_step step = {.up = up, .kind = VISIT_STEP_WORD, .name = "dynamic"};
	struct visit_location outer = *location, inner;
	unsigned int label = arg->type.v;
	int ret;

	outer.dynamic = true;
	outer.type = NULL;
	if (label >= SIDE_TYPE_DYNAMIC_NULL && label <= SIDE_TYPE_DYNAMIC_STRING)
		return abi_arguments_dynamic_walk_scalar(walk, &outer, &step, arg);
	if (!visit_label_is_dynamic(label))
		return visit_walk_wrong_type(walk, &step, SIDE_TYPE_DYNAMIC, label);
	ret = visit_walk_enter(walk, &outer, &step, NULL, &inner);
	if (ret)
		return ret;
	switch (label) {
	case SIDE_TYPE_DYNAMIC_STRUCT:
		return abi_arguments_dynamic_walk_struct(
				walk, &outer, &inner, &step, side_ptr_get(u->side_dynamic_struct));
	case SIDE_TYPE_DYNAMIC_STRUCT_VISITOR:
		return abi_arguments_dynamic_walk_struct_visitor(walk, &outer, &inner, &step,
				side_ptr_get(u->side_dynamic_struct_visitor));
	case SIDE_TYPE_DYNAMIC_VLA:
		return arguments_dynamic_walk_vla(
				walk, &outer, &inner, &step, side_ptr_get(u->side_dynamic_vla));
	default: /* DYNAMIC_VLA_VISITOR */
		return abi_arguments_dynamic_walk_vla_visitor(walk, &outer, &inner, &step,
				side_ptr_get(u->side_dynamic_vla_visitor));
	}
}

int visit_walk_variadic(const struct visit_argument_walk *walk,
		const struct visit_location *location, const struct visit_step *up,
		const struct side_arg_dynamic_struct *variadic)
{
	struct visit_step step = {.up = up, .kind = VISIT_STEP_WORD, .name = "variadic"};
	struct visit_location inner = *location;
	int ret;

	inner.dynamic = true;
	inner.type = NULL;
	ret = arguments_dynamic_check_attributes(
			walk, &step, visit_attributes_of(&variadic->attributes));
	if (!ret)
		ret = WALK_CALL(walk, variadic_begin, &inner,
				visit_attributes_of(&variadic->attributes), variadic->len);
	if (!ret)
		ret = abi_arguments_dynamic_walk_fields(
				walk, &inner, &step, side_ptr_get(variadic->fields), variadic->len);
	return ret ? ret : WALK_CALL(walk, variadic_end, &inner, variadic->len);
}
