/* SPDX-License-Identifier: MIT */
/* Writes ELF files of both classes and both byte orders, field by field. */
#ifndef TESTS_ELF_ELF_WRITER_H
#define TESTS_ELF_ELF_WRITER_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define WRITER_SIZE (9u << 20)
#define WRITER_SECTIONS 24

struct writer_section {
	const char *name;
	uint32_t type, link, info;
	uint64_t flags, address, offset, size, alignment, entry;
};

static struct {
	unsigned char bytes[WRITER_SIZE];
	size_t size;
	bool is_wide, is_big;
	unsigned int nr_segments;
	struct writer_section sections[WRITER_SECTIONS];
	unsigned int nr_sections;
} elf;

static inline void elf_put(size_t at, uint64_t value, unsigned int size)
{
	for (unsigned int i = 0; i < size; i++)
		elf.bytes[at + (elf.is_big ? size - 1 - i : i)] = (unsigned char)(value >> 8 * i);
	if (elf.size < at + size)
		elf.size = at + size;
}

static inline unsigned int elf_width(void)
{
	return elf.is_wide ? 8 : 4;
}

/* Writes the header. Program headers follow it, contents must begin at 1024 or later. */
static inline void elf_begin_file(
		bool is_wide, bool is_big, unsigned int machine, unsigned int type)
{
	size_t after = is_wide ? 24 + 3 * 8 : 24 + 3 * 4;

	memset(elf.bytes, 0, elf.size);
	elf.size = 1024;
	elf.is_wide = is_wide;
	elf.is_big = is_big;
	elf.nr_segments = 0;
	elf.nr_sections = 1;
	memcpy(elf.bytes, ELFMAG, SELFMAG);
	elf.bytes[EI_CLASS] = is_wide ? ELFCLASS64 : ELFCLASS32;
	elf.bytes[EI_DATA] = is_big ? ELFDATA2MSB : ELFDATA2LSB;
	elf.bytes[EI_VERSION] = EV_CURRENT;
	elf_put(16, type, 2);
	elf_put(18, machine, 2);
	elf_put(20, EV_CURRENT, 4);
	elf_put(after + 4, is_wide ? 64 : 52, 2);
}

static inline void elf_add_segment(uint32_t type, uint64_t address, uint64_t offset,
		uint64_t file_size, uint64_t memory_size, uint32_t flags)
{
	const unsigned int width = elf_width(), header = elf.is_wide ? 56 : 32;
	const size_t counts = (elf.is_wide ? 48 : 36) + 6, begin = elf.is_wide ? 64 : 52;
	size_t at = begin + (size_t)elf.nr_segments * header;

	elf_put(24 + width, begin, width);
	elf_put(counts, header, 2);
	elf_put(counts + 2, ++elf.nr_segments, 2);
	elf_put(at, type, 4);
	elf_put(at + (elf.is_wide ? 4 : 24), flags, 4);
	at += elf.is_wide ? 8 : 4;
	elf_put(at, offset, width);
	elf_put(at + width, address, width);
	elf_put(at + 3 * width, file_size, width);
	elf_put(at + 4 * width, memory_size, width);
}

static inline unsigned int elf_add_section(const struct writer_section *section)
{
	elf.sections[elf.nr_sections] = *section;
	return elf.nr_sections++;
}

static inline void elf_put_section(size_t at, uint32_t name, const struct writer_section *section)
{
	const unsigned int width = elf_width();

	elf_put(at, name, 4);
	elf_put(at + 4, section->type, 4);
	elf_put(at + 8, section->flags, width);
	elf_put(at + 8 + width, section->address, width);
	elf_put(at + 8 + 2 * width, section->offset, width);
	elf_put(at + 8 + 3 * width, section->size, width);
	elf_put(at + 8 + 4 * width, section->link, 4);
	elf_put(at + 12 + 4 * width, section->info, 4);
	elf_put(at + 16 + 4 * width, section->alignment, width);
	elf_put(at + 16 + 5 * width, section->entry, width);
}

/*
 * Writes the names of the sections and their headers at the end of the file. Returns where the
 * headers begin.
 */
static inline size_t elf_finish(void)
{
	const unsigned int width = elf_width(), header = elf.is_wide ? 64 : 40;
	const size_t counts = (elf.is_wide ? 48 : 36) + 10;
	struct writer_section names = {.name = ".shstrtab", .type = SHT_STRTAB};
	size_t begin, at;

	names.offset = elf.size;
	names.size = 1;
	elf_add_section(&names);
	elf.size++;
	for (unsigned int i = 1; i < elf.nr_sections; i++) {
		const char *name = elf.sections[i].name;

		memcpy(elf.bytes + elf.size, name, strlen(name) + 1);
		elf.size += strlen(name) + 1;
	}
	elf.sections[elf.nr_sections - 1].size = elf.size - names.offset;
	begin = at = (elf.size + 7) / 8 * 8;
	elf_put(24 + 2 * width, begin, width);
	elf_put(counts, header, 2);
	elf_put(counts + 2, elf.nr_sections, 2);
	elf_put(counts + 4, elf.nr_sections - 1, 2);
	elf_put_section(at, 0, &(struct writer_section){.type = SHT_NULL});
	for (unsigned int i = 1, name = 1; i < elf.nr_sections; i++) {
		at += header;
		elf_put_section(at, name, &elf.sections[i]);
		name += (unsigned int)strlen(elf.sections[i].name) + 1;
	}
	return begin;
}

static inline size_t elf_symbol_size(void)
{
	return elf.is_wide ? 24 : 16;
}

static inline void elf_put_symbol(size_t table, unsigned int index, uint32_t name,
		unsigned int type, unsigned int section, uint64_t value, uint64_t size)
{
	size_t at = table + index * elf_symbol_size();

	elf_put(at, name, 4);
	elf_put(at + (elf.is_wide ? 4 : 12), STB_GLOBAL << 4 | type, 1);
	elf_put(at + (elf.is_wide ? 6 : 14), section, 2);
	elf_put(at + (elf.is_wide ? 8 : 4), value, elf_width());
	elf_put(at + (elf.is_wide ? 16 : 8), size, elf_width());
}

/* Writes an entry of SHT_RELA, or of SHT_REL if its addend is in the relocated bytes. */
static inline void elf_put_relocation(size_t table, unsigned int index, bool in_place,
		uint64_t offset, unsigned int symbol, unsigned int type, uint64_t addend)
{
	const unsigned int width = elf_width();
	size_t at = table + index * (size_t)width * (in_place ? 2 : 3);

	elf_put(at, offset, width);
	elf_put(at + width, elf.is_wide ? (uint64_t)symbol << 32 | type : symbol << 8 | type,
			width);
	if (!in_place)
		elf_put(at + 2 * width, addend, width);
}

#endif /* TESTS_ELF_ELF_WRITER_H */
