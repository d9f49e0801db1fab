/* SPDX-License-Identifier: MIT */
/* Explains patterns that match no event: the reason, the existing events, and the nearest names. */
#include "unmatched.h"

#include "programs/common/message.h"

#include "base/nearest/nearest.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_SHOWN 5

struct unmatched_text {
	char *text;
	size_t used;
};

static void unmatched_add_text(struct unmatched_text *text, const char *more)
{
	const size_t space = UNMATCHED_TEXT_SIZE - text->used, size = strlen(more);

	if (size >= space)
		return;
	memcpy(text->text + text->used, more, size + 1);
	text->used += size;
}

/* The glob of a pattern, without `!` and log level. */
static void unmatched_read_glob(const char *pattern, char glob[NEAREST_NAME_SIZE])
{
	size_t size = 0;

	pattern += *pattern == '!';
	for (; *pattern && *pattern != '@' && size + 2 < NEAREST_NAME_SIZE; pattern++) {
		if (*pattern == '\\' && pattern[1])
			glob[size++] = *pattern++;
		glob[size++] = *pattern;
	}
	glob[size] = '\0';
}

static int unmatched_compare_names(const void *one, const void *other)
{
	return strcmp(*(const char *const *)one, *(const char *const *)other);
}

/* The names, sorted, without duplicates. The caller frees the array. NULL: out of memory. */
static const char **unmatched_sort_names(const struct unmatched *unmatched, size_t *ret_count)
{
	const char **names = calloc(unmatched->nr_names + 1, sizeof(*names));

	*ret_count = 0;
	if (!names)
		return NULL;
	if (unmatched->nr_names) {
		memcpy(names, unmatched->names, unmatched->nr_names * sizeof(*names));
		qsort(names, unmatched->nr_names, sizeof(*names), unmatched_compare_names);
	}
	for (size_t i = 0; i < unmatched->nr_names; i++) {
		if (!*ret_count || strcmp(names[*ret_count - 1], names[i]) != 0)
			names[(*ret_count)++] = names[i];
	}
	return names;
}

static void unmatched_print_names(struct unmatched_text *text, const struct unmatched *unmatched,
		const char *const *names, size_t count)
{
	char line[512], number[FORMAT_NUMBER_MAX];

	snprintf(line, sizeof(line), "%s has %s %s%s%s", unmatched->owner,
			count ? format_number(count, number) : "no", unmatched->noun,
			count == 1                                                    ? ""
					: strcmp(unmatched->noun, "event class") != 0 ? "s"
										      : "es",
			count ? ": " : "");
	unmatched_add_text(text, line);
	for (size_t i = 0; i < count && i < NAMES_SHOWN; i++) {
		snprintf(line, sizeof(line), "%s%.150s", i ? ", " : "", names[i]);
		unmatched_add_text(text, line);
	}
	if (count > NAMES_SHOWN)
		unmatched_add_text(text, ", ...");
}

/* Offers all names and providers. A word without a colon is compared with the providers alone. */
static void unmatched_suggest_names(struct nearest *nearest, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *colon = strchr(names[i], ':');
		char provider[NEAREST_NAME_SIZE];

		nearest_offer(nearest, names[i]);
		if (!colon || (size_t)(colon - names[i]) + 3 > sizeof(provider))
			continue;
		snprintf(provider, sizeof(provider), "%.*s%s", (int)(colon - names[i]), names[i],
				strchr(nearest->word, ':') ? ":*" : "");
		nearest_offer(nearest, provider);
	}
}

/* Offers the full names of the events whose name without provider is nearest to the word. */
static void unmatched_offer_events(struct nearest *nearest, const char *const *names, size_t count)
{
	struct nearest events;
	struct nearest full;

	nearest_begin(&events, nearest->word);
	nearest_begin(&full, nearest->word);
	for (size_t i = 0; i < count; i++) {
		const char *colon = strchr(names[i], ':');

		if (!colon)
			continue;
		if (!strcmp(colon + 1, nearest->word) && full.count < NEAREST_MAX)
			snprintf(full.names[full.count++].name, sizeof(full.names[0].name), "%s",
					names[i]);
		nearest_offer(&events, colon + 1);
	}
	/* An event with exactly this name is the best suggestion. */
	if (full.count) {
		for (size_t i = 0; i < full.count; i++)
			full.names[i].cost = 0;
		*nearest = full;
		return;
	}
	if (!events.count || (nearest->count && nearest->names[0].cost <= events.names[0].cost))
		return;
	for (size_t i = 0; i < count && full.count < NEAREST_MAX; i++) {
		const char *colon = strchr(names[i], ':');

		if (!colon || strcmp(colon + 1, events.names[0].name) != 0)
			continue;
		snprintf(full.names[full.count].name, sizeof(full.names[0].name), "%s", names[i]);
		full.names[full.count++].cost = events.names[0].cost;
	}
	*nearest = full;
}

static void unmatched_add_suggestion(struct unmatched_text *text, const struct unmatched *unmatched,
		const char *glob, const char *const *names, size_t count)
{
	struct nearest nearest;
	size_t likely;

	nearest_begin(&nearest, glob);
	unmatched_suggest_names(&nearest, names, count);
	if (!strchr(glob, ':'))
		unmatched_offer_events(&nearest, names, count);
	likely = nearest_likely(&nearest);
	for (size_t i = 0; i < likely; i++) {
		char quoted[2 * NEAREST_NAME_SIZE], line[2 * NEAREST_NAME_SIZE + 32];

		snprintf(line, sizeof(line), "%s`%s%s`",
				!i                               ? "did you mean "
						: i + 1 < likely ? ", "
								 : " or ",
				unmatched->option,
				format_quoted(nearest.names[i].name, quoted, sizeof(quoted)));
		unmatched_add_text(text, line);
	}
	if (likely)
		unmatched_add_text(text, "?");
}

/* True if the pattern matches when its log level is ignored. */
static bool unmatched_matches_any(const char *glob, const char *const *names, size_t count)
{
	const bool bare = !strchr(glob, ':');
	char whole[NEAREST_NAME_SIZE + 2];

	snprintf(whole, sizeof(whole), "%s%s", glob, bare ? ":*" : "");
	for (size_t i = 0; i < count; i++) {
		if (!fnmatch(whole, names[i], 0))
			return true;
	}
	return false;
}

void unmatched_explain(const struct unmatched *unmatched, char reason[UNMATCHED_TEXT_SIZE],
		char hint[UNMATCHED_TEXT_SIZE])
{
	struct unmatched_text text = {.text = reason}, suggestion = {.text = hint};
	char glob[NEAREST_NAME_SIZE];
	const char **names;
	size_t count;

	*reason = '\0';
	*hint = '\0';
	unmatched_read_glob(unmatched->pattern, glob);
	names = unmatched_sort_names(unmatched, &count);
	if (!names)
		return;
	if (!strchr(glob, ':') && strcmp(glob, "*") != 0)
		unmatched_add_text(&text, "no colon, so it names a provider: ");
	if (unmatched_matches_any(glob, names, count))
		unmatched_add_text(&text, "no event of that name has that log level: ");
	unmatched_print_names(&text, unmatched, names, count);
	if (!unmatched_matches_any(glob, names, count))
		unmatched_add_suggestion(&suggestion, unmatched, glob, names, count);
	free(names);
}
