/* SPDX-License-Identifier: MIT */
/*
 * Registers generated code with debuggers, by gdb's interface for JIT compilers: a list of small
 * ELF files in memory, each with the unwind data of one piece of code and its name. Debuggers find
 * the list by the names of two symbols, so the library that contains this code must keep them.
 */
#include "parts.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>

struct jit_code_entry {
	struct jit_code_entry *next_entry, *prev_entry;
	const char *symfile_addr;
	uint64_t symfile_size;
};

struct jit_descriptor {
	uint32_t version, action_flag;
	struct jit_code_entry *relevant_entry, *first_entry;
};

#define JIT_REGISTER 1

/* Protected, because programs that generate code themselves define the same names. */
extern struct jit_descriptor __jit_debug_descriptor __attribute__((visibility("protected")));
void __jit_debug_register_code(void) __attribute__((visibility("protected"), noinline));

__attribute__((used)) struct jit_descriptor __jit_debug_descriptor = {.version = 1};

/* A debugger sets a breakpoint here. */
__attribute__((used)) void __jit_debug_register_code(void)
{
	__asm__ volatile("" ::: "memory");
}

enum { NOTHING, TEXT, FRAMES, SYMBOLS, STRINGS, SECTIONS };

#define NAME_BYTES 24

struct jit_elf_image {
	Elf64_Ehdr header;
	Elf64_Shdr sections[SECTIONS];
	Elf64_Sym symbols[2];
	uint8_t frames[PATCH_FRAMES_BYTES];
	char strings[40 + NAME_BYTES];
};

/* Never freed, and not in the program's heap. */
struct debugger_image {
	struct jit_code_entry entry;
	struct jit_elf_image image;
};
#define TAKEN_AT_ONCE 32

static struct debugger_image *patch_debugger_claim_entry(void)
{
	static struct debugger_image *some;
	static unsigned int left;

	if (!left) {
		some = patch_memory_anywhere(TAKEN_AT_ONCE * sizeof(*some), PROT_READ | PROT_WRITE);
		left = some ? TAKEN_AT_ONCE : 0;
	}
	return left ? &some[--left] : NULL;
}

/* The names of sections; the name of the code follows. */
static const char strings[] = "\0.text\0.eh_frame\0.symtab\0.strtab";
enum { NAME_TEXT = 1, NAME_FRAMES = 7, NAME_SYMBOLS = 17, NAME_STRINGS = 25 };

static void patch_debugger_describe_image(struct jit_elf_image *image, size_t frames_size)
{
	Elf64_Ehdr *header = &image->header;

	memcpy(header->e_ident, ELFMAG, SELFMAG);
	header->e_ident[EI_CLASS] = ELFCLASS64;
	header->e_ident[EI_DATA] = ELFDATA2LSB;
	header->e_ident[EI_VERSION] = EV_CURRENT;
	header->e_type = ET_EXEC;
	header->e_machine = EM_X86_64;
	header->e_version = EV_CURRENT;
	header->e_shoff = offsetof(struct jit_elf_image, sections);
	header->e_ehsize = sizeof(*header);
	header->e_shentsize = sizeof(Elf64_Shdr);
	header->e_shnum = SECTIONS;
	header->e_shstrndx = STRINGS;
	image->sections[FRAMES] = (Elf64_Shdr){.sh_name = NAME_FRAMES,
			.sh_type = SHT_PROGBITS,
			.sh_flags = SHF_ALLOC,
			.sh_addr = (uint64_t)(uintptr_t)image->frames,
			.sh_offset = offsetof(struct jit_elf_image, frames),
			.sh_size = frames_size,
			.sh_addralign = 8};
	image->sections[SYMBOLS] = (Elf64_Shdr){.sh_name = NAME_SYMBOLS,
			.sh_type = SHT_SYMTAB,
			.sh_offset = offsetof(struct jit_elf_image, symbols),
			.sh_size = sizeof(image->symbols),
			.sh_link = STRINGS,
			.sh_info = 1,
			.sh_addralign = 8,
			.sh_entsize = sizeof(Elf64_Sym)};
	image->sections[STRINGS] = (Elf64_Shdr){.sh_name = NAME_STRINGS,
			.sh_type = SHT_STRTAB,
			.sh_offset = offsetof(struct jit_elf_image, strings),
			.sh_size = sizeof(image->strings),
			.sh_addralign = 1};
}

/*
 * Debuggers require a section of code. Without a name it must not cover the code, so it covers a
 * byte of the unwind data.
 */
static void patch_debugger_describe_code(
		struct jit_elf_image *image, const char *name, uint64_t start, uint64_t size)
{
	if (!name) {
		start = image->sections[FRAMES].sh_addr;
		size = 1;
	}
	image->sections[TEXT] = (Elf64_Shdr){.sh_name = NAME_TEXT,
			.sh_type = SHT_NOBITS,
			.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			.sh_addr = start,
			.sh_size = size,
			.sh_addralign = 16};
	memcpy(image->strings, strings, sizeof(strings));
	if (!name)
		return;
	image->symbols[1] = (Elf64_Sym){.st_name = sizeof(strings),
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = TEXT,
			.st_value = start,
			.st_size = size};
	strncpy(image->strings + sizeof(strings), name, NAME_BYTES - 1);
}

void patch_debugger_add(const uint8_t *frames, size_t frames_size, const char *name, uint64_t start,
		uint64_t size)
{
	struct debugger_image *described =
			frames_size <= PATCH_FRAMES_BYTES ? patch_debugger_claim_entry() : NULL;
	struct jit_code_entry *entry;
	struct jit_elf_image *image;

	if (!described)
		return;
	entry = &described->entry;
	image = &described->image;
	memcpy(image->frames, frames, frames_size);
	patch_debugger_describe_image(image, frames_size);
	patch_debugger_describe_code(image, name, start, size);
	entry->symfile_addr = (const char *)image;
	entry->symfile_size = sizeof(*image);
	entry->next_entry = __jit_debug_descriptor.first_entry;
	if (entry->next_entry)
		entry->next_entry->prev_entry = entry;
	/* Release: the entry. Pairs with a debugger, which may read the list at this moment. */
	__atomic_store_n(&__jit_debug_descriptor.first_entry, entry, __ATOMIC_RELEASE);
	__jit_debug_descriptor.relevant_entry = entry;
	__jit_debug_descriptor.action_flag = JIT_REGISTER;
	__jit_debug_register_code();
}
