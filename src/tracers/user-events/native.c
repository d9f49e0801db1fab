/* SPDX-License-Identifier: MIT */
/*
 * Writes plain fields, which the kernel's filters, histograms and `perf script` can read.
 *
 * A record is a fixed part, the fields without gaps, then the strings and arrays, to which words in
 * the fixed part refer.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tracers/user-events/user-events.h"

/* ---- the description ---- */

struct description {
	char *text;
	size_t size, capacity;
	size_t fields; /* offset of the fields in the text */
	uint32_t fixed_size;
	const char *reason; /* the first reason why the fields cannot be plain */
};

static bool user_events_native_set_reason(struct description *to, const char *reason)
{
	to->reason = reason;
	return false;
}

/*
 * After a name: the end, the next field, or the size of a structure. After the name of a type comes
 * a field's name.
 */
static bool user_events_native_is_end_of_name(const char *at)
{
	return !*at || *at == ';' || (*at == ' ' && at[1] >= '0' && at[1] <= '9');
}

/*
 * True if a field has this name. The kernel accepts two fields with one name, but readers cannot
 * handle them.
 */
static bool user_events_native_name_is_used(const struct description *to, const char *name)
{
	const char *at = to->text + to->fields;
	size_t length = strlen(name);

	while ((at = strstr(at, name))) {
		if (at[-1] == ' ' && user_events_native_is_end_of_name(at + length))
			return true;
		at++;
	}
	return false;
}

static bool user_events_native_add_field(struct description *to, const char *name, uint32_t size,
		const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Add a field with the given declaration, which contains its name. */
static bool user_events_native_add_field(
		struct description *to, const char *name, uint32_t size, const char *format, ...)
{
	va_list arguments;
	int added;

	if (user_events_native_name_is_used(to, name))
		return user_events_native_set_reason(
				to, "two of its fields have the same name for the kernel");
	if (to->size + 2 >= to->capacity)
		return user_events_native_set_reason(
				to, "its fields need more than 511 bytes of description");
	strcpy(to->text + to->size, to->fixed_size || to->size > to->fields ? "; " : " ");
	to->size += strlen(to->text + to->size);
	va_start(arguments, format);
	added = vsnprintf(to->text + to->size, to->capacity - to->size, format, arguments);
	va_end(arguments);
	if (added < 0 || (size_t)added >= to->capacity - to->size)
		return user_events_native_set_reason(
				to, "its fields need more than 511 bytes of description");
	to->size += (size_t)added;
	to->fixed_size += size;
	return true;
}

/*
 * Returns the type name of a scalar. `*ret_opaque` is true if the kernel does not know that type:
 * it is then declared as a structure.
 */
static const char *user_events_native_scalar_word(const struct field_shape *shape, bool *ret_opaque)
{
	static const char *const unsigned_names[] = {
			[1] = "u8", [2] = "u16", [4] = "u32", [8] = "u64"};
	static const char *const signed_names[] = {
			[1] = "s8", [2] = "s16", [4] = "s32", [8] = "s64"};

	*ret_opaque = shape->size == 16 || shape->scalar == VISIT_FLOAT;
	if (shape->scalar == VISIT_FLOAT)
		return shape->size == 4 ? "f32" : shape->size == 8 ? "f64" : "f128";
	if (shape->size == 16)
		return shape->scalar == VISIT_SIGNED ? "s128" : "u128";
	return (shape->scalar == VISIT_SIGNED ? signed_names : unsigned_names)[shape->size];
}

static bool user_events_native_put_scalar(
		struct description *to, const char *name, const struct field_shape *shape)
{
	bool opaque;
	const char *word = user_events_native_scalar_word(shape, &opaque);

	if (opaque)
		return user_events_native_add_field(
				to, name, shape->size, "struct %s %s %u", word, name, shape->size);
	return user_events_native_add_field(to, name, shape->size, "%s %s", word, name);
}

static bool user_events_native_add_type(
		struct description *to, const char *name, const struct side_type *type);

static bool user_events_native_add_members(
		struct description *to, const char *name, const struct side_type_struct *structure)
{
	char member[KERNEL_DESCRIPTION_SIZE];
	uint32_t i;

	for (i = 0; i < side_array_length(&structure->fields); i++) {
		const struct side_event_field *field = side_array_at(&structure->fields, i);

		(void)snprintf(member, sizeof(member), "%s_", name);
		name_append(member, sizeof(member), side_ptr_get(field->field_name));
		if (!user_events_native_add_type(to, member, &field->side_type))
			return false;
	}
	return true;
}

static bool user_events_native_put_optional(
		struct description *to, const char *name, const struct side_type *type)
{
	char present[KERNEL_DESCRIPTION_SIZE];
	struct field_shape shape = shape_of(type);

	if (shape.kind != SHAPE_SCALAR)
		return user_events_native_set_reason(
				to, "it has an optional value that is not a scalar");
	(void)snprintf(present, sizeof(present), "%.500s_present", name);
	return user_events_native_add_field(to, present, 1, "u8 %s", present) &&
			user_events_native_put_scalar(to, name, &shape);
}

static bool user_events_native_add_array(
		struct description *to, const char *name, const struct side_type *type)
{
	struct field_shape shape = shape_of(type);
	bool opaque;

	if (shape.kind != SHAPE_SCALAR)
		return user_events_native_set_reason(
				to, "it has an array whose elements are not scalars");
	return user_events_native_add_field(to, name, 4, "__rel_loc %s[] %s",
			user_events_native_scalar_word(&shape, &opaque), name);
}

static bool user_events_native_add_type(
		struct description *to, const char *name, const struct side_type *type)
{
	struct field_shape shape = shape_of(type);

	switch (shape.kind) {
	case SHAPE_NULL: return true;
	case SHAPE_SCALAR: return user_events_native_put_scalar(to, name, &shape);
	case SHAPE_STRING:
		return user_events_native_add_field(to, name, 4, "__rel_loc char[] %s", name);
	case SHAPE_STRUCT: return user_events_native_add_members(to, name, shape.structure);
	case SHAPE_ARRAY: return user_events_native_add_array(to, name, shape.element);
	case SHAPE_OPTIONAL: return user_events_native_put_optional(to, name, shape.element);
	default:
		return user_events_native_set_reason(
				to, "it has values whose type is only known at the call");
	}
}

bool native_describe(const struct side_event_description *desc, char *description, size_t capacity,
		uint32_t *ret_fixed_size, const char **ret_reason)
{
	size_t size = strlen(description);
	struct description to = {
			.text = description, .size = size, .capacity = capacity, .fields = size};
	char name[KERNEL_DESCRIPTION_SIZE];
	uint32_t i;

	*ret_reason = "it is variadic";
	if (desc->flags & SIDE_EVENT_FLAG_VARIADIC)
		return false;
	for (i = 0; i < side_array_length(&desc->fields); i++) {
		const struct side_event_field *field = side_array_at(&desc->fields, i);
		const char *field_name = side_ptr_get(field->field_name);
		bool digit = field_name[0] >= '0' && field_name[0] <= '9';

		/*
		 * The kernel's own fields begin with `common_`; other names must begin with a
		 * letter or `_`.
		 */
		name[0] = '\0';
		if (!field_name[0] || digit || !strncmp(field_name, "common_", 7))
			name_append(name, sizeof(name), "_");
		name_append(name, sizeof(name), field_name);
		if (!user_events_native_add_type(&to, name, &field->side_type)) {
			*ret_reason = to.reason;
			return false;
		}
	}
	*ret_fixed_size = to.fixed_size;
	return true;
}

/* ---- the record ---- */

struct native_walk {
	struct user_event_record *record;
	size_t fixed;    /* offset of the next field */
	size_t word;     /* offset of the current array's word */
	size_t elements; /* offset of the current array's elements; 0: not in an array */
	unsigned int skip_depth;
};

static void user_events_native_put_fixed(struct native_walk *walk, const void *from, size_t size)
{
	struct user_event_bytes *bytes = &walk->record->bytes;

	if (walk->fixed + size <= bytes->capacity)
		memcpy(bytes->at + walk->fixed, from, size);
	walk->fixed += size;
}

/* Returns the word for dynamic data. Its offset counts from the end of the word. */
static uint32_t user_events_native_rel_loc(size_t word, size_t begin, size_t size)
{
	return (uint32_t)(size << 16 | ((begin - (word + 4)) & 0xffff));
}

/* Append the string as UTF-8 with a terminating zero, shortened to the limit. */
static void user_events_native_write_text(
		struct user_event_record *record, const struct visit_text *text)
{
	struct user_event_bytes *bytes = &record->bytes;
	size_t left = bytes->size < bytes->capacity ? bytes->capacity - bytes->size : 0;
	char *to = (char *)bytes->at + bytes->size;
	size_t capacity = left < record->limit ? left : record->limit;
	size_t size = visit_text_utf8(text->at, text->unit_size, text->byte_order, to, capacity);

	if (size > record->limit) {
		/* Do not split a character. */
		for (size = capacity; size && ((unsigned char)to[size - 1] & 0xc0) == 0x80; size--)
			;
		if (size && (unsigned char)to[size - 1] >= 0xc0)
			size--;
		record->cut = true;
		bytes->size += size;
		bytes_put(bytes, "...", 4);
		return;
	}
	bytes->size += size;
	bytes_put_u8(bytes, 0);
}

static int user_events_native_write_string(struct native_walk *walk, const struct visit_text *text)
{
	struct user_event_bytes *bytes = &walk->record->bytes;
	size_t begin = bytes->size;
	uint32_t word;

	user_events_native_write_text(walk->record, text);
	word = user_events_native_rel_loc(walk->fixed, begin, bytes->size - begin);
	user_events_native_put_fixed(walk, &word, sizeof(word));
	return 0;
}

static int user_events_native_visit_value(void *priv, const struct visit_location *location,
		const struct visit_value *value, struct visit_attributes attributes)
{
	struct native_walk *walk = priv;
	struct field_shape shape = shape_of_value(value, attributes);
	unsigned char bytes[16];

	(void)location;
	if (walk->skip_depth || shape.kind == SHAPE_NULL)
		return 0;
	if (shape.kind == SHAPE_STRING)
		return user_events_native_write_string(walk, &value->text);
	shape_store(&shape, value, SIDE_BYTE_ORDER != SIDE_LITTLE_ENDIAN, bytes);
	if (walk->elements)
		bytes_put(&walk->record->bytes, bytes, shape.size);
	else
		user_events_native_put_fixed(walk, bytes, shape.size);
	return 0;
}

static int user_events_native_array_begin(void *priv, const struct visit_location *location,
		struct visit_attributes attributes, uint32_t nr)
{
	struct native_walk *walk = priv;
	uint32_t none = 0;

	(void)location;
	(void)attributes;
	(void)nr;
	walk->word = walk->fixed;
	walk->elements = walk->record->bytes.size;
	user_events_native_put_fixed(walk, &none, sizeof(none));
	return 0;
}

static int user_events_native_array_end(
		void *priv, const struct visit_location *location, uint32_t nr)
{
	struct native_walk *walk = priv;
	struct user_event_bytes *bytes = &walk->record->bytes;
	uint32_t word = user_events_native_rel_loc(
			walk->word, walk->elements, bytes->size - walk->elements);

	(void)location;
	(void)nr;
	if (walk->word + sizeof(word) <= bytes->capacity)
		memcpy(bytes->at + walk->word, &word, sizeof(word));
	walk->elements = 0;
	return 0;
}

static int user_events_native_element_begin(void *priv, const struct visit_location *location)
{
	struct native_walk *walk = priv;

	if (walk->skip_depth || location->index >= walk->record->limit) {
		walk->skip_depth++;
		walk->record->cut = true;
	}
	return 0;
}

static int user_events_native_end_element(void *priv, const struct visit_location *location)
{
	struct native_walk *walk = priv;

	(void)location;
	if (walk->skip_depth)
		walk->skip_depth--;
	return 0;
}

static int user_events_native_visit_bitmap(void *priv, const struct visit_location *location,
		const struct side_enum_bitmap_mappings *mappings, const struct visit_bitmap *bitmap)
{
	const struct visit_attributes none = {NULL, 0};
	struct visit_location item = *location;
	bool many = shape_of(location->type).kind == SHAPE_ARRAY;
	struct visit_value loaded;
	int ret = 0;

	(void)mappings;
	if (many)
		ret = user_events_native_array_begin(priv, location, none, bitmap->nr_items);
	for (item.index = 0; !ret && item.index < bitmap->nr_items; item.index++) {
		ret = visit_load_argument(bitmap->item_type, &bitmap->items[item.index], &loaded);
		if (!ret && many)
			ret = user_events_native_element_begin(priv, &item);
		if (!ret)
			ret = user_events_native_visit_value(priv, location, &loaded, none);
		if (!ret && many)
			ret = user_events_native_end_element(priv, &item);
	}
	return !ret && many ? user_events_native_array_end(priv, location, bitmap->nr_items) : ret;
}

static int user_events_native_optional_begin(void *priv, const struct visit_location *location,
		struct visit_attributes attributes, bool present)
{
	struct native_walk *walk = priv;
	unsigned char byte = present;
	struct field_shape shape = shape_of(location->type);

	(void)attributes;
	user_events_native_put_fixed(walk, &byte, 1);
	if (!present) {
		shape = shape_of(shape.element);
		user_events_native_put_fixed(walk, (const unsigned char[16]){0}, shape.size);
	}
	return 0;
}

int native_record(const struct kernel_call *call, struct user_event_record *record)
{
	static const struct visit_argument_ops ops = {
			.element_begin = user_events_native_element_begin,
			.element_end = user_events_native_end_element,
			.value = user_events_native_visit_value,
			.array_begin = user_events_native_array_begin,
			.array_end = user_events_native_array_end,
			.bitmap = user_events_native_visit_bitmap,
			.optional_begin = user_events_native_optional_begin,
	};
	const struct user_event *event = call->event;
	struct native_walk walk = {.record = record};

	/* Tools ignore an event without payload. */
	record->bytes.size = event->fixed_size ? event->fixed_size : 1;
	record->bytes.at[0] = 0;
	return visit_arguments(event->desc, call->args, call->variadic, &ops, &walk, NULL);
}
