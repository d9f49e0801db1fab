/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes of programs that continue after a signal and after a part.
 *
 * Code in traced programs uses base/inside/raw-io.h instead: it calls the kernel, not the C
 * library's functions, which may be traced. Results below 0 are negative errno.
 */
#ifndef SIDE_BASE_IO_H
#define SIDE_BASE_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Write all of it. A descriptor that accepts nothing fails with -EIO. What was written before a
 * failure remains written.
 */
int io_write_all(int fd, const void *bytes, size_t size);
int io_write_all_at(int fd, const void *bytes, size_t size, uint64_t offset);

/* Read until the buffer is full or the file ends. Returns the number of bytes. */
ssize_t io_read(int fd, void *ret_bytes, size_t size);
ssize_t io_read_at(int fd, void *ret_bytes, size_t size, uint64_t offset);

/* Read exactly this many bytes, or fail: -ENODATA if the file ends before. */
int io_read_exactly_at(int fd, void *ret_bytes, size_t size, uint64_t offset);

/* Append the first `size` bytes of `from` to `to`. -ENODATA if `from` ends before. */
int io_copy(int from, int to, uint64_t size);

/*
 * Read a file as text: what fits, and a zero byte behind it, which is also there after a failure.
 * Returns the number of bytes without it. For files of the kernel, which have no size. `capacity`
 * is at least 1.
 */
ssize_t io_read_text(const char *path, char *ret_text, size_t capacity);
/* The same for a descriptor, from its position on. */
ssize_t io_read_text_fd(int fd, char *ret_text, size_t capacity);

/*
 * Read a descriptor to its end into allocated memory, with a zero byte behind the bytes. Fails with
 * -EFBIG if there are more than `limit` bytes. The caller frees *ret_bytes, which is NULL after a
 * failure.
 */
int io_read_whole(int fd, size_t limit, char **ret_bytes, size_t *ret_size);

#endif /* SIDE_BASE_IO_H */
