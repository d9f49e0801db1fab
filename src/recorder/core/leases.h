/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_LEASES_H
#define SIDE_RECORDER_CORE_LEASES_H

/*
 * Leases of ring memory: the recorder revokes the memory of idle rings, and provides it again with
 * the next event.
 *
 * The main thread and the drain thread change leases, always with the session's lock held.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct instance;
struct session;
struct session_status;

#define REFUSALS_OF_USER 32 /* waiting programs of one user that status lists by name */

struct session_leases {
	size_t nr_denied; /* processes whose events found no ring memory (lock) */
	/* The message about the first of these processes. A live session reports each at once. */
	char *first_denied; /* (drain thread) */
	uint64_t next;      /* time of the next search for idle rings (drain thread) */
};

/*
 * Revokes at least `bytes` of memory that processes of this user do not use, or all of it if there
 * is less. The caller holds the lock.
 */
void leases_reclaim(struct session *session, uid_t account, uint64_t bytes);
/* Returns the bytes that are revoked from this user's processes now. The caller holds the lock. */
uint64_t leases_revoked(const struct session *session, uid_t account);
/*
 * Provides the memory of a channel for which the program described a matching event. The program
 * cannot record this event before the function returns. Main thread; takes the lock.
 */
void leases_matched(struct session *session, struct instance *instance);
/*
 * Called by the drain thread in each round: answers requests for memory, and finds idle rings.
 * Takes the lock.
 */
void leases_turn(struct session *session, struct instance *active);
/*
 * True if memory of the instance is revoked. The caller holds the lock, or the instance is not in
 * the list yet.
 */
bool leases_has_revoked(const struct instance *instance);
/*
 * Adds to the status the programs that wait for memory, and the number of idle processes without
 * ring memory. Main thread; takes the lock.
 */
int leases_status(struct session *session, struct session_status *status);
/* Reports the processes without ring memory in one sentence. Drain thread, at the end. */
void leases_report(struct session *session);
void leases_free(struct session *session);

#endif
