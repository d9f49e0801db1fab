/* SPDX-License-Identifier: MIT */
/*
 * Line tables (.debug_line), built byte by byte, in a file with two sections: ends of units, and
 * code that the linker left out.
 */
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tracers/validate/line.h"

#define TABLE_MAX 1024

struct table {
	unsigned char bytes[TABLE_MAX];
	size_t size, unit; /* where the last unit begins */
};

static void add(struct table *table, const void *bytes, size_t size)
{
	assert_true(size <= TABLE_MAX - table->size);
	memcpy(table->bytes + table->size, bytes, size);
	table->size += size;
}

#define ADD(table, ...)                                    \
	add(table, ((const unsigned char[]){__VA_ARGS__}), \
			sizeof((const unsigned char[]){__VA_ARGS__}))

/* A unit of version 4 with three files, the others in a folder; its length is set by end_unit(). */
static void begin_unit(struct table *table, const char *name)
{
	static const unsigned char opcodes[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
	static const char others[] = "/second.c\0\1\0\0third.c\0\1\0";
	uint32_t header = (uint32_t)(6 + sizeof(opcodes) + 7 + strlen(name) + 1 + 3 +
			sizeof(others) + 1);

	table->unit = table->size;
	ADD(table, 0, 0, 0, 0, 4, 0);
	add(table, &header, sizeof(header));
	/*
	 * Lengths of instructions, operations in one, statements, line base, line range, opcode
	 * base.
	 */
	ADD(table, 1, 1, 1, 0xfb, 14, 13);
	add(table, opcodes, sizeof(opcodes));
	ADD(table, 'b', 'e', 'l', 'o', 'w', 0, 0);
	add(table, name, strlen(name) + 1);
	ADD(table, 0, 0, 0);
	add(table, others, sizeof(others));
	ADD(table, 0);
}

static void end_unit(struct table *table)
{
	uint32_t length = (uint32_t)(table->size - table->unit - 4);

	memcpy(table->bytes + table->unit, &length, sizeof(length));
}

static void set_address(struct table *table, uintptr_t address)
{
	ADD(table, 0, 1 + sizeof(address), 2);
	add(table, &address, sizeof(address));
}

/* DW_LNS_copy */
static void add_row(struct table *table)
{
	ADD(table, 1);
}

/* DW_LNS_advance_pc; up to 14 bits. */
static void advance(struct table *table, unsigned int by)
{
	ADD(table, 2, 0x80 | (by & 0x7f), by >> 7);
}

static void end_sequence(struct table *table)
{
	ADD(table, 0, 1, 1);
}

/* The form of the table in the file. */
static struct {
	const char *name;    /* of the section; NULL: .debug_line */
	unsigned long flags; /* of the section */
	unsigned long size;  /* the size in its header; 0: the real one */
	const char *texts;   /* .debug_line_str */
	size_t cut;          /* bytes that are missing at the end of the file */
	bool is_other;       /* the header in memory is of another file */
} form;

/* Look up the address; NULL: it has no line. */
static const char *find(const struct table *table, uintptr_t address)
{
	static const char names[] = "\0.debug_line\0.shstrtab\0.zdebug_line\0.debug_line_str";
	static char to[VALIDATE_LINE_MAX];
	struct {
		ElfW(Ehdr) header;
		ElfW(Shdr) sections[4];
		char names[sizeof(names)];
		char texts[64];
		unsigned char table[TABLE_MAX];
	} file, mapped;
	int fd = memfd_create("table", MFD_CLOEXEC);
	char path[64];
	bool found;

	memset(&file, 0, sizeof(file));
	memcpy(file.header.e_ident, ELFMAG, SELFMAG);
	file.header.e_shoff = sizeof(file.header);
	file.header.e_shentsize = sizeof(file.sections[0]);
	file.header.e_shnum = 4;
	file.header.e_shstrndx = 2;
	file.sections[1].sh_name = form.name && !strcmp(form.name, ".zdebug_line") ? 23 : 1;
	file.sections[1].sh_flags = form.flags;
	file.sections[1].sh_type = SHT_PROGBITS;
	file.sections[1].sh_offset = (size_t)(file.table - (unsigned char *)&file);
	file.sections[1].sh_size = form.size ? form.size : table->size;
	file.sections[2].sh_name = 13;
	file.sections[2].sh_type = SHT_STRTAB;
	file.sections[2].sh_offset = (size_t)(file.names - (char *)&file);
	file.sections[2].sh_size = sizeof(names);
	file.sections[3].sh_name = 36;
	file.sections[3].sh_type = form.texts ? SHT_PROGBITS : SHT_NOBITS;
	file.sections[3].sh_offset = (size_t)(file.texts - (char *)&file);
	file.sections[3].sh_size = form.texts ? strlen(form.texts) + 1 : 0;
	if (form.texts)
		strcpy(file.texts, form.texts);
	memcpy(file.names, names, sizeof(names));
	memcpy(file.table, table->bytes, table->size);
	assert_true(fd >= 0);
	mapped = file;
	mapped.header.e_flags = form.is_other;
	assert_int_equal(write(fd, &file, sizeof(file) - form.cut), sizeof(file) - form.cut);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	found = validate_line_find(path, &mapped, address, to);
	close(fd);
	return found ? to : NULL;
}

static void assert_line(const struct table *table, uintptr_t address, const char *expected)
{
	const char *found = find(table, address);

	if (!found != !expected || (found && strcmp(found, expected)))
		fail_msg("%#lx: %s, expected %s", (unsigned long)address, found ? found : "no line",
				expected ? expected : "no line");
}

/* One row of 256 bytes from 0x1000 on; the caller writes its end. */
static struct table one_row(void)
{
	struct table table = {.size = 0};

	begin_unit(&table, "first.c");
	set_address(&table, 0x1000);
	add_row(&table);
	advance(&table, 0x100);
	return table;
}

static void add_second(struct table *table)
{
	begin_unit(table, "second.c");
	set_address(table, 0x4000);
	add_row(table);
	advance(table, 0x100);
	end_sequence(table);
	end_unit(table);
}

/* The last operation of a unit ends with the unit, or claims to be longer. */
static void test_last_operation(void **unused)
{
	static const struct {
		unsigned char bytes[3];
		size_t size;
		const char *line;
	} cases[] = {
			{{0, 1, 1}, 3, "first.c:1"},
			{{0, 2, 1}, 3, NULL},
			{{0, 3, 1}, 3, NULL},
			{{0, 0x7f, 1}, 3, NULL},
			{{0, 0, 1}, 3, NULL},
			{{0, 1}, 2, NULL},    /* its opcode is after the end */
			{{0, 0x80}, 2, NULL}, /* and so is the end of its length */
			{{0}, 1, NULL},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct table table = one_row();

		add(&table, cases[i].bytes, cases[i].size);
		end_unit(&table);
		add_second(&table);
		assert_line(&table, 0x1080, cases[i].line);
		assert_line(&table, 0x4080, "second.c:1");
	}
}

/*
 * The length of the last operation continues in the next unit. The first bytes of that unit would
 * make it an operation that ends the sequence.
 */
static void test_length_across_units(void **unused)
{
	struct table table = one_row();

	(void)unused;
	ADD(&table, 0, 0x80);
	end_unit(&table);
	/* 1 ends the number 0x80 0x01; the next 1 is DW_LNE_end_sequence. */
	ADD(&table, 1, 1, 0, 0);
	while (table.size < TABLE_MAX)
		ADD(&table, 0);
	assert_line(&table, 0x1080, NULL);
}

static void test_edges_of_a_row(void **unused)
{
	struct table table = one_row();

	(void)unused;
	end_sequence(&table);
	end_unit(&table);
	assert_line(&table, 0xfff, NULL);
	assert_line(&table, 0x1000, "first.c:1");
	assert_line(&table, 0x10ff, "first.c:1");
	assert_line(&table, 0x1100, NULL);
}

/* Linkers give removed code the address 0, the last address, or the one before it. */
static void test_dead_rows(void **unused)
{
	static const struct {
		uintptr_t address;
		unsigned int by;
		bool is_dead;
	} cases[] = {{0, 0x1000, true}, {UINTPTR_MAX, 0x1001, true},
			{UINTPTR_MAX - 1, 0x1002, true}, {UINTPTR_MAX - 2, 0x1003, false},
			{1, 0xfff, false}};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct table table = {.size = 0};

		begin_unit(&table, "left.c");
		set_address(&table, cases[i].address);
		add_row(&table);
		advance(&table, cases[i].by);
		add_row(&table);
		advance(&table, 0x100);
		end_sequence(&table);
		end_unit(&table);
		begin_unit(&table, "kept.c");
		set_address(&table, 0x1000);
		add_row(&table);
		advance(&table, 0x100);
		end_sequence(&table);
		end_unit(&table);
		assert_line(&table, 0x1080, cases[i].is_dead ? "kept.c:1" : "left.c:1");
	}
}

/* ---- operations ---- */

/* Operations and special opcodes, each with its resulting row. */
static void test_operations(void **unused)
{
	static const struct {
		unsigned char bytes[8];
		size_t size;
		unsigned int from; /* the first address of the row */
		const char *line;
	} cases[] = {
			{{1}, 1, 0x1000, "first.c:1"},
			{{3, 5, 1}, 3, 0x1000, "first.c:6"},
			{{3, 5, 3, 0x7d, 1}, 5, 0x1000, "first.c:3"},
			{{3, 0xff, 0, 1}, 4, 0x1000, "first.c:128"},
			{{2, 0x81, 1, 1}, 4, 0x1081, "first.c:1"},
			{{8, 1}, 2, 0x1011, "first.c:1"}, /* (255 - 13) / 14 */
			{{9, 0x34, 0x12, 1}, 4, 0x2234, "first.c:1"},
			{{3, 9, 13}, 3, 0x1000, "first.c:5"}, /* special: 0, line - 5 */
			{{26}, 1, 0x1000, "first.c:9"},       /* + 0, line + 8 */
			{{3, 9, 27}, 3, 0x1001, "first.c:5"}, /* + 1, line - 5 */
			{{3, 9, 255}, 3, 0x1011, "first.c:9"},
			{{5, 0x80, 1, 1}, 4, 0x1000,
					"first.c:1"}, /* DW_LNS_set_column: an argument */
			{{6, 7, 10, 11, 1}, 5, 0x1000, "first.c:1"}, /* no arguments */
			{{12, 1, 3, 5, 1}, 5, 0x1000, "first.c:6"},
			{{0, 3, 0x80, 1, 1, 1}, 6, 0x1000, "first.c:1"}, /* of a vendor */
			{{0, 4, 2, 1, 1, 1, 1}, 7, 0x1000, "first.c:1"}, /* an address of 3 bytes */
			{{4, 2, 1}, 3, 0x1000, "/second.c:1"},
			{{4, 3, 1}, 3, 0x1000, "below/third.c:1"},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct table table = {.size = 0};

		begin_unit(&table, "first.c");
		set_address(&table, 0x1000);
		add(&table, cases[i].bytes, cases[i].size);
		advance(&table, 0x100);
		end_sequence(&table);
		end_unit(&table);
		assert_line(&table, cases[i].from - 1, NULL);
		assert_line(&table, cases[i].from, cases[i].line);
		assert_line(&table, cases[i].from + 0xff, cases[i].line);
		assert_line(&table, cases[i].from + 0x100, NULL);
	}
}

/* The second sequence begins with the state of a first one. */
static void test_state_of_sequences(void **unused)
{
	struct table table = {.size = 0};

	(void)unused;
	begin_unit(&table, "first.c");
	set_address(&table, 0x1000);
	ADD(&table, 3, 9, 4, 2);
	add_row(&table);
	advance(&table, 0x100);
	end_sequence(&table);
	set_address(&table, 0x2000);
	add_row(&table);
	advance(&table, 0x100);
	end_sequence(&table);
	end_unit(&table);
	assert_line(&table, 0x1000, "/second.c:10");
	/* There is no code between the two sequences. */
	assert_line(&table, 0x1100, NULL);
	assert_line(&table, 0x1fff, NULL);
	assert_line(&table, 0x2000, "first.c:1");
}

/* ---- headers ---- */

/*
 * One row at 0x1000, after a header with these bytes. The length of the header is too large by
 * `program`.
 */
static struct table with_header(const unsigned char *header, size_t size, unsigned int program)
{
	struct table table = {.size = 0};
	uint32_t length = (uint32_t)size + program;

	ADD(&table, 0, 0, 0, 0, 4, 0);
	add(&table, &length, 4);
	add(&table, header, size);
	set_address(&table, 0x1000);
	add_row(&table);
	advance(&table, 0x100);
	end_sequence(&table);
	end_unit(&table);
	return table;
}

/* DW_LNS_const_add_pc adds the addresses of the opcode 255, which is (255 - 10) / 41. */
static void test_constant_advance(void **unused)
{
	static const unsigned char header[] = {
			1, 1, 1, 0xfb, 41, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 'a', 0, 0, 0, 0, 0};
	struct table table = {.size = 0};
	uint32_t length = sizeof(header);

	(void)unused;
	ADD(&table, 0, 0, 0, 0, 4, 0);
	add(&table, &length, 4);
	add(&table, header, sizeof(header));
	set_address(&table, 0x1000);
	ADD(&table, 8);
	add_row(&table);
	advance(&table, 0x100);
	end_sequence(&table);
	end_unit(&table);
	assert_line(&table, 0x1004, NULL);
	assert_line(&table, 0x1005, "a:1");
}

static void test_headers(void **unused)
{
	/*
	 * Lengths of instructions, operations in one, statements, line base, line range, opcode
	 * base; folders; a file.
	 */
	static const unsigned char good[] = {
			1, 1, 1, 0xfb, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 'a', 0, 0, 0, 0, 0};
	static const struct {
		unsigned int at, value; /* the byte that differs */
		const char *line;
	} cases[] = {
			{0, 1, "a:1"}, {0, 2, "a:1"},
			{1, 0, NULL}, /* machines with several operations in an instruction */
			{1, 2, NULL}, {2, 0, "a:1"}, {4, 0, NULL}, /* a division by 0 */
			{5, 0, NULL},                              /* no opcodes */
	};
	struct table table = with_header(good, sizeof(good), 0);

	(void)unused;
	assert_line(&table, 0x10ff, "a:1");
	assert_line(&table, 0x1100, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned char header[sizeof(good)];

		memcpy(header, good, sizeof(good));
		header[cases[i].at] = (unsigned char)cases[i].value;
		table = with_header(header, sizeof(header), 0);
		add_second(&table);
		assert_line(&table, 0x1000, cases[i].line);
		/* Units of instructions: 256 or 512 bytes. */
		assert_line(&table, 0x1100, cases[i].at || cases[i].value != 2 ? NULL : "a:1");
		assert_line(&table, 0x4000, "second.c:1");
	}
	/*
	 * The program may begin at the end of the unit. If it begins after the end, the table is
	 * refused.
	 */
	for (unsigned int beyond = 0; beyond < 3; beyond++) {
		unsigned int program = 11 + 1 + 3 + 3 + beyond;

		table = with_header(good, sizeof(good), program);
		add_second(&table);
		assert_line(&table, 0x1000, NULL);
		assert_line(&table, 0x4000, beyond ? NULL : "second.c:1");
	}
	/* Only the unit whose program begins within its header is skipped. */
	table = with_header(good, sizeof(good), -9u);
	add_second(&table);
	assert_line(&table, 0x1000, NULL);
	assert_line(&table, 0x4000, "second.c:1");
}

/*
 * Versions 2 to 5 are read, others are skipped. A length with 8 bytes, and a unit that is too long.
 */
static void test_units(void **unused)
{
	static const unsigned char header[] = {
			1, 1, 0xfb, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 'b', 0, 0, 0, 0, 0};
	struct table table;
	uint64_t length;

	(void)unused;
	for (unsigned int version = 0; version < 8; version++) {
		uint32_t size = sizeof(header);

		/* Version 5 has another header. */
		if (version == 5)
			continue;
		table = (struct table){.size = 0};
		ADD(&table, 0, 0, 0, 0, version, 0);
		size += version >= 4;
		add(&table, &size, 4);
		add(&table, header, 1);
		if (version >= 4)
			ADD(&table, 1);
		add(&table, header + 1, sizeof(header) - 1);
		set_address(&table, 0x1000);
		add_row(&table);
		advance(&table, 0x100);
		end_sequence(&table);
		end_unit(&table);
		add_second(&table);
		assert_line(&table, 0x1000, version >= 2 && version <= 4 ? "b:1" : NULL);
		assert_line(&table, 0x4000, "second.c:1");
	}
	/* The 64-bit format, in which the length of the header has 8 bytes. */
	table = (struct table){.size = 0};
	ADD(&table, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0);
	length = sizeof(header);
	add(&table, &length, 8);
	add(&table, header, sizeof(header));
	set_address(&table, 0x1000);
	add_row(&table);
	advance(&table, 0x100);
	end_sequence(&table);
	length = table.size - 12;
	memcpy(table.bytes + 4, &length, 8);
	add_second(&table);
	assert_line(&table, 0x10ff, "b:1");
	assert_line(&table, 0x4000, "second.c:1");
	/* A unit that ends with the section, and one that ends 1 byte after it. */
	for (unsigned int beyond = 0; beyond < 2; beyond++) {
		table = one_row();
		end_sequence(&table);
		end_unit(&table);
		table.bytes[0] += (unsigned char)beyond;
		assert_line(&table, 0x1000, beyond ? NULL : "first.c:1");
	}
}

/* ---- version 5 ---- */

enum { PATH = 1, FOLDER = 2, OTHER = 5 };

/* A unit of version 5 at 0x1000, with tables of directories and files after the header. */
static struct table version_5(const unsigned char *tables, size_t size, unsigned int file)
{
	struct table table = {.size = 0};
	uint32_t length = (uint32_t)(15 + size);

	ADD(&table, 0, 0, 0, 0, 5, 0, sizeof(void *), 0);
	add(&table, &length, 4);
	ADD(&table, 1, 1, 1, 0xfb, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1);
	add(&table, tables, size);
	set_address(&table, 0x1000);
	ADD(&table, 4, file);
	add_row(&table);
	advance(&table, 0x100);
	end_sequence(&table);
	end_unit(&table);
	return table;
}

static void test_version_5(void **unused)
{
	static const unsigned char inside[] = {1, PATH, 0x08, 3, '/', 'r', 0, 'o', 'n', 'e', 0, 't',
			'w', 'o', 0,
			/* With numbers of each form between the path and the directory. */
			9, PATH, 0x08, OTHER, 0x05, OTHER, 0x06, OTHER, 0x07, 0, 0};
	static const unsigned char files[] = {1, PATH, 0x08, 3, '/', 'r', 0, 'o', 'n', 'e', 0, 't',
			'w', 'o', 0, 8, PATH, 0x08, OTHER, 0x05, OTHER, 0x06, OTHER, 0x07, OTHER,
			0x0b, OTHER, 0x1e, OTHER, 0x09, FOLDER, 0x0f, 3,
#define NUMBERS                                                                                   \
	9, 9, 8, 8, 8, 8, 7, 7, 7, 7, 7, 7, 7, 7, 6, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, \
			5, 2, 0xee, 0xee
			'x', 0, NUMBERS, 0, 'y', 0, NUMBERS, 1, '/', 'z', 0, NUMBERS, 2};
	static const unsigned char text[] = {1, PATH, 0x08, 2, '/', 0, 'f', 0, 2, PATH, 0x08,
			FOLDER, 0x08, 1, 'x', 0, '1', 0};
	/* Both names as positions in .debug_line_str. The directory has 1, 2, 4 or 8 bytes. */
	static const unsigned char outside[] = {1, PATH, 0x1f, 2, 0, 0, 0, 0, 3, 0, 0, 0, 2, PATH,
			0x1f, FOLDER, 0x0b, 3, 7, 0, 0, 0, 1, 9, 0, 0, 0, 0, 10, 0, 0, 0, 1};
	struct table table;

	(void)unused;
	table = version_5(files, sizeof(files), 0);
	assert_line(&table, 0x1000, "x:1");
	table = version_5(files, sizeof(files), 1);
	assert_line(&table, 0x1000, "one/y:1");
	table = version_5(files, sizeof(files), 2);
	assert_line(&table, 0x1000, "/z:1");
	table = version_5(files, sizeof(files), 3);
	assert_line(&table, 0x1000, NULL);
	/* 8 members are supported, 9 are not. Form 0 is unknown. */
	for (unsigned int extra = 0; extra < 2; extra++) {
		unsigned char many[64] = {1, PATH, 0x08, 1, '/', 0};
		size_t used = 6;

		many[used++] = (unsigned char)(8 + extra);
		many[used++] = PATH;
		many[used++] = 0x08;
		for (unsigned int i = 1; i < 8 + extra; i++) {
			many[used++] = OTHER;
			many[used++] = 0x0b;
		}
		many[used++] = 1;
		many[used++] = 'x';
		used += 1 + 7 + extra;
		table = version_5(many, used, 0);
		assert_line(&table, 0x1000, extra ? NULL : "x:1");
	}
	/* A directory that is not a number counts as none. */
	table = version_5(text, sizeof(text), 0);
	assert_line(&table, 0x1000, "x:1");
	table = version_5(inside, sizeof(inside), 0);
	assert_line(&table, 0x1000, NULL);
	form.texts = "dir/abcd";
	table = version_5(outside, sizeof(outside), 0);
	assert_line(&table, 0x1000, "/abcd/d:1");
	table = version_5(outside, sizeof(outside), 1);
	assert_line(&table, 0x1000, NULL); /* after the texts */
	form.texts = NULL;
	table = version_5(outside, sizeof(outside), 0);
	assert_line(&table, 0x1000, NULL);
}

/* A name as long as possible, and one with a character more. */
static void test_long_names(void **unused)
{
	char name[VALIDATE_LINE_MAX], wanted[VALIDATE_LINE_MAX + 16];
	struct table table;

	(void)unused;
	for (unsigned int size = VALIDATE_LINE_MAX / 2 - 2; size <= VALIDATE_LINE_MAX / 2 + 1;
			size++) {
		unsigned char tables[VALIDATE_LINE_MAX] = {
				1, PATH, 0x08, 1, '/', 0, 1, PATH, 0x08, 1};

		memset(name, 'n', size);
		name[size] = '\0';
		snprintf(wanted, sizeof(wanted), "%.*s:1", VALIDATE_LINE_MAX / 2 - 1, name);
		table = (struct table){.size = 0};
		begin_unit(&table, name);
		set_address(&table, 0x1000);
		add_row(&table);
		advance(&table, 0x100);
		end_sequence(&table);
		end_unit(&table);
		assert_line(&table, 0x1000, wanted);
		memcpy(tables + 10, name, size);
		table = version_5(tables, 10 + size + 1, 0);
		assert_line(&table, 0x1000, wanted);
	}
}

/* ---- compressed tables ---- */

/* The content of the section: a header of either form, and a stored block. */
static struct table compress(const struct table *table, unsigned int type, uint64_t size)
{
	struct table packed = {.size = 0};
	uint16_t length = (uint16_t)table->size, other = (uint16_t)~length;

	if (type) {
		ElfW(Chdr) header = {.ch_type = type, .ch_size = size, .ch_addralign = 1};

		add(&packed, &header, sizeof(header));
	} else {
		ADD(&packed, 'Z', 'L', 'I', 'B', 0, 0, 0, 0, (unsigned char)(size >> 24),
				(unsigned char)(size >> 16), (unsigned char)(size >> 8),
				(unsigned char)size);
	}
	ADD(&packed, 0x78, 1, 1);
	add(&packed, &length, 2);
	add(&packed, &other, 2);
	add(&packed, table->bytes, table->size);
	return packed;
}

static void test_compressed(void **unused)
{
	struct table table = one_row(), packed;

	(void)unused;
	while (table.size < 300)
		ADD(&table, 6);
	end_sequence(&table);
	end_unit(&table);
	for (unsigned int type = 0; type <= ELFCOMPRESS_ZLIB; type++) {
		form.name = type ? ".debug_line" : ".zdebug_line";
		form.flags = type ? SHF_COMPRESSED : 0;
		packed = compress(&table, type, table.size);
		assert_line(&packed, 0x1000, "first.c:1");
		/* A size that is too small or too large. */
		packed = compress(&table, type, table.size - 1);
		assert_line(&packed, 0x1000, NULL);
		packed = compress(&table, type, table.size + 1);
		assert_line(&packed, 0x1000, NULL);
		packed = compress(&table, type, 0);
		assert_line(&packed, 0x1000, NULL);
		packed = compress(&table, type, (uint64_t)1 << 31);
		assert_line(&packed, 0x1000, NULL);
		/* Only the header, and only a part of it. */
		packed = compress(&table, type, table.size);
		form.size = type ? sizeof(ElfW(Chdr)) : 12;
		assert_line(&packed, 0x1000, NULL);
		form.size--;
		assert_line(&packed, 0x1000, NULL);
		form.size = 0;
	}
	packed = compress(&table, ELFCOMPRESS_ZLIB + 1, table.size);
	assert_line(&packed, 0x1000, NULL);
	form.name = ".zdebug_line";
	form.flags = 0;
	packed = compress(&table, 0, table.size);
	packed.bytes[3] = 'C';
	assert_line(&packed, 0x1000, NULL);
	form.name = NULL;
}

/* ---- files ---- */

static void test_files(void **unused)
{
	struct table table = one_row();
	char to[VALIDATE_LINE_MAX];

	(void)unused;
	end_sequence(&table);
	end_unit(&table);
	assert_line(&table, 0x1000, "first.c:1");
	/* A file that differs from the mapped one. */
	form.is_other = true;
	assert_line(&table, 0x1000, NULL);
	form.is_other = false;
	/* A section of 256 MiB is read. With one byte more, it is not. */
	form.size = 256ul << 20;
	assert_line(&table, 0x1000, "first.c:1");
	form.size++;
	assert_line(&table, 0x1000, NULL);
	form.size = 0;
	/* A file that ends within its table. */
	form.cut = TABLE_MAX - table.size / 2;
	assert_line(&table, 0x1000, NULL);
	form.cut = 0;
	assert_false(validate_line_find("/nonexistent", &table, 0x1000, to));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_operations),
			cmocka_unit_test(test_state_of_sequences),
			cmocka_unit_test(test_headers),
			cmocka_unit_test(test_units),
			cmocka_unit_test(test_version_5),
			cmocka_unit_test(test_long_names),
			cmocka_unit_test(test_constant_advance),
			cmocka_unit_test(test_compressed),
			cmocka_unit_test(test_files),
			cmocka_unit_test(test_last_operation),
			cmocka_unit_test(test_length_across_units),
			cmocka_unit_test(test_edges_of_a_row),
			cmocka_unit_test(test_dead_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
