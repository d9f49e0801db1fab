/* SPDX-License-Identifier: MIT */
/*
 * Converts text of all encodings of the ABI to generalised UTF-8, without loss: unpaired surrogates
 * and numbers above U+10FFFF have a form of their own (docs/spec/recording.md, section 3).
 */
#include <string.h>

#include "abi/visit.h"

unsigned int visit_utf8_encode(uint32_t unit, unsigned char out[VISIT_TEXT_UNIT_MAX])
{
	static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0, 0xf8, 0xfc, 0xfe};
	unsigned int size, i;

	if (unit < 0x80) {
		out[0] = (unsigned char)unit;
		return 1;
	}
	/* n bytes hold 5n + 1 bits for n > 1; seven hold 36. */
	for (size = 2; size < 7 && unit >> (5 * size + 1); size++)
		;
	for (i = size - 1; i; i--) {
		out[i] = 0x80 | (unit & 0x3f);
		unit >>= 6;
	}
	out[0] = first[size] | (unsigned char)unit;
	return size;
}

static uint32_t text_load_unit(const unsigned char *at, unsigned int size, unsigned int byte_order)
{
	uint32_t unit = 0;
	unsigned int i;

	for (i = 0; i < size; i++)
		unit = unit << 8 | at[byte_order == SIDE_TYPE_BYTE_ORDER_BE ? i : size - 1 - i];
	return unit;
}

unsigned int visit_text_next(struct visit_text *text, unsigned char out[VISIT_TEXT_UNIT_MAX])
{
	uint32_t unit, low;

	if (!text->at) {
		text->at = (const unsigned char *)"(null)";
		text->unit_size = 1;
	}
	if (text->unit_size == 1) {
		if (!*text->at)
			return 0;
		out[0] = *text->at++;
		return 1;
	}
	unit = text_load_unit(text->at, text->unit_size, text->byte_order);
	if (!unit)
		return 0;
	text->at += text->unit_size;
	if (text->unit_size == 2 && (unit & 0xfc00) == 0xd800) {
		low = text_load_unit(text->at, 2, text->byte_order);
		if ((low & 0xfc00) == 0xdc00) {
			text->at += 2;
			unit = 0x10000 + ((unit & 0x3ff) << 10 | (low & 0x3ff));
		}
	}
	return visit_utf8_encode(unit, out);
}

size_t visit_text_utf8(const void *string, unsigned int unit_size, unsigned int byte_order,
		void *to, size_t capacity)
{
	struct visit_text text = {
			.at = string,
			.unit_size = (uint8_t)unit_size,
			.byte_order = (uint8_t)byte_order,
	};
	unsigned char unit[VISIT_TEXT_UNIT_MAX];
	unsigned char *out = to;
	size_t size = 0;
	unsigned int nr, i;

	if (!string || unit_size == 1) {
		const char *bytes = string ? string : "(null)";

		size = strlen(bytes);
		if (capacity)
			memcpy(to, bytes, size < capacity ? size : capacity);
		return size;
	}
	while ((nr = visit_text_next(&text, unit)) != 0) {
		for (i = 0; i < nr; i++, size++) {
			if (size < capacity)
				out[size] = unit[i];
		}
	}
	return size;
}

size_t visit_text_bytes(const void *string, unsigned int unit_size)
{
	const unsigned char *at = string;
	size_t size;

	if (unit_size == 1)
		return strlen(string) + 1;
	for (size = 0; text_load_unit(at + size, unit_size, SIDE_TYPE_BYTE_ORDER_LE);
			size += unit_size)
		;
	return size + unit_size;
}
