/* SPDX-License-Identifier: MIT */
/*
 * Convert a whole structure to fields: one field with the number of fields in it, then its members.
 *
 * Each member is fetched for itself, so members in registers, in memory or behind a pointer to text
 * are recorded as if the user had requested each by name.
 */
#include "type.h"

#include "numbers.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 4 /* nesting of structures */
#define MEMBERS_MAX 1000

struct collecting {
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
static void spec_member_set_name(struct collecting *all, size_t first, const char *name)
{
	struct value *member = &all->values[all->count];
	unsigned int number = 1;
	char plain[FETCH_NAME_MAX];
	size_t i = first;

	fetch_name(plain, name);
	snprintf(member->name, sizeof(member->name), "%s", plain);
	while (i < all->count) {
		const struct value *other = &all->values[i];

		i += 1u + (other->type == PROBE_FIELD_STRUCT ? other->size : 0);
		if (strcmp(other->name, member->name) != 0)
			continue;
		snprintf(member->name, sizeof(member->name), "%.100s_%u", plain, ++number);
		i = first;
	}
}

static void spec_member_add_all(
		struct collecting *all, struct item *item, size_t first, unsigned int depth);

/* Add one value. Returns false if it cannot be a field. */
static bool add_single(struct collecting *all, struct item *item)
{
	struct error ignored;
	struct item one = *item;
	struct value *value = &all->values[all->count];

	if (item_value(&one, value, &ignored))
		return false;
	all->count++;
	return true;
}

/*
 * Add the two parts of a complex number. Returns false if one of them is not available, or if there
 * is no space for both.
 */
static bool add_parts(struct collecting *all, struct item *item)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct error ignored;
		struct item part = *item;

		if (all->count == all->capacity)
			return false;
		all->values[all->count] = (struct value){.type = 0};
		fetch_name(all->values[all->count].name, i ? "imag" : "real");
		if (number_enter(&part, i, &ignored) || !add_single(all, &part))
			return false;
	}
	return true;
}

/* Add the fields of a structure, or none of them. */
static bool add_structure(struct collecting *all, struct item *item, unsigned int depth)
{
	size_t at = all->count++;

	if (!is_complex(item))
		spec_member_add_all(all, item, all->count, depth + 1);
	else if (!add_parts(all, item))
		all->count = at + 1;
	if (all->count == at + 1) {
		all->count = at;
		return false;
	}
	all->values[at].type = PROBE_FIELD_STRUCT;
	all->values[at].size = (uint8_t)(all->count - at - 1);
	return true;
}

static void spec_member_add(struct collecting *all, struct item *item, Dwarf_Die *child,
		size_t first, unsigned int depth)
{
	const char *name = dwarf_tag(child) == DW_TAG_inheritance ? NULL : dwarf_diename(child);
	struct error ignored;
	struct item member = *item;
	bool done;

	/* The offset of a virtual base is known only at run time. */
	if (dwarf_hasattr(child, DW_AT_virtuality) || item_enter(&member, child, &ignored)) {
		all->left_out = true;
		return;
	}
	item_complete(&member);
	if (!name) {
		spec_member_add_all(all, &member, first, depth + 1);
		return;
	}
	if (all->count == all->capacity) {
		all->left_out = true;
		return;
	}
	all->values[all->count] = (struct value){.type = 0};
	spec_member_set_name(all, first, name);
	done = spec_member_is_structure(&member) && depth < DEPTH_MAX &&
			all->count + 1 < all->capacity && add_structure(all, &member, depth);
	if (!done && !add_single(all, &member))
		all->left_out = true;
}

/* The fields from `first` on belong to the same structure. */
static void spec_member_add_all(
		struct collecting *all, struct item *item, size_t first, unsigned int depth)
{
	unsigned int count = 0;
	Dwarf_Die child;

	if (depth > 2 * DEPTH_MAX || dwarf_child(&item->type, &child))
		return;
	do {
		int tag = dwarf_tag(&child);

		if ((tag == DW_TAG_member || tag == DW_TAG_inheritance) && is_own(&child))
			spec_member_add(all, item, &child, first, depth);
	} while (++count < MEMBERS_MAX && !dwarf_siblingof(&child, &child));
}

int item_values(struct item *item, struct value *values, size_t capacity, size_t *count,
		bool *left_out, struct error *error)
{
	struct collecting all = {.values = values, .capacity = capacity};

	*left_out = false;
	*count = 1;
	values[0] = (struct value){.type = 0};
	item_complete(item);
	if (capacity > 1 && spec_member_is_structure(item) && add_structure(&all, item, 0)) {
		*count = all.count;
		*left_out = all.left_out;
		return 0;
	}
	values[0] = (struct value){.type = 0};
	return item_value(item, values, error);
}
