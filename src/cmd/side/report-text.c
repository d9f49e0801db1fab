/* SPDX-License-Identifier: MIT */
/* The report for people. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/side/report-table.h"
#include "cmd/side/report.h"
#include "cmd/side/say.h"
#include "cmd/side/view-colours.h"

struct text {
	const struct report *report;
	struct view_out out;
	bool any; /* A section was printed: the next one stands behind an empty line. */
};

static void print(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void print(struct text *text, const char *format, ...)
{
	char line[4096];
	va_list arguments;
	int size;

	va_start(arguments, format);
	size = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	view_out_put(&text->out, line, size < (int)sizeof(line) ? (size_t)size : sizeof(line) - 1);
}

static const char *colour(const struct text *text, const char *code)
{
	return text->report->colour ? code : "";
}

static void begin_section(struct text *text)
{
	if (text->any)
		view_out_char(&text->out, '\n');
	text->any = true;
}

/* ---- figures ---- */

/* Four digits that count: "950 ns", "12.34 us", "1.500 ms", "75.00 s". */
static const char *duration_text(double ns, char text[SAY_NUMBER_MAX])
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	unsigned int unit = 0;
	double value = ns;

	for (; unit < 3 && fabs(value) >= 999.95; unit++)
		value /= 1000;
	if (!unit)
		snprintf(text, SAY_NUMBER_MAX, value == rint(value) ? "%.0f ns" : "%.1f ns", value);
	else
		snprintf(text, SAY_NUMBER_MAX, "%.*f %s",
				fabs(value) < 9.9995                   ? 3
						: fabs(value) < 99.995 ? 2
						: unit == 3            ? 1
								       : 1,
				value, units[unit]);
	return text;
}

static const char *rate_text(double rate, char text[SAY_NUMBER_MAX])
{
	if (rate < 0)
		snprintf(text, SAY_NUMBER_MAX, "-");
	else if (rate < 100)
		snprintf(text, SAY_NUMBER_MAX, "%.2f", rate);
	else
		say_number((uint64_t)llrint(rate), text);
	return text;
}

static const char *wide_text(__int128 number, char text[48])
{
	char digits[48];
	size_t count = 0, used = 0;
	unsigned __int128 rest =
			number < 0 ? -(unsigned __int128)number : (unsigned __int128)number;

	do
		digits[count++] = (char)('0' + (int)(rest % 10));
	while (rest /= 10);
	if (number < 0)
		text[used++] = '-';
	while (count)
		text[used++] = digits[--count];
	text[used] = '\0';
	return text;
}

/* ---- the overview ---- */

static bool is_utf8(void)
{
	const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (unsigned int i = 0; i < 3; i++) {
		const char *locale = getenv(names[i]);

		if (locale && *locale)
			return strcasestr(locale, "utf-8") || strcasestr(locale, "utf8");
	}
	return false;
}

static void print_timeline(struct text *text)
{
	static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const plain[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
	const struct timeline *timeline = &text->report->timeline;
	const char *const *ramp = is_utf8() ? blocks : plain;
	uint64_t most = 0;
	char number[SAY_NUMBER_MAX], width[SAY_NUMBER_MAX];
	double step = ldexp(1, (int)timeline->shift);

	for (uint32_t i = 0; i < timeline->used; i++)
		most = timeline->bins[i] > most ? timeline->bins[i] : most;
	if (timeline->used < 2)
		return;
	print(text, "  events/s   |");
	for (uint32_t i = 0; i < timeline->used; i++) {
		uint64_t count = timeline->bins[i];
		double part = (double)count * 8 / (double)most;
		unsigned int level = count ? 1 + (unsigned int)(part * 0.9999 * 8 / 8) : 0;

		print(text, "%s", ramp[level > 8 ? 8 : level]);
	}
	print(text, "| at most %s, each column %s\n", rate_text((double)most * 1e9 / step, number),
			duration_text(step, width));
}

static void put_time(struct text *text, int64_t ns)
{
	walk_put_time(&text->out, ns, false);
}

static void print_overview(struct text *text)
{
	const struct report *report = text->report;
	uint64_t lost = report_lost(report);
	char number[SAY_NUMBER_MAX], other[SAY_NUMBER_MAX], printable[4096];
	uint32_t processes = report_process_count(report);

	begin_section(text);
	print(text, "%s%s%s: %s event%s of %u process%s", colour(text, VIEW_COLOUR_NUMBER),
			say_printable(report->walk.options.dir, printable, sizeof(printable)),
			colour(text, VIEW_COLOUR_END), say_number(report->events, number),
			report->events == 1 ? "" : "s", processes, processes == 1 ? "" : "es");
	if (report->timeline.started) {
		double duration = (double)(report->last_ns - report->first_ns);

		print(text, " in %s", duration_text(duration, number));
		if (duration > 0)
			print(text, ", %s events/s",
					rate_text(report_rate(report, report->events), other));
		print(text, "\n  from       ");
		put_time(text, report->first_ns);
		print(text, " to ");
		put_time(text, report->last_ns);
	}
	print(text, "\n");
	print_timeline(text);
	if (lost)
		print(text, "  %slost       %s event%s; `--losses` says which%s\n",
				colour(text, VIEW_COLOUR_LOST), say_number(lost, number),
				lost == 1 ? "" : "s", colour(text, VIEW_COLOUR_END));
	if (report->lost_packets)
		print(text, "  %slost       %s packet%s%s\n", colour(text, VIEW_COLOUR_LOST),
				say_number(report->lost_packets, number),
				report->lost_packets == 1 ? "" : "s",
				colour(text, VIEW_COLOUR_END));
}

/* ---- tables ---- */

static uint32_t rows_shown(const struct report *report, uint32_t count)
{
	return report->options->rows && report->options->rows < count
			? (uint32_t)report->options->rows
			: count;
}

static void say_rest(struct text *text, uint32_t shown, uint32_t count)
{
	if (shown < count)
		print(text, "… and %u more\n", count - shown);
}

static void put_share(struct table *table, uint64_t part, uint64_t all)
{
	table_format(table, "%.1f%%", all ? (double)part * 100 / (double)all : 0.0);
}

static void print_processes(struct text *text)
{
	static const struct table_column columns[] = {
			{"PROCESS", false, VIEW_COLOUR_PROCESS},
			{"EVENTS", true, VIEW_COLOUR_NUMBER},
			{"SHARE", true, NULL},
			{"EVENTS/S", true, NULL},
			{"LOST", true, VIEW_COLOUR_LOST},
	};
	const struct report *report = text->report;
	struct table table = {columns, 5, report->colour, NULL, 0, 0, false};
	uint32_t count = report_process_count(report), shown = rows_shown(report, count),
		 left = shown;
	char cell[SAY_NUMBER_MAX], name[512];

	if (!count)
		return;
	begin_section(text);
	for (uint32_t i = 0; left; i++) {
		struct report_process nothing = {0};
		const struct report_process *process =
				i < report->process_room ? &report->processes[i] : &nothing;

		if (!report_is_process(report, i))
			continue;
		left--;
		who_text(&report->who, i, name, sizeof(name));
		table_put(&table, name);
		table_put(&table, say_number(process->events, cell));
		put_share(&table, process->events, report->events);
		table_put(&table, rate_text(report_rate(report, process->events), cell));
		table_put(&table,
				report_process_lost(process)
						? say_number(report_process_lost(process), cell)
						: "");
	}
	table_print(&table, &text->out);
	say_rest(text, shown, count);
}

static int print_counts(struct text *text)
{
	static const struct table_column columns[] = {
			{"EVENT", false, VIEW_COLOUR_EVENT},
			{"COUNT", true, VIEW_COLOUR_NUMBER},
			{"SHARE", true, NULL},
			{"EVENTS/S", true, NULL},
			{"BY", false, VIEW_COLOUR_PROCESS},
	};
	const struct report *report = text->report;
	struct table table = {columns, report->by == BY_NOTHING ? 4 : 5, report->colour, NULL, 0, 0,
			false};
	uint32_t count = report->row_keys.count, shown = rows_shown(report, count);
	uint32_t *order = report_row_order(report);
	char cell[1200];

	if (!order)
		return -ENOMEM;
	begin_section(text);
	for (uint32_t i = 0; i < shown; i++) {
		const struct report_row *row = &report->rows[order[i]];

		table_put(&table, (const char *)report->names.entries[row->name].bytes);
		table_put(&table, say_number(row->count, cell));
		put_share(&table, row->count, report->events);
		table_put(&table, rate_text(report_rate(report, row->count), cell));
		if (report->by != BY_NOTHING) {
			report_group_text(report, row->group, cell, sizeof(cell));
			table_put(&table, cell);
		}
	}
	table_print(&table, &text->out);
	say_rest(text, shown, count);
	free(order);
	return 0;
}

static int print_losses(struct text *text)
{
	static const struct table_column columns[] = {
			{"LOST", true, VIEW_COLOUR_LOST},
			{"PROCESS", false, VIEW_COLOUR_PROCESS},
			{"RING", false, NULL},
			{"EVENT", false, VIEW_COLOUR_EVENT},
			{"REASON", false, NULL},
	};
	const struct report *report = text->report;
	struct table table = {columns, 5, report->colour, NULL, 0, 0, false};
	uint32_t count, shown, *order = report_loss_order(report, &count);
	char cell[512];

	if (!order)
		return -ENOMEM;
	begin_section(text);
	shown = rows_shown(report, count);
	for (uint32_t i = 0; i < shown; i++) {
		const struct report_loss *loss = &report->loss_items[order[i]];

		table_put(&table, say_number(loss->count, cell));
		who_text(&report->who, loss->process, cell, sizeof(cell));
		table_put(&table, cell);
		table_put(&table, loss->ring);
		table_put(&table, *loss->event ? loss->event : "-");
		table_put(&table,
				loss->packets                   ? "whole packets are missing"
						: *loss->reason ? loss->reason
								: "not said, only counted");
	}
	if (count)
		table_print(&table, &text->out);
	else
		print(text, "Nothing was lost.\n");
	say_rest(text, shown, count);
	free(order);
	return 0;
}

static int print_callers(struct text *text)
{
	static const struct table_column columns[] = {
			{"CALLER", false, VIEW_COLOUR_NAME},
			{"COUNT", true, VIEW_COLOUR_NUMBER},
			{"SHARE", true, NULL},
			{"PROCESS", false, VIEW_COLOUR_PROCESS},
			{"ADDRESS", true, NULL},
	};
	const struct report *report = text->report;
	struct table table = {columns, 5, report->colour, NULL, 0, 0, false};
	struct report_symbols *symbols = report_symbols_create();
	uint32_t count, *order = report_caller_order(report, &count);
	char cell[1400];

	if (!order || !symbols) {
		free(order);
		report_symbols_free(symbols);
		return -ENOMEM;
	}
	begin_section(text);
	for (uint32_t i = 0; i < count; i++) {
		const struct report_caller *caller = &report->callers[order[i]];
		struct report_symbol symbol;

		report_symbol_find(symbols, ctf_reader_trace(report->walk.reader, caller->trace),
				caller->address, &symbol);
		if (*symbol.function)
			table_format(&table, "%s+0x%" PRIx64 " (%s)", symbol.function,
					symbol.inside, symbol.module);
		else if (symbol.module)
			table_format(&table, "%s+0x%" PRIx64, symbol.module, symbol.offset);
		else
			table_put(&table, "-");
		table_put(&table, say_number(caller->count, cell));
		put_share(&table, caller->count, report->events);
		who_text(&report->who, caller->process, cell, sizeof(cell));
		table_put(&table, cell);
		table_format(&table, "0x%" PRIx64, caller->address);
	}
	table_print(&table, &text->out);
	free(order);
	report_symbols_free(symbols);
	return 0;
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

static void print_bar(struct text *text, const char *label, uint64_t count, uint64_t most)
{
	int width = (int)((unsigned __int128)count * BAR_WIDTH / (most ? most : 1));
	char bar[BAR_WIDTH + 1];

	memset(bar, '@', (size_t)width);
	bar[width] = '\0';
	print(text, "%-16s %10" PRIu64 " |%s%-*s%s|\n", label, count,
			colour(text, VIEW_COLOUR_NAME), BAR_WIDTH, bar,
			colour(text, VIEW_COLOUR_END));
}

/* From the first bucket that has something to the last. */
static void print_histogram(struct text *text, const struct figures *figures)
{
	uint64_t powers[FIGURES_POWERS], most = figures->negative;
	unsigned int first = FIGURES_POWERS, last = 0;
	char label[48], from[16], to[16];

	figures_powers(figures, powers);
	for (unsigned int i = 0; i < FIGURES_POWERS; i++) {
		if (!powers[i])
			continue;
		first = i < first ? i : first;
		last = i;
		most = powers[i] > most ? powers[i] : most;
	}
	if (figures->negative)
		print_bar(text, "(..., 0)", figures->negative, most);
	for (unsigned int i = first; i <= last; i++) {
		if (i < 2)
			snprintf(label, sizeof(label), "[%u]", i);
		else
			snprintf(label, sizeof(label), "[%s, %s)", power_text(i - 1, from),
					i == 64 ? "16E" : power_text(i, to));
		print_bar(text, label, powers[i], most);
	}
}

static void print_group_name(struct text *text, uint32_t group)
{
	char name[1200], printable[4800];

	if (text->report->by == BY_NOTHING)
		return;
	report_group_text(text->report, group, name, sizeof(name));
	print(text, " %s[%s]%s", colour(text, VIEW_COLOUR_PROCESS),
			say_printable(name, printable, sizeof(printable)),
			colour(text, VIEW_COLOUR_END));
}

static void print_value_figures(struct text *text, const struct report_figures *item)
{
	const struct report *report = text->report;
	const struct figures *figures = &item->figures;
	char least[48], most[48], count[SAY_NUMBER_MAX], printable[1024];

	begin_section(text);
	print(text, "%s%s%s", colour(text, VIEW_COLOUR_NUMBER),
			say_printable(report->histograms[item->which].text, printable,
					sizeof(printable)),
			colour(text, VIEW_COLOUR_END));
	print_group_name(text, item->group);
	if (figures->real)
		print(text, ": count %s, min %g, mean %g, max %g\n",
				say_number(figures->count, count), figures->real_least,
				figures_mean(figures), figures->real_most);
	else
		print(text, ": count %s, min %s, mean %.1f, max %s\n",
				say_number(figures->count, count), wide_text(figures->least, least),
				figures_mean(figures), wide_text(figures->most, most));
	print_histogram(text, figures);
}

static int print_histograms(struct text *text)
{
	const struct report *report = text->report;
	uint32_t count = report->histogram_keys.count;
	uint32_t *order = report_figures_order(report->histogram_figures, count);

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		print_value_figures(text, &report->histogram_figures[order[i]]);
	free(order);
	return 0;
}

/* ---- pairs ---- */

static void print_pair_name(struct text *text, const struct pair_rule *rule)
{
	char begin[512], end[512];

	print(text, "%s%s → %s%s", colour(text, VIEW_COLOUR_EVENT),
			say_printable(rule->begin_text, begin, sizeof(begin)),
			say_printable(rule->end_text, end, sizeof(end)),
			colour(text, VIEW_COLOUR_END));
}

static void print_durations(struct text *text, const struct report_figures *item)
{
	static const struct {
		const char *name;
		uint32_t thousandths;
	} points[] = {{"p50", 50000}, {"p90", 90000}, {"p99", 99000}, {"p99.9", 99900}};
	const struct figures *figures = &item->figures;
	char number[SAY_NUMBER_MAX];

	begin_section(text);
	print_pair_name(text, &text->report->pairs.rules[item->which]);
	print_group_name(text, item->group);
	print(text, ": %s pair%s\n", say_number(figures->count, number),
			figures->count == 1 ? "" : "s");
	print(text, "  min %s", duration_text((double)figures->least, number));
	print(text, "  mean %s", duration_text(figures_mean(figures), number));
	for (unsigned int i = 0; i < 4; i++)
		print(text, "  %s %s", points[i].name,
				duration_text((double)figures_percentile(
							      figures, points[i].thousandths),
						number));
	print(text, "  max %s\n", duration_text((double)figures->most, number));
	print(text, "nanoseconds\n");
	print_histogram(text, figures);
}

static void print_line(struct text *text, const struct report_line *line, int64_t from, bool mark)
{
	char offset[SAY_NUMBER_MAX];

	duration_text((double)(line->ns - from), offset);
	print(text, "  %s %s%12s%s  ", mark ? ">" : " ", colour(text, VIEW_COLOUR_TIME), offset,
			colour(text, VIEW_COLOUR_END));
	view_out_put(&text->out, line->text, strlen(line->text));
	print(text, "\n");
}

static void print_around(struct text *text, const struct report_around *around,
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

		/* Lines that stand there for another pair are not shown. */
		if (line->number > slow->begin.number + reach &&
				line->number + reach < slow->end_number)
			continue;
		if (before && line->number > before + 1)
			print(text, "               … %" PRIu64 " more\n",
					line->number - before - 1);
		before = line->number;
		print_line(text, line, slow->begin.ns,
				line->number == slow->begin.number ||
						(one && line->number == slow->end_number));
	}
	if (one)
		return;
	print(text, "               … in another thread\n");
	first = slow->end_number > reach ? slow->end_number - reach : 1;
	for (size_t i = report_around_find(around, slow->end_scope, first);
			i < around->count && around->lines[i].scope == slow->end_scope &&
			around->lines[i].number <= slow->end_number + reach;
			i++)
		print_line(text, &around->lines[i], slow->begin.ns,
				around->lines[i].number == slow->end_number);
}

static void print_slow(struct text *text, const struct report_slow *slow, uint32_t rank,
		const struct report_around *around)
{
	char name[512], number[SAY_NUMBER_MAX], printable[2048];

	who_text(&text->report->who, slow->begin.process, name, sizeof(name));
	print(text, "  #%-3u %s%10s%s  at ", rank, colour(text, VIEW_COLOUR_NUMBER),
			duration_text((double)slow->duration, number),
			colour(text, VIEW_COLOUR_END));
	put_time(text, slow->begin.ns);
	print(text, "  %s%s%s", colour(text, VIEW_COLOUR_PROCESS),
			say_printable(name, printable, sizeof(printable)),
			colour(text, VIEW_COLOUR_END));
	if (slow->begin.thread >= 0)
		print(text, " thread %" PRId64, slow->begin.thread);
	if (slow->begin.cpu >= 0)
		print(text, " cpu%d", slow->begin.cpu);
	print(text, "\n");
	if (text->report->options->around)
		print_around(text, around, slow);
}

static void print_rule(struct text *text, unsigned int number, const struct report_around *around)
{
	const struct pair_rule *rule = &text->report->pairs.rules[number];
	const struct report_slowest *slowest = &text->report->slowest[number];
	bool any = false;

	for (uint32_t i = 0; i < text->report->pair_keys.count; i++)
		any |= text->report->pair_figures[i].which == number;
	if (!any) {
		begin_section(text);
		print_pair_name(text, rule);
		print(text, ": no pair\n");
	}
	if (rule->unfinished)
		print(text, "%" PRIu64 " of `%s` did not end\n", rule->unfinished,
				rule->begin_text);
	if (rule->unbegun)
		print(text, "%" PRIu64 " of `%s` had not begun\n", rule->unbegun, rule->end_text);
	if (rule->negative)
		print(text,
				"%" PRIu64
				" ended before they began (the clocks disagree); they count as "
				"0\n",
				rule->negative);
	if (slowest->count)
		print(text, "The slowest:\n");
	for (uint32_t i = 0; i < slowest->count; i++)
		print_slow(text, &slowest->items[i], i + 1, around);
}

static int print_pairs(struct text *text, const struct report_around *around)
{
	const struct report *report = text->report;
	uint32_t count = report->pair_keys.count, at = 0;
	uint32_t *order = report_figures_order(report->pair_figures, count);

	if (!order)
		return -ENOMEM;
	for (unsigned int rule = 0; rule < report->pairs.rule_count; rule++) {
		for (; at < count && report->pair_figures[order[at]].which == rule; at++)
			print_durations(text, &report->pair_figures[order[at]]);
		print_rule(text, rule, around);
	}
	free(order);
	return 0;
}

int report_print_text(struct report *report, const struct report_around *around)
{
	struct text text = {.report = report};
	int ret = 0;

	print_overview(&text);
	if (report->counts) {
		print_processes(&text);
		ret = print_counts(&text);
	}
	if (!ret && report->histogram_count)
		ret = print_histograms(&text);
	if (!ret && report->pairs.rule_count)
		ret = print_pairs(&text, around);
	if (!ret && report->options->callers)
		ret = print_callers(&text);
	if (!ret && report->losses)
		ret = print_losses(&text);
	if (!ret && text.out.failed)
		ret = -ENOMEM;
	if (!ret) {
		fwrite(text.out.begin, 1, view_out_size(&text.out), stdout);
		ret = say_flush(stdout);
	}
	view_out_free(&text.out);
	return ret;
}
