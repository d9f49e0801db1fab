/* SPDX-License-Identifier: MIT */
/*
 * Archives, sets of addresses, reads of files, and states of events in memory of either byte order.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "elf/addresses.h"
#include "elf/archive.h"
#include "elf/events.h"
#include "elf/file.h"
#include "elf/objects.h"

static int file_of(const void *bytes, size_t size)
{
	int fd = memfd_create("bytes", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	return fd;
}

/* ---- bytes of a file ---- */

static void test_file(void **unused)
{
	int fd = file_of("0123456789", 10);
	char text[11] = "";

	(void)unused;
	assert_int_equal(file_read(fd, 2, text, 8), 0);
	assert_string_equal(text, "23456789");
	assert_int_equal(file_read(fd, 3, text, 8), -EFAULT);
	assert_int_equal(file_read(fd, 10, text, 1), -EFAULT);
	assert_int_equal(file_read(fd, 99, text, 0), 0);
	close(fd);
	assert_int_equal(file_read(-1, 0, text, 1), -EBADF);
}

/* ---- addresses ---- */

static void test_addresses(void **unused)
{
	struct addresses set = {0};

	(void)unused;
	assert_false(addresses_has(&set, 5));
	assert_int_equal(addresses_add(&set, 0), 0);
	assert_false(addresses_has(&set, 0));
	for (uint64_t i = 1; i <= 1000; i++) {
		assert_int_equal(addresses_add(&set, i * 4096), 1);
		assert_int_equal(addresses_add(&set, i * 4096), 0);
		assert_int_equal(set.nr, i);
		/* The table is at most half full, so that searches end. */
		assert_true(set.nr <= set.capacity / 2);
		assert_true(set.capacity == 64 || set.nr > set.capacity / 4);
	}
	for (uint64_t i = 1; i <= 1000; i++) {
		assert_true(addresses_has(&set, i * 4096));
		assert_false(addresses_has(&set, i * 4096 + 1));
	}
	addresses_free(&set);
	assert_int_equal(set.nr + set.capacity, 0);
	assert_null(set.slots);
}

/* ---- archives ---- */

static char archive_bytes[8192];
static size_t archive_size;

static void add_bytes(const char *bytes, size_t size)
{
	assert_true(archive_size + size <= sizeof(archive_bytes));
	memcpy(archive_bytes + archive_size, bytes, size);
	archive_size += size;
}

/* Adds a header, and bytes if there are any. */
static void add_member(const char *name, const char *size, const char *bytes)
{
	char header[61];

	snprintf(header, sizeof(header), "%-16s%-32s%-10s`\n", name, "", size);
	add_bytes(header, 60);
	if (!bytes)
		return;
	add_bytes(bytes, strlen(bytes));
	if (strlen(bytes) & 1)
		add_bytes("\n", 1);
}

static void begin(const char *magic)
{
	archive_size = 0;
	add_bytes(magic, 8);
}

/*
 * Prints each member as NAME@OFFSET+SIZE, with an o if it is outside of the archive, then the end.
 */
static void assert_members(const char *wanted)
{
	static struct archive_member member;
	int fd = file_of(archive_bytes, archive_size), ret;
	struct archive archive;
	char shown[1024] = "";

	assert_int_equal(archive_open(fd, &archive), 0);
	while ((ret = archive_next(&archive, &member)) > 0) {
		snprintf(shown + strlen(shown), sizeof(shown) - strlen(shown), "%.100s",
				member.name);
		if (member.outside)
			strcat(shown, " outside");
		else
			sprintf(shown + strlen(shown), "@%d+%d", (int)member.offset,
					(int)member.size);
		strcat(shown, "; ");
	}
	strcat(shown, ret ? "damaged" : "end");
	close(fd);
	assert_string_equal(shown, wanted);
}

static void test_archives(void **unused)
{
	struct archive archive;
	int fd;

	(void)unused;
	for (unsigned int i = 0; i < 3; i++) {
		static const char *const none[] = {"!<arch>", "!<arch> ", "?<arch>\n"};

		fd = file_of(none[i], strlen(none[i]));
		assert_int_equal(archive_open(fd, &archive), -EINVAL);
		close(fd);
	}
	begin("!<arch>\n");
	assert_members("end");
	begin("!<arch>\n");
	add_member("/", "4", "abcd");
	add_member("/SYM64/", "2", "ab");
	add_member("__.SYMDEF SORTED", "2", "ab");
	add_member("//", "22", "a-rather-long-name.o/\n");
	add_member("short.o/", "5", "bytes");
	add_member("/0", "3", "odd");
	add_member("/7", "2", "in");
	add_member("#1/5", "9", "bsd.omore");
	add_member("plain", "0", "");
	add_member("#1/0", "1", "x");
	assert_members("short.o@338+5; a-rather-long-name.o@404+3; r-long-name.o@468+2; bsd.o@535+4; plain@600+0; @660+1; end");
	/* Offsets of names: the last byte of the table, and the first one after it. */
	begin("!<arch>\n");
	add_member("//", "4", "a/\nb");
	add_member("/3", "0", "");
	assert_members("b@132+0; end");
	add_member("/4", "0", "");
	assert_members("b@132+0; damaged");
	/*
	 * A name longer than the member, a size that is not a number, a missing mark, missing
	 * bytes.
	 */
	begin("!<arch>\n");
	add_member("#1/9", "9", "123456789");
	assert_members("123456789@77+0; end");
	begin("!<arch>\n");
	add_member("#1/10", "9", "123456789");
	assert_members("damaged");
	begin("!<arch>\n");
	add_member("a", "x", "");
	assert_members("damaged");
	for (unsigned int i = 58; i < 60; i++) {
		begin("!<arch>\n");
		add_member("a", "0", "");
		archive_bytes[8 + i] ^= 1;
		assert_members("damaged");
	}
	begin("!<arch>\n");
	add_member("a", "4", "1234");
	assert_members("a@68+4; end");
	archive_size--;
	assert_members("damaged");
	begin("!<arch>\n");
	add_member("a", "0", "");
	archive_size--;
	assert_members("damaged");
	/* In a thin archive, members are outside of it, tables are not. */
	begin("!<thin>\n");
	add_member("//", "8", "dir/x.o\n");
	add_member("/0", "999", NULL);
	add_member("y.o/", "7", NULL);
	assert_members("dir/x.o outside; y.o outside; end");
}

/* ---- images in archives ---- */

static char seen[2048];

static int note_image(void *priv, struct image *image, const char *member)
{
	(void)image;
	sprintf(seen + strlen(seen), "image %s; ", member ? member : "-");
	return *(int *)priv;
}

static int note_broken(void *priv, const struct error *error, const char *member)
{
	if (strlen(seen) < sizeof(seen) - 200)
		sprintf(seen + strlen(seen), "%s: %.60s; ", member ? member : "-", error->text);
	return *(int *)priv;
}

static int read_objects(const char *path, int result)
{
	const struct objects_ops ops = {
			.image = note_image, .broken = note_broken, .priv = &result};
	int fd = file_of(archive_bytes, archive_size), ret;

	*seen = '\0';
	ret = objects_read(fd, path, &ops);
	close(fd);
	return ret;
}

static void test_objects(void **unused)
{
	char directory[] = "/tmp/side-test-elf-XXXXXX", path[64], own[PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", own, sizeof(own) - 1);

	(void)unused;
	own[size > 0 ? size : 0] = '\0';
	/* Members that are not ELF files are skipped, and damage is reported. */
	begin("!<arch>\n");
	add_member("text.o/", "4", "text");
	assert_int_equal(read_objects("a.a", 0), 0);
	assert_string_equal(seen, "");
	add_member("large.o/", "1073741825", "");
	assert_int_equal(read_objects("a.a", 0), 0);
	assert_string_equal(seen, "-: the archive is truncated or damaged; ");
	assert_int_equal(read_objects("a.a", 7), 7);
	/*
	 * Members of a thin archive: a file beside it, an absolute path, a directory, and a missing
	 * file.
	 */
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/own", directory);
	assert_int_equal(symlink(own, path), 0);
	snprintf(path, sizeof(path), "%s/t.a", directory);
	begin("!<thin>\n");
	add_member("//", "6", "/tmp/\n");
	add_member("own/", "1", NULL);
	add_member("missing/", "1", NULL);
	add_member("/0", "1", NULL);
	assert_int_equal(read_objects(path, 0), 0);
	assert_string_equal(seen,
			"image own; missing: No such file or directory; /tmp: it is not a file; ");
	assert_int_equal(read_objects(path, 5), 5);
	assert_string_equal(seen, "image own; ");
	snprintf(path, sizeof(path), "%s/own", directory);
	unlink(path);
	rmdir(directory);
}

static unsigned int nr_broken;

static int count_broken(void *priv, const struct error *error, const char *member)
{
	(void)priv;
	(void)error;
	(void)member;
	nr_broken++;
	return 0;
}

static void test_many_broken(void **unused)
{
	const struct objects_ops ops = {.image = note_image, .broken = count_broken};

	(void)unused;
	for (unsigned int count = 99; count < 103; count++) {
		int fd;

		begin("!<thin>\n");
		for (unsigned int i = 0; i < count; i++)
			add_member("m/", "1", NULL);
		fd = file_of(archive_bytes, archive_size);
		nr_broken = 0;
		assert_int_equal(objects_read(fd, "/nonexistent/t.a", &ops), 0);
		assert_int_equal(nr_broken, count < 100 ? count : 100);
		close(fd);
	}
}

/* ---- states of events ---- */

static unsigned char memory[512];
static uint64_t memory_end; /* bytes from here on cannot be read */

static int read_memory(void *priv, uint64_t address, void *to, size_t size)
{
	(void)priv;
	if (address < 0x1000 || address + size > 0x1000 + memory_end)
		return -EFAULT;
	memcpy(to, memory + (address - 0x1000), size);
	return 0;
}

static void put_number(size_t at, uint64_t value, unsigned int size, bool is_big)
{
	for (unsigned int i = 0; i < size; i++)
		memory[at + (is_big ? size - 1 - i : i)] = (unsigned char)(value >> 8 * i);
}

static void test_states(void **unused)
{
	const size_t slot = offsetof(struct side_event_description, state), at = 256;

	(void)unused;
	for (unsigned int i = 0; i < 4; i++) {
		const bool is_big = i & 1;
		const unsigned int width = i & 2 ? 8 : 4;
		const struct visit_memory reader = {.read = read_memory,
				.byte_order = is_big ? SIDE_TYPE_BYTE_ORDER_BE
						     : SIDE_TYPE_BYTE_ORDER_LE};
		struct image_state state;

		memset(memory, 0, sizeof(memory));
		memory_end = at + 8 + 3 * width;
		image_read_state(&reader, width, 0x1000, &state);
		assert_false(state.there);
		put_number(slot + (is_big ? 16 - width : 0), 0x1000 + at, width, is_big);
		put_number(at, 0, 4, is_big);
		put_number(at + 4, 0x01020304, 4, is_big);
		put_number(at + 8, 0x11223344, width, is_big);
		put_number(at + 8 + width, 0x99, width, is_big);
		put_number(at + 8 + 2 * width, 0x55667788, width, is_big);
		image_read_state(&reader, width, 0x1000, &state);
		assert_true(state.there && state.readable);
		assert_int_equal(state.address, 0x1000 + at);
		assert_int_equal(state.version, 0);
		assert_int_equal(state.nr_callbacks, 0x01020304);
		assert_int_equal(state.enabled, 0x11223344);
		assert_int_equal(state.description, 0x55667788);
		/*
		 * First one byte is missing; then the version differs; then the state is complete.
		 */
		memory_end--;
		image_read_state(&reader, width, 0x1000, &state);
		assert_true(state.there && !state.readable && !state.nr_callbacks);
		memory_end++;
		put_number(at, 1, 4, is_big);
		image_read_state(&reader, width, 0x1000, &state);
		assert_true(state.there && !state.readable);
		assert_int_equal(state.version, 1);
		memory_end = at;
		image_read_state(&reader, width, 0x1000, &state);
		assert_true(state.there && !state.readable && !state.version);
		memory_end = slot;
		image_read_state(&reader, width, 0x1000, &state);
		assert_false(state.there);
	}
	assert_int_equal(image_decode(SIDE_TYPE_BYTE_ORDER_BE, (const unsigned char *)"\1\2\3", 3),
			0x010203);
	assert_int_equal(image_decode(SIDE_TYPE_BYTE_ORDER_LE, (const unsigned char *)"\1\2\3", 3),
			0x030201);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_file),
			cmocka_unit_test(test_addresses),
			cmocka_unit_test(test_archives),
			cmocka_unit_test(test_objects),
			cmocka_unit_test(test_many_broken),
			cmocka_unit_test(test_states),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
