/* SPDX-License-Identifier: MIT */
/*
 * Calculation and comparison of values; private to this room. Everything is by value: there is no
 * conversion that changes a number, and what cannot be represented has no value (FILTER_NONE).
 */
#ifndef SIDE_FILTER_COMPUTE_H
#define SIDE_FILTER_COMPUTE_H

#include "filter/program.h"

/* Strings whose is_unsigned is set are globs. */
static inline bool filter_value_is_glob(const struct filter_value *value)
{
	return value->kind == FILTER_STRING && value->is_unsigned;
}

/* 1, 0, or -1: neither true nor false. */
int filter_truth(const struct filter_value *value);
/* By a comparison's code; 1, 0 or -1. loader is asked for labels and may be NULL. */
int filter_compare(unsigned int code, const struct filter_value *a, const struct filter_value *b,
		const struct filter_loader *loader);
/* NEGATE, INVERT, NOT. */
void filter_unary(unsigned int code, struct filter_value *a);
/* The others; the result takes the place of a. */
void filter_binary(unsigned int code, struct filter_value *a, const struct filter_value *b);
/* AND, OR of what filter_truth() says: three values. */
int filter_logic(unsigned int code, int a, int b);

static inline void filter_set_none(struct filter_value *value)
{
	value->kind = FILTER_NONE;
}

/* A truth of -1, 0 or 1 as a value. */
static inline void filter_set_truth(struct filter_value *value, int truth)
{
	value->kind = truth < 0 ? FILTER_NONE : FILTER_INT;
	value->is_unsigned = false;
	value->u = truth > 0;
	value->labels = NULL;
}

/* 128 bits, as FILTER_INT if they fit. */
void filter_set_wide(struct filter_value *value, uint64_t low, uint64_t high, bool is_unsigned);

#endif /* SIDE_FILTER_COMPUTE_H */
