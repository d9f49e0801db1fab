/* SPDX-License-Identifier: MIT */
/*
 * Finds the functions that an IFUNC resolver chooses from: the starts of other functions whose
 * addresses it takes.
 */
#include "parts.h"
#include "x86-64.h"

#define CODE_MAX 8192 /* bytes of a resolver that are read */

static bool x86_choices_is_choice(
		const struct code_file *file, const struct code_function *chooser, uint64_t address)
{
	const struct code_function *function = code_function_at(file, address);

	return function && function != chooser && function->address == address &&
			!function->chooses;
}

static void x86_choices_add(uint64_t *choices, size_t capacity, size_t *count, uint64_t address)
{
	for (size_t i = 0; i < *count; i++) {
		if (choices[i] == address)
			return;
	}
	if (*count < capacity)
		choices[(*count)++] = address;
}

size_t code_choices(const struct code_file *file, const struct code_function *chooser,
		uint64_t *ret_choices, size_t capacity)
{
	uint64_t at = chooser->address, end;
	size_t count = 0, size = 0;
	const uint8_t *bytes = code_bytes(file, at, &size);

	if (size > chooser->size)
		size = chooser->size;
	if (size > CODE_MAX)
		size = CODE_MAX;
	end = bytes ? at + size : at;
	while (at < end) {
		struct x86_instruction instruction;

		if (!x86_decode(bytes + (at - chooser->address), end - at, at, &instruction)) {
			at++;
			continue;
		}
		if (instruction.lea && instruction.piece.field &&
				x86_choices_is_choice(file, chooser, instruction.piece.target))
			x86_choices_add(ret_choices, capacity, &count, instruction.piece.target);
		if (file->fixed && instruction.constant &&
				x86_choices_is_choice(file, chooser, instruction.constant))
			x86_choices_add(ret_choices, capacity, &count, instruction.constant);
		at += instruction.piece.length;
	}
	return count;
}
