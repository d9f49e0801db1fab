/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_MEMORY_H
#define SIDE_RECORDER_CORE_MEMORY_H

/*
 * The rings of processes, and the session's limit on the memory of all of them.
 *
 * The main thread takes memory, the drain thread gives it back; both under the session's lock, which these functions take. The main thread
 * waits for memory of ended processes, for a limited time.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "recorder/core/session.h"
#include "recorder/core/shares.h"

struct instance;
struct instance_channel;

/* Ring memory. Members with "(lock)" are under the session's lock; the others are constant. */
struct session_memory {
	uint64_t limit;
	bool huge_pages; /* until there are none left (lock) */
	bool prefault;
	struct shares shares; /* (lock) */
	uint64_t used;        /* (lock) */
	uint64_t peak;        /* (lock) */
	uint64_t ended;       /* of instances that have ended: will be given back soon (lock) */
	pthread_cond_t back;  /* memory was given back */
};

/*
 * Take ring memory from the session's for one process. False: there is not enough for the smallest rings. Main thread, which may wait.
 */
bool memory_take(struct session *session, struct instance *instance);
void memory_give_back(struct session *session, struct instance *instance);
/* Charge the session only with the data in the rings of an ended process: they cannot grow. Main thread. */
void memory_trim(struct session *session, struct instance *instance);
/* For rings that exist already, by the geometries. False: they are more than is left. */
bool memory_take_found(struct session *session, struct instance *instance);
/* Before there are processes; no lock. */
int memory_check(struct session *session, const struct session_options *options,
		struct session_error *error);
/* Bytes of the smallest rings of one process, and of those that were asked for. No lock: channels do not change. */
uint64_t memory_least(const struct session *session);
uint64_t memory_most(const struct session *session);
/* The tables for an instance's rings; false: out of memory. Before the instance is in the list. */
bool memory_make_tables(struct instance_channel *channel);

#endif
