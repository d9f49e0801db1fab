/* SPDX-License-Identifier: MIT */
/*
 * Ends the trace of an instance: writes all published records and the losses, and frees the rings.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "recorder/core/event-classes.h"
#include "recorder/core/instance.h"
#include "recorder/core/memory.h"
#include "recorder/core/totals.h"
#include "recorder/rotation/snapshot.h"
#include "recorder/rotation/trace-end.h"
#include "recorder/rotation/trigger.h"
#include "recorder/session-state.h"
#include "recorder/storage/buffers.h"
#include "recorder/storage/disk-full.h"
#include "recorder/storage/journal.h"
#include "recorder/storage/losses.h"
#include "recorder/storage/trace.h"
#include "ring/ring.h"

/*
 * At the end of a session, a running process can write as fast as the drain thread reads, so limit
 * the rounds.
 */
#define DRAIN_ROUNDS_MAX 4

/*
 * Frees the rings and the counters of each ring, and keeps only their sums, because a session can
 * have very many processes. Takes the lock, because the main thread can read them (statistics.c).
 */
static void trace_end_free_channel(
		struct session *session, struct instance *instance, uint32_t index)
{
	struct instance_channel *channel = &instance->channels[index];
	struct ring_consumer *rings = channel->rings;
	struct instance_ring *counters = channel->each;
	uint64_t unwritten = 0, lost = 0;
	int ring_fd = channel->ring_fd;
	uint32_t ring;

	for (ring = 0; counters && ring < channel->geometry.rings; ring++) {
		unwritten += counters[ring].unwritten;
		lost += rings ? ring_consumer_lost_total(rings, ring) : 0;
	}
	pthread_mutex_lock(&session->lock);
	channel->rings = NULL;
	channel->each = NULL;
	channel->ring_fd = -1;
	channel->lost = lost;
	instance->unwritten += unwritten;
	pthread_mutex_unlock(&session->lock);
	free(counters);
	if (ring_fd >= 0)
		close(ring_fd);
	if (!rings)
		return;
	if (session->drain.bells)
		ring_bells_remove(session->drain.bells, rings);
	ring_consumer_unmap(rings);
}

/* Overwrite rings with unwritten windows are handled by buffers_remove(). */
static void trace_end_journal(struct instance *instance)
{
	if (!instance->unwritten_code)
		journal_finish(instance);
}

/* Writes all published records and the losses, and frees the rings. The files stay open. */
bool trace_end(struct session *session, struct instance *instance)
{
	unsigned int round;
	uint32_t i;

	trigger_count(session, instance);
	for (round = 0; round < DRAIN_ROUNDS_MAX && trace_drain(session, instance); round++)
		;
	snapshot_instance_ends(session, instance);
	if (full_waits(session) || !snapshot_end(session, instance) ||
			!losses_end(session, instance))
		return false;
	totals_end(session, instance, buffers_stay(instance));
	trace_end_journal(instance);
	for (i = 0; i < instance->nr_all_channels; i++)
		trace_end_free_channel(session, instance, i);
	if (instance->writer)
		trace_count_bytes(session, instance);
	classes_forget(session, instance);
	buffers_remove(session, instance);
	memory_give_back(session, instance);
	pthread_mutex_lock(&session->lock);
	session->totals.ended = session->totals.next;
	instance->state = INSTANCE_CLOSED;
	pthread_mutex_unlock(&session->lock);
	return true;
}
