/* SPDX-License-Identifier: MIT */
/* The timeline of a page: intervals of threads, the longest calls, losses. */
#include "export/html/html-timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/view-out.h"
#include "analysis/view-sink.h"
#include "export/html/html-lines.h"

/* ---- intervals ---- */

static void html_timeline_fold_bins(uint64_t *bins)
{
	for (uint32_t i = 0; i < HTML_BINS / 2; i++)
		bins[i] = bins[2 * i] + bins[2 * i + 1];
	memset(bins + HTML_BINS / 2, 0, HTML_BINS / 2 * sizeof(*bins));
}

static void html_timeline_widen(struct html_timeline *timeline)
{
	timeline->shift++;
	for (uint32_t i = 0; i < timeline->thread_keys.count; i++)
		if (timeline->threads[i].bins)
			html_timeline_fold_bins(timeline->threads[i].bins);
	if (timeline->others.bins)
		html_timeline_fold_bins(timeline->others.bins);
}

static int html_timeline_count(
		struct html_timeline *timeline, struct html_thread *thread, int64_t ns)
{
	uint64_t offset = 0;

	if (!timeline->started) {
		timeline->started = true;
		timeline->begin_ns = ns;
	}
	if (ns > timeline->begin_ns)
		offset = (uint64_t)ns - (uint64_t)timeline->begin_ns;
	if (!thread->bins) {
		thread->bins = calloc(HTML_BINS, sizeof(*thread->bins));
		thread->first_ns = ns;
	}
	if (!thread->bins)
		return -ENOMEM;
	while (offset >> timeline->shift >= HTML_BINS)
		html_timeline_widen(timeline);
	thread->bins[offset >> timeline->shift]++;
	thread->events++;
	thread->last_ns = ns;
	return 0;
}

/* ---- threads ---- */

static bool html_timeline_is_thread(
		const struct html_timeline *timeline, const struct html_thread_key *key)
{
	const struct html_thread *thread;

	if (timeline->last >= timeline->thread_keys.count)
		return false;
	thread = &timeline->threads[timeline->last];
	return thread->id == key->id && thread->process == key->process &&
			thread->part == key->part;
}

uint32_t html_timeline_thread(struct html_timeline *timeline, const struct html_thread_key *key)
{
	uint32_t number;

	/* Most events and calls have the same thread as the one before. */
	if (html_timeline_is_thread(timeline, key))
		return timeline->last;
	timeline->thread_keys.limit = HTML_THREADS_MAX;
	timeline->threads = keys_add_item(&timeline->thread_keys, timeline->threads,
			sizeof(*timeline->threads), key, sizeof(*key), &number);
	if (number == KEYS_NONE)
		return KEYS_NONE;
	timeline->threads[number].process = key->process;
	timeline->threads[number].part = key->part;
	timeline->threads[number].id = key->id;
	timeline->last = number;
	return number;
}

int html_timeline_add(struct html_timeline *timeline, const struct html_thread_key *key, int64_t ns,
		const char *name, size_t name_size)
{
	uint32_t number = html_timeline_thread(timeline, key);
	struct html_thread *thread;

	if (number == KEYS_NONE) {
		if (timeline->thread_keys.no_memory)
			return -ENOMEM;
		timeline->other_threads++;
		timeline->others.process = HTML_PROCESS_OTHERS;
		timeline->others.id = -1;
		return html_timeline_count(timeline, &timeline->others, ns);
	}
	thread = &timeline->threads[number];
	/* A thread can get its name after its first event: the last name counts. */
	if (name_size) {
		name_size = strnlen(name, name_size);
		name_size = name_size < sizeof(thread->name) ? name_size : sizeof(thread->name) - 1;
		memcpy(thread->name, name, name_size);
		thread->name[name_size] = '\0';
	}
	return html_timeline_count(timeline, thread, ns);
}

void html_timeline_free(struct html_timeline *timeline)
{
	for (uint32_t i = 0; i < timeline->thread_keys.count; i++)
		free(timeline->threads[i].bins);
	free(timeline->others.bins);
	free(timeline->threads);
	free(timeline->slices);
	keys_free(&timeline->thread_keys);
}

/* ---- calls ---- */

/* Whether `left` leaves the heap before `right`: shorter calls first, then later calls. */
static bool html_slice_is_less(const struct html_slice *left, const struct html_slice *right)
{
	if (left->duration_ns != right->duration_ns)
		return left->duration_ns < right->duration_ns;
	return left->begin_ns > right->begin_ns;
}

static void html_slice_swap(struct html_slice *one, struct html_slice *other)
{
	struct html_slice saved = *one;

	*one = *other;
	*other = saved;
}

static void html_slices_sift_up(struct html_slice *slices, uint32_t at)
{
	while (at && html_slice_is_less(&slices[at], &slices[(at - 1) / 2])) {
		html_slice_swap(&slices[at], &slices[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
}

static void html_slices_sift_down(struct html_slice *slices, uint32_t count)
{
	uint32_t at = 0;

	for (;;) {
		uint32_t least = at;

		for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
			if (html_slice_is_less(&slices[child], &slices[least]))
				least = child;
		if (least == at)
			return;
		html_slice_swap(&slices[at], &slices[least]);
		at = least;
	}
}

int html_timeline_add_slice(struct html_timeline *timeline, const struct html_slice *slice)
{
	timeline->all_slices++;
	if (!timeline->slices) {
		timeline->slices = calloc(HTML_SLICES_MAX, sizeof(*timeline->slices));
		if (!timeline->slices)
			return -ENOMEM;
	}
	if (timeline->nr_slices < HTML_SLICES_MAX) {
		timeline->slices[timeline->nr_slices] = *slice;
		html_slices_sift_up(timeline->slices, timeline->nr_slices++);
	} else if (html_slice_is_less(&timeline->slices[0], slice)) {
		timeline->slices[0] = *slice;
		html_slices_sift_down(timeline->slices, timeline->nr_slices);
	}
	return 0;
}

/* ---- losses ---- */

static int html_loss_compare(const void *one, const void *other)
{
	const struct html_loss *left = one, *right = other;

	if (left->process != right->process)
		return left->process < right->process ? -1 : 1;
	if (left->is_packets != right->is_packets)
		return left->is_packets ? 1 : -1;
	return (left->begin_ns > right->begin_ns) - (left->begin_ns < right->begin_ns);
}

static void html_loss_merge(struct html_loss *into, const struct html_loss *loss)
{
	if (loss->begin_ns < into->begin_ns)
		into->begin_ns = loss->begin_ns;
	if (loss->end_ns > into->end_ns)
		into->end_ns = loss->end_ns;
	into->count += loss->count;
}

/* Merges pairs of neighbouring losses of one process. */
static void html_losses_halve(struct html_timeline *timeline)
{
	struct html_loss *losses = timeline->losses;
	uint32_t count = 0;

	qsort(losses, timeline->nr_losses, sizeof(*losses), html_loss_compare);
	for (uint32_t i = 0; i < timeline->nr_losses; i++) {
		const struct html_loss *next = &losses[i + 1];
		bool pair = i + 1 < timeline->nr_losses && next->process == losses[i].process &&
				next->is_packets == losses[i].is_packets;

		losses[count] = losses[i];
		if (pair)
			html_loss_merge(&losses[count], &losses[++i]);
		count++;
	}
	timeline->nr_losses = count;
}

void html_timeline_add_loss(struct html_timeline *timeline, const struct html_loss *loss)
{
	if (timeline->nr_losses == HTML_LOSSES_MAX)
		html_losses_halve(timeline);
	/* No loss was merged, because each is of another process: forget the processes. */
	while (timeline->nr_losses == HTML_LOSSES_MAX) {
		for (uint32_t i = 0; i < timeline->nr_losses; i++)
			timeline->losses[i].process = HTML_PROCESS_OTHERS;
		html_losses_halve(timeline);
	}
	timeline->losses[timeline->nr_losses++] = *loss;
}

/* ---- printing ---- */

/* The state of one attempt to print. */
struct html_timeline_writer {
	const struct html_timeline *timeline;
	struct view_out *out;
	html_process_name *process_name;
	const void *user;
	uint32_t *order; /* of the threads that are shown, by process and number */
	uint32_t *shown; /* of each thread: its position in the page */
	uint32_t nr_shown;
	struct html_thread merged; /* the threads that are not shown */
	uint64_t nr_merged;
	unsigned int fold; /* 1 << fold intervals become one */
	uint32_t slices;   /* the number of slices at most */
};

static uint64_t html_timeline_offset(const struct html_timeline *timeline, int64_t ns)
{
	return ns > timeline->begin_ns ? (uint64_t)ns - (uint64_t)timeline->begin_ns : 0;
}

static void html_timeline_put_name(struct view_out *out, const char *name, const char *text)
{
	view_out_text(out, ",\"");
	view_out_text(out, name);
	view_out_text(out, "\":");
	view_json_quoted(out, text, strlen(text));
}

static void html_timeline_put_number(struct view_out *out, const char *name, uint64_t number)
{
	view_out_text(out, ",\"");
	view_out_text(out, name);
	view_out_text(out, "\":");
	view_out_unsigned(out, number);
}

/* Writes for each run of intervals with events: the number of empty ones before, then counts. */
static void html_timeline_put_bins(
		struct html_timeline_writer *writer, const struct html_thread *thread)
{
	uint32_t width = 1u << writer->fold, empty = 0;
	const char *comma = "";

	view_out_text(writer->out, ",\"bins\":[");
	for (uint32_t i = 0; thread->bins && i < HTML_BINS; i += width) {
		uint64_t count = 0;

		for (uint32_t k = 0; k < width; k++)
			count += thread->bins[i + k];
		if (!count) {
			empty++;
			continue;
		}
		view_out_text(writer->out, comma);
		/* A negative number is a run of empty intervals. */
		if (empty) {
			view_out_signed(writer->out, -(int64_t)empty);
			view_out_char(writer->out, ',');
		}
		view_out_unsigned(writer->out, count);
		empty = 0;
		comma = ",";
	}
	view_out_text(writer->out, "]}");
}

static void html_timeline_put_thread(
		struct html_timeline_writer *writer, const struct html_thread *thread)
{
	const struct html_timeline *timeline = writer->timeline;
	char process[200] = "";

	view_out_text(writer->out, "{\"process\":");
	view_out_signed(writer->out,
			thread->process == HTML_PROCESS_OTHERS ? -1 : (int64_t)thread->process);
	if (thread->process != HTML_PROCESS_OTHERS)
		writer->process_name(writer->user, thread->process, process, sizeof(process));
	html_timeline_put_name(writer->out, "process_name", process);
	if (thread->id >= 0)
		html_timeline_put_number(writer->out, "thread", (uint64_t)thread->id);
	if (thread->part)
		html_timeline_put_number(writer->out, "part", thread->part);
	if (*thread->name)
		html_timeline_put_name(writer->out, "name", thread->name);
	html_timeline_put_number(writer->out, "events", thread->events);
	if (thread->events) {
		html_timeline_put_number(writer->out, "first",
				html_timeline_offset(timeline, thread->first_ns));
		html_timeline_put_number(writer->out, "last",
				html_timeline_offset(timeline, thread->last_ns));
	}
	html_timeline_put_bins(writer, thread);
}

static void html_timeline_put_threads(struct html_timeline_writer *writer)
{
	view_out_text(writer->out, ",\"threads\":[");
	for (uint32_t i = 0; i < writer->nr_shown; i++) {
		if (i)
			view_out_text(writer->out, ",\n");
		html_timeline_put_thread(writer, &writer->timeline->threads[writer->order[i]]);
	}
	if (writer->merged.events) {
		if (writer->nr_shown)
			view_out_text(writer->out, ",\n");
		html_timeline_put_thread(writer, &writer->merged);
	}
	view_out_char(writer->out, ']');
}

/* Writes thread, begin, duration, depth and function: the longest first. */
static uint32_t html_timeline_put_slices(
		struct html_timeline_writer *writer, const struct html_slice *slices)
{
	const struct html_timeline *timeline = writer->timeline;
	uint32_t count = 0;

	view_out_text(writer->out, ",\"slices\":[");
	for (uint32_t i = 0; i < timeline->nr_slices && count < writer->slices; i++) {
		const struct html_slice *slice = &slices[i];

		if (writer->shown[slice->thread] == KEYS_NONE)
			continue;
		if (count++)
			view_out_text(writer->out, ",\n");
		view_out_unsigned(writer->out, writer->shown[slice->thread]);
		view_out_char(writer->out, ',');
		view_out_unsigned(writer->out, html_timeline_offset(timeline, slice->begin_ns));
		view_out_char(writer->out, ',');
		view_out_unsigned(writer->out, slice->duration_ns);
		view_out_char(writer->out, ',');
		view_out_unsigned(writer->out, slice->depth);
		view_out_char(writer->out, ',');
		view_out_unsigned(writer->out, slice->function);
	}
	view_out_char(writer->out, ']');
	return count;
}

static void html_timeline_put_losses(struct html_timeline_writer *writer)
{
	const struct html_timeline *timeline = writer->timeline;

	view_out_text(writer->out, ",\"losses\":[");
	for (uint32_t i = 0; i < timeline->nr_losses; i++) {
		const struct html_loss *loss = &timeline->losses[i];

		if (i)
			view_out_char(writer->out, ',');
		view_out_signed(writer->out,
				loss->process == HTML_PROCESS_OTHERS ? -1 : (int64_t)loss->process);
		view_out_char(writer->out, ',');
		view_out_unsigned(writer->out, html_timeline_offset(timeline, loss->begin_ns));
		view_out_char(writer->out, ',');
		view_out_unsigned(writer->out, html_timeline_offset(timeline, loss->end_ns));
		view_out_char(writer->out, ',');
		view_out_unsigned(writer->out, loss->count);
		view_out_text(writer->out, loss->is_packets ? ",1" : ",0");
	}
	view_out_char(writer->out, ']');
}

static int html_thread_by_events(const void *one, const void *other, void *user)
{
	const struct html_timeline *timeline = user;
	const struct html_thread *left = &timeline->threads[*(const uint32_t *)one];
	const struct html_thread *right = &timeline->threads[*(const uint32_t *)other];

	if (left->events != right->events)
		return left->events > right->events ? -1 : 1;
	return *(const uint32_t *)one < *(const uint32_t *)other ? -1 : 1;
}

static int html_thread_by_process(const void *one, const void *other, void *user)
{
	const struct html_timeline *timeline = user;
	const struct html_thread *left = &timeline->threads[*(const uint32_t *)one];
	const struct html_thread *right = &timeline->threads[*(const uint32_t *)other];

	if (left->process != right->process)
		return left->process < right->process ? -1 : 1;
	if (left->id != right->id)
		return left->id < right->id ? -1 : 1;
	return (left->part > right->part) - (left->part < right->part);
}

static void html_timeline_merge(
		struct html_timeline_writer *writer, const struct html_thread *thread)
{
	struct html_thread *merged = &writer->merged;

	if (!thread->events)
		return;
	if (!merged->events || thread->first_ns < merged->first_ns)
		merged->first_ns = thread->first_ns;
	if (!merged->events || thread->last_ns > merged->last_ns)
		merged->last_ns = thread->last_ns;
	merged->events += thread->events;
	for (uint32_t i = 0; i < HTML_BINS; i++)
		merged->bins[i] += thread->bins[i];
}

/* Chooses the threads with the most events, and merges all others. 0 or -ENOMEM. */
static int html_timeline_choose(struct html_timeline_writer *writer)
{
	const struct html_timeline *timeline = writer->timeline;
	uint32_t count = timeline->thread_keys.count;
	void *user = (void *)(uintptr_t)timeline;

	writer->merged.process = HTML_PROCESS_OTHERS;
	writer->merged.id = -1;
	writer->merged.bins = calloc(HTML_BINS, sizeof(*writer->merged.bins));
	writer->order = calloc((size_t)count + 1, sizeof(*writer->order));
	writer->shown = calloc((size_t)count + 1, sizeof(*writer->shown));
	if (!writer->merged.bins || !writer->order || !writer->shown)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		writer->order[i] = i;
		writer->shown[i] = KEYS_NONE;
	}
	qsort_r(writer->order, count, sizeof(*writer->order), html_thread_by_events, user);
	writer->nr_shown = count < HTML_THREADS_SHOWN ? count : HTML_THREADS_SHOWN;
	for (uint32_t i = writer->nr_shown; i < count; i++)
		html_timeline_merge(writer, &timeline->threads[writer->order[i]]);
	html_timeline_merge(writer, &timeline->others);
	qsort_r(writer->order, writer->nr_shown, sizeof(*writer->order), html_thread_by_process,
			user);
	for (uint32_t i = 0; i < writer->nr_shown; i++)
		writer->shown[writer->order[i]] = i;
	writer->nr_merged = count - writer->nr_shown;
	return 0;
}

static int html_slice_longest_first(const void *one, const void *other)
{
	const struct html_slice *left = one, *right = other;

	return html_slice_is_less(left, right) - html_slice_is_less(right, left);
}

static void html_timeline_print_once(
		struct html_timeline_writer *writer, const struct html_slice *slices)
{
	const struct html_timeline *timeline = writer->timeline;
	char digits[64] = "";
	uint32_t count;

	/* As text: a number of JavaScript would be rounded. */
	if (timeline->started) {
		struct view_out begin = {.begin = digits, .at = digits, .end = digits + 63};

		view_out_signed(&begin, timeline->begin_ns);
		*begin.at = '\0';
	}
	view_out_text(writer->out, "\"begin_ns\":");
	view_json_quoted(writer->out, digits, strlen(digits));
	html_timeline_put_number(
			writer->out, "width_ns", UINT64_C(1) << (timeline->shift + writer->fold));
	html_timeline_put_number(writer->out, "bins", HTML_BINS >> writer->fold);
	html_timeline_put_number(writer->out, "merged_threads", writer->nr_merged);
	html_timeline_put_number(writer->out, "uncounted_threads", timeline->other_threads);
	html_timeline_put_threads(writer);
	count = html_timeline_put_slices(writer, slices);
	html_timeline_put_number(writer->out, "nr_slices", count);
	html_timeline_put_number(writer->out, "all_slices", timeline->all_slices);
	html_timeline_put_losses(writer);
}

/* Prints with less and less detail until it fits. */
static void html_timeline_print_fitting(struct html_timeline_writer *writer, size_t size_max,
		const struct html_slice *slices)
{
	size_t before = view_out_size(writer->out);

	for (;;) {
		html_timeline_print_once(writer, slices);
		if (writer->out->failed ||
				html_escaped_size(writer->out->begin + before,
						view_out_size(writer->out) - before) <= size_max)
			return;
		if (HTML_BINS >> writer->fold <= 16 && !writer->slices)
			return;
		writer->out->at = writer->out->begin + before;
		if (HTML_BINS >> writer->fold > 16)
			writer->fold++;
		writer->slices = writer->slices / 4 * 3;
	}
}

int html_timeline_print(const struct html_timeline *timeline, struct view_out *out, size_t size_max,
		html_process_name *process_name, const void *user)
{
	struct html_timeline_writer writer = {.timeline = timeline,
			.out = out,
			.process_name = process_name,
			.user = user,
			.slices = HTML_SLICES_MAX};
	struct html_slice *slices = malloc((timeline->nr_slices + 1) * sizeof(*slices));
	int ret = slices ? html_timeline_choose(&writer) : -ENOMEM;

	if (!ret) {
		if (timeline->nr_slices)
			memcpy(slices, timeline->slices, timeline->nr_slices * sizeof(*slices));
		qsort(slices, timeline->nr_slices, sizeof(*slices), html_slice_longest_first);
		html_timeline_print_fitting(&writer, size_max, slices);
		ret = out->failed ? -ENOMEM : 0;
	}
	free(slices);
	free(writer.order);
	free(writer.shown);
	free(writer.merged.bins);
	return ret;
}
