/* SPDX-License-Identifier: MIT */
/*
 * The doorbell: a producer wakes a sleeping consumer without a descriptor.
 *
 * The consumer sets `sleeping`, checks the rings once more and waits on the futex `sequence`. A
 * producer stores its head and then checks `sleeping`. Both have a full fence between store and
 * load, so at least one of them sees the store of the other.
 *
 * Each ring memory has its own doorbell, in its first page: only its process and the consumer map
 * it. A consumer waits for many of them with bells.c.
 *
 * A killed consumer leaves `sleeping` unchanged; the next consumer sets it as needed.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ring/doorbell.h"

static ring_may_call *ring_asked;

void ring_ask_before_calls(ring_may_call *may_call)
{
	/* Relaxed: the function uses no other data. */
	__atomic_store(&ring_asked, &may_call, __ATOMIC_RELAXED);
}

bool ring_calls_permitted(void)
{
	ring_may_call *may_call;

	__atomic_load(&ring_asked, &may_call, __ATOMIC_RELAXED);
	return !may_call || may_call();
}

void ring_doorbell_wake(struct ring_doorbell *doorbell)
{
	int saved = errno;

	/*
	 * Release: what the producer did before. Pairs with the acquires in ring_doorbell_arm() and
	 * bells_collect().
	 */
	__atomic_fetch_add(&doorbell->sequence, 1, __ATOMIC_RELEASE);
	/* Not FUTEX_PRIVATE: the consumer is another process. */
	syscall(SYS_futex, &doorbell->sequence, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	errno = saved;
}

void ring_doorbell_ring(struct ring_doorbell *doorbell)
{
	ring_doorbell_wake(doorbell);
}

uint32_t ring_doorbell_arm(struct ring_doorbell *doorbell)
{
	/*
	 * Acquire: what the ringing producer did before. Pairs with the release in
	 * ring_doorbell_wake().
	 */
	uint32_t seen = __atomic_load_n(&doorbell->sequence, __ATOMIC_ACQUIRE);

	__atomic_store_n(&doorbell->sleeping, 1, __ATOMIC_RELAXED);
	/*
	 * Full fence: sleeping before the heads that the caller reads next. Pairs with the fence in
	 * ring_doorbell_crossed().
	 */
	ring_doorbell_fence();
	return seen;
}

void ring_doorbell_disarm(struct ring_doorbell *doorbell)
{
	__atomic_store_n(&doorbell->sleeping, 0, __ATOMIC_RELAXED);
}

int ring_doorbell_wait(struct ring_doorbell *doorbell, uint32_t seen, int timeout_ms)
{
	struct timespec timeout = {
			.tv_sec = timeout_ms / 1000,
			.tv_nsec = timeout_ms % 1000 * 1000000L,
	};

	if (timeout_ms < 0)
		return -EINVAL;
	if (!syscall(SYS_futex, &doorbell->sequence, FUTEX_WAIT, seen, &timeout, NULL, 0))
		return 0;
	/* EAGAIN: a producer has rung since ring_doorbell_arm(). */
	return errno == EAGAIN ? 0 : -errno;
}
