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

static uint64_t go_table_function_start(const struct go_pclntab *table, uint64_t index)
{
	uint64_t begin = go_table_read_number(
			table, table->functions + index * 2 * table->unit, table->unit);

	return table->text + begin;
}

static bool go_has_section(const struct code_file *file)
{
	return code_section_named(file, ".note.go.buildid") ||
			code_section_named(file, ".go.buildinfo");
}

/*
 * Returns the bytes of the table and their address. If a C linker made the file, the table is
 * somewhere among other data.
 */
static const uint8_t *go_table_find(
		const struct code_file *file, size_t *ret_size, uint64_t *ret_address)
{
	static const char *const own[] = {".gopclntab", ".data.rel.ro.gopclntab"};
	static const uint8_t behind_version[] = {0xff, 0xff, 0xff, 0, 0, 1, WORD};
	const struct code_section *data = code_section_named(file, ".data.rel.ro");
	const uint8_t *bytes;

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		const struct code_section *section = code_section_named(file, own[i]);

		if (section) {
			*ret_address = section->address;
			return code_section_bytes(file, section, ret_size);
		}
	}
	bytes = go_has_section(file) ? code_section_bytes(file, data, ret_size) : NULL;
	for (; bytes && *ret_size > HEADER; bytes += WORD, *ret_size -= WORD) {
		*ret_address = data->address + data->size - *ret_size;
		if (!memcmp(bytes + 1, behind_version, sizeof(behind_version)))
			return bytes;
		if (*ret_size < HEADER + WORD)
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

static bool go_table_open(const struct code_file *file, struct go_pclntab *ret_table)
{
	bool old;
	uint32_t version;
	uint64_t address;

	*ret_table = (struct go_pclntab){.size = 0};
	ret_table->bytes = go_table_find(file, &ret_table->size, &address);
	if (!ret_table->bytes || ret_table->size < HEADER + 8 * WORD || ret_table->bytes[7] != WORD)
		return false;
	memcpy(&version, ret_table->bytes, sizeof(version));
	old = version == GO_1_16;
	if (!old && version != GO_1_18 && version != GO_1_20)
		return false;
	ret_table->count = go_table_read_word(ret_table, 0);
	ret_table->text = old ? 0 : go_table_read_word(ret_table, 2);
	if (!old && !ret_table->text)
		ret_table->text = go_table_relocated_word(file, address + HEADER + 2 * WORD);
	ret_table->names = (size_t)go_table_read_word(ret_table, old ? 2 : 3);
	ret_table->functions = (size_t)go_table_read_word(ret_table, old ? 6 : 7);
	ret_table->unit = old ? 8 : 4;
	return ret_table->count && (old || ret_table->text) && ret_table->names < ret_table->size &&
			ret_table->functions < ret_table->size &&
			ret_table->count <
			(ret_table->size - ret_table->functions) / (2 * ret_table->unit);
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
		uint64_t begin = go_table_function_start(table, i),
			 end = go_table_function_start(table, i + 1);

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
		if (text && go_has_section(file)) {
			file->go_begin = text->address;
			file->go_end = text->address + text->size;
		}
		return 0;
	}
	file->go_begin = go_table_function_start(&table, 0);
	file->go_end = go_table_function_start(&table, table.count);
	return go_table_is_named(file, table.count) ? 0 : go_table_add_symbols(file, &table);
}

bool code_is_go(const struct code_file *file, uint64_t address)
{
	return address >= file->go_begin && address < file->go_end;
}
