/* SPDX-License-Identifier: MIT */
/*
 * One data stream file, with a simulated window and simulated fields: sizes and counters of
 * packets, times, damage, and the items in between.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../check.h"
#include "../noted.h"
#include "ctf/read/decode-ctf2.h"
#include "ctf/read/stream.h"

static bool is_same(const char *text, const char *expected)
{
	if (strcmp(text, expected) != 0)
		fprintf(stderr, "%s\n", text);
	return !strcmp(text, expected);
}

/* ---- replaced calls ---- */

static uint8_t file_bytes[600];
static size_t most; /* bytes that one call loads */
static int load_result;
static uint64_t grown_size, strange_bytes;
static bool frames_are_cut;
static int (*decode_fields)(struct ctf_decoder *d);
static char some_frames;

static int played_load(struct ctf_window *window, uint64_t from, size_t wanted)
{
	note("load %d %zu %zu;", (int)from, wanted, window->normal);
	if (load_result)
		return load_result;
	window->bytes = file_bytes + from;
	window->at = from;
	window->count = window->size - from < most ? window->size - from : most;
	return 0;
}

static uint64_t played_grown(struct ctf_window *window)
{
	CHECK(window->size);
	note("grown;");
	return grown_size;
}

static uint64_t played_strange(const struct ctf_unzstd *unzstd, uint64_t *first)
{
	CHECK((const char *)unzstd == &some_frames);
	*first = 66;
	return strange_bytes;
}

static bool played_cut(const struct ctf_unzstd *unzstd)
{
	CHECK((const char *)unzstd == &some_frames);
	return frames_are_cut;
}

static int played_decode(struct ctf_decoder *d, const struct ctf_type *type, uint32_t *index)
{
	*index = 3;
	note("decode %u;", type->size);
	return decode_fields ? decode_fields(d) : 0;
}

static void played_free(struct ctf_window *window)
{
	window->bytes = NULL;
	note("free;");
}

#define ctf_window_load(window, from, wanted) played_load(window, from, wanted)
#define ctf_window_grown(window) played_grown(window)
#define ctf_window_free(window) played_free(window)
#define ctf_unzstd_strange(unzstd, first) played_strange(unzstd, first)
#define ctf_unzstd_is_cut(unzstd) played_cut(unzstd)
#define ctf_decode(d, type, index) played_decode(d, type, index)
#define ctf_stream_reader_open tested_open
#define ctf_stream_reader_close tested_close
#define ctf_stream_reader_next tested_next
#define ctf_clock_ns tested_ns
int ctf_stream_reader_open(struct ctf_stream_reader *stream, struct ctf_trace_classes *classes,
		const char *name, const struct stat *stat);
void ctf_stream_reader_close(struct ctf_stream_reader *stream);
int ctf_stream_reader_next(struct ctf_stream_reader *stream);
int64_t ctf_clock_ns(const struct ctf_clock *clock, uint64_t cycles);
#include "ctf/read/stream.c" /* NOLINT(bugprone-suspicious-include): replaces the calls in it */

/* ---- a stream of a file of 600 bytes, the first 100 of which are loaded ---- */

static const struct ctf_clock clock_of_test = {.frequency = 1000000000, .offset_s = 0, .offset = 7};
static struct ctf_trace_classes classes;
static struct ctf_stream_class stream_class, other_class;
static struct ctf_stream_class *all_classes[] = {&stream_class, &other_class};

static struct ctf_stream_reader begin(void)
{
	memset(&classes, 0, sizeof(classes));
	classes.trace.path = "/t";
	classes.streams = all_classes;
	classes.stream_count = 2;
	stream_class = (struct ctf_stream_class){.id = 4, .clock = &clock_of_test};
	other_class = (struct ctf_stream_class){.id = 5};
	most = 100;
	load_result = 0;
	grown_size = strange_bytes = 0;
	frames_are_cut = false;
	decode_fields = NULL;
	*log_text = '\0';
	return (struct ctf_stream_reader){.classes = &classes,
			.class = &stream_class,
			.info = {.name = "s", .cpu = -1},
			.window = {.size = 600, .bytes = file_bytes, .count = 100, .normal = 50000},
			.content = 8 * 600,
			.before = UINT64_MAX};
}

static void set(struct ctf_stream_reader *stream, enum ctf_role role, uint64_t value)
{
	stream->fields.seen |= 1u << role;
	stream->fields.values[role] = value;
}

/* ---- times ---- */

static void test_times(void)
{
	struct ctf_clock clock = {.frequency = 3, .offset_s = -5, .offset = 7};

	CHECK(cycles_ns(1000000000, 123456789012345678) == 123456789012345678);
	CHECK(cycles_ns(3, 7) == 2333333333 && cycles_ns(4000000000, 7) == 1);
	/* Beyond the signed range, exactly. */
	CHECK(cycles_ns(1, 10000000000) == (__int128)10000000000 * 1000000000);
	CHECK(clock_origin_ns(&clock) == (__int128)-3 * 1000000000 + 333333333);
	CHECK(ctf_clock_ns(&clock, 3) == -2 * (int64_t)1000000000 + 333333333);
	CHECK(saturate((__int128)INT64_MAX + 1) == INT64_MAX && saturate(INT64_MAX) == INT64_MAX);
	CHECK(saturate((__int128)INT64_MIN - 1) == INT64_MIN && saturate(INT64_MIN) == INT64_MIN);
	CHECK(saturate(-4) == -4 && saturate(4) == 4);
	/* The origin is kept for one clock. */
	{
		struct ctf_origin origin = {.clock = NULL};

		CHECK(origin_ns(&origin, &clock_of_test, 5) == 12 &&
				origin.clock == &clock_of_test);
		origin.ns = 100;
		CHECK(origin_ns(&origin, &clock_of_test, 5) == 105);
		CHECK(origin_ns(&origin, &clock, 0) == -2666666667);
	}
}

static void test_counters(void)
{
	CHECK(counter_step(5, 9, 64) == 4 && counter_step(9, 5, 64) == 0 &&
			!counter_step(5, 5, 64));
	CHECK(counter_step(9, 5, 65) == 0 && counter_step(9, 5, 8) == 252 &&
			counter_step(1, 0, 63) == UINT64_MAX >> 1);
	CHECK(counter_step(0xfe, 3, 8) == 5 && counter_step(3, 3, 8) == 0);
}

/* ---- the window ---- */

static void test_positions(void)
{
	struct ctf_stream_reader stream = begin();
	struct ctf_decoder *d = &stream.decoder;

	ctf_stream_seek(&stream, 19);
	CHECK(d->origin == 16 && d->base == file_bytes + 2 && d->limit == 98 && d->end == 98 * 8 &&
			d->at == 3);
	CHECK(position(&stream) == 19 && !stream.torn);
	/* Before the end of the content, after the loaded bytes, and after the content. */
	stream.content = 8 * 50 + 3;
	ctf_stream_seek(&stream, 16);
	CHECK(d->limit == 98 && d->end == 8 * 48 + 3);
	ctf_stream_seek(&stream, 8 * 50 + 3);
	CHECK(d->end == 3 && d->at == 3);
	ctf_stream_seek(&stream, 8 * 50 + 7);
	CHECK(d->end == 3 && d->at == 3);
	ctf_stream_seek(&stream, 8 * 60);
	CHECK(!d->end && !d->at);
	stream.content = 8 * 600;
	ctf_stream_seek(&stream, 8 * 99);
	CHECK(d->limit == 1 && d->end == 8);
	ctf_stream_seek(&stream, 8 * 100 + 2);
	CHECK(!d->limit && !d->end && !d->at && d->base != file_bytes + 100);
	/* A packet that begins later, and a file that has become shorter. */
	stream.packet = 90;
	stream.content = 8 * 510;
	ctf_stream_seek(&stream, 8);
	CHECK(d->base == file_bytes + 91 && d->limit == 9 && !stream.torn);
	stream.content++;
	ctf_stream_seek(&stream, 8);
	CHECK(stream.torn && stream.content == 8 * 510);
	stream.torn = false;
	stream.window.size = 90;
	ctf_stream_seek(&stream, 8);
	CHECK(stream.torn && !stream.content);
}

static void test_more(void)
{
	struct ctf_stream_reader stream = begin();
	struct ctf_decoder *d = &stream.decoder;

	ctf_stream_seek(&stream, 8 * 40);
	most = 200;
	CHECK(load_more(&stream, 8 * 40) == 1 && has_noted("load 40 0 50000;"));
	CHECK(d->base == file_bytes + 40 && d->limit == 200);
	/* The event does not fit: twice as much is loaded. */
	CHECK(load_more(&stream, 8 * 40) == 1 && has_noted("load 40 400 50000;"));
	load_result = -EIO;
	stream.window.why = "bad disk";
	CHECK(load_more(&stream, 8 * 40) == -EIO && !strcmp(d->why, "bad disk"));
	load_result = 0;
	/* At most 256 MiB. */
	*log_text = '\0';
	stream.content = 8 * ((uint64_t)1 << 32);
	stream.window.size = (uint64_t)1 << 32;
	stream.window.count = CTF_WINDOW_MAX / 2;
	CHECK(load_more(&stream, 8 * 40) == 1 && has_noted("load 40 268435456 50000;"));
	stream.window.count = CTF_WINDOW_MAX / 2 - 1;
	CHECK(load_more(&stream, 8 * 40) == 1 && has_noted("load 40 268435454 50000;"));
	stream.window.count = CTF_WINDOW_MAX;
	CHECK(load_more(&stream, 8 * 40) == 0 && has_noted(""));
	CHECK(!strcmp(d->why, "an event is larger than 256 MiB"));
	CHECK(load_more(&stream, 8 * 41) == 1);
	/* The content ends. */
	d->origin = 8 * 50;
	d->end = 8 * 20;
	stream.content = 8 * 70;
	CHECK(load_more(&stream, 8 * 40) == 0);
	stream.content++;
	CHECK(load_more(&stream, 8 * 40) == 1);
}

/* ---- damage and ends ---- */

static void test_damage(void)
{
	struct ctf_stream_reader stream = begin();
	const struct ctf_item *item = &stream.item;

	stream.packet = 30;
	stream.decoder.origin = 80;
	stream.decoder.at = 15;
	stream.decoder.clock = 50;
	CHECK(damage(&stream, "what", "so") == 1 &&
			is_same(item->text, "/t/s, byte 41, is damaged: what; so"));
	CHECK(item->kind == CTF_ITEM_DAMAGE && item->ns == 57 && item->begin_ns == 57 &&
			item->timed && item->cycles == 50 && !item->cut &&
			stream.damaged_packet == 30 && item->trace == &classes.trace &&
			item->stream == &stream.info);
	for (unsigned int i = 0; i < 8; i++) {
		stream.window.shrunk = i & 1;
		stream.torn = i & 2;
		stream.header_cut = i & 4;
		stream.shrink_reported = false;
		damage(&stream, "what", "so");
		CHECK(item->cut == (i == 2 || i == 4 || i == 6));
		CHECK(stream.shrink_reported == (i == 3 || i == 5 || i == 7));
		CHECK(!strstr(item->text, "what") == stream.shrink_reported);
		CHECK(!strstr(item->text, "the file has become shorter while it was read; so") ==
				!stream.shrink_reported);
	}
	/* The reading continues after the damage, or ends. */
	stream = begin();
	stream.packet = 30;
	stream.torn = true;
	stream.window.resume = 31;
	stream.decoder.why = "bad frame";
	stream.state = CTF_STREAM_RECORDS;
	CHECK(unreadable(&stream) == 1 && stream.packet == 31 && stream.state == CTF_STREAM_PACKET);
	CHECK(!item->cut && strstr(item->text, "bad frame; reading continues at the next packet"));
	CHECK(unreadable(&stream) == 1 && stream.packet == 31 && stream.state == CTF_STREAM_END);
	CHECK(is_same(item->text,
			"/t/s cannot be read from byte 31 on: bad frame; the remainder of the file is not shown"));
	/* Without a class, an item has no time. */
	stream.class = NULL;
	ctf_stream_report_damage(&stream);
	CHECK(!item->timed && !item->ns);
}

static void test_ends(void)
{
	struct ctf_stream_reader stream = begin();
	const struct ctf_item *item = &stream.item;

	CHECK(!end_of_file(&stream) && stream.state == CTF_STREAM_END && !stream.grown);
	grown_size = 700;
	CHECK(!end_of_file(&stream) && stream.grown);
	stream.window.shrunk = true;
	CHECK(end_of_file(&stream) == 1);
	CHECK(is_same(item->text,
			"/t/s has become shorter while it was read; the removed part is not shown"));
	stream.shrink_reported = true;
	CHECK(!end_of_file(&stream));
	stream.window.unzstd = (struct ctf_unzstd *)&some_frames;
	CHECK(!end_of_file(&stream));
	frames_are_cut = true;
	CHECK(end_of_file(&stream) == 1 && item->cut);
	CHECK(is_same(item->text, "/t/s is damaged: the file ends inside its last packet"));
	stream.torn = true;
	CHECK(!end_of_file(&stream));
	stream.torn = false;
	stream.header_cut = true;
	CHECK(!end_of_file(&stream));
	strange_bytes = 9;
	CHECK(end_of_file(&stream) == 1 && !item->cut);
	CHECK(is_same(item->text,
			"/t/s is damaged: 9 bytes of it, the first at byte 66, are not zstd frames; the packets in them are missing"));
}

/* ---- packets ---- */

static void put_mark(size_t at)
{
	uint32_t magic = htole32(PACKET_MAGIC);

	memcpy(file_bytes + at, &magic, 4);
	memcpy(file_bytes + at + 4, classes.trace.uuid, 16);
}

static void test_found(void)
{
	for (size_t at = 40; at<600; at += at> 60 && at < 120 ? 1 : 17) {
		struct ctf_stream_reader stream = begin();

		classes.has_uuid = true;
		memcpy(classes.trace.uuid, "0123456789abcdef", 16);
		memset(file_bytes, 0, sizeof(file_bytes));
		if (at <= 580)
			put_mark(at);
		stream.packet = 39;
		CHECK(find_packet(&stream) == 600);
		set(&stream, CTF_ROLE_MAGIC, 0);
		CHECK(find_packet(&stream) == 600);
		stream.fields.seen = 0;
		set(&stream, CTF_ROLE_UUID, 0);
		CHECK(find_packet(&stream) == 600 && has_noted(""));
		set(&stream, CTF_ROLE_MAGIC, 0);
		classes.has_uuid = false;
		CHECK(find_packet(&stream) == 600 && has_noted(""));
		classes.has_uuid = true;
		CHECK(find_packet(&stream) == (at <= 580 ? at : 600));
		/* The search does not find the packet itself. */
		stream = begin();
		classes.has_uuid = true;
		memcpy(classes.trace.uuid, "0123456789abcdef", 16);
		stream.packet = at;
		set(&stream, CTF_ROLE_MAGIC, 0);
		set(&stream, CTF_ROLE_UUID, 0);
		CHECK(find_packet(&stream) == 600);
		if (at > 80 && at < 580) {
			stream.packet = 0;
			load_result = -EIO;
			CHECK(find_packet(&stream) == 600);
			load_result = 0;
			most = 19;
			CHECK(find_packet(&stream) == 600);
			most = 20;
			CHECK(find_packet(&stream) == at);
		}
		*log_text = '\0';
	}
}

static void test_headers(void)
{
	struct ctf_stream_reader stream = begin();

	stream.class = NULL;
	CHECK(!check_header(&stream) && stream.class == &stream_class && stream.info.class_id == 4);
	set(&stream, CTF_ROLE_STREAM_ID, 5);
	CHECK(!check_header(&stream) && stream.class == &other_class && stream.info.class_id == 5);
	set(&stream, CTF_ROLE_STREAM_ID, 6);
	CHECK(is_same(check_header(&stream),
			"the packet belongs to a stream that the metadata does not know"));
	stream.fields.seen = 0;
	classes.stream_count = 0;
	CHECK(is_same(check_header(&stream),
			"the packet belongs to a stream that the metadata does not know"));
	classes.stream_count = 2;
	set(&stream, CTF_ROLE_MAGIC, PACKET_MAGIC);
	CHECK(!check_header(&stream));
	set(&stream, CTF_ROLE_MAGIC, PACKET_MAGIC - 1);
	CHECK(is_same(check_header(&stream), "no packet begins here"));
	/* Another UUID is only reported. */
	stream.fields.seen = 0;
	set(&stream, CTF_ROLE_UUID, 0);
	stream.fields.uuid[15] = 1;
	CHECK(!check_header(&stream) && !stream.foreign);
	classes.has_uuid = true;
	stream.fields.seen = 0;
	CHECK(!check_header(&stream) && !stream.foreign);
	set(&stream, CTF_ROLE_UUID, 0);
	stream.fields.uuid[15] = 0;
	CHECK(!check_header(&stream) && !stream.foreign);
	stream.fields.uuid[15] = 1;
	CHECK(!check_header(&stream) && stream.foreign);
}

static bool has_sizes(uint64_t packet, uint64_t content, uint64_t at, uint64_t next,
		uint64_t expected, bool torn)
{
	struct ctf_stream_reader stream = begin();
	const char *why;

	stream.packet = 100;
	stream.content = 8 * 500;
	stream.decoder.origin = at;
	stream.decoder.end = 8 * 90;
	if (packet)
		set(&stream, CTF_ROLE_PACKET_SIZE, packet);
	if (content)
		set(&stream, CTF_ROLE_CONTENT_SIZE, content);
	why = check_sizes(&stream);
	if (!next)
		return why && !strcmp(why, "the sizes in the packet's header are inconsistent");
	return !why && stream.next_packet == next && stream.content == expected &&
			stream.torn == torn &&
			stream.decoder.end == (expected < at + 8 * 90 ? expected - at : 8 * 90);
}

static void test_sizes(void)
{
	CHECK(has_sizes(0, 0, 80, 600, 8 * 500, false));
	CHECK(has_sizes(8 * 40, 0, 80, 140, 8 * 40, false));
	CHECK(has_sizes(0, 8 * 40, 80, 140, 8 * 40, false));
	CHECK(has_sizes(8 * 40, 8 * 30 + 3, 80, 140, 8 * 30 + 3, false));
	CHECK(has_sizes(8 * 40, 8 * 40, 8 * 40, 140, 8 * 40, false));
	CHECK(has_sizes(8 * 500, 0, 80, 600, 8 * 500, false));
	CHECK(has_sizes(8 * 501, 0, 80, 601, 8 * 500, true));
	CHECK(has_sizes(8 * 501, 8 * 499, 80, 601, 8 * 499, true));
	/* Refused: a fraction of a byte, less than the content, and less than was read. */
	CHECK(has_sizes(8 * 40 + 1, 8 * 30, 80, 0, 0, false));
	CHECK(has_sizes(8 * 40, 8 * 40 + 1, 80, 0, 0, false));
	CHECK(has_sizes(8 * 40, 8 * 20, 8 * 20 + 1, 0, 0, false));
	CHECK(has_sizes(8 * 40, 8 * 20, 8 * 20, 140, 8 * 20, false));
}

static unsigned int nr_beyond;

static int beyond_at_first(struct ctf_decoder *d)
{
	d->beyond = nr_beyond > 0;
	d->why = "beyond";
	return nr_beyond && nr_beyond-- ? -EINVAL : 0;
}

static int wrong_field(struct ctf_decoder *d)
{
	d->why = "wrong";
	return -EINVAL;
}

static int without_memory(struct ctf_decoder *d)
{
	CHECK(!d->beyond);
	return -ENOMEM;
}

static void test_decoded_headers(void)
{
	struct ctf_stream_reader stream = begin();
	struct ctf_type type = {.size = 1};

	CHECK(!decode_header(&stream, NULL) && has_noted(""));
	ctf_stream_seek(&stream, 0);
	decode_fields = beyond_at_first;
	nr_beyond = 2;
	CHECK(!decode_header(&stream, &type));
	CHECK(has_noted("decode 1;load 0 200 50000;decode 1;load 0 200 50000;decode 1;"));
	/* The file ends in the header. */
	stream.content = 8 * 100;
	nr_beyond = 1;
	ctf_stream_seek(&stream, 0);
	CHECK(decode_header(&stream, &type) == -EINVAL && stream.header_cut);
	CHECK(is_same(stream.decoder.why, "the header of the last packet is cut off"));
	stream.header_cut = false;
	stream.content = 8 * 600;
	load_result = -EIO;
	stream.window.why = "bad disk";
	nr_beyond = 1;
	CHECK(decode_header(&stream, &type) == -EIO && !stream.header_cut);
	CHECK(is_same(stream.decoder.why, "bad disk"));
	decode_fields = wrong_field;
	CHECK(decode_header(&stream, &type) == -EINVAL && is_same(stream.decoder.why, "wrong"));
	decode_fields = without_memory;
	stream.decoder.beyond = true;
	CHECK(decode_header(&stream, &type) == -ENOMEM);
	*log_text = '\0';
}

static void test_opened(void)
{
	struct ctf_stream_reader stream = begin();

	/* After a skipped packet, only the header of the next one is loaded at first. */
	stream.packet = 7;
	CHECK(!load_packet(&stream) && has_noted("load 7 0 50000;"));
	stream.skipped = true;
	CHECK(!load_packet(&stream) && has_noted("load 7 0 4096;") &&
			stream.window.normal == 50000);
	stream.window.normal = 4096;
	CHECK(!load_packet(&stream) && has_noted("load 7 0 4096;"));
	stream.window.normal = 100;
	CHECK(!load_packet(&stream) && has_noted("load 7 0 100;") && stream.window.normal == 100);
	/* A packet is loaded unless its first byte is loaded already. */
	stream = begin();
	stream.torn = stream.broken = stream.header_cut = true;
	stream.records = 9;
	stream.packet = 99;
	CHECK(!start_packet(&stream) && has_noted("") && stream.content == 8 * 501);
	CHECK(!stream.torn && !stream.broken && !stream.header_cut && !stream.records);
	stream.packet = 100;
	CHECK(!start_packet(&stream) && has_noted("load 100 0 50000;"));
	stream.packet = 99;
	CHECK(!start_packet(&stream) && has_noted("load 99 0 50000;"));
	load_result = -EIO;
	stream.packet = 400;
	CHECK(start_packet(&stream) == -EIO);
	load_result = 0;
	/* The values of the header. */
	stream = begin();
	stream.decoder.clock = 77;
	CHECK(!open_packet(&stream) && stream.info.cpu == -1 && stream.decoder.clock == 77);
	CHECK(stream.decoder.runs_clock && !stream.decoder.packet && !stream.good);
	*log_text = '\0';
}

/* Decode a header with a CPU, a time, and a size beyond the end of the file. */
static uint64_t packet_size;

static int decode_sizes(struct ctf_decoder *d)
{
	d->at = 64;
	d->packet->seen = 1u << CTF_ROLE_CPU_ID | 1u << CTF_ROLE_TIMESTAMP_BEGIN |
			1u << CTF_ROLE_PACKET_SIZE;
	d->packet->values[CTF_ROLE_CPU_ID] = 3;
	d->packet->values[CTF_ROLE_TIMESTAMP_BEGIN] = 1234;
	d->packet->values[CTF_ROLE_PACKET_SIZE] = packet_size;
	return 0;
}

static void test_growing_packets(void)
{
	struct ctf_type type = {.size = 1};

	for (unsigned int i = 0; i < 5; i++) {
		struct ctf_stream_reader stream = begin();

		classes.packet_header = &type;
		decode_fields = decode_sizes;
		stream.window.size = 300;
		packet_size = 8 * 400;
		grown_size = i == 1 ? 350 : i == 2 ? 400 : i == 0 ? 0 : 500;
		stream.follows = i == 4;
		CHECK(!open_packet(&stream) && stream.info.cpu == 3 &&
				stream.decoder.clock == 1234 && stream.good == 64);
		CHECK(stream.torn == (i == 0 || i == 1 || i == 4));
		CHECK(stream.extended == (i > 0 && i < 4));
		CHECK(stream.window.size == (i == 0 || i == 4 ? 300 : i == 1 ? 350 : 400));
		CHECK(!strstr(log_text, "grown;") == (i == 4));
		/* A packet extends the file only once. */
		*log_text = '\0';
		stream.window.size = 300;
		CHECK(!open_packet(&stream) && !strstr(log_text, "grown;") == (i > 0));
	}
	*log_text = '\0';
}

/* ---- parts of a trace, and lost packets and events ---- */

static void test_chosen(void)
{
	struct ctf_stream_reader stream = begin();

	/* Times are ticks plus 7. */
	set(&stream, CTF_ROLE_TIMESTAMP_BEGIN, 100);
	set(&stream, CTF_ROLE_TIMESTAMP_END, 200);
	stream.from_ns = 500;
	stream.to_ns = 50;
	stream.skipped = true;
	CHECK(choose_packet(&stream) == CTF_STREAM_RECORDS && !stream.skipped);
	stream.bounded = true;
	CHECK(choose_packet(&stream) == CTF_STREAM_END);
	stream.to_ns = 106;
	CHECK(choose_packet(&stream) == CTF_STREAM_END);
	stream.to_ns = 107;
	stream.skipped_begin = INT64_MIN;
	CHECK(choose_packet(&stream) == CTF_STREAM_TAIL && stream.skipped &&
			stream.skipped_begin == 107);
	stream.skipped_begin = 108;
	stream.from_ns = 208;
	CHECK(choose_packet(&stream) == CTF_STREAM_TAIL && stream.skipped_begin == 108);
	stream.from_ns = 207;
	CHECK(choose_packet(&stream) == CTF_STREAM_RECORDS && !stream.skipped);
	stream.from_ns = 500;
	stream.torn = true;
	CHECK(choose_packet(&stream) == CTF_STREAM_RECORDS);
	stream.torn = false;
	stream.class = &other_class;
	CHECK(choose_packet(&stream) == CTF_STREAM_RECORDS);
	stream.class = &stream_class;
	stream.fields.seen = 1u << CTF_ROLE_TIMESTAMP_BEGIN;
	CHECK(choose_packet(&stream) == CTF_STREAM_RECORDS);
}

static void test_lost(void)
{
	struct ctf_stream_reader stream = begin();
	const struct ctf_item *item = &stream.item;

	stream.fields.sequence_size = stream.fields.discarded_size = 64;
	CHECK(!packets_lost(&stream));
	set(&stream, CTF_ROLE_PACKET_SEQ_NUM, 9);
	CHECK(!packets_lost(&stream) && stream.previous_sequence == 9);
	stream.has_previous = true;
	stream.decoder.clock = 60;
	stream.previous_end = 40;
	set(&stream, CTF_ROLE_PACKET_SEQ_NUM, 10);
	CHECK(!packets_lost(&stream) && stream.previous_sequence == 10);
	set(&stream, CTF_ROLE_PACKET_SEQ_NUM, 12);
	CHECK(packets_lost(&stream) && item->kind == CTF_ITEM_LOST_PACKETS && item->count == 1);
	CHECK(item->begin_ns == 47 && item->ns == 67);
	set(&stream, CTF_ROLE_PACKET_SEQ_NUM, 20);
	stream.superseded = true;
	CHECK(!packets_lost(&stream) && stream.previous_sequence == 20);
	stream.superseded = false;
	stream.class = &other_class;
	set(&stream, CTF_ROLE_PACKET_SEQ_NUM, 25);
	CHECK(packets_lost(&stream) && item->count == 4 && !item->begin_ns);
	/* Lost events: up to the end of the packet, or the last record. */
	stream = begin();
	stream.fields.discarded_size = 64;
	stream.decoder.clock = 60;
	set(&stream, CTF_ROLE_EVENTS_DISCARDED, 5);
	CHECK(!events_discarded(&stream) && stream.has_previous && stream.previous_end == 60 &&
			stream.previous_discarded == 5);
	set(&stream, CTF_ROLE_EVENTS_DISCARDED, 8);
	set(&stream, CTF_ROLE_TIMESTAMP_END, 80);
	CHECK(events_discarded(&stream) && item->kind == CTF_ITEM_DISCARDED && item->count == 3);
	CHECK(item->begin_ns == 67 && item->ns == 87 && stream.previous_end == 80);
	set(&stream, CTF_ROLE_TIMESTAMP_END, 59);
	CHECK(!events_discarded(&stream) && stream.previous_end == 60);
	stream.superseded = true;
	set(&stream, CTF_ROLE_EVENTS_DISCARDED, 9);
	CHECK(!events_discarded(&stream) && stream.previous_discarded == 9);
	stream.superseded = false;
	stream.fields.seen = 0;
	CHECK(!events_discarded(&stream) && stream.previous_discarded == 9);
	set(&stream, CTF_ROLE_EVENTS_DISCARDED, 10);
	stream.class = &other_class;
	CHECK(events_discarded(&stream) && item->count == 1 && !item->begin_ns);
}

static void test_records(void)
{
	struct ctf_stream_reader stream = begin();

	stream.item.kind = CTF_ITEM_NOTE;
	stream.before = 0;
	CHECK(choose_record(&stream) == 1 && !stream.shown);
	stream.item.kind = CTF_ITEM_EVENT;
	stream.item.cycles = 50;
	stream.before = 51;
	stream.state = CTF_STREAM_RECORDS;
	CHECK(choose_record(&stream) == 1 && stream.shown && stream.state == CTF_STREAM_RECORDS);
	stream.shown = false;
	stream.before = 50;
	CHECK(choose_record(&stream) == 0 && stream.state == CTF_STREAM_END && !stream.shown);
	stream.before = UINT64_MAX;
	stream.after = 50;
	CHECK(choose_record(&stream) == 1);
	stream.continues = true;
	CHECK(choose_record(&stream) == 0);
	stream.after = 49;
	CHECK(choose_record(&stream) == 1);
	stream.item.cycles = UINT64_MAX;
	CHECK(choose_record(&stream) == 1);
	/* Messages about a record that cannot be read. */
	stream = begin();
	stream.decoder.why = "odd";
	stream.records = 6;
	CHECK(broken_record(&stream) == 1 && stream.broken && stream.state == CTF_STREAM_TAIL);
	CHECK(is_same(stream.item.text,
			"/t/s, byte 0, is damaged: odd; the remainder of this packet is skipped, 6 events of it are shown"));
	stream.torn = true;
	CHECK(broken_record(&stream) == 1);
	CHECK(is_same(stream.item.text,
			"/t/s, byte 0, is damaged: odd; the file ends inside its last packet, of which 6 events are shown"));
	/* After the last record. */
	stream.content = 0;
	stream.state = CTF_STREAM_RECORDS;
	CHECK(next_record(&stream) == 0 && stream.state == CTF_STREAM_TAIL);
	stream.broken = false;
	CHECK(next_record(&stream) == 1 && strstr(stream.item.text, "its last packet is cut off"));
	stream.torn = stream.broken = false;
	CHECK(next_record(&stream) == 0 && !stream.broken);
	CHECK(foreign_packet(&stream) == 1 && stream.foreign_reported &&
			stream.item.kind == CTF_ITEM_NOTE);
	CHECK(is_same(stream.item.text,
			"/t/s: a packet has another UUID than the metadata; side reads it anyway"));
}

static void test_renewed(void)
{
	struct ctf_trace_classes newer = {.trace.path = "/n", .slot_count = 5}, newest = newer;
	struct ctf_stream_reader stream = begin();

	CHECK(!renew_classes(&stream) && !stream.decoder.slots && stream.class);
	newest.trace.path = "/m";
	classes.newer = &newer;
	newer.newer = &newest;
	stream.origin.clock = &clock_of_test;
	CHECK(!renew_classes(&stream) && stream.classes == &newest && stream.decoder.slots);
	for (unsigned int i = 0; i < 6; i++)
		CHECK(!stream.decoder.slots[i]);
	CHECK(!stream.class && !stream.origin.clock && !strcmp(stream.window.dir, "/m"));
	free(stream.decoder.slots);
	classes.newer = NULL;
}

int main(void)
{
	test_times();
	test_counters();
	test_positions();
	test_more();
	test_damage();
	test_ends();
	test_found();
	test_headers();
	test_sizes();
	test_decoded_headers();
	test_opened();
	test_growing_packets();
	test_chosen();
	test_lost();
	test_records();
	test_renewed();
	return 0;
}
