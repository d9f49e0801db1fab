/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_STORAGE_DISK_FULL_H
#define SIDE_RECORDER_STORAGE_DISK_FULL_H

/*
 * A full disk: records wait in their rings, and one more packet is tried each second.
 *
 * Callers: trace, losses, rotation and the drain thread. Drain thread, without the session's lock: the functions take it to write what the
 * main thread shows.
 */
#include <stdbool.h>
#include <stdint.h>

struct session;

/* The drain thread's; all but `retry` and `last` is written under the lock. */
struct full {
	int code;  /* why there is no space, a negative errno value; 0: there is */
	bool last; /* nothing waits any more */
	uint64_t retry, since;
	uint64_t ns; /* in all, without the present time */
	uint32_t times;
	uint64_t lost; /* records, of so many times a ring: */
	uint32_t streams;
};

/* Must all writing wait now? */
bool full_waits(const struct session *session);
/* Something could not be written: must it wait? */
bool full_holds(struct session *session, int code);
/* Something could be written. */
void full_over(struct session *session);
/* Records that a ring has lost meanwhile. */
void full_count(struct session *session, uint64_t lost);
/* Before and after the last round. */
void full_end(struct session *session);
void full_report(struct session *session);

#endif
