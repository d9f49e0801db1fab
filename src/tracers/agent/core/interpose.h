/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_INTERPOSE_H
#define SIDE_TRACERS_AGENT_CORE_INTERPOSE_H

/*
 * The program's calls of functions that the agent watches, redirected to the agent also if it was
 * not preloaded.
 *
 * Callers: the constructor (start.c) and `side attach` (attach.c), where the loader may be asked
 * and without any lock.
 */

void agent_interpose(void);
/* The same for calls that execute a program, once exec_carry() has been called. */
void agent_interpose_execs(void);

#endif
