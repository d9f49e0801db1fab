/* SPDX-License-Identifier: MIT */
/* Pseudo-random numbers for tests: the same sequence in each run (xorshift64*). Not thread-safe. */
#ifndef TESTS_RANDOM_H
#define TESTS_RANDOM_H

#include <stdint.h>

static uint64_t draws = 0x9e3779b97f4a7c15;

/* All 64 bits. */
static inline uint64_t draw64(void)
{
	draws ^= draws >> 12;
	draws ^= draws << 25;
	draws ^= draws >> 27;
	return draws * 0x2545f4914f6cdd1d;
}

/* From 0 to @below - 1. */
static inline uint64_t draw(uint64_t below)
{
	return (draw64() >> 11) % below;
}

#endif /* TESTS_RANDOM_H */
