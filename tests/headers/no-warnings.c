/* SPDX-License-Identifier: MIT */
/*
 * The program's own code is free of warnings here, in C and C++: each warning is about the macros.
 */
#include <side/trace.h>

#ifdef __cplusplus
#define NOTHING nullptr
#else
#define NOTHING 0
#endif

struct node {
	struct node *next;
	long value;
};

static side_define_struct(
		nw_struct, side_field_list(side_field_s32("row"), side_field_s32("col")));
static side_define_array(nw_array, side_elem(side_type_u8()), 2);
static side_define_vla(
		nw_vla, side_elem(side_type_struct(nw_struct)), side_length(side_type_u32()));
static side_define_optional(nw_optional, side_elem(side_type_string()));
static side_define_variant(nw_variant, side_type_u8(),
		side_option_list(side_option(0, side_type_null()),
				side_option_range(1, 6, side_type_string())));
static side_define_enum(nw_enum,
		side_enum_mapping_list(side_enum_mapping_value("white", 0),
				side_enum_mapping_range("black", 1, 2)));

static enum side_visitor_status nw_walk(
		const struct side_tracer_visitor_ctx *tracer, struct node *node)
{
	for (; node; node = node->next) {
		const struct side_arg element = side_visit_dynamic_arg(side_arg_s64, node->value);

		if (tracer->write_elem(tracer, &element) != SIDE_VISITOR_STATUS_OK)
			return SIDE_VISITOR_STATUS_ERROR;
	}
	return SIDE_VISITOR_STATUS_OK;
}

side_define_static_vla_visitor(nw_visitor, side_elem(side_type_s64()),
		side_length(side_type_u32()), nw_walk, struct node);

side_static_event(nw_all, "quiet", "all", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("count"), side_field_string("name"),
				side_field_pointer("where"), side_field_double("ratio"),
				side_field_struct("struct", nw_struct),
				side_field_array("array", nw_array),
				side_field_vla("vla", nw_vla),
				side_field_optional("optional", nw_optional),
				side_field_variant("variant", nw_variant),
				side_field_enum("enum", &nw_enum, side_elem(side_type_u8())),
				side_field_vla_visitor("visitor", nw_visitor)),
		side_attr_list(side_attr("quiet.topic", side_attr_string("warnings"))));
side_static_event(nw_none, "quiet", "none", SIDE_LOGLEVEL_DEBUG, side_field_list());
side_static_event_variadic(nw_variadic, "quiet", "variadic", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_bool("ok")));

void quiet(unsigned int count, const char *name);
void quiet(unsigned int count, const char *name)
{
	struct node node = {NOTHING, 1};

	side_event(nw_none, side_arg_list());
	side_event_variadic(nw_variadic, side_arg_list(side_arg_bool(count > 1)),
			side_arg_list(side_arg_dynamic_field("left", side_arg_dynamic_u32(count)),
					side_arg_dynamic_field(
							"name", side_arg_dynamic_string(name))));
	if (side_event_enabled(nw_all)) {
		side_arg_define_struct(one, side_arg_list(side_arg_s32(1), side_arg_s32(2)));
		side_arg_define_array(array, side_arg_list(side_arg_u8(1), side_arg_u8(2)));
		side_arg_define_vla(vla, side_arg_list(side_arg_struct(one), side_arg_struct(one)));
		side_arg_define_optional(optional, side_arg_string(name), SIDE_OPTIONAL_ENABLED);
		side_arg_define_variant(variant, side_arg_u8(1), side_arg_string(name));
		side_arg_define_vla_visitor(visitor, &node);
		side_event_call(nw_all,
				side_arg_list(side_arg_u32(count), side_arg_string(name),
						side_arg_pointer(name), side_arg_double(0.5),
						side_arg_struct(one), side_arg_array(array),
						side_arg_vla(vla), side_arg_optional(optional),
						side_arg_variant(variant), side_arg_u8(1),
						side_arg_vla_visitor(visitor)));
	}
}
