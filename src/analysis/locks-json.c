/* SPDX-License-Identifier: MIT */
/* The answer about locks as JSON: docs/spec/report-json.md. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/locks-state.h"
#include "analysis/view-sink.h"

struct locks_json {
	struct locks *locks;
	struct view_out out;
};

static void locks_json_begin(struct locks_json *json, const char *type)
{
	view_out_format(&json->out, "{\"schema\":%d,\"type\":\"%s\"", LOCKS_JSON_SCHEMA, type);
}

static void locks_json_number(struct locks_json *json, const char *name, uint64_t number)
{
	view_out_format(&json->out, ",\"%s\":%" PRIu64, name, number);
}

static void locks_json_text(struct locks_json *json, const char *name, const char *text)
{
	view_out_format(&json->out, ",\"%s\":", name);
	view_json_quoted(&json->out, text, strlen(text));
}

static void locks_json_time(struct locks_json *json, const char *name, int64_t ns)
{
	view_out_format(&json->out, ",\"%s_ns\":%" PRId64 ",\"%s_time\":\"", name, ns, name);
	walk_put_time(&json->out, ns, true);
	view_out_char(&json->out, '"');
}

static void locks_json_process(struct locks_json *json, uint32_t number)
{
	const struct identity_process *process = &json->locks->identity.processes[number];

	if (process->hostname)
		locks_json_text(json, "hostname", process->hostname);
	if (process->name)
		locks_json_text(json, "procname", process->name);
	if (process->pid >= 0)
		view_out_format(&json->out, ",\"vpid\":%" PRId64, process->pid);
}

/* A list of frames, the innermost first. `named` is a number of stacks_named(). */
static void locks_json_stack(struct locks_json *json, const char *name, uint32_t named)
{
	if (named == STACK_NONE)
		return;
	view_out_format(&json->out, ",\"%s\":", name);
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
		locks_json_number(json, "total_ns", (uint64_t)stats->sum);
		locks_json_number(json, "min_ns", (uint64_t)stats->least);
		for (unsigned int i = 0; i < sizeof(percentiles) / sizeof(*percentiles); i++)
			locks_json_number(json, percentiles[i].name,
					report_stats_percentile(stats, percentiles[i].thousandths));
		locks_json_number(json, "max_ns", (uint64_t)stats->most);
	}
	view_out_format(&json->out, "}");
}

/* ---- objects ---- */

static void locks_json_overview(struct locks_json *json)
{
	const struct locks *locks = json->locks;

	locks_json_begin(json, "locks");
	locks_json_text(json, "dir", locks->walk.options.dir);
	locks_json_number(json, "events", locks->events);
	locks_json_number(json, "threads", locks->thread_keys.count);
	if (locks->events) {
		locks_json_time(json, "begin", locks->first_ns);
		locks_json_time(json, "end", locks_end_ns(locks));
	}
	locks_json_number(json, "deadlocks", locks->nr_deadlocks);
	locks_json_number(json, "uncertain_deadlocks", locks->uncertain_deadlocks);
	locks_json_number(json, "lost", locks->lost);
	locks_json_number(json, "lost_packets", locks->lost_packets);
	locks_json_number(json, "without_thread", locks->without_thread);
	locks_json_number(json, "not_followed", locks->not_followed);
	locks_json_number(json, "unknown_ends", locks->unknown_ends);
	locks_json_number(json, "contradictory", locks->contradictory);
	view_out_format(&json->out, ",\"damaged\":%s", locks->walk.damaged ? "true" : "false");
	view_out_format(&json->out, "}\n");
}

static void locks_json_lock(struct locks_json *json, const struct locks_row *row)
{
	const struct symbol *variable = locks_variable(json->locks, row);

	locks_json_text(json, "kind", locks_kind_name(row->kind));
	if (variable)
		locks_json_text(json, "name", variable->function);
	if (variable && variable->inside)
		locks_json_number(json, "name_offset", variable->inside);
	if (row->is_shared)
		locks_json_number(json, "locks", row->nr_locks);
	else
		locks_json_number(json, "address", row->address);
	locks_json_raw_stack(json, row->is_initialised ? "initialized" : "first_used", row->place);
}

static void locks_json_pairs(struct locks_json *json, uint32_t row, const uint32_t *pairs)
{
	const struct locks *locks = json->locks;
	uint32_t count, first = locks_pairs_of(locks, pairs, row, &count);

	view_out_format(&json->out, ",\"stacks\":[");
	for (uint32_t i = 0; i < count; i++) {
		const struct locks_pair *pair = &locks->pairs[pairs[first + i]];

		view_out_format(&json->out, "%s{\"count\":%" PRIu64, i ? "," : "", pair->count);
		locks_json_number(json, "total_ns", pair->ns);
		locks_json_number(json, "max_ns", pair->max_ns);
		locks_json_stack(json, "waiter", pair->waiter);
		locks_json_stack(json, locks_has_owner(locks->rows[row].kind) ? "holder" : "waker",
				pair->holder);
		view_out_format(&json->out, "}");
	}
	view_out_format(&json->out, "]");
}

static void locks_json_row(struct locks_json *json, uint32_t number, const uint32_t *pairs)
{
	const struct locks_row *row = &json->locks->rows[number];

	locks_json_begin(json, "lock");
	locks_json_lock(json, row);
	locks_json_process(json, row->process);
	locks_json_number(json, "waited_ns", row->waited_ns);
	locks_json_number(json, "attempts", row->attempts);
	locks_json_number(json, "attempts_ns", row->attempt_ns);
	locks_json_number(json, "contended", row->contended);
	locks_json_number(json, "busy", row->busy);
	locks_json_number(json, "timeouts", row->timeouts);
	locks_json_number(json, "errors", row->errors);
	locks_json_number(json, "unexplained", row->unexplained);
	locks_json_number(json, "unexplained_ns", row->unexplained_ns);
	locks_json_number(json, "uncertain", row->uncertain);
	locks_json_stats(json, "wait", &row->wait);
	if (locks_has_owner(row->kind))
		locks_json_stats(json, "hold", &row->hold);
	locks_json_pairs(json, number, pairs);
	view_out_format(&json->out, "}\n");
}

static void locks_json_thread(
		struct locks_json *json, const char *name, const struct locks_thread *thread)
{
	/* Without the context vtid, the number is that of a thread among the probes. */
	view_out_format(&json->out, ",\"%s\":%" PRId64, name, thread->id & INT64_C(0xffffffff));
	if (*thread->name)
		locks_json_text(json, strcmp(name, "holder") ? "thread_name" : "holder_name",
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
	locks_json_time(json, "since", pending->ns);
	locks_json_raw_stack(json, "waiter_stack", pending->stack);
	locks_json_thread(json, "holder", &locks->threads[hold->thread]);
	locks_json_time(json, "held_since", hold->ns);
	locks_json_raw_stack(json, "holder_stack", hold->stack);
	view_out_format(&json->out, "}");
}

static void locks_json_deadlock(struct locks_json *json, const struct locks_deadlock *deadlock)
{
	const struct locks_edge *edges = &json->locks->edges[deadlock->first];

	locks_json_begin(json, "deadlock");
	locks_json_process(json, json->locks->threads[edges->thread].process);
	view_out_format(&json->out, ",\"threads\":[");
	for (uint32_t i = 0; i < deadlock->count; i++) {
		if (i)
			view_out_format(&json->out, ",");
		locks_json_edge(json, &edges[i]);
	}
	view_out_format(&json->out, "]}\n");
}

static void locks_json_waiting(struct locks_json *json, const struct locks_thread *thread)
{
	const struct locks_pending *pending = &thread->pending[thread->depth - 1];

	locks_json_begin(json, "waiting");
	locks_json_process(json, thread->process);
	locks_json_thread(json, "thread", thread);
	locks_json_text(json, "call", pending->operation->function);
	locks_json_number(json, "address", pending->address);
	locks_json_time(json, "since", pending->ns);
	locks_json_raw_stack(json, "waiter_stack", pending->stack);
	view_out_format(&json->out, "}\n");
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
