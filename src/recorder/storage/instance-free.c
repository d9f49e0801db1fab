/* SPDX-License-Identifier: MIT */
/*
 * Frees an instance with its rings and files.
 */
#include <stdlib.h>
#include <unistd.h>

#include "recorder/core/channels.h"
#include "recorder/core/event-classes.h"
#include "recorder/core/instance.h"
#include "recorder/core/maps.h"
#include "recorder/core/memory.h"
#include "recorder/core/probes.h"
#include "recorder/storage/instance-free.h"
#include "recorder/storage/journal.h"
#include "ring/ring.h"

static void instance_free_channel(struct instance_channel *channel)
{
	if (channel->rings)
		ring_consumer_unmap(channel->rings);
	if (channel->ring_fd >= 0)
		close(channel->ring_fd);
	free(channel->by_id);
	free(channel->each);
}

void instance_free(struct session *session, struct instance *instance)
{
	uint32_t i;

	classes_forget(session, instance);
	if (instance->memory)
		memory_give_back(session, instance);
	for (i = 0; i < instance->nr_all_channels; i++) {
		instance_free_channel(&instance->channels[i]);
		if (instance->own_channels)
			channel_free(&instance->own_channels[i]);
	}
	if (instance->watch.fd >= 0)
		close(instance->watch.fd);
	if (instance->described_fd >= 0)
		close(instance->described_fd);
	journal_close(instance);
	free(instance->own_clock);
	free(instance->own_channels);
	free(instance->channels);
	free(instance->folder);
	free(instance->procname);
	free(instance->exe);
	free(instance->directory);
	free(instance->reported);
	maps_free(instance);
	probes_forget(instance);
	free(instance);
}
