/* SPDX-License-Identifier: MIT */
/* libFuzzer: texts of filters, parsed, verified, linked and run. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int started;
	char *text;

	if (!started) {
		fuzz_start();
		started = 1;
	}
	text = malloc(size + 1);
	memcpy(text, data, size);
	text[size] = '\0';
	fuzz_text(text);
	free(text);
	return 0;
}
