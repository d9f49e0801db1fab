/* SPDX-License-Identifier: MIT */
/* The report as JSON: docs/spec/report-json.md. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/json-line.h"
#include "analysis/report.h"

struct report_json_writer {
	const struct report *report;
	struct view_out out;
};

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

static void put_group(struct report_json_writer *json, uint32_t group)
{
	if (json->report->by == BY_NOTHING)
		return;
	json_line_member(&json->out, "by");
	report_group_json(json->report, group, &json->out);
}

/* ---- overview, processes, counts ---- */

static void report_json_print_overview(struct report_json_writer *json)
{
	const struct report *report = json->report;
	const struct timeline *timeline = &report->timeline;

	json_line_begin(&json->out, "overview");
	json_line_text(&json->out, "dir", report->walk.options.dir);
	json_line_number(&json->out, "events", report->events);
	json_line_number(&json->out, "processes", report_process_count(report));
	json_line_number(&json->out, "traces", ctf_reader_trace_count(report->walk.reader));
	if (timeline->started) {
		json_line_time(&json->out, "begin", report->first_ns);
		json_line_time(&json->out, "end", report->last_ns);
		json_line_signed(&json->out, "duration_ns", report->last_ns - report->first_ns);
		put_rate(json, report->events);
		view_out_format(&json->out,
				",\"timeline\":{\"begin_ns\":%" PRId64 ",\"width_ns\":%" PRIu64
				",\"counts\":[",
				timeline->begin, UINT64_C(1) << timeline->shift);
		for (uint32_t i = 0; i < timeline->used; i++)
			view_out_format(&json->out, "%s%" PRIu64, i ? "," : "", timeline->bins[i]);
		view_out_format(&json->out, "]}");
	}
	json_line_number(&json->out, "untimed", report->untimed);
	json_line_number(&json->out, "lost", report_lost(report));
	json_line_number(&json->out, "lost_packets", report->lost_packets);
	json_line_number(&json->out, "lost_bytes", report->lost_bytes);
	json_line_bool(&json->out, "damaged", report->walk.damaged);
	json_line_end(&json->out);
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
		json_line_begin(&json->out, "process");
		json_line_process(&json->out, &json->report->identity, i);
		json_line_number(&json->out, "events", process->events);
		put_rate(json, process->events);
		json_line_number(&json->out, "lost", report_process_lost(process));
		json_line_end(&json->out);
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

		json_line_begin(&json->out, "count");
		json_line_text(&json->out, "event",
				(const char *)report->names.entries[row->name].bytes);
		put_group(json, row->group);
		json_line_number(&json->out, "count", row->count);
		put_rate(json, row->count);
		if (row->timed)
			json_line_signed(&json->out, "begin_ns", row->first_ns);
		json_line_signed(&json->out, "end_ns", row->last_ns);
		json_line_end(&json->out);
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

		json_line_begin(&json->out, "histogram");
		json_line_text(&json->out, "value", report->histograms[item->which].text);
		put_group(json, item->group);
		json_line_number(&json->out, "count", stats->count);
		report_json_add_range(json, stats);
		if (stats->infinite)
			json_line_number(&json->out, "infinite", stats->infinite);
		if (stats->nan)
			json_line_number(&json->out, "nan", stats->nan);
		put_buckets(json, stats);
		json_line_end(&json->out);
	}
	free(order);
	return 0;
}

static void put_rule(struct report_json_writer *json, const struct pair_rule *rule)
{
	json_line_text(&json->out, "begin", rule->begin_text);
	json_line_text(&json->out, "end", rule->end_text);
}

static void report_json_print_durations(
		struct report_json_writer *json, const struct report_stats *item)
{
	static const struct {
		const char *name;
		uint32_t thousandths;
	} points[] = {{"p50_ns", 50000}, {"p90_ns", 90000}, {"p99_ns", 99000}, {"p99_9_ns", 99900}};
	const struct stats *stats = &item->stats;

	json_line_begin(&json->out, "durations");
	put_rule(json, &json->report->pairs.rules[item->which]);
	put_group(json, item->group);
	json_line_number(&json->out, "count", stats->count);
	report_json_add_int128(json, "min_ns", stats->least);
	put_real(json, "mean_ns", report_stats_mean(stats));
	for (unsigned int i = 0; i < 4; i++)
		json_line_number(&json->out, points[i].name,
				report_stats_percentile(stats, points[i].thousandths));
	report_json_add_int128(json, "max_ns", stats->most);
	put_buckets(json, stats);
	json_line_end(&json->out);
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
	json_line_begin(&json->out, "slow");
	put_rule(json, rule);
	json_line_number(&json->out, "rank", rank);
	put_group(json, slow->begin.group);
	json_line_number(&json->out, "duration_ns", slow->duration);
	json_line_time(&json->out, "begin", slow->begin.ns);
	json_line_time(&json->out, "end", slow->end_ns);
	json_line_process(&json->out, &json->report->identity, slow->begin.process);
	if (slow->begin.thread >= 0)
		json_line_signed(&json->out, "thread", slow->begin.thread);
	if (slow->begin.cpu >= 0)
		json_line_signed(&json->out, "cpu", slow->begin.cpu);
	if (json->report->options->around)
		put_around(json, around, slow);
	json_line_end(&json->out);
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

		json_line_begin(&json->out, "pair");
		put_rule(json, rule);
		json_line_number(&json->out, "unfinished", rule->unfinished);
		json_line_number(&json->out, "not_begun", rule->unbegun);
		json_line_number(&json->out, "not_followed", rule->not_kept);
		json_line_number(&json->out, "without_key", rule->no_key);
		json_line_number(&json->out, "without_thread", rule->no_thread);
		json_line_number(&json->out, "across_loss", rule->across_loss);
		json_line_number(&json->out, "backwards", rule->negative);
		json_line_end(&json->out);
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

		json_line_begin(&json->out, "caller");
		json_line_number(&json->out, "address", caller->address.address);
		json_line_number(&json->out, "count", caller->count);
		json_line_process(&json->out, &json->report->identity, caller->process);
		trace_symbol_json_members(&json->out, symbol, true);
		json_line_end(&json->out);
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

		json_line_begin(&json->out, loss->packets ? "lost_packets" : "lost");
		json_line_process(&json->out, &json->report->identity, loss->process);
		json_line_text(&json->out, "ring", loss->ring);
		if (*loss->event)
			json_line_text(&json->out, "event", loss->event);
		if (*loss->reason)
			json_line_text(&json->out, "reason", loss->reason);
		json_line_number(&json->out, "count", loss->count);
		if (loss->bytes)
			view_out_format(&json->out, ",\"in_bytes\":true");
		json_line_end(&json->out);
	}
	free(order);
	return 0;
}

/* ---- calls ---- */

static void put_calls(struct report_json_writer *json, const struct calls_stats *stats)
{
	uint64_t known = stats->timed + stats->unfinished + stats->lost;

	json_line_number(&json->out, "calls", stats->calls);
	if (stats->timed) {
		json_line_number(&json->out, "total_ns", stats->total_ns);
		json_line_number(&json->out, "self_ns", stats->self_ns);
		json_line_number(&json->out, "min_ns", stats->min_ns);
		put_real(json, "mean_ns", (double)stats->sum_ns / (double)stats->timed);
		json_line_number(&json->out, "max_ns", stats->max_ns);
	}
	if (stats->unfinished)
		json_line_number(&json->out, "unfinished", stats->unfinished);
	if (stats->lost)
		json_line_number(&json->out, "lost_return", stats->lost);
	if (known < stats->calls)
		json_line_number(&json->out, "untimed", stats->calls - known);
}

/* What only the answers about functions count. */
static void report_json_add_detail(
		struct report_json_writer *json, const struct calls_detail *detail)
{
	if (!detail)
		return;
	if (detail->durations.count) {
		json_line_number(&json->out, "p50_ns",
				report_stats_percentile(&detail->durations, 50000));
		json_line_number(&json->out, "p90_ns",
				report_stats_percentile(&detail->durations, 90000));
		json_line_number(&json->out, "p99_ns",
				report_stats_percentile(&detail->durations, 99000));
	}
	if (detail->results)
		json_line_number(&json->out, "errors", detail->errors);
	if (detail->measured_ns) {
		json_line_number(&json->out, "measured_ns", detail->measured_ns);
		json_line_number(&json->out, "off_cpu_ns", detail->off_cpu_ns);
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
		json_line_begin(&json->out, "function");
		json_line_text(&json->out, "function", calls_name(calls, order[i]));
		put_calls(json, &calls->stats[order[i]]);
		report_json_add_detail(json, calls->stats[order[i]].detail);
		json_line_end(&json->out);
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

		json_line_begin(&json->out, "branch");
		json_line_number(&json->out, "depth", branch->depth);
		json_line_text(&json->out, "function", calls_name(calls, branch->function));
		put_calls(json, &branch->stats);
		json_line_end(&json->out);
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
