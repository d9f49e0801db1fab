/* SPDX-License-Identifier: MIT */
/*
 * Writes EventHeader records: the values, and the types that are only known from the call.
 *
 * The values are laid out independently of the metadata: a structure is its members, an array or an
 * optional value is a count and its contents. One walk therefore writes them, and also writes the
 * metadata, except while `static_depth` is not 0: inside a field with a static type, whose metadata
 * is already complete. While `skip_depth` is not 0, it writes nothing: elements beyond the limit,
 * and members that no decoder accepts. Both count the nested fields, elements and compounds.
 */
#include <stdio.h>
#include <string.h>

#include "tracers/user-events/user-events.h"

struct header_scope {
	size_t type_at; /* offset in the metadata of the encoding and the number of members */
	uint32_t members;
	bool more; /* contains the members that did not fit into the structure before it */
};

struct header_walk {
	struct user_event_record *record;
	struct user_event_bytes *metadata;
	unsigned int static_depth, skip_depth;
	const char *name; /* of the next item in the metadata */
	char digits[12];
	unsigned int depth;
	struct header_scope frames[HEADER_DEPTH_MAX];
	uint16_t counts[VISIT_DEPTH_MAX + 1]; /* offsets of the counts of arrays */
};

static struct user_event_bytes *user_events_header_payload(struct header_walk *walk)
{
	return &walk->record->bytes;
}

/* ---- metadata of this call ---- */

static void user_events_header_describe_null(struct header_walk *walk)
{
	const struct field_shape null = {.kind = SHAPE_NULL};

	metadata_scalar(walk->metadata, walk->name, &null);
	bytes_put_u16(user_events_header_payload(walk), 0);
}

/* Write null instead of a value, and omit the value. */
static void user_events_header_cut(struct header_walk *walk)
{
	user_events_header_describe_null(walk);
	walk->record->cut = true;
	walk->skip_depth = 1;
}

static void user_events_header_push(struct header_walk *walk)
{
	const struct field_shape shape = {.kind = SHAPE_NULL};

	if (walk->depth == HEADER_DEPTH_MAX) {
		user_events_header_cut(walk);
		return;
	}
	metadata_scalar(walk->metadata, walk->name, &shape);
	walk->frames[walk->depth++] = (struct header_scope){.type_at = walk->metadata->size - 2};
}

static void user_events_header_pop(struct header_walk *walk)
{
	struct header_scope *frame;
	struct user_event_bytes *metadata = walk->metadata;

	do {
		frame = &walk->frames[--walk->depth];
		if (!frame->members) {
			/*
			 * A structure without members: it stays null, as user_events_header_push()
			 * wrote it.
			 */
			bytes_put_u16(user_events_header_payload(walk), 0);
		} else if (frame->type_at + 2 <= metadata->capacity) {
			metadata->at[frame->type_at] = HEADER_STRUCT | HEADER_HAS_FORMAT;
			metadata->at[frame->type_at + 1] = (unsigned char)frame->members;
		}
	} while (frame->more);
}

/*
 * Count one more member of the current structure. If the structure is full, its last member becomes
 * a structure that continues it. Returns false if there is no space.
 */
static bool user_events_header_has_space(struct header_walk *walk)
{
	struct header_scope *frame = walk->depth ? &walk->frames[walk->depth - 1] : NULL;

	if (!frame)
		return true;
	if (frame->members == HEADER_MEMBERS_MAX) {
		/*
		 * The last member is null and represents all remaining ones. This happens only at
		 * the greatest depth.
		 */
		walk->skip_depth = 1;
		return false;
	}
	if (frame->members++ < HEADER_MEMBERS_MAX - 1)
		return true;
	walk->name = "...";
	user_events_header_push(walk);
	if (walk->skip_depth)
		return false;
	walk->frames[walk->depth - 1].more = true;
	walk->frames[walk->depth - 1].members = 1;
	return true;
}

/* Write the metadata of a static type at once; its parts then write values only. */
static void user_events_header_describe(struct header_walk *walk, const struct side_type *type)
{
	if (walk->depth + shape_depth(type) > HEADER_DEPTH_MAX) {
		user_events_header_cut(walk);
		return;
	}
	metadata_field(walk->metadata, walk->name, type);
	walk->static_depth = 1;
}

/* ---- fields and elements ---- */

static int user_events_header_field_begin(void *priv, const struct visit_location *location)
{
	struct header_walk *walk = priv;

	if (walk->skip_depth) {
		walk->skip_depth++;
	} else if (walk->static_depth) {
		walk->static_depth++;
	} else if (user_events_header_has_space(walk)) {
		walk->name = location->name;
		if (location->type && shape_is_static(location->type))
			user_events_header_describe(walk, location->type);
	}
	return 0;
}

static int user_events_header_end_event(void *priv, const struct visit_location *location)
{
	struct header_walk *walk = priv;

	(void)location;
	if (walk->skip_depth)
		walk->skip_depth--;
	else if (walk->static_depth)
		walk->static_depth--;
	return 0;
}

static int user_events_header_element_begin(void *priv, const struct visit_location *location)
{
	struct header_walk *walk = priv;
	struct visit_location named = *location;

	if (!walk->skip_depth && location->index >= walk->record->limit) {
		walk->record->cut = true;
		walk->skip_depth = 1;
		return 0;
	}
	if (!walk->skip_depth && !walk->static_depth)
		(void)snprintf(walk->digits, sizeof(walk->digits), "%u",
				(unsigned int)location->index);
	named.name = walk->digits;
	return user_events_header_field_begin(walk, &named);
}

/* ---- values ---- */

static unsigned int user_events_header_unit_of(
		const unsigned char *at, unsigned int size, bool swap)
{
	uint16_t two;
	uint32_t four;

	if (size == 1)
		return *at;
	if (size == 2) {
		memcpy(&two, at, 2);
		return swap ? __builtin_bswap16(two) : two;
	}
	memcpy(&four, at, 4);
	return swap ? __builtin_bswap32(four) : four;
}

static void user_events_header_put_unit(
		struct user_event_bytes *to, unsigned int unit, unsigned int size)
{
	uint32_t four = unit;

	if (size == 1)
		bytes_put_u8(to, unit);
	else if (size == 2)
		bytes_put_u16(to, unit);
	else
		bytes_put(to, &four, 4);
}

/* Write the units in host byte order, and a terminating zero. */
static void user_events_header_write_string(
		struct user_event_record *record, const struct visit_text *text)
{
	const unsigned char *at = text->at ? text->at : (const unsigned char *)"(null)";
	unsigned int size = text->unit_size, from = text->at ? size : 1, unit;
	bool swap = text->at && text->byte_order != SIDE_TYPE_BYTE_ORDER_HOST;
	size_t nr;

	for (nr = 0; (unit = user_events_header_unit_of(at, from, swap)); nr++, at += from) {
		if (nr == record->limit) {
			record->cut = true;
			for (nr = 0; nr < 3; nr++)
				user_events_header_put_unit(&record->bytes, '.', size);
			break;
		}
		/* The record is already too long: stop counting a long string. */
		if (record->bytes.size > record->bytes.capacity)
			return;
		user_events_header_put_unit(&record->bytes, unit, size);
	}
	user_events_header_put_unit(&record->bytes, 0, size);
}

static void user_events_header_write_value(struct user_event_record *record,
		const struct field_shape *shape, const struct visit_value *value)
{
	unsigned char bytes[16];

	switch (shape->kind) {
	case SHAPE_NULL: bytes_put_u16(&record->bytes, 0); break;
	case SHAPE_STRING: user_events_header_write_string(record, &value->text); break;
	default:
		shape_store(shape, value, true, bytes);
		bytes_put(&record->bytes, bytes, shape->size);
		break;
	}
}

static int user_events_header_visit_value(void *priv, const struct visit_location *location,
		const struct visit_value *value, struct visit_attributes attributes)
{
	struct header_walk *walk = priv;
	struct field_shape shape = shape_of_value(value, attributes);

	(void)location;
	if (walk->skip_depth)
		return 0;
	if (!walk->static_depth)
		metadata_scalar(walk->metadata, walk->name, &shape);
	user_events_header_write_value(walk->record, &shape, value);
	return 0;
}

static int user_events_header_visit_bitmap(void *priv, const struct visit_location *location,
		const struct side_enum_bitmap_mappings *mappings, const struct visit_bitmap *bitmap)
{
	struct header_walk *walk = priv;
	bool many = shape_of(location->type).kind == SHAPE_ARRAY;
	uint32_t i, nr = bitmap->nr_items;
	struct visit_value loaded;
	struct field_shape shape;

	(void)mappings;
	if (walk->skip_depth)
		return 0;
	/* The limit applies to elements: a scalar has one value in each record. */
	if (many && nr > walk->record->limit) {
		nr = (uint32_t)walk->record->limit;
		walk->record->cut = true;
	}
	if (many)
		bytes_put_u16(user_events_header_payload(walk), nr);
	for (i = 0; i < nr; i++) {
		if (visit_load_argument(bitmap->item_type, &bitmap->items[i], &loaded))
			return -1;
		shape = shape_of_value(&loaded, (struct visit_attributes){NULL, 0});
		user_events_header_write_value(walk->record, &shape, &loaded);
	}
	return 0;
}

/* ---- compound types ---- */

static int user_events_header_struct_begin(void *priv, const struct visit_location *location,
		struct visit_attributes attributes, uint32_t nr)
{
	struct header_walk *walk = priv;

	(void)location;
	(void)attributes;
	if (walk->skip_depth)
		walk->skip_depth++;
	else if (!walk->static_depth)
		user_events_header_push(walk);
	else if (!nr)
		bytes_put_u16(user_events_header_payload(walk),
				0); /* a structure without members is null */
	return 0;
}

static int user_events_header_struct_end(
		void *priv, const struct visit_location *location, uint32_t nr)
{
	struct header_walk *walk = priv;

	(void)location;
	(void)nr;
	if (walk->skip_depth)
		walk->skip_depth--;
	else if (!walk->static_depth)
		user_events_header_pop(walk);
	return 0;
}

static int user_events_header_array_begin(void *priv, const struct visit_location *location,
		struct visit_attributes attributes, uint32_t nr)
{
	struct header_walk *walk = priv;

	/*
	 * Without a static type the elements may have different types: write a structure with
	 * numbered members.
	 */
	if (!walk->static_depth || walk->skip_depth)
		return user_events_header_struct_begin(priv, location, attributes, nr);
	walk->counts[location->depth] = (uint16_t)user_events_header_payload(walk)->size;
	bytes_put_u16(user_events_header_payload(walk), 0);
	return 0;
}

static int user_events_header_array_end(
		void *priv, const struct visit_location *location, uint32_t nr)
{
	struct header_walk *walk = priv;
	struct user_event_bytes *bytes = user_events_header_payload(walk);
	uint16_t kept = (uint16_t)(nr < walk->record->limit ? nr : walk->record->limit);

	if (!walk->static_depth || walk->skip_depth)
		return user_events_header_struct_end(priv, location, nr);
	if (bytes->size <= bytes->capacity)
		memcpy(bytes->at + walk->counts[location->depth], &kept, sizeof(kept));
	return 0;
}

static int user_events_header_optional_begin(void *priv, const struct visit_location *location,
		struct visit_attributes attributes, bool present)
{
	struct header_walk *walk = priv;
	struct field_shape element;

	(void)attributes;
	if (walk->skip_depth)
		return 0;
	if (walk->static_depth) {
		element = shape_of(shape_of(location->type).element);
		bytes_put_u16(user_events_header_payload(walk),
				!present                                       ? 0
						: element.kind == SHAPE_SCALAR ? element.size
									       : 1);
	} else if (!present) {
		user_events_header_describe_null(walk);
	}
	return 0;
}

/* Write a structure of the selector and the selected value, or null if that would be too deep. */
static int user_events_header_variant_begin(void *priv, const struct visit_location *location,
		struct visit_attributes attributes, const struct visit_value *selector,
		uint32_t option)
{
	struct header_walk *walk = priv;
	const struct side_type_variant *variant = side_ptr_get(location->type->u.side_variant);
	const struct side_type *chosen = &side_array_at(&variant->options, option)->side_type;
	struct field_shape shape =
			shape_of_value(selector, visit_type_attributes(&variant->selector));
	bool is_static = shape_is_static(chosen);

	(void)attributes;
	if (walk->skip_depth) {
		walk->skip_depth++;
		return 0;
	}
	if (walk->depth + 1 + (is_static ? shape_depth(chosen) : 0) > HEADER_DEPTH_MAX) {
		user_events_header_cut(walk);
		return 0;
	}
	user_events_header_push(walk);
	walk->frames[walk->depth - 1].members = 2;
	metadata_scalar(walk->metadata, "tag", &shape);
	user_events_header_write_value(walk->record, &shape, selector);
	walk->name = "value";
	if (is_static)
		user_events_header_describe(walk, chosen);
	return 0;
}

static int user_events_header_variant_end(void *priv, const struct visit_location *location)
{
	struct header_walk *walk = priv;

	(void)location;
	if (walk->skip_depth) {
		walk->skip_depth--;
		return 0;
	}
	walk->static_depth = 0;
	user_events_header_pop(walk);
	return 0;
}

int header_record(const struct kernel_call *call, struct user_event_record *record,
		struct user_event_bytes *metadata)
{
	static const struct visit_argument_ops ops = {
			.field_begin = user_events_header_field_begin,
			.field_end = user_events_header_end_event,
			.element_begin = user_events_header_element_begin,
			.element_end = user_events_header_end_event,
			.value = user_events_header_visit_value,
			.struct_begin = user_events_header_struct_begin,
			.struct_end = user_events_header_struct_end,
			.array_begin = user_events_header_array_begin,
			.array_end = user_events_header_array_end,
			.bitmap = user_events_header_visit_bitmap,
			.optional_begin = user_events_header_optional_begin,
			.variant_begin = user_events_header_variant_begin,
			.variant_end = user_events_header_variant_end,
	};
	const struct user_event *event = call->event;
	struct header_walk walk;

	walk.record = record;
	walk.metadata = metadata;
	walk.static_depth = event->is_static;
	walk.skip_depth = 0;
	walk.depth = 0;
	walk.name = "";
	if (!event->is_static)
		bytes_put(metadata, side_ptr_get(event->desc->event_name),
				strlen(side_ptr_get(event->desc->event_name)) + 1);
	return visit_arguments(event->desc, call->args, call->variadic, &ops, &walk, NULL);
}
