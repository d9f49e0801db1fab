/* SPDX-License-Identifier: MIT */
/*
 * The walk over arguments: its order, its end by each operation, and that all operations are
 * optional.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <side/trace.h>

#include "abi/visit.h"

/* The calls as text, and the number of calls after which to stop. */
static char log_text[2048];
static int calls_left;

static int note(const char *format, ...) __attribute__((format(printf, 1, 2)));

static int note(const char *format, ...)
{
	size_t used = strlen(log_text);
	va_list args;

	va_start(args, format);
	vsnprintf(log_text + used, sizeof(log_text) - used, format, args);
	va_end(args);
	return calls_left-- ? 0 : 4711;
}

static int event_begin(void *priv, const struct visit_location *location)
{
	return note("%s%s:%s ", (char *)priv, side_ptr_get(location->desc->provider_name),
			side_ptr_get(location->desc->event_name));
}

static int event_end(void *priv, const struct visit_location *location)
{
	(void)priv;
	return note(".%u", location->depth);
}

static int fields_begin(void *priv, const struct visit_location *location, uint32_t nr)
{
	(void)priv;
	(void)location;
	return note("fields%u{", nr);
}

static int fields_end(void *priv, const struct visit_location *location)
{
	(void)priv;
	(void)location;
	return note("}");
}

static int variadic_begin(void *priv, const struct visit_location *location,
		struct visit_attributes attributes, uint32_t nr)
{
	(void)priv;
	return note("%s%ua%u{", location->dynamic ? "variadic" : "?", nr, attributes.nr);
}

static int variadic_end(void *priv, const struct visit_location *location, uint32_t nr)
{
	(void)priv;
	(void)location;
	return note("}%u", nr);
}

static int field_begin(void *priv, const struct visit_location *location)
{
	(void)priv;
	return note("%u:%s(", location->index, location->name);
}

static int close_bracket(void *priv, const struct visit_location *location)
{
	(void)priv;
	(void)location;
	return note(")");
}

static int element_begin(void *priv, const struct visit_location *location)
{
	(void)priv;
	return note("%u(", location->index);
}

static int value(void *priv, const struct visit_location *location,
		const struct visit_value *scalar, struct visit_attributes attributes)
{
	(void)priv;
	return note("%s%lld%s@%u", location->dynamic ? "d" : "", (long long)scalar->lo,
			attributes.nr ? "a" : "", location->depth);
}

static int struct_begin(void *priv, const struct visit_location *location,
		struct visit_attributes attributes, uint32_t nr)
{
	(void)priv;
	(void)location;
	return note("struct%da%u{", (int)nr, attributes.nr);
}

static int compound_end(void *priv, const struct visit_location *location, uint32_t nr)
{
	(void)priv;
	(void)location;
	return note("}%u", nr);
}

static int array_begin(void *priv, const struct visit_location *location,
		struct visit_attributes attributes, uint32_t nr)
{
	(void)priv;
	(void)location;
	return note("array%da%u{", (int)nr, attributes.nr);
}

static int enum_begin(void *priv, const struct visit_location *location,
		struct visit_attributes attributes)
{
	(void)priv;
	(void)location;
	return note("enum-a%u(", attributes.nr);
}

static int enum_end(void *priv, const struct visit_location *location,
		const struct side_enum_mappings *mappings, const struct visit_value *scalar)
{
	(void)priv;
	(void)location;
	return note(")%u=%llu", side_array_length(&mappings->mappings),
			(unsigned long long)scalar->lo);
}

static int bitmap(void *priv, const struct visit_location *location,
		const struct side_enum_bitmap_mappings *mappings, const struct visit_bitmap *bits)
{
	(void)priv;
	(void)location;
	return note("bitmap%u/%u", side_array_length(&mappings->mappings), bits->nr_items);
}

static int optional_begin(void *priv, const struct visit_location *location,
		struct visit_attributes attributes, bool present)
{
	(void)priv;
	(void)location;
	(void)attributes;
	return note("optional-%s(", present ? "yes" : "no");
}

static int variant_begin(void *priv, const struct visit_location *location,
		struct visit_attributes attributes, const struct visit_value *selector,
		uint32_t option)
{
	(void)priv;
	(void)location;
	(void)attributes;
	return note("variant%lld/%u(", (long long)selector->lo, option);
}

static const struct visit_argument_ops ops = {
		.event_begin = event_begin,
		.event_end = event_end,
		.fields_begin = fields_begin,
		.fields_end = fields_end,
		.variadic_begin = variadic_begin,
		.variadic_end = variadic_end,
		.field_begin = field_begin,
		.field_end = close_bracket,
		.element_begin = element_begin,
		.element_end = close_bracket,
		.value = value,
		.struct_begin = struct_begin,
		.struct_end = compound_end,
		.array_begin = array_begin,
		.array_end = compound_end,
		.enum_begin = enum_begin,
		.enum_end = enum_end,
		.bitmap = bitmap,
		.optional_begin = optional_begin,
		.optional_end = close_bracket,
		.variant_begin = variant_begin,
		.variant_end = close_bracket,
};

/* ---- one event with everything ---- */

static enum side_visitor_status two_elements(const struct side_tracer_visitor_ctx *ctx, int *app)
{
	int i;

	for (i = 0; i < 2; i++) {
		const struct side_arg elem = side_visit_dynamic_arg(side_arg_s32, *app + i);

		if (ctx->write_elem(ctx, &elem) != SIDE_VISITOR_STATUS_OK)
			return SIDE_VISITOR_STATUS_ERROR;
	}
	return SIDE_VISITOR_STATUS_OK;
}

static enum side_visitor_status one_field(
		const struct side_tracer_dynamic_struct_visitor_ctx *ctx, void *app)
{
	const struct side_arg_dynamic_field field =
			side_visit_dynamic_field(side_arg_dynamic_u8, "f", *(const uint8_t *)app);

	return ctx->write_field(ctx, &field);
}

#define K side_attr_list(side_attr("k", side_attr_u8(1)))
#define DIRECT SIDE_TYPE_GATHER_ACCESS_DIRECT

static side_define_struct(st, side_field_list(side_field_u8("a", K)), K);
static side_define_array(ar, side_elem(side_type_struct(st)), 2);
static side_define_vla(vl, side_elem(side_type_u8()), side_length(side_type_u8()), K);
side_define_static_vla_visitor(
		vv, side_elem(side_type_s32()), side_length(side_type_u8()), two_elements, int);
static side_define_optional(op, side_elem(side_type_u8()));
static side_define_variant(va, side_type_u8(),
		side_option_list(side_option(0, side_type_null()), side_option(1, side_type_u8())));
static side_define_enum(en, side_enum_mapping_list(side_enum_mapping_value("one", 1)), K);
static side_define_enum_bitmap(
		bm, side_enum_bitmap_mapping_list(side_enum_bitmap_mapping_value("0", 0)));
static side_define_struct(st_gather,
		side_field_list(side_field_gather_array("t",
				side_elem(side_type_gather_unsigned_integer(0, 2, 0, 0, DIRECT)), 2,
				2, DIRECT)));

side_static_event_variadic(ev, "p", "e", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_array("array", ar), side_field_vla("vla", vl),
				side_field_vla_visitor("visitor", vv),
				side_field_optional("no", op), side_field_optional("yes", op),
				side_field_variant("variant", va),
				side_field_enum("enum", &en, side_elem(side_type_u8())),
				side_field_enum_bitmap("bitmap", &bm, side_elem(side_type_vla(vl))),
				side_field_gather_struct("gather", st_gather, 0, 6, DIRECT),
				side_field_dynamic("dynamic"), ));

static const char expected[] =
		"> p:e fields10{"
		"0:array(array2a0{0(struct1a1{0:a(1a@2)}1)1(struct1a1{0:a(2a@2)}1)}2)"
		"1:vla(array2a1{0(5@1)1(6@1)}2)"
		"2:visitor(array-1a0{0(40@1)1(41@1)}2)"
		"3:no(optional-no())"
		"4:yes(optional-yes(8@1))"
		"5:variant(variant1/1(9@1))"
		"6:enum(enum-a1(1@0)1=1)"
		"7:bitmap(bitmap1/2)"
		"8:gather(struct1a0{0:t(array2a0{0(22@2)1(33@2)}2)}1)"
		"9:dynamic(array2a0{0(d7a@1)1(struct-1a0{0:f(d3@2)}1)}2)"
		"}variadic1a1{0:x(d2@0)}1.0";

static const struct visit_argument_ops *used_ops = &ops;
static int stop_after, last_result, nr_calls;
static char prefix[] = "> ";

static void on_event(const struct side_event_description *desc, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *variadic, void *priv, void *caller)
{
	(void)priv;
	(void)caller;
	log_text[0] = '\0';
	calls_left = stop_after;
	last_result = visit_arguments(desc, args, variadic, used_ops, prefix, NULL);
	nr_calls = stop_after - calls_left;
}

static void fire(void)
{
	static const uint16_t gathered[] = {11, 22, 33};
	uint8_t three = 3;
	int forty = 40;

	side_arg_define_struct(one, side_arg_list(side_arg_u8(1)));
	side_arg_define_struct(two, side_arg_list(side_arg_u8(2)));
	side_arg_define_array(array, side_arg_list(side_arg_struct(one), side_arg_struct(two)));
	side_arg_define_vla(vla, side_arg_list(side_arg_u8(5), side_arg_u8(6)));
	side_arg_define_vla_visitor(visitor, &forty);
	side_arg_define_optional(no, side_arg_u8(0), SIDE_OPTIONAL_DISABLED);
	side_arg_define_optional(yes, side_arg_u8(8), SIDE_OPTIONAL_ENABLED);
	side_arg_define_variant(variant, side_arg_u8(1), side_arg_u8(9));
	side_arg_dynamic_define_struct_visitor(fields, one_field, &three);
	side_arg_dynamic_define_vec(list,
			side_arg_list(side_arg_dynamic_u8(7,
						      side_dynamic_attr_list(side_attr(
								      "k", side_attr_u8(1)))),
					side_arg_dynamic_struct_visitor(&fields)));
	side_event_call_variadic(ev,
			side_arg_list(side_arg_array(array), side_arg_vla(vla),
					side_arg_vla_visitor(visitor), side_arg_optional(no),
					side_arg_optional(yes), side_arg_variant(variant),
					side_arg_u8(1), side_arg_vla(vla),
					side_arg_gather_struct(gathered),
					side_arg_dynamic_vla(&list)),
			side_arg_list(side_arg_dynamic_field("x", side_arg_dynamic_u8(2))),
			side_dynamic_attr_list(side_attr("k", side_attr_u8(1))));
}

int main(void)
{
	static const struct visit_argument_ops nothing;
	int all, i;

	if (side_tracer_callback_variadic_register(&ev, on_event, NULL, 0) != SIDE_ERROR_OK)
		return 1;
	stop_after = 1000;
	fire();
	if (last_result || strcmp(log_text, expected)) {
		fprintf(stderr, "%d\n%s\nexpected:\n%s\n", last_result, log_text, expected);
		return 1;
	}
	all = nr_calls;
	/*
	 * Every operation can end the walk, also through visitors, and no function is called
	 * afterwards.
	 */
	for (i = 0; i < all; i++) {
		stop_after = i;
		fire();
		if (last_result != 4711 || nr_calls != i + 1 ||
				strncmp(log_text, expected, strlen(log_text)))
			return 1;
	}
	used_ops = &nothing;
	fire();
	return last_result;
}
