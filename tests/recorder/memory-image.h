/* SPDX-License-Identifier: MIT */
/* Builds the dump of a machine with one process, as QEMU writes it. */
#ifndef SIDE_TESTS_RECORDER_MEMORY_IMAGE_H
#define SIDE_TESTS_RECORDER_MEMORY_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <lzo/lzo1x.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include "../check.h"

#define IMAGE_PAGE 4096u
/* The physical address of the first page, which is that of a huge page. */
#define IMAGE_PHYSICAL UINT64_C(0x200000)
#define IMAGE_NOTE_OFFSET 1024
#define IMAGE_PRESENT UINT64_C(0x67)

struct memory_image {
	unsigned char *bytes; /* one page of ELF heads, then the memory */
	uint32_t nr, capacity;
	uint32_t root; /* the page of the root table */
};

static inline unsigned char *image_page(const struct memory_image *image, uint32_t page)
{
	return image->bytes + (size_t)(page + 1) * IMAGE_PAGE;
}

static inline uint64_t image_physical(uint32_t page)
{
	return IMAGE_PHYSICAL + (uint64_t)page * IMAGE_PAGE;
}

static inline uint32_t image_add(struct memory_image *image)
{
	CHECK(image->nr < image->capacity);
	return image->nr++;
}

static inline size_t image_size(const struct memory_image *image)
{
	return (size_t)(image->nr + 1) * IMAGE_PAGE;
}

/* The entry of this level for the address; adds the tables above it. */
static inline uint64_t *image_entry(
		struct memory_image *image, uint64_t address, unsigned int level)
{
	uint32_t table = image->root;
	unsigned int at = 4;

	for (;; at--) {
		uint64_t *entry = (uint64_t *)(void *)image_page(image, table) +
				(address >> (12 + 9 * (at - 1))) % 512;

		if (at == level)
			return entry;
		if (!*entry)
			*entry = image_physical(image_add(image)) | IMAGE_PRESENT;
		table = (uint32_t)(((*entry & UINT64_C(0xffffffffff000)) - IMAGE_PHYSICAL) /
				IMAGE_PAGE);
	}
}

static inline void image_map(struct memory_image *image, uint64_t address, uint32_t page)
{
	*image_entry(image, address, 1) = image_physical(page) | IMAGE_PRESENT;
}

/* Writes the ELF heads. */
static inline void image_complete(struct memory_image *image)
{
	static const unsigned char note[] = {5, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 'Q', 'E', 'M', 'U',
			0, 0, 0, 0, 1, 2, 3, 4};
	Elf64_Ehdr head = {
			.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			.e_type = ET_CORE,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = sizeof(head),
			.e_ehsize = sizeof(head),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2,
	};
	Elf64_Phdr parts[2] = {
			{.p_type = PT_NOTE,
					.p_offset = IMAGE_NOTE_OFFSET,
					.p_filesz = sizeof(note)},
			{.p_type = PT_LOAD,
					.p_offset = IMAGE_PAGE,
					.p_paddr = IMAGE_PHYSICAL,
					.p_filesz = (uint64_t)image->nr * IMAGE_PAGE,
					.p_memsz = (uint64_t)image->nr * IMAGE_PAGE},
	};

	memcpy(image->bytes, &head, sizeof(head));
	memcpy(image->bytes + sizeof(head), parts, sizeof(parts));
	memcpy(image->bytes + IMAGE_NOTE_OFFSET, note, sizeof(note));
}

static inline void image_begin(struct memory_image *image, uint32_t capacity)
{
	*image = (struct memory_image){.capacity = capacity};
	image->bytes = calloc(capacity + 1, IMAGE_PAGE);
	CHECK(image->bytes);
	image->root = image_add(image);
}

/* The flags in the file. */
enum image_form {
	IMAGE_RAW = 0,
	IMAGE_ZLIB = 1,
	IMAGE_LZO = 2,
	IMAGE_SNAPPY = 4,
	IMAGE_ZSTD = 0x20
};

static inline void image_put(unsigned char *at, uint64_t number, size_t size)
{
	memcpy(at, &number, size);
}

/* Compresses a page with the library of this form. A page that does not become smaller stays raw. */
static inline size_t image_pack(
		enum image_form *form, const unsigned char *page, unsigned char *ret_packed)
{
	static _Alignas(16) unsigned char work[LZO1X_1_MEM_COMPRESS];
	unsigned char packed[2 * IMAGE_PAGE];
	size_t size = sizeof(packed);

	switch (*form) {
	case IMAGE_ZLIB: CHECK(compress(packed, &size, page, IMAGE_PAGE) == Z_OK); break;
	case IMAGE_LZO: CHECK(!lzo1x_1_compress(page, IMAGE_PAGE, packed, &size, work)); break;
	case IMAGE_SNAPPY:
		CHECK(snappy_compress((const char *)page, IMAGE_PAGE, (char *)packed, &size) ==
				SNAPPY_OK);
		break;
	case IMAGE_ZSTD: size = ZSTD_compress(packed, sizeof(packed), page, IMAGE_PAGE, 1); break;
	case IMAGE_RAW: size = IMAGE_PAGE; break;
	}
	if (size >= IMAGE_PAGE) {
		*form = IMAGE_RAW;
		size = IMAGE_PAGE;
	}
	memcpy(ret_packed, *form == IMAGE_RAW ? page : packed, size);
	return size;
}

/* The bytes of the compressed dump, and *ret_size; of version 6 if `is_new`. Pages of zeros are in it. */
static inline unsigned char *image_compress(const struct memory_image *image, enum image_form form,
		bool is_new, size_t *ret_size)
{
	uint32_t first = (uint32_t)(IMAGE_PHYSICAL / IMAGE_PAGE), i;
	size_t at = 4 * IMAGE_PAGE + image->nr * 24;
	unsigned char *bytes = calloc(image->nr + 8, IMAGE_PAGE);

	CHECK(bytes && first + image->nr <= IMAGE_PAGE * 8);
	memcpy(bytes, "KDUMP   ", 8);
	image_put(bytes + 8, is_new ? 6 : 5, 4);
	memcpy(bytes + 272, "x86_64", 6);
	image_put(bytes + 424, form, 4);
	image_put(bytes + 428, IMAGE_PAGE, 4);
	image_put(bytes + 432, 1, 4);
	image_put(bytes + 436, 2, 4);
	image_put(bytes + 440, is_new ? 0 : first + image->nr, 4);
	image_put(bytes + IMAGE_PAGE + 96, is_new ? first + image->nr : 0, 8);
	for (i = 0; i < image->nr; i++) {
		unsigned char *description = bytes + 4 * IMAGE_PAGE + i * 24;
		enum image_form used = form;
		size_t size;

		bytes[3 * IMAGE_PAGE + (first + i) / 8] |= (unsigned char)(1 << (first + i) % 8);
		size = image_pack(&used, image_page(image, i), bytes + at);
		image_put(description, at, 8);
		image_put(description + 8, size, 4);
		image_put(description + 12, used, 4);
		at += size;
	}
	*ret_size = at;
	return bytes;
}

#endif
