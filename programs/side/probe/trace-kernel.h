/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_PROBE_TRACE_KERNEL_H
#define PROGRAMS_SIDE_PROBE_TRACE_KERNEL_H

/*
 * Let the kernel watch sites (kernel.h) of a program that side starts: side-uprobes is ready before
 * the program executes anything.
 */

#include "recorder/core/session.h"

#include <stddef.h>
#include <sys/types.h>

struct trace_kernel {
	const int *tables;
	size_t nr;
	struct session_helper helper;
	pid_t child; /* 0: it has ended, or was never started */
	int ready;
};

/* Returns the helper for the options of the session. The options and `kernel` must stay valid. */
const struct session_helper *trace_kernel_helper(
		struct trace_kernel *kernel, const int *tables, size_t nr);

#endif /* PROGRAMS_SIDE_PROBE_TRACE_KERNEL_H */
