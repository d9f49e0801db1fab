/* SPDX-License-Identifier: MIT */
/* Counts the events of a growing trace for `side top`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "programs/common/message.h"
#include "analysis/report-walk.h"
#include "programs/side/watch/top-trace.h"
#include "ctf/ctf.h"

/*
 * The same delay as in `side view --follow`: the recorder has drained an event from all rings
 * within it.
 */
#define HOLD_NS INT64_C(1000000000)

/* The value of ctf_event_class.user. */
struct top_class {
	bool wanted;
	uint32_t row;
	struct view_event *view;
	struct pair_class pair;
	struct identity_class identity;
	struct event_stack_class stack;
};

static void top_trace_free_class(void *user)
{
	struct top_class *class = user;

	if (!class)
		return;
	pair_class_free(&class->pair);
	view_event_free(class->view);
	free(class);
}

int top_trace_create(struct top_trace *trace, const struct top_options *options)
{
	struct error error = {.code = 0};
	int status;

	*trace = (struct top_trace){
			.options = options, .from_ns = (int64_t)clock_realtime_ns() - HOLD_NS};
	trace->sink = (struct view_sink){.ops = &view_json_ops, .out = &trace->scratch};
	status = command_select(&options->patterns, &trace->patterns);
	if (!status)
		status = pairs_create(&trace->pairs, &options->pairs, options->key, false, &error)
				? message_library_error(&error)
				: COMMAND_DONE;
	trace->pairs.by_call = true;
	if (!status && top_callers_start(&trace->callers, options))
		status = message_error(COMMAND_FAILED, NULL, "out of memory");
	return status;
}

static void top_trace_close_reader(struct top_trace *trace)
{
	for (uint32_t t = 0; trace->reader && t < ctf_reader_trace_count(trace->reader); t++) {
		const struct ctf_trace *ctf = ctf_reader_trace(trace->reader, t);

		for (uint32_t i = 0; i < ctf_trace_event_count(ctf); i++) {
			top_trace_free_class(ctf_trace_event(ctf, i)->user);
			ctf_trace_event(ctf, i)->user = NULL;
		}
	}
	if (trace->reader)
		ctf_reader_close(trace->reader);
	trace->reader = NULL;
	top_callers_forget(&trace->callers);
}

void top_trace_free(struct top_trace *trace)
{
	top_trace_close_reader(trace);
	top_trace_reset(trace);
	pairs_free(&trace->pairs);
	identity_free(&trace->identity);
	keys_free(&trace->names);
	view_out_free(&trace->scratch);
	top_callers_free(&trace->callers);
	free(trace->events);
	free(trace->by_process);
	free(trace->patterns);
}

void top_trace_reset(struct top_trace *trace)
{
	for (unsigned int i = 0; i < trace->pairs.rule_count; i++) {
		report_stats_free(&trace->durations[i]);
		trace->durations[i] = (struct stats){0};
	}
	for (uint32_t i = 0; i < trace->names.count; i++)
		trace->events[i].count = 0;
	for (uint32_t i = 0; i < trace->process_capacity; i++)
		trace->by_process[i].count = 0;
	top_callers_reset(&trace->callers);
}

/* ---- counting ---- */

static int top_trace_make_row(struct top_trace *trace, const char *name, uint32_t *ret_row)
{
	uint32_t known = trace->names.count;

	if (known == trace->capacity) {
		uint32_t capacity = known ? known * 2 : 64;
		struct top_event *events = realloc(trace->events, capacity * sizeof(*events));

		if (!events)
			return -ENOMEM;
		trace->events = events;
		trace->capacity = capacity;
	}
	*ret_row = keys_add(&trace->names, name, strlen(name) + 1);
	if (*ret_row == KEYS_NONE)
		return -ENOMEM;
	if (*ret_row == known)
		trace->events[known] = (struct top_event){0};
	return 0;
}

/* Events of the recorder itself are no events of a program. */
static bool top_trace_is_program_event(const struct top_trace *trace, const struct ctf_item *item)
{
	if (item->trace->is_side && !strncmp(item->stream->name, "side_session", 12))
		return false;
	return !trace->options->patterns.count ||
			walk_pattern_wants(trace->patterns, trace->options->patterns.count,
					item->event->name, item->event->loglevel);
}

static struct top_class *top_trace_make_class(struct top_trace *trace, const struct ctf_item *item)
{
	struct top_class *class = calloc(1, sizeof(*class));

	if (!class)
		return NULL;
	item->event->user = class;
	class->wanted = top_trace_is_program_event(trace, item);
	if (class->wanted && top_trace_make_row(trace, item->event->name, &class->row))
		return NULL;
	if (!trace->pairs.rule_count && !trace->callers.most)
		return class;
	class->view = view_event_create(item->event, &trace->sink);
	if (!class->view || pair_class_make(&trace->pairs, &class->pair, item, class->view, NULL))
		return NULL;
	if (trace->callers.most && class->wanted)
		event_stack_bind(&class->stack, item, class->view);
	return class;
}

static int top_trace_pair_events(struct top_trace *trace, struct top_class *class,
		const struct ctf_item *item, uint32_t process)
{
	uint64_t rules = class->pair.begins | class->pair.ends;
	struct pair_open here = {.ns = item->ns, .process = process};
	struct pair_key key;
	int ret = 0;

	if (!rules)
		return 0;
	here.thread = identity_thread(&class->identity, item);
	key = pairs_key(&trace->pairs, &class->pair, item, here.process, here.thread);
	for (; rules && !ret; rules &= rules - 1) {
		unsigned int rule = (unsigned int)__builtin_ctzll(rules);
		struct pair_open begin;

		if (class->pair.ends >> rule & 1 && pairs_end(&trace->pairs, rule, &key, &begin))
			ret = report_stats_add(&trace->durations[rule],
					pair_duration(&trace->pairs.rules[rule], begin.ns,
							item->ns));
		if (!ret && class->pair.begins >> rule & 1)
			ret = pairs_begin(&trace->pairs, rule, &key, &here);
	}
	return ret;
}

static void top_trace_count_event(struct top_event *event, bool now)
{
	event->all++;
	event->count += now;
}

static int top_trace_make_process(struct top_trace *trace, uint32_t process)
{
	uint32_t capacity = process < 8 ? 16 : process * 2;
	struct top_event *grown;

	if (process < trace->process_capacity)
		return 0;
	grown = realloc(trace->by_process, capacity * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + trace->process_capacity, 0,
			(capacity - trace->process_capacity) * sizeof(*grown));
	trace->by_process = grown;
	trace->process_capacity = capacity;
	return 0;
}

static int top_trace_add_item(struct top_trace *trace, const struct ctf_item *item)
{
	bool now = item->ns >= trace->from_ns;
	struct top_class *class;
	uint32_t process;

	if (item->kind != CTF_ITEM_EVENT || !item->timed)
		return 0;
	class = item->event->user;
	if (!class)
		class = top_trace_make_class(trace, item);
	if (!class)
		return -ENOMEM;
	process = identity_process(&trace->identity, &class->identity, item);
	if (process == KEYS_NONE || top_trace_make_process(trace, process))
		return -ENOMEM;
	if (class->wanted) {
		top_trace_count_event(&trace->events[class->row], now);
		top_trace_count_event(&trace->by_process[process], now);
		top_callers_count(&trace->callers, &class->stack, item, process, now);
	}
	if (top_callers_add_code(&trace->callers, item))
		return -ENOMEM;
	return top_trace_pair_events(trace, class, item, process);
}

/* ---- reading ---- */

static int top_trace_open_reader(struct top_trace *trace, const char *directory)
{
	struct error error;

	if (trace->reader && !strcmp(trace->directory, directory))
		return 0;
	top_trace_close_reader(trace);
	if (!*directory || strlen(directory) >= sizeof(trace->directory) ||
			ctf_reader_open_growing(directory, &trace->reader, &error)) {
		trace->reader = NULL;
		return 0; /* Nothing has been written yet. */
	}
	strcpy(trace->directory, directory);
	ctf_reader_follow(trace->reader, top_trace_free_class);
	return 0;
}

int top_trace_read(struct top_trace *trace, const char *directory, int64_t until)
{
	struct ctf_item item;
	bool recording;
	int ret = top_trace_open_reader(trace, directory);

	if (ret || !trace->reader)
		return ret;
	ret = ctf_reader_refresh(trace->reader, &recording);
	while (!ret) {
		ret = ctf_reader_next_until(trace->reader, until, &item);
		if (ret <= 0)
			break;
		ret = top_trace_add_item(trace, &item);
	}
	if (ret >= 0)
		ret = top_callers_read_maps(&trace->callers, trace->reader);
	return ret == -ENOMEM ? ret : 0;
}

/* ---- the order ---- */

static int top_trace_compare_rows(const void *one, const void *other, void *user)
{
	const struct top_trace *trace = user;
	uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;

	if (trace->events[a].count != trace->events[b].count)
		return trace->events[a].count > trace->events[b].count ? -1 : 1;
	if (trace->events[a].all != trace->events[b].all)
		return trace->events[a].all > trace->events[b].all ? -1 : 1;
	return strcmp(top_trace_name(trace, a), top_trace_name(trace, b));
}

uint32_t *top_trace_order(const struct top_trace *trace)
{
	uint32_t count = trace->names.count, *order = malloc(((size_t)count + 1) * sizeof(*order));

	for (uint32_t i = 0; order && i < count; i++)
		order[i] = i;
	if (order && count)
		qsort_r(order, count, sizeof(*order), top_trace_compare_rows,
				(void *)(uintptr_t)trace);
	return order;
}

struct top_event top_trace_process(const struct top_trace *trace, const char *name, uint64_t pid)
{
	struct top_event sum = {0};

	for (uint32_t i = 0; i < trace->identity.keys.count && i < trace->process_capacity; i++) {
		const struct identity_process *process = &trace->identity.processes[i];

		if (process->pid < 0 || (uint64_t)process->pid != pid ||
				(process->name && strcmp(process->name, name) != 0))
			continue;
		sum.count += trace->by_process[i].count;
		sum.all += trace->by_process[i].all;
	}
	return sum;
}

const char *top_trace_name(const struct top_trace *trace, uint32_t event)
{
	return (const char *)trace->names.entries[event].bytes;
}
