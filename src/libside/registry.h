/* SPDX-License-Identifier: MIT */
/*
 * Registry of event batches and of tracers, its lock, and the life of the library.
 *
 * The registry's lock protects batches, tracers and callback arrays.  It is recursive and held
 * while tracers are notified, perhaps under the loader's lock (constructors of dlopen).  So its
 * owner never waits for readers, and nothing that a reader may want is waited for with it held.
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

/* If not NULL: another copy of libside has the registry of the process (copies.h). Set in the constructor only. */
extern register_function *registry_redirect;

void registry_lock(void);
void registry_unlock(void);

/*
 * Around a fork. If a notification runs in another thread for 100 ms, the fork passes beside it. The lists in the child are
 * complete. The next lock operation notifies the tracers that the thread had not notified.
 */
void registry_lock_for_fork(void);
void registry_unlock_in_parent(void);
void registry_unlock_in_child(void); /* nothing that was left for later is done here */
bool registry_is_mine(void);

/* May the calling thread wait for readers? */
bool registry_may_wait(void);

/* Does nobody hold the lock? */
bool registry_is_free(void);

/* Walk all batches, with the lock held; what is called must not change the list. */
void registry_each_batch(void (*each)(struct side_event_description **events, uint32_t nr_events,
					 void *user),
		void *user);

/* Leave only what the guard, which is new, lets tracers see of the batches that there are. With the lock held. */
void registry_guard_batches(void);

/* side_exit() has begun; nothing can be registered any more. */
bool registry_is_finished(void);

/* REMOVE notifications and dropped callbacks for all batches.  False: done before. */
bool registry_finish(void);

#endif /* SIDE_LIBSIDE_REGISTRY_H */
