/* SPDX-License-Identifier: MIT */
/*
 * What the reader finds in a complete stream, and in the same stream with one change: each item
 * with all of its members. The expected items are in exact.items. Then each allocation and each
 * read fails in turn: the reader reports that, or finds the same.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../failing-calls.h"
#include "ctf/ctf.h"
#include "ctf/type.h"
#include "scratch.h"

static char scratch[64], directory[96];
static struct error why;

/* ---- the trace ---- */

#define PACKET 84 /* bytes of a header */
#define RECORD 17

/* The begin of each packet: an empty one, one of two records, of three, of one. */
static const size_t packets[] = {0, PACKET, 2 * PACKET + 2 * RECORD, 3 * PACKET + 5 * RECORD,
		4 * PACKET + 6 * RECORD};

static void append(struct ctf_stream *stream, uint64_t tick, unsigned int count, uint64_t discarded)
{
	unsigned char records[4 * RECORD];
	struct ctf_span span = {.records = records,
			.size = count * RECORD,
			.timestamp_begin = tick,
			.timestamp_end = tick + 10,
			.events_discarded = discarded};

	for (unsigned int i = 0; i < count; i++) {
		unsigned char *at = records + i * RECORD;
		uint64_t time = tick + i;
		uint32_t id = 7, number = (uint32_t)(tick * 100 + i);

		at[0] = 31;
		memcpy(at + 1, &id, 4);
		memcpy(at + 5, &time, 8);
		memcpy(at + 13, &number, 4);
	}
	assert_int_equal(ctf_stream_append(stream, &span, &why), 0);
}

static void write_trace(const char *name, enum ctf_format format, int compression)
{
	const struct ctf_writer_config config = {.dir = directory,
			.clock = {.frequency = 3, .offset_s = 1000, .offset = 1},
			.vpid = 12,
			.hostname = "host",
			.procname = "proc",
			.exe = "/exe",
			.format = format,
			.compression = compression};
	struct ctf_arena *arena = ctf_arena_create();
	struct ctf_type *fields = ctf_type_struct(arena, 1);
	const struct ctf_lost lost = {"ring_2", "a:b", "full", 5};
	struct ctf_writer *writer;
	struct ctf_stream *stream;

	snprintf(directory, sizeof(directory), "%s/%s", scratch, name);
	scratch_delete(directory);
	assert_int_equal(ctf_writer_create(&config, &writer, &why), 0);
	ctf_member_set(&fields->members[0], "_n", ctf_type_integer(arena, 32, false), false);
	assert_int_equal(ctf_writer_add_event_json(
					 writer, 0, 7, "a:number", 4, NULL, fields, "{}", &why),
			0);
	assert_int_equal(ctf_writer_open_stream(writer, 0, 2, 100, &stream, &why), 0);
	append(stream, 110, 2, 3);
	append(stream, 130, 3, 3);
	append(stream, 150, 1, 8);
	if (compression)
		assert_int_equal(ctf_writer_lost(writer, 155, &lost, 1, &why), 0);
	assert_int_equal(ctf_writer_close(writer, &why), 0);
	ctf_arena_destroy(arena);
}

/* ---- items as text ---- */

static void print_path(const char *text, FILE *out)
{
	const char *found;

	while ((found = strstr(text, scratch))) {
		fprintf(out, "%.*sDIR", (int)(found - text), text);
		text = found + strlen(scratch);
	}
	fputs(text, out);
}

static void print_value(const struct ctf_value *value, FILE *out)
{
	struct ctf_cursor cursor;
	const struct ctf_value *inner;

	if (value->member)
		fprintf(out, "%s=", value->member->name);
	if (value->is_text) {
		fprintf(out, "\"%.*s\"", (int)value->size, value->text);
	} else if (value->type->kind == CTF_STRUCT || value->type->kind == CTF_VARIANT) {
		fputs("{", out);
		ctf_cursor_start(&cursor, value);
		while ((inner = ctf_cursor_next(&cursor))) {
			fputs(" ", out);
			print_value(inner, out);
		}
		fputs(" }", out);
	} else {
		fprintf(out, "%" PRIu64, value->u);
	}
}

static void print_item(const struct ctf_item *item, FILE *out)
{
	static const char *const kinds[] = {"event", "discarded", "lost packets", "damage", "note"};

	fprintf(out, "\t%s", kinds[item->kind]);
	if (item->timed)
		fprintf(out, " %" PRId64 " from %" PRId64 " cycle %" PRIu64, item->ns,
				item->begin_ns, item->cycles);
	if (item->count)
		fprintf(out, " count %" PRIu64, item->count);
	if (item->cut)
		fputs(" cut", out);
	if (item->stream)
		fprintf(out, " %s cpu %" PRId64 " class %" PRIu64, item->stream->name,
				item->stream->cpu, item->stream->class_id);
	if (item->text) {
		fputs(": ", out);
		print_path(item->text, out);
	}
	if (item->event)
		fprintf(out, " %s(%" PRIu64 ") %" PRIu64 " bytes from %02x", item->event->name,
				item->event->id, item->body_size, *item->body);
	if (item->header)
		print_value(item->header, out);
	if (item->fields)
		print_value(item->fields, out);
	fputs("\n", out);
}

static int64_t from_ns, to_ns; /* if not both 0: only items of these times are read */

/* Returns 0 or a negative errno, and all items up to there as text. */
static int read_items(const char *path, char **text)
{
	struct ctf_reader *reader;
	struct ctf_item item;
	size_t size;
	FILE *out;
	int ret = ctf_reader_open(path, &reader, &why);

	*text = NULL;
	if (ret)
		return ret;
	out = open_memstream(text, &size);
	if (from_ns || to_ns)
		ctf_reader_set_times(reader, from_ns, to_ns);
	while ((ret = ctf_reader_next(reader, &item)) > 0)
		print_item(&item, out);
	ctf_reader_close(reader);
	fclose(out);
	return ret;
}

/* ---- the same stream with one change ---- */

static char *found; /* all sections */
static size_t found_size;
static FILE *found_file;

static void read_section(const char *title)
{
	char *text;

	assert_int_equal(read_items(directory, &text), 0);
	fprintf(found_file, "%s\n%s", title, text);
	free(text);
}

static unsigned char *stream_bytes;
static size_t stream_size;

static void with_number(
		const char *title, unsigned int packet, size_t at, uint64_t number, size_t size)
{
	unsigned char *bytes = malloc(stream_size);

	memcpy(bytes, stream_bytes, stream_size);
	memcpy(bytes + packets[packet] + at, &number, size);
	scratch_write(directory, "ring_2", bytes, stream_size);
	free(bytes);
	read_section(title);
}

static void with_size(const char *title, size_t size)
{
	scratch_write(directory, "ring_2", stream_bytes, size);
	read_section(title);
}

/* Records of the third packet with short headers: 4 and 6 bytes, and times of 27 bits. */
static void with_compact_records(void)
{
	unsigned char bytes[2 * PACKET];
	uint32_t compact = 7 | 5u << 5, medium = 30 | 4u << 5, number = 77;
	uint16_t id = 7;
	uint64_t bits = (PACKET + 2 * 8 + 10 - 4 + 4) * 8;

	memcpy(bytes, stream_bytes + packets[1], PACKET);
	memcpy(bytes + 48, &bits, 8);
	memcpy(bytes + 56, &bits, 8);
	memcpy(bytes + PACKET, &compact, 4);
	memcpy(bytes + PACKET + 4, &number, 4);
	memcpy(bytes + PACKET + 8, &compact, 4);
	number++;
	memcpy(bytes + PACKET + 12, &number, 4);
	memcpy(bytes + PACKET + 16, &medium, 4);
	memcpy(bytes + PACKET + 20, &id, 2);
	number++;
	memcpy(bytes + PACKET + 22, &number, 4);
	scratch_write(directory, "ring_2", bytes, bits / 8);
	read_section("records with short headers, whose times wrap");
}

static void test_items(void **state)
{
	const char *expected_path = *state;
	size_t expected_size;
	unsigned char *expected;

	write_trace("plain", CTF_FORMAT_1, 0);
	stream_bytes = scratch_read(directory, "ring_2", &stream_size);
	assert_int_equal(stream_size, packets[4]);
	found_file = open_memstream(&found, &found_size);
	read_section("a whole stream");
	with_size("without its last byte", packets[4] - 1);
	with_size("without its last record", packets[4] - RECORD);
	with_size("cut inside the last header", packets[4] - RECORD - 1);
	with_size("cut inside a record of three", packets[3] - RECORD - 1);
	with_size("cut behind a packet", packets[3]);
	with_size("one byte of a header", packets[3] + 1);
	with_number("another magic number", 2, 0, 0x12345678, 4);
	with_number("another UUID", 2, 4, 0, 4);
	with_number("another stream", 2, 20, 9, 4);
	with_number("a content of one bit more than the packet", 2, 48,
			(PACKET + 3 * RECORD) * 8 + 1, 8);
	with_number("a content without the last record", 2, 48, (PACKET + 2 * RECORD) * 8, 8);
	with_number("a content as large as the header", 2, 48, PACKET * 8, 8);
	with_number("a content of less than the header", 2, 48, PACKET * 8 - 1, 8);
	with_number("a packet of one bit more", 2, 56, (PACKET + 3 * RECORD) * 8 + 1, 8);
	with_number("an empty packet", 2, 56, 0, 8);
	with_number("a packet that is larger than the file", 3, 56, 1 << 20, 8);
	with_number("a number of two packets later", 2, 64, 4, 8);
	with_number("a number of an earlier packet", 2, 64, 0, 8);
	with_number("two losses more", 2, 72, 5, 8);
	with_number("fewer losses", 2, 72, 1, 8);
	with_number("a later begin", 2, 32, 133, 8);
	with_number("a later end", 2, 40, 149, 8);
	with_number("an earlier end", 2, 40, 1, 8);
	with_number("an event that is not described", 2, PACKET + RECORD + 1, 8, 4);
	with_number("a time of the far future", 2, PACKET + RECORD + 5, UINT64_MAX, 8);
	with_number("another CPU", 2, 80, 9, 4);
	with_compact_records();
	/*
	 * From the third packet on, and up to its begin. Times of ticks: 1000 s + (1 + tick) / 3 s.
	 */
	scratch_write(directory, "ring_2", stream_bytes, stream_size);
	from_ns = INT64_C(1043666666667);
	to_ns = INT64_C(2000000000000);
	read_section("from 130 on");
	from_ns++;
	read_section("from a nanosecond later on");
	from_ns = INT64_C(1047000000001);
	read_section("from behind the second packet's end on");
	from_ns = 1;
	to_ns = INT64_C(1043666666666);
	read_section("up to 130");
	to_ns--;
	read_section("up to a nanosecond earlier");
	from_ns = to_ns = 0;
	fclose(found_file);
	expected = scratch_read("/", expected_path, &expected_size);
	assert_string_equal(found, (char *)expected);
	free(found);
	free(expected);
	free(stream_bytes);
}

/* ---- calls that fail ---- */

/* Missing items were reported as damage. */
static bool is_reported(const char *text)
{
	return strstr(text, "damage") || strstr(text, "cannot be read");
}

static void read_with_failures(const char *path)
{
	char *whole, *text;
	unsigned int number, nr_errors = 0;

	assert_int_equal(read_items(path, &whole), 0);
	for (number = 1;; number++) {
		int ret;

		failing_arm(number);
		ret = read_items(path, &text);
		if (!failing_has_failed()) {
			assert_int_equal(ret, 0);
			assert_string_equal(text, whole);
			free(text);
			break;
		}
		nr_errors += ret < 0;
		if (ret >= 0 && strcmp(text, whole) != 0 && !is_reported(text))
			print_error("call %u, %s()\n", number, failing_name);
		assert_true(ret < 0 || !strcmp(text, whole) || is_reported(text));
		if (ret < 0 && ret != -EIO)
			assert_int_equal(ret, -ENOMEM);
		free(text);
	}
	assert_true(number > 10);
	assert_true(nr_errors > 5);
	free(whole);
}

static void test_failing_reads(void **state)
{
	char *whole, *text;

	(void)state;
	write_trace("plain", CTF_FORMAT_1, 0);
	read_with_failures(directory);
	write_trace("json", CTF_FORMAT_2, 0);
	read_with_failures(directory);
	write_trace("frames", CTF_FORMAT_1, 3);
	read_with_failures(directory);
	/* Interrupted reads are continued. */
	assert_int_equal(read_items(directory, &whole), 0);
	for (unsigned int count = 1; count < 20; count++) {
		failing_interrupts = count;
		assert_int_equal(read_items(directory, &text), 0);
		assert_int_equal(failing_interrupts, 0);
		assert_string_equal(text, whole);
		free(text);
	}
	free(whole);
}

static void test_failing_repairs(void **state)
{
	unsigned int repaired, number;
	unsigned char *bytes;
	size_t size, size_after;

	(void)state;
	write_trace("plain", CTF_FORMAT_1, 0);
	bytes = scratch_read(directory, "ring_2", &size);
	for (number = 1;; number++) {
		int ret;

		scratch_write(directory, "ring_2", bytes, size - 1);
		failing_arm(number);
		ret = ctf_repair(directory, &repaired, &why);
		if (!failing_has_failed())
			break;
		/* A file that cannot be read keeps its bytes. */
		if (!ret && !repaired)
			assert_non_null(strstr("pread fstat", failing_name));
	}
	assert_int_equal(repaired, 1);
	free(scratch_read(directory, "ring_2", &size_after));
	assert_int_equal(size_after, size - RECORD);
	free(bytes);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_prestate(test_items, argv[1]),
			cmocka_unit_test(test_failing_reads),
			cmocka_unit_test(test_failing_repairs),
	};
	int ret;

	if (argc != 2 || CTF_HOST_BIG_ENDIAN)
		return argc == 2 ? 77 : 1;
	scratch_make(scratch);
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	scratch_delete(scratch);
	return ret;
}
