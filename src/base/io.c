/* SPDX-License-Identifier: MIT */
/* Reads and writes of programs that continue after a signal and after a part. */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#define IO_WHOLE_START 4096u
#define IO_COPY_PIECE 65536u

int io_write_all(int fd, const void *bytes, size_t size)
{
	const char *from = bytes;

	while (size) {
		ssize_t done = write(fd, from, size);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -EIO;
		from += done;
		size -= (size_t)done;
	}
	return 0;
}

int io_write_all_at(int fd, const void *bytes, size_t size, uint64_t offset)
{
	const char *from = bytes;

	while (size) {
		ssize_t done = pwrite(fd, from, size, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -EIO;
		from += done;
		offset += (uint64_t)done;
		size -= (size_t)done;
	}
	return 0;
}

ssize_t io_read(int fd, void *ret_bytes, size_t size)
{
	size_t filled = 0;

	while (filled < size) {
		ssize_t got = read(fd, (char *)ret_bytes + filled, size - filled);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		filled += (size_t)got;
	}
	return (ssize_t)filled;
}

ssize_t io_read_at(int fd, void *ret_bytes, size_t size, uint64_t offset)
{
	size_t filled = 0;

	while (filled < size) {
		ssize_t got = pread(fd, (char *)ret_bytes + filled, size - filled,
				(off_t)(offset + filled));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		filled += (size_t)got;
	}
	return (ssize_t)filled;
}

int io_read_exactly_at(int fd, void *ret_bytes, size_t size, uint64_t offset)
{
	ssize_t got = io_read_at(fd, ret_bytes, size, offset);

	if (got < 0)
		return (int)got;
	return (size_t)got == size ? 0 : -ENODATA;
}

int io_copy(int from, int to, uint64_t size)
{
	char bytes[IO_COPY_PIECE];
	uint64_t at = 0;
	int ret = 0;

	while (at < size && !ret) {
		size_t piece = size - at < sizeof(bytes) ? (size_t)(size - at) : sizeof(bytes);

		ret = io_read_exactly_at(from, bytes, piece, at);
		if (!ret)
			ret = io_write_all(to, bytes, piece);
		at += piece;
	}
	return ret;
}

ssize_t io_read_text_fd(int fd, char *ret_text, size_t capacity)
{
	ssize_t got = io_read(fd, ret_text, capacity - 1);

	ret_text[got > 0 ? got : 0] = '\0';
	return got;
}

ssize_t io_read_text(const char *path, char *ret_text, size_t capacity)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -errno : 0;

	ret_text[0] = '\0';
	if (fd < 0)
		return got;
	got = io_read_text_fd(fd, ret_text, capacity);
	close(fd);
	return got;
}

int io_read_whole(int fd, size_t limit, char **ret_bytes, size_t *ret_size)
{
	size_t capacity = 0, size = 0;
	char *bytes = NULL;
	int ret = 0;

	*ret_bytes = NULL;
	*ret_size = 0;
	limit = limit < SSIZE_MAX - 1 ? limit : SSIZE_MAX - 1;
	do {
		char *grown;
		ssize_t got;

		/*
		 * One byte for the end of the text, and one that shows that the file has more than
		 * the limit.
		 */
		capacity = capacity ? capacity * 2 : IO_WHOLE_START;
		capacity = capacity < limit + 2 ? capacity : limit + 2;
		grown = realloc(bytes, capacity);
		if (!grown) {
			ret = -ENOMEM;
			break;
		}
		bytes = grown;
		got = io_read(fd, bytes + size, capacity - 1 - size);
		if (got < 0)
			ret = (int)got;
		else
			size += (size_t)got;
		if (size > limit)
			ret = -EFBIG;
	} while (!ret && size == capacity - 1);
	if (ret) {
		free(bytes);
		return ret;
	}
	bytes[size] = '\0';
	*ret_bytes = bytes;
	*ret_size = size;
	return 0;
}
