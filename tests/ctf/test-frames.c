/* SPDX-License-Identifier: MIT */
/*
 * Frames of zstd: each form of a head, blocks and their limits, frames that are truncated or
 * damaged, bytes that are not frames, and reads in pieces.
 */
/* Before cmocka.h, which defines a macro unzstd_set_error(). */
#include "ctf/read/unzstd.c" /* NOLINT(bugprone-suspicious-include): tests its static functions */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "../failing-calls.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static unsigned char bytes[1 << 20];
static size_t used;
static int descriptor = -1;
static struct unzstd_file opened;

/* Makes a file of `bytes`. */
static struct unzstd_file *file_of_bytes(void)
{
	if (descriptor >= 0)
		close(descriptor);
	descriptor = memfd_create("frames", MFD_CLOEXEC);
	assert_true(descriptor >= 0);
	assert_int_equal(write(descriptor, bytes, used), used);
	opened = (struct unzstd_file){.fd = descriptor};
	return &opened;
}

static void put_bytes(const void *from, size_t size)
{
	assert_true(used + size <= sizeof(bytes));
	memcpy(bytes + used, from, size);
	used += size;
}

static void put_number(uint64_t number, unsigned int size)
{
	for (unsigned int i = 0; i < size; i++)
		bytes[used++] = (unsigned char)(number >> 8 * i);
}

static void put_block(bool is_last, unsigned int type, uint32_t size)
{
	put_number(is_last | type << 1 | size << 3, 3);
}

/* ---- heads ---- */

/* RFC 8878, 3.1.1.1: for each descriptor, the length of the head and the size of the content. */
static void test_heads(void **state)
{
	static const unsigned int dictionary[] = {0, 1, 2, 4}, content[] = {0, 2, 4, 8};
	unsigned char head[HEAD_MAX];

	(void)state;
	for (unsigned int form = 0; form < 256; form++) {
		bool single = form >> 5 & 1, has_sum = !(form >> 2 & 1);
		unsigned int width = content[form >> 6], before = 5 + dictionary[form & 3];
		uint64_t expected = 0, size = 1;

		before += single ? 0 : 1;
		width = width ? width : single;
		for (unsigned int i = 0; i < sizeof(head); i++)
			head[i] = (unsigned char)(0x81 + 5 * i);
		head[4] = (unsigned char)form;
		for (unsigned int i = 0; i < width; i++)
			expected |= (uint64_t)head[before + i] << 8 * i;
		expected = !width ? UINT64_MAX : width == 2 ? expected + 256 : expected;
		for (size_t there = 0; there <= sizeof(head); there++) {
			bool is_good = !(form >> 3 & 1) && there >= 6 && there >= before + width;

			assert_int_equal(unzstd_read_head(head, there, &size, &has_sum),
					is_good ? before + width : 0);
			if (!is_good)
				continue;
			assert_int_equal(size, expected);
			assert_int_equal(has_sum, form >> 2 & 1);
		}
	}
}

/* ---- blocks ---- */

static int walk_all(uint64_t end, uint64_t *at, uint64_t *most)
{
	*most = 77;
	return walk_blocks(file_of_bytes(), end, at, most);
}

static void test_blocks(void **state)
{
	uint64_t at, most;

	(void)state;
	/* Raw, run-length and compressed blocks: a run has one byte. */
	used = 0;
	put_number(0, 2);
	put_block(false, 0, 5);
	put_number(0, 5);
	put_block(false, 1, 100000);
	put_number(0, 1);
	put_block(true, 2, 9);
	put_number(0, 9);
	for (uint64_t end = 2; end < used + 3; end++) {
		at = 2;
		assert_int_equal(walk_all(end, &at, &most), end >= used);
		if (end < used)
			continue;
		assert_int_equal(at, 26);
		assert_int_equal(most, 3 * BLOCK_MAX);
	}
	/* The file is shorter than its size was. */
	used = 12;
	at = 2;
	assert_int_equal(walk_all(100, &at, &most), 0);
	/* The largest block, and one that is a byte larger. */
	for (uint32_t more = 0; more < 2; more++) {
		used = 0;
		put_block(true, 1, (uint32_t)BLOCK_MAX + more);
		put_number(0, 1);
		at = 0;
		assert_int_equal(walk_all(used, &at, &most), more ? -1 : 1);
	}
	/* The reserved type. */
	used = 0;
	put_block(true, 3, 1);
	put_number(0, 1);
	at = 0;
	assert_int_equal(walk_all(used, &at, &most), -1);
	/* At most 4 GiB, and one block: 2^15 of them. */
	for (uint32_t more = 1; more < 4; more++) {
		used = 0;
		for (uint32_t i = 0; i < (FRAME_MAX >> 17) + more; i++)
			put_block(false, 0, 0);
		put_block(true, 0, 0);
		at = 0;
		assert_int_equal(walk_all(used, &at, &most), more < 3 - 1 ? 1 : -1);
	}
}

/* ---- frames ---- */

/* A frame of one raw block, with its size and without a checksum. */
static void put_frame(const char *text)
{
	put_number(FRAME_MAGIC, 4);
	put_number(0x20, 1);
	put_number(strlen(text), 1);
	put_block(true, 0, (uint32_t)strlen(text));
	put_bytes(text, strlen(text));
}

static void put_skippable(unsigned int number, uint32_t header_size, uint32_t there)
{
	put_number(SKIPPABLE_MAGIC + number, 4);
	put_number(header_size, 4);
	for (uint32_t i = 0; i < there; i++)
		put_number(0, 1);
}

static int read_frame(uint64_t at, struct unzstd_frame *frame)
{
	memset(frame, 0x55, sizeof(*frame));
	return unzstd_check_frame(file_of_bytes(), used, at, frame);
}

static void assert_frame(const struct unzstd_frame *frame, uint64_t from, uint64_t next,
		uint64_t size, bool is_whole)
{
	assert_int_equal(frame->from, from);
	assert_int_equal(frame->next, next);
	assert_int_equal(frame->size, size);
	assert_int_equal(frame->is_whole, is_whole);
}

static void test_reads(void **state)
{
	struct unzstd_frame frame;

	(void)state;
	/* A frame after 3 bytes, truncated at each byte. */
	for (size_t cut = 0; cut < 14; cut++) {
		used = 0;
		put_number(0, 3);
		put_frame("abcd");
		assert_int_equal(used, 16);
		used -= cut;
		assert_int_equal(read_frame(3, &frame), used >= 7);
		if (used >= 7 && cut)
			assert_frame(&frame, 3, used, cut < 4 ? 4 - cut : 0, false);
		if (!cut)
			assert_frame(&frame, 3, 16, 4, true);
		assert_int_equal(opened.error, 0);
	}
	/* With a checksum, which is 4 bytes more. */
	for (unsigned int sum = 2; sum < 6; sum++) {
		used = 0;
		put_frame("abcd");
		bytes[4] |= 4;
		put_number(0, sum);
		assert_int_equal(read_frame(0, &frame), 1);
		assert_int_equal(frame.is_whole, sum >= 4);
		assert_int_equal(frame.next, sum >= 4 ? 17 : used);
	}
	/* A size that one block cannot have is ignored. */
	used = 0;
	put_number(FRAME_MAGIC, 4);
	put_number(0xa0, 1);
	put_number(BLOCK_MAX + 1, 4);
	put_block(true, 1, 3);
	put_number('x', 1);
	assert_int_equal(read_frame(0, &frame), 1);
	assert_true(frame.is_whole && frame.header_size == BLOCK_MAX + 1);
	assert_true(frame.size < BLOCK_MAX);
	used = 5;
	put_number(BLOCK_MAX, 4);
	put_block(true, 1, 3);
	put_number('x', 1);
	assert_int_equal(read_frame(0, &frame), 1);
	assert_int_equal(frame.size, BLOCK_MAX);
	/* No magic number, a reserved bit, invalid blocks. */
	bytes[0] ^= 1;
	assert_int_equal(read_frame(0, &frame), 0);
	bytes[0] ^= 1;
	bytes[4] |= 8;
	/* the same result as a truncated frame, because it is so short */
	assert_int_equal(read_frame(0, &frame), 1);
	put_number(0, 8);
	assert_int_equal(read_frame(0, &frame), 0);
	bytes[4] &= (unsigned char)~8u;
	bytes[9] |= 6;
	assert_int_equal(read_frame(0, &frame), 0);
}

static void test_skippable(void **state)
{
	struct unzstd_frame frame;

	(void)state;
	for (unsigned int number = 0; number < 16; number += 5) {
		for (uint32_t there = 0; there < 8; there++) {
			used = 0;
			put_number(0, 2);
			put_skippable(number, 5, there);
			assert_int_equal(read_frame(2, &frame), 1);
			assert_frame(&frame, 2, there < 5 ? used : 15, 0, there >= 5);
		}
	}
	for (size_t size = 4; size < 8; size++) {
		used = 0;
		put_skippable(3, 0, 0);
		used = size;
		assert_int_equal(read_frame(0, &frame), 1);
		assert_frame(&frame, 0, size, 0, false);
	}
	used = 0;
	put_number(SKIPPABLE_MAGIC + 16, 4);
	put_number(0, 8);
	assert_int_equal(read_frame(0, &frame), 0);
}

/* The magic number anywhere, also across the edge of the 4096 bytes that one read has. */
static void test_magic(void **state)
{
	(void)state;
	for (size_t at = 0; at<8400; at += at> 4080 && at < 4110 ? 1 : at > 8170 ? 1 : 91) {
		memset(bytes, 0, at);
		used = at;
		put_number(FRAME_MAGIC, 4);
		assert_int_equal(find_magic(file_of_bytes(), 0, used), at);
		assert_true(is_magic(&opened, at));
		assert_int_equal(find_magic(&opened, 0, used - 1), used - 1);
		assert_int_equal(find_magic(&opened, at, used), at);
		assert_int_equal(find_magic(&opened, at + 1, used), used);
		/* The file is shorter than its size was. */
		assert_int_equal(find_magic(&opened, at + 1, used + 5000), used + 5000);
		bytes[at] ^= 1;
		assert_int_equal(find_magic(file_of_bytes(), 0, used), used);
		assert_false(is_magic(&opened, at));
		assert_false(is_magic(&opened, at + 1));
	}
	used = 0;
	put_number(SKIPPABLE_MAGIC + 15, 4);
	assert_true(is_magic(file_of_bytes(), 0));
	used = 0;
	put_number(SKIPPABLE_MAGIC + 16, 4);
	assert_false(is_magic(file_of_bytes(), 0));
}

/* ---- the whole file ---- */

static struct ctf_unzstd *opened_whole(void)
{
	struct ctf_unzstd *unzstd;

	file_of_bytes();
	unzstd = ctf_unzstd_create(descriptor, used);
	assert_non_null(unzstd);
	assert_int_equal(ctf_unzstd_error(unzstd), 0);
	assert_int_equal(ctf_unzstd_file_size(unzstd), used);
	return unzstd;
}

/* Compares the content from each offset on, read in pieces of each size. */
static void assert_content(struct ctf_unzstd *unzstd, const char *text)
{
	const size_t size = strlen(text);
	const char *why = NULL;
	uint64_t resume = 7;
	char got[64];
	size_t some;

	assert_int_equal(ctf_unzstd_size(unzstd), size);
	for (size_t at = size + 1; at-- > 0;) {
		for (size_t piece = 1; piece < size + 3; piece++) {
			size_t expected = size - at < piece ? size - at : piece;

			assert_int_equal(ctf_unzstd_read(unzstd, descriptor, at, got, piece, &some,
							 &why, &resume),
					0);
			assert_int_equal(some, expected);
			assert_memory_equal(got, text + at, some);
			assert_int_equal(resume, 0);
			assert_null(why);
		}
	}
}

static void test_files(void **state)
{
	struct ctf_unzstd *unzstd;
	uint64_t first = 99;

	(void)state;
	used = 0;
	put_frame("one");
	put_skippable(2, 3, 3);
	put_frame("second");
	put_frame("");
	put_frame("x");
	unzstd = opened_whole();
	assert_content(unzstd, "onesecondx");
	assert_false(ctf_unzstd_is_cut(unzstd));
	assert_int_equal(ctf_unzstd_strange(unzstd, &first), 0);
	assert_int_equal(first, 0);
	ctf_unzstd_free(unzstd);
	/* Bytes that are not frames: before, between and after frames. */
	used = 0;
	put_number(0, 5);
	put_frame("one");
	put_number(0, 7);
	put_frame("two");
	put_number(0, 4);
	unzstd = opened_whole();
	assert_content(unzstd, "onetwo");
	assert_int_equal(ctf_unzstd_strange(unzstd, &first), 16);
	assert_int_equal(first, 0);
	ctf_unzstd_free(unzstd);
	used = 0;
	put_frame("one");
	put_number(0, 7);
	put_frame("two");
	unzstd = opened_whole();
	assert_int_equal(ctf_unzstd_strange(unzstd, &first), 7);
	assert_int_equal(first, 12);
	ctf_unzstd_free(unzstd);
	ctf_unzstd_free(NULL);
}

/* The last frame arrives byte by byte, with or without reads in between. */
static void test_growth(void **state)
{
	struct ctf_unzstd *unzstd;
	const char *why = NULL;
	uint64_t resume;
	size_t all, before, some;
	char got[16];

	(void)state;
	for (unsigned int reads = 0; reads < 2; reads++) {
		used = 0;
		put_frame("one");
		before = used;
		put_frame("second");
		all = used;
		used = before;
		unzstd = opened_whole();
		assert_content(unzstd, "one");
		for (used = before + 1; used <= all; used++) {
			file_of_bytes();
			ctf_unzstd_grow(unzstd, descriptor, used);
			assert_int_equal(ctf_unzstd_file_size(unzstd), used);
			assert_int_equal(ctf_unzstd_is_cut(unzstd),
					used >= before + 4 && used < all);
			assert_int_equal(ctf_unzstd_size(unzstd),
					used < before + 9 ? 3 : 3 + used - before - 9);
			if (!reads)
				continue;
			assert_int_equal(ctf_unzstd_read(unzstd, descriptor, 2, got, 16, &some,
							 &why, &resume),
					0);
			assert_int_equal(some, ctf_unzstd_size(unzstd) - 2);
			assert_memory_equal(got, "esecond", some);
		}
		used = all;
		assert_content(unzstd, "onesecond");
		ctf_unzstd_free(unzstd);
	}
}

/* A frame with a wrong checksum loses its content only: the bytes before and after it are valid. */
static void test_damage(void **state)
{
	struct ctf_unzstd *unzstd;
	const char *why = NULL;
	uint64_t resume = 0;
	char got[16];
	size_t some;

	(void)state;
	used = 0;
	put_frame("one");
	put_frame("second");
	bytes[12 + 4] |= 4;
	put_number(0x12345678, 4);
	put_frame("third");
	unzstd = opened_whole();
	assert_int_equal(ctf_unzstd_size(unzstd), 14);
	assert_int_equal(ctf_unzstd_read(unzstd, descriptor, 1, got, 9, &some, &why, &resume), 0);
	assert_int_equal(some, 2);
	assert_memory_equal(got, "ne", 2);
	assert_int_equal(
			ctf_unzstd_read(unzstd, descriptor, 3, got, 9, &some, &why, &resume), -EIO);
	assert_int_equal(some, 0);
	assert_string_equal(why, "Restored data doesn't match checksum");
	assert_int_equal(resume, 9);
	assert_int_equal(ctf_unzstd_read(unzstd, descriptor, 9, got, 9, &some, &why, &resume), 0);
	assert_int_equal(some, 5);
	assert_memory_equal(got, "third", 5);
	assert_int_equal(resume, 0);
	ctf_unzstd_free(unzstd);
	/* A frame that ends too early: the next one begins within its block. */
	used = 0;
	put_frame("second");
	used -= 4;
	put_frame("third");
	unzstd = opened_whole();
	assert_int_equal(ctf_unzstd_size(unzstd), 11);
	assert_int_equal(ctf_unzstd_read(unzstd, descriptor, 6, got, 9, &some, &why, &resume), 0);
	assert_int_equal(some, 5);
	assert_memory_equal(got, "third", 5);
	ctf_unzstd_free(unzstd);
}

static void test_failing_reads(void **state)
{
	struct ctf_unzstd *unzstd;
	unsigned int failures = 0;
	const char *why = NULL;
	uint64_t resume = 7;
	char got[16];
	size_t some;

	(void)state;
	used = 0;
	put_frame("one");
	put_frame("second");
	file_of_bytes();
	for (bool failed = true; failed; failures++) {
		failing_arm(failures + 1);
		unzstd = ctf_unzstd_create(descriptor, used);
		failed = failing_has_failed();
		if (failed && !strcmp(failing_name, "pread"))
			assert_int_equal(ctf_unzstd_error(unzstd), EIO);
		else if (failed)
			assert_null(unzstd);
		else
			assert_int_equal(ctf_unzstd_error(unzstd), 0);
		ctf_unzstd_free(unzstd);
	}
	assert_true(failures > 6);
	unzstd = opened_whole();
	failing_arm(1);
	assert_int_equal(
			ctf_unzstd_read(unzstd, descriptor, 0, got, 3, &some, &why, &resume), -EIO);
	assert_true(failing_has_failed());
	assert_string_equal(why, strerror(EIO));
	assert_int_equal(resume, 0);
	assert_int_equal(ctf_unzstd_read(unzstd, -1, 0, got, 3, &some, &why, &resume), -EIO);
	assert_string_equal(why, strerror(EBADF));
	assert_int_equal(some, 0);
	/* A file that cannot be read has not grown. */
	ctf_unzstd_grow(unzstd, -1, used + 9);
	assert_int_equal(ctf_unzstd_file_size(unzstd), used);
	failing_interrupts = 2;
	assert_content(unzstd, "onesecond");
	assert_int_equal(failing_interrupts, 0);
	ctf_unzstd_free(unzstd);
}

/* Each read fails once: the next call finds everything again. */
static void test_failing_once(void **state)
{
	unsigned int failures = 0;

	(void)state;
	used = 0;
	put_frame("one");
	put_skippable(2, 3, 3);
	put_frame("second");
	put_frame("x");
	for (bool failed = true; failed; failures++) {
		struct ctf_unzstd *unzstd = opened_whole();
		const char *why = NULL;
		uint64_t resume = 7;
		char got[16];
		size_t some;
		int ret;

		failing_arm(failures + 1);
		ret = ctf_unzstd_read(
				unzstd, descriptor, 1, got, sizeof(got), &some, &why, &resume);
		failed = failing_has_failed();
		assert_true(ret == 0 || (failed && !some));
		if (ret)
			assert_int_equal(ret, strcmp(failing_name, "pread") ? -ENOMEM : -EIO);
		assert_true(some == 9 || (failed && some < 9));
		assert_memory_equal(got, "nesecondx", some);
		assert_int_equal(resume, 0);
		assert_content(unzstd, "onesecondx");
		ctf_unzstd_free(unzstd);
	}
	assert_true(failures > 5);
}

/* Decoders count the memory that they hold, until they are freed. */
static void test_held(void **state)
{
	struct ctf_unzstd *unzstd;
	const char *why = NULL;
	uint64_t resume;
	char got[16];
	size_t some, size;

	(void)state;
	assert_int_equal(held, 0);
	used = 0;
	put_frame("one");
	put_frame("second");
	unzstd = opened_whole();
	assert_int_equal(ctf_unzstd_read(unzstd, descriptor, 0, got, 2, &some, &why, &resume), 0);
	size = ZSTD_sizeof_DCtx(unzstd->context);
	assert_int_equal(held, size);
	assert_int_equal(unzstd->held, size);
	/* The decoders of other files hold all other memory: one byte more is too much. */
	held = HELD_MAX;
	assert_int_equal(ctf_unzstd_read(unzstd, descriptor, 2, got, 1, &some, &why, &resume), 0);
	assert_int_equal(held, HELD_MAX);
	assert_non_null(unzstd->context);
	held = HELD_MAX + 1;
	assert_int_equal(ctf_unzstd_read(unzstd, descriptor, 1, got, 1, &some, &why, &resume), 0);
	assert_null(unzstd->context);
	assert_int_equal(held, HELD_MAX + 1 - size);
	assert_int_equal(unzstd->held, 0);
	assert_int_equal(*got, 'n');
	held = 0;
	assert_int_equal(ctf_unzstd_read(unzstd, descriptor, 1, got, 1, &some, &why, &resume), 0);
	ctf_unzstd_free(unzstd);
	assert_int_equal(held, 0);
}

static void test_meaning(void **state)
{
	(void)state;
	used = 0;
	put_frame("one");
	file_of_bytes();
	assert_int_equal(ctf_unzstd_is_meant(descriptor, "a.zst"), 1);
	assert_int_equal(ctf_unzstd_is_meant(descriptor, "a"), 0);
	failing_interrupts = 2;
	assert_int_equal(ctf_unzstd_is_meant(descriptor, "a.zst"), 1);
	assert_int_equal(failing_interrupts, 0);
	assert_int_equal(ctf_unzstd_is_meant(-1, "a.zst"), -EBADF);
	used = 3;
	file_of_bytes();
	assert_int_equal(ctf_unzstd_is_meant(descriptor, "a.zst"), 0);
	for (unsigned int i = 0; i < 17; i++) {
		used = 0;
		put_skippable(i, 0, 0);
		file_of_bytes();
		assert_int_equal(ctf_unzstd_is_meant(descriptor, "a.zst"), i < 16);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_heads),
			cmocka_unit_test(test_blocks),
			cmocka_unit_test(test_reads),
			cmocka_unit_test(test_skippable),
			cmocka_unit_test(test_magic),
			cmocka_unit_test(test_files),
			cmocka_unit_test(test_growth),
			cmocka_unit_test(test_damage),
			cmocka_unit_test(test_failing_reads),
			cmocka_unit_test(test_failing_once),
			cmocka_unit_test(test_held),
			cmocka_unit_test(test_meaning),
	};
	int ret = cmocka_run_group_tests(tests, NULL, NULL);

	close(descriptor);
	return ret;
}
