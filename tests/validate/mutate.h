/* SPDX-License-Identifier: MIT */
/* Valid arguments for a random description, and the same with one location changed. */
#ifndef TESTS_VALIDATE_MUTATE_H
#define TESTS_VALIDATE_MUTATE_H

#include <setjmp.h>

#include "../abi/generate.h"

#define MUTATE_PATH_MAX 1024

struct mutate {
	uint64_t state; /* of the random numbers */
	unsigned char *block;
	size_t size, used;
	uint32_t points;                /* number of locations that could be changed, so far */
	uint32_t target;                /* the location to change */
	bool has_no_end;                /* the error is deeper than the path */
	char expected[MUTATE_PATH_MAX]; /* path of the changed location */
	const char *what;
	jmp_buf full;
};

/* Replaces random lengths, offsets and names by values for which arguments can be made. */
bool mutate_tame(struct side_event_description *desc, const char *event);

/*
 * Makes arguments for the description; if location number target exists, that location is changed.
 * Returns the number of locations, or UINT32_MAX if the arguments do not fit in the block.
 */
uint32_t mutate_arguments(struct mutate *mutate, const struct side_event_description *desc,
		uint64_t seed, uint32_t target, const struct side_arg_vec **args,
		const struct side_arg_dynamic_struct **variadic);

void mutate_init(struct mutate *mutate);

#endif /* TESTS_VALIDATE_MUTATE_H */
