/* SPDX-License-Identifier: MIT */
/* Strip typedefs and qualifiers from types, and get their sizes and dimensions. */
#include "locate.h"

#include "debug.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 32 /* nesting of typedefs */
#define DEPTH_MAX 8
#define STRING_BYTES 32 /* size of std::string in libstdc++ */

/* Replace the type by its definition if it is in a type unit. */
static void type_find_definition(Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Die whole;

	if (dwarf_attr(type, DW_AT_signature, &attribute) && dwarf_formref_die(&attribute, &whole))
		*type = whole;
}

bool type_of(Dwarf_Die *thing, Dwarf_Die *ret_type)
{
	Dwarf_Attribute attribute;

	return dwarf_attr_integrate(thing, DW_AT_type, &attribute) &&
			dwarf_formref_die(&attribute, ret_type) && type_plain(ret_type);
}

bool type_plain(Dwarf_Die *type)
{
	for (unsigned int i = 0; i < NAMES_MAX; i++) {
		Dwarf_Attribute attribute;
		Dwarf_Die next;

		switch (dwarf_tag(type)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type: break;
		default: type_find_definition(type); return true;
		}
		if (!dwarf_attr_integrate(type, DW_AT_type, &attribute) ||
				!dwarf_formref_die(&attribute, &next))
			return false;
		*type = next;
	}
	return false;
}

static bool spec_type_size_read_number(Dwarf_Die *die, unsigned int name, int64_t *ret_number)
{
	Dwarf_Attribute attribute;
	Dwarf_Sword value;

	if (!dwarf_attr_integrate(die, name, &attribute) || dwarf_formsdata(&attribute, &value))
		return false;
	*ret_number = value;
	return true;
}

/*
 * The index of the first element if the array has none. Shared units (partial units) do not record
 * their language.
 */
static int64_t type_standard_lower(Dwarf_Die *array)
{
	Dwarf_Sword lower = 0;
	Dwarf_Die unit;
	int language;

	if (!dwarf_diecu(array, &unit, NULL, NULL))
		return 0;
	language = dwarf_srclang(&unit);
	return language >= 0 && !dwarf_default_lower_bound(language, &lower) ? lower : 0;
}

unsigned int type_dimensions(
		Dwarf_Die *array, struct type_dimension ret_dimensions[TYPE_DIMENSIONS_MAX])
{
	unsigned int count = 0;
	Dwarf_Die child;

	if (dwarf_child(array, &child))
		return 0;
	do {
		struct type_dimension *dimension = &ret_dimensions[count];
		int64_t last;

		if (dwarf_tag(&child) != DW_TAG_subrange_type)
			continue;
		*dimension = (struct type_dimension){.count = 0};
		if (!spec_type_size_read_number(&child, DW_AT_lower_bound, &dimension->lower))
			dimension->lower = type_standard_lower(array);
		if (spec_type_size_read_number(&child, DW_AT_count, &last))
			last += dimension->lower - 1;
		else if (!spec_type_size_read_number(&child, DW_AT_upper_bound, &last))
			last = dimension->lower - 1;
		if (last >= dimension->lower && last - dimension->lower < INT32_MAX)
			dimension->count = (uint64_t)(last - dimension->lower) + 1;
		count++;
	} while (count < TYPE_DIMENSIONS_MAX && !dwarf_siblingof(&child, &child));
	return count;
}

static bool spec_type_size_of_die(Dwarf_Die *type, uint64_t *ret_size, unsigned int depth)
{
	struct type_dimension dimensions[TYPE_DIMENSIONS_MAX];
	unsigned int count;
	Dwarf_Die element;
	int64_t byte_size;

	if (spec_type_size_read_number(type, DW_AT_byte_size, &byte_size)) {
		*ret_size = (uint64_t)byte_size;
		return byte_size >= 0 && byte_size < INT32_MAX;
	}
	switch (dwarf_tag(type)) {
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
	case DW_TAG_ptr_to_member_type: *ret_size = 8; return true;
	case DW_TAG_array_type: break;
	case DW_TAG_enumeration_type:
		return depth < DEPTH_MAX && type_of(type, &element) &&
				spec_type_size_of_die(&element, ret_size, depth + 1);
	default: return false;
	}
	if (depth == DEPTH_MAX || !type_of(type, &element) ||
			!spec_type_size_of_die(&element, ret_size, depth + 1))
		return false;
	count = type_dimensions(type, dimensions);
	for (unsigned int i = 0; i < count; i++) {
		if (__builtin_mul_overflow(*ret_size, dimensions[i].count, ret_size) ||
				*ret_size > INT32_MAX)
			return false;
	}
	return count;
}

bool type_size(Dwarf_Die *type, uint64_t *ret_size)
{
	if (dwarf_hasattr(type, DW_AT_declaration) && type_is_standard_string(type)) {
		*ret_size = STRING_BYTES;
		return true;
	}
	return spec_type_size_of_die(type, ret_size, 0);
}

bool type_is_string(Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);
	int tag = dwarf_tag(type);

	return (tag == DW_TAG_structure_type || tag == DW_TAG_class_type) && name &&
			!strncmp(name, "basic_string<char", 17) &&
			(name[17] == ',' || name[17] == '>');
}

bool type_is_standard_string(Dwarf_Die *type)
{
	Dwarf_Die *scopes = NULL;
	bool found = false;
	int count = type_is_string(type) ? dwarf_getscopes_die(type, &scopes) : 0;

	for (int i = 0; i < count && !found; i++) {
		const char *name = dwarf_diename(&scopes[i]);

		found = dwarf_tag(&scopes[i]) == DW_TAG_namespace && name &&
				!strcmp(name, "__cxx11");
	}
	free(scopes);
	return found;
}
