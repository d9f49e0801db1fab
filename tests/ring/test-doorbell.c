/* SPDX-License-Identifier: MIT */
/*
 * The doorbell: a producer that crosses a sub-buffer boundary ends the consumer's wait, in all
 * backends, and one that does not cross it does not. A consumer that sleeps only when nothing is
 * pending never sleeps while a ring is pending.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "decode.h"

#define RING_BYTES 65536
#define ROUNDS 2000

static struct ring_doorbell *bell;
static struct ring_producer *producer;
static struct ring_consumer *consumer;
static unsigned char payload[1024];
static uint64_t consumed; /* Bytes, by the main thread. */

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void drain(void)
{
	for (uint32_t cpu = 0; cpu < ring_consumer_geometry(consumer)->rings; cpu++) {
		struct ring_span span;

		if (ring_consumer_peek(consumer, cpu, &span) == 1) {
			/*
			 * Read the space first: a producer that sees the sum change finds space,
			 * and for one that finds none the sum changes later.
			 */
			ring_consumer_release(consumer, cpu, &span);
			__atomic_fetch_add(&consumed, span.size, __ATOMIC_RELEASE);
		}
	}
}

static void test_plain(void)
{
	uint32_t seen;
	int rounds = 0;

	CHECK(ring_doorbell_wait(bell, 0, -1) == -EINVAL, "timeout");
	seen = ring_doorbell_arm(bell);
	CHECK(ring_doorbell_wait(bell, seen, 1) == -ETIMEDOUT, "no ring of the bell");
	CHECK(ring_publish(producer, 1, payload, 10) == 0, "publish");
	CHECK(!ring_consumer_pending(consumer), "pending by a few bytes");
	CHECK(ring_doorbell_wait(bell, seen, 1) == -ETIMEDOUT, "rang for a few bytes");
	/* After this number of records, one ring has crossed an eighth. */
	while (!ring_consumer_pending(consumer)) {
		CHECK(ring_publish(producer, 1, payload, 1000) == 0, "publish");
		CHECK(++rounds < RING_BYTES / 1000, "never pending");
	}
	CHECK(ring_doorbell_wait(bell, seen, 1000) == 0, "did not ring");
	drain();
	CHECK(!ring_consumer_pending(consumer), "still pending");
	ring_doorbell_disarm(bell);
	seen = ring_doorbell_arm(bell);
	ring_doorbell_disarm(bell);
	for (int i = 0; i < 40; i++)
		CHECK(ring_publish(producer, 1, payload, 1000) == 0, "publish");
	CHECK(ring_doorbell_wait(bell, seen, 0) == -ETIMEDOUT, "rang for one who does not sleep");
	drain();
	seen = ring_doorbell_arm(bell);
	ring_doorbell_ring(bell);
	CHECK(ring_doorbell_wait(bell, seen, 1000) == 0, "ring_doorbell_ring");
}

/* Fills a sub-buffer or more, then waits until the consumer has released it. */
static void *thread_main(void *data)
{
	uint64_t state = 3;

	(void)data;
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t before = __atomic_load_n(&consumed, __ATOMIC_ACQUIRE);
		int64_t until = now_ms() + 3000;

		for (uint32_t i = 0, n = 9 + test_random(&state) % 40; i < n; i++)
			ring_publish(producer, 1, payload, 1000);
		while (__atomic_load_n(&consumed, __ATOMIC_ACQUIRE) == before) {
			CHECK(now_ms() < until, "slept over a pending ring");
			sched_yield();
		}
	}
	return NULL;
}

static void test_race(void)
{
	int64_t until = now_ms() + 1500;
	unsigned int waits = 0, timeouts = 0;
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, thread_main, NULL) == 0, "thread");
	while (pthread_tryjoin_np(thread, NULL) != 0) {
		uint32_t seen;

		drain();
		seen = ring_doorbell_arm(bell);
		if (!ring_consumer_pending(consumer)) {
			/*
			 * The other thread may have filled half a sub-buffer in each of two rings.
			 */
			timeouts += ring_doorbell_wait(bell, seen, 20) == -ETIMEDOUT;
			waits++;
		}
		ring_doorbell_disarm(bell);
		if (now_ms() > until) {
			drain();
			sched_yield();
		}
	}
	CHECK(timeouts <= waits / 50 + 5, "%u of %u waits timed out", timeouts, waits);
	printf("%u waits, %u timed out\n", waits, timeouts);
}

static void test_way(const struct backend *backend)
{
	struct ring_geometry geometry = {
			.rings = ring_possible_cpus(), .event_slots = 1, .size = RING_BYTES};
	int fd = way_create(backend, &geometry);

	producer = fd < 0 ? NULL : way_map(backend, fd);
	if (!producer)
		return;
	CHECK(ring_consumer_map(fd, &geometry, &consumer) == 0, "map");
	close(fd);
	bell = ring_consumer_doorbell(consumer);
	test_plain();
	test_race();
	ring_producer_unmap(producer);
	ring_consumer_unmap(consumer);
}

/* In a file: for the next consumer, and without harm when the file is truncated. */
static void test_file(void)
{
	struct ring_geometry geometry = {.rings = 1, .event_slots = 1, .size = RING_BYTES};
	char path[] = "/tmp/side-doorbell-XXXXXX";
	struct ring_consumer *next;
	int dir_fd, fd;
	uint32_t seen;

	CHECK(mkdtemp(path), "mkdtemp");
	dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(dir_fd >= 0, "open");
	CHECK(ring_memory_create_file(&geometry, dir_fd, "rings", &fd) == 0, "create");
	CHECK(ring_consumer_map(fd, &geometry, &consumer) == 0, "map");
	CHECK(ring_consumer_map(fd, &geometry, &next) == 0, "map again");
	bell = ring_consumer_doorbell(next);
	seen = ring_doorbell_arm(bell);
	ring_doorbell_ring(ring_consumer_doorbell(consumer));
	CHECK(ring_doorbell_wait(bell, seen, 1000) == 0, "rung by the other mapping");
	ring_consumer_unmap(consumer);
	CHECK(ftruncate(fd, 0) == 0, "truncate");
	seen = ring_doorbell_arm(bell);
	CHECK(ring_doorbell_wait(bell, seen, 1) == -ETIMEDOUT, "a truncated file");
	ring_doorbell_disarm(bell);
	ring_consumer_unmap(next);
	CHECK(unlinkat(dir_fd, "rings", 0) == 0 && rmdir(path) == 0, "remove");
	close(fd);
	close(dir_fd);
}

int main(void)
{
	for (unsigned int i = 0; i < WAYS; i++)
		test_way(&variants[i]);
	test_file();
	return 0;
}
