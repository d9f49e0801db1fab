/* SPDX-License-Identifier: MIT */
/* A growing buffer in which records are built: one allocation that only grows. */
#ifndef SIDE_KERNEL_EVENTS_BYTES_H
#define SIDE_KERNEL_EVENTS_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct byte_buffer {
	uint8_t *data;
	size_t size;
	size_t capacity;
	bool failed; /* out of memory: the contents are incomplete */
};

/*
 * Append `size` bytes (not 0), which the caller fills. Returns their address, or NULL if out of
 * memory. The pointer is valid until the next append.
 */
static inline uint8_t *bytes_grow(struct byte_buffer *bytes, size_t size)
{
	if (bytes->capacity - bytes->size < size) {
		size_t capacity = (bytes->size + size) * 2;
		uint8_t *data = realloc(bytes->data, capacity);

		if (!data) {
			bytes->failed = true;
			return NULL;
		}
		bytes->data = data;
		bytes->capacity = capacity;
	}
	bytes->size += size;
	return bytes->data + bytes->size - size;
}

static inline void bytes_put(struct byte_buffer *bytes, const void *from, size_t size)
{
	uint8_t *to = size ? bytes_grow(bytes, size) : NULL;

	if (to)
		memcpy(to, from, size);
}

static inline void bytes_put_zeros(struct byte_buffer *bytes, size_t size)
{
	uint8_t *to = size ? bytes_grow(bytes, size) : NULL;

	if (to)
		memset(to, 0, size);
}

#endif /* SIDE_KERNEL_EVENTS_BYTES_H */
