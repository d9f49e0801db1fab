/* SPDX-License-Identifier: MIT */
/*
 * Find the locations where the compiler inlined a function into others. A call there executes no call
 * instruction and does not reach the beginning of the function.
 */
#include "debug.h"

#include "symbolize/demangle.h"

#include <dwarf.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

struct inlined_search {
	const struct inlined_query *query;
	int (*each)(void *user, uint64_t address, Dwarf_Die *copy);
	void *user;
	int result;
};

static const char *inlined_symbol(Dwarf_Die *function)
{
	Dwarf_Attribute attribute;

	return dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute)
			? dwarf_formstring(&attribute)
			: NULL;
}

/* Removes `part` and then "::" from the end of the first `*length` characters of the name. */
static bool inlined_drop_scope(const char *name, size_t *length, const char *part)
{
	size_t size = strlen(part);

	if (*length < size + 2 || strncmp(name + *length - 2, "::", 2) != 0 ||
			strncmp(name + *length - 2 - size, part, size) != 0)
		return false;
	*length -= size + 2;
	return true;
}

/*
 * Whether the name is that of the function within its namespaces and classes. Compilers leave out
 * the symbol of a function that is inlined everywhere.
 */
static bool inlined_is_in_scopes(Dwarf_Die *function, const char *short_name, const char *name)
{
	size_t length = strlen(name) - strlen(short_name);
	Dwarf_Die declaration = *function, *scopes = NULL;
	Dwarf_Attribute attribute;
	bool is = !strcmp(name + length, short_name);
	int count;

	if (!is)
		return false;
	if (dwarf_attr(function, DW_AT_specification, &attribute))
		is = dwarf_formref_die(&attribute, &declaration);
	count = is ? dwarf_getscopes_die(&declaration, &scopes) : 0;
	/* The first scope is the function, the last one the unit. */
	for (int i = 1; i + 1 < count && is; i++) {
		const char *scope = dwarf_diename(&scopes[i]);

		is = !scope || inlined_drop_scope(name, &length, scope);
	}
	free(scopes);
	return is && !length;
}

static bool inlined_has_name(Dwarf_Die *function, const struct inlined_query *query)
{
	const char *short_name = dwarf_diename(function);
	const char *symbol = short_name ? inlined_symbol(function) : NULL;

	for (size_t i = 0; short_name && i < query->nr_names; i++) {
		const char *name = query->names[i];

		if (!strcmp(name, short_name) || (symbol && !strcmp(name, symbol)))
			return true;
		/* The comparisons below are slow: skip them if the short name is not in the name. */
		if (!strstr(name, short_name))
			continue;
		if (symbol ? names_readable_fits(symbol, name, false)
			   : inlined_is_in_scopes(function, short_name, name))
			return true;
	}
	return false;
}

static int inlined_visit_copy(Dwarf_Die *copy, void *user)
{
	struct inlined_search *search = user;
	Dwarf_Addr address;

	if (!dwarf_entrypc(copy, &address))
		search->result = search->each(search->user, address, copy);
	return search->result ? DWARF_CB_ABORT : DWARF_CB_OK;
}

static int inlined_visit_function(Dwarf_Die *function, void *user)
{
	struct inlined_search *search = user;

	if (dwarf_func_inline(function) && inlined_has_name(function, search->query))
		(void)dwarf_func_inline_instances(function, inlined_visit_copy, search);
	return search->result ? DWARF_CB_ABORT : DWARF_CB_OK;
}

int debug_inlined(struct debug *debug, const struct inlined_query *query,
		int (*each)(void *user, uint64_t address, Dwarf_Die *copy), void *user)
{
	struct inlined_search search = {.query = query, .each = each, .user = user};
	Dwarf_Off offset = 0;
	Dwarf_Die unit;

	for (unsigned int i = 0; i < DEBUG_UNITS_MAX && !search.result &&
			debug_next_unit(debug, &offset, &unit);
			i++) {
		/* `offset` is now the end of the unit. */
		if (query->most_bytes && offset > query->most_bytes)
			return -E2BIG;
		debug_whole_unit(&unit);
		(void)dwarf_getfuncs(&unit, inlined_visit_function, &search, 0);
	}
	return search.result;
}

/* ---- the number of copies that a spec leaves out ---- */

/* Functions with the same name in one file. */
#define INLINED_NAMES_MAX 64
/* A larger file is searched only by `side probe list`, because the search delays the start. */
#define INLINED_BYTES_MAX ((uint64_t)64 << 20)

static int inlined_count_copy(void *user, uint64_t address, Dwarf_Die *copy)
{
	struct locations *locations = user;

	(void)address;
	(void)copy;
	locations->nr_inlined++;
	return 0;
}

static bool inlined_is_first_of_module(const struct locations *locations, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (locations->items[i].module == locations->items[index].module)
			return false;
	}
	return true;
}

static void inlined_count_in_module(struct locations *locations, struct resolve_module *module)
{
	char *names[INLINED_NAMES_MAX];
	struct inlined_query query = {
			.names = (const char *const *)names, .most_bytes = INLINED_BYTES_MAX};
	struct debug *debug = module_debug(module);

	for (size_t i = 0; debug && i < locations->count && query.nr_names < INLINED_NAMES_MAX;
			i++) {
		const struct location *location = &locations->items[i];

		if (location->module != module || !*location->name)
			continue;
		names[query.nr_names] = names_without_copy(location->name);
		query.nr_names += names[query.nr_names] != NULL;
	}
	if (query.nr_names && debug_inlined(debug, &query, inlined_count_copy, locations) == -E2BIG)
		locations->is_inlined_unknown = true;
	for (size_t i = 0; i < query.nr_names; i++)
		free(names[i]);
}

void locations_count_inlined(struct locations *locations)
{
	for (size_t i = 0; i < locations->count; i++) {
		if (inlined_is_first_of_module(locations, i))
			inlined_count_in_module(locations, locations->items[i].module);
	}
}

/* ---- a list of the copies ---- */

struct inlined_walk {
	struct resolve_module *module;
	int (*each)(void *user, const struct resolve_inlined *inlined);
	void *user;
};

static bool inlined_number(Dwarf_Die *copy, unsigned int name, Dwarf_Word *ret_number)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(copy, name, &attribute) && !dwarf_formudata(&attribute, ret_number);
}

/* Sets the source line of the call. */
static void inlined_read_call(Dwarf_Die *copy, struct resolve_inlined *inlined)
{
	Dwarf_Word number, line;
	Dwarf_Files *files;
	Dwarf_Die unit;
	size_t count;

	if (!inlined_number(copy, DW_AT_call_file, &number) ||
			!inlined_number(copy, DW_AT_call_line, &line) ||
			!dwarf_diecu(copy, &unit, NULL, NULL) ||
			dwarf_getsrcfiles(&unit, &files, &count) || number >= count)
		return;
	inlined->file = dwarf_filesrc(files, number, NULL, NULL);
	inlined->line = line;
}

static int inlined_list_copy(void *user, uint64_t address, Dwarf_Die *copy)
{
	struct inlined_walk *walk = user;
	struct resolve_module *module = walk->module;
	struct resolve_inlined inlined = {.module = module->path,
			.inside = "",
			.address = address,
			.loaded = module->loaded,
			.runtime = address + module->bias};
	const struct code_function *function = code_function_at(module->code, address);
	struct probe_site site;

	if (function && function->nr_names)
		inlined.inside = code_name(module->code, function, 0);
	if (!code_site(module->code, address, &site))
		inlined.site = &site;
	inlined_read_call(copy, &inlined);
	return walk->each(walk->user, &inlined);
}

int resolve_inlined(struct resolve *resolve, const char *library, const char *name,
		int (*each)(void *user, const struct resolve_inlined *inlined), void *user)
{
	const struct inlined_query query = {.names = &name, .nr_names = 1};
	struct error ignored;
	int ret = 0;

	for (size_t i = 0; i < resolve->nr_modules && !ret; i++) {
		struct inlined_walk walk = {
				.module = &resolve->modules[i], .each = each, .user = user};
		struct debug *debug;

		if ((library && fnmatch(library, walk.module->name, 0) != 0) ||
				walk.module->refused || module_code(walk.module, &ignored))
			continue;
		debug = module_debug(walk.module);
		if (debug)
			ret = debug_inlined(debug, &query, inlined_list_copy, &walk);
	}
	return ret;
}
