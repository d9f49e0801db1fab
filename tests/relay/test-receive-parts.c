/* SPDX-License-Identifier: MIT */
/*
 * Files of a receiver, with replaced calls: names of directories, writes in pieces, and metadata
 * that replaces older metadata.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../check.h"
#include "../noted.h"
#include "../failing-calls.h"
#include "ctf/ctf.h"

/* ---- replaced calls ---- */

static int open_error, rename_error, mkdir_error;
static unsigned int nr_existing; /* names that exist before a directory can be made */
static ssize_t writes[4];        /* bytes, or a negative error; later writes take all bytes */
static unsigned int next_write, nr_writes;

static int played_open(const char *path, int flags, mode_t mode)
{
	CHECK((flags & ~O_TRUNC) == (O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW) && mode == 0644);
	note("open %s%s;", path, flags & O_TRUNC ? " empty" : "");
	errno = open_error;
	return open_error ? -1 : 0;
}

static ssize_t played_write(int fd, const void *bytes, size_t size, off_t at)
{
	CHECK(!fd);
	note("write %c %zu at %d;", *(const char *)bytes, size, (int)at);
	errno = EINTR; /* left by another call */
	if (next_write == nr_writes)
		return (ssize_t)size;
	errno = writes[next_write] < 0 ? (int)-writes[next_write] : errno;
	return writes[next_write++] < 0 ? -1 : writes[next_write - 1];
}

static int played_truncate(int fd, off_t size)
{
	CHECK(!fd);
	note("truncate %d;", (int)size);
	return 0;
}

static int played_close(int fd)
{
	note("close %d;", fd);
	return 0;
}

static int played_rename(const char *from, const char *to)
{
	note("rename %s %s;", from, to);
	errno = rename_error;
	return rename_error ? -1 : 0;
}

static int played_mkdir(const char *path, mode_t mode)
{
	CHECK(mode == 0750);
	note("make %.40s;", path);
	errno = mkdir_error ? mkdir_error : EEXIST;
	if (!mkdir_error && nr_existing) {
		nr_existing--;
		return -1;
	}
	return mkdir_error ? -1 : 0;
}

#define pwrite(fd, bytes, size, at) played_write(fd, bytes, size, at)
#include "base/io.c" /* NOLINT(bugprone-suspicious-include) */
#define open(path, flags, mode) played_open(path, flags, mode)
#define ftruncate(fd, size) played_truncate(fd, size)
#define close(fd) played_close(fd)
#define rename(from, to) played_rename(from, to)
#define mkdir(path, mode) played_mkdir(path, mode)
#include "relay/receive.c" /* NOLINT(bugprone-suspicious-include): replaces the calls in it */

static char output[] = "/o", directory[] = "t";
static struct receive receive;

static void played_report(void *user, bool is_error, const char *text)
{
	(void)user;
	(void)is_error;
	note("say %s;", text);
}

static struct trace begin(void)
{
	receive.output = output;
	receive.log_message = played_report;
	receive.failed = false;
	open_error = rename_error = mkdir_error = 0;
	next_write = nr_writes = nr_existing = 0;
	*log_text = '\0';
	return (struct trace){.directory = directory};
}

static void test_writes(void)
{
	struct trace trace = begin();

	writes[0] = 2;
	writes[1] = -EINTR;
	nr_writes = 2;
	CHECK(!io_write_all_at(0, "abcde", 5, 100));
	CHECK(has_noted("write a 5 at 100;write c 3 at 102;write c 3 at 102;"));
	writes[0] = 0;
	next_write = 0;
	nr_writes = 1;
	CHECK(io_write_all_at(0, "abcde", 5, 100) == -EIO && has_noted("write a 5 at 100;"));
	writes[0] = -ENOSPC;
	next_write = 0;
	CHECK(io_write_all_at(0, "abcde", 5, 100) == -ENOSPC && !io_write_all_at(0, "", 0, 7));
	*log_text = '\0';
	CHECK(!relay_receive_append(&receive, &trace, "f", 0, "xyz", 3, 9));
	CHECK(has_noted("open /o/t/f;write x 3 at 9;close 0;") && !receive.failed);
	/* After an error, the bytes that were written are removed. */
	writes[0] = 2;
	writes[1] = -EDQUOT;
	next_write = 0;
	nr_writes = 2;
	CHECK(relay_receive_append(&receive, &trace, "f", O_TRUNC, "xyz", 3, 9) == -EDQUOT &&
			receive.failed);
	CHECK(strstr(log_text, "open /o/t/f empty;write x 3 at 9;write z 1 at 11;truncate 9;"));
	CHECK(strstr(log_text, "close 0;"));
	trace = begin();
	open_error = EACCES;
	CHECK(relay_receive_append(&receive, &trace, "f", 0, "xyz", 3, 9) == -EACCES &&
			receive.failed);
	CHECK(has_noted("open /o/t/f;say cannot write to /o/t/f: Permission denied;"));
}

static void test_directories(void)
{
	static char name[8300];
	struct trace trace = begin();
	char *made = NULL;
	bool is_renamed = true;

	(void)trace;
	CHECK(!relay_receive_make_directory(&receive, "a/b/c", &made, &is_renamed) && !is_renamed);
	CHECK(!strcmp(made, "a/b/c") && has_noted("make /o/a;make /o/a/b;make /o/a/b/c;"));
	free(made);
	nr_existing = 3;
	CHECK(!relay_receive_make_directory(&receive, "a/c", &made, &is_renamed) && is_renamed);
	CHECK(!strcmp(made, "a/c-3") &&
			has_noted("make /o/a;make /o/a/c;make /o/a/c-2;make /o/a/c-3;"));
	free(made);
	mkdir_error = EACCES;
	CHECK(relay_receive_make_directory(&receive, "a/c", &made, &is_renamed) == -EACCES &&
			has_noted("make /o/a;"));
	CHECK(relay_receive_make_directory(&receive, "c", &made, &is_renamed) == -EACCES &&
			has_noted("make /o/c;"));
	mkdir_error = EEXIST;
	CHECK(relay_receive_make_directory(&receive, "c", &made, &is_renamed) == -EEXIST);
	CHECK(strstr(receive.text, "/o/c-999"));
	mkdir_error = 0;
	failing_arm(1);
	CHECK(relay_receive_make_directory(&receive, "c", &made, &is_renamed) == -ENOMEM &&
			failing_has_failed());
	/* The longest name leaves space for a number. */
	for (size_t size = sizeof(receive.text) - 16 - 4; size < sizeof(receive.text) - 16;
			size++) {
		*log_text = '\0';
		memset(name, 'n', size);
		name[size] = '\0';
		made = NULL;
		CHECK(relay_receive_make_directory(&receive, name, &made, &is_renamed) ==
				(3 + size < sizeof(receive.text) - 16 ? 0 : -ENAMETOOLONG));
		free(made);
	}
	*log_text = '\0';
}

static struct frame_file part(uint32_t generation, uint64_t offset, size_t size, uint64_t total)
{
	return (struct frame_file){.generation = generation,
			.offset = offset,
			.size = size,
			.total = total,
			.bytes = (const unsigned char *)"0123456789" + offset};
}

static void test_metadata(void)
{
	struct trace trace = begin();
	struct frame_file file = part(2, 0, 4, 7);

	/* Metadata is collected in a new file, which then replaces the old one. */
	take_metadata(&receive, &trace, &file);
	CHECK(has_noted("open /o/t/.metadata.new empty;write 0 4 at 0;close 0;"));
	CHECK(trace.staged == 4 && trace.staged_generation == 2 && !trace.metadata &&
			trace.wanted == 7);
	file = part(2, 5, 2, 7);
	take_metadata(&receive, &trace, &file);
	file = part(2, 1, 3, 7);
	take_metadata(&receive, &trace, &file);
	CHECK(has_noted("") && trace.staged == 4);
	file = part(2, 4, 3, 7);
	take_metadata(&receive, &trace, &file);
	CHECK(has_noted("open /o/t/.metadata.new;write 4 3 at 4;close 0;rename /o/t/.metadata.new /o/t/metadata;"));
	CHECK(trace.generation == 2 && trace.metadata == 7);
	/*
	 * Growing metadata: only new bytes are written. Metadata of an older generation is ignored.
	 */
	file = part(2, 5, 4, 9);
	take_metadata(&receive, &trace, &file);
	CHECK(has_noted("open /o/t/metadata;write 7 2 at 7;close 0;") && trace.metadata == 9);
	CHECK(trace.wanted == 9);
	take_metadata(&receive, &trace, &file);
	file = part(2, 10, 0, 9);
	take_metadata(&receive, &trace, &file);
	file = part(1, 0, 4, 50);
	take_metadata(&receive, &trace, &file);
	CHECK(has_noted("") && trace.metadata == 9 && trace.wanted == 9);
	/* The beginning of the metadata is missing; then the rename fails. */
	file = part(3, 1, 4, 5);
	take_metadata(&receive, &trace, &file);
	CHECK(has_noted("") && trace.staged_generation == 2 && trace.newest == 3 &&
			trace.wanted == 5);
	rename_error = EACCES;
	file = part(3, 0, 5, 5);
	take_metadata(&receive, &trace, &file);
	CHECK(strstr(log_text, "rename /o/t/.metadata.new /o/t/metadata;") && receive.failed);
	CHECK(trace.generation == 2 && trace.metadata == 9);
	open_error = EACCES;
	file = part(2, 9, 1, 10);
	trace.newest = 2;
	take_metadata(&receive, &trace, &file);
	CHECK(trace.metadata == 9);
}

int main(void)
{
	test_writes();
	test_directories();
	test_metadata();
	return 0;
}
