/* SPDX-License-Identifier: MIT */
/*
 * Callback arrays of events: what dispatch walks, what tracers change.
 */
#ifndef SIDE_LIBSIDE_CALLBACKS_H
#define SIDE_LIBSIDE_CALLBACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "functions.h"
#include "section.h"

/* Keys (tracers get theirs from SIDE_KEY_FIRST on). */
enum {
	SIDE_KEY_MATCH_ALL = 0,
	SIDE_KEY_USER_EVENTS = 1,
	SIDE_KEY_PTRACE = 2,
	SIDE_KEY_FIRST = 8,
};

static inline bool key_is_reserved(uint64_t key)
{
	return key != SIDE_KEY_MATCH_ALL && key < SIDE_KEY_FIRST;
}

/* The state of a description this library understands, or NULL. */
struct side_event_state_0 *event_state(struct side_event_description *desc);

/* Drop all callbacks of the events, without waiting.  With the registry's lock held. */
void callbacks_drop(struct side_event_description **events, uint32_t nr_events);

/*
 * Free the retired arrays that nobody walks any more; starts a grace period for the others when
 * they have become many.  Never waits.  With the registry's lock held.
 */
void callbacks_reclaim(void);

/* Has side_tracer_sandbox_begins() been called?  Then events make no system calls. */
bool callbacks_in_sandbox(void);

#endif /* SIDE_LIBSIDE_CALLBACKS_H */
