/* SPDX-License-Identifier: MIT */
/*
 * Edge cases of small functions of the rings: bytes of headers and copies, fences, counters of lost
 * records, and steps of a producer between two accesses of the consumer. The files are included:
 * the test counts fences, sets clocks, and acts as the producer at each step.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"

/*
 * A missing fence has an effect only on another processor, and rarely: so the test counts fences.
 */
static unsigned int nr_fences;
#define __atomic_thread_fence(order) ((order) == __ATOMIC_SEQ_CST ? (void)nr_fences++ : abort())

static unsigned int nr_steps, act_at;
static void (*acts)(void);

static void step(void)
{
	if (++nr_steps == act_at && acts)
		acts();
}

#define RING_CONSUMER_STEP() step()

#include "ring/consumer.h"
#include "ring/copy.h"
#include "ring/doorbell.h"
#include "ring/slots.h"

static struct timespec boot_time;

static int fake_gettime(clockid_t id, struct timespec *time)
{
	CHECK(id == CLOCK_BOOTTIME);
	*time = boot_time;
	return 0;
}

static uint64_t mincore_size[4];
static unsigned int nr_mincores;
static bool mincore_fails;

/* Each second page is resident, and other bits of a byte are set. */
static int fake_mincore(void *at, size_t size, unsigned char *pages)
{
	CHECK(at && nr_mincores < 4);
	mincore_size[nr_mincores++] = size;
	if (mincore_fails)
		return -1;
	for (size_t i = 0; i < (size + 4095) / 4096; i++)
		pages[i] = i % 2 ? 0xfe : 0xff;
	return 0;
}

#define mincore fake_mincore
#include "ring/consumer.c"
#undef mincore
#define clock_gettime fake_gettime
#include "ring/lost.c"
#undef clock_gettime

static size_t copied[32];
static unsigned int nr_copies;

static void *noted_copy(void *to, const void *from, size_t size)
{
	copied[nr_copies++ % 32] = size;
	return memcpy(to, from, size);
}

#define memcpy noted_copy
#include "ring/snapshot.c"
#undef memcpy

/* ---- headers and copies ---- */

static void test_headers(void)
{
	unsigned char record[16];

	memset(record, 0x77, sizeof(record));
	ring_header_write(record, RING_COMPACT_BYTES, 5, UINT64_C(0x123456789));
	CHECK(ring_header_tag(record) == 5 && ring_header_time(record) == 0x3456789);
	CHECK(record[4] == 0x77);
	ring_header_write(record, RING_MEDIUM_BYTES, 0x1234, 3);
	CHECK(ring_header_tag(record) == RING_TAG_MEDIUM && ring_header_time(record) == 3);
	CHECK(record[4] == 0x34 && record[5] == 0x12 && record[6] == 0x77);
	memset(record, 0x77, sizeof(record));
	ring_header_write(record, RING_EXTENDED_BYTES, 0x12345678, UINT64_C(0x1122334455667788));
	CHECK(ring_header_tag(record) == RING_TAG_EXTENDED);
	/* The first byte has no bits of a time. */
	CHECK(record[0] == RING_TAG_EXTENDED || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__);
	CHECK(record[1] == 0x78 && record[4] == 0x12 && record[5] == 0x88 && record[12] == 0x11);
	CHECK(record[13] == 0x77 && ring_record_full_time(record) == UINT64_C(0x1122334455667788));
	CHECK(ring_timestamp_epoch(UINT64_C(0xffffffffffffffff)) == 0xffffff);
	CHECK(ring_timestamp_epoch(UINT64_C(0x5a5a5a) << 27 | 0x7ffffff) == 0x5a5a5a);
	CHECK(ring_timestamp_epoch((UINT64_C(1) << 51) | (UINT64_C(7) << 27)) == 7);
}

static void test_copies(void)
{
	unsigned char from[40], to[48];

	for (unsigned int i = 0; i < sizeof(from); i++)
		from[i] = (unsigned char)(i + 1);
	for (size_t size = 0; size <= sizeof(from); size++) {
		memset(to, 0, sizeof(to));
		CHECK(ring_copy(to, from, size) == to + size);
		for (size_t i = 0; i < sizeof(to); i++)
			CHECK(to[i] == (i < size ? i + 1 : 0));
	}
}

/* ---- fences ---- */

static bool refuses(void)
{
	return false;
}

static void test_fences(void)
{
	struct ring_doorbell bell = {.sequence = 5};

	nr_fences = 0;
	ring_doorbell_crossed(NULL);
	CHECK(nr_fences == 0);
	ring_doorbell_crossed(&bell);
	CHECK(nr_fences == 1 && bell.sequence == 5);
	bell.sleeping = 1;
	ring_doorbell_crossed(&bell);
	CHECK(nr_fences == 2 && bell.sequence == 6);
	ring_ask_before_calls(refuses);
	ring_doorbell_crossed(&bell);
	CHECK(nr_fences == 3 && bell.sequence == 6);
	bell.sleeping = 0;
	ring_ask_before_calls(NULL);
	ring_doorbell_crossed(&bell);
	CHECK(nr_fences == 4 && bell.sequence == 6);
}

/* ---- a consumer of our own ---- */

enum { SIZE = 4096, RINGS = 2, SLOTS = 130 };

static struct ring_control controls[RINGS + 1];
static unsigned char data[RINGS][2 * SIZE];
static uint64_t lost[RINGS][(SLOTS + 1) * RING_LOSS_REASONS];
static _Alignas(64) unsigned char made[sizeof(struct ring_consumer) +
		(RINGS + 1) * sizeof(struct ring_view)];

static struct ring_consumer *make_consumer(enum ring_mode mode)
{
	struct ring_consumer *consumer = (void *)made;

	memset(made, 0, sizeof(made));
	memset(controls, 0, sizeof(controls));
	memset(data, 0, sizeof(data));
	memset(lost, 0, sizeof(lost));
	consumer->memory.geometry = (struct ring_geometry){
			.rings = RINGS, .event_slots = SLOTS, .size = SIZE, .mode = mode};
	for (int i = 0; i <= RINGS; i++)
		consumer->views[i] = (struct ring_view){.control = &controls[i],
				.data = data[i % RINGS],
				.lost = lost[i % RINGS]};
	nr_steps = act_at = 0;
	boot_time = (struct timespec){7, 5};
	return consumer;
}

static void is_error(const char *found, const char *expected)
{
	if (!found || strcmp(found, expected))
		fprintf(stderr, "\"%s\", expected \"%s\"\n", found ? found : "", expected);
	CHECK(found && !strcmp(found, expected));
}

/* ---- lost records ---- */

static void test_loss_limits(void)
{
	struct ring_consumer *consumer = make_consumer(RING_MODE_DISCARD);

	/* Indices behind the last ring and behind the last reason do not count. */
	controls[RINGS].lost[0] = 3;
	controls[0].lost_groups[0] = controls[1].lost_groups[0] = 1;
	ring_loss_begin(consumer);
	CHECK(consumer->counts_since == UINT64_C(7000000005));
	boot_time = (struct timespec){9, 2};
	CHECK(ring_loss_limit(consumer) == UINT64_C(1999999997) + 1000000000);
	controls[1].lost[RING_LOST_FULL] = UINT64_C(2999999997);
	CHECK(ring_consumer_lost(consumer, 1, RING_LOST_FULL) == UINT64_C(2999999997));
	controls[1].lost[RING_LOST_FULL]++;
	CHECK(ring_consumer_lost(consumer, 1, RING_LOST_FULL) == 0);
	CHECK(ring_consumer_lost(consumer, 1, RING_LOST_IMPLAUSIBLE) == 1);
	CHECK(ring_consumer_lost_total(consumer, 1) == 1);
	CHECK(ring_consumer_lost(consumer, 1, (enum ring_loss)RING_LOSS_REASONS) == 0);
	/* The ring has counted losses already: the time of the first one is unknown. */
	for (int i = 0; i < 2; i++) {
		controls[1].lost[RING_LOST_FULL] = 0;
		controls[i].lost[i ? RING_LOSS_REASONS - 1 : 0] = 1;
		ring_loss_begin(consumer);
		CHECK(consumer->counts_since == 0);
		controls[i].lost[i ? RING_LOSS_REASONS - 1 : 0] = 0;
	}
	controls[0].lost[RING_LOST_FULL] = UINT64_C(1) << 53;
	CHECK(ring_consumer_lost(consumer, 0, RING_LOST_FULL) == UINT64_C(1) << 53);
	controls[0].lost[RING_LOST_FULL]++;
	CHECK(ring_consumer_lost(consumer, 0, RING_LOST_FULL) == 0);
}

static unsigned int nr_visits;
static uint32_t visited[8];
static uint64_t visited_counts[8][RING_LOSS_REASONS];
static unsigned int visit_fails_at;

static int visit(void *user, uint32_t ring, uint32_t slot, const uint64_t *counts)
{
	CHECK(user == visited && ring == 1 && nr_visits < 8);
	visited[nr_visits] = slot;
	memcpy(visited_counts[nr_visits], counts, sizeof(visited_counts[0]));
	return ++nr_visits == visit_fails_at ? -77 : 0;
}

static int each(struct ring_consumer *consumer)
{
	nr_visits = 0;
	return ring_consumer_lost_each(consumer, 1, visit, visited);
}

static uint64_t *counter(uint32_t slot, enum ring_loss reason)
{
	return &lost[1][slot * RING_LOSS_REASONS + reason];
}

static void test_loss_visits(void)
{
	struct ring_consumer *consumer = make_consumer(RING_MODE_DISCARD);

	CHECK(each(consumer) == 0 && nr_visits == 0);
	*counter(0, RING_LOST_FULL) = 3;
	*counter(63, RING_LOST_FULL) = 4;
	*counter(64, RING_LOST_FULL) = 5;
	*counter(SLOTS - 1, RING_LOST_FULL) = 6;
	/* Behind the last slot. */
	*counter(SLOTS, RING_LOST_FULL) = 7;
	CHECK(each(consumer) == 0 && nr_visits == 0);
	controls[1].lost_groups[0] = 1;
	CHECK(each(consumer) == 0 && nr_visits == 2 && visited[0] == 0 && visited[1] == 63);
	controls[1].lost_groups[0] = 7;
	CHECK(each(consumer) == 0 && nr_visits == 4 && visited[2] == 64 && visited[3] == SLOTS - 1);
	CHECK(visited_counts[0][RING_LOST_FULL] == 3 && visited_counts[3][RING_LOST_FULL] == 6);
	for (visit_fails_at = 1; visit_fails_at <= 4; visit_fails_at++)
		CHECK(each(consumer) == -77 && nr_visits == visit_fails_at);
	visit_fails_at = 0;
	/*
	 * Records without leased memory are counted by ring only, and reported with the last slot.
	 */
	controls[1].lost_groups[0] = 1;
	*counter(0, RING_LOST_FULL) = 0;
	*counter(0, RING_LOST_NO_MEMORY) = 9;
	CHECK(each(consumer) == 0 && nr_visits == 1 && visited[0] == 63);
	controls[1].lost[RING_LOST_NO_MEMORY] = 11;
	CHECK(each(consumer) == 0 && nr_visits == 2 && visited[1] == SLOTS - 1);
	CHECK(visited_counts[1][RING_LOST_NO_MEMORY] == 11 &&
			visited_counts[1][RING_LOST_FULL] == 0);
	controls[1].lost_groups[0] = 5;
	CHECK(each(consumer) == 0 && nr_visits == 2 && visited[1] == SLOTS - 1);
	CHECK(visited_counts[1][RING_LOST_NO_MEMORY] == 11 &&
			visited_counts[1][RING_LOST_FULL] == 6);
}

/* ---- a head that moves while it is read ---- */

static void set_head(uint64_t position, uint64_t epoch)
{
	controls[0].head = position << RING_EPOCH_BITS | epoch;
}

static void write_at(uint64_t position, size_t bytes, uint64_t timestamp)
{
	ring_header_write(data[0] + (position & (SIZE - 1)), bytes, 7, timestamp);
}

static void move_head(void)
{
	set_head(126, 0);
}

static void move_head_back(void)
{
	set_head(99, 0);
}

static void test_view_end(void)
{
	struct ring_consumer *consumer = make_consumer(RING_MODE_DISCARD);
	struct ring_view *view = &consumer->views[0];
	struct ring_view_end end = {0};
	bool again = false;

	controls[0].last_timestamp = 1000;
	set_head(0, 0);
	CHECK(!ring_view_find_end_once(view, SIZE, &end, &again) && end.head == 0 && nr_steps == 1);
	set_head(100, 0);
	nr_steps = 0;
	CHECK(!ring_view_find_end_once(view, SIZE, &end, &again) && end.head == 100 &&
			nr_steps == 4);
	CHECK(end.timestamp == 1000 && !again);
	/* The next record has a full timestamp, or a part of one. */
	acts = move_head;
	act_at = 3;
	nr_steps = 0;
	write_at(100, RING_EXTENDED_BYTES, 1300);
	CHECK(!ring_view_find_end_once(view, SIZE, &end, &again) && end.head == 100);
	CHECK(end.timestamp == 1300 && !again);
	nr_steps = 0;
	set_head(100, 0);
	write_at(100, RING_COMPACT_BYTES, 1200);
	CHECK(!ring_view_find_end_once(view, SIZE, &end, &again) && end.timestamp == 1200 &&
			!again);
	/* It wraps around within the ring. */
	view->tail = view->head = 5 * SIZE;
	nr_steps = 0;
	act_at = 0;
	set_head(5 * SIZE + 8, 0);
	CHECK(!ring_view_find_end_once(view, SIZE, &end, &again) && end.head == 5 * SIZE + 8);
	view->tail = view->head = 0;
	acts = move_head_back;
	act_at = 3;
	nr_steps = 0;
	set_head(100, 0);
	is_error(ring_view_find_end_once(view, SIZE, &end, &again), "the head moved backwards");
}

static unsigned int nr_leaps;

/*
 * Between the two reads of the time, it grows by more than the known range of epochs, and the head
 * moves.
 */
static void leap(void)
{
	nr_leaps++;
	controls[0].last_timestamp += ((uint64_t)RING_EPOCH_MASK + 2) << RING_TIME_BITS;
	set_head(126, 0);
	act_at = nr_steps + 4;
}

static void test_leaps(void)
{
	struct ring_consumer *consumer = make_consumer(RING_MODE_DISCARD);
	struct ring_view_end end;

	write_at(100, RING_COMPACT_BYTES, 1);
	write_at(126, RING_COMPACT_BYTES, 1);
	set_head(100, 0);
	acts = leap;
	act_at = 2;
	/* The head does not move after the second read: the time is known. */
	CHECK(!ring_view_find_end(&consumer->views[0], SIZE, &end) && end.head == 126 &&
			nr_leaps == 2);
}

static uint64_t leap_epochs;

/* In each attempt the time leaps between its two reads, and then the head moves. */
static void leap_always(void)
{
	if (nr_steps % 4 == 2)
		controls[0].last_timestamp += leap_epochs << RING_TIME_BITS;
	else if (nr_steps % 4 == 3)
		controls[0].head += UINT64_C(16) << RING_EPOCH_BITS;
	act_at = nr_steps + 1;
}

static void test_always_leaps(void)
{
	struct ring_consumer *consumer = make_consumer(RING_MODE_DISCARD);
	struct ring_view_end end;

	set_head(160, 0);
	acts = leap_always;
	act_at = 1;
	leap_epochs = (uint64_t)RING_EPOCH_MASK + 1;
	is_error(ring_view_find_end(&consumer->views[0], SIZE, &end), "the clock jumps");
	CHECK(nr_steps == 16);
	/* At the limit of the known range of epochs. */
	consumer = make_consumer(RING_MODE_DISCARD);
	set_head(160, 0);
	act_at = 1;
	leap_epochs = RING_EPOCH_MASK;
	CHECK(!ring_view_find_end(&consumer->views[0], SIZE, &end) && nr_steps == 4);
	CHECK(end.head == 160);
}

static void test_resume(void)
{
	struct ring_consumer *consumer = make_consumer(RING_MODE_DISCARD);
	struct ring_view *view = &consumer->views[0];

	controls[0].marks[0] = (struct ring_mark){.position = 0, .end_timestamp = 99};
	ring_view_resume(view, false);
	CHECK(!view->error && view->tail == 0 && view->end_timestamp == 0);
	controls[0].tail = 300;
	controls[0].marks[1] = (struct ring_mark){.position = 300, .end_timestamp = 55};
	ring_view_resume(view, false);
	CHECK(!view->error && view->tail == 300 && view->head == 300 && view->peeked == 300);
	CHECK(view->mark == 1 && view->end_timestamp == 55);
	controls[0].marks[0] = (struct ring_mark){.position = 300, .end_timestamp = 56};
	ring_view_resume(view, false);
	CHECK(view->mark == 0 && view->end_timestamp == 56);
	/* Invalid positions are no marks. */
	controls[0].marks[0].position = controls[0].marks[1].position = 1;
	controls[0].releases = 300;
	ring_view_resume(view, false);
	is_error(view->error, "the consumer's position has no time");
	view->error = NULL;
	ring_view_resume(view, true);
	is_error(view->error, "it only counts");
	view->error = NULL;
	controls[0].absent = 1;
	ring_view_resume(view, false);
	is_error(view->error, "its memory could not be read");
}

static uint64_t resident(uint64_t size)
{
	nr_mincores = 0;
	return ring_resident_bytes(data[0], size);
}

static void test_resident(void)
{
	if (sysconf(_SC_PAGESIZE) != 4096)
		return;
	CHECK(resident(0) == 0 && nr_mincores == 0);
	CHECK(resident(4096) == 4096 && nr_mincores == 1 && mincore_size[0] == 4096);
	CHECK(resident(2 * 4096) == 4096 && resident(2 * 4096 + 1) == 2 * 4096);
	CHECK(resident(1024 * 4096) == 512 * 4096 && nr_mincores == 1);
	CHECK(resident(1025 * 4096) == 513 * 4096 && nr_mincores == 2 &&
			mincore_size[0] == 1024 * 4096 && mincore_size[1] == 4096);
	mincore_fails = true;
	CHECK(resident(1025 * 4096 + 3) == 1025 * 4096 + 3 && nr_mincores == 2);
	mincore_fails = false;
}

/* ---- snapshots ---- */

static const char *window_scan(struct ring_window *ret_window)
{
	bool again;

	return ring_window_scan(&((struct ring_consumer *)(void *)made)->views[0], SIZE, ret_window,
			&again);
}

static void test_window(void)
{
	struct ring_window window = {.count = 5};
	uint64_t half = RING_POSITION_MASK / 2, far = UINT64_C(1) << 45;

	make_consumer(RING_MODE_OVERWRITE);
	controls[0].block_crossed = far;
	controls[0].head = ((far - SIZE + half) & RING_POSITION_MASK) << RING_EPOCH_BITS;
	CHECK(!window_scan(&window) && window.head == far + half - SIZE && window.count == 0);
	controls[0].head += UINT64_C(1) << RING_EPOCH_BITS;
	is_error(window_scan(&window), "the head is far from its last position");
	/* The first block counts, and so does the last one. */
	controls[0].block_crossed = 0;
	set_head(100, 0);
	controls[0].claim = UINT64_C(100) << RING_EPOCH_BITS;
	for (int i = 0; i < RING_BLOCKS; i++)
		controls[0].blocks[i].position = 200;
	controls[0].blocks[0].position = 10;
	controls[0].blocks[RING_BLOCKS - 1].position = 90;
	CHECK(!window_scan(&window) && window.count == 2 && window.marks[0] == 10 &&
			window.marks[1] == 90);
}

static unsigned char buffer[SIZE];

static int once(uint64_t most, struct ring_span *span, const char **error)
{
	return ring_snapshot_once(&((struct ring_consumer *)(void *)made)->views[0], SIZE, most,
			buffer, span, error);
}

static void claim_more(void)
{
	controls[0].claim += UINT64_C(50) << RING_EPOCH_BITS;
	act_at = nr_steps + RING_BLOCKS + 7;
}

static void overwrite_all(void)
{
	controls[0].claim += (uint64_t)SIZE << RING_EPOCH_BITS;
	act_at = nr_steps + RING_BLOCKS + 7;
}

/* Publish a record after the head was read. */
static void publish_more(void)
{
	controls[0].claim = UINT64_C(313) << RING_EPOCH_BITS;
	controls[0].last_timestamp = 9000;
	set_head(313, 0);
}

/* A later epoch than any that the ring knows. */
static void publish_much_later(void)
{
	publish_more();
	controls[0].last_timestamp += UINT64_C(1) << (RING_TIME_BITS + RING_EPOCH_BITS);
	controls[0].last_timestamp += UINT64_C(1) << RING_TIME_BITS;
}

/* The window ends at the time of the next record, which later ones follow. */
static void test_end(void)
{
	struct ring_span span;
	const char *error;

	make_consumer(RING_MODE_OVERWRITE);
	write_at(0, RING_EXTENDED_BYTES, 5000);
	for (unsigned int i = 0; i < 3; i++) {
		set_head(300, 0);
		controls[0].claim = UINT64_C(300) << RING_EPOCH_BITS;
		controls[0].last_timestamp = 7000;
		write_at(300, i ? RING_COMPACT_BYTES : RING_EXTENDED_BYTES, 8000 + i);
		acts = i < 2 ? publish_more : publish_much_later;
		nr_steps = 0;
		act_at = 4;
		if (i < 2)
			CHECK(once(SIZE, &span, &error) == 1 && span.size == 300 &&
					span.end_timestamp == 8000 + i);
		else
			CHECK(once(SIZE, &span, &error) == -EAGAIN && !error);
	}
	act_at = 0;
}

static void test_once(void)
{
	struct ring_span span;
	const char *error;

	make_consumer(RING_MODE_OVERWRITE);
	CHECK(once(SIZE, &span, &error) == 0 && !error);
	write_at(100, RING_EXTENDED_BYTES, 5000);
	write_at(200, RING_EXTENDED_BYTES, 6000);
	set_head(300, 0);
	controls[0].claim = UINT64_C(300) << RING_EPOCH_BITS;
	controls[0].last_timestamp = 7000;
	for (int i = 0; i < RING_BLOCKS; i++)
		controls[0].blocks[i].position = 100;
	controls[0].blocks[3].position = 200;
	nr_fences = 0;
	CHECK(once(SIZE, &span, &error) == 1 && span.position == 100 && span.size == 200 &&
			span.first_timestamp == 5000 && span.end_timestamp == 7000 &&
			span.data == buffer && nr_fences == 1);
	/* At most this number of bytes. */
	CHECK(once(200, &span, &error) == 1 && span.position == 100);
	CHECK(once(199, &span, &error) == 1 && span.position == 200 && span.size == 100 &&
			span.data == buffer && span.first_timestamp == 6000);
	/* No record is so short. */
	CHECK(once(99, &span, &error) == -EAGAIN && !error);
	for (int i = 0; i < RING_BLOCKS; i++)
		controls[0].blocks[i].position = 5000;
	CHECK(once(99, &span, &error) == -EAGAIN && !error);
	CHECK(once(SIZE, &span, &error) == -EBADMSG);
	is_error(error, "no position to begin");
	/* A record that was begun meanwhile explains it. */
	acts = claim_more;
	nr_steps = 0;
	act_at = RING_BLOCKS + 6;
	CHECK(once(SIZE, &span, &error) == -EAGAIN && !error);
	controls[0].claim = UINT64_C(299) << RING_EPOCH_BITS;
	act_at = 0;
	CHECK(once(SIZE, &span, &error) == -EBADMSG);
	is_error(error, "the head is beyond the last record that was begun");
	controls[0].block_crossed = UINT64_C(1) << 39;
	CHECK(once(SIZE, &span, &error) == -EBADMSG);
	is_error(error, "the head is far from its last position");
}

/* A faster producer: the attempts become shorter, and end. */
static void test_attempts(void)
{
	struct ring_consumer *consumer = make_consumer(RING_MODE_OVERWRITE);
	unsigned int steps_of_one = RING_BLOCKS + 7;
	struct ring_span span;

	controls[0].claim = UINT64_C(3200) << RING_EPOCH_BITS;
	set_head(3200, 0);
	for (int i = 0; i < RING_BLOCKS; i++)
		controls[0].blocks[i].position = 200;
	controls[0].blocks[2].position = 1700;
	controls[0].blocks[3].position = 2400;
	controls[0].blocks[4].position = 2900;
	nr_copies = 0;
	acts = overwrite_all;
	act_at = RING_BLOCKS + 6;
	CHECK(ring_consumer_snapshot(consumer, 0, buffer, &span) == -EAGAIN);
	CHECK(nr_steps == steps_of_one * RING_SNAPSHOT_TRIES);
	CHECK(!consumer->views[0].error);
	/* At most the whole ring, half of it, a quarter, and an eighth. */
	CHECK(nr_copies == 16);
	for (unsigned int i = 0; i < 4; i++)
		CHECK(copied[i] == 3000 && copied[4 + i] == 1500 && copied[8 + i] == 800 &&
				copied[12 + i] == 300);
	CHECK(ring_consumer_snapshot(make_consumer(RING_MODE_DISCARD), 0, buffer, &span) ==
			-EINVAL);
}

int main(void)
{
	test_headers();
	test_copies();
	test_fences();
	test_loss_limits();
	test_loss_visits();
	test_view_end();
	test_leaps();
	test_always_leaps();
	test_resume();
	test_resident();
	test_window();
	test_end();
	test_once();
	test_attempts();
	return 0;
}
