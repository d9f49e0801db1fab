/* SPDX-License-Identifier: MIT */
/* libFuzzer: a filter (before the first NUL), and changes of the arguments that it runs on. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int started;
	const uint8_t *end;

	if (!started) {
		fuzz_start();
		started = 1;
	}
	end = size ? memchr(data, '\0', size) : NULL;
	if (end)
		fuzz_arguments((const char *)data, end + 1, size - (size_t)(end + 1 - data));
	return 0;
}
