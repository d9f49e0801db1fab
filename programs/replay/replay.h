/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_REPLAY_REPLAY_H
#define PROGRAMS_REPLAY_REPLAY_H

/* What side-uprobes and side-kernel share: both say as events of theirs what the kernel has seen of others. */

#include <side/trace.h>

#include "ring/ring.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* agent.c: from now on events of this thread happened then and there (ring/ring.h). NULL: there is no agent. */
typedef void agent_replay_fn(const struct ring_replay *replay);
agent_replay_fn *agent_find_replay(void);
/* Records of this event that the kernel had no room for are losses of those who record it. Not named: it was any of ours. */
typedef void agent_lost_fn(const struct side_event_description *event, bool named, uint32_t cpu,
		uint64_t count);
agent_lost_fn *agent_find_lost(void);
/* Called in another thread before the agent changes what is recorded, and after it. */
void agent_notify_changes(void (*notify)(bool after));

/* Before a number of records: as exact as can be for what happened lately. */
void clock_check(void);
uint64_t clock_ticks(uint64_t monotonic_ns);

/*
 * change.c: a change waits until change_done() has been called, so that hits from before it are said as what they were, and places are
 * watched when whoever asked for it goes on.
 */
enum uprobes_change_state { CHANGE_NONE, CHANGE_BEGINS, CHANGE_ENDS };
/* In the thread that will answer, and that gets the signal, which it blocks, when there is one. */
#define CHANGE_SIGNAL SIGUSR1
void change_open(void);
enum uprobes_change_state change_take(void);
void change_done(void);

#endif /* PROGRAMS_REPLAY_REPLAY_H */
