/* SPDX-License-Identifier: MIT */
/*
 * The memory of batches, which readers from outside (side/debugger.h) look at without a lock.
 *
 * All functions are called with the registry's lock held.
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
	struct side_events_register_handle *previous, *next; /* while it is free: next free one */
};

/* With the head less than half a page. */
#define BATCHES_IN_BLOCK 32

struct batch_block {
	struct side_registry_block head;
	struct side_events_register_handle batches[BATCHES_IN_BLOCK];
};

/* Its first batch has the library's own events, before any code has run. */
extern struct batch_block batches_first_block;

/* Can batches_take() do without a new block? */
bool batches_have_slot(void);

/*
 * A free place.  If there is none, *@spare (a block from calloc()) is taken over and made NULL; if that
 * is NULL already, so is the result.
 */
struct side_events_register_handle *batches_take(struct batch_block **free_block);

/* From the first on readers see the batch, from the second on they do not, and its place is free. */
void batches_show(struct side_events_register_handle *batch, struct side_event_description **events,
		uint32_t nr_events);
void batches_give_back(struct side_events_register_handle *batch);

#endif /* SIDE_LIBSIDE_BATCHES_H */
