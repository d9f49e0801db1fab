/* SPDX-License-Identifier: MIT */
/*
 * Assigns rings to threads, with rings per thread.
 *
 * A thread takes a ring with its first record and stores its number in thread-local memory, under
 * the key of the producer, where the sections read it. There is no destructor, because this code
 * cannot register one: the ring of a thread that has exited is found when another thread needs a
 * ring.
 *
 * owners[ring] = number of changes << 32 | thread id; the lower half is 0 for a free ring. It is
 * private memory, wiped by fork like all of struct ring_producer. The upper half makes one of two
 * threads win that take the same ring of an exited thread, also if a new thread has the same id.
 *
 * A signal handler may interrupt its thread while it takes a ring. Either it finds no ring of the
 * thread and takes one itself; the thread notices that and returns its own. Or it finds the id of
 * the thread at a ring, and takes that ring.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ring/clock.h"
#include "ring/doorbell.h"
#include "ring/slots.h"

#define RING_SLOTS_AGAIN_NS 10000000 /* The pause between two searches if all were in use. */

/*
 * Initial-exec: access makes no call that could allocate memory; the library is loaded at the start
 * of the program. Zero matches no key.
 */
static __thread uint64_t ring_slot_words[RING_SLOT_TABLE]
		__attribute__((tls_model("initial-exec")));

/*
 * Used words of that table, as bits, and the last key. The low bits of a key are the number of its
 * word.
 */
static uint64_t ring_slots_used;
static uint32_t ring_slots_key;

int ring_slots_open(uint64_t *ret_offset, uint64_t *ret_key)
{
	uint64_t used = __atomic_load_n(&ring_slots_used, __ATOMIC_RELAXED);
	unsigned int index;

	/* Relaxed: the bit alone decides which producer has a word. */
	do {
		if (used == UINT64_MAX)
			return -EMFILE;
		index = (unsigned int)__builtin_ctzll(~used);
	} while (!__atomic_compare_exchange_n(&ring_slots_used, &used, used | UINT64_C(1) << index,
			false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	*ret_offset = (uint64_t)((uintptr_t)&ring_slot_words[index] -
			(uintptr_t)__builtin_thread_pointer());
	*ret_key = (uint64_t)(__atomic_add_fetch(&ring_slots_key, 1, __ATOMIC_RELAXED) *
						   RING_SLOT_TABLE +
				   index)
			<< RING_SLOT_SHIFT;
	return 0;
}

void ring_slots_close(uint64_t key)
{
	unsigned int index = key >> RING_SLOT_SHIFT & (RING_SLOT_TABLE - 1);

	__atomic_fetch_and(&ring_slots_used, ~(UINT64_C(1) << index), __ATOMIC_RELAXED);
}

static void ring_slot_note(struct ring_producer *producer, uint32_t ring)
{
	__atomic_store_n(ring_slot_word(producer), producer->slot_key | ring, __ATOMIC_RELAXED);
}

static uint32_t ring_thread_id(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

/*
 * Whether the thread has left this process. A thread that is exiting has written its last record.
 */
static bool ring_thread_gone(uint32_t thread)
{
	return syscall(SYS_tgkill, getpid(), thread, 0) && errno == ESRCH;
}

/* Take the ring, unless its owner has changed. */
static bool ring_slot_change(
		struct ring_producer *producer, uint32_t ring, uint64_t owner, uint32_t thread)
{
	uint64_t mine = ((owner >> 32) + 1) << 32 | thread;

	/* Acquire: what the last owner wrote. Pairs with the release of ring_slot_give_back(). */
	if (!__atomic_compare_exchange_n(&producer->owners[ring], &owner, mine, false,
			    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	/* The last owner may have been cancelled while it held the lock. */
	__atomic_store_n(&producer->locks[(size_t)ring * RING_LOCK_WORDS], 0, __ATOMIC_RELAXED);
	return true;
}

/* Whether a search is due: one without success costs a system call for each ring. */
static bool ring_slots_worth(struct ring_producer *producer)
{
	uint64_t searched_ns = __atomic_load_n(&producer->slots_searched_ns, __ATOMIC_RELAXED);

	return !searched_ns ||
			(uint64_t)ring_clock_read_ns(CLOCK_MONOTONIC) - searched_ns >
			RING_SLOTS_AGAIN_NS;
}

/* Find a ring that is free, or whose owner has exited. */
static uint32_t ring_slot_search(struct ring_producer *producer, uint32_t thread)
{
	for (int dead = 0; dead < 2; dead++) {
		for (uint32_t ring = 0; ring < producer->rings; ring++) {
			uint64_t owner = __atomic_load_n(&producer->owners[ring], __ATOMIC_RELAXED);

			if (dead ? !ring_thread_gone((uint32_t)owner) : (uint32_t)owner != 0)
				continue;
			if (ring_slot_change(producer, ring, owner, thread))
				return ring;
		}
	}
	__atomic_store_n(&producer->slots_searched_ns,
			(uint64_t)ring_clock_read_ns(CLOCK_MONOTONIC), __ATOMIC_RELAXED);
	return RING_SLOT_NONE;
}

/* Find a ring that has this thread's id already: see the top of the file. */
static uint32_t ring_slot_find_own(struct ring_producer *producer, uint32_t thread)
{
	for (uint32_t ring = 0; ring < producer->rings; ring++) {
		uint64_t owner = __atomic_load_n(&producer->owners[ring], __ATOMIC_RELAXED);

		if ((uint32_t)owner == thread && ring_slot_change(producer, ring, owner, thread))
			return ring;
	}
	return RING_SLOT_NONE;
}

bool ring_slot_take(struct ring_producer *producer)
{
	unsigned char *data;
	uint32_t thread, ring;

	/*
	 * A child of vfork() shares the words of its parent, and a ring that it took would stay
	 * taken for ever.
	 */
	if (!ring_calls_permitted() || !ring_slots_worth(producer) || producer->pid != getpid())
		return false;
	thread = ring_thread_id();
	ring = ring_slot_find_own(producer, thread);
	if (ring == RING_SLOT_NONE)
		ring = ring_slot_search(producer, thread);
	if (ring == RING_SLOT_NONE)
		return false;
	if (ring_slot(producer) != RING_SLOT_NONE && ring_slot(producer) != ring) {
		/* A signal handler took one first. */
		ring_slot_give_back(producer, ring);
		return true;
	}
	ring_slot_note(producer, ring);
	data = producer->locations[ring].data;
	madvise(data, (size_t)producer->mask + 1, MADV_DODUMP);
	return true;
}

void ring_slot_forget(struct ring_producer *producer)
{
	__atomic_store_n(ring_slot_word(producer), 0, __ATOMIC_RELAXED);
}

uint32_t ring_slot_borrow(struct ring_producer *producer)
{
	return ring_calls_permitted() && ring_slots_worth(producer)
			? ring_slot_search(producer, ring_thread_id())
			: RING_SLOT_NONE;
}

void ring_slot_give_back(struct ring_producer *producer, uint32_t ring)
{
	/* Relaxed: the ring belongs to this thread. */
	uint64_t owner = __atomic_load_n(&producer->owners[ring], __ATOMIC_RELAXED);

	/* Release: what we wrote. Pairs with the acquire in ring_slot_change(). */
	__atomic_store_n(&producer->owners[ring], owner >> 32 << 32, __ATOMIC_RELEASE);
}
