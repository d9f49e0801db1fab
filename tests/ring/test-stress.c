/* SPDX-License-Identifier: MIT */
/*
 * Threads publish as fast as they can, interrupted by two signals whose handlers publish as well (a
 * trace inside a trace inside a trace), while a consumer drains. Each record that ring_publish()
 * accepted is read exactly once, complete, in order for each ring, with times that never decrease.
 * Each record that it refused is counted.
 */
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "decode.h"
#include "disturb.h"

#define THREADS 4
#define LEVELS 3 /* The thread, SIGUSR1 in it, SIGUSR2 in both. */
#define STREAMS (THREADS * LEVELS)
#define RECORDS_MAX (1u << 24)

/* The beginning of each payload; bytes that follow from sequence and stream come after it. */
struct body {
	uint32_t size;
	uint32_t stream;
	uint64_t sequence;
};

struct stream {
	uint64_t published;
	uint64_t refused;
	unsigned char *seen; /* A bit for each sequence number. */
	uint64_t read;
	uint64_t last_in_ring[RING_RINGS_MAX]; /* Sequence number + 1. */
};

static struct stream streams[STREAMS];
static struct ring_producer *producer;
static struct ring_consumer *consumer;
static bool stop;
static __thread unsigned int this_thread;
static __thread volatile bool ready;
static pthread_t threads[THREADS];

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Ids of all three forms, and payloads that are short most of the time. */
static uint32_t id_of(uint32_t stream, uint64_t sequence)
{
	return sequence % 3 == 0 ? stream : sequence % 3 == 1 ? 1000 + stream : 100000 + stream;
}

static uint32_t size_of(uint64_t sequence)
{
	uint32_t mixed = (uint32_t)(sequence * 2654435761u >> 7);

	return (uint32_t)sizeof(struct body) + (sequence % 61 ? mixed % 100 : mixed % 6000);
}

static unsigned char byte_of(uint32_t stream, uint64_t sequence, uint32_t at)
{
	return (unsigned char)(sequence * 7 + stream * 91 + at * 3);
}

static void publish_one(unsigned int level)
{
	uint32_t number = this_thread * LEVELS + level;
	struct stream *stream = &streams[number];
	unsigned char payload[sizeof(struct body) + 6000];
	struct body body = {size_of(stream->published), number, stream->published};
	int rc, before = errno;

	if (stream->published >= RECORDS_MAX)
		return;
	memcpy(payload, &body, sizeof(body));
	for (uint32_t at = sizeof(body); at < body.size; at++)
		payload[at] = byte_of(number, body.sequence, at);
	rc = ring_publish(producer, id_of(number, body.sequence), payload, body.size);
	CHECK(errno == before, "errno");
	/* The main thread reads it while this thread runs: enough(). */
	if (rc == 0)
		__atomic_store_n(&stream->published, stream->published + 1, __ATOMIC_RELAXED);
	else
		stream->refused++;
	CHECK(rc == 0 || rc == -ENOSPC || rc == -EBUSY, "%d", rc);
}

static void handler(int signal)
{
	if (ready)
		publish_one(signal == SIGUSR1 ? 1 : 2);
}

static void *thread_main(void *data)
{
	timer_t first, second;

	this_thread = (unsigned int)(uintptr_t)data;
	ready = true;
	first = disturb(SIGUSR1, 43117);
	second = disturb(SIGUSR2, 61333);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		publish_one(0);
	ready = false;
	timer_delete(first);
	timer_delete(second);
	return NULL;
}

static void check_record(uint32_t cpu, const struct decoded *record, const struct body *body)
{
	struct stream *stream;

	CHECK(body->stream < STREAMS, "stream %u", body->stream);
	stream = &streams[body->stream];
	CHECK(record->id == id_of(body->stream, body->sequence), "id %u", record->id);
	CHECK(body->size == size_of(body->sequence), "size %u", body->size);
	for (uint32_t at = sizeof(*body); at < body->size; at++)
		CHECK(record->payload[at] == byte_of(body->stream, body->sequence, at), "byte %u",
				at);
	CHECK(body->sequence >= stream->last_in_ring[cpu], "out of order");
	stream->last_in_ring[cpu] = body->sequence + 1;
	CHECK(!(stream->seen[body->sequence / 8] >> body->sequence % 8 & 1), "twice");
	stream->seen[body->sequence / 8] |= (unsigned char)(1 << body->sequence % 8);
	stream->read++;
}

static void drain(uint64_t *times, uint64_t *ends)
{
	for (uint32_t cpu = 0; cpu < ring_consumer_geometry(consumer)->rings; cpu++) {
		const unsigned char *at, *end;
		struct ring_span span;
		int rc = ring_consumer_peek(consumer, cpu, &span);

		CHECK(rc >= 0, "%s", ring_consumer_error(consumer, cpu));
		if (!rc)
			continue;
		at = span.data;
		end = at + span.size;
		CHECK(span.first_timestamp >= ends[cpu], "span begins before the other ended");
		for (bool first = true; at < end; first = false) {
			struct decoded record = decode_header(at, times[cpu]);
			struct body body;

			memcpy(&body, record.payload, sizeof(body));
			CHECK(record.timestamp >= times[cpu], "time runs back");
			CHECK(!first || record.timestamp == span.first_timestamp, "first time");
			CHECK(record.timestamp <= span.end_timestamp, "end time");
			times[cpu] = record.timestamp;
			check_record(cpu, &record, &body);
			at = record.payload + body.size;
		}
		CHECK(at == end, "span does not end with a record");
		ends[cpu] = span.end_timestamp;
		ring_consumer_release(consumer, cpu, &span);
	}
}

/*
 * Returns whether enough records were published for a valid test, independent of the machine's
 * speed.
 */
static bool enough(void)
{
	uint64_t published = 0, nested = 0;

	for (uint32_t i = 0; i < STREAMS; i++) {
		published += __atomic_load_n(&streams[i].published, __ATOMIC_RELAXED);
		if (i % LEVELS)
			nested += __atomic_load_n(&streams[i].published, __ATOMIC_RELAXED);
	}
	return published > 1000 && nested > 0;
}

static void run(uint64_t *times, uint64_t *ends, unsigned int duration_ms)
{
	uint64_t until = now_ms() + duration_ms;

	__atomic_store_n(&stop, false, __ATOMIC_RELAXED);
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, thread_main, (void *)i) == 0, "thread");
	while (now_ms() < until || (!enough() && now_ms() < until + 60000))
		drain(times, ends);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	drain(times, ends);
}

static void check_all(const struct backend *backend)
{
	uint64_t published = 0, refused = 0, lost = 0, nested = 0;

	for (uint32_t i = 0; i < STREAMS; i++) {
		CHECK(streams[i].read == streams[i].published, "stream %u: %lu of %lu read", i,
				streams[i].read, streams[i].published);
		published += streams[i].published;
		refused += streams[i].refused;
		nested += i % LEVELS ? streams[i].published : 0;
		free(streams[i].seen);
	}
	for (uint32_t cpu = 0; cpu < ring_consumer_geometry(consumer)->rings; cpu++)
		lost += ring_consumer_lost_total(consumer, cpu);
	CHECK(lost == refused, "%lu lost, %lu refused", lost, refused);
	CHECK(published > 1000 && nested > 0, "%lu records, %lu nested", published, nested);
	printf("%s: %lu published, %lu of them in handlers, %lu refused\n", backend->name,
			published, nested, refused);
}

static void test_way(const struct backend *backend, uint64_t size, unsigned int duration_ms)
{
	struct ring_geometry geometry = {
			.rings = ring_possible_cpus(), .event_slots = 64, .size = size};
	uint64_t *times, *ends;
	int fd = way_create(backend, &geometry);

	producer = fd < 0 ? NULL : way_map(backend, fd);
	if (!producer)
		return;
	CHECK(ring_consumer_map(fd, &geometry, &consumer) == 0, "ring_consumer_map");
	close(fd);
	memset(streams, 0, sizeof(streams));
	for (int i = 0; i < STREAMS; i++)
		streams[i].seen = calloc(1, RECORDS_MAX / 8);
	times = calloc(geometry.rings, sizeof(*times));
	ends = calloc(geometry.rings, sizeof(*ends));
	run(times, ends, duration_ms);
	check_all(backend);
	free(times);
	free(ends);
	ring_producer_unmap(producer);
	ring_consumer_unmap(consumer);
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	unsigned int duration_ms = test_is_long() ? 10000 : 250;

	setvbuf(stdout, NULL, _IOLBF, 0);
	/* Each handler may be interrupted by the other signal. */
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	for (unsigned int i = 0; i < WAYS; i++) {
		test_way(&variants[i], 1 << 14, duration_ms);
		test_way(&variants[i], 1 << 22, duration_ms);
	}
	return 0;
}
