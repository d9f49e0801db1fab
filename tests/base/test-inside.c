/* SPDX-License-Identifier: MIT */
/* Hashes, searches, UTF-8, strings of JSON, raw reads and writes, and tables of descriptors. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/inside/hash.h"
#include "base/inside/json-escape.h"
#include "base/inside/own-table.h"
#include "base/inside/raw-io.h"
#include "base/inside/search.h"

#include "../check.h"

/* Published test vectors: draft-eastlake-fnv, and the check value of CRC-32. */
static void test_hashes(void)
{
	const char *text = "foobar", *digits = "123456789";

	CHECK(hash_fnv1a_32_text(HASH_FNV1A_32_BEGIN, "") == 0x811c9dc5);
	CHECK(hash_fnv1a_32_text(HASH_FNV1A_32_BEGIN, "a") == 0xe40c292c);
	CHECK(hash_fnv1a_32_text(HASH_FNV1A_32_BEGIN, text) == 0xbf9cf968);
	CHECK(hash_fnv1a_64_text(HASH_FNV1A_64_BEGIN, "") == 0xcbf29ce484222325);
	CHECK(hash_fnv1a_64_text(HASH_FNV1A_64_BEGIN, "a") == 0xaf63dc4c8601ec8c);
	CHECK(hash_fnv1a_64_text(HASH_FNV1A_64_BEGIN, text) == 0x85944171f73967e8);
	CHECK(hash_crc32(HASH_CRC32_BEGIN, "123456789", 9) == 0xcbf43926);
	CHECK(hash_crc32(HASH_CRC32_BEGIN, "", 0) == 0);
	for (size_t i = 0; i <= 6; i++) {
		CHECK(hash_fnv1a_32(hash_fnv1a_32(HASH_FNV1A_32_BEGIN, text, i), text + i, 6 - i) ==
				0xbf9cf968);
		CHECK(hash_fnv1a_64(hash_fnv1a_64(HASH_FNV1A_64_BEGIN, text, i), text + i, 6 - i) ==
				0x85944171f73967e8);
		CHECK(hash_crc32(hash_crc32(HASH_CRC32_BEGIN, digits, i), digits + i, 9 - i) ==
				0xcbf43926);
	}
	/* Bytes are unsigned. */
	CHECK(hash_fnv1a_32_text(HASH_FNV1A_32_BEGIN, "\xff") ==
			hash_fnv1a_32_step(HASH_FNV1A_32_BEGIN, 0xff));
	CHECK(hash_fnv1a_64_text(HASH_FNV1A_64_BEGIN, "\xff") ==
			hash_fnv1a_64_step(HASH_FNV1A_64_BEGIN, 0xff));
	CHECK(hash_fold_64(UINT64_C(0x100000002)) == UINT64_C(0x100000003));
}

static void test_search(void)
{
	uint64_t items[40];
	const uint32_t none = 0;

	for (size_t count = 0; count < 40; count++) {
		for (size_t i = 0; i < count; i++)
			items[i] = i / 2 * 2; /* pairs of equal elements */
		for (uint64_t key = 0; key < 42; key++) {
			size_t lower = 0, upper = 0;

			while (lower < count && items[lower] < key)
				lower++;
			while (upper < count && items[upper] <= key)
				upper++;
			CHECK(search_leading(i, count, items[i] < key) == lower);
			CHECK(search_leading(i, count, items[i] <= key) == upper);
		}
	}
	/* A constant count; no element is read. */
	CHECK(search_leading(i, none, items[i + 1000000] < 1) == 0);
	/* No overflow in the middle. */
	CHECK(search_leading(i, SIZE_MAX, i < SIZE_MAX - 3) == SIZE_MAX - 3);
	CHECK(search_leading(i, UINT32_MAX, i < UINT32_MAX - 3) == UINT32_MAX - 3);
}

/* The control characters of Unicode, and Annex 9's explicit directional characters. */
static bool is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e ||
			code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
			(code >= 0x2066 && code <= 0x2069);
}

/* Every code point, encoded, and invalid sequences. */
static void test_utf8(void)
{
	static const char *const bad[] = {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf",
			"\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
			"\xf5\x80\x80\x80", "\xff", "\xc2\x41", "\xe1\x80\x41", "\xf1\x80\x80\x41"};

	for (uint32_t code = 0; code <= 0x10ffff; code++) {
		unsigned char text[4] = {(unsigned char)code};
		unsigned int size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
		unsigned int expected = code >= 0xd800 && code < 0xe000 ? 0 : size;

		for (unsigned int i = 1; i < size; i++)
			text[i] = (unsigned char)(0x80 | (code >> 6 * (size - 1 - i) & 0x3f));
		if (size > 1)
			text[0] = (unsigned char)((0xf00u >> size & 0xff) | code >> 6 * (size - 1));
		CHECK(utf8_length(text, size) == expected);
		CHECK(size == 1 || utf8_length(text, size - 1) == 0);
		CHECK(!expected || utf8_is_control(text, size) == is_control(code));
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK(utf8_length((const unsigned char *)bad[i], strlen(bad[i])) == 0);
}

static void check_json(const char *text, size_t size, unsigned int flags, const char *expected)
{
	char made[256];
	size_t used = 0;

	while (size) {
		char escape[JSON_ESCAPE_BYTES];
		size_t plain = json_plain(text, size, flags), length, taken;

		memcpy(made + used, text, plain);
		used += plain;
		text += plain;
		size -= plain;
		if (!size)
			break;
		taken = json_escape(text, size, flags, escape, &length);
		memcpy(made + used, escape, length);
		used += length;
		text += taken;
		size -= taken;
	}
	made[used] = '\0';
	if (strcmp(made, expected) != 0)
		fprintf(stderr, "%s instead of %s\n", made, expected);
	CHECK(!strcmp(made, expected));
}

#define JSON(text, flags, expected) check_json(text, sizeof(text) - 1, flags, expected)

static void test_json(void)
{
	unsigned int all = JSON_ESCAPE_CONTROLS | JSON_ESCAPE_NEWLINE_SHORT;

	JSON("", 0, "");
	JSON("plain ~", 0, "plain ~");
	JSON("a\"b\\c", all, "a\\\"b\\\\c");
	JSON("\0\x1f\x7f ", 0, "\\u0000\\u001f\\u007f ");
	JSON("\n\t", 0, "\\u000a\\u0009");
	JSON("\n\t", all, "\\n\\u0009");
	JSON("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", all, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
	JSON("\xff\xc3", all, "\\u00ff\\u00c3");
	JSON("\xc3(", 0, "\\u00c3(");
	JSON("\xed\xa0\x80", all, "\\u00ed\\u00a0\\u0080");
	/* U+0080 to U+009F, and their neighbour. */
	JSON("\xc2\x80\xc2\x9f\xc2\xa0", 0, "\xc2\x80\xc2\x9f\xc2\xa0");
	JSON("\xc2\x80\xc2\x9f\xc2\xa0", JSON_ESCAPE_CONTROLS, "\\u0080\\u009f\xc2\xa0");
	JSON("\xc2", JSON_ESCAPE_CONTROLS, "\\u00c2");
	/* A character that changes the direction of the text. */
	JSON("\xe2\x80\xae|", 0, "\xe2\x80\xae|");
	JSON("\xe2\x80\xae|", JSON_ESCAPE_CONTROLS, "\\u202e|");
	JSON("\xd8\x9c", JSON_ESCAPE_CONTROLS, "\\u061c");
}

static void test_raw_io(void)
{
	int fd = memfd_create("test-inside", MFD_CLOEXEC), ends[2];
	char text[8] = "";

	CHECK(fd >= 0 && !pipe(ends));
	CHECK(!raw_io_write_all(fd, "0123456", 7) && !raw_io_write_all(fd, NULL, 0));
	CHECK(raw_io_read(fd, text, sizeof(text)) == 0);
	CHECK(raw_io_read_from_start(fd, text, sizeof(text)) == 7 && !strcmp(text, "0123456"));
	CHECK(raw_io_read_from_start(fd, text, 3) == 3);
	CHECK(lseek(fd, 2, SEEK_SET) == 2 && raw_io_read(fd, text, sizeof(text)) == 5);
	CHECK(raw_io_write_all(-1, "x", 1) == -EBADF);
	CHECK(raw_io_read(-1, text, 1) == -EBADF && raw_io_read_from_start(-1, text, 1) == -EBADF);
	CHECK(raw_io_read_from_start(ends[0], text, 1) == -ESPIPE);
	/* A reader gets data that arrives in two parts. */
	CHECK(!raw_io_write_all(ends[1], "ab", 2) && !raw_io_write_all(ends[1], "cd", 2));
	CHECK(raw_io_read(ends[0], text, 4) == 4 && !memcmp(text, "abcd", 4));
	close(ends[0]);
	close(ends[1]);
	close(fd);
}

/* A POSIX lock of this process conflicts with one of an open file only. */
static bool own_table_is_locked(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	CHECK(!fcntl(fd, F_OFD_GETLK, &lock));
	return lock.l_type != F_UNLCK;
}

struct own_table_visit {
	const char *path;
	long thread;
	int nr;
};

static void own_table_visit(void *argument)
{
	struct own_table_visit *visit = argument;

	visit->nr++;
	visit->thread = raw_call(SYS_gettid);
	close(open(visit->path, O_RDONLY | O_CLOEXEC));
	errno = ELOOP;
}

/* A function that closes a file loses the locks on it, but not in a task with its own table. */
static void test_own_table(void)
{
	int fd = memfd_create("test-inside", MFD_CLOEXEC), other;
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char scratch[OWN_TABLE_TEXT], path[40];
	struct own_table_visit visit = {.path = path};

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	other = open(path, O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0 && other >= 0 && !own_table_has_locks(scratch));
	CHECK(own_table_run(own_table_visit, &visit, scratch) && visit.nr == 1);
	CHECK(visit.thread == getpid());
	CHECK(!fcntl(fd, F_SETLK, &lock));
	CHECK(own_table_has_locks(scratch) && own_table_is_locked(fd));
#if defined(__x86_64__) && defined(__LP64__)
	for (unsigned int i = 0; i < 100; i++) {
		CHECK(own_table_run(own_table_visit, &visit, scratch) && visit.nr == 2 + (int)i);
		CHECK(visit.thread != getpid() && own_table_is_locked(fd));
		/* The task is no thread of the process any more. */
		CHECK(syscall(SYS_tgkill, getpid(), visit.thread, 0) < 0 && errno == ESRCH);
	}
#else
	CHECK(!own_table_run(own_table_visit, &visit, scratch) && visit.nr == 1);
#endif
	close(other);
	CHECK(!own_table_is_locked(fd) && !own_table_has_locks(scratch));
	close(fd);
}

static void own_table_use_one_processor(void)
{
	cpu_set_t processors;

	CPU_ZERO(&processors);
	CPU_SET(sched_getcpu(), &processors);
	CHECK(!sched_setaffinity(0, sizeof(processors), &processors));
}

/* More than one read of a list returns: the process may have locks. */
static void test_long_lists(void)
{
	int fd = memfd_create("test-ranges", MFD_CLOEXEC), others[128];
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
	char scratch[OWN_TABLE_TEXT];

	/* Locks of the open file: a close loses none of them. */
	CHECK(!fcntl(fd, F_OFD_SETLK, &lock) && !own_table_has_locks(scratch));
	for (lock.l_start = 2; lock.l_start < 200; lock.l_start += 2)
		CHECK(!fcntl(fd, F_OFD_SETLK, &lock));
	CHECK(own_table_has_locks(scratch));
	close(fd);
	CHECK(!own_table_has_locks(scratch));
	for (unsigned int i = 0; i < 128; i++)
		others[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	CHECK(own_table_has_locks(scratch));
	for (unsigned int i = 0; i < 128; i++)
		close(others[i]);
	CHECK(!own_table_has_locks(scratch));
	for (unsigned int i = 0; i <= OWN_TABLE_FILES; i++)
		others[i] = memfd_create("test-file", MFD_CLOEXEC);
	CHECK(own_table_has_locks(scratch));
	for (unsigned int i = 0; i <= OWN_TABLE_FILES; i++)
		close(others[i]);
	CHECK(!own_table_has_locks(scratch));
}

static uint64_t own_table_processor_time(void)
{
	struct timespec now;

	CHECK(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now));
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The task has a lower priority than the caller, and needs the same processor. */
static void *own_table_run_urgently(void *unused)
{
	int fd = memfd_create("test-inside", MFD_CLOEXEC);
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	const struct sched_param priority = {.sched_priority = 1};
	struct own_table_visit visit = {.path = "/dev/null"};
	char scratch[OWN_TABLE_TEXT];
	uint64_t begin;

	own_table_use_one_processor();
	/* Only a privileged user may. */
	if (!sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority)) {
		CHECK(!fcntl(fd, F_SETLK, &lock));
		begin = own_table_processor_time();
		(void)own_table_run(own_table_visit, &visit, scratch);
		CHECK(own_table_processor_time() - begin < 300000000);
	}
	close(fd);
	return unused;
}

static void test_urgent_caller(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, own_table_run_urgently, NULL));
	CHECK(!pthread_join(thread, NULL));
}

static void test_lines_of_locks(void)
{
	CHECK(own_table_names_lock(
			"pos:\t0\nlock:\t1: POSIX  ADVISORY  WRITE 4711 fe:01:12 0 EOF\n"));
	CHECK(own_table_names_lock("lock:\t12: POSIX  MANDATORY READ  4711 fe:01:12 0 9\n"));
	CHECK(own_table_names_lock(
			"lock:\t1: FLOCK  ADVISORY  READ  1 a:b:c 0 EOF\nlock:\t2: POSIX  A"));
	CHECK(!own_table_names_lock("lock:\t1: FLOCK  ADVISORY  WRITE 4711 fe:01:12 0 EOF\n"));
	CHECK(!own_table_names_lock("lock:\t1: OFDLCK ADVISORY  READ  4711 fe:01:12 0 EOF\n"));
	CHECK(!own_table_names_lock("pos:\t0\nflags:\t0100002\nmnt_id:\t15\nino:\t12\n"));
	CHECK(!own_table_names_lock("lock:\nPOSIX  A\n") && !own_table_names_lock("lock:"));
	CHECK(!own_table_names_lock(""));
}

int main(void)
{
	test_own_table();
	test_long_lists();
	test_urgent_caller();
	test_lines_of_locks();
	test_hashes();
	test_search();
	test_utf8();
	test_json();
	test_raw_io();
	return 0;
}
