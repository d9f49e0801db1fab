/* SPDX-License-Identifier: MIT */
/*
 * Calculates with values and compares them; private to this module. Operations use the numeric
 * value: no conversion changes a number, and a result that cannot be represented is FILTER_NONE.
 */
#ifndef SIDE_FILTER_COMPUTE_H
#define SIDE_FILTER_COMPUTE_H

#include "filter/program.h"

/* Strings with is_unsigned set are globs. */
static inline bool filter_value_is_glob(const struct filter_value *value)
{
	return value->kind == FILTER_STRING && value->is_unsigned;
}

/* 1, 0, or -1: neither true nor false. */
int filter_truth(const struct filter_value *value);
/* Compare by a comparison's code. Returns 1, 0 or -1. loader provides labels and may be NULL. */
int filter_compare(unsigned int code, const struct filter_value *a, const struct filter_value *b,
		const struct filter_loader *loader);
/* Apply NEGATE, INVERT or NOT to *a. */
void filter_unary(unsigned int code, struct filter_value *a);
/* Apply any other operation; *a becomes the result. */
void filter_binary(unsigned int code, struct filter_value *a, const struct filter_value *b);
/* AND, OR of results of filter_truth(), in three-valued logic. */
int filter_logic(unsigned int code, int a, int b);

static inline void filter_set_none(struct filter_value *ret_value)
{
	ret_value->kind = FILTER_NONE;
}

/* A truth of -1, 0 or 1 as a value. */
static inline void filter_set_truth(struct filter_value *ret_value, int truth)
{
	ret_value->kind = truth < 0 ? FILTER_NONE : FILTER_INT;
	ret_value->is_unsigned = false;
	ret_value->u = truth > 0;
	ret_value->labels = NULL;
}

/* Set a 128-bit integer, as FILTER_INT if it fits. */
void filter_set_wide(struct filter_value *ret_value, uint64_t low, uint64_t high, bool is_unsigned);

#endif /* SIDE_FILTER_COMPUTE_H */
