/* SPDX-License-Identifier: MIT */
/*
 * Writes records of simple plain fields without a walk over descriptions: numbers that the record
 * copies from the argument, and 8-bit strings.
 *
 * Any other case (an unexpected label, a NULL string, a record that becomes too long) is left to
 * native.c, which handles all of them, including errors.
 */
#include <string.h>

#include "tracers/user-events/user-events.h"

static bool user_events_quick_is_whole_integer(const struct side_type_integer *type)
{
	return type->integer_size <= 8 &&
			(!type->len_bits || type->len_bits == 8 * type->integer_size) &&
			side_enum_get(type->byte_order) == SIDE_TYPE_BYTE_ORDER_HOST;
}

static bool user_events_quick_prepare_field(
		struct kernel_quick *quick, const struct side_type *type)
{
	unsigned int label = side_enum_get(type->type);

	quick->label = (uint16_t)label;
	quick->size = 0;
	switch (label) {
	case SIDE_TYPE_BYTE: quick->size = 1; return true;
	case SIDE_TYPE_FLOAT_BINARY32:
	case SIDE_TYPE_FLOAT_BINARY64:
		quick->size = (uint8_t)type->u.side_float.float_size;
		return (quick->size == 4 || quick->size == 8) &&
				side_enum_get(type->u.side_float.byte_order) ==
				SIDE_TYPE_FLOAT_WORD_ORDER_HOST;
	case SIDE_TYPE_STRING_UTF8: return type->u.side_string.unit_size == 1;
	default:
		if (label != SIDE_TYPE_POINTER && !visit_label_is_integer(label))
			return false;
		quick->size = (uint8_t)type->u.side_integer.integer_size;
		return user_events_quick_is_whole_integer(&type->u.side_integer);
	}
}

void quick_prepare(struct user_event *event)
{
	uint32_t i, nr = side_array_length(&event->desc->fields);

	event->nr_quick = 0;
	if (nr > KERNEL_QUICK_MAX)
		return;
	for (i = 0; i < nr; i++) {
		if (!user_events_quick_prepare_field(&event->quick[i],
				    &side_array_at(&event->desc->fields, i)->side_type))
			return;
	}
	event->nr_quick = (uint8_t)nr;
}

/* Append the string with its zero, and write the word that refers to it. */
static bool user_events_quick_write_text(
		struct user_event_bytes *bytes, size_t fixed, const char *text)
{
	size_t capacity = bytes->capacity - bytes->size, size;
	uint32_t word;

	if (!text)
		return false;
	size = strnlen(text, capacity);
	if (size == capacity)
		return false;
	memcpy(bytes->at + bytes->size, text, size + 1);
	/* The offset counts from the end of the word. */
	word = (uint32_t)((size + 1) << 16 | (bytes->size - (fixed + sizeof(word))));
	memcpy(bytes->at + fixed, &word, sizeof(word));
	bytes->size += size + 1;
	return true;
}

bool quick_record(const struct kernel_call *call, struct user_event_bytes *bytes)
{
	const struct user_event *event = call->event;
	const struct side_arg *args = side_ptr_get(call->args->sav);
	size_t fixed = 0;
	unsigned int i;

	if (!event->nr_quick || call->args->len != event->nr_quick || !args)
		return false;
	bytes->size = event->fixed_size;
	for (i = 0; i < event->nr_quick; i++) {
		const struct kernel_quick *quick = &event->quick[i];

		if (side_enum_get(args[i].type) != quick->label)
			return false;
		if (quick->size)
			/* All scalars are at the same offset of the argument. */
			memcpy(bytes->at + fixed, &args[i].u.side_static, quick->size);
		else if (!user_events_quick_write_text(bytes, fixed,
					 side_ptr_get(args[i].u.side_static.string_value)))
			return false;
		fixed += quick->size ? quick->size : sizeof(uint32_t);
	}
	return true;
}
