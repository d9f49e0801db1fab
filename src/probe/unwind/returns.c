/* SPDX-License-Identifier: MIT */
/*
 * Decides whether a word of the stack is a return address. Where there is no unwind data, the frame
 * pointer may be any number, and leads to words that are not addresses of code.
 *
 * The bytes before a return address are a call; other addresses rarely follow such bytes. The code
 * is read through a function that can fail, because another thread may unmap the code meanwhile.
 */
#include "unwind.h"

#define CALL_BYTES 8 /* one word: a prefix and the longest call */

#define DIRECT 0xe8
#define INDIRECT 0xff
/* A probe or a debugger replaces the first byte by a breakpoint, or a direct call by a jump. */
#define BREAKPOINT 0xcc
#define JUMP 0xe9

#define MODE(modrm) ((modrm) >> 6)
#define OPERATION(modrm) ((modrm) >> 3 & 7)
#define BASE(modrm) ((modrm)&7)

#define OPERATION_CALL 2
#define BASE_IN_SIB 4 /* another byte follows */
#define BASE_NONE 5   /* in mode 0: four bytes follow */

/* Length of an indirect call with this byte after the operation, without prefixes. */
static size_t returns_length(uint8_t modrm, uint8_t sib)
{
	static const uint8_t displacement[] = {0, 1, 4, 0};
	size_t length = 2 + displacement[MODE(modrm)];

	if (MODE(modrm) == 3)
		return length;
	if (BASE(modrm) == BASE_IN_SIB) {
		length++;
		if (!MODE(modrm) && BASE(sib) == BASE_NONE)
			length += 4;
	} else if (!MODE(modrm) && BASE(modrm) == BASE_NONE) {
		length += 4;
	}
	return length;
}

/* Whether the bytes end with a call. Prefixes may come before it. */
static bool returns_end_with_call(uint64_t bytes)
{
	uint8_t direct = (uint8_t)(bytes >> 24);

	if (direct == DIRECT || direct == JUMP)
		return true;
	/* Some linkers fill the space between functions with breakpoints. */
	if (direct == BREAKPOINT && (uint8_t)(bytes >> 32) != BREAKPOINT)
		return true;
	for (size_t length = 2; length < CALL_BYTES; length++) {
		uint64_t call = bytes >> (CALL_BYTES - length) * 8;

		if (((uint8_t)call == INDIRECT || (uint8_t)call == BREAKPOINT) &&
				OPERATION((uint8_t)(call >> 8)) == OPERATION_CALL &&
				returns_length((uint8_t)(call >> 8), (uint8_t)(call >> 16)) ==
						length)
			return true;
	}
	return false;
}

/* A word of the cache: the address, and whether it follows a call. */
static uint64_t returns_make_word(uint64_t address, bool follows_call)
{
	return address << 1 | follows_call;
}

static bool returns_is_in_code(const struct unwind_module *module, uint64_t address)
{
	return !module->code_end ||
			address - 1 - module->code_start < module->code_end - module->code_start;
}

/*
 * The bytes of a module are read once: they change only if a probe is set there, and a probe still
 * counts as a call. If the bytes cannot be read, as in a sandbox, an address in the code of a
 * module is accepted.
 */
static bool returns_follow_call(const struct unwind_memory *memory, uint64_t address,
		bool is_in_module, uint64_t *word)
{
	uint64_t bytes;
	bool follows_call;

	if (!memory->read_code(memory->user, address - CALL_BYTES, &bytes))
		return is_in_module;
	follows_call = returns_end_with_call(bytes);
	/*
	 * Relaxed: the word is complete in itself, and orders no other memory. It pairs with the
	 * load in unwind_is_return_address(), in any thread.
	 */
	if (word)
		__atomic_store_n(word, returns_make_word(address, follows_call), __ATOMIC_RELAXED);
	return follows_call;
}

bool unwind_is_return_address(const struct unwind_modules *modules,
		const struct unwind_memory *memory, uint64_t address)
{
	const struct unwind_module *module;
	uint64_t *word = NULL, known;

	if (address < CALL_BYTES)
		return false;
	module = unwind_find_module(modules, address - 1);
	/* Generated code, which is never part of the stack. */
	if (!module)
		return address - memory->low >= memory->high - memory->low &&
				returns_follow_call(memory, address, false, NULL);
	if (!returns_is_in_code(module, address))
		return false;
	if (modules->returns) {
		word = &modules->returns[address % UNWIND_RETURNS];
		/* Relaxed: pairs with the store in returns_follow_call(), as described there. */
		known = __atomic_load_n(word, __ATOMIC_RELAXED);
		if (known >> 1 == address)
			return known & 1;
	}
	return returns_follow_call(memory, address, true, word);
}
