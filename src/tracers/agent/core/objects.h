/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_OBJECTS_H
#define SIDE_TRACERS_AGENT_CORE_OBJECTS_H

/*
 * The loaded objects, walked so that no child is forked meanwhile and finds the loader's lock held.
 *
 * Callers: the control thread and its starter, probes, and interpose.c. Call agent_objects_each()
 * only where the loader may be asked: not in a signal handler, and not with libside's event lock.
 */

#include <stdbool.h>
#include <stddef.h>

struct dl_phdr_info;

/* As dl_iterate_phdr(). Returns 0 without a call if agent_objects_are_stuck(). */
int agent_objects_each(
		int (*callback)(struct dl_phdr_info *object, size_t size, void *user), void *user);
/* For pthread_atfork(): before the fork, after it in the parent, and in the child. */
void agent_objects_fork(void);
void agent_objects_fork_done(void);
void agent_objects_forked(void);
/* Finds the loader's lock. It walks: after pthread_atfork(), which waits for forks in progress. */
void agent_objects_learn(void);
/*
 * True in a forked child if another thread of its parent had the loader's lock: dl_iterate_phdr()
 * would wait for ever.
 */
bool agent_objects_are_stuck(void);

#endif
