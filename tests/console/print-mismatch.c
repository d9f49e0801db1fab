/* SPDX-License-Identifier: MIT */
/*
 * Arguments that do not match their description: a message reports the error and its location, the
 * event is not printed, the program runs on, and errno is unchanged.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <side/trace.h>

static struct side_arg_vec vec_of(const struct side_arg *args, uint32_t nr)
{
	struct side_arg_vec vec;

	memset(&vec, 0, sizeof(vec));
	side_ptr_set(vec.sav, args);
	vec.len = nr;
	return vec;
}

static struct side_arg arg_of(enum side_type_label label, const void *pointer)
{
	struct side_arg arg;

	memset(&arg, 0, sizeof(arg));
	side_enum_set(arg.type, label);
	side_ptr_set(arg.u.side_static.string_value, pointer);
	return arg;
}

static struct side_arg u8_arg(uint8_t value)
{
	struct side_arg arg = arg_of(SIDE_TYPE_U8, NULL);

	arg.u.side_static.integer_value.side_u8 = value;
	return arg;
}

#define CALL(event, args, nr)                                             \
	do {                                                              \
		const struct side_arg_vec call_vec_ = vec_of(args, nr);   \
		errno = EDOM;                                             \
		side_call(&side_event_state__##event.parent, &call_vec_); \
		if (errno != EDOM)                                        \
			exit(1);                                          \
	} while (0)

static side_define_struct(st, side_field_list(side_field_u8("a"), side_field_u8("b")));
static side_define_array(ar, side_elem(side_type_u8()), 2);
static side_define_vla(vl, side_elem(side_type_struct(st)), side_length(side_type_u32()));
static side_define_optional(op, side_elem(side_type_u8()));
static side_define_variant(va, side_type_u8(), side_option_list(side_option(1, side_type_u8())));
static side_define_enum(en, side_enum_mapping_list(side_enum_mapping_value("one", 1)));
static side_define_enum_bitmap(
		bm, side_enum_bitmap_mapping_list(side_enum_bitmap_mapping_value("0", 0)));

side_static_event(ev_u8, "m", "u8", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u8("x")));
side_static_event(ev_struct, "m", "struct", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_struct("s", st)));
side_static_event(ev_array, "m", "array", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_array("a", ar)));
side_static_event(ev_vla, "m", "vla", SIDE_LOGLEVEL_INFO, side_field_list(side_field_vla("v", vl)));
side_static_event(ev_optional, "m", "optional", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_optional("o", op)));
side_static_event(ev_variant, "m", "variant", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_variant("v", va)));
side_static_event(ev_enum, "m", "enum", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_enum("e", &en, side_elem(side_type_u8())),
				side_field_enum_bitmap("b", &bm, side_elem(side_type_u8()))));
side_static_event(ev_dynamic, "m", "dynamic", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_dynamic("d")));

static void labels_and_counts(void)
{
	struct side_arg args[2] = {u8_arg(1), arg_of(SIDE_TYPE_STRING_UTF8, "x")};

	/*! the description has 1 field, the arguments are 2 | m:u8 */
	CALL(ev_u8, args, 2);
	/*! the description has 1 field, the arguments are 0 | m:u8 */
	CALL(ev_u8, NULL, 0);
	/*! the argument list is NULL | m:u8 */
	CALL(ev_u8, NULL, 1);
	/*! the description has the type U8 (2), the argument has STRING_UTF8 (18) | m:u8 | field: "x" */
	CALL(ev_u8, &args[1], 1);
	/*= provider: m, event: u8, fields: { x: { value: 1 } } */
	CALL(ev_u8, args, 1);
	args[0].type.v = 999;
	/*! the description has the type U8 (2), the argument has ? (999) | m:u8 | field: "x" */
	CALL(ev_u8, args, 1);
}

static void compounds(void)
{
	struct side_arg items[3] = {u8_arg(1), u8_arg(2), u8_arg(3)};
	const struct side_arg bad[2] = {u8_arg(1), arg_of(SIDE_TYPE_NULL, NULL)};
	const struct side_arg_vec one = vec_of(items, 1), two = vec_of(items, 2);
	const struct side_arg_vec three = vec_of(items, 3), wrong = vec_of(bad, 2);
	struct side_arg arg = arg_of(SIDE_TYPE_STRUCT, &three);
	struct side_arg structs[2] = {
			arg_of(SIDE_TYPE_STRUCT, &two), arg_of(SIDE_TYPE_STRUCT, &wrong)};
	const struct side_arg_vec structs_vec = vec_of(structs, 2);

	/*! the description has 2 fields, the arguments are 3 | m:struct | field: "s" | struct: */
	CALL(ev_struct, &arg, 1);
	arg = arg_of(SIDE_TYPE_STRUCT, NULL);
	/*! the structure argument is NULL | m:struct | field: "s" | struct: */
	CALL(ev_struct, &arg, 1);
	arg = arg_of(SIDE_TYPE_ARRAY, &one);
	/*! the described array has 2 elements, the argument has 1 | m:array | field: "a" */
	CALL(ev_array, &arg, 1);
	arg = arg_of(SIDE_TYPE_ARRAY, &wrong);
	/*! the description has the type U8 (2), the argument has NULL (0) | m:array | field: "a" | index: 1 */
	CALL(ev_array, &arg, 1);
	arg = arg_of(SIDE_TYPE_VLA, &structs_vec);
	/*! the description has the type U8 (2), the argument has NULL (0) | m:vla | field: "v" | index: 1 | struct: | field: "b" */
	CALL(ev_vla, &arg, 1);
}

static void choices(void)
{
	struct side_arg_optional optional;
	struct side_arg_variant variant;
	struct side_arg arg, two[2];

	memset(&optional, 0, sizeof(optional));
	arg = arg_of(SIDE_TYPE_OPTIONAL, &optional);
	optional.selector = 1;
	/*! the description has the type U8 (2), the argument has NULL (0) | m:optional | field: "o" | optional */
	CALL(ev_optional, &arg, 1);
	variant.selector = u8_arg(2);
	variant.option = u8_arg(2);
	arg = arg_of(SIDE_TYPE_VARIANT, &variant);
	/*! no option for the selector 2 | m:variant | field: "v" | variant */
	CALL(ev_variant, &arg, 1);
	variant.selector = arg_of(SIDE_TYPE_U16, NULL);
	/*! the description has the type U8 (2), the argument has U16 (3) | m:variant | field: "v" | selector */
	CALL(ev_variant, &arg, 1);
	two[0] = two[1] = arg_of(SIDE_TYPE_ENUM, NULL);
	/*! the description has the type U8 (2), the argument has ENUM (27) | m:enum | field: "e" */
	CALL(ev_enum, two, 2);
	two[0] = u8_arg(1);
	/*! the description has the type U8 (2), the argument has ENUM (27) | m:enum | field: "b" */
	CALL(ev_enum, two, 2);
}

/* ---- gather ---- */

static side_define_struct(st_gather,
		side_field_list(side_field_gather_unsigned_integer(
				"far", 0, 4, 0, 0, SIDE_TYPE_GATHER_ACCESS_POINTER)));
side_static_event(ev_gather, "m", "gather", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_gather_struct(
				"g", st_gather, 0, 8, SIDE_TYPE_GATHER_ACCESS_DIRECT)));
side_static_event(ev_length, "m", "length", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_gather_vla("v",
				side_elem(side_type_gather_byte(0, SIDE_TYPE_GATHER_ACCESS_DIRECT)),
				0, SIDE_TYPE_GATHER_ACCESS_DIRECT,
				side_length(side_type_gather_signed_integer(
						0, 8, 0, 0, SIDE_TYPE_GATHER_ACCESS_DIRECT)))));

static void gathers(void)
{
	const void *null = NULL;
	int64_t length = -1;

	/*! gathered memory is at a NULL pointer | m:gather | field: "g" */
	side_event(ev_gather, side_arg_list(side_arg_gather_struct(NULL)));
	/*! gathered memory is at a NULL pointer | m:gather | field: "g" | struct: | field: "far" */
	side_event(ev_gather, side_arg_list(side_arg_gather_struct(&null)));
	/*! the length of a VLA is negative or above 32 bits | m:length | field: "v" */
	side_event(ev_length, side_arg_list(side_arg_gather_vla("abc", &length)));
	length = 1;
	/*! gathered memory is at a NULL pointer | m:length | field: "v" */
	side_event(ev_length, side_arg_list(side_arg_gather_vla(NULL, &length)));
	length = 0;
	/*= provider: m, event: length, fields: { v: { elements: [ ] } } */
	side_event(ev_length, side_arg_list(side_arg_gather_vla(NULL, &length)));
}

/* ---- visitors and dynamic values ---- */

static enum side_visitor_status refuse(const struct side_tracer_visitor_ctx *tracer, int *ctx)
{
	(void)tracer;
	(void)ctx;
	return SIDE_VISITOR_STATUS_ERROR;
}

side_define_static_vla_visitor(
		vv_refuse, side_elem(side_type_u8()), side_length(side_type_u32()), refuse, int);

/* Ignores the result of the tracer. */
static enum side_visitor_status careless(const struct side_tracer_visitor_ctx *tracer, int *ctx)
{
	const struct side_arg elem = u8_arg(1), wrong = arg_of(SIDE_TYPE_NULL, NULL);

	(void)ctx;
	(void)tracer->write_elem(tracer, &elem);
	(void)tracer->write_elem(tracer, &wrong);
	(void)tracer->write_elem(tracer, &elem);
	return SIDE_VISITOR_STATUS_OK;
}

side_define_static_vla_visitor(vv_careless, side_elem(side_type_u8()), side_length(side_type_u32()),
		careless, int);

side_static_event(ev_refuse, "m", "refuse", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_vla_visitor("v", vv_refuse)));
side_static_event(ev_careless, "m", "careless", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_vla_visitor("v", vv_careless)));

/* A list that contains itself. */
static void endless(void)
{
	struct side_arg_dynamic_vla list;
	struct side_arg elem;

	memset(&list, 0, sizeof(list));
	memset(&elem, 0, sizeof(elem));
	side_enum_set(elem.type, SIDE_TYPE_DYNAMIC_VLA);
	side_ptr_set(elem.u.side_dynamic.side_dynamic_vla, &list);
	side_ptr_set(list.sav, &elem);
	list.len = 1;
	CALL(ev_dynamic, &elem, 1);
}

static void dynamics(void)
{
	struct side_arg arg = u8_arg(1);

	side_arg_define_vla_visitor(refused, (int *)NULL);
	side_arg_define_vla_visitor(carelessly, (int *)NULL);
	/*! the visitor returned an error | m:refuse | field: "v" */
	side_event(ev_refuse, side_arg_list(side_arg_vla_visitor(refused)));
	/*! the description has the type U8 (2), the argument has NULL (0) | m:careless | field: "v" | index: 1 */
	side_event(ev_careless, side_arg_list(side_arg_vla_visitor(carelessly)));
	/*! the description has the type DYNAMIC (29), the argument has U8 (2) | m:dynamic | field: "d" */
	CALL(ev_dynamic, &arg, 1);
	memset(&arg, 0, sizeof(arg));
	side_enum_set(arg.type, SIDE_TYPE_DYNAMIC_INTEGER);
	/*! the value DYNAMIC_INTEGER has an impossible size | m:dynamic | field: "d" | dynamic */
	CALL(ev_dynamic, &arg, 1);
	side_enum_set(arg.type, SIDE_TYPE_DYNAMIC_STRUCT);
	/*! the structure argument is NULL | m:dynamic | field: "d" | dynamic */
	CALL(ev_dynamic, &arg, 1);
}

int main(void)
{
	labels_and_counts();
	compounds();
	choices();
	gathers();
	dynamics();
	/*! values are nested more than 128 deep | m:dynamic | field: "d" | dynamic | index: 0 | dynamic | index: 0 | dynamic | index: 0 | dynamic | index: 0 | dynamic | index: 0 | ... | index: 0 | dynamic | index: 0 | dynamic | index: 0 | dynamic | index: 0 | dynamic | index: 0 | dynamic | index: 0 | dynamic */
	endless();
	return 0;
}
