/* SPDX-License-Identifier: MIT */
/*
 * Unregistration waits for exactly the threads in the callback; memory of replaced arrays does not
 * grow; readers of exited threads are reused.
 */
#include "event.h"

#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

enum {
	THREADS = 200, /* more than the readers that need no allocation */
};

static struct test_event event;
static sem_t inside, go_on;
static int unregistered;

static void stay(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	(void)desc;
	(void)args;
	(void)priv;
	(void)caller;
	sem_post(&inside);
	while (sem_wait(&go_on))
		;
	/* Not returned yet. */
	CHECK(!__atomic_load_n(&unregistered, __ATOMIC_SEQ_CST));
}

static void count(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	(void)desc;
	(void)args;
	(void)caller;
	__atomic_add_fetch((int *)priv, 1, __ATOMIC_RELAXED);
}

static void *emit(void *unused)
{
	(void)unused;
	test_event_emit(&event);
	return NULL;
}

static void *unregister(void *unused)
{
	(void)unused;
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, stay, NULL, 0), 0);
	__atomic_store_n(&unregistered, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void test_waits_for_all(void)
{
	pthread_t threads[THREADS], waiter;
	struct test_event other;
	int i, calls = 0;

	CHECK_EQUAL(side_tracer_callback_register(&event.desc, stay, NULL, 0), 0);
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, emit, NULL));
	for (i = 0; i < THREADS; i++)
		sem_wait(&inside);
	CHECK(!pthread_create(&waiter, NULL, unregister, NULL));
	usleep(20000);
	CHECK(!__atomic_load_n(&unregistered, __ATOMIC_SEQ_CST));
	/* Other threads are not delayed meanwhile: a waiting thread holds no lock. */
	test_event_init(&other, "other", 0);
	CHECK_EQUAL(side_tracer_callback_register(&other.desc, count, &calls, 0), 0);
	test_event_emit(&other);
	CHECK_EQUAL(calls, 1);
	CHECK_EQUAL(side_tracer_callback_unregister_async(&other.desc, count, &calls, 0), 0);
	for (i = 0; i < THREADS; i++)
		sem_post(&go_on);
	CHECK(!pthread_join(waiter, NULL));
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK(unregistered);
}

static void leave(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	(void)desc;
	(void)args;
	(void)priv;
	(void)caller;
	pthread_exit(NULL);
}

/* Forbidden, but unregistration must not wait for an exited thread for ever. */
static void test_thread_ends_inside(void)
{
	pthread_t thread;

	CHECK_EQUAL(side_tracer_callback_register(&event.desc, leave, NULL, 0), 0);
	CHECK(!pthread_create(&thread, NULL, emit, NULL));
	CHECK(!pthread_join(thread, NULL));
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, leave, NULL, 0), 0);
}

static void test_memory(void)
{
	int calls[8] = {0}, i;
	size_t before, after;

	for (i = 0; i < 8; i++)
		CHECK_EQUAL(side_tracer_callback_register(&event.desc, count, &calls[i], 0), 0);
	before = mallinfo2().uordblks;
	for (i = 0; i < 100000; i++) {
		int *priv = &calls[i % 8];

		CHECK_EQUAL(side_tracer_callback_unregister_async(&event.desc, count, priv, 0), 0);
		CHECK_EQUAL(side_tracer_callback_register(&event.desc, count, priv, 0), 0);
		if (i % 16 == 0)
			test_event_emit(&event);
	}
	after = mallinfo2().uordblks;
	printf("200,000 replaced arrays: %zd bytes more in use\n", (ssize_t)(after - before));
	CHECK((ssize_t)(after - before) < 200000);
	for (i = 0; i < 8; i++)
		CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, count, &calls[i], 0), 0);
}

static size_t mapped_kb(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	size_t pages = 0;

	CHECK(file && fscanf(file, "%zu", &pages) == 1);
	fclose(file);
	return pages * 4;
}

static void test_many_short_threads(void)
{
	size_t before, after;
	pthread_t thread;
	int calls = 0, i;

	CHECK_EQUAL(side_tracer_callback_register(&event.desc, count, &calls, 0), 0);
	before = mapped_kb();
	for (i = 0; i < 3000; i++) {
		CHECK(!pthread_create(&thread, NULL, emit, NULL));
		CHECK(!pthread_join(thread, NULL));
	}
	after = mapped_kb();
	CHECK_EQUAL(calls, 3000);
	printf("3,000 threads: %zd KiB more mapped\n", (ssize_t)(after - before));
	/* A reader for each would need 188 KiB; the C library keeps thread stacks and heaps. */
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, count, &calls, 0), 0);
}

int main(void)
{
	alarm(60);
	test_event_init(&event, "event", 0);
	CHECK(!sem_init(&inside, 0, 0));
	CHECK(!sem_init(&go_on, 0, 0));
	test_waits_for_all();
	test_thread_ends_inside();
	test_memory();
	test_many_short_threads();
	return 0;
}
