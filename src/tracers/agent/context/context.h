/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CONTEXT_CONTEXT_H
#define SIDE_TRACERS_AGENT_CONTEXT_CONTEXT_H

/*
 * Contexts of an event: the bytes that stand before its payload, and values for filters.
 *
 * What cannot change by itself is asked of the kernel once a thread and kept in thread-local
 * memory:
 *
 *   generation  A number that everything raises that may change a value: the functions that
 *               context-watch.c wraps (the setuid family, unshare, prctl, ...), in any thread. It
 *               stands in a page that the kernel wipes in a forked child, so that a child without
 *               fork handlers (_Fork(), the bare system call) notices too.
 *   values      The thread's, in groups, each with the stamp of its last change (context-values.h).
 *   block       The bytes of a whole set, made from the values; one comparison with the generation
 *               says whether they are still right, and then a record costs one short copy.
 *
 * What changes by itself (cpu_id, ip, counters, the application's) is made each time; the cgroup is
 * looked at again when a second has passed.
 *
 * Reading is async-signal-safe, keeps errno, and allocates nothing; a handler that interrupts the
 * filling of a cache leaves it alone and asks the kernel itself. So does a child that shares our
 * memory (vfork). In a process that has put itself into a seccomp sandbox nothing is asked any
 * more: the caches are filled just before, and stay.
 *
 * A sub-header of its own: the recorder and its tests need it, the rest of the room does not.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "filter/filter.h"
#include "protocol/context.h"

#define CONTEXT_SET_MAX 64 /* contexts of a set */

struct context_set;

/*
 * Build a set in the caller's memory, 8-byte aligned, of context_set_size() bytes. No two threads
 * at once (libside's event lock sees to that). Negative errno: -E2BIG, too many; -EINVAL, no spec
 * that context_parse() makes; -ENOSPC, memory_size is too small. A set of no contexts is allowed and
 * writes nothing. It needs no end; whoever frees the memory knows that nobody uses it.
 */
ssize_t context_set_size(const struct context_spec *specs, size_t nr_specs);
int context_set_build(const struct context_spec *specs, size_t nr_specs, void *memory,
		size_t memory_size, struct context_set **set);

/*
 * The value of one context for a filter. False: it has none now. Text lives until the next event of
 * this thread, an application's until the callback returns. With the index into a set no name is
 * looked up.
 */
bool context_set_load(const struct context_set *set, size_t index, const void *caller,
		struct filter_value *value);
bool context_load(const struct context_spec *spec, const void *caller, struct filter_value *value);

/* ---- the fast path ---- */

#define CONTEXT_BLOCK_BYTES 96
#define CONTEXT_BLOCKS 4   /* sets whose bytes are kept ready, a thread */
#define CONTEXT_COMPUTED 8 /* contexts of such a set that are made each time */

/*
 * In TLS. A signal handler may make it anew between any two instructions: look at stamp twice. Begins as the
 * struct ring_prefix of the ring.
 */
struct context_block {
	uint64_t stamp; /* id of the set | generation; 0: nothing */
	uint64_t size;
	uint8_t bytes[CONTEXT_BLOCK_BYTES + 32]; /* room behind, because copies are of 32 bytes */
	uint8_t splits[CONTEXT_COMPUTED];        /* where contexts belong that are made each time */
};

struct context_item;

struct context_set {
	uint64_t id; /* what a block's stamp must be, less the generation, for the fast path */
	uint64_t block_id; /* the same, for all sets that have a block; 0: this one has none */
	uint32_t block_at; /* bytes from context_blocks to the block */
	uint32_t needs;    /* groups of values, 1 << enum context_group */
	uint16_t nr_items;
	uint8_t nr_computed;
	bool is_light; /* nothing is made each time but ip and cpu_id */
	struct context_item {
		uint8_t kind;       /* enum context_kind */
		uint8_t software;   /* counters: asked of the kernel */
		uint16_t computed;  /* index of the item that is the i-th computed one */
		uint32_t counter;   /* number of the counter, or its software config */
		const void *handle; /* struct side_context_place */
	} items[];
};

extern __thread struct context_block context_blocks[CONTEXT_BLOCKS]
		__attribute__((tls_model("initial-exec"), visibility("hidden")));

#define CONTEXT_GROUPS_MAX 16

/* Of any machine that we know; what is wiped in a forked child must have its pages for itself. */
#if defined(__x86_64__) || defined(__i386__)
#define CONTEXT_PAGE_MAX 4096
#else
#define CONTEXT_PAGE_MAX 65536
#endif

/* Wiped in a forked child. */
union context_process {
	struct {
		/* 0: no set was ever built, or a forked child has not looked yet. */
		uint32_t generation;
		int32_t pid;
		/* Of each group of values, renewed when it changes. */
		uint32_t stamps[CONTEXT_GROUPS_MAX];
	};
	char pages[CONTEXT_PAGE_MAX];
} __attribute__((aligned(CONTEXT_PAGE_MAX)));

extern union context_process context_process __attribute__((visibility("hidden")));

uint8_t *context_write_slow(
		const struct context_set *set, uint8_t *to, const uint8_t *end, const void *caller);

static inline const struct context_block *context_block_of(const struct context_set *set)
{
	return (const struct context_block *)(const void *)((const char *)context_blocks +
			set->block_at);
}

/*
 * What the block's stamp must be now. Relaxed: whoever raises the generation promises other threads
 * nothing before its call has returned.
 */
static inline uint64_t context_stamp(const struct context_set *set)
{
	return set->id | __atomic_load_n(&context_process.generation, __ATOMIC_RELAXED);
}

/*
 * Write the contexts of a set if their bytes are at hand; NULL if not. There is room for
 * CONTEXT_BLOCK_BYTES, all of which may be overwritten.
 */
static inline uint8_t *context_write_cached(const struct context_set *set, uint8_t *to)
{
	const struct context_block *block = context_block_of(set);
	uint64_t stamp = context_stamp(set);
	size_t size;

	if (__builtin_expect(block->stamp != stamp, 0))
		return NULL;
	/* Compiler fence, acquire: the stamp before the bytes, which a signal handler may rewrite. */
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
 * Write the contexts of the set. Returns the byte behind, or NULL when there is no room between
 * `to` and `end`; bytes up to `end` may be overwritten in any case. `caller` is the code that emits.
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
