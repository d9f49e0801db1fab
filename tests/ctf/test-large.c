/* SPDX-License-Identifier: MIT */
/*
 * Frames of 4 GiB, decoders with 256 MiB, and an event of 256 MiB: the greatest permitted size, and
 * one byte more. The test includes the files and replaces allocations and reads, so that it needs
 * no memory of that size.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <cmocka.h>

/* ---- replaced functions ---- */

static uint64_t frame_size; /* of a compressed frame, and of the file */
static size_t most_wanted;
static unsigned char few_bytes[16];

static void *played_realloc(void *old, size_t size)
{
	assert_true(!old || old == few_bytes);
	most_wanted = size;
	return few_bytes;
}

static ssize_t played_pread(int fd, void *to, size_t size, off_t at)
{
	(void)fd;
	(void)to;
	assert_true(size <= SSIZE_MAX);
	if ((uint64_t)at + size > frame_size + 7)
		size = (uint64_t)at > frame_size + 7 ? 0 : frame_size + 7 - (uint64_t)at;
	return (ssize_t)size;
}

static size_t played_find(const void *bytes, size_t size)
{
	assert_ptr_equal(bytes, few_bytes);
	return size < frame_size ? (size_t)-ZSTD_error_srcSize_wrong : frame_size;
}

static size_t context_size;

static size_t played_sizeof(const ZSTD_DCtx *context)
{
	assert_non_null(context);
	return context_size;
}

static size_t wanted_from, wanted_size;
static unsigned int nr_loads;

struct ctf_window;
static int played_load(struct ctf_window *window, uint64_t from, size_t wanted)
{
	assert_non_null(window);
	wanted_from = from;
	wanted_size = wanted;
	nr_loads++;
	return 0;
}

#define realloc played_realloc
#define pread played_pread
#define ZSTD_findFrameCompressedSize played_find
#include "ctf/compress.c" /* NOLINT(bugprone-suspicious-include): reaches static functions */
#undef ZSTD_findFrameCompressedSize
#undef pread
#undef realloc
#undef FRAME_MAX
#undef unzstd_set_error /* of cmocka */
#define ZSTD_sizeof_DCtx played_sizeof
#include "ctf/read/unzstd.c" /* NOLINT(bugprone-suspicious-include) */
#undef ZSTD_sizeof_DCtx
#define ctf_window_load(window, from, wanted) played_load(window, from, wanted)
#include "ctf/read/stream.c" /* NOLINT(bugprone-suspicious-include) */
#undef ctf_window_load

/* ---- compressed frames ---- */

static void test_frames(void **state)
{
	struct ctf_frames frames;

	(void)state;
	frame_size = UINT64_C(4) << 30;
	ctf_frames_start(&frames, -1);
	assert_int_equal(ctf_frames_next(&frames), 1);
	assert_true(frames.size == UINT64_C(4) << 30 && most_wanted == UINT64_C(4) << 30);
	frame_size++;
	ctf_frames_start(&frames, -1);
	assert_int_equal(ctf_frames_next(&frames), -EBADMSG);
	assert_string_equal(frames.reason, "a frame is larger than 4 GiB");
	assert_true(!frames.size && !frames.is_cut);
}

/* ---- frames, unpacked ---- */

/* Finds a frame of RLE blocks, each of 128 KiB, whose head has this size. */
static int read_blocks(uint64_t size, uint32_t blocks, struct unzstd_frame *frame)
{
	struct unzstd_file file = {.fd = memfd_create("frame", MFD_CLOEXEC)};
	size_t used = 14 + (size_t)4 * blocks;
	unsigned char *bytes = calloc(1, used), *to = bytes + 14;
	int ret;

	assert_true(file.fd >= 0 && bytes);
	memcpy(bytes, "\x28\xb5\x2f\xfd\xc0", 5);
	bytes[5] = 0x38;
	for (unsigned int i = 0; i < 8; i++)
		bytes[6 + i] = (unsigned char)(size >> 8 * i);
	for (uint32_t i = 0; i < blocks; i++, to += 4) {
		const uint32_t head = (i + 1 == blocks) | 1u << 1 | (128u << 10) << 3;

		to[0] = (unsigned char)head;
		to[1] = (unsigned char)(head >> 8);
		to[2] = (unsigned char)(head >> 16);
	}
	assert_int_equal(write(file.fd, bytes, used), used);
	ret = unzstd_check_frame(&file, used, 0, frame);
	close(file.fd);
	free(bytes);
	return ret;
}

static void test_unpacked(void **state)
{
	const uint64_t most = UINT64_C(4) << 30;
	struct unzstd_frame frame;

	(void)state;
	assert_int_equal(read_blocks(most, 32768, &frame), 1);
	assert_true(frame.is_whole && frame.size == most);
	assert_int_equal(read_blocks(most + 1, 32769, &frame), 0);
	assert_true(frame.is_whole && frame.size == most + 1);
	/* More blocks than such a frame can have. */
	assert_int_equal(read_blocks(most, 32770, &frame), 1);
	assert_int_equal(read_blocks(most, 32771, &frame), 0);
	assert_false(frame.is_whole);
}

/* The memory of all decoders together; a decoder that does not fit starts again. */
static void test_held(void **state)
{
	struct ctf_unzstd unzstd = {.context = ZSTD_createDCtx()};

	(void)state;
	assert_non_null(unzstd.context);
	context_size = 1000;
	held = (256u << 20) - 1000;
	unzstd_account_context(&unzstd);
	assert_true(unzstd.context && unzstd.held == 1000 && held == 256u << 20);
	unzstd_account_context(&unzstd);
	assert_true(unzstd.context && held == 256u << 20);
	context_size = 1001;
	unzstd_account_context(&unzstd);
	assert_true(!unzstd.context && !unzstd.held && held == (256u << 20) - 1000);
	unzstd_account_context(&unzstd);
	assert_true(held == (256u << 20) - 1000);
	held = 0;
}

/* ---- events ---- */

static void test_event(void **state)
{
	static const size_t counts[] = {1000, (128u << 20) - 1, 128u << 20, (256u << 20) - 1};
	static const size_t wanted[] = {2000, (256u << 20) - 2, 256u << 20, 256u << 20};
	struct ctf_stream_reader stream = {.packet = 77,
			.content = UINT64_MAX,
			.window = {.at = 77, .size = UINT64_MAX / 8}};

	(void)state;
	stream.content = UINT64_MAX / 16;
	for (unsigned int i = 0; i < 4; i++) {
		stream.window.count = counts[i];
		stream.decoder.why = NULL;
		nr_loads = 0;
		assert_int_equal(load_more(&stream, 0), 1);
		assert_true(nr_loads == 1 && wanted_from == 77 && wanted_size == wanted[i]);
		assert_null(stream.decoder.why);
		stream.decoder.end = 0;
	}
	stream.window.count = 256u << 20;
	nr_loads = 0;
	assert_int_equal(load_more(&stream, 0), 0);
	assert_string_equal(stream.decoder.why, "an event is larger than 256 MiB");
	assert_int_equal(nr_loads, 0);
	/* The window can begin later. */
	assert_int_equal(load_more(&stream, 8), 1);
	assert_true(nr_loads == 1 && wanted_from == 78 && !wanted_size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_frames),
			cmocka_unit_test(test_unpacked),
			cmocka_unit_test(test_held),
			cmocka_unit_test(test_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
