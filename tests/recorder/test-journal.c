/* SPDX-License-Identifier: MIT */
/*
 * A journal that is only read: the valid note of each ring with all its counters, and headers of
 * other instances.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../check.h"
#include "../resources.h"
#include "recorder/core/channels.h"
#include "recorder/core/instance.h"
#include "recorder/recovery/journal-scan.h"
#include "recorder/session-state.h"
#include "recorder/storage/journal-format.h"
#include "recorder/storage/journal.h"
#include "ring/ring.h"

#define RINGS 2

/* The content of the journal: the header, and two notes for each ring. */
static struct journal_head head;
static struct journal_slot slots[RINGS][2];
static off_t less; /* bytes that are missing at its end */

static void reset(void)
{
	head = (struct journal_head){.magic = JOURNAL_MAGIC,
			.version = JOURNAL_VERSION,
			.rings = RINGS,
			.life = 1};
	less = 0;
	memset(slots, 0, sizeof(slots));
	slots[0][0] = (struct journal_slot){.position = 0,
			.end_timestamp = 11,
			.discarded = 12,
			.unwritten = 13,
			.count = 2};
	slots[0][1] = (struct journal_slot){.position = 0,
			.end_timestamp = 21,
			.discarded = 22,
			.unwritten = 23,
			.count = 1};
	/* A position that the ring does not have. */
	slots[1][0] = (struct journal_slot){.position = 8,
			.end_timestamp = 31,
			.discarded = 32,
			.unwritten = 33,
			.count = 4};
	slots[1][1] = (struct journal_slot){.position = 0,
			.end_timestamp = 41,
			.discarded = 42,
			.unwritten = 43,
			.count = 3};
}

static int read_journal(
		struct ring_consumer *consumer, int folder, struct instance_ring each[RINGS])
{
	static char name[] = "channel";
	static const struct channel channel = {.name = name};
	struct instance_channel of = {.channel = &channel,
			.geometry.rings = RINGS,
			.rings = consumer,
			.each = each};
	struct instance instance = {.channels = &of, .nr_channels = 1};
	int fd = openat(folder, JOURNAL_FILE, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), ret;

	CHECK(fd >= 0 && pwrite(fd, &head, sizeof(head), 0) == sizeof(head));
	CHECK(pwrite(fd, slots, sizeof(slots), HEAD_BYTES) == sizeof(slots));
	CHECK(!ftruncate(fd, HEAD_BYTES + (off_t)sizeof(slots) - less));
	close(fd);
	memset(each, 0, RINGS * sizeof(*each));
	ret = journal_scan(&instance, folder, "/nowhere");
	return ret;
}

static void check_ring(const struct instance_ring *ring, uint64_t begin, uint64_t discarded,
		uint64_t unwritten)
{
	CHECK(ring->begin == begin);
	CHECK(ring->discarded == discarded && ring->discarded_before == discarded);
	CHECK(ring->unwritten == unwritten);
}

static void test_notes(struct ring_consumer *consumer, int folder)
{
	struct instance_ring each[RINGS];

	reset();
	CHECK(!read_journal(consumer, folder, each));
	check_ring(&each[0], 11, 12, 13);
	check_ring(&each[1], 41, 42, 43);
	/* The later of two notes with the same position. */
	slots[0][1].count = 3;
	slots[1][1].position = 8;
	CHECK(!read_journal(consumer, folder, each));
	check_ring(&each[0], 21, 22, 23);
	check_ring(&each[1], 0, 0, 0);
}

static void test_heads(struct ring_consumer *consumer, int folder)
{
	static const struct {
		size_t at;
		uint32_t number;
		bool is_taken;
	} cases[] = {
			{offsetof(struct journal_head, magic), 1, false},
			{offsetof(struct journal_head, version), JOURNAL_VERSION + 1, false},
			{offsetof(struct journal_head, rings), RINGS - 1, false},
			{offsetof(struct journal_head, rings), RINGS + 1, false},
			{offsetof(struct journal_head, done), 2, false},
			{offsetof(struct journal_head, life), UINT32_MAX - 1, true},
			{offsetof(struct journal_head, life), UINT32_MAX, false},
			{offsetof(struct journal_head, serial), UINT32_MAX - 1, true},
			{offsetof(struct journal_head, serial), UINT32_MAX, false},
	};
	struct instance_ring each[RINGS];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		reset();
		memcpy((char *)&head + cases[i].at, &cases[i].number, sizeof(cases[i].number));
		CHECK(!read_journal(consumer, folder, each));
		check_ring(&each[0], cases[i].is_taken ? 11 : 0, cases[i].is_taken ? 12 : 0,
				cases[i].is_taken ? 13 : 0);
	}
	reset();
	less = 1;
	CHECK(!read_journal(consumer, folder, each));
	check_ring(&each[0], 0, 0, 0);
	/* The trace contains everything. */
	reset();
	head.done = 1;
	CHECK(read_journal(consumer, folder, each) == 1);
	check_ring(&each[0], 0, 0, 0);
}

/* The losses that the present trace contains: whole, or unchanged with the reason. */
static void test_losses(int directory)
{
	struct instance *instance = calloc(1, sizeof(*instance));
	struct session *session = calloc(1, sizeof(*session));
	const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY}, few = {20, RLIM_INFINITY};
	struct stat status;
	int folder;

	CHECK(instance && session && !mkdirat(directory, "one", 0700));
	folder = openat(directory, "one", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(folder >= 0);
	session->buffers.fd = directory;
	instance->folder = strdup("one");
	CHECK(!journal_write_losses(session, instance, "1234", 4)); /* without a journal nothing */
	CHECK(fstatat(folder, LOSSES_FILE, &status, 0) && errno == ENOENT);
	CHECK(!journal_make(instance, folder));
	CHECK(!journal_write_losses(session, instance, "1234", 4));
	CHECK(!fstatat(folder, LOSSES_FILE, &status, 0));
	CHECK(status.st_size == (off_t)sizeof(struct losses_file_head) + 4);
	/*
	 * The limit lies behind the head: the write of the losses is partial, the next one fails.
	 */
	signal(SIGXFSZ, SIG_IGN);
	CHECK(!setrlimit(RLIMIT_FSIZE, &few));
	CHECK(journal_write_losses(session, instance, "12345678", 8) == -EFBIG);
	CHECK(!setrlimit(RLIMIT_FSIZE, &all));
	CHECK(!fstatat(folder, LOSSES_FILE, &status, 0));
	CHECK(status.st_size == (off_t)sizeof(struct losses_file_head) + 4);
	CHECK(fstatat(folder, LOSSES_FILE_NEW, &status, 0) && errno == ENOENT);
	journal_close(instance);
	free(instance->folder);
	CHECK(journal_write_losses(session, instance, "1234", 4) == 0);
	unlinkat(folder, LOSSES_FILE, 0);
	unlinkat(folder, JOURNAL_FILE, 0);
	close(folder);
	CHECK(!unlinkat(directory, "one", AT_REMOVEDIR));
	free(instance);
	free(session);
}

int main(void)
{
	const struct ring_geometry geometry = {.rings = RINGS,
			.event_slots = 64,
			.size = 64 << 10,
			.mode = RING_MODE_DISCARD,
			.clock = RING_CLOCK_MONOTONIC,
			.placement = RING_PER_THREAD};
	char path[] = "/tmp/side-journal-XXXXXX", file[64];
	struct ring_consumer *consumer;
	struct resources before;
	int memory, folder;

	CHECK(mkdtemp(path));
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(folder >= 0);
	CHECK(!ring_memory_create(&geometry, &memory));
	CHECK(!ring_consumer_map(memory, &geometry, &consumer));
	before = resources_now();
	test_notes(consumer, folder);
	test_heads(consumer, folder);
	test_losses(folder);
	CHECK(resources_now().descriptors == before.descriptors);
	ring_consumer_unmap(consumer);
	close(memory);
	close(folder);
	snprintf(file, sizeof(file), "%s/" JOURNAL_FILE, path);
	unlink(file);
	rmdir(path);
	return 0;
}
