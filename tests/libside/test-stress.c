/* SPDX-License-Identifier: MIT */
/*
 * Threads that emit while others register, unregister, fork, and load libraries.
 *
 * The invariant: each callback has a private object that is poisoned when unregistration has
 * returned; a callback that sees poison, or an object of the wrong event, ran after its
 * unregistration.
 */
#include "event.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	EVENTS = 4,
	EMITTERS = 3,
	CHANGERS = 3,
	ALIVE = 0x600d,
	POISON = 0xdead,
};

static struct test_event *events[EVENTS];
static int stop;

struct subscription {
	unsigned int state;
	struct test_event *event;
	uint64_t calls;
};

static void use(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	struct subscription *subscription = priv;

	(void)args;
	(void)caller;
	CHECK_EQUAL(__atomic_load_n(&subscription->state, __ATOMIC_RELAXED), ALIVE);
	CHECK(&subscription->event->desc == desc);
	__atomic_add_fetch(&subscription->calls, 1, __ATOMIC_RELAXED);
}

static void use_and_emit(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	static __thread int depth;

	use(desc, args, priv, caller);
	if (depth++ < 2)
		test_event_emit(events[(unsigned int)depth % EVENTS]);
	depth--;
}

static int stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_RELAXED);
}

static void *emitter(void *unused)
{
	unsigned int i = 0;

	(void)unused;
	while (!stopped())
		test_event_emit(events[i++ % EVENTS]);
	return NULL;
}

static void check_and_free(struct subscription *subscription)
{
	__atomic_store_n(&subscription->state, POISON, __ATOMIC_RELAXED);
	free(subscription);
}

/* One at a time, with a wait for each. */
static void *changer(void *seed_)
{
	unsigned int seed = (unsigned int)(uintptr_t)seed_;

	while (!stopped()) {
		struct subscription *subscription = calloc(1, sizeof(*subscription));
		side_tracer_callback_func call = rand_r(&seed) % 2 ? use : use_and_emit;
		uint64_t key = rand_r(&seed) % 2 ? 0 : 8 + (uint64_t)rand_r(&seed) % 4;

		subscription->state = ALIVE;
		subscription->event = events[(unsigned int)rand_r(&seed) % EVENTS];
		CHECK_EQUAL(side_tracer_callback_register(
					    &subscription->event->desc, call, subscription, key),
				0);
		if (rand_r(&seed) % 4 == 0)
			usleep(100);
		CHECK_EQUAL(side_tracer_callback_unregister(
					    &subscription->event->desc, call, subscription, key),
				0);
		check_and_free(subscription);
	}
	return NULL;
}

/* Many, with one wait for all. */
static void *batch_changer(void *seed)
{
	(void)seed;
	while (!stopped()) {
		struct subscription *all[16];
		int i;

		for (i = 0; i < 16; i++) {
			all[i] = calloc(1, sizeof(**all));
			all[i]->state = ALIVE;
			all[i]->event = events[i % EVENTS];
			CHECK_EQUAL(side_tracer_callback_register(
						    &all[i]->event->desc, use, all[i], 0),
					0);
		}
		for (i = 0; i < 16; i++)
			CHECK_EQUAL(side_tracer_callback_unregister_async(
						    &all[i]->event->desc, use, all[i], 0),
					0);
		CHECK_EQUAL(side_tracer_synchronize(), 0);
		for (i = 0; i < 16; i++)
			check_and_free(all[i]);
	}
	return NULL;
}

/*
 * A tracer that registers and unregisters repeatedly, and enables the events of its notifications.
 */
static void notified(enum side_tracer_notification notif, struct side_event_description **array,
		uint32_t nr_events, void *priv)
{
	struct subscription *subscriptions = priv;
	uint32_t i;
	int j;

	for (i = 0; i < nr_events; i++) {
		for (j = 0; j < EVENTS; j++) {
			if (array[i] != &events[j]->desc)
				continue;
			if (notif == SIDE_TRACER_NOTIFICATION_INSERT_EVENTS)
				CHECK_EQUAL(side_tracer_callback_register(
							    array[i], use, &subscriptions[j], 9),
						0);
			else
				CHECK_EQUAL(side_tracer_callback_unregister(
							    array[i], use, &subscriptions[j], 9),
						0);
		}
	}
}

static void *tracer(void *unused)
{
	(void)unused;
	while (!stopped()) {
		struct subscription *subscriptions = calloc(EVENTS, sizeof(*subscriptions));
		struct side_tracer_handle *handle;
		int i;

		for (i = 0; i < EVENTS; i++) {
			subscriptions[i].state = ALIVE;
			subscriptions[i].event = events[i];
		}
		handle = side_tracer_event_notification_register(notified, subscriptions);
		CHECK(handle);
		usleep(200);
		side_tracer_event_notification_unregister(handle);
		for (i = 0; i < EVENTS; i++)
			subscriptions[i].state = POISON;
		free(subscriptions);
	}
	return NULL;
}

static void *loader(void *path)
{
	while (!stopped()) {
		void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		void (*emit)(void);

		if (!library) {
			fprintf(stderr, "%s\n", dlerror());
			abort();
		}
		*(void **)&emit = dlsym(library, "plugin_emit");
		CHECK(emit);
		emit();
		CHECK(!dlclose(library));
		usleep(100);
	}
	return NULL;
}

/* Threads with one event each: their readers are reused. */
static void *one_event(void *unused)
{
	(void)unused;
	test_event_emit(events[0]);
	return NULL;
}

static void *spawner(void *unused)
{
	(void)unused;
	while (!stopped()) {
		pthread_t threads[4];
		int i;

		for (i = 0; i < 4; i++)
			CHECK(!pthread_create(&threads[i], NULL, one_event, NULL));
		for (i = 0; i < 4; i++)
			CHECK(!pthread_join(threads[i], NULL));
	}
	return NULL;
}

/* In the child: emit, register, unregister, exit. */
static void fork_once(void)
{
	struct subscription subscription = {.state = ALIVE, .event = events[1]};
	int status;
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child) {
		alarm(20);
		test_event_emit(events[0]);
		CHECK_EQUAL(side_tracer_callback_register(&events[1]->desc, use, &subscription, 0),
				0);
		test_event_emit(events[1]);
		CHECK(subscription.calls >= 1); /* callbacks of the parent may emit it too */
		CHECK_EQUAL(side_tracer_callback_unregister(
					    &events[1]->desc, use, &subscription, 0),
				0);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "the child ended with status %#x\n", (unsigned int)status);
		abort();
	}
}

static void handler(int signal)
{
	(void)signal;
	test_event_emit(events[3]);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct side_event_description *array[EVENTS];
	struct side_events_register_handle *batch;
	pthread_t threads[EMITTERS + CHANGERS + 4];
	int i, nr = 0, forks = 0;
	test_take_keys(15);
	double end;
	/* Skipped in this run: the race sanitizer does not support fork(). */
	int with_fork = argc > 2 && !strcmp(argv[2], "fork");

	alarm(test_is_long() ? 400 : 60);
	for (i = 0; i < EVENTS; i++) {
		events[i] = test_event_new("stress", 0);
		array[i] = &events[i]->desc;
	}
	batch = side_events_register(array, EVENTS);
	CHECK(batch);
	signal(SIGUSR1, handler);
	for (i = 0; i < EMITTERS; i++)
		CHECK(!pthread_create(&threads[nr++], NULL, emitter, NULL));
	for (i = 0; i < CHANGERS - 1; i++)
		CHECK(!pthread_create(&threads[nr++], NULL, changer, (void *)(uintptr_t)(i + 1)));
	CHECK(!pthread_create(&threads[nr++], NULL, batch_changer, NULL));
	CHECK(!pthread_create(&threads[nr++], NULL, tracer, NULL));
	CHECK(!pthread_create(&threads[nr++], NULL, spawner, NULL));
	if (argc > 1)
		CHECK(!pthread_create(&threads[nr++], NULL, loader, argv[1]));
	end = now() + (test_is_long() ? 120 : 1.5);
	while (now() < end) {
		for (i = 0; i < EMITTERS; i++)
			pthread_kill(threads[i], SIGUSR1);
		if (with_fork) {
			fork_once();
			forks++;
		}
		usleep(2000);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	while (nr)
		CHECK(!pthread_join(threads[--nr], NULL));
	for (i = 0; i < EVENTS; i++)
		CHECK_EQUAL(events[i]->state.enabled, 0);
	side_events_unregister(batch);
	for (i = 0; i < EVENTS; i++)
		free(events[i]);
	CHECK(!with_fork || forks > 0);
	return 0;
}
