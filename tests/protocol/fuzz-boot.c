/* SPDX-License-Identifier: MIT */
/* libFuzzer: configurations of early boot. */
#include "fuzz-boot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_boot(data, size);
	return 0;
}
