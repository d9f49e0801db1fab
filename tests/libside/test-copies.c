/* SPDX-License-Identifier: MIT */
/*
 * The binding of objects to the copy of libside in the program. The file is included. The test
 * creates the objects: their segments, dynamic sections, notes and slots.
 */
#include <elf.h>
#include <link.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libside/batches.h"
#include "libside/copies.h"
#include "libside/registry.h"

#include "event.h"

#if defined(__x86_64__) && defined(__LP64__)

static char noted[1024];

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	size_t used_bytes = strlen(noted);
	va_list list;

	va_start(list, format);
	(void)vsnprintf(noted + used_bytes, sizeof(noted) - used_bytes, format, list);
	va_end(list);
}

static void is_noted(const char *expected)
{
	if (strcmp(noted, expected))
		fprintf(stderr, "noted \"%s\", expected \"%s\"\n", noted, expected);
	CHECK(!strcmp(noted, expected));
	*noted = '\0';
}

/* ---- what the file calls ---- */

static bool protection_fails;
static char *memory; /* the memory of the test's object */

static int fake_protect(void *at, size_t size, int rights)
{
	CHECK(size == 4096);
	note("%zd:%d ", ((char *)at - memory) / 4096, rights);
	return protection_fails ? -1 : 0;
}

static long fake_sysconf(int name)
{
	CHECK(name == _SC_PAGESIZE);
	return 4096;
}

static struct dl_phdr_info *objects;
static unsigned int nr_objects;

static int fake_iterate(int (*function)(struct dl_phdr_info *, size_t, void *), void *user)
{
	int ret = 0;

	for (unsigned int i = 0; i < nr_objects && !ret; i++)
		ret = function(&objects[i], sizeof(objects[i]), user);
	return ret;
}

#define mprotect fake_protect
#define sysconf fake_sysconf
#define dl_iterate_phdr fake_iterate
#include "libside/copies.c"

/* ---- an object: six pages, of which four are loaded ---- */

enum {
	CODE = 0x1000,
	DATA = 0x2000,
	RELRO = 0x3000,
	SLOTS = 0x2100,
	READ_ONLY_SLOTS = 0x3100,
	DYNAMIC = 0x3800,
	NAMES = 0x1200,
	SYMBOLS = 0x1400,
	TABLE = 0x1600,
	PLT_TABLE = 0x1800
};

static Elf64_Phdr headers[] = {
		{.p_type = PT_LOAD, .p_vaddr = CODE, .p_memsz = 0x1000, .p_flags = PF_R | PF_X},
		{.p_type = PT_LOAD, .p_vaddr = DATA, .p_memsz = 0x2ff0, .p_flags = PF_R | PF_W},
		{.p_type = PT_DYNAMIC, .p_vaddr = DYNAMIC, .p_memsz = 0x200},
		{.p_type = PT_GNU_RELRO, .p_vaddr = RELRO + 0x10, .p_memsz = 0x1ff0},
		{.p_type = PT_NOTE, .p_vaddr = 0x5000, .p_memsz = 64, .p_align = 8},
};

static struct dl_phdr_info info;

static const char names[] = "\0side_one\0side_two\0other\0libside.so.0\0side_miss";
enum { ONE = 1, TWO = 10, OTHER = 19, SONAME = 25, MISS = 38 };

static Elf64_Dyn *dynamic(void)
{
	return (Elf64_Dyn *)(void *)(memory + DYNAMIC);
}

static void make_object(void)
{
	Elf64_Dyn *entries;

	if (!memory) {
		memory = mmap(NULL, 6 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);
		CHECK(memory != MAP_FAILED);
	}
	memset(memory, 0, 6 * 4096);
	memcpy(memory + NAMES, names, sizeof(names));
	info = (struct dl_phdr_info){.dlpi_addr = (uintptr_t)memory,
			.dlpi_name = "/lib/plugin.so",
			.dlpi_phdr = headers,
			.dlpi_phnum = 5};
	entries = dynamic();
	/* Some C libraries store offsets here. */
	entries[0] = (Elf64_Dyn){.d_tag = DT_SYMTAB, .d_un = {(uintptr_t)memory + SYMBOLS}};
	entries[1] = (Elf64_Dyn){.d_tag = DT_STRTAB, .d_un = {NAMES}};
	entries[2] = (Elf64_Dyn){.d_tag = DT_RELA, .d_un = {TABLE}};
	entries[3] = (Elf64_Dyn){.d_tag = DT_RELASZ, .d_un = {3 * sizeof(Elf64_Rela)}};
	entries[4] = (Elf64_Dyn){.d_tag = DT_JMPREL, .d_un = {(uintptr_t)memory + PLT_TABLE}};
	entries[5] = (Elf64_Dyn){.d_tag = DT_PLTRELSZ, .d_un = {2 * sizeof(Elf64_Rela)}};
	entries[6] = (Elf64_Dyn){.d_tag = DT_SONAME, .d_un = {SONAME}};
	*noted = '\0';
}

/* ---- the copy ---- */

static const char code_one[16], code_two[16];
static const struct copy_function functions[] = {
		{"side_one", code_one}, {"side_two", code_two}, {"side_miss", code_one + 8}};
static struct copy_table table = {COPY_TABLE_VERSION, 2, functions};

static void test_find(void)
{
	used = NULL;
	CHECK(!copies_find("side_one"));
	used = &table;
	CHECK(copies_find("side_one") == code_one && copies_find("side_two") == code_two);
	CHECK(!copies_find("side") && !copies_find("side_miss"));
	used = NULL;
}

static void test_segments(void)
{
	struct copies_object object;
	uintptr_t base;

	make_object();
	base = (uintptr_t)memory;
	copies_read_segments(&object, &info);
	CHECK(object.base == base && object.headers == headers && object.nr_headers == 5);
	CHECK(object.begin == base + CODE && object.end == base + DATA + 0x2ff0);
	/* The last page is not part of it. */
	CHECK(object.relro == base + RELRO && object.relro_end == base + 0x5000);
	headers[3].p_memsz = 0x1fef;
	copies_read_segments(&object, &info);
	CHECK(object.relro_end == base + 0x4000);
	headers[3].p_memsz = 0x1ff0;
	copies_read_segments(&object, &info);
	CHECK((const char *)object.dynamic == memory + DYNAMIC);
	CHECK(copies_is_in(&object, object.begin) && !copies_is_in(&object, object.begin - 1));
	CHECK(copies_is_in(&object, object.end - 1) && !copies_is_in(&object, object.end));
	CHECK(copies_address(&object, 5) == base + 5 && copies_address(&object, base) == base &&
			copies_address(&object, base + 5) == base + 5 &&
			copies_address(&object, base - 1) == base + (base - 1));
	CHECK(copies_read_dynamic(&object));
	CHECK((const char *)object.symbols == memory + SYMBOLS && object.names == memory + NAMES);
	CHECK((const char *)object.tables[0] == memory + TABLE &&
			(const char *)object.tables[1] == memory + PLT_TABLE);
	CHECK(object.sizes[0] == 3 * sizeof(Elf64_Rela) &&
			object.sizes[1] == 2 * sizeof(Elf64_Rela));
	/* Without symbols, without names, and without a dynamic section. */
	dynamic()[0].d_tag = DT_DEBUG;
	copies_read_segments(&object, &info);
	CHECK(!copies_read_dynamic(&object));
	make_object();
	dynamic()[1].d_tag = DT_DEBUG;
	copies_read_segments(&object, &info);
	CHECK(!copies_read_dynamic(&object));
	make_object();
	dynamic()[1].d_tag = DT_NULL;
	copies_read_segments(&object, &info);
	CHECK(!copies_read_dynamic(&object) && object.symbols);
	headers[2].p_type = PT_NULL;
	make_object();
	copies_read_segments(&object, &info);
	CHECK(!object.dynamic && !copies_read_dynamic(&object));
	headers[2].p_type = PT_DYNAMIC;
}

/* ---- notes ---- */

static struct {
	Elf64_Nhdr other;
	char other_name[8], other_text[4];
	Elf64_Nhdr header;
	char owner[8];
	struct copy_note note;
} notes __attribute__((aligned(8)));

static void make_notes(void)
{
	memset(&notes, 0, sizeof(notes));
	notes.other = (Elf64_Nhdr){.n_namesz = 6, .n_descsz = 1, .n_type = 1};
	memcpy(notes.other_name, "OTHER", 6);
	notes.header = (Elf64_Nhdr){.n_namesz = sizeof(COPY_NOTE_OWNER),
			.n_descsz = sizeof(notes.note),
			.n_type = COPY_NOTE_TYPE};
	memcpy(notes.owner, COPY_NOTE_OWNER, sizeof(COPY_NOTE_OWNER));
	notes.note.version = COPY_TABLE_VERSION;
	notes.note.table = (int32_t)((intptr_t)&table - (intptr_t)&notes.note.table);
	table.version = COPY_TABLE_VERSION;
}

static const struct copy_table *read_notes(size_t size)
{
	return copy_read_notes((uintptr_t)&notes, size);
}

static void test_notes(void)
{
	const size_t size = sizeof(notes);

	make_notes();
	CHECK(read_notes(size) == &table && !read_notes(size - 1));
	CHECK(!read_notes(0) && !read_notes(sizeof(notes.other)) && !read_notes(24));
	notes.note.version++;
	CHECK(!read_notes(size));
	make_notes();
	table.version++;
	CHECK(!read_notes(size));
	make_notes();
	notes.header.n_type++;
	CHECK(!read_notes(size));
	make_notes();
	notes.header.n_namesz--;
	CHECK(!read_notes(size));
	make_notes();
	notes.header.n_descsz--;
	CHECK(!read_notes(size));
	make_notes();
	notes.owner[1] = 's';
	CHECK(!read_notes(size));
	make_notes();
	notes.other.n_descsz = UINT32_MAX - 8;
	CHECK(!read_notes(size));
	make_notes();
	/* Only the first note of the owner. */
	CHECK(copy_read_notes((uintptr_t)&notes.header, size - 24) == &table);
}

static void test_search(void)
{
	Elf64_Phdr with_note[] = {headers[0],
			{.p_type = PT_NOTE, .p_memsz = sizeof(notes), .p_align = 8},
			{.p_type = PT_NOTE, .p_memsz = sizeof(notes), .p_align = 4},
			{.p_type = PT_NOTE, .p_memsz = sizeof(notes), .p_align = 4}};
	struct dl_phdr_info object = {.dlpi_addr = 0x1000, .dlpi_phdr = with_note, .dlpi_phnum = 2};

	make_notes();
	for (int i = 1; i < 4; i++)
		with_note[i].p_vaddr = (uintptr_t)&notes - 0x1000;
	/* The segment that loads the notes. */
	with_note[0] = (Elf64_Phdr){.p_type = PT_LOAD,
			.p_flags = PF_R,
			.p_vaddr = with_note[1].p_vaddr - 8,
			.p_filesz = sizeof(notes) + 8};
	used = NULL;
	CHECK(copies_find_in_object(&object, 0, NULL) == 0 && !used && !holder);
	object.dlpi_phnum = 3;
	CHECK(copies_find_in_object(&object, 0, NULL) == 1 && used == &table);
	CHECK(holder == (uintptr_t)&notes);
	used = NULL;
	with_note[2].p_type = PT_LOAD;
	CHECK(copies_find_in_object(&object, 0, NULL) == 0 && !used);
	holder = 0;
}

/* Notes are read only if a readable segment has all of them in its part of the file. */
static void test_unloaded_notes(void)
{
	const Elf64_Phdr note = {.p_type = PT_NOTE, .p_vaddr = 0x1000, .p_memsz = 0x20};
	Elf64_Phdr segment = {.p_type = PT_LOAD,
			.p_flags = PF_R,
			.p_vaddr = 0x1000,
			.p_filesz = 0x20,
			.p_memsz = 0x40};

	CHECK(copy_note_is_loaded(&segment, 1, &note) && !copy_note_is_loaded(&segment, 0, &note));
	segment.p_filesz--;
	CHECK(!copy_note_is_loaded(&segment, 1, &note));
	segment.p_filesz = UINT64_MAX;
	CHECK(copy_note_is_loaded(&segment, 1, &note));
	segment.p_vaddr++;
	CHECK(!copy_note_is_loaded(&segment, 1, &note));
	segment.p_vaddr = 0;
	CHECK(copy_note_is_loaded(&segment, 1, &note));
	segment.p_flags = PF_X;
	CHECK(!copy_note_is_loaded(&segment, 1, &note));
	segment.p_flags = PF_R;
	segment.p_type = PT_DYNAMIC;
	CHECK(!copy_note_is_loaded(&segment, 1, &note));
}

/* ---- libside.so.0 ---- */

static void test_find_shared(void)
{
	struct copies_object shared;

	make_object();
	dynamic()[6].d_tag = DT_DEBUG;
	CHECK(copies_find_shared(&info, 0, &shared) == 0);
	info.dlpi_name = "/lib/libside.so.0";
	CHECK(copies_find_shared(&info, 0, &shared) == 1 &&
			shared.begin == (uintptr_t)memory + CODE);
	info.dlpi_name = "/lib/libside.so.0.2 (deleted)";
	CHECK(copies_find_shared(&info, 0, &shared) == 1);
	info.dlpi_name = "/lib/libside.so.1";
	CHECK(copies_find_shared(&info, 0, &shared) == 0);
	info.dlpi_name = "libside.so.0";
	CHECK(copies_find_shared(&info, 0, &shared) == 0);
	make_object();
	info.dlpi_name = NULL;
	CHECK(copies_find_shared(&info, 0, &shared) == 1);
	info.dlpi_name = "/proc/self/fd/5";
	CHECK(copies_find_shared(&info, 0, &shared) == 1);
	dynamic()[6].d_un.d_val = OTHER;
	CHECK(copies_find_shared(&info, 0, &shared) == 0);
	dynamic()[6] = (Elf64_Dyn){.d_tag = DT_NEEDED, .d_un = {SONAME}};
	CHECK(copies_find_shared(&info, 0, &shared) == 0);
	dynamic()[0].d_tag = DT_DEBUG;
	dynamic()[6] = (Elf64_Dyn){.d_tag = DT_SONAME, .d_un = {SONAME}};
	CHECK(copies_find_shared(&info, 0, &shared) == 0);
}

/* ---- slots ---- */

static const void **slot_at(size_t at)
{
	return (const void **)(void *)(memory + at);
}

static void test_set(void)
{
	struct copies_object object;
	uintptr_t base;

	make_object();
	base = (uintptr_t)memory;
	copies_read_segments(&object, &info);
	CHECK(copies_rights(&object, base + CODE) == (PROT_READ | PROT_EXEC));
	CHECK(copies_rights(&object, base + CODE - 1) == PROT_NONE);
	CHECK(copies_rights(&object, base + DATA) == (PROT_READ | PROT_WRITE));
	CHECK(copies_rights(&object, base + RELRO - 1) == (PROT_READ | PROT_WRITE));
	CHECK(copies_rights(&object, base + RELRO) == PROT_READ);
	CHECK(copies_rights(&object, base + 0x4fff) == PROT_READ);
	CHECK(copies_rights(&object, base + 0x5000) == PROT_NONE);
	object.relro_end = base + 0x4000;
	CHECK(copies_rights(&object, base + 0x4000) == (PROT_READ | PROT_WRITE));
	CHECK(copies_rights(&object, base + 0x4fef) == (PROT_READ | PROT_WRITE));
	CHECK(copies_rights(&object, base + 0x4ff0) == PROT_NONE);
	copies_set(&object, slot_at(SLOTS), code_one);
	CHECK(*slot_at(SLOTS) == code_one);
	is_noted("");
	copies_set(&object, slot_at(READ_ONLY_SLOTS), code_two);
	CHECK(*slot_at(READ_ONLY_SLOTS) == code_two);
	is_noted("3:3 3:1 ");
	copies_set(&object, slot_at(CODE + 0xff8), code_two);
	CHECK(*slot_at(CODE + 0xff8) == code_two);
	is_noted("1:7 1:5 ");
	protection_fails = true;
	copies_set(&object, slot_at(READ_ONLY_SLOTS), code_one);
	CHECK(*slot_at(READ_ONLY_SLOTS) == code_two);
	is_noted("3:3 ");
	protection_fails = false;
	copies_set(&object, slot_at(0x5100), code_one);
	CHECK(!*slot_at(0x5100));
	is_noted("");
}

static void set_symbol(unsigned int i, unsigned int name, unsigned int section, unsigned int bind)
{
	((Elf64_Sym *)(void *)(memory + SYMBOLS))[i] = (Elf64_Sym){.st_name = name,
			.st_shndx = (Elf64_Half)section,
			.st_info = (unsigned char)ELF64_ST_INFO(bind, STT_FUNC)};
}

static struct copies_object object_of_slots, shared_of_slots;

/* Binds a slot with this content, type and symbol. Returns the content afterwards. */
static const void *bound(
		const void *content, unsigned int type, unsigned int symbol, int64_t addend)
{
	const Elf64_Rela entry = {.r_offset = SLOTS,
			.r_info = ELF64_R_INFO((uint64_t)symbol, type),
			.r_addend = addend};

	*slot_at(SLOTS) = content;
	copies_bind_slot(&object_of_slots, &shared_of_slots, &entry);
	return *slot_at(SLOTS);
}

static void test_slots(void)
{
	static const char shared[64];
	const void *own, *elsewhere = &table;

	make_object();
	own = memory + CODE + 0x20;
	set_symbol(1, ONE, 0, STB_GLOBAL);
	set_symbol(2, TWO, 0, STB_WEAK);
	set_symbol(3, MISS, 0, STB_GLOBAL);
	set_symbol(4, MISS, 0, STB_WEAK);
	set_symbol(5, OTHER, 0, STB_WEAK);
	set_symbol(6, ONE, 1, STB_GLOBAL);
	used = &table;
	copies_read_segments(&object_of_slots, &info);
	CHECK(copies_read_dynamic(&object_of_slots));
	shared_of_slots = (struct copies_object){
			.begin = (uintptr_t)shared, .end = (uintptr_t)shared + sizeof(shared)};
	/* A slot bound to libside.so.0 is bound to the copy. */
	CHECK(bound(shared, R_X86_64_JUMP_SLOT, 1, 0) == code_one);
	CHECK(bound(shared + 63, R_X86_64_GLOB_DAT, 2, 5) == code_two);
	CHECK(bound(shared, R_X86_64_64, 2, 5) == code_two + 5);
	CHECK(bound(shared, R_X86_64_64, 4, 5) == NULL);
	CHECK(bound(shared, R_X86_64_RELATIVE, 1, 0) == shared);
	/* A slot bound to another library is unchanged. */
	CHECK(bound(elsewhere, R_X86_64_JUMP_SLOT, 1, 0) == elsewhere);
	CHECK(bound(elsewhere, R_X86_64_GLOB_DAT, 1, 0) == elsewhere);
	/* A slot that is not bound yet points into its own object. */
	CHECK(bound(own, R_X86_64_JUMP_SLOT, 1, 0) == code_one);
	CHECK(bound(own, R_X86_64_GLOB_DAT, 1, 0) == own);
	CHECK(bound(own, R_X86_64_64, 1, 0) == own);
	CHECK(bound(own, R_X86_64_JUMP_SLOT, 4, 0) == own);
	/* The copy lacks the function: a weak reference is NULL. */
	CHECK(bound(shared, R_X86_64_JUMP_SLOT, 3, 0) == shared);
	CHECK(bound(shared, R_X86_64_JUMP_SLOT, 4, 0) == NULL);
	/* Not a function of libside, and one that the object defines. */
	CHECK(bound(shared, R_X86_64_JUMP_SLOT, 5, 0) == shared);
	CHECK(bound(shared, R_X86_64_JUMP_SLOT, 6, 0) == shared);
	used = NULL;
}

/* ---- objects ---- */

static const char shared_code[64];
static Elf64_Phdr shared_header[] = {{.p_type = PT_LOAD, .p_memsz = sizeof(shared_code)}};

static void put_entries(void)
{
	Elf64_Rela *entries = (Elf64_Rela *)(void *)(memory + TABLE);
	Elf64_Rela *more = (Elf64_Rela *)(void *)(memory + PLT_TABLE);

	set_symbol(1, ONE, 0, STB_GLOBAL);
	/* Four and three, of which the last ones lie behind the end of the table. */
	for (unsigned int i = 0; i < 4; i++) {
		entries[i] = (Elf64_Rela){.r_offset = SLOTS + 8 * i,
				.r_info = ELF64_R_INFO(UINT64_C(1), R_X86_64_GLOB_DAT)};
		*slot_at(SLOTS + 8 * i) = shared_code;
	}
	for (unsigned int i = 0; i < 3; i++) {
		more[i] = (Elf64_Rela){.r_offset = READ_ONLY_SLOTS + 8 * i,
				.r_info = ELF64_R_INFO(UINT64_C(1), R_X86_64_JUMP_SLOT)};
		*slot_at(READ_ONLY_SLOTS + 8 * i) = shared_code;
	}
}

static unsigned int nr_bound(void)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < 4; i++)
		nr += *slot_at(SLOTS + 8 * i) == code_one;
	for (unsigned int i = 0; i < 3; i++)
		nr += 10 * (*slot_at(READ_ONLY_SLOTS + 8 * i) == code_one);
	put_entries();
	return nr;
}

static struct side_events_register_handle made;

static struct side_events_register_handle *register_in_copy(
		struct side_event_description **events, uint32_t nr_events)
{
	CHECK(!events && nr_events == 44);
	note("register ");
	return &made;
}

static void test_objects(void)
{
	struct side_events_register_handle *(*function)(
			struct side_event_description **, uint32_t) = register_in_copy;
	struct dl_phdr_info list[3];
	struct copies_object shared;
	struct copy_function with_register[3] = {
			functions[0], functions[1], {"side_events_register", NULL}};
	Elf64_Phdr with_note[] = {{.p_type = PT_NOTE, .p_memsz = sizeof(notes), .p_align = 4},
			{.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = sizeof(notes)}};

	make_object();
	put_entries();
	used = &table;
	list[0] = (struct dl_phdr_info){.dlpi_addr = (uintptr_t)shared_code,
			.dlpi_name = "/lib/libside.so.0",
			.dlpi_phdr = shared_header,
			.dlpi_phnum = 1};
	list[1] = info;
	copies_read_segments(&shared, &list[0]);
	CHECK(copies_bind_object(&info, 0, &shared) == 0 && nr_bound() == 23);
	/* Not in libside.so.0 itself, in the object with the copy, and in one without symbols. */
	shared.begin = (uintptr_t)memory + CODE;
	CHECK(copies_bind_object(&info, 0, &shared) == 0 && nr_bound() == 0);
	copies_read_segments(&shared, &list[0]);
	holder = (uintptr_t)memory + DATA;
	CHECK(copies_bind_object(&info, 0, &shared) == 0 && nr_bound() == 0);
	holder = 0;
	dynamic()[0].d_tag = DT_DEBUG;
	CHECK(copies_bind_object(&info, 0, &shared) == 0 && nr_bound() == 0);
	make_object();
	put_entries();
	/* Without one of the tables. */
	dynamic()[2].d_tag = DT_DEBUG;
	CHECK(copies_bind_object(&info, 0, &shared) == 0 && nr_bound() == 20);
	make_object();
	put_entries();
	/* All objects, if there are a copy and a shared library. */
	objects = list;
	nr_objects = 2;
	side_tracer_bind();
	CHECK_EQUAL(nr_bound(), 23);
	used = NULL;
	side_tracer_bind();
	CHECK_EQUAL(nr_bound(), 0);
	used = &table;
	list[0].dlpi_name = "/lib/other.so";
	dynamic()[6].d_tag = DT_DEBUG;
	side_tracer_bind();
	CHECK_EQUAL(nr_bound(), 0);
	list[0].dlpi_name = "/lib/libside.so.0";
	/* A late object is bound before its events are registered in the copy. */
	*noted = '\0';
	memcpy(&with_register[2].address, &function, sizeof(function));
	CHECK(!copies_register(NULL, 44) && nr_bound() == 23);
	table.functions = with_register;
	table.count = 3;
	*noted = '\0';
	CHECK(copies_register(NULL, 44) == &made && nr_bound() == 23);
	is_noted("3:3 3:1 3:3 3:1 register ");
	/* The decision: without a note, and with one. */
	used = NULL;
	CHECK(!copies_decide() && !used && !registry_redirect && nr_bound() == 0);
	make_notes();
	with_note[0].p_vaddr = with_note[1].p_vaddr = (uintptr_t)&notes;
	list[2] = (struct dl_phdr_info){.dlpi_phdr = with_note, .dlpi_phnum = 2};
	nr_objects = 3;
	CHECK(copies_decide() && used == &table && registry_redirect == copies_register);
	CHECK_EQUAL(nr_bound(), 23);
	registry_redirect = NULL;
}

int main(void)
{
	test_find();
	test_segments();
	test_notes();
	test_search();
	test_unloaded_notes();
	test_find_shared();
	test_set();
	test_slots();
	test_objects();
	return 0;
}

#else
int main(void)
{
	return 0;
}
#endif
