/* SPDX-License-Identifier: MIT */
/*
 * The memory of batches, which debuggers (side/debugger.h) read without a lock, and their list.
 *
 * Call all functions with the lock of the registry held.
 */
#ifndef SIDE_LIBSIDE_BATCHES_H
#define SIDE_LIBSIDE_BATCHES_H

#include <stdbool.h>
#include <stdint.h>

#include <side/debugger.h>

struct side_events_register_handle {
	struct side_registry_batch shown;
	struct side_event_description **own; /* shown.events, if that is the library's memory */
	bool leaving; /* being unregistered: tracers are notified, or are being notified */
	struct side_tracer_handle *notified; /* tracer that is being notified of the end */
	uint64_t number; /* of the batch, counted from 1 in the order of registration */
	/* the neighbours; next free slot if the slot is free */
	struct side_events_register_handle *previous, *next;
};

/* With the head less than half a page. */
#define BATCHES_IN_BLOCK 32

struct batch_block {
	struct side_registry_block head;
	struct side_events_register_handle batches[BATCHES_IN_BLOCK];
};

/* Its first batch has the library's own events, before any code has run. */
extern struct batch_block batches_first_block;

/* Whether batches_take() needs no new block. */
bool batches_have_slot(void);

/*
 * Take a free slot. If there is none, take *free_block (a block from calloc()) and set it to NULL.
 * Returns NULL if that is NULL already.
 */
struct side_events_register_handle *batches_take(struct batch_block **free_block);

/* Show the batch to readers; hide it from readers and free its slot. */
void batches_show(struct side_events_register_handle *batch, struct side_event_description **events,
		uint32_t nr_events);
void batches_give_back(struct side_events_register_handle *batch);

/*
 * The first batch of the list, in the order of registration, and the first one after a number
 * (0: the first of all). NULL: there is none.
 */
struct side_events_register_handle *batches_first(void);
struct side_events_register_handle *batches_after(uint64_t number);

/* Number of unlinked batches. If it changes, pointers that were found before may be stale. */
uint64_t batches_removals(void);

/* Call each() for all batches that are not leaving; it must not change the list. */
void batches_each(void (*each)(struct side_event_description **events, uint32_t nr_events,
				  void *user),
		void *user);

/* Append a batch to the list, with the next number; unlink it. */
void batches_append(struct side_events_register_handle *batch);
void batches_unlink(struct side_events_register_handle *batch);

#endif /* SIDE_LIBSIDE_BATCHES_H */
