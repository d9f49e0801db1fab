/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_CONTROL_THREAD_H
#define SIDE_TRACERS_AGENT_CORE_CONTROL_THREAD_H

/*
 * Control by a thread: the armed process, and the thread that its next event starts.
 *
 * Functions need the turn (control-state.h) unless they state otherwise.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Get from the loader what the thread needs. At the begin of the arrival and of each attach,
 * without the turn, where the loader may be asked. A forked child never asks it, because another
 * thread of its parent may have held its lock.
 */
void control_thread_prepare(void);
bool control_thread_is_prepared(void);

/* The next event starts the thread. */
void control_arm(void);
/*
 * Mode signal, with libside's event lock: the next event outside of handlers asks the daemon where
 * it may wait.
 */
void control_arm_once(void);
/* The thread that arrives: note which signals it blocks outside of handlers. */
void control_remember_mask(void);
/* In a forked child, which has one thread. */
void control_thread_forked(void);
/*
 * Wait until the thread that an event has had started sleeps, 100 ms at most. Before a fork: while
 * it is created, the allocator's lock may be held, and would stay locked in the child. Before a
 * sandbox: its system calls would end the program. Without the turn.
 */
void control_thread_settle(void);

/* Start the thread now, without an event. In a thread that may create threads. */
int control_thread_start(void);
/*
 * The same in an armed process, which then does not wait for an event. Does nothing if the thread
 * exists.
 */
void control_thread_wake(void);
/* End the thread, when the mode asks for that. */
void control_thread_end(void);
/* Any context. */
bool control_thread_is_connected(void);
/* Any context: how often the thread has connected to a daemon. */
uint32_t control_thread_greetings(void);

#endif
