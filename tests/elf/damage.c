/* SPDX-License-Identifier: MIT */
#include "damage.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

/* xorshift64*, so that each run does the same. */
static uint64_t state = 0x9e3779b97f4a7c15;

static uint64_t draw(uint64_t below)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (state * 0x2545f4914f6cdd1d >> 11) % below;
}

static const uint64_t extremes[] = {0, 1, 7, 8, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000,
		0xffffffff, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff,
		0xfffffffffffffff8};

/* Where the headers of sections begin, in a file of this machine's byte order; 0: somewhere. */
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

/* Where damage matters: headers, section headers, and the table and descriptions in .data. */
static size_t draw_place(const unsigned char *bytes, size_t size)
{
	size_t sections = section_headers(bytes, size);

	switch (draw(5)) {
	case 0: return draw(sizeof(Elf64_Ehdr));
	case 1: return sizeof(Elf64_Ehdr) + draw(56 * 14);
	case 2: return sections + draw(size - sections);
	default: return draw(size);
	}
}

size_t damage(unsigned char *bytes, size_t size)
{
	size_t changes = 1 + draw(6);

	for (size_t i = 0; i < changes; i++) {
		size_t at = draw_place(bytes, size);
		uint64_t extreme = extremes[draw(sizeof(extremes) / sizeof(extremes[0]))];
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
	/* Now and then a cut. */
	return draw(8) ? size : draw(size);
}
