/* SPDX-License-Identifier: MIT */
/* The callers of events (`--callers`), and symbols for the report. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analysis/report.h"
#include "base/error.h"

static const char *const sources[CALLER_SOURCES] = {
		[CALLER_FIELD] = "caller",
		[CALLER_FRAME] = "backtrace[0]",
		[CALLER_IP] = "$ctx.ip",
};

int report_callers_start(struct report *report, struct error *error)
{
	int ret = 0;

	for (unsigned int i = 0; report->options->callers && !ret && i < CALLER_SOURCES; i++)
		ret = where_parse("callers", sources[i], &report->caller_sources[i], error);
	if (ret || (!report->options->callers && report->by < BY_CALLER && !report->for_page))
		return ret;
	report->symbols = trace_symbols_start(
			report->options->debuginfod, &report->walk.options.listener);
	return report->symbols ? 0 : error_set_no_memory(error);
}

void report_callers_free(struct report *report)
{
	for (unsigned int i = 0; i < CALLER_SOURCES; i++)
		where_free(&report->caller_sources[i]);
	symbols_free(report->symbols);
}

/* ---- classes of events ---- */

int report_callers_bind(struct report *report, struct report_class *own,
		const struct ctf_item *item, const struct view_event *event)
{
	report->any_probe |= event && event->ip == ADDRESS_EXACT;
	for (unsigned int i = 0; report->options->callers && i < CALLER_SOURCES; i++) {
		const struct where *source = &report->caller_sources[i];
		struct where_form form;
		int ret = where_bind(source, item, event, &own->callers[i], NULL);

		if (ret)
			return ret;
		form = where_form(source, own->callers[i], item, event);
		own->caller_kinds[i] = form.address ? form.address : ADDRESS_RETURN;
	}
	return 0;
}

void report_callers_unbind(struct report_class *own)
{
	for (unsigned int i = 0; i < CALLER_SOURCES; i++)
		where_bound_free(own->callers[i]);
}

static bool find_caller(const struct report_class *own, const struct ctf_item *item,
		struct address *ret_address)
{
	struct filter_value value;

	for (unsigned int i = 0; i < CALLER_SOURCES; i++) {
		if (!own->callers[i] || !where_evaluate(own->callers[i], item, &value) ||
				value.kind != FILTER_INT)
			continue;
		*ret_address = (struct address){
				own->caller_kinds[i], item->trace->index, item->ns, value.u};
		return true;
	}
	return false;
}

int report_take_caller(struct report *report, const struct report_class *own,
		const struct ctf_item *item, uint32_t process)
{
	struct {
		uint64_t address;
		uint32_t process, trace, kind, unused;
	} key = {.process = process, .trace = item->trace->index};
	struct address address;
	uint32_t number;

	if (!find_caller(own, item, &address))
		return 0;
	key.address = address.address;
	key.kind = address.kind;
	report->caller_events++;
	report->exact_events += address.kind == ADDRESS_EXACT;
	report->callers = keys_add_item(&report->caller_keys, report->callers,
			sizeof(*report->callers), &key, sizeof(key), &number);
	if (number == KEYS_NONE)
		return 0; /* The table is full. A note at the end reports this. */
	if (!report->callers[number].count)
		report->callers[number].address = address;
	report->callers[number].count++;
	report->callers[number].process = process;
	return 0;
}

/* ---- printing ---- */

int report_symbols_read(struct report *report)
{
	bool is_by_stack = report->by == BY_CALLER || report->by == BY_STACK;
	bool is_needed = report->options->callers || report->any_address_group || is_by_stack ||
			report->for_page;
	int ret;

	if (!is_needed || report->symbols_read)
		return 0;
	ret = trace_symbols_read(report->symbols, report->walk.options.dir);
	report->symbols_read = !ret;
	return ret;
}

static void report_caller_add_inlined(const struct symbol *symbol, char *text, size_t size)
{
	for (size_t i = 0; i < symbol->nr_inlined; i++) {
		size_t used = strlen(text);

		snprintf(text + used, size - used, "%s%s%s",
				i ? ", " : " [inlined: ", symbol->inlined[i].function,
				i + 1 < symbol->nr_inlined ? "" : "]");
	}
}

bool report_symbol_text(const struct symbol *symbol, char *text, size_t size)
{
	if (symbol->function)
		snprintf(text, size, "%s+0x%" PRIx64 " (%s)", symbol->function, symbol->inside,
				symbol->module);
	else if (symbol->module)
		snprintf(text, size, "%s+0x%" PRIx64, symbol->module, symbol->offset);
	if (symbol->module)
		report_caller_add_inlined(symbol, text, size);
	return symbol->module;
}
