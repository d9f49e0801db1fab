/* SPDX-License-Identifier: MIT */
/*
 * State dump: who registered a state, what was asked for, who runs it.
 *
 * One lock protects all of it.  It is never held while a dump runs: a state stays while its
 * callback runs (`runs`), and whoever unregisters it waits for that.
 *
 * Requests of all states share one numbering, and whoever runs takes the oldest: no state starves
 * another.  A key waits at most once in a queue, so the queue of a program that never polls has at
 * most an entry for each tracer (and not more than STATEDUMP_QUEUE_MAX, whatever keys are asked
 * for).
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

/* A dump that is running; lives on the stack of the thread that runs it. */
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
	uint64_t first_request; /* number of the one that registration queued */
	bool first_done;
	bool dead;     /* being unregistered: nothing is queued or begun any more */
	bool orphaned; /* unregistered inside its own dump: whoever runs it last frees it */
	struct statedump_run *runs;
};

void statedump_lock(void);
void statedump_unlock(void);

/* All below with the lock held. */

/* Wait for any change; with a timeout (ms) unless negative. */
void statedump_wait(int timeout_ms);

/* Something changed that somebody may wait for. */
void statedump_changed(void);

/* Of the states of this mode, the one with the oldest request; NULL: nothing is queued. */
struct side_statedump_request_handle *statedump_oldest(enum side_statedump_mode mode);

/* Run the oldest request of the state; gives the lock away meanwhile.  The state may be freed. */
void statedump_run_one(struct side_statedump_request_handle *handle);

/*
 * Fork: pause without the lock and before it is taken; after the fork, with the lock, one of the
 * two others, which release it.
 */
void statedump_pause(void);
void statedump_fork_in_parent(void);
void statedump_fork_in_child(void);
/* At exit, without the lock: stop the agent. */
void statedump_finish(void);

#endif /* SIDE_LIBSIDE_STATEDUMP_H */
