/* SPDX-License-Identifier: MIT */
/*
 * Finds main() of a program without symbols: the C library's start code passes its address to
 * __libc_start_main(), in the first register.
 *
 * With glibc, the call is in the code at the entry of the program, and `hlt` follows it. With musl,
 * that code calls or jumps to a function in C, which has the call.
 */
#include "parts.h"
#include "x86-64.h"

#include <string.h>

#define START_INSTRUCTIONS_MAX 32
#define START_HLT 0xf4

/* The call or jump that ends a piece of start code. */
struct start_call {
	uint64_t main;   /* the address in the first register; 0: it has no constant */
	uint64_t target; /* of a direct call or jump; 0: indirect */
	bool stops;      /* `hlt` follows */
};

/* lea DISTANCE(%rip), %rdi; mov $ADDRESS, %rdi; mov $ADDRESS, %edi */
static uint64_t start_argument(
		const uint8_t *bytes, size_t size, const struct x86_instruction *instruction)
{
	static const uint8_t lea[] = {0x48, 0x8d, 0x3d}, mov[] = {0x48, 0xc7, 0xc7}, mov32 = 0xbf;
	uint32_t value;

	if (size == 7 && !memcmp(bytes, lea, sizeof(lea)))
		return instruction->piece.target;
	if (!(size == 7 && !memcmp(bytes, mov, sizeof(mov))) && !(size == 5 && *bytes == mov32))
		return 0;
	memcpy(&value, bytes + size - sizeof(value), sizeof(value));
	return value;
}

static bool start_find_call(
		const struct code_file *file, uint64_t address, struct start_call *ret_call)
{
	*ret_call = (struct start_call){.main = 0};
	for (int i = 0; i < START_INSTRUCTIONS_MAX; i++) {
		struct x86_instruction instruction;
		size_t size;
		const uint8_t *bytes = code_bytes(file, address, &size);
		uint64_t argument;

		if (!code_executable(file, address) ||
				!x86_decode(bytes, size, address, &instruction))
			return false;
		argument = start_argument(bytes, instruction.piece.length, &instruction);
		if (argument)
			ret_call->main = argument;
		if (instruction.call || instruction.ends) {
			ret_call->target = instruction.piece.target;
			ret_call->stops = size > instruction.piece.length &&
					bytes[instruction.piece.length] == START_HLT;
			return true;
		}
		address += instruction.piece.length;
	}
	return false;
}

static uint64_t start_find_main(const struct code_file *file)
{
	struct start_call call;

	if (!file->entry || !start_find_call(file, file->entry, &call))
		return 0;
	if (call.main)
		return call.stops ? call.main : 0;
	if (!call.target || !start_find_call(file, call.target, &call))
		return 0;
	return call.main;
}

/* The unwind data tell where the function ends: another one may follow that nothing names. */
static bool start_is_function(const struct code_file *file, uint64_t address)
{
	if (!code_executable(file, address) || code_is_excluded(file, address))
		return false;
	for (size_t i = 0; i < file->nr_frames; i++) {
		if (file->frames[i].address == address)
			return true;
	}
	return false;
}

int code_read_start(struct code_file *file)
{
	uint64_t address = start_find_main(file);

	if (!address || !start_is_function(file, address))
		return 0;
	for (size_t i = 0; i < file->nr_names; i++) {
		if (file->names[i].address == address || !strcmp(file->names[i].name, "main"))
			return 0;
	}
	return code_add_name(file, address, 0, "main");
}
