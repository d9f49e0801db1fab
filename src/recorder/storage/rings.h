/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_STORAGE_RINGS_H
#define SIDE_RECORDER_STORAGE_RINGS_H

/*
 * Makes the rings of a process, in memory (core/memory.h) or in files (buffers.h).
 *
 * Callers: the creation of instances. Main thread, without the session's lock; it waits for memory of ended processes, for a limited time.
 */

struct instance;
struct session;

/* 0 or a negative errno with the reason for the program. Main thread. */
int memory_make_rings(struct session *session, struct instance *instance, int *ring_fds,
		const char **reason);

#endif
