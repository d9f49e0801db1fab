/* SPDX-License-Identifier: MIT */
/*
 * Exact values of backtraces: stacks that the test writes word by word, rows of each kind, and rows
 * from unwind tables. The test includes the files, so that it can call their static functions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/unwind/build.c"

#undef WORD
#include "probe/unwind/returns.c"
#include "probe/unwind/walk.c"

#include "../../check.h"

/* ---- walks ---- */

static uint64_t words[64] __attribute__((aligned(16)));
static uint64_t found[8];
static unsigned int nr_reads;

static uint64_t at(unsigned int word)
{
	return (uint64_t)(uintptr_t)&words[word];
}

/* Reads one word that is not between the bounds. */
static bool read_other(void *user, uint64_t address, uint64_t *value)
{
	CHECK(user == &nr_reads);
	nr_reads++;
	if (address != 0x7000)
		return false;
	*value = 0x2050;
	return true;
}

static uint64_t translate(uint64_t address)
{
	return address == 0x9999 ? 0x1011 : address == 0x9998 ? 0 : address;
}

static const struct unwind_row rows_of_one[] = {{.at = 0x10, .kind = UNWIND_STACK, .distance = 2},
		{.at = 0x20, .kind = UNWIND_FRAME, .distance = 2, .frame = UNWIND_FRAME_ITSELF},
		{.at = 0x30, .kind = UNWIND_SAVED, .distance = -1, .frame = UNWIND_FRAME_LOST},
		{.at = 0x40, .kind = UNWIND_SLOT, .distance = 11},
		{.at = 0x50, .kind = UNWIND_SIGNAL}, {.at = 0x60, .kind = UNWIND_LAST},
		{.at = 0x70, .kind = UNWIND_STACK, .distance = 3, .frame = 2},
		{.at = 0x80, .kind = UNWIND_UNKNOWN}};
static const struct unwind_row rows_of_other[] = {{.at = 0, .kind = UNWIND_LAST}};
static const struct unwind_module two[] = {
		{.start = 0x1000, .end = 0x1100, .rows = rows_of_one, .nr_rows = 8},
		{.start = 0x2000, .end = 0x2100, .rows = rows_of_other, .nr_rows = 1}};
static uint64_t known_rows[UNWIND_KNOWN];
static struct unwind_steps known_steps;

static uint32_t walk_from(uint64_t pc, uint64_t stack, uint64_t frame, bool exact)
{
	const struct unwind_modules modules = {.modules = two, .nr = 2};
	const struct unwind_modules kept = {.modules = two, .nr = 2, .known = known_rows};
	const struct unwind_memory memory = {
			.low = at(0), .high = at(64), .read = read_other, .user = &nr_reads};
	const struct unwind_state state = {
			.pc = pc, .stack = stack, .frame = frame, .exact = exact};
	const struct unwind_memory with_steps = {.low = at(0),
			.high = at(64),
			.read = read_other,
			.user = &nr_reads,
			.steps = &known_steps};
	uint64_t again[8] = {0};
	uint32_t nr;

	memset(found, 0, sizeof(found));
	nr_reads = 0;
	nr = unwind_walk(&modules, &state, &memory, translate, found, 8);
	/* The same with cached rows, in the first and the second walk. */
	for (int i = 0; i < 2; i++)
		CHECK(unwind_walk(&kept, &state, &memory, translate, again, 8) == nr &&
				!memcmp(again, found, sizeof(again)));
	/* The same with cached steps, also those of all tests before. */
	for (int i = 0; i < 2; i++)
		CHECK(unwind_walk(&kept, &state, &with_steps, translate, again, 8) == nr &&
				!memcmp(again, found, sizeof(again)));
	if (nr > 1) {
		memset(again, 0, sizeof(again));
		CHECK(unwind_walk(&modules, &state, &memory, translate, again, 1) == 1 &&
				again[0] == found[0] && !again[1]);
	}
	CHECK(unwind_walk(&modules, &state, &memory, translate, again, 0) == 0);
	return nr;
}

static bool is_walk(uint32_t nr, uint64_t one, uint64_t other, uint64_t third)
{
	if (found[0] == one && found[1] == other && found[2] == third &&
			nr == (uint32_t)(!!one + !!other + !!third))
		return true;
	fprintf(stderr, "%u: %lx %lx %lx\n", nr, found[0], found[1], found[2]);
	return false;
}

static void test_kinds(void)
{
	memset(words, 0, sizeof(words));
	words[11] = 0x2000 + 1;
	/* The return address is below the frame's base, two words above the stack pointer. */
	CHECK(is_walk(walk_from(0x1010, at(10), 0, true), 0x2001, 0, 0));
	CHECK(is_walk(walk_from(0x1011, at(10), 0, false), 0x1011, 0x2001, 0));
	/* A row begins at its address. There is no row before it. */
	CHECK(is_walk(walk_from(0x1010, at(10), 0, false), 0x1010, 0, 0));
	CHECK(is_walk(walk_from(0x101f, at(10), 0, true), 0x2001, 0, 0));
	/* With the frame pointer, which points to the previous frame pointer. */
	words[20] = at(30);
	words[21] = 0x1021;
	words[30] = 0;
	words[31] = 0x2002;
	CHECK(is_walk(walk_from(0x1020, at(10), at(20), true), 0x1021, 0x2002, 0));
	/* The word below the frame pointer is the frame's base. */
	words[19] = at(40);
	words[39] = 0x2003;
	CHECK(is_walk(walk_from(0x1030, at(10), at(20), true), 0x2003, 0, 0));
	/* A saved frame pointer, two words below the base, which is three words up. */
	words[12] = 0x1021;
	words[11] = at(30);
	CHECK(is_walk(walk_from(0x1070, at(10), 7, true), 0x1021, 0x2002, 0));
	CHECK(is_walk(walk_from(0x1060, at(10), at(20), true), 0, 0, 0));
}

static void test_slots(void)
{
	memset(words, 0, sizeof(words));
	words[10] = 0x2001;
	words[11] = 0x2002;
	CHECK(is_walk(walk_from(0x104a, at(10), 0, true), 0x2001, 0, 0));
	CHECK(is_walk(walk_from(0x104b, at(10), 0, true), 0x2002, 0, 0));
}

static void test_signal(void)
{
	memset(words, 0, sizeof(words));
	words[10 + 168 / 8] = 0x1010;
	words[10 + 160 / 8] = at(50);
	words[10 + 120 / 8] = at(20);
	words[51] = 0x1021;
	words[20] = 0;
	words[21] = 0x2001;
	/*
	 * The interrupted address is no return address. There, the frame pointer is in its
	 * register, with a value below the stack.
	 */
	CHECK(is_walk(walk_from(0x1050, at(10), 0, true), 0x1010, 0x1021, 0));
	words[10 + 168 / 8] = 0x1020;
	words[10 + 120 / 8] = at(52);
	words[52] = 0;
	words[53] = 0x2001;
	CHECK(is_walk(walk_from(0x1050, at(10), 0, true), 0x1020, 0x2001, 0));
	words[10 + 168 / 8] = 0;
	CHECK(is_walk(walk_from(0x1050, at(10), 0, true), 0, 0, 0));
	/*
	 * Only the first frame can be at the beginning of an unknown function: here the frame
	 * pointer decides.
	 */
	words[10 + 168 / 8] = 0x5000;
	words[10 + 120 / 8] = 0;
	words[50] = 0x2002;
	CHECK(is_walk(walk_from(0x1050, at(10), 0, true), 0x5000, 0, 0));
	words[10 + 120 / 8] = at(54);
	words[55] = 0x2003;
	CHECK(is_walk(walk_from(0x1050, at(10), 0, true), 0x5000, 0x2003, 0));
}

/* A return address belongs to the row of the call before it, also after the first frame. */
static void test_return_addresses(void)
{
	memset(words, 0, sizeof(words));
	words[11] = 0x1020;
	words[13] = 0x2001;
	CHECK(is_walk(walk_from(0x1010, at(10), 0, true), 0x1020, 0x2001, 0));
	words[11] = 0x1010;
	CHECK(is_walk(walk_from(0x1010, at(10), 0, true), 0x1010, 0, 0));
	/* A saved base that cannot be read. */
	words[13] = 0;
	CHECK(is_walk(walk_from(0x1030, at(10), 0x9008, true), 0, 0, 0));
	CHECK(is_walk(walk_from(0x1030, at(10), 0x7008, true), 0, 0, 0) && nr_reads > 0);
}

static void test_unknown(void)
{
	memset(words, 0, sizeof(words));
	words[10] = 0x2001;
	/* At the start of a function, which was called. */
	CHECK(is_walk(walk_from(0x5000, at(10), 0, true), 0x2001, 0, 0));
	CHECK(is_walk(walk_from(0x1080, at(10), 0, true), 0x2001, 0, 0));
	CHECK(is_walk(walk_from(0x100f, at(10), 0, true), 0x2001, 0, 0));
	/* Further up by the frame pointer, which is not below the stack. */
	words[10] = 0x5000;
	words[20] = at(30);
	words[21] = 0x2002;
	CHECK(is_walk(walk_from(0x5000, at(10), at(20), true), 0x5000, 0x2002, 0));
	CHECK(is_walk(walk_from(0x5000, at(10), at(11), false), 0x5000, 0, 0));
	words[10] = at(30);
	words[11] = 0x2003;
	CHECK(is_walk(walk_from(0x5000, at(10), at(10), false), 0x5000, 0x2003, 0));
	CHECK(is_walk(walk_from(0x5000, at(11), at(10), false), 0x5000, 0, 0));
	/* After the end of a module. */
	CHECK(walk_from(0x1100, at(20), at(20), true) > 0 && found[0] == at(30));
}

/* ---- return addresses ---- */

static uint8_t played_code[8];
static unsigned int nr_code_reads;

/* All code is the same, except that there is none from 0x6000 on. */
static bool read_any_code(void *user, uint64_t address, uint64_t *ret_value)
{
	CHECK(user == &nr_code_reads);
	nr_code_reads++;
	if (address >= 0x6000)
		return false;
	memcpy(ret_value, played_code, sizeof(*ret_value));
	return true;
}

static bool is_call(const char *bytes, size_t size)
{
	uint64_t word;

	memset(played_code, 0x90, sizeof(played_code));
	memcpy(played_code + sizeof(played_code) - size, bytes, size);
	memcpy(&word, played_code, sizeof(word));
	return returns_end_with_call(word);
}

#define IS_CALL(bytes) is_call(bytes, sizeof(bytes) - 1)

static void test_calls(void)
{
	CHECK(IS_CALL("\xe8\1\2\3\4") && IS_CALL("\xe8\xff\xff\xff\xff"));
	/* Registers: %rax, %rsp, %r11. */
	CHECK(IS_CALL("\xff\xd0") && IS_CALL("\xff\xd4") && IS_CALL("\x41\xff\xd3"));
	/* (%rax), (%r12), 8(%rax), 8(%rsp), (%rax,%rbx,8), 0x1000(%rax), 0x1000(%rsp). */
	CHECK(IS_CALL("\xff\x10") && IS_CALL("\x41\xff\x14\x24") && IS_CALL("\xff\x50\x08") &&
			IS_CALL("\xff\x54\x24\x08") && IS_CALL("\xff\x14\xd8") &&
			IS_CALL("\xff\x90\0\x10\0\0") && IS_CALL("\xff\x94\x24\0\x10\0\0"));
	/* Relative to the program counter, absolute, and an index without a base. */
	CHECK(IS_CALL("\xff\x15\1\2\3\4") && IS_CALL("\xff\x14\x25\1\2\3\4") &&
			IS_CALL("\xff\x14\xdd\1\2\3\4"));
	/* A probe's jump and a breakpoint replace the first byte. */
	CHECK(IS_CALL("\xe9\1\2\3\4") && IS_CALL("\xcc\1\2\3\4") && IS_CALL("\xcc\xd0") &&
			!IS_CALL("\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc"));
	/* Other code: padding, returns, jumps to registers, pushes of memory, and too short calls. */
	CHECK(!IS_CALL("\x90") && !IS_CALL("\xc3") && !IS_CALL("\xff\xe0") &&
			!IS_CALL("\xff\x30") && !IS_CALL("\xe8\1\2\3") && !IS_CALL("\xff\x50") &&
			!IS_CALL("\xff\x15\1\2\3") && !IS_CALL("\xff\x14"));
	CHECK(!IS_CALL("\0\0\0\0\0\0\0\0") && !IS_CALL("abcdefgh"));
}

static uint32_t walk_checked(uint64_t pc, uint64_t frame, bool exact, uint64_t stack_end)
{
	static uint64_t returns[UNWIND_RETURNS];
	struct unwind_modules modules = {.modules = two, .nr = 2};
	const struct unwind_memory memory = {.low = at(0),
			.high = at(64),
			.stack_end = stack_end,
			.read = read_other,
			.read_code = read_any_code,
			.user = &nr_code_reads};
	const struct unwind_state state = {
			.pc = pc, .stack = at(10), .frame = frame, .exact = exact};
	uint64_t again[8] = {0};
	uint32_t nr;

	memset(found, 0, sizeof(found));
	memset(returns, 0, sizeof(returns));
	nr = unwind_walk(&modules, &state, &memory, translate, found, 8);
	modules.returns = returns;
	for (int i = 0; i < 2; i++)
		CHECK(unwind_walk(&modules, &state, &memory, translate, again, 8) == nr &&
				!memcmp(again, found, sizeof(again)));
	return nr;
}

static uint32_t walk_to(uint64_t word)
{
	words[21] = word;
	return walk_checked(0x5000, at(20), false, 0);
}

/* Words that a frame pointer leads to, where there is no unwind data. */
static void test_guesses(void)
{
	memset(words, 0, sizeof(words));
	CHECK(IS_CALL("\xff\xd0"));
	CHECK(is_walk(walk_to(0x2001), 0x5000, 0x2001, 0));
	/* Generated code; the stack, characters and small numbers are none. */
	CHECK(is_walk(walk_to(0x5010), 0x5000, 0x5010, 0));
	CHECK(is_walk(walk_to(at(40)), 0x5000, 0, 0));
	CHECK(is_walk(walk_to(0x6867666564636261), 0x5000, 0, 0) &&
			is_walk(walk_to(7), 0x5000, 0, 0));
	/* Where code is not readable, it must be that of a module. */
	CHECK(is_walk(walk_to(0x6010), 0x5000, 0, 0));
	/* Addresses of functions and of data are not return addresses. */
	CHECK(!IS_CALL("\xc3"));
	CHECK(is_walk(walk_to(0x2001), 0x5000, 0, 0) && is_walk(walk_to(0x5010), 0x5000, 0, 0));
	CHECK(IS_CALL("\xff\xd0"));
	/* A call may be the last instruction of a module. */
	CHECK(is_walk(walk_to(0x2100), 0x5000, 0x2100, 0));
	/* At the start of a function, the same is true of the word at the top of the stack. */
	words[10] = 0x2002;
	CHECK(is_walk(walk_checked(0x5000, at(20), true, 0), 0x2002, 0, 0));
	words[10] = at(40);
	words[21] = 0x2001;
	CHECK(is_walk(walk_checked(0x5000, at(20), true, 0), 0x2001, 0, 0));
	/* A frame pointer leads to the same stack, if its end is known. */
	CHECK(is_walk(walk_checked(0x5000, at(20), false, at(21)), 0x5000, 0x2001, 0));
	CHECK(is_walk(walk_checked(0x5000, at(20), false, at(20)), 0x5000, 0, 0));
	/* A stack that the program made is a different stack. */
	CHECK(is_walk(walk_checked(0x5000, at(20), false, at(9)), 0x5000, 0x2001, 0));
}

static bool is_return_to(const struct unwind_module *module, uint64_t *returns, uint64_t address)
{
	const struct unwind_modules modules = {.modules = module, .nr = 1, .returns = returns};
	const struct unwind_memory memory = {.read_code = read_any_code, .user = &nr_code_reads};

	nr_code_reads = 0;
	return unwind_is_return_address(&modules, &memory, address);
}

static void test_code_of_modules(void)
{
	static uint64_t returns[UNWIND_RETURNS];
	struct unwind_module module = {.start = 0x2000, .end = 0x2100};

	CHECK(IS_CALL("\xff\xd0") && is_return_to(&module, NULL, 0x2001));
	module.code_start = 0x2010;
	module.code_end = 0x2020;
	CHECK(!is_return_to(&module, NULL, 0x2010) && is_return_to(&module, NULL, 0x2011));
	CHECK(is_return_to(&module, NULL, 0x2020) && !is_return_to(&module, NULL, 0x2021));
	/* The cache keeps the answer for each address. */
	CHECK(is_return_to(&module, returns, 0x2018) && nr_code_reads == 1);
	CHECK(is_return_to(&module, returns, 0x2018) && nr_code_reads == 0);
	CHECK(!IS_CALL("\xc3") && is_return_to(&module, returns, 0x2018));
	CHECK(!is_return_to(&module, returns, 0x2019) && nr_code_reads == 1);
	CHECK(!is_return_to(&module, returns, 0x2019) && nr_code_reads == 0);
	CHECK(!is_return_to(&module, NULL, 0x2018));
	/* The cache keeps no answer for code that cannot be read now. */
	module = (struct unwind_module){.start = 0x6000, .end = 0x7000};
	CHECK(is_return_to(&module, returns, 0x6010) && is_return_to(&module, returns, 0x6010) &&
			nr_code_reads == 1);
}

/* ---- ends ---- */

static void test_ends(void)
{
	memset(words, 0, sizeof(words));
	/* A caller's frame is at a higher address. */
	words[20] = 0;
	words[21] = 0x2001;
	CHECK(is_walk(walk_from(0x1020, at(22), at(20), true), 0, 0, 0));
	CHECK(is_walk(walk_from(0x1020, at(21), at(20), true), 0x2001, 0, 0));
	/* Addresses that are not aligned to words, and addresses outside of all modules. */
	CHECK(is_walk(walk_from(0x1020, at(10), at(20) + 1, true), 0, 0, 0));
	words[11] = 0x9999;
	words[13] = 0x2001;
	CHECK(is_walk(walk_from(0x1010, at(10), 0, true), 0x1011, 0x2001, 0));
	words[11] = 0x9998;
	CHECK(is_walk(walk_from(0x1010, at(10), 0, true), 0, 0, 0));
	CHECK(is_walk(walk_from(0x1010, 0x7008 - 16, 0, true), 0x2050, 0, 0) && nr_reads > 0);
	CHECK(is_walk(walk_from(0x1010, 0x7010 - 16, 0, true), 0, 0, 0));
	/* The last word, and the one after it. */
	words[63] = 0x2004;
	CHECK(is_walk(walk_from(0x1010, at(62), 0, true), 0x2004, 0, 0) && !nr_reads);
	CHECK(is_walk(walk_from(0x1010, at(63), 0, true), 0, 0, 0) && nr_reads > 0);
}

/* Stacks that change by a word between walks: walk_from() compares with a walk without a cache. */
static void test_changes(void)
{
	static const uint64_t pcs[] = {0x1011, 0x1018, 0x1021, 0x1028, 0x1031, 0x1045, 0x104d,
			0x1051, 0x1071, 0x1078, 0x1081, 0x2001, 0x9999, 0x9998, 0x5000};
	const unsigned int nr_pcs = sizeof(pcs) / sizeof(pcs[0]);
	uint64_t random = 88172645463325252U;
	unsigned int nr_long = 0;

	memset(words, 0, sizeof(words));
	for (int i = 0; i < 200000; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		words[random % 64] = random >> 8 & 3 ? pcs[(random >> 16) % nr_pcs]
						     : at((random >> 24) % 64);
		nr_long += walk_from(pcs[(random >> 32) % nr_pcs], at((random >> 40) % 8),
					   at((random >> 48) % 64), random >> 60 & 1) > 3;
	}
	CHECK(nr_long > 1000);
}

static void test_modules(void)
{
	const struct unwind_modules modules = {.modules = two, .nr = 2}, none = {.nr = 0};

	CHECK(!unwind_find_module(&modules, 0xfff) && unwind_find_module(&modules, 0x1000) == two &&
			unwind_find_module(&modules, 0x10ff) == two);
	CHECK(!unwind_find_module(&modules, 0x1100) &&
			unwind_find_module(&modules, 0x2000) == two + 1 &&
			!unwind_find_module(&modules, 0x2100));
	CHECK(!unwind_find_module(&none, 0x1000) &&
			walk_search_row(&none, 0x1000).kind == UNWIND_UNKNOWN);
	CHECK(walk_search_row(&modules, 0x100f).kind == UNWIND_UNKNOWN &&
			walk_search_row(&modules, 0x1010).kind == UNWIND_STACK);
	CHECK(walk_search_row(&modules, 0x106f).kind == UNWIND_LAST &&
			walk_search_row(&modules, 0x1070).distance == 3);
	CHECK(walk_search_row(&modules, 0x10ff).kind == UNWIND_UNKNOWN);
}

/* ---- rows ---- */

static void test_kinds_of_rows(void)
{
	struct code_row row = {.returns = true, .base = CODE_BASE_PLAIN, .reg = 7, .offset = 16};

	CHECK(unwind_build_get_kind(&row) == UNWIND_STACK);
	row.reg = 6;
	CHECK(unwind_build_get_kind(&row) == UNWIND_FRAME);
	row.reg = 5;
	CHECK(unwind_build_get_kind(&row) == UNWIND_UNKNOWN);
	row.base = CODE_BASE_INDIRECT;
	CHECK(unwind_build_get_kind(&row) == UNWIND_UNKNOWN);
	row.reg = 6;
	CHECK(unwind_build_get_kind(&row) == UNWIND_SAVED);
	row.base = CODE_BASE_SLOT;
	row.slot = 11;
	CHECK(unwind_build_get_kind(&row) == UNWIND_SLOT &&
			unwind_build_row(&row, false).distance == 11);
	row = (struct code_row){.returns = true, .base = CODE_BASE_PLAIN, .reg = 7, .offset = 17};
	CHECK(unwind_build_get_kind(&row) == UNWIND_UNKNOWN);
	row.offset = 8 * INT64_C(32767);
	CHECK(unwind_build_get_kind(&row) == UNWIND_STACK &&
			unwind_build_row(&row, false).distance == 32767);
	row.offset += 8;
	CHECK(unwind_build_get_kind(&row) == UNWIND_UNKNOWN &&
			unwind_build_row(&row, false).distance == 0);
	row.offset = -8 * INT64_C(32768);
	CHECK(unwind_build_get_kind(&row) == UNWIND_STACK &&
			unwind_build_row(&row, false).distance == -32768);
	row.offset -= 8;
	CHECK(unwind_build_get_kind(&row) == UNWIND_UNKNOWN);
	row.offset = 8;
	row.returns = false;
	CHECK(unwind_build_get_kind(&row) == UNWIND_UNKNOWN);
	row.last = true;
	CHECK(unwind_build_get_kind(&row) == UNWIND_LAST &&
			unwind_build_row(&row, false).kind == UNWIND_LAST);
	CHECK(unwind_build_row(&row, true).kind == UNWIND_SIGNAL &&
			!unwind_build_row(&row, true).distance);
}

static uint8_t frame_with(uint8_t how, int64_t where)
{
	struct code_row row = {.frame_pointer = how, .frame_pointer_at = (int32_t)where};

	return unwind_build_frame_rule(&row);
}

static void test_frames_of_rows(void)
{
	CHECK(frame_with(CODE_SAME, -16) == UNWIND_FRAME_SAME &&
			frame_with(CODE_AT_ITSELF, -16) == UNWIND_FRAME_ITSELF);
	CHECK(frame_with(CODE_AT_FRAME, -16) == 2 && frame_with(CODE_AT_FRAME, -8 * 253) == 253);
	CHECK(frame_with(CODE_AT_FRAME, -8 * 254) == UNWIND_FRAME_LOST &&
			frame_with(CODE_AT_FRAME, -8) == 1);
	CHECK(frame_with(CODE_AT_FRAME, 0) == UNWIND_FRAME_LOST &&
			frame_with(CODE_AT_FRAME, 8) == UNWIND_FRAME_LOST);
	CHECK(frame_with(CODE_AT_FRAME, -17) == UNWIND_FRAME_LOST &&
			frame_with(77, -16) == UNWIND_FRAME_LOST);
}

static void test_added_rows(void)
{
	const struct unwind_image image = {.lowest = 0x1000};
	struct unwind_row rows[2] = {{.at = 0}};
	struct unwind_builder builder = {.image = &image, .rows = rows, .capacity = 2};
	const struct unwind_row one = {.kind = UNWIND_STACK, .distance = 2, .frame = 1};
	struct unwind_row other = one;

	unwind_build_add_row(&builder, 0x1010, one);
	unwind_build_add_row(&builder, 0x1020, one);
	CHECK(builder.nr == 1 && rows[0].at == 0x10 && rows[0].distance == 2);
	other.frame = 2;
	unwind_build_add_row(&builder, 0x1030, other);
	CHECK(builder.nr == 2 && rows[1].at == 0x30 && rows[1].frame == 2);
	other.distance = 3;
	unwind_build_add_row(&builder, 0x1040, other);
	other.kind = UNWIND_FRAME;
	unwind_build_add_row(&builder, 0x1050, other);
	CHECK(builder.nr == 4 && rows[1].at == 0x30);
	unwind_build_add_row(&builder, 0x1000 + (UINT64_C(1) << 32), one);
	CHECK(builder.nr == 4);
	unwind_build_add_row(&builder, 0xfff + (UINT64_C(1) << 32), one);
	CHECK(builder.nr == 5);
}

static void test_lengths(void)
{
	unsigned char bytes[48];
	/* Any length fits only within its 24 bytes. */
	const struct code_cursor all = {bytes, 0, 24, 0x1000, false};

	memset(bytes, 0, 24);
	memset(bytes + 24, 1, 24);
	bytes[8] = 12;
	CHECK(unwind_build_length(&all, 8) == 12);
	bytes[8] = 13;
	CHECK(unwind_build_length(&all, 8) == 0);
	bytes[16] = 4;
	CHECK(unwind_build_length(&all, 16) == 4 && unwind_build_length(&all, 17) == 0);
	bytes[16] = 3;
	CHECK(unwind_build_length(&all, 16) == 0);
	CHECK(unwind_build_length(&all, 24) == 0 && unwind_build_length(&all, 25) == 0 &&
			unwind_build_length(&all, UINT64_MAX) == 0);
	memset(bytes + 24, 0, 24);
	bytes[25] = bytes[28] = 4;
	CHECK(unwind_build_length(&all, 25) == 0 && unwind_build_length(&all, 28) == 0);
}

/* The entry's word `back` is the distance from itself to a CIE of `length` bytes at `at`. */
static bool finds_cie(size_t at, uint32_t length, size_t entry, uint32_t back)
{
	static const uint8_t cie[] = {
			0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1};
	static uint8_t bytes[8192];
	const struct code_cursor all = {.bytes = bytes, .size = sizeof(bytes)};
	struct unwind_builder builder = {.cie_at = SIZE_MAX};
	bool is_found;

	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes + at, &length, 4);
	memcpy(bytes + at + 4, cie, sizeof(cie));
	memcpy(bytes + entry, &back, 4);
	is_found = unwind_build_find_cie(&builder, &all, entry);
	CHECK(is_found == (builder.cie_at == at) && (!is_found || builder.cie.ok));
	return is_found;
}

static void test_cie(void)
{
	CHECK(finds_cie(0, 20, 100, 100) && finds_cie(16, 20, 100, 84));
	CHECK(!finds_cie(0, 20, 100, 0) && !finds_cie(0, 20, 100, 101));
	CHECK(finds_cie(0, 4096, 5000, 5000) && !finds_cie(0, 4097, 5000, 5000));
	CHECK(!finds_cie(0, 0, 100, 100) && !finds_cie(0, 3, 100, 100));
}

/* The last CIE is kept for entries of the same one only, and only if it could be read. */
static void test_kept_cie(void)
{
	static const uint8_t first[] = {
			0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8};
	uint8_t bytes[128] = {20}, second[sizeof(first)];
	const struct code_cursor all = {.bytes = bytes, .size = sizeof(bytes)};
	struct unwind_builder builder = {.cie_at = 0};

	memcpy(second, first, sizeof(first));
	second[8] = 4; /* its code_factor */
	bytes[32] = 20;
	memcpy(bytes + 4, first, sizeof(first));
	memcpy(bytes + 36, second, sizeof(second));
	bytes[100] = 100;
	bytes[104] = 104 - 32;
	CHECK(unwind_build_find_cie(&builder, &all, 100) && builder.cie_at == 0 &&
			builder.cie.code_factor == 1);
	CHECK(unwind_build_find_cie(&builder, &all, 104) && builder.cie_at == 32 &&
			builder.cie.code_factor == 4);
	CHECK(unwind_build_find_cie(&builder, &all, 104) && builder.cie.code_factor == 4);
	CHECK(unwind_build_find_cie(&builder, &all, 100) && builder.cie.code_factor == 1);
	bytes[36 + 4] = 9; /* an unknown version */
	CHECK(!unwind_build_find_cie(&builder, &all, 104) &&
			!unwind_build_find_cie(&builder, &all, 104));
	CHECK(unwind_build_find_cie(&builder, &all, 100) && builder.cie.code_factor == 1);
}

static size_t build_with(
		unsigned char version, unsigned char count, unsigned char table, uint64_t header)
{
	unsigned char bytes[64] = {version, 0x1b, count, table};
	const struct unwind_image image = {.bytes = bytes,
			.size = sizeof(bytes),
			.address = 0x1000,
			.header = header,
			.lowest = 0x1000};
	struct unwind_row rows[4];

	/* A table with one entry, whose description is too short. */
	bytes[8] = 1;
	return unwind_build(&image, rows, 4);
}

/* One function of 0x20 bytes that pushes nothing: a CIE and a description of it. */
static void test_build(void)
{
	unsigned char bytes[128] = {1, 0x1b, 0x03, 0x3b, 0, 0, 0, 0, 1, 0, 0, 0};
	static const unsigned char entries[] = {20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78,
			16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0, 20, 0, 0, 0, 28, 0, 0, 0, 0, 0, 0,
			0, 0x20, 0, 0, 0, 0, 0x44, 0x0e, 16, 0, 0, 0, 0};
	struct unwind_image image = {.bytes = bytes,
			.size = sizeof(bytes),
			.address = 0x1000,
			.header = 0x1000,
			.lowest = 0x1000};
	struct unwind_row rows[8];
	int32_t where = 56, code = 0x2000 - (0x1000 + 32 + 24 + 8);

	memcpy(bytes + 16, &where, 4);
	memcpy(bytes + 32, entries, sizeof(entries));
	memcpy(bytes + 32 + 24 + 8, &code, 4);
	CHECK(unwind_build(&image, rows, 8) == 4);
	CHECK(rows[0].at == 0 && rows[0].kind == UNWIND_UNKNOWN);
	CHECK(rows[1].at == 0x1000 && rows[1].kind == UNWIND_STACK && rows[1].distance == 1);
	CHECK(rows[2].at == 0x1004 && rows[2].kind == UNWIND_STACK && rows[2].distance == 2);
	CHECK(rows[3].at == 0x1020 && rows[3].kind == UNWIND_UNKNOWN);
	CHECK(unwind_build(&image, rows, 2) == 4);
	image.lowest = 0x2000;
	CHECK(unwind_build(&image, rows, 8) == 3 && rows[0].at == 0 && rows[0].distance == 1);
	/* There are no rows before the start of the module. */
	image.lowest = 0x2021;
	CHECK(unwind_build(&image, rows, 8) == 0);
	image.lowest = 0x1000;
	image.header = 0xfff;
	CHECK(unwind_build(&image, rows, 8) == 0);
	image.header = 0x1000;
	for (unsigned int i = 0; i < 4; i++) {
		bytes[i == 1 ? 8 : i]++;
		CHECK(unwind_build(&image, rows, 8) == (i == 1 ? 4 : 0));
		bytes[i == 1 ? 8 : i]--;
	}
	/* A description whose CIE does not exist, or would be before the start of the data. */
	bytes[60] = 0;
	CHECK(unwind_build(&image, rows, 8) == 0);
	bytes[60] = 61;
	CHECK(unwind_build(&image, rows, 8) == 0);
	CHECK(build_with(2, 0x03, 0x3b, 0x1000) == 0 && build_with(1, 0x03, 0x3b, 0x1040) == 0);
}

/* The table has two functions of 0x20 bytes, which start at these addresses. */
static size_t build_two(uint64_t one, uint64_t other, struct unwind_row rows[8])
{
	unsigned char bytes[160] = {1, 0x1b, 0x03, 0x3b, 0, 0, 0, 0, 2, 0, 0, 0};
	static const unsigned char cie[] = {20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1,
			0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0};
	struct unwind_image image = {.bytes = bytes,
			.size = sizeof(bytes),
			.address = 0x1000,
			.header = 0x1000,
			.lowest = 0x2000};
	const uint64_t begins[2] = {one, other};

	memcpy(bytes + 32, cie, sizeof(cie));
	for (unsigned int i = 0; i < 2; i++) {
		/* The second function pushes a register after 4 bytes. */
		const unsigned char rules[4] = {0, i ? 0x44 : 0, i ? 0x0e : 0, i ? 16 : 0};
		const uint32_t at = 56 + 24 * i, head[2] = {20, at + 4 - 32};
		const int32_t where = (int32_t)at, code = (int32_t)(begins[i] - (0x1000 + at + 8));

		memcpy(bytes + 16 + 8 * i, &where, 4);
		memcpy(bytes + at, head, 8);
		memcpy(bytes + at + 8, &code, 4);
		bytes[at + 12] = 0x20;
		memcpy(bytes + at + 16, rules, 4);
	}
	return unwind_build(&image, rows, 8);
}

static void test_two_functions(void)
{
	struct unwind_row rows[8];

	/* One directly after the other: the row of the first one continues. */
	CHECK(build_two(0x2000, 0x2020, rows) == 3);
	CHECK(rows[0].at == 0 && rows[0].distance == 1 && rows[1].at == 0x24 &&
			rows[1].distance == 2 && rows[2].at == 0x40 &&
			rows[2].kind == UNWIND_UNKNOWN);
	/* With a gap. */
	CHECK(build_two(0x2000, 0x2021, rows) == 5 && rows[1].at == 0x20 &&
			rows[1].kind == UNWIND_UNKNOWN && rows[2].at == 0x21);
	/* A function that overlaps with the one before it is ignored. */
	CHECK(build_two(0x2000, 0x201f, rows) == 2 && rows[1].at == 0x20 &&
			rows[1].kind == UNWIND_UNKNOWN);
}

/* A tracer's frames come first: the walk begins to write behind them. */
static uint32_t walk_past(uint64_t until, size_t nr_hidden, uint32_t max)
{
	static const struct unwind_range hidden[] = {{0x1060, 0x1060}, {0x1011, 0x1013}};
	const struct unwind_modules modules = {.modules = two, .nr = 2};
	const struct unwind_passed passed = {until, hidden, nr_hidden};
	const struct unwind_memory memory = {
			.low = at(0), .high = at(64), .read = read_other, .user = &nr_reads};
	const struct unwind_state state = {.pc = 0x1011, .stack = at(10)};

	memset(found, 0, sizeof(found));
	return unwind_walk_past(&modules, &state, &memory, translate, &passed, found, max);
}

static void test_passed(void)
{
	memset(words, 0, sizeof(words));
	words[11] = 0x1012;
	words[13] = 0x1014;
	words[15] = 0x2001;
	CHECK(is_walk(walk_past(0x1014, 0, 8), 0x1014, 0x2001, 0));
	CHECK(is_walk(walk_past(0x1011, 0, 2), 0x1011, 0x1012, 0));
	CHECK(is_walk(walk_past(0x1012, 0, 1), 0x1012, 0, 0));
	CHECK(is_walk(walk_past(0x1012, 0, 0), 0, 0, 0));
	/* Hidden frames are passed from `until` on, and only until another one is found. */
	CHECK(is_walk(walk_past(0x1011, 2, 8), 0x1014, 0x2001, 0));
	CHECK(is_walk(walk_past(0x1014, 2, 8), 0x1014, 0x2001, 0));
	words[15] = 0x1012;
	words[17] = 0x2001;
	CHECK(is_walk(walk_past(0x1014, 2, 8), 0x1014, 0x1012, 0x2001));
	/* The stack ends before: nothing is known. */
	CHECK(is_walk(walk_past(0x1015, 0, 8), 0, 0, 0));
	words[13] = 0;
	CHECK(is_walk(walk_past(0x1011, 2, 8), 0, 0, 0));
	/* There is a limit to the frames that are passed. */
	for (unsigned int i = 0; i < 64; i++)
		words[i] = 0x1013;
	CHECK(is_walk(walk_past(0x1014, 0, 8), 0, 0, 0));
}

/* UNWIND_PASSED_MAX frames are passed to `until`, and no more. */
static void test_passed_most(void)
{
	static uint64_t stack[2 * UNWIND_PASSED_MAX + 8] __attribute__((aligned(16)));
	const struct unwind_modules modules = {.modules = two, .nr = 2};
	const struct unwind_passed passed = {.until = 0x2001};
	const struct unwind_memory memory = {.low = (uintptr_t)stack,
			.high = (uintptr_t)(stack + 2 * UNWIND_PASSED_MAX + 8),
			.read = read_other,
			.user = &nr_reads};
	const struct unwind_state state = {.pc = 0x1011, .stack = (uintptr_t)stack};

	for (unsigned int beyond = 0; beyond < 2; beyond++) {
		unsigned int i;

		for (i = 0; i < UNWIND_PASSED_MAX - 1 + beyond; i++)
			stack[2 * i + 1] = 0x1012;
		stack[2 * i + 1] = 0x2001;
		CHECK(unwind_walk_past(&modules, &state, &memory, translate, &passed, found, 8) ==
				!beyond);
	}
}

int main(void)
{
	test_two_functions();
	test_kinds();
	test_slots();
	test_signal();
	test_return_addresses();
	test_unknown();
	test_calls();
	test_guesses();
	test_code_of_modules();
	test_ends();
	test_changes();
	test_modules();
	test_passed();
	test_passed_most();
	test_kinds_of_rows();
	test_frames_of_rows();
	test_added_rows();
	test_lengths();
	test_cie();
	test_kept_cie();
	test_build();
	return 0;
}
