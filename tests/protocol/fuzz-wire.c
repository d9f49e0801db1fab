/* SPDX-License-Identifier: MIT */
/* libFuzzer: every decoder on any bytes, and patterns from any text. */
#include "fuzz-target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_messages(data, size);
	fuzz_pattern(data, size);
	return 0;
}
