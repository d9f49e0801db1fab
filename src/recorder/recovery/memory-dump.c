/* SPDX-License-Identifier: MIT */
/*
 * Reads the physical memory of a machine from a dump. A dump is not trusted: all numbers in it are
 * checked, and the memory in use does not depend on them.
 */
#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "recorder/recovery/compressed-dump.h"
#include "recorder/recovery/memory-dump.h"
#include "base/inside/search.h"

#define PAGE MEMORY_DUMP_PAGE
#define WALK_BYTES (1u << 20)
#define LIMIT_RANGES 4096
#define LIMIT_NOTES (1u << 20)

/* A range of physical memory in an ELF file. */
struct memory_range {
	uint64_t physical, offset, size;
};

struct memory_dump {
	int fd;
	struct memory_range *ranges; /* sorted by address; they can overlap */
	size_t nr_ranges;
	struct compressed_dump *compressed; /* NULL: an ELF file */
	unsigned char walk[WALK_BYTES];
};

/* ---- which dumps ---- */

/* QEMU and the kernel each add a note of its own. */
static bool memory_dump_has_note(Elf *elf, const GElf_Phdr *part)
{
	Elf_Data *data;
	size_t at = 0, name, content;
	GElf_Nhdr note;

	if (part->p_filesz > LIMIT_NOTES)
		return false;
	data = elf_getdata_rawchunk(
			elf, (int64_t)part->p_offset, (size_t)part->p_filesz, ELF_T_NHDR);
	while (data && (at = gelf_getnote(data, at, &note, &name, &content)) > 0) {
		const char *text = (const char *)data->d_buf + name;

		if ((note.n_namesz == sizeof("QEMU") && !memcmp(text, "QEMU", sizeof("QEMU"))) ||
				(note.n_namesz == sizeof("VMCOREINFO") &&
						!memcmp(text, "VMCOREINFO", sizeof("VMCOREINFO"))))
			return true;
	}
	return false;
}

bool memory_dump_is_elf(Elf *elf)
{
	size_t nr, i;

	if (elf_getphdrnum(elf, &nr))
		return false;
	for (i = 0; i < nr && i < LIMIT_RANGES; i++) {
		GElf_Phdr part;

		if (gelf_getphdr(elf, (int)i, &part) && part.p_type == PT_NOTE &&
				memory_dump_has_note(elf, &part))
			return true;
	}
	return false;
}

bool memory_dump_is_compressed(int fd)
{
	/* The third one is of a flattened file, which can be written to a pipe. */
	static const char *const magics[] = {"KDUMP   ", "DISKDUMP", "makedump"};
	char begin[8];
	size_t i;

	if (io_read_exactly_at(fd, begin, sizeof(begin), 0))
		return false;
	for (i = 0; i < sizeof(magics) / sizeof(*magics); i++)
		if (!memcmp(begin, magics[i], sizeof(begin)))
			return true;
	return false;
}

/* ---- ELF ---- */

static int memory_dump_compare_ranges(const void *one, const void *other)
{
	const struct memory_range *a = one, *b = other;

	return a->physical < b->physical ? -1 : a->physical > b->physical;
}

static bool memory_dump_take_ranges(struct memory_dump *dump, Elf *elf, uint64_t file_size)
{
	size_t nr, i;

	if (elf_getphdrnum(elf, &nr) || nr > LIMIT_RANGES)
		return false;
	dump->ranges = calloc(nr + 1, sizeof(*dump->ranges));
	if (!dump->ranges)
		return false;
	for (i = 0; i < nr; i++) {
		struct memory_range *range = &dump->ranges[dump->nr_ranges];
		GElf_Phdr part;

		if (!gelf_getphdr(elf, (int)i, &part))
			return false;
		if (part.p_type != PT_LOAD || !part.p_filesz || part.p_offset >= file_size)
			continue;
		*range = (struct memory_range){part.p_paddr, part.p_offset, part.p_filesz};
		/* Use what a truncated dump contains. */
		if (range->size > file_size - range->offset)
			range->size = file_size - range->offset;
		dump->nr_ranges += range->physical + range->size >= range->physical;
	}
	qsort(dump->ranges, dump->nr_ranges, sizeof(*dump->ranges), memory_dump_compare_ranges);
	return true;
}

/*
 * The kernel's text is in two ranges of /proc/vmcore, and the smaller one can be inside the other.
 */
static const struct memory_range *memory_dump_find_range(
		const struct memory_dump *dump, uint64_t physical, size_t size)
{
	size_t i = search_leading(at, dump->nr_ranges, dump->ranges[at].physical <= physical);

	while (i--) {
		const struct memory_range *range = &dump->ranges[i];
		uint64_t inside = physical - range->physical;

		if (inside < range->size && size <= range->size - inside)
			return range;
	}
	return NULL;
}

int memory_dump_read(struct memory_dump *dump, uint64_t physical, void *to, size_t size)
{
	const struct memory_range *range;

	if (dump->compressed)
		return compressed_dump_read(dump->compressed, physical, to, size);
	range = memory_dump_find_range(dump, physical, size);
	if (!range)
		return -EIO;
	return io_read_exactly_at(dump->fd, to, size, range->offset + (physical - range->physical))
			? -EIO
			: 0;
}

/* ---- all pages ---- */

static int memory_dump_walk_range(struct memory_dump *dump, const struct memory_range *range,
		memory_dump_visit *visit, void *user)
{
	/* Ranges begin and end with a page, except in damaged dumps. */
	uint64_t at = -range->physical & (PAGE - 1);
	int ret = 0;

	while (!ret && at < range->size && range->size - at >= PAGE) {
		uint64_t left = (range->size - at) & ~(uint64_t)(PAGE - 1);
		size_t size = left < WALK_BYTES ? (size_t)left : WALK_BYTES, page;

		ret = io_read_exactly_at(dump->fd, dump->walk, size, range->offset + at);
		for (page = 0; page < size && !ret; page += PAGE)
			ret = visit(user, range->physical + at + page, dump->walk + page);
		at += size;
	}
	return ret;
}

int memory_dump_walk(struct memory_dump *dump, memory_dump_visit *visit, void *user)
{
	uint64_t page = 0;
	size_t i;
	int ret = 0;

	for (i = 0; i < dump->nr_ranges && !ret; i++)
		ret = memory_dump_walk_range(dump, &dump->ranges[i], visit, user);
	for (; dump->compressed && !ret && compressed_dump_find(dump->compressed, &page); page++)
		if (!compressed_dump_read(dump->compressed, page * PAGE, dump->walk, PAGE))
			ret = visit(user, page * PAGE, dump->walk);
	return ret;
}

/* ---- the dump ---- */

static const char *memory_dump_open_elf(struct memory_dump *dump, Elf *elf, uint64_t file_size)
{
	GElf_Ehdr head;

	if (!gelf_getehdr(elf, &head) || head.e_machine != EM_X86_64)
		return "it is of a machine other than x86-64";
	return memory_dump_take_ranges(dump, elf, file_size)
			? NULL
			: "its list of memory ranges is damaged";
}

const char *memory_dump_open(int fd, Elf *elf, uint64_t file_size, struct memory_dump **ret_dump)
{
	struct memory_dump *dump = calloc(1, sizeof(*dump));
	const char *wrong;

	*ret_dump = NULL;
	if (!dump)
		return "out of memory";
	dump->fd = fd;
	wrong = elf ? memory_dump_open_elf(dump, elf, file_size)
		    : compressed_dump_open(fd, &dump->compressed);
	if (wrong) {
		memory_dump_close(dump);
		return wrong;
	}
	*ret_dump = dump;
	return NULL;
}

void memory_dump_close(struct memory_dump *dump)
{
	if (dump->compressed)
		compressed_dump_close(dump->compressed);
	free(dump->ranges);
	free(dump);
}
