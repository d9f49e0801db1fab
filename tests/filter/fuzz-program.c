/* SPDX-License-Identifier: MIT */
/* libFuzzer: bytes as programs, verified, linked and run; this file adds the frame. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int started;
	uint8_t *program;
	size_t total = size + 14;

	if (!started) {
		fuzz_start();
		started = 1;
	}
	fuzz_program(data, size);
	if (size < 2)
		return 0;
	/* The first two bytes are the number of instructions. */
	program = calloc(1, total);
	memcpy(program, "SIDF\1", 5);
	memcpy(program + 6, data, 2);
	program[8] = (uint8_t)total;
	program[9] = (uint8_t)(total >> 8);
	program[10] = (uint8_t)(total >> 16);
	memcpy(program + 16, data + 2, size - 2);
	fuzz_program(program, total);
	free(program);
	return 0;
}
