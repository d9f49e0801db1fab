/* SPDX-License-Identifier: MIT */
/*
 * Reads ELF files as memory.
 *
 * The bytes stay in the file. Each change by a relocation is a patch in a table sorted by address,
 * which image_read() applies to what it reads. image-relocate.c makes the patches.
 */
#include "elf/file.h"
#include "elf/image.h"
#include "elf/image-parts.h"
#include "base/inside/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <side/abi/type-description.h>

#define TABLE_SECTION "side_event_description_ptr"

/* No program has more. Bounds what a hostile file makes this code allocate. */
#define SEGMENTS_MAX 65536

/* ---- memory ---- */

static const struct image_segment *elf_image_find_segment(
		const struct image *image, uint64_t address)
{
	/* The segment before it is the last that begins at or before the address. */
	size_t low = search_leading(i, image->nr_segments, image->segments[i].address <= address);

	if (!low ||
			address - image->segments[low - 1].address >=
					image->segments[low - 1].memory_size)
		return NULL;
	return &image->segments[low - 1];
}

static int elf_image_read_file(const struct image *image, uint64_t offset, void *to, size_t size)
{
	if (!image->bytes)
		return file_read(image->fd, offset, to, size);
	if (offset > image->size || size > image->size - offset)
		return -EFAULT;
	memcpy(to, image->bytes + offset, size);
	return 0;
}

int image_read_segments(const struct image *image, uint64_t address, void *to, size_t size)
{
	while (size) {
		const struct image_segment *segment = elf_image_find_segment(image, address);
		uint64_t inside, piece;
		int error;

		if (!segment)
			return -EFAULT;
		inside = address - segment->address;
		piece = segment->memory_size - inside;
		if (inside < segment->file_size) {
			if (piece > segment->file_size - inside)
				piece = segment->file_size - inside;
			if (piece > size)
				piece = size;
			error = elf_image_read_file(
					image, segment->offset + inside, to, (size_t)piece);
			if (error)
				return error;
		} else {
			if (piece > size)
				piece = size;
			memset(to, 0, (size_t)piece);
		}
		to = (char *)to + piece;
		address += piece;
		size -= (size_t)piece;
	}
	return 0;
}

static void encode_pointer(const struct image *image, uint64_t value, unsigned char *bytes)
{
	unsigned int size = image_pointer_size(image);

	for (unsigned int i = 0; i < size; i++) {
		unsigned int offset =
				image->header.e_ident[EI_DATA] == ELFDATA2MSB ? size - 1 - i : i;

		bytes[offset] = (unsigned char)(value >> (8 * i));
	}
}

/* The first patch whose last byte is at or behind address. */
static size_t first_patch(const struct image *image, uint64_t address)
{
	unsigned int width = image_pointer_size(image);

	return search_leading(i, image->nr_patches, image->patches[i].address + width <= address);
}

int image_read(void *opaque, uint64_t address, void *to, size_t size)
{
	const struct image *image = opaque;
	unsigned int width = image_pointer_size(image);
	int error;

	if (address + size < address)
		return -EFAULT;
	error = image_read_segments(image, address, to, size);
	if (error)
		return error;
	for (size_t i = first_patch(image, address);
			i < image->nr_patches && image->patches[i].address < address + size; i++) {
		unsigned char bytes[8];

		encode_pointer(image, image->patches[i].value, bytes);
		for (unsigned int k = 0; k < width; k++) {
			uint64_t at = image->patches[i].address + k;

			if (at >= address && at < address + size)
				((unsigned char *)to)[at - address] = bytes[k];
		}
	}
	return 0;
}

/* ---- loading ---- */

int image_fail(struct error *error, int code, const char *text)
{
	bool is_refused = code == -EINVAL || code == -ENOEXEC;

	/* libelf reports a failed allocation or read in the same way as a damaged file. new_image()
	   has cleared errno. */
	if (is_refused && errno == EIO)
		return error_set(error, -EIO, NULL, "%s", strerror(EIO));
	if (code == -ENOMEM || (is_refused && errno == ENOMEM))
		return error_set_no_memory(error);
	return error_set(error, code, NULL, "%s", text);
}

static int elf_image_add_segment(struct image *image, const struct image_segment *segment)
{
	struct image_segment *segments;

	if (!segment->memory_size || segment->address + segment->memory_size < segment->address)
		return 0;
	if (segment->offset > image->size || segment->file_size > image->size - segment->offset ||
			segment->file_size > segment->memory_size)
		return -EINVAL;
	if (image->nr_segments == SEGMENTS_MAX)
		return -E2BIG;
	segments = reallocarray(image->segments, image->nr_segments + 1, sizeof(*segments));
	if (!segments)
		return -ENOMEM;
	image->segments = segments;
	segments[image->nr_segments++] = *segment;
	return 0;
}

static int elf_image_compare_segments(const void *one, const void *other)
{
	const struct image_segment *a = one, *b = other;

	return a->address < b->address ? -1 : a->address > b->address;
}

static int load_segments(struct image *image)
{
	size_t count;

	if (elf_getphdrnum(image->elf, &count))
		return -EINVAL;
	for (size_t i = 0; i < count && i < SEGMENTS_MAX; i++) {
		GElf_Phdr program;
		int error;

		if (!gelf_getphdr(image->elf, (int)i, &program))
			return -EINVAL;
		if (program.p_type != PT_LOAD)
			continue;
		error = elf_image_add_segment(image,
				&(struct image_segment){
						.address = program.p_vaddr,
						.memory_size = program.p_memsz,
						.offset = program.p_offset,
						.file_size = program.p_filesz,
						.writable = program.p_flags & PF_W,
				});
		if (error)
			return error;
	}
	if (image->nr_segments)
		qsort(image->segments, image->nr_segments, sizeof(*image->segments),
				elf_image_compare_segments);
	return 0;
}

/* Give the sections of an object file addresses, as a linker would. The first page stays empty. */
static int elf_image_load_sections(struct image *image)
{
	uint64_t address = 0x1000;

	image->section_addresses = calloc(image->nr_sections, sizeof(uint64_t));
	if (!image->section_addresses)
		return -ENOMEM;
	for (size_t i = 1; i < image->nr_sections; i++) {
		Elf_Scn *section = elf_getscn(image->elf, i);
		GElf_Shdr header;
		uint64_t alignment;
		int error;

		if (!section || !gelf_getshdr(section, &header))
			return -EINVAL;
		if (!(header.sh_flags & SHF_ALLOC) || !header.sh_size)
			continue;
		alignment = header.sh_addralign;
		if (alignment < 16 || alignment & (alignment - 1) || alignment > 1 << 20)
			alignment = 64;
		address = (address + alignment - 1) & ~(alignment - 1);
		/* With 4-byte pointers, addresses have 4 bytes. */
		if (header.sh_size > UINT32_MAX - address)
			return -E2BIG;
		error = elf_image_add_segment(image,
				&(struct image_segment){
						.address = address,
						.memory_size = header.sh_size,
						.offset = header.sh_offset,
						.file_size = header.sh_type == SHT_NOBITS
								? 0
								: header.sh_size,
				});
		if (error)
			return error;
		image->section_addresses[i] = address;
		address += header.sh_size;
	}
	return 0;
}

static const char linked_later[] =
		"it contains code for link-time optimization (-flto): the events are in the program or library that is linked from it";

/* Note sections that have no bytes, or have the code in another form. */
static void note_elsewhere(struct image *image, const GElf_Shdr *header)
{
	const char *name = elf_strptr(image->elf, image->names, header->sh_name);

	if (!name)
		return;
	if (header->sh_type == SHT_NOBITS && header->sh_flags & SHF_ALLOC &&
			!strcmp(name, TABLE_SECTION))
		image->elsewhere =
				"it has the debug information of a program or library: the events are in that file";
	else if (header->sh_type == SHT_PROGBITS && image->header.e_type == ET_REL &&
			!strncmp(name, ".gnu.lto_", 9))
		image->elsewhere = linked_later;
}

/* An object may have its code in both forms (-ffat-lto-objects): then it contains its events, if it
   has any. */
static bool is_in_both_forms(struct image *image)
{
	struct image_symbol symbol;

	return image->elsewhere == linked_later &&
			!image_find_symbol(image, "__gnu_lto_slim", true, &symbol);
}

static int find_tables(struct image *image)
{
	for (size_t i = 1; i < image->nr_sections; i++) {
		Elf_Scn *section = elf_getscn(image->elf, i);
		struct image_table *tables;
		GElf_Shdr header;
		const char *name;

		if (!section || !gelf_getshdr(section, &header))
			return -EINVAL;
		note_elsewhere(image, &header);
		if (!(header.sh_flags & SHF_ALLOC) || header.sh_type == SHT_NOBITS ||
				!header.sh_size)
			continue;
		name = elf_strptr(image->elf, image->names, header.sh_name);
		if (!name || strcmp(name, TABLE_SECTION))
			continue;
		/* Its pointers are in the file, so the file's size bounds their number. */
		if (header.sh_offset > image->size ||
				header.sh_size > image->size - header.sh_offset)
			return -EINVAL;
		tables = reallocarray(image->tables, image->nr_tables + 1, sizeof(*tables));
		if (!tables)
			return -ENOMEM;
		image->tables = tables;
		tables[image->nr_tables++] = (struct image_table){
				.address = image->section_addresses ? image->section_addresses[i]
								    : header.sh_addr,
				.size = header.sh_size,
		};
	}
	if (is_in_both_forms(image))
		image->elsewhere = NULL;
	return 0;
}

/* Without section headers, only a search shows whether there are events. */
static int elf_image_search_events(struct image *image, struct error *error)
{
	int result = image_relocate(image, error);

	/* An unsupported machine is no error for a file that has no events. */
	if (result == -ENOTSUP)
		return 0;
	if (!result)
		result = image_search(image);
	return result ? image_fail(error, result, "it has no section headers, and is damaged") : 0;
}

static int elf_image_load_segments(struct image *image, bool relocated, struct error *error)
{
	int result;

	if (!gelf_getehdr(image->elf, &image->header))
		return image_fail(error, -EINVAL, "its ELF header is damaged");
	if (image->header.e_ident[EI_CLASS] != ELFCLASS32 &&
			image->header.e_ident[EI_CLASS] != ELFCLASS64)
		return image_fail(error, -EINVAL, "its ELF header is damaged");
	if (image->header.e_type != ET_REL && image->header.e_type != ET_EXEC &&
			image->header.e_type != ET_DYN)
		return image_fail(error, -EINVAL, "it is not a program, library or object file");
	if (elf_getshdrnum(image->elf, &image->nr_sections))
		image->nr_sections = 0;
	if (elf_getshdrstrndx(image->elf, &image->names))
		image->names = 0;
	if (image->header.e_type == ET_REL && !image->nr_sections)
		return image_fail(error, -EINVAL, "its section headers are missing");
	result = image->header.e_type == ET_REL ? elf_image_load_sections(image)
						: load_segments(image);
	if (result)
		return image_fail(error, result, "it is truncated or damaged");
	result = find_tables(image);
	if (result)
		return image_fail(error, result, "its section headers are damaged");
	if (relocated && !image->nr_sections)
		result = elf_image_search_events(image, error);
	else if (relocated && image->nr_tables)
		result = image_relocate(image, error);
	return result;
}

static bool is_bitcode(const struct image *image)
{
	static const unsigned char magic[4] = {'B', 'C', 0xc0, 0xde};
	unsigned char bytes[sizeof(magic)] = {0};

	if (!image->bytes)
		return !file_read(image->fd, 0, bytes, sizeof(bytes)) &&
				!memcmp(bytes, magic, sizeof(magic));
	return image->size >= sizeof(magic) && !memcmp(image->bytes, magic, sizeof(magic));
}

/* Opens the image, once @image->fd or @image->bytes is set. */
static int elf_image_open(struct image *image, bool relocated, struct error *error)
{
	if (elf_version(EV_CURRENT) == EV_NONE)
		return image_fail(error, -ENOTSUP, "libelf is too old");
	/* libelf does not write to the memory: nothing is modified, and ELF_C_RDWR is not used. */
	if (image->bytes)
		image->elf = elf_memory((char *)(uintptr_t)image->bytes, (size_t)image->size);
	else
		image->elf = elf_begin(image->fd, ELF_C_READ, NULL);
	if (!image->elf || elf_kind(image->elf) != ELF_K_ELF)
		return image_fail(error, -ENOEXEC,
				is_bitcode(image) ? linked_later : "it is not an ELF file");
	return elf_image_load_segments(image, relocated, error);
}

static struct image *new_image(struct error *error)
{
	struct image *image = calloc(1, sizeof(*image));

	error_clear(error);
	errno = 0;
	if (!image)
		error_set_no_memory(error);
	return image;
}

int image_open(int fd, bool relocate, struct image **ret_opened, struct error *error)
{
	struct image *image = new_image(error);
	struct stat status;
	int result;

	if (!image)
		return -ENOMEM;
	image->fd = fd;
	if (fstat(fd, &status)) {
		result = image_fail(error, -errno, strerror(errno));
	} else {
		image->size = (uint64_t)status.st_size;
		result = elf_image_open(image, relocate, error);
	}
	if (result)
		image_close(image);
	else
		*ret_opened = image;
	return result;
}

int image_open_memory(
		const void *bytes, size_t size, struct image **ret_opened, struct error *error)
{
	struct image *image = new_image(error);
	int result;

	if (!image)
		return -ENOMEM;
	image->fd = -1;
	image->bytes = bytes;
	image->size = size;
	result = elf_image_open(image, true, error);
	if (result)
		image_close(image);
	else
		*ret_opened = image;
	return result;
}

void image_close(struct image *image)
{
	if (!image)
		return;
	elf_end(image->elf);
	free(image->segments);
	free(image->patches);
	free(image->tables);
	free(image->section_addresses);
	free(image->found);
	free(image);
}

/* ---- properties ---- */

const struct image_table *image_tables(const struct image *image, size_t *ret_count)
{
	*ret_count = image->nr_tables;
	return image->tables;
}

const uint64_t *image_found(const struct image *image, size_t *ret_count)
{
	*ret_count = image->nr_found;
	return image->found;
}

bool image_has_sections(const struct image *image)
{
	return image->nr_sections > 0;
}

unsigned int image_pointer_size(const struct image *image)
{
	return image->header.e_ident[EI_CLASS] == ELFCLASS32 ? 4 : 8;
}

uint8_t image_byte_order(const struct image *image)
{
	return image->header.e_ident[EI_DATA] == ELFDATA2MSB ? SIDE_TYPE_BYTE_ORDER_BE
							     : SIDE_TYPE_BYTE_ORDER_LE;
}

uint16_t image_machine(const struct image *image)
{
	return image->header.e_machine;
}

const struct image_segment *image_segments(const struct image *image, size_t *ret_count)
{
	*ret_count = image->nr_segments;
	return image->segments;
}

bool image_dynamic_text(struct image *image, int64_t tag, size_t index, const char **ret_text)
{
	for (size_t i = 1; i < image->nr_sections; i++) {
		Elf_Scn *section = elf_getscn(image->elf, i);
		Elf_Data *data;
		GElf_Shdr header;
		GElf_Dyn entry;

		if (!section || !gelf_getshdr(section, &header) || header.sh_type != SHT_DYNAMIC)
			continue;
		data = elf_getdata(section, NULL);
		for (int k = 0; data && gelf_getdyn(data, k, &entry) && entry.d_tag != DT_NULL;
				k++) {
			if (entry.d_tag != tag || index--)
				continue;
			*ret_text = elf_strptr(image->elf, header.sh_link, entry.d_un.d_val);
			return *ret_text != NULL;
		}
		return false;
	}
	return false;
}

/* Search the first section of that type only: a file with many such sections must not cause many
   reads of it. */
static bool find_symbol_in(struct image *image, uint32_t type, const char *name,
		struct image_symbol *ret_found)
{
	Elf_Data *data = NULL;
	GElf_Shdr header;
	GElf_Sym symbol;

	for (size_t i = 1; i < image->nr_sections && !data; i++) {
		Elf_Scn *section = elf_getscn(image->elf, i);

		if (!section || !gelf_getshdr(section, &header))
			return false;
		if (header.sh_type == type && !(data = elf_getdata(section, NULL)))
			return false;
	}
	for (int i = 1; data && gelf_getsym(data, i, &symbol); i++) {
		unsigned int kind = GELF_ST_TYPE(symbol.st_info);
		const char *text;

		if (symbol.st_shndx == SHN_UNDEF || (kind != STT_OBJECT && kind != STT_FUNC))
			continue;
		text = elf_strptr(image->elf, header.sh_link, symbol.st_name);
		if (!text || strcmp(text, name))
			continue;
		*ret_found = (struct image_symbol){symbol.st_value, symbol.st_size};
		return true;
	}
	return false;
}

bool image_find_symbol(
		struct image *image, const char *name, bool all, struct image_symbol *ret_symbol)
{
	return find_symbol_in(image, SHT_DYNSYM, name, ret_symbol) ||
			(all && find_symbol_in(image, SHT_SYMTAB, name, ret_symbol));
}

const char *image_elsewhere(const struct image *image)
{
	return image->nr_tables ? NULL : image->elsewhere;
}
