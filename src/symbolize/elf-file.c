/* SPDX-License-Identifier: MIT */
/* Opens ELF files and reads their build ids and debug links. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/inside/hash.h"
#include "base/io.h"
#include "symbolize/module.h"

#define FILE_SIZE_MAX ((int64_t)16 << 30)

bool file_open(struct symbols_file *file, const char *path)
{
	struct stat found;

	*file = (struct symbols_file){.fd = -1};
	/* The path comes from a trace. Open regular files only: opening a device may have side
	   effects. */
	if (!stat(path, &found) && S_ISREG(found.st_mode))
		file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (file->fd < 0)
		return false;
	/* Read it instead of mapping it: an access to a mapped file that is truncated meanwhile
	   raises SIGBUS. */
	if (!fstat(file->fd, &found) && S_ISREG(found.st_mode) && found.st_size < FILE_SIZE_MAX &&
			elf_version(EV_CURRENT) != EV_NONE)
		file->elf = elf_begin(file->fd, ELF_C_READ, NULL);
	if (file->elf && elf_kind(file->elf) == ELF_K_ELF)
		return true;
	file_close(file);
	return false;
}

void file_close(struct symbols_file *file)
{
	if (file->elf)
		elf_end(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	*file = (struct symbols_file){.fd = -1};
}

uint64_t file_inode(const struct symbols_file *file)
{
	struct stat stat;

	return fstat(file->fd, &stat) ? 0 : stat.st_ino;
}

static size_t symbolize_elf_parse_build_id(Elf_Data *data, uint8_t id[SYMBOLS_BUILD_ID_MAX])
{
	size_t at = 0, name, content;
	GElf_Nhdr note;

	while (data && (at = gelf_getnote(data, at, &note, &name, &content)) > 0) {
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
				memcmp((char *)data->d_buf + name, "GNU", 4) != 0 ||
				note.n_descsz > SYMBOLS_BUILD_ID_MAX)
			continue;
		memcpy(id, (char *)data->d_buf + content, note.n_descsz);
		return note.n_descsz;
	}
	return 0;
}

/* Search sections, because segments of a file with only debug information have no content. */
size_t file_build_id(Elf *elf, uint8_t id[SYMBOLS_BUILD_ID_MAX])
{
	Elf_Scn *section = NULL;
	GElf_Phdr segment;
	size_t size = 0;

	while (!size && (section = elf_nextscn(elf, section))) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) && header.sh_type == SHT_NOTE)
			size = symbolize_elf_parse_build_id(elf_getdata(section, NULL), id);
	}
	for (int i = 0; !size && gelf_getphdr(elf, i, &segment); i++) {
		if (segment.p_type == PT_NOTE)
			size = symbolize_elf_parse_build_id(
					elf_getdata_rawchunk(elf, (int64_t)segment.p_offset,
							segment.p_filesz, ELF_T_NHDR),
					id);
	}
	return size;
}

static Elf_Scn *find_section(Elf *elf, const char *wanted, GElf_Shdr *ret_header)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		const char *name = gelf_getshdr(section, ret_header)
				? elf_strptr(elf, names, ret_header->sh_name)
				: NULL;

		if (name && !strcmp(name, wanted))
			return section;
	}
	return NULL;
}

bool file_has_section(Elf *elf, const char *name)
{
	GElf_Shdr header;

	return find_section(elf, name, &header) && header.sh_type != SHT_NOBITS;
}

Elf_Data *file_section_data(Elf *elf, const char *name)
{
	GElf_Shdr header;
	Elf_Scn *section = find_section(elf, name, &header);

	return section && header.sh_type != SHT_NOBITS ? elf_rawdata(section, NULL) : NULL;
}

/* The section: a name, zeros up to a multiple of four, the checksum. */
const char *file_debug_link(Elf *elf, uint32_t *sum)
{
	GElf_Shdr header;
	Elf_Scn *section = find_section(elf, ".gnu_debuglink", &header);
	Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;
	size_t length;

	if (!data || !data->d_buf)
		return NULL;
	length = strnlen(data->d_buf, data->d_size);
	if (!length || length == data->d_size || (length + 4) / 4 * 4 + 4 > data->d_size)
		return NULL;
	memcpy(sum, (char *)data->d_buf + (length + 4) / 4 * 4, 4);
	return data->d_buf;
}

int file_sum(int fd, uint32_t *ret_sum)
{
	size_t capacity = (size_t)1 << 20;
	unsigned char *bytes = malloc(capacity);
	uint32_t sum = HASH_CRC32_BEGIN;
	uint64_t at = 0;
	ssize_t got = bytes ? 1 : -ENOMEM;

	while (got > 0) {
		got = io_read_at(fd, bytes, capacity, at);
		if (got > 0) {
			sum = hash_crc32(sum, bytes, (size_t)got);
			at += (uint64_t)got;
		}
	}
	free(bytes);
	*ret_sum = sum;
	return (int)got;
}
