/* SPDX-License-Identifier: MIT */
/*
 * The loop. A round takes the events of epoll, calls the functions that watch, then those of expired timers, and
 * then frees the objects that have no reference left: an event of this round may point to one of them (objects.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "sided.h"

#define EVENTS_AT_ONCE 64
#define TIMERS_FIRST 64
/* The daemon ends after more than this number of failed waits in a row. */
#define FAILED_WAITS_MAX 16
#define NS_PER_MS 1000000u

uint64_t loop_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int loop_open(struct daemon *daemon)
{
	daemon->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (daemon->epoll < 0)
		return -errno;
	daemon->timers = calloc(TIMERS_FIRST, sizeof(struct timer *));
	if (!daemon->timers)
		return -ENOMEM;
	daemon->room_timers = TIMERS_FIRST;
	return 0;
}

int loop_watch(struct daemon *daemon, struct watch *watch, int fd, uint32_t events,
		void (*ready)(struct daemon *, struct watch *, uint32_t))
{
	struct epoll_event event = {.events = events, .data.ptr = watch};
	struct object *owner = watch->owner;

	*watch = (struct watch){.fd = -1, .owner = owner};
	if (epoll_ctl(daemon->epoll, EPOLL_CTL_ADD, fd, &event))
		return -errno;
	*watch = (struct watch){.fd = fd, .events = events, .owner = owner, .ready = ready};
	if (owner)
		object_get(owner);
	return 0;
}

void loop_change(struct daemon *daemon, struct watch *watch, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = watch};

	if (watch->fd < 0 || watch->events == events)
		return;
	watch->events = events;
	if (!epoll_ctl(daemon->epoll, EPOLL_CTL_MOD, watch->fd, &event))
		return;
	/* Register the descriptor again: otherwise the loop never calls its owner again. */
	epoll_ctl(daemon->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
	if (epoll_ctl(daemon->epoll, EPOLL_CTL_ADD, watch->fd, &event))
		say("cannot wait for a descriptor: %s", strerror(errno));
}

int loop_release(struct daemon *daemon, struct watch *watch)
{
	int fd = watch->fd;

	if (fd < 0)
		return fd;
	/* Said, because a child that was just being started may have a copy of the descriptor. */
	epoll_ctl(daemon->epoll, EPOLL_CTL_DEL, fd, NULL);
	watch->fd = -1;
	if (watch->owner)
		object_put(daemon, watch->owner);
	return fd;
}

void loop_unwatch(struct daemon *daemon, struct watch *watch)
{
	int fd = loop_release(daemon, watch);

	if (fd >= 0)
		close(fd);
}

static bool is_closed(const struct object *owner)
{
	return owner && owner->is_closed;
}

/* ---- timers: a heap, the first is next ---- */

static void put(struct daemon *daemon, size_t slot, struct timer *timer)
{
	daemon->timers[slot - 1] = timer;
	timer->slot = slot;
}

static struct timer *at(const struct daemon *daemon, size_t slot)
{
	return daemon->timers[slot - 1];
}

static void rise(struct daemon *daemon, struct timer *timer, size_t slot)
{
	while (slot > 1 && at(daemon, slot / 2)->at > timer->at) {
		put(daemon, slot, at(daemon, slot / 2));
		slot /= 2;
	}
	put(daemon, slot, timer);
}

static void sink(struct daemon *daemon, struct timer *timer, size_t slot)
{
	for (;;) {
		size_t child = slot * 2;

		if (child < daemon->nr_timers && at(daemon, child + 1)->at < at(daemon, child)->at)
			child++;
		if (child > daemon->nr_timers || at(daemon, child)->at >= timer->at)
			break;
		put(daemon, slot, at(daemon, child));
		slot = child;
	}
	rise(daemon, timer, slot);
}

void loop_cancel(struct daemon *daemon, struct timer *timer)
{
	size_t slot = timer->slot;
	struct timer *last;

	if (!slot)
		return;
	timer->slot = 0;
	last = at(daemon, daemon->nr_timers--);
	if (last != timer)
		sink(daemon, last, slot);
	if (timer->owner)
		object_put(daemon, timer->owner);
}

/*
 * Grow when half of the slots are used, so that a failed allocation is tried again many times. Without its timer a request would never end.
 */
static void grow(struct daemon *daemon)
{
	size_t room = daemon->room_timers * 2;
	struct timer **timers;

	if (daemon->nr_timers < daemon->room_timers / 2)
		return;
	timers = realloc(daemon->timers, room * sizeof(struct timer *));
	if (!timers)
		return;
	daemon->timers = timers;
	daemon->room_timers = room;
}

void loop_timer(struct daemon *daemon, struct timer *timer, uint64_t in_ms,
		void (*expired)(struct daemon *, struct timer *))
{
	loop_cancel(daemon, timer);
	grow(daemon);
	if (daemon->nr_timers == daemon->room_timers) {
		say("out of memory: cannot create a timer");
		return;
	}
	timer->at = loop_now() + in_ms * NS_PER_MS;
	timer->expired = expired;
	daemon->nr_timers++;
	rise(daemon, timer, daemon->nr_timers);
	if (timer->owner)
		object_get(timer->owner);
}

static void expire(struct daemon *daemon)
{
	uint64_t now = loop_now();

	while (daemon->nr_timers && at(daemon, 1)->at <= now) {
		struct timer *timer = at(daemon, 1);

		loop_cancel(daemon, timer);
		if (!is_closed(timer->owner))
			timer->expired(daemon, timer);
	}
}

static int time_left(const struct daemon *daemon)
{
	uint64_t now = loop_now(), left;

	if (!daemon->nr_timers)
		return -1;
	if (at(daemon, 1)->at <= now)
		return 0;
	left = (at(daemon, 1)->at - now + NS_PER_MS - 1) / NS_PER_MS;
	return left > 1000000 ? 1000000 : (int)left;
}

int loop_run(struct daemon *daemon)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	unsigned int failed = 0;

	while (!daemon->stop) {
		int nr = epoll_wait(daemon->epoll, events, EVENTS_AT_ONCE, time_left(daemon)), i;

		if (nr >= 0)
			failed = 0;
		else if (errno != EINTR && ++failed > FAILED_WAITS_MAX)
			return -errno;
		for (i = 0; i < nr; i++) {
			struct watch *watch = events[i].data.ptr;

			if (watch->fd >= 0 && !is_closed(watch->owner))
				watch->ready(daemon, watch, events[i].events);
		}
		expire(daemon);
		objects_free_unused(daemon);
	}
	return 0;
}

void loop_close(struct daemon *daemon)
{
	objects_free_unused(daemon);
	if (objects_left())
		say("%u objects of the daemon are still referenced at its end", objects_left());
	free(daemon->timers);
	close(daemon->epoll);
}
