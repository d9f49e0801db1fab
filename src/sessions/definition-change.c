/* SPDX-License-Identifier: MIT */
/*
 * Applies a request to a definition.
 *
 * It changes a copy, checks the copy as `side record` checks its options (definition_check()), and
 * only then replaces the definition.
 */
#include "sessions/definition-change.h"
#include "sessions/definition-edit.h"
#include "sessions/definition-memory.h"
#include "sessions/definition-probe.h"
#include "sessions/definition.h"
#include "sessions/json.h"
#include "protocol/pattern.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int definition_change_set_fixed_error(struct definition_edit *change, const char *name)
{
	return error_set_kind(change->error, ERROR_BUSY, -EBUSY,
			"create another session, or destroy this one and create it again",
			"cannot add or change channels of the session %s after its start: \"%.80s\"",
			change->definition->name, name);
}

/* ---- events ---- */

static bool definition_change_is_same_rule(
		const struct definition_rule *one, const struct definition_rule *other)
{
	if (!one->filter != !other->filter)
		return false;
	return (!one->filter || !strcmp(one->filter, other->filter)) &&
			strings_same(&one->patterns, &other->patterns) &&
			strings_same(&one->contexts, &other->contexts);
}

/* Removes the last rule if another one is equal to it. */
static bool definition_change_drop_duplicate_rule(struct definition_channel *channel)
{
	struct definition_rule *last = &channel->rules[channel->nr_rules - 1];
	size_t i;

	for (i = 0; i + 1 < channel->nr_rules; i++) {
		if (!definition_change_is_same_rule(&channel->rules[i], last))
			continue;
		definition_rule_free(last);
		channel->nr_rules--;
		return true;
	}
	return false;
}

static int definition_change_enable_event(struct definition_edit *change)
{
	struct definition_channel *channel;
	int ret = change_enable_rule(change, &channel);

	if (!ret)
		change->changed = !definition_change_drop_duplicate_rule(channel);
	return ret;
}

static bool definition_change_has_selecting(const struct definition_strings *patterns)
{
	size_t i;

	for (i = 0; i < patterns->count; i++)
		if (patterns->items[i][0] != '!')
			return true;
	return false;
}

static void definition_change_remove_rules(struct definition_channel *channel)
{
	while (channel->nr_rules)
		definition_remove_rule(channel, channel->nr_rules - 1);
}

/* True if the rule selects events of the kernel, not of programs. */
static bool definition_change_is_kernel_rule(const struct definition_rule *rule)
{
	size_t i;

	for (i = 0; i < rule->patterns.count; i++)
		if (rule->patterns.items[i][0] != '!' && pattern_is_kernel(rule->patterns.items[i]))
			return true;
	return false;
}

static void definition_change_remove_kernel_rules(
		struct definition_edit *change, struct definition_channel *channel)
{
	size_t i;

	for (i = channel->nr_rules; i-- > 0;) {
		if (!definition_change_is_kernel_rule(&channel->rules[i]))
			continue;
		definition_remove_rule(channel, i);
		change->changed = true;
	}
}

/*
 * Removes the pattern from each rule that has it, and removes a rule that has no selecting pattern
 * left. Each remaining rule for the same source (the kernel or programs) gets the exception
 * "!PATTERN", because one of its wider patterns may match.
 */
static int definition_change_disable_pattern(struct definition_edit *change,
		struct definition_channel *channel, const char *pattern)
{
	char *exception;
	size_t i;
	int ret = 0;

	if (*pattern == '!')
		return error_set_kind(change->error, ERROR_USAGE, -EINVAL, NULL,
				"\"%.80s\": give the pattern to disable, without \"!\"", pattern);
	if (asprintf(&exception, "!%s", pattern) < 0)
		return error_set_no_memory(change->error);
	for (i = channel->nr_rules; i-- > 0 && !ret;) {
		struct definition_rule *rule = &channel->rules[i];

		if (strings_remove(&rule->patterns, pattern)) {
			change->changed = true;
			if (!definition_change_has_selecting(&rule->patterns)) {
				definition_remove_rule(channel, i);
				continue;
			}
		}
		if (strings_have(&rule->patterns, exception) ||
				definition_change_is_kernel_rule(rule) !=
						pattern_is_kernel(pattern))
			continue;
		change->changed = true;
		if (!strings_add(&rule->patterns, exception))
			ret = error_set_no_memory(change->error);
	}
	free(exception);
	return ret;
}

static int definition_change_disable_event(struct definition_edit *change)
{
	struct definition_strings patterns = {0};
	struct definition_channel *channel;
	int ret = change_get_channel(change, &channel);
	size_t i;

	if (ret)
		return ret;
	ret = json_get_strings(change->request, "event", &patterns, change->error);
	if (!ret &&
			(!patterns.count || strings_have(&patterns, "*") ||
					strings_have(&patterns, "*:*"))) {
		change->changed = channel->nr_rules;
		definition_change_remove_rules(channel);
		change_drop_all_probes(change, channel);
	}
	for (i = 0; !ret && i < patterns.count; i++) {
		bool named;

		if (!strcmp(patterns.items[i], PATTERN_KERNEL "*")) {
			definition_change_remove_kernel_rules(change, channel);
			continue;
		}
		ret = change_drop_probes(change, channel, patterns.items[i], &named);
		if (!ret && !named)
			ret = definition_change_disable_pattern(change, channel, patterns.items[i]);
	}
	strings_free(&patterns);
	return ret;
}

/* ---- channels ---- */

static int definition_change_enable_channel(struct definition_edit *change)
{
	struct definition_channel *channel;
	const char *name;
	int ret = change_get_channel_name(change, &name);

	if (ret)
		return ret;
	channel = definition_find_channel(change->definition, name);
	if (channel)
		return error_set_kind(change->error, ERROR_BUSY, -EEXIST,
				"`enable-event` and `add-context` change what it records",
				"the session %s already has a channel \"%.80s\"",
				change->definition->name, name);
	if (change->fixed)
		return definition_change_set_fixed_error(change, name);
	channel = definition_add_channel(change->definition, name);
	if (!channel)
		return error_set_no_memory(change->error);
	change->changed = true;
	ret = definition_read_rings(channel, change->request, change->error);
	if (!ret &&
			(json_object_object_get_ex(change->request, "event", NULL) ||
					json_object_object_get_ex(change->request, "filter", NULL)))
		ret = change_add_rule(change, channel);
	return ret;
}

static int definition_change_disable_channel(struct definition_edit *change)
{
	struct definition_channel *channel;
	struct definition *definition = change->definition;
	int ret = change_get_channel(change, &channel);
	size_t index;

	if (ret)
		return ret;
	change->changed = !change->fixed || channel->nr_rules;
	definition_change_remove_rules(channel);
	change_drop_all_probes(change, channel);
	if (change->fixed)
		return 0;
	index = (size_t)(channel - definition->channels);
	definition_channel_free(channel);
	definition->nr_channels--;
	memmove(channel, channel + 1, (definition->nr_channels - index) * sizeof(*channel));
	return 0;
}

/* ---- contexts ---- */

/* Adds the texts that are not in the list yet. */
static int definition_change_join_strings(struct definition_edit *change,
		struct definition_strings *to, const struct definition_strings *from)
{
	size_t i;

	for (i = 0; i < from->count; i++) {
		if (strings_have(to, from->items[i]))
			continue;
		if (!strings_add(to, from->items[i]))
			return error_set_no_memory(change->error);
		change->changed = true;
	}
	return 0;
}

/* Adds contexts to the rules that contain one of the patterns. */
static int definition_change_add_to_rules(struct definition_edit *change,
		struct definition_channel *channel, const struct definition_strings *patterns,
		const struct definition_strings *contexts)
{
	bool found = false;
	size_t i, k;
	int ret = 0;

	for (i = 0; i < channel->nr_rules && !ret; i++) {
		struct definition_rule *rule = &channel->rules[i];
		bool has = false;

		for (k = 0; k < patterns->count; k++)
			has |= strings_have(&rule->patterns, patterns->items[k]);
		if (has)
			ret = definition_change_join_strings(change, &rule->contexts, contexts);
		found |= has;
	}
	if (!ret && !found)
		return error_set_kind(change->error, ERROR_NOT_FOUND, -ENOENT,
				"`side list` shows the patterns that are enabled",
				"no events of the channel %s were enabled with the pattern \"%.80s\"",
				channel->name, patterns->items[0]);
	return ret;
}

static int definition_change_add_contexts(struct definition_edit *change,
		struct definition_channel *channel, const struct definition_strings *patterns,
		const struct definition_strings *contexts)
{
	if (!contexts->count)
		return error_set_kind(change->error, ERROR_USAGE, -EINVAL,
				"`side help contexts` lists them",
				"missing operand: the contexts to add");
	if (patterns->count)
		return definition_change_add_to_rules(change, channel, patterns, contexts);
	/*
	 * Once the channel has rings, the contexts of its records cannot change: add the new ones
	 * to its rules (`added`).
	 */
	return definition_change_join_strings(
			change, change->fixed ? &channel->added : &channel->contexts, contexts);
}

static int definition_change_add_context(struct definition_edit *change)
{
	struct definition_strings patterns = {0}, contexts = {0};
	struct definition_channel *channel;
	const char *name;
	int ret = change_get_channel_name(change, &name);

	if (ret)
		return ret;
	channel = definition_find_channel(change->definition, name);
	if (!channel && !change->fixed) {
		channel = definition_add_channel(change->definition, name);
		if (!channel)
			return error_set_no_memory(change->error);
	}
	if (!channel)
		return change_get_channel(change, &channel);
	ret = json_get_strings(change->request, "event", &patterns, change->error);
	if (!ret)
		ret = json_get_strings(change->request, "context", &contexts, change->error);
	if (!ret)
		ret = definition_change_add_contexts(change, channel, &patterns, &contexts);
	strings_free(&patterns);
	strings_free(&contexts);
	return ret;
}

/* ---- tracking ---- */

static struct definition_track *definition_change_find_track(
		struct definition *definition, const struct definition_track *wanted)
{
	size_t i;

	for (i = 0; i < definition->nr_tracks; i++) {
		struct definition_track *track = &definition->tracks[i];

		if (track->kind == wanted->kind && track->exclude == wanted->exclude &&
				(wanted->text ? !strcmp(track->text, wanted->text)
					      : track->number == wanted->number))
			return track;
	}
	return NULL;
}

static void definition_change_remove_track(
		struct definition *definition, struct definition_track *track)
{
	size_t index = (size_t)(track - definition->tracks);

	free(track->text);
	definition->nr_tracks--;
	memmove(track, track + 1, (definition->nr_tracks - index) * sizeof(*track));
}

static int definition_change_track_one(
		struct definition_edit *change, const struct definition_track *wanted, bool add)
{
	struct definition_track *track = definition_change_find_track(change->definition, wanted);
	char number[32];

	snprintf(number, sizeof(number), "%llu", (unsigned long long)wanted->number);
	if (!add) {
		if (!track)
			return error_set_kind(change->error, ERROR_NOT_FOUND, -ENOENT,
					"`side list` shows what a session tracks",
					"the session %s does not track %s %.80s",
					change->definition->name,
					definition_track_names[wanted->kind],
					wanted->text ? wanted->text : number);
		definition_change_remove_track(change->definition, track);
		change->changed = true;
		return 0;
	}
	if (track)
		return 0;
	if (change->definition->nr_tracks == DEFINITION_TRACKS_MAX)
		return error_set_kind(change->error, ERROR_USAGE, -E2BIG, NULL,
				"the session %s tracks by more than %d criteria",
				change->definition->name, DEFINITION_TRACKS_MAX);
	track = definition_add_track(change->definition);
	if (track) {
		*track = *wanted;
		track->text = wanted->text ? strdup(wanted->text) : NULL;
		change->changed = true;
	}
	return track && (!wanted->text || track->text) ? 0 : error_set_no_memory(change->error);
}

/* Reads a JSON number, or a text of digits. */
static int definition_change_read_track_number(struct definition_edit *change, const char *name,
		struct json_object *value, uint64_t *ret_number)
{
	const char *text;
	char *end;

	if (json_object_is_type(value, json_type_int) && json_object_get_int64(value) >= 0) {
		*ret_number = json_object_get_uint64(value);
	} else {
		text = json_object_is_type(value, json_type_string) ? json_object_get_string(value)
								    : "";
		*ret_number = strtoull(text, &end, 10);
		if (*text < '0' || *text > '9' || *end)
			*ret_number = UINT64_MAX;
	}
	if (*ret_number <= UINT32_MAX)
		return 0;
	return error_set_kind(change->error, ERROR_USAGE, -EINVAL, NULL,
			"\"%s\" has an element that is not a number in its range", name);
}

static int definition_change_track_numbers(
		struct definition_edit *change, struct definition_track *wanted, bool add)
{
	const char *name = definition_track_names[wanted->kind];
	struct json_object *value;
	size_t nr = 1, i;
	bool many;
	int ret = 0;

	if (!json_object_object_get_ex(change->request, name, &value) || !value)
		return 0;
	many = json_object_is_type(value, json_type_array);
	if (many)
		nr = json_object_array_length(value);
	for (i = 0; i < nr && !ret; i++) {
		struct json_object *element = many ? json_object_array_get_idx(value, i) : value;

		ret = definition_change_read_track_number(change, name, element, &wanted->number);
		if (!ret)
			ret = definition_change_track_one(change, wanted, add);
	}
	return ret;
}

static int definition_change_track_texts(
		struct definition_edit *change, struct definition_track *wanted, bool add)
{
	struct definition_strings globs = {0};
	int ret = json_get_strings(change->request, definition_track_names[wanted->kind], &globs,
			change->error);
	size_t i;

	for (i = 0; i < globs.count && !ret; i++) {
		wanted->text = globs.items[i];
		ret = definition_change_track_one(change, wanted, add);
	}
	strings_free(&globs);
	return ret;
}

static int definition_change_tracks(struct definition_edit *change, bool add)
{
	bool exclude = false, all = false;
	unsigned int kind;
	int ret = json_flag(change->request, "exclude", &exclude, change->error);

	if (!ret)
		ret = json_flag(change->request, "all", &all, change->error);
	while (!ret && all && change->definition->nr_tracks) {
		definition_change_remove_track(change->definition, change->definition->tracks);
		change->changed = true;
	}
	for (kind = 0; kind < DEFINITION_NR_TRACKS && !ret; kind++) {
		struct definition_track wanted = {
				.kind = (enum definition_track_kind)kind, .exclude = exclude};

		ret = definition_track_is_number(wanted.kind)
				? definition_change_track_numbers(change, &wanted, add)
				: definition_change_track_texts(change, &wanted, add);
	}
	return ret;
}

static int definition_change_track(struct definition_edit *change)
{
	return definition_change_tracks(change, true);
}

static int definition_change_untrack(struct definition_edit *change)
{
	return definition_change_tracks(change, false);
}

/* ---- the verbs ---- */

static int definition_change_create_session(struct definition_edit *change)
{
	change->changed = true;
	return definition_read_settings(change->definition, change->request, change->error);
}

#define OF_EVERY_REQUEST "version", "verb", "session"

static const char *const create_members[] = {OF_EVERY_REQUEST, "output", "format", "compress",
		"memory-limit", "huge-pages", "prefault", "symbols", "rotate-size", "rotate-time",
		"retain-size", "retain-age", "retain-chunks", "trigger", "to", "spool", "speed",
		"send-timeout", NULL};
static const char *const enable_channel_members[] = {OF_EVERY_REQUEST, "timeout", "channel", "mode",
		"buffer-size", "per-thread", "block-timeout", "context", "event", "filter", NULL};
static const char *const disable_channel_members[] = {OF_EVERY_REQUEST, "timeout", "channel", NULL};
static const char *const enable_event_members[] = {
		OF_EVERY_REQUEST, "timeout", "channel", "event", "filter", "event-context", NULL};
static const char *const disable_event_members[] = {
		OF_EVERY_REQUEST, "timeout", "channel", "event", NULL};
static const char *const add_context_members[] = {
		OF_EVERY_REQUEST, "timeout", "channel", "context", "event", NULL};
static const char *const enable_probe_members[] = {OF_EVERY_REQUEST, "timeout", "channel", "event",
		"filter", "event-context", "probe", "pid", "started", "exe", "file", "keep",
		"library", "unloaded", "loaded", "loaded-file", "pending", NULL};
static const char *const disable_probe_members[] = {
		OF_EVERY_REQUEST, "timeout", "channel", "event", "pid", NULL};
static const char *const track_members[] = {OF_EVERY_REQUEST, "timeout", "pid", "uid", "gid",
		"name", "cgroup", "container", "exclude", "all", NULL};

static const struct verb {
	const char *name;
	const char *const *members;
	int (*apply)(struct definition_edit *change);
} verbs[] = {
		{"create", create_members, definition_change_create_session},
		{"enable-channel", enable_channel_members, definition_change_enable_channel},
		{"disable-channel", disable_channel_members, definition_change_disable_channel},
		{"enable-event", enable_event_members, definition_change_enable_event},
		{"disable-event", disable_event_members, definition_change_disable_event},
		{"enable-probe", enable_probe_members, change_enable_probe},
		{"disable-probe", disable_probe_members, change_disable_probe},
		{"add-context", add_context_members, definition_change_add_context},
		{"track", track_members, definition_change_track},
		{"untrack", track_members, definition_change_untrack},
};

static const struct verb *definition_change_find_verb(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

bool definition_is_change(const char *verb)
{
	return definition_change_find_verb(verb);
}

static int definition_change_check_size(const struct definition *definition, struct error *error)
{
	struct json_object *json = definition_json(definition);
	size_t size = 0;

	if (json)
		json_object_to_json_string_length(json, JSON_C_TO_STRING_PLAIN, &size);
	json_object_put(json);
	if (!size)
		return error_set_no_memory(error);
	if (size > DEFINITION_TEXT_MAX)
		return error_set_kind(error, ERROR_USAGE, -E2BIG, NULL,
				"the definition of the session %s would be larger than 256 KiB",
				definition->name);
	return 0;
}

int definition_change(struct definition *definition, const char *name, struct json_object *request,
		bool fixed, bool *ret_changed, struct error *error)
{
	const struct verb *verb = definition_change_find_verb(name);
	struct definition_edit change = {.request = request, .fixed = fixed, .error = error};
	struct definition old;
	int ret;

	*ret_changed = false;
	if (!verb)
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"\"%.60s\" does not change a definition", name);
	ret = json_only(request, verb->members, "this request", error);
	if (!ret)
		ret = definition_copy(definition, &change.definition, error);
	if (ret)
		return ret;
	ret = verb->apply(&change);
	if (!ret && change.changed)
		ret = definition_check(change.definition, error);
	if (!ret && change.changed)
		ret = definition_change_check_size(change.definition, error);
	if (!ret && change.changed) {
		old = *definition;
		*definition = *change.definition;
		*change.definition = old;
		*ret_changed = true;
	}
	definition_free(change.definition);
	return ret;
}
