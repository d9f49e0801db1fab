/* SPDX-License-Identifier: MIT */
/* State dump: both modes, requests by key, cancel, begin and end events, the agent thread. */
#include "event.h"

#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "tasks.h"

/* One tracer: the notifications it received, as text: "begin(name)", "dump", "end(name)". */
struct tracer {
	uint64_t key;
	char heard[4096];
	struct side_tracer_handle *handle;
};

static pthread_mutex_t heard_lock = PTHREAD_MUTEX_INITIALIZER;
static struct test_event item; /* the event that dumps emit */

static void hear(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	struct tracer *tracer = priv;
	const char *name = side_ptr_get(desc->event_name);
	char word[64];

	(void)caller;
	if (!strncmp(name, "statedump_", 10)) {
		const struct side_arg *arg = side_ptr_get(args->sav);

		CHECK_EQUAL(args->len, 1);
		CHECK_EQUAL(side_enum_get(arg->type), SIDE_TYPE_STRING_UTF8);
		snprintf(word, sizeof(word), "%s(%s) ", name + 10,
				(const char *)side_ptr_get(arg->u.side_static.string_value));
	} else {
		snprintf(word, sizeof(word), "%s ", name);
	}
	pthread_mutex_lock(&heard_lock);
	CHECK(strlen(tracer->heard) + strlen(word) < sizeof(tracer->heard));
	strcat(tracer->heard, word);
	pthread_mutex_unlock(&heard_lock);
}

static void notified(enum side_tracer_notification notif, struct side_event_description **events,
		uint32_t nr_events, void *priv)
{
	struct tracer *tracer = priv;
	uint32_t i;

	for (i = 0; i < nr_events; i++) {
		if (!events[i])
			continue;
		if (notif == SIDE_TRACER_NOTIFICATION_INSERT_EVENTS)
			CHECK_EQUAL(side_tracer_callback_register(
						    events[i], hear, tracer, tracer->key),
					0);
		else
			CHECK_EQUAL(side_tracer_callback_unregister(
						    events[i], hear, tracer, tracer->key),
					0);
	}
}

static void tracer_start(struct tracer *tracer)
{
	memset(tracer, 0, sizeof(*tracer));
	CHECK_EQUAL(side_tracer_request_key(&tracer->key), 0);
	tracer->handle = side_tracer_event_notification_register(notified, tracer);
	CHECK(tracer->handle);
}

static void expect_heard(struct tracer *tracer, const char *expected)
{
	pthread_mutex_lock(&heard_lock);
	if (strcmp(tracer->heard, expected)) {
		fprintf(stderr, "heard \"%s\", expected \"%s\"\n", tracer->heard, expected);
		abort();
	}
	tracer->heard[0] = '\0';
	pthread_mutex_unlock(&heard_lock);
}

static void emit_item(void *key)
{
	struct side_arg_vec args = {.len = 0};

	if (__atomic_load_n(&item.state.enabled, __ATOMIC_RELAXED))
		side_statedump_call(&item.state.parent, &args, key);
}

static uint64_t dumped_keys[64];
static int dumps;

static void dump(void *key)
{
	memcpy(&dumped_keys[dumps % 64], key, sizeof(uint64_t));
	__atomic_add_fetch(&dumps, 1, __ATOMIC_SEQ_CST);
	emit_item(key);
}

static void wait_for_dumps(int expected)
{
	int ms;

	for (ms = 0; ms < 5000 && __atomic_load_n(&dumps, __ATOMIC_SEQ_CST) < expected; ms++)
		usleep(1000);
	CHECK_EQUAL(__atomic_load_n(&dumps, __ATOMIC_SEQ_CST), expected);
}

static void test_polling(void)
{
	struct side_statedump_request_handle *state;
	struct tracer a, b;

	tracer_start(&a);
	tracer_start(&b);
	state = side_statedump_request_notification_register(
			"poll", dump, SIDE_STATEDUMP_MODE_POLLING);
	CHECK(state);
	CHECK_EQUAL(dumps, 0);
	CHECK(side_statedump_poll_pending_requests(state));
	CHECK_EQUAL(side_statedump_run_pending_requests(state), SIDE_ERROR_OK);
	/* The first one is for all tracers. */
	CHECK_EQUAL(dumps, 1);
	CHECK_EQUAL(dumped_keys[0], 0);
	expect_heard(&a, "begin(poll) item end(poll) ");
	expect_heard(&b, "begin(poll) item end(poll) ");
	CHECK(!side_statedump_poll_pending_requests(state));
	CHECK_EQUAL(side_statedump_run_pending_requests(state), SIDE_ERROR_OK);
	CHECK_EQUAL(dumps, 1);

	CHECK_EQUAL(side_tracer_statedump_request(b.key), SIDE_ERROR_OK);
	CHECK(side_statedump_poll_pending_requests(state));
	CHECK_EQUAL(side_statedump_run_pending_requests(state), SIDE_ERROR_OK);
	expect_heard(&a, "");
	expect_heard(&b, "begin(poll) item end(poll) ");

	/* Many at once, the same one twice, one cancelled. */
	CHECK_EQUAL(side_tracer_statedump_request(b.key), SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_statedump_request(a.key), SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_statedump_request(b.key), SIDE_ERROR_OK);
	CHECK_EQUAL(side_statedump_run_pending_requests(state), SIDE_ERROR_OK);
	expect_heard(&a, "begin(poll) item end(poll) ");
	expect_heard(&b, "begin(poll) item end(poll) ");
	CHECK_EQUAL(side_tracer_statedump_request(b.key), SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_statedump_request(a.key), SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_statedump_request_cancel(b.key), SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_statedump_request_cancel(12345), SIDE_ERROR_OK);
	CHECK_EQUAL(side_statedump_run_pending_requests(state), SIDE_ERROR_OK);
	expect_heard(&a, "begin(poll) item end(poll) ");
	expect_heard(&b, "");

	side_tracer_event_notification_unregister(a.handle);
	side_tracer_event_notification_unregister(b.handle);
	side_statedump_request_notification_unregister(state);
}

static void test_refusals(void)
{
	struct side_statedump_request_handle *state;
	uint64_t key;

	for (key = 0; key < 8; key++) {
		CHECK_EQUAL(side_tracer_statedump_request(key), SIDE_ERROR_INVAL);
		CHECK_EQUAL(side_tracer_statedump_request_cancel(key), SIDE_ERROR_INVAL);
	}
	CHECK(!side_statedump_request_notification_register(
			NULL, dump, SIDE_STATEDUMP_MODE_POLLING));
	CHECK(!side_statedump_request_notification_register(
			"x", NULL, SIDE_STATEDUMP_MODE_POLLING));
	CHECK(!side_statedump_request_notification_register(
			"x", dump, (enum side_statedump_mode)7));
	side_statedump_request_notification_unregister(NULL);
	CHECK(!side_statedump_poll_pending_requests(NULL));
	CHECK_EQUAL(side_statedump_run_pending_requests(NULL), SIDE_ERROR_INVAL);
	state = side_statedump_request_notification_register(
			"agent", dump, SIDE_STATEDUMP_MODE_AGENT_THREAD);
	CHECK(state);
	CHECK(!side_statedump_poll_pending_requests(state));
	CHECK_EQUAL(side_statedump_run_pending_requests(state), SIDE_ERROR_INVAL);
	side_statedump_request_notification_unregister(state);
}

/* A program that never polls: a key is queued once, and the number of keys is limited. */
static void test_bounded_queue(void)
{
	struct side_statedump_request_handle *state;
	uint64_t key;
	int result = SIDE_ERROR_OK, before = dumps, i;

	test_take_keys(100000);
	state = side_statedump_request_notification_register(
			"never", dump, SIDE_STATEDUMP_MODE_POLLING);
	for (i = 0; i < 100000; i++)
		CHECK_EQUAL(side_tracer_statedump_request(77), SIDE_ERROR_OK);
	for (key = 100; key < 100000 && result == SIDE_ERROR_OK; key++)
		result = side_tracer_statedump_request(key);
	CHECK_EQUAL(result, SIDE_ERROR_NOMEM);
	/* A key that is queued is accepted again. */
	CHECK_EQUAL(side_tracer_statedump_request(77), SIDE_ERROR_OK);
	CHECK_EQUAL(side_statedump_run_pending_requests(state), SIDE_ERROR_OK);
	CHECK_EQUAL(dumps - before, 1024);
	side_statedump_request_notification_unregister(state);
}

static void request_again(void *key)
{
	dump(key);
	CHECK_EQUAL(side_tracer_statedump_request(50), SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_statedump_request_cancel(51), SIDE_ERROR_OK);
}

/* A request from inside a dump is served by the next run, otherwise the dump would never end. */
static void test_request_inside(void)
{
	struct side_statedump_request_handle *state;
	int before = dumps;

	state = side_statedump_request_notification_register(
			"again", request_again, SIDE_STATEDUMP_MODE_POLLING);
	CHECK_EQUAL(side_tracer_statedump_request(50), SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_statedump_request(51), SIDE_ERROR_OK);
	CHECK_EQUAL(side_statedump_run_pending_requests(state), SIDE_ERROR_OK);
	/* 0, and 50; 51 was cancelled; the second 50 waits. */
	CHECK_EQUAL(dumps - before, 2);
	CHECK(side_statedump_poll_pending_requests(state));
	CHECK_EQUAL(side_statedump_run_pending_requests(state), SIDE_ERROR_OK);
	CHECK_EQUAL(dumps - before, 3);
	side_statedump_request_notification_unregister(state);
}

static uint64_t blocked_signals_of_agent;

static void note_thread(void *key)
{
	sigset_t blocked;
	int i;

	dump(key);
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	for (i = 1; i < 64; i++) {
		if (sigismember(&blocked, i) == 1)
			blocked_signals_of_agent |= (uint64_t)1 << i;
	}
}

static void test_agent(void)
{
	struct side_statedump_request_handle *state, *second;
	struct tracer a;
	sigset_t mine;
	uint64_t all = 0;
	int before = dumps, i;

	CHECK(tasks_without("side-statedump"));
	tracer_start(&a);
	state = side_statedump_request_notification_register(
			"agent", note_thread, SIDE_STATEDUMP_MODE_AGENT_THREAD);
	CHECK(state);
	/* The dump has ended when registration returns. */
	CHECK_EQUAL(dumps - before, 1);
	expect_heard(&a, "begin(agent) item end(agent) ");
	CHECK_EQUAL(tasks_named("side-statedump"), 1);
	for (i = 1; i < 64; i++) {
		/* Those that can be blocked, and that the C library does not keep for itself. */
		if (i != SIGKILL && i != SIGSTOP && i != 32 && i != 33)
			all |= (uint64_t)1 << i;
	}
	CHECK((blocked_signals_of_agent & all) == all);
	pthread_sigmask(SIG_SETMASK, NULL, &mine);
	CHECK(!sigismember(&mine, SIGTERM));

	second = side_statedump_request_notification_register(
			"second", dump, SIDE_STATEDUMP_MODE_AGENT_THREAD);
	CHECK_EQUAL(dumps - before, 2);
	expect_heard(&a, "begin(second) item end(second) ");
	CHECK_EQUAL(tasks_named("side-statedump"), 1);
	CHECK_EQUAL(side_tracer_statedump_request(a.key), SIDE_ERROR_OK);
	wait_for_dumps(before + 4);
	side_statedump_request_notification_unregister(state);
	CHECK_EQUAL(tasks_named("side-statedump"), 1);
	side_statedump_request_notification_unregister(second);
	CHECK(tasks_without("side-statedump"));
	side_tracer_event_notification_unregister(a.handle);
}

static int stop;

static void *request_all_the_time(void *key)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		CHECK_EQUAL(side_tracer_statedump_request((uint64_t)(uintptr_t)key), 0);
		if ((uintptr_t)key % 2)
			CHECK_EQUAL(side_tracer_statedump_request_cancel((uint64_t)(uintptr_t)key),
					0);
	}
	return NULL;
}

static int quick_dumps;

static void quick_dump(void *key)
{
	(void)key;
	__atomic_add_fetch(&quick_dumps, 1, __ATOMIC_SEQ_CST);
}

static void *register_all_the_time(void *mode)
{
	int i;

	for (i = 0; i < 100; i++) {
		struct side_statedump_request_handle *state;

		state = side_statedump_request_notification_register("load", quick_dump,
				mode ? SIDE_STATEDUMP_MODE_AGENT_THREAD
				     : SIDE_STATEDUMP_MODE_POLLING);
		CHECK(state);
		if (!mode)
			CHECK_EQUAL(side_statedump_run_pending_requests(state), 0);
		side_statedump_request_notification_unregister(state);
	}
	return NULL;
}

/* Registration returns after its own dump, even if others request dumps all the time. */
static void test_load(void)
{
	struct side_statedump_request_handle *state, *busy;
	pthread_t threads[6];
	int i;

	busy = side_statedump_request_notification_register(
			"busy", quick_dump, SIDE_STATEDUMP_MODE_AGENT_THREAD);
	for (i = 0; i < 4; i++)
		CHECK(!pthread_create(&threads[i], NULL, request_all_the_time,
				(void *)(uintptr_t)(20 + i)));
	for (; i < 6; i++)
		CHECK(!pthread_create(&threads[i], NULL, register_all_the_time,
				(void *)(uintptr_t)(i % 2)));
	for (i = 0; i < 50; i++) {
		int before = __atomic_load_n(&dumps, __ATOMIC_SEQ_CST);

		state = side_statedump_request_notification_register(
				"new", dump, SIDE_STATEDUMP_MODE_AGENT_THREAD);
		CHECK(state);
		CHECK(__atomic_load_n(&dumps, __ATOMIC_SEQ_CST) > before);
		side_statedump_request_notification_unregister(state);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 6; i++)
		CHECK(!pthread_join(threads[i], NULL));
	side_statedump_request_notification_unregister(busy);
	CHECK(quick_dumps >= 201);
	CHECK(tasks_without("side-statedump"));
}

static struct side_statedump_request_handle *own;

static void unregister_own(void *key)
{
	(void)key;
	side_statedump_request_notification_unregister(own);
}

/* Forbidden, but it must not hang or crash. */
static void test_unregister_inside(void)
{
	own = side_statedump_request_notification_register(
			"own", unregister_own, SIDE_STATEDUMP_MODE_POLLING);
	CHECK_EQUAL(side_statedump_run_pending_requests(own), SIDE_ERROR_OK);
}

static void register_batch(void *key)
{
	static struct test_event event;
	static struct side_event_description *events[] = {&event.desc};
	struct side_events_register_handle *batch;

	(void)key;
	test_event_init(&event, "inside", 0);
	batch = side_events_register(events, 1);
	CHECK(batch);
	side_events_unregister(batch);
}

/* A dump may register events while a tracer is registered. */
static void test_register_events_inside(void)
{
	struct side_statedump_request_handle *state;
	struct tracer a;

	tracer_start(&a);
	state = side_statedump_request_notification_register(
			"events", register_batch, SIDE_STATEDUMP_MODE_AGENT_THREAD);
	CHECK(state);
	side_statedump_request_notification_unregister(state);
	side_tracer_event_notification_unregister(a.handle);
}

/* ---- a dump that waits for a lock of the registering thread ---- */

static int nr_visits;

static int visit_object(struct dl_phdr_info *object, size_t size, void *user)
{
	(void)object;
	(void)size;
	(void)user;
	__atomic_add_fetch(&nr_visits, 1, __ATOMIC_RELAXED);
	return 1;
}

/* The loader's lock. */
static void dump_with_loader(void *key)
{
	(void)key;
	dl_iterate_phdr(visit_object, NULL);
}

static struct side_statedump_request_handle *locked_state;

static int register_under_lock(struct dl_phdr_info *object, size_t size, void *user)
{
	(void)object;
	(void)size;
	(void)user;
	locked_state = side_statedump_request_notification_register(
			"locked", dump_with_loader, SIDE_STATEDUMP_MODE_AGENT_THREAD);
	return 1;
}

/* Returns the nanoseconds for which this thread was ready to run, but no processor was free. */
static uint64_t delayed_ns(void)
{
	unsigned long long ran, delayed = 0;
	FILE *file = fopen("/proc/thread-self/schedstat", "re");

	if (!file || fscanf(file, "%llu %llu", &ran, &delayed) != 2)
		delayed = 0;
	if (file)
		fclose(file);
	return delayed;
}

/*
 * Returns the time of one registration under the loader's lock, without the time in which no
 * processor was free.
 */
static uint64_t registration_ns(void)
{
	uint64_t delayed = delayed_ns(), ns;
	struct timespec begin, end;

	__atomic_store_n(&nr_visits, 0, __ATOMIC_RELAXED);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	dl_iterate_phdr(register_under_lock, NULL);
	clock_gettime(CLOCK_MONOTONIC, &end);
	ns = (uint64_t)(end.tv_sec - begin.tv_sec) * 1000000000 + (uint64_t)end.tv_nsec -
			(uint64_t)begin.tv_nsec - (delayed_ns() - delayed);
	CHECK(locked_state);
	/* The dump happens as soon as the lock is free. */
	while (!__atomic_load_n(&nr_visits, __ATOMIC_RELAXED))
		usleep(1000);
	side_statedump_request_notification_unregister(locked_state);
	return ns;
}

/*
 * As in a constructor that dlopen() runs, a registration waits for at most 100 ms. Takes the best
 * of several attempts, because a virtual machine can pause.
 */
static void test_loader_lock(void)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t ns = registration_ns();

		best = ns < best ? ns : best;
	}
	CHECK(best < 105000000);
}

int main(void)
{
	struct side_event_description *events[] = {&item.desc};
	struct side_events_register_handle *batch;

	alarm(60);
	test_event_init(&item, "item", 0);
	batch = side_events_register(events, 1);
	test_loader_lock();
	test_polling();
	test_refusals();
	test_bounded_queue();
	test_request_inside();
	test_agent();
	test_load();
	test_unregister_inside();
	test_register_events_inside();
	side_events_unregister(batch);
	return 0;
}
