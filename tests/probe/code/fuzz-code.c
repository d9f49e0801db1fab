/* SPDX-License-Identifier: MIT */
/*
 * Damaged ELF files must not hurt whoever looks for sites in them: bits flipped, bytes replaced, fields set to
 * extreme values, files cut. Run with ELF files as arguments; the same damage each time. Under libFuzzer
 * (-DFUZZ_TARGET) its bytes are the file.
 *
 * What counts: no crash, no sanitizer report, no endless loop, and sites that keep their bounds. Some must still be
 * readable, so that it is known that the reader was reached.
 */
#include "probe/code/code.h"
#include "probe/code/copy.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static size_t look_at(const void *bytes, size_t size)
{
	const struct code_function *functions;
	struct code_error error;
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
	look_at(data, size);
	return 0;
}

#else

/* xorshift64*, so that each run does the same. */
static uint64_t state = 0x9e3779b97f4a7c15;

static uint64_t draw(uint64_t below)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (state * 0x2545f4914f6cdd1d >> 11) % below;
}

static const uint64_t extremes[] = {0, 1, 4, 7, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000,
		0xffffffff, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff,
		0xfffffffffffffff8};

/* Where damage matters: headers, section headers, symbols, the unwinder's data. */
static size_t draw_place(const unsigned char *bytes, size_t size)
{
	Elf64_Ehdr header;
	Elf64_Shdr section;

	memcpy(&header, bytes, sizeof(header));
	switch (draw(6)) {
	case 0: return draw(sizeof(header));
	case 1: return sizeof(header) + draw(56 * 14);
	case 2:
		if (header.e_shoff < size)
			return header.e_shoff + draw(size - header.e_shoff);
		break;
	case 3:
	case 4:
		/* Inside any section. */
		if (header.e_shnum && header.e_shoff < size &&
				header.e_shnum <= (size - header.e_shoff) / sizeof(section)) {
			memcpy(&section,
					bytes + header.e_shoff +
							draw(header.e_shnum) * sizeof(section),
					sizeof(section));
			if (section.sh_offset < size && section.sh_size && section.sh_size <= size)
				return section.sh_offset + draw(section.sh_size);
		}
		break;
	default: break;
	}
	return draw(size);
}

static size_t damage(unsigned char *bytes, size_t size)
{
	size_t changes = 1 + draw(8);

	for (size_t i = 0; i < changes; i++) {
		size_t at = draw_place(bytes, size), width = (size_t)1 << draw(4);
		uint64_t value = extremes[draw(sizeof(extremes) / sizeof(extremes[0]))];

		if (at >= size)
			continue;
		switch (draw(4)) {
		case 0: bytes[at] ^= (unsigned char)(1u << draw(8)); break;
		case 1: bytes[at] = (unsigned char)draw(256); break;
		default:
			at &= ~(width - 1);
			memcpy(bytes + at, &value, width < size - at ? width : size - at);
			break;
		}
	}
	return draw(8) ? size : draw(size) + 1;
}

static size_t fuzz_file(const char *path, unsigned int rounds)
{
	struct stat stat;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned char *whole, *damaged;
	size_t names = 0, size;

	if (fd < 0 || fstat(fd, &stat)) {
		perror(path);
		exit(1);
	}
	size = (size_t)stat.st_size;
	whole = malloc(size);
	damaged = malloc(size);
	if (!whole || !damaged || read(fd, whole, size) != (ssize_t)size)
		exit(1);
	close(fd);
	if (!look_at(whole, size)) {
		printf("%s: not read when it is whole\n", path);
		exit(1);
	}
	for (unsigned int i = 0; i < rounds; i++) {
		size_t kept;

		memcpy(damaged, whole, size);
		kept = damage(damaged, size);
		names += look_at(damaged, kept);
	}
	free(whole);
	free(damaged);
	return names;
}

int main(int argc, char **argv)
{
	const char *wanted = getenv("SIDE_TEST_LONG");
	unsigned int rounds = wanted && !strcmp(wanted, "1") ? 50000 : 1000;
	size_t names = 0;

	for (int i = 1; i < argc; i++)
		names += fuzz_file(argv[i], rounds);
	printf("%zu functions found in damaged files\n", names);
	return names ? 0 : 1;
}

#endif
