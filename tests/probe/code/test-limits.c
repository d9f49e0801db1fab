/* SPDX-License-Identifier: MIT */
/*
 * Limits of files with code: the last permitted value, and one more. The test includes the files
 * and replaces memory functions.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probe/code/parts.h"
#include "probe/code/rows.h"
#include "probe/code/x86-64.h"

#include "../../check.h"

static size_t asked;

static void *played_malloc(size_t size)
{
	asked = size;
	return NULL;
}

#define malloc played_malloc
#include "probe/code/debug-link.c"
#undef malloc
#include "probe/code/file.c"
static struct code_function all_functions[80];
static struct x86_stack_use uses[80];
static int results[80];
static struct code_row the_row;
static bool rows_fail;

static const struct code_function *played_function(const struct code_file *file, uint64_t address)
{
	(void)file;
	return address / 0x1000 < 80 ? &all_functions[address / 0x1000] : NULL;
}

static int played_use(struct code_file *file, const struct code_function *function,
		struct x86_stack_use *use)
{
	(void)file;
	*use = uses[function - all_functions];
	return results[function - all_functions];
}

static bool played_rows(const struct code_file *file, uint64_t address, struct code_rows *rows)
{
	(void)file;
	(void)address;
	(void)rows;
	return !rows_fail;
}

static const struct code_row *played_row(struct code_rows *rows, uint64_t address)
{
	(void)rows;
	(void)address;
	return &the_row;
}

#define code_function_at played_function
#define x86_stack_use(file, function, use) played_use(file, function, use)
#define code_rows_open played_rows
#define code_rows_at played_row
#include "probe/code/exits.c"
#undef code_rows_at
#undef code_rows_open
#undef x86_stack_use
#undef code_function_at

static bool grow_fails;

static void *played_grow(void *array, size_t used, size_t *capacity, size_t size)
{
	return grow_fails ? NULL : code_grow(array, used, capacity, size);
}

#define code_grow played_grow
#include "probe/code/frames.c"
#undef code_grow
#include "probe/code/functions.c"
#include "probe/code/reached.c"
#include "probe/code/relocations.c"
#define code_grow played_grow
#include "probe/code/symbols.c"
#undef code_grow
#include "probe/code/x86-64-choices.c"

/* A file of 2 GiB, whose only segment has so many bytes of code. */
static int read_code(uint64_t size, struct error *error)
{
	static struct {
		Elf64_Ehdr header;
		Elf64_Phdr program[2];
	} head;
	static char path[] = "/x";
	struct code_file file = {.path = path, .bytes = (uint8_t *)&head, .size = 2u << 30};
	int ret;

	head.header = (Elf64_Ehdr){.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2,
			.e_phoff = offsetof(__typeof__(head), program)};
	head.program[0] = (Elf64_Phdr){.p_type = PT_LOAD,
			.p_flags = PF_X,
			.p_filesz = size - 4096,
			.p_memsz = size - 4096};
	head.program[1] = (Elf64_Phdr){.p_type = PT_LOAD,
			.p_flags = PF_X | PF_R,
			.p_vaddr = 2u << 30,
			.p_filesz = 4096,
			.p_memsz = 4096};
	ret = read_segments(&file, &head.header, error);
	CHECK(file.nr_segments == 2 && file.segments[0].size == size - 4096);
	free(file.segments);
	return ret;
}

static void test_code(void)
{
	struct error error = {.text = ""};

	CHECK(CODE_BYTES_MAX == 1u << 30 && !read_code(1u << 30, &error));
	CHECK(read_code((1u << 30) + 1, &error) == -EFBIG &&
			!strcmp(error.text,
					"/x is damaged: its segments of code are larger than the file"));
}

static void test_table(void)
{
	CHECK(TABLE_BYTES_MAX == 512u << 20);
	CHECK(!debug_link_read_part(-1, 0, 512u << 20) && asked == 512u << 20);
	asked = 0;
	CHECK(!debug_link_read_part(-1, 0, (512u << 20) + 1) && !asked);
	CHECK(!debug_link_read_part(-1, 0, 0) && !asked);
	/* The greatest offsets that the kernel accepts. */
	CHECK(!debug_link_read_part(-1, INT64_MAX - 7, 7) && asked == 7);
	CHECK(!debug_link_read_part(-1, INT64_MAX - 7, 8) && asked == 7);
}

/* The 33rd implementation is dropped; a known one is stored once. */
static void test_choices(void)
{
	uint64_t choices[33] = {0};
	size_t count = 0;

	for (uint64_t i = 1; i <= 33; i++) {
		x86_choices_add(choices, 32, &count, i << 12);
		x86_choices_add(choices, 32, &count, i << 12);
		CHECK(count == (i <= 32 ? i : 32));
	}
	CHECK(choices[31] == 32 << 12 && !choices[32]);
}

/* ---- unwind data ---- */

static struct code_segment segment = {.address = 0x1000, .executable = true};

/* A file with these bytes of code. */
static struct code_file with_bytes(uint8_t *bytes, size_t size)
{
	segment.size = size;
	return (struct code_file){
			.bytes = bytes, .size = size, .segments = &segment, .nr_segments = 1};
}

static void put32(uint8_t *to, uint32_t word)
{
	memcpy(to, &word, sizeof(word));
}

/* A table of three call sites. */
static void test_landings(void)
{
	static uint8_t bytes[128] = {0xff, 0xff, 0x03, 3 * 13};
	struct code_file file = with_bytes(bytes, sizeof(bytes));

	for (unsigned int i = 0; i < 3; i++)
		put32(bytes + 4 + 13 * i + 8, 0x10 + i);
	CHECK(!read_landings(&file, 0x1000, 0x1000) && file.nr_landings == 3 &&
			file.call_sites == 3);
	CHECK(file.landings[0] == 0x1010 && file.landings[2] == 0x1012);
	/* The limit is for all functions together. */
	file.nr_landings = 0;
	file.call_sites = (32u << 20) - 2;
	CHECK(!read_landings(&file, 0x1000, 0x1000) && file.nr_landings == 2);
	CHECK(!read_landings(&file, 0x1000, 0x1000) && file.nr_landings == 2);
	free(file.landings);
	file.landings = mmap(NULL, ((4u << 20) + 1) * sizeof(uint64_t), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(file.landings != MAP_FAILED);
	file.landings_capacity = (4u << 20) + 1;
	file.nr_landings = (4u << 20) - 1;
	CHECK(!add_landing(&file, 0xfff) && file.nr_landings == (4u << 20) - 1);
	CHECK(!add_landing(&file, 0x1020) && file.nr_landings == 4u << 20);
	CHECK(!add_landing(&file, 0x1020) && file.nr_landings == 4u << 20 &&
			!file.landings[4u << 20]);
	munmap(file.landings, ((4u << 20) + 1) * sizeof(uint64_t));
}

static void test_landings_without_memory(void)
{
	static uint8_t bytes[128] = {0xff, 0xff, 0x03, 3 * 13};
	struct code_file file = with_bytes(bytes, sizeof(bytes));

	for (unsigned int i = 0; i < 3; i++)
		put32(bytes + 4 + 13 * i + 8, 0x10 + i);
	grow_fails = true;
	CHECK(add_landing(&file, 0x1020) == -ENOMEM && !file.nr_landings && !file.landings);
	CHECK(read_landings(&file, 0x1000, 0x1000) == -ENOMEM && file.call_sites == 1 &&
			!file.nr_landings);
	CHECK(add_frame(&file, 0x1020, 8, 1, 2) == -ENOMEM && !file.nr_frames);
	grow_fails = false;
	CHECK(!read_landings(&file, 0x1000, 0x1000) && file.nr_landings == 3);
	free(file.landings);
}

/* A CIE with this many bytes, and the entry of one function. */
static void test_entries(void)
{
	static uint8_t bytes[4200];
	static const uint8_t common[] = {0, 0, 0, 0, 1, 0, 1, 0x78, 16};

	for (uint32_t size = 4096; size <= 4097; size++) {
		struct code_file file = with_bytes(bytes, sizeof(bytes));
		const struct code_cursor all = {
				.bytes = bytes, .size = sizeof(bytes), .address = 0x1000};
		const uint64_t function[] = {0x1100, 0x20};

		memset(bytes, 0, sizeof(bytes));
		put32(bytes, size);
		memcpy(bytes + 4, common, sizeof(common));
		put32(bytes + 4 + size, 4 + sizeof(function));
		put32(bytes + 8 + size, 8 + size);
		memcpy(bytes + 12 + size, function, sizeof(function));
		CHECK(!code_frame_read_all(&file, &all) && file.nr_frames == (size == 4096));
		CHECK(!file.nr_frames ||
				(file.frames[0].address == 0x1100 && file.frames[0].size == 0x20));
		free(file.frames);
	}
}

/* ---- names of one address ---- */

/* A name that is 64 or 65 entries before its duplicate. */
static void test_doubles(void)
{
	for (size_t others = ALIASES_COMPARED - 1; others <= ALIASES_COMPARED; others++) {
		struct code_name_entry names[ALIASES_COMPARED + 2];
		char texts[ALIASES_COMPARED][4];
		struct code_file file = {.names = names, .nr_names = others + 2};

		CHECK(ALIASES_COMPARED == 64);
		names[0] = (struct code_name_entry){.address = 0x1111,
				.size = 5,
				.name = "same",
				.is_old_version = true};
		for (size_t i = 0; i < others; i++) {
			(void)snprintf(texts[i], sizeof(texts[i]), "n%02zu", i);
			names[1 + i] = (struct code_name_entry){
					.address = 0x1111, .size = 6, .name = texts[i]};
		}
		names[1 + others] = (struct code_name_entry){
				.address = 0x1111, .size = 7, .name = "same"};
		function_drop_duplicates(&file);
		if (others == ALIASES_COMPARED) {
			CHECK(file.nr_names == others + 2 && names[0].size == 5 &&
					names[0].is_old_version);
			continue;
		}
		CHECK(file.nr_names == others + 1 && names[0].size == 7 &&
				!names[0].is_old_version);
		CHECK(names[others].size == 6 && !strcmp(names[others].name, "n62"));
	}
	{
		/* Another address ends the search; the larger size is kept. */
		struct code_name_entry names[] = {{.address = 1, .size = 9, .name = "a"},
				{.address = 2, .size = 9, .name = "b", .is_old_version = true},
				{.address = 2, .size = 8, .name = "b", .is_old_version = true},
				{.address = 3, .size = 4, .name = "a"}};
		struct code_file file = {.names = names, .nr_names = 4};

		function_drop_duplicates(&file);
		CHECK(file.nr_names == 3 && names[1].size == 9 && names[1].is_old_version &&
				names[2].address == 3 && names[2].size == 4);
	}
}

/* ---- symbols of relocations ---- */

static void test_symbols(void)
{
	const size_t size = (SYMBOLS_MAX + 2) * sizeof(Elf64_Sym);
	uint8_t *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct code_file file = with_bytes(bytes, size);
	const Elf64_Sym symbol = {.st_shndx = 1, .st_value = 0x1234};

	CHECK(bytes != MAP_FAILED);
	for (uint64_t i = 0; i < 2; i++) {
		memcpy(bytes + i * sizeof(symbol), &symbol, sizeof(symbol));
		memcpy(bytes + (SYMBOLS_MAX + i) * sizeof(symbol), &symbol, sizeof(symbol));
	}
	CHECK(!relocation_symbol_address(&file, 0x1000, 0) &&
			relocation_symbol_address(&file, 0x1000, 1) == 0x1234);
	CHECK(!relocation_symbol_address(&file, 0x1000, 2) &&
			!relocation_symbol_address(&file, 0, 1));
	CHECK(relocation_symbol_address(&file, 0x1000, SYMBOLS_MAX) == 0x1234 &&
			!relocation_symbol_address(&file, 0x1000, SYMBOLS_MAX + 1));
	munmap(bytes, size);
}

/* ---- functions that read return addresses ---- */

static const char *exits_of_first(void)
{
	unsigned int left = CALLED_MAX;

	return no_exit_by_code(NULL, &all_functions[0], TAILS_MAX, &left);
}

static void call(unsigned int from, unsigned int to, bool tail)
{
	uses[from].shallow[uses[from].nr_shallow++] =
			(struct x86_shallow_call){.target = 0x1000 * to, .tail = tail};
}

/* Four tail calls are followed, and 64 calls in total. */
static void test_exits(void)
{
	for (unsigned int i = 0; i < 80; i++)
		all_functions[i] = (struct code_function){.address = 0x1000 * i, .size = 16};
	the_row = (struct code_row){.base = CODE_BASE_PLAIN, .reg = STACK_POINTER, .offset = 8};
	CHECK(TAILS_MAX == 4 && CALLED_MAX == 64 && !exits_of_first());
	uses[0].return_address = true;
	CHECK(exits_of_first() == return_reason);
	uses[0].return_address = false;
	for (unsigned int i = 0; i < 5; i++)
		call(i, i + 1, true);
	uses[4].return_address = true;
	CHECK(exits_of_first() == callee_reads);
	uses[4].return_address = false;
	uses[5].return_address = true;
	CHECK(!exits_of_first());
	/* A function that a call enters, or a part of its caller. */
	memset(uses, 0, sizeof(uses));
	call(0, 1, false);
	uses[1].next_word = true;
	CHECK(exits_of_first() == callee_reads);
	the_row.offset = 16;
	CHECK(!exits_of_first());
	the_row.offset = 8;
	/* Calls of itself and of the middle of a function do not count. */
	memset(uses, 0, sizeof(uses));
	uses[0].next_word = uses[1].next_word = true;
	call(0, 0, false);
	uses[0].shallow[uses[0].nr_shallow++].target = 0x1004;
	CHECK(!exits_of_first());
	/* Without memory there is no answer; a function that cannot be examined is permitted. */
	memset(uses, 0, sizeof(uses));
	call(0, 1, false);
	call(0, 2, true);
	for (unsigned int i = 0; i < 3; i++) {
		results[i] = -ENOMEM;
		CHECK(exits_of_first() == no_memory);
		results[i] = -EINVAL;
		uses[i].return_address = uses[i].next_word = true;
		CHECK(!exits_of_first());
		results[i] = 0;
		CHECK(exits_of_first() == (i ? callee_reads : return_reason));
		uses[i].return_address = uses[i].next_word = false;
	}
	results[0] = -ENOMEM;
	CHECK(no_exit_without_data(NULL, &all_functions[0]) == no_memory);
	results[0] = -EINVAL;
	CHECK(no_exit_without_data(NULL, &all_functions[0]) == not_known);
	results[0] = 0;
	CHECK(!no_exit_without_data(NULL, &all_functions[0]));
	/* The 64th function that it calls, or the 65th. */
	for (unsigned int reader = 64; reader <= 65; reader++) {
		memset(uses, 0, sizeof(uses));
		for (unsigned int i = 1; i <= 65; i++)
			call(0, i, false);
		uses[reader].next_word = true;
		CHECK((exits_of_first() == callee_reads) == (reader == 64));
	}
}

static void test_begins(void)
{
	struct code_function function = {.address = 0x1000, .size = 8};

	the_row = (struct code_row){.base = CODE_BASE_PLAIN, .reg = STACK_POINTER, .offset = 8};
	CHECK(is_begun_by_call(NULL, &function));
	the_row.offset = 9;
	CHECK(!is_begun_by_call(NULL, &function));
	/* Without unwind data, the function counts as entered by a call. */
	rows_fail = true;
	CHECK(is_begun_by_call(NULL, &function));
	rows_fail = false;
}

/* A segment ends where the file ends. */
static void test_cut_segment(void)
{
	uint8_t bytes[4096] = "";
	char path[] = "/x";
	const Elf64_Ehdr header = {.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1, .e_phoff = 64};
	struct error error;

	for (uint64_t more = 0; more <= 2; more++) {
		struct code_file file = {.path = path, .bytes = bytes, .size = sizeof(bytes)};
		const Elf64_Phdr program = {.p_type = PT_LOAD,
				.p_flags = PF_X,
				.p_offset = 4000,
				.p_vaddr = 0x5000,
				.p_filesz = 95 + more,
				.p_memsz = 95 + more};

		memcpy(bytes + 64, &program, sizeof(program));
		CHECK(!read_segments(&file, &header, &error) && file.nr_segments == 1);
		CHECK(file.segments[0].size == (more ? 96 : 95) &&
				file.segments[0].address == 0x5000 &&
				file.segments[0].offset == 4000);
		CHECK(file.lowest == 0x5000 && file.highest == 0x5000 + 95 + more);
		free(file.segments);
	}
}

/* Descriptor 0 works like any other. */
static void test_first_descriptor(void)
{
	struct error error;
	struct code_file *file;

	(void)close(0);
	CHECK(!code_open("/proc/self/exe", &file, &error));
	CHECK(fcntl(0, F_GETFD) < 0 && errno == EBADF);
	code_close(file);
}

/* ---- symbols of a file inside another file ---- */

struct inner {
	Elf64_Ehdr header;
	Elf64_Shdr sections[3];
	Elf64_Sym symbols[2];
	char names[12];
};

static struct inner new_inner(void)
{
	struct inner inner = {
			.header = {.e_shentsize = sizeof(Elf64_Shdr),
					.e_shnum = 3,
					.e_shoff = offsetof(struct inner, sections)},
			.sections = {{.sh_type = SHT_PROGBITS},
					{.sh_type = SHT_SYMTAB,
							.sh_link = 2,
							.sh_offset = offsetof(
									struct inner, symbols),
							.sh_size = sizeof(inner.symbols)},
					{.sh_type = SHT_STRTAB,
							.sh_offset = offsetof(struct inner, names),
							.sh_size = sizeof(inner.names)}},
			.names = "\0first\0other",
	};

	memcpy(inner.header.e_ident, ELFMAG, SELFMAG);
	for (unsigned int i = 0; i < 2; i++)
		inner.symbols[i] = (Elf64_Sym){.st_name = 1 + 6 * i,
				.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				.st_shndx = 1,
				.st_value = 0x1010 + 0x10 * i,
				.st_size = 3 + i};
	/* The last name ends with a NUL, too. */
	inner.names[11] = '\0';
	return inner;
}

/* Returns the number of names in the first `size` bytes of the file. */
static size_t inner_names(const struct inner *inner, size_t size)
{
	static uint8_t bytes[128];
	struct code_file file = with_bytes(bytes, sizeof(bytes));
	uint8_t *copy = malloc(size + 1);
	size_t nr;

	CHECK(copy);
	memcpy(copy, inner, size);
	CHECK(!code_symbol_read_embedded(&file, copy, size));
	nr = file.nr_names;
	CHECK(!nr ||
			(file.names[0].address == 0x1010 && file.names[0].size == 3 &&
					!strcmp(file.names[0].name, "first")));
	free(file.names);
	free(copy);
	return nr;
}

static void test_inner(void)
{
	struct inner inner = new_inner();
	const size_t size = sizeof(inner);

	CHECK(inner_names(&inner, size) == 2);
	CHECK(!inner_names(&inner, sizeof(Elf64_Ehdr) - 1));
	inner.header.e_ident[3] = 'f';
	CHECK(!inner_names(&inner, size));
	inner = new_inner();
	inner.header.e_shentsize++;
	CHECK(!inner_names(&inner, size));
	/* Section headers at the end of the file, and one too many. */
	inner = new_inner();
	inner.header.e_shnum = (uint16_t)((size - inner.header.e_shoff) / sizeof(Elf64_Shdr));
	CHECK(inner_names(&inner, size) == 2);
	inner.header.e_shnum++;
	CHECK(!inner_names(&inner, size));
	inner = new_inner();
	inner.header.e_shoff = size;
	CHECK(!inner_names(&inner, size));
	inner.header.e_shnum = 0;
	CHECK(!inner_names(&inner, size));
	inner.header.e_shoff = size + 1;
	CHECK(!inner_names(&inner, size));
	/* Another kind of table, and names without a section. */
	inner = new_inner();
	inner.sections[1].sh_type = SHT_DYNSYM;
	CHECK(!inner_names(&inner, size));
	inner = new_inner();
	inner.sections[1].sh_link = 3;
	CHECK(!inner_names(&inner, size));
	/* Tables that end where the file ends, and one byte after it. */
	inner = new_inner();
	inner.sections[2].sh_size = size - inner.sections[2].sh_offset;
	CHECK(inner_names(&inner, size) == 2);
	inner.sections[2].sh_size++;
	CHECK(!inner_names(&inner, size));
	inner = new_inner();
	inner.sections[2].sh_offset = size + 1;
	inner.sections[2].sh_size = 0;
	CHECK(!inner_names(&inner, size));
	inner = new_inner();
	inner.sections[2].sh_type = SHT_NOBITS;
	CHECK(!inner_names(&inner, size));
	inner = new_inner();
	inner.sections[1].sh_size = size - inner.sections[1].sh_offset;
	CHECK(inner_names(&inner, size) == 2);
	inner.sections[1].sh_size++;
	CHECK(!inner_names(&inner, size));
	inner = new_inner();
	inner.sections[1].sh_offset = size + 1;
	inner.sections[1].sh_size = 0;
	CHECK(!inner_names(&inner, size));
	/* A symbol that is cut off and a name without a NUL do not count. */
	inner = new_inner();
	inner.sections[1].sh_size--;
	CHECK(inner_names(&inner, size) == 1);
	inner = new_inner();
	inner.names[11] = 'x';
	inner.sections[2].sh_size = sizeof(inner.names);
	CHECK(inner_names(&inner, size) == 1);
	{
		static uint8_t bytes[128];
		struct code_file file = with_bytes(bytes, sizeof(bytes));

		inner = new_inner();
		grow_fails = true;
		CHECK(code_symbol_read_embedded(&file, (const uint8_t *)&inner, size) == -ENOMEM);
		grow_fails = false;
	}
}

/* ---- addresses in data that lead to code ---- */

static void test_pointers(void)
{
	static uint8_t bytes[128];
	struct code_file file = with_bytes(bytes, sizeof(bytes));
	struct reach_walk walk = {.file = &file};
	const struct code_relocation within = {.address = 0x1010, .target = 0x1020},
				     outside = {.address = 0x5010, .target = 0x1030},
				     away = {.address = 0x5010, .target = 0x5030};

	/* Only a pointer in data that leads to code counts. */
	CHECK(!reach_add_relocation(&walk, &within) && !walk.count);
	CHECK(!reach_add_relocation(&walk, &away) && !walk.count);
	CHECK(!reach_add_relocation(&walk, &outside) && walk.count == 1 &&
			walk.waiting[0] == 0x1030);
	free(walk.waiting);
}

/* ---- names of functions, and their code ---- */

static void test_names_of_exits(void)
{
	const char *const names[] = {
			"other", "setjmp", "_setjmp", "setjmpx", "__swapcontext", "vfork", "fork"};
	const bool expected[] = {false, true, true, false, true, true, false};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct code_name_entry entries[] = {
				{.name = "x"}, {.name = names[i]}, {.name = "setjmp"}};
		struct code_file file = {.names = entries, .nr_names = 3};
		struct code_function function = {.first_name = 1, .nr_names = 1};

		CHECK(returns_twice(&file, &function) == expected[i]);
		function = (struct code_function){.first_name = 0, .nr_names = 2};
		CHECK(returns_twice(&file, &function) == expected[i]);
	}
}

static void test_exceptions(void)
{
	static const char *const personalities[] = {"__gxx_personality_v0", "rust_eh_personality",
			"__gnat_personality_v0", "__gdc_personality_v0", "_d_eh_personality",
			"__objc_personality_v0"};

	for (size_t i = 0; i < 6; i++) {
		for (unsigned int strings = 0; strings < 2; strings++) {
			uint8_t bytes[64] = "";
			struct code_section sections[] = {
					{.size = sizeof(bytes), .type = SHT_STRTAB},
					{.name = ".symtab"}};
			struct code_file file = with_bytes(bytes, sizeof(bytes));

			(void)snprintf(sections[0].name, sizeof(sections[0].name), "%s",
					strings ? ".strtab" : ".dynstr");
			file.sections = sections;
			file.nr_sections = 2;
			memcpy(bytes + 3, personalities[i], strlen(personalities[i]));
			CHECK(!code_has_exceptions(&file));
			file.nr_landings = 1;
			CHECK(code_has_exceptions(&file));
			bytes[3 + strlen(personalities[i])] = 'x';
			CHECK(!code_has_exceptions(&file));
			/* Handlers of an unknown language. */
			file.nr_sections = 1;
			CHECK(code_has_exceptions(&file));
		}
	}
}

/* The frame pointer is set within the function, and within its first 64 bytes. */
static void test_frame_pointer(void)
{
	static const uint8_t moves[2][3] = {{0x48, 0x89, 0xe5}, {0x48, 0x8b, 0xec}};

	for (unsigned int which = 0; which < 2; which++) {
		for (unsigned int at = 0; at <= 62; at++) {
			uint8_t bytes[80];
			struct code_file file = with_bytes(bytes, sizeof(bytes));
			struct code_function function = {.address = 0x1000, .size = 80};

			memset(bytes, 0x90, sizeof(bytes));
			memcpy(bytes + at, moves[which], 3);
			CHECK(sets_frame(&file, &function) == (at <= 61));
			function.size = at + 3;
			CHECK(sets_frame(&file, &function) == (at <= 61));
			function.size = at + 2;
			CHECK(!sets_frame(&file, &function));
			/* The file ends before the function does. */
			segment.size = at + 2;
			function.size = 80;
			CHECK(!sets_frame(&file, &function));
		}
	}
}

static void test_frame_readers(void)
{
	uint64_t readers[] = {0x1111, 0x2222};
	const struct code_file file = {.frame_readers = readers, .nr_frame_readers = 2};
	struct x86_instruction instruction = {.piece = {.kind = PROBE_CALL, .target = 0x1111}};

	CHECK(calls_frame_reader(&file, &instruction));
	instruction.piece.kind = PROBE_BRANCH;
	CHECK(calls_frame_reader(&file, &instruction));
	instruction.piece.kind = PROBE_BRANCH_IF;
	CHECK(!calls_frame_reader(&file, &instruction));
	instruction.piece.kind = PROBE_CALL;
	instruction.piece.target = 0x2222;
	CHECK(calls_frame_reader(&file, &instruction));
	instruction.piece.target = 0x2223;
	CHECK(!calls_frame_reader(&file, &instruction));
}

int main(void)
{
	test_code();
	test_begins();
	test_cut_segment();
	test_first_descriptor();
	test_names_of_exits();
	test_exceptions();
	test_frame_pointer();
	test_frame_readers();
	test_table();
	test_choices();
	test_landings();
	test_landings_without_memory();
	test_entries();
	test_doubles();
	test_symbols();
	test_inner();
	test_pointers();
	test_exits();
	return 0;
}
