/* SPDX-License-Identifier: MIT */
/*
 * Functions that follow a directory, one by one, with values that all differ. The test includes the
 * file, and replaces the clock, marks, packets and calls that free disk space.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"
#include "../noted.h"
#include "../failing-calls.h"
#include "../resources.h"
#include "relay/follow.h"

/* ---- replaced functions ---- */

static int64_t played_ms = 70000;
static int open_error, inotify_error, watch_error, head_error, write_error, release_error;
static const char *open_refused = "";
static unsigned int nr_opened;
static int opened_flags;

static int played_clock(clockid_t id, struct timespec *now)
{
	CHECK(id == CLOCK_MONOTONIC);
	*now = (struct timespec){played_ms / 1000, played_ms % 1000 * 1000000 + 999999};
	return 0;
}

static int played_open(const char *path, int flags)
{
	CHECK(flags & O_CLOEXEC);
	nr_opened++;
	opened_flags = flags;
	if (open_error && !strcmp(path, open_refused)) {
		errno = open_error;
		return -1;
	}
	return open(path, flags);
}

static int played_inotify(int flags)
{
	CHECK(flags == (IN_CLOEXEC | IN_NONBLOCK));
	errno = inotify_error;
	return inotify_error ? -1 : inotify_init1(flags);
}

static int played_watch(int fd, const char *path, uint32_t mask)
{
	CHECK(mask ==
			(IN_CREATE | IN_MODIFY | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
					IN_CLOSE_WRITE));
	errno = watch_error;
	return watch_error ? -1 : inotify_add_watch(fd, path, mask);
}

static int played_punch(int fd, int mode, off_t offset, off_t size)
{
	CHECK(fd >= 0 && mode == (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE));
	note("%ld+%ld;", (long)offset, (long)size);
	return 0;
}

static int played_rmdir(const char *path)
{
	note("-%s;", path);
	return 0;
}

static int played_packet(int fd, const char *name, uint64_t offset, struct ctf_packet *packet)
{
	CHECK(fd >= 0);
	if (!strcmp(name, "bad"))
		return -EBADMSG;
	if (!strcmp(name, "short"))
		return 0;
	/* Packets of 100 bytes. */
	packet->next = offset + 100;
	return 1;
}

static int played_head(struct marks *marks)
{
	note("head %u %lu;", marks->head.nr_traces, (unsigned long)marks->head.past.packets);
	return head_error;
}

static int played_write(struct marks *marks, uint32_t *slot, const struct marks_entry *entry)
{
	(void)marks;
	if (entry->kind == MARKS_TRACE) {
		note("trace %u: %u %u %lu %d %s;", *slot, entry->trace.number,
				entry->trace.generation, (unsigned long)entry->trace.inode,
				entry->trace.done, entry->trace.name);
	} else {
		const struct marks_stream *to = &entry->stream;

		CHECK(entry->kind == MARKS_STREAM);
		note("stream %u: %u %u %lu %lu %lu %lu %lu %lu %lu %d %u %lu %lu %lu %lu %lu %u %lu %.4s %s;",
				*slot, to->trace, to->number, (unsigned long)to->delivered.offset,
				(unsigned long)to->delivered.packets,
				(unsigned long)to->delivered.events, (unsigned long)to->freed,
				(unsigned long)to->dropped_packets,
				(unsigned long)to->dropped_events, (unsigned long)to->dropped_bytes,
				to->seen, to->header_size, (unsigned long)to->first,
				(unsigned long)to->begin, (unsigned long)to->end,
				(unsigned long)to->sequence, (unsigned long)to->discarded,
				to->class_id, (unsigned long)to->instance, (const char *)to->uuid,
				to->name);
	}
	if (!write_error && !*slot)
		*slot = 9;
	return write_error;
}

static int played_release(struct marks *marks, uint32_t slot)
{
	(void)marks;
	note("free %u;", slot);
	return slot == (uint32_t)release_error ? -EIO : 0;
}

#define clock_gettime played_clock
#define open(path, flags) played_open(path, flags)
#define openat(dir, path, flags) ((void)(dir), played_open(path, flags))
#define inotify_init1 played_inotify
#define inotify_add_watch played_watch
#define fallocate played_punch
#define rmdir played_rmdir
#define ctf_packet_read played_packet
#define marks_write_head played_head
#define marks_write played_write
#define marks_release played_release
#include "relay/follow.c"
#undef clock_gettime
#undef open
#undef openat
#undef inotify_init1
#undef inotify_add_watch
#undef fallocate
#undef rmdir

static char root[] = "/tmp/side-follow-parts-XXXXXX";

static char *path_of(const char *name)
{
	static char paths[4][200];
	static unsigned int next;
	char *path = paths[next++ % 4];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", root, name);
	return path;
}

static void make_file(const char *name, size_t size)
{
	FILE *file = fopen(path_of(name), "we");

	CHECK(file);
	while (size--)
		CHECK(fputc('x', file) == 'x');
	CHECK(!fclose(file));
}

/* ---- locks ---- */

static void test_locks(void)
{
	struct follow_trace trace = {.path = root}, second = {.path = root, .ended = true};
	struct follow follow = {.dir = root, .traces = &second};
	unsigned int before = resources_descriptors();
	char folder[4096];
	int fd;

	make_file("metadata", 3);
	CHECK(!ctf_is_locked(AT_FDCWD, path_of("metadata"), 0) &&
			!ctf_is_locked(AT_FDCWD, path_of("none"), 0));
	fd = open(path_of("metadata"), O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && !flock(fd, LOCK_SH) && !ctf_is_locked(AT_FDCWD, path_of("metadata"), 0));
	CHECK(follow_is_over(&follow));
	CHECK(!flock(fd, LOCK_EX) && ctf_is_locked(AT_FDCWD, path_of("metadata"), O_NOFOLLOW));
	CHECK((opened_flags & (O_NOFOLLOW | O_NONBLOCK)) == (O_NOFOLLOW | O_NONBLOCK));
	CHECK(trace_is_written(&trace) && (opened_flags & O_NOFOLLOW));
	/* A trace that ended does not count. */
	second.next = &trace;
	CHECK(!follow_is_over(&follow));
	trace.ended = true;
	CHECK(follow_is_over(&follow));
	second.ended = false;
	CHECK(!follow_is_over(&follow));
	CHECK(!symlink("metadata", path_of("link")));
	CHECK(ctf_is_locked(AT_FDCWD, path_of("link"), 0) &&
			!ctf_is_locked(AT_FDCWD, path_of("link"), O_NOFOLLOW));
	close(fd);
	CHECK(follow_is_over(&follow));
	/*
	 * Without descriptors or memory, the lock is assumed. Any other error means that there is
	 * none.
	 */
	open_refused = root;
	for (unsigned int i = 0; i < 6; i++) {
		open_error = (const int[]){EMFILE, ENFILE, ENOMEM, ENOLCK, EACCES, ELOOP}[i];
		CHECK(follow_is_over(&follow) == (i >= 4));
	}
	open_error = 0;
	open_refused = "";
	fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(fd >= 0 && !flock(fd, LOCK_EX) && !follow_is_over(&follow));
	close(fd);
	CHECK(resources_descriptors() == before);
	/* The longest path, and one byte more. */
	memset(folder, '/', sizeof(folder));
	folder[4095 - strlen("/metadata")] = '\0';
	trace.path = folder;
	nr_opened = 0;
	CHECK(!trace_is_written(&trace) && nr_opened == 1);
	folder[4095 - strlen("/metadata")] = '/';
	folder[4096 - strlen("/metadata")] = '\0';
	CHECK(!trace_is_written(&trace) && nr_opened == 1);
	CHECK(!unlink(path_of("link")) && !unlink(path_of("metadata")));
}

/* ---- directories ---- */

static void test_open(void)
{
	unsigned int before = resources_descriptors();
	struct follow follow;

	memset(&follow, 'x', sizeof(follow));
	CHECK(!follow_open(root, &follow) && follow.walk && !follow.lame && !follow.error);
	CHECK(follow.inotify > 2 && follow.last == &follow.traces && !strcmp(follow.dir, root));
	CHECK(relay_follow_watch_path(&follow, root) == 1 && !follow.lame);
	watch_error = ENOSPC;
	CHECK(relay_follow_watch_path(&follow, root) == -1 && follow.lame);
	watch_error = 0;
	follow_close(&follow);
	CHECK(follow.inotify == -1 && !follow.dir && !follow.walk && !follow.lame);
	CHECK(resources_descriptors() == before);
	inotify_error = EMFILE;
	CHECK(!follow_open(root, &follow) && follow.lame && follow.inotify == -1);
	follow.lame = false;
	CHECK(relay_follow_watch_path(&follow, root) == -1 && follow.lame);
	follow_close(&follow);
	inotify_error = 0;
}

static bool is_named(char *dir, const char *path, const char *expected)
{
	const struct follow follow = {.dir = dir};
	char *name = trace_name(&follow, path);
	bool same = name && !strcmp(name, expected);

	free(name);
	return same;
}

static void test_names(void)
{
	char top[] = "/", tops[] = "//", plain[] = "/a/bc", slashes[] = "/a/bc//", dot[] = "/a/.b",
	     relative[] = "bc", one[] = "b/";

	CHECK(is_named(top, "/x/y", "x/y") && is_named(top, "/", "trace"));
	CHECK(is_named(tops, "//", "trace") && is_named(plain, "/a/bc/d/e", "d/e"));
	CHECK(is_named(plain, "/a/bc", "bc") && is_named(slashes, "/a/bc//", "bc"));
	CHECK(is_named(slashes, "/a/bc///d", "d") && is_named(dot, "/a/.b", "trace"));
	CHECK(is_named(relative, "bc", "bc") && is_named(one, "b/", "b"));
}

static int error_after(int code)
{
	struct follow follow = {.error = 0};

	errno = code;
	relay_follow_note_error(&follow);
	return follow.error;
}

static void test_errors(void)
{
	unsigned int before = resources_descriptors();
	struct dirent entry = {.d_type = DT_DIR, .d_name = ".x"};
	struct follow follow = {.inotify = -1, .dir = root};

	CHECK(!error_after(0) && !error_after(ENOENT) && !error_after(EACCES));
	CHECK(!error_after(ENOTDIR) && !error_after(ELOOP));
	CHECK(error_after(EIO) == EIO && error_after(EMFILE) == EMFILE);
	follow.last = &follow.traces;
	/*
	 * A directory that cannot be read is an error; a directory below it is one unless the
	 * reason is that only its user may read it.
	 */
	open_refused = root;
	open_error = EACCES;
	CHECK(walk_below(&follow, root, 0) == -EACCES && follow.error == EACCES);
	follow.error = 0;
	CHECK(!walk_below(&follow, root, 1) && !follow.error);
	CHECK(!follow_scan(&follow, true) && follow.error == EACCES && follow.walk);
	follow.error = 0;
	open_error = EIO;
	CHECK(walk_below(&follow, root, 0) == -EIO && follow.error == EIO);
	follow.error = 0;
	CHECK(!walk_below(&follow, root, 1) && follow.error == EIO);
	follow.error = 0;
	open_error = ENOENT;
	CHECK(walk_below(&follow, root, 0) == -ENOENT && !follow.error);
	open_error = 0;
	/* Links are followed only for the directory that the user named. */
	CHECK(!walk_below(&follow, root, 0) && !(opened_flags & O_NOFOLLOW));
	CHECK(!walk_below(&follow, root, 1) && (opened_flags & O_NOFOLLOW));
	CHECK(opened_flags & O_DIRECTORY);
	/* Directories of the last level are not read. */
	CHECK(!mkdir(path_of("t"), 0700));
	make_file("t/metadata", 1);
	CHECK(!walk_below(&follow, root, DEPTH_MAX) && !follow.traces);
	CHECK(!walk_entry(&follow, root, &entry, 1) && !follow.traces);
	strcpy(entry.d_name, "t");
	entry.d_type = DT_REG;
	CHECK(!walk_entry(&follow, root, &entry, 1) && !follow.traces);
	entry.d_type = DT_UNKNOWN;
	CHECK(!walk_entry(&follow, root, &entry, 1) && follow.traces && follow.nr_traces == 1);
	CHECK(!strcmp(follow.traces->path, path_of("t")) && !strcmp(follow.traces->name, "t"));
	CHECK(follow.traces->found && follow.traces->dirty && follow.traces->watch == -1);
	CHECK(follow.last == &follow.traces->next && follow.traces->inode);
	/* Without a directory at the path of the trace. */
	open_refused = path_of("t");
	open_error = EIO;
	CHECK(!relay_follow_scan_trace(&follow, follow.traces, true) && follow.error == EIO);
	CHECK(!follow.traces->dirty && !follow.traces->ended);
	open_error = 0;
	follow.error = 0;
	CHECK(!relay_follow_scan_trace(&follow, follow.traces, true) && follow.traces->ended);
	CHECK(follow.traces->metadata_size == 1 && follow.traces->metadata_inode);
	/* With an error, it is not over. */
	follow.error = EIO;
	follow.traces->ended = false;
	CHECK(!relay_follow_scan_trace(&follow, follow.traces, true) && follow.traces->dirty &&
			!follow.traces->ended);
	relay_follow_free_trace(follow.traces);
	CHECK(resources_descriptors() == before);
	CHECK(!unlink(path_of("t/metadata")) && !rmdir(path_of("t")));
}

static void test_renamed(void)
{
	struct stat status = {.st_dev = 3, .st_ino = 4};
	struct follow_trace trace = {.device = 3, .inode = 4, .path = strdup("/old"), .missing = 5};
	struct follow follow = {.inotify = -1, .dir = root, .traces = &trace, .nr_traces = 6};

	follow.last = &trace.next;
	CHECK(!add_trace(&follow, "/new", &status) && trace.found && !trace.missing);
	CHECK(!strcmp(trace.path, "/new") && !trace.next && !trace.dirty && follow.nr_traces == 6);
	failing_arm(1);
	CHECK(add_trace(&follow, "/newer", &status) == -ENOMEM && failing_has_failed());
	CHECK(!strcmp(trace.path, "/new"));
	trace.found = false;
	/* Another device, another inode, and one that was removed. */
	status.st_dev = 5;
	CHECK(!add_trace(&follow, path_of("a"), &status) && !trace.found &&
			trace.next->number == 6);
	status = (struct stat){.st_dev = 3, .st_ino = 7};
	CHECK(!add_trace(&follow, path_of("b"), &status) && trace.next->next->number == 7);
	CHECK(trace.next->next->device == 3 && trace.next->next->inode == 7);
	status.st_ino = 4;
	trace.removed = true;
	CHECK(!add_trace(&follow, path_of("c"), &status) && trace.next->next->next->number == 8);
	CHECK(!trace.found && !strcmp(trace.path, "/new") && follow.nr_traces == 9);
	while (trace.next) {
		struct follow_trace *next = trace.next->next;

		relay_follow_free_trace(trace.next);
		trace.next = next;
	}
	free(trace.path);
}

/*
 * A trace that cannot be found is lost after five seconds, or at once if no recorder runs any more.
 */
static void test_missing(void)
{
	char name[] = "gone";
	struct follow_stream streams[] = {
			{.there = 100, .at.offset = 70, .at.packets = 8, .delivered.offset = 40},
			{.there = 7, .damaged = true}};
	struct follow_trace trace = {.name = name, .streams = streams};
	char empty[] = "/tmp/side-follow-empty-XXXXXX";
	struct follow follow = {.inotify = -1, .dir = empty, .traces = &trace};

	CHECK(mkdtemp(empty));
	played_ms = 70000;
	streams[0].next = &streams[1];
	CHECK(MISSING_MS == 5000 && undelivered(&trace) == 60);
	follow.walk = true;
	CHECK(!relay_follow_walk_traces(&follow, false) && follow.walk && trace.missing == 70000 &&
			!trace.removed);
	played_ms += 4999;
	CHECK(!relay_follow_walk_traces(&follow, false) && follow.walk && trace.missing == 70000 &&
			!trace.removed);
	played_ms++;
	CHECK(!relay_follow_walk_traces(&follow, false) && !follow.walk && trace.removed &&
			trace.ended);
	CHECK(follow.vanished == 60 && !strcmp(follow.gone, "gone"));
	CHECK(streams[0].there == 70 && streams[0].size == 70 &&
			streams[0].delivered.offset == 70 && streams[0].delivered.packets == 8);
	/* At the end, at once. With an error, never. */
	trace.removed = trace.ended = false;
	trace.missing = 0;
	streams[0].there = 75;
	follow.error = EIO;
	CHECK(!relay_follow_walk_traces(&follow, true) && !trace.removed && !trace.missing);
	follow.error = 0;
	CHECK(!relay_follow_walk_traces(&follow, true) && trace.removed &&
			trace.missing == played_ms);
	CHECK(follow.vanished == 65 && !follow.walk);
	/* Nothing is lost if everything was delivered. */
	trace.removed = false;
	free(follow.gone);
	follow.gone = NULL;
	CHECK(!relay_follow_walk_traces(&follow, true) && trace.removed && follow.vanished == 65 &&
			!follow.gone);
	CHECK(!rmdir(empty));
}

/* ---- files of a trace ---- */

static void test_files(void)
{
	int directory = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct follow_trace trace = {.path = root, .nr_streams = 5};
	struct follow follow = {.inotify = -1};
	struct follow_stream *stream;

	make_file("one", 11);
	make_file(".maps", 5);
	make_file("a.zst", 3);
	make_file(".zst", 3);
	make_file("none", 0);
	make_file("metadata", 3);
	CHECK(!relay_follow_check_file(&follow, &trace, directory, ".zst") && !trace.streams);
	CHECK(!relay_follow_check_file(&follow, &trace, directory, "metadata") && !trace.streams);
	CHECK(!relay_follow_check_file(&follow, &trace, directory, "none") && !trace.streams);
	CHECK(!relay_follow_check_file(&follow, &trace, directory, "absent") && !follow.error);
	CHECK(!relay_follow_check_file(&follow, &trace, directory, ".maps") &&
			trace.maps_size == 5);
	CHECK(!relay_follow_check_file(&follow, &trace, directory, "one") && trace.nr_streams == 6);
	stream = trace.streams;
	CHECK(stream->number == 5 && stream->trace == &trace && !strcmp(stream->name, "one"));
	CHECK(stream->there == 11 && stream->size == 11 && !strcmp(stream->plain, "one"));
	/* A smaller file does not shrink the stream; a larger one waits for a settled size. */
	stream->there = stream->size = 12;
	CHECK(!relay_follow_check_file(&follow, &trace, directory, "one") && stream->there == 12);
	stream->there = stream->size = 8;
	follow.staged = true;
	CHECK(!relay_follow_check_file(&follow, &trace, directory, "one") && stream->there == 11 &&
			stream->size == 8);
	CHECK(!relay_follow_check_file(&follow, &trace, directory, "a.zst") &&
			stream->next->number == 6);
	CHECK(!strcmp(stream->next->name, "a.zst") && !strcmp(stream->next->plain, "a"));
	CHECK(stream->next->there == 3 && !stream->next->size);
	CHECK(relay_follow_find_stream(&trace, "a.zst") == stream->next &&
			!relay_follow_find_stream(&trace, "a"));
	follow.traces = &trace;
	CHECK(follow_is_unsettled(&follow));
	follow_settle(&follow);
	CHECK(!follow_is_unsettled(&follow) && stream->size == 11 && stream->next->size == 3);
	CHECK(!strcmp(relay_follow_add_stream(&trace, ".zst")->plain, ".zst"));
	CHECK(!strcmp(relay_follow_add_stream(&trace, "zst")->plain, "zst") &&
			trace.nr_streams == 9);
	while (trace.streams) {
		stream = trace.streams->next;
		free_stream(trace.streams);
		trace.streams = stream;
	}
	close(directory);
}

/* Which traces are read again: those that have changed, and those whose recorder has ended. */
static void test_scan(void)
{
	static const struct {
		bool removed, done, dirty, lame, over, ended, locked, read;
	} cases[] = {
			{.ended = true},
			{.locked = true},
			{.read = true},
			{.dirty = true, .ended = true, .read = true},
			{.dirty = true, .locked = true, .read = true},
			{.dirty = true, .removed = true},
			{.dirty = true, .done = true},
			{.lame = true, .ended = true, .read = true},
			{.lame = true, .done = true},
			{.over = true, .ended = true},
			{.over = true, .locked = true, .read = true},
			{.over = true, .removed = true},
	};
	char folder[200], directory[100];
	int fd;

	(void)snprintf(directory, sizeof(directory), "%s/look", root);
	(void)snprintf(folder, sizeof(folder), "%s/t", directory);
	CHECK(!mkdir(directory, 0700) && !mkdir(folder, 0700));
	make_file("look/t/metadata", 6);
	fd = open(path_of("look/t/metadata"), O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct stat status;
		struct follow_trace trace = {.path = strdup(folder),
				.removed = cases[i].removed,
				.done = cases[i].done,
				.dirty = cases[i].dirty,
				.ended = cases[i].ended,
				.metadata_size = 77};
		struct follow follow = {.dir = directory,
				.inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK),
				.traces = &trace,
				.lame = cases[i].lame,
				.error = EIO};

		CHECK(!stat(folder, &status));
		trace.device = status.st_dev;
		trace.inode = status.st_ino;
		follow.last = &trace.next;
		CHECK(!flock(fd, cases[i].locked ? LOCK_EX : LOCK_UN));
		CHECK(!follow_scan(&follow, cases[i].over) && !follow.error);
		CHECK(trace.metadata_size == (cases[i].read ? 6 : 77));
		CHECK(!cases[i].read || trace.ended == (cases[i].over || !cases[i].locked));
		/* The directory is walked if it has changed, without watches, and at the end. */
		CHECK(trace.found == ((cases[i].lame || cases[i].over) && !cases[i].removed));
		if (trace.next)
			relay_follow_free_trace(trace.next);
		free(trace.path);
		close(follow.inotify);
	}
	close(fd);
}

/* A file that cannot be read is an error, but does not count as removed. */
static void test_unreadable(void)
{
	int directory = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct follow_trace trace = {.path = root};
	struct follow follow = {.inotify = -1};
	char name[300];

	memset(name, 'n', sizeof(name));
	name[299] = '\0';
	CHECK(!relay_follow_check_file(&follow, &trace, directory, name) &&
			follow.error == ENAMETOOLONG);
	CHECK(!relay_follow_check_file(&follow, &trace, directory, "t") && !trace.streams);
	CHECK(!relay_follow_check_file(&follow, &trace, directory, "look") && !trace.streams);
	failing_arm(1);
	CHECK(relay_follow_check_file(&follow, &trace, directory, "one") == -ENOMEM &&
			failing_has_failed());
	CHECK(!trace.streams && !trace.nr_streams);
	close(directory);
}

/* Closing releases everything. */
static void test_close(void)
{
	struct follow follow;
	struct stat status;

	CHECK(!follow_open(root, &follow) && !stat(root, &status));
	CHECK(!add_trace(&follow, path_of("x"), &status));
	status.st_ino++;
	CHECK(!add_trace(&follow, path_of("y"), &status) &&
			relay_follow_add_stream(follow.traces, "s"));
	follow.traces->counter = ctf_counter_create();
	follow.gone = strdup("gone");
	follow.marks = calloc(1, sizeof(*follow.marks));
	CHECK(follow.traces->counter && follow.gone && follow.marks);
	follow.marks->fd = -1;
	follow_close(&follow);
	CHECK(!follow.traces && !follow.gone && !follow.marks);
}

/* ---- messages of inotify ---- */

static void test_notes(void)
{
	const struct inotify_event first = {.wd = 3, .mask = IN_MODIFY, .len = 16},
				   next = {.wd = 4, .mask = IN_MODIFY};
	char events[2 * sizeof(first) + 16] = "";
	struct follow_trace second = {.watch = 4}, trace = {.watch = 3, .next = &second};
	struct follow follow = {.traces = &trace, .inotify = -1};
	struct inotify_event event = {.wd = 4, .mask = IN_MODIFY};
	int ends[2];

	relay_follow_handle_inotify(&follow, &event);
	CHECK(!trace.dirty && second.dirty && !follow.walk && !follow.lame);
	second.dirty = false;
	for (uint32_t bit = IN_MOVED_FROM;; bit = bit == IN_MOVED_FROM ? IN_DELETE : IN_IGNORED) {
		event.mask = bit;
		relay_follow_handle_inotify(&follow, &event);
		CHECK(second.dirty && follow.walk && !follow.lame);
		second.dirty = follow.walk = false;
		if (bit == IN_IGNORED)
			break;
	}
	event = (struct inotify_event){.wd = 3, .mask = IN_CREATE};
	trace.removed = true;
	relay_follow_handle_inotify(&follow, &event);
	CHECK(!trace.dirty && !second.dirty && follow.walk && !follow.lame);
	follow.walk = trace.removed = false;
	event = (struct inotify_event){.wd = -1, .mask = IN_Q_OVERFLOW};
	relay_follow_handle_inotify(&follow, &event);
	CHECK(!trace.dirty && !second.dirty && follow.walk && follow.lame);
	follow.walk = follow.lame = false;
	/* Two messages in one read, the first with a name. */
	take_notes(&follow);
	CHECK(!pipe2(ends, O_NONBLOCK | O_CLOEXEC));
	follow.inotify = ends[0];
	memcpy(events, &first, sizeof(first));
	memcpy(events + sizeof(first) + 16, &next, sizeof(next));
	CHECK(write(ends[1], events, sizeof(events)) == sizeof(events));
	take_notes(&follow);
	CHECK(trace.dirty && second.dirty && !follow.walk);
	close(ends[0]);
	close(ends[1]);
}

/* ---- packets and texts ---- */

static void test_packets(void)
{
	char name[] = "one", bad[] = "bad", cut[] = "short", folder[4200];
	struct follow_trace trace = {.path = root};
	struct follow_stream stream = {.trace = &trace, .name = name, .size = 200};
	struct ctf_packet packet = {.next = 0};
	unsigned int before = resources_descriptors();

	make_file("bad", 1);
	make_file("short", 1);
	CHECK(follow_peek(&stream, &packet) == 1 && packet.next == 100 && !stream.damaged);
	stream.at.offset = 100;
	CHECK(follow_peek(&stream, &packet) == 1 && packet.next == 200);
	stream.at.offset = 101;
	CHECK(follow_peek(&stream, &packet) == 0 && !stream.damaged);
	stream.at.offset = 200;
	nr_opened = 0;
	CHECK(follow_peek(&stream, &packet) == 0 && !nr_opened);
	stream.at.offset = 0;
	trace.removed = true;
	CHECK(follow_peek(&stream, &packet) == 0 && !nr_opened);
	trace.removed = false;
	stream.damaged = true;
	CHECK(follow_peek(&stream, &packet) == 0 && !nr_opened);
	stream.damaged = false;
	/* Half a packet is damage if the trace has ended. */
	stream.name = cut;
	CHECK(follow_peek(&stream, &packet) == 0 && !stream.damaged);
	trace.ended = true;
	CHECK(follow_peek(&stream, &packet) == -EBADMSG && stream.damaged);
	stream.damaged = trace.ended = false;
	stream.name = bad;
	CHECK(follow_peek(&stream, &packet) == -EBADMSG && stream.damaged);
	stream.damaged = false;
	stream.name = name;
	open_refused = path_of("one");
	open_error = ENOENT;
	CHECK(follow_peek(&stream, &packet) == 0);
	open_error = EMFILE;
	CHECK(follow_peek(&stream, &packet) == -EMFILE && !stream.damaged);
	open_error = 0;
	CHECK(resources_descriptors() == before);
	memset(folder, '/', sizeof(folder));
	folder[4095 - 4] = '\0';
	trace.path = folder;
	nr_opened = 0;
	CHECK(!follow_peek(&stream, &packet) && nr_opened == 1);
	folder[4095 - 4] = '/';
	folder[4095 - 3] = '\0';
	CHECK(!follow_peek(&stream, &packet) && nr_opened == 1);
}

static void test_pass(void)
{
	unsigned char bytes[1];
	struct ctf_packet packet = {.begin = 11,
			.end = 12,
			.next = 300,
			.sequence = 14,
			.bytes = bytes,
			.size = 15,
			.capacity = 16};
	struct follow_stream stream = {.at = {.offset = 100, .packets = 4, .events = 50}};

	follow_pass(&stream, &packet, 7);
	CHECK(stream.seen && stream.begin == 11 && stream.at.offset == 300 &&
			stream.at.packets == 5 && stream.at.events == 57);
	CHECK(stream.last.end == 12 && stream.last.sequence == 14 && !stream.last.bytes &&
			!stream.last.size && !stream.last.capacity);
	packet.begin = 21;
	packet.next = 350;
	follow_pass(&stream, &packet, 0);
	CHECK(stream.begin == 11 && stream.last.begin == 21 && stream.at.packets == 6 &&
			stream.at.events == 57 && stream.at.offset == 350);
}

static void test_text(void)
{
	struct follow_trace trace = {.path = root};
	unsigned int before = resources_descriptors();
	char folder[4200], *text;
	size_t size = 5;
	int fd;

	CHECK(follow_text(&trace, "absent", 0, &text, &size) == -ENOENT && !text && !size);
	fd = open(path_of("large"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && !ftruncate(fd, (off_t)1 << 30));
	/* One byte too many is not read; a permitted size needs memory. */
	failing_arm(1);
	CHECK(!follow_text(&trace, "large", 0, &text, &size) && failing_has_failed() && !text);
	failing_arm(2);
	CHECK(follow_text(&trace, "large", 0, &text, &size) == -ENOMEM && failing_has_failed());
	CHECK(!text && !size && !ftruncate(fd, ((off_t)1 << 30) + 1));
	CHECK(!follow_text(&trace, "large", 0, &text, &size) && !text && !size);
	failing_arm(2);
	CHECK(follow_text(&trace, "large", 1, &text, &size) == -ENOMEM && failing_has_failed());
	CHECK(!ftruncate(fd, 4) && !follow_text(&trace, "large", 4, &text, &size) && !text);
	failing_arm(3);
	CHECK(follow_text(&trace, "large", 3, &text, &size) == -EIO && failing_has_failed());
	CHECK(!text && !size && !ftruncate(fd, 0) && pwrite(fd, "abc", 3, 0) == 3);
	/* Of an ended trace, everything. */
	CHECK(!follow_text(&trace, "large", 1, &text, &size) && text && !size);
	free(text);
	trace.ended = true;
	CHECK(!follow_text(&trace, "large", 1, &text, &size) && size == 2 &&
			!memcmp(text, "bc", 2));
	free(text);
	close(fd);
	CHECK(!unlink(path_of("large")) && resources_descriptors() == before);
	memset(folder, '/', sizeof(folder));
	folder[4095 - strlen("/x")] = '\0';
	trace.path = folder;
	CHECK(follow_text(&trace, "x", 0, &text, &size) == -ENOENT);
	folder[4095 - strlen("/x")] = '/';
	folder[4096 - strlen("/x")] = '\0';
	CHECK(follow_text(&trace, "x", 0, &text, &size) == -ENAMETOOLONG);
}

/* ---- disk space ---- */

static void test_space(void)
{
	char name[] = "one", other_name[] = "bad", folder[] = "/d/c/t";
	struct follow_stream other = {.name = other_name, .there = 5, .freed = 2},
			     stream = {.name = name,
					     .there = 9000,
					     .freed = 4096,
					     .delivered.offset = 8191,
					     .next = &other};
	struct follow_trace last = {.removed = true},
			    trace = {.path = root, .streams = &stream, .next = &last};
	char dir[] = "/d//", top[] = "/";
	struct follow follow = {.dir = dir, .traces = &trace};
	unsigned int before = resources_descriptors();

	other.trace = stream.trace = &trace;
	last.streams = &stream;
	CHECK(follow_bytes(&follow) == 9000 - 4096 + 3);
	CHECK(follow_pending(&follow) == 9000 - 8191 + 5 && follow_pending_of(&last) == 0);
	trace.refused = true;
	CHECK(follow_pending(&follow) == 0);
	trace.refused = false;
	other.damaged = true;
	CHECK(follow_pending_of(&trace) == 9000 - 8191);
	/* Whole blocks after those that were freed before. */
	punch(&stream);
	CHECK(has_noted("") && stream.freed == 4096);
	stream.delivered.offset = 8192;
	punch(&stream);
	CHECK(has_noted("4096+4096;") && stream.freed == 8192);
	punch(&stream);
	CHECK(has_noted("") && resources_descriptors() == before);
	stream.freed = 0;
	stream.delivered.offset = 4095;
	punch(&stream);
	CHECK(has_noted("") && !stream.freed);
	/* A file that cannot be opened keeps its blocks. */
	stream.delivered.offset = 8192;
	(void)snprintf(log_text, sizeof(log_text), "%s/one", root);
	open_refused = log_text;
	open_error = EACCES;
	punch(&stream);
	CHECK(!stream.freed);
	open_error = 0;
	open_refused = "";
	*log_text = '\0';
	/* Only while there is more than the limit. */
	stream.delivered.offset = 8999;
	follow_free(&follow, 9003);
	CHECK(has_noted("") && !stream.freed);
	follow_free(&follow, 9002);
	CHECK(has_noted("0+8192;") && stream.freed == 8192);
	/* Not the directory itself, and nothing above it. */
	trace.path = folder;
	remove_above(&follow, &trace);
	CHECK(has_noted("-/d/c;"));
	strcpy(folder, "/d/t");
	remove_above(&follow, &trace);
	strcpy(folder, "x");
	remove_above(&follow, &trace);
	follow.dir = top;
	strcpy(folder, "/d/t");
	remove_above(&follow, &trace);
	strcpy(folder, "/t");
	remove_above(&follow, &trace);
	CHECK(has_noted(""));
}

static void test_removed(void)
{
	char dir[] = "/tmp", expected[300], path[100];
	struct follow_stream stream = {.there = 10, .delivered.offset = 9};
	struct follow_trace trace = {.path = path, .done = true, .streams = &stream};
	struct follow follow = {.dir = dir, .traces = &trace};
	unsigned int before = resources_descriptors();

	/* Files that are not a part of a trace stay. */
	(void)snprintf(path, sizeof(path), "%s/gone", root);
	CHECK(!mkdir(path, 0700) && !mkdir(path_of("gone/index"), 0700));
	make_file("gone/metadata", 1);
	make_file("gone/.maps", 1);
	make_file("gone/" CTF_USER_FILE, 1);
	make_file("gone/ring", 1);
	make_file("gone/.other", 1);
	stream.trace = &trace;
	stream.name = (char[]){"ring"};
	follow_free(&follow, 0);
	CHECK(!trace.removed && !access(path_of("gone/ring"), F_OK));
	stream.delivered.offset = 10;
	trace.done = false;
	follow_free(&follow, 0);
	CHECK(!trace.removed && !access(path_of("gone/ring"), F_OK));
	trace.done = true;
	follow_free(&follow, 10);
	CHECK(!trace.removed);
	follow_free(&follow, 9);
	CHECK(trace.removed && access(path_of("gone/ring"), F_OK));
	CHECK(access(path_of("gone/metadata"), F_OK) && access(path_of("gone/.maps"), F_OK));
	CHECK(access(path_of("gone/" CTF_USER_FILE), F_OK) &&
			!access(path_of("gone/.other"), F_OK));
	(void)snprintf(expected, sizeof(expected), "-%s;-%s;", path, root);
	CHECK(has_noted(expected) && resources_descriptors() == before);
	follow_free(&follow, 0);
	trace.removed = false;
	strcpy(path, "/nowhere/at-all");
	relay_follow_remove_trace(&follow, &trace);
	CHECK(has_noted("") && !trace.removed);
}

/* Packets of 100 bytes each; counted ones are not read again. */
static void test_pending(void)
{
	char name[] = "one";
	struct follow_stream stream = {.name = name,
			.size = 550,
			.there = 550,
			.at.offset = 350,
			.at.packets = 9,
			.delivered = {.offset = 100, .packets = 7}};
	struct follow_trace trace = {.path = root, .streams = &stream};
	struct follow follow = {.traces = &trace};
	struct ctf_packet packet = {.next = 0};

	stream.trace = &trace;
	CHECK(follow_pending_packets(&follow, &packet, 3) == 3);
	CHECK(stream.counted.offset == 400 && stream.counted.packets == 10);
	CHECK(stream.at.offset == 350 && stream.at.packets == 9 && !stream.damaged);
	nr_opened = 0;
	CHECK(follow_pending_packets(&follow, &packet, 9) == 4 && nr_opened == 2);
	CHECK(stream.counted.offset == 500);
	/* Damage is not reported here. */
	trace.ended = true;
	stream.name = (char[]){"bad"};
	CHECK(follow_pending_packets(&follow, &packet, 9) == 4 && !stream.damaged);
	stream.delivered = (struct marks_position){.offset = 520, .packets = 30};
	CHECK(follow_pending_packets(&follow, &packet, 0) == 0 && stream.counted.packets == 30);
	stream.counted.packets = 33;
	CHECK(follow_pending_packets(&follow, &packet, 0) == 3);
	trace.refused = true;
	CHECK(follow_pending_packets(&follow, &packet, 9) == 0);
	trace.refused = false;
	trace.removed = true;
	CHECK(follow_pending_packets(&follow, &packet, 9) == 0);
}

/* ---- marks ---- */

static void test_marks(void)
{
	static char trace_name_text[MARKS_NAME_MAX + 2], stream_name[MARKS_STREAM_MAX + 2];
	struct marks marks = {.head.nr_traces = 3};
	struct follow_stream stream = {.number = 13,
			.slot = 21,
			.delivered = {31, 32, 33},
			.freed = 34,
			.dropped_packets = 35,
			.dropped_events = 36,
			.dropped_bytes = 37,
			.seen = true,
			.header_size = 84,
			.begin = 38,
			.last = {.begin = 39,
					.end = 40,
					.sequence = 41,
					.discarded = 42,
					.class_id = 43,
					.instance = 44,
					.uuid = "UUID"}};
	struct follow_trace trace = {.name = trace_name_text,
			.number = 5,
			.generation = 6,
			.inode = 7,
			.streams = &stream};
	struct follow follow = {.traces = &trace, .nr_traces = 4};

	stream.trace = &trace;
	stream.name = stream_name;
	strcpy(trace_name_text, "t");
	strcpy(stream_name, "s");
	CHECK(!follow_mark(&follow) && !follow_mark_trace(&follow, &trace) &&
			!follow_mark_stream(&follow, &stream) && has_noted(""));
	follow.marks = &marks;
	CHECK(!follow_mark(&follow) && has_noted(""));
	/* The head first. */
	head_error = -EIO;
	CHECK(follow_mark_trace(&follow, &trace) == -EIO && has_noted("head 4 0;"));
	head_error = 0;
	marks.head.nr_traces = 3;
	CHECK(!follow_mark_trace(&follow, &trace) && has_noted("head 4 0;trace 0: 5 6 7 0 t;"));
	CHECK(trace.slot == 9 && trace.marked_generation == 6 && !trace.marked_done);
	CHECK(!follow_mark_trace(&follow, &trace) && has_noted(""));
	trace.done = true;
	write_error = -ENOSPC;
	CHECK(follow_mark_trace(&follow, &trace) == -ENOSPC && has_noted("trace 9: 5 6 7 1 t;"));
	CHECK(!trace.marked_done);
	write_error = 0;
	CHECK(!follow_mark_trace(&follow, &trace) && has_noted("trace 9: 5 6 7 1 t;"));
	trace.generation = 8;
	CHECK(!follow_mark_trace(&follow, &trace) && has_noted("trace 9: 5 8 7 1 t;"));
	CHECK(trace.marked_done && trace.marked_generation == 8);
#define STREAM "stream 21: 5 13 31 32 33 34 35 36 37 1 84 38 39 40 41 42 43 44 UUID s;"
	write_error = -ENOSPC;
	CHECK(follow_mark(&follow) == -ENOSPC && has_noted(STREAM) && !stream.marked.offset);
	write_error = 0;
	CHECK(!follow_mark_stream(&follow, &stream) && has_noted(STREAM));
	CHECK(stream.marked.offset == 31 && stream.marked.events == 33 &&
			stream.marked_dropped == 36);
	CHECK(!follow_mark_stream(&follow, &stream) && has_noted(""));
	stream.marked_dropped = 35;
	CHECK(!follow_mark(&follow) && has_noted(STREAM));
	stream.marked.offset = 30;
	CHECK(!follow_mark(&follow) && has_noted(STREAM));
	stream.slot = 0;
	CHECK(!follow_mark(&follow) && has_noted(""));
	/* Each error of a trace or of a stream is kept until the end. */
	stream.slot = 21;
	stream.marked.offset = 30;
	trace.marked_generation = 1;
	write_error = -EIO;
	CHECK(follow_mark(&follow) == -EIO && has_noted(STREAM "trace 9: 5 8 7 1 t;"));
	write_error = 0;
	stream.marked.offset = 31;
	trace.marked_generation = 8;
	/* Names of the greatest length, and one byte more. */
	memset(trace_name_text, 'n', MARKS_NAME_MAX);
	memset(stream_name, 'n', MARKS_STREAM_MAX);
	trace.slot = stream.slot = 0;
	CHECK(!follow_mark_trace(&follow, &trace) && !follow_mark_stream(&follow, &stream));
	CHECK(trace.slot == 9 && stream.slot == 9);
	trace.slot = stream.slot = 0;
	trace_name_text[MARKS_NAME_MAX] = stream_name[MARKS_STREAM_MAX] = 'n';
	CHECK(follow_mark_trace(&follow, &trace) == -ENAMETOOLONG &&
			follow_mark_stream(&follow, &stream) == -ENAMETOOLONG);
	*log_text = '\0';
}

/* Traces that are complete and removed become sums; others stay. */
static void test_forget(void)
{
	struct marks marks = {.fd = -1};
	struct follow follow = {.marks = &marks, .past = {.packets = 1000, .traces = 2}};
	struct follow_trace *traces[6], **end = &follow.traces;

	for (unsigned int i = 0; i < 6; i++) {
		struct follow_stream *stream = calloc(1, sizeof(*stream));

		traces[i] = calloc(1, sizeof(*traces[i]));
		CHECK(stream && traces[i]);
		traces[i]->slot = 50 + i;
		traces[i]->done = i != 1;
		traces[i]->removed = i != 2;
		traces[i]->refused = i == 3;
		traces[i]->missing = i == 4;
		traces[i]->streams = stream;
		stream->slot = 60 + i;
		stream->delivered = (struct marks_position){500 + i, 10 + i, 20 + i};
		stream->dropped_bytes = 100;
		stream->dropped_packets = 30 + i;
		stream->dropped_events = 40 + i;
		*end = traces[i];
		end = &traces[i]->next;
	}
	CHECK(!follow_forget(&follow));
	CHECK(has_noted("free 50;free 60;head 0 1010;free 55;free 65;head 0 1025;"));
	CHECK(follow.past.packets == 1025 && follow.past.bytes == 400 + 405 &&
			follow.past.events == 45 && follow.past.dropped_packets == 65 &&
			follow.past.dropped_events == 85 && follow.past.traces == 4);
	CHECK(follow.traces == traces[1] && traces[4]->next == NULL &&
			follow.last == &traces[4]->next);
	/* A slot that cannot be released, and a head that cannot be written. */
	traces[2]->removed = true;
	release_error = 62;
	CHECK(follow_forget(&follow) == -EIO && has_noted("free 52;free 62;"));
	traces[1]->done = true;
	release_error = 51;
	CHECK(follow_forget(&follow) == -EIO && has_noted("free 51;"));
	release_error = 0;
	traces[3]->refused = false;
	head_error = -ENOSPC;
	CHECK(follow_forget(&follow) == -ENOSPC && follow.past.packets == 1025 + 12 + 11 + 13);
	head_error = 0;
	*log_text = '\0';
	/* Without marks, too. */
	follow.marks = NULL;
	traces[4]->missing = 0;
	CHECK(!follow_forget(&follow) && !follow.traces && follow.last == &follow.traces);
	CHECK(has_noted("") && follow.past.traces == 8);
}

static void test_reconcile(void)
{
	struct marks_entry entries[] = {{.kind = MARKS_TRACE}, {.kind = MARKS_TRACE},
			{.kind = MARKS_STREAM}, {.kind = MARKS_FREE}, {.kind = MARKS_TRACE},
			{.kind = MARKS_STREAM}, {.kind = MARKS_STREAM}};
	struct marks marks = {.entries = entries, .nr = 6};
	struct follow_stream stream = {.slot = 5};
	struct follow_trace trace = {.slot = 1, .streams = &stream};
	struct follow follow = {.traces = &trace};

	CHECK(!follow_reconcile(&follow) && has_noted(""));
	follow.marks = &marks;
	CHECK(!follow_reconcile(&follow) && has_noted("free 2;free 4;"));
	failing_arm(1);
	CHECK(follow_reconcile(&follow) == -ENOMEM && failing_has_failed() && has_noted(""));
}

/* The marks of an earlier sender: each value at its position. */
static void test_restored(void)
{
	struct marks_entry entries[4] = {{.kind = MARKS_FREE},
			{.kind = MARKS_STREAM,
					.stream = {.trace = 5,
							.number = 13,
							.delivered = {31, 32, 33},
							.freed = 34,
							.dropped_packets = 35,
							.dropped_events = 36,
							.dropped_bytes = 37,
							.seen = true,
							.header_size = 84,
							.first = 38,
							.begin = 39,
							.end = 40,
							.sequence = 41,
							.discarded = 42,
							.class_id = 43,
							.instance = 44,
							.uuid = "0123456789abcde",
							.name = "s.zst"}},
			{.kind = MARKS_TRACE,
					.trace = {.number = 5,
							.generation = 6,
							.inode = 7,
							.done = true,
							.name = "sent/t"}},
			{.kind = MARKS_STREAM, .stream = {.trace = 5, .number = 2, .name = "q"}}};
	struct marks marks = {.entries = entries, .nr = 4};
	struct follow follow = {.nr_traces = 9};
	struct follow_trace trace = {.name = strdup("t"), .inode = 7};
	const struct follow_stream *stream;

	CHECK(restore_trace(&follow, &trace) && !trace.slot && follow.nr_traces == 9);
	follow.marks = &marks;
	trace.inode = 8;
	CHECK(restore_trace(&follow, &trace) && !trace.slot && follow.nr_traces == 9);
	trace.inode = 7;
	CHECK(restore_trace(&follow, &trace) && trace.slot == 2 && follow.nr_traces == 8);
	CHECK(trace.number == 5 && trace.generation == 6 && trace.marked_generation == 6);
	CHECK(trace.done && trace.ended && trace.marked_done && !strcmp(trace.name, "sent/t"));
	CHECK(trace.nr_streams == 14);
	stream = trace.streams;
	CHECK(stream->slot == 1 && stream->number == 13 && stream->trace == &trace);
	CHECK(!strcmp(stream->name, "s.zst") && !strcmp(stream->plain, "s"));
	CHECK(!memcmp(&stream->delivered, &entries[1].stream.delivered, sizeof(stream->delivered)));
	CHECK(!memcmp(&stream->at, &stream->delivered, sizeof(stream->at)) &&
			!memcmp(&stream->marked, &stream->at, sizeof(stream->at)));
	CHECK(stream->there == 31 && stream->size == 31 && stream->freed == 34);
	CHECK(stream->dropped_packets == 35 && stream->dropped_events == 36 &&
			stream->marked_dropped == 36 && stream->dropped_bytes == 37);
	CHECK(stream->header_size == 84 && stream->seen && stream->begin == 38);
	CHECK(stream->last.begin == 39 && stream->last.end == 40 && stream->last.sequence == 41);
	CHECK(stream->last.discarded == 42 && stream->last.class_id == 43 &&
			stream->last.instance == 44 &&
			!memcmp(stream->last.uuid, "0123456789abcde", 16));
	CHECK(stream->next->slot == 3 && stream->next->number == 2 && !stream->next->next);
	while (trace.streams) {
		struct follow_stream *next = trace.streams->next;

		free_stream(trace.streams);
		trace.streams = next;
	}
	/* Without memory for the name, or for a stream. */
	for (unsigned int call = 1; call <= 4; call++) {
		failing_arm(call);
		CHECK(!restore_trace(&follow, &trace) && failing_has_failed());
		while (trace.streams) {
			struct follow_stream *next = trace.streams->next;

			free_stream(trace.streams);
			trace.streams = next;
		}
		if (!trace.name)
			trace.name = strdup("sent/t");
	}
	free(trace.name);
}

static void released(void)
{
	test_renamed();
	test_close();
	test_missing();
	test_space();
	test_forget();
	test_reconcile();
	test_restored();
}

int main(void)
{
	char command[200];
	size_t memory;

	CHECK(mkdtemp(root));
	test_locks();
	test_open();
	test_names();
	test_errors();
	test_renamed();
	test_missing();
	test_files();
	test_scan();
	test_unreadable();
	test_close();
	test_notes();
	test_packets();
	test_pass();
	test_text();
	test_space();
	test_removed();
	test_pending();
	test_marks();
	test_forget();
	test_reconcile();
	test_restored();
	/*
	 * Nothing is kept, except for at most seven freed blocks of each size, which the C library
	 * keeps.
	 */
	for (int i = 0; i < 8; i++)
		released();
	memory = resources_memory();
	released();
	CHECK(resources_memory() == memory);
	(void)snprintf(command, sizeof(command), "rm -r '%s'", root);
	CHECK(!system(command)); /* NOLINT */
	return 0;
}
