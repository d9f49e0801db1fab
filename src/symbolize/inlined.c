/* SPDX-License-Identifier: MIT */
/*
 * The functions that the compiler copied into the function at an address, from DWARF.
 *
 * The first lookup in a unit lists the code of its functions, because a unit can have a hundred
 * thousand entries that have none.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/inside/search.h"
#include "symbolize/demangle.h"
#include "symbolize/module.h"

#define INLINED_RANGES_MAX ((size_t)4 << 20)
#define INLINED_NESTING_MAX 64 /* namespaces and classes around a function, blocks inside of one */
#define INLINED_STEPS_MAX ((size_t)16 << 20)

/* Code of a function. */
struct inlined_range {
	uint64_t begin, end;
	Dwarf_Off function;
};

/* The functions of one unit. */
struct inlined_unit {
	struct inlined_unit *next;
	Dwarf_Off offset;
	struct inlined_range *ranges; /* sorted by begin */
	size_t count;
};

struct inlined_index {
	struct inlined_unit *units;
	size_t nr_ranges; /* of all units */
	size_t nr_steps;  /* entries that were read to list them */
};

void inlined_free(struct inlined_index *index)
{
	while (index && index->units) {
		struct inlined_unit *unit = index->units;

		index->units = unit->next;
		free(unit->ranges);
		free(unit);
	}
	free(index);
}

/* ---- the functions of a unit ---- */

static int inlined_compare(const void *one, const void *other)
{
	const struct inlined_range *left = one, *right = other;

	return left->begin < right->begin ? -1 : left->begin > right->begin;
}

static void inlined_add_range(struct inlined_index *index, struct inlined_unit *unit,
		const struct inlined_range *range)
{
	size_t count = unit->count;
	struct inlined_range *grown;

	if (range->end <= range->begin || index->nr_ranges == INLINED_RANGES_MAX)
		return;
	if (!(count & (count - 1))) { /* Grows at 0, 1, 2, 4, … */
		grown = reallocarray(unit->ranges, count ? count * 2 : 1, sizeof(*grown));
		if (!grown)
			return;
		unit->ranges = grown;
	}
	unit->ranges[unit->count++] = *range;
	index->nr_ranges++;
}

static void inlined_add_function(
		struct inlined_index *index, struct inlined_unit *unit, Dwarf_Die *function)
{
	struct inlined_range range = {.function = dwarf_dieoffset(function)};
	ptrdiff_t at = 0;
	Dwarf_Addr base;

	while ((at = dwarf_ranges(function, at, &base, &range.begin, &range.end)) > 0)
		inlined_add_range(index, unit, &range);
}

static bool inlined_has_functions(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_structure_type ||
			tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

static void inlined_list(struct inlined_index *index, struct inlined_unit *unit, Dwarf_Die *parent,
		unsigned int nesting)
{
	Dwarf_Die child;

	if (nesting == INLINED_NESTING_MAX || dwarf_child(parent, &child))
		return;
	do {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_subprogram)
			inlined_add_function(index, unit, &child);
		else if (inlined_has_functions(tag))
			inlined_list(index, unit, &child, nesting + 1);
	} while (index->nr_steps++ < INLINED_STEPS_MAX && !dwarf_siblingof(&child, &child));
}

static const struct inlined_unit *inlined_get_unit(struct module *module, Dwarf_Die *die)
{
	struct inlined_index *index = module->inlined;
	struct inlined_unit *unit;

	if (!index)
		index = module->inlined = calloc(1, sizeof(*index));
	if (!index)
		return NULL;
	for (unit = index->units; unit; unit = unit->next)
		if (unit->offset == dwarf_dieoffset(die))
			return unit;
	unit = calloc(1, sizeof(*unit));
	if (!unit)
		return NULL;
	unit->offset = dwarf_dieoffset(die);
	unit->next = index->units;
	index->units = unit;
	inlined_list(index, unit, die, 0);
	if (unit->count)
		qsort(unit->ranges, unit->count, sizeof(*unit->ranges), inlined_compare);
	return unit;
}

static bool inlined_find_function(
		struct module *module, Dwarf_Die *die, uint64_t address, Dwarf_Die *ret_function)
{
	const struct inlined_unit *unit = inlined_get_unit(module, die);
	size_t low = unit ? search_leading(i, unit->count, unit->ranges[i].begin <= address) : 0;

	/* Of several that begin before the address, the nearest that contains it. */
	for (size_t i = low; i-- > 0 && low - i <= 64;)
		if (address < unit->ranges[i].end)
			return dwarf_offdie(module->dwarf, unit->ranges[i].function, ret_function);
	return false;
}

/* ---- the inlined functions of an address ---- */

static bool inlined_has_code(int tag)
{
	return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
			tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/* The direct part of a function or block that contains the address. */
static bool inlined_find_part(Dwarf_Die *block, uint64_t address, Dwarf_Die *ret_part)
{
	Dwarf_Die part;

	if (dwarf_child(block, &part))
		return false;
	do {
		if (inlined_has_code(dwarf_tag(&part)) && dwarf_haspc(&part, address) == 1) {
			*ret_part = part;
			return true;
		}
	} while (!dwarf_siblingof(&part, &part));
	return false;
}

static char *inlined_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name =
			dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));

	if (!name)
		name = dwarf_formstring(
				dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute));
	if (!name)
		name = dwarf_diename(die);
	return name && *name ? module_readable(name) : NULL;
}

static void inlined_find_call(Dwarf_Die *unit, Dwarf_Die *die, struct symbol_inlined *inlined)
{
	Dwarf_Attribute attribute;
	Dwarf_Word file, line;
	Dwarf_Files *files;
	const char *path;
	size_t count;

	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &file) ||
			dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &line) ||
			!line || line > UINT32_MAX || dwarf_getsrcfiles(unit, &files, &count) ||
			file >= count)
		return;
	path = dwarf_filesrc(files, file, NULL, NULL);
	if (!path)
		return;
	inlined->file = module_whole_path(unit, path);
	inlined->line = inlined->file ? (unsigned int)line : 0;
}

/* Adds it before the others: the functions are found from the outermost inwards. */
static void inlined_add(
		struct symbol *symbol, struct symbol_inlined *all, Dwarf_Die *unit, Dwarf_Die *die)
{
	struct symbol_inlined inlined = {.function = inlined_name(die)};

	if (!inlined.function)
		return;
	inlined_find_call(unit, die, &inlined);
	if (symbol->nr_inlined == SYMBOLS_INLINED_MAX) {
		symbol->nr_inlined--;
		free((void *)(uintptr_t)all[symbol->nr_inlined].function);
		free((void *)(uintptr_t)all[symbol->nr_inlined].file);
	}
	memmove(all + 1, all, symbol->nr_inlined * sizeof(*all));
	all[0] = inlined;
	symbol->nr_inlined++;
}

void inlined_find(
		struct module *module, Dwarf_Die *unit, uint64_t address, struct symbol *ret_symbol)
{
	struct symbol_inlined *all;
	Dwarf_Die block, part;

	if (!inlined_find_function(module, unit, address, &block) ||
			!inlined_find_part(&block, address, &part))
		return;
	all = calloc(SYMBOLS_INLINED_MAX, sizeof(*all));
	ret_symbol->inlined = all;
	for (unsigned int nesting = 0; all && nesting < INLINED_NESTING_MAX; nesting++) {
		if (dwarf_tag(&part) == DW_TAG_inlined_subroutine)
			inlined_add(ret_symbol, all, unit, &part);
		block = part;
		if (!inlined_find_part(&block, address, &part))
			break;
	}
}
