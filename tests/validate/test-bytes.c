/* SPDX-License-Identifier: MIT */
/* Bytes of a file or of memory: numbers, texts and ends, and how often the file is read. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../check.h"
#include "tracers/validate/bytes.h"

static unsigned int nr_reads;
static size_t most_read;

static ssize_t fake_read(int fd, void *to, size_t size, off_t at)
{
	nr_reads++;
	return pread(fd, to, size < most_read ? size : most_read, at);
}

#define pread fake_read
#include "tracers/validate/bytes.c"
#undef pread

static unsigned char content[5000];
static struct bytes_source sources[2]; /* the file, and the same in memory */

static void numbers(const struct bytes_source *source)
{
	struct byte_reader bytes;

	bytes_open(&bytes, source, 16, 15);
	CHECK(bytes_number(&bytes, 1) == 0x10 && bytes_number(&bytes, 2) == 0x1211);
	CHECK(bytes_number(&bytes, 4) == 0x16151413 &&
			bytes_number(&bytes, 8) == 0x1e1d1c1b1a191817);
	CHECK(!bytes.failed && bytes.at == 31);
	CHECK(!bytes_number(&bytes, 1) && bytes.failed && bytes.at == 31);
	/* A number that ends after the end. */
	bytes_open(&bytes, source, 16, 3);
	CHECK(bytes_number(&bytes, 4) == 0x121110 && bytes.failed);
	/* The end is beyond all numbers. */
	bytes_open(&bytes, source, 16, UINT64_MAX - 16);
	CHECK(!bytes.failed);
	bytes_open(&bytes, source, 16, UINT64_MAX - 15);
	CHECK(bytes.failed && !bytes_number(&bytes, 1));
}

static void skipped(const struct bytes_source *source)
{
	struct byte_reader bytes;

	bytes_open(&bytes, source, 16, 15);
	bytes_skip(&bytes, 5);
	CHECK(bytes_number(&bytes, 1) == 0x15);
	bytes_skip(&bytes, 9);
	CHECK(!bytes.failed && bytes.at == 31);
	bytes_skip(&bytes, 0);
	CHECK(!bytes.failed);
	bytes_skip(&bytes, 1);
	CHECK(bytes.failed && bytes.at == 31);
	bytes_open(&bytes, source, 16, 15);
	bytes_skip(&bytes, 16);
	CHECK(bytes.failed && bytes.at == 16);
	bytes_skip(&bytes, 1);
	CHECK(bytes.failed && bytes.at == 16);
}

static void texts(const struct bytes_source *source)
{
	struct byte_reader bytes;
	char to[8];

	/* From 0xfd on: 3 bytes and a 0. */
	for (size_t size = 0; size <= 5; size++) {
		static const char *const wanted[] = {
				"xxxxxxx", "", "\xfd", "\xfd\xfe", "\xfd\xfe\xff", "\xfd\xfe\xff"};

		memset(to, 'x', sizeof(to));
		to[7] = '\0';
		bytes_open(&bytes, source, 0xfd, 100);
		CHECK(bytes_text(&bytes, to, size) == 3 && !bytes.failed && bytes.at == 0x101);
		CHECK(!strcmp(to, wanted[size]));
	}
	bytes_open(&bytes, source, 0xfd, 100);
	CHECK(bytes_text(&bytes, NULL, 5) == 3 && bytes_text(&bytes, NULL, 0) == 96 &&
			bytes.failed);
	bytes_open(&bytes, source, 0x100, 100);
	CHECK(!bytes_text(&bytes, to, 8) && !*to && !bytes.failed);
}

static void long_numbers(void)
{
	static const struct {
		unsigned char bytes[12];
		uint64_t number;
		int64_t with_sign;
	} cases[] = {{{0}, 0, 0}, {{0x3f}, 63, 63}, {{0x40}, 64, -64}, {{0x7f}, 127, -1},
			{{0x80, 1}, 128, 128}, {{0xff, 0}, 127, 127}, {{0x80, 0x7f}, 0x3f80, -128},
			{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f}, 0x3fffffffffffffff,
					0x3fffffffffffffff},
			{{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40}, 1ull << 62,
					INT64_MIN / 2 * 1},
			{{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1}, 1ull << 63,
					INT64_MIN},
			{{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f}, 0, 0}};
	unsigned char many[30];
	struct bytes_source source = {.fd = -1};
	struct byte_reader bytes;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		source.memory = cases[i].bytes;
		bytes_open(&bytes, &source, 0, 12);
		CHECK(bytes_leb128(&bytes) == cases[i].number && !bytes.failed);
		bytes_open(&bytes, &source, 0, 12);
		CHECK(bytes_signed_leb128(&bytes) == cases[i].with_sign && !bytes.failed);
	}
	/* No number has more than 20 bytes. */
	memset(many, 0x80, sizeof(many));
	source.memory = many;
	bytes_open(&bytes, &source, 0, sizeof(many));
	CHECK(!bytes_leb128(&bytes) && bytes.at == 20);
	bytes_open(&bytes, &source, 0, 19);
	CHECK(!bytes_leb128(&bytes) && bytes.failed && bytes.at == 19);
}

/* The file is read in parts of up to 1024 bytes, each once. */
static void reads(void)
{
	struct byte_reader bytes;

	nr_reads = 0;
	bytes_open(&bytes, &sources[0], 3, 1024);
	CHECK(!nr_reads);
	for (unsigned int i = 0; i < 1024; i++)
		CHECK(bytes_number(&bytes, 1) == content[3 + i]);
	CHECK(nr_reads == 1 && !bytes.failed);
	bytes_open(&bytes, &sources[0], 3, 1025);
	for (unsigned int i = 0; i < 1025; i++)
		CHECK(bytes_number(&bytes, 1) == content[3 + i]);
	CHECK(nr_reads == 3 && !bytes.failed);
	/* A part that is skipped is not read, and one that was read is not read again. */
	bytes_open(&bytes, &sources[0], 0, 5000);
	CHECK(!bytes_number(&bytes, 1) && nr_reads == 4);
	bytes_skip(&bytes, 1022);
	CHECK(bytes_number(&bytes, 1) == content[1023] && nr_reads == 4);
	bytes_skip(&bytes, 3000);
	CHECK(bytes_number(&bytes, 1) == content[4024] && nr_reads == 5);
	/* Reads that return fewer bytes. */
	most_read = 7;
	bytes_open(&bytes, &sources[0], 3, 70);
	for (unsigned int i = 0; i < 70; i++)
		CHECK(bytes_number(&bytes, 1) == content[3 + i]);
	CHECK(nr_reads == 15 && !bytes.failed);
	most_read = SIZE_MAX;
	/* The file ends before the bytes do. */
	bytes_open(&bytes, &sources[0], 4999, 2);
	CHECK(bytes_number(&bytes, 1) == content[4999] && !bytes.failed);
	CHECK(!bytes_number(&bytes, 1) && bytes.failed && bytes.at == 5000 && nr_reads == 17);
	CHECK(!bytes_number(&bytes, 1) && nr_reads == 17);
	/* A read that fails. */
	bytes_open(&bytes, &(struct bytes_source){.fd = -1}, 0, 2);
	CHECK(!bytes_number(&bytes, 1) && bytes.failed && !bytes.at);
}

int main(void)
{
	int fd = memfd_create("bytes", MFD_CLOEXEC);

	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (unsigned char)(i + i / 256);
	content[256] = 0;
	most_read = SIZE_MAX;
	CHECK(fd >= 0 && write(fd, content, sizeof(content)) == sizeof(content));
	sources[0] = (struct bytes_source){.fd = fd};
	sources[1] = (struct bytes_source){.fd = -1, .memory = content};
	for (unsigned int i = 0; i < 2; i++) {
		numbers(&sources[i]);
		skipped(&sources[i]);
		texts(&sources[i]);
	}
	long_numbers();
	reads();
	close(fd);
	return 0;
}
