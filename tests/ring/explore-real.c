/* SPDX-License-Identifier: MIT */
/*
 * Explores every interleaving of the real code: the writer in C (portable.c), the consumer, the
 * reader of a flight recorder and the waiting of block mode, on a tiny ring, with store buffers.
 * explore.h has the machine; explore-code.h has the code on that machine, and the mutations.
 *
 * The writer represents a restartable section (section-x86_64.S makes the same stores in the same
 * order), so one of these events may happen at any of its accesses. Its earlier stores stay, in
 * memory or in the buffer:
 *
 *	restart		it begins again, perhaps much later
 *	handler		a signal handler, or another thread of this CPU, publishes the next record
 *			completely (or is interrupted itself); then the writer begins again
 *	give up		its thread is killed; the next record follows
 *
 * A kill of the process is a writer that never continues, while its buffer drains: this covers
 * every state, because the reader may continue alone from it. The consumer may be killed at any
 * access of its own; then another consumer takes over, or none does (block mode).
 */
#include <stdio.h>

#include "explore-code.h"

#define LATER 10000000 /* Nanoseconds: longer than a producer waits. */

enum { RESTART = 1, HANDLER, GIVE_UP, KILL, TIMEOUT };

/* One call to publish, on the producer's stack. */
struct attempt {
	struct attempt *outer;
	uint32_t number; /* The index in the script. */
	bool writing, given_up;
	struct ring_timeout timeout;
	void *restart[5];
};

/* The true history. */
static struct {
	struct attempt *attempt;
	uint32_t next, committed, released, lost, given_up;
	uint32_t interrupts, leaps, kills, timeouts;
	uint64_t time, latest_end;
	uint32_t which[RECORDS_MAX];
	uint64_t when[RECORDS_MAX];
	uint64_t where[RECORDS_MAX + 1];
	uint64_t floor; /* The head in memory when the consumer's call began. */
	bool still;     /* The producer has changed nothing since then. */
	bool dead;      /* The consumer was killed. */
	struct ring_span span;
} truth;

static struct scenario scenario;
static unsigned char payloads[RECORDS_MAX][SIZE];
static unsigned char window[SIZE];

static _Alignas(64) unsigned char producer_memory[sizeof(struct ring_producer) +
		sizeof(struct ring_location)];
static struct ring_producer *const producer = (struct ring_producer *)(void *)producer_memory;
static uint64_t stalled;
static _Alignas(64) unsigned char consumer_memory[sizeof(struct ring_consumer) +
		sizeof(struct ring_view)];
static struct ring_consumer *const consumer = (struct ring_consumer *)(void *)consumer_memory;

/* ---- The producer ---- */

static void publish(uint32_t number);

static uint8_t interrupts(void)
{
	uint8_t mask = 0;

	if (truth.interrupts == scenario.interrupts)
		return 0;
	if (truth.next < scenario.records)
		mask |= 1 << HANDLER;
	/* Outside of the section, nothing is restarted. */
	if (truth.attempt->writing)
		mask |= 1 << RESTART | 1 << GIVE_UP;
	return mask;
}

/* Performs an action other than to continue. Returns if the interrupted code continues. */
static void interrupted(enum machine_answer answer)
{
	struct attempt *attempt = truth.attempt;

	truth.interrupts++;
	if ((int)answer == HANDLER)
		publish(truth.next++);
	if ((int)answer == GIVE_UP)
		attempt->given_up = true;
	if (attempt->writing)
		__builtin_longjmp(attempt->restart, 1);
}

static void producer_access(enum machine_what what, const volatile void *at)
{
	enum machine_answer answer;

	for (;;) {
		uint8_t mask = 1 << GO;

		/*
		 * In a section, an interruption at a load has the same effect as one at the next
		 * step.
		 */
		if (what != STEP_OWN || !truth.attempt->writing)
			mask |= interrupts();
		answer = machine_step(what, at, mask);
		if (answer == GO)
			break;
		interrupted(answer);
	}
	if (what == STEP_STORE || is_in(at, shared.data, sizeof(shared.data)))
		truth.still = false;
}

/* The time of the next attempt. */
static void pass_time(void)
{
	uint8_t mask = truth.leaps < scenario.leaps ? 7 : 1;
	unsigned int by = machine_step(STEP_OWN, &truth.time, mask);

	truth.leaps += by != 0;
	truth.time += by == 0 ? 0 : by == 1 ? EPOCH : REPEAT;
}

static int write_once(struct attempt *attempt)
{
	const struct record *record = &scenario.script[attempt->number];
	const struct ring_two_part parts = {payloads[attempt->number], record->size, NULL, 0};
	int code;

	pass_time();
	odd.stores = odd.bytes = 0;
	attempt->writing = true;
	code = ring_portable_write(
			producer, &producer->locations[0], record->id, &parts, truth.time);
	attempt->writing = false;
	return code;
}

/* As in ring_publish_attempts(). */
static __attribute__((noinline)) void publish_attempts(struct attempt *attempt)
{
	uint64_t bytes = RING_EXTENDED_BYTES + scenario.script[attempt->number].size;

	for (;;) {
		int code = write_once(attempt);

		if (code == RING_SECTION_CROSSED)
			ring_doorbell_crossed(producer->doorbell);
		if (code != RING_SECTION_FULL)
			return;
		if (scenario.mode != RING_MODE_BLOCK ||
				!ring_space_wait(producer, 0, bytes, &attempt->timeout))
			break;
	}
	truth.lost++;
	/* No record is lost while the consumer lives and no wait has timed out. */
	HOLDS(scenario.mode != RING_MODE_BLOCK || truth.dead || truth.timeouts,
			"a record was lost although there was space");
}

/*
 * Returns here repeatedly. A function of its own, because the values in its registers are lost
 * then.
 */
static __attribute__((noinline)) void publish(uint32_t number)
{
	struct attempt attempt = {.outer = truth.attempt, .number = number};

	truth.attempt = &attempt;
	truth.time++;
	__builtin_setjmp(attempt.restart);
	truth.attempt->writing = false;
	if (truth.attempt->given_up)
		truth.given_up++;
	else
		publish_attempts(truth.attempt);
	truth.attempt = truth.attempt->outer;
}

static void producer_main(void)
{
	while (truth.next < scenario.records)
		publish(truth.next++);
	HOLDS(truth.committed + truth.lost + truth.given_up == scenario.records,
			"%u records, %u lost", truth.committed, truth.lost);
}

/* Once the store is in the buffer, it will leave it: the record is published. */
static void explore_committing(uint64_t word)
{
	uint32_t n = truth.committed;
	uint64_t bytes = (ring_head_position(word) - truth.where[n]) & RING_POSITION_MASK;
	uint64_t time = machine_read(&shared.control.last_timestamp, 8);

	if (bytes == 0)
		return; /* Only the epoch has changed. */
	if (mutation == TIME_LATE)
		time = odd.value[0];
	HOLDS(n == 0 || time >= truth.when[n - 1], "record %u: time runs back", n);
	HOLDS(time >= truth.latest_end, "record %u: before the end that a span was given", n);
	truth.which[n] = truth.attempt->number;
	truth.when[n] = time;
	truth.where[n + 1] = truth.where[n] + bytes;
	truth.committed++;
}

/* ---- The consumer ---- */

static void consumer_access(enum machine_what what, const volatile void *at)
{
	uint8_t mask = 1 << GO;

	if (truth.kills < scenario.kills)
		mask |= 1 << KILL;
	if ((int)machine_step(what, at, mask) != KILL)
		return;
	truth.kills++;
	truth.dead = true;
	memset(&truth.span, 0, sizeof(truth.span));
	machine_exit();
}

static void explore_access(enum machine_what what, const volatile void *at)
{
	if (machine_current() == PRODUCER)
		producer_access(what, at);
	else
		consumer_access(what, at);
}

/* Returns false after a timeout. */
static bool explore_slept(const volatile void *at)
{
	enum machine_answer answer;
	uint8_t mask = 0;

	if (machine_current() == PRODUCER) {
		mask = interrupts();
		if (truth.timeouts < scenario.timeouts)
			mask |= 1 << TIMEOUT;
	}
	answer = machine_step(STEP_ASLEEP, at, mask);
	if ((int)answer == HANDLER)
		interrupted(answer);
	if ((int)answer != TIMEOUT)
		return true;
	clock_ns += LATER;
	truth.timeouts += machine_current() == PRODUCER;
	return false;
}

/* Checks that the record at `at` is the published record n. Returns its end. */
static const unsigned char *check_record(const unsigned char *at, uint32_t n, uint64_t before)
{
	struct decoded record = decode_header(at, before);
	uint32_t which = truth.which[n];
	uint32_t size = scenario.script[which].size;

	HOLDS(record.id == scenario.script[which].id, "record %u: id %u", n, record.id);
	HOLDS(record.timestamp == truth.when[n], "record %u: time %lu", n, record.timestamp);
	HOLDS(!memcmp(record.payload, payloads[which], size), "record %u: torn", n);
	return record.payload + size;
}

/*
 * Returns the index of the record that begins here, or of the next one; where[] has its position.
 */
static uint32_t record_at(uint64_t position, const char *what)
{
	uint32_t n = 0;

	while (n <= truth.committed && truth.where[n] != position)
		n++;
	HOLDS(n <= truth.committed, "%s at %lu, within a record", what, position);
	return n;
}

/* Notes the lowest possible head at the time of the call. */
static void check_head(void)
{
	uint32_t n = truth.committed;

	while (ring_head_position(shared.control.head) != (truth.where[n] & RING_POSITION_MASK)) {
		HOLDS(n > 0, "the head is where no record ends");
		n--;
	}
	truth.floor = truth.where[n];
	truth.still = machine_drained(PRODUCER);
}

static uint32_t check_span(void)
{
	const struct ring_span *span = &truth.span;
	uint32_t begin = truth.released, end;

	HOLDS(span->position == truth.where[begin], "a span begins elsewhere");
	HOLDS(span->position + span->size >= truth.floor, "a span ends too early");
	end = record_at(span->position + span->size, "a span ends");
	HOLDS(end > begin, "a span of nothing");
	HOLDS(span->first_timestamp == truth.when[begin], "first_timestamp");
	HOLDS(span->end_timestamp >= truth.when[end - 1], "it ends before its last record");
	HOLDS(end == truth.committed || span->end_timestamp <= truth.when[end],
			"it ends after the next record");
	if (truth.latest_end < span->end_timestamp)
		truth.latest_end = span->end_timestamp;
	return end;
}

/*
 * Acts as a program that writes the bytes to a file: one record at a time, while the producer
 * continues.
 */
static void read_span(uint32_t end)
{
	const unsigned char *at = truth.span.data;
	uint64_t before = truth.span.first_timestamp;

	for (uint32_t n = truth.released; n < end; n++) {
		consumer_access(STEP_SHARED, at);
		at = check_record(at, n, before);
		before = truth.when[n];
	}
	HOLDS(at == (const unsigned char *)truth.span.data + truth.span.size, "size");
}

static bool consume(void)
{
	uint32_t end;
	int rc;

	check_head();
	rc = ring_consumer_peek(consumer, 0, &truth.span);
	HOLDS(rc >= 0, "%s", consumer->views[0].error);
	HOLDS(rc == 1 || truth.floor == truth.where[truth.released], "nothing was shown");
	end = rc == 1 ? check_span() : 0;
	truth.floor = 0;
	truth.still = false;
	if (rc == 0)
		return false;
	if (mutation != TAIL_EARLY)
		read_span(end);
	ring_consumer_release(consumer, 0, &truth.span);
	if (mutation == TAIL_EARLY)
		read_span(end);
	truth.released = end;
	memset(&truth.span, 0, sizeof(truth.span));
	return true;
}

/* Another consumer takes over, with nothing but the shared memory. */
static void take_over(void)
{
	struct ring_view *view = &consumer->views[0];

	truth.dead = false;
	*view = (struct ring_view){.control = &shared.control, .data = shared.data};
	ring_view_resume(view, false);
	HOLDS(!view->error, "%s", view->error);
	truth.released = record_at(view->tail, "the tail");
}

static void consumer_discard(void)
{
	if (truth.dead)
		take_over();
	consume();
}

/* As in the recorder's thread. */
static void consumer_block(void)
{
	for (;;) {
		uint32_t seen;

		while (consume()) {
		}
		seen = ring_doorbell_arm(&shared.bell);
		if (!ring_consumer_pending(consumer))
			ring_doorbell_wait(&shared.bell, seen, 1000);
		ring_doorbell_disarm(&shared.bell);
	}
}

/* The latest permitted begin of a window if no store disturbs the reader: see snapshot.c. */
static uint64_t latest_begin(void)
{
	uint64_t claim = shared.control.claim >> RING_EPOCH_BITS, oldest = 0;

	/* The last claimed record may have overwritten the mark of the oldest sub-buffer. */
	if (claim >= SIZE)
		oldest = (claim / BLOCK - RING_BLOCKS + 1) * BLOCK;
	for (uint32_t n = 0; n < truth.committed; n++) {
		bool first = n == 0 || truth.where[n - 1] / BLOCK != truth.where[n] / BLOCK;

		if (first && truth.where[n] >= oldest)
			return truth.where[n];
	}
	return truth.where[truth.committed];
}

static void check_window(void)
{
	const struct ring_span *span = &truth.span;
	const unsigned char *at = span->data;
	uint32_t n = record_at(span->position, "a window begins");
	uint32_t end = record_at(span->position + span->size, "a window ends");
	uint64_t before = span->first_timestamp;

	HOLDS(span->position + span->size >= truth.floor, "a window ends too early");
	HOLDS(at[0] % 32 == 31, "a window's first record is not extended");
	HOLDS(before == truth.when[n], "first_timestamp");
	for (; n < end; n++) {
		at = check_record(at, n, before);
		before = truth.when[n];
	}
	HOLDS(span->end_timestamp >= before, "it ends before its last record");
	HOLDS(end == truth.committed || span->end_timestamp <= truth.when[end],
			"it ends after the next record");
}

static void consumer_overwrite(void)
{
	int rc;

	check_head();
	rc = ring_consumer_snapshot(consumer, 0, window, &truth.span);
	HOLDS(rc >= 0 || rc == -EAGAIN, "%s", consumer->views[0].error);
	if (rc == 1)
		check_window();
	if (truth.still) {
		uint64_t begin = rc == 1 ? truth.span.position : truth.where[truth.committed];

		HOLDS(rc >= 0, "overwritten, but no thread writes");
		HOLDS(begin <= latest_begin(), "the window begins late");
	}
	memset(window, 0, sizeof(window));
	memset(&truth.span, 0, sizeof(truth.span));
	truth.floor = 0;
	truth.still = false;
}

/* ---- The rules ---- */

static bool may_start(enum machine_id thread)
{
	if (thread == PRODUCER)
		return truth.next < scenario.records;
	/* The stores of a dead process are visible before another process detects its death. */
	if (truth.dead)
		return scenario.mode == RING_MODE_DISCARD && machine_drained(CONSUMER);
	return true;
}

static void emptied(enum machine_id thread, const volatile void *at)
{
	(void)at;
	if (thread == PRODUCER)
		truth.still = false;
}

static void restored(void)
{
	memcpy(shared.data + SIZE, shared.data, SIZE);
}

/* Only a timeout lets a thread continue. */
static void stuck(void)
{
	bool waits = machine_where(PRODUCER) == STEP_ASLEEP;
	uint64_t unread = truth.where[truth.committed] - truth.where[truth.released];

	if (scenario.mode != RING_MODE_BLOCK)
		return;
	HOLDS(!waits || truth.dead, "the producer waits for space and the consumer for records");
	if (waits) {
		machine_notify(PRODUCER, 1 << TIMEOUT);
		return;
	}
	HOLDS(machine_where(PRODUCER) == STEP_NONE, "the producer neither waits nor goes on");
	if (truth.dead)
		return;
	HOLDS(truth.where[truth.committed] / BLOCK == truth.where[truth.released] / BLOCK,
			"the consumer sleeps and a block is full");
	/* The consumer finds the remainder of a sub-buffer after its own timeout. */
	if (unread)
		machine_notify(CONSUMER, 1 << TIMEOUT);
}

static const char *name_of(const volatile void *at)
{
	static char text[64];
	const struct {
		const volatile void *at;
		const char *name;
	} names[] = {
			{&shared.control.head, "head"},
			{&shared.control.last_timestamp, "last_timestamp"},
			{&shared.control.claim, "claim"},
			{&shared.control.block_crossed, "reached"},
			{&shared.control.waiting, "waiting"},
			{&shared.control.tail, "tail"},
			{&shared.control.releases, "releases"},
			{&shared.control.space, "room"},
			{&shared.bell.sleeping, "sleeping"},
			{&shared.bell.sequence, "sequence"},
			{&truth.time, "clock"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].at == at)
			return names[i].name;
	}
	if (is_in(at, shared.data, sizeof(shared.data)))
		snprintf(text, sizeof(text), "data + %lu", (uintptr_t)at - (uintptr_t)shared.data);
	else if (is_in(at, &shared.control, sizeof(shared.control)))
		snprintf(text, sizeof(text), "control + %lu",
				(uintptr_t)at - (uintptr_t)&shared.control);
	else
		text[0] = 0;
	return text;
}

/* ---- What is explored ---- */

static void fill_memory(void)
{
	memset(&shared.control, 0, sizeof(shared.control));
	memset(&shared.bell, 0, sizeof(shared.bell));
	memset(shared.data, 0, sizeof(shared.data));
	memset(&truth, 0, sizeof(truth));
	memset(&odd, 0, sizeof(odd));
	shared.control.head = RING_EPOCH_FLIP;
	shared.control.limit = (uint64_t)SIZE << RING_EPOCH_BITS | RING_EPOCH_MASK;
	truth.time = scenario.begin;
	clock_ns = 1000;
	stalled = 0;
	*producer = (struct ring_producer){
			.rings = 1,
			.path = RING_PATH_PORTABLE,
			.mask = SIZE - 1,
			.size_word = (uint64_t)SIZE << RING_EPOCH_BITS,
			.block_word = (uint64_t)BLOCK << RING_EPOCH_BITS,
			.block_shift = (uint32_t)__builtin_ctzll(
					(uint64_t)BLOCK << RING_EPOCH_BITS),
			.mode = scenario.mode,
			.stalled = &stalled,
			.pid = 1, /* See getpid() in explore-code.h. */
			.block_timeout_us = scenario.mode == RING_MODE_BLOCK ? 1000 : 0,
			.doorbell = scenario.mode == RING_MODE_BLOCK ? &shared.bell : NULL,
	};
	producer->locations[0] = (struct ring_location){&shared.control, shared.data};
	memset(consumer_memory, 0, sizeof(consumer_memory));
	consumer->memory.geometry.rings = 1;
	consumer->memory.geometry.size = SIZE;
	consumer->memory.geometry.mode = scenario.mode;
	consumer->memory.base = shared.header;
	consumer->views[0].control = &shared.control;
	consumer->views[0].data = shared.data;
}

struct machine_count explore(const struct scenario *what, enum mutation broken)
{
	const struct machine_range memory[] = {
			{&shared.control, offsetof(struct ring_control, waiting_reserved)},
			{&shared.control.tail,
					offsetof(struct ring_control, consumer_reserved) -
							offsetof(struct ring_control, tail)},
			{shared.control.blocks, RING_BLOCKS * sizeof(shared.control.blocks[0])},
			{&shared.bell.sleeping, 8},
			{shared.data, SIZE},
			{&truth, sizeof(truth)},
			{window, what->mode == RING_MODE_OVERWRITE ? SIZE : 8},
			{&consumer->views[0], sizeof(struct ring_view)},
			{&producer->stalled_releases, 8},
			{&stalled, 8},
			{&clock_ns, 8},
			{&odd, broken == NO_MUTATION ? 0 : sizeof(odd)},
			{NULL, 0},
	};
	struct machine_rules rules = {
			.memory = memory,
			.entry = {producer_main, consumer_discard},
			.may_start = may_start,
			.restored = restored,
			.stuck = stuck,
			.emptied = emptied,
			.name = name_of,
	};

	scenario = *what;
	mutation = broken;
	if (what->mode == RING_MODE_OVERWRITE)
		rules.entry[CONSUMER] = consumer_overwrite;
	if (what->mode == RING_MODE_BLOCK)
		rules.entry[CONSUMER] = consumer_block;
	fill_memory();
	for (uint32_t n = 0; n < RECORDS_MAX; n++) {
		for (uint32_t i = 0; i < SIZE; i++)
			payloads[n][i] = (unsigned char)(n * 50 + i + 1);
	}
	return machine_explore(&rules);
}
