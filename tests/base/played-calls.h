/* SPDX-License-Identifier: MIT */
/*
 * System calls that a test can fail, or limit to a few bytes: linked with base_wraps of
 * meson.build.
 */
#ifndef TESTS_BASE_PLAYED_CALLS_H
#define TESTS_BASE_PLAYED_CALLS_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/types.h>

static unsigned int played_interrupts; /* the first calls, this many, end with EINTR */
static unsigned int played_before;     /* calls that succeed before played_error */
static int played_error;               /* 0: no error */
static size_t played_most = SIZE_MAX;  /* bytes that one call moves at most */

static inline int played_fails(void)
{
	if (played_interrupts) {
		played_interrupts--;
		errno = EINTR;
		return 1;
	}
	if (!played_error || played_before--)
		return 0;
	played_before = 0;
	errno = played_error;
	return 1;
}

static inline void played_reset(void)
{
	played_interrupts = played_before = 0;
	played_error = 0;
	played_most = SIZE_MAX;
}

static inline size_t played_size(size_t size)
{
	return size < played_most ? size : played_most;
}

#define PLAYED_CALL(name, buffer)                                                         \
	ssize_t __real_##name(int fd, buffer bytes, size_t size);                         \
	ssize_t __wrap_##name(int fd, buffer bytes, size_t size);                         \
	ssize_t __wrap_##name(int fd, buffer bytes, size_t size)                          \
	{                                                                                 \
		return played_fails() ? -1 : __real_##name(fd, bytes, played_size(size)); \
	}
#define PLAYED_CALL_AT(name, buffer)                                                              \
	ssize_t __real_##name(int fd, buffer bytes, size_t size, int64_t offset);                 \
	ssize_t __wrap_##name(int fd, buffer bytes, size_t size, int64_t offset);                 \
	ssize_t __wrap_##name(int fd, buffer bytes, size_t size, int64_t offset)                  \
	{                                                                                         \
		return played_fails() ? -1 : __real_##name(fd, bytes, played_size(size), offset); \
	}

PLAYED_CALL(read, void *)
PLAYED_CALL(write, const void *)
PLAYED_CALL_AT(pread64, void *)
PLAYED_CALL_AT(pwrite64, const void *)

static unsigned int played_allocations = -1u; /* number of allocations that succeed */
void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size)
{
	return played_allocations && played_allocations-- ? __real_realloc(old, size) : NULL;
}

ssize_t __real_sendmsg(int socket, const struct msghdr *header, int flags);
ssize_t __wrap_sendmsg(int socket, const struct msghdr *header, int flags);
ssize_t __wrap_sendmsg(int socket, const struct msghdr *header, int flags)
{
	return played_fails() ? -1 : __real_sendmsg(socket, header, flags);
}

ssize_t __real_recvmsg(int socket, struct msghdr *header, int flags);
ssize_t __wrap_recvmsg(int socket, struct msghdr *header, int flags);
ssize_t __wrap_recvmsg(int socket, struct msghdr *header, int flags)
{
	return played_fails() ? -1 : __real_recvmsg(socket, header, flags);
}

#endif /* TESTS_BASE_PLAYED_CALLS_H */
