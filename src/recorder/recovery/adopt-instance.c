/* SPDX-License-Identifier: MIT */
/* Makes an instance of rings that another recorder or a program has left. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/core/channels.h"
#include "recorder/core/clock.h"
#include "recorder/core/instance.h"
#include "recorder/core/maps.h"
#include "recorder/core/report.h"
#include "recorder/recovery/adopt-instance.h"
#include "recorder/session-state.h"

/* Only a file with the head of rings gets other permissions, and only until it is open. */
int adopt_open_writable(int fd)
{
	struct ring_geometry geometry;
	char path[64];
	int ret = ring_memory_inspect(fd, &geometry), again = -1;

	if (!ret && fchmod(fd, 0600))
		ret = -errno;
	if (!ret) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		again = open(path, O_RDWR | O_CLOEXEC);
		ret = again < 0 ? -errno : 0;
		if (fchmod(fd, 0400) && !ret)
			ret = -errno;
	}
	if (ret && again >= 0)
		close(again);
	return ret ? ret : again;
}

static bool same_contexts(const struct context_list *one, const struct context_list *other)
{
	uint32_t i;

	for (i = 0; i < one->nr && i < other->nr; i++)
		if (strcmp(one->specs[i].name, other->specs[i].name) != 0)
			return false;
	return one->nr == other->nr;
}

/* True if its channels are those of the session, with rings of the same mode and layout. */
static bool has_session_channels(const struct session *session, const struct instance *instance)
{
	uint32_t i;

	if (instance->nr_channels != session->nr_channels)
		return false;
	for (i = 0; i < instance->nr_channels; i++) {
		const struct channel *own = &instance->own_channels[i];
		const struct channel *ours = &session->channels[i];

		if (strcmp(own->name, ours->name) != 0 || own->mode != ours->mode ||
				own->placement != ours->placement || own->rings != ours->rings ||
				!same_contexts(&own->contexts, &ours->contexts))
			return false;
	}
	return true;
}

/* The instance continues as an instance of this session and gets its rules. */
static void give_session_channels(struct session *session, struct instance *instance)
{
	uint32_t i;

	for (i = 0; i < instance->nr_channels; i++) {
		instance->channels[i].channel = &session->channels[i];
		channel_free(&instance->own_channels[i]);
	}
	free(instance->own_channels);
	instance->own_channels = NULL;
}

bool adopt_know_clock(enum ring_clock kind, struct ctf_clock *ret_clock)
{
	struct ring_clock_calibration calibration;
	struct ring_clock_sample now;

	if (ring_clock_sample(kind, &now) || ring_clock_calibrate(kind, &now, NULL, &calibration))
		return false;
	session_fill_clock(ret_clock, &calibration);
	return true;
}

int adopt_clock_of(const struct session *session, struct instance *instance, enum ring_clock kind)
{
	if (kind == session->clock.kind)
		return 0;
	instance->own_clock = malloc(sizeof(*instance->own_clock));
	if (!instance->own_clock)
		return -ENOMEM;
	return adopt_know_clock(kind, instance->own_clock) ? 0 : -ENODATA;
}

void adopt_add(struct session *session, struct instance *instance, int process)
{
	instance->watch.fd = process;
	if (instance->watch.fd < 0) {
		instance->state = INSTANCE_ENDED;
	} else if (has_session_channels(session, instance)) {
		give_session_channels(session, instance);
	} else {
		/* It is drained as long as it lives, but the recorder cannot send it rules. */
		instance->token = 0;
		report_instance(session, instance, true,
				"cannot change the rules of process %d (%s): its channels differ from those of the session",
				(int)instance->peer, instance->procname);
	}
	if (instance->state == INSTANCE_LIVE) {
		/* End the instance of the program that the process ran before. */
		instance_end_predecessor(session, instance->peer);
		maps_read(session, instance);
	}
	if (instance_link(session, instance))
		return;
	/* The rings of a dead process can be drained, too. */
	close(instance->watch.fd);
	instance->watch.fd = -1;
	instance->state = INSTANCE_ENDED;
	instance_link(session, instance);
}
