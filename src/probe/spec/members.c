/* SPDX-License-Identifier: MIT */
/*
 * Convert a whole structure to fields: one field with the number of fields in it, then its members.
 *
 * Each member is fetched for itself, so members in registers, in memory or behind a pointer to text
 * are recorded as if the user had requested each by name.
 */
#include "members.h"

#include "field.h"
#include "numbers.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 4 /* nesting of structures */
#define MEMBERS_MAX 1000

struct member_collector {
	struct value *values;
	size_t capacity, count;
	bool left_out;
};

static bool is_complex(struct item *item)
{
	return !item->is_address && !item->is_count && !item->is_part && !item->dimension &&
			number_form(&item->type) == NUMBER_COMPLEX;
}

static bool spec_member_is_structure(struct item *item)
{
	int tag = dwarf_tag(&item->type);

	if (is_complex(item))
		return true;
	return !item->is_address && !item->is_count && !item->dimension &&
			(tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
					tag == DW_TAG_union_type) &&
			!type_is_string(&item->type) && !item_is_single(item);
}

/* Whether objects of the type contain the member, and the compiler did not add it. */
static bool is_own(Dwarf_Die *member)
{
	return !dwarf_hasattr(member, DW_AT_external) &&
			!dwarf_hasattr(member, DW_AT_declaration) &&
			!dwarf_hasattr(member, DW_AT_artificial) &&
			!dwarf_hasattr(member, DW_AT_const_value);
}

/* A base class may have a member with the same name. */
static void spec_member_set_name(struct member_collector *collector, size_t first, const char *name)
{
	struct value *member = &collector->values[collector->count];
	unsigned int number = 1;
	char plain[FETCH_NAME_MAX];
	size_t i = first;

	fetch_name(plain, name);
	snprintf(member->name, sizeof(member->name), "%s", plain);
	while (i < collector->count) {
		const struct value *other = &collector->values[i];

		i += 1u + (other->type == PROBE_FIELD_STRUCT ? other->size : 0);
		if (strcmp(other->name, member->name) != 0)
			continue;
		snprintf(member->name, sizeof(member->name), "%.100s_%u", plain, ++number);
		i = first;
	}
}

static void spec_member_add_all(struct member_collector *collector, struct item *item, size_t first,
		unsigned int depth);

/* Add one value. Returns false if it cannot be a field. */
static bool add_single(struct member_collector *collector, struct item *item)
{
	struct error ignored;
	struct item one = *item;
	struct value *value = &collector->values[collector->count];

	if (item_value(&one, value, &ignored))
		return false;
	collector->count++;
	return true;
}

/*
 * Add the two parts of a complex number. Returns false if one of them is not available, or if there
 * is no space for both.
 */
static bool add_parts(struct member_collector *collector, struct item *item)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct error ignored;
		struct item part = *item;

		if (collector->count == collector->capacity)
			return false;
		collector->values[collector->count] = (struct value){.type = 0};
		fetch_name(collector->values[collector->count].name, i ? "imag" : "real");
		if (number_enter(&part, i, &ignored) || !add_single(collector, &part))
			return false;
	}
	return true;
}

/* Add the fields of a structure, or none of them. */
static bool add_structure(struct member_collector *collector, struct item *item, unsigned int depth)
{
	size_t at = collector->count++;

	if (!is_complex(item))
		spec_member_add_all(collector, item, collector->count, depth + 1);
	else if (!add_parts(collector, item))
		collector->count = at + 1;
	if (collector->count == at + 1) {
		collector->count = at;
		return false;
	}
	collector->values[at].type = PROBE_FIELD_STRUCT;
	collector->values[at].size = (uint8_t)(collector->count - at - 1);
	return true;
}

static void spec_member_add(struct member_collector *collector, struct item *item, Dwarf_Die *child,
		size_t first, unsigned int depth)
{
	const char *name = dwarf_tag(child) == DW_TAG_inheritance ? NULL : dwarf_diename(child);
	struct error ignored;
	struct item member = *item;
	bool done;

	/* The offset of a virtual base is known only at run time. */
	if (dwarf_hasattr(child, DW_AT_virtuality) || item_enter(&member, child, &ignored)) {
		collector->left_out = true;
		return;
	}
	item_complete(&member);
	/* The members of a base class, or of a structure without a name, are members of this one. */
	if (!name) {
		spec_member_add_all(collector, &member, first, depth + 1);
		return;
	}
	if (collector->count == collector->capacity) {
		collector->left_out = true;
		return;
	}
	collector->values[collector->count] = (struct value){.type = 0};
	spec_member_set_name(collector, first, name);
	done = spec_member_is_structure(&member) && depth < DEPTH_MAX &&
			collector->count + 1 < collector->capacity &&
			add_structure(collector, &member, depth);
	if (!done && !add_single(collector, &member))
		collector->left_out = true;
}

/* The fields from `first` on belong to the same structure. */
static void spec_member_add_all(struct member_collector *collector, struct item *item, size_t first,
		unsigned int depth)
{
	unsigned int count = 0;
	Dwarf_Die child;

	if (depth > 2 * DEPTH_MAX || dwarf_child(&item->type, &child))
		return;
	do {
		int tag = dwarf_tag(&child);

		if ((tag == DW_TAG_member || tag == DW_TAG_inheritance) && is_own(&child))
			spec_member_add(collector, item, &child, first, depth);
	} while (++count < MEMBERS_MAX && !dwarf_siblingof(&child, &child));
}

int item_values(struct item *item, struct value *ret_values, size_t capacity, size_t *ret_count,
		bool *ret_left_out, struct error *error)
{
	struct member_collector collector = {.values = ret_values, .capacity = capacity};

	*ret_left_out = false;
	*ret_count = 1;
	ret_values[0] = (struct value){.type = 0};
	item_complete(item);
	if (capacity > 1 && spec_member_is_structure(item) && add_structure(&collector, item, 0)) {
		*ret_count = collector.count;
		*ret_left_out = collector.left_out;
		return 0;
	}
	ret_values[0] = (struct value){.type = 0};
	return item_value(item, ret_values, error);
}
