/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_STORAGE_JOURNAL_H
#define SIDE_RECORDER_STORAGE_JOURNAL_H

/*
 * The journal of an instance: which records of its rings are in which file.
 *
 * Callers: buffers, trace, losses and recovery. Main thread before the instance is in the list,
 * then the drain thread. No lock.
 */
#include <stddef.h>
#include <stdint.h>

#include "ctf/ctf.h"
#include "recorder/storage/reported-losses.h"

struct instance;
struct session;

#define JOURNAL_FILE "journal"

/* Creates the journal of a new instance, whose channels have their geometry. */
int journal_make(struct instance *instance, int folder);
/* Records the path of the current trace, below the session's output directory. */
int journal_begin_trace(const struct session *session, struct instance *instance, const char *path);
/*
 * Call before the directory of a trace is made: if this recorder is killed, the next one removes
 * the directory if it is empty.
 */
void journal_expect_trace(
		const struct session *session, const struct instance *instance, const char *path);
/*
 * Records that everything up to this position of the ring is in the trace, or counted as unwritten.
 */
int journal_note(struct instance *instance, uint32_t channel, uint32_t ring, uint64_t position);
/* Records that the current trace contains the losses in `losses`, for reported_losses_read_file(). */
int journal_write_losses(const struct session *session, const struct instance *instance,
		const void *losses, size_t size);
/* Records that everything is in the trace. */
int journal_finish(struct instance *instance);
/*
 * Adopts the journal of an earlier recorder: truncates its trace to the length that the rings
 * confirm as written; the remaining records of the rings go to a new trace. Returns 1 if everything
 * was written, 0, or a negative errno.
 */
int journal_adopt(struct session *session, struct instance *instance, int folder,
		struct error *error);
void journal_close(struct instance *instance);
/* Returns the number of recorders that this instance has had, including this one. */
uint32_t journal_life(const struct instance *instance);

#endif
