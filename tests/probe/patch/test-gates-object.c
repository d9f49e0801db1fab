/* SPDX-License-Identifier: MIT */
/*
 * The unwind data of gates in an object that the test lays out: which header and which table count,
 * entries at the first and the last row, lengths at the limit, and the rights of pages that are
 * restored. The test includes the file, so that it can call its static functions.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probe/patch/parts.h"

#include "../../check.h"

#define PAGE_BYTES 4096u

/* The ELF header, its program headers, and pages of data. */
struct object {
	Elf64_Ehdr header;
	Elf64_Phdr parts[6];
	uint8_t padding[PAGE_BYTES - sizeof(Elf64_Ehdr) - 6 * sizeof(Elf64_Phdr)];
	uint8_t pages[4][PAGE_BYTES];
};
extern struct object played_object __attribute__((visibility("hidden")));
struct object played_object __attribute__((aligned(4096)));
__asm__(".globl played_header\n.hidden played_header\n.set played_header, played_object\n");

static unsigned int nr_opened, nr_closed;

static void hooked_open(struct patch_writer *writer)
{
	nr_opened++;
	patch_writer_open(writer);
}

static void hooked_close(struct patch_writer *writer)
{
	nr_closed++;
	CHECK(!writer->page || writer->memory >= 0);
	patch_writer_close(writer);
}

#define __ehdr_start played_header
#define patch_writer_open hooked_open
#define patch_writer_close hooked_close
#include "probe/patch/gates-unwind.c"

/*
 * Not inlined: the compiler takes the header for a constant, but the test changes it between calls.
 */
static const uint8_t *(*volatile table_function)(void) = gate_unwind_find_table;
static uint8_t *(*volatile entry_function)(uint64_t begin) = gate_unwind_find_entry;
static uintptr_t (*volatile address_function)(const Elf64_Phdr *part) = gate_unwind_segment_address;
static void (*volatile rights_function)(
		const uint8_t *entry, size_t size) = gate_unwind_restore_rights;
static int (*volatile publish_function)(
		const struct patch_return *returns, uint32_t count) = patch_gates_publish;
#define gate_unwind_find_table() table_function()
#define gate_unwind_find_entry(begin) entry_function(begin)
#define gate_unwind_segment_address(part) address_function(part)
#define gate_unwind_restore_rights(entry, size) rights_function(entry, size)
#define patch_gates_publish(returns, count) publish_function(returns, count)

#define GATES_BEGIN ((uint64_t)(uintptr_t)patch_gates + GATES_PAGE - 1)

static uint8_t *page(unsigned int index)
{
	return played_object.pages[index];
}

static uint64_t offset_of(const uint8_t *at)
{
	return (uint64_t)(at - (const uint8_t *)&played_object);
}

static Elf64_Phdr part(uint32_t type, const uint8_t *at, uint32_t flags, uint64_t size)
{
	return (Elf64_Phdr){.p_type = type,
			.p_vaddr = offset_of(at),
			.p_flags = flags,
			.p_memsz = size};
}

/* Writes a table of `count` rows, one of which is that of the gates. */
static void put_table(uint8_t *table, uint32_t count, uint32_t which, const uint8_t *entry)
{
	static const uint8_t form[] = {1, 0x1b, 3, 0x3b};

	memcpy(table, form, sizeof(form));
	memcpy(table + 8, &count, sizeof(count));
	for (uint32_t i = 0; i < 8; i++) {
		int32_t row[2] = {(int32_t)(GATES_BEGIN - (uintptr_t)table) +
						(i == which ? 0 : 16 * (int32_t)(i + 1)),
				(int32_t)(entry - table)};

		memcpy(table + 12 + 8 * i, row, sizeof(row));
	}
}

static void put_length(uint8_t *entry, uint32_t length)
{
	memcpy(entry, &length, sizeof(length));
}

static uint8_t *lay_out(void)
{
	uint8_t *entry = page(1) + PAGE_BYTES - 41;

	CHECK(!mprotect(&played_object, sizeof(played_object), PROT_READ | PROT_WRITE));
	memset(&played_object, 0, sizeof(played_object));
	played_object.header =
			(Elf64_Ehdr){.e_type = ET_DYN, .e_phoff = sizeof(Elf64_Ehdr), .e_phnum = 1};
	played_object.parts[0] = part(PT_GNU_EH_FRAME, page(0), PF_R, 100);
	put_table(page(0), 3, 0, entry);
	put_length(entry, ENTRY_HEAD + GATES_RULES_BYTES - 4);
	return entry;
}

static void test_tables(void)
{
	uint8_t *entry = lay_out();

	CHECK(gate_unwind_find_table() == page(0) && gate_unwind_find_entry(GATES_BEGIN) == entry &&
			!gate_unwind_find_entry(GATES_BEGIN + 1));
	CHECK(gate_unwind_segment_address(gate_unwind_program_header(0)) == (uintptr_t)page(0) &&
			gate_unwind_program_header(2) == &played_object.parts[2]);
	/* Other headers, and tables of another form, before it. */
	played_object.header.e_phnum = 3;
	played_object.parts[2] = played_object.parts[0];
	played_object.parts[0] = part(PT_LOAD, page(0), PF_R, 100);
	played_object.parts[1] = part(PT_GNU_EH_FRAME, page(2), PF_R, 100);
	played_object.parts[2].p_vaddr = offset_of(page(3));
	put_table(page(3), 3, 0, entry);
	CHECK(gate_unwind_find_table() == page(3));
	for (unsigned int i = 0; i < 4; i++) {
		page(3)[i] ^= 1;
		CHECK(!gate_unwind_find_table() && !gate_unwind_find_entry(GATES_BEGIN));
		page(3)[i] ^= 1;
	}
	/* One header less. */
	played_object.header.e_phnum = 2;
	CHECK(!gate_unwind_find_table() && patch_gates_publish(NULL, 1) == -ENOTSUP && !nr_opened);
	/* The last row, and the one after it. */
	entry = lay_out();
	put_table(page(0), 3, 2, entry);
	CHECK(gate_unwind_find_entry(GATES_BEGIN) == entry);
	put_table(page(0), 3, 3, entry);
	CHECK(!gate_unwind_find_entry(GATES_BEGIN));
	put_table(page(0), 0, 0, entry);
	CHECK(!gate_unwind_find_entry(GATES_BEGIN) && patch_gates_publish(NULL, 1) == -ENOTSUP);
	/* The length of the entry, one less, and one more. */
	put_table(page(0), 1, 0, entry);
	CHECK(gate_unwind_find_entry(GATES_BEGIN) == entry);
	put_length(entry, ENTRY_HEAD + GATES_RULES_BYTES - 5);
	CHECK(!gate_unwind_find_entry(GATES_BEGIN));
	put_length(entry, ENTRY_HEAD + GATES_RULES_BYTES - 3);
	CHECK(gate_unwind_find_entry(GATES_BEGIN) == entry);
	/* A program with fixed addresses. */
	played_object.header.e_type = ET_EXEC;
	played_object.parts[0].p_vaddr += (uintptr_t)&played_object;
	CHECK(gate_unwind_segment_address(gate_unwind_program_header(0)) == (uintptr_t)page(0) &&
			gate_unwind_find_entry(GATES_BEGIN) == entry);
}

/* ---- rights ---- */

static const char *rights_of(const void *address)
{
	static char rights[5];
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, end, at = (unsigned long)(uintptr_t)address;
	char found[5];

	CHECK(maps);
	strcpy(rights, "none");
	while (fscanf(maps, "%lx-%lx %4s%*[^\n]", &start, &end, found) == 3) {
		if (at >= start && at < end)
			strcpy(rights, found);
	}
	(void)fclose(maps);
	rights[3] = '\0';
	return rights;
}

static bool has(unsigned int first, const char *one, const char *other)
{
	return !strcmp(rights_of(page(first)), one) && !strcmp(rights_of(page(first + 1)), other);
}

static void make_writable(void)
{
	CHECK(!mprotect(page(0), sizeof(played_object.pages), PROT_READ | PROT_WRITE));
}

static void test_rights(void)
{
	static const char *const names[] = {"---", "--x", "-w-", "-wx", "r--", "r-x", "rw-", "rwx"};

	(void)lay_out();
	for (uint32_t flags = 0; flags < 8; flags++) {
		/* PF_X, PF_W, PF_R are 1, 2, 4. */
		make_writable();
		played_object.parts[0] = part(PT_LOAD, page(1), flags, PAGE_BYTES);
		gate_unwind_restore_rights(page(1) + 9, 7);
		CHECK(has(1, names[flags], "rw-"));
	}
	played_object.parts[0] = part(PT_LOAD, page(1), PF_R, PAGE_BYTES);
	/* One byte at the begin of a page, all of it, and one byte more. */
	make_writable();
	gate_unwind_restore_rights(page(1), 1);
	CHECK(has(0, "rw-", "r--") && has(1, "r--", "rw-"));
	make_writable();
	gate_unwind_restore_rights(page(1) + 1, PAGE_BYTES - 1);
	CHECK(has(1, "r--", "rw-"));
	make_writable();
	gate_unwind_restore_rights(page(1) + 1, PAGE_BYTES);
	CHECK(has(1, "r--", "r--") && has(2, "r--", "rw-"));
	/* Another segment, before it, after it, or of another type. */
	make_writable();
	gate_unwind_restore_rights(page(2), 1);
	gate_unwind_restore_rights(page(1) - 1, 1);
	CHECK(has(0, "rw-", "rw-") && has(2, "rw-", "rw-"));
	gate_unwind_restore_rights(page(1) + PAGE_BYTES - 1, 1);
	CHECK(has(1, "r--", "rw-"));
	make_writable();
	played_object.parts[0].p_type = PT_NOTE;
	gate_unwind_restore_rights(page(1), 1);
	CHECK(has(1, "rw-", "rw-"));
	/* The header after the last one does not count. */
	played_object.parts[1] = part(PT_LOAD, page(1), PF_R, PAGE_BYTES);
	gate_unwind_restore_rights(page(1), 1);
	CHECK(has(1, "rw-", "rw-"));
	played_object.header.e_phnum = 2;
	gate_unwind_restore_rights(page(1), 1);
	CHECK(has(1, "r--", "rw-"));
}

/* The entry is in two pages, which are writable for a moment if bytes are stored. */
static void test_published(void)
{
	static struct patch_return returns[4];
	uint8_t rules[GATES_RULES_BYTES] = {0};

	(void)patch_frames_gates(rules, GATES_BEGIN + 1, returns);
	for (int plain = 0; plain < 2; plain++) {
		uint8_t *entry = lay_out();
		uint32_t range = 0;

		played_object.header.e_phnum = 2;
		played_object.parts[1] = part(PT_LOAD, page(0), PF_R, 4 * PAGE_BYTES);
		memset(entry + 4, 0x55, ENTRY_HEAD + GATES_RULES_BYTES);
		CHECK(!mprotect(page(0), sizeof(played_object.pages), PROT_READ));
		patch_writer_plain = plain;
		nr_opened = nr_closed = 0;
		CHECK(!patch_gates_publish(returns, 4) && nr_opened == 1 && nr_closed == 1);
		CHECK(has(0, "r--", "r--") && has(2, "r--", "r--"));
		memcpy(&range, entry + 12, sizeof(range));
		CHECK(range == 1 + 4 * RETURN_BYTES && !memcmp(entry + 17, rules, sizeof(rules)));
		CHECK(entry[11] == 0x55 && entry[16] == 0x55 && entry[17 + sizeof(rules)] == 0x55);
	}
	patch_writer_plain = false;
}

int main(void)
{
	test_tables();
	test_rights();
	test_published();
	return 0;
}
