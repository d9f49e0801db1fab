/* SPDX-License-Identifier: MIT */
/*
 * The registered states, their queues of requests, and the lock of the state dump.
 *
 * The lock protects all of it. It is never held while a dump runs: a state exists while its
 * callback runs (`runs`), and a thread that unregisters it waits for that.
 *
 * Requests of all states have one numbering, and a thread takes the oldest request, so that no
 * state starves another. A key is in a queue at most once, so the queue of a program that never
 * polls has at most one entry for each tracer (and at most STATEDUMP_QUEUE_MAX, for any keys).
 */
#ifndef SIDE_LIBSIDE_STATEDUMP_STATES_H
#define SIDE_LIBSIDE_STATEDUMP_STATES_H

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
bool statedump_try_lock(void); /* never waits; false also if this thread holds it */
void statedump_unlock(void);

/* Call the functions below with the lock held. */

/* Wait for any change; with a timeout (ms) unless negative. */
void statedump_wait(int timeout_ms);

/* Wake the threads in statedump_wait(). */
void statedump_changed(void);

/* The state of this mode that has the oldest request; NULL: no request is queued. */
struct side_statedump_request_handle *statedump_oldest(enum side_statedump_mode mode);

/* Run the oldest request of the state; releases the lock meanwhile. The state may be freed. */
void statedump_run_one(struct side_statedump_request_handle *handle);

/* Whether this thread runs a dump of the state. */
bool statedump_runs_here(const struct side_statedump_request_handle *handle);

/* Number of dumps that have ended. */
uint64_t statedump_nr_ended(void);

/* Whether a state that is not being unregistered has its dumps run by the agent thread. */
bool statedump_has_agent_handle(void);

/*
 * Request a dump of all states with this key. statedump_enqueue_for_all() needs the capacity that
 * statedump_reserve_for_all() allocates (false: out of memory, or a full queue), or that
 * statedump_has_capacity_for_all() finds without an allocation.
 */
bool statedump_reserve_for_all(uint64_t key);
bool statedump_has_capacity_for_all(uint64_t key);
void statedump_enqueue_for_all(uint64_t key);

/*
 * Register a state, with its first request. Unregister it: the last thread that runs it frees it,
 * or this function if no thread does.
 */
void statedump_add_handle(struct side_statedump_request_handle *handle);
void statedump_remove_handle(struct side_statedump_request_handle *handle);

/* In a forked child: end the dumps of threads that do not exist there. */
void statedump_forget_runs(void);

/* Allocate a state with capacity for its first request; NULL: out of memory. Needs no lock. */
struct side_statedump_request_handle *statedump_new_handle(const char *name,
		void (*cb)(void *statedump_request_key), enum side_statedump_mode mode);
/* Free a state that is in no list. */
void statedump_free_handle(struct side_statedump_request_handle *handle);

#endif /* SIDE_LIBSIDE_STATEDUMP_STATES_H */
