/* SPDX-License-Identifier: MIT */
/*
 * The lease of a ring memory: whether the producer uses the memory from lost_offset on, and whether
 * that memory is present.
 *
 *	FREE		present, and the producer does not use it
 *	USED		present, and the producer may be writing
 *	RECALLED	as USED, and the consumer asks for its return
 *	REVOKED		absent
 *	ASKED		absent, and the producer waits for it
 *
 *	producer	FREE → USED, RECALLED → USED, REVOKED → ASKED	with a record (lease.c)
 *			RECALLED → FREE		a grace period after it has closed its rings
 *	consumer	FREE → REVOKED		then it frees the memory, if the rings are empty
 *			REVOKED → FREE, ASKED → USED	after it has provided the memory
 *			ASKED → REVOKED		out of memory
 *			USED → RECALLED		the rings have been idle (lease-consumer.c)
 *
 * Each transition is a compare-and-swap of one word, so the producer never writes where no memory
 * is. The upper bits of the word count how often the producer has claimed the memory: a producer
 * that closes its rings for one recall does not answer a later one.
 *
 * The header and struct ring_control of each ring are always present: positions, and the number of
 * records that are lost while the memory is absent.
 *
 * A killed producer can leave any state; the consumer drains and frees the rings as usual. A killed
 * consumer can leave any state, too. The next consumer learns from the size of the file whether the
 * memory is present (ring_lease_adopt()).
 *
 * The lease costs the hot path nothing: a producer without the memory has closed its rings
 * (payload_limit and usable are 0), so a record takes the slow path.
 */
#ifndef SIDE_RING_LEASE_H
#define SIDE_RING_LEASE_H

#include "ring/section.h"

enum ring_lease_state {
	RING_LEASE_FREE = 0, /* initial state */
	RING_LEASE_USED,
	RING_LEASE_RECALLED,
	RING_LEASE_REVOKED,
	RING_LEASE_ASKED,
};

#define RING_LEASE_STATE_MASK 0xffu
#define RING_LEASE_TAKEN_ONCE 0x100u

/*
 * In the first page of the ring memory. The word is a futex: a producer that has asked waits on it.
 */
struct ring_lease {
	uint32_t word;
	uint32_t reserved[15];
};

static inline enum ring_lease_state ring_lease_state(uint32_t word)
{
	return (enum ring_lease_state)(word & RING_LEASE_STATE_MASK);
}

static inline uint32_t ring_lease_word(uint32_t word, enum ring_lease_state state)
{
	return (word & ~RING_LEASE_STATE_MASK) | (uint32_t)state;
}

/*
 * Acquire and release, acquire if it fails: what either end did with the memory before. Pairs with
 * the other end's access in ring_lease_change(). Returns false if the word has changed, and stores
 * the new value in *word.
 */
static inline bool ring_lease_change(struct ring_lease *lease, uint32_t *word,
		enum ring_lease_state state, uint32_t more)
{
	return __atomic_compare_exchange_n(&lease->word, word, ring_lease_word(*word, state) + more,
			false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/*
 * Claim the memory for the producer: true if it may write. `ask`: if the memory is absent, ask the
 * consumer and wait for the answer, for 100 ms at most (ring_lease_timeout_factor()). After a wait
 * without success, no record of the process asks for eight times as long.
 */
bool ring_lease_claim(struct ring_producer *producer, bool ask);
/* In producer.c: open or close the fast path. A stopped producer stays closed. */
void ring_producer_open(struct ring_producer *producer);
void ring_producer_close(struct ring_producer *producer);

#endif /* SIDE_RING_LEASE_H */
