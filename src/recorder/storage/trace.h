/* SPDX-License-Identifier: MIT */
#ifndef RECORDER_TRACE_H
#define RECORDER_TRACE_H

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

/* Write what the rings hold. False: nothing was there. */
bool trace_drain(struct session *session, struct instance *instance);
/* The last of it. False: the disk is full, call again. */
bool trace_end(struct session *session, struct instance *instance);
/* By the thread that alone has the instance. */
void trace_close(struct session *session, struct instance *instance, const struct ctf_clock *clock);

/* Its parts, for losses and snapshots. */
int trace_create(struct session *session, const struct instance *instance, const char *path,
		struct ctf_writer **writer, struct ctf_error *error);
int trace_describe(struct session *session, struct instance *instance, struct ctf_writer *writer,
		uint32_t *nr_described, struct ctf_error *error);
int trace_prepare(struct session *session, struct instance *instance, struct ctf_error *error);
int trace_append(struct session *session, struct instance *instance, uint32_t channel,
		uint32_t ring, const struct ctf_span *span, struct ctf_error *error);
void trace_report_damage(struct session *session, struct instance *instance, uint32_t channel,
		uint32_t ring);
void trace_fail(struct session *session, struct instance *instance, int code,
		const struct ctf_error *error);

#endif
