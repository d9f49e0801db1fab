/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_THREAD_H
#define SIDE_RECORDER_CORE_THREAD_H

/*
 * Threads of the recorder and of the daemon that make one blocking call: accept() or close(). They
 * have a small stack and block all signals, so that the main loop of the process receives the
 * signals.
 */
#include <pthread.h>
#include <stddef.h>

/* Starts a thread, detached if ret_thread is NULL. Returns 0 or a negative errno. */
int thread_start(pthread_t *ret_thread, size_t stack_size, void *(*run)(void *user), void *user);

/*
 * Work that the main loop must not do itself, because it waits until the scheduler has run another
 * thread. The first thread_defer() starts one thread, which does all such work in order. On a busy
 * machine this delays only that thread, not the loop. The thread waits only for the scheduler: no
 * peer can block the work.
 */
struct deferred {
	struct deferred *next;
	void (*run)(struct deferred *deferred);
};

/*
 * Queues the work; never blocks. Returns 0, or a negative errno if there is no thread; the caller
 * then still owns the memory.
 */
int thread_defer(struct deferred *deferred);
/*
 * Frees the memory that begins with `deferred` in a later thread_defer(). Other threads must not
 * call free() for memory of the loop: the loop would wait for a thread that is preempted inside
 * free().
 */
void thread_free_later(struct deferred *deferred);

#endif
