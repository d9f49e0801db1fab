/* SPDX-License-Identifier: MIT */
/* The answer about locks as JSON: docs/spec/report-json.md. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/json-line.h"
#include "analysis/locks-state.h"

struct locks_json {
	struct locks *locks;
	struct view_out out;
};

/* A list of frames, the innermost first. `named` is a number of stacks_named(). */
static void locks_json_stack(struct locks_json *json, const char *name, uint32_t named)
{
	if (named == STACK_NONE)
		return;
	json_line_member(&json->out, name);
	stacks_print_json(&json->locks->stacks, named, &json->out);
}

static void locks_json_raw_stack(struct locks_json *json, const char *name, uint32_t stack)
{
	locks_json_stack(json, name, stacks_named(&json->locks->stacks, stack));
}

static void locks_json_stats(struct locks_json *json, const char *name, const struct stats *stats)
{
	static const struct {
		const char *name;
		uint32_t thousandths;
	} percentiles[] = {{"p50_ns", 50000}, {"p90_ns", 90000}, {"p99_ns", 99000}};

	view_out_format(&json->out, ",\"%s\":{\"count\":%" PRIu64, name, stats->count);
	if (stats->count) {
		json_line_number(&json->out, "total_ns", (uint64_t)stats->sum);
		json_line_number(&json->out, "min_ns", (uint64_t)stats->least);
		for (unsigned int i = 0; i < sizeof(percentiles) / sizeof(*percentiles); i++)
			json_line_number(&json->out, percentiles[i].name,
					report_stats_percentile(stats, percentiles[i].thousandths));
		json_line_number(&json->out, "max_ns", (uint64_t)stats->most);
	}
	view_out_char(&json->out, '}');
}

/* ---- objects ---- */

static void locks_json_overview(struct locks_json *json)
{
	const struct locks *locks = json->locks;

	json_line_begin(&json->out, "locks");
	json_line_text(&json->out, "dir", locks->walk.options.dir);
	json_line_number(&json->out, "events", locks->events);
	json_line_number(&json->out, "threads", locks->thread_keys.count);
	if (locks->events) {
		json_line_time(&json->out, "begin", locks->first_ns);
		json_line_time(&json->out, "end", locks_end_ns(locks));
	}
	json_line_number(&json->out, "deadlocks", locks->nr_deadlocks);
	json_line_number(&json->out, "uncertain_deadlocks", locks->uncertain_deadlocks);
	json_line_number(&json->out, "lost", locks->lost);
	json_line_number(&json->out, "lost_packets", locks->lost_packets);
	json_line_number(&json->out, "without_thread", locks->without_thread);
	json_line_number(&json->out, "not_followed", locks->not_followed);
	json_line_number(&json->out, "unknown_ends", locks->unknown_ends);
	json_line_number(&json->out, "contradictory", locks->contradictory);
	json_line_bool(&json->out, "damaged", locks->walk.damaged);
	json_line_end(&json->out);
}

static void locks_json_name(struct locks_json *json, const struct locks_row *row)
{
	const struct symbol *variable = locks_variable(json->locks, row);

	if (variable)
		json_line_text(&json->out, "name", variable->function);
	if (variable && variable->inside)
		json_line_number(&json->out, "name_offset", variable->inside);
}

static void locks_json_lock(struct locks_json *json, const struct locks_row *row)
{
	json_line_text(&json->out, "kind", locks_kind_name(row->kind));
	locks_json_name(json, row);
	if (row->is_shared)
		json_line_number(&json->out, "locks", row->nr_locks);
	else
		json_line_number(&json->out, "address", row->address);
	locks_json_raw_stack(json, row->is_initialised ? "initialized" : "first_used", row->place);
}

static void locks_json_pairs(struct locks_json *json, uint32_t row, const uint32_t *pairs)
{
	const struct locks *locks = json->locks;
	uint32_t count, first = locks_pairs_of(locks, pairs, row, &count);

	if (locks->options->stacks && locks->options->stacks < count)
		count = (uint32_t)locks->options->stacks;
	json_line_member(&json->out, "stacks");
	view_out_char(&json->out, '[');
	for (uint32_t i = 0; i < count; i++) {
		const struct locks_pair *pair = &locks->pairs[pairs[first + i]];

		view_out_format(&json->out, "%s{\"count\":%" PRIu64, i ? "," : "", pair->count);
		json_line_number(&json->out, "total_ns", pair->ns);
		json_line_number(&json->out, "max_ns", pair->max_ns);
		locks_json_stack(json, "waiter", pair->waiter);
		locks_json_stack(json, locks_has_owner(locks->rows[row].kind) ? "holder" : "waker",
				pair->holder);
		view_out_char(&json->out, '}');
	}
	view_out_char(&json->out, ']');
}

static void locks_json_row(struct locks_json *json, uint32_t number, const uint32_t *pairs)
{
	const struct locks_row *row = &json->locks->rows[number];

	json_line_begin(&json->out, "lock");
	locks_json_lock(json, row);
	json_line_process(&json->out, &json->locks->identity, row->process);
	json_line_number(&json->out, "waited_ns", row->waited_ns);
	json_line_number(&json->out, "open", row->open);
	json_line_number(&json->out, "open_ns", row->open_ns);
	json_line_number(&json->out, "attempts", row->attempts);
	json_line_number(&json->out, "attempts_ns", row->attempt_ns);
	json_line_number(&json->out, "contended", row->contended);
	json_line_number(&json->out, "busy", row->busy);
	json_line_number(&json->out, "timeouts", row->timeouts);
	json_line_number(&json->out, "errors", row->errors);
	json_line_number(&json->out, "unexplained", row->unexplained);
	json_line_number(&json->out, "unexplained_ns", row->unexplained_ns);
	json_line_number(&json->out, "uncertain", row->uncertain);
	locks_json_stats(json, "wait", &row->wait);
	if (locks_has_owner(row->kind))
		locks_json_stats(json, "hold", &row->hold);
	locks_json_pairs(json, number, pairs);
	json_line_end(&json->out);
}

static void locks_json_thread(
		struct locks_json *json, const char *name, const struct locks_thread *thread)
{
	/* Without the context vtid, the number is that of a thread among the probes. */
	json_line_signed(&json->out, name, thread->id & INT64_C(0xffffffff));
	if (*thread->name)
		json_line_text(&json->out, strcmp(name, "holder") ? "thread_name" : "holder_name",
				thread->name);
}

static void locks_json_edge(struct locks_json *json, const struct locks_edge *edge)
{
	const struct locks *locks = json->locks;
	const struct locks_hold *hold = &locks->holds[edge->hold];
	const struct locks_thread *thread = &locks->threads[edge->thread];
	const struct locks_pending *pending = &thread->pending[thread->depth - 1];

	view_out_format(&json->out, "{\"call\":\"%s\"", pending->operation->function);
	locks_json_thread(json, "thread", thread);
	locks_json_lock(json, &locks->rows[locks->all[hold->lock].row]);
	json_line_time(&json->out, "since", pending->ns);
	locks_json_raw_stack(json, "waiter_stack", pending->stack);
	locks_json_thread(json, "holder", &locks->threads[hold->thread]);
	json_line_time(&json->out, "held_since", hold->ns);
	locks_json_raw_stack(json, "holder_stack", hold->stack);
	view_out_char(&json->out, '}');
}

static void locks_json_deadlock(struct locks_json *json, const struct locks_deadlock *deadlock)
{
	const struct locks_edge *edges = &json->locks->edges[deadlock->first];

	json_line_begin(&json->out, "deadlock");
	json_line_process(&json->out, &json->locks->identity,
			json->locks->threads[edges->thread].process);
	json_line_member(&json->out, "threads");
	view_out_char(&json->out, '[');
	for (uint32_t i = 0; i < deadlock->count; i++) {
		if (i)
			view_out_char(&json->out, ',');
		locks_json_edge(json, &edges[i]);
	}
	view_out_char(&json->out, ']');
	json_line_end(&json->out);
}

static void locks_json_holder(struct locks_json *json, const struct locks_thread *thread)
{
	struct locks *locks = json->locks;
	uint32_t number = locks_obstacle_of(locks, thread, &thread->pending[thread->depth - 1]);
	const struct locks_hold *hold;

	if (number == LOCKS_NONE)
		return;
	hold = &locks->holds[number];
	locks_json_thread(json, "holder", &locks->threads[hold->thread]);
	json_line_bool(&json->out, "holder_ended",
			locks_has_ended(locks, hold->thread, hold->stack));
	json_line_time(&json->out, "held_since", hold->ns);
	locks_json_raw_stack(json, "holder_stack", hold->stack);
}

static void locks_json_waiting(struct locks_json *json, const struct locks_thread *thread)
{
	const struct locks_pending *pending = &thread->pending[thread->depth - 1];
	const struct locks_row *row = locks_awaited_row(json->locks, thread);

	json_line_begin(&json->out, "waiting");
	json_line_process(&json->out, &json->locks->identity, thread->process);
	locks_json_thread(json, "thread", thread);
	json_line_text(&json->out, "call", pending->operation->function);
	json_line_number(&json->out, "address", pending->address);
	if (row)
		locks_json_name(json, row);
	json_line_time(&json->out, "since", pending->ns);
	locks_json_raw_stack(json, "waiter_stack", pending->stack);
	locks_json_holder(json, thread);
	json_line_end(&json->out);
}

static int locks_json_rows(struct locks_json *json, bool has_owner, const uint32_t *pairs)
{
	uint32_t count, *order = locks_row_order(json->locks, has_owner, &count);

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		locks_json_row(json, order[i], pairs);
	free(order);
	return 0;
}

static int locks_json_print_waiting(struct locks_json *json)
{
	uint32_t count, *order = locks_waiting_order(json->locks, &count);

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		locks_json_waiting(json, &json->locks->threads[order[i]]);
	free(order);
	return 0;
}

int locks_print_json(struct locks *locks, FILE *out)
{
	struct locks_json json = {.locks = locks};
	uint32_t *pairs = locks_pair_order(locks);
	int ret = pairs ? 0 : -ENOMEM;

	locks_json_overview(&json);
	for (uint32_t i = 0; i < locks->nr_deadlocks; i++)
		locks_json_deadlock(&json, &locks->deadlocks[i]);
	if (!ret)
		ret = locks_json_rows(&json, true, pairs);
	if (!ret)
		ret = locks_json_rows(&json, false, pairs);
	if (!ret)
		ret = locks_json_print_waiting(&json);
	free(pairs);
	return view_out_end(&json.out, out, ret);
}
