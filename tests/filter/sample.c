/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"

#define DIRECT SIDE_TYPE_GATHER_ACCESS_DIRECT
#define POINTER SIDE_TYPE_GATHER_ACCESS_POINTER
#define GATHER_U(offset, size) side_type_gather_unsigned_integer(offset, size, 0, 0, DIRECT)

bool sample_visitors_fail;

/* ---- visitors of the application ---- */

static enum side_visitor_status visit_numbers(
		const struct side_tracer_visitor_ctx *tracer, int *count)
{
	int i;

	for (i = 0; count && i < *count; i++) {
		const struct side_arg element = side_visit_dynamic_arg(side_arg_s32, -i * 10);

		if (tracer->write_elem(tracer, &element) != SIDE_VISITOR_STATUS_OK)
			return SIDE_VISITOR_STATUS_ERROR;
	}
	return sample_visitors_fail ? SIDE_VISITOR_STATUS_ERROR : SIDE_VISITOR_STATUS_OK;
}

/* Strings that do not exist after the visitor has returned. */
static enum side_visitor_status visit_words(
		const struct side_tracer_visitor_ctx *tracer, int *count)
{
	char word[8];
	int i;

	for (i = 0; count && i < *count; i++) {
		memcpy(word, "word", 4);
		word[4] = (char)('0' + i);
		word[5] = '\0';
		{
			const struct side_arg element =
					side_visit_dynamic_arg(side_arg_string, word);

			if (tracer->write_elem(tracer, &element) != SIDE_VISITOR_STATUS_OK)
				return SIDE_VISITOR_STATUS_ERROR;
		}
	}
	return SIDE_VISITOR_STATUS_OK;
}

static enum side_visitor_status visit_dynamic(
		const struct side_tracer_visitor_ctx *tracer, void *app)
{
	const struct side_arg one = side_visit_dynamic_arg(side_arg_dynamic_s16, -3);
	const struct side_arg two = side_visit_dynamic_arg(side_arg_dynamic_string, "zwei");

	(void)app;
	if (tracer->write_elem(tracer, &one) != SIDE_VISITOR_STATUS_OK ||
			tracer->write_elem(tracer, &two) != SIDE_VISITOR_STATUS_OK)
		return SIDE_VISITOR_STATUS_ERROR;
	return SIDE_VISITOR_STATUS_OK;
}

static enum side_visitor_status visit_fields(
		const struct side_tracer_dynamic_struct_visitor_ctx *tracer, void *app)
{
	const struct side_arg_dynamic_field x =
			side_visit_dynamic_field(side_arg_dynamic_u8, "x", 7);
	const struct side_arg_dynamic_field y =
			side_visit_dynamic_field(side_arg_dynamic_string, "y", "ypsilon");

	(void)app;
	if (tracer->write_field(tracer, &x) != SIDE_VISITOR_STATUS_OK ||
			tracer->write_field(tracer, &y) != SIDE_VISITOR_STATUS_OK)
		return SIDE_VISITOR_STATUS_ERROR;
	return SIDE_VISITOR_STATUS_OK;
}

/* ---- the event ---- */

static side_define_struct(
		item, side_field_list(side_field_string("name"), side_field_u32("count")));
static side_define_struct(point, side_field_list(side_field_s32("x"), side_field_s32("y")));
static side_define_array(rgb, side_elem(side_type_u8()), 3);
static side_define_array(grid, side_elem(side_type_array(rgb)), 2);
static side_define_vla(items, side_elem(side_type_struct(item)), side_length(side_type_u32()));
static side_define_vla(bytes, side_elem(side_type_u8()), side_length(side_type_u32()));
static side_define_vla(words16, side_elem(side_type_u16()), side_length(side_type_u32()));
static side_define_optional(optional_text, side_elem(side_type_string()));
static side_define_optional(optional_point, side_elem(side_type_struct(point)));
static side_define_variant(payment, side_type_u8(),
		side_option_list(side_option(0, side_type_null()), side_option(1, side_type_u64()),
				side_option_range(2, 9, side_type_string()),
				side_option(10, side_type_struct(point))));
static side_define_variant(temperature, side_type_s16(),
		side_option_list(side_option_range(-100, -1, side_type_string()),
				side_option_range(-50, 50, side_type_s32())));
static side_define_enum(states,
		side_enum_mapping_list(side_enum_mapping_value("new", 0),
				side_enum_mapping_range("in work", 1, 3),
				side_enum_mapping_value("packed", 3),
				side_enum_mapping_value("done", 4),
				side_enum_mapping_range("minus", -5, -1)));
static side_define_enum_bitmap(options,
		side_enum_bitmap_mapping_list(side_enum_bitmap_mapping_value("gift", 0),
				side_enum_bitmap_mapping_value("express", 1),
				side_enum_bitmap_mapping_range("reserved", 2, 7),
				side_enum_bitmap_mapping_range("far", 15, 17)));
side_define_static_vla_visitor(numbers, side_elem(side_type_s32()), side_length(side_type_u32()),
		visit_numbers, int);
side_define_static_vla_visitor(names, side_elem(side_type_string()), side_length(side_type_u32()),
		visit_words, int);

struct parcel {
	uint16_t id;
	uint16_t bits; /* 4..7: priority; 8..11: signed */
	const char *street;
	uint8_t nr;
	uint32_t *weights;
	float height;
	char code[8];
	int8_t state;
	uint8_t open;
	const char *nothing;
	const uint32_t *lost;
	struct {
		int32_t x, y;
	} points[2];
};

static side_define_struct(gather_point,
		side_field_list(side_field_gather_signed_integer("x", 0, 4, 0, 0, DIRECT),
				side_field_gather_signed_integer("y", 4, 4, 0, 0, DIRECT)));
static side_define_struct(parcel,
		side_field_list(side_field_gather_unsigned_integer(
						"id", offsetof(struct parcel, id), 2, 0, 0, DIRECT),
				side_field_gather_unsigned_integer("priority",
						offsetof(struct parcel, bits), 2, 4, 4, DIRECT),
				side_field_gather_signed_integer("nibble",
						offsetof(struct parcel, bits), 2, 8, 4, DIRECT),
				side_field_gather_string(
						"street", offsetof(struct parcel, street), POINTER),
				side_field_gather_vla("weights", side_elem(GATHER_U(0, 4)),
						offsetof(struct parcel, weights), POINTER,
						side_length(GATHER_U(
								offsetof(struct parcel, nr), 1))),
				side_field_gather_float("height", offsetof(struct parcel, height),
						4, DIRECT),
				side_field_gather_string(
						"code", offsetof(struct parcel, code), DIRECT),
				side_field_gather_enum("state", states,
						side_elem(side_type_gather_signed_integer(
								offsetof(struct parcel, state), 1,
								0, 0, DIRECT))),
				side_field_gather_bool("open", offsetof(struct parcel, open), 1, 0,
						0, DIRECT),
				side_field_gather_string("nothing",
						offsetof(struct parcel, nothing), POINTER),
				side_field_gather_unsigned_integer("lost",
						offsetof(struct parcel, lost), 4, 0, 0, POINTER),
				side_field_gather_array("points",
						side_elem(side_type_gather_struct(
								gather_point, 0, 8, DIRECT)),
						2, offsetof(struct parcel, points), DIRECT)));

side_static_event_variadic(sample, "shop", "sample", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_null("nil"), side_field_bool("flag"),
				side_field_byte("raw"), side_field_u8("u8"), side_field_u16("u16"),
				side_field_u32("u32"), side_field_u64("u64"), side_field_s8("s8"),
				side_field_s16("s16"), side_field_s32("s32"), side_field_s64("s64"),
				side_field_u32_be("port"), side_field_pointer("address"),
				side_field_float_binary32("price"),
				side_field_float_binary64("total"), side_field_string("name"),
				side_field_string16("name16"), side_field_string32("name32"),
				side_field_string("missing"), side_field_u128("u128"),
				side_field_s128("s128"), side_field_struct("first", item),
				side_field_array("color", rgb), side_field_array("grid", grid),
				side_field_vla("items", items), side_field_vla("empty", bytes),
				side_field_optional("note", optional_text),
				side_field_optional("memo", optional_text),
				side_field_optional("place", optional_point),
				side_field_variant("pay_number", payment),
				side_field_variant("pay_text", payment),
				side_field_variant("pay_point", payment),
				side_field_variant("pay_none", payment),
				side_field_variant("cold", temperature),
				side_field_enum("state", &states, side_elem(side_type_u8())),
				side_field_enum("mood", &states, side_elem(side_type_s32())),
				side_field_enum_bitmap(
						"options", &options, side_elem(side_type_u8())),
				side_field_enum_bitmap("many", &options,
						side_elem(side_type_vla(words16))),
				side_field_gather_struct(
						"parcel", parcel, 0, sizeof(struct parcel), DIRECT),
				side_field_gather_struct("null_parcel", parcel, 0,
						sizeof(struct parcel), DIRECT),
				side_field_gather_array("texts",
						side_elem(side_type_gather_string(0, DIRECT)), 3, 0,
						DIRECT),
				side_field_gather_array("pointers",
						side_elem(side_type_gather_string(0, POINTER)), 3,
						0, DIRECT),
				side_field_gather_vla("shorts", side_elem(GATHER_U(0, 2)), 0,
						DIRECT, side_length(GATHER_U(0, 1))),
				side_field_vla_visitor("numbers", numbers),
				side_field_vla_visitor("words", names),
				side_field_dynamic("anything"), side_field_dynamic("just_five"),
				side_field_dynamic("visited"), side_field_dynamic("fields"),
				side_field_string("dash-name"), ));

void sample_fire(sample_func func, void *priv)
{
	static const char texts[] = "eins\0zwei\0drei";
	static const char *const pointers[] = {"uno", NULL, "tres"};
	static const uint16_t shorts[] = {1000, 2000, 3000};
	static const uint8_t nr_shorts = 3;
	uint32_t weights[] = {7, 8, 9};
	struct parcel box = {
			.id = 5,
			.bits = 0x0e30,
			.street = "Long Lane 1",
			.nr = 3,
			.weights = weights,
			.height = 1.5f,
			.code = "SW1A",
			.state = -3,
			.open = 4,
			.points = {{1, 2}, {-3, 4}},
	};
	const struct parcel *no_parcel = NULL;
	int three = 3, two = 2, app = 0;

	side_arg_define_struct(tea, side_arg_list(side_arg_string("tea"), side_arg_u32(2)));
	side_arg_define_struct(cup, side_arg_list(side_arg_string("cup"), side_arg_u32(40)));
	side_arg_define_struct(here, side_arg_list(side_arg_s32(-1), side_arg_s32(12)));
	side_arg_define_array(
			color, side_arg_list(side_arg_u8(10), side_arg_u8(20), side_arg_u8(30)));
	side_arg_define_array(grey, side_arg_list(side_arg_u8(1), side_arg_u8(1), side_arg_u8(2)));
	side_arg_define_array(grid_arg, side_arg_list(side_arg_array(color), side_arg_array(grey)));
	side_arg_define_vla(items_arg, side_arg_list(side_arg_struct(tea), side_arg_struct(cup)));
	side_arg_define_vla(no_bytes, side_arg_list());
	side_arg_define_vla(many, side_arg_list(side_arg_u16(0), side_arg_u16(1)));
	side_arg_define_optional(note, side_arg_string("unseen"), SIDE_OPTIONAL_DISABLED);
	side_arg_define_optional(memo, side_arg_string("ring twice"), SIDE_OPTIONAL_ENABLED);
	side_arg_define_optional(position, side_arg_struct(here), SIDE_OPTIONAL_ENABLED);
	side_arg_define_variant(pay_number, side_arg_u8(1), side_arg_u64(1999));
	side_arg_define_variant(pay_text, side_arg_u8(2), side_arg_string("card"));
	side_arg_define_variant(pay_point, side_arg_u8(10), side_arg_struct(here));
	side_arg_define_variant(pay_none, side_arg_u8(77), side_arg_u64(1));
	side_arg_define_variant(cold, side_arg_s16(-10), side_arg_string("brr"));
	side_arg_define_vla_visitor(numbers_arg, &three);
	side_arg_define_vla_visitor(words_arg, &two);
	side_arg_dynamic_define_struct_visitor(fields, visit_fields, &app);
	side_arg_dynamic_define_vla_visitor(visited, visit_dynamic, &app);
	side_arg_dynamic_define_vec(list,
			side_arg_list(side_arg_dynamic_u8(1), side_arg_dynamic_string("two"),
					side_arg_dynamic_null(), side_arg_dynamic_s64(-9),
					side_arg_dynamic_u32_be(__builtin_bswap32(77))));
	side_arg_dynamic_define_struct(object,
			side_arg_list(side_arg_dynamic_field("list", side_arg_dynamic_vla(&list)),
					side_arg_dynamic_field("ok", side_arg_dynamic_bool(true)),
					side_arg_dynamic_field("pi",
							side_arg_dynamic_float_binary32(3.25f)),
					side_arg_dynamic_field(
							"raw", side_arg_dynamic_byte(0x41))));

	if (side_tracer_callback_variadic_register(&sample, func, priv, 0) != SIDE_ERROR_OK)
		abort();
	side_event_call_variadic(sample,
			side_arg_list(side_arg_null(), side_arg_bool(true), side_arg_byte(0xa5),
					side_arg_u8(200), side_arg_u16(UINT16_MAX),
					side_arg_u32(4096), side_arg_u64(UINT64_MAX),
					side_arg_s8(INT8_MIN), side_arg_s16(-2),
					side_arg_s32(INT32_MIN), side_arg_s64(INT64_MIN),
					side_arg_u32(__builtin_bswap32(8080)),
					side_arg_pointer((void *)0x1000),
					side_arg_float_binary32(9.5f),
					side_arg_float_binary64(-0.125), side_arg_string("Ada*"),
					side_arg_string16(u"\u20ac 5"),
					side_arg_string32(U"\U0001f4e6"), side_arg_string(NULL),
					side_arg_u128(~(unsigned __int128)0),
					side_arg_s128(-(__int128)5), side_arg_struct(tea),
					side_arg_array(color), side_arg_array(grid_arg),
					side_arg_vla(items_arg), side_arg_vla(no_bytes),
					side_arg_optional(note), side_arg_optional(memo),
					side_arg_optional(position), side_arg_variant(pay_number),
					side_arg_variant(pay_text), side_arg_variant(pay_point),
					side_arg_variant(pay_none), side_arg_variant(cold),
					side_arg_u8(3), side_arg_s32(-2), side_arg_u8(3),
					side_arg_vla(many), side_arg_gather_struct(&box),
					side_arg_gather_struct(no_parcel),
					side_arg_gather_array(texts),
					side_arg_gather_array(pointers),
					side_arg_gather_vla(shorts, &nr_shorts),
					side_arg_vla_visitor(numbers_arg),
					side_arg_vla_visitor(words_arg),
					side_arg_dynamic_struct(&object), side_arg_dynamic_u16(5),
					side_arg_dynamic_vla_visitor(visited),
					side_arg_dynamic_struct_visitor(&fields),
					side_arg_string("dash")),
			side_arg_list(side_arg_dynamic_field(
						      "latency_us", side_arg_dynamic_u32(250)),
					side_arg_dynamic_field("device",
							side_arg_dynamic_string("till 3")),
					side_arg_dynamic_field(
							"object", side_arg_dynamic_struct(&object)),
					side_arg_dynamic_field("u8", side_arg_dynamic_u8(1))));
	if (side_tracer_callback_variadic_unregister(&sample, func, priv, 0) != SIDE_ERROR_OK)
		abort();
}

/* ---- contexts ---- */

static const char *const context_names[] = {"vpid", "procname", "load", "ip", "absent",
		"app:shop:request", "perf:thread:cpu-cycles"};

static int resolve(void *user, const char *name)
{
	unsigned int i;

	(void)user;
	for (i = 0; i < sizeof(context_names) / sizeof(context_names[0]); i++) {
		if (!strcmp(name, context_names[i]))
			return (int)i;
	}
	return -1;
}

static bool load(void *user, int index, const void *caller, struct filter_value *value)
{
	(void)user;
	switch (index) {
	case 0: filter_value_signed(value, 42); return true;
	case 1: filter_value_text(value, "redis-server", FILTER_TERMINATED); return true;
	case 2:
		value->kind = FILTER_DOUBLE;
		value->f = 0.5;
		return true;
	case 3: filter_value_unsigned(value, (uintptr_t)caller); return true;
	case 5: filter_value_text(value, "GET /index", 3); return true;
	case 6: filter_value_unsigned(value, 1000000); return true;
	default: return false;
	}
}

const struct filter_names sample_names = {.resolve = resolve};
const struct filter_contexts sample_contexts = {.load = load};
