/* SPDX-License-Identifier: MIT */
/* Limits of traces, at the last permitted value and one more, and packets byte by byte. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "../failing-calls.h"
#include "ctf/read/decode.h"
#include "ctf/read/decode-ctf2.h"
#include "ctf/read/stream.h"
#include "ctf/tally.h"
#include "ctf/type.h"
#include "ctf/read/unzstd.h"
#include "scratch.h"

#include "ctf/names.h"

static const char *unopened; /* the directory that cannot be opened; NULL: all can */
static int open_error;

static int played_openat(int parent_fd, const char *name, int flags)
{
	if (!unopened || strcmp(name, unopened) != 0)
		return openat(parent_fd, name, flags);
	errno = open_error;
	return -1;
}

#define openat(parent_fd, name, flags) played_openat(parent_fd, name, flags)
#include "ctf/read/find.c" /* NOLINT(bugprone-suspicious-include): reaches static functions */
#undef openat

static char scratch[64];
static struct error why;

/* ---- directories ---- */

static unsigned int nr_found, nr_shown;

static int count_found(
		void *context, int dir_fd, const char *path, struct dirent **names, int count)
{
	(void)dir_fd;
	(void)path;
	(void)names;
	assert_true(count >= 3);
	assert_ptr_equal(context, &nr_found);
	nr_found++;
	return 0;
}

static void count_shown(const char *path, uint64_t nr_directories)
{
	assert_int_equal(nr_directories % 64, 0);
	assert_non_null(path);
	nr_shown++;
}

/* Makes nested directories of this depth, with an empty file in the innermost one. */
static void nest(const char *top, unsigned int depth, const char *file)
{
	char path[200];
	size_t used = (size_t)snprintf(path, sizeof(path), "%s/%s", scratch, top);

	mkdir(path, 0700);
	for (unsigned int i = 0; i < depth; i++) {
		used += (size_t)snprintf(path + used, sizeof(path) - used, "/d");
		mkdir(path, 0700);
	}
	scratch_write(path, file, "", 0);
}

static void test_find_depth(void **state)
{
	char path[128];
	uint64_t nr_directories;

	(void)state;
	for (unsigned int depth = 15; depth <= 17; depth++) {
		nest("found", depth, "metadata");
		snprintf(path, sizeof(path), "%s/found", scratch);
		nr_found = 0;
		assert_int_equal(ctf_find_traces(path, false, count_found, &nr_found,
						 &nr_directories),
				0);
		assert_int_equal(nr_found, depth < 17 ? depth - 14 : 2);
		assert_int_equal(nr_directories, depth < 17 ? depth + 1 : 17);
	}
	/*
	 * Directories with a dot are hidden, except unfinished chunks. The index of LTTng is
	 * skipped.
	 */
	for (unsigned int i = 0; i < 4; i++) {
		static const char *const names[] = {
				"found/.chunk-1", "found/.other", "found/index", "found/.chunk"};
		bool is_chunk = i == 0;

		nest("found", 0, "metadata");
		nest(names[i], 0, "metadata");
		for (unsigned int growing = 0; growing < 2; growing++) {
			nr_found = 0;
			assert_int_equal(ctf_find_traces(path, growing, count_found, &nr_found,
							 NULL),
					0);
			assert_int_equal(nr_found, 3 + (growing && (is_chunk || i > 0)));
		}
	}
	assert_int_equal(ctf_find_traces("/nowhere/at/all", false, count_found, &nr_found, NULL),
			-ENOENT);
}

static void test_find_directories(void **state)
{
	char path[128];
	struct ctf_trace_search one = {
			.found = count_found, .context = &nr_found, .nr_directories = 999999};

	(void)state;
	nest("single", 0, "metadata");
	snprintf(path, sizeof(path), "%s/single", scratch);
	nr_found = 0;
	assert_int_equal(ctf_find_search_directory(&one, AT_FDCWD, path, path, 0), 0);
	assert_int_equal(nr_found, 1);
	assert_int_equal(one.nr_directories, 1000000);
	assert_int_equal(ctf_find_search_directory(&one, AT_FDCWD, path, path, 0), -E2BIG);
	assert_int_equal(nr_found, 1);
	/* Each 64th directory is shown. */
	ctf_reader_on_search(count_shown);
	one.nr_directories = 62;
	for (unsigned int i = 0; i < 66; i++)
		assert_int_equal(ctf_find_search_directory(&one, AT_FDCWD, path, path, 0), 0);
	assert_int_equal(nr_shown, 2);
	ctf_reader_on_search(NULL);
	/* Without memory for the name of a directory. */
	nest("outer", 1, "metadata");
	snprintf(path, sizeof(path), "%s/outer", scratch);
	failing_arm(1);
	assert_int_equal(ctf_find_traces(path, false, count_found, &nr_found, NULL), -ENOMEM);
	assert_true(failing_has_failed());
}

/* Shows the directory, which changes errno. */
static void show_and_fail(const char *path, uint64_t nr_directories)
{
	count_shown(path, nr_directories);
	errno = ENOTTY;
}

/* A directory that cannot be opened is skipped, unless the system lacks what opening takes. */
static void test_find_unopened(void **state)
{
	static const struct {
		int error, ret;
	} cases[] = {
			{ENOTDIR, 0},
			{ELOOP, 0},
			{EACCES, 0},
			{EMFILE, -EMFILE},
			{ENFILE, -ENFILE},
			{ENOMEM, -ENOMEM},
	};
	struct ctf_trace_search sixty_fourth = {
			.found = count_found, .context = &nr_found, .nr_directories = 62};
	char path[128];

	(void)state;
	nest("unopened", 1, "metadata");
	snprintf(path, sizeof(path), "%s/unopened", scratch);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unopened = "d";
		open_error = cases[i].error;
		assert_int_equal(ctf_find_traces(path, false, count_found, &nr_found, NULL),
				cases[i].ret);
		/* The first directory has no exception. */
		unopened = path;
		assert_int_equal(ctf_find_traces(path, false, count_found, &nr_found, NULL),
				-cases[i].error);
	}
	unopened = "d";
	nr_shown = 0;
	ctf_reader_on_search(show_and_fail);
	assert_int_equal(
			ctf_find_search_directory(&sixty_fourth, AT_FDCWD, path, path, 0), -ENOMEM);
	ctf_reader_on_search(NULL);
	assert_int_equal(nr_shown, 1);
	unopened = NULL;
}

static void report(void *user, const char *sentence)
{
	(void)user;
	fail_msg("%s", sentence);
}

static void test_expand_depth(void **state)
{
	char from[128], to[128], path[256];
	struct ctf_expand_result result;

	(void)state;
	snprintf(from, sizeof(from), "%s/deep", scratch);
	snprintf(to, sizeof(to), "%s/copy", scratch);
	nest("deep", 16, "file");
	nest("deep", 17, "file");
	assert_int_equal(ctf_expand(from, to, NULL, report, NULL, &result, &why), 0);
	assert_int_equal(result.copied, 1);
	assert_int_equal(result.expanded, 0);
	assert_int_equal(result.damaged, 0);
	snprintf(path, sizeof(path), "%s/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/file", to);
	assert_int_equal(access(path, F_OK), 0);
}

/* ---- compressed streams ---- */

/* A frame with one block of bytes that are not compressed. */
static void test_block_size(void **state)
{
	(void)state;
	for (uint32_t size = 131072; size <= 131073; size++) {
		int fd = memfd_create("frame", MFD_CLOEXEC);
		const uint32_t head = size << 3 | 1;
		unsigned char frame[9] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58};
		struct ctf_unzstd *unzstd;
		uint64_t first;

		memcpy(frame + 6, &head, 3);
		assert_int_equal(write(fd, frame, 9), 9);
		assert_int_equal(ftruncate(fd, 9 + size), 0);
		unzstd = ctf_unzstd_create(fd, 9 + size);
		assert_int_equal(ctf_unzstd_size(unzstd), size == 131072 ? size : 0);
		assert_int_equal(ctf_unzstd_strange(unzstd, &first), size == 131072 ? 0 : 9 + size);
		assert_int_equal(first, 0);
		assert_false(ctf_unzstd_is_cut(unzstd));
		ctf_unzstd_free(unzstd);
		close(fd);
	}
}

/* ---- values ---- */

static void test_values(void **state)
{
	struct ctf_arena *arena = ctf_arena_create();
	struct ctf_type *nothing = ctf_type_struct(arena, 0), *both = ctf_type_struct(arena, 3);
	struct ctf_decoder decoder = {.base = (const uint8_t *)""};
	uint32_t index;

	(void)state;
	/* The structure, two arrays and their elements: 2097152 values, and one more. */
	ctf_member_set(&both->members[0], "a", ctf_type_array(arena, nothing, 1 << 20), false);
	ctf_member_set(&both->members[1], "b", ctf_type_array(arena, nothing, (1 << 20) - 4),
			false);
	ctf_member_set(&both->members[2], "c", nothing, false);
	for (unsigned int beyond = 0; beyond < 2; beyond++) {
		decoder.count = 0;
		both->members[1].type->length += beyond;
		assert_int_equal(ctf_decode(&decoder, both, &index), beyond ? -EINVAL : 0);
		assert_int_equal(decoder.count, 1 << 21);
	}
	assert_string_equal(decoder.why, "an event has too many values");
	/* An array of elements without bits. */
	both->members[0].type->length = (1 << 20) + 1;
	decoder.count = 0;
	assert_int_equal(ctf_decode(&decoder, both, &index), -EINVAL);
	assert_string_equal(decoder.why, "an array of empty elements is too long");
	free(decoder.values);
	ctf_arena_destroy(arena);
}

/* ---- fields that are counted ---- */

static void test_field_bytes(void **state)
{
	struct ctf_arena *arena = ctf_arena_create();
	struct ctf_type *byte = ctf_type_integer(arena, 8, false);
	struct ctf_tally tally = {0};

	(void)state;
	for (uint32_t beyond = 0; beyond < 2; beyond++) {
		const struct ctf_type *const trees[] = {
				ctf_type_array(arena, byte, (UINT64_C(1) << 30) + beyond)};

		assert_int_equal(ctf_tally_learn(&tally, beyond, trees, 1), 0);
		assert_int_equal(tally.classes[beyond].known, beyond ? 0 : 4 + (1u << 30));
	}
	/* In two parts, before a string. */
	for (uint32_t beyond = 0; beyond < 2; beyond++) {
		const struct ctf_type *const trees[] = {
				ctf_type_array(arena, byte, (UINT64_C(1) << 30) - 5),
				ctf_type_array(arena, byte, 5 + beyond), ctf_type_string(arena)};

		assert_int_equal(ctf_tally_learn(&tally, 2 + beyond, trees, 3), 0);
		assert_int_equal(tally.classes[2 + beyond].known != 0, !beyond);
	}
	ctf_tally_free(&tally);
	ctf_arena_destroy(arena);
}

static void test_steps(void **state)
{
	struct ctf_arena *arena = ctf_arena_create();
	const struct ctf_type *const trees[] = {ctf_type_string(arena)};

	(void)state;
	/* The steps before the last one are never changed. */
	for (uint32_t beyond = 0; beyond < 2; beyond++) {
		uint32_t steps = UINT32_C(1) << (21 + beyond);
		struct ctf_tally tally = {.nr_steps = steps, .steps_capacity = steps};

		assert_int_equal(ctf_tally_learn(&tally, 1, trees, 1), beyond ? -ENOMEM : 0);
		assert_int_equal(tally.steps_capacity, 1 << 22);
		ctf_tally_free(&tally);
	}
	ctf_arena_destroy(arena);
}

/* ---- metadata ---- */

static int read_metadata(struct ctf_trace_classes **classes)
{
	int fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int ret = ctf_metadata_read(fd, scratch, classes, &why);

	close(fd);
	return ret;
}

static void test_metadata_size(void **state)
{
	struct ctf_trace_classes *classes;
	char path[128];

	(void)state;
	scratch_write(scratch, "metadata", "", 0);
	snprintf(path, sizeof(path), "%s/metadata", scratch);
	for (unsigned int beyond = 0; beyond < 2; beyond++) {
		assert_int_equal(truncate(path, (1 << 30) + (off_t)beyond), 0);
		/*
		 * The classes, the path and the state of the file; then the memory for the text,
		 * which this test does not need.
		 */
		failing_arm(4);
		assert_int_equal(read_metadata(&classes), beyond ? -EFBIG : -ENOMEM);
		assert_int_equal(failing_has_failed(), !beyond);
		assert_string_equal(why.text,
				beyond ? "the metadata cannot be read: File too large"
				       : "the metadata cannot be read: Cannot allocate memory");
		ctf_metadata_free(classes);
	}
	unlink(path);
}

static void test_path_variants(void **state)
{
	(void)state;
	for (unsigned int count = 16; count <= 17; count++) {
		struct ctf_trace_classes *classes;
		char text[4096];
		size_t used = (size_t)snprintf(text, sizeof(text),
				"trace { major = 1; minor = 8; byte_order = le; };\ntypealias integer { size = 8; } := u8;\n"
				"event { name = e; fields := struct { enum : u8 { a } t; ");

		for (unsigned int i = 0; i < count; i++)
			used += (size_t)snprintf(
					text + used, sizeof(text) - used, "variant <t> { ");
		used += (size_t)snprintf(
				text + used, sizeof(text) - used, "struct { u8 n; } a; } ");
		for (unsigned int i = 1; i < count; i++)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "a; } ");
		used += (size_t)snprintf(text + used, sizeof(text) - used, "v; u8 x[v");
		for (unsigned int i = 0; i < count; i++)
			used += (size_t)snprintf(text + used, sizeof(text) - used, ".a");
		used += (size_t)snprintf(text + used, sizeof(text) - used, ".n]; }; };");
		scratch_write(scratch, "metadata", text, used);
		assert_int_equal(read_metadata(&classes), count == 16 ? 0 : -EINVAL);
		if (count == 17)
			assert_non_null(strstr(why.text, "which is not defined before"));
		ctf_metadata_free(classes);
	}
}

/* ---- packets ---- */

#define HEADER 80

static void put(unsigned char *to, size_t at, uint64_t number, size_t size)
{
	memcpy(to + at, &number, size);
}

static void make_header(unsigned char *bytes, uint64_t size)
{
	memset(bytes, 0, HEADER);
	put(bytes, 0, 0xc1fc1fc1, 4);
	for (unsigned int i = 0; i < 16; i++)
		bytes[4 + i] = (unsigned char)(0xa0 + i);
	put(bytes, 20, 21, 4);
	put(bytes, 24, 22, 8);
	put(bytes, 32, 23, 8);
	put(bytes, 40, 24, 8);
	put(bytes, 48, size * 8, 8);
	put(bytes, 56, size * 8, 8);
	put(bytes, 64, 25, 8);
	put(bytes, 72, 26, 8);
}

static void test_packet_size(void **state)
{
	unsigned char bytes[HEADER];
	struct ctf_packet packet = {.bytes = NULL};

	(void)state;
	for (uint64_t beyond = 0; beyond < 2; beyond++) {
		int fd = memfd_create("packet", MFD_CLOEXEC);

		make_header(bytes, (UINT64_C(1) << 30) + beyond);
		assert_int_equal(write(fd, bytes, HEADER), HEADER);
		/* The memory, behind the read of the header; this test does not need it. */
		failing_arm(2);
		assert_int_equal(ctf_packet_read(fd, "stream", 0, &packet),
				beyond ? -EBADMSG : -ENOMEM);
		assert_int_equal(failing_has_failed(), !beyond);
		close(fd);
	}
	assert_null(packet.bytes);
}

static void test_packets(void **state)
{
	unsigned char bytes[HEADER + 4 + 3], read[HEADER + 4 + 3];
	static const unsigned char uuid[16] = {9, 8, 7};
	struct ctf_packet packet = {.bytes = NULL};
	int fd = memfd_create("packets", MFD_CLOEXEC);

	(void)state;
	make_header(bytes, sizeof(bytes));
	memset(bytes + HEADER, 'r', 7);
	assert_int_equal(write(fd, "1234", 4), 4);
	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	failing_interrupts = 2;
	assert_int_equal(ctf_packet_read(fd, "stream", 4, &packet), 1);
	assert_int_equal(packet.size, sizeof(bytes));
	assert_memory_equal(packet.bytes, bytes, sizeof(bytes));
	assert_int_equal(packet.next, 4 + sizeof(bytes));
	assert_memory_equal(packet.uuid, bytes + 4, 16);
	assert_int_equal(packet.class_id, 21);
	assert_int_equal(packet.instance, 22);
	assert_int_equal(packet.begin, 23);
	assert_int_equal(packet.end, 24);
	assert_int_equal(packet.sequence, 25);
	assert_int_equal(packet.discarded, 26);
	/* The end of the file, one byte before the end of the packet and of its header. */
	assert_int_equal(ctf_packet_read(fd, "stream", 4 + sizeof(bytes), &packet), 0);
	assert_int_equal(ftruncate(fd, 4 + sizeof(bytes) - 1), 0);
	assert_int_equal(ctf_packet_read(fd, "stream", 4, &packet), 0);
	assert_int_equal(ftruncate(fd, 4 + HEADER - 1), 0);
	assert_int_equal(ctf_packet_read(fd, "stream", 4, &packet), 0);
	/*
	 * No packet: another magic number, sizes in bits, of less than a header, and that differ.
	 */
	for (unsigned int i = 0; i < 5; i++) {
		static const struct {
			size_t at;
			uint64_t number;
			int ret;
		} changes[] = {{0, 0xc1fc1fc1, 1}, {0, 0xc1fc1fc2, -EBADMSG},
				{56, (HEADER + 7) * 8 + 1, -EBADMSG},
				{56, (HEADER - 1) * 8, -EBADMSG},
				{48, (HEADER + 7) * 8 - 8, -EBADMSG}};

		memcpy(read, bytes, sizeof(read));
		put(read, changes[i].at, changes[i].number, i < 2 ? 4 : 8);
		assert_int_equal(pwrite(fd, read, sizeof(read), 4), sizeof(read));
		assert_int_equal(ctf_packet_read(fd, "stream", 4, &packet), changes[i].ret);
	}
	close(fd);
	assert_int_equal(ctf_packet_read(-1, "stream", 4, &packet), -EBADF);
	/* One with the header alone. */
	make_header(packet.bytes, HEADER);
	packet.size = HEADER;
	assert_int_equal(ctf_packet_parse(&packet), 0);
	packet.size--;
	assert_int_equal(ctf_packet_parse(&packet), -EBADMSG);
	packet.size += 2;
	assert_int_equal(ctf_packet_parse(&packet), -EBADMSG);
	/* Each number is written to its position alone. */
	make_header(bytes, HEADER);
	memcpy(packet.bytes, bytes, HEADER);
	ctf_packet_set_uuid(&packet, uuid);
	memcpy(bytes + 4, uuid, 16);
	assert_memory_equal(packet.bytes, bytes, HEADER);
	assert_memory_equal(packet.uuid, uuid, 16);
	ctf_packet_set_discarded(&packet, 31);
	put(bytes, 72, 31, 8);
	ctf_packet_set_sequence(&packet, 32);
	put(bytes, 64, 32, 8);
	ctf_packet_set_times(&packet, 33, 34);
	put(bytes, 32, 33, 8);
	put(bytes, 40, 34, 8);
	assert_memory_equal(packet.bytes, bytes, HEADER);
	assert_int_equal(packet.discarded, 31);
	assert_int_equal(packet.sequence, 32);
	assert_int_equal(packet.begin, 33);
	assert_int_equal(packet.end, 34);
	/* Without records, with and without a CPU. */
	memset(packet.bytes, 'x', HEADER + 4);
	ctf_packet_make_empty(&packet, HEADER + 3);
	put(bytes, 48, (HEADER + 3) * 8, 8);
	put(bytes, 56, (HEADER + 3) * 8, 8);
	assert_int_equal(packet.size, HEADER + 3);
	assert_memory_equal(packet.bytes, bytes, HEADER);
	assert_memory_equal(packet.bytes + HEADER, "\0\0\0x", 4);
	ctf_packet_make_empty(&packet, HEADER + 4);
	assert_int_equal(packet.bytes[HEADER], 22);
	assert_int_equal(ctf_packet_parse(&packet), 0);
	ctf_packet_free(&packet);
	assert_int_equal(packet.capacity, 0);
}

/* ---- text that is converted ---- */

static void assert_text(
		enum ctf_encoding encoding, const void *bytes, size_t size, const char *expected)
{
	const struct ctf_type type = {.kind = CTF_STRING, .align = 8, .encoding = encoding};
	/* The last byte is the last readable one. */
	unsigned char *copy = malloc(size);
	struct ctf_decoder decoder = {.base = copy, .limit = size, .end = size * 8};
	struct ctf_value value = {0};
	int ret;

	memcpy(copy, bytes, size);
	ret = ctf_decode_wide_string(&decoder, &type, &value);
	assert_int_equal(ret, expected ? 0 : -EINVAL);
	if (expected) {
		assert_int_equal(value.size, strlen(expected));
		assert_memory_equal(value.text, expected, value.size);
		assert_true(value.is_text);
		assert_int_equal(decoder.at, size * 8);
	} else {
		assert_string_equal(decoder.why, "a string has no end in the packet");
		assert_true(decoder.beyond);
	}
	ctf_decoder_drop_texts(&decoder);
	free(copy);
}

static void test_texts(void **state)
{
	(void)state;
	assert_text(CTF_UTF16LE, "a\0\0\0", 4, "a");
	assert_text(CTF_UTF16BE, "\0a\0\0", 4, "a");
	assert_text(CTF_UTF32LE, "a\0\0\0\0\0\0\0", 8, "a");
	assert_text(CTF_UTF32BE, "\0\0\0a\0\0\0\0", 8, "a");
	assert_text(CTF_UTF16LE, "a\0\0", 3, NULL);
	assert_text(CTF_UTF16LE, "a\0", 2, NULL);
	assert_text(CTF_UTF32LE, "a\0\0\0\0\0\0", 7, NULL);
	assert_text(CTF_UTF16BE, "\x12\x34\0\0", 4, "\xe1\x88\xb4");
	assert_text(CTF_UTF16LE, "\x7f\0\x80\0\xff\x07\0\x08\0\0", 10,
			"\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80");
	assert_text(CTF_UTF32BE, "\x01\x02\x03\x04\0\x01\x23\x45\0\x10\xff\xff\0\x11\0\0\0\0\0\0",
			20, "\xef\xbf\xbd\xf0\x92\x8d\x85\xf4\x8f\xbf\xbf\xef\xbf\xbd");
	/* Both halves of a pair, and lone halves. */
	assert_text(CTF_UTF16BE, "\xd8\0\xdc\0\xdb\xff\xdf\xff\0\0", 10,
			"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
	assert_text(CTF_UTF16BE, "\xd8\0\0a\0\0", 6,
			"\xef\xbf\xbd"
			"a");
	assert_text(CTF_UTF16BE, "\xdc\0\0a\0\0", 6,
			"\xef\xbf\xbd"
			"a");
	assert_text(CTF_UTF16BE, "\xd8\0\xe0\0\0\0", 6, "\xef\xbf\xbd\xee\x80\x80");
	assert_text(CTF_UTF16BE, "\xd8\0\xdb\xff\0\0", 6, "\xef\xbf\xbd\xef\xbf\xbd");
	assert_text(CTF_UTF16BE, "\xd8\0\0\0", 4, "\xef\xbf\xbd");
	assert_text(CTF_UTF16BE, "\xd7\xff\xe0\0\0\0", 6, "\xed\x9f\xbf\xee\x80\x80");
}

/* ---- values of decoded events ---- */

static void test_labels_and_members(void **state)
{
	static struct ctf_label labels[] = {
			{"low", 0, 3}, {"three", 3, 3}, {"minus", (uint64_t)-4, (uint64_t)-2}};
	struct ctf_type type = {.kind = CTF_ENUM, .labels = labels, .label_count = 3, .size = 64};
	struct ctf_value value = {.type = &type};

	(void)state;
	for (int64_t number = -5; number <= 4; number++) {
		for (unsigned int is_signed = 0; is_signed < 2; is_signed++) {
			char names[32] = "";
			const char *label;
			uint32_t at = 0;

			type.is_signed = is_signed;
			value.s = number;
			while ((label = ctf_value_label(&value, &at)))
				strcat(names, label);
			assert_int_equal(at, 3);
			assert_string_equal(names,
					number == 3                                    ? "lowthree"
							: number >= 0 && number < 3    ? "low"
							: number >= -4 && number <= -2 ? "minus"
										       : "");
		}
	}
	type.kind = CTF_INTEGER;
	assert_null(ctf_value_label(&value, &(uint32_t){0}));
	assert_null(ctf_value_member(&value, "x"));
}

/* Packed arrays: elements one by one and all at once, of bytes and of bits. */
static void test_packed_arrays(void **state)
{
	static const uint8_t bytes[] = {0x01, 0x82, 0x03, 0x84, 0x05, 0x86};
	static const struct {
		uint8_t size;
		uint32_t align;
		bool is_signed, reversed;
		uint64_t numbers[4];
	} cases[] = {{8, 8, false, false, {0x82, 0x03, 0x84, 0x05}},
			{8, 8, true, false, {(uint64_t)-126, 3, (uint64_t)-124, 5}},
			{8, 8, false, true, {0x41, 0xc0, 0x21, 0xa0}},
			{4, 8, false, false, {2, 3, 4, 5}}, {4, 4, false, false, {2, 8, 3, 0}},
			{7, 1, false, false, {0x02, 0x07, 0x10, 0x2c}}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ctf_type element = {.kind = CTF_INTEGER,
				.size = cases[i].size,
				.align = cases[i].align,
				.is_signed = cases[i].is_signed,
				.reversed = cases[i].reversed};
		const struct ctf_type array = {.kind = CTF_ARRAY, .element = &element};
		const struct ctf_value value = {.type = &array,
				.base = bytes,
				.bit = 8,
				.count = 4,
				.packed = true};
		struct ctf_cursor cursor;
		uint64_t numbers[8] = {0};

		ctf_cursor_start(&cursor, &value);
		for (unsigned int k = 0; k < 4; k++) {
			assert_int_equal(ctf_cursor_next(&cursor)->u, cases[i].numbers[k]);
			assert_int_equal(cursor.index, k + 1);
		}
		assert_null(ctf_cursor_next(&cursor));
		for (uint32_t from = 0; from <= 5; from++) {
			for (uint32_t capacity = 0; capacity <= 5; capacity++) {
				uint32_t left = from < 4 ? 4 - from : 0;

				memset(numbers, 0xee, sizeof(numbers));
				assert_int_equal(
						ctf_value_integers(&value, from, numbers, capacity),
						left < capacity ? left : capacity);
				for (uint32_t k = 0; k < capacity && k < left; k++)
					assert_int_equal(numbers[k], cases[i].numbers[from + k]);
				assert_int_equal(numbers[left < capacity ? left : capacity],
						UINT64_C(0xeeeeeeeeeeeeeeee));
			}
		}
		element.kind = CTF_FLOAT;
		assert_int_equal(ctf_value_integers(&value, 0, numbers, 4), 0);
	}
}

static void test_field_names(void **state)
{
	struct ctf_arena *arena = ctf_arena_create();
	struct ctf_names names;

	(void)state;
	assert_string_equal(ctf_name_escape(arena, "azAZ09_`{@[/:"), "_azAZ09_______");
	assert_string_equal(ctf_name_escape(arena, ""), "_unnamed");
	assert_string_equal(ctf_name_escape(arena, "\xff"), "__");
	/* A name that differs in its first underscore only is equal, too. */
	assert_int_equal(ctf_names_init(&names, arena, 9), 0);
	assert_int_equal(names.mask, 31);
	for (unsigned int i = 0; i < 8; i++) {
		static const char *const taken[][2] = {{"x", "x"}, {"x", "x_2"}, {"x", "x_3"},
				{"_x", "_x_4"}, {"y", "y"}, {"_y", "_y_2"}, {"x_2", "x_2_2"},
				{"__z", "__z"}};

		assert_string_equal(ctf_names_reserve(&names, taken[i][0]), taken[i][1]);
	}
	ctf_names_free(&names);
	assert_null(names.table);
	for (uint32_t count = 3; count <= 6; count++) {
		assert_int_equal(ctf_names_init(&names, arena, count), 0);
		assert_int_equal(names.mask, count <= 4 ? 7 : 15);
		ctf_names_free(&names);
	}
	failing_arm(1);
	assert_int_equal(ctf_names_init(&names, arena, 3), -ENOMEM);
	assert_true(failing_has_failed());
	ctf_arena_destroy(arena);
}

static void test_lost_bytes(void **state)
{
	static const char reason[] = "bytes not written: x";

	(void)state;
	for (size_t size = 0; size < sizeof(reason); size++)
		assert_int_equal(ctf_lost_is_bytes(reason, size), size >= 19);
	assert_false(ctf_lost_is_bytes("bytes not written; x", 20));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_find_depth),
			cmocka_unit_test(test_find_directories),
			cmocka_unit_test(test_find_unopened),
			cmocka_unit_test(test_expand_depth),
			cmocka_unit_test(test_block_size),
			cmocka_unit_test(test_values),
			cmocka_unit_test(test_field_bytes),
			cmocka_unit_test(test_steps),
			cmocka_unit_test(test_metadata_size),
			cmocka_unit_test(test_path_variants),
			cmocka_unit_test(test_packet_size),
			cmocka_unit_test(test_packets),
			cmocka_unit_test(test_texts),
			cmocka_unit_test(test_labels_and_members),
			cmocka_unit_test(test_packed_arrays),
			cmocka_unit_test(test_field_names),
			cmocka_unit_test(test_lost_bytes),
	};
	int ret;

	scratch_make(scratch);
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	scratch_delete(scratch);
	return ret;
}
