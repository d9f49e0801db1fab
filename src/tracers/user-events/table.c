/* SPDX-License-Identifier: MIT */
/*
 * The table of events, in memory that another process may read at any time (side/kernel.h).
 *
 * Blocks are never freed; the events in them are reused. A reader may see a half-written event,
 * which is acceptable because users only look at the result.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "tracers/user-events/user-events.h"

/* Other processes read these structures. */
_Static_assert(sizeof(struct side_kernel_event_0) == 528, "an event, as shown");
_Static_assert(sizeof(struct side_kernel_table_0) == 280, "the table, as shown");

struct user_event_block {
	uint64_t next;
	struct user_event events[SIDE_KERNEL_TABLE_EVENTS];
};

__attribute__((visibility("default"))) struct side_kernel_table_0 side_kernel_table_0 = {
		.size = sizeof(struct side_kernel_table_0),
		.event_size = sizeof(struct user_event),
};

static struct user_event *first_free;
static struct user_event_block *last_block;

void *kernel_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void *kernel_small_memory(size_t size)
{
	static unsigned char *chunk;
	static size_t left;
	unsigned char *memory;

	if (size > left) {
		left = 16 * 4096;
		chunk = kernel_memory(left);
		if (!chunk)
			left = 0;
	}
	if (size > left)
		return NULL;
	memory = chunk;
	chunk += size;
	left -= size;
	return memory;
}

static bool user_events_table_add_block(void)
{
	struct user_event_block *block = kernel_memory(sizeof(*block));
	size_t i;

	if (!block)
		return false;
	for (i = SIDE_KERNEL_TABLE_EVENTS; i--;) {
		block->events[i].next_free = first_free;
		first_free = &block->events[i];
	}
	/*
	 * Release: the block is initialized before other processes find it. Pairs with a reader of
	 * this memory in another process.
	 */
	__atomic_store_n(last_block ? &last_block->next : &side_kernel_table_0.first,
			(uintptr_t)block, __ATOMIC_RELEASE);
	last_block = block;
	return true;
}

struct user_event *table_take(void)
{
	struct user_event *event;
	struct user_event_bytes metadata;

	if (!first_free && !user_events_table_add_block())
		return NULL;
	event = first_free;
	first_free = event->next_free;
	metadata = event->metadata;
	memset(event, 0, sizeof(*event));
	event->metadata.at = metadata.at;
	event->metadata.capacity = metadata.capacity;
	return event;
}

void table_give_back(struct user_event *event)
{
	event->shown.state = SIDE_KERNEL_EVENT_FREE;
	event->next_free = first_free;
	first_free = event;
}

static struct user_event *user_events_table_in_use_from(struct user_event_block *block, size_t i)
{
	for (; block; block = (struct user_event_block *)(uintptr_t)block->next, i = 0) {
		for (; i < SIDE_KERNEL_TABLE_EVENTS; i++) {
			if (block->events[i].shown.state != SIDE_KERNEL_EVENT_FREE)
				return &block->events[i];
		}
	}
	return NULL;
}

struct user_event *table_next(struct user_event *event)
{
	struct user_event_block *block =
			(struct user_event_block *)(uintptr_t)side_kernel_table_0.first;

	if (!event)
		return user_events_table_in_use_from(block, 0);
	for (; block; block = (struct user_event_block *)(uintptr_t)block->next) {
		if (event >= block->events && event < block->events + SIDE_KERNEL_TABLE_EVENTS)
			return user_events_table_in_use_from(
					block, (size_t)(event - block->events) + 1);
	}
	return NULL;
}

void table_report(const char *sentence)
{
	(void)snprintf(side_kernel_table_0.problem, sizeof(side_kernel_table_0.problem), "%s",
			sentence);
}
