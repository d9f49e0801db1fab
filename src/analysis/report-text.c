/* SPDX-License-Identifier: MIT */
/* The text report. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report-table.h"
#include "analysis/report-text.h"

const char *text_colour(const struct report_text_writer *text, const char *code)
{
	return text->report->colour ? code : "";
}

void text_begin_section(struct report_text_writer *text)
{
	if (text->any)
		view_out_char(&text->out, '\n');
	text->any = true;
}

/* ---- figures ---- */

/* Four significant digits: "950 ns", "12.34 us", "1.500 ms", "75.00 s". */
const char *text_duration(double ns, char duration[FORMAT_NUMBER_MAX])
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	unsigned int unit = 0;
	double value = ns;

	for (; unit < 3 && fabs(value) >= 999.95; unit++)
		value /= 1000;
	if (!unit)
		snprintf(duration, FORMAT_NUMBER_MAX, value == rint(value) ? "%.0f ns" : "%.1f ns",
				value);
	else
		snprintf(duration, FORMAT_NUMBER_MAX, "%.*f %s",
				fabs(value) < 9.9995                   ? 3
						: fabs(value) < 99.995 ? 2
						: unit == 3            ? 1
								       : 1,
				value, units[unit]);
	return duration;
}

static const char *rate_text(double rate, char text[FORMAT_NUMBER_MAX])
{
	if (rate < 0)
		snprintf(text, FORMAT_NUMBER_MAX, "-");
	else if (rate < 100)
		snprintf(text, FORMAT_NUMBER_MAX, "%.2f", rate);
	else
		format_number((uint64_t)llrint(rate), text);
	return text;
}

/* ---- the overview ---- */

bool text_is_utf8(void)
{
	const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (unsigned int i = 0; i < 3; i++) {
		const char *locale = getenv(names[i]);

		if (locale && *locale)
			return strcasestr(locale, "utf-8") || strcasestr(locale, "utf8");
	}
	return false;
}

static void print_timeline(struct report_text_writer *text)
{
	static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const plain[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
	const struct timeline *timeline = &text->report->timeline;
	const char *const *ramp = text_is_utf8() ? blocks : plain;
	uint64_t most = 0;
	char number[FORMAT_NUMBER_MAX], width[FORMAT_NUMBER_MAX];
	double step = ldexp(1, (int)timeline->shift);

	for (uint32_t i = 0; i < timeline->used; i++)
		most = timeline->bins[i] > most ? timeline->bins[i] : most;
	if (timeline->used < 2)
		return;
	view_out_format(&text->out, "  events/s   |");
	for (uint32_t i = 0; i < timeline->used; i++) {
		uint64_t count = timeline->bins[i];
		double part = (double)count * 8 / (double)most;
		/* 1 to 8: the scaled value is below 8 before 1 is added. */
		unsigned int level = count ? 1 + (unsigned int)(part * 0.9999) : 0;

		view_out_format(&text->out, "%s", ramp[level]);
	}
	view_out_format(&text->out, "| at most %s, each column %s\n",
			rate_text((double)most * 1e9 / step, number), text_duration(step, width));
}

void text_put_time(struct report_text_writer *text, int64_t ns)
{
	walk_put_time(&text->out, ns, false);
}

static void report_text_print_overview(struct report_text_writer *text)
{
	const struct report *report = text->report;
	uint64_t lost = report_lost(report);
	char number[FORMAT_NUMBER_MAX], other[FORMAT_NUMBER_MAX], printable[4096];
	uint32_t processes = report_process_count(report);

	text_begin_section(text);
	view_out_format(&text->out, "%s%s%s: %s event%s of %u process%s",
			text_colour(text, VIEW_COLOUR_NUMBER),
			format_printable(report->walk.options.dir, printable, sizeof(printable)),
			text_colour(text, VIEW_COLOUR_END), format_number(report->events, number),
			report->events == 1 ? "" : "s", processes, processes == 1 ? "" : "es");
	if (report->timeline.started) {
		double duration = (double)(report->last_ns - report->first_ns);

		view_out_format(&text->out, " in %s", text_duration(duration, number));
		if (duration > 0)
			view_out_format(&text->out, ", %s events/s",
					rate_text(report_rate(report, report->events), other));
		view_out_format(&text->out, "\n  from       ");
		text_put_time(text, report->first_ns);
		view_out_format(&text->out, " to ");
		text_put_time(text, report->last_ns);
	}
	view_out_format(&text->out, "\n");
	print_timeline(text);
	if (lost)
		view_out_format(&text->out, "  %slost       %s event%s; `--losses` lists them%s\n",
				text_colour(text, VIEW_COLOUR_LOST), format_number(lost, number),
				lost == 1 ? "" : "s", text_colour(text, VIEW_COLOUR_END));
	if (report->lost_packets)
		view_out_format(&text->out, "  %slost       %s packet%s%s\n",
				text_colour(text, VIEW_COLOUR_LOST),
				format_number(report->lost_packets, number),
				report->lost_packets == 1 ? "" : "s",
				text_colour(text, VIEW_COLOUR_END));
	if (report->lost_bytes)
		view_out_format(&text->out,
				"  %slost       %s of events that could not be written%s\n",
				text_colour(text, VIEW_COLOUR_LOST),
				format_size(report->lost_bytes, number),
				text_colour(text, VIEW_COLOUR_END));
}

/* ---- tables ---- */

uint32_t text_rows_shown(const struct report *report, uint32_t count)
{
	return report->options->rows && report->options->rows < count
			? (uint32_t)report->options->rows
			: count;
}

void text_print_remainder(struct report_text_writer *text, uint32_t shown, uint32_t count)
{
	if (shown < count)
		view_out_format(&text->out, "… and %u more\n", count - shown);
}

static void put_share(struct report_table *table, uint64_t part, uint64_t all)
{
	table_format(table, "%.1f%%", all ? (double)part * 100 / (double)all : 0.0);
}

static void report_text_print_processes(struct report_text_writer *text)
{
	static const struct table_column columns[] = {
			{"PROCESS", false, VIEW_COLOUR_PROCESS},
			{"EVENTS", true, VIEW_COLOUR_NUMBER},
			{"SHARE", true, NULL},
			{"EVENTS/S", true, NULL},
			{"LOST", true, VIEW_COLOUR_LOST},
	};
	const struct report *report = text->report;
	struct report_table table = {columns, 5, report->colour, NULL, 0, 0, false};
	uint32_t count = report_process_count(report), shown = text_rows_shown(report, count),
		 left = shown;
	char entry[FORMAT_NUMBER_MAX], name[512];

	if (!count)
		return;
	text_begin_section(text);
	for (uint32_t i = 0; left; i++) {
		struct report_process nothing = {0};
		const struct report_process *process =
				i < report->process_capacity ? &report->processes[i] : &nothing;

		if (!report_is_process(report, i))
			continue;
		left--;
		identity_text(&report->identity, i, name, sizeof(name));
		table_put(&table, name);
		table_put(&table, format_number(process->events, entry));
		put_share(&table, process->events, report->events);
		table_put(&table, rate_text(report_rate(report, process->events), entry));
		table_put(&table,
				report_process_lost(process)
						? format_number(report_process_lost(process), entry)
						: "");
	}
	table_print(&table, &text->out);
	text_print_remainder(text, shown, count);
}

static int report_text_print_counts(struct report_text_writer *text)
{
	static const struct table_column columns[] = {
			{"EVENT", false, VIEW_COLOUR_EVENT},
			{"COUNT", true, VIEW_COLOUR_NUMBER},
			{"SHARE", true, NULL},
			{"EVENTS/S", true, NULL},
			{"BY", false, VIEW_COLOUR_PROCESS},
	};
	const struct report *report = text->report;
	struct report_table table = {columns, report->by == BY_NOTHING ? 4 : 5, report->colour,
			NULL, 0, 0, false};
	uint32_t count = report->row_keys.count, shown = text_rows_shown(report, count);
	uint32_t *order = report_row_order(report);
	char entry[1200];

	if (!order)
		return -ENOMEM;
	text_begin_section(text);
	for (uint32_t i = 0; i < shown; i++) {
		const struct report_row *row = &report->rows[order[i]];

		table_put(&table, (const char *)report->names.entries[row->name].bytes);
		table_put(&table, format_number(row->count, entry));
		put_share(&table, row->count, report->events);
		table_put(&table, rate_text(report_rate(report, row->count), entry));
		if (report->by != BY_NOTHING) {
			report_group_text(report, row->group, entry, sizeof(entry));
			table_put(&table, entry);
		}
	}
	table_print(&table, &text->out);
	text_print_remainder(text, shown, count);
	free(order);
	return 0;
}

static int report_text_print_losses(struct report_text_writer *text)
{
	static const struct table_column columns[] = {
			{"LOST", true, VIEW_COLOUR_LOST},
			{"PROCESS", false, VIEW_COLOUR_PROCESS},
			{"RING", false, NULL},
			{"EVENT", false, VIEW_COLOUR_EVENT},
			{"REASON", false, NULL},
	};
	const struct report *report = text->report;
	struct report_table table = {columns, 5, report->colour, NULL, 0, 0, false};
	uint32_t count, shown, *order = report_loss_order(report, &count);
	char entry[512];

	if (!order)
		return -ENOMEM;
	text_begin_section(text);
	shown = text_rows_shown(report, count);
	for (uint32_t i = 0; i < shown; i++) {
		const struct report_loss *loss = &report->loss_items[order[i]];

		table_put(&table,
				loss->bytes ? format_size(loss->count, entry)
					    : format_number(loss->count, entry));
		identity_text(&report->identity, loss->process, entry, sizeof(entry));
		table_put(&table, entry);
		table_put(&table, loss->ring);
		table_put(&table, *loss->event ? loss->event : "-");
		table_put(&table,
				loss->packets                   ? "whole packets are missing"
						: *loss->reason ? loss->reason
								: "unknown, only counted");
	}
	if (count)
		table_print(&table, &text->out);
	else
		view_out_format(&text->out, "Nothing was lost.\n");
	text_print_remainder(text, shown, count);
	free(order);
	return 0;
}

static const struct symbol *symbol_of(
		const struct report *report, const struct report_caller *caller)
{
	return address_symbol(report->symbols, &caller->address);
}

static bool any_source(const struct report *report, const uint32_t *order, uint32_t count)
{
	uint32_t i = 0;

	while (i < count && !symbol_of(report, &report->callers[order[i]])->file)
		i++;
	return i < count;
}

static void report_text_print_caller(struct report_table *table, const struct symbol *symbol)
{
	char text[2 * 4096 + 64];

	table_put(table, report_symbol_text(symbol, text, sizeof(text)) ? text : "-");
}

static void put_source(struct report_table *table, const struct symbol *symbol)
{
	if (symbol->file)
		table_format(table, "%s:%u", symbol->file, symbol->line);
	else
		table_put(table, "-");
}

static int report_text_print_callers(struct report_text_writer *text)
{
	static const struct table_column address = {"ADDRESS", true, NULL};
	struct table_column columns[] = {
			{"CALLER", false, VIEW_COLOUR_NAME},
			{"COUNT", true, VIEW_COLOUR_NUMBER},
			{"SHARE", true, NULL},
			{"PROCESS", false, VIEW_COLOUR_PROCESS},
			{"SOURCE", false, NULL},
			address,
	};
	const struct report *report = text->report;
	struct report_table table = {columns, 6, report->colour, NULL, 0, 0, false};
	uint32_t count, *order = report_caller_order(report, &count);
	char entry[1400];
	bool sources;

	if (!order)
		return -ENOMEM;
	sources = any_source(report, order, count);
	if (!sources)
		columns[--table.count - 1] = address;
	text_begin_section(text);
	for (uint32_t i = 0; i < count; i++) {
		const struct report_caller *caller = &report->callers[order[i]];
		const struct symbol *symbol = symbol_of(report, caller);

		report_text_print_caller(&table, symbol);
		table_put(&table, format_number(caller->count, entry));
		put_share(&table, caller->count, report->events);
		identity_text(&report->identity, caller->process, entry, sizeof(entry));
		table_put(&table, entry);
		if (sources)
			put_source(&table, symbol);
		table_format(&table, "0x%" PRIx64, caller->address.address);
	}
	table_print(&table, &text->out);
	free(order);
	return 0;
}

int report_print_text(struct report *report, const struct report_around *around, FILE *out)
{
	struct report_text_writer text = {.report = report};
	int ret = 0;

	report_text_print_overview(&text);
	if (report->counts) {
		report_text_print_processes(&text);
		ret = report_text_print_counts(&text);
	}
	if (!ret && report->histogram_count)
		ret = text_print_histograms(&text);
	if (!ret && report->pairs.rule_count)
		ret = text_print_pairs(&text, around);
	if (!ret && report->options->calls)
		ret = text_print_calls(&text);
	if (!ret && report->options->tree)
		ret = text_print_tree(&text);
	if (!ret && report->options->callers)
		ret = report_text_print_callers(&text);
	if (!ret && report->losses)
		ret = report_text_print_losses(&text);
	return view_out_end(&text.out, out, ret);
}
