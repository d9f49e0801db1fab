/* SPDX-License-Identifier: MIT */
/*
 * State dumps: the registered states, the requests, and the threads that run them.
 *
 * One lock protects all of it. It is never held while a dump runs: a state exists while its
 * callback runs (`runs`), and a thread that unregisters it waits for that.
 *
 * Requests of all states have one numbering, and a thread takes the oldest request, so that no
 * state starves another. A key is in a queue at most once, so the queue of a program that never
 * polls has at most one entry for each tracer (and at most STATEDUMP_QUEUE_MAX, for any keys).
 */
#ifndef SIDE_LIBSIDE_STATEDUMP_H
#define SIDE_LIBSIDE_STATEDUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "functions.h"

enum {
	STATEDUMP_QUEUE_MAX = 1024,
};

struct statedump_request {
	uint64_t key;
	uint64_t number; /* in the order of requests, from 1 */
};

/* A running dump; on the stack of the thread that runs it. */
struct statedump_run {
	struct statedump_run *next;
	uintptr_t thread;
};

struct side_statedump_request_handle {
	struct side_statedump_request_handle *previous, *next;
	char *name;
	void (*cb)(void *statedump_request_key);
	enum side_statedump_mode mode;
	struct statedump_request *queue; /* oldest first */
	uint32_t queued, capacity;
	uint64_t first_request; /* number of the request that the registration queued */
	bool first_done;
	bool dead;     /* being unregistered: nothing new is queued or begun */
	bool orphaned; /* unregistered inside its own dump: the last thread that runs it frees it */
	struct statedump_run *runs;
};

void statedump_lock(void);
void statedump_unlock(void);

/* Call all functions below with the lock held. */

/* Wait for any change; with a timeout (ms) unless negative. */
void statedump_wait(int timeout_ms);

/* Wake the threads in statedump_wait(). */
void statedump_changed(void);

/* The state of this mode that has the oldest request; NULL: no request is queued. */
struct side_statedump_request_handle *statedump_oldest(enum side_statedump_mode mode);

/* Run the oldest request of the state; releases the lock meanwhile. The state may be freed. */
void statedump_run_one(struct side_statedump_request_handle *handle);

/*
 * Around a fork: statedump_pause() without the lock and before it is taken; after the fork, with
 * the lock, one of the other two, which release it.
 */
void statedump_pause(void);
void statedump_fork_in_parent(void);
void statedump_fork_in_child(void);
/* Stop the agent at exit. Call without the lock. */
void statedump_finish(void);

#endif /* SIDE_LIBSIDE_STATEDUMP_H */
