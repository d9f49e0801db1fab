/* SPDX-License-Identifier: MIT */
/*
 * Crash dumps in each form of compression. libkdumpfile reads the same dumps, so that the test and
 * the code under test cannot share a mistake about the format.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <libkdumpfile/kdumpfile.h>

#include "memory-image.h"
#include "recorder/recovery/compressed-dump.h"
#include "recorder/recovery/dump-codecs.h"

#define NR_PAGES 24

static int dump_fd;

/* Zeros, text that repeats, counters, and bytes that no form makes smaller. */
static void fill_page(unsigned char *page, uint32_t number)
{
	uint32_t state = number + 1, i;

	for (i = 0; i < IMAGE_PAGE; i++) {
		state = state * 1664525 + 1013904223;
		page[i] = number % 4 == 0         ? 0
				: number % 4 == 1 ? (unsigned char)"state of a program "[i % 19]
				: number % 4 == 2 ? (unsigned char)(i >> 4)
						  : (unsigned char)(state >> 24);
	}
}

static void read_with_libkdumpfile(const struct memory_image *image)
{
	kdump_ctx_t *context = kdump_new();
	unsigned char page[IMAGE_PAGE];
	uint32_t i;

	CHECK(context);
	if (kdump_open_fd(context, dump_fd) != KDUMP_OK) {
		fprintf(stderr, "%s\n", kdump_get_err(context));
		CHECK(false);
	}
	for (i = 0; i < image->nr; i++) {
		size_t size = sizeof(page);

		if (kdump_read(context, KDUMP_MACHPHYSADDR, image_physical(i), page, &size) !=
				KDUMP_OK) {
			fprintf(stderr, "page %u: %s\n", i, kdump_get_err(context));
			CHECK(false);
		}
		CHECK(size == sizeof(page) && !memcmp(page, image_page(image, i), size));
	}
}

/* In a process of its own, without kdump_free(), which uses freed memory in version 0.5.1. */
static void check_with_libkdumpfile(const struct memory_image *image)
{
	pid_t child = fork();
	int status;

	CHECK(child >= 0);
	if (!child) {
		read_with_libkdumpfile(image);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && !status);
}

static void read_with_side(const struct memory_image *image)
{
	struct compressed_dump *dump;
	unsigned char bytes[2 * IMAGE_PAGE];
	uint32_t i;

	CHECK(!compressed_dump_open(dump_fd, &dump));
	for (i = 0; i + 1 < image->nr; i++) {
		CHECK(!compressed_dump_read(dump, image_physical(i), bytes, sizeof(bytes)));
		CHECK(!memcmp(bytes, image_page(image, i), sizeof(bytes)));
	}
	CHECK(compressed_dump_read(dump, image_physical(image->nr), bytes, 1));
	compressed_dump_close(dump);
}

static void test_forms(void)
{
	static const enum image_form forms[] = {
			IMAGE_RAW, IMAGE_ZLIB, IMAGE_LZO, IMAGE_SNAPPY, IMAGE_ZSTD};
	struct memory_image image;
	size_t i, size;

	image_begin(&image, NR_PAGES);
	while (image.nr < NR_PAGES)
		(void)image_add(&image);
	for (i = 0; i < NR_PAGES; i++)
		fill_page(image_page(&image, (uint32_t)i), (uint32_t)i);
	for (i = 0; i < 2 * sizeof(forms) / sizeof(*forms); i++) {
		unsigned char *bytes = image_compress(&image, forms[i / 2], i % 2, &size);

		CHECK(!ftruncate(dump_fd, 0));
		CHECK(pwrite(dump_fd, bytes, size, 0) == (ssize_t)size);
		check_with_libkdumpfile(&image);
		read_with_side(&image);
		free(bytes);
	}
	free(image.bytes);
}

/* Damaged pages, and pages of forms that the dump does not announce. */
static void test_damage(void)
{
	static const uint32_t forms[] = {DUMP_CODEC_ZLIB, DUMP_CODEC_LZO, DUMP_CODEC_SNAPPY,
			DUMP_CODEC_ZSTD, DUMP_CODEC_LZO | DUMP_CODEC_ZLIB};
	unsigned char page[IMAGE_PAGE], packed[IMAGE_PAGE], to[IMAGE_PAGE + 1];
	struct dump_codecs codecs, none;
	size_t i, size, cut;

	CHECK(!dump_codecs_open(&codecs, DUMP_CODECS_ALL) && !dump_codecs_open(&none, 0));
	fill_page(page, 2);
	for (i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		enum image_form form = (enum image_form)forms[i];

		memset(to, 0xa5, sizeof(to));
		if (i == 4) {
			CHECK(!dump_codecs_unpack(&codecs, forms[i], packed, 1, to, IMAGE_PAGE));
			continue;
		}
		size = image_pack(&form, page, packed);
		CHECK(form == (enum image_form)forms[i]);
		CHECK(dump_codecs_unpack(&codecs, forms[i], packed, size, to, IMAGE_PAGE));
		CHECK(!memcmp(to, page, IMAGE_PAGE) && to[IMAGE_PAGE] == 0xa5);
		for (cut = 0; cut < size; cut++)
			CHECK(!dump_codecs_unpack(&codecs, forms[i], packed, cut, to, IMAGE_PAGE));
		/* Less space than the page needs: nothing is written beyond it. */
		memset(to, 0xa5, sizeof(to));
		CHECK(!dump_codecs_unpack(&codecs, forms[i], packed, size, to, IMAGE_PAGE - 1));
		CHECK(to[IMAGE_PAGE - 1] == 0xa5);
		if (forms[i] & (DUMP_CODEC_LZO | DUMP_CODEC_SNAPPY))
			CHECK(!dump_codecs_unpack(&none, forms[i], packed, size, to, IMAGE_PAGE));
	}
	CHECK(dump_codecs_unpack(&none, 0, page, IMAGE_PAGE, to, IMAGE_PAGE));
	CHECK(!dump_codecs_unpack(&none, 0, page, IMAGE_PAGE - 1, to, IMAGE_PAGE));
	dump_codecs_close(&codecs);
	dump_codecs_close(&none);
}

int main(void)
{
	dump_fd = memfd_create("dump", MFD_CLOEXEC);
	CHECK(dump_fd >= 0);
	test_forms();
	test_damage();
	close(dump_fd);
	return 0;
}
