/* SPDX-License-Identifier: MIT */
/* Finds names, labels and attributes that a user cannot distinguish or read. */
#include <inttypes.h>
#include <string.h>

#include "abi/lint.h"
#include "base/inside/utf8.h"

/* ---- texts ---- */

bool lint_is_utf8(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	unsigned int nr;

	for (; at && *at; at += nr) {
		/* The text ends with a NUL, which continues no character. */
		nr = utf8_length(at, UTF8_LENGTH_MAX);
		if (!nr)
			return false;
	}
	return at != NULL;
}

static bool abi_lint_text_is_empty(const struct side_type_raw_string *string)
{
	return visit_text_bytes(side_ptr_get(string->p), string->unit_size) == string->unit_size;
}

/* Text with units of 2 or 4 bytes is not checked: readers replace invalid characters. */
static bool abi_lint_text_is_valid_encoding(const struct side_type_raw_string *string)
{
	return string->unit_size != 1 || lint_is_utf8(side_ptr_get(string->p));
}

bool visit_raw_string_same(
		const struct side_type_raw_string *one, const struct side_type_raw_string *other)
{
	struct visit_text a = {
			side_ptr_get(one->p), one->unit_size, side_enum_get(one->byte_order)};
	struct visit_text b = {
			side_ptr_get(other->p), other->unit_size, side_enum_get(other->byte_order)};
	unsigned char first[VISIT_TEXT_UNIT_MAX], second[VISIT_TEXT_UNIT_MAX];
	unsigned int size;

	if (!a.at || !b.at)
		return a.at == b.at;
	do {
		size = visit_text_next(&a, first);
		if (visit_text_next(&b, second) != size || memcmp(first, second, size))
			return false;
	} while (size);
	return true;
}

void lint_label(struct lint *lint, const struct side_type_raw_string *label, uint32_t index,
		const struct visit_node *node)
{
	if (abi_lint_text_is_empty(label))
		lint_report(lint, VISIT_WARNING, node,
				"label %" PRIu32 " is empty\ngive it a text that people can read",
				index);
	else if (!abi_lint_text_is_valid_encoding(label))
		lint_report(lint, VISIT_WARNING, node,
				"label %" PRIu32
				" is not UTF-8\nwrite it in UTF-8, or set its unit size",
				index);
}

/* ---- attributes ---- */

static void lint_base(
		struct lint *lint, const struct side_attr *attribute, const struct visit_node *node)
{
	struct visit_value value;
	char digits[VISIT_DIGITS_MAX + 1];
	bool is_number;

	if (visit_load_attribute(&attribute->value, &value))
		return;
	is_number = value.kind == VISIT_UNSIGNED || value.kind == VISIT_SIGNED;
	if (is_number && !value.hi &&
			(value.lo == 2 || value.lo == 8 || value.lo == 10 || value.lo == 16))
		return;
	if (!is_number) {
		lint_report(lint, VISIT_WARNING, node,
				"its attribute std.integer.base is not an integer\nmake it 2, 8, 10 or 16");
		return;
	}
	digits[visit_value_digits(&value, 10, false, digits)] = '\0';
	lint_report(lint, VISIT_WARNING, node,
			"its attribute std.integer.base is %s, not 2, 8, 10 or 16\nmake it one of these",
			digits);
}

static void lint_attribute(struct lint *lint, const struct side_attr *attribute, uint32_t index,
		const struct visit_node *node)
{
	unsigned int type = attribute->value.type.v;

	if (type > lint->highest_attribute_type)
		lint->highest_attribute_type = type;
	if (abi_lint_text_is_empty(&attribute->key))
		lint_report(lint, VISIT_WARNING, node,
				"the name of attribute %" PRIu32 " is empty\ngive it a name",
				index);
	else if (!abi_lint_text_is_valid_encoding(&attribute->key))
		lint_report(lint, VISIT_WARNING, node,
				"the name of attribute %" PRIu32
				" is not UTF-8\nwrite it in UTF-8, or set its unit size",
				index);
	if (type == SIDE_ATTR_TYPE_BOOL && attribute->value.u.bool_value > 1)
		lint_report(lint, VISIT_WARNING, node,
				"attribute %" PRIu32 " is a boolean of %u\nmake it 0 or 1", index,
				attribute->value.u.bool_value);
	if (type == SIDE_ATTR_TYPE_STRING && !side_ptr_get(attribute->value.u.string_value.p))
		lint_report(lint, VISIT_WARNING, node,
				"the string value of attribute %" PRIu32
				" is NULL\ngive it a text (an empty one will do)",
				index);
	else if (type == SIDE_ATTR_TYPE_STRING &&
			!abi_lint_text_is_valid_encoding(&attribute->value.u.string_value))
		lint_report(lint, VISIT_WARNING, node,
				"the string value of attribute %" PRIu32
				" is not UTF-8\nwrite it in UTF-8, or set its unit size",
				index);
	if (attribute->key.unit_size == 1 &&
			!strcmp(side_ptr_get(attribute->key.p), "std.integer.base"))
		lint_base(lint, attribute, node);
}

void lint_attributes(struct lint *lint, struct visit_attributes attributes,
		const struct visit_node *node)
{
	uint32_t i, k;

	for (i = 0; i < attributes.nr; i++) {
		lint_attribute(lint, &attributes.attr[i], i, node);
		for (k = 0; k < i && i < LINT_PAIRS_MAX; k++) {
			if (!visit_raw_string_same(
					    &attributes.attr[i].key, &attributes.attr[k].key))
				continue;
			lint_report(lint, VISIT_REMARK, node,
					"attribute %" PRIu32 " has the name of attribute %" PRIu32
					", which is used instead\ngive it a name of its own",
					i, k);
			break;
		}
	}
}
