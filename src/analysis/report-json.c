/* SPDX-License-Identifier: MIT */
/* The report as JSON: docs/spec/report-json.md. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report.h"

struct report_json_writer {
	const struct report *report;
	struct view_out out;
};

static void report_json_add_text(
		struct report_json_writer *json, const char *name, const char *text)
{
	view_out_format(&json->out, ",\"%s\":", name);
	view_json_quoted(&json->out, text, strlen(text));
}

static void report_json_add_number(
		struct report_json_writer *json, const char *name, uint64_t number)
{
	view_out_format(&json->out, ",\"%s\":%" PRIu64, name, number);
}

static void put_real(struct report_json_writer *json, const char *name, double number)
{
	struct visit_value value = {.kind = VISIT_FLOAT, .size = 8, .bits = 64};
	char digits[VISIT_FLOAT_DIGITS_MAX];

	memcpy(value.bytes, &number, sizeof(number));
	view_real_digits(&value, digits);
	if (isfinite(number))
		view_out_format(&json->out, ",\"%s\":%s", name, digits);
	else
		view_out_format(&json->out, ",\"%s\":\"%s\"", name, digits);
}

/* Writes null if the first and the last event have the same time. */
static void put_rate(struct report_json_writer *json, uint64_t count)
{
	double rate = report_rate(json->report, count);

	if (rate < 0)
		view_out_format(&json->out, ",\"rate\":null");
	else
		put_real(json, "rate", rate);
}

static void report_json_add_time(struct report_json_writer *json, const char *name, int64_t ns)
{
	view_out_format(&json->out, ",\"%s_ns\":%" PRId64 ",\"%s_time\":\"", name, ns, name);
	walk_put_time(&json->out, ns, true);
	view_out_char(&json->out, '"');
}

static void report_json_begin_object(struct report_json_writer *json, const char *type)
{
	view_out_format(&json->out, "{\"schema\":%d,\"type\":\"%s\"", REPORT_JSON_SCHEMA, type);
}

static void report_json_end_object(struct report_json_writer *json)
{
	view_out_text(&json->out, "}\n");
}

static void report_json_add_process(struct report_json_writer *json, uint32_t number)
{
	const struct identity_process *process = &json->report->identity.processes[number];

	if (process->hostname)
		report_json_add_text(json, "hostname", process->hostname);
	if (process->name)
		report_json_add_text(json, "procname", process->name);
	if (process->pid >= 0)
		view_out_format(&json->out, ",\"vpid\":%" PRId64, process->pid);
}

static void put_group(struct report_json_writer *json, uint32_t group)
{
	if (json->report->by == BY_NOTHING)
		return;
	view_out_text(&json->out, ",\"by\":");
	report_group_json(json->report, group, &json->out);
}

/* ---- overview, processes, counts ---- */

static void report_json_print_overview(struct report_json_writer *json)
{
	const struct report *report = json->report;
	const struct timeline *timeline = &report->timeline;

	report_json_begin_object(json, "overview");
	report_json_add_text(json, "dir", report->walk.options.dir);
	report_json_add_number(json, "events", report->events);
	report_json_add_number(json, "processes", report_process_count(report));
	report_json_add_number(json, "traces", ctf_reader_trace_count(report->walk.reader));
	if (timeline->started) {
		report_json_add_time(json, "begin", report->first_ns);
		report_json_add_time(json, "end", report->last_ns);
		view_out_format(&json->out, ",\"duration_ns\":%" PRId64,
				report->last_ns - report->first_ns);
		put_rate(json, report->events);
		view_out_format(&json->out,
				",\"timeline\":{\"begin_ns\":%" PRId64 ",\"width_ns\":%" PRIu64
				",\"counts\":[",
				timeline->begin, UINT64_C(1) << timeline->shift);
		for (uint32_t i = 0; i < timeline->used; i++)
			view_out_format(&json->out, "%s%" PRIu64, i ? "," : "", timeline->bins[i]);
		view_out_format(&json->out, "]}");
	}
	report_json_add_number(json, "untimed", report->untimed);
	report_json_add_number(json, "lost", report_lost(report));
	report_json_add_number(json, "lost_packets", report->lost_packets);
	report_json_add_number(json, "lost_bytes", report->lost_bytes);
	view_out_format(&json->out, ",\"damaged\":%s", report->walk.damaged ? "true" : "false");
	report_json_end_object(json);
}

static void report_json_print_processes(struct report_json_writer *json)
{
	const struct report *report = json->report;

	for (uint32_t i = 0; i < report->identity.keys.count; i++) {
		struct report_process nothing = {0};
		const struct report_process *process =
				i < report->process_capacity ? &report->processes[i] : &nothing;

		if (!report_is_process(report, i))
			continue;
		report_json_begin_object(json, "process");
		report_json_add_process(json, i);
		report_json_add_number(json, "events", process->events);
		put_rate(json, process->events);
		report_json_add_number(json, "lost", report_process_lost(process));
		report_json_end_object(json);
	}
}

static uint32_t rows_shown(const struct report *report, uint32_t count)
{
	return report->options->rows && report->options->rows < count
			? (uint32_t)report->options->rows
			: count;
}

static int report_json_print_counts(struct report_json_writer *json)
{
	const struct report *report = json->report;
	uint32_t *order = report_row_order(report);

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < rows_shown(report, report->row_keys.count); i++) {
		const struct report_row *row = &report->rows[order[i]];

		report_json_begin_object(json, "count");
		report_json_add_text(json, "event",
				(const char *)report->names.entries[row->name].bytes);
		put_group(json, row->group);
		report_json_add_number(json, "count", row->count);
		put_rate(json, row->count);
		if (row->timed)
			view_out_format(&json->out, ",\"begin_ns\":%" PRId64 ",\"end_ns\":%" PRId64,
					row->first_ns, row->last_ns);
		report_json_end_object(json);
	}
	free(order);
	return 0;
}

/* ---- figures ---- */

static void report_json_add_int128(
		struct report_json_writer *json, const char *name, __int128 number)
{
	char digits[48];
	size_t at = sizeof(digits) - 1;
	unsigned __int128 remainder =
			number < 0 ? -(unsigned __int128)number : (unsigned __int128)number;

	digits[at] = '\0';
	do
		digits[--at] = (char)('0' + (int)(remainder % 10));
	while (remainder /= 10);
	if (number < 0)
		digits[--at] = '-';
	view_out_format(&json->out, ",\"%s\":%s", name, digits + at);
}

#define TWO_POWER_64 "18446744073709551616"

/* Writes the buckets that are not empty. A bucket does not include its end. */
static void put_buckets(struct report_json_writer *json, const struct stats *stats)
{
	uint64_t powers[STATS_POWERS];
	const char *comma = "";

	report_stats_powers(stats, powers);
	view_out_format(&json->out, ",\"buckets\":[");
	if (stats->negative) {
		view_out_format(&json->out, "{\"end\":0,\"count\":%" PRIu64 "}", stats->negative);
		comma = ",";
	}
	for (unsigned int i = 0; i < STATS_POWERS; i++) {
		if (!powers[i])
			continue;
		view_out_format(&json->out, "%s{\"begin\":%" PRIu64, comma,
				i ? UINT64_C(1) << (i - 1) : 0);
		if (i < 64)
			view_out_format(&json->out, ",\"end\":%" PRIu64, UINT64_C(1) << i);
		else
			view_out_format(&json->out, ",\"end\":" TWO_POWER_64);
		view_out_format(&json->out, ",\"count\":%" PRIu64 "}", powers[i]);
		comma = ",";
	}
	if (stats->above)
		view_out_format(&json->out, "%s{\"begin\":" TWO_POWER_64 ",\"count\":%" PRIu64 "}",
				comma, stats->above);
	view_out_format(&json->out, "]");
}

static void report_json_add_range(struct report_json_writer *json, const struct stats *stats)
{
	if (!stats->count)
		return;
	if (stats->real) {
		put_real(json, "min", stats->real_least);
		put_real(json, "max", stats->real_most);
	} else {
		report_json_add_int128(json, "min", stats->least);
		report_json_add_int128(json, "max", stats->most);
	}
	put_real(json, "mean", report_stats_mean(stats));
}

static int print_histograms(struct report_json_writer *json)
{
	const struct report *report = json->report;
	uint32_t count = report->histogram_keys.count;
	uint32_t *order = report_stats_order(report->histogram_stats, count);

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct report_stats *item = &report->histogram_stats[order[i]];
		const struct stats *stats = &item->stats;

		report_json_begin_object(json, "histogram");
		report_json_add_text(json, "value", report->histograms[item->which].text);
		put_group(json, item->group);
		report_json_add_number(json, "count", stats->count);
		report_json_add_range(json, stats);
		if (stats->infinite)
			report_json_add_number(json, "infinite", stats->infinite);
		if (stats->nan)
			report_json_add_number(json, "nan", stats->nan);
		put_buckets(json, stats);
		report_json_end_object(json);
	}
	free(order);
	return 0;
}

static void put_rule(struct report_json_writer *json, const struct pair_rule *rule)
{
	report_json_add_text(json, "begin", rule->begin_text);
	report_json_add_text(json, "end", rule->end_text);
}

static void report_json_print_durations(
		struct report_json_writer *json, const struct report_stats *item)
{
	static const struct {
		const char *name;
		uint32_t thousandths;
	} points[] = {{"p50_ns", 50000}, {"p90_ns", 90000}, {"p99_ns", 99000}, {"p99_9_ns", 99900}};
	const struct stats *stats = &item->stats;

	report_json_begin_object(json, "durations");
	put_rule(json, &json->report->pairs.rules[item->which]);
	put_group(json, item->group);
	report_json_add_number(json, "count", stats->count);
	report_json_add_int128(json, "min_ns", stats->least);
	put_real(json, "mean_ns", report_stats_mean(stats));
	for (unsigned int i = 0; i < 4; i++)
		report_json_add_number(json, points[i].name,
				report_stats_percentile(stats, points[i].thousandths));
	report_json_add_int128(json, "max_ns", stats->most);
	put_buckets(json, stats);
	report_json_end_object(json);
}

/* ---- the slowest ---- */

static void put_lines(struct report_json_writer *json, const struct report_around *around,
		uint32_t scope, uint64_t first, uint64_t last, const struct report_slow *slow,
		const char **comma)
{
	for (size_t i = report_around_find(around, scope, first); i < around->count &&
			around->lines[i].scope == scope && around->lines[i].number <= last;
			i++) {
		const struct report_line *line = &around->lines[i];

		view_out_format(&json->out, "%s{\"ns\":%" PRId64 ",\"offset_ns\":%" PRId64, *comma,
				line->ns, line->ns - slow->begin.ns);
		if (scope == slow->begin.scope && line->number == slow->begin.number)
			view_out_format(&json->out, ",\"mark\":\"begin\"");
		else if (scope == slow->end_scope && line->number == slow->end_number)
			view_out_format(&json->out, ",\"mark\":\"end\"");
		view_out_char(&json->out, ',');
		view_out_put(&json->out, line->text, strlen(line->text));
		view_out_char(&json->out, '}');
		*comma = ",";
	}
}

static void put_around(struct report_json_writer *json, const struct report_around *around,
		const struct report_slow *slow)
{
	uint64_t reach = json->report->options->around;
	uint64_t begin_first = slow->begin.number > reach ? slow->begin.number - reach : 1;
	uint64_t begin_last = slow->begin.number + reach;
	uint64_t end_first = slow->end_number > reach ? slow->end_number - reach : 1;
	const char *comma = "";

	if (slow->begin.scope == slow->end_scope && end_first <= begin_last)
		end_first = begin_last + 1;
	view_out_format(&json->out, ",\"around\":[");
	put_lines(json, around, slow->begin.scope, begin_first, begin_last, slow, &comma);
	put_lines(json, around, slow->end_scope, end_first, slow->end_number + reach, slow, &comma);
	view_out_format(&json->out, "]");
}

static void report_json_print_slow(struct report_json_writer *json, const struct pair_rule *rule,
		const struct report_slow *slow, uint32_t rank, const struct report_around *around)
{
	report_json_begin_object(json, "slow");
	put_rule(json, rule);
	report_json_add_number(json, "rank", rank);
	put_group(json, slow->begin.group);
	report_json_add_number(json, "duration_ns", slow->duration);
	report_json_add_time(json, "begin", slow->begin.ns);
	report_json_add_time(json, "end", slow->end_ns);
	report_json_add_process(json, slow->begin.process);
	if (slow->begin.thread >= 0)
		view_out_format(&json->out, ",\"thread\":%" PRId64, slow->begin.thread);
	if (slow->begin.cpu >= 0)
		view_out_format(&json->out, ",\"cpu\":%d", slow->begin.cpu);
	if (json->report->options->around)
		put_around(json, around, slow);
	report_json_end_object(json);
}

static int print_pairs(struct report_json_writer *json, const struct report_around *around)
{
	const struct report *report = json->report;
	uint32_t count = report->pair_keys.count;
	uint32_t *order = report_stats_order(report->pair_stats, count);

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		report_json_print_durations(json, &report->pair_stats[order[i]]);
	free(order);
	for (unsigned int i = 0; i < report->pairs.rule_count; i++) {
		const struct pair_rule *rule = &report->pairs.rules[i];
		const struct report_slowest *slowest = &report->slowest[i];

		report_json_begin_object(json, "pair");
		put_rule(json, rule);
		report_json_add_number(json, "unfinished", rule->unfinished);
		report_json_add_number(json, "not_begun", rule->unbegun);
		report_json_add_number(json, "not_followed", rule->not_kept);
		report_json_add_number(json, "without_key", rule->no_key);
		report_json_add_number(json, "without_thread", rule->no_thread);
		report_json_add_number(json, "across_loss", rule->across_loss);
		report_json_add_number(json, "backwards", rule->negative);
		report_json_end_object(json);
		for (uint32_t k = 0; k < slowest->count; k++)
			report_json_print_slow(json, rule, &slowest->items[k], k + 1, around);
	}
	return 0;
}

/* ---- callers, losses ---- */

static int report_json_print_callers(struct report_json_writer *json)
{
	const struct report *report = json->report;
	uint32_t count, *order = report_caller_order(report, &count);

	for (uint32_t i = 0; order && i < count; i++) {
		const struct report_caller *caller = &report->callers[order[i]];
		const struct symbol *symbol = address_symbol(report->symbols, &caller->address);

		report_json_begin_object(json, "caller");
		report_json_add_number(json, "address", caller->address.address);
		report_json_add_number(json, "count", caller->count);
		report_json_add_process(json, caller->process);
		if (symbol->module) {
			report_json_add_text(json, "module", symbol->module);
			report_json_add_number(json, "offset", symbol->offset);
		}
		if (symbol->function) {
			report_json_add_text(json, "function", symbol->function);
			report_json_add_number(json, "function_offset", symbol->inside);
		}
		if (symbol->file) {
			report_json_add_text(json, "file", symbol->file);
			report_json_add_number(json, "line", symbol->line);
		}
		trace_symbol_inlined_json(&json->out, symbol);
		report_json_end_object(json);
	}
	free(order);
	return order ? 0 : -ENOMEM;
}

static int report_json_print_losses(struct report_json_writer *json)
{
	const struct report *report = json->report;
	uint32_t count, *order = report_loss_order(report, &count);

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < rows_shown(report, count); i++) {
		const struct report_loss *loss = &report->loss_items[order[i]];

		report_json_begin_object(json, loss->packets ? "lost_packets" : "lost");
		report_json_add_process(json, loss->process);
		report_json_add_text(json, "ring", loss->ring);
		if (*loss->event)
			report_json_add_text(json, "event", loss->event);
		if (*loss->reason)
			report_json_add_text(json, "reason", loss->reason);
		report_json_add_number(json, "count", loss->count);
		if (loss->bytes)
			view_out_format(&json->out, ",\"in_bytes\":true");
		report_json_end_object(json);
	}
	free(order);
	return 0;
}

/* ---- calls ---- */

static void put_calls(struct report_json_writer *json, const struct calls_stats *stats)
{
	report_json_add_number(json, "calls", stats->calls);
	if (stats->timed) {
		report_json_add_number(json, "total_ns", stats->total_ns);
		report_json_add_number(json, "self_ns", stats->self_ns);
		report_json_add_number(json, "min_ns", stats->min_ns);
		put_real(json, "mean_ns", (double)stats->sum_ns / (double)stats->timed);
		report_json_add_number(json, "max_ns", stats->max_ns);
	}
	if (stats->unfinished)
		report_json_add_number(json, "unfinished", stats->unfinished);
	if (stats->lost)
		report_json_add_number(json, "lost_return", stats->lost);
	if (stats->timed + stats->lost < stats->calls)
		report_json_add_number(json, "untimed", stats->calls - stats->timed - stats->lost);
}

/* What only the answers about functions count. */
static void report_json_add_detail(
		struct report_json_writer *json, const struct calls_detail *detail)
{
	if (!detail)
		return;
	if (detail->durations.count) {
		report_json_add_number(
				json, "p50_ns", report_stats_percentile(&detail->durations, 50000));
		report_json_add_number(
				json, "p90_ns", report_stats_percentile(&detail->durations, 90000));
		report_json_add_number(
				json, "p99_ns", report_stats_percentile(&detail->durations, 99000));
	}
	if (detail->results)
		report_json_add_number(json, "errors", detail->errors);
	if (detail->measured_ns) {
		report_json_add_number(json, "measured_ns", detail->measured_ns);
		report_json_add_number(json, "off_cpu_ns", detail->off_cpu_ns);
	}
}

static int print_calls(struct report_json_writer *json, bool by_self)
{
	const struct report_calls *calls = &json->report->calls;
	uint32_t *order = by_self ? calls_self_order(calls) : calls_function_order(calls);
	uint32_t count = rows_shown(json->report, calls->functions.count);

	for (uint32_t i = 0; order && i < count; i++) {
		if (!calls->stats[order[i]].calls)
			continue;
		report_json_begin_object(json, "function");
		report_json_add_text(json, "function", calls_name(calls, order[i]));
		put_calls(json, &calls->stats[order[i]]);
		report_json_add_detail(json, calls->stats[order[i]].detail);
		report_json_end_object(json);
	}
	free(order);
	return order ? 0 : -ENOMEM;
}

static int print_tree(struct report_json_writer *json)
{
	const struct report_calls *calls = &json->report->calls;
	uint32_t *order = calls_branch_order(calls);
	uint32_t count = rows_shown(json->report, calls->branch_keys.count);

	for (uint32_t i = 0; order && i < count; i++) {
		const struct calls_branch *branch = &calls->branches[order[i]];

		report_json_begin_object(json, "branch");
		report_json_add_number(json, "depth", branch->depth);
		report_json_add_text(json, "function", calls_name(calls, branch->function));
		put_calls(json, &branch->stats);
		report_json_end_object(json);
	}
	free(order);
	return order ? 0 : -ENOMEM;
}

int report_print_json_functions(struct report *report, bool by_self, FILE *out)
{
	struct report_json_writer json = {.report = report};
	int ret = print_calls(&json, by_self);

	if (!ret)
		ret = report_json_print_losses(&json);
	return view_out_end(&json.out, out, ret);
}

int report_print_json(struct report *report, const struct report_around *around, FILE *out)
{
	struct report_json_writer json = {.report = report};
	int ret = 0;

	report_json_print_overview(&json);
	if (report->counts) {
		report_json_print_processes(&json);
		ret = report_json_print_counts(&json);
	}
	if (!ret && report->histogram_count)
		ret = print_histograms(&json);
	if (!ret && report->pairs.rule_count)
		ret = print_pairs(&json, around);
	if (!ret && report->options->calls)
		ret = print_calls(&json, false);
	if (!ret && report->options->tree)
		ret = print_tree(&json);
	if (!ret && report->options->callers)
		ret = report_json_print_callers(&json);
	if (!ret && report->losses)
		ret = report_json_print_losses(&json);
	return view_out_end(&json.out, out, ret);
}
