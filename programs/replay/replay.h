/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_REPLAY_REPLAY_H
#define PROGRAMS_REPLAY_REPLAY_H

/*
 * What side-uprobes and side-kernel share: both emit as their own events what the kernel observed
 * in other processes.
 */

#include <side/trace.h>

#include "ring/ring.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * agent.c: the following events of this thread get this time and CPU (ring/ring.h). NULL: no agent
 * is loaded.
 */
typedef void agent_replay_fn(const struct ring_replay *replay);
agent_replay_fn *agent_find_replay(void);
/*
 * Counts records of this event that the kernel dropped as lost events of the sessions that record
 * it. `named` false: any event of this program.
 */
typedef void agent_lost_fn(const struct side_event_description *event, bool named, uint32_t cpu,
		uint64_t count);
agent_lost_fn *agent_find_lost(void);
/*
 * The handler is called in another thread before the agent changes the recorded events, and after
 * it.
 */
void agent_notify_changes(void (*notify)(bool after));

/*
 * Samples the clocks. Call it before each batch of records, so that recent times are converted
 * exactly.
 */
void clock_check(void);
uint64_t clock_ticks(uint64_t monotonic_ns);

/*
 * change.c: a change waits until change_done() is called. Earlier hits are then emitted as the
 * events that they were, and the sites are probed when the process that requested the change
 * continues.
 */
enum change_state { CHANGE_NONE, CHANGE_BEGINS, CHANGE_ENDS };
/*
 * Call change_open() in the thread that handles changes. That thread has the signal blocked and
 * receives it for each change.
 */
#define CHANGE_SIGNAL SIGUSR1
void change_open(void);
enum change_state change_get(void);
void change_done(void);

#endif /* PROGRAMS_REPLAY_REPLAY_H */
