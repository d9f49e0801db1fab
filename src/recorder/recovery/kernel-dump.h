/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_RECOVERY_KERNEL_DUMP_H
#define SIDE_RECORDER_RECOVERY_KERNEL_DUMP_H

/*
 * Finds the recordings of all programs in the dump of a machine.
 *
 * Callers: core-file.c. Main thread. No lock.
 */
#include <libelf.h>
#include <stdint.h>

struct core;

/*
 * Adds all recordings in the file, each with recover_add(). NULL for `elf`: a compressed dump.
 * Returns NULL, or the reason why there is none.
 */
const char *kernel_dump_load(struct core *core, Elf *elf, uint64_t file_size);

#endif
