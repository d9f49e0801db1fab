/* SPDX-License-Identifier: MIT */
/*
 * Computes the relocations of an image as patches.
 *
 * The image is loaded at address 0, so relative relocations that keep their addend in place (REL,
 * RELR) change nothing; only RELA entries and relocations with a symbol make patches. A symbol that
 * the file does not define has the value 0: readers skip or report NULL pointers.
 */
#include "elf/events.h"
#include "elf/image.h"
#include "elf/image-parts.h"

#include <errno.h>
#include <stdlib.h>

/* ---- relocations of the supported machines ---- */

struct relocation_types {
	uint16_t machine;
	unsigned char class;
	uint32_t relative;  /* base + addend */
	uint32_t absolute;  /* symbol + addend, of the size of a pointer */
	uint32_t global;    /* symbol (GLOB_DAT), or 0 */
	uint32_t unaligned; /* the same as absolute for an unaligned address; or 0 */
};

/* MIPS has no relocation for base + addend: R_MIPS_REL32 without a symbol has that effect. */
static const struct relocation_types relocation_types[] = {
		{EM_X86_64, ELFCLASS64, R_X86_64_RELATIVE, R_X86_64_64, R_X86_64_GLOB_DAT, 0},
		{EM_X86_64, ELFCLASS32, R_X86_64_RELATIVE, R_X86_64_32, R_X86_64_GLOB_DAT, 0},
		{EM_386, ELFCLASS32, R_386_RELATIVE, R_386_32, R_386_GLOB_DAT, 0},
		{EM_AARCH64, ELFCLASS64, R_AARCH64_RELATIVE, R_AARCH64_ABS64, R_AARCH64_GLOB_DAT,
				0},
		{EM_ARM, ELFCLASS32, R_ARM_RELATIVE, R_ARM_ABS32, R_ARM_GLOB_DAT, 0},
		{EM_RISCV, ELFCLASS64, R_RISCV_RELATIVE, R_RISCV_64, 0, 0},
		{EM_RISCV, ELFCLASS32, R_RISCV_RELATIVE, R_RISCV_32, 0, 0},
		{EM_PPC64, ELFCLASS64, R_PPC64_RELATIVE, R_PPC64_ADDR64, R_PPC64_GLOB_DAT,
				R_PPC64_UADDR64},
		{EM_PPC, ELFCLASS32, R_PPC_RELATIVE, R_PPC_ADDR32, R_PPC_GLOB_DAT, R_PPC_UADDR32},
		{EM_S390, ELFCLASS64, R_390_RELATIVE, R_390_64, R_390_GLOB_DAT, 0},
		{EM_S390, ELFCLASS32, R_390_RELATIVE, R_390_32, R_390_GLOB_DAT, 0},
		{EM_SPARCV9, ELFCLASS64, R_SPARC_RELATIVE, R_SPARC_64, R_SPARC_GLOB_DAT,
				R_SPARC_UA64},
		{EM_SPARC, ELFCLASS32, R_SPARC_RELATIVE, R_SPARC_32, R_SPARC_GLOB_DAT,
				R_SPARC_UA32},
		{EM_68K, ELFCLASS32, R_68K_RELATIVE, R_68K_32, R_68K_GLOB_DAT, 0},
		{EM_MIPS, ELFCLASS32, R_MIPS_NONE, R_MIPS_32, 0, R_MIPS_REL32},
};

static const struct relocation_types *find_types(const struct image *image)
{
	for (size_t i = 0; i < sizeof(relocation_types) / sizeof(relocation_types[0]); i++) {
		if (relocation_types[i].machine == image->header.e_machine &&
				relocation_types[i].class == image->header.e_ident[EI_CLASS])
			return &relocation_types[i];
	}
	return NULL;
}

static int add_patch(struct image *image, uint64_t address, uint64_t value)
{
	if (image->nr_patches == image->patches_capacity) {
		size_t capacity = image->patches_capacity ? image->patches_capacity * 2 : 256;
		struct image_patch *patches =
				reallocarray(image->patches, capacity, sizeof(*patches));

		if (!patches)
			return -ENOMEM;
		image->patches = patches;
		image->patches_capacity = capacity;
	}
	if (address > UINT64_MAX - 8)
		return 0;
	image->patches[image->nr_patches++] = (struct image_patch){address, value};
	return 0;
}

/* The tables that a relocation section uses. */
struct relocation_scope {
	Elf_Data *symbols;
	Elf_Data *extended; /* section indexes that do not fit a symbol; NULL: none */
	uint64_t base;      /* of the relocated memory: 0, or a section of an object file */
	uint64_t size;      /* of the section of an object file */
};

/* False: another file defines the symbol. */
static bool image_relocate_symbol_value(struct image *image, const struct relocation_scope *scope,
		size_t index, uint64_t *ret_value)
{
	GElf_Sym symbol;
	Elf32_Word extended = 0;
	size_t section;

	*ret_value = 0;
	if (!index)
		return true;
	if (!scope->symbols || index > INT32_MAX ||
			!gelf_getsymshndx(scope->symbols, scope->extended, (int)index, &symbol,
					&extended))
		return false;
	section = symbol.st_shndx == SHN_XINDEX ? extended : symbol.st_shndx;
	if (section == SHN_UNDEF || symbol.st_shndx == SHN_COMMON)
		return false;
	*ret_value = symbol.st_value;
	if (!image->section_addresses || symbol.st_shndx == SHN_ABS)
		return true;
	if (section >= image->nr_sections || !image->section_addresses[section])
		return false;
	*ret_value += image->section_addresses[section];
	return true;
}

static int relocate_one(struct image *image, const struct relocation_types *types,
		const struct relocation_scope *scope, const GElf_Rela *relocation, bool in_place)
{
	uint32_t type = (uint32_t)GELF_R_TYPE(relocation->r_info);
	uint64_t address = scope->base + relocation->r_offset, value, addend;
	bool relative = type == types->relative && !image->section_addresses;

	if (!type ||
			(!relative && type != types->absolute && type != types->global &&
					type != types->unaligned))
		return 0;
	if (image->section_addresses && relocation->r_offset >= scope->size)
		return 0;
	if (relative && in_place)
		return 0;
	addend = (uint64_t)relocation->r_addend;
	if (in_place) {
		unsigned char bytes[8];

		if (image_read_segments(image, address, bytes, image_pointer_size(image)))
			return 0;
		addend = image_decode(image_byte_order(image), bytes, image_pointer_size(image));
	}
	if (relative)
		return add_patch(image, address, addend);
	if (!image_relocate_symbol_value(image, scope, GELF_R_SYM(relocation->r_info), &value))
		return add_patch(image, address, 0);
	return add_patch(image, address, value + (type == types->global ? 0 : addend));
}

/* The section of extended indexes that belongs to a symbol table. */
static Elf_Data *find_extended(struct image *image, size_t symbols)
{
	for (size_t i = 1; i < image->nr_sections; i++) {
		Elf_Scn *section = elf_getscn(image->elf, i);
		GElf_Shdr header;

		if (section && gelf_getshdr(section, &header) &&
				header.sh_type == SHT_SYMTAB_SHNDX && header.sh_link == symbols)
			return elf_getdata(section, NULL);
	}
	return NULL;
}

static int relocate_section(struct image *image, const struct relocation_types *types,
		Elf_Scn *section, const GElf_Shdr *header)
{
	bool in_place = header->sh_type == SHT_REL;
	struct relocation_scope scope = {0};
	Elf_Scn *symbols = elf_getscn(image->elf, header->sh_link);
	Elf_Data *data;
	size_t count;

	if (image->section_addresses) {
		GElf_Shdr target;

		if (header->sh_info >= image->nr_sections ||
				!image->section_addresses[header->sh_info] ||
				!gelf_getshdr(elf_getscn(image->elf, header->sh_info), &target))
			return 0;
		scope.base = image->section_addresses[header->sh_info];
		scope.size = target.sh_size;
		scope.extended = image->nr_sections >= SHN_LORESERVE
				? find_extended(image, header->sh_link)
				: NULL;
	} else if (!(header->sh_flags & SHF_ALLOC)) {
		/* Left by --emit-relocs: the linker has applied it. */
		return 0;
	}
	/* Sections that share their bytes would let a small file request much memory. */
	if (header->sh_size > image->size - image->relocation_bytes)
		return -E2BIG;
	image->relocation_bytes += header->sh_size;
	data = elf_getdata(section, NULL);
	if (!data || !header->sh_entsize)
		return 0;
	if (header->sh_link && symbols)
		scope.symbols = elf_getdata(symbols, NULL);
	count = data->d_size /
			gelf_fsize(image->elf, in_place ? ELF_T_REL : ELF_T_RELA, 1, EV_CURRENT);
	for (size_t i = 0; i < count && i <= INT32_MAX; i++) {
		GElf_Rela relocation = {0};
		GElf_Rel plain;
		int error;

		if (in_place) {
			if (!gelf_getrel(data, (int)i, &plain))
				return -EINVAL;
			relocation.r_offset = plain.r_offset;
			relocation.r_info = plain.r_info;
		} else if (!gelf_getrela(data, (int)i, &relocation)) {
			return -EINVAL;
		}
		error = relocate_one(image, types, &scope, &relocation, in_place);
		if (error)
			return error;
	}
	return 0;
}

int image_relocate_plain(
		struct image *image, const GElf_Rela *relocation, bool in_place, uint64_t symbol)
{
	const struct relocation_types *types = find_types(image);
	uint32_t type = (uint32_t)GELF_R_TYPE(relocation->r_info);
	unsigned char bytes[8];
	uint64_t addend = (uint64_t)relocation->r_addend;

	if (!types || !type || (in_place && type == types->relative))
		return 0;
	if (type == types->relative)
		return add_patch(image, relocation->r_offset, addend);
	if (type == types->global)
		return add_patch(image, relocation->r_offset, symbol);
	if (type != types->absolute && type != types->unaligned)
		return 0;
	if (in_place) {
		if (image_read_segments(
				    image, relocation->r_offset, bytes, image_pointer_size(image)))
			return 0;
		addend = image_decode(image_byte_order(image), bytes, image_pointer_size(image));
	}
	return add_patch(image, relocation->r_offset,
			symbol || !GELF_R_SYM(relocation->r_info) ? symbol + addend : 0);
}

static int compare_patches(const void *one, const void *other)
{
	const struct image_patch *a = one, *b = other;

	return a->address < b->address ? -1 : a->address > b->address;
}

int image_relocate(struct image *image, struct error *error)
{
	const struct relocation_types *types = find_types(image);

	if (!types)
		return error_set(error, -ENOTSUP, NULL,
				"relocations of its machine (ELF number %u) are not known",
				image->header.e_machine);
	for (size_t i = 1; i < image->nr_sections; i++) {
		Elf_Scn *section = elf_getscn(image->elf, i);
		GElf_Shdr header;
		int result;

		if (!section || !gelf_getshdr(section, &header))
			return image_fail(error, -EINVAL, "its section headers are damaged");
		if (header.sh_type != SHT_RELA && header.sh_type != SHT_REL)
			continue;
		result = relocate_section(image, types, section, &header);
		if (result)
			return image_fail(error, result, "its relocations are damaged");
	}
	if (!image->nr_sections && image_relocate_headless(image))
		return image_fail(error, -EINVAL, "its relocations are damaged");
	if (image->nr_patches)
		qsort(image->patches, image->nr_patches, sizeof(*image->patches), compare_patches);
	return 0;
}
