/* SPDX-License-Identifier: MIT */
/*
 * Reads the symbol table of a stripped file from its separate debug file.
 *
 * Searches by build ID and by debug link: in each directory of SIDE_DEBUG_PATH, beside the file, and
 * in /usr/lib/debug. Then it asks a server, if the user permits that. The debug file must have the
 * build ID of the file or, if the file has none, the checksum in the debug link.
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

#include "base/inside/hash.h"
#include "base/io.h"

#define STANDARD_FOLDER "/usr/lib/debug"
#define ID_MAX 64
#define TABLE_BYTES_MAX ((uint64_t)512 << 20)

#define SUM_BYTES_MAX ((uint64_t)4 << 30) /* of a file whose checksum is computed */

struct id {
	uint8_t bytes[ID_MAX];
	size_t size;
};

/* How the debug file is found and recognized. */
struct debug_link_search {
	struct code_file *file;
	struct id id;     /* size 0: the file has no build ID */
	const char *link; /* the name in .gnu_debuglink; NULL: none */
	uint32_t sum;     /* the checksum in .gnu_debuglink */
};

/* See code_use_server(). Set before files are opened, and by one thread. */
static code_fetch_fn *debug_link_fetch;

static bool debug_link_has_symbol_table(const struct code_file *file)
{
	for (size_t i = 0; i < file->nr_sections; i++) {
		if (file->sections[i].type == SHT_SYMTAB)
			return true;
	}
	return false;
}

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

/* The section: a name without directories, zeros up to a multiple of four, the checksum. */
static void debug_link_read_link(struct debug_link_search *search)
{
	size_t size, length;
	const uint8_t *bytes = code_section_bytes(
			search->file, code_section_named(search->file, ".gnu_debuglink"), &size);

	length = bytes ? strnlen((const char *)bytes, size) : 0;
	if (!length || length == size || (length + 4) / 4 * 4 + 4 > size)
		return;
	/* The name must not lead out of the directory. */
	if (memchr(bytes, '/', length))
		return;
	memcpy(&search->sum, bytes + (length + 4) / 4 * 4, 4);
	search->link = (const char *)bytes;
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

static bool debug_link_has_sum(int fd, uint32_t wanted)
{
	const size_t capacity = (size_t)1 << 20;
	unsigned char *bytes = malloc(capacity);
	uint32_t sum = HASH_CRC32_BEGIN;
	uint64_t at = 0;
	ssize_t got = bytes ? 1 : -ENOMEM;

	while (got > 0 && at < SUM_BYTES_MAX) {
		got = io_read_at(fd, bytes, capacity, at);
		if (got > 0) {
			sum = hash_crc32(sum, bytes, (size_t)got);
			at += (uint64_t)got;
		}
	}
	free(bytes);
	return !got && sum == wanted;
}

static bool debug_link_matches(const struct debug_link_search *search, int fd,
		const Elf64_Shdr *sections, size_t count)
{
	return search->id.size ? debug_link_has_id(fd, sections, count, &search->id)
			       : search->link && debug_link_has_sum(fd, search->sum);
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

static int debug_link_read_file(const struct debug_link_search *search, int fd)
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
	for (size_t i = 0; i < header.e_shnum && !ret && !search->file->debug_memory; i++) {
		if (sections[i].sh_type == SHT_SYMTAB && sections[i].sh_link < header.e_shnum &&
				sections[sections[i].sh_link].sh_type == SHT_STRTAB &&
				debug_link_matches(search, fd, sections, header.e_shnum))
			ret = debug_link_read_symbols(search->file, fd, &sections[i],
					&sections[sections[i].sh_link]);
	}
	free(sections);
	return ret;
}

/* Takes ownership of the path. NULL: none. */
static int debug_link_try_path(const struct debug_link_search *search, char *path)
{
	struct stat stat;
	int fd, ret = 0;

	if (!path)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	free(path);
	if (fd < 0)
		return 0;
	if (!fstat(fd, &stat) && S_ISREG(stat.st_mode))
		ret = debug_link_read_file(search, fd);
	close(fd);
	return ret;
}

static void debug_link_write_hex(const struct id *id, char hex[2 * ID_MAX + 1])
{
	*hex = '\0';
	for (size_t i = 0; i < id->size; i++)
		snprintf(hex + 2 * i, 3, "%02x", id->bytes[i]);
}

static char *debug_link_path_of_id(const char *folder, size_t length, const struct id *id)
{
	char hex[2 * ID_MAX + 1], *path;

	if (!id->size)
		return NULL;
	debug_link_write_hex(id, hex);
	if (asprintf(&path, "%.*s/.build-id/%.2s/%s.debug", (int)length, folder, hex, hex + 2) < 0)
		return NULL;
	return path;
}

/* The debug file in `folder`, followed by the directory of the file if `inside`. */
static char *debug_link_path_of_link(const struct debug_link_search *search, const char *folder,
		size_t length, bool inside, const char *middle)
{
	const char *own = search->file->path, *slash = strrchr(own, '/');
	char *path;

	/* A relative path is only for a directory beside the file. */
	if (!search->link || (length && inside && *own != '/'))
		return NULL;
	if (asprintf(&path, "%.*s%.*s%s%s%s", (int)length, folder,
			    inside && slash ? (int)(slash - own) : 0, own, middle,
			    length || slash ? "/" : "", search->link) < 0)
		return NULL;
	return path;
}

static int debug_link_try_directory(
		const struct debug_link_search *search, const char *folder, size_t length)
{
	int ret;

	if (!length)
		return 0;
	ret = debug_link_try_path(search, debug_link_path_of_id(folder, length, &search->id));
	for (unsigned int i = 0; i < 2 && !ret && !search->file->debug_memory; i++)
		ret = debug_link_try_path(
				search, debug_link_path_of_link(search, folder, length, !i, ""));
	return ret;
}

static int debug_link_try_beside(const struct debug_link_search *search)
{
	const char *slash = strrchr(search->file->path, '/');
	int ret = debug_link_try_path(search, debug_link_path_of_link(search, "", 0, true, ""));

	if (ret || search->file->debug_memory)
		return ret;
	return debug_link_try_path(search,
			debug_link_path_of_link(
					search, "", 0, true, slash ? "/.debug" : ".debug/"));
}

static int debug_link_try_environment(const struct debug_link_search *search)
{
	const char *folders = getenv("SIDE_DEBUG_PATH");
	int ret = 0;

	while (folders && *folders && !ret && !search->file->debug_memory) {
		size_t length = strcspn(folders, ":");

		ret = debug_link_try_directory(search, folders, length);
		folders += length + (folders[length] == ':');
	}
	return ret;
}

int code_read_debug_file(struct code_file *file)
{
	struct debug_link_search search = {.file = file};
	int ret;

	if (debug_link_has_symbol_table(file))
		return 0;
	if (!debug_link_own_id(file, &search.id))
		search.id.size = 0;
	debug_link_read_link(&search);
	ret = debug_link_try_environment(&search);
	if (!ret && !file->debug_memory)
		ret = debug_link_try_beside(&search);
	if (!ret && !file->debug_memory)
		ret = debug_link_try_directory(&search, STANDARD_FOLDER, strlen(STANDARD_FOLDER));
	if (!ret && !file->debug_memory && debug_link_fetch && search.id.size)
		ret = debug_link_try_path(
				&search, debug_link_fetch(search.id.bytes, search.id.size));
	return ret;
}

void code_use_server(code_fetch_fn *fetch)
{
	debug_link_fetch = fetch;
}

bool code_lacks_debug_file(const struct code_file *file, struct code_debug_file *ret_debug)
{
	struct debug_link_search search = {.file = (struct code_file *)(uintptr_t)file};

	*ret_debug = (struct code_debug_file){.asked_server = debug_link_fetch};
	if (file->debug_memory || debug_link_has_symbol_table(file) ||
			code_section_named(file, ".gnu_debugdata"))
		return false;
	if (debug_link_own_id(file, &search.id)) {
		char hex[2 * ID_MAX + 1];

		debug_link_write_hex(&search.id, hex);
		snprintf(ret_debug->path, sizeof(ret_debug->path),
				STANDARD_FOLDER "/.build-id/%.2s/%s.debug", hex, hex + 2);
		return true;
	}
	debug_link_read_link(&search);
	snprintf(ret_debug->path, sizeof(ret_debug->path), "%.150s",
			search.link ? search.link : "");
	return true;
}
