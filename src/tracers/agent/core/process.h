/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_PROCESS_H
#define SIDE_TRACERS_AGENT_CORE_PROCESS_H

/*
 * This process as an instance of each session: the start, forks, the end.
 *
 * agent_prepare() and agent_start() are called before main() or in the thread of `side attach`,
 * where malloc() may be called. agent_list_only() may be called in any context.
 */
#include <stdbool.h>

/* Before the first update: set up what all sessions need. May be repeated. */
int agent_prepare(void);
/*
 * Join the sessions of SIDE_AGENT_SOCKET. 0 or a negative errno, when nothing is recorded. Without
 * the event lock.
 */
int agent_start(const char *paths);
/* For tests: the program is as before, its rings are unmapped. Without the event lock. */
void agent_stop(void);
bool agent_list_only(void);
/* Call this function when the process exits, before the destructors of libraries. */
void agent_process_on_exit(void (*call)(void));

#endif
