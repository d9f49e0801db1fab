/* SPDX-License-Identifier: MIT */
/*
 * SIDE: the instrumentation API.
 *
 * Describe an event once, at file scope, and emit it anywhere after that:
 *
 *	side_static_event(ev_tick, "clockwork", "tick", SIDE_LOGLEVEL_INFO,
 *		side_field_list(side_field_u64("count"), side_field_string("unit")));
 *	...
 *	side_event(ev_tick, side_arg_list(side_arg_u64(12), side_arg_string("minute")));
 *
 * Most macros accept side_attr_list(...) as an optional last argument (side_dynamic_attr_list(...)
 * for dynamic values). Lists may be empty and may end with one comma. A user macro may expand to
 * one or several elements of a list. Arguments are evaluated once, in order, and only if the event
 * is enabled; they are borrowed until the call returns. Emission is thread-safe and
 * async-signal-safe, keeps errno if the tracer does, and reports no errors.
 *
 * Unless SIDE_STATIC_CHECK_DISABLE is defined, side/static-check.h compares arguments with fields
 * at compile time.
 */
#ifndef SIDE_API_H
#define SIDE_API_H

#pragma GCC system_header

#include <side/instrumentation-c-api.h>

/*
 * Expansions of the names below. An argument is an expression. A type is "(class, initialiser)":
 * the class is a C type that represents the type of the value in the static checker.
 */
#ifdef SIDE_STATIC_CHECK_DISABLE
#if SIDE_HAVE_SDT
/* Markers also need the class of each field. */
#define SIDE_CLASS(_class) (struct side_##_class *, )
#define SIDE_CLASS_DYNAMIC (struct side_arg_dynamic_value *, )
#define SIDE_CLASS_OF(...) (void *, )
#define SIDE_CLASS_ELEM(_type) SIDE_CLASS_ELEM_I _type
#define SIDE_CLASS_ELEM_I(_class, ...) _class
#define SIDE_CLASS_OPTIONAL_LITERAL(...) (void *, )
#define SIDE_EL_FIELD(_class, _name, ...) (_class, _name, __VA_ARGS__)
#define SIDE_EL_BITMAP_FIELD(_class, _name, ...) (_class, _name, __VA_ARGS__)
#define SIDE_EL_FIELD_OF(_class, _name, _type, _attr) (_class, _name, _type(_attr))
#define SIDE_FIELDS_INIT(_fields) SIDE_MAP(SIDE_DO_FIELD_INIT, , SIDE_UNPAREN _fields)
#define SIDE_DO_FIELD_INIT(_ctx, _i, _field) SIDE_FIELD_INIT_I _field
#define SIDE_FIELD_INIT_I(_class, _name, ...) _side_field(_name, __VA_ARGS__),
#else
#define SIDE_CLASS(...)
#define SIDE_CLASS_OF(...)
#define SIDE_CLASS_ELEM(...)
#define SIDE_CLASS_OPTIONAL_LITERAL(...)
#define SIDE_EL_FIELD(_class, _name, ...) _side_field(_name, __VA_ARGS__)
#define SIDE_EL_BITMAP_FIELD(_class, _name, ...) _side_field(_name, __VA_ARGS__)
#define SIDE_EL_FIELD_OF(_class, _name, _type, _attr) _side_field(_name, _type(_attr))
#define SIDE_FIELDS_INIT(_fields) SIDE_UNPAREN _fields
#endif
#define SIDE_CLASS_OF_ARG(...)
#define SIDE_EL_ARG(_class, ...) ((void) 0, __VA_ARGS__)
#define SIDE_EL_OPTION(_begin, _end, _type) _side_option_range(_begin, _end, SIDE_TYPE_INIT(_type))
#define SIDE_OPTIONS_INIT(_options) _options
#define SIDE_CHECK_DECLARED_EVENT(...) SIDE_EXPECT_SEMICOLON()
#define SIDE_CHECK_ARRAY(...) SIDE_EXPECT_SEMICOLON()
#define SIDE_CHECK_VLA(...) SIDE_EXPECT_SEMICOLON()
#define SIDE_CHECK_OPTIONAL(...) SIDE_EXPECT_SEMICOLON()
#define SIDE_CHECK_VARIANT(...) SIDE_EXPECT_SEMICOLON()
#define SIDE_CHECK_VLA_VISITOR(...) SIDE_EXPECT_SEMICOLON()
#define SIDE_CHECK_ARG_VEC(...) SIDE_EXPECT_SEMICOLON()
#define SIDE_CHECK_ARG_STRUCT(...) SIDE_EXPECT_SEMICOLON()
#define SIDE_CHECK_ARG_ARRAY(...) SIDE_EXPECT_SEMICOLON()
#define SIDE_CHECK_ARG_VLA(...) SIDE_EXPECT_SEMICOLON()
#define SIDE_CHECK_ARG_OPTIONAL(...) SIDE_EXPECT_SEMICOLON()
#define SIDE_CHECK_ARG_VARIANT(...) SIDE_EXPECT_SEMICOLON()
#define SIDE_CHECK_ARG_VLA_VISITOR(...) SIDE_EXPECT_SEMICOLON()
#define SIDE_CHECKED_CALL(_emit, _flags, _with, _identifier, _sav, _none, ...)                     \
	do {                                                                                       \
		_emit(_identifier, _with, _sav _none)                                              \
	} while (0)
#else
#include <side/static-check.h>
#endif

#define SIDE_EL_TYPE(_class, ...) (_class, __VA_ARGS__)
#define SIDE_TYPE_INIT_I(_class, ...) __VA_ARGS__
#define SIDE_TYPE_INIT(_type) SIDE_TYPE_INIT_I _type
/* Pointer to the type in side_elem() or side_length(). */
#define SIDE_ELEM_PTR(_elem) (_side_elem(SIDE_TYPE_INIT(_elem)))

/* Lists and wrappers */
#define side_field_list(...) (__VA_ARGS__)
#define side_arg_list(...) (__VA_ARGS__)
#define side_option_list(...) (__VA_ARGS__)
#define side_enum_mapping_list(...) (__VA_ARGS__)
#define side_enum_bitmap_mapping_list(...) (__VA_ARGS__)
#define side_elem(...) __VA_ARGS__
#define side_length(...) __VA_ARGS__
#define side_attr_list(...) SIDE_ATTR_LIST(_side_attr_list, __VA_ARGS__)
#define side_dynamic_attr_list(...) SIDE_ATTR_LIST(_side_dynamic_attr_list, __VA_ARGS__)
#define SIDE_ATTR_LIST(_list, ...) _list(__VA_ARGS__)

/* Attributes */
#define side_attr(_name, ...) _side_attr(_name, __VA_ARGS__)
#define side_attr_bool(_val) _side_attr_bool(_val)
#define side_attr_u8(_val) _side_attr_u8(_val)
#define side_attr_u16(_val) _side_attr_u16(_val)
#define side_attr_u32(_val) _side_attr_u32(_val)
#define side_attr_u64(_val) _side_attr_u64(_val)
#define side_attr_u128(_val) _side_attr_u128(_val)
#define side_attr_s8(_val) _side_attr_s8(_val)
#define side_attr_s16(_val) _side_attr_s16(_val)
#define side_attr_s32(_val) _side_attr_s32(_val)
#define side_attr_s64(_val) _side_attr_s64(_val)
#define side_attr_s128(_val) _side_attr_s128(_val)
#define side_attr_float_binary16(_val) _side_attr_float_binary16(_val)
#define side_attr_float_binary32(_val) _side_attr_float_binary32(_val)
#define side_attr_float_binary64(_val) _side_attr_float_binary64(_val)
#define side_attr_float_binary128(_val) _side_attr_float_binary128(_val)
#define side_attr_string(_val) _side_attr_string(_val)
#define side_attr_string16(_val) _side_attr_string16(_val)
#define side_attr_string32(_val) _side_attr_string32(_val)
#define side_attr_null() _side_attr_null()

/*
 * Scalar fields and types: side_field_X(name [, attr]), side_type_X([attr]). The forms _le and _be
 * describe a value that the caller passes in that byte order, with the plain side_arg_X().
 */
#define SIDE_FIELD_BASIC(_class, _type, _name, _attr, ...)                                         \
	SIDE_EL_FIELD_OF(SIDE_CLASS(_class), _name, _type, _attr)
#define SIDE_TYPE_BASIC(_class, ...) SIDE_EL_TYPE(SIDE_CLASS(_class), __VA_ARGS__)
#define side_field_null(...)                                                                       \
	SIDE_FIELD_BASIC(arg_null, _side_type_null, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_null(...) SIDE_TYPE_BASIC(arg_null, _side_type_null(__VA_ARGS__))
#define side_field_bool(...)                                                                       \
	SIDE_FIELD_BASIC(arg_bool, _side_type_bool, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_bool(...) SIDE_TYPE_BASIC(arg_bool, _side_type_bool(__VA_ARGS__))
#define side_field_byte(...)                                                                       \
	SIDE_FIELD_BASIC(arg_byte, _side_type_byte, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_byte(...) SIDE_TYPE_BASIC(arg_byte, _side_type_byte(__VA_ARGS__))
#define side_field_u8(...) SIDE_FIELD_BASIC(arg_u8, _side_type_u8, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_u8(...) SIDE_TYPE_BASIC(arg_u8, _side_type_u8(__VA_ARGS__))
#define side_field_u16(...) SIDE_FIELD_BASIC(arg_u16, _side_type_u16, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_u16(...) SIDE_TYPE_BASIC(arg_u16, _side_type_u16(__VA_ARGS__))
#define side_field_u16_le(...)                                                                     \
	SIDE_FIELD_BASIC(arg_u16, _side_type_u16_le, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_u16_le(...) SIDE_TYPE_BASIC(arg_u16, _side_type_u16_le(__VA_ARGS__))
#define side_field_u16_be(...)                                                                     \
	SIDE_FIELD_BASIC(arg_u16, _side_type_u16_be, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_u16_be(...) SIDE_TYPE_BASIC(arg_u16, _side_type_u16_be(__VA_ARGS__))
#define side_field_u32(...) SIDE_FIELD_BASIC(arg_u32, _side_type_u32, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_u32(...) SIDE_TYPE_BASIC(arg_u32, _side_type_u32(__VA_ARGS__))
#define side_field_u32_le(...)                                                                     \
	SIDE_FIELD_BASIC(arg_u32, _side_type_u32_le, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_u32_le(...) SIDE_TYPE_BASIC(arg_u32, _side_type_u32_le(__VA_ARGS__))
#define side_field_u32_be(...)                                                                     \
	SIDE_FIELD_BASIC(arg_u32, _side_type_u32_be, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_u32_be(...) SIDE_TYPE_BASIC(arg_u32, _side_type_u32_be(__VA_ARGS__))
#define side_field_u64(...) SIDE_FIELD_BASIC(arg_u64, _side_type_u64, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_u64(...) SIDE_TYPE_BASIC(arg_u64, _side_type_u64(__VA_ARGS__))
#define side_field_u64_le(...)                                                                     \
	SIDE_FIELD_BASIC(arg_u64, _side_type_u64_le, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_u64_le(...) SIDE_TYPE_BASIC(arg_u64, _side_type_u64_le(__VA_ARGS__))
#define side_field_u64_be(...)                                                                     \
	SIDE_FIELD_BASIC(arg_u64, _side_type_u64_be, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_u64_be(...) SIDE_TYPE_BASIC(arg_u64, _side_type_u64_be(__VA_ARGS__))
#define side_field_u128(...)                                                                       \
	SIDE_FIELD_BASIC(arg_u128, _side_type_u128, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_u128(...) SIDE_TYPE_BASIC(arg_u128, _side_type_u128(__VA_ARGS__))
#define side_field_u128_le(...)                                                                    \
	SIDE_FIELD_BASIC(arg_u128, _side_type_u128_le, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_u128_le(...) SIDE_TYPE_BASIC(arg_u128, _side_type_u128_le(__VA_ARGS__))
#define side_field_u128_be(...)                                                                    \
	SIDE_FIELD_BASIC(arg_u128, _side_type_u128_be, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_u128_be(...) SIDE_TYPE_BASIC(arg_u128, _side_type_u128_be(__VA_ARGS__))
#define side_field_s8(...) SIDE_FIELD_BASIC(arg_s8, _side_type_s8, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_s8(...) SIDE_TYPE_BASIC(arg_s8, _side_type_s8(__VA_ARGS__))
#define side_field_s8_le(...)                                                                      \
	SIDE_FIELD_BASIC(arg_s8, _side_type_s8_le, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_s8_le(...) SIDE_TYPE_BASIC(arg_s8, _side_type_s8_le(__VA_ARGS__))
#define side_field_s8_be(...)                                                                      \
	SIDE_FIELD_BASIC(arg_s8, _side_type_s8_be, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_s8_be(...) SIDE_TYPE_BASIC(arg_s8, _side_type_s8_be(__VA_ARGS__))
#define side_field_s16(...) SIDE_FIELD_BASIC(arg_s16, _side_type_s16, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_s16(...) SIDE_TYPE_BASIC(arg_s16, _side_type_s16(__VA_ARGS__))
#define side_field_s16_le(...)                                                                     \
	SIDE_FIELD_BASIC(arg_s16, _side_type_s16_le, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_s16_le(...) SIDE_TYPE_BASIC(arg_s16, _side_type_s16_le(__VA_ARGS__))
#define side_field_s16_be(...)                                                                     \
	SIDE_FIELD_BASIC(arg_s16, _side_type_s16_be, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_s16_be(...) SIDE_TYPE_BASIC(arg_s16, _side_type_s16_be(__VA_ARGS__))
#define side_field_s32(...) SIDE_FIELD_BASIC(arg_s32, _side_type_s32, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_s32(...) SIDE_TYPE_BASIC(arg_s32, _side_type_s32(__VA_ARGS__))
#define side_field_s32_le(...)                                                                     \
	SIDE_FIELD_BASIC(arg_s32, _side_type_s32_le, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_s32_le(...) SIDE_TYPE_BASIC(arg_s32, _side_type_s32_le(__VA_ARGS__))
#define side_field_s32_be(...)                                                                     \
	SIDE_FIELD_BASIC(arg_s32, _side_type_s32_be, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_s32_be(...) SIDE_TYPE_BASIC(arg_s32, _side_type_s32_be(__VA_ARGS__))
#define side_field_s64(...) SIDE_FIELD_BASIC(arg_s64, _side_type_s64, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_s64(...) SIDE_TYPE_BASIC(arg_s64, _side_type_s64(__VA_ARGS__))
#define side_field_s64_le(...)                                                                     \
	SIDE_FIELD_BASIC(arg_s64, _side_type_s64_le, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_s64_le(...) SIDE_TYPE_BASIC(arg_s64, _side_type_s64_le(__VA_ARGS__))
#define side_field_s64_be(...)                                                                     \
	SIDE_FIELD_BASIC(arg_s64, _side_type_s64_be, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_s64_be(...) SIDE_TYPE_BASIC(arg_s64, _side_type_s64_be(__VA_ARGS__))
#define side_field_s128(...)                                                                       \
	SIDE_FIELD_BASIC(arg_s128, _side_type_s128, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_s128(...) SIDE_TYPE_BASIC(arg_s128, _side_type_s128(__VA_ARGS__))
#define side_field_s128_le(...)                                                                    \
	SIDE_FIELD_BASIC(arg_s128, _side_type_s128_le, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_s128_le(...) SIDE_TYPE_BASIC(arg_s128, _side_type_s128_le(__VA_ARGS__))
#define side_field_s128_be(...)                                                                    \
	SIDE_FIELD_BASIC(arg_s128, _side_type_s128_be, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_s128_be(...) SIDE_TYPE_BASIC(arg_s128, _side_type_s128_be(__VA_ARGS__))
#define side_field_pointer(...)                                                                    \
	SIDE_FIELD_BASIC(arg_pointer, _side_type_pointer, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_pointer(...) SIDE_TYPE_BASIC(arg_pointer, _side_type_pointer(__VA_ARGS__))
#define side_field_pointer_le(...)                                                                 \
	SIDE_FIELD_BASIC(arg_pointer, _side_type_pointer_le, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_pointer_le(...) SIDE_TYPE_BASIC(arg_pointer, _side_type_pointer_le(__VA_ARGS__))
#define side_field_pointer_be(...)                                                                 \
	SIDE_FIELD_BASIC(arg_pointer, _side_type_pointer_be, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_pointer_be(...) SIDE_TYPE_BASIC(arg_pointer, _side_type_pointer_be(__VA_ARGS__))
#define side_field_float_binary16(...)                                                             \
	SIDE_FIELD_BASIC(arg_float_binary16, _side_type_float_binary16, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_float_binary16(...)                                                              \
	SIDE_TYPE_BASIC(arg_float_binary16, _side_type_float_binary16(__VA_ARGS__))
#define side_field_float_binary16_le(...)                                                          \
	SIDE_FIELD_BASIC(arg_float_binary16, _side_type_float_binary16_le, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_float_binary16_le(...)                                                           \
	SIDE_TYPE_BASIC(arg_float_binary16, _side_type_float_binary16_le(__VA_ARGS__))
#define side_field_float_binary16_be(...)                                                          \
	SIDE_FIELD_BASIC(arg_float_binary16, _side_type_float_binary16_be, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_float_binary16_be(...)                                                           \
	SIDE_TYPE_BASIC(arg_float_binary16, _side_type_float_binary16_be(__VA_ARGS__))
#define side_field_float_binary32(...)                                                             \
	SIDE_FIELD_BASIC(arg_float_binary32, _side_type_float_binary32, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_float_binary32(...)                                                              \
	SIDE_TYPE_BASIC(arg_float_binary32, _side_type_float_binary32(__VA_ARGS__))
#define side_field_float_binary32_le(...)                                                          \
	SIDE_FIELD_BASIC(arg_float_binary32, _side_type_float_binary32_le, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_float_binary32_le(...)                                                           \
	SIDE_TYPE_BASIC(arg_float_binary32, _side_type_float_binary32_le(__VA_ARGS__))
#define side_field_float_binary32_be(...)                                                          \
	SIDE_FIELD_BASIC(arg_float_binary32, _side_type_float_binary32_be, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_float_binary32_be(...)                                                           \
	SIDE_TYPE_BASIC(arg_float_binary32, _side_type_float_binary32_be(__VA_ARGS__))
#define side_field_float_binary64(...)                                                             \
	SIDE_FIELD_BASIC(arg_float_binary64, _side_type_float_binary64, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_float_binary64(...)                                                              \
	SIDE_TYPE_BASIC(arg_float_binary64, _side_type_float_binary64(__VA_ARGS__))
#define side_field_float_binary64_le(...)                                                          \
	SIDE_FIELD_BASIC(arg_float_binary64, _side_type_float_binary64_le, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_float_binary64_le(...)                                                           \
	SIDE_TYPE_BASIC(arg_float_binary64, _side_type_float_binary64_le(__VA_ARGS__))
#define side_field_float_binary64_be(...)                                                          \
	SIDE_FIELD_BASIC(arg_float_binary64, _side_type_float_binary64_be, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_float_binary64_be(...)                                                           \
	SIDE_TYPE_BASIC(arg_float_binary64, _side_type_float_binary64_be(__VA_ARGS__))
#define side_field_float_binary128(...)                                                            \
	SIDE_FIELD_BASIC(arg_float_binary128, _side_type_float_binary128, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_float_binary128(...)                                                             \
	SIDE_TYPE_BASIC(arg_float_binary128, _side_type_float_binary128(__VA_ARGS__))
#define side_field_float_binary128_le(...)                                                         \
	SIDE_FIELD_BASIC(arg_float_binary128, _side_type_float_binary128_le, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_float_binary128_le(...)                                                          \
	SIDE_TYPE_BASIC(arg_float_binary128, _side_type_float_binary128_le(__VA_ARGS__))
#define side_field_float_binary128_be(...)                                                         \
	SIDE_FIELD_BASIC(arg_float_binary128, _side_type_float_binary128_be, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_float_binary128_be(...)                                                          \
	SIDE_TYPE_BASIC(arg_float_binary128, _side_type_float_binary128_be(__VA_ARGS__))
#define side_field_string(...)                                                                     \
	SIDE_FIELD_BASIC(arg_string, _side_type_string, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_string(...) SIDE_TYPE_BASIC(arg_string, _side_type_string(__VA_ARGS__))
#define side_field_string16(...)                                                                   \
	SIDE_FIELD_BASIC(arg_string16, _side_type_string16, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_string16(...) SIDE_TYPE_BASIC(arg_string16, _side_type_string16(__VA_ARGS__))
#define side_field_string16_le(...)                                                                \
	SIDE_FIELD_BASIC(arg_string16, _side_type_string16_le, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_string16_le(...)                                                                 \
	SIDE_TYPE_BASIC(arg_string16, _side_type_string16_le(__VA_ARGS__))
#define side_field_string16_be(...)                                                                \
	SIDE_FIELD_BASIC(arg_string16, _side_type_string16_be, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_string16_be(...)                                                                 \
	SIDE_TYPE_BASIC(arg_string16, _side_type_string16_be(__VA_ARGS__))
#define side_field_string32(...)                                                                   \
	SIDE_FIELD_BASIC(arg_string32, _side_type_string32, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_string32(...) SIDE_TYPE_BASIC(arg_string32, _side_type_string32(__VA_ARGS__))
#define side_field_string32_le(...)                                                                \
	SIDE_FIELD_BASIC(arg_string32, _side_type_string32_le, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_string32_le(...)                                                                 \
	SIDE_TYPE_BASIC(arg_string32, _side_type_string32_le(__VA_ARGS__))
#define side_field_string32_be(...)                                                                \
	SIDE_FIELD_BASIC(arg_string32, _side_type_string32_be, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_string32_be(...)                                                                 \
	SIDE_TYPE_BASIC(arg_string32, _side_type_string32_be(__VA_ARGS__))
#define side_field_char(...)                                                                       \
	SIDE_FIELD_BASIC(arg_char, _side_type_char, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_char(...) SIDE_TYPE_BASIC(arg_char, _side_type_char(__VA_ARGS__))
#define side_field_schar(...)                                                                      \
	SIDE_FIELD_BASIC(arg_schar, _side_type_schar, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_schar(...) SIDE_TYPE_BASIC(arg_schar, _side_type_schar(__VA_ARGS__))
#define side_field_uchar(...)                                                                      \
	SIDE_FIELD_BASIC(arg_uchar, _side_type_uchar, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_uchar(...) SIDE_TYPE_BASIC(arg_uchar, _side_type_uchar(__VA_ARGS__))
#define side_field_short(...)                                                                      \
	SIDE_FIELD_BASIC(arg_short, _side_type_short, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_short(...) SIDE_TYPE_BASIC(arg_short, _side_type_short(__VA_ARGS__))
#define side_field_ushort(...)                                                                     \
	SIDE_FIELD_BASIC(arg_ushort, _side_type_ushort, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_ushort(...) SIDE_TYPE_BASIC(arg_ushort, _side_type_ushort(__VA_ARGS__))
#define side_field_int(...) SIDE_FIELD_BASIC(arg_int, _side_type_int, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_int(...) SIDE_TYPE_BASIC(arg_int, _side_type_int(__VA_ARGS__))
#define side_field_uint(...)                                                                       \
	SIDE_FIELD_BASIC(arg_uint, _side_type_uint, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_uint(...) SIDE_TYPE_BASIC(arg_uint, _side_type_uint(__VA_ARGS__))
#define side_field_long(...)                                                                       \
	SIDE_FIELD_BASIC(arg_long, _side_type_long, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_long(...) SIDE_TYPE_BASIC(arg_long, _side_type_long(__VA_ARGS__))
#define side_field_ulong(...)                                                                      \
	SIDE_FIELD_BASIC(arg_ulong, _side_type_ulong, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_ulong(...) SIDE_TYPE_BASIC(arg_ulong, _side_type_ulong(__VA_ARGS__))
#define side_field_long_long(...)                                                                  \
	SIDE_FIELD_BASIC(arg_long_long, _side_type_long_long, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_long_long(...) SIDE_TYPE_BASIC(arg_long_long, _side_type_long_long(__VA_ARGS__))
#define side_field_ulong_long(...)                                                                 \
	SIDE_FIELD_BASIC(arg_ulong_long, _side_type_ulong_long, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_ulong_long(...)                                                                  \
	SIDE_TYPE_BASIC(arg_ulong_long, _side_type_ulong_long(__VA_ARGS__))
#define side_field_float(...)                                                                      \
	SIDE_FIELD_BASIC(arg_float, _side_type_float, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_float(...) SIDE_TYPE_BASIC(arg_float, _side_type_float(__VA_ARGS__))
#define side_field_double(...)                                                                     \
	SIDE_FIELD_BASIC(arg_double, _side_type_double, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_double(...) SIDE_TYPE_BASIC(arg_double, _side_type_double(__VA_ARGS__))
#define side_field_long_double(...)                                                                \
	SIDE_FIELD_BASIC(arg_long_double, _side_type_long_double, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_long_double(...)                                                                 \
	SIDE_TYPE_BASIC(arg_long_double, _side_type_long_double(__VA_ARGS__))
#define side_field_dynamic(_name)                                                                  \
	SIDE_EL_FIELD(SIDE_CLASS_DYNAMIC, _name, _side_type_dynamic())
#define side_type_dynamic() SIDE_EL_TYPE(SIDE_CLASS_DYNAMIC, _side_type_dynamic())

/* Compound fields and types */
#define side_type_struct(_identifier)                                                              \
	SIDE_EL_TYPE(SIDE_CLASS_OF(struct, _identifier), _side_type_struct(_identifier))
#define side_field_struct(_name, _identifier)                                                      \
	SIDE_EL_FIELD(SIDE_CLASS_OF(struct, _identifier), _name, _side_type_struct(_identifier))
#define side_type_array(_identifier)                                                               \
	SIDE_EL_TYPE(SIDE_CLASS_OF(array, _identifier), _side_type_array(_identifier))
#define side_field_array(_name, _identifier)                                                       \
	SIDE_EL_FIELD(SIDE_CLASS_OF(array, _identifier), _name, _side_type_array(_identifier))
#define side_type_vla(_identifier)                                                                 \
	SIDE_EL_TYPE(SIDE_CLASS_OF(vla, _identifier), _side_type_vla(_identifier))
#define side_field_vla(_name, _identifier)                                                         \
	SIDE_EL_FIELD(SIDE_CLASS_OF(vla, _identifier), _name, _side_type_vla(_identifier))
#define side_type_vla_visitor(_identifier)                                                         \
	SIDE_EL_TYPE(SIDE_CLASS_OF(vla_visitor, _identifier), _side_type_vla_visitor(_identifier))
#define side_field_vla_visitor(_name, _identifier)                                                 \
	SIDE_EL_FIELD(SIDE_CLASS_OF(vla_visitor, _identifier), _name, _side_type_vla_visitor(_identifier))
#define side_type_variant(_identifier)                                                             \
	SIDE_EL_TYPE(SIDE_CLASS_OF(variant, _identifier), _side_type_variant(_identifier))
#define side_field_variant(_name, _identifier)                                                     \
	SIDE_EL_FIELD(SIDE_CLASS_OF(variant, _identifier), _name, _side_type_variant(_identifier))
#define side_type_optional(_identifier)                                                            \
	SIDE_EL_TYPE(SIDE_CLASS_OF(optional, _identifier), _side_type_optional(_identifier))
#define side_field_optional(_name, _identifier)                                                    \
	SIDE_EL_FIELD(SIDE_CLASS_OF(optional, _identifier), _name, _side_type_optional(_identifier))
#define side_field_optional_literal(...)                                                           \
	SIDE_FIELD_OPTIONAL_LITERAL(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_FIELD_OPTIONAL_LITERAL(_name, _elem_type, _attr, ...)                                 \
	SIDE_EL_FIELD(SIDE_CLASS_OPTIONAL_LITERAL(_elem_type), _name,                              \
			_side_type_optional_literal(SIDE_ELEM_PTR(_elem_type), _attr))

/* Enumerations: the argument is that of the element.  _mappings is "&id", for gather "id". */
#define side_type_enum(_mappings, _elem_type)                                                      \
	SIDE_EL_TYPE(SIDE_CLASS_ELEM(_elem_type),                                                  \
			_side_type_enum(_mappings, SIDE_ELEM_PTR(_elem_type)))
#define side_field_enum(_name, _mappings, _elem_type)                                              \
	SIDE_EL_FIELD(SIDE_CLASS_ELEM(_elem_type), _name,                                          \
			_side_type_enum(_mappings, SIDE_ELEM_PTR(_elem_type)))
#define side_type_enum_bitmap(_mappings, _elem_type)                                               \
	SIDE_EL_TYPE(SIDE_CLASS_ELEM(_elem_type),                                                  \
			_side_type_enum_bitmap(_mappings, SIDE_ELEM_PTR(_elem_type)))
#define side_field_enum_bitmap(_name, _mappings, _elem_type)                                       \
	SIDE_EL_BITMAP_FIELD(SIDE_CLASS_ELEM(_elem_type), _name,                                          \
			_side_type_enum_bitmap(_mappings, SIDE_ELEM_PTR(_elem_type)))
#define side_type_gather_enum(_identifier, _elem_type)                                             \
	SIDE_EL_TYPE(SIDE_CLASS_ELEM(_elem_type),                                                  \
			_side_type_gather_enum(&(_identifier), SIDE_ELEM_PTR(_elem_type)))
#define side_field_gather_enum(_name, _identifier, _elem_type)                                     \
	SIDE_EL_FIELD(SIDE_CLASS_ELEM(_elem_type), _name,                                          \
			_side_type_gather_enum(&(_identifier), SIDE_ELEM_PTR(_elem_type)))

/*
 * Gather types: the argument is a base pointer.  Offsets and sizes in bytes, offset_bits and len_bits
 * in bits (len_bits 0: all); access_mode is SIDE_TYPE_GATHER_ACCESS_DIRECT or _POINTER.
 */
#define SIDE_TYPE_G_byte(_offset, _mode, _attr, ...)                                               \
	SIDE_EL_TYPE(SIDE_CLASS(arg_gather_byte), _side_type_gather_byte(_offset, _mode, _attr))
#define SIDE_FIELD_G_byte(_name, _offset, _mode, _attr, ...)                                       \
	SIDE_EL_FIELD(SIDE_CLASS(arg_gather_byte), _name, _side_type_gather_byte(_offset, _mode, _attr))
#define side_type_gather_byte(...) SIDE_TYPE_G_byte(__VA_ARGS__, SIDE_NO_ATTR, )
#define side_field_gather_byte(...) SIDE_FIELD_G_byte(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_TYPE_G_bool(_offset, _size, _offset_bits, _len_bits, _mode, _attr, ...)               \
	SIDE_EL_TYPE(SIDE_CLASS(arg_gather_bool), _side_type_gather_bool(_offset, _size, _offset_bits, _len_bits, _mode, _attr))
#define SIDE_FIELD_G_bool(_name, _offset, _size, _offset_bits, _len_bits, _mode, _attr, ...)       \
	SIDE_EL_FIELD(SIDE_CLASS(arg_gather_bool), _name, _side_type_gather_bool(_offset, _size, _offset_bits, _len_bits, _mode, _attr))
#define side_type_gather_bool(...) SIDE_TYPE_G_bool(__VA_ARGS__, SIDE_NO_ATTR, )
#define side_field_gather_bool(...) SIDE_FIELD_G_bool(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_TYPE_G_bool_le(_offset, _size, _offset_bits, _len_bits, _mode, _attr, ...)            \
	SIDE_EL_TYPE(SIDE_CLASS(arg_gather_bool), _side_type_gather_bool_le(_offset, _size, _offset_bits, _len_bits, _mode, _attr))
#define SIDE_FIELD_G_bool_le(_name, _offset, _size, _offset_bits, _len_bits, _mode, _attr, ...)    \
	SIDE_EL_FIELD(SIDE_CLASS(arg_gather_bool), _name, _side_type_gather_bool_le(_offset, _size, _offset_bits, _len_bits, _mode, _attr))
#define side_type_gather_bool_le(...) SIDE_TYPE_G_bool_le(__VA_ARGS__, SIDE_NO_ATTR, )
#define side_field_gather_bool_le(...) SIDE_FIELD_G_bool_le(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_TYPE_G_bool_be(_offset, _size, _offset_bits, _len_bits, _mode, _attr, ...)            \
	SIDE_EL_TYPE(SIDE_CLASS(arg_gather_bool), _side_type_gather_bool_be(_offset, _size, _offset_bits, _len_bits, _mode, _attr))
#define SIDE_FIELD_G_bool_be(_name, _offset, _size, _offset_bits, _len_bits, _mode, _attr, ...)    \
	SIDE_EL_FIELD(SIDE_CLASS(arg_gather_bool), _name, _side_type_gather_bool_be(_offset, _size, _offset_bits, _len_bits, _mode, _attr))
#define side_type_gather_bool_be(...) SIDE_TYPE_G_bool_be(__VA_ARGS__, SIDE_NO_ATTR, )
#define side_field_gather_bool_be(...) SIDE_FIELD_G_bool_be(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_TYPE_G_unsigned_integer(_offset, _size, _offset_bits, _len_bits, _mode, _attr, ...)   \
	SIDE_EL_TYPE(SIDE_CLASS(arg_gather_integer), _side_type_gather_unsigned_integer(_offset, _size, _offset_bits, _len_bits, _mode, _attr))
#define SIDE_FIELD_G_unsigned_integer(_name, _offset, _size, _offset_bits, _len_bits, _mode, _attr, ...) \
	SIDE_EL_FIELD(SIDE_CLASS(arg_gather_integer), _name, _side_type_gather_unsigned_integer(_offset, _size, _offset_bits, _len_bits, _mode, _attr))
#define side_type_gather_unsigned_integer(...)                                                     \
	SIDE_TYPE_G_unsigned_integer(__VA_ARGS__, SIDE_NO_ATTR, )
#define side_field_gather_unsigned_integer(...)                                                    \
	SIDE_FIELD_G_unsigned_integer(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_TYPE_G_unsigned_integer_le(_offset, _size, _offset_bits, _len_bits, _mode, _attr, ...) \
	SIDE_EL_TYPE(SIDE_CLASS(arg_gather_integer), _side_type_gather_unsigned_integer_le(_offset, _size, _offset_bits, _len_bits, _mode, _attr))
#define SIDE_FIELD_G_unsigned_integer_le(_name, _offset, _size, _offset_bits, _len_bits, _mode, _attr, ...) \
	SIDE_EL_FIELD(SIDE_CLASS(arg_gather_integer), _name, _side_type_gather_unsigned_integer_le(_offset, _size, _offset_bits, _len_bits, _mode, _attr))
#define side_type_gather_unsigned_integer_le(...)                                                  \
	SIDE_TYPE_G_unsigned_integer_le(__VA_ARGS__, SIDE_NO_ATTR, )
#define side_field_gather_unsigned_integer_le(...)                                                 \
	SIDE_FIELD_G_unsigned_integer_le(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_TYPE_G_unsigned_integer_be(_offset, _size, _offset_bits, _len_bits, _mode, _attr, ...) \
	SIDE_EL_TYPE(SIDE_CLASS(arg_gather_integer), _side_type_gather_unsigned_integer_be(_offset, _size, _offset_bits, _len_bits, _mode, _attr))
#define SIDE_FIELD_G_unsigned_integer_be(_name, _offset, _size, _offset_bits, _len_bits, _mode, _attr, ...) \
	SIDE_EL_FIELD(SIDE_CLASS(arg_gather_integer), _name, _side_type_gather_unsigned_integer_be(_offset, _size, _offset_bits, _len_bits, _mode, _attr))
#define side_type_gather_unsigned_integer_be(...)                                                  \
	SIDE_TYPE_G_unsigned_integer_be(__VA_ARGS__, SIDE_NO_ATTR, )
#define side_field_gather_unsigned_integer_be(...)                                                 \
	SIDE_FIELD_G_unsigned_integer_be(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_TYPE_G_signed_integer(_offset, _size, _offset_bits, _len_bits, _mode, _attr, ...)     \
	SIDE_EL_TYPE(SIDE_CLASS(arg_gather_integer), _side_type_gather_signed_integer(_offset, _size, _offset_bits, _len_bits, _mode, _attr))
#define SIDE_FIELD_G_signed_integer(_name, _offset, _size, _offset_bits, _len_bits, _mode, _attr, ...) \
	SIDE_EL_FIELD(SIDE_CLASS(arg_gather_integer), _name, _side_type_gather_signed_integer(_offset, _size, _offset_bits, _len_bits, _mode, _attr))
#define side_type_gather_signed_integer(...) SIDE_TYPE_G_signed_integer(__VA_ARGS__, SIDE_NO_ATTR, )
#define side_field_gather_signed_integer(...)                                                      \
	SIDE_FIELD_G_signed_integer(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_TYPE_G_signed_integer_le(_offset, _size, _offset_bits, _len_bits, _mode, _attr, ...)  \
	SIDE_EL_TYPE(SIDE_CLASS(arg_gather_integer), _side_type_gather_signed_integer_le(_offset, _size, _offset_bits, _len_bits, _mode, _attr))
#define SIDE_FIELD_G_signed_integer_le(_name, _offset, _size, _offset_bits, _len_bits, _mode, _attr, ...) \
	SIDE_EL_FIELD(SIDE_CLASS(arg_gather_integer), _name, _side_type_gather_signed_integer_le(_offset, _size, _offset_bits, _len_bits, _mode, _attr))
#define side_type_gather_signed_integer_le(...)                                                    \
	SIDE_TYPE_G_signed_integer_le(__VA_ARGS__, SIDE_NO_ATTR, )
#define side_field_gather_signed_integer_le(...)                                                   \
	SIDE_FIELD_G_signed_integer_le(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_TYPE_G_signed_integer_be(_offset, _size, _offset_bits, _len_bits, _mode, _attr, ...)  \
	SIDE_EL_TYPE(SIDE_CLASS(arg_gather_integer), _side_type_gather_signed_integer_be(_offset, _size, _offset_bits, _len_bits, _mode, _attr))
#define SIDE_FIELD_G_signed_integer_be(_name, _offset, _size, _offset_bits, _len_bits, _mode, _attr, ...) \
	SIDE_EL_FIELD(SIDE_CLASS(arg_gather_integer), _name, _side_type_gather_signed_integer_be(_offset, _size, _offset_bits, _len_bits, _mode, _attr))
#define side_type_gather_signed_integer_be(...)                                                    \
	SIDE_TYPE_G_signed_integer_be(__VA_ARGS__, SIDE_NO_ATTR, )
#define side_field_gather_signed_integer_be(...)                                                   \
	SIDE_FIELD_G_signed_integer_be(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_TYPE_G_pointer(_offset, _mode, _attr, ...)                                            \
	SIDE_EL_TYPE(SIDE_CLASS(arg_gather_pointer), _side_type_gather_pointer(_offset, _mode, _attr))
#define SIDE_FIELD_G_pointer(_name, _offset, _mode, _attr, ...)                                    \
	SIDE_EL_FIELD(SIDE_CLASS(arg_gather_pointer), _name, _side_type_gather_pointer(_offset, _mode, _attr))
#define side_type_gather_pointer(...) SIDE_TYPE_G_pointer(__VA_ARGS__, SIDE_NO_ATTR, )
#define side_field_gather_pointer(...) SIDE_FIELD_G_pointer(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_TYPE_G_pointer_le(_offset, _mode, _attr, ...)                                         \
	SIDE_EL_TYPE(SIDE_CLASS(arg_gather_pointer), _side_type_gather_pointer_le(_offset, _mode, _attr))
#define SIDE_FIELD_G_pointer_le(_name, _offset, _mode, _attr, ...)                                 \
	SIDE_EL_FIELD(SIDE_CLASS(arg_gather_pointer), _name, _side_type_gather_pointer_le(_offset, _mode, _attr))
#define side_type_gather_pointer_le(...) SIDE_TYPE_G_pointer_le(__VA_ARGS__, SIDE_NO_ATTR, )
#define side_field_gather_pointer_le(...) SIDE_FIELD_G_pointer_le(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_TYPE_G_pointer_be(_offset, _mode, _attr, ...)                                         \
	SIDE_EL_TYPE(SIDE_CLASS(arg_gather_pointer), _side_type_gather_pointer_be(_offset, _mode, _attr))
#define SIDE_FIELD_G_pointer_be(_name, _offset, _mode, _attr, ...)                                 \
	SIDE_EL_FIELD(SIDE_CLASS(arg_gather_pointer), _name, _side_type_gather_pointer_be(_offset, _mode, _attr))
#define side_type_gather_pointer_be(...) SIDE_TYPE_G_pointer_be(__VA_ARGS__, SIDE_NO_ATTR, )
#define side_field_gather_pointer_be(...) SIDE_FIELD_G_pointer_be(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_TYPE_G_float(_offset, _size, _mode, _attr, ...)                                       \
	SIDE_EL_TYPE(SIDE_CLASS(arg_gather_float), _side_type_gather_float(_offset, _size, _mode, _attr))
#define SIDE_FIELD_G_float(_name, _offset, _size, _mode, _attr, ...)                               \
	SIDE_EL_FIELD(SIDE_CLASS(arg_gather_float), _name, _side_type_gather_float(_offset, _size, _mode, _attr))
#define side_type_gather_float(...) SIDE_TYPE_G_float(__VA_ARGS__, SIDE_NO_ATTR, )
#define side_field_gather_float(...) SIDE_FIELD_G_float(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_TYPE_G_float_le(_offset, _size, _mode, _attr, ...)                                    \
	SIDE_EL_TYPE(SIDE_CLASS(arg_gather_float), _side_type_gather_float_le(_offset, _size, _mode, _attr))
#define SIDE_FIELD_G_float_le(_name, _offset, _size, _mode, _attr, ...)                            \
	SIDE_EL_FIELD(SIDE_CLASS(arg_gather_float), _name, _side_type_gather_float_le(_offset, _size, _mode, _attr))
#define side_type_gather_float_le(...) SIDE_TYPE_G_float_le(__VA_ARGS__, SIDE_NO_ATTR, )
#define side_field_gather_float_le(...) SIDE_FIELD_G_float_le(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_TYPE_G_float_be(_offset, _size, _mode, _attr, ...)                                    \
	SIDE_EL_TYPE(SIDE_CLASS(arg_gather_float), _side_type_gather_float_be(_offset, _size, _mode, _attr))
#define SIDE_FIELD_G_float_be(_name, _offset, _size, _mode, _attr, ...)                            \
	SIDE_EL_FIELD(SIDE_CLASS(arg_gather_float), _name, _side_type_gather_float_be(_offset, _size, _mode, _attr))
#define side_type_gather_float_be(...) SIDE_TYPE_G_float_be(__VA_ARGS__, SIDE_NO_ATTR, )
#define side_field_gather_float_be(...) SIDE_FIELD_G_float_be(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_TYPE_G_string(_offset, _mode, _attr, ...)                                             \
	SIDE_EL_TYPE(SIDE_CLASS(arg_gather_string), _side_type_gather_string(_offset, _mode, _attr))
#define SIDE_FIELD_G_string(_name, _offset, _mode, _attr, ...)                                     \
	SIDE_EL_FIELD(SIDE_CLASS(arg_gather_string), _name, _side_type_gather_string(_offset, _mode, _attr))
#define side_type_gather_string(...) SIDE_TYPE_G_string(__VA_ARGS__, SIDE_NO_ATTR, )
#define side_field_gather_string(...) SIDE_FIELD_G_string(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_TYPE_G_string16(_offset, _mode, _attr, ...)                                           \
	SIDE_EL_TYPE(SIDE_CLASS(arg_gather_string), _side_type_gather_string16(_offset, _mode, _attr))
#define SIDE_FIELD_G_string16(_name, _offset, _mode, _attr, ...)                                   \
	SIDE_EL_FIELD(SIDE_CLASS(arg_gather_string), _name, _side_type_gather_string16(_offset, _mode, _attr))
#define side_type_gather_string16(...) SIDE_TYPE_G_string16(__VA_ARGS__, SIDE_NO_ATTR, )
#define side_field_gather_string16(...) SIDE_FIELD_G_string16(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_TYPE_G_string16_le(_offset, _mode, _attr, ...)                                        \
	SIDE_EL_TYPE(SIDE_CLASS(arg_gather_string), _side_type_gather_string16_le(_offset, _mode, _attr))
#define SIDE_FIELD_G_string16_le(_name, _offset, _mode, _attr, ...)                                \
	SIDE_EL_FIELD(SIDE_CLASS(arg_gather_string), _name, _side_type_gather_string16_le(_offset, _mode, _attr))
#define side_type_gather_string16_le(...) SIDE_TYPE_G_string16_le(__VA_ARGS__, SIDE_NO_ATTR, )
#define side_field_gather_string16_le(...) SIDE_FIELD_G_string16_le(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_TYPE_G_string16_be(_offset, _mode, _attr, ...)                                        \
	SIDE_EL_TYPE(SIDE_CLASS(arg_gather_string), _side_type_gather_string16_be(_offset, _mode, _attr))
#define SIDE_FIELD_G_string16_be(_name, _offset, _mode, _attr, ...)                                \
	SIDE_EL_FIELD(SIDE_CLASS(arg_gather_string), _name, _side_type_gather_string16_be(_offset, _mode, _attr))
#define side_type_gather_string16_be(...) SIDE_TYPE_G_string16_be(__VA_ARGS__, SIDE_NO_ATTR, )
#define side_field_gather_string16_be(...) SIDE_FIELD_G_string16_be(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_TYPE_G_string32(_offset, _mode, _attr, ...)                                           \
	SIDE_EL_TYPE(SIDE_CLASS(arg_gather_string), _side_type_gather_string32(_offset, _mode, _attr))
#define SIDE_FIELD_G_string32(_name, _offset, _mode, _attr, ...)                                   \
	SIDE_EL_FIELD(SIDE_CLASS(arg_gather_string), _name, _side_type_gather_string32(_offset, _mode, _attr))
#define side_type_gather_string32(...) SIDE_TYPE_G_string32(__VA_ARGS__, SIDE_NO_ATTR, )
#define side_field_gather_string32(...) SIDE_FIELD_G_string32(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_TYPE_G_string32_le(_offset, _mode, _attr, ...)                                        \
	SIDE_EL_TYPE(SIDE_CLASS(arg_gather_string), _side_type_gather_string32_le(_offset, _mode, _attr))
#define SIDE_FIELD_G_string32_le(_name, _offset, _mode, _attr, ...)                                \
	SIDE_EL_FIELD(SIDE_CLASS(arg_gather_string), _name, _side_type_gather_string32_le(_offset, _mode, _attr))
#define side_type_gather_string32_le(...) SIDE_TYPE_G_string32_le(__VA_ARGS__, SIDE_NO_ATTR, )
#define side_field_gather_string32_le(...) SIDE_FIELD_G_string32_le(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_TYPE_G_string32_be(_offset, _mode, _attr, ...)                                        \
	SIDE_EL_TYPE(SIDE_CLASS(arg_gather_string), _side_type_gather_string32_be(_offset, _mode, _attr))
#define SIDE_FIELD_G_string32_be(_name, _offset, _mode, _attr, ...)                                \
	SIDE_EL_FIELD(SIDE_CLASS(arg_gather_string), _name, _side_type_gather_string32_be(_offset, _mode, _attr))
#define side_type_gather_string32_be(...) SIDE_TYPE_G_string32_be(__VA_ARGS__, SIDE_NO_ATTR, )
#define side_field_gather_string32_be(...) SIDE_FIELD_G_string32_be(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_TYPE_G_array(_elem_type, _length, _offset, _mode, _attr, ...)                         \
	SIDE_EL_TYPE(SIDE_CLASS(arg_gather_array), _side_type_gather_array(SIDE_ELEM_PTR(_elem_type), _length, _offset, _mode, _attr))
#define SIDE_FIELD_G_array(_name, _elem_type, _length, _offset, _mode, _attr, ...)                 \
	SIDE_EL_FIELD(SIDE_CLASS(arg_gather_array), _name, _side_type_gather_array(SIDE_ELEM_PTR(_elem_type), _length, _offset, _mode, _attr))
#define side_type_gather_array(...) SIDE_TYPE_G_array(__VA_ARGS__, SIDE_NO_ATTR, )
#define side_field_gather_array(...) SIDE_FIELD_G_array(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_TYPE_G_vla(_elem_type, _offset, _mode, _length_type, _attr, ...)                      \
	SIDE_EL_TYPE(SIDE_CLASS(arg_gather_vla), _side_type_gather_vla(SIDE_ELEM_PTR(_elem_type), _offset, _mode, SIDE_ELEM_PTR(_length_type), _attr))
#define SIDE_FIELD_G_vla(_name, _elem_type, _offset, _mode, _length_type, _attr, ...)              \
	SIDE_EL_FIELD(SIDE_CLASS(arg_gather_vla), _name, _side_type_gather_vla(SIDE_ELEM_PTR(_elem_type), _offset, _mode, SIDE_ELEM_PTR(_length_type), _attr))
#define side_type_gather_vla(...) SIDE_TYPE_G_vla(__VA_ARGS__, SIDE_NO_ATTR, )
#define side_field_gather_vla(...) SIDE_FIELD_G_vla(__VA_ARGS__, SIDE_NO_ATTR, )
#define side_type_gather_struct(_identifier, _offset, _size, _mode)                                \
	SIDE_EL_TYPE(SIDE_CLASS(arg_gather_struct),                                                \
			_side_type_gather_struct(_identifier, _offset, _size, _mode))
#define side_field_gather_struct(_name, _identifier, _offset, _size, _mode)                        \
	SIDE_EL_FIELD(SIDE_CLASS(arg_gather_struct), _name,                                        \
			_side_type_gather_struct(_identifier, _offset, _size, _mode))

/* Enumeration mappings (ranges are inclusive) and options of variants */
#define side_enum_mapping_range(_label, _begin, _end) _side_enum_mapping_range(_label, _begin, _end)
#define side_enum_mapping_value(_label, _value) _side_enum_mapping_range(_label, _value, _value)
#define side_enum_bitmap_mapping_range(_label, _begin, _end)                                       \
	_side_enum_mapping_range(_label, _begin, _end)
#define side_enum_bitmap_mapping_value(_label, _value)                                             \
	_side_enum_mapping_range(_label, _value, _value)
#define side_option_range(_range_begin, _range_end, _type)                                         \
	SIDE_EL_OPTION(_range_begin, _range_end, _type)
#define side_option(_value, _type) SIDE_EL_OPTION(_value, _value, _type)

/*
 * Definitions of types, at file scope. A storage class may precede them, except for
 * side_define_static_vla_visitor.
 */
#define side_define_enum(...) SIDE_DEFINE_ENUM(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_DEFINE_ENUM(_identifier, _mappings, _attr, ...)                                       \
	_side_define_enum(_identifier, _mappings, _attr)
#define side_define_enum_bitmap(...) SIDE_DEFINE_ENUM_BITMAP(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_DEFINE_ENUM_BITMAP(_identifier, _mappings, _attr, ...)                                \
	_side_define_enum_bitmap(_identifier, _mappings, _attr)
#define side_define_struct(...) SIDE_DEFINE_STRUCT(__VA_ARGS__, SIDE_NO_ATTR, )
#ifdef SIDE_STATIC_CHECK_DISABLE
#define SIDE_DEFINE_STRUCT(_identifier, _fields, _attr, ...)                                       \
	_side_define_struct(_identifier, (SIDE_FIELDS_INIT(_fields)), _attr)
#else
#define SIDE_DEFINE_STRUCT(_identifier, _fields, _attr, ...)                                       \
	SIDE_DEFINE_CHECKED_STRUCT(                                                                \
			_identifier, SIDE_STRUCT_LIST(_fields), SIDE_FIELDS_CHAIN(_identifier, _fields), _attr)
#define SIDE_DEFINE_CHECKED_STRUCT(_identifier, _fields, _chain, _attr)                            \
	_side_define_struct(_identifier, (SIDE_EACH_INIT _chain), _attr);                          \
	SIDE_CLASS_BEGIN(_identifier) SIDE_EACH_TYPES _chain SIDE_CLASS_END(_identifier)           \
	SIDE_CHECK_NAMES(_identifier, _fields, _chain) SIDE_EXPECT_SEMICOLON()
#endif
#define side_define_array(...) SIDE_DEFINE_ARRAY(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_DEFINE_ARRAY(_identifier, _elem_type, _length, _attr, ...)                            \
	_side_define_array(_identifier, SIDE_ELEM_PTR(_elem_type), _length, _attr);                \
	SIDE_CHECK_ARRAY(_identifier, _elem_type, _length)
#define side_define_vla(...) SIDE_DEFINE_VLA(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_DEFINE_VLA(_identifier, _elem_type, _length_type, _attr, ...)                         \
	_side_define_vla(_identifier, SIDE_ELEM_PTR(_elem_type), SIDE_ELEM_PTR(_length_type),      \
			_attr);                                                                    \
	SIDE_CHECK_VLA(_identifier, _elem_type, _length_type)
#define side_define_variant(...) SIDE_DEFINE_VARIANT(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_DEFINE_VARIANT(_identifier, _selector, _options, _attr, ...)                          \
	_side_define_variant(_identifier, (SIDE_TYPE_INIT(_selector)),                             \
			SIDE_OPTIONS_INIT(_options), _attr);                                       \
	SIDE_CHECK_VARIANT(_identifier, _selector, _options)
#define side_define_optional(...) SIDE_DEFINE_OPTIONAL(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_DEFINE_OPTIONAL(_identifier, _elem_type, _attr, ...)                                  \
	_side_define_optional(_identifier, SIDE_ELEM_PTR(_elem_type), _attr);                      \
	SIDE_CHECK_OPTIONAL(_identifier, _elem_type)
#define side_define_static_vla_visitor(...)                                                        \
	SIDE_DEFINE_STATIC_VLA_VISITOR(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_DEFINE_STATIC_VLA_VISITOR(                                                            \
		_identifier, _elem_type, _length_type, _func, _type, _attr, ...)                   \
	_side_define_static_vla_visitor(_identifier, SIDE_ELEM_PTR(_elem_type),                    \
			SIDE_ELEM_PTR(_length_type), _func, _type, _attr);                         \
	SIDE_CHECK_VLA_VISITOR(_identifier, _elem_type, _length_type, _type)

/* Scalar arguments */
#define side_arg_null() SIDE_EL_ARG(SIDE_CLASS(arg_null), side_make_null())
#define side_arg_bool(_val) SIDE_EL_ARG(SIDE_CLASS(arg_bool), side_make_bool(!!(_val)))
#define side_arg_pointer(_val)                                                                     \
	SIDE_EL_ARG(SIDE_CLASS(arg_pointer), side_make_pointer((uintptr_t) (_val)))
#define side_arg_byte(_val) SIDE_EL_ARG(SIDE_CLASS(arg_byte), side_make_byte(_val))
#define side_arg_u8(_val) SIDE_EL_ARG(SIDE_CLASS(arg_u8), side_make_u8(_val))
#define side_arg_u16(_val) SIDE_EL_ARG(SIDE_CLASS(arg_u16), side_make_u16(_val))
#define side_arg_u32(_val) SIDE_EL_ARG(SIDE_CLASS(arg_u32), side_make_u32(_val))
#define side_arg_u64(_val) SIDE_EL_ARG(SIDE_CLASS(arg_u64), side_make_u64(_val))
#define side_arg_u128(_val) SIDE_EL_ARG(SIDE_CLASS(arg_u128), side_make_u128(_val))
#define side_arg_s8(_val) SIDE_EL_ARG(SIDE_CLASS(arg_s8), side_make_s8(_val))
#define side_arg_s16(_val) SIDE_EL_ARG(SIDE_CLASS(arg_s16), side_make_s16(_val))
#define side_arg_s32(_val) SIDE_EL_ARG(SIDE_CLASS(arg_s32), side_make_s32(_val))
#define side_arg_s64(_val) SIDE_EL_ARG(SIDE_CLASS(arg_s64), side_make_s64(_val))
#define side_arg_s128(_val) SIDE_EL_ARG(SIDE_CLASS(arg_s128), side_make_s128(_val))
#define side_arg_float_binary16(_val)                                                              \
	SIDE_EL_ARG(SIDE_CLASS(arg_float_binary16), side_make_float_binary16(_val))
#define side_arg_float_binary32(_val)                                                              \
	SIDE_EL_ARG(SIDE_CLASS(arg_float_binary32), side_make_float_binary32(_val))
#define side_arg_float_binary64(_val)                                                              \
	SIDE_EL_ARG(SIDE_CLASS(arg_float_binary64), side_make_float_binary64(_val))
#define side_arg_float_binary128(_val)                                                             \
	SIDE_EL_ARG(SIDE_CLASS(arg_float_binary128), side_make_float_binary128(_val))
#define side_arg_string(_val) SIDE_EL_ARG(SIDE_CLASS(arg_string), side_make_string(_val))
#define side_arg_string16(_val) SIDE_EL_ARG(SIDE_CLASS(arg_string16), side_make_string16(_val))
#define side_arg_string32(_val) SIDE_EL_ARG(SIDE_CLASS(arg_string32), side_make_string32(_val))
#define side_arg_char(_val) SIDE_EL_ARG(SIDE_CLASS(arg_char), side_make_char(_val))
#define side_arg_schar(_val) SIDE_EL_ARG(SIDE_CLASS(arg_schar), side_make_schar(_val))
#define side_arg_uchar(_val) SIDE_EL_ARG(SIDE_CLASS(arg_uchar), side_make_uchar(_val))
#define side_arg_short(_val) SIDE_EL_ARG(SIDE_CLASS(arg_short), side_make_short(_val))
#define side_arg_ushort(_val) SIDE_EL_ARG(SIDE_CLASS(arg_ushort), side_make_ushort(_val))
#define side_arg_int(_val) SIDE_EL_ARG(SIDE_CLASS(arg_int), side_make_int(_val))
#define side_arg_uint(_val) SIDE_EL_ARG(SIDE_CLASS(arg_uint), side_make_uint(_val))
#define side_arg_long(_val) SIDE_EL_ARG(SIDE_CLASS(arg_long), side_make_long(_val))
#define side_arg_ulong(_val) SIDE_EL_ARG(SIDE_CLASS(arg_ulong), side_make_ulong(_val))
#define side_arg_long_long(_val) SIDE_EL_ARG(SIDE_CLASS(arg_long_long), side_make_long_long(_val))
#define side_arg_ulong_long(_val)                                                                  \
	SIDE_EL_ARG(SIDE_CLASS(arg_ulong_long), side_make_ulong_long(_val))
#define side_arg_float(_val) SIDE_EL_ARG(SIDE_CLASS(arg_float), side_make_float(_val))
#define side_arg_double(_val) SIDE_EL_ARG(SIDE_CLASS(arg_double), side_make_double(_val))
#define side_arg_long_double(_val)                                                                 \
	SIDE_EL_ARG(SIDE_CLASS(arg_long_double), side_make_long_double(_val))

/*
 * Like the macro without the suffix: for fields of that byte order, the caller passes the value in
 * it.
 */
#define side_arg_u16_le(_val) side_arg_u16(_val)
#define side_arg_u16_be(_val) side_arg_u16(_val)
#define side_arg_u32_le(_val) side_arg_u32(_val)
#define side_arg_u32_be(_val) side_arg_u32(_val)
#define side_arg_u64_le(_val) side_arg_u64(_val)
#define side_arg_u64_be(_val) side_arg_u64(_val)
#define side_arg_u128_le(_val) side_arg_u128(_val)
#define side_arg_u128_be(_val) side_arg_u128(_val)
#define side_arg_s8_le(_val) side_arg_s8(_val)
#define side_arg_s8_be(_val) side_arg_s8(_val)
#define side_arg_s16_le(_val) side_arg_s16(_val)
#define side_arg_s16_be(_val) side_arg_s16(_val)
#define side_arg_s32_le(_val) side_arg_s32(_val)
#define side_arg_s32_be(_val) side_arg_s32(_val)
#define side_arg_s64_le(_val) side_arg_s64(_val)
#define side_arg_s64_be(_val) side_arg_s64(_val)
#define side_arg_s128_le(_val) side_arg_s128(_val)
#define side_arg_s128_be(_val) side_arg_s128(_val)
#define side_arg_pointer_le(_val) side_arg_pointer(_val)
#define side_arg_pointer_be(_val) side_arg_pointer(_val)
#define side_arg_float_binary16_le(_val) side_arg_float_binary16(_val)
#define side_arg_float_binary16_be(_val) side_arg_float_binary16(_val)
#define side_arg_float_binary32_le(_val) side_arg_float_binary32(_val)
#define side_arg_float_binary32_be(_val) side_arg_float_binary32(_val)
#define side_arg_float_binary64_le(_val) side_arg_float_binary64(_val)
#define side_arg_float_binary64_be(_val) side_arg_float_binary64(_val)
#define side_arg_float_binary128_le(_val) side_arg_float_binary128(_val)
#define side_arg_float_binary128_be(_val) side_arg_float_binary128(_val)
#define side_arg_string16_le(_val) side_arg_string16(_val)
#define side_arg_string16_be(_val) side_arg_string16(_val)
#define side_arg_string32_le(_val) side_arg_string32(_val)
#define side_arg_string32_be(_val) side_arg_string32(_val)

/* Compound arguments: objects defined with side_arg_define_* */
#define side_arg_struct(_identifier)                                                               \
	SIDE_EL_ARG(SIDE_CLASS_OF_ARG(struct, _identifier), side_make_struct(&(_identifier)))
#define side_arg_array(_identifier)                                                                \
	SIDE_EL_ARG(SIDE_CLASS_OF_ARG(array, _identifier), side_make_array(&(_identifier)))
#define side_arg_vla(_identifier)                                                                  \
	SIDE_EL_ARG(SIDE_CLASS_OF_ARG(vla, _identifier), side_make_vla(&(_identifier)))
#define side_arg_vla_visitor(_identifier)                                                          \
	SIDE_EL_ARG(SIDE_CLASS_OF_ARG(vla_visitor, _identifier), side_make_vla_visitor(&(_identifier)))
#define side_arg_variant(_identifier)                                                              \
	SIDE_EL_ARG(SIDE_CLASS_OF_ARG(variant, _identifier), side_make_variant(&(_identifier)))
#define side_arg_optional(_identifier)                                                             \
	SIDE_EL_ARG(SIDE_CLASS_OF_ARG(optional, _identifier), side_make_optional(&(_identifier)))

/* Gather arguments: base pointers */
#define side_arg_gather_bool(_ptr)                                                                 \
	SIDE_EL_ARG(SIDE_CLASS(arg_gather_bool), side_make_gather_bool(_ptr))
#define side_arg_gather_byte(_ptr)                                                                 \
	SIDE_EL_ARG(SIDE_CLASS(arg_gather_byte), side_make_gather_byte(_ptr))
#define side_arg_gather_integer(_ptr)                                                              \
	SIDE_EL_ARG(SIDE_CLASS(arg_gather_integer), side_make_gather_integer(_ptr))
#define side_arg_gather_pointer(_ptr)                                                              \
	SIDE_EL_ARG(SIDE_CLASS(arg_gather_pointer), side_make_gather_pointer(_ptr))
#define side_arg_gather_float(_ptr)                                                                \
	SIDE_EL_ARG(SIDE_CLASS(arg_gather_float), side_make_gather_float(_ptr))
#define side_arg_gather_string(_ptr)                                                               \
	SIDE_EL_ARG(SIDE_CLASS(arg_gather_string), side_make_gather_string(_ptr))
#define side_arg_gather_array(_ptr)                                                                \
	SIDE_EL_ARG(SIDE_CLASS(arg_gather_array), side_make_gather_array(_ptr))
#define side_arg_gather_struct(_ptr)                                                               \
	SIDE_EL_ARG(SIDE_CLASS(arg_gather_struct), side_make_gather_struct(_ptr))
#define side_arg_gather_enum(_ptr) side_arg_gather_integer(_ptr)
#define side_arg_gather_vla(_ptr, _length_ptr)                                                     \
	SIDE_EL_ARG(SIDE_CLASS(arg_gather_vla), side_make_gather_vla(_ptr, _length_ptr))

/* Dynamic values: side_arg_dynamic_X(value [, attr]) */
#define SIDE_ARG_DYNAMIC(_make) SIDE_EL_ARG(SIDE_CLASS_DYNAMIC, _make)
#define side_arg_dynamic_null(...)                                                                 \
	SIDE_ARG_DYNAMIC(side_make_dynamic_null(SIDE_DYNAMIC_ATTRS(__VA_ARGS__)))
#define side_arg_dynamic_bool(...) SIDE_ARG_DYNAMIC_BOOL(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_ARG_DYNAMIC_BOOL(_val, _attr, ...)                                                    \
	SIDE_ARG_DYNAMIC(side_make_dynamic_bool(!!(_val), SIDE_DYNAMIC_ATTRS(_attr)))
#define side_arg_dynamic_byte(...) SIDE_ARG_DYNAMIC_BYTE(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_ARG_DYNAMIC_BYTE(_val, _attr, ...)                                                    \
	SIDE_ARG_DYNAMIC(side_make_dynamic_byte(_val, SIDE_DYNAMIC_ATTRS(_attr)))
#define SIDE_ARG_DYNAMIC_STRING(_unit_size, _order, _val, _attr, ...)                              \
	SIDE_ARG_DYNAMIC(side_make_dynamic_string(                                                 \
			_val, _unit_size, _order, SIDE_DYNAMIC_ATTRS(_attr)))
#define SIDE_ARG_DYNAMIC_POINTER(_order, _val, _attr, ...)                                         \
	SIDE_ARG_DYNAMIC(side_make_dynamic_pointer(                                                \
			(uintptr_t) (_val), _order, SIDE_DYNAMIC_ATTRS(_attr)))
#define SIDE_ARG_DYNAMIC_NUMBER(_make, _order, _val, _attr, ...)                                   \
	SIDE_ARG_DYNAMIC(_make(_val, _order, SIDE_DYNAMIC_ATTRS(_attr)))
#define side_arg_dynamic_string(...)                                                               \
	SIDE_ARG_DYNAMIC_STRING(1, SIDE_HOST, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_string16(...)                                                             \
	SIDE_ARG_DYNAMIC_STRING(2, SIDE_HOST, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_string16_le(...)                                                          \
	SIDE_ARG_DYNAMIC_STRING(2, SIDE_LE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_string16_be(...)                                                          \
	SIDE_ARG_DYNAMIC_STRING(2, SIDE_BE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_string32(...)                                                             \
	SIDE_ARG_DYNAMIC_STRING(4, SIDE_HOST, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_string32_le(...)                                                          \
	SIDE_ARG_DYNAMIC_STRING(4, SIDE_LE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_string32_be(...)                                                          \
	SIDE_ARG_DYNAMIC_STRING(4, SIDE_BE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_pointer(...)                                                              \
	SIDE_ARG_DYNAMIC_POINTER(SIDE_HOST, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_pointer_le(...)                                                           \
	SIDE_ARG_DYNAMIC_POINTER(SIDE_LE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_pointer_be(...)                                                           \
	SIDE_ARG_DYNAMIC_POINTER(SIDE_BE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_u8(...)                                                                   \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_u8, SIDE_HOST, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_u16(...)                                                                  \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_u16, SIDE_HOST, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_u16_le(...)                                                               \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_u16, SIDE_LE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_u16_be(...)                                                               \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_u16, SIDE_BE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_u32(...)                                                                  \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_u32, SIDE_HOST, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_u32_le(...)                                                               \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_u32, SIDE_LE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_u32_be(...)                                                               \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_u32, SIDE_BE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_u64(...)                                                                  \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_u64, SIDE_HOST, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_u64_le(...)                                                               \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_u64, SIDE_LE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_u64_be(...)                                                               \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_u64, SIDE_BE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_u128(...)                                                                 \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_u128, SIDE_HOST, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_u128_le(...)                                                              \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_u128, SIDE_LE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_u128_be(...)                                                              \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_u128, SIDE_BE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_s8(...)                                                                   \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_s8, SIDE_HOST, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_s16(...)                                                                  \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_s16, SIDE_HOST, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_s16_le(...)                                                               \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_s16, SIDE_LE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_s16_be(...)                                                               \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_s16, SIDE_BE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_s32(...)                                                                  \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_s32, SIDE_HOST, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_s32_le(...)                                                               \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_s32, SIDE_LE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_s32_be(...)                                                               \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_s32, SIDE_BE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_s64(...)                                                                  \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_s64, SIDE_HOST, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_s64_le(...)                                                               \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_s64, SIDE_LE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_s64_be(...)                                                               \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_s64, SIDE_BE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_s128(...)                                                                 \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_s128, SIDE_HOST, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_s128_le(...)                                                              \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_s128, SIDE_LE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_s128_be(...)                                                              \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_s128, SIDE_BE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_float_binary16(...)                                                       \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_float_binary16, SIDE_FLOAT_HOST, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_float_binary16_le(...)                                                    \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_float_binary16, SIDE_LE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_float_binary16_be(...)                                                    \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_float_binary16, SIDE_BE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_float_binary32(...)                                                       \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_float_binary32, SIDE_FLOAT_HOST, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_float_binary32_le(...)                                                    \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_float_binary32, SIDE_LE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_float_binary32_be(...)                                                    \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_float_binary32, SIDE_BE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_float_binary64(...)                                                       \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_float_binary64, SIDE_FLOAT_HOST, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_float_binary64_le(...)                                                    \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_float_binary64, SIDE_LE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_float_binary64_be(...)                                                    \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_float_binary64, SIDE_BE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_float_binary128(...)                                                      \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_float_binary128, SIDE_FLOAT_HOST, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_float_binary128_le(...)                                                   \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_float_binary128, SIDE_LE, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_float_binary128_be(...)                                                   \
	SIDE_ARG_DYNAMIC_NUMBER(side_make_dynamic_float_binary128, SIDE_BE, __VA_ARGS__, SIDE_NO_ATTR, )
/* _vla, _struct and the struct visitor are pointers, "&id"; the VLA visitor is "id". */
#define side_arg_dynamic_vla(_vla) SIDE_ARG_DYNAMIC(side_make_dynamic_vla(_vla))
#define side_arg_dynamic_struct(_struct) SIDE_ARG_DYNAMIC(side_make_dynamic_struct(_struct))
#define side_arg_dynamic_vla_visitor(_dynamic_vla_visitor)                                         \
	SIDE_ARG_DYNAMIC(side_make_dynamic_vla_visitor(&(_dynamic_vla_visitor)))
#define side_arg_dynamic_struct_visitor(_dynamic_struct_visitor)                                   \
	SIDE_ARG_DYNAMIC(side_make_dynamic_struct_visitor(_dynamic_struct_visitor))
#define side_arg_dynamic_field(_name, _elem) _side_arg_dynamic_field(_name, _elem)

/* A dynamic value by the name of its type. */
#define side_unwrap_dynamic(_type, _val) side_arg_dynamic_##_type(_val)
#define side_unwrap_dynamic_field(_type, _name, _val)                                              \
	side_arg_dynamic_field(_name, side_arg_dynamic_##_type(_val))

/* Initialisers for visitors, also for static elements in spite of the name. */
#define side_visit_dynamic_arg(_what, ...) _what(__VA_ARGS__)
#define side_visit_dynamic_field(_what, _name, ...)                                                \
	side_arg_dynamic_field(_name, _what(__VA_ARGS__))

/* Block-scope definitions of arguments; the objects live until the end of the block. */
#define side_arg_define_vec(_identifier, _sav)                                                     \
	_side_arg_define_vec(_identifier, _sav);                                                   \
	SIDE_CHECK_ARG_VEC(_identifier)
#define side_arg_define_struct(_identifier, _sav)                                                  \
	_side_arg_define_vec(_identifier, _sav);                                                   \
	SIDE_CHECK_ARG_STRUCT(_identifier, _sav)
#define side_arg_define_array(_identifier, _sav)                                                   \
	_side_arg_define_vec(_identifier, _sav);                                                   \
	SIDE_CHECK_ARG_ARRAY(_identifier, _sav)
#define side_arg_define_vla(_identifier, _sav)                                                     \
	_side_arg_define_vec(_identifier, _sav);                                                   \
	SIDE_CHECK_ARG_VLA(_identifier, _sav)
#define side_arg_define_variant(_identifier, _selector_val, _option)                               \
	_side_arg_define_variant(_identifier, _selector_val, _option);                             \
	SIDE_CHECK_ARG_VARIANT(_identifier, _selector_val, _option)
#define side_arg_define_optional(_identifier, _value, _selector)                                   \
	_side_arg_define_optional(_identifier, _value, _selector);                                 \
	SIDE_CHECK_ARG_OPTIONAL(_identifier, _value)
#define side_arg_define_vla_visitor(_identifier, _ctx)                                             \
	_side_arg_define_vla_visitor(_identifier, _ctx);                                           \
	SIDE_CHECK_ARG_VLA_VISITOR(_identifier, _ctx)
#define side_arg_dynamic_define_vec(...) SIDE_ARG_DYNAMIC_DEFINE_VEC(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_ARG_DYNAMIC_DEFINE_VEC(...) _side_arg_dynamic_define_vec(__VA_ARGS__)
#define side_arg_dynamic_define_struct(...)                                                        \
	SIDE_ARG_DYNAMIC_DEFINE_STRUCT(__VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_ARG_DYNAMIC_DEFINE_STRUCT(...) _side_arg_dynamic_define_struct(__VA_ARGS__)
#define side_arg_dynamic_define_vla_visitor(...)                                                   \
	SIDE_ARG_DYNAMIC_DEFINE_VISITOR(side_arg_dynamic_vla_visitor, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_arg_dynamic_define_struct_visitor(...)                                                \
	SIDE_ARG_DYNAMIC_DEFINE_VISITOR(                                                           \
			side_arg_dynamic_struct_visitor, __VA_ARGS__, SIDE_NO_ATTR, )
#define SIDE_ARG_DYNAMIC_DEFINE_VISITOR(...) _side_arg_dynamic_define_visitor(__VA_ARGS__)

/*
 * Definitions of events, at file scope: (id, provider, event, loglevel, fields [, attr]). static:
 * for this file; hidden: for this shared object; export: for all. In C the storage class is part of
 * the macro.
 */
#define SIDE_DEFINE_FIELDS(_identifier)                                                            \
	__extension__ static const struct side_event_field side_event_fields__##_identifier[]
#ifdef SIDE_STATIC_CHECK_DISABLE
#define SIDE_DEFINE_EVENT(                                                                         \
		_define, _flags, _identifier, _provider, _event, _loglevel, _fields, _attr, ...)   \
	SIDE_DEFINE_FIELDS(_identifier) = {SIDE_FIELDS_INIT(_fields)};                             \
	_define(_identifier, _provider, _event, _loglevel, _flags, _attr);                         \
	SIDE_SDT_EVENT(_define, _identifier, _provider, _event, _fields, _flags)                   \
	SIDE_EXPECT_SEMICOLON()
#else
#define SIDE_DEFINE_EVENT(                                                                         \
		_define, _flags, _identifier, _provider, _event, _loglevel, _fields, _attr, ...)   \
	SIDE_DEFINE_CHECKED_EVENT(_define, _flags, _identifier, _provider, _event, _loglevel,      \
			SIDE_EVENT_LIST(_fields), SIDE_FIELDS_CHAIN(_identifier, _fields), _attr)
#define SIDE_DEFINE_CHECKED_EVENT(_define, _flags, _identifier, _provider, _event, _loglevel,      \
		_fields, _chain, _attr)                                                            \
	SIDE_DEFINE_FIELDS(_identifier) = {SIDE_EACH_INIT _chain};                                 \
	_define(_identifier, _provider, _event, _loglevel, _flags, _attr);                         \
	SIDE_SDT_EVENT(_define, _identifier, _provider, _event, _fields, _flags)                   \
	SIDE_SIGNATURE_BEGIN(_identifier) SIDE_EACH_PARAMS _chain SIDE_SIGNATURE_END(_flags)       \
	SIDE_SENTENCES_BEGIN(_identifier, _flags) SIDE_EACH_QUOTE _chain SIDE_SENTENCES_NEXT       \
	SIDE_EACH_EXPLAINED _chain SIDE_SENTENCES_END(_identifier, _flags)                         \
	SIDE_CHECK_EVENT_NAMES(_identifier, _fields, _chain) SIDE_EXPECT_SEMICOLON()
#endif

#define side_static_event(...)                                                                     \
	SIDE_DEFINE_EVENT(_side_static_event, 0, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_static_event_variadic(...)                                                            \
	SIDE_DEFINE_EVENT(_side_static_event, SIDE_EVENT_FLAG_VARIADIC, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_hidden_event(...)                                                                     \
	SIDE_DEFINE_EVENT(_side_hidden_event, 0, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_hidden_event_variadic(...)                                                            \
	SIDE_DEFINE_EVENT(_side_hidden_event, SIDE_EVENT_FLAG_VARIADIC, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_export_event(...)                                                                     \
	SIDE_DEFINE_EVENT(_side_export_event, 0, __VA_ARGS__, SIDE_NO_ATTR, )
#define side_export_event_variadic(...)                                                            \
	SIDE_DEFINE_EVENT(_side_export_event, SIDE_EVENT_FLAG_VARIADIC, __VA_ARGS__, SIDE_NO_ATTR, )

/* Declare a hidden or exported event that another file defines. */
#define side_declare_event(_identifier)                                                            \
	_side_declare_event(_identifier);                                                          \
	SIDE_SDT_DECLARED(_identifier)                                                             \
	SIDE_CHECK_DECLARED_EVENT(_identifier)

/*
 * Emission.  side_event_enabled(id) is 0 or 1: one relaxed load.  The forms with _call do not test
 * it. All others are statements.
 */
#define side_event_enabled(_identifier) _side_event_enabled(_identifier)

/* The list must be the last argument: the parameter after it is empty. */
#define side_event_call(...) SIDE_CHECKED_CALL(SIDE_EMIT_ALWAYS, 0, (), __VA_ARGS__, , )
#define side_event(...) SIDE_CHECKED_CALL(SIDE_EMIT, 0, (), __VA_ARGS__, , )
#define SIDE_EMIT_ALWAYS(_identifier, _with, _sav) _side_event_call(side_call, _identifier, _sav, );
#define SIDE_EMIT(_identifier, _with, _sav)                                                        \
	if (side_event_enabled(_identifier))                                                       \
		_side_event_emit(_identifier, _sav);

/* _key is the pointer that the state-dump callback has received. */
#define side_statedump_event_call(_identifier, _key, ...)                                          \
	SIDE_CHECKED_CALL(SIDE_EMIT_STATE_ALWAYS, 0, (, _key), _identifier, __VA_ARGS__, , )
#define side_statedump_event(_identifier, _key, ...)                                               \
	SIDE_CHECKED_CALL(SIDE_EMIT_STATE, 0, (, _key), _identifier, __VA_ARGS__, , )
#define SIDE_EMIT_STATE_ALWAYS(_identifier, _with, _sav)                                           \
	_side_event_call(side_statedump_call, _identifier, _sav, SIDE_UNPAREN _with);
#define SIDE_EMIT_STATE(_identifier, _with, _sav)                                                  \
	if (side_event_enabled(_identifier))                                                       \
		SIDE_EMIT_STATE_ALWAYS(_identifier, _with, _sav)

/* (id, args, var_fields [, attr]); attr is a side_dynamic_attr_list. */
#define side_event_call_variadic(...)                                                              \
	SIDE_EVENT_VARIADIC(SIDE_EMIT_VARIADIC_ALWAYS, __VA_ARGS__, SIDE_NO_ATTR, , )
#define side_event_variadic(...)                                                                   \
	SIDE_EVENT_VARIADIC(SIDE_EMIT_VARIADIC, __VA_ARGS__, SIDE_NO_ATTR, , )
#define SIDE_EVENT_VARIADIC(_emit, _identifier, _sav, _var, _attr, ...)                            \
	SIDE_CHECKED_CALL(_emit, SIDE_EVENT_FLAG_VARIADIC,                                         \
			(side_call_variadic, (), _identifier, _sav, _var, _attr, ), _identifier,   \
			_sav, , )
#define SIDE_EMIT_VARIADIC_ALWAYS(_identifier, _with, _sav) _side_event_call_variadic _with;
#define SIDE_EMIT_VARIADIC(_identifier, _with, _sav)                                               \
	if (side_event_enabled(_identifier))                                                       \
		_side_event_call_variadic _with;
#define side_statedump_event_call_variadic(...)                                                    \
	SIDE_STATEDUMP_EVENT_VARIADIC(SIDE_EMIT_VARIADIC_ALWAYS, __VA_ARGS__, SIDE_NO_ATTR, , )
#define side_statedump_event_variadic(...)                                                         \
	SIDE_STATEDUMP_EVENT_VARIADIC(SIDE_EMIT_VARIADIC, __VA_ARGS__, SIDE_NO_ATTR, , )
#define SIDE_STATEDUMP_EVENT_VARIADIC(_emit, _identifier, _key, _sav, _var, _attr, ...)            \
	SIDE_CHECKED_CALL(_emit, SIDE_EVENT_FLAG_VARIADIC,                                         \
			(side_statedump_call_variadic, (, _key), _identifier, _sav, _var, _attr, ), \
			_identifier, _sav, , )

#endif /* SIDE_API_H */
