/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_PROBE_TRACE_KERNEL_H
#define PROGRAMS_SIDE_PROBE_TRACE_KERNEL_H

/* Of a program that is started, the places that the kernel watches (kernel.h): side-uprobes is there before it executes anything. */

#include "recorder/core/session.h"

#include <stddef.h>
#include <sys/types.h>

struct trace_kernel {
	const int *tables;
	size_t nr;
	struct session_helper helper;
	pid_t child; /* 0: it has ended, or was never there */
	int ready;
};

/* For the options of the session, as long as both stay. */
const struct session_helper *trace_kernel_helper(
		struct trace_kernel *kernel, const int *tables, size_t nr);

#endif /* PROGRAMS_SIDE_PROBE_TRACE_KERNEL_H */
