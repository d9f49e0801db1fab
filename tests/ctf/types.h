/* SPDX-License-Identifier: MIT */
/* Short macros for SIDE types in tables, which use the ABI's structures only. */
#ifndef TESTS_CTF_TYPES_H
#define TESTS_CTF_TYPES_H

#include <side/abi/event-description.h>

#define LE SIDE_TYPE_BYTE_ORDER_LE
#define BE SIDE_TYPE_BYTE_ORDER_BE
#define HOST SIDE_TYPE_BYTE_ORDER_HOST
#define FOREIGN (HOST == LE ? BE : LE)

#define COUNT(_a) (sizeof(_a) / sizeof((_a)[0]))

/* A side_array of the elements of an array, or of none. */
#define LIST(_array)                                                       \
	{                                                                  \
		.elements = SIDE_PTR_INIT(_array), .length = COUNT(_array) \
	}
#define NO_LIST                                              \
	{                                                    \
		.elements = SIDE_PTR_INIT(NULL), .length = 0 \
	}

#define LABEL(_label) .type = SIDE_ENUM_INIT(SIDE_TYPE_##_label)
#define ORDER(_order) .byte_order = SIDE_ENUM_INIT(_order)

#define INTEGER_BODY(_size, _sign, _order, _bits, _attributes)                       \
	{                                                                            \
		.attributes = _attributes, .integer_size = _size, .len_bits = _bits, \
		.signedness = _sign, ORDER(_order)                                   \
	}
#define T_INTEGER_FULL(_label, _size, _sign, _order, _bits, ...)                  \
	{                                                                         \
		LABEL(_label),                                                    \
				.u = {.side_integer = {.attributes = __VA_ARGS__, \
						      .integer_size = _size,      \
						      .len_bits = _bits,          \
						      .signedness = _sign,        \
						      ORDER(_order)} }            \
	}
#define T_INTEGER(_label, _size, _sign, _order, _bits) \
	T_INTEGER_FULL(_label, _size, _sign, _order, _bits, NO_LIST)
#define T_U(_bits, _order) T_INTEGER(U##_bits, _bits / 8, 0, _order, 0)
#define T_S(_bits, _order) T_INTEGER(S##_bits, _bits / 8, 1, _order, 0)
#define T_POINTER T_INTEGER(POINTER, 8, 0, HOST, 0)
#define T_NULL              \
	{                   \
		LABEL(NULL) \
	}
#define T_BYTE              \
	{                   \
		LABEL(BYTE) \
	}
#define T_DYNAMIC              \
	{                      \
		LABEL(DYNAMIC) \
	}
#define T_BOOL(_size, _bits)                                                              \
	{                                                                                 \
		LABEL(BOOL), .u = {                                                       \
			.side_bool = {.bool_size = _size, .len_bits = _bits, ORDER(HOST)} \
		}                                                                         \
	}
#define T_FLOAT(_bits, _order)                                                                 \
	{                                                                                      \
		LABEL(FLOAT_BINARY##_bits),                                                    \
				.u = {.side_float = {.float_size = _bits / 8, ORDER(_order)} } \
	}
#define T_STRING(_bits, _order)                                                                \
	{                                                                                      \
		LABEL(STRING_UTF##_bits),                                                      \
				.u = {.side_string = {.unit_size = _bits / 8, ORDER(_order)} } \
	}
#define T_POINTED(_label, _member, _object)                              \
	{                                                                \
		LABEL(_label), .u = {._member = SIDE_PTR_INIT(_object) } \
	}
#define T_STRUCT(_object) T_POINTED(STRUCT, side_struct, _object)
#define T_ARRAY(_object) T_POINTED(ARRAY, side_array, _object)
#define T_VLA(_object) T_POINTED(VLA, side_vla, _object)
#define T_VLA_VISITOR(_object) T_POINTED(VLA_VISITOR, side_vla_visitor, _object)
#define T_VARIANT(_object) T_POINTED(VARIANT, side_variant, _object)
#define T_OPTIONAL(_object) T_POINTED(OPTIONAL, side_optional, _object)
#define T_ENUM(_mappings, _element)                                                           \
	{                                                                                     \
		LABEL(ENUM),                                                                  \
				.u = {.side_enum = {.mappings = SIDE_PTR_INIT(_mappings),     \
						      .elem_type = SIDE_PTR_INIT(_element)} } \
	}
#define T_BITMAP(_mappings, _element)                                                            \
	{                                                                                        \
		LABEL(ENUM_BITMAP),                                                              \
				.u = {.side_enum_bitmap = {.mappings = SIDE_PTR_INIT(_mappings), \
						      .elem_type = SIDE_PTR_INIT(_element)} }    \
	}
#define T_GATHER(_label, ...)                                                       \
	{                                                                           \
		LABEL(GATHER_##_label), .u = {.side_gather = {.u = {__VA_ARGS__}} } \
	}

#define STRUCT_OF(_fields)              \
	{                               \
		.fields = LIST(_fields) \
	}
#define ARRAY_OF(_element, _length)                                     \
	{                                                               \
		.elem_type = SIDE_PTR_INIT(_element), .length = _length \
	}
#define VLA_OF(_element, _length)                                                           \
	{                                                                                   \
		.elem_type = SIDE_PTR_INIT(_element), .length_type = SIDE_PTR_INIT(_length) \
	}
#define OPTIONAL_OF(_element)                        \
	{                                            \
		.elem_type = SIDE_PTR_INIT(_element) \
	}
#define FIELD(_name, ...)                                                    \
	{                                                                    \
		.field_name = SIDE_PTR_INIT(_name), .side_type = __VA_ARGS__ \
	}
#define TEXT(_text)                                                    \
	{                                                              \
		.p = SIDE_PTR_INIT(_text), .unit_size = 1, ORDER(HOST) \
	}
#define MAPPING(_begin, _end, _text)                                           \
	{                                                                      \
		.range_begin = _begin, .range_end = _end, .label = TEXT(_text) \
	}
#define OPTION(_begin, _end, ...)                                                  \
	{                                                                          \
		.range_begin = _begin, .range_end = _end, .side_type = __VA_ARGS__ \
	}

#endif /* TESTS_CTF_TYPES_H */
