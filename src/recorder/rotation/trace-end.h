/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_ROTATION_TRACE_END_H
#define SIDE_RECORDER_ROTATION_TRACE_END_H

/*
 * Ends the trace of an instance.
 *
 * Callers: the drain thread and recovery. Drain thread, or the only thread that uses the instance;
 * without the session's lock, which it takes.
 */
#include <stdbool.h>

struct instance;
struct session;

/*
 * Writes all published records and frees the rings. The files stay open. Returns false if the disk
 * is full; then call it again.
 */
bool trace_end(struct session *session, struct instance *instance);

#endif
