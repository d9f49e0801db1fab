/* SPDX-License-Identifier: MIT */
#ifndef SESSION_THREAD_H
#define SESSION_THREAD_H

/*
 * Threads of the recorder and of the daemon that make one call which can block: accept(), or a close. They have a small stack
 * and block all signals, so that the loop of the process gets these.
 */
#include <pthread.h>
#include <stddef.h>

/* With NULL for ret_thread it is detached. 0 or a negative errno. */
int thread_start(pthread_t *ret_thread, size_t stack_size, void *(*run)(void *user), void *user);

/*
 * Work of a loop that has to wait until the scheduler has run another thread. One thread runs all of it, one after the other, and is started
 * by the first call. So a busy machine delays that thread, and not the loop. That thread itself waits for the scheduler only: nothing that
 * a peer does or omits can block what it runs.
 */
struct deferred {
	struct deferred *next;
	void (*run)(struct deferred *deferred);
};

/* Never waits. 0 or a negative errno: there is no thread, and the caller keeps it. */
int thread_defer(struct deferred *deferred);
/*
 * Free memory that begins with it, at a later thread_defer(). Other threads do not call free() for memory of the loop: the loop would wait
 * for a thread that is preempted inside free().
 */
void thread_free_later(struct deferred *deferred);

#endif
