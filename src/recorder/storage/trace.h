/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_STORAGE_TRACE_H
#define SIDE_RECORDER_STORAGE_TRACE_H

/*
 * An instance's bytes on disk.
 *
 * Callers: the drain thread, losses, snapshots, chunks and recoveries. Drain thread, or a thread that alone has the instance; without the
 * session's lock, which these functions take.
 */
#include <stdbool.h>
#include <stdint.h>

#include "ctf/ctf.h"

struct instance;
struct session;

/*
 * Functions of rotation/rotate.c that traces call, and that storage does not know. The drain thread calls them, without the session's lock.
 */
struct trace_hooks {
	/* Make the directory for new traces. 0 or a negative errno. */
	int (*prepare)(struct session *session, struct ctf_error *error);
	/* A trace was begun: its name below the directory. */
	void (*note)(struct session *session, const char *directory);
	/* So many bytes come now: this may close all traces and begin a chunk. */
	void (*before_packet)(struct session *session, uint64_t bytes);
	/* A packet was written: this may remove old chunks. */
	void (*after_packet)(struct session *session);
};

/* Write what the rings hold. False: nothing was there. */
bool trace_drain(struct session *session, struct instance *instance);
/* By the thread that alone has the instance. */
void trace_close(struct session *session, struct instance *instance, const struct ctf_clock *clock);

/* Its parts, for losses and snapshots. */
int trace_create(struct session *session, const struct instance *instance, const char *path,
		struct ctf_writer **writer, struct ctf_error *error);
int trace_describe(struct session *session, struct instance *instance, struct ctf_writer *writer,
		uint32_t *nr_described, struct ctf_error *error);
int trace_prepare(struct session *session, struct instance *instance, struct ctf_error *error);
/* Count what the writer has written since the last call. */
void trace_count_bytes(struct session *session, struct instance *instance);
int trace_append(struct session *session, struct instance *instance, uint32_t channel,
		uint32_t ring, const struct ctf_span *span, struct ctf_error *error);
void trace_report_damage(struct session *session, struct instance *instance, uint32_t channel,
		uint32_t ring);
void trace_fail(struct session *session, struct instance *instance, int code,
		const struct ctf_error *error);

#endif
