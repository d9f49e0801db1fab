/* SPDX-License-Identifier: MIT */
/*
 * Damaged programs, objects and archives must not hurt readside, in any of its modes. Run with files as
 * arguments; the same damage each time. Under libFuzzer (-DFUZZ_TARGET) its bytes are the file.
 *
 * What counts: no crash, no sanitizer report, no endless loop. Some must still be readable, so that it is
 * known that the reader was reached.
 */
#include "cmd/readside/readside.h"

#include "../elf/damage.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static FILE *nowhere;

/* One file in all modes at once. */
struct reading {
	struct listing *listings[4];
	struct check *check;
	struct diff_side side;
	size_t nr_events;
};

static int take_event(void *opaque, struct event *event)
{
	struct reading *reading = opaque;

	reading->nr_events++;
	for (unsigned int i = 0; i < 4; i++)
		listing_event(reading->listings[i], event);
	check_event(reading->check, event);
	return diff_add(&reading->side, event);
}

static void take_broken(void *opaque, const struct broken *broken)
{
	const struct reading *reading = opaque;

	check_broken(reading->check, broken);
}

static size_t read_events(int fd)
{
	struct reading reading = {.check = check_open(nowhere, true, false)};
	const struct source_ops ops = {take_event, take_broken, NULL, &reading};
	char path[64];

	for (unsigned int i = 0; i < 4; i++)
		reading.listings[i] = listing_open(nowhere, (enum form_kind)i);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	source_read(path, &ops);
	for (unsigned int i = 0; i < 4; i++)
		listing_close(reading.listings[i]);
	check_close(reading.check);
	diff_show(nowhere, false, &reading.side, &reading.side);
	diff_free(&reading.side);
	return reading.nr_events;
}

static void quiet(void)
{
	nowhere = fopen("/dev/null", "w");
	if (!nowhere)
		exit(1);
	/* Messages go nowhere; file descriptor 2 stays open for the reports of sanitizers. */
	stderr = nowhere;
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
	unsigned int rounds = duration && !strcmp(duration, "1") ? 50000 : 300;
	int failed = argc < 2;

	quiet();
	for (int i = 1; i < argc; i++)
		failed |= fuzz_file(argv[i], rounds);
	return failed;
}

#endif
