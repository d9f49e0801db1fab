/* SPDX-License-Identifier: MIT */
/*
 * Building blocks of the SIDE headers: pointer slots, arrays, enumeration slots, compile-time
 * checks and small preprocessor helpers.
 *
 * Everything here works from C99 and C++11 on, in strict (-std=c99, -std=c++11, ...) and in GNU
 * modes, with GCC and clang. All names begin with side_ or SIDE_.
 */
#ifndef SIDE_MACROS_H
#define SIDE_MACROS_H

/* The headers use compiler extensions, and users may build with -Wpedantic -Werror. */
#pragma GCC system_header

#include <stddef.h>
#include <stdint.h>

#include <side/endian.h>

#define SIDE_ARRAY_SIZE(_a) (sizeof(_a) / sizeof((_a)[0]))

#define SIDE_STR_PRIMITIVE(...) #__VA_ARGS__
#define SIDE_STR(...) SIDE_STR_PRIMITIVE(__VA_ARGS__)

/* Two levels, because a macro does not expand inside its own expansion. */
#define SIDE_CAT_PRIMITIVE(_x, ...) _x##__VA_ARGS__
#define SIDE_CAT(_x, ...) SIDE_CAT_PRIMITIVE(_x, __VA_ARGS__)
#define SIDE_CAT2_PRIMITIVE(_x, ...) _x##__VA_ARGS__
#define SIDE_CAT2(_x, ...) SIDE_CAT2_PRIMITIVE(_x, __VA_ARGS__)

/* An identifier that is unique in the translation unit. */
#define SIDE_MAKE_ID(_prefix) SIDE_CAT2(_prefix, __COUNTER__)

/* Pass a text with commas through one macro parameter. */
#define SIDE_PARAM(...) __VA_ARGS__

/* The second argument: idiom for an optional last argument with a default after it. */
#define SIDE_PARAM_SELECT_ARG1(_arg0, _arg1, ...) _arg1
#define SIDE_DEFAULT_ATTR(_arg0, _arg1, ...) _arg1

#define side_likely(_x) __builtin_expect(!!(_x), 1)
#define side_unlikely(_x) __builtin_expect(!!(_x), 0)

#define SIDE_PACKED __attribute__((packed))

/* Member that fixes the size of a union, in bytes. */
#define side_padding(_n) char padding[_n]

/*
 * Compile-time assertion, at file scope or in a block; the user adds the ';'. _ident is used only
 * if the language has no assertion with a text: in strict C99 the C library hides that of GCC.
 */
#if defined(__cplusplus)
#define side_static_assert(_cond, _msg, _ident) static_assert(_cond, _msg)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define side_static_assert(_cond, _msg, _ident) _Static_assert(_cond, _msg)
#elif defined(__GNUC__) && !defined(_Static_assert)
#define side_static_assert(_cond, _msg, _ident) __extension__ _Static_assert(_cond, _msg)
#else
#define side_static_assert(_cond, _msg, _ident)                                                    \
	extern int (*side_static_assert_(                                                          \
			void))[!!sizeof(struct { int _ident : (_cond) ? 2 : -1; })]
#endif

#define side_check_size(_type, _n)                                                                 \
	side_static_assert(sizeof(_type) == (_n), "the size of " #_type " is not " #_n " bytes",   \
			SIDE_MAKE_ID(side_check_size_))

/* Expands to nothing, but requires a ';'. */
#define SIDE_EXPECT_SEMICOLON()                                                                    \
	side_static_assert(1, "side", SIDE_MAKE_ID(side_expect_semicolon_))

#define SIDE_DIAGNOSTIC(_x) _Pragma(SIDE_STR(GCC diagnostic _x))
#define SIDE_PUSH_DIAGNOSTIC() _Pragma("GCC diagnostic push")
#define SIDE_POP_DIAGNOSTIC() _Pragma("GCC diagnostic pop")
#ifdef __cplusplus
#define SIDE_DIAGNOSTIC_C(...)
#define SIDE_DIAGNOSTIC_CXX(...) SIDE_DIAGNOSTIC(__VA_ARGS__)
#else
#define SIDE_DIAGNOSTIC_C(...) SIDE_DIAGNOSTIC(__VA_ARGS__)
#define SIDE_DIAGNOSTIC_CXX(...)
#endif

#define side_struct_field_sizeof(_type, _member) sizeof(((_type *) 0)->_member)
#define side_offsetofend(_type, _member)                                                           \
	(offsetof(_type, _member) + side_struct_field_sizeof(_type, _member))
#define side_container_of(_ptr, _type, _member)                                                    \
	__extension__({                                                                            \
		const __typeof__(((_type *) 0)->_member) *side_container_ptr_ = (_ptr);            \
		(_type *) ((uintptr_t) side_container_ptr_ - offsetof(_type, _member));            \
	})

/*
 * Pointer slot: 16 bytes on every host. The pointer occupies the low-order bytes of a 128-bit integer
 * of the host. Writers store zero in the other bytes, so that the slot can be read as one 128-bit
 * integer. Slots are packed: they may have any address.
 */
#define side_raw_ptr_t(_type)                                                                      \
	union {                                                                                    \
		_type v[16 / __SIZEOF_POINTER__];                                                  \
	} SIDE_PACKED
#define side_ptr_t(_type) side_raw_ptr_t(_type *)
#define side_func_ptr_t(_type) side_raw_ptr_t(_type)

#if __SIZEOF_POINTER__ != 4 && __SIZEOF_POINTER__ != 8 && __SIZEOF_POINTER__ != 16
#error "side: pointers of this size are not supported"
#endif

/* Index of the pointer in the slot; _i counts in words from the low-order end. */
#if SIDE_BYTE_ORDER == SIDE_LITTLE_ENDIAN
#define SIDE_U128_PTR_IDX(_i) (_i)
#else
#define SIDE_U128_PTR_IDX(_i) ((16 / __SIZEOF_POINTER__) - 1 - (_i))
#endif

/* Initialisers before the pointer in a slot: none, or zeroes and a comma. */
#if SIDE_BYTE_ORDER == SIDE_LITTLE_ENDIAN || __SIZEOF_POINTER__ == 16
#define SIDE_SLOT_BEFORE
#elif __SIZEOF_POINTER__ == 8
#define SIDE_SLOT_BEFORE 0,
#else
#define SIDE_SLOT_BEFORE 0, 0, 0,
#endif

/* Static initialiser of a slot. */
#define SIDE_PTR_INIT(...)                                                                         \
	{                                                                                          \
		{                                                                                  \
			SIDE_SLOT_BEFORE __VA_ARGS__                                               \
		}                                                                                  \
	}

/* A null pointer for which compilers do not warn (-Wzero-as-null-pointer-constant). */
#ifdef __cplusplus
#define SIDE_NULL nullptr
#else
#define SIDE_NULL 0
#endif

/* The pointer in the slot, as a value or as the target of an assignment. */
#define side_ptr_get(_field) ((_field).v[SIDE_U128_PTR_IDX(0)])

/* Zero all of a slot but the pointer. No loop: compilers keep one in each call with -Og. */
#if __SIZEOF_POINTER__ == 16
#define SIDE_SLOT_CLEAR(_field) (void)0
#elif __SIZEOF_POINTER__ == 8
#define SIDE_SLOT_CLEAR(_field) ((_field).v[SIDE_U128_PTR_IDX(1)] = SIDE_NULL)
#else
#define SIDE_SLOT_CLEAR(_field)                                                                    \
	((_field).v[SIDE_U128_PTR_IDX(1)] = (_field).v[SIDE_U128_PTR_IDX(2)] =                     \
			(_field).v[SIDE_U128_PTR_IDX(3)] = SIDE_NULL)
#endif

/* Store the pointer and zero the other bytes of the slot. */
#define side_ptr_set(_field, _ptr)                                                                 \
	do {                                                                                       \
		SIDE_SLOT_CLEAR(_field);                                                           \
		(_field).v[SIDE_U128_PTR_IDX(0)] = (_ptr);                                         \
	} while (0)

/*
 * Array: pointer and number of elements. An empty array has length == 0; its pointer may be NULL or
 * not, so check the length first. The _array of the macros is a pointer to the struct.
 */
#define side_array_t(_type)                                                                        \
	struct {                                                                                   \
		side_ptr_t(_type) elements;                                                        \
		uint32_t length;                                                                   \
	} SIDE_PACKED

#define side_array_elements(_array) side_ptr_get((_array)->elements)
#define side_array_at(_array, _k) (&side_array_elements(_array)[_k])
#define side_array_length(_array) ((_array)->length)
#define side_array_index_of_element(_array, _it) ((_it) - side_array_elements(_array))
#define side_for_each_element_in_array(_it, _array)                                                \
	for ((_it) = side_array_elements(_array);                                                  \
			(_it) != side_array_elements(_array) + side_array_length(_array); (_it)++)

/* Enumeration slot: the value in _size_type, and the C type without storage. */
#define side_enum_t(_enum_type, _size_type)                                                        \
	union {                                                                                    \
		_size_type v;                                                                      \
		struct {                                                                           \
			__extension__ _enum_type t[0];                                             \
		} SIDE_PACKED s;                                                                   \
	} SIDE_PACKED

#define SIDE_ENUM_INIT(...)                                                                        \
	{                                                                                          \
		(__VA_ARGS__)                                                                      \
	}
#define side_enum_get(_field) ((__typeof__((_field).s.t[0])) (_field).v)
#define side_enum_set(_field, _val)                                                                \
	do {                                                                                       \
		(_field).v = (__typeof__((_field).v)) (_val);                                      \
	} while (0)

/* (a, b) to a, b */
#define SIDE_UNPAREN(...) __VA_ARGS__

/*
 * Array literal, a pointer to its first element. It has static storage at file scope. Inside a
 * function it exists until the end of the block in C, and in C++ the values must be constants.
 */
#define SIDE_COMPOUND_LITERAL(_type, ...) __extension__(_type[]){__VA_ARGS__}

/* Number of elements of an array literal, whose values are not evaluated. */
#define SIDE_LITERAL_LENGTH(_type, ...)                                                            \
	(sizeof(__extension__(_type[]){__VA_ARGS__}) / sizeof(_type))

/*
 * SIDE_LITERAL_LENGTH() of constants. g++ 13 does not accept literals within a literal in sizeof. A
 * template does not accept an array without elements, so one more element is counted.
 */
#if defined(__cplusplus) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ == 13
template <typename side_element, unsigned long side_count>
constexpr unsigned long side_literal_length(const side_element (&)[side_count])
{
	return side_count - 1;
}
#define SIDE_CONSTANTS_LENGTH(_type, ...)                                                          \
	side_literal_length(__extension__(_type[]){{}, __VA_ARGS__})
#else
#define SIDE_CONSTANTS_LENGTH(_type, ...) SIDE_LITERAL_LENGTH(_type, __VA_ARGS__)
#endif

/* Initialiser of a side_array_t. */
#define SIDE_LITERAL_ARRAY(_type, ...)                                                             \
	{                                                                                          \
		SIDE_PTR_INIT(SIDE_COMPOUND_LITERAL(_type, __VA_ARGS__)),                          \
				SIDE_CONSTANTS_LENGTH(_type, __VA_ARGS__)                          \
	}

/* The same for values that are not constants, inside a function. */
#define SIDE_DYNAMIC_LITERAL_ARRAY(_type, ...)                                                     \
	{                                                                                          \
		SIDE_PTR_INIT(SIDE_DYNAMIC_LITERAL(_type, __VA_ARGS__)),                           \
				SIDE_LITERAL_LENGTH(_type, __VA_ARGS__)                            \
	}

#ifndef __cplusplus
#define SIDE_DYNAMIC_LITERAL(_type, ...) SIDE_COMPOUND_LITERAL(_type, __VA_ARGS__)
#else
/*
 * In C++ a literal ends with its expression. Copy it to the stack instead: the memory is freed at
 * the end of the function, or at the end of the block if side_event() or a similar macro created
 * the block.
 */
#include <initializer_list>
namespace libside
{
template <typename T>
__attribute__((always_inline)) inline T *stack_copy(void *to, std::initializer_list<T> list)
{
	__builtin_memcpy(to, static_cast<const void *>(list.begin()), list.size() * sizeof(T));
	return static_cast<T *>(to);
}
} /* namespace libside */
#define SIDE_DYNAMIC_LITERAL(_type, ...)                                                           \
	libside::stack_copy<_type>(                                                                \
			__builtin_alloca(SIDE_LITERAL_LENGTH(_type, __VA_ARGS__) * sizeof(_type)), \
			{__VA_ARGS__})
#endif

#endif /* SIDE_MACROS_H */
