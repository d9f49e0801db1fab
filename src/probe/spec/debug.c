/* SPDX-License-Identifier: MIT */
/* Read debug information of a file: units, scopes and lines. */
#include "debug.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The directories of debug files, as libdwfl expects them. NULL: libdwfl's default. */
static char *spec_debug_folders;

static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
		.debuginfo_path = &spec_debug_folders,
};

/* SIDE_DEBUG_PATH, then beside the file and in the standard directory. */
static void spec_debug_set_folders(void)
{
	const char *folders = getenv("SIDE_DEBUG_PATH");

	if (spec_debug_folders || !folders || !*folders)
		return;
	/* If out of memory, the default remains. "+" checks the checksums of debug links. */
	if (asprintf(&spec_debug_folders, "+%s::.debug:/usr/lib/debug", folders) < 0)
		spec_debug_folders = NULL;
}

static bool open_debug(struct debug *debug, struct resolve_module *module)
{
	int fd = dup(module->fd);
	Dwarf_Addr bias;

	if (fd < 0) {
		module->debug_error = -errno;
		return false;
	}
	spec_debug_set_folders();
	/* dwfl_begin() fails only if out of memory. */
	debug->dwfl = dwfl_begin(&callbacks);
	if (!debug->dwfl) {
		module->debug_error = -ENOMEM;
		close(fd);
		return false;
	}
	dwfl_report_begin(debug->dwfl);
	debug->module = dwfl_report_offline(debug->dwfl, module->name, module->path, fd);
	dwfl_report_end(debug->dwfl, NULL, NULL);
	if (!debug->module) {
		close(fd);
		return false;
	}
	debug->dwarf = dwfl_module_getdwarf(debug->module, &bias);
	debug->frames[0] = dwfl_module_eh_cfi(debug->module, &bias);
	debug->frames[1] = dwfl_module_dwarf_cfi(debug->module, &bias);
	return debug->dwarf;
}

void debug_close(struct debug *debug)
{
	if (debug)
		scope_index_free(debug->scopes);
	if (debug && debug->dwfl)
		dwfl_end(debug->dwfl);
	free(debug);
}

struct debug *module_debug(struct resolve_module *module)
{
	struct debug *debug;

	module->debug_error = 0;
	if (module->debug_tried)
		return module->debug;
	debug = calloc(1, sizeof(*debug));
	if (!debug) {
		module->debug_error = -ENOMEM;
		return NULL;
	}
	debug->owner = module;
	if (!open_debug(debug, module)) {
		debug_close(debug);
		debug = NULL;
	}
	module->debug = debug;
	module->debug_tried = !module->debug_error;
	return debug;
}

int debug_failed(const struct resolve_module *module, struct error *error)
{
	if (!module->debug_error)
		return 0;
	return error_set_system(error, module->debug_error,
			"cannot read the debug information of %s", module->name);
}

/* ---- units ---- */

bool debug_next_unit(struct debug *debug, Dwarf_Off *offset, Dwarf_Die *ret_unit)
{
	Dwarf_Off next;
	size_t header;

	while (!dwarf_nextcu(debug->dwarf, *offset, &next, &header, NULL, NULL, NULL)) {
		Dwarf_Off die = *offset + header;

		if (next <= *offset)
			return false;
		*offset = next;
		if (dwarf_offdie(debug->dwarf, die, ret_unit))
			return true;
	}
	return false;
}

void debug_whole_unit(Dwarf_Die *unit)
{
	Dwarf_Half version;
	uint8_t type = 0;
	Dwarf_Die split = {.addr = NULL};

	if (!dwarf_cu_info(unit->cu, &version, &type, NULL, &split, NULL, NULL, NULL) &&
			type == DW_UT_skeleton && dwarf_tag(&split) == DW_TAG_compile_unit)
		*unit = split;
}

int debug_units(struct debug *debug, int (*each)(void *user, Dwarf_Die *unit), void *user)
{
	Dwarf_Off offset = 0;
	Dwarf_Die unit;
	int ret = 0;

	for (unsigned int i = 0;
			i < DEBUG_UNITS_MAX && !ret && debug_next_unit(debug, &offset, &unit);
			i++) {
		debug_whole_unit(&unit);
		ret = each(user, &unit);
	}
	return ret;
}

const char *debug_missing_part(struct debug *debug, uint64_t address)
{
	static const unsigned int names[] = {DW_AT_dwo_name, DW_AT_GNU_dwo_name};
	Dwarf_Attribute attribute;
	Dwarf_Half version;
	uint8_t type = 0;
	Dwarf_Die unit;

	if (!debug_unit(debug, address, &unit) ||
			dwarf_cu_info(unit.cu, &version, &type, NULL, NULL, NULL, NULL, NULL) ||
			type != DW_UT_skeleton)
		return NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (dwarf_attr(&unit, names[i], &attribute))
			return dwarf_formstring(&attribute);
	}
	return NULL;
}

struct chain {
	uint64_t address;
	Dwarf_Die scopes[DEBUG_SCOPES_MAX];
	unsigned int count;
};

bool debug_function(struct debug *debug, uint64_t address, Dwarf_Die *ret_function)
{
	Dwarf_Die scopes[DEBUG_SCOPES_MAX];
	unsigned int count = debug_scope_chain(debug, address, scopes);

	if (count)
		*ret_function = scopes[count - 1];
	return count;
}

/* Add the blocks and inlined functions around the address, within the function. */
static void find_blocks(struct chain *chain)
{
	Dwarf_Die child;
	bool deeper = true;

	while (deeper && chain->count < DEBUG_SCOPES_MAX &&
			!dwarf_child(&chain->scopes[chain->count - 1], &child)) {
		do {
			int tag = dwarf_tag(&child);

			deeper = (tag == DW_TAG_lexical_block ||
						 tag == DW_TAG_inlined_subroutine) &&
					dwarf_haspc(&child, chain->address) == 1;
		} while (!deeper && !dwarf_siblingof(&child, &child));
		if (deeper)
			chain->scopes[chain->count++] = child;
	}
}

int debug_scopes(struct debug *debug, uint64_t address, bool entry, Dwarf_Die **ret_scopes)
{
	struct chain chain = {.address = address};

	/*
	 * libdw's own scopes do not fit: for inlined functions it returns the scopes around their
	 * source.
	 */
	*ret_scopes = NULL;
	chain.count = debug_scope_chain(debug, address, chain.scopes);
	if (!chain.count)
		return -1;
	if (!entry)
		find_blocks(&chain);
	*ret_scopes = calloc(chain.count, sizeof(**ret_scopes));
	if (!*ret_scopes) {
		debug->owner->debug_error = -ENOMEM;
		return -1;
	}
	for (unsigned int i = 0; i < chain.count; i++)
		(*ret_scopes)[i] = chain.scopes[chain.count - 1 - i];
	return (int)chain.count;
}

/* ---- lines ---- */

/* The source "file.c" names "dir/file.c", but "le.c" does not. */
static bool spec_debug_is_source(const char *path, const char *source)
{
	size_t length = strlen(path), wanted = strlen(source);

	if (wanted > length || strcmp(path + length - wanted, source) != 0)
		return false;
	return wanted == length || path[length - wanted - 1] == '/' || *source == '/';
}

static bool unit_has(Dwarf_Die *unit, const char *source)
{
	Dwarf_Files *files;
	size_t count;

	if (dwarf_getsrcfiles(unit, &files, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		const char *path = dwarf_filesrc(files, i, NULL, NULL);

		if (path && spec_debug_is_source(path, source))
			return true;
	}
	return false;
}

struct line_search {
	const char *source;
	int line, *nearest;
	int (*each)(void *user, uint64_t address);
	void *user;
};

static int search_unit(Dwarf_Die *unit, const struct line_search *search)
{
	Dwarf_Lines *lines;
	size_t count;
	int ret = 0, former = 0;

	if (!unit_has(unit, search->source) || dwarf_getsrclines(unit, &lines, &count))
		return 0;
	for (size_t i = 0; i < count && !ret; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);
		const char *path = dwarf_linesrc(line, NULL, NULL);
		bool statement = false, end = false;
		Dwarf_Addr address;
		int number;

		if (!path || !spec_debug_is_source(path, search->source) ||
				dwarf_lineno(line, &number) ||
				dwarf_linebeginstatement(line, &statement) || !statement ||
				dwarf_lineendsequence(line, &end) || end ||
				dwarf_lineaddr(line, &address)) {
			former = 0;
			continue;
		}
		if (number == search->line && former != number)
			ret = search->each(search->user, address);
		if (number > search->line && (!*search->nearest || number < *search->nearest))
			*search->nearest = number;
		former = number;
	}
	return ret;
}

int debug_lines(struct debug *debug, const char *source, int line,
		int (*each)(void *user, uint64_t address), void *user, int *ret_nearest)
{
	const struct line_search search = {source, line, ret_nearest, each, user};
	Dwarf_Off offset = 0;
	Dwarf_Die unit;
	int ret = 0;

	for (unsigned int i = 0;
			i < DEBUG_UNITS_MAX && !ret && debug_next_unit(debug, &offset, &unit); i++)
		ret = search_unit(&unit, &search);
	return ret;
}
