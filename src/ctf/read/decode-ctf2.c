/* SPDX-License-Identifier: MIT */
/*
 * Decodes types of CTF 2 that CTF 1.8 does not have, with the same checks as for other data.
 *
 * Values are always UTF-8, so text in other encodings is converted to memory that lives as long as
 * the event's values.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/read/decode-ctf2.h"

unsigned int ctf_decode_leb128(
		struct ctf_decoder *d, const struct ctf_type *type, uint64_t *ret_number)
{
	unsigned int bits = 0;
	uint8_t byte;

	*ret_number = 0;
	do {
		uint64_t group;

		if (d->end - d->at < 8) {
			d->beyond = true;
			d->why = "a number is beyond the end of the packet";
			return 0;
		}
		byte = d->base[d->at / 8];
		group = byte & 0x7f;
		if (bits == 63 && group > 1 && !(type->is_signed && group == 0x7f)) {
			d->why = "a number has more than 64 bits";
			return 0;
		}
		if (bits > 63) {
			d->why = "a number takes more than ten bytes";
			return 0;
		}
		*ret_number |= group << bits;
		bits += 7;
		d->at += 8;
	} while (byte & 0x80);
	if (type->is_signed && bits < 64 && byte & 0x40)
		*ret_number |= ~UINT64_C(0) << bits;
	return bits;
}

uint64_t ctf_reverse_bits(uint64_t number, unsigned int size)
{
	uint64_t reversed = 0;

	for (unsigned int i = 0; i < size; i++)
		reversed |= (number >> i & 1) << (size - 1 - i);
	return reversed;
}

/* ---- text ---- */

static unsigned int ctf2_decode_unit_size(enum ctf_encoding encoding)
{
	return encoding >= CTF_UTF32LE ? 4 : encoding >= CTF_UTF16LE ? 2 : 1;
}

static uint32_t ctf2_decode_read_unit(const uint8_t *at, enum ctf_encoding encoding)
{
	switch (encoding) {
	case CTF_UTF16LE: return at[0] | (uint32_t)at[1] << 8;
	case CTF_UTF16BE: return at[1] | (uint32_t)at[0] << 8;
	case CTF_UTF32LE:
		return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
	case CTF_UTF32BE:
		return at[3] | (uint32_t)at[2] << 8 | (uint32_t)at[1] << 16 | (uint32_t)at[0] << 24;
	case CTF_UTF8: break;
	}
	return at[0];
}

/* Invalid code points become U+FFFD. */
static char *ctf2_decode_write_code(char *to, uint32_t code)
{
	if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		code = 0xfffd;
	if (code < 0x80) {
		*to++ = (char)code;
	} else if (code < 0x800) {
		*to++ = (char)(0xc0 | code >> 6);
		*to++ = (char)(0x80 | (code & 0x3f));
	} else if (code < 0x10000) {
		*to++ = (char)(0xe0 | code >> 12);
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
		*to++ = (char)(0x80 | (code & 0x3f));
	} else {
		*to++ = (char)(0xf0 | code >> 18);
		*to++ = (char)(0x80 | (code >> 12 & 0x3f));
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
		*to++ = (char)(0x80 | (code & 0x3f));
	}
	return to;
}

void ctf_decoder_drop_texts(struct ctf_decoder *d)
{
	while (d->texts) {
		struct ctf_text_block *next = d->texts->next;

		free(d->texts);
		d->texts = next;
	}
}

int ctf_decode_wide_text(struct ctf_decoder *d, const struct ctf_type *type,
		struct ctf_value *value, const uint8_t *bytes, uint64_t size)
{
	unsigned int unit = ctf2_decode_unit_size(type->encoding);
	const uint8_t *end = bytes + size;
	struct ctf_text_block *block;
	char *to;

	if (size % unit) {
		d->why = "the length of a text is not a multiple of its character size";
		return -EINVAL;
	}
	/* Two bytes of UTF-16 become at most three of UTF-8, four of UTF-32 at most four. */
	block = malloc(sizeof(*block) + size + size / 2 + 1);
	if (!block)
		return -ENOMEM;
	block->next = d->texts;
	d->texts = block;
	to = block->text;
	while (bytes < end) {
		uint32_t code = ctf2_decode_read_unit(bytes, type->encoding), low;

		if (!code)
			break;
		bytes += unit;
		if (unit == 2 && code >= 0xd800 && code < 0xdc00 && bytes < end) {
			low = ctf2_decode_read_unit(bytes, type->encoding);
			if (low >= 0xdc00 && low < 0xe000) {
				code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
				bytes += unit;
			}
		}
		to = ctf2_decode_write_code(to, code);
	}
	value->text = block->text;
	value->size = (uint64_t)(to - block->text);
	value->is_text = true;
	return 0;
}

int ctf_decode_wide_string(
		struct ctf_decoder *d, const struct ctf_type *type, struct ctf_value *value)
{
	unsigned int unit = ctf2_decode_unit_size(type->encoding);
	const uint8_t *bytes = d->base + d->at / 8;
	uint64_t left = (d->end - d->at) / 8, size = 0;
	int ret;

	while (left - size >= unit && ctf2_decode_read_unit(bytes + size, type->encoding))
		size += unit;
	if (left - size < unit) {
		d->beyond = true;
		d->why = "a string has no end in the packet";
		return -EINVAL;
	}
	ret = ctf_decode_wide_text(d, type, value, bytes, size);
	d->at += (size + unit) * 8;
	return ret;
}
