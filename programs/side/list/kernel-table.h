/* SPDX-License-Identifier: MIT */
/* Reads the state of libside-kernel.so in another process (side/kernel.h) from its memory. */
#ifndef PROGRAMS_SIDE_LIST_KERNEL_TABLE_H
#define PROGRAMS_SIDE_LIST_KERNEL_TABLE_H

#include <sys/types.h>

#include <side/kernel.h>

struct kernel_table_reader {
	/* Called for each event of the process. All texts are terminated. */
	void (*event)(void *user, pid_t pid, const struct side_kernel_event_0 *event);
	/* Called if the library cannot pass events to the kernel although the user requested it. */
	void (*problem)(void *user, pid_t pid, const char *problem, const char *hint);
	void *user;
};

/*
 * Returns 0, -ENOENT if the process has no such library, or a negative errno if its memory cannot
 * be read.
 */
int kernel_table_read(pid_t pid, const struct kernel_table_reader *reader);

#endif /* PROGRAMS_SIDE_LIST_KERNEL_TABLE_H */
