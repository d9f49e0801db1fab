/* SPDX-License-Identifier: MIT */
/*
 * Finds the member or element of a variable at a distance from its beginning, from DWARF.
 *
 * The first lookup lists the variables of all units, because no index of a file has them. Variables
 * inside functions are left out: they have no names of members.
 */
#include <dwarf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/inside/search.h"
#include "symbolize/module.h"

#define MEMBER_VARIABLES_MAX ((size_t)4 << 20)
#define MEMBER_STEPS_MAX ((size_t)64 << 20) /* entries that are read to list the variables */
#define MEMBER_NESTING_MAX 64               /* namespaces; and types within types */
#define MEMBER_DIMENSIONS_MAX 8
#define MEMBER_NAME_MAX 1024

struct member_variable {
	uint64_t address;
	Dwarf_Off entry;
};

struct member_index {
	struct member_variable *variables; /* sorted by address */
	size_t count;
	size_t nr_steps;
};

/* The name as it is made, from the variable inwards. */
struct member_name {
	char text[MEMBER_NAME_MAX];
	size_t size;
	bool is_cut;
};

void member_index_free(struct member_index *index)
{
	if (index)
		free(index->variables);
	free(index);
}

/* ---- the variables of a file ---- */

static int member_compare(const void *one, const void *other)
{
	const struct member_variable *left = one, *right = other;

	return left->address < right->address ? -1 : left->address > right->address;
}

/* False: the variable has no fixed address. */
static bool member_get_address(Dwarf_Die *variable, uint64_t *ret_address)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *operations;
	size_t count;

	if (!dwarf_attr(variable, DW_AT_location, &attribute) ||
			dwarf_getlocation(&attribute, &operations, &count) || count != 1 ||
			operations->atom != DW_OP_addr)
		return false;
	*ret_address = operations->number;
	return true;
}

static void member_add_variable(struct member_index *index, Dwarf_Die *variable)
{
	struct member_variable added = {.entry = dwarf_dieoffset(variable)};
	size_t count = index->count;
	struct member_variable *grown;

	if (count == MEMBER_VARIABLES_MAX || !member_get_address(variable, &added.address))
		return;
	if (!(count & (count - 1))) { /* Grows at 0, 1, 2, 4, … */
		grown = reallocarray(index->variables, count ? count * 2 : 1, sizeof(*grown));
		if (!grown)
			return;
		index->variables = grown;
	}
	index->variables[index->count++] = added;
}

static void member_list(struct member_index *index, Dwarf_Die *parent, unsigned int nesting)
{
	Dwarf_Die child;

	if (nesting == MEMBER_NESTING_MAX || dwarf_child(parent, &child))
		return;
	do {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_variable)
			member_add_variable(index, &child);
		else if (tag == DW_TAG_namespace || tag == DW_TAG_module)
			member_list(index, &child, nesting + 1);
	} while (index->nr_steps++ < MEMBER_STEPS_MAX && !dwarf_siblingof(&child, &child));
}

static const struct member_index *member_get_index(struct module *module)
{
	struct member_index *index = module->members;
	Dwarf_CU *at = NULL, *next = NULL;
	Dwarf_Die unit;
	uint8_t type;

	if (index)
		return index;
	index = module->members = calloc(1, sizeof(*index));
	if (!index)
		return NULL;
	while (!dwarf_get_units(module->dwarf, at, &next, NULL, &type, &unit, NULL)) {
		member_list(index, &unit, 0);
		at = next;
	}
	if (index->count)
		qsort(index->variables, index->count, sizeof(*index->variables), member_compare);
	return index;
}

static bool member_find_variable(struct module *module, uint64_t address, Dwarf_Die *ret_variable)
{
	const struct member_index *index = member_get_index(module);
	size_t at = index ? search_leading(i, index->count, index->variables[i].address < address)
			  : 0;

	return index && at < index->count && index->variables[at].address == address &&
			dwarf_offdie(module->dwarf, index->variables[at].entry, ret_variable);
}

/* ---- types ---- */

static void member_put(struct member_name *name, const char *begin, const char *text)
{
	size_t space = sizeof(name->text) - name->size;
	int size = snprintf(name->text + name->size, space, "%s%s", begin, text);

	if (size < 0 || (size_t)size >= space)
		name->is_cut = true;
	else
		name->size += (size_t)size;
}

static bool member_get_type(Dwarf_Die *entry, Dwarf_Die *ret_type)
{
	Dwarf_Attribute attribute;

	return dwarf_attr_integrate(entry, DW_AT_type, &attribute) &&
			dwarf_formref_die(&attribute, ret_type);
}

/* True for types of locks: their members are internal to a library. */
static bool member_is_opaque(Dwarf_Die *type)
{
	static const char *const names[] = {"sem_t", "mutex", "recursive_mutex", "timed_mutex",
			"recursive_timed_mutex", "shared_mutex", "shared_timed_mutex",
			"condition_variable", "condition_variable_any"};
	const char *name = dwarf_diename(type);

	if (name && strncmp(name, "pthread_", 8) == 0)
		return true;
	for (size_t i = 0; name && i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* Skips typedefs and qualifiers, but not the typedef of a lock. False: unknown. */
static bool member_peel(Dwarf_Die *type)
{
	for (unsigned int i = 0; i < MEMBER_NESTING_MAX; i++) {
		int tag = dwarf_tag(type);

		if (tag != DW_TAG_typedef && tag != DW_TAG_const_type &&
				tag != DW_TAG_volatile_type && tag != DW_TAG_atomic_type)
			return tag > 0;
		if (member_is_opaque(type))
			return true;
		if (!member_get_type(type, type))
			return false;
	}
	return false;
}

/* The number of elements in a dimension; 0: not known. */
static uint64_t member_count(Dwarf_Die *dimension)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;

	if (dwarf_attr(dimension, DW_AT_count, &attribute))
		return dwarf_formudata(&attribute, &number) ? 0 : number;
	return !dwarf_attr(dimension, DW_AT_upper_bound, &attribute) ||
					dwarf_formudata(&attribute, &number)
			? 0
			: number + 1;
}

/* Replaces the array by its element that contains the distance. False: not known. */
static bool member_enter_array(Dwarf_Die *type, uint64_t *distance, struct member_name *name)
{
	uint64_t counts[MEMBER_DIMENSIONS_MAX], stride;
	unsigned int nr_dimensions = 0;
	Dwarf_Die child, element;
	Dwarf_Word size;
	char number[32];

	if (dwarf_child(type, &child) || !member_get_type(type, &element) ||
			dwarf_aggregate_size(&element, &size) || !size)
		return false;
	do {
		if (dwarf_tag(&child) != DW_TAG_subrange_type)
			continue;
		if (nr_dimensions == MEMBER_DIMENSIONS_MAX)
			return false;
		counts[nr_dimensions++] = member_count(&child);
	} while (!dwarf_siblingof(&child, &child));
	for (unsigned int i = 0; i < nr_dimensions; i++) {
		stride = size;
		for (unsigned int k = i + 1; k < nr_dimensions; k++)
			if (!counts[k] || __builtin_mul_overflow(stride, counts[k], &stride))
				return false;
		snprintf(number, sizeof(number), "%" PRIu64 "]", *distance / stride);
		member_put(name, "[", number);
		*distance %= stride;
	}
	*type = element;
	return nr_dimensions > 0;
}

/* The distance of a member or of a base class from the beginning. False: not known. */
static bool member_get_place(Dwarf_Die *member, bool is_union, Dwarf_Word *ret_place)
{
	Dwarf_Attribute attribute;

	*ret_place = 0;
	if (dwarf_hasattr(member, DW_AT_data_bit_offset) || dwarf_hasattr(member, DW_AT_bit_size))
		return false;
	if (!dwarf_attr(member, DW_AT_data_member_location, &attribute))
		return is_union;
	return !dwarf_formudata(&attribute, ret_place);
}

/* True: the member contains the distance. Makes type and distance relative to the member. */
static bool member_enter_one(
		Dwarf_Die *type, uint64_t *distance, Dwarf_Die *member, struct member_name *name)
{
	Dwarf_Word place, size;
	Dwarf_Die inner;
	const char *text = dwarf_diename(member);

	if (!member_get_place(member, dwarf_tag(type) == DW_TAG_union_type, &place) ||
			!member_get_type(member, &inner) || dwarf_aggregate_size(&inner, &size) ||
			*distance < place || *distance - place >= size)
		return false;
	if (text && dwarf_tag(member) == DW_TAG_member)
		member_put(name, ".", text);
	*distance -= place;
	*type = inner;
	return true;
}

static bool member_enter_structure(Dwarf_Die *type, uint64_t *distance, struct member_name *name)
{
	Dwarf_Die child;

	if (dwarf_child(type, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);

		if ((tag == DW_TAG_member || tag == DW_TAG_inheritance) &&
				member_enter_one(type, distance, &child, name))
			return true;
	} while (!dwarf_siblingof(&child, &child));
	return false;
}

/* Makes the name of the member that begins at the distance. False: no such member has a name. */
static bool member_walk(Dwarf_Die *type, uint64_t distance, struct member_name *name)
{
	for (unsigned int i = 0; i < MEMBER_NESTING_MAX && member_peel(type); i++) {
		bool has_entered = false;

		if (member_is_opaque(type))
			return !distance;
		switch (dwarf_tag(type)) {
		case DW_TAG_array_type:
			has_entered = member_enter_array(type, &distance, name);
			break;
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
		case DW_TAG_union_type:
			has_entered = member_enter_structure(type, &distance, name);
			break;
		default: return !distance;
		}
		if (!has_entered)
			return false;
	}
	return false;
}

char *member_find(struct module *module, uint64_t variable, uint64_t distance)
{
	struct member_name name = {.size = 0};
	Dwarf_Die entry, type;

	if (!module->dwarf || !member_find_variable(module, variable, &entry) ||
			!member_get_type(&entry, &type) || !member_walk(&type, distance, &name) ||
			name.is_cut)
		return NULL;
	return strndup(name.text, name.size);
}
