/* SPDX-License-Identifier: MIT */
#ifndef RECORDER_DRAIN_H
#define RECORDER_DRAIN_H

/*
 * The drain thread: it moves records from rings to traces, and owns everything about writing (traces, rings, losses).
 *
 * Callers: the life of a session, the loop. Main thread, without the session's lock: these functions start and stop the drain thread, or ask
 * it for something.
 */
#include <stdint.h>

struct session;

#define LIMIT_OPEN_WRITERS 128 /* of instances that have ended */

int drain_start(struct session *session);
/* Returns when everything is on disk and closed. */
void drain_stop(struct session *session);
/* Make a snapshot soon. */
void drain_snapshot(struct session *session);
/*
 * Ask for a round that begins after this call, and makes the snapshots that were asked for before. drain_wait() waits for it: 0,
 * -ETIMEDOUT, or why records wait for space on the disk. It takes the lock.
 */
uint32_t drain_ask(struct session *session);
int drain_wait(struct session *session, uint32_t round, unsigned int timeout_ms);

#endif
