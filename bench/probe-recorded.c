/* SPDX-License-Identifier: MIT */
/* What bench/probe-recorded.py puts probes into: prints the best nanoseconds that a call of a small function takes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 15

static __attribute__((noinline)) uint64_t probe_hit_target(uint64_t a, uint64_t b)
{
	__asm__ volatile("" : "+r"(a));
	return (a ^ 0x12345678) + b * 5;
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static double measure(unsigned int calls)
{
	double best = 1e9;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		uint64_t sum = 0, start = now();
		double each;

		for (unsigned int i = 0; i < calls; i++)
			sum += probe_hit_target(i, sum & 1);
		each = (double)(now() - start) / calls;
		__asm__ volatile("" ::"r"(sum));
		best = each < best ? each : best;
	}
	return best;
}

/* Ten frames above it, for those who look at these. */
static __attribute__((noinline)) double measure_deep(unsigned int depth, unsigned int calls)
{
	double best = depth ? measure_deep(depth - 1, calls) : measure(calls);

	__asm__ volatile("" ::: "memory");
	return best;
}

int main(int argc, char **argv)
{
	printf("%.2f\n", measure_deep(12, argc > 1 ? (unsigned int)atoi(argv[1]) : 1000000));
	return 0;
}
