/* SPDX-License-Identifier: MIT */
/* --check: names of fields, attributes, and what types say that cannot be meant. */
#include "check.h"

#include "form.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * More than that is a damaged or a generated number, not a description. Each element of an argument has
 * 64 bytes on the stack of the caller; gathered ones stand in memory that the program has anyway.
 */
#define FIELDS_MAX 1024
#define ELEMENTS_MAX 65536u
#define GATHERED_MAX (1u << 24)
#define OFFSET_MAX (UINT64_C(1) << 32)
/* Pairs of options and attributes are compared up to here. */
#define PAIRS_MAX 256

static int compare_text(const void *one, const void *other)
{
	return strcmp(*(const char *const *)one, *(const char *const *)other);
}

bool check_fields(struct check *check, const struct side_event_field *fields, uint32_t nr,
		const struct visit_node *node)
{
	const char *names[FIELDS_MAX];

	if (nr > FIELDS_MAX) {
		check_say(check, SEVERITY_ERROR, node,
				"it has %" PRIu32 " fields, which is absurd; %d are the most", nr,
				FIELDS_MAX);
		return false;
	}
	for (uint32_t i = 0; i < nr; i++) {
		names[i] = side_ptr_get(fields[i].field_name);
		if (!*names[i])
			check_say(check, SEVERITY_ERROR, node,
					"the name of field %" PRIu32 " is empty", i);
	}
	if (nr)
		qsort(names, nr, sizeof(*names), compare_text);
	for (uint32_t i = 1; i < nr; i++) {
		if (*names[i] && !strcmp(names[i - 1], names[i]) &&
				(i < 2 || strcmp(names[i - 2], names[i])))
			check_say(check, SEVERITY_ERROR, node,
					"several fields are called \"%.200s\"; give each a name of "
					"its own",
					names[i]);
	}
	return true;
}

/* ---- attributes ---- */

static void check_base(struct check *check, const struct side_attr *attribute,
		const struct visit_node *node)
{
	struct visit_value value;
	char digits[VISIT_DIGITS_MAX];
	bool is_number;

	if (visit_load_attribute(&attribute->value, &value))
		return;
	is_number = value.kind == VISIT_UNSIGNED || value.kind == VISIT_SIGNED;
	if (is_number && !value.hi &&
			(value.lo == 2 || value.lo == 8 || value.lo == 10 || value.lo == 16))
		return;
	if (!is_number) {
		check_say(check, SEVERITY_WARNING, node,
				"its attribute std.integer.base is no integer");
		return;
	}
	digits[visit_value_digits(&value, 10, false, digits)] = '\0';
	check_say(check, SEVERITY_WARNING, node,
			"its attribute std.integer.base is %s, not 2, 8, 10 or 16", digits);
}

void check_attributes(struct check *check, struct visit_attributes attributes,
		const struct visit_node *node)
{
	for (uint32_t i = 0; i < attributes.nr; i++) {
		const struct side_attr *attribute = &attributes.attr[i];

		if (visit_text_bytes(side_ptr_get(attribute->key.p), attribute->key.unit_size) ==
				attribute->key.unit_size)
			check_say(check, SEVERITY_WARNING, node,
					"the name of attribute %" PRIu32 " is empty", i);
		for (uint32_t k = 0; k < i && i < PAIRS_MAX; k++) {
			if (same_text(&attribute->key, &attributes.attr[k].key))
				check_say(check, SEVERITY_WARNING, node,
						"attribute %" PRIu32
						" has the name of attribute %" PRIu32
						", which is the one that counts",
						i, k);
		}
		if (attribute->key.unit_size == 1 &&
				!strcmp(side_ptr_get(attribute->key.p), "std.integer.base"))
			check_base(check, attribute, node);
	}
}

/* ---- labels and options ---- */

/* The integer behind an enumeration or selector; NULL if it is none. */
static const struct side_type_integer *integer_of(const struct side_type *type)
{
	if (side_enum_get(type->type) == SIDE_TYPE_GATHER_INTEGER)
		return &type->u.side_gather.u.side_integer.type;
	return visit_label_is_integer(side_enum_get(type->type)) ? &type->u.side_integer : NULL;
}

/* Whether some value of the integer lies in the range. */
static bool is_reachable(const struct side_type_integer *type, int64_t begin, int64_t end)
{
	unsigned int bits = type->len_bits ? type->len_bits : 8u * type->integer_size;
	int64_t top;

	if (!type->signedness && end < 0)
		return false;
	if (bits >= 64)
		return true;
	top = (int64_t)((UINT64_C(1) << (type->signedness ? bits - 1 : bits)) - 1);
	return begin <= top && (!type->signedness || end >= -top - 1);
}

static void check_label(struct check *check, const struct side_type_raw_string *label, uint32_t i,
		const struct visit_node *node)
{
	if (visit_text_bytes(side_ptr_get(label->p), label->unit_size) == label->unit_size)
		check_say(check, SEVERITY_WARNING, node, "label %" PRIu32 " is empty", i);
}

static void check_enum(struct check *check, const struct side_type_enum *type,
		const struct visit_node *node)
{
	const struct side_enum_mappings *mappings = side_ptr_get(type->mappings);
	const struct side_type_integer *integer = integer_of(side_ptr_get(type->elem_type));
	uint32_t nr = side_array_length(&mappings->mappings);

	if (!nr)
		check_say(check, SEVERITY_WARNING, node, "the enumeration has no labels");
	for (uint32_t i = 0; i < nr; i++) {
		const struct side_enum_mapping *mapping = side_array_at(&mappings->mappings, i);

		check_label(check, &mapping->label, i, node);
		if (mapping->range_end < mapping->range_begin)
			check_say(check, SEVERITY_ERROR, node,
					"the range of label %" PRIu32 " ends (%" PRId64
					") before it begins (%" PRId64 ")",
					i, mapping->range_end, mapping->range_begin);
		else if (integer &&
				!is_reachable(integer, mapping->range_begin, mapping->range_end))
			check_say(check, SEVERITY_WARNING, node,
					"label %" PRIu32 " (%" PRId64 " to %" PRId64
					") is out of the reach of the integer below it",
					i, mapping->range_begin, mapping->range_end);
	}
}

/* Bits that a bitmap has; 0: it depends on the call. */
static uint64_t bits_of(const struct side_type *type)
{
	const struct side_type_array *array;

	if (side_enum_get(type->type) == SIDE_TYPE_BYTE)
		return 8;
	if (visit_label_is_integer(side_enum_get(type->type)))
		return type->u.side_integer.len_bits ? type->u.side_integer.len_bits
						     : 8u * type->u.side_integer.integer_size;
	if (side_enum_get(type->type) != SIDE_TYPE_ARRAY)
		return 0;
	array = side_ptr_get(type->u.side_array);
	return array->length * bits_of(side_ptr_get(array->elem_type));
}

static void check_bitmap(struct check *check, const struct side_type_enum_bitmap *type,
		const struct visit_node *node)
{
	const struct side_enum_bitmap_mappings *mappings = side_ptr_get(type->mappings);
	uint64_t bits = bits_of(side_ptr_get(type->elem_type));
	uint32_t nr = side_array_length(&mappings->mappings);

	if (!nr)
		check_say(check, SEVERITY_WARNING, node, "the bitmap has no labels");
	for (uint32_t i = 0; i < nr; i++) {
		const struct side_enum_bitmap_mapping *mapping =
				side_array_at(&mappings->mappings, i);

		check_label(check, &mapping->label, i, node);
		if (mapping->range_end < mapping->range_begin)
			check_say(check, SEVERITY_ERROR, node,
					"the range of label %" PRIu32 " ends (%" PRIu64
					") before it begins (%" PRIu64 ")",
					i, mapping->range_end, mapping->range_begin);
		else if (bits && mapping->range_begin >= bits)
			check_say(check, SEVERITY_WARNING, node,
					"label %" PRIu32 " begins at bit %" PRIu64 ", of %" PRIu64
					" bits that there are",
					i, mapping->range_begin, bits);
	}
}

static void check_variant(struct check *check, const struct side_type_variant *type,
		const struct visit_node *node)
{
	const struct side_type_integer *selector = integer_of(&type->selector);
	uint32_t nr = side_array_length(&type->options);

	if (!nr)
		check_say(check, SEVERITY_ERROR, node, "the variant has no options");
	for (uint32_t i = 0; i < nr; i++) {
		const struct side_variant_option *option = side_array_at(&type->options, i);

		if (option->range_end < option->range_begin)
			check_say(check, SEVERITY_ERROR, node,
					"the range of option %" PRIu32 " ends before it begins", i);
		else if (selector &&
				!is_reachable(selector, option->range_begin, option->range_end))
			check_say(check, SEVERITY_WARNING, node,
					"option %" PRIu32 " is out of the reach of the selector",
					i);
		for (uint32_t k = 0; k < i && i < PAIRS_MAX; k++) {
			const struct side_variant_option *before = side_array_at(&type->options, k);

			/* One of them may be empty. */
			if (before->range_begin > option->range_end ||
					before->range_end < option->range_begin ||
					option->range_end < option->range_begin ||
					before->range_end < before->range_begin)
				continue;
			check_say(check, SEVERITY_WARNING, node,
					"options %" PRIu32 " and %" PRIu32
					" have selectors in common, for which the first one counts",
					k, i);
		}
	}
}

/* ---- lengths and offsets ---- */

static void check_length(
		struct check *check, uint32_t length, uint32_t most, const struct visit_node *node)
{
	if (!length)
		check_say(check, SEVERITY_WARNING, node, "the array has no elements");
	else if (length > most)
		check_say(check, SEVERITY_ERROR, node,
				"the array has %" PRIu32 " elements, which is absurd; %" PRIu32
				" are the most",
				length, most);
}

static void check_offset(
		struct check *check, const struct side_type *type, const struct visit_node *node)
{
	uint64_t offset = form_access(type).offset;

	if (offset > OFFSET_MAX)
		check_say(check, SEVERITY_ERROR, node, "the offset 0x%" PRIx64 " is absurd",
				offset);
}

static void check_pointer(struct check *check, const struct side_type_integer *type,
		const struct visit_node *node)
{
	if (type->integer_size != check->event->pointer_size)
		check_say(check, SEVERITY_WARNING, node,
				"a pointer of %u bytes is described in a file whose pointers have "
				"%u",
				type->integer_size, check->event->pointer_size);
}

/* ---- the walk ---- */

/* Not 0: the walk ends. */
static int check_type(void *opaque, const struct visit_node *node)
{
	struct check *check = opaque;
	const struct side_type *type = node->type;
	const struct side_type_struct *structure = NULL;
	unsigned int label = side_enum_get(type->type);

	check_attributes(check, visit_type_attributes(type), node);
	if (visit_label_is_gather(label))
		check_offset(check, type, node);
	switch (label) {
	case SIDE_TYPE_POINTER: check_pointer(check, &type->u.side_integer, node); break;
	case SIDE_TYPE_GATHER_POINTER:
		check_pointer(check, &type->u.side_gather.u.side_integer.type, node);
		break;
	case SIDE_TYPE_STRUCT: structure = side_ptr_get(type->u.side_struct); break;
	case SIDE_TYPE_GATHER_STRUCT:
		structure = side_ptr_get(type->u.side_gather.u.side_struct.type);
		break;
	case SIDE_TYPE_ARRAY:
		check_length(check, side_ptr_get(type->u.side_array)->length, ELEMENTS_MAX, node);
		break;
	case SIDE_TYPE_GATHER_ARRAY:
		check_length(check, type->u.side_gather.u.side_array.type.length, GATHERED_MAX,
				node);
		break;
	case SIDE_TYPE_VARIANT:
		check_variant(check, side_ptr_get(type->u.side_variant), node);
		break;
	case SIDE_TYPE_ENUM:
	case SIDE_TYPE_GATHER_ENUM: check_enum(check, &type->u.side_enum, node); break;
	case SIDE_TYPE_ENUM_BITMAP: check_bitmap(check, &type->u.side_enum_bitmap, node); break;
	default: break;
	}
	if (!structure)
		return 0;
	return check_fields(check, side_array_elements(&structure->fields),
			       side_array_length(&structure->fields), node)
			? 0
			: 1;
}

void check_types(struct check *check)
{
	static const struct visit_description_ops ops = {.type_begin = check_type};

	/* It has been decoded, so it is walked to its end, unless check_type() ends it. */
	visit_description(check->event->description, &ops, check, NULL);
}
