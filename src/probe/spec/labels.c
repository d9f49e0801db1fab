/* SPDX-License-Identifier: MIT */
/* List the names of the values of an enumeration. */
#include "labels.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENUMERATORS_MAX 10000

/* Small unsigned forms are unsigned, whatever the type of the enumeration. */
static bool spec_labels_get_value(Dwarf_Die *enumerator, int64_t *ret_value)
{
	Dwarf_Attribute attribute;
	Dwarf_Sword with_sign;
	Dwarf_Word without;
	unsigned int form;

	if (!dwarf_attr(enumerator, DW_AT_const_value, &attribute))
		return false;
	form = dwarf_whatform(&attribute);
	if (form == DW_FORM_sdata || form == DW_FORM_implicit_const) {
		if (dwarf_formsdata(&attribute, &with_sign))
			return false;
		*ret_value = with_sign;
		return true;
	}
	if (dwarf_formudata(&attribute, &without))
		return false;
	*ret_value = (int64_t)without;
	return true;
}

/* Print "NAME=VALUE,". Returns the length, or 0 if the label cannot be represented. */
static size_t print_label(Dwarf_Die *child, char *text, size_t capacity)
{
	const char *name = dwarf_diename(child);
	int64_t value;
	int size;

	if (dwarf_tag(child) != DW_TAG_enumerator || !name || !*name ||
			strlen(name) > PROBE_TABLE_LABEL_MAX || strpbrk(name, "=,") ||
			!spec_labels_get_value(child, &value))
		return 0;
	size = snprintf(text, capacity, "%s=%" PRId64 ",", name, value);
	return size > 0 && (size_t)size < capacity ? (size_t)size : 0;
}

/* Print the label of a variant of a Rust enum. */
static size_t spec_labels_print_variant(Dwarf_Die *variant, char *text, size_t capacity)
{
	Dwarf_Attribute attribute;
	Dwarf_Die member;
	Dwarf_Word value;
	const char *name;
	int size;

	if (dwarf_tag(variant) != DW_TAG_variant ||
			!dwarf_attr(variant, DW_AT_discr_value, &attribute) ||
			dwarf_formudata(&attribute, &value) || dwarf_child(variant, &member))
		return 0;
	name = dwarf_diename(&member);
	if (!name || !*name || strlen(name) > PROBE_TABLE_LABEL_MAX || strpbrk(name, "=,"))
		return 0;
	size = snprintf(text, capacity, "%s=%" PRIu64 ",", name, (uint64_t)value);
	return size > 0 && (size_t)size < capacity ? (size_t)size : 0;
}

char *item_labels(Dwarf_Die *enumeration)
{
	size_t capacity = PROBE_TABLE_STRING_MAX + 1, used = 0;
	char *text = calloc(1, capacity);
	unsigned int count = 0;
	Dwarf_Die child;

	if (!text || dwarf_child(enumeration, &child))
		return text;
	do {
		used += print_label(&child, text + used, capacity - used);
		used += spec_labels_print_variant(&child, text + used, capacity - used);
	} while (++count < ENUMERATORS_MAX && !dwarf_siblingof(&child, &child));
	/* Remove the last comma, and a label that was printed only in part. */
	text[used ? used - 1 : 0] = '\0';
	return text;
}
