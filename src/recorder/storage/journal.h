/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_STORAGE_JOURNAL_H
#define SIDE_RECORDER_STORAGE_JOURNAL_H

/*
 * The journal of an instance: which records of its rings are in which file.
 *
 * Callers: buffers, trace, losses and recovery. Main thread before the instance is in the list, then the drain thread. No lock.
 */
#include <stddef.h>
#include <stdint.h>

#include "ctf/ctf.h"

struct instance;
struct session;

#define JOURNAL_FILE "journal"
#define LOSSES_FILE "told"
#define LOSSES_FILE_NEW ".told.new"

/* For a new instance. Channels have their geometry. */
int journal_make(struct instance *instance, int folder);
/* The trace that is written from now on: a path below the session's output. */
int journal_begin_trace(const struct session *session, struct instance *instance, const char *path);
/* Before its directory is made: the recorder that follows after a kill removes it, if nothing is in it. */
void journal_expect_trace(
		const struct session *session, const struct instance *instance, const char *path);
/* Everything up to this position of the ring is in the trace, or counted as unwritten. */
int journal_note(struct instance *instance, uint32_t channel, uint32_t ring, uint64_t position);
/* The present trace contains the losses up to `losses`, which losses_read_reported() gets. */
int journal_write_losses(const struct session *session, const struct instance *instance,
		const void *losses, size_t size);
/* All of it is in the trace. */
int journal_finish(struct instance *instance);
/*
 * What the former recorder left: its trace is cut to the length that the rings confirm as written, and the remaining records of the rings
 * go into a trace of their own. 1: everything was written.
 */
int journal_adopt(struct session *session, struct instance *instance, int folder,
		struct ctf_error *error);
void journal_close(struct instance *instance);
/* Recorders that this instance has had, with this one. */
uint32_t journal_life(const struct instance *instance);

#endif
