/* SPDX-License-Identifier: MIT */
/*
 * Reads the counters of lost records.
 *
 * The traced program can write them. A value that no program can have reached by counting is not a
 * count: it is left out of all sums, and is reported as one record lost for the reason
 * RING_LOST_IMPLAUSIBLE.
 */
#include <errno.h>
#include <string.h>

#include "base/inside/clock.h"
#include "ring/consumer.h"

/* Allows for counts between two reads of the clock, and for an adjusted clock. */
#define RING_LOSS_SLACK UINT64_C(1000000000)
/* If the start of the counting is unknown: one record a nanosecond for 104 days. */
#define RING_LOSS_MAX (UINT64_C(1) << 53)

void ring_loss_begin(struct ring_consumer *consumer)
{
	consumer->counts_since = clock_boottime_ns();
	for (uint32_t ring = 0; ring < consumer->memory.geometry.rings; ring++)
		for (int reason = 0; reason < RING_LOSS_REASONS; reason++)
			if (__atomic_load_n(&consumer->views[ring].control->lost[reason],
					    __ATOMIC_RELAXED))
				consumer->counts_since = 0;
}

/*
 * The largest plausible count: a ring counts one record at a time, which takes longer than a
 * nanosecond.
 */
static uint64_t ring_loss_limit(const struct ring_consumer *consumer)
{
	return consumer->counts_since
			? clock_boottime_ns() - consumer->counts_since + RING_LOSS_SLACK
			: RING_LOSS_MAX;
}

/*
 * Copy the counters of one ring or event; each implausible one becomes one loss. Returns the sum.
 */
static uint64_t ring_loss_copy(
		uint64_t ret_counts[RING_LOSS_REASONS], const uint64_t *lost, uint64_t limit)
{
	uint64_t total = 0;

	ret_counts[RING_LOST_IMPLAUSIBLE] = 0;
	for (int i = 0; i < RING_LOSS_REASONS; i++) {
		uint64_t count = __atomic_load_n(&lost[i], __ATOMIC_RELAXED);
		bool is_plausible = i != RING_LOST_IMPLAUSIBLE && count <= limit;

		if (is_plausible)
			ret_counts[i] = count;
		else if (i != RING_LOST_IMPLAUSIBLE)
			ret_counts[i] = 0;
		if (!is_plausible)
			ret_counts[RING_LOST_IMPLAUSIBLE] += count != 0;
	}
	for (int i = 0; i < RING_LOSS_REASONS; i++)
		total += ret_counts[i];
	return total;
}

uint64_t ring_consumer_lost(
		const struct ring_consumer *consumer, uint32_t ring, enum ring_loss reason)
{
	uint64_t counts[RING_LOSS_REASONS];

	if ((unsigned int)reason >= RING_LOSS_REASONS)
		return 0;
	(void)ring_loss_copy(
			counts, consumer->views[ring].control->lost, ring_loss_limit(consumer));
	return counts[reason];
}

uint64_t ring_consumer_lost_total(const struct ring_consumer *consumer, uint32_t ring)
{
	uint64_t counts[RING_LOSS_REASONS];

	return ring_loss_copy(
			counts, consumer->views[ring].control->lost, ring_loss_limit(consumer));
}

/*
 * Losses for lack of leased memory are counted by ring, because the counters of events are in that
 * memory. They are reported with the last slot, like all losses without an event.
 */
static uint64_t ring_loss_unleased(
		const struct ring_consumer *consumer, uint32_t ring, uint32_t slot)
{
	return slot == consumer->memory.geometry.event_slots - 1
			? ring_consumer_lost(consumer, ring, RING_LOST_NO_MEMORY)
			: 0;
}

static int ring_lost_slot(const struct ring_consumer *consumer, uint32_t ring, uint32_t slot,
		bool is_there, ring_lost_visit *visit, void *data)
{
	uint64_t counts[RING_LOSS_REASONS] = {0};
	uint64_t total = 0;

	if (is_there)
		total = ring_loss_copy(counts,
				&consumer->views[ring].lost[(size_t)slot * RING_LOSS_REASONS],
				ring_loss_limit(consumer));
	total -= counts[RING_LOST_NO_MEMORY];
	counts[RING_LOST_NO_MEMORY] = ring_loss_unleased(consumer, ring, slot);
	total += counts[RING_LOST_NO_MEMORY];
	return total ? visit(data, ring, slot, counts) : 0;
}

/* Visit one group of slots. Its pages must have been touched by the producer. */
static int ring_lost_group_each(const struct ring_consumer *consumer, uint32_t ring, uint32_t group,
		ring_lost_visit *visit, void *data)
{
	uint32_t slot = group * RING_LOST_GROUP_SLOTS;
	uint32_t end = slot + RING_LOST_GROUP_SLOTS;

	for (; slot < end && slot < consumer->memory.geometry.event_slots; slot++) {
		int ret = ring_lost_slot(consumer, ring, slot, true, visit, data);

		if (ret)
			return ret;
	}
	return 0;
}

int ring_consumer_lost_each(const struct ring_consumer *consumer, uint32_t ring,
		ring_lost_visit *visit, void *data)
{
	const uint64_t *groups = consumer->views[ring].control->lost_groups;
	uint32_t last = consumer->memory.geometry.event_slots - 1, group, nr_visited = 0;

	for (group = 0; group <= last / RING_LOST_GROUP_SLOTS; group++) {
		int ret = 0;

		if (__atomic_load_n(&groups[group / 64], __ATOMIC_RELAXED) >> group % 64 & 1) {
			ret = ring_lost_group_each(consumer, ring, group, visit, data);
			nr_visited = group + 1;
		}
		if (ret)
			return ret;
	}
	return nr_visited == group ? 0 : ring_lost_slot(consumer, ring, last, false, visit, data);
}
