/* SPDX-License-Identifier: MIT */
/*
 * The doorbell: how a producer wakes a sleeping consumer without a descriptor of its own.
 *
 * The consumer sets `sleeping`, looks at the rings once more and waits on the futex `sequence`; a
 * producer stores its head and then looks at `sleeping`. With a full fence between store and load
 * on both sides, at least one of them sees the other.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ring/doorbell.h"
#include "ring/layout.h"

static_assert(sizeof(struct ring_doorbell) == 128, "ring_doorbell");
static_assert(offsetof(struct ring_doorbell, sleeping) == 64, "sleeping");

int ring_doorbell_create(int *result)
{
	struct ring_doorbell *doorbell;
	int fd = ring_memfd_create("side-doorbell", RING_DOORBELL_BYTES, 0);
	int rc;

	if (fd < 0)
		return fd;
	doorbell = mmap(NULL, RING_DOORBELL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (doorbell == MAP_FAILED) {
		rc = -errno;
		close(fd);
		return rc;
	}
	doorbell->magic = RING_DOORBELL_MAGIC;
	doorbell->version = RING_VERSION;
	munmap(doorbell, RING_DOORBELL_BYTES);
	*result = fd;
	return 0;
}

int ring_doorbell_map(int fd, struct ring_doorbell **result)
{
	struct ring_doorbell *doorbell;
	uint64_t size;
	int rc = ring_memfd_check(fd, RING_DOORBELL_BYTES, &size);

	if (rc)
		return rc;
	doorbell = mmap(NULL, RING_DOORBELL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (doorbell == MAP_FAILED)
		return -errno;
	if (doorbell->magic != RING_DOORBELL_MAGIC || doorbell->version != RING_VERSION) {
		munmap(doorbell, RING_DOORBELL_BYTES);
		return -EPROTO;
	}
	*result = doorbell;
	return 0;
}

void ring_doorbell_unmap(struct ring_doorbell *doorbell)
{
	munmap(doorbell, RING_DOORBELL_BYTES);
}

static ring_may_call *ring_asked;

void ring_ask_before_calls(ring_may_call *may_call)
{
	/* Orders nothing: the function is all there is. */
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
	uint32_t seen = __atomic_load_n(&doorbell->sequence, __ATOMIC_ACQUIRE);

	__atomic_store_n(&doorbell->sleeping, 1, __ATOMIC_RELAXED);
	/* sleeping before the heads that the caller looks at next: see ring_doorbell_crossed(). */
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
	/* EAGAIN: rung since ring_doorbell_arm(). */
	return errno == EAGAIN ? 0 : -errno;
}
