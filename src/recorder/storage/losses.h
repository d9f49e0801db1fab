/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_STORAGE_LOSSES_H
#define SIDE_RECORDER_STORAGE_LOSSES_H

/*
 * Losses: records that rings discarded, by ring, event and reason, and bytes that could not be
 * written to the disk.
 *
 * Drain thread, or the only thread that uses the instance; without the session's lock.
 * losses_reason(): any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctf/ctf.h"
#include "ring/ring.h"

struct instance;
struct session;

#define LIMIT_LOSSES 16384 /* counters of one instance: one for each ring, event and reason */

/* Returns the text for the counter of this slot and reason. */
const char *losses_reason(const struct instance *instance, uint32_t slot, enum ring_loss reason);
/*
 * Writes the losses to the trace and the summary, at the end. Returns false if the disk is full;
 * then call it again.
 */
bool losses_end(struct session *session, struct instance *instance);
/* Writes the losses to the trace when a chunk ends. */
void losses_note(struct session *session, struct instance *instance);
/* Writes the current losses to a snapshot. */
int losses_write(struct session *session, struct instance *instance, struct ctf_writer *writer,
		uint64_t ticks, struct error *error);

#endif
