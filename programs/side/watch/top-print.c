/* SPDX-License-Identifier: MIT */
/* Prints one interval of `side top`, as a table for people or as lines of JSON. */
#include "programs/side/watch/top-print.h"

#include "analysis/json-line.h"
#include "analysis/trace-symbols.h"
#include "programs/common/message.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define PERCENTILE(percent) ((uint32_t)((percent)*1000))
#define NAME_WIDTH 44
#define CALLER_COLUMN 32 /* text before the caller in a line */

static double top_print_rate(const struct top_view *view, uint64_t now, uint64_t before)
{
	/* A restarted recorder counts from zero. */
	uint64_t more = now >= before ? now - before : now;

	return view->seconds > 0 ? (double)more / view->seconds : 0;
}

static double top_print_event_rate(const struct top_view *view, uint64_t count)
{
	return view->event_seconds > 0 ? (double)count / view->event_seconds : 0;
}

static int top_print_compare_processes(const void *one, const void *other, void *user)
{
	const struct top_view *view = user;
	const struct top_process *a = *(struct top_process *const *)one,
				 *b = *(struct top_process *const *)other;
	double x = top_print_rate(view, a->bytes, a->bytes_before),
	       y = top_print_rate(view, b->bytes, b->bytes_before);

	if (x != y)
		return x > y ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

/* The processes, sorted by byte rate. The caller frees the array. NULL: out of memory. */
static const struct top_process **top_print_sort_processes(const struct top_view *view)
{
	const struct top_process **order = calloc(view->nr_processes + 1, sizeof(*order));

	for (size_t i = 0; order && i < view->nr_processes; i++)
		order[i] = &view->processes[i];
	if (order && view->nr_processes)
		qsort_r(order, view->nr_processes, sizeof(*order), top_print_compare_processes,
				(void *)(uintptr_t)view);
	return order;
}

/* ---- text ---- */

/* Counts the remaining lines of the screen. */
struct top_page {
	FILE *out;
	unsigned int left;
	bool bounded;
	const char *strong, *bad, *plain;
};

static bool top_print_claim_line(struct top_page *page)
{
	if (!page->bounded)
		return true;
	if (!page->left)
		return false;
	page->left--;
	return true;
}

static const char *top_print_round(double number, char text[FORMAT_NUMBER_MAX])
{
	return format_number((uint64_t)(number + 0.5), text);
}

static const char *top_print_duration(uint64_t ns, char text[FORMAT_NUMBER_MAX])
{
	if (ns < 10000)
		snprintf(text, FORMAT_NUMBER_MAX, "%" PRIu64 " ns", ns);
	else if (ns < 10000000)
		snprintf(text, FORMAT_NUMBER_MAX, "%.1f us", (double)ns / 1e3);
	else if (ns < UINT64_C(10000000000))
		snprintf(text, FORMAT_NUMBER_MAX, "%.1f ms", (double)ns / 1e6);
	else
		snprintf(text, FORMAT_NUMBER_MAX, "%.1f s", (double)ns / 1e9);
	return text;
}

static void top_print_head(const struct top_view *view, struct top_page *page)
{
	double lost = top_print_rate(view, view->lost, view->lost_before);
	char events[FORMAT_NUMBER_MAX], bytes[FORMAT_NUMBER_MAX], speed[FORMAT_NUMBER_MAX],
			losses[FORMAT_NUMBER_MAX], now[FORMAT_NUMBER_MAX];

	if (!top_print_claim_line(page))
		return;
	fprintf(page->out, "%s%s%s  %s  %s, %s, %s/s  %slost %s, %s/s%s\n", page->strong,
			view->session, page->plain, view->state,
			format_events(view->recorded, events), format_size(view->bytes, bytes),
			format_size((uint64_t)top_print_rate(view, view->bytes, view->bytes_before),
					speed),
			view->lost ? page->bad : "", format_number(view->lost, losses),
			top_print_round(lost, now), view->lost ? page->plain : "");
}

static int top_print_processes(
		const struct top_view *view, struct top_page *page, unsigned int most)
{
	const struct top_process **order = top_print_sort_processes(view);

	if (!order)
		return -ENOMEM;
	if (top_print_claim_line(page) && top_print_claim_line(page))
		fprintf(page->out, "\n%s%-24s %9s %12s %14s %10s %10s%s\n", page->strong, "PROCESS",
				"PID", "EVENTS/S", "BYTES/S", "LOST/S", "LOST", page->plain);
	for (size_t i = 0; i < view->nr_processes && i < most && top_print_claim_line(page); i++) {
		const struct top_process *process = order[i];
		struct top_event count =
				top_trace_process(&view->trace, process->name, process->vpid);
		char name[80], events[FORMAT_NUMBER_MAX], bytes[FORMAT_NUMBER_MAX],
				now[FORMAT_NUMBER_MAX], lost[FORMAT_NUMBER_MAX];

		fprintf(page->out, "%-24.24s %9" PRIu64 " %12s %14s %s%10s %10s%s\n",
				format_printable(process->name, name, sizeof(name)), process->pid,
				top_print_round(top_print_event_rate(view, count.count), events),
				format_size((uint64_t)top_print_rate(view, process->bytes,
							    process->bytes_before),
						bytes),
				process->lost ? page->bad : "",
				top_print_round(top_print_rate(view, process->lost,
								process->lost_before),
						now),
				format_number(process->lost, lost),
				process->lost ? page->plain : "");
	}
	free(order);
	return 0;
}

static int top_print_events(const struct top_view *view, struct top_page *page)
{
	uint32_t *order = top_trace_order(&view->trace);

	if (!order)
		return -ENOMEM;
	if (view->trace.names.count && top_print_claim_line(page) && top_print_claim_line(page))
		fprintf(page->out, "\n%s%-*s %14s %16s%s\n", page->strong, NAME_WIDTH, "EVENT",
				"EVENTS/S", "EVENTS", page->plain);
	for (uint32_t i = 0; i < view->trace.names.count && top_print_claim_line(page); i++) {
		const struct top_event *event = &view->trace.events[order[i]];
		char name[512], now[FORMAT_NUMBER_MAX], all[FORMAT_NUMBER_MAX];

		format_printable(top_trace_name(&view->trace, order[i]), name, sizeof(name));
		fprintf(page->out, "%-*.*s %14s %16s\n", NAME_WIDTH, NAME_WIDTH, name,
				top_print_round(top_print_event_rate(view, event->count), now),
				format_number(event->all, all));
	}
	free(order);
	return 0;
}

static void top_print_durations(const struct top_view *view, struct top_page *page)
{
	const struct report_pairs *pairs = &view->trace.pairs;

	bool no_thread = false;

	if (!pairs->rule_count || !top_print_claim_line(page) || !top_print_claim_line(page))
		return;
	fprintf(page->out, "\n%s%-*s %10s %10s %10s %10s%s\n", page->strong, NAME_WIDTH, "PAIR",
			"PAIRS/S", "P50", "P99", "MAX", page->plain);
	for (unsigned int i = 0; i < pairs->rule_count && top_print_claim_line(page); i++) {
		const struct stats *stats = &view->trace.durations[i];
		char name[1024], now[FORMAT_NUMBER_MAX], p50[FORMAT_NUMBER_MAX] = "-",
							 p99[FORMAT_NUMBER_MAX] = "-",
							 most[FORMAT_NUMBER_MAX] = "-";

		snprintf(name, sizeof(name), "%s .. %s", pairs->rules[i].begin_text,
				pairs->rules[i].end_text);
		if (stats->count) {
			top_print_duration(report_stats_percentile(stats, PERCENTILE(50)), p50);
			top_print_duration(report_stats_percentile(stats, PERCENTILE(99)), p99);
			top_print_duration((uint64_t)stats->most, most);
		}
		fprintf(page->out, "%-*.*s %10s %10s %10s %10s\n", NAME_WIDTH, NAME_WIDTH, name,
				top_print_round(top_print_event_rate(view, stats->count), now), p50,
				p99, most);
		no_thread |= pairs->rules[i].no_thread;
	}
	if (no_thread && top_print_claim_line(page))
		fprintf(page->out, "%s\n", PAIRS_NO_THREAD);
}

/* A line is cut at the edge of the screen. */
static int top_print_callers(const struct top_view *view, struct top_page *page)
{
	const struct top_callers *callers = &view->trace.callers;
	int width = page->bounded && view->columns > CALLER_COLUMN
			? (int)(view->columns - CALLER_COLUMN)
			: INT_MAX;
	uint32_t count, *order = callers->most ? top_callers_order(callers, &count) : NULL;
	struct view_out text = {.begin = NULL};
	struct view_sink sink = {.ops = &view_text_ops, .out = &text};

	if (!callers->most)
		return 0;
	if (order && count && top_print_claim_line(page) && top_print_claim_line(page))
		fprintf(page->out, "\n%s%14s %16s %s%s\n", page->strong, "EVENTS/S", "EVENTS",
				"CALLER", page->plain);
	for (uint32_t i = 0; order && i < count && top_print_claim_line(page); i++) {
		const struct top_caller *caller = &callers->items[order[i]];
		char now[FORMAT_NUMBER_MAX], all[FORMAT_NUMBER_MAX];

		text.at = text.begin;
		if (!trace_symbol_text(&sink, address_symbol(callers->symbols, &caller->address)))
			view_out_hexadecimal(&text, caller->address.address);
		view_out_char(&text, '\0');
		if (!text.failed)
			fprintf(page->out, "%14s %16s %.*s\n",
					top_print_round(top_print_event_rate(view, caller->count),
							now),
					format_number(caller->all, all), width, text.begin);
	}
	view_out_free(&text);
	free(order);
	return order && !text.failed ? 0 : -ENOMEM;
}

int top_print_text(const struct top_view *view, FILE *out)
{
	struct top_page page = {
			.out = out,
			.left = view->rows > 1 ? view->rows - 1 : view->rows,
			.bounded = view->rows,
			.strong = view->color ? "\033[1m" : "",
			.bad = view->color ? "\033[1;31m" : "",
			.plain = view->color ? "\033[0m" : "",
	};
	int ret;

	top_print_head(view, &page);
	/*
	 * Durations and callers were requested by options, so they precede the tables that are
	 * always printed.
	 */
	top_print_durations(view, &page);
	ret = top_print_callers(view, &page);
	if (ret)
		return ret;
	ret = top_print_processes(view, &page,
			page.bounded ? (page.left > 8 ? page.left / 2 : 4) : UINT32_MAX);
	return ret ? ret : top_print_events(view, &page);
}

/* ---- JSON ---- */

static void top_print_json_begin(FILE *out, const struct top_view *view, const char *type)
{
	fprintf(out, "{\"schema\":%d,\"type\":\"%s\",\"session\":\"%s\"", OUTPUT_JSON_SCHEMA, type,
			view->session);
}

static void top_print_json_processes(const struct top_view *view, FILE *out)
{
	for (size_t i = 0; i < view->nr_processes; i++) {
		const struct top_process *process = &view->processes[i];
		struct top_event count =
				top_trace_process(&view->trace, process->name, process->vpid);

		top_print_json_begin(out, view, "process");
		fputs(",\"name\":", out);
		print_json_string(out, process->name);
		fprintf(out,
				",\"pid\":%" PRIu64 ",\"events\":%" PRIu64 ",\"recorded\":%" PRIu64
				",\"bytes\":%" PRIu64 ",\"lost\":%" PRIu64
				",\"event_rate\":%.3f,\"byte_rate\":%.3f,\"loss_rate\":%.3f}\n",
				process->pid, count.all, process->recorded, process->bytes,
				process->lost, top_print_event_rate(view, count.count),
				top_print_rate(view, process->bytes, process->bytes_before),
				top_print_rate(view, process->lost, process->lost_before));
	}
}

static int top_print_json_events(const struct top_view *view, FILE *out)
{
	uint32_t *order = top_trace_order(&view->trace);

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < view->trace.names.count; i++) {
		const struct top_event *event = &view->trace.events[order[i]];

		top_print_json_begin(out, view, "count");
		fputs(",\"event\":", out);
		print_json_string(out, top_trace_name(&view->trace, order[i]));
		fprintf(out, ",\"count\":%" PRIu64 ",\"rate\":%.3f}\n", event->all,
				top_print_event_rate(view, event->count));
	}
	free(order);
	return 0;
}

static void top_print_json_durations(const struct top_view *view, FILE *out)
{
	const struct report_pairs *pairs = &view->trace.pairs;

	for (unsigned int i = 0; i < pairs->rule_count; i++) {
		const struct stats *stats = &view->trace.durations[i];

		top_print_json_begin(out, view, "durations");
		fputs(",\"begin\":", out);
		print_json_string(out, pairs->rules[i].begin_text);
		fputs(",\"end\":", out);
		print_json_string(out, pairs->rules[i].end_text);
		fprintf(out, ",\"count\":%" PRIu64, stats->count);
		if (stats->count)
			fprintf(out, ",\"p50\":%" PRIu64 ",\"p99\":%" PRIu64 ",\"max\":%" PRIu64,
					report_stats_percentile(stats, PERCENTILE(50)),
					report_stats_percentile(stats, PERCENTILE(99)),
					(uint64_t)stats->most);
		if (pairs->rules[i].no_thread)
			fprintf(out, ",\"without_thread\":%" PRIu64, pairs->rules[i].no_thread);
		fputs("}\n", out);
	}
}

static int top_print_json_callers(const struct top_view *view, FILE *out)
{
	const struct top_callers *callers = &view->trace.callers;
	uint32_t count, *order = callers->most ? top_callers_order(callers, &count) : NULL;
	struct view_out text = {.begin = NULL};

	if (!callers->most)
		return 0;
	for (uint32_t i = 0; order && i < count; i++) {
		const struct top_caller *caller = &callers->items[order[i]];

		top_print_json_begin(out, view, "caller");
		json_line_number(&text, "address", caller->address.address);
		json_line_process(&text, &view->trace.identity, caller->process);
		json_line_number(&text, "count", caller->all);
		view_out_format(&text, ",\"rate\":%.3f", top_print_event_rate(view, caller->count));
		trace_symbol_json_members(
				&text, address_symbol(callers->symbols, &caller->address), true);
		json_line_end(&text);
		fwrite(text.begin, 1, view_out_size(&text), out);
		text.at = text.begin;
	}
	view_out_free(&text);
	free(order);
	return order && !text.failed ? 0 : -ENOMEM;
}

int top_print_json(const struct top_view *view, FILE *out)
{
	top_print_json_begin(out, view, "top");
	fprintf(out,
			",\"state\":\"%s\",\"seconds\":%.3f,\"recorded\":%" PRIu64
			",\"bytes\":%" PRIu64 ",\"lost\":%" PRIu64
			",\"byte_rate\":%.3f,\"loss_rate\":%.3f}\n",
			view->state, view->seconds, view->recorded, view->bytes, view->lost,
			top_print_rate(view, view->bytes, view->bytes_before),
			top_print_rate(view, view->lost, view->lost_before));
	top_print_json_processes(view, out);
	top_print_json_durations(view, out);
	if (top_print_json_callers(view, out))
		return -ENOMEM;
	return top_print_json_events(view, out);
}
