/* SPDX-License-Identifier: MIT */
/* The text report: distributions and pairs. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report-text.h"

static const char *wide_text(__int128 number, char text[48])
{
	char digits[48];
	size_t count = 0, used = 0;
	unsigned __int128 remainder =
			number < 0 ? -(unsigned __int128)number : (unsigned __int128)number;

	do
		digits[count++] = (char)('0' + (int)(remainder % 10));
	while (remainder /= 10);
	if (number < 0)
		text[used++] = '-';
	while (count)
		text[used++] = digits[--count];
	text[used] = '\0';
	return text;
}

/* ---- histograms ---- */

/* "4K": powers of two as bpftrace writes them. */
static const char *power_text(unsigned int bits, char text[16])
{
	static const char units[] = " KMGTPE";
	uint64_t number = UINT64_C(1) << (bits % 10);

	if (bits < 10)
		snprintf(text, 16, "%" PRIu64, number);
	else
		snprintf(text, 16, "%" PRIu64 "%c", number, units[bits / 10]);
	return text;
}

#define BAR_WIDTH 52

static void print_bar(
		struct report_text_writer *text, const char *label, uint64_t count, uint64_t most)
{
	int width = (int)((unsigned __int128)count * BAR_WIDTH / (most ? most : 1));
	char bar[BAR_WIDTH + 1];

	memset(bar, '@', (size_t)width);
	bar[width] = '\0';
	view_out_format(&text->out, "%-16s %10" PRIu64 " |%s%-*s%s|\n", label, count,
			text_colour(text, VIEW_COLOUR_NAME), BAR_WIDTH, bar,
			text_colour(text, VIEW_COLOUR_END));
}

/* From the first bucket to the last bucket that is not empty. */
static void print_histogram(struct report_text_writer *text, const struct stats *stats)
{
	uint64_t powers[STATS_POWERS], most = stats->negative;
	unsigned int first = STATS_POWERS, last = 0;
	char label[48], from[16], to[16];

	report_stats_powers(stats, powers);
	for (unsigned int i = 0; i < STATS_POWERS; i++) {
		if (!powers[i])
			continue;
		first = i < first ? i : first;
		last = i;
		most = powers[i] > most ? powers[i] : most;
	}
	most = stats->above > most ? stats->above : most;
	if (stats->negative)
		print_bar(text, "(..., 0)", stats->negative, most);
	for (unsigned int i = first; i <= last; i++) {
		if (i < 2)
			snprintf(label, sizeof(label), "[%u]", i);
		else
			snprintf(label, sizeof(label), "[%s, %s)", power_text(i - 1, from),
					i == 64 ? "16E" : power_text(i, to));
		print_bar(text, label, powers[i], most);
	}
	if (stats->above)
		print_bar(text, "[16E, ...)", stats->above, most);
}

static void print_not_finite(struct report_text_writer *text, const struct stats *stats)
{
	if (stats->infinite)
		view_out_format(&text->out, "not counted: %" PRIu64 " infinite value%s\n",
				stats->infinite, stats->infinite == 1 ? "" : "s");
	if (stats->nan)
		view_out_format(&text->out, "not counted: %" PRIu64 " NaN value%s\n", stats->nan,
				stats->nan == 1 ? "" : "s");
}

static void print_group_name(struct report_text_writer *text, uint32_t group)
{
	char name[1200], printable[4800];

	if (text->report->by == BY_NOTHING)
		return;
	report_group_text(text->report, group, name, sizeof(name));
	view_out_format(&text->out, " %s[%s]%s", text_colour(text, VIEW_COLOUR_PROCESS),
			format_printable(name, printable, sizeof(printable)),
			text_colour(text, VIEW_COLOUR_END));
}

static void report_text_stats_print_value_stats(
		struct report_text_writer *text, const struct report_stats *item)
{
	const struct report *report = text->report;
	const struct stats *stats = &item->stats;
	char least[48], most[48], count[FORMAT_NUMBER_MAX], printable[1024];

	text_begin_section(text);
	view_out_format(&text->out, "%s%s%s", text_colour(text, VIEW_COLOUR_NUMBER),
			format_printable(report->histograms[item->which].text, printable,
					sizeof(printable)),
			text_colour(text, VIEW_COLOUR_END));
	print_group_name(text, item->group);
	if (!stats->count)
		view_out_format(&text->out, ": count 0\n");
	else if (stats->real)
		view_out_format(&text->out, ": count %s, min %g, mean %g, max %g\n",
				format_number(stats->count, count), stats->real_least,
				report_stats_mean(stats), stats->real_most);
	else if (report->histogram_is_hexadecimal[item->which] && stats->least >= 0 &&
			stats->most <= UINT64_MAX)
		view_out_format(&text->out, ": count %s, min 0x%" PRIx64 ", max 0x%" PRIx64 "\n",
				format_number(stats->count, count), (uint64_t)stats->least,
				(uint64_t)stats->most);
	else
		view_out_format(&text->out, ": count %s, min %s, mean %.1f, max %s\n",
				format_number(stats->count, count), wide_text(stats->least, least),
				report_stats_mean(stats), wide_text(stats->most, most));
	print_histogram(text, stats);
	print_not_finite(text, stats);
}

int text_print_histograms(struct report_text_writer *text)
{
	const struct report *report = text->report;
	uint32_t count = report->histogram_keys.count;
	uint32_t *order = report_stats_order(report->histogram_stats, count);

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		report_text_stats_print_value_stats(text, &report->histogram_stats[order[i]]);
	free(order);
	return 0;
}

/* ---- pairs ---- */

static void print_pair_name(struct report_text_writer *text, const struct pair_rule *rule)
{
	char begin[512], end[512];

	view_out_format(&text->out, "%s%s → %s%s", text_colour(text, VIEW_COLOUR_EVENT),
			format_printable(rule->begin_text, begin, sizeof(begin)),
			format_printable(rule->end_text, end, sizeof(end)),
			text_colour(text, VIEW_COLOUR_END));
}

static void report_text_stats_print_durations(
		struct report_text_writer *text, const struct report_stats *item)
{
	static const struct {
		const char *name;
		uint32_t thousandths;
	} points[] = {{"p50", 50000}, {"p90", 90000}, {"p99", 99000}, {"p99.9", 99900}};
	const struct stats *stats = &item->stats;
	char number[FORMAT_NUMBER_MAX];

	text_begin_section(text);
	print_pair_name(text, &text->report->pairs.rules[item->which]);
	print_group_name(text, item->group);
	view_out_format(&text->out, ": %s pair%s\n", format_number(stats->count, number),
			stats->count == 1 ? "" : "s");
	view_out_format(&text->out, "  min %s", text_duration((double)stats->least, number));
	view_out_format(&text->out, "  mean %s", text_duration(report_stats_mean(stats), number));
	for (unsigned int i = 0; i < 4; i++)
		view_out_format(&text->out, "  %s %s", points[i].name,
				text_duration((double)report_stats_percentile(
							      stats, points[i].thousandths),
						number));
	view_out_format(&text->out, "  max %s\n", text_duration((double)stats->most, number));
	view_out_format(&text->out, "nanoseconds\n");
	print_histogram(text, stats);
}

static void print_line(struct report_text_writer *text, const struct report_line *line,
		int64_t from, bool mark)
{
	char offset[FORMAT_NUMBER_MAX];

	text_duration((double)(line->ns - from), offset);
	view_out_format(&text->out, "  %s %s%12s%s  ", mark ? ">" : " ",
			text_colour(text, VIEW_COLOUR_TIME), offset,
			text_colour(text, VIEW_COLOUR_END));
	view_out_put(&text->out, line->text, strlen(line->text));
	view_out_format(&text->out, "\n");
}

static void print_around(struct report_text_writer *text, const struct report_around *around,
		const struct report_slow *slow)
{
	uint64_t reach = text->report->options->around;
	uint64_t first = slow->begin.number > reach ? slow->begin.number - reach : 1;
	bool one = slow->begin.scope == slow->end_scope;
	uint64_t last = one ? slow->end_number + reach : slow->begin.number + reach;
	uint64_t before = 0;

	for (size_t i = report_around_find(around, slow->begin.scope, first);
			i < around->count && around->lines[i].scope == slow->begin.scope &&
			around->lines[i].number <= last;
			i++) {
		const struct report_line *line = &around->lines[i];

		/* Lines that were printed for another pair are left out. */
		if (line->number > slow->begin.number + reach &&
				line->number + reach < slow->end_number)
			continue;
		if (before && line->number > before + 1)
			view_out_format(&text->out, "               … %" PRIu64 " more\n",
					line->number - before - 1);
		before = line->number;
		print_line(text, line, slow->begin.ns,
				line->number == slow->begin.number ||
						(one && line->number == slow->end_number));
	}
	if (one)
		return;
	view_out_format(&text->out, "               … in another thread\n");
	first = slow->end_number > reach ? slow->end_number - reach : 1;
	for (size_t i = report_around_find(around, slow->end_scope, first);
			i < around->count && around->lines[i].scope == slow->end_scope &&
			around->lines[i].number <= slow->end_number + reach;
			i++)
		print_line(text, &around->lines[i], slow->begin.ns,
				around->lines[i].number == slow->end_number);
}

static void report_text_stats_print_slow(struct report_text_writer *text,
		const struct report_slow *slow, uint32_t rank, const struct report_around *around)
{
	char name[512], number[FORMAT_NUMBER_MAX], printable[2048];

	identity_text(&text->report->identity, slow->begin.process, name, sizeof(name));
	view_out_format(&text->out, "  #%-3u %s%10s%s  at ", rank,
			text_colour(text, VIEW_COLOUR_NUMBER),
			text_duration((double)slow->duration, number),
			text_colour(text, VIEW_COLOUR_END));
	text_put_time(text, slow->begin.ns);
	view_out_format(&text->out, "  %s%s%s", text_colour(text, VIEW_COLOUR_PROCESS),
			format_printable(name, printable, sizeof(printable)),
			text_colour(text, VIEW_COLOUR_END));
	if (slow->begin.thread >= 0)
		view_out_format(&text->out, " thread %" PRId64, slow->begin.thread);
	if (slow->begin.cpu >= 0)
		view_out_format(&text->out, " cpu%d", slow->begin.cpu);
	view_out_format(&text->out, "\n");
	if (text->report->options->around)
		print_around(text, around, slow);
}

static void report_text_stats_print_rule(struct report_text_writer *text, unsigned int number,
		const struct report_around *around)
{
	const struct pair_rule *rule = &text->report->pairs.rules[number];
	const struct report_slowest *slowest = &text->report->slowest[number];
	bool any = false;

	for (uint32_t i = 0; i < text->report->pair_keys.count; i++)
		any |= text->report->pair_stats[i].which == number;
	if (!any) {
		text_begin_section(text);
		print_pair_name(text, rule);
		view_out_format(&text->out, ": no pair\n");
	}
	if (rule->unfinished)
		view_out_format(&text->out, "%" PRIu64 " of `%s` did not end\n", rule->unfinished,
				rule->begin_text);
	if (rule->unbegun)
		view_out_format(&text->out, "%" PRIu64 " of `%s` had not begun\n", rule->unbegun,
				rule->end_text);
	if (rule->no_thread)
		view_out_format(&text->out, "%s\n", PAIRS_NO_THREAD);
	if (rule->across_loss)
		view_out_format(&text->out,
				"%" PRIu64
				" pairs span lost events: an end and the next begin may be among them\n",
				rule->across_loss);
	if (rule->negative)
		view_out_format(&text->out,
				"%" PRIu64
				" ended before they began (the clocks differ); they count as 0\n",
				rule->negative);
	if (slowest->count)
		view_out_format(&text->out, "The slowest:\n");
	for (uint32_t i = 0; i < slowest->count; i++)
		report_text_stats_print_slow(text, &slowest->items[i], i + 1, around);
}

int text_print_pairs(struct report_text_writer *text, const struct report_around *around)
{
	const struct report *report = text->report;
	uint32_t count = report->pair_keys.count, at = 0;
	uint32_t *order = report_stats_order(report->pair_stats, count);

	if (!order)
		return -ENOMEM;
	for (unsigned int rule = 0; rule < report->pairs.rule_count; rule++) {
		for (; at < count && report->pair_stats[order[at]].which == rule; at++)
			report_text_stats_print_durations(text, &report->pair_stats[order[at]]);
		report_text_stats_print_rule(text, rule, around);
	}
	free(order);
	return 0;
}
