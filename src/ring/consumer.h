/* SPDX-License-Identifier: MIT */
/* What a consumer knows about its rings. Private to the room. */
#ifndef SIDE_RING_CONSUMER_H
#define SIDE_RING_CONSUMER_H

#include <errno.h>

#include "ring/layout.h"

/* A test can act in between two accesses to shared memory. */
#ifndef RING_CONSUMER_STEP
#define RING_CONSUMER_STEP() ((void)0)
#endif

/* What the consumer knows about one ring. All of it in its own memory. */
struct ring_view {
	struct ring_control *control;
	const unsigned char *data;
	const uint64_t *lost;
	uint64_t tail;          /* Everything before is released. */
	uint64_t head;          /* The furthest head ever seen. */
	uint64_t end_timestamp; /* Of the span that ended at tail. */
	uint64_t peeked_timestamp;
	uint64_t peeked; /* Where the span shown last ended. */
	unsigned int mark;
	const char *error;
};

struct ring_consumer {
	struct ring_memory memory;
	uint64_t counts_since; /* CLOCK_BOOTTIME when all counters of lost records were 0; 0: unknown */
	uint64_t lease_due_ns; /* CLOCK_MONOTONIC: no earlier question of the producer is answered. */
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

/* Remembers since when the counters of lost records count. */
void ring_loss_begin(struct ring_consumer *consumer);

/* Said where a file was truncated under us. */
const char *ring_consumer_truncated(const struct ring_consumer *consumer);

#endif /* SIDE_RING_CONSUMER_H */
