/* SPDX-License-Identifier: MIT */
/* One event for each type that a description may have. */
#ifndef TESTS_VALIDATE_WRONG_CALLS_H
#define TESTS_VALIDATE_WRONG_CALLS_H

#include <side/trace.h>

#define DIRECT SIDE_TYPE_GATHER_ACCESS_DIRECT
#define POINTER SIDE_TYPE_GATHER_ACCESS_POINTER

static enum side_visitor_status visit_nothing(
		const struct side_tracer_visitor_ctx *tracer, void *nothing)
{
	(void)tracer;
	(void)nothing;
	return SIDE_VISITOR_STATUS_OK;
}

static side_define_struct(st, side_field_list(side_field_u8("inner")));
static side_define_struct(
		gather_st, side_field_list(side_field_gather_string("inner", 0, POINTER)));
static side_define_array(ar, side_elem(side_type_u8()), 2);
static side_define_vla(vl, side_elem(side_type_struct(st)), side_length(side_type_u32()));
static side_define_optional(op, side_elem(side_type_string()));
static side_define_variant(
		va, side_type_s8(), side_option_list(side_option(-1, side_type_array(ar))));
static side_define_enum(en, side_enum_mapping_list(side_enum_mapping_value("one", 1)));
static side_define_enum_bitmap(
		bm, side_enum_bitmap_mapping_list(side_enum_bitmap_mapping_value("0", 0)));
side_define_static_vla_visitor(
		vv, side_elem(side_type_s32()), side_length(side_type_u32()), visit_nothing, void);

#define GATHER_U32 side_type_gather_unsigned_integer(0, 4, 0, 0, DIRECT)

/*
 * (identifier, label that the argument must have, whether it holds a pointer that is followed,
 * field)
 */
#define EVERY_TYPE(_)                                                                      \
	_(null, NULL, 0, side_field_null("x"))                                             \
	_(bool_, BOOL, 0, side_field_bool("x"))                                            \
	_(u8, U8, 0, side_field_u8("x"))                                                   \
	_(u16, U16, 0, side_field_u16("x"))                                                \
	_(u32, U32, 0, side_field_u32("x"))                                                \
	_(u64, U64, 0, side_field_u64("x"))                                                \
	_(s8, S8, 0, side_field_s8("x"))                                                   \
	_(s16, S16, 0, side_field_s16_be("x"))                                             \
	_(s32, S32, 0, side_field_s32("x"))                                                \
	_(s64, S64, 0, side_field_s64("x"))                                                \
	_(byte, BYTE, 0, side_field_byte("x"))                                             \
	_(pointer, POINTER, 0, side_field_pointer("x"))                                    \
	_(float32, FLOAT_BINARY32, 0, side_field_float_binary32("x"))                      \
	_(float64, FLOAT_BINARY64, 0, side_field_float_binary64("x"))                      \
	_(string, STRING_UTF8, 1, side_field_string("x"))                                  \
	_(string16, STRING_UTF16, 1, side_field_string16("x"))                             \
	_(string32, STRING_UTF32, 1, side_field_string32("x"))                             \
	_(struct_, STRUCT, 1, side_field_struct("x", st))                                  \
	_(variant, VARIANT, 1, side_field_variant("x", va))                                \
	_(optional, OPTIONAL, 1, side_field_optional("x", op))                             \
	_(array, ARRAY, 1, side_field_array("x", ar))                                      \
	_(vla, VLA, 1, side_field_vla("x", vl))                                            \
	_(vla_visitor, VLA_VISITOR, 1, side_field_vla_visitor("x", vv))                    \
	_(enum_, U8, 0, side_field_enum("x", &en, side_elem(side_type_u8())))              \
	_(bitmap, U16, 0, side_field_enum_bitmap("x", &bm, side_elem(side_type_u16())))    \
	_(bitmap_array, ARRAY, 1,                                                          \
			side_field_enum_bitmap("x", &bm, side_elem(side_type_array(ar))))  \
	_(dynamic, DYNAMIC, 0, side_field_dynamic("x"))                                    \
	_(gather_bool, GATHER_BOOL, 1, side_field_gather_bool("x", 0, 1, 0, 0, DIRECT))    \
	_(gather_integer, GATHER_INTEGER, 1,                                               \
			side_field_gather_unsigned_integer("x", 0, 4, 0, 0, POINTER))      \
	_(gather_byte, GATHER_BYTE, 1, side_field_gather_byte("x", 0, DIRECT))             \
	_(gather_pointer, GATHER_POINTER, 1, side_field_gather_pointer("x", 0, DIRECT))    \
	_(gather_float, GATHER_FLOAT, 1, side_field_gather_float("x", 0, 8, DIRECT))       \
	_(gather_string, GATHER_STRING, 1, side_field_gather_string("x", 0, DIRECT))       \
	_(gather_struct, GATHER_STRUCT, 1,                                                 \
			side_field_gather_struct("x", gather_st, 0, 16, DIRECT))           \
	_(gather_array, GATHER_ARRAY, 1,                                                   \
			side_field_gather_array("x", side_elem(GATHER_U32), 2, 0, DIRECT)) \
	_(gather_vla, GATHER_VLA, 1,                                                       \
			side_field_gather_vla("x", side_elem(GATHER_U32), 0, DIRECT,       \
					side_length(GATHER_U32)))                          \
	_(gather_enum, GATHER_INTEGER, 1, side_field_gather_enum("x", en, side_elem(GATHER_U32)))

#define DEFINE_EVENT(_id, _label, _follows, ...) \
	side_static_event(ev_##_id, "w", #_id, SIDE_LOGLEVEL_INFO, side_field_list(__VA_ARGS__));
EVERY_TYPE(DEFINE_EVENT)

struct wrong_event {
	const char *name;
	const char *label_name;
	enum side_type_label label;
	int follows;
	const struct side_event_state *state;
};

#define LIST_EVENT(_id, _label, _follows, ...) \
	{#_id, #_label, SIDE_TYPE_##_label, _follows, &side_event_state__ev_##_id.parent},
static const struct wrong_event wrong_events[] = {EVERY_TYPE(LIST_EVENT)};
#define NR_WRONG_EVENTS (sizeof(wrong_events) / sizeof(wrong_events[0]))

#endif /* TESTS_VALIDATE_WRONG_CALLS_H */
