/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_INSTANCE_H
#define SIDE_RECORDER_CORE_INSTANCE_H

/*
 * An instance is one process image: what the recorder knows of it, and how it ends.
 * instance-create.h creates instances, storage/instance-free.h frees them.
 *
 * The main thread creates, links and ends instances, and frees those that are finished. The drain
 * thread reads the list as soon as an instance is linked. The session's lock protects the list,
 * `state`, `finished`, and the members marked "(lock)".
 *
 * An instance is LIVE until its process exits or executes another program, or the session stops. It
 * is ENDED until all its published records are written and its rings are freed; then it is CLOSED.
 * The drain thread sets `finished` when it no longer uses the instance. A live session frees
 * finished instances; other sessions keep them for the summary.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "recorder/core/instance-state.h"

struct session;
struct wire_hello;

struct instance *instance_allocate(const char *procname, const char *exe,
		const struct channel *channels, uint32_t nr_channels);
char *instance_clean_name(const char *name);
/*
 * Returns the live instance with this token and process id, or NULL. Main thread: reads its own
 * list, needs no lock.
 */
struct instance *instance_find(struct session *session, uint64_t token, pid_t peer);
/*
 * Returns the instance of the process that forked the sender, or NULL if it is unknown or has
 * exited. Main thread: reads its own list, needs no lock.
 */
struct instance *instance_find_parent(
		const struct session *session, const struct wire_hello *hello);
/* True if the process has exited: another process can then have its process id. */
bool instance_has_exited(const struct instance *instance);
/*
 * Call when a program connects with a process id for the first time: ends an older instance with
 * this id, whose process must have exited. Main thread, without the lock.
 */
void instance_end_predecessor(struct session *session, pid_t peer);
/*
 * Adds the instance to the lists. Returns false if its process cannot be watched. Main thread;
 * takes the lock.
 */
bool instance_link(struct session *session, struct instance *instance);
/* Moves the instance from LIVE to ENDED. Main thread; takes the lock. */
void instance_end(struct session *session, struct instance *instance);
/*
 * Counts a process that is not recorded as a loss of the process that created it, if the recorder
 * knows that process. Main thread.
 */
void instance_count_refused(const struct session *session, const struct wire_hello *hello);
/*
 * Unlinks the finished instances and returns them; the caller calls instance_free() for each. Main
 * thread; takes the lock.
 */
struct instance *instances_take_finished(struct session *session);

#endif
