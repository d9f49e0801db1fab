/* SPDX-License-Identifier: MIT */
/*
 * Operations that a callback may perform: unregister itself, register others, enable other events,
 * emit, register batches and tracers, fork. A deadlock is a timeout of the test, which alarm()
 * makes short.
 */
#include "event.h"

#include <sys/wait.h>
#include <unistd.h>

static struct test_event event, second;
static int calls, second_calls;

static void count_second(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	(void)desc;
	(void)args;
	(void)priv;
	(void)caller;
	second_calls++;
}

static void unregister_self(const struct side_event_description *desc,
		const struct side_arg_vec *args, void *priv, void *caller)
{
	(void)desc;
	(void)args;
	(void)caller;
	calls++;
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, unregister_self, priv, 0),
			SIDE_ERROR_OK);
	/* A wait inside a callback is refused. */
	CHECK_EQUAL(side_tracer_synchronize(), SIDE_ERROR_INVAL);
}

static void test_unregister_self(void)
{
	int i;

	for (i = 0; i < 3; i++) {
		calls = 0;
		CHECK_EQUAL(side_tracer_callback_register(&event.desc, unregister_self, NULL, 0),
				0);
		/* The second time with other callbacks before and after it. */
		if (i == 1) {
			CHECK_EQUAL(side_tracer_callback_register(
						    &event.desc, count_second, NULL, 0),
					0);
			CHECK_EQUAL(side_tracer_callback_register(
						    &event.desc, count_second, NULL, 8),
					0);
		}
		test_event_emit(&event);
		test_event_emit(&event);
		CHECK_EQUAL(calls, 1);
		if (i == 1) {
			CHECK_EQUAL(second_calls, 4);
			CHECK_EQUAL(side_tracer_callback_unregister(
						    &event.desc, count_second, NULL, 0),
					0);
			CHECK_EQUAL(side_tracer_callback_unregister(
						    &event.desc, count_second, NULL, 8),
					0);
		}
		CHECK_EQUAL(event.state.enabled, 0);
	}
	CHECK_EQUAL(side_tracer_synchronize(), SIDE_ERROR_OK);
}

static void enable_second(const struct side_event_description *desc,
		const struct side_arg_vec *args, void *priv, void *caller)
{
	(void)desc;
	(void)args;
	(void)priv;
	(void)caller;
	if (calls++ == 0) {
		CHECK_EQUAL(side_tracer_callback_register(&second.desc, count_second, NULL, 0), 0);
		/* Also on the event whose array is being walked: this walk does not see it. */
		CHECK_EQUAL(side_tracer_callback_register(&event.desc, count_second, NULL, 0), 0);
	}
	test_event_emit(&second);
}

static void test_enable_others(void)
{
	calls = second_calls = 0;
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, enable_second, NULL, 0), 0);
	test_event_emit(&event);
	CHECK_EQUAL(second_calls, 1);
	test_event_emit(&event);
	CHECK_EQUAL(second_calls, 3);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, enable_second, NULL, 0), 0);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, count_second, NULL, 0), 0);
	CHECK_EQUAL(side_tracer_callback_unregister(&second.desc, count_second, NULL, 0), 0);
}

static void recurse(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	(void)desc;
	(void)args;
	(void)priv;
	(void)caller;
	if (++calls < 100)
		test_event_emit(&event);
}

static void test_recursion(void)
{
	calls = 0;
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, recurse, NULL, 0), 0);
	test_event_emit(&event);
	CHECK_EQUAL(calls, 100);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, recurse, NULL, 0), 0);
}

static void notified(enum side_tracer_notification notif, struct side_event_description **events,
		uint32_t nr_events, void *priv)
{
	(void)notif;
	(void)events;
	(void)nr_events;
	(void)priv;
}

static void register_everything(const struct side_event_description *desc,
		const struct side_arg_vec *args, void *priv, void *caller)
{
	struct side_event_description *array[] = {&second.desc};
	struct side_events_register_handle *batch;
	struct side_tracer_handle *tracer;
	uint64_t key;

	(void)desc;
	(void)args;
	(void)priv;
	(void)caller;
	calls++;
	batch = side_events_register(array, 1);
	CHECK(batch);
	tracer = side_tracer_event_notification_register(notified, NULL);
	CHECK(tracer);
	CHECK_EQUAL(side_tracer_request_key(&key), 0);
	side_tracer_event_notification_unregister(tracer);
	side_events_unregister(batch);
}

static void test_register_everything(void)
{
	calls = 0;
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, register_everything, NULL, 0), 0);
	test_event_emit(&event);
	CHECK_EQUAL(calls, 1);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, register_everything, NULL, 0), 0);
}

static pid_t forked;

static void fork_once(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	(void)desc;
	(void)args;
	(void)priv;
	(void)caller;
	if (calls++ == 0)
		forked = fork();
}

/* The section that is open during the fork ends in both processes. */
static void test_fork(void)
{
	int status;

	calls = 0;
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, fork_once, NULL, 0), 0);
	test_event_emit(&event);
	CHECK(forked >= 0);
	/* Both: emit, and wait for a grace period. */
	test_event_emit(&event);
	CHECK_EQUAL(calls, 2);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, fork_once, NULL, 0), 0);
	CHECK_EQUAL(side_tracer_synchronize(), SIDE_ERROR_OK);
	if (!forked) {
		second_calls = 0;
		CHECK_EQUAL(side_tracer_callback_register(&event.desc, count_second, NULL, 0), 0);
		test_event_emit(&event);
		CHECK_EQUAL(second_calls, 1);
		CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, count_second, NULL, 0), 0);
		exit(0);
	}
	CHECK(waitpid(forked, &status, 0) == forked);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/*
 * Inside a notification, no call waits either, and the unregistration of the tracer waits for it.
 */
static void unregister_in_notification(enum side_tracer_notification notif,
		struct side_event_description **events, uint32_t nr_events, void *priv)
{
	(void)events;
	(void)nr_events;
	CHECK_EQUAL(side_tracer_synchronize(), SIDE_ERROR_INVAL);
	if (*(int *)priv == 0 && notif == SIDE_TRACER_NOTIFICATION_INSERT_EVENTS) {
		*(int *)priv = 1;
		CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, count_second, NULL, 0), 0);
	}
}

static void test_notification(void)
{
	struct side_tracer_handle *tracer;
	int done = 0;

	CHECK_EQUAL(side_tracer_callback_register(&event.desc, count_second, NULL, 0), 0);
	tracer = side_tracer_event_notification_register(unregister_in_notification, &done);
	CHECK(tracer);
	CHECK_EQUAL(done, 1);
	CHECK_EQUAL(event.state.enabled, 0);
	side_tracer_event_notification_unregister(tracer);
}

int main(void)
{
	test_take_keys(15);
	alarm(20);
	test_event_init(&event, "event", 0);
	test_event_init(&second, "second", 0);
	test_unregister_self();
	test_enable_others();
	test_recursion();
	test_register_everything();
	test_fork();
	test_notification();
	return 0;
}
