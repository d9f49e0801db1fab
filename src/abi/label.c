/* SPDX-License-Identifier: MIT */
/* Names labels, and finds choices by value: enumeration labels, bitmap bits, variant options. */
#include <errno.h>

#include "abi/visit.h"

static const char *const label_names[] = {
		"NULL",
		"BOOL",
		"U8",
		"U16",
		"U32",
		"U64",
		"U128",
		"S8",
		"S16",
		"S32",
		"S64",
		"S128",
		"BYTE",
		"POINTER",
		"FLOAT_BINARY16",
		"FLOAT_BINARY32",
		"FLOAT_BINARY64",
		"FLOAT_BINARY128",
		"STRING_UTF8",
		"STRING_UTF16",
		"STRING_UTF32",
		"STRUCT",
		"VARIANT",
		"OPTIONAL",
		"ARRAY",
		"VLA",
		"VLA_VISITOR",
		"ENUM",
		"ENUM_BITMAP",
		"DYNAMIC",
		"GATHER_BOOL",
		"GATHER_INTEGER",
		"GATHER_BYTE",
		"GATHER_POINTER",
		"GATHER_FLOAT",
		"GATHER_STRING",
		"GATHER_STRUCT",
		"GATHER_ARRAY",
		"GATHER_VLA",
		"GATHER_ENUM",
		"DYNAMIC_NULL",
		"DYNAMIC_BOOL",
		"DYNAMIC_INTEGER",
		"DYNAMIC_BYTE",
		"DYNAMIC_POINTER",
		"DYNAMIC_FLOAT",
		"DYNAMIC_STRING",
		"DYNAMIC_STRUCT",
		"DYNAMIC_STRUCT_VISITOR",
		"DYNAMIC_VLA",
		"DYNAMIC_VLA_VISITOR",
};
_Static_assert(sizeof(label_names) / sizeof(label_names[0]) == _NR_SIDE_TYPE_LABEL, "all labels");

const char *visit_label_name(unsigned int label)
{
	return label < _NR_SIDE_TYPE_LABEL ? label_names[label] : "?";
}

const char *visit_loglevel_name(unsigned int loglevel)
{
	static const char *const names[] = {
			"EMERG", "ALERT", "CRIT", "ERR", "WARNING", "NOTICE", "INFO", "DEBUG"};

	return loglevel < sizeof(names) / sizeof(names[0]) ? names[loglevel] : "?";
}

const char *visit_attribute_type_name(unsigned int type)
{
	static const char *const names[] = {"NULL", "BOOL", "U8", "U16", "U32", "U64", "U128", "S8",
			"S16", "S32", "S64", "S128", "FLOAT_BINARY16", "FLOAT_BINARY32",
			"FLOAT_BINARY64", "FLOAT_BINARY128", "STRING"};
	_Static_assert(sizeof(names) / sizeof(names[0]) == _NR_SIDE_ATTR_TYPE, "all types");

	return type < _NR_SIDE_ATTR_TYPE ? names[type] : "?";
}

bool visit_label_is_integer(unsigned int label)
{
	return label >= SIDE_TYPE_U8 && label <= SIDE_TYPE_S128;
}

bool visit_label_is_gather(unsigned int label)
{
	return label >= SIDE_TYPE_GATHER_BOOL && label <= SIDE_TYPE_GATHER_ENUM;
}

bool visit_label_is_dynamic(unsigned int label)
{
	return label >= SIDE_TYPE_DYNAMIC_NULL && label <= SIDE_TYPE_DYNAMIC_VLA_VISITOR;
}

struct visit_attributes visit_type_attributes(const struct side_type *type)
{
	const struct side_type_gather *gather = &type->u.side_gather;
	struct visit_attributes none = {NULL, 0};

	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_NULL: return visit_attributes_of(&type->u.side_null.attributes);
	case SIDE_TYPE_BOOL: return visit_attributes_of(&type->u.side_bool.attributes);
	case SIDE_TYPE_BYTE: return visit_attributes_of(&type->u.side_byte.attributes);
	case SIDE_TYPE_FLOAT_BINARY16:
	case SIDE_TYPE_FLOAT_BINARY32:
	case SIDE_TYPE_FLOAT_BINARY64:
	case SIDE_TYPE_FLOAT_BINARY128: return visit_attributes_of(&type->u.side_float.attributes);
	case SIDE_TYPE_STRING_UTF8:
	case SIDE_TYPE_STRING_UTF16:
	case SIDE_TYPE_STRING_UTF32: return visit_attributes_of(&type->u.side_string.attributes);
	case SIDE_TYPE_STRUCT:
		return visit_attributes_of(&side_ptr_get(type->u.side_struct)->attributes);
	case SIDE_TYPE_VARIANT:
		return visit_attributes_of(&side_ptr_get(type->u.side_variant)->attributes);
	case SIDE_TYPE_OPTIONAL:
		return visit_attributes_of(&side_ptr_get(type->u.side_optional)->attributes);
	case SIDE_TYPE_ARRAY:
		return visit_attributes_of(&side_ptr_get(type->u.side_array)->attributes);
	case SIDE_TYPE_VLA: return visit_attributes_of(&side_ptr_get(type->u.side_vla)->attributes);
	case SIDE_TYPE_VLA_VISITOR:
		return visit_attributes_of(&side_ptr_get(type->u.side_vla_visitor)->attributes);
	case SIDE_TYPE_ENUM:
	case SIDE_TYPE_GATHER_ENUM: /* the same layout (ABI 4.6) */
		return visit_attributes_of(&side_ptr_get(type->u.side_enum.mappings)->attributes);
	case SIDE_TYPE_ENUM_BITMAP:
		return visit_attributes_of(
				&side_ptr_get(type->u.side_enum_bitmap.mappings)->attributes);
	case SIDE_TYPE_GATHER_BOOL:
		return visit_attributes_of(&gather->u.side_bool.type.attributes);
	case SIDE_TYPE_GATHER_INTEGER:
	case SIDE_TYPE_GATHER_POINTER:
		return visit_attributes_of(&gather->u.side_integer.type.attributes);
	case SIDE_TYPE_GATHER_BYTE:
		return visit_attributes_of(&gather->u.side_byte.type.attributes);
	case SIDE_TYPE_GATHER_FLOAT:
		return visit_attributes_of(&gather->u.side_float.type.attributes);
	case SIDE_TYPE_GATHER_STRING:
		return visit_attributes_of(&gather->u.side_string.type.attributes);
	case SIDE_TYPE_GATHER_STRUCT:
		return visit_attributes_of(&side_ptr_get(gather->u.side_struct.type)->attributes);
	case SIDE_TYPE_GATHER_ARRAY:
		return visit_attributes_of(&gather->u.side_array.type.attributes);
	case SIDE_TYPE_GATHER_VLA: return visit_attributes_of(&gather->u.side_vla.type.attributes);
	default:
		if (visit_label_is_integer(side_enum_get(type->type)) ||
				side_enum_get(type->type) == SIDE_TYPE_POINTER)
			return visit_attributes_of(&type->u.side_integer.attributes);
		return none;
	}
}

bool visit_enum_matches(const struct side_enum_mapping *mapping, const struct visit_value *value)
{
	int64_t number;

	return visit_value_s64(value, &number) && mapping->range_begin <= number &&
			number <= mapping->range_end;
}

bool visit_bitmap_matches(
		const struct side_enum_bitmap_mapping *mapping, const struct visit_bitmap *bitmap)
{
	uint64_t begin = mapping->range_begin, end = mapping->range_end, item, last, bits;

	if (begin > end || !bitmap->nr_items)
		return false;
	if (side_enum_get(bitmap->item_type->type) == SIDE_TYPE_BYTE)
		bits = 8;
	else
		bits = 8 * bitmap->item_type->u.side_integer.integer_size;
	if (!bits)
		return false;
	last = end / bits;
	if (last >= bitmap->nr_items)
		last = bitmap->nr_items - 1;
	for (item = begin / bits; item <= last; item++) {
		uint64_t base = item * bits;
		uint64_t from = begin > base ? begin - base : 0;
		uint64_t to = end - base < bits - 1 ? end - base : bits - 1;
		struct visit_value value;

		if (visit_load_argument(bitmap->item_type, &bitmap->items[item], &value))
			return false;
		/* A signed item has its sign in all bits above its width. */
		if (from < 64 && value.lo >> from &&
				(to >= 63 || value.lo >> from & (((uint64_t)2 << (to - from)) - 1)))
			return true;
		if (to >= 64) {
			from = from > 64 ? from - 64 : 0;
			to -= 64;
			if (value.hi >> from &
					(to - from >= 63 ? ~(uint64_t)0
							 : ((uint64_t)2 << (to - from)) - 1))
				return true;
		}
	}
	return false;
}

int64_t visit_variant_option(
		const struct side_type_variant *variant, const struct visit_value *selector)
{
	const struct side_variant_option *options = side_array_elements(&variant->options);
	int64_t number;
	uint32_t i;

	if (!visit_value_s64(selector, &number))
		return -EINVAL;
	for (i = 0; i < side_array_length(&variant->options); i++) {
		if (options[i].range_begin <= number && number <= options[i].range_end)
			return i;
	}
	return -EINVAL;
}
