/* SPDX-License-Identifier: MIT */
#include "damage.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../random.h"

static const uint64_t extremes[] = {0, 1, 4, 7, 8, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff,
		0x80000000, 0xffffffff, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff,
		0xfffffffffffffff8};

uint64_t damage_extreme(void)
{
	return extremes[draw(sizeof(extremes) / sizeof(extremes[0]))];
}

/* Returns where the section headers begin, in a file of this machine's byte order; 0: unknown. */
static size_t section_headers(const unsigned char *bytes, size_t size)
{
	Elf64_Ehdr wide;
	Elf32_Ehdr narrow;
	uint64_t at = 0;

	if (size < sizeof(wide) || memcmp(bytes, ELFMAG, SELFMAG))
		return 0;
	memcpy(&wide, bytes, sizeof(wide));
	memcpy(&narrow, bytes, sizeof(narrow));
	at = bytes[EI_CLASS] == ELFCLASS32 ? narrow.e_shoff : wide.e_shoff;
	return at < size ? (size_t)at : 0;
}

/*
 * Returns a position inside any section of a 64-bit file, so that small sections are damaged as
 * often as large ones.
 */
static size_t draw_in_section(const unsigned char *bytes, size_t size)
{
	Elf64_Ehdr header;
	Elf64_Shdr section;
	size_t at = section_headers(bytes, size);

	if (!at || bytes[EI_CLASS] != ELFCLASS64)
		return draw(size);
	memcpy(&header, bytes, sizeof(header));
	if (!header.e_shnum || header.e_shnum > (size - at) / sizeof(section))
		return draw(size);
	memcpy(&section, bytes + at + draw(header.e_shnum) * sizeof(section), sizeof(section));
	if (section.sh_offset >= size || !section.sh_size || section.sh_size > size)
		return draw(size);
	return section.sh_offset + draw(section.sh_size);
}

/* Returns a position: in headers, in section headers, in sections, or anywhere. */
static size_t draw_place(const unsigned char *bytes, size_t size)
{
	size_t sections = section_headers(bytes, size);

	switch (draw(7)) {
	case 0: return draw(sizeof(Elf64_Ehdr));
	case 1: return sizeof(Elf64_Ehdr) + draw(56 * 14);
	case 2: return sections + draw(size - sections);
	case 3:
	case 4: return draw_in_section(bytes, size);
	default: return draw(size);
	}
}

/* Damages the bytes; returns how many of them remain. */
static size_t damage(unsigned char *bytes, size_t size)
{
	size_t changes = 1 + draw(6);

	for (size_t i = 0; i < changes; i++) {
		size_t at = draw_place(bytes, size);
		uint64_t extreme = damage_extreme();
		size_t width = (size_t)1 << draw(4);

		if (at >= size)
			continue;
		switch (draw(4)) {
		case 0: bytes[at] ^= (unsigned char)(1u << draw(8)); break;
		case 1: bytes[at] = (unsigned char)draw(256); break;
		default:
			at &= ~(width - 1);
			if (width > size - at)
				width = size - at;
			memcpy(bytes + at, &extreme, width);
			break;
		}
	}
	/* Sometimes truncate it. */
	return draw(8) ? size : draw(size);
}

static unsigned char *read_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned char *bytes = NULL;
	struct stat status;

	if (fd >= 0 && !fstat(fd, &status) && status.st_size > 0) {
		*size = (size_t)status.st_size;
		bytes = malloc(*size);
	}
	if (!bytes || read(fd, bytes, *size) != (ssize_t)*size) {
		perror(path);
		exit(1);
	}
	close(fd);
	return bytes;
}

int damaged_copies(const char *path, unsigned int rounds, damage_reader *reader)
{
	size_t size, whole, found, copies = 0;
	unsigned char *bytes = read_file(path, &size), *copy = malloc(size);

	if (!copy)
		exit(1);
	whole = reader(bytes, size);
	for (unsigned int round = 0; round < rounds; round++) {
		memcpy(copy, bytes, size);
		found = reader(copy, damage(copy, size));
		copies += found > 0;
	}
	printf("%s: %zu found; in %zu of %u damaged copies still some\n", path, whole, copies,
			rounds);
	free(bytes);
	free(copy);
	return !whole || !copies || copies == rounds;
}
