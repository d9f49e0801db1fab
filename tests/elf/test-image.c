/* SPDX-License-Identifier: MIT */
/*
 * Images of files that are written field by field: refused files with their messages, memory,
 * relocations, symbols, searches.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "elf-writer.h"
#include "elf/events.h"
#include "elf/image.h"
#include "elf/objects.h"

#define TABLE "side_event_description_ptr"

static int file_of(const void *bytes, size_t size)
{
	int fd = memfd_create("bytes", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	return fd;
}

static struct image *open_image(void)
{
	struct error error;
	struct image *image = NULL;

	if (image_open_memory(elf.bytes, elf.size, &image, &error))
		fail_msg("refused: %s", error.text);
	return image;
}

/* Expects the same from memory and from a file. */
static void assert_refused_as(int wanted, const char *text)
{
	struct error error;
	struct image *image;
	int fd = file_of(elf.bytes, elf.size);

	assert_int_equal(image_open_memory(elf.bytes, elf.size, &image, &error), wanted);
	assert_string_equal(error.text, text);
	assert_int_equal(error.code, wanted);
	assert_int_equal(image_open(fd, true, &image, &error), wanted);
	assert_string_equal(error.text, text);
	assert_int_equal(error.code, wanted);
	close(fd);
}

static void assert_refused(const char *text)
{
	assert_refused_as(-EINVAL, text);
}

static void assert_opens(void)
{
	int fd = file_of(elf.bytes, elf.size);
	struct error error;
	struct image *image;

	image_close(open_image());
	assert_int_equal(image_open(fd, true, &image, &error), 0);
	image_close(image);
	close(fd);
}

/* ---- which files are refused ---- */

static const char linked_later[] =
		"it contains code for link-time optimization (-flto): the events are in the program or library that is linked from it";

static void test_refused(void **unused)
{
	struct error error;
	struct image *image;

	(void)unused;
	assert_int_equal(image_open(-1, true, &image, &error), -EBADF);
	assert_string_equal(error.text, "Bad file descriptor");
	elf.size = 0;
	assert_refused_as(-ENOEXEC, "it is not an ELF file");
	memcpy(elf.bytes, "BC\xc0\xde", elf.size = 4);
	assert_refused_as(-ENOEXEC, linked_later);
	elf.size = 3;
	assert_refused_as(-ENOEXEC, "it is not an ELF file");
	memcpy(elf.bytes, "BC\xc0\xdd", elf.size = 4);
	assert_refused_as(-ENOEXEC, "it is not an ELF file");
	image_close(NULL);
	for (unsigned int type = 0; type < 6; type++) {
		elf_begin_file(true, false, EM_X86_64, type);
		if (type == ET_EXEC || type == ET_DYN)
			assert_opens();
		else
			assert_refused(type == ET_REL ? "its section headers are missing"
						      : "it is not a program, library or object file");
	}
}

/* A segment's bytes are in the file, and not more than its memory. */
static void test_segment_limits(void **unused)
{
	const char *const text = "it is truncated or damaged";

	(void)unused;
	for (unsigned int i = 0; i < 7; i++) {
		/* Offset and size in a file of 1024 bytes, size in memory. */
		static const struct {
			uint64_t offset, size, memory;
			bool ok;
		} cases[] = {{1000, 24, 24, true}, {1000, 25, 25, false}, {1024, 0, 9, true},
				{1025, 0, 9, false}, {1000, 9, 8, false}, {1000, 9, 9, true},
				{1025, 9, 0, true}};

		elf_begin_file(true, false, EM_X86_64, ET_DYN);
		elf_add_segment(PT_LOAD, 0x1000, cases[i].offset, cases[i].size, cases[i].memory,
				PF_R);
		if (cases[i].ok)
			assert_opens();
		else
			assert_refused(text);
	}
	/* The last byte of the address space; a range that wraps around is invalid. */
	for (unsigned int beyond = 0; beyond < 2; beyond++) {
		size_t count;

		elf_begin_file(true, false, EM_X86_64, ET_DYN);
		elf_add_segment(PT_LOAD, UINT64_MAX - 9, 0, 4, 9 + 2 * beyond, PF_R);
		image_close(open_image());
		struct image *image = open_image();
		image_segments(image, &count);
		assert_int_equal(count, 1 - beyond);
		image_close(image);
	}
	/* Program headers that are not in the file. */
	elf_begin_file(true, false, EM_X86_64, ET_DYN);
	elf_add_segment(PT_LOAD, 0x1000, 0, 4, 4, PF_R);
	elf_put(32, 1024, 8);
	assert_refused(text);
}

/* ---- memory ---- */

static void test_memory(void **unused)
{
	unsigned char bytes[64], expected[64];
	const struct image_segment *segments;
	struct error error;
	struct image *image;
	size_t count;
	int fd;

	(void)unused;
	elf_begin_file(true, false, EM_X86_64, ET_EXEC);
	for (unsigned int i = 0; i < 64; i++)
		elf_put(1024 + i, i + 1, 1);
	elf_add_segment(PT_NOTE, 0x9000, 1024, 16, 16, PF_R);
	elf_add_segment(PT_LOAD, 0x3000, 1040, 8, 12, PF_R | PF_W); /* with zeros at the end */
	elf_add_segment(PT_LOAD, 0x2ff0, 1024, 16, 16, PF_R);       /* just before it */
	elf_add_segment(PT_LOAD, 0x5000, 1060, 4, 4, PF_R | PF_X);
	image = open_image();
	assert_true(!image_has_sections(image) && !image_is_object(image));
	assert_int_equal(image_machine(image), EM_X86_64);
	segments = image_segments(image, &count);
	assert_int_equal(count, 3);
	assert_int_equal(segments[0].address, 0x2ff0);
	assert_int_equal(segments[0].offset, 1024);
	assert_int_equal(segments[1].address, 0x3000);
	assert_int_equal(segments[1].memory_size, 12);
	assert_int_equal(segments[1].file_size, 8);
	assert_int_equal(segments[2].address, 0x5000);
	assert_true(!segments[0].writable && segments[1].writable && !segments[2].writable);
	for (unsigned int i = 0; i < 24; i++)
		expected[i] = (unsigned char)(i + 1);
	memset(expected + 24, 0, 4);
	/* Each part of both segments; a byte before and after. */
	for (unsigned int from = 0; from < 28; from++) {
		for (unsigned int size = 1; size <= 28 - from; size++) {
			assert_int_equal(image_read(image, 0x2ff0 + from, bytes, size), 0);
			assert_memory_equal(bytes, expected + from, size);
		}
		assert_int_equal(image_read(image, 0x2ff0 + from, bytes, 29 - from), -EFAULT);
	}
	assert_int_equal(image_read(image, 0x2fef, bytes, 1), -EFAULT);
	assert_int_equal(image_read(image, 0x2fef, bytes, 0), 0);
	assert_int_equal(image_read(image, 0x5000, bytes, 4), 0);
	assert_memory_equal(bytes, "\45\46\47\50", 4);
	assert_int_equal(image_read(image, 0x5000, bytes, 5), -EFAULT);
	assert_int_equal(image_read(image, UINT64_MAX - 3, bytes, 5), -EFAULT);
	image_close(image);
	/* A file that is truncated while it is read. */
	fd = file_of(elf.bytes, elf.size);
	assert_int_equal(image_open(fd, false, &image, &error), 0);
	assert_int_equal(image_read(image, 0x5000, bytes, 4), 0);
	assert_memory_equal(bytes, "\45\46\47\50", 4);
	assert_int_equal(ftruncate(fd, 1062), 0);
	assert_int_equal(image_read(image, 0x5000, bytes, 4), -EFAULT);
	assert_int_equal(image_read(image, 0x5000, bytes, 2), 0);
	image_close(image);
	close(fd);
}

/* ---- relocations ---- */

struct machine {
	uint16_t number;
	bool is_wide;
	unsigned int relative, absolute, global, unaligned;
};

/* Numbers of the processor supplements. 0: none. */
static const struct machine machines[] = {{62, true, 8, 1, 6, 0}, {62, false, 8, 10, 6, 0},
		{3, false, 8, 1, 6, 0}, {183, true, 1027, 257, 1025, 0}, {40, false, 23, 2, 21, 0},
		{243, true, 3, 2, 0, 0}, {243, false, 3, 1, 0, 0}, {21, true, 22, 38, 20, 43},
		{20, false, 22, 1, 20, 24}, {22, true, 12, 22, 10, 0}, {22, false, 12, 4, 10, 0},
		{43, true, 22, 32, 20, 54}, {2, false, 22, 3, 20, 23}, {4, false, 22, 1, 20, 0},
		{8, false, 0, 2, 0, 3}};

static uint64_t read_pointer(struct image *image, uint64_t address)
{
	unsigned char bytes[8];

	assert_int_equal(image_read(image, address, bytes, image_pointer_size(image)), 0);
	return image_decode(image_byte_order(image), bytes, image_pointer_size(image));
}

#define DATA 2048 /* at address 0x1000 */
#define SYMBOLS 4096
#define RELOCATIONS 5120
#define TEXTS 7168

/*
 * Makes a loaded file with data, a table of events, four symbols, and as many relocations as were
 * written.
 */
static void begin_library(const struct machine *machine, bool is_big)
{
	elf_begin_file(machine->is_wide, is_big, machine->number, ET_DYN);
	elf_put(TEXTS + 511, 0, 1);
	elf_add_segment(PT_LOAD, 0x1000, DATA, 1024, 1024, PF_R | PF_W);
	elf_add_section(&(struct writer_section){.name = TABLE,
			.type = SHT_PROGBITS,
			.flags = SHF_ALLOC | SHF_WRITE,
			.address = 0x1000,
			.offset = DATA,
			.size = 16});
	elf_add_section(&(struct writer_section){.name = ".dynsym",
			.type = SHT_DYNSYM,
			.flags = SHF_ALLOC,
			.offset = SYMBOLS,
			.size = 8 * elf_symbol_size(),
			.link = 3,
			.entry = elf_symbol_size()});
	elf_add_section(&(struct writer_section){
			.name = ".dynstr", .type = SHT_STRTAB, .offset = TEXTS, .size = 512});
	elf_put_symbol(SYMBOLS, 1, 1, STT_OBJECT, 1, 0x7010, 4);
	elf_put_symbol(SYMBOLS, 2, 1, STT_OBJECT, SHN_UNDEF, 0x7020, 4);
	elf_put_symbol(SYMBOLS, 3, 1, STT_OBJECT, SHN_COMMON, 0x7030, 4);
	elf_put_symbol(SYMBOLS, 4, 1, STT_OBJECT, SHN_ABS, 0x7040, 4);
}

static struct writer_section relocation_section(unsigned int count, bool in_place)
{
	return (struct writer_section){.name = ".rel",
			.type = in_place ? SHT_REL : SHT_RELA,
			.flags = SHF_ALLOC,
			.offset = RELOCATIONS,
			.size = (uint64_t)count * elf_width() * (in_place ? 2 : 3),
			.link = 2,
			.entry = (uint64_t)elf_width() * (in_place ? 2 : 3)};
}

/* Each machine's types, in both byte orders, with the addend in the entry and in place. */
static void relocate_machine(const struct machine *machine, bool is_big, bool in_place)
{
	const unsigned int width = machine->is_wide ? 8 : 4;
	struct writer_section section;
	struct image *image;
	/* Symbol, type, value without and with the addend in place. */
	const struct {
		unsigned int symbol, type;
		uint64_t value, value_in_place;
	} all[] = {
			{0, machine->relative, machine->relative ? 0x300 : 0xaa0, 0xaa0},
			{1, machine->absolute, 0x7310, 0x7ab0},
			{2, machine->absolute, 0, 0},
			{3, machine->absolute, 0, 0},
			{4, machine->absolute, 0x7340, 0x7ae0},
			{0, machine->absolute, 0x300, 0xaa0},
			{1, machine->global, machine->global ? 0x7010 : 0xaa0,
					machine->global ? 0x7010 : 0xaa0},
			{1, machine->unaligned, machine->unaligned ? 0x7310 : 0xaa0,
					machine->unaligned ? 0x7ab0 : 0xaa0},
			{1, 0, 0xaa0, 0xaa0},
			{1, 99, 0xaa0, 0xaa0},
			{9, machine->absolute, 0, 0},
	};
	const unsigned int count = sizeof(all) / sizeof(*all);

	begin_library(machine, is_big);
	for (unsigned int i = 0; i < count; i++) {
		/* In reverse order: patches are sorted. */
		uint64_t offset = 0x100 + (uint64_t)(count - i) * 16;

		elf_put(DATA + offset, 0xaa0, width);
		elf_put_relocation(RELOCATIONS, i, in_place, 0x1000 + offset, all[i].symbol,
				all[i].type, 0x300);
	}
	section = relocation_section(count, in_place);
	elf_add_section(&section);
	elf_finish();
	image = open_image();
	assert_int_equal(image_pointer_size(image), width);
	assert_int_equal(image_byte_order(image),
			is_big ? SIDE_TYPE_BYTE_ORDER_BE : SIDE_TYPE_BYTE_ORDER_LE);
	for (unsigned int i = 0; i < count; i++) {
		uint64_t wanted = in_place ? all[i].value_in_place : all[i].value;
		uint64_t got = read_pointer(image, 0x1100 + (uint64_t)(count - i) * 16);

		if (got != wanted)
			fail_msg("machine %u, entry %u: 0x%llx, expected 0x%llx", machine->number,
					i, (unsigned long long)got, (unsigned long long)wanted);
	}
	image_close(image);
}

static void test_machines(void **unused)
{
	(void)unused;
	for (unsigned int i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
		relocate_machine(&machines[i], false, false);
		relocate_machine(&machines[i], false, true);
		relocate_machine(&machines[i], true, false);
		relocate_machine(&machines[i], true, true);
	}
}

static void test_relocation_sections(void **unused)
{
	const struct machine *machine = &machines[0];
	struct writer_section section;
	struct error error;
	unsigned char bytes[32];
	struct image *image;
	size_t count, headers;
	int fd;

	(void)unused;
	/* 300 patches: the array grows. Reads that begin or end within one. */
	begin_library(machine, false);
	elf_put(RELOCATIONS + 300 * 24, 0, 1);
	for (unsigned int i = 0; i < 40; i++)
		elf_put(DATA + i, 0xee, 1);
	for (unsigned int i = 0; i < 300; i++)
		elf_put_relocation(RELOCATIONS, i, false, 0x1008 + (uint64_t)(i % 100) * 8, 0, 8,
				0x1122334455667700 + i % 100);
	section = relocation_section(300, false);
	section.offset = RELOCATIONS;
	elf_add_section(&section);
	elf_finish();
	image = open_image();
	for (unsigned int i = 0; i < 100; i++)
		assert_int_equal(read_pointer(image, 0x1008 + (uint64_t)i * 8),
				0x1122334455667700 + i);
	for (unsigned int from = 0; from < 20; from++)
		for (unsigned int size = 1; size < 12; size++) {
			assert_int_equal(image_read(image, 0x1000 + from, bytes, size), 0);
			for (unsigned int k = 0; k < size; k++) {
				const unsigned int at = from + k;
				const uint64_t patch = 0x1122334455667700 + (at - 8) / 8;

				assert_int_equal(bytes[k],
						at < 8 ? 0xee : patch >> (at % 8 * 8) & 0xff);
			}
		}
	image_tables(image, &count);
	assert_int_equal(count, 1);
	assert_int_equal(image_tables(image, &count)->address, 0x1000);
	assert_int_equal(image_tables(image, &count)->size, 16);
	image_close(image);
	/* As a process has it mapped: without the headers. */
	fd = file_of(elf.bytes, elf.size);
	assert_int_equal(image_open(fd, false, &image, &error), 0);
	assert_int_equal(read_pointer(image, 0x1008), 0xeeeeeeeeeeeeeeee);
	image_close(image);
	close(fd);
	/*
	 * Left by --emit-relocs; without the size of an entry; of a table of symbols that does not
	 * exist.
	 */
	for (unsigned int i = 0; i < 4; i++) {
		static const uint64_t values[] = {0x7310, 0xaa0, 0xaa0, 0};

		begin_library(machine, false);
		elf_put(DATA + 8, 0xaa0, 8);
		elf_put_relocation(RELOCATIONS, 0, false, 0x1008, 1, 1, 0x300);
		section = relocation_section(1, false);
		if (i == 1)
			section.flags = 0;
		if (i == 2)
			section.entry = 0;
		if (i == 3)
			section.link = 0;
		elf_add_section(&section);
		elf_finish();
		image = open_image();
		assert_int_equal(read_pointer(image, 0x1008), values[i]);
		image_close(image);
	}
	/* Addresses without eight bytes. */
	begin_library(machine, false);
	elf_add_segment(PT_LOAD, UINT64_MAX - 23, DATA, 23, 23, PF_R);
	for (unsigned int i = 0; i < 2; i++)
		elf_put_relocation(RELOCATIONS, i, false, UINT64_MAX - 8 + i, 0, 8,
				0x0102030405060708);
	section = relocation_section(2, false);
	elf_add_section(&section);
	elf_finish();
	image = open_image();
	assert_int_equal(image_read(image, UINT64_MAX - 8, bytes, 8), 0);
	assert_memory_equal(bytes, "\10\7\6\5\4\3\2\1", 8);
	image_close(image);
	/* Sections that share their bytes may together be as large as the file, and not larger. */
	for (unsigned int beyond = 0; beyond < 2; beyond++) {
		begin_library(machine, false);
		for (unsigned int i = 0; i < 3; i++) {
			section = relocation_section(100, false);
			section.offset = RELOCATIONS;
			elf_add_section(&section);
		}
		elf.sections[6].size = 0;
		headers = elf_finish();
		/* 2400 bytes each in two sections, the last one has the others. */
		elf_put(headers + 6 * 64 + 32, elf.size - 4800 + beyond, 8);
		elf_put(headers + 6 * 64 + 24, 0, 8);
		if (beyond)
			assert_refused_as(-E2BIG, "its relocations are damaged");
		else
			image_close(open_image());
	}
	/* A machine without known relocations, with and without events. */
	begin_library(&(struct machine){.number = 9999, .is_wide = true}, false);
	elf_finish();
	assert_refused_as(-ENOTSUP, "relocations of its machine (ELF number 9999) are not known");
	elf_begin_file(true, false, 9999, ET_DYN);
	assert_opens();
}

/* ---- tables of events ---- */

static char addresses[256];

static int note_address(void *priv, uint64_t address)
{
	sprintf(addresses + strlen(addresses), "%llx ", (unsigned long long)address);
	return address == 0x99 ? *(int *)priv : 0;
}

static const char *events_of(
		const struct image *image, struct visit_memory *memory, uint64_t bias, int *result)
{
	int ret = *result;

	*addresses = '\0';
	*result = image_each_event(image, memory, bias, note_address, &ret);
	return addresses;
}

static int fail_to_read(void *priv, uint64_t address, void *to, size_t size)
{
	(void)address;
	(void)to;
	(void)size;
	return *(int *)priv;
}

static void test_tables(void **unused)
{
	struct visit_memory memory;
	struct image *image;
	size_t headers;
	int result = 0;

	(void)unused;
	/* Two tables; pointers that are NULL, and a partial pointer at the end. */
	begin_library(&machines[0], false);
	elf_put(DATA, 0x55, 8);
	elf_put(DATA + 8, 0, 8);
	elf_put(DATA + 16, 0x99, 8);
	elf_put(DATA + 24, 0x66, 8);
	elf_put(DATA + 64, 0x77, 8);
	elf.sections[1].size = 8 * 4 + 7;
	elf_add_section(&(struct writer_section){.name = TABLE,
			.type = SHT_PROGBITS,
			.flags = SHF_ALLOC,
			.address = 0x1040,
			.offset = DATA + 64,
			.size = 8});
	elf_finish();
	image = open_image();
	memory = image_memory(image);
	assert_string_equal(events_of(image, &memory, 0, &result), "55 99 66 77 ");
	assert_int_equal(result, 0);
	result = 5;
	assert_string_equal(events_of(image, &memory, 0, &result), "55 99 ");
	assert_int_equal(result, 5);
	result = 0;
	elf_put(DATA + 0x3e8, 0x44, 8);
	assert_string_equal(events_of(image, &memory, 0x3e8, &result), "44 ");
	assert_int_equal(result, -EFAULT);
	result = -EIO;
	memory = (struct visit_memory){.read = fail_to_read, .priv = &result};
	assert_string_equal(events_of(image, &memory, 0, &result), "");
	assert_int_equal(result, -EIO);
	result = -EINVAL;
	assert_string_equal(events_of(image, &memory, 0, &result), "");
	assert_int_equal(result, -EFAULT);
	image_close(image);
	/*
	 * A table that ends with the file, and one that does not; its offset alone; unusable ones:
	 * without bytes, not loaded, another name.
	 */
	for (unsigned int i = 0; i < 7; i++) {
		begin_library(&machines[0], false);
		headers = elf_finish() + 64;
		if (i < 2)
			elf_put(headers + 32, elf.size - DATA + i, 8);
		if (i == 2)
			elf_put(headers + 24, elf.size + 1, 8);
		if (i == 3)
			elf_put(headers + 4, SHT_NOBITS, 4);
		if (i == 4)
			elf_put(headers + 8, SHF_WRITE, 8);
		if (i == 5)
			elf_put(headers, 2, 4);
		if (i == 6)
			elf_put(headers + 32, 0, 8);
		if (i == 1 || i == 2) {
			assert_refused("its section headers are damaged");
			continue;
		}
		image = open_image();
		image_tables(image, &(size_t){0});
		if (i == 3)
			assert_string_equal(image_elsewhere(image),
					"it has the debug information of a program or library: the events are in that file");
		else
			assert_null(image_elsewhere(image));
		size_t count;
		image_tables(image, &count);
		assert_int_equal(count, i == 0);
		image_close(image);
	}
}

/* ---- object files ---- */

static void begin_object(void)
{
	static const struct writer_section sections[] = {
			{.name = ".text",
					.type = SHT_PROGBITS,
					.flags = SHF_ALLOC,
					.offset = 1024,
					.size = 0x31,
					.alignment = 16},
			{.name = ".data",
					.type = SHT_PROGBITS,
					.flags = SHF_ALLOC,
					.offset = DATA,
					.size = 0x50,
					.alignment = 256},
			{.name = ".bss",
					.type = SHT_NOBITS,
					.flags = SHF_ALLOC,
					.offset = 1,
					.size = 0x40,
					.alignment = 8},
			{.name = ".comment", .type = SHT_PROGBITS, .offset = 1024, .size = 8},
			{.name = TABLE,
					.type = SHT_PROGBITS,
					.flags = SHF_ALLOC,
					.offset = DATA + 0x100,
					.size = 16,
					.alignment = 48},
			{.name = ".symtab",
					.type = SHT_SYMTAB,
					.offset = SYMBOLS,
					.size = 6 * 24,
					.link = 7,
					.entry = 24},
			{.name = ".strtab", .type = SHT_STRTAB, .offset = TEXTS, .size = 64},
	};

	elf_begin_file(true, false, EM_X86_64, ET_REL);
	elf_put(TEXTS + 63, 0, 1);
	for (unsigned int i = 0; i < sizeof(sections) / sizeof(*sections); i++)
		elf_add_section(&sections[i]);
	elf_put_symbol(SYMBOLS, 1, 0, STT_OBJECT, 2, 0x20, 8);
	elf_put_symbol(SYMBOLS, 2, 0, STT_OBJECT, SHN_ABS, 0x7000, 8);
	elf_put_symbol(SYMBOLS, 3, 0, STT_OBJECT, 4, 0x30, 8); /* of a section that is not loaded */
	elf_put_symbol(SYMBOLS, 4, 0, STT_OBJECT, 99, 0x40, 8);
	elf_put_symbol(SYMBOLS, 5, 0, STT_OBJECT, SHN_XINDEX, 0x50, 8);
}

static void test_objects(void **unused)
{
	const struct image_segment *segments;
	struct writer_section section;
	struct image *image;
	size_t count, headers;

	(void)unused;
	begin_object();
	section = (struct writer_section){.name = ".rela",
			.type = SHT_RELA,
			.offset = RELOCATIONS,
			.size = 9 * 24,
			.link = 6,
			.info = 5,
			.entry = 24};
	for (unsigned int i = 0; i < 2; i++)
		elf_put(DATA + 0x100 + 8 * i, 0xaa0, 8);
	elf_put_relocation(RELOCATIONS, 0, false, 0, 1, R_X86_64_64, 3);
	elf_put_relocation(RELOCATIONS, 1, false, 8, 2, R_X86_64_64, 5);
	elf_add_section(&section);
	elf_finish();
	image = open_image();
	assert_true(image_is_object(image) && image_has_sections(image));
	segments = image_segments(image, &count);
	assert_int_equal(count, 4);
	assert_int_equal(segments[0].address, 0x1000);
	assert_int_equal(segments[0].memory_size, 0x31);
	assert_int_equal(segments[1].address, 0x1100);
	assert_int_equal(segments[2].address, 0x1180); /* an alignment below 16 is 64 */
	assert_int_equal(segments[2].file_size, 0);
	assert_int_equal(segments[3].address, 0x11c0);
	assert_int_equal(image_tables(image, &count)->address, 0x11c0);
	assert_int_equal(image_tables(image, &count)->size, 16);
	assert_int_equal(read_pointer(image, 0x11c0), 0x1123);
	assert_int_equal(read_pointer(image, 0x11c8), 0x7005);
	image_close(image);
	/*
	 * The last byte of the section and the one after it; symbols without an address; a type
	 * that is base + addend.
	 */
	for (unsigned int i = 0; i < 6; i++) {
		static const struct {
			unsigned int offset, symbol, type, at;
			uint64_t value;
		} cases[] = {{0x4f, 1, R_X86_64_64, 0x4f, 0x1123}, {0x50, 1, R_X86_64_64, 0x48, 0},
				{8, 3, R_X86_64_64, 8, 0}, {8, 4, R_X86_64_64, 8, 0},
				{8, 5, R_X86_64_64, 8, 0}, {8, 0, R_X86_64_RELATIVE, 8, 0xaa0}};
		unsigned char byte;

		begin_object();
		elf_put(DATA + 8, 0xaa0, 8);
		elf_put_relocation(RELOCATIONS, 0, false, cases[i].offset, cases[i].symbol,
				cases[i].type, 3);
		section.size = 24;
		section.info = 2;
		elf_add_section(&section);
		elf_finish();
		image = open_image();
		if (i == 0) {
			assert_int_equal(image_read(image, 0x1100 + 0x4f, &byte, 1), 0);
			assert_int_equal(byte, 0x23);
		} else {
			assert_int_equal(read_pointer(image, 0x1100 + cases[i].at), cases[i].value);
		}
		image_close(image);
	}
	/* In a section that does not exist or is not loaded: unchanged. */
	for (unsigned int i = 0; i < 3; i++) {
		begin_object();
		elf_put(DATA + 8, 0xaa0, 8);
		elf_put_relocation(RELOCATIONS, 0, false, 8, 1, R_X86_64_64, 3);
		section.info = (unsigned int[]){4, 10, 99}[i];
		elf_add_section(&section);
		elf_finish();
		image = open_image();
		assert_int_equal(read_pointer(image, 0x1108), 0xaa0);
		image_close(image);
	}
	/* Alignments that are not a power of two, small, and too large count as 64. */
	for (unsigned int i = 0; i < 6; i++) {
		static const uint64_t alignments[][2] = {{15, 0x1040}, {16, 0x1040}, {48, 0x1040},
				{1 << 20, 1 << 20}, {1 << 21, 0x1040}, {128, 0x1080}};

		begin_object();
		elf.sections[2].alignment = alignments[i][0];
		elf_finish();
		image = open_image();
		assert_int_equal(image_segments(image, &count)[1].address, alignments[i][1]);
		image_close(image);
	}
	/* Addresses have four bytes; bytes are in the file. */
	for (unsigned int beyond = 0; beyond < 2; beyond++) {
		begin_object();
		elf.sections[5].type = SHT_NOBITS;
		elf.sections[5].size = UINT32_MAX - 0x11c0 + beyond;
		elf_finish();
		if (beyond)
			assert_refused_as(-E2BIG, "it is truncated or damaged");
		else
			assert_opens();
	}
	begin_object();
	headers = elf_finish();
	elf_put(headers + 64 + 24, elf.size - 0x31, 8);
	assert_opens();
	elf_put(headers + 64 + 24, elf.size - 0x30, 8);
	assert_refused("it is truncated or damaged");
	/* Without code of the machine (-flto), and with both. */
	for (unsigned int both = 0; both < 3; both++) {
		begin_object();
		elf.sections[5] = (struct writer_section){.name = ".gnu.lto_main",
				.type = both == 2 ? SHT_NOTE : SHT_PROGBITS,
				.offset = 1024,
				.size = 8};
		if (!both) {
			memcpy(elf.bytes + TEXTS + 1, "__gnu_lto_slim", 15);
			elf_put_symbol(SYMBOLS, 1, 1, STT_OBJECT, SHN_COMMON, 1, 1);
		}
		elf_finish();
		image = open_image();
		if (both)
			assert_null(image_elsewhere(image));
		else
			assert_string_equal(image_elsewhere(image), linked_later);
		image_close(image);
	}
}

/* ---- symbols, slots, the dynamic section ---- */

static void add_text(unsigned int at, const char *text)
{
	memcpy(elf.bytes + TEXTS + at, text, strlen(text) + 1);
}

static void test_names(void **unused)
{
	struct image_symbol symbol = {1, 1};
	struct writer_section section;
	const char *text = "unset";
	struct image *image;
	uint64_t address;

	(void)unused;
	begin_library(&machines[0], false);
	add_text(1, "one");
	add_text(5, "two");
	add_text(9, "three");
	add_text(16, "liba.so");
	add_text(24, "libb.so");
	add_text(32, "/folder");
	elf_put_symbol(SYMBOLS, 1, 1, STT_OBJECT, 1, 0x7010, 4);
	elf_put_symbol(SYMBOLS, 2, 5, STT_FUNC, 1, 0x7020, 5);
	elf_put_symbol(SYMBOLS, 3, 9, STT_FUNC, SHN_UNDEF, 0x7030, 6);
	elf_put_symbol(SYMBOLS, 4, 9, STT_NOTYPE, 1, 0x7040, 7);
	elf_put_symbol(SYMBOLS + 256, 1, 9, STT_FUNC, 1, 0x7050, 8);
	elf_put_symbol(SYMBOLS + 256, 2, 5, STT_FUNC, 1, 0x7060, 9);
	elf_add_section(&(struct writer_section){.name = ".symtab",
			.type = SHT_SYMTAB,
			.offset = SYMBOLS + 256,
			.size = 72,
			.link = 3,
			.entry = 24});
	elf_put(SYMBOLS + 512, DT_NEEDED, 8);
	elf_put(SYMBOLS + 520, 16, 8);
	elf_put(SYMBOLS + 528, DT_RUNPATH, 8);
	elf_put(SYMBOLS + 536, 32, 8);
	elf_put(SYMBOLS + 544, DT_NEEDED, 8);
	elf_put(SYMBOLS + 552, 24, 8);
	elf_put(SYMBOLS + 560, DT_SONAME, 8);
	elf_put(SYMBOLS + 568, 9999, 8);
	elf_put(SYMBOLS + 592, DT_RPATH, 8); /* after the end */
	elf_put(SYMBOLS + 600, 32, 8);
	elf_add_section(&(struct writer_section){.name = ".dynamic",
			.type = SHT_DYNAMIC,
			.flags = SHF_ALLOC,
			.offset = SYMBOLS + 512,
			.size = 96,
			.link = 3,
			.entry = 16});
	section = relocation_section(5, false);
	elf_put_relocation(RELOCATIONS, 0, false, 0x1100, 2, R_X86_64_JUMP_SLOT, 0);
	elf_put_relocation(RELOCATIONS, 1, false, 0x1108, 3, R_X86_64_JUMP_SLOT, 0);
	elf_put_relocation(RELOCATIONS, 2, false, 0x1110, 0, R_X86_64_RELATIVE, 0);
	elf_put_relocation(RELOCATIONS, 3, false, 0x1118, 3, R_X86_64_GLOB_DAT, 0);
	elf_put_relocation(
			RELOCATIONS, 4, false, 0x1120, 99, R_X86_64_JUMP_SLOT, 0); /* no symbol */
	elf_add_section(&section);
	/*
	 * A table of relocations whose symbols are not the dynamic ones, and one in place: they
	 * have no slots.
	 */
	section.link = 4;
	elf_add_section(&section);
	section.link = 2;
	section.type = SHT_REL;
	elf_add_section(&section);
	elf_finish();
	image = open_image();
	assert_true(image_find_symbol(image, "one", false, &symbol));
	assert_true(symbol.address == 0x7010 && symbol.size == 4);
	assert_true(image_find_symbol(image, "two", true, &symbol));
	assert_true(symbol.address == 0x7020 && symbol.size == 5);
	assert_false(image_find_symbol(image, "three", false, &symbol));
	assert_true(image_find_symbol(image, "three", true, &symbol));
	assert_true(symbol.address == 0x7050 && symbol.size == 8);
	assert_false(image_find_symbol(image, "four", true, &symbol));
	assert_true(image_find_slot(image, "two", 0, &address));
	assert_int_equal(address, 0x1100);
	assert_false(image_find_slot(image, "two", 1, &address));
	assert_true(image_find_slot(image, "three", 0, &address));
	assert_int_equal(address, 0x1108);
	assert_true(image_find_slot(image, "three", 1, &address));
	assert_int_equal(address, 0x1118);
	assert_false(image_find_slot(image, "three", 2, &address));
	assert_true(image_dynamic_text(image, DT_NEEDED, 0, &text));
	assert_string_equal(text, "liba.so");
	assert_true(image_dynamic_text(image, DT_NEEDED, 1, &text));
	assert_string_equal(text, "libb.so");
	assert_false(image_dynamic_text(image, DT_NEEDED, 2, &text));
	assert_true(image_dynamic_text(image, DT_RUNPATH, 0, &text));
	assert_string_equal(text, "/folder");
	assert_false(image_dynamic_text(image, DT_RPATH, 0, &text));
	assert_false(image_dynamic_text(image, DT_SONAME, 0, &text)); /* not in the texts */
	image_close(image);
	elf_begin_file(true, false, EM_X86_64, ET_DYN);
	image = open_image();
	assert_false(image_dynamic_text(image, DT_NEEDED, 0, &text));
	assert_false(image_find_symbol(image, "one", true, &symbol));
	assert_false(image_find_slot(image, "one", 0, &address));
	image_close(image);
}

/* ---- files without section headers ---- */

#define STATE_SLOT offsetof(struct side_event_description, state)

static void put_description(size_t at, uint64_t own, uint64_t state)
{
	const unsigned int width = elf_width();

	elf_put(DATA + at, sizeof(struct side_event_description), 4);
	elf_put(DATA + at + 4, SIDE_EVENT_DESCRIPTION_ABI_VERSION, 4);
	elf_put(DATA + at + STATE_SLOT + (elf.is_big ? 16 - width : 0), state, width);
	elf_put(DATA + (state - 0x1000) + 8 + 2 * width, own, width);
}

static void put_dynamic(size_t at, uint64_t tag, uint64_t value)
{
	elf_put(DATA + at, tag, elf_width());
	elf_put(DATA + at + elf_width(), value, elf_width());
}

static void test_headless(void **unused)
{
	struct visit_memory memory;
	struct image *image;
	size_t count;
	int result = 0;

	(void)unused;
	for (unsigned int i = 0; i < 4; i++) {
		const bool is_wide = i & 1;
		const unsigned int width = is_wide ? 8 : 4, types[] = {8, is_wide ? 1 : 10, 6};
		const size_t tables = DATA + 0x800;

		elf_begin_file(is_wide, i & 2, EM_X86_64, ET_DYN);
		elf_put(DATA + 0x1000 - 1, 0, 1);
		elf_add_segment(PT_LOAD, 0x1000, DATA, 0x1000, 0x1000, PF_R | PF_W);
		elf_add_segment(PT_DYNAMIC, 0x1400, DATA + 0x400, 14 * width, 14 * width, PF_R);
		put_dynamic(0x400, DT_RELA, 0x1800);
		put_dynamic(0x400 + 2 * width, DT_RELASZ, 5 * 3 * width + 1);
		put_dynamic(0x400 + 4 * width, DT_REL, 0x1a00);
		put_dynamic(0x400 + 6 * width, DT_RELSZ, 2 * 2 * width);
		put_dynamic(0x400 + 8 * width, DT_SYMTAB, 0x1c00);
		put_dynamic(0x400 + 10 * width, DT_NULL, 0);
		put_dynamic(0x400 + 12 * width, DT_REL, 0x1a08); /* after the end */
		elf_put_symbol(DATA + 0xc00, 1, 0, STT_OBJECT, 1, 0x7010, 4);
		elf_put_symbol(DATA + 0xc00, 2, 0, STT_OBJECT, SHN_UNDEF, 0x7020, 4);
		for (unsigned int k = 0; k < 9; k++)
			elf_put(DATA + 0x300 + 8 * k, 0xaa0, width);
		elf_put_relocation(tables, 0, false, 0x1300, 0, types[0], 0x300);
		elf_put_relocation(tables, 1, false, 0x1308, 1, types[1], 0x300);
		elf_put_relocation(tables, 2, false, 0x1310, 2, types[1], 0x300);
		elf_put_relocation(tables, 3, false, 0x1318, 1, types[2], 0x300);
		elf_put_relocation(tables, 4, false, 0x1320, 0, types[1], 0x300);
		elf_put_relocation(
				tables, 5, false, 0x1328, 0, types[0], 0x300); /* after the end */
		elf_put_relocation(DATA + 0xa00, 0, true, 0x1330, 1, types[1], 0);
		elf_put_relocation(DATA + 0xa00, 1, true, 0x1338, 0, types[0], 0);
		/*
		 * A description whose state points back to it, and ones whose state does not; at
		 * any offset.
		 */
		put_description(0, 0x1000, 0x1200);
		put_description(0x83, 0x1083, 0x1240);
		put_description(0x500, 0x1501, 0x1280);
		put_description(0x600, 0x1600, 0x12c0);
		elf_put(DATA + 0x604, SIDE_EVENT_DESCRIPTION_ABI_VERSION + 1, 4);
		put_description(0x680, 0x1680, 0x1600);
		elf_put(DATA + 0x680, sizeof(struct side_event_description) + 1, 4);
		image = open_image();
		assert_int_equal(read_pointer(image, 0x1300), 0x300);
		assert_int_equal(read_pointer(image, 0x1308), 0x7310);
		assert_int_equal(read_pointer(image, 0x1310), 0);
		assert_int_equal(read_pointer(image, 0x1318), 0x7010);
		assert_int_equal(read_pointer(image, 0x1320), 0x300);
		assert_int_equal(read_pointer(image, 0x1328), 0xaa0);
		assert_int_equal(read_pointer(image, 0x1330), 0x7ab0);
		assert_int_equal(read_pointer(image, 0x1338), 0xaa0);
		assert_int_equal(image_found(image, &count)[0], 0x1000);
		assert_int_equal(count, 2);
		assert_int_equal(image_found(image, &count)[1], 0x1083);
		memory = image_memory(image);
		assert_string_equal(events_of(image, &memory, 0x10, &result), "1010 1093 ");
		assert_int_equal(result, 0);
		image_close(image);
		/* Tables that are larger than the file, or not in a segment. */
		put_dynamic(0x400 + 2 * width, DT_RELASZ, elf.size + 1);
		assert_refused("it has no section headers, and is damaged");
		put_dynamic(0x400 + 2 * width, DT_RELASZ, 3 * width);
		put_dynamic(0x400, DT_RELA, 0x1fff - 3 * width + 1);
		assert_opens();
		put_dynamic(0x400, DT_RELA, 0x2001 - 3 * width);
		assert_refused("it has no section headers, and is damaged");
		put_dynamic(0x400, DT_RELA, 0);
		assert_opens();
	}
	/* Segments that are not writable are not searched. */
	elf_begin_file(true, false, EM_X86_64, ET_DYN);
	elf_put(DATA + 0x1000 - 1, 0, 1);
	put_description(0, 0x1000, 0x1200);
	elf_add_segment(PT_LOAD, 0x1000, DATA, 0x1000, 0x1000, PF_R);
	image = open_image();
	image_found(image, &count);
	assert_int_equal(count, 0);
	image_close(image);
}

/* Descriptions on both sides of chunk borders, and one of which only eight bytes are left. */
static void test_chunks(void **unused)
{
	struct image *image;
	size_t count;

	(void)unused;
	for (unsigned int i = 0; i < 3; i++) {
		const uint64_t at = 65536 - 9 + i;

		elf_begin_file(true, false, EM_X86_64, ET_DYN);
		elf_put(DATA + (3u << 16) - 1, 0, 1);
		put_description(at, 0x1000 + at, 0x3000);
		elf_add_segment(PT_LOAD, 0x1000, DATA, 3u << 16, 3u << 16, PF_R | PF_W);
		image = open_image();
		assert_int_equal(image_found(image, &count)[0], 0x1000 + at);
		assert_int_equal(count, 1);
		image_close(image);
	}
	for (unsigned int i = 0; i < 2; i++) {
		elf_begin_file(true, false, EM_X86_64, ET_DYN);
		put_description(0x700, 0x1700, 0x1200);
		elf_add_segment(PT_LOAD, 0x1000, DATA, 0x708 - i, 0x708 - i, PF_R | PF_W);
		elf_add_segment(PT_LOAD, 0x1708 - i, DATA + 0x708 - i, 0x100 + i, 0x100 + i, PF_R);
		elf_put(DATA + 0x900, 0, 1);
		image = open_image();
		image_found(image, &count);
		assert_int_equal(count, 1 - i);
		image_close(image);
	}
}

/* 2^20 possible begins of descriptions are searched, one more is refused. */
static void test_candidates(void **unused)
{
	const uint64_t nr = 1 << 20;

	(void)unused;
	elf_begin_file(true, false, EM_X86_64, ET_DYN);
	for (uint64_t i = 0; i <= nr; i++) {
		elf_put(DATA + 8 * i, sizeof(struct side_event_description), 4);
		elf_put(DATA + 8 * i + 4, SIDE_EVENT_DESCRIPTION_ABI_VERSION, 4);
	}
	elf_add_segment(PT_LOAD, 0x1000, DATA, 8 * nr, 8 * nr, PF_R | PF_W);
	image_close(open_image());
	elf.nr_segments = 0;
	elf_add_segment(PT_LOAD, 0x1000, DATA, 8 * (nr + 1), 8 * (nr + 1), PF_R | PF_W);

	struct error error;
	struct image *image;

	assert_int_equal(image_open_memory(elf.bytes, elf.size, &image, &error), -E2BIG);
	assert_string_equal(error.text, "it has no section headers, and is damaged");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_refused),
			cmocka_unit_test(test_segment_limits),
			cmocka_unit_test(test_memory),
			cmocka_unit_test(test_machines),
			cmocka_unit_test(test_relocation_sections),
			cmocka_unit_test(test_tables),
			cmocka_unit_test(test_objects),
			cmocka_unit_test(test_names),
			cmocka_unit_test(test_headless),
			cmocka_unit_test(test_chunks),
			cmocka_unit_test(test_candidates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
