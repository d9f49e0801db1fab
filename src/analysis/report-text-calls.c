/* SPDX-License-Identifier: MIT */
/* The text report: calls of functions. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/report-table.h"
#include "analysis/report-text.h"

#define INDENTS_MAX 40 /* Deeper branches have the same indentation and show their depth. */

static const struct table_column function_columns[] = {
		{"TOTAL", true, VIEW_COLOUR_NUMBER},
		{"SELF", true, VIEW_COLOUR_NUMBER},
		{"CALLS", true, VIEW_COLOUR_NUMBER},
		{"MIN", true, NULL},
		{"MEAN", true, NULL},
		{"MAX", true, NULL},
		{"FUNCTION", false, VIEW_COLOUR_NAME},
};

static void report_text_calls_print_time(
		struct report_table *table, const struct calls_stats *stats, double ns)
{
	char entry[FORMAT_NUMBER_MAX];

	table_put(table, stats->timed ? text_duration(ns, entry) : "-");
}

static void report_text_calls_print_statistics(
		struct report_table *table, const struct calls_stats *stats)
{
	char entry[FORMAT_NUMBER_MAX];
	double mean = stats->timed ? (double)stats->sum_ns / (double)stats->timed : 0;

	report_text_calls_print_time(table, stats, (double)stats->total_ns);
	report_text_calls_print_time(table, stats, (double)stats->self_ns);
	table_put(table, format_number(stats->calls, entry));
	report_text_calls_print_time(table, stats, (double)stats->min_ns);
	report_text_calls_print_time(table, stats, mean);
	report_text_calls_print_time(table, stats, (double)stats->max_ns);
}

/* Prints a row for each element of `order`, which is freed. NULL: out of memory. */
typedef void put_row(struct report_table *table, const struct report_calls *calls, uint32_t index);

static int report_text_calls_print_rows(
		struct report_text_writer *text, uint32_t *order, uint32_t count, put_row *row)
{
	struct report_table table = {function_columns, 7, text->report->colour, NULL, 0, 0, false};
	uint32_t shown = text_rows_shown(text->report, count);

	if (!order)
		return -ENOMEM;
	if (count)
		text_begin_section(text);
	for (uint32_t i = 0; i < shown; i++)
		row(&table, &text->report->calls, order[i]);
	if (count)
		table_print(&table, &text->out);
	text_print_remainder(text, shown, count);
	free(order);
	return 0;
}

static void put_function(
		struct report_table *table, const struct report_calls *calls, uint32_t index)
{
	report_text_calls_print_statistics(table, &calls->stats[index]);
	table_put(table, calls_name(calls, index));
}

static void put_branch(struct report_table *table, const struct report_calls *calls, uint32_t index)
{
	const struct calls_branch *branch = &calls->branches[index];
	const char *name = calls_name(calls, branch->function);

	report_text_calls_print_statistics(table, &branch->stats);
	if (branch->depth > INDENTS_MAX)
		table_format(table, "%*s[%u] %s", 2 * INDENTS_MAX, "", branch->depth, name);
	else
		table_format(table, "%*s%s", 2 * (int)branch->depth, "", name);
}

int text_print_calls(struct report_text_writer *text)
{
	const struct report_calls *calls = &text->report->calls;

	return report_text_calls_print_rows(
			text, calls_function_order(calls), calls->functions.count, put_function);
}

int text_print_tree(struct report_text_writer *text)
{
	const struct report_calls *calls = &text->report->calls;

	return report_text_calls_print_rows(
			text, calls_branch_order(calls), calls->branch_keys.count, put_branch);
}
