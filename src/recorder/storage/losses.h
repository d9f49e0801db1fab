/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_STORAGE_LOSSES_H
#define SIDE_RECORDER_STORAGE_LOSSES_H

/*
 * Losses: records that rings refused, by ring, event and reason, and bytes that found no space on the disk.
 *
 * Drain thread, or a thread that alone has the instance; without the session's lock. losses_reason() may be called by any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctf/ctf.h"
#include "ring/ring.h"

struct instance;
struct session;

#define LIMIT_LOSSES 16384 /* counters of one instance, by ring, event and reason */

/* The meaning of a counter of such a slot, for people. */
const char *losses_reason(const struct instance *instance, uint32_t slot, enum ring_loss reason);
/* Into the trace and the summary, at the end. False: the disk is full, call again. */
bool losses_end(struct session *session, struct instance *instance);
/* Into the trace, when a chunk ends. */
void losses_note(struct session *session, struct instance *instance);
/* What journal_write_losses() was given by an earlier recorder. */
void losses_read_reported(struct instance *instance, const void *bytes, size_t size);
/* Into a snapshot, as they are now. */
int losses_write(struct session *session, struct instance *instance, struct ctf_writer *writer,
		uint64_t ticks, struct ctf_error *error);

#endif
