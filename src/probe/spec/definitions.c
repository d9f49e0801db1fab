/* SPDX-License-Identifier: MIT */
/* Find variables and types by name in other units of the file. */
#include "debug.h"

#include "symbolize/demangle.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 8

struct definition_search {
	const char *name;
	int tag;
	Dwarf_Die found;
	bool has;
};

static bool spec_definition_die_is_complete(Dwarf_Die *die)
{
	return dwarf_hasattr(die, DW_AT_location) || dwarf_hasattr(die, DW_AT_const_value);
}

/* Whether the definition is of a member of a class or namespace that is declared elsewhere. */
static bool has_linkage_name(Dwarf_Die *die, const char *name)
{
	Dwarf_Attribute attribute;
	const char *linkage;
	char *readable;
	bool is;

	if (!dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute))
		return false;
	linkage = dwarf_formstring(&attribute);
	readable = linkage ? names_readable(linkage) : NULL;
	is = readable && !strcmp(readable, name);
	free(readable);
	return is;
}

static bool spec_definition_die_matches(
		Dwarf_Die *die, const char *remainder, const struct definition_search *search)
{
	const char *name = dwarf_diename(die);

	if (dwarf_tag(die) != search->tag)
		return false;
	if (search->tag != DW_TAG_variable)
		return name && !strcmp(name, remainder) && !dwarf_hasattr(die, DW_AT_declaration);
	return spec_definition_die_is_complete(die) &&
			((name && !strcmp(name, remainder)) || has_linkage_name(die, search->name));
}

/* Returns the part of the name after this namespace; NULL: the name is not in it. */
static const char *spec_definition_strip_scope(Dwarf_Die *die, const char *remainder)
{
	const char *name = dwarf_diename(die);
	size_t length = name ? strlen(name) : 0;

	if (dwarf_tag(die) != DW_TAG_namespace)
		return NULL;
	/* Names in anonymous namespaces are written without it. */
	if (!name)
		return remainder;
	return !strncmp(remainder, name, length) && !strncmp(remainder + length, "::", 2)
			? remainder + length + 2
			: NULL;
}

static void spec_definition_search_children(struct definition_search *search, Dwarf_Die *parent,
		const char *remainder, unsigned int depth)
{
	Dwarf_Die child;

	if (!remainder || depth > DEPTH_MAX || dwarf_child(parent, &child))
		return;
	do {
		const char *next = spec_definition_strip_scope(&child, remainder);

		if (spec_definition_die_matches(&child, remainder, search)) {
			search->found = child;
			search->has = true;
		} else if (next) {
			spec_definition_search_children(search, &child, next, depth + 1);
		}
	} while (!search->has && !dwarf_siblingof(&child, &child));
}

static int spec_definition_visit_unit(void *user, Dwarf_Die *unit)
{
	struct definition_search *search = user;

	spec_definition_search_children(search, unit, search->name, 0);
	return search->has;
}

static bool spec_definition_find(
		struct debug *debug, const char *name, int tag, Dwarf_Die *ret_found)
{
	struct definition_search search = {.name = name, .tag = tag};

	(void)debug_units(debug, spec_definition_visit_unit, &search);
	*ret_found = search.found;
	return search.has;
}

bool debug_global(struct debug *debug, const char *name, Dwarf_Die *ret_variable)
{
	return spec_definition_find(debug, name, DW_TAG_variable, ret_variable);
}

bool debug_type(struct debug *debug, Dwarf_Die *declared, Dwarf_Die *ret_type)
{
	const char *name = dwarf_diename(declared);

	return name && spec_definition_find(debug, name, dwarf_tag(declared), ret_type);
}
