/* SPDX-License-Identifier: MIT */
/*
 * Copies the last window of a ring that overwrites its oldest records, while a producer may be
 * writing.
 *
 * Everything before head - size is overwritten, and everything before claim - size may be: the
 * producer stores claim, the end of the furthest record that was begun, before the first byte of
 * that record. The window begins with the first record of a sub-buffer, which is extended and needs
 * no earlier record; the marks in blocks[] are the positions of these records. The steps are:
 *
 *	block_crossed	gives the head in 64 bits: it is less than a ring's size before the head
 *	claim		to see later whether it changed
 *	head		acquire: the records before it, their times and their marks
 *	marks		those up to the head are right, or were overwritten by newer ones beyond the
 *			head; those beyond it belong to later records, or to attempts that were not
 *			published
 *	copy		from the oldest remaining mark; records may be overwritten meanwhile
 *	claim		after the copy: everything at or after claim - size was intact when it was
 *			copied
 *
 * The oldest records are copied first, because they are overwritten first. If nothing of the copy
 * is intact, the next attempt copies less.
 *
 * As in consumer.c, nothing in the shared memory is trusted: addresses are computed from the
 * consumer's own numbers, so the result is always bytes of the ring, at worst meaningless ones.
 */
#include <errno.h>

#include "ring/consumer.h"
#include "ring/doorbell.h"

#define RING_SNAPSHOT_TRIES 16

/* The state of the ring at one time. */
struct ring_window {
	uint64_t claim; /* A word, as it was before the head was read. */
	uint64_t head;  /* In 64 bits. */
	uint64_t end_timestamp;
	uint64_t marks[RING_BLOCKS]; /* The positions where the window can begin, ascending. */
	unsigned int count;
};

/* Insert a mark in order, if the window can begin there. */
static void ring_window_add(struct ring_window *window, uint64_t mark, uint64_t size)
{
	unsigned int at = window->count;

	/* Relaxed all of them: the acquire of head came before, the claim comes after. */
	if (mark > window->head || window->head - mark > size)
		return;
	for (unsigned int i = 0; i < window->count; i++) {
		if (window->marks[i] == mark)
			return;
	}
	for (; at > 0 && window->marks[at - 1] > mark; at--)
		window->marks[at] = window->marks[at - 1];
	window->marks[at] = mark;
	window->count++;
}

/*
 * Read the state of the ring. Returns NULL, or the error. *ret_again: the time of the end could not
 * be found.
 */
static const char *ring_window_scan(const struct ring_view *view, uint64_t size,
		struct ring_window *window, bool *ret_again)
{
	const struct ring_control *control = view->control;
	uint64_t block_crossed, word, further, before, ahead;

	/*
	 * Acquire, all 6: the loads in this order. Pairs with the releases in
	 * ring_portable_write().
	 */
	block_crossed = __atomic_load_n(&control->block_crossed, __ATOMIC_ACQUIRE);
	RING_CONSUMER_STEP();
	window->claim = __atomic_load_n(&control->claim, __ATOMIC_ACQUIRE);
	RING_CONSUMER_STEP();
	before = __atomic_load_n(&control->last_timestamp, __ATOMIC_ACQUIRE);
	RING_CONSUMER_STEP();
	/*
	 * Also the records before the head: pairs with the commit in section-x86_64.S, portable.c.
	 */
	word = __atomic_load_n(&control->head, __ATOMIC_ACQUIRE);
	RING_CONSUMER_STEP();
	window->end_timestamp = __atomic_load_n(&control->last_timestamp, __ATOMIC_ACQUIRE);
	RING_CONSUMER_STEP();
	further = __atomic_load_n(&control->head, __ATOMIC_ACQUIRE);
	/* The head is at most one record before `block_crossed`, or any distance after it. */
	ahead = (ring_head_position(word) - block_crossed + size) & RING_POSITION_MASK;
	if (ahead > RING_POSITION_MASK / 2 || block_crossed + ahead < size)
		return "the head is far from its last position";
	window->head = block_crossed + ahead - size;
	/*
	 * A record was published meanwhile: the window ends at its time. If that record was
	 * overwritten, so was the window, and the check of the claim after the copy finds it.
	 */
	*ret_again = further != word &&
			ring_next_time(view->data + (window->head & (size - 1)), word, before,
					window->end_timestamp, &window->end_timestamp);
	window->count = 0;
	for (unsigned int i = 0; i < RING_BLOCKS; i++) {
		RING_CONSUMER_STEP();
		/* Relaxed: the marks are checked against positions that were loaded in order. */
		ring_window_add(window,
				__atomic_load_n(&control->blocks[i].position, __ATOMIC_RELAXED),
				size);
	}
	return NULL;
}

/* Find the first mark of the copy, which starts at `from`, that was not overwritten. */
static bool ring_window_cut(const struct ring_window *window, uint64_t claim, uint64_t size,
		uint64_t from, uint64_t *ret_begin)
{
	for (unsigned int i = 0; i < window->count; i++) {
		*ret_begin = window->marks[i];
		if (*ret_begin >= from && (claim <= size || *ret_begin >= claim - size))
			return true;
	}
	return false;
}

static const char *ring_span_check(struct ring_span *span)
{
	if (span->size < RING_EXTENDED_BYTES)
		return "a window is shorter than its first record";
	if (ring_header_tag(span->data) != RING_TAG_EXTENDED)
		return "the first record of a window has no full timestamp";
	span->first_timestamp = ring_record_full_time(span->data);
	if (span->first_timestamp > span->end_timestamp)
		return "timestamps decrease";
	return NULL;
}

/*
 * Try once, with at most `most` bytes. 1: a span; 0: the ring is empty; -EAGAIN: everything copied
 * was overwritten; -EBADMSG and *ret_error.
 */
static int ring_snapshot_once(const struct ring_view *view, uint64_t size, uint64_t most,
		unsigned char *buffer, struct ring_span *ret_span, const char **ret_error)
{
	struct ring_window window;
	uint64_t from, begin, word, beyond;
	bool still, again = false;
	unsigned int first = 0;

	*ret_error = ring_window_scan(view, size, &window, &again);
	if (*ret_error)
		return -EBADMSG;
	if (again)
		return -EAGAIN;
	if (window.head == 0)
		return 0;
	while (first < window.count && window.head - window.marks[first] > most)
		first++;
	from = first < window.count ? window.marks[first] : window.head;
	RING_CONSUMER_STEP();
	memcpy(buffer, view->data + (from & (size - 1)), (size_t)(window.head - from));
	/*
	 * Full fence: the copy before the claim. Pairs with the fence in ring_portable_claim(), and
	 * with the claim before the bytes in section-x86_64.S.
	 */
	ring_doorbell_fence();
	RING_CONSUMER_STEP();
	word = __atomic_load_n(&view->control->claim, __ATOMIC_RELAXED);
	beyond = (ring_head_position(word) - window.head) & RING_POSITION_MASK;
	if (beyond > RING_POSITION_MASK / 2) {
		*ret_error = "the head is beyond the last record that was begun";
		return -EBADMSG;
	}
	/*
	 * While the claim is unchanged, the mark of the head's sub-buffer is right: a record is at
	 * most half a ring. There may be no record before the head, though, if a record that large
	 * was begun.
	 */
	still = ring_head_position(word) == ring_head_position(window.claim);
	if (!ring_window_cut(&window, window.head + beyond, size, from, &begin)) {
		if (still && most == size)
			*ret_error = "no position to begin";
		return *ret_error ? -EBADMSG : -EAGAIN;
	}
	if (begin == window.head)
		return still ? 0 : -EAGAIN;
	*ret_span = (struct ring_span){
			.data = buffer + (begin - from),
			.size = (size_t)(window.head - begin),
			.position = begin,
			.end_timestamp = window.end_timestamp,
	};
	*ret_error = ring_span_check(ret_span);
	return *ret_error ? -EBADMSG : 1;
}

int ring_consumer_snapshot(struct ring_consumer *consumer, uint32_t ring, void *buffer,
		struct ring_span *ret_span)
{
	struct ring_view *view = &consumer->views[ring];
	uint64_t size = consumer->memory.geometry.size;
	const char *error = NULL, *truncated;
	int ret = -EAGAIN;

	if (consumer->memory.geometry.mode != RING_MODE_OVERWRITE)
		return -EINVAL;
	if (view->error)
		return -EBADMSG;
	for (int i = 0; i < RING_SNAPSHOT_TRIES && ret == -EAGAIN; i++)
		ret = ring_snapshot_once(view, size, size >> i / 4, buffer, ret_span, &error);
	truncated = ring_consumer_truncated(consumer);
	if (truncated)
		error = truncated;
	return error ? ring_view_fail(view, error) : ret;
}

/* Cut what is before the end of the earlier span. Returns NULL, or the error. */
static const char *ring_span_cut(struct ring_span *span, const struct ring_span *before)
{
	uint64_t end = before->position + before->size;
	const char *error;

	if (span->position >= end)
		return NULL;
	if (end - span->position > span->size)
		return "the head moved backwards";
	span->size -= (size_t)(end - span->position);
	span->data = (const unsigned char *)span->data + (end - span->position);
	span->position = end;
	if (!span->size)
		return NULL;
	error = ring_first_time(
			span->data, span->size, before->end_timestamp, &span->first_timestamp);
	if (!error &&
			(span->first_timestamp < before->end_timestamp ||
					span->first_timestamp > span->end_timestamp))
		error = "timestamps decrease";
	return error;
}

int ring_consumer_snapshot_after(struct ring_consumer *consumer, uint32_t ring, void *buffer,
		const struct ring_span *before, struct ring_span *ret_span)
{
	int ret = ring_consumer_snapshot(consumer, ring, buffer, ret_span);
	const char *error;

	if (ret <= 0)
		return ret;
	error = ring_span_cut(ret_span, before);
	if (error)
		return ring_view_fail(&consumer->views[ring], error);
	return ret_span->size != 0;
}
