/* SPDX-License-Identifier: MIT */
/*
 * Runs the ELF reader of `side list` on damaged ELF files: flipped bits, replaced bytes, header
 * fields with extreme values, truncated files. Arguments are ELF files; the damage is the same each
 * time. Under libFuzzer (-DFUZZ_TARGET) its bytes are the file.
 *
 * Fails on a crash, a sanitizer report or an endless loop. Some files must still be readable, which
 * shows that the reader was reached.
 */
#include "elf/addresses.h"
#include "elf/image.h"
#include "programs/side/processes/descriptions.h"
#include "programs/side/processes/registry.h"
#include "programs/common/message.h"
#include "abi/visit.h"

#include "../elf/damage.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static FILE *nowhere;

/* Returns the number of events that were read. */
static size_t read_events(int fd)
{
	struct listing listing = {0};
	struct error error;
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
	/* Discard messages; file descriptor 2 stays open for the reports of sanitizers. */
	stderr = nowhere;
	output_start(&common, "list");
}

static size_t next_check(const void *bytes, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	size_t found = 0;

	if (!nowhere)
		quiet();
	if (fd >= 0 && write(fd, bytes, size) == (ssize_t)size)
		found = read_events(fd);
	close(fd);
	return found;
}

#ifdef FUZZ_TARGET

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	next_check(data, size);
	return 0;
}

#else

int main(int argc, char **argv)
{
	const char *duration = getenv("SIDE_TEST_LONG");
	unsigned int rounds = duration && !strcmp(duration, "1") ? 100000 : 600;
	int failed = argc < 2;

	for (int i = 1; i < argc; i++)
		failed |= damaged_copies(argv[i], rounds, next_check);
	if (nowhere)
		(void)fclose(nowhere);
	return failed;
}

#endif
