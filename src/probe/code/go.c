/* SPDX-License-Identifier: MIT */
/*
 * Finds Go code by the table that the Go runtime finds functions with (.gopclntab), which strip
 * does not remove: the range of the code, and the names of its functions. Go gives each goroutine a
 * stack of some kilobytes, whose size it knows, and moves it to grow it.
 *
 * The table: 4 bytes that encode its version, 2 zeros, the unit of instructions, the size of a
 * pointer. Then words: the number of functions, the number of files, from 1.18 on the address of
 * the code, and the offsets of parts of the table: names first, functions last. The functions are
 * pairs: the start of a function, and the offset of its description, which begins with its start
 * and its name. The end of the code follows the last pair.
 */
#include "parts.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define GO_1_16 0xfffffffau
#define GO_1_18 0xfffffff0u
#define GO_1_20 0xfffffff1u
#define HEADER 8
#define WORD 8

struct go_pclntab {
	const uint8_t *bytes;
	size_t size;
	uint64_t text;                 /* the address to which starts of functions are relative */
	size_t names, functions, unit; /* bytes of each number in a pair */
	uint64_t count;
};

static uint64_t go_table_read_word(const struct go_pclntab *table, size_t index)
{
	uint64_t value;

	memcpy(&value, table->bytes + HEADER + index * WORD, sizeof(value));
	return value;
}

/* Returns 0 if it is outside of the table. */
static uint64_t go_table_read_number(const struct go_pclntab *table, uint64_t at, size_t size)
{
	uint64_t value = 0;

	if (at < table->size && size <= table->size - at)
		memcpy(&value, table->bytes + at, size);
	return value;
}

static uint64_t begin_of(const struct go_pclntab *table, uint64_t index)
{
	uint64_t begin = go_table_read_number(
			table, table->functions + index * 2 * table->unit, table->unit);

	return table->text + begin;
}

static bool is_go(const struct code_file *file)
{
	return code_section_named(file, ".note.go.buildid") ||
			code_section_named(file, ".go.buildinfo");
}

/*
 * Returns the bytes of the table and their address. If a C linker made the file, the table is
 * somewhere among other data.
 */
static const uint8_t *go_table_find(const struct code_file *file, size_t *size, uint64_t *address)
{
	static const char *const own[] = {".gopclntab", ".data.rel.ro.gopclntab"};
	static const uint8_t behind_version[] = {0xff, 0xff, 0xff, 0, 0, 1, WORD};
	const struct code_section *data = code_section_named(file, ".data.rel.ro");
	const uint8_t *bytes;

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		const struct code_section *section = code_section_named(file, own[i]);

		if (section) {
			*address = section->address;
			return code_section_bytes(file, section, size);
		}
	}
	bytes = is_go(file) ? code_section_bytes(file, data, size) : NULL;
	for (; bytes && *size > HEADER; bytes += WORD, *size -= WORD) {
		*address = data->address + data->size - *size;
		if (!memcmp(bytes + 1, behind_version, sizeof(behind_version)))
			return bytes;
		if (*size < HEADER + WORD)
			break;
	}
	return NULL;
}

/* Returns the word that the loader writes there by a relative relocation, or 0. */
static uint64_t go_table_relocated_word(const struct code_file *file, uint64_t address)
{
	for (size_t i = 0; i < file->nr_sections; i++) {
		size_t size;
		const uint8_t *bytes = file->sections[i].type == SHT_RELA
				? code_section_bytes(file, &file->sections[i], &size)
				: NULL;
		Elf64_Rela rela;

		for (; bytes && size >= sizeof(rela); bytes += sizeof(rela), size -= sizeof(rela)) {
			memcpy(&rela, bytes, sizeof(rela));
			if (rela.r_offset == address &&
					ELF64_R_TYPE(rela.r_info) == R_X86_64_RELATIVE)
				return (uint64_t)rela.r_addend;
		}
	}
	return 0;
}

static bool go_table_open(const struct code_file *file, struct go_pclntab *table)
{
	bool old;
	uint32_t version;
	uint64_t address;

	*table = (struct go_pclntab){.size = 0};
	table->bytes = go_table_find(file, &table->size, &address);
	if (!table->bytes || table->size < HEADER + 8 * WORD || table->bytes[7] != WORD)
		return false;
	memcpy(&version, table->bytes, sizeof(version));
	old = version == GO_1_16;
	if (!old && version != GO_1_18 && version != GO_1_20)
		return false;
	table->count = go_table_read_word(table, 0);
	table->text = old ? 0 : go_table_read_word(table, 2);
	if (!old && !table->text)
		table->text = go_table_relocated_word(file, address + HEADER + 2 * WORD);
	table->names = (size_t)go_table_read_word(table, old ? 2 : 3);
	table->functions = (size_t)go_table_read_word(table, old ? 6 : 7);
	table->unit = old ? 8 : 4;
	return table->count && (old || table->text) && table->names < table->size &&
			table->functions < table->size &&
			table->count < (table->size - table->functions) / (2 * table->unit);
}

static const char *go_table_function_name(const struct go_pclntab *table, uint64_t index)
{
	uint64_t entry = go_table_read_number(table,
				 table->functions + (index * 2 + 1) * table->unit, table->unit),
		 at = table->names;

	at += go_table_read_number(table, table->functions + entry + table->unit, 4);
	if (at >= table->size || !memchr(table->bytes + at, 0, table->size - at))
		return NULL;
	return (const char *)table->bytes + at;
}

static int go_table_add_symbols(struct code_file *file, const struct go_pclntab *table)
{
	for (uint64_t i = 0; i < table->count; i++) {
		const char *name = go_table_function_name(table, i);
		uint64_t begin = begin_of(table, i), end = begin_of(table, i + 1);

		if (name && *name && begin < end && code_add_name(file, begin, end - begin, name))
			return -ENOMEM;
	}
	return 0;
}

/*
 * True if symbols name the functions already. A stripped file still names those that it exports to
 * C.
 */
static bool go_table_is_named(const struct code_file *file, uint64_t count)
{
	uint64_t named = 0;

	for (size_t i = 0; i < file->nr_names; i++)
		named += code_is_go(file, file->names[i].address);
	return named >= count / 2;
}

int code_read_go(struct code_file *file)
{
	struct go_pclntab table;

	if (!go_table_open(file, &table)) {
		const struct code_section *text = code_section_named(file, ".text");

		/* Any part of it may be Go code. */
		if (text && is_go(file)) {
			file->go_begin = text->address;
			file->go_end = text->address + text->size;
		}
		return 0;
	}
	file->go_begin = begin_of(&table, 0);
	file->go_end = begin_of(&table, table.count);
	return go_table_is_named(file, table.count) ? 0 : go_table_add_symbols(file, &table);
}

bool code_is_go(const struct code_file *file, uint64_t address)
{
	return address >= file->go_begin && address < file->go_end;
}
