/* SPDX-License-Identifier: MIT */
#ifndef RECORDER_LISTENER_H
#define RECORDER_LISTENER_H

/*
 * The socket that agents find.
 *
 * Callers: the life of a session. Main thread. No lock.
 */
#include "recorder/core/session.h"

int listener_open(struct session *session, struct session_error *error);
/* Under a name that other processes know. */
int listener_open_at(struct session *session, const char *path, struct session_error *error);
void listener_close(struct session *session);

#endif
