/* SPDX-License-Identifier: MIT */
/* The tables of functions of `side calls` and `side slow`, made of a report with details. */
#include "analysis/function-table.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/report-table.h"
#include "analysis/report-text.h"

typedef void function_table_row(struct report_table *table, const struct calls_stats *stats);

struct function_table_form {
	const struct table_column *columns;
	unsigned int nr_columns;
	function_table_row *row; /* all columns but the last, which is the name */
	bool by_self;
};

static const struct table_column function_table_calls_columns[] = {
		{"TOTAL", true, VIEW_COLOUR_NUMBER},
		{"CALLS", true, VIEW_COLOUR_NUMBER},
		{"ERRORS", true, VIEW_COLOUR_LOST},
		{"MEAN", true, NULL},
		{"P99", true, NULL},
		{"MAX", true, NULL},
		{"FUNCTION", false, VIEW_COLOUR_NAME},
};

static const struct table_column function_table_slow_columns[] = {
		{"SELF", true, VIEW_COLOUR_NUMBER},
		{"TOTAL", true, VIEW_COLOUR_NUMBER},
		{"CALLS", true, VIEW_COLOUR_NUMBER},
		{"P50", true, NULL},
		{"P99", true, NULL},
		{"MAX", true, NULL},
		{"OFF-CPU", true, NULL},
		{"FUNCTION", false, VIEW_COLOUR_NAME},
};

/* ---- fields ---- */

static void function_table_put_time(
		struct report_table *table, const struct calls_stats *stats, double ns)
{
	char entry[FORMAT_NUMBER_MAX];

	table_put(table, stats->timed ? text_duration(ns, entry) : "-");
}

static void function_table_put_percentile(
		struct report_table *table, const struct calls_stats *stats, uint32_t thousandths)
{
	const struct calls_detail *detail = stats->detail;

	if (detail && detail->durations.count)
		function_table_put_time(table, stats,
				(double)report_stats_percentile(&detail->durations, thousandths));
	else
		table_put(table, "-");
}

static void function_table_put_errors(struct report_table *table, const struct calls_stats *stats)
{
	char entry[FORMAT_NUMBER_MAX];
	const struct calls_detail *detail = stats->detail;

	table_put(table, detail && detail->results ? format_number(detail->errors, entry) : "-");
}

static void function_table_put_off_cpu(struct report_table *table, const struct calls_stats *stats)
{
	const struct calls_detail *detail = stats->detail;

	if (detail && detail->measured_ns)
		table_format(table, "%.1f%%",
				(double)detail->off_cpu_ns * 100 / (double)detail->measured_ns);
	else
		table_put(table, "-");
}

/* ---- rows ---- */

static void function_table_put_calls(struct report_table *table, const struct calls_stats *stats)
{
	char entry[FORMAT_NUMBER_MAX];
	double mean = stats->timed ? (double)stats->sum_ns / (double)stats->timed : 0;

	function_table_put_time(table, stats, (double)stats->total_ns);
	table_put(table, format_number(stats->calls, entry));
	function_table_put_errors(table, stats);
	function_table_put_time(table, stats, mean);
	function_table_put_percentile(table, stats, 99000);
	function_table_put_time(table, stats, (double)stats->max_ns);
}

static void function_table_put_slow(struct report_table *table, const struct calls_stats *stats)
{
	char entry[FORMAT_NUMBER_MAX];

	function_table_put_time(table, stats, (double)stats->self_ns);
	function_table_put_time(table, stats, (double)stats->total_ns);
	table_put(table, format_number(stats->calls, entry));
	function_table_put_percentile(table, stats, 50000);
	function_table_put_percentile(table, stats, 99000);
	function_table_put_time(table, stats, (double)stats->max_ns);
	function_table_put_off_cpu(table, stats);
}

static const struct function_table_form function_table_forms[] = {
		[FUNCTION_TABLE_CALLS] = {function_table_calls_columns, 7, function_table_put_calls,
				false},
		[FUNCTION_TABLE_SLOW] = {function_table_slow_columns, 8, function_table_put_slow,
				true},
};

/* ---- the table ---- */

static int function_table_print_text(
		struct report *report, const struct function_table_form *form, FILE *out)
{
	const struct report_calls *calls = &report->calls;
	struct report_text_writer text = {.report = report};
	struct report_table table = {
			form->columns, form->nr_columns, report->colour, NULL, 0, 0, false};
	uint32_t *order = form->by_self ? calls_self_order(calls) : calls_function_order(calls);
	uint32_t count = calls->functions.count, shown = text_rows_shown(report, count);

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < shown; i++) {
		form->row(&table, &calls->stats[order[i]]);
		table_put(&table, calls_name(calls, order[i]));
	}
	if (count)
		table_print(&table, &text.out);
	text_print_remainder(&text, shown, count);
	free(order);
	return view_out_end(&text.out, out, table.failed ? -ENOMEM : 0);
}

int function_table_print(struct report *report, enum function_table table, FILE *out)
{
	const struct function_table_form *form = &function_table_forms[table];

	return report->json ? report_print_json_functions(report, form->by_self, out)
			    : function_table_print_text(report, form, out);
}
