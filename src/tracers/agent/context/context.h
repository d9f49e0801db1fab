/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CONTEXT_CONTEXT_H
#define SIDE_TRACERS_AGENT_CONTEXT_CONTEXT_H

/*
 * Contexts of an event: the bytes before its payload in the record, and values for filters.
 *
 * Each thread reads a value that only a known call can change from the kernel once, and caches it
 * in thread-local memory:
 *
 *   generation  A number that every function which may change a value raises, in any thread: the
 *   functions that watch.c wraps (the
 *               setuid family, unshare, prctl, ...). It is in a page that the kernel wipes in a
 *               forked child, so a child
 *               without fork handlers (_Fork(), the system call itself) detects the fork, too.
 *   values      The values of the thread, in groups, each with the stamp of its last change
 *   (values.h).
 *   block       The bytes of a whole set, made from the values. One comparison with the generation
 *   shows whether they are
 *               valid; if so, a record costs one short copy.
 *
 * Other values (cpu_id, ip, counters, contexts of the application) are read for each event. The
 * cgroup is checked again after one second.
 *
 * Reading is async-signal-safe, keeps errno, and allocates nothing. A handler that interrupts a
 * thread while it fills a cache does not touch the cache, and reads the values from the kernel. So
 * does a child that shares our memory (vfork). A process in a seccomp sandbox makes no system call:
 * the caches are filled before it enters the sandbox, and stay.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "filter/filter.h"
#include "protocol/context.h"
#include "tracers/agent/context/block.h"

#define CONTEXT_SET_MAX 64 /* contexts of a set */

struct context_set;

/*
 * Build a set in the caller's memory, 8-byte aligned, of context_set_size() bytes. Hold libside's
 * event lock. Negative errno: -E2BIG, too many contexts; -EINVAL, a spec that context_parse() never
 * makes; -ENOSPC, memory_size is too small. A set of no contexts is valid and writes nothing. There
 * is no function to destroy a set: before the caller frees the memory, no thread may use the set
 * any more.
 */
ssize_t context_set_size(const struct context_spec *specs, size_t nr_specs);
int context_set_build(const struct context_spec *specs, size_t nr_specs, void *memory,
		size_t memory_size, struct context_set **ret_set);

/*
 * The value of one context for a filter. False: it has none now. Text is valid until the next event
 * of this thread; text of an application's context, until the callback returns. With the index into
 * a set, no name is searched.
 */
bool context_set_load(const struct context_set *set, size_t index, const void *caller,
		struct filter_value *ret_value);
bool context_load(const struct context_spec *spec, const void *caller,
		struct filter_value *ret_value);

/* ---- the fast path ---- */

struct context_item;

/*
 * Where the walk of a backtrace begins: the frame that called a callback, or the hit of a probe. A
 * callback whose record has a backtrace sets it for the thread while it writes the record.
 */
struct context_origin {
	uint64_t pc, stack, frame;
	bool exact;     /* as in struct unwind_state */
	uint64_t until; /* frames up to this return address are the tracer's; 0: none are */
	const struct context_origin *before; /* of the callback that a signal interrupted */
};

extern __thread const struct context_origin *context_origin
		__attribute__((tls_model("initial-exec"), visibility("hidden")));

/*
 * Writes the addresses of the calls, at most `most`, and returns their number. NULL: this processor
 * has no walk. Async-signal-safe.
 */
typedef uint32_t context_walk_function(
		const struct context_origin *origin, uint64_t *ret_addresses, uint32_t most);
extern context_walk_function *context_walk __attribute__((visibility("hidden")));

struct context_set {
	uint64_t id; /* what a block's stamp must be, less the generation, for the fast path */
	uint64_t block_id; /* the same, for all sets that have a block; 0: this one has none */
	uint32_t block_at; /* bytes from context_blocks to the block */
	uint32_t needs;    /* groups of values, 1 << enum context_group */
	uint16_t nr_items;
	uint8_t nr_computed;
	bool is_light;            /* nothing is made each time but ip, cpu_id and a backtrace */
	uint16_t backtrace_bytes; /* that a backtrace takes at most; 0: there is none */
	struct context_item {
		uint8_t kind;      /* enum context_kind */
		uint8_t software;  /* counters: asked of the kernel */
		uint16_t computed; /* index of the item that is the i-th computed one */
		/* number of the counter, or its software config; most addresses of a backtrace */
		uint32_t counter;
		const void *handle; /* struct side_context_place */
	} items[];
};

uint8_t *context_write_slow(
		const struct context_set *set, uint8_t *to, const uint8_t *end, const void *caller);

static inline const struct context_block *context_block_of(const struct context_set *set)
{
	return (const struct context_block *)(const void *)((const char *)context_blocks +
			set->block_at);
}

/*
 * The stamp of a valid block. Relaxed: a call that raises the generation may affect other threads
 * only after it has returned.
 */
static inline uint64_t context_stamp(const struct context_set *set)
{
	return set->id | __atomic_load_n(&context_process.generation, __ATOMIC_RELAXED);
}

/*
 * Write the contexts of a set if their bytes are cached; otherwise return NULL. `to` has
 * CONTEXT_BLOCK_BYTES, all of which may be overwritten.
 */
static inline uint8_t *context_write_cached(const struct context_set *set, uint8_t *to)
{
	const struct context_block *block = context_block_of(set);
	uint64_t stamp = context_stamp(set);
	size_t size;

	if (__builtin_expect(block->stamp != stamp, 0))
		return NULL;
	/*
	 * Compiler fence, acquire: the stamp before the bytes, which a signal handler may rewrite.
	 */
	atomic_signal_fence(memory_order_acquire);
	size = block->size;
	/* More than is needed, because a copy of a fixed size is a few instructions. */
	memcpy(to, block->bytes, 32);
	if (__builtin_expect(size > 32, 0))
		memcpy(to + 32, block->bytes + 32, CONTEXT_BLOCK_BYTES - 32);
	/* Compiler fence, acquire: the bytes before the stamp is loaded again. */
	atomic_signal_fence(memory_order_acquire);
	return __builtin_expect(block->stamp == stamp, 1) ? to + size : NULL;
}

/* Read the values that have changed now: context_write() is called deeper in the stack. */
void context_renew(const struct context_set *set);

static inline void context_prepare(const struct context_set *set)
{
	/* Relaxed: as in context_stamp(), the bytes belong to this thread. */
	uint64_t stamp = set->block_id |
			__atomic_load_n(&context_process.generation, __ATOMIC_RELAXED);

	if (__builtin_expect(context_block_of(set)->stamp != stamp, 0))
		context_renew(set);
}

/*
 * Write the contexts of the set. Returns the end of the written bytes, or NULL when they do not fit
 * between `to` and `end`; bytes up to `end` may be overwritten in any case. `caller` is the code
 * that emits.
 */
static inline uint8_t *context_write(
		const struct context_set *set, uint8_t *to, const uint8_t *end, const void *caller)
{
	uint8_t *behind = NULL;

	if (__builtin_expect(end - to >= CONTEXT_BLOCK_BYTES, 1))
		behind = context_write_cached(set, to);
	return __builtin_expect(behind != NULL, 1) ? behind
						   : context_write_slow(set, to, end, caller);
}

#endif
