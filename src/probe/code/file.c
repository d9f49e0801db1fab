/* SPDX-License-Identifier: MIT */
/*
 * Reads an ELF file into memory: headers, segments, sections. All sizes and offsets in them are
 * checked here.
 */
#include "parts.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

#define FILE_BYTES_MAX ((uint64_t)2 << 30)
#define CODE_BYTES_MAX ((uint64_t)1 << 30)

void *code_grow(void *array, size_t used, size_t *capacity, size_t size)
{
	size_t wanted = *capacity ? *capacity * 2 : 256;
	void *larger;

	if (used < *capacity)
		return array;
	larger = reallocarray(array, wanted, size);
	if (larger)
		*capacity = wanted;
	return larger;
}

const uint8_t *code_bytes(const struct code_file *file, uint64_t address, size_t *ret_size)
{
	for (size_t i = 0; i < file->nr_segments; i++) {
		const struct code_segment *segment = &file->segments[i];

		if (address >= segment->address && address - segment->address < segment->size) {
			*ret_size = segment->size - (address - segment->address);
			return file->bytes + segment->offset + (address - segment->address);
		}
	}
	*ret_size = 0;
	return NULL;
}

struct code_segment *code_executable(const struct code_file *file, uint64_t address)
{
	for (size_t i = 0; i < file->nr_segments; i++) {
		struct code_segment *segment = &file->segments[i];

		if (segment->executable && address >= segment->address &&
				address - segment->address < segment->size)
			return segment;
	}
	return NULL;
}

const struct code_section *code_section_named(const struct code_file *file, const char *name)
{
	for (size_t i = 0; i < file->nr_sections; i++) {
		if (!strcmp(file->sections[i].name, name))
			return &file->sections[i];
	}
	return NULL;
}

const uint8_t *code_section_bytes(
		const struct code_file *file, const struct code_section *section, size_t *ret_size)
{
	if (!section || section->type == SHT_NOBITS || section->offset > file->size ||
			section->size > file->size - section->offset) {
		*ret_size = 0;
		return NULL;
	}
	*ret_size = section->size;
	return file->bytes + section->offset;
}

bool code_is_excluded(const struct code_file *file, uint64_t address)
{
	for (size_t i = 0; i < file->nr_sections; i++) {
		const struct code_section *section = &file->sections[i];

		if ((!strncmp(section->name, ".plt", 4) || !strcmp(section->name, "side_text")) &&
				address >= section->address &&
				address - section->address < section->size)
			return true;
	}
	return false;
}

static int read_segments(struct code_file *file, const Elf64_Ehdr *header, struct error *error)
{
	uint64_t code = 0;

	if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phoff > file->size ||
			header->e_phnum > (file->size - header->e_phoff) / sizeof(Elf64_Phdr))
		return error_set(error, -ENOEXEC, NULL,
				"%s is damaged: its program headers are not inside of it",
				file->path);
	file->segments = calloc(header->e_phnum + 1, sizeof(*file->segments));
	if (!file->segments)
		return error_set(error, -ENOMEM, NULL,
				"out of memory: cannot read the segments of %s", file->path);
	file->lowest = UINT64_MAX;
	for (size_t i = 0; i < header->e_phnum; i++) {
		struct code_segment *segment = &file->segments[file->nr_segments];
		Elf64_Phdr program;

		memcpy(&program, file->bytes + header->e_phoff + i * sizeof(program),
				sizeof(program));
		if (program.p_type == PT_GNU_EH_FRAME)
			file->frame_header = program.p_vaddr;
		if (program.p_type == PT_DYNAMIC)
			file->dynamic = program.p_vaddr;
		if (program.p_type != PT_LOAD || program.p_offset > file->size ||
				program.p_vaddr > INT64_MAX - FILE_BYTES_MAX ||
				program.p_memsz > FILE_BYTES_MAX)
			continue;
		segment->address = program.p_vaddr;
		segment->offset = program.p_offset;
		segment->size = program.p_filesz;
		if (segment->size > file->size - segment->offset)
			segment->size = file->size - segment->offset;
		segment->executable = program.p_flags & PF_X;
		code += segment->executable ? segment->size : 0;
		if (program.p_vaddr < file->lowest)
			file->lowest = program.p_vaddr;
		if (program.p_vaddr + program.p_memsz > file->highest)
			file->highest = program.p_vaddr + program.p_memsz;
		file->nr_segments += segment->size > 0;
	}
	if (!code)
		return error_set(error, -ENOEXEC, NULL,
				"%s has no code: it is neither an executable nor a shared library",
				file->path);
	/* In a damaged file segments may overlap, and each would be swept. */
	if (code > CODE_BYTES_MAX || code > file->size)
		return error_set(error, -EFBIG, NULL,
				"%s is damaged: its segments of code are larger than the file",
				file->path);
	return 0;
}

/* Without sections much less is found, but nothing fails. */
static int read_sections(struct code_file *file, const Elf64_Ehdr *header)
{
	Elf64_Shdr names = {0};

	if (!header->e_shoff || header->e_shentsize != sizeof(Elf64_Shdr) ||
			header->e_shoff > file->size ||
			header->e_shnum > (file->size - header->e_shoff) / sizeof(Elf64_Shdr))
		return 0;
	file->sections = calloc(header->e_shnum + 1, sizeof(*file->sections));
	if (!file->sections)
		return -ENOMEM;
	if (header->e_shstrndx < header->e_shnum)
		memcpy(&names, file->bytes + header->e_shoff + header->e_shstrndx * sizeof(names),
				sizeof(names));
	if (names.sh_offset > file->size || names.sh_size > file->size - names.sh_offset)
		names.sh_size = 0;
	for (size_t i = 0; i < header->e_shnum; i++) {
		struct code_section *section = &file->sections[i];
		Elf64_Shdr raw;

		memcpy(&raw, file->bytes + header->e_shoff + i * sizeof(raw), sizeof(raw));
		section->address = raw.sh_flags & SHF_ALLOC ? raw.sh_addr : 0;
		section->offset = raw.sh_offset;
		section->size = raw.sh_size;
		section->entry_size = raw.sh_entsize;
		section->type = raw.sh_type;
		section->link = raw.sh_link;
		if (raw.sh_name < names.sh_size) {
			size_t capacity = names.sh_size - raw.sh_name;

			if (capacity >= sizeof(section->name))
				capacity = sizeof(section->name) - 1;
			memcpy(section->name, file->bytes + names.sh_offset + raw.sh_name,
					capacity);
		}
	}
	file->nr_sections = header->e_shnum;
	return 0;
}

/* Reports a file that is not ELF; for a script, its interpreter. */
static int no_elf(struct code_file *file, struct error *error)
{
	const char *text = (const char *)file->bytes;
	size_t size = file->size < 128 ? file->size : 128, begin = 2, end;

	if (size < 3 || memcmp(text, "#!", 2) != 0)
		return error_set(error, -ENOEXEC, NULL, "%s is not an ELF file", file->path);
	while (begin < size && (text[begin] == ' ' || text[begin] == '\t'))
		begin++;
	for (end = begin; end < size && text[end] > ' ' && text[end] < 127;)
		end++;
	return error_set(error, -ENOEXEC, NULL,
			"%s is a script; probe the program that runs it: %.*s", file->path,
			(int)(end - begin), text + begin);
}

static int code_file_read_headers(struct code_file *file, struct error *error)
{
	Elf64_Ehdr header;
	int ret;

	if (file->size < sizeof(header) || memcmp(file->bytes, ELFMAG, SELFMAG) != 0)
		return no_elf(file, error);
	memcpy(&header, file->bytes, sizeof(header));
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
			header.e_machine != EM_X86_64)
		return error_set(error, -ENOEXEC, NULL,
				"%s is for another processor: only x86-64 can be probed",
				file->path);
	file->fixed = header.e_type == ET_EXEC;
	file->entry = header.e_entry;
	if (!file->fixed && header.e_type != ET_DYN)
		return error_set(error, -ENOEXEC, NULL,
				"%s is neither an executable nor a shared library", file->path);
	ret = read_segments(file, &header, error);
	if (ret)
		return ret;
	if (read_sections(file, &header) || code_read_symbols(file) || code_read_go(file) ||
			code_read_frames(file) || code_read_start(file) ||
			code_read_sequences(file) || code_make_functions(file) ||
			code_read_plt(file))
		return error_set(error, -ENOMEM, NULL,
				"out of memory: cannot read the functions of %s", file->path);
	return 0;
}

static struct code_file *code_file_create(const char *path, size_t size)
{
	struct code_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->path = strdup(path);
	file->bytes = malloc(size + 1);
	file->size = size;
	if (file->path && file->bytes)
		return file;
	code_close(file);
	return NULL;
}

int code_open_fd(int fd, const char *path, struct code_file **ret_file, struct error *error)
{
	struct code_file *file;
	struct stat stat;
	int ret;

	if (fstat(fd, &stat))
		return error_set(error, -errno, NULL, "cannot read %s: %s", path, strerror(errno));
	if (!S_ISREG(stat.st_mode))
		return error_set(error, -ENOEXEC, NULL, "%s is not a program or library", path);
	if ((uint64_t)stat.st_size > FILE_BYTES_MAX)
		return error_set(error, -EFBIG, NULL, "%s is larger than 2 GiB, the limit", path);
	file = code_file_create(path, (size_t)stat.st_size);
	if (!file)
		return error_set(error, -ENOMEM, NULL, "out of memory: cannot read %s", path);
	ret = io_read_exactly_at(fd, file->bytes, file->size, 0);
	ret = ret == -ENODATA ? -EIO : ret;
	if (ret)
		error_set(error, ret, NULL, "cannot read %s: %s", path, strerror(-ret));
	else
		ret = code_file_read_headers(file, error);
	if (ret) {
		code_close(file);
		return ret;
	}
	*ret_file = file;
	return 0;
}

int code_open(const char *path, struct code_file **ret_file, struct error *error)
{
	/* Non-blocking: the user may give the name of a pipe. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret;

	if (fd < 0)
		return error_set(error, -errno, NULL, "cannot open %s: %s", path, strerror(errno));
	ret = code_open_fd(fd, path, ret_file, error);
	close(fd);
	return ret;
}

int code_open_memory(const void *bytes, size_t size, const char *name, struct code_file **ret_file,
		struct error *error)
{
	struct code_file *file = code_file_create(name, size);
	int ret;

	if (!file)
		return error_set(error, -ENOMEM, NULL, "out of memory: cannot read %s", name);
	if (size)
		memcpy(file->bytes, bytes, size);
	ret = code_file_read_headers(file, error);
	if (ret) {
		code_close(file);
		return ret;
	}
	*ret_file = file;
	return 0;
}

void code_close(struct code_file *file)
{
	if (!file)
		return;
	for (size_t i = 0; i < file->nr_segments; i++) {
		free(file->segments[i].targets);
		free(file->segments[i].reachable);
	}
	free(file->segments);
	free(file->sections);
	free(file->names_memory);
	free(file->debug_memory);
	free(file->names);
	free(file->frames);
	free(file->functions);
	code_free_plt(file);
	free(file->landings);
	free(file->labels);
	free(file->springboards);
	free(file->kept);
	free(file->frame_readers);
	free(file->bytes);
	free(file->path);
	free(file);
}

int code_bias(const struct code_file *file, uint64_t start, uint64_t offset, uint64_t *ret_bias)
{
	const uint64_t page = 4096;

	for (size_t i = 0; i < file->nr_segments; i++) {
		const struct code_segment *segment = &file->segments[i];
		uint64_t first = segment->offset & ~(page - 1);

		if (segment->executable && offset >= first &&
				offset < segment->offset + segment->size) {
			*ret_bias = start - offset + segment->offset - segment->address;
			return 0;
		}
	}
	return -ENOENT;
}

int code_bias_of_head(const struct code_file *file, uint64_t start, uint64_t *ret_bias)
{
	const uint64_t page = 4096;

	for (size_t i = 0; i < file->nr_segments; i++) {
		const struct code_segment *segment = &file->segments[i];

		if (segment->offset < page) {
			*ret_bias = start + segment->offset - segment->address;
			return 0;
		}
	}
	return -ENOENT;
}
