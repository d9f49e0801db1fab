/* SPDX-License-Identifier: MIT */
/* Creates the rings of a process, in memory or in files. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "recorder/core/instance.h"
#include "recorder/core/memory.h"
#include "recorder/core/report.h"
#include "recorder/session-state.h"
#include "recorder/storage/buffers.h"
#include "recorder/storage/rings.h"
#include "ring/ring.h"

/* If there are no more huge pages, the session continues without them and prints a message. */
static int create_rings(struct session *session, struct instance *instance,
		struct instance_channel *channel, int *fd)
{
	int ret;

	if (session->buffers.path && !channel->channel->counts)
		return buffers_make_rings(session, instance, channel, fd);
	if (channel->revoked)
		return ring_memory_create_revoked(&channel->geometry, -1, NULL, fd);
	ret = ring_memory_create(&channel->geometry, fd);
	if (!ret || !(channel->geometry.flags & RING_HUGE_PAGES))
		return ret;
	if (session->memory.huge_pages)
		report(session, false,
				"no huge pages left (%s): ordinary ones are used\n`sysctl vm.nr_hugepages=N` reserves more of them",
				strerror(-ret));
	session->memory.huge_pages = false;
	channel->geometry.flags &= ~(uint32_t)RING_HUGE_PAGES;
	channel->memory = ring_memory_size(&channel->geometry);
	return ring_memory_create(&channel->geometry, fd);
}

/* Keeps the descriptor that is used to revoke and to provide memory. */
static int keep_descriptor(struct instance_channel *channel, int ring_fd)
{
	if (!(channel->geometry.flags & RING_LEASED))
		return 0;
	channel->ring_fd = fcntl(ring_fd, F_DUPFD_CLOEXEC, 0);
	return channel->ring_fd < 0 ? -errno : 0;
}

int memory_make_rings(struct session *session, struct instance *instance, int *ring_fds,
		const char **ret_reason)
{
	uint32_t i;
	int ret = 0;

	if (!memory_take(session, instance)) {
		*ret_reason = "the session's ring memory is used up (--memory-limit)";
		return -ENOMEM;
	}
	*ret_reason = "the recorder is out of memory";
	if (session->buffers.path) {
		*ret_reason = session->state_dir
				? "the session's state directory has no space for its rings"
				: "the directory of --buffers has no space for its rings";
		ret = buffers_make(session, instance);
	}
	for (i = 0; i < instance->nr_all_channels && !ret; i++) {
		struct instance_channel *channel = &instance->channels[i];

		if (!memory_make_tables(channel))
			return -ENOMEM;
		ret = create_rings(session, instance, channel, &ring_fds[i]);
		if (!ret)
			ret = ring_consumer_map(ring_fds[i], &channel->geometry, &channel->rings);
		if (!ret)
			ret = keep_descriptor(channel, ring_fds[i]);
		/*
		 * strerror() of a known error returns a constant text, so the pointer stays valid.
		 */
		if (ret && ret != -ENOMEM && !session->buffers.path)
			*ret_reason = strerror(-ret);
	}
	if (!ret && session->buffers.path)
		ret = buffers_complete(session, instance);
	return ret;
}
