/* SPDX-License-Identifier: MIT */
/*
 * Replaces the loop of the daemon: notes watches and timers in the order of the calls. A test
 * includes this header once, and defines loop_name(), which names a watch.
 */
#ifndef TESTS_SIDED_PLAYED_LOOP_H
#define TESTS_SIDED_PLAYED_LOOP_H

#include <unistd.h>

#include "../called.h"
#include "programs/sided/sided.h"

static const char *loop_name(const struct sided_watch *watch);
static const char *failing_watch; /* the watch that cannot be created, or NULL */

static inline void loop_owner_get(struct sided_object *owner)
{
	if (owner)
		object_get(owner);
}

static inline void loop_owner_put(struct daemon *daemon, struct sided_object *owner)
{
	if (owner)
		object_put(daemon, owner);
}

int loop_watch(struct daemon *daemon, struct sided_watch *watch, int fd, uint32_t events,
		void (*ready)(struct daemon *, struct sided_watch *, uint32_t))
{
	(void)daemon;
	called("watch(%s,%x) ", loop_name(watch), events);
	watch->fd = -1;
	if (failing_watch && !strcmp(failing_watch, loop_name(watch)))
		return -ENOSPC;
	watch->fd = fd;
	watch->events = events;
	watch->ready = ready;
	loop_owner_get(watch->owner);
	return 0;
}

void loop_change(struct daemon *daemon, struct sided_watch *watch, uint32_t events)
{
	(void)daemon;
	if (watch->fd < 0 || watch->events == events)
		return;
	watch->events = events;
	called("change(%s,%x) ", loop_name(watch), events);
}

int loop_release(struct daemon *daemon, struct sided_watch *watch)
{
	int fd = watch->fd;

	if (fd < 0)
		return fd;
	called("release(%s) ", loop_name(watch));
	watch->fd = -1;
	loop_owner_put(daemon, watch->owner);
	return fd;
}

void loop_unwatch(struct daemon *daemon, struct sided_watch *watch)
{
	int fd = loop_release(daemon, watch);

	if (fd >= 0)
		close(fd);
}

void loop_timer(struct daemon *daemon, struct timer *timer, uint64_t in_ms,
		void (*expired)(struct daemon *, struct timer *))
{
	(void)daemon;
	called("timer(%llu) ", (unsigned long long)in_ms);
	if (!timer->base.is_set)
		loop_owner_get(timer->owner);
	timer->base.is_set = true;
	timer->expired = expired;
}

void loop_cancel(struct daemon *daemon, struct timer *timer)
{
	if (!timer->base.is_set)
		return;
	called("cancel ");
	timer->base.is_set = false;
	loop_owner_put(daemon, timer->owner);
}

/* The loop removes a timer before it calls its owner. */
static inline void loop_expire(struct daemon *daemon, struct timer *timer)
{
	assert_true(timer->base.is_set);
	timer->base.is_set = false;
	timer->expired(daemon, timer);
	loop_owner_put(daemon, timer->owner);
}

#endif /* TESTS_SIDED_PLAYED_LOOP_H */
