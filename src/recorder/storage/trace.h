/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_STORAGE_TRACE_H
#define SIDE_RECORDER_STORAGE_TRACE_H

/*
 * The trace files of an instance.
 *
 * Callers: the drain thread, losses, snapshots, chunks and recovery. Drain thread, or the only
 * thread that uses the instance; without the session's lock, which these functions take.
 */
#include <stdbool.h>
#include <stdint.h>

#include "ctf/ctf.h"

struct instance;
struct session;

/* Besides its streams, a trace has open: its metadata, its directory and the stream of losses. */
#define TRACE_FILES 3

/*
 * Functions of rotation/rotate.c that this module calls without depending on it. The drain thread
 * calls them, without the session's lock.
 */
struct trace_hooks {
	/* Creates the directory for new traces. Returns 0 or a negative errno. */
	int (*prepare)(struct session *session, struct error *error);
	/* Called when a trace was begun, with its name below the directory. */
	void (*note)(struct session *session, const char *directory);
	/*
	 * Called before a packet of this size is written: can close all traces and begin a chunk.
	 */
	void (*before_packet)(struct session *session, uint64_t bytes);
	/* Called after a packet was written: can remove old chunks. */
	void (*after_packet)(struct session *session);
};

/* Writes the records in the rings. Returns false if there were none. */
bool trace_drain(struct session *session, struct instance *instance);
/* Closes the trace. Called by the only thread that uses the instance. */
void trace_close(struct session *session, struct instance *instance, const struct ctf_clock *clock);

/* The steps of trace_drain(), for losses and snapshots. */
int trace_create(struct session *session, const struct instance *instance, const char *path,
		struct ctf_writer **ret_writer, struct error *error);
int trace_describe(struct session *session, struct instance *instance, struct ctf_writer *writer,
		uint32_t *nr_described, struct error *error);
int trace_prepare(struct session *session, struct instance *instance, struct error *error);
/* Counts the bytes that the writer has written since the last call. */
void trace_count_bytes(struct session *session, struct instance *instance);
int trace_append(struct session *session, struct instance *instance, uint32_t channel,
		uint32_t ring, const struct ctf_span *span, struct error *error);
void trace_report_damage(struct session *session, struct instance *instance, uint32_t channel,
		uint32_t ring);
void trace_fail(struct session *session, struct instance *instance, int code,
		const struct error *error);

#endif
