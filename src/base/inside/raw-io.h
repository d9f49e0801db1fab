/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes of code in traced programs, without the C library's named functions, which may
 * be traced.
 *
 * They continue after a signal and after a part, and return a negative errno on failure.
 * Async-signal-safe except for errno, which the caller saves.
 */
#ifndef SIDE_BASE_INSIDE_RAW_IO_H
#define SIDE_BASE_INSIDE_RAW_IO_H

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "base/inside/raw.h"

/*
 * Write all of it. A descriptor that accepts nothing fails with -EIO. What was written before a
 * failure remains written.
 */
static inline int raw_io_write_all(int fd, const void *bytes, size_t size)
{
	const char *from = bytes;

	while (size) {
		long done = raw_call(SYS_write, fd, from, size);

		if (done == -EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? (int)done : -EIO;
		from += done;
		size -= (size_t)done;
	}
	return 0;
}

/* Read until the buffer is full or the file ends. Returns the number of bytes. */
static inline long raw_io_read(int fd, void *ret_bytes, size_t size)
{
	size_t filled = 0;

	while (filled < size) {
		long got = raw_call(SYS_read, fd, (char *)ret_bytes + filled, size - filled);

		if (got == -EINTR)
			continue;
		if (got < 0)
			return got;
		if (!got)
			break;
		filled += (size_t)got;
	}
	return (long)filled;
}

/* The same from the beginning of the file, without moving the descriptor's position. */
static inline long raw_io_read_from_start(int fd, void *ret_bytes, size_t size)
{
	size_t filled = 0;

	while (filled < size) {
		/*
		 * An offset of 64 bits takes two registers on some machines of 32 bits: a long is
		 * enough for a buffer.
		 */
		long got = raw_call(SYS_pread64, fd, (char *)ret_bytes + filled, size - filled,
				(long)filled);

		if (got == -EINTR)
			continue;
		if (got < 0)
			return got;
		if (!got)
			break;
		filled += (size_t)got;
	}
	return (long)filled;
}

#endif /* SIDE_BASE_INSIDE_RAW_IO_H */
