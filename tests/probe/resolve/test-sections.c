/* SPDX-License-Identifier: MIT */
/*
 * Sections of a file: markers, thread-local variables, and IFUNC resolvers. The test makes small
 * ELF files in memory and simulates the functions of their code. It includes the files.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../called.h"

#include "probe/spec/fetch.h"
#include "probe/spec/parts.h"

/* ---- simulated code ---- */

struct code_file {
	struct code_function functions[4];
	const char *names[4][2];
	size_t count;
	uint64_t choices[4][3];
	size_t nr_choices[4];
};

static Elf *played_elf(struct resolve_module *module)
{
	return module->elf;
}

static int code_result; /* of opening a file, and of examining a location */

static int played_code(struct resolve_module *module, struct error *error)
{
	(void)error;
	called("open %s ", module->name);
	return code_result;
}

static int played_site(struct code_file *file, uint64_t address, struct probe_site *site)
{
	(void)file;
	*site = (struct probe_site){.address = address};
	return address == 0x2100 ? -1 : 0;
}

static const char *played_name(
		const struct code_file *file, const struct code_function *function, size_t index)
{
	return file->names[function - file->functions][index];
}

static const struct code_function *played_function_at(
		const struct code_file *file, uint64_t address)
{
	for (size_t i = 0; i < file->count; i++) {
		if (address >= file->functions[i].address &&
				address - file->functions[i].address < file->functions[i].size)
			return &file->functions[i];
	}
	return NULL;
}

static size_t played_functions(const struct code_file *file, const struct code_function **functions)
{
	*functions = file->functions;
	return file->count;
}

static size_t played_choices(const struct code_file *file, const struct code_function *chooser,
		uint64_t *choices, size_t capacity)
{
	size_t index = (size_t)(chooser - file->functions);

	assert_int_equal(capacity, RESOLVE_CHOICES_MAX);
	memcpy(choices, file->choices[index], sizeof(file->choices[index]));
	return file->nr_choices[index];
}

#define module_elf played_elf
#define module_code played_code
#define code_site played_site
#define code_name played_name
#define code_function_at played_function_at
#define code_functions played_functions
#define code_choices played_choices
#include "probe/spec/ifunc.c"
#undef RELOCATIONS_MAX
#include "probe/spec/marker.c"
#include "probe/spec/thread.c"

/* ---- a file ---- */

enum {
	SECTION_NAMES = 1,
	SECTION_TEXTS,
	SECTION_SYMBOLS,
	SECTION_RELOCATIONS,
	SECTION_NOTES,
	SECTION_BASE,
	SECTIONS
};

struct file {
	Elf64_Ehdr header;
	Elf64_Phdr segments[3];
	Elf64_Shdr sections[SECTIONS];
	char names[64];
	char texts[64];
	Elf64_Sym symbols[4];
	Elf64_Rela relocations[4];
	char notes[256];
};

static struct file file;
static size_t nr_relocations, notes_size;
static struct code_file code;
static struct resolve_module module;
static char module_path[] = "/bin/kitchen";

#define SECTION(type, member, name, link, entry)                    \
	((Elf64_Shdr){.sh_type = (type),                            \
			.sh_offset = offsetof(struct file, member), \
			.sh_size = sizeof(file.member),             \
			.sh_name = (name),                          \
			.sh_link = (link),                          \
			.sh_entsize = (entry),                      \
			.sh_addralign = 4})

static void begin(void)
{
	memset(&file, 0, sizeof(file));
	file.header = (Elf64_Ehdr){.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
						   ELFDATA2LSB, EV_CURRENT},
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phoff = offsetof(struct file, segments),
			.e_phnum = 3,
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_shoff = offsetof(struct file, sections),
			.e_shnum = SECTIONS,
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shstrndx = SECTION_NAMES};
	file.segments[0] = (Elf64_Phdr){.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_offset = 0x1010,
			.p_vaddr = 0x5010,
			.p_filesz = 0xff0,
			.p_memsz = 0xff0};
	file.segments[1] = (Elf64_Phdr){
			.p_type = PT_TLS, .p_vaddr = 0x7008, .p_memsz = 0x14, .p_align = 16};
	memcpy(file.names, "\0.note.stapsdt\0.stapsdt.base\0.other", 36);
	memcpy(file.texts, "\0memcpy\0serve\0plate", 20);
	file.sections[SECTION_NAMES] = SECTION(SHT_STRTAB, names, 0, 0, 0);
	file.sections[SECTION_TEXTS] = SECTION(SHT_STRTAB, texts, 0, 0, 0);
	file.sections[SECTION_SYMBOLS] =
			SECTION(SHT_DYNSYM, symbols, 29, SECTION_TEXTS, sizeof(Elf64_Sym));
	file.sections[SECTION_RELOCATIONS] =
			SECTION(SHT_RELA, relocations, 29, SECTION_SYMBOLS, sizeof(Elf64_Rela));
	file.sections[SECTION_NOTES] = SECTION(SHT_NOTE, notes, 1, 0, 0);
	file.sections[SECTION_BASE] = (Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_name = 29};
	file.symbols[1] = (Elf64_Sym){.st_name = 1, .st_shndx = 1, .st_value = 0x30};
	file.symbols[2] = (Elf64_Sym){.st_name = 8, .st_shndx = SHN_UNDEF, .st_value = 0x50};
	file.symbols[3] = (Elf64_Sym){.st_name = 14, .st_shndx = 1, .st_value = 0x70};
	nr_relocations = notes_size = 0;
	code = (struct code_file){.count = 0};
	code_result = 0;
	module = (struct resolve_module){.name = "kitchen", .path = module_path, .code = &code};
	*calls = '\0';
}

static void add_relocation(uint64_t offset, uint32_t symbol, uint32_t type, int64_t addend)
{
	file.relocations[nr_relocations++] = (Elf64_Rela){.r_offset = offset,
			.r_info = ELF64_R_INFO(symbol, type),
			.r_addend = addend};
}

static void open_file(void)
{
	file.sections[SECTION_RELOCATIONS].sh_size = nr_relocations * sizeof(Elf64_Rela);
	file.sections[SECTION_NOTES].sh_size = notes_size;
	assert_int_not_equal(elf_version(EV_CURRENT), EV_NONE);
	module.elf = elf_memory((char *)&file, sizeof(file));
	assert_non_null(module.elf);
}

static void close_file(void)
{
	elf_end(module.elf);
	module.elf = NULL;
}

/* ---- thread-local variables ---- */

static void expect_fetch(const struct fetch *fetch, size_t index, enum probe_fetch_code wanted,
		int64_t value)
{
	assert_true(index < fetch->nr_ops);
	assert_int_equal(fetch->ops[index].code, wanted);
	assert_int_equal(fetch->ops[index].value, value);
}

static int find_variable(uint64_t offset, struct fetch *fetch)
{
	int ret;

	open_file();
	ret = thread_variable(&module, offset, fetch);
	close_file();
	return ret;
}

static void test_program(void **state)
{
	static const struct {
		uint64_t address, size, align;
		int64_t begin; /* the constant that is added to the offset of a variable */
	} cases[] = {{0x7008, 0x14, 16, -0x18}, {0x7000, 0x14, 16, -0x20},
			{0x7000, 0x20, 16, -0x20}, {0x7004, 0x14, 8, -0x14},
			{0x7001, 0x14, 1, -0x14}, {0x7001, 0x14, 0, -0x14},
			{0x7000, 0x14, 2, -0x14}, {0x7001, 0x14, 2, -0x15},
			{0x7000, INT32_MAX, 1, -INT32_MAX}};
	struct fetch fetch;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		begin();
		module.executable = true;
		file.segments[1].p_vaddr = cases[i].address;
		file.segments[1].p_memsz = cases[i].size;
		file.segments[1].p_align = cases[i].align;
		assert_int_equal(find_variable(4, &fetch), 0);
		assert_int_equal(fetch.nr_ops, 1);
		expect_fetch(&fetch, 0, PROBE_FETCH_THREAD, 4 + cases[i].begin);
	}
	file.segments[1].p_memsz = (uint64_t)INT32_MAX + 1;
	assert_int_equal(find_variable(4, &fetch), -ENOTSUP);
	file.segments[1].p_memsz = UINT64_MAX;
	file.segments[1].p_align = 16;
	file.segments[1].p_vaddr = 0x7008;
	assert_int_equal(find_variable(4, &fetch), -ENOTSUP);
	file.segments[1].p_memsz = 0x14;
	file.segments[1].p_align = 12;
	assert_int_equal(find_variable(4, &fetch), -ENOTSUP);
	file.segments[1].p_align = 16;
	assert_int_equal(find_variable(0x13, &fetch), 0);
	assert_int_equal(find_variable(0x14, &fetch), -ENOTSUP);
	assert_int_equal(fetch.nr_ops, 0);
	file.segments[1].p_type = PT_NULL;
	assert_int_equal(find_variable(4, &fetch), -ENOTSUP);
	assert_int_equal(thread_variable(&module, 4, &fetch), -ENOTSUP);
}

static void test_library(void **state)
{
	struct fetch fetch;

	(void)state;
	begin();
	assert_int_equal(find_variable(4, &fetch), -ENOTSUP);
	/* The loader's id of the library; the first word counts. */
	add_relocation(0x8000, 0, R_X86_64_RELATIVE, 5);
	add_relocation(0x8010, 0, R_X86_64_DTPMOD64, 0);
	add_relocation(0x8020, 0, R_X86_64_DTPMOD64, 0);
	assert_int_equal(find_variable(4, &fetch), 0);
	assert_int_equal(fetch.nr_ops, 4);
	expect_fetch(&fetch, 0, PROBE_FETCH_MODULE, 0x8010);
	expect_fetch(&fetch, 1, PROBE_FETCH_LOAD, 0);
	assert_int_equal(fetch.ops[1].size, 8);
	expect_fetch(&fetch, 2, PROBE_FETCH_BLOCK, 0);
	assert_int_equal(fetch.ops[3].value, 4);
	/* The word of a variable of another library. */
	begin();
	add_relocation(0x8010, 2, R_X86_64_DTPMOD64, 0);
	assert_int_equal(find_variable(4, &fetch), -ENOTSUP);
	add_relocation(0x8020, 1, R_X86_64_DTPMOD64, 0);
	assert_int_equal(find_variable(4, &fetch), 0);
	expect_fetch(&fetch, 0, PROBE_FETCH_MODULE, 0x8020);
	/* The distance of another variable from the thread pointer. */
	add_relocation(0x8030, 2, R_X86_64_TPOFF64, 0);
	add_relocation(0x8040, 1, R_X86_64_TPOFF64, 2);
	assert_int_equal(find_variable(4, &fetch), 0);
	expect_fetch(&fetch, 0, PROBE_FETCH_THREAD, 4 - 0x32);
	assert_int_equal(fetch.nr_ops, 5);
	expect_fetch(&fetch, 1, PROBE_FETCH_PUSH, 0);
	expect_fetch(&fetch, 2, PROBE_FETCH_MODULE, 0x8040);
	expect_fetch(&fetch, 3, PROBE_FETCH_LOAD, 0);
	assert_int_equal(fetch.ops[3].size, 8);
	expect_fetch(&fetch, 4, PROBE_FETCH_CALCULATE, 0);
	assert_int_equal(fetch.ops[4].size, PROBE_SUM_PLUS);
	begin();
	add_relocation(0x8040, 0, R_X86_64_TPOFF64, 7);
	add_relocation(0x8050, 0, R_X86_64_TPOFF64, 8);
	assert_int_equal(find_variable(9, &fetch), 0);
	expect_fetch(&fetch, 0, PROBE_FETCH_THREAD, 2);
	expect_fetch(&fetch, 2, PROBE_FETCH_MODULE, 0x8040);
	/* Symbols that do not exist. */
	begin();
	add_relocation(0x8040, 4, R_X86_64_TPOFF64, 7);
	assert_int_equal(find_variable(9, &fetch), -ENOTSUP);
	file.relocations[0].r_info = ELF64_R_INFO(UINT64_C(0x80000001), R_X86_64_TPOFF64);
	assert_int_equal(find_variable(9, &fetch), -ENOTSUP);
	file.relocations[0].r_info = ELF64_R_INFO(1, R_X86_64_TPOFF64);
	file.sections[SECTION_RELOCATIONS].sh_link = 50;
	assert_int_equal(find_variable(9, &fetch), -ENOTSUP);
	file.sections[SECTION_RELOCATIONS].sh_link = SECTION_SYMBOLS;
	file.sections[SECTION_RELOCATIONS].sh_entsize = 0;
	assert_int_equal(find_variable(9, &fetch), -ENOTSUP);
	file.sections[SECTION_RELOCATIONS].sh_entsize = sizeof(Elf64_Rela);
	file.sections[SECTION_RELOCATIONS].sh_type = SHT_PROGBITS;
	assert_int_equal(find_variable(9, &fetch), -ENOTSUP);
	file.sections[SECTION_RELOCATIONS].sh_type = SHT_RELA;
	assert_int_equal(find_variable(9, &fetch), 0);
	expect_fetch(&fetch, 0, PROBE_FETCH_THREAD, 9 - 0x37);
}

/* ---- markers ---- */

static void add_note(const char *owner, uint32_t type, uint64_t address, uint64_t base,
		uint64_t semaphore, const char *texts, size_t size)
{
	const uint64_t names[] = {address, base, semaphore};
	const Elf64_Nhdr note = {.n_namesz = (uint32_t)strlen(owner) + 1,
			.n_descsz = (uint32_t)(sizeof(names) + size),
			.n_type = type};
	char *at = file.notes + notes_size;

	memcpy(at, &note, sizeof(note));
	strcpy(at + sizeof(note), owner);
	at += sizeof(note) + (note.n_namesz + 3u) / 4 * 4;
	memcpy(at, names, sizeof(names));
	memcpy(at + sizeof(names), texts, size);
	notes_size = (size_t)(at - file.notes) + (note.n_descsz + 3u) / 4 * 4;
	assert_true(notes_size <= sizeof(file.notes));
}

static int each_result;

static int note_marker(void *user, const struct resolve_marker *marker)
{
	assert_ptr_equal(user, &each_result);
	called("%s %s:%s(%s) at %llx, %llx", marker->module, marker->provider, marker->name,
			marker->arguments, (unsigned long long)marker->address,
			(unsigned long long)marker->semaphore);
	if (marker->runtime)
		called(" loaded %d at %llx, %d listeners, site %llx", marker->loaded,
				(unsigned long long)marker->runtime, marker->listeners,
				marker->site ? (unsigned long long)marker->site->address : 0);
	called("\n");
	return each_result;
}

static int list_markers(void)
{
	int ret;

	open_file();
	ret = module_markers(&module, note_marker, &each_result);
	close_file();
	return ret;
}

#define TEXTS "pot\0boil\0 4@%edi"

static void test_markers(void **state)
{
	static const char one[] = "/bin/kitchen pot:boil( 4@%edi) at 2000, 0\n";

	(void)state;
	begin();
	each_result = 0;
	add_note("stapsdt", 3, 0x2000, 0x9000, 0, TEXTS, sizeof(TEXTS));
	assert_int_equal(list_markers(), 0);
	assert_called(one);
	/* Other notes are not markers; the damaged one has no end and is skipped. */
	begin();
	add_note("stapsdt", 4, 0x2001, 0, 0, TEXTS, sizeof(TEXTS));
	add_note("stapsdz", 3, 0x2002, 0, 0, TEXTS, sizeof(TEXTS));
	add_note("stap", 3, 0x2003, 0, 0, TEXTS, sizeof(TEXTS));
	add_note("stapsdt", 3, 0x2000, 0, 0, TEXTS, sizeof(TEXTS));
	assert_int_equal(list_markers(), 0);
	assert_called(one);
	begin();
	add_note("stapsdt", 3, 0x2004, 0, 0, TEXTS, sizeof(TEXTS) - 1);
	add_note("stapsdt", 3, 0x2005, 0, 0, "\0\0", 2);
	add_note("stapsdt", 3, 0x2006, 0, 0, "abc", 3);
	add_note("stapsdt", 3, 0x2007, 0, 0, "a\0bc", 4);
	add_note("stapsdt", 3, 0x2008, 0, 0, "\0\0\0", 3);
	assert_int_equal(list_markers(), 0);
	assert_called("/bin/kitchen :() at 2008, 0\n");
	/* prelink has moved the code by 0x300; semaphores are moved, too, and none stays none. */
	begin();
	file.sections[SECTION_BASE].sh_name = 15;
	file.sections[SECTION_BASE].sh_addr = 0x9300;
	add_note("stapsdt", 3, 0x2000, 0x9000, 0x4000, TEXTS, sizeof(TEXTS));
	add_note("stapsdt", 3, 0x2010, 0x9200, 0, TEXTS, sizeof(TEXTS));
	assert_int_equal(list_markers(), 0);
	assert_called("/bin/kitchen pot:boil( 4@%edi) at 2300, 4300\n/bin/kitchen pot:boil( 4@%edi) at 2110, 0\n");
	each_result = 7;
	assert_int_equal(list_markers(), 7);
	assert_called("/bin/kitchen pot:boil( 4@%edi) at 2300, 4300\n");
	each_result = 0;
	file.sections[SECTION_NOTES].sh_type = SHT_PROGBITS;
	assert_int_equal(list_markers(), 0);
	file.sections[SECTION_NOTES].sh_type = SHT_NOTE;
	file.sections[SECTION_NOTES].sh_name = 29;
	assert_int_equal(list_markers(), 0);
	assert_int_equal(module_markers(&module, note_marker, &each_result), 0);
	assert_called("");
}

/* A string has at most 4096 bytes. */
static void test_texts(void **state)
{
	static char bytes[24 + 5000];
	struct resolve_marker marker = {.module = "m"};

	(void)state;
	memset(bytes + 24, 'p', 4096);
	assert_true(read_marker(bytes, 24 + 4096 + 3, 0, &marker));
	assert_int_equal(strlen(marker.provider), 4096);
	assert_false(read_marker(bytes, 24 + 4096 + 2, 0, &marker));
	bytes[24 + 4096] = 'p';
	assert_false(read_marker(bytes, 24 + 4097 + 3, 0, &marker));
	bytes[24] = 0;
	assert_false(read_marker(bytes, 24 + 2, 0, &marker));
	bytes[25] = bytes[26] = 0;
	assert_true(read_marker(bytes, 24 + 3, 0, &marker));
}

static void test_listeners(void **state)
{
	const uint16_t listeners = 513;
	struct resolve all = {.modules = &module, .nr_modules = 1, .memory = -1};
	int memory = memfd_create("memory", MFD_CLOEXEC);

	(void)state;
	begin();
	each_result = 0;
	assert_int_equal(pwrite(memory, &listeners, 2, 0x14000), 2);
	add_note("stapsdt", 3, 0x2000, 0, 0x4000, TEXTS, sizeof(TEXTS));
	module.bias = 0x10000;
	open_file();
	assert_int_equal(resolve_markers(&all, note_marker, &each_result), 0);
	assert_called("open kitchen /bin/kitchen pot:boil( 4@%edi) at 2000, 4000 loaded 0 at 12000, -1 listeners, site 2000\n");
	module.loaded = true;
	assert_int_equal(resolve_markers(&all, note_marker, &each_result), 0);
	assert_called("open kitchen /bin/kitchen pot:boil( 4@%edi) at 2000, 4000 loaded 1 at 12000, -1 listeners, site 2000\n");
	all.memory = memory;
	code_result = -1;
	assert_int_equal(resolve_markers(&all, note_marker, &each_result), 0);
	assert_called("open kitchen /bin/kitchen pot:boil( 4@%edi) at 2000, 4000 loaded 1 at 12000, 513 listeners, site 0\n");
	code_result = 0;
	module.refused = true;
	module.loaded = false;
	assert_int_equal(resolve_markers(&all, note_marker, &each_result), 0);
	assert_called("/bin/kitchen pot:boil( 4@%edi) at 2000, 4000 loaded 0 at 12000, -1 listeners, site 0\n");
	close_file();
	/*
	 * No semaphore; the end of the memory; code that cannot be probed; and the first result
	 * that is not 0, which ends the walk.
	 */
	begin();
	module.bias = 0x10000;
	module.loaded = true;
	add_note("stapsdt", 3, 0x2100, 0, 0, TEXTS, sizeof(TEXTS));
	add_note("stapsdt", 3, 0x2000, 0, 0x4001, TEXTS, sizeof(TEXTS));
	open_file();
	assert_int_equal(resolve_markers(&all, note_marker, &each_result), 0);
	assert_called("open kitchen /bin/kitchen pot:boil( 4@%edi) at 2100, 0 loaded 1 at 12100, -1 listeners, site 0\n"
		      "open kitchen /bin/kitchen pot:boil( 4@%edi) at 2000, 4001 loaded 1 at 12000, -1 listeners, site 2000\n");
	each_result = 5;
	{
		struct resolve_module twice[] = {module, module};

		all.modules = twice;
		all.nr_modules = 2;
		assert_int_equal(resolve_markers(&all, note_marker, &each_result), 5);
	}
	assert_called("open kitchen /bin/kitchen pot:boil( 4@%edi) at 2100, 0 loaded 1 at 12100, -1 listeners, site 0\n");
	close_file();
	close(memory);
}

/* ---- IFUNC resolvers ---- */

static struct resolve all;

static void add_function(const char *name, uint64_t address, bool chooses)
{
	code.names[code.count][0] = name;
	code.names[code.count][1] = "alias";
	code.functions[code.count++] = (struct code_function){
			.address = address, .size = 0x10, .nr_names = 2, .chooses = chooses};
}

/* A library in a process, with a resolver and two functions that it may choose. */
static void begin_choosing(int memory)
{
	begin();
	add_function("memcpy", 0x5100, true);
	add_function("memcpy_fast", 0x5200, false);
	add_function("memcpy_slow", 0x5300, false);
	add_function("memmove", 0x5400, true);
	for (size_t i = 0; i < 4; i += 3) {
		code.choices[i][0] = 0x5200;
		code.choices[i][1] = 0x5300;
		code.nr_choices[i] = 2;
	}
	/* The file is mapped from 0x1000 on at 0x105000; the bias of its code is 0x100000. */
	module.loaded = true;
	module.offset = 0x1000;
	module.begin = 0x105000;
	module.end = 0x106000;
	module.bias = 0x100000;
	all = (struct resolve){.modules = &module, .nr_modules = 1, .memory = memory};
}

static void put_word(int memory, uint64_t address, uint64_t value)
{
	assert_int_equal(pwrite(memory, &value, 8, (off_t)address), 8);
}

static struct resolve_choices choose_now(void)
{
	struct resolve_choices choices;

	open_file();
	ifunc_targets(&all, &module, &code.functions[0], &choices);
	close_file();
	return choices;
}

static void expect_choice(uint64_t address)
{
	struct resolve_choices choices = choose_now();

	if (address) {
		assert_true(choices.certain);
		assert_int_equal(choices.count, 1);
		assert_int_equal(choices.addresses[0], address);
	} else {
		assert_false(choices.certain);
		assert_int_equal(choices.count, 2);
		assert_int_equal(choices.addresses[1], 0x5300);
	}
	assert_false(choices.outside);
}

static void test_slots(void **state)
{
	static const uint32_t types[] = {R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, R_X86_64_64};
	int memory = memfd_create("memory", MFD_CLOEXEC);

	(void)state;
	begin_choosing(memory);
	expect_choice(0);
	add_relocation(0x8000, 0, R_X86_64_IRELATIVE, 0x5100);
	put_word(memory, 0x108000, 0x105200);
	expect_choice(0x5200);
	all.memory = -1;
	expect_choice(0);
	all.memory = memory;
	module.loaded = false;
	expect_choice(0);
	module.loaded = true;
	file.relocations[0].r_addend++;
	expect_choice(0);
	file.relocations[0].r_addend--;
	/* The slot has the resolver itself, the middle of a function, or no function. */
	put_word(memory, 0x108000, 0x105100);
	expect_choice(0);
	put_word(memory, 0x108000, 0x105201);
	expect_choice(0);
	put_word(memory, 0x108000, 0x105500);
	expect_choice(0);
	/* Of two slots the first one that leads to a function counts. */
	add_relocation(0x8010, 0, R_X86_64_IRELATIVE, 0x5100);
	put_word(memory, 0x108010, 0x105300);
	expect_choice(0x5300);
	/* Slots for the name. */
	for (size_t i = 0; i < 3; i++) {
		begin_choosing(memory);
		add_relocation(0x8010, 1, types[i], 0);
		expect_choice(0x5300);
		code.names[0][0] = "memset";
		expect_choice(0);
		code.names[0][1] = "memcpy";
		expect_choice(0x5300);
		code.functions[0].nr_names = 1;
		expect_choice(0);
	}
	begin_choosing(memory);
	add_relocation(0x8010, 1, R_X86_64_RELATIVE, 0);
	expect_choice(0);
	file.relocations[0].r_info = ELF64_R_INFO(0, R_X86_64_64);
	code.names[0][0] = "";
	expect_choice(0);
	file.relocations[0].r_info = ELF64_R_INFO(1, R_X86_64_64);
	code.names[0][0] = "memcpy";
	file.sections[SECTION_SYMBOLS].sh_type = SHT_SYMTAB;
	expect_choice(0);
	file.sections[SECTION_SYMBOLS].sh_type = SHT_DYNSYM;
	file.sections[SECTION_RELOCATIONS].sh_type = SHT_PROGBITS;
	expect_choice(0);
	/* Memory that cannot be read. */
	begin_choosing(memory);
	add_relocation(0x800000, 1, R_X86_64_64, 0);
	expect_choice(0);
	close(memory);
}

static void test_outside(void **state)
{
	int memory = memfd_create("memory", MFD_CLOEXEC);
	struct resolve_module two[2];
	struct resolve_choices choices;

	(void)state;
	begin_choosing(memory);
	add_relocation(0x8000, 0, R_X86_64_IRELATIVE, 0x5100);
	put_word(memory, 0x108000, 0x106000);
	choices = choose_now();
	assert_true(choices.outside);
	put_word(memory, 0x108000, 0x104fff);
	choices = choose_now();
	assert_true(choices.outside);
	assert_false(choices.certain);
	put_word(memory, 0x108000, 4096);
	assert_false(choose_now().outside);
	put_word(memory, 0x108000, 4097);
	assert_true(choose_now().outside);
	/* In another file. */
	begin_choosing(memory);
	add_relocation(0x8000, 0, R_X86_64_IRELATIVE, 0x5100);
	two[0] = module;
	two[1] = (struct resolve_module){.begin = 0x300000, .end = 0x301000};
	all.modules = two;
	all.nr_modules = 2;
	for (int i = 0; i < 4; i++) {
		static const uint64_t values[] = {0x300000, 0x300fff, 0x301000, 0x2fffff};

		put_word(memory, 0x108000, values[i]);
		assert_int_equal(choose_now().outside, i > 1);
	}
	close(memory);
}

/* A file that calls it by a name: another file than that of the function. */
static void test_callers(void **state)
{
	int memory = memfd_create("memory", MFD_CLOEXEC);
	struct resolve_module two[2];
	struct resolve_choices choices;

	(void)state;
	begin_choosing(memory);
	add_relocation(0x8000, 1, R_X86_64_JUMP_SLOT, 0);
	add_relocation(0x8000, 0, R_X86_64_IRELATIVE, 0x5100);
	open_file();
	two[0] = module;
	two[0].elf = NULL;
	two[1] = module;
	two[1].begin = 0x205000;
	two[1].bias = 0x200000;
	all.modules = two;
	all.nr_modules = 2;
	put_word(memory, 0x208000, 0x105300);
	ifunc_targets(&all, &two[0], &code.functions[0], &choices);
	assert_true(choices.certain);
	assert_int_equal(choices.addresses[0], 0x5300);
	/* The same address in another file is another function. */
	two[1].elf = NULL;
	two[0].elf = module.elf;
	put_word(memory, 0x108000, 0x105200);
	ifunc_targets(&all, &two[0], &code.functions[0], &choices);
	assert_int_equal(choices.addresses[0], 0x5200);
	file.relocations[0].r_info = 0;
	close_file();
	open_file();
	two[0].elf = NULL;
	two[1].elf = module.elf;
	ifunc_targets(&all, &two[0], &code.functions[0], &choices);
	assert_false(choices.certain);
	close_file();
	close(memory);
}

static void test_bias(void **state)
{
	uint64_t bias = 0;

	(void)state;
	begin_choosing(-1);
	open_file();
	assert_true(bias_of(&module, &bias));
	assert_int_equal(bias, 0x105000 - 0x1000 + 0x1010 - 0x5010);
	module.offset = 0xfff;
	assert_false(bias_of(&module, &bias));
	module.offset = 0x1fff;
	assert_true(bias_of(&module, &bias));
	module.offset = 0x2000;
	assert_false(bias_of(&module, &bias));
	module.offset = 0x1000;
	module.loaded = false;
	assert_false(bias_of(&module, &bias));
	module.loaded = true;
	close_file();
	assert_false(bias_of(&module, &bias));
	file.segments[0].p_flags = PF_R;
	open_file();
	assert_false(bias_of(&module, &bias));
	close_file();
	file.segments[0].p_flags = PF_R | PF_X;
	file.segments[0].p_type = PT_NOTE;
	open_file();
	assert_false(bias_of(&module, &bias));
	close_file();
}

static void test_choices(void **state)
{
	struct resolve_choices choices;

	(void)state;
	begin_choosing(-1);
	assert_int_equal(resolve_choices(&all, "/bin/other", 0x5100, &choices), -1);
	assert_int_equal(resolve_choices(&all, "/bin/kitchen", 0x5100, &choices), 0);
	assert_int_equal(choices.count, 2);
	assert_called("open kitchen ");
	assert_int_equal(resolve_choices(&all, "/bin/kitchen", 0x5101, &choices), 0);
	assert_int_equal(choices.count, 0);
	assert_int_equal(resolve_choices(&all, "/bin/kitchen", 0x5900, &choices), 0);
	assert_int_equal(choices.count, 0);
	code_result = -1;
	assert_int_equal(resolve_choices(&all, "/bin/kitchen", 0x5100, &choices), -1);
	*calls = '\0';
	module.refused = true;
	assert_int_equal(resolve_choices(&all, "/bin/kitchen", 0x5100, &choices), -1);
	assert_called("");
}

static void expect_text(const struct resolve_choices *choices, const char *wanted)
{
	char *text = ifunc_note(&module, &code.functions[0], "memcpy", choices);

	assert_string_equal(text, wanted);
	free(text);
}

static void test_choice_texts(void **state)
{
	struct resolve_choices one = {.addresses = {0x5200}, .count = 1, .certain = true},
			       both = {.addresses = {0x5200, 0x5300}, .count = 2};

	(void)state;
	begin_choosing(-1);
	expect_text(&one,
			"`memcpy` of kitchen is the function at 0x5200 (memcpy_fast) in this process, which it has selected for this processor; calls of `memmove` may lead there, too");
	code.choices[3][0] = 0x5210;
	code.choices[3][1] = 0x5220;
	expect_text(&one,
			"`memcpy` of kitchen is the function at 0x5200 (memcpy_fast) in this process, which it has selected for this processor");
	code.functions[1].nr_names = 0;
	expect_text(&one,
			"`memcpy` of kitchen is the function at 0x5200 in this process, which it has selected for this processor");
	one.addresses[0] = 0x5900;
	expect_text(&one,
			"`memcpy` of kitchen is the function at 0x5900 in this process, which it has selected for this processor");
	expect_text(&both,
			"`memcpy` of kitchen chooses one of 2 functions for this processor when it is loaded, each of which is a location of the event");
	/* The second choice of each. */
	code.choices[3][1] = 0x5300;
	expect_text(&both,
			"`memcpy` of kitchen chooses one of 2 functions for this processor when it is loaded, each of which is a location of the event; calls of `memmove` may lead there, too");
	code.functions[3].chooses = false;
	expect_text(&both,
			"`memcpy` of kitchen chooses one of 2 functions for this processor when it is loaded, each of which is a location of the event");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_program),
			cmocka_unit_test(test_library),
			cmocka_unit_test(test_markers),
			cmocka_unit_test(test_texts),
			cmocka_unit_test(test_listeners),
			cmocka_unit_test(test_slots),
			cmocka_unit_test(test_outside),
			cmocka_unit_test(test_callers),
			cmocka_unit_test(test_bias),
			cmocka_unit_test(test_choices),
			cmocka_unit_test(test_choice_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
