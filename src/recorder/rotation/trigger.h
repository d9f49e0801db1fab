/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_ROTATION_TRIGGER_H
#define SIDE_RECORDER_ROTATION_TRIGGER_H

/*
 * Triggers of snapshots: events, rates of events and crashes.
 *
 * trigger_take() and trigger_free(): main thread, while the drain thread does not run. All others:
 * drain thread, without the session's lock, which they take.
 */
#include <stdbool.h>
#include <stdint.h>

#include "recorder/core/session.h"

struct instance;

/*
 * Drain thread only, except `crash`, which is constant, and `blind`, which only the main thread
 * uses.
 */
struct triggers {
	struct trigger *list;
	uint32_t nr;
	bool crash; /* one of the triggers is "crash" */
	bool blind; /* a message reported that crashes cannot be detected */
	bool exhausted;
	bool holding; /* an ended process keeps its rings until a snapshot is made */
	uint32_t max, made;
	uint64_t last_poll, next;
};

int trigger_take(struct session *session, const struct session_options *options,
		struct error *error);
void trigger_free(struct session *session);
/* Checks all triggers and makes a snapshot if one is due. Call it before rings are freed. */
void trigger_turn(struct session *session, struct instance *active, bool last);
/* Counts the events of an instance for the last time. */
void trigger_count(struct session *session, struct instance *instance);
/* True if an ended process must keep its rings until a snapshot is made. */
bool trigger_holds(struct session *session, struct instance *instance);

#endif
