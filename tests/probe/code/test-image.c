/* SPDX-License-Identifier: MIT */
/*
 * Files with code that the test writes byte by byte: functions, versions, relocations, tables of
 * Go, restartable sequences, refusals.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "probe/code/parts.h"

/* A sanitizer needs the address space. */
#ifdef __SANITIZE_ADDRESS__
#define HAS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_SANITIZER
#endif
#endif

#define BASE 0x10000u
#define SECTIONS 16
#define BYTES 4096u

static struct {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	Elf64_Shdr sections[SECTIONS];
	char names[256];
	uint8_t bytes[BYTES];
} image;
static size_t used, names_used;
static struct code_file *file;
static struct error error;

/* The address of a byte of `bytes`. */
static uint64_t address_of(size_t at)
{
	return BASE + offsetof(__typeof__(image), bytes) + at;
}

static void begin(void)
{
	memset(&image, 0, sizeof(image));
	image.header = (Elf64_Ehdr){.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_phoff = offsetof(__typeof__(image), segments),
			.e_phnum = 2,
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_shoff = offsetof(__typeof__(image), sections),
			.e_shnum = 2,
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shstrndx = 1};
	memcpy(image.header.e_ident, ELFMAG, SELFMAG);
	image.header.e_ident[EI_CLASS] = ELFCLASS64;
	image.header.e_ident[EI_DATA] = ELFDATA2LSB;
	image.segments[0] = (Elf64_Phdr){.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_vaddr = BASE,
			.p_filesz = sizeof(image),
			.p_memsz = sizeof(image)};
	image.sections[1] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
			.sh_offset = offsetof(__typeof__(image), names),
			.sh_size = sizeof(image.names)};
	used = 0;
	names_used = 1;
}

/* Appends bytes to the image, and returns their offset. */
static size_t put(const void *bytes, size_t size)
{
	size_t at = used;

	assert_true(at + size <= BYTES);
	if (bytes)
		memcpy(image.bytes + at, bytes, size);
	used = (at + size + 7) / 8 * 8;
	return at;
}

static unsigned int section(
		const char *name, uint32_t type, const void *bytes, size_t size, uint32_t link)
{
	unsigned int index = image.header.e_shnum++;
	size_t at = put(bytes, size);

	assert_true(index < SECTIONS && names_used + strlen(name) < sizeof(image.names));
	strcpy(image.names + names_used, name);
	image.sections[index] = (Elf64_Shdr){.sh_name = (uint32_t)names_used,
			.sh_type = type,
			.sh_flags = SHF_ALLOC,
			.sh_addr = address_of(at),
			.sh_offset = address_of(at) - BASE,
			.sh_size = size,
			.sh_link = link};
	names_used += strlen(name) + 1;
	return index;
}

static int open_image(void)
{
	file = NULL;
	*error.text = '\0';
	return code_open_memory(&image, sizeof(image), "file", &file, &error);
}

static void assert_open(void)
{
	int ret = open_image();

	if (ret)
		fail_msg("%d: %s", ret, error.text);
}

static Elf64_Sym symbol(
		uint32_t name, unsigned int bind, unsigned int type, uint64_t value, uint64_t size)
{
	return (Elf64_Sym){.st_name = name,
			.st_info = (unsigned char)ELF64_ST_INFO(bind, type),
			.st_shndx = SECTIONS, /* no section of the file contradicts it */
			.st_value = value,
			.st_size = size};
}

/* ---- functions ---- */

static void show_functions(char *text)
{
	const struct code_function *functions;
	size_t count = code_functions(file, &functions);

	*text = '\0';
	for (size_t i = 0; i < count; i++) {
		sprintf(text + strlen(text), "%llx+%llu%s",
				(unsigned long long)(functions[i].address - BASE),
				(unsigned long long)functions[i].size,
				functions[i].chooses ? "?" : "");
		for (size_t k = 0; code_name(file, &functions[i], k); k++)
			sprintf(text + strlen(text), " %s%s", code_name(file, &functions[i], k),
					code_name_is_former(file, &functions[i], k) ? "@" : "");
		strcat(text, "; ");
	}
}

static void test_functions(void **unused)
{
	static const char texts[] =
			"\0main\0_main\0__main\0weak\0local\0chooser\0data\0label\0gone\0zero\0next\0"
			"end"; /* without its NUL in the section */
	static const uint32_t at[] = {1, 6, 12, 19, 24, 30, 38, 43, 49, 54, 59, 64};
	const uint64_t a = BASE + 0x40, b = BASE + 0x80, c = BASE + 0x100, d = BASE + 0x140;
	Elf64_Sym symbols[20] = {{0}};
	unsigned int strings;
	size_t count = 0;
	char shown[1024];

	(void)unused;
	begin();
	strings = section(".strtab", SHT_STRTAB, texts, sizeof(texts) - 1, 0);
	symbols[count++] = symbol(at[4], STB_LOCAL, STT_FUNC, a, 0);
	symbols[count++] = symbol(at[2], STB_GLOBAL, STT_FUNC, a, 12);
	symbols[count++] = symbol(at[3], STB_WEAK, STT_FUNC, a, 13);
	symbols[count++] = symbol(at[1], STB_GLOBAL, STT_FUNC, a, 14);
	symbols[count++] = symbol(at[0], STB_GLOBAL, STT_FUNC, a, 16);
	symbols[count++] = symbol(at[0], STB_WEAK, STT_FUNC, a, 20); /* the same name again */
	symbols[count++] = symbol(at[5], STB_GLOBAL, STT_GNU_IFUNC, b, 8);
	symbols[count++] = symbol(at[6], STB_GLOBAL, STT_OBJECT, BASE + 0x200, 8);
	symbols[count++] = symbol(at[7], STB_GLOBAL, STT_NOTYPE, BASE + 0x210, 0);
	symbols[count] = symbol(at[8], STB_GLOBAL, STT_FUNC, BASE + 0x220, 8);
	symbols[count++].st_shndx = SHN_UNDEF;
	/* No labels: without a name, undefined, absolute, thread-local. */
	symbols[count++] = symbol(0, STB_GLOBAL, STT_NOTYPE, BASE + 0x214, 0);
	symbols[count] = symbol(at[7], STB_GLOBAL, STT_NOTYPE, BASE + 0x218, 0);
	symbols[count++].st_shndx = SHN_UNDEF;
	symbols[count] = symbol(at[7], STB_GLOBAL, STT_NOTYPE, BASE + 0x21c, 0);
	symbols[count++].st_shndx = SHN_ABS;
	symbols[count++] = symbol(at[7], STB_GLOBAL, STT_TLS, BASE + 0x21e, 0);
	symbols[count++] = symbol(at[9], STB_GLOBAL, STT_FUNC, c, 0); /* up to the next one */
	symbols[count++] = symbol(at[10], STB_GLOBAL, STT_FUNC, d, 0);
	symbols[count++] =
			symbol(at[8], STB_GLOBAL, STT_FUNC, BASE + sizeof(image), 8); /* no code */
	symbols[count++] = symbol(at[11], STB_GLOBAL, STT_FUNC, BASE + 0x230,
			8); /* a name that does not end */
	/* Of a section that is not loaded: their values are no addresses. */
	for (unsigned int i = 0; i < 2; i++) {
		symbols[count] = symbol(at[6 + i], STB_WEAK, i ? STT_NOTYPE : STT_OBJECT,
				BASE + 0x240, i ? 0 : 8);
		symbols[count++].st_shndx = 1;
	}
	(void)section(".symtab", SHT_SYMTAB, symbols, count * sizeof(*symbols), strings);
	assert_open();
	show_functions(shown);
	sprintf(shown + strlen(shown), "%zu labels", file->nr_labels);
	{
		char wanted[512];

		snprintf(wanted, sizeof(wanted),
				"40+20 main _main __main weak local; 80+8? chooser; 100+64 zero; 140+%zu next; 1 labels",
				sizeof(image) - 0x140);
		assert_string_equal(shown, wanted);
	}
	assert_int_equal(file->labels[0], BASE + 0x210);
	assert_null(code_function_at(file, a - 1));
	assert_ptr_equal(code_function_at(file, a), &file->functions[0]);
	assert_ptr_equal(code_function_at(file, a + 19), &file->functions[0]);
	assert_null(code_function_at(file, a + 20));
	assert_ptr_equal(code_function_at(file, d - 1), &file->functions[2]);
	assert_ptr_equal(code_function_at(file, d), &file->functions[3]);
	assert_ptr_equal(code_function_at(file, BASE + sizeof(image) - 1), &file->functions[3]);
	assert_null(code_function_at(file, BASE + sizeof(image)));
	assert_null(code_name(file, &file->functions[0], 5));
	assert_false(code_name_is_former(file, &file->functions[0], 5));
	/* Data among the code keeps its bytes. */
	assert_null(code_kept_at(file, BASE + 0x1ff, 1));
	assert_non_null(code_kept_at(file, BASE + 0x1ff, 2));
	assert_string_equal(code_kept_at(file, BASE + 0x207, 1)->reason,
			"its symbol marks it as data among the code");
	assert_null(code_kept_at(file, BASE + 0x208, 1));
	assert_null(code_kept_at(file, BASE + 0x240, 8));
	code_close(file);
	/* Functions in sections that forward calls are not listed. */
	strcpy(image.names + image.sections[2].sh_name, ".plt");
	image.sections[4] = (Elf64_Shdr){.sh_name = image.sections[2].sh_name,
			.sh_type = SHT_PROGBITS,
			.sh_flags = SHF_ALLOC,
			.sh_addr = a,
			.sh_size = b - a};
	image.header.e_shnum = 5;
	assert_open();
	assert_int_equal(file->nr_functions, 3);
	assert_true(code_is_excluded(file, a));
	assert_true(code_is_excluded(file, b - 1));
	assert_false(code_is_excluded(file, b));
	assert_false(code_is_excluded(file, a - 1));
	code_close(file);
}

/* ---- versions ---- */

static char versioned[256];

static bool note_version(const void *user, const char *name)
{
	strcat(strcat(versioned, name), " ");
	return user != NULL;
}

static bool is_there(const void *user, const char *name)
{
	(void)name;
	return user != NULL;
}

static void test_versions(void **unused)
{
	static const char texts[] = "\0f\0g\0V1\0V2";
	const uint64_t a = BASE + 0x40, b = BASE + 0x80;
	Elf64_Sym symbols[4] = {symbol(1, STB_GLOBAL, STT_FUNC, a, 8),
			symbol(1, STB_GLOBAL, STT_FUNC, b, 8),
			symbol(3, STB_GLOBAL, STT_FUNC, a, 8),
			symbol(1, STB_GLOBAL, STT_FUNC, a, 8)};
	uint16_t numbers[4] = {2 | 0x8000, 3, 3, 9};
	struct {
		Elf64_Verdef first;
		Elf64_Verdaux first_name;
		Elf64_Verdef second;
		Elf64_Verdaux second_name;
	} definitions = {{.vd_ndx = 2,
					 .vd_aux = sizeof(Elf64_Verdef),
					 .vd_next = sizeof(Elf64_Verdef) + sizeof(Elf64_Verdaux)},
			{.vda_name = 5}, {.vd_ndx = 3, .vd_aux = sizeof(Elf64_Verdef)},
			{.vda_name = 8}};
	unsigned int strings, table, versions, defined;
	const struct code_function *function;
	char shown[512];

	(void)unused;
	begin();
	strings = section(".dynstr", SHT_STRTAB, texts, sizeof(texts), 0);
	table = section(".dynsym", SHT_DYNSYM, symbols, sizeof(symbols), strings);
	versions = section(".gnu.version", SHT_GNU_versym, numbers, sizeof(numbers), table);
	defined = section(".gnu.version_d", SHT_GNU_verdef, &definitions, sizeof(definitions),
			strings);
	assert_open();
	show_functions(shown);
	/*
	 * `f` at the first address has a former version, and a version whose number is not defined.
	 */
	assert_string_equal(shown, "40+8 f g; 80+8 f; ");
	function = code_function_at(file, a);
	*versioned = '\0';
	assert_false(code_name_version(file, function, 0, note_version, NULL));
	assert_string_equal(versioned, "f@V1 ");
	*versioned = '\0';
	assert_true(code_name_version(file, function, 1, note_version, "user"));
	assert_string_equal(versioned, "g@@V2 ");
	*versioned = '\0';
	assert_false(code_name_version(file, function, 2, note_version, "user"));
	assert_true(code_name_version(file, code_function_at(file, b), 0, note_version, "user"));
	assert_string_equal(versioned, "f@@V2 ");
	code_close(file);
	/* Only the first symbol: its name has an old version. */
	image.sections[table].sh_size = sizeof(*symbols);
	assert_open();
	assert_true(code_name_is_former(file, code_function_at(file, a), 0));
	code_close(file);
	/* First the second definition is truncated, then the numbers. */
	image.sections[table].sh_size = sizeof(symbols);
	image.sections[defined].sh_size--;
	assert_open();
	*versioned = '\0';
	assert_true(code_name_version(file, code_function_at(file, a), 0, note_version, "user"));
	assert_false(code_name_version(file, code_function_at(file, b), 0, note_version, "user"));
	assert_string_equal(versioned, "f@V1 ");
	code_close(file);
	image.sections[defined].sh_size++;
	image.sections[versions].sh_size = 2;
	assert_open();
	assert_false(code_name_version(file, code_function_at(file, b), 0, note_version, "user"));
	code_close(file);
}

/* ---- relocations ---- */

static char relocated[2048];

static int note_relocation(void *user, const struct code_relocation *relocation)
{
	sprintf(relocated + strlen(relocated), "%llx/%u=%llx ",
			(unsigned long long)relocation->address, relocation->bytes,
			(unsigned long long)relocation->target);
	return relocation->address == *(uint64_t *)user ? 7 : 0;
}

static void test_relocations(void **unused)
{
	static const struct {
		unsigned int type, bytes;
	} types[] = {{R_X86_64_NONE, 0}, {R_X86_64_8, 1}, {R_X86_64_PC8, 1}, {R_X86_64_16, 2},
			{R_X86_64_PC16, 2}, {R_X86_64_32, 4}, {R_X86_64_32S, 4}, {R_X86_64_PC32, 4},
			{R_X86_64_SIZE32, 4}, {R_X86_64_DTPMOD64, 16}, {R_X86_64_TLSDESC, 16},
			{R_X86_64_RELATIVE, 8}, {R_X86_64_64, 8}};
	Elf64_Sym symbols[3] = {{0}, symbol(0, STB_GLOBAL, STT_OBJECT, 0x5000, 8),
			symbol(0, STB_GLOBAL, STT_OBJECT, 0x6000, 8)};
	Elf64_Rela relas[13],
			calls[3] = {{.r_offset = 0x900,
						    .r_info = ELF64_R_INFO(1, R_X86_64_64),
						    .r_addend = 5},
					{.r_offset = 0x908,
							.r_info = ELF64_R_INFO(2, R_X86_64_64),
							.r_addend = 6},
					{.r_offset = 0x910,
							.r_info = ELF64_R_INFO(0, R_X86_64_64),
							.r_addend = 7}};
	uint64_t packed[3], words[70], none = 0, last = 0x908;
	size_t at_words, at;
	Elf64_Dyn tags[9];
	char wanted[2048] = "";

	(void)unused;
	begin();
	for (unsigned int i = 0; i < 13; i++) {
		relas[i] = (Elf64_Rela){.r_offset = 0x100 + 16 * i,
				.r_info = ELF64_R_INFO(0, types[i].type),
				.r_addend = 0x3000 + i};
		sprintf(wanted + strlen(wanted), "%x/%u=%x ", 0x100 + 16 * i, types[i].bytes,
				0x3000 + i);
	}
	strcat(wanted, "900/8=5005 908/8=6 910/8=7 ");
	symbols[2].st_shndx = SHN_UNDEF;
	for (unsigned int i = 0; i < 70; i++)
		words[i] = 0x7000 + i;
	at_words = put(words, sizeof(words));
	/* An address; the 1st, 3rd and 63rd word after it; then the two words after these 63. */
	packed[0] = address_of(at_words);
	packed[1] = 1 | 1u << 1 | 1u << 3 | UINT64_C(1) << 63;
	packed[2] = 1 | 1u << 1 | 1u << 2;
	for (unsigned int i = 0; i < 6; i++) {
		static const unsigned int numbers[] = {0, 1, 3, 63, 64, 65};

		sprintf(wanted + strlen(wanted), "%llx/8=%x ",
				(unsigned long long)address_of(at_words + 8u * numbers[i]),
				0x7000 + numbers[i]);
	}
	at = put(tags, sizeof(tags));
	tags[0] = (Elf64_Dyn){DT_SYMTAB, {address_of(put(symbols, sizeof(symbols)))}};
	tags[1] = (Elf64_Dyn){DT_RELA, {address_of(put(relas, sizeof(relas)))}};
	tags[2] = (Elf64_Dyn){DT_RELASZ, {sizeof(relas)}};
	tags[3] = (Elf64_Dyn){DT_JMPREL, {address_of(put(calls, sizeof(calls)))}};
	tags[4] = (Elf64_Dyn){DT_PLTRELSZ, {sizeof(calls)}};
	tags[5] = (Elf64_Dyn){36, {address_of(put(packed, sizeof(packed)))}};
	tags[6] = (Elf64_Dyn){35, {sizeof(packed)}};
	tags[7] = (Elf64_Dyn){DT_NULL, {0}};
	tags[8] = (Elf64_Dyn){DT_RELASZ, {0}}; /* after the end */
	memcpy(image.bytes + at, tags, sizeof(tags));
	image.segments[1] = (Elf64_Phdr){.p_type = PT_DYNAMIC, .p_vaddr = address_of(at)};
	assert_open();
	*relocated = '\0';
	assert_int_equal(code_each_relocation(file, note_relocation, &none), 0);
	assert_string_equal(relocated, wanted);
	/* The callback ends the walk. */
	*relocated = '\0';
	assert_int_equal(code_each_relocation(file, note_relocation, &last), 7);
	strstr(wanted, "910/8")[0] = '\0';
	assert_string_equal(relocated, wanted);
	code_close(file);
	/* In a table that is one byte too short, the last entry is ignored. */
	tags[2].d_un.d_val--;
	tags[4].d_un.d_val = 0;
	tags[6].d_un.d_val = 15;
	memcpy(image.bytes + at, tags, sizeof(tags));
	assert_open();
	*relocated = '\0';
	assert_int_equal(code_each_relocation(file, note_relocation, &none), 0);
	assert_null(strstr(relocated, "/8=300c"));
	assert_non_null(strstr(relocated, "/8=300b"));
	assert_null(strstr(relocated, "900/"));
	assert_non_null(strstr(relocated, "/8=7000"));
	assert_null(strstr(relocated, "/8=7001"));
	code_close(file);
}

/* ---- Go ---- */

static unsigned int go_table; /* index of its section */

/* A table of two functions, `one` and `two`. */
static void put_go(uint32_t version, uint64_t text, bool is_cut)
{
	uint8_t table[256] = {0};
	const bool old = version == 0xfffffffau;
	const size_t unit = old ? 8 : 4, names = 80, functions = 96, first = 48, second = 64;
	const uint64_t begins[3] = {text + 0x20, text + 0x30, text + 0x48},
		       entries[2] = {first, second};

	memcpy(table, &version, 4);
	table[6] = 1;
	table[7] = 8;
	memcpy(table + 8, &(uint64_t){2}, 8);
	if (!old)
		memcpy(table + 8 + 16, &text, 8);
	memcpy(table + 8 + (old ? 16u : 24u), &names, 8);
	memcpy(table + 8 + (old ? 48u : 56u), &functions, 8);
	strcpy((char *)table + names, "x");
	strcpy((char *)table + names + 2, "one");
	strcpy((char *)table + names + 6, "two");
	for (unsigned int i = 0; i < 3; i++) {
		uint64_t value = begins[i] - (old ? 0 : text);

		memcpy(table + functions + 2 * i * unit, &value, unit);
		if (i < 2)
			memcpy(table + functions + (2 * i + 1) * unit, &entries[i], unit);
	}
	memcpy(table + functions + first + unit, &(uint32_t){2}, 4);
	memcpy(table + functions + second + unit, &(uint32_t){6}, 4);
	go_table = section(".gopclntab", SHT_PROGBITS, table,
			is_cut ? functions + 4 * unit : sizeof(table), 0);
}

static void test_go(void **unused)
{
	static const uint32_t versions[] = {0xfffffffau, 0xfffffff0u, 0xfffffff1u, 0xfffffff2u};
	char shown[256];

	(void)unused;
	for (unsigned int i = 0; i < 5; i++) {
		const bool is_read = i < 3;

		begin();
		put_go(versions[i < 4 ? i : 2], BASE + 0x100, i == 4);
		assert_open();
		show_functions(shown);
		assert_string_equal(shown, is_read ? "120+16 one; 130+24 two; " : "");
		assert_int_equal(code_is_go(file, BASE + 0x11f), 0);
		assert_int_equal(code_is_go(file, BASE + 0x120), is_read);
		assert_int_equal(code_is_go(file, BASE + 0x147), is_read);
		assert_int_equal(code_is_go(file, BASE + 0x148), 0);
		code_close(file);
	}
	/* The loader adds the address of the code. */
	for (unsigned int i = 0; i < 4; i++) {
		Elf64_Rela entries[3] = {{0}};
		bool is_read = i < 2;

		begin();
		put_go(0xfffffff1u, BASE + 0x100, false);
		memset(image.bytes + 8 + 16, 0, 8);
		for (unsigned int k = 0; k < 3; k++)
			entries[k] = (Elf64_Rela){.r_offset = address_of(8 + 16) + 8 * k - 8,
					.r_info = R_X86_64_RELATIVE,
					.r_addend = (int64_t)BASE + 0x80 * (k + 1)};
		if (i == 2)
			entries[1].r_info = R_X86_64_GLOB_DAT;
		(void)section(".rela.dyn", i == 3 ? SHT_PROGBITS : SHT_RELA, entries,
				i == 1 ? 2 * sizeof(*entries) : sizeof(entries), 0);
		assert_open();
		show_functions(shown);
		assert_string_equal(shown, is_read ? "120+16 one; 130+24 two; " : "");
		code_close(file);
	}
	/* Without a known table, all of .text may be code of Go if the file declares such code. */
	for (unsigned int i = 0; i < 2; i++) {
		begin();
		(void)section(".text", SHT_PROGBITS, NULL, 64, 0);
		if (i)
			(void)section(".note.go.buildid", SHT_PROGBITS, NULL, 8, 0);
		assert_open();
		assert_int_equal(code_is_go(file, address_of(0)), i);
		assert_int_equal(code_is_go(file, address_of(63)), i);
		assert_int_equal(code_is_go(file, address_of(64)), 0);
		code_close(file);
	}
}

/* In a file that is relocated, the address of the code is in a relocation. */
static void test_relocated_go(void **unused)
{
	const uint64_t text = BASE + 0x100;
	char shown[256];

	(void)unused;
	for (unsigned int i = 0; i < 3; i++) {
		Elf64_Rela relas[3];
		uint64_t address;

		begin();
		put_go(0xfffffff1u, text, false);
		address = image.sections[go_table].sh_addr + 8 + 16;
		memset((uint8_t *)&image + image.sections[go_table].sh_offset + 8 + 16, 0, 8);
		relas[0] = (Elf64_Rela){.r_offset = address,
				.r_info = ELF64_R_INFO(0, R_X86_64_64),
				.r_addend = BASE + 0x200};
		relas[1] = (Elf64_Rela){.r_offset = address + 8,
				.r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE),
				.r_addend = BASE + 0x300};
		relas[2] = (Elf64_Rela){.r_offset = address,
				.r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE),
				.r_addend = (int64_t)text};
		/* All of it, one byte less, and relocations of another kind. */
		(void)section(".rela.dyn", i == 2 ? SHT_REL : SHT_RELA, relas,
				sizeof(relas) - (i == 1), 0);
		assert_open();
		show_functions(shown);
		assert_string_equal(shown, i ? "" : "120+16 one; 130+24 two; ");
		assert_int_equal(code_is_go(file, BASE + 0x120), !i);
		code_close(file);
	}
}

/* ---- sequences ---- */

static void test_sequences(void **unused)
{
	static const char reason[] = "it is in a sequence that the kernel restarts";
	const uint64_t a = BASE + 0x100, sent = BASE + 0x180;
	uint64_t words[8] = {0, a, 16, sent, 0, 0, 8, 0};
	Elf64_Rela relas[2];
	unsigned int table;

	(void)unused;
	begin();
	table = section("__rseq_cs", SHT_PROGBITS, words, sizeof(words), 0);
	/* Relocations contain the words of the second descriptor. */
	relas[0] = (Elf64_Rela){.r_offset = image.sections[table].sh_addr + 40,
			.r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE),
			.r_addend = BASE + 0x200};
	relas[1] = (Elf64_Rela){.r_offset = image.sections[table].sh_addr + 56,
			.r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE),
			.r_addend = BASE + 0x280};
	(void)section(".rela.dyn", SHT_RELA, relas, sizeof(relas), 0);
	for (unsigned int i = 0; i < 2; i++) {
		assert_open();
		assert_null(code_kept_at(file, a - 1, 1));
		assert_string_equal(code_kept_at(file, a, 1)->reason, reason);
		assert_non_null(code_kept_at(file, a + 15, 1));
		assert_null(code_kept_at(file, a + 16, 1));
		/* The signature of 4 bytes, and the first byte after it. */
		assert_null(code_kept_at(file, sent - 5, 1));
		assert_non_null(code_kept_at(file, sent - 4, 1));
		assert_non_null(code_kept_at(file, sent, 1));
		assert_null(code_kept_at(file, sent + 1, 1));
		assert_int_equal(code_kept_at(file, BASE + 0x200, 1) != NULL, !i);
		assert_int_equal(code_kept_at(file, BASE + 0x207, 1) != NULL, !i);
		assert_null(code_kept_at(file, BASE + 0x208, 1));
		assert_int_equal(code_kept_at(file, BASE + 0x27c, 1) != NULL, !i);
		code_close(file);
		/* A truncated descriptor is ignored. */
		image.sections[table].sh_size--;
	}
}

/* ---- refused files ---- */

static void assert_refused(const char *text)
{
	assert_int_equal(open_image(),
			!strncmp(text, "file is damaged: its segments", 29) ? -EFBIG : -ENOEXEC);
	assert_null(file);
	assert_string_equal(error.text, text);
}

static void test_segments(void **unused)
{
	static const char damaged
			[] = "file is damaged: its program headers are not inside of it",
		 none[] = "file has no code: it is neither an executable nor a shared library",
		 more[] = "file is damaged: its segments of code are larger than the file";
	uint64_t bias;

	(void)unused;
	begin();
	image.header.e_phentsize--;
	assert_refused(damaged);
	begin();
	image.header.e_phoff = sizeof(image) - sizeof(Elf64_Phdr);
	image.header.e_phnum = 1;
	memcpy((char *)&image + image.header.e_phoff, &image.segments[0], sizeof(Elf64_Phdr));
	assert_open();
	code_close(file);
	image.header.e_phoff++;
	assert_refused(damaged);
	image.header.e_phoff = sizeof(image) + 1;
	image.header.e_phnum = 0;
	assert_refused(damaged);
	begin();
	image.header.e_phnum = 0;
	assert_refused(none);
	begin();
	image.segments[0].p_flags = PF_R;
	assert_refused(none);
	begin();
	image.segments[0].p_type = PT_NOTE;
	assert_refused(none);
	begin();
	image.segments[0].p_offset = sizeof(image) + 1;
	assert_refused(none);
	begin();
	image.segments[0].p_memsz = (uint64_t)(UINT64_C(2) << 30) + 1;
	assert_refused(none);
	begin();
	image.segments[1] = image.segments[0];
	assert_refused(more);
	image.segments[1].p_filesz = 0;
	assert_open();
	code_close(file);
	/* A segment that is longer than the file ends with the file. */
	begin();
	image.segments[0].p_filesz += 5;
	assert_open();
	assert_non_null(code_executable(file, BASE + sizeof(image) - 1));
	assert_null(code_executable(file, BASE + sizeof(image)));
	assert_null(code_executable(file, BASE - 1));
	code_close(file);
	/* The address in a mapping of the code, which begins with a page. */
	begin();
	image.segments[0].p_offset = 0x100;
	image.segments[0].p_vaddr = 0x20100;
	image.segments[0].p_filesz = 0x200;
	assert_open();
	assert_int_equal(code_bias(file, 0x700000, 0, &bias), 0);
	assert_int_equal(bias, 0x700000 - 0x20000);
	assert_int_equal(code_bias(file, 0x700000, 0x2ff, &bias), 0);
	assert_int_equal(bias, 0x700000 - 0x2ff - 0x20000);
	assert_int_equal(code_bias(file, 0x700000, 0x300, &bias), -ENOENT);
	assert_int_equal(code_bias_of_head(file, 0x700000, &bias), 0);
	assert_int_equal(bias, 0x700000 + 0x100 - 0x20100);
	code_close(file);
	begin();
	image.segments[0].p_offset = 0x1000;
	image.segments[0].p_filesz = 0x10;
	assert_open();
	assert_int_equal(code_bias_of_head(file, 0x700000, &bias), -ENOENT);
	assert_int_equal(code_bias(file, 0x700000, 0xfff, &bias), -ENOENT);
	assert_int_equal(code_bias(file, 0x700000, 0x1000, &bias), 0);
	code_close(file);
}

static void test_no_programs(void **unused)
{
	static const struct {
		const char *bytes, *text;
	} cases[] = {{"", "file is not an ELF file"}, {"#!", "file is not an ELF file"},
			{"#!/bin/sh -e\n",
					"file is a script; probe the program that runs it: /bin/sh"},
			{"#! \t/bin/a\n",
					"file is a script; probe the program that runs it: /bin/a"},
			{"#!x", "file is a script; probe the program that runs it: x"},
			{"#?x y", "file is not an ELF file"},
			{"#!a\177b", "file is a script; probe the program that runs it: a"}};
	char path[] = "/tmp/side-test-image-XXXXXX";

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(code_open_memory(cases[i].bytes, strlen(cases[i].bytes), "file",
						 &file, &error),
				-ENOEXEC);
		assert_string_equal(error.text, cases[i].text);
	}
	assert_int_equal(code_open("/nonexistent/x", &file, &error), -ENOENT);
	assert_string_equal(error.text, "cannot open /nonexistent/x: No such file or directory");
	assert_non_null(mkdtemp(path));
	assert_int_equal(code_open(path, &file, &error), -ENOEXEC);
	assert_non_null(strstr(error.text, " is not a program or library"));
	rmdir(path);
	assert_int_equal(code_open_fd(-1, "file", &file, &error), -EBADF);
	assert_string_equal(error.text, "cannot read file: Bad file descriptor");
	code_close(NULL);
}

/* ---- returns ---- */

/* A function of the first bytes, and its symbol. */
static uint64_t put_function(const void *bytes, size_t size)
{
	static const char texts[] = "\0f";
	size_t at = put(bytes, size);
	Elf64_Sym symbols = symbol(1, STB_GLOBAL, STT_FUNC, address_of(at), size);
	unsigned int strings = section("names", SHT_STRTAB, texts, sizeof(texts), 0);

	(void)section("symbols", SHT_SYMTAB, &symbols, sizeof(symbols), strings);
	return address_of(at);
}

static const char *no_exit(void)
{
	const struct code_function *function;
	struct probe_site site;
	const char *why;

	assert_open();
	assert_int_equal(code_functions(file, &function), 1);
	assert_int_equal(code_entry(file, function, &site), 0);
	why = site.no_exit;
	code_close(file);
	return why ? why : "none";
}

/* Strings in sections: of runtimes that use return addresses. */
static void test_runtimes(void **unused)
{
	static const char ocaml
			[] = "it is a function of OCaml, whose runtime finds stack maps by return addresses",
		   profiled[] = "its file is compiled for gprof (-pg), which reads return addresses",
		   copies[] = "its file copies parts of stacks away and back, with return addresses";
	static const struct {
		const char *section, *text, *wanted;
	} cases[] = {{".dynstr", "caml_frametable", ocaml}, {".strtab", "x_frametable", ocaml},
			{".rodata", "OCAMLRUNPARAM", ocaml}, {".rodata", "OCAMLRUNPARAm", "none"},
			{".rodata", "frametable", "none"}, {".dynstr", "frametables", "none"},
			{".data", "frametable", "none"}, {".dynstr", "PyInit__greenlet", copies},
			{".strtab", "Init_continuation", copies},
			{".dynstr", "scm_c_with_continuation_barrier", copies},
			{".strtab", "slp_switch", copies}, {".dynstr", "slp_switches", "none"}};
	static const char *const called[] = {
			"mcount", "_mcount", "__fentry__", "mcounts", "fentry"};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		begin();
		(void)put_function("\xc3", 1);
		(void)section(cases[i].section, SHT_PROGBITS, cases[i].text,
				strlen(cases[i].text) + 1, 0);
		assert_string_equal(no_exit(), cases[i].wanted);
	}
	/* Without its end it is another string. */
	begin();
	(void)put_function("\xc3", 1);
	(void)section(".dynstr", SHT_PROGBITS, "frametable", 10, 0);
	assert_string_equal(no_exit(), "none");
	for (size_t i = 0; i < 2 * sizeof(called) / sizeof(*called); i++) {
		const bool is_own = i % 2;
		Elf64_Sym symbols[2] = {{0}, {.st_name = 1, .st_shndx = is_own}};
		char texts[32] = "";

		strcpy(texts + 1, called[i / 2]);
		begin();
		(void)put_function("\xc3", 1);
		(void)section(".dynstr", SHT_STRTAB, texts, sizeof(texts), 0);
		(void)section(".dynsym", SHT_DYNSYM, symbols, sizeof(symbols), 0);
		assert_string_equal(no_exit(), !is_own && i < 6 ? profiled : "none");
		/* The last symbol is truncated, or its name is outside. */
		image.sections[5].sh_size--;
		assert_string_equal(no_exit(), "none");
		image.sections[5].sh_size++;
		symbols[1].st_name = sizeof(texts);
		memcpy(image.bytes +
						(image.sections[5].sh_offset -
								offsetof(__typeof__(image), bytes)),
				symbols, sizeof(symbols));
		assert_string_equal(no_exit(), "none");
	}
}

/* The size of the stack check at the start of a Go function. */
static void test_stack_checks(void **unused)
{
	static const struct {
		const char *bytes;
		unsigned int size, behind;
	} cases[] = {{"\x49\x3b\x66\x10\x76\x10", 6, 6}, {"\x49\x3b\x66\x10\x77\x10", 6, 0},
			{"\x49\x3b\x66\x11\x76\x10", 6, 0},
			{"\x49\x3b\x66\x10\x0f\x86\x01\x02\x03\x04", 10, 10},
			{"\x49\x3b\x66\x10\x0f\x87\x01\x02\x03\x04", 10, 0},
			{"\x4d\x3b\x66\x10\x76\x10", 6, 0},
			{"\x4c\x8d\x64\x24\xf0\x4d\x3b\x66\x10\x76\x10", 11, 11},
			{"\x4c\x8d\x64\x24\xf0\x49\x3b\x66\x10\x76\x10", 11, 0},
			{"\x4c\x8d\xa4\x24\x01\x02\x03\x04\x4d\x3b\x66\x10\x76\x10", 14, 14},
			{"\x49\x89\xe4\x4d\x3b\x66\x10\x76\x10", 9, 9}, {"\x90", 1, 0}};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		/* The function is long enough, or one byte too short. */
		for (unsigned int cut = 0; cut < 2; cut++) {
			const struct code_function *function;
			uint8_t code[64];
			struct probe_site site;
			uint64_t address;
			bool is_long = cases[i].size == 10;
			size_t size = cases[i].size + (is_long ? 1 : 4) - cut;

			memset(code, 0x90, sizeof(code));
			memcpy(code, cases[i].bytes, cases[i].size);
			if (size > cases[i].size)
				code[size - 1] = 0xc3;
			begin();
			address = put_function(code, size);
			(void)section(".note.go.buildid", SHT_PROGBITS, NULL, 8, 0);
			image.sections[image.header.e_shnum] =
					(Elf64_Shdr){.sh_name = (uint32_t)names_used,
							.sh_type = SHT_PROGBITS,
							.sh_flags = SHF_ALLOC,
							.sh_addr = address,
							.sh_offset = address - BASE,
							.sh_size = size};
			strcpy(image.names + names_used, ".text");
			image.header.e_shnum++;
			assert_open();
			assert_int_equal(code_functions(file, &function), 1);
			assert_int_equal(code_entry(file, function, &site), 0);
			assert_int_equal(site.address - address, cut ? 0 : cases[i].behind);
			assert_int_equal(site.method, PROBE_KERNEL);
			assert_string_equal(site.no_exit,
					"it is a function of Go, whose runtime reads return addresses");
			code_close(file);
		}
	}
}

/* ---- bytes that the program changes ---- */

static void show_kept(char *text, uint64_t from)
{
	*text = '\0';
	assert_int_equal(code_sweep(file), 0);
	for (size_t i = 0; i < file->nr_kept; i++)
		sprintf(text + strlen(text), "%llu+%llu%s ",
				(unsigned long long)(file->kept[i].from - from),
				(unsigned long long)(file->kept[i].to - file->kept[i].from),
				file->kept[i].is_prologue ? "!" : "");
}

static void test_sleds(void **unused)
{
	uint8_t entries[9][32] = {{0}};
	uint64_t address;
	char shown[256];
	unsigned int table;

	(void)unused;
	begin();
	address = put_function(NULL, 256);
	for (unsigned int i = 0; i < 9; i++) {
		uint64_t sled = address + 20 * i;

		memcpy(entries[i], &sled, 8);
		entries[i][16] = (uint8_t)(i < 8 ? i : 0);
		entries[i][18] = i == 8 ? 2 : 1;
	}
	table = section("xray_instr_map", SHT_PROGBITS, NULL, sizeof(entries), 0);
	{
		uint64_t away = address + 160 -
				(image.sections[table].sh_addr + sizeof(entries[0]) * 8);

		memcpy(entries[8], &away, 8);
	}
	memcpy((uint8_t *)&image + image.sections[table].sh_offset, entries, sizeof(entries));
	assert_open();
	show_kept(shown, address);
	assert_string_equal(shown, "0+11! 20+11 40+11 60+11! 80+2 100+2 120+2 140+2 160+11! ");
	assert_string_equal(code_kept_at(file, address, 1)->reason,
			"the program changes its bytes itself (a sled of XRay)");
	{
		uint64_t end = 0;

		assert_true(code_is_sled_of_entry(file, address, &end));
		assert_int_equal(end, address + 11);
		assert_false(code_is_sled_of_entry(file, address + 1, &end));
		assert_false(code_is_sled_of_entry(file, address + 20, &end));
		assert_false(code_is_sled_of_entry(file, address + 11, &end));
	}
	code_close(file);
	image.sections[table].sh_size--;
	assert_open();
	show_kept(shown, address);
	assert_string_equal(shown, "0+11! 20+11 40+11 60+11! 80+2 100+2 120+2 140+2 ");
	code_close(file);
}

static void test_keys(void **unused)
{
	/*
	 * Nops of 5, 2, 4 and 3 bytes, a jump of 5 and one of 2, a call, another instruction of 5.
	 */
	static const char code[] =
			"\x0f\x1f\x44\0\0\x66\x90\x0f\x1f\x40\0\x0f\x1f\0\xe9\0\0\0\0\xeb\0\xe8\0\0\0\0\xb8\0\0\0\0\xc3";
	static const uint8_t at[] = {0, 5, 7, 11, 14, 19, 21, 26};
	static const char *const keys[] = {"jump_table", "__jump_label", "x_jump_entries",
			"static_key", "static_call", "static_branch", ".altinstr", "alternatives",
			"parainstr", "patch_sites"};
	static const char all[] = "0+5 5+2 14+5 19+2 21+5 ", nops[] = "5+2 ";
	uint64_t address, words[8];
	int32_t away[8];
	char shown[256];
	unsigned int table;

	(void)unused;
	/* Distances in a section of keys. */
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		begin();
		address = put_function(code, sizeof(code) - 1);
		table = section(keys[i], SHT_PROGBITS, NULL, sizeof(away), 0);
		for (unsigned int k = 0; k < 8; k++)
			away[k] = (int32_t)(address + at[k] -
					(image.sections[table].sh_addr + 4 * k));
		memcpy((uint8_t *)&image + image.sections[table].sh_offset, away, sizeof(away));
		/* Data, not code. */
		image.sections[table].sh_addr += 0x100000;
		for (unsigned int k = 0; k < 8; k++)
			away[k] -= 0x100000;
		memcpy((uint8_t *)&image + image.sections[table].sh_offset, away, sizeof(away));
		assert_open();
		show_kept(shown, address);
		assert_string_equal(shown, all);
		assert_string_equal(code_kept_at(file, address, 1)->reason,
				"the program changes its bytes itself (a static key)");
		code_close(file);
		/* The last distance but two is truncated. */
		image.sections[table].sh_size = 4 * 7 - 1;
		assert_open();
		show_kept(shown, address);
		assert_string_equal(shown, "0+5 5+2 14+5 19+2 ");
		code_close(file);
	}
	/*
	 * Addresses in data of a file with fixed addresses: only nops inside a function, but not in
	 * a section for tracers.
	 */
	for (unsigned int i = 0; i < 4; i++) {
		static const char *const names[] = {"data", "__mcount_loc",
				"__patchable_function_entries", "static_key"};

		begin();
		image.header.e_type = ET_EXEC;
		address = put_function(code, sizeof(code) - 1);
		table = section(names[i], SHT_PROGBITS, NULL, sizeof(words), 0);
		for (unsigned int k = 0; k < 8; k++)
			words[k] = address + at[k];
		memcpy((uint8_t *)&image + image.sections[table].sh_offset, words, sizeof(words));
		image.sections[table].sh_addr = 0x100000;
		image.segments[1] = (Elf64_Phdr){.p_type = PT_LOAD,
				.p_flags = PF_R,
				.p_offset = image.sections[table].sh_offset,
				.p_vaddr = 0x100000,
				.p_filesz = sizeof(words),
				.p_memsz = sizeof(words)};
		assert_open();
		show_kept(shown, address);
		/* A section of keys is read as words, and again as data. */
		assert_string_equal(shown,
				i == 0 ? nops
						: i < 3
						? ""
						: "0+5 5+2 14+5 19+2 21+5 0+5 5+2 14+5 19+2 21+5 ");
		code_close(file);
	}
}

/* Bytes that the loader changes, and pointers that it writes to data. */
static void test_text_relocations(void **unused)
{
	static const char code[] = "\x0f\x1f\x44\0\0\x66\x90\x90\xc3";
	Elf64_Rela relas[2];
	uint64_t address;
	Elf64_Dyn tags[3];
	char shown[256];
	size_t at;

	(void)unused;
	begin();
	address = put_function(code, sizeof(code) - 1);
	relas[0] = (Elf64_Rela){.r_offset = address + 2,
			.r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE),
			.r_addend = (int64_t)address + 7};
	relas[1] = (Elf64_Rela){.r_offset = 0x900000,
			.r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE),
			.r_addend = (int64_t)address + 5};
	tags[0] = (Elf64_Dyn){DT_RELA, {address_of(put(relas, sizeof(relas)))}};
	tags[1] = (Elf64_Dyn){DT_RELASZ, {sizeof(relas)}};
	tags[2] = (Elf64_Dyn){DT_NULL, {0}};
	at = put(tags, sizeof(tags));
	image.segments[1] = (Elf64_Phdr){.p_type = PT_DYNAMIC, .p_vaddr = address_of(at)};
	assert_open();
	show_kept(shown, address);
	assert_string_equal(shown, "2+8 5+2 ");
	assert_string_equal(code_kept_at(file, address + 2, 1)->reason,
			"the loader changes its bytes (a text relocation)");
	assert_true(code_is_target(file, address + 7));
	assert_true(code_is_target(file, address + 5));
	assert_false(code_is_target(file, address + 6));
	code_close(file);
	/* The tags end with the file. */
	memcpy(image.bytes + BYTES - 2 * sizeof(tags[0]), tags, 2 * sizeof(tags[0]));
	image.segments[1].p_vaddr = address_of(BYTES - 2 * sizeof(tags[0]));
	assert_open();
	show_kept(shown, address);
	assert_string_equal(shown, "2+8 5+2 ");
	code_close(file);
}

/*
 * The builtins of V8: of the size that the file contains, else up to the end of the functions with
 * such names.
 */
static void test_embedded(void **unused)
{
	static const char texts[] =
			"\0v8_Default_embedded_blob_code_\0v8_Default_embedded_blob_code_size_\0"
			"Builtins_a\0Builtins_b\0Builtin_c\0v_Default_embedded_blob_code_";
	const uint32_t size = 0x30;
	size_t code, number;
	unsigned int strings;
	char shown[128];

	(void)unused;
	for (unsigned int i = 0; i < 3; i++) {
		Elf64_Sym symbols[5];

		begin();
		code = put(NULL, 256);
		number = put(&size, sizeof(size));
		symbols[0] = symbol(i == 2 ? 101 : 1, STB_GLOBAL, STT_NOTYPE, address_of(code), 0);
		symbols[1] = symbol(32, STB_GLOBAL, STT_NOTYPE, address_of(number), 0);
		symbols[2] = symbol(68, STB_GLOBAL, STT_FUNC, address_of(code), 0x20);
		symbols[3] = symbol(79, STB_GLOBAL, STT_FUNC, address_of(code) + 0x20, 0x20);
		symbols[4] = symbol(90, STB_GLOBAL, STT_FUNC, address_of(code) + 0x40, 0x20);
		if (i)
			symbols[1].st_name = 0;
		strings = section("names", SHT_STRTAB, texts, sizeof(texts), 0);
		(void)section("symbols", SHT_SYMTAB, symbols, sizeof(symbols), strings);
		assert_open();
		show_kept(shown, address_of(code));
		assert_string_equal(shown, i == 0 ? "0+48 " : i == 1 ? "0+64 " : "");
		code_close(file);
	}
}

/* ---- exception handlers ---- */

static void test_landings(void **unused)
{
	/*
	 * Augmentation zPLR: no personality encoding, a pointer to call sites of 8 bytes, addresses
	 * of 8 bytes.
	 */
	static const uint8_t common[] = {24, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'L', 'R', 0, 1, 0x78, 16,
			2, 0x00, 0x00, 0x0c, 7, 8, 0x90, 1, 0, 0, 0, 0};
	/*
	 * No base, no types; the encoding of udata2; three call sites, of which the second has no
	 * landing.
	 */
	uint8_t sites[] = {0xff, 0xff, 0x02, 21, 0, 0, 1, 0, 9, 0, 0, 1, 0, 1, 0, 0, 0, 0, 2, 0, 1,
			0, 5, 0, 0};
	uint8_t frames[sizeof(common) + 36] = {0};
	const uint32_t length = 32, back = sizeof(common) + 4;
	uint64_t address, table, words[2];
	static const char *const names[] = {"__gxx_personality_v0", "rust_eh_personality",
			"__gnat_personality_v0", "__gdc_personality_v0", "_d_eh_personality",
			"__objc_personality_v0", "__gcc_personality_v0"};

	(void)unused;
	for (unsigned int i = 0; i < 9; i++) {
		begin();
		address = put_function(NULL, 64);
		table = address_of(put(sites, i == 8 ? sizeof(sites) - 4 : sizeof(sites)));
		if (i == 8) /* longer than the file */
			memset(image.bytes + (table - address_of(0)) + 3, 0xff, 2);
		words[0] = address;
		words[1] = 64;
		memcpy(frames, common, sizeof(common));
		memcpy(frames + sizeof(common), &length, 4);
		memcpy(frames + sizeof(common) + 4, &back, 4);
		memcpy(frames + sizeof(common) + 8, words, 16);
		frames[sizeof(common) + 24] = 8;
		memcpy(frames + sizeof(common) + 25, &table, 8);
		(void)section(".eh_frame", SHT_PROGBITS, frames, sizeof(frames), 0);
		if (i < 7)
			(void)section(".symtab", SHT_PROGBITS, "", 1, 0);
		if (i < 7)
			(void)section(i % 2 ? ".dynstr" : ".strtab", SHT_PROGBITS, names[i],
					strlen(names[i]) + 1, 0);
		assert_open();
		if (i == 8) {
			assert_int_equal(file->nr_landings, 0);
			assert_int_equal(file->call_sites, 0);
			code_close(file);
			continue;
		}
		assert_int_equal(file->nr_frames, 1);
		assert_int_equal(file->nr_landings, 2);
		assert_int_equal(file->landings[0], address + 9);
		assert_int_equal(file->landings[1], address + 5);
		assert_int_equal(file->call_sites, 3);
		/*
		 * A personality routine of a language; without tables of symbols the owner is
		 * unknown.
		 */
		assert_int_equal(code_has_exceptions(file), i < 6 || i == 7);
		code_close(file);
	}
}

/* ---- names in a separate debug file ---- */

static const char *name_beside(void)
{
	static char name[32];
	const struct code_function *functions;

	assert_open();
	assert_int_equal(code_functions(file, &functions), 0 + (file->nr_functions > 0));
	snprintf(name, sizeof(name), "%s",
			file->nr_functions && code_name(file, functions, 0)
					? code_name(file, functions, 0)
					: "none");
	code_close(file);
	return name;
}

/* Writes a debug file: a symbol table, with the build ID in a note. */
static void write_beside(const char *path, const uint8_t *note, size_t note_size, unsigned int flaw)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Shdr sections[4];
		Elf64_Sym symbols[1];
		char names[8];
		uint8_t note[128];
	} beside = {.header = {.e_shoff = offsetof(__typeof__(beside), sections),
				    .e_shnum = 4,
				    .e_shentsize = sizeof(Elf64_Shdr)}};
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	memcpy(beside.header.e_ident, ELFMAG, SELFMAG);
	beside.header.e_ident[EI_CLASS] = flaw == 1 ? ELFCLASS32 : ELFCLASS64;
	strcpy(beside.names + 1, "beside");
	memcpy(beside.note, note, note_size);
	beside.symbols[0] = symbol(1, STB_GLOBAL, STT_FUNC, address_of(0), 16);
	beside.sections[1] = (Elf64_Shdr){.sh_type = SHT_NOTE,
			.sh_offset = offsetof(__typeof__(beside), note),
			.sh_size = note_size};
	beside.sections[2] = (Elf64_Shdr){.sh_type = flaw == 2 ? SHT_PROGBITS : SHT_STRTAB,
			.sh_offset = offsetof(__typeof__(beside), names),
			.sh_size = sizeof(beside.names)};
	beside.sections[3] = (Elf64_Shdr){.sh_type = flaw == 3 ? SHT_DYNSYM : SHT_SYMTAB,
			.sh_offset = flaw == 6 ? sizeof(beside) - sizeof(beside.symbols) + 1
					       : offsetof(__typeof__(beside), symbols),
			.sh_size = sizeof(beside.symbols),
			.sh_link = flaw == 4 ? 4 : 2};
	if (flaw == 5)
		beside.header.e_shentsize--;
	if (flaw == 7)
		beside.header.e_ident[0] = 'E';
	if (flaw == 8)
		beside.note[note_size - 4] ^= 1;
	assert_true(fd >= 0 && write(fd, &beside, sizeof(beside)) == sizeof(beside));
	close(fd);
}

static void test_beside(void **unused)
{
	char folder[] = "/tmp/side-test-beside-XXXXXX", path[512], hex[160], both[256];
	static const unsigned int sizes[] = {1, 2, 20, 64, 65};

	(void)unused;
	assert_non_null(mkdtemp(folder));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct {
			Elf64_Nhdr other;
			char other_name[4], other_content[8];
			Elf64_Nhdr header;
			char name[4];
			uint8_t id[68];
		} note = {.other = {4, 5, NT_GNU_BUILD_ID},
				.other_name = "XYZ",
				.header = {4, sizes[i], NT_GNU_BUILD_ID},
				.name = "GNU"};
		size_t size = offsetof(__typeof__(note), id) + (sizes[i] + 3) / 4 * 4;

		for (unsigned int k = 0; k < sizes[i]; k++) {
			note.id[k] = (uint8_t)(0x10 + k * 3 + i);
			sprintf(hex + 2 * k, "%02x", note.id[k]);
		}
		begin();
		used = 64;
		(void)section("note", SHT_NOTE, &note, size, 0);
		snprintf(path, sizeof(path), "%s/.build-id", folder);
		mkdir(path, 0700);
		snprintf(path, sizeof(path), "%s/.build-id/%.2s", folder, hex);
		mkdir(path, 0700);
		snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", folder, hex, hex + 2);
		snprintf(both, sizeof(both), "/nowhere::%s", folder);
		setenv("SIDE_DEBUG_PATH", both, 1);
		for (unsigned int flaw = 0; flaw < 9; flaw++) {
			const bool is_read = !flaw && i > 0 && i < 4;

			/* The last byte is filled with zeros up to a multiple of 4. */
			if (flaw == 8 && sizes[i] % 4)
				continue;
			write_beside(path, (const uint8_t *)&note, size, flaw);
			assert_string_equal(name_beside(), is_read ? "beside" : "none");
		}
		unsetenv("SIDE_DEBUG_PATH");
		assert_string_equal(name_beside(), "none");
		setenv("SIDE_DEBUG_PATH", folder, 1);
		write_beside(path, (const uint8_t *)&note, size, 0);
		/* A truncated note, and a file that has a table of symbols itself. */
		image.sections[2].sh_size = offsetof(__typeof__(note), id) + sizes[i] - 1;
		assert_string_equal(name_beside(), "none");
		image.sections[2].sh_size = size;
		(void)section("symbols", SHT_SYMTAB, NULL, 0, 1);
		assert_string_equal(name_beside(), "none");
		unlink(path);
		*strrchr(path, '/') = '\0';
		rmdir(path);
		*strrchr(path, '/') = '\0';
		rmdir(path);
	}
	unsetenv("SIDE_DEBUG_PATH");
	assert_int_equal(rmdir(folder), 0);
}

/* A versioned name of 511 bytes is known, one of 512 is not. */
static void test_long_versions(void **unused)
{
	static char texts[600];

	(void)unused;
	for (unsigned int i = 0; i < 2; i++) {
		const uint64_t a = BASE + 0x40;
		Elf64_Sym symbols[1] = {symbol(1, STB_GLOBAL, STT_FUNC, a, 8)};
		uint16_t numbers[1] = {2};
		struct {
			Elf64_Verdef first;
			Elf64_Verdaux name;
		} definition = {{.vd_ndx = 2, .vd_aux = sizeof(Elf64_Verdef)}, {.vda_name = 3}};
		unsigned int strings, table;

		memset(texts, 0, sizeof(texts));
		texts[1] = 'f';
		memset(texts + 3, 'V', 508 + i);
		begin();
		strings = section(".dynstr", SHT_STRTAB, texts, sizeof(texts), 0);
		table = section(".dynsym", SHT_DYNSYM, symbols, sizeof(symbols), strings);
		(void)section(".gnu.version", SHT_GNU_versym, numbers, sizeof(numbers), table);
		(void)section(".gnu.version_d", SHT_GNU_verdef, &definition, sizeof(definition),
				strings);
		assert_open();
		*versioned = '\0';
		assert_int_equal(code_name_version(file, code_function_at(file, a), 0, is_there,
						 "user"),
				!i);
		code_close(file);
	}
}

/* A file of 2 GiB is read if there is memory for it; one byte more is refused. */
static void test_large_files(void **unused)
{
	int fd = memfd_create("large", MFD_CLOEXEC);

	(void)unused;
#ifndef HAS_SANITIZER
	{
		struct rlimit before, limit;

		assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
		limit = (struct rlimit){(rlim_t)1 << 30, before.rlim_max};
		assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
		assert_int_equal(ftruncate(fd, (off_t)(UINT64_C(2) << 30)), 0);
		assert_int_equal(code_open_fd(fd, "file", &file, &error), -ENOMEM);
		assert_string_equal(error.text, "out of memory: cannot read file");
		assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	}
#endif
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)((UINT64_C(2) << 30) + 1)), 0);
	assert_int_equal(code_open_fd(fd, "file", &file, &error), -EFBIG);
	assert_string_equal(error.text, "file is larger than 2 GiB, the limit");
	assert_int_equal(ftruncate(fd, 16), 0);
	assert_int_equal(code_open_fd(fd, "file", &file, &error), -ENOEXEC);
	assert_string_equal(error.text, "file is not an ELF file");
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_functions),
			cmocka_unit_test(test_versions),
			cmocka_unit_test(test_relocations),
			cmocka_unit_test(test_go),
			cmocka_unit_test(test_relocated_go),
			cmocka_unit_test(test_sequences),
			cmocka_unit_test(test_segments),
			cmocka_unit_test(test_no_programs),
			cmocka_unit_test(test_runtimes),
			cmocka_unit_test(test_stack_checks),
			cmocka_unit_test(test_sleds),
			cmocka_unit_test(test_keys),
			cmocka_unit_test(test_text_relocations),
			cmocka_unit_test(test_embedded),
			cmocka_unit_test(test_landings),
			cmocka_unit_test(test_beside),
			cmocka_unit_test(test_long_versions),
			cmocka_unit_test(test_large_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
