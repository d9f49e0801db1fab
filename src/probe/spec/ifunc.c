/* SPDX-License-Identifier: MIT */
/*
 * Find the function that an indirect function (IFUNC) selected for this processor when the program
 * was loaded: strlen, memcpy.
 *
 * The process has the address of the selected function in the slot through which it is called: in
 * the library itself (a relocation of type IRELATIVE), or in another file that calls it by name. If
 * no slot has it, all functions that the resolver may return are selected.
 */
#include "parts.h"

#include "symbolize/demangle.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RELOCATIONS_MAX (1u << 22)

struct chooser {
	struct resolve *resolve;
	struct resolve_module *module;
	const struct code_function *function;
	struct resolve_choices *choices;
};

static bool bias_of(struct resolve_module *module, uint64_t *ret_bias)
{
	Elf *elf = module_elf(module);
	size_t count;

	if (!module->loaded || !elf || elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count && i < 65536; i++) {
		GElf_Phdr segment;

		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
				!(segment.p_flags & PF_X) ||
				module->offset < (segment.p_offset & ~UINT64_C(4095)) ||
				module->offset >= segment.p_offset + segment.p_filesz)
			continue;
		*ret_bias = module->begin - module->offset + segment.p_offset - segment.p_vaddr;
		return true;
	}
	return false;
}

static bool is_its_name(const struct chooser *chooser, const char *name)
{
	for (size_t i = 0; name && i < chooser->function->nr_names; i++) {
		if (!strcmp(code_name(chooser->module->code, chooser->function, i), name))
			return true;
	}
	return false;
}

/* The slot holds the address of a function of the module, of another file, or of no file. */
static bool spec_choose_resolve_slot(const struct chooser *chooser,
		const struct resolve_module *module, uint64_t address)
{
	const struct code_function *function;
	uint64_t value;

	if (pread(chooser->resolve->memory, &value, sizeof(value), (off_t)address) != sizeof(value))
		return false;
	if (value < chooser->module->begin || value >= chooser->module->end) {
		/*
		 * The slot is not resolved yet, or another file's function replaces this one. An
		 * address outside of all files is in the kernel's code (vDSO).
		 */
		for (size_t i = 0; i < chooser->resolve->nr_modules; i++) {
			module = &chooser->resolve->modules[i];
			if (value >= module->begin && value < module->end)
				return false;
		}
		chooser->choices->outside |= value > 4096;
		return false;
	}
	value -= chooser->module->bias;
	function = code_function_at(chooser->module->code, value);
	if (!function || function->address != value || function == chooser->function)
		return false;
	*chooser->choices = (struct resolve_choices){
			.addresses[0] = value, .count = 1, .certain = true};
	return true;
}

static bool is_its_slot(const struct chooser *chooser, const struct resolve_module *module,
		Elf *elf, const GElf_Rela *relocation, Elf_Data *symbols, size_t names)
{
	GElf_Sym symbol;

	switch (GELF_R_TYPE(relocation->r_info)) {
	case R_X86_64_IRELATIVE:
		return module == chooser->module &&
				(uint64_t)relocation->r_addend == chooser->function->address;
	case R_X86_64_JUMP_SLOT:
	case R_X86_64_GLOB_DAT:
	case R_X86_64_64: break;
	default: return false;
	}
	return symbols && GELF_R_SYM(relocation->r_info) &&
			gelf_getsym(symbols, (int)GELF_R_SYM(relocation->r_info), &symbol) &&
			is_its_name(chooser, elf_strptr(elf, names, symbol.st_name));
}

static bool search_relocations(const struct chooser *chooser, struct resolve_module *module,
		Elf_Scn *section, const GElf_Shdr *header, uint64_t bias)
{
	Elf *elf = module_elf(module);
	Elf_Data *data = elf_getdata(section, NULL), *symbols;
	Elf_Scn *table = elf_getscn(elf, header->sh_link);
	size_t count = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;
	GElf_Shdr table_header;
	GElf_Rela relocation;

	symbols = table && gelf_getshdr(table, &table_header) && table_header.sh_type == SHT_DYNSYM
			? elf_getdata(table, NULL)
			: NULL;
	for (size_t i = 0; i < count && i < RELOCATIONS_MAX; i++) {
		if (gelf_getrela(data, (int)i, &relocation) &&
				is_its_slot(chooser, module, elf, &relocation, symbols,
						symbols ? table_header.sh_link : 0) &&
				spec_choose_resolve_slot(
						chooser, module, relocation.r_offset + bias))
			return true;
	}
	return false;
}

static bool search_module(const struct chooser *chooser, struct resolve_module *module)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	uint64_t bias;

	if (!bias_of(module, &bias))
		return false;
	while ((section = elf_nextscn(module_elf(module), section))) {
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA &&
				search_relocations(chooser, module, section, &header, bias))
			return true;
	}
	return false;
}

void ifunc_targets(struct resolve *resolve, struct resolve_module *module,
		const struct code_function *function, struct resolve_choices *ret_choices)
{
	struct chooser chooser = {resolve, module, function, ret_choices};
	bool found = false;

	*ret_choices = (struct resolve_choices){.certain = false};
	if (resolve->memory >= 0 && module->loaded) {
		/* A slot of the module itself takes precedence. */
		found = search_module(&chooser, module);
		for (size_t i = 0; i < resolve->nr_modules && !found; i++)
			found = search_module(&chooser, &resolve->modules[i]);
	}
	if (!found)
		ret_choices->count = code_choices(module->code, function, ret_choices->addresses,
				RESOLVE_CHOICES_MAX);
}

int resolve_choices(struct resolve *resolve, const char *path, uint64_t address,
		struct resolve_choices *ret_choices)
{
	struct error ignored;

	*ret_choices = (struct resolve_choices){.certain = false};
	for (size_t i = 0; i < resolve->nr_modules; i++) {
		struct resolve_module *module = &resolve->modules[i];
		const struct code_function *function;

		if (strcmp(module->path, path) != 0 || module->refused ||
				module_code(module, &ignored))
			continue;
		function = code_function_at(module->code, address);
		if (function && function->address == address)
			ifunc_targets(resolve, module, function, ret_choices);
		return 0;
	}
	return -1;
}

/* ---- notes for the user ---- */

/* Whether the function may also select one of these. */
static bool ifunc_shares_target(const struct resolve_module *module,
		const struct code_function *function, const struct resolve_choices *choices)
{
	uint64_t others[RESOLVE_CHOICES_MAX];
	size_t count = code_choices(module->code, function, others, RESOLVE_CHOICES_MAX);

	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < choices->count; j++) {
			if (others[i] == choices->addresses[j])
				return true;
		}
	}
	return false;
}

static void ifunc_print_sharing(FILE *out, const struct resolve_module *module,
		const struct code_function *chooser, const struct resolve_choices *choices)
{
	const struct code_function *functions;
	size_t count = code_functions(module->code, &functions), nr = 0;

	for (size_t i = 0; i < count; i++) {
		if (!functions[i].chooses || &functions[i] == chooser ||
				!ifunc_shares_target(module, &functions[i], choices))
			continue;
		if (nr++ < 4)
			fprintf(out, "%s`%.64s`", nr > 1 ? ", " : "; calls of ",
					code_name(module->code, &functions[i], 0));
	}
	if (nr)
		fprintf(out, "%s may lead there, too", nr > 4 ? " and others" : "");
}

static void ifunc_print_targets(FILE *out, const struct resolve_module *module,
		const struct resolve_choices *choices)
{
	const struct code_function *function =
			code_function_at(module->code, choices->addresses[0]);

	if (choices->certain)
		fprintf(out, " is the function at 0x%" PRIx64, choices->addresses[0]);
	else
		fprintf(out, " chooses one of %zu functions for this processor when it is loaded, each of which is a location of the event",
				choices->count);
	if (choices->certain && function && function->nr_names)
		fprintf(out, " (%.128s)", code_name(module->code, function, 0));
	if (choices->certain)
		fputs(" in this process, which it has selected for this processor", out);
}

char *ifunc_note(const struct resolve_module *module, const struct code_function *chooser,
		const char *name, const struct resolve_choices *choices)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool is_whole;

	if (!out)
		return NULL;
	fprintf(out, "`%.128s` of %s", name, module->name);
	ifunc_print_targets(out, module, choices);
	ifunc_print_sharing(out, module, chooser, choices);
	is_whole = !ferror(out);
	is_whole = !fclose(out) && is_whole && text;
	if (is_whole)
		return text;
	free(text);
	return NULL;
}
