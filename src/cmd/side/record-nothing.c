/* SPDX-License-Identifier: MIT */
/*
 * Why a recording of programs has no event. The events of a program are read from its file and from the libraries
 * that it is linked with, as `side list` does, but without messages: a file that cannot be read has no events.
 */
#include "record-nothing.h"

#include "command.h"
#include "say.h"
#include "unmatched.h"

#include "elf/events.h"
#include "elf/image.h"
#include "elf/libraries.h"
#include "session/session.h"
#include "visit/visit.h"
#include "wire/pattern.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES_MAX 512
#define EVENTS_MAX 4096
#define PATTERNS_SHOWN 3
#define LIBSIDE_PROVIDER "side" /* its events are the begin and the end of state dumps */
#define LIBSIDE_EVENTS 2
#define NOTHING_HINT "; `-w libc` and `-w pthread` record library calls"

struct events {
	char *files[FILES_MAX];
	size_t nr_files;
	char *names[EVENTS_MAX];
	size_t nr_names;
	struct library_search *search;
	struct visit_memory memory; /* of the file at hand */
	const char *program;        /* the first one that has events */
};

static void nothing_add_file(struct events *events, char *path)
{
	bool known = !path || events->nr_files == FILES_MAX;

	for (size_t i = 0; i < events->nr_files && !known; i++)
		known = !strcmp(events->files[i], path);
	if (known)
		free(path);
	else
		events->files[events->nr_files++] = path;
}

static int nothing_add_event(void *user, uint64_t address)
{
	struct events *events = user;
	struct visit_owned *owned;
	struct visit_error error;
	uint64_t bytes;
	char *name;

	if (events->nr_names == EVENTS_MAX ||
			image_read_event(&events->memory, address, &owned, &bytes, &error))
		return 0;
	/* Those of libside are in each program. */
	if (strcmp(side_ptr_get(owned->desc->provider_name), LIBSIDE_PROVIDER) != 0 &&
			asprintf(&name, "%s:%s",
					(const char *)side_ptr_get(owned->desc->provider_name),
					(const char *)side_ptr_get(owned->desc->event_name)) >= 0)
		events->names[events->nr_names++] = name;
	visit_owned_free(owned);
	return 0;
}

static void nothing_read_file(struct events *events, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct image_error error;
	const uint64_t *found;
	struct image *image;
	const char *name;
	size_t nr_found;

	if (fd < 0)
		return;
	if (!image_open(fd, true, &image, &error)) {
		events->memory = image_memory(image);
		(void)image_each_event(image, &events->memory, 0, nothing_add_event, events);
		found = image_found(image, &nr_found);
		for (size_t i = 0; i < nr_found; i++)
			(void)nothing_add_event(events, found[i]);
		for (size_t i = 0; events->search && image_dynamic_text(image, DT_NEEDED, i, &name);
				i++)
			nothing_add_file(events, library_find(events->search, image, path, name));
		image_close(image);
	}
	close(fd);
}

static void nothing_read(struct events *events, const struct session_summary *summary)
{
	events->search = library_search_open();
	for (size_t i = 0; i < summary->nr_processes; i++) {
		const char *program = summary->processes[i].exe;
		size_t before = events->nr_names, file = events->nr_files;

		nothing_add_file(events, strdup(program));
		for (; file < events->nr_files; file++)
			nothing_read_file(events, events->files[file]);
		if (!events->program && events->nr_names > before)
			events->program = program;
	}
	if (events->search)
		library_search_close(events->search);
}

static void nothing_free(struct events *events)
{
	for (size_t i = 0; i < events->nr_files; i++)
		free(events->files[i]);
	for (size_t i = 0; i < events->nr_names; i++)
		free(events->names[i]);
	free(events);
}

/* ---- what was asked for ---- */

static bool nothing_is_pattern(const struct option_use *use)
{
	return !strcmp(use->option->name, "event");
}

/* The patterns, as they can be written again; the first one alone in *ret_first. 0: there is none. */
static size_t nothing_patterns(
		const struct option_uses *uses, char text[512], const char **ret_first)
{
	size_t count = 0, used = 0;
	char quoted[128];

	*text = '\0';
	for (size_t i = 0; i < uses->count; i++) {
		if (!nothing_is_pattern(&uses->items[i]))
			continue;
		if (!count)
			*ret_first = uses->items[i].text;
		if (count++ < PATTERNS_SHOWN)
			used += (size_t)snprintf(text + used, 512 - used, "%s-e %s",
					used ? " " : "",
					say_quoted(uses->items[i].text, quoted, sizeof(quoted)));
	}
	if (count > PATTERNS_SHOWN)
		snprintf(text + used, 512 - used, " ...");
	return count;
}

static void nothing_print_unmatched(
		const struct events *events, const char *patterns, const char *first)
{
	const char *slash = strrchr(events->program, '/');
	char text[UNMATCHED_TEXT_SIZE], program[256];

	say_note("no event matched `%s`: %s", patterns,
			unmatched_text(&(const struct unmatched){.pattern = first,
						       .option = "-e ",
						       .names = (const char *const *)events->names,
						       .nr_names = events->nr_names,
						       .owner = say_printable(
								       slash ? slash + 1
									     : events->program,
								       program, sizeof(program)),
						       .noun = "event"},
					text));
}

static bool nothing_has_filter(const struct option_uses *uses)
{
	for (size_t i = 0; i < uses->count; i++)
		if (!strcmp(uses->items[i].option->name, "filter"))
			return true;
	return false;
}

/* Event classes that were recorded, although no event happened. */
static uint64_t nothing_enabled(const struct session_summary *summary)
{
	uint64_t enabled = 0;

	for (size_t i = 0; i < summary->nr_processes; i++)
		enabled += summary->processes[i].events;
	return enabled;
}

void nothing_explain(const struct nothing *nothing, const struct session_summary *summary)
{
	const uint64_t enabled = nothing_enabled(summary);
	struct events *events;
	const char *first = NULL;
	char patterns[512];
	bool has_own;
	size_t asked;

	/* The reasons why programs are not recorded are printed; nothing else is known of their events. */
	if (summary->nr_refused) {
		if (nothing_patterns(nothing->uses, patterns, &first) && !enabled)
			say_note("no event of the recorded programs matched `%s`", patterns);
		return;
	}
	events = calloc(1, sizeof(*events));
	if (!events)
		return;
	nothing_read(events, summary);
	asked = nothing_patterns(nothing->uses, patterns, &first);
	has_own = events->nr_names || nothing->has_wrappers ||
			enabled > LIBSIDE_EVENTS * summary->nr_processes;
	if (asked && events->nr_names && !enabled)
		nothing_print_unmatched(events, patterns, first);
	else if (asked && !enabled && nothing->has_wrappers)
		say_note("no event matched `%s`; `side list -w`, with the same wrapper and command, lists the names",
				patterns);
	else if (asked && !enabled)
		say_note("no event matched `%s`: the programs have no events of their own" NOTHING_HINT,
				patterns);
	else if (!has_own)
		say_note("no event was recorded: the programs have no events of their own" NOTHING_HINT);
	else
		say_note("no event was recorded: none of the events%s%s%s happened%s",
				asked ? " that match `" : "", patterns, asked ? "`" : "",
				nothing_has_filter(nothing->uses) ? ", or the filter selected none"
								  : "");
	nothing_free(events);
}
