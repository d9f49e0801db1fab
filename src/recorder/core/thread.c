/* SPDX-License-Identifier: MIT */
/*
 * Creates threads that have a small stack and block all signals, and defers work that the loop must
 * not wait for.
 */
#include "recorder/core/thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/futex.h>

#define DEFERRED_STACK (128u << 10)

/*
 * Lock-free stacks: elements are pushed one by one, and all are removed at once. So no element can
 * return while another thread reads it (no ABA problem).
 */
static _Atomic(struct deferred *) deferred_due, deferred_spent;
static _Atomic(uint32_t) deferred_calls; /* a futex; counts calls of thread_defer() */
static atomic_bool deferred_has_thread;
static _Thread_local bool is_deferred_thread;

int thread_start(pthread_t *ret_thread, size_t stack_size, void *(*run)(void *user), void *user)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	int ret = pthread_attr_init(&attributes);

	if (ret)
		return -ret;
	if (!ret_thread)
		(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	(void)pthread_attr_setstacksize(&attributes, stack_size);
	/*
	 * The new thread inherits the mask, so no signal can reach it before it could block signals
	 * itself.
	 */
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(ret_thread ? ret_thread : &thread, &attributes, run, user);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attributes);
	return -ret;
}

static void deferred_push(_Atomic(struct deferred *) *stack, struct deferred *deferred)
{
	/*
	 * Release: the element. Pairs with the acquires in deferred_run() and
	 * deferred_free_spent(). A failed exchange uses only the pointer.
	 */
	deferred->next = atomic_load_explicit(stack, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(stack, &deferred->next, deferred,
			memory_order_release, memory_order_relaxed))
		;
}

static void *deferred_run(void *user)
{
	(void)user;
	is_deferred_thread = true;
	(void)prctl(PR_SET_NAME, "side-deferred");
	for (;;) {
		/*
		 * Acquire: pairs with the release in thread_defer(). The stack has every element
		 * whose call is counted.
		 */
		uint32_t calls = atomic_load_explicit(&deferred_calls, memory_order_acquire);
		/* Acquire: the elements. Pairs with the release in deferred_push(). */
		struct deferred *deferred =
				atomic_exchange_explicit(&deferred_due, NULL, memory_order_acquire);

		if (!deferred)
			(void)syscall(SYS_futex, &deferred_calls, FUTEX_WAIT_PRIVATE, calls, NULL,
					NULL, 0);
		while (deferred) {
			/*
			 * Read the next one first: run() may free this element or defer it again.
			 */
			struct deferred *next = deferred->next;

			deferred->run(deferred);
			deferred = next;
		}
	}
	return NULL;
}

static void deferred_free_spent(void)
{
	/* Acquire: the elements. Pairs with the release in deferred_push(). */
	struct deferred *deferred =
			atomic_exchange_explicit(&deferred_spent, NULL, memory_order_acquire);

	while (deferred) {
		struct deferred *next = deferred->next;

		free(deferred);
		deferred = next;
	}
}

/*
 * Call in the child after fork(): the child has no such thread, and descriptors of deferred work
 * belong to the parent.
 */
static void deferred_forget(void)
{
	/* Relaxed: the child has only one thread. */
	atomic_store_explicit(&deferred_due, NULL, memory_order_relaxed);
	atomic_store_explicit(&deferred_spent, NULL, memory_order_relaxed);
	atomic_store_explicit(&deferred_has_thread, false, memory_order_relaxed);
	is_deferred_thread = false;
}

static int deferred_begin(void)
{
	static atomic_bool has_handler;
	int ret;

	/*
	 * Relaxed, in this function: one caller starts the thread, which reads nothing that the
	 * caller has written.
	 */
	if (atomic_exchange_explicit(&deferred_has_thread, true, memory_order_relaxed))
		return 0;
	ret = atomic_exchange_explicit(&has_handler, true, memory_order_relaxed)
			? 0
			: -pthread_atfork(NULL, NULL, deferred_forget);
	if (ret)
		atomic_store_explicit(&has_handler, false, memory_order_relaxed);
	else
		ret = thread_start(NULL, DEFERRED_STACK, deferred_run, NULL);
	if (ret)
		atomic_store_explicit(&deferred_has_thread, false, memory_order_relaxed);
	return ret;
}

int thread_defer(struct deferred *deferred)
{
	int ret;

	if (!is_deferred_thread)
		deferred_free_spent();
	ret = deferred_begin();
	if (ret)
		return ret;
	deferred_push(&deferred_due, deferred);
	/* Release: pairs with the acquire in deferred_run(). */
	atomic_fetch_add_explicit(&deferred_calls, 1, memory_order_release);
	(void)syscall(SYS_futex, &deferred_calls, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	return 0;
}

void thread_free_later(struct deferred *deferred)
{
	deferred_push(&deferred_spent, deferred);
}
