/* SPDX-License-Identifier: MIT */
/* The expansion of a trace: its files and their order, damaged frames, and each failing call. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "../check.h"
#include "../noted.h"
#include "../resources.h"
#include "ctf/compress.h"
#include "ctf/type.h"
#include "ctf/write/writer.h"
#include "scratch.h"

static char scratch[64], in_dir[80], out_dir[80];

/* ---- the calls, one of which fails ---- */

static struct {
	const char *call, *name; /* name NULL: each file */
	int error;
} fault;

static bool is_due(const char *call, const char *name)
{
	if (!fault.call || strcmp(fault.call, call) != 0 ||
			(fault.name && strcmp(fault.name, name) != 0))
		return false;
	fault.call = NULL;
	errno = fault.error;
	return true;
}

/* This call returns descriptor 0, which must work like any other. */
static const char *lowest;

static int lowest_of(const char *call, int fd)
{
	if (fd < 0 || !lowest || strcmp(lowest, call) != 0)
		return fd;
	lowest = NULL;
	CHECK(dup2(fd, 0) == 0 && !close(fd));
	return 0;
}

static int played_openat(int dir, const char *name, int flags, ...)
{
	const char *call = "unknown flags";
	va_list arguments;
	mode_t mode = 0;

	va_start(arguments, flags);
	if (flags & O_CREAT)
		mode = va_arg(arguments, mode_t);
	va_end(arguments);
	if (flags == (O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC))
		call = "create";
	else if (flags == (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC))
		call = "read";
	else if (flags == (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))
		call = "list";
	else if (flags == (O_RDONLY | O_DIRECTORY | O_CLOEXEC))
		call = "fill";
	note("%s %.20s;", call, name);
	return is_due(call, name) ? -1 : lowest_of(call, openat(dir, name, flags, mode));
}

static int played_open(const char *name, int flags)
{
	CHECK(flags == (O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	return is_due("open", name)
			? -1
			: lowest_of(strcmp(name, out_dir) != 0 ? "from" : "to", open(name, flags));
}

static int played_mkdirat(int dir, const char *name, mode_t mode)
{
	CHECK(mode == 0750);
	return is_due("mkdirat", name) ? -1 : mkdirat(dir, name, mode);
}

static int played_mkdir(const char *name, mode_t mode)
{
	CHECK(mode == 0750);
	return is_due("mkdir", name) ? -1 : mkdir(name, mode);
}

static int played_fstatat(int dir, const char *name, struct stat *stat, int flags)
{
	CHECK(flags == AT_SYMLINK_NOFOLLOW);
	note("look %.20s;", name);
	return is_due("fstatat", name) ? -1 : fstatat(dir, name, stat, flags);
}

static int played_fstat(int fd, struct stat *stat)
{
	return is_due("fstat", "") ? -1 : fstat(fd, stat);
}

static int played_scandirat(int dir, const char *name, struct dirent ***names,
		int (*filter)(const struct dirent *),
		int (*compare)(const struct dirent **, const struct dirent **))
{
	return is_due("scandirat", "") ? -1 : scandirat(dir, name, names, filter, compare);
}

static ssize_t played_pread(int fd, void *to, size_t size, off_t at)
{
	return is_due("pread", "") ? -1 : pread(fd, to, size, at);
}

static int played_ftruncate(int fd, off_t size)
{
	return is_due("ftruncate", "") ? -1 : ftruncate(fd, size);
}

static int played_close(int fd)
{
	bool fails = is_due("close", "");

	CHECK(!close(fd));
	errno = fails ? fault.error : errno;
	return fails ? -1 : 0;
}

static void *played_malloc(size_t size)
{
	return is_due("malloc", "") ? NULL : malloc(size);
}

__attribute__((format(printf, 2, 3))) static int played_asprintf(
		char **text, const char *format, ...)
{
	va_list arguments;
	int ret;

	va_start(arguments, format);
	ret = vasprintf(text, format, arguments);
	va_end(arguments);
	if (!is_due("asprintf", *text))
		return ret;
	free(*text);
	*text = (char *)1; /* undefined after an error */
	return -1;
}

static ZSTD_DCtx *played_context(void)
{
	return is_due("context", "") ? NULL : ZSTD_createDCtx();
}

static unsigned int nr_decodes; /* before the one that fails */

static size_t played_decode(ZSTD_DCtx *context, ZSTD_outBuffer *out, ZSTD_inBuffer *in)
{
	if (nr_decodes && nr_decodes--)
		return ZSTD_decompressStream(context, out, in);
	return is_due("decode", "") ? (size_t)-ZSTD_error_corruption_detected
				    : ZSTD_decompressStream(context, out, in);
}

static int played_append(int fd, off_t *size, const void *head, size_t head_size, const void *body,
		size_t body_size)
{
	CHECK(!body && !body_size);
	return is_due("append", "") ? -fault.error
				    : ctf_file_append(fd, size, head, head_size, body, body_size);
}

static int played_next(struct ctf_frames *frames)
{
	return is_due("next", "") ? -fault.error : ctf_frames_next(frames);
}

/* The file includes no header that is not included above. */
#define openat(...) played_openat(__VA_ARGS__)
#define open(name, flags) played_open(name, flags)
#define mkdirat(dir, name, mode) played_mkdirat(dir, name, mode)
#define mkdir(name, mode) played_mkdir(name, mode)
#define fstatat(dir, name, stat, flags) played_fstatat(dir, name, stat, flags)
#define fstat(fd, stat) played_fstat(fd, stat)
#define scandirat(dir, name, names, filter, compare) \
	played_scandirat(dir, name, names, filter, compare)
#define pread(fd, to, size, at) played_pread(fd, to, size, at)
#define ftruncate(fd, size) played_ftruncate(fd, size)
#define close(fd) played_close(fd)
#define malloc(size) played_malloc(size)
#define asprintf(...) played_asprintf(__VA_ARGS__)
#define ZSTD_createDCtx() played_context()
#define ZSTD_decompressStream(context, out, in) played_decode(context, out, in)
#define ctf_file_append(fd, size, head, head_size, body, body_size) \
	played_append(fd, size, head, head_size, body, body_size)
#define ctf_frames_next(frames) played_next(frames)
#include "ctf/rewrite/expand.c" /* NOLINT(bugprone-suspicious-include): replaces the calls in it */
#undef openat
#undef open
#undef mkdirat
#undef mkdir
#undef fstatat
#undef fstat
#undef scandirat
#undef pread
#undef ftruncate
#undef close
#undef malloc
#undef asprintf
#undef ZSTD_createDCtx
#undef ZSTD_decompressStream
#undef ctf_file_append
#undef ctf_frames_next

/* ---- files ---- */

enum { FIRST = 1000, LARGE = 3 * (256 << 10) + 77, LAST = 300 };

static unsigned char content[LARGE], stream[LARGE * 2];
static size_t stream_size, frame_sizes[3];

static void add_frame(unsigned int number, size_t size)
{
	struct ctf_compressor *compressor = ctf_compressor_create(1);
	const void *frame;

	CHECK(compressor);
	CHECK(!ctf_compress(compressor, content, size, NULL, 0, &frame, &frame_sizes[number]));
	memcpy(stream + stream_size, frame, frame_sizes[number]);
	stream_size += frame_sizes[number];
	ctf_compressor_free(compressor);
}

static void make_stream(size_t first, size_t second, size_t third)
{
	stream_size = 0;
	add_frame(0, first);
	add_frame(1, second);
	add_frame(2, third);
}

/* Noise, which zstd stores uncompressed. */
static void make_noise(void)
{
	uint64_t state = 88172645463325252;

	for (size_t i = 0; i < sizeof(content); i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		content[i] = (unsigned char)(state >> 24);
	}
}

static void begin(void)
{
	if (*scratch)
		scratch_delete(scratch);
	scratch_make(scratch);
	snprintf(in_dir, sizeof(in_dir), "%s/in", scratch);
	snprintf(out_dir, sizeof(out_dir), "%s/out", scratch);
	CHECK(!mkdir(in_dir, 0700));
	*log_text = '\0';
}

/* A directory with one file. */
static void add_sub(void)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/sub", in_dir);
	CHECK(!mkdir(path, 0700));
	scratch_write(path, "c", "cc", 2);
}

static bool out_has(const char *name, const void *bytes, size_t size)
{
	size_t there;
	unsigned char *got = scratch_read(out_dir, name, &there);
	bool same = there == size && !memcmp(got, bytes, size);

	free(got);
	return same;
}

static bool is_there(const char *name)
{
	char path[200];
	struct stat stat;

	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	return !lstat(path, &stat);
}

static mode_t mode_of(const char *name)
{
	char path[200];
	struct stat stat;

	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	CHECK(!lstat(path, &stat));
	return stat.st_mode & 07777;
}

/* ---- one expansion ---- */

static struct ctf_expand_result result;
static struct error error;
static char sentences[4096];
static char user;

/* The paths in messages begin with the scratch directory. */
static void report(void *context, const char *sentence)
{
	CHECK(context == &user);
	snprintf(sentences + strlen(sentences), sizeof(sentences) - strlen(sentences), "%s;",
			sentence);
}

static void ready(const char *dir, const char *out)
{
	CHECK(!strcmp(dir, in_dir) && !strcmp(out, out_dir) && is_there("out"));
	note("ready;");
}

static int expand_only(void)
{
	*sentences = '\0';
	memset(&result, 0x55, sizeof(result));
	return ctf_expand(in_dir, out_dir, ready, report, &user, &result, &error);
}

static int expand(void)
{
	unsigned int descriptors = resources_descriptors();
	int ret = expand_only();

	CHECK(resources_descriptors() == descriptors);
	CHECK(!ret == !*error.text);
	return ret;
}

__attribute__((format(printf, 2, 3))) static bool is_text(const char *text, const char *format, ...)
{
	char expected[4096];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(expected, sizeof(expected), format, arguments);
	va_end(arguments);
	if (strcmp(text, expected) != 0)
		fprintf(stderr, "%s\n%s\n", text, expected);
	return !strcmp(text, expected);
}

static bool has_result(uint64_t expanded, uint64_t copied, uint64_t bytes_in, uint64_t bytes_out,
		uint64_t damaged)
{
	return result.expanded == expanded && result.copied == copied &&
			result.bytes_in == bytes_in && result.bytes_out == bytes_out &&
			result.damaged == damaged;
}

/* ---- tests ---- */

static void test_whole(void)
{
	unsigned char expected[FIRST + LARGE + LAST];
	char path[200];
	mode_t mask = umask(0);

	begin();
	memset(content, 'z',
			sizeof(content)); /* The output continues after the end of the input. */
	make_stream(FIRST, LARGE, LAST);
	scratch_write(in_dir, "a.zst", stream, stream_size);
	memset(expected, 'z', sizeof(expected));
	make_noise();
	scratch_write(in_dir, "b", content, CHUNK + 5);
	scratch_write(in_dir, "metadata", "meta", 4);
	scratch_write(in_dir, ".hidden", "hidden", 6);
	scratch_write(in_dir, "z", "", 0);
	snprintf(path, sizeof(path), "%s/link", in_dir);
	CHECK(!symlink("b", path));
	snprintf(path, sizeof(path), "%s/pipe", in_dir);
	CHECK(!mkfifo(path, 0600));
	add_sub();
	fault.call = "pread";
	fault.error = EINTR;
	CHECK(!expand() && !fault.call);
	CHECK(has_noted("ready;look a.zst;read a.zst;create a;look b;read b;create b;look link;look pipe;look sub;list sub;fill sub;look c;read c;create c;look z;read z;create z;look metadata;read metadata;create metadata;"));
	CHECK(has_result(1, 4, stream_size + CHUNK + 5 + 4 + 2,
			sizeof(expected) + CHUNK + 5 + 4 + 2, 0));
	CHECK(!*sentences);
	CHECK(out_has("a", expected, sizeof(expected)) && out_has("b", content, CHUNK + 5));
	CHECK(out_has("metadata", "meta", 4) && out_has("sub/c", "cc", 2) && out_has("z", "", 0));
	CHECK(!is_there("out/link") && !is_there("out/pipe") && !is_there("out/.hidden"));
	CHECK(mode_of("out") == 0750 && mode_of("out/sub") == 0750 && mode_of("out/a") == 0644);
	/* The output is inside the input, and is not copied into itself. */
	snprintf(out_dir, sizeof(out_dir), "%s/in/out", scratch);
	*sentences = '\0';
	CHECK(!ctf_expand(in_dir, out_dir, NULL, report, &user, &result, &error));
	CHECK(is_there("in/out/sub/c") && !is_there("in/out/out"));
	*log_text = '\0';
	umask(mask);
}

/* The longest names of a plain and of a compressed file. */
static void test_names(void)
{
	char name[NAME_MAX + 1], path[400];
	struct stat stat;

	memset(name, 'n', NAME_MAX);
	name[NAME_MAX] = '\0';
	for (unsigned int i = 0; i < 2; i++) {
		FILE *file;

		begin();
		make_stream(FIRST, 1, 1);
		strcpy(name + NAME_MAX - 4, i ? ".zst" : "nnnn");
		snprintf(path, sizeof(path), "%s/%s", in_dir, name);
		file = fopen(path, "we");
		CHECK(file && fwrite(stream, 1, frame_sizes[0], file) == frame_sizes[0] &&
				!fclose(file));
		CHECK(!expand() &&
				has_result(i, !i, frame_sizes[0], i ? FIRST : frame_sizes[0], 0));
		snprintf(path, sizeof(path), "%s/%.*s", out_dir, NAME_MAX - (i ? 4 : 0), name);
		CHECK(!lstat(path, &stat) && (size_t)stat.st_size == (i ? FIRST : frame_sizes[0]));
	}
}

static void test_depth(void)
{
	char path[160], name[100] = "out";

	begin();
	snprintf(path, sizeof(path), "%s", in_dir);
	for (int depth = 0; depth <= 17; depth++) {
		scratch_write(path, "f", "x", 1);
		strcat(path, "/d");
		CHECK(!mkdir(path, 0700));
	}
	CHECK(!expand() && has_result(0, 17, 17, 17, 0));
	for (int depth = 0; depth <= 16; depth++)
		strcat(name, "/d");
	CHECK(!is_there(name));
	strcpy(name + strlen(name) - 1, "f");
	CHECK(is_there(name));
}

static void test_damage(void)
{
	const size_t second = FIRST + LARGE;
	static unsigned char expected[FIRST + LARGE];
	struct stat stat;
	size_t size;
	char path[200];

	/* The checksum of the second frame is wrong: all of its pieces are removed. */
	begin();
	make_stream(FIRST, LARGE, LAST);
	stream[frame_sizes[0] + frame_sizes[1] - 1] ^= 1;
	scratch_write(in_dir, "a.zst", stream, stream_size);
	CHECK(!expand());
	CHECK(is_text(sentences,
			"%s/a.zst, byte %zu, is damaged: the frame cannot be decoded; it is left out;",
			in_dir, frame_sizes[0]));
	memcpy(expected, content, FIRST);
	memcpy(expected + FIRST, content, LAST);
	CHECK(out_has("a", expected, FIRST + LAST));
	CHECK(has_result(1, 0, stream_size, FIRST + LAST, 1));
	/* It is the last one, and another file follows. */
	begin();
	scratch_write(in_dir, "a.zst", stream, stream_size - frame_sizes[2]);
	scratch_write(in_dir, "b.zst", stream, frame_sizes[0]);
	CHECK(!expand() && out_has("a", content, FIRST) && out_has("b", content, FIRST));
	CHECK(has_result(2, 0, stream_size - frame_sizes[2] + frame_sizes[0], 2 * FIRST, 1));
	/* No frame after the first one. */
	begin();
	memcpy(stream + frame_sizes[0], "nonsense!", 9);
	scratch_write(in_dir, "a.zst", stream, frame_sizes[0] + 9);
	CHECK(!expand() && out_has("a", content, FIRST));
	CHECK(is_text(sentences,
			"%s/a.zst, byte %zu, is damaged: no zstd frame at that position; the following bytes are not expanded;",
			in_dir, frame_sizes[0]));
	CHECK(has_result(1, 0, frame_sizes[0], FIRST, 1));
	/* A frame that is cut off after its first block, and another file. */
	begin();
	make_stream(FIRST, LARGE, LAST);
	stream_size = frame_sizes[0] + (128 << 10) + 5000;
	scratch_write(in_dir, "a.zst", stream, stream_size);
	scratch_write(in_dir, "b.zst", stream, frame_sizes[0]);
	CHECK(!expand());
	CHECK(is_text(sentences,
			"%s/a.zst, byte %zu, is damaged: the last frame is cut off; its undamaged part is kept;",
			in_dir, frame_sizes[0]));
	snprintf(path, sizeof(path), "%s/a", out_dir);
	CHECK(!lstat(path, &stat));
	size = (size_t)stat.st_size;
	CHECK(size >= FIRST + (128 << 10) && size < FIRST + (128 << 10) + 5000);
	memcpy(expected + FIRST, content, second - FIRST);
	CHECK(out_has("a", expected, size) && out_has("b", content, FIRST));
	CHECK(has_result(2, 0, stream_size + frame_sizes[0], size + FIRST, 1));
	/* A frame that is cut off and cannot be decoded: one message. */
	begin();
	scratch_write(in_dir, "a.zst", stream, stream_size);
	fault.call = "decode";
	nr_decodes = 1;
	CHECK(!expand() && !fault.call && out_has("a", content, FIRST));
	CHECK(has_result(1, 0, stream_size, FIRST, 1));
}

/* An error ends the expansion, and the next file is not made. */
static void assert_fails(
		const char *call, const char *name, int code, const char *problem, const char *path)
{
	begin();
	make_stream(FIRST, LAST, 7);
	stream[frame_sizes[0] + frame_sizes[1] - 1] ^= 1;
	scratch_write(in_dir, "a.zst", stream, stream_size);
	scratch_write(in_dir, "b", "bb", 2);
	scratch_write(in_dir, "metadata", "meta", 4);
	add_sub();
	fault.call = call;
	fault.name = name;
	fault.error = code;
	CHECK(expand() == -code && !fault.call);
	CHECK(is_text(error.text, "%s %s%s%s%s", problem, scratch, path, code == ENOMEM ? "" : ": ",
			code == ENOMEM ? "" : strerror(code)));
	CHECK(!is_there("out/metadata"));
	fault.name = NULL;
	*log_text = '\0';
}

static void test_errors(void)
{
	assert_fails("open", NULL, EACCES, "cannot expand", "/in");
	CHECK(!is_there("out"));
	assert_fails("context", NULL, ENOMEM, "out of memory to expand", "/in");
	assert_fails("malloc", NULL, ENOMEM, "out of memory to expand", "/in");
	CHECK(!is_there("out"));
	assert_fails("mkdir", NULL, EEXIST, "cannot write", "/out");
	CHECK(is_text(error.hint, "choose another name or remove it"));
	assert_fails("open", out_dir, EMFILE, "cannot write", "/out");
	assert_fails("fstat", NULL, EIO, "cannot write", "/out");
	assert_fails("scandirat", NULL, EIO, "cannot read", "/in");
	assert_fails("fstatat", "b", EACCES, "cannot read", "/in/b");
	assert_fails("create", "b", ENOSPC, "cannot write", "/out/b");
	CHECK(is_text(error.hint, "free some space there, or write to another directory"));
	CHECK(is_there("out/a") && !is_there("out/sub"));
	assert_fails("close", NULL, EDQUOT, "cannot write", "/out/a");
	assert_fails("pread", NULL, EIO, "cannot read", "/in/b");
	assert_fails("next", NULL, EIO, "cannot expand", "/in/a.zst");
	CHECK(has_result(1, 0, 0, 0, 0));
	assert_fails("append", NULL, ENOSPC, "cannot write", "/out/a");
	assert_fails("ftruncate", NULL, EIO, "cannot expand", "/in/a.zst");
	assert_fails("mkdirat", NULL, EACCES, "cannot write", "/out/sub");
	CHECK(is_text(error.hint, "choose a directory that you may write to"));
	assert_fails("fill", NULL, EMFILE, "cannot write", "/out/sub");
	assert_fails("create", "c", EACCES, "cannot write", "/out/sub/c");
	/* An uncompressed file. */
	begin();
	scratch_write(in_dir, "b", "bb", 2);
	fault.call = "append";
	fault.error = ENOSPC;
	CHECK(expand() == -ENOSPC && !result.copied && !result.bytes_in);
	CHECK(is_text(error.text, "cannot write %s/b: No space left on device", out_dir));
	/* Only one of the two paths of a directory cannot be made. */
	for (unsigned int i = 0; i < 2; i++) {
		char path[100];

		begin();
		snprintf(path, sizeof(path), "%s/%s/sub", scratch, i ? "out" : "in");
		fault.name = path;
		add_sub();
		fault.call = "asprintf";
		CHECK(expand() == -ENOMEM && !fault.call);
		CHECK(is_text(error.text, "out of memory to expand %s/sub", in_dir));
		CHECK(!is_there("out/sub"));
		fault.name = NULL;
	}
}

static void test_lowest(void)
{
	static const char *const calls[] = {"from", "to", "list", "fill", "read", "create"};

	for (unsigned int i = 0; i < 6; i++) {
		int saved = dup(0);

		begin();
		add_sub();
		lowest = calls[i];
		/* The descriptor replaces the standard input, and is closed. */
		CHECK(saved >= 0 && !expand_only() && !lowest);
		CHECK(has_result(0, 1, 2, 2, 0) && out_has("sub/c", "cc", 2));
		CHECK(fcntl(0, F_GETFD) < 0 && dup2(saved, 0) == 0 && !close(saved));
	}
}

/* A file that cannot be read is reported, and the others are expanded. */
static void test_unreadable(void)
{
	for (unsigned int i = 0; i < 3; i++) {
		static const char *const calls[] = {"read", "list", "fstatat"};
		static const char *const names[] = {"a", "sub", "a"};

		begin();
		scratch_write(in_dir, "a", "aaa", 3);
		scratch_write(in_dir, "metadata", "meta", 4);
		add_sub();
		fault.call = calls[i];
		fault.name = names[i];
		fault.error = i == 2 ? ENOENT : EACCES;
		CHECK(!expand() && !fault.call);
		fault.name = NULL;
		CHECK(is_there("out/a") == (i == 1) && is_there("out/sub") == (i != 1));
		CHECK(out_has("metadata", "meta", 4));
		if (i < 2)
			CHECK(is_text(sentences, "cannot read %s/%s: Permission denied;", in_dir,
					names[i]));
		else
			CHECK(!*sentences); /* Another process removed it. */
		CHECK(result.damaged == (i < 2));
	}
}

int main(void)
{
	test_whole();
	test_names();
	test_depth();
	test_damage();
	test_errors();
	test_lowest();
	test_unreadable();
	scratch_delete(scratch);
	return 0;
}
