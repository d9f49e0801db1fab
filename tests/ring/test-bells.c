/* SPDX-License-Identifier: MIT */
/*
 * Sets of doorbells: each of many ring memories ends the wait, members join and leave, a program
 * that rings without a reason is muted, and a truncated file does not end the waits of the others.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "decode.h"

/* Three groups: one for the thread that waits, two with threads of their own. */
#define MEMBERS 300
#define RING_BYTES 4096
#define LONG_MS 60000

static struct ring_bells *bells;
static struct member {
	struct ring_producer *producer;
	struct ring_consumer *consumer;
} members[MEMBERS];
static unsigned char payload[RING_BYTES / 4];

static void make_member(struct member *member)
{
	struct ring_geometry geometry = {.rings = ring_possible_cpus(),
			.event_slots = 1,
			.size = RING_BYTES,
			.clock = RING_CLOCK_MONOTONIC};
	int fd;

	CHECK(ring_memory_create(&geometry, &fd) == 0, "create");
	CHECK(ring_producer_map(fd, &member->producer) == 0, "producer");
	CHECK(ring_consumer_map(fd, &geometry, &member->consumer) == 0, "consumer");
	close(fd);
	CHECK(ring_bells_add(bells, member->consumer) == 0, "add");
}

static void drop_member(struct member *member)
{
	ring_bells_remove(bells, member->consumer);
	ring_consumer_unmap(member->consumer);
	ring_producer_unmap(member->producer);
	*member = (struct member){0};
}

static void drain(const struct member *member)
{
	struct ring_span span;

	for (uint32_t cpu = 0; cpu < ring_consumer_geometry(member->consumer)->rings; cpu++)
		while (ring_consumer_peek(member->consumer, cpu, &span) == 1)
			ring_consumer_release(member->consumer, cpu, &span);
}

static bool is_any_pending(void)
{
	for (int i = 0; i < MEMBERS; i++)
		if (members[i].consumer && ring_consumer_pending(members[i].consumer))
			return true;
	return false;
}

/*
 * The threads of the groups may ring once more for records that were read already: wait until this
 * ring is pending.
 */
static void expect_wake(const struct member *member)
{
	while (!ring_consumer_pending(member->consumer)) {
		ring_bells_arm(bells);
		if (!is_any_pending())
			CHECK(ring_bells_wait(bells, LONG_MS) == 0, "not woken");
		ring_bells_disarm(bells);
	}
	drain(member);
}

/* Publishes more than an eighth of a ring, in any ring. */
static void publish_in_thread(const struct member *member)
{
	for (int i = 0; i < 3; i++) {
		int rc = ring_publish(member->producer, 1, payload, sizeof(payload));

		CHECK(rc == 0, "publish by %d: %s", (int)(member - members), strerror(-rc));
	}
}

static void *publish(void *data)
{
	usleep(1000);
	publish_in_thread(data);
	return NULL;
}

static void test_each(void)
{
	for (int i = 0; i < MEMBERS; i++) {
		pthread_t thread;

		if (!members[i].consumer)
			continue;
		CHECK(pthread_create(&thread, NULL, publish, &members[i]) == 0, "thread");
		expect_wake(&members[i]);
		pthread_join(thread, NULL);
		drain(&members[i]);
	}
}

static void test_own(void)
{
	CHECK(ring_bells_wait(bells, -1) == -EINVAL, "timeout");
	ring_bells_arm(bells);
	ring_bells_ring(bells);
	CHECK(ring_bells_wait(bells, LONG_MS) == 0, "ring_bells_ring");
	ring_bells_disarm(bells);
}

/* A member that rings without publishing. */
static void test_mute(struct member *noisy, struct member *other)
{
	pthread_t thread;

	for (int i = 0; i < 1000 && !ring_bells_muted(bells); i++) {
		ring_bells_arm(bells);
		ring_doorbell_ring(ring_consumer_doorbell(noisy->consumer));
		CHECK(ring_bells_wait(bells, LONG_MS) == 0, "not woken");
		ring_bells_disarm(bells);
	}
	CHECK(ring_bells_muted(bells) == 1, "not muted");
	CHECK(pthread_create(&thread, NULL, publish, other) == 0, "thread");
	expect_wake(other);
	pthread_join(thread, NULL);
	drain(other);
	/* Muting ends. */
	while (ring_bells_muted(bells)) {
		ring_bells_arm(bells);
		ring_bells_disarm(bells);
		usleep(10000);
	}
	CHECK(pthread_create(&thread, NULL, publish, noisy) == 0, "thread");
	expect_wake(noisy);
	pthread_join(thread, NULL);
	drain(noisy);
}

static void test_truncated(void)
{
	struct ring_geometry geometry = {.rings = 1,
			.event_slots = 1,
			.size = RING_BYTES,
			.clock = RING_CLOCK_MONOTONIC};
	char path[] = "/tmp/side-bells-XXXXXX";
	struct ring_consumer *consumer;
	int dir_fd, fd;

	CHECK(mkdtemp(path), "mkdtemp");
	dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(ring_memory_create_file(&geometry, dir_fd, "rings", &fd) == 0, "create");
	CHECK(ring_consumer_map(fd, &geometry, &consumer) == 0, "map");
	CHECK(ring_bells_add(bells, consumer) == 0, "add");
	CHECK(ftruncate(fd, 0) == 0, "truncate");
	test_each();
	ring_bells_remove(bells, consumer);
	ring_consumer_unmap(consumer);
	CHECK(unlinkat(dir_fd, "rings", 0) == 0 && rmdir(path) == 0, "remove");
	close(fd);
	close(dir_fd);
}

int main(void)
{
	CHECK(ring_bells_create(&bells) == 0, "create");
	test_own();
	for (int i = 0; i < MEMBERS; i++)
		make_member(&members[i]);
	test_own();
	test_each();
	/* In the waiting thread's group, and in one with a thread. */
	test_mute(&members[3], &members[MEMBERS - 1]);
	test_mute(&members[200], &members[3]);
	for (int i = 0; i < MEMBERS; i += 3)
		drop_member(&members[i]);
	test_truncated();
	for (int i = 0; i < MEMBERS; i += 3)
		make_member(&members[i]);
	test_each();
	for (int i = MEMBERS - 1; i >= 0; i--)
		drop_member(&members[i]);
	ring_bells_destroy(bells);
	return 0;
}
