/* SPDX-License-Identifier: MIT */
/*
 * The area of restartable sequences (struct rseq) that the kernel uses for this thread.
 *
 * Private to this module. Used by C and by the assembly.
 */
#ifndef SIDE_RING_RSEQ_H
#define SIDE_RING_RSEQ_H

/* Offset into struct ring_thread that the assembly uses; checked in rseq.c. */
#define RING_THREAD_AWAY 32

#ifndef __ASSEMBLER__

#include <stdbool.h>
#include <stdint.h>

/*
 * The state of each thread. The first 32 bytes are an area in the kernel's format. It is registered
 * only while a thread without any area publishes a record; cpu_id is negative at all other times.
 */
struct ring_thread {
	uint32_t cpu_id_start;
	int32_t cpu_id;
	uint64_t rseq_cs;
	uint32_t reserved[4];
	/*
	 * Offset from here to the C library's area if the kernel is known to use that one, else 0.
	 */
	uint64_t away;
} __attribute__((aligned(32)));

extern __thread struct ring_thread ring_thread
		__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Whether the C library has an area in each thread. */
bool ring_rseq_usable(void);

/* Find out how this kernel and C library register areas. Called by a thread that maps rings. */
void ring_rseq_prepare(void);

/* The number that the kernel updates for this thread: its CPU, or a negative number. */
static inline int32_t ring_rseq_cpu(void)
{
	const char *area = (const char *)&ring_thread + ring_thread.away;

	return __atomic_load_n(
			(const int32_t *)(const void *)(area + sizeof(uint32_t)), __ATOMIC_RELAXED);
}

/*
 * Make the sections of this thread restartable, if ring_rseq_cpu() is negative. True on success;
 * then, if *ret_loan, the caller ends that with ring_rseq_return().
 */
bool ring_rseq_obtain(bool *ret_loan);
void ring_rseq_return(void);

#endif /* __ASSEMBLER__ */
#endif /* SIDE_RING_RSEQ_H */
