/* SPDX-License-Identifier: MIT */
/*
 * The build id of a library, and the name of the file with its debug information.
 *
 * The build id is read from the mapped library, because its file may have been replaced; and by a
 * system call, because another thread may unmap the library meanwhile. The debug link is not
 * mapped, so it is read from the file, if that is still the same.
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "tracers/agent/core/library-files.h"
#include "base/inside/own-table.h"
#include "base/inside/raw.h"

#define NOTES_MAX 4096
#define SECTIONS_MAX 512
#define SEGMENTS_MAX 64

typedef ElfW(Ehdr) header_t;
typedef ElfW(Phdr) segment_t;
typedef ElfW(Shdr) section_t;

/* The file, or (fd < 0) the memory behind its first mapping. */
struct library_source {
	int fd;
	uint64_t base;
};

static bool library_file_read_bytes(
		const struct library_source *source, uint64_t at, void *to, size_t size)
{
	struct iovec local = {.iov_base = to, .iov_len = size};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)(source->base + at), .iov_len = size};
	long got;

	if (source->fd >= 0)
		got = raw_call(SYS_pread64, source->fd, to, size, (long)at);
	else
		got = raw_call(SYS_process_vm_readv, raw_call(SYS_getpid), &local, 1L, &remote, 1L,
				0L);
	return got == (long)size;
}

static bool library_file_read_header(const struct library_source *source, header_t *header)
{
	return library_file_read_bytes(source, 0, header, sizeof(*header)) &&
			!memcmp(header->e_ident, ELFMAG, SELFMAG) &&
			header->e_phentsize == sizeof(segment_t);
}

static bool library_file_parse_note(
		const unsigned char *notes, size_t size, struct base_identity *identity)
{
	ElfW(Nhdr) note;
	size_t at = 0;

	while (size - at >= sizeof(note)) {
		size_t name, id;

		memcpy(&note, notes + at, sizeof(note));
		name = at + sizeof(note);
		id = name + ((size_t)note.n_namesz + 3) / 4 * 4;
		if (id > size || note.n_descsz > size - id)
			return false;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
				!memcmp(notes + name, "GNU", 4) &&
				note.n_descsz <= BASE_BUILD_ID_MAX) {
			memcpy(identity->build_id, notes + id, note.n_descsz);
			identity->build_id_size = note.n_descsz;
			return true;
		}
		at = id + ((size_t)note.n_descsz + 3) / 4 * 4;
		if (at > size)
			return false;
	}
	return false;
}

/* With the event lock: not on the stack, which may be a signal handler's. */
static union {
	unsigned char notes[NOTES_MAX];
	char locks[OWN_TABLE_TEXT];
} buffer;

/* The first segment begins at a page, and the library's base is where that page is. */
static uint64_t first_address(const struct library_source *source, const header_t *header)
{
	segment_t segment;
	unsigned int i;

	for (i = 0; i < header->e_phnum && i < SEGMENTS_MAX; i++)
		if (library_file_read_bytes(source, header->e_phoff + i * sizeof(segment), &segment,
				    sizeof(segment)) &&
				segment.p_type == PT_LOAD)
			return segment.p_vaddr - segment.p_offset;
	return 0;
}

static bool library_file_read_build_id(
		const struct library_source *source, struct base_identity *identity)
{
	segment_t segment;
	header_t header;
	uint64_t first;
	unsigned int i;

	if (!library_file_read_header(source, &header))
		return false;
	first = first_address(source, &header);
	for (i = 0; i < header.e_phnum && i < SEGMENTS_MAX; i++) {
		uint64_t at = header.e_phoff + i * sizeof(segment);
		size_t size;

		if (!library_file_read_bytes(source, at, &segment, sizeof(segment)) ||
				segment.p_type != PT_NOTE)
			continue;
		size = segment.p_filesz < NOTES_MAX ? segment.p_filesz : NOTES_MAX;
		at = source->fd < 0 ? segment.p_vaddr - first : segment.p_offset;
		if (library_file_read_bytes(source, at, buffer.notes, size) &&
				library_file_parse_note(buffer.notes, size, identity))
			return true;
	}
	return false;
}

static bool is_debug_link(
		const struct library_source *source, uint64_t names, const section_t *section)
{
	static const char wanted[] = ".gnu_debuglink";
	char name[sizeof(wanted)];

	return section->sh_type == SHT_PROGBITS && section->sh_size > 4 &&
			library_file_read_bytes(
					source, names + section->sh_name, name, sizeof(name)) &&
			!memcmp(name, wanted, sizeof(wanted));
}

static void read_debug_link(const struct library_source *source, struct base_identity *identity)
{
	section_t section, names;
	header_t header;
	unsigned int i;

	if (!library_file_read_header(source, &header) || header.e_shentsize != sizeof(section) ||
			!library_file_read_bytes(source,
					header.e_shoff + header.e_shstrndx * sizeof(names), &names,
					sizeof(names)))
		return;
	for (i = 0; i < header.e_shnum && i < SECTIONS_MAX; i++) {
		size_t size;

		if (!library_file_read_bytes(source, header.e_shoff + i * sizeof(section), &section,
				    sizeof(section)))
			return;
		if (!is_debug_link(source, names.sh_offset, &section))
			continue;
		size = section.sh_size < BASE_LINK_MAX ? section.sh_size : BASE_LINK_MAX;
		if (library_file_read_bytes(source, section.sh_offset, identity->debug_link, size))
			identity->debug_link[strnlen(identity->debug_link, BASE_LINK_MAX - 1)] =
					'\0';
		return;
	}
}

bool base_find(const struct base_library *library, struct base_identity *ret_identity,
		uint64_t *ret_bias)
{
	struct library_source memory = {.fd = -1, .base = library->base};
	header_t header;

	memset(ret_identity, 0, sizeof(*ret_identity));
	if (!library_file_read_header(&memory, &header))
		return false;
	*ret_bias = library->base - first_address(&memory, &header);
	(void)library_file_read_build_id(&memory, ret_identity);
	return true;
}

struct library_identification {
	const struct base_library *library;
	const char *path;
	struct base_identity *identity;
	bool is_known; /* its build id */
};

static void library_file_read(void *argument)
{
	const struct library_identification *request = argument;
	struct library_source file = {.fd = -1};
	struct stat stat;

	file.fd = (int)raw_call(SYS_openat, AT_FDCWD, request->path,
			O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
	if (file.fd < 0)
		return;
	/*
	 * Not the device: what the kernel says of it here and there differs with some file systems.
	 */
	if (!fstat(file.fd, &stat) && S_ISREG(stat.st_mode) &&
			stat.st_ino == request->library->inode) {
		if (!request->is_known)
			library_file_read_build_id(&file, request->identity);
		read_debug_link(&file, request->identity);
	}
	raw_close(file.fd);
}

void base_identify(const struct base_library *library, const char *path,
		struct base_identity *ret_identity)
{
	struct library_source memory = {.fd = -1, .base = library->base};
	struct library_identification request = {
			.library = library, .path = path, .identity = ret_identity};

	memset(ret_identity, 0, sizeof(*ret_identity));
	request.is_known = library_file_read_build_id(&memory, ret_identity);
	/* The program may hold POSIX locks on the file. */
	if (!library->deleted)
		(void)own_table_run(library_file_read, &request, buffer.locks);
}
