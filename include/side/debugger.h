/* SPDX-License-Identifier: MIT */
/*
 * SIDE: the batches of events that a process has registered, for readers of its memory (debuggers,
 * `side list PID`).
 *
 * libside exports one object, side_registry_0, in its dynamic symbol table. Readers find it there and
 * read it from outside the process. They must not write to it. Batches have fixed slots in blocks. Blocks
 * are linked; they are never freed and never move:
 *
 *	side_registry_0 -> first block -> next block -> ... -> NULL
 *	                   nr_batches slots, batch_size bytes each
 *
 * In a stopped process every slot can be read: a slot with id 0 is free, all others hold a batch.
 *
 * A running process may register and unregister at the same time. A reader gets consistent slots without
 * a lock, because an id never returns to the same slot (on 32-bit hosts: not before 2^32 registrations):
 *
 *	1. read the id: 0 means free;
 *	2. read the slot;
 *	3. read the array and the descriptions that it points to;
 *	4. read the id again: if it is the id of step 1, all that was read is valid; otherwise the batch
 *	   was unregistered meanwhile, and the reader must discard it.
 *
 * Each step must end before the next begins, as system calls do. The member `changes` changes whenever a
 * batch is registered or unregistered, for readers that cache.
 * In a program that is linked without -fPIC and names the object, use the executable's copy: its symbol
 * takes precedence over that of the library.
 *
 * Words and pointers are those of the host: word_size bytes each, in its byte order. An incompatible
 * layout gets another symbol. New members go before `end` and change struct_size and batch_size.
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

/* The slot of a batch. */
struct side_registry_batch {
	uintptr_t id;                           /* 0: free; the other members are undefined */
	struct side_event_description **events; /* as given to side_events_register(): NULLs too */
	uint32_t nr_events;
};
side_check_size(struct side_registry_batch, (__SIZEOF_POINTER__ == 4 ? 12 : 24));

/* nr_batches slots follow. */
struct side_registry_block {
	const struct side_registry_block *next;
	uint32_t nr_batches;
};
side_check_size(struct side_registry_block, (__SIZEOF_POINTER__ == 4 ? 8 : 16));

struct side_registry_0 {
	uint32_t struct_size;       /* offset of `end` */
	uint16_t word_size;         /* 4 or 8 */
	uint16_t batch_size;        /* bytes from one slot to the next */
	uint32_t block_size;        /* bytes from a block to its first slot */
	volatile uintptr_t changes; /* the only member that changes */
	const struct side_registry_block *blocks;
	__extension__ char end[0];
};
side_check_size(struct side_registry_0, (__SIZEOF_POINTER__ == 4 ? 20 : 32));

extern const struct side_registry_0 side_registry_0;

#ifdef __cplusplus
}
#endif

#endif /* SIDE_DEBUGGER_H */
