/* SPDX-License-Identifier: MIT */
/* Arguments and report of side-kernel when `side record` runs it. */
#ifndef PROGRAMS_COMMON_KERNEL_REPORT_H
#define PROGRAMS_COMMON_KERNEL_REPORT_H

/*
 * The interface between `side record` and side-kernel, which records kernel events for one
 * recording. side-kernel records the kernel events of the command that it starts, or of the whole
 * machine, and ends when the command ends. `side record` uses it for chunks, snapshots and sending,
 * where the kernel events cannot be a separate trace.
 *
 *	side-kernel --record FD [OPTION VALUE...] [-- COMMAND [ARGUMENT...]]
 *
 *	--method perf|tracefs  --buffer BYTES  --machine yes  --wait yes
 *	--kernel PATTERN  --kernel-filter EXPRESSION	order matters
 *	--portable yes  --user-events TEXT		the original values in COMMAND's environment
 *
 * At the end it writes a struct kernel_report to FD. Both programs are from one build.
 */

#include <stdbool.h>
#include <stdint.h>

struct kernel_report {
	int32_t status; /* 0, or the exit status of the failure in `why` */
	int32_t pid;
	uint64_t event_classes, events, lost, late, plain;
	char backend[128], why[512];
};

#endif /* PROGRAMS_COMMON_KERNEL_REPORT_H */
