/* SPDX-License-Identifier: MIT */
/*
 * Values that a producer reads again after it has opened its rings. At that time the rings may have
 * been stopped or recalled, or the process may have forked. The fence of ring_producer_open(), and
 * its call in lease.c, pass through hooks of the test.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "ring/layout.h"

#include "decode.h"
#include "ring/doorbell.h"
#include "ring/lease.h"

static void (*on_fence)(void), (*on_open)(void);

static void hooked_fence(void)
{
	ring_doorbell_fence();
	if (on_fence)
		on_fence();
}

#define ring_doorbell_fence hooked_fence
#include "ring/producer.c"
#undef ring_doorbell_fence

static void hooked_open(struct ring_producer *producer)
{
	ring_producer_open(producer);
	if (on_open)
		on_open();
}

#define ring_producer_open hooked_open
#include "ring/lease.c"
#undef ring_producer_open

static struct ring_producer *rings;
static struct ring_lease lease;

static bool is_open(void)
{
	return rings->payload_limit == ring_producer_cold(rings)->payload_max + 1 &&
			rings->usable == rings->rings;
}

static bool is_closed(void)
{
	return !rings->payload_limit && !rings->usable;
}

static void stop_beside(void)
{
	__atomic_store_n(&rings->stopped, true, __ATOMIC_RELAXED);
}

static unsigned int nr_fences;

static void count_fence(void)
{
	nr_fences++;
}

static void fork_beside(void)
{
	rings->path = RING_PATH_NONE;
}

static void recall_beside(void)
{
	lease.word = ring_lease_word(lease.word, RING_LEASE_RECALLED);
}

static void test_open(void)
{
	uint32_t path = rings->path;

	ring_producer_close(rings);
	CHECK(is_closed(), "closed");
	ring_producer_open(rings);
	CHECK(is_open(), "opened");
	/* Stopped before, and after it was opened. */
	ring_producer_stop(rings, true);
	CHECK(is_closed() && rings->stopped, "stopped");
	/* The rings are never open. */
	on_fence = count_fence;
	ring_producer_open(rings);
	CHECK(is_closed() && !nr_fences, "stopped before it was opened");
	on_fence = NULL;
	ring_producer_stop(rings, false);
	CHECK(is_open() && !rings->stopped, "no longer stopped");
	ring_producer_close(rings);
	on_fence = stop_beside;
	ring_producer_open(rings);
	CHECK(is_closed() && rings->stopped, "stopped while it was opened");
	on_fence = NULL;
	ring_producer_stop(rings, false);
	/* In a child that a signal handler has forked, the page is wiped. */
	ring_producer_close(rings);
	on_fence = fork_beside;
	CHECK(!ring_producer_forked(rings), "not forked");
	ring_producer_open(rings);
	CHECK(ring_producer_forked(rings) && is_closed(), "forked while it was opened");
	on_fence = count_fence;
	ring_producer_open(rings);
	CHECK(is_closed() && !nr_fences, "forked before it was opened");
	on_fence = NULL;
	ring_producer_stop(rings, true);
	CHECK(!rings->stopped, "nothing is stopped in a child");
	rings->path = path;
	/* Rings whose memory is leased are opened by the next record. */
	ring_producer_close(rings);
	rings->lease = &lease;
	ring_producer_stop(rings, true);
	CHECK(is_closed() && rings->stopped, "stopped with a lease");
	ring_producer_stop(rings, false);
	CHECK(is_closed() && !rings->stopped, "no longer stopped, and closed");
	rings->lease = NULL;
	ring_producer_open(rings);
}

static void test_lease(void)
{
	uint32_t before;

	lease.word = ring_lease_word(0, RING_LEASE_USED);
	before = lease.word;
	CHECK(lease_open(rings, &lease) && is_open(), "open already");
	ring_producer_close(rings);
	CHECK(lease_open(rings, &lease) && is_open(), "opened");
	/* A leaving thread has closed one of the two. */
	rings->usable = 0;
	CHECK(lease_open(rings, &lease) && is_open(), "half open");
	rings->payload_limit = 0;
	CHECK(lease_open(rings, &lease) && is_open(), "the other half");
	CHECK(lease.word == before, "the word is the same");
	/*
	 * The consumer recalls the memory while the rings are opened: the producer must claim it
	 * again.
	 */
	ring_producer_close(rings);
	on_open = recall_beside;
	CHECK(!lease_open(rings, &lease), "recalled while it was opened");
	on_open = NULL;
	/* ring_lease_claim() does that. */
	lease.word = ring_lease_word(0, RING_LEASE_USED);
	ring_producer_close(rings);
	rings->lease = &lease;
	on_open = recall_beside;
	CHECK(ring_lease_claim(rings, false) && is_open(), "taken again");
	on_open = NULL;
	CHECK(ring_lease_state(lease.word) == RING_LEASE_USED, "used");
	/* The thread leaves the memory, unless another thread has taken it since then. */
	CHECK(!ring_producer_leave(rings) && is_open(), "it was not recalled");
	recall_beside();
	CHECK(ring_producer_leave(rings) && is_closed(), "left");
	CHECK(rings->lease_left == lease.word, "with this word");
	CHECK(ring_lease_claim(rings, false) && is_open(), "taken after it was left");
	before = lease.word;
	ring_producer_left(rings);
	CHECK(lease.word == before && !rings->lease_left, "it is not given back");
	recall_beside();
	CHECK(ring_producer_leave(rings), "left once more");
	ring_producer_left(rings);
	CHECK(ring_lease_state(lease.word) == RING_LEASE_FREE && !rings->lease_left, "given back");
	rings->lease = NULL;
}

int main(void)
{
	struct ring_geometry geometry = {.rings = 2, .event_slots = 1, .size = 65536};
	int fd;

	CHECK(ring_memory_create(&geometry, &fd) == 0, "create");
	CHECK(ring_producer_map(fd, &rings) == 0, "map");
	test_open();
	test_lease();
	ring_producer_unmap(rings);
	close(fd);
	return 0;
}
