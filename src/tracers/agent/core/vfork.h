/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_VFORK_H
#define SIDE_TRACERS_AGENT_CORE_VFORK_H

/*
 * The word of each thread that marks threads which may not use the rings.
 *
 * agent_vforked is 0 in threads of the program; CONTEXT_VFORKED in the child of a vfork(), which
 * runs in its parent's memory, but without its parent's restartable sequences; AGENT_OUR_TASK in a
 * task of the agent, whose calls are not the program's; CONTEXT_SHARES_MEMORY in a thread that
 * shares its thread-local memory with a process. Each thread writes its own word. Any context may
 * read it.
 */
#include "tracers/agent/context/values.h"

#define AGENT_OUR_TASK 2

#endif
