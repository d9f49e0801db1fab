/* SPDX-License-Identifier: MIT */
/*
 * The read-side section of dispatch (rcu.h), and the data that it reads. Used by the library, and
 * by a tracer of this tree that cannot afford a call for it (the agent, in a probe hit). The tracer
 * calls side_tracer_sections() with SECTIONS_VERSION; a library with a different layout returns
 * NULL.
 */
#ifndef SIDE_LIBSIDE_SECTION_H
#define SIDE_LIBSIDE_SECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Include <side/trace.h> before: the library includes it in its own way (functions.h). */
#include <side/tracer-extensions.h>

#define SECTIONS_VERSION 1

/*
 * One entry. Exactly one of the two functions is set, so a call of the wrong type finds the end of
 * the array at its first entry, and the hot path needs no check. side_empty_callback, the empty
 * array, is shorter than an entry: only the two functions of an end entry may be read.
 */
struct side_callback {
	side_tracer_callback_func call;
	side_tracer_callback_variadic_func call_variadic;
	void *priv;
	uint64_t key;
};

/* Bits of the enabled word that shared tracers set; the lower bits count private tracers. */
#define SIDE_ENABLED_SHIFT (sizeof(uintptr_t) * 8 - 8)
#define SIDE_ENABLED_USER_EVENTS ((uintptr_t)0x80 << SIDE_ENABLED_SHIFT)
#define SIDE_ENABLED_PTRACE ((uintptr_t)0x40 << SIDE_ENABLED_SHIFT)

/* Read by every reader and written by no reader; alone in its cache line. */
struct side_tracer_sections {
	uintptr_t gp;
	/*
	 * Distance of the pointer to the reader from the thread pointer, the same in all threads;
	 * 0: unknown. The reader begins with the epoch of the thread.
	 */
	intptr_t self_distance;
} __attribute__((aligned(64)));

#define SECTION_SLOW ((uintptr_t)1) /* in gp: section_enter() fails */

#if defined(__x86_64__) && defined(__LP64__)
/*
 * The epoch of this thread. If the distance is unknown, a word that section_enter() treats as the
 * epoch of an open section: at distance 0 from the thread pointer is the address of the thread's
 * control block, whose first word is that same address (x86-64 psABI).
 */
static inline __attribute__((always_inline)) uintptr_t *section_epoch(
		const struct side_tracer_sections *sections)
{
	intptr_t distance = __atomic_load_n(&sections->self_distance, __ATOMIC_RELAXED);
	uintptr_t *epoch;

	__asm__ __volatile__("mov %%fs:(%1), %0" : "=r"(epoch) : "r"(distance));
	return epoch;
}
#endif

/*
 * Enter an outermost section on the fast path, unless the caller passes an exception in `odd`.
 * False: an exception, inside a section already, no reader yet, fences needed, or not running. One
 * branch covers the exceptions and the epoch.
 */
static inline __attribute__((always_inline)) bool section_enter(
		const struct side_tracer_sections *sections, uintptr_t *epoch, uintptr_t odd)
{
	uintptr_t gp;

	/* Relaxed: only this thread writes its epoch. */
	odd |= __atomic_load_n(epoch, __ATOMIC_RELAXED);
	if (__builtin_expect(odd != 0, 0))
		return false;
	/* Relaxed: a stale value is older, so the writer waits longer. */
	gp = __atomic_load_n(&sections->gp, __ATOMIC_RELAXED);
	if (__builtin_expect(gp & SECTION_SLOW, 0))
		return false;
	/*
	 * Release: the reads of the last section, before a grace period may see the new epoch.
	 * Pairs with the acquire in rcu_reader_is_older(). The membarrier in
	 * rcu_all_threads_barrier() orders the loads after it.
	 */
	__atomic_store_n(epoch, gp, __ATOMIC_RELEASE);
	/*
	 * Compiler fence: the epoch before the loads of the section, in the program order of this
	 * thread.
	 */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return true;
}

static inline __attribute__((always_inline)) void section_leave(uintptr_t *epoch)
{
	/*
	 * Release: the reads of the section, before it ends. Pairs with the acquire in
	 * rcu_has_elapsed().
	 */
	__atomic_store_n(epoch, 0, __ATOMIC_RELEASE);
}

/* The callbacks of an event of version 0. In a section. */
static inline __attribute__((always_inline)) const struct side_callback *section_callbacks(
		const struct side_event_state_0 *state)
{
	/* Acquire: the entries. Pairs with the release in callback_publish(). */
	return __atomic_load_n(&state->callbacks, __ATOMIC_ACQUIRE);
}

/* Whether the kernel or a debugger uses the event; ignores the armed bit. */
static inline __attribute__((always_inline)) bool section_is_shared(
		const struct side_event_state_0 *state)
{
	/* Relaxed: no data depends on the bits. */
	return (__atomic_load_n(&state->enabled, __ATOMIC_RELAXED) &
			       (SIDE_ENABLED_USER_EVENTS | SIDE_ENABLED_PTRACE)) != 0;
}

static inline __attribute__((always_inline)) bool section_is_within(
		const struct side_callback *cb, uintptr_t begin, uintptr_t end)
{
	uintptr_t call;

	memcpy(&call, &cb->call, sizeof(call));
	return call - begin < end - begin;
}

/*
 * Whether the event has exactly one callback, at an address in that range, and no shared tracer.
 * Without a callback the address is NULL, which is in no range.
 */
static inline __attribute__((always_inline)) bool section_is_only(
		const struct side_event_state_0 *state, const struct side_callback *cb,
		uintptr_t begin, uintptr_t end)
{
	return __builtin_expect(section_is_within(cb, begin, end), 1) &&
			__builtin_expect(!cb[1].call, 1) &&
			__builtin_expect(!section_is_shared(state), 1);
}

#endif /* SIDE_LIBSIDE_SECTION_H */
