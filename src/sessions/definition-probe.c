/* SPDX-License-Identifier: MIT */
/* Applies requests to the probes of a definition (definition-probe.h). */
#include "sessions/definition-probe.h"
#include "sessions/definition-memory.h"
#include "sessions/definition-probe-json.h"
#include "sessions/json.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "protocol/pattern.h"

/* ---- enabling ---- */

/* True if both probes make the same event in the same processes. */
static bool definition_probe_is_same(
		const struct definition_probe *probe, const struct definition_probe *of)
{
	return !strcmp(probe->events.items[0], of->events.items[0]) &&
			probe->target.pid == of->target.pid &&
			probe->target.started == of->target.started &&
			!probe->target.exe == !of->target.exe &&
			(!probe->target.exe || !strcmp(probe->target.exe, of->target.exe));
}

/*
 * True if a probe replaces another one. The channel does not matter: rules name events, so each
 * channel would record both.
 */
static bool is_successor(const struct definition_probe *probe, const struct definition_probe *of)
{
	return definition_probe_is_same(probe, of) &&
			(!probe->loaded ||
					(of->loaded &&
							!strcmp(probe->loaded_file,
									of->loaded_file)));
}

/* ---- files of libraries ---- */

bool definition_probe_may_name(const struct definition_probe *probe, const char *path)
{
	const char *library = probe->library, *slash;
	char pattern[512];

	if (!library || probe->loaded)
		return false;
	slash = strrchr(library, '/');
	if (snprintf(pattern, sizeof(pattern), "%s*", slash ? slash + 1 : library) >=
			(int)sizeof(pattern))
		return false;
	return !fnmatch(library, path, 0) || !fnmatch(pattern, strrchr(path, '/') + 1, 0);
}

bool definition_probe_is_loaded(const struct definition *definition,
		const struct definition_probe *probe, const char *file)
{
	for (size_t i = 0; i < definition->nr_probes; i++) {
		const struct definition_probe *other = &definition->probes[i];

		if (other->loaded && definition_probe_is_same(probe, other) &&
				(!file || !strcmp(other->loaded_file, file)))
			return true;
	}
	return false;
}

/* The new probe, the last one, is for a file of a library: another probe must request it. */
static int definition_probe_check_requested(
		const struct definition *definition, struct error *error)
{
	const struct definition_probe *new = &definition->probes[definition->nr_probes - 1];

	for (size_t i = 0; new->loaded &&i + 1 < definition->nr_probes; i++) {
		const struct definition_probe *probe = &definition->probes[i];

		if (probe->library && definition_probe_is_same(new, probe) &&
				!strcmp(new->text, probe->text) &&
				!strcmp(new->channel, probe->channel))
			return 0;
	}
	return !new->loaded ? 0
			    : error_set_kind(error, ERROR_NOT_FOUND, -ENOENT, NULL,
					      "the probe was changed meanwhile");
}

/* Returns the oldest probe for a file of the same library if there is no space; else nr_probes. */
static size_t definition_probe_find_oldest(const struct definition *definition)
{
	const struct definition_probe *new = &definition->probes[definition->nr_probes - 1];
	size_t nr = 0, oldest = definition->nr_probes;

	for (size_t i = definition->nr_probes - 1; new->loaded &&i-- > 0;) {
		if (!definition->probes[i].loaded ||
				!definition_probe_is_same(new, &definition->probes[i]))
			continue;
		oldest = i;
		nr++;
	}
	return nr >= DEFINITION_PROBE_LOADED_MAX ? oldest : definition->nr_probes;
}

/* ---- executed files ---- */

static bool definition_probe_is_of_file(const struct definition_probe *probe, const char *file)
{
	return probe->file && !strcmp(probe->file, file);
}

static bool definition_probe_is_at(const struct definition_probe *probe, const char *exe)
{
	return probe->target.exe && !strcmp(probe->target.exe, exe);
}

/*
 * True if `other` makes the event in programs of the file at this path, or is requested for it.
 * `other` is another probe for the same event, so the last one of them is requested.
 */
static bool definition_probe_is_covered(const struct definition_probe *probe,
		const struct definition_probe *other, const char *exe, const char *file)
{
	if (!definition_probe_is_at(probe, exe))
		return definition_probe_is_at(other, exe) ||
				(other > probe && definition_probe_is_of_file(other, file));
	return definition_probe_is_at(other, exe) &&
			(!other->table || other > probe ||
					definition_probe_is_of_file(other, file));
}

bool definition_probe_is_missing(const struct definition *definition, size_t index, const char *exe,
		const char *file)
{
	const struct definition_probe *probe = &definition->probes[index], *other;
	bool is_at = definition_probe_is_at(probe, exe);
	size_t nr_links = 0;

	/* Its files are those that programs load. */
	if (probe->library || probe->loaded)
		return false;
	if (is_at && !probe->table)
		return true;
	if (!probe->table || !probe->file || is_at == definition_probe_is_of_file(probe, file))
		return false;
	for (other = definition->probes; other < &definition->probes[definition->nr_probes];
			other++) {
		if (strcmp(other->events.items[0], probe->events.items[0]) != 0)
			continue;
		if (other != probe && definition_probe_is_covered(probe, other, exe, file))
			return false;
		nr_links += definition_probe_is_of_file(other, file);
	}
	return nr_links < DEFINITION_PROBE_LINKS_MAX;
}

/* ---- replacing ---- */

/* True if the request keeps a probe for running programs of a former file. */
static bool definition_probe_is_kept(
		const struct definition_probe *probe, const struct definition_strings *kept)
{
	return probe->file && strings_have(kept, probe->file);
}

static void remove_probe(struct definition *definition, size_t index)
{
	struct definition_probe *probe = &definition->probes[index];

	definition_probe_free(probe);
	definition->nr_probes--;
	memmove(probe, probe + 1, (definition->nr_probes - index) * sizeof(*probe));
}

/* True if another probe of the channel makes this event, too. */
static bool is_made(const struct definition *definition, const char *channel, const char *event)
{
	size_t i;

	for (i = 0; i < definition->nr_probes; i++)
		if (!strcmp(definition->probes[i].channel, channel) &&
				strings_have(&definition->probes[i].events, event))
			return true;
	return false;
}

static void forget_event(struct definition_channel *channel, const char *event)
{
	size_t i, k;

	for (i = channel->nr_rules; i-- > 0;) {
		struct definition_rule *rule = &channel->rules[i];
		bool more = false;

		if (!strings_remove(&rule->patterns, event))
			continue;
		for (k = 0; k < rule->patterns.count; k++)
			more |= rule->patterns.items[k][0] != '!';
		if (!more)
			definition_remove_rule(channel, i);
	}
}

static bool filter_same(const struct definition_rule *one, const struct definition_rule *other)
{
	if (!one->filter || !other->filter)
		return !one->filter == !other->filter;
	return !strcmp(one->filter, other->filter);
}

/* Adds the contexts of `rule` to the last rule. */
static bool join_contexts(struct definition_rule *last, const struct definition_rule *rule)
{
	size_t i;

	for (i = 0; i < rule->contexts.count; i++)
		if (!strings_have(&last->contexts, rule->contexts.items[i]) &&
				!strings_add(&last->contexts, rule->contexts.items[i]))
			return false;
	return true;
}

/*
 * Merges the new rule, the last one, into an existing rule for the same events. Returns false if
 * out of memory.
 */
static bool join_rule(struct definition_channel *channel)
{
	struct definition_rule *last = &channel->rules[channel->nr_rules - 1];
	size_t i;

	for (i = 0; i + 1 < channel->nr_rules; i++) {
		struct definition_rule *rule = &channel->rules[i];

		if (!strings_same(&rule->patterns, &last->patterns) || !filter_same(rule, last))
			continue;
		if (!join_contexts(rule, last))
			return false;
		definition_remove_rule(channel, channel->nr_rules - 1);
		break;
	}
	return true;
}

/*
 * Removes the event from the older rules; else their filters would still select events that the
 * filter of the new rule rejects. The last rule is the new one: it gets all contexts of the event.
 * Returns false if out of memory.
 */
static bool succeed_rules(struct definition_channel *channel, const char *event)
{
	struct definition_rule *last = &channel->rules[channel->nr_rules - 1], new;
	bool done = true;
	size_t i;

	for (i = 0; done && i + 1 < channel->nr_rules; i++)
		if (strings_have(&channel->rules[i].patterns, event))
			done = join_contexts(last, &channel->rules[i]);
	new = *last;
	channel->nr_rules--;
	forget_event(channel, event);
	channel->rules[channel->nr_rules++] = new;
	return done;
}

/*
 * Replaces the probe at `index` by the new one, which is the last. Returns false if out of memory.
 */
static bool succeed(struct definition *definition, struct definition_channel *channel, size_t index)
{
	struct definition_probe former = definition->probes[index];
	bool done = true;
	size_t i, k;

	definition->probes[index] = (struct definition_probe){.table = 0};
	remove_probe(definition, index);
	/*
	 * Except events that other probes also make: it is unknown to which probe their filters
	 * belong.
	 */
	definition->nr_probes--;
	for (i = 0; done && i < former.events.count; i++) {
		const char *event = former.events.items[i];

		if (is_made(definition, former.channel, event))
			continue;
		if (!strcmp(former.channel, channel->name))
			done = succeed_rules(channel, event);
		for (k = 0; k < definition->nr_channels; k++)
			if (&definition->channels[k] != channel &&
					!strcmp(definition->channels[k].name, former.channel))
				forget_event(&definition->channels[k], event);
	}
	definition->nr_probes++;
	definition_probe_free(&former);
	return done;
}

int change_enable_probe(struct definition_edit *change)
{
	struct definition *definition = change->definition;
	struct definition_channel *channel = NULL;
	struct definition_probe *probe = definition_add_probe(definition, change->error);
	struct definition_strings kept = {0};
	bool done = true, is_pending = false;
	size_t i, oldest;
	int ret;

	if (!probe)
		return change->error->code;
	ret = definition_read_probe(probe, change->request, change->error);
	if (!ret)
		ret = definition_probe_check_requested(definition, change->error);
	if (!ret)
		ret = json_flag(change->request, "pending", &is_pending, change->error);
	if (!ret && is_pending && !probe->target.exe)
		ret = error_set_kind(change->error, ERROR_USAGE, -EINVAL, NULL,
				"a pending probe names no file: \"exe\"");
	if (!ret)
		ret = change_enable_rule(change, &channel);
	if (!ret)
		ret = json_get_strings(change->request, "keep", &kept, change->error);
	for (i = definition->nr_probes - 1; !ret && done && i-- > 0;)
		if (is_successor(&definition->probes[definition->nr_probes - 1],
				    &definition->probes[i]) &&
				!definition_probe_is_kept(&definition->probes[i], &kept))
			done = succeed(definition, channel, i);
	oldest = definition_probe_find_oldest(definition);
	if (!ret && done && oldest < definition->nr_probes)
		done = succeed(definition, channel, oldest);
	strings_free(&kept);
	if (ret)
		return ret;
	if (!done || !join_rule(channel))
		return error_set_no_memory(change->error);
	if (!is_pending)
		definition->probes[definition->nr_probes - 1].table = ++definition->last_table;
	change->changed = true;
	return 0;
}

/* ---- disabling ---- */

static bool is_name_of(const char *pattern, const char *event)
{
	size_t size = strlen(DEFINITION_PROBE_PROVIDER);

	return !strcmp(pattern, event) ||
			(!strncmp(event, DEFINITION_PROBE_PROVIDER, size) &&
					!strcmp(pattern, event + size));
}

/* True if a request names the event itself, or has a pattern that matches it. */
static bool definition_probe_matches(
		const char *event, const char *text, const struct pattern *pattern)
{
	char provider[PATTERN_TEXT_MAX + 1];
	const char *colon = strchr(event, ':');

	if (is_name_of(text, event))
		return true;
	if (!pattern || pattern->level_mode != PATTERN_LEVEL_ANY || !colon)
		return false;
	snprintf(provider, sizeof(provider), "%.*s", (int)(colon - event), event);
	return pattern_matches(pattern, provider, colon + 1, 0);
}

/* Removes the probe, and its events from the channel's rules unless another probe makes them. */
static void drop_probe(struct definition_edit *change, size_t index)
{
	struct definition *definition = change->definition;
	struct definition_probe gone = definition->probes[index];
	size_t i, k;

	definition->probes[index] = (struct definition_probe){.table = 0};
	remove_probe(definition, index);
	for (i = 0; i < definition->nr_channels; i++) {
		if (strcmp(definition->channels[i].name, gone.channel) != 0)
			continue;
		for (k = 0; k < gone.events.count; k++)
			if (!is_made(definition, gone.channel, gone.events.items[k]))
				forget_event(&definition->channels[i], gone.events.items[k]);
	}
	definition_probe_free(&gone);
	change->changed = true;
}

/*
 * Removes the matching probes of process `pid` (0: of any process). Returns their number, or a
 * negative errno.
 */
static int drop_meant(struct definition_edit *change, const char *channel, const char *text,
		uint32_t pid, bool *ret_named)
{
	struct pattern_error where;
	struct pattern pattern;
	char sentence[ERROR_TEXT_SIZE];
	int count = 0;
	size_t i, k;

	*ret_named = false;
	if (pattern_parse(text, &pattern, &where)) {
		pattern_error_text(sentence, sizeof(sentence), text, &where);
		return error_set_kind(change->error, ERROR_USAGE, -EINVAL, NULL, "%s", sentence);
	}
	for (i = change->definition->nr_probes; i-- > 0;) {
		const struct definition_probe *probe = &change->definition->probes[i];
		bool meant = false;

		if (strcmp(probe->channel, channel) != 0 || (pid && probe->target.pid != pid))
			continue;
		for (k = 0; k < probe->events.count; k++) {
			meant |= definition_probe_matches(probe->events.items[k], text, &pattern);
			*ret_named |= is_name_of(text, probe->events.items[k]);
		}
		if (meant)
			drop_probe(change, i);
		count += meant;
	}
	return count;
}

int change_drop_probes(struct definition_edit *change, const struct definition_channel *channel,
		const char *pattern, bool *ret_named)
{
	int ret = 0;

	*ret_named = false;
	/* A text that cannot be a pattern is refused later, where it is parsed. */
	if (change->definition->nr_probes && *pattern != '!')
		ret = drop_meant(change, channel->name, pattern, 0, ret_named);
	return ret < 0 ? ret : 0;
}

void change_drop_all_probes(
		struct definition_edit *change, const struct definition_channel *channel)
{
	size_t i;

	for (i = change->definition->nr_probes; i-- > 0;)
		if (!strcmp(change->definition->probes[i].channel, channel->name))
			drop_probe(change, i);
}

int change_disable_probe(struct definition_edit *change)
{
	struct definition_strings patterns = {0};
	struct definition_channel *channel;
	uint64_t pid = 0;
	bool named;
	size_t i;
	int ret = change_get_channel(change, &channel);

	if (!ret)
		ret = json_number(change->request, "pid", INT32_MAX, &pid, change->error);
	if (!ret)
		ret = json_get_strings(change->request, "event", &patterns, change->error);
	if (!ret && !patterns.count)
		ret = strings_add(&patterns, "*") ? 0 : error_set_no_memory(change->error);
	for (i = 0; !ret && i < patterns.count; i++) {
		int count = drop_meant(
				change, channel->name, patterns.items[i], (uint32_t)pid, &named);

		ret = count < 0 ? count : 0;
		if (!count)
			ret = error_set_kind(change->error, ERROR_NOT_FOUND, -ENOENT,
					"`side status` shows the probes of a session",
					"the channel %s has no probe \"%.80s\"%s", channel->name,
					patterns.items[i], pid ? " in that process" : "");
	}
	strings_free(&patterns);
	return ret;
}
