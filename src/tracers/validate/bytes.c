/* SPDX-License-Identifier: MIT */
#include "tracers/validate/bytes.h"

#include <string.h>
#include <unistd.h>

void bytes_open(struct byte_reader *bytes, const struct bytes_source *source, uint64_t at,
		uint64_t size)
{
	bytes->source = *source;
	bytes->at = at;
	bytes->failed = __builtin_add_overflow(at, size, &bytes->end);
	bytes->window = at;
	bytes->size = 0;
}

static unsigned int validate_bytes_next(struct byte_reader *bytes)
{
	uint64_t left;
	ssize_t nr;

	if (bytes->failed || bytes->at >= bytes->end) {
		bytes->failed = true;
		return 0;
	}
	if (bytes->source.memory)
		return bytes->source.memory[bytes->at++];
	if (bytes->at - bytes->window >= bytes->size) {
		left = bytes->end - bytes->at;
		nr = pread(bytes->source.fd, bytes->held,
				left < sizeof(bytes->held) ? (size_t)left : sizeof(bytes->held),
				(off_t)bytes->at);
		if (nr <= 0) {
			bytes->failed = true;
			return 0;
		}
		bytes->window = bytes->at;
		bytes->size = (size_t)nr;
	}
	return bytes->held[bytes->at++ - bytes->window];
}

uint64_t bytes_number(struct byte_reader *bytes, unsigned int size)
{
	unsigned char raw[8];
	uint64_t number = 0;
	unsigned int i;

	for (i = 0; i < size; i++)
		raw[i] = (unsigned char)validate_bytes_next(bytes);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	memcpy(&number, raw, size);
#else
	memcpy((unsigned char *)&number + sizeof(number) - size, raw, size);
#endif
	return number;
}

/* Read a LEB128 number. `*ret_sign` gets the bits above the number, all set if its sign bit is
   set. */
static uint64_t validate_bytes_leb128(struct byte_reader *bytes, uint64_t *ret_sign)
{
	uint64_t number = 0;
	unsigned int shift = 0, byte;

	do {
		byte = validate_bytes_next(bytes);
		if (shift < 64)
			number |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && shift < 140);
	*ret_sign = byte & 0x40 && shift < 64 ? UINT64_MAX << shift : 0;
	return number;
}

uint64_t bytes_leb128(struct byte_reader *bytes)
{
	uint64_t sign;

	return validate_bytes_leb128(bytes, &sign);
}

int64_t bytes_signed_leb128(struct byte_reader *bytes)
{
	uint64_t sign, number = validate_bytes_leb128(bytes, &sign);

	return (int64_t)(number | sign);
}

void bytes_skip(struct byte_reader *bytes, uint64_t size)
{
	if (bytes->failed || size > bytes->end - bytes->at)
		bytes->failed = true;
	else
		bytes->at += size;
}

size_t bytes_text(struct byte_reader *bytes, char *to, size_t size)
{
	size_t length = 0;
	unsigned int byte;

	while ((byte = validate_bytes_next(bytes))) {
		if (to && length + 1 < size)
			to[length] = (char)byte;
		length++;
	}
	if (to && size)
		to[length < size ? length : size - 1] = '\0';
	return length;
}
