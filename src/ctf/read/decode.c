/* SPDX-License-Identifier: MIT */
/*
 * Decodes bits to values.
 *
 * The data is not trusted: the decoder checks every read against the end of the packet's content,
 * every count against the remaining bits, and the number of values against a limit.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/read/decode.h"
#include "ctf/read/decode-ctf2.h"
#include "ctf/type.h"

/* Limit of the values of one event; no record that fits a ring needs more. */
#define CTF_VALUES_MAX (1u << 21)
/* Value of a length or tag in an option that was not selected. */
#define NOT_DECODED UINT64_MAX
/* Limit of elements of zero bits in one array. */
#define CTF_EMPTY_MAX (1u << 20)

static int ctf_decode_value(struct ctf_decoder *d, const struct ctf_type *type,
		const struct ctf_member *member);

/* ---- bits ---- */

static uint64_t ctf_decode_read_bytes(const uint8_t *at, unsigned int size, bool big_endian)
{
	uint64_t u64;
	uint32_t u32;
	uint16_t u16;

	switch (size) {
	case 1: return *at;
	case 2: memcpy(&u16, at, 2); return big_endian ? be16toh(u16) : le16toh(u16);
	case 4: memcpy(&u32, at, 4); return big_endian ? be32toh(u32) : le32toh(u32);
	default: memcpy(&u64, at, 8); return big_endian ? be64toh(u64) : le64toh(u64);
	}
}

/*
 * Little-endian fields use the bits of a byte from the lowest up, big-endian ones from the highest
 * down.
 */
static uint64_t ctf_decode_read_bits(const uint8_t *base, uint64_t limit, uint64_t at,
		unsigned int size, bool big_endian)
{
	const uint8_t *first = base + at / 8;
	unsigned int shift = at % 8, bytes = (shift + size + 7) / 8;
	unsigned __int128 bits = 0;

	if (bytes <= 8 && at / 8 + 8 <= limit) {
		uint64_t word = ctf_decode_read_bytes(first, 8, big_endian);

		word = big_endian ? word << shift >> (64 - size) : word >> shift;
		return size == 64 ? word : word & ((UINT64_C(1) << size) - 1);
	}
	for (unsigned int i = 0; i < bytes; i++)
		bits |= (unsigned __int128)first[i] << 8 * (big_endian ? bytes - 1 - i : i);
	bits >>= big_endian ? bytes * 8 - shift - size : shift;
	return size == 64 ? (uint64_t)bits : (uint64_t)bits & ((UINT64_C(1) << size) - 1);
}

uint64_t ctf_read_integer(
		const uint8_t *base, uint64_t limit, uint64_t at, const struct ctf_type *type)
{
	unsigned int size = type->size;
	uint64_t number;

	if (at % 8 == 0 && (size == 8 || size == 16 || size == 32 || size == 64))
		number = ctf_decode_read_bytes(base + at / 8, size / 8, type->big_endian);
	else
		number = ctf_decode_read_bits(base, limit, at, size, type->big_endian);
	if (__builtin_expect(type->reversed, 0))
		number = ctf_reverse_bits(number, size);
	if (type->is_signed && size < 64 && type->kind != CTF_FLOAT && number >> (size - 1))
		number |= ~UINT64_C(0) << size;
	return number;
}

void ctf_value_set(struct ctf_value *value, const struct ctf_type *type, uint64_t number)
{
	uint32_t u32 = (uint32_t)number;
	float single;

	value->u = number;
	if (type->kind != CTF_FLOAT)
		return;
	if (type->size == 64) {
		memcpy(&value->f, &number, sizeof(value->f));
		return;
	}
	memcpy(&single, &u32, sizeof(single));
	value->f = (double)single;
}

/* ---- values ---- */

static int ctf_decode_set_error(struct ctf_decoder *d, const char *why)
{
	d->why = why;
	return -EINVAL;
}

/* A field ends beyond the available data; with more bytes it might be complete. */
static int fail_beyond(struct ctf_decoder *d, const char *why)
{
	d->beyond = true;
	return ctf_decode_set_error(d, why);
}

/* Make space for one more value. 0 or a negative errno. */
static int ctf_decode_grow_values(struct ctf_decoder *d)
{
	uint32_t capacity = d->capacity ? d->capacity * 2 : 64;
	struct ctf_value *values;

	if (d->count >= CTF_VALUES_MAX)
		return ctf_decode_set_error(d, "an event has too many values");
	values = realloc(d->values, capacity * sizeof(*values));
	if (!values)
		return -ENOMEM;
	d->values = values;
	d->capacity = capacity;
	return 0;
}

static inline int ctf_decode_add_value(struct ctf_decoder *d, const struct ctf_type *type,
		const struct ctf_member *member, struct ctf_value **ret_value)
{
	if (__builtin_expect(d->count == d->capacity, 0)) {
		int ret = ctf_decode_grow_values(d);

		if (ret)
			return ret;
	}
	*ret_value = &d->values[d->count++];
	(*ret_value)->type = type;
	(*ret_value)->member = member;
	(*ret_value)->count = 0;
	(*ret_value)->span = 1;
	(*ret_value)->packed = false;
	(*ret_value)->is_text = false;
	return 0;
}

static inline int align_to(struct ctf_decoder *d, uint32_t align)
{
	uint64_t at = ((d->origin + d->at + align - 1) & ~((uint64_t)align - 1)) - d->origin;

	if (at > d->end)
		return fail_beyond(d, "a field is beyond the end of the packet");
	d->at = at;
	return 0;
}

/* The low bits replace those of the clock; a smaller value means that they wrapped once. */
static void move_clock(struct ctf_decoder *d, unsigned int size, uint64_t number)
{
	uint64_t step, mask;

	if (size >= 64) {
		d->clock = number;
		return;
	}
	step = UINT64_C(1) << size;
	mask = step - 1;
	number &= mask;
	d->clock = (d->clock & ~mask) + number + (number < (d->clock & mask) ? step : 0);
}

static void note_role(struct ctf_decoder *d, const struct ctf_member *member, uint64_t number)
{
	enum ctf_role role = member->role;

	if (role == CTF_ROLE_EVENT_ID)
		d->event_id = number;
	if (!d->packet)
		return;
	d->packet->seen |= 1u << role;
	d->packet->values[role] = number;
	if (role == CTF_ROLE_EVENTS_DISCARDED)
		d->packet->discarded_size = member->type->size;
	else if (role == CTF_ROLE_PACKET_SEQ_NUM)
		d->packet->sequence_size = member->type->size;
}

/* If both byte orders were used within one byte, two fields would share bits, or bits would belong
   to no field. */
static bool begins_wrong(const struct ctf_decoder *d, const struct ctf_type *type)
{
	uint64_t bit = d->origin + d->at;

	return bit % 8 && bit / 8 == d->partial / 8 && type->big_endian != d->partial_big_endian;
}

/* Note a number whose end does not fill its last byte. */
static void note_partial(struct ctf_decoder *d, const struct ctf_type *type)
{
	if (d->at % 8 == 0)
		return;
	d->partial = d->origin + d->at;
	d->partial_big_endian = type->big_endian;
}

static int decode_number(
		struct ctf_decoder *d, const struct ctf_type *type, const struct ctf_member *member)
{
	struct ctf_value *value;
	unsigned int size = type->size;
	uint64_t number;
	int ret = align_to(d, type->align);

	if (!ret)
		ret = ctf_decode_add_value(d, type, member, &value);
	if (ret)
		return ret;
	if (__builtin_expect(type->leb128, 0)) {
		size = ctf_decode_leb128(d, type, &number);
		if (!size)
			return -EINVAL;
	} else {
		if (d->end - d->at < size)
			return fail_beyond(d, "a number is beyond the end of the packet");
		if (begins_wrong(d, type))
			return ctf_decode_set_error(d, "the byte order changes within a byte");
		number = ctf_read_integer(d->base, d->limit, d->at, type);
		d->at += size;
		note_partial(d, type);
	}
	ctf_value_set(value, type, number);
	if (type->clock && d->runs_clock)
		move_clock(d, size, number);
	if (member && member->slot >= 0)
		d->slots[member->slot] = number;
	if (member && member->role)
		note_role(d, member, number);
	return 0;
}

static int ctf_decode_string(
		struct ctf_decoder *d, const struct ctf_type *type, const struct ctf_member *member)
{
	struct ctf_value *value;
	const uint8_t *text, *end;
	int ret = align_to(d, 8);

	if (!ret)
		ret = ctf_decode_add_value(d, type, member, &value);
	if (ret)
		return ret;
	if (type->encoding)
		return ctf_decode_wide_string(d, type, value);
	text = d->base + d->at / 8;
	end = memchr(text, 0, (d->end - d->at) / 8);
	if (!end)
		return fail_beyond(d, "a string has no end in the packet");
	value->text = (const char *)text;
	value->size = (uint64_t)(end - text);
	value->is_text = true;
	d->at += (value->size + 1) * 8;
	return 0;
}

static inline uint64_t load_fast(const uint8_t *at, uint8_t fast)
{
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;

	switch (fast) {
	case 1: return *at;
	case 2: memcpy(&u16, at, 2); return u16;
	case 4: memcpy(&u32, at, 4); return u32;
	case 0x81: return (uint64_t)(int64_t)(int8_t)*at;
	case 0x82: memcpy(&u16, at, 2); return (uint64_t)(int64_t)(int16_t)u16;
	case 0x84: memcpy(&u32, at, 4); return (uint64_t)(int64_t)(int32_t)u32;
	default: memcpy(&u64, at, 8); return u64;
	}
}

/* Decode an integer that needs only a load, if it is complete; false: the caller must use the
   general decoder. */
static inline bool decode_fast(struct ctf_decoder *d, const struct ctf_member *member)
{
	const struct ctf_type *type = member->type;
	uint64_t at = (d->at + 7) & ~UINT64_C(7), number;
	struct ctf_value *value = &d->values[d->count];

	if (!type->fast || member->role || d->count == d->capacity || at > d->end ||
			d->end - at < type->size)
		return false;
	number = load_fast(d->base + at / 8, type->fast);
	d->at = at + type->size;
	d->count++;
	if (member->slot >= 0)
		d->slots[member->slot] = number;
	*value = (struct ctf_value){.type = type, .member = member, .u = number, .span = 1};
	return true;
}

static int ctf_decode_struct(
		struct ctf_decoder *d, const struct ctf_type *type, const struct ctf_member *member)
{
	uint32_t index = d->count;
	struct ctf_value *value;
	int ret = align_to(d, type->align);

	if (!ret)
		ret = ctf_decode_add_value(d, type, member, &value);
	if (ret)
		return ret;
	value->count = type->member_count;
	for (uint32_t i = 0; i < type->member_count; i++) {
		const struct ctf_member *inner = &type->members[i];

		if (decode_fast(d, inner))
			continue;
		ret = ctf_decode_value(d, inner->type, inner);
		if (ret)
			return ret;
	}
	d->values[index].span = d->count - index;
	return 0;
}

static int ctf_decode_variant(
		struct ctf_decoder *d, const struct ctf_type *type, const struct ctf_member *member)
{
	uint64_t tag = d->slots[type->slot];
	uint32_t index = d->count;
	struct ctf_value *value;
	int ret = ctf_decode_add_value(d, type, member, &value);

	if (ret)
		return ret;
	for (const struct ctf_guard *guard = type->guards; guard; guard = guard->next)
		d->slots[guard->slot] = NOT_DECODED;
	for (uint32_t i = 0; i < type->range_count; i++) {
		const struct ctf_option_range *range = &type->ranges[i];
		const struct ctf_member *option;
		bool hit = type->tag_signed ? (int64_t)tag >= (int64_t)range->begin &&
						(int64_t)tag <= (int64_t)range->end
					    : tag >= range->begin && tag <= range->end;

		if (!hit)
			continue;
		option = &type->members[range->option];
		value->count = 1;
		ret = ctf_decode_value(d, option->type, option);
		d->values[index].span = d->count - index;
		return ret;
	}
	return ctf_decode_set_error(d, "no option belongs to the tag of a variant");
}

static bool is_packed(const struct ctf_type *element)
{
	return (element->kind == CTF_INTEGER || element->kind == CTF_ENUM ||
			       element->kind == CTF_FLOAT) &&
			!element->leb128;
}

static int decode_packed(struct ctf_decoder *d, struct ctf_value *value, uint64_t length)
{
	const struct ctf_type *element = value->type->element;
	uint64_t stride = ctf_packed_stride(element), left = d->end - d->at;
	const uint8_t *bytes = d->base + d->at / 8;

	/* The last element needs no padding. */
	if (length && (left < element->size || length - 1 > (left - element->size) / stride))
		return fail_beyond(d, "an array is longer than the packet");
	if (length && begins_wrong(d, element))
		return ctf_decode_set_error(d, "the byte order changes within a byte");
	value->count = (uint32_t)length;
	value->packed = true;
	if (element->text && value->type->encoding) {
		int ret = ctf_decode_wide_text(d, value->type, value, bytes, length);

		if (ret)
			return ret;
		/* The elements are the bytes of the UTF-8 text. */
		value->count = (uint32_t)value->size;
	} else if (element->text && d->at % 8 == 0 && stride == 8) {
		value->is_text = true;
		value->text = (const char *)bytes;
		value->size = strnlen(value->text, length);
	} else {
		value->base = d->base;
		value->bit = d->at;
	}
	if (length) {
		d->at += (length - 1) * stride + element->size;
		note_partial(d, element);
	}
	return 0;
}

static void note_uuid(struct ctf_packet_fields *packet, const struct ctf_value *value)
{
	const struct ctf_value *byte;
	struct ctf_cursor cursor;
	unsigned int at = 0;

	ctf_cursor_start(&cursor, value);
	while (at < sizeof(packet->uuid) && (byte = ctf_cursor_next(&cursor)))
		packet->uuid[at++] = (uint8_t)byte->u;
	packet->seen |= 1u << CTF_ROLE_UUID;
}

static int ctf_decode_array(
		struct ctf_decoder *d, const struct ctf_type *type, const struct ctf_member *member)
{
	uint64_t length = type->kind == CTF_ARRAY ? type->length : d->slots[type->slot];
	const struct ctf_type *element = type->element;
	uint32_t index = d->count;
	struct ctf_value *value;
	int ret = align_to(d, type->align);

	if (!ret)
		ret = ctf_decode_add_value(d, type, member, &value);
	if (ret)
		return ret;
	if (length == NOT_DECODED)
		return ctf_decode_set_error(d,
				"the length of an array is in a variant option that is not selected");
	if (length > UINT32_MAX)
		return ctf_decode_set_error(d, "an array is longer than the packet");
	if (is_packed(element)) {
		ret = decode_packed(d, value, length);
		if (!ret && member && member->role == CTF_ROLE_UUID && d->packet)
			note_uuid(d->packet, value);
		return ret;
	}
	if (element->min_bits && length > (d->end - d->at) / element->min_bits)
		return fail_beyond(d, "an array is longer than the packet");
	if (!element->min_bits && length > CTF_EMPTY_MAX)
		return ctf_decode_set_error(d, "an array of empty elements is too long");
	value->count = (uint32_t)length;
	for (uint64_t i = 0; i < length; i++) {
		ret = ctf_decode_value(d, element, NULL);
		if (ret)
			return ret;
	}
	d->values[index].span = d->count - index;
	return 0;
}

static int ctf_decode_value(
		struct ctf_decoder *d, const struct ctf_type *type, const struct ctf_member *member)
{
	switch (type->kind) {
	case CTF_INTEGER:
	case CTF_ENUM:
	case CTF_FLOAT: return decode_number(d, type, member);
	case CTF_STRING: return ctf_decode_string(d, type, member);
	case CTF_STRUCT: return ctf_decode_struct(d, type, member);
	case CTF_VARIANT: return ctf_decode_variant(d, type, member);
	case CTF_ARRAY:
	case CTF_SEQUENCE: return ctf_decode_array(d, type, member);
	}
	return ctf_decode_set_error(d, "a type is not known");
}

int ctf_decode(struct ctf_decoder *decoder, const struct ctf_type *type, uint32_t *ret_index)
{
	*ret_index = decoder->count;
	if (!decoder->count && decoder->texts) /* Texts of the previous event. */
		ctf_decoder_drop_texts(decoder);
	return ctf_decode_value(decoder, type, NULL);
}
