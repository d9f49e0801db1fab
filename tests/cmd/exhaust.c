/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into a program: lets allocations fail, as if memory were exhausted.
 *
 *   EXHAUST_PROGRAM   the name of the program; others have all the memory that they ask for
 *   EXHAUST_AT        the number of the allocation that fails, from 1 on
 *   EXHAUST_EVERY     each allocation fails whose number is a multiple of this
 *   EXHAUST_FROM      this allocation and all that follow fail
 *   EXHAUST_COUNT     a file: one line for each call path that allocates, with the number of its first allocation
 */
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATHS 65536
#define DEPTH 24

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static unsigned long next, at, every, from;
static int count_fd = -1;
static bool is_begun;
static pid_t program;
static __thread bool is_busy;
static uint64_t paths[PATHS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned long exhaust_number(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : 0;
}

__attribute__((constructor)) static void exhaust_begin(void)
{
	const char *name = getenv("EXHAUST_PROGRAM"), *file = getenv("EXHAUST_COUNT");
	void *frames[1];
	char path[4096];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (!name || size < 0)
		return;
	path[size] = 0;
	if (strcmp(name, strrchr(path, '/') + 1) != 0)
		return;
	at = exhaust_number("EXHAUST_AT");
	every = exhaust_number("EXHAUST_EVERY");
	from = exhaust_number("EXHAUST_FROM");
	if (file) {
		count_fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		/* Its first call loads a library. */
		(void)backtrace(frames, 1);
	}
	program = getpid();
	is_begun = true;
}

/* FNV-1a of the return addresses. */
static uint64_t exhaust_path(void)
{
	void *frames[DEPTH];
	int depth = backtrace(frames, DEPTH);
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (int i = 0; i < depth; i++)
		hash = (hash ^ (uint64_t)(uintptr_t)frames[i]) * UINT64_C(0x100000001b3);
	return hash | 1;
}

static bool exhaust_is_new(uint64_t path)
{
	for (size_t i = path % PATHS, tries = 0; tries < PATHS; tries++, i = (i + 1) % PATHS) {
		if (paths[i] == path)
			return false;
		if (!paths[i]) {
			paths[i] = path;
			return true;
		}
	}
	return false;
}

static void exhaust_note(unsigned long number)
{
	uint64_t path = exhaust_path();
	char line[32];

	pthread_mutex_lock(&lock);
	if (exhaust_is_new(path))
		(void)!write(count_fd, line, (size_t)snprintf(line, sizeof(line), "%lu\n", number));
	pthread_mutex_unlock(&lock);
}

/* For breakpoints. */
static __attribute__((noinline)) void exhaust_failed(void)
{
	errno = ENOMEM;
}

/* Helper processes are children of the program: they are as good as others. */
static bool exhaust_fails(void)
{
	unsigned long number;
	bool fails;

	if (!is_begun || is_busy || getpid() != program)
		return false;
	number = __atomic_add_fetch(&next, 1, __ATOMIC_RELAXED);
	is_busy = true;
	if (count_fd >= 0)
		exhaust_note(number);
	is_busy = false;
	fails = number == at || (every && number % every == 0) || (from && number >= from);
	if (fails)
		exhaust_failed();
	return fails;
}

void *malloc(size_t size)
{
	return exhaust_fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return exhaust_fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	return exhaust_fails() ? NULL : __libc_realloc(old, size);
}

void *reallocarray(void *old, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, bytes);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return exhaust_fails() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size)
{
	*result = aligned_alloc(alignment, size);
	return *result ? 0 : ENOMEM;
}

/* The C library's own would allocate inside of it. */
char *strdup(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = malloc(size);

	return copy ? memcpy(copy, text, size) : NULL;
}

char *strndup(const char *text, size_t most)
{
	size_t size = strnlen(text, most);
	char *copy = malloc(size + 1);

	if (!copy)
		return NULL;
	copy[size] = 0;
	return memcpy(copy, text, size);
}
