/* SPDX-License-Identifier: MIT */
/* Converts numbers to text: floats of every size, integers of every width in four bases. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "abi/visit.h"

uint32_t visit_float16_to_32(uint16_t bits)
{
	uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
	uint32_t exponent = bits >> 10 & 0x1f;
	uint32_t mantissa = bits & 0x3ff;

	if (exponent == 0x1f)
		return sign | 0x7f800000 | mantissa << 13;
	if (!exponent) {
		if (!mantissa)
			return sign;
		/* A subnormal number is normal in binary32. */
		exponent = 1;
		while (!(mantissa & 0x400)) {
			mantissa <<= 1;
			exponent--;
		}
		mantissa &= 0x3ff;
	}
	/*
	 * exponent may have wrapped below zero; the sum with the difference of the biases is
	 * correct.
	 */
	return sign | (exponent + (127 - 15)) << 23 | mantissa << 13;
}

/*
 * Convert from the bits, because not every supported compiler and library has a type for binary128.
 * Rounds to nearest, ties to even, with the 64 bits of the widest long double.
 */
static long double number_from_binary128(const unsigned char bytes[16])
{
	unsigned char le[16];
	uint64_t hi, lo, top, remainder;
	bool negative;
	int exponent, i;
	long double value;

	for (i = 0; i < 16; i++)
		le[i] = bytes[SIDE_TYPE_FLOAT_WORD_ORDER_HOST == SIDE_TYPE_BYTE_ORDER_LE ? i
											 : 15 - i];
	for (hi = 0, lo = 0, i = 7; i >= 0; i--) {
		lo = lo << 8 | le[i];
		hi = hi << 8 | le[i + 8];
	}
	negative = hi >> 63;
	exponent = hi >> 48 & 0x7fff;
	hi &= 0xffffffffffff;
	if (exponent == 0x7fff) {
		value = hi || lo ? (long double)NAN : (long double)INFINITY;
		return negative ? -value : value;
	}
	if (exponent)
		hi |= (uint64_t)1 << 48;
	else
		exponent = 1;
	/* 113 bits in hi:lo; the upper 64 are kept, the other 49 are for rounding. */
	top = hi << 15 | lo >> 49;
	remainder = lo & (((uint64_t)1 << 49) - 1);
	exponent -= 16383 + 63;
	if (remainder > (uint64_t)1 << 48 || (remainder == (uint64_t)1 << 48 && (top & 1))) {
		if (!++top) {
			top = (uint64_t)1 << 63;
			exponent++;
		}
	}
	value = ldexpl((long double)top, exponent);
	return negative ? -value : value;
}

long double visit_value_long_double(const struct visit_value *value)
{
	uint16_t half;
	uint32_t bits;
	float single;
	double number;

	switch (value->size) {
	case 2:
		memcpy(&half, value->bytes, 2);
		bits = visit_float16_to_32(half);
		memcpy(&single, &bits, 4);
		return (long double)single;
	case 4: memcpy(&single, value->bytes, 4); return (long double)single;
	case 8: memcpy(&number, value->bytes, 8); return (long double)number;
	case 16: return number_from_binary128(value->bytes);
	default: return 0.0L;
	}
}

double visit_value_double(const struct visit_value *value)
{
	return (double)visit_value_long_double(value);
}

size_t visit_value_float_digits(
		const struct visit_value *value, int precision, char out[VISIT_FLOAT_DIGITS_MAX])
{
	char text[VISIT_FLOAT_DIGITS_MAX];
	const char *at;
	size_t size = 0;

	if (precision > 36)
		precision = 36;
	if (value->size == 16)
		snprintf(text, sizeof(text), "%.*Lg", precision, visit_value_long_double(value));
	else
		snprintf(text, sizeof(text), "%.*g", precision, visit_value_double(value));
	/* Skip the decimal point of the program's locale (possibly several bytes). */
	for (at = text; *at; at++) {
		bool is_ours = (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') ||
				*at == '-' || *at == '+';

		if (is_ours)
			out[size++] = *at;
		else if (!size || out[size - 1] != '.')
			out[size++] = '.';
	}
	out[size] = '\0';
	return size;
}

/* Divide the 128-bit number in place; returns the remainder. */
static unsigned int abi_number_divide_wide(uint32_t number[4], unsigned int by)
{
	uint64_t remainder = 0;
	int i;

	for (i = 3; i >= 0; i--) {
		remainder = remainder << 32 | number[i];
		number[i] = (uint32_t)(remainder / by);
		remainder %= by;
	}
	return (unsigned int)remainder;
}

size_t visit_value_digits(const struct visit_value *value, unsigned int base, bool prefix,
		char out[VISIT_DIGITS_MAX])
{
	uint64_t lo = value->lo, hi = value->hi;
	bool negative = base == 10 && value->kind == VISIT_SIGNED && hi >> 63;
	char digits[VISIT_DIGITS_MAX];
	uint32_t number[4];
	size_t nr = 0, size = 0;

	if (negative) {
		lo = ~lo + 1;
		hi = ~hi + !lo;
	} else if (base != 10) {
		/* Two's complement of exactly the bits of the type. */
		if (value->bits < 64)
			lo &= ((uint64_t)1 << value->bits) - 1;
		if (value->bits <= 64)
			hi = 0;
	}
	number[0] = (uint32_t)lo;
	number[1] = (uint32_t)(lo >> 32);
	number[2] = (uint32_t)hi;
	number[3] = (uint32_t)(hi >> 32);
	do {
		digits[nr++] = "0123456789abcdef"[abi_number_divide_wide(number, base)];
	} while (number[0] || number[1] || number[2] || number[3]);
	while (base == 2 && prefix && nr < value->bits && nr < 128)
		digits[nr++] = '0';
	if (negative)
		out[size++] = '-';
	if (prefix && base != 10) {
		out[size++] = '0';
		out[size++] = base == 2 ? 'b' : base == 8 ? 'o' : 'x';
	}
	while (nr)
		out[size++] = digits[--nr];
	out[size] = '\0';
	return size;
}

const struct side_attr *visit_attribute_find(struct visit_attributes attributes, const char *name)
{
	uint32_t i;

	for (i = 0; i < attributes.nr; i++) {
		struct visit_text key = {
				.at = side_ptr_get(attributes.attr[i].key.p),
				.unit_size = attributes.attr[i].key.unit_size,
				.byte_order = side_enum_get(attributes.attr[i].key.byte_order),
		};
		unsigned char unit[VISIT_TEXT_UNIT_MAX];
		const char *at = name;
		unsigned int size;

		if (!key.at)
			continue;
		while ((size = visit_text_next(&key, unit)) == 1 && *at &&
				unit[0] == (unsigned char)*at)
			at++;
		if (!size && !*at)
			return &attributes.attr[i];
	}
	return NULL;
}

unsigned int visit_attribute_base(struct visit_attributes attributes, unsigned int otherwise)
{
	const struct side_attr *attr;
	struct visit_value value;

	if (!attributes.nr)
		return otherwise;
	attr = visit_attribute_find(attributes, "std.integer.base");
	if (!attr || visit_load_attribute(&attr->value, &value))
		return otherwise;
	if ((value.kind != VISIT_UNSIGNED && value.kind != VISIT_SIGNED) || value.hi)
		return otherwise;
	switch (value.lo) {
	case 2:
	case 8:
	case 10:
	case 16: return (unsigned int)value.lo;
	default: return otherwise;
	}
}
