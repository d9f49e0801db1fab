/* SPDX-License-Identifier: MIT */
/*
 * The doorbell: how a producer wakes a sleeping consumer without a descriptor of its own.
 *
 * The consumer sets `sleeping`, looks at the rings once more and waits on the futex `sequence`; a
 * producer stores its head and then looks at `sleeping`. With a full fence between store and load
 * on both sides, at least one of them sees the other.
 *
 * A consumer that is killed leaves `sleeping` as it was: the next one sets it as it needs it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ring/doorbell.h"
#include "ring/layout.h"

/* The wrappers recognize a tracer's call by its return address, so the last call of a function must not be a jump. */
#define NO_TAIL_CALL() __asm__ volatile("")

static_assert(sizeof(struct ring_doorbell) == 128, "ring_doorbell");
static_assert(offsetof(struct ring_doorbell, sleeping) == 64, "sleeping");

/* The page of a new doorbell. */
static int ring_doorbell_fill(int fd, enum ring_storage storage)
{
	struct ring_doorbell doorbell = {
			.magic = RING_DOORBELL_MAGIC, .version = RING_VERSION, .storage = storage};
	ssize_t done = pwrite(fd, &doorbell, sizeof(doorbell), 0);

	return done == (ssize_t)sizeof(doorbell) ? 0 : done < 0 ? -errno : -EIO;
}

int ring_doorbell_create(int *result)
{
	int fd = ring_memfd_create("side-doorbell", RING_DOORBELL_BYTES, 0);
	int rc = fd < 0 ? fd : ring_doorbell_fill(fd, RING_IN_MEMFD);

	if (rc) {
		if (fd >= 0)
			close(fd);
		return rc;
	}
	*result = fd;
	return 0;
}

int ring_doorbell_create_file(int dir_fd, const char *name, int *result)
{
	int fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	int rc;

	if (fd < 0)
		return -errno;
	/* A hole would be a SIGBUS in the traced program when the disk is full. */
	rc = -posix_fallocate(fd, 0, RING_DOORBELL_BYTES);
	if (!rc)
		rc = ring_doorbell_fill(fd, RING_IN_FILE);
	if (rc) {
		unlinkat(dir_fd, name, 0);
		close(fd);
		return rc;
	}
	*result = fd;
	return 0;
}

/* A memfd that cannot shrink, or what says that it is a file. Looked at before it is mapped. */
static int ring_doorbell_check(int fd)
{
	struct ring_doorbell doorbell;
	struct stat status;
	bool sealed;
	int seals;

	if (fstat(fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_size < RING_DOORBELL_BYTES)
		return -EPROTO;
	if (pread(fd, &doorbell, sizeof(doorbell), 0) != (ssize_t)sizeof(doorbell))
		return -EPROTO;
	if (doorbell.magic != RING_DOORBELL_MAGIC || doorbell.version != RING_VERSION)
		return -EPROTO;
	seals = fcntl(fd, F_GET_SEALS);
	sealed = seals >= 0 && (seals & F_SEAL_SHRINK);
	return sealed == (doorbell.storage == RING_IN_MEMFD) ? 0 : -EPROTO;
}

int ring_doorbell_map(int fd, struct ring_doorbell **result)
{
	struct ring_doorbell *doorbell;
	int rc = ring_doorbell_check(fd);

	if (rc)
		return rc;
	doorbell = mmap(NULL, RING_DOORBELL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (doorbell == MAP_FAILED)
		return -errno;
	*result = doorbell;
	return 0;
}

int ring_doorbell_watch(const struct ring_doorbell *doorbell)
{
	struct ring_truncation *truncation;

	return ring_truncation_watch(doorbell, RING_DOORBELL_BYTES, &truncation);
}

void ring_doorbell_unwatch(const struct ring_doorbell *doorbell)
{
	ring_truncation_forget_at(doorbell);
}

void ring_doorbell_unmap(struct ring_doorbell *doorbell)
{
	munmap(doorbell, RING_DOORBELL_BYTES);
	NO_TAIL_CALL();
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

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#define TWO_FALLBACK_MS 10 /* of kernels that cannot wait for two */

/* What <linux/futex.h> calls struct futex_waitv, where it has it. */
struct ring_wait {
	uint64_t value, address;
	uint32_t flags, reserved;
};
#define RING_WAIT_32 2

int ring_doorbell_wait_two(
		struct ring_doorbell *const bells[2], const uint32_t seen[2], int timeout_ms)
{
	struct ring_wait waits[2];
	struct timespec until;
	long ret;

	if (timeout_ms < 0)
		return -EINVAL;
	for (int i = 0; i < 2; i++)
		waits[i] = (struct ring_wait){.value = seen[i],
				.address = (uintptr_t)&bells[i]->sequence,
				.flags = RING_WAIT_32};
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += timeout_ms / 1000;
	until.tv_nsec += timeout_ms % 1000 * 1000000L;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	ret = syscall(SYS_futex_waitv, waits, 2, 0, &until, CLOCK_MONOTONIC);
	if (ret >= 0 || errno == EAGAIN)
		return 0;
	if (errno == ETIMEDOUT || errno == EINTR)
		return -errno;
	return ring_doorbell_wait(bells[0], seen[0],
			timeout_ms < TWO_FALLBACK_MS ? timeout_ms : TWO_FALLBACK_MS);
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
