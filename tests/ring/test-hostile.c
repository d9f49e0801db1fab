/* SPDX-License-Identifier: MIT */
/*
 * A hostile producer overwrites its whole shared memory, at random and as fast as it can, while the
 * consumer drains it or takes snapshots. The consumer must not crash or read outside, and must
 * report the error of each ring. Between its attacks the program publishes, so that not all rings
 * are invalid at once.
 */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "decode.h"

#define RINGS 4
#define CONTROL_FROM 4096 /* The header's page is before it, and four rings' control after. */
#define CONTROL_BYTES 1024

static uint64_t *scribbled; /* A counter of the program, in memory shared with it. */
static volatile unsigned char sum;
static unsigned int spans, empty, refused, overtaken, maps, unmappable;

static uint64_t random_word(uint64_t *state, uint64_t old)
{
	uint64_t word = (uint64_t)test_random(state) << 33 ^ test_random(state);

	switch (test_random(state) % 6) {
	case 0: return word;
	case 1: return word >> test_random(state) % 64;
	case 2: return old + test_random(state) % 64 - 32;
	case 3: return old + ((uint64_t)test_random(state) % 8192 - 4096);
	case 4: return old + (((uint64_t)test_random(state) % 8192 - 4096) << 24);
	default: return old ^ UINT64_C(1) << test_random(state) % 64;
	}
}

/* The program. The test kills it, unless it crashes before. */
static void scribble(int fd, uint64_t seed)
{
	struct ring_producer *producer;
	static unsigned char payload[300];
	uint64_t state = seed, *memory;
	struct stat status;
	size_t words;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setenv("SIDE_RING_PORTABLE", seed % 2 ? "1" : "0", 1);
	if (fstat(fd, &status) || ring_producer_map(fd, &producer))
		_exit(1);
	memory = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		_exit(1);
	words = (size_t)status.st_size / 8;
	for (;;) {
		size_t at = CONTROL_FROM / 8;

		for (uint32_t i = test_random(&state) % 40; i > 0; i--)
			ring_publish(producer, test_random(&state) % 100, payload,
					test_random(&state) % sizeof(payload));
		/*
		 * Half of the writes hit the control data, a few the header, which is not read
		 * again.
		 */
		switch (test_random(&state) % 8) {
		case 0:
		case 1:
		case 2: at += test_random(&state) % (RINGS * CONTROL_BYTES / 8); break;
		case 3:
			/* Head, time, limit, claim; or the marks. */
			at += test_random(&state) % RINGS * (CONTROL_BYTES / 8);
			at += test_random(&state) % 2 ? test_random(&state) % 4
						      : 64 + test_random(&state) % 16;
			break;
		case 4:
			if (test_random(&state) % 5000 == 0)
				at = test_random(&state) % (CONTROL_FROM / 8);
			break;
		default: at += test_random(&state) % (words - at); break;
		}
		__atomic_store_n(&memory[at], random_word(&state, memory[at]), __ATOMIC_RELAXED);
		__atomic_fetch_add(scribbled, 1, __ATOMIC_RELAXED);
	}
}

/* Has the exact size of a ring, so that a sanitizer detects an access to the byte after it. */
static unsigned char *buffer;

/* False: the consumer has given up this ring. */
static bool read_ring(
		struct ring_consumer *consumer, uint32_t ring, const struct ring_geometry *geometry)
{
	struct ring_span span;
	int rc = geometry->mode == RING_MODE_OVERWRITE
			? ring_consumer_snapshot(consumer, ring, buffer, &span)
			: ring_consumer_peek(consumer, ring, &span);

	if (rc == 1) {
		const unsigned char *from = span.data;

		spans++;
		CHECK(span.size > 0 && span.size <= geometry->size, "size %zu", span.size);
		CHECK(geometry->mode != RING_MODE_OVERWRITE ||
						(from >= buffer &&
								from + span.size <=
										buffer + geometry->size),
				"outside");
		for (size_t at = 0; at < span.size; at++)
			sum ^= from[at];
		ring_consumer_release(consumer, ring, &span);
	} else if (rc == 0) {
		empty++;
	} else if (rc == -EAGAIN) {
		overtaken++;
	} else {
		refused++;
		CHECK(rc == -EBADMSG && strlen(ring_consumer_error(consumer, ring)) > 5, "%d", rc);
	}
	return rc != -EBADMSG;
}

static int count_visit(void *count, uint32_t ring, uint32_t slot, const uint64_t *counts)
{
	CHECK(ring < RINGS && slot < 100 && counts, "slot %u", slot);
	++*(unsigned int *)count;
	return 0;
}

/* Maps, reads everything a few times, and unmaps, repeatedly. */
static void consume(int fd, const struct ring_geometry *geometry, struct ring_doorbell *bell,
		unsigned int rounds)
{
	for (unsigned int i = 0; i < rounds; i++) {
		struct ring_consumer *consumer;
		unsigned int visited = 0, alive = RINGS;

		/* The header may be invalid: then another memory is needed. */
		if (ring_consumer_map(fd, geometry, &consumer)) {
			unmappable++;
			return;
		}
		maps++;
		for (unsigned int j = 0; j < 200 && alive; j++) {
			alive = 0;
			for (uint32_t ring = 0; ring < RINGS; ring++) {
				alive += read_ring(consumer, ring, geometry);
				ring_consumer_lost_total(consumer, ring);
			}
			ring_consumer_pending(consumer);
			ring_consumer_lost_each(consumer, j % RINGS, count_visit, &visited);
			if (bell) {
				ring_doorbell_arm(bell);
				ring_doorbell_disarm(bell);
			}
		}
		ring_consumer_unmap(consumer);
		sched_yield();
	}
}

static void attack(enum ring_mode mode, enum ring_placement placement, uint64_t seed)
{
	struct ring_geometry geometry = {.rings = RINGS,
			.event_slots = 100,
			.size = seed % 3 ? 4096 : 1 << 16,
			.mode = mode,
			.clock = RING_CLOCK_MONOTONIC,
			.placement = placement,
			.block_timeout_us = 10};
	int fd, status;
	pid_t child;

	CHECK(ring_memory_create(&geometry, &fd) == 0, "create");
	buffer = malloc(geometry.size);
	child = fork();
	CHECK(child >= 0, "fork");
	if (child == 0)
		scribble(fd, seed);
	/* It runs before and during the reads. */
	for (uint64_t before = *scribbled; __atomic_load_n(scribbled, __ATOMIC_RELAXED) == before;)
		sched_yield();
	consume(fd, &geometry, NULL, 5);
	/* The program may crash on its own invalid data, but never writes outside of its rings. */
	kill(child, SIGKILL);
	CHECK(waitpid(child, &status, 0) == child, "waitpid");
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "the program: %x", status);
	/* The same with a dead program. */
	consume(fd, &geometry, NULL, 1);
	free(buffer);
	close(fd);
}

int main(void)
{
	unsigned int rounds = test_is_long() ? 3000 : 25;

	scribbled = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(scribbled != MAP_FAILED, "mmap");
	for (unsigned int i = 0; i < rounds; i++) {
		for (int mode = 0; mode <= RING_MODE_BLOCK; mode++) {
			attack((enum ring_mode)mode, RING_PER_CPU, i * 2 + 1);
			attack((enum ring_mode)mode, RING_PER_THREAD, i * 2 + 2);
		}
	}
	printf("%lu words scribbled; %u maps (%u refused); %u spans, %u empty, %u refused, %u "
	       "overtaken\n",
			*scribbled, maps, unmappable, spans, empty, refused, overtaken);
	CHECK(spans > 10 && refused > 10, "not much tried");
	return 0;
}
