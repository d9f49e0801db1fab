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
#include "elf/addresses.h"
#include "elf/image.h"
#include "cmd/side/listing.h"
#include "cmd/side/registry.h"
#include "cmd/side/say.h"
#include "visit/visit.h"

#include "../elf/damage.h"

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
