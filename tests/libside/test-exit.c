/* SPDX-License-Identifier: MIT */
/*
 * The end of the library: side_exit() called directly and by the loader, calls after it, threads
 * that continue. Each case is a process of its own.
 */
#include "event.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tasks.h"

static struct test_event event;
static struct side_event_description *events[] = {&event.desc};
static int calls, removed;

static void count(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	(void)desc;
	(void)args;
	(void)priv;
	(void)caller;
	__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
}

static void notified(enum side_tracer_notification notif, struct side_event_description **array,
		uint32_t nr_events, void *priv)
{
	(void)nr_events;
	(void)priv;
	if (array != events || notif != SIDE_TRACER_NOTIFICATION_REMOVE_EVENTS)
		return;
	removed++;
	/* During the notification, a tracer can still unregister. */
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, count, NULL, 0), SIDE_ERROR_OK);
}

static void dump(void *key)
{
	(void)key;
}

static void case_by_hand(void)
{
	struct side_arg_vec args = {.len = 0};
	struct side_events_register_handle *batch = side_events_register(events, 1);
	struct side_tracer_handle *tracer = side_tracer_event_notification_register(notified, NULL);
	struct side_statedump_request_handle *agent = side_statedump_request_notification_register(
			"agent", dump, SIDE_STATEDUMP_MODE_AGENT_THREAD);
	uint64_t key;
	int i;

	CHECK(batch && tracer && agent);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, count, NULL, 0), 0);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, count, &calls, 9), 0);
	test_event_emit(&event);
	CHECK_EQUAL(calls, 2);
	CHECK_EQUAL(tasks_named("side-statedump"), 1);
	for (i = 0; i < 3; i++) {
		side_exit();
		CHECK_EQUAL(removed, 1);
		CHECK_EQUAL(event.state.enabled, 0);
		CHECK_EQUAL(tasks_count(), 1);
		side_init();
		event.state.enabled = (uintptr_t)0xc0 << (sizeof(uintptr_t) * 8 - 8);
		test_event_emit(&event);
		event.state.enabled = 0;
		side_call(&event.state.parent, &args);
		CHECK_EQUAL(calls, 2);
		CHECK(!side_events_register(events, 1));
		CHECK(!side_tracer_event_notification_register(notified, NULL));
		CHECK_EQUAL(side_tracer_callback_register(&event.desc, count, NULL, 0),
				SIDE_ERROR_EXITING);
		CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, count, NULL, 0),
				SIDE_ERROR_EXITING);
		CHECK_EQUAL(side_tracer_callback_register(&event.desc, NULL, NULL, 0),
				SIDE_ERROR_INVAL);
		CHECK_EQUAL(side_tracer_request_key(&key), SIDE_ERROR_OK);
		CHECK_EQUAL(side_tracer_statedump_request(9), SIDE_ERROR_EXITING);
		CHECK_EQUAL(side_tracer_statedump_request_cancel(9), SIDE_ERROR_EXITING);
		CHECK(!side_statedump_request_notification_register(
				"late", dump, SIDE_STATEDUMP_MODE_POLLING));
		side_events_unregister(batch);
		side_tracer_event_notification_unregister(tracer);
		side_statedump_request_notification_unregister(agent);
	}
}

static void *emit_for_ever(void *unused)
{
	(void)unused;
	for (;;)
		test_event_emit(&event);
	return NULL;
}

static void *register_for_ever(void *unused)
{
	(void)unused;
	for (;;) {
		(void)side_tracer_callback_register(&event.desc, count, NULL, 0);
		(void)side_tracer_callback_unregister(&event.desc, count, NULL, 0);
	}
	return NULL;
}

/* Destructors run while threads emit and register. */
static void case_threads(void)
{
	pthread_t thread;

	CHECK(side_events_register(events, 1));
	CHECK(side_tracer_event_notification_register(notified, NULL));
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, count, &calls, 0), 0);
	/* Holds the lock that the notification needs to unregister. */
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, count, NULL, 0), 0);
	CHECK(!pthread_create(&thread, NULL, emit_for_ever, NULL));
	CHECK(!pthread_create(&thread, NULL, emit_for_ever, NULL));
	usleep(2000);
}

static void case_registering_thread(void)
{
	pthread_t thread;

	CHECK(side_events_register(events, 1));
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, count, &calls, 0), 0);
	CHECK(!pthread_create(&thread, NULL, emit_for_ever, NULL));
	CHECK(!pthread_create(&thread, NULL, register_for_ever, NULL));
	usleep(2000);
}

static void exit_in_callback(const struct side_event_description *desc,
		const struct side_arg_vec *args, void *priv, void *caller)
{
	(void)desc;
	(void)args;
	(void)priv;
	(void)caller;
	exit(0);
}

static void case_exit_in_callback(void)
{
	CHECK(side_events_register(events, 1));
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, exit_in_callback, NULL, 0), 0);
	test_event_emit(&event);
	CHECK(!"not reached");
}

static void exit_in_notification(enum side_tracer_notification notif,
		struct side_event_description **array, uint32_t nr_events, void *priv)
{
	(void)notif;
	(void)nr_events;
	(void)priv;
	if (array == events)
		exit(0);
}

static void case_exit_in_notification(void)
{
	CHECK(side_tracer_event_notification_register(exit_in_notification, NULL));
	side_events_register(events, 1);
	CHECK(!"not reached");
}

static void exit_in_dump(void *key)
{
	(void)key;
	exit(0);
}

static void case_exit_in_dump(void)
{
	side_statedump_request_notification_register(
			"exit", exit_in_dump, SIDE_STATEDUMP_MODE_AGENT_THREAD);
	pause(); /* the agent ends the process */
}

/* The agent is in an endless dump: exit() must not wait for it for ever. */
static void never_end(void *key)
{
	if (*(uint64_t *)key)
		pause();
}

static void case_exit_with_busy_agent(void)
{
	CHECK(side_statedump_request_notification_register(
			"busy", never_end, SIDE_STATEDUMP_MODE_AGENT_THREAD));
	CHECK_EQUAL(side_tracer_statedump_request(9), 0);
	usleep(10000);
}

static void case_nothing(void)
{
	side_exit();
	side_init();
	side_exit();
}

static void run(void (*test)(void), const char *name)
{
	int status;
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child) {
		alarm(20);
		test();
		exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "%s ended with status %#x\n", name, (unsigned int)status);
		exit(1);
	}
}

int main(void)
{
	int i;

	test_take_keys(15);
	test_event_init(&event, "event", 0);
	run(case_nothing, "nothing");
	run(case_by_hand, "by hand");
	for (i = 0; i < 20; i++) {
		run(case_threads, "threads");
		run(case_registering_thread, "registering thread");
	}
	run(case_exit_in_callback, "exit in a callback");
	run(case_exit_in_notification, "exit in a notification");
	run(case_exit_in_dump, "exit in a dump");
	run(case_exit_with_busy_agent, "exit with a busy agent");
	return 0;
}
