/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_TOTALS_H
#define SIDE_RECORDER_CORE_TOTALS_H

/*
 * Sums of processes that have ended and are forgotten.
 *
 * totals_read() and totals_reopen(): main thread, before the drain thread runs. totals_end(): drain thread, without the session's lock; the
 * caller moves `ended_next` to `ended` under the lock. totals_add_channels(): any thread; of a process that lives, with the lock.
 */
#include <stdbool.h>
#include <stdint.h>

#include "recorder/core/session.h"

struct instance;

#define TOTALS_FILE "totals"

struct totals {
	uint64_t processes;
	uint64_t recorded, lost, bytes, unwritten, overwritten;
	struct {
		uint64_t recorded, lost, bytes;
	} channels[SESSION_CHANNELS_MAX];
};

/* The drain thread's, when it runs. */
struct session_totals {
	struct totals ended;  /* of instances that are CLOSED (lock) */
	struct totals next;   /* with the instance that will be CLOSED next */
	struct totals before; /* as the state directory has it */
	char *last;
	bool unnoted; /* was reported */
};

/* What an earlier recorder has left. */
void totals_read(struct session *session);
/* A folder that is not complete, though it may be in the sums. */
void totals_reopen(struct session *session, const struct instance *instance);
/* Everything of an instance is written: `ended_next` are the sums with it. `stays`: its folder remains. */
void totals_end(struct session *session, struct instance *instance, bool stays);
/* The channels' figures alone, of any instance. */
void totals_add_channels(const struct session *session, const struct instance *instance,
		struct totals *totals);

#endif
