/* SPDX-License-Identifier: MIT */
/*
 * The target of bench/probe-recorded.py: prints the best time, in nanoseconds, of a call of a small
 * function.
 *
 *	bench-probe-recorded [ROUNDS [CALLS [nop]]]
 */
#include "probe-call.h"

#include <stdio.h>
#include <stdlib.h>

/* The targets of pointer fields: a text of 16 bytes, and a number behind two pointers. */
extern const char *const probe_recorded_text;
extern const uint64_t *const probe_recorded_number, *const *const probe_recorded_chain;
static const uint64_t the_number = 4711;
const char *const probe_recorded_text = "fifteen letters";
const uint64_t *const probe_recorded_number = &the_number;
const uint64_t *const *const probe_recorded_chain = &probe_recorded_number;

/* Has ten frames above it, for probes that record call stacks. */
static __attribute__((noinline)) double measure_deep(unsigned int depth, probe_call_target *target,
		unsigned int rounds, unsigned int calls)
{
	double best = depth ? measure_deep(depth - 1, target, rounds, calls)
			    : probe_call_measure(target, rounds, calls);

	__asm__ volatile("" ::: "memory");
	return best;
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? (unsigned int)atoi(argv[1]) : PROBE_CALL_ROUNDS;
	unsigned int calls = argc > 2 ? (unsigned int)atoi(argv[2]) : 1000;

	printf("%.2f\n",
			measure_deep(12, argc > 3 ? probe_hit_nop : probe_hit_target, rounds,
					calls));
	return 0;
}
