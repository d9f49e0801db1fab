/* SPDX-License-Identifier: MIT */
/*
 * The producer's side: mapping, publication, lost records.
 *
 * ring_publish() runs one restartable section (section-x86_64.S describes the protocol). Everything
 * beyond the common case is in ring_publish_slow(). The sections are chosen once, when the rings
 * are mapped, by mode and placement.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/environment/environment.h"
#include "ring/clock.h"
#include "ring/doorbell.h"
#include "ring/lease.h"
#include "ring/portable.h"
#include "ring/space.h"
#include "ring/rseq.h"
#include "ring/slots.h"

#define RING_ATTEMPTS 256 /* Sections that one publication starts, aborted ones included. */

/* On the page before struct ring_producer: the state that must survive a fork. */
struct ring_producer_cold {
	struct ring_memory memory;
	size_t bytes; /* Size of the mapping that begins with this page. */
	size_t page;
	size_t payload_max;
	bool portable;
	uint64_t slot_offset; /* Per thread. */
	uint64_t slot_key;
	uint64_t refused;
};

static struct ring_producer_cold *ring_producer_cold(const struct ring_producer *producer)
{
	static size_t page;

	/* Any thread stores the same value. */
	if (!__atomic_load_n(&page, __ATOMIC_RELAXED))
		__atomic_store_n(&page, (size_t)sysconf(_SC_PAGESIZE), __ATOMIC_RELAXED);
	return (struct ring_producer_cold *)((uintptr_t)producer -
			__atomic_load_n(&page, __ATOMIC_RELAXED));
}

#if RING_HAS_SECTION
/*
 * Forked children call this before they have a ring: environment_get() calls no function of the
 * program.
 */
static bool ring_portable_forced(void)
{
	const char *forced = environment_get("SIDE_RING_PORTABLE");

	return forced && *forced == '1';
}
#endif

static bool ring_sections_usable(void)
{
#if RING_HAS_SECTION
	if (ring_portable_forced() || !ring_rseq_usable())
		return false;
	ring_rseq_prepare();
	return true;
#else
	return false;
#endif
}

#if RING_HAS_SECTION
#define RING_SECTIONS_CHOOSE(mode, placement)                                                     \
	do {                                                                                      \
		if (tsc) {                                                                        \
			producer->publish = ring_publish_##mode##_##placement;                    \
			producer->two_part = ring_section_two_part_tsc_##mode##_##placement;      \
			producer->extended = ring_section_extended_tsc_##mode##_##placement;      \
			producer->with_timestamp =                                                \
					ring_publish_with_timestamp_##mode##_##placement;         \
		} else {                                                                          \
			producer->two_part_at = ring_section_two_part_clock_##mode##_##placement; \
			producer->extended_at = ring_section_extended_clock_##mode##_##placement; \
		}                                                                                 \
		producer->invalidate = ring_section_invalidate_##placement;                       \
	} while (0)

static void ring_producer_choose(struct ring_producer *producer)
{
	bool tsc = producer->clock == RING_CLOCK_TSC;
	bool over = producer->mode == RING_MODE_OVERWRITE;
	bool thread = producer->placement == RING_PER_THREAD;

	producer->path = tsc ? RING_PATH_RSEQ_TSC : RING_PATH_RSEQ_CLOCK;
	if (over && thread)
		RING_SECTIONS_CHOOSE(over, thread);
	else if (over)
		RING_SECTIONS_CHOOSE(over, cpu);
	else if (thread)
		RING_SECTIONS_CHOOSE(keep, thread);
	else
		RING_SECTIONS_CHOOSE(keep, cpu);
}
#endif

static ring_publish_fn ring_publish_one_other;

/*
 * Relaxed: the thread that closes the rings waits for publications that have begun. Pairs with
 * ring_producer_set().
 */
static inline uint64_t ring_producer_limit(const struct ring_producer *producer)
{
	return __atomic_load_n(&producer->payload_limit, __ATOMIC_RELAXED);
}

/*
 * Open or close the fast path. Other threads may continue for a moment with the old values.
 * `usable` must change with the limit, because some sections are called without a check of the
 * limit.
 */
static void ring_producer_set(struct ring_producer *producer, uint64_t limit, uint32_t usable)
{
	/*
	 * Release, both: a thread that loads the limit 0 must also load the reason. Pairs with the
	 * load in ring_publish_slow().
	 */
	__atomic_store_n(&producer->payload_limit, limit, __ATOMIC_RELEASE);
	__atomic_store_n(&producer->usable, usable, __ATOMIC_RELEASE);
}

static void ring_producer_fill(struct ring_producer *producer, struct ring_producer_cold *cold)
{
	const struct ring_memory *memory = &cold->memory;
	const struct ring_geometry *geometry = &memory->geometry;
	uint32_t rings = geometry->rings;

	producer->mask = geometry->size - 1;
	producer->size_word = geometry->size << RING_EPOCH_BITS;
	producer->block_word = geometry->size / RING_BLOCKS << RING_EPOCH_BITS;
	producer->block_shift = (uint32_t)__builtin_ctzll(producer->block_word);
	producer->clock = geometry->clock;
	producer->mode = geometry->mode;
	producer->publish = ring_publish_one_other;
	producer->placement = geometry->placement;
	producer->event_slots = geometry->event_slots;
	producer->block_timeout_us =
			geometry->mode == RING_MODE_BLOCK ? geometry->block_timeout_us : 0;
	producer->slot_offset = cold->slot_offset;
	producer->slot_key = cold->slot_key;
	producer->pid = getpid();
	producer->doorbell = ring_memory_doorbell(memory);
	producer->lost = ring_memory_lost(memory, 0);
	producer->lost_stride_words = memory->layout.lost_stride / sizeof(uint64_t);
	producer->rings = rings;
	if (geometry->flags & RING_LEASED)
		producer->lease = ring_memory_lease(memory);
	else
		ring_producer_set(producer, cold->payload_max + 1, rings);
	/* The order that ring_producer_bytes() counts. */
	producer->locks = (uint64_t *)&producer->locations[rings];
	producer->owners = producer->locks + (size_t)rings * RING_LOCK_WORDS;
	producer->stalled = producer->owners + rings;
	for (uint32_t ring = 0; ring < rings; ring++) {
		producer->locations[ring].control = ring_memory_control(memory, ring);
		producer->locations[ring].data = ring_memory_data(memory, ring);
	}
	producer->path = RING_PATH_PORTABLE;
#if RING_HAS_SECTION
	if (!cold->portable)
		ring_producer_choose(producer);
#endif
}

/* Size of what a fork wipes: the struct, and for each ring its location, lock, owner and stall. */
static size_t ring_producer_bytes(const struct ring_geometry *geometry)
{
	return sizeof(struct ring_producer) +
			geometry->rings *
			(sizeof(struct ring_location) + (RING_LOCK_WORDS + 2) * sizeof(uint64_t));
}

/* One mapping: the cold page, then the pages that a fork wipes. */
static struct ring_producer *ring_producer_allocate(const struct ring_memory *memory)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t hot = ring_producer_bytes(&memory->geometry);
	size_t bytes = page + ((hot + page - 1) & ~(page - 1));
	struct ring_producer_cold *cold;
	struct ring_producer *producer;

	cold = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (cold == MAP_FAILED)
		return NULL;
	producer = (struct ring_producer *)((unsigned char *)cold + page);
	if (madvise(producer, bytes - page, MADV_WIPEONFORK))
		producer->owner = getpid();
	cold->memory = *memory;
	cold->bytes = bytes;
	cold->payload_max = ring_payload_max(memory->geometry.size);
	/* A kernel without MADV_WIPEONFORK has no rseq either, but do not rely on it. */
	cold->portable = producer->owner || !ring_sections_usable();
	return producer;
}

/* Per thread: reserve the thread-local word that holds the number of the ring. */
static int ring_producer_connect(struct ring_producer_cold *cold)
{
	if (cold->memory.geometry.placement != RING_PER_THREAD)
		return 0;
	return ring_slots_open(&cold->slot_offset, &cold->slot_key);
}

int ring_producer_map(int ring_fd, struct ring_producer **ret_producer)
{
	struct ring_producer_cold *cold;
	struct ring_producer *producer;
	struct ring_memory memory;
	int saved = errno;
	int ret;

	ret = ring_memory_map(ring_fd, RING_END_PRODUCER, &memory);
	if (ret)
		goto out;
	if (memory.geometry.clock == RING_CLOCK_TSC && !ring_clock_tsc_permitted()) {
		ret = -ENOTSUP;
		goto out_memory;
	}
	ret = -ENOMEM;
	producer = ring_producer_allocate(&memory);
	if (!producer)
		goto out_memory;
	cold = ring_producer_cold(producer);
	ret = ring_producer_connect(cold);
	if (ret)
		goto out_producer;
	ring_producer_fill(producer, cold);
	*ret_producer = producer;
	goto out;

out_producer:
	munmap(cold, cold->bytes);
out_memory:
	ring_memory_unmap(&memory);
out:
	errno = saved;
	return ret;
}

void ring_producer_unmap(struct ring_producer *producer)
{
	struct ring_producer_cold *cold = ring_producer_cold(producer);
	int saved = errno;

	if (cold->slot_key)
		ring_slots_close(cold->slot_key);
	ring_memory_unmap(&cold->memory);
	munmap(cold, cold->bytes);
	errno = saved;
}

static bool ring_producer_forked(const struct ring_producer *producer)
{
	if (producer->path == RING_PATH_NONE)
		return true;
	return producer->owner && producer->owner != getpid();
}

/*
 * The ring whose counters to use, and in which to wait for space. The counters are atomic, so the
 * thread may move to another CPU.
 */
static uint32_t ring_producer_ring(const struct ring_producer *producer)
{
	uint32_t ring;

	if (producer->placement == RING_PER_THREAD) {
		ring = ring_slot(producer);
		return ring == RING_SLOT_NONE ? 0 : ring;
	}
	if (producer->path == RING_PATH_PORTABLE)
		return ring_portable_cpu(producer);
#if RING_HAS_SECTION
	ring = (uint32_t)ring_rseq_cpu();
#else
	ring = 0;
#endif
	return ring < producer->rings ? ring : 0;
}

static void ring_count_no_memory(
		const struct ring_producer *producer, uint32_t ring, uint64_t count)
{
	struct ring_control *control = producer->locations[ring].control;

	/*
	 * Compiler fence: the pointer before the check. It is NULL in a child that a signal handler
	 * forked, perhaps while this record waited for memory.
	 */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!ring_producer_forked(producer))
		__atomic_fetch_add(&control->lost[RING_LOST_NO_MEMORY], count, __ATOMIC_RELAXED);
}

static void ring_count_in(struct ring_producer *producer, uint32_t ring, uint32_t event_id,
		enum ring_loss reason, uint64_t count)
{
	struct ring_control *control = producer->locations[ring].control;
	uint32_t slot = event_id < producer->event_slots ? event_id : producer->event_slots - 1;
	uint32_t group = slot / RING_LOST_GROUP_SLOTS;
	uint64_t *counts = producer->lost + ring * producer->lost_stride_words +
			(size_t)slot * RING_LOSS_REASONS;

	/*
	 * Compiler fence: the pointers before the check. They are wiped in a child that a signal
	 * handler has just forked.
	 */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (ring_producer_forked(producer))
		return;
	/* The counters of events are in leased memory, too. */
	if (producer->lease && !ring_lease_claim(producer, false)) {
		ring_count_no_memory(producer, ring, count);
		return;
	}
	if ((unsigned int)reason >= RING_LOSS_REASONS)
		reason = RING_LOST_OTHER;
	/* Relaxed: no data depends on these counters. */
	__atomic_fetch_add(&counts[reason], count, __ATOMIC_RELAXED);
	if (!(__atomic_load_n(&control->lost_groups[group / 64], __ATOMIC_RELAXED) >> group % 64 &
			    1))
		__atomic_fetch_or(&control->lost_groups[group / 64], UINT64_C(1) << group % 64,
				__ATOMIC_RELAXED);
	__atomic_fetch_add(&control->lost[reason], count, __ATOMIC_RELAXED);
}

static void ring_count(struct ring_producer *producer, uint32_t event_id, enum ring_loss reason)
{
	ring_count_in(producer, ring_producer_ring(producer), event_id, reason, 1);
}

void ring_count_lost_before(struct ring_producer *producer, uint32_t event_id,
		enum ring_loss reason, uint32_t cpu, uint64_t count)
{
	bool by_cpu = producer->placement != RING_PER_THREAD && cpu < producer->rings;

	if (!ring_producer_forked(producer))
		ring_count_in(producer, by_cpu ? cpu : ring_producer_ring(producer), event_id,
				reason, count);
}

void ring_count_lost(struct ring_producer *producer, uint32_t event_id, enum ring_loss reason)
{
	int saved = errno;

	if (ring_producer_forked(producer))
		__atomic_fetch_add(&ring_producer_cold(producer)->refused, 1, __ATOMIC_RELAXED);
	else
		ring_count(producer, event_id, reason);
	errno = saved;
}

/* Try once; returns a RING_SECTION_ code. */
static int ring_two_part_once(struct ring_producer *producer, uint32_t event_id,
		const struct ring_two_part *parts)
{
#if RING_HAS_SECTION
	ring_section_two_part *section = producer->two_part;
	ring_section_two_part_at *section_at = producer->two_part_at;

	/* Compiler fence: the pointer first, see ring_publish(). */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(producer->path == RING_PATH_RSEQ_TSC, 1))
		return section(producer, event_id, parts->head, parts->head_size, parts->body,
				parts->body_size);
	if (producer->path == RING_PATH_RSEQ_CLOCK)
		return section_at(producer, event_id, parts->head, parts->head_size, parts->body,
				parts->body_size, ring_clock_read(RING_CLOCK_MONOTONIC));
#endif
	return ring_portable_publish(producer, event_id, parts);
}

static int ring_two_part_extended(struct ring_producer *producer, uint32_t event_id,
		const struct ring_two_part *parts)
{
#if RING_HAS_SECTION
	ring_section_two_part *section = producer->extended;
	ring_section_two_part_at *section_at = producer->extended_at;

	/* Compiler fence: the pointer first, see ring_publish(). */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (producer->path == RING_PATH_RSEQ_TSC)
		return section(producer, event_id, parts->head, parts->head_size, parts->body,
				parts->body_size);
	if (producer->path == RING_PATH_RSEQ_CLOCK)
		return section_at(producer, event_id, parts->head, parts->head_size, parts->body,
				parts->body_size, ring_clock_read(RING_CLOCK_MONOTONIC));
	return ring_portable_publish(producer, event_id, parts);
#else
	return ring_portable_publish(producer, event_id, parts);
#endif
}

static void ring_epoch_invalidate(struct ring_producer *producer)
{
#if RING_HAS_SECTION
	int (*invalidate)(struct ring_producer * producer, uint64_t timestamp) =
			producer->invalidate;
	uint64_t now = ring_clock_read((enum ring_clock)producer->clock);

	/* NULL in a child that a signal handler has just forked. */
	if (invalidate)
		invalidate(producer, now);
#else
	(void)producer;
#endif
}

/*
 * The section found no ring. True if this thread has one now. Without rseq another thread, or a
 * signal handler of this one, could publish in the middle of a record. A handler that publishes
 * between the section and this call may have found the ring already.
 */
static bool ring_producer_find(struct ring_producer *producer, bool *ret_loan)
{
#if RING_HAS_SECTION
	int32_t cpu;

	if (producer->path != RING_PATH_PORTABLE) {
		cpu = ring_rseq_cpu();
		if (cpu < 0 && !ring_rseq_obtain(ret_loan))
			return false;
		if (producer->placement != RING_PER_THREAD)
			return cpu < 0 || (uint32_t)cpu < producer->rings;
	}
#else
	(void)ret_loan;
#endif
	return producer->placement == RING_PER_THREAD && ring_slot_take(producer);
}

/*
 * End the loan of an rseq area after a publication. With rings per thread, sections check only the
 * word of the thread, so it is cleared.
 */
static void ring_producer_return(struct ring_producer *producer)
{
#if RING_HAS_SECTION
	if (producer->placement == RING_PER_THREAD)
		ring_slot_forget(producer);
	ring_rseq_return();
#else
	(void)producer;
#endif
}

/* Wait for a full ring. True if it may have space now. */
static bool ring_producer_wait(struct ring_producer *producer, const struct ring_two_part *parts,
		struct ring_timeout *timeout)
{
	uint64_t bytes = RING_EXTENDED_BYTES + parts->head_size + parts->body_size;

	if (producer->mode != RING_MODE_BLOCK)
		return false;
	/* A signal handler must not keep other threads from the ring that its thread holds. */
	if (producer->path == RING_PATH_PORTABLE && ring_portable_nested(producer))
		return false;
	return ring_space_wait(producer, ring_producer_ring(producer), bytes, timeout);
}

/* A recall closed the rings during this publication. True if they are open again. */
static bool ring_producer_reopen(struct ring_producer *producer)
{
	return producer->lease && !__atomic_load_n(&producer->usable, __ATOMIC_RELAXED) &&
			ring_lease_claim(producer, true);
}

/* Finish a publication whose first attempt had the result `code` and did not simply succeed. */
static int ring_publish_attempts(struct ring_producer *producer, uint32_t event_id,
		const struct ring_two_part *parts, int code, bool *loan)
{
	struct ring_timeout timeout = {0};

	for (int attempt = 0; attempt < RING_ATTEMPTS; attempt++) {
		switch (code) {
		case RING_SECTION_DONE: return 0;
		case RING_SECTION_CROSSED: ring_doorbell_crossed(producer->doorbell); return 0;
		case RING_SECTION_ABORTED:
			code = ring_two_part_once(producer, event_id, parts);
			break;
		case RING_SECTION_ALIAS:
			ring_epoch_invalidate(producer);
			/* fallthrough */
		case RING_SECTION_EXTEND:
			code = ring_two_part_extended(producer, event_id, parts);
			break;
		case RING_SECTION_FULL:
			if (ring_producer_wait(producer, parts, &timeout)) {
				code = RING_SECTION_ABORTED;
				break;
			}
			ring_count(producer, event_id, RING_LOST_FULL);
			return -ENOSPC;
		case RING_SECTION_NO_RING:
			if (ring_producer_reopen(producer)) {
				code = RING_SECTION_ABORTED;
				break;
			}
			if (!*loan && ring_producer_find(producer, loan)) {
				code = RING_SECTION_ABORTED;
				break;
			}
			ring_count(producer, event_id, RING_LOST_NO_RING);
			return -ENXIO;
		case RING_SECTION_FORKED: return -ECHILD;
		default: attempt = RING_ATTEMPTS; break;
		}
	}
	ring_count(producer, event_id, RING_LOST_BUSY);
	return -EBUSY;
}

static __attribute__((noinline, cold)) int ring_publish_slow(struct ring_producer *producer,
		uint32_t event_id, const struct ring_two_part *parts, int code)
{
	bool loan = false;
	int saved = errno;
	int ret;

	/*
	 * Acquire: the reason why the rings are closed. Pairs with the release in
	 * ring_producer_stop().
	 */
	if (ring_producer_forked(producer)) {
		__atomic_fetch_add(&ring_producer_cold(producer)->refused, 1, __ATOMIC_RELAXED);
		ret = -ECHILD;
	} else if (code == RING_SECTION_CROSSED) {
		/* The record is published, even if the rings were closed since then. */
		ring_doorbell_crossed(producer->doorbell);
		ret = 0;
	} else if (__atomic_load_n(&producer->stopped, __ATOMIC_ACQUIRE)) {
		ring_count(producer, event_id, RING_LOST_OTHER);
		ret = -EPERM;
	} else if (producer->lease && !ring_lease_claim(producer, true)) {
		ring_count_no_memory(producer, ring_producer_ring(producer), 1);
		ret = -ENOSPC;
	} else if (parts->head_size > ring_producer_cold(producer)->payload_max ||
			parts->body_size > ring_producer_cold(producer)->payload_max -
							parts->head_size) {
		ring_count(producer, event_id, RING_LOST_TOO_BIG);
		ret = -E2BIG;
	} else {
		/* The rings were closed. */
		if (producer->lease && code == RING_SECTION_NO_RING)
			code = RING_SECTION_ABORTED;
		ret = ring_publish_attempts(producer, event_id, parts, code, &loan);
		if (loan)
			ring_producer_return(producer);
	}
	errno = saved;
	return ret;
}

/* The paths other than the sections with the TSC. */
static __attribute__((noinline)) int ring_publish_other(struct ring_producer *producer,
		uint32_t event_id, const struct ring_two_part *parts)
{
	uint64_t limit = ring_producer_limit(producer);
	int code = RING_SECTION_ABORTED;

	if (parts->head_size < limit && parts->body_size < limit - parts->head_size)
		code = ring_two_part_once(producer, event_id, parts);
	return code == RING_SECTION_DONE ? 0 : ring_publish_slow(producer, event_id, parts, code);
}

static __attribute__((noinline)) int ring_publish_one_other(
		struct ring_producer *producer, uint32_t event_id, const void *payload, size_t size)
{
	const struct ring_two_part parts = {payload, size, NULL, 0};

	return ring_publish_other(producer, event_id, &parts);
}

/* Builds the parts here, so that the fast path need not. */
__attribute__((cold)) int ring_publish_one_slow(struct ring_producer *producer, uint32_t event_id,
		const void *payload, size_t size, int code)
{
	const struct ring_two_part parts = {payload, size, NULL, 0};

	return ring_publish_slow(producer, event_id, &parts, code);
}

int ring_publish(
		struct ring_producer *producer, uint32_t event_id, const void *payload, size_t size)
{
	ring_publish_fn *publish = producer->publish;

	/*
	 * Compiler fence: the pointer before the limit. A signal handler may fork between the two
	 * loads. In the child both are 0, and the sections find no ring.
	 */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(size >= ring_producer_limit(producer), 0))
		return ring_publish_one_slow(
				producer, event_id, payload, size, RING_SECTION_ABORTED);
	return publish(producer, event_id, payload, size);
}

int ring_publish_at(struct ring_producer *producer, uint32_t event_id, const void *payload,
		size_t size, uint64_t ticks)
{
#if RING_HAS_SECTION
	ring_publish_with_timestamp_fn *publish = producer->with_timestamp;

	/* Compiler fence: the pointer first, see ring_publish(). */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(publish && size < ring_producer_limit(producer), 1))
		return publish(producer, event_id, payload, size, ticks);
#else
	(void)ticks;
#endif
	return ring_publish(producer, event_id, payload, size);
}

int ring_publish_two_part(struct ring_producer *producer, uint32_t event_id, const void *head,
		size_t head_size, const void *body, size_t body_size)
{
	const struct ring_two_part parts = {head, head_size, body, body_size};
#if RING_HAS_SECTION
	ring_section_two_part *section = producer->two_part;
	int code = RING_SECTION_ABORTED;
	uint64_t limit;

	/* Compiler fence: the pointer first, see ring_publish(). */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(producer->path != RING_PATH_RSEQ_TSC, 0))
		return ring_publish_other(producer, event_id, &parts);
	limit = ring_producer_limit(producer);
	if (__builtin_expect(head_size < limit && body_size < limit - head_size, 1)) {
		code = section(producer, event_id, head, head_size, body, body_size);
		if (__builtin_expect(code == RING_SECTION_DONE, 1))
			return 0;
	}
	return ring_publish_slow(producer, event_id, &parts, code);
#else
	return ring_publish_other(producer, event_id, &parts);
#endif
}

void ring_producer_close(struct ring_producer *producer)
{
	ring_producer_set(producer, 0, 0);
}

void ring_producer_open(struct ring_producer *producer)
{
	/* Acquire: as in ring_publish_slow(). */
	if (ring_producer_forked(producer) || __atomic_load_n(&producer->stopped, __ATOMIC_ACQUIRE))
		return;
	ring_producer_set(producer, ring_producer_cold(producer)->payload_max + 1, producer->rings);
	/*
	 * Full fence: opened before `stopped` is read. Pairs with the fence in
	 * ring_producer_stop().
	 */
	ring_doorbell_fence();
	/* A signal handler may have forked: the child must not open the rings. */
	if (ring_producer_forked(producer) || __atomic_load_n(&producer->stopped, __ATOMIC_RELAXED))
		ring_producer_close(producer);
}

void ring_producer_stop(struct ring_producer *producer, bool stop)
{
	/* In a forked child the page is wiped: it publishes nothing. */
	if (ring_producer_forked(producer))
		return;
	/* Leased rings are opened by a record that finds them closed. */
	if (!stop && !producer->lease)
		ring_producer_set(producer, ring_producer_cold(producer)->payload_max + 1,
				producer->rings);
	/*
	 * Release: the limit before `stopped`. Pairs with the acquires in ring_publish_slow() and
	 * ring_producer_open().
	 */
	__atomic_store_n(&producer->stopped, stop, __ATOMIC_RELEASE);
	if (!stop)
		return;
	/* Full fence: `stopped` before the limit. Pairs with the fence in ring_producer_open(). */
	ring_doorbell_fence();
	ring_producer_close(producer);
}

const void *ring_producer_base(const struct ring_producer *producer)
{
	return ring_producer_cold(producer)->memory.base;
}

const void *ring_producer_dumped(const struct ring_producer *producer)
{
	return ring_producer_cold(producer)->memory.dumped;
}

enum ring_clock ring_producer_clock(const struct ring_producer *producer)
{
	return ring_producer_cold(producer)->memory.geometry.clock;
}

size_t ring_producer_payload_max(const struct ring_producer *producer)
{
	return ring_producer_cold(producer)->payload_max;
}

bool ring_producer_is_portable(const struct ring_producer *producer)
{
	return ring_producer_cold(producer)->portable;
}

uint64_t ring_producer_refused(const struct ring_producer *producer)
{
	return __atomic_load_n(&ring_producer_cold(producer)->refused, __ATOMIC_RELAXED);
}
