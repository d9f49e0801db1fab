/* SPDX-License-Identifier: MIT */
/* Values that carry their types. */
#include <string.h>

#include "mutate-parts.h"

#define DEPTH_MAX 3u

static const char *const names[] = {"p", "q", "r"};

/* Written through a copy of the layout, because the members are const. */
struct attr_image {
	struct side_type_raw_string key;
	struct side_attr_value value;
} SIDE_PACKED;

static const struct side_attr *attributes(
		struct mutate *mutate, const struct where *where, uint32_t *nr)
{
	struct attr_image *attr;

	*nr = mutate_below(mutate, 3) ? 0 : 1;
	if (!*nr)
		return NULL;
	attr = mutate_take(mutate, sizeof(*attr));
	memset(attr, 0, sizeof(*attr));
	side_ptr_set(attr->key.p, (const void *)"key");
	attr->key.unit_size = 1;
	attr->value.type.v = SIDE_ATTR_TYPE_STRING;
	side_ptr_set(attr->value.u.string_value.p, (const void *)"value");
	attr->value.u.string_value.unit_size = 1;
	if (mutate_point(mutate, where, NULL, "attribute key"))
		side_ptr_set(attr->key.p, (const void *)mutate_nowhere(mutate));
	if (mutate_point(mutate, where, NULL, "attribute type"))
		attr->value.type.v = _NR_SIDE_ATTR_TYPE + mutate_below(mutate, 99);
	if (mutate_point(mutate, where, NULL, "attribute text"))
		side_ptr_set(attr->value.u.string_value.p, (const void *)mutate_endless());
	if (mutate_point(mutate, where, NULL, "attribute unit"))
		attr->value.u.string_value.unit_size = 3;
	if (mutate_point(mutate, where, NULL, "attributes"))
		return mutate_nowhere(mutate);
	if (mutate_point(mutate, where, NULL, "number of attributes"))
		*nr = UINT32_MAX;
	return (const struct side_attr *)(const void *)attr;
}

#define ATTRIBUTES(mutate, where, array)                                         \
	do {                                                                     \
		uint32_t nr_;                                                    \
		const struct side_attr *attr_ = attributes(mutate, where, &nr_); \
		side_ptr_set((array).elements, attr_);                           \
		(array).length = nr_;                                            \
	} while (0)

static void integer(struct mutate *mutate, const struct where *where, struct side_arg *arg)
{
	struct side_type_integer *type = &arg->u.side_dynamic.side_integer.type;

	type->integer_size = (uint16_t)(1u << mutate_below(mutate, 5));
	type->len_bits = 0;
	type->signedness = (uint8_t)mutate_below(mutate, 2);
	type->byte_order.v = (uint8_t)mutate_below(mutate, 2);
	ATTRIBUTES(mutate, where, type->attributes);
	if (mutate_point(mutate, where, NULL, "size"))
		type->integer_size = (uint16_t)(3 + 1000 * mutate_below(mutate, 60));
	if (mutate_point(mutate, where, NULL, "bits"))
		type->len_bits = (uint16_t)(129 + mutate_below(mutate, 60000));
}

static void scalar(struct mutate *mutate, const struct where *where, struct side_arg *arg)
{
	union side_arg_dynamic *u = &arg->u.side_dynamic;

	switch (arg->type.v) {
	case SIDE_TYPE_DYNAMIC_BOOL:
		u->side_bool.type.bool_size = (uint16_t)(1u << mutate_below(mutate, 4));
		u->side_bool.type.len_bits = 0;
		u->side_bool.type.byte_order.v = 0;
		ATTRIBUTES(mutate, where, u->side_bool.type.attributes);
		if (mutate_point(mutate, where, NULL, "size"))
			u->side_bool.type.bool_size = 16;
		return;
	case SIDE_TYPE_DYNAMIC_INTEGER:
	case SIDE_TYPE_DYNAMIC_POINTER: integer(mutate, where, arg); return;
	case SIDE_TYPE_DYNAMIC_FLOAT:
		u->side_float.type.float_size = (uint16_t)(2u << mutate_below(mutate, 4));
		u->side_float.type.byte_order.v = 0;
		ATTRIBUTES(mutate, where, u->side_float.type.attributes);
		if (mutate_point(mutate, where, NULL, "size"))
			u->side_float.type.float_size = 1;
		return;
	case SIDE_TYPE_DYNAMIC_STRING:
		u->side_string.type.unit_size = 1;
		u->side_string.type.byte_order.v = 0;
		u->side_string.value = (uintptr_t) "dynamic";
		ATTRIBUTES(mutate, where, u->side_string.type.attributes);
		if (mutate_point(mutate, where, NULL, "unit"))
			u->side_string.type.unit_size = 5;
		if (mutate_point(mutate, where, NULL, "string"))
			u->side_string.value = (uintptr_t)mutate_wild(mutate);
		if (mutate_point(mutate, where, NULL, "endless string"))
			u->side_string.value = (uintptr_t)mutate_endless();
		return;
	default: ATTRIBUTES(mutate, where, u->side_null.attributes); return;
	}
}

static struct dynamic_field_image *fields(struct mutate *mutate, const struct where *up,
		uint32_t nr, struct side_arg_dynamic_struct *self, unsigned int depth)
{
	struct dynamic_field_image *field = mutate_take(mutate, (nr + 1) * sizeof(*field));
	uint32_t i;

	for (i = 0; i < nr; i++) {
		struct where where = mutate_where(up, "\"?\"", 0);

		where.text[1] = names[i][0];
		side_ptr_set(field[i].field_name, names[i]);
		mutate_dynamic(mutate, &where, &field[i].elem, depth);
		if (mutate_point(mutate, up, NULL, "field name"))
			side_ptr_set(field[i].field_name,
					(const char *)(mutate_below(mutate, 2)
									? mutate_nowhere(mutate)
									: mutate_endless()));
		/* A value that contains itself has no end. */
		if (self && mutate_point(mutate, &where, NULL, "cycle")) {
			mutate->has_no_end = true;
			side_enum_set(field[i].elem.type, SIDE_TYPE_DYNAMIC_STRUCT);
			side_ptr_set(field[i].elem.u.side_dynamic.side_dynamic_struct,
					(const struct side_arg_dynamic_struct *)self);
		}
	}
	return field;
}

struct side_arg_dynamic_struct *mutate_dynamic_struct(struct mutate *mutate,
		const struct where *where, struct side_arg_dynamic_struct *self, unsigned int depth)
{
	struct side_arg_dynamic_struct *value = self ? self : mutate_take(mutate, sizeof(*value));
	uint32_t nr = mutate_below(mutate, 3);

	side_ptr_set(value->fields,
			(const struct side_arg_dynamic_field *)(const void *)fields(
					mutate, where, nr, self, depth));
	value->len = nr;
	ATTRIBUTES(mutate, where, value->attributes);
	if (nr && mutate_point(mutate, where, NULL, "fields"))
		side_ptr_set(value->fields,
				(const struct side_arg_dynamic_field *)mutate_nowhere(mutate));
	if (mutate_point(mutate, where, NULL, "number of fields"))
		value->len = UINT32_MAX;
	return value;
}

static struct side_arg *elements(
		struct mutate *mutate, const struct where *up, uint32_t nr, unsigned int depth)
{
	struct side_arg *sav = mutate_take(mutate, (nr + 1) * sizeof(*sav));
	uint32_t i;

	for (i = 0; i < nr; i++) {
		struct where where = mutate_where(up, "index: %u", i);

		mutate_dynamic(mutate, &where, &sav[i], depth);
	}
	return sav;
}

static void vla(struct mutate *mutate, const struct where *where, struct side_arg *arg,
		unsigned int depth)
{
	struct side_arg_dynamic_vla *value = mutate_take(mutate, sizeof(*value));
	uint32_t nr = mutate_below(mutate, 3);

	side_ptr_set(value->sav, (const struct side_arg *)elements(mutate, where, nr, depth));
	value->len = nr;
	ATTRIBUTES(mutate, where, value->attributes);
	if (nr && mutate_point(mutate, where, NULL, "list"))
		side_ptr_set(value->sav, (const struct side_arg *)mutate_nowhere(mutate));
	if (mutate_point(mutate, where, NULL, "length"))
		value->len = UINT32_MAX - 1;
	side_ptr_set(arg->u.side_dynamic.side_dynamic_vla, value);
}

static enum side_visitor_status visit_fields(
		const struct side_tracer_dynamic_struct_visitor_ctx *tracer, void *app)
{
	struct mutate_visited visited;
	uint32_t i;

	memcpy(&visited, app, sizeof(visited));
	if (visited.writes_null)
		return tracer->write_field(tracer, NULL);
	for (i = 0; i < visited.nr; i++) {
		if (tracer->write_field(tracer, &visited.fields[i]) != SIDE_VISITOR_STATUS_OK)
			return SIDE_VISITOR_STATUS_ERROR;
	}
	return visited.status;
}

static void visitor(struct mutate *mutate, const struct where *where, struct side_arg *arg,
		bool is_struct, unsigned int depth)
{
	/* The two visitors of dynamic values differ in their function only. */
	struct side_arg_dynamic_vla_visitor *value = mutate_take(mutate, sizeof(*value));
	struct mutate_visited visited = {.nr = mutate_below(mutate, 3)}, *memory;

	if (is_struct)
		visited.fields = (const struct side_arg_dynamic_field *)(const void *)fields(
				mutate, where, visited.nr, NULL, depth);
	else
		visited.elements = elements(mutate, where, visited.nr, depth);
	if (mutate_point(mutate, where, NULL, "status"))
		visited.status = SIDE_VISITOR_STATUS_ERROR;
	if (mutate_point(mutate, where, NULL, "NULL element"))
		visited.writes_null = true;
	memory = mutate_take(mutate, sizeof(visited));
	memcpy(memory, &visited, sizeof(visited));
	side_ptr_set(value->app_ctx, (void *)memory);
	side_ptr_set(value->cached_arg, (struct side_arg *)NULL);
	ATTRIBUTES(mutate, where, value->attributes);
	side_ptr_set(value->visitor,
			is_struct ? (side_visitor_func)(void *)visit_fields : mutate_visit);
	if (mutate_point(mutate, where, NULL, "visitor"))
		side_ptr_set(value->visitor, (side_visitor_func)NULL);
	side_ptr_set(arg->u.side_dynamic.side_dynamic_vla_visitor, value);
}

void mutate_dynamic(struct mutate *mutate, const struct where *up, struct side_arg *arg,
		unsigned int depth)
{
	struct where where = mutate_where(up, "dynamic", 0);
	unsigned int nr = depth < DEPTH_MAX ? SIDE_TYPE_DYNAMIC_VLA_VISITOR + 1
					    : SIDE_TYPE_DYNAMIC_STRUCT;
	unsigned int label =
			SIDE_TYPE_DYNAMIC_NULL + mutate_below(mutate, nr - SIDE_TYPE_DYNAMIC_NULL);

	arg->type.v = (uint16_t)label;
	switch (label) {
	case SIDE_TYPE_DYNAMIC_STRUCT:
		side_ptr_set(arg->u.side_dynamic.side_dynamic_struct,
				mutate_dynamic_struct(mutate, &where,
						mutate_take(mutate,
								sizeof(struct side_arg_dynamic_struct)),
						depth + 1));
		break;
	case SIDE_TYPE_DYNAMIC_STRUCT_VISITOR: visitor(mutate, &where, arg, true, depth + 1); break;
	case SIDE_TYPE_DYNAMIC_VLA: vla(mutate, &where, arg, depth + 1); break;
	case SIDE_TYPE_DYNAMIC_VLA_VISITOR: visitor(mutate, &where, arg, false, depth + 1); break;
	default: scalar(mutate, &where, arg); return;
	}
	if (mutate_point(mutate, &where, NULL, "pointer"))
		side_ptr_set(arg->u.side_dynamic.side_dynamic_struct,
				(const struct side_arg_dynamic_struct *)mutate_nowhere(mutate));
}
