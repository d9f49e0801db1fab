/* SPDX-License-Identifier: MIT */
/* A program that spends six, three and one tenth of its time in three functions. */
#include <stdint.h>
#include <stdio.h>

#define ROUNDS 200
#define STEPS 100000

uint64_t share_large(uint64_t state);
uint64_t share_medium(uint64_t state);
uint64_t share_small(uint64_t state);

static uint64_t steps(uint64_t state, int count)
{
	for (int i = 0; i < count; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(state));
	}
	return state;
}

__attribute__((noinline)) uint64_t share_large(uint64_t state)
{
	return steps(state, 6 * STEPS);
}

__attribute__((noinline)) uint64_t share_medium(uint64_t state)
{
	return steps(state + 1, 3 * STEPS);
}

__attribute__((noinline)) uint64_t share_small(uint64_t state)
{
	return steps(state + 2, STEPS);
}

int main(void)
{
	uint64_t state = 1;

	for (int i = 0; i < ROUNDS; i++)
		state = share_small(share_medium(share_large(state)));
	printf("%d\n", state != 0);
	return 0;
}
