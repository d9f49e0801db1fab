/* SPDX-License-Identifier: MIT */
/* Computes the size of the rings of a process. */
#include "recorder/core/channels.h"
#include "recorder/core/memory-size.h"
#include "recorder/session-state.h"

struct ring_geometry memory_size_geometry(
		const struct session *session, const struct channel *channel, unsigned int halvings)
{
	uint64_t size = channel->ring_size >> halvings;
	struct ring_geometry geometry = {
			.rings = channel->rings,
			.event_slots = EVENT_SLOTS,
			.size = size > SESSION_RING_MIN ? size : SESSION_RING_MIN,
			.mode = channel->mode,
			.clock = session->clock.kind,
			.placement = channel->placement,
			.flags = session->memory.prefault ? RING_PREFAULT : 0,
			.block_timeout_us = channel->block_timeout_us,
	};

	if (channel->counts) {
		geometry.event_slots = 1;
		geometry.size = SESSION_RING_MIN;
		geometry.flags = RING_COUNTS;
		return geometry;
	}
	/* A file has the page size of its file system, so it cannot use huge pages. */
	if (session->memory.huge_pages && !session->buffers.path &&
			geometry.size >= ring_huge_page_size())
		geometry.flags |= RING_HUGE_PAGES;
	return geometry;
}

uint64_t memory_size_of_process(const struct session *session, unsigned int halvings)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < session->nr_all_channels; i++) {
		struct ring_geometry geometry =
				memory_size_geometry(session, &session->channels[i], halvings);
		uint64_t size = ring_memory_size(&geometry);

		if (!size || sum + size < sum)
			return 0;
		sum += size;
	}
	return sum;
}

uint64_t memory_most(const struct session *session)
{
	return memory_size_of_process(session, 0);
}
