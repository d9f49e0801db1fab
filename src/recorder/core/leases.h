/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_LEASES_H
#define SIDE_RECORDER_CORE_LEASES_H

/*
 * Rings whose memory is taken back while they are not used, and provided again with the next event.
 *
 * Main thread and drain thread change leases, always under the session's lock.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct instance;
struct session;
struct session_status;

#define REFUSALS_OF_USER 32 /* programs of one user that wait and are named */

struct session_leases {
	size_t nr_denied; /* processes whose events found no ring memory (lock) */
	uint64_t next;    /* the drain thread's: next search for idle rings */
};

/* With the lock: take back at least `bytes` of what processes of this user do not use, if there is so much. */
void leases_reclaim(struct session *session, uid_t account, uint64_t bytes);
/* With the lock: bytes of this user's processes that are taken back now. */
uint64_t leases_revoked(const struct session *session, uid_t account);
/* By the main thread: an event of the channel was described, and no program hits it before this returns. Takes the lock. */
void leases_matched(struct session *session, struct instance *instance);
/* By the drain thread, each round: answer programs that have asked, and find idle rings. Takes the lock. */
void leases_turn(struct session *session, struct instance *active);
/* With the lock, or before the instance is in the list. */
bool leases_has_revoked(const struct instance *instance);
/* Programs that wait for memory, and the number of those that need none. Main thread; takes the lock. */
int leases_status(struct session *session, struct session_status *status);

#endif
