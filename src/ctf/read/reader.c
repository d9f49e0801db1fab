/* SPDX-License-Identifier: MIT */
/*
 * Reads all traces below a directory as one sequence of items, merged by time.
 *
 * The reader shows the data that exists when it is opened. If files change meanwhile (the recording
 * continues, a disk fails, a user truncates them), it reports that.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctf/read/find.h"
#include "ctf/read/reader-parts.h"

/* ---- finding traces ---- */

static int add_note(struct ctf_reader *reader, struct ctf_trace_classes *classes, const char *path,
		const char *name, const char *what)
{
	struct reader_note *note = calloc(1, sizeof(*note));

	if (!note)
		return -ENOMEM;
	note->classes = classes;
	snprintf(note->text, sizeof(note->text), "%s%s%s: %s", path, *name ? "/" : "", name, what);
	*reader->last_note = note;
	reader->last_note = &note->next;
	return 0;
}

int ctf_reader_grow(void *array, uint32_t count)
{
	void **pointers;

	if (count & (count - 1)) /* Grows at 0, 1, 2, 4, … */
		return 0;
	memcpy(&pointers, array, sizeof(pointers));
	pointers = realloc(pointers, (count ? count * 2 : 1) * sizeof(*pointers));
	if (!pointers)
		return -ENOMEM;
	memcpy(array, &pointers, sizeof(pointers));
	return 0;
}

int ctf_reader_add_stream(struct ctf_reader *reader, struct ctf_trace_classes *classes,
		const char *name, const struct stat *stat)
{
	struct ctf_stream_reader *stream = malloc(sizeof(*stream));
	int ret;

	if (!stream || ctf_reader_grow(&reader->streams, reader->stream_count)) {
		free(stream);
		return -ENOMEM;
	}
	ret = ctf_stream_reader_open(stream, classes, name, stat);
	if (ret <= 0) {
		free(stream);
		return ret;
	}
	stream->info.index = reader->stream_count;
	reader->streams[reader->stream_count++] = stream;
	return 0;
}

static struct ctf_trace_dir *ctf_reader_add_directory(struct ctf_reader *reader, int dir_fd)
{
	struct ctf_trace_dir *dir = calloc(1, sizeof(*dir));
	struct stat stat;

	if (!dir)
		return NULL;
	dir->fd = reader->growing ? fcntl(dir_fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (!fstat(dir_fd, &stat)) {
		dir->device = stat.st_dev;
		dir->inode = stat.st_ino;
	}
	dir->next = reader->dirs;
	reader->dirs = dir;
	return dir;
}

static void ctf_reader_close_directories(struct ctf_reader *reader)
{
	while (reader->dirs) {
		struct ctf_trace_dir *next = reader->dirs->next;

		if (reader->dirs->fd >= 0)
			close(reader->dirs->fd);
		free(reader->dirs);
		reader->dirs = next;
	}
}

int ctf_reader_add_trace(struct ctf_reader *reader, int dir_fd, const char *path,
		struct dirent **names, const struct stat *stats, int count)
{
	struct ctf_trace_classes *classes;
	struct error error;
	int ret;

	if (ctf_reader_grow(&reader->traces, reader->trace_count))
		return -ENOMEM;
	ret = ctf_metadata_read(dir_fd, path, &classes, &error);
	if (!classes)
		return -ENOMEM;
	classes->trace.index = reader->trace_count;
	classes->dir = ctf_reader_add_directory(reader, dir_fd);
	reader->traces[reader->trace_count++] = classes;
	if (!classes->dir)
		return -ENOMEM;
	if (ret) {
		ret = ret == -ENOMEM ? ret : add_note(reader, classes, path, "", error.text);
		if (ret || !ctf_tsdl_usable(classes))
			return ret;
	}
	for (int i = 0; !ret && i < count; i++)
		ret = stats[i].st_size < 0 ? add_note(reader, classes, path, names[i]->d_name,
							     strerror((int)-stats[i].st_size))
					   : ctf_reader_add_stream(reader, classes,
							     names[i]->d_name, &stats[i]);
	return ret;
}

struct stat *ctf_reader_stat(int dir_fd, struct dirent **names, int count)
{
	struct stat *stats = calloc((size_t)count + 1, sizeof(*stats));

	for (int i = 0; stats && i < count; i++) {
		const char *name = names[i]->d_name;

		stats[i].st_size = 0;
		if (*name == '.' || strcmp(name, "metadata") == 0)
			continue;
		if (fstatat(dir_fd, name, &stats[i], 0))
			stats[i].st_size = errno == ENOENT ? 0 : -errno;
	}
	return stats;
}

/*
 * Reads the sizes of the streams before the metadata: then the metadata describes all events up to
 * there, even if the trace is being recorded.
 */
static int ctf_reader_on_trace_found(
		void *context, int dir_fd, const char *path, struct dirent **names, int count)
{
	struct stat *stats = ctf_reader_stat(dir_fd, names, count);
	int ret = -ENOMEM;

	if (stats)
		ret = ctf_reader_add_trace(context, dir_fd, path, names, stats, count);
	free(stats);
	return ret;
}

/* ---- merging ---- */

static bool ctf_reader_is_before(
		const struct reader_heap_entry *a, const struct reader_heap_entry *b)
{
	const struct ctf_item *left, *right;

	if (__builtin_expect(a->ns != b->ns, 1))
		return a->ns < b->ns;
	left = &a->stream->item;
	right = &b->stream->item;
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a stream in the heap has a trace. */
	if (left->trace->index != right->trace->index)
		return left->trace->index < right->trace->index;
	if (left->cycles != right->cycles)
		return left->cycles < right->cycles;
	return a->stream->info.index < b->stream->info.index;
}

static void ctf_reader_sift_down(struct ctf_reader *reader, uint32_t at)
{
	struct reader_heap_entry moved = reader->heap[at];

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= reader->heap_count)
			break;
		if (child + 1 < reader->heap_count &&
				ctf_reader_is_before(
						&reader->heap[child + 1], &reader->heap[child]))
			child++;
		if (!ctf_reader_is_before(&reader->heap[child], &moved))
			break;
		reader->heap[at] = reader->heap[child];
		at = child;
	}
	reader->heap[at] = moved;
}

void ctf_reader_size_windows(struct ctf_reader *reader)
{
	size_t window = CTF_WINDOW_NORMAL;

	if (reader->stream_count && window > WINDOWS_SIZE / reader->stream_count)
		window = WINDOWS_SIZE / reader->stream_count;
	if (window < CTF_WINDOW_MIN)
		window = CTF_WINDOW_MIN;
	for (uint32_t i = 0; i < reader->stream_count; i++)
		reader->streams[i]->window.normal = window;
}

static void sift_up(struct ctf_reader *reader, uint32_t at)
{
	struct reader_heap_entry moved = reader->heap[at];

	while (at && ctf_reader_is_before(&moved, &reader->heap[(at - 1) / 2])) {
		reader->heap[at] = reader->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	reader->heap[at] = moved;
}

int ctf_reader_wait_for(struct ctf_reader *reader, struct ctf_stream_reader *stream)
{
	int ret = ctf_stream_reader_next(stream);

	if (ret <= 0)
		return ret;
	if (reader->heap_count == reader->heap_capacity) {
		uint32_t capacity = reader->heap_capacity ? reader->heap_capacity * 2 : 16;
		struct reader_heap_entry *heap = realloc(reader->heap, capacity * sizeof(*heap));

		if (!heap)
			return -ENOMEM;
		reader->heap = heap;
		reader->heap_capacity = capacity;
	}
	stream->waits = true;
	reader->heap[reader->heap_count] = (struct reader_heap_entry){stream->item.ns, stream};
	sift_up(reader, reader->heap_count++);
	return 0;
}

static int start_merging(struct ctf_reader *reader)
{
	int ret = 0;

	for (uint32_t i = 0; !ret && i < reader->stream_count; i++)
		ret = ctf_reader_wait_for(reader, reader->streams[i]);
	return ret;
}

/* Report once, at the end, that the recording continues. */
static int note_grown(struct ctf_reader *reader, struct ctf_item *ret_item)
{
	const struct ctf_stream_reader *first = NULL;
	uint32_t count = 0;

	for (uint32_t i = reader->grown_reported ? 0 : reader->stream_count; i-- > 0;) {
		if (reader->streams[i]->grown) {
			first = reader->streams[i];
			count++;
		}
	}
	reader->grown_reported = true;
	if (!first)
		return 0;
	snprintf(reader->grown, sizeof(reader->grown),
			"%s/%s%s grown while being read: the added part is not shown",
			first->classes->trace.path, first->info.name,
			count > 1 ? " and other files have" : " has");
	*ret_item = (struct ctf_item){.kind = CTF_ITEM_NOTE,
			.text = reader->grown,
			.count = count,
			.trace = &first->classes->trace};
	return 1;
}

int ctf_reader_note_next(struct ctf_reader *reader, bool behind, struct ctf_item *ret_item)
{
	struct reader_note *note = reader->shown_note;

	if (behind)
		return note_grown(reader, ret_item);
	if (!note)
		return 0;
	reader->shown_note = note->next;
	*ret_item = (struct ctf_item){.kind = CTF_ITEM_DAMAGE,
			.text = note->text,
			.cut = note->classes->trace.is_side && ctf_tsdl_usable(note->classes),
			.trace = &note->classes->trace};
	return 1;
}

int ctf_reader_stream_next(
		struct ctf_reader *reader, uint32_t stream, const struct ctf_item **ret_item)
{
	*ret_item = &reader->streams[stream]->item;
	return ctf_stream_reader_next(reader->streams[stream]);
}

/* Remove the item that was shown, and advance its stream. */
static int ctf_reader_advance(struct ctf_reader *reader)
{
	struct reader_heap_entry *top = &reader->heap[0];
	int ret = ctf_stream_reader_next(top->stream);

	if (ret < 0)
		return ret;
	if (ret) {
		top->ns = top->stream->item.ns;
	} else {
		top->stream->waits = false;
		*top = reader->heap[--reader->heap_count];
	}
	if (reader->heap_count)
		ctf_reader_sift_down(reader, 0);
	reader->top_shown = false;
	return 0;
}

int ctf_reader_next_until(struct ctf_reader *reader, int64_t ns, struct ctf_item *ret_item)
{
	int ret = 0;

	if (ctf_reader_note_next(reader, false, ret_item))
		return 1;
	if (!reader->merging) {
		ret = start_merging(reader);
		reader->merging = !ret;
	} else if (reader->top_shown) {
		ret = ctf_reader_advance(reader);
	}
	if (ret)
		return ret;
	if (!reader->heap_count || reader->heap[0].ns > ns)
		return 0;
	*ret_item = reader->heap[0].stream->item;
	reader->top_shown = true;
	return 1;
}

int ctf_reader_next(struct ctf_reader *reader, struct ctf_item *ret_item)
{
	int ret = ctf_reader_next_until(reader, INT64_MAX, ret_item);

	return ret ? ret : note_grown(reader, ret_item);
}

/* ---- interface ---- */

static int ctf_reader_open_all(
		const char *dir, bool growing, struct ctf_reader **ret_reader, struct error *error)
{
	struct ctf_reader *reader = calloc(1, sizeof(*reader));
	int ret;

	if (!reader)
		return error_set(error, -ENOMEM, NULL, "out of memory for the trace %s", dir);
	reader->last_note = &reader->notes;
	reader->growing = growing;
	reader->dir = strdup(dir);
	if (!reader->dir) {
		ctf_reader_close(reader);
		return error_set(error, -ENOMEM, NULL, "out of memory for the trace %s", dir);
	}
	ret = ctf_find_traces(
			dir, growing, ctf_reader_on_trace_found, reader, &reader->nr_searched);
	if (!ret && !reader->trace_count)
		ret = error_set(error, -ENOENT, NULL,
				"there is no trace in %s: neither it nor a directory in it has a file \"metadata\"",
				dir);
	else if (ret == -E2BIG)
		error_set(error, ret, NULL,
				"cannot search %s for traces: it has more than %u directories", dir,
				CTF_FIND_DIRECTORIES_MAX);
	else if (ret)
		error_set(error, ret, NULL, "cannot read %s: %s", dir, strerror(-ret));
	if (!ret) {
		ret = ctf_reader_limit_overlaps(reader);
		if (ret)
			error_set(error, ret, NULL,
					ret == -ENOMEM ? "out of memory for the trace %s"
						       : "cannot read %s: %s",
					dir, strerror(-ret));
	}
	ctf_reader_size_windows(reader);
	reader->shown_note = reader->notes;
	if (ret) {
		ctf_reader_close(reader);
		return ret;
	}
	*ret_reader = reader;
	return 0;
}

int ctf_reader_open(const char *dir, struct ctf_reader **ret_reader, struct error *error)
{
	/* The current chunk belongs to a running recording; after a kill of the recorder it is
	   incomplete. */
	return ctf_reader_open_all(dir, ctf_is_recorded(dir), ret_reader, error);
}

int ctf_reader_open_growing(const char *dir, struct ctf_reader **ret_reader, struct error *error)
{
	return ctf_reader_open_all(dir, true, ret_reader, error);
}

uint64_t ctf_reader_searched(const struct ctf_reader *reader)
{
	return reader->nr_searched;
}

void ctf_reader_set_times(struct ctf_reader *reader, int64_t from_ns, int64_t to_ns)
{
	for (uint32_t i = 0; i < reader->stream_count; i++) {
		reader->streams[i]->bounded = true;
		reader->streams[i]->from_ns = from_ns;
		reader->streams[i]->to_ns = to_ns;
		reader->streams[i]->skipped_begin = INT64_MIN;
	}
}

int64_t ctf_reader_skipped_begin(const struct ctf_reader *reader)
{
	int64_t begin = INT64_MIN;

	for (uint32_t i = 0; i < reader->stream_count; i++) {
		if (reader->streams[i]->bounded && reader->streams[i]->skipped_begin > begin)
			begin = reader->streams[i]->skipped_begin;
	}
	return begin;
}

void ctf_reader_close(struct ctf_reader *reader)
{
	if (!reader)
		return;
	for (uint32_t i = 0; i < reader->stream_count; i++) {
		ctf_stream_reader_close(reader->streams[i]);
		free(reader->streams[i]);
	}
	for (uint32_t i = 0; i < reader->trace_count; i++)
		ctf_metadata_free(reader->traces[i]);
	while (reader->retired) {
		struct ctf_trace_classes *older = reader->retired->older;

		ctf_reader_forget(reader, reader->retired);
		reader->retired = older;
	}
	while (reader->notes) {
		struct reader_note *next = reader->notes->next;

		free(reader->notes);
		reader->notes = next;
	}
	free(reader->streams);
	free(reader->traces);
	free(reader->heap);
	ctf_reader_close_directories(reader);
	free(reader->dir);
	free(reader);
}

uint32_t ctf_reader_stream_count(const struct ctf_reader *reader)
{
	return reader->stream_count;
}

const struct ctf_trace *ctf_reader_stream_trace(const struct ctf_reader *reader, uint32_t stream)
{
	return &reader->streams[stream]->classes->trace;
}

const struct ctf_stream_info *ctf_reader_stream_info(
		const struct ctf_reader *reader, uint32_t stream)
{
	return &reader->streams[stream]->info;
}

uint64_t ctf_reader_stream_size(const struct ctf_reader *reader, uint32_t stream)
{
	return reader->streams[stream]->window.size;
}

uint32_t ctf_reader_trace_count(const struct ctf_reader *reader)
{
	return reader->trace_count;
}

const struct ctf_trace *ctf_reader_trace(const struct ctf_reader *reader, uint32_t index)
{
	return &reader->traces[index]->trace;
}

/* The public part is the first member of struct ctf_trace_classes. */
static const struct ctf_trace_classes *classes_of(const struct ctf_trace *trace)
{
	return (const struct ctf_trace_classes *)trace;
}

uint32_t ctf_trace_event_count(const struct ctf_trace *trace)
{
	return classes_of(trace)->event_count;
}

struct ctf_event_class *ctf_trace_event(const struct ctf_trace *trace, uint32_t index)
{
	return classes_of(trace)->events[index];
}

/* The class behind those of all channels has the largest id. */
uint64_t ctf_trace_session_stream(const struct ctf_trace *trace)
{
	const struct ctf_trace_classes *classes = classes_of(trace);
	uint64_t last = 0;

	for (uint32_t i = 0; i < classes->stream_count; i++) {
		if (classes->streams[i]->id > last)
			last = classes->streams[i]->id;
	}
	return last;
}
