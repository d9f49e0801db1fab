/* SPDX-License-Identifier: MIT */
/*
 * Explains why a recording of programs has no event.
 *
 * Reads the events of each program from its file and from the libraries that it is linked with, as
 * `side list` does, but without messages: an unreadable file counts as one without events.
 */
#include "no-events.h"

#include "programs/common/command.h"
#include "programs/side/processes/filter-fit.h"
#include "programs/common/message.h"
#include "programs/side/processes/unmatched.h"

#include "elf/events.h"
#include "elf/image.h"
#include "elf/libraries.h"
#include "recorder/core/session.h"
#include "abi/visit.h"
#include "protocol/pattern.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES_MAX 512
#define EVENTS_MAX 4096
#define PATTERNS_SHOWN 3
#define LIBSIDE_PROVIDER "side" /* its events begin and end state dumps */
#define LIBSIDE_EVENTS 2
#define NOTHING_HINT "`-w libc` and `-w pthread` record library calls"

struct no_events_search {
	char *files[FILES_MAX];
	size_t nr_files;
	char *names[EVENTS_MAX];
	size_t nr_names;
	struct library_search *search;
	struct visit_memory memory; /* of the current file */
	const char *program;        /* the first one with events */
	struct filter_fit fit;      /* result for the only filter */
	struct pattern *patterns;   /* of the events that the filter applies to; none: all */
	size_t nr_patterns;
};

static void no_events_add_file(struct no_events_search *events, char *path)
{
	bool known = !path || events->nr_files == FILES_MAX;

	for (size_t i = 0; i < events->nr_files && !known; i++)
		known = !strcmp(events->files[i], path);
	if (known)
		free(path);
	else
		events->files[events->nr_files++] = path;
}

/* Compares the filter with an event if the patterns select that event. */
static void no_events_compare(
		struct no_events_search *events, const struct side_event_description *event)
{
	if (events->fit.program &&
			(!events->nr_patterns ||
					pattern_set_wants(events->patterns, events->nr_patterns,
							side_ptr_get(event->provider_name),
							side_ptr_get(event->event_name),
							side_enum_get(event->loglevel))))
		filter_fit_event(&events->fit, event);
}

static int no_events_add_event(void *user, uint64_t address)
{
	struct no_events_search *events = user;
	struct visit_owned *owned;
	struct visit_error error;
	uint64_t bytes;
	char *name;

	if (events->nr_names == EVENTS_MAX ||
			image_read_event(&events->memory, address, &owned, &bytes, &error))
		return 0;
	/* Each program has the events of libside. */
	if (!strcmp(side_ptr_get(owned->desc->provider_name), LIBSIDE_PROVIDER)) {
		visit_owned_free(owned);
		return 0;
	}
	no_events_compare(events, owned->desc);
	if (asprintf(&name, "%s:%s", (const char *)side_ptr_get(owned->desc->provider_name),
			    (const char *)side_ptr_get(owned->desc->event_name)) >= 0)
		events->names[events->nr_names++] = name;
	visit_owned_free(owned);
	return 0;
}

static void no_events_read_file(struct no_events_search *events, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct error error;
	const uint64_t *found;
	struct image *image;
	const char *name;
	size_t nr_found;

	if (fd < 0)
		return;
	if (!image_open(fd, true, &image, &error)) {
		events->memory = image_memory(image);
		(void)image_each_event(image, &events->memory, 0, no_events_add_event, events);
		found = image_found(image, &nr_found);
		for (size_t i = 0; i < nr_found; i++)
			(void)no_events_add_event(events, found[i]);
		for (size_t i = 0; events->search && image_dynamic_text(image, DT_NEEDED, i, &name);
				i++)
			no_events_add_file(events, library_find(events->search, image, path, name));
		image_close(image);
	}
	close(fd);
}

/* The events of wrappers are in the wrapper libraries. */
static void no_events_read_wrappers(
		struct no_events_search *events, const struct text_list *wrappers)
{
	char name[128], *path;

	for (size_t i = 0; wrappers && i < wrappers->count; i++) {
		snprintf(name, sizeof(name), "libside-wrap-%.64s.so", wrappers->items[i]);
		path = session_library(name);
		if (path)
			no_events_read_file(events, path);
		free(path);
	}
}

static void no_events_read(struct no_events_search *events, const struct no_events_query *query,
		const struct session_summary *summary)
{
	events->search = library_search_open();
	for (size_t i = 0; i < summary->nr_processes; i++) {
		const char *program = summary->processes[i].exe;
		size_t before = events->nr_names, file = events->nr_files;

		no_events_add_file(events, strdup(program));
		for (; file < events->nr_files; file++)
			no_events_read_file(events, events->files[file]);
		if (!events->program && events->nr_names > before)
			events->program = program;
	}
	no_events_read_wrappers(events, query->wrappers);
	if (events->search)
		library_search_close(events->search);
}

static void no_events_free(struct no_events_search *events)
{
	for (size_t i = 0; i < events->nr_files; i++)
		free(events->files[i]);
	for (size_t i = 0; i < events->nr_names; i++)
		free(events->names[i]);
	filter_fit_end(&events->fit);
	free(events->patterns);
	free(events);
}

/* ---- the user's selection ---- */

static bool no_events_is_pattern(const struct option_use *use)
{
	return !strcmp(use->option->name, "event");
}

/*
 * Writes the patterns as options that can be typed again, and the first one to *ret_first. Returns
 * their number.
 */
static size_t no_events_patterns(
		const struct option_uses *uses, char text[512], const char **ret_first)
{
	size_t count = 0, used = 0;
	char quoted[128];

	*text = '\0';
	for (size_t i = 0; i < uses->count; i++) {
		if (!no_events_is_pattern(&uses->items[i]))
			continue;
		if (!count)
			*ret_first = uses->items[i].text;
		if (count++ < PATTERNS_SHOWN)
			used += (size_t)snprintf(text + used, 512 - used, "%s-e %s",
					used ? " " : "",
					format_quoted(uses->items[i].text, quoted, sizeof(quoted)));
	}
	if (count > PATTERNS_SHOWN)
		snprintf(text + used, 512 - used, " ...");
	return count;
}

/* Prints nothing and returns false if only a suggestion is wanted and there is none. */
static bool no_events_print_unmatched(const struct no_events_search *events, const char *patterns,
		const char *first, bool with_suggestion_only)
{
	const char *owner = events->program ? events->program : "the wrapper";
	const char *slash = strrchr(owner, '/');
	char reason[UNMATCHED_TEXT_SIZE], hint[UNMATCHED_TEXT_SIZE], program[256];

	unmatched_explain(&(const struct unmatched){.pattern = first,
					  .option = "-e ",
					  .names = (const char *const *)events->names,
					  .nr_names = events->nr_names,
					  .owner = format_printable(slash ? slash + 1 : owner,
							  program, sizeof(program)),
					  .noun = "event"},
			reason, hint);
	if (with_suggestion_only && !*hint)
		return false;
	message_note_hint(hint, "no event matched `%s`: %s", patterns, reason);
	return true;
}

/*
 * Returns the only filter. NULL if there is none, or if there are several for
 * different patterns.
 */
static const char *no_events_filter(const struct option_uses *uses, size_t *ret_count)
{
	const char *filter = NULL;

	*ret_count = 0;
	for (size_t i = 0; i < uses->count; i++) {
		if (strcmp(uses->items[i].option->name, "filter") != 0)
			continue;
		filter = uses->items[i].text;
		++*ret_count;
	}
	return *ret_count == 1 ? filter : NULL;
}

/* Parses the filter, and the patterns of all channels. */
static void no_events_parse(
		struct no_events_search *events, const struct option_uses *uses, const char *filter)
{
	struct pattern_error error;

	if (!filter || !filter_fit_begin(&events->fit, filter))
		return;
	events->patterns = calloc(uses->count + 1, sizeof(*events->patterns));
	for (size_t i = 0; events->patterns && i < uses->count; i++) {
		if (no_events_is_pattern(&uses->items[i]) &&
				!pattern_parse(uses->items[i].text,
						&events->patterns[events->nr_patterns], &error))
			events->nr_patterns++;
	}
}

/*
 * Prints nothing and returns false if the filter fits an event, or if no event was found to compare
 * it with.
 */
static bool no_events_print_filter(
		const struct no_events_search *events, const char *patterns, const char *filter)
{
	if (!filter || !events->fit.nr_events || events->fit.fits)
		return false;
	message_note_hint(events->fit.hint,
			"no event was recorded: the filter `%s` cannot be applied to any of the events%s%s%s: %s",
			filter, *patterns ? " that match `" : "", patterns, *patterns ? "`" : "",
			events->fit.reason);
	return true;
}

/* No event class was enabled. */
static void no_events_print_patterns(const struct no_events_search *events, const char *patterns,
		const char *first, bool has_wrappers, const char *hint)
{
	if (events->nr_names && no_events_print_unmatched(events, patterns, first, has_wrappers))
		return;
	if (has_wrappers)
		message_note_hint(
				"`side list -w`, with the same wrapper and command, lists the names",
				"no event matched `%s`", patterns);
	else
		message_note_hint(hint,
				"no event matched `%s`: the programs have no events of their own",
				patterns);
}

/* The number of event classes that were enabled, even if no such event happened. */
static uint64_t no_events_enabled(const struct session_summary *summary)
{
	uint64_t enabled = 0;

	for (size_t i = 0; i < summary->nr_processes; i++)
		enabled += summary->processes[i].events;
	return enabled;
}

void no_events_explain(const struct no_events_query *query, const struct session_summary *summary)
{
	const uint64_t enabled = no_events_enabled(summary);
	const char *hint = NOTHING_HINT;
	struct no_events_search *events;
	const char *first = NULL;
	char patterns[512];
	const char *filter;
	bool has_own, has_wrappers;
	size_t nr_patterns, nr_filters;

	/*
	 * The reasons why programs were not recorded are printed already, and their events are
	 * unknown.
	 */
	if (summary->nr_refused) {
		if (no_events_patterns(query->uses, patterns, &first) && !enabled)
			message_note("no event of the recorded programs matched `%s`", patterns);
		return;
	}
	events = calloc(1, sizeof(*events));
	if (!events)
		return;
	filter = no_events_filter(query->uses, &nr_filters);
	no_events_parse(events, query->uses, filter);
	no_events_read(events, query, summary);
	nr_patterns = no_events_patterns(query->uses, patterns, &first);
	has_wrappers = query->wrappers && query->wrappers->count;
	has_own = events->nr_names || has_wrappers ||
			enabled > LIBSIDE_EVENTS * summary->nr_processes;
	if (no_events_print_filter(events, patterns, filter))
		;
	else if (nr_patterns && !enabled)
		no_events_print_patterns(events, patterns, first, has_wrappers, hint);
	else if (!has_own)
		message_note_hint(hint,
				"no event was recorded: the programs have no events of their own");
	else
		message_note("no event was recorded: none of the events%s%s%s happened%s",
				nr_patterns ? " that match `" : "", patterns,
				nr_patterns ? "`" : "",
				nr_filters ? ", or the filter selected none" : "");
	no_events_free(events);
}
