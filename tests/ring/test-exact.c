/* SPDX-License-Identifier: MIT */
/*
 * Exact values: layout, spans, times, counters and windows of memory whose words the test writes.
 * The test includes the files, so that it can call their static functions with chosen numbers.
 */
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../resources.h"
#include "decode.h"

#include "ring/clock.c"
#include "ring/consumer.c"
#include "ring/lost.c"
#include "ring/memory.c"
#include "ring/snapshot.c"
#include "ring/truncated.c"

#define SIZE 4096

static const struct ring_geometry plain = {
		.rings = 2, .event_slots = 130, .size = SIZE, .clock = RING_CLOCK_MONOTONIC};

/* The memory of a producer, and a consumer of it. */
struct scene {
	int fd;
	struct ring_memory memory;
	struct ring_consumer *consumer;
	struct ring_control *control;
};

static struct scene scene_of(struct ring_geometry geometry)
{
	struct scene scene;

	CHECK(ring_memory_create(&geometry, &scene.fd) == 0, "create");
	CHECK(ring_memory_map(scene.fd, RING_END_PRODUCER, &scene.memory) == 0, "map");
	CHECK(ring_consumer_map(scene.fd, &geometry, &scene.consumer) == 0, "map");
	scene.control = ring_memory_control(&scene.memory, 0);
	return scene;
}

static void scene_again(struct scene *scene)
{
	ring_consumer_unmap(scene->consumer);
	CHECK(ring_consumer_map(scene->fd, NULL, &scene->consumer) == 0, "map again");
}

static void scene_end(struct scene *scene)
{
	ring_consumer_unmap(scene->consumer);
	ring_memory_unmap(&scene->memory);
	close(scene->fd);
}

static void set_head(struct scene *scene, uint64_t position, uint64_t timestamp)
{
	scene->control->last_timestamp = timestamp;
	scene->control->head = position << RING_EPOCH_BITS | ring_timestamp_epoch(timestamp);
}

static void put_extended(struct scene *scene, uint64_t at, uint64_t timestamp)
{
	ring_header_write(ring_memory_data(&scene->memory, 0) + at % SIZE, RING_EXTENDED_BYTES, 7,
			timestamp);
}

static void is_error(const char *found, const char *expected)
{
	CHECK(found && !strcmp(found, expected), "%s instead of %s", found, expected);
}

/* ---- Memory ---- */

static int layout_with(uint64_t size, uint64_t alignment)
{
	struct ring_geometry geometry = plain;
	struct ring_layout layout;

	geometry.size = size;
	return ring_layout_compute(&geometry, alignment, &layout);
}

static void test_layout(void)
{
	struct ring_layout layout;

	CHECK(ring_layout_compute(&plain, 4096, &layout) == 0, "layout");
	CHECK(layout.alignment == 4096 && layout.lost_offset == 8192, "header and controls");
	CHECK(layout.lost_stride == 20480, "130 slots of 16 counters: %lu", layout.lost_stride);
	CHECK(layout.data_offset == 8192 + 2 * 20480, "data at %lu", layout.data_offset);
	CHECK(layout.total == layout.data_offset + 2 * SIZE, "total %lu", layout.total);
	CHECK(ring_memory_size(&plain) == layout.total, "size");
	CHECK(ring_memory_kept(&plain) == 8192, "kept");
	CHECK(ring_layout_compute(&plain, 0, &layout) == -ENOTSUP, "no huge pages");
	CHECK(layout_with(1 << 16, 1 << 16) == 0, "aligned to its size");
	CHECK(layout_with(1 << 16, 1 << 17) == -EINVAL, "smaller than the alignment");
	CHECK(layout_with(1 << 16, 2048) == -EINVAL, "less than a page");
	CHECK(layout_with(1 << 16, 3 << 12) == -EINVAL, "no power of two");
	CHECK(layout_with(RING_SIZE_MAX, RING_SIZE_MAX) == 0, "the largest");
	CHECK(layout_with(RING_SIZE_MAX, 2 * RING_SIZE_MAX) == -EINVAL, "over the largest");
}

static int check_with(uint32_t flags, enum ring_mode mode)
{
	struct ring_geometry geometry = plain;

	geometry.flags = flags;
	geometry.mode = mode;
	return ring_geometry_check(&geometry);
}

static void test_geometry(void)
{
	struct ring_geometry geometry = plain;

	geometry.rings = RING_RINGS_MAX;
	CHECK(ring_geometry_check(&geometry) == 0, "most rings");
	geometry = plain;
	geometry.event_slots = 1;
	CHECK(ring_geometry_check(&geometry) == 0, "one slot");
	geometry.size = RING_SIZE_MIN;
	CHECK(ring_geometry_check(&geometry) == 0, "the smallest");
	geometry.size = RING_SIZE_MIN / 2;
	CHECK(ring_geometry_check(&geometry) == -EINVAL, "smaller");
	geometry.size = RING_SIZE_MAX;
	CHECK(ring_geometry_check(&geometry) == 0, "the largest");
	CHECK(check_with(RING_COUNTS, RING_MODE_DISCARD) == 0, "counts");
	CHECK(check_with(RING_COUNTS, RING_MODE_OVERWRITE) == -EINVAL, "counts, overwrites");
	CHECK(check_with(RING_COUNTS, RING_MODE_BLOCK) == -EINVAL, "counts, blocks");
	CHECK(check_with(RING_LEASED | RING_PREFAULT, RING_MODE_DISCARD) == -EINVAL, "leased");
	CHECK(ring_payload_max(4096) == 2035 && ring_payload_max(131072) == 65523, "payload");
	CHECK(ring_payload_max(262144) == 65536, "the largest payload");
}

static void test_names(void)
{
	CHECK(!strcmp(ring_loss_name(RING_LOST_FULL), "ring full"), "full");
	CHECK(!strcmp(ring_loss_name(RING_LOST_NO_MEMORY), "no ring memory"), "no memory");
	CHECK(!strcmp(ring_loss_name((enum ring_loss)14), "unknown"), "14");
	CHECK(!strcmp(ring_loss_name((enum ring_loss)16), "unknown"), "16");
	for (int i = 0; i < 14; i++)
		for (int j = 0; j < i; j++)
			CHECK(strcmp(ring_loss_name((enum ring_loss)i),
					      ring_loss_name((enum ring_loss)j)) != 0,
					"%d and %d", i, j);
}

static void test_machine(void)
{
	unsigned long kilobytes = 0;
	char line[256];
	FILE *file = fopen("/proc/meminfo", "r");

	CHECK(ring_cpu_list_highest("0-1\n") == 1 && ring_cpu_list_highest("0") == 0, "small");
	CHECK(ring_cpu_list_highest("0-3,8-11\n") == 11, "two ranges");
	CHECK(ring_cpu_list_highest("127,3-9") == 127, "the first is the highest");
	CHECK(ring_cpu_list_highest("8191") == 8191, "the last");
	CHECK(ring_cpu_list_highest("99999999999999999999999") == 9999, "no overflow");
	CHECK(ring_cpu_list_highest("") == 0 && ring_cpu_list_highest(":/") == 0, "no number");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Hugepagesize: %lu", &kilobytes) == 1)
			break;
	CHECK(ring_huge_page_size() == kilobytes * 1024, "%lu kB", kilobytes);
	if (file)
		fclose(file);
}

static void expect_other(int fd, struct ring_geometry other, const char *what)
{
	struct ring_consumer *consumer;
	int rc = ring_consumer_map(fd, &other, &consumer);

	CHECK(rc == -EPROTO, "another %s: %d", what, rc);
}

#define OTHER(member, value)                            \
	do {                                            \
		struct ring_geometry other = plain;     \
		other.member = (value);                 \
		expect_other(scene.fd, other, #member); \
	} while (0)

static void test_expected(void)
{
	struct scene scene = scene_of(plain);
	struct ring_geometry found;

	OTHER(rings, 1);
	OTHER(event_slots, 129);
	OTHER(size, 2 * SIZE);
	OTHER(mode, RING_MODE_BLOCK);
	OTHER(clock, RING_CLOCK_TSC);
	OTHER(placement, RING_PER_THREAD);
	OTHER(flags, RING_PREFAULT);
	OTHER(block_timeout_us, 1);
	CHECK(ring_memory_inspect(scene.fd, &found) == 0, "look");
	CHECK(found.rings == 2 && found.event_slots == 130 && found.size == SIZE &&
					found.clock == RING_CLOCK_MONOTONIC && !found.flags,
			"the geometry");
	CHECK(ring_memory_inspect(-1, &found) == -EBADF, "no descriptor");
	/* Both mappings of a ring contain the same bytes. Each ring has its own mappings. */
	ring_memory_data(&scene.memory, 0)[5] = 17;
	ring_memory_data(&scene.memory, 1)[SIZE + 5] = 18;
	CHECK(ring_memory_data(&scene.memory, 0)[SIZE + 5] == 17, "twice");
	CHECK(ring_memory_data(&scene.consumer->memory, 0)[5] == 17, "ring 0");
	CHECK(ring_memory_data(&scene.consumer->memory, 1)[5] == 18, "ring 1");
	scene_end(&scene);
}

/* ---- Consumer ---- */

static void test_times(void)
{
	const uint64_t last = UINT64_C(0x5000003) << 27 | 99;

	CHECK(ring_time_extend(last, 3, 5) == (UINT64_C(0x5000003) << 27 | 5), "the same epoch");
	CHECK(ring_time_extend(last, 2, 5) == (UINT64_C(0x5000002) << 27 | 5), "one before");
	CHECK(ring_time_extend(last, 0xffffff, 6) == (UINT64_C(0x4ffffff) << 27 | 6), "four");
	CHECK(ring_time_extend(last, 4, 6) == (UINT64_C(0x4000004) << 27 | 6), "the most");
}

static void test_view_head(void)
{
	const struct ring_view view = {.tail = 0x1000, .head = 0x1100};
	uint64_t head = 0;

	CHECK(!ring_view_head(&view, SIZE, UINT64_C(0x2000) << 24, &head) && head == 0x2000, "all");
	is_error(ring_view_head(&view, SIZE, UINT64_C(0x2001) << 24, &head),
			"the head is more than a ring ahead");
	CHECK(!ring_view_head(&view, SIZE, UINT64_C(0x1100) << 24, &head) && head == 0x1100,
			"as it was");
	is_error(ring_view_head(&view, SIZE, UINT64_C(0x10ff) << 24, &head),
			"the head moved backwards");
}

static void test_first_time(void)
{
	unsigned char ring[SIZE];
	struct ring_view view = {.data = ring};
	uint64_t first = 0;

	ring_header_write(ring, RING_EXTENDED_BYTES, 7, 12345);
	is_error(ring_view_first_time(&view, SIZE, 3, &first), "a span is shorter than a record");
	is_error(ring_view_first_time(&view, SIZE, 12, &first),
			"a span is shorter than its first record");
	CHECK(!ring_view_first_time(&view, SIZE, 13, &first) && first == 12345, "extended");
	ring_header_write(ring, RING_COMPACT_BYTES, 7, 12346);
	is_error(ring_view_first_time(&view, SIZE, 4, &first),
			"the first record of the ring has no full timestamp");
	view.tail = 2 * SIZE;
	view.end_timestamp = (UINT64_C(9) << RING_TIME_BITS) + 1;
	CHECK(!ring_view_first_time(&view, SIZE, 4, &first), "compact");
	CHECK(first == (UINT64_C(9) << RING_TIME_BITS) + 12346, "%lu", first);
}

static void expect_span(struct scene *scene, struct ring_span *span, uint64_t position, size_t size,
		uint64_t first, uint64_t end)
{
	CHECK(ring_consumer_peek(scene->consumer, 0, span) == 1, "nothing there");
	CHECK(span->position == position && span->size == size, "%lu + %zu", span->position,
			span->size);
	CHECK(span->first_timestamp == first && span->end_timestamp == end, "%lu to %lu",
			span->first_timestamp, span->end_timestamp);
}

static void test_spans(void)
{
	struct scene scene = scene_of(plain);
	struct ring_span span, other;

	CHECK(ring_consumer_peek(scene.consumer, 0, &span) == 0, "empty");
	put_extended(&scene, 0, 1000);
	set_head(&scene, 13, 1000);
	expect_span(&scene, &span, 0, 13, 1000, 1000);
	/* Only the span that was returned can be released. */
	other = span;
	other.position++;
	other.size--;
	ring_consumer_release(scene.consumer, 0, &other);
	other = span;
	other.size++;
	ring_consumer_release(scene.consumer, 0, &other);
	CHECK(ring_consumer_position(scene.consumer, 0) == 0 && scene.control->tail == 0, "kept");
	ring_consumer_release(scene.consumer, 0, &span);
	CHECK(scene.control->tail == 13 && scene.control->marks[1].position == 13 &&
					scene.control->marks[1].end_timestamp == 1000,
			"the first mark");
	CHECK(scene.control->releases == 0, "spans are counted in block mode only");
	put_extended(&scene, 13, 1000);
	put_extended(&scene, 26, 1007);
	set_head(&scene, 39, 1007);
	expect_span(&scene, &span, 13, 26, 1000, 1007);
	ring_consumer_release(scene.consumer, 0, &span);
	CHECK(scene.control->marks[0].position == 39 &&
					scene.control->marks[0].end_timestamp == 1007,
			"the second mark");
	CHECK(scene.control->marks[1].position == 13, "the first one stays");
	put_extended(&scene, 39, 1006);
	set_head(&scene, 52, 1008);
	CHECK(ring_consumer_peek(scene.consumer, 0, &span) == -EBADMSG, "earlier than the last");
	is_error(ring_consumer_error(scene.consumer, 0), "timestamps decrease");
	CHECK(!ring_consumer_error(scene.consumer, 1), "the other ring");
	scene_again(&scene);
	put_extended(&scene, 39, 1009);
	CHECK(ring_consumer_peek(scene.consumer, 0, &span) == -EBADMSG, "later than its span");
	is_error(ring_consumer_error(scene.consumer, 0), "timestamps decrease");
	scene_end(&scene);
}

static void test_resume(void)
{
	struct scene scene = scene_of(plain);
	struct ring_geometry counts = plain;
	struct ring_span span;

	scene.control->tail = 26;
	scene.control->marks[0].position = 13;
	scene.control->marks[0].end_timestamp = 1111;
	scene_again(&scene);
	is_error(ring_consumer_error(scene.consumer, 0), "the consumer's position has no time");
	scene.control->marks[1].position = 26;
	scene.control->marks[1].end_timestamp = 2222;
	put_extended(&scene, 26, 2222);
	set_head(&scene, 39, 2223);
	scene_again(&scene);
	CHECK(scene.consumer->views[0].end_timestamp == 2222, "the end of the span before");
	expect_span(&scene, &span, 26, 13, 2222, 2223);
	ring_consumer_release(scene.consumer, 0, &span);
	CHECK(scene.control->marks[0].position == 39, "not over the valid mark");
	scene.control->absent = 1;
	scene_again(&scene);
	is_error(ring_consumer_error(scene.consumer, 0), "its memory could not be read");
	CHECK(ring_consumer_peek(scene.consumer, 0, &span) == -EBADMSG, "unusable");
	scene_end(&scene);
	counts.flags = RING_COUNTS;
	scene = scene_of(counts);
	is_error(ring_consumer_error(scene.consumer, 0), "it only counts");
	CHECK(scene.control->tail == (uint64_t)-SIZE, "full for ever");
	CHECK(scene.control->limit == RING_EPOCH_MASK, "no space");
	scene_end(&scene);
}

static void test_skip(void)
{
	struct scene scene = scene_of(plain);
	struct ring_geometry over = plain;
	const unsigned char *data = ring_memory_data(&scene.memory, 0);
	unsigned char wrong[26] = {0};
	struct ring_span span;

	put_extended(&scene, 0, 500);
	put_extended(&scene, 13, 600);
	set_head(&scene, 26, 600);
	CHECK(ring_consumer_skip(scene.consumer, 0, wrong, 0, 0) == 0, "nothing to skip");
	CHECK(ring_consumer_skip(scene.consumer, 0, wrong, 13, 500) == -EINVAL, "other bytes");
	CHECK(ring_consumer_skip(scene.consumer, 0, data, 27, 600) == -EINVAL, "too many");
	CHECK(ring_consumer_position(scene.consumer, 0) == 0, "still at the beginning");
	CHECK(ring_consumer_skip(scene.consumer, 0, data, 13, 500) == 0, "the first record");
	CHECK(ring_consumer_position(scene.consumer, 0) == 13, "behind the first record");
	CHECK(ring_consumer_skip(scene.consumer, 0, data + 13, 13, 499) == -EINVAL, "earlier");
	CHECK(ring_consumer_skip(scene.consumer, 0, wrong, 0, 499) == 0, "nothing, earlier");
	expect_span(&scene, &span, 13, 13, 600, 600);
	CHECK(ring_consumer_skip(scene.consumer, 0, data + 13, 13, 600) == 0, "all");
	CHECK(ring_consumer_peek(scene.consumer, 0, &span) == 0, "no record is left");
	scene_end(&scene);
	over.mode = RING_MODE_OVERWRITE;
	scene = scene_of(over);
	put_extended(&scene, 0, 500);
	set_head(&scene, 13, 500);
	CHECK(ring_consumer_skip(scene.consumer, 0, ring_memory_data(&scene.memory, 0), 13, 500) ==
					-EINVAL,
			"a ring that overwrites");
	CHECK(ring_consumer_peek(scene.consumer, 0, &span) == 0, "a ring that overwrites");
	scene_end(&scene);
}

static void test_pending(void)
{
	struct scene scene = scene_of(plain);

	set_head(&scene, SIZE / RING_BLOCKS - 1, 1);
	CHECK(!ring_consumer_pending(scene.consumer), "one byte less than a block");
	set_head(&scene, SIZE / RING_BLOCKS, 1);
	CHECK(ring_consumer_pending(scene.consumer), "a block");
	scene.consumer->views[0].error = "spoilt";
	CHECK(!ring_consumer_pending(scene.consumer), "a spoilt ring");
	ring_memory_control(&scene.memory, 1)->head = UINT64_C(512) << RING_EPOCH_BITS;
	CHECK(ring_consumer_pending(scene.consumer), "the other ring");
	scene.consumer->memory.geometry.mode = RING_MODE_OVERWRITE;
	CHECK(!ring_consumer_pending(scene.consumer), "overwrites");
	scene_end(&scene);
}

static void test_resident(void)
{
	struct scene scene = scene_of(plain);
	uint64_t before = ring_consumer_resident(scene.consumer);

	CHECK(before >= 8192 && before <= ring_memory_size(&plain), "header and controls: %lu",
			before);
	for (uint32_t ring = 0; ring < 2; ring++)
		ring_memory_data(&scene.memory, ring)[SIZE + 1] = 1;
	memset(ring_memory_lost(&scene.memory, 0), 1, (size_t)2 * 20480);
	CHECK(ring_consumer_resident(scene.consumer) == ring_memory_size(&plain), "all of it");
	scene_end(&scene);
}

/* ---- Counters of lost records ---- */

struct seen_slots {
	unsigned int nr;
	uint32_t slots[8];
	uint64_t counts[8][RING_LOSS_REASONS];
	int stop_at; /* Return 77 for this slot. */
};

static int see_slot(void *data, uint32_t ring, uint32_t slot, const uint64_t *counts)
{
	struct seen_slots *seen = data;

	CHECK(ring == 0 && seen->nr < 8, "ring %u", ring);
	seen->slots[seen->nr] = slot;
	memcpy(seen->counts[seen->nr++], counts, sizeof(seen->counts[0]));
	return (int)slot == seen->stop_at ? 77 : 0;
}

static void test_lost_of_ring(void)
{
	int64_t before = ring_clock_read_ns(CLOCK_BOOTTIME);
	int64_t now = (int64_t)clock_boottime_ns();
	struct scene scene = scene_of(plain);

	CHECK(now >= before && now <= ring_clock_read_ns(CLOCK_BOOTTIME), "%ld", now);
	CHECK(scene.consumer->counts_since != 0, "all are zero");
	ring_memory_control(&scene.memory, 1)->lost[RING_LOSS_REASONS - 1] = 1;
	scene_again(&scene);
	CHECK(scene.consumer->counts_since == 0, "unknown since when");
	CHECK(ring_loss_limit(scene.consumer) == UINT64_C(1) << 53, "limit");
	scene.control->lost[RING_LOST_FULL] = 3;
	scene.control->lost[RING_LOST_TOO_BIG] = UINT64_C(1) << 53;
	CHECK(ring_consumer_lost(scene.consumer, 0, RING_LOST_FULL) == 3, "full");
	CHECK(ring_consumer_lost(scene.consumer, 0, RING_LOST_TOO_BIG) == UINT64_C(1) << 53,
			"limit");
	CHECK(ring_consumer_lost_total(scene.consumer, 0) == (UINT64_C(1) << 53) + 3, "sum");
	scene.control->lost[RING_LOST_TOO_BIG]++;
	scene.control->lost[RING_LOST_IMPLAUSIBLE] = 1000;
	CHECK(ring_consumer_lost(scene.consumer, 0, RING_LOST_TOO_BIG) == 0, "over the limit");
	CHECK(ring_consumer_lost(scene.consumer, 0, RING_LOST_IMPLAUSIBLE) == 2,
			"each counts once");
	CHECK(ring_consumer_lost_total(scene.consumer, 0) == 3 + 2, "sum");
	CHECK(ring_consumer_lost(scene.consumer, 0, (enum ring_loss)RING_LOSS_REASONS) == 0,
			"none");
	CHECK(ring_consumer_lost_total(scene.consumer, 1) == 1, "the other ring");
	/* A ring counts at most one record a nanosecond: five seconds, and the second of slack. */
	scene.consumer->counts_since = clock_boottime_ns() - UINT64_C(5000000000);
	scene.control->lost[RING_LOST_TOO_BIG] = UINT64_C(6000000000);
	CHECK(ring_consumer_lost(scene.consumer, 0, RING_LOST_TOO_BIG) == UINT64_C(6000000000),
			"can be");
	scene.control->lost[RING_LOST_TOO_BIG] = UINT64_C(36000000000000);
	CHECK(ring_consumer_lost(scene.consumer, 0, RING_LOST_TOO_BIG) == 0,
			"ten hours in seconds");
	scene_end(&scene);
}

static void test_lost_of_events(void)
{
	static const uint32_t slots[] = {0, 63, 64, 129};
	struct scene scene = scene_of(plain);
	uint64_t *lost = ring_memory_lost(&scene.memory, 0);
	struct seen_slots seen = {.stop_at = -1};

	for (unsigned int i = 0; i < 4; i++)
		lost[(size_t)slots[i] * RING_LOSS_REASONS + RING_LOST_INVALID] = 2 + i;
	/* Not counted there. */
	lost[(size_t)64 * RING_LOSS_REASONS + RING_LOST_NO_MEMORY] = 99;
	CHECK(ring_consumer_lost_each(scene.consumer, 0, see_slot, &seen) == 0 && seen.nr == 0,
			"no group is marked");
	scene.control->lost[RING_LOST_NO_MEMORY] = 5;
	CHECK(ring_consumer_lost_each(scene.consumer, 0, see_slot, &seen) == 0, "each");
	CHECK(seen.nr == 1 && seen.slots[0] == 129 && seen.counts[0][RING_LOST_NO_MEMORY] == 5,
			"by ring, in the last slot");
	CHECK(seen.counts[0][RING_LOST_INVALID] == 0, "the group is not marked");
	seen = (struct seen_slots){.stop_at = -1};
	scene.control->lost_groups[0] = 7;
	CHECK(ring_consumer_lost_each(scene.consumer, 0, see_slot, &seen) == 0 && seen.nr == 4,
			"all");
	for (unsigned int i = 0; i < 4; i++)
		CHECK(seen.slots[i] == slots[i] && seen.counts[i][RING_LOST_INVALID] == 2 + i,
				"slot %u", seen.slots[i]);
	CHECK(seen.counts[3][RING_LOST_NO_MEMORY] == 5 && !seen.counts[2][RING_LOST_NO_MEMORY],
			"by ring, in the last slot only");
	seen = (struct seen_slots){.stop_at = -1};
	scene.control->lost_groups[0] = 1;
	CHECK(ring_consumer_lost_each(scene.consumer, 0, see_slot, &seen) == 0 && seen.nr == 3,
			"one group, and the last slot");
	CHECK(seen.slots[1] == 63 && seen.slots[2] == 129, "%u and %u", seen.slots[1],
			seen.slots[2]);
	scene.control->lost_groups[0] = 7;
	seen = (struct seen_slots){.stop_at = 63};
	CHECK(ring_consumer_lost_each(scene.consumer, 0, see_slot, &seen) == 77 && seen.nr == 2,
			"stop");
	scene_end(&scene);
}

/* Groups have a bit each, in several words. */
static void test_lost_groups(void)
{
	struct ring_geometry many = plain;
	struct seen_slots seen = {.stop_at = -1};
	struct scene scene;

	many.event_slots = 65 * 64 + 1;
	scene = scene_of(many);
	ring_memory_lost(&scene.memory, 0)[(size_t)4159 * RING_LOSS_REASONS] = 8;
	ring_memory_lost(&scene.memory, 0)[(size_t)4160 * RING_LOSS_REASONS] = 9;
	scene.control->lost_groups[1] = 2;
	CHECK(ring_consumer_lost_each(scene.consumer, 0, see_slot, &seen) == 0 && seen.nr == 1,
			"each");
	CHECK(seen.slots[0] == 4160 && seen.counts[0][RING_LOST_FULL] == 9, "slot %u",
			seen.slots[0]);
	scene.control->lost_groups[1] = 3;
	seen.nr = 0;
	CHECK(ring_consumer_lost_each(scene.consumer, 0, see_slot, &seen) == 0 && seen.nr == 2,
			"each");
	CHECK(seen.slots[0] == 4159 && seen.counts[0][RING_LOST_FULL] == 8, "slot %u",
			seen.slots[0]);
	scene_end(&scene);
}

/* ---- Windows of rings that overwrite ---- */

static void test_window_marks(void)
{
	struct ring_window window = {.head = 8192};
	uint64_t begin = 0;

	ring_window_add(&window, 8193, SIZE);
	ring_window_add(&window, 4095, SIZE);
	CHECK(window.count == 0, "beyond the head, or overwritten");
	ring_window_add(&window, 8000, SIZE);
	ring_window_add(&window, 4096, SIZE);
	ring_window_add(&window, 8000, SIZE);
	ring_window_add(&window, 5000, SIZE);
	ring_window_add(&window, 8192, SIZE);
	CHECK(window.count == 4, "%u", window.count);
	CHECK(window.marks[0] == 4096 && window.marks[1] == 5000 && window.marks[2] == 8000 &&
					window.marks[3] == 8192,
			"ascending");
	CHECK(ring_window_cut(&window, SIZE, SIZE, 4097, &begin) && begin == 5000, "from");
	CHECK(ring_window_cut(&window, SIZE, SIZE, 4096, &begin) && begin == 4096,
			"nothing overwritten");
	CHECK(ring_window_cut(&window, 9096, SIZE, 0, &begin) && begin == 5000,
			"whole from the claim on");
	CHECK(ring_window_cut(&window, 9097, SIZE, 0, &begin) && begin == 8000, "a byte is gone");
	CHECK(!ring_window_cut(&window, 12289, SIZE, 0, &begin), "all is gone");
}

static void test_window_head(void)
{
	struct ring_control control = {.block_crossed = 8192, .claim = 99, .last_timestamp = 77};
	const struct ring_view view = {.control = &control};
	struct ring_window window;
	bool again = true;

	control.head = UINT64_C(8292) << RING_EPOCH_BITS;
	control.blocks[3].position = 8200;
	CHECK(!ring_window_scan(&view, SIZE, &window, &again) && window.head == 8292, "ahead");
	CHECK(window.claim == 99 && window.end_timestamp == 77, "claim and time");
	CHECK(!again, "no record was published meanwhile");
	CHECK(window.count == 1 && window.marks[0] == 8200, "mark");
	control.head = UINT64_C(4096) << RING_EPOCH_BITS;
	CHECK(!ring_window_scan(&view, SIZE, &window, &again) && window.head == 4096,
			"a ring before");
	control.head = UINT64_C(4095) << RING_EPOCH_BITS;
	is_error(ring_window_scan(&view, SIZE, &window, &again),
			"the head is far from its last position");
	control.block_crossed = 0;
	control.head = 0;
	CHECK(!ring_window_scan(&view, SIZE, &window, &again) && window.head == 0, "the beginning");
	control.head = UINT64_MAX << RING_EPOCH_BITS;
	is_error(ring_window_scan(&view, SIZE, &window, &again),
			"the head is far from its last position");
}

static void test_window_span(void)
{
	unsigned char bytes[13];
	struct ring_span span = {.data = bytes, .size = 12, .end_timestamp = 500};

	ring_header_write(bytes, RING_EXTENDED_BYTES, 7, 500);
	is_error(ring_span_check(&span), "a window is shorter than its first record");
	span.size = 13;
	CHECK(!ring_span_check(&span) && span.first_timestamp == 500, "one record");
	ring_header_write(bytes, RING_EXTENDED_BYTES, 7, 501);
	is_error(ring_span_check(&span), "timestamps decrease");
	ring_header_write(bytes, RING_COMPACT_BYTES, 7, 500);
	is_error(ring_span_check(&span), "the first record of a window has no full timestamp");
}

static void test_span_cut(void)
{
	unsigned char bytes[26];
	const struct ring_span before = {.position = 100, .size = 13, .end_timestamp = 500};
	const struct ring_span whole = {
			.data = bytes, .position = 100, .size = 26, .end_timestamp = 600};
	struct ring_span span = whole;

	ring_header_write(bytes + 13, RING_COMPACT_BYTES, 7, 550);
	CHECK(!ring_span_cut(&span, &before) && span.position == 113 && span.size == 13 &&
					span.data == bytes + 13 && span.first_timestamp == 550,
			"the second record");
	span = (struct ring_span){.data = bytes, .position = 113, .size = 13, .first_timestamp = 9};
	CHECK(!ring_span_cut(&span, &before) && span.position == 113 && span.first_timestamp == 9,
			"nothing to cut");
	span = (struct ring_span){.data = bytes, .position = 100, .size = 13};
	CHECK(!ring_span_cut(&span, &before) && span.size == 0, "nothing new");
	span.position = 100;
	span.size = 12;
	is_error(ring_span_cut(&span, &before), "the head moved backwards");
	span = whole;
	span.size = 13 + 3;
	is_error(ring_span_cut(&span, &before), "a span is shorter than a record");
	span = whole;
	span.end_timestamp = 549;
	is_error(ring_span_cut(&span, &before), "timestamps decrease");
	ring_header_write(bytes + 13, RING_COMPACT_BYTES, 7, 499);
	span = whole;
	is_error(ring_span_cut(&span, &before), "timestamps decrease");
	ring_header_write(bytes + 13, RING_EXTENDED_BYTES, 7, 580);
	span = whole;
	CHECK(!ring_span_cut(&span, &before) && span.first_timestamp == 580, "a full time");
	span = whole;
	span.size = 13 + 12;
	is_error(ring_span_cut(&span, &before), "a span is shorter than its first record");
}

static void test_snapshot(void)
{
	struct ring_geometry over = plain;
	unsigned char buffer[SIZE];
	struct scene scene;
	struct ring_span span;

	scene = scene_of(plain);
	CHECK(ring_consumer_snapshot(scene.consumer, 0, buffer, &span) == -EINVAL, "discards");
	scene_end(&scene);
	over.mode = RING_MODE_OVERWRITE;
	scene = scene_of(over);
	CHECK(ring_consumer_snapshot(scene.consumer, 0, buffer, &span) == 0, "empty");
	put_extended(&scene, 0, 100);
	put_extended(&scene, 13, 200);
	set_head(&scene, 26, 201);
	scene.control->claim = UINT64_C(26) << RING_EPOCH_BITS;
	CHECK(ring_consumer_snapshot(scene.consumer, 0, buffer, &span) == 1, "two records");
	CHECK(span.position == 0 && span.size == 26 && span.first_timestamp == 100 &&
					span.end_timestamp == 201 && span.data == buffer,
			"the span");
	scene.control->claim = UINT64_C(25) << RING_EPOCH_BITS;
	CHECK(ring_consumer_snapshot(scene.consumer, 0, buffer, &span) == -EBADMSG, "claim");
	is_error(ring_consumer_error(scene.consumer, 0),
			"the head is beyond the last record that was begun");
	scene.control->claim = UINT64_C(26) << RING_EPOCH_BITS;
	CHECK(ring_consumer_snapshot(scene.consumer, 0, buffer, &span) == -EBADMSG,
			"stays unusable");
	scene_end(&scene);
}

/* ---- Leases ---- */

static void test_lease(void)
{
	struct ring_geometry leased = plain;
	struct scene scene;
	uint64_t missing = 99;

	scene = scene_of(plain);
	CHECK(ring_lease_adopt(scene.consumer, -1, &missing) == 0 && missing == 0, "not leased");
	CHECK(!ring_lease_recall(scene.consumer), "not leased");
	scene_end(&scene);
	leased.flags = RING_LEASED;
	scene = scene_of(leased);
	((struct ring_header *)scene.memory.base)->storage = RING_IN_FILE;
	CHECK(ring_lease_adopt(scene.consumer, -1, &missing) == -EBADF, "no descriptor");
	CHECK(ring_lease_grant(scene.consumer, -1) == -EBADF, "no descriptor");
	CHECK(ring_lease_adopt(scene.consumer, scene.fd, &missing) == 0 && missing == 0,
			"all there");
	CHECK(ring_lease_is_empty(scene.consumer), "no record");
	set_head(&scene, 13, 1);
	CHECK(!ring_lease_is_empty(scene.consumer), "a record");
	scene.control->tail = 13;
	CHECK(ring_lease_is_empty(scene.consumer), "released");
	ring_memory_control(&scene.memory, 1)->head = 1 << RING_EPOCH_BITS;
	CHECK(!ring_lease_is_empty(scene.consumer), "in the other ring");
	CHECK(ring_lease_activity(scene.consumer) == scene.control->head + (1 << RING_EPOCH_BITS),
			"the sum of both");
	scene_end(&scene);
}

/* ---- Truncated files ---- */

static int forwarded, forwarded_with_info;

static void bus_plain(int number)
{
	forwarded += number;
}

static void bus_info(int number, siginfo_t *info, void *context)
{
	CHECK(number == SIGBUS && info && context, "arguments");
	forwarded_with_info++;
}

static void test_bus(void)
{
	struct sigaction action = {.sa_handler = bus_plain};
	siginfo_t info = {.si_code = SI_USER};
	int status;
	pid_t child;

	ring_bus_before = action;
	ring_bus_handler(SIGBUS, &info, &status);
	CHECK(forwarded == SIGBUS && !forwarded_with_info, "a handler with a number");
	ring_bus_before.sa_sigaction = bus_info;
	ring_bus_before.sa_flags = SA_SIGINFO;
	info.si_code = BUS_ADRERR;
	ring_bus_handler(SIGBUS, &info, &status);
	CHECK(forwarded == SIGBUS && forwarded_with_info == 1, "a handler with information");
	for (int ignored = 0; ignored < 2; ignored++) {
		child = fork();
		if (child == 0) {
			signal(SIGBUS, SIG_IGN);
			ring_bus_before = (struct sigaction){
					.sa_handler = ignored ? SIG_IGN : SIG_DFL};
			ring_bus_handler(SIGBUS, &info, &status);
			raise(SIGBUS);
			_exit(0);
		}
		CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
						WTERMSIG(status) == SIGBUS,
				"status %x", status);
	}
}

/* The page with the address, and no other one, is replaced by zeros. */
static void test_bus_page(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct ring_truncation *one;
	struct sigaction action;
	unsigned char *base;
	siginfo_t info = {.si_code = BUS_ADRERR};

	base = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(base != MAP_FAILED, "mmap");
	memset(base, 0x77, 3 * page);
	ring_bus_page = 0;
	CHECK(!sigaction(SIGBUS, &(struct sigaction){.sa_handler = bus_plain}, NULL), "handler");
	CHECK(ring_truncation_watch(base, 3 * page, &one) == 0, "watch");
	CHECK(ring_bus_page == page && ring_bus_before.sa_handler == bus_plain, "before");
	CHECK(!sigaction(SIGBUS, NULL, &action) && action.sa_sigaction == ring_bus_handler,
			"after");
	CHECK((action.sa_flags & (SA_SIGINFO | SA_ONSTACK)) == (SA_SIGINFO | SA_ONSTACK), "flags");
	CHECK(!sigismember(&action.sa_mask, SIGTERM), "mask");
	/* Installed once, so that the previous handler stays known. */
	CHECK(ring_bus_install() == 0 && ring_bus_before.sa_handler == bus_plain, "once");
	forwarded = 0;
	errno = E2BIG;
	info.si_addr = base + page + 77;
	ring_bus_handler(SIGBUS, &info, NULL);
	CHECK(errno == E2BIG && ring_truncation_seen(one) && !forwarded, "seen");
	CHECK(base[page - 1] == 0x77 && base[2 * page] == 0x77, "the other pages");
	for (size_t i = 0; i < page; i++)
		CHECK(!base[page + i], "a zero");
	base[page] = 5;
	CHECK(!sigaction(SIGBUS, NULL, &action) && action.sa_sigaction == ring_bus_handler,
			"stays");
	/* It is no fault of an access: the next handler gets it. */
	one->seen = 0;
	info.si_code = SI_USER;
	ring_bus_handler(SIGBUS, &info, NULL);
	CHECK(forwarded == SIGBUS && !ring_truncation_seen(one) && base[page] == 5, "forwarded");
	ring_truncation_forget(one);
	munmap(base, 3 * page);
}

static void test_truncations(void)
{
	struct ring_truncation *one, *other, *again;

	CHECK(ring_truncation_watch((void *)0x10000, 0x3000, &one) == 0, "watch");
	CHECK(ring_truncation_watch((void *)0x20000, 0x1000, &other) == 0, "watch");
	CHECK(one != other && !ring_truncation_of(0xffff), "before it");
	CHECK(ring_truncation_of(0x10000) == one && ring_truncation_of(0x12fff) == one, "in it");
	CHECK(!ring_truncation_of(0x13000) && ring_truncation_of(0x20000) == other, "behind it");
	one->seen = 1;
	CHECK(ring_truncation_seen(one) && !ring_truncation_seen(other), "seen");
	CHECK(!ring_truncation_seen(NULL), "none");
	ring_truncation_forget_at((void *)0x10000);
	CHECK(!ring_truncation_of(0x10000) && ring_truncation_of(0x20000) == other, "forgotten");
	CHECK(ring_truncation_watch((void *)0x30000, 0x1000, &again) == 0 && again == one,
			"used again");
	CHECK(!ring_truncation_seen(again), "seen is cleared");
	ring_truncation_forget(other);
	CHECK(!ring_truncation_of(0x20000) && ring_truncation_of(0x30000) == again, "the other");
	ring_truncation_forget(again);
}

/* ---- Clock ---- */

static void test_conversion(void)
{
	struct perf_event_mmap_page page = {
			.lock = 2, .time_zero = 11, .time_mult = 13, .time_shift = 63};
	struct ring_clock_conversion found;

	CHECK(!ring_clock_read_conversion(&page, &found), "not reported");
	page.cap_user_time = 1;
	CHECK(ring_clock_read_conversion(&page, &found), "reported");
	CHECK(found.zero == 11 && found.multiplier == 13 && found.shift == 63 && !found.has_zero,
			"its numbers");
	page.cap_user_time_zero = 1;
	CHECK(ring_clock_read_conversion(&page, &found) && found.has_zero, "zero");
	page.time_shift = 64;
	CHECK(!ring_clock_read_conversion(&page, &found), "shift");
	page.time_shift = 63;
	page.time_mult = 0;
	CHECK(!ring_clock_read_conversion(&page, &found), "multiplier");
	page.time_mult = 1;
	page.lock = 3;
	CHECK(!ring_clock_read_conversion(&page, &found), "it is being changed");
}

static void test_contradiction(void)
{
	struct ring_clock_sample begin = {.ticks = 1000, .monotonic_ns = 5000, .error_ns = 3};
	struct ring_clock_sample end = {.ticks = 3000, .monotonic_ns = 6000 + 7, .error_ns = 4};

	CHECK(ring_clock_rate_between(&begin,
			      &(struct ring_clock_sample){.ticks = 3000, .monotonic_ns = 6000}) ==
					2e9L,
			"two ticks a nanosecond");
	CHECK(!ring_clock_contradicts(&begin, &end, 2e9L), "7 ns off, of 7");
	end.monotonic_ns++;
	CHECK(ring_clock_contradicts(&begin, &end, 2e9L), "8 ns off, of 7");
	end.monotonic_ns = 6000 - 7;
	CHECK(!ring_clock_contradicts(&begin, &end, 2e9L), "7 ns off, of 7");
	end.monotonic_ns--;
	CHECK(ring_clock_contradicts(&begin, &end, 2e9L), "8 ns off, of 7");
}

static void test_origin(void)
{
	struct ring_clock_calibration calibration;
	struct ring_clock_sample begin = {.ticks = 5000000123,
			.monotonic_ns = 1,
			.realtime_ns = INT64_C(1700000000000000100)};
	struct ring_clock_sample end = begin;

	CHECK(ring_clock_calibrate(RING_CLOCK_MONOTONIC, &begin, NULL, &calibration) == 0,
			"calibrate");
	CHECK(calibration.frequency == 1000000000 && calibration.offset_s == 1700000000 - 6 &&
					calibration.offset == 999999977,
			"%ld s, %lu", calibration.offset_s, calibration.offset);
	CHECK(ring_clock_unix_ns(&calibration, begin.ticks) == begin.realtime_ns, "the same tick");
	CHECK(ring_clock_unix_ns(&calibration, 0) == INT64_C(1699999994999999977),
			"the first tick");
	begin.realtime_ns += 23;
	CHECK(ring_clock_calibrate(RING_CLOCK_MONOTONIC, &begin, NULL, &calibration) == 0,
			"calibrate");
	CHECK(calibration.offset_s == 1700000000 - 5 && calibration.offset == 0, "a whole second");
	calibration = (struct ring_clock_calibration){
			.frequency = 3000, .offset_s = 7, .offset = 2999};
	CHECK(ring_clock_unix_ns(&calibration, 6004) == INT64_C(10001000000), "3 kHz");
	end.monotonic_ns++;
	CHECK(ring_clock_calibrate(RING_CLOCK_MONOTONIC, &begin, &end, &calibration) == -ERANGE,
			"ticks");
	end.ticks++;
	CHECK(ring_clock_calibrate(RING_CLOCK_MONOTONIC, &begin, &end, &calibration) == 0,
			"both grow");
	end.monotonic_ns--;
	CHECK(ring_clock_calibrate(RING_CLOCK_MONOTONIC, &begin, &end, &calibration) == -ERANGE,
			"time");
	begin.realtime_ns = -1;
	CHECK(ring_clock_calibrate(RING_CLOCK_MONOTONIC, &begin, NULL, &calibration) == -ERANGE,
			"1969");
	begin.realtime_ns = 0;
	CHECK(ring_clock_calibrate(RING_CLOCK_MONOTONIC, &begin, NULL, &calibration) == 0, "1970");
}

/* Calculated a second time from the values that the kernel reports. */
static void test_rates(void)
{
	struct ring_clock_conversion conversion;
	struct timex state = {0};
	long double rate;

	if (ring_clock_kernel_conversion(&conversion)) {
		rate = 1e9L / conversion.multiplier;
		for (int i = 0; i < conversion.shift; i++)
			rate *= 2;
		CHECK(ring_clock_kernel_frequency() / rate > 0.999999999L &&
						ring_clock_kernel_frequency() / rate < 1.000000001L,
				"%Lf", rate);
	} else {
		CHECK(ring_clock_kernel_frequency() == 0, "no conversion");
	}
	CHECK(adjtimex(&state) >= 0, "adjtimex");
	rate = (1 + state.freq / 65536e6L) * state.tick / 10000;
	CHECK(ring_clock_wall_rate() / rate > 0.99999L && ring_clock_wall_rate() / rate < 1.00001L,
			"%Lf", rate);
}

static bool is_between(int64_t value, clockid_t id, int64_t before)
{
	return value >= before && value <= ring_clock_read_ns(id);
}

static void test_sample(void)
{
	int64_t monotonic = ring_clock_read_ns(CLOCK_MONOTONIC),
		raw = ring_clock_read_ns(CLOCK_MONOTONIC_RAW);
	struct ring_clock_sample sample;

	CHECK(ring_clock_sample(RING_CLOCK_MONOTONIC, &sample) == 0, "sample");
	CHECK(is_between(sample.monotonic_ns, CLOCK_MONOTONIC, monotonic), "monotonic");
	CHECK(is_between((int64_t)sample.ticks, CLOCK_MONOTONIC, monotonic), "ticks");
	CHECK(is_between(sample.raw_ns + sample.error_ns, CLOCK_MONOTONIC_RAW, raw) ||
					is_between(sample.raw_ns - sample.error_ns,
							CLOCK_MONOTONIC_RAW, raw),
			"raw");
	CHECK(sample.error_ns > 0, "an error");
}

#if RING_CLOCK_HAS_TSC
static void test_choice(void)
{
	char list[256] = "";
	FILE *file = fopen(
			"/sys/devices/system/clocksource/clocksource0/available_clocksource", "r");
	bool is_listed = false;
	int status;
	pid_t child;

	while (file && fscanf(file, "%255s", list) == 1)
		is_listed |= !strcmp(list, "tsc");
	if (file)
		fclose(file);
	CHECK(ring_clock_kernel_lists_tsc() == is_listed, "listed: %d", is_listed);
	CHECK(ring_clock_tsc_permitted(), "permitted at first");
	CHECK(is_listed || ring_clock_choose() == RING_CLOCK_MONOTONIC, "not listed");
	child = fork();
	if (child == 0) {
		if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV))
			_exit(2);
		_exit(!ring_clock_tsc_permitted() && ring_clock_choose() == RING_CLOCK_MONOTONIC
						? 0
						: 1);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) != 1,
			"not permitted: %x", status);
}
#endif

/* A refused attempt leaves no resources either. */
static void test_nothing_is_left(void)
{
	struct resources before = resources_now();
	struct mallinfo2 memory = mallinfo2();

	for (int round = 0; round < 2; round++) {
		test_expected();
		test_layout();
		test_snapshot();
		test_lost_of_events();
		test_truncations();
		if (!round) {
			before = resources_now();
			memory = mallinfo2();
		}
	}
	CHECK(resources_are_same(before, resources_now()), "resources");
	CHECK(mallinfo2().uordblks == memory.uordblks, "%zu bytes of memory, then %zu",
			memory.uordblks, mallinfo2().uordblks);
}

int main(void)
{
	test_layout();
	test_geometry();
	test_names();
	test_machine();
	test_expected();
	test_times();
	test_view_head();
	test_first_time();
	test_spans();
	test_resume();
	test_skip();
	test_pending();
	test_resident();
	test_lost_of_ring();
	test_lost_of_events();
	test_lost_groups();
	test_window_marks();
	test_window_head();
	test_window_span();
	test_span_cut();
	test_snapshot();
	test_lease();
	test_truncations();
	test_bus();
	test_bus_page();
	test_conversion();
	test_contradiction();
	test_origin();
	test_rates();
	test_sample();
	test_nothing_is_left();
#if RING_CLOCK_HAS_TSC
	test_choice();
#endif
	return 0;
}
