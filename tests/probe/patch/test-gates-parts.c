/* SPDX-License-Identifier: MIT */
/*
 * Exact values of gates: their bytes, the rights of their memory, the counters, the unwind data
 * that is written into this program, and each step that fails. The test includes the files, so that
 * it can call their static functions, and hooks system calls and writes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/patch/parts.h"

#include "../../check.h"
#include "../../resources.h"

static unsigned int nr_protects, failing_protect, nr_writes, failing_write;
static size_t accessible;

static long hooked_call(long number, long a, long b, long c, long d, long e, long f)
{
	CHECK(number != SYS_mprotect || (!d && !e && !f));
	if (number == SYS_mprotect && ++nr_protects == failing_protect)
		return -ENOMEM;
	return patch_system_call(number, a, b, c, d, e, f);
}

static int hooked_write(
		struct patch_writer *writer, uint64_t address, const void *bytes, size_t size)
{
	if (++nr_writes == failing_write)
		return -EPERM;
	return patch_write(writer, address, bytes, size);
}

static void hooked_accessible(size_t size)
{
	accessible += size;
	patch_memory_accessible(size);
}

#define patch_system_call hooked_call
#define patch_write hooked_write
#define patch_memory_accessible hooked_accessible
#include "probe/patch/gates-unwind.c"

#include "probe/patch/gates.c"
#undef patch_system_call
#undef patch_write

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
	return rights;
}

static bool has(const void *address, const char *rights)
{
	return !strncmp(rights_of(address), rights, 3);
}

static int64_t distance_at(const uint8_t *bytes)
{
	int32_t distance;

	memcpy(&distance, bytes, sizeof(distance));
	return distance;
}

/* ---- gates ---- */

static void check_gates(uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++) {
		const uint8_t *gate = gates + (size_t)i * 16;

		CHECK(gate[0] == 0xff && gate[1] == 0x15 &&
				gate + 6 + distance_at(gate + 2) ==
						(const uint8_t *)&table[i].copy);
		CHECK(gate[6] == 0x68 && distance_at(gate + 7) == (int64_t)i);
		CHECK(gate[11] == 0xe9 &&
				gate + 16 + distance_at(gate + 12) == gates - RETURNS_HEAD_BYTES);
	}
}

static void test_grown(void)
{
	const size_t each = RETURNS_GROW * (RETURN_BYTES + sizeof(struct patch_return));
	const uint32_t first = RETURNS_FIRST + RETURNS_GROW;

	for (unsigned int i = 1; i <= 3; i++) {
		nr_protects = 0;
		failing_protect = i;
		accessible = 0;
		CHECK(!patch_gates_grow(first, RETURNS_GROW) && nr_protects == i && !accessible);
	}
	failing_protect = nr_protects = 0;
	CHECK(patch_gates_grow(first, RETURNS_GROW) && accessible == each && nr_protects == 3);
	check_gates(first, RETURNS_GROW);
	CHECK(has(gates + (size_t)first * 16, "r-x") &&
			has(gates + (size_t)(first + RETURNS_GROW) * 16 - 1, "r-x") &&
			has(gates + (size_t)(first + RETURNS_GROW) * 16, "r--") &&
			has(gates + (size_t)first * 16 - 1, "r--"));
	CHECK(has(&table[first], "rw-") &&
			has((uint8_t *)&table[first + RETURNS_GROW] - 1, "rw-") &&
			has(&table[first + RETURNS_GROW], "---") &&
			has((uint8_t *)&table[first] - 1, "---"));
}

static void test_started(void)
{
	struct patch_gates made = {0};
	uint8_t common[RETURNS_HEAD_BYTES];

	CHECK(gates == patch_gates + 4096 && has(patch_gates, "r--") &&
			has(patch_gates + GATES_BYTES - 1, "r--"));
	/* Each step that fails. */
	nr_writes = 0;
	failing_write = 1;
	CHECK(patch_gates_start(&made) == -EPERM && !made.code && nr_protects == 0);
	failing_write = 0;
	for (unsigned int i = 1; i <= 5; i++) {
		nr_protects = 0;
		failing_protect = i;
		CHECK(patch_gates_start(&made) == -ENOMEM && !made.code && nr_protects == i &&
				!accessible);
	}
	failing_protect = 0;
	CHECK(!patch_gates_start(&made));
	CHECK(made.code == patch_gates + 4096 - RETURNS_HEAD_BYTES && made.returns == table &&
			made.max == max_gates && max_gates == RETURNS_MAX);
	CHECK(accessible ==
			4096 + (size_t)RETURNS_FIRST * (RETURN_BYTES + sizeof(struct patch_return)));
	CHECK(has(patch_gates, "r-x") && has(gates, "r-x") &&
			has(gates + (size_t)RETURNS_FIRST * 16 - 1, "r-x") &&
			has(gates + (size_t)RETURNS_FIRST * 16, "r--") && has(table, "rw-"));
	check_gates(0, 100);
	check_gates(RETURNS_FIRST - 1, 1);
	patch_returns_write(common);
	CHECK(!memcmp(made.code, common, sizeof(common)));
	/* Reserved memory remains reserved when another object is loaded. */
	patch_gates_reserve();
	CHECK(has(gates, "r-x"));
}

/* ---- unwind data ---- */

static void test_published(void)
{
	const uint64_t first = (uintptr_t)gates;
	const uint8_t *entry = gate_unwind_find_entry(first - 1);
	unsigned int descriptors = resources_descriptors();
	uint8_t rules[GATES_RULES_BYTES] = {0};
	uint32_t range;

	CHECK(entry && !gate_unwind_find_entry(first) && !gate_unwind_find_entry(first - 2));
	CHECK(patch_frames_gates(rules, first, table) <= sizeof(rules));
	CHECK(!memcmp(entry + 17, rules, sizeof(rules)));
	memcpy(&range, entry + 12, sizeof(range));
	CHECK(range == 1 + max_gates * RETURN_BYTES && has(entry, "r--"));
	CHECK((const uint8_t *)entry + 8 + distance_at(entry + 8) == gates - 1);
	/* Once more, with fewer gates; the rules are written first. */
	nr_writes = 0;
	failing_write = 2;
	CHECK(patch_gates_publish(table + 1, 3) == -EPERM && nr_writes == 2);
	failing_write = 0;
	CHECK(memcmp(entry + 17, rules, sizeof(rules)) != 0);
	memcpy(&range, entry + 12, sizeof(range));
	CHECK(range == 1 + max_gates * RETURN_BYTES);
	CHECK(!patch_gates_publish(table, 3) && !memcmp(entry + 17, rules, sizeof(rules)));
	memcpy(&range, entry + 12, sizeof(range));
	CHECK(range == 1 + 3 * RETURN_BYTES && resources_descriptors() == descriptors &&
			has(entry, "r--"));
	/* By stores: the page has its rights again, and no other one has changed. */
	patch_writer_plain = true;
	CHECK(!patch_gates_publish(table, 5));
	memcpy(&range, entry + 12, sizeof(range));
	CHECK(range == 1 + 5 * RETURN_BYTES && has(entry, "r--") &&
			has(entry + 17 + sizeof(rules) - 1, "r--"));
	CHECK(has((void *)(uintptr_t)test_published, "r-x") && has(&nr_writes, "rw-"));
	patch_writer_plain = false;
}

/* The rights of each segment are restored as its header has them. */
static void test_rights(void)
{
	static uint8_t variable[8192] __attribute__((aligned(4096))) = {1};
	const uint8_t *code = (const uint8_t *)(uintptr_t)test_rights;
	uint8_t *page = (uint8_t *)((uintptr_t)code & ~(uintptr_t)4095);

	CHECK(!mprotect(variable, 8192, PROT_READ) && has(variable, "r--"));
	gate_unwind_restore_rights(variable + 4090, 6);
	CHECK(has(variable, "rw-") && has(variable + 4096, "r--"));
	gate_unwind_restore_rights(variable + 4090, 7);
	CHECK(has(variable + 4096, "rw-"));
	CHECK(!mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
	gate_unwind_restore_rights(code, 1);
	CHECK(has(code, "r-x"));
	for (unsigned int i = 0; i < __ehdr_start.e_phnum; i++) {
		if (gate_unwind_program_header(i)->p_type == PT_GNU_EH_FRAME)
			CHECK((const uint8_t *)gate_unwind_segment_address(
					      gate_unwind_program_header(i)) ==
					gate_unwind_find_table());
		if (gate_unwind_program_header(i)->p_type == PT_PHDR)
			CHECK(gate_unwind_segment_address(gate_unwind_program_header(i)) ==
					(uintptr_t)gate_unwind_program_header(0));
	}
	CHECK(gate_unwind_find_table()[0] == 1 && gate_unwind_find_table()[3] == 0x3b);
}

int main(void)
{
	test_started();
	test_grown();
	test_published();
	test_rights();
	return 0;
}
