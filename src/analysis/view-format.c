/* SPDX-License-Identifier: MIT */
/* A format of printf() with its arguments, as text. */
#include "analysis/view-format.h"

#include <stdio.h>
#include <string.h>

/* The longest finite number in %f, with its precision. */
#define FORMAT_REAL_SIZE (512 + VIEW_FORMAT_PRECISION_MAX)

struct view_conversion {
	bool left, plus, space, alternate, zero;
	unsigned int width;
	int precision;     /* -1: none */
	unsigned int bits; /* of the length modifier; 0: it is none of an integer */
	bool long_double;
	char letter;
};

/* A number before it is padded. */
struct view_number {
	char prefix[4]; /* sign, 0x */
	char digits[FORMAT_REAL_SIZE];
	size_t prefix_size, digits_size;
};

/* ---- conversions ---- */

/* False: the number is too large. */
static bool view_format_read_number(
		const char **at, const char *end, unsigned int most, unsigned int *ret_number)
{
	unsigned int number = 0;

	for (; *at != end && **at >= '0' && **at <= '9'; ++*at) {
		number = number * 10 + (unsigned int)(**at - '0');
		if (number > most)
			return false;
	}
	*ret_number = number;
	return true;
}

static void view_format_read_flags(
		const char **at, const char *end, struct view_conversion *conversion)
{
	for (; *at != end; ++*at) {
		switch (**at) {
		case '-': conversion->left = true; break;
		case '+': conversion->plus = true; break;
		case ' ': conversion->space = true; break;
		case '#': conversion->alternate = true; break;
		case '0': conversion->zero = true; break;
		case '\'': break; /* The C locale has no thousands separator. */
		default: return;
		}
	}
}

static void view_format_read_length(
		const char **at, const char *end, struct view_conversion *conversion)
{
	static const struct {
		char text[3];
		uint8_t bits;
	} lengths[] = {{"hh", 8}, {"h", 16}, {"ll", 64}, {"l", 64}, {"q", 64}, {"j", 64}, {"z", 64},
			{"t", 64}};

	if (*at != end && **at == 'L') {
		conversion->long_double = true;
		++*at;
		return;
	}
	for (unsigned int i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		size_t size = strlen(lengths[i].text);

		if ((size_t)(end - *at) < size || memcmp(*at, lengths[i].text, size) != 0)
			continue;
		conversion->bits = lengths[i].bits;
		*at += size;
		return;
	}
}

/* Reads what follows the `%`. */
static bool view_format_read_conversion(
		const char **at, const char *end, struct view_conversion *conversion)
{
	unsigned int precision;

	*conversion = (struct view_conversion){.precision = -1};
	view_format_read_flags(at, end, conversion);
	if (!view_format_read_number(at, end, VIEW_FORMAT_WIDTH_MAX, &conversion->width))
		return false;
	if (*at != end && **at == '.') {
		++*at;
		if (!view_format_read_number(at, end, VIEW_FORMAT_TEXT_MAX, &precision))
			return false;
		conversion->precision = (int)precision;
	}
	view_format_read_length(at, end, conversion);
	if (*at == end)
		return false;
	conversion->letter = *(*at)++;
	return conversion->letter;
}

/* ---- padding ---- */

static void view_format_put_number(struct view_out *out, const struct view_conversion *conversion,
		const struct view_number *number, bool zeros)
{
	size_t size = number->prefix_size + number->digits_size;
	size_t fill = conversion->width > size ? conversion->width - size : 0;

	if (!conversion->left && !zeros)
		view_out_fill(out, ' ', fill);
	view_out_put(out, number->prefix, number->prefix_size);
	if (!conversion->left && zeros)
		view_out_fill(out, '0', fill);
	view_out_put(out, number->digits, number->digits_size);
	if (conversion->left)
		view_out_fill(out, ' ', fill);
}

static void view_format_put_text(struct view_out *out, const struct view_conversion *conversion,
		const char *text, size_t size)
{
	size_t fill;

	if (conversion->precision >= 0 && size > (size_t)conversion->precision)
		size = (size_t)conversion->precision;
	fill = conversion->width > size ? conversion->width - size : 0;
	if (!conversion->left)
		view_out_fill(out, ' ', fill);
	view_out_put(out, text, size);
	if (conversion->left)
		view_out_fill(out, ' ', fill);
}

/* ---- numbers ---- */

static void view_format_add_prefix(struct view_number *number, const char *prefix)
{
	size_t size = strlen(prefix);

	memcpy(number->prefix + number->prefix_size, prefix, size);
	number->prefix_size += size;
}

static void view_format_add_sign(
		struct view_number *number, const struct view_conversion *conversion, bool negative)
{
	if (negative)
		view_format_add_prefix(number, "-");
	else if (conversion->plus)
		view_format_add_prefix(number, "+");
	else if (conversion->space)
		view_format_add_prefix(number, " ");
}

static void view_format_add_digits(struct view_number *number,
		const struct view_conversion *conversion, uint64_t value, unsigned int base)
{
	const char *symbols = conversion->letter == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
	char digits[VIEW_FORMAT_PRECISION_MAX + 64], *at = digits + sizeof(digits);
	size_t least = conversion->precision < 0 ? 1 : (size_t)conversion->precision;
	bool is_zero = !value;

	for (; value; value /= base)
		*--at = symbols[value % base];
	while ((size_t)(digits + sizeof(digits) - at) < least)
		*--at = '0';
	if (conversion->alternate && base == 8 && (at == digits + sizeof(digits) || *at != '0'))
		*--at = '0';
	if (conversion->alternate && base == 16 && !is_zero)
		view_format_add_prefix(number, conversion->letter == 'X' ? "0X" : "0x");
	number->digits_size = (size_t)(digits + sizeof(digits) - at);
	memcpy(number->digits, at, number->digits_size);
}

/* Whether the value is one of the type of the conversion. */
static bool view_format_fits_signed(const struct view_format_argument *argument, unsigned int bits)
{
	int64_t value = (int64_t)argument->number;

	if (argument->type == VIEW_FORMAT_UNSIGNED && value < 0)
		return false;
	return bits == 64 ||
			(value >= -(INT64_C(1) << (bits - 1)) && value < INT64_C(1) << (bits - 1));
}

/*
 * The value as an unsigned one of the conversion: the bits of its own type if it is negative, as
 * `%x` of an int.
 */
static bool view_format_get_unsigned(const struct view_format_argument *argument, unsigned int bits,
		bool decimal, uint64_t *ret_value)
{
	bool negative = argument->type == VIEW_FORMAT_SIGNED && (int64_t)argument->number < 0;
	uint64_t value = argument->number;

	if (negative && (decimal || argument->bits > bits))
		return false;
	if (negative && bits < 64)
		value &= (UINT64_C(1) << bits) - 1;
	*ret_value = value;
	return bits == 64 || value < UINT64_C(1) << bits;
}

static bool view_format_put_integer(struct view_out *out, const struct view_conversion *conversion,
		const struct view_format_argument *argument)
{
	struct view_number number = {.prefix_size = 0};
	unsigned int bits = conversion->bits ? conversion->bits : 32;
	char letter = conversion->letter;
	uint64_t value;
	bool negative;

	if ((argument->type != VIEW_FORMAT_SIGNED && argument->type != VIEW_FORMAT_UNSIGNED) ||
			conversion->long_double ||
			conversion->precision > VIEW_FORMAT_PRECISION_MAX)
		return false;
	if (letter == 'd' || letter == 'i') {
		if (!view_format_fits_signed(argument, bits))
			return false;
		negative = (int64_t)argument->number < 0;
		value = negative ? 0 - argument->number : argument->number;
		view_format_add_sign(&number, conversion, negative);
		view_format_add_digits(&number, conversion, value, 10);
	} else {
		if (!view_format_get_unsigned(argument, bits, letter == 'u', &value))
			return false;
		view_format_add_digits(&number, conversion, value,
				letter == 'u'                   ? 10
						: letter == 'o' ? 8
								: 16);
	}
	view_format_put_number(
			out, conversion, &number, conversion->zero && conversion->precision < 0);
	return true;
}

static bool view_format_put_pointer(struct view_out *out, const struct view_conversion *conversion,
		const struct view_format_argument *argument)
{
	struct view_conversion number = *conversion;

	if (argument->type != VIEW_FORMAT_UNSIGNED || conversion->bits ||
			conversion->precision >= 0)
		return false;
	if (!argument->number) {
		view_format_put_text(out, conversion, "(nil)", strlen("(nil)"));
		return true;
	}
	number.letter = 'x';
	number.bits = 64;
	number.alternate = true;
	return view_format_put_integer(out, &number, argument);
}

static bool view_format_put_character(struct view_out *out,
		const struct view_conversion *conversion,
		const struct view_format_argument *argument)
{
	char c = (char)argument->number;

	if ((argument->type != VIEW_FORMAT_SIGNED && argument->type != VIEW_FORMAT_UNSIGNED) ||
			conversion->bits || conversion->long_double || !c ||
			(argument->number > 255 && argument->number < (uint64_t)-128) ||
			conversion->precision >= 0)
		return false;
	view_format_put_text(out, conversion, &c, 1);
	return true;
}

/* The digits of the absolute value. The C library rounds them. */
static int view_format_real_digits(char *digits, size_t size,
		const struct view_conversion *conversion, int precision, double value)
{
	bool alternate = conversion->alternate;

	switch (conversion->letter) {
	case 'f': return snprintf(digits, size, alternate ? "%#.*f" : "%.*f", precision, value);
	case 'F': return snprintf(digits, size, alternate ? "%#.*F" : "%.*F", precision, value);
	case 'e': return snprintf(digits, size, alternate ? "%#.*e" : "%.*e", precision, value);
	case 'E': return snprintf(digits, size, alternate ? "%#.*E" : "%.*E", precision, value);
	case 'g': return snprintf(digits, size, alternate ? "%#.*g" : "%.*g", precision, value);
	case 'G': return snprintf(digits, size, alternate ? "%#.*G" : "%.*G", precision, value);
	case 'a': return snprintf(digits, size, alternate ? "%#.*a" : "%.*a", precision, value);
	default: return snprintf(digits, size, alternate ? "%#.*A" : "%.*A", precision, value);
	}
}

static bool view_format_put_real(struct view_out *out, const struct view_conversion *conversion,
		const struct view_format_argument *argument)
{
	struct view_number number = {.prefix_size = 0};
	bool is_hexadecimal = conversion->letter == 'a' || conversion->letter == 'A';
	bool finite = __builtin_isfinite(argument->real);
	const char *digits = number.digits;
	int size;

	if (argument->type != VIEW_FORMAT_REAL || (conversion->bits && conversion->bits != 64) ||
			conversion->precision > VIEW_FORMAT_PRECISION_MAX)
		return false;
	size = view_format_real_digits(number.digits, sizeof(number.digits), conversion,
			conversion->precision < 0 && !is_hexadecimal ? 6 : conversion->precision,
			__builtin_fabs(argument->real));
	if (size <= 0 || (size_t)size >= sizeof(number.digits))
		return false;
	view_format_add_sign(&number, conversion, __builtin_signbit(argument->real));
	number.digits_size = (size_t)size;
	if (is_hexadecimal && finite) {
		view_format_add_prefix(&number, conversion->letter == 'A' ? "0X" : "0x");
		number.digits_size -= 2;
		memmove(number.digits, digits + 2, number.digits_size);
	}
	view_format_put_number(out, conversion, &number, conversion->zero && finite);
	return true;
}

/* ---- the whole ---- */

static bool view_format_put(struct view_out *out, const struct view_conversion *conversion,
		const struct view_format_argument *argument)
{
	switch (conversion->letter) {
	case 'd':
	case 'i':
	case 'u':
	case 'o':
	case 'x':
	case 'X': return view_format_put_integer(out, conversion, argument);
	case 'a':
	case 'A':
	case 'e':
	case 'E':
	case 'f':
	case 'F':
	case 'g':
	case 'G': return view_format_put_real(out, conversion, argument);
	case 'c': return view_format_put_character(out, conversion, argument);
	case 'p': return view_format_put_pointer(out, conversion, argument);
	case 's':
		if (argument->type != VIEW_FORMAT_TEXT || conversion->bits ||
				conversion->long_double)
			return false;
		view_format_put_text(out, conversion, argument->text, argument->size);
		return true;
	default: return false;
	}
}

bool view_format_render(struct view_out *out, const char *format, size_t size,
		const struct view_format_argument *arguments, uint32_t count)
{
	size_t begin = view_out_size(out);
	const char *at = format, *end = format + size;
	struct view_conversion conversion;
	uint32_t used = 0;
	bool fits = size <= VIEW_FORMAT_SIZE_MAX && count <= VIEW_FORMAT_ARGUMENTS_MAX;

	while (fits && at != end) {
		const char *percent = memchr(at, '%', (size_t)(end - at));

		view_out_put(out, at, (size_t)((percent ? percent : end) - at));
		at = percent ? percent + 1 : end;
		if (!percent)
			break;
		if (at != end && *at == '%') {
			view_out_char(out, *at++);
			continue;
		}
		fits = view_format_read_conversion(&at, end, &conversion) && used < count &&
				view_format_put(out, &conversion, &arguments[used++]) &&
				view_out_size(out) - begin <= VIEW_FORMAT_TEXT_MAX;
	}
	if (fits && used == count)
		return true;
	out->at = out->begin + begin;
	return false;
}
