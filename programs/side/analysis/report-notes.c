/* SPDX-License-Identifier: MIT */
/* Notes of the verb `report`: missing data, and tables that exceed their limits. */
#include "programs/side/analysis/report-notes.h"

#include "analysis/report.h"
#include "programs/common/message.h"
#include "programs/side/analysis/select.h"

void report_callers_note(const struct report *report)
{
	bool is_by_stack = report->by == BY_CALLER || report->by == BY_STACK;
	char number[FORMAT_NUMBER_MAX];

	if ((!report->options->callers && !is_by_stack) || !report->walk.nr_events)
		return;
	/* A page has all tables that the trace has events for. */
	if (report->for_page && !report->caller_events)
		return;
	if (report->stacks.refused + report->stacks.unresolved)
		message_note("events whose stack exceeded a limit: %s; they are among (others)",
				format_number(report->stacks.refused + report->stacks.unresolved,
						number));
	if (report->exact_events)
		message_note_hint("record callers with `side trace --context backtrace`",
				"the table has the locations of probes, not their callers");
	if (report->caller_events)
		return;
	if (report->any_probe)
		message_note_hint("record with `side trace --context backtrace`",
				"no event has its caller");
	else
		message_note_hint("record with `--context ip`, or `-w libc`",
				"no event has its caller");
}

static void report_note_calls(const struct report *report)
{
	const struct report_calls *calls = &report->calls;
	uint64_t unfinished = 0, lost = 0;
	char number[FORMAT_NUMBER_MAX];

	if (!calls->functions.count && !report->for_page)
		message_note_hint("record calls with `side trace -c COMMAND --function '*' --exit`",
				"no event is a call");
	for (uint32_t i = 0; i < calls->functions.count; i++) {
		unfinished += calls->stats[i].unfinished;
		lost += calls->stats[i].lost;
	}
	if (unfinished)
		message_note("calls without a return (left by a jump, or open at the end): %s; they have no times",
				format_number(unfinished, number));
	if (lost)
		message_note("calls whose return may be among the lost events: %s; their times are left out",
				format_number(lost, number));
	if (calls->unbegun)
		message_note("returns without an entry: %s; they have no caller in the tree",
				format_number(calls->unbegun, number));
	if (calls->branch_keys.refused)
		message_note("the tree has only the first %u branches", CALLS_BRANCHES_MAX);
	if (calls->too_deep)
		message_note("calls nested deeper than %u have no times: %s", CALLS_DEPTH_MAX,
				format_number(calls->too_deep, number));
}

static void report_note_no_value(
		const char *option, const char *expression, const struct missing *missing)
{
	char text[MISSING_TEXT_SIZE], hint[NEAREST_TEXT_SIZE];

	if (missing_is_known(missing))
		message_note_hint(missing_hint(missing, hint), "no event has a value of `%s%s`: %s",
				option, expression, missing_text(missing, text));
	else
		message_note("no event has a value of `%s%s`", option, expression);
}

/* Notes names that no event class has. */
static void report_note_misspelled(const struct report *report)
{
	const struct missing *by = &report->missing[MISSING_BY];
	const struct missing *key = &report->missing[MISSING_KEY];
	const struct report_walk *walk = &report->walk;

	if (report->by == BY_VALUE && missing_is_known(by))
		report_note_no_value("--by ", report->by_value.text, by);
	for (unsigned int i = 0; i < report->pairs.rule_count; i++) {
		const struct pair_rule *rule = &report->pairs.rules[i];

		command_note_pair(walk->reader, walk->options.dir, rule->begin, rule->begin_text);
		command_note_pair(walk->reader, walk->options.dir, rule->end, rule->end_text);
	}
	if (missing_is_known(key))
		report_note_no_value("--key ", report->pairs.key.text, key);
}

void report_notes_print(const struct report *report)
{
	if (!report->walk.nr_events)
		command_note_no_event(&report->walk);
	report_note_misspelled(report);
	for (uint32_t i = 0; i < report->histogram_count; i++) {
		bool any = false;

		for (uint32_t k = 0; k < report->histogram_keys.count; k++)
			any |= report->histogram_stats[k].which == i;
		if (!any && !report->not_numbers[i])
			report_note_no_value("", report->histograms[i].text,
					&report->missing[MISSING_HISTOGRAMS + i]);
		if (report->not_numbers[i])
			message_note("values of `%s` that are not numbers are not counted",
					report->histograms[i].text);
	}
	if (report->options->calls || report->options->tree)
		report_note_calls(report);
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
