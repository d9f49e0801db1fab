/* SPDX-License-Identifier: MIT */
/*
 * An allocator that calls events while it holds its lock, and a program whose first event is in it.
 *
 * As a library (LIBRARY) it is preloaded, and its events are those of a wrapper, which its
 * constructor calls first. Otherwise it is part of the program, and has its own event. A thread
 * that calls the allocator again while it has the lock ends the program with status 99: that thread
 * would wait for ever.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef OWN_EVENTS
#include <side/trace.h>

side_static_event(allocated, "allocator", "allocated", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u64("size")));
#endif

static int owner; /* the thread that holds the lock */
static char memory[1 << 26];
static size_t used;
static pthread_mutex_t tried = PTHREAD_MUTEX_INITIALIZER;

/* For the wrapper: calls of the thread library while the lock is held. */
static void call_events(size_t size)
{
	if (!pthread_mutex_trylock(&tried))
		pthread_mutex_unlock(&tried);
#ifdef OWN_EVENTS
	side_event(allocated, side_arg_list(side_arg_u64(size)));
#endif
	(void)size;
}

static void *take(size_t size)
{
	int me = (int)syscall(SYS_gettid), unowned;
	char *taken;

	if (__atomic_load_n(&owner, __ATOMIC_RELAXED) == me)
		_exit(99);
	do
		unowned = 0;
	while (!__atomic_compare_exchange_n(
			&owner, &unowned, me, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
	size = (size + 31) & ~(size_t)15;
	taken = memory + used + 16;
	memcpy(taken - sizeof(size), &size, sizeof(size));
	used += size + 16;
	call_events(size);
	__atomic_store_n(&owner, 0, __ATOMIC_RELEASE);
	return taken;
}

void *malloc(size_t size)
{
	return take(size);
}

void *calloc(size_t number, size_t size)
{
	return take(number * size);
}

void free(void *block)
{
	(void)block;
}

void *memalign(size_t alignment, size_t size)
{
	char *block = take(size + alignment);
	size_t over = (uintptr_t)block % alignment;

	return over ? block + alignment - over : block;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
	*block = memalign(alignment, size);
	return 0;
}

void *realloc(void *block, size_t size)
{
	char *made = take(size);
	size_t before;

	if (!block)
		return made;
	memcpy(&before, (char *)block - sizeof(before), sizeof(before));
	return memcpy(made, block, before < size ? before : size);
}

#ifdef LIBRARY
__attribute__((constructor)) static void begin(void)
{
	free(malloc(10));
}
#endif
