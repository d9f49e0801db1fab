/* SPDX-License-Identifier: MIT */
/*
 * The first record of a span: a record that the head cuts, or that lacks its full timestamp, is
 * refused with its own reason.
 */
#include <sched.h>
#include <unistd.h>

#include "decode.h"
#include "ring/consumer.h"
#include "ring/layout.h"
#include "ring/section.h"

static const char payload[] = "payload";

struct ends {
	struct ring_producer *producer;
	struct ring_consumer *consumer;
	struct ring_control *control;
	unsigned char *data;
	uint32_t cpu;
	int fd;
};

/* One ring with one record, which is not released. */
static struct ends begin(uint32_t cpu)
{
	struct ring_geometry geometry = {.rings = cpu + 1,
			.event_slots = 4,
			.size = 4096,
			.clock = RING_CLOCK_MONOTONIC};
	struct ends ends = {.cpu = cpu};

	CHECK(!ring_memory_create(&geometry, &ends.fd), "create");
	CHECK(!ring_producer_map(ends.fd, &ends.producer), "map");
	CHECK(!ring_consumer_map(ends.fd, &geometry, &ends.consumer), "map");
	ends.control = ends.producer->locations[cpu].control;
	ends.data = ends.producer->locations[cpu].data;
	ring_publish(ends.producer, 1, payload, sizeof(payload));
	CHECK(ring_header_tag(ends.data) == RING_TAG_EXTENDED, "the first record");
	return ends;
}

static void end(struct ends *ends)
{
	ring_consumer_unmap(ends->consumer);
	ring_producer_unmap(ends->producer);
	close(ends->fd);
}

/* Sets the head this number of bytes after the beginning. */
static void set_head(struct ends *ends, uint64_t position)
{
	uint64_t head = __atomic_load_n(&ends->control->head, __ATOMIC_RELAXED);

	__atomic_store_n(&ends->control->head,
			position << RING_EPOCH_BITS | (head & RING_EPOCH_MASK), __ATOMIC_RELEASE);
}

/* expected: the reason, or NULL for a span. */
static void expect(struct ends *ends, const char *expected)
{
	struct ring_span span;
	int ret = ring_consumer_peek(ends->consumer, ends->cpu, &span);
	const char *error = ret < 0 ? ring_consumer_error(ends->consumer, ends->cpu) : "none";

	if (!expected) {
		CHECK(ret == 1, "%d: %s", ret, error);
		return;
	}
	CHECK(ret == -EBADMSG && !strcmp(error, expected), "%d: %s, expected %s", ret, error,
			expected);
}

static void cut_records(uint32_t cpu)
{
	for (uint64_t head = 1; head <= RING_EXTENDED_BYTES; head++) {
		struct ends ends = begin(cpu);

		set_head(&ends, head);
		expect(&ends,
				head < RING_COMPACT_BYTES ? "a span is shorter than a record"
						: head < RING_EXTENDED_BYTES
						? "a span is shorter than its first record"
						: NULL);
		end(&ends);
	}
}

/*
 * A compact record takes the upper bits of its time from the previous record, which the very first
 * record does not have.
 */
static void compact_records(uint32_t cpu)
{
	struct ends ends = begin(cpu);
	struct ring_span span;

	ends.data[0] ^= 1;
	expect(&ends, "the first record of the ring has no full timestamp");
	end(&ends);
	/* Later ones may be compact. */
	ends = begin(cpu);
	CHECK(ring_consumer_peek(ends.consumer, cpu, &span) == 1, "peek");
	ring_consumer_release(ends.consumer, cpu, &span);
	do {
		uint64_t at = ring_head_position(ends.control->head);

		ring_publish(ends.producer, 1, payload, sizeof(payload));
		if (ring_header_tag(ends.data + at) != RING_TAG_EXTENDED)
			break;
		CHECK(ring_consumer_peek(ends.consumer, cpu, &span) == 1, "peek");
		ring_consumer_release(ends.consumer, cpu, &span);
	} while (ring_head_position(ends.control->head) < 2048);
	expect(&ends, NULL);
	end(&ends);
}

int main(void)
{
	uint32_t cpu = 0;
	cpu_set_t set;

	CHECK(!sched_getaffinity(0, sizeof(set), &set), "affinity");
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	CHECK(!sched_setaffinity(0, sizeof(set), &set), "affinity");
	cut_records(cpu);
	compact_records(cpu);
	return 0;
}
