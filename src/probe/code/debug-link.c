/* SPDX-License-Identifier: MIT */
/*
 * Reads the symbol table of a stripped file from its separate debug file, which is found by the
 * build ID in each directory of SIDE_DEBUG_PATH and in /usr/lib/debug.
 */
#include "parts.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

#define STANDARD_FOLDER "/usr/lib/debug"
#define ID_MAX 64
#define TABLE_BYTES_MAX ((uint64_t)512 << 20)

struct id {
	uint8_t bytes[ID_MAX];
	size_t size;
};

/* Finds the build ID in the bytes of notes. */
static bool debug_link_find_build_id(const uint8_t *bytes, size_t size, struct id *ret_id)
{
	for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= size;) {
		Elf64_Nhdr note;
		size_t name, content;

		memcpy(&note, bytes + at, sizeof(note));
		name = at + sizeof(note);
		content = name + (((size_t)note.n_namesz + 3) & ~(size_t)3);
		at = content + (((size_t)note.n_descsz + 3) & ~(size_t)3);
		if (content > size || note.n_descsz > size - content)
			return false;
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
				memcmp(bytes + name, "GNU", 4) != 0 || note.n_descsz > ID_MAX ||
				note.n_descsz < 2)
			continue;
		memcpy(ret_id->bytes, bytes + content, note.n_descsz);
		ret_id->size = note.n_descsz;
		return true;
	}
	return false;
}

static bool debug_link_own_id(const struct code_file *file, struct id *ret_id)
{
	for (size_t i = 0; i < file->nr_sections; i++) {
		size_t size;
		const uint8_t *bytes;

		if (file->sections[i].type != SHT_NOTE)
			continue;
		bytes = code_section_bytes(file, &file->sections[i], &size);
		if (bytes && debug_link_find_build_id(bytes, size, ret_id))
			return true;
	}
	return false;
}

/* ---- the debug file ---- */

/* The caller frees the result. */
static uint8_t *debug_link_read_part(int fd, uint64_t offset, uint64_t size)
{
	uint8_t *bytes = size && size <= TABLE_BYTES_MAX && offset <= INT64_MAX - size
			? malloc(size)
			: NULL;

	if (bytes && io_read_exactly_at(fd, bytes, size, offset)) {
		free(bytes);
		return NULL;
	}
	return bytes;
}

static bool debug_link_has_id(int fd, const Elf64_Shdr *sections, size_t count, const struct id *id)
{
	struct id found = {.size = 0};

	for (size_t i = 0; i < count && !found.size; i++) {
		uint8_t *bytes = sections[i].sh_type == SHT_NOTE
				? debug_link_read_part(
						  fd, sections[i].sh_offset, sections[i].sh_size)
				: NULL;

		if (bytes)
			(void)debug_link_find_build_id(bytes, sections[i].sh_size, &found);
		free(bytes);
	}
	return found.size == id->size && !memcmp(found.bytes, id->bytes, id->size);
}

/* Reads symbols and names. The names must remain in memory. */
static int debug_link_read_symbols(
		struct code_file *file, int fd, const Elf64_Shdr *symbols, const Elf64_Shdr *names)
{
	uint8_t *table = debug_link_read_part(fd, symbols->sh_offset, symbols->sh_size),
		*text = debug_link_read_part(fd, names->sh_offset, names->sh_size);
	int ret = 0;

	if (table && text) {
		ret = code_read_names(
				file, table, symbols->sh_size, (const char *)text, names->sh_size);
		file->debug_memory = text;
		text = NULL;
	}
	free(table);
	free(text);
	return ret;
}

static int debug_link_read_file(struct code_file *file, int fd, const struct id *id)
{
	Elf64_Ehdr header;
	Elf64_Shdr *sections;
	int ret = 0;

	if (io_read_exactly_at(fd, &header, sizeof(header), 0) ||
			memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
			header.e_ident[EI_CLASS] != ELFCLASS64 ||
			header.e_shentsize != sizeof(Elf64_Shdr))
		return 0;
	sections = (void *)debug_link_read_part(
			fd, header.e_shoff, (uint64_t)header.e_shnum * sizeof(*sections));
	if (!sections)
		return 0;
	for (size_t i = 0; i < header.e_shnum && !ret && !file->debug_memory; i++) {
		if (sections[i].sh_type == SHT_SYMTAB && sections[i].sh_link < header.e_shnum &&
				sections[sections[i].sh_link].sh_type == SHT_STRTAB &&
				debug_link_has_id(fd, sections, header.e_shnum, id))
			ret = debug_link_read_symbols(
					file, fd, &sections[i], &sections[sections[i].sh_link]);
	}
	free(sections);
	return ret;
}

static int debug_link_try_directory(
		struct code_file *file, const char *folder, size_t length, const struct id *id)
{
	char hex[2 * ID_MAX + 1] = "", *path;
	struct stat stat;
	int fd, ret = 0;

	for (size_t i = 0; i < id->size; i++)
		snprintf(hex + 2 * i, 3, "%02x", id->bytes[i]);
	if (!length ||
			asprintf(&path, "%.*s/.build-id/%.2s/%s.debug", (int)length, folder, hex,
					hex + 2) < 0)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	free(path);
	if (fd < 0)
		return 0;
	if (!fstat(fd, &stat) && S_ISREG(stat.st_mode))
		ret = debug_link_read_file(file, fd, id);
	close(fd);
	return ret;
}

int code_read_debug_file(struct code_file *file)
{
	const char *folders = getenv("SIDE_DEBUG_PATH");
	struct id id;
	int ret = 0;

	for (size_t i = 0; i < file->nr_sections; i++) {
		if (file->sections[i].type == SHT_SYMTAB)
			return 0;
	}
	if (!debug_link_own_id(file, &id))
		return 0;
	while (folders && *folders && !ret && !file->debug_memory) {
		size_t length = strcspn(folders, ":");

		ret = debug_link_try_directory(file, folders, length, &id);
		folders += length + (folders[length] == ':');
	}
	if (ret || file->debug_memory)
		return ret;
	return debug_link_try_directory(file, STANDARD_FOLDER, strlen(STANDARD_FOLDER), &id);
}
