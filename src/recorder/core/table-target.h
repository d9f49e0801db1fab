/* SPDX-License-Identifier: MIT */
/* The programs that get a table of probes. */
#ifndef SIDE_RECORDER_CORE_TABLE_TARGET_H
#define SIDE_RECORDER_CORE_TABLE_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/core/access.h"

struct table_target {
	uint32_t pid; /* this process and the children that it forks from now on; 0: see exe */
	/* session_process_start() of pid: excludes a later process with the same id */
	uint64_t started;
	char *exe; /* each program of this file; NULL (and no pid): all */
	/*
	 * Only processes of the user `access`. A session of a user other than root probes only
	 * processes of its own user in any case.
	 */
	bool of_user;
	/* With a group, also compares it, as the kernel does for ptrace(). */
	struct access access;
};

#endif /* SIDE_RECORDER_CORE_TABLE_TARGET_H */
