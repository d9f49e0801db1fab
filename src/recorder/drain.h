/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_DRAIN_H
#define SIDE_RECORDER_DRAIN_H

/*
 * The drain thread: it moves records from rings to traces, and owns everything about writing (traces, rings, losses).
 *
 * Callers: the life of a session, the loop. Main thread, without the session's lock: these functions start and stop the drain thread, or ask
 * it for something.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct instance;
struct ring_bells;
struct session_rounds;
struct session;

#define LIMIT_OPEN_WRITERS 128 /* of instances that have ended */

struct session_drain {
	pthread_t thread;
	bool runs;                     /* the main thread's */
	atomic_bool stop;              /* drain everything a last time and end */
	struct ring_bells *bells;      /* of all rings that are drained */
	struct instance *writers;      /* instances that have one; the drain thread's */
	struct session_rounds *rounds; /* for another process, or NULL */
	atomic_uint rounds_wanted;     /* rounds that the main thread waits for, ... */
	uint32_t rounds_done;          /* ... and the last of them that is done (lock) */
	pthread_cond_t round_done;
	_Atomic uint64_t written; /* running totals for progress */
	_Atomic uint64_t lost;
};

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
