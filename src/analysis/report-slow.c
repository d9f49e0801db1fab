/* SPDX-License-Identifier: MIT */
/*
 * The slowest pairs, and the events around them.
 *
 * The first walk keeps the slowest pairs in a heap, with the numbers of their begin and end among
 * the events of their thread. So the second walk knows which events to keep.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report.h"
#include "base/inside/search.h"

/* ---- the heap ---- */

static bool is_faster(const struct report_slow *one, const struct report_slow *other)
{
	if (one->duration != other->duration)
		return one->duration < other->duration;
	return one->order > other->order;
}

static void report_slow_sift_down(struct report_slowest *slowest, uint32_t at)
{
	struct report_slow moved = slowest->items[at];

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= slowest->count)
			break;
		if (child + 1 < slowest->count &&
				is_faster(&slowest->items[child + 1], &slowest->items[child]))
			child++;
		if (!is_faster(&slowest->items[child], &moved))
			break;
		slowest->items[at] = slowest->items[child];
		at = child;
	}
	slowest->items[at] = moved;
}

int report_slow_add(struct report *report, unsigned int rule, const struct report_slow *slow)
{
	uint32_t limit = (uint32_t)report->options->slowest, at;
	struct report_slowest *slowest = &report->slowest[rule];

	if (!limit)
		return 0;
	if (!slowest->items) {
		slowest->items = calloc(limit, sizeof(*slowest->items));
		if (!slowest->items)
			return -ENOMEM;
	}
	if (slowest->count == limit) {
		if (!is_faster(&slowest->items[0], slow))
			return 0;
		slowest->items[0] = *slow;
		report_slow_sift_down(slowest, 0);
		return 0;
	}
	at = slowest->count++;
	while (at && is_faster(slow, &slowest->items[(at - 1) / 2])) {
		slowest->items[at] = slowest->items[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	slowest->items[at] = *slow;
	return 0;
}

static int slowest_first(const void *one, const void *other)
{
	return is_faster(one, other) ? 1 : is_faster(other, one) ? -1 : 0;
}

void report_slow_sort(struct report_slowest *slowest)
{
	if (slowest->count)
		qsort(slowest->items, slowest->count, sizeof(*slowest->items), slowest_first);
}

/* ---- the second reading ---- */

/* Events of one thread, from the first to the last of these numbers. */
struct slow_event_range {
	uint32_t scope;
	uint64_t first, last;
};

struct wanted_list {
	struct slow_event_range *items;
	size_t count;
};

static int by_scope_and_number(const void *one, const void *other)
{
	const struct slow_event_range *left = one, *right = other;

	if (left->scope != right->scope)
		return left->scope < right->scope ? -1 : 1;
	return left->first < right->first ? -1 : left->first > right->first;
}

static void report_slow_add_request(
		struct wanted_list *list, uint32_t scope, uint64_t number, uint64_t around)
{
	list->items[list->count++] = (struct slow_event_range){
			scope, number > around ? number - around : 1, number + around};
}

/* Sorts the runs and joins those that overlap. */
static int make_wanted(struct wanted_list *list, const struct report *report)
{
	size_t capacity = 1, kept = 0;

	for (unsigned int i = 0; i < report->pairs.rule_count; i++)
		capacity += (size_t)report->slowest[i].count * 2;
	list->items = calloc(capacity, sizeof(*list->items));
	if (!list->items)
		return -ENOMEM;
	for (unsigned int i = 0; i < report->pairs.rule_count; i++) {
		for (uint32_t k = 0; k < report->slowest[i].count; k++) {
			const struct report_slow *slow = &report->slowest[i].items[k];

			report_slow_add_request(list, slow->begin.scope, slow->begin.number,
					report->options->around);
			report_slow_add_request(list, slow->end_scope, slow->end_number,
					report->options->around);
		}
	}
	qsort(list->items, list->count, sizeof(*list->items), by_scope_and_number);
	for (size_t i = 0; i < list->count; i++) {
		struct slow_event_range *last = kept ? &list->items[kept - 1] : NULL;

		if (last && last->scope == list->items[i].scope &&
				list->items[i].first <= last->last + 1) {
			if (list->items[i].last > last->last)
				last->last = list->items[i].last;
		} else {
			list->items[kept++] = list->items[i];
		}
	}
	list->count = kept;
	return 0;
}

/* The state of a thread during the second walk. */
struct slow_thread_reader {
	uint64_t number; /* events so far */
	size_t next;     /* the first wanted run that has not ended */
};

struct again {
	struct report *report;
	struct report_around *around;
	struct wanted_list wanted;
	struct report_walk walk;
	struct identity identity;
	struct slow_thread_reader *scopes;
	size_t capacity;
	size_t line_capacity;
};

static void *report_slow_create_class(
		void *user, struct walk_class *class, const struct ctf_item *item)
{
	(void)user;
	(void)class;
	(void)item;
	return calloc(1, sizeof(struct identity_class));
}

static struct slow_thread_reader *reading_of(struct again *again, uint32_t scope)
{
	if (scope >= again->capacity) {
		size_t capacity = again->capacity ? again->capacity * 2 : 16;
		struct slow_thread_reader *grown =
				realloc(again->scopes, capacity * sizeof(*grown));

		if (!grown)
			return NULL;
		memset(grown + again->capacity, 0, (capacity - again->capacity) * sizeof(*grown));
		again->scopes = grown;
		again->capacity = capacity;
	}
	if (again->scopes[scope].number)
		return &again->scopes[scope];
	/* The first event of this thread. */
	again->scopes[scope].next = search_leading(
			i, again->wanted.count, again->wanted.items[i].scope < scope);
	return &again->scopes[scope];
}

static char *report_slow_format_line(const struct again *again, const struct walk_class *class,
		const struct ctf_item *item)
{
	const struct report *report = again->report;
	struct view_out out = {0};

	if (report->json) {
		view_out_text(&out, "\"event\":");
		view_json_quoted(&out, item->event->name, strlen(item->event->name));
		if (item->stream->cpu >= 0) {
			view_out_text(&out, ",\"cpu\":");
			view_out_signed(&out, item->stream->cpu);
		}
		view_out_char(&out, ',');
		walk_json_values(&out, class, item);
	} else {
		if (item->stream->cpu >= 0) {
			view_out_text(&out, "cpu");
			view_out_signed(&out, item->stream->cpu);
			view_out_char(&out, ' ');
		}
		view_text_plain(&out, item->event->name, strlen(item->event->name));
		view_out_text(&out, ": ");
		walk_text_values(&out, class, item, report->colour);
	}
	view_out_char(&out, '\0');
	if (out.failed)
		view_out_free(&out);
	return out.begin;
}

static int report_slow_store_event(struct again *again, const struct walk_class *class,
		const struct ctf_item *item, uint32_t scope, uint64_t number)
{
	struct report_around *around = again->around;
	struct report_line *line;

	if (around->count == again->line_capacity) {
		size_t capacity = again->line_capacity ? again->line_capacity * 2 : 64;
		struct report_line *grown = realloc(around->lines, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		around->lines = grown;
		again->line_capacity = capacity;
	}
	line = &around->lines[around->count];
	*line = (struct report_line){
			item->ns, number, scope, report_slow_format_line(again, class, item)};
	if (!line->text)
		return -ENOMEM;
	around->count++;
	return 0;
}

static int take_again(
		struct again *again, const struct walk_class *class, const struct ctf_item *item)
{
	struct identity_class *identity = class->user_data;
	uint32_t process = identity_process(&again->identity, identity, item);
	uint32_t scope = process == KEYS_NONE ? KEYS_NONE
					      : report_scope(&again->around->scopes, process,
								identity_thread(identity, item));
	struct slow_thread_reader *reading = scope == KEYS_NONE ? NULL : reading_of(again, scope);
	const struct slow_event_range *wanted;

	if (!reading)
		return -ENOMEM;
	reading->number++;
	for (;;) {
		if (reading->next >= again->wanted.count)
			return 0;
		wanted = &again->wanted.items[reading->next];
		if (wanted->scope != scope || reading->number < wanted->first)
			return 0;
		if (reading->number <= wanted->last)
			return report_slow_store_event(again, class, item, scope, reading->number);
		reading->next++;
	}
}

/*
 * Losses get numbers for processes, too. Processes must have the same numbers as in the first walk.
 */
static int take_any(
		struct again *again, const struct walk_class *class, const struct ctf_item *item)
{
	if (class && !class->lost)
		return take_again(again, class, item);
	return identity_of_trace(&again->identity, item->trace) == KEYS_NONE ? -ENOMEM : 0;
}

static int line_order(const void *one, const void *other)
{
	const struct report_line *left = one, *right = other;

	if (left->scope != right->scope)
		return left->scope < right->scope ? -1 : 1;
	return left->number < right->number ? -1 : left->number > right->number;
}

int report_around_read(struct report_around *around, struct report *report, struct error *error)
{
	struct again again = {.report = report, .around = around};
	struct walk_class *class;
	struct ctf_item item;
	int ret = make_wanted(&again.wanted, report);

	if (!ret)
		ret = walk_open_again(&again.walk, &report->walk, error);
	again.walk.sink.ops = report->json ? &view_json_ops
			: report->colour   ? &view_colour_ops
					   : &view_text_ops;
	again.walk.create_user_data = report_slow_create_class;
	again.walk.free_user_data = free;
	while (!ret && (ret = walk_next(&again.walk, &item, &class)) > 0)
		ret = take_any(&again, class, &item);
	walk_close(&again.walk);
	identity_free(&again.identity);
	free(again.scopes);
	free(again.wanted.items);
	if (around->count)
		qsort(around->lines, around->count, sizeof(*around->lines), line_order);
	return ret;
}

size_t report_around_find(const struct report_around *around, uint32_t scope, uint64_t number)
{
	const struct report_line *lines = around->lines;

	return search_leading(i, around->count,
			lines[i].scope < scope ||
					(lines[i].scope == scope && lines[i].number < number));
}

void report_around_free(struct report_around *around)
{
	for (size_t i = 0; i < around->count; i++)
		free(around->lines[i].text);
	free(around->lines);
	keys_free(&around->scopes);
}
