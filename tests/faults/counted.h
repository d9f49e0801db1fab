/* SPDX-License-Identifier: MIT */
/* Includes faults.c in a test that counts its blocks of allocated memory. */
#ifndef TESTS_FAULTS_COUNTED_H
#define TESTS_FAULTS_COUNTED_H

#include <stddef.h>

void *counted_malloc(size_t size);
void *counted_real_malloc(size_t size) __asm__("__libc_malloc");
void *counted_calloc(size_t count, size_t size);
void *counted_real_calloc(size_t count, size_t size) __asm__("__libc_calloc");
void *counted_realloc(void *old, size_t size);
void *counted_real_realloc(void *old, size_t size) __asm__("__libc_realloc");
void *counted_memalign(size_t alignment, size_t size);
void *counted_real_memalign(size_t alignment, size_t size) __asm__("__libc_memalign");
void counted_real_free(void *block) __asm__("__libc_free");

static long counted_blocks;

static void *counted_new(void *block)
{
	/* Relaxed: a counter, read while no other thread allocates. */
	if (block)
		__atomic_add_fetch(&counted_blocks, 1, __ATOMIC_RELAXED);
	return block;
}

void *counted_malloc(size_t size)
{
	return counted_new(counted_real_malloc(size));
}

void *counted_calloc(size_t count, size_t size)
{
	return counted_new(counted_real_calloc(count, size));
}

void *counted_realloc(void *old, size_t size)
{
	void *block = counted_real_realloc(old, size);

	return old ? block : counted_new(block);
}

void *counted_memalign(size_t alignment, size_t size)
{
	return counted_new(counted_real_memalign(alignment, size));
}

#define __libc_malloc counted_malloc
#define __libc_calloc counted_calloc
#define __libc_realloc counted_realloc
#define __libc_memalign counted_memalign
#include "faults.c"
#undef __libc_malloc
#undef __libc_calloc
#undef __libc_realloc
#undef __libc_memalign

EXPORT void free(void *block)
{
	if (block)
		__atomic_sub_fetch(&counted_blocks, 1, __ATOMIC_RELAXED);
	counted_real_free(block);
}

#endif
