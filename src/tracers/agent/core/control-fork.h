/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_CONTROL_FORK_H
#define SIDE_TRACERS_AGENT_CORE_CONTROL_FORK_H

/*
 * Control and forks: a child is not forked within a change of sessions, and arrives at the daemon
 * by itself.
 *
 * Callers: control.c installs the handlers; process.c calls the others in a forked child, which has
 * one thread.
 */
#include <stdbool.h>

/* Register the handlers, once. 0 or -ENOMEM. */
int control_fork_install(void);
/* In a forked child, after its sessions are its own. */
void agent_control_forked(void);
/*
 * In a forked child: was no update under way in another thread? Otherwise no data of the sessions
 * can be trusted.
 */
bool agent_control_forked_whole(void);

#endif
