/* SPDX-License-Identifier: MIT */
/* Walks over the values of an event, by its description or as plain CTF. */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace-symbols.h"
#include "analysis/view-show.h"
#include "analysis/view-syscall.h"

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

/* 16 bytes, converted to the byte order of this machine. */
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

/*
 * Floats that are decimal numbers of up to 15 digits, as most that people write are. For the least
 * k for which number
 * * 10^k is an integer m with m / 10^k == number, m has the digits. 10^k is exact and a division is
 * rounded once, so that equality means that reading the digits gives the number. Only one text of
 * up to 15 digits does so.
 */
static size_t short_digits(double number, char *out)
{
	static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
	double size = number < 0 ? -number : number;
	char *at = out;

	/* Outside of these limits, %g uses exponents. Zero can have a sign. */
	if (!(size >= 1e-4 && size < 1e15))
		return 0;
	for (unsigned int k = 0; k < sizeof(powers) / sizeof(powers[0]); k++) {
		double scaled = size * powers[k];
		uint64_t digits, remainder;

		if (scaled >= 1e15)
			return 0;
		digits = (uint64_t)scaled;
		digits += scaled - (double)digits >= 0.5;
		if ((double)digits / powers[k] != size)
			continue;
		if (number < 0)
			*at++ = '-';
		at = view_decimal(at, digits / (uint64_t)powers[k]);
		remainder = digits % (uint64_t)powers[k];
		if (k) {
			*at++ = '.';
			for (unsigned int i = k; i-- > 0; remainder /= 10)
				at[i] = (char)('0' + remainder % 10);
			at += k;
		}
		*at = '\0';
		return (size_t)(at - out);
	}
	return 0;
}

size_t view_real_digits(const struct visit_value *value, char out[VISIT_FLOAT_DIGITS_MAX])
{
	int least = value->size == 4 ? 6 : value->size == 8 ? 15 : 33;
	int most = value->size == 4 ? 9 : value->size == 8 ? 17 : 36;
	size_t size = value->size == 8 ? short_digits(visit_value_double(value), out) : 0;

	for (int digits = least; !size && digits <= most; digits++) {
		size = visit_value_float_digits(value, digits, out);
		if (value->size == 4 ? strtof(out, NULL) == (float)visit_value_double(value)
						: value->size == 8
						? strtod(out, NULL) == visit_value_double(value)
						: strtold(out, NULL) ==
								visit_value_long_double(value))
			break;
		size = digits < most ? 0 : size;
	}
	return size;
}

/* An integer of at most 64 bits, written where space for its digits is reserved. */
static inline char *view_walk_format_digits(
		char *to, uint64_t number, bool is_signed, unsigned int bits, unsigned int base)
{
	struct visit_value value;

	if (__builtin_expect(base == 10, 1)) {
		if (is_signed && (int64_t)number < 0) {
			*to++ = '-';
			number = 0 - number;
		}
		return view_decimal(to, number);
	}
	/* Two's complement of exactly the bits of the type. */
	if (bits < 64)
		number &= (UINT64_C(1) << bits) - 1;
	if (base == 16) {
		*to++ = '0';
		*to++ = 'x';
		return view_hexadecimal(to, number);
	}
	value = (struct visit_value){
			.kind = VISIT_UNSIGNED, .size = 8, .bits = (uint16_t)bits, .lo = number};
	return to + visit_value_digits(&value, base, true, to);
}

/* Space for colours, digits and separators. */
#define INTEGER_CAPACITY (VISIT_DIGITS_MAX + 32)

static inline char *put_word_at(char *to, const struct view_word *word)
{
	if (word->size) /* Without colours there is no text. */
		memcpy(to, word->text, word->size);
	return to + word->size;
}

void view_put_integer(struct view_sink *sink, uint64_t number, bool is_signed, unsigned int bits,
		unsigned int base)
{
	struct view_out *out = sink->out;

	if (!view_out_reserve(out, INTEGER_CAPACITY))
		return;
	out->at = put_word_at(out->at, &sink->ops->number_begin);
	out->at = view_walk_format_digits(
			out->at, number, is_signed, bits, sink->ops->json ? 10 : base);
	out->at = put_word_at(out->at, &sink->ops->number_end);
}

static void view_walk_write_value(
		struct view_sink *sink, const struct ctf_value *value, unsigned int base)
{
	view_put_integer(sink, value->u, value->type->is_signed, value->type->size, base);
}

/* The elements of a packed array. */
static void put_integers(struct view_sink *sink, const struct ctf_value *array, unsigned int base)
{
	const struct ctf_type *element = array->type->element;
	const struct view_word *separator = &sink->ops->item[0];
	struct view_out *out = sink->out;
	uint64_t numbers[64];
	uint32_t from = 0, count;

	if (sink->ops->json)
		base = 10;
	while ((count = ctf_value_integers(array, from, numbers, 64))) {
		if (!view_out_reserve(out, (size_t)count * INTEGER_CAPACITY))
			return;
		for (uint32_t i = 0; i < count; i++) {
			out->at = put_word_at(out->at, separator);
			out->at = put_word_at(out->at, &sink->ops->number_begin);
			out->at = view_walk_format_digits(out->at, numbers[i], element->is_signed,
					element->size, base);
			out->at = put_word_at(out->at, &sink->ops->number_end);
			separator = &sink->ops->item[1];
		}
		from += count;
	}
}

/* ---- attributes ---- */

static void static_attribute(struct view_sink *sink, struct json_object *value)
{
	const char *text;

	switch (json_object_get_type(value)) {
	case json_type_boolean:
		view_put_word(sink, &sink->ops->bool_words[json_object_get_boolean(value) != 0]);
		break;
	case json_type_string:
		text = json_object_get_string(value);
		view_put_text(sink, text, (size_t)json_object_get_string_len(value));
		break;
	case json_type_int:
		sink->ops->digits(sink, json_object_to_json_string(value), false);
		break;
	default: view_put_word(sink, &sink->ops->null); break;
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
		/* Floats and 128-bit integers are strings in JSON, and numbers in text. */
		if (json_object_is_type(value, json_type_string) && type &&
				strcmp(json_object_get_string(type), "string") != 0)
			sink->ops->digits(sink, json_object_get_string(value), true);
		else
			static_attribute(sink, value);
		sink->ops->attribute_end(sink);
	}
	sink->ops->attributes_end(sink);
}

/* ---- addresses ---- */

static const struct symbol *view_walk_find_symbol(
		const struct view_sink *sink, uint64_t number, enum address_kind kind)
{
	const struct address address = {
			.kind = kind, .trace = sink->trace, .ns = sink->ns, .address = number};

	return address_symbol(sink->symbols, &address);
}

void view_address_text(const struct view_sink *sink, struct view_out *out, uint64_t number,
		enum address_kind kind)
{
	struct view_sink text = {.ops = &view_text_ops, .out = out};

	if (!kind || !sink->symbols ||
			!trace_symbol_text(&text, view_walk_find_symbol(sink, number, kind)))
		view_out_hexadecimal(out, number);
}

/* The text as a string of JSON. */
static void view_walk_put_address_text(
		struct view_sink *sink, uint64_t number, enum address_kind kind)
{
	struct view_out *text = sink->addresses;

	text->at = text->begin;
	view_address_text(sink, text, number, kind);
	sink->out->failed |= text->failed;
	sink->ops->quoted(sink->out, text->begin, view_out_size(text));
}

/*
 * Writes an address. Text: the symbol instead of the number. JSON: {"value":number,"symbol":{…}},
 * unless addresses are texts.
 */
static void put_address(struct view_sink *sink, const struct ctf_value *value, unsigned int base,
		enum address_kind kind)
{
	const struct symbol *symbol;

	if (sink->addresses) {
		view_walk_put_address_text(sink, value->u, kind);
		return;
	}
	symbol = view_walk_find_symbol(sink, value->u, kind);
	if (!sink->ops->json) {
		if (!trace_symbol_text(sink, symbol))
			view_walk_write_value(sink, value, base);
		return;
	}
	view_out_text(sink->out, "{\"value\":");
	view_walk_write_value(sink, value, base);
	if (symbol->module) {
		view_out_text(sink->out, ",\"symbol\":");
		trace_symbol_json(sink, symbol);
	}
	view_out_char(sink->out, '}');
}

/* The type of address of a member of plain CTF, as of a context. */
static enum address_kind plain_address(
		const struct view_sink *sink, const struct ctf_value *value, const char *name)
{
	if (value->type->kind != CTF_INTEGER || value->type->is_signed || value->type->bitmap)
		return ADDRESS_NONE;
	return sink->ip && strcmp(name, "ip") == 0 ? sink->ip : address_kind_of_name(name);
}

/* The name of a member does not identify pointers to data, but all pointers are hexadecimal. */
static bool plain_is_pointer(const struct ctf_value *value)
{
	const struct ctf_type *type = value->type;

	return type->kind == CTF_INTEGER && type->base == 16 && type->size == 64 &&
			!type->is_signed && !type->bitmap;
}

bool view_plain_is_address(const struct view_sink *sink, const struct ctf_value *value,
		const char *name, enum address_kind *ret_kind)
{
	*ret_kind = plain_address(sink, value, name);
	return *ret_kind || plain_is_pointer(value);
}

static void plain_put_address(
		struct view_sink *sink, const struct ctf_value *value, enum address_kind kind)
{
	unsigned int base = value->type->base == 10 ? 16 : value->type->base;

	if (sink->symbols || sink->addresses)
		put_address(sink, value, base, kind);
	else
		view_walk_write_value(sink, value, base);
}

/* The return addresses of the context `backtrace`. */
bool view_plain_is_backtrace(const struct ctf_value *value, const char *name)
{
	const struct ctf_type *type = value->type;

	return (type->kind == CTF_SEQUENCE || type->kind == CTF_ARRAY) &&
			type->element->kind == CTF_INTEGER && !type->element->is_signed &&
			strcmp(name, "backtrace") == 0;
}

static void plain_put_backtrace(struct view_sink *sink, const struct ctf_value *list)
{
	const struct ctf_value *element;
	struct ctf_cursor cursor;
	uint32_t shown = 0;

	view_put_word(sink, &sink->ops->list_begin);
	ctf_cursor_start(&cursor, list);
	while ((element = ctf_cursor_next(&cursor))) {
		view_put_word(sink, &sink->ops->item[shown++ > 0]);
		put_address(sink, element, 16, ADDRESS_RETURN);
	}
	view_put_word(sink, &sink->ops->list_end);
}

/* ---- by the description ---- */

static bool label_matches(const struct view_label *label, const struct visit_value *number)
{
	int64_t value;

	return visit_value_s64(number, &value) && (int64_t)label->begin <= value &&
			value <= (int64_t)label->end;
}

static struct visit_value view_walk_get_number(
		const struct view_show *show, const struct ctf_value *value)
{
	return show->kind == VIEW_SHOW_INT128 ? number_of_halves(value) : view_number_of(value);
}

static void view_walk_show_enum(struct view_sink *sink, const struct view_show *show,
		const struct ctf_value *value, const struct ctf_value *related)
{
	struct visit_value number = view_walk_get_number(show->element, value);
	uint32_t count = 0;

	sink->ops->labels_begin(sink);
	for (uint32_t i = 0; i < show->label_count; i++) {
		const struct view_label *label = &show->labels[i];

		if (label_matches(label, &number))
			sink->ops->label(sink, count++, label->text, strlen(label->text));
	}
	sink->ops->labels_end(sink, count, false);
	view_side_value(sink, show->element, value, related);
	sink->ops->labelled_end(sink);
}

/* Whether a bit from `begin` to `end` (within the item) is set. */
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
			struct visit_value number = view_walk_get_number(item_show, item);
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

bool view_label_matches(const struct view_show *show, const struct ctf_value *value,
		const struct view_label *label)
{
	struct visit_value number;

	if (show->kind == VIEW_SHOW_BITMAP)
		return bitmap_matches(show, value, label);
	number = view_walk_get_number(show->element, value);
	return label_matches(label, &number);
}

static void view_walk_show_bitmap(struct view_sink *sink, const struct view_show *show,
		const struct ctf_value *value, const struct ctf_value *related)
{
	uint32_t count = 0;

	sink->ops->labels_begin(sink);
	for (uint32_t i = 0; i < show->label_count; i++) {
		const struct view_label *label = &show->labels[i];

		if (bitmap_matches(show, value, label))
			sink->ops->label(sink, count++, label->text, strlen(label->text));
	}
	sink->ops->labels_end(sink, count, true);
	view_side_value(sink, show->element, value, related);
	sink->ops->labelled_end(sink);
}

static void show_struct(
		struct view_sink *sink, const struct view_show *show, const struct ctf_value *value)
{
	const struct ctf_value *member = value + 1, *before = NULL;
	uint32_t count = show->part_count < value->count ? show->part_count : value->count;

	view_put_word(sink, &sink->ops->struct_begin);
	for (uint32_t i = 0; i < count; i++) {
		const struct view_show *part = show->parts[i];

		if (part) {
			view_put_word(sink, &part->prefix);
			/* The types of most fields, without the general case. */
			if (part->plain && part->kind == VIEW_SHOW_INTEGER)
				view_walk_write_value(sink, member, part->base);
			else if (part->plain && part->kind == VIEW_SHOW_STRING)
				view_put_text(sink, member->text, member->size);
			else
				view_side_value(sink, part, member, before);
			if (__builtin_expect(sink->call, 0))
				view_call_note(sink, member);
		}
		before = member;
		member += member->span;
	}
	view_put_word(sink, &sink->ops->struct_end);
}

static void view_walk_show_list(
		struct view_sink *sink, const struct view_show *show, const struct ctf_value *value)
{
	const struct ctf_value *element;
	struct ctf_cursor cursor;
	uint32_t shown = 0;

	view_put_word(sink, &sink->ops->list_begin);
	if (value->packed && show->element->plain && show->element->kind == VIEW_SHOW_INTEGER) {
		put_integers(sink, value, show->element->base);
		view_put_word(sink, &sink->ops->list_end);
		return;
	}
	ctf_cursor_start(&cursor, value);
	while ((element = ctf_cursor_next(&cursor))) {
		view_put_word(sink, &sink->ops->item[shown++ > 0]);
		view_side_value(sink, show->element, element, NULL);
	}
	view_put_word(sink, &sink->ops->list_end);
}

static void view_walk_show_variant(struct view_sink *sink, const struct view_show *show,
		const struct ctf_value *value, const struct ctf_value *selector)
{
	const struct ctf_value *option = value + 1;
	const struct view_show *part = show->parts[option->member - value->type->members];

	if (part) {
		view_side_value(sink, part, option, NULL);
	} else if (show->kind == VIEW_SHOW_OPTIONAL || !selector) {
		view_put_word(sink, show->unreadable ? &sink->ops->unreadable : &sink->ops->absent);
	} else {
		sink->ops->no_option_begin(sink);
		view_walk_write_value(sink, selector, show->base);
		sink->ops->no_option_end(sink);
	}
}

static void show_value(struct view_sink *sink, const struct view_show *show,
		const struct ctf_value *value, const struct ctf_value *related)
{
	struct visit_value number;

	switch (show->kind) {
	case VIEW_SHOW_NULL: view_put_word(sink, &sink->ops->null); break;
	case VIEW_SHOW_BOOL: view_put_word(sink, &sink->ops->bool_words[value->u != 0]); break;
	case VIEW_SHOW_INTEGER:
		if ((show->address && sink->symbols) || (show->is_pointer && sink->addresses))
			put_address(sink, value, show->base, show->address);
		else
			view_walk_write_value(sink, value, show->base);
		break;
	case VIEW_SHOW_INT128:
		number = number_of_halves(value);
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
	case VIEW_SHOW_STRING: view_put_text(sink, value->text, value->size); break;
	case VIEW_SHOW_STRUCT: show_struct(sink, show, value); break;
	case VIEW_SHOW_LIST: view_walk_show_list(sink, show, value); break;
	case VIEW_SHOW_ENUM: view_walk_show_enum(sink, show, value, related); break;
	case VIEW_SHOW_BITMAP: view_walk_show_bitmap(sink, show, value, related); break;
	case VIEW_SHOW_OPTIONAL:
	case VIEW_SHOW_VARIANT: view_walk_show_variant(sink, show, value, related); break;
	case VIEW_SHOW_DYNAMIC: view_dynamic_value(sink, value); break;
	}
}

void view_side_value(struct view_sink *sink, const struct view_show *show,
		const struct ctf_value *value, const struct ctf_value *related)
{
	bool attributed = show->attributes.size;

	if (show->wrapped) {
		related = value + 1;
		value = related + related->span;
	}
	if (attributed)
		sink->ops->attributed_begin(sink);
	show_value(sink, show, value, related);
	if (attributed)
		view_put_word(sink, &show->attributes);
}

void view_side_fields(struct view_sink *sink, const struct view_event *event,
		const struct ctf_value *fields)
{
	show_struct(sink, event->fields, fields);
}

bool view_side_other_fields(struct view_sink *sink, const struct view_event *event,
		const struct ctf_value *fields)
{
	const struct ctf_value *member = fields + 1, *before = NULL;
	const struct view_show *show = event->fields;
	uint32_t count = show->part_count < fields->count ? show->part_count : fields->count;
	uint32_t shown = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct view_show *part = show->parts[i];

		if (part && i != event->format_index) {
			if (!shown)
				view_put_word(sink, &sink->ops->struct_begin);
			sink->ops->member(
					sink, shown++, part->name, strlen(part->name), part->copy);
			view_side_value(sink, part, member, before);
		}
		before = member;
		member += member->span;
	}
	if (shown)
		view_put_word(sink, &sink->ops->struct_end);
	return shown;
}

/* ---- plain CTF ---- */

static void plain_labelled(struct view_sink *sink, const struct ctf_value *value)
{
	const struct ctf_type *type = value->type;
	uint32_t at = 0, count = 0;
	const char *label;

	sink->ops->labels_begin(sink);
	while ((label = ctf_value_label(value, &at)))
		sink->ops->label(sink, count++, label, strlen(label));
	sink->ops->labels_end(sink, count, type->bitmap);
	view_walk_write_value(sink, value, type->bitmap && type->base == 10 ? 16 : type->base);
	sink->ops->labelled_end(sink);
}

static bool view_walk_is_inside(
		const char *name, const char *prefix, const char *middle, const char *suffix)
{
	size_t before = strlen(prefix), between = strlen(middle);

	return strncmp(name, prefix, before) == 0 && strncmp(name + before, middle, between) == 0 &&
			strcmp(name + before + between, suffix) == 0;
}

/*
 * The tag of an optional value (`__x_tag` before `_x`, docs/spec/recording.md, section 2). It only
 * describes the next member.
 */
bool view_is_tag(const struct ctf_type *structure, uint32_t index)
{
	const struct ctf_member *tag = &structure->members[index], *next = tag + 1;

	return index + 1 < structure->member_count && next->type->kind == CTF_VARIANT &&
			next->name[0] == '_' &&
			view_walk_is_inside(tag->name, "__", next->name + 1, "_tag");
}

void view_plain_member(struct view_sink *sink, const struct ctf_value *value, const char *name)
{
	enum address_kind kind = plain_address(sink, value, name);

	if (__builtin_expect(kind, 0))
		plain_put_address(sink, value, kind);
	else if ((sink->symbols || sink->addresses) && view_plain_is_backtrace(value, name))
		plain_put_backtrace(sink, value);
	else
		view_plain_value(sink, value);
}

static void plain_struct(struct view_sink *sink, const struct ctf_value *value)
{
	const struct ctf_value *inner = value + 1;
	uint32_t shown = 0;

	view_put_word(sink, &sink->ops->struct_begin);
	for (uint32_t i = 0; i < value->count; i++, inner += inner->span) {
		const char *name = inner->member->name + (inner->member->name[0] == '_');

		if (view_is_tag(value->type, i))
			continue;
		sink->ops->member(sink, shown++, name, strlen(name), 1);
		view_plain_member(sink, inner, name);
		if (__builtin_expect(sink->call, 0))
			view_call_note(sink, inner);
	}
	view_put_word(sink, &sink->ops->struct_end);
}

static void plain_list(struct view_sink *sink, const struct ctf_value *value)
{
	const struct ctf_type *element = value->type->element;
	const struct ctf_value *inner;
	struct ctf_cursor cursor;
	uint32_t shown = 0;

	view_put_word(sink, &sink->ops->list_begin);
	if (value->packed && element->kind == CTF_INTEGER && !element->bitmap &&
			!(sink->addresses && element->base == 16)) {
		put_integers(sink, value, element->base);
		view_put_word(sink, &sink->ops->list_end);
		return;
	}
	ctf_cursor_start(&cursor, value);
	while ((inner = ctf_cursor_next(&cursor))) {
		view_put_word(sink, &sink->ops->item[shown++ > 0]);
		view_plain_value(sink, inner);
	}
	view_put_word(sink, &sink->ops->list_end);
}

/* An option without content is an absent value. */
static void plain_option(struct view_sink *sink, const struct ctf_value *option)
{
	if (option->type->kind == CTF_STRUCT && !option->type->member_count &&
			strcmp(option->member->name, "none") == 0)
		view_put_word(sink, &sink->ops->absent);
	else
		view_plain_value(sink, option);
}

void view_plain_value(struct view_sink *sink, const struct ctf_value *value)
{
	struct visit_value number;

	if (value->is_text) {
		view_put_text(sink, value->text, value->size);
		return;
	}
	switch (value->type->kind) {
	case CTF_INTEGER:
		if (value->type->bitmap)
			plain_labelled(sink, value);
		else if (sink->addresses && plain_is_pointer(value))
			view_walk_put_address_text(sink, value->u, ADDRESS_NONE);
		else
			view_walk_write_value(sink, value, value->type->base);
		break;
	case CTF_FLOAT:
		number = view_number_of(value);
		sink->ops->real(sink, &number);
		break;
	case CTF_ENUM:
		if (value->type->boolean)
			view_put_word(sink, &sink->ops->bool_words[value->u != 0]);
		else
			plain_labelled(sink, value);
		break;
	case CTF_STRING: break; /* It is text. */
	case CTF_STRUCT: plain_struct(sink, value); break;
	case CTF_VARIANT: plain_option(sink, value + 1); break;
	case CTF_ARRAY:
	case CTF_SEQUENCE: plain_list(sink, value); break;
	}
}
