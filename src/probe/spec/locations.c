/* SPDX-License-Identifier: MIT */
/*
 * Find all locations of a spec.
 *
 * A spec without LIB: selects functions of the program itself. If the program has no such function,
 * it selects those of the only library that has one.
 */
#include "parts.h"

#include "debug.h"
#include "debug-package.h"
#include "base/nearest/nearest.h"
#include "spec.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct location_search {
	struct resolve *resolve;
	const struct parsed_spec *spec;
	struct locations *locations;
	struct error *error;
	/* The module that is being searched. */
	struct resolve_module *module;
	int nearest;
	bool has_debug;
	struct marker_query *markers; /* if markers are searched */
};

static const char *program_name(const struct resolve *resolve)
{
	for (size_t i = 0; i < resolve->nr_modules; i++) {
		if (resolve->modules[i].executable)
			return resolve->modules[i].name;
	}
	return "the program";
}

static bool is_loader(const struct resolve_module *module)
{
	return !strncmp(module->name, "ld-linux", 8) || !strncmp(module->name, "ld-musl", 7);
}

/* ---- modules that the spec selects ---- */

typedef int spec_search_fn(struct location_search *search);

static int spec_location_search_module(struct location_search *search,
		struct resolve_module *module, spec_search_fn *visit)
{
	/* Skip a library that cannot be read: other libraries may have the function. */
	if (module->refused || module_code(module, search->error))
		return 0;
	search->module = module;
	return visit(search);
}

/* "libc" for libc.so.6: a name that module_is() accepts. */
static void short_name(const struct resolve_module *module, char *name, size_t size)
{
	const char *end = strstr(module->name, ".so");

	snprintf(name, size, "%.*s", end ? (int)(end - module->name) : 128, module->name);
}

/* "the loaded ones are libc, libm" */
static void list_libraries(const struct resolve *resolve, char *text, size_t size)
{
	size_t used = 0, count = 0;

	for (size_t i = 0; i < resolve->nr_modules && used + 64 < size; i++) {
		char name[160];

		if (resolve->modules[i].executable || resolve->modules[i].later ||
				!strstr(resolve->modules[i].name, ".so"))
			continue;
		short_name(&resolve->modules[i], name, sizeof(name));
		used += (size_t)snprintf(text + used, size - used, "%s%.60s",
				count++ ? ", " : "the loaded ones are ", name);
	}
	if (!count)
		snprintf(text, size, "`ldd` lists what a program will load");
}

/* Search the files that `library` names and that the program may load later. */
static int spec_location_search_later(struct location_search *search, const char *library,
		spec_search_fn *visit, bool *ret_found)
{
	struct resolve *resolve = search->resolve;
	int ret = resolve->later
			? resolve->later(resolve->later_user, resolve, library, search->error)
			: -ENOENT;

	*ret_found = !ret;
	if (ret == -ENOENT)
		return 0;
	for (size_t i = 0; i < resolve->nr_modules && !ret; i++) {
		if (resolve->modules[i].named)
			ret = spec_location_search_module(search, &resolve->modules[i], visit);
	}
	return ret;
}

/* Search the files that `library` names; those that are loaded later only if there are no others. */
static int spec_location_search_named(struct location_search *search, const char *library,
		spec_search_fn *visit, bool *ret_found)
{
	bool found = false;
	int ret = 0;

	for (size_t i = 0; i < search->resolve->nr_modules && !ret; i++) {
		struct resolve_module *module = &search->resolve->modules[i];

		if (!module_is(module, library))
			continue;
		found = true;
		ret = spec_location_search_module(search, module, visit);
	}
	if (!found && !ret)
		ret = spec_location_search_later(search, library, visit, &found);
	*ret_found = found;
	return ret;
}

/* Search the libraries that LIB: names. */
static int spec_location_search_library(struct location_search *search, spec_search_fn *visit)
{
	const struct resolve *resolve = search->resolve;
	const char *library = search->spec->library;
	struct nearest nearest;
	bool found, is_missing_file;
	int ret;
	char hint[NEAREST_TEXT_SIZE], name[160];
	size_t used;

	/* Before the search, which can add files that it cannot read. */
	nearest_begin(&nearest, library);
	for (size_t i = 0; i < resolve->nr_modules; i++) {
		short_name(&resolve->modules[i], name, sizeof(name));
		nearest_offer(&nearest, name);
		nearest_offer(&nearest, resolve->modules[i].name);
	}
	ret = spec_location_search_named(search, library, visit, &found);
	if (found || ret)
		return ret;
	/* The search for a file that the program loads later has found none. */
	is_missing_file = resolve->later && *library == '/';
	if (!nearest_text(&nearest, "", hint, sizeof(hint))) {
		list_libraries(resolve, hint, 320);
		used = strlen(hint);
		if (resolve->later && !is_missing_file)
			snprintf(hint + used, sizeof(hint) - used,
					"\nif the program loads it later, name its file: `/DIRECTORY/LIBRARY:NAME`%s",
					resolve->offers_missing ? ", or add `--pending`" : "");
		else if (resolve->offers_missing)
			snprintf(hint + used, sizeof(hint) - used,
					"\nif the file is written later, add `--pending`");
	}
	search->locations->is_missing = true;
	return error_set(search->error, -ENOENT, hint,
			is_missing_file ? "%s has not loaded `%.128s`, and there is no such file"
					: "%s has not loaded `%.128s`",
			program_name(resolve), library);
}

/* Search the program, then all libraries. Only one library may have the function. */
static int spec_location_search_all_modules(struct location_search *search, spec_search_fn *visit)
{
	const struct resolve_module *found = NULL;
	int ret = 0;

	for (size_t i = 0; i < search->resolve->nr_modules && !ret; i++) {
		if (search->resolve->modules[i].executable)
			ret = spec_location_search_module(
					search, &search->resolve->modules[i], visit);
	}
	/* Without LIB:, PLT entries are those of the program: most libraries have the same ones. */
	if (ret || search->locations->count || search->spec->glob || search->spec->plt)
		return ret;
	for (size_t i = 0; i < search->resolve->nr_modules && !ret; i++) {
		struct resolve_module *module = &search->resolve->modules[i];
		size_t before = search->locations->count;

		/* The loader has a small malloc of its own, which users do not mean. */
		if (module->executable || module->later || is_loader(module))
			continue;
		ret = spec_location_search_module(search, module, visit);
		if (ret || search->locations->count == before)
			continue;
		if (found)
			return error_set(search->error, -EEXIST,
					"name one of them, as LIBRARY:SYMBOL",
					"`%.128s` is in %s and in %s", search->spec->name,
					found->name, module->name);
		found = module;
	}
	return ret;
}

static int spec_location_search_whole(struct location_search *search, spec_search_fn *visit)
{
	return search->spec->library ? spec_location_search_library(search, visit)
				     : spec_location_search_all_modules(search, visit);
}

/*
 * Sets the error for what spec_find_functions() or locations_add() has returned. `what` is the plural of
 * what was added. Returns `ret`.
 */
static int spec_location_check_added(
		const struct location_search *search, int ret, const char *what)
{
	if (ret == -E2BIG)
		return error_set(search->error, ret, "select fewer functions",
				"more than %d %s match", RESOLVE_LOCATIONS_MAX, what);
	return ret ? error_set_no_memory(search->error) : 0;
}

/* ---- symbols ---- */

static int spec_location_find_names(struct location_search *search)
{
	int ret = search->spec->plt
			? spec_find_plt(search->module, search->spec, search->locations)
			: spec_find_functions(search->module, search->spec, search->locations);

	return spec_location_check_added(search, ret, "functions");
}

static void spec_location_suggest_names(struct resolve_module *module, struct nearest *nearest)
{
	const struct code_function *functions;
	size_t count = code_functions(module->code, &functions);

	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < functions[i].nr_names; j++)
			nearest_offer_function(nearest, code_name(module->code, &functions[i], j));
	}
}

/* Returns the program's module; NULL: its file is unknown. */
static const struct resolve_module *program_module(const struct resolve *resolve)
{
	for (size_t i = 0; i < resolve->nr_modules; i++) {
		if (resolve->modules[i].executable)
			return &resolve->modules[i];
	}
	return NULL;
}

static int no_functions(struct location_search *search)
{
	const struct parsed_spec *spec = search->spec;

	if (!spec->library && !program_module(search->resolve))
		return error_set(search->error, -ENOENT,
				"`side probe list PID` lists the files whose functions are known",
				"the program's code is not mapped from its file, so its functions cannot be found");
	return error_set(search->error, -ENOENT, "addresses can be probed (--probe 0xADDR)",
			"%s has neither symbols nor .eh_frame, so none of its functions is known",
			spec->library ? spec->library : program_name(search->resolve));
}

/* Whether the glob matches a function of the library. Reads the library's symbols. */
static bool has_match(struct location_search *search, struct resolve_module *module)
{
	const struct code_function *functions;
	struct error ignored;
	size_t count;

	if (module->executable || module->refused || module_code(module, &ignored))
		return false;
	count = code_functions(module->code, &functions);
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < functions[i].nr_names; j++) {
			if (!fnmatch(search->spec->name, code_name(module->code, &functions[i], j),
					    0))
				return true;
		}
	}
	return false;
}

/*
 * Write a hint with the libraries that have a function of this name, which the program does not
 * have.
 */
static bool hint_at_libraries(struct location_search *search, char *hint, size_t size)
{
	const char *name = search->spec->name;
	struct nearest nearest;

	nearest_begin(&nearest, name);
	for (size_t i = 0; i < search->resolve->nr_modules; i++) {
		struct resolve_module *module = &search->resolve->modules[i];
		char library[160];

		if (!search->spec->glob && !module->executable && module->code)
			spec_location_suggest_names(module, &nearest);
		if (!search->spec->glob || is_loader(module) || !has_match(search, module))
			continue;
		short_name(module, library, sizeof(library));
		snprintf(hint, size, "`--function '%s:%.128s'` probes those of the library",
				library, name);
		return true;
	}
	return nearest_text(&nearest, "", hint, size);
}

const char *piece_hint(const struct location *piece, char *text, size_t size)
{
	bool executable = piece->module->executable;

	snprintf(text, size, "`--function '%.128s%s%.300s'` probes it",
			executable ? "" : piece->module->name, executable ? "" : ":", piece->name);
	return text;
}

/*
 * Whether the probe spec names this module: the libraries of its LIB:, or the program without LIB:.
 */
static bool spec_location_module_is_selected(
		const struct location_search *search, const struct resolve_module *module)
{
	return search->spec->library ? module->named || module_is(module, search->spec->library)
				     : module->executable;
}

/* Report the error of a module that the probe spec names and that cannot be read. */
static int fail_refused(struct location_search *search)
{
	int ret = 0;

	for (size_t i = 0; i < search->resolve->nr_modules && !ret; i++) {
		struct resolve_module *module = &search->resolve->modules[i];

		if (module->refused && spec_location_module_is_selected(search, module))
			ret = module_code(module, search->error);
	}
	return ret;
}

/* A file that may have the function could not be read, because a call failed. */
static int fail_unread(struct location_search *search)
{
	for (size_t i = 0; i < search->resolve->nr_modules; i++) {
		const struct resolve_module *module = &search->resolve->modules[i];

		if (spec_location_module_is_selected(search, module) && module->unread)
			return error_set(search->error, module->unread, "",
					"cannot read the functions of %s: %s", module->name,
					strerror(-module->unread));
	}
	return 0;
}

/*
 * If a module that the spec names is stripped and has no debug file, adds a line to the hint.
 * Returns the reason for the message.
 */
static const char *spec_location_stripped_reason(
		const struct location_search *search, char *hint, size_t size)
{
	struct code_debug_file debug;

	for (size_t i = 0; i < search->resolve->nr_modules; i++) {
		const struct resolve_module *module = &search->resolve->modules[i];

		if (spec_location_module_is_selected(search, module) && module->code &&
				code_lacks_debug_file(module->code, &debug))
			return debug_package_hint(module->path, &debug, hint, size);
	}
	return "";
}

/* Sets the error for a name that no function has. */
static int spec_location_unknown(struct location_search *search, const struct nearest *nearest)
{
	const struct parsed_spec *spec = search->spec;
	const char *reason;
	char hint[ERROR_HINT_SIZE] = "";

	/* The glob may also name files that the program loads later. */
	search->locations->is_missing = spec->library && strpbrk(spec->library, "*?[");
	if (!nearest_text(nearest, "", hint, NEAREST_TEXT_SIZE / 2) && !spec->library)
		(void)hint_at_libraries(search, hint, ERROR_HINT_SIZE / 2);
	reason = spec_location_stripped_reason(search, hint, sizeof(hint));
	if (!*hint)
		snprintf(hint, sizeof(hint), "`side probe list` lists its functions%s",
				spec->glob && !spec->library ? "; use LIBRARY:GLOB for libraries"
							     : "");
	return error_set(search->error, -ENOENT, hint,
			spec->glob ? "%s has no function that matches `%.128s`%s"
				   : "%s has no function `%.128s`%s",
			spec->library ? spec->library : program_name(search->resolve), spec->name,
			reason);
}

static int no_symbol(struct location_search *search)
{
	const struct parsed_spec *spec = search->spec;
	const struct code_function *functions;
	struct nearest nearest;
	char hint[512];
	size_t known = 0;
	int ret = fail_unread(search);

	if (ret)
		return ret;
	if (search->locations->piece.name)
		return error_set(search->error, -ENOENT,
				piece_hint(&search->locations->piece, hint, sizeof(hint)),
				"%s has only a piece of `%.128s`, `%.128s`: the beginning is inlined in callers",
				search->locations->piece.module->name, spec->name,
				search->locations->piece.name);
	if (spec->imports)
		return error_set(search->error, -ENOENT,
				"`LIBRARY:*` selects all functions of the library",
				"%s imports no function of %s", program_name(search->resolve),
				spec->library);
	nearest_begin(&nearest, spec->name);
	for (size_t i = 0; i < search->resolve->nr_modules; i++) {
		struct resolve_module *module = &search->resolve->modules[i];

		if (!spec_location_module_is_selected(search, module) || !module->code)
			continue;
		known += code_functions(module->code, &functions);
		if (!spec->glob)
			spec_location_suggest_names(module, &nearest);
	}
	if (!known)
		return no_functions(search);
	return spec_location_unknown(search, &nearest);
}

/* Whether a file that the spec names imports a function of this name, for a call or its address. */
static const struct resolve_module *spec_location_importer(const struct location_search *search)
{
	for (size_t i = 0; i < search->resolve->nr_modules; i++) {
		struct resolve_module *module = &search->resolve->modules[i];
		struct module_imports imports = {.names = NULL};
		bool has;

		if (!spec_location_module_is_selected(search, module) || module->refused)
			continue;
		has = !module_imports_read(module, &imports) &&
				module_imports_has(&imports, search->spec->name);
		module_imports_free(&imports);
		if (has)
			return module;
	}
	return NULL;
}

/* Returns the number of PLT entries in the files that the spec names. */
static size_t spec_location_suggest_plt(
		const struct location_search *search, struct nearest *nearest)
{
	size_t known = 0;

	for (size_t i = 0; i < search->resolve->nr_modules; i++) {
		const struct resolve_module *module = &search->resolve->modules[i];
		const struct code_function *entries;
		size_t count;

		if (!spec_location_module_is_selected(search, module) || !module->code)
			continue;
		count = code_plt(module->code, &entries);
		known += count;
		for (size_t j = 0; j < count && !search->spec->glob; j++)
			nearest_offer_function(nearest, code_plt_name(module->code, &entries[j]));
	}
	return known;
}

/* Sets the error for a name that no PLT entry has. */
static int no_plt(struct location_search *search)
{
	const struct parsed_spec *spec = search->spec;
	const char *where = spec->library ? spec->library : program_name(search->resolve);
	const struct resolve_module *importer;
	char hint[NEAREST_TEXT_SIZE];
	struct nearest nearest;
	size_t known;
	int ret = fail_unread(search);

	if (ret)
		return ret;
	importer = spec->glob ? NULL : spec_location_importer(search);
	if (importer)
		return error_set(search->error, -ENOENT,
				"`--function LIBRARY:NAME` records the calls of all files",
				"%s has no PLT entry for `%.128s`: it uses the address of the function instead, as with -fno-plt",
				importer->name, spec->name);
	nearest_begin(&nearest, spec->name);
	known = spec_location_suggest_plt(search, &nearest);
	if (!known)
		return error_set(search->error, -ENOENT,
				"`--function LIBRARY:NAME` records the calls of all files",
				"%s has no PLT entries", where);
	if (!nearest_text(&nearest, SPEC_PLT, hint, sizeof(hint)))
		snprintf(hint, sizeof(hint),
				"`side probe list FILE 'plt:*'` lists its PLT entries");
	return error_set(search->error, -ENOENT, hint,
			spec->glob ? "%s has no PLT entry that matches `%.128s`"
				   : "%s has no PLT entry for `%.128s`",
			where, spec->name);
}

/* Apply an offset to the only function found. */
static int add_offset(struct location_search *search)
{
	struct location *location = &search->locations->items[0];

	if (!search->spec->number)
		return 0;
	if (search->locations->count > 1)
		return error_set(search->error, -EINVAL,
				"write the address of one of them, as in `side probe list`",
				"there are %zu functions `%.128s`", search->locations->count,
				search->spec->name);
	if (search->spec->number >= location->function->size)
		return error_set(search->error, -ERANGE, "",
				"`%.128s` has only 0x%" PRIx64 " bytes", search->spec->name,
				location->function->size);
	location->address += search->spec->number;
	location->entry = false;
	return 0;
}

/* ---- indirect functions (IFUNC) ---- */

static int no_choice(struct location_search *search, const struct location *location, bool outside)
{
	return error_set(search->error, -ENOTSUP,
			outside ? "probe the function that calls it"
				: "`side probe list` lists the functions that it can select; name one of them by its address",
			outside ? "`%.128s` of %s is a function of the kernel in this process (vDSO), which no file contains"
				: "`%.128s` of %s is a resolver (IFUNC), and side cannot determine which functions it can select",
			location->name, location->module->name);
}

static bool spec_location_contains(const struct locations *locations, const struct location *wanted)
{
	for (size_t i = 0; i < locations->count; i++) {
		if (locations->items[i].module == wanted->module &&
				locations->items[i].address == wanted->address)
			return true;
	}
	return false;
}

/*
 * Replace an indirect function by the functions that it selects, with their own names if they have
 * one.
 */
static int add_chosen(struct location_search *search, const struct location *chooser,
		struct locations *locations)
{
	struct resolve_choices choices;
	int ret = 0;

	ifunc_targets(search->resolve, chooser->module, chooser->function, &choices);
	if ((!choices.count || choices.outside) && !search->spec->glob)
		return no_choice(search, chooser, choices.outside);
	for (size_t i = 0; i < choices.count && !ret && !choices.outside; i++) {
		struct location location = *chooser;

		location.address = choices.addresses[i];
		location.function = code_function_at(location.module->code, location.address);
		/* An imported function keeps the name by which the program calls it. */
		if (!search->spec->imports && location.function && location.function->nr_names)
			location.name = code_name(location.module->code, location.function, 0);
		if (!spec_location_contains(locations, &location))
			ret = locations_add(locations, &location);
	}
	if (!search->spec->glob && !locations->note && !ret)
		locations->note = ifunc_note(
				chooser->module, chooser->function, chooser->name, &choices);
	return spec_location_check_added(search, ret, "functions");
}

/*
 * Users of an indirect function's name mean the function that it selects, never the indirect
 * function itself.
 */
static int follow_choosers(struct location_search *search)
{
	struct locations *locations = search->locations, old = *locations;
	size_t i = 0;
	int ret = 0;

	while (i < old.count && !(old.items[i].function && old.items[i].function->chooses))
		i++;
	if (i == old.count)
		return 0;
	*locations = (struct locations){
			.piece = old.piece, .is_glob = old.is_glob, .one_name = old.one_name};
	for (i = 0; i < old.count && !ret; i++) {
		if (!old.items[i].function || !old.items[i].function->chooses)
			ret = spec_location_check_added(search,
					locations_add(locations, &old.items[i]), "functions");
	}
	for (i = 0; i < old.count && !ret; i++) {
		if (old.items[i].function && old.items[i].function->chooses)
			ret = add_chosen(search, &old.items[i], locations);
	}
	free(old.items);
	return ret;
}

/* ---- addresses ---- */

static int add_address(
		struct location_search *search, struct resolve_module *module, uint64_t address)
{
	struct location location = {.module = module, .address = address, .name = ""};

	location.function = code_function_at(module->code, address);
	if (location.function && location.function->nr_names)
		location.name = code_name(module->code, location.function, 0);
	location.entry = location.function && location.function->address == address;
	return spec_location_check_added(
			search, locations_add(search->locations, &location), "locations");
}

/* An address in the file that LIB: names. */
static int find_file_address(struct location_search *search)
{
	return add_address(search, search->module, search->spec->number);
}

/* An address in the process, if it is running; otherwise an address in the program's file. */
static int find_address(struct location_search *search)
{
	uint64_t address = search->spec->number;
	int ret;

	if (search->spec->library) {
		ret = spec_location_search_whole(search, find_file_address);
		return ret || search->locations->count ? ret : fail_refused(search);
	}
	for (size_t i = 0; i < search->resolve->nr_modules; i++) {
		struct resolve_module *module = &search->resolve->modules[i];

		if (!module->loaded || address < module->begin || address >= module->end)
			continue;
		ret = module_code(module, search->error);
		return ret ? ret : add_address(search, module, address - module->bias);
	}
	for (size_t i = 0; i < search->resolve->nr_modules; i++) {
		struct resolve_module *module = &search->resolve->modules[i];

		if (!module->executable)
			continue;
		ret = module_code(module, search->error);
		return ret ? ret : add_address(search, module, address);
	}
	return error_set(search->error, -ENOENT, "write LIBRARY:ADDRESS",
			"there is no code at 0x%" PRIx64, address);
}

/* ---- inlined functions ---- */

static int spec_location_add_inlined(void *user, uint64_t address, Dwarf_Die *copy)
{
	struct location_search *search = user;
	struct locations *locations = search->locations;
	size_t before = locations->count;
	int ret = add_address(search, search->module, address);

	(void)copy;
	if (!ret && locations->count > before) {
		locations->items[before].entry = false;
		locations->items[before].inlined = true;
	}
	return ret;
}

static int find_pieces(struct location_search *search)
{
	const char *name = search->spec->name;
	const struct inlined_query query = {.names = &name, .nr_names = 1};
	struct debug *debug = module_debug(search->module);

	return debug ? debug_inlined(debug, &query, spec_location_add_inlined, search)
		     : debug_failed(search->module, search->error);
}

static int find_symbol(struct location_search *search)
{
	int ret = spec_location_search_whole(search, spec_location_find_names);

	search->locations->is_glob = search->spec->glob;
	search->locations->one_name = !search->spec->glob;
	if (!ret && search->spec->plt)
		return search->locations->count ? 0 : no_plt(search);
	if (!ret && !search->locations->count && !search->spec->glob && !search->spec->number) {
		ret = spec_location_search_whole(search, find_pieces);
		if (ret || search->locations->count)
			return ret;
	}
	if (!ret && !search->locations->count)
		ret = no_symbol(search);
	if (!ret)
		ret = follow_choosers(search);
	return ret ? ret : add_offset(search);
}

/* The functions of the library that the program imports. */
static int spec_location_find_imports(struct location_search *search, struct parsed_spec *spec)
{
	struct module_imports imports = {.names = NULL};
	int ret = 0;

	for (size_t i = 0; i < search->resolve->nr_modules && !ret && !imports.names; i++) {
		struct resolve_module *module = &search->resolve->modules[i];

		if (module->executable)
			ret = module_imports_read(module, &imports);
	}
	if (ret == -E2BIG)
		error_set(search->error, ret, "name a function instead",
				"%s has more than %d symbols", program_name(search->resolve),
				MODULE_IMPORTS_MAX);
	else if (ret)
		error_set_no_memory(search->error);
	spec->imports = &imports;
	if (!ret)
		ret = find_symbol(search);
	spec->imports = NULL;
	module_imports_free(&imports);
	return ret;
}

/* ---- lines ---- */

/* Keep the first statement of the line in each function. */
static int add_statement(void *user, uint64_t address)
{
	struct location_search *search = user;
	const struct code_function *function = code_function_at(search->module->code, address);

	for (size_t i = 0; i < search->locations->count; i++) {
		struct location *location = &search->locations->items[i];

		if (location->module != search->module || !function ||
				location->function != function)
			continue;
		if (address < location->address) {
			location->address = address;
			location->entry = function->address == address;
		}
		return 0;
	}
	return add_address(search, search->module, address);
}

static int find_statements(struct location_search *search)
{
	struct debug *debug = module_debug(search->module);

	if (!debug)
		return debug_failed(search->module, search->error);
	search->has_debug = true;
	return debug_lines(debug, search->spec->name, (int)search->spec->number, add_statement,
			search, &search->nearest);
}

static int spec_location_find_line(struct location_search *search)
{
	const struct parsed_spec *spec = search->spec;
	const char *where = spec->library ? spec->library : program_name(search->resolve);
	int ret = spec_location_search_whole(search, find_statements);
	char hint[256];

	if (ret || search->locations->count)
		return ret;
	ret = fail_refused(search);
	if (ret)
		return ret;
	if (!search->has_debug)
		return error_set(search->error, -ENODATA,
				"compile it with -g, or install its package of debug symbols; names and addresses work without",
				"there is no debug information for %s, so it is unknown where the lines of %.128s are",
				where, spec->name);
	if (!search->nearest)
		return error_set(search->error, -ENOENT,
				"its debug information has source files by the names that the compiler got",
				"%s has no code after line %" PRIu64 " of a source file %.128s",
				where, spec->number, spec->name);
	snprintf(hint, sizeof(hint), "did you mean `%.128s:%d`?", spec->name, search->nearest);
	return error_set(search->error, -ENOENT, hint, "line %" PRIu64 " of %.128s has no code",
			spec->number, spec->name);
}

/* ---- markers ---- */

struct marker_query {
	const char *location_text, *provider, *name;
	struct nearest nearest;
};

static int add_marker(void *user, const struct resolve_marker *marker)
{
	struct location_search *search = user;
	struct marker_query *query = search->markers;
	struct location *location;
	char full[512];
	int ret;

	snprintf(full, sizeof(full), "%.250s:%.250s", marker->provider, marker->name);
	nearest_offer(&query->nearest, full);
	/* Both names may contain colons and brackets of their own. */
	if (strcmp(query->location_text, full) != 0 &&
			fnmatch(query->location_text, full, 0) != 0 &&
			(fnmatch(query->provider, marker->provider, 0) != 0 ||
					fnmatch(query->name, marker->name, 0) != 0))
		return 0;
	ret = add_address(search, search->module, marker->address);
	if (ret)
		return ret;
	location = &search->locations->items[search->locations->count - 1];
	if (location->address == marker->address) {
		location->entry = false;
		location->operands = marker->arguments;
		location->semaphore = marker->semaphore;
	}
	return 0;
}

static int find_module_markers(struct location_search *search)
{
	return module_markers(search->module, add_marker, search);
}

/*
 * Search LIB:PROVIDER:NAME: the library may be loaded later. Without it, all loaded files were
 * searched.
 */
static int find_library_markers(struct location_search *search, const char *library)
{
	struct marker_query *whole = search->markers;
	const char *inner = whole->name, *colon = strchr(inner, ':');
	struct marker_query query = {.location_text = inner, .name = colon ? colon + 1 : NULL};
	char *provider = colon ? strndup(inner, (size_t)(colon - inner)) : NULL;
	bool found;
	int ret;

	if (!provider)
		return colon ? error_set_no_memory(search->error) : 0;
	query.provider = provider;
	nearest_begin(&query.nearest, inner);
	search->markers = &query;
	ret = spec_location_search_named(search, library, find_module_markers, &found);
	search->locations->is_missing = !found && !ret;
	if (search->locations->count)
		search->locations->marker = inner;
	if (found)
		whole->nearest = query.nearest;
	search->markers = whole;
	free(provider);
	return ret;
}

static int find_markers(struct resolve *resolve, const char *location_text,
		struct locations *locations, struct error *error)
{
	struct location_search search = {
			.resolve = resolve, .locations = locations, .error = error};
	const char *colon = strchr(location_text, ':');
	struct marker_query query = {
			.location_text = location_text, .name = colon ? colon + 1 : NULL};
	char *provider = colon ? strndup(location_text, (size_t)(colon - location_text)) : NULL,
	     hint[400];
	int ret = 0;

	if (colon && !provider)
		return error_set_no_memory(error);
	if (!provider)
		return error_set(error, -EINVAL, "write PROVIDER:NAME",
				"`%.128s` is not the name of a marker", location_text);
	query.provider = provider;
	search.markers = &query;
	nearest_begin(&query.nearest, location_text);
	for (size_t i = 0; i < resolve->nr_modules && !ret; i++) {
		if (!resolve->modules[i].later)
			ret = spec_location_search_module(
					&search, &resolve->modules[i], find_module_markers);
	}
	if (!ret && !locations->count)
		ret = find_library_markers(&search, provider);
	free(provider);
	for (size_t i = 0; i < resolve->nr_modules && !ret && !locations->count; i++) {
		if (resolve->modules[i].unread)
			ret = module_code(&resolve->modules[i], error);
	}
	if (ret || locations->count)
		return ret;
	if (!nearest_text(&query.nearest, "", hint, sizeof(hint)))
		snprintf(hint, sizeof(hint), "`side probe list` lists markers");
	return error_set(error, -ENOENT, hint, "%s and its libraries have no marker `%.128s`",
			program_name(resolve), location_text);
}

/* ---- all ---- */

int locations_find(struct resolve *resolve, const struct probe_spec *spec,
		struct locations *locations, struct error *error)
{
	struct location_search search = {
			.resolve = resolve, .locations = locations, .error = error};
	struct parsed_spec parsed;
	int ret;

	for (size_t i = 0; i < resolve->nr_modules; i++)
		resolve->modules[i].named = false;
	if (spec->kind == RESOLVE_MARKER)
		return find_markers(resolve, spec->location_text, locations, error);
	ret = spec_parse(spec->location_text, &parsed, error);
	search.spec = &parsed;
	if (!ret && parsed.kind == SPEC_SYMBOL && !strcmp(parsed.name, SPEC_IMPORTS))
		ret = spec_location_find_imports(&search, &parsed);
	else if (!ret && parsed.kind == SPEC_SYMBOL)
		ret = find_symbol(&search);
	else if (!ret && parsed.kind == SPEC_ADDRESS)
		ret = find_address(&search);
	else if (!ret)
		ret = spec_location_find_line(&search);
	if (!ret && !locations->count)
		ret = error_set(error, -ENOENT, "", "there is no code at `%.128s`",
				spec->location_text);
	for (size_t i = 0; i < locations->count && !ret && spec->kind == RESOLVE_FUNCTION; i++) {
		if (!locations->items[i].entry && !locations->items[i].inlined)
			ret = error_set(error, -EINVAL,
					"`--probe` accepts locations inside of functions",
					"`%.128s` is not the start of a function",
					spec->location_text);
	}
	if (!ret && spec->kind == RESOLVE_FUNCTION && locations->one_name && !parsed.plt &&
			!locations->items[0].inlined)
		locations_count_inlined(locations);
	spec_free(&parsed);
	return ret;
}

char *resolve_library(const struct probe_spec *spec)
{
	const char *text = spec->location_text, *colon = strchr(text, ':');
	struct parsed_spec parsed;
	struct error ignored;
	char *library = NULL;

	/* LIB:PROVIDER:NAME */
	if (spec->kind == RESOLVE_MARKER)
		return colon && strchr(colon + 1, ':') ? strndup(text, (size_t)(colon - text))
						       : NULL;
	if (!spec_parse(text, &parsed, &ignored) && parsed.library)
		library = strdup(parsed.library);
	spec_free(&parsed);
	return library;
}
