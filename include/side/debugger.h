/* SPDX-License-Identifier: MIT */
/*
 * SIDE: the batches of events that a process has registered, for readers of its memory (debuggers,
 * `side list PID`).
 *
 * libside exports one object, side_registry_0, in its dynamic symbol table.  It is found there and
 * read from outside; nobody writes to it, and nobody in the process needs it.  The fixed places of
 * batches stand in blocks; blocks are linked, are never freed and never move:
 *
 *	side_registry_0 -> first block -> next block -> ... -> NULL
 *	                   nr_batches places, batch_size bytes each
 *
 * A process that is stopped can simply be read: places with id 0 are free, all others hold a batch.
 *
 * A process that runs registers and unregisters meanwhile.  A reader without a lock gets a true
 * picture all the same, place by place, because the same id never comes back to the same place
 * (on 32-bit hosts: not before 2^32 registrations):
 *
 *	1. read the id: 0 is free;
 *	2. read the place;
 *	3. read what it points to: the array, the descriptions;
 *	4. read the id again: if it is the one of step 1, everything was there all the time; if not,
 *	   the batch went away meanwhile, and what was read may be rubbish.
 *
 * Each step must begin when the one before has ended, as system calls do.  The member `changes` is
 * another than before whenever a batch has come or gone, for readers that keep what they have read.
 * A program that is linked without -fPIC and names the object has the one that counts in itself: the
 * executable's symbol goes before that of the library.
 *
 * Words and pointers are those of the host, word_size bytes each, in its byte order.  A layout that
 * readers of this one would not understand gets another symbol; new members go before `end` and show
 * up in struct_size and batch_size.
 */
#ifndef SIDE_DEBUGGER_H
#define SIDE_DEBUGGER_H

#pragma GCC system_header

#include <stdint.h>

#include <side/macros.h>

#ifdef __cplusplus
extern "C" {
#endif

struct side_event_description;

/* The name of the object, for readers of symbol tables. */
#define SIDE_REGISTRY_SYMBOL "side_registry_0"

/* The place of a batch. */
struct side_registry_batch {
	uintptr_t id;                           /* 0: free, and the rest means nothing */
	struct side_event_description **events; /* as given to side_events_register(): NULLs too */
	uint32_t nr_events;
};
side_check_size(struct side_registry_batch, (__SIZEOF_POINTER__ == 4 ? 12 : 24));

/* Then come nr_batches places. */
struct side_registry_block {
	const struct side_registry_block *next;
	uint32_t nr_batches;
};
side_check_size(struct side_registry_block, (__SIZEOF_POINTER__ == 4 ? 8 : 16));

struct side_registry_0 {
	uint32_t struct_size;       /* offset of `end` */
	uint16_t word_size;         /* 4 or 8 */
	uint16_t batch_size;        /* bytes from one place to the next */
	uint32_t block_size;        /* bytes from a block to its first place */
	volatile uintptr_t changes; /* the only member that ever changes */
	const struct side_registry_block *blocks;
	__extension__ char end[0];
};
side_check_size(struct side_registry_0, (__SIZEOF_POINTER__ == 4 ? 20 : 32));

extern const struct side_registry_0 side_registry_0;

#ifdef __cplusplus
}
#endif

#endif /* SIDE_DEBUGGER_H */
