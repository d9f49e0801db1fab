/* SPDX-License-Identifier: MIT */
/*
 * System calls without the C library's named functions, for code that runs in traced programs.
 *
 * A traced program may run under our own wrappers of close(), mmap() and others. The recorder's own
 * calls must neither appear in the trace nor recurse. These functions return the result or a
 * negative errno. They change errno, which the recorder saves around its work.
 */
#ifndef SIDE_BASE_INSIDE_RAW_H
#define SIDE_BASE_INSIDE_RAW_H

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline long raw_result(long result)
{
	return result == -1 ? -errno : result;
}

#define raw_call(...) raw_result(syscall(__VA_ARGS__))

static inline int raw_close(int fd)
{
	return (int)raw_call(SYS_close, fd);
}

/*
 * ThreadSanitizer must see that an address is mapped anew. It intercepts the library's functions
 * only: a build with it calls them.
 */
#if defined(__SANITIZE_THREAD__)
#define RAW_IS_WATCHED
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RAW_IS_WATCHED
#endif
#endif

#ifdef RAW_IS_WATCHED
#include <sys/mman.h>

static inline void *raw_mmap(void *at, size_t size, int protection, int flags, int fd)
{
	void *result = mmap(at, size, protection, flags, fd, 0);

	return result == MAP_FAILED ? NULL : result;
}

static inline int raw_munmap(void *at, size_t size)
{
	return munmap(at, size) ? -errno : 0;
}
#else
static inline void *raw_mmap(void *at, size_t size, int protection, int flags, int fd)
{
	long result;

#ifdef SYS_mmap2
	result = raw_call(SYS_mmap2, at, size, protection, flags, fd, 0L);
#else
	result = raw_call(SYS_mmap, at, size, protection, flags, fd, 0L);
#endif
	if (result < 0 && result > -4096)
		return NULL;
	return (void *)result;
}

static inline int raw_munmap(void *at, size_t size)
{
	return (int)raw_call(SYS_munmap, at, size);
}
#endif

#endif /* SIDE_BASE_INSIDE_RAW_H */
