/* SPDX-License-Identifier: MIT */
/*
 * Parts of the agent: libraries of a text like /proc/self/maps, build ids, debug links, memory of
 * sessions, recycled ids. Also records for core dumps, directories of early boot, signals and
 * semaphores. The test includes three files, so that it can call their static functions.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../resources.h"
#include "tracers/agent/context/sources.h"
#include "protocol/protocol.h"
#include "protocol/recovery.h"
#include "ring/ring.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/boot-directory.h"
#include "tracers/agent/core/control-signal.h"
#include "tracers/agent/core/library-files.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/core/recovery.h"
#include "tracers/agent/core/recycled-ids.h"
#include "tracers/agent/core/rules.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/probes/probes.h"

/*
 * Included first, because a variable of library-files.c has the same name as parameters in this
 * file.
 */
#include "tracers/agent/core/boot-directory.c"

static size_t played_size; /* of /proc/self/maps; 0: the real one is read */
static unsigned int nr_reads;

static long played_file(const char *path, char *to, size_t size)
{
	nr_reads++;
	if (!played_size)
		return context_sources_file(path, to, size);
	return (long)(size < played_size ? size : played_size);
}

#include "tracers/agent/core/library-files.c"
#define context_sources_file played_file
#include "tracers/agent/core/mappings.c"
#undef context_sources_file

#include "../check.h"

/* ---- libraries ---- */

static struct mappings_snapshot parsed;
static char maps[4096];

static uint32_t parse_text(const char *text)
{
	strcpy(maps, text);
	parsed.text = maps;
	parsed.count = 0;
	memset(parsed.libraries, 0, 8 * sizeof(parsed.libraries[0]));
	agent_mappings_parse_all(&parsed);
	return parsed.count;
}

static bool is_library(uint32_t i, const char *path, uint64_t base, uint64_t end, uint64_t inode)
{
	const struct base_library *library = &parsed.libraries[i];

	return library->path_size == strlen(path) && !memcmp(library->path, path, strlen(path)) &&
			library->base == base && library->end == end && library->inode == inode;
}

static void test_libraries(void)
{
	CHECK(parse_text("") == 0 && parse_text("1000-2000 r-xp 00000000 00:00 0 \n") == 0);
	CHECK(parse_text("1000-2000 r-xp 00000000 fe:01 77                         /bin/one\n") ==
			1);
	CHECK(is_library(0, "/bin/one", 0x1000, 0x2000, 77) &&
			parsed.libraries[0].device == (0xfeull << 32 | 1));
	CHECK(!parsed.libraries[0].deleted);
	/* The line has no end; the path has blanks. */
	CHECK(parse_text("abcdef00-abcdff00 r-xp 00000000 fe:01 78 /a b") == 1 &&
			is_library(0, "/a b", 0xabcdef00, 0xabcdff00, 78));
	CHECK(parse_text("1000-2000 r--p 00000000 fe:01 77 /l\n"
			 "2000-3000 r-xp 00001000 fe:01 77 /l\n"
			 "3000-4000 ---p 00000000 00:00 0 \n"
			 "4000-5000 rw-p 00002000 fe:01 77 /l\n"
			 "6000-7000 r--p 00000000 fe:01 79 /data\n"
			 "7000-8000 r-xp 00000000 fe:01 80 /m (deleted)\n") == 2);
	CHECK(is_library(0, "/l", 0x1000, 0x5000, 77) && is_library(1, "/m", 0x7000, 0x8000, 80));
	CHECK(parsed.libraries[1].deleted);
	/* Another device, another file, the first page again (lld), an empty mapping. */
	CHECK(parse_text("1000-2000 r--p 00000000 fe:01 77 /l\n2000-3000 r-xp 00001000 fe:02 77 /l\n") ==
			0);
	CHECK(parse_text("1000-2000 r--p 00000000 fe:01 77 /l\n2000-3000 r-xp 00001000 fe:01 78 /l\n") ==
			0);
	CHECK(parse_text("1000-2000 r--p 00000000 fe:01 77 /l\n2000-3000 r-xp 00000000 fe:01 77 /l\n") ==
			1);
	CHECK(is_library(0, "/l", 0x1000, 0x3000, 77));
	CHECK(parse_text("2000-2000 r-xp 00000000 fe:01 77 /l\n") == 0);
	CHECK(parse_text("1000-2000 r-xp 00000000 fe:01 77 /l\n1800-3000 rw-p 00001000 fe:01 77 /l\n") ==
					1 &&
			parsed.libraries[0].end == 0x2000);
	CHECK(parse_text("1000-2000 r-xp 00000000 00:0e 9 (deleted)\n") == 0);
	CHECK(parse_text("1000-2000 r-xp 00000000 fe:01 9 /x(deleted)\n") == 1 &&
			!parsed.libraries[0].deleted);
}

static void test_moved_code(void)
{
	CHECK(parse_text("1000-2000 r--p 00000000 fe:01 77 /l\n2000-9000 r-xp 00000000 00:00 0 \n") ==
			1);
	CHECK(is_library(0, "/l", 0x1000, 0x9000, 77));
	CHECK(parse_text("1000-2000 r--p 00000000 fe:01 77 /l\n2000-9000 r-xp 00000000 00:0e 9 /anon_hugepage (deleted)\n"
			 "9000-a000 r--p 00001000 fe:01 77 /l\n") == 1 &&
			is_library(0, "/l", 0x1000, 0xa000, 77));
	CHECK(parse_text("1000-2000 r--p 00000000 fe:01 77 /l\n2000-9000 r--p 00000000 00:00 0 \n") ==
			0);
	CHECK(parse_text("1000-2000 r--p 00000000 fe:01 77 /l\n3000-9000 r-xp 00000000 00:00 0 \n") ==
			0);
	CHECK(parse_text("1000-2000 r-xp 00000000 fe:01 77 /l\n2000-9000 r-xp 00000000 00:00 0 \n") ==
					1 &&
			parsed.libraries[0].end == 0x2000);
}

static void test_most_libraries(void)
{
	size_t size = (size_t)(LIBRARIES_MAX + 2) * 64, at = 0;
	char *text = malloc(size);
	struct mappings_snapshot *many = calloc(1, sizeof(*many));

	CHECK(text && many);
	for (int i = 0; i <= LIBRARIES_MAX; i++)
		at += (size_t)sprintf(
				text + at, "%x000-%x800 r-xp 00000000 fe:01 7 /l\n", i + 1, i + 1);
	many->text = text;
	agent_mappings_parse_all(many);
	CHECK(many->count == LIBRARIES_MAX);
	CHECK(many->libraries[LIBRARIES_MAX - 1].base == (uint64_t)LIBRARIES_MAX << 12);
	free(text);
	free(many);
}

static void test_same(void)
{
	struct base_library one = {.path = "/l", .path_size = 2, .base = 1, .end = 2, .inode = 3},
			    other = one;

	CHECK(agent_mappings_is_same_file(&one, &other));
	other.path = "/m";
	CHECK(!agent_mappings_is_same_file(&one, &other));
	other = one;
	other.base++;
	CHECK(!agent_mappings_is_same_file(&one, &other));
	other = one;
	other.end++;
	CHECK(!agent_mappings_is_same_file(&one, &other));
	other = one;
	other.inode++;
	CHECK(!agent_mappings_is_same_file(&one, &other));
	other = one;
	other.path_size--;
	CHECK(!agent_mappings_is_same_file(&one, &other));
}

/* The text must be shorter than its memory, which is 16 MiB at most. */
static void test_text(void)
{
	static const size_t sizes[] = {65535, 65536, (16 << 20) - 1, 16 << 20};
	static const unsigned int reads[] = {1, 2, 5, 5};

	for (unsigned int i = 0; i < 4; i++) {
		struct mappings_snapshot *new;

		played_size = sizes[i];
		nr_reads = 0;
		new = picture_take();
		CHECK((new != NULL) == (i < 3) && nr_reads == reads[i]);
		CHECK(!new || !new->count);
		picture_free(new);
	}
	played_size = 0;
}

/* ---- build ids and debug links of files ---- */

static unsigned char notes[256];

static size_t add_note(
		size_t at, uint32_t type, const char *name, uint32_t size, unsigned char byte)
{
	uint32_t head[] = {(uint32_t)strlen(name) + 1, size, type};

	memset(notes + at, 0, sizeof(notes) - at);
	memcpy(notes + at, head, 12);
	strcpy((char *)notes + at + 12, name);
	at += 12 + (strlen(name) + 4) / 4 * 4;
	memset(notes + at, byte, size);
	return at + (size + 3) / 4 * 4;
}

static void test_notes(void)
{
	struct base_identity identity = {0};
	size_t first = add_note(0, 1, "CORE", 5, 9), size;

	CHECK(first == 12 + 8 + 8);
	size = add_note(first, NT_GNU_BUILD_ID, "GNU", BASE_BUILD_ID_MAX, 7);
	CHECK(library_file_parse_note(notes, size, &identity) &&
			identity.build_id_size == BASE_BUILD_ID_MAX);
	CHECK(identity.build_id[0] == 7 && identity.build_id[BASE_BUILD_ID_MAX - 1] == 7);
	CHECK(!library_file_parse_note(notes, size - 1, &identity) &&
			!library_file_parse_note(notes, first + 11, &identity));
	CHECK(!library_file_parse_note(notes, 0, &identity) &&
			!library_file_parse_note(notes, first, &identity));
	size = add_note(first, NT_GNU_BUILD_ID, "GNU", BASE_BUILD_ID_MAX + 1, 7);
	CHECK(!library_file_parse_note(notes, size, &identity));
	size = add_note(0, NT_GNU_BUILD_ID, "GNX", 4, 7);
	CHECK(!library_file_parse_note(notes, size, &identity));
	size = add_note(0, 1, "GNU", 4, 7);
	CHECK(!library_file_parse_note(notes, size, &identity));
	/* The last note may lack padding. */
	size = add_note(0, NT_GNU_BUILD_ID, "GNU", 3, 8);
	CHECK(library_file_parse_note(notes, size - 1, &identity) && identity.build_id_size == 3);
}

struct image {
	header_t header;
	segment_t segments[2];
	section_t sections[3];
	char names[32];
	unsigned char notes[64];
	char link[16];
};

/* In memory, the file begins 0x1000 before its first address. */
static struct image make_image(void)
{
	struct image image = {.header = {.e_ident = ELFMAG,
					      .e_phoff = offsetof(struct image, segments),
					      .e_phnum = 2,
					      .e_phentsize = sizeof(segment_t),
					      .e_shoff = offsetof(struct image, sections),
					      .e_shnum = 3,
					      .e_shstrndx = 1,
					      .e_shentsize = sizeof(section_t)}};
	size_t size = add_note(0, NT_GNU_BUILD_ID, "GNU", 20, 5);

	memcpy(image.notes, notes, size);
	image.segments[0] = (segment_t){.p_type = PT_NOTE,
			.p_offset = offsetof(struct image, notes),
			.p_vaddr = 0x400000 + offsetof(struct image, notes),
			.p_filesz = size};
	image.segments[1] = (segment_t){.p_type = PT_LOAD, .p_vaddr = 0x400000};
	image.sections[1].sh_offset = offsetof(struct image, names);
	strcpy(image.names + 1, ".gnu_debuglink");
	image.sections[2] = (section_t){.sh_type = SHT_PROGBITS,
			.sh_name = 1,
			.sh_size = 16,
			.sh_offset = offsetof(struct image, link)};
	strcpy(image.link, "one.debug");
	return image;
}

static struct base_identity identify(
		const struct image *image, const char *path, int fd, bool deleted)
{
	struct base_identity identity;
	struct base_library library = {.base = (uint64_t)(uintptr_t)image, .deleted = deleted};
	struct stat status;

	CHECK(pwrite(fd, image, sizeof(*image), 0) == sizeof(*image) && !fstat(fd, &status));
	library.inode = status.st_ino;
	base_identify(&library, path, &identity);
	return identity;
}

/* A library with this many segments and sections, and notes of this size before its build id. */
static struct {
	header_t header;
	segment_t segments[66];
	section_t sections[514];
	char names[32];
	unsigned char notes[4200];
	char link[16];
} big_library;

static void make_large(unsigned int nr_segments, unsigned int nr_sections, size_t before)
{
	uint32_t head[] = {5, (uint32_t)before - 20, 1}, own[] = {4, 20, NT_GNU_BUILD_ID};

	memset(&big_library, 0, sizeof(big_library));
	big_library.header = (header_t){.e_ident = ELFMAG,
			.e_phoff = offsetof(__typeof__(big_library), segments),
			.e_phnum = (uint16_t)nr_segments,
			.e_phentsize = sizeof(segment_t),
			.e_shoff = offsetof(__typeof__(big_library), sections),
			.e_shnum = (uint16_t)nr_sections,
			.e_shstrndx = 1,
			.e_shentsize = sizeof(section_t)};
	memcpy(big_library.notes, head, 12);
	strcpy((char *)big_library.notes + 12, "CORE");
	memcpy(big_library.notes + before, own, 12);
	memcpy(big_library.notes + before + 12, "GNU", 4);
	memset(big_library.notes + before + 16, 8, 20);
	big_library.segments[0] = (segment_t){.p_type = PT_LOAD, .p_vaddr = 0x400000};
	big_library.segments[nr_segments - 1] = (segment_t){.p_type = PT_NOTE,
			.p_offset = offsetof(__typeof__(big_library), notes),
			.p_vaddr = 0x400000 + offsetof(__typeof__(big_library), notes),
			.p_filesz = before + 36};
	strcpy(big_library.names + 1, ".gnu_debuglink");
	strcpy(big_library.link, "one.debug");
	big_library.sections[1].sh_offset = offsetof(__typeof__(big_library), names);
	big_library.sections[nr_sections - 1] = (section_t){.sh_type = SHT_PROGBITS,
			.sh_name = 1,
			.sh_size = 16,
			.sh_offset = offsetof(__typeof__(big_library), link)};
}

/* 64 segments, 512 sections and 4096 bytes of notes are read. */
static void test_large(void)
{
	char path[] = "/tmp/side-agent-XXXXXX";
	struct base_library library = {.base = (uint64_t)(uintptr_t)&big_library};
	struct base_identity identity;
	struct stat status;
	int fd = mkstemp(path);
	uint64_t bias;

	CHECK(fd >= 0 && SEGMENTS_MAX == 64 && SECTIONS_MAX == 512 && NOTES_MAX == 4096);
	for (unsigned int nr = 64; nr <= 65; nr++) {
		make_large(nr, 3, 40);
		CHECK(base_find(&library, &identity, &bias) &&
				identity.build_id_size == (nr == 64 ? 20 : 0));
		CHECK(bias == library.base - 0x400000);
		/* The segment that gives the bias. */
		big_library.segments[nr - 1] = big_library.segments[0];
		big_library.segments[0].p_type = PT_NULL;
		CHECK(base_find(&library, &identity, &bias) &&
				bias == library.base - (nr == 64 ? 0x400000 : 0));
	}
	for (size_t before = 4060; before <= 4064; before += 4) {
		make_large(2, 3, before);
		CHECK(base_find(&library, &identity, &bias) &&
				identity.build_id_size == (before == 4060 ? 20 : 0));
	}
	for (unsigned int nr = 512; nr <= 513; nr++) {
		make_large(2, nr, 40);
		CHECK(pwrite(fd, &big_library, sizeof(big_library), 0) == sizeof(big_library) &&
				!fstat(fd, &status));
		library.inode = status.st_ino;
		base_identify(&library, path, &identity);
		CHECK(!strcmp(identity.debug_link, nr == 512 ? "one.debug" : ""));
		CHECK(identity.build_id_size == 20 && identity.build_id[19] == 8);
	}
	close(fd);
	CHECK(!unlink(path));
}

/* The name of a debug file has 255 bytes at most. What follows is its checksum. */
static void test_long_links(void)
{
	char path[] = "/tmp/side-agent-XXXXXX", more[BASE_LINK_MAX + 4];
	struct image image = make_image();
	struct base_identity identity;
	int fd = mkstemp(path);

	CHECK(fd >= 0 && BASE_LINK_MAX == 256);
	memset(image.link, 'x', sizeof(image.link));
	for (size_t size = 255; size <= 256; size++) {
		memset(more, 'x', sizeof(more));
		more[size - sizeof(image.link)] = 0;
		image.sections[2].sh_size = size + 4;
		CHECK(pwrite(fd, more, sizeof(more), sizeof(image)) == sizeof(more));
		identity = identify(&image, path, fd, false);
		CHECK(strlen(identity.debug_link) == 255 &&
				strspn(identity.debug_link, "x") == 255);
	}
	close(fd);
	CHECK(!unlink(path));
}

static void test_identity(void)
{
	char path[] = "/tmp/side-agent-XXXXXX";
	struct image image = make_image(), broken = image;
	struct base_library library = {.base = (uint64_t)(uintptr_t)&image};
	struct base_identity identity;
	int fd = mkstemp(path);
	uint64_t bias = 0;

	CHECK(fd >= 0 && base_find(&library, &identity, &bias) && identity.build_id_size == 20);
	CHECK(identity.build_id[19] == 5 && bias == library.base - 0x400000 &&
			!identity.debug_link[0]);
	identity = identify(&image, path, fd, false);
	CHECK(identity.build_id_size == 20 && !strcmp(identity.debug_link, "one.debug"));
	CHECK(!identify(&image, path, fd, true).debug_link[0]);
	CHECK(!identify(&image, "/nowhere", fd, false).debug_link[0]);
	library.inode = 1;
	base_identify(&library, path, &identity);
	CHECK(identity.build_id_size == 20 && !identity.debug_link[0]);
	broken.sections[2].sh_size = 4;
	CHECK(!identify(&broken, path, fd, false).debug_link[0]);
	broken = image;
	broken.names[14] = 'K';
	CHECK(!identify(&broken, path, fd, false).debug_link[0]);
	broken = image;
	broken.sections[2].sh_type = SHT_NOBITS;
	CHECK(!identify(&broken, path, fd, false).debug_link[0]);
	broken = image;
	broken.header.e_phentsize++;
	CHECK(!identify(&broken, path, fd, false).build_id_size);
	library.base = (uint64_t)(uintptr_t)&broken;
	CHECK(!base_find(&library, &identity, &bias));
	broken = image;
	broken.header.e_ident[1] = 'e';
	CHECK(!base_find(&library, &identity, &bias));
	library.base = 0;
	CHECK(!base_find(&library, &identity, &bias));
	close(fd);
	unlink(path);
}

/* ---- memory of sessions ---- */

static void test_memory(void)
{
	struct agent_memory memory = {0};
	unsigned char *first = agent_memory_take(&memory, 1),
		      *second = agent_memory_take(&memory, 17), *large;

	CHECK(second == first + 16 && memory.used == 16 + 32 && !((uintptr_t)first & 15));
	CHECK(agent_memory_take(&memory, 1) == second + 32);
	large = agent_memory_take(&memory, 1 << 20);
	CHECK(large && memory.used == 64 + (1 << 20));
	memset(large, 1, 1 << 20);
	CHECK(!agent_memory_take(&memory, AGENT_RULES_MAX - memory.used + 1));
	CHECK(agent_memory_take(&memory, AGENT_RULES_MAX - memory.used));
	CHECK(memory.used == AGENT_RULES_MAX && !agent_memory_take(&memory, 1));
	agent_memory_free(&memory);
	CHECK(!memory.used && !memory.chunks);
	/* Recycled memory is zero again. */
	first = agent_memory_take(&memory, 5000);
	memset(first, 0xff, 5000);
	agent_memory_free(&memory);
	first = agent_memory_take(&memory, 5000);
	for (int i = 0; i < 5000; i++)
		CHECK(!first[i]);
	agent_memory_free(&memory);
	agent_memory_trim();
}

static void test_pages(void)
{
	unsigned char *pages[6], *again;

	for (int i = 0; i < 6; i++)
		CHECK((pages[i] = agent_pages_take(4097)));
	memset(pages[0], 0xff, 4097);
	for (int i = 0; i < 6; i++)
		agent_pages_give(pages[i], 4097);
#ifndef RAW_IS_WATCHED
	/*
	 * The agent keeps four blocks and reuses them in this order. It does not keep blocks of
	 * other sizes.
	 */
	again = agent_pages_take(4096);
	CHECK(again != pages[0]);
	agent_pages_give(again, 4096);
	for (int i = 0; i < 4; i++)
		CHECK(agent_pages_take(5000) == pages[i]);
	CHECK(!pages[0][0] && !pages[0][4096]);
	for (int i = 0; i < 4; i++)
		agent_pages_give(pages[i], 8192);
#else
	(void)again;
#endif
	agent_memory_trim();
}

static int count_bits(uint64_t one, uint64_t other)
{
	return __builtin_popcountll(one ^ other);
}

static void test_hash(void)
{
	unsigned char bytes[24] = {0};
	struct agent_hash whole = agent_hash(bytes, 24), other;

	/* Each bit of the input changes about half of the bits. */
	for (int bit = 0; bit < 8 * 24; bit++) {
		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
		other = agent_hash(bytes, 24);
		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
		CHECK(count_bits(whole.low, other.low) > 12 &&
				count_bits(whole.low, other.low) < 52);
		CHECK(count_bits(whole.high, other.high) > 12 &&
				count_bits(whole.high, other.high) < 52);
		CHECK(whole.low != whole.high);
	}
	for (size_t size = 0; size < 24; size++) {
		other = agent_hash(bytes, size);
		CHECK(other.low != whole.low && other.high != whole.high);
	}
}

static struct agent_hash hash_of(uint64_t low, uint64_t high)
{
	return (struct agent_hash){.low = low, .high = high};
}

/* Ids with the same first position, around the end of the table. */
static void test_spares(void)
{
	struct agent_recycled_ids spares = {0};
	uint32_t id = 0;

	CHECK(!agent_recycled_ids_take(&spares, hash_of(1023, 0), &id));
	for (uint32_t i = 0; i < 6; i++)
		agent_recycled_ids_put(&spares, hash_of(1022 + (i & 1), i), 100 + i);
	CHECK(spares.capacity == 1024 && spares.nr_used == 6);
	CHECK(!agent_recycled_ids_take(&spares, hash_of(1022, 1), &id) &&
			!agent_recycled_ids_take(&spares, hash_of(2046, 0), &id));
	CHECK(agent_recycled_ids_take(&spares, hash_of(1022, 2), &id) && id == 102 &&
			spares.nr_used == 5);
	CHECK(!agent_recycled_ids_take(&spares, hash_of(1022, 2), &id));
	CHECK(agent_recycled_ids_take(&spares, hash_of(1022, 0), &id) && id == 100);
	for (uint32_t i = 1; i < 6; i++)
		if (i != 2)
			CHECK(agent_recycled_ids_take(&spares, hash_of(1022 + (i & 1), i), &id) &&
					id == 100 + i);
	CHECK(spares.nr_used == 0);
	for (uint32_t i = 0; i < 512; i++)
		agent_recycled_ids_put(&spares, hash_of(i * 7, i), i);
	CHECK(spares.capacity == 1024);
	agent_recycled_ids_put(&spares, hash_of(512 * 7, 512), 512);
	CHECK(spares.capacity == 2048 && spares.nr_used == 513);
	for (uint32_t i = 0; i <= 512; i++)
		CHECK(agent_recycled_ids_take(&spares, hash_of(i * 7, i), &id) && id == i);
	agent_recycled_ids_forget(&spares);
	CHECK(!spares.table && !spares.capacity);
}

/* ---- records for core dumps ---- */

static void test_recovery(void)
{
	static struct agent_channel channels[2];
	static struct agent_session session;
	const struct recovery_channel *described;
	struct recovery_chunk *chunk;
	static char bytes[70000];

	session.channels = channels;
	session.nr_channels = 2;
	session.token = 0x1122334455667788;
	session.config = (struct wire_config){
			.instance = 3, .clock = 1, .frequency = 5, .offset_s = 6, .offset = 7};
	strcpy(session.path, "/run/place");
	strcpy(channels[0].name, "first");
	strcpy(channels[1].name, "second");
	channels[0].index = 8;
	channels[1].index = 9;
	channels[1].ring_memory = 4711;
	agent_recovery_add(&session, bytes, 1);
	agent_recovery_begin(&session);
	CHECK(session.recovery && session.recovery->valid == 1 && !session.recovery->first_chunk);
	CHECK(session.recovery->version == RECOVERY_VERSION &&
			session.recovery->pid == (uint32_t)getpid());
	CHECK(session.recovery->parent == (uint32_t)getppid() &&
			session.recovery->token == session.token);
	CHECK(session.recovery->instance == 3 && session.recovery->clock == 1 &&
			session.recovery->frequency == 5);
	CHECK(session.recovery->offset_s == 6 && session.recovery->offset == 7 &&
			session.recovery->nr_channels == 2);
	CHECK(session.recovery->self == (uint64_t)(uintptr_t)session.recovery &&
			session.recovery->word_size == 8);
	CHECK(session.recovery->head_size == sizeof(struct recovery_head) &&
			session.recovery->channel_size == sizeof(struct recovery_channel));
	CHECK(session.recovery->size ==
			sizeof(struct recovery_head) + 2 * sizeof(struct recovery_channel));
	CHECK(!strcmp(session.recovery->session, "/run/place") && session.recovery->exe[0] == '/');
	CHECK(!memcmp(session.recovery->magic, RECOVERY_MAGIC, sizeof(session.recovery->magic)));
	described = (const struct recovery_channel *)(uintptr_t)session.recovery->channels;
	CHECK(described[0].index == 8 && described[1].index == 9 &&
			described[1].ring_memory == 4711);
	CHECK(!strcmp(described[0].name, "first") && !strcmp(described[1].name, "second"));
	CHECK(!described[0].rings && !described[0].contexts_size);
	memset(bytes, 'a', sizeof(bytes));
	agent_recovery_add(&session, bytes, 0);
	CHECK(!session.last_chunk);
	agent_recovery_add(&session, "0123456789", 10);
	agent_recovery_add(&session, bytes, (64 << 10) - 32 - 10);
	chunk = session.last_chunk;
	CHECK(session.recovery->first_chunk == (uint64_t)(uintptr_t)chunk &&
			chunk->magic == RECOVERY_CHUNK_MAGIC);
	CHECK(chunk->size == (64 << 10) - 32 && chunk->used == chunk->size);
	CHECK(!memcmp(chunk + 1, "0123456789aaaa", 14) && !chunk->next);
	agent_recovery_add(&session, bytes, sizeof(bytes));
	CHECK(chunk->next == (uint64_t)(uintptr_t)session.last_chunk &&
			session.last_chunk->used == sizeof(bytes));
	agent_recovery_void(&session);
	CHECK(!session.recovery->valid);
	agent_recovery_begin(&session);
	CHECK(session.recovery->valid && !session.recovery->first_chunk && !session.last_chunk);
	agent_recovery_end(&session);
	CHECK(!session.recovery);
}

/* ---- folders of early boot ---- */

static void test_names(void)
{
	char name[BOOT_PROCNAME_MAX + 1], line[256], small[7];
	struct facts_text text = {.bytes = line};

	boot_clean_name(name, "a-b.c_d+E9");
	CHECK(!strcmp(name, "a-b.c_d+E9"));
	boot_clean_name(name, ".x/y z");
	CHECK(!strcmp(name, "_x_y_z"));
	boot_clean_name(name, "-x");
	CHECK(!strcmp(name, "_x"));
	boot_clean_name(name, "");
	CHECK(!strcmp(name, "unknown"));
	boot_clean_name(name,
			"1234567890123456789012345678901234567890123456789012345678901234567");
	CHECK(strlen(name) == BOOT_PROCNAME_MAX && BOOT_PROCNAME_MAX == 64);
	put_line(&text, "word", "a b%\x7f~\n!");
	CHECK(!strcmp(line, "word a%20b%25%7f~%0a!\n") && text.size == strlen(line));
	agent_boot_directory_read_line("/nowhere", small, sizeof(small));
	CHECK(!small[0]);
	agent_boot_directory_read_line("/proc/self/status", small, sizeof(small));
	CHECK(!strcmp(small, "Name:\t"));
}

static void test_start_time(void)
{
	unsigned long long started = 0;
	FILE *file = fopen("/proc/self/stat", "r");

	CHECK(file &&
			fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
					&started) == 1);
	(void)fclose(file);
	CHECK(started && start_time() == started);
}

static void test_directories(void)
{
	char folder[] = "/tmp/side-agent-XXXXXX", path[BOOT_STATE_DIR_MAX + 8];
	struct stat status;
	int fd, ret;

	CHECK(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/a/b", folder);
	CHECK(!agent_boot_directory_make_path(path) && !agent_boot_directory_make_path(path) &&
			!stat(path, &status) && (status.st_mode & 0777) == 0755);
	fd = agent_boot_directory_open(AT_FDCWD, path);
	CHECK(fd >= 0 && !agent_boot_directory_check(fd));
	CHECK(!fchmod(fd, 0775) && agent_boot_directory_check(fd) == -EPERM);
	CHECK(!fchmod(fd, 0757) && agent_boot_directory_check(fd) == -EPERM);
	CHECK(!fchmod(fd, 0700) && !agent_boot_directory_check(fd));
	CHECK(!agent_boot_directory_write_file(fd, "events", "1234", 4) &&
			agent_boot_directory_write_file(fd, "events", "", 0) == -EEXIST);
	close(fd);
	CHECK(agent_boot_directory_open(AT_FDCWD, "/proc/self/exe") == -ELOOP ||
			agent_boot_directory_open(AT_FDCWD, "/proc/self/exe") == -ENOTDIR);
	fd = open("/proc/self/exe", O_RDONLY);
	CHECK(agent_boot_directory_check(fd) == -ENOTDIR && agent_boot_directory_check(-1) < 0);
	close(fd);
	memset(path, 'x', BOOT_STATE_DIR_MAX);
	path[BOOT_STATE_DIR_MAX] = 0;
	CHECK(agent_boot_directory_make_path(path) == -ENAMETOOLONG);
	(void)snprintf(path, sizeof(path), "%s/a/b/events", folder);
	fd = open(path, O_RDWR);
	CHECK(fd >= 0 && !agent_boot_directory_append_line(fd, "56", 2) && !fstat(fd, &status) &&
			status.st_size == 6);
	ret = agent_boot_directory_append_line(-1, "56", 2);
	CHECK(ret == -EBADF);
	close(fd);
	fd = open(path, O_RDONLY);
	CHECK(agent_boot_directory_append_line(fd, "7", 1) == -EBADF && !fstat(fd, &status) &&
			status.st_size == 6);
	close(fd);
	CHECK(agent_boot_directory_make_path("/proc/self/nothing") < 0);
	(void)unlink(path);
	(void)snprintf(path, sizeof(path), "rm -r %s", folder);
	CHECK(system(path) == 0);
}

/* ---- signals ---- */

static void test_signals(void)
{
	CHECK(control_signal_number("USR1") == SIGUSR1 &&
			control_signal_number("SIGUSR2") == SIGUSR2);
	CHECK(control_signal_number("10") == 10 && control_signal_number("31") == 31);
	CHECK(!control_signal_number("32") && !control_signal_number("33"));
	CHECK(control_signal_number("RTMIN") == (uint32_t)SIGRTMIN);
	CHECK(control_signal_number("SIGRTMIN+2") == (uint32_t)SIGRTMIN + 2);
	CHECK(control_signal_number("64") == 64 && !control_signal_number("65"));
	CHECK(!control_signal_number("RTMIN+31") && control_signal_number("RTMIN+30") == 64);
	CHECK(!control_signal_number("KILL") && !control_signal_number("STOP") &&
			!control_signal_number("0"));
	CHECK(!control_signal_number("") && !control_signal_number("10x") &&
			!control_signal_number("usr1"));
	CHECK(!control_signal_number("100000000000000010"));
}

static void on_signal(int signal)
{
	(void)signal;
}

static void test_signal_handler(void)
{
	struct sigaction action;

	CHECK(control_signal_install(SIGURG) && !sigaction(SIGURG, NULL, &action));
	CHECK(action.sa_handler != SIG_DFL && (action.sa_flags & SA_RESTART));
	CHECK(sigismember(&action.sa_mask, SIGUSR1) && !sigismember(&action.sa_mask, SIGTRAP) &&
			!sigismember(&action.sa_mask, SIGILL));
	CHECK(!control_signal_install(SIGURG) && !control_signal_install(SIGKILL) &&
			!control_signal_install(10000));
	CHECK(signal(SIGUSR2, on_signal) == SIG_DFL && !control_signal_install(SIGUSR2));
	CHECK(signal(SIGUSR2, SIG_IGN) == on_signal && !control_signal_install(SIGUSR2));
	CHECK(signal(SIGUSR2, SIG_DFL) == SIG_IGN);
}

/* ---- semaphores ---- */

static void test_semaphores(void)
{
	uint16_t names[4] __attribute__((aligned(8))) = {5, 6, 7, 8};
	uint64_t at = (uint64_t)(uintptr_t)names;

	CHECK(probe_semaphore_change(at, true) && names[0] == 6 && names[1] == 6);
	CHECK(probe_semaphore_change(at + 2, true) && names[0] == 6 && names[1] == 7);
	CHECK(probe_semaphore_change(at + 6, false) && names[2] == 7 && names[3] == 7);
	CHECK(probe_semaphore_change(at, false) && names[0] == 5 && names[1] == 7);
	CHECK(!probe_semaphore_change(at + 1, true) && names[0] == 5 && names[1] == 7);
	names[2] = names[3] = 0;
	CHECK(!probe_semaphore_change(at + 4, false) && !names[2] && !names[3]);
	CHECK(!probe_semaphore_change(at + 6, false) && !names[2] && !names[3]);
	CHECK(!probe_semaphore_change(4096, true) && !probe_semaphore_change(4098, false));
}

int main(void)
{
	struct resources before = {0};

	side_init();
	for (int round = 0; round < 3; round++) {
		test_libraries();
		test_moved_code();
		test_most_libraries();
		test_same();
		test_notes();
		test_identity();
		test_long_links();
		test_large();
		test_text();
		test_memory();
		test_pages();
		test_hash();
		test_spares();
		test_recovery();
		test_names();
		test_start_time();
		test_directories();
		test_semaphores();
		if (round == 1)
			before = resources_now();
	}
	CHECK(resources_are_same(before, resources_now()));
	test_signals();
	test_signal_handler();
	return 0;
}
