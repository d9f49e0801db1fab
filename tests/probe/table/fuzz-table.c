/* SPDX-License-Identifier: MIT */
/* libFuzzer: the reader of tables on any bytes. */
#include "fuzz-target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_table(data, size);
	return 0;
}
