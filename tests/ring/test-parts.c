/* SPDX-License-Identifier: MIT */
/*
 * Records made of two pieces: the same bytes as of one piece, for all sizes and every form of
 * header, in all modes and backends; records that are too big, and the rings of a forked child.
 */
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "decode.h"

#define RING_BYTES (1u << 18)

static struct ring_producer *producer;
static struct ring_consumer *consumer;
static unsigned char bytes[RING_PAYLOAD_MAX + 64];
static unsigned char buffer[RING_BYTES], payload[RING_PAYLOAD_MAX];
static uint64_t seen
		[RING_RINGS_MAX]; /* Overwrite mode: the position up to which the test has read. */

/* Returns the only new record in any ring. */
static const unsigned char *newest(uint32_t id, size_t size)
{
	bool found = false;

	for (uint32_t ring = 0; ring < ring_consumer_geometry(consumer)->rings; ring++) {
		bool over = ring_consumer_geometry(consumer)->mode == RING_MODE_OVERWRITE;
		struct decoded record;
		struct ring_span span;
		size_t before;
		int rc = over ? ring_consumer_snapshot(consumer, ring, buffer, &span)
			      : ring_consumer_peek(consumer, ring, &span);

		CHECK(rc >= 0, "%s", ring_consumer_error(consumer, ring));
		if (rc == 0)
			continue;
		before = over && seen[ring] > span.position ? seen[ring] - span.position : 0;
		seen[ring] = span.position + span.size;
		ring_consumer_release(consumer, ring, &span);
		if (before == span.size)
			continue;
		CHECK(!found, "two records");
		record = decode_header((const unsigned char *)span.data + before, 0);
		found = true;
		CHECK(record.id == id, "id %u, not %u", record.id, id);
		CHECK(record.payload + size == (const unsigned char *)span.data + span.size,
				"size");
		memcpy(payload, record.payload, size);
	}
	CHECK(found, "nothing was published");
	return payload;
}

static void publish(uint32_t id, size_t head, size_t body)
{
	int before = errno;

	CHECK(ring_publish_two_part(producer, id, bytes + 1, head, bytes + 1 + head, body) == 0,
			"%zu and %zu bytes", head, body);
	CHECK(errno == before, "errno");
	CHECK(!memcmp(newest(id, head + body), bytes + 1, head + body), "%zu and %zu bytes", head,
			body);
}

static void test_sizes(void)
{
	static const uint32_t ids[] = {7, 30, 65535, 65536};
	static const size_t large[] = {300, 1023, 1024, 4096, 4111, 10000, 65000};
	uint64_t state = 3;

	for (size_t head = 0; head < 40; head++) {
		for (size_t body = 0; body < 150; body += 1 + body / 70)
			publish(ids[(head + body) % 4], head, body);
	}
	for (unsigned int i = 0; i < sizeof(large) / sizeof(large[0]); i++) {
		publish(ids[i % 4], 0, large[i]);
		publish(ids[i % 4], large[i], 0);
		publish(ids[i % 4], large[i] / 3, large[i] - large[i] / 3);
	}
	for (int i = 0; i < 300; i++) {
		size_t size = test_random(&state) % (RING_PAYLOAD_MAX >> test_random(&state) % 10);
		size_t head = size ? test_random(&state) % size : 0;

		publish(ids[i % 4], head, size - head);
	}
}

static void test_limits(void)
{
	size_t most = ring_producer_payload_max(producer);
	uint64_t lost = 0;
	pid_t child;
	int status;

	CHECK(most == RING_PAYLOAD_MAX, "limit");
	publish(9, most, 0);
	publish(9, 0, most);
	publish(9, most / 2, most - most / 2);
	CHECK(ring_publish_two_part(producer, 9, bytes, most, bytes, 1) == -E2BIG, "too big");
	CHECK(ring_publish_two_part(producer, 9, bytes, 1, bytes, most) == -E2BIG, "too big");
	CHECK(ring_publish_two_part(producer, 9, bytes, most + 1, bytes, 0) == -E2BIG, "too big");
	CHECK(ring_publish_two_part(producer, 9, bytes, 9, bytes, SIZE_MAX - 4) == -E2BIG, "wraps");
	CHECK(ring_publish_two_part(producer, 9, bytes, SIZE_MAX, bytes, SIZE_MAX) == -E2BIG,
			"wraps");
	for (uint32_t ring = 0; ring < ring_consumer_geometry(consumer)->rings; ring++)
		lost += ring_consumer_lost(consumer, ring, RING_LOST_TOO_BIG);
	CHECK(lost == 5, "%lu lost", lost);
	child = fork();
	if (child == 0)
		_exit(ring_publish_two_part(producer, 9, bytes, 1, bytes, 1) == -ECHILD ? 0 : 1);
	CHECK(waitpid(child, &status, 0) == child && status == 0, "in a child: %x", status);
}

/* A full ring refuses two pieces as it does one. */
static void test_full(void)
{
	uint64_t lost = 0;
	int rc = 0;

	for (int i = 0; i < 100 && rc == 0; i++)
		rc = ring_publish_two_part(producer, 9, bytes, 30000, bytes, 30000);
	CHECK(rc == -ENOSPC, "%d", rc);
	for (uint32_t ring = 0; ring < ring_consumer_geometry(consumer)->rings; ring++)
		lost += ring_consumer_lost(consumer, ring, RING_LOST_FULL);
	CHECK(lost == 1, "%lu lost", lost);
}

int main(void)
{
	static const enum ring_mode modes[] = {
			RING_MODE_DISCARD, RING_MODE_OVERWRITE, RING_MODE_BLOCK};

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 7 + i / 256);
	for (unsigned int i = 0; i < WAYS * 6; i++) {
		const struct backend *backend = &variants[i / 6];
		struct ring_geometry geometry = {.rings = ring_possible_cpus(),
				.event_slots = 16,
				.size = RING_BYTES,
				.mode = modes[i % 3],
				.placement = i / 3 % 2 ? RING_PER_THREAD : RING_PER_CPU,
				.block_timeout_us = 100};
		int fd = way_create(backend, &geometry);

		producer = fd < 0 ? NULL : way_map(backend, fd);
		if (!producer)
			continue;
		CHECK(ring_consumer_map(fd, &geometry, &consumer) == 0, "map");
		close(fd);
		memset(seen, 0, sizeof(seen));
		test_sizes();
		test_limits();
		if (geometry.mode != RING_MODE_OVERWRITE)
			test_full();
		ring_producer_unmap(producer);
		ring_consumer_unmap(consumer);
	}
	return 0;
}
