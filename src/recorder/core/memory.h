/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_MEMORY_H
#define SIDE_RECORDER_CORE_MEMORY_H

/*
 * The ring memory of processes, and the session's limit on it.
 *
 * The main thread reserves memory, the drain thread returns it; both functions take the session's
 * lock. The main thread can wait for the memory of ended processes, for a limited time.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "recorder/core/session.h"
#include "recorder/core/shares.h"

struct instance;
struct instance_channel;

/* Ring memory. The session's lock protects members marked "(lock)"; the others are constant. */
struct session_memory {
	uint64_t limit;
	bool huge_pages; /* false once the machine has none left (lock) */
	bool prefault;
	struct shares shares; /* (lock) */
	uint64_t used;        /* (lock) */
	uint64_t peak;        /* (lock) */
	uint64_t ended;       /* used by ended instances: returned soon (lock) */
	pthread_cond_t back;  /* signalled when memory was returned */
};

/*
 * Reserves ring memory for one process. Returns false if not even the smallest rings fit. Main
 * thread; can wait.
 */
bool memory_take(struct session *session, struct instance *instance);
void memory_give_back(struct session *session, struct instance *instance);
/*
 * Reduces the charge for an ended process to the data in its rings, which cannot grow. Main thread.
 */
void memory_trim(struct session *session, struct instance *instance);
/*
 * Reserves memory for rings that exist already, by their geometries. Returns false if it exceeds
 * the limit.
 */
bool memory_take_found(struct session *session, struct instance *instance);
/* Checks the options before there are processes; no lock. */
int memory_check(struct session *session, const struct session_options *options,
		struct error *error);
/* Bytes of the smallest rings of one process. No lock: channels do not change. */
uint64_t memory_least(const struct session *session);
/*
 * Allocates the tables for the rings of a channel, before the instance is in the list. Returns
 * false if out of memory.
 */
bool memory_make_tables(struct instance_channel *channel);

#endif
