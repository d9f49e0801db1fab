/* SPDX-License-Identifier: MIT */
/* Allocates the memory of callback arrays with mmap() (arrays.h). */
#include "arrays.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The size in bytes. One callback and the end entry fit in three units. */
#define UNIT 32
#define UNITS_MAX 64
#define CHUNK_SIZE ((size_t)64 << 10)

struct free_piece {
	struct free_piece *next;
};

static struct free_piece *free_pieces[UNITS_MAX + 1]; /* by their size in units */
static char *chunk;                                   /* unused part of the last one */
static size_t left;

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

/*
 * Direct system calls, because the functions of the C library may be traced. ThreadSanitizer is
 * notified of memory that is reused at an old address.
 */
static void *event_array_map_memory(size_t size)
{
	int saved_errno = errno;
	long result;

#ifdef __SANITIZE_THREAD__
	result = (long)mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#elif defined(SYS_mmap2)
	result = syscall(SYS_mmap2, NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0L);
#else
	result = syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0L);
#endif
	errno = saved_errno;
	return result == -1 ? NULL : (void *)result;
}

static void event_array_unmap_memory(void *memory, size_t size)
{
	int saved_errno = errno;

#ifdef __SANITIZE_THREAD__
	(void)munmap(memory, size);
#else
	(void)syscall(SYS_munmap, memory, size);
#endif
	errno = saved_errno;
}

static size_t units_of(size_t size)
{
	return (size + UNIT - 1) / UNIT;
}

/* The remainder of the old chunk is small and is not used. */
static void *event_array_allocate(size_t size)
{
	void *taken;

	if (left < size) {
		char *new_chunk = event_array_map_memory(CHUNK_SIZE);

		if (!new_chunk)
			return NULL;
		chunk = new_chunk;
		left = CHUNK_SIZE;
	}
	taken = chunk;
	chunk += size;
	left -= size;
	return taken;
}

void *arrays_take(size_t size)
{
	size_t units = units_of(size);
	struct free_piece *piece;

	if (units > UNITS_MAX)
		return event_array_map_memory(size);
	piece = free_pieces[units];
	if (!piece)
		return event_array_allocate(units * UNIT);
	free_pieces[units] = piece->next;
	memset(piece, 0, units * UNIT);
	return piece;
}

void arrays_give_back(void *memory, size_t size)
{
	size_t units = units_of(size);
	struct free_piece *piece = memory;

	if (units > UNITS_MAX) {
		event_array_unmap_memory(memory, size);
		return;
	}
	piece->next = free_pieces[units];
	free_pieces[units] = piece;
}
