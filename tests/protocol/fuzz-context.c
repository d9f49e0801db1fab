/* SPDX-License-Identifier: MIT */
/* libFuzzer: names of contexts. */
#include "fuzz-context.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_context(data, size);
	return 0;
}
