/* SPDX-License-Identifier: MIT */
/*
 * Repairing: which files are changed and how, which traces are refused and why, and each call that
 * fails. The test replaces metadata and streams.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "../check.h"
#include "../noted.h"
#include "../resources.h"
#include "ctf/compress.h"
#include "ctf/read/find.h"
#include "ctf/read/stream.h"
#include "ctf/write/writer.h"
#include "scratch.h"

static char scratch[64];

static bool is_same(const char *text, const char *expected)
{
	if (strcmp(text, expected) != 0)
		fprintf(stderr, "%s\n%s\n", text, expected);
	return !strcmp(text, expected);
}

/* ---- the calls, one of which fails ---- */

static struct {
	const char *call; /* NULL: none */
	int error;
	unsigned int skipped; /* this many calls of it succeed first */
} fault;

static void set_fault(const char *call, int error)
{
	fault.call = call;
	fault.error = error;
	fault.skipped = 0;
}

static bool is_due(const char *call)
{
	if (!fault.call || strcmp(fault.call, call) != 0 || fault.skipped-- > 0)
		return false;
	fault.call = NULL;
	errno = fault.error;
	return true;
}

static int played_openat(int dir, const char *name, int flags)
{
	const char *call = "unknown flags";

	if (flags == (O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC))
		call = "write";
	else if (flags == (O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC))
		call = "change";
	else if (flags == (O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK))
		call = "lock";
	note("%s %s;", call, name);
	return is_due(call) ? -1 : openat(dir, name, flags);
}

static int played_fstatat(int dir, const char *name, struct stat *stat, int flags)
{
	CHECK(flags == AT_SYMLINK_NOFOLLOW);
	return is_due("fstatat") ? -1 : fstatat(dir, name, stat, flags);
}

static int played_fstat(int fd, struct stat *stat)
{
	return is_due("fstat") ? -1 : fstat(fd, stat);
}

static int played_ftruncate(int fd, off_t size)
{
	return is_due("ftruncate") ? -1 : ftruncate(fd, size);
}

static ssize_t played_pwrite(int fd, const void *bytes, size_t size, off_t at)
{
	if (is_due("pwrite"))
		return fault.error ? -1 : (ssize_t)size - 1;
	return pwrite(fd, bytes, size, at);
}

static ssize_t played_pread(int fd, void *to, size_t size, off_t at)
{
	if (is_due("pread"))
		return fault.error ? -1 : 0;
	return pread(fd, to, size, at);
}

static int played_close(int fd)
{
	bool fails = is_due("close");

	CHECK(!close(fd));
	errno = fails ? fault.error : errno;
	return fails ? -1 : 0;
}

static void *played_malloc(size_t size)
{
	return is_due("malloc") ? NULL : malloc(size);
}

static int played_flock(int fd, int operation)
{
	CHECK(operation == (LOCK_SH | LOCK_NB));
	return is_due("flock") ? -1 : flock(fd, operation);
}

static int played_faccessat(int dir, const char *name, int mode, int flags)
{
	CHECK(mode == F_OK && flags == AT_SYMLINK_NOFOLLOW);
	return is_due("faccessat") ? -1 : faccessat(dir, name, mode, flags);
}

static int played_rmdir(const char *dir)
{
	return is_due("rmdir") ? -1 : rmdir(dir);
}

static int played_next_frame(struct ctf_frames *frames)
{
	return is_due("frame") ? -fault.error : ctf_frames_next(frames);
}

/* ---- metadata and streams ---- */

static struct {
	int ret;
	const char *why;
	bool is_usable, is_side, is_ctf2;
	size_t good;
} metadata;

static int played_metadata(int dir_fd, const char *dir, struct ctf_trace_classes **classes,
		struct error *error)
{
	CHECK(dir_fd >= 0 && *dir);
	note("read %s;", strrchr(dir, '/') + 1);
	*classes = is_due("metadata") ? NULL : calloc(1, sizeof(**classes));
	if (!*classes)
		return -ENOMEM;
	(*classes)->trace.is_side = metadata.is_side;
	(*classes)->is_ctf2 = metadata.is_ctf2;
	(*classes)->good_size = metadata.good;
	snprintf(error->text, sizeof(error->text), "%s", metadata.why);
	return metadata.ret;
}

static bool played_usable(const struct ctf_trace_classes *classes)
{
	CHECK(classes);
	return metadata.is_usable;
}

static int stream_open;
static const char *stream_items; /* e: event, d: damage, c: a truncated packet, !: an error */
static const char *next_item;

static int played_stream_open(struct ctf_stream_reader *stream, struct ctf_trace_classes *classes,
		const char *name, const struct stat *stat)
{
	CHECK(classes && stat->st_size);
	note("open %s;", name);
	memset(stream, 0, sizeof(*stream));
	next_item = stream_items;
	return stream_open;
}

static int played_stream_next(struct ctf_stream_reader *stream)
{
	char item = *next_item;

	if (!item)
		return 0;
	next_item++;
	stream->item.kind = item == 'e' ? CTF_ITEM_EVENT : CTF_ITEM_DAMAGE;
	stream->item.cut = item != 'd'; /* has no meaning for an event */
	stream->damaged_packet = 100;
	stream->good = 8 * 90;
	stream->decoder.clock = 0x3131313131313131;
	return item == '!' ? -ENOMEM : 1;
}

static void played_stream_close(struct ctf_stream_reader *stream)
{
	CHECK(stream->damaged_packet || next_item == stream_items);
	note("close;");
}

static int played_find(
		const char *dir, bool growing, ctf_found_trace *found, void *context, uint64_t *nr)
{
	CHECK(!growing && !nr);
	return is_due("find") ? -fault.error : ctf_find_traces(dir, growing, found, context, nr);
}

static void played_free(struct ctf_trace_classes *classes)
{
	free(classes);
}

#define openat(dir, name, flags) played_openat(dir, name, flags)
#define fstatat(dir, name, stat, flags) played_fstatat(dir, name, stat, flags)
#define fstat(fd, stat) played_fstat(fd, stat)
#define ftruncate(fd, size) played_ftruncate(fd, size)
#define pwrite(fd, bytes, size, at) played_pwrite(fd, bytes, size, at)
#define pread(fd, to, size, at) played_pread(fd, to, size, at)
#define close(fd) played_close(fd)
#define malloc(size) played_malloc(size)
#define flock(fd, operation) played_flock(fd, operation)
#define faccessat(dir, name, mode, flags) played_faccessat(dir, name, mode, flags)
#define rmdir(dir) played_rmdir(dir)
#define ctf_frames_next(frames) played_next_frame(frames)
#define ctf_metadata_read(dir_fd, dir, classes, error) played_metadata(dir_fd, dir, classes, error)
#define ctf_metadata_free(classes) played_free(classes)
#define ctf_tsdl_usable(classes) played_usable(classes)
#define ctf_stream_reader_open(stream, classes, name, stat) \
	played_stream_open(stream, classes, name, stat)
#define ctf_stream_reader_next(stream) played_stream_next(stream)
#define ctf_stream_reader_close(stream) played_stream_close(stream)
#define ctf_find_traces(dir, growing, found, context, nr) \
	played_find(dir, growing, found, context, nr)
#define ctf_repair tested_repair
#define ctf_repair_metadata tested_repair_metadata
int ctf_repair(const char *dir, unsigned int *repaired, struct error *error);
int ctf_repair_metadata(const char *dir, struct error *error);
#include "ctf/rewrite/repair.c" /* NOLINT(bugprone-suspicious-include): replaces the calls in it */
#undef openat
#undef close
#undef flock

/* ---- one repair ---- */

static struct error error;
static unsigned int nr_repaired;
static char trace[80];

/* Starts with a trace whose metadata is complete. */
static void begin(const char *text)
{
	if (*scratch)
		scratch_delete(scratch);
	scratch_make(scratch);
	snprintf(trace, sizeof(trace), "%s/t", scratch);
	CHECK(!mkdir(trace, 0700));
	scratch_write(trace, "metadata", text, strlen(text));
	metadata.ret = 0;
	metadata.why = "";
	metadata.is_usable = metadata.is_side = true;
	metadata.is_ctf2 = false;
	stream_open = 1;
	stream_items = "";
	*log_text = '\0';
}

/* The first `good` bytes are complete. */
static void begin_cut(const char *text, size_t good)
{
	begin(text);
	metadata.ret = -EINVAL;
	metadata.why = "line 7 is bad";
	metadata.good = good;
}

static int repair(void)
{
	unsigned int descriptors = resources_descriptors();
	int ret;

	nr_repaired = 77;
	error.text[0] = error.hint[0] = '\0';
	ret = ctf_repair(scratch, &nr_repaired, &error);
	CHECK(resources_descriptors() == descriptors && !fault.call);
	CHECK(!ret == !*error.text);
	return ret;
}

static bool failed_with(const char *what, const char *why)
{
	char expected[300];

	snprintf(expected, sizeof(expected), "cannot repair %s%s: %s", trace, what, why);
	return is_same(error.text, expected);
}

static bool has_file(const char *name, const void *bytes, size_t size)
{
	size_t there;
	unsigned char *got = scratch_read(trace, name, &there);
	bool same = there == size && !memcmp(got, bytes, size);

	free(got);
	return same;
}

/* ---- streams ---- */

static void write_stream(void)
{
	char bytes[300];

	memset(bytes, '-', sizeof(bytes));
	scratch_write(trace, "ring_0", bytes, sizeof(bytes));
}

static bool stream_is_repaired(void)
{
	char bytes[190];
	uint64_t numbers[] = {0x3131313131313131, 8 * 90, 8 * 90};

	memset(bytes, '-', sizeof(bytes));
	memcpy(bytes + 100 + 40, numbers, sizeof(numbers));
	return has_file("ring_0", bytes, sizeof(bytes));
}

static void test_streams(void)
{
	begin("text");
	write_stream();
	scratch_write(trace, "ring_1", "x", 1);
	scratch_write(trace, ".hidden", "x", 1);
	stream_items = "eedecd";
	CHECK(!repair() && nr_repaired == 2 && stream_is_repaired());
	CHECK(has_noted("read t;lock metadata;open ring_0;write ring_0;close;open ring_1;write ring_1;close;"));
	/* Nothing to repair: no truncated packet, no stream, and an error of the reader. */
	stream_items = "eeded";
	CHECK(!repair() && !nr_repaired);
	CHECK(has_noted("read t;lock metadata;open ring_0;close;open ring_1;close;"));
	stream_open = 0;
	CHECK(!repair() && !nr_repaired &&
			has_noted("read t;lock metadata;open ring_0;open ring_1;"));
	stream_open = -ENOMEM;
	CHECK(repair() == -ENOMEM && failed_with("/ring_0", "Cannot allocate memory"));
	CHECK(has_noted("read t;lock metadata;open ring_0;"));
	stream_open = 1;
	stream_items = "e!";
	CHECK(repair() == -ENOMEM && failed_with("/ring_0", "Cannot allocate memory"));
	CHECK(has_noted("read t;lock metadata;open ring_0;close;") && !nr_repaired);
	/* Each call that fails. */
	for (unsigned int i = 0; i < 6; i++) {
		static const struct {
			const char *call;
			unsigned int skipped;
			int code, expected;
		} faults[] = {{"fstatat", 0, EACCES, EACCES}, {"write", 0, EROFS, EROFS},
				{"ftruncate", 0, EIO, EIO}, {"pwrite", 0, ENOSPC, ENOSPC},
				{"pwrite", 1, 0, EIO}, {"close", 1, EDQUOT, EDQUOT}};

		stream_items = "ec";
		write_stream();
		set_fault(faults[i].call, faults[i].code);
		fault.skipped = faults[i].skipped;
		CHECK(repair() == -faults[i].expected && !nr_repaired);
		CHECK(failed_with("/ring_0", strerror(faults[i].expected)));
	}
}

/* ---- frames ---- */

static void test_frames(void)
{
	unsigned char frames[600];
	size_t first, all;

	begin("text");
	first = ZSTD_compress(frames, sizeof(frames), "first", 5, 1);
	all = first + ZSTD_compress(frames + first, sizeof(frames) - first, "other one", 9, 1);
	scratch_write(trace, "a.zst", frames, all);
	CHECK(!repair() && !nr_repaired && has_file("a.zst", frames, all));
	CHECK(has_noted("read t;lock metadata;change a.zst;"));
	/* Truncated in the second one, and damage of another kind. */
	scratch_write(trace, "a.zst", frames, all - 1);
	CHECK(!repair() && nr_repaired == 1 && has_file("a.zst", frames, first));
	memcpy(frames + first, "nonsense", 8);
	scratch_write(trace, "a.zst", frames, first + 8);
	CHECK(!repair() && !nr_repaired && has_file("a.zst", frames, first + 8));
	for (unsigned int i = 0; i < 5; i++) {
		static const char *const calls[] = {
				"change", "frame", "ftruncate", "close", "frame"};

		(void)ZSTD_compress(frames + first, sizeof(frames) - first, "other one", 9, 1);
		scratch_write(trace, "a.zst", frames, all - 1);
		set_fault(calls[i], EIO);
		fault.skipped = i == 3 || i == 4;
		CHECK(repair() == -EIO && !nr_repaired && failed_with("/a.zst", strerror(EIO)));
	}
	/* The first error of two. */
	scratch_write(trace, "a.zst", frames, all);
	{
		int fd = open(trace, O_RDONLY | O_DIRECTORY);

		set_fault("frame", ENXIO);
		CHECK(repair_frames(fd, "a.zst") == -ENXIO);
		CHECK(repair_frames(fd, "none") == -ENOENT && !repair_frames(fd, "a.zst"));
		close(fd);
	}
}

/* ---- metadata ---- */

/* Bytes after the parsed ones do not count. */
static void test_cut(void)
{
	struct ctf_trace_classes of_ctf2;

	memset(&of_ctf2, 0, sizeof(of_ctf2));
	of_ctf2.is_ctf2 = true;
	CHECK(only_cut(&of_ctf2, "\x1e{\"a\x1e\x1e\x1e", 4));
	CHECK(!only_cut(&of_ctf2, "\x1e{\"a\x1e\x1e\x1e", 5));
}

static void test_metadata(void)
{
	begin_cut("good;\nevent {", 5);
	scratch_write(trace, "ring_0", "x", 1);
	CHECK(!repair() && nr_repaired == 1 && has_file("metadata", "good;\n\n", 7));
	CHECK(has_noted("read t;lock metadata;change metadata;open ring_0;close;"));
	begin_cut("good\n\x1e{\"a\":", 5);
	metadata.is_ctf2 = true;
	CHECK(!repair() && nr_repaired == 1 && has_file("metadata", "good\n", 5));
	/* No byte after the good ones, then one byte. */
	begin_cut("good;", 5);
	CHECK(repair() == -EINVAL && failed_with("", "line 7 is bad") && !nr_repaired);
	begin_cut("good;x", 5);
	CHECK(!repair() && has_file("metadata", "good;\n\n", 7));
	/* Damage of another kind. */
	begin_cut("good;\nx\n};\n", 5);
	CHECK(repair() == -EINVAL && failed_with("", "line 7 is bad"));
	CHECK(has_file("metadata", "good;\nx\n};\n", 11));
	for (unsigned int i = 0; i < 8; i++) {
		static const struct {
			const char *call;
			int code, expected;
		} faults[] = {{"change", EACCES, EACCES}, {"fstat", EIO, EINVAL},
				{"malloc", 0, ENOMEM}, {"pread", EIO, EIO}, {"pread", 0, EINVAL},
				{"ftruncate", ENXIO, ENXIO}, {"pwrite", ENOSPC, ENOSPC},
				{"pwrite", 0, EIO}};

		begin_cut("good;\nevent {", 5);
		set_fault(faults[i].call, faults[i].code);
		errno = 0;
		CHECK(repair() == -faults[i].expected);
		CHECK(failed_with("", "line 7 is bad") && !nr_repaired);
	}
}

static void test_refused(void)
{
	/* Unreadable metadata, unusable metadata, and metadata of another tracer. */
	begin_cut("good;x", 5);
	metadata.ret = -EIO;
	CHECK(repair() == -EIO && failed_with("", "line 7 is bad"));
	begin_cut("good;x", 5);
	metadata.is_usable = false;
	CHECK(repair() == -EINVAL && failed_with("", "line 7 is bad"));
	begin_cut("good;x", 5);
	metadata.is_side = false;
	CHECK(repair() == -EINVAL && failed_with("", "line 7 is bad"));
	CHECK(has_file("metadata", "good;x", 6) && has_noted("read t;"));
	begin("good");
	metadata.is_side = false;
	CHECK(repair() == -EINVAL && failed_with("", "it was not recorded by side"));
	/* It is being written; an error of the lock does not mean that. */
	begin_cut("good;x", 5);
	set_fault("flock", EWOULDBLOCK);
	CHECK(repair() == -EBUSY && failed_with("", "it is being recorded") && !nr_repaired);
	CHECK(is_same(error.hint, "try again when the recording has ended"));
	CHECK(has_file("metadata", "good;x", 6));
	set_fault("flock", ENOLCK);
	CHECK(!repair() && nr_repaired == 1);
	begin_cut("good;x", 5);
	set_fault("lock", EACCES);
	CHECK(!repair() && nr_repaired == 1);
	set_fault("metadata", 0);
	begin("good");
	CHECK(repair() == -ENOMEM);
	snprintf(log_text, sizeof(log_text), "cannot repair %s: Cannot allocate memory", scratch);
	CHECK(is_same(error.text, log_text));
	begin("good");
	set_fault("find", EACCES);
	CHECK(repair() == -EACCES && !nr_repaired);
	CHECK(!strcmp(error.text + strlen("cannot repair ") + strlen(scratch),
			": Permission denied"));
	scratch_delete(trace);
	CHECK(repair() == -ENOENT && !strncmp(error.text, "there is no trace in /", 22));
}

/*
 * Two traces: the message is about the first one that cannot be repaired, and the other one is
 * repaired.
 */
static void test_two(void)
{
	char other[80];

	begin_cut("good;x", 5);
	snprintf(other, sizeof(other), "%s/u", scratch);
	CHECK(!mkdir(other, 0700));
	scratch_write(other, "metadata", "good;x", 6);
	CHECK(!repair() && nr_repaired == 2);
	scratch_write(trace, "metadata", "good;x", 6);
	scratch_write(other, "metadata", "good;x", 6);
	set_fault("flock", EWOULDBLOCK);
	CHECK(repair() == -EBUSY && nr_repaired == 1 && failed_with("", "it is being recorded"));
	CHECK(has_file("metadata", "good;x", 6));
	scratch_write(other, "metadata", "good;", 5);
	set_fault("flock", EWOULDBLOCK);
	CHECK(repair() == -EBUSY && !nr_repaired && failed_with("", "it is being recorded"));
	*log_text = '\0';
	/* After a lack of memory, the next trace is not repaired. */
	set_fault("malloc", 0);
	CHECK(repair() == -ENOMEM && has_noted("read t;lock metadata;change metadata;"));
	scratch_write(trace, "metadata", "good;", 5);
	scratch_write(other, "metadata", "good;x", 6);
	CHECK(repair() == -EINVAL && nr_repaired == 1 && failed_with("", "line 7 is bad"));
}

/* ---- only the metadata ---- */

static int repair_only(void)
{
	unsigned int descriptors = resources_descriptors();
	int ret;

	error.text[0] = '\0';
	ret = ctf_repair_metadata(trace, &error);
	CHECK(resources_descriptors() == descriptors && !fault.call);
	CHECK(!ret == !*error.text);
	return ret;
}

static void test_only(void)
{
	struct stat stat;

	begin_cut("good;x", 5);
	write_stream();
	CHECK(!repair_only() && has_file("metadata", "good;\n\n", 7));
	CHECK(has_noted("read t;lock metadata;change metadata;"));
	metadata.ret = 0;
	CHECK(!repair_only() && has_noted("read t;"));
	/* Refused for the reason of the metadata, or for that of a call. */
	metadata.ret = -EINVAL;
	metadata.is_side = false;
	CHECK(repair_only() == -EINVAL && failed_with("", "line 7 is bad") && has_noted("read t;"));
	metadata.is_side = true;
	metadata.is_usable = false;
	CHECK(repair_only() == -EINVAL && failed_with("", "line 7 is bad") && has_noted("read t;"));
	metadata.is_usable = true;
	metadata.why = "";
	metadata.ret = -EACCES;
	CHECK(repair_only() == -EACCES && failed_with("", "Permission denied"));
	metadata.ret = -EINVAL;
	set_fault("flock", EWOULDBLOCK);
	CHECK(repair_only() == -EBUSY && failed_with("", "Device or resource busy"));
	set_fault("metadata", 0);
	CHECK(repair_only() == -ENOMEM && failed_with("", "out of memory"));
	/* The path is a link, or a file. */
	snprintf(log_text, sizeof(log_text), "%s/link", scratch);
	CHECK(!symlink(trace, log_text) && ctf_repair_metadata(log_text, &error) < 0);
	snprintf(log_text, sizeof(log_text), "%s/metadata", trace);
	metadata.ret = 0;
	CHECK(ctf_repair_metadata(log_text, &error) == -ENOTDIR);
	/* It is unknown whether there is metadata, because a call fails. */
	set_fault("faccessat", EACCES);
	metadata.ret = 0;
	CHECK(!repair_only());
	/* Without metadata, the directory is removed if it is empty. */
	scratch_write(trace, ".metadata.new", "x", 1);
	snprintf(log_text, sizeof(log_text), "%s/metadata", trace);
	CHECK(!unlink(log_text));
	CHECK(repair_only() == -ENOTEMPTY && failed_with("", "no metadata file"));
	snprintf(log_text, sizeof(log_text), "%s/.metadata.new", trace);
	CHECK(lstat(log_text, &stat) && !lstat(trace, &stat));
	snprintf(log_text, sizeof(log_text), "%s/ring_0", trace);
	CHECK(!unlink(log_text));
	set_fault("rmdir", EACCES);
	CHECK(repair_only() == -EACCES && failed_with("", "no metadata file"));
	/* Another process removes it first. */
	set_fault("rmdir", ENOENT);
	CHECK(!repair_only());
	scratch_write(trace, ".metadata.new", "x", 1);
	CHECK(!repair_only() && lstat(trace, &stat));
	CHECK(repair_only() == -ENOENT && failed_with("", "No such file or directory"));
}

int main(void)
{
	test_streams();
	test_frames();
	test_cut();
	test_metadata();
	test_refused();
	test_two();
	test_only();
	scratch_delete(scratch);
	return 0;
}
