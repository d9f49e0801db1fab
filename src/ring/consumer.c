/* SPDX-License-Identifier: MIT */
/*
 * Finds spans of published records in rings (the consumer's side).
 *
 * A producer may be any program and may have overwritten its rings, so the consumer trusts nothing
 * in the shared memory. It checks positions against its own, computes addresses from its own
 * numbers only, and gives up an inconsistent ring with a reason.
 *
 * The consumer finds the times of a span without reading its records. It loads last_timestamp
 * (`before`), head (`word`), last_timestamp (`after`) and head (`further`), in this order. The time
 * of a record is at or after the value that last_timestamp had before the record was published (the
 * writer checks this). The writer stores last_timestamp before the head. Therefore:
 *
 * further == word    `after` is between the last record of the span and the next one
 * further is later   a record begins at `word`. Its own time is used. An extended record has
 *                    it complete. A compact one has the upper bits of its predecessor, 24
 *                    of which are the epoch in `word`. Its time is at or after `before`,
 *                    and not after `after` in another epoch. So its upper bits are those of
 *                    `after`, or the latest earlier ones with that epoch, provided that
 *                    `before` and `after` differ by fewer than 2^51 ticks (days), after
 *                    which epochs repeat. If they differ by more, this thread was suspended
 *                    between the loads: it loads all four again
 *
 * The first record of a span: if it is compact, it has the upper bits of its predecessor. The end
 * time of the previous span is between the two, so it has the same bits.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ring/consumer.h"
#include "ring/lease.h"
#include "ring/space.h"

const char *ring_consumer_truncated(const struct ring_consumer *consumer)
{
	return ring_truncation_seen(consumer->memory.truncation) ? "its file was truncated" : NULL;
}

/*
 * Continues at the beginning, or at the position of another consumer of the same memory. The marks
 * are written in turn, before the tail, so that one of them always belongs to it.
 */
static void ring_view_resume(struct ring_view *view, bool is_counting_only)
{
	/* Acquire: the marks before the tail. Pairs with the release in ring_consumer_release(). */
	uint64_t tail = __atomic_load_n(&view->control->tail, __ATOMIC_ACQUIRE);

	if (__atomic_load_n(&view->control->absent, __ATOMIC_RELAXED)) {
		ring_view_fail(view, "its memory could not be read");
		return;
	}
	if (is_counting_only) {
		ring_view_fail(view, "it only counts");
		return;
	}
	view->tail = tail;
	view->head = tail;
	view->peeked = tail;
	if (tail == 0)
		return;
	for (unsigned int i = 0; i < 2; i++) {
		if (view->control->marks[i].position == tail) {
			view->mark = i;
			view->end_timestamp = view->control->marks[i].end_timestamp;
			return;
		}
	}
	ring_view_fail(view, "the consumer's position has no time");
}

int ring_consumer_map(
		int fd, const struct ring_geometry *expected, struct ring_consumer **ret_consumer)
{
	struct ring_consumer *consumer;
	struct ring_memory memory;
	uint32_t rings;
	int ret;

	ret = ring_memory_map(fd, RING_END_CONSUMER, &memory);
	if (ret)
		return ret;
	rings = memory.geometry.rings;
	if (expected &&
			(expected->rings != rings ||
					expected->event_slots != memory.geometry.event_slots ||
					expected->size != memory.geometry.size ||
					expected->mode != memory.geometry.mode ||
					expected->clock != memory.geometry.clock ||
					expected->placement != memory.geometry.placement ||
					expected->flags != memory.geometry.flags ||
					expected->block_timeout_us !=
							memory.geometry.block_timeout_us)) {
		ring_memory_unmap(&memory);
		return -EPROTO;
	}
	consumer = calloc(1, sizeof(*consumer) + rings * sizeof(consumer->views[0]));
	if (!consumer) {
		ring_memory_unmap(&memory);
		return -ENOMEM;
	}
	consumer->memory = memory;
	for (uint32_t ring = 0; ring < rings; ring++) {
		struct ring_view *view = &consumer->views[ring];

		view->control = ring_memory_control(&memory, ring);
		view->data = ring_memory_data(&memory, ring);
		view->lost = ring_memory_lost(&memory, ring);
		ring_view_resume(view, memory.geometry.flags & RING_COUNTS);
	}
	ring_loss_begin(consumer);
	*ret_consumer = consumer;
	return 0;
}

#define RESIDENT_PAGES 1024

static uint64_t ring_resident_bytes(const unsigned char *from, uint64_t size)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), chunk = RESIDENT_PAGES * page, bytes = 0;
	unsigned char pages[RESIDENT_PAGES];

	for (uint64_t at = 0; at < size; at += chunk) {
		uint64_t some = size - at < chunk ? size - at : chunk;

		/* If the kernel does not report the amount, count all of it. */
		if (mincore((void *)(uintptr_t)(from + at), some, pages)) {
			bytes += some;
			continue;
		}
		for (uint64_t i = 0; i < (some + page - 1) / page; i++)
			bytes += pages[i] & 1 ? page : 0;
	}
	return bytes;
}

uint64_t ring_consumer_resident(const struct ring_consumer *consumer)
{
	const struct ring_memory *memory = &consumer->memory;
	uint64_t bytes = ring_resident_bytes(memory->base, memory->layout.data_offset);

	/* Each ring is mapped twice in a row: count it once. */
	for (uint32_t ring = 0; ring < memory->geometry.rings; ring++)
		bytes += ring_resident_bytes(ring_memory_data(memory, ring), memory->geometry.size);
	return bytes;
}

void ring_consumer_unmap(struct ring_consumer *consumer)
{
	ring_memory_unmap(&consumer->memory);
	free(consumer);
}

const struct ring_geometry *ring_consumer_geometry(const struct ring_consumer *consumer)
{
	return &consumer->memory.geometry;
}

/* Compute the head in all 64 bits. Returns NULL, or the error. */
static const char *ring_view_head(
		const struct ring_view *view, uint64_t size, uint64_t word, uint64_t *ret_head)
{
	uint64_t ahead = (ring_head_position(word) - view->tail) & RING_POSITION_MASK;

	if (ahead > size)
		return "the head is more than a ring ahead";
	if (view->tail + ahead < view->head)
		return "the head moved backwards";
	*ret_head = view->tail + ahead;
	return NULL;
}

/* The end of a span: its position and a time. */
struct ring_view_end {
	uint64_t head;
	uint64_t timestamp;
};

/*
 * Find the head, and a time between the last record before it and the next one. Returns NULL, or
 * the error.
 */
static const char *ring_view_find_end_once(const struct ring_view *view, uint64_t size,
		struct ring_view_end *ret_end, bool *ret_again)
{
	const struct ring_control *control = view->control;
	const unsigned char *record;
	uint64_t before, word, after, further;
	const char *error;

	/*
	 * Acquire, all 4: the loads in this order; see the top of the file. Pairs with the releases
	 * in ring_portable_write().
	 */
	before = __atomic_load_n(&control->last_timestamp, __ATOMIC_ACQUIRE);
	RING_CONSUMER_STEP();
	/*
	 * Also the records before the head: pairs with the commit in section-x86_64.S, portable.c.
	 */
	word = __atomic_load_n(&control->head, __ATOMIC_ACQUIRE);
	error = ring_view_head(view, size, word, &ret_end->head);
	if (error || ret_end->head == view->tail)
		return error;
	RING_CONSUMER_STEP();
	after = __atomic_load_n(&control->last_timestamp, __ATOMIC_ACQUIRE);
	RING_CONSUMER_STEP();
	error = ring_view_head(
			view, size, __atomic_load_n(&control->head, __ATOMIC_ACQUIRE), &further);
	RING_CONSUMER_STEP();
	if (error)
		return error;
	if (further < ret_end->head)
		return "the head moved backwards";
	ret_end->timestamp = after;
	if (further == ret_end->head)
		return NULL;
	record = view->data + (ret_end->head & (size - 1));
	*ret_again = ring_next_time(record, word, before, after, &ret_end->timestamp);
	return NULL;
}

static const char *ring_view_find_end(
		const struct ring_view *view, uint64_t size, struct ring_view_end *ret_end)
{
	for (int tries = 0; tries < 4; tries++) {
		bool again = false;
		const char *error = ring_view_find_end_once(view, size, ret_end, &again);

		if (error || !again)
			return error;
	}
	return "the clock jumps";
}

static const char *ring_view_first_time(
		const struct ring_view *view, uint64_t size, uint64_t bytes, uint64_t *ret_first)
{
	const unsigned char *record = view->data + (view->tail & (size - 1));

	if (bytes < RING_COMPACT_BYTES)
		return "a span is shorter than a record";
	if (view->tail == 0 && ring_header_tag(record) != RING_TAG_EXTENDED)
		return "the first record of the ring has no full timestamp";
	return ring_first_time(record, bytes, view->end_timestamp, ret_first);
}

int ring_consumer_peek(struct ring_consumer *consumer, uint32_t ring, struct ring_span *ret_span)
{
	struct ring_view *view = &consumer->views[ring];
	uint64_t size = consumer->memory.geometry.size;
	struct ring_view_end end = {0};
	const char *error, *truncated;
	uint64_t first = 0;

	if (view->error)
		return -EBADMSG;
	if (consumer->memory.geometry.mode == RING_MODE_OVERWRITE)
		return 0;
	error = ring_view_find_end(view, size, &end);
	if (!error && end.head == view->tail && !ring_consumer_truncated(consumer))
		return 0;
	if (!error)
		error = ring_view_first_time(view, size, end.head - view->tail, &first);
	/* After the last access: zeros of a truncated file may have been read. */
	truncated = ring_consumer_truncated(consumer);
	if (truncated)
		error = truncated;
	if (error)
		return ring_view_fail(view, error);
	if (first < view->end_timestamp || end.timestamp < first)
		return ring_view_fail(view, "timestamps decrease");
	view->head = end.head;
	view->peeked = end.head;
	view->peeked_timestamp = end.timestamp;
	*ret_span = (struct ring_span){
			.data = view->data + (view->tail & (size - 1)),
			.size = (size_t)(end.head - view->tail),
			.position = view->tail,
			.first_timestamp = first,
			.end_timestamp = end.timestamp,
	};
	return 1;
}

void ring_consumer_release(
		struct ring_consumer *consumer, uint32_t ring, const struct ring_span *span)
{
	struct ring_view *view = &consumer->views[ring];
	struct ring_mark *mark;

	/* Only the last span can be released, and only as a whole: only its end has a time. */
	if (view->error || span->position != view->tail ||
			span->position + span->size != view->peeked)
		return;
	view->tail = view->peeked;
	view->end_timestamp = view->peeked_timestamp;
	view->mark ^= 1;
	mark = &view->control->marks[view->mark];
	/*
	 * The mark is invalid while it changes. Release, both: the stores in this order, also after
	 * a kill. Pairs with another process that resumes.
	 */
	__atomic_store_n(&mark->position, UINT64_MAX, __ATOMIC_RELAXED);
	RING_CONSUMER_STEP();
	__atomic_store_n(&mark->end_timestamp, view->end_timestamp, __ATOMIC_RELEASE);
	RING_CONSUMER_STEP();
	__atomic_store_n(&mark->position, view->tail, __ATOMIC_RELEASE);
	RING_CONSUMER_STEP();
	/*
	 * Release: the reads of the span before its reuse. Pairs with the acquires in
	 * ring_portable_has_space() and ring_space_is().
	 */
	__atomic_store_n(&view->control->tail, view->tail, __ATOMIC_RELEASE);
	RING_CONSUMER_STEP();
	if (consumer->memory.geometry.mode == RING_MODE_BLOCK)
		ring_space_released(&consumer->memory, ring);
}

int ring_consumer_skip(struct ring_consumer *consumer, uint32_t ring, const void *bytes,
		size_t size, uint64_t end_timestamp)
{
	struct ring_view *view = &consumer->views[ring];
	uint64_t space = consumer->memory.geometry.size, head;
	/* Acquire: the records before the head, as in ring_view_find_end_once(). */
	uint64_t word = __atomic_load_n(&view->control->head, __ATOMIC_ACQUIRE);

	if (!size)
		return 0;
	if (view->error || consumer->memory.geometry.mode == RING_MODE_OVERWRITE ||
			ring_view_head(view, space, word, &head) || size > head - view->tail ||
			end_timestamp < view->end_timestamp ||
			memcmp(view->data + (view->tail & (space - 1)), bytes, size) != 0)
		return -EINVAL;
	view->tail += size;
	view->head = view->peeked = view->tail;
	view->end_timestamp = end_timestamp;
	return 0;
}

const char *ring_consumer_error(const struct ring_consumer *consumer, uint32_t ring)
{
	return consumer->views[ring].error;
}

uint64_t ring_consumer_position(const struct ring_consumer *consumer, uint32_t ring)
{
	return consumer->views[ring].tail;
}

struct ring_doorbell *ring_consumer_doorbell(const struct ring_consumer *consumer)
{
	return ring_memory_doorbell(&consumer->memory);
}

bool ring_consumer_pending(const struct ring_consumer *consumer)
{
	uint64_t block = consumer->memory.geometry.size / RING_BLOCKS;

	if (ring_lease_is_asked(consumer) && ring_lease_is_due(consumer))
		return true;
	if (consumer->memory.geometry.mode == RING_MODE_OVERWRITE)
		return false;
	for (uint32_t ring = 0; ring < consumer->memory.geometry.rings; ring++) {
		const struct ring_view *view = &consumer->views[ring];
		uint64_t word;

		if (view->error)
			continue;
		/* Relaxed: a position only; the records are read after ring_consumer_peek(). */
		word = __atomic_load_n(&view->control->head, __ATOMIC_RELAXED);
		if (((ring_head_position(word) ^ view->tail) & RING_POSITION_MASK) >= block)
			return true;
	}
	return false;
}
