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

struct scope_index {
	struct spans spans;
	struct dwarf_unit *units;
	size_t count, capacity;
};

/* Grow the array by one item. Returns NULL if out of memory; the old array is then still valid. */
static void *scope_grow_array(void *items, size_t count, size_t *capacity, size_t size)
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

static bool scope_add_spans(struct spans *spans, Dwarf_Die *die, uint32_t order, uint32_t what)
{
	Dwarf_Addr base, begin, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &begin, &end)) > 0) {
		struct code_span *items = scope_grow_array(
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

static int scope_compare_begin(const void *left, const void *right)
{
	const struct code_span *one = left, *other = right;

	if (one->begin != other->begin)
		return one->begin < other->begin ? -1 : 1;
	return one->order < other->order ? -1 : one->order > other->order;
}

static void scope_sort(struct spans *spans)
{
	uint64_t reach = 0;

	if (spans->count)
		qsort(spans->items, spans->count, sizeof(*spans->items), scope_compare_begin);
	for (size_t i = 0; i < spans->count; i++) {
		reach = spans->items[i].end > reach ? spans->items[i].end : reach;
		spans->items[i].reach = reach;
	}
}

/* Returns the index of the span with this address and the lowest order, or NOTHING. */
static uint32_t scope_find(const struct spans *spans, uint64_t address)
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

static bool scope_add_functions(
		struct dwarf_unit *unit, Dwarf_Die *scope, uint32_t parent, unsigned int depth);

/*
 * Nested functions come first, because an address in one of them is also in its parent. Scopes
 * without functions are not kept.
 */
static bool scope_add_node(
		struct dwarf_unit *unit, Dwarf_Die *die, uint32_t parent, unsigned int depth)
{
	struct scope_node *nodes = scope_grow_array(
			unit->nodes, unit->nr_nodes, &unit->capacity, sizeof(*nodes));
	size_t before = unit->spans.count;
	uint32_t number = (uint32_t)unit->nr_nodes;

	if (!nodes)
		return false;
	unit->nodes = nodes;
	nodes[unit->nr_nodes++] = (struct scope_node){*die, parent};
	if (!scope_add_functions(unit, die, number, depth) ||
			(dwarf_tag(die) == DW_TAG_subprogram &&
					!scope_add_spans(&unit->spans, die, unit->nr_functions++,
							number)))
		return false;
	if (unit->spans.count == before)
		unit->nr_nodes = number;
	return true;
}

static bool scope_add_functions(
		struct dwarf_unit *unit, Dwarf_Die *scope, uint32_t parent, unsigned int depth)
{
	bool enough = true;
	Dwarf_Die child;

	if (depth + 1 == DEBUG_SCOPES_MAX || dwarf_child(scope, &child))
		return true;
	do {
		if (may_have_functions(dwarf_tag(&child)))
			enough = scope_add_node(unit, &child, parent, depth + 1);
	} while (enough && !dwarf_siblingof(&child, &child));
	return enough;
}

static void scope_free_unit(struct dwarf_unit *unit)
{
	free(unit->spans.items);
	free(unit->nodes);
	*unit = (struct dwarf_unit){.die = unit->die};
}

static bool scope_index_unit(struct dwarf_unit *unit)
{
	if (unit->known)
		return true;
	debug_whole_unit(&unit->die);
	if (!scope_add_functions(unit, &unit->die, NOTHING, 0)) {
		scope_free_unit(unit);
		return false;
	}
	scope_sort(&unit->spans);
	unit->known = true;
	return true;
}

/* ---- units ---- */

void scope_index_free(struct scope_index *index)
{
	if (!index)
		return;
	for (size_t i = 0; i < index->count; i++)
		scope_free_unit(&index->units[i]);
	free(index->units);
	free(index->spans.items);
	free(index);
}

/* Read each unit: the table of addresses (.debug_aranges) may be missing, clang writes none. */
static struct scope_index *scope_index_make(struct debug *debug)
{
	struct scope_index *index = calloc(1, sizeof(*index));
	Dwarf_Off offset = 0;
	bool enough = index;
	Dwarf_Die die;

	while (enough && index->count < UNITS_MAX && debug_next_unit(debug, &offset, &die)) {
		struct dwarf_unit *units = scope_grow_array(
				index->units, index->count, &index->capacity, sizeof(*units));

		enough = units;
		if (!units)
			break;
		index->units = units;
		units[index->count] = (struct dwarf_unit){.die = die};
		enough = scope_add_spans(&index->spans, &die, (uint32_t)index->count,
				(uint32_t)index->count);
		index->count++;
	}
	if (!enough) {
		scope_index_free(index);
		return NULL;
	}
	scope_sort(&index->spans);
	return index;
}

static struct dwarf_unit *scope_find_unit(struct debug *debug, uint64_t address)
{
	uint32_t number;

	if (!debug->scopes)
		debug->scopes = scope_index_make(debug);
	if (!debug->scopes)
		debug->owner->debug_error = -ENOMEM;
	number = debug->scopes ? scope_find(&debug->scopes->spans, address) : NOTHING;
	return number == NOTHING ? NULL : &debug->scopes->units[number];
}

bool debug_unit(struct debug *debug, uint64_t address, Dwarf_Die *ret_unit)
{
	struct dwarf_unit *unit = scope_find_unit(debug, address);

	if (!unit)
		return false;
	*ret_unit = unit->die;
	debug_whole_unit(ret_unit);
	return true;
}

unsigned int debug_scope_chain(
		struct debug *debug, uint64_t address, Dwarf_Die ret_scopes[DEBUG_SCOPES_MAX])
{
	struct dwarf_unit *unit = scope_find_unit(debug, address);
	unsigned int count = 1;
	uint32_t function, at;

	if (!unit)
		return 0;
	if (!scope_index_unit(unit)) {
		debug->owner->debug_error = -ENOMEM;
		return 0;
	}
	function = scope_find(&unit->spans, address);
	if (function == NOTHING)
		return 0;
	for (at = function; at != NOTHING; at = unit->nodes[at].parent)
		count++;
	ret_scopes[0] = unit->die;
	for (unsigned int i = count; --i > 0; function = unit->nodes[function].parent)
		ret_scopes[i] = unit->nodes[function].die;
	return count;
}
