/* SPDX-License-Identifier: MIT */
/* The state of a consumer. Private to this module. */
#ifndef SIDE_RING_CONSUMER_H
#define SIDE_RING_CONSUMER_H

#include <errno.h>

#include "ring/layout.h"

/* Tests replace this to act between two accesses to shared memory. */
#ifndef RING_CONSUMER_STEP
#define RING_CONSUMER_STEP() ((void)0)
#endif

/* The state of one ring, in memory that only the consumer can write. */
struct ring_view {
	struct ring_control *control;
	const unsigned char *data;
	const uint64_t *lost;
	uint64_t tail;          /* Everything before it is released. */
	uint64_t head;          /* The furthest head that was read. */
	uint64_t end_timestamp; /* Of the span that ended at tail. */
	uint64_t peeked_timestamp;
	uint64_t peeked; /* End of the last span that ring_consumer_peek() returned. */
	unsigned int mark;
	const char *error;
};

struct ring_consumer {
	struct ring_memory memory;
	/* CLOCK_BOOTTIME when all counters of lost records were 0; 0: unknown */
	uint64_t counts_since;
	/* CLOCK_MONOTONIC: no request of the producer is answered earlier. */
	uint64_t lease_due_ns;
	struct ring_view views[];
};

static inline int ring_view_fail(struct ring_view *view, const char *error)
{
	view->error = error;
	return -EBADMSG;
}

/* The timestamp of an extended record. */
static inline uint64_t ring_record_full_time(const unsigned char *record)
{
	uint64_t timestamp;

	memcpy(&timestamp, record + 5, sizeof(timestamp));
	return timestamp;
}

/* The latest time not after `last` with this epoch and these 27 low bits. */
static inline uint64_t ring_time_extend(uint64_t last, uint64_t epoch, uint32_t low)
{
	uint64_t behind = ((last >> RING_TIME_BITS) - epoch) & RING_EPOCH_MASK;

	return ((last >> RING_TIME_BITS) - behind) << RING_TIME_BITS | low;
}

/*
 * Find the time of a record at the head that `word` holds, which was published meanwhile. The time
 * of the last record was `before` before the head was read, and `after` after that. True: so much
 * time passed that the result is not unique.
 */
static inline bool ring_next_time(const unsigned char *record, uint64_t word, uint64_t before,
		uint64_t after, uint64_t *ret_time)
{
	if (ring_header_tag(record) == RING_TAG_EXTENDED) {
		*ret_time = ring_record_full_time(record);
		return false;
	}
	*ret_time = ring_time_extend(after, word & RING_EPOCH_MASK, ring_header_time(record));
	return (after >> RING_TIME_BITS) - (before >> RING_TIME_BITS) > RING_EPOCH_MASK;
}

/*
 * Find the time of the first of these bytes' records. The span before it ended at `end`. Returns
 * NULL, or the error.
 */
static inline const char *ring_first_time(
		const unsigned char *record, uint64_t bytes, uint64_t end, uint64_t *ret_time)
{
	if (bytes < RING_COMPACT_BYTES)
		return "a span is shorter than a record";
	if (ring_header_tag(record) != RING_TAG_EXTENDED) {
		*ret_time = end >> RING_TIME_BITS << RING_TIME_BITS | ring_header_time(record);
		return NULL;
	}
	if (bytes < RING_EXTENDED_BYTES)
		return "a span is shorter than its first record";
	*ret_time = ring_record_full_time(record);
	return NULL;
}

/* Note since when the counters of lost records count. */
void ring_loss_begin(struct ring_consumer *consumer);

/* The error if a file of the rings was truncated, else NULL. */
const char *ring_consumer_truncated(const struct ring_consumer *consumer);

#endif /* SIDE_RING_CONSUMER_H */
