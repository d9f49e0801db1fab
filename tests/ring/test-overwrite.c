/* SPDX-License-Identifier: MIT */
/*
 * Rings that overwrite: the contents of a snapshot, while no thread writes, and while threads (one
 * per CPU, interrupted by handlers that also publish) write as fast as they can.
 *
 * A window is valid if each record in it is complete and the numbers of each stream have no hole.
 * It reaches to the head, and without writers it contains every record that the ring still has.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "disturb.h"
#include "payload.h"

#define STREAMS 3 /* Per ring: its thread, and two signals in it. */
#define NONE UINT64_MAX

static struct ring_producer *producer;
static uint32_t most; /* Of a payload's bytes. */

static int publish(uint32_t stream, uint64_t sequence)
{
	unsigned char payload[sizeof(struct body) + BODY_MAX];
	uint32_t size = body_make(payload, stream, sequence, most);

	return ring_publish(producer, body_id(stream, sequence), payload, size);
}

/* ---- Without writers ---- */

struct window {
	uint64_t begin, next;
};

static void see_number(void *user, const struct body *body, uint64_t timestamp)
{
	struct window *window = user;

	(void)timestamp;
	if (window->begin == NONE)
		window->begin = body->sequence;
	else
		CHECK(body->sequence == window->next, "%lu after %lu", body->sequence,
				window->next - 1);
	window->next = body->sequence + 1;
}

/*
 * Returns the position where the window must begin: the first record of a sub-buffer that is not
 * overwritten. A sub-buffer whose mark now belongs to the sub-buffer of the head cannot be used.
 */
static uint64_t expected_begin(const uint64_t *heads, uint64_t count, uint64_t size)
{
	uint64_t head = heads[count - 1];
	uint64_t i = count - 1;

	while (i > 0 && heads[i - 1] + size >= head)
		i--;
	while (i > 0 &&
			(heads[i] / (size / 8) == heads[i - 1] / (size / 8) ||
					heads[i] / (size / 8) + 8 <= head / (size / 8)))
		i++;
	return heads[i];
}

/* Two snapshots in a row contain each record once, and all that the second window has. */
static void check_after(struct ring_consumer *consumer, unsigned char *buffer, uint64_t now,
		const struct ring_span *before, const struct window *earlier)
{
	struct window window = {NONE, NONE};
	struct ring_span span;

	if (now + 1 == earlier->next) {
		CHECK(ring_consumer_snapshot_after(consumer, 0, buffer, before, &span) == 0, "new");
		return;
	}
	CHECK(ring_consumer_snapshot_after(consumer, 0, buffer, before, &span) == 1, "%lu", now);
	span_walk(&span, before->end_timestamp, most, see_number, &window);
	CHECK(window.next == now + 1, "the last one is %lu of %lu", window.next - 1, now);
	CHECK(window.begin == earlier->next || span.position > before->position + before->size,
			"%lu after %lu", window.begin, earlier->next - 1);
}

/* The window after each of many records is complete, up to the last record. */
static void test_still(const struct backend *backend, uint64_t size, uint32_t most_bytes)
{
	struct ring_geometry geometry = {
			.rings = 1, .event_slots = 1, .size = size, .mode = RING_MODE_OVERWRITE};
	uint64_t *heads = calloc(20 * size / 16, sizeof(*heads));
	unsigned char *buffer = malloc(size), *other = malloc(size);
	struct window earlier = {NONE, NONE};
	struct ring_span span, earlier_span = {0};
	struct ring_consumer *consumer;
	cpu_set_t all, one;
	int fd;

	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0, "this test needs CPU 0");
	most = most_bytes;
	fd = way_create(backend, &geometry);
	producer = fd < 0 ? NULL : way_map(backend, fd);
	if (!producer)
		goto out;
	CHECK(ring_consumer_map(fd, &geometry, &consumer) == 0, "ring_consumer_map");
	CHECK(ring_consumer_snapshot(consumer, 0, buffer, &span) == 0, "empty");
	for (uint64_t i = 0; heads[i] < 20 * size; i++) {
		struct window window = {NONE, NONE};

		CHECK(publish(0, i) == 0, "refused");
		CHECK(ring_consumer_snapshot(consumer, 0, buffer, &span) == 1, "%lu", i);
		CHECK(span.data >= (void *)buffer && span.size <= size, "outside");
		CHECK((const unsigned char *)span.data + span.size <= buffer + size, "outside");
		/* A walk through a large window each time takes too long. */
		if (size == 4096 || i % 32 == 0) {
			span_walk(&span, 0, most, see_number, &window);
			CHECK(window.next == i + 1, "the last one is %lu of %lu", window.next - 1,
					i);
			CHECK(span.position == heads[window.begin], "position");
		}
		if (earlier.next != NONE && i % 8 == 0)
			check_after(consumer, other, i, &earlier_span, &earlier);
		/* At distances of 32 records, and of more than a ring. */
		if (window.next != NONE && (i % 32 == 0 || earlier.next == NONE) &&
				i % 1024 < 512) {
			earlier = window;
			earlier_span = span;
			check_after(consumer, other, i, &earlier_span, &earlier);
		}
		heads[i + 1] = span.position + span.size;
		CHECK(heads[i + 1] > heads[i] && heads[i + 1] - heads[i] < most + 30, "position");
		CHECK(span.position == expected_begin(heads, i + 2, size), "%lu, not %lu",
				span.position, expected_begin(heads, i + 2, size));
		CHECK(ring_consumer_peek(consumer, 0, &span) == 0, "peek");
	}
	CHECK(ring_consumer_lost_total(consumer, 0) == 0, "lost");
	CHECK(!ring_consumer_pending(consumer), "pending");
	ring_consumer_unmap(consumer);
	ring_producer_unmap(producer);
out:
	sched_setaffinity(0, sizeof(all), &all);
	if (fd >= 0)
		close(fd);
	free(buffer);
	free(other);
	free(heads);
}

/* Payloads up to the limit of the ring, which skip sub-buffers. */
static void test_largest(const struct backend *backend)
{
	struct ring_geometry geometry = {.rings = ring_possible_cpus(),
			.event_slots = 1,
			.size = 1 << 14,
			.mode = RING_MODE_OVERWRITE};
	static unsigned char payload[1 << 14], buffer[1 << 14];
	struct ring_consumer *consumer;
	uint64_t state = 7;
	int fd = way_create(backend, &geometry);

	producer = fd < 0 ? NULL : way_map(backend, fd);
	if (!producer)
		return;
	CHECK(ring_consumer_map(fd, &geometry, &consumer) == 0, "ring_consumer_map");
	for (int i = 0; i < 3000; i++) {
		size_t limit = ring_producer_payload_max(producer);
		size_t size = i % 3 ? limit - test_random(&state) % 3
				    : test_random(&state) % (limit + 1);
		bool found = false;

		memset(payload, i, size);
		CHECK(ring_publish(producer, 40, payload, size) == 0, "refused");
		for (uint32_t ring = 0; ring < geometry.rings; ring++) {
			struct ring_span span;
			int rc = ring_consumer_snapshot(consumer, ring, buffer, &span);
			const unsigned char *end;

			CHECK(rc >= 0, "%d: %s", rc, ring_consumer_error(consumer, ring));
			if (!rc)
				continue;
			end = (const unsigned char *)span.data + span.size;
			found |= span.size >= size &&
					(size == 0 || !memcmp(end - size, payload, size));
		}
		CHECK(found, "record %d of %zu bytes is not the last of any ring", i, size);
	}
	CHECK(ring_publish(producer, 40, payload, ring_producer_payload_max(producer) + 1) ==
					-E2BIG,
			"too big");
	ring_consumer_unmap(consumer);
	ring_producer_unmap(producer);
	close(fd);
}

/* ---- While threads write ---- */

/* Each thread is bound to one CPU, so that the numbers of each stream are consecutive in a ring. */
static __thread uint64_t numbers[STREAMS];
static __thread uint32_t this_cpu;
static __thread volatile bool ready;
static bool stop;
static uint64_t published[64]; /* By thread: records, roughly. */

static void publish_next(uint32_t stream)
{
	/* A handler never interrupts a handler of the same signal. */
	if (publish(this_cpu * STREAMS + stream, numbers[stream]) == 0)
		numbers[stream]++;
}

static void handler(int signal)
{
	if (ready)
		publish_next(signal == SIGUSR1 ? 1 : 2);
}

static void *thread_main(void *data)
{
	timer_t first, second;
	cpu_set_t one;

	this_cpu = (uint32_t)(uintptr_t)data;
	CPU_ZERO(&one);
	CPU_SET(this_cpu, &one);
	CHECK(pthread_setaffinity_np(pthread_self(), sizeof(one), &one) == 0, "affinity");
	ready = true;
	first = disturb(SIGUSR1, 43117);
	second = disturb(SIGUSR2, 61333);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		publish_next(0);
		__atomic_store_n(&published[this_cpu], numbers[0], __ATOMIC_RELAXED);
	}
	ready = false;
	timer_delete(first);
	timer_delete(second);
	return NULL;
}

struct streams {
	uint64_t next[64 * STREAMS]; /* NONE: not seen yet in this window. */
	uint64_t records;
};

static void see_stream(void *user, const struct body *body, uint64_t timestamp)
{
	struct streams *streams = user;

	(void)timestamp;
	CHECK(body->stream < 64 * STREAMS, "stream %u", body->stream);
	CHECK(streams->next[body->stream] == NONE || streams->next[body->stream] == body->sequence,
			"%lu after %lu", body->sequence, streams->next[body->stream] - 1);
	streams->next[body->stream] = body->sequence + 1;
	streams->records++;
}

/* The portable backend uses another CPU's ring when its own is locked, so holes are valid. */
static void see_any(void *user, const struct body *body, uint64_t timestamp)
{
	struct streams *streams = user;

	(void)timestamp;
	CHECK(streams->next[body->stream] == NONE || streams->next[body->stream] <= body->sequence,
			"order");
	streams->next[body->stream] = body->sequence + 1;
	streams->records++;
}

/* The records after a window continue its streams, if nothing between them was overwritten. */
static void read_after(struct ring_consumer *consumer, const struct backend *backend, uint32_t ring,
		unsigned char *buffer, const struct ring_span *before, struct streams *streams)
{
	struct ring_span span;
	int rc = ring_consumer_snapshot_after(consumer, ring, buffer, before, &span);

	CHECK(rc >= 0 || rc == -EAGAIN, "%d: %s", rc, ring_consumer_error(consumer, ring));
	if (rc != 1)
		return;
	CHECK(span.position >= before->position + before->size, "records are in both");
	if (span.position > before->position + before->size)
		memset(streams, 0xff, sizeof(*streams));
	span_walk(&span, before->end_timestamp, most, backend->portable ? see_any : see_stream,
			streams);
}

static void read_buffer(struct ring_consumer *consumer, const struct backend *backend,
		unsigned char *buffer, uint64_t *counts, bool writing)
{
	static struct streams streams;

	for (uint32_t ring = 0; ring < ring_consumer_geometry(consumer)->rings; ring++) {
		uint64_t before = __atomic_load_n(&published[ring % 64], __ATOMIC_RELAXED);
		struct ring_span span;
		int rc = ring_consumer_snapshot(consumer, ring, buffer, &span);

		CHECK(rc >= 0 || (rc == -EAGAIN && writing), "%d: %s", rc,
				ring_consumer_error(consumer, ring));
		counts[rc == 1 ? 0 : rc == 0 ? 1 : 2]++;
		if (rc != 1)
			continue;
		memset(&streams, 0xff, sizeof(streams));
		streams.records = 0;
		span_walk(&span, 0, most, backend->portable ? see_any : see_stream, &streams);
		/* The window reaches at least to the records published before the snapshot. */
		if (!backend->portable && streams.next[ring * STREAMS] != NONE)
			CHECK(streams.next[ring * STREAMS] >= before, "%lu of %lu",
					streams.next[ring * STREAMS], before);
		counts[3] += streams.records;
		read_after(consumer, backend, ring, buffer, &span, &streams);
	}
}

static void test_running(const struct backend *backend, uint64_t size, unsigned int duration_ms)
{
	struct ring_geometry geometry = {.rings = ring_possible_cpus(),
			.event_slots = 1,
			.size = size,
			.mode = RING_MODE_OVERWRITE};
	uint64_t until, counts[4] = {0}, busy = 0;
	unsigned char *buffer = malloc(size);
	struct ring_consumer *consumer;
	pthread_t threads[2];
	unsigned int count = 0;
	cpu_set_t all;
	int fd;

	most = BODY_MAX < size / 4 ? BODY_MAX : (uint32_t)(size / 4);
	fd = way_create(backend, &geometry);
	producer = fd < 0 ? NULL : way_map(backend, fd);
	if (!producer)
		goto out;
	CHECK(ring_consumer_map(fd, &geometry, &consumer) == 0, "ring_consumer_map");
	CHECK(sched_getaffinity(0, sizeof(all), &all) == 0, "affinity");
	memset(published, 0, sizeof(published));
	__atomic_store_n(&stop, false, __ATOMIC_RELAXED);
	for (uintptr_t cpu = 0; cpu < 64 && count < 2; cpu++) {
		if (CPU_ISSET(cpu, &all))
			CHECK(pthread_create(&threads[count++], NULL, thread_main, (void *)cpu) ==
							0,
					"thread");
	}
	until = ring_clock_now(RING_CLOCK_MONOTONIC) + duration_ms * UINT64_C(1000000);
	/* A minimum number of windows, on any machine. */
	for (uint64_t now = 0; now < until || (counts[0] < 20 && now < until + 60000000000);) {
		read_buffer(consumer, backend, buffer, counts, true);
		now = ring_clock_now(RING_CLOCK_MONOTONIC);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	read_buffer(consumer, backend, buffer, counts, false);
	for (uint32_t ring = 0; ring < geometry.rings; ring++)
		busy += ring_consumer_lost(consumer, ring, RING_LOST_FULL);
	CHECK(busy == 0, "an overwriting ring was full");
	CHECK(counts[0] > 0, "no window");
	printf("%s, %lu KiB: %lu windows, %lu empty, %lu overtaken, %lu records\n", backend->name,
			size >> 10, counts[0], counts[1], counts[2], counts[3]);
	ring_consumer_unmap(consumer);
	ring_producer_unmap(producer);
out:
	if (fd >= 0)
		close(fd);
	free(buffer);
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	unsigned int duration_ms = test_is_long() ? 10000 : 120;

	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	for (unsigned int i = 0; i < WAYS; i++) {
		test_still(&variants[i], 4096, 60);
		test_still(&variants[i], 4096, 1000);
		test_still(&variants[i], 1 << 16, BODY_MAX);
		test_largest(&variants[i]);
		test_running(&variants[i], 4096, duration_ms);
		test_running(&variants[i], 1 << 16, duration_ms);
		test_running(&variants[i], 1 << 20, duration_ms);
	}
	return 0;
}
