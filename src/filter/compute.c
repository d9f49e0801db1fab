/* SPDX-License-Identifier: MIT */
/*
 * Calculates with values and compares them.
 *
 * Integers are numbers, not bit patterns: comparisons use their numeric values, independent of
 * their types. Results that do not fit a signed or an unsigned 64-bit integer have no value. Bit
 * operations use two's complement with unlimited sign bits.
 */
#include "filter/compute.h"
#include "filter/number.h"
#include "filter/text.h"

/* ---- integers ---- */

/* 129 bits: high:low, and all the sign bits above. */
struct bits {
	uint64_t low, high;
	bool negative;
};

/* Converts FILTER_INT and FILTER_WIDE. */
static inline struct bits filter_compute_to_bits(const struct filter_value *value)
{
	struct bits bits = {.low = value->u};

	if (value->kind == FILTER_WIDE) {
		bits.high = value->high;
		bits.negative = !value->is_unsigned && value->high >> 63;
	} else {
		bits.negative = !value->is_unsigned && value->s < 0;
		bits.high = bits.negative ? ~(uint64_t)0 : 0;
	}
	return bits;
}

static void filter_compute_set_bits(struct filter_value *ret_value, const struct bits *bits)
{
	ret_value->labels = NULL;
	ret_value->kind = FILTER_INT;
	ret_value->u = bits->low;
	if (!bits->negative && !bits->high) {
		ret_value->is_unsigned = bits->low >> 63;
	} else if (bits->negative && !~bits->high && bits->low >> 63) {
		ret_value->is_unsigned = false;
	} else if (!bits->negative || bits->high >> 63) {
		ret_value->kind = FILTER_WIDE;
		ret_value->is_unsigned = !bits->negative;
		ret_value->high = bits->high;
	} else {
		ret_value->kind = FILTER_NONE;
	}
}

void filter_set_wide(struct filter_value *ret_value, uint64_t low, uint64_t high, bool is_unsigned)
{
	struct bits bits = {.low = low, .high = high, .negative = !is_unsigned && high >> 63};

	filter_compute_set_bits(ret_value, &bits);
}

/* Sign and magnitude, for calculation. */
struct number {
	uint64_t magnitude;
	bool negative;
};

static inline struct number filter_compute_to_number(const struct filter_value *value)
{
	struct number number = {.magnitude = value->u};

	if (!value->is_unsigned && value->s < 0) {
		number.negative = true;
		number.magnitude = ~number.magnitude + 1;
	}
	return number;
}

static void filter_compute_set_number(
		struct filter_value *ret_value, bool negative, uint64_t magnitude)
{
	ret_value->labels = NULL;
	ret_value->kind = FILTER_INT;
	if (negative && magnitude) {
		ret_value->is_unsigned = false;
		ret_value->u = ~magnitude + 1;
		if (magnitude > (uint64_t)1 << 63)
			ret_value->kind = FILTER_NONE;
	} else {
		ret_value->is_unsigned = magnitude >> 63;
		ret_value->u = magnitude;
	}
}

static void filter_compute_add(struct filter_value *ret_sum, struct number a, struct number b)
{
	uint64_t sum;

	if (a.negative == b.negative) {
		if (__builtin_add_overflow(a.magnitude, b.magnitude, &sum))
			filter_set_none(ret_sum);
		else
			filter_compute_set_number(ret_sum, a.negative, sum);
	} else if (a.magnitude >= b.magnitude) {
		filter_compute_set_number(ret_sum, a.negative, a.magnitude - b.magnitude);
	} else {
		filter_compute_set_number(ret_sum, b.negative, b.magnitude - a.magnitude);
	}
}

static void calculate_integers(
		unsigned int code, struct filter_value *a, const struct filter_value *b)
{
	struct number left = filter_compute_to_number(a), right = filter_compute_to_number(b);
	bool negative = left.negative != right.negative;
	uint64_t product;

	switch (code) {
	case FILTER_CODE_SUBTRACT:
		right.negative = !right.negative;
		filter_compute_add(a, left, right);
		break;
	case FILTER_CODE_ADD: filter_compute_add(a, left, right); break;
	case FILTER_CODE_MULTIPLY:
		if (__builtin_mul_overflow(left.magnitude, right.magnitude, &product))
			filter_set_none(a);
		else
			filter_compute_set_number(a, negative, product);
		break;
	case FILTER_CODE_DIVIDE:
		if (!right.magnitude)
			filter_set_none(a);
		else
			filter_compute_set_number(a, negative, left.magnitude / right.magnitude);
		break;
	default: /* FILTER_CODE_REMAINDER */
		if (!right.magnitude)
			filter_set_none(a);
		else
			filter_compute_set_number(
					a, left.negative, left.magnitude % right.magnitude);
		break;
	}
}

static void shift_left(struct filter_value *a, const struct filter_value *b)
{
	struct number number = filter_compute_to_number(a);

	if (!b->is_unsigned && b->s < 0)
		filter_set_none(a);
	else if (!number.magnitude)
		filter_compute_set_number(a, false, 0);
	else if (b->u > 63 || number.magnitude << b->u >> b->u != number.magnitude)
		filter_set_none(a);
	else
		filter_compute_set_number(a, number.negative, number.magnitude << b->u);
}

static void shift_right(struct filter_value *a, const struct filter_value *b)
{
	struct bits bits = filter_compute_to_bits(a);
	uint64_t sign = bits.negative ? ~(uint64_t)0 : 0, by = b->u;

	if (!b->is_unsigned && b->s < 0) {
		filter_set_none(a);
		return;
	}
	if (by >= 128) {
		bits.low = sign;
		bits.high = sign;
	} else if (by >= 64) {
		bits.low = by == 64 ? bits.high : bits.high >> (by - 64) | sign << (128 - by);
		bits.high = sign;
	} else if (by) {
		bits.low = bits.low >> by | bits.high << (64 - by);
		bits.high = bits.high >> by | sign << (64 - by);
	}
	filter_compute_set_bits(a, &bits);
}

static void combine_bits(unsigned int code, struct filter_value *a, const struct filter_value *b)
{
	struct bits x = filter_compute_to_bits(a), y = filter_compute_to_bits(b);

	switch (code) {
	case FILTER_CODE_BIT_AND:
		x.low &= y.low;
		x.high &= y.high;
		x.negative &= y.negative;
		break;
	case FILTER_CODE_BIT_OR:
		x.low |= y.low;
		x.high |= y.high;
		x.negative |= y.negative;
		break;
	default: /* FILTER_CODE_BIT_XOR */
		x.low ^= y.low;
		x.high ^= y.high;
		x.negative ^= y.negative;
		break;
	}
	filter_compute_set_bits(a, &x);
}

/* ---- numbers of either kind ---- */

static bool is_integer(const struct filter_value *value)
{
	return value->kind == FILTER_INT || value->kind == FILTER_WIDE;
}

/* Set the bits of the double that is nearest to a number; false: the value is no number. */
static bool double_of(const struct filter_value *value, uint64_t *ret_bits)
{
	struct number number;

	if (value->kind == FILTER_DOUBLE) {
		*ret_bits = value->u;
		return true;
	}
	if (value->kind != FILTER_INT)
		return false;
	number = filter_compute_to_number(value);
	*ret_bits = filter_double_from_integer(number.negative, number.magnitude);
	return true;
}

static void calculate_doubles(
		unsigned int code, struct filter_value *a, const struct filter_value *b)
{
	uint64_t left, right;

	if (code == FILTER_CODE_REMAINDER || !double_of(a, &left) || !double_of(b, &right) ||
			(code == FILTER_CODE_DIVIDE && filter_double_is_zero(right))) {
		filter_set_none(a);
		return;
	}
	a->kind = FILTER_DOUBLE;
	a->labels = NULL;
	a->u = filter_double_calculate(code, left, right);
}

void filter_unary(unsigned int code, struct filter_value *a)
{
	struct bits bits;
	struct number number;
	int truth;

	if (code == FILTER_CODE_NOT) {
		truth = filter_truth(a);
		filter_set_truth(a, truth < 0 ? -1 : !truth);
	} else if (code == FILTER_CODE_INVERT && is_integer(a)) {
		bits = filter_compute_to_bits(a);
		bits.low = ~bits.low;
		bits.high = ~bits.high;
		bits.negative = !bits.negative;
		filter_compute_set_bits(a, &bits);
	} else if (code == FILTER_CODE_NEGATE && a->kind == FILTER_INT) {
		number = filter_compute_to_number(a);
		filter_compute_set_number(a, !number.negative, number.magnitude);
	} else if (code == FILTER_CODE_NEGATE && a->kind == FILTER_DOUBLE) {
		a->u ^= (uint64_t)1 << 63;
	} else {
		filter_set_none(a);
	}
}

void filter_binary(unsigned int code, struct filter_value *a, const struct filter_value *b)
{
	if (code >= FILTER_CODE_AND) {
		filter_set_truth(a, filter_logic(code, filter_truth(a), filter_truth(b)));
	} else if (code <= FILTER_CODE_REMAINDER) {
		if (a->kind == FILTER_INT && b->kind == FILTER_INT)
			calculate_integers(code, a, b);
		else
			calculate_doubles(code, a, b);
	} else if (!is_integer(a) || !is_integer(b)) {
		filter_set_none(a);
	} else if (code <= FILTER_CODE_BIT_XOR) {
		combine_bits(code, a, b);
	} else if (b->kind != FILTER_INT || (a->kind != FILTER_INT && code == FILTER_CODE_LEFT)) {
		filter_set_none(a);
	} else if (code == FILTER_CODE_LEFT) {
		shift_left(a, b);
	} else {
		shift_right(a, b);
	}
}

/* ---- truth ---- */

int filter_truth(const struct filter_value *value)
{
	switch (value->kind) {
	case FILTER_INT: return value->u != 0;
	case FILTER_WIDE: return 1; /* zero would be FILTER_INT */
	case FILTER_DOUBLE: return !filter_double_is_zero(value->u);
	default: return -1;
	}
}

int filter_logic(unsigned int code, int a, int b)
{
	/* One operand decides: 0 for &&, 1 for ||. */
	int decides = code == FILTER_CODE_OR;

	if (a == decides || b == decides)
		return decides;
	return a < 0 || b < 0 ? -1 : !decides;
}

/* ---- comparison ---- */

static enum filter_order integer_order(const struct filter_value *a, const struct filter_value *b)
{
	struct bits x = filter_compute_to_bits(a), y = filter_compute_to_bits(b);

	if (x.negative != y.negative)
		return x.negative ? FILTER_ORDER_LESS : FILTER_ORDER_GREATER;
	if (x.high != y.high)
		return x.high < y.high ? FILTER_ORDER_LESS : FILTER_ORDER_GREATER;
	if (x.low != y.low)
		return x.low < y.low ? FILTER_ORDER_LESS : FILTER_ORDER_GREATER;
	return FILTER_ORDER_EQUAL;
}

static enum filter_order number_order(const struct filter_value *a, const struct filter_value *b)
{
	struct bits bits;
	enum filter_order order;

	if (a->kind == FILTER_DOUBLE && b->kind == FILTER_DOUBLE)
		return filter_double_order(a->u, b->u);
	if (b->kind == FILTER_DOUBLE) {
		bits = filter_compute_to_bits(a);
		return filter_integer_double_order(bits.negative, bits.low, bits.high, b->u);
	}
	if (a->kind == FILTER_DOUBLE) {
		bits = filter_compute_to_bits(b);
		order = filter_integer_double_order(bits.negative, bits.low, bits.high, a->u);
		return order == FILTER_ORDER_UNORDERED ? order : FILTER_ORDER_GREATER - order;
	}
	return integer_order(a, b);
}

static int filter_compute_order_matches(unsigned int code, enum filter_order order)
{
	switch (code) {
	case FILTER_CODE_EQUAL: return order == FILTER_ORDER_EQUAL;
	case FILTER_CODE_UNEQUAL: return order != FILTER_ORDER_EQUAL;
	case FILTER_CODE_LESS: return order == FILTER_ORDER_LESS;
	case FILTER_CODE_LESS_EQUAL:
		return order == FILTER_ORDER_LESS || order == FILTER_ORDER_EQUAL;
	case FILTER_CODE_GREATER: return order == FILTER_ORDER_GREATER;
	default: return order == FILTER_ORDER_GREATER || order == FILTER_ORDER_EQUAL;
	}
}

/* Compare strings, one of which may be a glob; only == and != accept a glob. */
static int filter_compute_compare_texts(
		unsigned int code, const struct filter_value *a, const struct filter_value *b)
{
	int difference;

	if (filter_value_is_glob(a))
		return filter_text_glob(a, b) == (code == FILTER_CODE_EQUAL);
	if (filter_value_is_glob(b))
		return filter_text_glob(b, a) == (code == FILTER_CODE_EQUAL);
	difference = filter_text_compare(a, b);
	return filter_compute_order_matches(code,
			difference < 0                   ? FILTER_ORDER_LESS
					: difference > 0 ? FILTER_ORDER_GREATER
							 : FILTER_ORDER_EQUAL);
}

/* Compare an integer that has labels with a string: equal if the string is one of its labels. */
static int compare_label(unsigned int code, const struct filter_value *integer,
		const struct filter_value *string, const struct filter_loader *loader)
{
	struct filter_value label;
	const char *text;
	uint32_t at = 0;
	size_t size;

	if (code > FILTER_CODE_UNEQUAL || !integer->labels || !loader || !loader->label)
		return -1;
	while ((text = loader->label(loader->user, integer, &at, &size))) {
		filter_value_text(&label, text, size);
		if (filter_compute_compare_texts(FILTER_CODE_EQUAL, &label, string) > 0)
			return code == FILTER_CODE_EQUAL;
	}
	return code != FILTER_CODE_EQUAL;
}

int filter_compare(unsigned int code, const struct filter_value *a, const struct filter_value *b,
		const struct filter_loader *loader)
{
	if (a->kind == FILTER_NONE || b->kind == FILTER_NONE)
		return -1;
	if (a->kind == FILTER_STRING && b->kind == FILTER_STRING)
		return filter_compute_compare_texts(code, a, b);
	if (b->kind == FILTER_STRING)
		return is_integer(a) ? compare_label(code, a, b, loader) : -1;
	if (a->kind == FILTER_STRING)
		return is_integer(b) ? compare_label(code, b, a, loader) : -1;
	return filter_compute_order_matches(code, number_order(a, b));
}
