/* SPDX-License-Identifier: MIT */
/* Implements the growing byte buffers of the codec and the text forms. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "abi/visit.h"

static int buffer_grow_heap(struct visit_buffer *buffer, size_t capacity)
{
	unsigned char *data = realloc(buffer->data, capacity);

	if (!data)
		return -ENOMEM;
	buffer->data = data;
	buffer->capacity = capacity;
	return 0;
}

/* Direct system calls, for contexts that must not call malloc(). */
static int buffer_grow_pages(struct visit_buffer *buffer, size_t capacity)
{
	void *data;

	if (capacity > SIZE_MAX - 65536)
		return -ENOMEM;
	capacity = (capacity + 65535) & ~(size_t)65535;
	if (buffer->data)
		data = mremap(buffer->data, buffer->capacity, capacity, MREMAP_MAYMOVE);
	else
		data = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
				0);
	if (data == MAP_FAILED)
		return -ENOMEM;
	buffer->data = data;
	buffer->capacity = capacity;
	return 0;
}

void visit_buffer_heap(struct visit_buffer *buffer)
{
	memset(buffer, 0, sizeof(*buffer));
	buffer->grow = buffer_grow_heap;
}

void visit_buffer_pages(struct visit_buffer *buffer)
{
	memset(buffer, 0, sizeof(*buffer));
	buffer->grow = buffer_grow_pages;
}

void visit_buffer_fixed(struct visit_buffer *buffer, void *memory, size_t size)
{
	memset(buffer, 0, sizeof(*buffer));
	buffer->data = memory;
	buffer->capacity = size;
}

void visit_buffer_free(struct visit_buffer *buffer)
{
	if (buffer->grow == buffer_grow_heap)
		free(buffer->data);
	else if (buffer->grow == buffer_grow_pages && buffer->data)
		munmap(buffer->data, buffer->capacity);
	buffer->data = NULL;
	buffer->size = 0;
	buffer->capacity = 0;
	buffer->error = 0;
}

static int abi_buffer_ensure_capacity(struct visit_buffer *buffer, size_t size)
{
	size_t wanted, saved = buffer->size;
	int saved_errno = errno;

	if (buffer->error)
		return buffer->error;
	if (size <= buffer->capacity - buffer->size)
		return 0;
	if (!buffer->grow || size > SIZE_MAX / 2 || saved > SIZE_MAX / 4) {
		buffer->error = -ENOMEM;
		return buffer->error;
	}
	wanted = saved + size;
	if (wanted < 2 * buffer->capacity)
		wanted = 2 * buffer->capacity;
	if (wanted < 256)
		wanted = 256;
	buffer->error = buffer->grow(buffer, wanted);
	errno = saved_errno;
	return buffer->error;
}

int visit_buffer_append(struct visit_buffer *buffer, const void *bytes, size_t size)
{
	int ret = abi_buffer_ensure_capacity(buffer, size);

	if (ret)
		return ret;
	if (size)
		memcpy(buffer->data + buffer->size, bytes, size);
	buffer->size += size;
	return 0;
}

int visit_buffer_printf(struct visit_buffer *buffer, const char *format, ...)
{
	char text[256];
	va_list args;
	int size, ret;

	va_start(args, format);
	size = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (size < 0) {
		buffer->error = -EINVAL;
		return buffer->error;
	}
	if ((size_t)size < sizeof(text))
		return visit_buffer_append(buffer, text, size);
	ret = abi_buffer_ensure_capacity(buffer, (size_t)size + 1);
	if (ret)
		return ret;
	va_start(args, format);
	vsnprintf((char *)buffer->data + buffer->size, (size_t)size + 1, format, args);
	va_end(args);
	buffer->size += size;
	return 0;
}
