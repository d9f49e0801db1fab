/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PROBE_CALL_H
#define BENCH_PROBE_CALL_H

/*
 * The function that benchmarks probe, and the time that a call of it takes. The best of many short
 * rounds counts: some rounds that are shorter than a scheduler time slice run undisturbed, even on
 * a busy machine.
 */

#include <stdint.h>
#include <time.h>

#define PROBE_CALL_ROUNDS 2000

__attribute__((noinline)) static uint64_t probe_hit_target(uint64_t a, uint64_t b)
{
	__asm__ volatile("" : "+r"(a));
	return (a ^ 0x12345678) + b * 5;
}

static inline uint64_t probe_call_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/*
 * The same function with a no-op of five bytes at its entry, which is the cheapest case for every
 * tracer.
 */
uint64_t probe_hit_nop(uint64_t a, uint64_t b);
__asm__(".pushsection .text\n"
	".type probe_hit_nop, @function\n"
	"probe_hit_nop:\n"
	"	.byte 0x0f, 0x1f, 0x44, 0, 0\n"
	"	mov %rdi, %rax\n"
	"	xor $0x12345678, %rax\n"
	"	lea (%rsi,%rsi,4), %rdx\n"
	"	add %rdx, %rax\n"
	"	ret\n"
	".size probe_hit_nop, . - probe_hit_nop\n"
	".popsection\n");

typedef uint64_t probe_call_target(uint64_t a, uint64_t b);

/* Returns nanoseconds per call, the best of `rounds` rounds. */
static inline double probe_call_measure(
		probe_call_target *target, unsigned int rounds, unsigned int calls)
{
	double best = 1e9;

	for (unsigned int round = 0; round < rounds; round++) {
		uint64_t sum = 0, start = probe_call_now();
		double each;

		for (unsigned int i = 0; i < calls; i++)
			sum += target(i, sum & 1);
		each = (double)(probe_call_now() - start) / calls;
		__asm__ volatile("" ::"r"(sum));
		best = each < best ? each : best;
	}
	return best;
}

#endif /* BENCH_PROBE_CALL_H */
