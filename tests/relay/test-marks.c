/* SPDX-License-Identifier: MIT */
/*
 * Marks: each member of a block, the limits of each number, duplicates, slots and the file. The
 * test includes the file, so that it can fail its calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../check.h"
#include "../failing-calls.h"
#include "../resources.h"
#include "relay/frame.h"
#include "relay/marks.h"

/* A smaller limit than 128 MiB, so that the test is quick. */
#undef MARKS_BLOCKS_MAX
#define MARKS_BLOCKS_MAX 256

static struct {
	bool is_set; /* false: the call is real */
	ssize_t result;
	int error;
} writes, reads, locks, cuts;
static unsigned int nr_interrupts;  /* the first calls, this many, end with EINTR */
static size_t most_read = SIZE_MAX; /* bytes that one call reads at most */

static ssize_t play(ssize_t result, int error)
{
	errno = error;
	return result;
}

static ssize_t play_write(int fd, const void *bytes, size_t size, off_t at)
{
	if (nr_interrupts) {
		nr_interrupts--;
		return play(-1, EINTR);
	}
	return writes.is_set ? play(writes.result, writes.error) : pwrite(fd, bytes, size, at);
}

static ssize_t play_read(int fd, void *to, size_t size, off_t at)
{
	if (nr_interrupts) {
		nr_interrupts--;
		return play(-1, EINTR);
	}
	return reads.is_set ? play(reads.result, reads.error)
			    : pread(fd, to, size < most_read ? size : most_read, at);
}

static int play_lock(int fd, int operation)
{
	CHECK(operation == (LOCK_EX | LOCK_NB));
	return locks.is_set ? (int)play(locks.result, locks.error) : flock(fd, operation);
}

static int play_cut(int fd, off_t size)
{
	CHECK(!size);
	return cuts.is_set ? (int)play(cuts.result, cuts.error) : ftruncate(fd, size);
}

#define pwrite play_write
#define pread play_read
#define flock play_lock
#define ftruncate play_cut
#include "base/io.c"
#include "relay/marks.c"
#undef pwrite
#undef pread
#undef flock
#undef ftruncate

/* ---- blocks ---- */

static struct marks_head some_head(void)
{
	struct marks_head head = {.id = UINT64_MAX,
			.sequence = INT64_MAX,
			.connections = INT64_MAX,
			.nr_traces = MARKS_NUMBER_MAX,
			.past = {.packets = 21,
					.bytes = 22,
					.events = 23,
					.dropped_packets = 24,
					.dropped_events = 25,
					.traces = 26}};

	memset(head.url, 'u', MARKS_URL_MAX);
	return head;
}

static struct marks_entry some_trace(uint32_t number)
{
	struct marks_entry entry = {.kind = MARKS_TRACE,
			.trace = {.number = number,
					.generation = 31,
					.inode = 1000 + number,
					.done = true}};

	(void)snprintf(entry.trace.name, sizeof(entry.trace.name), "folder/name-%u", number);
	return entry;
}

static struct marks_entry some_stream(uint32_t trace, uint32_t number)
{
	return (struct marks_entry){.kind = MARKS_STREAM,
			.stream = {.trace = trace,
					.number = number,
					.delivered = {.offset = 41, .packets = 42, .events = 43},
					.freed = 40,
					.dropped_packets = 45,
					.dropped_events = 46,
					.dropped_bytes = 39,
					.seen = true,
					.header_size = 80,
					.first = 48,
					.begin = 49,
					.end = 50,
					.sequence = 51,
					.discarded = 52,
					.class_id = 53,
					.instance = 54,
					.uuid = "fifteen letters",
					.name = "stream"}};
}

static bool reads_head(const struct marks_head *head)
{
	unsigned char block[MARKS_BLOCK];
	struct marks_head got;

	memset(&got, 0, sizeof(got));
	marks_put_head(head, block);
	return get_head(block, &got) && !memcmp(&got, head, sizeof(got));
}

static bool reads_entry(const struct marks_entry *entry)
{
	struct marks_entry got;
	unsigned char block[MARKS_BLOCK];

	memset(&got, 0, sizeof(got));
	marks_put_block(entry, block);
	if (!get_entry(block, &got)) {
		CHECK(got.kind == MARKS_FREE);
		return false;
	}
	if (entry->kind == MARKS_TRACE)
		CHECK(got.trace.number == entry->trace.number &&
				got.trace.generation == entry->trace.generation &&
				got.trace.inode == entry->trace.inode &&
				got.trace.done == entry->trace.done &&
				!strcmp(got.trace.name, entry->trace.name));
	return got.kind == entry->kind &&
			(got.kind != MARKS_STREAM ||
					!memcmp(&got.stream, &entry->stream, sizeof(got.stream)));
}

static void heads(void)
{
	struct marks_head head = some_head();
	unsigned char block[MARKS_BLOCK];

	CHECK(reads_head(&head));
	head.sequence++;
	CHECK(!reads_head(&head));
	head = some_head();
	head.connections++;
	CHECK(!reads_head(&head));
	head = some_head();
	head.nr_traces++;
	CHECK(!reads_head(&head));
	/* One bit differs: in the checksum, in the magic number, or after the last member. */
	head = some_head();
	*head.url = '\0';
	for (size_t i = 0; i < MARKS_BLOCK; i++) {
		marks_put_head(&head, block);
		block[i] ^= 4;
		CHECK(!get_head(block, &head));
	}
	for (size_t i = 0; i < SUM_AT; i += SUM_AT - 1) {
		marks_put_head(&head, block);
		block[i] ^= 4;
		relay_mark_end_block(block);
		CHECK(!get_head(block, &head));
	}
}

static void traces(void)
{
	static const struct {
		const char *name;
		bool is_path;
	} names[] = {{"a", true}, {"", false}, {".a", false}, {"..", false}, {"a/b", true},
			{"a/b/c", true}, {"a/.b", false}, {"a//b", false}, {"/a", false},
			{"a/", false}, {"a.b/c.", true}, {"a/../b", false}};
	struct marks_entry entry = some_trace(5);
	unsigned char block[MARKS_BLOCK];

	CHECK(reads_entry(&entry));
	entry.trace.done = false;
	CHECK(reads_entry(&entry));
	entry.trace.number = MARKS_NUMBER_MAX - 1;
	entry.trace.generation = UINT32_MAX - 1;
	CHECK(reads_entry(&entry));
	entry.trace.number++;
	CHECK(!reads_entry(&entry));
	entry = some_trace(5);
	entry.trace.generation = UINT32_MAX;
	CHECK(!reads_entry(&entry));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		entry = some_trace(5);
		(void)snprintf(entry.trace.name, sizeof(entry.trace.name), "%s", names[i].name);
		CHECK(reads_entry(&entry) == names[i].is_path);
		entry = some_stream(5, 6);
		memset(entry.stream.name, 0, sizeof(entry.stream.name));
		(void)snprintf(entry.stream.name, sizeof(entry.stream.name), "%s", names[i].name);
		CHECK(reads_entry(&entry) == (names[i].is_path && !strchr(names[i].name, '/')));
	}
	entry = some_trace(5);
	memset(entry.trace.name, 'n', MARKS_NAME_MAX);
	entry.trace.name[MARKS_NAME_MAX] = '\0';
	CHECK(reads_entry(&entry));
	/* A flag is 0 or 1. It follows a kind, two numbers and an inode. */
	for (unsigned int flag = 0; flag < 3; flag++) {
		marks_put_block(&entry, block);
		block[17] = (unsigned char)flag;
		relay_mark_end_block(block);
		CHECK(get_entry(block, &entry) == (flag < 2));
		entry = some_trace(5);
	}
	/* A damaged block, and one of unknown kind. */
	for (size_t i = 0; i < MARKS_BLOCK; i++) {
		marks_put_block(&entry, block);
		block[i] ^= 4;
		CHECK(!get_entry(block, &entry) && entry.kind == MARKS_FREE);
		entry = some_trace(5);
	}
	marks_put_block(&entry, block);
	block[0] = 3;
	relay_mark_end_block(block);
	CHECK(!get_entry(block, &entry));
	marks_put_block(&(struct marks_entry){.kind = MARKS_FREE}, block);
	CHECK(relay_mark_is_zero(block, MARKS_BLOCK) && get_entry(block, &entry) &&
			entry.kind == MARKS_FREE);
	block[MARKS_BLOCK - 1] = 1;
	CHECK(!get_entry(block, &entry));
}

static void streams(void)
{
	struct marks_entry entry = some_stream(5, 6), first = entry;
	unsigned char block[MARKS_BLOCK];

	CHECK(reads_entry(&entry));
	entry.stream.trace = entry.stream.number = MARKS_NUMBER_MAX - 1;
	CHECK(reads_entry(&entry));
	entry.stream.trace++;
	CHECK(!reads_entry(&entry));
	entry.stream.trace--;
	entry.stream.number++;
	CHECK(!reads_entry(&entry));
	entry = first;
	entry.stream.delivered.offset = entry.stream.freed = entry.stream.dropped_bytes = INT64_MAX;
	CHECK(reads_entry(&entry));
	entry.stream.delivered.offset++;
	CHECK(!reads_entry(&entry));
	entry = first;
	entry.stream.freed = entry.stream.dropped_bytes = 41;
	CHECK(reads_entry(&entry));
	entry.stream.freed++;
	CHECK(!reads_entry(&entry));
	entry.stream.freed--;
	entry.stream.dropped_bytes++;
	CHECK(!reads_entry(&entry));
	for (unsigned int size = 0; size <= UINT8_MAX; size++) {
		entry = first;
		entry.stream.header_size = (uint8_t)size;
		CHECK(reads_entry(&entry) == (!size || size == 80 || size == 84));
	}
	entry = first;
	memset(entry.stream.name, 'n', MARKS_STREAM_MAX);
	CHECK(reads_entry(&entry));
	/* The flag comes after a kind, two numbers of 4 bytes and seven of 8. */
	for (unsigned int flag = 0; flag < 3; flag++) {
		entry = first;
		marks_put_block(&entry, block);
		block[65] = (unsigned char)flag;
		relay_mark_end_block(block);
		CHECK(get_entry(block, &entry) == (flag < 2) &&
				(flag == 2 || entry.stream.seen == flag));
	}
	/* The bytes after the name are not all zero. */
	entry = first;
	marks_put_block(&entry, block);
	block[SUM_AT - 1] = 1;
	relay_mark_end_block(block);
	CHECK(!get_entry(block, &entry));
}

/* ---- the table ---- */

static unsigned char file[70 * MARKS_BLOCK];

static struct marks parse(const struct marks_entry *entries, uint32_t nr, uint32_t nr_traces)
{
	struct marks_head head = {.nr_traces = nr_traces, .url = "url"};
	struct marks marks = {.fd = -1};

	marks_put_head(&head, file);
	for (uint32_t i = 0; i < nr; i++)
		marks_put_block(&entries[i], file + (i + 1) * MARKS_BLOCK);
	CHECK(!marks_parse(file, (nr + 1) * MARKS_BLOCK, &marks) && marks.nr == nr + 1);
	return marks;
}

static void expect_kinds(const struct marks *marks, const char *wanted)
{
	for (uint32_t i = 1; i < marks->nr; i++)
		CHECK("-ts"[marks->entries[i].kind] == wanted[i - 1]);
	CHECK(strlen(wanted) == marks->nr - 1);
}

static void doubles(void)
{
	struct marks_entry entries[] = {some_trace(7), some_stream(7, 1), some_trace(3),
			some_stream(3, 1), {.kind = MARKS_FREE}, some_trace(7), some_stream(7, 2),
			{.kind = MARKS_FREE}, some_trace(7), some_trace(4)};
	struct marks marks = parse(entries, 5, 2);

	CHECK(!marks.bad && marks.head.nr_traces == 8);
	expect_kinds(&marks, "tsts-");
	marks_close(&marks);
	marks = parse(entries, 10, 20);
	CHECK(marks.bad == 3 && marks.head.nr_traces == 20);
	expect_kinds(&marks, "-sts--s--t");
	marks_close(&marks);
	/* Streams are the same if both numbers are. */
	entries[6] = some_stream(7, 1);
	entries[5] = some_stream(9, 3);
	entries[8] = some_stream(9, 4);
	marks = parse(entries, 10, 2);
	CHECK(marks.bad == 2 && marks.head.nr_traces == 10);
	expect_kinds(&marks, "t-ts-s--st");
	marks_close(&marks);
	/* A number that is just in use, and the next one. */
	marks = parse(entries, 1, 7);
	CHECK(marks.head.nr_traces == 8);
	marks_close(&marks);
	marks = parse(entries, 1, 8);
	CHECK(marks.head.nr_traces == 8);
	marks_close(&marks);
	entries[0] = some_stream(7, 1);
	marks = parse(entries, 1, 7);
	CHECK(marks.head.nr_traces == 8);
	marks_close(&marks);
	marks = parse(entries, 1, 9);
	CHECK(marks.head.nr_traces == 9);
	marks_close(&marks);
}

static void parts_of_files(void)
{
	struct marks_entry entries[] = {some_trace(7), some_trace(8)};
	struct marks marks = parse(entries, 2, 2), got = {.fd = -1};

	marks_close(&marks);
	CHECK(marks_parse(file, 0, &got) == -EBADMSG &&
			marks_parse(file, MARKS_BLOCK - 1, &got) == -EBADMSG);
	CHECK(!marks_parse(file, MARKS_BLOCK, &got) && got.nr == 1 && got.capacity == 64 &&
			!got.bad);
	marks_close(&got);
	CHECK(!marks_parse(file, 3 * MARKS_BLOCK - 1, &got) && got.nr == 2);
	marks_close(&got);
	/* A damaged block. */
	file[MARKS_BLOCK + 5] ^= 1;
	CHECK(!marks_parse(file, 3 * MARKS_BLOCK, &got) && got.nr == 3 && got.bad == 1);
	expect_kinds(&got, "-t");
	marks_close(&got);
	CHECK(got.fd == -1 && !got.entries && !got.nr && !got.capacity);
	/* More than 64 entries. */
	memset(file + MARKS_BLOCK, 0, sizeof(file) - MARKS_BLOCK);
	CHECK(!marks_parse(file, 64 * MARKS_BLOCK, &got) && got.capacity == 64);
	marks_close(&got);
	CHECK(!marks_parse(file, 65 * MARKS_BLOCK, &got) && got.capacity == 128 && got.nr == 65);
	for (uint32_t i = 0; i < 128; i++)
		CHECK(got.entries[i].kind == MARKS_FREE && !got.entries[i].stream.trace &&
				!*got.entries[i].stream.name);
	marks_close(&got);
	for (unsigned int call = 1; call <= 2; call++) {
		failing_arm(call);
		CHECK(marks_parse(file, MARKS_BLOCK, &got) == -ENOMEM && failing_has_failed());
		marks_close(&got);
	}
}

static void found(void)
{
	struct marks_entry entries[] = {some_stream(1, 1), some_trace(7), some_trace(8),
			{.kind = MARKS_FREE}, some_stream(2, 1), some_stream(1, 2)};
	struct marks marks = parse(entries, 6, 20);

	CHECK(marks_find_trace(&marks, "folder/name-7", 0) == 2 &&
			marks_find_trace(&marks, "folder/name-8", 1007) == 3);
	CHECK(marks_find_trace(&marks, "other/name-7", 1007) == 2 &&
			!marks_find_trace(&marks, "other/name-7", 1008));
	CHECK(marks_find_trace(&marks, "name-8", 1008) == 3 &&
			!marks_find_trace(&marks, "name-9", 1008));
	CHECK(!marks_find_trace(&marks, "folder/name-9", 1009) && !marks_find_trace(&marks, "", 0));
	CHECK(marks_next_stream(&marks, 1, 0) == 1 && marks_next_stream(&marks, 1, 1) == 6 &&
			!marks_next_stream(&marks, 1, 6));
	CHECK(marks_next_stream(&marks, 2, 0) == 5 && !marks_next_stream(&marks, 2, 5) &&
			!marks_next_stream(&marks, 3, 0));
	/* The name comes before the inode, wherever it is. */
	(void)snprintf(marks.entries[2].trace.name, sizeof(marks.entries[2].trace.name),
			"a/name-8");
	marks.entries[2].trace.inode = 1008;
	CHECK(marks_find_trace(&marks, "folder/name-8", 1008) == 3 &&
			marks_find_trace(&marks, "b/name-8", 1008) == 3);
	marks_close(&marks);
}

/* ---- the file ---- */

static char path[] = "/tmp/side-marks-XXXXXX";

static void slots(void)
{
	struct marks_entry trace = some_trace(1), stream = some_stream(1, 2);
	struct marks marks;
	uint32_t at[4] = {0};
	bool is_found;

	CHECK(!marks_open(path, "url", &marks, &is_found) && !is_found && marks.nr == 1 &&
			marks.capacity == 64);
	marks.head.id = 99;
	CHECK(!marks_write_head(&marks));
	for (unsigned int i = 0; i < 4; i++) {
		CHECK(!marks_write(&marks, &at[i], i % 2 ? &stream : &trace) && at[i] == i + 1);
		CHECK(marks.nr == i + 2 && marks.next_free == i + 2);
	}
	CHECK(!marks_release(&marks, 0) && marks.next_free == 5);
	CHECK(!marks_release(&marks, 3) && marks.next_free == 3 &&
			marks.entries[3].kind == MARKS_FREE && marks.nr == 5);
	CHECK(!marks_release(&marks, 2) && marks.next_free == 2 && !marks_release(&marks, 4) &&
			marks.next_free == 2);
	at[0] = 0;
	CHECK(!marks_write(&marks, &at[0], &trace) && at[0] == 2 && marks.next_free == 3);
	/* A slot that the caller has does not change the free ones. */
	CHECK(!marks_write(&marks, &at[0], &stream) && at[0] == 2 && marks.next_free == 3 &&
			marks.nr == 5);
	marks.entries[3].kind = MARKS_TRACE;
	at[0] = 0;
	CHECK(!marks_write(&marks, &at[0], &stream) && at[0] == 4 && marks.next_free == 5);
	/* The last slot, and one more. */
	at[0] = MARKS_BLOCKS_MAX;
	CHECK(marks_write(&marks, &at[0], &trace) == -ENOSPC && marks.nr == 5);
	at[0] = 64;
	failing_arm(1);
	CHECK(marks_write(&marks, &at[0], &trace) == -ENOMEM && failing_has_failed() &&
			marks.nr == 5 && marks.capacity == 64);
	at[0] = 63;
	CHECK(!marks_write(&marks, &at[0], &trace) && marks.nr == 64 && marks.capacity == 64);
	at[0] = 0;
	marks.next_free = 64;
	/* A block that cannot be written does not exist. */
	writes.is_set = true;
	writes.result = -1;
	writes.error = EIO;
	CHECK(marks_write(&marks, &at[0], &trace) == -EIO && !at[0] && marks.nr == 64 &&
			marks_write_head(&marks) == -EIO);
	CHECK(marks_release(&marks, 1) == -EIO && marks.next_free == 64 &&
			marks.entries[1].kind == MARKS_TRACE);
	writes.result = MARKS_BLOCK - 1;
	CHECK(marks_write(&marks, &at[0], &trace) == -ENOSPC && !at[0] && marks.nr == 64);
	writes.result = 0;
	CHECK(marks_write(&marks, &at[0], &trace) == -ENOSPC);
	writes.is_set = false;
	CHECK(!marks_write(&marks, &at[0], &trace) && at[0] == 64 && marks.nr == 65 &&
			marks.capacity == 128);
	marks_close(&marks);
	/* Three slots have the same trace, and two the same stream. */
	CHECK(!marks_open(path, "url", &marks, &is_found) && is_found && marks.nr == 65 &&
			marks.head.id == 99);
	CHECK(marks.bad == 5);
	marks_close(&marks);
}

static void expect_no_opening(int wanted)
{
	unsigned int before = resources_descriptors();
	struct marks marks;
	bool is_found = true;

	CHECK(marks_open(path, "url", &marks, &is_found) == wanted && !is_found);
	CHECK(marks.fd == -1 && !marks.entries && resources_descriptors() == before);
}

static void opening(void)
{
	struct marks marks, other;
	char text[MARKS_URL_MAX + 2];
	struct stat status;
	bool is_found;
	int fd, zero;

	/* Another process has locked it. */
	CHECK(!marks_open(path, "url", &marks, &is_found) && is_found);
	CHECK(fcntl(marks.fd, F_GETFD) == FD_CLOEXEC && !marks.next_free);
	expect_no_opening(-EBUSY);
	marks_close(&marks);
	locks.is_set = true;
	locks.result = -1;
	locks.error = ENOLCK;
	expect_no_opening(-ENOLCK);
	locks.is_set = false;
	/* A file that cannot be read is kept. */
	reads.is_set = true;
	reads.result = -1;
	reads.error = EIO;
	expect_no_opening(-EIO);
	CHECK(!stat(path, &status) && status.st_size == 65 * MARKS_BLOCK &&
			!marks_are_of(path, "url"));
	reads.is_set = false;
	/* Short reads and interrupted calls lose no marks. */
	for (unsigned int i = 0; i < 2; i++) {
		nr_interrupts = i ? 2 : 0;
		most_read = i ? SIZE_MAX : 1000;
		CHECK(marks_are_of(path, "url") && !nr_interrupts);
		nr_interrupts = i ? 2 : 0;
		CHECK(!marks_open(path, "url", &marks, &is_found) && is_found && marks.nr == 65);
		nr_interrupts = i ? 2 : 0;
		CHECK(!marks_write_head(&marks) && !nr_interrupts);
		marks_close(&marks);
		CHECK(!stat(path, &status) && status.st_size == 65 * MARKS_BLOCK);
	}
	most_read = SIZE_MAX;
	for (unsigned int call = 1; call <= 5; call++) {
		/* fstat(), malloc(), pread(), realloc(), calloc() */
		failing_arm(call);
		expect_no_opening(call == 1 || call == 3 ? -EIO : -ENOMEM);
		CHECK(failing_has_failed());
	}
	CHECK(marks_are_of(path, "url") && !marks_are_of(path, "other") &&
			!marks_are_of("/nonexistent", "url"));
	/*
	 * A file of another URL starts without marks, and so does one that ends while it is read.
	 */
	CHECK(!stat(path, &status) && status.st_size == 65 * MARKS_BLOCK);
	cuts.is_set = true;
	cuts.result = -1;
	cuts.error = EROFS;
	CHECK(marks_open(path, "other", &marks, &is_found) == -EROFS && !is_found &&
			marks.fd == -1);
	cuts.is_set = false;
	memset(text, 'u', sizeof(text));
	text[MARKS_URL_MAX + 1] = '\0';
	CHECK(marks_open(path, text, &marks, &is_found) == -ENAMETOOLONG && marks.fd == -1);
	CHECK(!stat(path, &status) && status.st_size == 65 * MARKS_BLOCK);
	text[MARKS_URL_MAX] = '\0';
	CHECK(!marks_open(path, text, &marks, &is_found) && !is_found &&
			!strcmp(marks.head.url, text));
	CHECK(!stat(path, &status) && !status.st_size && marks.nr == 1 && marks.capacity == 64 &&
			!marks.head.id);
	CHECK(!marks.bad && !marks.next_free);
	CHECK(!marks_write_head(&marks) && !stat(path, &status) && status.st_size == MARKS_BLOCK);
	marks_close(&marks);
	CHECK(marks_are_of(path, text) && !truncate(path, MARKS_BLOCK - 1) &&
			!marks_are_of(path, text));
	CHECK(!marks_open(path, "url", &marks, &is_found) && !is_found);
	CHECK(!marks_write_head(&marks));
	/* The largest file, and one that is a byte larger, which is not read. */
	CHECK(!ftruncate(marks.fd, (off_t)MARKS_BLOCKS_MAX * MARKS_BLOCK));
	marks_close(&marks);
	CHECK(!marks_open(path, "url", &marks, &is_found) && is_found &&
			marks.nr == MARKS_BLOCKS_MAX);
	CHECK(!ftruncate(marks.fd, (off_t)MARKS_BLOCKS_MAX * MARKS_BLOCK + 1));
	marks_close(&marks);
	CHECK(!marks_open(path, "url", &marks, &is_found) && !is_found && marks.nr == 1);
	marks_close(&marks);
	CHECK(!stat(path, &status) && !status.st_size && status.st_mode == (S_IFREG | 0600));
	/* Not a folder, a link or a queue. */
	CHECK(!unlink(path) && !symlink("/dev/null", path) &&
			marks_open(path, "url", &marks, &is_found) == -ELOOP);
	CHECK(!marks_are_of(path, "url"));
	CHECK(!unlink(path) && !mkfifo(path, 0600));
	expect_no_opening(-EINVAL);
	CHECK(!unlink(path) && !marks_open(path, "url", &marks, &is_found) &&
			!marks_write_head(&marks));
	marks_close(&marks);
	CHECK(!stat(path, &status) && status.st_mode == (S_IFREG | 0600));
	/* Descriptor 0 is valid like any other. */
	zero = fcntl(0, F_DUPFD_CLOEXEC, 3);
	CHECK(zero >= 3 && !close(0) && marks_are_of(path, "url") && fcntl(0, F_GETFD) < 0);
	CHECK(!marks_open(path, "url", &other, &is_found) && is_found && !other.fd);
	marks_close(&other);
	CHECK(fcntl(0, F_GETFD) < 0 && !dup2(zero, 0) && !close(zero));
	/* A table that is closed twice. */
	marks_close(&other);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && !close(fd) && !unlink(path));
}

int main(void)
{
	int fd = mkstemp(path);

	CHECK(fd >= 0 && !close(fd) && !unlink(path));
	heads();
	traces();
	streams();
	doubles();
	parts_of_files();
	found();
	slots();
	opening();
	return 0;
}
