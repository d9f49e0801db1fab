/* SPDX-License-Identifier: MIT */
/*
 * fork() while other threads are in a callback, hold the registry's lock, or run a dump: the child
 * can emit, register, unregister, dump and exit.
 */
#include "event.h"

#include <side/tracer-extensions.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tasks.h"

static struct test_event event;
static sem_t inside, go_on;
static int calls;

static void count(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	(void)desc;
	(void)args;
	(void)priv;
	(void)caller;
	calls++;
}

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
}

static void *emit(void *unused)
{
	(void)unused;
	test_event_emit(&event);
	return NULL;
}

static void expect_success(pid_t child)
{
	int status;

	CHECK(child > 0);
	CHECK(waitpid(child, &status, 0) == child);
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "the child ended with status %#x\n", (unsigned int)status);
		abort();
	}
}

/* Every operation that a child must support, with waits for grace periods. */
static void use_everything(void)
{
	struct side_event_description *array[] = {&event.desc};
	struct side_events_register_handle *batch;
	uint64_t key;

	alarm(20);
	batch = side_events_register(array, 1);
	CHECK(batch);
	CHECK_EQUAL(side_tracer_request_key(&key), 0);
	calls = 0;
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, count, NULL, key), 0);
	emit(NULL);
	CHECK_EQUAL(calls, 1);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, count, NULL, key), 0);
	CHECK_EQUAL(side_tracer_synchronize(), 0);
	side_events_unregister(batch);
}

static void test_thread_in_callback(void)
{
	pthread_t thread;
	pid_t child;

	CHECK_EQUAL(side_tracer_callback_register(&event.desc, stay, NULL, 0), 0);
	CHECK(!pthread_create(&thread, NULL, emit, NULL));
	sem_wait(&inside);
	child = fork();
	if (!child) {
		/* In the child, no thread is in that callback. */
		CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, stay, NULL, 0), 0);
		use_everything();
		exit(0);
	}
	expect_success(child);
	sem_post(&go_on);
	CHECK(!pthread_join(thread, NULL));
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, stay, NULL, 0), 0);
}

/* A thread that unregisters waits for a thread that is in a callback. */
static void *unregister(void *unused)
{
	(void)unused;
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, stay, NULL, 0), 0);
	return NULL;
}

static void test_thread_waits(void)
{
	pthread_t thread, waiter;
	pid_t child;

	CHECK_EQUAL(side_tracer_callback_register(&event.desc, stay, NULL, 0), 0);
	CHECK(!pthread_create(&thread, NULL, emit, NULL));
	sem_wait(&inside);
	CHECK(!pthread_create(&waiter, NULL, unregister, NULL));
	while (__atomic_load_n(&event.state.enabled, __ATOMIC_RELAXED))
		usleep(1000);
	usleep(10000);
	child = fork();
	if (!child) {
		use_everything();
		exit(0);
	}
	expect_success(child);
	sem_post(&go_on);
	CHECK(!pthread_join(thread, NULL));
	CHECK(!pthread_join(waiter, NULL));
}

static void slow_notification(enum side_tracer_notification notif,
		struct side_event_description **events, uint32_t nr_events, void *priv)
{
	(void)events;
	(void)nr_events;
	if (notif == SIDE_TRACER_NOTIFICATION_INSERT_EVENTS && !(*(int *)priv)++) {
		sem_post(&inside);
		usleep(50000);
	}
}

static void *register_tracer(void *unused)
{
	struct side_tracer_handle *tracer;
	int nr_notified = 0;

	(void)unused;
	tracer = side_tracer_event_notification_register(slow_notification, &nr_notified);
	CHECK(tracer);
	side_tracer_event_notification_unregister(tracer);
	return NULL;
}

static void test_thread_holds_lock(void)
{
	pthread_t thread;
	pid_t child;

	CHECK(!pthread_create(&thread, NULL, register_tracer, NULL));
	sem_wait(&inside);
	child = fork();
	if (!child) {
		use_everything();
		exit(0);
	}
	expect_success(child);
	CHECK(!pthread_join(thread, NULL));
}

/*
 * Notifications that end only after the fork: a fork that waits for them hangs, and alarm() ends
 * the test. `early` is notified before that tracer, `late` after it.
 */
static struct test_event other;
static int waiting_for = -1; /* the notification that waits */
static int early_counts[2], late_counts[2];

static void stay_in_notification(enum side_tracer_notification notif,
		struct side_event_description **events, uint32_t nr_events, void *priv)
{
	(void)priv;
	if ((int)notif != waiting_for || nr_events != 1 || events[0] != &other.desc)
		return;
	waiting_for = -1;
	sem_post(&inside);
	while (sem_wait(&go_on))
		;
}

static void count_notifications(enum side_tracer_notification notif,
		struct side_event_description **events, uint32_t nr_events, void *priv)
{
	if (nr_events == 1 && events[0] == &other.desc)
		((int *)priv)[notif]++;
}

static struct side_tracer_handle *stays;
static struct side_events_register_handle *other_batch;

static void *register_other(void *unused)
{
	static struct side_event_description *array[] = {&other.desc};

	(void)unused;
	other_batch = side_events_register(array, 1);
	CHECK(other_batch);
	return NULL;
}

static void *unregister_other(void *unused)
{
	(void)unused;
	side_events_unregister(other_batch);
	return NULL;
}

static void *unregister_tracer(void *unused)
{
	(void)unused;
	side_tracer_event_notification_unregister(stays);
	return NULL;
}

static void expect_counts(int inserted, int removed)
{
	CHECK_EQUAL(early_counts[SIDE_TRACER_NOTIFICATION_INSERT_EVENTS], inserted);
	CHECK_EQUAL(early_counts[SIDE_TRACER_NOTIFICATION_REMOVE_EVENTS], removed);
	CHECK_EQUAL(late_counts[SIDE_TRACER_NOTIFICATION_INSERT_EVENTS], inserted);
	CHECK_EQUAL(late_counts[SIDE_TRACER_NOTIFICATION_REMOVE_EVENTS], removed);
}

/*
 * Forks during the notification, uses everything in the child and in the parent, and lets the
 * notification end.
 */
static void fork_beside(void *(*work)(void *), enum side_tracer_notification notif, int inserted,
		int removed)
{
	pthread_t thread;
	pid_t child, grandchild;

	waiting_for = (int)notif;
	CHECK(!pthread_create(&thread, NULL, work, NULL));
	sem_wait(&inside);
	/* A bound on a hang. */
	alarm(30);
	child = fork();
	if (!child) {
		/* Libside is not used yet; the state advances to the next one. */
		grandchild = fork();
		if (grandchild)
			expect_success(grandchild);
		use_everything();
		/* Every other tracer has been notified once. */
		expect_counts(inserted, removed);
		exit(0);
	}
	expect_success(child);
	sem_post(&go_on);
	CHECK(!pthread_join(thread, NULL));
	alarm(60);
	use_everything();
	expect_counts(inserted, removed);
}

static void test_thread_in_notification(void)
{
	struct side_tracer_handle *early, *late;

	early = side_tracer_event_notification_register(count_notifications, early_counts);
	stays = side_tracer_event_notification_register(stay_in_notification, NULL);
	late = side_tracer_event_notification_register(count_notifications, late_counts);
	CHECK(early && stays && late);
	fork_beside(register_other, SIDE_TRACER_NOTIFICATION_INSERT_EVENTS, 1, 0);
	fork_beside(unregister_other, SIDE_TRACER_NOTIFICATION_REMOVE_EVENTS, 1, 1);
	register_other(NULL);
	fork_beside(unregister_tracer, SIDE_TRACER_NOTIFICATION_REMOVE_EVENTS, 2, 1);
	unregister_other(NULL);
	expect_counts(2, 2);
	side_tracer_event_notification_unregister(early);
	side_tracer_event_notification_unregister(late);
}

/* A fork waits for a tracer that takes the lock itself. */
static int steps;

static void change_in_two_steps(enum side_tracer_notification notif,
		struct side_event_description **events, uint32_t nr_events, void *priv)
{
	(void)priv;
	if (notif != SIDE_TRACER_NOTIFICATION_INSERT_EVENTS || nr_events != 1 ||
			events[0] != &other.desc)
		return;
	side_tracer_lock();
	steps++;
	sem_post(&inside);
	usleep(400000);
	steps++;
	side_tracer_unlock();
}

static void test_thread_in_locked_notification(void)
{
	struct side_tracer_handle *tracer =
			side_tracer_event_notification_register(change_in_two_steps, NULL);
	pthread_t thread;
	pid_t child;

	CHECK(tracer);
	CHECK(!pthread_create(&thread, NULL, register_other, NULL));
	sem_wait(&inside);
	child = fork();
	if (!child) {
		CHECK_EQUAL(steps, 2);
		use_everything();
		exit(0);
	}
	expect_success(child);
	CHECK(!pthread_join(thread, NULL));
	side_tracer_event_notification_unregister(tracer);
	unregister_other(NULL);
}

static int dumps, slow_dump_us;

static void dump(void *key)
{
	(void)key;
	if (slow_dump_us) {
		sem_post(&inside);
		usleep((useconds_t)slow_dump_us);
	}
	__atomic_add_fetch(&dumps, 1, __ATOMIC_RELAXED);
}

static void wait_for_dumps(int expected)
{
	int ms;

	for (ms = 0; ms < 5000 && __atomic_load_n(&dumps, __ATOMIC_RELAXED) < expected; ms++)
		usleep(1000);
	CHECK_EQUAL(__atomic_load_n(&dumps, __ATOMIC_RELAXED), expected);
}

/* The child has no agent until a dump is requested. */
static void child_with_agent(struct side_statedump_request_handle *state, int dumps_before)
{
	uint64_t key;

	alarm(20);
	CHECK_EQUAL(tasks_count(), 1);
	/* EPERM where user namespaces are forbidden; EINVAL would mean that there are threads. */
	if (syscall(SYS_unshare, CLONE_NEWUSER))
		CHECK(errno != EINVAL);
	slow_dump_us = 0;
	CHECK_EQUAL(side_tracer_request_key(&key), 0);
	CHECK_EQUAL(side_tracer_statedump_request(key), 0);
	wait_for_dumps(dumps_before + 1);
	CHECK_EQUAL(tasks_named("side-statedump"), 1);
	side_statedump_request_notification_unregister(state);
	CHECK_EQUAL(tasks_count(), 1);
	use_everything();
	exit(0);
}

static void test_agent(void)
{
	struct side_statedump_request_handle *state;
	pid_t child;

	state = side_statedump_request_notification_register(
			"fork", dump, SIDE_STATEDUMP_MODE_AGENT_THREAD);
	CHECK(state);
	CHECK_EQUAL(dumps, 1);
	child = fork();
	if (!child)
		child_with_agent(state, 1);
	expect_success(child);
	/* In the middle of a dump: fork waits for its end. */
	slow_dump_us = 50000;
	CHECK_EQUAL(side_tracer_statedump_request(8), 0);
	sem_wait(&inside);
	child = fork();
	if (!child)
		child_with_agent(state, 2);
	expect_success(child);
	CHECK_EQUAL(dumps, 2);
	slow_dump_us = 0;
	CHECK_EQUAL(side_tracer_statedump_request(8), 0);
	wait_for_dumps(3);
	side_statedump_request_notification_unregister(state);
	CHECK_EQUAL(tasks_count(), 1);
}

/* A child that never used the agent exits; its exit must not wait for a thread of its parent. */
static void test_exit_with_agent(void)
{
	struct side_statedump_request_handle *state;
	pid_t child;

	state = side_statedump_request_notification_register(
			"exit", dump, SIDE_STATEDUMP_MODE_AGENT_THREAD);
	child = fork();
	if (!child) {
		alarm(20);
		exit(0);
	}
	expect_success(child);
	child = fork();
	if (!child) {
		alarm(20);
		side_statedump_request_notification_unregister(state);
		exit(0);
	}
	expect_success(child);
	side_statedump_request_notification_unregister(state);
}

static void fork_in_dump(void *key)
{
	pid_t child;

	(void)key;
	child = fork();
	if (!child) {
		use_everything();
		_exit(0);
	}
	expect_success(child);
}

static void test_fork_in_dump(void)
{
	struct side_statedump_request_handle *state;

	state = side_statedump_request_notification_register(
			"fork in dump", fork_in_dump, SIDE_STATEDUMP_MODE_AGENT_THREAD);
	CHECK(state);
	side_statedump_request_notification_unregister(state);
	state = side_statedump_request_notification_register(
			"fork in dump", fork_in_dump, SIDE_STATEDUMP_MODE_POLLING);
	CHECK(state);
	CHECK_EQUAL(side_statedump_run_pending_requests(state), 0);
	side_statedump_request_notification_unregister(state);
}

/* The bare system call runs no handlers. */
static void test_raw_fork(void)
{
	pthread_t thread;
	pid_t child;

	CHECK_EQUAL(side_tracer_callback_register(&event.desc, stay, NULL, 0), 0);
	CHECK(!pthread_create(&thread, NULL, emit, NULL));
	sem_wait(&inside);
	child = (pid_t)syscall(SYS_fork);
	if (!child) {
		alarm(20);
		/*
		 * Waits until the library detects that the thread in the callback does not exist in
		 * this process.
		 */
		(void)side_tracer_callback_unregister(&event.desc, stay, NULL, 0);
		_exit(0);
	}
	expect_success(child);
	sem_post(&go_on);
	CHECK(!pthread_join(thread, NULL));
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, stay, NULL, 0), 0);
}

static void test_vfork(void)
{
	pid_t child;

	calls = 0;
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, count, NULL, 0), 0);
	child = vfork();
	if (!child) {
		test_event_emit(&event);
		_exit(0);
	}
	expect_success(child);
	test_event_emit(&event);
	CHECK(calls == 1 || calls == 2);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, count, NULL, 0), 0);
}

/* Children of children, each with its own callbacks. */
static void test_generations(int depth)
{
	pid_t child;

	calls = 0;
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, count, NULL, 0), 0);
	test_event_emit(&event);
	CHECK_EQUAL(calls, 1);
	child = fork();
	if (!child) {
		CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, count, NULL, 0), 0);
		if (depth)
			test_generations(depth - 1);
		exit(0);
	}
	expect_success(child);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, count, NULL, 0), 0);
}

int main(void)
{
	test_take_keys(15);
	alarm(60);
	test_event_init(&event, "event", 0);
	test_event_init(&other, "other", 0);
	CHECK(!sem_init(&inside, 0, 0));
	CHECK(!sem_init(&go_on, 0, 0));
	test_vfork();
	test_thread_in_callback();
	test_thread_waits();
	test_thread_holds_lock();
	test_thread_in_notification();
	test_thread_in_locked_notification();
	test_agent();
	test_exit_with_agent();
	test_fork_in_dump();
#ifdef SYS_fork
	test_raw_fork();
#endif
	test_generations(4);
	return 0;
}
