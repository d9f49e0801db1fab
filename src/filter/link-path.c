/* SPDX-License-Identifier: MIT */
/*
 * Converts paths to moves, along the types of a description.
 *
 * Optionals and variants have no step in a path: their moves are inserted wherever one is on the
 * path. All options of a variant are followed; an option without the path has no value at run time.
 * It is an error only if no option has the path.
 */
#include <errno.h>

#include "filter/link.h"
#include "filter/memory.h"
#include "filter/suggest.h"
#include "filter/text.h"
#include "abi/visit.h"

/* The state of following one path. */
struct filter_path_step {
	struct filter_linker *linker;
	const struct filter_want *want;
	const char *name; /* the last name, for errors */
	/* for FILTER_GOAL_TEXT: false if all leaves are enumerations without the label */
	bool can_be_true;
	unsigned int depth; /* nesting of types */
};

static unsigned int follow_type(struct filter_path_step *cursor, const struct side_type *type,
		struct filter_path_reader remainder);
static unsigned int follow_memory(struct filter_path_step *cursor, const struct side_type *type,
		struct filter_path_reader remainder);

/* ---- moves ---- */

static size_t filter_path_emit_move(struct filter_path_step *cursor, const struct filter_move *move)
{
	struct filter_linker *linker = cursor->linker;
	struct filter_move *to;
	size_t offset;

	if (++linker->nr_moves > FILTER_MOVES_MAX && !linker->failed)
		linker->failed = -E2BIG;
	offset = filter_link_take(linker, sizeof(*move));
	to = filter_link_at(linker, offset);
	if (to)
		*to = *move;
	return offset;
}

/* Data between moves has the size of whole moves, so that skips can count moves. */
static size_t take_data(struct filter_path_step *cursor, size_t size)
{
	size = (size + sizeof(struct filter_move) - 1) / sizeof(struct filter_move) *
			sizeof(struct filter_move);
	return filter_link_take(cursor->linker, size);
}

static void put_simple(
		struct filter_path_step *cursor, enum filter_move_code code, unsigned int label)
{
	struct filter_move move = {.code = (uint8_t)code, .label = (uint16_t)label};

	filter_path_emit_move(cursor, &move);
}

/* ---- names ---- */

static bool filter_path_same_name(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static const struct side_event_field *filter_path_find_field(
		const struct side_event_field *fields, uint32_t nr, const char *name)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		if (filter_path_same_name(side_ptr_get(fields[i].field_name), name))
			return &fields[i];
	}
	return NULL;
}

static void no_such_field(struct filter_path_step *cursor, const struct side_event_field *fields,
		uint32_t nr, const char *name, const char *where)
{
	unsigned int best = 1000, distance;
	const char *nearest = NULL;
	char hint[FILTER_HINT_MAX];
	uint32_t i;

	for (i = 0; i < nr; i++) {
		distance = filter_distance(name, side_ptr_get(fields[i].field_name));
		if (distance < best && filter_is_near(name, distance)) {
			best = distance;
			nearest = side_ptr_get(fields[i].field_name);
		}
	}
	if (filter_link_reason(cursor->linker, -ENOENT, cursor->want->field->column, where,
			    " has no ", cursor->name ? "member" : "field", " \"", name, "\"", NULL))
		filter_link_hint(cursor->linker, filter_hint_word(nearest, "", hint));
}

static const char *filter_path_type_name(unsigned int label)
{
	switch (label) {
	case SIDE_TYPE_NULL: return "nothing (null)";
	case SIDE_TYPE_BOOL:
	case SIDE_TYPE_GATHER_BOOL: return "a boolean";
	case SIDE_TYPE_FLOAT_BINARY16:
	case SIDE_TYPE_FLOAT_BINARY32:
	case SIDE_TYPE_FLOAT_BINARY64:
	case SIDE_TYPE_FLOAT_BINARY128:
	case SIDE_TYPE_GATHER_FLOAT: return "a float";
	case SIDE_TYPE_STRING_UTF8:
	case SIDE_TYPE_STRING_UTF16:
	case SIDE_TYPE_STRING_UTF32:
	case SIDE_TYPE_GATHER_STRING: return "a string";
	case SIDE_TYPE_STRUCT:
	case SIDE_TYPE_GATHER_STRUCT: return "a structure";
	case SIDE_TYPE_ARRAY:
	case SIDE_TYPE_VLA:
	case SIDE_TYPE_VLA_VISITOR:
	case SIDE_TYPE_GATHER_ARRAY:
	case SIDE_TYPE_GATHER_VLA: return "an array";
	case SIDE_TYPE_ENUM:
	case SIDE_TYPE_GATHER_ENUM: return "an enumeration";
	case SIDE_TYPE_ENUM_BITMAP: return "a bitmap";
	default: return "an integer";
	}
}

static bool is_array(unsigned int label)
{
	switch (label) {
	case SIDE_TYPE_ARRAY:
	case SIDE_TYPE_VLA:
	case SIDE_TYPE_VLA_VISITOR:
	case SIDE_TYPE_GATHER_ARRAY:
	case SIDE_TYPE_GATHER_VLA: return true;
	default: return false;
	}
}

/* Store an error: the type does not support the requested property. Returns 0. */
static unsigned int filter_path_refuse(
		struct filter_path_step *cursor, unsigned int label, const char *because)
{
	filter_link_reason(cursor->linker, -EINVAL, cursor->want->field->column, "\"", cursor->name,
			"\" is ", filter_path_type_name(label), because, NULL);
	return 0;
}

static unsigned int refuse_goal(struct filter_path_step *cursor, unsigned int label)
{
	switch (cursor->want->goal) {
	case FILTER_GOAL_LENGTH:
		return filter_path_refuse(cursor, label, "; len() accepts strings and arrays");
	case FILTER_GOAL_TEXT:
		if (!is_array(label) && label != SIDE_TYPE_STRUCT &&
				label != SIDE_TYPE_GATHER_STRUCT)
			return filter_path_refuse(cursor, label, ", and is compared with a string");
		break;
	default: break;
	}
	if (is_array(label))
		return filter_path_refuse(
				cursor, label, ": use an element, as in [0], or its len()");
	if (label == SIDE_TYPE_STRUCT || label == SIDE_TYPE_GATHER_STRUCT)
		return filter_path_refuse(cursor, label, ": name one of its members");
	if (label == SIDE_TYPE_ENUM_BITMAP)
		return filter_path_refuse(cursor, label,
				" of several items: use one, as [0], or compare it with a label");
	return filter_path_refuse(cursor, label, ", which has no value");
}

/* Store an error: the type does not support the step. Returns 0. */
static unsigned int refuse_step(
		struct filter_path_step *cursor, unsigned int label, const struct filter_step *step)
{
	if (step->name)
		return filter_path_refuse(cursor, label, ", which has no members");
	return filter_path_refuse(cursor, label, ", which has no elements");
}

/* ---- labels ---- */

static bool filter_path_label_matches(
		const struct side_type_raw_string *label, const struct filter_want *want)
{
	struct filter_value wanted,
			value = {
					.kind = FILTER_STRING,
					.unit_size = label->unit_size,
					.byte_order = label->byte_order.v,
					.text = side_ptr_get(label->p),
					.size = FILTER_TERMINATED,
			};

	filter_value_text(&wanted, want->text.bytes, want->text.size);
	if (want->is_glob)
		return filter_text_glob(&wanted, &value);
	return !filter_text_compare(&wanted, &value);
}

uint32_t filter_link_labels(const struct side_enum_mappings *mappings,
		const struct filter_want *want, struct filter_range *ret_ranges,
		struct filter_range *single)
{
	const struct side_enum_mapping *mapping = side_array_elements(&mappings->mappings);
	uint32_t i, count = 0;

	for (i = 0; i < side_array_length(&mappings->mappings); i++) {
		if (mapping[i].range_begin > mapping[i].range_end ||
				!filter_path_label_matches(&mapping[i].label, want))
			continue;
		single->begin = (uint64_t)mapping[i].range_begin;
		single->end = (uint64_t)mapping[i].range_end;
		if (ret_ranges)
			ret_ranges[count] = *single;
		count++;
	}
	return count;
}

static uint32_t bitmap_labels(const struct side_enum_bitmap_mappings *mappings,
		const struct filter_want *want, struct filter_range *ret_ranges)
{
	const struct side_enum_bitmap_mapping *mapping = side_array_elements(&mappings->mappings);
	uint32_t i, count = 0;

	for (i = 0; i < side_array_length(&mappings->mappings); i++) {
		if (mapping[i].range_begin > mapping[i].range_end ||
				!filter_path_label_matches(&mapping[i].label, want))
			continue;
		if (ret_ranges)
			ret_ranges[count] = (struct filter_range){
					.begin = mapping[i].range_begin,
					.end = mapping[i].range_end,
			};
		count++;
	}
	return count;
}

/* The nearest label so far. */
struct nearest_field {
	const char *wanted, *name;
	unsigned int distance;
};

static void try_label(struct nearest_field *nearest, const struct side_type_raw_string *label)
{
	unsigned int distance;

	if (label->unit_size != 1 || !side_ptr_get(label->p))
		return;
	distance = filter_distance(nearest->wanted, side_ptr_get(label->p));
	if (distance < nearest->distance && filter_is_near(nearest->wanted, distance)) {
		nearest->distance = distance;
		nearest->name = side_ptr_get(label->p);
	}
}

static void no_such_label(struct filter_path_step *cursor, const struct nearest_field *nearest)
{
	char hint[FILTER_HINT_MAX];

	if (filter_link_reason(cursor->linker, -ENOENT, cursor->want->field->column, "\"",
			    cursor->name, "\" has no label \"", cursor->want->text.bytes, "\"",
			    NULL))
		filter_link_hint(cursor->linker, filter_hint_word(nearest->name, "", hint));
}

/* ---- leaves ---- */

static unsigned int put_leaf(
		struct filter_path_step *cursor, const struct filter_move *leaf, unsigned int kinds)
{
	filter_path_emit_move(cursor, leaf);
	cursor->can_be_true = true;
	return cursor->want->goal == FILTER_GOAL_VALUE ? kinds : FILTER_KIND_INT;
}

/* A leaf whose presence is all that is requested. */
static unsigned int put_thing(struct filter_path_step *cursor, struct filter_move *leaf)
{
	if (leaf->code != FILTER_LEAF_TEXT)
		leaf->code = FILTER_LEAF_THING;
	return put_leaf(cursor, leaf, 0);
}

/* An integer whose labels are compared. */
static unsigned int filter_path_emit_labels(struct filter_path_step *cursor,
		struct filter_move *leaf, const struct side_enum_mappings *mappings)
{
	const struct side_enum_mapping *mapping = side_array_elements(&mappings->mappings);
	struct nearest_field nearest = {.wanted = cursor->want->text.bytes, .distance = 1000};
	struct filter_range single;
	struct filter_move *put_at;
	size_t ranges, at;
	uint32_t i;

	leaf->flags |= FILTER_LABELS;
	leaf->count = filter_link_labels(mappings, cursor->want, NULL, &single);
	at = filter_path_emit_move(cursor, leaf);
	ranges = take_data(cursor, leaf->count * sizeof(struct filter_range));
	put_at = filter_link_at(cursor->linker, at);
	if (put_at) {
		put_at->ranges = ranges;
		filter_link_labels(mappings, cursor->want, filter_link_at(cursor->linker, ranges),
				&single);
	}
	if (leaf->count) {
		cursor->can_be_true = true;
		return FILTER_KIND_INT;
	}
	for (i = 0; i < side_array_length(&mappings->mappings); i++)
		try_label(&nearest, &mapping[i].label);
	no_such_label(cursor, &nearest);
	return FILTER_KIND_INT;
}

/* Labels of bits. leaf loads an item; its index defines how the items are stored. */
static unsigned int filter_path_emit_bitmap(struct filter_path_step *cursor,
		struct filter_move *leaf, const struct side_enum_bitmap_mappings *mappings)
{
	const struct side_enum_bitmap_mapping *mapping = side_array_elements(&mappings->mappings);
	struct nearest_field nearest = {.wanted = cursor->want->text.bytes, .distance = 1000};
	struct filter_move *put_at;
	size_t ranges, at;
	uint32_t i;

	leaf->code = FILTER_LEAF_BITMAP;
	leaf->item = (uint8_t)(8 * leaf->size);
	leaf->count = bitmap_labels(mappings, cursor->want, NULL);
	at = filter_path_emit_move(cursor, leaf);
	ranges = take_data(cursor, leaf->count * sizeof(struct filter_range));
	put_at = filter_link_at(cursor->linker, at);
	if (put_at) {
		put_at->ranges = ranges;
		bitmap_labels(mappings, cursor->want, filter_link_at(cursor->linker, ranges));
	}
	if (leaf->count) {
		cursor->can_be_true = true;
		return FILTER_KIND_INT;
	}
	for (i = 0; i < side_array_length(&mappings->mappings); i++)
		try_label(&nearest, &mapping[i].label);
	no_such_label(cursor, &nearest);
	return FILTER_KIND_INT;
}

/* Set the leaf that loads a stack-copy scalar. False: the type is no scalar. */
static bool scalar_leaf(
		const struct side_type *type, struct filter_move *ret_leaf, unsigned int *ret_kinds)
{
	unsigned int label = type->type.v;

	ret_leaf->label = (uint16_t)label;
	*ret_kinds = FILTER_KIND_INT;
	switch (label) {
	case SIDE_TYPE_BOOL: return filter_leaf_bool(ret_leaf, &type->u.side_bool, 0);
	case SIDE_TYPE_BYTE:
		ret_leaf->code = FILTER_LEAF_INTEGER;
		ret_leaf->size = 1;
		ret_leaf->bits = 8;
		return true;
	case SIDE_TYPE_FLOAT_BINARY16:
	case SIDE_TYPE_FLOAT_BINARY32:
	case SIDE_TYPE_FLOAT_BINARY64:
	case SIDE_TYPE_FLOAT_BINARY128:
		*ret_kinds = FILTER_KIND_DOUBLE;
		return filter_leaf_float(ret_leaf, &type->u.side_float);
	case SIDE_TYPE_STRING_UTF8:
	case SIDE_TYPE_STRING_UTF16:
	case SIDE_TYPE_STRING_UTF32:
		*ret_kinds = FILTER_KIND_TEXT;
		return filter_leaf_text(ret_leaf, &type->u.side_string);
	default:
		if (label != SIDE_TYPE_POINTER && !visit_label_is_integer(label))
			return false;
		return filter_leaf_integer(ret_leaf, &type->u.side_integer, 0);
	}
}

/* The same from memory. */
static bool gather_leaf(
		const struct side_type *type, struct filter_move *leaf, unsigned int *ret_kinds)
{
	const struct side_type_gather *gather = &type->u.side_gather;
	unsigned int mode;
	bool fits = true;

	*ret_kinds = FILTER_KIND_INT;
	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_GATHER_BOOL:
		fits = filter_leaf_bool(
				leaf, &gather->u.side_bool.type, gather->u.side_bool.offset_bits);
		mode = gather->u.side_bool.access_mode.v;
		break;
	case SIDE_TYPE_GATHER_INTEGER:
	case SIDE_TYPE_GATHER_POINTER:
		fits = filter_leaf_integer(leaf, &gather->u.side_integer.type,
				gather->u.side_integer.offset_bits);
		mode = gather->u.side_integer.access_mode.v;
		break;
	case SIDE_TYPE_GATHER_BYTE:
		leaf->code = FILTER_LEAF_INTEGER;
		leaf->size = 1;
		leaf->bits = 8;
		mode = gather->u.side_byte.access_mode.v;
		break;
	case SIDE_TYPE_GATHER_FLOAT:
		*ret_kinds = FILTER_KIND_DOUBLE;
		fits = filter_leaf_float(leaf, &gather->u.side_float.type);
		mode = gather->u.side_float.access_mode.v;
		break;
	case SIDE_TYPE_GATHER_STRING:
		*ret_kinds = FILTER_KIND_TEXT;
		fits = filter_leaf_text(leaf, &gather->u.side_string.type);
		mode = gather->u.side_string.access_mode.v;
		break;
	default: return false;
	}
	leaf->offset = gather->u.side_bool.offset; /* is the first member of all of them */
	leaf->flags |= FILTER_IN_MEMORY;
	if (mode == SIDE_TYPE_GATHER_ACCESS_POINTER)
		leaf->flags |= FILTER_POINTER;
	return fits;
}
_Static_assert(!offsetof(struct side_type_gather_bool, offset) &&
				!offsetof(struct side_type_gather_integer, offset) &&
				!offsetof(struct side_type_gather_byte, offset) &&
				!offsetof(struct side_type_gather_float, offset) &&
				!offsetof(struct side_type_gather_string, offset) &&
				!offsetof(struct side_type_gather_array, offset) &&
				!offsetof(struct side_type_gather_vla, offset),
		"the offset comes first");

/* A scalar at the end of the path. */
static unsigned int end_scalar(struct filter_path_step *cursor, unsigned int label,
		struct filter_move *leaf, unsigned int kinds)
{
	switch (cursor->want->goal) {
	case FILTER_GOAL_PRESENCE: return put_thing(cursor, leaf);
	case FILTER_GOAL_VALUE: return put_leaf(cursor, leaf, kinds);
	default:
		if (kinds != FILTER_KIND_TEXT)
			return refuse_goal(cursor, label);
		return put_leaf(cursor, leaf, kinds);
	}
}

static unsigned int end_enum(struct filter_path_step *cursor, unsigned int label,
		struct filter_move *leaf, const struct side_enum_mappings *mappings)
{
	if (cursor->want->goal == FILTER_GOAL_TEXT)
		return filter_path_emit_labels(cursor, leaf, mappings);
	return end_scalar(cursor, label, leaf, FILTER_KIND_INT);
}

static unsigned int end_bitmap(struct filter_path_step *cursor, const struct side_type *type)
{
	const struct side_type *item = side_ptr_get(type->u.side_enum_bitmap.elem_type);
	struct filter_move leaf = {.label = item->type.v};
	unsigned int kinds, holder = item->type.v;

	if (cursor->want->goal == FILTER_GOAL_PRESENCE)
		return put_thing(cursor, &leaf);
	leaf.index = holder;
	if (holder == SIDE_TYPE_ARRAY || holder == SIDE_TYPE_VLA) {
		leaf.code = FILTER_LEAF_COUNT;
		if (holder == SIDE_TYPE_ARRAY)
			leaf.count = side_ptr_get(item->u.side_array)->length;
		leaf.skip = leaf.count;
		if (cursor->want->goal == FILTER_GOAL_LENGTH)
			return put_leaf(cursor, &leaf, 0);
		if (cursor->want->goal == FILTER_GOAL_VALUE)
			return refuse_goal(cursor, SIDE_TYPE_ENUM_BITMAP);
		item = holder == SIDE_TYPE_ARRAY
				? side_ptr_get(side_ptr_get(item->u.side_array)->elem_type)
				: side_ptr_get(side_ptr_get(item->u.side_vla)->elem_type);
	} else if (cursor->want->goal == FILTER_GOAL_LENGTH) {
		return refuse_goal(cursor, SIDE_TYPE_ENUM_BITMAP);
	}
	if (!scalar_leaf(item, &leaf, &kinds) || kinds != FILTER_KIND_INT)
		return filter_path_refuse(cursor, SIDE_TYPE_ENUM_BITMAP, " of an impossible type");
	if (cursor->want->goal == FILTER_GOAL_TEXT)
		return filter_path_emit_bitmap(
				cursor, &leaf, side_ptr_get(type->u.side_enum_bitmap.mappings));
	return put_leaf(cursor, &leaf, FILTER_KIND_INT);
}

/* The end of the path at a type that is not transparent and not dynamic. */
static unsigned int end_type(struct filter_path_step *cursor, const struct side_type *type)
{
	unsigned int label = type->type.v, kinds;
	struct filter_move leaf = {.label = (uint16_t)label};

	switch (label) {
	case SIDE_TYPE_ENUM:
		if (!scalar_leaf(side_ptr_get(type->u.side_enum.elem_type), &leaf, &kinds))
			return filter_path_refuse(cursor, label, " of an impossible type");
		return end_enum(cursor, label, &leaf, side_ptr_get(type->u.side_enum.mappings));
	case SIDE_TYPE_ENUM_BITMAP: return end_bitmap(cursor, type);
	case SIDE_TYPE_ARRAY: leaf.count = side_ptr_get(type->u.side_array)->length; break;
	case SIDE_TYPE_VLA: break;
	case SIDE_TYPE_VLA_VISITOR:
		leaf.visitor = side_ptr_get(side_ptr_get(type->u.side_vla_visitor)->visitor);
		break;
	case SIDE_TYPE_NULL:
	case SIDE_TYPE_STRUCT:
		if (cursor->want->goal == FILTER_GOAL_PRESENCE)
			return put_thing(cursor, &leaf);
		return refuse_goal(cursor, label);
	default:
		if (!scalar_leaf(type, &leaf, &kinds))
			return filter_path_refuse(cursor, label, " of an impossible type");
		return end_scalar(cursor, label, &leaf, kinds);
	}
	/* Arrays. */
	leaf.code = FILTER_LEAF_COUNT;
	if (cursor->want->goal == FILTER_GOAL_PRESENCE)
		return put_thing(cursor, &leaf);
	if (cursor->want->goal != FILTER_GOAL_LENGTH)
		return refuse_goal(cursor, label);
	return put_leaf(cursor, &leaf, 0);
}

/* ---- dynamic values ---- */

/* Emit all remaining steps, which are resolved at run time by the values. */
static unsigned int follow_dynamic(struct filter_path_step *cursor, enum filter_move_code code,
		struct filter_path_reader remainder)
{
	struct filter_path_reader again = remainder;
	struct filter_move move = {.code = (uint8_t)code, .count = remainder.left};
	struct filter_step step;
	struct filter_text name;
	struct filter_move *put_at;
	size_t at = filter_path_emit_move(cursor, &move), text;

	while (filter_path_next(&remainder, &step)) {
		move.code = step.name ? FILTER_MOVE_NAME : FILTER_MOVE_INDEX;
		move.index = step.index;
		filter_path_emit_move(cursor, &move);
	}
	/* The names follow the moves, which are consecutive. */
	while (filter_path_next(&again, &step)) {
		at += sizeof(move);
		if (!step.name)
			continue;
		name.bytes = step.name;
		for (name.size = 0; step.name[name.size];)
			name.size++;
		text = take_data(cursor, name.size + 1);
		put_at = filter_link_at(cursor->linker, at);
		if (put_at) {
			char *to = filter_link_at(cursor->linker, text);
			uint32_t i;

			put_at->offset = text;
			put_at->count = name.size;
			for (i = 0; i <= name.size; i++)
				to[i] = name.bytes[i];
		}
	}
	cursor->can_be_true = true;
	return cursor->want->goal == FILTER_GOAL_VALUE ? FILTER_KIND_ANY : FILTER_KIND_INT;
}

/* ---- gathered memory ---- */

/* The distance of elements if it is the same for all elements. */
static bool fixed_stride(const struct side_type *type, uint64_t *ret_stride)
{
	const struct side_type_gather *gather = &type->u.side_gather;
	unsigned int mode;

	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_GATHER_BOOL:
		mode = gather->u.side_bool.access_mode.v;
		*ret_stride = gather->u.side_bool.type.bool_size;
		break;
	case SIDE_TYPE_GATHER_INTEGER:
	case SIDE_TYPE_GATHER_POINTER:
		mode = gather->u.side_integer.access_mode.v;
		*ret_stride = gather->u.side_integer.type.integer_size;
		break;
	case SIDE_TYPE_GATHER_BYTE:
		mode = gather->u.side_byte.access_mode.v;
		*ret_stride = 1;
		break;
	case SIDE_TYPE_GATHER_FLOAT:
		mode = gather->u.side_float.access_mode.v;
		*ret_stride = gather->u.side_float.type.float_size;
		break;
	case SIDE_TYPE_GATHER_STRING:
		mode = gather->u.side_string.access_mode.v;
		if (mode != SIDE_TYPE_GATHER_ACCESS_POINTER)
			return false;
		break;
	case SIDE_TYPE_GATHER_ENUM:
		return fixed_stride(side_ptr_get(gather->u.side_enum.elem_type), ret_stride);
	case SIDE_TYPE_GATHER_STRUCT:
		mode = gather->u.side_struct.access_mode.v;
		*ret_stride = gather->u.side_struct.size;
		break;
	case SIDE_TYPE_GATHER_ARRAY:
		mode = gather->u.side_array.access_mode.v;
		if (mode == SIDE_TYPE_GATHER_ACCESS_POINTER)
			break;
		if (!fixed_stride(side_ptr_get(gather->u.side_array.type.elem_type), ret_stride))
			return false;
		*ret_stride *= gather->u.side_array.type.length;
		break;
	default: return false;
	}
	if (mode == SIDE_TYPE_GATHER_ACCESS_POINTER)
		*ret_stride = sizeof(void *);
	return true;
}

/* Emit the moves over `index` elements that are strings, or arrays of them, without gaps. */
static void put_texts(struct filter_path_step *cursor, const struct side_type *type, uint32_t index)
{
	struct filter_move move = {.code = FILTER_MOVE_TEXTS, .index = index}, level;
	const struct side_type *inner = type;

	for (move.count = 1; side_enum_get(inner->type) == SIDE_TYPE_GATHER_ARRAY; move.count++)
		inner = side_ptr_get(inner->u.side_gather.u.side_array.type.elem_type);
	filter_path_emit_move(cursor, &move);
	for (;; type = side_ptr_get(type->u.side_gather.u.side_array.type.elem_type)) {
		level = (struct filter_move){.code = FILTER_MOVE_LEVEL};
		if (side_enum_get(type->type) != SIDE_TYPE_GATHER_ARRAY)
			break;
		level.offset = type->u.side_gather.u.side_array.offset;
		level.count = type->u.side_gather.u.side_array.type.length;
		filter_path_emit_move(cursor, &level);
	}
	level.offset = type->u.side_gather.u.side_string.offset;
	level.size = type->u.side_gather.u.side_string.type.unit_size;
	filter_path_emit_move(cursor, &level);
}

/* Element `index` of an array that begins at the base. */
static unsigned int follow_element(struct filter_path_step *cursor, const struct side_type *elem,
		uint32_t index, struct filter_path_reader remainder)
{
	struct filter_move add = {.code = FILTER_MOVE_ADD};
	uint64_t stride;

	if (!index)
		return follow_memory(cursor, elem, remainder);
	if (fixed_stride(elem, &stride)) {
		add.offset = stride * index;
		filter_path_emit_move(cursor, &add);
	} else {
		put_texts(cursor, elem, index);
	}
	return follow_memory(cursor, elem, remainder);
}

static unsigned int end_array(
		struct filter_path_step *cursor, unsigned int label, struct filter_move *leaf)
{
	if (cursor->want->goal == FILTER_GOAL_PRESENCE)
		return put_thing(cursor, leaf);
	if (cursor->want->goal != FILTER_GOAL_LENGTH)
		return refuse_goal(cursor, label);
	return put_leaf(cursor, leaf, 0);
}

static unsigned int too_few(struct filter_path_step *cursor, const char *what)
{
	filter_link_reason(cursor->linker, -ENOENT, cursor->want->field->column, "\"", cursor->name,
			"\" has fewer ", what, NULL);
	return 0;
}

static unsigned int follow_gather_array(struct filter_path_step *cursor,
		const struct side_type *type, struct filter_path_reader remainder)
{
	const struct side_type_gather_array *gather = &type->u.side_gather.u.side_array;
	struct filter_move at = {.code = FILTER_MOVE_AT, .offset = gather->offset};
	struct filter_step step;

	if (gather->access_mode.v == SIDE_TYPE_GATHER_ACCESS_POINTER)
		at.flags = FILTER_POINTER;
	if (!filter_path_next(&remainder, &step)) {
		at.flags |= FILTER_IN_MEMORY;
		at.code = FILTER_LEAF_COUNT;
		at.count = gather->type.length;
		return end_array(cursor, SIDE_TYPE_GATHER_ARRAY, &at);
	}
	if (step.name)
		return refuse_step(cursor, SIDE_TYPE_GATHER_ARRAY, &step);
	if (step.index >= gather->type.length)
		return too_few(cursor, "elements");
	filter_path_emit_move(cursor, &at);
	return follow_element(cursor, side_ptr_get(gather->type.elem_type), step.index, remainder);
}

static unsigned int follow_gather_vla(struct filter_path_step *cursor, const struct side_type *type,
		struct filter_path_reader remainder)
{
	const struct side_type_gather_vla *gather = &type->u.side_gather.u.side_vla;
	const struct side_type *elem = side_ptr_get(gather->type.elem_type);
	struct filter_move at = {.code = FILTER_MOVE_MEMORY_VLA, .offset = gather->offset};
	struct filter_move length = {.label = 0};
	struct filter_step step;
	unsigned int kinds;
	uint64_t stride;

	if (!gather_leaf(side_ptr_get(gather->type.length_type), &length, &kinds) ||
			length.code != FILTER_LEAF_INTEGER)
		return filter_path_refuse(
				cursor, SIDE_TYPE_GATHER_VLA, " with an impossible length");
	length.code = FILTER_LEAF_LENGTH;
	if (gather->access_mode.v == SIDE_TYPE_GATHER_ACCESS_POINTER)
		at.flags = FILTER_POINTER;
	if (!filter_path_next(&remainder, &step)) {
		if (cursor->want->goal != FILTER_GOAL_PRESENCE)
			return end_array(cursor, SIDE_TYPE_GATHER_VLA, &length);
		at.flags |= FILTER_IN_MEMORY;
		return put_thing(cursor, &at);
	}
	if (step.name)
		return refuse_step(cursor, SIDE_TYPE_GATHER_VLA, &step);
	at.index = step.index;
	if (fixed_stride(elem, &stride)) {
		at.stride = stride;
		filter_path_emit_move(cursor, &at);
		filter_path_emit_move(cursor, &length);
		return follow_memory(cursor, elem, remainder);
	}
	filter_path_emit_move(cursor, &at);
	filter_path_emit_move(cursor, &length);
	return follow_element(cursor, elem, step.index, remainder);
}

static unsigned int follow_gather_struct(struct filter_path_step *cursor,
		const struct side_type *type, struct filter_path_reader remainder)
{
	const struct side_type_gather_struct *gather = &type->u.side_gather.u.side_struct;
	const struct side_type_struct *structure = side_ptr_get(gather->type);
	const struct side_event_field *field;
	struct filter_move at = {.code = FILTER_MOVE_AT, .offset = gather->offset};
	struct filter_step step;

	if (gather->access_mode.v == SIDE_TYPE_GATHER_ACCESS_POINTER)
		at.flags = FILTER_POINTER;
	if (!filter_path_next(&remainder, &step)) {
		at.flags |= FILTER_IN_MEMORY;
		if (cursor->want->goal != FILTER_GOAL_PRESENCE)
			return refuse_goal(cursor, SIDE_TYPE_GATHER_STRUCT);
		return put_thing(cursor, &at);
	}
	if (!step.name)
		return refuse_step(cursor, SIDE_TYPE_GATHER_STRUCT, &step);
	field = filter_path_find_field(side_array_elements(&structure->fields),
			side_array_length(&structure->fields), step.name);
	if (!field) {
		no_such_field(cursor, side_array_elements(&structure->fields),
				side_array_length(&structure->fields), step.name, cursor->name);
		return 0;
	}
	filter_path_emit_move(cursor, &at);
	cursor->name = step.name;
	return follow_memory(cursor, &field->side_type, remainder);
}

static unsigned int follow_memory(struct filter_path_step *cursor, const struct side_type *type,
		struct filter_path_reader remainder)
{
	const struct side_type_enum *enumeration = &type->u.side_enum;
	unsigned int label = type->type.v, kinds;
	struct filter_move leaf = {.label = (uint16_t)label};
	struct filter_step step;

	if (cursor->linker->failed)
		return 0;
	switch (label) {
	case SIDE_TYPE_GATHER_STRUCT: return follow_gather_struct(cursor, type, remainder);
	case SIDE_TYPE_GATHER_ARRAY: return follow_gather_array(cursor, type, remainder);
	case SIDE_TYPE_GATHER_VLA: return follow_gather_vla(cursor, type, remainder);
	default: break;
	}
	if (filter_path_next(&remainder, &step))
		return refuse_step(cursor, label, &step);
	if (label != SIDE_TYPE_GATHER_ENUM) {
		if (!gather_leaf(type, &leaf, &kinds))
			return filter_path_refuse(cursor, label, " of an impossible type");
		return end_scalar(cursor, label, &leaf, kinds);
	}
	if (!gather_leaf(side_ptr_get(enumeration->elem_type), &leaf, &kinds))
		return filter_path_refuse(cursor, label, " of an impossible type");
	return end_enum(cursor, label, &leaf, side_ptr_get(enumeration->mappings));
}

/* ---- arguments ---- */

static unsigned int follow_struct(struct filter_path_step *cursor, const struct side_type *type,
		struct filter_path_reader remainder)
{
	const struct side_type_struct *structure = side_ptr_get(type->u.side_struct);
	const struct side_event_field *fields = side_array_elements(&structure->fields), *field;
	struct filter_move move = {.code = FILTER_MOVE_STRUCT, .label = SIDE_TYPE_STRUCT};
	struct filter_step step;

	filter_path_next(&remainder, &step);
	if (!step.name)
		return refuse_step(cursor, SIDE_TYPE_STRUCT, &step);
	move.count = side_array_length(&structure->fields);
	field = filter_path_find_field(fields, move.count, step.name);
	if (!field) {
		no_such_field(cursor, fields, move.count, step.name, cursor->name);
		return 0;
	}
	move.index = (uint32_t)(field - fields);
	filter_path_emit_move(cursor, &move);
	cursor->name = step.name;
	return follow_type(cursor, &field->side_type, remainder);
}

/* An element of an array, a VLA, a visitor's VLA, or a bitmap of one of the first two. */
static unsigned int follow_array(struct filter_path_step *cursor, const struct side_type *type,
		struct filter_path_reader remainder)
{
	unsigned int label = type->type.v;
	struct filter_move move = {.label = (uint16_t)label, .count = UINT32_MAX};
	const struct side_type *elem;
	struct filter_step step;

	filter_path_next(&remainder, &step);
	if (step.name)
		return refuse_step(cursor, label, &step);
	move.index = step.index;
	switch (label) {
	case SIDE_TYPE_ARRAY:
		move.code = FILTER_MOVE_ARRAY;
		move.count = side_ptr_get(type->u.side_array)->length;
		if (step.index >= move.count)
			return too_few(cursor, "elements");
		elem = side_ptr_get(side_ptr_get(type->u.side_array)->elem_type);
		break;
	case SIDE_TYPE_VLA:
		move.code = FILTER_MOVE_VLA;
		elem = side_ptr_get(side_ptr_get(type->u.side_vla)->elem_type);
		break;
	default:
		move.code = FILTER_MOVE_VISITOR;
		move.visitor = side_ptr_get(side_ptr_get(type->u.side_vla_visitor)->visitor);
		elem = side_ptr_get(side_ptr_get(type->u.side_vla_visitor)->elem_type);
		break;
	}
	filter_path_emit_move(cursor, &move);
	return follow_type(cursor, elem, remainder);
}

static unsigned int follow_variant(struct filter_path_step *cursor, const struct side_type *type,
		struct filter_path_reader remainder)
{
	const struct side_type_variant *variant = side_ptr_get(type->u.side_variant);
	const struct side_variant_option *options = side_array_elements(&variant->options);
	struct filter_linker *linker = cursor->linker;
	struct filter_move selector = {.label = 0}, option = {.code = FILTER_MOVE_OPTION}, *put_at;
	const char *name = cursor->name;
	unsigned int kinds, all = 0;
	uint32_t i;

	put_simple(cursor, FILTER_MOVE_VARIANT, SIDE_TYPE_VARIANT);
	if (!scalar_leaf(&variant->selector, &selector, &kinds) ||
			selector.code != FILTER_LEAF_INTEGER)
		return filter_path_refuse(cursor, SIDE_TYPE_VARIANT, " of an impossible type");
	filter_path_emit_move(cursor, &selector);
	for (i = 0; i < side_array_length(&variant->options) && !linker->failed; i++) {
		size_t at, begin;

		option.begin = options[i].range_begin;
		option.end = options[i].range_end;
		at = filter_path_emit_move(cursor, &option);
		begin = linker->used;
		cursor->name = name;
		kinds = follow_type(cursor, &options[i].side_type, remainder);
		all |= kinds;
		if (!kinds) {
			linker->used = begin;
			put_simple(cursor, FILTER_MOVE_NOTHING, 0);
		}
		put_at = filter_link_at(linker, at);
		if (put_at)
			put_at->skip = (uint32_t)((linker->used - at) / sizeof(option));
	}
	put_simple(cursor, FILTER_MOVE_NOTHING, 0);
	if (!side_array_length(&variant->options))
		filter_link_reason(linker, -ENOENT, cursor->want->field->column, "\"", name,
				"\" is a variant without options", NULL);
	return all;
}

static unsigned int follow_type_deeper(struct filter_path_step *cursor,
		const struct side_type *type, struct filter_path_reader remainder)
{
	const struct side_type *elem;
	unsigned int label = type->type.v;
	struct filter_step step;

	switch (label) {
	case SIDE_TYPE_OPTIONAL:
		put_simple(cursor, FILTER_MOVE_OPTIONAL, label);
		elem = side_ptr_get(side_ptr_get(type->u.side_optional)->elem_type);
		return follow_type(cursor, elem, remainder);
	case SIDE_TYPE_VARIANT: return follow_variant(cursor, type, remainder);
	case SIDE_TYPE_DYNAMIC: return follow_dynamic(cursor, FILTER_MOVE_DYNAMIC, remainder);
	case SIDE_TYPE_GATHER_ENUM:
		put_simple(cursor, FILTER_MOVE_GATHER, SIDE_TYPE_GATHER_INTEGER);
		return follow_memory(cursor, type, remainder);
	default: break;
	}
	if (visit_label_is_gather(label)) {
		put_simple(cursor, FILTER_MOVE_GATHER, label);
		return follow_memory(cursor, type, remainder);
	}
	if (!remainder.left)
		return end_type(cursor, type);
	switch (label) {
	case SIDE_TYPE_STRUCT: return follow_struct(cursor, type, remainder);
	case SIDE_TYPE_ARRAY:
	case SIDE_TYPE_VLA:
	case SIDE_TYPE_VLA_VISITOR: return follow_array(cursor, type, remainder);
	case SIDE_TYPE_ENUM_BITMAP:
		elem = side_ptr_get(type->u.side_enum_bitmap.elem_type);
		if (is_array(elem->type.v))
			return follow_array(cursor, elem, remainder);
		break;
	default: break;
	}
	filter_path_next(&remainder, &step);
	return refuse_step(cursor, label, &step);
}

static unsigned int follow_type(struct filter_path_step *cursor, const struct side_type *type,
		struct filter_path_reader remainder)
{
	unsigned int kinds;

	if (cursor->depth == VISIT_DEPTH_MAX + FILTER_STEPS_MAX && !cursor->linker->failed)
		cursor->linker->failed = -E2BIG;
	if (cursor->linker->failed)
		return 0;
	cursor->depth++;
	kinds = follow_type_deeper(cursor, type, remainder);
	cursor->depth--;
	return kinds;
}

/* ---- the whole path ---- */

/* The field of the first step; NULL: none, or it may be in the variadic part. */
static const struct side_event_field *first_field(const struct filter_linker *linker,
		const struct filter_instruction *field, struct filter_path_reader *ret_remainder,
		struct filter_step *ret_step)
{
	const struct side_event_description *description = linker->description;

	*ret_remainder = filter_program_path(&linker->program, field->value);
	filter_path_next(ret_remainder, ret_step);
	return filter_path_find_field(side_array_elements(&description->fields),
			side_array_length(&description->fields), ret_step->name);
}

static unsigned int follow_first(struct filter_path_step *cursor, struct filter_op *op)
{
	struct filter_linker *linker = cursor->linker;
	const struct side_event_description *description = linker->description;
	const struct side_event_field *fields = side_array_elements(&description->fields), *field;
	struct filter_path_reader remainder;
	struct filter_step step;

	field = first_field(linker, cursor->want->field, &remainder, &step);
	if (field) {
		op->arg_index = (uint32_t)(field - fields);
		cursor->name = step.name;
		return follow_type(cursor, &field->side_type, remainder);
	}
	if (description->flags & SIDE_EVENT_FLAG_VARIADIC) {
		op->arg_index = UINT32_MAX;
		remainder = filter_program_path(&linker->program, cursor->want->field->value);
		return follow_dynamic(cursor, FILTER_MOVE_VARIADIC, remainder);
	}
	no_such_field(cursor, fields, side_array_length(&description->fields), step.name,
			"the event");
	return 0;
}

unsigned int filter_link_path(struct filter_linker *linker, const struct filter_want *want,
		struct filter_op *op, bool *ret_never)
{
	struct filter_path_step cursor = {.linker = linker, .want = want};
	int reason = linker->reason;
	unsigned int kinds;

	op->moves = (uint32_t)linker->used;
	kinds = follow_first(&cursor, op);
	*ret_never = kinds && !cursor.can_be_true;
	/* A member that some options of a variant do not have is no error, if other options have
	   it. */
	if (kinds && !*ret_never)
		linker->reason = reason;
	return kinds;
}

bool filter_link_direct(const struct filter_linker *linker, const struct filter_instruction *field,
		struct filter_move *ret_leaf, uint32_t *ret_arg,
		const struct side_enum_mappings **ret_mappings)
{
	const struct side_event_description *description = linker->description;
	const struct side_event_field *found;
	const struct side_type *type;
	struct filter_path_reader remainder;
	struct filter_step step;
	unsigned int kinds;

	*ret_leaf = (struct filter_move){.label = 0};
	*ret_mappings = NULL;
	found = first_field(linker, field, &remainder, &step);
	if (!found || remainder.left)
		return false;
	type = &found->side_type;
	if (side_enum_get(type->type) == SIDE_TYPE_ENUM) {
		*ret_mappings = side_ptr_get(type->u.side_enum.mappings);
		type = side_ptr_get(type->u.side_enum.elem_type);
	}
	if (!scalar_leaf(type, ret_leaf, &kinds) || kinds != FILTER_KIND_INT ||
			ret_leaf->size > 8 || ret_leaf->bits != 8 * ret_leaf->size ||
			ret_leaf->flags & FILTER_SWAP)
		return false;
	*ret_arg = (uint32_t)(found - side_array_elements(&description->fields));
	return true;
}
