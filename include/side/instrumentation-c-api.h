/* SPDX-License-Identifier: MIT */
/*
 * SIDE: the implementation of the names of side/api.h.
 *
 * The initialisers of descriptions (_side_type_*, _side_attr_*, ...), the functions that build
 * arguments (side_make_*), the definitions of events and their emission. Applications use the names
 * of side/api.h; these may change.
 *
 * Conventions: a list is a text in parentheses, "(a, b)"; an optional attribute list is "(pointer,
 * length)", and nothing at all or SIDE_NO_ATTR if it is absent.
 */
#ifndef SIDE_INSTRUMENTATION_C_API_H
#define SIDE_INSTRUMENTATION_C_API_H

#pragma GCC system_header

#include <stddef.h>
#include <stdint.h>

#include <side/abi/attribute.h>
#include <side/abi/event-description.h>
#include <side/abi/type-argument.h>
#include <side/abi/type-description.h>
#include <side/abi/type-value.h>
#include <side/abi/visitor.h>
#include <side/list.h>
#include <side/macros.h>
#include <side/sdt.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One zeroed callback entry: the array of an event without callbacks. */
extern const char side_empty_callback[];

/* Called through the address that the loader stored: no jump through the procedure linkage table. */
#if defined(__has_attribute) && !defined(__clang__)
# if __has_attribute(__noplt__)
#  define SIDE_NO_PLT __attribute__((__noplt__))
# endif
#endif
#ifndef SIDE_NO_PLT
# define SIDE_NO_PLT
#endif

/* Documented in side/trace.h. */
extern void side_call(const struct side_event_state *state,
		const struct side_arg_vec *side_arg_vec) SIDE_NO_PLT;
extern void side_call_variadic(const struct side_event_state *state,
		const struct side_arg_vec *side_arg_vec,
		const struct side_arg_dynamic_struct *var_struct) SIDE_NO_PLT;
extern void side_statedump_call(const struct side_event_state *state,
		const struct side_arg_vec *side_arg_vec, void *statedump_request_key);
extern void side_statedump_call_variadic(const struct side_event_state *state,
		const struct side_arg_vec *side_arg_vec,
		const struct side_arg_dynamic_struct *var_struct, void *statedump_request_key);

#ifdef __cplusplus
}
#endif

/*
 * C types by their size in this compiler: side_field_int() is side_field_s32() if int has 4 bytes.
 * (Pasted without expansion, like all names here: users have macros like u8, BOOL or POINTER.)
 */
#ifdef __CHAR_UNSIGNED__
#define SIDE_NATIVE_char(_prefix) _prefix##u8
#else
#define SIDE_NATIVE_char(_prefix) _prefix##s8
#endif
#define SIDE_NATIVE_schar(_prefix) _prefix##s8
#define SIDE_NATIVE_uchar(_prefix) _prefix##u8

#if __SIZEOF_SHORT__ == 2
#define SIDE_NATIVE_short(_prefix) _prefix##s16
#define SIDE_NATIVE_ushort(_prefix) _prefix##u16
#elif __SIZEOF_SHORT__ == 4
#define SIDE_NATIVE_short(_prefix) _prefix##s32
#define SIDE_NATIVE_ushort(_prefix) _prefix##u32
#elif __SIZEOF_SHORT__ == 8
#define SIDE_NATIVE_short(_prefix) _prefix##s64
#define SIDE_NATIVE_ushort(_prefix) _prefix##u64
#endif
#if __SIZEOF_INT__ == 2
#define SIDE_NATIVE_int(_prefix) _prefix##s16
#define SIDE_NATIVE_uint(_prefix) _prefix##u16
#elif __SIZEOF_INT__ == 4
#define SIDE_NATIVE_int(_prefix) _prefix##s32
#define SIDE_NATIVE_uint(_prefix) _prefix##u32
#elif __SIZEOF_INT__ == 8
#define SIDE_NATIVE_int(_prefix) _prefix##s64
#define SIDE_NATIVE_uint(_prefix) _prefix##u64
#endif
#if __SIZEOF_LONG__ == 2
#define SIDE_NATIVE_long(_prefix) _prefix##s16
#define SIDE_NATIVE_ulong(_prefix) _prefix##u16
#elif __SIZEOF_LONG__ == 4
#define SIDE_NATIVE_long(_prefix) _prefix##s32
#define SIDE_NATIVE_ulong(_prefix) _prefix##u32
#elif __SIZEOF_LONG__ == 8
#define SIDE_NATIVE_long(_prefix) _prefix##s64
#define SIDE_NATIVE_ulong(_prefix) _prefix##u64
#endif
#if __SIZEOF_LONG_LONG__ == 2
#define SIDE_NATIVE_long_long(_prefix) _prefix##s16
#define SIDE_NATIVE_ulong_long(_prefix) _prefix##u16
#elif __SIZEOF_LONG_LONG__ == 4
#define SIDE_NATIVE_long_long(_prefix) _prefix##s32
#define SIDE_NATIVE_ulong_long(_prefix) _prefix##u32
#elif __SIZEOF_LONG_LONG__ == 8
#define SIDE_NATIVE_long_long(_prefix) _prefix##s64
#define SIDE_NATIVE_ulong_long(_prefix) _prefix##u64
#endif

#if __SIZEOF_FLOAT__ == 4 && SIDE_HAVE_FLOAT32
#define SIDE_NATIVE_float(_prefix) _prefix##float_binary32
#elif __SIZEOF_FLOAT__ == 8 && SIDE_HAVE_FLOAT64
#define SIDE_NATIVE_float(_prefix) _prefix##float_binary64
#elif __SIZEOF_FLOAT__ == 16 && SIDE_HAVE_FLOAT128
#define SIDE_NATIVE_float(_prefix) _prefix##float_binary128
#endif
#if __SIZEOF_DOUBLE__ == 4 && SIDE_HAVE_FLOAT32
#define SIDE_NATIVE_double(_prefix) _prefix##float_binary32
#elif __SIZEOF_DOUBLE__ == 8 && SIDE_HAVE_FLOAT64
#define SIDE_NATIVE_double(_prefix) _prefix##float_binary64
#elif __SIZEOF_DOUBLE__ == 16 && SIDE_HAVE_FLOAT128
#define SIDE_NATIVE_double(_prefix) _prefix##float_binary128
#endif
#if __SIZEOF_LONG_DOUBLE__ == 4 && SIDE_HAVE_FLOAT32
#define SIDE_NATIVE_long_double(_prefix) _prefix##float_binary32
#elif __SIZEOF_LONG_DOUBLE__ == 8 && SIDE_HAVE_FLOAT64
#define SIDE_NATIVE_long_double(_prefix) _prefix##float_binary64
#elif __SIZEOF_LONG_DOUBLE__ == 16 && SIDE_HAVE_FLOAT128
#define SIDE_NATIVE_long_double(_prefix) _prefix##float_binary128
#endif

/*
 * Attribute lists. If the text after SIDE_ATTR_PTR or SIDE_ATTR_LEN is not "(pointer, length)", the
 * macro is not invoked, and the name is the constant zero: the empty list.
 */
#define SIDE_ATTR_PTR(_ptr, _len) _ptr
#define SIDE_ATTR_LEN(_ptr, _len) _len
#ifdef __cplusplus
static constexpr decltype(nullptr) SIDE_ATTR_PTR = nullptr;
enum { SIDE_ATTR_LEN = 0 };
#else
enum { SIDE_ATTR_PTR = 0, SIDE_ATTR_LEN = 0 };
#endif
#define SIDE_NO_ATTR (0, 0)

/* Initialiser of the member `attributes`; arguments for a function that makes a dynamic value. */
#define SIDE_ATTRS(...)                                                                            \
	{                                                                                          \
		SIDE_PTR_INIT((const struct side_attr *) SIDE_ATTR_PTR __VA_ARGS__),               \
				SIDE_ATTR_LEN __VA_ARGS__                                          \
	}
#define SIDE_DYNAMIC_ATTRS(...)                                                                    \
	(const struct side_attr *) SIDE_ATTR_PTR __VA_ARGS__, SIDE_ATTR_LEN __VA_ARGS__

#define _side_attr_list(...)                                                                       \
	((SIDE_COMPOUND_LITERAL(const struct side_attr, __VA_ARGS__)),                             \
			(SIDE_LITERAL_LENGTH(const struct side_attr, __VA_ARGS__)))
#define _side_dynamic_attr_list(...)                                                               \
	((SIDE_DYNAMIC_LITERAL(const struct side_attr, __VA_ARGS__)),                              \
			(SIDE_LITERAL_LENGTH(const struct side_attr, __VA_ARGS__)))

#define SIDE_RAW_STRING(_p, _unit_size)                                                            \
	{                                                                                          \
		SIDE_PTR_INIT(_p), _unit_size, SIDE_ENUM_INIT(SIDE_TYPE_BYTE_ORDER_HOST)           \
	}
#define _side_attr(_name, ...)                                                                     \
	{                                                                                          \
		SIDE_RAW_STRING(_name, 1), __VA_ARGS__                                             \
	}
#define SIDE_ATTR_VALUE(_type, ...)                                                                \
	{                                                                                          \
		SIDE_ENUM_INIT(SIDE_ATTR_TYPE_##_type),                                            \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define _side_attr_null() SIDE_ATTR_VALUE(NULL, .bool_value = 0)
#define _side_attr_bool(_val) SIDE_ATTR_VALUE(BOOL, .bool_value = !!(_val))
#define _side_attr_u8(_val) SIDE_ATTR_VALUE(U8, .integer_value = {.side_u8 = (_val)})
#define _side_attr_u16(_val) SIDE_ATTR_VALUE(U16, .integer_value = {.side_u16 = (_val)})
#define _side_attr_u32(_val) SIDE_ATTR_VALUE(U32, .integer_value = {.side_u32 = (_val)})
#define _side_attr_u64(_val) SIDE_ATTR_VALUE(U64, .integer_value = {.side_u64 = (_val)})
#define _side_attr_u128(_val) SIDE_ATTR_VALUE(U128, .integer_value = {.side_u128 = (_val)})
#define _side_attr_s8(_val) SIDE_ATTR_VALUE(S8, .integer_value = {.side_s8 = (_val)})
#define _side_attr_s16(_val) SIDE_ATTR_VALUE(S16, .integer_value = {.side_s16 = (_val)})
#define _side_attr_s32(_val) SIDE_ATTR_VALUE(S32, .integer_value = {.side_s32 = (_val)})
#define _side_attr_s64(_val) SIDE_ATTR_VALUE(S64, .integer_value = {.side_s64 = (_val)})
#define _side_attr_s128(_val) SIDE_ATTR_VALUE(S128, .integer_value = {.side_s128 = (_val)})
#define _side_attr_float_binary16(_val)                                                            \
	SIDE_ATTR_VALUE(FLOAT_BINARY16, .float_value = {.side_float_binary16 = (_val)})
#define _side_attr_float_binary32(_val)                                                            \
	SIDE_ATTR_VALUE(FLOAT_BINARY32, .float_value = {.side_float_binary32 = (_val)})
#define _side_attr_float_binary64(_val)                                                            \
	SIDE_ATTR_VALUE(FLOAT_BINARY64, .float_value = {.side_float_binary64 = (_val)})
#define _side_attr_float_binary128(_val)                                                           \
	SIDE_ATTR_VALUE(FLOAT_BINARY128, .float_value = {.side_float_binary128 = (_val)})
#define _side_attr_string(_val) SIDE_ATTR_VALUE(STRING, .string_value = SIDE_RAW_STRING(_val, 1))
#define _side_attr_string16(_val) SIDE_ATTR_VALUE(STRING, .string_value = SIDE_RAW_STRING(_val, 2))
#define _side_attr_string32(_val) SIDE_ATTR_VALUE(STRING, .string_value = SIDE_RAW_STRING(_val, 4))

/* Initialisers of struct side_type. */
#define SIDE_INIT_TYPE(_label, ...)                                                                \
	{                                                                                          \
		SIDE_ENUM_INIT(_label),                                                            \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define SIDE_HOST SIDE_TYPE_BYTE_ORDER_HOST
#define SIDE_FLOAT_HOST SIDE_TYPE_FLOAT_WORD_ORDER_HOST
#define SIDE_LE SIDE_TYPE_BYTE_ORDER_LE
#define SIDE_BE SIDE_TYPE_BYTE_ORDER_BE

/* Payload types, alone or in a gather type. */
#define SIDE_PAYLOAD_BOOL(_size, _len_bits, _order, ...)                                           \
	{                                                                                          \
		SIDE_ATTRS(__VA_ARGS__), _size, _len_bits, SIDE_ENUM_INIT(_order)                  \
	}
#define SIDE_PAYLOAD_INTEGER(_size, _len_bits, _signed, _order, ...)                               \
	{                                                                                          \
		SIDE_ATTRS(__VA_ARGS__), _size, _len_bits, _signed, SIDE_ENUM_INIT(_order)         \
	}
#define SIDE_PAYLOAD_FLOAT(_size, _order, ...)                                                     \
	{                                                                                          \
		SIDE_ATTRS(__VA_ARGS__), _size, SIDE_ENUM_INIT(_order)                             \
	}
#define SIDE_PAYLOAD_STRING(_unit_size, _order, ...)                                               \
	{                                                                                          \
		SIDE_ATTRS(__VA_ARGS__), _unit_size, SIDE_ENUM_INIT(_order)                        \
	}

#define SIDE_INIT_INTEGER(_label, _size, _signed, _order, ...)                                     \
	SIDE_INIT_TYPE(_label,                                                                     \
			.side_integer = SIDE_PAYLOAD_INTEGER(_size, 0, _signed, _order, __VA_ARGS__))
#define SIDE_INIT_FLOAT(_label, _size, _order, ...)                                                \
	SIDE_INIT_TYPE(_label, .side_float = SIDE_PAYLOAD_FLOAT(_size, _order, __VA_ARGS__))
#define SIDE_INIT_STRING(_label, _unit_size, _order, ...)                                          \
	SIDE_INIT_TYPE(_label, .side_string = SIDE_PAYLOAD_STRING(_unit_size, _order, __VA_ARGS__))

#define _side_type_null(...) SIDE_INIT_TYPE(SIDE_TYPE_NULL, .side_null = {SIDE_ATTRS(__VA_ARGS__)})
#define _side_type_bool(...)                                                                       \
	SIDE_INIT_TYPE(SIDE_TYPE_BOOL, .side_bool = SIDE_PAYLOAD_BOOL(1, 0, SIDE_HOST, __VA_ARGS__))
#define _side_type_byte(...) SIDE_INIT_TYPE(SIDE_TYPE_BYTE, .side_byte = {SIDE_ATTRS(__VA_ARGS__)})
#define _side_type_dynamic() SIDE_INIT_TYPE(SIDE_TYPE_DYNAMIC, .side_null = {SIDE_ATTRS()})
#define _side_type_u8(...) SIDE_INIT_INTEGER(SIDE_TYPE_U8, 1, 0, SIDE_HOST, __VA_ARGS__)
#define _side_type_u8_le(...) SIDE_INIT_INTEGER(SIDE_TYPE_U8, 1, 0, SIDE_LE, __VA_ARGS__)
#define _side_type_u8_be(...) SIDE_INIT_INTEGER(SIDE_TYPE_U8, 1, 0, SIDE_BE, __VA_ARGS__)
#define _side_type_u16(...) SIDE_INIT_INTEGER(SIDE_TYPE_U16, 2, 0, SIDE_HOST, __VA_ARGS__)
#define _side_type_u16_le(...) SIDE_INIT_INTEGER(SIDE_TYPE_U16, 2, 0, SIDE_LE, __VA_ARGS__)
#define _side_type_u16_be(...) SIDE_INIT_INTEGER(SIDE_TYPE_U16, 2, 0, SIDE_BE, __VA_ARGS__)
#define _side_type_u32(...) SIDE_INIT_INTEGER(SIDE_TYPE_U32, 4, 0, SIDE_HOST, __VA_ARGS__)
#define _side_type_u32_le(...) SIDE_INIT_INTEGER(SIDE_TYPE_U32, 4, 0, SIDE_LE, __VA_ARGS__)
#define _side_type_u32_be(...) SIDE_INIT_INTEGER(SIDE_TYPE_U32, 4, 0, SIDE_BE, __VA_ARGS__)
#define _side_type_u64(...) SIDE_INIT_INTEGER(SIDE_TYPE_U64, 8, 0, SIDE_HOST, __VA_ARGS__)
#define _side_type_u64_le(...) SIDE_INIT_INTEGER(SIDE_TYPE_U64, 8, 0, SIDE_LE, __VA_ARGS__)
#define _side_type_u64_be(...) SIDE_INIT_INTEGER(SIDE_TYPE_U64, 8, 0, SIDE_BE, __VA_ARGS__)
#define _side_type_u128(...) SIDE_INIT_INTEGER(SIDE_TYPE_U128, 16, 0, SIDE_HOST, __VA_ARGS__)
#define _side_type_u128_le(...) SIDE_INIT_INTEGER(SIDE_TYPE_U128, 16, 0, SIDE_LE, __VA_ARGS__)
#define _side_type_u128_be(...) SIDE_INIT_INTEGER(SIDE_TYPE_U128, 16, 0, SIDE_BE, __VA_ARGS__)
#define _side_type_s8(...) SIDE_INIT_INTEGER(SIDE_TYPE_S8, 1, 1, SIDE_HOST, __VA_ARGS__)
#define _side_type_s8_le(...) SIDE_INIT_INTEGER(SIDE_TYPE_S8, 1, 1, SIDE_LE, __VA_ARGS__)
#define _side_type_s8_be(...) SIDE_INIT_INTEGER(SIDE_TYPE_S8, 1, 1, SIDE_BE, __VA_ARGS__)
#define _side_type_s16(...) SIDE_INIT_INTEGER(SIDE_TYPE_S16, 2, 1, SIDE_HOST, __VA_ARGS__)
#define _side_type_s16_le(...) SIDE_INIT_INTEGER(SIDE_TYPE_S16, 2, 1, SIDE_LE, __VA_ARGS__)
#define _side_type_s16_be(...) SIDE_INIT_INTEGER(SIDE_TYPE_S16, 2, 1, SIDE_BE, __VA_ARGS__)
#define _side_type_s32(...) SIDE_INIT_INTEGER(SIDE_TYPE_S32, 4, 1, SIDE_HOST, __VA_ARGS__)
#define _side_type_s32_le(...) SIDE_INIT_INTEGER(SIDE_TYPE_S32, 4, 1, SIDE_LE, __VA_ARGS__)
#define _side_type_s32_be(...) SIDE_INIT_INTEGER(SIDE_TYPE_S32, 4, 1, SIDE_BE, __VA_ARGS__)
#define _side_type_s64(...) SIDE_INIT_INTEGER(SIDE_TYPE_S64, 8, 1, SIDE_HOST, __VA_ARGS__)
#define _side_type_s64_le(...) SIDE_INIT_INTEGER(SIDE_TYPE_S64, 8, 1, SIDE_LE, __VA_ARGS__)
#define _side_type_s64_be(...) SIDE_INIT_INTEGER(SIDE_TYPE_S64, 8, 1, SIDE_BE, __VA_ARGS__)
#define _side_type_s128(...) SIDE_INIT_INTEGER(SIDE_TYPE_S128, 16, 1, SIDE_HOST, __VA_ARGS__)
#define _side_type_s128_le(...) SIDE_INIT_INTEGER(SIDE_TYPE_S128, 16, 1, SIDE_LE, __VA_ARGS__)
#define _side_type_s128_be(...) SIDE_INIT_INTEGER(SIDE_TYPE_S128, 16, 1, SIDE_BE, __VA_ARGS__)
#define _side_type_pointer(...)                                                                    \
	SIDE_INIT_INTEGER(SIDE_TYPE_POINTER, sizeof(uintptr_t), 0, SIDE_HOST, __VA_ARGS__)
#define _side_type_pointer_le(...)                                                                 \
	SIDE_INIT_INTEGER(SIDE_TYPE_POINTER, sizeof(uintptr_t), 0, SIDE_LE, __VA_ARGS__)
#define _side_type_pointer_be(...)                                                                 \
	SIDE_INIT_INTEGER(SIDE_TYPE_POINTER, sizeof(uintptr_t), 0, SIDE_BE, __VA_ARGS__)
#define _side_type_float_binary16(...)                                                             \
	SIDE_INIT_FLOAT(SIDE_TYPE_FLOAT_BINARY16, 2, SIDE_FLOAT_HOST, __VA_ARGS__)
#define _side_type_float_binary16_le(...)                                                          \
	SIDE_INIT_FLOAT(SIDE_TYPE_FLOAT_BINARY16, 2, SIDE_LE, __VA_ARGS__)
#define _side_type_float_binary16_be(...)                                                          \
	SIDE_INIT_FLOAT(SIDE_TYPE_FLOAT_BINARY16, 2, SIDE_BE, __VA_ARGS__)
#define _side_type_float_binary32(...)                                                             \
	SIDE_INIT_FLOAT(SIDE_TYPE_FLOAT_BINARY32, 4, SIDE_FLOAT_HOST, __VA_ARGS__)
#define _side_type_float_binary32_le(...)                                                          \
	SIDE_INIT_FLOAT(SIDE_TYPE_FLOAT_BINARY32, 4, SIDE_LE, __VA_ARGS__)
#define _side_type_float_binary32_be(...)                                                          \
	SIDE_INIT_FLOAT(SIDE_TYPE_FLOAT_BINARY32, 4, SIDE_BE, __VA_ARGS__)
#define _side_type_float_binary64(...)                                                             \
	SIDE_INIT_FLOAT(SIDE_TYPE_FLOAT_BINARY64, 8, SIDE_FLOAT_HOST, __VA_ARGS__)
#define _side_type_float_binary64_le(...)                                                          \
	SIDE_INIT_FLOAT(SIDE_TYPE_FLOAT_BINARY64, 8, SIDE_LE, __VA_ARGS__)
#define _side_type_float_binary64_be(...)                                                          \
	SIDE_INIT_FLOAT(SIDE_TYPE_FLOAT_BINARY64, 8, SIDE_BE, __VA_ARGS__)
#define _side_type_float_binary128(...)                                                            \
	SIDE_INIT_FLOAT(SIDE_TYPE_FLOAT_BINARY128, 16, SIDE_FLOAT_HOST, __VA_ARGS__)
#define _side_type_float_binary128_le(...)                                                         \
	SIDE_INIT_FLOAT(SIDE_TYPE_FLOAT_BINARY128, 16, SIDE_LE, __VA_ARGS__)
#define _side_type_float_binary128_be(...)                                                         \
	SIDE_INIT_FLOAT(SIDE_TYPE_FLOAT_BINARY128, 16, SIDE_BE, __VA_ARGS__)
#define _side_type_string(...)                                                                     \
	SIDE_INIT_STRING(SIDE_TYPE_STRING_UTF8, 1, SIDE_HOST, __VA_ARGS__)
#define _side_type_string16(...)                                                                   \
	SIDE_INIT_STRING(SIDE_TYPE_STRING_UTF16, 2, SIDE_HOST, __VA_ARGS__)
#define _side_type_string16_le(...)                                                                \
	SIDE_INIT_STRING(SIDE_TYPE_STRING_UTF16, 2, SIDE_LE, __VA_ARGS__)
#define _side_type_string16_be(...)                                                                \
	SIDE_INIT_STRING(SIDE_TYPE_STRING_UTF16, 2, SIDE_BE, __VA_ARGS__)
#define _side_type_string32(...)                                                                   \
	SIDE_INIT_STRING(SIDE_TYPE_STRING_UTF32, 4, SIDE_HOST, __VA_ARGS__)
#define _side_type_string32_le(...)                                                                \
	SIDE_INIT_STRING(SIDE_TYPE_STRING_UTF32, 4, SIDE_LE, __VA_ARGS__)
#define _side_type_string32_be(...)                                                                \
	SIDE_INIT_STRING(SIDE_TYPE_STRING_UTF32, 4, SIDE_BE, __VA_ARGS__)

#define _side_type_char(...) SIDE_NATIVE_char(_side_type_)(__VA_ARGS__)
#define _side_type_schar(...) SIDE_NATIVE_schar(_side_type_)(__VA_ARGS__)
#define _side_type_uchar(...) SIDE_NATIVE_uchar(_side_type_)(__VA_ARGS__)
#define _side_type_short(...) SIDE_NATIVE_short(_side_type_)(__VA_ARGS__)
#define _side_type_ushort(...) SIDE_NATIVE_ushort(_side_type_)(__VA_ARGS__)
#define _side_type_int(...) SIDE_NATIVE_int(_side_type_)(__VA_ARGS__)
#define _side_type_uint(...) SIDE_NATIVE_uint(_side_type_)(__VA_ARGS__)
#define _side_type_long(...) SIDE_NATIVE_long(_side_type_)(__VA_ARGS__)
#define _side_type_ulong(...) SIDE_NATIVE_ulong(_side_type_)(__VA_ARGS__)
#define _side_type_long_long(...) SIDE_NATIVE_long_long(_side_type_)(__VA_ARGS__)
#define _side_type_ulong_long(...) SIDE_NATIVE_ulong_long(_side_type_)(__VA_ARGS__)
#define _side_type_float(...) SIDE_NATIVE_float(_side_type_)(__VA_ARGS__)
#define _side_type_double(...) SIDE_NATIVE_double(_side_type_)(__VA_ARGS__)
#define _side_type_long_double(...) SIDE_NATIVE_long_double(_side_type_)(__VA_ARGS__)

#define _side_type_struct(_struct)                                                                 \
	SIDE_INIT_TYPE(SIDE_TYPE_STRUCT, .side_struct = SIDE_PTR_INIT(&(_struct)))
#define _side_type_array(_array)                                                                   \
	SIDE_INIT_TYPE(SIDE_TYPE_ARRAY, .side_array = SIDE_PTR_INIT(&(_array)))
#define _side_type_vla(_vla) SIDE_INIT_TYPE(SIDE_TYPE_VLA, .side_vla = SIDE_PTR_INIT(&(_vla)))
#define _side_type_vla_visitor(_visitor)                                                           \
	SIDE_INIT_TYPE(SIDE_TYPE_VLA_VISITOR, .side_vla_visitor = SIDE_PTR_INIT(&(_visitor)))
#define _side_type_variant(_variant)                                                               \
	SIDE_INIT_TYPE(SIDE_TYPE_VARIANT, .side_variant = SIDE_PTR_INIT(&(_variant)))
#define _side_type_optional(_optional)                                                             \
	SIDE_INIT_TYPE(SIDE_TYPE_OPTIONAL, .side_optional = SIDE_PTR_INIT(&(_optional)))
#define SIDE_OPTIONAL_INIT(_elem_type, ...)                                                        \
	{                                                                                          \
		SIDE_PTR_INIT(_elem_type), SIDE_ATTRS(__VA_ARGS__)                                 \
	}
#define _side_type_optional_literal(_elem_type, ...)                                               \
	SIDE_INIT_TYPE(SIDE_TYPE_OPTIONAL,                                                         \
			.side_optional = SIDE_PTR_INIT(SIDE_COMPOUND_LITERAL(                      \
					const struct side_type_optional,                           \
					SIDE_OPTIONAL_INIT(_elem_type, __VA_ARGS__))))
#define _side_type_enum(_mappings, _elem_type)                                                     \
	SIDE_INIT_TYPE(SIDE_TYPE_ENUM, .side_enum = {SIDE_PTR_INIT(_mappings), SIDE_PTR_INIT(_elem_type)})
#define _side_type_enum_bitmap(_mappings, _elem_type)                                              \
	SIDE_INIT_TYPE(SIDE_TYPE_ENUM_BITMAP,                                                      \
			.side_enum_bitmap = {SIDE_PTR_INIT(_mappings), SIDE_PTR_INIT(_elem_type)})

/* Gather types */
#define SIDE_INIT_GATHER(_label, ...)                                                              \
	SIDE_INIT_TYPE(_label, .side_gather = {{                                                   \
				       __VA_ARGS__                                                 \
			       }})
#define SIDE_INIT_GATHER_BYTE(_offset, _mode, ...)                                                 \
	SIDE_INIT_GATHER(SIDE_TYPE_GATHER_BYTE,                                                    \
			.side_byte = {_offset, SIDE_ENUM_INIT(_mode), {SIDE_ATTRS(__VA_ARGS__)}})
#define SIDE_INIT_GATHER_BOOL(_order, _offset, _size, _offset_bits, _len_bits, _mode, ...)         \
	SIDE_INIT_GATHER(SIDE_TYPE_GATHER_BOOL,                                                    \
			.side_bool = {_offset, _offset_bits, SIDE_ENUM_INIT(_mode),                \
					SIDE_PAYLOAD_BOOL(_size, _len_bits, _order, __VA_ARGS__)})
#define SIDE_INIT_GATHER_INTEGER(                                                                  \
		_label, _signed, _order, _offset, _size, _offset_bits, _len_bits, _mode, ...)      \
	SIDE_INIT_GATHER(_label,                                                                   \
			.side_integer = {_offset, _offset_bits, SIDE_ENUM_INIT(_mode),             \
					SIDE_PAYLOAD_INTEGER(_size, _len_bits, _signed, _order,    \
							__VA_ARGS__)})
#define SIDE_INIT_GATHER_FLOAT(_order, _offset, _size, _mode, ...)                                 \
	SIDE_INIT_GATHER(SIDE_TYPE_GATHER_FLOAT,                                                   \
			.side_float = {_offset, SIDE_ENUM_INIT(_mode),                             \
					SIDE_PAYLOAD_FLOAT(_size, _order, __VA_ARGS__)})
#define SIDE_INIT_GATHER_STRING(_unit_size, _order, _offset, _mode, ...)                           \
	SIDE_INIT_GATHER(SIDE_TYPE_GATHER_STRING,                                                  \
			.side_string = {_offset, SIDE_ENUM_INIT(_mode),                            \
					SIDE_PAYLOAD_STRING(_unit_size, _order, __VA_ARGS__)})

#define _side_type_gather_byte(_offset, _mode, ...)                                                \
	SIDE_INIT_GATHER_BYTE(_offset, _mode, __VA_ARGS__)
#define _side_type_gather_bool(_offset, _size, _offset_bits, _len_bits, _mode, ...)                \
	SIDE_INIT_GATHER_BOOL(SIDE_HOST, _offset, _size, _offset_bits, _len_bits, _mode, __VA_ARGS__)
#define _side_type_gather_bool_le(_offset, _size, _offset_bits, _len_bits, _mode, ...)             \
	SIDE_INIT_GATHER_BOOL(SIDE_LE, _offset, _size, _offset_bits, _len_bits, _mode, __VA_ARGS__)
#define _side_type_gather_bool_be(_offset, _size, _offset_bits, _len_bits, _mode, ...)             \
	SIDE_INIT_GATHER_BOOL(SIDE_BE, _offset, _size, _offset_bits, _len_bits, _mode, __VA_ARGS__)
#define _side_type_gather_unsigned_integer(_offset, _size, _offset_bits, _len_bits, _mode, ...)    \
	SIDE_INIT_GATHER_INTEGER(SIDE_TYPE_GATHER_INTEGER, 0, SIDE_HOST, _offset, _size, _offset_bits, _len_bits, _mode, __VA_ARGS__)
#define _side_type_gather_unsigned_integer_le(_offset, _size, _offset_bits, _len_bits, _mode, ...) \
	SIDE_INIT_GATHER_INTEGER(SIDE_TYPE_GATHER_INTEGER, 0, SIDE_LE, _offset, _size, _offset_bits, _len_bits, _mode, __VA_ARGS__)
#define _side_type_gather_unsigned_integer_be(_offset, _size, _offset_bits, _len_bits, _mode, ...) \
	SIDE_INIT_GATHER_INTEGER(SIDE_TYPE_GATHER_INTEGER, 0, SIDE_BE, _offset, _size, _offset_bits, _len_bits, _mode, __VA_ARGS__)
#define _side_type_gather_signed_integer(_offset, _size, _offset_bits, _len_bits, _mode, ...)      \
	SIDE_INIT_GATHER_INTEGER(SIDE_TYPE_GATHER_INTEGER, 1, SIDE_HOST, _offset, _size, _offset_bits, _len_bits, _mode, __VA_ARGS__)
#define _side_type_gather_signed_integer_le(_offset, _size, _offset_bits, _len_bits, _mode, ...)   \
	SIDE_INIT_GATHER_INTEGER(SIDE_TYPE_GATHER_INTEGER, 1, SIDE_LE, _offset, _size, _offset_bits, _len_bits, _mode, __VA_ARGS__)
#define _side_type_gather_signed_integer_be(_offset, _size, _offset_bits, _len_bits, _mode, ...)   \
	SIDE_INIT_GATHER_INTEGER(SIDE_TYPE_GATHER_INTEGER, 1, SIDE_BE, _offset, _size, _offset_bits, _len_bits, _mode, __VA_ARGS__)
#define _side_type_gather_pointer(_offset, _mode, ...)                                             \
	SIDE_INIT_GATHER_INTEGER(SIDE_TYPE_GATHER_POINTER, 0, SIDE_HOST, _offset, sizeof(uintptr_t), 0, 0, _mode, __VA_ARGS__)
#define _side_type_gather_pointer_le(_offset, _mode, ...)                                          \
	SIDE_INIT_GATHER_INTEGER(SIDE_TYPE_GATHER_POINTER, 0, SIDE_LE, _offset, sizeof(uintptr_t), 0, 0, _mode, __VA_ARGS__)
#define _side_type_gather_pointer_be(_offset, _mode, ...)                                          \
	SIDE_INIT_GATHER_INTEGER(SIDE_TYPE_GATHER_POINTER, 0, SIDE_BE, _offset, sizeof(uintptr_t), 0, 0, _mode, __VA_ARGS__)
#define _side_type_gather_float(_offset, _size, _mode, ...)                                        \
	SIDE_INIT_GATHER_FLOAT(SIDE_FLOAT_HOST, _offset, _size, _mode, __VA_ARGS__)
#define _side_type_gather_float_le(_offset, _size, _mode, ...)                                     \
	SIDE_INIT_GATHER_FLOAT(SIDE_LE, _offset, _size, _mode, __VA_ARGS__)
#define _side_type_gather_float_be(_offset, _size, _mode, ...)                                     \
	SIDE_INIT_GATHER_FLOAT(SIDE_BE, _offset, _size, _mode, __VA_ARGS__)
#define _side_type_gather_string(_offset, _mode, ...)                                              \
	SIDE_INIT_GATHER_STRING(1, SIDE_HOST, _offset, _mode, __VA_ARGS__)
#define _side_type_gather_string16(_offset, _mode, ...)                                            \
	SIDE_INIT_GATHER_STRING(2, SIDE_HOST, _offset, _mode, __VA_ARGS__)
#define _side_type_gather_string16_le(_offset, _mode, ...)                                         \
	SIDE_INIT_GATHER_STRING(2, SIDE_LE, _offset, _mode, __VA_ARGS__)
#define _side_type_gather_string16_be(_offset, _mode, ...)                                         \
	SIDE_INIT_GATHER_STRING(2, SIDE_BE, _offset, _mode, __VA_ARGS__)
#define _side_type_gather_string32(_offset, _mode, ...)                                            \
	SIDE_INIT_GATHER_STRING(4, SIDE_HOST, _offset, _mode, __VA_ARGS__)
#define _side_type_gather_string32_le(_offset, _mode, ...)                                         \
	SIDE_INIT_GATHER_STRING(4, SIDE_LE, _offset, _mode, __VA_ARGS__)
#define _side_type_gather_string32_be(_offset, _mode, ...)                                         \
	SIDE_INIT_GATHER_STRING(4, SIDE_BE, _offset, _mode, __VA_ARGS__)
#define _side_type_gather_struct(_struct, _offset, _size, _mode)                                   \
	SIDE_INIT_GATHER(SIDE_TYPE_GATHER_STRUCT,                                                  \
			.side_struct = {SIDE_PTR_INIT(&(_struct)), _offset, SIDE_ENUM_INIT(_mode), \
					_size})
#define _side_type_gather_array(_elem_type, _length, _offset, _mode, ...)                          \
	SIDE_INIT_GATHER(SIDE_TYPE_GATHER_ARRAY,                                                   \
			.side_array = {_offset, SIDE_ENUM_INIT(_mode),                             \
					{SIDE_PTR_INIT(_elem_type), _length,                       \
							SIDE_ATTRS(__VA_ARGS__)}})
#define _side_type_gather_vla(_elem_type, _offset, _mode, _length_type, ...)                       \
	SIDE_INIT_GATHER(SIDE_TYPE_GATHER_VLA,                                                     \
			.side_vla = {_offset, SIDE_ENUM_INIT(_mode),                               \
					{SIDE_PTR_INIT(_elem_type), SIDE_PTR_INIT(_length_type),   \
							SIDE_ATTRS(__VA_ARGS__)}})
#define _side_type_gather_enum(_mappings, _elem_type)                                              \
	SIDE_INIT_GATHER(SIDE_TYPE_GATHER_ENUM,                                                    \
			.side_enum = {SIDE_PTR_INIT(_mappings), SIDE_PTR_INIT(_elem_type)})

/* A pointer to a type; the initialiser of a field. */
#define _side_elem(...) SIDE_COMPOUND_LITERAL(const struct side_type, __VA_ARGS__)
#define _side_field(_name, ...)                                                                    \
	{                                                                                          \
		SIDE_PTR_INIT(_name), __VA_ARGS__                                                  \
	}

#define _side_enum_mapping_range(_label, _begin, _end)                                             \
	{                                                                                          \
		_begin, _end, SIDE_RAW_STRING(_label, 1)                                           \
	}
#define _side_option_range(_begin, _end, ...)                                                      \
	{                                                                                          \
		_begin, _end, __VA_ARGS__                                                          \
	}

/*
 * Definitions of types. The user may write a storage class before them, so each is one declaration.
 * Lists are in parentheses, element types are pointers.
 */
#define _side_define_enum(_identifier, _mappings, ...)                                             \
	const struct side_enum_mappings _identifier = {                                            \
			SIDE_LITERAL_ARRAY(const struct side_enum_mapping, SIDE_UNPAREN _mappings), \
			SIDE_ATTRS(__VA_ARGS__)}
#define _side_define_enum_bitmap(_identifier, _mappings, ...)                                      \
	const struct side_enum_bitmap_mappings _identifier = {                                     \
			SIDE_LITERAL_ARRAY(const struct side_enum_bitmap_mapping,                  \
					SIDE_UNPAREN _mappings),                                   \
			SIDE_ATTRS(__VA_ARGS__)}
#define _side_define_struct(_identifier, _fields, ...)                                             \
	const struct side_type_struct _identifier = {                                              \
			SIDE_LITERAL_ARRAY(const struct side_event_field, SIDE_UNPAREN _fields),   \
			SIDE_ATTRS(__VA_ARGS__)}
#define _side_define_array(_identifier, _elem_type, _length, ...)                                  \
	const struct side_type_array _identifier = {                                               \
			SIDE_PTR_INIT(_elem_type), _length, SIDE_ATTRS(__VA_ARGS__)}
#define _side_define_vla(_identifier, _elem_type, _length_type, ...)                               \
	const struct side_type_vla _identifier = {SIDE_PTR_INIT(_elem_type),                       \
			SIDE_PTR_INIT(_length_type), SIDE_ATTRS(__VA_ARGS__)}
#define _side_define_optional(_identifier, _elem_type, ...)                                        \
	const struct side_type_optional _identifier = SIDE_OPTIONAL_INIT(_elem_type, __VA_ARGS__)

/*
 * The selector is a struct side_type outside of any literal: clang++ would warn about its
 * designators.
 */
#ifdef __clang__
#define SIDE_DESIGNATORS_BEGIN                                                                     \
	_Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wpedantic\"")        \
			_Pragma("clang diagnostic ignored \"-Wc99-designator\"")
#define SIDE_DESIGNATORS_END _Pragma("clang diagnostic pop")
#else
#define SIDE_DESIGNATORS_BEGIN
#define SIDE_DESIGNATORS_END
#endif
#define _side_define_variant(_identifier, _selector, _options, _attr)                              \
	const struct side_type_variant _identifier = {                                             \
			SIDE_LITERAL_ARRAY(const struct side_variant_option, SIDE_UNPAREN _options), \
			SIDE_DESIGNATORS_BEGIN SIDE_UNPAREN _selector SIDE_DESIGNATORS_END,        \
			SIDE_ATTRS(_attr)}

/* _func has its own context type; the library passes a void pointer. */
#define _side_define_static_vla_visitor(_identifier, _elem_type, _length_type, _func, _type, ...)  \
	static enum side_visitor_status side_vla_visitor_func__##_identifier(                      \
			const struct side_tracer_visitor_ctx *side_tracer_ctx, void *side_app_ctx) \
	{                                                                                          \
		return _func(side_tracer_ctx, (_type *) side_app_ctx);                             \
	}                                                                                          \
	static const struct side_type_vla_visitor _identifier = {SIDE_PTR_INIT(_elem_type),        \
			SIDE_PTR_INIT(_length_type),                                               \
			SIDE_PTR_INIT(side_vla_visitor_func__##_identifier),                       \
			SIDE_ATTRS(__VA_ARGS__)}

/*
 * Arguments.
 *
 * Each function stores label, flags and the active member. The other bytes of the 64 keep their value:
 * no reader reads them. Inlined into the initialiser of an array element, a function becomes two or three
 * stores into the element.
 */
#define SIDE_MAKE(_name, _label, _params, ...)                                                     \
	static inline __attribute__((always_inline)) struct side_arg side_make_##_name             \
			_params                                                                    \
	{                                                                                          \
		struct side_arg side_arg_;                                                         \
                                                                                                   \
		side_arg_.type.v = SIDE_TYPE_##_label;                                             \
		side_arg_.flags = 0;                                                               \
		__VA_ARGS__                                                                        \
		return side_arg_;                                                                  \
	}                                                                                          \
	SIDE_EXPECT_SEMICOLON()
#define SIDE_STATIC_ARG side_arg_.u.side_static
#define SIDE_DYNAMIC_ARG side_arg_.u.side_dynamic

SIDE_MAKE(null, NULL, (void), );
SIDE_MAKE(bool, BOOL, (uint8_t v), SIDE_STATIC_ARG.bool_value.side_bool8 = v;);
SIDE_MAKE(byte, BYTE, (uint8_t v), SIDE_STATIC_ARG.byte_value = v;);
SIDE_MAKE(u8, U8, (uint8_t v), SIDE_STATIC_ARG.integer_value.side_u8 = v;);
SIDE_MAKE(u16, U16, (uint16_t v), SIDE_STATIC_ARG.integer_value.side_u16 = v;);
SIDE_MAKE(u32, U32, (uint32_t v), SIDE_STATIC_ARG.integer_value.side_u32 = v;);
SIDE_MAKE(u64, U64, (uint64_t v), SIDE_STATIC_ARG.integer_value.side_u64 = v;);
SIDE_MAKE(s8, S8, (int8_t v), SIDE_STATIC_ARG.integer_value.side_s8 = v;);
SIDE_MAKE(s16, S16, (int16_t v), SIDE_STATIC_ARG.integer_value.side_s16 = v;);
SIDE_MAKE(s32, S32, (int32_t v), SIDE_STATIC_ARG.integer_value.side_s32 = v;);
SIDE_MAKE(s64, S64, (int64_t v), SIDE_STATIC_ARG.integer_value.side_s64 = v;);
#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 side_u128_t;
__extension__ typedef __int128 side_s128_t;
SIDE_MAKE(u128, U128, (side_u128_t v), SIDE_STATIC_ARG.integer_value.side_u128 = v;);
SIDE_MAKE(s128, S128, (side_s128_t v), SIDE_STATIC_ARG.integer_value.side_s128 = v;);
#endif
SIDE_MAKE(pointer, POINTER, (uintptr_t v), SIDE_STATIC_ARG.integer_value.side_uptr = v;);
#if SIDE_HAVE_FLOAT16
__extension__ typedef _Float16 side_float_binary16_t;
SIDE_MAKE(float_binary16, FLOAT_BINARY16, (side_float_binary16_t v),
		SIDE_STATIC_ARG.float_value.side_float_binary16 = v;);
#endif
#if SIDE_HAVE_FLOAT32
__extension__ typedef _Float32 side_float_binary32_t;
SIDE_MAKE(float_binary32, FLOAT_BINARY32, (side_float_binary32_t v),
		SIDE_STATIC_ARG.float_value.side_float_binary32 = v;);
#endif
#if SIDE_HAVE_FLOAT64
__extension__ typedef _Float64 side_float_binary64_t;
SIDE_MAKE(float_binary64, FLOAT_BINARY64, (side_float_binary64_t v),
		SIDE_STATIC_ARG.float_value.side_float_binary64 = v;);
#endif
#if SIDE_HAVE_FLOAT128
__extension__ typedef _Float128 side_float_binary128_t;
SIDE_MAKE(float_binary128, FLOAT_BINARY128, (side_float_binary128_t v),
		SIDE_STATIC_ARG.float_value.side_float_binary128 = v;);
#endif
SIDE_MAKE(string, STRING_UTF8, (const void *p), side_ptr_set(SIDE_STATIC_ARG.string_value, p););
SIDE_MAKE(string16, STRING_UTF16, (const void *p), side_ptr_set(SIDE_STATIC_ARG.string_value, p););
SIDE_MAKE(string32, STRING_UTF32, (const void *p), side_ptr_set(SIDE_STATIC_ARG.string_value, p););
SIDE_MAKE(struct, STRUCT, (const struct side_arg_vec *p),
		side_ptr_set(SIDE_STATIC_ARG.side_struct, p););
SIDE_MAKE(array, ARRAY, (const struct side_arg_vec *p),
		side_ptr_set(SIDE_STATIC_ARG.side_array, p););
SIDE_MAKE(vla, VLA, (const struct side_arg_vec *p),
		side_ptr_set(SIDE_STATIC_ARG.side_vla, p););
SIDE_MAKE(variant, VARIANT, (const struct side_arg_variant *p),
		side_ptr_set(SIDE_STATIC_ARG.side_variant, p););
SIDE_MAKE(optional, OPTIONAL, (const struct side_arg_optional *p),
		side_ptr_set(SIDE_STATIC_ARG.side_optional, p););
SIDE_MAKE(vla_visitor, VLA_VISITOR, (struct side_arg_vla_visitor *p),
		side_ptr_set(SIDE_STATIC_ARG.side_vla_visitor, p););
SIDE_MAKE(gather_bool, GATHER_BOOL, (const void *p),
		side_ptr_set(SIDE_STATIC_ARG.side_bool_gather_ptr, p););
SIDE_MAKE(gather_byte, GATHER_BYTE, (const void *p),
		side_ptr_set(SIDE_STATIC_ARG.side_byte_gather_ptr, p););
SIDE_MAKE(gather_integer, GATHER_INTEGER, (const void *p),
		side_ptr_set(SIDE_STATIC_ARG.side_integer_gather_ptr, p););
SIDE_MAKE(gather_pointer, GATHER_POINTER, (const void *p),
		side_ptr_set(SIDE_STATIC_ARG.side_integer_gather_ptr, p););
SIDE_MAKE(gather_float, GATHER_FLOAT, (const void *p),
		side_ptr_set(SIDE_STATIC_ARG.side_float_gather_ptr, p););
SIDE_MAKE(gather_string, GATHER_STRING, (const void *p),
		side_ptr_set(SIDE_STATIC_ARG.side_string_gather_ptr, p););
SIDE_MAKE(gather_array, GATHER_ARRAY, (const void *p),
		side_ptr_set(SIDE_STATIC_ARG.side_array_gather_ptr, p););
SIDE_MAKE(gather_struct, GATHER_STRUCT, (const void *p),
		side_ptr_set(SIDE_STATIC_ARG.side_struct_gather_ptr, p););
SIDE_MAKE(gather_vla, GATHER_VLA, (const void *p, const void *length_ptr),
		side_ptr_set(SIDE_STATIC_ARG.side_vla_gather.ptr, p);
		side_ptr_set(SIDE_STATIC_ARG.side_vla_gather.length_ptr, length_ptr););

/* Dynamic values carry their type. */
#define SIDE_ATTR_PARAMS const struct side_attr *side_attr_, uint32_t side_nr_attr_
#define SIDE_SET_ATTRS(_type)                                                                      \
	do {                                                                                       \
		side_ptr_set((_type).attributes.elements, side_attr_);                             \
		(_type).attributes.length = side_nr_attr_;                                         \
	} while (0)
#define SIDE_SET_INTEGER(_size, _signed, _order)                                                   \
	SIDE_SET_ATTRS(SIDE_DYNAMIC_ARG.side_integer.type);                                        \
	SIDE_DYNAMIC_ARG.side_integer.type.integer_size = _size;                                   \
	SIDE_DYNAMIC_ARG.side_integer.type.len_bits = 0;                                           \
	SIDE_DYNAMIC_ARG.side_integer.type.signedness = _signed;                                   \
	SIDE_DYNAMIC_ARG.side_integer.type.byte_order.v = _order;
#define SIDE_SET_FLOAT(_size, _order)                                                              \
	SIDE_SET_ATTRS(SIDE_DYNAMIC_ARG.side_float.type);                                          \
	SIDE_DYNAMIC_ARG.side_float.type.float_size = _size;                                       \
	SIDE_DYNAMIC_ARG.side_float.type.byte_order.v = _order;

SIDE_MAKE(dynamic_null, DYNAMIC_NULL, (SIDE_ATTR_PARAMS), SIDE_SET_ATTRS(SIDE_DYNAMIC_ARG.side_null););
SIDE_MAKE(dynamic_bool, DYNAMIC_BOOL, (uint8_t v, SIDE_ATTR_PARAMS),
		SIDE_SET_ATTRS(SIDE_DYNAMIC_ARG.side_bool.type);
		SIDE_DYNAMIC_ARG.side_bool.type.bool_size = 1;
		SIDE_DYNAMIC_ARG.side_bool.type.len_bits = 0;
		SIDE_DYNAMIC_ARG.side_bool.type.byte_order.v = SIDE_HOST;
		SIDE_DYNAMIC_ARG.side_bool.value.side_bool8 = v;);
SIDE_MAKE(dynamic_byte, DYNAMIC_BYTE, (uint8_t v, SIDE_ATTR_PARAMS),
		SIDE_SET_ATTRS(SIDE_DYNAMIC_ARG.side_byte.type);
		SIDE_DYNAMIC_ARG.side_byte.value = v;);
SIDE_MAKE(dynamic_string, DYNAMIC_STRING,
		(const void *p, uint8_t unit_size, uint8_t order, SIDE_ATTR_PARAMS),
		SIDE_SET_ATTRS(SIDE_DYNAMIC_ARG.side_string.type);
		SIDE_DYNAMIC_ARG.side_string.type.unit_size = unit_size;
		SIDE_DYNAMIC_ARG.side_string.type.byte_order.v = order;
		SIDE_DYNAMIC_ARG.side_string.value = (uint64_t) (uintptr_t) p;);
SIDE_MAKE(dynamic_pointer, DYNAMIC_POINTER, (uintptr_t v, uint8_t order, SIDE_ATTR_PARAMS),
		SIDE_SET_INTEGER(sizeof(uintptr_t), 0, order);
		SIDE_DYNAMIC_ARG.side_integer.value.side_uptr = v;);
SIDE_MAKE(dynamic_u8, DYNAMIC_INTEGER, (uint8_t v, uint8_t order, SIDE_ATTR_PARAMS),
		SIDE_SET_INTEGER(1, 0, order);
		SIDE_DYNAMIC_ARG.side_integer.value.side_u8 = v;);
SIDE_MAKE(dynamic_u16, DYNAMIC_INTEGER, (uint16_t v, uint8_t order, SIDE_ATTR_PARAMS),
		SIDE_SET_INTEGER(2, 0, order);
		SIDE_DYNAMIC_ARG.side_integer.value.side_u16 = v;);
SIDE_MAKE(dynamic_u32, DYNAMIC_INTEGER, (uint32_t v, uint8_t order, SIDE_ATTR_PARAMS),
		SIDE_SET_INTEGER(4, 0, order);
		SIDE_DYNAMIC_ARG.side_integer.value.side_u32 = v;);
SIDE_MAKE(dynamic_u64, DYNAMIC_INTEGER, (uint64_t v, uint8_t order, SIDE_ATTR_PARAMS),
		SIDE_SET_INTEGER(8, 0, order);
		SIDE_DYNAMIC_ARG.side_integer.value.side_u64 = v;);
SIDE_MAKE(dynamic_s8, DYNAMIC_INTEGER, (int8_t v, uint8_t order, SIDE_ATTR_PARAMS),
		SIDE_SET_INTEGER(1, 1, order);
		SIDE_DYNAMIC_ARG.side_integer.value.side_s8 = v;);
SIDE_MAKE(dynamic_s16, DYNAMIC_INTEGER, (int16_t v, uint8_t order, SIDE_ATTR_PARAMS),
		SIDE_SET_INTEGER(2, 1, order);
		SIDE_DYNAMIC_ARG.side_integer.value.side_s16 = v;);
SIDE_MAKE(dynamic_s32, DYNAMIC_INTEGER, (int32_t v, uint8_t order, SIDE_ATTR_PARAMS),
		SIDE_SET_INTEGER(4, 1, order);
		SIDE_DYNAMIC_ARG.side_integer.value.side_s32 = v;);
SIDE_MAKE(dynamic_s64, DYNAMIC_INTEGER, (int64_t v, uint8_t order, SIDE_ATTR_PARAMS),
		SIDE_SET_INTEGER(8, 1, order);
		SIDE_DYNAMIC_ARG.side_integer.value.side_s64 = v;);
#ifdef __SIZEOF_INT128__
SIDE_MAKE(dynamic_u128, DYNAMIC_INTEGER, (side_u128_t v, uint8_t order, SIDE_ATTR_PARAMS),
		SIDE_SET_INTEGER(16, 0, order);
		SIDE_DYNAMIC_ARG.side_integer.value.side_u128 = v;);
SIDE_MAKE(dynamic_s128, DYNAMIC_INTEGER, (side_s128_t v, uint8_t order, SIDE_ATTR_PARAMS),
		SIDE_SET_INTEGER(16, 1, order);
		SIDE_DYNAMIC_ARG.side_integer.value.side_s128 = v;);
#endif
#if SIDE_HAVE_FLOAT16
SIDE_MAKE(dynamic_float_binary16, DYNAMIC_FLOAT,
		(side_float_binary16_t v, uint8_t order, SIDE_ATTR_PARAMS),
		SIDE_SET_FLOAT(2, order);
		SIDE_DYNAMIC_ARG.side_float.value.side_float_binary16 = v;);
#endif
#if SIDE_HAVE_FLOAT32
SIDE_MAKE(dynamic_float_binary32, DYNAMIC_FLOAT,
		(side_float_binary32_t v, uint8_t order, SIDE_ATTR_PARAMS),
		SIDE_SET_FLOAT(4, order);
		SIDE_DYNAMIC_ARG.side_float.value.side_float_binary32 = v;);
#endif
#if SIDE_HAVE_FLOAT64
SIDE_MAKE(dynamic_float_binary64, DYNAMIC_FLOAT,
		(side_float_binary64_t v, uint8_t order, SIDE_ATTR_PARAMS),
		SIDE_SET_FLOAT(8, order);
		SIDE_DYNAMIC_ARG.side_float.value.side_float_binary64 = v;);
#endif
#if SIDE_HAVE_FLOAT128
SIDE_MAKE(dynamic_float_binary128, DYNAMIC_FLOAT,
		(side_float_binary128_t v, uint8_t order, SIDE_ATTR_PARAMS),
		SIDE_SET_FLOAT(16, order);
		SIDE_DYNAMIC_ARG.side_float.value.side_float_binary128 = v;);
#endif
SIDE_MAKE(dynamic_struct, DYNAMIC_STRUCT, (const struct side_arg_dynamic_struct *p),
		side_ptr_set(SIDE_DYNAMIC_ARG.side_dynamic_struct, p););
SIDE_MAKE(dynamic_vla, DYNAMIC_VLA, (const struct side_arg_dynamic_vla *p),
		side_ptr_set(SIDE_DYNAMIC_ARG.side_dynamic_vla, p););
SIDE_MAKE(dynamic_struct_visitor, DYNAMIC_STRUCT_VISITOR, (struct side_arg_dynamic_struct_visitor *p),
		side_ptr_set(SIDE_DYNAMIC_ARG.side_dynamic_struct_visitor, p););
SIDE_MAKE(dynamic_vla_visitor, DYNAMIC_VLA_VISITOR, (struct side_arg_dynamic_vla_visitor *p),
		side_ptr_set(SIDE_DYNAMIC_ARG.side_dynamic_vla_visitor, p););


#define side_make_char(_val) SIDE_NATIVE_char(side_make_)(_val)
#define side_make_schar(_val) SIDE_NATIVE_schar(side_make_)(_val)
#define side_make_uchar(_val) SIDE_NATIVE_uchar(side_make_)(_val)
#define side_make_short(_val) SIDE_NATIVE_short(side_make_)(_val)
#define side_make_ushort(_val) SIDE_NATIVE_ushort(side_make_)(_val)
#define side_make_int(_val) SIDE_NATIVE_int(side_make_)(_val)
#define side_make_uint(_val) SIDE_NATIVE_uint(side_make_)(_val)
#define side_make_long(_val) SIDE_NATIVE_long(side_make_)(_val)
#define side_make_ulong(_val) SIDE_NATIVE_ulong(side_make_)(_val)
#define side_make_long_long(_val) SIDE_NATIVE_long_long(side_make_)(_val)
#define side_make_ulong_long(_val) SIDE_NATIVE_ulong_long(side_make_)(_val)
#define side_make_float(_val) SIDE_NATIVE_float(side_make_)(_val)
#define side_make_double(_val) SIDE_NATIVE_double(side_make_)(_val)
#define side_make_long_double(_val) SIDE_NATIVE_long_double(side_make_)(_val)

#define _side_arg_dynamic_field(_name, ...)                                                        \
	{                                                                                          \
		SIDE_PTR_INIT(_name), __VA_ARGS__                                                  \
	}

/* Block-scope definitions of arguments; they live as long as their block. */
#define _side_arg_define_vec(_identifier, _sav)                                                    \
	__extension__ const struct side_arg _identifier##_vec[] = {SIDE_UNPAREN _sav};             \
	const struct side_arg_vec _identifier = {                                                  \
			SIDE_PTR_INIT(_identifier##_vec), SIDE_ARRAY_SIZE(_identifier##_vec)}
#define _side_arg_define_variant(_identifier, _selector, _option)                                  \
	const struct side_arg_variant _identifier = {_selector, _option}
/* An explicit conversion: C++ refuses to narrow an expression that is not constant. */
#ifdef __cplusplus
#define SIDE_OPTIONAL_SELECTOR(...) static_cast<uint8_t>(__VA_ARGS__)
#else
#define SIDE_OPTIONAL_SELECTOR(...) ((uint8_t) (__VA_ARGS__))
#endif
#define _side_arg_define_optional(_identifier, _value, _selector)                                  \
	const struct side_arg_optional _identifier = {_value, SIDE_OPTIONAL_SELECTOR(_selector)}
#define _side_arg_define_vla_visitor(_identifier, _ctx)                                            \
	struct side_arg_vla_visitor _identifier = {                                                \
			SIDE_PTR_INIT((void *) (uintptr_t) (_ctx)), SIDE_PTR_INIT(SIDE_NULL)}
#define _side_arg_dynamic_define_vec(_identifier, _sav, _attr, ...)                                \
	__extension__ const struct side_arg _identifier##_vec[] = {SIDE_UNPAREN _sav};             \
	const struct side_arg_dynamic_vla _identifier = {SIDE_PTR_INIT(_identifier##_vec),         \
			SIDE_ARRAY_SIZE(_identifier##_vec), SIDE_ATTRS(_attr)}
#define _side_arg_dynamic_define_struct(_identifier, _struct_fields, _attr, ...)                   \
	__extension__ const struct side_arg_dynamic_field _identifier##_fields[] = {               \
			SIDE_UNPAREN _struct_fields};                                              \
	const struct side_arg_dynamic_struct _identifier = {SIDE_PTR_INIT(_identifier##_fields),   \
			SIDE_ARRAY_SIZE(_identifier##_fields), SIDE_ATTRS(_attr)}
#define _side_arg_dynamic_define_visitor(_type, _identifier, _func, _ctx, _attr, ...)              \
	struct _type _identifier = {SIDE_PTR_INIT(_func),                                          \
			SIDE_PTR_INIT((void *) (uintptr_t) (_ctx)), SIDE_PTR_INIT(SIDE_NULL),              \
			SIDE_ATTRS(_attr)}

/*
 * Definition of an event: description and state, each in its section, and a pointer to the
 * description in the section that side/trace.h registers.  The linker keeps the pointer, also with
 * --gc-sections (`retain`; linkers without it keep sections with __start_ symbols).
 */
#define SIDE_SECTION(_name) __attribute__((section(#_name)))
#ifdef __has_attribute
#if __has_attribute(retain)
#define SIDE_RETAIN retain,
#endif
#endif
#ifndef SIDE_RETAIN
#define SIDE_RETAIN
#endif

/*
 * _decl: linkage of the declarations; _def: of the definitions.  Fields are a named array and not a
 * literal, so that the list is expanded once only.
 */
#define _side_define_event(                                                                        \
		_decl, _def, _identifier, _provider, _event, _loglevel, _flags, _attr)             \
	_decl struct side_event_description _identifier SIDE_SECTION(side_event_description);      \
	_decl struct side_event_state_0 side_event_state__##_identifier                            \
			SIDE_SECTION(side_event_state);                                            \
	_def struct side_event_state_0 side_event_state__##_identifier = {                         \
			{SIDE_EVENT_STATE_ABI_VERSION}, 0, 0,                                      \
			(const struct side_callback *) &side_empty_callback[0], &_identifier};     \
	__extension__ _def struct side_event_description _identifier = {SIDE_DESCRIPTION_TAG       \
			offsetof(struct side_event_description, end),                              \
			SIDE_EVENT_DESCRIPTION_ABI_VERSION,                                        \
			SIDE_PTR_INIT(&side_event_state__##_identifier.parent),                    \
			SIDE_PTR_INIT(_provider), SIDE_PTR_INIT(_event),                           \
			{SIDE_PTR_INIT(side_event_fields__##_identifier),                          \
					SIDE_ARRAY_SIZE(side_event_fields__##_identifier)},        \
			SIDE_ATTRS(_attr), _flags, _NR_SIDE_TYPE_LABEL, _NR_SIDE_ATTR_TYPE,        \
			SIDE_ENUM_INIT(_loglevel) SIDE_DESCRIPTION_END};                           \
	static struct side_event_description                                                       \
			*side_event_ptr__##_identifier __attribute__((SIDE_RETAIN used,            \
					section("side_event_description_ptr"))) = &_identifier
/* The members without storage at the beginning and the end. */
#define SIDE_DESCRIPTION_TAG {},
#define SIDE_DESCRIPTION_END , {}, {}

#ifdef __cplusplus
/* C++ has no forward declaration of static variables: they go into an unnamed namespace. */
#define _side_static_event(...)                                                                    \
	namespace                                                                                  \
	{                                                                                          \
	_side_define_event(extern, , __VA_ARGS__);                                                 \
	}                                                                                          \
	SIDE_EXPECT_SEMICOLON()
#define SIDE_GLOBAL_EVENT(_visibility, ...)                                                        \
	extern "C" {                                                                               \
	_side_define_event(extern __attribute__((visibility(_visibility))), , __VA_ARGS__);        \
	}                                                                                          \
	SIDE_EXPECT_SEMICOLON()
#define _side_declare_event(_identifier)                                                           \
	extern "C" {                                                                               \
	extern struct side_event_description _identifier SIDE_SECTION(side_event_description);     \
	extern struct side_event_state_0 side_event_state__##_identifier                           \
			SIDE_SECTION(side_event_state);                                            \
	}                                                                                          \
	SIDE_EXPECT_SEMICOLON()
#else
#define _side_static_event(...) _side_define_event(static, static, __VA_ARGS__)
#define SIDE_GLOBAL_EVENT(_visibility, ...)                                                        \
	_side_define_event(extern __attribute__((visibility(_visibility))), , __VA_ARGS__)
#define _side_declare_event(_identifier)                                                           \
	extern struct side_event_description _identifier SIDE_SECTION(side_event_description);     \
	extern struct side_event_state_0 side_event_state__##_identifier                           \
			SIDE_SECTION(side_event_state)
#endif
#define _side_hidden_event(...) SIDE_GLOBAL_EVENT("hidden", __VA_ARGS__)
#define _side_export_event(...) SIDE_GLOBAL_EVENT("default", __VA_ARGS__)

/*
 * Emission. Relaxed: no data depends on the word; the library orders the reads of the call (pairs
 * with the atomic increment of callback registration).
 */
#define _side_event_enabled(_identifier)                                                           \
	side_unlikely(__atomic_load_n(                                                             \
			&side_event_state__##_identifier.enabled, __ATOMIC_RELAXED) != 0)

/* _call is the function, with its arguments after the argument vector, if any, in parentheses. */
#define _side_event_call(_function, _identifier, _sav, ...)                                        \
	do {                                                                                       \
		_side_arg_define_vec(side_args_, _sav);                                            \
		SIDE_SDT_MARK(_identifier, &side_args_, 0)                                         \
		_function(&side_event_state__##_identifier.parent, &side_args_ __VA_ARGS__);       \
	} while (0)
#define _side_event_call_variadic(_function, _key, _identifier, _sav, _var_fields, _attr, ...)     \
	do {                                                                                       \
		_side_arg_define_vec(side_args_, _sav);                                            \
		_side_arg_dynamic_define_struct(side_var_, _var_fields, _attr, );                  \
		SIDE_SDT_MARK(_identifier, &side_args_, &side_var_)                                \
		_function(&side_event_state__##_identifier.parent, &side_args_,                    \
				&side_var_ SIDE_UNPAREN _key);                                     \
	} while (0)


/*
 * The enabled path of side_event(), out of line: a cold function for each call site (so that the
 * caller address still identifies the site). It gets the bare values in registers and builds the
 * arguments in its own frame, so the frame of the instrumented function is only that of a plain
 * call. At -O2 a leaf function with an event of two and of eight fields takes 16 to 32 and 48 bytes
 * with GCC 12, 8 and 24 with clang++ 14, instead of 176 and 560; it takes 8 and 0 without the
 * event.
 *
 * In C++ the function is a template, in GNU C a nested function without captures. clang has neither
 * for C: there the arguments are in the frame of the instrumented function (168 and 552 bytes), and
 * are built after the branch.
 *
 * SIDE_COLD_<maker>(value): (type of the value, maker, holder, value).
 */
#define SIDE_APPLY(_m, ...) _m __VA_ARGS__
#define SIDE_ARG_MAKE(_class, ...) __VA_ARGS__
#define SIDE_COLD(_arg) SIDE_PASTE(SIDE_COLD_, SIDE_ARG_MAKE _arg)
#define SIDE_COLD_TYPE(_type, _make, _hold, ...) _type
#define SIDE_COLD_MAKE(_type, _make, _hold, ...) _make
#define SIDE_COLD_HOLD(_type, _make, _hold, ...) _hold
#define SIDE_COLD_VALUE(_type, _make, _hold, ...) __VA_ARGS__
/* noipa: the functions of two sites must not be merged. */
#ifdef __clang__
#define SIDE_COLD_FUNCTION __attribute__((noinline, cold))
#else
#define SIDE_COLD_FUNCTION __attribute__((noipa, cold))
#endif
#define SIDE_BY_VALUE(...) (struct side_arg, , , __VA_ARGS__)
/*
 * Values are evaluated into variables first, because the order of function arguments is
 * unspecified.
 */
#define SIDE_DO_COLD_VALUE(_ctx, _i, _arg) , side_value_##_i

#define SIDE_COLD_side_make_bool(...) (uint8_t, side_make_bool, libside::hold_bool, (__VA_ARGS__))
#define SIDE_COLD_side_make_byte(...) (uint8_t, side_make_byte, libside::hold_byte, (__VA_ARGS__))
#define SIDE_COLD_side_make_u8(...) (uint8_t, side_make_u8, libside::hold_u8, (__VA_ARGS__))
#define SIDE_COLD_side_make_u16(...) (uint16_t, side_make_u16, libside::hold_u16, (__VA_ARGS__))
#define SIDE_COLD_side_make_u32(...) (uint32_t, side_make_u32, libside::hold_u32, (__VA_ARGS__))
#define SIDE_COLD_side_make_u64(...) (uint64_t, side_make_u64, libside::hold_u64, (__VA_ARGS__))
#define SIDE_COLD_side_make_s8(...) (int8_t, side_make_s8, libside::hold_s8, (__VA_ARGS__))
#define SIDE_COLD_side_make_s16(...) (int16_t, side_make_s16, libside::hold_s16, (__VA_ARGS__))
#define SIDE_COLD_side_make_s32(...) (int32_t, side_make_s32, libside::hold_s32, (__VA_ARGS__))
#define SIDE_COLD_side_make_s64(...) (int64_t, side_make_s64, libside::hold_s64, (__VA_ARGS__))
#define SIDE_COLD_side_make_pointer(...)                                                           \
	(uintptr_t, side_make_pointer, libside::hold_pointer, (__VA_ARGS__))
#define SIDE_COLD_side_make_string(...)                                                            \
	(const void *, side_make_string, libside::hold_string, (__VA_ARGS__))
#define SIDE_COLD_side_make_string16(...)                                                          \
	(const void *, side_make_string16, libside::hold_string16, (__VA_ARGS__))
#define SIDE_COLD_side_make_string32(...)                                                          \
	(const void *, side_make_string32, libside::hold_string32, (__VA_ARGS__))
#define SIDE_COLD_side_make_struct(...)                                                            \
	(const struct side_arg_vec *, side_make_struct, libside::hold_struct, (__VA_ARGS__))
#define SIDE_COLD_side_make_array(...)                                                             \
	(const struct side_arg_vec *, side_make_array, libside::hold_array, (__VA_ARGS__))
#define SIDE_COLD_side_make_vla(...)                                                               \
	(const struct side_arg_vec *, side_make_vla, libside::hold_vla, (__VA_ARGS__))
#define SIDE_COLD_side_make_variant(...)                                                           \
	(const struct side_arg_variant *, side_make_variant, libside::hold_variant, (__VA_ARGS__))
#define SIDE_COLD_side_make_optional(...)                                                          \
	(const struct side_arg_optional *, side_make_optional, libside::hold_optional, (__VA_ARGS__))
#define SIDE_COLD_side_make_vla_visitor(...)                                                       \
	(struct side_arg_vla_visitor *, side_make_vla_visitor, libside::hold_vla_visitor, (__VA_ARGS__))
#define SIDE_COLD_side_make_gather_bool(...)                                                       \
	(const void *, side_make_gather_bool, libside::hold_gather_bool, (__VA_ARGS__))
#define SIDE_COLD_side_make_gather_byte(...)                                                       \
	(const void *, side_make_gather_byte, libside::hold_gather_byte, (__VA_ARGS__))
#define SIDE_COLD_side_make_gather_integer(...)                                                    \
	(const void *, side_make_gather_integer, libside::hold_gather_integer, (__VA_ARGS__))
#define SIDE_COLD_side_make_gather_pointer(...)                                                    \
	(const void *, side_make_gather_pointer, libside::hold_gather_pointer, (__VA_ARGS__))
#define SIDE_COLD_side_make_gather_float(...)                                                      \
	(const void *, side_make_gather_float, libside::hold_gather_float, (__VA_ARGS__))
#define SIDE_COLD_side_make_gather_string(...)                                                     \
	(const void *, side_make_gather_string, libside::hold_gather_string, (__VA_ARGS__))
#define SIDE_COLD_side_make_gather_array(...)                                                      \
	(const void *, side_make_gather_array, libside::hold_gather_array, (__VA_ARGS__))
#define SIDE_COLD_side_make_gather_struct(...)                                                     \
	(const void *, side_make_gather_struct, libside::hold_gather_struct, (__VA_ARGS__))
#define SIDE_COLD_side_make_dynamic_struct(...)                                                    \
	(const struct side_arg_dynamic_struct *, side_make_dynamic_struct, libside::hold_dynamic_struct, (__VA_ARGS__))
#define SIDE_COLD_side_make_dynamic_vla(...)                                                       \
	(const struct side_arg_dynamic_vla *, side_make_dynamic_vla, libside::hold_dynamic_vla, (__VA_ARGS__))
#define SIDE_COLD_side_make_dynamic_struct_visitor(...)                                            \
	(struct side_arg_dynamic_struct_visitor *, side_make_dynamic_struct_visitor, libside::hold_dynamic_struct_visitor, (__VA_ARGS__))
#define SIDE_COLD_side_make_dynamic_vla_visitor(...)                                               \
	(struct side_arg_dynamic_vla_visitor *, side_make_dynamic_vla_visitor, libside::hold_dynamic_vla_visitor, (__VA_ARGS__))
#define SIDE_COLD_side_make_u128(...)                                                              \
	(side_u128_t, side_make_u128, libside::hold_u128, (__VA_ARGS__))
#define SIDE_COLD_side_make_s128(...)                                                              \
	(side_s128_t, side_make_s128, libside::hold_s128, (__VA_ARGS__))
#define SIDE_COLD_side_make_float_binary16(...)                                                    \
	(side_float_binary16_t, side_make_float_binary16, libside::hold_float_binary16, (__VA_ARGS__))
#define SIDE_COLD_side_make_float_binary32(...)                                                    \
	(side_float_binary32_t, side_make_float_binary32, libside::hold_float_binary32, (__VA_ARGS__))
#define SIDE_COLD_side_make_float_binary64(...)                                                    \
	(side_float_binary64_t, side_make_float_binary64, libside::hold_float_binary64, (__VA_ARGS__))
#define SIDE_COLD_side_make_float_binary128(...)                                                   \
	(side_float_binary128_t, side_make_float_binary128, libside::hold_float_binary128, (__VA_ARGS__))
#define SIDE_COLD_side_make_null(...) SIDE_BY_VALUE(side_make_null(__VA_ARGS__))
#define SIDE_COLD_side_make_gather_vla(...) SIDE_BY_VALUE(side_make_gather_vla(__VA_ARGS__))
#define SIDE_COLD_side_make_dynamic_null(...) SIDE_BY_VALUE(side_make_dynamic_null(__VA_ARGS__))
#define SIDE_COLD_side_make_dynamic_bool(...) SIDE_BY_VALUE(side_make_dynamic_bool(__VA_ARGS__))
#define SIDE_COLD_side_make_dynamic_byte(...) SIDE_BY_VALUE(side_make_dynamic_byte(__VA_ARGS__))
#define SIDE_COLD_side_make_dynamic_string(...) SIDE_BY_VALUE(side_make_dynamic_string(__VA_ARGS__))
#define SIDE_COLD_side_make_dynamic_pointer(...)                                                   \
	SIDE_BY_VALUE(side_make_dynamic_pointer(__VA_ARGS__))
#define SIDE_COLD_side_make_dynamic_u8(...) SIDE_BY_VALUE(side_make_dynamic_u8(__VA_ARGS__))
#define SIDE_COLD_side_make_dynamic_u16(...) SIDE_BY_VALUE(side_make_dynamic_u16(__VA_ARGS__))
#define SIDE_COLD_side_make_dynamic_u32(...) SIDE_BY_VALUE(side_make_dynamic_u32(__VA_ARGS__))
#define SIDE_COLD_side_make_dynamic_u64(...) SIDE_BY_VALUE(side_make_dynamic_u64(__VA_ARGS__))
#define SIDE_COLD_side_make_dynamic_u128(...) SIDE_BY_VALUE(side_make_dynamic_u128(__VA_ARGS__))
#define SIDE_COLD_side_make_dynamic_s8(...) SIDE_BY_VALUE(side_make_dynamic_s8(__VA_ARGS__))
#define SIDE_COLD_side_make_dynamic_s16(...) SIDE_BY_VALUE(side_make_dynamic_s16(__VA_ARGS__))
#define SIDE_COLD_side_make_dynamic_s32(...) SIDE_BY_VALUE(side_make_dynamic_s32(__VA_ARGS__))
#define SIDE_COLD_side_make_dynamic_s64(...) SIDE_BY_VALUE(side_make_dynamic_s64(__VA_ARGS__))
#define SIDE_COLD_side_make_dynamic_s128(...) SIDE_BY_VALUE(side_make_dynamic_s128(__VA_ARGS__))
#define SIDE_COLD_side_make_dynamic_float_binary16(...)                                            \
	SIDE_BY_VALUE(side_make_dynamic_float_binary16(__VA_ARGS__))
#define SIDE_COLD_side_make_dynamic_float_binary32(...)                                            \
	SIDE_BY_VALUE(side_make_dynamic_float_binary32(__VA_ARGS__))
#define SIDE_COLD_side_make_dynamic_float_binary64(...)                                            \
	SIDE_BY_VALUE(side_make_dynamic_float_binary64(__VA_ARGS__))
#define SIDE_COLD_side_make_dynamic_float_binary128(...)                                           \
	SIDE_BY_VALUE(side_make_dynamic_float_binary128(__VA_ARGS__))

#ifdef __cplusplus
namespace libside
{
#define SIDE_HOLDER(_name, _type)                                                                  \
	struct held_##_name {                                                                      \
		_type v;                                                                           \
	};                                                                                         \
	__attribute__((always_inline)) inline held_##_name hold_##_name(_type v)                   \
	{                                                                                          \
		held_##_name held = {v};                                                           \
		return held;                                                                       \
	}                                                                                          \
	__attribute__((always_inline)) inline side_arg to_arg(held_##_name held)                   \
	{                                                                                          \
		return side_make_##_name(held.v);                                                  \
	}                                                                                          \
	SIDE_EXPECT_SEMICOLON()
SIDE_HOLDER(bool, uint8_t);
SIDE_HOLDER(byte, uint8_t);
SIDE_HOLDER(u8, uint8_t);
SIDE_HOLDER(u16, uint16_t);
SIDE_HOLDER(u32, uint32_t);
SIDE_HOLDER(u64, uint64_t);
SIDE_HOLDER(s8, int8_t);
SIDE_HOLDER(s16, int16_t);
SIDE_HOLDER(s32, int32_t);
SIDE_HOLDER(s64, int64_t);
SIDE_HOLDER(pointer, uintptr_t);
SIDE_HOLDER(string, const void *);
SIDE_HOLDER(string16, const void *);
SIDE_HOLDER(string32, const void *);
SIDE_HOLDER(struct, const struct side_arg_vec *);
SIDE_HOLDER(array, const struct side_arg_vec *);
SIDE_HOLDER(vla, const struct side_arg_vec *);
SIDE_HOLDER(variant, const struct side_arg_variant *);
SIDE_HOLDER(optional, const struct side_arg_optional *);
SIDE_HOLDER(vla_visitor, struct side_arg_vla_visitor *);
SIDE_HOLDER(gather_bool, const void *);
SIDE_HOLDER(gather_byte, const void *);
SIDE_HOLDER(gather_integer, const void *);
SIDE_HOLDER(gather_pointer, const void *);
SIDE_HOLDER(gather_float, const void *);
SIDE_HOLDER(gather_string, const void *);
SIDE_HOLDER(gather_array, const void *);
SIDE_HOLDER(gather_struct, const void *);
SIDE_HOLDER(dynamic_struct, const struct side_arg_dynamic_struct *);
SIDE_HOLDER(dynamic_vla, const struct side_arg_dynamic_vla *);
SIDE_HOLDER(dynamic_struct_visitor, struct side_arg_dynamic_struct_visitor *);
SIDE_HOLDER(dynamic_vla_visitor, struct side_arg_dynamic_vla_visitor *);
#if defined(__SIZEOF_INT128__)
SIDE_HOLDER(u128, side_u128_t);
#endif
#if defined(__SIZEOF_INT128__)
SIDE_HOLDER(s128, side_s128_t);
#endif
#if SIDE_HAVE_FLOAT16
SIDE_HOLDER(float_binary16, side_float_binary16_t);
#endif
#if SIDE_HAVE_FLOAT32
SIDE_HOLDER(float_binary32, side_float_binary32_t);
#endif
#if SIDE_HAVE_FLOAT64
SIDE_HOLDER(float_binary64, side_float_binary64_t);
#endif
#if SIDE_HAVE_FLOAT128
SIDE_HOLDER(float_binary128, side_float_binary128_t);
#endif
__attribute__((always_inline)) inline const side_arg &to_arg(const side_arg &arg)
{
	return arg;
}

/* Site is a type of the call site, so each site has its own function. */
template <typename Site> SIDE_COLD_FUNCTION void emit(const struct side_event_state *state)
{
	const struct side_arg_vec vec = {SIDE_PTR_INIT(SIDE_NULL), 0};

	SIDE_SDT_SITE_MARK(Site, &vec)
	side_call(state, &vec);
}
template <typename Site, typename First, typename... T>
SIDE_COLD_FUNCTION void emit(const struct side_event_state *state, First first, T... held)
{
	const struct side_arg args[] = {to_arg(first), to_arg(held)...};
	const struct side_arg_vec vec = {SIDE_PTR_INIT(args), sizeof...(T) + 1};

	SIDE_SDT_SITE_MARK(Site, &vec)
	side_call(state, &vec);
}
} /* namespace libside */

#define SIDE_DO_COLD_LOCAL(_ctx, _i, _arg)                                                         \
	const auto side_value_##_i = SIDE_APPLY(SIDE_COLD_HOLD, SIDE_COLD(_arg))                   \
			SIDE_APPLY(SIDE_COLD_VALUE, SIDE_COLD(_arg));
#define _side_event_emit(_identifier, _sav)                                                        \
	do {                                                                                       \
		struct side_site_ { SIDE_SDT_SITE(_identifier) };                                  \
		SIDE_MAP(SIDE_DO_COLD_LOCAL, , SIDE_UNPAREN _sav)                                  \
		libside::emit<side_site_>(&side_event_state__##_identifier.parent SIDE_MAP(        \
				SIDE_DO_COLD_VALUE, , SIDE_UNPAREN _sav));                         \
	} while (0)

#elif defined(__GNUC__) && !defined(__clang__)

#define SIDE_DO_COLD_PARAM(_ctx, _i, _arg)                                                         \
	, SIDE_APPLY(SIDE_COLD_TYPE, SIDE_COLD(_arg)) side_held_##_i
#define SIDE_DO_COLD_ARG(_ctx, _i, _arg)                                                           \
	SIDE_APPLY(SIDE_COLD_MAKE, SIDE_COLD(_arg))(side_held_##_i),
#define SIDE_DO_COLD_LOCAL(_ctx, _i, _arg)                                                         \
	SIDE_APPLY(SIDE_COLD_TYPE, SIDE_COLD(_arg))                                                \
	side_value_##_i = SIDE_APPLY(SIDE_COLD_VALUE, SIDE_COLD(_arg));
#define _side_event_emit(_identifier, _sav)                                                        \
	do {                                                                                       \
		__extension__ SIDE_COLD_FUNCTION void side_emit_(                                  \
				const struct side_event_state *side_state_                         \
						SIDE_MAP(SIDE_DO_COLD_PARAM, , SIDE_UNPAREN _sav)) \
		{                                                                                  \
			_side_arg_define_vec(side_args_,                                           \
					(SIDE_MAP(SIDE_DO_COLD_ARG, , SIDE_UNPAREN _sav)));        \
			SIDE_SDT_MARK(_identifier, &side_args_, 0)                                 \
			side_call(side_state_, &side_args_);                                       \
		}                                                                                  \
		SIDE_MAP(SIDE_DO_COLD_LOCAL, , SIDE_UNPAREN _sav)                                  \
		side_emit_(&side_event_state__##_identifier.parent SIDE_MAP(                       \
				SIDE_DO_COLD_VALUE, , SIDE_UNPAREN _sav));                         \
	} while (0)

#else
#define _side_event_emit(_identifier, _sav) _side_event_call(side_call, _identifier, _sav, )
#endif

#endif /* SIDE_INSTRUMENTATION_C_API_H */
