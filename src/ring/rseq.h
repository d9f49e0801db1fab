/* SPDX-License-Identifier: MIT */
/*
 * Which area of restartable sequences (struct rseq) the kernel uses for this thread.
 *
 * Private to the room. Used by C and by the assembly.
 */
#ifndef SIDE_RING_RSEQ_H
#define SIDE_RING_RSEQ_H

/* Offset into struct ring_thread that the assembly uses; checked in rseq.c. */
#define RING_THREAD_AWAY 32

#ifndef __ASSEMBLER__

#include <stdbool.h>
#include <stdint.h>

/*
 * The state of each thread. The first 32 bytes are an area in the kernel's format. It is registered only while a thread without any area
 * publishes a record; cpu_id is negative at all other times.
 */
struct ring_thread {
	uint32_t cpu_id_start;
	int32_t cpu_id;
	uint64_t rseq_cs;
	uint32_t reserved[4];
	uint64_t away; /* From here to the C library's area if the kernel is known to use that one, else 0. */
} __attribute__((aligned(32)));

extern __thread struct ring_thread ring_thread
		__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The C library has an area in each thread. */
bool ring_rseq_usable(void);

/* Once, by a thread that maps rings: what this kernel and this C library do. */
void ring_rseq_prepare(void);

/* The number that the kernel keeps up to date for this thread: its CPU, or a negative number. */
static inline int32_t ring_rseq_cpu(void)
{
	const char *area = (const char *)&ring_thread + ring_thread.away;

	return __atomic_load_n(
			(const int32_t *)(const void *)(area + sizeof(uint32_t)), __ATOMIC_RELAXED);
}

/*
 * For a thread of which ring_rseq_cpu() is negative: true if sections are restartable in it from now on. If *loan, the
 * caller ends that with ring_rseq_return().
 */
bool ring_rseq_obtain(bool *loan);
void ring_rseq_return(void);

#endif /* __ASSEMBLER__ */
#endif /* SIDE_RING_RSEQ_H */
