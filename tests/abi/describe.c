/* SPDX-License-Identifier: MIT */
/* Prints descriptions as JSON and their fields as text: first known ones, then random ones. */
#include <stdio.h>
#include <string.h>

#include <side/trace.h>

#include "generate.h"

#define K(attr) side_attr_list(side_attr("k", attr))

static side_define_struct(st_pos, side_field_list(side_field_s32("row"), side_field_s32_be("col")));
static side_define_array(ar, side_elem(side_type_struct(st_pos)), 3);
static side_define_vla(vl, side_elem(side_type_array(ar)), side_length(side_type_u16()));
static side_define_optional(op, side_elem(side_type_string()));
static side_define_variant(va, side_type_s8(),
		side_option_list(side_option(-1, side_type_null()),
				side_option_range(0, 6, side_type_u8())));
static side_define_enum(en,
		side_enum_mapping_list(side_enum_mapping_value("minus \"one\"", -1),
				side_enum_mapping_range("low", 0, 9)));
static side_define_enum_bitmap(bm,
		side_enum_bitmap_mapping_list(
				side_enum_bitmap_mapping_range("rest", 1, UINT64_MAX)));
static side_define_struct(st_gather,
		side_field_list(side_field_gather_unsigned_integer(
						"bits", 2, 4, 3, 7, SIDE_TYPE_GATHER_ACCESS_DIRECT),
				side_field_gather_vla("words",
						side_elem(side_type_gather_unsigned_integer(0, 4, 0,
								0, SIDE_TYPE_GATHER_ACCESS_DIRECT)),
						24, SIDE_TYPE_GATHER_ACCESS_POINTER,
						side_length(side_type_gather_unsigned_integer(16, 1,
								0, 0,
								SIDE_TYPE_GATHER_ACCESS_DIRECT)))));

side_static_event_variadic(ev_known, "known", "types", SIDE_LOGLEVEL_NOTICE,
		side_field_list(side_field_u64("count",
						K(side_attr_u128(
								((unsigned __int128)1 << 64) + 1))),
				side_field_bool("ok"), side_field_byte("raw"),
				side_field_pointer("at"),
				side_field_float_binary64(
						"ratio", K(side_attr_float_binary64(0.1))),
				side_field_string16_be("wide", K(side_attr_string16(u"\u20ac"))),
				side_field_struct("pos", st_pos), side_field_vla("path", vl),
				side_field_optional("note", op), side_field_variant("piece", va),
				side_field_enum("color", &en, side_elem(side_type_u8())),
				side_field_enum_bitmap("set", &bm, side_elem(side_type_u32())),
				side_field_gather_struct("packet", st_gather, 8, 32,
						SIDE_TYPE_GATHER_ACCESS_POINTER),
				side_field_dynamic("any"), ),
		side_attr_list(side_attr("bad", side_attr_string("\xff\xc3\xa9\xed\xa0\x80\n\"\\")),
				side_attr("min", side_attr_s64(INT64_MIN)),
				side_attr("yes", side_attr_bool(1))));

static int describe(const struct side_event_description *desc)
{
	struct visit_buffer json, text;

	visit_buffer_heap(&json);
	visit_buffer_heap(&text);
	if (visit_description_json(desc, &json, NULL) || visit_fields_text(desc, &text))
		return 1;
	fwrite(json.data, json.size, 1, stdout);
	/* Random names have arbitrary bytes. */
	if (!strcmp(side_ptr_get(desc->provider_name), "known"))
		printf("\n%.*s", (int)text.size, text.data);
	putchar('\n');
	visit_buffer_free(&json);
	visit_buffer_free(&text);
	return 0;
}

int main(void)
{
	struct side_event_description *desc;
	struct generator generator;
	unsigned int seed;

	if (describe(&ev_known))
		return 1;
	for (seed = 0; seed < 500; seed++) {
		generator_init(&generator, seed + 77777);
		desc = generate_description(&generator);
		if (desc && describe(desc))
			return 1;
		generator_fini(&generator);
	}
	return 0;
}
