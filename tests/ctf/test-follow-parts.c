/* SPDX-License-Identifier: MIT */
/*
 * Following a trace, with simulated files and metadata: locks, changed metadata, new traces, and
 * classes that are no longer needed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../check.h"
#include "../noted.h"
#include "ctf/read/find.h"
#include "ctf/read/reader-parts.h"

/* ---- replaced calls ---- */

static const char *locked_file;      /* the file that is locked */
static int lock_error = EWOULDBLOCK; /* of that file */
static const char *missing;          /* the file that cannot be opened, */
static int missing_error = ENOENT;   /* with this error */
static const char *opened;           /* the last one */
static struct stat metadata_status, self_status;
static int metadata_result; /* of fstatat() */
static int self_result;     /* of fstat() */
static int read_result, add_result, stream_result, find_result, overlap_result, wait_result;
static bool no_classes, no_stats;

static int played_openat(int dir, const char *name, int flags)
{
	CHECK(flags == (O_RDONLY | O_CLOEXEC | O_NONBLOCK));
	note("open %d %s;", dir, name);
	opened = name;
	errno = missing_error;
	return missing && !strcmp(missing, name) ? -1 : 0;
}

static int played_open(const char *name, int flags)
{
	CHECK(flags == (O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	note("list %s;", name);
	errno = missing_error;
	return missing && !strcmp(missing, name) ? -1 : 21;
}

static int played_flock(int fd, int operation)
{
	CHECK(!fd && operation == (LOCK_SH | LOCK_NB));
	errno = lock_error;
	return locked_file && !strcmp(locked_file, opened) ? -1 : 0;
}

static int played_close(int fd)
{
	note("close %d;", fd);
	return 0;
}

static int played_fstatat(int dir, const char *name, struct stat *stat, int flags)
{
	CHECK(dir == 8 && !strcmp(name, "metadata") && !flags);
	*stat = metadata_status;
	return metadata_result;
}

static int played_fstat(int fd, struct stat *stat)
{
	CHECK(fd == 8);
	*stat = self_status;
	return self_result;
}

static struct stat *played_stat(int dir_fd, struct dirent **names, int count)
{
	struct stat *stats = no_stats ? NULL : calloc((size_t)count + 1, sizeof(*stats));

	CHECK(dir_fd == 8 && names);
	/* The second file is empty. The entry after the last file does not count. */
	for (int i = 0; stats && i <= count; i++)
		stats[i].st_size = i == 1 ? 0 : i + 1;
	return stats;
}

static struct ctf_trace_classes *made;

static int played_read(int dir_fd, const char *path, struct ctf_trace_classes **classes,
		struct error *error)
{
	CHECK(dir_fd == 8 && error);
	note("read %s;", path);
	made = *classes = no_classes ? NULL : calloc(1, sizeof(**classes));
	return read_result;
}

static void played_free(struct ctf_trace_classes *classes)
{
	note("free %d;", classes ? (int)classes->good_size : -1);
	free(classes);
}

static int played_add_trace(struct ctf_reader *reader, int dir_fd, const char *path,
		struct dirent **names, const struct stat *stats, int count)
{
	CHECK(dir_fd == 8 && names && stats && count == 3);
	note("add trace %s;", path);
	if (!add_result) {
		reader->traces[reader->trace_count] = calloc(1, sizeof(**reader->traces));
		reader->trace_count++;
	}
	return add_result;
}

static int played_add_stream(struct ctf_reader *reader, struct ctf_trace_classes *classes,
		const char *name, const struct stat *stat)
{
	CHECK(reader && classes == reader->traces[classes->trace.index]);
	note("add stream %s %d;", name, (int)stat->st_size);
	return stream_result;
}

static void played_extend(struct ctf_window *window, const struct stat *stat)
{
	note("extend %s %d;", window->name, (int)stat->st_size);
}

static int played_find(
		const char *dir, bool growing, ctf_found_trace *found, void *context, uint64_t *nr)
{
	CHECK(found && context && !nr);
	note("find %s %d;", dir, growing);
	return find_result;
}

static void played_size(struct ctf_reader *reader)
{
	CHECK(reader);
	note("size;");
}

static int played_overlaps(struct ctf_reader *reader)
{
	CHECK(reader);
	note("overlaps;");
	return overlap_result;
}

static int played_wait(struct ctf_reader *reader, struct ctf_stream_reader *stream)
{
	CHECK(reader);
	note("wait %s;", stream->info.name);
	return wait_result;
}

#define openat(dir, name, flags) played_openat(dir, name, flags)
#define open(name, flags) played_open(name, flags)
#define flock(fd, operation) played_flock(fd, operation)
#define close(fd) played_close(fd)
#define fstatat(dir, name, stat, flags) played_fstatat(dir, name, stat, flags)
#define fstat(fd, stat) played_fstat(fd, stat)
#define ctf_reader_stat(dir_fd, names, count) played_stat(dir_fd, names, count)
#define ctf_metadata_read(dir_fd, path, classes, error) played_read(dir_fd, path, classes, error)
#define ctf_metadata_free(classes) played_free(classes)
#define ctf_reader_add_trace(reader, dir_fd, path, names, stats, count) \
	played_add_trace(reader, dir_fd, path, names, stats, count)
#define ctf_reader_add_stream(reader, classes, name, stat) \
	played_add_stream(reader, classes, name, stat)
#define ctf_window_extend(window, stat) played_extend(window, stat)
#define ctf_find_traces(dir, growing, found, context, nr) \
	played_find(dir, growing, found, context, nr)
#define ctf_reader_size_windows(reader) played_size(reader)
#define ctf_reader_continue_overlaps(reader) played_overlaps(reader)
#define ctf_reader_wait_for(reader, stream) played_wait(reader, stream)
#define ctf_is_recorded tested_is_recorded
#define ctf_reader_forget tested_forget
#define ctf_reader_follow tested_follow
#define ctf_reader_refresh tested_refresh
bool ctf_is_recorded(const char *dir);
void ctf_reader_forget(const struct ctf_reader *reader, struct ctf_trace_classes *classes);
void ctf_reader_follow(struct ctf_reader *reader, void (*forget_user)(void *user));
int ctf_reader_refresh(struct ctf_reader *reader, bool *recording);
#include "ctf/read/follow.c" /* NOLINT(bugprone-suspicious-include): replaces the calls in it */

/* ---- a reader of two traces, the second of which has two streams ---- */

static struct ctf_trace_dir dirs[2];
static struct ctf_trace_classes *traces[4];
static struct ctf_stream_reader one, two;
static struct ctf_stream_reader *streams[] = {&one, &two};
static char dir_name[] = "/dir", name_b[] = "b", name_c[] = "c";

static struct ctf_reader begin(void)
{
	for (unsigned int i = 0; i < 4; i++) {
		if (traces[i])
			free(traces[i]);
		traces[i] = NULL;
	}
	for (unsigned int i = 0; i < 2; i++) {
		traces[i] = calloc(1, sizeof(**traces));
		traces[i]->dir = &dirs[i];
		traces[i]->trace.index = i;
		traces[i]->trace.path = i ? "/dir/u" : "/dir/t";
		traces[i]->good_size = i + 1;
		dirs[i] = (struct ctf_trace_dir){.device = 5, .inode = 60 + i, .fd = -1};
	}
	memset(&one, 0, sizeof(one));
	memset(&two, 0, sizeof(two));
	one.info.name = one.window.name = name_b;
	two.info.name = two.window.name = name_c;
	one.classes = two.classes = traces[1];
	locked_file = missing = NULL;
	lock_error = EWOULDBLOCK;
	metadata_status = (struct stat){.st_ino = 7, .st_size = 70, .st_mtim = {3, 33}};
	self_status = (struct stat){.st_dev = 5, .st_ino = 61};
	metadata_result = self_result = read_result = add_result = 0;
	stream_result = find_result = overlap_result = wait_result = 0;
	no_classes = no_stats = false;
	*log_text = '\0';
	return (struct ctf_reader){.dir = dir_name,
			.traces = traces,
			.trace_count = 2,
			.streams = streams,
			.stream_count = 2};
}

static void test_locks(void)
{
	static const int lacks[] = {EMFILE, ENFILE, ENOMEM, ENOLCK};
	struct ctf_reader reader = begin();

	CHECK(!ctf_is_recorded("/x") && has_noted("open -100 /x;close 0;"));
	locked_file = "/x";
	CHECK(ctf_is_recorded("/x") && has_noted("open -100 /x;close 0;"));
	lock_error = EINVAL;
	CHECK(!ctf_is_recorded("/x") && has_noted("open -100 /x;close 0;"));
	lock_error = EWOULDBLOCK;
	missing = "/x";
	CHECK(!ctf_is_recorded("/x") && has_noted("open -100 /x;"));
	/* Without descriptors or memory, the lock is assumed. */
	for (unsigned int i = 0; i < sizeof(lacks) / sizeof(*lacks); i++) {
		missing = "/x";
		missing_error = lacks[i];
		CHECK(ctf_is_recorded("/x") && has_noted("open -100 /x;"));
		missing = NULL;
		lock_error = lacks[i];
		CHECK(ctf_is_recorded("/x") && has_noted("open -100 /x;close 0;"));
		missing = "/dir/t";
		CHECK(is_recording(&reader));
		CHECK(has_noted("open -100 /dir;close 0;list /dir/t;"));
	}
	missing = "/x";
	missing_error = ENOENT;
	lock_error = EWOULDBLOCK;
	/*
	 * The lock of the directory, then that of a trace's metadata. A trace's directory is opened
	 * unless it is open already.
	 */
	locked_file = "/dir";
	CHECK(is_recording(&reader) && has_noted("open -100 /dir;close 0;"));
	locked_file = NULL;
	dirs[1].fd = 0;
	CHECK(!is_recording(&reader));
	CHECK(has_noted("open -100 /dir;close 0;list /dir/t;open 21 metadata;close 0;close 21;open 0 metadata;close 0;"));
	missing = "/dir/t";
	locked_file = "metadata";
	CHECK(is_recording(&reader));
	CHECK(has_noted("open -100 /dir;close 0;list /dir/t;open 0 metadata;close 0;"));
	missing = NULL;
	CHECK(is_recording(&reader));
	CHECK(has_noted("open -100 /dir;close 0;list /dir/t;open 21 metadata;close 0;close 21;"));
}

static int renew(struct ctf_reader *reader)
{
	return ctf_follow_renew_metadata(reader, 8, "/dir/u", 1);
}

static void test_metadata(void)
{
	struct ctf_reader reader = begin();
	struct ctf_trace_classes *before = traces[1];
	struct ctf_metadata_seen seen = see_metadata(8);

	CHECK(seen.inode == 7 && seen.size == 70 && seen.ns == 3000000033);
	metadata_result = -1;
	seen = see_metadata(8);
	CHECK(!seen.inode && !seen.size && !seen.ns);
	metadata_result = 0;
	/* Unchanged metadata; then another file, size and time. */
	before->seen = (struct ctf_metadata_seen){7, 70, 3000000033};
	CHECK(!renew(&reader) && has_noted(""));
	read_result = -EINVAL;
	for (unsigned int i = 0; i < 3; i++) {
		before->seen = (struct ctf_metadata_seen){
				7 + (i == 0), 70 + (i == 1), 3000000033 + (i == 2)};
		CHECK(renew(&reader) == -EAGAIN && has_noted("read /dir/u;free 0;"));
	}
	read_result = -ENOMEM;
	CHECK(renew(&reader) == -ENOMEM && has_noted("read /dir/u;free 0;"));
	no_classes = true;
	CHECK(renew(&reader) == -ENOMEM && has_noted("read /dir/u;"));
	CHECK(traces[1] == before && !before->newer && !reader.retired);
	no_classes = false;
	read_result = 0;
	CHECK(!renew(&reader) && has_noted("read /dir/u;"));
	CHECK(traces[1] == made && made->seen.inode == 7 && made->dir == &dirs[1] &&
			made->trace.index == 1);
	CHECK(before->newer == made && reader.retired == before && !before->older);
	made->seen.size = 0;
	CHECK(!renew(&reader));
	CHECK(reader.retired->older == before && reader.retired->newer == made);
	free(reader.retired);
	free(before);
}

static int scan(struct ctf_reader *reader)
{
	static struct dirent files[4];
	struct dirent *names[] = {&files[0], &files[1], &files[2], &files[3]};

	strcpy(files[0].d_name, "b");
	strcpy(files[1].d_name, "a");
	strcpy(files[2].d_name, "d");
	strcpy(files[3].d_name, "x");
	return ctf_follow_scan_trace(reader, 8, "/dir/u", names, 3);
}

static void test_checks(void)
{
	struct ctf_reader reader = begin();

	/* A known trace: an empty file, one that grows, and a new one. */
	traces[1]->seen = (struct ctf_metadata_seen){7, 70, 3000000033};
	CHECK(!scan(&reader) && has_noted("extend b 1;add stream d 3;"));
	stream_result = -ENOMEM;
	CHECK(scan(&reader) == -ENOMEM && has_noted("extend b 1;add stream d 3;"));
	traces[1]->seen.size = 0;
	read_result = -EINVAL;
	CHECK(!scan(&reader) && has_noted("read /dir/u;free 0;"));
	read_result = -ENOMEM;
	CHECK(scan(&reader) == -ENOMEM && has_noted("read /dir/u;free 0;"));
	/* Streams of another trace have the same name: the last one of this trace counts. */
	CHECK(ctf_follow_find_stream(&reader, 1, "b") == &one &&
			!ctf_follow_find_stream(&reader, 0, "b") &&
			!ctf_follow_find_stream(&reader, 1, "d"));
	two.info.name = name_b;
	CHECK(ctf_follow_find_stream(&reader, 1, "b") == &two);
	/* A new trace has another device or inode. */
	read_result = 0;
	self_status.st_dev++;
	CHECK(!scan(&reader) && has_noted("add trace /dir/u;") && reader.trace_count == 3);
	CHECK(traces[2]->seen.inode == 7 && traces[2]->seen.size == 70);
	self_status.st_dev--;
	self_status.st_ino += 5;
	traces[2]->dir = &dirs[0];
	add_result = -EINVAL;
	CHECK(scan(&reader) == -EINVAL && has_noted("add trace /dir/u;"));
	/* A trace that is being recorded is added when its metadata is complete. */
	reader.follows = true;
	read_result = -EINVAL;
	CHECK(!scan(&reader) && has_noted("read /dir/u;free 0;"));
	read_result = -ENOMEM;
	CHECK(scan(&reader) == -ENOMEM && has_noted("read /dir/u;free 0;"));
	read_result = add_result = 0;
	CHECK(!scan(&reader) && has_noted("read /dir/u;free 0;add trace /dir/u;"));
	self_result = -1;
	CHECK(!scan(&reader) && has_noted(""));
	no_stats = true;
	CHECK(scan(&reader) == -ENOMEM && has_noted(""));
}

static void forget(void *user)
{
	note("forget %s;", (const char *)user);
}

static struct ctf_trace_classes *retired(size_t number, struct ctf_trace_classes *older)
{
	struct ctf_trace_classes *classes = calloc(1, sizeof(*classes));

	classes->good_size = number;
	classes->older = older;
	return classes;
}

static void test_forgotten(void)
{
	static char user[] = "user", other[] = "other";
	struct ctf_reader reader = begin();
	struct ctf_event_class with = {.user = user}, without = {.user = NULL},
			       last = {.user = other};
	struct ctf_event_class *events[] = {&with, &without, &last};
	struct ctf_trace_classes *oldest = retired(11, NULL), *middle = retired(12, oldest),
				 *newest = retired(13, middle);

	newest->events = events;
	newest->event_count = 3;
	oldest->newer = middle;
	middle->newer = newest;
	newest->newer = traces[1];
	reader.retired = newest;
	/* A stream uses only the middle classes; then an item that waits uses the oldest ones. */
	one.classes = middle;
	CHECK(is_used(&reader, middle) && !is_used(&reader, oldest) && is_used(&reader, traces[1]));
	two.item.trace = &oldest->trace;
	CHECK(!is_used(&reader, oldest));
	two.waits = true;
	CHECK(is_used(&reader, oldest));
	reader.forget = forget;
	forget_retired(&reader);
	CHECK(has_noted("forget user;forget other;free 13;"));
	CHECK(reader.retired == middle && middle->older == oldest && middle->newer == traces[1] &&
			oldest->newer == middle);
	two.waits = false;
	forget_retired(&reader);
	CHECK(has_noted("free 11;") && reader.retired == middle && !middle->older);
	one.classes = traces[1];
	forget_retired(&reader);
	CHECK(has_noted("free 12;") && !reader.retired);
	/* Without a callback. */
	reader.forget = NULL;
	newest = retired(14, NULL);
	newest->events = events;
	newest->event_count = 3;
	ctf_reader_forget(&reader, newest);
	CHECK(has_noted("free 14;"));
}

static void test_refreshed(void)
{
	struct ctf_reader reader = begin();
	bool recording = true;

	ctf_reader_follow(&reader, forget);
	CHECK(reader.follows && reader.forget == forget && one.follows && two.follows);
	reader.retired = retired(15, NULL);
	CHECK(!ctf_reader_refresh(&reader, &recording) && !recording && !reader.follows);
	CHECK(strstr(log_text, "find /dir 0;size;overlaps;free 15;"));
	CHECK(!one.follows && !two.follows);
	/* Each stream that has no item and has not ended continues. */
	*log_text = '\0';
	locked_file = dir_name;
	reader.growing = reader.merging = true;
	one.waits = true;
	CHECK(!ctf_reader_refresh(&reader, &recording) && recording && reader.follows);
	CHECK(has_noted("open -100 /dir;close 0;find /dir 1;size;overlaps;wait c;"));
	CHECK(one.follows && two.follows);
	one.waits = false;
	two.state = CTF_STREAM_END;
	CHECK(!ctf_reader_refresh(&reader, &recording));
	CHECK(has_noted("open -100 /dir;close 0;find /dir 1;size;overlaps;wait b;"));
	two.state = one.state;
	wait_result = -ENOMEM;
	one.follows = two.follows = false;
	CHECK(ctf_reader_refresh(&reader, &recording) == -ENOMEM);
	CHECK(has_noted("open -100 /dir;close 0;find /dir 1;size;overlaps;wait b;"));
	CHECK(one.follows && !two.follows);
	overlap_result = -ENOMEM;
	CHECK(ctf_reader_refresh(&reader, &recording) == -ENOMEM);
	CHECK(has_noted("open -100 /dir;close 0;find /dir 1;size;overlaps;"));
	wait_result = overlap_result = 0;
	find_result = -EACCES;
	CHECK(!ctf_reader_refresh(&reader, &recording));
	CHECK(has_noted("open -100 /dir;close 0;find /dir 1;size;overlaps;wait b;wait c;"));
	find_result = -ENOMEM;
	CHECK(ctf_reader_refresh(&reader, &recording) == -ENOMEM);
	CHECK(has_noted("open -100 /dir;close 0;find /dir 1;"));
}

int main(void)
{
	test_locks();
	test_metadata();
	test_checks();
	test_forgotten();
	test_refreshed();
	begin();
	free(traces[0]);
	free(traces[1]);
	return 0;
}
