/* SPDX-License-Identifier: MIT */
/* Reads the untrusted memory of the encoder, and writes its output within a budget. */
#include <errno.h>
#include <string.h>

#include "abi/encode.h"

/* ---- reading ---- */

int visit_encoder_get(struct encoder *encoder, uint64_t address, void *to, size_t size,
		const struct visit_step *step)
{
	int ret;

	if (!address)
		return visit_fail(encoder->error, step, -EFAULT,
				"a pointer is NULL\n"
				"point at the elements, or set their number to 0");
	if (!encoder->memory) {
		memcpy(to, (const void *)(uintptr_t)address, size);
		return 0;
	}
	if (address + size < address)
		ret = -EFAULT;
	else
		ret = encoder->memory->read(encoder->memory->priv, address, to, size);
	if (ret)
		return visit_fail(encoder->error, step, ret,
				"the memory at 0x%llx (%zu bytes) cannot be read\n"
				"memory that a description points to must exist as long as it is "
				"registered",
				(unsigned long long)address, size);
	return 0;
}

/* ---- writing ---- */

int visit_encoder_put(struct encoder *encoder, const void *bytes, size_t size,
		const struct visit_step *step)
{
	int ret;

	if (encoder->out->size - encoder->start + size > VISIT_ENCODED_MAX)
		return visit_fail(encoder->error, step, -E2BIG,
				"the description has more than %u bytes\nmake it smaller, or check the lengths",
				VISIT_ENCODED_MAX);
	ret = visit_buffer_append(encoder->out, bytes, size);
	if (ret)
		return visit_fail(encoder->error, step, ret, "out of memory for the description");
	return 0;
}

int visit_encoder_put_number(struct encoder *encoder, uint64_t number, unsigned int size,
		const struct visit_step *step)
{
	unsigned char bytes[8];
	unsigned int i;

	for (i = 0; i < size; i++)
		bytes[i] = (unsigned char)(number >> (8 * i));
	return visit_encoder_put(encoder, bytes, size, step);
}

int visit_encoder_spend(struct encoder *encoder, const struct visit_step *step)
{
	if (!encoder->nodes)
		return visit_fail(encoder->error, step, -E2BIG,
				"the description has more than %u parts\nmake it smaller, or check the lengths",
				VISIT_NODES_MAX);
	encoder->nodes--;
	return 0;
}

/* Append bytes up to the terminator, read in pieces that never cross a 256-byte boundary. */
static int encode_foreign_units(struct encoder *encoder, uint64_t address, unsigned int unit,
		uint32_t *length, const struct visit_step *step)
{
	unsigned char piece[256];
	unsigned int zeros = 0; /* zero bytes seen of the current unit */
	unsigned int in_unit = 0;
	int ret;

	for (;;) {
		unsigned int size = 256 - (unsigned int)(address & 255), i;

		ret = encoder->memory->read(encoder->memory->priv, address, piece, size);
		if (ret) {
			/* The string may end just before the memory does: read single bytes. */
			size = 1;
			ret = visit_encoder_get(encoder, address, piece, size, step);
			if (ret)
				return ret;
		}
		for (i = 0; i < size; i++) {
			zeros += !piece[i];
			if (++in_unit < unit)
				continue;
			if (zeros == unit) {
				ret = visit_encoder_put(encoder, piece, i + 1, step);
				if (ret)
					return ret;
				*length += i + 1;
				/* Remove the terminator; it may have begun in the last piece. */
				encoder->out->size -= unit;
				*length -= unit;
				return 0;
			}
			in_unit = 0;
			zeros = 0;
		}
		ret = visit_encoder_put(encoder, piece, size, step);
		if (ret)
			return ret;
		*length += size;
		address += size;
	}
}

/* u32 length in bytes (CODEC_NULL: NULL pointer), bytes without terminator. */
int visit_encoder_put_units(struct encoder *encoder, uint64_t address, unsigned int unit,
		const struct visit_step *step)
{
	size_t length_at = encoder->out->size, size;
	uint32_t length = 0;
	unsigned int i;
	int ret;

	if (!address)
		return visit_encoder_put_number(encoder, CODEC_NULL, 4, step);
	ret = visit_encoder_put_number(encoder, 0, 4, step);
	if (ret)
		return ret;
	if (encoder->memory) {
		ret = encode_foreign_units(encoder, address, unit, &length, step);
	} else {
		size = visit_text_bytes((const void *)(uintptr_t)address, unit) - unit;
		ret = visit_encoder_put(encoder, (const void *)(uintptr_t)address, size, step);
		length = (uint32_t)size;
	}
	for (i = 0; !ret && i < 4; i++)
		encoder->out->data[length_at + i] = (unsigned char)(length >> (8 * i));
	return ret;
}

/* A raw string: u8 unit size, u8 byte order, units. */
int visit_encoder_put_raw_string(struct encoder *encoder, const struct side_type_raw_string *string,
		const struct visit_step *step)
{
	unsigned int unit = string->unit_size;
	int ret;

	if (unit != 1 && unit != 2 && unit != 4)
		return visit_fail(encoder->error, step, -EINVAL,
				"a string has units of %u bytes, not 1, 2 or 4\n"
				"set unit_size to the bytes of a unit",
				unit);
	ret = visit_encoder_put_number(encoder, unit, 1, step);
	if (!ret)
		ret = visit_encoder_put_number(encoder, string->byte_order.v, 1, step);
	return ret ? ret : visit_encoder_put_units(encoder, SLOT(encoder, string->p), unit, step);
}
