/* SPDX-License-Identifier: MIT */
/* The event loop: order of timers, removal inside callbacks, bounds of a round, signals, errors. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../check.h"
#include "../resources.h"
#include "base/clock.h"
#include "base/event-loop.h"

#define TIMERS 1000

static unsigned int nr_calls;
static struct event_timer timers[TIMERS];
static size_t order[TIMERS], nr_order;

/* Returns a pipe that can be read. */
static int ready_pipe(void)
{
	int ends[2];

	CHECK(!pipe2(ends, O_CLOEXEC | O_NONBLOCK) && write(ends[1], "x", 1) == 1);
	close(ends[1]);
	return ends[0];
}

static int count_ready(struct event_loop *loop, struct event_source *source, uint32_t events)
{
	(void)loop;
	CHECK(source->is_added && events & EPOLLIN);
	nr_calls++;
	return 0;
}

/* ---- timers ---- */

static int note_timer(struct event_loop *loop, struct event_timer *timer)
{
	(void)loop;
	CHECK(!timer->is_set);
	order[nr_order++] = (size_t)(timer - timers);
	return 0;
}

static uint64_t deadline_of(size_t i)
{
	return 1 + i * 7919 % TIMERS / 2;
}

/*
 * Deadlines in the past, each twice. Every third timer is cancelled, every fifth is set a second
 * time.
 */
static void test_order(void)
{
	struct event_loop loop;
	size_t i, nr = 0;

	CHECK(!event_loop_open(&loop) && event_loop_timeout_ms(&loop) == -1);
	for (i = 0; i < TIMERS; i++)
		event_timer_set(&loop, &timers[i], 5000 + TIMERS - i, note_timer);
	for (i = 0; i < TIMERS; i++)
		event_timer_set(&loop, &timers[i], deadline_of(i), note_timer);
	for (i = 0; i < TIMERS; i += 5)
		event_timer_set(&loop, &timers[i], deadline_of(i), note_timer);
	for (i = 0; i < TIMERS; i += 3, nr++)
		event_timer_cancel(&loop, &timers[i]);
	event_timer_cancel(&loop, &timers[0]);
	nr_order = 0;
	CHECK(event_loop_timeout_ms(&loop) == 0 && !event_loop_turn(&loop, -1));
	CHECK(nr_order == TIMERS - nr && !loop.timers);
	for (i = 1; i < nr_order; i++) {
		const struct event_timer *one = &timers[order[i - 1]], *next = &timers[order[i]];

		CHECK(order[i] % 3 && one->deadline <= next->deadline);
		CHECK(one->deadline < next->deadline || one->serial < next->serial);
	}
	event_loop_close(&loop);
}

static int set_again(struct event_loop *loop, struct event_timer *timer)
{
	nr_calls++;
	event_timer_set(loop, timer, 0, set_again);
	return 0;
}

/* A timer that is always due runs once a round. */
static void test_bounded(void)
{
	struct event_source source = {0};
	struct event_timer timer = {0}, never = {0}, late = {0};
	struct event_loop loop;

	CHECK(!event_loop_open(&loop));
	CHECK(!event_source_add(&loop, &source, ready_pipe(), EPOLLIN, count_ready));
	event_timer_set(&loop, &never, DEADLINE_NEVER, note_timer);
	CHECK(!never.is_set);
	event_timer_set_ms(&loop, &never, UINT64_MAX, note_timer);
	CHECK(!never.is_set);
	event_timer_set_ms(&loop, &late, 3600000, note_timer);
	event_timer_set(&loop, &timer, 0, set_again);
	nr_calls = 0;
	CHECK(!event_loop_turn(&loop, -1) && nr_calls == 2 && timer.is_set && late.is_set);
	CHECK(!event_loop_turn(&loop, -1) && nr_calls == 4);
	event_timer_cancel(&loop, &timer);
	CHECK(event_loop_timeout_ms(&loop) > 0 && event_loop_timeout_ms(&loop) <= 3600000);
	event_timer_cancel(&loop, &late);
	event_source_close(&loop, &source);
	event_loop_close(&loop);
}

/* ---- descriptors ---- */

static struct event_source *sources[2];

/*
 * Both are ready; the callback that runs first frees both, and another source gets the same memory.
 */
static int free_both(struct event_loop *loop, struct event_source *source, uint32_t events)
{
	(void)source;
	(void)events;
	nr_calls++;
	for (int i = 0; i < 2; i++) {
		event_source_close(loop, sources[i]);
		memset(sources[i], 0, sizeof(*sources[i]));
	}
	CHECK(!event_source_add(loop, sources[0], ready_pipe(), EPOLLIN, count_ready));
	CHECK(!event_source_add(loop, sources[1], ready_pipe(), EPOLLIN, count_ready));
	return 0;
}

static void test_removal(void)
{
	struct event_loop loop;

	CHECK(!event_loop_open(&loop));
	for (int i = 0; i < 2; i++) {
		sources[i] = calloc(1, sizeof(*sources[i]));
		CHECK(sources[i]);
		CHECK(!event_source_add(&loop, sources[i], ready_pipe(), EPOLLIN, free_both));
	}
	nr_calls = 0;
	CHECK(!event_loop_turn(&loop, -1) && nr_calls == 1);
	CHECK(!event_loop_turn(&loop, -1) && nr_calls == 3);
	for (int i = 0; i < 2; i++) {
		event_source_close(&loop, sources[i]);
		CHECK(event_source_remove(&loop, sources[i]) == -1);
		free(sources[i]);
	}
	event_loop_close(&loop);
}

/* More sources than a round handles: all of them are called within two rounds. */
static void test_batch(void)
{
	static struct event_source many[EVENT_LOOP_BATCH + 1];
	struct event_loop loop;
	size_t i;

	CHECK(!event_loop_open(&loop));
	for (i = 0; i < EVENT_LOOP_BATCH + 1; i++)
		CHECK(!event_source_add(&loop, &many[i], ready_pipe(), EPOLLIN | EPOLLONESHOT,
				count_ready));
	nr_calls = 0;
	CHECK(!event_loop_turn(&loop, -1) && nr_calls == EVENT_LOOP_BATCH);
	CHECK(!event_loop_turn(&loop, -1) && nr_calls == EVENT_LOOP_BATCH + 1);
	for (i = 0; i < EVENT_LOOP_BATCH + 1; i++)
		event_source_close(&loop, &many[i]);
	event_loop_close(&loop);
}

static void test_change(void)
{
	struct event_source source = {0}, other = {0};
	int fd = ready_pipe();
	struct event_loop loop;

	CHECK(!event_loop_open(&loop) && event_loop_fd(&loop) == loop.epoll);
	CHECK(!event_source_change(&loop, &source, EPOLLIN));
	CHECK(event_source_add(&loop, &source, -1, EPOLLIN, count_ready) == -EBADF);
	CHECK(!source.is_added);
	CHECK(!event_source_add(&loop, &source, fd, 0, count_ready));
	CHECK(event_source_add(&loop, &source, fd, 0, count_ready) == -EEXIST);
	CHECK(event_source_add(&loop, &other, fd, 0, count_ready) == -EEXIST);
	CHECK(!event_source_change(&loop, &source, EPOLLIN));
	nr_calls = 0;
	CHECK(!event_loop_turn(&loop, 0) && nr_calls == 1);
	CHECK(!event_source_change(&loop, &source, EPOLLIN));
	close(fd);
	CHECK(event_source_change(&loop, &source, EPOLLOUT) == -EBADF && !source.is_added);
	event_loop_close(&loop);
}

/* ---- signals ---- */

static bool removes_signals;

static int count_signal(struct event_loop *loop, struct event_signals *signals,
		const struct signalfd_siginfo *info)
{
	CHECK(info->ssi_signo == (uint32_t)SIGRTMIN);
	nr_calls++;
	if (removes_signals) {
		event_signals_remove(loop, signals);
		memset(signals, 0xff, sizeof(*signals));
	}
	return 0;
}

static void test_signals(void)
{
	struct event_signals signals = {{0}, NULL};
	struct event_loop loop;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	CHECK(!event_loop_open(&loop));
	CHECK(!event_signals_add(&loop, &signals, &set, count_signal));
	CHECK(event_signals_add(&loop, &signals, &set, count_signal) == -EEXIST);
	for (int i = 0; i < EVENT_LOOP_SIGNAL_BATCH + 2; i++)
		CHECK(!kill(getpid(), SIGRTMIN));
	nr_calls = 0;
	CHECK(!event_loop_turn(&loop, -1) && nr_calls == EVENT_LOOP_SIGNAL_BATCH);
	removes_signals = true;
	CHECK(!event_loop_turn(&loop, -1) && nr_calls == EVENT_LOOP_SIGNAL_BATCH + 1);
	CHECK(!event_loop_turn(&loop, 0) && nr_calls == EVENT_LOOP_SIGNAL_BATCH + 1);
	event_loop_close(&loop);
}

/* ---- errors and deferred calls ---- */

static struct event_deferred deferred[2];

static void run_deferred(struct event_loop *loop, struct event_deferred *one)
{
	CHECK(!one->is_queued);
	nr_calls += 100;
	if (one == &deferred[0])
		event_loop_defer(loop, &deferred[1], run_deferred);
}

static int fail_ready(struct event_loop *loop, struct event_source *source, uint32_t events)
{
	(void)source;
	(void)events;
	CHECK(event_loop_turn(loop, 0) == -EDEADLK);
	event_loop_defer(loop, &deferred[0], run_deferred);
	event_loop_defer(loop, &deferred[0], run_deferred);
	nr_calls++;
	return -EIO;
}

static int fail_timer(struct event_loop *loop, struct event_timer *timer)
{
	(void)timer;
	event_loop_stop(loop);
	return nr_calls ? 0 : -ENOSPC;
}

static void test_errors(void)
{
	struct event_source source = {0};
	struct event_timer first = {0}, second = {0};
	struct event_loop loop;

	CHECK(!event_loop_open(&loop));
	CHECK(!event_source_add(&loop, &source, ready_pipe(), EPOLLIN, fail_ready));
	event_timer_set(&loop, &first, 0, fail_timer);
	event_timer_set(&loop, &second, 0, fail_timer);
	nr_calls = 0;
	CHECK(event_loop_run(&loop) == -EIO && nr_calls == 201 && first.is_set);
	event_source_close(&loop, &source);
	nr_calls = 0;
	CHECK(event_loop_run(&loop) == -ENOSPC && !first.is_set && second.is_set);
	nr_calls = 1;
	CHECK(event_loop_run(&loop) == 0 && !second.is_set);
	event_loop_defer(&loop, &deferred[0], run_deferred);
	close(loop.epoll);
	/* A failed wait delays no timer. */
	event_timer_set(&loop, &first, 0, fail_timer);
	CHECK(event_loop_turn(&loop, 0) == -EBADF && nr_calls == 201 && !first.is_set);
	event_loop_defer(&loop, &deferred[1], run_deferred);
	loop.epoll = -1;
	event_loop_close(&loop);
	CHECK(nr_calls == 301);
}

static void test_no_descriptors(void)
{
	struct event_signals signals = {{0}, NULL};
	struct event_loop loop, none;
	struct rlimit limit, low;
	sigset_t set;

	sigemptyset(&set);
	CHECK(!event_loop_open(&loop) && !getrlimit(RLIMIT_NOFILE, &limit));
	low = limit;
	low.rlim_cur = 0;
	CHECK(!setrlimit(RLIMIT_NOFILE, &low));
	CHECK(event_loop_open(&none) == -EMFILE && none.epoll == -1);
	event_loop_close(&none);
	CHECK(event_signals_add(&loop, &signals, &set, count_signal) == -EMFILE);
	CHECK(!signals.source.is_added && !setrlimit(RLIMIT_NOFILE, &limit));
	event_loop_close(&loop);
}

int main(void)
{
	unsigned int before = resources_descriptors();

	test_order();
	test_bounded();
	test_removal();
	test_batch();
	test_change();
	test_signals();
	test_errors();
	test_no_descriptors();
	CHECK(resources_descriptors() == before);
	return 0;
}
