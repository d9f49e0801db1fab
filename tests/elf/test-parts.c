/* SPDX-License-Identifier: MIT */
/*
 * Parts of archives, sets of addresses and relocations, called directly; files with more sections
 * than their header can count.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "../failing-calls.h"
#include "elf-writer.h"
#include "elf/image-parts.h"
#include "elf/image.h"

#include "elf/addresses.c" /* NOLINT(bugprone-suspicious-include): reaches static functions */
#include "elf/archive.c"   /* NOLINT(bugprone-suspicious-include) */

/* ---- archives ---- */

static int file_of(const void *bytes, size_t size)
{
	int fd = memfd_create("bytes", MFD_CLOEXEC);

	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	return fd;
}

static void test_names(void **unused)
{
	static char text[8192];
	struct {
		char before;
		char name[ARCHIVE_NAME_MAX + 8];
	} read;
	struct archive archive;

	(void)unused;
	memset(text, 'n', sizeof(text));
	archive = (struct archive){.fd = file_of(text, 6000)};
	/* At most 4095 bytes and a NUL. */
	for (size_t size = 4094; size <= 4097; size++) {
		memset(&read, 'x', sizeof(read));
		assert_int_equal(elf_archive_read_name(&archive, 3, size, read.name), 0);
		assert_int_equal(strlen(read.name), size < 4095 ? size : 4095);
		assert_int_equal(read.name[4096], 'x');
	}
	/* The end of the file. */
	assert_int_equal(elf_archive_read_name(&archive, 5990, 10, read.name), 0);
	assert_int_equal(strlen(read.name), 10);
	assert_int_equal(elf_archive_read_name(&archive, 5990, 11, read.name), -EINVAL);
	close(archive.fd);
	/* Up to a newline, a NUL, and without one slash at the end. */
	archive.fd = file_of("abc/\ndef\0/\n\na//\n", 16);
	for (unsigned int i = 0; i < 6; i++) {
		static const struct {
			uint64_t at, size;
			const char *name;
		} cases[] = {{0, 16, "abc"}, {5, 11, "def"}, {9, 7, ""}, {11, 5, ""}, {12, 4, "a/"},
				{0, 3, "abc"}};

		memset(&read, '/', sizeof(read));
		assert_int_equal(elf_archive_read_name(
						 &archive, cases[i].at, cases[i].size, read.name),
				0);
		assert_string_equal(read.name, cases[i].name);
		assert_int_equal(read.before, '/');
	}
	close(archive.fd);
}

static void test_magic(void **unused)
{
	struct archive archive;

	(void)unused;
	for (unsigned int i = 0; i < 5; i++) {
		static const char *const texts[] = {
				"!<arch>\n", "!<thin>\n", "!<arch>", "!<arch>x", "!<thin>x"};
		int fd = file_of(texts[i], strlen(texts[i]));

		assert_int_equal(archive_open(fd, &archive), i < 2 ? 0 : -EINVAL);
		if (i < 2) {
			assert_int_equal(archive.thin, i);
			assert_int_equal(archive.size, 8);
			assert_int_equal(archive.next, 8);
			assert_int_equal(archive.fd, fd);
		}
		close(fd);
	}
	assert_int_equal(archive_open(-1, &archive), -EINVAL);
	/* The state of the file, and its first bytes. */
	for (unsigned int number = 1; number <= 3; number++) {
		int fd = file_of("!<arch>\n", 8);

		failing_arm(number);
		assert_int_equal(archive_open(fd, &archive), number < 3 ? -EINVAL : 0);
		assert_int_equal(failing_has_failed(), number < 3);
		close(fd);
	}
}

static void test_numbers(void **unused)
{
	static const struct {
		const char *text;
		size_t size;
		uint64_t number;
		bool ok;
	} cases[] = {{"0", 1, 0, true}, {"9", 1, 9, true}, {"/", 1, 0, false}, {":", 1, 0, false},
			{" 1", 2, 0, false}, {"1234567890", 10, 1234567890, true},
			{"1234567890", 9, 123456789, true}, {"12 34", 5, 12, true},
			{"", 0, 0, false}};
	uint64_t number;

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(elf_archive_read_number(cases[i].text, cases[i].size, &number),
				cases[i].ok);
		assert_int_equal(number, cases[i].number);
	}
}

/* ---- sets of addresses ---- */

static void test_addresses(void **unused)
{
	struct addresses set = {.slots = NULL};

	(void)unused;
	assert_false(addresses_has(&set, 5));
	assert_int_equal(addresses_add(&set, 0), 0);
	assert_int_equal(set.capacity, 0);
	/* At most half full: 64 slots for 32 addresses, 128 for 64. */
	for (uint64_t i = 1; i <= 65; i++) {
		assert_int_equal(addresses_add(&set, i * 0x1000), 1);
		assert_int_equal(set.nr, i);
		assert_int_equal(set.capacity, i <= 32 ? 64 : i <= 64 ? 128 : 256);
	}
	for (uint64_t i = 0; i <= 66; i++) {
		assert_int_equal(addresses_has(&set, i * 0x1000), i && i < 66);
		assert_int_equal(addresses_add(&set, i * 0x1000), i == 66);
	}
	addresses_free(&set);
	assert_null(set.slots);
	assert_int_equal(set.nr, 0);
	/* Without memory the set does not change. */
	failing_arm(1);
	assert_int_equal(addresses_add(&set, 1), -ENOMEM);
	for (uint64_t i = 1; i <= 32; i++)
		assert_int_equal(addresses_add(&set, i), 1);
	failing_arm(1);
	assert_int_equal(addresses_add(&set, 33), -ENOMEM);
	assert_true(failing_has_failed());
	for (uint64_t i = 1; i <= 33; i++)
		assert_int_equal(addresses_has(&set, i), i < 33);
	assert_int_equal(addresses_add(&set, 33), 1);
	addresses_free(&set);
}

/* ---- relocations ---- */

static struct image *open_image(int wanted)
{
	struct error error;
	struct image *image = NULL;

	assert_int_equal(image_open_memory(elf.bytes, elf.size, &image, &error), wanted);
	return image;
}

static void test_plain_relocations(void **unused)
{
	/* The type, in place, the number of the symbol and its value; the patch, or none. */
	static const struct {
		uint32_t type;
		bool in_place;
		uint32_t symbol;
		uint64_t value;
		bool has_patch;
		uint64_t patch;
	} cases[] = {{R_X86_64_NONE, false, 1, 7, false, 0},
			{R_X86_64_RELATIVE, false, 0, 7, true, 0x50},
			{R_X86_64_RELATIVE, true, 0, 7, false, 0},
			{R_X86_64_GLOB_DAT, false, 1, 7, true, 7},
			{R_X86_64_GLOB_DAT, true, 1, 7, true, 7},
			{R_X86_64_64, false, 1, 7, true, 0x57},
			{R_X86_64_64, true, 1, 7, true, 0xabc + 7},
			{R_X86_64_64, false, 1, 0, true, 0}, {R_X86_64_64, false, 0, 0, true, 0x50},
			{R_X86_64_64, true, 0, 0, true, 0xabc},
			{R_X86_64_PC32, false, 1, 7, false, 0}};

	(void)unused;
	elf_begin_file(true, false, EM_X86_64, ET_DYN);
	elf_put(2048, 0xabc, 8);
	elf_add_segment(PT_LOAD, 0x1000, 2048, 8, 8, PF_R | PF_W);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct image *image = open_image(0);
		const GElf_Rela relocation = {.r_offset = 0x1000,
				.r_info = GELF_R_INFO((uint64_t)cases[i].symbol, cases[i].type),
				.r_addend = 0x50};

		image->nr_patches = 0;
		assert_int_equal(image_relocate_plain(image, &relocation, cases[i].in_place,
						 cases[i].value),
				0);
		assert_int_equal(image->nr_patches, cases[i].has_patch);
		if (cases[i].has_patch) {
			assert_int_equal(image->patches[0].address, 0x1000);
			assert_int_equal(image->patches[0].value, cases[i].patch);
		}
		image_close(image);
	}
	/* Bytes that are not in the file. */
	{
		struct image *image = open_image(0);
		const GElf_Rela relocation = {.r_offset = 0x1001,
				.r_info = GELF_R_INFO(UINT64_C(1), R_X86_64_64)};

		assert_int_equal(image_relocate_plain(image, &relocation, true, 7), 0);
		assert_int_equal(image->nr_patches, 0);
		image->header.e_machine = EM_NONE;
		assert_int_equal(image_relocate_plain(image, &relocation, false, 7), 0);
		assert_int_equal(image->nr_patches, 0);
		image_close(image);
	}
}

/* ---- many sections ---- */

/*
 * Headers of sections without bytes after the existing ones, so that their count is in the first
 * header.
 */
static void append_sections(size_t headers, unsigned int count, uint64_t flags)
{
	const struct writer_section filler = {
			.type = SHT_NOBITS, .flags = flags, .size = 1, .alignment = 64};

	for (unsigned int i = 0; i < count; i++)
		elf_put_section(headers + (size_t)(elf.nr_sections + i) * 64, 0, &filler);
	elf_put(headers + 32, elf.nr_sections + count, 8);
	elf_put(60, 0, 2);
}

static void test_most_segments(void **unused)
{
	(void)unused;
	for (unsigned int count = 65536; count <= 65537; count++) {
		struct image *image;
		size_t nr_segments, headers;

		elf_begin_file(true, false, EM_X86_64, ET_REL);
		headers = elf_finish();
		append_sections(headers, count, SHF_ALLOC);
		image = open_image(count == 65536 ? 0 : -E2BIG);
		if (count == 65536) {
			image_segments(image, &nr_segments);
			assert_int_equal(nr_segments, 65536);
			image_close(image);
		}
	}
}

#define DATA 2048
#define SYMBOLS 4096
#define INDEXES 4352
#define TEXTS 4608
#define RELOCATIONS 5120

/* A symbol whose section number does not fit: the number is in a separate section. */
static void test_extended_sections(void **unused)
{
	const struct writer_section sections[] = {{.name = ".data",
								  .type = SHT_PROGBITS,
								  .flags = SHF_ALLOC,
								  .offset = DATA,
								  .size = 0x40,
								  .alignment = 64},
			{.name = ".symtab",
					.type = SHT_SYMTAB,
					.offset = SYMBOLS,
					.size = 2 * 24,
					.link = 3,
					.entry = 24},
			{.name = ".strtab", .type = SHT_STRTAB, .offset = TEXTS, .size = 64},
			{.name = ".other",
					.type = SHT_SYMTAB_SHNDX,
					.offset = INDEXES + 8,
					.size = 8,
					.link = 3,
					.entry = 4},
			{.name = ".indexes",
					.type = SHT_SYMTAB_SHNDX,
					.offset = INDEXES,
					.size = 8,
					.link = 2,
					.entry = 4},
			{.name = "side_event_description_ptr",
					.type = SHT_PROGBITS,
					.flags = SHF_ALLOC,
					.offset = DATA + 0x40,
					.size = 8,
					.alignment = 64},
			{.name = ".rela",
					.type = SHT_RELA,
					.offset = RELOCATIONS,
					.size = 24,
					.link = 2,
					.info = 6,
					.entry = 24}};

	(void)unused;
	/* Below 0xff00 sections the first header is not used. */
	for (unsigned int total = 0xfeff; total <= 0xff00; total++) {
		unsigned char bytes[8];
		struct image *image;
		const struct image_table *table;
		size_t count, headers;
		uint64_t value;

		elf_begin_file(true, false, EM_X86_64, ET_REL);
		elf_put(RELOCATIONS + 100, 0, 1);
		for (unsigned int i = 0; i < sizeof(sections) / sizeof(*sections); i++)
			elf_add_section(&sections[i]);
		elf_put_symbol(SYMBOLS, 1, 0, STT_OBJECT, SHN_XINDEX, 0x20, 8);
		elf_put(INDEXES + 4, 1, 4);
		elf_put(INDEXES + 12, 2, 4);
		elf_put_relocation(RELOCATIONS, 0, false, 0, 1, R_X86_64_64, 3);
		headers = elf_finish();
		append_sections(headers, total - elf.nr_sections, 0);
		image = open_image(0);
		table = image_tables(image, &count);
		assert_int_equal(count, 1);
		assert_int_equal(image_read(image, table->address, bytes, 8), 0);
		memcpy(&value, bytes, 8);
		assert_int_equal(value, total < 0xff00 ? 0 : image->section_addresses[1] + 0x23);
		image_close(image);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_names),
			cmocka_unit_test(test_magic),
			cmocka_unit_test(test_numbers),
			cmocka_unit_test(test_addresses),
			cmocka_unit_test(test_plain_relocations),
			cmocka_unit_test(test_most_segments),
			cmocka_unit_test(test_extended_sections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
