/* SPDX-License-Identifier: MIT */
/*
 * Read-copy-update of the library: readers use callback arrays without a lock, and a writer can
 * wait until no reader uses an old array.
 *
 * Each thread that emits enabled events has a reader of its own, a cache line that no other thread
 * writes. Its `epoch` is 0 outside read-side sections. Inside, it is the value that `gp` had when
 * the outermost section began. All readers read `gp`, and only writers change it. So:
 *
 *	enter   epoch = gp   one store   (only if epoch is 0)
 *	leave   epoch = 0    one store   (only if enter stored)
 *
 * A grace period raises gp, makes every running thread execute a full barrier (membarrier), and
 * then waits for each reader whose epoch is older than the new value. Because of the barrier, a
 * reader whose store of the epoch the writer does not see yet will load the callbacks only
 * afterwards, and finds the new array. Grace periods are independent of each other: any number may
 * run at once. The model in tests/libside/rcu.pml is checked with store buffers, nested signal
 * handlers, and stale loads of gp.
 *
 * Nesting needs no counter: an inner section (a callback that emits, a signal handler) finds the
 * epoch set and does not change it. Therefore an interruption at any instruction is safe: a signal
 * handler always restores the epoch that it found. The epoch also tells a writer that it is inside
 * a section itself.
 *
 * fork: the child has one thread, whose reader keeps its epoch, so that open sections stay
 * balanced. All other readers are freed (rcu_after_fork_in_child).
 *
 * Threads: a reader belongs to a thread id. No code runs at thread exit. A reader whose thread has
 * exited is reused; that is checked only if all readers are in use.
 *
 * Without membarrier (old kernel, seccomp) gp has RCU_FENCE, and readers execute a full fence.
 * SIDE_RCU=fence in the environment enables this.
 *
 * Thread-local data is one pointer, with any TLS model, because a library that is loaded late must
 * not need static TLS space. But a general access is a call. If the loader has put the pointer at
 * the same distance from the thread pointer of every thread (always if the library is loaded with
 * the program, usually otherwise), rcu_start() detects that, and the hot path loads the pointer
 * with one instruction. If no static TLS space is left, the first access of a thread allocates
 * memory. Only then, the first event of a thread must not be in a signal handler that interrupted
 * malloc().
 */
#ifndef SIDE_LIBSIDE_RCU_H
#define SIDE_LIBSIDE_RCU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "functions.h"
#include "section.h"

/* Low bits of gp; the upper bits count grace periods. */
enum {
	RCU_SLOW = SECTION_SLOW, /* rcu_enter() must not be used: not running, or fences needed */
	RCU_ALWAYS = 2,          /* so that an epoch is never 0 */
	RCU_READY = 4, /* sections may be entered: set by rcu_start(), cleared by rcu_finish() */
	RCU_FENCE = 8, /* no membarrier: readers execute fences */
	RCU_FLAGS = 15,
	RCU_STEP = 16, /* one grace period */
};

struct rcu_reader {
	uintptr_t epoch;    /* must be first: section.h */
	uint32_t tid;       /* owner; 0: free */
	uintptr_t identity; /* of an owner that could not ask for its id (rcu_sandbox_begins()) */
	struct rcu_reader *next_free;
} __attribute__((aligned(64)));

/* Epoch of the placeholder that a thread without a reader has: never a value of gp. */
#define RCU_NO_READER ((uintptr_t)RCU_SLOW)

/* Hidden: defined in this library, so the fast path can access them directly. */
extern __attribute__((visibility("hidden"))) struct side_tracer_sections rcu_shared;
extern __attribute__((visibility("hidden"))) __thread struct rcu_reader *rcu_self;

#if defined(__x86_64__) && defined(__LP64__)
/*
 * The reader of this thread, or a pointer that rcu_enter() treats as one in a section:
 * section_epoch().
 */
static inline __attribute__((always_inline)) struct rcu_reader *rcu_reader_quick(void)
{
	return (struct rcu_reader *)(void *)section_epoch(&rcu_shared);
}
#else
static inline __attribute__((always_inline)) struct rcu_reader *rcu_reader_quick(void)
{
	return rcu_self;
}
#endif

/* Try to enter an outermost section on the fast path. False: call rcu_enter_slow(). */
static inline __attribute__((always_inline)) bool rcu_enter_unless(
		struct rcu_reader *reader, uintptr_t odd)
{
	return section_enter(&rcu_shared, &reader->epoch, odd);
}

static inline __attribute__((always_inline)) bool rcu_enter(struct rcu_reader *reader)
{
	return rcu_enter_unless(reader, 0);
}

static inline __attribute__((always_inline)) void rcu_leave(struct rcu_reader *reader)
{
	section_leave(&reader->epoch);
}

/*
 * Enter a section in all cases that rcu_enter() does not handle. NULL: not possible now (the
 * library is not running, or out of memory for a reader). *ret_outermost tells whether to leave.
 * Async-signal-safe.
 */
struct rcu_reader *rcu_enter_slow(bool *ret_outermost);

/* Whether the calling thread is inside a section. Then it must not wait for readers. */
static inline bool rcu_inside(void)
{
	uintptr_t epoch = __atomic_load_n(&rcu_self->epoch, __ATOMIC_RELAXED);

	return epoch != 0 && epoch != RCU_NO_READER;
}

/* Allow sections. Called before the first callback is published. Idempotent. */
void rcu_start(void);

static inline bool rcu_is_started(void)
{
	/* Relaxed: only checks whether a thread can have entered a section before this call. */
	return __atomic_load_n(&rcu_shared.gp, __ATOMIC_RELAXED) != (RCU_SLOW | RCU_ALWAYS);
}

/*
 * The calling thread is about to forbid system calls: threads that emit their first event after
 * this call make none. rcu_sandbox_failed() cancels the last call. No other thread may have made
 * one since.
 */
void rcu_sandbox_begins(void);
void rcu_sandbox_failed(void);

/* Forbid new sections; open ones continue. */
void rcu_finish(void);

/*
 * Begin a grace period. When it has passed, everything that was unpublished before this call is
 * unreachable.
 */
uintptr_t rcu_begin_grace_period(void);

/* Whether the grace period has passed. Does not wait. */
bool rcu_has_elapsed(uintptr_t grace_period);

/* Free readers that delay the grace period and whose threads have exited. */
void rcu_free_exited(uintptr_t grace_period);

/* Wait for a grace period. Not inside a section, and not with a lock that a callback may need. */
void rcu_synchronize(void);

/* The current epoch, to mark unpublished data; and the latest grace period that has passed. */
uintptr_t rcu_now(void);
uintptr_t rcu_last_elapsed(void);

void rcu_after_fork_in_child(void);

#endif /* SIDE_LIBSIDE_RCU_H */
