/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_SELECT_H
#define SIDE_TRACERS_AGENT_CORE_SELECT_H

/*
 * One event of one channel: whether a rule wants it, and its filters, contexts and function.
 *
 * Caller: batch.c, with libside's event lock. Allocates nothing.
 */
#include <stdbool.h>
#include <stddef.h>

struct agent_channel;
struct agent_event;
struct side_event_description;

/* Does any rule name the event? */
bool agent_wants(const struct agent_channel *channel, const struct side_event_description *event);

/*
 * With memory NULL: how many bytes the event needs, or 0 if the channel does not want it; *event is
 * overwritten with temporary data. With memory of that size: fill in *event (the caller has set
 * plan, description and channel, and zeroed the other members). Returns the same number, or 0.
 */
size_t agent_select(const struct agent_channel *channel, struct side_event_description *description,
		struct agent_event *event, char *memory);

#endif
