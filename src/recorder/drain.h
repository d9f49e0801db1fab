/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_DRAIN_H
#define SIDE_RECORDER_DRAIN_H

/*
 * The drain thread moves records from rings to traces. Traces, rings and losses belong to it.
 *
 * Callers: the session's start and end, the main loop. Main thread, without the session's lock:
 * these functions start and stop the drain thread, or send it requests.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct instance;
struct ring_bells;
struct session_rounds;
struct session;

#define LIMIT_OPEN_WRITERS 128 /* of ended instances */

struct session_drain {
	pthread_t thread;
	bool runs;                     /* (main thread) */
	atomic_bool stop;              /* request: drain everything once more and exit */
	struct ring_bells *bells;      /* doorbells of all rings that are drained */
	struct instance *writers;      /* instances with an open writer (drain thread) */
	struct session_rounds *rounds; /* progress for another process, or NULL */
	atomic_uint rounds_wanted;     /* number of the last requested round */
	uint32_t rounds_done;          /* number of the last completed one (lock) */
	pthread_cond_t round_done;
	_Atomic uint64_t written; /* running totals, for progress */
	_Atomic uint64_t lost;
};

int drain_start(struct session *session);
/* Returns when all records are on disk and all files are closed. */
void drain_stop(struct session *session);
/* Requests a snapshot, or the second phase of the one that was begun. */
void drain_snapshot(struct session *session);
/* Requests the first phase of a snapshot with a state dump. */
void drain_begin_snapshot(struct session *session);
/* Requests the second phase of the snapshot that a trigger has begun. */
void drain_finish_snapshot(struct session *session);
/*
 * drain_ask() requests a round that begins after this call, after all snapshots that were requested
 * before. drain_wait() waits for it. It returns 0, -ETIMEDOUT, or the negative errno why records
 * wait for space on the disk. Takes the lock.
 */
uint32_t drain_ask(struct session *session);
int drain_wait(struct session *session, uint32_t round, unsigned int timeout_ms);

#endif
