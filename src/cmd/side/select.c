/* SPDX-License-Identifier: MIT */
/*
 * `-e PATTERN` of all verbs: from words to patterns, with a sentence for what is wrong, and one for
 * what was chosen and is not there.
 */
#include "command.h"
#include "report-walk.h"
#include "say.h"

#include "ctf/ctf.h"
#include "wire/pattern.h"

#include <stdlib.h>
#include <string.h>

int command_select(const struct text_list *words, struct pattern **patterns)
{
	*patterns = NULL;
	if (!words->count)
		return COMMAND_DONE;
	*patterns = calloc(words->count, sizeof(**patterns));
	if (!*patterns)
		return say_error(COMMAND_FAILED, NULL, "cannot read the patterns: out of memory");
	for (size_t i = 0; i < words->count; i++) {
		struct pattern_error error;
		char text[PATTERN_TEXT_MAX + 256];

		if (!pattern_parse(words->items[i], &(*patterns)[i], &error))
			continue;
		pattern_error_text(text, sizeof(text), words->items[i], &error);
		free(*patterns);
		*patterns = NULL;
		return say_error(COMMAND_USAGE, "`side help patterns` explains them", "%s", text);
	}
	return COMMAND_DONE;
}

/* ---- what was chosen and is not there ---- */

#define NAMES_MAX 4096

/* A name of the trace that was probably meant by the first pattern, or NULL. *fits: one matches. */
static const char *nearest_name(const struct ctf_reader *reader, const struct text_list *words,
		const struct pattern *patterns, bool *fits)
{
	const char **names = calloc(NAMES_MAX, sizeof(*names)), *nearest = NULL;
	size_t count = 0;

	for (uint32_t t = 0; t < ctf_reader_trace_count(reader) && names; t++) {
		const struct ctf_trace *trace = ctf_reader_trace(reader, t);

		for (uint32_t i = 0; i < ctf_trace_event_count(trace); i++) {
			const struct ctf_event_class *event = ctf_trace_event(trace, i);

			*fits |= walk_pattern_wants(
					patterns, words->count, event->name, event->loglevel);
			if (count < NAMES_MAX)
				names[count++] = event->name;
		}
	}
	if (!*fits && count)
		nearest = parse_nearest(words->items[0], names, count);
	free(names);
	return nearest;
}

void command_nothing_fits(const struct ctf_reader *reader, const char *dir,
		const struct text_list *words, const char *where, bool times)
{
	const char *nearest = NULL;
	struct pattern *patterns;
	bool fits = false;

	if (words->count && !command_select(words, &patterns)) {
		nearest = nearest_name(reader, words, patterns, &fits);
		free(patterns);
	}
	if (words->count && !fits)
		say_note("no event in %s is called like `-e %s`%s%s%s", dir, words->items[0],
				words->count > 1 ? " and what else is given" : "",
				nearest ? "; did you mean " : "", nearest ? nearest : "");
	else if (where)
		say_note("no event in %s fits `--where %s`%s%s", dir, where,
				words->count ? " and `-e`" : "", times ? " at that time" : "");
	else if (words->count)
		say_note("no event that `-e %s` chooses happened in %s%s", words->items[0], dir,
				times ? " at that time" : "");
}
