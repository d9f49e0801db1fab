/* SPDX-License-Identifier: MIT */
/*
 * SIDE: lists of the preprocessor.
 *
 * SIDE_MAP(m, ctx, list) expands to m(ctx, i, element) for each element, without separators; i is a
 * text that makes a name unique. Each element begins with a parenthesis; the last may be empty,
 * which is a trailing comma. Up to 16 elements are unrolled, longer lists are expanded in chunks of
 * 16, up to 1024.
 *
 * Without comma deletion and __VA_OPT__: works in strict C99 and C++11.
 */
#ifndef SIDE_LIST_H
#define SIDE_LIST_H

#pragma GCC system_header

/* 1 if the text begins with "(", else 0. */
#define SIDE_IS_PAREN(...) SIDE_IS_PAREN_I(SIDE_PAREN_PROBE __VA_ARGS__, 0, )
#define SIDE_IS_PAREN_I(...) SIDE_IS_PAREN_II(__VA_ARGS__)
#define SIDE_IS_PAREN_II(_a, _is, ...) _is
#define SIDE_PAREN_PROBE(...) , 1,

#define SIDE_PASTE(_a, ...) SIDE_PASTE_I(_a, __VA_ARGS__)
#define SIDE_PASTE_I(_a, ...) _a##__VA_ARGS__

/* The text after it, if the condition is 1. */
#define SIDE_IF(_cond) SIDE_PASTE(SIDE_IF_, _cond)
#define SIDE_IF_0(...)
#define SIDE_IF_1(...) __VA_ARGS__

#define SIDE_HEAD(...) SIDE_HEAD_I(__VA_ARGS__, )
#define SIDE_HEAD_I(_head, ...) _head

/* Number of elements, 1 to 16. 17 means 17 or more: the 17th element is then in the position of the number. */
#define SIDE_SIZE(...)                                                                             \
	SIDE_SIZE_I(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, )
#define SIDE_SIZE_I(_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, \
		_size, ...)                                                                        \
	SIDE_SECOND(SIDE_SIZE_17 _size, _size, )
#define SIDE_SIZE_17(...) , 17
#define SIDE_SECOND(...) SIDE_IS_PAREN_II(__VA_ARGS__)

/* The last element, unless it is empty, which is a trailing comma. */
#define SIDE_MAP_LAST(...) SIDE_MAP_LAST_I(__VA_ARGS__)
#define SIDE_MAP_LAST_I(_a, _is, ...) SIDE_MAP_LAST_##_is
#define SIDE_MAP_LAST_1(_m, _ctx, _i, _last) _m(_ctx, _i, _last)
#define SIDE_MAP_LAST_0(_m, _ctx, _i, _last) \
	SIDE_PASTE(SIDE_MAP_EMPTY_, SIDE_IS_EMPTY(_last))(_m, _ctx, _i, _last)
#define SIDE_MAP_EMPTY_1(...)
#define SIDE_MAP_EMPTY_0(_m, _ctx, _i, _last) _m(_ctx, _i, _last)
#define SIDE_IS_EMPTY(...) SIDE_IS_PAREN(SIDE_EMPTY_PROBE __VA_ARGS__())
#define SIDE_EMPTY_PROBE() ()

/* Uses SIDE_SIZE_I() directly: each macro that a long list passes through costs time. */
#define SIDE_MAP(_m, _ctx, ...)                                                                    \
	SIDE_PASTE(SIDE_MAP_, SIDE_SIZE_I(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5,  \
					      4, 3, 2, 1, ))(0, _m, _ctx, __VA_ARGS__)

#define SIDE_MAP_1(_k, _m, _ctx, _a0)                                                              \
	SIDE_MAP_LAST(SIDE_PAREN_PROBE _a0, 0, )(_m, _ctx, _k##_0, _a0)
#define SIDE_MAP_2(_k, _m, _ctx, _a0, _a1)                                                         \
	_m(_ctx, _k##_0, _a0)                                                                      \
	SIDE_MAP_LAST(SIDE_PAREN_PROBE _a1, 0, )(_m, _ctx, _k##_1, _a1)
#define SIDE_MAP_3(_k, _m, _ctx, _a0, _a1, _a2)                                                    \
	_m(_ctx, _k##_0, _a0)                                                                      \
	_m(_ctx, _k##_1, _a1)                                                                      \
	SIDE_MAP_LAST(SIDE_PAREN_PROBE _a2, 0, )(_m, _ctx, _k##_2, _a2)
#define SIDE_MAP_4(_k, _m, _ctx, _a0, _a1, _a2, _a3)                                               \
	_m(_ctx, _k##_0, _a0)                                                                      \
	_m(_ctx, _k##_1, _a1)                                                                      \
	_m(_ctx, _k##_2, _a2)                                                                      \
	SIDE_MAP_LAST(SIDE_PAREN_PROBE _a3, 0, )(_m, _ctx, _k##_3, _a3)
#define SIDE_MAP_5(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4)                                          \
	_m(_ctx, _k##_0, _a0)                                                                      \
	_m(_ctx, _k##_1, _a1)                                                                      \
	_m(_ctx, _k##_2, _a2)                                                                      \
	_m(_ctx, _k##_3, _a3)                                                                      \
	SIDE_MAP_LAST(SIDE_PAREN_PROBE _a4, 0, )(_m, _ctx, _k##_4, _a4)
#define SIDE_MAP_6(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5)                                     \
	_m(_ctx, _k##_0, _a0)                                                                      \
	_m(_ctx, _k##_1, _a1)                                                                      \
	_m(_ctx, _k##_2, _a2)                                                                      \
	_m(_ctx, _k##_3, _a3)                                                                      \
	_m(_ctx, _k##_4, _a4)                                                                      \
	SIDE_MAP_LAST(SIDE_PAREN_PROBE _a5, 0, )(_m, _ctx, _k##_5, _a5)
#define SIDE_MAP_7(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6)                                \
	_m(_ctx, _k##_0, _a0)                                                                      \
	_m(_ctx, _k##_1, _a1)                                                                      \
	_m(_ctx, _k##_2, _a2)                                                                      \
	_m(_ctx, _k##_3, _a3)                                                                      \
	_m(_ctx, _k##_4, _a4)                                                                      \
	_m(_ctx, _k##_5, _a5)                                                                      \
	SIDE_MAP_LAST(SIDE_PAREN_PROBE _a6, 0, )(_m, _ctx, _k##_6, _a6)
#define SIDE_MAP_8(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7)                           \
	_m(_ctx, _k##_0, _a0)                                                                      \
	_m(_ctx, _k##_1, _a1)                                                                      \
	_m(_ctx, _k##_2, _a2)                                                                      \
	_m(_ctx, _k##_3, _a3)                                                                      \
	_m(_ctx, _k##_4, _a4)                                                                      \
	_m(_ctx, _k##_5, _a5)                                                                      \
	_m(_ctx, _k##_6, _a6)                                                                      \
	SIDE_MAP_LAST(SIDE_PAREN_PROBE _a7, 0, )(_m, _ctx, _k##_7, _a7)
#define SIDE_MAP_9(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8)                      \
	_m(_ctx, _k##_0, _a0)                                                                      \
	_m(_ctx, _k##_1, _a1)                                                                      \
	_m(_ctx, _k##_2, _a2)                                                                      \
	_m(_ctx, _k##_3, _a3)                                                                      \
	_m(_ctx, _k##_4, _a4)                                                                      \
	_m(_ctx, _k##_5, _a5)                                                                      \
	_m(_ctx, _k##_6, _a6)                                                                      \
	_m(_ctx, _k##_7, _a7)                                                                      \
	SIDE_MAP_LAST(SIDE_PAREN_PROBE _a8, 0, )(_m, _ctx, _k##_8, _a8)
#define SIDE_MAP_10(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9)                \
	_m(_ctx, _k##_0, _a0)                                                                      \
	_m(_ctx, _k##_1, _a1)                                                                      \
	_m(_ctx, _k##_2, _a2)                                                                      \
	_m(_ctx, _k##_3, _a3)                                                                      \
	_m(_ctx, _k##_4, _a4)                                                                      \
	_m(_ctx, _k##_5, _a5)                                                                      \
	_m(_ctx, _k##_6, _a6)                                                                      \
	_m(_ctx, _k##_7, _a7)                                                                      \
	_m(_ctx, _k##_8, _a8)                                                                      \
	SIDE_MAP_LAST(SIDE_PAREN_PROBE _a9, 0, )(_m, _ctx, _k##_9, _a9)
#define SIDE_MAP_11(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10)          \
	_m(_ctx, _k##_0, _a0)                                                                      \
	_m(_ctx, _k##_1, _a1)                                                                      \
	_m(_ctx, _k##_2, _a2)                                                                      \
	_m(_ctx, _k##_3, _a3)                                                                      \
	_m(_ctx, _k##_4, _a4)                                                                      \
	_m(_ctx, _k##_5, _a5)                                                                      \
	_m(_ctx, _k##_6, _a6)                                                                      \
	_m(_ctx, _k##_7, _a7)                                                                      \
	_m(_ctx, _k##_8, _a8)                                                                      \
	_m(_ctx, _k##_9, _a9)                                                                      \
	SIDE_MAP_LAST(SIDE_PAREN_PROBE _a10, 0, )(_m, _ctx, _k##_10, _a10)
#define SIDE_MAP_12(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11)    \
	_m(_ctx, _k##_0, _a0)                                                                      \
	_m(_ctx, _k##_1, _a1)                                                                      \
	_m(_ctx, _k##_2, _a2)                                                                      \
	_m(_ctx, _k##_3, _a3)                                                                      \
	_m(_ctx, _k##_4, _a4)                                                                      \
	_m(_ctx, _k##_5, _a5)                                                                      \
	_m(_ctx, _k##_6, _a6)                                                                      \
	_m(_ctx, _k##_7, _a7)                                                                      \
	_m(_ctx, _k##_8, _a8)                                                                      \
	_m(_ctx, _k##_9, _a9)                                                                      \
	_m(_ctx, _k##_10, _a10)                                                                    \
	SIDE_MAP_LAST(SIDE_PAREN_PROBE _a11, 0, )(_m, _ctx, _k##_11, _a11)
#define SIDE_MAP_13(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12) \
	_m(_ctx, _k##_0, _a0)                                                                      \
	_m(_ctx, _k##_1, _a1)                                                                      \
	_m(_ctx, _k##_2, _a2)                                                                      \
	_m(_ctx, _k##_3, _a3)                                                                      \
	_m(_ctx, _k##_4, _a4)                                                                      \
	_m(_ctx, _k##_5, _a5)                                                                      \
	_m(_ctx, _k##_6, _a6)                                                                      \
	_m(_ctx, _k##_7, _a7)                                                                      \
	_m(_ctx, _k##_8, _a8)                                                                      \
	_m(_ctx, _k##_9, _a9)                                                                      \
	_m(_ctx, _k##_10, _a10)                                                                    \
	_m(_ctx, _k##_11, _a11)                                                                    \
	SIDE_MAP_LAST(SIDE_PAREN_PROBE _a12, 0, )(_m, _ctx, _k##_12, _a12)
#define SIDE_MAP_14(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13) \
	_m(_ctx, _k##_0, _a0)                                                                      \
	_m(_ctx, _k##_1, _a1)                                                                      \
	_m(_ctx, _k##_2, _a2)                                                                      \
	_m(_ctx, _k##_3, _a3)                                                                      \
	_m(_ctx, _k##_4, _a4)                                                                      \
	_m(_ctx, _k##_5, _a5)                                                                      \
	_m(_ctx, _k##_6, _a6)                                                                      \
	_m(_ctx, _k##_7, _a7)                                                                      \
	_m(_ctx, _k##_8, _a8)                                                                      \
	_m(_ctx, _k##_9, _a9)                                                                      \
	_m(_ctx, _k##_10, _a10)                                                                    \
	_m(_ctx, _k##_11, _a11)                                                                    \
	_m(_ctx, _k##_12, _a12)                                                                    \
	SIDE_MAP_LAST(SIDE_PAREN_PROBE _a13, 0, )(_m, _ctx, _k##_13, _a13)
#define SIDE_MAP_15(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14) \
	_m(_ctx, _k##_0, _a0)                                                                      \
	_m(_ctx, _k##_1, _a1)                                                                      \
	_m(_ctx, _k##_2, _a2)                                                                      \
	_m(_ctx, _k##_3, _a3)                                                                      \
	_m(_ctx, _k##_4, _a4)                                                                      \
	_m(_ctx, _k##_5, _a5)                                                                      \
	_m(_ctx, _k##_6, _a6)                                                                      \
	_m(_ctx, _k##_7, _a7)                                                                      \
	_m(_ctx, _k##_8, _a8)                                                                      \
	_m(_ctx, _k##_9, _a9)                                                                      \
	_m(_ctx, _k##_10, _a10)                                                                    \
	_m(_ctx, _k##_11, _a11)                                                                    \
	_m(_ctx, _k##_12, _a12)                                                                    \
	_m(_ctx, _k##_13, _a13)                                                                    \
	SIDE_MAP_LAST(SIDE_PAREN_PROBE _a14, 0, )(_m, _ctx, _k##_14, _a14)
#define SIDE_MAP_16(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	_m(_ctx, _k##_0, _a0)                                                                      \
	_m(_ctx, _k##_1, _a1)                                                                      \
	_m(_ctx, _k##_2, _a2)                                                                      \
	_m(_ctx, _k##_3, _a3)                                                                      \
	_m(_ctx, _k##_4, _a4)                                                                      \
	_m(_ctx, _k##_5, _a5)                                                                      \
	_m(_ctx, _k##_6, _a6)                                                                      \
	_m(_ctx, _k##_7, _a7)                                                                      \
	_m(_ctx, _k##_8, _a8)                                                                      \
	_m(_ctx, _k##_9, _a9)                                                                      \
	_m(_ctx, _k##_10, _a10)                                                                    \
	_m(_ctx, _k##_11, _a11)                                                                    \
	_m(_ctx, _k##_12, _a12)                                                                    \
	_m(_ctx, _k##_13, _a13)                                                                    \
	_m(_ctx, _k##_14, _a14)                                                                    \
	SIDE_MAP_LAST(SIDE_PAREN_PROBE _a15, 0, )(_m, _ctx, _k##_15, _a15)
/* 16 elements and a trailing comma: the 17th, in the position of the size, is empty. */
#define SIDE_MAP_(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, _end) \
	SIDE_MAP_CHUNK(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15)
#define SIDE_MAP_CHUNK(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	_m(_ctx, _k##_0, _a0)                                                                      \
	_m(_ctx, _k##_1, _a1)                                                                      \
	_m(_ctx, _k##_2, _a2)                                                                      \
	_m(_ctx, _k##_3, _a3)                                                                      \
	_m(_ctx, _k##_4, _a4)                                                                      \
	_m(_ctx, _k##_5, _a5)                                                                      \
	_m(_ctx, _k##_6, _a6)                                                                      \
	_m(_ctx, _k##_7, _a7)                                                                      \
	_m(_ctx, _k##_8, _a8)                                                                      \
	_m(_ctx, _k##_9, _a9)                                                                      \
	_m(_ctx, _k##_10, _a10)                                                                    \
	_m(_ctx, _k##_11, _a11)                                                                    \
	_m(_ctx, _k##_12, _a12)                                                                    \
	_m(_ctx, _k##_13, _a13)                                                                    \
	_m(_ctx, _k##_14, _a14)                                                                    \
	_m(_ctx, _k##_15, _a15)

/* One macro a chunk, because a macro does not expand inside itself. */
#define SIDE_MAP_17(_k, _m, _ctx, ...) \
	SIDE_PASTE(SIDE_MAP_PART_, SIDE_IS_LONG(__VA_ARGS__))(0)(0, _m, _ctx, __VA_ARGS__)
/* More than 64: in parts of 64 first, because the remainder is scanned again after each part. */
#define SIDE_MAP_PART_0(_k) SIDE_MAP_REMAINDER
#define SIDE_MAP_PART_1(_k) SIDE_MAP_64_##_k
#define SIDE_MAP_REMAINDER(_k, _m, _ctx, ...)                                                      \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(_k)(_k, _m, _ctx, __VA_ARGS__)
#define SIDE_IS_LONG(...) \
	SIDE_IS_LONG_I(__VA_ARGS__,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,)
#define SIDE_IS_LONG_I( \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31, _a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, \
		_a44, _a45, _a46, _a47, _a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, \
		_a58, _a59, _a60, _a61, _a62, _a63, _a64, ...) \
	SIDE_IS_PAREN(_a64)
#define SIDE_MAP_64_0(_k, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31, _a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, \
		_a44, _a45, _a46, _a47, _a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, \
		_a58, _a59, _a60, _a61, _a62, _a63, ...) \
	SIDE_MAP_CHUNK(0, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_MAP_CHUNK(1, _m, _ctx, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31) \
	SIDE_MAP_CHUNK(2, _m, _ctx, \
		_a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, _a44, _a45, \
		_a46, _a47) \
	SIDE_MAP_CHUNK(3, _m, _ctx, \
		_a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, _a58, _a59, _a60, _a61, \
		_a62, _a63) \
	SIDE_PASTE(SIDE_MAP_PART_, SIDE_IS_LONG(__VA_ARGS__))(4)(4, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_64_4(_k, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31, _a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, \
		_a44, _a45, _a46, _a47, _a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, \
		_a58, _a59, _a60, _a61, _a62, _a63, ...) \
	SIDE_MAP_CHUNK(4, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_MAP_CHUNK(5, _m, _ctx, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31) \
	SIDE_MAP_CHUNK(6, _m, _ctx, \
		_a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, _a44, _a45, \
		_a46, _a47) \
	SIDE_MAP_CHUNK(7, _m, _ctx, \
		_a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, _a58, _a59, _a60, _a61, \
		_a62, _a63) \
	SIDE_PASTE(SIDE_MAP_PART_, SIDE_IS_LONG(__VA_ARGS__))(8)(8, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_64_8(_k, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31, _a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, \
		_a44, _a45, _a46, _a47, _a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, \
		_a58, _a59, _a60, _a61, _a62, _a63, ...) \
	SIDE_MAP_CHUNK(8, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_MAP_CHUNK(9, _m, _ctx, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31) \
	SIDE_MAP_CHUNK(10, _m, _ctx, \
		_a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, _a44, _a45, \
		_a46, _a47) \
	SIDE_MAP_CHUNK(11, _m, _ctx, \
		_a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, _a58, _a59, _a60, _a61, \
		_a62, _a63) \
	SIDE_PASTE(SIDE_MAP_PART_, SIDE_IS_LONG(__VA_ARGS__))(12)(12, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_64_12(_k, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31, _a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, \
		_a44, _a45, _a46, _a47, _a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, \
		_a58, _a59, _a60, _a61, _a62, _a63, ...) \
	SIDE_MAP_CHUNK(12, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_MAP_CHUNK(13, _m, _ctx, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31) \
	SIDE_MAP_CHUNK(14, _m, _ctx, \
		_a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, _a44, _a45, \
		_a46, _a47) \
	SIDE_MAP_CHUNK(15, _m, _ctx, \
		_a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, _a58, _a59, _a60, _a61, \
		_a62, _a63) \
	SIDE_PASTE(SIDE_MAP_PART_, SIDE_IS_LONG(__VA_ARGS__))(16)(16, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_64_16(_k, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31, _a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, \
		_a44, _a45, _a46, _a47, _a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, \
		_a58, _a59, _a60, _a61, _a62, _a63, ...) \
	SIDE_MAP_CHUNK(16, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_MAP_CHUNK(17, _m, _ctx, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31) \
	SIDE_MAP_CHUNK(18, _m, _ctx, \
		_a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, _a44, _a45, \
		_a46, _a47) \
	SIDE_MAP_CHUNK(19, _m, _ctx, \
		_a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, _a58, _a59, _a60, _a61, \
		_a62, _a63) \
	SIDE_PASTE(SIDE_MAP_PART_, SIDE_IS_LONG(__VA_ARGS__))(20)(20, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_64_20(_k, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31, _a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, \
		_a44, _a45, _a46, _a47, _a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, \
		_a58, _a59, _a60, _a61, _a62, _a63, ...) \
	SIDE_MAP_CHUNK(20, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_MAP_CHUNK(21, _m, _ctx, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31) \
	SIDE_MAP_CHUNK(22, _m, _ctx, \
		_a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, _a44, _a45, \
		_a46, _a47) \
	SIDE_MAP_CHUNK(23, _m, _ctx, \
		_a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, _a58, _a59, _a60, _a61, \
		_a62, _a63) \
	SIDE_PASTE(SIDE_MAP_PART_, SIDE_IS_LONG(__VA_ARGS__))(24)(24, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_64_24(_k, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31, _a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, \
		_a44, _a45, _a46, _a47, _a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, \
		_a58, _a59, _a60, _a61, _a62, _a63, ...) \
	SIDE_MAP_CHUNK(24, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_MAP_CHUNK(25, _m, _ctx, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31) \
	SIDE_MAP_CHUNK(26, _m, _ctx, \
		_a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, _a44, _a45, \
		_a46, _a47) \
	SIDE_MAP_CHUNK(27, _m, _ctx, \
		_a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, _a58, _a59, _a60, _a61, \
		_a62, _a63) \
	SIDE_PASTE(SIDE_MAP_PART_, SIDE_IS_LONG(__VA_ARGS__))(28)(28, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_64_28(_k, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31, _a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, \
		_a44, _a45, _a46, _a47, _a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, \
		_a58, _a59, _a60, _a61, _a62, _a63, ...) \
	SIDE_MAP_CHUNK(28, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_MAP_CHUNK(29, _m, _ctx, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31) \
	SIDE_MAP_CHUNK(30, _m, _ctx, \
		_a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, _a44, _a45, \
		_a46, _a47) \
	SIDE_MAP_CHUNK(31, _m, _ctx, \
		_a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, _a58, _a59, _a60, _a61, \
		_a62, _a63) \
	SIDE_PASTE(SIDE_MAP_PART_, SIDE_IS_LONG(__VA_ARGS__))(32)(32, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_64_32(_k, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31, _a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, \
		_a44, _a45, _a46, _a47, _a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, \
		_a58, _a59, _a60, _a61, _a62, _a63, ...) \
	SIDE_MAP_CHUNK(32, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_MAP_CHUNK(33, _m, _ctx, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31) \
	SIDE_MAP_CHUNK(34, _m, _ctx, \
		_a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, _a44, _a45, \
		_a46, _a47) \
	SIDE_MAP_CHUNK(35, _m, _ctx, \
		_a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, _a58, _a59, _a60, _a61, \
		_a62, _a63) \
	SIDE_PASTE(SIDE_MAP_PART_, SIDE_IS_LONG(__VA_ARGS__))(36)(36, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_64_36(_k, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31, _a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, \
		_a44, _a45, _a46, _a47, _a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, \
		_a58, _a59, _a60, _a61, _a62, _a63, ...) \
	SIDE_MAP_CHUNK(36, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_MAP_CHUNK(37, _m, _ctx, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31) \
	SIDE_MAP_CHUNK(38, _m, _ctx, \
		_a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, _a44, _a45, \
		_a46, _a47) \
	SIDE_MAP_CHUNK(39, _m, _ctx, \
		_a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, _a58, _a59, _a60, _a61, \
		_a62, _a63) \
	SIDE_PASTE(SIDE_MAP_PART_, SIDE_IS_LONG(__VA_ARGS__))(40)(40, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_64_40(_k, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31, _a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, \
		_a44, _a45, _a46, _a47, _a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, \
		_a58, _a59, _a60, _a61, _a62, _a63, ...) \
	SIDE_MAP_CHUNK(40, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_MAP_CHUNK(41, _m, _ctx, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31) \
	SIDE_MAP_CHUNK(42, _m, _ctx, \
		_a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, _a44, _a45, \
		_a46, _a47) \
	SIDE_MAP_CHUNK(43, _m, _ctx, \
		_a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, _a58, _a59, _a60, _a61, \
		_a62, _a63) \
	SIDE_PASTE(SIDE_MAP_PART_, SIDE_IS_LONG(__VA_ARGS__))(44)(44, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_64_44(_k, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31, _a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, \
		_a44, _a45, _a46, _a47, _a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, \
		_a58, _a59, _a60, _a61, _a62, _a63, ...) \
	SIDE_MAP_CHUNK(44, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_MAP_CHUNK(45, _m, _ctx, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31) \
	SIDE_MAP_CHUNK(46, _m, _ctx, \
		_a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, _a44, _a45, \
		_a46, _a47) \
	SIDE_MAP_CHUNK(47, _m, _ctx, \
		_a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, _a58, _a59, _a60, _a61, \
		_a62, _a63) \
	SIDE_PASTE(SIDE_MAP_PART_, SIDE_IS_LONG(__VA_ARGS__))(48)(48, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_64_48(_k, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31, _a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, \
		_a44, _a45, _a46, _a47, _a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, \
		_a58, _a59, _a60, _a61, _a62, _a63, ...) \
	SIDE_MAP_CHUNK(48, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_MAP_CHUNK(49, _m, _ctx, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31) \
	SIDE_MAP_CHUNK(50, _m, _ctx, \
		_a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, _a44, _a45, \
		_a46, _a47) \
	SIDE_MAP_CHUNK(51, _m, _ctx, \
		_a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, _a58, _a59, _a60, _a61, \
		_a62, _a63) \
	SIDE_PASTE(SIDE_MAP_PART_, SIDE_IS_LONG(__VA_ARGS__))(52)(52, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_64_52(_k, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31, _a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, \
		_a44, _a45, _a46, _a47, _a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, \
		_a58, _a59, _a60, _a61, _a62, _a63, ...) \
	SIDE_MAP_CHUNK(52, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_MAP_CHUNK(53, _m, _ctx, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31) \
	SIDE_MAP_CHUNK(54, _m, _ctx, \
		_a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, _a44, _a45, \
		_a46, _a47) \
	SIDE_MAP_CHUNK(55, _m, _ctx, \
		_a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, _a58, _a59, _a60, _a61, \
		_a62, _a63) \
	SIDE_PASTE(SIDE_MAP_PART_, SIDE_IS_LONG(__VA_ARGS__))(56)(56, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_64_56(_k, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31, _a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, \
		_a44, _a45, _a46, _a47, _a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, \
		_a58, _a59, _a60, _a61, _a62, _a63, ...) \
	SIDE_MAP_CHUNK(56, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_MAP_CHUNK(57, _m, _ctx, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31) \
	SIDE_MAP_CHUNK(58, _m, _ctx, \
		_a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, _a44, _a45, \
		_a46, _a47) \
	SIDE_MAP_CHUNK(59, _m, _ctx, \
		_a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, _a58, _a59, _a60, _a61, \
		_a62, _a63) \
	SIDE_PASTE(SIDE_MAP_PART_, SIDE_IS_LONG(__VA_ARGS__))(60)(60, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_64_60(_k, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31, _a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, \
		_a44, _a45, _a46, _a47, _a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, \
		_a58, _a59, _a60, _a61, _a62, _a63, ...) \
	SIDE_MAP_CHUNK(60, _m, _ctx, \
		_a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_MAP_CHUNK(61, _m, _ctx, \
		_a16, _a17, _a18, _a19, _a20, _a21, _a22, _a23, _a24, _a25, _a26, _a27, _a28, _a29, \
		_a30, _a31) \
	SIDE_MAP_CHUNK(62, _m, _ctx, \
		_a32, _a33, _a34, _a35, _a36, _a37, _a38, _a39, _a40, _a41, _a42, _a43, _a44, _a45, \
		_a46, _a47) \
	SIDE_MAP_CHUNK(63, _m, _ctx, \
		_a48, _a49, _a50, _a51, _a52, _a53, _a54, _a55, _a56, _a57, _a58, _a59, _a60, _a61, \
		_a62, _a63) \
	SIDE_MAP_REMAINDER(64, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_NEXT_1(_k) SIDE_MAP_1
#define SIDE_MAP_NEXT_2(_k) SIDE_MAP_2
#define SIDE_MAP_NEXT_3(_k) SIDE_MAP_3
#define SIDE_MAP_NEXT_4(_k) SIDE_MAP_4
#define SIDE_MAP_NEXT_5(_k) SIDE_MAP_5
#define SIDE_MAP_NEXT_6(_k) SIDE_MAP_6
#define SIDE_MAP_NEXT_7(_k) SIDE_MAP_7
#define SIDE_MAP_NEXT_8(_k) SIDE_MAP_8
#define SIDE_MAP_NEXT_9(_k) SIDE_MAP_9
#define SIDE_MAP_NEXT_10(_k) SIDE_MAP_10
#define SIDE_MAP_NEXT_11(_k) SIDE_MAP_11
#define SIDE_MAP_NEXT_12(_k) SIDE_MAP_12
#define SIDE_MAP_NEXT_13(_k) SIDE_MAP_13
#define SIDE_MAP_NEXT_14(_k) SIDE_MAP_14
#define SIDE_MAP_NEXT_15(_k) SIDE_MAP_15
#define SIDE_MAP_NEXT_16(_k) SIDE_MAP_16
#define SIDE_MAP_NEXT_(_k) SIDE_MAP_
#define SIDE_MAP_NEXT_17(_k) SIDE_MAP_17_##_k
#define SIDE_MAP_17_0(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(0, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(1)(1, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_1(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(1, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(2)(2, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_2(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(2, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(3)(3, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_3(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(3, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(4)(4, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_4(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(4, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(5)(5, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_5(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(5, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(6)(6, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_6(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(6, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(7)(7, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_7(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(7, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(8)(8, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_8(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(8, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(9)(9, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_9(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(9, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(10)(10, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_10(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(10, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(11)(11, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_11(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(11, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(12)(12, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_12(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(12, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(13)(13, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_13(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(13, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(14)(14, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_14(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(14, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(15)(15, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_15(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(15, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(16)(16, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_16(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(16, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(17)(17, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_17(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(17, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(18)(18, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_18(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(18, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(19)(19, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_19(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(19, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(20)(20, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_20(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(20, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(21)(21, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_21(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(21, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(22)(22, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_22(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(22, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(23)(23, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_23(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(23, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(24)(24, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_24(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(24, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(25)(25, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_25(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(25, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(26)(26, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_26(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(26, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(27)(27, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_27(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(27, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(28)(28, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_28(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(28, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(29)(29, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_29(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(29, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(30)(30, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_30(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(30, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(31)(31, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_31(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(31, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(32)(32, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_32(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(32, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(33)(33, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_33(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(33, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(34)(34, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_34(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(34, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(35)(35, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_35(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(35, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(36)(36, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_36(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(36, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(37)(37, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_37(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(37, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(38)(38, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_38(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(38, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(39)(39, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_39(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(39, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(40)(40, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_40(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(40, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(41)(41, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_41(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(41, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(42)(42, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_42(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(42, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(43)(43, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_43(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(43, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(44)(44, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_44(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(44, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(45)(45, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_45(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(45, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(46)(46, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_46(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(46, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(47)(47, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_47(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(47, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(48)(48, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_48(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(48, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(49)(49, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_49(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(49, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(50)(50, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_50(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(50, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(51)(51, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_51(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(51, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(52)(52, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_52(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(52, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(53)(53, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_53(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(53, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(54)(54, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_54(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(54, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(55)(55, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_55(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(55, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(56)(56, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_56(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(56, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(57)(57, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_57(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(57, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(58)(58, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_58(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(58, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(59)(59, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_59(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(59, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(60)(60, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_60(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(60, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(61)(61, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_61(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(61, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(62)(62, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_62(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(62, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(63)(63, _m, _ctx, __VA_ARGS__)
#define SIDE_MAP_17_63(_k, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15, ...) \
	SIDE_MAP_CHUNK(63, _m, _ctx, _a0, _a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10, _a11, _a12, _a13, _a14, _a15) \
	SIDE_PASTE(SIDE_MAP_NEXT_, SIDE_SIZE(__VA_ARGS__))(64)(64, _m, _ctx, __VA_ARGS__)

#endif /* SIDE_LIST_H */
