/* SPDX-License-Identifier: MIT */
/* Reads bytes of a file. */
#ifndef SIDE_ELF_FILE_H
#define SIDE_ELF_FILE_H

#include <stddef.h>
#include <stdint.h>

/* Read @size bytes from @offset on. Returns 0, -EFAULT if the file ends before them, or the error
   of a read. */
int file_read(int fd, uint64_t offset, void *to, size_t size);

#endif /* SIDE_ELF_FILE_H */
