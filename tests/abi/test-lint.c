/* SPDX-License-Identifier: MIT */
/*
 * Findings about descriptions: for each rule, a description that just obeys it and one that just
 * breaks it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <side/trace.h>

#include "abi/lint.h"
#include "../check.h"

#define DIRECT SIDE_TYPE_GATHER_ACCESS_DIRECT
#define POINTER SIDE_TYPE_GATHER_ACCESS_POINTER

static char shown[8192];
static unsigned int nr_failed;

static void find(void *priv, enum visit_severity severity, const struct visit_node *node,
		const struct visit_error *error)
{
	static const char severities[] = "rwe";
	const char *where = strchr(error->where, '\n');

	(void)priv;
	(void)node;
	CHECK(strlen(shown) < sizeof(shown) - sizeof(*error));
	snprintf(shown + strlen(shown), sizeof(shown) - strlen(shown), "%c %s%s",
			severities[severity], error->what, error->hint[0] ? "" : " (no hint)");
	for (where = where ? where + 1 : NULL; where && *where; where++)
		snprintf(shown + strlen(shown), sizeof(shown) - strlen(shown), "%s%c",
				where[-1] == '\n' ? " @" : "", *where == '\n' ? ',' : *where);
	strcat(shown, "|");
}

static void expect_lint(const struct side_event_description *desc, const char *wanted)
{
	shown[0] = '\0';
	visit_description_lint(desc, 8, find, NULL);
	if (!strcmp(shown, wanted))
		return;
	fprintf(stderr, "%s: %s\nwanted: %s\n", side_ptr_get(desc->event_name), shown, wanted);
	nr_failed++;
}

/* ---- rules of single fields: event, what is found ---- */

#define MEMBERS(id, ...) static side_define_struct(id, side_field_list(__VA_ARGS__));
MEMBERS(m_fit, side_field_gather_unsigned_integer("m", 2, 2, 0, 0, DIRECT))
MEMBERS(m_over, side_field_gather_unsigned_integer("m", 3, 2, 0, 0, DIRECT))
MEMBERS(m_pointer, side_field_gather_byte("m", 8, POINTER))
MEMBERS(m_float, side_field_gather_float("m", 8, 8, DIRECT))
MEMBERS(m_bool, side_field_gather_bool("m", 12, 4, 0, 0, DIRECT))
MEMBERS(m_text, side_field_gather_string("m", 4, DIRECT))
MEMBERS(m_inner, side_field_gather_struct("m", m_fit, 4, 12, DIRECT))
MEMBERS(m_array,
		side_field_gather_array("m",
				side_elem(side_type_gather_unsigned_integer(0, 2, 0, 0, DIRECT)), 3,
				10, DIRECT))
MEMBERS(m_pointers,
		side_field_gather_array(
				"m", side_elem(side_type_gather_byte(0, POINTER)), 2, 0, DIRECT))
static side_define_enum(en, side_enum_mapping_list(side_enum_mapping_value("one", 1)));
MEMBERS(m_enum,
		side_field_gather_enum("m", en,
				side_elem(side_type_gather_unsigned_integer(14, 2, 0, 0, DIRECT))))

#define OVER(member, end, size)                                           \
	"w its member " member " ends at byte " #end ", after the " #size \
	" bytes of the structure @field: \"x\"|"

#define ENUMS(_)                                                                      \
	_(u8_255, side_type_u8(), 255, 255, "")                                       \
	_(u8_256, side_type_u8(), 256, 256, "r label 0 (256 to 256)" REACH)           \
	_(u8_0, side_type_u8(), -5, 0, "")                                            \
	_(u8_minus, side_type_u8(), -5, -1, "r label 0 (-5 to -1)" REACH)             \
	_(s8_127, side_type_s8(), 127, 200, "")                                       \
	_(s8_128, side_type_s8(), 128, 200, "r label 0 (128 to 200)" REACH)           \
	_(s8_minus_128, side_type_s8(), -200, -128, "")                               \
	_(s8_minus_129, side_type_s8(), -200, -129, "r label 0 (-200 to -129)" REACH) \
	_(u32_top, side_type_u32(), 4294967295, 4294967295, "")                       \
	_(u32_over, side_type_u32(), 4294967296, 4294967296,                          \
			"r label 0 (4294967296 to 4294967296)" REACH)                 \
	_(u64_5, side_type_u64(), 5, 6, "")                                           \
	_(u64_minus, side_type_u64(), -6, -5, "")                                     \
	_(s64_5, side_type_s64(), 5, 6, "")
#define REACH " is outside of the range of its integer @field: \"x\"|"
#define GATHERED_ENUMS(_)                                              \
	_(g4_15, 1, 0, 4, 15, 15, "")                                  \
	_(g4_16, 1, 0, 4, 16, 16, "r label 0 (16 to 16)" REACH)        \
	_(g63, 8, 0, 63, 9223372036854775807, 9223372036854775807, "") \
	_(g63_minus, 8, 0, 63, -2, -1, "r label 0 (-2 to -1)" REACH)   \
	_(g64, 8, 0, 64, -2, -1, "")                                   \
	_(g16, 2, 0, 0, 65535, 65535, "")                              \
	_(g16_over, 2, 0, 0, 65536, 65536, "r label 0 (65536 to 65536)" REACH)

#define DEFINE_ENUM(id, type, begin, end, wanted)                                          \
	static side_define_enum(en_##id,                                                   \
			side_enum_mapping_list(side_enum_mapping_range("l", begin, end))); \
	side_static_event(ev_##id, "p", #id, SIDE_LOGLEVEL_DEBUG,                          \
			side_field_list(side_field_enum("x", &en_##id, side_elem(type))));
ENUMS(DEFINE_ENUM)
#define DEFINE_GATHERED(id, size, shift, bits, begin, end, wanted)                         \
	static side_define_enum(en_##id,                                                   \
			side_enum_mapping_list(side_enum_mapping_range("l", begin, end))); \
	side_static_event(ev_##id, "p", #id, SIDE_LOGLEVEL_DEBUG,                          \
			side_field_list(side_field_gather_enum("x", en_##id,               \
					side_elem(side_type_gather_unsigned_integer(       \
							0, size, shift, bits, DIRECT)))));
GATHERED_ENUMS(DEFINE_GATHERED)

static side_define_array(bits_array, side_elem(side_type_u16()), 3);
static side_define_vla(bits_vla, side_elem(side_type_u16()), side_length(side_type_u8()));
#define BITMAPS(_)                                                                                 \
	_(bit_7, side_type_u8(), 7, 99, "")                                                        \
	_(bit_8, side_type_u8(), 8, 99, "r label 0 begins at bit 8, but the integer has 8" BITS)   \
	_(byte_7, side_type_byte(), 7, 7, "")                                                      \
	_(byte_8, side_type_byte(), 8, 8, "r label 0 begins at bit 8, but the integer has 8" BITS) \
	_(array_47, side_type_array(bits_array), 47, 47, "")                                       \
	_(array_48, side_type_array(bits_array), 48, 48,                                           \
			"r label 0 begins at bit 48, but the integer has 48" BITS)                 \
	_(vla_999, side_type_vla(bits_vla), 999, 999, "")                                          \
	_(bit_same, side_type_u8(), 5, 5, "")                                                      \
	_(bit_back, side_type_u8(), 5, 4,                                                          \
			"e the range of label 0 ends (4) before it begins (5) @field: \"x\"|")
#define BITS " bits @field: \"x\"|"
#define DEFINE_BITMAP(id, type, begin, end, wanted)                                        \
	static side_define_enum_bitmap(bm_##id,                                            \
			side_enum_bitmap_mapping_list(                                     \
					side_enum_bitmap_mapping_range("l", begin, end))); \
	side_static_event(ev_##id, "p", #id, SIDE_LOGLEVEL_DEBUG,                          \
			side_field_list(side_field_enum_bitmap("x", &bm_##id, side_elem(type))));
BITMAPS(DEFINE_BITMAP)

/* Two ranges: of an enumeration, and of a variant. */
#define RANGES(_)                                                            \
	_(apart, 1, 4, 5, 9, "", "")                                         \
	_(meet, 1, 5, 5, 9, SHARE(5, 5), COMMON)                             \
	_(apart_back, 5, 9, 1, 4, "", "")                                    \
	_(meet_back, 5, 9, 1, 5, SHARE(5, 5), COMMON)                        \
	_(cross, 1, 6, 4, 9, SHARE(4, 6), COMMON)                            \
	_(cross_back, 4, 9, 1, 6, SHARE(4, 6), COMMON)                       \
	_(equal, 4, 9, 4, 9, "", NEVER)                                      \
	_(inside, 1, 9, 2, 8, "", NEVER)                                     \
	_(inside_lower, 1, 9, 1, 8, "", NEVER)                               \
	_(inside_upper, 1, 9, 2, 9, "", NEVER)                               \
	_(around, 2, 8, 1, 9, "", "")                                        \
	_(around_lower, 2, 8, 2, 9, "", "")                                  \
	_(around_upper, 2, 8, 1, 8, "", "")                                  \
	_(back, 8, 2, 1, 9, BACK("label", 0, 2, 8), BACK("option", 0, 2, 8)) \
	_(back_second, 1, 9, 8, 2, BACK("label", 1, 2, 8), BACK("option", 1, 2, 8))
#define SHARE(from, to) "r labels 0 and 1 share the values " #from " to " #to " @field: \"x\"|"
#define COMMON "r options 0 and 1 have selectors in common; the first one is used @field: \"x\"|"
#define NEVER \
	"w option 1 is never chosen: option 0, which comes first, has all of its selectors @field: \"x\"|"
#define BACK(what, nr, end, begin)                                                  \
	"e the range of " what " " #nr " ends (" #end ") before it begins (" #begin \
	") @field: \"x\"|"
#define DEFINE_RANGES(id, begin, end, other, last, labels, options)                         \
	static side_define_enum(en_##id,                                                    \
			side_enum_mapping_list(side_enum_mapping_range("a", begin, end),    \
					side_enum_mapping_range("b", other, last)));        \
	static side_define_variant(va_##id, side_type_u8(),                                 \
			side_option_list(side_option_range(begin, end, side_type_null()),   \
					side_option_range(other, last, side_type_null()))); \
	side_static_event(ev_##id, "p", #id, SIDE_LOGLEVEL_DEBUG,                           \
			side_field_list(side_field_enum(                                    \
					"x", &en_##id, side_elem(side_type_u8()))));        \
	side_static_event(ev_va_##id, "p", "variant " #id, SIDE_LOGLEVEL_DEBUG,             \
			side_field_list(side_field_variant("x", va_##id)));
RANGES(DEFINE_RANGES)

#define SELECTORS(_)                                                                         \
	_(va_255, side_type_u8(), 255, 255, "")                                              \
	_(va_256, side_type_u8(), 256, 256,                                                  \
			"r option 0 is outside of the range of the selector @field: \"x\"|") \
	_(va_s8, side_type_s8(), -128, -128, "")                                             \
	_(va_s8_over, side_type_s8(), -129, -129,                                            \
			"r option 0 is outside of the range of the selector @field: \"x\"|")
#define DEFINE_SELECTOR(id, type, begin, end, wanted)                                       \
	static side_define_variant(va_##id, type,                                           \
			side_option_list(side_option_range(begin, end, side_type_null()))); \
	side_static_event(ev_##id, "p", #id, SIDE_LOGLEVEL_DEBUG,                           \
			side_field_list(side_field_variant("x", va_##id)));
SELECTORS(DEFINE_SELECTOR)

#define ATTRIBUTES(_)                                                                       \
	_(base_2, "std.integer.base", side_attr_u8(2), "")                                  \
	_(base_8, "std.integer.base", side_attr_s16(8), "")                                 \
	_(base_10, "std.integer.base", side_attr_u64(10), "")                               \
	_(base_16, "std.integer.base", side_attr_u128(16), "")                              \
	_(base_0, "std.integer.base", side_attr_u8(0), BASE("0"))                           \
	_(base_9, "std.integer.base", side_attr_u8(9), BASE("9"))                           \
	_(base_minus, "std.integer.base", side_attr_s8(-8), BASE("-8"))                     \
	_(base_wide, "std.integer.base", side_attr_u128((unsigned __int128)1 << 64 | 16),   \
			BASE("18446744073709551632"))                                       \
	_(base_bool, "std.integer.base", side_attr_bool(1), NO_BASE)                        \
	_(base_none, "std.integer.base", side_attr_null(), NO_BASE)                         \
	_(base_other, "std.integer.bas", side_attr_u8(9), "")                               \
	_(no_key, "", side_attr_u8(9), "w the name of attribute 0 is empty @field: \"x\"|") \
	_(latin_key, "\xe4", side_attr_u8(9),                                               \
			"w the name of attribute 0 is not UTF-8 @field: \"x\"|")            \
	_(latin_text, "k", side_attr_string("\xe4"),                                        \
			"w the string value of attribute 0 is not UTF-8 @field: \"x\"|")    \
	_(no_text, "k", side_attr_string(""), "")                                           \
	_(null_text, "k", side_attr_string(NULL),                                           \
			"w the string value of attribute 0 is NULL @field: \"x\"|")
#define BASE(digits) \
	"w its attribute std.integer.base is " digits ", not 2, 8, 10 or 16 @field: \"x\"|"
#define NO_BASE "w its attribute std.integer.base is not an integer @field: \"x\"|"
#define DEFINE_ATTRIBUTE(id, key, value, wanted)                  \
	side_static_event(ev_##id, "p", #id, SIDE_LOGLEVEL_DEBUG, \
			side_field_list(side_field_u8(            \
					"x", side_attr_list(side_attr(key, value)))));
ATTRIBUTES(DEFINE_ATTRIBUTE)

#define GATHERS(_)                                          \
	_(fit, m_fit, 4, "")                                \
	_(over, m_over, 4, OVER("m", 5, 4))                 \
	_(pointer_fit, m_pointer, 16, "")                   \
	_(pointer_over, m_pointer, 15, OVER("m", 16, 15))   \
	_(float_fit, m_float, 16, "")                       \
	_(float_over, m_float, 15, OVER("m", 16, 15))       \
	_(bool_fit, m_bool, 16, "")                         \
	_(bool_over, m_bool, 15, OVER("m", 16, 15))         \
	_(text_open, m_text, 4, "")                         \
	_(text_fit, m_text, 5, "")                          \
	_(text_over, m_text, 3, OVER("m", 5, 3))            \
	_(inner_fit, m_inner, 16, "")                       \
	_(inner_over, m_inner, 15, OVER("m", 16, 15))       \
	_(array_fit, m_array, 16, "")                       \
	_(array_over, m_array, 15, OVER("m", 16, 15))       \
	_(pointers_fit, m_pointers, 16, "")                 \
	_(pointers_over, m_pointers, 15, OVER("m", 16, 15)) \
	_(enum_fit, m_enum, 16, "")                         \
	_(enum_over, m_enum, 15, OVER("m", 16, 15))
#define DEFINE_GATHER(id, structure, size, wanted)                \
	side_static_event(ev_##id, "p", #id, SIDE_LOGLEVEL_DEBUG, \
			side_field_list(side_field_gather_struct( \
					"x", structure, 0, size, DIRECT)));
GATHERS(DEFINE_GATHER)

static void rules(void)
{
#define RUN_ENUM(id, type, begin, end, wanted) expect_lint(&ev_##id, wanted);
	ENUMS(RUN_ENUM)
#define RUN_GATHERED(id, size, shift, bits, begin, end, wanted) expect_lint(&ev_##id, wanted);
	GATHERED_ENUMS(RUN_GATHERED)
	BITMAPS(RUN_ENUM)
#define RUN_RANGES(id, begin, end, other, last, labels, options) \
	expect_lint(&ev_##id, labels);                           \
	expect_lint(&ev_va_##id, options);
	RANGES(RUN_RANGES)
	SELECTORS(RUN_ENUM)
#define RUN_ATTRIBUTE(id, key, value, wanted) expect_lint(&ev_##id, wanted);
	ATTRIBUTES(RUN_ATTRIBUTE)
	GATHERS(RUN_ATTRIBUTE)
}

/* ---- the event itself ---- */

side_static_event(ev_head, "provider", "event", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_byte("x",
						side_attr_list(side_attr("k", side_attr_s64(1)))),
				side_field_dynamic("y")));

static void head(void)
{
	struct side_event_description desc;

#define RESET memcpy(&desc, &ev_head, sizeof(desc))
	RESET;
	expect_lint(&desc, "");
	side_enum_set(desc.loglevel, 8);
	expect_lint(&desc, "e the log level 8 is unknown|");
	RESET;
	desc.flags = SIDE_EVENT_FLAG_VARIADIC;
	expect_lint(&desc, "");
	desc.flags = UINT64_C(1) << 63 | SIDE_EVENT_FLAG_VARIADIC;
	expect_lint(&desc, "w the flags 0x8000000000000000 are unknown|");
	RESET;
	desc.nr_side_type_label = _NR_SIDE_TYPE_LABEL;
	desc.nr_side_attr_type = _NR_SIDE_ATTR_TYPE;
	expect_lint(&desc, "");
	desc.nr_side_type_label++;
	expect_lint(&desc,
			"w it was compiled with 52 types and 17 attribute types, of which 51 and 17 are known|");
	desc.nr_side_type_label--;
	desc.nr_side_attr_type++;
	expect_lint(&desc,
			"w it was compiled with 51 types and 18 attribute types, of which 51 and 17 are known|");
	/* The newest type is DYNAMIC, the newest attribute S64. */
	RESET;
	desc.nr_side_type_label = SIDE_TYPE_DYNAMIC + 1;
	desc.nr_side_attr_type = SIDE_ATTR_TYPE_S64 + 1;
	expect_lint(&desc, "");
	desc.nr_side_type_label--;
	expect_lint(&desc, "w it declares 29 types, and has type 29 (DYNAMIC)|");
	desc.nr_side_type_label++;
	desc.nr_side_attr_type--;
	expect_lint(&desc, "w it declares 10 types of attributes, and has type 10 (S64)|");
	RESET;
	side_ptr_set(desc.provider_name, "");
	expect_lint(&desc, "e the name of its provider is empty|");
	side_ptr_set(desc.provider_name, "\xff");
	expect_lint(&desc, "w the name of its provider is not UTF-8|");
	RESET;
	side_ptr_set(desc.event_name, "");
	expect_lint(&desc, "e its name is empty|");
	side_ptr_set(desc.event_name, "\xff");
	expect_lint(&desc, "w its name is not UTF-8|");
}

static void fields(void)
{
	static const char *const names[][5] = {{"a", "b", "c", "d", "e"}, {"a", "b", "c", "b", "e"},
			{"b", "b", "c", "b", "b"}, {"e", "d", "d", "e", "f"},
			{"", "b", "", "c", "d"}};
	static const char *const wanted[] = {"", "e several fields are called \"b\"|",
			"e several fields are called \"b\"|",
			"e several fields are called \"d\"|e several fields are called \"e\"|",
			"e the name of field 0 is empty|e the name of field 2 is empty|"};
	struct side_event_description desc;
	struct side_event_field all[5];

	memcpy(&desc, &ev_head, sizeof(desc));
	side_ptr_set(desc.fields.elements, all);
	desc.fields.length = 5;
	for (unsigned int row = 0; row < sizeof(wanted) / sizeof(*wanted); row++) {
		for (unsigned int i = 0; i < 5; i++) {
			all[i] = side_ptr_get(ev_head.fields.elements)[1];
			side_ptr_set(all[i].field_name, names[row][i]);
		}
		expect_lint(&desc, wanted[row]);
	}
	/* A pointer in a program of 32 bits. */
	memset(&all[0].side_type, 0, sizeof(all[0].side_type));
	side_ptr_set(all[0].field_name, "p");
	side_enum_set(all[0].side_type.type, SIDE_TYPE_POINTER);
	all[0].side_type.u.side_integer.integer_size = 4;
	desc.fields.length = 1;
	expect_lint(&desc,
			"w a pointer of 4 bytes is described in a program whose pointers have 8 @field: \"p\"|");
	shown[0] = '\0';
	visit_description_lint(&desc, 4, find, NULL);
	CHECK(!shown[0]);
}

/* ---- many of one list: the first 256 are compared with each other ---- */

#define MANY 302

static struct option_fill {
	int64_t begin, end;
	struct side_type type;
} SIDE_PACKED options[MANY];
static struct side_enum_mapping mappings[MANY];
static struct attribute_fill {
	struct side_type_raw_string key;
	struct side_attr_value value;
} SIDE_PACKED attributes[MANY];
static char names[MANY][8];
static struct side_enum_mappings table;
static struct variant_fill {
	side_array_t(const struct side_variant_option) options;
	struct side_type selector;
	side_array_t(const struct side_attr) attributes;
} SIDE_PACKED variant;

static void fill(void)
{
	memset(attributes, 0, sizeof(attributes));
	for (unsigned int i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "n%u", i);
		options[i].begin = options[i].end = mappings[i].range_begin =
				mappings[i].range_end = 10 * (int)i;
		side_ptr_set(mappings[i].label.p, names[i]);
		mappings[i].label.unit_size = attributes[i].key.unit_size = 1;
		attributes[i].key = mappings[i].label;
	}
}

static void many(void)
{
	static struct side_type u16;
	struct side_event_description desc;
	struct side_event_field field;

	memcpy(&desc, &ev_head, sizeof(desc));
	side_ptr_set(desc.fields.elements, &field);
	desc.fields.length = 1;
	memset(&field, 0, sizeof(field));
	side_ptr_set(field.field_name, "x");
	side_enum_set(u16.type, SIDE_TYPE_U16);
	u16.u.side_integer.integer_size = 2;
	side_ptr_set(table.mappings.elements, mappings);
	table.mappings.length = MANY;
	side_enum_set(field.side_type.type, SIDE_TYPE_ENUM);
	side_ptr_set(field.side_type.u.side_enum.mappings, &table);
	side_ptr_set(field.side_type.u.side_enum.elem_type, &u16);
	fill();
	expect_lint(&desc, "");
	side_ptr_set(mappings[256].label.p, "n7");
	mappings[256].range_begin = 2545;
	expect_lint(&desc, "");
	side_ptr_set(mappings[255].label.p, "n7");
	mappings[7].range_end = 75;
	mappings[255].range_begin = 74;
	expect_lint(&desc,
			"r labels 7 and 255 have the same text @field: \"x\"|"
			"r labels 7 and 255 share the values 74 to 75 @field: \"x\"|");
	fill();
	side_enum_set(field.side_type.type, SIDE_TYPE_ENUM_BITMAP);
	for (unsigned int i = 0; i < MANY; i++)
		mappings[i].range_begin = mappings[i].range_end = i % 16;
	side_ptr_set(mappings[256].label.p, "n7");
	expect_lint(&desc, "");
	side_ptr_set(mappings[255].label.p, "n7");
	expect_lint(&desc, "r labels 7 and 255 have the same text @field: \"x\"|");
	fill();
	side_enum_set(field.side_type.type, SIDE_TYPE_VARIANT);
	side_ptr_set(field.side_type.u.side_variant,
			(const struct side_type_variant *)(void *)&variant);
	variant.selector = u16;
	side_ptr_set(variant.options.elements, (const struct side_variant_option *)(void *)options);
	variant.options.length = MANY;
	expect_lint(&desc, "");
	options[256].begin = options[256].end = 70;
	expect_lint(&desc, "");
	options[255].begin = options[255].end = 70;
	expect_lint(&desc,
			"w option 255 is never chosen: option 7, which comes first, has all of its selectors @field: \"x\"|");
	/* The first of several that it overlaps. */
	fill();
	options[7].end = 75;
	options[8].begin = 76;
	options[255].begin = 73;
	options[255].end = 77;
	expect_lint(&desc,
			"r options 7 and 255 have selectors in common; the first one is used @field: \"x\"|");
	memset(&field.side_type, 0, sizeof(field.side_type));
	side_enum_set(field.side_type.type, SIDE_TYPE_NULL);
	side_ptr_set(field.side_type.u.side_null.attributes.elements,
			(const struct side_attr *)(void *)attributes);
	field.side_type.u.side_null.attributes.length = MANY;
	fill();
	expect_lint(&desc, "");
	side_ptr_set(attributes[256].key.p, "n7");
	expect_lint(&desc, "");
	side_ptr_set(attributes[255].key.p, "n7");
	expect_lint(&desc,
			"r attribute 255 has the name of attribute 7, which is used instead @field: \"x\"|");
	/* A boolean attribute is 0 or 1. */
	field.side_type.u.side_null.attributes.length = 1;
	side_enum_set(attributes[0].value.type, SIDE_ATTR_TYPE_BOOL);
	attributes[0].value.u.bool_value = 1;
	expect_lint(&desc, "");
	attributes[0].value.u.bool_value = 2;
	expect_lint(&desc, "w attribute 0 is a boolean of 2 @field: \"x\"|");
}

/* ---- texts ---- */

static void utf8(void)
{
	static const struct {
		const char *text;
		bool is_utf8;
	} cases[] = {{"", true}, {"az\x7f", true}, {"\x80", false}, {"\xbf", false},
			{"\xc1\xbf", false}, {"\xc2\x80", true}, {"\xdf\xbf", true},
			{"\xc2", false}, {"\xc2\x7f", false}, {"\xc2\xc0", false},
			{"\xe0\x9f\xbf", false}, {"\xe0\xa0\x80", true}, {"\xe1\x80", false},
			{"\xe1\x80\xc0", false}, {"\xec\xbf\xbf", true}, {"\xed\x9f\xbf", true},
			{"\xed\xa0\x80", false}, {"\xee\x80\x80", true}, {"\xef\xbf\xbf", true},
			{"\xf0\x8f\xbf\xbf", false}, {"\xf0\x90\x80\x80", true},
			{"\xf1\x80\x80", false}, {"\xf3\xbf\xbf\xbf", true},
			{"\xf4\x8f\xbf\xbf", true}, {"\xf4\x90\x80\x80", false},
			{"\xf5\x80\x80\x80", false}, {"\xff", false}};

	CHECK(!lint_is_utf8(NULL));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct visit_buffer json;
		size_t size = strlen(cases[i].text);

		CHECK(lint_is_utf8(cases[i].text) == cases[i].is_utf8);
		/* The same in JSON: bytes that are not UTF-8 are escaped. */
		visit_buffer_heap(&json);
		CHECK(!visit_json_string(&json, cases[i].text, size));
		CHECK(json.size >= 2 && json.data[0] == '"' && json.data[json.size - 1] == '"');
		if (cases[i].is_utf8 && i != 1)
			CHECK(json.size == size + 2 && !memcmp(json.data + 1, cases[i].text, size));
		else
			CHECK(memchr(json.data, '\\', json.size));
		/* Truncated within a character. */
		if (cases[i].is_utf8 && size > 1 && i != 1) {
			json.size = 0;
			CHECK(!visit_json_string(&json, cases[i].text, size - 1));
			CHECK(json.size == 2 + 6 * (size - 1));
		}
		visit_buffer_free(&json);
	}
}

static void escapes(void)
{
	static const char text[] = "\x1f \"\\\x7e\x7f\x80\xff\n";
	static const char wanted[] = "\"\\u001f \\\"\\\\~\\u007f\\u0080\\u00ff\\u000a\"";
	struct visit_buffer json;

	visit_buffer_heap(&json);
	CHECK(!visit_json_string(&json, text, sizeof(text) - 1));
	CHECK(json.size == sizeof(wanted) - 1 && !memcmp(json.data, wanted, json.size));
	visit_buffer_free(&json);
}

int main(void)
{
	rules();
	head();
	fields();
	many();
	utf8();
	escapes();
	return nr_failed != 0;
}
