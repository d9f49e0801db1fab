/* SPDX-License-Identifier: MIT */
/*
 * Marks all addresses that an instruction of a file may jump to, besides the next one: targets of
 * branches and calls, tables of switches, exception handlers, and every constant that may be an
 * address of code. A mark too many costs one probe its jump; a missing mark crashes the program.
 */
#include "parts.h"
#include "x86-64.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_ENTRIES_MAX 65536 /* of one table */
/* of all tables: a damaged file may have many that overlap */
#define ENTRIES_MAX ((size_t)16 << 20)
#define SECTION_PACKED_RELATIVE 19 /* SHT_RELR, which older headers do not define */

void code_mark_target(const struct code_file *file, uint64_t address)
{
	struct code_segment *segment = code_executable(file, address);

	if (segment && segment->targets) {
		uint64_t at = address - segment->address;

		segment->targets[at / 8] |= (uint8_t)(1u << (at % 8));
	}
}

bool code_is_target(const struct code_file *file, uint64_t address)
{
	const struct code_segment *segment = code_executable(file, address);
	uint64_t at;

	if (!segment || !segment->targets)
		return true;
	at = address - segment->address;
	return segment->targets[at / 8] >> (at % 8) & 1;
}

/*
 * Addresses that code takes. A switch table starts at one of them, and ends at the next one at the
 * latest.
 */
struct address_list {
	uint64_t *addresses;
	size_t count, capacity;
};

static int sweep_add_address(struct address_list *list, uint64_t address)
{
	uint64_t *addresses = code_grow(
			list->addresses, list->count, &list->capacity, sizeof(*addresses));

	if (!addresses)
		return -ENOMEM;
	list->addresses = addresses;
	addresses[list->count++] = address;
	return 0;
}

static int sweep_compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

/*
 * Marks distances of 32 bits from the table's start to code, as switches have them. Neither the
 * existence of such a table nor its length is known: it ends at an entry that leads out of the
 * code, or where other data begins.
 */
static void sweep_table(const struct code_file *file, uint64_t table, uint64_t end, size_t *budget)
{
	size_t size;
	const uint8_t *bytes = code_bytes(file, table, &size);

	if (bytes && size > end - table)
		size = end - table;
	for (size_t i = 0; bytes && i < TABLE_ENTRIES_MAX && (i + 1) * 4 <= size && *budget;
			i++, --*budget) {
		uint64_t target = table + (uint64_t)(int64_t)(int32_t)code_read(bytes + i * 4, 4);

		if (!code_executable(file, target))
			break;
		code_mark_target(file, target);
	}
}

static void sweep_tables(const struct code_file *file, const struct address_list *list)
{
	size_t budget = ENTRIES_MAX;

	for (size_t i = 0; i < list->count; i++) {
		uint64_t end = i + 1 < list->count ? list->addresses[i + 1] : UINT64_MAX;

		sweep_table(file, list->addresses[i], end, &budget);
	}
}

/*
 * An instruction accesses bytes of code, so these are data. A program that reads the start of a
 * function copies it, or checks it for changes, so the whole function keeps its bytes.
 */
static int sweep_keep_read(
		struct code_file *file, uint64_t address, const uint8_t *bytes, size_t size)
{
	static const char data[] = "the program reads these bytes as data";
	static const char copied[] = "the program reads it as data, so it may execute a copy of it";
	unsigned int count = x86_memory_bytes(bytes, size);
	int ret = count ? code_keep(file, address, address + count, data) : 0;

	if (!count)
		return 0;
	code_mark_target(file, address);
	for (uint64_t at = address; !ret && at < address + count; at++) {
		const struct code_function *function = code_function_at(file, at);

		if (function && function->address == at)
			ret = code_keep(file, at, at + function->size, copied);
	}
	return ret;
}

/* Keeps data among the code: constants, and functions that the program copies. */
static int sweep_memory(struct code_file *file, const struct x86_instruction *instruction,
		uint64_t from, const uint8_t *bytes, size_t size)
{
	uint64_t address = 0;

	if (instruction->piece.field && !instruction->lea)
		address = instruction->piece.target;
	else if (instruction->absolute && file->fixed && !instruction->lea)
		address = instruction->displacement;
	/* Bytes outside of functions may be data. */
	if (!address || instruction->padding || !code_executable(file, address) ||
			!code_function_at(file, from))
		return 0;
	return sweep_keep_read(file, address, bytes, size);
}

/* True if it reads memory at the frame pointer, or copies the frame pointer. */
static bool sweep_may_read_frame(const struct x86_instruction *instruction, const uint8_t *bytes)
{
	if (instruction->stack == STACK_FRAME && !instruction->stack_distance)
		return true;
	/* mov %rbp,%REG. A move to the stack pointer does not count: functions end with it. */
	return instruction->piece.length == 3 && (bytes[0] & 0xfe) == 0x48 && bytes[1] == 0x89 &&
			(bytes[2] & 0xf8) == 0xe8 && (bytes[0] == 0x49 || bytes[2] != 0xec);
}

/* Reads the instructions from an instruction to an end. */
static int sweep_code(struct code_file *file, const struct code_segment *segment, uint64_t from,
		uint64_t to, struct address_list *list)
{
	const uint8_t *bytes = file->bytes + segment->offset;

	while (from < to) {
		struct x86_instruction instruction;
		uint64_t at = from - segment->address;

		if (!x86_decode(bytes + at, segment->size - at, from, &instruction)) {
			from++;
			continue;
		}
		switch (instruction.piece.kind) {
		case PROBE_BRANCH:
		case PROBE_BRANCH_IF:
		case PROBE_COUNTER:
		case PROBE_CALL: code_mark_target(file, instruction.piece.target); break;
		default: break;
		}
		if (instruction.lea && instruction.piece.field) {
			code_mark_target(file, instruction.piece.target);
			if (sweep_add_address(list, instruction.piece.target))
				return -ENOMEM;
		}
		/*
		 * Only in files with fixed addresses: if the loader chooses the address, a constant
		 * is none.
		 */
		if (instruction.constant && file->fixed)
			code_mark_target(file, instruction.constant);
		if (instruction.displacement && file->fixed)
			code_mark_target(file, instruction.displacement);
		if (sweep_may_read_frame(&instruction, bytes + at) &&
				code_note_frame_read(file, from))
			return -ENOMEM;
		if (sweep_memory(file, &instruction, from, bytes + at, segment->size - at))
			return -ENOMEM;
		from += instruction.piece.length;
	}
	return 0;
}

static int sweep_segment(struct code_file *file, const struct code_segment *segment,
		struct address_list *list)
{
	uint64_t from = segment->address, end = segment->address + segment->size;

	for (size_t i = 0; i < file->nr_functions; i++) {
		uint64_t begin = file->functions[i].address;

		if (begin <= from || begin >= end)
			continue;
		if (sweep_code(file, segment, from, begin, list))
			return -ENOMEM;
		from = begin;
	}
	return sweep_code(file, segment, from, end, list);
}

/* Marks addresses in data: labels of computed jumps, tables of a file with fixed addresses. */
static void sweep_words(const struct code_file *file)
{
	for (size_t i = 0; i < file->nr_segments; i++) {
		const struct code_segment *segment = &file->segments[i];
		const uint8_t *bytes = file->bytes + segment->offset;

		if (segment->executable)
			continue;
		for (uint64_t at = -segment->address & 7; at + 8 <= segment->size; at += 8)
			code_mark_target(file, code_read(bytes + at, 8));
	}
}

static void sweep_relocations(const struct code_file *file, const struct code_section *section)
{
	size_t size;
	const uint8_t *bytes = code_section_bytes(file, section, &size);

	for (size_t i = 0; bytes && i + sizeof(Elf64_Rela) <= size; i += sizeof(Elf64_Rela)) {
		Elf64_Rela relocation;

		memcpy(&relocation, bytes + i, sizeof(relocation));
		code_mark_target(file, (uint64_t)relocation.r_addend);
	}
}

int code_sweep(struct code_file *file)
{
	struct address_list list = {0};
	int ret = 0;
	bool words = file->fixed || !file->nr_sections;

	if (file->swept)
		return 0;
	for (size_t i = 0; i < file->nr_segments; i++) {
		struct code_segment *segment = &file->segments[i];

		if (!segment->executable || segment->targets)
			continue;
		segment->targets = calloc(segment->size / 8 + 1, 1);
		if (!segment->targets)
			return -ENOMEM;
	}
	for (size_t i = 0; !ret && i < file->nr_segments; i++) {
		if (file->segments[i].executable)
			ret = sweep_segment(file, &file->segments[i], &list);
	}
	if (list.count)
		qsort(list.addresses, list.count, sizeof(*list.addresses), sweep_compare);
	sweep_tables(file, &list);
	free(list.addresses);
	if (ret)
		return ret;
	for (size_t i = 0; i < file->nr_sections; i++) {
		if (file->sections[i].type == SHT_RELA)
			sweep_relocations(file, &file->sections[i]);
		words = words || file->sections[i].type == SECTION_PACKED_RELATIVE;
	}
	if (words)
		sweep_words(file);
	for (size_t i = 0; i < file->nr_landings; i++)
		code_mark_target(file, file->landings[i]);
	for (size_t i = 0; i < file->nr_functions; i++)
		code_mark_target(file, file->functions[i].address);
	for (size_t i = 0; i < file->nr_labels; i++)
		code_mark_target(file, file->labels[i]);
	ret = code_read_rewritten(file);
	file->swept = !ret;
	return ret;
}
