/* SPDX-License-Identifier: MIT */
/*
 * The lock of the registry, and the end of the library.
 *
 * The lock protects batches, tracers and callback arrays. It is recursive and is held while tracers
 * are notified, possibly under the lock of the loader (constructors of dlopen). So its owner never
 * waits for readers, or for anything else that a reader may need.
 *
 * Order of locks: registry, state dump, keys.
 */
#ifndef SIDE_LIBSIDE_REGISTRY_LOCK_H
#define SIDE_LIBSIDE_REGISTRY_LOCK_H

#include <stdbool.h>
#include <stdint.h>

void registry_lock(void);
void registry_unlock(void);

/*
 * Called around a fork. If a notification runs in another thread for 100 ms, the fork happens
 * during it. The lists in the child are complete. The next registry_lock() in the child then calls
 * continues(), which notifies the tracers that the thread had not notified.
 */
void registry_lock_for_fork(void);
void registry_unlock_in_parent(void);
void registry_unlock_in_child(void (*continues)(void)); /* does no deferred work */

/*
 * Called around a notification, with the lock held: a fork may happen meanwhile, unless the tracer
 * takes the lock itself. registry_close_gate() gets the value that registry_open_gate() returned.
 */
uint32_t registry_open_gate(void);
void registry_close_gate(uint32_t depth);

bool registry_is_mine(void);

/* Whether the calling thread may wait for readers. */
bool registry_may_wait(void);

/* Whether no thread holds the lock. */
bool registry_is_free(void);

/* Whether side_exit() has begun; then nothing can be registered. */
bool registry_is_finished(void);

/* Refuse registrations from now on. With the lock held. */
void registry_set_finished(void);

#endif /* SIDE_LIBSIDE_REGISTRY_LOCK_H */
