/* SPDX-License-Identifier: MIT */
/* Reads bytes of a file. */
#include "elf/file.h"

#include <errno.h>

#include "base/io.h"

int file_read(int fd, uint64_t offset, void *to, size_t size)
{
	int ret = io_read_exactly_at(fd, to, size, offset);

	return ret == -ENODATA ? -EFAULT : ret;
}
