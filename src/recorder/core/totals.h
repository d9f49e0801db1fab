/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_TOTALS_H
#define SIDE_RECORDER_CORE_TOTALS_H

/*
 * Sums over processes that have ended and whose instances are freed.
 *
 * totals_read() and totals_reopen(): main thread, before the drain thread runs. totals_end(): drain
 * thread, without the session's lock; the caller moves `next` to `ended` with the lock held.
 * totals_add_channels(): any thread, with the lock held for a live process.
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

/* Drain thread only, while it runs. */
struct session_totals {
	struct totals ended;  /* over CLOSED instances (lock) */
	struct totals next;   /* as `ended`, with the instance that will be CLOSED next */
	struct totals before; /* as stored in the state directory */
	char *last;
	bool unnoted; /* a failed write was reported */
};

/* Reads the sums of an earlier recorder. */
void totals_read(struct session *session);
/* Call for an incomplete folder whose instance the sums may already contain. */
void totals_reopen(struct session *session, const struct instance *instance);
/*
 * Call when everything of an instance is written: `next` then includes it. `stays`: its
 * folder remains.
 */
void totals_end(struct session *session, struct instance *instance, bool stays);
/* Adds only the statistics of the channels of an instance. */
void totals_add_channels(const struct session *session, const struct instance *instance,
		struct totals *totals);

#endif
