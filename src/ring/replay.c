/* SPDX-License-Identifier: MIT */
/*
 * Lets one thread publish records with the time and CPU of events that happened earlier in other
 * processes.
 */
#include "ring/portable.h"
#include "ring/ring.h"

/* NULL: no replay, the usual case. */
static const struct ring_replay *replayed;
static uint64_t replayer;

void ring_replay(const struct ring_replay *replay)
{
	replayer = ring_thread_token();
	/* Release: the thread's token. Pairs with the acquire in ring_portable_replay(). */
	__atomic_store_n(&replayed, replay, __ATOMIC_RELEASE);
}

const struct ring_replay *ring_portable_replay(uint64_t self)
{
	/* Acquire: pairs with the release in ring_replay(). */
	const struct ring_replay *replay = __atomic_load_n(&replayed, __ATOMIC_ACQUIRE);

	return replay && replayer == self ? replay : NULL;
}
