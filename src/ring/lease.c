/* SPDX-License-Identifier: MIT */
/*
 * The producer's end of a lease (lease.h): claims the memory with a record, and returns it after a
 * recall.
 *
 * Runs in the slow path of a publication, in any context: it takes no lock and allocates nothing.
 */
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ring/clock.h"
#include "ring/doorbell.h"
#include "ring/lease.h"

/* the longest wait of a record for an answer of the consumer */
#define RING_LEASE_WAIT_MS 100
#define RING_LEASE_AGAIN_NS UINT64_C(100000000) /* the shortest pause between two requests, */
#define RING_LEASE_AGAIN_WAITS 8                /* and this many times the duration of the answer */
/* of one record, while other threads change the word */
#define RING_LEASE_STEPS 256

/* Relaxed: set before any rings are mapped. */
static unsigned int lease_wait_ms = RING_LEASE_WAIT_MS;

void ring_lease_timeout_factor(unsigned int factor)
{
	__atomic_store_n(&lease_wait_ms, RING_LEASE_WAIT_MS * factor, __ATOMIC_RELAXED);
}

static uint64_t lease_wait_ns(void)
{
	return __atomic_load_n(&lease_wait_ms, __ATOMIC_RELAXED) * UINT64_C(1000000);
}

static uint64_t ring_lease_now(void)
{
	return (uint64_t)ring_clock_read_ns(CLOCK_MONOTONIC);
}

/* Wait until the word changes or the time has passed. Returns the word. */
static uint32_t lease_wait_for_change(struct ring_lease *lease, uint32_t word, uint64_t until)
{
	for (uint64_t now = ring_lease_now(); now < until; now = ring_lease_now()) {
		struct timespec timeout = {.tv_sec = (time_t)((until - now) / 1000000000),
				.tv_nsec = (long)((until - now) % 1000000000)};
		/* Acquire: as in ring_lease_step(). */
		uint32_t found = __atomic_load_n(&lease->word, __ATOMIC_ACQUIRE);

		if (found != word)
			return found;
		/*
		 * Not FUTEX_PRIVATE: the consumer is another process. After a signal the loop
		 * continues.
		 */
		syscall(SYS_futex, &lease->word, FUTEX_WAIT, word, &timeout, NULL, 0);
	}
	/* Acquire: as in ring_lease_step(). */
	return __atomic_load_n(&lease->word, __ATOMIC_ACQUIRE);
}

/*
 * The consumer had no memory, or is slow to answer. Make a pause before the next request, so that
 * threads spend most of their time without waiting. Relaxed: as in lease_ask().
 */
static void lease_pause(struct ring_producer *producer, uint64_t begin)
{
	uint64_t now = ring_lease_now(), pause = (now - begin) * RING_LEASE_AGAIN_WAITS;

	__atomic_store_n(&producer->lease_again_ns,
			now + (pause > RING_LEASE_AGAIN_NS ? pause : RING_LEASE_AGAIN_NS),
			__ATOMIC_RELAXED);
}

/* In the state REVOKED: make a request. True if this thread or another one has asked. */
static bool lease_begin_question(struct ring_producer *producer, struct ring_lease *lease,
		uint32_t *word, uint64_t now)
{
	struct ring_doorbell *doorbell = producer->doorbell;

	if (now < __atomic_load_n(&producer->lease_again_ns, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&producer->lease_until_ns, now + lease_wait_ns(), __ATOMIC_RELAXED);
	__atomic_store_n(&producer->lease_again_ns, now + RING_LEASE_AGAIN_NS, __ATOMIC_RELAXED);
	if (!ring_lease_change(lease, word, RING_LEASE_ASKED, 0))
		return true;
	*word = ring_lease_word(*word, RING_LEASE_ASKED);
	/* NULL in a child that a signal handler has forked. */
	if (doorbell)
		ring_doorbell_wake(doorbell);
	return true;
}

/*
 * In the states REVOKED or ASKED: ask and wait. True if the state may have changed. Relaxed
 * accesses to the times: a thread that reads an older one asks or waits once more than necessary.
 */
static bool lease_ask(struct ring_producer *producer, struct ring_lease *lease, uint32_t word)
{
	uint64_t begin;

	/*
	 * No wait in a sandbox, nor in a child of vfork(), whose parent sleeps until the child is
	 * done. The consumer finds the request with its next scan, and later records find the
	 * memory.
	 */
	if (!ring_calls_permitted() || producer->pid != getpid()) {
		if (ring_lease_state(word) == RING_LEASE_REVOKED)
			(void)ring_lease_change(lease, &word, RING_LEASE_ASKED, 0);
		return false;
	}
	begin = ring_lease_now();
	if (ring_lease_state(word) == RING_LEASE_REVOKED &&
			!lease_begin_question(producer, lease, &word, begin))
		return false;
	if (ring_lease_state(word) == RING_LEASE_ASKED)
		word = lease_wait_for_change(lease, word,
				__atomic_load_n(&producer->lease_until_ns, __ATOMIC_RELAXED));
	if (ring_lease_state(word) <= RING_LEASE_RECALLED)
		return true;
	lease_pause(producer, begin);
	return false;
}

/*
 * In the state USED, according to a word that was loaded before: open the rings, also if
 * ring_producer_leave() of another thread has closed some of them. False: claim the memory again.
 */
static bool lease_open(struct ring_producer *producer, struct ring_lease *lease)
{
	if (__atomic_load_n(&producer->usable, __ATOMIC_RELAXED) &&
			__atomic_load_n(&producer->payload_limit, __ATOMIC_RELAXED))
		return true;
	ring_producer_open(producer);
	/*
	 * Acquire: as in ring_lease_step(). After the load above, the memory may have been recalled
	 * and closed. Then it is open again, and ring_producer_left() would not notice.
	 * ring_producer_open() has a fence: a thread that leaves later than this load closes what
	 * was opened here. If a thread has left before, the load finds another word, and the caller
	 * claims the memory again.
	 */
	return ring_lease_state(__atomic_load_n(&lease->word, __ATOMIC_ACQUIRE)) == RING_LEASE_USED;
}

/* Make one transition. False: the memory is absent. */
static bool ring_lease_step(struct ring_producer *producer, struct ring_lease *lease, bool ask)
{
	/* Acquire: the memory that the consumer has provided. Pairs with ring_lease_change(). */
	uint32_t word = __atomic_load_n(&lease->word, __ATOMIC_ACQUIRE);

	switch (ring_lease_state(word)) {
	case RING_LEASE_USED: return true;
	case RING_LEASE_FREE:
	case RING_LEASE_RECALLED:
		(void)ring_lease_change(lease, &word, RING_LEASE_USED, RING_LEASE_TAKEN_ONCE);
		return true;
	default: return ask && lease_ask(producer, lease, word);
	}
}

bool ring_lease_claim(struct ring_producer *producer, bool ask)
{
	struct ring_lease *lease;
	unsigned int step = 0;

	/*
	 * NULL also in a child that a signal handler has forked meanwhile; the caller detects that.
	 */
	while ((lease = __atomic_load_n(&producer->lease, __ATOMIC_RELAXED)) != NULL) {
		/* Acquire: as in ring_lease_step(). */
		if (ring_lease_state(__atomic_load_n(&lease->word, __ATOMIC_ACQUIRE)) ==
						RING_LEASE_USED &&
				lease_open(producer, lease))
			return true;
		if (!ring_lease_step(producer, lease, ask) || ++step == RING_LEASE_STEPS)
			return false;
	}
	return true;
}

bool ring_producer_leave(struct ring_producer *producer)
{
	struct ring_lease *lease = producer->lease;
	/* Acquire: as in ring_lease_step(). */
	uint32_t word = lease ? __atomic_load_n(&lease->word, __ATOMIC_ACQUIRE) : 0;

	if (!lease || ring_lease_state(word) != RING_LEASE_RECALLED)
		return false;
	/*
	 * A record that finds the rings closed claims the memory again and opens them, perhaps
	 * while this thread closes them. Then ring_producer_left() finds another word, and the next
	 * record that finds anything closed opens it.
	 */
	ring_producer_close(producer);
	producer->lease_left = word;
	return true;
}

void ring_producer_left(struct ring_producer *producer)
{
	uint32_t word = producer->lease_left;

	producer->lease_left = 0;
	if (producer->lease && ring_lease_state(word) == RING_LEASE_RECALLED)
		(void)ring_lease_change(producer->lease, &word, RING_LEASE_FREE, 0);
}
