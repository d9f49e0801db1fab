/* SPDX-License-Identifier: MIT */
/*
 * Limits of tables of lines and of files with debug information: the last permitted value, and one
 * more. The test includes the files.
 */
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../check.h"

static size_t map_size;
static unsigned int nr_reads;
static bool is_played;

static void *played_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	(void)at;
	(void)protection;
	(void)flags;
	(void)fd;
	(void)offset;
	map_size = size;
	return MAP_FAILED;
}

/* The end of the file, or its content. */
static ssize_t played_pread(int fd, void *to, size_t size, off_t at)
{
	nr_reads++;
	return is_played ? 0 : pread(fd, to, size, at);
}

#define pread played_pread
#include "tracers/validate/debug-file.c"
#undef pread
#define mmap played_mmap
#include "tracers/validate/line.c"
#undef mmap

/* ---- files with debug information ---- */

static struct {
	ElfW(Ehdr) header;
	ElfW(Shdr) sections[3];
	char names[32];
	ElfW(Nhdr) note;
	char owner[4];
	unsigned char bytes[300];
} image;

static int write_image(const char *name, size_t size)
{
	int fd = memfd_create("image", MFD_CLOEXEC);

	memcpy(image.names + 1, name, strlen(name) + 1);
	image.header = (ElfW(Ehdr)){.e_shnum = 3,
			.e_shstrndx = 1,
			.e_shentsize = sizeof(ElfW(Shdr)),
			.e_shoff = offsetof(__typeof__(image), sections)};
	image.sections[1] = (ElfW(Shdr)){.sh_type = SHT_STRTAB,
			.sh_size = sizeof(image.names),
			.sh_offset = offsetof(__typeof__(image), names)};
	image.sections[2] = (ElfW(Shdr)){.sh_type = SHT_PROGBITS,
			.sh_name = 1,
			.sh_size = size,
			.sh_offset = offsetof(__typeof__(image), note)};
	CHECK(fd >= 0 && write(fd, &image, sizeof(image)) == sizeof(image));
	return fd;
}

static void test_build_ids(void)
{
	for (uint32_t size = 64; size <= 65; size++) {
		struct build_id id;
		int fd;

		image.note = (ElfW(Nhdr)){4, size, NT_GNU_BUILD_ID};
		memcpy(image.owner, "GNU", 4);
		memset(image.bytes, 7, sizeof(image.bytes));
		fd = write_image(".note.gnu.build-id", 16 + size);
		validate_debug_read_build_id(fd, &image.header, &id);
		CHECK(id.size == (size == 64 ? 64 : 0));
		CHECK(!id.size || (id.bytes[0] == 7 && id.bytes[63] == 7));
		close(fd);
	}
}

/* The name is 1 to 251 bytes long: a terminator and a checksum follow. */
static bool has_link(size_t size, size_t name)
{
	char found[NAME_MAX_HERE + 8];
	uint32_t checksum = 0;
	bool is_there;
	int fd;

	memset(&image.note, 'x', name);
	memset((char *)&image.note + name, 0, size - 4 - name);
	memcpy((char *)&image.note + size - 4, "1234", 4);
	fd = write_image(".gnu_debuglink", size);
	is_there = validate_debug_read_link(fd, &image.header, found, &checksum);
	CHECK(!is_there || (strlen(found) == name && !memcmp(&checksum, "1234", 4)));
	close(fd);
	return is_there;
}

static void test_links(void)
{
	CHECK(NAME_MAX_HERE == 256 && has_link(256, 251) && !has_link(256, 252));
	CHECK(!has_link(257, 251) && has_link(8, 3) && !has_link(8, 4) && !has_link(8, 0));
}

/* A file with more bytes is not read. The checksum of no bytes is 0. */
static void test_checksums(void)
{
	static struct debug_file_scratch scratch;
	int fd = memfd_create("large", MFD_CLOEXEC);

	CHECK(fd >= 0 && FILE_MAX == 1 << 30 && !ftruncate(fd, FILE_MAX));
	is_played = true;
	nr_reads = 0;
	CHECK(validate_debug_has_checksum(fd, 0, &scratch) && nr_reads == 1);
	CHECK(!validate_debug_has_checksum(fd, 1, &scratch) && nr_reads == 2);
	CHECK(!ftruncate(fd, FILE_MAX + 1) && !validate_debug_has_checksum(fd, 0, &scratch) &&
			nr_reads == 2);
	is_played = false;
	CHECK(!ftruncate(fd, 0) && write(fd, "123456789", 9) == 9);
	CHECK(validate_debug_has_checksum(fd, 0xcbf43926, &scratch) &&
			!validate_debug_has_checksum(fd, 0xcbf43927, &scratch));
	close(fd);
	CHECK(!validate_debug_has_checksum(fd, 0, &scratch));
}

/* ---- compressed tables ---- */

/*
 * Whether memory is allocated for a table of `size` bytes with `packed` compressed bytes, including
 * its head.
 */
static bool is_unpacked(uint64_t size, uint64_t packed)
{
	const ElfW(Chdr) chdr = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = size};
	const ElfW(Shdr) raw = {.sh_flags = SHF_COMPRESSED, .sh_size = packed};
	struct section section = {.size = 0};
	int fd = memfd_create("table", MFD_CLOEXEC);

	map_size = 0;
	CHECK(fd >= 0 && write(fd, &chdr, sizeof(chdr)) == sizeof(chdr));
	validate_line_unpack(fd, &raw, &section);
	close(fd);
	CHECK(!section.size && (!map_size || map_size == size));
	return map_size;
}

static void test_tables(void)
{
	CHECK(UNPACKED_MAX == 64 << 20 && DEFLATE_MOST == 1032);
	CHECK(is_unpacked(64 << 20, 1 << 20) && !is_unpacked((64 << 20) + 1, 1 << 20));
	CHECK(is_unpacked(101 * 1032 - 1, 100) && !is_unpacked(101 * 1032, 100));
	CHECK(is_unpacked(1, 100) && !is_unpacked(0, 100));
}

int main(void)
{
	test_build_ids();
	test_links();
	test_checksums();
	test_tables();
	return 0;
}
