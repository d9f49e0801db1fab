/* SPDX-License-Identifier: MIT */
/*
 * A hostile producer overwrites all the memory that it can write, also between two reads of the
 * consumer (consumer.c and snapshot.c are included for that), in all modes. The consumer must
 * return a span inside the ring, nothing, or -EBADMSG and a reason. The other ring must keep
 * working. A producer whose consumer's words are invalid must also stay inside its ring.
 */
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decode.h"

static void consumer_step(void);
#define RING_CONSUMER_STEP() consumer_step()
#include "ring/consumer.c"
#include "ring/portable.h"
#include "ring/snapshot.c"

#define RING_BYTES 4096

static uint64_t state = 1;
static uint32_t spoilt, beside;      /* Two rings: of the CPU of this thread, and another one. */
static struct ring_control *control; /* Of the ring to spoil, as mapped by the producer. */
static unsigned char *data;
static unsigned int between; /* One in this many steps of the consumer is disturbed. */
static unsigned int spans, refused, empty;
static volatile unsigned int sum;

static uint64_t random_word(void)
{
	static const uint64_t special[] = {0, 1, UINT64_MAX, UINT64_C(1) << 63, RING_BYTES,
			RING_BYTES - 1, RING_BYTES + 1, UINT64_C(0xffffff), RING_POSITION_MASK};
	uint64_t word = (uint64_t)test_random(&state) << 32 ^ test_random(&state);

	switch (test_random(&state) % 4) {
	case 0: return special[test_random(&state) % (sizeof(special) / 8)];
	case 1: return special[test_random(&state) % (sizeof(special) / 8)] << 24 | (word & 0xff);
	case 2: return word >> test_random(&state) % 64;
	default: return word;
	}
}

/* Changes one word of the control data: sets it, moves it a little, or flips a bit. */
static void spoil_word(uint64_t *word)
{
	switch (test_random(&state) % 4) {
	case 0: *word = random_word(); break;
	case 1: *word += test_random(&state) % 64 - 32; break;
	case 2: *word += (uint64_t)(test_random(&state) % 8192 - 4096) << 24; break;
	default: *word ^= UINT64_C(1) << test_random(&state) % 64; break;
	}
}

static void spoil(void)
{
	uint64_t *const words[] = {&control->head, &control->head, &control->last_timestamp,
			&control->limit, &control->tail, &control->marks[0].position,
			&control->marks[0].end_timestamp, &control->marks[1].position,
			&control->claim, &control->block_crossed,
			&control->blocks[test_random(&state) % RING_BLOCKS].position,
			&control->releases, (uint64_t *)(void *)&control->waiting,
			(uint64_t *)(void *)&control->space,
			&control->lost[test_random(&state) % RING_LOSS_REASONS],
			&control->lost_groups[test_random(&state) % 16]};

	if (test_random(&state) % 4 == 0)
		data[test_random(&state) % RING_BYTES] = (unsigned char)test_random(&state);
	else
		spoil_word(words[test_random(&state) % (sizeof(words) / sizeof(words[0]))]);
}

static void consumer_step(void)
{
	if (between && test_random(&state) % between == 0)
		spoil();
}

static int count_visit(void *count, uint32_t cpu, uint32_t slot, const uint64_t *counts)
{
	(void)cpu;
	CHECK(slot < 100 && counts, "slot %u", slot);
	++*(unsigned int *)count;
	return 0;
}

/* Gets a span from the consumer: in the ring, or a copy in memory of the test. */
static void check_span(const struct ring_span *span, const unsigned char *base)
{
	const unsigned char *from = span->data;

	CHECK(from >= base && from < base + RING_BYTES, "span begins outside");
	CHECK(span->size > 0 && span->size <= RING_BYTES, "size %zu", span->size);
	CHECK(span->first_timestamp <= span->end_timestamp, "times");
	for (size_t i = 0; i < span->size; i++)
		sum += from[i];
}

static int read_records(struct ring_consumer *consumer, uint32_t ring)
{
	const unsigned char *base = ring_memory_data(&consumer->memory, ring);
	unsigned char *buffer = NULL;
	struct ring_span span;
	int rc;

	if (consumer->memory.geometry.mode != RING_MODE_OVERWRITE) {
		rc = ring_consumer_peek(consumer, ring, &span);
	} else {
		buffer = malloc(RING_BYTES);
		rc = ring_consumer_snapshot(consumer, ring, buffer, &span);
		CHECK(rc != 1 ||
						(const unsigned char *)span.data + span.size <=
								buffer + RING_BYTES,
				"over the end");
		base = buffer;
	}
	if (rc == 1) {
		check_span(&span, base);
		ring_consumer_release(consumer, ring, &span);
	}
	free(buffer);
	return rc;
}

static void read_ring(struct ring_consumer *consumer, uint32_t ring)
{
	int rc = read_records(consumer, ring);

	if (rc == 1) {
		spans++;
	} else if (rc == 0) {
		empty++;
	} else if (rc == -EAGAIN) {
		/* Every attempt was disturbed. */
		CHECK(between, "no thread writes");
	} else {
		refused++;
		CHECK(rc == -EBADMSG && strlen(ring_consumer_error(consumer, ring)) > 5, "%d", rc);
		CHECK(read_records(consumer, ring) == -EBADMSG, "recovers by itself");
	}
}

/* Writes a few records to each of the two rings. Any result is valid, a write outside is not. */
static void write_rings(struct ring_producer *producer)
{
	static const unsigned char payload[2100];

	for (uint32_t i = 0, n = test_random(&state) % 12; i < n; i++) {
		uint32_t id = test_random(&state) % 3 ? test_random(&state) % 30
						      : random_word() % 70000;

		ring_publish(producer, id, payload, test_random(&state) % sizeof(payload));
		ring_portable_write(producer, &producer->locations[beside], 3,
				&(struct ring_two_part){payload, 50, NULL, 0},
				ring_clock_now(RING_CLOCK_MONOTONIC));
	}
}

static void run(const struct backend *backend, enum ring_mode mode, unsigned int disturb)
{
	struct ring_geometry geometry = {.rings = beside + 1,
			.event_slots = 100,
			.size = RING_BYTES,
			.mode = mode,
			.block_timeout_us = 1};
	struct ring_producer *producer;
	struct ring_consumer *consumer;
	unsigned int visited = 0;
	int fd;

	fd = way_create(backend, &geometry);
	producer = fd < 0 ? NULL : way_map(backend, fd);
	if (!producer)
		return;
	CHECK(ring_consumer_map(fd, &geometry, &consumer) == 0, "map");
	control = producer->locations[spoilt].control;
	data = producer->locations[spoilt].data;
	between = 0;
	/* Some valid records first, so that invalid words occur in any state. */
	for (uint32_t i = 0, n = test_random(&state) % 4; i < n; i++) {
		write_rings(producer);
		read_ring(consumer, spoilt);
	}
	for (int i = 0; i < 6; i++) {
		between = disturb;
		spoil();
		read_ring(consumer, spoilt);
		ring_consumer_pending(consumer);
		ring_consumer_lost_total(consumer, spoilt);
		ring_consumer_lost_each(consumer, spoilt, count_visit, &visited);
		between = 0;
		write_rings(producer);
		CHECK(read_records(consumer, beside) >= 0, "the ring beside");
	}
	/* The next consumer finds the same invalid words. */
	ring_consumer_unmap(consumer);
	if (ring_consumer_map(fd, NULL, &consumer) == 0) {
		read_ring(consumer, spoilt);
		ring_consumer_unmap(consumer);
	}
	ring_producer_unmap(producer);
	close(fd);
}

int main(void)
{
	cpu_set_t all, one;
	unsigned int rounds = test_is_long() ? 40000 : 1500;

	CHECK(sched_getaffinity(0, sizeof(all), &all) == 0, "affinity");
	while (!CPU_ISSET(spoilt, &all))
		spoilt++;
	beside = spoilt + 1;
	CPU_ZERO(&one);
	CPU_SET(spoilt, &one);
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0, "affinity");
	for (unsigned int i = 0; i < rounds; i++)
		run(&variants[i % WAYS], (enum ring_mode)(i / 8 % 3),
				i % 8 < 4 ? 0 : 1 + test_random(&state) % 4);
	printf("%u spans, %u refused, %u empty\n", spans, refused, empty);
	CHECK(spans > rounds / 4 && refused > rounds / 4, "not much tried");
	return 0;
}
