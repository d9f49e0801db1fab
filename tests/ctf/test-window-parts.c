/* SPDX-License-Identifier: MIT */
/*
 * The window over a data stream file, with a simulated file and simulated frames: bytes that are
 * read and kept, and each change and error of the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../check.h"
#include "../noted.h"
#include "ctf/compress.h"
#define CTF_WINDOW_NORMAL ((size_t)10)
#define CTF_WINDOW_MIN ((size_t)1)
#include "ctf/read/window.h"

/* ---- the file ---- */

static const char content[] = "abcdefghijklmnopqrstuvwxyz";
static struct stat status;
static off_t file_size;
static size_t most; /* bytes that one read returns at most */
static const char *failing;
static int failing_error;

static bool is_due(const char *call)
{
	if (!failing || strcmp(failing, call) != 0)
		return false;
	failing = NULL;
	errno = failing_error;
	return true;
}

static void set_fault(const char *call, int error)
{
	failing = call;
	failing_error = error;
}

static int played_openat(int dir, const char *name, int flags)
{
	CHECK(flags == (O_RDONLY | O_CLOEXEC | O_NONBLOCK));
	note("open %d %s;", dir, name);
	return is_due("open") ? -1 : 0;
}

static int played_fstat(int fd, struct stat *stat)
{
	CHECK(!fd);
	*stat = status;
	return is_due("fstat") ? -1 : 0;
}

static int played_fstatat(int dir, const char *name, struct stat *stat, int flags)
{
	CHECK(!flags);
	note("look %d %s;", dir, name);
	*stat = status;
	return is_due("fstatat") ? -1 : 0;
}

static int played_close(int fd)
{
	note("close %d;", fd);
	errno = EBADF;
	return 0;
}

static ssize_t played_pread(int fd, void *to, size_t size, off_t at)
{
	CHECK(!fd);
	note("read %zu at %d;", size, (int)at);
	if (is_due("pread"))
		return -1;
	errno = EINTR; /* left by another call */
	if (at >= file_size)
		return 0;
	size = size < most ? size : most;
	size = (size_t)(file_size - at) < size ? (size_t)(file_size - at) : size;
	memcpy(to, content + at, size);
	return (ssize_t)size;
}

static int played_advise(int fd, off_t at, off_t size, int advice)
{
	CHECK(!fd && advice == POSIX_FADV_WILLNEED);
	note("advise %d from %d;", (int)size, (int)at);
	return 0;
}

static void *played_realloc(void *old, size_t size)
{
	note("allocate %s%zu;", old ? "+" : "", size);
	return is_due("realloc") ? NULL : realloc(old, size);
}

__attribute__((format(printf, 2, 3))) static int played_asprintf(
		char **text, const char *format, ...)
{
	va_list arguments;
	int ret;

	if (is_due("asprintf"))
		return -1;
	va_start(arguments, format);
	ret = vasprintf(text, format, arguments);
	va_end(arguments);
	return ret;
}

/* ---- the frames ---- */

static int meant, creation_error;
static uint64_t frames_size, frames_file_size, grown_to;
static char created;
static struct {
	int ret;
	size_t got;
} reads[4];
static unsigned int next_read;

static int played_meant(int fd, const char *name)
{
	CHECK(!fd);
	note("meant %s;", name);
	return meant;
}

static struct ctf_unzstd *played_create(int fd, uint64_t size)
{
	CHECK(!fd);
	note("create %d;", (int)size);
	return is_due("create") ? NULL : (struct ctf_unzstd *)&created;
}

static int played_error(const struct ctf_unzstd *unzstd)
{
	CHECK((const char *)unzstd == &created);
	return creation_error;
}

static uint64_t played_size(const struct ctf_unzstd *unzstd)
{
	CHECK((const char *)unzstd == &created);
	return frames_size;
}

static uint64_t played_file_size(const struct ctf_unzstd *unzstd)
{
	CHECK((const char *)unzstd == &created);
	return frames_file_size;
}

static void played_grow(struct ctf_unzstd *unzstd, int fd, uint64_t size)
{
	CHECK((const char *)unzstd == &created && !fd);
	note("grow %d;", (int)size);
	frames_size = grown_to;
}

static void played_free(struct ctf_unzstd *unzstd)
{
	note("free %d;", !!unzstd);
}

static int played_decode(struct ctf_unzstd *unzstd, int fd, uint64_t at, void *bytes, size_t size,
		size_t *got, const char **why, uint64_t *resume)
{
	CHECK((const char *)unzstd == &created && !fd);
	note("decode %zu at %d;", size, (int)at);
	if (reads[next_read].ret) {
		*why = "bad frame";
		*resume = 77;
		return reads[next_read++].ret;
	}
	*got = reads[next_read].got;
	CHECK(*got <= size);
	memcpy(bytes, content + at, *got);
	next_read++;
	return 0;
}

#define pread(fd, to, size, at) played_pread(fd, to, size, at)
#include "base/io.c" /* NOLINT(bugprone-suspicious-include) */
/* The file includes no header that is not included above. */
#define openat(dir, name, flags) played_openat(dir, name, flags)
#define open(name, flags) played_openat(-7, name, flags)
#define fstat(fd, stat) played_fstat(fd, stat)
#define fstatat(dir, name, stat, flags) played_fstatat(dir, name, stat, flags)
#define close(fd) played_close(fd)
#define posix_fadvise(fd, at, size, advice) played_advise(fd, at, size, advice)
#define realloc(old, size) played_realloc(old, size)
#define asprintf(...) played_asprintf(__VA_ARGS__)
#define ctf_unzstd_is_meant(fd, name) played_meant(fd, name)
#define ctf_unzstd_create(fd, size) played_create(fd, size)
#define ctf_unzstd_error(unzstd) played_error(unzstd)
#define ctf_unzstd_size(unzstd) played_size(unzstd)
#define ctf_unzstd_file_size(unzstd) played_file_size(unzstd)
#define ctf_unzstd_grow(unzstd, fd, size) played_grow(unzstd, fd, size)
#define ctf_unzstd_free(unzstd) played_free(unzstd)
#define ctf_unzstd_read(unzstd, fd, at, bytes, size, got, why, resume) \
	played_decode(unzstd, fd, at, bytes, size, got, why, resume)
#define ctf_window_start tested_start
#define ctf_window_free tested_free
#define ctf_window_load tested_load
#define ctf_window_extend tested_extend
#define ctf_window_grown tested_grown
int ctf_window_start(struct ctf_window *window, int dir_fd, const char *dir, const char *name,
		const struct stat *stat);
void ctf_window_free(struct ctf_window *window);
int ctf_window_load(struct ctf_window *window, uint64_t from, size_t wanted);
void ctf_window_extend(struct ctf_window *window, const struct stat *stat);
uint64_t ctf_window_grown(struct ctf_window *window);
#include "ctf/read/window.c" /* NOLINT(bugprone-suspicious-include): replaces the calls in it */
#undef fstat

static struct ctf_window window;

static void set_file(off_t size)
{
	status = (struct stat){.st_dev = 5, .st_ino = 6, .st_size = size};
	file_size = size;
	most = 100;
	meant = 1;
	creation_error = 0;
	next_read = 0;
}

static void begin_plain(int dir_fd, off_t size)
{
	set_file(size);
	CHECK(!ctf_window_start(&window, dir_fd, "/d", "a", &status));
	*log_text = '\0';
}

/* The frames have `size` bytes, and the file 9. */
static void begin_frames(uint64_t size)
{
	set_file(9);
	frames_size = size;
	frames_file_size = 9;
	CHECK(!ctf_window_start(&window, 0, "/d", "a.zst", &status));
	*log_text = '\0';
}

static void end(void)
{
	bool has_frames = window.unzstd;

	*log_text = '\0';
	ctf_window_free(&window);
	CHECK(has_noted(has_frames ? "free 1;" : "free 0;"));
	CHECK(!window.bytes && !window.capacity && !window.count && !window.unzstd);
}

static bool has_loaded(uint64_t at, size_t count)
{
	return window.at == at && window.count == count &&
			(!count || !memcmp(window.bytes, content + at, count));
}

/* ---- tests ---- */

static void test_starts(void)
{
	set_file(26);
	memset(&window, 0x55, sizeof(window));
	CHECK(!ctf_window_start(&window, 3, "/d", "a", &status) && has_noted(""));
	CHECK(window.dir_fd == 3 && !strcmp(window.dir, "/d") && !strcmp(window.name, "a") &&
			window.device == 5 && window.inode == 6 && window.size == 26 &&
			window.normal == 10 && !window.unzstd && !window.unopened &&
			!window.shrunk && !window.capacity && !window.count);
	/* Sizes that no file has. */
	CHECK(sane_size(-1) == UINT64_C(1) << 60 && sane_size((off_t)1 << 61) == UINT64_C(1) << 60);
	CHECK(sane_size(((off_t)1 << 60) - 1) == (UINT64_C(1) << 60) - 1 && !sane_size(0));
	frames_size = 1000;
	CHECK(!ctf_window_start(&window, 0, "/d", "a.zst", &status));
	CHECK(has_noted("open 0 a.zst;meant a.zst;create 26;close 0;"));
	CHECK(window.size == 1000 && window.unzstd && !window.unopened);
	end();
	CHECK(!ctf_window_start(&window, -1, "/d", "a.zst", &status));
	CHECK(has_noted("open -7 /d/a.zst;meant a.zst;create 26;close 0;"));
	end();
	/* The name is that of compressed frames, the content is not. */
	meant = 0;
	CHECK(!ctf_window_start(&window, 0, "/d", "a.zst", &status));
	CHECK(has_noted("open 0 a.zst;meant a.zst;close 0;") && window.size == 26 &&
			!window.unzstd && !window.unopened);
	/* Errors, which the first load reports. */
	meant = -EACCES;
	CHECK(!ctf_window_start(&window, 0, "/d", "a.zst", &status));
	CHECK(!strcmp(window.unopened, "Permission denied") && !window.unzstd);
	CHECK(ctf_window_load(&window, 0, 1) == -EIO && window.why == window.unopened);
	CHECK(has_noted("open 0 a.zst;meant a.zst;close 0;"));
	meant = 1;
	creation_error = EIO;
	CHECK(!ctf_window_start(&window, 0, "/d", "a.zst", &status) && window.size == 26);
	CHECK(!strcmp(window.unopened, "Input/output error"));
	end();
	set_fault("create", 0);
	CHECK(ctf_window_start(&window, 0, "/d", "a.zst", &status) == -ENOMEM);
	CHECK(has_noted("open 0 a.zst;meant a.zst;create 26;close 0;"));
	set_fault("asprintf", 0);
	CHECK(ctf_window_start(&window, -1, "/d", "a.zst", &status) == -ENOMEM && has_noted(""));
	set_fault("open", ENOENT);
	CHECK(!ctf_window_start(&window, 0, "/d", "a.zst", &status));
	CHECK(!strcmp(window.unopened, "No such file or directory"));
	CHECK(has_noted("open 0 a.zst;"));
}

static void test_reopened(void)
{
	begin_plain(4, 26);
	CHECK(reopen(&window) == 0 && has_noted("open 4 a;"));
	window.dir_fd = -1;
	CHECK(reopen(&window) == 0 && has_noted("open -7 /d/a;"));
	window.count = 3;
	status.st_ino++;
	CHECK(reopen(&window) == -EIO && has_noted("open -7 /d/a;close 0;") && !window.count);
	CHECK(!strcmp(window.why, "another file has replaced it"));
	status.st_ino--;
	status.st_dev++;
	window.why = NULL;
	CHECK(reopen(&window) == -EIO && has_noted("open -7 /d/a;close 0;"));
	CHECK(!strcmp(window.why, "another file has replaced it"));
	status.st_dev--;
	set_fault("fstat", ENOMEM);
	CHECK(reopen(&window) == -EIO && has_noted("open -7 /d/a;close 0;"));
	CHECK(!strcmp(window.why, "Cannot allocate memory"));
	set_fault("open", EMFILE);
	CHECK(reopen(&window) == -EIO && has_noted("open -7 /d/a;"));
	CHECK(!strcmp(window.why, "Too many open files"));
	set_fault("asprintf", 0);
	CHECK(reopen(&window) == -ENOMEM && has_noted(""));
}

static void test_plain_loads(void)
{
	begin_plain(0, 26);
	window.resume = 5;
	CHECK(!ctf_window_load(&window, 3, 4) && has_loaded(3, 10) && !window.resume);
	CHECK(has_noted("allocate 10;open 0 a;read 10 at 3;advise 10 from 13;close 0;"));
	/* More than usual, in pieces; then less, in the same memory. */
	most = 5;
	CHECK(!ctf_window_load(&window, 1, 12) && has_loaded(1, 12));
	CHECK(has_noted("allocate 12;open 0 a;read 12 at 1;read 7 at 6;read 2 at 11;advise 10 from 13;close 0;"));
	most = 100;
	CHECK(!ctf_window_load(&window, 4, 12) && has_loaded(4, 12));
	CHECK(has_noted("open 0 a;read 12 at 4;advise 10 from 16;close 0;"));
	/* The last bytes, and positions after them. */
	CHECK(!ctf_window_load(&window, 16, 1) && has_loaded(16, 10));
	CHECK(has_noted("open 0 a;read 10 at 16;close 0;"));
	CHECK(!ctf_window_load(&window, 20, 30) && has_loaded(20, 6) && !window.shrunk);
	CHECK(has_noted("open 0 a;read 6 at 20;close 0;"));
	CHECK(!ctf_window_load(&window, 26, 1) && has_loaded(26, 0) && has_noted(""));
	CHECK(!ctf_window_load(&window, 27, 1) && has_loaded(27, 0) && has_noted(""));
	/* The file has become shorter. */
	file_size = 22;
	CHECK(!ctf_window_load(&window, 20, 30) && has_loaded(20, 2));
	CHECK(window.shrunk && window.size == 22);
	CHECK(has_noted("open 0 a;read 6 at 20;read 4 at 22;close 0;"));
	file_size = 26;
	window.size = 26;
	/* A signal, an error, and no memory. */
	set_fault("pread", EINTR);
	CHECK(!ctf_window_load(&window, 20, 3) && has_loaded(20, 6));
	CHECK(has_noted("open 0 a;read 6 at 20;read 6 at 20;close 0;"));
	set_fault("pread", EISDIR);
	CHECK(ctf_window_load(&window, 2, 3) == -EIO && !window.count);
	CHECK(!strcmp(window.why, "Is a directory"));
	CHECK(has_noted("open 0 a;read 10 at 2;close 0;"));
	set_fault("open", ENOENT);
	CHECK(ctf_window_load(&window, 2, 3) == -EIO && has_noted("open 0 a;"));
	set_fault("realloc", 0);
	CHECK(ctf_window_load(&window, 2, 20) == -ENOMEM && has_noted("allocate 20;"));
	CHECK(!window.bytes && !window.capacity);
	CHECK(!ctf_window_load(&window, 2, 3) && has_loaded(2, 10));
	end();
}

static void test_decoded_loads(void)
{
	begin_frames(26);
	reads[0].got = 4;
	reads[1].got = 6;
	CHECK(!ctf_window_load(&window, 2, 3) && has_loaded(2, 10));
	CHECK(has_noted("allocate 10;open 0 a.zst;decode 10 at 2;decode 6 at 6;close 0;"));
	/* Loaded bytes that are still wanted move to the front: all, some, and one byte. */
	CHECK(!ctf_window_load(&window, 2, 3) && has_loaded(2, 10) && has_noted(""));
	next_read = 0;
	reads[0].got = 3;
	CHECK(!ctf_window_load(&window, 5, 3) && has_loaded(5, 10));
	CHECK(has_noted("open 0 a.zst;decode 3 at 12;close 0;"));
	next_read = 0;
	reads[0].got = 11;
	CHECK(!ctf_window_load(&window, 14, 12) && has_loaded(14, 12));
	CHECK(has_noted("allocate +12;open 0 a.zst;decode 11 at 15;close 0;"));
	/* No loaded byte is still wanted. */
	next_read = 0;
	reads[0].got = 10;
	CHECK(!ctf_window_load(&window, 13, 1) && has_loaded(13, 10));
	CHECK(has_noted("open 0 a.zst;decode 10 at 13;close 0;"));
	next_read = 0;
	reads[0].got = 3;
	CHECK(!ctf_window_load(&window, 23, 1) && has_loaded(23, 3));
	CHECK(has_noted("open 0 a.zst;decode 3 at 23;close 0;"));
	/* More bytes are loaded than are wanted. */
	end();
	begin_frames(26);
	reads[0].got = 12;
	CHECK(!ctf_window_load(&window, 2, 12) && has_loaded(2, 12));
	CHECK(!ctf_window_load(&window, 3, 2) && has_loaded(3, 10));
	CHECK(has_noted("allocate 12;open 0 a.zst;decode 12 at 2;close 0;"));
	/* The frames have become fewer. */
	next_read = 0;
	reads[0].got = 2;
	reads[1].got = 0;
	CHECK(!ctf_window_load(&window, 15, 10) && has_loaded(15, 2));
	CHECK(window.shrunk && window.size == 17);
	end();
	/* The bytes before damage are good. */
	begin_frames(26);
	reads[0].got = 4;
	reads[1].ret = -EIO;
	CHECK(!ctf_window_load(&window, 2, 3) && has_loaded(2, 4) && !window.resume);
	reads[0].ret = -EIO;
	next_read = 0;
	CHECK(ctf_window_load(&window, 4, 8) == -EIO && !window.count && window.resume == 77);
	CHECK(!strcmp(window.why, "bad frame"));
	next_read = 0;
	CHECK(ctf_window_load(&window, 4, 8) == -EIO && window.resume == 77);
	reads[0].ret = -ENOMEM;
	reads[0].got = 0;
	next_read = 0;
	CHECK(ctf_window_load(&window, 4, 8) == -ENOMEM);
	memset(reads, 0, sizeof(reads));
	end();
	/* Without memory for more, the loaded bytes stay. */
	begin_frames(26);
	reads[0].got = 10;
	CHECK(!ctf_window_load(&window, 2, 3));
	set_fault("realloc", 0);
	CHECK(ctf_window_load(&window, 3, 12) == -ENOMEM && has_loaded(3, 9) &&
			window.capacity == 10);
	memset(reads, 0, sizeof(reads));
	end();
}

static struct stat stat_of(dev_t device, ino_t inode, off_t size)
{
	return (struct stat){.st_dev = device, .st_ino = inode, .st_size = size};
}

static void test_extended(void)
{
	struct stat stat;

	begin_plain(0, 20);
	for (unsigned int i = 0; i < 5; i++) {
		static const struct {
			dev_t device;
			ino_t inode;
			off_t size;
			uint64_t expected, grown;
		} rows[] = {{5, 6, 19, 20, 0}, {5, 6, 20, 20, 0}, {4, 6, 23, 20, 0},
				{5, 7, 23, 20, 0}, {5, 6, 24, 24, 24}};

		status = stat = stat_of(rows[i].device, rows[i].inode, rows[i].size);
		window.size = 20;
		CHECK(ctf_window_grown(&window) == rows[i].grown && window.size == 20);
		CHECK(has_noted("look 0 a;"));
		ctf_window_extend(&window, &stat);
		CHECK(window.size == rows[i].expected && has_noted(""));
	}
	stat = status = stat_of(5, 6, 26);
	window.dir_fd = -1;
	CHECK(ctf_window_grown(&window) == 26 && has_noted("look -100 /d/a;"));
	set_fault("asprintf", 0);
	CHECK(!ctf_window_grown(&window) && has_noted(""));
	set_fault("fstatat", ENOENT);
	CHECK(!ctf_window_grown(&window) && has_noted("look -100 /d/a;"));
	window.shrunk = true;
	CHECK(!ctf_window_grown(&window) && has_noted(""));
	ctf_window_extend(&window, &stat);
	CHECK(window.size == 24);
	end();
	/* Frames: first the size of the file is compared, and then the size of its content. */
	for (unsigned int i = 0; i < 4; i++) {
		static const struct {
			off_t size;
			uint64_t grown_to, expected;
		} rows[] = {{8, 50, 30}, {9, 50, 30}, {10, 31, 31}, {10, 29, 30}};
		const char *expected = rows[i].size > 9 ? "open 0 a.zst;grow 10;close 0;" : "";

		begin_frames(30);
		grown_to = rows[i].grown_to;
		status = stat = stat_of(5, 6, rows[i].size);
		ctf_window_extend(&window, &stat);
		CHECK(window.size == rows[i].expected && has_noted(expected));
		window.size = 30;
		CHECK(ctf_window_grown(&window) == (rows[i].expected > 30 ? 31 : 0));
		CHECK(!strncmp(log_text, "look 0 a.zst;", 13));
		CHECK(!strcmp(log_text + 13, expected) && window.size == 30);
		set_fault("open", EMFILE);
		*log_text = '\0';
		ctf_window_extend(&window, &stat);
		CHECK(window.size == 30 && has_noted(rows[i].size > 9 ? "open 0 a.zst;" : ""));
		set_fault("open", EMFILE);
		CHECK(!ctf_window_grown(&window));
		failing = NULL;
		end();
	}
	begin_frames(30);
	grown_to = 30;
	status = stat_of(5, 6, 10);
	CHECK(!ctf_window_grown(&window));
	end();
}

int main(void)
{
	test_starts();
	test_reopened();
	test_plain_loads();
	test_decoded_loads();
	test_extended();
	return 0;
}
