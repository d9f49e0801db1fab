/* SPDX-License-Identifier: MIT */
/* The events of a trace as lines that are found by their numbers. */
#include "analysis/explore-events.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define EXPLORE_INTERVAL 1024
#define EXPLORE_AROUND 128          /* events before and after a line that are kept as well */
#define EXPLORE_STOP_INTERVAL 4096u /* a power of two */

/* ---- marks ---- */

static void explore_events_halve(struct explore_events *events)
{
	for (uint32_t i = 0; 2 * i < events->nr_marks; i++)
		events->marks[i] = events->marks[2 * i];
	events->nr_marks = (events->nr_marks + 1) / 2;
	events->interval *= 2;
}

static void explore_events_mark(struct explore_events *events, int64_t ns)
{
	const struct explore_mark *last =
			events->nr_marks ? &events->marks[events->nr_marks - 1] : NULL;

	if (!events->marks) {
		events->interval = EXPLORE_INTERVAL;
		events->marks = calloc(EXPLORE_MARKS_MAX, sizeof(*events->marks));
		events->no_memory = !events->marks;
	}
	if (!events->marks || events->nr_events - (last ? last->number : 0) < events->interval)
		return;
	if (events->nr_marks == EXPLORE_MARKS_MAX)
		explore_events_halve(events);
	events->marks[events->nr_marks++] = (struct explore_mark){ns, events->nr_events};
}

void explore_events_add(struct explore_events *events, const struct ctf_item *item)
{
	if (!item->timed || (events->nr_events && item->ns < events->last_ns))
		events->unordered = true;
	/* A walk from a time begins with the first event of that time: only this gets a mark. */
	if (!events->unordered && events->nr_events && item->ns > events->last_ns)
		explore_events_mark(events, item->ns);
	events->last_ns = item->timed ? item->ns : events->last_ns;
	events->nr_events++;
}

/* The last mark at or before the event, or the begin of the trace. */
static struct explore_mark explore_events_mark_before(
		const struct explore_events *events, uint64_t number)
{
	struct explore_mark found = {INT64_MIN, 0};
	uint32_t low = 0, high = events->unordered ? 0 : events->nr_marks;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (events->marks[middle].number <= number) {
			found = events->marks[middle];
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return found;
}

/* ---- reading again ---- */

static void explore_events_close(struct explore_events *events)
{
	if (events->is_open)
		walk_close(&events->walk);
	events->is_open = false;
}

/* Continues the current walk if that is shorter than a walk from the nearest mark. */
static bool explore_events_seek(struct explore_events *events, uint64_t number)
{
	struct explore_mark mark = explore_events_mark_before(events, number);
	struct error error = {.code = 0};

	if (events->is_open && events->next <= number && events->next >= mark.number)
		return true;
	explore_events_close(events);
	events->is_open = true;
	events->next = mark.number;
	if (walk_open_again(&events->walk, events->first, &error)) {
		explore_events_close(events);
		return false;
	}
	events->walk.sink.ops = &view_text_ops;
	if (mark.ns > events->walk.from_ns) {
		events->walk.from_ns = mark.ns;
		ctf_reader_set_times(events->walk.reader, mark.ns, events->walk.to_ns);
	}
	return true;
}

/* Returns the class of the next event, or NULL at the end. */
static struct walk_class *explore_events_read(
		struct explore_events *events, struct ctf_item *ret_item)
{
	struct walk_class *class;

	while (walk_next(&events->walk, ret_item, &class) > 0) {
		if (!class || class->lost)
			continue;
		events->next++;
		return class;
	}
	explore_events_close(events);
	return NULL;
}

/* Returns the text, which the caller frees; NULL: out of memory. */
static char *explore_events_text(const struct ctf_item *item, const struct walk_class *class)
{
	struct view_out out = {.begin = NULL};

	if (item->timed)
		walk_put_time(&out, item->ns, false);
	else
		view_out_text(&out, "no time");
	view_out_text(&out, "  ");
	view_out_put(&out, item->event->name, strlen(item->event->name));
	if (item->stream->cpu >= 0) {
		view_out_text(&out, "  cpu");
		view_out_signed(&out, item->stream->cpu);
	}
	view_out_text(&out, "  ");
	walk_text_values(&out, class, item, false);
	view_out_char(&out, '\0');
	if (out.failed) {
		view_out_free(&out);
		return NULL;
	}
	if (view_out_size(&out) > EXPLORE_LINE_MAX)
		out.begin[EXPLORE_LINE_MAX - 1] = '\0';
	return out.begin;
}

static struct explore_line *explore_events_slot(struct explore_events *events, uint64_t number)
{
	return &events->lines[number % EXPLORE_LINES_MAX];
}

const char *explore_events_line(struct explore_events *events, uint64_t number)
{
	struct explore_line *line = explore_events_slot(events, number);
	uint64_t begin = number > EXPLORE_AROUND ? number - EXPLORE_AROUND : 0;
	struct walk_class *class;
	struct ctf_item item;

	if (line->text && line->number == number)
		return line->text;
	/* The screen moves down more often than up. */
	if (events->is_open && events->next <= number && number - events->next < EXPLORE_AROUND)
		begin = events->next;
	if (number >= events->nr_events || !explore_events_seek(events, begin))
		return NULL;
	while (events->next <= number + EXPLORE_AROUND &&
			(class = explore_events_read(events, &item))) {
		struct explore_line *kept = explore_events_slot(events, events->next - 1);

		if (events->next - 1 < begin)
			continue;
		free(kept->text);
		*kept = (struct explore_line){events->next - 1, explore_events_text(&item, class)};
	}
	return line->text && line->number == number ? line->text : NULL;
}

/* ---- search ---- */

struct explore_search {
	const char *text;
	bool (*stops)(void *user);
	void *user;
	bool is_stopped;
};

/* Searches the events from `begin` to the one before `end`. */
static bool explore_events_search(struct explore_events *events, struct explore_search *search,
		uint64_t begin, uint64_t end, uint64_t *ret_number)
{
	struct walk_class *class;
	struct ctf_item item;
	bool found = false;

	if (begin >= end || !explore_events_seek(events, begin))
		return false;
	while (!found && events->next < end && (class = explore_events_read(events, &item))) {
		char *text;

		if (events->next - 1 < begin)
			continue;
		if (events->next % EXPLORE_STOP_INTERVAL == 0 && search->stops(search->user)) {
			search->is_stopped = true;
			break;
		}
		text = explore_events_text(&item, class);
		found = text && strcasestr(text, search->text);
		*ret_number = events->next - 1;
		free(text);
	}
	return found;
}

bool explore_events_find(struct explore_events *events, uint64_t number, const char *text,
		bool (*stops)(void *user), void *user, uint64_t *ret_number)
{
	struct explore_search search = {.text = text, .stops = stops, .user = user};
	uint64_t count = events->nr_events;

	if (explore_events_search(events, &search, number, count, ret_number))
		return true;
	return !search.is_stopped &&
			explore_events_search(events, &search, 0, number < count ? number : count,
					ret_number);
}

void explore_events_free(struct explore_events *events)
{
	explore_events_close(events);
	for (uint32_t i = 0; i < EXPLORE_LINES_MAX; i++)
		free(events->lines[i].text);
	free(events->marks);
}
