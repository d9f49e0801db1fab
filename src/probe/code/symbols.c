/* SPDX-License-Identifier: MIT */
/* Reads names of functions: .symtab, .dynsym, and the compressed symbols of stripped files. */
#include "parts.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/unpack/unpack.h"

/* A symbol table and its strings, both inside checked memory. */
struct symbol_table {
	const uint8_t *symbols;
	size_t size;
	const char *names;
	size_t names_size;
	const uint8_t *versions; /* two bytes for each symbol; NULL: no versions */
	size_t versions_size;
};

static unsigned int code_symbol_get_rank(const Elf64_Sym *symbol, const char *name)
{
	unsigned int bind = ELF64_ST_BIND(symbol->st_info), rank = 0;

	if (bind == STB_WEAK)
		rank = 8;
	else if (bind != STB_GLOBAL)
		rank = 16;
	while (*name == '_' && rank % 8 < 7)
		name++, rank++;
	return rank;
}

/* Returns NULL if it is out of memory. */
static struct code_name_entry *code_symbol_add_entry(
		struct code_file *file, uint64_t address, uint64_t size, const char *name)
{
	struct code_name_entry *names = code_grow(
			file->names, file->nr_names, &file->names_capacity, sizeof(*names));

	if (!names)
		return NULL;
	file->names = names;
	names[file->nr_names] =
			(struct code_name_entry){.address = address, .size = size, .name = name};
	return &names[file->nr_names++];
}

int code_add_name(struct code_file *file, uint64_t address, uint64_t size, const char *name)
{
	if (!code_executable(file, address))
		return 0;
	return code_symbol_add_entry(file, address, size, name) ? 0 : -ENOMEM;
}

/*
 * V8 names its embedded code v8_VARIANT_embedded_blob_code_, and the size of it the same plus
 * `size_`.
 */
static bool code_symbol_ends_with(const char *name, const char *end)
{
	size_t length = strlen(name), wanted = strlen(end);

	return length >= wanted && !strcmp(name + length - wanted, end);
}

static void code_symbol_note_v8(struct code_file *file, const Elf64_Sym *symbol, const char *name)
{
	if (strncmp(name, "v8_", 3) != 0)
		return;
	if (code_symbol_ends_with(name, "_embedded_blob_code_"))
		file->embedded_code = symbol->st_value;
	else if (code_symbol_ends_with(name, "_embedded_blob_code_size_"))
		file->embedded_size = symbol->st_value;
}

/* Adds symbols that are not functions: data among the code, and labels of unknown type. */
static int code_symbol_add_other(struct code_file *file, const Elf64_Sym *symbol, const char *name)
{
	static const char object[] = "its symbol marks it as data among the code";
	unsigned int type = ELF64_ST_TYPE(symbol->st_info);
	uint64_t *labels;

	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= SHN_LORESERVE || !*name ||
			(type != STT_OBJECT && type != STT_NOTYPE))
		return 0;
	/*
	 * A section that is not loaded has no address, so the values of its symbols are no
	 * addresses of code. clang's coverage writes such symbols.
	 */
	if (symbol->st_shndx < file->nr_sections && !file->sections[symbol->st_shndx].address)
		return 0;
	code_symbol_note_v8(file, symbol, name);
	if (!code_executable(file, symbol->st_value))
		return 0;
	if (type == STT_OBJECT && symbol->st_size)
		return code_keep(
				file, symbol->st_value, symbol->st_value + symbol->st_size, object);
	labels = code_grow(file->labels, file->nr_labels, &file->labels_capacity, sizeof(*labels));
	if (!labels)
		return -ENOMEM;
	file->labels = labels;
	labels[file->nr_labels++] = symbol->st_value;
	return 0;
}

static int code_symbol_add(
		struct code_file *file, const Elf64_Sym *symbol, const char *name, bool former)
{
	struct code_name_entry *entry;
	unsigned int type = ELF64_ST_TYPE(symbol->st_info);

	if (type == STT_OBJECT || type == STT_NOTYPE)
		return code_symbol_add_other(file, symbol, name);
	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF ||
			!*name || !code_executable(file, symbol->st_value) ||
			code_is_excluded(file, symbol->st_value))
		return 0;
	entry = code_symbol_add_entry(file, symbol->st_value, symbol->st_size, name);
	if (!entry)
		return -ENOMEM;
	entry->rank = (uint8_t)code_symbol_get_rank(symbol, name);
	entry->chooses = type == STT_GNU_IFUNC;
	entry->is_old_version = former;
	return 0;
}

/* True if a newer version of the same name hides this one. */
static bool code_symbol_is_former(const struct symbol_table *table, size_t index)
{
	uint16_t version = 0;

	if (table->versions && 2 * index + 2 <= table->versions_size)
		memcpy(&version, table->versions + 2 * index, sizeof(version));
	return version & 0x8000;
}

static int code_symbol_read_table(struct code_file *file, const struct symbol_table *table)
{
	/* Each name must end inside the table. */
	size_t names_size = table->names_size;

	while (names_size && table->names[names_size - 1])
		names_size--;
	for (size_t i = 0; i + sizeof(Elf64_Sym) <= table->size; i += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;

		memcpy(&symbol, table->symbols + i, sizeof(symbol));
		if (symbol.st_name < names_size &&
				code_symbol_add(file, &symbol, table->names + symbol.st_name,
						code_symbol_is_former(
								table, i / sizeof(Elf64_Sym))))
			return -ENOMEM;
	}
	return 0;
}

static int code_symbol_read_section(struct code_file *file, const struct code_section *section)
{
	struct symbol_table table = {.versions = NULL};

	if (section->link >= file->nr_sections)
		return 0;
	for (size_t i = 0; i < file->nr_sections; i++) {
		const struct code_section *versions = &file->sections[i];

		if (versions->type == SHT_GNU_versym &&
				versions->link == (size_t)(section - file->sections))
			table.versions = code_section_bytes(file, versions, &table.versions_size);
	}
	table.symbols = code_section_bytes(file, section, &table.size);
	table.names = (const char *)code_section_bytes(
			file, &file->sections[section->link], &table.names_size);
	return table.symbols && table.names ? code_symbol_read_table(file, &table) : 0;
}

/* Reads the symbol table of an ELF file that is embedded in this one. */
static int code_symbol_read_embedded(struct code_file *file, const uint8_t *bytes, size_t size)
{
	Elf64_Ehdr header;

	if (size < sizeof(header) || memcmp(bytes, ELFMAG, SELFMAG) != 0)
		return 0;
	memcpy(&header, bytes, sizeof(header));
	if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > size ||
			header.e_shnum > (size - header.e_shoff) / sizeof(Elf64_Shdr))
		return 0;
	for (size_t i = 0; i < header.e_shnum; i++) {
		Elf64_Shdr symbols, names;
		struct symbol_table table = {.versions = NULL};

		memcpy(&symbols, bytes + header.e_shoff + i * sizeof(symbols), sizeof(symbols));
		if (symbols.sh_type != SHT_SYMTAB || symbols.sh_link >= header.e_shnum)
			continue;
		memcpy(&names, bytes + header.e_shoff + symbols.sh_link * sizeof(names),
				sizeof(names));
		if (symbols.sh_offset > size || symbols.sh_size > size - symbols.sh_offset ||
				names.sh_type == SHT_NOBITS || names.sh_offset > size ||
				names.sh_size > size - names.sh_offset)
			continue;
		table.symbols = bytes + symbols.sh_offset;
		table.size = symbols.sh_size;
		table.names = (const char *)bytes + names.sh_offset;
		table.names_size = names.sh_size;
		if (code_symbol_read_table(file, &table))
			return -ENOMEM;
	}
	return 0;
}

static int code_symbol_read_compressed(struct code_file *file)
{
	size_t packed_size, size = 0;
	const uint8_t *packed = code_section_bytes(
			file, code_section_named(file, ".gnu_debugdata"), &packed_size);

	file->names_memory = packed ? unpack_xz(packed, packed_size, &size) : NULL;
	return file->names_memory ? code_symbol_read_embedded(file, file->names_memory, size) : 0;
}

int code_read_names(struct code_file *file, const uint8_t *symbols, size_t size, const char *names,
		size_t names_size)
{
	const struct symbol_table table = {
			.symbols = symbols, .size = size, .names = names, .names_size = names_size};

	return code_symbol_read_table(file, &table);
}

int code_read_symbols(struct code_file *file)
{
	for (size_t i = 0; i < file->nr_sections; i++) {
		const struct code_section *section = &file->sections[i];

		if ((section->type == SHT_SYMTAB || section->type == SHT_DYNSYM) &&
				code_symbol_read_section(file, section))
			return -ENOMEM;
	}
	return code_symbol_read_compressed(file) || code_read_debug_file(file) ? -ENOMEM : 0;
}
