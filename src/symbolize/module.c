/* SPDX-License-Identifier: MIT */
/*
 * One file with code: checks that it is still the file that was mapped, and finds function and line
 * of an address.
 *
 * Functions come from symbol tables (of the file, of its debug file, and the compressed one in
 * .gnu_debugdata), lines from DWARF.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/module.h"

#include "symbolize/demangle.h"

#include <dwarf.h>

#define NAME_MAX_SIZE 4096 /* Longer names are not demangled. */

struct module *module_create(const struct module_name *name)
{
	struct module *module = calloc(1, sizeof(*module));

	if (!module)
		return NULL;
	module->name = *name;
	module->name.path = strdup(name->path);
	module->name.debug_link = strdup(name->debug_link ? name->debug_link : "");
	module->file.fd = module->debug.fd = -1;
	if (module->name.path && module->name.debug_link)
		return module;
	module_free(module);
	return NULL;
}

void module_free(struct module *module)
{
	/* The strings are malloc'ed; free() takes no pointer to const. */
	free((void *)(uintptr_t)module->name.path);
	free((void *)(uintptr_t)module->name.debug_link);
	symbol_table_free(&module->functions);
	symbol_table_free(&module->variables);
	inlined_free(module->inlined);
	member_index_free(module->members);
	if (module->dwarf)
		dwarf_end(module->dwarf);
	mini_debug_close(&module->mini);
	file_close(&module->debug);
	file_close(&module->file);
	free(module);
}

/* ---- is it the same file? ---- */

static void symbol_module_log(const struct symbols_options *options, const struct module *module,
		const char *reason)
{
	char *sentence;

	if (!options->report ||
			asprintf(&sentence, "addresses in %.1024s have no symbols: %s",
					module->name.path, reason) < 0)
		return;
	options->report(options->user, sentence);
	free(sentence);
}

static const char *symbol_module_mismatch_reason(const struct module *module)
{
	const struct module_name *name = &module->name;
	uint8_t id[SYMBOLS_BUILD_ID_MAX];
	size_t size = file_build_id(module->file.elf, id);

	if (name->build_id_size) {
		if (size != name->build_id_size || memcmp(id, name->build_id, size) != 0)
			return "the file was replaced after the recording (its build id differs)";
	} else if (name->inode && file_inode(&module->file) != name->inode) {
		return "the file was replaced after the recording";
	}
	return NULL;
}

static void symbol_module_open_own_file(
		struct module *module, const struct symbols_options *options)
{
	const char *reason;

	if (*module->name.path != '/' || !file_open(&module->file, module->name.path))
		return;
	reason = symbol_module_mismatch_reason(module);
	if (reason) {
		symbol_module_log(options, module, reason);
		file_close(&module->file);
		return;
	}
	/* A name from maps has no build id, but the inode shows that the file is the same. */
	if (module->name.inode)
		module->name.build_id_size = file_build_id(module->file.elf, module->name.build_id);
}

/* ---- symbols ---- */

static bool symbol_module_is_function(int type)
{
	return type == STT_FUNC || type == STT_GNU_IFUNC;
}

static bool symbol_module_is_variable(int type)
{
	return type == STT_OBJECT || type == STT_COMMON;
}

static void symbol_module_read_table(const struct module *module, struct symbol_table *table,
		bool (*is_wanted)(int type))
{
	symbol_table_read(table, module->file.elf, is_wanted);
	symbol_table_read(table, module->debug.elf, is_wanted);
	symbol_table_read(table, module->mini.elf, is_wanted);
	symbol_table_sort(table);
}

/* ---- segments ---- */

static Elf *any_file(const struct module *module)
{
	return module->file.elf ? module->file.elf : module->debug.elf;
}

/* Advance to the next loadable segment. */
static bool next_segment(Elf *elf, int *at, GElf_Phdr *ret_segment)
{
	while (gelf_getphdr(elf, (*at)++, ret_segment)) {
		if (ret_segment->p_type == PT_LOAD)
			return true;
	}
	return false;
}

bool module_address(const struct module *module, uint64_t offset, uint64_t *ret_address)
{
	GElf_Phdr segment;
	int at = 0;

	while (next_segment(module->file.elf, &at, &segment)) {
		if (offset < segment.p_offset || offset - segment.p_offset >= segment.p_filesz)
			continue;
		*ret_address = offset - segment.p_offset + segment.p_vaddr;
		return true;
	}
	return false;
}

static void symbol_module_find_first(struct module *module)
{
	GElf_Phdr segment;
	int at = 0;

	module->first_known = next_segment(any_file(module), &at, &segment);
	/* The file is mapped from its beginning; in debug files only the offset differs. */
	if (module->first_known)
		module->first = segment.p_vaddr -
				(module->file.elf ? segment.p_offset
						  : segment.p_vaddr & (segment.p_align - 1));
}

/* ---- lines ---- */

static void open_dwarf(struct module *module, const struct symbols_options *options)
{
	if (module->file.elf &&
			(file_has_section(module->file.elf, ".debug_line") ||
					file_has_section(module->file.elf, ".zdebug_line"))) {
		module->dwarf = dwarf_begin_elf(module->file.elf, DWARF_C_READ, NULL);
		return;
	}
	if (debug_find(module, options, &module->debug))
		module->dwarf = dwarf_begin_elf(module->debug.elf, DWARF_C_READ, NULL);
}

void module_open(struct module *module, const struct symbols_options *options)
{
	if (module->opened)
		return;
	module->opened = true;
	symbol_module_open_own_file(module, options);
	open_dwarf(module, options);
	/* A debug file has these symbols, too. */
	if (module->file.elf && !module->debug.elf)
		mini_debug_open(&module->mini, module->file.elf);
	symbol_module_find_first(module);
	symbol_module_read_table(module, &module->functions, symbol_module_is_function);
}

/* Find the unit by the index of addresses, or (clang writes no index) in all units. */
bool module_find_unit(Dwarf *dwarf, uint64_t address, Dwarf_Die *unit)
{
	Dwarf_CU *at = NULL, *next = NULL;
	uint8_t type;

	if (dwarf_addrdie(dwarf, address, unit))
		return true;
	while (!dwarf_get_units(dwarf, at, &next, NULL, &type, unit, NULL)) {
		if (dwarf_haspc(unit, address) == 1)
			return true;
		at = next;
	}
	return false;
}

char *module_whole_path(Dwarf_Die *unit, const char *file)
{
	Dwarf_Attribute attribute;
	const char *folder = *file == '/'
			? NULL
			: dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
	char *path;

	if (!folder || *folder != '/')
		return strdup(file);
	return asprintf(&path, "%s/%s", folder, file) < 0 ? NULL : path;
}

static void symbol_module_find_line(Dwarf_Die *unit, uint64_t address, struct symbol *symbol)
{
	const char *file;
	Dwarf_Line *line;
	int number;

	line = dwarf_getsrc_die(unit, address);
	file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	if (!file || dwarf_lineno(line, &number) || number <= 0)
		return;
	symbol->file = module_whole_path(unit, file);
	symbol->line = (unsigned int)number;
}

/* A version is "@@GLIBC_2.2.5" in "fclose@@GLIBC_2.2.5". */
char *module_readable(const char *name)
{
	size_t length = strnlen(name, NAME_MAX_SIZE);
	const char *version = memchr(name, '@', length);
	char *plain = strndup(name, version ? (size_t)(version - name) : length), *found = NULL;

	if (plain && length < NAME_MAX_SIZE)
		found = names_readable(plain);
	if (!found || strlen(found) >= NAME_MAX_SIZE) {
		free(found);
		return plain;
	}
	free(plain);
	return found;
}

void module_find(struct module *module, uint64_t address, struct symbol *ret_symbol)
{
	const struct table_symbol *function = symbol_table_find(&module->functions, address);
	Dwarf_Die unit;

	if (function) {
		ret_symbol->function = module_readable(function->name);
		ret_symbol->inside = address - function->begin;
	}
	if (!module->dwarf || !module_find_unit(module->dwarf, address, &unit))
		return;
	symbol_module_find_line(&unit, address, ret_symbol);
	inlined_find(module, &unit, address, ret_symbol);
}

/* Replaces the distance from the variable by the name of its member. */
static void symbol_module_add_member(
		struct module *module, uint64_t variable, struct symbol *symbol)
{
	char *member = symbol->function ? member_find(module, variable, symbol->inside) : NULL;
	char *name;

	if (member && asprintf(&name, "%s%s", symbol->function, member) >= 0) {
		free((void *)(uintptr_t)symbol->function);
		symbol->function = name;
		symbol->inside = 0;
	}
	free(member);
}

void module_find_variable(struct module *module, uint64_t address, struct symbol *ret_symbol)
{
	const struct table_symbol *variable;

	if (!module->has_variables)
		symbol_module_read_table(module, &module->variables, symbol_module_is_variable);
	module->has_variables = true;
	variable = symbol_table_find(&module->variables, address);
	if (!variable)
		return;
	ret_symbol->function = module_readable(variable->name);
	ret_symbol->inside = address - variable->begin;
	symbol_module_add_member(module, variable->begin, ret_symbol);
}
