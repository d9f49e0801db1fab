/* SPDX-License-Identifier: MIT */
/* Showing a trace: the lines of all streams ordered by time. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "analysis/view-merge.h"
#include "analysis/view-tree.h"

#define SECOND 1000000000
#define BUFFER_SIZE ((size_t)64 << 10)
/*
 * A trace with fewer bytes is shown faster without threads; more threads than THREADS_MAX do not
 * help.
 */
#define THREADS_FROM ((uint64_t)4 << 20)
#define THREADS_MAX 16u

/*
 * A stream whose next line has not been shown. It has a copy of the time, so that comparisons
 * access no other memory.
 */
struct merge_stream {
	int64_t ns;
	const struct view_entry *entry;
	const struct view_entry *end;
	const char *bytes;
	uint32_t stream;
	uint32_t trace;
};

struct merge {
	struct view *view;
	struct view_feed *feed;
	struct merge_stream *heap; /* the earliest first */
	uint32_t count;
	bool watched; /* the output is a terminal */
};

/* ---- writing ---- */

void view_flush(struct view *view)
{
	size_t size = view_out_size(&view->buffer);

	view->buffer.at = view->buffer.begin;
	if (view->write_error || !size)
		return;
	if (fwrite_unlocked(view->buffer.begin, 1, size, view->out) != size || fflush(view->out))
		view->write_error = errno ? errno : EIO;
}

void view_report(struct view *view, enum analysis_message kind, const char *hint,
		const char *sentence)
{
	view_flush(view);
	if (view->options->listener.report)
		view->options->listener.report(view->options->listener.user, kind, hint, sentence);
	else
		fprintf(stderr, "side: %s\n%s%s%s", sentence, hint ? "hint: " : "",
				hint ? hint : "", hint ? "\n" : "");
}

bool view_is_over(const struct view *view)
{
	return view->write_error || view->buffer.failed ||
			(view->tree && view_tree_has_failed(view->tree)) ||
			(view->options->limit && view->shown >= view->options->limit);
}

int view_find_tree(struct view *view, struct ctf_reader *reader)
{
	const struct view_options *options = view->options;
	const struct view_tree_wanted wanted = {options->wanted, options->wanted_context};

	if (view->tree || options->json || options->flat || !view_tree_is_in(&wanted, reader))
		return 0;
	view->tree = view_tree_create(&view->buffer, options->colour);
	view->lines.tree = view->tree;
	return view->tree ? 0 : -ENOMEM;
}

/* ---- entries ---- */

static void put_delta(struct view *view, struct view_out *out, const struct view_entry *entry)
{
	uint64_t delta;
	bool back;

	if (!view->has_last) {
		view_out_text(out,
				"(+?.???"
				"??????"
				")"); /* In parts, because "??" and ")" are a trigraph. */
		return;
	}
	back = entry->ns < view->last_ns;
	delta = back ? (uint64_t)view->last_ns - (uint64_t)entry->ns
		     : (uint64_t)entry->ns - (uint64_t)view->last_ns;
	if (!view_out_reserve(out, 64))
		return;
	*out->at++ = '(';
	*out->at++ = back ? '-' : '+';
	out->at = view_decimal(out->at, delta / SECOND);
	*out->at++ = '.';
	out->at = view_nine_digits(out->at, (uint32_t)(delta % SECOND));
	*out->at++ = ')';
}

static void view_merge_put_line(struct view *view, struct view_out *out,
		const struct view_entry *entry, const char *bytes)
{
	if (entry->head) {
		view_out_put(out, bytes, entry->head);
		put_delta(view, out, entry);
		view_out_put(out, bytes + entry->head, entry->size - entry->head);
	} else {
		view_out_put(out, bytes, entry->size);
	}
}

static void view_merge_show_event(
		struct view *view, const struct view_entry *entry, const char *bytes)
{
	if (!view->tree) {
		view_merge_put_line(view, &view->buffer, entry, bytes);
	} else if (entry->kind == VIEW_ENTRY_CALL) {
		view_tree_take(view->tree, entry, bytes);
	} else if (!view_tree_take_other(view->tree, entry, bytes)) {
		view_merge_put_line(view, view_tree_begin_line(view->tree), entry, bytes);
		view_tree_end_line(view->tree);
	}
	if (entry->timed) {
		view->has_last = true;
		view->last_ns = entry->ns;
	}
	view->shown++;
}

static void show_damage(struct view *view, const struct view_entry *entry, const char *bytes)
{
	bool mendable = entry->cut && !view->options->repair;

	view->damaged = true;
	view_report(view, ANALYSIS_ERROR,
			mendable ? "add --repair to shorten the file to its last complete event"
				 : NULL,
			bytes);
	view_out_put(&view->buffer, bytes + entry->head, entry->size - entry->head);
}

/* A power of two. */
#define PROGRESS_INTERVAL 4096

static void view_merge_show_progress(const struct view *view)
{
	const struct analysis_listener *listener = &view->options->listener;

	if (listener->progress)
		listener->progress(listener->user, view->shown);
}

void view_show_entry(struct view *view, const struct view_entry *entry, const char *bytes)
{
	if (view->entries++ % PROGRESS_INTERVAL == PROGRESS_INTERVAL - 1)
		view_merge_show_progress(view);
	/* What is lost here can be a part of the calls whose entries are held. */
	if (view->tree && entry->kind != VIEW_ENTRY_EVENT && entry->kind != VIEW_ENTRY_CALL)
		view_tree_flush(view->tree);
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): no batch is without entries. */
	switch ((enum view_entry_kind)entry->kind) {
	case VIEW_ENTRY_EVENT:
	case VIEW_ENTRY_CALL: view_merge_show_event(view, entry, bytes); break;
	case VIEW_ENTRY_DAMAGE: show_damage(view, entry, bytes); break;
	case VIEW_ENTRY_DISCARDED:
	case VIEW_ENTRY_LOST:
		if (entry->kind == VIEW_ENTRY_LOST)
			view->lost += entry->count;
		else
			view->discarded += entry->count;
		view_out_put(&view->buffer, bytes, entry->size);
		break;
	case VIEW_ENTRY_NOTE: view_report(view, ANALYSIS_NOTE, NULL, bytes); break;
	case VIEW_ENTRY_OTHER: view_out_put(&view->buffer, bytes, entry->size); break;
	}
	if (view_out_size(&view->buffer) >= BUFFER_SIZE)
		view_flush(view);
}

/* ---- merging ---- */

static bool view_merge_is_before(const struct merge_stream *a, const struct merge_stream *b)
{
	if (__builtin_expect(a->ns != b->ns, 1))
		return a->ns < b->ns;
	if (a->trace != b->trace)
		return a->trace < b->trace;
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): who waits has an entry. */
	if (a->entry->cycles != b->entry->cycles)
		return a->entry->cycles < b->entry->cycles;
	return a->stream < b->stream;
}

static void view_merge_sift_down(struct merge *merge, uint32_t at)
{
	struct merge_stream moved = merge->heap[at];

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= merge->count)
			break;
		if (child + 1 < merge->count &&
				view_merge_is_before(&merge->heap[child + 1], &merge->heap[child]))
			child++;
		if (!view_merge_is_before(&merge->heap[child], &moved))
			break;
		merge->heap[at] = merge->heap[child];
		at = child;
	}
	merge->heap[at] = moved;
}

/* The next batch of what waits; false at its end. */
static bool refill(struct merge *merge, struct merge_stream *waiting, int *ret_error)
{
	const struct view_batch *batch;

	if (merge->watched && view_feed_is_empty(merge->feed, waiting->stream))
		view_flush(merge->view);
	batch = view_feed_next(merge->feed, waiting->stream, ret_error);
	if (!batch)
		return false;
	waiting->entry = batch->entries;
	waiting->end = batch->entries + batch->count;
	waiting->bytes = batch->out.begin;
	waiting->ns = waiting->entry->ns;
	return true;
}

static int view_merge_start(struct merge *merge, struct ctf_reader *reader)
{
	uint32_t count = ctf_reader_stream_count(reader);
	int error = 0;

	merge->count = 0;
	merge->heap = calloc((size_t)count + 1, sizeof(*merge->heap));
	if (!merge->heap)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		struct merge_stream *waiting = &merge->heap[merge->count];

		waiting->stream = i;
		waiting->trace = ctf_reader_stream_trace(reader, i)->index;
		merge->count += refill(merge, waiting, &error);
	}
	for (uint32_t i = merge->count / 2; i-- > 0;)
		view_merge_sift_down(merge, i);
	return error;
}

static int view_merge_print_all(struct merge *merge)
{
	int error = 0;

	while (merge->count && !error && !view_is_over(merge->view)) {
		struct merge_stream *top = &merge->heap[0];

		view_show_entry(merge->view, top->entry, top->bytes);
		top->bytes += top->entry->size;
		if (++top->entry != top->end)
			top->ns = top->entry->ns;
		else if (!refill(merge, top, &error))
			*top = merge->heap[--merge->count];
		if (merge->count)
			view_merge_sift_down(merge, 0);
	}
	return error;
}

static unsigned int worker_count(const struct view *view, const struct ctf_reader *reader)
{
	uint32_t streams = ctf_reader_stream_count(reader);
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int threads = view->options->threads;
	uint64_t size = 0;

	if (!threads) {
		for (uint32_t i = 0; i < streams; i++)
			size += ctf_reader_stream_size(reader, i);
		if (size < THREADS_FROM)
			return 0;
		threads = processors > THREADS_MAX ? THREADS_MAX : (unsigned int)processors;
	}
	/* One more than streams can be at work: the one that merges. */
	if (threads > streams + 1)
		threads = streams + 1;
	return threads > 1 ? threads - 1 : 0;
}

int view_merge(struct view *view, struct ctf_reader *reader)
{
	struct merge merge = {.view = view, .watched = isatty(fileno(view->out)) == 1};
	int ret = view_feed_start(&merge.feed, &view->lines, reader, worker_count(view, reader));

	if (ret)
		return ret;
	ret = view_merge_start(&merge, reader);
	if (!ret)
		ret = view_merge_print_all(&merge);
	view_feed_stop(merge.feed);
	free(merge.heap);
	if (view->tree)
		view_tree_flush(view->tree);
	view_flush(view);
	return view->buffer.failed || (view->tree && view_tree_has_failed(view->tree)) ? -ENOMEM
										       : ret;
}
