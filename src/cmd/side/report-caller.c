/* SPDX-License-Identifier: MIT */
/*
 * Names for addresses of traced processes.
 *
 * The recorder keeps what was mapped in the file `.maps` of the trace (docs/spec/recording.md): by
 * it an address becomes a place in a file, and if that file is still the same one, its symbols say
 * in which function. The call stands before the address to which it returns, so one byte less is
 * looked up.
 */
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/side/report.h"

struct function {
	uint64_t begin, size;
	char *name;
};

struct module {
	struct module *next;
	char *path;
	uint64_t inode;
	bool readable;              /* It is there, and the same file. */
	struct function *functions; /* Sorted by begin. */
	size_t function_count;
	GElf_Phdr *segments;
	size_t segment_count;
};

struct mapping {
	uint64_t begin, end, offset;
	struct module *module;
};

struct maps {
	struct maps *next;
	uint32_t trace;
	struct mapping *mappings; /* In the order of the file: the last that fits counts. */
	size_t count;
};

struct report_symbols {
	struct module *modules;
	struct maps *maps;
};

/* ---- symbols of a file ---- */

static int by_begin(const void *one, const void *other)
{
	const struct function *left = one, *right = other;

	if (left->begin != right->begin)
		return left->begin < right->begin ? -1 : 1;
	return left->size < right->size ? 1 : left->size > right->size ? -1 : 0;
}

static void add_function(struct module *module, const GElf_Sym *symbol, const char *name)
{
	size_t count = module->function_count;
	struct function *grown;

	if (!(count & (count - 1))) { /* Grown at 0, 1, 2, 4, … */
		grown = realloc(module->functions, (count ? count * 2 : 1) * sizeof(*grown));
		if (!grown)
			return;
		module->functions = grown;
	}
	module->functions[count] =
			(struct function){symbol->st_value, symbol->st_size, strdup(name)};
	module->function_count += module->functions[count].name != NULL;
}

static void read_table(struct module *module, Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

	for (size_t i = 0; data && i < count && i < INT32_MAX; i++) {
		const char *name;
		GElf_Sym symbol;

		if (!gelf_getsym(data, (int)i, &symbol))
			return;
		if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC &&
				GELF_ST_TYPE(symbol.st_info) != STT_GNU_IFUNC)
			continue;
		name = symbol.st_shndx != SHN_UNDEF
				? elf_strptr(elf, header->sh_link, symbol.st_name)
				: NULL;
		if (name && *name)
			add_function(module, &symbol, name);
	}
}

static void read_segments(struct module *module, Elf *elf)
{
	size_t count;

	if (elf_getphdrnum(elf, &count))
		return;
	module->segments = calloc(count + 1, sizeof(*module->segments));
	for (size_t i = 0; module->segments && i < count && i < INT32_MAX; i++) {
		GElf_Phdr *segment = &module->segments[module->segment_count];

		if (gelf_getphdr(elf, (int)i, segment) && segment->p_type == PT_LOAD)
			module->segment_count++;
	}
}

static void read_module(struct module *module)
{
	int fd = open(module->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	Elf_Scn *section = NULL;
	struct stat stat;
	Elf *elf;

	if (fd < 0)
		return;
	elf = fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_ino == module->inode &&
					elf_version(EV_CURRENT) != EV_NONE
			? elf_begin(fd, ELF_C_READ_MMAP, NULL)
			: NULL;
	if (elf && elf_kind(elf) == ELF_K_ELF) {
		module->readable = true;
		read_segments(module, elf);
		while ((section = elf_nextscn(elf, section))) {
			GElf_Shdr header;

			if (gelf_getshdr(section, &header) &&
					(header.sh_type == SHT_SYMTAB ||
							header.sh_type == SHT_DYNSYM))
				read_table(module, elf, section, &header);
		}
	}
	if (elf)
		elf_end(elf);
	close(fd);
	if (module->function_count)
		qsort(module->functions, module->function_count, sizeof(*module->functions),
				by_begin);
}

/* ---- maps ---- */

static struct module *module_of(struct report_symbols *symbols, const char *path, uint64_t inode)
{
	struct module *module;

	for (module = symbols->modules; module; module = module->next) {
		if (module->inode == inode && strcmp(module->path, path) == 0)
			return module;
	}
	module = calloc(1, sizeof(*module));
	if (!module)
		return NULL;
	module->path = strdup(path);
	if (!module->path) {
		free(module);
		return NULL;
	}
	module->inode = inode;
	module->next = symbols->modules;
	symbols->modules = module;
	read_module(module);
	return module;
}

/* A line as /proc/PID/maps has them: only what can be executed, and has a file. */
static void read_line(struct report_symbols *symbols, struct maps *maps, char *line)
{
	uint64_t begin, end, offset, inode;
	char permissions[5];
	struct mapping *grown;
	int path = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64 " %n", &begin, &end,
			    permissions, &offset, &inode, &path) != 5 ||
			!path || line[path] != '/' || permissions[2] != 'x')
		return;
	grown = realloc(maps->mappings, (maps->count + 1) * sizeof(*grown));
	if (!grown)
		return;
	maps->mappings = grown;
	grown[maps->count].module = module_of(symbols, line + path, inode);
	grown[maps->count].begin = begin;
	grown[maps->count].end = end;
	grown[maps->count].offset = offset;
	maps->count += grown[maps->count].module != NULL;
}

static const struct maps *maps_of(struct report_symbols *symbols, const struct ctf_trace *trace)
{
	char *path, *line = NULL;
	struct maps *maps;
	size_t room = 0;
	FILE *file;

	for (maps = symbols->maps; maps; maps = maps->next) {
		if (maps->trace == trace->index)
			return maps;
	}
	maps = calloc(1, sizeof(*maps));
	if (!maps)
		return NULL;
	maps->trace = trace->index;
	maps->next = symbols->maps;
	symbols->maps = maps;
	if (asprintf(&path, "%s/.maps", trace->path) < 0)
		return maps;
	file = fopen(path, "re");
	free(path);
	while (file && getline(&line, &room, file) > 0)
		read_line(symbols, maps, line);
	free(line);
	if (file)
		fclose(file);
	return maps;
}

/* ---- looking up ---- */

static const struct function *function_at(const struct module *module, uint64_t address)
{
	size_t low = 0, high = module->function_count;

	while (low < high) { /* The first that begins behind the address. */
		size_t middle = low + (high - low) / 2;

		if (module->functions[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* Of several that begin before it, the nearest that reaches it. */
	for (size_t i = low; i-- > 0 && low - i <= 64;) {
		const struct function *function = &module->functions[i];

		if (address - function->begin < function->size)
			return function;
	}
	return NULL;
}

struct report_symbols *report_symbols_create(void)
{
	return calloc(1, sizeof(struct report_symbols));
}

void report_symbol_find(struct report_symbols *symbols, const struct ctf_trace *trace,
		uint64_t address, struct report_symbol *symbol)
{
	const struct maps *maps = address ? maps_of(symbols, trace) : NULL;
	const struct mapping *mapping = NULL;
	const struct function *function;
	uint64_t call = address - 1;

	*symbol = (struct report_symbol){0};
	for (size_t i = maps ? maps->count : 0; !mapping && i-- > 0;) {
		if (maps->mappings[i].begin <= call && call < maps->mappings[i].end)
			mapping = &maps->mappings[i];
	}
	if (!mapping)
		return;
	symbol->module = mapping->module->path;
	symbol->offset = address - mapping->begin + mapping->offset;
	for (size_t i = 0; i < mapping->module->segment_count; i++) {
		const GElf_Phdr *segment = &mapping->module->segments[i];

		if (symbol->offset - 1 < segment->p_offset ||
				symbol->offset - 1 - segment->p_offset >= segment->p_filesz)
			continue;
		symbol->offset = symbol->offset - segment->p_offset + segment->p_vaddr;
		function = function_at(mapping->module, symbol->offset - 1);
		if (function) {
			snprintf(symbol->function, sizeof(symbol->function), "%s", function->name);
			symbol->inside = symbol->offset - function->begin;
		}
		break;
	}
}

void report_symbols_free(struct report_symbols *symbols)
{
	while (symbols && symbols->modules) {
		struct module *module = symbols->modules;

		symbols->modules = module->next;
		for (size_t i = 0; i < module->function_count; i++)
			free(module->functions[i].name);
		free(module->functions);
		free(module->segments);
		free(module->path);
		free(module);
	}
	while (symbols && symbols->maps) {
		struct maps *maps = symbols->maps;

		symbols->maps = maps->next;
		free(maps->mappings);
		free(maps);
	}
	free(symbols);
}
