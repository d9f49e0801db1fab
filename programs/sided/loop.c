/* SPDX-License-Identifier: MIT */
/*
 * Keeps the owners of descriptors and timers in memory, and frees closed objects at the end of each
 * round (objects.h).
 */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "sided.h"

/* The daemon exits after more than this number of failed waits in a row. */
#define FAILED_WAITS_MAX 16

uint64_t loop_now(void)
{
	return clock_monotonic_ns();
}

int loop_open(struct daemon *daemon)
{
	return event_loop_open(&daemon->loop);
}

static bool loop_owner_is_closed(const struct sided_object *owner)
{
	return owner && owner->is_closed;
}

static int loop_ready(struct event_loop *loop, struct event_source *source, uint32_t events)
{
	struct sided_watch *watch = container_of(source, struct sided_watch, source);

	if (!loop_owner_is_closed(watch->owner))
		watch->ready(container_of(loop, struct daemon, loop), watch, events);
	return 0;
}

int loop_watch(struct daemon *daemon, struct sided_watch *watch, int fd, uint32_t events,
		void (*ready)(struct daemon *, struct sided_watch *, uint32_t))
{
	struct sided_object *owner = watch->owner;
	int ret;

	*watch = (struct sided_watch){.fd = -1, .owner = owner};
	ret = event_source_add(&daemon->loop, &watch->source, fd, events, loop_ready);
	if (ret)
		return ret;
	watch->fd = fd;
	watch->events = events;
	watch->ready = ready;
	if (owner)
		object_get(owner);
	return 0;
}

void loop_change(struct daemon *daemon, struct sided_watch *watch, uint32_t events)
{
	int ret;

	if (watch->fd < 0 || watch->events == events)
		return;
	watch->events = events;
	ret = event_source_change(&daemon->loop, &watch->source, events);
	if (ret)
		log_message("cannot wait for a descriptor: %s", strerror(-ret));
}

int loop_release(struct daemon *daemon, struct sided_watch *watch)
{
	int fd = watch->fd;

	if (fd < 0)
		return fd;
	(void)event_source_remove(&daemon->loop, &watch->source);
	watch->fd = -1;
	if (watch->owner)
		object_put(daemon, watch->owner);
	return fd;
}

void loop_unwatch(struct daemon *daemon, struct sided_watch *watch)
{
	int fd = loop_release(daemon, watch);

	if (fd >= 0)
		close(fd);
}

static void loop_timer_end(struct daemon *daemon, struct timer *timer)
{
	if (timer->owner)
		object_put(daemon, timer->owner);
}

void loop_cancel(struct daemon *daemon, struct timer *timer)
{
	if (!timer->base.is_set)
		return;
	event_timer_cancel(&daemon->loop, &timer->base);
	loop_timer_end(daemon, timer);
}

/* An owner without a reference stays in memory until the end of the round. */
static int loop_expired(struct event_loop *loop, struct event_timer *base)
{
	struct daemon *daemon = container_of(loop, struct daemon, loop);
	struct timer *timer = container_of(base, struct timer, base);

	loop_timer_end(daemon, timer);
	if (!loop_owner_is_closed(timer->owner))
		timer->expired(daemon, timer);
	return 0;
}

void loop_timer(struct daemon *daemon, struct timer *timer, uint64_t in_ms,
		void (*expired)(struct daemon *, struct timer *))
{
	loop_cancel(daemon, timer);
	timer->expired = expired;
	event_timer_set_ms(&daemon->loop, &timer->base, in_ms, loop_expired);
	if (timer->owner && timer->base.is_set)
		object_get(timer->owner);
}

int loop_run(struct daemon *daemon)
{
	unsigned int failed = 0;

	while (!daemon->stop) {
		int ret = event_loop_turn(&daemon->loop, -1);

		failed = ret ? failed + 1 : 0;
		if (failed > FAILED_WAITS_MAX)
			return ret;
		objects_free_unused(daemon);
	}
	return 0;
}

void loop_close(struct daemon *daemon)
{
	objects_free_unused(daemon);
	if (objects_left())
		log_message("%u objects of the daemon are still referenced at its end",
				objects_left());
	event_loop_close(&daemon->loop);
}
