/* SPDX-License-Identifier: MIT */
/* Walking over the values of an event, by its description or as plain CTF. */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/side/view-show.h"

/* ---- numbers ---- */

struct visit_value view_number_of(const struct ctf_value *value)
{
	const struct ctf_type *type = value->type;
	struct visit_value number = {
			.kind = type->is_signed ? VISIT_SIGNED : VISIT_UNSIGNED,
			.size = type->size <= 8            ? 1
					: type->size <= 16 ? 2
					: type->size <= 32 ? 4
							   : 8,
			.bits = type->size,
			.lo = value->u,
	};
	float single;

	if (type->kind == CTF_FLOAT) {
		number.kind = VISIT_FLOAT;
		number.lo = 0;
		if (type->size == 32) {
			single = (float)value->f;
			memcpy(number.bytes, &single, sizeof(single));
		} else {
			memcpy(number.bytes, &value->f, sizeof(value->f));
		}
	} else if (type->is_signed && value->s < 0) {
		number.hi = UINT64_MAX;
	}
	return number;
}

static struct visit_value number_of_halves(const struct ctf_value *value)
{
	const struct ctf_value *first = value + 1, *second = first + first->span;
	bool low_first = strcmp(first->member->name, "_lo") == 0;
	const struct ctf_value *low = low_first ? first : second,
			       *high = low_first ? second : first;

	return (struct visit_value){
			.kind = high->type->is_signed ? VISIT_SIGNED : VISIT_UNSIGNED,
			.size = 16,
			.bits = 128,
			.lo = low->u,
			.hi = high->u,
	};
}

/* 16 bytes, brought to the order of this machine. */
static struct visit_value number_of_bytes(const struct ctf_value *value, bool big_endian)
{
	struct visit_value number = {.kind = VISIT_FLOAT, .size = 16, .bits = 128};
	bool host_big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	const struct ctf_value *byte;
	struct ctf_cursor cursor;
	unsigned int at = 0;

	ctf_cursor_start(&cursor, value + 1);
	while ((byte = ctf_cursor_next(&cursor)) && at < 16) {
		number.bytes[big_endian == host_big_endian ? at : 15 - at] = (unsigned char)byte->u;
		at++;
	}
	return number;
}

size_t view_real_digits(const struct visit_value *value, char out[VISIT_FLOAT_DIGITS_MAX])
{
	int least = value->size == 4 ? 6 : value->size == 8 ? 15 : 33;
	int most = value->size == 4 ? 9 : value->size == 8 ? 17 : 36;
	size_t size = 0;

	for (int digits = least; digits <= most; digits++) {
		size = visit_value_float_digits(value, digits, out);
		if (value->size == 4 ? strtof(out, NULL) == (float)visit_value_double(value)
						: value->size == 8
						? strtod(out, NULL) == visit_value_double(value)
						: strtold(out, NULL) ==
								visit_value_long_double(value))
			break;
	}
	return size;
}

/* ---- attributes ---- */

static void static_attribute(struct view_sink *sink, struct json_object *value)
{
	const char *text;

	switch (json_object_get_type(value)) {
	case json_type_boolean: sink->ops->boolean(sink, json_object_get_boolean(value)); break;
	case json_type_string:
		text = json_object_get_string(value);
		sink->ops->text(sink, text, (size_t)json_object_get_string_len(value));
		break;
	case json_type_int:
		sink->ops->digits(sink, json_object_to_json_string(value), false);
		break;
	default: sink->ops->null(sink); break;
	}
}

void view_static_attributes(struct view_sink *sink, struct json_object *attributes)
{
	struct json_object *attribute, *key = NULL, *value = NULL, *type = NULL;

	sink->ops->attributes_begin(sink);
	for (size_t i = 0; i < json_object_array_length(attributes); i++) {
		attribute = json_object_array_get_idx(attributes, i);
		json_object_object_get_ex(attribute, "key", &key);
		json_object_object_get_ex(attribute, "value", &value);
		json_object_object_get_ex(attribute, "type", &type);
		sink->ops->attribute_begin(sink, (uint32_t)i,
				key ? json_object_get_string(key) : "",
				key ? (size_t)json_object_get_string_len(key) : 0);
		/* Floats and 128-bit integers are strings in JSON, and numbers to people. */
		if (json_object_is_type(value, json_type_string) && type &&
				strcmp(json_object_get_string(type), "string") != 0)
			sink->ops->digits(sink, json_object_get_string(value), true);
		else
			static_attribute(sink, value);
		sink->ops->attribute_end(sink);
	}
	sink->ops->attributes_end(sink);
}

/* ---- by the description ---- */

static bool label_matches(const struct view_label *label, const struct visit_value *number)
{
	int64_t value;

	return visit_value_s64(number, &value) && (int64_t)label->begin <= value &&
			value <= (int64_t)label->end;
}

static struct visit_value number_of(const struct view_show *show, const struct ctf_value *value)
{
	return show->kind == VIEW_SHOW_INT128 ? number_of_halves(value) : view_number_of(value);
}

static void show_enum(struct view_sink *sink, const struct view_show *show,
		const struct ctf_value *value, const struct ctf_value *companion)
{
	struct visit_value number = number_of(show->element, value);
	uint32_t count = 0;

	sink->ops->labels_begin(sink);
	for (uint32_t i = 0; i < show->label_count; i++) {
		const struct view_label *label = &show->labels[i];

		if (label_matches(label, &number))
			sink->ops->label(sink, count++, label->text, strlen(label->text));
	}
	sink->ops->labels_end(sink, count, false);
	view_side_value(sink, show->element, value, companion);
	sink->ops->labelled_end(sink);
}

/* Whether a bit from begin to end (within the item) is set. */
static bool item_has_bits(const struct visit_value *item, unsigned int begin, unsigned int end)
{
	for (unsigned int bit = begin; bit <= end; bit++) {
		if ((bit < 64 ? item->lo >> bit : item->hi >> (bit - 64)) & 1)
			return true;
	}
	return false;
}

/* Bit b of a bitmap is bit b % width of item b / width. */
static bool bitmap_matches(const struct view_show *show, const struct ctf_value *value,
		const struct view_label *label)
{
	bool is_list = show->element->kind == VIEW_SHOW_LIST;
	const struct view_show *item_show = is_list ? show->element->element : show->element;
	const struct ctf_value *item = value;
	struct ctf_cursor cursor = {0};
	uint64_t first = 0;

	if (is_list) {
		ctf_cursor_start(&cursor, value);
		item = ctf_cursor_next(&cursor);
	}
	while (item) {
		unsigned int width = item_show->kind == VIEW_SHOW_INT128 ? 128 : item->type->size;
		uint64_t last = first + width - 1;

		if (label->begin <= last && label->end >= first && label->begin <= label->end) {
			struct visit_value number = number_of(item_show, item);
			uint64_t begin = label->begin > first ? label->begin - first : 0;
			uint64_t end = label->end < last ? label->end - first : width - 1;

			if (item_has_bits(&number, (unsigned int)begin, (unsigned int)end))
				return true;
		}
		first += width;
		if (first > label->end)
			return false;
		item = is_list ? ctf_cursor_next(&cursor) : NULL;
	}
	return false;
}

static void show_bitmap(struct view_sink *sink, const struct view_show *show,
		const struct ctf_value *value, const struct ctf_value *companion)
{
	uint32_t count = 0;

	sink->ops->labels_begin(sink);
	for (uint32_t i = 0; i < show->label_count; i++) {
		const struct view_label *label = &show->labels[i];

		if (bitmap_matches(show, value, label))
			sink->ops->label(sink, count++, label->text, strlen(label->text));
	}
	sink->ops->labels_end(sink, count, true);
	view_side_value(sink, show->element, value, companion);
	sink->ops->labelled_end(sink);
}

static void show_struct(
		struct view_sink *sink, const struct view_show *show, const struct ctf_value *value)
{
	const struct ctf_value *member, *before = NULL;
	struct ctf_cursor cursor;
	uint32_t shown = 0;

	sink->ops->struct_begin(sink);
	ctf_cursor_start(&cursor, value);
	for (uint32_t i = 0; i < show->part_count && (member = ctf_cursor_next(&cursor)); i++) {
		const struct view_show *part = show->parts[i];

		if (part) {
			sink->ops->member(
					sink, shown++, part->name, strlen(part->name), part->copy);
			view_side_value(sink, part, member, before);
		}
		before = member;
	}
	sink->ops->struct_end(sink, shown);
}

static void show_list(
		struct view_sink *sink, const struct view_show *show, const struct ctf_value *value)
{
	const struct ctf_value *element;
	struct ctf_cursor cursor;
	uint32_t shown = 0;

	sink->ops->list_begin(sink);
	ctf_cursor_start(&cursor, value);
	while ((element = ctf_cursor_next(&cursor))) {
		sink->ops->item(sink, shown++);
		view_side_value(sink, show->element, element, NULL);
	}
	sink->ops->list_end(sink, shown);
}

static void show_variant(struct view_sink *sink, const struct view_show *show,
		const struct ctf_value *value, const struct ctf_value *selector)
{
	const struct ctf_value *option = value + 1;
	const struct view_show *part = show->parts[option->member - value->type->members];
	struct visit_value number;

	if (part) {
		view_side_value(sink, part, option, NULL);
	} else if (show->kind == VIEW_SHOW_OPTIONAL || !selector) {
		sink->ops->absent(sink);
	} else {
		number = view_number_of(selector);
		sink->ops->no_option_begin(sink);
		sink->ops->number(sink, &number, show->base);
		sink->ops->no_option_end(sink);
	}
}

static void show_value(struct view_sink *sink, const struct view_show *show,
		const struct ctf_value *value, const struct ctf_value *companion)
{
	struct visit_value number;

	switch (show->kind) {
	case VIEW_SHOW_NULL: sink->ops->null(sink); break;
	case VIEW_SHOW_BOOL: sink->ops->boolean(sink, value->u); break;
	case VIEW_SHOW_INTEGER:
	case VIEW_SHOW_INT128:
		number = number_of(show, value);
		sink->ops->number(sink, &number, show->base);
		break;
	case VIEW_SHOW_FLOAT:
		number = view_number_of(value);
		sink->ops->real(sink, &number);
		break;
	case VIEW_SHOW_FLOAT128:
		number = number_of_bytes(value, show->big_endian);
		sink->ops->real(sink, &number);
		break;
	case VIEW_SHOW_STRING: sink->ops->text(sink, value->text, value->size); break;
	case VIEW_SHOW_STRUCT: show_struct(sink, show, value); break;
	case VIEW_SHOW_LIST: show_list(sink, show, value); break;
	case VIEW_SHOW_ENUM: show_enum(sink, show, value, companion); break;
	case VIEW_SHOW_BITMAP: show_bitmap(sink, show, value, companion); break;
	case VIEW_SHOW_OPTIONAL:
	case VIEW_SHOW_VARIANT: show_variant(sink, show, value, companion); break;
	case VIEW_SHOW_DYNAMIC: view_dynamic_value(sink, value); break;
	}
}

void view_side_value(struct view_sink *sink, const struct view_show *show,
		const struct ctf_value *value, const struct ctf_value *companion)
{
	bool attributed = sink->attributes && show->attributes;

	if (show->wrapped) {
		companion = value + 1;
		value = companion + companion->span;
	}
	if (attributed)
		sink->ops->attributed_begin(sink);
	show_value(sink, show, value, companion);
	if (attributed)
		view_static_attributes(sink, show->attributes);
}

void view_side_fields(struct view_sink *sink, const struct view_event *event,
		const struct ctf_value *fields)
{
	show_struct(sink, event->fields, fields);
}

/* ---- plain CTF ---- */

static void plain_enum(struct view_sink *sink, const struct ctf_value *value)
{
	struct visit_value number = view_number_of(value);
	uint32_t at = 0, count = 0;
	const char *label;

	sink->ops->labels_begin(sink);
	while ((label = ctf_value_label(value, &at)))
		sink->ops->label(sink, count++, label, strlen(label));
	sink->ops->labels_end(sink, count, false);
	sink->ops->number(sink, &number, value->type->base);
	sink->ops->labelled_end(sink);
}

static void plain_inner(struct view_sink *sink, const struct ctf_value *value)
{
	const struct ctf_value *inner;
	struct ctf_cursor cursor;
	uint32_t shown = 0;

	ctf_cursor_start(&cursor, value);
	while ((inner = ctf_cursor_next(&cursor))) {
		if (value->type->kind == CTF_STRUCT) {
			const char *name = inner->member->name + (inner->member->name[0] == '_');

			sink->ops->member(sink, shown++, name, strlen(name), 1);
		} else {
			sink->ops->item(sink, shown++);
		}
		view_plain_value(sink, inner);
	}
	if (value->type->kind == CTF_STRUCT)
		sink->ops->struct_end(sink, shown);
	else
		sink->ops->list_end(sink, shown);
}

void view_plain_value(struct view_sink *sink, const struct ctf_value *value)
{
	struct visit_value number;

	if (value->is_text) {
		sink->ops->text(sink, value->text, value->size);
		return;
	}
	switch (value->type->kind) {
	case CTF_INTEGER:
		number = view_number_of(value);
		sink->ops->number(sink, &number, value->type->base);
		break;
	case CTF_FLOAT:
		number = view_number_of(value);
		sink->ops->real(sink, &number);
		break;
	case CTF_ENUM: plain_enum(sink, value); break;
	case CTF_STRING: break; /* Is text. */
	case CTF_STRUCT:
		sink->ops->struct_begin(sink);
		plain_inner(sink, value);
		break;
	case CTF_VARIANT: view_plain_value(sink, value + 1); break;
	case CTF_ARRAY:
	case CTF_SEQUENCE:
		sink->ops->list_begin(sink);
		plain_inner(sink, value);
		break;
	}
}
