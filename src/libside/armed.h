/* SPDX-License-Identifier: MIT */
/*
 * An armed process: the next call of any event, enabled or not, goes through a tracer's hook first.
 *
 * Arming sets one bit in the enabled word of every registered event.  The bit is one of the highest
 * byte, which dispatch looks at anyhow, so that a process that is not armed pays nothing for it.
 *
 *	DISARMED -> ARMED    side_tracer_arm(): the hook, then the bits (those of later batches as
 *	                     they come)
 *	ARMED -> BUSY        the first thread that calls an event and may; it runs the hook.  Others wait
 *	                     for it, for a limited time, and then go on with their event
 *	BUSY -> ARMED        the hook returns and has not disarmed
 *	any -> DISARMED      side_tracer_disarm(): no hook, then the bits are cleared
 *
 * A stale bit costs a detour and does no harm.  A kill leaves nothing behind.
 */
#ifndef SIDE_LIBSIDE_ARMED_H
#define SIDE_LIBSIDE_ARMED_H

#include <stdint.h>

#include "callbacks.h"
#include "functions.h"

/* The lowest of the bits that are set aside for shared tracers. */
#define SIDE_ENABLED_ARMED ((uintptr_t)0x01 << SIDE_ENABLED_SHIFT)

/* A batch comes or goes; with the registry's lock held. */
void armed_batch_comes(struct side_event_description **events, uint32_t nr_events);
void armed_batch_goes(struct side_event_description **events, uint32_t nr_events);

/* An event is called whose bit is set, or a state is registered.  Async-signal-safe. */
void armed_call(void);

void armed_after_fork_in_child(void);

#endif /* SIDE_LIBSIDE_ARMED_H */
