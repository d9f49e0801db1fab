/* SPDX-License-Identifier: MIT */
/*
 * Damaged ELF files must not harm a program that searches sites in them: the test flips bits,
 * replaces bytes, sets fields to extreme values, and truncates files. Run with ELF files as
 * arguments; the damage is the same in each run. Under libFuzzer (-DFUZZ_TARGET) its input is the
 * file.
 *
 * The test passes if there is no crash, no sanitizer report, no endless loop, and if sites stay in
 * bounds. Some damaged files must still be readable, which proves that the reader was reached.
 */
#include "probe/code/code.h"
#include "probe/code/copy.h"

#include "../../elf/damage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_site(struct probe_site *site)
{
	uint8_t copy[PROBE_COPY_MAX], map[PROBE_PIECES_MAX + 1];
	unsigned int at = 0;
	int size;

	if (site->nr_pieces > PROBE_PIECES_MAX || site->nr_bytes > PROBE_BYTES_MAX ||
			site->displaced > site->nr_bytes ||
			(site->method != PROBE_NONE && !site->nr_pieces) ||
			(site->method != PROBE_JUMP && !site->reason))
		abort();
	for (unsigned int i = 0; i < site->nr_pieces; i++) {
		if (site->pieces[i].at != at)
			abort();
		at += site->pieces[i].length;
	}
	if (at != site->displaced)
		abort();
	site->runtime = site->address + 0x10000000;
	size = probe_copy(site, site->runtime - 0x4000000, copy, map);
	if (size > PROBE_COPY_MAX)
		abort();
}

static size_t next_check(const void *bytes, size_t size)
{
	const struct code_function *functions;
	struct error error;
	struct code_file *file;
	struct probe_site site;
	size_t count, names = 0;

	if (code_open_memory(bytes, size, "damaged", &file, &error)) {
		if (!memchr(error.text, '\0', sizeof(error.text)) || !error.text[0])
			abort();
		return 0;
	}
	count = code_functions(file, &functions);
	for (size_t i = 0; i < count; i += 1 + count / 256) {
		const char *name = code_name(file, &functions[i], 0);

		names += name ? strlen(name) > 0 : 0;
		if (!code_entry(file, &functions[i], &site))
			check_site(&site);
		if (!code_site(file, functions[i].address + i % functions[i].size, &site))
			check_site(&site);
	}
	code_close(file);
	return names;
}

#ifdef FUZZ_TARGET

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	next_check(data, size);
	return 0;
}

#else

int main(int argc, char **argv)
{
	const char *wanted = getenv("SIDE_TEST_LONG");
	unsigned int rounds = wanted && !strcmp(wanted, "1") ? 50000 : 1000;
	int failed = argc < 2;

	for (int i = 1; i < argc; i++)
		failed |= damaged_copies(argv[i], rounds, next_check);
	return failed;
}

#endif
