/* SPDX-License-Identifier: MIT */
/*
 * Exact values of state dumps and of the thread that runs them. The files are included: the test
 * plays that thread, the clock, the allocator and the registry, and compares their calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libside/armed.h"
#include "libside/callbacks.h"
#include "libside/keys.h"
#include "libside/lock.h"
#include "libside/registry-lock.h"
#include "libside/statedump-agent.h"
#include "libside/statedump-events.h"

#include "event.h"

static char events[4096];

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	size_t used = strlen(events);
	va_list list;

	va_start(list, format);
	(void)vsnprintf(events + used, sizeof(events) - used, format, list);
	va_end(list);
}

static void is_noted(const char *expected)
{
	if (strcmp(events, expected))
		fprintf(stderr, "noted \"%s\", expected \"%s\"\n", events, expected);
	CHECK(!strcmp(events, expected));
	*events = '\0';
}

/* ---- what the files call ---- */

static struct {
	int64_t now, step; /* in milliseconds; a wait takes one step */
	uintptr_t me;
	bool is_finished, is_mine, must_not_wait, lock_fails;
	unsigned int nr_waits, nr_turns, nr_armed, nr_inits;
	int timeouts[8];
	void (*on_wait)(void); /* the actions of another thread meanwhile */
	unsigned int on_wait_at;
	int used; /* blocks that are allocated and not freed */
	unsigned int nr_freed, fails_at;
	void (*on_calloc)(void);
	size_t capacity;
} fake;

static const uintptr_t ME = 100, OTHER = 200;

static void fake_wait(struct turnstile *turnstile, struct owned_lock *lock, int timeout_ms)
{
	(void)turnstile;
	CHECK(lock->depth == 1);
	if (fake.nr_waits < 8)
		fake.timeouts[fake.nr_waits] = timeout_ms;
	fake.now += fake.step;
	if (++fake.nr_waits == fake.on_wait_at && fake.on_wait)
		fake.on_wait();
	CHECK(fake.nr_waits < 10000);
}

static void fake_turn(struct turnstile *turnstile)
{
	(void)turnstile;
	fake.nr_turns++;
}

static int64_t fake_ms(void)
{
	return fake.now;
}

static uintptr_t fake_identity(void)
{
	return fake.me;
}

static bool fake_try(struct owned_lock *lock)
{
	return !fake.lock_fails && owned_lock_try(lock);
}

static bool fake_is_finished(void)
{
	return fake.is_finished;
}

static bool fake_is_mine(void)
{
	return fake.is_mine;
}

static bool fake_may_wait(void)
{
	return !fake.must_not_wait;
}

static void fake_armed(void)
{
	fake.nr_armed++;
}

static void fake_init(void)
{
	fake.nr_inits++;
}

static bool fake_key_is_given(uint64_t key)
{
	return key < 5000;
}

static void fake_emit(enum statedump_event event, const char *name, uint64_t key)
{
	note("%s(%s %u) ", event == STATEDUMP_BEGIN ? "begin" : "end", name, (unsigned int)key);
}

static bool is_failing(void)
{
	return fake.fails_at && !--fake.fails_at;
}

static void *fake_calloc(size_t count, size_t size)
{
	void (*acts)(void) = fake.on_calloc;
	void *block;

	fake.capacity = count;
	if (is_failing())
		return NULL;
	fake.on_calloc = NULL;
	block = calloc(count, size);
	CHECK(block);
	fake.used++;
	if (acts)
		acts();
	return block;
}

static char *fake_strdup(const char *text)
{
	if (is_failing())
		return NULL;
	fake.used++;
	return strdup(text);
}

static void fake_free(void *block)
{
	fake.used -= block != NULL;
	fake.nr_freed++;
	free(block);
}

#define turnstile_wait fake_wait
#define turnstile_turn fake_turn
#define monotonic_ms fake_ms
#define thread_identity fake_identity
#define owned_lock_try fake_try
#define registry_is_finished fake_is_finished
#define registry_is_mine fake_is_mine
#define registry_may_wait fake_may_wait
#define armed_call fake_armed
#define side_init fake_init
#define key_is_allocated fake_key_is_given
#define statedump_emit fake_emit
#define calloc fake_calloc
#undef strdup
#define strdup fake_strdup
#define free fake_free
#include "libside/statedump-states.c"
#include "libside/statedump.c"
#undef owned_lock_try
#undef calloc
#undef strdup
#undef free

/* ---- what the agent's thread calls ---- */

static struct {
	unsigned int nr_created, nr_joined, nr_detached, nr_masks, nr_cancels;
	int create_fails;
	const char *call; /* that the thread executes; NULL: its file cannot be opened */
	long size;
	int opened;
} threads;

static int fake_create(pthread_t *thread_, const pthread_attr_t *attributes,
		void *(*function)(void *), void *argument)
{
	/* All signals are blocked. */
	CHECK(!attributes && function && !argument && threads.nr_masks % 2 == 1);
	if (threads.create_fails)
		return threads.create_fails;
	*thread_ = (pthread_t)(50 + ++threads.nr_created);
	return 0;
}

static int fake_join(pthread_t joined, void **result)
{
	CHECK(joined == (pthread_t)(50 + threads.nr_created) && !result);
	/* Without the lock, and not as a cancellation point. */
	CHECK(lock.depth == 0 && threads.nr_cancels == 1);
	threads.nr_joined++;
	return 0;
}

static int fake_detach(pthread_t detached_)
{
	CHECK(detached_ == (pthread_t)(50 + threads.nr_created));
	threads.nr_detached++;
	return 0;
}

static int fake_cancel(int new, int *old)
{
	threads.nr_cancels++;
	if (threads.nr_cancels == 1) {
		CHECK(new == PTHREAD_CANCEL_DISABLE);
		*old = 33;
	} else {
		CHECK(new == 33);
	}
	return 0;
}

static int fake_mask(int how, const sigset_t *set, sigset_t *old)
{
	CHECK(how == SIG_SETMASK);
	if (++threads.nr_masks % 2) {
		CHECK(old && sigismember(set, SIGTERM) && sigismember(set, SIGSEGV) &&
				sigismember(set, SIGRTMAX));
		sigemptyset(old);
		sigaddset(old, SIGUSR2);
	} else {
		CHECK(!old && sigismember(set, SIGUSR2) && !sigismember(set, SIGTERM));
	}
	return 0;
}

static int fake_prctl(int option, const char *name, ...)
{
	CHECK(option == PR_SET_NAME);
	note("name(%s) ", name);
	return 0;
}

static long fake_call(long number_, ...)
{
	va_list list;
	long ret = 0;

	va_start(list, number_);
	if (number_ == SYS_gettid) {
		ret = 77;
	} else if (number_ == SYS_openat) {
		CHECK(va_arg(list, int) == AT_FDCWD);
		CHECK(!strcmp(va_arg(list, const char *), "/proc/self/task/77/syscall"));
		CHECK(va_arg(list, int) == (O_RDONLY | O_CLOEXEC));
		errno = ENOENT;
		ret = threads.call ? 0 : -1; /* 0 is a descriptor, too */
		threads.opened += threads.call != NULL;
	} else if (number_ == SYS_read) {
		char *text;

		CHECK(va_arg(list, int) == 0);
		text = va_arg(list, char *);
		CHECK(va_arg(list, size_t) == STATEDUMP_CALL_SIZE - 1);
		ret = threads.size;
		if (ret > 0)
			memcpy(text, threads.call, (size_t)ret);
		errno = EIO;
	} else {
		CHECK(number_ == SYS_close && va_arg(list, int) == 0);
		threads.opened--;
	}
	va_end(list);
	return ret;
}

#define pthread_create fake_create
#define pthread_join fake_join
#define pthread_detach fake_detach
#define pthread_setcancelstate fake_cancel
#define pthread_sigmask fake_mask
#define prctl fake_prctl
#define syscall fake_call
#include "libside/statedump-agent.c"
#undef syscall

static void set_call(const char *text)
{
	threads.call = text;
	threads.size = text ? (long)strlen(text) : 0;
}

static void reset(void)
{
	CHECK(lock.depth == 0 && !first_handle);
	memset(&fake, 0, sizeof(fake));
	memset(&threads, 0, sizeof(threads));
	fake.me = ME;
	fake.now = 1000;
	state = THREAD_NONE;
	thread_id = 0;
	thread_tid = 0;
	nr_pauses = 0;
	detached = busy = false;
	*events = '\0';
}

static void dump(void *key)
{
	note("dump(%u) ", (unsigned int)*(uint64_t *)key);
	CHECK(lock.depth == 0);
	/* The library has a copy of the key. */
	*(uint64_t *)key = 99;
}

static struct side_statedump_request_handle *polled(const char *name)
{
	struct side_statedump_request_handle *handle = side_statedump_request_notification_register(
			name, dump, SIDE_STATEDUMP_MODE_POLLING);

	CHECK(handle && lock.depth == 0);
	return handle;
}

static void finish_first(void)
{
	first_handle->first_done = true;
}

/* The agent has run the first dump at the first wait of the registration. */
static struct side_statedump_request_handle *run_by_agent(const char *name)
{
	struct side_statedump_request_handle *handle;

	fake.on_wait = finish_first;
	fake.on_wait_at = fake.nr_waits + 1;
	handle = side_statedump_request_notification_register(
			name, dump, SIDE_STATEDUMP_MODE_AGENT_THREAD);
	CHECK(handle && lock.depth == 0);
	return handle;
}

static void end_agent(void)
{
	CHECK(state == THREAD_STOPPING);
	state = THREAD_ENDED;
}

static void unregister(struct side_statedump_request_handle *handle)
{
	fake.on_wait = end_agent;
	fake.on_wait_at = fake.nr_waits + 1;
	threads.nr_cancels = 0;
	side_statedump_request_notification_unregister(handle);
	CHECK(lock.depth == 0);
}

/* ---- queues ---- */

static struct side_statedump_request_handle *grown;
static const struct statedump_request *grown_queue;

static void reserve_meanwhile(void)
{
	CHECK(statedump_reserve(grown) && grown->capacity == 4);
	grown_queue = grown->queue;
}

static void test_reserve(void)
{
	struct side_statedump_request_handle handle = {.queued = 0};
	struct statedump_request *queue;
	uint32_t capacity = 4;

	reset();
	fake.fails_at = 1;
	CHECK(!statedump_reserve(&handle) && !handle.capacity && fake.capacity == 4);
	for (uint32_t i = 0; i < STATEDUMP_QUEUE_MAX; i++) {
		CHECK(statedump_reserve(&handle));
		capacity = i == capacity ? 2 * capacity : capacity;
		CHECK_EQUAL(handle.capacity, capacity);
		statedump_enqueue(&handle, 10 + i);
		statedump_enqueue(&handle, 10 + i);
		CHECK_EQUAL(handle.queued, i + 1);
		CHECK(handle.queue[0].key == 10 && handle.queue[i].key == 10 + i);
	}
	CHECK(fake.used == 1 && fake.nr_freed == 8);
	fake.capacity = 0;
	CHECK(!statedump_reserve(&handle) && handle.capacity == STATEDUMP_QUEUE_MAX &&
			!fake.capacity);
	CHECK(statedump_is_queued(&handle, 10) &&
			statedump_is_queued(&handle, 10 + STATEDUMP_QUEUE_MAX - 1) &&
			!statedump_is_queued(&handle, 10 + STATEDUMP_QUEUE_MAX));
	statedump_remove_request(&handle, 1);
	CHECK(handle.queued == STATEDUMP_QUEUE_MAX - 1 && handle.queue[0].key == 10 &&
			handle.queue[1].key == 12 && handle.queue[1022].key == 1033);
	fake_free(handle.queue);
	/* A tracer in the allocator has reserved meanwhile: its queue stays. */
	handle = (struct side_statedump_request_handle){.queued = 0};
	grown = &handle;
	fake.on_calloc = reserve_meanwhile;
	fake.nr_freed = 0;
	CHECK(statedump_reserve(&handle) && handle.capacity == 4 && fake.nr_freed == 1 &&
			fake.used == 1);
	queue = handle.queue;
	CHECK(queue == grown_queue);
	CHECK(statedump_reserve(&handle) && handle.queue == queue);
	fake_free(queue);
}

static void test_oldest(void)
{
	struct statedump_request one[] = {{8, 1}, {9, 10}}, other[] = {{8, 2}, {9, 3}};
	struct side_statedump_request_handle first = {.queue = one, .queued = 2},
					     second = {.queue = other, .queued = 2};

	reset();
	first.mode = second.mode = SIDE_STATEDUMP_MODE_AGENT_THREAD;
	first.next = &second;
	first_handle = &first;
	CHECK(statedump_oldest(SIDE_STATEDUMP_MODE_AGENT_THREAD) == &first);
	CHECK(!statedump_oldest(SIDE_STATEDUMP_MODE_POLLING) && statedump_has_agent_handle());
	other[0].number = 0;
	CHECK(statedump_oldest(SIDE_STATEDUMP_MODE_AGENT_THREAD) == &second);
	second.dead = true;
	CHECK(statedump_oldest(SIDE_STATEDUMP_MODE_AGENT_THREAD) == &first &&
			statedump_has_agent_handle());
	second.dead = false;
	second.queued = 0;
	CHECK(statedump_oldest(SIDE_STATEDUMP_MODE_AGENT_THREAD) == &first);
	first.dead = true;
	CHECK(!statedump_oldest(SIDE_STATEDUMP_MODE_AGENT_THREAD) && statedump_has_agent_handle());
	second.mode = SIDE_STATEDUMP_MODE_POLLING;
	CHECK(!statedump_has_agent_handle());
	first_handle = NULL;
}

/* ---- requests ---- */

static void test_requests(void)
{
	struct side_statedump_request_handle *one, *other;
	uint64_t before;

	reset();
	one = polled("one");
	before = last_request;
	other = polled("other");
	CHECK(first_handle == other && other->next == one && one->previous == other &&
			!other->previous && !one->next);
	CHECK(fake.nr_inits == 2 && fake.nr_armed == 2 && fake.nr_turns == 2 && !fake.nr_waits);
	CHECK(other->first_request == before + 1 && other->queued == 1 && !other->queue[0].key);
	CHECK(!strcmp(other->name, "other") && !other->first_done);
	CHECK_EQUAL(side_tracer_statedump_request(0), SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_tracer_statedump_request(5000), SIDE_ERROR_INVAL);
	CHECK(!side_tracer_statedump_request_try(0) && !side_tracer_statedump_request_try(5000));
	CHECK_EQUAL(side_tracer_statedump_request_cancel(0), SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_tracer_statedump_request_cancel(7), SIDE_ERROR_INVAL);
	fake.is_finished = true;
	CHECK_EQUAL(side_tracer_statedump_request(20), SIDE_ERROR_EXITING);
	CHECK_EQUAL(side_tracer_statedump_request_cancel(20), SIDE_ERROR_EXITING);
	CHECK(!side_tracer_statedump_request_try(20));
	CHECK_EQUAL(side_statedump_run_pending_requests(one), SIDE_ERROR_EXITING);
	CHECK(!side_statedump_poll_pending_requests(one));
	fake.is_finished = false;
	CHECK(side_statedump_poll_pending_requests(one));
	fake.nr_turns = 0;
	/* Three more entries, for both or for none. */
	CHECK_EQUAL(side_tracer_statedump_request(20), SIDE_ERROR_OK);
	CHECK(side_tracer_statedump_request_try(21));
	CHECK_EQUAL(fake.nr_turns, 2);
	CHECK_EQUAL(side_tracer_statedump_request_cancel(20), SIDE_ERROR_OK);
	CHECK(one->queued == 2 && other->queued == 2 && other->queue[1].key == 21);
	CHECK_EQUAL(side_tracer_statedump_request(22), SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_statedump_request(23), SIDE_ERROR_OK);
	CHECK(one->queued == 4 && other->queued == 4);
	CHECK(!side_tracer_statedump_request_try(24) && one->queued == 4 && lock.depth == 0);
	/* Nothing to reserve for a queued key, or where nothing is queued any more. */
	CHECK(side_tracer_statedump_request_try(23));
	fake.fails_at = 1;
	CHECK_EQUAL(side_tracer_statedump_request(23), SIDE_ERROR_OK);
	CHECK_EQUAL(fake.fails_at, 1);
	fake.fails_at = 2;
	CHECK_EQUAL(side_tracer_statedump_request(24), SIDE_ERROR_NOMEM);
	CHECK(one->queued == 4 && other->queued == 4 && fake.fails_at == 0);
	one->dead = true;
	CHECK_EQUAL(side_tracer_statedump_request(24), SIDE_ERROR_OK);
	CHECK(one->queued == 4 && one->capacity == 4 && other->queued == 5);
	CHECK(side_tracer_statedump_request_try(25) && one->queued == 4 && other->queued == 6);
	one->dead = false;
	fake.lock_fails = true;
	CHECK(!side_tracer_statedump_request_try(23));
	fake.lock_fails = false;
	CHECK(one->queue[1].number < one->queue[2].number &&
			other->queue[5].number == last_request);
	CHECK_EQUAL(side_tracer_statedump_request_cancel(22), SIDE_ERROR_OK);
	CHECK(one->queued == 3 && one->queue[2].key == 23 && other->queued == 5 &&
			other->queue[2].key == 23 && other->queue[4].key == 25);
	/* Its key, its name and its order. */
	CHECK_EQUAL(side_statedump_run_pending_requests(one), SIDE_ERROR_OK);
	is_noted("begin(one 0) dump(0) end(one 0) begin(one 21) dump(21) end(one 21) "
		 "begin(one 23) dump(23) end(one 23) ");
	CHECK(one->first_done && !one->runs && !side_statedump_poll_pending_requests(one));
	unregister(one);
	CHECK(first_handle == other && !other->next && !other->previous);
	unregister(other);
	CHECK(!first_handle && fake.used == 0);
}

static void test_refusals(void)
{
	reset();
	CHECK(!side_statedump_request_notification_register(
			NULL, dump, SIDE_STATEDUMP_MODE_POLLING));
	CHECK(!side_statedump_request_notification_register(
			"x", NULL, SIDE_STATEDUMP_MODE_POLLING));
	CHECK(!side_statedump_request_notification_register("x", dump,
			(enum side_statedump_mode)(SIDE_STATEDUMP_MODE_AGENT_THREAD + 1)));
	fake.is_finished = true;
	CHECK(!side_statedump_request_notification_register(
			"x", dump, SIDE_STATEDUMP_MODE_POLLING));
	side_tracer_statedump_run("x", dump, 5);
	fake.is_finished = false;
	side_tracer_statedump_run(NULL, dump, 5);
	side_tracer_statedump_run("x", NULL, 5);
	is_noted("");
	side_tracer_statedump_run("x", dump, 5);
	is_noted("begin(x 5) dump(5) end(x 5) ");
	CHECK_EQUAL(side_statedump_run_pending_requests(NULL), SIDE_ERROR_INVAL);
	CHECK(!side_statedump_poll_pending_requests(NULL));
	/* The registration, its name, and its queue. */
	for (unsigned int i = 1; i <= 3; i++) {
		fake.fails_at = i;
		CHECK(!side_statedump_request_notification_register(
				"x", dump, SIDE_STATEDUMP_MODE_POLLING));
		CHECK(fake.fails_at == 0 && fake.used == 0 && lock.depth == 0);
	}
	threads.create_fails = EAGAIN;
	CHECK(!side_statedump_request_notification_register(
			"x", dump, SIDE_STATEDUMP_MODE_AGENT_THREAD));
	CHECK(fake.used == 0 && lock.depth == 0 && state == THREAD_NONE && !first_handle);
	CHECK(fake.nr_armed == 0 && threads.nr_masks == 2);
}

static void test_list(void)
{
	struct side_statedump_request_handle *one, *other, *third;

	reset();
	one = polled("one");
	other = polled("other");
	third = polled("third");
	fake.is_finished = true;
	side_statedump_request_notification_unregister(other);
	fake.is_finished = false;
	side_statedump_request_notification_unregister(NULL);
	CHECK(third->next == other && fake.nr_freed == 0);
	unregister(other);
	/* The queue, the name and the registration. */
	CHECK(fake.nr_freed == 3 && fake.used == 6);
	CHECK(first_handle == third && third->next == one && one->previous == third);
	unregister(third);
	CHECK(first_handle == one && !one->previous && !one->next);
	unregister(one);
	CHECK(fake.used == 0 && fake.nr_freed == 9 && !fake.nr_waits);
}

/* ---- runs ---- */

static struct side_statedump_request_handle *own;
static struct statedump_run other_run;

static void end_other_run(void)
{
	statedump_unlink_run(own, &other_run);
}

/* Unregistration waits for a run of another thread, without a timeout. */
static void test_run_elsewhere(void)
{
	reset();
	own = polled("own");
	other_run = (struct statedump_run){.thread = OTHER, .next = own->runs};
	own->runs = &other_run;
	fake.on_wait = end_other_run;
	fake.on_wait_at = 3;
	side_statedump_request_notification_unregister(own);
	CHECK(fake.nr_waits == 3 && fake.timeouts[0] == -1 && fake.used == 0 && !first_handle);
	/* Not while this thread holds the registry: the last run frees it. */
	own = polled("own");
	other_run.next = NULL;
	own->runs = &other_run;
	fake.is_mine = true;
	side_statedump_request_notification_unregister(own);
	CHECK(fake.nr_waits == 3 && first_handle == own && own->orphaned && own->dead &&
			own->queued == 0);
	first_handle = NULL;
	fake_free(own->queue);
	fake_free(own->name);
	fake_free(own);
}

static void unregister_inside(void *key)
{
	CHECK(own->runs && own->runs->thread == ME && statedump_runs_here(own) && lock.depth == 0);
	dump(key);
	side_statedump_request_notification_unregister(own);
	CHECK(fake.nr_freed == 0 && own->orphaned);
}

static void test_run_here(void)
{
	reset();
	own = polled("own");
	own->cb = unregister_inside;
	CHECK_EQUAL(side_tracer_statedump_request(30), SIDE_ERROR_OK);
	fake.nr_turns = 0;
	CHECK_EQUAL(side_statedump_run_pending_requests(own), SIDE_ERROR_OK);
	is_noted("begin(own 0) dump(0) end(own 0) ");
	CHECK(fake.used == 0 && fake.nr_waits == 0 && !first_handle && lock.depth == 0);
	CHECK_EQUAL(fake.nr_turns, 2);
	/* By the agent: the run itself frees it. */
	own = polled("own");
	own->cb = unregister_inside;
	fake.nr_freed = 0;
	statedump_lock();
	statedump_run_one(own);
	statedump_unlock();
	CHECK(fake.used == 0 && !first_handle);
	*events = '\0';
}

static void request_inside(void *key)
{
	dump(key);
	CHECK_EQUAL(side_tracer_statedump_request(40), SIDE_ERROR_OK);
}

static void test_run_newest(void)
{
	uint64_t ended = ended_dumps;

	reset();
	own = polled("own");
	own->cb = request_inside;
	CHECK_EQUAL(side_tracer_statedump_request(41), SIDE_ERROR_OK);
	CHECK_EQUAL(side_statedump_run_pending_requests(own), SIDE_ERROR_OK);
	is_noted("begin(own 0) dump(0) end(own 0) begin(own 41) dump(41) end(own 41) ");
	CHECK(own->queued == 1 && own->queue[0].key == 40 && ended_dumps == ended + 2);
	CHECK_EQUAL(side_statedump_run_pending_requests(own), SIDE_ERROR_OK);
	is_noted("begin(own 40) dump(40) end(own 40) ");
	unregister(own);
}

/* ---- the first dump ---- */

static void end_a_dump(void)
{
	ended_dumps++;
}

static void finish(void)
{
	fake.is_finished = true;
}

/* Registers, and returns the number of waits for the first dump. The agent does not run it. */
static unsigned int waits_of_first(void (*acts)(void), unsigned int at)
{
	unsigned int waits = fake.nr_waits;

	fake.step = 10;
	fake.on_wait = acts;
	fake.on_wait_at = waits + at;
	own = side_statedump_request_notification_register(
			"own", dump, SIDE_STATEDUMP_MODE_AGENT_THREAD);
	fake.is_finished = false;
	CHECK(own && lock.depth == 0 && own->queued == 1);
	waits = fake.nr_waits - waits;
	fake.must_not_wait = false;
	fake.me = ME;
	fake.is_mine = true;
	side_statedump_request_notification_unregister(own);
	fake.is_mine = false;
	state = THREAD_NONE;
	detached = false;
	return waits;
}

static void start_futex(void)
{
	thread_tid = 77;
	set_call("202 0x7f01 0x80 0x2");
}

static void change_futex(void)
{
	set_call("202 0x7f01 0x80 0x3");
	fake.on_wait_at += 5;
}

static void test_first_dump(void)
{
	reset();
	CHECK_EQUAL(waits_of_first(NULL, 0), 500);
	CHECK_EQUAL(fake.timeouts[0], 10);
	CHECK_EQUAL(waits_of_first(finish_first, 7), 7);
	CHECK_EQUAL(waits_of_first(finish, 9), 9);
	CHECK_EQUAL(waits_of_first(end_a_dump, 100), 600);
	fake.must_not_wait = true;
	CHECK_EQUAL(waits_of_first(NULL, 0), 0);
	thread_id = ME;
	CHECK_EQUAL(waits_of_first(NULL, 0), 0);
	thread_id = OTHER;
	/* The agent waits for a lock: from the third wait on, 80 ms long. */
	CHECK_EQUAL(waits_of_first(start_futex, 3), 3 + 8);
	CHECK_EQUAL(waits_of_first(start_futex, 4), 4 + 8);
	set_call(NULL);
	thread_id = 0;
}

/* ---- the agent ---- */

static void test_agent_sleep(void)
{
	struct statedump_thread_sleep sleep = {.since = 900};

	reset();
	errno = E2BIG;
	/* The agent has not begun. */
	strcpy(sleep.call, "old");
	CHECK(statedump_thread_lock_wait_ms(&sleep) == 0 && sleep.since == 1000 && !*sleep.call);
	thread_tid = 77;
	/* Its file cannot be read: that counts as waiting. */
	fake.now = 1030;
	CHECK(statedump_thread_lock_wait_ms(&sleep) == 30 && sleep.since == 1000 && !*sleep.call);
	threads.call = "x";
	threads.size = 0;
	CHECK(statedump_thread_lock_wait_ms(&sleep) == 30 && threads.opened == 0);
	threads.size = -1;
	CHECK(statedump_thread_lock_wait_ms(&sleep) == 30 && threads.opened == 0);
	/* The agent waits; the same wait continues. */
	set_call("202 0x1 0x2");
	CHECK(statedump_thread_lock_wait_ms(&sleep) == 0 && sleep.since == 1030);
	CHECK(!strcmp(sleep.call, "202 0x1 0x2") && threads.opened == 0);
	fake.now = 1055;
	CHECK(statedump_thread_lock_wait_ms(&sleep) == 25);
	change_futex();
	CHECK(statedump_thread_lock_wait_ms(&sleep) == 0 && sleep.since == 1055);
	fake.now = 1060;
	CHECK(statedump_thread_lock_wait_ms(&sleep) == 5);
	/* Another system call, and none. */
	set_call("35 0x1");
	CHECK(statedump_thread_lock_wait_ms(&sleep) == 0 && sleep.since == 1060);
	fake.now = 1070;
	CHECK(statedump_thread_lock_wait_ms(&sleep) == 0 && sleep.since == 1070);
	set_call("running\n");
	fake.now = 1080;
	CHECK(statedump_thread_lock_wait_ms(&sleep) == 0 && !strcmp(sleep.call, "running\n"));
	CHECK(errno == E2BIG && threads.opened == 0);
}

static void test_read_call(void)
{
	char text[STATEDUMP_CALL_SIZE];

	reset();
	memset(text, 'x', sizeof(text));
	set_call("202 0x1");
	CHECK(statedump_thread_read_call(77, text) && !strcmp(text, "202 0x1") && text[8] == 'x');
	threads.size = 0;
	CHECK(!statedump_thread_read_call(77, text) && !*text);
	memset(text, 'x', sizeof(text));
	threads.size = -1;
	CHECK(!statedump_thread_read_call(77, text) && !*text && text[1] == 'x' &&
			threads.opened == 0);
	set_call(NULL);
	CHECK(!statedump_thread_read_call(77, text) && threads.opened == 0);
}

static void no_agent_any_more(void)
{
	state = THREAD_NONE;
}

static void test_agent_start(void)
{
	reset();
	statedump_lock();
	thread_tid = 5;
	CHECK(!statedump_thread_runs() && statedump_thread_start() && statedump_thread_runs());
	CHECK(threads.nr_created == 1 && threads.nr_masks == 2 && thread_tid == 0);
	CHECK(statedump_thread_start() && threads.nr_created == 1 && fake.nr_waits == 0);
	/* A previous one is ending. */
	for (int i = 0; i < 2; i++) {
		state = i ? THREAD_STOPPING : THREAD_ENDED;
		fake.on_wait = no_agent_any_more;
		fake.on_wait_at = fake.nr_waits + 2;
		CHECK(statedump_thread_start() && threads.nr_created == 2U + (unsigned int)i);
		CHECK(fake.nr_waits == 2U * (unsigned int)(i + 1) && fake.timeouts[0] == -1);
		state = i ? THREAD_STOPPING : THREAD_ENDED;
		thread_id = ME;
		CHECK(statedump_thread_is_me() && !statedump_thread_start());
		thread_id = OTHER;
		CHECK(!statedump_thread_is_me());
	}
	state = THREAD_NONE;
	threads.create_fails = EAGAIN;
	CHECK(!statedump_thread_start() && state == THREAD_NONE && threads.nr_masks == 8);
	statedump_unlock();
}

/* Stops an agent that needs this number of waits, each of one step. */
static void stop_with(int timeout_ms, int64_t step, unsigned int ends_at)
{
	reset();
	statedump_lock();
	CHECK(statedump_thread_start());
	fake.step = step;
	fake.on_wait = end_agent;
	fake.on_wait_at = ends_at;
	statedump_thread_stop(timeout_ms);
	CHECK(lock.depth == 1);
	statedump_unlock();
}

static void test_agent_stop(void)
{
	reset();
	statedump_lock();
	statedump_thread_stop(-1);
	statedump_unlock();
	CHECK(!threads.nr_joined && !threads.nr_detached && !fake.nr_turns);
	stop_with(-1, 1000000, 3);
	CHECK(fake.nr_waits == 3 && fake.timeouts[0] == -1 && fake.timeouts[2] == -1);
	CHECK(threads.nr_joined == 1 && threads.nr_detached == 0 && state == THREAD_NONE);
	CHECK(threads.nr_cancels == 2 && fake.nr_turns == 2 && !detached);
	stop_with(2000, 700, 3);
	CHECK(fake.nr_waits == 3 && fake.timeouts[0] == 2000 && fake.timeouts[1] == 1300 &&
			fake.timeouts[2] == 600);
	CHECK(threads.nr_joined == 1 && state == THREAD_NONE);
	/* The stop takes too long, to the millisecond. */
	stop_with(2000, 1000, 0);
	CHECK(fake.nr_waits == 2 && fake.timeouts[1] == 1000 && fake.nr_turns == 1);
	CHECK(threads.nr_joined == 0 && threads.nr_detached == 1 && detached &&
			state == THREAD_STOPPING);
	stop_with(2000, 1999, 0);
	CHECK(fake.nr_waits == 2 && fake.timeouts[1] == 1);
	stop_with(0, 1, 0);
	CHECK(fake.nr_waits == 0 && threads.nr_detached == 1 && detached);
	/* By itself. */
	reset();
	statedump_lock();
	CHECK(statedump_thread_start());
	thread_id = ME;
	statedump_thread_stop(-1);
	statedump_unlock();
	CHECK(fake.nr_waits == 0 && threads.nr_detached == 1 && detached);
}

static void stop_agent(void)
{
	state = THREAD_STOPPING;
}

static void resume_agent(void)
{
	CHECK(!*events || !strcmp(events, "name(side-statedump) "));
	CHECK(!busy && thread_id == ME);
	statedump_thread_resume();
	fake.on_wait = stop_agent;
	fake.on_wait_at = fake.nr_waits + 1;
}

static void dump_by_agent(void *key)
{
	CHECK(busy && thread_id == ME && thread_tid == 77);
	dump(key);
}

static void test_agent_main(void)
{
	reset();
	own = run_by_agent("own");
	own->cb = dump_by_agent;
	CHECK(statedump_thread_runs() && threads.nr_created == 1 && fake.nr_armed == 1);
	CHECK_EQUAL(side_statedump_run_pending_requests(own), SIDE_ERROR_INVAL);
	CHECK(lock.depth == 0 && !side_statedump_poll_pending_requests(own));
	CHECK(side_tracer_statedump_request_try(60));
	/* It waits during a pause. */
	nr_pauses = 1;
	fake.nr_turns = 0;
	fake.on_wait = resume_agent;
	fake.on_wait_at = fake.nr_waits + 1;
	CHECK(statedump_thread_main(NULL) == NULL);
	is_noted("name(side-statedump) begin(own 0) dump(0) end(own 0) begin(own 60) dump(60) "
		 "end(own 60) ");
	CHECK(!busy && thread_id == 0 && state == THREAD_ENDED && lock.depth == 0 &&
			thread_tid == 77);
	/* The end of the pause, two for each dump, and the end of the agent. */
	CHECK_EQUAL(fake.nr_turns, 6);
	/* If the agent does not run, a request starts it; otherwise no thread is started. */
	state = THREAD_NONE;
	CHECK(!side_tracer_statedump_request_try(61) && own->queued == 0);
	threads.create_fails = EAGAIN;
	CHECK_EQUAL(side_tracer_statedump_request(61), SIDE_ERROR_NOMEM);
	threads.create_fails = 0;
	CHECK_EQUAL(side_tracer_statedump_request(61), SIDE_ERROR_OK);
	CHECK(threads.nr_created == 2 && statedump_thread_runs());
	/* A detached thread is not joined. */
	detached = true;
	fake.on_wait = stop_agent;
	fake.on_wait_at = fake.nr_waits + 1;
	CHECK(statedump_thread_main(NULL) == NULL && state == THREAD_NONE && !detached);
	*events = '\0';
	state = THREAD_RUNNING;
	unregister(own);
	CHECK(threads.nr_joined == 1 && fake.used == 0 && state == THREAD_NONE);
	/* Another state still needs the agent. */
	own = run_by_agent("own");
	grown = run_by_agent("other");
	unregister(own);
	CHECK(threads.nr_joined == 1 && statedump_thread_runs());
	/* With the registry held, its end is not awaited. */
	fake.is_mine = true;
	fake.nr_waits = 0;
	side_statedump_request_notification_unregister(grown);
	CHECK(fake.nr_waits == 0 && threads.nr_detached == 1 && threads.nr_joined == 1);
}

/* ---- forks and the end ---- */

static void end_busy(void)
{
	busy = false;
}

static void test_pause(void)
{
	reset();
	statedump_pause();
	CHECK(nr_pauses == 1 && fake.nr_waits == 0 && lock.depth == 0);
	busy = true;
	fake.step = 700;
	fake.on_wait = end_busy;
	fake.on_wait_at = 2;
	statedump_pause();
	CHECK(nr_pauses == 2 && fake.nr_waits == 2 && fake.timeouts[0] == 2000 &&
			fake.timeouts[1] == 1300);
	busy = true;
	fake.step = 1000;
	statedump_pause();
	CHECK(nr_pauses == 3 && fake.nr_waits == 4 && fake.timeouts[2] == 2000 &&
			fake.timeouts[3] == 1000);
	fake.step = 1999;
	statedump_pause();
	CHECK(nr_pauses == 4 && fake.nr_waits == 6 && fake.timeouts[5] == 1);
	nr_pauses = 3;
	thread_id = ME;
	statedump_pause();
	CHECK(nr_pauses == 4 && fake.nr_waits == 6 && fake.nr_turns == 0);
	statedump_lock();
	statedump_fork_in_parent();
	CHECK(nr_pauses == 3 && fake.nr_turns == 1 && lock.depth == 0);
	/* In the child: this thread is the agent, or is not. */
	state = THREAD_RUNNING;
	detached = true;
	statedump_lock();
	statedump_fork_in_child();
	CHECK(nr_pauses == 0 && state == THREAD_RUNNING && thread_id == ME && busy && detached);
	thread_id = OTHER;
	nr_pauses = 2;
	statedump_lock();
	statedump_fork_in_child();
	CHECK(nr_pauses == 0 && state == THREAD_NONE && thread_id == 0 && !busy && !detached);
	CHECK(lock.depth == 0);
}

/* Only the runs of the forking thread continue in the child. */
static void test_fork(void)
{
	struct statedump_run runs[] = {{&runs[1], OTHER}, {&runs[2], ME}, {&runs[3], OTHER},
			{&runs[4], ME}, {NULL, OTHER}};
	struct side_statedump_request_handle handle = {.runs = runs};

	reset();
	first_handle = &handle;
	CHECK(statedump_runs_here(&handle));
	statedump_lock();
	statedump_fork_in_child();
	CHECK(handle.runs == &runs[1] && runs[1].next == &runs[3] && !runs[3].next);
	statedump_unlink_run(&handle, &runs[3]);
	CHECK(handle.runs == &runs[1] && !runs[1].next);
	fake.me = OTHER;
	CHECK(!statedump_runs_here(&handle));
	first_handle = NULL;
}

static void test_finish(void)
{
	reset();
	statedump_lock();
	CHECK(statedump_thread_start());
	statedump_unlock();
	fake.step = 1000;
	fake.nr_turns = 0;
	statedump_finish();
	CHECK(lock.depth == 0 && fake.nr_waits == 2 && fake.timeouts[0] == 2000 &&
			threads.nr_detached == 1);
	CHECK_EQUAL(fake.nr_turns, 2);
}

int main(void)
{
	test_reserve();
	test_oldest();
	test_requests();
	test_refusals();
	test_list();
	test_run_elsewhere();
	test_run_here();
	test_run_newest();
	test_first_dump();
	test_agent_sleep();
	test_read_call();
	test_agent_start();
	test_agent_stop();
	test_agent_main();
	test_pause();
	test_fork();
	test_finish();
	return 0;
}
