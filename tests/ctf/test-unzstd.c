/* SPDX-License-Identifier: MIT */
/*
 * Streams in zstd frames: all of it is read, damage is reported and loses its packet only, hostile
 * frames exhaust no memory and cause no crash.
 */
#include <sys/resource.h>
#include <zstd.h>

#define NUMBERS_COMPRESSION 3
#include "numbers.h"

#define PACKETS 5u
#define EVENTS 40u /* Number of events of a packet. */
#define TOTAL (PACKETS * EVENTS)

/* As in numbers.h, but numbers may be missing. */
struct heard {
	uint32_t events;
	uint32_t last;
	uint32_t damages;
	char damage[1024];
};

static struct heard listen(const struct fixture *f)
{
	struct heard heard = {0};
	struct ctf_reader *reader;
	struct error error;
	struct ctf_item item;
	uint32_t number;

	if (ctf_reader_open(f->dir, &reader, &error))
		fail_msg("%s", error.text);
	while (ctf_reader_next(reader, &item) > 0) {
		if (item.kind == CTF_ITEM_DAMAGE) {
			heard.damages++;
			snprintf(heard.damage, sizeof(heard.damage), "%s", item.text);
		} else if (item.kind == CTF_ITEM_EVENT) {
			number = (uint32_t)ctf_value_member(item.fields, "_n")->u;
			assert_true(!heard.events || number > heard.last);
			assert_true(number < TOTAL);
			heard.last = number;
			heard.events++;
		}
	}
	ctf_reader_close(reader);
	return heard;
}

static void write_packets(struct fixture *f)
{
	for (uint32_t i = 0; i < PACKETS; i++)
		assert_int_equal(append(f, TICK0 + 1000 * (i + 1), i * EVENTS, EVENTS, 0), 0);
	close_writer(f);
}

static unsigned char *stream_bytes(const struct fixture *f, size_t *size)
{
	return scratch_read(f->dir, "ring_2.zst", size);
}

static void replace(const struct fixture *f, const void *bytes, size_t size)
{
	scratch_write(f->dir, "ring_2.zst", bytes, size);
}

/* Returns the begin of frame `number`. */
static size_t frame_at(const unsigned char *bytes, size_t size, unsigned int number)
{
	size_t at = 0;

	while (number--)
		at += ZSTD_findFrameCompressedSize(bytes + at, size - at);
	return at;
}

static void test_whole(void **state)
{
	struct fixture *f = *state;
	struct found found;

	write_packets(f);
	found = read_all(f);
	assert_int_equal(found.events, TOTAL);
	assert_int_equal(found.damages, 0);
}

/* The file ends at any byte: the complete events before it are shown, and the end is reported. */
static void test_cut(void **state)
{
	struct fixture *f = *state;
	uint32_t before = 0;
	unsigned char *bytes;
	size_t size;

	write_packets(f);
	bytes = stream_bytes(f, &size);
	for (size_t cut = 1; cut < size; cut++) {
		struct heard heard;
		bool at_frame = false;

		replace(f, bytes, cut);
		heard = listen(f);
		for (unsigned int i = 0; i <= PACKETS; i++)
			at_frame |= frame_at(bytes, size, i) == cut;
		assert_true(heard.events >= before);
		assert_true(heard.damages || at_frame);
		before = heard.events;
	}
	assert_true(before >= TOTAL - EVENTS);
	free(bytes);
}

/* One wrong bit loses one packet, and is reported. */
static void test_flipped(void **state)
{
	struct fixture *f = *state;
	unsigned char *bytes;
	size_t size;

	write_packets(f);
	bytes = stream_bytes(f, &size);
	/* The first packet is empty. */
	for (size_t at = frame_at(bytes, size, 1); at < size; at++) {
		struct heard heard;

		bytes[at] ^= (unsigned char)(1u << at % 8);
		replace(f, bytes, size);
		heard = listen(f);
		if (heard.events < TOTAL) {
			assert_true(heard.damages);
			assert_true(heard.events >= TOTAL - EVENTS);
		}
		bytes[at] ^= (unsigned char)(1u << at % 8);
	}
	free(bytes);
}

/* Bytes that are not a frame are skipped. */
static void test_strange(void **state)
{
	struct fixture *f = *state;
	unsigned char *bytes, *longer;
	struct heard heard;
	size_t size, at;

	write_packets(f);
	bytes = stream_bytes(f, &size);
	longer = calloc(1, size + 100);
	at = frame_at(bytes, size, 3);
	memcpy(longer, bytes, at);
	memcpy(longer + at + 100, bytes + at, size - at);
	replace(f, longer, size + 100);
	heard = listen(f);
	assert_int_equal(heard.events, TOTAL);
	assert_int_equal(heard.damages, 1);
	assert_non_null(strstr(heard.damage, "are not zstd frames"));
	assert_non_null(strstr(heard.damage, "100 bytes"));
	/* At the end, too. */
	memcpy(longer, bytes, size);
	memset(longer + size, 'x', 100);
	replace(f, longer, size + 100);
	heard = listen(f);
	assert_int_equal(heard.events, TOTAL);
	assert_non_null(strstr(heard.damage, "100 bytes"));
	free(longer);
	free(bytes);
}

/* A skippable frame at the end of the data: complete, and truncated at each byte. */
static void test_skipped_end(void **state)
{
	static const unsigned char frame[] = {
			0x5a, 0x2a, 0x4d, 0x18, 5, 0, 0, 0, 'h', 'e', 'l', 'l', 'o'};
	struct fixture *f = *state;
	unsigned char *bytes, *longer;
	struct heard heard;
	size_t size, cut;

	write_packets(f);
	bytes = stream_bytes(f, &size);
	longer = calloc(1, size + sizeof(frame));
	memcpy(longer, bytes, size);
	memcpy(longer + size, frame, sizeof(frame));
	for (cut = 0; cut <= sizeof(frame); cut++) {
		replace(f, longer, size + sizeof(frame) - cut);
		heard = listen(f);
		assert_int_equal(heard.events, TOTAL);
		assert_int_equal(heard.damages, cut > 0 && cut < sizeof(frame));
	}
	/* A skippable frame without content. */
	longer[size + 4] = 0;
	replace(f, longer, size + 8);
	heard = listen(f);
	assert_int_equal(heard.events, TOTAL);
	assert_int_equal(heard.damages, 0);
	free(longer);
	free(bytes);
}

static unsigned char *plain_bytes(const unsigned char *bytes, size_t size, size_t *plain_size)
{
	unsigned char *plain = malloc(1 << 20);

	*plain_size = 0;
	for (size_t at = 0; at < size;) {
		size_t frame = ZSTD_findFrameCompressedSize(bytes + at, size - at);
		size_t got = ZSTD_decompress(
				plain + *plain_size, (1 << 20) - *plain_size, bytes + at, frame);

		assert_false(ZSTD_isError(got));
		*plain_size += got;
		at += frame;
	}
	return plain;
}

/* Frames of other producers: one for all packets, or many for a packet, without their size. */
static void test_other_frames(void **state)
{
	struct fixture *f = *state;
	unsigned char *bytes, *plain, *made = malloc(2 << 20);
	static const size_t pieces[] = {1 << 20, 1000, 100, 7};
	size_t size, plain_size;

	write_packets(f);
	bytes = stream_bytes(f, &size);
	plain = plain_bytes(bytes, size, &plain_size);
	for (unsigned int i = 0; i < 4; i++) {
		ZSTD_CCtx *context = ZSTD_createCCtx();
		ZSTD_outBuffer out = {made, 2 << 20, 0};

		ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
		for (size_t at = 0; at < plain_size; at += pieces[i]) {
			size_t left = plain_size - at;
			ZSTD_inBuffer in = {plain + at, left < pieces[i] ? left : pieces[i], 0};

			assert_int_equal(ZSTD_compressStream2(context, &out, &in, ZSTD_e_end), 0);
		}
		ZSTD_freeCCtx(context);
		replace(f, made, out.pos);
		assert_int_equal(listen(f).events, TOTAL);
		assert_int_equal(listen(f).damages, 0);
	}
	/* The name of a compressed file, but without frames. */
	replace(f, plain, plain_size);
	assert_int_equal(listen(f).events, TOTAL);
	free(plain);
	free(made);
	free(bytes);
}

/* Many zeros in a few bytes: they need time, but no memory. */
static void test_bomb(void **state)
{
	struct fixture *f = *state;
	size_t piece = 1 << 20, size = 64 * piece, capacity = 1 << 20, used = 0, bytes_size;
	unsigned char *nothing = calloc(1, piece), *made = malloc(capacity), *bytes;
	ZSTD_CCtx *context = ZSTD_createCCtx();
	struct rusage before, after;
	ZSTD_outBuffer out = {made, capacity, 0};
	struct heard heard;

	write_packets(f);
	bytes = stream_bytes(f, &bytes_size);
	ZSTD_CCtx_setPledgedSrcSize(context, size);
	while (used < size) {
		ZSTD_inBuffer in = {nothing, piece, 0};

		used += piece;
		ZSTD_compressStream2(
				context, &out, &in, used < size ? ZSTD_e_continue : ZSTD_e_end);
	}
	ZSTD_freeCCtx(context);
	assert_true(out.pos + bytes_size < capacity);
	memcpy(made + out.pos, bytes, bytes_size);
	replace(f, made, out.pos + bytes_size);
	getrusage(RUSAGE_SELF, &before);
	heard = listen(f);
	getrusage(RUSAGE_SELF, &after);
	assert_int_equal(heard.events, TOTAL);
	assert_true(heard.damages);
#ifndef __SANITIZE_ADDRESS__
	assert_true(after.ru_maxrss - before.ru_maxrss < 32 << 10); /* KiB */
#endif
	free(made);
	free(nothing);
	free(bytes);
}

/* The tail of a packet that is written later, as a following reader sees it. */
static void test_grows(void **state)
{
	struct fixture *f = *state;
	struct ctf_reader *reader;
	struct found found = {0};
	struct ctf_item item;
	unsigned char *bytes;
	bool recording = true;
	size_t size, at;

	write_packets(f);
	bytes = stream_bytes(f, &size);
	replace(f, bytes, frame_at(bytes, size, 3));
	assert_int_equal(ctf_reader_open(f->dir, &reader, &f->error), 0);
	ctf_reader_follow(reader, NULL);
	while (ctf_reader_next_until(reader, INT64_MAX, &item) > 0)
		take(&found, &item);
	assert_int_equal(found.events, 2 * EVENTS);
	at = frame_at(bytes, size, 4);
	replace(f, bytes, at);
	assert_int_equal(ctf_reader_refresh(reader, &recording), 0);
	assert_false(recording);
	while (ctf_reader_next_until(reader, INT64_MAX, &item) > 0)
		take(&found, &item);
	assert_int_equal(found.events, 3 * EVENTS);
	assert_int_equal(found.damages, 0);
	ctf_reader_close(reader);
	free(bytes);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
			TEST(test_whole),
			TEST(test_cut),
			TEST(test_flipped),
			TEST(test_strange),
			TEST(test_skipped_end),
			TEST(test_other_frames),
			TEST(test_bomb),
			TEST(test_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
