/* SPDX-License-Identifier: MIT */
/* Copies bytes of records with general-purpose registers only. */
#ifndef SIDE_RING_COPY_H
#define SIDE_RING_COPY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Copy bytes of a record; returns the end of the copy. Not memcpy(), which uses vector registers: a
 * probe hit does not save them (tests/probe/agent/test-registers.py). The explorer of tests/ring
 * replaces this function.
 */
static inline unsigned char *ring_copy(unsigned char *to, const void *from, size_t size)
{
	const unsigned char *bytes = from;

	for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t)) {
		__builtin_memcpy(to, bytes, sizeof(uint64_t));
		to += sizeof(uint64_t);
		bytes += sizeof(uint64_t);
	}
	while (size--)
		*to++ = *bytes++;
	return to;
}

#endif /* SIDE_RING_COPY_H */
