/* SPDX-License-Identifier: MIT */
/*
 * Records of every size and form are read as they were published, with the header of the
 * specification. Records without space are counted exactly. In all four backends.
 */
#include <sched.h>
#include <unistd.h>

#include "decode.h"

#define RING_BYTES (1u << 18)

static unsigned char payload[RING_PAYLOAD_MAX + 64];

static const uint32_t ids[] = {0, 1, 29, 30, 31, 255, 256, 65535, 65536, UINT32_MAX};

struct expected {
	uint32_t id;
	uint32_t size;
	uint32_t from;  /* The payload begins at payload[from]. */
	uint64_t ticks; /* The given timestamp; 0: none. */
};

static struct expected expected[1 << 16];
static unsigned int expected_count;

static struct {
	struct ring_consumer *consumer;
	uint64_t time[RING_RINGS_MAX];  /* Of the last record read, for each ring. */
	uint64_t ended[RING_RINGS_MAX]; /* end_timestamp of the last span. */
	uint64_t position[RING_RINGS_MAX];
	unsigned int with_timestamp; /* Records with exactly the given time. */
} in;

static uint32_t cpus;

static bool record_is(const struct decoded *record, const struct expected *wanted)
{
	uint32_t tag = wanted->id < 30 ? wanted->id : wanted->id < 65536 ? 30 : 31;

	return record->id == wanted->id && (record->tag == tag || record->tag == 31) &&
			!memcmp(record->payload, payload + wanted->from, wanted->size);
}

/* Reads one ring and removes its records, in order, from the list. */
static void drain_ring(uint32_t cpu, unsigned int *next)
{
	const unsigned char *at, *end;
	struct ring_span span;
	int rc = ring_consumer_peek(in.consumer, cpu, &span);

	CHECK(rc >= 0, "%s", ring_consumer_error(in.consumer, cpu));
	if (!rc)
		return;
	CHECK(span.position == in.position[cpu], "position");
	CHECK(span.first_timestamp >= in.ended[cpu], "first before the end of the span before");
	at = span.data;
	end = at + span.size;
	in.position[cpu] += span.size;
	for (bool first = true; at < end; first = false) {
		struct decoded record = decode_header(at, in.time[cpu]);

		CHECK(*next < expected_count, "one record too many");
		CHECK(record_is(&record, &expected[*next]), "record %u: id %u tag %u", *next,
				record.id, record.tag);
		CHECK(record.timestamp >= in.time[cpu], "time runs back");
		CHECK(record.timestamp >= expected[*next].ticks, "before the time that was given");
		in.with_timestamp += record.timestamp == expected[*next].ticks;
		CHECK(!first || record.timestamp == span.first_timestamp, "first_timestamp");
		CHECK(record.timestamp <= span.end_timestamp, "end_timestamp");
		CHECK(span.position || !first || record.tag == 31, "first record is not extended");
		in.time[cpu] = record.timestamp;
		at = record.payload + expected[(*next)++].size;
	}
	CHECK(at == end, "a record over the end of the span");
	in.ended[cpu] = span.end_timestamp;
	ring_consumer_release(in.consumer, cpu, &span);
}

/* With one ring, or a thread that stays on its CPU, all records are in order. */
static void drain(void)
{
	unsigned int next = 0;

	for (uint32_t cpu = 0; cpu < ring_consumer_geometry(in.consumer)->rings; cpu++)
		drain_ring(cpu, &next);
	CHECK(next == expected_count, "%u of %u records", next, expected_count);
	expected_count = 0;
}

/* Every third record has a time that was read directly before. */
static void publish(struct ring_producer *producer, uint32_t id, uint32_t size)
{
	static unsigned int turn;
	uint32_t from = (id * 7 + size * 13) % 64;
	uint64_t ticks = turn++ % 3 ? 0 : ring_clock_now(ring_producer_clock(producer));
	int rc;

	errno = 4711;
	rc = ticks ? ring_publish_at(producer, id, payload + from, size, ticks)
		   : ring_publish(producer, id, payload + from, size);
	CHECK(errno == 4711, "errno changed");
	if (rc == -ENOSPC) {
		drain();
		rc = ring_publish(producer, id, payload + from, size);
	}
	CHECK(rc == 0, "id %u size %u: %d", id, size, rc);
	expected[expected_count++] = (struct expected){id, size, from, ticks};
}

static bool size_is_interesting(uint32_t size)
{
	return size < 600 || (size >= 4080 && size < 4110) || (size & (size - 1)) == 0 ||
			((size + 1) & size) == 0 || ((size + 3) & (size + 2)) == 0 ||
			((size - 1) & (size - 2)) == 0 || size % 4099 == 0;
}

static void test_sizes(struct ring_producer *producer)
{
	unsigned int refused = 0;

	for (uint32_t size = 0; size <= RING_PAYLOAD_MAX; size++) {
		if (!size_is_interesting(size))
			continue;
		publish(producer, ids[size % 10], size);
		publish(producer, size % 30, size);
		if (expected_count > 500)
			drain();
	}
	drain();
	for (unsigned int i = 0; i < 10; i++) {
		for (uint32_t size = 0; size < 70; size++)
			publish(producer, ids[i], size);
	}
	drain();
	for (uint32_t size = RING_PAYLOAD_MAX + 1; size < RING_PAYLOAD_MAX + 5; size++, refused++) {
		CHECK(ring_publish(producer, 7, payload, size) == -E2BIG, "%u", size);
		CHECK(ring_publish(producer, 100, payload, (size_t)-1) == -E2BIG, "-1");
	}
}

static uint64_t lost_slot[200][RING_LOSS_REASONS];

static int lost_add(void *data, uint32_t cpu, uint32_t slot, const uint64_t *counts)
{
	(void)data;
	(void)cpu;
	CHECK(slot < 200, "slot %u", slot);
	for (int i = 0; i < RING_LOSS_REASONS; i++)
		lost_slot[slot][i] += counts[i];
	return 0;
}

/* Fills the ring to its last usable byte, then counts refusals. Starts with empty rings. */
static void test_full(struct ring_producer *producer, uint64_t full_before[2])
{
	uint64_t refused = 0, total = 0, full = 0;
	int rc;

	for (uint32_t size = 5000; size > 0; size = size * 3 / 4) {
		while (!(rc = ring_publish(producer, 3, payload, size)))
			expected[expected_count++] = (struct expected){3, size, 0, 0};
		CHECK(rc == -ENOSPC, "%d", rc);
		refused++;
	}
	for (int i = 0; i < 1000; i++, refused++)
		CHECK(ring_publish(producer, 3, payload, 1) == -ENOSPC, "space again");
	for (int i = 0; i < 10; i++) {
		ring_count_lost(producer, 199 + i, RING_LOST_INVALID);
		ring_count_lost(producer, 65, RING_LOST_NO_BUFFER);
		ring_count_lost(producer, 65, (enum ring_loss)99);
	}
	for (uint32_t cpu = 0; cpu < cpus; cpu++) {
		struct ring_span span;

		/*
		 * A record of 4 + 1 bytes had no space, and an extended one would have none either.
		 */
		if (ring_consumer_peek(in.consumer, cpu, &span) == 1)
			CHECK(span.size > RING_BYTES - 14 || span.size < RING_BYTES / 2,
					"%zu bytes", span.size);
	}
	drain();
	memset(lost_slot, 0, sizeof(lost_slot));
	for (uint32_t cpu = 0; cpu < cpus; cpu++) {
		full += ring_consumer_lost(in.consumer, cpu, RING_LOST_FULL);
		total += ring_consumer_lost_total(in.consumer, cpu);
		CHECK(ring_consumer_lost_each(in.consumer, cpu, lost_add, NULL) == 0, "lost_each");
	}
	CHECK(lost_slot[3][RING_LOST_FULL] == refused + full_before[0], "%lu of %lu",
			lost_slot[3][RING_LOST_FULL], refused + full_before[0]);
	CHECK(full == refused + full_before[1], "%lu", full);
	CHECK(lost_slot[199][RING_LOST_INVALID] == 10, "ids beyond the slots share the last");
	CHECK(lost_slot[65][RING_LOST_NO_BUFFER] == 10 && lost_slot[65][RING_LOST_OTHER] == 10,
			"65");
	CHECK(lost_slot[7][RING_LOST_TOO_BIG] == 4 && lost_slot[100][RING_LOST_TOO_BIG] == 4,
			"big");
	CHECK(total == full + 30 + 8, "%lu of %lu", total, full + 38);
}

/* The refusals so far: of event 3, and of all. */
static void count_full(uint64_t before[2])
{
	before[1] = 0;
	memset(lost_slot, 0, sizeof(lost_slot));
	for (uint32_t cpu = 0; cpu < cpus; cpu++) {
		before[1] += ring_consumer_lost(in.consumer, cpu, RING_LOST_FULL);
		ring_consumer_lost_each(in.consumer, cpu, lost_add, NULL);
	}
	before[0] = lost_slot[3][RING_LOST_FULL];
}

static void test_way(const struct backend *backend)
{
	struct ring_geometry geometry = {.rings = cpus, .event_slots = 200, .size = RING_BYTES};
	struct ring_producer *producer;
	uint64_t before[2];
	int fd = way_create(backend, &geometry);

	if (fd < 0)
		return;
	producer = way_map(backend, fd);
	if (!producer) {
		close(fd);
		return;
	}
	memset(&in, 0, sizeof(in));
	CHECK(ring_consumer_map(fd, &geometry, &in.consumer) == 0, "ring_consumer_map");
	close(fd);
	CHECK(ring_producer_payload_max(producer) == RING_PAYLOAD_MAX, "payload max");
	CHECK(ring_producer_clock(producer) == backend->clock, "clock");
	test_sizes(producer);
	count_full(before);
	test_full(producer, before);
	/* Publishing continues after the ring was full. */
	publish(producer, 3, 100);
	drain();
	/*
	 * The clock is read again if it is another one, or after a record could not be written at
	 * once.
	 */
	if (backend->clock == RING_CLOCK_TSC && !backend->portable)
		CHECK(in.with_timestamp > 100, "%u of the time that was given", in.with_timestamp);
	ring_producer_unmap(producer);
	ring_consumer_unmap(in.consumer);
	printf("%s: ok, %u of a given time\n", backend->name, in.with_timestamp);
}

/* The smallest ring: many rounds, every offset of a record relative to the end of the ring. */
static void test_small(const struct backend *backend)
{
	struct ring_geometry geometry = {
			.rings = cpus, .event_slots = 1, .size = (uint64_t)sysconf(_SC_PAGESIZE)};
	size_t limit = ring_payload_max(geometry.size);
	struct ring_producer *producer;
	int fd = way_create(backend, &geometry);

	producer = fd < 0 ? NULL : way_map(backend, fd);
	if (!producer)
		return;
	memset(&in, 0, sizeof(in));
	CHECK(ring_consumer_map(fd, NULL, &in.consumer) == 0, "ring_consumer_map");
	close(fd);
	CHECK(limit == geometry.size / 2 - 13, "limit");
	for (unsigned int i = 0; i < 30000; i++)
		publish(producer, i % 40, i % 101);
	for (unsigned int i = 0; i < 3000; i++)
		publish(producer, i % 40, (uint32_t)(limit - i % 50));
	CHECK(ring_publish(producer, 0, payload, limit + 1) == -E2BIG, "limit + 1");
	drain();
	ring_producer_unmap(producer);
	ring_consumer_unmap(in.consumer);
}

/* Rings that only count: every record by its event, and nothing to read. */
static void test_counts(const struct backend *backend)
{
	struct ring_geometry geometry = {
			.rings = cpus, .event_slots = 3, .size = 1 << 16, .flags = RING_COUNTS};
	uint64_t full = 0;
	struct ring_span span;
	struct ring_producer *producer;
	int fd = way_create(backend, &geometry);

	producer = fd < 0 ? NULL : way_map(backend, fd);
	if (!producer)
		return;
	memset(&in, 0, sizeof(in));
	CHECK(ring_consumer_map(fd, &geometry, &in.consumer) == 0, "ring_consumer_map");
	for (uint32_t i = 0; i < 10000; i++)
		CHECK(ring_publish(producer, i % 4, payload, i % 100) == -ENOSPC, "room");
	for (uint32_t ring = 0; ring < cpus; ring++) {
		CHECK(ring_consumer_peek(in.consumer, ring, &span) == -EBADMSG, "a span");
		full += ring_consumer_lost(in.consumer, ring, RING_LOST_FULL);
		CHECK(ring_consumer_lost(in.consumer, ring, RING_LOST_FULL) ==
						ring_consumer_lost_total(in.consumer, ring),
				"another reason");
	}
	CHECK(full == 10000, "%llu of 10000", (unsigned long long)full);
	CHECK(!ring_consumer_pending(in.consumer), "something is pending");
	ring_consumer_unmap(in.consumer);
	ring_producer_unmap(producer);
	close(fd);
	geometry.mode = RING_MODE_OVERWRITE;
	CHECK(ring_geometry_check(&geometry) == -EINVAL, "counting and overwriting");
}

int main(void)
{
	cpu_set_t all, one;
	uint32_t cpu = 0;

	for (unsigned int i = 0; i < sizeof(payload); i++)
		payload[i] = (unsigned char)(i * 31 + i / 256 * 17 + 5);
	/* One CPU, so that one ring holds the order of everything. */
	CHECK(sched_getaffinity(0, sizeof(all), &all) == 0, "affinity");
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	cpus = cpu + 2;
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0, "affinity");
	for (unsigned int i = 0; i < WAYS; i++) {
		test_way(&variants[i]);
		test_small(&variants[i]);
		test_counts(&variants[i]);
	}
	return 0;
}
