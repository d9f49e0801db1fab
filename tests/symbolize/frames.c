/* SPDX-License-Identifier: MIT */
/*
 * Prints the frames of addresses in a file, as `addr2line -i -f -C` does: frames FILE < ADDRESSES.
 * With --data it prints the variable at each address, with --maps the file is mapped by lines of
 * /proc/PID/maps instead of a base address record.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/symbols.h"

#define BASE 0x7f0000000000

static void print_frame(const char *function, const char *file, unsigned int line)
{
	printf("%s\n%s:%u\n", function ? function : "??", file ? file : "??", line);
}

static void print_frames(const struct symbol *symbol)
{
	const char *file = symbol->file;
	unsigned int line = symbol->line;

	for (size_t i = 0; i < symbol->nr_inlined; i++) {
		print_frame(symbol->inlined[i].function, file, line);
		file = symbol->inlined[i].file;
		line = symbol->inlined[i].line;
	}
	print_frame(symbol->function, file, line);
}

/* `bias`: what must be added to an address of the file. */
static void answer(struct symbols *symbols, bool is_data, uint64_t bias)
{
	uint64_t address;

	while (scanf("%" SCNx64, &address) == 1) {
		const struct symbol *symbol = is_data
				? symbols_find_data(symbols, 0, 0, bias + address)
				: symbols_find(symbols, 0, 0, bias + address, false);

		printf("0x%" PRIx64 "\n", address);
		if (is_data)
			printf("%s+%" PRIu64 "\n", symbol->function ? symbol->function : "??",
					symbol->inside);
		else
			print_frames(symbol);
	}
}

int main(int argc, char **argv)
{
	const struct symbols_options options = {.path = NULL};
	bool is_data = argc > 2 && !strcmp(argv[1], "--data");
	bool is_maps = argc > 3 && !strcmp(argv[1], "--maps");
	const struct symbols_library library = {
			.path = argv[argc - 1], .base = BASE, .size = (uint64_t)1 << 30};
	struct symbols *symbols = symbols_create(&options);
	int ret;

	if (!symbols || argc < 2)
		return 2;
	ret = is_maps ? symbols_maps(symbols, 0, argv[2]) : symbols_load(symbols, 0, 0, &library);
	if (ret)
		return 1;
	answer(symbols, is_data || is_maps, BASE);
	symbols_free(symbols);
	return 0;
}
