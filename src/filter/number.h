/* SPDX-License-Identifier: MIT */
/*
 * Calculates with floats as the bits of a double; private to this module. Uses integer registers,
 * because filters run where vector registers may contain values of the program.
 */
#ifndef SIDE_FILTER_NUMBER_H
#define SIDE_FILTER_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

enum filter_order {
	FILTER_ORDER_LESS,
	FILTER_ORDER_EQUAL,
	FILTER_ORDER_GREATER,
	FILTER_ORDER_UNORDERED, /* one is not a number */
};

/* Exact, except for binary128, which is rounded to nearest, ties to even. */
uint64_t filter_double_from_16(uint16_t bits);
uint64_t filter_double_from_32(uint32_t bits);
uint64_t filter_double_from_128(uint64_t low, uint64_t high);
/* Rounded to nearest, ties to even. */
uint64_t filter_double_from_integer(bool negative, uint64_t magnitude);

static inline bool filter_double_is_zero(uint64_t bits)
{
	return !(bits << 1);
}

/* Compare two doubles; both zeros are equal. */
enum filter_order filter_double_order(uint64_t a, uint64_t b);
/* Compare an integer of 128 bits in two's complement (negative: its top bit is a sign) with a
   double. */
enum filter_order filter_integer_double_order(
		bool negative, uint64_t low, uint64_t high, uint64_t b);

/* code: FILTER_CODE_ADD to FILTER_CODE_DIVIDE. Does not trap and raises no flags. */
uint64_t filter_double_calculate(unsigned int code, uint64_t a, uint64_t b);

#endif /* SIDE_FILTER_NUMBER_H */
