/* SPDX-License-Identifier: MIT */
#ifndef RECORDER_INSTANCE_FREE_H
#define RECORDER_INSTANCE_FREE_H

/*
 * Frees an instance.
 *
 * Callers: the life of a session, recovery. The thread that alone has the instance, without the session's lock, which it takes.
 */

struct instance;
struct session;

void instance_free(struct session *session, struct instance *instance);

#endif
