/* SPDX-License-Identifier: MIT */
/*
 * A report from its options to its printed form: the walk through the trace, and the order of the
 * tables.
 */
#include "analysis/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* ---- classes of events ---- */

static void report_free_class(void *own)
{
	struct report_class *class = own;

	pair_class_free(&class->pair);
	where_bound_free(class->by);
	report_callers_unbind(class);
	for (struct where_bound **bound = class->histograms; bound < class->histograms_end; bound++)
		where_bound_free(*bound);
	free(class);
}

static void *report_create_class(void *user, struct walk_class *walk, const struct ctf_item *item)
{
	struct report *report = user;
	struct report_class *class = calloc(
			1, sizeof(*class) + report->histogram_count * sizeof(struct where_bound *));
	int ret;

	if (!class)
		return NULL;
	class->histograms_end = class->histograms + report->histogram_count;
	class->name = keys_add(&report->names, item->event->name, strlen(item->event->name));
	ret = class->name == KEYS_NONE ? -ENOMEM : 0;
	if (!ret)
		ret = pair_class_make(&report->pairs, &class->pair, item, walk->view,
				&report->missing[MISSING_KEY]);
	if (!ret && report->by == BY_VALUE)
		ret = missing_bind(&report->missing[MISSING_BY], &report->by_value, item,
				walk->view, &class->by);
	event_stack_bind(&class->stack, item, walk->view);
	if (!ret && class->by)
		class->by_form = where_form(&report->by_value, class->by, item, walk->view);
	if (!ret)
		ret = report_callers_bind(report, class, item, walk->view);
	for (uint32_t i = 0; !ret && i < report->histogram_count; i++) {
		ret = missing_bind(&report->missing[MISSING_HISTOGRAMS + i], &report->histograms[i],
				item, walk->view, &class->histograms[i]);
		if (!ret && class->histograms[i])
			report->histogram_is_hexadecimal[i] |=
					where_form(&report->histograms[i], class->histograms[i],
							item, walk->view)
							.base == 16;
	}
	if (ret) {
		report_free_class(class);
		return NULL;
	}
	return class;
}

/* ---- options ---- */

static int parse_by(struct report *report, struct error *error)
{
	static const char *const names[] = {"event", "process", "thread", "cpu", "caller", "stack"};
	const char *by = report->options->by;

	if (!by)
		return 0;
	for (unsigned int i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(by, names[i]) == 0) {
			report->by = BY_EVENT + i;
			return 0;
		}
	}
	report->by = BY_VALUE;
	return where_parse("by", by, &report->by_value, error);
}

static int parse_histograms(struct report *report, struct error *error)
{
	const struct text_list *list = &report->options->histograms;
	int ret = 0;

	if (list->count > REPORT_HISTOGRAMS_MAX)
		return error_set_kind(error, ERROR_USAGE, -E2BIG, "run `side report` several times",
				"`--histogram` is given more than %u times", REPORT_HISTOGRAMS_MAX);
	report->histograms = calloc(list->count + 1, sizeof(*report->histograms));
	report->not_numbers = calloc(list->count + 1, sizeof(*report->not_numbers));
	report->missing = calloc(MISSING_HISTOGRAMS + list->count, sizeof(*report->missing));
	if (!report->histograms || !report->not_numbers || !report->missing)
		return error_set_no_memory(error);
	for (size_t i = 0; !ret && i < list->count; i++) {
		ret = where_parse("histogram", list->items[i], &report->histograms[i], error);
		report->histogram_count += !ret;
	}
	return ret;
}

int report_prepare(struct report *report, const struct report_options *options, const char *dir,
		const struct analysis_listener *listener, struct error *error)
{
	struct report_walk_options walk = {
			.verb = "report",
			.dir = dir,
			.patterns = &options->patterns,
			.where = options->filter,
			.times = options->times,
			.listener = *listener,
	};
	int ret;

	report->options = options;
	report->groups.limit = REPORT_GROUPS_MAX;
	report->caller_keys.limit = REPORT_CALLERS_MAX;
	report->losses = options->losses;
	report->counts = options->counts ||
			(!options->losses && !options->callers && !options->pairs.count &&
					!options->histograms.count && !options->calls &&
					!options->tree);
	ret = parse_by(report, error);
	if (!ret)
		ret = parse_histograms(report, error);
	if (!ret)
		ret = pairs_create(&report->pairs, &options->pairs, options->key, options->across,
				error);
	report->slowest = calloc(PAIR_RULES_MAX, sizeof(*report->slowest));
	if (!ret && !report->slowest)
		ret = error_set_no_memory(error);
	if (!ret)
		ret = walk_prepare(&report->walk, &walk, error);
	return ret ? ret : report_callers_start(report, error);
}

int report_open(struct report *report, struct error *error)
{
	const struct report_options *options = report->options;
	int ret = walk_open(&report->walk, error);

	report->calls.gaps = &report->gaps;
	report->pairs.by_call = true;
	if (!ret && (options->calls || options->tree || options->pairs.count) &&
			gaps_read(&report->gaps, report->walk.options.dir))
		ret = error_set_no_memory(error);
	/* Groups need their frames at the first event. */
	if (!ret && (report->by == BY_CALLER || report->by == BY_STACK))
		ret = report_symbols_read(report) ? error_set_no_memory(error) : 0;
	report->walk.create_user_data = report_create_class;
	report->walk.free_user_data = report_free_class;
	report->walk.user = report;
	return ret;
}

/* ---- the walk through the trace ---- */

/* A full table is reported. A table that lacks a key because an allocation failed is wrong. */
static bool has_memory(const struct report *report)
{
	const struct keys *const all[] = {&report->names, &report->groups, &report->row_keys,
			&report->histogram_keys, &report->pair_keys, &report->scopes,
			&report->caller_keys, &report->loss_keys, &report->calls.functions,
			&report->calls.branch_keys, &report->calls.thread_keys};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i]->no_memory)
			return false;
	return true;
}

int report_read(struct report *report, struct error *error)
{
	struct walk_class *class;
	struct ctf_item item;
	int ret;

	while ((ret = walk_next(&report->walk, &item, &class)) > 0) {
		ret = class && !class->lost ? report_take(report, &item, class)
					    : report_take_loss(report, &item, class);
		if (ret)
			break;
		if (report->observe && class && !class->lost)
			report->observe(report->observe_user, &item);
	}
	pairs_finish(&report->pairs);
	calls_finish(&report->calls);
	for (unsigned int i = 0; i < report->pairs.rule_count; i++)
		report_slow_sort(&report->slowest[i]);
	if (!ret && !has_memory(report))
		ret = -ENOMEM;
	return ret ? error_set_kind(error, ERROR_FAILED, ret, NULL,
				     "cannot continue to read %s: %s", report->walk.options.dir,
				     strerror(-ret))
		   : 0;
}

int report_print(struct report *report, FILE *out, struct error *error)
{
	struct report_around around = {0};
	int ret = report_symbols_read(report);

	error_clear(error);
	if (!ret && report->options->around)
		ret = report_around_read(&around, report, error);
	if (!ret)
		ret = report->json ? report_print_json(report, &around, out)
				   : report_print_text(report, &around, out);
	report_around_free(&around);
	if (ret && !(error && error->code))
		error_set_kind(error, ERROR_FAILED, ret, NULL, "cannot report %s: %s",
				report->walk.options.dir, strerror(-ret));
	return ret;
}

void report_free(struct report *report)
{
	walk_close(&report->walk);
	identity_free(&report->identity);
	pairs_free(&report->pairs);
	calls_free(&report->calls);
	gaps_free(&report->gaps);
	where_free(&report->by_value);
	for (uint32_t i = 0; i < report->histogram_count; i++)
		where_free(&report->histograms[i]);
	for (uint32_t i = 0; i < report->histogram_keys.count; i++)
		report_stats_free(&report->histogram_stats[i].stats);
	for (uint32_t i = 0; i < report->pair_keys.count; i++)
		report_stats_free(&report->pair_stats[i].stats);
	for (unsigned int i = 0; i < report->pairs.rule_count; i++)
		free(report->slowest[i].items);
	keys_free(&report->names);
	keys_free(&report->groups);
	keys_free(&report->row_keys);
	keys_free(&report->histogram_keys);
	keys_free(&report->pair_keys);
	keys_free(&report->scopes);
	keys_free(&report->caller_keys);
	keys_free(&report->loss_keys);
	free(report->histograms);
	free(report->not_numbers);
	free(report->missing);
	free(report->histogram_stats);
	free(report->pair_stats);
	free(report->slowest);
	free(report->processes);
	free(report->rows);
	free(report->scope_events);
	free(report->callers);
	stacks_free(&report->stacks);
	report_callers_free(report);
	free(report->group_times);
	free(report->loss_items);
}

/* ---- the order of the tables ---- */

static uint32_t *numbers(uint32_t count)
{
	uint32_t *order = malloc(((size_t)count + 1) * sizeof(*order));

	for (uint32_t i = 0; order && i < count; i++)
		order[i] = i;
	return order;
}

static int by_row(const void *one, const void *other, void *user)
{
	const struct report *report = user;
	const struct report_row *left = &report->rows[*(const uint32_t *)one];
	const struct report_row *right = &report->rows[*(const uint32_t *)other];
	int names;

	if (left->count != right->count)
		return left->count > right->count ? -1 : 1;
	names = strcmp((const char *)report->names.entries[left->name].bytes,
			(const char *)report->names.entries[right->name].bytes);
	if (names)
		return names;
	return left->group < right->group ? -1 : left->group > right->group;
}

uint32_t *report_row_order(const struct report *report)
{
	uint32_t *order = numbers(report->row_keys.count);

	if (order)
		qsort_r(order, report->row_keys.count, sizeof(*order), by_row,
				(void *)(uintptr_t)report);
	return order;
}

static int report_compare_stats(const void *one, const void *other, void *user)
{
	const struct report_stats *items = user;
	const struct report_stats *left = &items[*(const uint32_t *)one];
	const struct report_stats *right = &items[*(const uint32_t *)other];

	if (left->which != right->which)
		return left->which < right->which ? -1 : 1;
	if (left->stats.count != right->stats.count)
		return left->stats.count > right->stats.count ? -1 : 1;
	return left->group < right->group ? -1 : left->group > right->group;
}

uint32_t *report_stats_order(const struct report_stats *items, uint32_t count)
{
	uint32_t *order = numbers(count);

	if (order && count)
		qsort_r(order, count, sizeof(*order), report_compare_stats,
				(void *)(uintptr_t)items);
	return order;
}

static int by_caller(const void *one, const void *other, void *user)
{
	const struct report *report = user;
	const struct report_caller *left = &report->callers[*(const uint32_t *)one];
	const struct report_caller *right = &report->callers[*(const uint32_t *)other];

	if (left->count != right->count)
		return left->count > right->count ? -1 : 1;
	if (left->process != right->process)
		return left->process < right->process ? -1 : 1;
	if (left->address.address != right->address.address)
		return left->address.address < right->address.address ? -1 : 1;
	return (int)left->address.kind - (int)right->address.kind;
}

uint32_t *report_caller_order(const struct report *report, uint32_t *ret_count)
{
	uint32_t *order = numbers(report->caller_keys.count);
	uint64_t shown;

	if (order)
		qsort_r(order, report->caller_keys.count, sizeof(*order), by_caller,
				(void *)(uintptr_t)report);
	shown = report->options->callers == REPORT_CALLERS_DEFAULT ? REPORT_CALLERS_SHOWN
								   : report->options->callers;
	*ret_count = report->caller_keys.count;
	if (*ret_count > shown)
		*ret_count = (uint32_t)shown;
	return order;
}

static int by_loss(const void *one, const void *other, void *user)
{
	const struct report *report = user;
	const struct report_loss *left = &report->loss_items[*(const uint32_t *)one];
	const struct report_loss *right = &report->loss_items[*(const uint32_t *)other];

	if (left->count != right->count)
		return left->count > right->count ? -1 : 1;
	return *(const uint32_t *)one < *(const uint32_t *)other ? -1 : 1;
}

uint32_t *report_loss_order(const struct report *report, uint32_t *ret_count)
{
	uint32_t *order = numbers(report->loss_keys.count);

	*ret_count = 0;
	for (uint32_t i = 0; order && i < report->loss_keys.count; i++) {
		const struct report_loss *loss = &report->loss_items[i];

		if (loss->packets || *loss->reason || !report->processes[loss->process].lost)
			order[(*ret_count)++] = i;
	}
	if (order)
		qsort_r(order, *ret_count, sizeof(*order), by_loss, (void *)(uintptr_t)report);
	return order;
}

/* The trace has several processes. Its losses belong to none of them in particular. */
bool report_is_process(const struct report *report, uint32_t number)
{
	return report->identity.processes[number].pid >= 0 ||
			(number < report->process_capacity && report->processes[number].events);
}

uint32_t report_process_count(const struct report *report)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < report->identity.keys.count; i++)
		count += report_is_process(report, i);
	return count;
}

double report_rate(const struct report *report, uint64_t count)
{
	if (!report->timeline.started || report->last_ns <= report->first_ns)
		return -1;
	return (double)count * 1e9 /
			(double)((uint64_t)report->last_ns - (uint64_t)report->first_ns);
}
