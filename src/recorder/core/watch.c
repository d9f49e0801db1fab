/* SPDX-License-Identifier: MIT */
/*
 * Notes which descriptors of the main loop are ready, because run_turn() handles them in an order
 * of its own.
 */
#include "base/container-of.h"
#include "recorder/core/watch.h"
#include "recorder/session-state.h"

static int watch_note_ready(struct event_loop *events, struct event_source *source, uint32_t ready)
{
	struct session_loop *loop = container_of(events, struct session_loop, events);

	(void)ready;
	loop->ready[loop->nr_ready++] = container_of(source, struct recorder_watch, source);
	return 0;
}

int watch_add(struct session *session, struct recorder_watch *watch)
{
	return event_source_add(&session->loop.events, &watch->source, watch->fd, EPOLLIN,
			watch_note_ready);
}

void watch_remove(struct session *session, struct recorder_watch *watch)
{
	(void)event_source_remove(&session->loop.events, &watch->source);
}
