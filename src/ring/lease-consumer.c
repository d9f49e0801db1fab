/* SPDX-License-Identifier: MIT */
/*
 * The consumer's end of a lease (lease.h): revokes memory, and provides it again.
 *
 * The producer can write any word at any time. The caller knows from its own state whether the
 * memory is present. So a false word costs only the producer its records: a file is truncated, so
 * the program gets a SIGBUS if it writes there, unless it enlarges the file. A memfd cannot be
 * truncated. The caller detects both by the size of the file and with ring_consumer_resident().
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/falloc.h>
#include <linux/futex.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/inside/clock.h"
#include "ring/consumer.h"
#include "ring/lease.h"

/* The pause after an answer. A producer that was denied waits longer before it asks again. */
#define LEASE_PAUSE_NS 90000000

static struct ring_lease *lease_of(const struct ring_consumer *consumer)
{
	return ring_memory_lease(&consumer->memory);
}

static uint32_t lease_load(const struct ring_consumer *consumer)
{
	/* Acquire: what the producer did with the memory. Pairs with ring_lease_change(). */
	return __atomic_load_n(&lease_of(consumer)->word, __ATOMIC_ACQUIRE);
}

static bool lease_is_leased(const struct ring_consumer *consumer)
{
	return consumer->memory.geometry.flags & RING_LEASED;
}

static bool lease_is_in_file(const struct ring_consumer *consumer)
{
	return ((const struct ring_header *)consumer->memory.base)->storage == RING_IN_FILE;
}

static void lease_answered(struct ring_consumer *consumer)
{
	syscall(SYS_futex, &lease_of(consumer)->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	consumer->lease_due_ns = clock_monotonic_ns() + LEASE_PAUSE_NS;
}

/* Make a transition; false: the lease was not in the state `from`. */
static bool lease_consumer_step(struct ring_consumer *consumer, enum ring_lease_state from,
		enum ring_lease_state to)
{
	struct ring_lease *lease = lease_of(consumer);
	uint32_t word = lease_load(consumer);

	while (ring_lease_state(word) == from)
		if (ring_lease_change(lease, &word, to, 0))
			return true;
	return false;
}

/* Make the lease available after the memory was provided. */
static void lease_lend(struct ring_consumer *consumer)
{
	while (!lease_consumer_step(consumer, RING_LEASE_REVOKED, RING_LEASE_FREE)) {
		if (lease_consumer_step(consumer, RING_LEASE_ASKED, RING_LEASE_USED)) {
			lease_answered(consumer);
			return;
		}
		/*
		 * The producer has written a word that it must not write. It loses only its own
		 * records.
		 */
		if (ring_lease_state(lease_load(consumer)) != RING_LEASE_REVOKED)
			return;
	}
}

bool ring_lease_is_empty(const struct ring_consumer *consumer)
{
	bool overwrites = consumer->memory.geometry.mode == RING_MODE_OVERWRITE;

	for (uint32_t ring = 0; ring < consumer->memory.geometry.rings; ring++) {
		const struct ring_control *control = consumer->views[ring].control;
		/*
		 * Acquire: the records before the head. Pairs with the release in
		 * ring_portable_write().
		 */
		uint64_t head = ring_head_position(
				__atomic_load_n(&control->head, __ATOMIC_ACQUIRE));
		/*
		 * Acquire: the consumer's reads before the tail. Pairs with
		 * ring_consumer_release().
		 */
		uint64_t tail = __atomic_load_n(&control->tail, __ATOMIC_ACQUIRE);

		if (overwrites ? head != 0 : head != (tail & RING_POSITION_MASK))
			return false;
	}
	return true;
}

uint64_t ring_lease_activity(const struct ring_consumer *consumer)
{
	uint64_t sum = 0;

	for (uint32_t ring = 0; ring < consumer->memory.geometry.rings; ring++)
		/* Relaxed: the sum is only compared with an older one. */
		sum += __atomic_load_n(&consumer->views[ring].control->head, __ATOMIC_RELAXED);
	return sum;
}

/*
 * Whether records were lost. RING_LOST_NO_MEMORY does not count: its counters are not in this
 * memory.
 */
static bool lease_has_counters(const struct ring_consumer *consumer)
{
	for (uint32_t ring = 0; ring < consumer->memory.geometry.rings; ring++)
		for (unsigned int reason = 0; reason < RING_LOSS_REASONS; reason++)
			if (reason != RING_LOST_NO_MEMORY &&
					__atomic_load_n(&consumer->views[ring]
									 .control->lost[reason],
							__ATOMIC_RELAXED))
				return true;
	return false;
}

static int lease_take_memory(struct ring_consumer *consumer, int fd, uint64_t kept)
{
	uint64_t total = consumer->memory.layout.total;

	if (lease_is_in_file(consumer))
		return ftruncate(fd, (off_t)kept) ? -errno : 0;
	return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)kept,
			       (off_t)(total - kept))
			? -errno
			: 0;
}

uint64_t ring_lease_revoke(struct ring_consumer *consumer, int fd)
{
	uint64_t kept;

	if (!lease_is_leased(consumer) ||
			!lease_consumer_step(consumer, RING_LEASE_FREE, RING_LEASE_REVOKED))
		return 0;
	/*
	 * Only now: since an earlier check, a producer could have claimed the memory and returned
	 * it.
	 */
	kept = lease_has_counters(consumer) ? consumer->memory.layout.data_offset
					    : consumer->memory.layout.lost_offset;
	if (ring_lease_is_empty(consumer) && !lease_take_memory(consumer, fd, kept))
		return kept;
	lease_lend(consumer);
	return 0;
}

/* Returns 0; *ret_missing is 0 if all memory is present. */
static int lease_missing(const struct ring_consumer *consumer, int fd, uint64_t *ret_missing)
{
	uint64_t total = consumer->memory.layout.total;
	struct stat status;

	*ret_missing = 0;
	if (!lease_is_leased(consumer) || !lease_is_in_file(consumer))
		return 0;
	if (fstat(fd, &status))
		return -errno;
	if ((uint64_t)status.st_size < total)
		*ret_missing = total - (uint64_t)status.st_size;
	return 0;
}

int ring_lease_grant(struct ring_consumer *consumer, int fd)
{
	uint64_t total = consumer->memory.layout.total, missing;
	int ret = lease_missing(consumer, fd, &missing);

	/* A hole would be a SIGBUS in the traced program when the disk is full. */
	if (!ret && missing) {
		ret = -posix_fallocate(fd, (off_t)(total - missing), (off_t)missing);
		/* A part of it may have been allocated. */
		if (ret && ftruncate(fd, (off_t)(total - missing)))
			ret = -errno;
	}
	if (!ret)
		lease_lend(consumer);
	return ret;
}

void ring_lease_deny(struct ring_consumer *consumer)
{
	if (lease_consumer_step(consumer, RING_LEASE_ASKED, RING_LEASE_REVOKED))
		lease_answered(consumer);
}

bool ring_lease_is_due(const struct ring_consumer *consumer)
{
	return clock_monotonic_ns() >= consumer->lease_due_ns;
}

bool ring_lease_is_asked(const struct ring_consumer *consumer)
{
	return lease_is_leased(consumer) &&
			ring_lease_state(lease_load(consumer)) == RING_LEASE_ASKED;
}

bool ring_lease_take_question(struct ring_consumer *consumer)
{
	if (!ring_lease_is_asked(consumer) || !ring_lease_is_due(consumer))
		return false;
	consumer->lease_due_ns = clock_monotonic_ns() + LEASE_PAUSE_NS;
	return true;
}

bool ring_lease_recall(struct ring_consumer *consumer)
{
	return lease_is_leased(consumer) &&
			lease_consumer_step(consumer, RING_LEASE_USED, RING_LEASE_RECALLED);
}

int ring_lease_adopt(struct ring_consumer *consumer, int fd, uint64_t *ret_missing)
{
	enum ring_lease_state state = ring_lease_state(lease_load(consumer));
	int ret = lease_missing(consumer, fd, ret_missing);

	if (ret || !lease_is_leased(consumer))
		return ret;
	if (*ret_missing)
		return state == RING_LEASE_REVOKED || state == RING_LEASE_ASKED ? 0 : -EPROTO;
	/* The consumer was killed before it freed the memory, or after it had provided it. */
	if (state == RING_LEASE_REVOKED || state == RING_LEASE_ASKED)
		lease_lend(consumer);
	return 0;
}
