/* SPDX-License-Identifier: MIT */
/*
 * Reads damaged ELF files of a program: the reader must not crash, and its results must be inside
 * the file. With -DFUZZ_TARGET this is a libFuzzer target; otherwise it damages copies of one file
 * (this program).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/parts.h"

static int file = -1;

static void read_elf(const uint8_t *bytes, size_t size)
{
	struct inject_elf elf;
	uint64_t bias, value;
	const char *name;
	size_t i;

	if (file < 0)
		file = memfd_create("fuzz", MFD_CLOEXEC);
	if (ftruncate(file, 0) || pwrite(file, bytes, size, 0) != (ssize_t)size)
		abort();
	if (!inject_elf_read(file, &elf)) {
		value = inject_elf_function(&elf, "main");
		name = value ? inject_elf_name(&elf, value) : NULL;
		if (name && (name < elf.names || name >= elf.names + elf.names_size))
			abort();
		for (i = 0; i < elf.nr_symbols && i < 64; i++)
			(void)inject_elf_name(&elf, elf.symbols[i].st_value);
		(void)inject_elf_bias(&elf, 0, 0x400000, &bias);
		(void)inject_elf_bias(&elf, UINT64_MAX, UINT64_MAX, &bias);
		value = inject_elf_find_space(&elf, 900);
		if (value % INJECT_PAGE + 900 > INJECT_PAGE)
			abort();
	}
	inject_elf_free(&elf);
}

#ifdef FUZZ_TARGET
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	read_elf(bytes, size);
	return 0;
}
#else
static uint32_t next(void)
{
	static uint32_t state = 1;

	state ^= state << 13;
	state ^= state >> 17;
	return state ^= state << 5;
}

/* Damages random bytes. Half of all damage is in headers, where it has the most effect. */
static void damage(uint8_t *bytes, size_t size)
{
	static const uint8_t nasty[] = {0, 1, 0x7f, 0x80, 0xff};
	uint32_t count = 1 + next() % 8;

	for (; count; count--) {
		size_t capacity = next() % 2 && size > 1024 ? 1024 : size;
		/* The section headers are at the end. */
		size_t at = next() % 4 ? next() % capacity : size - 1 - next() % capacity;

		bytes[at] = next() % 2 ? nasty[next() % sizeof(nasty)] : (uint8_t)next();
	}
}

int main(int argc, char **argv)
{
	unsigned long rounds = getenv("SIDE_TEST_LONG") ? 200000 : 2000, i;
	uint8_t *bytes, *copy;
	FILE *from;
	long size;

	if (argc != 2 || !(from = fopen(argv[1], "rb")) || fseek(from, 0, SEEK_END))
		return 2;
	size = ftell(from);
	rewind(from);
	bytes = malloc((size_t)size);
	copy = malloc((size_t)size);
	if (size <= 0 || !bytes || !copy || fread(bytes, 1, (size_t)size, from) != (size_t)size)
		return 2;
	(void)fclose(from);
	read_elf(bytes, (size_t)size);
	for (i = 0; i < rounds; i++) {
		size_t keep = next() % 8 ? (size_t)size : next() % (size_t)size;

		memcpy(copy, bytes, (size_t)size);
		if (keep)
			damage(copy, keep);
		read_elf(copy, keep);
	}
	printf("%lu files\n", rounds);
	free(bytes);
	free(copy);
	close(file);
	return 0;
}
#endif
