/* SPDX-License-Identifier: MIT */
/* Reads the untrusted input of the decoder, and allocates its memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/decode.h"

/* ---- memory ---- */

void *visit_decoder_take(struct decoder *decoder, size_t size)
{
	struct decode_chunk *chunk = decoder->owned->chunks;
	size_t wanted;
	void *memory;

	size = (size + 15) & ~(size_t)15;
	if (!chunk || chunk->size - chunk->used < size) {
		wanted = size > 4096 ? size : 4096;
		chunk = malloc(sizeof(*chunk) + wanted);
		if (!chunk)
			return NULL;
		chunk->next = decoder->owned->chunks;
		chunk->used = 0;
		chunk->size = wanted;
		decoder->owned->chunks = chunk;
	}
	memory = chunk->bytes + chunk->used;
	chunk->used += size;
	return memset(memory, 0, size);
}

int visit_decoder_no_memory(struct decoder *decoder, const struct visit_step *step)
{
	return visit_fail(decoder->error, step, -ENOMEM, "out of memory for the description");
}

/* ---- numbers and strings ---- */

int visit_decoder_truncated(struct decoder *decoder, const struct visit_step *step)
{
	return visit_fail(decoder->error, step, -EINVAL, "the encoded description is cut off");
}

int visit_decoder_get_number(struct decoder *decoder, unsigned int size, uint64_t *ret_number,
		const struct visit_step *step)
{
	unsigned int i;

	if (decoder->left < size)
		return visit_decoder_truncated(decoder, step);
	*ret_number = 0;
	for (i = 0; i < size; i++)
		*ret_number |= (uint64_t)decoder->at[i] << (8 * i);
	decoder->at += size;
	decoder->left -= size;
	return 0;
}

int visit_decoder_get_count(struct decoder *decoder, size_t min, uint32_t *ret_count,
		const struct visit_step *step)
{
	int ret = GET(decoder, 4, *ret_count, step);

	if (ret)
		return ret;
	if (*ret_count > decoder->left / min)
		return visit_decoder_truncated(decoder, step);
	if (*ret_count > decoder->nodes)
		return visit_fail(decoder->error, step, -E2BIG,
				"the description has more than %u parts", VISIT_NODES_MAX);
	decoder->nodes -= *ret_count;
	return 0;
}

int visit_decoder_get_units(struct decoder *decoder, unsigned int unit, const void **ret_string,
		const struct visit_step *step)
{
	uint32_t length, i;
	unsigned char *copy;
	int ret = GET(decoder, 4, length, step);

	if (ret)
		return ret;
	if (length == CODEC_NULL) {
		*ret_string = NULL;
		return 0;
	}
	if (length > decoder->left)
		return visit_decoder_truncated(decoder, step);
	if (length % unit)
		return visit_fail(decoder->error, step, -EINVAL,
				"a string of %u bytes does not hold units of %u bytes", length,
				unit);
	copy = visit_decoder_take(decoder, (size_t)length + unit);
	if (!copy)
		return visit_decoder_no_memory(decoder, step);
	memcpy(copy, decoder->at, length);
	for (i = 0; i < length; i += unit) {
		static const unsigned char zero[4];

		if (!memcmp(copy + i, zero, unit))
			return visit_fail(decoder->error, step, -EINVAL,
					"a string holds a terminator");
	}
	decoder->at += length;
	decoder->left -= length;
	*ret_string = copy;
	return 0;
}

int visit_decoder_get_raw_string(struct decoder *decoder, struct side_type_raw_string *string,
		const struct visit_step *step)
{
	const void *units;
	int ret = GET(decoder, 1, string->unit_size, step);

	if (!ret)
		ret = GET(decoder, 1, string->byte_order.v, step);
	if (ret)
		return ret;
	if (string->unit_size != 1 && string->unit_size != 2 && string->unit_size != 4)
		return visit_fail(decoder->error, step, -EINVAL,
				"a string has units of %u bytes, not 1, 2 or 4", string->unit_size);
	ret = visit_decoder_get_units(decoder, string->unit_size, &units, step);
	if (!ret) /* NOLINTNEXTLINE(clang-analyzer-core.*): visit_fail() never returns 0 */
		side_ptr_set(string->p, units);
	return ret;
}
