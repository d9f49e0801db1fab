/* SPDX-License-Identifier: MIT */
/*
 * Damaged programs, objects and archives must not harm readside, in any of its modes. Run it with
 * files as arguments; the damage is the same in each run. Under libFuzzer (-DFUZZ_TARGET) the input
 * is the file.
 *
 * The test fails on a crash, a sanitizer report, an endless loop. Some files must still be
 * readable, which shows that the reader was reached.
 */
#include "programs/readside/readside.h"

#include "../elf/damage.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static FILE *nowhere;

/* Reads one file in all modes at once. */
struct reading {
	struct readside_listing *listings[4];
	struct check *check;
	struct diff_side side;
	size_t nr_events;
};

static int take_event(void *opaque, struct readside_event *event)
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

static void end_image(void *opaque, struct image *image, const char *path)
{
	const struct reading *reading = opaque;

#ifdef READSIDE_CALLS
	check_calls(reading->check, image, path, reading->side.events, reading->side.nr);
	check_calls_finish();
#else
	(void)reading;
	(void)image;
	(void)path;
#endif
}

static size_t read_events(int fd)
{
	struct reading reading = {.check = check_open(nowhere, true, false)};
	const struct source_ops ops = {
			.event = take_event,
			.broken = take_broken,
			.image_end = end_image,
			.priv = &reading,
	};
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
	/* Messages are discarded; file descriptor 2 stays open for the reports of sanitizers. */
	stderr = nowhere;
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
	unsigned int rounds = duration && !strcmp(duration, "1") ? 50000 : 300;
	int failed = argc < 2;

	for (int i = 1; i < argc; i++)
		failed |= damaged_copies(argv[i], rounds, next_check);
	if (nowhere)
		(void)fclose(nowhere);
	return failed;
}

#endif
