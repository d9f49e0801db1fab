/* SPDX-License-Identifier: MIT */
/*
 * Find the unit and the functions around an address in a file's debug information.
 *
 * Each file is indexed once, and each unit when it is first needed: a spec with the arguments of
 * all functions asks tens of thousands of times.
 */
#include "debug.h"
#include "base/inside/search.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define UNITS_MAX 200000
#define FIRST_CAPACITY 64
#define NOTHING UINT32_MAX

/* Addresses of the code of a unit or function. */
struct code_span {
	uint64_t begin, end;
	uint64_t reach; /* highest end of this span and all before it */
	uint32_t order; /* of two spans with the same address, the lower order wins */
	uint32_t what;  /* index of the unit or node */
};

/* Sorted by begin. */
struct spans {
	struct code_span *items;
	size_t count, capacity;
};

/* A function, or a scope that contains functions. */
struct scope_node {
	Dwarf_Die die;
	uint32_t parent; /* NOTHING: the unit */
};

struct dwarf_unit {
	Dwarf_Die die;
	bool known;
	struct spans spans;
	struct scope_node *nodes;
	size_t nr_nodes, capacity;
	uint32_t nr_functions;
};

struct around {
	struct spans spans;
	struct dwarf_unit *units;
	size_t count, capacity;
};

/* Grow the array by one item. Returns NULL if out of memory; the old array is then still valid. */
static void *spec_range_grow_array(void *items, size_t count, size_t *capacity, size_t size)
{
	size_t wanted = *capacity ? *capacity * 2 : FIRST_CAPACITY;
	void *grown;

	if (count < *capacity)
		return items;
	grown = reallocarray(items, wanted, size);
	if (grown)
		*capacity = wanted;
	return grown;
}

/* ---- spans ---- */

static bool add_spans(struct spans *spans, Dwarf_Die *die, uint32_t order, uint32_t what)
{
	Dwarf_Addr base, begin, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &begin, &end)) > 0) {
		struct code_span *items = spec_range_grow_array(
				spans->items, spans->count, &spans->capacity, sizeof(*items));

		if (!items)
			return false;
		spans->items = items;
		if (begin < end)
			items[spans->count++] = (struct code_span){
					.begin = begin, .end = end, .order = order, .what = what};
	}
	return true;
}

static int spec_range_compare_begin(const void *left, const void *right)
{
	const struct code_span *one = left, *other = right;

	if (one->begin != other->begin)
		return one->begin < other->begin ? -1 : 1;
	return one->order < other->order ? -1 : one->order > other->order;
}

static void spec_range_sort(struct spans *spans)
{
	uint64_t reach = 0;

	if (spans->count)
		qsort(spans->items, spans->count, sizeof(*spans->items), spec_range_compare_begin);
	for (size_t i = 0; i < spans->count; i++) {
		reach = spans->items[i].end > reach ? spans->items[i].end : reach;
		spans->items[i].reach = reach;
	}
}

/* Returns the index of the span with this address and the lowest order, or NOTHING. */
static uint32_t spec_range_find(const struct spans *spans, uint64_t address)
{
	uint32_t found = NOTHING, order = NOTHING;
	size_t low = search_leading(i, spans->count, spans->items[i].begin <= address);

	while (low-- > 0 && spans->items[low].reach > address) {
		const struct code_span *span = &spans->items[low];

		if (span->end > address && span->order < order) {
			order = span->order;
			found = span->what;
		}
	}
	return found;
}

/* ---- functions of a unit ---- */

/*
 * libdw does not descend into scopes without addresses: namespaces, and functions or classes that
 * only declare other functions.
 */
static bool may_have_functions(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_lexical_block:
	case DW_TAG_subprogram: return true;
	default: return false;
	}
}

static bool add_functions(
		struct dwarf_unit *unit, Dwarf_Die *around, uint32_t parent, unsigned int depth);

/*
 * Nested functions come first, because an address in one of them is also in its parent. Scopes
 * without functions are not kept.
 */
static bool add_node(struct dwarf_unit *unit, Dwarf_Die *die, uint32_t parent, unsigned int depth)
{
	struct scope_node *nodes = spec_range_grow_array(
			unit->nodes, unit->nr_nodes, &unit->capacity, sizeof(*nodes));
	size_t before = unit->spans.count;
	uint32_t number = (uint32_t)unit->nr_nodes;

	if (!nodes)
		return false;
	unit->nodes = nodes;
	nodes[unit->nr_nodes++] = (struct scope_node){*die, parent};
	if (!add_functions(unit, die, number, depth) ||
			(dwarf_tag(die) == DW_TAG_subprogram &&
					!add_spans(&unit->spans, die, unit->nr_functions++,
							number)))
		return false;
	if (unit->spans.count == before)
		unit->nr_nodes = number;
	return true;
}

static bool add_functions(
		struct dwarf_unit *unit, Dwarf_Die *around, uint32_t parent, unsigned int depth)
{
	bool enough = true;
	Dwarf_Die child;

	if (depth + 1 == DEBUG_SCOPES_MAX || dwarf_child(around, &child))
		return true;
	do {
		if (may_have_functions(dwarf_tag(&child)))
			enough = add_node(unit, &child, parent, depth + 1);
	} while (enough && !dwarf_siblingof(&child, &child));
	return enough;
}

static void forget_functions(struct dwarf_unit *unit)
{
	free(unit->spans.items);
	free(unit->nodes);
	*unit = (struct dwarf_unit){.die = unit->die};
}

static bool learn_functions(struct dwarf_unit *unit)
{
	if (unit->known)
		return true;
	debug_whole_unit(&unit->die);
	if (!add_functions(unit, &unit->die, NOTHING, 0)) {
		forget_functions(unit);
		return false;
	}
	spec_range_sort(&unit->spans);
	unit->known = true;
	return true;
}

/* ---- units ---- */

void around_free(struct around *around)
{
	if (!around)
		return;
	for (size_t i = 0; i < around->count; i++)
		forget_functions(&around->units[i]);
	free(around->units);
	free(around->spans.items);
	free(around);
}

/* Read each unit: the table of addresses (.debug_aranges) may be missing, clang writes none. */
static struct around *learn_units(struct debug *debug)
{
	struct around *around = calloc(1, sizeof(*around));
	Dwarf_Off offset = 0;
	bool enough = around;
	Dwarf_Die die;

	while (enough && around->count < UNITS_MAX && debug_next_unit(debug, &offset, &die)) {
		struct dwarf_unit *units = spec_range_grow_array(
				around->units, around->count, &around->capacity, sizeof(*units));

		enough = units;
		if (!units)
			break;
		around->units = units;
		units[around->count] = (struct dwarf_unit){.die = die};
		enough = add_spans(&around->spans, &die, (uint32_t)around->count,
				(uint32_t)around->count);
		around->count++;
	}
	if (!enough) {
		around_free(around);
		return NULL;
	}
	spec_range_sort(&around->spans);
	return around;
}

static struct dwarf_unit *spec_range_find_unit(struct debug *debug, uint64_t address)
{
	uint32_t number;

	if (!debug->around)
		debug->around = learn_units(debug);
	if (!debug->around)
		debug->owner->debug_error = -ENOMEM;
	number = debug->around ? spec_range_find(&debug->around->spans, address) : NOTHING;
	return number == NOTHING ? NULL : &debug->around->units[number];
}

bool debug_unit(struct debug *debug, uint64_t address, Dwarf_Die *die)
{
	struct dwarf_unit *unit = spec_range_find_unit(debug, address);

	if (!unit)
		return false;
	*die = unit->die;
	debug_whole_unit(die);
	return true;
}

unsigned int debug_around(struct debug *debug, uint64_t address, Dwarf_Die scopes[DEBUG_SCOPES_MAX])
{
	struct dwarf_unit *unit = spec_range_find_unit(debug, address);
	unsigned int count = 1;
	uint32_t function, at;

	if (!unit)
		return 0;
	if (!learn_functions(unit)) {
		debug->owner->debug_error = -ENOMEM;
		return 0;
	}
	function = spec_range_find(&unit->spans, address);
	if (function == NOTHING)
		return 0;
	for (at = function; at != NOTHING; at = unit->nodes[at].parent)
		count++;
	scopes[0] = unit->die;
	for (unsigned int i = count; --i > 0; function = unit->nodes[function].parent)
		scopes[i] = unit->nodes[function].die;
	return count;
}
