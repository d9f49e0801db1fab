/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_ROTATION_TRACE_END_H
#define SIDE_RECORDER_ROTATION_TRACE_END_H

/*
 * The end of an instance's trace.
 *
 * Callers: the drain thread and recoveries. Drain thread, or a thread that alone has the instance; without the session's lock, which it takes.
 */
#include <stdbool.h>

struct instance;
struct session;

/* Write all that was published, and free the rings. The files stay open. False: the disk is full, call again. */
bool trace_end(struct session *session, struct instance *instance);

#endif
