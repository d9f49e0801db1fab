/* SPDX-License-Identifier: MIT */
/*
 * `-e PATTERN` of all verbs: parse the patterns, and report patterns and filters
 * that selected no event.
 */
#include "programs/common/command.h"
#include "analysis/missing.h"
#include "analysis/report-walk.h"
#include "programs/common/message.h"
#include "programs/side/analysis/library-messages.h"
#include "programs/side/analysis/select.h"
#include "programs/side/processes/unmatched.h"
#include "analysis/view-time.h"
#include "analysis/where.h"

#include "ctf/ctf.h"
#include "analysis/patterns.h"
#include "base/error.h"
#include "protocol/pattern.h"

#include <stdlib.h>
#include <string.h>

int command_select(const struct text_list *args, struct pattern **ret_patterns)
{
	struct error error = {.code = 0};

	return patterns_parse(args, ret_patterns, &error) ? message_library_error(&error)
							  : COMMAND_DONE;
}

/* ---- patterns that match nothing ---- */

#define NAMES_MAX 4096
#define SEARCH_EVENTS_MAX 1000000

struct trace_names {
	const char *names[NAMES_MAX];
	size_t count;
};

static void select_read_names(const struct ctf_reader *reader, struct trace_names *names)
{
	for (uint32_t t = 0; t < ctf_reader_trace_count(reader); t++) {
		const struct ctf_trace *trace = ctf_reader_trace(reader, t);

		for (uint32_t i = 0; i < ctf_trace_event_count(trace); i++) {
			if (names->count < NAMES_MAX)
				names->names[names->count++] = ctf_trace_event(trace, i)->name;
		}
	}
}

static bool select_matches_class(
		const struct ctf_reader *reader, const struct pattern *patterns, size_t count)
{
	for (uint32_t t = 0; t < ctf_reader_trace_count(reader); t++) {
		const struct ctf_trace *trace = ctf_reader_trace(reader, t);

		for (uint32_t i = 0; i < ctf_trace_event_count(trace); i++) {
			const struct ctf_event_class *event = ctf_trace_event(trace, i);

			if (walk_pattern_wants(patterns, count, event->name, event->loglevel))
				return true;
		}
	}
	return false;
}

/* Writes "-e 'db:*' -e net", quoted for a shell. */
static void select_quote_patterns(const struct text_list *args, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < args->count && used < size; i++) {
		char quoted[2 * PATTERN_TEXT_MAX];

		used += (size_t)snprintf(text + used, size - used, "%s-e %s", i ? " " : "",
				format_quoted(args->items[i], quoted, sizeof(quoted)));
	}
}

/*
 * `matched` is the option that matched no event, such as "`-e 'db:*'`"; `pattern` is its first
 * pattern.
 */
static void select_note_pattern(const struct ctf_reader *reader, const char *dir,
		const char *matched, const char *pattern, const char *option)
{
	struct trace_names *names = calloc(1, sizeof(*names));
	char reason[UNMATCHED_TEXT_SIZE], hint[UNMATCHED_TEXT_SIZE];

	if (!names)
		return;
	select_read_names(reader, names);
	unmatched_explain(&(const struct unmatched){.pattern = pattern,
					  .option = option,
					  .names = names->names,
					  .nr_names = names->count,
					  .owner = "the trace",
					  .noun = "event class"},
			reason, hint);
	message_note_hint(hint, "no event in %s matched %s: %s", dir, matched, reason);
	free(names);
}

static void select_note_patterns(
		const struct ctf_reader *reader, const char *dir, const struct text_list *args)
{
	char patterns[1024], matched[1032];

	select_quote_patterns(args, patterns, sizeof(patterns));
	snprintf(matched, sizeof(matched), "`%s`", patterns);
	select_note_pattern(reader, dir, matched, args->items[0], "-e ");
}

bool command_note_pair(const struct ctf_reader *reader, const char *dir,
		const struct pattern *pattern, const char *text)
{
	char quoted[2 * PATTERN_TEXT_MAX], matched[2 * PATTERN_TEXT_MAX + 32];

	if (select_matches_class(reader, pattern, 1))
		return false;
	snprintf(matched, sizeof(matched), "%s of `--pair`",
			format_quoted(text, quoted, sizeof(quoted)));
	select_note_pattern(reader, dir, matched, text, "");
	return true;
}

/* ---- filters that select nothing ---- */

struct filter_search {
	struct where where;
	struct missing missing;
};

static void *select_search_class(void *user, struct walk_class *class, const struct ctf_item *item)
{
	struct filter_search *search = user;
	struct where_bound *bound;

	if (missing_bind(&search->missing, &search->where, item, class->view, &bound))
		return NULL;
	where_bound_free(bound);
	return search;
}

/* Reads the trace until it finds an event class for which the filter can be true. */
static void select_search_classes(
		struct filter_search *search, const struct report_walk_options *options)
{
	const struct report_walk first = {.options = *options};
	uint64_t events = 0;
	struct walk_class *class;
	struct ctf_item item;
	struct report_walk walk;
	struct error error = {.code = 0};

	if (walk_open_again(&walk, &first, &error)) {
		message_library_error(&error);
		return;
	}
	walk.create_user_data = select_search_class;
	walk.user = search;
	while (!search->missing.is_bound && events++ < SEARCH_EVENTS_MAX &&
			walk_next(&walk, &item, &class) > 0)
		;
	walk_close(&walk);
}

static void select_note_filter(const struct report_walk_options *options, const char *filter)
{
	struct filter_search *search = calloc(1, sizeof(*search));
	const char *also = options->patterns->count ? " and `-e`" : "";
	const char *when = view_times_is_set(&options->times) ? " at that time" : "";
	char text[MISSING_TEXT_SIZE], hint[NEAREST_TEXT_SIZE];

	if (!search || command_parse_where("filter", filter, &search->where)) {
		free(search);
		return;
	}
	select_search_classes(search, options);
	if (missing_is_known(&search->missing))
		message_note_hint(missing_hint(&search->missing, hint),
				"no event in %s matched `--filter %s`%s%s: %s", options->dir,
				filter, also, when, missing_text(&search->missing, text));
	else
		message_note("no event in %s matched `--filter %s`%s%s", options->dir, filter, also,
				when);
	where_free(&search->where);
	free(search);
}

void command_note_no_match(const struct ctf_reader *reader,
		const struct report_walk_options *options, const char *filter)
{
	const struct text_list *args = options->patterns;
	struct pattern *patterns;
	bool matched = true;

	if (args->count && !command_select(args, &patterns)) {
		matched = select_matches_class(reader, patterns, args->count);
		free(patterns);
	}
	if (!matched)
		select_note_patterns(reader, options->dir, args);
	else if (filter)
		select_note_filter(options, filter);
	else if (args->count)
		message_note("no event that `-e %s` selects happened in %s%s", args->items[0],
				options->dir,
				view_times_is_set(&options->times) ? " at that time" : "");
}

void command_note_no_event(const struct report_walk *walk)
{
	struct report_walk_options options = walk->options;

	options.where = NULL;
	command_note_no_match(walk->reader, &options, walk->options.where);
}
