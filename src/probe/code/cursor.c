/* SPDX-License-Identifier: MIT */
/* Reads numbers and pointers in the encodings of unwind data. */
#include "rows.h"

uint64_t code_read(const uint8_t *bytes, unsigned int width)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < width; i++)
		value |= (uint64_t)bytes[i] << (8 * i);
	return value;
}

uint64_t code_take(struct code_cursor *cursor, unsigned int width)
{
	uint64_t value;

	if (cursor->bad || width > cursor->size - cursor->at) {
		cursor->bad = true;
		return 0;
	}
	value = code_read(cursor->bytes + cursor->at, width);
	cursor->at += width;
	return value;
}

uint64_t code_take_leb(struct code_cursor *cursor, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)code_take(cursor, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && shift < 64 && (byte & 0x40))
		value |= ~(uint64_t)0 << shift;
	return value;
}

void code_skip(struct code_cursor *cursor, uint64_t size)
{
	if (cursor->bad || size > cursor->size - cursor->at) {
		cursor->bad = true;
		return;
	}
	cursor->at += (size_t)size;
}

uint64_t code_take_pointer(struct code_cursor *cursor, uint8_t encoding)
{
	uint64_t position = cursor->address + cursor->at, value;

	if (encoding == CODE_ENCODING_OMIT)
		return 0;
	switch (encoding & 0x0f) {
	case 0x00:
	case 0x04:
	case 0x0c: value = code_take(cursor, 8); break;
	case 0x01: value = code_take_leb(cursor, false); break;
	case 0x02: value = code_take(cursor, 2); break;
	case 0x03: value = code_take(cursor, 4); break;
	case 0x09: value = code_take_leb(cursor, true); break;
	case 0x0a: value = (uint64_t)(int64_t)(int16_t)code_take(cursor, 2); break;
	case 0x0b: value = (uint64_t)(int64_t)(int32_t)code_take(cursor, 4); break;
	default: cursor->bad = true; return 0;
	}
	switch (encoding & 0x70) {
	case 0x00: return value;
	case 0x10: return value ? value + position : 0;
	default: cursor->bad = true; return 0;
	}
}
