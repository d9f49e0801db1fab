/* SPDX-License-Identifier: MIT */
/*
 * Read-copy-update of the library: readers walk callback arrays without a lock, a writer knows when
 * nobody walks an old array any more.
 *
 * Each thread that emits enabled events has a reader of its own, a cache line nobody else writes.
 * Its `epoch` is 0 outside read-side sections, and otherwise the value that `gp`, which all readers
 * read and only writers change, had when the outermost section began.  So:
 *
 *   enter   epoch = gp   one store   (only when epoch is 0)
 *   leave   epoch = 0    one store   (only when enter stored)
 *
 * A grace period is: raise gp, have every running thread pass a full barrier (membarrier), then
 * wait for each reader whose epoch is older than the new value.  Because of the barrier, a reader
 * whose store of the epoch the writer does not see yet will load the callbacks only afterwards, and
 * finds the new array.  Every grace period stands for itself: any number may run at once.  The
 * model in tests/libside/rcu.pml is checked with store buffers, nested signal handlers, and stale
 * loads of gp.
 *
 * Nesting needs no counter: an inner section (a callback that emits, a signal handler) finds its
 * epoch set and leaves it alone.  That is also what makes it safe at each instruction: a handler
 * always restores the epoch it found.  And it tells a writer that it is inside a section itself.
 *
 * fork: the child has one thread, whose reader keeps its epoch, so that open sections stay
 * balanced; all the other readers are given up (rcu_after_fork_in_child).
 *
 * Threads: a reader belongs to a thread id.  Nothing runs at thread exit; a reader is reused when
 * its thread is gone, looked at only when all are taken.
 *
 * Without membarrier (old kernel, seccomp) gp carries RCU_FENCE and readers execute a full
 * fence themselves; SIDE_RCU=fence in the environment chooses this on purpose.
 *
 * Thread-local data: one pointer, in whatever model; a library that is loaded late must not need
 * static TLS space.  But a general access is a call.  When the loader has put the pointer at the
 * same distance from every thread's thread pointer (always when the library is loaded with the
 * program, mostly otherwise), rcu_start() finds out, and the hot path loads it with one instruction.
 * Where there is no static TLS space left, a thread's first access allocates memory: then, and only
 * then, the first event of a thread must not be in a signal handler that interrupted malloc().
 */
#ifndef SIDE_LIBSIDE_RCU_H
#define SIDE_LIBSIDE_RCU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "functions.h"
#include "section.h"

/* Low bits of gp; the rest counts grace periods. */
enum {
	RCU_SLOW = SECTION_SLOW, /* rcu_enter() does not do: not running, or fences needed */
	RCU_ALWAYS = 2,          /* so that an epoch is never 0 */
	RCU_READY = 4, /* sections may be entered; not before rcu_start(), nor after rcu_finish() */
	RCU_FENCE = 8, /* no membarrier: readers fence */
	RCU_FLAGS = 15,
	RCU_STEP = 16, /* a grace period */
};

struct rcu_reader {
	uintptr_t epoch;    /* first: section.h */
	uint32_t tid;       /* owner; 0: free */
	uintptr_t identity; /* of an owner that could not ask for its id (rcu_sandbox_begins()) */
	struct rcu_reader *next_free;
} __attribute__((aligned(64)));

/* Epoch of the reader that stands in for the one a thread does not have yet: no value of gp. */
#define RCU_NO_READER ((uintptr_t)RCU_SLOW)

/* Hidden: known to be in this library, so that the fast path needs no detour to find them. */
extern __attribute__((visibility("hidden"))) struct side_tracer_sections rcu_shared;
extern __attribute__((visibility("hidden"))) __thread struct rcu_reader *rcu_self;

#if defined(__x86_64__) && defined(__LP64__)
/* The reader of this thread, or what rcu_enter() takes for one in a section: section_epoch(). */
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

/* Try to enter an outermost section the cheap way; when it says false, rcu_enter_slow() sorts it out. */
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
 * Enter a section in any case that rcu_enter() leaves.  NULL: not now (the library is not running,
 * or memory for a reader is missing).  *outermost tells whether to leave.  Async-signal-safe.
 */
struct rcu_reader *rcu_enter_slow(bool *outermost);

/* Is the calling thread inside a section?  Then it must not wait for readers. */
static inline bool rcu_inside(void)
{
	uintptr_t epoch = __atomic_load_n(&rcu_self->epoch, __ATOMIC_RELAXED);

	return epoch != 0 && epoch != RCU_NO_READER;
}

/* Allow sections; called before the first callback is published.  Idempotent. */
void rcu_start(void);

static inline bool rcu_is_started(void)
{
	/* Relaxed: only checks whether a thread can have entered a section before this call. */
	return __atomic_load_n(&rcu_shared.gp, __ATOMIC_RELAXED) != (RCU_SLOW | RCU_ALWAYS);
}

/*
 * The calling thread is about to forbid itself system calls: threads that emit their first event from
 * here on make none.  rcu_sandbox_failed() takes back the call before, which nobody may have followed.
 */
void rcu_sandbox_begins(void);
void rcu_sandbox_failed(void);

/* No section is entered from here on (those that are open stay). */
void rcu_finish(void);

/* Begin a grace period; what was unpublished before the call is unreachable when it has passed. */
uintptr_t rcu_begin_grace_period(void);

/* Has it passed?  Does not wait. */
bool rcu_has_elapsed(uintptr_t grace_period);

/* Let go of readers that hold it up and whose threads do not exist any more. */
void rcu_give_up_gone(uintptr_t grace_period);

/* A whole grace period.  Not inside a section, and not with a lock held that a callback may want.
 */
void rcu_synchronize(void);

/* The current epoch, to stamp what is unpublished; and the newest grace period that has passed. */
uintptr_t rcu_now(void);
uintptr_t rcu_last_elapsed(void);

void rcu_after_fork_in_child(void);

#endif /* SIDE_LIBSIDE_RCU_H */
