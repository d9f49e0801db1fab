/* SPDX-License-Identifier: MIT */
/* A comparison of two traces as text and as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diff.h"
#include "analysis/json-line.h"
#include "analysis/report-table.h"
#include "analysis/report-text.h"

/* By measure, then by the size of the effect, then by name. */
static int diff_print_compare(const void *one, const void *other, void *user)
{
	const struct diff *diff = user;
	const struct diff_row *left = &diff->rows[*(const uint32_t *)one];
	const struct diff_row *right = &diff->rows[*(const uint32_t *)other];

	if (left->measure != right->measure)
		return left->measure < right->measure ? -1 : 1;
	if (fabs(left->effect) > fabs(right->effect))
		return -1;
	if (fabs(left->effect) < fabs(right->effect))
		return 1;
	return strcmp(left->name, right->name);
}

/* NULL: out of memory. */
static uint32_t *diff_print_order(const struct diff *diff)
{
	uint32_t count = diff->keys.count, *order = malloc(((size_t)count + 1) * sizeof(*order));

	for (uint32_t i = 0; order && i < count; i++)
		order[i] = i;
	if (order)
		qsort_r(order, count, sizeof(*order), diff_print_compare, (void *)(uintptr_t)diff);
	return order;
}

static bool diff_print_is_change(const struct diff_row *row)
{
	return row->verdict == DIFF_WORSE || row->verdict == DIFF_BETTER ||
			row->verdict == DIFF_NEW || row->verdict == DIFF_GONE;
}

/* ---- text ---- */

static const struct table_column diff_print_columns[] = {
		{"CHANGE", true, VIEW_COLOUR_NUMBER},
		{"BEFORE", true, NULL},
		{"AFTER", true, NULL},
		{"COUNT", true, NULL},
		{"MEASURE", false, NULL},
		{"NAME", false, VIEW_COLOUR_NAME},
};

static void diff_print_value(struct report_table *table, const struct diff *diff,
		const struct diff_row *row, int side)
{
	char text[FORMAT_NUMBER_MAX];
	double value = row->values[side];

	if (!row->counts[side])
		table_put(table, "-");
	else if (row->measure == DIFF_TIME || row->measure == DIFF_PAIR)
		table_put(table, text_duration(value, text));
	else if (row->measure == DIFF_BYTES)
		table_format(table, "%s%s", format_size((uint64_t)value, text),
				diff->options->rate ? "/s" : "");
	else if (diff->options->rate)
		table_format(table, "%.1f/s", value);
	else
		table_put(table, format_number((uint64_t)value, text));
}

static void diff_print_row(
		struct report_table *table, const struct diff *diff, const struct diff_row *row)
{
	char text[FORMAT_NUMBER_MAX];

	if (row->verdict == DIFF_NEW || row->verdict == DIFF_GONE)
		table_put(table, row->verdict == DIFF_NEW ? "new" : "gone");
	else if (row->values[0] > 0)
		table_format(table, "%+.1f%%", row->percent);
	else
		table_put(table, "from 0");
	diff_print_value(table, diff, row, 0);
	diff_print_value(table, diff, row, 1);
	table_put(table, format_number(row->counts[1], text));
	table_format(table, "%s%s", diff_measure_name(row->measure), row->is_p90 ? " p90" : "");
	table_put(table, row->name);
}

static void diff_print_summary(const struct diff *diff, struct view_out *out)
{
	char number[FORMAT_NUMBER_MAX];
	uint64_t compared = diff->verdicts[DIFF_SAME] + diff->verdicts[DIFF_WORSE] +
			diff->verdicts[DIFF_BETTER];

	view_out_format(out,
			"%s compared: %" PRIu64 " worse, %" PRIu64 " better; %" PRIu64
			" new, %" PRIu64 " gone",
			format_number(compared, number), diff->verdicts[DIFF_WORSE],
			diff->verdicts[DIFF_BETTER], diff->verdicts[DIFF_NEW],
			diff->verdicts[DIFF_GONE]);
	if (diff->verdicts[DIFF_RARE])
		view_out_format(out, "; too rare to compare: %s",
				format_number(diff->verdicts[DIFF_RARE], number));
	view_out_char(out, '\n');
}

int diff_print_text(const struct diff *diff, uint64_t rows, bool colour, FILE *stream)
{
	struct report_table table = {diff_print_columns, 6, colour, NULL, 0, 0, false};
	uint32_t *order = diff_print_order(diff);
	uint64_t shown = 0, more = 0;
	struct view_out out = {0};

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < diff->keys.count; i++) {
		const struct diff_row *row = &diff->rows[order[i]];

		if (!diff_print_is_change(row))
			continue;
		if (rows && shown == rows) {
			more++;
			continue;
		}
		diff_print_row(&table, diff, row);
		shown++;
	}
	free(order);
	if (shown)
		table_print(&table, &out);
	if (more)
		view_out_format(&out, "… and %" PRIu64 " more\n", more);
	if (shown)
		view_out_char(&out, '\n');
	diff_print_summary(diff, &out);
	out.failed |= table.failed;
	return view_out_end(&out, stream, 0);
}

/* ---- JSON ---- */

static const char *const diff_print_verdicts[DIFF_VERDICTS] = {
		"same", "worse", "better", "new", "gone", "rare", "lost"};

static void diff_print_json_summary(const struct diff *diff, struct view_out *out)
{
	json_line_begin(out, "diff");
	json_line_text(out, "before", diff->reports[0].walk.options.dir);
	json_line_text(out, "after", diff->reports[1].walk.options.dir);
	view_out_format(out, ",\"above_percent\":%g", diff->options->above);
	json_line_number(out, "least", diff->options->least);
	for (int i = 0; i < DIFF_VERDICTS; i++)
		json_line_number(out, diff_print_verdicts[i], diff->verdicts[i]);
	json_line_number(out, "lost_before", diff->lost[0]);
	json_line_number(out, "lost_after", diff->lost[1]);
	json_line_end(out);
}

static void diff_print_json_values(struct view_out *out, const struct diff_row *row)
{
	static const char *const sides[2] = {"before", "after"};

	for (int i = 0; i < 2; i++) {
		view_out_format(out, ",\"count_%s\":%" PRIu64, sides[i], row->counts[i]);
		if (!row->counts[i])
			continue;
		view_out_format(out, ",\"%s\":%.17g", sides[i], row->values[i]);
		if (row->stats[i])
			view_out_format(out, ",\"median_%s\":%" PRIu64 ",\"p90_%s\":%" PRIu64,
					sides[i], report_stats_percentile(row->stats[i], 50000),
					sides[i], report_stats_percentile(row->stats[i], 90000));
	}
}

static void diff_print_json_row(struct view_out *out, const struct diff_row *row)
{
	json_line_begin(out, "change");
	json_line_text(out, "measure", diff_measure_name(row->measure));
	json_line_text(out, "name", row->name);
	json_line_text(out, "verdict", diff_print_verdicts[row->verdict]);
	if (row->stats[0] || row->stats[1])
		json_line_text(out, "quantile", row->is_p90 ? "p90" : "median");
	if (row->counts[0] && row->counts[1] && row->values[0] > 0)
		view_out_format(out, ",\"change_percent\":%.6g", row->percent);
	diff_print_json_values(out, row);
	json_line_end(out);
}

int diff_print_json(const struct diff *diff, FILE *stream)
{
	uint32_t *order = diff_print_order(diff);
	struct view_out out = {0};

	if (!order)
		return -ENOMEM;
	diff_print_json_summary(diff, &out);
	for (uint32_t i = 0; i < diff->keys.count; i++)
		diff_print_json_row(&out, &diff->rows[order[i]]);
	free(order);
	return view_out_end(&out, stream, 0);
}
