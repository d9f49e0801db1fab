/* SPDX-License-Identifier: MIT */
/*
 * The registry of event batches and of tracers, its lock, and the end of the library.
 *
 * The lock of the registry protects batches, tracers and callback arrays. It is recursive and is
 * held while tracers are notified, possibly under the lock of the loader (constructors of dlopen).
 * So its owner never waits for readers, or for anything else that a reader may need.
 *
 * Order of locks: registry, state dump, keys.
 */
#ifndef SIDE_LIBSIDE_REGISTRY_H
#define SIDE_LIBSIDE_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "functions.h"

typedef struct side_events_register_handle *register_function(
		struct side_event_description **events, uint32_t nr_events);

/*
 * Not NULL if another copy of libside has the registry of the process (copies.h). Set in the
 * constructor only.
 */
extern register_function *registry_redirect;

void registry_lock(void);
void registry_unlock(void);

/*
 * Called around a fork. If a notification runs in another thread for 100 ms, the fork happens
 * during it. The lists in the child are complete. The next lock operation notifies the tracers that
 * the thread had not notified.
 */
void registry_lock_for_fork(void);
void registry_unlock_in_parent(void);
void registry_unlock_in_child(void); /* does no deferred work */
bool registry_is_mine(void);

/* Whether the calling thread may wait for readers. */
bool registry_may_wait(void);

/* Whether no thread holds the lock. */
bool registry_is_free(void);

/* Call each() for all batches, with the lock held; it must not change the list. */
void registry_each_batch(void (*each)(struct side_event_description **events, uint32_t nr_events,
					 void *user),
		void *user);

/* Hide the existing batches that a new guard does not accept from tracers. With the lock held. */
void registry_guard_batches(void);

/* Whether side_exit() has begun; then nothing can be registered. */
bool registry_is_finished(void);

/* Notify tracers of the end of all batches and remove their callbacks. False: done before. */
bool registry_finish(void);

#endif /* SIDE_LIBSIDE_REGISTRY_H */
