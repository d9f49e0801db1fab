/* SPDX-License-Identifier: MIT */
/*
 * Allocates the slots of batches, keeps the list of batches, and maintains the object that shows
 * them to debuggers (side/debugger.h).
 *
 * Slots are reused but never freed, so a reader in another process always reads a slot, and the id
 * in it shows whether it still holds the same batch. Such readers copy the memory with system
 * calls; they rely on the order of our stores:
 *
 *	show:      the batch, then its id
 *	give back: id 0, then any reuse of the slot or of the caller's events
 */
#include "batches.h"

#include <stddef.h>
#include <stdlib.h>

#include "export.h"
#include "statedump-events.h"

struct batch_block batches_first_block = {
		.head = {.nr_batches = BATCHES_IN_BLOCK},
		.batches = {{
				.shown = {.id = 1,
						.events = statedump_events,
						.nr_events = STATEDUMP_NR_EVENTS},
				.number = 1,
		}},
};

/* The list, in the order of registration. The library's own events are the first batch. */
static struct side_events_register_handle *first_batch = &batches_first_block.batches[0];
static struct side_events_register_handle *last_batch = &batches_first_block.batches[0];
static uint64_t last_number = 1;
static uint64_t removals; /* number of unlinked batches */

static struct batch_block *last_block = &batches_first_block;
static uint32_t nr_used = 1; /* slots of the last block that were used at least once */
static struct side_events_register_handle *free_slots;

/*
 * The object that other processes see as the constant side_registry_0. The library does not access
 * it by a name that binds to the library: if an executable has a copy, that copy is the valid one.
 */
extern struct side_registry_0 registry_shown __asm__("side_registry_0");
EXPORT struct side_registry_0 registry_shown = {
		.struct_size = offsetof(struct side_registry_0, end),
		.word_size = sizeof(uintptr_t),
		.batch_size = sizeof(struct side_events_register_handle),
		.block_size = offsetof(struct batch_block, batches),
		.changes = 1,
		.blocks = &batches_first_block.head,
};

static void batches_count_change(void)
{
	/* Under the lock: no other writer. A hint for readers, without an order. */
	registry_shown.changes++;
}

bool batches_have_slot(void)
{
	return free_slots || nr_used < BATCHES_IN_BLOCK;
}

struct side_events_register_handle *batches_take(struct batch_block **free_block)
{
	struct side_events_register_handle *batch = free_slots;

	if (batch) {
		free_slots = batch->next;
		return batch;
	}
	if (nr_used == BATCHES_IN_BLOCK) {
		struct batch_block *block = *free_block;

		if (!block)
			return NULL;
		*free_block = NULL;
		block->head.nr_batches = BATCHES_IN_BLOCK;
		/*
		 * Release: the head of the block before the pointer to it. Pairs with a reader of
		 * the memory.
		 */
		__atomic_store_n(&last_block->head.next, &block->head, __ATOMIC_RELEASE);
		last_block = block;
		nr_used = 0;
	}
	return &last_block->batches[nr_used++];
}

void batches_show(struct side_events_register_handle *batch, struct side_event_description **events,
		uint32_t nr_events)
{
	uintptr_t id = (uintptr_t)batch->number;

	batch->shown.events = events;
	batch->shown.nr_events = nr_events;
	/* Release: the batch before its id, which is never 0. Pairs with a reader of the memory. */
	__atomic_store_n(&batch->shown.id, id ? id : 1, __ATOMIC_RELEASE);
	batches_count_change();
}

void batches_give_back(struct side_events_register_handle *batch)
{
	/* Relaxed: the fence below orders it. */
	__atomic_store_n(&batch->shown.id, 0, __ATOMIC_RELAXED);
	batches_count_change();
#ifndef __SANITIZE_THREAD__ /* which supports neither fences nor readers in other processes */
	/*
	 * Release: the store above, before the slot is reused, and before the owner frees the
	 * events. Pairs with a reader of the memory.
	 */
	__atomic_thread_fence(__ATOMIC_RELEASE);
#endif
	batch->leaving = false;
	batch->next = free_slots;
	free_slots = batch;
}

struct side_events_register_handle *batches_first(void)
{
	return first_batch;
}

struct side_events_register_handle *batches_after(uint64_t number)
{
	struct side_events_register_handle *batch, *found = NULL;

	if (!number)
		return first_batch;
	/* From the end, where new batches are. */
	for (batch = last_batch; batch && batch->number > number; batch = batch->previous)
		found = batch;
	return found;
}

uint64_t batches_removals(void)
{
	return removals;
}

void batches_each(void (*each)(struct side_event_description **events, uint32_t nr_events,
				  void *user),
		void *user)
{
	struct side_events_register_handle *batch;

	for (batch = first_batch; batch; batch = batch->next) {
		if (!batch->leaving)
			each(batch->shown.events, batch->shown.nr_events, user);
	}
}

void batches_append(struct side_events_register_handle *batch)
{
	batch->number = ++last_number;
	batch->previous = last_batch;
	batch->next = NULL;
	if (last_batch)
		last_batch->next = batch;
	else
		first_batch = batch;
	last_batch = batch;
}

void batches_unlink(struct side_events_register_handle *batch)
{
	if (batch->previous)
		batch->previous->next = batch->next;
	else
		first_batch = batch->next;
	if (batch->next)
		batch->next->previous = batch->previous;
	else
		last_batch = batch->previous;
	removals++;
}
