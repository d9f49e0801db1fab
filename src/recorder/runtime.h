/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_RUNTIME_H
#define SIDE_RECORDER_RUNTIME_H

/*
 * Creates and removes the directory of the socket.
 *
 * Callers: the listener. Main thread. No lock.
 */
struct session;

int runtime_make(struct session *session);
void runtime_remove(struct session *session);

#endif
