/* SPDX-License-Identifier: MIT */
/* Bytes of a file. */
#include "elf/file.h"

#include <errno.h>
#include <unistd.h>

int file_read(int fd, uint64_t offset, void *to, size_t size)
{
	while (size) {
		ssize_t got = pread(fd, to, size, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EFAULT;
		to = (char *)to + got;
		offset += (uint64_t)got;
		size -= (size_t)got;
	}
	return 0;
}
