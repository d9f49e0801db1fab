/* SPDX-License-Identifier: MIT */
/*
 * An armed process: the hook is called before the next event, once unless it requests more calls.
 */
#include "event.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARMED_BIT ((uintptr_t)1 << (sizeof(uintptr_t) * 8 - 8))
#define DEBUGGER_BIT ((uintptr_t)1 << (sizeof(uintptr_t) * 8 - 2))

static struct test_event early, late;
static struct side_event_description *early_batch[] = {&early.desc, NULL};
static struct side_event_description *late_batch[] = {&late.desc};

static unsigned int hooks, calls;
static bool disarms = true, is_slow;

static void count_call(const struct side_event_description *desc,
		const struct side_arg_vec *side_arg_vec, void *priv, void *caller_addr)
{
	(void)desc, (void)side_arg_vec, (void)priv, (void)caller_addr;
	__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
}

static void emit(struct test_event *event)
{
	const struct side_arg_vec none = {0};

	/* Does the same as a call site. */
	if (__atomic_load_n(&event->state.enabled, __ATOMIC_RELAXED))
		side_call(&event->state.parent, &none);
}

static void hook(void)
{
	__atomic_add_fetch(&hooks, 1, __ATOMIC_RELAXED);
	errno = EXDEV;
	/* An event within the hook does not call the hook. */
	emit(&early);
	if (is_slow)
		usleep(50000);
	if (disarms) {
		(void)side_tracer_callback_register(&early.desc, count_call, &early, 0);
		side_tracer_disarm();
		CHECK_EQUAL(early.state.enabled & ARMED_BIT, 0);
	}
}

static void begin(void)
{
	(void)side_tracer_callback_unregister(&early.desc, count_call, &early, 0);
	hooks = calls = 0;
	disarms = true;
	is_slow = false;
	CHECK_EQUAL(side_tracer_arm(hook), SIDE_ERROR_OK);
}

static void test_once(void)
{
	begin();
	errno = 0;
	emit(&early);
	/* The hook registered a callback, so it receives the first event, too. */
	CHECK_EQUAL(hooks, 1);
	CHECK_EQUAL(calls, 1);
	CHECK_EQUAL(errno, 0);
	emit(&early);
	CHECK_EQUAL(hooks, 1);
	CHECK_EQUAL(calls, 2);
	CHECK_EQUAL(early.state.enabled, 1);
}

static void test_again(void)
{
	begin();
	disarms = false;
	emit(&early);
	emit(&early);
	CHECK_EQUAL(hooks, 2);
	side_tracer_disarm();
	emit(&early);
	CHECK_EQUAL(hooks, 2);
	CHECK_EQUAL(early.state.enabled, 0);
}

static void test_other_bits(void)
{
	early.state.enabled = DEBUGGER_BIT;
	begin();
	CHECK(early.state.enabled == (DEBUGGER_BIT | ARMED_BIT));
	emit(&early);
	CHECK(early.state.enabled == (DEBUGGER_BIT | 1));
	CHECK_EQUAL(hooks, 1);
	CHECK_EQUAL(side_tracer_callback_unregister(&early.desc, count_call, &early, 0),
			SIDE_ERROR_OK);
	CHECK(early.state.enabled == DEBUGGER_BIT);
	early.state.enabled = 0;
}

static void test_late_batches(void)
{
	struct side_events_register_handle *handle;

	begin();
	handle = side_events_register(late_batch, 1);
	CHECK(late.state.enabled == ARMED_BIT);
	side_events_unregister(handle);
	CHECK_EQUAL(late.state.enabled, 0);
	handle = side_events_register(late_batch, 1);
	emit(&late);
	CHECK_EQUAL(hooks, 1);
	CHECK_EQUAL(late.state.enabled, 0);
	side_events_unregister(handle);
}

/* ---- where the hook must not run ---- */

static void emit_in_callback(const struct side_event_description *desc,
		const struct side_arg_vec *side_arg_vec, void *priv, void *caller_addr)
{
	(void)desc, (void)side_arg_vec, (void)priv, (void)caller_addr;
	CHECK_EQUAL(side_tracer_arm(hook), SIDE_ERROR_OK);
	emit(&early);
	CHECK_EQUAL(hooks, 0);
}

static void test_not_in_callbacks(void)
{
	struct side_events_register_handle *handle = side_events_register(late_batch, 1);

	begin();
	side_tracer_disarm();
	CHECK_EQUAL(side_tracer_callback_register(&late.desc, emit_in_callback, NULL, 0),
			SIDE_ERROR_OK);
	emit(&late);
	emit(&early);
	CHECK_EQUAL(hooks, 1);
	side_events_unregister(handle);
	begin();
	side_tracer_lock();
	emit(&early);
	CHECK_EQUAL(hooks, 0);
	side_tracer_unlock();
	emit(&early);
	CHECK_EQUAL(hooks, 1);
}

static void handle_signal(int signal)
{
	(void)signal;
	emit(&early);
}

static void test_in_a_handler(void)
{
	begin();
	CHECK(signal(SIGUSR1, handle_signal) != SIG_ERR);
	raise(SIGUSR1);
	CHECK_EQUAL(hooks, 1);
	CHECK_EQUAL(calls, 1);
}

/* ---- several ---- */

static void *emit_in_thread(void *unused)
{
	(void)unused;
	emit(&early);
	return NULL;
}

/* All threads wait for the one that runs the hook, so that no event is lost. */
static void test_threads(void)
{
	pthread_t threads[8];
	unsigned int i;

	begin();
	is_slow = true;
	for (i = 0; i < 8; i++)
		CHECK_EQUAL(pthread_create(&threads[i], NULL, emit_in_thread, NULL), 0);
	for (i = 0; i < 8; i++)
		CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
	CHECK_EQUAL(hooks, 1);
	CHECK_EQUAL(calls, 8);
}

static void test_fork(void)
{
	int status;
	pid_t child;

	begin();
	child = fork();
	if (!child) {
		emit(&early);
		_exit(hooks == 1 && calls == 1 ? 0 : 1);
	}
	CHECK_EQUAL(waitpid(child, &status, 0), child);
	CHECK_EQUAL(status, 0);
	emit(&early);
	CHECK_EQUAL(hooks, 1);
	CHECK_EQUAL(calls, 1);
}

/*
 * A registered state dump is a sufficient reason for the hook: the program may never fire another
 * event.
 */
static void no_dump(void *key)
{
	(void)key;
}

static void test_state(void)
{
	struct side_statedump_request_handle *handle;

	begin();
	handle = side_statedump_request_notification_register(
			"state", no_dump, SIDE_STATEDUMP_MODE_POLLING);
	CHECK(handle);
	CHECK_EQUAL(hooks, 1);
	side_statedump_request_notification_unregister(handle);
}

int main(void)
{
	struct side_events_register_handle *handle;

	test_event_init(&early, "early", 0);
	test_event_init(&late, "late", 0);
	handle = side_events_register(early_batch, 2);
	CHECK(handle);
	CHECK_EQUAL(side_tracer_arm(NULL), SIDE_ERROR_INVAL);
	test_once();
	test_again();
	test_other_bits();
	test_late_batches();
	test_not_in_callbacks();
	test_in_a_handler();
	test_threads();
	test_fork();
	test_state();
	begin();
	side_exit();
	emit(&early);
	CHECK_EQUAL(hooks, 0);
	CHECK_EQUAL(side_tracer_arm(hook), SIDE_ERROR_EXITING);
	return 0;
}
