/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_RECOVERY_MEMORY_DUMP_H
#define SIDE_RECORDER_RECOVERY_MEMORY_DUMP_H

/*
 * Reads the physical memory of a machine from a dump: an ELF file, as /proc/vmcore and QEMU's
 * dump-guest-memory write it, or a compressed file of makedumpfile or QEMU.
 *
 * Callers: kernel-dump.c and page-tables.c. Main thread. No lock.
 */
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEMORY_DUMP_PAGE 4096u

struct memory_dump;

/* True if this ELF file of type ET_CORE is a dump of a machine, not of a process. */
bool memory_dump_is_elf(Elf *elf);
/* True if the file begins as a compressed dump. */
bool memory_dump_is_compressed(int fd);
/*
 * Opens a dump that one of these functions has recognized; NULL for `elf`: a compressed one. Returns
 * NULL, or the reason why it cannot be read.
 */
const char *memory_dump_open(int fd, Elf *elf, uint64_t file_size, struct memory_dump **ret_dump);
void memory_dump_close(struct memory_dump *dump);
/* Returns 0, or a negative errno: -EIO if the dump does not contain this memory. */
int memory_dump_read(struct memory_dump *dump, uint64_t physical, void *to, size_t size);
/* Calls visit() for each page of the dump, until it returns a value other than 0. */
typedef int memory_dump_visit(void *user, uint64_t physical, const unsigned char *page);
int memory_dump_walk(struct memory_dump *dump, memory_dump_visit *visit, void *user);

#endif
