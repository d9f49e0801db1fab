/* SPDX-License-Identifier: MIT */
/*
 * Finds debug files as gdb does: by build ID, then by name beside the file, in .debug beside it,
 * and in the same directory below /usr/lib/debug.
 */
#include "tracers/validate/debug-file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/inside/hash.h"

#define FOLDER "/usr/lib/debug"
#define ID_MAX 64u
#define NAME_MAX_HERE 256u
/* The checksum of a larger file would take too long. */
#define FILE_MAX ((off_t)1 << 30)

/*
 * Buffers that are too large for the stack of a small thread or a signal handler; in pages that are
 * mapped for the duration of a call.
 */
struct debug_file_scratch {
	char file[PATH_MAX], folder[PATH_MAX];
	unsigned char bytes[4096];
};

struct build_id {
	unsigned char bytes[ID_MAX];
	size_t size; /* 0: none */
};

static bool validate_debug_read_at(int fd, void *to, size_t size, uint64_t at)
{
	return at <= INT64_MAX && pread(fd, to, size, (off_t)at) == (ssize_t)size;
}

static bool validate_debug_read_section(
		int fd, const ElfW(Ehdr) * header, unsigned int index, ElfW(Shdr) * section)
{
	return index < header->e_shnum && header->e_shentsize == sizeof(*section) &&
			validate_debug_read_at(fd, section, sizeof(*section),
					header->e_shoff + index * sizeof(*section));
}

bool validate_section(int fd, const ElfW(Ehdr) * header, const char *name, ElfW(Shdr) * ret_section)
{
	size_t size = strlen(name) + 1;
	ElfW(Shdr) names;
	char have[32];
	unsigned int i;

	if (size > sizeof(have) ||
			!validate_debug_read_section(fd, header, header->e_shstrndx, &names))
		return false;
	for (i = 1; validate_debug_read_section(fd, header, i, ret_section); i++) {
		if (ret_section->sh_type != SHT_NOBITS && ret_section->sh_name < names.sh_size &&
				validate_debug_read_at(fd, have, size,
						names.sh_offset + ret_section->sh_name) &&
				!memcmp(have, name, size))
			return true;
	}
	return false;
}

/* ---- checking a file ---- */

/* Read the first note of its section, as linkers write it. */
static void validate_debug_read_build_id(int fd, const ElfW(Ehdr) * header, struct build_id *ret_id)
{
	struct {
		ElfW(Nhdr) header;
		char name[4];
	} note;
	ElfW(Shdr) section;

	ret_id->size = 0;
	if (!validate_section(fd, header, ".note.gnu.build-id", &section) ||
			section.sh_size < sizeof(note) ||
			!validate_debug_read_at(fd, &note, sizeof(note), section.sh_offset) ||
			note.header.n_type != NT_GNU_BUILD_ID || note.header.n_namesz != 4 ||
			memcmp(note.name, "GNU", 4) || note.header.n_descsz < 2 ||
			note.header.n_descsz > sizeof(ret_id->bytes))
		return;
	if (validate_debug_read_at(fd, ret_id->bytes, note.header.n_descsz,
			    section.sh_offset + sizeof(note)))
		ret_id->size = note.header.n_descsz;
}

static bool validate_debug_has_checksum(int fd, uint32_t wanted, struct debug_file_scratch *scratch)
{
	uint32_t crc = HASH_CRC32_BEGIN;
	struct stat status;
	off_t at = 0;
	ssize_t nr;

	if (fstat(fd, &status) || status.st_size > FILE_MAX)
		return false;
	while ((nr = pread(fd, scratch->bytes, sizeof(scratch->bytes), at)) > 0) {
		crc = hash_crc32(crc, scratch->bytes, (size_t)nr);
		at += nr;
	}
	return crc == wanted;
}

/*
 * Open the file if it matches: by its checksum, or, if `checksum` and `scratch` are NULL, by its
 * build ID. Returns a descriptor or -1.
 */
static int validate_debug_open_same(const char *path, const ElfW(Ehdr) * header,
		const struct build_id *id, const uint32_t *checksum,
		struct debug_file_scratch *scratch)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct build_id other;
	ElfW(Ehdr) others;
	bool same;

	if (fd < 0)
		return -1;
	same = validate_debug_read_at(fd, &others, sizeof(others), 0) &&
			!memcmp(others.e_ident, header->e_ident, EI_VERSION + 1) &&
			others.e_machine == header->e_machine;
	if (same && id->size) {
		validate_debug_read_build_id(fd, &others, &other);
		same = other.size == id->size && !memcmp(other.bytes, id->bytes, id->size);
	} else if (same) {
		same = checksum && validate_debug_has_checksum(fd, *checksum, scratch);
	}
	if (same)
		return fd;
	(void)close(fd);
	return -1;
}

/* ---- finding a file ---- */

static int validate_debug_open_by_id(const ElfW(Ehdr) * header, const struct build_id *id)
{
	char path[sizeof(FOLDER "/.build-id/") + 2 * ID_MAX + 8];
	int used = snprintf(path, sizeof(path), FOLDER "/.build-id/%02x/", id->bytes[0]);
	size_t i;

	for (i = 1; i < id->size; i++)
		used += snprintf(path + used, sizeof(path) - (size_t)used, "%02x", id->bytes[i]);
	(void)snprintf(path + used, sizeof(path) - (size_t)used, ".debug");
	return validate_debug_open_same(path, header, id, NULL, NULL);
}

/* Read .gnu_debuglink: a name, zeros up to a multiple of four, a checksum. */
static bool validate_debug_read_link(
		int fd, const ElfW(Ehdr) * header, char name[NAME_MAX_HERE], uint32_t *ret_checksum)
{
	ElfW(Shdr) section;
	size_t size;

	if (!validate_section(fd, header, ".gnu_debuglink", &section) || section.sh_size < 8 ||
			section.sh_size > NAME_MAX_HERE)
		return false;
	if (!validate_debug_read_at(fd, name, section.sh_size, section.sh_offset))
		return false;
	size = strnlen(name, section.sh_size - 4);
	if (!size || size == section.sh_size - 4 || strchr(name, '/'))
		return false;
	memcpy(ret_checksum, name + section.sh_size - 4, sizeof(*ret_checksum));
	return true;
}

static int validate_debug_open_by_name(
		int fd, const char *path, const ElfW(Ehdr) * header, const struct build_id *id)
{
	char name[NAME_MAX_HERE], self[64], *folder;
	struct debug_file_scratch *scratch;
	const char *slash;
	uint32_t checksum;
	ssize_t size;
	size_t i;
	int found = -1;

	if (!validate_debug_read_link(fd, header, name, &checksum))
		return -1;
	scratch = mmap(NULL, sizeof(*scratch), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	if (scratch == MAP_FAILED)
		return -1;
	folder = scratch->folder;
	/* The path may be a symbolic link, at least if it is /proc/self/exe. */
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	size = readlink(self, folder, sizeof(scratch->folder) - 1);
	if (size > 0)
		folder[size] = '\0';
	else
		(void)snprintf(folder, sizeof(scratch->folder), "%s", path);
	slash = strrchr(folder, '/');
	for (i = 0; slash && found < 0 && i < 3; i++) {
		int length = snprintf(scratch->file, sizeof(scratch->file), "%s%.*s%s%s",
				i == 2 ? FOLDER : "", (int)(slash - folder), folder,
				i == 1 ? "/.debug/" : "/", name);

		if (length > 0 && length < (int)sizeof(scratch->file))
			found = validate_debug_open_same(
					scratch->file, header, id, &checksum, scratch);
	}
	(void)munmap(scratch, sizeof(*scratch));
	return found;
}

int validate_debug_file(int fd, const char *path, const ElfW(Ehdr) * header)
{
	struct build_id id;
	int found = -1;

	validate_debug_read_build_id(fd, header, &id);
	if (id.size)
		found = validate_debug_open_by_id(header, &id);
	return found >= 0 ? found : validate_debug_open_by_name(fd, path, header, &id);
}
