/* SPDX-License-Identifier: MIT */
/*
 * Explores every interleaving of a producer and the consumer on one tiny ring (64 bytes, four to
 * six records).
 *
 * The consumer is the real code (consumer.c is included below). It lets the producer run between
 * any two of its accesses to shared memory. The producer is a model of section-x86_64.S: each store
 * that the consumer can see is a step. Before each step it may be aborted (preemption, signal) and
 * restarts, or it gives up and another record follows, as that of another thread. A kill is a
 * producer without further steps: a consumer also drains the ring in every reached state. The
 * consumer may be killed within a release; then another one takes over. Time advances by a tick, by
 * an epoch (2^27) or by 2^51, after which epochs repeat.
 *
 * States are kept by hash, so that each is explored once.
 */
#include <setjmp.h>

#include "decode.h"

static void consumer_step(void);
#define RING_CONSUMER_STEP() consumer_step()
#include "ring/consumer.c"

#define SIZE 64
#define RECORDS 6
#define EPOCH (UINT64_C(1) << RING_TIME_BITS)
#define REPEAT (EPOCH << RING_EPOCH_BITS)

static const struct {
	uint32_t id;
	uint32_t size;
} script[RECORDS] = {{1, 3}, {40, 17}, {3, 19}, {2, 0}, {70000, 1}, {4, 11}};

/* Bounds of the exploration: smaller by default than in a long run. */
static uint32_t records_max, aborts_max, leaps_max, hook_max;

/* The producer's next step. START includes the bytes of the record. */
enum placement { START, LAST, COMMIT, INVALIDATE, FINISHED };

/* The whole state, which is copied to return to it. */
struct world {
	/* Shared memory. */
	uint64_t head, last, limit, tail;
	struct ring_mark marks[2];
	unsigned char data[2 * SIZE];
	/* The producer's registers. */
	enum placement placement;
	uint32_t record;
	bool extended;
	uint64_t now, old_head, bytes;
	uint32_t aborts, leaps;
	uint64_t time;
	/* The consumer's own memory. */
	struct ring_view view;
	/* The true history. */
	uint32_t committed, released;
	uint32_t which[RECORDS];
	uint64_t when[RECORDS];
	uint64_t where[RECORDS + 1];
	uint64_t latest_end;
};

static struct world world;
static struct ring_control control;
static _Alignas(64) unsigned char consumer_memory[sizeof(struct ring_consumer) +
		sizeof(struct ring_view)];
static struct ring_consumer *const consumer = (struct ring_consumer *)(void *)consumer_memory;

/* ---- Choices: the run is repeated with the next combination of them. ---- */

static unsigned char chosen[256], arity[256];
static unsigned int depth, known;

static unsigned int choose(unsigned int options)
{
	CHECK(depth < 256, "too deep");
	if (depth == known) {
		chosen[known] = 0;
		arity[known++] = (unsigned char)options;
	}
	CHECK(arity[depth] == options, "not deterministic");
	return chosen[depth++];
}

static bool next_choices(void)
{
	while (known > 0 && chosen[known - 1] + 1 == arity[known - 1])
		known--;
	if (known == 0)
		return false;
	chosen[known - 1]++;
	return true;
}

/* ---- The producer ---- */

static void pass_time(void)
{
	unsigned int by = world.leaps < leaps_max ? choose(3) : 0;

	world.time += by == 0 ? 1 : by == 1 ? EPOCH : REPEAT;
	world.leaps += by != 0;
}

static uint32_t header_bytes(void)
{
	uint32_t id = script[world.record].id;

	return world.extended ? 13 : id < 30 ? 4 : 6;
}

static uint64_t space_word(void)
{
	return world.limit - world.old_head;
}

static void next_record(void)
{
	world.record++;
	world.extended = false;
	world.placement = world.record < records_max ? START : FINISHED;
}

static void put(uint64_t at, unsigned char byte)
{
	world.data[at % SIZE] = byte;
	world.data[at % SIZE + SIZE] = byte;
}

static unsigned char payload_byte(uint32_t record, uint32_t at)
{
	return (unsigned char)(record * 50 + at);
}

static void write_record(void)
{
	uint64_t position = world.old_head >> 24;
	uint32_t id = script[world.record].id, header = header_bytes();
	unsigned char bytes[64];

	CHECK(position + world.bytes - world.where[world.released] <= SIZE, "unread bytes written");
	ring_header_write(bytes, header, id, world.now);
	for (uint32_t i = 0; i < script[world.record].size; i++)
		bytes[header + i] = payload_byte(world.record, i);
	for (uint32_t i = 0; i < world.bytes; i++)
		put(position + i, bytes[i]);
	world.placement = LAST;
}

/* Reads the clock, whose value decides the form. */
static void decide(void)
{
	uint64_t epoch;

	pass_time();
	world.now = world.time;
	epoch = world.now >> 27 & 0xffffff;
	if (!world.extended) {
		if (world.now < world.last || world.now >> 27 != world.last >> 27 ||
				(world.old_head & 0xffffff) != epoch) {
			world.extended = true;
			world.placement = START;
			return;
		}
	} else {
		if (world.now < world.last)
			world.now = world.last;
		if (world.now >> 27 != world.last >> 27 && (world.old_head & 0xffffff) == epoch) {
			/* Calls ring_section_invalidate() with a time that was read before. */
			pass_time();
			world.now = world.time;
			world.placement = INVALIDATE;
			return;
		}
	}
	write_record();
}

static void start(void)
{
	uint64_t limit = ((world.tail << 24) + ((uint64_t)SIZE << 24)) | 0xffffff;

	world.old_head = world.head;
	if (script[world.record].id > 65535)
		world.extended = true;
	world.bytes = header_bytes() + script[world.record].size;
	if (space_word() < world.bytes << 24) {
		if (limit - world.old_head < world.bytes << 24) {
			next_record(); /* Full. */
			return;
		}
		world.limit = limit;
	}
	decide();
}

static void commit(void)
{
	uint64_t head = ((world.old_head + (world.bytes << 24)) & ~(uint64_t)0xffffff) |
			(world.now >> 27 & 0xffffff);

	CHECK(world.now >= world.latest_end, "a record before the end that a span was given");
	world.head = head;
	world.which[world.committed] = world.record;
	world.when[world.committed] = world.now;
	world.committed++;
	world.where[world.committed] = head >> 24;
	next_record();
}

static void producer_step(void)
{
	bool in_section = world.placement != START || world.extended;

	if (in_section && world.aborts < aborts_max) {
		unsigned int what = choose(3);

		if (what) {
			world.aborts++;
			if (what == 2)
				next_record();
			/* An abort of the extended form begins with the compact one again. */
			world.extended = false;
			if (world.placement != FINISHED)
				world.placement = START;
			return;
		}
	}
	switch (world.placement) {
	case START: start(); break;
	case LAST:
		world.last = world.now;
		world.placement = COMMIT;
		break;
	case COMMIT: commit(); break;
	case INVALIDATE: {
		uint64_t other = (world.last >> 27) & 0xffffff;

		other ^= (other ^ (world.now >> 27 & 0xffffff)) == 0x800000 ? 0x400000 : 0x800000;
		world.head = (world.head & ~(uint64_t)0xffffff) | other;
		world.placement = START;
		break;
	}
	case FINISHED: break;
	}
}

/* ---- The consumer ---- */

static enum { ALONE, TOGETHER, KILLED } mode;
static unsigned int hook_steps;
static jmp_buf killed;

static void show_memory(void)
{
	control.head = world.head;
	control.last_timestamp = world.last;
	control.tail = world.tail;
	memcpy(control.marks, world.marks, sizeof(world.marks));
}

static void consumer_step(void)
{
	if (mode == KILLED && choose(2))
		longjmp(killed, 1);
	if (mode != TOGETHER)
		return;
	while (hook_steps > 0 && world.placement != FINISHED && choose(2)) {
		hook_steps--;
		producer_step();
	}
	show_memory();
}

static void check_span(const struct ring_span *span)
{
	const unsigned char *at = span->data;
	uint32_t end = world.released;
	uint64_t time = span->first_timestamp;

	CHECK(span->position == world.where[world.released], "begins elsewhere");
	while (end <= world.committed && world.where[end] != span->position + span->size)
		end++;
	CHECK(end <= world.committed && end > world.released, "ends within a record");
	CHECK(span->first_timestamp == world.when[world.released], "first_timestamp");
	CHECK(span->end_timestamp >= world.when[end - 1],
			"end_timestamp is before the last record");
	CHECK(end == world.committed || span->end_timestamp <= world.when[end],
			"end_timestamp is after the next record");
	for (uint32_t i = world.released; i < end; i++) {
		struct decoded record = decode_header(at, time);
		uint32_t which = world.which[i];

		CHECK(record.id == script[which].id, "id");
		CHECK(record.timestamp == world.when[i], "time of record %u", i);
		for (uint32_t j = 0; j < script[which].size; j++)
			CHECK(record.payload[j] == payload_byte(which, j), "payload");
		time = record.timestamp;
		at = record.payload + script[which].size;
	}
	CHECK(at == (const unsigned char *)span->data + span->size, "size");
	if (world.latest_end < span->end_timestamp)
		world.latest_end = span->end_timestamp;
}

static void release(const struct ring_span *span)
{
	mode = choose(2) ? KILLED : ALONE;
	if (setjmp(killed) == 0)
		ring_consumer_release(consumer, 0, span);
	if (control.tail == span->position + span->size)
		while (world.where[world.released] != control.tail)
			world.released++;
	if (mode == KILLED) {
		struct ring_view *view = &consumer->views[0];

		/* Another consumer takes over, with nothing but the shared memory. */
		*view = (struct ring_view){.control = &control, .data = world.data};
		ring_view_resume(view, false);
		CHECK(!view->error, "%s", view->error);
	}
	world.tail = control.tail;
	memcpy(world.marks, control.marks, sizeof(world.marks));
}

static void consume(bool with_producer)
{
	bool something = world.committed > world.released;
	struct ring_span span;
	int rc;

	consumer->views[0] = world.view;
	show_memory();
	mode = with_producer ? TOGETHER : ALONE;
	hook_steps = hook_max;
	rc = ring_consumer_peek(consumer, 0, &span);
	/* "Nothing" is a valid answer only if the ring was empty at first. */
	CHECK(rc == 1 || (rc == 0 && !something), "%d: %s", rc, consumer->views[0].error);
	if (rc == 1) {
		check_span(&span);
		if (choose(2))
			release(&span);
	}
	world.view = consumer->views[0];
}

/* ---- The search ---- */

#define TABLE (1u << 22)
static uint64_t *table;
static struct world *stack;
static size_t stacked, stack_capacity;
static uint64_t states, runs;

static bool seen_before(const struct world *state)
{
	uint64_t hash = UINT64_C(14695981039346656037);
	const unsigned char *bytes = (const unsigned char *)state;
	uint64_t word;

	for (size_t i = 0; i + 8 <= sizeof(*state); i += 8) {
		memcpy(&word, bytes + i, 8);
		hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
		hash ^= hash >> 29;
	}
	hash |= 1;
	for (uint64_t slot = hash >> 40;; slot++) {
		if (table[slot % TABLE] == hash)
			return true;
		if (!table[slot % TABLE]) {
			table[slot % TABLE] = hash;
			CHECK(++states < TABLE / 2, "too many states");
			return false;
		}
	}
}

/* Clears values that are not read again, so that more states are equal. */
static void forget(void)
{
	uint64_t end = world.where[world.committed];

	if (world.placement == LAST || world.placement == COMMIT)
		end += world.bytes;
	for (uint64_t at = end; at < world.where[world.released] + SIZE; at++)
		put(at, 0);
	if (world.placement == START || world.placement == FINISHED)
		world.now = world.old_head = world.bytes = 0;
	for (uint32_t i = 0; i < world.released; i++)
		world.when[i] = world.which[i] = 0;
	for (unsigned int i = 0; i < 2; i++) {
		if (world.marks[i].position != world.tail)
			world.marks[i] = (struct ring_mark){0, 0};
	}
	world.view.head = world.view.peeked = world.view.tail;
	world.view.peeked_timestamp = 0;
}

static void push(void)
{
	forget();
	if (seen_before(&world))
		return;
	if (stacked == stack_capacity) {
		stack_capacity = stack_capacity ? stack_capacity * 2 : 1024;
		stack = realloc(stack, stack_capacity * sizeof(*stack));
		CHECK(stack, "memory");
	}
	stack[stacked++] = world;
}

static void explore(uint64_t start_time)
{
	static struct world from;

	memset(&world, 0, sizeof(world));
	world.head = RING_EPOCH_FLIP;
	world.limit = (uint64_t)SIZE << 24 | 0xffffff;
	world.time = start_time;
	world.view.control = &control;
	world.view.data = world.data;
	consumer->memory.geometry.size = SIZE;
	consumer->memory.geometry.rings = 1;
	push();
	while (stacked) {
		from = stack[--stacked];
		known = 0;
		do {
			world = from;
			depth = 0;
			runs++;
			if (world.placement != FINISHED && choose(2))
				producer_step();
			else
				consume(world.placement != FINISHED);
			push();
		} while (next_choices());
	}
}

/* hooks: steps that the producer may make within one run of the consumer's code. */
static void explore_with(uint32_t records, uint32_t aborts, uint32_t leaps, uint32_t hooks)
{
	records_max = records;
	aborts_max = aborts;
	leaps_max = leaps;
	hook_max = hooks;
	states = runs = 0;
	memset(table, 0, TABLE * sizeof(*table));
	/*
	 * Directly before the end of an epoch; and a first record with the epoch of an unused ring.
	 */
	explore(6 * EPOCH - 2);
	explore((uint64_t)RING_EPOCH_FLIP * EPOCH - 1);
	printf("%u records, %u aborts, %u leaps: %lu states, %lu runs\n", records, aborts, leaps,
			states, runs);
	CHECK(states > 1000, "too few states");
}

int main(void)
{
	table = calloc(TABLE, sizeof(*table));
	CHECK(table, "memory");
	explore_with(4, 1, 1, 4);
	explore_with(3, 0, 2, 6);
	if (test_is_long()) {
		explore_with(4, 1, 2, 6);
		explore_with(4, 2, 1, 6);
		explore_with(6, 0, 1, 6);
	}
	free(table);
	free(stack);
	return 0;
}
