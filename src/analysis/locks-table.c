/* SPDX-License-Identifier: MIT */
/* The locks that exist at a time, found by process, kind and address, and who holds them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/locks-state.h"

/* ---- the hash table of locks ---- */

static uint32_t locks_home(const struct locks *locks, uint32_t process, uint32_t trace,
		enum locks_kind kind, uint64_t address)
{
	uint64_t high = (uint64_t)process << 32 ^ (uint64_t)trace << 4 ^ (uint64_t)kind;
	uint64_t hash = (high * UINT64_C(0xff51afd7ed558ccd) ^ address) *
			UINT64_C(0xc4ceb9fe1a85ec53);

	return (uint32_t)(hash >> 32) & (locks->slot_capacity - 1);
}

static uint32_t locks_home_of(const struct locks *locks, uint32_t lock)
{
	const struct locks_lock *entry = &locks->all[lock];

	return locks_home(locks, entry->process, entry->trace, entry->kind, entry->address);
}

/* The slot of the lock, or the free slot where it belongs. */
static uint32_t locks_slot(const struct locks *locks, const struct locks_event *event,
		enum locks_kind kind, uint64_t address)
{
	uint32_t at = locks_home(locks, event->process, event->trace, kind, address);

	for (; locks->slots[at]; at = (at + 1) & (locks->slot_capacity - 1)) {
		const struct locks_lock *lock = &locks->all[locks->slots[at] - 1];

		if (lock->address == address && lock->process == event->process &&
				lock->trace == event->trace && lock->kind == kind)
			break;
	}
	return at;
}

uint32_t locks_find(const struct locks *locks, const struct locks_event *event,
		enum locks_kind kind, uint64_t address)
{
	if (!locks->slot_capacity)
		return LOCKS_NONE;
	return locks->slots[locks_slot(locks, event, kind, address)] - 1;
}

static int locks_grow_slots(struct locks *locks)
{
	uint32_t capacity = locks->slot_capacity ? locks->slot_capacity * 2 : 256, *slots;
	uint32_t *old = locks->slots, count = locks->slot_capacity;

	if (locks->nr_all * 2 < locks->slot_capacity)
		return 0;
	slots = calloc(capacity, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	locks->slots = slots;
	locks->slot_capacity = capacity;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = old[i] ? locks_home_of(locks, old[i] - 1) : 0;

		if (!old[i])
			continue;
		while (slots[at])
			at = (at + 1) & (capacity - 1);
		slots[at] = old[i];
	}
	free(old);
	return 0;
}

/* Makes an array of a pool larger. 0 or -ENOMEM. */
static int locks_grow_pool(void **pool, uint32_t *capacity, uint32_t used, size_t size)
{
	uint32_t more = *capacity ? *capacity * 2 : 256;
	void *grown;

	if (used < *capacity)
		return 0;
	grown = realloc(*pool, more * size);
	if (!grown)
		return -ENOMEM;
	*pool = grown;
	*capacity = more;
	return 0;
}

/* An unused entry of `all`, or LOCKS_NONE without memory. */
static uint32_t locks_new(struct locks *locks)
{
	void *pool = locks->all;
	uint32_t lock = locks->all_free;

	if (lock) {
		locks->all_free = locks->all[lock - 1].first_hold;
		return lock - 1;
	}
	if (locks_grow_pool(&pool, &locks->all_capacity, locks->all_used, sizeof(*locks->all)))
		return LOCKS_NONE;
	locks->all = pool;
	return locks->all_used++;
}

uint32_t locks_get(struct locks *locks, const struct locks_event *event, enum locks_kind kind,
		uint64_t address, bool is_init)
{
	uint32_t lock = locks_find(locks, event, kind, address), row;

	if (lock != LOCKS_NONE)
		return lock;
	if (locks->nr_all >= LOCKS_ALIVE_MAX) {
		locks->not_followed++;
		return LOCKS_NONE;
	}
	row = locks_row_of(locks, event, kind, address, is_init);
	if (row == LOCKS_NONE || locks_grow_slots(locks))
		return LOCKS_NONE;
	lock = locks_new(locks);
	if (lock == LOCKS_NONE)
		return LOCKS_NONE;
	locks->all[lock] = (struct locks_lock){
			.address = address,
			.process = event->process,
			.trace = event->trace,
			.kind = kind,
			.row = row,
			.first_hold = LOCKS_NONE,
			.release_stack = LOCKS_NONE,
			.released_ns = INT64_MIN,
			.unlocked_ns = INT64_MIN,
	};
	locks->slots[locks_slot(locks, event, kind, address)] = lock + 1;
	locks->nr_all++;
	return lock;
}

/* Frees the slot, and moves entries that were displaced by it. */
static void locks_free_slot(struct locks *locks, uint32_t hole)
{
	uint32_t mask = locks->slot_capacity - 1;

	locks->slots[hole] = 0;
	for (uint32_t at = (hole + 1) & mask; locks->slots[at]; at = (at + 1) & mask) {
		uint32_t home = locks_home_of(locks, locks->slots[at] - 1);

		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		locks->slots[hole] = locks->slots[at];
		locks->slots[at] = 0;
		hole = at;
	}
}

void locks_forget(struct locks *locks, uint32_t lock)
{
	struct locks_lock *entry = &locks->all[lock];
	const struct locks_event event = {.process = entry->process, .trace = entry->trace};

	while (entry->first_hold != LOCKS_NONE)
		locks_unhold(locks, entry->first_hold);
	locks_free_slot(locks, locks_slot(locks, &event, entry->kind, entry->address));
	entry->first_hold = locks->all_free;
	locks->all_free = lock + 1;
	locks->nr_all--;
}

/* ---- holds ---- */

uint32_t locks_hold_of(const struct locks *locks, uint32_t lock, uint32_t thread)
{
	uint32_t hold = locks->all[lock].first_hold;

	while (hold != LOCKS_NONE && locks->holds[hold].thread != thread)
		hold = locks->holds[hold].next;
	return hold;
}

uint32_t locks_conflict(const struct locks *locks, uint32_t lock, uint32_t thread, bool is_read)
{
	uint32_t hold = locks->all[lock].first_hold;

	while (hold != LOCKS_NONE &&
			(locks->holds[hold].thread == thread ||
					(is_read && !locks->holds[hold].is_write)))
		hold = locks->holds[hold].next;
	return hold;
}

int locks_hold(struct locks *locks, uint32_t lock, const struct locks_event *event, bool is_write)
{
	void *pool = locks->holds;
	uint32_t hold = locks->hold_free;

	if (hold) {
		locks->hold_free = locks->holds[hold - 1].next;
		hold--;
	} else if (locks->hold_used >= LOCKS_HOLDS_MAX) {
		locks->not_followed++;
		return 0;
	} else if (locks_grow_pool(&pool, &locks->hold_capacity, locks->hold_used,
				   sizeof(*locks->holds))) {
		return -ENOMEM;
	} else {
		locks->holds = pool;
		hold = locks->hold_used++;
	}
	locks->holds[hold] = (struct locks_hold){
			.lock = lock,
			.thread = event->thread,
			.next = locks->all[lock].first_hold,
			.stack = event->stack,
			.depth = 1,
			.is_write = is_write,
			.ns = event->ns,
	};
	locks->all[lock].first_hold = hold;
	return 0;
}

void locks_unhold(struct locks *locks, uint32_t hold)
{
	struct locks_hold *entry = &locks->holds[hold];
	uint32_t *link = &locks->all[entry->lock].first_hold;

	while (*link != hold)
		link = &locks->holds[*link].next;
	*link = entry->next;
	entry->lock = LOCKS_NONE;
	entry->next = locks->hold_free;
	locks->hold_free = hold + 1;
}
