/* SPDX-License-Identifier: MIT */
/*
 * Geometry and mapping: which values are refused and how, that a header with a flipped bit is never
 * accepted as something else, and what a forked child may do with its parent's rings.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "decode.h"

static const struct ring_geometry good = {
		.rings = 2, .event_slots = 100, .size = 65536, .clock = RING_CLOCK_MONOTONIC};

static int create_with(struct ring_geometry geometry)
{
	int fd = -1;
	int rc = ring_memory_create(&geometry, &fd);

	CHECK((rc == 0) == (ring_memory_size(&geometry) != 0), "size and create disagree");
	CHECK(rc == ring_geometry_check(&geometry), "check and create disagree");
	if (rc == 0)
		close(fd);
	return rc;
}

#define WITH(field, value)                           \
	__extension__({                              \
		struct ring_geometry changed = good; \
		changed.field = (value);             \
		create_with(changed);                \
	})

static void test_geometry(void)
{
	CHECK(create_with(good) == 0, "good");
	CHECK(ring_memory_size(&good) >= 2 * 65536, "size");
	CHECK(WITH(rings, 0) == -EINVAL && WITH(rings, RING_RINGS_MAX + 1) == -EINVAL, "cpus");
	CHECK(WITH(event_slots, 0) == -EINVAL, "slots");
	CHECK(WITH(event_slots, RING_EVENT_SLOTS_MAX + 1) == -EINVAL, "slots");
	CHECK(WITH(event_slots, RING_EVENT_SLOTS_MAX) == 0, "slots");
	CHECK(WITH(size, 0) == -EINVAL && WITH(size, 2048) == -EINVAL, "small");
	CHECK(WITH(size, 65537) == -EINVAL && WITH(size, 3 * 4096) == -EINVAL, "power of two");
	CHECK(WITH(size, RING_SIZE_MAX * 2) == -EINVAL, "large");
	CHECK(WITH(mode, RING_MODE_OVERWRITE) == 0 && WITH(mode, RING_MODE_BLOCK) == 0, "modes");
	CHECK(WITH(mode, (enum ring_mode)3) == -EINVAL, "mode");
	CHECK(WITH(placement, RING_PER_THREAD) == 0, "placement");
	CHECK(WITH(placement, (enum ring_placement)2) == -EINVAL, "placement");
	CHECK(WITH(flags, RING_PREFAULT) == 0 && WITH(flags, 16) == -EINVAL, "flags");
	CHECK(WITH(flags, RING_LEASED) == 0 && WITH(flags, RING_LEASED | RING_COUNTS) == -EINVAL,
			"leased");
	CHECK(WITH(flags, RING_HUGE_PAGES) == (ring_huge_page_size() ? -EINVAL : -ENOTSUP),
			"a ring smaller than a huge page");
	CHECK(WITH(clock, (enum ring_clock)2) == -EINVAL, "clock");
	CHECK(ring_possible_cpus() >= (uint32_t)sysconf(_SC_NPROCESSORS_ONLN), "possible cpus");
	for (int i = 0; i < RING_LOSS_REASONS; i++)
		CHECK(strlen(ring_loss_name((enum ring_loss)i)) > 3, "name %d", i);
}

static void refuse(int fd, int error, const char *what)
{
	struct ring_producer *producer;
	struct ring_consumer *consumer;
	int rc;

	rc = ring_producer_map(fd, &producer);
	CHECK(rc == error, "%s: producer: %d", what, rc);
	rc = ring_consumer_map(fd, NULL, &consumer);
	CHECK(rc == error, "%s: consumer: %d", what, rc);
}

/* A copy of valid ring memory, changed by the caller, possibly not sealed. */
static int copy_memory(int fd, size_t size, bool sealed)
{
	static unsigned char block[4096];
	int copy = memfd_create("copy", MFD_ALLOW_SEALING);

	CHECK(copy >= 0 && ftruncate(copy, (off_t)size) == 0, "memfd");
	for (off_t at = 0; at < 8192 && at < (off_t)size; at += 4096) {
		CHECK(pread(fd, block, 4096, at) == 4096, "read");
		CHECK(pwrite(copy, block, 4096, at) == 4096, "write");
	}
	if (sealed)
		CHECK(fcntl(copy, F_ADD_SEALS, F_SEAL_SHRINK) == 0, "seal");
	return copy;
}

static void test_refusals(void)
{
	struct ring_geometry other = good;
	struct ring_consumer *consumer;
	size_t size = ring_memory_size(&good);
	int fd, copy, pipes[2];

	CHECK(ring_memory_create(&good, &fd) == 0, "create");
	CHECK(ftruncate(fd, 0) != 0 && ftruncate(fd, (off_t)size * 2) != 0, "not sealed");
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC, "CLOEXEC");
	other.size *= 2;
	CHECK(ring_consumer_map(fd, &other, &consumer) == -EPROTO, "other geometry");
	refuse(-1, -EBADF, "no descriptor");
	CHECK(pipe(pipes) == 0, "pipe");
	refuse(pipes[0], -EPROTO, "a pipe");
	close(pipes[0]);
	close(pipes[1]);
	copy = copy_memory(fd, size, false);
	refuse(copy, -EPROTO, "not sealed");
	close(copy);
	copy = copy_memory(fd, size - 4096, true);
	refuse(copy, -EPROTO, "too short");
	close(copy);
	copy = copy_memory(fd, 100, true);
	refuse(copy, -EPROTO, "no header");
	close(copy);
	close(fd);
}

/*
 * Flips each bit of the header: it is refused, or has another geometry, which a caller that expects
 * the original one refuses.
 */
static void test_header_bits(void)
{
	size_t size = ring_memory_size(&good);
	unsigned char header[512];
	unsigned int accepted = 0;
	int fd, copy;

	CHECK(ring_memory_create(&good, &fd) == 0, "create");
	copy = copy_memory(fd, size, true);
	CHECK(pread(fd, header, sizeof(header), 0) == sizeof(header), "read");
	for (unsigned int bit = 0; bit < sizeof(header) * 8; bit++) {
		struct ring_producer *producer;
		struct ring_consumer *consumer;
		int rc;

		header[bit / 8] ^= (unsigned char)(1 << bit % 8);
		CHECK(pwrite(copy, header, sizeof(header), 0) == sizeof(header), "write");
		header[bit / 8] ^= (unsigned char)(1 << bit % 8);
		rc = ring_producer_map(copy, &producer);
		/*
		 * Clock, modes, placement, timeout, and numbers of slots that take as many pages.
		 */
		if (rc == 0) {
			accepted++;
			ring_producer_unmap(producer);
			CHECK(ring_consumer_map(copy, &good, &consumer) == -EPROTO, "bit %u", bit);
			continue;
		}
		CHECK(rc == -EPROTO || rc == -ENOTSUP, "bit %u: %d", bit, rc);
		rc = ring_consumer_map(copy, NULL, &consumer);
		CHECK(rc == -EPROTO || rc == -ENOTSUP, "bit %u: %d", bit, rc);
	}
	CHECK(accepted < 48, "%u of 4096 bits do not matter", accepted);
	close(copy);
	close(fd);
}

/* A child's publications never get into the parent's rings, and it can have rings of its own. */
static void test_fork(const struct backend *backend)
{
	struct ring_geometry geometry = good;
	struct ring_producer *producer;
	struct ring_consumer *consumer;
	struct ring_span span;
	unsigned int waiting = 0;
	int fd = way_create(backend, &geometry);
	int status;
	pid_t child;

	geometry.rings = ring_possible_cpus();
	if (fd >= 0)
		close(fd);
	fd = way_create(backend, &geometry);
	producer = fd < 0 ? NULL : way_map(backend, fd);
	if (!producer)
		return;
	CHECK(ring_consumer_map(fd, NULL, &consumer) == 0, "map");
	CHECK(ring_publish(producer, 1, "parent", 6) == 0, "publish");
	child = fork();
	if (child == 0) {
		struct ring_producer *own;

		CHECK(ring_publish(producer, 1, "child", 5) == -ECHILD, "in the child");
		CHECK(ring_publish(producer, 1, NULL, 0) == -ECHILD, "in the child");
		ring_count_lost(producer, 1, RING_LOST_INVALID);
		CHECK(ring_producer_refused(producer) == 3, "refused");
		CHECK(ring_producer_is_portable(producer) == backend->portable, "facts survive");
		CHECK(ring_producer_clock(producer) == backend->clock, "facts survive");
		CHECK(ring_producer_payload_max(producer) > 0, "facts survive");
		ring_producer_unmap(producer);
		CHECK(ring_memory_create(&geometry, &fd) == 0, "own memory");
		own = way_map(backend, fd);
		CHECK(ring_publish(own, 1, "child", 5) == 0, "own rings");
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0, "child: %x", status);
	CHECK(ring_producer_refused(producer) == 0, "only the child counts");
	CHECK(ring_publish(producer, 1, "parent", 6) == 0, "publish");
	for (uint32_t cpu = 0; cpu < geometry.rings; cpu++) {
		CHECK(ring_consumer_lost_total(consumer, cpu) == 0, "counted");
		if (ring_consumer_peek(consumer, cpu, &span) == 1)
			waiting += (unsigned int)span.size;
	}
	CHECK(waiting == 19 + 10 || waiting == 19 + 19, "%u bytes", waiting);
	ring_producer_unmap(producer);
	ring_consumer_unmap(consumer);
	close(fd);
}

/* The next consumer continues where the last one released. */
static void test_resume(void)
{
	struct ring_geometry geometry = good;
	struct ring_producer *producer;
	struct ring_consumer *consumer;
	struct ring_span span;
	uint64_t end = 0;
	int fd;

	geometry.rings = 1;
	CHECK(ring_memory_create(&geometry, &fd) == 0, "create");
	/* The portable backend: any CPU writes the single ring. */
	producer = way_map(&variants[3], fd);
	for (int i = 0; i < 5; i++) {
		char text[8];

		snprintf(text, sizeof(text), "r%d", i);
		CHECK(ring_publish(producer, 4, text, 2) == 0, "publish");
		CHECK(ring_consumer_map(fd, &geometry, &consumer) == 0, "map");
		CHECK(ring_consumer_peek(consumer, 0, &span) == 1, "nothing there");
		CHECK(span.first_timestamp >= end, "time");
		CHECK(!memcmp((const char *)span.data + span.size - 2, text, 2), "text");
		CHECK(i == 0 || span.size == 6 || span.size == 15, "%zu bytes", span.size);
		end = span.end_timestamp;
		ring_consumer_release(consumer, 0, &span);
		CHECK(ring_consumer_peek(consumer, 0, &span) == 0, "twice");
		ring_consumer_unmap(consumer);
	}
	ring_producer_unmap(producer);
	close(fd);
}

int main(void)
{
	test_geometry();
	test_refusals();
	test_header_bits();
	for (unsigned int i = 0; i < WAYS; i++)
		test_fork(&variants[i]);
	test_resume();
	return 0;
}
