/* SPDX-License-Identifier: MIT */
/* Reads two traces and judges the changes. */
#include "analysis/diff.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Standard deviations of a confidence interval of 99.99 %. */
#define DIFF_DEVIATIONS 3.9
#define DIFF_NAME_SIZE 8192 /* longer names of call paths are cut at their outer end */

const char *diff_measure_name(enum diff_measure measure)
{
	static const char *const names[DIFF_MEASURES] = {
			"time", "pair", "calls", "events", "bytes"};

	return names[measure];
}

/* ---- reading ---- */

int diff_prepare(struct diff *diff, const struct diff_options *options, const char *before,
		const char *after, const struct analysis_listener *listener, struct error *error)
{
	const char *const dirs[2] = {before, after};
	struct analysis_listener listeners[2] = {*listener, *listener};
	int ret = 0;

	/* Only report() may be called by several threads. */
	listeners[1].progress = NULL;
	diff->options = options;
	diff->keys.limit = DIFF_ROWS_MAX;
	diff->report_options = (struct report_options){.patterns = options->patterns,
			.pairs = options->pairs,
			.key = options->key,
			.calls = true,
			.counts = true};
	diff->flame_options = (struct flame_options){.patterns = options->patterns,
			.weight = FLAME_WEIGHT_BYTES,
			.debuginfod = options->debuginfod};
	for (int i = 0; i < 2 && !ret; i++) {
		diff->reports[i].calls.detailed = true;
		diff->reports[i].calls.with_selves = true;
		diff->reports[i].calls.without_branches = true;
		ret = report_prepare(&diff->reports[i], &diff->report_options, dirs[i],
				&listeners[i], error);
		if (!ret)
			ret = flame_prepare(&diff->flames[i], &diff->flame_options, "analyse",
					dirs[i], &listeners[i], error);
	}
	return ret;
}

/* True if the trace has an event of an allocator. */
static bool diff_has_allocations(const struct report *report)
{
	for (uint32_t i = 0; i < report->names.count; i++) {
		const char *colon = strchr((const char *)report->names.entries[i].bytes, ':');

		if (colon && strstr(colon, "alloc"))
			return true;
	}
	return false;
}

/* A trace without an allocation has an empty tree. */
static int diff_read_flame(struct diff *diff, int side, struct error *error)
{
	struct flame *flame = &diff->flames[side];
	int ret = flame_open(flame, error);

	if (!ret)
		ret = flame_read(flame, error);
	if (ret != -ENODATA)
		return ret;
	error_clear(error);
	return 0;
}

static int diff_read_side(struct diff *diff, int side, struct error *error)
{
	struct report *report = &diff->reports[side];
	int ret = report_open(report, error);

	if (!ret)
		ret = report_read(report, error);
	if (ret)
		return ret;
	diff->lost[side] = report_lost(report) + report->lost_packets;
	diff->seconds[side] = ((double)report->last_ns - (double)report->first_ns) / 1e9;
	/* If only the other trace has allocations, the tree of this trace would be empty. */
	return diff_has_allocations(report) ? diff_read_flame(diff, side, error) : 0;
}

struct diff_second {
	struct diff *diff;
	struct error error;
	int ret;
};

static void *diff_run_second(void *argument)
{
	struct diff_second *second = argument;

	second->ret = diff_read_side(second->diff, 1, &second->error);
	return NULL;
}

/* Reads the second trace in a thread of its own: the traces share nothing but the listener. */
static int diff_read_sides(struct diff *diff, struct error *error)
{
	struct diff_second second = {.diff = diff};
	pthread_t thread;
	bool is_parallel = !pthread_create(&thread, NULL, diff_run_second, &second);
	int ret = diff_read_side(diff, 0, error);

	if (is_parallel)
		pthread_join(thread, NULL);
	else if (!ret)
		diff_run_second(&second);
	if (ret || !second.ret)
		return ret;
	*error = second.error;
	return second.ret;
}

/* ---- rows ---- */

/* *ret_row is NULL beyond the limit. 0 or -ENOMEM. */
static int diff_row_of(struct diff *diff, enum diff_measure measure, const char *name,
		struct diff_row **ret_row)
{
	char key[DIFF_NAME_SIZE + 1] = {(char)('0' + measure)};
	size_t size = strnlen(name, DIFF_NAME_SIZE - 1);
	uint32_t number;

	memcpy(key + 1, name, size);
	diff->rows = keys_add_item(
			&diff->keys, diff->rows, sizeof(*diff->rows), key, size + 1, &number);
	*ret_row = number == KEYS_NONE ? NULL : &diff->rows[number];
	if (!*ret_row)
		return diff->keys.no_memory ? -ENOMEM : 0;
	(*ret_row)->measure = measure;
	(*ret_row)->name = (const char *)diff->keys.entries[number].bytes + 1;
	return 0;
}

static int diff_add_count(struct diff *diff, enum diff_measure measure, int side, const char *name,
		uint64_t count, double value)
{
	struct diff_row *row;
	int ret = diff_row_of(diff, measure, name, &row);

	if (ret || !row)
		return ret;
	row->counts[side] += count;
	row->values[side] += value;
	return 0;
}

static int diff_add_stats(struct diff *diff, enum diff_measure measure, int side, const char *name,
		const struct stats *stats)
{
	struct diff_row *row;
	int ret = diff_row_of(diff, measure, name, &row);

	if (ret || !row)
		return ret;
	row->stats[side] = stats;
	row->counts[side] = stats->count;
	return 0;
}

static int diff_add_functions(struct diff *diff, int side)
{
	const struct report_calls *calls = &diff->reports[side].calls;
	int ret = 0;

	for (uint32_t i = 0; i < calls->functions.count && !ret; i++) {
		const struct calls_stats *stats = &calls->stats[i];
		const char *name = calls_name(calls, i);

		if (stats->detail && stats->detail->selves.count)
			ret = diff_add_stats(diff, DIFF_TIME, side, name, &stats->detail->selves);
		if (!ret)
			ret = diff_add_count(diff, DIFF_CALLS, side, name, stats->calls,
					(double)stats->calls);
	}
	return ret;
}

static int diff_add_pairs(struct diff *diff, int side)
{
	const struct report *report = &diff->reports[side];
	int ret = 0;

	for (uint32_t i = 0; i < report->pair_keys.count && !ret; i++) {
		const struct report_stats *stats = &report->pair_stats[i];
		const struct pair_rule *rule = &report->pairs.rules[stats->which];
		char name[DIFF_NAME_SIZE];

		snprintf(name, sizeof(name), "%s → %s", rule->begin_text, rule->end_text);
		ret = diff_add_stats(diff, DIFF_PAIR, side, name, &stats->stats);
	}
	return ret;
}

/* Entries and returns of functions are counted as calls. */
static bool diff_is_call(const struct diff *diff, const char *event)
{
	return strncmp(event, "probe:", 6) == 0 &&
			(diff->reports[0].calls.functions.count ||
					diff->reports[1].calls.functions.count);
}

static int diff_add_events(struct diff *diff, int side)
{
	const struct report *report = &diff->reports[side];
	int ret = 0;

	for (uint32_t i = 0; i < report->row_keys.count && !ret; i++) {
		const struct report_row *row = &report->rows[i];
		const char *name = (const char *)report->names.entries[row->name].bytes;

		if (!diff_is_call(diff, name))
			ret = diff_add_count(diff, DIFF_EVENTS, side, name, row->count,
					(double)row->count);
	}
	return ret;
}

/* "main;outer;inner" */
static void diff_path(const struct flame_tree *tree, uint32_t node, char name[DIFF_NAME_SIZE])
{
	size_t begin = DIFF_NAME_SIZE - 1;

	name[begin] = '\0';
	for (; node != FLAME_TREE_ROOT; node = tree->nodes[node].parent) {
		const char *frame = flame_tree_frame_of(tree, node)->name;
		size_t size = strlen(frame);

		if (size + 1 > begin)
			break;
		if (name[begin])
			name[--begin] = ';';
		begin -= size;
		memcpy(name + begin, frame, size);
	}
	memmove(name, name + begin, DIFF_NAME_SIZE - begin);
}

static int diff_add_paths(struct diff *diff, int side)
{
	const struct flame_tree *tree = &diff->flames[side].tree;
	char name[DIFF_NAME_SIZE];
	int ret = 0;

	for (uint32_t i = 1; i < flame_tree_count(tree) && !ret; i++) {
		if (!tree->nodes[i].self)
			continue;
		diff_path(tree, i, name);
		ret = diff_add_count(diff, DIFF_BYTES, side, name, tree->nodes[i].count,
				(double)tree->nodes[i].self);
	}
	return ret;
}

/* ---- durations ---- */

/* The confidence interval of a quantile (0 to 1). False: there are too few values. */
static bool diff_interval(const struct stats *stats, double quantile, uint64_t ret_ns[2])
{
	double width = DIFF_DEVIATIONS * sqrt(quantile * (1 - quantile) / (double)stats->count);

	if (quantile - width <= 0 || quantile + width >= 1)
		return false;
	ret_ns[0] = report_stats_percentile(stats, (uint32_t)((quantile - width) * 100000));
	ret_ns[1] = report_stats_percentile(stats, (uint32_t)((quantile + width) * 100000) + 1);
	return true;
}

static double diff_percent(double before, double after)
{
	return before > 0 ? (after - before) * 100 / before : 0;
}

/* True: the quantile has changed by more than the traces vary. Sets the values in any case. */
static bool diff_judge_quantile(const struct diff *diff, struct diff_row *row, double quantile)
{
	uint64_t before[2], after[2];
	double change, widths[2];

	for (int i = 0; i < 2; i++)
		row->values[i] = (double)report_stats_percentile(
				row->stats[i], (uint32_t)(quantile * 100000));
	row->percent = diff_percent(row->values[0], row->values[1]);
	if (!diff_interval(row->stats[0], quantile, before) ||
			!diff_interval(row->stats[1], quantile, after))
		return false;
	change = row->values[1] - row->values[0];
	/* Half of each interval counts: the half on the side of the other interval. */
	widths[0] = change > 0 ? (double)before[1] - row->values[0]
			       : row->values[0] - (double)before[0];
	widths[1] = change > 0 ? row->values[1] - (double)after[0]
			       : (double)after[1] - row->values[1];
	/* Without a duration before, any change is a large one. */
	return fabs(change) > hypot(widths[0], widths[1]) && fabs(change) >= DIFF_LEAST_NS &&
			(fabs(row->percent) >= diff->options->above || !(row->values[0] > 0));
}

static void diff_judge_durations(const struct diff *diff, struct diff_row *row)
{
	bool is_change;

	if (!row->stats[0] || !row->stats[1]) {
		/* The row of DIFF_CALLS reports this; only pairs have no such row. */
		if (row->measure == DIFF_PAIR)
			row->verdict = row->stats[1] ? DIFF_NEW : DIFF_GONE;
		for (int i = 0; i < 2; i++)
			if (row->stats[i])
				row->values[i] = (double)report_stats_percentile(
						row->stats[i], 50000);
		return;
	}
	is_change = diff_judge_quantile(diff, row, 0.9);
	row->is_p90 = is_change;
	/* The median counts if both have changed. */
	if (diff_judge_quantile(diff, row, 0.5)) {
		is_change = true;
		row->is_p90 = false;
	} else if (is_change) {
		(void)diff_judge_quantile(diff, row, 0.9);
	}
	row->effect = (row->values[1] - row->values[0]) * (double)row->counts[1];
	if (is_change)
		row->verdict = row->values[1] > row->values[0] ? DIFF_WORSE : DIFF_BETTER;
	else if (row->counts[0] < diff->options->least || row->counts[1] < diff->options->least)
		row->verdict = DIFF_RARE;
}

/* ---- counts and bytes ---- */

/* The counts differ more than chance explains. With `rate`, they are compared per time. */
static bool diff_is_count_change(const struct diff *diff, const struct diff_row *row)
{
	double before = (double)row->counts[0], after = (double)row->counts[1];
	double scale = diff->options->rate && diff->seconds[1] > 0 && diff->seconds[0] > 0
			? diff->seconds[0] / diff->seconds[1]
			: 1;

	return fabs(after * scale - before) >
			DIFF_DEVIATIONS * sqrt(before + after * scale * scale);
}

/* The mean of the bytes has changed, which no random number of allocations explains. */
static bool diff_is_size_change(const struct diff *diff, const struct diff_row *row)
{
	double before = row->values[0] / (double)row->counts[0];
	double after = row->values[1] / (double)row->counts[1];

	return row->measure == DIFF_BYTES &&
			fabs(diff_percent(before, after)) >= diff->options->above;
}

static void diff_judge_count(const struct diff *diff, struct diff_row *row)
{
	uint64_t least = diff->options->least;
	bool is_bytes = row->measure == DIFF_BYTES, is_size, is_large;

	is_size = row->counts[0] && row->counts[1] && diff_is_size_change(diff, row);
	is_large = is_bytes && fabs(row->values[1] - row->values[0]) >= DIFF_LEAST_BYTES;
	for (int i = 0; i < 2; i++)
		if (diff->options->rate && diff->seconds[i] > 0)
			row->values[i] /= diff->seconds[i];
	row->percent = diff_percent(row->values[0], row->values[1]);
	row->effect = row->values[1] - row->values[0];
	if (diff->lost[0] || diff->lost[1])
		row->verdict = DIFF_LOST;
	else if (!(is_size && is_large) && row->counts[0] < least && row->counts[1] < least)
		row->verdict = DIFF_RARE;
	else if (!row->counts[0] || !row->counts[1])
		row->verdict = row->counts[1] ? DIFF_NEW : DIFF_GONE;
	else if (fabs(row->percent) >= diff->options->above && (!is_bytes || is_large) &&
			(is_size || diff_is_count_change(diff, row)))
		row->verdict = row->effect > 0 ? DIFF_WORSE : DIFF_BETTER;
}

/* ---- the whole ---- */

static void diff_judge(struct diff *diff)
{
	for (uint32_t i = 0; i < diff->keys.count; i++) {
		struct diff_row *row = &diff->rows[i];

		if (row->measure == DIFF_TIME || row->measure == DIFF_PAIR)
			diff_judge_durations(diff, row);
		else
			diff_judge_count(diff, row);
		diff->verdicts[row->verdict]++;
		if (row->verdict == DIFF_WORSE && row->percent > diff->worst)
			diff->worst = row->percent;
		/* If the value before is 0, no percentage describes the change. */
		if (row->verdict == DIFF_WORSE && !(row->values[0] > 0))
			diff->worst = INFINITY;
	}
}

int diff_read(struct diff *diff, struct error *error)
{
	int ret = diff_read_sides(diff, error);

	if (ret)
		return ret;
	for (int i = 0; i < 2 && !ret; i++) {
		ret = diff_add_functions(diff, i);
		ret = ret ? ret : diff_add_pairs(diff, i);
		ret = ret ? ret : diff_add_events(diff, i);
		ret = ret ? ret : diff_add_paths(diff, i);
	}
	if (ret)
		return error_set_no_memory(error);
	diff_judge(diff);
	return 0;
}

void diff_free(struct diff *diff)
{
	for (int i = 0; i < 2; i++) {
		report_free(&diff->reports[i]);
		flame_free(&diff->flames[i]);
	}
	keys_free(&diff->keys);
	free(diff->rows);
}
