/* SPDX-License-Identifier: MIT */
/* Line tables (.debug_line), built byte by byte, in a file with two sections: ends of units, and code that the linker left out. */
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "validate/line.h"

#define TABLE_MAX 512

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

/* A unit of version 4 with one file; its length is set by end_unit(). */
static void begin_unit(struct table *table, const char *name)
{
	static const unsigned char opcodes[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
	uint32_t header = (uint32_t)(6 + sizeof(opcodes) + 1 + strlen(name) + 1 + 3 + 1);

	table->unit = table->size;
	ADD(table, 0, 0, 0, 0, 4, 0);
	add(table, &header, sizeof(header));
	/* Lengths of instructions, operations in one, statements, line base, line range, opcode base. */
	ADD(table, 1, 1, 1, 0xfb, 14, 13);
	add(table, opcodes, sizeof(opcodes));
	ADD(table, 0);
	add(table, name, strlen(name) + 1);
	ADD(table, 0, 0, 0, 0);
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

/* Look up the address; NULL: it has no line. */
static const char *find(const struct table *table, uintptr_t address)
{
	static const char names[] = "\0.debug_line\0.shstrtab";
	static char to[VALIDATE_LINE_MAX];
	struct {
		ElfW(Ehdr) header;
		ElfW(Shdr) sections[3];
		char names[sizeof(names)];
		unsigned char table[TABLE_MAX];
	} file;
	int fd = memfd_create("table", MFD_CLOEXEC);
	char path[64];
	bool found;

	memset(&file, 0, sizeof(file));
	memcpy(file.header.e_ident, ELFMAG, SELFMAG);
	file.header.e_shoff = sizeof(file.header);
	file.header.e_shentsize = sizeof(file.sections[0]);
	file.header.e_shnum = 3;
	file.header.e_shstrndx = 2;
	file.sections[1].sh_name = 1;
	file.sections[1].sh_type = SHT_PROGBITS;
	file.sections[1].sh_offset = (size_t)(file.table - (unsigned char *)&file);
	file.sections[1].sh_size = table->size;
	file.sections[2].sh_name = 13;
	file.sections[2].sh_type = SHT_STRTAB;
	file.sections[2].sh_offset = (size_t)(file.names - (char *)&file);
	file.sections[2].sh_size = sizeof(names);
	memcpy(file.names, names, sizeof(names));
	memcpy(file.table, table->bytes, table->size);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, &file, sizeof(file)), sizeof(file));
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	found = validate_line_find(path, &file, address, to);
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

/* One row of 256 bytes from 0x1000 on; its end is written by the caller. */
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
			{{0, 1}, 2, NULL},    /* its opcode is behind the end */
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
 * The length of the last operation continues in the next unit. The first bytes of that unit would make it an operation that ends the
 * sequence.
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

/* Linkers give code that they leave out the address 0, the last address, or the one before it. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_last_operation),
			cmocka_unit_test(test_length_across_units),
			cmocka_unit_test(test_edges_of_a_row),
			cmocka_unit_test(test_dead_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
