/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_STORAGE_INSTANCE_FREE_H
#define SIDE_RECORDER_STORAGE_INSTANCE_FREE_H

/*
 * Frees an instance.
 *
 * Callers: the session's start and end, recovery. Called by the only thread that still uses the
 * instance, without the session's lock, which it takes.
 */

struct instance;
struct session;

void instance_free(struct session *session, struct instance *instance);

#endif
