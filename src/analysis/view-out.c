/* SPDX-License-Identifier: MIT */
/* A growing buffer for output, and digits. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "analysis/view-out.h"

#define VIEW_OUT_FORMAT_SIZE 256 /* most formatted texts fit */
#define VIEW_OUT_PASSED 65536    /* bytes of a buffer that is written to its stream */

void view_out_free(struct view_out *out)
{
	free(out->begin);
	*out = (struct view_out){0};
}

bool view_out_grow(struct view_out *out, size_t size)
{
	size_t used = view_out_size(out), capacity = (size_t)(out->end - out->begin);
	char *bytes;

	if (size > SIZE_MAX / 4 - used) {
		out->failed = true;
		return false;
	}
	capacity = capacity < 512 ? 512 : capacity;
	while (capacity < used + size)
		capacity *= 2;
	bytes = realloc(out->begin, capacity);
	if (!bytes) {
		out->failed = true;
		return false;
	}
	out->begin = bytes;
	out->at = bytes + used;
	out->end = bytes + capacity;
	return true;
}

static const char pairs[200] = "00010203040506070809101112131415161718192021222324"
			       "25262728293031323334353637383940414243444546474849"
			       "50515253545556575859606162636465666768697071727374"
			       "75767778798081828384858687888990919293949596979899";

static unsigned int decimal_size(uint64_t number)
{
	static const uint64_t powers[] = {0, 10, 100, 1000, 10000, 100000, 1000000, 10000000,
			100000000, 1000000000, 10000000000, 100000000000, 1000000000000,
			10000000000000, 100000000000000, 1000000000000000, 10000000000000000,
			100000000000000000, 1000000000000000000, 10000000000000000000u};
	/* Digits from bits: log10(2) is about 1233 / 4096. The table corrects the result by one. */
	unsigned int bits = 64 - (unsigned int)__builtin_clzll(number | 1);
	unsigned int size = bits * 1233 >> 12;

	return size + (number >= powers[size]);
}

char *view_decimal(char *to, uint64_t number)
{
	unsigned int size = number ? decimal_size(number) : 1;
	char *at = to + size;

	while (number >= 100) {
		at -= 2;
		memcpy(at, pairs + number % 100 * 2, 2);
		number /= 100;
	}
	if (number >= 10)
		memcpy(at - 2, pairs + number * 2, 2);
	else
		at[-1] = (char)('0' + number);
	return to + size;
}

char *view_hexadecimal(char *to, uint64_t number)
{
	unsigned int size = (67 - (unsigned int)__builtin_clzll(number | 1)) / 4;

	for (unsigned int i = size; i-- > 0; number >>= 4)
		to[i] = "0123456789abcdef"[number & 15];
	return to + size;
}

char *view_nine_digits(char *to, uint32_t number)
{
	for (int i = 7; i > 0; i -= 2) {
		memcpy(to + i, pairs + number % 100 * 2, 2);
		number /= 100;
	}
	to[0] = (char)('0' + number);
	return to + 9;
}

void view_out_unsigned(struct view_out *out, uint64_t number)
{
	if (view_out_reserve(out, 20))
		out->at = view_decimal(out->at, number);
}

void view_out_signed(struct view_out *out, int64_t number)
{
	if (number < 0)
		view_out_char(out, '-');
	view_out_unsigned(out, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

void view_out_hexadecimal(struct view_out *out, uint64_t number)
{
	if (!view_out_reserve(out, 2 + 16))
		return;
	*out->at++ = '0';
	*out->at++ = 'x';
	out->at = view_hexadecimal(out->at, number);
}

void view_out_fill(struct view_out *out, char c, size_t count)
{
	/* memset() must not get a null pointer, not even for zero bytes. */
	if (!count || !view_out_reserve(out, count))
		return;
	memset(out->at, c, count);
	out->at += count;
}

void view_out_format(struct view_out *out, const char *format, ...)
{
	size_t wanted = VIEW_OUT_FORMAT_SIZE;

	/* If the text does not fit, format it again with more space. */
	while (view_out_reserve(out, wanted)) {
		size_t space = (size_t)(out->end - out->at);
		va_list arguments;
		int size;

		va_start(arguments, format);
		size = vsnprintf(out->at, space, format, arguments);
		va_end(arguments);
		if (size >= 0 && (size_t)size < space) {
			out->at += size;
			return;
		}
		if (size < 0) {
			out->failed = true;
			return;
		}
		wanted = (size_t)size + 1;
	}
}

void view_out_pass(struct view_out *out, FILE *stream)
{
	if (view_out_size(out) < VIEW_OUT_PASSED)
		return;
	/* The caller checks the stream at the end. */
	fwrite(out->begin, 1, view_out_size(out), stream);
	out->at = out->begin;
}

int view_out_end(struct view_out *out, FILE *stream, int ret)
{
	if (!ret && out->failed)
		ret = -ENOMEM;
	if (!ret)
		fwrite(out->begin, 1, view_out_size(out), stream);
	view_out_free(out);
	return ret;
}
