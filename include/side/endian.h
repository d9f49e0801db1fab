/* SPDX-License-Identifier: MIT */
/*
 * Byte order of the host and byte swapping.
 *
 * The order comes from predefined macros of the compiler, because those of the C library are not
 * defined in strict ISO modes. An unknown order is an error, not a guess.
 */
#ifndef SIDE_ENDIAN_H
#define SIDE_ENDIAN_H

#pragma GCC system_header

#include <stdint.h>
#include <stdlib.h> /* __HAVE_FLOAT128 of the C library */

#if !defined(__BYTE_ORDER__) || !defined(__ORDER_LITTLE_ENDIAN__) || !defined(__ORDER_BIG_ENDIAN__)
#error "side: the compiler does not tell the byte order"
#endif

#define SIDE_LITTLE_ENDIAN __ORDER_LITTLE_ENDIAN__
#define SIDE_BIG_ENDIAN __ORDER_BIG_ENDIAN__
#define SIDE_BYTE_ORDER __BYTE_ORDER__

#if SIDE_BYTE_ORDER != SIDE_LITTLE_ENDIAN && SIDE_BYTE_ORDER != SIDE_BIG_ENDIAN
#error "side: this byte order is not supported"
#endif

/* clang does not define it: all its targets store floats in the order of the integers. */
#ifdef __FLOAT_WORD_ORDER__
#define SIDE_FLOAT_WORD_ORDER __FLOAT_WORD_ORDER__
#elif defined(__clang__)
#define SIDE_FLOAT_WORD_ORDER SIDE_BYTE_ORDER
#else
#error "side: the compiler does not tell the word order of floats"
#endif

/* long is as wide as a pointer or, on some ABIs, narrower. */
#define SIDE_BITS_PER_LONG (__SIZEOF_LONG__ * 8)

#define side_bswap_16(_x) __builtin_bswap16(_x)
#define side_bswap_32(_x) __builtin_bswap32(_x)
#define side_bswap_64(_x) __builtin_bswap64(_x)

#if __SIZEOF_POINTER__ == 8
#define side_bswap_pointer(_x) side_bswap_64(_x)
#else
#define side_bswap_pointer(_x) side_bswap_32(_x)
#endif

/* Reverse the 16 bytes at p, in place. */
static inline __attribute__((unused)) void side_bswap_128p(char *p)
{
	int i;

	for (i = 0; i < 8; i++) {
		char c = p[i];

		p[i] = p[15 - i];
		p[15 - i] = c;
	}
}

#endif /* SIDE_ENDIAN_H */
