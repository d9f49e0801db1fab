/* SPDX-License-Identifier: MIT */
/*
 * What decides whether cached bytes of contexts are valid: the blocks of the thread and the
 * generation of the process.
 */
#ifndef SIDE_TRACERS_AGENT_CONTEXT_BLOCK_H
#define SIDE_TRACERS_AGENT_CONTEXT_BLOCK_H

#include <stdint.h>

#define CONTEXT_BLOCK_BYTES 96
/*
 * Sets whose bytes are cached, per thread. Two leave static TLS space for C libraries that the
 * program loads with dlmopen() after the agent.
 */
#define CONTEXT_BLOCKS 2
#define CONTEXT_COMPUTED 8 /* contexts of such a set that are read for each event */

/*
 * In TLS. A signal handler may make it anew between any two instructions: look at stamp twice.
 * Begins as the struct ring_prefix of the ring.
 */
struct context_block {
	uint64_t stamp; /* id of the set | generation; 0: nothing */
	uint64_t size;
	uint8_t bytes[CONTEXT_BLOCK_BYTES + 32]; /* room behind, because copies are of 32 bytes */
	uint8_t splits[CONTEXT_COMPUTED];        /* where contexts belong that are made each time */
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

#endif /* SIDE_TRACERS_AGENT_CONTEXT_BLOCK_H */
