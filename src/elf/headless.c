/* SPDX-License-Identifier: MIT */
/*
 * Finds events in programs and libraries without section headers, which packers and sstrip
 * remove.
 *
 * No header shows where the table of events is. Relocations are found as the dynamic linker finds
 * them. Descriptions are recognised by their size, their version, and a state that points back to
 * them; other data does not match by chance.
 */
#include "elf/events.h"
#include "elf/image.h"
#include "elf/image-parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Limit of the candidates that a hostile file can make the search check; real files have some
   thousands. */
#define CANDIDATES_MAX (1u << 20)
#define CHUNK 65536u

/* The entries of PT_DYNAMIC that are used, by their tags. */
struct dynamic_section {
	uint64_t rela, rela_size, rel, rel_size;
	uint64_t symbols;
};

static uint64_t elf_headless_decode_word(
		const struct image *image, const unsigned char *bytes, unsigned int size)
{
	return image_decode(image_byte_order(image), bytes, size);
}

static void elf_headless_read_entry(
		struct dynamic_section *ret_dynamic, uint64_t tag, uint64_t value)
{
	switch (tag) {
	case DT_RELA: ret_dynamic->rela = value; break;
	case DT_RELASZ: ret_dynamic->rela_size = value; break;
	case DT_REL: ret_dynamic->rel = value; break;
	case DT_RELSZ: ret_dynamic->rel_size = value; break;
	case DT_SYMTAB: ret_dynamic->symbols = value; break;
	default: break;
	}
}

static void elf_headless_read_dynamic(
		const struct image *image, struct dynamic_section *ret_dynamic)
{
	unsigned int width = image_pointer_size(image);
	size_t count;

	if (elf_getphdrnum(image->elf, &count))
		return;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr program;

		if (!gelf_getphdr(image->elf, (int)i, &program) || program.p_type != PT_DYNAMIC)
			continue;
		for (uint64_t at = 0; at + (size_t)2 * width <= program.p_filesz;
				at += (size_t)2 * width) {
			unsigned char entry[16];
			uint64_t tag;

			if (image_read_segments(
					    image, program.p_vaddr + at, entry, (size_t)2 * width))
				return;
			tag = elf_headless_decode_word(image, entry, width);
			if (tag == DT_NULL)
				return;
			elf_headless_read_entry(ret_dynamic, tag,
					elf_headless_decode_word(image, entry + width, width));
		}
		return;
	}
}

/* The value of a symbol; 0: another file defines it. */
static uint64_t elf_headless_symbol_value(
		const struct image *image, const struct dynamic_section *dynamic, uint64_t index)
{
	bool wide = image_pointer_size(image) == 8;
	size_t size = wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	unsigned char symbol[sizeof(Elf64_Sym)];

	if (!index || !dynamic->symbols || index > UINT32_MAX ||
			image_read_segments(image, dynamic->symbols + index * size, symbol, size))
		return 0;
	if (!elf_headless_decode_word(image, symbol + (wide ? 6 : 14), 2)) /* st_shndx: SHN_UNDEF */
		return 0;
	return wide ? elf_headless_decode_word(image, symbol + 8, 8)
		    : elf_headless_decode_word(image, symbol + 4, 4);
}

/* Apply a table of relocations. 0 or a negative errno. */
static int relocate_table(struct image *image, const struct dynamic_section *dynamic,
		uint64_t table, uint64_t table_size, bool in_place)
{
	unsigned int width = image_pointer_size(image);
	size_t size = (size_t)width * (in_place ? 2 : 3);

	if (!table || table_size > image->size)
		return table ? -E2BIG : 0;
	for (uint64_t at = 0; at + size <= table_size; at += size) {
		unsigned char entry[24];
		GElf_Rela relocation = {0};
		uint64_t info;
		int error;

		if (image_read_segments(image, table + at, entry, size))
			return -EINVAL;
		info = elf_headless_decode_word(image, entry + width, width);
		relocation.r_offset = elf_headless_decode_word(image, entry, width);
		relocation.r_info = width == 8 ? info : GELF_R_INFO(info >> 8, info & 0xff);
		if (!in_place)
			relocation.r_addend = (GElf_Sxword)elf_headless_decode_word(
					image, entry + 2 * width, width);
		error = image_relocate_plain(image, &relocation, in_place,
				elf_headless_symbol_value(
						image, dynamic, GELF_R_SYM(relocation.r_info)));
		if (error)
			return error;
	}
	return 0;
}

int image_relocate_headless(struct image *image)
{
	struct dynamic_section dynamic = {0};
	int error;

	elf_headless_read_dynamic(image, &dynamic);
	error = relocate_table(image, &dynamic, dynamic.rela, dynamic.rela_size, false);
	return error ? error : relocate_table(image, &dynamic, dynamic.rel, dynamic.rel_size, true);
}

/* ---- descriptions ---- */

static int elf_headless_add_address(struct image *image, uint64_t address)
{
	uint64_t *found = reallocarray(image->found, image->nr_found + 1, sizeof(*found));

	if (!found)
		return -ENOMEM;
	image->found = found;
	found[image->nr_found++] = address;
	return 0;
}

static bool is_description(struct image *image, uint64_t address)
{
	const struct visit_memory memory = image_memory(image);
	struct image_state state;

	image_read_state(&memory, image_pointer_size(image), address, &state);
	return state.readable && state.description == address;
}

/* True if the size and the version of a description are here. */
static bool elf_headless_is_header(const struct image *image, const unsigned char *bytes)
{
	return elf_headless_decode_word(image, bytes, 4) == sizeof(struct side_event_description) &&
			elf_headless_decode_word(image, bytes + 4, 4) ==
			SIDE_EVENT_DESCRIPTION_ABI_VERSION;
}

static int search_segment(
		struct image *image, const struct image_segment *segment, unsigned int *candidates)
{
	unsigned char *chunk = malloc(CHUNK);
	int error = chunk ? 0 : -ENOMEM;

	for (uint64_t at = 0; !error && at + 8 <= segment->file_size; at += CHUNK - 7) {
		uint64_t left = segment->file_size - at;
		size_t size = left < CHUNK ? (size_t)left : CHUNK;

		if (image_read(image, segment->address + at, chunk, size))
			break;
		for (size_t i = 0; !error && i + 8 <= size; i++) {
			if (!elf_headless_is_header(image, chunk + i))
				continue;
			if (++*candidates > CANDIDATES_MAX)
				error = -E2BIG;
			else if (is_description(image, segment->address + at + i))
				error = elf_headless_add_address(image, segment->address + at + i);
		}
	}
	free(chunk);
	return error;
}

int image_search(struct image *image)
{
	unsigned int candidates = 0;
	int error = 0;

	for (size_t i = 0; i < image->nr_segments && !error; i++) {
		if (image->segments[i].writable)
			error = search_segment(image, &image->segments[i], &candidates);
	}
	return error;
}
