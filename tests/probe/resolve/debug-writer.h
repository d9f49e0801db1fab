/* SPDX-License-Identifier: MIT */
/* Debug information that a test writes entry by entry: one unit of DWARF 4 in a file in memory. */
#ifndef TESTS_PROBE_RESOLVE_DEBUG_WRITER_H
#define TESTS_PROBE_RESOLVE_DEBUG_WRITER_H

#include <elf.h>
#include <string.h>

#include <dwarf.h>
#include <elfutils/libdw.h>

#define DWARF_BYTES 65536

struct dwarf {
	struct {
		Elf64_Ehdr header;
		Elf64_Shdr sections[5];
		char names[48];
		uint8_t info[DWARF_BYTES], abbreviations[DWARF_BYTES], lists[DWARF_BYTES];
	} file;
	size_t info_size, abbreviations_size, lists_size;
	unsigned int code; /* of the entry that is being written */
	Elf *elf;
	Dwarf *handle;
};

static inline void dwarf_put(struct dwarf *dwarf, const void *bytes, size_t size)
{
	assert_true(size <= DWARF_BYTES - dwarf->info_size);
	memcpy(dwarf->file.info + dwarf->info_size, bytes, size);
	dwarf->info_size += size;
}

static inline size_t dwarf_leb128(uint8_t to[10], uint64_t value)
{
	size_t size = 0;

	do {
		to[size++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		value >>= 7;
	} while (value);
	return size;
}

static inline void dwarf_put_leb128(struct dwarf *dwarf, uint64_t value)
{
	uint8_t bytes[10];

	dwarf_put(dwarf, bytes, dwarf_leb128(bytes, value));
}

static inline void dwarf_abbreviate(struct dwarf *dwarf, uint64_t value)
{
	assert_true(dwarf->abbreviations_size + 10 <= DWARF_BYTES);
	dwarf->abbreviations_size +=
			dwarf_leb128(dwarf->file.abbreviations + dwarf->abbreviations_size, value);
}

/*
 * Begins an entry, which ends the attributes of the entry before. Returns the position of the new
 * entry.
 */
static inline uint32_t dwarf_entry(struct dwarf *dwarf, unsigned int tag, bool has_children)
{
	uint32_t offset = (uint32_t)dwarf->info_size;

	if (dwarf->code) {
		dwarf_abbreviate(dwarf, 0);
		dwarf_abbreviate(dwarf, 0);
	}
	dwarf_abbreviate(dwarf, ++dwarf->code);
	dwarf_abbreviate(dwarf, tag);
	dwarf_abbreviate(dwarf, has_children);
	dwarf_put_leb128(dwarf, dwarf->code);
	return offset;
}

static inline void dwarf_attribute(struct dwarf *dwarf, unsigned int name, unsigned int form)
{
	dwarf_abbreviate(dwarf, name);
	dwarf_abbreviate(dwarf, form);
}

static inline void dwarf_number(struct dwarf *dwarf, unsigned int name, uint64_t value)
{
	dwarf_attribute(dwarf, name, DW_FORM_udata);
	dwarf_put_leb128(dwarf, value);
}

static inline void dwarf_negative(struct dwarf *dwarf, unsigned int name, int64_t value)
{
	dwarf_attribute(dwarf, name, DW_FORM_data8);
	dwarf_put(dwarf, &value, 8);
}

static inline void dwarf_text(struct dwarf *dwarf, unsigned int name, const char *text)
{
	dwarf_attribute(dwarf, name, DW_FORM_string);
	dwarf_put(dwarf, text, strlen(text) + 1);
}

static inline void dwarf_flag(struct dwarf *dwarf, unsigned int name)
{
	dwarf_attribute(dwarf, name, DW_FORM_flag_present);
}

static inline void dwarf_reference(struct dwarf *dwarf, unsigned int name, uint32_t offset)
{
	dwarf_attribute(dwarf, name, DW_FORM_ref4);
	dwarf_put(dwarf, &offset, 4);
}

static inline void dwarf_expression(
		struct dwarf *dwarf, unsigned int name, const uint8_t *bytes, size_t size)
{
	dwarf_attribute(dwarf, name, DW_FORM_exprloc);
	dwarf_put_leb128(dwarf, size);
	dwarf_put(dwarf, bytes, size);
}

/* An attribute whose value is the location list of the next entries. */
static inline void dwarf_list(struct dwarf *dwarf, unsigned int name)
{
	uint32_t offset = (uint32_t)dwarf->lists_size;

	dwarf_attribute(dwarf, name, DW_FORM_sec_offset);
	dwarf_put(dwarf, &offset, 4);
}

static inline void dwarf_list_entry(struct dwarf *dwarf, uint64_t begin, uint64_t end,
		const uint8_t *bytes, uint16_t size)
{
	uint8_t *to = dwarf->file.lists + dwarf->lists_size;

	assert_true(dwarf->lists_size + 18 + size <= DWARF_BYTES);
	memcpy(to, &begin, 8);
	memcpy(to + 8, &end, 8);
	memcpy(to + 16, &size, 2);
	memcpy(to + 18, bytes, size);
	dwarf->lists_size += 18u + size;
}

static inline void dwarf_end_list(struct dwarf *dwarf)
{
	assert_true(dwarf->lists_size + 16 <= DWARF_BYTES);
	dwarf->lists_size += 16;
}

/* Ends the list of children. */
static inline void dwarf_end_children(struct dwarf *dwarf)
{
	dwarf_put(dwarf, "", 1);
}

static inline void dwarf_begin_unit(
		struct dwarf *dwarf, unsigned int language, const char *producer)
{
	/* Length, version, abbreviations, bytes of an address. */
	static const uint8_t header[11] = {0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8};

	memset(dwarf, 0, sizeof(*dwarf));
	dwarf_put(dwarf, header, sizeof(header));
	(void)dwarf_entry(dwarf, DW_TAG_compile_unit, true);
	dwarf_number(dwarf, DW_AT_language, language);
	dwarf_text(dwarf, DW_AT_producer, producer);
}

static inline void dwarf_section(struct dwarf *dwarf, unsigned int index, unsigned int name,
		const void *begin, size_t size)
{
	dwarf->file.sections[index] = (Elf64_Shdr){.sh_name = name,
			.sh_type = index == 1 ? SHT_STRTAB : SHT_PROGBITS,
			.sh_offset = (uint64_t)((const char *)begin - (const char *)&dwarf->file),
			.sh_size = size,
			.sh_addralign = 1};
}

/* Completes the unit: from here on, entries can be read. */
static inline void dwarf_open(struct dwarf *dwarf)
{
	static const char names[] = "\0.shstrtab\0.debug_info\0.debug_abbrev\0.debug_loc";
	uint32_t length;

	dwarf_end_children(dwarf);
	for (unsigned int i = 0; i < 3; i++)
		dwarf_abbreviate(dwarf, 0);
	length = (uint32_t)dwarf->info_size - 4;
	memcpy(dwarf->file.info, &length, 4);
	memcpy(dwarf->file.names, names, sizeof(names));
	dwarf->file.header = (Elf64_Ehdr){.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_shoff = sizeof(Elf64_Ehdr),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 5,
			.e_shstrndx = 1};
	memcpy(dwarf->file.header.e_ident, ELFMAG, SELFMAG);
	dwarf->file.header.e_ident[EI_CLASS] = ELFCLASS64;
	dwarf->file.header.e_ident[EI_DATA] = ELFDATA2LSB;
	dwarf->file.header.e_ident[EI_VERSION] = EV_CURRENT;
	dwarf_section(dwarf, 1, 1, dwarf->file.names, sizeof(names));
	dwarf_section(dwarf, 2, 11, dwarf->file.info, dwarf->info_size);
	dwarf_section(dwarf, 3, 23, dwarf->file.abbreviations, dwarf->abbreviations_size);
	dwarf_section(dwarf, 4, 37, dwarf->file.lists, dwarf->lists_size);
	(void)elf_version(EV_CURRENT);
	dwarf->elf = elf_memory((char *)&dwarf->file, sizeof(dwarf->file));
	assert_non_null(dwarf->elf);
	dwarf->handle = dwarf_begin_elf(dwarf->elf, DWARF_C_READ, NULL);
	assert_non_null(dwarf->handle);
}

static inline Dwarf_Die dwarf_die(struct dwarf *dwarf, uint32_t offset)
{
	Dwarf_Die die;

	assert_non_null(dwarf_offdie(dwarf->handle, offset, &die));
	return die;
}

static inline void dwarf_close(struct dwarf *dwarf)
{
	(void)dwarf_end(dwarf->handle);
	(void)elf_end(dwarf->elf);
}

#endif
