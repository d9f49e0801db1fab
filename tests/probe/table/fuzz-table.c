/* SPDX-License-Identifier: MIT */
/* Fuzzes the reader of tables with libFuzzer. */
#include "fuzz-target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_table(data, size);
	return 0;
}
