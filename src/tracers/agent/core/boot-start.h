/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_BOOT_START_H
#define SIDE_TRACERS_AGENT_CORE_BOOT_START_H

/* The sessions of the static configuration that SIDE_BOOT names, at the start of the process. */

/*
 * Join them. In the constructor, before other threads exist. 0, or a negative errno when there is
 * no such session.
 */
int agent_boot_start(void);

#endif
