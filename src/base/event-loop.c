/* SPDX-License-Identifier: MIT */
/* The event loop: epoll for descriptors, a pairing heap for timers, signalfd for signals. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/event-loop.h"

int event_loop_open(struct event_loop *loop)
{
	*loop = (struct event_loop){.epoll = epoll_create1(EPOLL_CLOEXEC)};
	loop->last_deferred = &loop->deferred;
	return loop->epoll < 0 ? -errno : 0;
}

int event_loop_fd(const struct event_loop *loop)
{
	return loop->epoll;
}

void event_loop_stop(struct event_loop *loop)
{
	loop->is_stopped = true;
}

/* ---- deferred calls ---- */

void event_loop_defer(
		struct event_loop *loop, struct event_deferred *deferred, event_deferred_fn *run)
{
	if (deferred->is_queued)
		return;
	*deferred = (struct event_deferred){.is_queued = true, .run = run};
	*loop->last_deferred = deferred;
	loop->last_deferred = &deferred->next;
}

/*
 * A call that defers another one: that one runs, too, because its memory may not be needed in the
 * next round.
 */
static void event_loop_run_deferred(struct event_loop *loop)
{
	struct event_deferred *deferred;

	while ((deferred = loop->deferred)) {
		loop->deferred = deferred->next;
		if (!loop->deferred)
			loop->last_deferred = &loop->deferred;
		deferred->is_queued = false;
		deferred->run(loop, deferred);
	}
}

void event_loop_close(struct event_loop *loop)
{
	event_loop_run_deferred(loop);
	if (loop->epoll >= 0)
		close(loop->epoll);
	loop->epoll = -1;
}

/* ---- descriptors ---- */

int event_source_add(struct event_loop *loop, struct event_source *source, int fd, uint32_t events,
		event_source_fn *ready)
{
	struct epoll_event event = {.events = events, .data.ptr = source};

	if (source->is_added)
		return -EEXIST;
	if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event))
		return -errno;
	*source = (struct event_source){
			.is_added = true, .fd = fd, .events = events, .ready = ready};
	return 0;
}

/* Its events of this round: the memory of the source may be used again before they are handled. */
static void event_source_forget(struct event_loop *loop, const struct event_source *source)
{
	for (int i = 0; i < loop->nr_batch; i++)
		if (loop->batch[i].data.ptr == source)
			loop->batch[i].data.ptr = NULL;
	if (loop->signals_handled == source)
		*loop->signals_removed = true;
}

int event_source_remove(struct event_loop *loop, struct event_source *source)
{
	if (!source->is_added)
		return -1;
	/* Explicitly: closing is not enough if a child has a copy of the descriptor. */
	(void)epoll_ctl(loop->epoll, EPOLL_CTL_DEL, source->fd, NULL);
	event_source_forget(loop, source);
	source->is_added = false;
	return source->fd;
}

void event_source_close(struct event_loop *loop, struct event_source *source)
{
	int fd = event_source_remove(loop, source);

	if (fd >= 0)
		close(fd);
}

int event_source_change(struct event_loop *loop, struct event_source *source, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = source};
	int ret;

	if (!source->is_added || source->events == events)
		return 0;
	source->events = events;
	if (!epoll_ctl(loop->epoll, EPOLL_CTL_MOD, source->fd, &event))
		return 0;
	/* Register the descriptor again: otherwise the loop never calls its owner again. */
	(void)epoll_ctl(loop->epoll, EPOLL_CTL_DEL, source->fd, NULL);
	if (!epoll_ctl(loop->epoll, EPOLL_CTL_ADD, source->fd, &event))
		return 0;
	ret = -errno;
	event_source_forget(loop, source);
	source->is_added = false;
	return ret;
}

/* ---- timers: a pairing heap through the timers themselves ---- */

static bool event_timer_is_before(const struct event_timer *one, const struct event_timer *other)
{
	return one->deadline != other->deadline ? one->deadline < other->deadline
						: one->serial < other->serial;
}

/* Two heaps without siblings become one. */
static struct event_timer *event_timer_meld(struct event_timer *one, struct event_timer *other)
{
	struct event_timer *first, *second;

	if (!one || !other)
		return one ? one : other;
	first = event_timer_is_before(other, one) ? other : one;
	second = first == one ? other : one;
	second->previous = first;
	second->next = first->child;
	if (second->next)
		second->next->previous = second;
	first->child = second;
	return first;
}

/* Takes the first of a list of siblings. */
static struct event_timer *event_timer_shift(struct event_timer **list)
{
	struct event_timer *timer = *list;

	if (timer) {
		*list = timer->next;
		timer->next = timer->previous = NULL;
	}
	return timer;
}

/* Siblings become one heap: in pairs from the left, and these from the right. */
static struct event_timer *event_timer_meld_siblings(struct event_timer *list)
{
	struct event_timer *pairs = NULL, *heap = NULL, *pair;

	while (list) {
		struct event_timer *one = event_timer_shift(&list);

		pair = event_timer_meld(one, event_timer_shift(&list));
		pair->next = pairs;
		pairs = pair;
	}
	while ((pair = event_timer_shift(&pairs)))
		heap = event_timer_meld(heap, pair);
	return heap;
}

void event_timer_cancel(struct event_loop *loop, struct event_timer *timer)
{
	struct event_timer *children;

	if (!timer->is_set)
		return;
	children = event_timer_meld_siblings(timer->child);
	timer->is_set = false;
	timer->child = NULL;
	if (timer == loop->timers) {
		loop->timers = children;
		return;
	}
	if (timer->previous->child == timer)
		timer->previous->child = timer->next;
	else
		timer->previous->next = timer->next;
	if (timer->next)
		timer->next->previous = timer->previous;
	timer->next = timer->previous = NULL;
	loop->timers = event_timer_meld(loop->timers, children);
}

void event_timer_set(struct event_loop *loop, struct event_timer *timer, uint64_t deadline,
		event_timer_fn *expired)
{
	event_timer_cancel(loop, timer);
	if (deadline == DEADLINE_NEVER)
		return;
	*timer = (struct event_timer){.is_set = true,
			.deadline = deadline,
			.serial = loop->next_serial++,
			.expired = expired};
	loop->timers = event_timer_meld(loop->timers, timer);
}

void event_timer_set_ms(struct event_loop *loop, struct event_timer *timer, uint64_t ms,
		event_timer_fn *expired)
{
	event_timer_set(loop, timer, deadline_after_ns(clock_ns_from_ms(ms)), expired);
}

/*
 * Timers that callbacks of this round set have later serials. One of them may be at the top of the
 * heap, before older ones that have expired, too: these wait for the next round, which comes at
 * once.
 */
static int event_loop_expire(struct event_loop *loop)
{
	const uint64_t now = clock_monotonic_ns(), serial = loop->next_serial;
	struct event_timer *timer;
	int ret = 0;

	while (!ret && (timer = loop->timers) && timer->deadline <= now && timer->serial < serial) {
		event_timer_cancel(loop, timer);
		ret = timer->expired(loop, timer);
	}
	return ret;
}

int event_loop_timeout_ms(const struct event_loop *loop)
{
	return loop->timers ? deadline_remaining_ms(loop->timers->deadline) : -1;
}

/* ---- signals ---- */

static int event_signals_ready(
		struct event_loop *loop, struct event_source *source, uint32_t events)
{
	struct event_signals *signals = (struct event_signals *)(void *)source;
	const int fd = source->fd;
	struct signalfd_siginfo info;
	bool is_removed = false;
	int ret = 0;

	(void)events;
	loop->signals_handled = source;
	loop->signals_removed = &is_removed;
	/* A callback may remove the source, whose memory is not read any more then. */
	for (int i = 0; i < EVENT_LOOP_SIGNAL_BATCH && !ret && !is_removed; i++) {
		if (read(fd, &info, sizeof(info)) != sizeof(info))
			break;
		ret = signals->arrived(loop, signals, &info);
	}
	loop->signals_handled = NULL;
	loop->signals_removed = NULL;
	return ret;
}

int event_signals_add(struct event_loop *loop, struct event_signals *signals, const sigset_t *set,
		event_signals_fn *arrived)
{
	int ret, fd;

	_Static_assert(!offsetof(struct event_signals, source), "event_signals_ready() casts");
	if (signals->source.is_added)
		return -EEXIST;
	ret = -pthread_sigmask(SIG_BLOCK, set, NULL);
	if (ret)
		return ret;
	fd = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	ret = event_source_add(loop, &signals->source, fd, EPOLLIN, event_signals_ready);
	if (ret)
		close(fd);
	signals->arrived = arrived;
	return ret;
}

void event_signals_remove(struct event_loop *loop, struct event_signals *signals)
{
	event_source_close(loop, &signals->source);
}

/* ---- rounds ---- */

static int event_loop_call_ready(struct event_loop *loop)
{
	int ret = 0;

	for (int i = 0; i < loop->nr_batch && !ret; i++) {
		struct event_source *source = loop->batch[i].data.ptr;

		if (source)
			ret = source->ready(loop, source, loop->batch[i].events);
	}
	return ret;
}

static int event_loop_wait(struct event_loop *loop, int timeout_ms)
{
	const int timer_ms = event_loop_timeout_ms(loop);
	int nr;

	if (timer_ms >= 0 && (timeout_ms < 0 || timer_ms < timeout_ms))
		timeout_ms = timer_ms;
	nr = epoll_wait(loop->epoll, loop->batch, EVENT_LOOP_BATCH, timeout_ms);
	return nr >= 0 ? nr : errno == EINTR ? 0 : -errno;
}

int event_loop_turn(struct event_loop *loop, int timeout_ms)
{
	struct epoll_event batch[EVENT_LOOP_BATCH];
	int ret, waited;

	if (loop->batch)
		return -EDEADLK;
	loop->batch = batch;
	waited = event_loop_wait(loop, timeout_ms);
	loop->nr_batch = waited < 0 ? 0 : waited;
	ret = event_loop_call_ready(loop);
	loop->nr_batch = 0;
	/*
	 * Also if the wait failed: the kernel may be out of memory, but timers must still expire.
	 */
	if (!ret)
		ret = event_loop_expire(loop);
	event_loop_run_deferred(loop);
	loop->batch = NULL;
	return waited < 0 ? waited : ret;
}

int event_loop_run(struct event_loop *loop)
{
	int ret = 0;

	loop->is_stopped = false;
	while (!ret && !loop->is_stopped)
		ret = event_loop_turn(loop, -1);
	return ret;
}
