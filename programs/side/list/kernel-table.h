/* SPDX-License-Identifier: MIT */
/* What libside-kernel.so in a process says of itself (side/kernel.h), read from its memory. */
#ifndef PROGRAMS_SIDE_LIST_KERNEL_TABLE_H
#define PROGRAMS_SIDE_LIST_KERNEL_TABLE_H

#include <sys/types.h>

#include <side/kernel.h>

struct kernel_table_reader {
	/* An event of the process, with its texts ended. */
	void (*event)(void *user, pid_t pid, const struct side_kernel_event_0 *event);
	/* Why it gives no events to the kernel, though it was asked to. */
	void (*problem)(void *user, pid_t pid, const char *problem, const char *hint);
	void *user;
};

/* 0; -ENOENT: the process has no such library; or why it cannot be read. */
int kernel_table_read(pid_t pid, const struct kernel_table_reader *reader);

#endif /* PROGRAMS_SIDE_LIST_KERNEL_TABLE_H */
