/* SPDX-License-Identifier: MIT */
/* Arguments that fit a random description, and the same with one place changed. */
#ifndef TESTS_VALIDATE_MUTATE_H
#define TESTS_VALIDATE_MUTATE_H

#include <setjmp.h>

#include "../abi/generate.h"

#define MUTATE_PATH_MAX 1024

struct mutate {
	uint64_t state; /* of the random numbers */
	unsigned char *block;
	size_t size, used;
	uint32_t points;                /* places that could be changed, so far */
	uint32_t target;                /* the one that is */
	bool has_no_end;                /* what is wrong is further in than the path says */
	char expected[MUTATE_PATH_MAX]; /* the path of the one that was changed */
	const char *what;
	jmp_buf full;
};

/* What is random beyond reason (lengths, offsets, names) becomes what arguments can be made for. */
bool mutate_tame(struct side_event_description *desc, const char *event);

/*
 * Arguments for the description; when the place number target is there, with that place changed. Returns
 * the places there are, or UINT32_MAX: they do not fit in the block.
 */
uint32_t mutate_arguments(struct mutate *mutate, const struct side_event_description *desc,
		uint64_t seed, uint32_t target, const struct side_arg_vec **args,
		const struct side_arg_dynamic_struct **variadic);

void mutate_init(struct mutate *mutate);

#endif /* TESTS_VALIDATE_MUTATE_H */
