/* SPDX-License-Identifier: MIT */
/*
 * Reads the relocations that the loader applies: those of the dynamic section, which files without
 * section headers have, too. Sections of relocations that a linker left (--emit-relocs) are not
 * among them.
 */
#include "parts.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define TAG_PACKED_SIZE 35 /* DT_RELRSZ, which older headers do not define */
#define TAG_PACKED 36      /* DT_RELR */
#define PACKED_WORDS 63    /* words that one word of bits describes */
#define SYMBOLS_MAX 0x1000000u
#define NAME_BYTES 4096 /* a longer name is unknown */

struct relocation_tables {
	uint64_t plain, plain_size, calls, calls_size, packed, packed_size, symbols, names;
};

static void relocation_read_tags(const struct code_file *file, struct relocation_tables *ret_tables)
{
	size_t size;
	const uint8_t *bytes = file->dynamic ? code_bytes(file, file->dynamic, &size) : NULL;

	for (size_t i = 0; bytes && i + sizeof(Elf64_Dyn) <= size; i += sizeof(Elf64_Dyn)) {
		Elf64_Dyn entry;

		memcpy(&entry, bytes + i, sizeof(entry));
		switch (entry.d_tag) {
		case DT_NULL: return;
		case DT_RELA: ret_tables->plain = entry.d_un.d_ptr; break;
		case DT_RELASZ: ret_tables->plain_size = entry.d_un.d_val; break;
		case DT_JMPREL: ret_tables->calls = entry.d_un.d_ptr; break;
		case DT_PLTRELSZ: ret_tables->calls_size = entry.d_un.d_val; break;
		case TAG_PACKED: ret_tables->packed = entry.d_un.d_ptr; break;
		case TAG_PACKED_SIZE: ret_tables->packed_size = entry.d_un.d_val; break;
		case DT_SYMTAB: ret_tables->symbols = entry.d_un.d_ptr; break;
		case DT_STRTAB: ret_tables->names = entry.d_un.d_ptr; break;
		default: break;
		}
	}
}

static unsigned int relocation_width(uint64_t type)
{
	switch (type) {
	case R_X86_64_NONE: return 0;
	case R_X86_64_8:
	case R_X86_64_PC8: return 1;
	case R_X86_64_16:
	case R_X86_64_PC16: return 2;
	case R_X86_64_32:
	case R_X86_64_32S:
	case R_X86_64_PC32:
	case R_X86_64_SIZE32: return 4;
	case R_X86_64_DTPMOD64:
	case R_X86_64_TLSDESC: return 16;
	default: return 8;
	}
}

static bool relocation_read_symbol(const struct code_file *file, uint64_t symbols, uint64_t index,
		Elf64_Sym *ret_symbol)
{
	size_t size;
	const uint8_t *bytes;

	if (!symbols || !index || index > SYMBOLS_MAX)
		return false;
	bytes = code_bytes(file, symbols + index * sizeof(*ret_symbol), &size);
	if (!bytes || size < sizeof(*ret_symbol))
		return false;
	memcpy(ret_symbol, bytes, sizeof(*ret_symbol));
	return true;
}

/*
 * Returns the symbol's address in this file, or 0 if another file defines it or the data is
 * damaged.
 */
static uint64_t relocation_symbol_address(
		const struct code_file *file, uint64_t symbols, uint64_t index)
{
	Elf64_Sym symbol;

	if (!relocation_read_symbol(file, symbols, index, &symbol))
		return 0;
	return symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < SHN_LORESERVE ? symbol.st_value
									       : 0;
}

/* Returns the name of the symbol, or NULL. */
static const char *relocation_symbol_name(const struct code_file *file,
		const struct relocation_tables *tables, uint64_t index)
{
	Elf64_Sym symbol;
	size_t size = 0;
	const uint8_t *bytes = NULL;

	if (tables->names && relocation_read_symbol(file, tables->symbols, index, &symbol) &&
			symbol.st_name)
		bytes = code_bytes(file, tables->names + symbol.st_name, &size);
	if (size > NAME_BYTES)
		size = NAME_BYTES;
	return bytes && *bytes && memchr(bytes, '\0', size) ? (const char *)bytes : NULL;
}

static int relocation_each_plain(struct code_file *file, const struct relocation_tables *tables,
		uint64_t table, uint64_t table_size, code_relocation_fn *each, void *user)
{
	size_t size;
	const uint8_t *bytes = table ? code_bytes(file, table, &size) : NULL;

	for (uint64_t i = 0; bytes && i + sizeof(Elf64_Rela) <= size &&
			i + sizeof(Elf64_Rela) <= table_size;
			i += sizeof(Elf64_Rela)) {
		struct code_relocation relocation;
		Elf64_Rela raw;
		int ret;

		memcpy(&raw, bytes + i, sizeof(raw));
		relocation = (struct code_relocation){.address = raw.r_offset,
				.bytes = relocation_width(ELF64_R_TYPE(raw.r_info)),
				.target = relocation_symbol_address(file, tables->symbols,
							  ELF64_R_SYM(raw.r_info)) +
						(uint64_t)raw.r_addend,
				.type = (uint32_t)ELF64_R_TYPE(raw.r_info)};
		if (relocation.type == R_X86_64_JUMP_SLOT || relocation.type == R_X86_64_GLOB_DAT)
			relocation.name = relocation_symbol_name(
					file, tables, ELF64_R_SYM(raw.r_info));
		ret = each(user, &relocation);
		if (ret)
			return ret;
	}
	return 0;
}

static int relocation_read_packed(
		struct code_file *file, uint64_t address, code_relocation_fn *each, void *user)
{
	size_t size;
	const uint8_t *bytes = code_bytes(file, address, &size);
	struct code_relocation relocation = {.address = address, .bytes = 8};

	if (bytes && size >= 8)
		relocation.target = code_read(bytes, 8);
	return each(user, &relocation);
}

/*
 * An even word is an address. The bits of an odd word select which of the next words are relocated,
 * too.
 */
static int relocation_each_packed(struct code_file *file, const struct relocation_tables *tables,
		code_relocation_fn *each, void *user)
{
	uint64_t address = 0;
	size_t size;
	const uint8_t *bytes = tables->packed ? code_bytes(file, tables->packed, &size) : NULL;
	int ret = 0;

	for (uint64_t i = 0; bytes && !ret && i + 8 <= size && i + 8 <= tables->packed_size;
			i += 8) {
		uint64_t word = code_read(bytes + i, 8);

		if (!(word & 1)) {
			ret = relocation_read_packed(file, word, each, user);
			address = word + 8;
			continue;
		}
		for (unsigned int bit = 0; !ret && bit < PACKED_WORDS; bit++) {
			if (word >> (bit + 1) & 1)
				ret = relocation_read_packed(
						file, address + 8ull * bit, each, user);
		}
		address += 8ull * PACKED_WORDS;
	}
	return ret;
}

int code_each_relocation(struct code_file *file, code_relocation_fn *each, void *user)
{
	struct relocation_tables tables = {.plain = 0};
	int ret;

	relocation_read_tags(file, &tables);
	ret = relocation_each_plain(file, &tables, tables.plain, tables.plain_size, each, user);
	if (!ret)
		ret = relocation_each_plain(
				file, &tables, tables.calls, tables.calls_size, each, user);
	return ret ? ret : relocation_each_packed(file, &tables, each, user);
}
