/* SPDX-License-Identifier: MIT */
/*
 * The read-side section of dispatch (rcu.h), and what it finds there: for the library, and for a tracer of this tree that
 * cannot afford a call for that (the agent, where a probe hits). The latter asks side_tracer_sections() with
 * SECTIONS_VERSION: a library for which anything of this is otherwise says NULL.
 */
#ifndef SIDE_LIBSIDE_SECTION_H
#define SIDE_LIBSIDE_SECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* <side/trace.h> comes before it: the library has its own way to include that (functions.h). */
#include <side/tracer-extensions.h>

#define SECTIONS_VERSION 1

/*
 * One entry.  Exactly one of the two functions is set, so a call of the wrong kind finds the end of
 * the array at its first entry: no test for it on the hot path.  side_empty_callback, which stands
 * for the empty array, is shorter than an entry; only the two functions may be read of an end.
 */
struct side_callback {
	side_tracer_callback_func call;
	side_tracer_callback_variadic_func call_variadic;
	void *priv;
	uint64_t key;
};

/* Bits of the enabled word that others than the library set; the rest counts private enablers. */
#define SIDE_ENABLED_SHIFT (sizeof(uintptr_t) * 8 - 8)
#define SIDE_ENABLED_USER_EVENTS ((uintptr_t)0x80 << SIDE_ENABLED_SHIFT)
#define SIDE_ENABLED_PTRACE ((uintptr_t)0x40 << SIDE_ENABLED_SHIFT)

/* What every reader reads and no reader writes; alone in its cache line. */
struct side_tracer_sections {
	uintptr_t gp;
	/*
	 * Of the pointer to the thread's reader from the thread pointer, the same in all threads; 0: not known. What it points to
	 * begins with the thread's epoch.
	 */
	intptr_t self_distance;
} __attribute__((aligned(64)));

#define SECTION_SLOW ((uintptr_t)1) /* in gp: section_enter() does not do */

#if defined(__x86_64__) && defined(__LP64__)
/*
 * The epoch of this thread, or, where the distance is not known, something that section_enter() takes
 * for that of a section and leaves alone: at distance 0 from the thread pointer stands the
 * address of the thread's control block, whose first word is that same address (x86-64 psABI).
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
 * Enter an outermost section the cheap way, unless the caller has found something odd.  False: that, inside a section
 * already, no reader yet, fences needed, or not running.  One decision for what is odd and the epoch.
 */
static inline __attribute__((always_inline)) bool section_enter(
		const struct side_tracer_sections *sections, uintptr_t *epoch, uintptr_t odd)
{
	uintptr_t gp;

	/* Relaxed: only this thread writes its epoch. */
	odd |= __atomic_load_n(epoch, __ATOMIC_RELAXED);
	if (__builtin_expect(odd != 0, 0))
		return false;
	/* Relaxed: a stale value is older, and so waited for longer. */
	gp = __atomic_load_n(&sections->gp, __ATOMIC_RELAXED);
	if (__builtin_expect(gp & SECTION_SLOW, 0))
		return false;
	/*
	 * Release: what the last section read, before a grace period may see the new epoch. Pairs with the acquire in
	 * reader_is_older(). The membarrier in rcu_all_threads_barrier() orders the loads after it.
	 */
	__atomic_store_n(epoch, gp, __ATOMIC_RELEASE);
	/* Compiler fence: the epoch before the loads of the section, in the program order of this thread. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return true;
}

static inline __attribute__((always_inline)) void section_leave(uintptr_t *epoch)
{
	/* Release: what the section read, before it ends.  Pairs with the acquire in rcu_has_elapsed(). */
	__atomic_store_n(epoch, 0, __ATOMIC_RELEASE);
}

/* Of an event of version 0, in a section. */
static inline __attribute__((always_inline)) const struct side_callback *section_callbacks(
		const struct side_event_state_0 *state)
{
	/* Acquire: the entries.  Pairs with the release in callback_publish(). */
	return __atomic_load_n(&state->callbacks, __ATOMIC_ACQUIRE);
}

/* Do the kernel or a debugger want it, in an armed process too? */
static inline __attribute__((always_inline)) bool section_is_shared(
		const struct side_event_state_0 *state)
{
	/* Relaxed: the bits order nothing. */
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

/* Does one callback listen, at an address in that range, and nobody else?  No callback is at no address of anybody's. */
static inline __attribute__((always_inline)) bool section_is_only(
		const struct side_event_state_0 *state, const struct side_callback *cb,
		uintptr_t begin, uintptr_t end)
{
	return __builtin_expect(section_is_within(cb, begin, end), 1) &&
			__builtin_expect(!cb[1].call, 1) &&
			__builtin_expect(!section_is_shared(state), 1);
}

#endif /* SIDE_LIBSIDE_SECTION_H */
