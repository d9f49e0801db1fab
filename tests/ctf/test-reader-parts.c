/* SPDX-License-Identifier: MIT */
/*
 * The reader of many streams, with simulated streams and metadata: traces that are found, messages,
 * the order of items, and each error.
 */
#include "../failing-calls.h"

#include <dirent.h>
#include <inttypes.h>

#include "../check.h"
#include "../noted.h"
#include "ctf/read/find.h"
#include "ctf/read/reader-parts.h"

/* ---- replaced calls ---- */

static struct stat self_status = {.st_dev = 3, .st_ino = 33};
static int self_result, duplicate, stat_error, read_result, open_result, find_result,
		overlap_result;
static bool no_classes, is_usable, finds_one;
static const char *read_text = "";
static struct ctf_trace_classes *made;

static int played_fstat(int fd, struct stat *stat)
{
	CHECK(fd == 8);
	*stat = self_status;
	return self_result;
}

static int played_fcntl(int fd, int command, int least)
{
	CHECK(fd == 8 && command == F_DUPFD_CLOEXEC && !least);
	return duplicate;
}

static int played_close(int fd)
{
	note("close %d;", fd);
	return 0;
}

static int played_fstatat(int dir, const char *name, struct stat *stat, int flags)
{
	CHECK(dir == 8 && !flags);
	note("look %s;", name);
	stat->st_size = 55; /* changed even if it fails */
	errno = stat_error;
	return stat_error ? -1 : 0;
}

static int played_read(int dir_fd, const char *path, struct ctf_trace_classes **classes,
		struct error *error)
{
	CHECK(dir_fd == 8);
	note("read %s;", path);
	made = *classes = no_classes ? NULL : __real_calloc(1, sizeof(**classes));
	snprintf(error->text, sizeof(error->text), "%s", read_text);
	return read_result;
}

static void played_free(struct ctf_trace_classes *classes)
{
	note("free %u;", classes->trace.index);
	free(classes);
}

static void played_forget(const struct ctf_reader *reader, struct ctf_trace_classes *classes)
{
	CHECK(reader);
	note("forget %u;", classes->trace.index);
	free(classes);
}

static bool played_usable(const struct ctf_trace_classes *classes)
{
	CHECK(classes);
	return is_usable;
}

static int played_open(struct ctf_stream_reader *stream, struct ctf_trace_classes *classes,
		const char *name, const struct stat *stat)
{
	note("open %s %d;", name, (int)stat->st_size);
	memset(stream, 0, sizeof(*stream));
	stream->classes = classes;
	stream->info.name = strcpy(__real_malloc(16), name);
	if (open_result <= 0)
		free((void *)(uintptr_t)stream->info.name);
	return open_result;
}

static void played_stream_close(struct ctf_stream_reader *stream)
{
	note("end %s;", stream->info.name);
	free((void *)(uintptr_t)stream->info.name);
}

/* The times of a stream's items grow from `from_ns` to `to_ns`. 77 in `records` makes it fail. */
static int next_of(struct ctf_stream_reader *stream)
{
	if (stream->records == 77)
		return -ENOMEM;
	if (stream->item.ns >= stream->to_ns)
		return 0;
	stream->item.ns += stream->from_ns;
	return 1;
}

static int played_find(
		const char *dir, bool growing, ctf_found_trace *found, void *context, uint64_t *nr)
{
	static struct dirent file;
	struct dirent *names[] = {&file};
	int ret = 0;

	note("find %s %d;", dir, growing);
	strcpy(file.d_name, "s");
	*nr = 12;
	if (finds_one)
		ret = found(context, 8, "/t", names, 1);
	return find_result ? find_result : ret;
}

static int played_overlaps(struct ctf_reader *reader)
{
	CHECK(reader);
	return overlap_result;
}

static bool is_recorded;

static bool played_recorded(const char *dir)
{
	CHECK(!strcmp(dir, "/d"));
	return is_recorded;
}

#define fstat(fd, stat) played_fstat(fd, stat)
#define fcntl(fd, command, least) played_fcntl(fd, command, least)
#define close(fd) played_close(fd)
#define fstatat(dir, name, stat, flags) played_fstatat(dir, name, stat, flags)
#define ctf_metadata_read(dir_fd, path, classes, error) played_read(dir_fd, path, classes, error)
#define ctf_metadata_free(classes) played_free(classes)
#define ctf_tsdl_usable(classes) played_usable(classes)
#define ctf_stream_reader_open(stream, classes, name, stat) played_open(stream, classes, name, stat)
#define ctf_stream_reader_close(stream) played_stream_close(stream)
#define ctf_stream_reader_next(stream) next_of(stream)
#define ctf_find_traces(dir, growing, found, context, nr) \
	played_find(dir, growing, found, context, nr)
#define ctf_reader_limit_overlaps(reader) played_overlaps(reader)
#define ctf_is_recorded(dir) played_recorded(dir)
#define ctf_reader_forget(reader, classes) played_forget(reader, classes)
#include "ctf/read/reader.c" /* NOLINT(bugprone-suspicious-include): replaces the calls in it */

static struct error why;

/* ---- arrays, notes and places ---- */

static void test_arrays(void)
{
	void **array = NULL;
	unsigned int count;

	/* Memory is allocated at 0, 1, 2, 4 and 8 elements only. */
	for (count = 0; count < 9; count++) {
		failing_arm(1);
		CHECK(ctf_reader_grow(&array, count) ==
				(!count || count == 1 || count == 2 || count == 4 || count == 8
								? -ENOMEM
								: 0));
		(void)failing_has_failed();
		CHECK(!ctf_reader_grow(&array, count));
		array[count] = &count;
	}
	free(array);
}

static void test_notes(void)
{
	struct ctf_reader reader = {.growing = true};
	struct ctf_trace_classes classes = {.trace.is_side = true};
	struct ctf_item item;
	struct ctf_trace_dir *first;

	reader.last_note = &reader.notes;
	CHECK(!add_note(&reader, &classes, "/t", "", "bad") &&
			!add_note(&reader, &classes, "/t", "f", "worse"));
	failing_arm(1);
	CHECK(add_note(&reader, &classes, "/t", "f", "x") == -ENOMEM && failing_has_failed());
	reader.shown_note = reader.notes;
	is_usable = true;
	CHECK(ctf_reader_note_next(&reader, false, &item) == 1);
	CHECK(item.kind == CTF_ITEM_DAMAGE && !strcmp(item.text, "/t: bad") && item.cut &&
			item.trace == &classes.trace);
	is_usable = false;
	CHECK(ctf_reader_note_next(&reader, false, &item) == 1);
	CHECK(!strcmp(item.text, "/t/f: worse") && !item.cut);
	CHECK(ctf_reader_note_next(&reader, false, &item) == 0);
	is_usable = true;
	classes.trace.is_side = false;
	reader.shown_note = reader.notes;
	CHECK(ctf_reader_note_next(&reader, false, &item) == 1 && !item.cut);
	free(reader.notes->next);
	free(reader.notes);
	/* A note about a place keeps a descriptor of a trace that grows. */
	duplicate = 0;
	first = ctf_reader_add_directory(&reader, 8);
	CHECK(first && !first->fd && first->device == 3 && first->inode == 33 && !first->next);
	reader.growing = false;
	self_result = -1;
	CHECK(ctf_reader_add_directory(&reader, 8)->fd == -1 && reader.dirs->next == first);
	CHECK(!reader.dirs->device && !reader.dirs->inode);
	self_result = 0;
	failing_arm(1);
	CHECK(!ctf_reader_add_directory(&reader, 8) && failing_has_failed() &&
			reader.dirs->next == first);
	ctf_reader_close_directories(&reader);
	CHECK(!reader.dirs && has_noted("close 0;"));
}

/* ---- traces ---- */

static struct dirent files[4];
static struct dirent *names[] = {&files[0], &files[1], &files[2], &files[3]};

static void test_statuses(void)
{
	struct stat *stats;

	for (unsigned int i = 0; i < 4; i++) {
		static const char *const all[] = {".h", "a", "metadata", "z"};

		strcpy(files[i].d_name, all[i]);
	}
	stats = ctf_reader_stat(8, names, 4);
	CHECK(stats && has_noted("look a;look z;"));
	CHECK(!stats[0].st_size && stats[1].st_size == 55 && !stats[2].st_size &&
			stats[3].st_size == 55);
	free(stats);
	stat_error = ENOENT;
	stats = ctf_reader_stat(8, names, 2);
	CHECK(!stats[1].st_size);
	free(stats);
	stat_error = EACCES;
	stats = ctf_reader_stat(8, names, 2);
	CHECK(stats[1].st_size == -EACCES);
	free(stats);
	stat_error = 0;
	stats = ctf_reader_stat(8, names, 0);
	CHECK(stats);
	free(stats);
	failing_arm(1);
	CHECK(!ctf_reader_stat(8, names, 2) && failing_has_failed());
	*log_text = '\0';
}

static struct ctf_reader *empty_reader(void)
{
	struct ctf_reader *reader = calloc(1, sizeof(*reader));

	reader->last_note = &reader->notes;
	no_classes = false;
	is_usable = true;
	read_result = 0;
	read_text = "";
	open_result = 1;
	*log_text = '\0';
	return reader;
}

static void test_traces(void)
{
	struct stat stats[3] = {{.st_size = 7}, {.st_size = -EACCES}, {.st_size = 8}};
	struct ctf_reader *reader = empty_reader();

	strcpy(files[0].d_name, "a");
	strcpy(files[1].d_name, "b");
	strcpy(files[2].d_name, "c");
	CHECK(!ctf_reader_add_trace(reader, 8, "/t", names, stats, 3));
	CHECK(has_noted("read /t;open a 7;open c 8;") && reader->trace_count == 1 &&
			reader->stream_count == 2);
	CHECK(reader->traces[0]->dir == reader->dirs && !reader->streams[0]->info.index &&
			reader->streams[1]->info.index == 1);
	CHECK(!strcmp(reader->notes->text, "/t/b: Permission denied") && !reader->notes->next);
	/* Damaged metadata: a note, and the streams if it is usable. */
	read_result = -EINVAL;
	read_text = "line 3";
	CHECK(!ctf_reader_add_trace(reader, 8, "/u", names, stats, 1));
	CHECK(has_noted("read /u;open a 7;") && reader->traces[1]->trace.index == 1);
	CHECK(!strcmp(reader->notes->next->text, "/u: line 3"));
	is_usable = false;
	CHECK(!ctf_reader_add_trace(reader, 8, "/v", names, stats, 1) && has_noted("read /v;"));
	is_usable = true;
	/* Out of memory: for the metadata, for its classes, and at each allocation. */
	read_result = -ENOMEM;
	CHECK(ctf_reader_add_trace(reader, 8, "/u", names, stats, 1) == -ENOMEM);
	CHECK(has_noted("read /u;") && reader->trace_count == 4 &&
			!reader->notes->next->next->next);
	read_result = 0;
	no_classes = true;
	CHECK(ctf_reader_add_trace(reader, 8, "/u", names, stats, 1) == -ENOMEM);
	CHECK(reader->trace_count == 4 && has_noted("read /u;"));
	no_classes = false;
	for (unsigned int number = 1;; number++) {
		int ret;

		failing_arm(number);
		ret = ctf_reader_add_trace(reader, 8, "/w", names, stats, 1);
		if (!failing_has_failed())
			break;
		CHECK(ret == -ENOMEM);
	}
	*log_text = '\0';
	/* Files without a stream, and an error of a stream. */
	open_result = 0;
	CHECK(!ctf_reader_add_trace(reader, 8, "/w", names, stats, 3));
	CHECK(has_noted("read /w;open a 7;open c 8;"));
	open_result = -ENOMEM;
	CHECK(ctf_reader_add_trace(reader, 8, "/w", names, stats, 3) == -ENOMEM);
	CHECK(has_noted("read /w;open a 7;"));
	reader->retired = calloc(1, sizeof(*reader->retired));
	reader->retired->trace.index = 50;
	reader->retired->older = calloc(1, sizeof(*reader->retired));
	reader->retired->older->trace.index = 51;
	ctf_reader_close(reader);
	CHECK(!strncmp(log_text, "end a;end c;end a;", 18) &&
			strstr(log_text, "free 0;free 1;free 2;"));
	CHECK(strstr(log_text, "forget 50;forget 51;"));
	ctf_reader_close(NULL);
	*log_text = '\0';
}

/* ---- the order of items ---- */

static struct ctf_reader *reader_of(unsigned int count, const int64_t *steps, int64_t last)
{
	struct stat stats[40];
	struct ctf_reader *reader = empty_reader();
	struct dirent *same[40];

	strcpy(files[0].d_name, "a");
	for (unsigned int i = 0; i < count; i++) {
		stats[i] = (struct stat){.st_size = i};
		same[i] = &files[0];
	}
	CHECK(!ctf_reader_add_trace(reader, 8, "/t", same, stats, (int)count));
	for (unsigned int i = 0; i < count; i++) {
		reader->streams[i]->from_ns = steps[i];
		reader->streams[i]->to_ns = last;
		reader->streams[i]->item.trace = &reader->traces[0]->trace;
	}
	return reader;
}

static void test_order(void)
{
	int64_t steps[33];
	struct ctf_reader *reader;
	const struct ctf_item *alone;
	struct ctf_item item;
	int64_t before = 0;
	unsigned int count = 0;

	/* More streams than the heap's first capacity: each item comes, ordered by time. */
	for (unsigned int i = 0; i < 33; i++)
		steps[i] = 1 + (int64_t)(i * 7 % 33);
	reader = reader_of(33, steps, 300);
	while (ctf_reader_next(reader, &item) == 1) {
		CHECK(item.ns >= before);
		before = item.ns;
		count++;
	}
	for (unsigned int i = 0; i < 33; i++) {
		count -= (unsigned int)((300 + steps[i] - 1) / steps[i]);
		CHECK(!reader->streams[i]->waits);
	}
	CHECK(!count && !reader->heap_count && reader->heap_capacity == 64);
	ctf_reader_close(reader);
	/* Notes come first. */
	steps[0] = 5;
	reader = reader_of(1, steps, 30);
	CHECK(!add_note(reader, reader->traces[0], "/t", "", "bad"));
	reader->shown_note = reader->notes;
	CHECK(ctf_reader_next(reader, &item) == 1 && item.kind == CTF_ITEM_DAMAGE);
	CHECK(ctf_reader_next(reader, &item) == 1 && item.ns == 5);
	ctf_reader_close(reader);
	/* One stream alone. */
	reader = reader_of(1, steps, 30);
	CHECK(ctf_reader_stream_next(reader, 0, &alone) == 1 &&
			alone == &reader->streams[0]->item && alone->ns == 5);
	ctf_reader_close(reader);
	/* Items up to a time, and then up to later ones. */
	steps[0] = 10;
	steps[1] = 15;
	reader = reader_of(2, steps, 30);
	for (unsigned int i = 0; i < 4; i++) {
		static const int64_t until[] = {9, 10, 20, 30};
		static const unsigned int counts[] = {0, 1, 2, 2};

		for (count = 0; ctf_reader_next_until(reader, until[i], &item) == 1; count++)
			CHECK(item.ns <= until[i]);
		CHECK(count == counts[i]);
	}
	CHECK(!ctf_reader_next_until(reader, INT64_MAX, &item));
	ctf_reader_close(reader);
	/* An error of a stream, at once and later; and of the heap. */
	reader = reader_of(2, steps, 30);
	reader->streams[1]->records = 77;
	CHECK(ctf_reader_next_until(reader, 9, &item) == -ENOMEM && !reader->merging);
	reader->streams[1]->records = 0;
	reader->heap_count = 0;
	reader->streams[0]->item.ns = 0;
	CHECK(ctf_reader_next(reader, &item) == 1 && item.ns == 10 && reader->merging);
	reader->streams[0]->records = 77;
	CHECK(ctf_reader_next(reader, &item) == -ENOMEM);
	ctf_reader_close(reader);
	reader = reader_of(1, steps, 30);
	failing_arm(1);
	CHECK(ctf_reader_next(reader, &item) == -ENOMEM && failing_has_failed());
	CHECK(!reader->heap_count && !reader->streams[0]->waits);
	ctf_reader_close(reader);
	*log_text = '\0';
}

static void test_equal_times(void)
{
	struct ctf_trace traces[2] = {{.index = 0}, {.index = 1}};
	struct ctf_stream_reader streams[2];
	struct reader_heap_entry a = {5, &streams[0]}, b = {5, &streams[1]};

	memset(streams, 0, sizeof(streams));
	streams[0].item.trace = streams[1].item.trace = &traces[0];
	streams[0].info.index = 4;
	streams[1].info.index = 5;
	CHECK(ctf_reader_is_before(&a, &b) && !ctf_reader_is_before(&b, &a) &&
			!ctf_reader_is_before(&a, &a));
	streams[0].item.cycles = 1;
	CHECK(!ctf_reader_is_before(&a, &b) && ctf_reader_is_before(&b, &a));
	streams[1].item.trace = &traces[1];
	CHECK(ctf_reader_is_before(&a, &b) && !ctf_reader_is_before(&b, &a));
	a.ns++;
	CHECK(!ctf_reader_is_before(&a, &b) && ctf_reader_is_before(&b, &a));
}

static void test_grown(void)
{
	static const int64_t steps[3] = {10, 10, 10};
	struct ctf_reader *reader = reader_of(3, steps, 0);
	struct ctf_item item;

	CHECK(!ctf_reader_next(reader, &item) && reader->grown_reported);
	for (unsigned int count = 1; count < 3; count++) {
		reader->traces[0]->trace.path = "/t";
		reader->grown_reported = false;
		reader->streams[count - 1]->grown = true;
		CHECK(ctf_reader_next(reader, &item) == 1);
		CHECK(item.kind == CTF_ITEM_NOTE && item.count == count &&
				item.trace == &reader->traces[0]->trace);
		CHECK(!strcmp(item.text,
				count == 1 ? "/t/a has grown while being read: the added part is not shown"
					   : "/t/a and other files have grown while being read: the added part is not shown"));
		CHECK(!ctf_reader_next(reader, &item));
		CHECK(!ctf_reader_note_next(reader, true, &item));
	}
	/* Time limits and skipped packets. */
	CHECK(ctf_reader_skipped_begin(reader) == INT64_MIN);
	reader->streams[0]->skipped_begin = 7;
	CHECK(ctf_reader_skipped_begin(reader) == INT64_MIN);
	ctf_reader_set_times(reader, 3, 4);
	CHECK(ctf_reader_skipped_begin(reader) == INT64_MIN);
	for (unsigned int i = 0; i < 3; i++) {
		CHECK(reader->streams[i]->bounded && reader->streams[i]->from_ns == 3 &&
				reader->streams[i]->to_ns == 4);
		reader->streams[i]->skipped_begin = i == 1 ? 9 : i;
	}
	CHECK(ctf_reader_skipped_begin(reader) == 9);
	reader->streams[2]->window.size = 66;
	CHECK(ctf_reader_stream_size(reader, 2) == 66 && ctf_reader_stream_count(reader) == 3 &&
			ctf_reader_trace_count(reader) == 1);
	CHECK(ctf_reader_stream_info(reader, 2) == &reader->streams[2]->info &&
			ctf_reader_stream_trace(reader, 2) == &reader->traces[0]->trace &&
			ctf_reader_trace(reader, 0) == &reader->traces[0]->trace);
	ctf_reader_close(reader);
	*log_text = '\0';
}

static void test_windows(void)
{
	static struct ctf_stream_reader *streams[5000];
	struct ctf_stream_reader one;
	struct ctf_reader reader = {.streams = streams, .stream_count = 0};

	for (unsigned int i = 0; i < 5000; i++)
		streams[i] = &one;
	ctf_reader_size_windows(&reader);
	for (unsigned int i = 0; i < 6; i++) {
		static const uint32_t counts[] = {1, 256, 257, 4095, 4096, 4097};

		reader.stream_count = counts[i];
		ctf_reader_size_windows(&reader);
		CHECK(one.window.normal ==
				(i < 2                                  ? 256u << 10
								: i < 5 ? (64u << 20) / counts[i]
									: 16u << 10));
	}
}

/* The stream of the session is the one with the highest number. */
static void test_sessions(void)
{
	struct ctf_stream_class classes[3] = {{.id = 4}, {.id = 9}, {.id = 5}};
	struct ctf_stream_class *streams[] = {&classes[0], &classes[1], &classes[2]};
	struct ctf_event_class event, *events[] = {NULL, &event};
	struct ctf_trace_classes trace = {
			.streams = streams, .stream_count = 3, .events = events, .event_count = 2};

	CHECK(ctf_trace_session_stream(&trace.trace) == 9);
	trace.stream_count = 1;
	CHECK(ctf_trace_session_stream(&trace.trace) == 4);
	trace.stream_count = 0;
	CHECK(!ctf_trace_session_stream(&trace.trace));
	CHECK(ctf_trace_event_count(&trace.trace) == 2 &&
			ctf_trace_event(&trace.trace, 1) == &event);
}

/* ---- opening a reader ---- */

static bool is_refused(int code, const char *text)
{
	struct ctf_reader *reader = NULL;
	int ret = ctf_reader_open("/d", &reader, &why);

	if (strcmp(why.text, text) != 0)
		fprintf(stderr, "%d %s\n", ret, why.text);
	return ret == code && !reader && !strcmp(why.text, text);
}

static void test_opened(void)
{
	struct ctf_reader *reader;

	free(empty_reader());
	finds_one = true;
	for (unsigned int i = 0; i < 3; i++) {
		is_recorded = i == 1;
		CHECK(!(i < 2 ? ctf_reader_open("/d", &reader, &why)
			      : ctf_reader_open_growing("/d", &reader, &why)));
		CHECK(!strcmp(reader->dir, "/d") && reader->growing == (i > 0));
		CHECK(ctf_reader_searched(reader) == 12 && reader->stream_count == 1 &&
				reader->streams[0]->window.normal == 256u << 10);
		CHECK(reader->shown_note == reader->notes && !reader->notes);
		CHECK(has_noted(i ? "find /d 1;look s;read /t;open s 55;"
				  : "find /d 0;look s;read /t;open s 55;"));
		ctf_reader_close(reader);
		*log_text = '\0';
	}
	is_recorded = false;
	overlap_result = -ENOMEM;
	CHECK(is_refused(-ENOMEM, "out of memory for the trace /d"));
	overlap_result = -EIO;
	CHECK(is_refused(-EIO, "cannot read /d: Input/output error"));
	overlap_result = 0;
	find_result = -EACCES;
	CHECK(is_refused(-EACCES, "cannot read /d: Permission denied"));
	find_result = -E2BIG;
	CHECK(is_refused(-E2BIG,
			"cannot search /d for traces: it has more than 1000000 directories"));
	find_result = 0;
	finds_one = false;
	CHECK(is_refused(-ENOENT,
			"there is no trace in /d: neither it nor a directory in it has a file \"metadata\""));
	failing_arm(1);
	CHECK(is_refused(-ENOMEM, "out of memory for the trace /d") && failing_has_failed());
	failing_arm(2);
	CHECK(is_refused(-ENOMEM, "out of memory for the trace /d") && failing_has_failed());
	finds_one = true;
	failing_arm(3);
	CHECK(is_refused(-ENOMEM, "cannot read /d: Cannot allocate memory") &&
			failing_has_failed());
}

int main(void)
{
	test_arrays();
	test_notes();
	test_statuses();
	test_traces();
	test_order();
	test_equal_times();
	test_grown();
	test_windows();
	test_sessions();
	test_opened();
	return 0;
}
