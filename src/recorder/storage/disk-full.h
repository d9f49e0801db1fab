/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_STORAGE_DISK_FULL_H
#define SIDE_RECORDER_STORAGE_DISK_FULL_H

/*
 * Handles a full disk: records wait in their rings, and the drain thread retries one packet each
 * second.
 *
 * Callers: trace, losses, rotation and the drain thread. Drain thread, without the session's lock:
 * the functions take it to change members that the main thread reads.
 */
#include <stdbool.h>
#include <stdint.h>

struct session;

/* Drain thread; all members except `retry` and `last` are written with the lock held. */
struct full {
	int code;  /* why writing failed, a negative errno; 0: the disk is not full */
	bool last; /* the session ends: records no longer wait */
	uint64_t retry, since;
	uint64_t ns; /* total duration, without the current wait */
	uint32_t times;
	uint64_t lost; /* lost records, and how many times a ring lost some: */
	uint32_t streams;
};

/* True if all writing must wait now. */
bool full_waits(const struct session *session);
/* Call after a failed write. True if its records must wait in the ring. */
bool full_holds(struct session *session, int code);
/* Call after a successful write. */
void full_over(struct session *session);
/* Counts records that a ring has lost while the disk was full. */
void full_count(struct session *session, uint64_t lost);
/* Call before and after the last round. */
void full_end(struct session *session);
void full_report(struct session *session);

#endif
