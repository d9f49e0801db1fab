/* SPDX-License-Identifier: MIT */
/*
 * The ELF files in memory that debuggers read for generated code. libelf reads each of them, and
 * the test compares names, addresses, sizes and the unwind data. The test includes the file and
 * provides the memory.
 */
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "probe/patch/parts.h"

static unsigned int nr_blocks;
static bool has_memory = true;
static char blocks[2][65536] __attribute__((aligned(64)));

static void *given_memory(size_t size, int protection);

#define patch_memory_anywhere given_memory
#include "probe/patch/debugger.c"
#undef patch_memory_anywhere

#include "../../check.h"

static void *given_memory(size_t size, int protection)
{
	if (!has_memory)
		return NULL;
	CHECK(size == 32 * sizeof(struct debugger_image) && size <= sizeof(blocks[0]) &&
			nr_blocks < 2);
	CHECK(protection == (PROT_READ | PROT_WRITE));
	return blocks[nr_blocks++];
}

/* Finds the section of that name. */
static Elf_Scn *find_section(Elf *elf, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	size_t names;

	CHECK(!elf_getshdrstrndx(elf, &names) && names == STRINGS);
	while ((section = elf_nextscn(elf, section))) {
		CHECK(gelf_getshdr(section, header));
		if (!strcmp(elf_strptr(elf, names, header->sh_name), name))
			return section;
	}
	CHECK(!"found");
	return NULL;
}

static void compare_frames(Elf *elf, const uint8_t *frames, size_t size)
{
	GElf_Shdr header;
	Elf_Data *data = elf_rawdata(find_section(elf, ".eh_frame", &header), NULL);

	CHECK(data && data->d_size == size && !memcmp(data->d_buf, frames, size));
	CHECK(header.sh_type == SHT_PROGBITS && header.sh_flags == SHF_ALLOC &&
			header.sh_addralign == 8);
	/* Debuggers read it at its address. */
	CHECK(!memcmp((const void *)(uintptr_t)header.sh_addr, frames, size));
}

static void compare_symbol(Elf *elf, const char *name, uint64_t start, uint64_t size)
{
	GElf_Shdr header;
	Elf_Data *data = elf_getdata(find_section(elf, ".symtab", &header), NULL);
	GElf_Sym symbol;

	CHECK(header.sh_type == SHT_SYMTAB && header.sh_info == 1 && header.sh_link == STRINGS &&
			header.sh_addralign == 8);
	CHECK(header.sh_entsize == sizeof(Elf64_Sym) && data &&
			data->d_size == 2 * sizeof(Elf64_Sym));
	CHECK(gelf_getsym(data, 0, &symbol) && symbol.st_name == 0 && symbol.st_value == 0);
	CHECK(gelf_getsym(data, 1, &symbol));
	if (!name) {
		CHECK(symbol.st_name == 0 && symbol.st_value == 0 && symbol.st_size == 0);
		return;
	}
	CHECK(symbol.st_value == start && symbol.st_size == size && symbol.st_shndx == TEXT);
	CHECK(GELF_ST_TYPE(symbol.st_info) == STT_FUNC &&
			GELF_ST_BIND(symbol.st_info) == STB_GLOBAL);
	CHECK(!strcmp(elf_strptr(elf, header.sh_link, symbol.st_name), name));
}

static void compare(const struct jit_code_entry *entry, const uint8_t *frames, size_t frames_size,
		const char *name, uint64_t start, uint64_t size)
{
	Elf *elf = elf_memory((char *)(uintptr_t)entry->symfile_addr, entry->symfile_size);
	GElf_Ehdr header;
	GElf_Shdr text;

	CHECK(elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header));
	CHECK(header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
			header.e_type == ET_EXEC);
	CHECK(header.e_machine == EM_X86_64 && header.e_version == EV_CURRENT &&
			header.e_shnum == 5 && header.e_ehsize == sizeof(Elf64_Ehdr) &&
			header.e_shentsize == sizeof(Elf64_Shdr));
	compare_frames(elf, frames, frames_size);
	(void)find_section(elf, ".text", &text);
	CHECK(text.sh_type == SHT_NOBITS && text.sh_flags == (SHF_ALLOC | SHF_EXECINSTR) &&
			text.sh_addralign == 16);
	if (name) {
		CHECK(text.sh_addr == start && text.sh_size == size);
	} else {
		GElf_Shdr unwinding;

		(void)find_section(elf, ".eh_frame", &unwinding);
		CHECK(text.sh_addr == unwinding.sh_addr && text.sh_size == 1);
	}
	compare_symbol(elf, name, start, size);
	(void)find_section(elf, ".strtab", &text);
	CHECK(text.sh_type == SHT_STRTAB && text.sh_addralign == 1);
	CHECK(elf_end(elf) == 0);
}

static const struct jit_code_entry *first(void)
{
	CHECK(__jit_debug_descriptor.version == 1);
	return __jit_debug_descriptor.first_entry;
}

int main(void)
{
	static uint8_t frames[PATCH_FRAMES_BYTES + 1];
	const struct jit_code_entry *one, *two;

	CHECK(elf_version(EV_CURRENT) != EV_NONE);
	for (size_t i = 0; i < sizeof(frames); i++)
		frames[i] = (uint8_t)(i * 7 + 1);

	/* Nothing is added if it is too large, or without memory. */
	patch_debugger_add(frames, PATCH_FRAMES_BYTES + 1, "long", 1, 2);
	CHECK(!first() && nr_blocks == 0);
	has_memory = false;
	patch_debugger_add(frames, 8, "poor", 1, 2);
	CHECK(!first() && __jit_debug_descriptor.action_flag == 0);
	has_memory = true;

	patch_debugger_add(frames, PATCH_FRAMES_BYTES, "trampoline", 0x1000, 0x234);
	one = first();
	CHECK(one && !one->next_entry && !one->prev_entry &&
			__jit_debug_descriptor.relevant_entry == one);
	CHECK(__jit_debug_descriptor.action_flag == JIT_REGISTER);
	compare(one, frames, PATCH_FRAMES_BYTES, "trampoline", 0x1000, 0x234);

	/* The newest is the first. A name is cut after 23 letters. */
	patch_debugger_add(frames + 1, 40, "abcdefghijklmnopqrstuvwxyz", 0x5000, 0x10);
	two = first();
	CHECK(two != one && two->next_entry == one && one->prev_entry == two && !two->prev_entry);
	compare(two, frames + 1, 40, "abcdefghijklmnopqrstuvw", 0x5000, 0x10);
	compare(one, frames, PATCH_FRAMES_BYTES, "trampoline", 0x1000, 0x234);

	patch_debugger_add(frames + 2, 16, NULL, 7, 9);
	CHECK(__jit_debug_descriptor.relevant_entry == first());
	compare(first(), frames + 2, 16, NULL, 0, 0);

	/* Memory for 32 at a time. */
	for (int i = 3; i < 32; i++)
		patch_debugger_add(frames, 8, "more", 1, 2);
	CHECK(nr_blocks == 1);
	patch_debugger_add(frames, 8, "more", 1, 2);
	CHECK(nr_blocks == 2);
	return 0;
}
