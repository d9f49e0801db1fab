/* SPDX-License-Identifier: MIT */
/* Stores the callbacks of events in arrays, which dispatch reads and tracers replace. */
#ifndef SIDE_LIBSIDE_CALLBACKS_H
#define SIDE_LIBSIDE_CALLBACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "functions.h"
#include "section.h"

/* Returns the state of the description, or NULL if this library does not know its version. */
struct side_event_state_0 *event_state(struct side_event_description *desc);

/*
 * Removes all callbacks of the events without waiting for a grace period. The caller holds the lock
 * of the registry.
 */
void callbacks_drop(struct side_event_description **events, uint32_t nr_events);

/*
 * Free the retired arrays that no thread can read any more. Begins a grace period for the others if
 * there are many. Never waits. Call with the lock of the registry held.
 */
void callbacks_reclaim(void);

/* Whether side_tracer_sandbox_begins() was called. Then events make no system calls. */
bool callbacks_in_sandbox(void);

#endif /* SIDE_LIBSIDE_CALLBACKS_H */
