/* SPDX-License-Identifier: MIT */
/* Finds the end of a string. Most are short: a call of memchr() would take longer. */
#ifndef SIDE_CTF_STRING_END_H
#define SIDE_CTF_STRING_END_H

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "ctf/type.h"

/* Returns the address behind the NUL, or NULL: there is none before the end. Reads nothing beyond
   the end. */
static inline const uint8_t *ctf_string_end(const uint8_t *at, const uint8_t *end)
{
#if defined(__SSE2__)
	const __m128i zero = _mm_setzero_si128();

	/* Test both halves at once: for a string of up to 31 bytes, the CPU has no branch to
	   predict. */
	for (; end - at >= 32; at += 32) {
		const __m128i low = _mm_loadu_si128((const __m128i *)(const void *)at),
			      high = _mm_loadu_si128((const __m128i *)(const void *)(at + 16));
		const uint32_t zeros = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(low, zero)) |
				(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(high, zero)) << 16;

		if (zeros)
			return at + __builtin_ctz(zeros) + 1;
	}
#else
	const uint64_t ones = UINT64_C(0x0101010101010101);

	for (; end - at >= 8; at += 8) {
		uint64_t word, zeros;

		memcpy(&word, at, sizeof(word));
		/* The lowest bit of these is in the first byte that is zero. */
		zeros = (word - ones) & ~word & ones << 7;
		if (!zeros)
			continue;
		if (CTF_HOST_BIG_ENDIAN)
			break;
		return at + __builtin_ctzll(zeros) / 8 + 1;
	}
#endif
	at = memchr(at, 0, (size_t)(end - at));
	return at ? at + 1 : NULL;
}

#endif /* SIDE_CTF_STRING_END_H */
