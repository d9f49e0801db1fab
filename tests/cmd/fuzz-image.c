/* SPDX-License-Identifier: MIT */
/*
 * Damaged ELF files must not hurt `side list`: bits flipped, bytes replaced, fields of headers set
 * to extreme values, files cut. Run with ELF files as arguments; the same damage each time. Under
 * libFuzzer
 * (-DFUZZ_TARGET) its bytes are the file.
 *
 * What counts: no crash, no sanitizer report, no endless loop. Some must still be readable, so that
 * it is known that the reader was reached.
 */
#include "cmd/side/addresses.h"
#include "cmd/side/image.h"
#include "cmd/side/listing.h"
#include "cmd/side/registry.h"
#include "cmd/side/say.h"
#include "visit/visit.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static FILE *nowhere;

/* The number of events that were read. */
static size_t read_events(int fd)
{
	struct listing listing = {0};
	struct image_error error;
	struct image_symbol symbol;
	struct image *image;
	const char *text;
	size_t count;

	if (image_open(fd, true, &image, &error))
		return 0;
	if (!listing_source(&listing, "a file")) {
		struct addresses seen = {0};
		const struct listing_memory memory = {
				.memory = {.read = image_read,
						.priv = image,
						.byte_order = image_byte_order(image)},
				.pointer_size = image_pointer_size(image),
				.live = true,
				.seen = &seen,
		};

		listing_add_tables(&listing, image, &memory, 0);
		if (image_find_symbol(image, "side_registry_0", true, &symbol))
			registry_list(&listing, &memory, symbol.address);
		addresses_free(&seen);
	}
	for (size_t i = 0; i < 64 && image_dynamic_text(image, DT_NEEDED, i, &text); i++)
		fputs(text, nowhere);
	listing_sort(&listing);
	listing_print(&listing, nowhere, LISTING_TEXT, true);
	listing_print(&listing, nowhere, LISTING_JSON, false);
	count = listing.nr_events;
	listing_free(&listing);
	image_close(image);
	return count;
}

static void quiet(void)
{
	static const struct common_options common = {.color = COLOR_NEVER};

	nowhere = fopen("/dev/null", "w");
	if (!nowhere)
		exit(1);
	/* Messages go nowhere; file descriptor 2 stays open for the reports of sanitizers. */
	stderr = nowhere;
	say_start(&common, "list");
}

#ifdef FUZZ_TARGET

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (!nowhere)
		quiet();
	if (fd >= 0 && write(fd, data, size) == (ssize_t)size)
		read_events(fd);
	close(fd);
	return 0;
}

#else

/* xorshift64*, so that each run does the same. */
static uint64_t state = 0x9e3779b97f4a7c15;

static uint64_t draw(uint64_t below)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (state * 0x2545f4914f6cdd1d >> 11) % below;
}

static const uint64_t extremes[] = {0, 1, 7, 8, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000,
		0xffffffff, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff,
		0xfffffffffffffff8};

/* Where damage matters: headers, section headers, and the table and descriptions in .data. */
static size_t draw_place(const unsigned char *bytes, size_t size)
{
	Elf64_Ehdr header;

	memcpy(&header, bytes, sizeof(header));
	switch (draw(5)) {
	case 0: return draw(sizeof(header));
	case 1: return sizeof(header) + draw(56 * 14);
	case 2:
		if (header.e_shoff < size)
			return header.e_shoff + draw(size - header.e_shoff);
		break;
	default: break;
	}
	return draw(size);
}

static size_t damage(unsigned char *bytes, size_t size)
{
	size_t changes = 1 + draw(6);

	for (size_t i = 0; i < changes; i++) {
		size_t at = draw_place(bytes, size);
		uint64_t extreme = extremes[draw(sizeof(extremes) / sizeof(extremes[0]))];
		size_t width = (size_t)1 << draw(4);

		if (at >= size)
			continue;
		switch (draw(4)) {
		case 0: bytes[at] ^= (unsigned char)(1u << draw(8)); break;
		case 1: bytes[at] = (unsigned char)draw(256); break;
		default:
			at &= ~(width - 1);
			if (width > size - at)
				width = size - at;
			memcpy(bytes + at, &extreme, width);
			break;
		}
	}
	/* Now and then a cut. */
	return draw(8) ? size : draw(size);
}

static int fuzz_file(const char *path, unsigned int rounds)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), copy = memfd_create("fuzz", MFD_CLOEXEC);
	unsigned char *original, *bytes;
	size_t size, whole, read = 0;
	struct stat status;

	if (fd < 0 || copy < 0 || fstat(fd, &status))
		return 1;
	size = (size_t)status.st_size;
	whole = read_events(fd);
	original = malloc(size);
	bytes = malloc(size);
	if (!original || !bytes || pread(fd, original, size, 0) != (ssize_t)size)
		return 1;
	for (unsigned int round = 0; round < rounds; round++) {
		size_t length;

		memcpy(bytes, original, size);
		length = damage(bytes, size);
		if (ftruncate(copy, (off_t)length) ||
				pwrite(copy, bytes, length, 0) != (ssize_t)length)
			return 1;
		read += read_events(copy) > 0;
	}
	printf("%s: %zu events; %zu of %u damaged copies still have some\n", path, whole, read,
			rounds);
	free(original);
	free(bytes);
	close(fd);
	close(copy);
	return !whole || !read || read == rounds;
}

int main(int argc, char **argv)
{
	const char *duration = getenv("SIDE_TEST_LONG");
	unsigned int rounds = duration && !strcmp(duration, "1") ? 100000 : 600;
	int failed = argc < 2;

	quiet();
	for (int i = 1; i < argc; i++)
		failed |= fuzz_file(argv[i], rounds);
	return failed;
}

#endif
