/* SPDX-License-Identifier: MIT */
/*
 * Numbers of stacks, their frames as text and JSON, and limits. Symbols are played: the code of
 * process N at address A is in "/fileN", its function is that of the hundred ("f3" from 0x300 on).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "symbolize/symbols.h"

static const struct symbol *test_symbols_find(
		struct symbols *symbols, uint32_t process, int64_t ns, uint64_t address, bool call);

static uint32_t test_symbols_generation(struct symbols *symbols, uint32_t process, int64_t ns,
		const uint64_t *addresses, size_t count);

#define symbols_find test_symbols_find
#define symbols_generation test_symbols_generation
#include "analysis/stacks.c" /* NOLINT(bugprone-suspicious-include): plays its symbols */
#undef symbols_find
#undef symbols_generation

#define SYMBOLS ((struct symbols *)(uintptr_t)0x1000)
#define OTHER_SYMBOLS ((struct symbols *)(uintptr_t)0x2000)

static unsigned int nr_finds;
static int64_t found_ns;

static const struct symbol unknown;
static const struct symbol_inlined inlined[] = {{"inner", "/src/outer.c", 20}, {"middle", NULL, 0}};
static const struct symbol_inlined deep[] = {
		{"a", NULL, 0}, {"b", NULL, 0}, {"c", NULL, 0}, {"d", NULL, 0}, {"e", NULL, 0}};
static const struct symbol table[] = {
		{"/lib", 0x1300, "f3", 0x10, "/src/f3.c", 30, NULL, 0},
		{"/lib", 0x1301, "f3", 0x11, "/src/f3.c", 30, NULL, 0},
		{"/lib", 0x1400, "f4", 0x12, NULL, 0, NULL, 0},
		{"/lib", 0x1500, NULL, 0, NULL, 0, NULL, 0},
		{"/lib", 0x1600, "outer", 0x13, "/src/in\"ner.c", 60, inlined, 2},
		{"/lib", 0x1501, NULL, 0, NULL, 0, NULL, 0},
		{"/lib", 0x1700, "deep", 0, NULL, 0, deep, 5},
		{"/libc", 0x1800, "start_thread", 0x305, NULL, 0, NULL, 0},
		{"/libc", 0x1900, "__GI___clone3", 0x2c, NULL, 0, NULL, 0},
};

/* An exact address is one lower than the return address of the same call. */
static const struct symbol *test_symbols_find(
		struct symbols *symbols, uint32_t process, int64_t ns, uint64_t address, bool call)
{
	static const uint64_t addresses[] = {
			0x300, 0x301, 0x400, 0x500, 0x600, 0x501, 0x700, 0x800, 0x900};

	CHECK(symbols == SYMBOLS || symbols == OTHER_SYMBOLS);
	nr_finds++;
	found_ns = ns;
	address += !call;
	for (size_t i = 0; process != 9 && i < sizeof(addresses) / sizeof(addresses[0]); i++)
		if (addresses[i] == address)
			return &table[i];
	return &unknown;
}

/* A library was unloaded at the time 20. */
static uint32_t test_symbols_generation(struct symbols *symbols, uint32_t process, int64_t ns,
		const uint64_t *addresses, size_t count)
{
	(void)process;
	CHECK(symbols && addresses && count);
	return ns >= 20;
}

static struct stack make(uint32_t trace, uint32_t count, const uint64_t *addresses)
{
	struct stack stack = {.symbols = SYMBOLS, .trace = trace, .ns = 7, .count = count};

	memcpy(stack.addresses, addresses, count * sizeof(*addresses));
	return stack;
}

#define STACK(trace, ...)                                                               \
	make((trace), (uint32_t)(sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)), \
			(const uint64_t[]){__VA_ARGS__})

static void check_text(const struct stacks *stacks, uint32_t named, uint32_t most, const char *text)
{
	struct view_out out = {.begin = NULL};

	stacks_print_text(stacks, named, &out, "  ", most);
	view_out_char(&out, '\0');
	if (strcmp(out.begin, text) != 0)
		fprintf(stderr, "got: %s", out.begin);
	CHECK(!strcmp(out.begin, text));
	view_out_free(&out);
}

static void check_json(const struct stacks *stacks, uint32_t named, const char *text)
{
	struct view_out out = {.begin = NULL};

	stacks_print_json(stacks, named, &out);
	view_out_char(&out, '\0');
	if (strcmp(out.begin, text) != 0)
		fprintf(stderr, "got: %s\n", out.begin);
	CHECK(!strcmp(out.begin, text));
	view_out_free(&out);
}

static void test_numbers(void)
{
	struct stacks stacks = {.limit = 0};
	struct stack stack = STACK(0, 0x300, 0x400);

	CHECK(stacks_add(&stacks, &stack) == 0);
	stack.ns = 19;
	CHECK(stacks_add(&stacks, &stack) == 0);
	/* Each part of the key makes another one. */
	stack.count = 1;
	CHECK(stacks_add(&stacks, &stack) == 1);
	stack.trace = 1;
	CHECK(stacks_add(&stacks, &stack) == 2);
	stack.is_exact = true;
	CHECK(stacks_add(&stacks, &stack) == 3);
	stack.symbols = NULL;
	CHECK(stacks_add(&stacks, &stack) == 4);
	stack.addresses[0]++;
	CHECK(stacks_add(&stacks, &stack) == 5);
	/* An address of a library that was unloaded meanwhile; without symbols, this is unknown. */
	stack.ns = 20;
	CHECK(stacks_add(&stacks, &stack) == 5);
	stack.symbols = SYMBOLS;
	CHECK(stacks_add(&stacks, &stack) == 6);
	stack.count = 0;
	CHECK(stacks_add(&stacks, &stack) == STACK_NONE && !stacks.refused);
	/* The time is that of the first one. */
	CHECK(!nr_finds && stacks_named(&stacks, 0) == 0 && nr_finds == 2 && found_ns == 7);
	CHECK(stacks_named(&stacks, 0) == 0 && nr_finds == 2);
	CHECK(stacks_named(&stacks, 7) == STACK_NONE);
	CHECK(stacks_named(&stacks, STACK_NONE) == STACK_NONE);
	stacks_free(&stacks);
	stacks_free(&stacks);
}

static void test_groups(void)
{
	struct stacks stacks = {.limit = 0};
	struct stack one = STACK(0, 0x300, 0x400), same = STACK(1, 0x301, 0x400),
		     shorter = STACK(0, 0x300), unknown_one = STACK(9, 0x300, 0x400),
		     unknown_same = STACK(9, 0x300, 0x400), other = STACK(0, 0x500),
		     other_place = STACK(0, 0x501);
	uint32_t numbers[6], count;
	const uint32_t *frames;

	numbers[0] = stacks_named(&stacks, stacks_add(&stacks, &one));
	/* Another process, another trace, another address of the same line. */
	CHECK(stacks_named(&stacks, stacks_add(&stacks, &same)) == numbers[0]);
	same.symbols = OTHER_SYMBOLS;
	CHECK(stacks_named(&stacks, stacks_add(&stacks, &same)) == numbers[0]);
	numbers[1] = stacks_named(&stacks, stacks_add(&stacks, &shorter));
	numbers[2] = stacks_named(&stacks, stacks_add(&stacks, &unknown_one));
	unknown_same.symbols = NULL;
	CHECK(stacks_named(&stacks, stacks_add(&stacks, &unknown_same)) == numbers[2]);
	/* Without a function, the address in the file counts. */
	numbers[3] = stacks_named(&stacks, stacks_add(&stacks, &other));
	numbers[4] = stacks_named(&stacks, stacks_add(&stacks, &other_place));
	for (unsigned int i = 0; i < 5; i++)
		for (unsigned int k = 0; k < i; k++)
			CHECK(numbers[i] != numbers[k] && numbers[i] != STACK_NONE);
	frames = stacks_frames(&stacks, numbers[0], &count);
	CHECK(count == 2 && frames[0] != frames[1]);
	CHECK(!strcmp(stacks_frame(&stacks, frames[0])->function, "f3"));
	CHECK(stacks_frame(&stacks, frames[0])->function_number !=
			stacks_frame(&stacks, frames[1])->function_number);
	CHECK(!stacks_frames(&stacks, STACK_NONE, &count) && !count);
	stacks_free(&stacks);
}

/* The frames that start a thread are left out, unless the stack has no other frame. */
static void test_own_frames(void)
{
	struct stacks stacks = {.limit = 0};
	struct stack whole = STACK(0, 0x300, 0x800, 0x900), inner = STACK(0, 0x800, 0x300),
		     starter = STACK(0, 0x800, 0x900);
	uint32_t count, named = stacks_named(&stacks, stacks_add(&stacks, &whole));
	const uint32_t *frames = stacks_own_frames(&stacks, named, &count);

	CHECK(count == 1 && !strcmp(stacks_frame(&stacks, frames[0])->function, "f3"));
	named = stacks_named(&stacks, stacks_add(&stacks, &inner));
	(void)stacks_own_frames(&stacks, named, &count);
	CHECK(count == 2);
	named = stacks_named(&stacks, stacks_add(&stacks, &starter));
	frames = stacks_own_frames(&stacks, named, &count);
	CHECK(count == 1 && !strcmp(stacks_frame(&stacks, frames[0])->function, "start_thread"));
	(void)stacks_own_frames(&stacks, STACK_NONE, &count);
	CHECK(!count);
	stacks_free(&stacks);
}

static void test_printing(void)
{
	struct stacks stacks = {.limit = 0};
	struct stack stack = STACK(0, 0x600, 0x300, 0x400, 0x500, 0x999);
	struct stack exact = STACK(0, 0x2ff);
	uint32_t named = stacks_named(&stacks, stacks_add(&stacks, &stack)), count;
	const uint32_t *frames = stacks_frames(&stacks, named, &count);

	CHECK(count == 7);
	CHECK(stacks_frame(&stacks, frames[0])->is_inlined);
	check_text(&stacks, named, 0,
			"  inner (/src/in\"ner.c:60) [inlined]\n"
			"  middle (/src/outer.c:20) [inlined]\n"
			"  outer+0x13 (/lib)\n"
			"  f3+0x10 (/src/f3.c:30)\n"
			"  f4+0x12 (/lib)\n"
			"  /lib+0x1500\n"
			"  0x999\n");
	check_text(&stacks, named, 1, "  inner (/src/in\"ner.c:60) [inlined]\n");
	check_text(&stacks, STACK_NONE, 0, "");
	check_json(&stacks, named,
			"[{\"address\":1536,\"module\":\"/lib\",\"offset\":5632,\"function\":\"inner\",\"file\":\"/src/in\\\"ner.c\",\"line\":60,\"inlined\":true},"
			"{\"address\":1536,\"module\":\"/lib\",\"offset\":5632,\"function\":\"middle\",\"file\":\"/src/outer.c\",\"line\":20,\"inlined\":true},"
			"{\"address\":1536,\"module\":\"/lib\",\"offset\":5632,\"function\":\"outer\",\"function_offset\":19},"
			"{\"address\":768,\"module\":\"/lib\",\"offset\":4864,\"function\":\"f3\",\"function_offset\":16,\"file\":\"/src/f3.c\",\"line\":30},"
			"{\"address\":1024,\"module\":\"/lib\",\"offset\":5120,\"function\":\"f4\",\"function_offset\":18},"
			"{\"address\":1280,\"module\":\"/lib\",\"offset\":5376},"
			"{\"address\":2457}]");
	check_json(&stacks, STACK_NONE, "[]");
	/* Only the first address can be exact. */
	exact.is_exact = true;
	named = stacks_named(&stacks, stacks_add(&stacks, &exact));
	check_text(&stacks, named, 0, "  f3+0x10 (/src/f3.c:30)\n");
	stacks_free(&stacks);
}

static void test_number_limit(void)
{
	struct stacks stacks = {.limit = 3};
	struct stack stack = STACK(0, 1);

	for (uint64_t i = 0; i < 4; i++) {
		stack.addresses[0] = i;
		CHECK(stacks_add(&stacks, &stack) == (i < 3 ? i : STACK_NONE));
	}
	CHECK(stacks.refused == 1 && !stacks.no_memory);
	stack.addresses[0] = 2;
	CHECK(stacks_add(&stacks, &stack) == 2 && stacks.refused == 1);
	stacks_free(&stacks);
	for (uint32_t i = 0; i < STACKS_MAX + 1; i++) {
		stacks.limit = 0;
		stack.addresses[0] = i;
		CHECK(stacks_add(&stacks, &stack) == (i < STACKS_MAX ? i : STACK_NONE));
	}
	stacks_free(&stacks);
}

static void test_bytes_limit(void)
{
	struct stacks stacks = {.bytes = STACKS_BYTES_MAX - 2 * 24};
	struct stack stack = STACK(0, 1);

	for (uint64_t i = 0; i < 3; i++) {
		stack.addresses[0] = i;
		CHECK(stacks_add(&stacks, &stack) == (i < 2 ? i : STACK_NONE));
	}
	CHECK(stacks.refused == 1 && stacks.bytes == STACKS_BYTES_MAX);
	stack.addresses[0] = 1;
	CHECK(stacks_add(&stacks, &stack) == 1);
	stacks_free(&stacks);
}

static void test_size_limits(void)
{
	struct stacks stacks = {.limit = 0};
	struct stack stack = STACK(0, 1);
	uint32_t named, count;

	/* Outer addresses are left out, then outer frames. */
	for (uint32_t i = 0; i < STACK_ADDRESSES_MAX; i++)
		stack.addresses[i] = 0x600;
	stack.count = STACK_ADDRESSES_MAX + 1;
	named = stacks_named(&stacks, stacks_add(&stacks, &stack));
	(void)stacks_frames(&stacks, named, &count);
	CHECK(count == 3 * STACK_ADDRESSES_MAX && count < STACK_FRAMES_MAX);
	stack.count = STACK_ADDRESSES_MAX;
	CHECK(stacks_add(&stacks, &stack) == 0 && stacks.keys.count == 1);
	for (uint32_t i = 0; i < STACK_ADDRESSES_MAX; i++)
		stack.addresses[i] = 0x700;
	named = stacks_named(&stacks, stacks_add(&stacks, &stack));
	(void)stacks_frames(&stacks, named, &count);
	CHECK(count == STACK_FRAMES_MAX && count < 6 * STACK_ADDRESSES_MAX);
	stacks_free(&stacks);
}

static void test_sources_limit(void)
{
	struct stacks stacks = {.limit = 0};
	struct stack stack = STACK(0, 1);

	for (uintptr_t i = 0; i < STACKS_SOURCES_MAX + 1; i++) {
		stack.symbols = (struct symbols *)(i + 1);
		CHECK(stacks_add(&stacks, &stack) == (i < STACKS_SOURCES_MAX ? i : STACK_NONE));
	}
	CHECK(stacks.refused == 1);
	stacks_free(&stacks);
}

static void test_frames_limit(void)
{
	struct stacks stacks = {.limit = 0};
	struct stack stack = STACK(0, 0x300);

	stacks.frames = calloc((size_t)1 << 20, sizeof(*stacks.frames));
	CHECK(stacks.frames);
	for (uint64_t i = 0; i < STACKS_FRAMES_MAX - 1; i++)
		CHECK(keys_add(&stacks.frame_keys, &i, sizeof(i)) == i);
	CHECK(stacks_named(&stacks, stacks_add(&stacks, &stack)) == 0);
	stack.addresses[0] = 0x400;
	for (unsigned int i = 1; i < 3; i++) {
		CHECK(stacks_named(&stacks, stacks_add(&stacks, &stack)) == STACK_NONE);
		CHECK(stacks.unresolved == i && !stacks.no_memory);
	}
	/* Known frames are found. */
	stack.addresses[0] = 0x301;
	CHECK(stacks_named(&stacks, stacks_add(&stacks, &stack)) == 0);
	stacks_free(&stacks);
}

static void test_code_limit(void)
{
	struct stacks stacks = {.limit = 0};
	struct stack stack = STACK(9, 1);

	for (uint32_t i = 0; i < STACKS_CODE_MAX + 1; i++) {
		stack.addresses[0] = 0x10000 + i;
		CHECK((stacks_named(&stacks, stacks_add(&stacks, &stack)) == STACK_NONE) ==
				(i == STACKS_CODE_MAX));
	}
	CHECK(stacks.unresolved == 1 && !stacks.no_memory);
	stacks_free(&stacks);
}

int main(void)
{
	test_numbers();
	test_groups();
	test_own_frames();
	test_printing();
	test_number_limit();
	test_bytes_limit();
	test_size_limits();
	test_sources_limit();
	test_frames_limit();
	test_code_limit();
	return 0;
}
