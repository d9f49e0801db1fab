/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_CONTROL_STARTER_H
#define SIDE_TRACERS_AGENT_CORE_CONTROL_STARTER_H

/*
 * Tasks beside the calling thread, which start the control thread from an event in any context.
 * Caller: control-thread.c.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Where the loader may be asked, before the first task. `thread_data`: bytes of the thread-local
 * data of all loaded objects, in whole pages.
 */
void control_starter_prepare(size_t thread_data);
/* In a forked child, which has one thread. */
void control_starter_forked(void);
/*
 * Run `work`, which may wait and allocate, in a task beside the caller, which does neither. Any
 * context. Returns the task id; -ENOSYS: not possible here.
 */
int control_starter_run(void (*work)(void));
/*
 * The same for work that calls nothing of the program's, until it has ended. False: it has not
 * ended by then, or cannot begin.
 */
bool control_starter_complete(void (*work)(void), uint64_t until);
/* A futex (not a private one) that is 0 when no such task exists. */
const uint32_t *control_starter_running(void);
/* Call `function` on a stack of its own. Any context, before the first task. */
void control_starter_call(void (*function)(void));

#endif
