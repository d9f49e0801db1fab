/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_START_H
#define SIDE_TRACERS_AGENT_CORE_START_H

/*
 * Names in the environment that the constructor reads, for the programs that set them. No other
 * part calls the constructor.
 */

/* In the environment of the program that emits the kernel's events, and of no other. */
#define AGENT_KERNEL_ENV "SIDE_AGENT_KERNEL"
/*
 * In the environment of a program whose events one session alone records: its name. "": only the
 * session of the program that started it, and none of the daemon's.
 */
#define AGENT_SESSION_ENV "SIDE_AGENT_SESSION"

#endif
