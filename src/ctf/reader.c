/* SPDX-License-Identifier: MIT */
/*
 * All traces below a directory as one row of items, merged by time.
 *
 * Files are mapped; a file that shrinks while it is read ends the reading program (SIGBUS), as
 * with every reader that maps.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctf/stream_read.h"

#define SCAN_DEPTH_MAX 16

struct reader_note {
	struct reader_note *next;
	struct ctf_trace_classes *classes;
	char text[768];
};

struct ctf_reader {
	struct ctf_trace_classes **traces;
	uint32_t trace_count;
	struct ctf_stream_reader **streams;
	uint32_t stream_count;
	struct ctf_stream_reader **heap; /* Those that have an item, the earliest first. */
	uint32_t heap_count;
	bool top_shown; /* The first of the heap must go on before it is looked at again. */
	struct reader_note *notes; /* Damage of whole traces and files, shown first. */
	struct reader_note **last_note;
	struct reader_note *shown_note;
};

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

static int grow_pointers(void *array, uint32_t count)
{
	void **pointers;

	if (count & (count - 1)) /* Grown at 0, 1, 2, 4, … */
		return 0;
	memcpy(&pointers, array, sizeof(pointers));
	pointers = realloc(pointers, (count ? count * 2 : 1) * sizeof(*pointers));
	if (!pointers)
		return -ENOMEM;
	memcpy(array, &pointers, sizeof(pointers));
	return 0;
}

static int add_stream(struct ctf_reader *reader, struct ctf_trace_classes *classes, int dir_fd,
		const char *name)
{
	struct ctf_stream_reader *stream = malloc(sizeof(*stream));
	int ret;

	if (!stream || grow_pointers(&reader->streams, reader->stream_count)) {
		free(stream);
		return -ENOMEM;
	}
	ret = ctf_stream_reader_open(stream, classes, dir_fd, name);
	if (ret <= 0) {
		free(stream);
		if (ret < 0 && ret != -ENOMEM)
			ret = add_note(reader, classes, classes->trace.path, name, strerror(-ret));
		return ret;
	}
	stream->info.index = reader->stream_count;
	reader->streams[reader->stream_count++] = stream;
	return 0;
}

static int add_trace(struct ctf_reader *reader, int dir_fd, const char *path, struct dirent **names,
		int count)
{
	struct ctf_trace_classes *classes;
	struct ctf_error error;
	int ret;

	if (grow_pointers(&reader->traces, reader->trace_count))
		return -ENOMEM;
	ret = ctf_metadata_read(dir_fd, path, &classes, &error);
	if (!classes)
		return -ENOMEM;
	classes->trace.index = reader->trace_count;
	reader->traces[reader->trace_count++] = classes;
	if (ret) {
		ret = ret == -ENOMEM ? ret : add_note(reader, classes, path, "", error.text);
		if (ret || !ctf_tsdl_usable(classes))
			return ret;
	}
	for (int i = 0; !ret && i < count; i++) {
		const char *name = names[i]->d_name;

		if (*name != '.' && strcmp(name, "metadata") != 0)
			ret = add_stream(reader, classes, dir_fd, name);
	}
	return ret;
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int scan(struct ctf_reader *reader, int parent_fd, const char *name, const char *path,
		unsigned int depth)
{
	int fd = openat(parent_fd, name,
			O_RDONLY | O_DIRECTORY | O_CLOEXEC | (depth ? O_NOFOLLOW : 0));
	struct dirent **names = NULL;
	bool has_metadata = false;
	int count, ret = 0;

	if (fd < 0)
		return depth && errno != EMFILE && errno != ENFILE ? 0 : -errno; /* A file. */
	count = scandirat(fd, ".", &names, NULL, compare_names);
	ret = count < 0 ? -errno : 0;
	for (int i = 0; i < count; i++)
		has_metadata |= strcmp(names[i]->d_name, "metadata") == 0;
	if (!ret && has_metadata)
		ret = add_trace(reader, fd, path, names, count);
	for (int i = 0; !ret && i < count && depth < SCAN_DEPTH_MAX; i++) {
		char *inner;

		if (*names[i]->d_name == '.' ||
				(names[i]->d_type != DT_DIR && names[i]->d_type != DT_UNKNOWN) ||
				(has_metadata && strcmp(names[i]->d_name, "index") == 0))
			continue;
		if (asprintf(&inner, "%s/%s", path, names[i]->d_name) < 0) {
			ret = -ENOMEM;
			break;
		}
		ret = scan(reader, fd, names[i]->d_name, inner, depth + 1);
		free(inner);
	}
	for (int i = 0; i < count; i++)
		free(names[i]);
	free(names);
	close(fd);
	return ret;
}

/* ---- merging ---- */

static bool is_before(const struct ctf_stream_reader *a, const struct ctf_stream_reader *b)
{
	const struct ctf_item *left = &a->item, *right = &b->item;

	if (left->ns != right->ns)
		return left->ns < right->ns;
	if (left->trace != right->trace)
		return left->trace->index < right->trace->index;
	if (left->cycles != right->cycles)
		return left->cycles < right->cycles;
	return a->info.index < b->info.index;
}

static void sift_down(struct ctf_reader *reader, uint32_t at)
{
	struct ctf_stream_reader *moved = reader->heap[at];

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= reader->heap_count)
			break;
		if (child + 1 < reader->heap_count &&
				is_before(reader->heap[child + 1], reader->heap[child]))
			child++;
		if (!is_before(reader->heap[child], moved))
			break;
		reader->heap[at] = reader->heap[child];
		at = child;
	}
	reader->heap[at] = moved;
}

static int start_merging(struct ctf_reader *reader)
{
	reader->heap = calloc((size_t)reader->stream_count + 1, sizeof(struct ctf_stream_reader *));
	if (!reader->heap)
		return -ENOMEM;
	for (uint32_t i = 0; i < reader->stream_count; i++) {
		int ret = ctf_stream_reader_next(reader->streams[i]);

		if (ret < 0)
			return ret;
		if (ret)
			reader->heap[reader->heap_count++] = reader->streams[i];
	}
	for (uint32_t i = reader->heap_count / 2; i-- > 0;)
		sift_down(reader, i);
	return 0;
}

int ctf_reader_next(struct ctf_reader *reader, struct ctf_item *item)
{
	if (reader->shown_note) {
		struct reader_note *note = reader->shown_note;

		reader->shown_note = note->next;
		*item = (struct ctf_item){.kind = CTF_ITEM_DAMAGE,
				.text = note->text,
				.trace = &note->classes->trace};
		return 1;
	}
	if (reader->top_shown) {
		int ret = ctf_stream_reader_next(reader->heap[0]);

		if (ret < 0)
			return ret;
		if (!ret)
			reader->heap[0] = reader->heap[--reader->heap_count];
		if (reader->heap_count)
			sift_down(reader, 0);
		reader->top_shown = false;
	}
	if (!reader->heap_count)
		return 0;
	*item = reader->heap[0]->item;
	reader->top_shown = true;
	return 1;
}

/* ---- the whole ---- */

int ctf_reader_open(const char *dir, struct ctf_reader **out, struct ctf_error *error)
{
	struct ctf_reader *reader = calloc(1, sizeof(*reader));
	int ret;

	if (!reader)
		return ctf_fail(error, -ENOMEM, "no memory for the trace %s", dir);
	reader->last_note = &reader->notes;
	ret = scan(reader, AT_FDCWD, dir, dir, 0);
	if (!ret && !reader->trace_count)
		ret = ctf_fail(error, -ENOENT,
				"there is no trace in %s: neither it nor a directory in it has a "
				"file \"metadata\"",
				dir);
	else if (ret)
		ctf_fail(error, ret, "cannot read %s: %s", dir, strerror(-ret));
	if (!ret && start_merging(reader))
		ret = ctf_fail(error, -ENOMEM, "no memory for the trace %s", dir);
	reader->shown_note = reader->notes;
	if (ret) {
		ctf_reader_close(reader);
		return ret;
	}
	*out = reader;
	return 0;
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
	while (reader->notes) {
		struct reader_note *next = reader->notes->next;

		free(reader->notes);
		reader->notes = next;
	}
	free(reader->streams);
	free(reader->traces);
	free(reader->heap);
	free(reader);
}

uint32_t ctf_reader_trace_count(const struct ctf_reader *reader)
{
	return reader->trace_count;
}

const struct ctf_trace *ctf_reader_trace(const struct ctf_reader *reader, uint32_t index)
{
	return &reader->traces[index]->trace;
}

/* The public part is the first member of what the reader keeps. */
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
