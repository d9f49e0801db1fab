/* SPDX-License-Identifier: MIT */
/* A library with an allocator of its own, which never frees. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define POOL_SIZE ((size_t)64 << 20)
#define HEAD 16

#define EXPORT __attribute__((visibility("default")))

EXPORT void *malloc(size_t size);
EXPORT void *calloc(size_t count, size_t size);
EXPORT void *realloc(void *block, size_t size);
EXPORT void free(void *block);
EXPORT void later_run(void);

static char pool[POOL_SIZE] __attribute__((aligned(HEAD)));
static size_t used;

/* The size of a block is before it. */
void *malloc(size_t size)
{
	size_t whole = (size + 2 * HEAD - 1) / HEAD * HEAD;
	/* Relaxed: each thread gets a part of its own. */
	size_t begin = __atomic_fetch_add(&used, whole, __ATOMIC_RELAXED);

	if (size > POOL_SIZE / 2 || begin + whole > POOL_SIZE)
		return NULL;
	memcpy(pool + begin, &size, sizeof(size));
	return pool + begin + HEAD;
}

/* The pool is zero at first, and no block is used twice. */
void *calloc(size_t count, size_t size)
{
	return count && size > SIZE_MAX / count ? NULL : malloc(count * size);
}

void *realloc(void *block, size_t size)
{
	void *new = malloc(size);
	size_t old = 0;

	if (block)
		memcpy(&old, (char *)block - HEAD, sizeof(old));
	if (new &&block)
		memcpy(new, block, old < size ? old : size);
	return new;
}

void free(void *block)
{
	(void)block;
}

void later_run(void) {}
