/* SPDX-License-Identifier: MIT */
/*
 * Calls the hook of a tracer before the next event of an armed process, enabled or not.
 *
 * Arming sets one bit in the enabled word of every registered event. The bit is one of the highest
 * byte, which dispatch reads anyway, so a process that is not armed has no extra cost.
 *
 *	DISARMED -> ARMED	side_tracer_arm(): the hook, then the bits (those of later batches
 *				when they are registered)
 *	ARMED -> BUSY		the first thread that calls an event and may run the hook does so.
 *				Other threads wait for it, for a limited time, and then continue
 *				with their event
 *	BUSY -> ARMED		the hook returns and has not disarmed
 *	any -> DISARMED		side_tracer_disarm(): no hook, then the bits are cleared
 *
 * A stale bit only makes its event take the slow path once. A kill leaves no state outside the
 * process.
 */
#ifndef SIDE_LIBSIDE_ARMED_H
#define SIDE_LIBSIDE_ARMED_H

#include <stdint.h>

#include "callbacks.h"
#include "functions.h"

/* The lowest of the bits that are reserved for shared tracers. */
#define SIDE_ENABLED_ARMED ((uintptr_t)0x01 << SIDE_ENABLED_SHIFT)

/* A batch is registered or unregistered. With the lock of the registry held. */
void armed_batch_comes(struct side_event_description **events, uint32_t nr_events);
void armed_batch_goes(struct side_event_description **events, uint32_t nr_events);

/*
 * Call the hook if the process is armed: for an event with the bit, or a new state.
 * Async-signal-safe.
 */
void armed_call(void);

void armed_after_fork_in_child(void);

#endif /* SIDE_LIBSIDE_ARMED_H */
