/* SPDX-License-Identifier: MIT */
/*
 * Reads, writes and changes the probes of a definition. A definition contains only the number of a
 * table, never its content.
 */
#include "sessions/definition.h"
#include "sessions/parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/pattern.h"

#define PROVIDER "probe:" /* provider of an event name without a colon */

static const char *const probe_members[] = {
		"event", "channel", "probe", "pid", "started", "exe", "table", "uid", "gid", NULL};

static void probe_free(struct definition_probe *probe)
{
	strings_free(&probe->events);
	free(probe->channel);
	free(probe->text);
	free(probe->target.exe);
}

void definition_probes_free(struct definition *definition)
{
	size_t i;

	for (i = 0; i < definition->nr_probes; i++)
		probe_free(&definition->probes[i]);
	free(definition->probes);
}

/* Appends an empty probe. Returns NULL with *error filled in on failure. */
static struct definition_probe *definition_probe_append(
		struct definition *definition, struct error *error)
{
	struct definition_probe *probes;

	if (definition->nr_probes == DEFINITION_PROBES_MAX) {
		error_set_kind(error, ERROR_USAGE, -E2BIG, "disable some",
				"the session %s has %d probes, and no more are possible",
				definition->name, DEFINITION_PROBES_MAX);
		return NULL;
	}
	probes = realloc(definition->probes, (definition->nr_probes + 1) * sizeof(*probes));
	if (!probes) {
		error_set_no_memory(error);
		return NULL;
	}
	definition->probes = probes;
	probes += definition->nr_probes++;
	*probes = (struct definition_probe){.table = 0};
	return probes;
}

/* ---- reading ---- */

/* The event becomes a pattern of a rule, so it must match only this event. */
static int definition_probe_check_event(const char *event, struct error *error)
{
	const char *colon = strchr(event, ':');

	if (colon && colon != event && colon[1] && !strpbrk(event, "*?[]\\@!"))
		return 0;
	return error_set_kind(error, ERROR_USAGE, -EINVAL,
			"write PROVIDER:NAME, or a NAME alone for " PROVIDER "NAME",
			"\"%.80s\" cannot name the event of a probe", event);
}

static int definition_probe_copy_text(char **to, const char *from, struct error *error)
{
	*to = from ? strdup(from) : NULL;
	return !from || *to ? 0 : error_set_no_memory(error);
}

static int read_target(
		struct definition_probe *probe, struct json_object *json, struct error *error)
{
	const char *exe = NULL;
	uint64_t pid = 0;
	int ret = json_number(json, "pid", INT32_MAX, &pid, error);

	if (!ret)
		ret = json_number(json, "started", INT64_MAX, &probe->target.started, error);
	if (!ret)
		ret = json_text(json, "exe", &exe, error);
	if (ret)
		return ret;
	probe->target.pid = (uint32_t)pid;
	if (!pid != !probe->target.started || (pid && exe))
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"a probe is for a process, which has \"pid\" and \"started\", or for a file, \"exe\", or for all programs");
	if (exe && *exe != '/')
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"the program %.256s is not an absolute path", exe);
	return definition_probe_copy_text(&probe->target.exe, exe, error);
}

/* Reads a probe of a definition, or of a request, which has no table. */
static int read_probe(struct definition_probe *probe, struct json_object *json, struct error *error)
{
	const char *channel = SESSION_CHANNEL_NAME, *text = NULL;
	size_t i;
	int ret = json_get_strings(json, "event", &probe->events, error);

	if (!ret && (!probe->events.count || probe->events.count > DEFINITION_PROBE_EVENTS_MAX))
		ret = error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"a probe makes 1 to %d events: \"event\"",
				DEFINITION_PROBE_EVENTS_MAX);
	for (i = 0; i < probe->events.count && !ret; i++)
		ret = definition_probe_check_event(probe->events.items[i], error);
	if (!ret)
		ret = json_text(json, "channel", &channel, error);
	if (!ret)
		ret = json_text(json, "probe", &text, error);
	if (!ret && !text)
		ret = error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"a probe has no text: \"probe\"");
	if (!ret)
		ret = definition_probe_copy_text(&probe->channel, channel, error);
	if (!ret)
		ret = definition_probe_copy_text(&probe->text, text, error);
	return ret ? ret : read_target(probe, json, error);
}

static bool has_channel(const struct definition *definition, const char *name)
{
	size_t i;

	for (i = 0; i < definition->nr_channels; i++)
		if (!strcmp(definition->channels[i].name, name))
			return true;
	return false;
}

static int read_element(
		struct definition *definition, struct json_object *json, struct error *error)
{
	struct definition_probe *probe;
	uint64_t table = 0, uid = 0, gid = 0;
	int ret;

	if (!json_object_is_type(json, json_type_object))
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"an element of \"probes\" is not an object");
	ret = json_only(json, probe_members, "a probe", error);
	if (ret)
		return ret;
	probe = definition_probe_append(definition, error);
	if (!probe)
		return error->code;
	ret = read_probe(probe, json, error);
	if (!ret)
		ret = json_number(json, "table", UINT32_MAX, &table, error);
	if (!ret)
		ret = json_number(json, "uid", UINT32_MAX, &uid, error);
	if (!ret)
		ret = json_number(json, "gid", UINT32_MAX, &gid, error);
	if (ret)
		return ret;
	probe->target.of_user = json_object_object_get_ex(json, "uid", NULL);
	probe->target.access.uid = (uint32_t)uid;
	probe->target.access.has_gid = json_object_object_get_ex(json, "gid", NULL);
	probe->target.access.gid = (uint32_t)gid;
	if (!has_channel(definition, probe->channel))
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"a probe is of a channel that the session %s does not have: \"%.80s\"",
				definition->name, probe->channel);
	probe->table = (uint32_t)table;
	if (definition->last_table < probe->table)
		definition->last_table = probe->table;
	return 0;
}

int definition_read_probes(
		struct definition *definition, struct json_object *json, struct error *error)
{
	struct json_object *probes;
	uint64_t last = 0;
	size_t i;
	int ret = json_array(json, "probes", DEFINITION_PROBES_MAX, &probes, error);

	if (!ret)
		ret = json_number(json, "tables", UINT32_MAX, &last, error);
	definition->last_table = (uint32_t)last;
	for (i = 0; !ret && probes && i < json_object_array_length(probes); i++)
		ret = read_element(definition, json_object_array_get_idx(probes, i), error);
	return ret;
}

/* ---- writing ---- */

static bool definition_probe_add_number(struct json_object *json, const char *name, uint64_t number)
{
	return !number || json_put_number(json, name, number);
}

struct json_object *definition_probe_json(const struct definition_probe *probe)
{
	struct json_object *json = json_object_new_object();

	if (json_put_strings(json, "event", &probe->events) &&
			json_put_text(json, "channel", probe->channel) &&
			json_put_text(json, "probe", probe->text) &&
			definition_probe_add_number(json, "pid", probe->target.pid) &&
			definition_probe_add_number(json, "started", probe->target.started) &&
			(!probe->target.exe || json_put_text(json, "exe", probe->target.exe)) &&
			definition_probe_add_number(json, "table", probe->table) &&
			(!probe->target.of_user ||
					json_put_number(json, "uid", probe->target.access.uid)) &&
			(!probe->target.access.has_gid ||
					json_put_number(json, "gid", probe->target.access.gid)))
		return json;
	json_object_put(json);
	return NULL;
}

bool definition_put_probes(struct json_object *json, const struct definition *definition)
{
	struct json_object *probes, *probe;
	size_t i;

	if (!definition_probe_add_number(json, "tables", definition->last_table))
		return false;
	if (!definition->nr_probes)
		return true;
	probes = json_object_new_array();
	for (i = 0; probes && i < definition->nr_probes; i++) {
		probe = definition_probe_json(&definition->probes[i]);
		if (probe && !json_object_array_add(probes, probe))
			continue;
		json_object_put(probe);
		json_object_put(probes);
		return false;
	}
	return json_put(json, "probes", probes);
}

/* ---- enabling ---- */

/*
 * True if a probe replaces another one, because it makes the same event in the same processes. The
 * channel does not matter: rules name events, so each channel would record both.
 */
static bool is_successor(const struct definition_probe *probe, const struct definition_probe *of)
{
	return !strcmp(probe->events.items[0], of->events.items[0]) &&
			probe->target.pid == of->target.pid &&
			probe->target.started == of->target.started &&
			!probe->target.exe == !of->target.exe &&
			(!probe->target.exe || !strcmp(probe->target.exe, of->target.exe));
}

static void remove_probe(struct definition *definition, size_t index)
{
	struct definition_probe *probe = &definition->probes[index];

	probe_free(probe);
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
			change_remove_rule(channel, i);
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
		change_remove_rule(channel, channel->nr_rules - 1);
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
	probe_free(&former);
	return done;
}

int change_enable_probe(struct definition_edit *change)
{
	struct definition *definition = change->definition;
	struct definition_channel *channel = NULL;
	struct definition_probe *probe = definition_probe_append(definition, change->error);
	bool done = true;
	size_t i;
	int ret;

	if (!probe)
		return change->error->code;
	ret = read_probe(probe, change->request, change->error);
	if (!ret)
		ret = change_enable_rule(change, &channel);
	if (ret)
		return ret;
	for (i = definition->nr_probes - 1; done && i-- > 0;)
		if (is_successor(&definition->probes[definition->nr_probes - 1],
				    &definition->probes[i]))
			done = succeed(definition, channel, i);
	if (!done || !join_rule(channel))
		return error_set_no_memory(change->error);
	definition->probes[definition->nr_probes - 1].table = ++definition->last_table;
	change->changed = true;
	return 0;
}

/* ---- disabling ---- */

static bool is_name_of(const char *pattern, const char *event)
{
	size_t size = strlen(PROVIDER);

	return !strcmp(pattern, event) ||
			(!strncmp(event, PROVIDER, size) && !strcmp(pattern, event + size));
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
	probe_free(&gone);
	change->changed = true;
}

/*
 * Removes the matching probes of process `pid` (0: of any process). Returns their number, or a
 * negative errno.
 */
static int drop_meant(struct definition_edit *change, const char *channel, const char *text,
		uint32_t pid, bool *named)
{
	struct pattern_error where;
	struct pattern pattern;
	char sentence[ERROR_TEXT_SIZE];
	int count = 0;
	size_t i, k;

	*named = false;
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
			*named |= is_name_of(text, probe->events.items[k]);
		}
		if (meant)
			drop_probe(change, i);
		count += meant;
	}
	return count;
}

int change_drop_probes(struct definition_edit *change, const struct definition_channel *channel,
		const char *pattern, bool *named)
{
	int ret = 0;

	*named = false;
	/* A text that cannot be a pattern is refused later, where it is parsed. */
	if (change->definition->nr_probes && *pattern != '!')
		ret = drop_meant(change, channel->name, pattern, 0, named);
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
