/* SPDX-License-Identifier: MIT */
/*
 * Reads the segments and dynamic symbols of an ELF file.
 *
 * The file belongs to the program and may contain anything: each offset and size is checked against
 * what was read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/parts.h"
#include "base/io.h"

#define TABLE_MAX (64u << 20) /* bytes of a table */

/*
 * Read `size` bytes and append a 0. Returns malloc'ed memory, or NULL with errno: ENOEXEC if the
 * file is too short.
 */
static void *attach_elf_read_part(int fd, uint64_t offset, uint64_t size)
{
	struct stat status;
	char *bytes;
	int ret;

	if (fstat(fd, &status))
		return NULL;
	errno = ENOEXEC;
	if (!size || size > TABLE_MAX || status.st_size < 0 || offset > (uint64_t)status.st_size ||
			size > (uint64_t)status.st_size - offset)
		return NULL;
	bytes = malloc(size + 1);
	if (!bytes)
		return NULL;
	bytes[size] = 0;
	ret = io_read_exactly_at(fd, bytes, size, offset);
	if (!ret)
		return bytes;
	free(bytes);
	errno = ret == -ENODATA ? ENOEXEC : -ret;
	return NULL;
}

/* Read a table. A malformed table is not an error: the file then has no symbols. */
static int attach_elf_read_table(int fd, uint64_t offset, uint64_t size, void *ret_table)
{
	void *table = attach_elf_read_part(fd, offset, size);
	int ret = table || errno == ENOEXEC ? 0 : -errno;

	memcpy(ret_table, &table, sizeof(table));
	return ret;
}

/* Read the dynamic symbols. A file without a section table has no symbols. */
static int attach_elf_read_symbols(int fd, const Elf64_Ehdr *header, struct inject_elf *elf)
{
	Elf64_Shdr *sections = NULL;
	const Elf64_Shdr *names;
	int ret = 0;
	size_t i;

	if (header->e_shentsize == sizeof(*sections))
		ret = attach_elf_read_table(fd, header->e_shoff,
				header->e_shnum * sizeof(*sections), &sections);
	for (i = 0; sections && i < header->e_shnum; i++) {
		if (sections[i].sh_type != SHT_DYNSYM || sections[i].sh_link >= header->e_shnum)
			continue;
		names = &sections[sections[i].sh_link];
		ret = attach_elf_read_table(
				fd, sections[i].sh_offset, sections[i].sh_size, &elf->symbols);
		if (!ret)
			ret = attach_elf_read_table(
					fd, names->sh_offset, names->sh_size, &elf->names);
		if (elf->symbols && elf->names) {
			elf->nr_symbols = sections[i].sh_size / sizeof(*elf->symbols);
			elf->names_size = names->sh_size;
		}
		break;
	}
	free(sections);
	return ret;
}

int inject_elf_read(int fd, struct inject_elf *ret_elf)
{
	Elf64_Ehdr header;
	ssize_t got;
	size_t i;
	int ret;

	*ret_elf = (struct inject_elf){.machine = EM_NONE};
	got = io_read_at(fd, &header, sizeof(header), 0);
	if (got < 0)
		return (int)got;
	if (got < (ssize_t)sizeof(Elf32_Ehdr) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	ret_elf->class = header.e_ident[EI_CLASS];
	ret_elf->machine = header.e_machine;
	ret_elf->type = header.e_type;
	if (ret_elf->class != ELFCLASS64)
		return 0;
	if (header.e_phentsize != sizeof(*ret_elf->headers))
		return -ENOEXEC;
	ret_elf->headers = attach_elf_read_part(
			fd, header.e_phoff, header.e_phnum * sizeof(*ret_elf->headers));
	if (!ret_elf->headers)
		return -errno;
	ret_elf->nr_headers = header.e_phnum;
	for (i = 0; i < ret_elf->nr_headers; i++)
		ret_elf->interpreter |= ret_elf->headers[i].p_type == PT_INTERP;
	ret = attach_elf_read_symbols(fd, &header, ret_elf);
	if (ret)
		inject_elf_free(ret_elf);
	return ret;
}

void inject_elf_free(struct inject_elf *elf)
{
	free(elf->headers);
	free(elf->symbols);
	free(elf->names);
	*elf = (struct inject_elf){.machine = EM_NONE};
}

static const char *attach_elf_get_name(const struct inject_elf *elf, const Elf64_Sym *symbol)
{
	return symbol->st_name < elf->names_size ? elf->names + symbol->st_name : "";
}

static bool attach_elf_is_function(const Elf64_Sym *symbol)
{
	return symbol->st_shndx != SHN_UNDEF && symbol->st_value &&
			ELF64_ST_TYPE(symbol->st_info) == STT_FUNC;
}

uint64_t inject_elf_function(const struct inject_elf *elf, const char *name)
{
	size_t i;

	for (i = 0; i < elf->nr_symbols; i++)
		if (attach_elf_is_function(&elf->symbols[i]) &&
				!strcmp(attach_elf_get_name(elf, &elf->symbols[i]), name))
			return elf->symbols[i].st_value;
	return 0;
}

uint64_t inject_elf_object(const struct inject_elf *elf, const char *name)
{
	size_t i;

	for (i = 0; i < elf->nr_symbols; i++)
		if (elf->symbols[i].st_shndx != SHN_UNDEF &&
				ELF64_ST_TYPE(elf->symbols[i].st_info) == STT_OBJECT &&
				!strcmp(attach_elf_get_name(elf, &elf->symbols[i]), name))
			return elf->symbols[i].st_value;
	return 0;
}

const char *inject_elf_name(const struct inject_elf *elf, uint64_t value)
{
	size_t i;

	for (i = 0; i < elf->nr_symbols; i++)
		if (attach_elf_is_function(&elf->symbols[i]) && value >= elf->symbols[i].st_value &&
				value - elf->symbols[i].st_value < elf->symbols[i].st_size)
			return attach_elf_get_name(elf, &elf->symbols[i]);
	return NULL;
}

bool inject_elf_bias(
		const struct inject_elf *elf, uint64_t offset, uint64_t address, uint64_t *ret_bias)
{
	size_t i;

	for (i = 0; i < elf->nr_headers; i++) {
		const Elf64_Phdr *header = &elf->headers[i];
		uint64_t begin = header->p_offset & ~(uint64_t)(INJECT_PAGE - 1);

		if (header->p_type != PT_LOAD || offset < begin ||
				offset - begin >= header->p_filesz + (header->p_offset - begin))
			continue;
		*ret_bias = address - (header->p_vaddr - header->p_offset + offset);
		return true;
	}
	return false;
}

uint64_t inject_elf_find_space(const struct inject_elf *elf, size_t size)
{
	size_t i;

	for (i = 0; i < elf->nr_headers; i++) {
		const Elf64_Phdr *header = &elf->headers[i];
		uint64_t end = (header->p_vaddr + header->p_memsz + 15) & ~UINT64_C(15);
		uint64_t page = (end + INJECT_PAGE - 1) & ~(uint64_t)(INJECT_PAGE - 1);

		if (header->p_type == PT_LOAD && (header->p_flags & PF_X) &&
				!(header->p_flags & PF_W) && header->p_memsz &&
				header->p_memsz == header->p_filesz && page - end >= size)
			return end;
	}
	return 0;
}
