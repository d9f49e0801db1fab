/* SPDX-License-Identifier: MIT */
/* Reads and writes continue after signals and short results, and obey their limits. */
#include "base/io.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../check.h"
#include "played-calls.h"

#define TEXT "0123456789"
#define SIZE (sizeof(TEXT) - 1)

static int memory_with(const char *text)
{
	int fd = memfd_create("test-io", MFD_CLOEXEC);

	CHECK(fd >= 0);
	CHECK(__real_pwrite64(fd, text, strlen(text), 0) == (ssize_t)strlen(text));
	return fd;
}

static void test_write(void)
{
	char got[SIZE + 4] = "";
	int fd = memory_with("");

	played_interrupts = 2;
	played_most = 3;
	CHECK(!io_write_all(fd, TEXT, SIZE));
	CHECK(__real_pread64(fd, got, sizeof(got), 0) == (ssize_t)SIZE && !memcmp(got, TEXT, SIZE));
	played_interrupts = 2;
	CHECK(!io_write_all_at(fd, TEXT, SIZE, 4));
	CHECK(__real_pread64(fd, got, sizeof(got), 0) == (ssize_t)SIZE + 4);
	CHECK(!memcmp(got, "0123" TEXT, SIZE + 4));
	/* The second part fails. */
	played_before = 1;
	played_error = ENOSPC;
	CHECK(io_write_all(fd, TEXT, SIZE) == -ENOSPC);
	played_before = 1;
	CHECK(io_write_all_at(fd, TEXT, SIZE, 0) == -ENOSPC);
	played_reset();
	/* A call that accepts nothing. */
	played_most = 0;
	CHECK(io_write_all(fd, TEXT, SIZE) == -EIO);
	CHECK(io_write_all_at(fd, TEXT, SIZE, 0) == -EIO);
	CHECK(!io_write_all(fd, TEXT, 0) && !io_write_all_at(fd, TEXT, 0, 0));
	played_reset();
	CHECK(io_write_all(-1, TEXT, SIZE) == -EBADF);
	close(fd);
}

static void test_read(void)
{
	char got[SIZE + 1];
	int fd = memory_with(TEXT);

	played_interrupts = 2;
	played_most = 3;
	CHECK(io_read(fd, got, sizeof(got)) == (ssize_t)SIZE && !memcmp(got, TEXT, SIZE));
	CHECK(io_read(fd, got, sizeof(got)) == 0);
	played_interrupts = 2;
	CHECK(io_read_at(fd, got, sizeof(got), 4) == (ssize_t)SIZE - 4 &&
			!memcmp(got, &TEXT[4], SIZE - 4));
	CHECK(!io_read_exactly_at(fd, got, SIZE, 0) && !memcmp(got, TEXT, SIZE));
	CHECK(io_read_exactly_at(fd, got, SIZE + 1, 0) == -ENODATA);
	CHECK(!io_read_exactly_at(fd, got, 0, SIZE + 100));
	played_before = 1;
	played_error = EIO;
	CHECK(io_read_exactly_at(fd, got, SIZE, 0) == -EIO);
	CHECK(__real_read(fd, got, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	played_before = 1;
	CHECK(io_read(fd, got, SIZE) == -EIO);
	played_reset();
	close(fd);
}

static void test_text(void)
{
	char path[64], text[SIZE + 2];
	int fd = memory_with(TEXT);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	CHECK(io_read_text(path, text, SIZE + 2) == (ssize_t)SIZE && !strcmp(text, TEXT));
	CHECK(io_read_text(path, text, SIZE + 1) == (ssize_t)SIZE && !strcmp(text, TEXT));
	CHECK(io_read_text(path, text, SIZE) == (ssize_t)SIZE - 1 && !strcmp(text, "012345678"));
	CHECK(io_read_text(path, text, 1) == 0 && !*text);
	strcpy(text, "x");
	CHECK(io_read_text("/proc/self/no-such-file", text, sizeof(text)) == -ENOENT && !*text);
	strcpy(text, "x");
	played_error = EIO;
	CHECK(io_read_text(path, text, sizeof(text)) == -EIO && !*text);
	played_reset();
	/* A file of the kernel, whose size is 0. */
	CHECK(io_read_text("/proc/self/comm", text, sizeof(text)) > 0 && *text);
	close(fd);
}

static void check_whole(int fd, size_t size, size_t limit, int expected)
{
	char *bytes = NULL;
	size_t got = 1;
	int ret;

	CHECK(lseek(fd, 0, SEEK_SET) == 0 && !ftruncate(fd, (off_t)size));
	ret = io_read_whole(fd, limit, &bytes, &got);
	CHECK(ret == expected);
	CHECK(ret ? !bytes && !got : bytes && got == size && !bytes[size]);
	free(bytes);
}

static void test_whole(void)
{
	int fd = memory_with(TEXT);
	size_t sizes[] = {0, 1, 4094, 4095, 4096, 8190, 8191, 8192, 100000};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		check_whole(fd, sizes[i], SIZE_MAX, 0);
		check_whole(fd, sizes[i], sizes[i], 0);
		if (sizes[i])
			check_whole(fd, sizes[i], sizes[i] - 1, -EFBIG);
	}
	played_interrupts = 3;
	played_most = 1000;
	check_whole(fd, 10000, 10000, 0);
	played_before = 3;
	played_error = EIO;
	check_whole(fd, 10000, 10000, -EIO);
	played_reset();
	for (unsigned int nr = 0; nr < 2; nr++) {
		played_allocations = nr;
		check_whole(fd, 5000, 10000, -ENOMEM);
	}
	played_allocations = 2;
	check_whole(fd, 5000, 10000, 0);
	played_allocations = -1u;
	close(fd);
}

/* From the begin of one file to the end of another, in pieces of 64 KiB. */
static void test_copy(void)
{
	static char bytes[2 * 65536 + 1], got[sizeof(bytes) + 1];
	static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 2 * 65536, sizeof(bytes)};
	int from = memory_with("");

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7 + i / 251);
	CHECK(__real_pwrite64(from, bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		int to = memory_with("");

		played_interrupts = 3;
		CHECK(!io_copy(from, to, sizes[i]));
		CHECK(__real_pread64(to, got, sizeof(got), 0) == (ssize_t)sizes[i]);
		CHECK(!memcmp(got, bytes, sizes[i]));
		played_reset();
		close(to);
	}
	CHECK(io_copy(from, -1, 1) == -EBADF && io_copy(-1, from, 1) == -EBADF);
	CHECK(io_copy(from, from, sizeof(bytes) + 1) == -ENODATA);
	close(from);
}

int main(void)
{
	test_write();
	test_copy();
	test_read();
	test_text();
	test_whole();
	return 0;
}
