/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_STORAGE_INSTANCE_FREE_H
#define SIDE_RECORDER_STORAGE_INSTANCE_FREE_H

/*
 * Frees an instance.
 *
 * Callers: the life of a session, recovery. The thread that alone has the instance, without the session's lock, which it takes.
 */

struct instance;
struct session;

void instance_free(struct session *session, struct instance *instance);

#endif
