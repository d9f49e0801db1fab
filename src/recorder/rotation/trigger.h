/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_ROTATION_TRIGGER_H
#define SIDE_RECORDER_ROTATION_TRIGGER_H

/*
 * Triggers: events, rates of events and crashes that make snapshots.
 *
 * trigger_take() and trigger_free(): main thread, while the drain thread does not run. All others: drain thread, without the session's lock,
 * which they take.
 */
#include <stdbool.h>
#include <stdint.h>

#include "recorder/core/session.h"

struct instance;

/* The drain thread's, but `crash`, which does not change, and the main thread's `blind`. */
struct triggers {
	struct trigger *list;
	uint32_t nr;
	bool crash; /* one of them is that */
	bool blind; /* it was reported that crashes cannot be seen */
	bool exhausted;
	bool holding; /* rings of a process that has ended, until there is a snapshot */
	uint32_t max, made;
	uint64_t looked, next;
};

int trigger_take(struct session *session, const struct session_options *options,
		struct session_error *error);
void trigger_free(struct session *session);
/* Check, and make a snapshot if there is a reason, before rings are given back. */
void trigger_turn(struct session *session, struct instance *active, bool last);
/* The last check of an instance. */
void trigger_count(struct session *session, struct instance *instance);
/* Must the rings of a process that has ended stay until there is a snapshot? */
bool trigger_holds(struct session *session, struct instance *instance);

#endif
