/* SPDX-License-Identifier: MIT */
/*
 * Formats and arguments of any bytes: the text stays within its limit, and nothing is added if the
 * arguments do not fit. With -DFUZZ_TARGET the bytes are libFuzzer's; otherwise the test makes
 * them, the same in each run.
 */
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "analysis/view-format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each argument is 10 bytes: type, bits, value. The remainder is the format. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view_format_argument arguments[VIEW_FORMAT_ARGUMENTS_MAX + 1];
	uint32_t count = size ? data[0] % (VIEW_FORMAT_ARGUMENTS_MAX + 2) : 0;
	struct view_out out = {0};
	char *format;

	data += size > 0;
	size -= size > 0;
	for (uint32_t i = 0; i < count; i++) {
		if (size < 10) {
			count = i;
			break;
		}
		arguments[i] = (struct view_format_argument){.type = data[0] % 4,
				.bits = data[1] % 65,
				.text = (const char *)data};
		arguments[i].size = data[1] % 11;
		memcpy(&arguments[i].number, data + 2, 8);
		memcpy(&arguments[i].real, data + 2, 8);
		data += 10;
		size -= 10;
	}
	/* A copy of exactly these bytes, so that sanitizers notice reads behind them. */
	format = malloc(size + !size);
	CHECK(format);
	memcpy(format, data, size);
	view_out_text(&out, "before");
	if (!view_format_render(&out, format, size, arguments, count))
		CHECK(view_out_size(&out) == strlen("before"));
	CHECK(view_out_size(&out) <= VIEW_FORMAT_TEXT_MAX + strlen("before"));
	CHECK(!memcmp(out.begin, "before", strlen("before")));
	view_out_free(&out);
	free(format);
	return 0;
}

#ifndef FUZZ_TARGET
static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

static uint32_t chance(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 32) % below);
}

int main(void)
{
	static const char pieces[] = "%%%%%%dsxfeagcpunhlLqzt*.-+ #0123456789$'AXE\0m";
	uint8_t bytes[400];

	for (unsigned int round = 0; round < 200000; round++) {
		uint32_t count = chance(5), size = 1 + count * 10 + chance(40);

		for (uint32_t i = 0; i < size; i++)
			bytes[i] = i > count * 10 ? (uint8_t)pieces[chance(sizeof(pieces) - 1)]
						  : (uint8_t)chance(256);
		bytes[0] = (uint8_t)count;
		LLVMFuzzerTestOneInput(bytes, size);
	}
	return 0;
}
#endif
