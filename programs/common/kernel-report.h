/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_COMMON_KERNEL_REPORT_H
#define PROGRAMS_COMMON_KERNEL_REPORT_H

/*
 * side-kernel as the command of one recording: it records what the kernel says of the command that it starts, or of all the machine, and
 * ends as that does. `side record` has it do so where a trace of its own would not do: chunks, snapshots, sending.
 *
 *	side-kernel --record FD [OPTION VALUE...] [-- COMMAND [ARGUMENT...]]
 *
 *	--way perf|tracefs  --buffer BYTES  --machine yes  --wait yes
 *	--kernel PATTERN  --kernel-filter EXPRESSION	in their order
 *	--portable yes  --user-events TEXT		what COMMAND's environment had before ours
 *
 * At the end it writes a struct kernel_report to FD. Both programs are of one build.
 */

#include <stdbool.h>
#include <stdint.h>

struct kernel_report {
	int32_t status; /* 0, or why the kernel's events were not recorded, an exit status */
	int32_t pid;
	uint64_t event_classes, events, lost, late, plain;
	char backend[128], why[512];
};

#endif /* PROGRAMS_COMMON_KERNEL_REPORT_H */
