/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_RECOVERY_COMPRESSED_DUMP_H
#define SIDE_RECORDER_RECOVERY_COMPRESSED_DUMP_H

/*
 * Reads compressed dumps of a machine's memory, as makedumpfile and QEMU write them.
 *
 * Callers: memory-dump.c. Main thread. No lock.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct compressed_dump;

/* Returns NULL, or the reason why it cannot be read. */
const char *compressed_dump_open(int fd, struct compressed_dump **ret_dump);
void compressed_dump_close(struct compressed_dump *dump);
/* Sets *page to the number of the first page from *page on that the dump contains. False: no more. */
bool compressed_dump_find(struct compressed_dump *dump, uint64_t *page);
/* Returns 0, or -EIO if the dump does not contain this memory. */
int compressed_dump_read(struct compressed_dump *dump, uint64_t physical, void *to, size_t size);

#endif
