/* SPDX-License-Identifier: MIT */
/* Converts and compares floats by their bits, and calculates with them. */
#include "filter/number.h"
#include "filter/program.h"

#define DOUBLE_SIGN ((uint64_t)1 << 63)
#define DOUBLE_MANTISSA (((uint64_t)1 << 52) - 1)
#define DOUBLE_INFINITY ((uint64_t)0x7ff << 52)

static bool filter_number_is_nan(uint64_t bits)
{
	return (bits & ~DOUBLE_SIGN) > DOUBLE_INFINITY;
}

/* ---- conversion ---- */

/*
 * Rounds significand * 2^(exponent - 63) to nearest, ties to even. The top bit of significand is
 * set; sticky: lower bits that were cut off are not zero.
 */
static uint64_t filter_number_round(bool negative, int exponent, uint64_t significand, bool sticky)
{
	uint64_t sign = negative ? DOUBLE_SIGN : 0, mantissa, remainder;
	unsigned int shift = 11;

	if (exponent > 1023)
		return sign | DOUBLE_INFINITY;
	if (exponent < -1022) {
		/* Subnormal: fewer bits remain. */
		if (exponent < -1022 - 53)
			return sign;
		shift += (unsigned int)(-1022 - exponent);
	}
	if (shift > 63) {
		mantissa = 0;
		sticky |= shift > 64 || significand != DOUBLE_SIGN;
		remainder = shift == 64 ? DOUBLE_SIGN : DOUBLE_SIGN >> 1;
	} else {
		mantissa = significand >> shift;
		remainder = significand << (64 - shift);
	}
	if (remainder > DOUBLE_SIGN || (remainder == DOUBLE_SIGN && (sticky || (mantissa & 1))))
		mantissa++;
	if (exponent < -1022)
		return sign | mantissa; /* right also if rounded up to a normal number */
	/* The hidden bit of the mantissa is added to the exponent, as is its carry. */
	return sign | (((uint64_t)(exponent + 1022) << 52) + mantissa);
}

uint64_t filter_double_from_integer(bool negative, uint64_t magnitude)
{
	int zeros;

	if (!magnitude)
		return 0;
	zeros = __builtin_clzll(magnitude);
	return filter_number_round(negative, 63 - zeros, magnitude << zeros, false);
}

/*
 * Converts a number of a smaller format to the bits of a double. The format has `bits` mantissa
 * bits, the exponent bias `bias`, and the exponent `top` for infinity and NaN.
 */
static uint64_t filter_number_widen(uint64_t sign, unsigned int exponent, uint64_t mantissa,
		unsigned int bits, int bias, unsigned int top)
{
	int zeros;

	if (exponent == top)
		return sign << 63 | DOUBLE_INFINITY | mantissa << (52 - bits);
	if (exponent)
		return sign << 63 | (uint64_t)((int)exponent - bias + 1023) << 52 |
				mantissa << (52 - bits);
	if (!mantissa)
		return sign << 63;
	/* Subnormal in the smaller format, normal as a double. */
	zeros = __builtin_clzll(mantissa) - (63 - (int)bits);
	mantissa = mantissa << zeros & (((uint64_t)1 << bits) - 1);
	return sign << 63 | (uint64_t)(1 - zeros - bias + 1023) << 52 | mantissa << (52 - bits);
}

uint64_t filter_double_from_16(uint16_t bits)
{
	return filter_number_widen(bits >> 15, bits >> 10 & 0x1f, bits & 0x3ff, 10, 15, 0x1f);
}

uint64_t filter_double_from_32(uint32_t bits)
{
	return filter_number_widen(bits >> 31, bits >> 23 & 0xff, bits & 0x7fffff, 23, 127, 0xff);
}

uint64_t filter_double_from_128(uint64_t low, uint64_t high)
{
	bool negative = high >> 63;
	int exponent = (int)(high >> 48 & 0x7fff);
	uint64_t significand;

	high &= ((uint64_t)1 << 48) - 1;
	if (exponent == 0x7fff)
		return (negative ? DOUBLE_SIGN : 0) | DOUBLE_INFINITY |
				(high || low ? (uint64_t)1 << 51 : 0);
	if (!exponent) /* far below the smallest double */
		return negative ? DOUBLE_SIGN : 0;
	significand = DOUBLE_SIGN | high << 15 | low >> 49;
	return filter_number_round(negative, exponent - 16383, significand, low << 15);
}

/* ---- comparison ---- */

static enum filter_order filter_number_compare_unsigned(uint64_t a, uint64_t b)
{
	return a < b ? FILTER_ORDER_LESS : a > b ? FILTER_ORDER_GREATER : FILTER_ORDER_EQUAL;
}

/* Maps bits to an order-preserving integer; both zeros map to the same. */
static uint64_t filter_number_to_ordered(uint64_t bits)
{
	return bits & DOUBLE_SIGN ? ~bits + 1 : bits | DOUBLE_SIGN;
}

enum filter_order filter_double_order(uint64_t a, uint64_t b)
{
	if (filter_number_is_nan(a) || filter_number_is_nan(b))
		return FILTER_ORDER_UNORDERED;
	return filter_number_compare_unsigned(
			filter_number_to_ordered(a), filter_number_to_ordered(b));
}

static enum filter_order filter_number_reverse_if(bool negative, enum filter_order order)
{
	if (!negative || order == FILTER_ORDER_EQUAL)
		return order;
	return order == FILTER_ORDER_LESS ? FILTER_ORDER_GREATER : FILTER_ORDER_LESS;
}

/* Compares high:low with the magnitude of a number that is neither NaN nor zero. */
static enum filter_order filter_number_magnitude_order(uint64_t low, uint64_t high, uint64_t b)
{
	int exponent = (int)(b >> 52 & 0x7ff) - 1023;
	uint64_t mantissa = (b & DOUBLE_MANTISSA) | (uint64_t)1 << 52, whole_low, whole_high = 0;
	bool fraction = false;

	if (exponent >= 128)
		return FILTER_ORDER_LESS;
	if (exponent < 0)
		return low || high ? FILTER_ORDER_GREATER : FILTER_ORDER_LESS;
	if (exponent < 52) {
		whole_low = mantissa >> (52 - exponent);
		fraction = mantissa << (12 + exponent);
	} else if (exponent < 116) {
		whole_low = mantissa << (exponent - 52);
		if (exponent > 63)
			whole_high = mantissa >> (116 - exponent);
	} else {
		whole_low = 0;
		whole_high = mantissa << (exponent - 116);
	}
	if (high != whole_high)
		return filter_number_compare_unsigned(high, whole_high);
	if (low != whole_low)
		return filter_number_compare_unsigned(low, whole_low);
	return fraction ? FILTER_ORDER_LESS : FILTER_ORDER_EQUAL;
}

enum filter_order filter_integer_double_order(
		bool negative, uint64_t low, uint64_t high, uint64_t b)
{
	if (filter_number_is_nan(b))
		return FILTER_ORDER_UNORDERED;
	if (filter_double_is_zero(b)) {
		if (negative)
			return FILTER_ORDER_LESS;
		return low || high ? FILTER_ORDER_GREATER : FILTER_ORDER_EQUAL;
	}
	if (negative != (b >> 63))
		return negative ? FILTER_ORDER_LESS : FILTER_ORDER_GREATER;
	if (negative) {
		low = ~low + 1;
		high = ~high + !low;
	}
	return filter_number_reverse_if(negative, filter_number_magnitude_order(low, high, b));
}

/* ---- calculation ---- */

#if defined(__x86_64__)
/*
 * Execute one instruction of the processor and save the registers that it uses, so that the
 * program's values in them, its rounding mode, its unmasked exceptions (a filter must not raise
 * SIGFPE) and its exception flags do not change. Legacy SSE does not change the upper halves.
 */
#define CALCULATE(instruction)                                                           \
	__asm__ volatile("stmxcsr %[control]\n\tldmxcsr %[plain]\n\t"                    \
			 "movups %%xmm0, %[keep0]\n\tmovups %%xmm1, %[keep1]\n\t"        \
			 "movq %[left], %%xmm0\n\tmovq %[right], %%xmm1\n\t" instruction \
			 " %%xmm1, %%xmm0\n\tmovq %%xmm0, %[result]\n\t"                 \
			 "movups %[keep0], %%xmm0\n\tmovups %[keep1], %%xmm1\n\t"        \
			 "ldmxcsr %[control]"                                            \
			 : [result] "=&r"(result), [control] "=&m"(control),             \
			 [keep0] "=&m"(keep[0]), [keep1] "=&m"(keep[1])                  \
			 : [left] "r"(a), [right] "r"(b), [plain] "m"(plain))

uint64_t filter_double_calculate(unsigned int code, uint64_t a, uint64_t b)
{
	static const uint32_t plain = 0x1f80;
	struct {
		uint64_t halves[2];
	} keep[2];
	uint64_t result;
	uint32_t control;

	switch (code) {
	case FILTER_CODE_ADD: CALCULATE("addsd"); break;
	case FILTER_CODE_SUBTRACT: CALCULATE("subsd"); break;
	case FILTER_CODE_MULTIPLY: CALCULATE("mulsd"); break;
	default: CALCULATE("divsd"); break;
	}
	return result;
}
#else
uint64_t filter_double_calculate(unsigned int code, uint64_t a, uint64_t b)
{
	union {
		uint64_t bits;
		double number;
	} left = {.bits = a}, right = {.bits = b};

	switch (code) {
	case FILTER_CODE_ADD: left.number += right.number; break;
	case FILTER_CODE_SUBTRACT: left.number -= right.number; break;
	case FILTER_CODE_MULTIPLY: left.number *= right.number; break;
	default: left.number /= right.number; break;
	}
	return left.bits;
}
#endif
