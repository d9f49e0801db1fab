/* SPDX-License-Identifier: MIT */
/*
 * Many streams as one sequence of items: their order, windows over one ring, and a trace that grows
 * while it is read.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../failing-calls.h"
#include "ctf/type.h"
#include "scratch.h"

#include "ctf/read/overlap.c" /* NOLINT(bugprone-suspicious-include): reaches static functions */

static char scratch[64];
static struct error why;

/* ---- traces ---- */

struct trace {
	struct ctf_writer *writer;
	struct ctf_arena *arena;
	struct ctf_type *fields;
	struct ctf_stream *streams[32];
};

static void add_event(struct trace *trace, uint32_t id)
{
	assert_int_equal(ctf_writer_add_event_json(trace->writer, 0, id, "a:b", 6, NULL,
					 trace->fields, "{}", &why),
			0);
}

static void add_stream(struct trace *trace, uint32_t ring, uint64_t tick)
{
	assert_int_equal(ctf_writer_open_stream(
					 trace->writer, 0, ring, tick, &trace->streams[ring], &why),
			0);
}

static struct trace begin_trace(const char *name, uint64_t frequency)
{
	char dir[128];
	struct trace trace = {.arena = ctf_arena_create()};
	const struct ctf_writer_config config = {
			.dir = dir, .clock = {.frequency = frequency}, .vpid = 1};

	snprintf(dir, sizeof(dir), "%s/%s", scratch, name);
	assert_int_equal(ctf_writer_create(&config, &trace.writer, &why), 0);
	trace.fields = ctf_type_struct(trace.arena, 1);
	ctf_member_set(&trace.fields->members[0], "_n", ctf_type_integer(trace.arena, 32, false),
			false);
	add_event(&trace, 1);
	return trace;
}

static void end_trace(struct trace *trace)
{
	assert_int_equal(ctf_writer_close(trace->writer, &why), 0);
	ctf_arena_destroy(trace->arena);
}

/* One packet with one record. */
static void put(struct trace *trace, uint32_t ring, uint32_t id, uint64_t tick, uint32_t number)
{
	unsigned char record[17] = {31};
	const struct ctf_span span = {.records = record,
			.size = 17,
			.timestamp_begin = tick,
			.timestamp_end = tick};

	memcpy(record + 1, &id, 4);
	memcpy(record + 5, &tick, 8);
	memcpy(record + 13, &number, 4);
	assert_int_equal(ctf_stream_append(trace->streams[ring], &span, &why), 0);
}

static char found[4096];

/* Returns the numbers of the events up to that time, in order. */
static int read_until(struct ctf_reader *reader, int64_t ns)
{
	struct ctf_item item;
	int ret;

	*found = '\0';
	while ((ret = ctf_reader_next_until(reader, ns, &item)) > 0) {
		size_t used = strlen(found);

		if (item.kind == CTF_ITEM_EVENT)
			snprintf(found + used, sizeof(found) - used, "%" PRIu64 " ",
					ctf_value_member(item.fields, "_n")->u);
		else
			snprintf(found + used, sizeof(found) - used, "(%d %s) ", item.kind,
					item.text ? item.text : "");
	}
	return ret;
}

static void assert_read(const char *name, const char *numbers)
{
	struct ctf_reader *reader;
	char dir[128];

	snprintf(dir, sizeof(dir), "%s/%s", scratch, name);
	assert_int_equal(ctf_reader_open(dir, &reader, &why), 0);
	assert_int_equal(read_until(reader, INT64_MAX), 0);
	assert_string_equal(found, numbers);
	ctf_reader_close(reader);
}

/* ---- order ---- */

static void test_order(void **state)
{
	struct trace one, two;
	char expected[2048] = "";

	(void)state;
	/*
	 * Events of two traces: ordered by the time in nanoseconds, then by the number of the
	 * trace, by ticks, by the number of the stream.
	 */
	one = begin_trace("order-a", 1000000000);
	two = begin_trace("order-b", 4000000000);
	for (uint32_t ring = 0; ring < 2; ring++) {
		add_stream(&one, ring, 100);
		add_stream(&two, ring, 400);
	}
	put(&one, 1, 1, 101, 11);
	put(&one, 0, 1, 101, 10);
	put(&two, 0, 1, 407, 22);
	put(&two, 1, 1, 405, 21);
	put(&two, 1, 1, 406, 23);
	put(&one, 0, 1, 100, 12);
	end_trace(&one);
	end_trace(&two);
	assert_read("", "10 12 11 21 23 22 ");
	scratch_delete(scratch);
	assert_int_equal(mkdir(scratch, 0700), 0);
	/* 20 streams, each with three records, from the last one to the first one. */
	one = begin_trace("many", 1000000000);
	for (uint32_t ring = 0; ring < 20; ring++) {
		add_stream(&one, ring, 1);
		for (uint32_t i = 0; i < 3; i++)
			put(&one, ring, 1, 1000 * (i + 1) - 7 * ring, 100 * i + 19 - ring);
	}
	end_trace(&one);
	for (uint32_t i = 0; i < 60; i++)
		snprintf(expected + strlen(expected), 16, "%u ", i / 20 * 100 + i % 20);
	assert_read("many", expected);
}

static void test_windows(void **state)
{
	static struct ctf_stream_reader *streams[8192];
	struct ctf_stream_reader stream;
	struct ctf_reader reader = {.streams = streams};
	const uint32_t half = (uint32_t)(WINDOWS_SIZE / (256 << 10)),
		       most = (uint32_t)(WINDOWS_SIZE / (16 << 10));

	(void)state;
	assert_true(most < 8192);
	for (size_t i = 0; i < 8192; i++)
		streams[i] = &stream;
	for (unsigned int i = 0; i < 6; i++) {
		const uint32_t counts[] = {1, half, half + 1, most, most + 1, 8191};

		reader.stream_count = counts[i];
		ctf_reader_size_windows(&reader);
		assert_int_equal(stream.window.normal,
				i < 2                   ? 256 << 10
						: i < 4 ? WINDOWS_SIZE / counts[i]
							: 16 << 10);
	}
}

/* ---- windows over one ring ---- */

static struct path_slice text_of(const char *text)
{
	return (struct path_slice){text, strlen(text)};
}

static void test_names(void **state)
{
	static const struct {
		const char *name;
		uint64_t number;
	} numbers[] = {{"snapshot-3", 3}, {"snapshot-12-server-4711", 12},
			{"snapshot-", NO_SNAPSHOT}, {"snapshot", NO_SNAPSHOT},
			{"snapshot-x", NO_SNAPSHOT}, {"snapshot-3x", NO_SNAPSHOT},
			{"snapshot-3-", 3}, {"Snapshot-3", NO_SNAPSHOT},
			{"snapshot-123456789", 123456789}, {"snapshot-1234567890", NO_SNAPSHOT},
			{"", NO_SNAPSHOT}};
	static const struct {
		const char *path;
		size_t begin, size, without;
	} parts[] = {{"/a/bc", 3, 2, 5}, {"/a/bc/", 6, 0, 5}, {"bc", 0, 2, 2}, {"/", 1, 0, 1},
			{"//", 2, 0, 1}, {"", 0, 0, 0}, {"a//", 3, 0, 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		assert_true(snapshot_number(text_of(numbers[i].name)) == numbers[i].number);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct path_slice part =
				ctf_overlap_path_tail(parts[i].path, strlen(parts[i].path));

		assert_ptr_equal(part.begin, parts[i].path + parts[i].begin);
		assert_int_equal(part.size, parts[i].size);
		assert_int_equal(without_slashes(parts[i].path, strlen(parts[i].path)),
				parts[i].without);
	}
	assert_int_equal(ctf_overlap_compare_texts(text_of("a"), text_of("a")), 0);
	assert_true(ctf_overlap_compare_texts(text_of("a"), text_of("b")) < 0);
	assert_true(ctf_overlap_compare_texts(text_of("b"), text_of("a")) > 0);
	assert_true(ctf_overlap_compare_texts(text_of("a"), text_of("ab")) < 0);
	assert_true(ctf_overlap_compare_texts(text_of("ab"), text_of("a")) > 0);
}

static void test_members(void **state)
{
	static const struct {
		const char *path, *name;
		const char *output, *process, *plain;
		uint64_t rank;
	} cases[] = {{"/o/snapshot-2/app-1", "ring_0", "/o", "app-1", "ring_0", 2},
			{"/o/app-1/", "ring_0.zst", "/o", "app-1", "ring_0", NO_SNAPSHOT},
			/* The channel `a.zst`: its name is not the suffix. */
			{"/o/app-1", "a.zst_1", "/o", "app-1", "a.zst_1", NO_SNAPSHOT},
			{"/o//snapshot-2-x//app-1", "side_session", "/o", "app-1", "side_session",
					2}};
	struct ctf_trace_classes classes;
	struct ctf_stream_reader stream = {.classes = &classes};
	struct member snapshot, later;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct member member;

		classes.trace.path = cases[i].path;
		stream.info.name = cases[i].name;
		member = make_member(&stream);
		assert_int_equal(ctf_overlap_compare_texts(member.output, text_of(cases[i].output)),
				0);
		assert_int_equal(ctf_overlap_compare_texts(
						 member.process, text_of(cases[i].process)),
				0);
		assert_int_equal(
				ctf_overlap_compare_texts(member.name, text_of(cases[i].plain)), 0);
		assert_true(member.rank == cases[i].rank);
		assert_int_equal(is_of_losses(&member), i == 3);
	}
	/*
	 * A later window is a later snapshot of the same directory, or a trace in it or in a chunk
	 * of it.
	 */
	snapshot = (struct member){.output = text_of("/o"), .rank = 2};
	for (unsigned int i = 0; i < 9; i++) {
		static const struct {
			const char *output;
			uint64_t rank;
			bool later;
		} others[] = {{"/o", 2, false}, {"/o", 1, false}, {"/o", 3, true},
				{"/o", NO_SNAPSHOT, true}, {"/o/chunk", NO_SNAPSHOT, true},
				{"/o/chunk", 3, false}, {"/ox", NO_SNAPSHOT, false},
				{"/", NO_SNAPSHOT, false}, {"/p", 3, false}};

		later = (struct member){
				.output = text_of(others[i].output), .rank = others[i].rank};
		assert_int_equal(is_later(&snapshot, &later), others[i].later);
	}
	/* Groups: the same process and the same name. */
	{
		struct member members[] = {
				{.process = text_of("a"), .name = text_of("r"), .rank = 1},
				{.process = text_of("a"), .name = text_of("r"), .rank = 2},
				{.process = text_of("a"), .name = text_of("s"), .rank = 0},
				{.process = text_of("b"), .name = text_of("s"), .rank = 0}};

		assert_int_equal(group_size(members, 0, 4), 2);
		assert_int_equal(group_size(members, 1, 4), 1);
		assert_int_equal(group_size(members, 2, 4), 1);
		assert_int_equal(group_size(members, 3, 4), 1);
		for (unsigned int i = 0; i < 3; i++) {
			assert_true(compare_members(&members[i], &members[i + 1]) < 0);
			assert_true(compare_members(&members[i + 1], &members[i]) > 0);
			assert_int_equal(compare_members(&members[i], &members[i]), 0);
		}
	}
}

/* Writes a window of the ring with these records: the numbers are the ticks. */
static void write_window(const char *name, const uint32_t *ticks, unsigned int count)
{
	struct trace trace;
	char parent[128];

	snprintf(parent, sizeof(parent), "%s/%s", scratch, name);
	*strrchr(parent, '/') = '\0';
	mkdir(parent, 0700);
	trace = begin_trace(name, 1000000000);
	add_stream(&trace, 0, ticks[0]);
	for (unsigned int i = 0; i < count; i++)
		put(&trace, 0, 1, ticks[i], ticks[i]);
	end_trace(&trace);
}

static void test_overlaps(void **state)
{
	static const uint32_t all[] = {10, 20, 30, 40, 50, 60};
	char dir[128];

	(void)state;
	snprintf(dir, sizeof(dir), "%s/out", scratch);
	mkdir(dir, 0700);
	write_window("out/snapshot-1/app-1", all, 3);
	assert_read("out", "10 20 30 ");
	write_window("out/snapshot-2/app-1", all + 1, 3);
	assert_read("out", "10 20 30 40 ");
	write_window("out/app-1", all + 3, 3);
	assert_read("out", "10 20 30 40 50 60 ");
	/* Another process, and a window that begins earlier: not of this ring. */
	write_window("out/snapshot-2/app-2", all + 1, 1);
	assert_read("out", "10 20 20 30 40 50 60 ");
	write_window("out/snapshot-3/app-2", all, 2);
	assert_read("out", "10 10 20 20 20 30 40 50 60 ");
	assert_read("out/snapshot-2", "20 20 30 40 ");
}

/*
 * A window that appears while a trace is followed begins after the last record of each earlier one.
 */
static void test_continued(void **state)
{
	struct ctf_stream_reader streams[4] = {0};
	struct member members[4];

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		static const uint64_t last[] = {30, 50, 40, 60};

		streams[i].info.name = (char *)(uintptr_t) "ring_0";
		streams[i].last_known = true;
		streams[i].last_cycles = last[i];
		streams[i].first_known = i < 2;
		members[i] = (struct member){.stream = &streams[i],
				.output = text_of("/o"),
				.process = text_of("p"),
				.name = text_of("ring_0"),
				.rank = i + 1};
	}
	assert_int_equal(continue_group(members, 4), 0);
	assert_false(streams[0].continues);
	assert_false(streams[1].continues);
	assert_true(streams[2].continues);
	assert_int_equal(streams[2].after, 50);
	assert_true(streams[3].continues);
	assert_int_equal(streams[3].after, 50);
	/* A second call uses the new last records, but does not change a window that was shown. */
	streams[0].last_cycles = 70;
	streams[2].shown = true;
	assert_int_equal(continue_group(members, 4), 0);
	assert_int_equal(streams[2].after, 50);
	assert_int_equal(streams[3].after, 70);
	/* Windows of another directory, of lost events, and without a record do not count. */
	streams[3].continues = false;
	streams[3].after = 0;
	members[0].output = text_of("/other");
	streams[1].info.name = (char *)(uintptr_t) "side_session";
	streams[2].last_known = false;
	streams[2].classes = &(struct ctf_trace_classes){.trace.path = "/nowhere"};
	assert_int_equal(continue_group(members, 4), 0);
	assert_false(streams[3].continues);
	assert_int_equal(streams[3].after, 0);
	/* An error ends it. */
	members[0].output = text_of("/o");
	streams[0].last_known = false;
	streams[0].classes = streams[2].classes;
	failing_arm(1);
	assert_int_equal(continue_group(members, 4), -ENOMEM);
	assert_true(failing_has_failed());
	assert_false(streams[3].continues);
	assert_int_equal(know_last(&streams[0]), 0);
	assert_false(streams[0].last_known);
	assert_int_equal(know_first(&streams[2]), 0);
	assert_false(streams[2].first_known);
}

/* ---- a trace that grows ---- */

static void test_growing(void **state)
{
	struct trace trace, other;
	struct ctf_reader *reader;
	char dir[128];
	bool recording;

	(void)state;
	snprintf(dir, sizeof(dir), "%s/live", scratch);
	mkdir(dir, 0700);
	trace = begin_trace("live/one", 1000000000);
	add_stream(&trace, 0, 1);
	put(&trace, 0, 1, 10, 10);
	assert_int_equal(ctf_reader_open_growing(dir, &reader, &why), 0);
	ctf_reader_follow(reader, NULL);
	assert_int_equal(read_until(reader, INT64_MAX), 0);
	assert_string_equal(found, "10 ");
	assert_int_equal(read_until(reader, INT64_MAX), 0);
	assert_string_equal(found, "");
	/* No change; a packet; nothing later than a time. */
	assert_int_equal(ctf_reader_refresh(reader, &recording), 0);
	assert_true(recording);
	put(&trace, 0, 1, 20, 20);
	put(&trace, 0, 1, 30, 30);
	assert_int_equal(ctf_reader_refresh(reader, &recording), 0);
	assert_int_equal(read_until(reader, 19), 0);
	assert_string_equal(found, "");
	assert_int_equal(read_until(reader, 20), 0);
	assert_string_equal(found, "20 ");
	assert_int_equal(read_until(reader, 30), 0);
	assert_string_equal(found, "30 ");
	/* A new event, a new stream, and a new trace. */
	add_event(&trace, 2);
	put(&trace, 0, 2, 40, 40);
	add_stream(&trace, 1, 35);
	put(&trace, 1, 1, 45, 45);
	other = begin_trace("live/two", 1000000000);
	add_stream(&other, 3, 1);
	put(&other, 3, 1, 42, 42);
	assert_int_equal(ctf_reader_refresh(reader, &recording), 0);
	assert_true(recording);
	assert_int_equal(read_until(reader, INT64_MAX), 0);
	assert_string_equal(found, "40 42 45 ");
	assert_int_equal(ctf_reader_trace_count(reader), 2);
	assert_int_equal(ctf_reader_stream_count(reader), 3);
	/* The end of one recording, and of both. */
	put(&other, 3, 1, 50, 50);
	end_trace(&other);
	assert_int_equal(ctf_reader_refresh(reader, &recording), 0);
	assert_true(recording);
	assert_int_equal(read_until(reader, INT64_MAX), 0);
	assert_string_equal(found, "50 ");
	put(&trace, 1, 1, 60, 60);
	end_trace(&trace);
	assert_int_equal(ctf_reader_refresh(reader, &recording), 0);
	assert_false(recording);
	assert_int_equal(read_until(reader, INT64_MAX), 0);
	assert_string_equal(found, "60 ");
	ctf_reader_close(reader);
	assert_false(ctf_is_recorded(dir));
	assert_false(ctf_is_recorded("/nowhere/at/all"));
}

/* Each allocation of a refresh fails once: the next one finds all. */
static void test_failing_refreshes(void **state)
{
	unsigned int number, nr_errors = 0;
	char dir[128];

	(void)state;
	snprintf(dir, sizeof(dir), "%s/failing", scratch);
	for (number = 1;; number++) {
		struct trace trace;
		struct ctf_reader *reader;
		bool recording, has_failed;
		int ret;

		mkdir(dir, 0700);
		trace = begin_trace("failing/one", 1000000000);
		add_stream(&trace, 0, 1);
		put(&trace, 0, 1, 10, 10);
		assert_int_equal(ctf_reader_open_growing(dir, &reader, &why), 0);
		ctf_reader_follow(reader, NULL);
		assert_int_equal(read_until(reader, INT64_MAX), 0);
		add_event(&trace, 2);
		put(&trace, 0, 2, 40, 40);
		add_stream(&trace, 1, 35);
		put(&trace, 1, 1, 45, 45);
		failing_arm(number);
		ret = ctf_reader_refresh(reader, &recording);
		has_failed = failing_has_failed();
		nr_errors += ret != 0;
		if (ret)
			assert_int_equal(ret, -ENOMEM);
		if (!has_failed) {
			assert_int_equal(ret, 0);
			assert_int_equal(read_until(reader, INT64_MAX), 0);
			assert_string_equal(found, "40 45 ");
		}
		ctf_reader_close(reader);
		end_trace(&trace);
		scratch_delete(dir);
		if (!has_failed)
			break;
	}
	assert_true(number > 5);
	assert_true(nr_errors > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_order),
			cmocka_unit_test(test_windows),
			cmocka_unit_test(test_names),
			cmocka_unit_test(test_members),
			cmocka_unit_test(test_overlaps),
			cmocka_unit_test(test_continued),
			cmocka_unit_test(test_growing),
			cmocka_unit_test(test_failing_refreshes),
	};
	int ret;

	scratch_make(scratch);
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	scratch_delete(scratch);
	return ret;
}
