/* SPDX-License-Identifier: MIT */
/* Converts the values of an EventHeader record to the types of eventheader.c. */
#include <errno.h>

#include "kernel-events/eventheader.h"
#include "kernel-events/eventheader-parts.h"

struct eventheader_reader {
	const struct eventheader_node *nodes;
	const uint8_t *at, *end;
	struct byte_buffer *to;
	size_t limit; /* of the output's size */
	bool is_swapped;
};

static size_t eventheader_value_left(const struct eventheader_reader *r)
{
	return (size_t)(r->end - r->at);
}

static bool eventheader_value_read_u16(struct eventheader_reader *r, uint16_t *ret_value)
{
	if (eventheader_value_left(r) < sizeof(*ret_value))
		return false;
	*ret_value = eventheader_u16(r->at, r->is_swapped);
	r->at += sizeof(*ret_value);
	return true;
}

/* ---- strings: always UTF-8 with a terminating zero ---- */

static void eventheader_value_append_utf8(struct byte_buffer *to, uint32_t c)
{
	uint8_t text[4];
	size_t size = 1;

	if (c > 0x10ffff)
		c = 0xfffd;
	if (c < 0x80) {
		text[0] = (uint8_t)c;
	} else if (c < 0x800) {
		text[0] = (uint8_t)(0xc0 | c >> 6);
		size = 2;
	} else if (c < 0x10000) {
		text[0] = (uint8_t)(0xe0 | c >> 12);
		size = 3;
	} else {
		text[0] = (uint8_t)(0xf0 | c >> 18);
		size = 4;
	}
	for (size_t i = size - 1, remainder = c; i > 0; i--, remainder >>= 6)
		text[i] = (uint8_t)(0x80 | (remainder & 0x3f));
	bytes_put(to, text, size);
}

static uint32_t eventheader_value_read_unit(const uint8_t *from, unsigned int size, bool is_swapped)
{
	if (size == 1)
		return *from;
	return size == 2 ? eventheader_u16(from, is_swapped) : eventheader_u32(from, is_swapped);
}

/* Append up to the first zero: a CTF string ends there. */
static void eventheader_value_append_text(
		struct eventheader_reader *r, size_t count, unsigned int size, bool latin)
{
	const uint8_t *from = r->at;
	size_t i;

	for (i = 0; i < count; i++) {
		uint32_t c = eventheader_value_read_unit(from + i * size, size, r->is_swapped), low;

		if (!c)
			break;
		if (size == 1 && !latin) {
			bytes_put(r->to, from + i, 1);
			continue;
		}
		if (size == 2 && c >= 0xd800 && c < 0xdc00 && i + 1 < count) {
			low = eventheader_value_read_unit(
					from + (i + 1) * size, size, r->is_swapped);
			if (low >= 0xdc00 && low < 0xe000) {
				c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
				i++;
			}
		}
		eventheader_value_append_utf8(r->to, c);
	}
	bytes_put_zeros(r->to, 1);
}

static int eventheader_value_read_text(
		struct eventheader_reader *r, const struct eventheader_node *node)
{
	bool latin = node->format == EH_FORMAT_TEXT8;
	uint16_t counted;
	size_t count = 0;

	if (node->encoding >= EH_COUNTED8) {
		if (!eventheader_value_read_u16(r, &counted) ||
				eventheader_value_left(r) / node->size < counted)
			return -EINVAL;
		count = counted;
		eventheader_value_append_text(r, count, node->size, latin);
	} else {
		while (count < eventheader_value_left(r) / node->size &&
				eventheader_value_read_unit(r->at + count * node->size, node->size,
						r->is_swapped))
			count++;
		if (count == eventheader_value_left(r) / node->size)
			return -EINVAL;
		eventheader_value_append_text(r, count, node->size, latin);
		count++; /* the terminating zero */
	}
	r->at += count * node->size;
	return 0;
}

/* ---- other values ---- */

/*
 * Append `size` bytes: in their order, or in reverse order if `turn` (a value of the other byte
 * order).
 */
static void eventheader_value_append_bytes(
		struct byte_buffer *to, const uint8_t *from, size_t size, bool turn)
{
	uint8_t *at = bytes_grow(to, size);

	for (size_t i = 0; at && i < size; i++)
		at[i] = from[turn ? size - 1 - i : i];
}

/*
 * False for bytes that are strings or network addresses: they have the same order on all machines.
 */
static bool eventheader_value_has_byte_order(const struct eventheader_node *node)
{
	switch (node->format) {
	case EH_FORMAT_HEX_BYTES: return false;
	case EH_FORMAT_IP:
	case EH_FORMAT_IP_OLD: return node->size != 4;
	case EH_FORMAT_PORT: return node->size != 2;
	default: return node->size <= 8;
	}
}

/* Convert `size` bytes to a number of 8 bytes. Returns false if there is no number of this size. */
static bool eventheader_value_sign_extend(const uint8_t *from, uint16_t size, uint8_t format,
		bool is_swapped, uint64_t *ret_value)
{
	bool is_signed = format == EH_FORMAT_SIGNED || format == EH_FORMAT_ERRNO ||
			format == EH_FORMAT_PID || format == EH_FORMAT_TIME;
	bool big = CTF_HOST_BIG_ENDIAN != is_swapped;
	uint32_t half;
	double number;
	float small;

	*ret_value = 0;
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return false;
	for (uint16_t i = 0; i < size; i++)
		*ret_value |= (uint64_t)from[big ? size - 1 - i : i] << 8 * i;
	if (format == EH_FORMAT_FLOAT) {
		if (size == sizeof(small)) {
			half = (uint32_t)*ret_value;
			memcpy(&small, &half, sizeof(small));
			number = small;
			memcpy(ret_value, &number, sizeof(number));
		}
		return size >= sizeof(small);
	}
	if (is_signed && size < 8)
		*ret_value = (uint64_t)((int64_t)(*ret_value << (64 - 8 * size)) >>
				(64 - 8 * size));
	return true;
}

static int eventheader_value_read_optional(
		struct eventheader_reader *r, const struct eventheader_node *node)
{
	uint8_t tag = 1;
	uint16_t size;
	uint64_t value;

	if (!eventheader_value_read_u16(r, &size) || eventheader_value_left(r) < size)
		return -EINVAL;
	if (!size) {
		bytes_put_zeros(r->to, 1);
		return 0;
	}
	/* The type of the field can hold only numbers of the known sizes. */
	if (!eventheader_value_sign_extend(r->at, size, node->format, r->is_swapped, &value))
		return -EINVAL;
	r->at += size;
	bytes_put(r->to, &tag, 1);
	if (node->format == EH_FORMAT_BOOLEAN) {
		tag = value > UINT8_MAX ? UINT8_MAX : (uint8_t)value;
		bytes_put(r->to, &tag, 1);
	} else {
		bytes_put(r->to, &value, sizeof(value));
	}
	return 0;
}

static int eventheader_value_read_bytes(struct eventheader_reader *r)
{
	uint16_t size;

	if (!eventheader_value_read_u16(r, &size) || eventheader_value_left(r) < size)
		return -EINVAL;
	bytes_put(r->to, &size, sizeof(size));
	bytes_put(r->to, r->at, size);
	r->at += size;
	return 0;
}

static int eventheader_value_read_fields(
		struct eventheader_reader *r, uint32_t begin, uint32_t end);

static int eventheader_value_read(struct eventheader_reader *r, uint32_t index)
{
	const struct eventheader_node *node = &r->nodes[index];

	/* The limit also ends a huge array of structures that occupy no bytes of the payload. */
	if (r->to->size > r->limit || r->to->failed)
		return -EINVAL;
	switch (node->form) {
	case EH_FORM_STRUCT: return eventheader_value_read_fields(r, index + 1, node->end);
	case EH_FORM_TEXT: return eventheader_value_read_text(r, node);
	case EH_FORM_BYTES: return eventheader_value_read_bytes(r);
	case EH_FORM_OPTIONAL: return eventheader_value_read_optional(r, node);
	case EH_FORM_COPY: break;
	}
	if (eventheader_value_left(r) < node->size)
		return -EINVAL;
	eventheader_value_append_bytes(r->to, r->at, node->size,
			r->is_swapped && eventheader_value_has_byte_order(node));
	r->at += node->size;
	return 0;
}

static int eventheader_value_read_field(struct eventheader_reader *r, uint32_t index)
{
	const struct eventheader_node *node = &r->nodes[index];
	uint16_t count = 1;
	int ret = 0;

	if (node->array == EH_FIXED_ARRAY)
		count = node->count;
	if (node->array == EH_COUNTED_ARRAY) {
		if (!eventheader_value_read_u16(r, &count))
			return -EINVAL;
		bytes_put(r->to, &count, sizeof(count));
	}
	while (count-- && !ret)
		ret = eventheader_value_read(r, index);
	return ret;
}

static int eventheader_value_read_fields(struct eventheader_reader *r, uint32_t begin, uint32_t end)
{
	int ret = 0;

	for (uint32_t i = begin; i < end && !ret; i = r->nodes[i].end)
		ret = eventheader_value_read_field(r, i);
	return ret;
}

int eventheader_convert(const struct eventheader_class *class, const struct eventheader *header,
		struct byte_buffer *to)
{
	struct eventheader_reader reader = {
			.nodes = class->nodes,
			.at = header->payload,
			.end = header->payload + header->payload_size,
			.to = to,
			.limit = to->size + EVENTHEADER_BYTES_MAX,
			.is_swapped = header->is_swapped,
	};
	size_t before = to->size;
	int ret = eventheader_value_read_fields(&reader, 0, class->nr_nodes);

	if (ret)
		to->size = before;
	return ret;
}
