/* SPDX-License-Identifier: MIT */
/*
 * Builds event descriptions at run time: creates an event, adds to it, registers and destroys it.
 */
#include "functions.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "builder-nodes.h"
#include "export.h"
#include "registry-lock.h"

#define FIRST_CHUNK ((size_t)992) /* with its head, 1 KiB */
#define LATER_CHUNK ((size_t)4000)

/* ---- errors ---- */

int builder_fail(struct side_builder *builder, int result, const char *format, ...)
{
	va_list args;

	if (builder->result != SIDE_ERROR_OK)
		return builder->result;
	builder->result = result;
	va_start(args, format);
	vsnprintf(builder->error, sizeof(builder->error), format, args);
	va_end(args);
	return result;
}

int builder_no_memory(struct side_builder *builder)
{
	return builder_fail(builder, SIDE_ERROR_NOMEM, "out of memory for the description");
}

/* ---- memory ---- */

void *builder_take(struct side_builder *builder, size_t size)
{
	struct builder_chunk *chunk = builder->chunks;
	void *memory;

	size = (size + 15) & ~(size_t)15;
	if (!chunk || chunk->size - chunk->used < size) {
		/* Most events are small, and a program may have ten thousand. */
		size_t wanted = !chunk ? FIRST_CHUNK : LATER_CHUNK;

		if (wanted < size)
			wanted = size;
		wanted += sizeof(*chunk);
		chunk = builder->take ? builder->take(builder->user, wanted) : malloc(wanted);
		wanted -= sizeof(*chunk);
		if (!chunk) {
			builder_no_memory(builder);
			return NULL;
		}
		chunk->next = builder->chunks;
		chunk->used = 0;
		chunk->size = wanted;
		builder->chunks = chunk;
	}
	memory = chunk->bytes + chunk->used;
	chunk->used += size;
	return memset(memory, 0, size);
}

static void *builder_copy_units(
		struct side_builder *builder, const void *units, unsigned int unit_size)
{
	static const unsigned char zeros[4];
	const unsigned char *at = units;
	size_t size = 0;
	void *copy;

	while (memcmp(at + size, zeros, unit_size))
		size += unit_size;
	copy = builder_take(builder, size + unit_size);
	return copy ? memcpy(copy, units, size) : NULL;
}

/* Append a zeroed item to a list. NULL if out of memory. The old array stays in the arena. */
static void *builder_append_item(
		struct side_builder *builder, struct builder_list *list, size_t item_size)
{
	if (list->nr == list->capacity) {
		uint32_t capacity = list->capacity ? 2 * list->capacity : 4;
		void *items = NULL;

		if (list->capacity <= PARTS_MAX)
			items = builder_take(builder, capacity * item_size);
		if (!items) {
			builder_no_memory(builder);
			return NULL;
		}
		if (list->nr)
			memcpy(items, list->items, list->nr * item_size);
		list->items = items;
		list->capacity = capacity;
	}
	return (char *)list->items + list->nr++ * item_size;
}

/* Whether the builder accepts additions; stores an error if not. */
static bool builder_may_add(struct side_builder *builder)
{
	if (builder->finished)
		builder_fail(builder, SIDE_ERROR_INVAL,
				"the description is finished: nothing can be added");
	return builder->result == SIDE_ERROR_OK;
}

static bool builder_owns_type(struct side_builder *builder, const struct side_builder_type *type)
{
	if (type->builder == builder)
		return true;
	builder_fail(builder, SIDE_ERROR_INVAL, "a type of another builder cannot be used");
	return false;
}

/* Whether the type has one of two labels; otherwise stores an error. `word` names what is added. */
static bool builder_accepts(struct side_builder *builder, struct side_builder_type *type,
		enum side_type_label one, enum side_type_label other, const char *word)
{
	if (!builder_may_add(builder))
		return false;
	if (!type) {
		builder_fail(builder, SIDE_ERROR_INVAL, "%s was added to the type NULL", word);
		return false;
	}
	if (!builder_owns_type(builder, type))
		return false;
	if (side_enum_get(type->raw.type) != one && side_enum_get(type->raw.type) != other) {
		builder_fail(builder, SIDE_ERROR_INVAL, "%s was added to a type that accepts none",
				word);
		return false;
	}
	return true;
}

/* ---- fields, options, labels ---- */

EXPORT int side_builder_add_field(struct side_builder *builder, struct side_builder_type *into,
		const char *name, struct side_builder_type *type)
{
	struct builder_field *field;

	if (!builder)
		return SIDE_ERROR_INVAL;
	if (!into)
		into = &builder->root;
	if (!builder_accepts(builder, into, SIDE_TYPE_STRUCT, SIDE_TYPE_STRUCT, "a field"))
		return builder->result;
	field = builder_append_item(builder, &into->items, sizeof(*field));
	if (!field)
		return builder->result;
	/* A NULL name is reported with the path to it. */
	field->name = name ? builder_copy_units(builder, name, 1) : NULL;
	field->type = type;
	return builder->result;
}

EXPORT int side_builder_add_option(struct side_builder *builder, struct side_builder_type *variant,
		int64_t begin, int64_t end, struct side_builder_type *type)
{
	struct builder_option *option;

	if (!builder)
		return SIDE_ERROR_INVAL;
	if (!builder_accepts(builder, variant, SIDE_TYPE_VARIANT, SIDE_TYPE_VARIANT, "an option"))
		return builder->result;
	option = builder_append_item(builder, &variant->items, sizeof(*option));
	if (!option)
		return builder->result;
	option->begin = begin;
	option->end = end;
	option->type = type;
	return SIDE_ERROR_OK;
}

static int builder_add_mapping(struct side_builder *builder, struct side_builder_type *type,
		const char *label, int64_t begin, int64_t end)
{
	struct side_enum_mapping *mapping =
			builder_append_item(builder, &type->items, sizeof(*mapping));

	if (!mapping)
		return builder->result;
	mapping->range_begin = begin;
	mapping->range_end = end;
	mapping->label.unit_size = 1;
	mapping->label.byte_order.v = SIDE_TYPE_BYTE_ORDER_HOST;
	side_ptr_set(mapping->label.p, label ? builder_copy_units(builder, label, 1) : NULL);
	return builder->result;
}

EXPORT int side_builder_add_label(struct side_builder *builder,
		struct side_builder_type *enumeration, const char *label, int64_t begin,
		int64_t end)
{
	if (!builder)
		return SIDE_ERROR_INVAL;
	if (!builder_accepts(
			    builder, enumeration, SIDE_TYPE_ENUM, SIDE_TYPE_GATHER_ENUM, "a label"))
		return builder->result;
	return builder_add_mapping(builder, enumeration, label, begin, end);
}

EXPORT int side_builder_add_bit_label(struct side_builder *builder,
		struct side_builder_type *bitmap, const char *label, uint64_t begin, uint64_t end)
{
	if (!builder)
		return SIDE_ERROR_INVAL;
	if (!builder_accepts(builder, bitmap, SIDE_TYPE_ENUM_BITMAP, SIDE_TYPE_ENUM_BITMAP,
			    "a bit label"))
		return builder->result;
	return builder_add_mapping(builder, bitmap, label, (int64_t)begin, (int64_t)end);
}

/* ---- attributes ---- */

static int builder_add_attribute(struct side_builder *builder, struct side_builder_type *on,
		const char *key, enum side_attr_type type, const void *value, size_t size)
{
	struct builder_attr_fill *attr;
	const char *copy;

	if (!builder)
		return SIDE_ERROR_INVAL;
	if (!builder_may_add(builder))
		return builder->result;
	if (!key || !*key)
		return builder_fail(builder, SIDE_ERROR_INVAL, "the key of an attribute is %s",
				key ? "empty" : "NULL");
	if (!on)
		on = &builder->root;
	if (!builder_owns_type(builder, on))
		return builder->result;
	/* A gather struct has no attributes; its struct has them. */
	if (side_enum_get(on->raw.type) == SIDE_TYPE_GATHER_STRUCT && on->element)
		on = on->element;
	if (side_enum_get(on->raw.type) == SIDE_TYPE_DYNAMIC)
		return builder_fail(builder, SIDE_ERROR_INVAL,
				"attribute \"%.100s\": a dynamic field has no attributes", key);
	copy = builder_copy_units(builder, key, 1);
	attr = copy ? builder_append_item(builder, &on->attributes, sizeof(*attr)) : NULL;
	if (!attr)
		return builder->result;
	side_ptr_set(attr->key.p, copy);
	attr->key.unit_size = 1;
	attr->key.byte_order.v = SIDE_TYPE_BYTE_ORDER_HOST;
	side_enum_set(attr->value.type, type);
	if (size)
		memcpy(&attr->value.u, value, size);
	return SIDE_ERROR_OK;
}

EXPORT int side_builder_attr_null(
		struct side_builder *builder, struct side_builder_type *on, const char *key)
{
	return builder_add_attribute(builder, on, key, SIDE_ATTR_TYPE_NULL, NULL, 0);
}

EXPORT int side_builder_attr_bool(struct side_builder *builder, struct side_builder_type *on,
		const char *key, int value)
{
	uint8_t byte = !!value;

	return builder_add_attribute(builder, on, key, SIDE_ATTR_TYPE_BOOL, &byte, 1);
}

static int builder_add_integer_attribute(struct side_builder *builder, struct side_builder_type *on,
		const char *key, unsigned int size, bool is_signed, uint64_t number)
{
	uint8_t u8 = (uint8_t)number;
	uint16_t u16 = (uint16_t)number;
	uint32_t u32 = (uint32_t)number;
	bool fits;

	if (!builder)
		return SIDE_ERROR_INVAL;
	switch (size) {
	case 1:
		fits = is_signed ? (int8_t)u8 == (int64_t)number : u8 == number;
		if (fits)
			return builder_add_attribute(builder, on, key,
					is_signed ? SIDE_ATTR_TYPE_S8 : SIDE_ATTR_TYPE_U8, &u8, 1);
		break;
	case 2:
		fits = is_signed ? (int16_t)u16 == (int64_t)number : u16 == number;
		if (fits)
			return builder_add_attribute(builder, on, key,
					is_signed ? SIDE_ATTR_TYPE_S16 : SIDE_ATTR_TYPE_U16, &u16,
					2);
		break;
	case 4:
		fits = is_signed ? (int32_t)u32 == (int64_t)number : u32 == number;
		if (fits)
			return builder_add_attribute(builder, on, key,
					is_signed ? SIDE_ATTR_TYPE_S32 : SIDE_ATTR_TYPE_U32, &u32,
					4);
		break;
	case 8:
		return builder_add_attribute(builder, on, key,
				is_signed ? SIDE_ATTR_TYPE_S64 : SIDE_ATTR_TYPE_U64, &number, 8);
	default:
		return builder_fail(builder, SIDE_ERROR_INVAL,
				"attribute \"%.100s\": an integer cannot have %u bytes",
				key ? key : "(null)", size);
	}
	return builder_fail(builder, SIDE_ERROR_INVAL,
			"attribute \"%.100s\": the value does not fit %u bytes",
			key ? key : "(null)", size);
}

EXPORT int side_builder_attr_unsigned(struct side_builder *builder, struct side_builder_type *on,
		const char *key, unsigned int size, uint64_t value)
{
	return builder_add_integer_attribute(builder, on, key, size, false, value);
}

EXPORT int side_builder_attr_signed(struct side_builder *builder, struct side_builder_type *on,
		const char *key, unsigned int size, int64_t value)
{
	return builder_add_integer_attribute(builder, on, key, size, true, (uint64_t)value);
}

EXPORT int side_builder_attr_u128(struct side_builder *builder, struct side_builder_type *on,
		const char *key, uint64_t high, uint64_t low)
{
	uint64_t split[NR_SIDE_INTEGER128_SPLIT];

	split[SIDE_INTEGER128_SPLIT_LOW] = low;
	split[SIDE_INTEGER128_SPLIT_HIGH] = high;
	return builder_add_attribute(builder, on, key, SIDE_ATTR_TYPE_U128, split, sizeof(split));
}

EXPORT int side_builder_attr_s128(struct side_builder *builder, struct side_builder_type *on,
		const char *key, int64_t high, uint64_t low)
{
	uint64_t split[NR_SIDE_INTEGER128_SPLIT];

	split[SIDE_INTEGER128_SPLIT_LOW] = low;
	split[SIDE_INTEGER128_SPLIT_HIGH] = (uint64_t)high;
	return builder_add_attribute(builder, on, key, SIDE_ATTR_TYPE_S128, split, sizeof(split));
}

EXPORT int side_builder_attr_float(struct side_builder *builder, struct side_builder_type *on,
		const char *key, unsigned int size, const void *value)
{
	unsigned int type = SIDE_ATTR_TYPE_FLOAT_BINARY16;
	unsigned int known;

	if (!builder)
		return SIDE_ERROR_INVAL;
	for (known = 2; known < size && known < 16; known *= 2)
		type++;
	if (known != size || !value)
		return builder_fail(builder, SIDE_ERROR_INVAL,
				value ? "attribute \"%.100s\": a float cannot have %u bytes"
				      : "attribute \"%.100s\": the float of %u bytes is NULL",
				key ? key : "(null)", size);
	return builder_add_attribute(builder, on, key, (enum side_attr_type)type, value, size);
}

EXPORT int side_builder_attr_text(struct side_builder *builder, struct side_builder_type *on,
		const char *key, const void *value, unsigned int unit_size,
		enum side_type_label_byte_order byte_order)
{
	struct side_type_raw_string string;
	const void *copy;

	if (!builder)
		return SIDE_ERROR_INVAL;
	if (unit_size != 1 && unit_size != 2 && unit_size != 4)
		return builder_fail(builder, SIDE_ERROR_INVAL,
				"attribute \"%.100s\": a string cannot have units of %u bytes",
				key ? key : "(null)", unit_size);
	if (!value || (unsigned int)byte_order > 1)
		return builder_fail(builder, SIDE_ERROR_INVAL,
				"attribute \"%.100s\": the string is NULL or of unknown byte order",
				key ? key : "(null)");
	copy = builder_copy_units(builder, value, unit_size);
	if (!copy)
		return builder->result;
	memset(&string, 0, sizeof(string));
	side_ptr_set(string.p, copy);
	string.unit_size = (uint8_t)unit_size;
	side_enum_set(string.byte_order, byte_order);
	return builder_add_attribute(
			builder, on, key, SIDE_ATTR_TYPE_STRING, &string, sizeof(string));
}

EXPORT int side_builder_attr_string(struct side_builder *builder, struct side_builder_type *on,
		const char *key, const char *value)
{
	return side_builder_attr_text(builder, on, key, value, 1, SIDE_TYPE_BYTE_ORDER_HOST);
}

/* ---- the event ---- */

static struct side_builder *builder_begin(struct side_builder *builder, const char *provider,
		const char *event, enum side_loglevel loglevel, uint64_t flags)
{
	struct side_event_description *desc;
	const char *names[2];

	builder->root.builder = builder;
	side_enum_set(builder->root.raw.type, SIDE_TYPE_STRUCT);
	names[0] = builder_copy_units(builder, provider ? provider : "", 1);
	names[1] = builder_copy_units(builder, event ? event : "", 1);
	if (!names[0] || !names[1]) {
		(void)side_builder_destroy(builder);
		return NULL;
	}
	desc = &builder->desc;
	desc->struct_size = offsetof(struct side_event_description, end);
	desc->version = SIDE_EVENT_DESCRIPTION_ABI_VERSION;
	side_ptr_set(desc->state, &builder->state.parent);
	side_ptr_set(desc->provider_name, names[0]);
	side_ptr_set(desc->event_name, names[1]);
	desc->flags = flags;
	desc->nr_side_type_label = _NR_SIDE_TYPE_LABEL;
	desc->nr_side_attr_type = _NR_SIDE_ATTR_TYPE;
	side_enum_set(desc->loglevel, loglevel);
	builder->state.parent.version = SIDE_EVENT_STATE_ABI_VERSION;
	builder->state.callbacks =
			(const struct side_callback *)(const void *)&side_empty_callback[0];
	builder->state.desc = desc;
	builder->batch[0] = desc;
	return builder;
}

EXPORT struct side_builder *side_builder_create(const char *provider, const char *event,
		enum side_loglevel loglevel, uint64_t flags)
{
	struct side_builder *builder = calloc(1, sizeof(*builder));

	return builder ? builder_begin(builder, provider, event, loglevel, flags) : NULL;
}

EXPORT struct side_builder *side_tracer_builder_create(const char *provider, const char *event,
		enum side_loglevel loglevel, uint64_t flags, void *(*take)(void *user, size_t size),
		void *user)
{
	struct side_builder *builder = take ? take(user, sizeof(*builder)) : NULL;

	if (!builder)
		return NULL;
	memset(builder, 0, sizeof(*builder));
	builder->take = take;
	builder->user = user;
	return builder_begin(builder, provider, event, loglevel, flags);
}

EXPORT int side_builder_finish(struct side_builder *builder)
{
	if (!builder)
		return SIDE_ERROR_INVAL;
	if (builder->finished || builder->result != SIDE_ERROR_OK)
		return builder->result;
	if (builder_lay_out(builder) == SIDE_ERROR_OK)
		builder->finished = true;
	return builder->result;
}

EXPORT int side_builder_register(struct side_builder *builder)
{
	int result = side_builder_finish(builder);

	if (result != SIDE_ERROR_OK)
		return result;
	if (builder->handle)
		return SIDE_ERROR_EXIST;
	/* Before the registration there is nothing to wait for. */
	builder->was_registered = true;
	builder->handle = side_events_register(builder->batch, 1);
	if (!builder->handle)
		return registry_is_finished() ? SIDE_ERROR_EXITING : SIDE_ERROR_NOMEM;
	return SIDE_ERROR_OK;
}

EXPORT int side_builder_unregister(struct side_builder *builder)
{
	if (!builder)
		return SIDE_ERROR_INVAL;
	if (!builder->was_registered)
		return SIDE_ERROR_OK;
	if (!registry_may_wait())
		return SIDE_ERROR_INVAL;
	/* After side_exit() the handle is invalid, and this call does not access it. */
	side_events_unregister(builder->handle);
	builder->handle = NULL;
	(void)side_tracer_synchronize();
	return SIDE_ERROR_OK;
}

EXPORT int side_builder_destroy(struct side_builder *builder)
{
	struct builder_chunk *chunk;
	int result;

	if (!builder)
		return SIDE_ERROR_OK;
	result = side_builder_unregister(builder);
	if (result != SIDE_ERROR_OK)
		return result;
	while (!builder->take && (chunk = builder->chunks)) {
		builder->chunks = chunk->next;
		free(chunk);
	}
	if (!builder->take)
		free(builder);
	return SIDE_ERROR_OK;
}

EXPORT struct side_event_description *side_builder_description(const struct side_builder *builder)
{
	return builder && builder->finished ? builder->batch[0] : NULL;
}

EXPORT const struct side_event_state *side_builder_state(const struct side_builder *builder)
{
	return builder && builder->finished ? &builder->state.parent : NULL;
}

EXPORT int side_builder_enabled(const struct side_builder *builder)
{
	/* Relaxed, like every call site: the call itself loads the callbacks with an acquire. */
	return builder && builder->finished &&
			__atomic_load_n(&builder->state.enabled, __ATOMIC_RELAXED) != 0;
}

EXPORT const char *side_builder_error(const struct side_builder *builder)
{
	return builder ? builder->error : "the builder is NULL: out of memory";
}
