/* SPDX-License-Identifier: MIT */
/* Random event descriptions, which are valid and the same for the same seed. */
#ifndef TESTS_ABI_GENERATE_H
#define TESTS_ABI_GENERATE_H

#include "abi/visit.h"

/* A description is in one block, so that it can be copied, moved and damaged. */
struct generator {
	uint64_t state; /* of the random numbers */
	unsigned char *block;
	size_t used, size;
};

void generator_init(struct generator *generator, uint64_t seed);
void generator_fini(struct generator *generator);

uint64_t generator_next(struct generator *generator);
/* 0 <= result < below */
uint32_t generator_below(struct generator *generator, uint32_t below);

/*
 * Returns a new description; the previous one is overwritten. NULL: it did not fit, use another
 * seed.
 */
struct side_event_description *generate_description(struct generator *generator);

#endif /* TESTS_ABI_GENERATE_H */
