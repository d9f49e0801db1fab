/* SPDX-License-Identifier: MIT */
/*
 * Operations for tracers that change their configuration: replacing a callback, all batches, the
 * event lock in handlers, and asynchronous grace periods.
 */
#include "event.h"

#include <pthread.h>
#include <signal.h>
#include <sched.h>
#include <unistd.h>

enum { THREADS = 3, SWAPS = 2000 };

static struct test_event event, second;

static void count(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	(void)desc;
	(void)args;
	(void)caller;
	__atomic_add_fetch((unsigned long *)priv, 1, __ATOMIC_RELAXED);
}

static void test_replace(void)
{
	unsigned long a = 0, b = 0, c = 0;

	CHECK_EQUAL(side_tracer_callback_replace(&event.desc, count, &a, count, &b, 9),
			SIDE_ERROR_NOENT);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, count, &a, 9), SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, count, &c, 9), SIDE_ERROR_OK);
	test_event_emit(&event);
	CHECK_EQUAL(side_tracer_callback_replace(&event.desc, count, &a, count, &b, 10),
			SIDE_ERROR_NOENT);
	CHECK_EQUAL(side_tracer_callback_replace(&event.desc, count, &a, count, &c, 9),
			SIDE_ERROR_EXIST);
	CHECK_EQUAL(side_tracer_callback_replace(&event.desc, count, &a, NULL, &b, 9),
			SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_tracer_callback_replace(&event.desc, count, &a, count, &b, 9),
			SIDE_ERROR_OK);
	test_event_emit(&event);
	CHECK_EQUAL(a, 1);
	CHECK_EQUAL(b, 1);
	CHECK_EQUAL(c, 2);
	CHECK_EQUAL(event.state.enabled, 1);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, count, &a, 9), SIDE_ERROR_NOENT);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, count, &b, 9), SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, count, &c, 9), SIDE_ERROR_OK);
	CHECK_EQUAL(event.state.enabled, 0);
}

/* ---- each call reaches one of the two ---- */

static bool stop;

static void *emit(void *emitted)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		test_event_emit(&event);
		++*(unsigned long *)emitted;
	}
	return NULL;
}

/* Each block is used by one generation of the callback, and poisoned when no thread can read it. */
static void test_replace_under_load(void)
{
	unsigned long emitted[THREADS] = {0}, sum = 0, total = 0;
	pthread_t threads[THREADS];
	unsigned long *now = calloc(1, sizeof(*now));
	unsigned int i;

	CHECK(now);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, count, now, 9), SIDE_ERROR_OK);
	for (i = 0; i < THREADS; i++)
		CHECK_EQUAL(pthread_create(&threads[i], NULL, emit, &emitted[i]), 0);
	for (i = 0; i < SWAPS; i++) {
		unsigned long *next = calloc(1, sizeof(*next));
		uint64_t grace;

		CHECK(next);
		CHECK_EQUAL(side_tracer_callback_replace(&event.desc, count, now, count, next, 9),
				SIDE_ERROR_OK);
		grace = side_tracer_grace_begin();
		if (i % 2)
			while (!side_tracer_grace_passed(grace))
				sched_yield();
		else
			CHECK_EQUAL(side_tracer_synchronize(), SIDE_ERROR_OK);
		CHECK(side_tracer_grace_passed(grace));
		sum += *now;
		free(now);
		now = next;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < THREADS; i++) {
		CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
		total += emitted[i];
	}
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, count, now, 9), SIDE_ERROR_OK);
	CHECK_EQUAL(sum + *now, total);
	free(now);
}

/* ---- all batches ---- */

struct walk {
	unsigned int nr, with_event, with_second;
	struct side_events_register_handle *to_remove;
};

static void visit(struct side_event_description **events, uint32_t nr_events, void *user)
{
	struct walk *walk = user;
	uint32_t i;

	walk->nr++;
	for (i = 0; i < nr_events; i++) {
		walk->with_event += events[i] == &event.desc;
		walk->with_second += events[i] == &second.desc;
	}
	/* This thread holds the lock: removed callbacks are not visited any more. */
	side_events_unregister(walk->to_remove);
	walk->to_remove = NULL;
}

static void test_each_batch(void)
{
	struct side_event_description *events[] = {&event.desc}, *seconds[] = {&second.desc};
	struct side_events_register_handle *one = side_events_register(events, 1);
	struct side_events_register_handle *two = side_events_register(seconds, 1);
	struct walk walk = {0};
	unsigned int before;

	CHECK(one && two);
	CHECK_EQUAL(side_tracer_each_batch(NULL, NULL), SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_tracer_each_batch(visit, &walk), SIDE_ERROR_OK);
	CHECK_EQUAL(walk.with_event, 1);
	CHECK_EQUAL(walk.with_second, 1);
	before = walk.nr;
	walk = (struct walk){.to_remove = two};
	CHECK_EQUAL(side_tracer_each_batch(visit, &walk), SIDE_ERROR_OK);
	CHECK_EQUAL(walk.nr, before - 1);
	CHECK_EQUAL(walk.with_second, 0);
	side_events_unregister(one);
}

/* ---- the lock ---- */

static unsigned long hook_calls;
static int failed, succeeded;

static void hook(void)
{
	__atomic_add_fetch(&hook_calls, 1, __ATOMIC_RELAXED);
	/* Free for a thread that was too late. */
	if (side_tracer_trylock()) {
		__atomic_add_fetch(&succeeded, 1, __ATOMIC_RELAXED);
		side_tracer_unlock();
	}
}

static void handler(int signal)
{
	(void)signal;
	if (side_tracer_trylock()) {
		__atomic_add_fetch(&succeeded, 1, __ATOMIC_RELAXED);
		side_tracer_unlock();
	} else {
		__atomic_add_fetch(&failed, 1, __ATOMIC_RELAXED);
	}
}

static void *try_elsewhere(void *unused)
{
	handler(0);
	return unused;
}

static void in_a_thread(void)
{
	pthread_t thread;

	CHECK_EQUAL(pthread_create(&thread, NULL, try_elsewhere, NULL), 0);
	CHECK_EQUAL(pthread_join(thread, NULL), 0);
}

static void test_lock(void)
{
	side_tracer_unlock_hook(hook);
	CHECK(side_tracer_trylock());
	/*
	 * Its owner may take it again, but not in a handler, which cannot know what it has
	 * interrupted.
	 */
	side_tracer_lock();
	side_tracer_unlock();
	CHECK(!side_tracer_trylock());
	in_a_thread();
	CHECK_EQUAL(failed, 1);
	CHECK_EQUAL(hook_calls, 0);
	side_tracer_unlock();
	CHECK_EQUAL(hook_calls, 1);
	CHECK_EQUAL(succeeded, 1);
	raise(SIGUSR1);
	CHECK_EQUAL(succeeded, 2);
	CHECK_EQUAL(failed, 1);
	side_tracer_unlock_hook(NULL);
	side_tracer_lock();
	in_a_thread();
	side_tracer_unlock();
	CHECK_EQUAL(hook_calls, 1);
}

/* No failure stays unnoticed: after each failed attempt the hook is called. */
static void *try_often(void *unused)
{
	int i;

	for (i = 0; i < SWAPS; i++) {
		unsigned long before = __atomic_load_n(&hook_calls, __ATOMIC_RELAXED);

		if (side_tracer_trylock()) {
			side_tracer_unlock();
			continue;
		}
		while (__atomic_load_n(&hook_calls, __ATOMIC_RELAXED) == before)
			sched_yield();
	}
	return unused;
}

static void test_lock_under_load(void)
{
	pthread_t thread;
	int i;

	side_tracer_unlock_hook(hook);
	CHECK_EQUAL(pthread_create(&thread, NULL, try_often, NULL), 0);
	for (i = 0; i < SWAPS * 10; i++) {
		side_tracer_lock();
		side_tracer_unlock();
	}
	CHECK_EQUAL(pthread_join(thread, NULL), 0);
	side_tracer_unlock_hook(NULL);
}

/* ---- grace ---- */

static uint64_t begun;

static void begin_inside(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	(void)desc;
	(void)args;
	(void)priv;
	(void)caller;
	begun = side_tracer_grace_begin();
	/* Refused inside a call of this thread; and it does not wait for the call. */
	CHECK(!side_tracer_grace_passed(begun));
}

static void test_grace(void)
{
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, begin_inside, NULL, 9), 0);
	test_event_emit(&event);
	CHECK(begun && side_tracer_grace_passed(begun));
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, begin_inside, NULL, 9), 0);
	CHECK(side_tracer_grace_passed(0));
}

/* ---- state dumps, as handlers ask for them ---- */

static uint64_t dumped[4];
static unsigned int nr_dumped;
static bool asked_inside;

static void dump(void *key)
{
	memcpy(&dumped[nr_dumped++ % 4], key, sizeof(dumped[0]));
	asked_inside = side_tracer_statedump_request_try(10);
}

static void test_request(void)
{
	struct side_statedump_request_handle *handle;
	uint64_t key = 8;

	CHECK(!side_tracer_statedump_request_try(0));
	CHECK(!side_tracer_statedump_request_try(2));
	handle = side_statedump_request_notification_register(
			"test", dump, SIDE_STATEDUMP_MODE_POLLING);
	CHECK(handle);
	CHECK_EQUAL(side_statedump_run_pending_requests(handle), SIDE_ERROR_OK);
	CHECK(asked_inside);
	CHECK(side_tracer_statedump_request_try(10));
	CHECK(side_tracer_statedump_request_try(9));
	CHECK_EQUAL(side_statedump_run_pending_requests(handle), SIDE_ERROR_OK);
	CHECK_EQUAL(nr_dumped, 3);
	CHECK_EQUAL(dumped[1], 10);
	CHECK_EQUAL(dumped[2], 9);
	/* Until there is no space without malloc(). */
	while (key < 100 && side_tracer_statedump_request_try(key))
		key++;
	CHECK(key > 8 && key < 100);
	CHECK_EQUAL(side_tracer_statedump_request(key), SIDE_ERROR_OK);
	CHECK(side_tracer_statedump_request_try(key));
	side_statedump_request_notification_unregister(handle);
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler};

	test_take_keys(15);
	alarm(100);
	CHECK_EQUAL(sigaction(SIGUSR1, &action, NULL), 0);
	test_event_init(&event, "event", 0);
	test_event_init(&second, "second", 0);
	test_replace();
	test_replace_under_load();
	test_each_batch();
	test_lock();
	test_lock_under_load();
	test_grace();
	test_request();
	return 0;
}
