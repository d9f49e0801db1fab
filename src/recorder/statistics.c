/* SPDX-License-Identifier: MIT */
/*
 * Copies the status of a live session, in the main thread with the lock held. For rings that are
 * being drained, it reads the counters in shared memory and those that the drain thread publishes,
 * so it never waits for the disk.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/core/event-classes.h"
#include "recorder/core/instance.h"
#include "recorder/core/leases.h"
#include "recorder/core/live.h"
#include "recorder/core/service.h"
#include "recorder/core/totals.h"
#include "recorder/refusals.h"
#include "recorder/session-state.h"
#include "recorder/storage/losses.h"
#include "ring/ring.h"

static uint64_t statistics_load(const _Atomic uint64_t *value)
{
	return atomic_load_explicit(value, memory_order_relaxed);
}

static char *statistics_copy_text(const char *text)
{
	return strdup(text ? text : "");
}

/* ---- losses of a ring ---- */

struct ring_losses {
	const struct instance *instance;
	struct session_status_process *process;
	uint32_t channel;
	uint32_t ring; /* index over all rings of the process */
	size_t capacity;
	bool no_memory;
};

static bool statistics_add_loss(
		struct ring_losses *losses, uint32_t slot, enum ring_loss reason, uint64_t count)
{
	struct session_status_process *process = losses->process;

	if (process->nr_losses == losses->capacity) {
		size_t capacity = losses->capacity ? losses->capacity * 2 : 16;
		struct session_status_loss *grown =
				realloc(process->losses, capacity * sizeof(*grown));

		if (!grown)
			return false;
		process->losses = grown;
		losses->capacity = capacity;
	}
	process->losses[process->nr_losses] = (struct session_status_loss){
			.ring = losses->ring,
			.event = classes_name(losses->instance, losses->channel, slot),
			.reason = losses_reason(losses->instance, slot, reason),
			.count = count,
	};
	return process->losses[process->nr_losses++].event != NULL;
}

/*
 * The number of losses is limited, so that a program cannot use more memory with invalid counters.
 */
static int statistics_visit_loss(void *data, uint32_t ring, uint32_t slot, const uint64_t *counts)
{
	struct ring_losses *losses = data;
	unsigned int reason;

	(void)ring;
	for (reason = 0; reason < RING_LOSS_REASONS; reason++) {
		if (!counts[reason])
			continue;
		if (losses->process->nr_losses >= LIMIT_LOSSES)
			return 1;
		if (!statistics_add_loss(losses, slot, reason, counts[reason])) {
			losses->no_memory = true;
			return 1;
		}
	}
	return 0;
}

/* ---- rings ---- */

static bool is_silent(const struct session_status_ring *ring)
{
	return !ring->bytes && !ring->lost && !ring->unwritten && !ring->overwritten;
}

static void statistics_read_ring(struct ring_losses *losses, uint32_t number)
{
	const struct instance_channel *channel = &losses->instance->channels[losses->channel];
	const struct instance_ring *each = &channel->each[number];
	struct session_status_process *process = losses->process;
	struct session_status_ring ring = {
			.channel = channel->channel->name,
			.number = number,
			.size = channel->geometry.size,
			.bytes = statistics_load(&each->written),
			.recorded = statistics_load(&each->recorded),
			.unwritten = statistics_load(&each->unwritten),
			.overwritten = statistics_load(&each->overwritten),
			.lost = ring_consumer_lost_total(channel->rings, number),
	};

	if (is_silent(&ring))
		return;
	losses->ring = (uint32_t)process->nr_rings;
	process->rings[process->nr_rings++] = ring;
	process->lost += ring.lost;
	process->unwritten += ring.unwritten;
	process->overwritten += ring.overwritten;
	if (ring.lost)
		ring_consumer_lost_each(channel->rings, number, statistics_visit_loss, losses);
}

static size_t count_rings(const struct instance *instance)
{
	size_t nr = 0;
	uint32_t i;

	for (i = 0; i < instance->nr_channels; i++)
		if (instance->channels[i].rings && instance->channels[i].each)
			nr += instance->channels[i].geometry.rings;
	return nr;
}

/*
 * The drain thread frees the rings of an instance channel by channel; this reads those that remain.
 */
static int statistics_read_rings(
		const struct instance *instance, struct session_status_process *process)
{
	struct ring_losses losses = {.instance = instance, .process = process};
	size_t nr = count_rings(instance);
	uint32_t ring;

	if (!nr) {
		process->lost = instance->lost;
		process->unwritten = instance->unwritten;
		process->overwritten = instance->overwritten;
		return 0;
	}
	process->rings = calloc(nr, sizeof(*process->rings));
	if (!process->rings)
		return -ENOMEM;
	for (; losses.channel < instance->nr_channels; losses.channel++) {
		const struct instance_channel *channel = &instance->channels[losses.channel];

		for (ring = 0; channel->rings && channel->each && ring < channel->geometry.rings;
				ring++)
			statistics_read_ring(&losses, ring);
	}
	return losses.no_memory ? -ENOMEM : 0;
}

/* ---- processes ---- */

static int statistics_read_process(
		const struct instance *instance, struct session_status_process *ret_process)
{
	*ret_process = (struct session_status_process){
			.number = instance->number,
			.peer = instance->peer,
			.pid = instance->pid,
			.parent = instance->parent,
			.uid = instance->uid,
			.gid = instance->gid,
			.control = instance->control,
			.control_signal = instance->control_signal,
			.loader = instance->loader,
			.token = instance->token,
			.generation = instance->generation,
			.ended = instance->state != INSTANCE_LIVE,
			.procname = statistics_copy_text(instance->procname),
			.exe = statistics_copy_text(instance->exe),
			.directory = statistics_copy_text(instance->directory),
			.events = instance->classes ? instance->nr_classes : instance->nr_names,
			.bytes = statistics_load(&instance->written),
			.recorded = statistics_load(&instance->recorded),
			.memory = instance->memory,
	};
	if (!ret_process->procname || !ret_process->exe || !ret_process->directory)
		return -ENOMEM;
	return statistics_read_rings(instance, ret_process);
}

static int statistics_read_channels(const struct session *session, struct session_status *status,
		const struct totals *sums)
{
	uint32_t i;

	status->channels = calloc((size_t)session->nr_channels + 1, sizeof(*status->channels));
	if (!status->channels)
		return -ENOMEM;
	for (i = 0; i < session->nr_channels; i++)
		status->channels[status->nr_channels++] = (struct session_status_channel){
				.name = session->channels[i].name,
				.recorded = sums->channels[i].recorded,
				.lost = sums->channels[i].lost,
				.bytes = sums->channels[i].bytes,
		};
	return 0;
}

/* Adds to the sums, by channel, the processes that they do not contain yet. */
static int take_processes(
		const struct session *session, struct session_status *status, struct totals *sums)
{
	const struct instance *instance;
	size_t nr = session->instances.nr - session->instances.nr_freed;
	int ret = 0;

	status->processes = calloc(nr + 1, sizeof(*status->processes));
	if (!status->processes)
		return -ENOMEM;
	for (instance = session->instances.list; instance && !ret; instance = instance->next) {
		struct session_status_process *process = &status->processes[status->nr_processes++];

		ret = statistics_read_process(instance, process);
		/* The sums contain this instance already. */
		if (instance->state == INSTANCE_CLOSED)
			continue;
		totals_add_channels(session, instance, sums);
		status->nr_seen++;
		status->recorded += process->recorded;
		status->bytes += process->bytes;
		status->lost += process->lost;
		status->unwritten += process->unwritten;
		status->overwritten += process->overwritten;
	}
	return ret;
}

int session_status(struct session *session, struct session_status *ret_status)
{
	const struct service *service = session->service;
	struct totals sums;
	int ret;

	pthread_mutex_lock(&session->lock);
	sums = session->totals.ended;
	*ret_status = (struct session_status){
			.active = service->active,
			.generation = service->generation,
			.statedump = service->statedump,
			.snapshots = session->snapshots.nr,
			.snapshot_recorded = statistics_load(&session->snapshots.recorded),
			.memory = session->memory.used,
			.memory_peak = session->memory.peak,
			.memory_limit = session->memory.limit,
			.nr_seen = sums.processes,
			.nr_refused = session->refusals.nr_processes + session->leases.nr_denied,
			.nr_untracked = service->nr_untracked,
			.bytes = sums.bytes,
			.recorded = sums.recorded,
			.lost = sums.lost,
			.unwritten = sums.unwritten,
			.overwritten = sums.overwritten,
	};
	ret = take_processes(session, ret_status, &sums);
	if (!ret)
		ret = statistics_read_channels(session, ret_status, &sums);
	pthread_mutex_unlock(&session->lock);
	if (!ret)
		ret = refusals_status(session, ret_status);
	if (!ret)
		ret = leases_status(session, ret_status);
	if (ret)
		session_status_free(ret_status);
	return ret;
}

static void free_process(struct session_status_process *process)
{
	size_t i;

	for (i = 0; i < process->nr_losses; i++)
		free(process->losses[i].event);
	free(process->losses);
	free(process->rings);
	free(process->procname);
	free(process->exe);
	free(process->directory);
}

void session_status_free(struct session_status *status)
{
	size_t i;

	for (i = 0; i < status->nr_processes; i++)
		free_process(&status->processes[i]);
	for (i = 0; i < status->nr_waiting; i++)
		free(status->refused[i].procname);
	free(status->refused);
	free(status->processes);
	free(status->channels);
	*status = (struct session_status){0};
}
