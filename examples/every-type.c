/* SPDX-License-Identifier: MIT */
/*
 * Every SIDE type in one program: a small shop that tells what it does.
 *
 *   side record -o trace ./every-type && side view trace
 *   every-type [ROUNDS]
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <side/trace.h>

/* Scalars, with a few of the foreign byte orders. */
side_static_event(event_scalars, "shop", "scalars", SIDE_LOGLEVEL_DEBUG,
	side_field_list(
		side_field_null("nothing"),
		side_field_bool("open"),
		side_field_byte("raw"),
		side_field_u8("u8"),
		side_field_u16("u16"),
		side_field_u32("u32"),
		side_field_u64("u64"),
		side_field_s8("s8"),
		side_field_s16("s16"),
		side_field_s32("s32"),
		side_field_s64("s64"),
		side_field_u32_be("port_be"),
		side_field_pointer("address"),
		side_field_float_binary32("price"),
		side_field_float_binary64("total"),
		side_field_string("customer"),
		side_field_u16("mode", side_attr_list(side_attr("std.integer.base", side_attr_u8(8)))),
	)
);

#ifdef __SIZEOF_INT128__
side_static_event(event_wide, "shop", "wide", SIDE_LOGLEVEL_DEBUG,
	side_field_list(side_field_u128("u128"), side_field_s128("s128")));
#endif

side_static_event(event_text, "shop", "text", SIDE_LOGLEVEL_INFO,
	side_field_list(
		side_field_string("utf8"),
		side_field_string16("utf16"),
		side_field_string32("utf32"),
	)
);

/* Compound types. */
static side_define_struct(struct_item,
	side_field_list(side_field_string("name"), side_field_u32("count")));
static side_define_array(array_rgb, side_elem(side_type_u8()), 3);
static side_define_vla(vla_items, side_elem(side_type_struct(struct_item)), side_length(side_type_u32()));
static side_define_optional(optional_note, side_elem(side_type_string()));
static side_define_variant(variant_payment, side_type_u8(),
	side_option_list(
		side_option(0, side_type_null()),
		side_option(1, side_type_u64()),
		side_option_range(2, 9, side_type_string()),
	)
);
static side_define_enum(enum_state,
	side_enum_mapping_list(
		side_enum_mapping_value("new", 0),
		side_enum_mapping_range("in work", 1, 3),
		side_enum_mapping_value("packed", 3),
		side_enum_mapping_value("done", 4),
	)
);
static side_define_enum_bitmap(bitmap_flags,
	side_enum_bitmap_mapping_list(
		side_enum_bitmap_mapping_value("gift", 0),
		side_enum_bitmap_mapping_value("express", 1),
		side_enum_bitmap_mapping_range("reserved", 2, 7),
	)
);

side_static_event(event_order, "shop", "order", SIDE_LOGLEVEL_INFO,
	side_field_list(
		side_field_struct("first", struct_item),
		side_field_array("color", array_rgb),
		side_field_vla("items", vla_items),
		side_field_optional("note", optional_note),
		side_field_variant("payment", variant_payment),
		side_field_enum("state", &enum_state, side_elem(side_type_u8())),
		side_field_enum_bitmap("flags", &bitmap_flags, side_elem(side_type_u8())),
	),
	side_attr_list(side_attr("shop.topic", side_attr_string("orders")))
);

/* Gathered memory: the description says where the data stands in the program's own structure. */
struct parcel {
	uint16_t id;
	uint16_t bits; /* bits 4..7: priority */
	const char *street;
	uint8_t nr;
	uint32_t *weights;
	float height;
	char code[8];
};

static side_define_struct(struct_parcel,
	side_field_list(
		side_field_gather_unsigned_integer("id", offsetof(struct parcel, id),
			side_struct_field_sizeof(struct parcel, id), 0, 0,
			SIDE_TYPE_GATHER_ACCESS_DIRECT),
		side_field_gather_unsigned_integer("priority", offsetof(struct parcel, bits),
			side_struct_field_sizeof(struct parcel, bits), 4, 4,
			SIDE_TYPE_GATHER_ACCESS_DIRECT),
		side_field_gather_string("street", offsetof(struct parcel, street),
			SIDE_TYPE_GATHER_ACCESS_POINTER),
		side_field_gather_vla("weights",
			side_elem(side_type_gather_unsigned_integer(0, sizeof(uint32_t), 0, 0,
				SIDE_TYPE_GATHER_ACCESS_DIRECT)),
			offsetof(struct parcel, weights), SIDE_TYPE_GATHER_ACCESS_POINTER,
			side_length(side_type_gather_unsigned_integer(offsetof(struct parcel, nr),
				sizeof(uint8_t), 0, 0, SIDE_TYPE_GATHER_ACCESS_DIRECT))),
		side_field_gather_float("height", offsetof(struct parcel, height),
			side_struct_field_sizeof(struct parcel, height),
			SIDE_TYPE_GATHER_ACCESS_DIRECT),
		side_field_gather_string("code", offsetof(struct parcel, code),
			SIDE_TYPE_GATHER_ACCESS_DIRECT),
	)
);

side_static_event(event_parcel, "shop", "parcel", SIDE_LOGLEVEL_NOTICE,
	side_field_list(
		side_field_gather_struct("parcel", struct_parcel, 0, sizeof(struct parcel),
			SIDE_TYPE_GATHER_ACCESS_DIRECT),
	)
);

/* A visitor: the program walks its own list, one element at a time. */
struct queue {
	int32_t number;
	struct queue *next;
};

static enum side_visitor_status walk_queue(const struct side_tracer_visitor_ctx *tracer,
		struct queue *queue)
{
	for (; queue; queue = queue->next) {
		const struct side_arg element = side_visit_dynamic_arg(side_arg_s32, queue->number);

		if (tracer->write_elem(tracer, &element) != SIDE_VISITOR_STATUS_OK)
			return SIDE_VISITOR_STATUS_ERROR;
	}
	return SIDE_VISITOR_STATUS_OK;
}

side_define_static_vla_visitor(visitor_queue, side_elem(side_type_s32()), side_length(side_type_u32()),
	walk_queue, struct queue);
side_static_event(event_queue, "shop", "queue", SIDE_LOGLEVEL_DEBUG,
	side_field_list(side_field_vla_visitor("waiting", visitor_queue)));

/* Types that are known only when the event happens, and fields that are. */
side_static_event(event_dynamic, "shop", "dynamic", SIDE_LOGLEVEL_DEBUG,
	side_field_list(side_field_dynamic("anything")));
side_static_event_variadic(event_log, "shop", "log", SIDE_LOGLEVEL_WARNING,
	side_field_list(side_field_string("message")));

static void fire_scalars(uint32_t round)
{
	side_event(event_scalars,
		side_arg_list(
			side_arg_null(),
			side_arg_bool(round % 2),
			side_arg_byte(0xa5),
			side_arg_u8(UINT8_MAX),
			side_arg_u16(UINT16_MAX),
			side_arg_u32(round),
			side_arg_u64(UINT64_MAX),
			side_arg_s8(INT8_MIN),
			side_arg_s16(INT16_MIN),
			side_arg_s32(INT32_MIN),
			side_arg_s64(INT64_MIN),
			side_arg_u32(__builtin_bswap32(8080)),
			side_arg_pointer(&event_scalars),
			side_arg_float_binary32(9.5f),
			side_arg_float_binary64(-0.125),
			side_arg_string("Ada"),
			side_arg_u16(0644),
		)
	);
#ifdef __SIZEOF_INT128__
	side_event(event_wide,
		side_arg_list(side_arg_u128(~(unsigned __int128) 0), side_arg_s128(-(__int128) round)));
#endif
	side_event(event_text,
		side_arg_list(side_arg_string("caf\xc3\xa9"), side_arg_string16(u"\u20ac 5"),
			side_arg_string32(U"\U0001f4e6")));
}

static void fire_order(uint32_t round)
{
	if (side_event_enabled(event_order)) {
		side_arg_define_struct(tea, side_arg_list(side_arg_string("tea"), side_arg_u32(2)));
		side_arg_define_struct(cup, side_arg_list(side_arg_string("cup"), side_arg_u32(round)));
		side_arg_define_array(color,
			side_arg_list(side_arg_u8(10), side_arg_u8(20), side_arg_u8(30)));
		side_arg_define_vla(items, side_arg_list(side_arg_struct(tea), side_arg_struct(cup)));
		side_arg_define_optional(note, side_arg_string("ring twice"),
			round % 2 ? SIDE_OPTIONAL_ENABLED : SIDE_OPTIONAL_DISABLED);
		side_arg_define_variant(payment, side_arg_u8(1), side_arg_u64(1999));

		side_event_call(event_order,
			side_arg_list(
				side_arg_struct(tea),
				side_arg_array(color),
				side_arg_vla(items),
				side_arg_optional(note),
				side_arg_variant(payment),
				side_arg_u8((uint8_t) (round % 6)),
				side_arg_u8(3),
			)
		);
	}
}

static void fire_memory(void)
{
	uint32_t weights[] = { 7, 8, 9 };
	struct parcel parcel = { 5, 0x0030, "Long Lane 1", 3, weights, 1.5f, "SW1A" };
	struct queue last = { 2, NULL }, first = { 1, &last };

	side_event(event_parcel, side_arg_list(side_arg_gather_struct(&parcel)));
	if (side_event_enabled(event_queue)) {
		side_arg_define_vla_visitor(waiting, &first);
		side_event_call(event_queue, side_arg_list(side_arg_vla_visitor(waiting)));
	}
}

static void fire_dynamic(uint32_t round)
{
	if (side_event_enabled(event_dynamic)) {
		side_arg_dynamic_define_vec(list,
			side_arg_list(side_arg_dynamic_u8(1), side_arg_dynamic_string("two"),
				side_arg_dynamic_null()));
		side_arg_dynamic_define_struct(object,
			side_arg_list(
				side_arg_dynamic_field("list", side_arg_dynamic_vla(&list)),
				side_arg_dynamic_field("ok", side_arg_dynamic_bool(true)),
			)
		);
		side_event_call(event_dynamic, side_arg_list(side_arg_dynamic_struct(&object)));
	}
	side_event_variadic(event_log,
		side_arg_list(side_arg_string("till is slow")),
		side_arg_list(
			side_arg_dynamic_field("latency_us", side_arg_dynamic_u32(round)),
			side_arg_dynamic_field("device", side_arg_dynamic_string("till 3")),
		)
	);
}

int main(int argc, char **argv)
{
	const uint32_t rounds = argc > 1 ? (uint32_t) strtoul(argv[1], NULL, 0) : 10;
	uint32_t round;

	for (round = 0; round < rounds; round++) {
		fire_scalars(round);
		fire_order(round);
		fire_memory();
		fire_dynamic(round);
	}
	printf("%u rounds\n", rounds);
	return 0;
}
