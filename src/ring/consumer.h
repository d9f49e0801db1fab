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

/* Note since when the counters of lost records count. */
void ring_loss_begin(struct ring_consumer *consumer);

/* The error if a file of the rings was truncated, else NULL. */
const char *ring_consumer_truncated(const struct ring_consumer *consumer);

#endif /* SIDE_RING_CONSUMER_H */
