/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_STORAGE_RINGS_H
#define SIDE_RECORDER_STORAGE_RINGS_H

/*
 * Creates the rings of a process, in memory (core/memory.h) or in files (buffers.h).
 *
 * Callers: the creation of instances. Main thread, without the session's lock; it can wait for
 * memory of ended processes, for a limited time.
 */

struct instance;
struct session;

/* Returns 0, or a negative errno with the reason, which is sent to the program. Main thread. */
int memory_make_rings(struct session *session, struct instance *instance, int *ring_fds,
		const char **ret_reason);

#endif
