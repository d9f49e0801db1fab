/* SPDX-License-Identifier: MIT */
/* Makes the rows of `side explore` from the tables of a report. */
#include "analysis/explore.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report-text.h"
#include "base/error.h"

#define EXPLORE_TEXT_MAX 4096
#define EXPLORE_INDENT_MAX 60 /* levels; deeper branches are not indented further */

static const char *const explore_column_names[] = {"SELF", "TOTAL", "CALLS", "P50", "P99", "MAX"};

const char *explore_column_name(enum explore_column column)
{
	return explore_column_names[column];
}

/* ---- text ---- */

static void explore_put_name(struct view_out *out, const char *name)
{
	char text[EXPLORE_LINE_MAX];

	format_printable(name, text, sizeof(text));
	view_out_put(out, text, strlen(text));
}

static void explore_put_duration(struct view_out *out, uint64_t ns)
{
	char text[FORMAT_NUMBER_MAX];

	view_out_format(out, "%9s ", ns == EXPLORE_UNKNOWN ? "-" : text_duration((double)ns, text));
}

static void explore_put_count(struct view_out *out, uint64_t count)
{
	char text[FORMAT_NUMBER_MAX];

	view_out_format(out, "%13s ", format_number(count, text));
}

/* ---- functions ---- */

static uint64_t explore_percentile(const struct calls_stats *stats, uint32_t thousandths)
{
	return stats->detail && stats->detail->durations.count
			? report_stats_percentile(&stats->detail->durations, thousandths)
			: EXPLORE_UNKNOWN;
}

static int explore_compare_functions(const void *one, const void *other, void *user)
{
	const struct explore *explore = user;
	const struct explore_function *left = one, *right = other;
	/* EXPLORE_UNKNOWN + 1 is 0, so functions without a value are last. */
	uint64_t first = left->values[explore->sort] + 1;
	uint64_t second = right->values[explore->sort] + 1;

	if (first != second)
		return first > second ? -1 : 1;
	return strcmp(calls_name(&explore->report.calls, left->function),
			calls_name(&explore->report.calls, right->function));
}

void explore_sort(struct explore *explore, enum explore_column column)
{
	explore->sort = column;
	if (explore->functions)
		qsort_r(explore->functions, explore->report.calls.functions.count,
				sizeof(*explore->functions), explore_compare_functions, explore);
}

/* Percentiles are computed once, not in each comparison. */
static int explore_make_functions(struct explore *explore)
{
	const struct report_calls *calls = &explore->report.calls;

	explore->functions =
			calloc((size_t)calls->functions.count + 1, sizeof(*explore->functions));
	if (!explore->functions)
		return -ENOMEM;
	for (uint32_t i = 0; i < calls->functions.count; i++) {
		const struct calls_stats *stats = &calls->stats[i];
		bool timed = stats->timed;

		explore->functions[i] = (struct explore_function){i,
				{timed ? stats->self_ns : EXPLORE_UNKNOWN,
						timed ? stats->total_ns : EXPLORE_UNKNOWN,
						stats->calls, explore_percentile(stats, 50000),
						explore_percentile(stats, 99000),
						timed ? stats->max_ns : EXPLORE_UNKNOWN}};
	}
	explore_sort(explore, explore->sort);
	return 0;
}

static void explore_put_function(struct explore *explore, uint64_t row, struct view_out *out)
{
	const struct explore_function *function = &explore->functions[row];

	for (unsigned int i = 0; i < EXPLORE_COLUMNS; i++) {
		if (i == EXPLORE_CALLS)
			explore_put_count(out, function->values[i]);
		else
			explore_put_duration(out, function->values[i]);
	}
	explore_put_name(out, calls_name(&explore->report.calls, function->function));
}

static void explore_put_branch(struct explore *explore, uint64_t row, struct view_out *out)
{
	const struct explore_tree *tree = &explore->tree;
	const struct calls_branch *branch = explore_tree_branch(tree, (uint32_t)row);
	const struct calls_stats *stats = &branch->stats;
	uint32_t indent = branch->depth < EXPLORE_INDENT_MAX ? branch->depth : EXPLORE_INDENT_MAX;
	const char *mark = "  ";

	if (explore_tree_has_children(tree, (uint32_t)row))
		mark = explore_tree_is_expanded(tree, (uint32_t)row) ? "- " : "+ ";
	explore_put_duration(out, stats->timed ? stats->total_ns : EXPLORE_UNKNOWN);
	explore_put_duration(out, stats->timed ? stats->self_ns : EXPLORE_UNKNOWN);
	explore_put_count(out, stats->calls);
	view_out_fill(out, ' ', 2 * indent);
	view_out_put(out, mark, strlen(mark));
	explore_put_name(out, calls_name(&explore->report.calls, branch->function));
}

/* ---- events by class and by thread ---- */

static int explore_compare_totals(const void *one, const void *other)
{
	const struct explore_total *left = one, *right = other;

	if (left->count != right->count)
		return left->count > right->count ? -1 : 1;
	return left->key < right->key ? -1 : left->key > right->key;
}

static void explore_add_row(struct explore_total *total, const struct report_row *row)
{
	total->count += row->count;
	if (!row->timed)
		return;
	if (!total->timed || row->first_ns < total->first_ns)
		total->first_ns = row->first_ns;
	if (!total->timed || row->last_ns > total->last_ns)
		total->last_ns = row->last_ns;
	total->timed = true;
}

/* The rows of a report are events with one name in one thread. */
static int explore_make_totals(
		const struct report *report, bool by_thread, struct explore_totals *ret_totals)
{
	uint32_t groups = report->groups.count;
	uint32_t keys = by_thread ? groups + 2 : report->names.count, used = 0;
	struct explore_total *items = calloc((size_t)keys + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	for (uint32_t i = 0; i < keys; i++)
		items[i].key = i;
	if (by_thread) {
		items[groups].key = GROUP_NONE;
		items[groups + 1].key = GROUP_OTHERS;
	}
	for (uint32_t i = 0; i < report->row_keys.count; i++) {
		const struct report_row *row = &report->rows[i];
		uint32_t group = row->group < groups       ? row->group
				: row->group == GROUP_NONE ? groups
							   : groups + 1;

		explore_add_row(&items[by_thread ? group : row->name], row);
	}
	qsort(items, keys, sizeof(*items), explore_compare_totals);
	while (used < keys && items[used].count)
		used++;
	*ret_totals = (struct explore_totals){items, used};
	return 0;
}

static void explore_put_total(
		const struct explore_total *total, const char *name, struct view_out *out)
{
	explore_put_count(out, total->count);
	if (total->timed) {
		walk_put_time(out, total->first_ns, false);
		view_out_text(out, " ");
		walk_put_time(out, total->last_ns, false);
	} else {
		view_out_format(out, "%18s %18s", "-", "-");
	}
	view_out_text(out, " ");
	explore_put_name(out, name);
}

static void explore_put_class(struct explore *explore, uint64_t row, struct view_out *out)
{
	const struct explore_total *total = &explore->classes.items[row];

	explore_put_total(
			total, (const char *)explore->report.names.entries[total->key].bytes, out);
}

static void explore_put_thread(struct explore *explore, uint64_t row, struct view_out *out)
{
	const struct explore_total *total = &explore->threads.items[row];
	char name[EXPLORE_TEXT_MAX];

	report_group_text(&explore->report, total->key, name, sizeof(name));
	explore_put_total(total, total->key == GROUP_NONE ? "(thread not recorded)" : name, out);
}

/* ---- the summary ---- */

static void explore_put_summary(
		const struct report *report, const struct explore *explore, struct view_out *out)
{
	char number[FORMAT_NUMBER_MAX], name[EXPLORE_TEXT_MAX];
	double rate = report_rate(report, report->events);

	view_out_text(out, "Trace      ");
	explore_put_name(out, report->walk.options.dir);
	view_out_format(out, "\nEvents     %s", format_number(report->events, number));
	if (rate >= 0)
		view_out_format(out, " (%.1f/s)", rate);
	view_out_format(out, "\nLost       %s", format_number(report_lost(report), number));
	if (report->timeline.started) {
		view_out_text(out, "\nBegin      ");
		walk_put_time(out, report->first_ns, true);
		view_out_text(out, "\nEnd        ");
		walk_put_time(out, report->last_ns, true);
		view_out_format(out, "\nDuration   %s",
				text_duration((double)report->last_ns - (double)report->first_ns,
						number));
	}
	view_out_format(out, "\nClasses    %" PRIu32, explore->classes.count);
	view_out_format(out, "\nThreads    %" PRIu32, report->groups.count);
	view_out_format(out, "\nFunctions  %" PRIu32, report->calls.functions.count);
	if (report->walk.damaged)
		view_out_text(out, "\nDamaged    a part of the trace cannot be read");
	if (report_lost(report) && report->calls.functions.count)
		view_out_text(out, "\nWarning    events were lost: calls and times are too small");
	view_out_text(out, "\n\n       EVENTS          LOST PROCESS");
	for (uint32_t i = 0; i < report->identity.keys.count; i++) {
		if (!report_is_process(report, i))
			continue;
		view_out_text(out, "\n");
		explore_put_count(out,
				i < report->process_capacity ? report->processes[i].events : 0);
		explore_put_count(out,
				i < report->process_capacity
						? report_process_lost(&report->processes[i])
						: 0);
		identity_text(&report->identity, i, name, sizeof(name));
		explore_put_name(out, name);
	}
	view_out_char(out, '\0');
}

static int explore_make_summary(struct explore *explore)
{
	struct view_out out = {.begin = NULL};
	uint32_t lines = 1;

	explore_put_summary(&explore->report, explore, &out);
	if (out.failed) {
		view_out_free(&out);
		return -ENOMEM;
	}
	for (const char *at = out.begin; *at; at++)
		lines += *at == '\n';
	explore->summary = calloc(lines, sizeof(*explore->summary));
	explore->nr_summary = explore->summary ? lines : 0;
	for (uint32_t i = 0; i < explore->nr_summary; i++)
		explore->summary[i] = i ? strchr(explore->summary[i - 1], '\n') + 1 : out.begin;
	/* The first line owns the memory of all. */
	for (uint32_t i = 1; i < explore->nr_summary; i++)
		explore->summary[i][-1] = '\0';
	if (explore->summary)
		return 0;
	view_out_free(&out);
	return -ENOMEM;
}

/* ---- rows ---- */

static const char *const explore_titles[] = {
		[EXPLORE_SUMMARY] = "",
		[EXPLORE_FUNCTIONS] =
				"     SELF     TOTAL         CALLS       P50       P99       MAX FUNCTION",
		[EXPLORE_TREE] = "    TOTAL      SELF         CALLS FUNCTION",
		[EXPLORE_EVENTS] = "TIME                EVENT",
		[EXPLORE_CLASSES] = "       EVENTS FIRST              LAST               EVENT",
		[EXPLORE_THREADS] = "       EVENTS FIRST              LAST               THREAD",
};

const char *explore_title(enum explore_view view)
{
	return explore_is_answer(view) ? explore_answers_title(explore_answer_of(view))
				       : explore_titles[view];
}

uint64_t explore_row_count(const struct explore *explore, enum explore_view view)
{
	switch (view) {
	case EXPLORE_SUMMARY: return explore->nr_summary;
	case EXPLORE_FUNCTIONS: return explore->report.calls.functions.count;
	case EXPLORE_TREE: return explore->tree.nr_visible;
	case EXPLORE_EVENTS: return explore->report.events;
	case EXPLORE_CLASSES: return explore->classes.count;
	case EXPLORE_THREADS: return explore->threads.count;
	case EXPLORE_STACKS:
	case EXPLORE_LEAKS:
	case EXPLORE_LOCKS:
		return explore->answers ? explore_answers_row_count(
							  explore->answers, explore_answer_of(view))
					: 0;
	case EXPLORE_VIEWS: break;
	}
	return 0;
}

/* Writes each line with a newline, and control characters in it as \xNN. */
static void explore_put_lines(struct view_out *out, struct view_out *text)
{
	char *end;

	view_out_char(text, '\0');
	for (char *at = text->failed ? NULL : text->begin; at && *at; at = end) {
		end = strchrnul(at, '\n');
		if (*end)
			*end++ = '\0';
		explore_put_name(out, at);
		view_out_char(out, '\n');
	}
	out->failed |= text->failed;
	view_out_free(text);
}

void explore_detail(
		struct explore *explore, enum explore_view view, uint64_t row, struct view_out *out)
{
	struct view_out text = {.begin = NULL};

	if (!explore_is_answer(view))
		return;
	explore_answers_detail(explore->answers, explore_answer_of(view), row, &text);
	explore_put_lines(out, &text);
}

static void explore_put_answer(struct explore *explore, enum explore_answer answer, uint64_t row,
		struct view_out *out)
{
	struct view_out text = {.begin = NULL};

	explore_answers_row(explore->answers, answer, row, &text);
	view_out_char(&text, '\0');
	if (!text.failed)
		explore_put_name(out, text.begin);
	out->failed |= text.failed;
	view_out_free(&text);
}

void explore_row(
		struct explore *explore, enum explore_view view, uint64_t row, struct view_out *out)
{
	const char *line;

	switch (view) {
	case EXPLORE_SUMMARY:
		view_out_put(out, explore->summary[row], strlen(explore->summary[row]));
		break;
	case EXPLORE_FUNCTIONS: explore_put_function(explore, row, out); break;
	case EXPLORE_TREE: explore_put_branch(explore, row, out); break;
	case EXPLORE_EVENTS:
		line = explore_events_line(&explore->events, row);
		explore_put_name(out, line ? line : "(this event cannot be read again)");
		break;
	case EXPLORE_CLASSES: explore_put_class(explore, row, out); break;
	case EXPLORE_THREADS: explore_put_thread(explore, row, out); break;
	case EXPLORE_STACKS:
	case EXPLORE_LEAKS:
	case EXPLORE_LOCKS: explore_put_answer(explore, explore_answer_of(view), row, out); break;
	case EXPLORE_VIEWS: break;
	}
}

/* ---- reading ---- */

static void explore_observe(void *user, const struct ctf_item *item)
{
	explore_events_add(user, item);
}

static int explore_make(struct explore *explore, struct error *error)
{
	int ret = explore_make_functions(explore);

	if (!ret)
		ret = explore_tree_make(&explore->tree, &explore->report.calls);
	if (!ret)
		ret = explore_make_totals(&explore->report, false, &explore->classes);
	if (!ret)
		ret = explore_make_totals(&explore->report, true, &explore->threads);
	if (!ret)
		ret = explore_make_summary(explore);
	if (!ret && explore->events.no_memory)
		ret = -ENOMEM;
	return ret ? error_set_no_memory(error) : 0;
}

static int explore_read(struct explore *explore, const char *dir, const char *filter,
		const struct analysis_listener *listener, struct error *error)
{
	struct report *report = &explore->report;
	int ret;

	explore->options = (struct report_options){
			.filter = filter, .by = "thread", .counts = true, .calls = true};
	report->calls.detailed = true;
	ret = report_prepare(report, &explore->options, dir, listener, error);
	report->observe = explore_observe;
	report->observe_user = &explore->events;
	if (!ret)
		ret = report_open(report, error);
	explore->events.first = &report->walk;
	return ret ? ret : report_read(report, error);
}

/* Keep the choices of the user after another reading. */
static int explore_keep(struct explore *explore, const struct explore *before)
{
	const struct explore_tree *tree = &before->tree;

	explore->sort = before->sort;
	explore->tree.expanded = calloc((size_t)tree->nr_branches + 1, sizeof(bool));
	if (!explore->tree.expanded)
		return -ENOMEM;
	explore->tree.nr_branches = tree->nr_branches;
	if (tree->nr_branches)
		memcpy(explore->tree.expanded, tree->expanded,
				tree->nr_branches * sizeof(*tree->expanded));
	return 0;
}

int explore_load(const char *dir, const char *filter, const struct analysis_listener *listener,
		const struct explore *before, struct explore **ret_explore, struct error *error)
{
	struct explore *explore = calloc(1, sizeof(*explore));
	int ret;

	if (!explore)
		return error_set_no_memory(error);
	ret = explore_read(explore, dir, filter, listener, error);
	if (!ret && before && explore_keep(explore, before))
		ret = error_set_no_memory(error);
	if (!ret)
		ret = explore_make(explore, error);
	if (ret)
		explore_free(explore);
	else
		*ret_explore = explore;
	return ret;
}

void explore_free(struct explore *explore)
{
	if (!explore)
		return;
	explore_events_free(&explore->events);
	explore_tree_free(&explore->tree);
	report_free(&explore->report);
	free(explore->functions);
	free(explore->classes.items);
	free(explore->threads.items);
	if (explore->summary)
		free(explore->summary[0]);
	free(explore->summary);
	free(explore);
}
