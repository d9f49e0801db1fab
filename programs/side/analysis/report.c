/* SPDX-License-Identifier: MIT */
/* The verb `report`: its command line, the way through the trace, and the order of its tables. */
#include "analysis/report.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs/side/cli/confine.h"
#include "programs/common/message.h"
#include "programs/side/analysis/select.h"

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
	if (!ret && class->by)
		class->by_form = where_form(&report->by_value, class->by, item, walk->view);
	if (!ret)
		ret = report_callers_bind(report, class, item, walk->view);
	for (uint32_t i = 0; !ret && i < report->histogram_count; i++)
		ret = missing_bind(&report->missing[MISSING_HISTOGRAMS + i], &report->histograms[i],
				item, walk->view, &class->histograms[i]);
	if (ret) {
		report_free_class(class);
		return NULL;
	}
	return class;
}

/* ---- the command line ---- */

static int parse_by(struct report *report)
{
	static const char *const names[] = {"event", "process", "thread", "cpu"};
	const char *by = report->options->by;

	if (!by)
		return COMMAND_DONE;
	for (unsigned int i = 0; i < 4; i++) {
		if (strcmp(by, names[i]) == 0) {
			report->by = BY_EVENT + i;
			return COMMAND_DONE;
		}
	}
	report->by = BY_VALUE;
	return where_parse("by", by, &report->by_value);
}

static int parse_histograms(struct report *report)
{
	const struct text_list *list = &report->options->histograms;
	int status = COMMAND_DONE;

	if (list->count > REPORT_HISTOGRAMS_MAX)
		return message_error(COMMAND_USAGE, "run the command several times",
				"there are more than %u times `--histogram`",
				REPORT_HISTOGRAMS_MAX);
	report->histograms = calloc(list->count + 1, sizeof(*report->histograms));
	report->not_numbers = calloc(list->count + 1, sizeof(*report->not_numbers));
	report->missing = calloc(MISSING_HISTOGRAMS + list->count, sizeof(*report->missing));
	if (!report->histograms || !report->not_numbers || !report->missing)
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	for (size_t i = 0; !status && i < list->count; i++) {
		status = where_parse("histogram", list->items[i], &report->histograms[i]);
		report->histogram_count += !status;
	}
	return status;
}

static int report_check_options(const struct report_options *options)
{
	const char *lone = options->key    ? "key"
			: options->across  ? "across"
			: options->slowest ? "slowest"
					   : NULL;

	if (lone && !options->pairs.count)
		return message_error(COMMAND_USAGE, "add `--pair BEGIN END`",
				"`--%s` has no effect without `--pair`", lone);
	if (options->around && !options->slowest)
		return message_error(COMMAND_USAGE, "add `--slowest COUNT`",
				"`--around` has no effect without `--slowest`");
	if (options->across && !options->key)
		return message_error(COMMAND_USAGE, "add `--key EXPRESSION`",
				"`--across` has no effect without `--key`");
	if (options->slowest > REPORT_SLOWEST_MAX)
		return message_error(COMMAND_USAGE, NULL, "`--slowest` can be %u at most",
				REPORT_SLOWEST_MAX);
	if (options->around > REPORT_AROUND_MAX)
		return message_error(COMMAND_USAGE, NULL, "`--around` can be %u at most",
				REPORT_AROUND_MAX);
	return COMMAND_DONE;
}

static int report_start(struct report *report, const struct parsed *parsed)
{
	const struct report_options *options = report->options;
	struct report_walk_options walk = {
			.verb = "report",
			.dir = parsed->operands[0],
			.patterns = &options->patterns,
			.where = options->filter,
			.times = options->times,
	};
	int status = report_check_options(options);

	report->groups.limit = REPORT_GROUPS_MAX;
	report->caller_keys.limit = REPORT_CALLERS_MAX;
	report->losses = options->losses;
	report->counts = options->counts ||
			(!options->losses && !options->callers && !options->pairs.count &&
					!options->histograms.count && !options->calls &&
					!options->tree);
	if (!status)
		status = parse_by(report);
	if (!status)
		status = parse_histograms(report);
	if (!status)
		status = pairs_create(
				&report->pairs, &options->pairs, options->key, options->across);
	report->slowest = calloc(PAIR_RULES_MAX, sizeof(*report->slowest));
	if (!status && !report->slowest)
		status = message_error(COMMAND_FAILED, NULL, "out of memory");
	if (!status)
		status = walk_prepare(&report->walk, &walk);
	if (!status)
		status = report_callers_start(report);
	confine(parsed->operands[0], NULL);
	if (!status)
		status = walk_open(&report->walk);
	report->calls.gaps = &report->gaps;
	report->pairs.by_call = true;
	if (!status && (options->calls || options->tree || options->pairs.count) &&
			gaps_read(&report->gaps, parsed->operands[0]))
		status = message_error(COMMAND_FAILED, NULL, "out of memory");
	report->walk.own_create = report_create_class;
	report->walk.own_free = report_free_class;
	report->walk.user = report;
	return status;
}

/* ---- the way through the trace ---- */

/* Tables that are full are reported; those that lack a key for want of memory are wrong. */
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

static int report_read_all(struct report *report)
{
	struct walk_class *class;
	struct ctf_item item;
	int ret;

	while ((ret = walk_next(&report->walk, &item, &class)) > 0) {
		ret = class && !class->lost ? report_take(report, &item, class)
					    : report_take_loss(report, &item, class);
		if (ret)
			break;
	}
	pairs_finish(&report->pairs);
	calls_finish(&report->calls);
	for (unsigned int i = 0; i < report->pairs.rule_count; i++)
		report_slow_sort(&report->slowest[i]);
	return ret || has_memory(report) ? ret : -ENOMEM;
}

static void note_of_calls(const struct report *report)
{
	const struct report_calls *calls = &report->calls;
	uint64_t unfinished = 0, lost = 0;
	char number[FORMAT_NUMBER_MAX];

	if (!calls->functions.count)
		message_note_hint("record calls with `side trace -c COMMAND --function '*' --exit`",
				"no event is a call");
	for (uint32_t i = 0; i < calls->functions.count; i++) {
		unfinished += calls->stats[i].unfinished;
		lost += calls->stats[i].lost;
	}
	if (unfinished)
		message_note("calls without a return (left, or open at the end): %s; each is taken to end with the call around it, or with the last event of its thread",
				format_number(unfinished, number));
	if (lost)
		message_note("calls whose return may be among the lost events: %s; their times are left out",
				format_number(lost, number));
	if (calls->unbegun)
		message_note("returns without an entry: %s; they are under no caller",
				format_number(calls->unbegun, number));
	if (calls->branch_keys.refused)
		message_note("the tree has only the first %u branches", CALLS_BRANCHES_MAX);
	if (calls->too_deep)
		message_note("calls deeper than %u have no times of their own: %s", CALLS_DEPTH_MAX,
				format_number(calls->too_deep, number));
}

static void note_no_value(const char *option, const char *expression, const struct missing *missing)
{
	char text[MISSING_TEXT_SIZE], hint[NEAREST_TEXT_SIZE];

	if (missing_is_known(missing))
		message_note_hint(missing_hint(missing, hint), "no event has a value of `%s%s`: %s",
				option, expression, missing_text(missing, text));
	else
		message_note("no event has a value of `%s%s`", option, expression);
}

/* Names that are misspelled: no event has such a field, or is called so. */
static void note_what_is_misspelled(const struct report *report)
{
	const struct missing *by = &report->missing[MISSING_BY];
	const struct missing *key = &report->missing[MISSING_KEY];
	const struct report_walk *walk = &report->walk;

	if (report->by == BY_VALUE && missing_is_known(by))
		note_no_value("--by ", report->by_value.text, by);
	for (unsigned int i = 0; i < report->pairs.rule_count; i++) {
		const struct pair_rule *rule = &report->pairs.rules[i];

		command_note_pair(walk->reader, walk->options.dir, rule->begin, rule->begin_text);
		command_note_pair(walk->reader, walk->options.dir, rule->end, rule->end_text);
	}
	if (missing_is_known(key))
		note_no_value("--key ", report->pairs.key.text, key);
}

/* What was asked for and is nowhere in the trace. */
static void note_what_is_missing(const struct report *report)
{
	if (!report->walk.events)
		walk_note_nothing(&report->walk);
	note_what_is_misspelled(report);
	for (uint32_t i = 0; i < report->histogram_count; i++) {
		bool any = false;

		for (uint32_t k = 0; k < report->histogram_keys.count; k++)
			any |= report->histogram_stats[k].which == i;
		if (!any && !report->not_numbers[i])
			note_no_value("", report->histograms[i].text,
					&report->missing[MISSING_HISTOGRAMS + i]);
		if (report->not_numbers[i])
			message_note("values of `%s` that are no numbers are not counted",
					report->histograms[i].text);
	}
	if (report->options->calls || report->options->tree)
		note_of_calls(report);
	report_callers_note(report);
	if (report->caller_keys.refused)
		message_note("only the first %u different callers were counted",
				REPORT_CALLERS_MAX);
	if (report->groups.refused)
		message_note("`--by` has more than %u different values: all further ones are one group",
				REPORT_GROUPS_MAX);
	for (unsigned int i = 0; i < report->pairs.rule_count; i++) {
		if (report->pairs.rules[i].not_kept)
			message_note("too many `%s` were open at a time: some were not followed to their end",
					report->pairs.rules[i].begin_text);
		if (report->pairs.rules[i].no_key &&
				!missing_is_known(&report->missing[MISSING_KEY]))
			message_note("some events of the pair `%s` `%s` have no value of `--key`",
					report->pairs.rules[i].begin_text,
					report->pairs.rules[i].end_text);
	}
}

static int report_print_results(struct report *report)
{
	struct report_around around = {0};
	int status = report_symbols_read(report);

	if (!status && report->options->around)
		status = report_around_read(&around, report);
	if (!status)
		status = report->json ? report_print_json(report, &around)
				      : report_print_text(report, &around);
	report_around_free(&around);
	if (status < 0)
		return message_error(COMMAND_FAILED, NULL, "cannot report %s: %s",
				report->walk.options.dir, strerror(-status));
	if (!status)
		note_what_is_missing(report);
	return status;
}

static void free_report(struct report *report)
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
	report_callers_free(report);
	free(report->group_times);
	free(report->loss_items);
}

int cmd_report(const struct parsed *parsed)
{
	struct report report = {
			.options = &parsed->options.report,
			.json = parsed->common.json,
			.colour = !parsed->common.json &&
					output_has_color(stdout, parsed->common.color),
	};
	int status = report_start(&report, parsed);

	if (!status) {
		int ret = report_read_all(&report);

		if (ret)
			status = message_error(COMMAND_FAILED, NULL, "cannot go on reading %s: %s",
					parsed->operands[0], strerror(-ret));
		else
			status = report_print_results(&report);
		if (!status && report.walk.damaged)
			status = COMMAND_FAILED;
	}
	free_report(&report);
	return status;
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

uint32_t *report_caller_order(const struct report *report, uint32_t *count)
{
	uint32_t *order = numbers(report->caller_keys.count);
	uint64_t shown;

	if (order)
		qsort_r(order, report->caller_keys.count, sizeof(*order), by_caller,
				(void *)(uintptr_t)report);
	shown = report->options->callers == OPTION_BARE ? REPORT_CALLERS_SHOWN
							: report->options->callers;
	*count = report->caller_keys.count;
	if (*count > shown)
		*count = (uint32_t)shown;
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

uint32_t *report_loss_order(const struct report *report, uint32_t *count)
{
	uint32_t *order = numbers(report->loss_keys.count);

	*count = 0;
	for (uint32_t i = 0; order && i < report->loss_keys.count; i++) {
		const struct report_loss *loss = &report->loss_items[i];

		if (loss->packets || *loss->reason || !report->processes[loss->process].lost)
			order[(*count)++] = i;
	}
	if (order)
		qsort_r(order, *count, sizeof(*order), by_loss, (void *)(uintptr_t)report);
	return order;
}

/* A trace of several processes loses events of none of them in particular. */
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
