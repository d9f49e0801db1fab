/* SPDX-License-Identifier: MIT */
/* Iterates over decoded values. */
#include <string.h>

#include "ctf/read/decode.h"

void ctf_cursor_start(struct ctf_cursor *cursor, const struct ctf_value *parent)
{
	cursor->parent = parent;
	cursor->next = parent + 1;
	cursor->index = 0;
	cursor->left = parent->count;
}

static const struct ctf_value *next_packed(struct ctf_cursor *cursor)
{
	const struct ctf_value *array = cursor->parent;
	const struct ctf_type *element = array->type->element;
	const uint8_t *base = array->is_text ? (const uint8_t *)array->text : array->base;
	uint64_t at = array->is_text ? 0 : array->bit;
	uint64_t limit;

	at += ctf_packed_stride(element) * cursor->index;
	limit = (at + element->size + 7) / 8;
	cursor->scratch = (struct ctf_value){.type = element, .span = 1};
	ctf_value_set(&cursor->scratch, element, ctf_read_integer(base, limit, at, element));
	return &cursor->scratch;
}

const struct ctf_value *ctf_cursor_next(struct ctf_cursor *cursor)
{
	const struct ctf_value *value;

	if (!cursor->left)
		return NULL;
	cursor->left--;
	if (cursor->parent->packed) {
		value = next_packed(cursor);
	} else {
		value = cursor->next;
		cursor->next += value->span;
	}
	cursor->index++;
	return value;
}

uint32_t ctf_value_integers(const struct ctf_value *array, uint32_t from, uint64_t *ret_numbers,
		uint32_t capacity)
{
	const struct ctf_type *element = array->type->element;
	const uint8_t *base = array->is_text ? (const uint8_t *)array->text : array->base;
	uint64_t at = array->is_text ? 0 : array->bit, stride;
	uint32_t count;

	if (!array->packed || element->kind == CTF_FLOAT || from >= array->count)
		return 0;
	count = array->count - from < capacity ? array->count - from : capacity;
	stride = ctf_packed_stride(element);
	at += stride * from;
	if (element->size == 8 && stride == 8 && at % 8 == 0 && !element->is_signed &&
			!element->reversed) {
		for (uint32_t i = 0; i < count; i++)
			ret_numbers[i] = base[at / 8 + i];
		return count;
	}
	for (uint32_t i = 0; i < count; i++, at += stride)
		ret_numbers[i] = ctf_read_integer(base, (at + element->size + 7) / 8, at, element);
	return count;
}

const char *ctf_value_label(const struct ctf_value *value, uint32_t *at)
{
	const struct ctf_type *type = value->type;

	while (type->kind == CTF_ENUM && *at < type->label_count) {
		const struct ctf_label *label = &type->labels[(*at)++];

		if (type->is_signed ? value->s >= (int64_t)label->begin &&
								value->s <= (int64_t)label->end
				    : value->u >= label->begin && value->u <= label->end)
			return label->text;
	}
	return NULL;
}

const struct ctf_value *ctf_value_member(const struct ctf_value *structure, const char *name)
{
	const struct ctf_value *value = structure + 1;

	if (structure->type->kind != CTF_STRUCT)
		return NULL;
	for (uint32_t i = 0; i < structure->count; i++, value += value->span) {
		if (strcmp(value->member->name, name) == 0)
			return value;
	}
	return NULL;
}
