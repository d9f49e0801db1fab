/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CONTEXT_TEXT_H
#define SIDE_TRACERS_AGENT_CONTEXT_TEXT_H

/*
 * Short texts. The functions of libc use vector registers, which a probe hit does not save
 * (tests/probe/agent/test-registers.py).
 */

#include <stdbool.h>
#include <stddef.h>

static inline size_t text_size(const char *text, size_t most)
{
	size_t size = 0;

	while (size < most && text[size])
		size++;
	return size;
}

static inline bool text_is(const char *text, const char *other, size_t size)
{
	size_t i = 0;

	while (i < size && text[i] == other[i])
		i++;
	return i == size;
}

static inline void text_copy(void *to, const void *from, size_t size)
{
	unsigned char *bytes = to;
	size_t i;

	for (i = 0; i < size; i++) {
		/* NOLINTNEXTLINE(clang-analyzer-core.*): it believes that nothing is in a block */
		bytes[i] = ((const unsigned char *)from)[i];
		/* A compiler that knows what this loop is would call memcpy() for it. */
		__asm__ volatile("" ::: "memory");
	}
}

/* NULL: it is not there. */
static inline const char *text_find(const char *text, const char *end, char wanted)
{
	while (text < end && *text != wanted)
		text++;
	return text < end ? text : NULL;
}

#endif
