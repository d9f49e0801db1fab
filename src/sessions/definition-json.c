/* SPDX-License-Identifier: MIT */
/* Converts a definition from and to JSON, in the form of docs/spec/control-protocol.md. */
#include "sessions/definition-json.h"
#include "sessions/definition-memory.h"
#include "sessions/definition-probe-json.h"
#include "sessions/json.h"
#include "protocol/protocol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const definition_members[] = {"version", "name", "output", "format", "compress",
		"memory-limit", "huge-pages", "prefault", "symbols", "channels", "track",
		"rotate-size", "rotate-time", "retain-size", "retain-age", "retain-chunks",
		"trigger", "to", "spool", "speed", "send-timeout", "probes", "tables", NULL};
static const char *const channel_members[] = {"channel", "mode", "per-thread", "buffer-size",
		"block-timeout", "context", "event-context", "rules", NULL};
static const char *const rule_members[] = {"event", "filter", "event-context", NULL};
static const char *const track_members[] = {
		"pid", "uid", "gid", "name", "cgroup", "container", "exclude", NULL};

/* In the order of the enumerations in session.h. */
static const char *const format_choices[] = {"ctf1", "ctf2", NULL};
static const char *const mode_choices[] = {"discard", "overwrite", "block", NULL};

const char *const definition_track_names[] = {
		"pid", "uid", "gid", "name", "cgroup", "container", NULL};

bool definition_track_is_number(enum definition_track_kind kind)
{
	return kind <= DEFINITION_TRACK_GID;
}

/* ---- reading ---- */

static int read_output(struct definition *definition, struct json_object *json, struct error *error)
{
	const char *output = NULL;
	int ret = json_text(json, "output", &output, error);

	if (ret || !output)
		return ret;
	if (*output != '/')
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"the output directory %.256s is not an absolute path", output);
	free(definition->output);
	definition->output = strdup(output);
	return definition->output ? 0 : error_set_no_memory(error);
}

static int definition_json_read_form(
		struct definition *definition, struct json_object *json, struct error *error)
{
	unsigned int format = definition->format;
	uint64_t compress = (uint64_t)definition->compress;
	int ret = json_choice(json, "format", format_choices, &format, error);

	if (!ret)
		ret = json_number(json, "compress", SESSION_COMPRESS_MAX, &compress, error);
	if (!ret)
		ret = json_flag(json, "huge-pages", &definition->huge_pages, error);
	if (!ret)
		ret = json_flag(json, "prefault", &definition->prefault, error);
	if (!ret)
		ret = json_flag(json, "symbols", &definition->symbols, error);
	if (!ret)
		ret = json_number(
				json, "memory-limit", INT64_MAX, &definition->memory_limit, error);
	definition->format = (enum session_format)format;
	definition->compress = (int)compress;
	return ret;
}

static int read_chunks(struct definition *definition, struct json_object *json, struct error *error)
{
	const struct {
		const char *name;
		uint64_t *number;
	} numbers[] = {
			{"rotate-size", &definition->rotate_size},
			{"rotate-time", &definition->rotate_time_ns},
			{"retain-size", &definition->retain_size},
			{"retain-age", &definition->retain_age_ns},
	};
	uint64_t chunks = definition->retain_chunks;
	int ret = json_number(json, "retain-chunks", UINT32_MAX, &chunks, error);
	size_t i;

	for (i = 0; !ret && i < sizeof(numbers) / sizeof(*numbers); i++)
		ret = json_number(json, numbers[i].name, INT64_MAX, numbers[i].number, error);
	definition->retain_chunks = (uint32_t)chunks;
	if (!ret)
		ret = json_get_strings(json, "trigger", &definition->triggers, error);
	if (!ret && definition->triggers.count > DEFINITION_TRIGGERS_MAX)
		ret = error_set_kind(error, ERROR_USAGE, -E2BIG, NULL,
				"there are more than %d triggers", DEFINITION_TRIGGERS_MAX);
	return ret;
}

static int read_sending(
		struct definition *definition, struct json_object *json, struct error *error)
{
	uint64_t speed = definition->speed;
	const char *to = NULL;
	int ret = json_text(json, "to", &to, error);

	if (!ret && to) {
		free(definition->to);
		definition->to = strdup(to);
		if (!definition->to)
			return error_set_no_memory(error);
	}
	if (!ret)
		ret = json_number(json, "spool", INT64_MAX, &definition->spool, error);
	if (!ret)
		ret = json_number(json, "speed", UINT32_MAX, &speed, error);
	if (!ret)
		ret = json_number(json, "send-timeout", INT64_MAX, &definition->send_timeout_ns,
				error);
	definition->speed = (uint32_t)speed;
	return ret;
}

int definition_read_settings(
		struct definition *definition, struct json_object *json, struct error *error)
{
	int ret = read_output(definition, json, error);

	if (!ret)
		ret = definition_json_read_form(definition, json, error);
	if (!ret)
		ret = read_chunks(definition, json, error);
	return ret ? ret : read_sending(definition, json, error);
}

/* The value is true, or the maximum number of rings. */
static int read_per_thread(
		struct definition_channel *channel, struct json_object *json, struct error *error)
{
	struct json_object *value;
	uint64_t threads = 0;
	int ret;

	if (!json_object_object_get_ex(json, "per-thread", &value) || !value)
		return 0;
	if (json_object_is_type(value, json_type_boolean)) {
		channel->per_thread = json_object_get_boolean(value);
		return 0;
	}
	ret = json_number(json, "per-thread", SESSION_THREADS_MAX, &threads, error);
	channel->per_thread = threads > 0;
	channel->threads_max = (uint32_t)threads;
	return ret;
}

static int read_timeout(
		struct definition_channel *channel, struct json_object *json, struct error *error)
{
	uint64_t ns = 0;
	int ret = json_number(json, "block-timeout", SESSION_BLOCK_MAX_US * 1000ull, &ns, error);

	if (ret || !ns)
		return ret;
	if (ns < 1000)
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"\"block-timeout\" is less than a microsecond");
	if (channel->mode != SESSION_BLOCK)
		return error_set_kind(error, ERROR_USAGE, -EINVAL,
				"write `--mode block`, or leave it out",
				"\"block-timeout\" has no effect in the channel %s: its mode is not block",
				channel->name);
	channel->block_timeout_us = (uint32_t)(ns / 1000);
	return 0;
}

int definition_read_rings(
		struct definition_channel *channel, struct json_object *json, struct error *error)
{
	unsigned int mode = channel->mode;
	int ret = json_choice(json, "mode", mode_choices, &mode, error);

	channel->mode = (enum session_channel_mode)mode;
	if (!ret)
		ret = json_number(json, "buffer-size", INT64_MAX, &channel->ring_size, error);
	if (!ret)
		ret = read_per_thread(channel, json, error);
	if (!ret)
		ret = read_timeout(channel, json, error);
	return ret ? ret : json_get_strings(json, "context", &channel->contexts, error);
}

static int read_rule(
		struct definition_channel *channel, struct json_object *json, struct error *error)
{
	struct definition_rule *rule = definition_add_rule(channel);
	const char *filter = NULL;
	int ret;

	if (!rule)
		return error_set_no_memory(error);
	if (!json_object_is_type(json, json_type_object))
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"a rule of the channel %s is not an object", channel->name);
	ret = json_only(json, rule_members, "a rule", error);
	if (!ret)
		ret = json_get_strings(json, "event", &rule->patterns, error);
	if (!ret)
		ret = json_get_strings(json, "event-context", &rule->contexts, error);
	if (!ret)
		ret = json_text(json, "filter", &filter, error);
	if (!ret && filter) {
		rule->filter = strdup(filter);
		if (!rule->filter)
			ret = error_set_no_memory(error);
	}
	return ret;
}

static int read_rules(
		struct definition_channel *channel, struct json_object *json, struct error *error)
{
	struct json_object *rules;
	int ret = json_array(json, "rules", WIRE_RULES_MAX, &rules, error);
	size_t i;

	for (i = 0; !ret && rules && i < json_object_array_length(rules); i++)
		ret = read_rule(channel, json_object_array_get_idx(rules, i), error);
	return ret;
}

static int definition_json_read_channel(
		struct definition *definition, struct json_object *json, struct error *error)
{
	struct definition_channel *channel;
	const char *name = NULL;
	int ret;

	if (!json_object_is_type(json, json_type_object))
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"a channel of the session %s is not an object", definition->name);
	ret = json_only(json, channel_members, "a channel", error);
	if (!ret)
		ret = json_text(json, "channel", &name, error);
	if (ret)
		return ret;
	if (!name)
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"a channel of the session %s has no name: \"channel\"",
				definition->name);
	channel = definition_add_channel(definition, name);
	if (!channel)
		return error_set_no_memory(error);
	ret = definition_read_rings(channel, json, error);
	if (!ret)
		ret = json_get_strings(json, "event-context", &channel->added, error);
	return ret ? ret : read_rules(channel, json, error);
}

static int read_track(struct definition *definition, struct json_object *json, struct error *error)
{
	struct definition_track *track = definition_add_track(definition);
	unsigned int kind, found = 0;
	const char *text = NULL;
	int ret;

	if (!track)
		return error_set_no_memory(error);
	if (!json_object_is_type(json, json_type_object))
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"an element of \"track\" is not an object");
	ret = json_only(json, track_members, "an element of \"track\"", error);
	for (kind = 0; !ret && kind < DEFINITION_NR_TRACKS; kind++) {
		const char *name = definition_track_names[kind];

		if (!json_object_object_get_ex(json, name, NULL))
			continue;
		found++;
		track->kind = (enum definition_track_kind)kind;
		ret = definition_track_is_number(track->kind)
				? json_number(json, name, UINT32_MAX, &track->number, error)
				: json_text(json, name, &text, error);
	}
	if (ret)
		return ret;
	if (found != 1 || (!text && !definition_track_is_number(track->kind)))
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"an element of \"track\" must have exactly one of pid, uid, gid, name, cgroup and container");
	if (text) {
		track->text = strdup(text);
		if (!track->text)
			return error_set_no_memory(error);
	}
	return json_flag(json, "exclude", &track->exclude, error);
}

static int read_lists(struct definition *definition, struct json_object *json, struct error *error)
{
	struct json_object *array;
	int ret = json_array(json, "channels", SESSION_CHANNELS_MAX, &array, error);
	size_t i;

	for (i = 0; !ret && array && i < json_object_array_length(array); i++)
		ret = definition_json_read_channel(
				definition, json_object_array_get_idx(array, i), error);
	if (!ret)
		ret = json_array(json, "track", DEFINITION_TRACKS_MAX, &array, error);
	for (i = 0; !ret && array && i < json_object_array_length(array); i++)
		ret = read_track(definition, json_object_array_get_idx(array, i), error);
	return ret;
}

static int definition_json_parse_begin(
		struct json_object *json, struct definition **ret_definition, struct error *error)
{
	const char *name = NULL;
	uint64_t version = 0;
	int ret;

	if (!json_object_is_type(json, json_type_object))
		return error_set_kind(
				error, ERROR_USAGE, -EINVAL, NULL, "a definition is a JSON object");
	ret = json_only(json, definition_members, "a definition", error);
	if (!ret)
		ret = json_number(json, "version", UINT32_MAX, &version, error);
	if (!ret)
		ret = json_text(json, "name", &name, error);
	if (ret)
		return ret;
	if (version != DEFINITION_VERSION)
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"unknown version %llu of a definition: only version %d is supported",
				(unsigned long long)version, DEFINITION_VERSION);
	return definition_create(name ? name : "", ret_definition, error);
}

int definition_parse(
		struct json_object *json, struct definition **ret_definition, struct error *error)
{
	struct definition *definition = NULL;
	int ret;

	*ret_definition = NULL;
	ret = definition_json_parse_begin(json, &definition, error);
	if (ret || !definition)
		return ret;
	ret = definition_read_settings(definition, json, error);
	if (!ret)
		ret = read_lists(definition, json, error);
	if (!ret)
		ret = definition_read_probes(definition, json, error);
	if (ret)
		definition_free(definition);
	else
		*ret_definition = definition;
	return ret;
}

/* ---- writing ---- */

/* Members with their default values are not written. */
static bool definition_json_add_number(struct json_object *json, const char *name, uint64_t number)
{
	return !number || json_put_number(json, name, number);
}

static bool put_flag(struct json_object *json, const char *name, bool flag)
{
	return !flag || json_put_flag(json, name, true);
}

static bool definition_json_add_strings(struct json_object *json, const char *name,
		const struct definition_strings *strings)
{
	return !strings->count || json_put_strings(json, name, strings);
}

/* Takes ownership of `element`. Returns false if out of memory. */
static bool definition_json_append_item(struct json_object *array, struct json_object *element)
{
	if (array && element && !json_object_array_add(array, element))
		return true;
	json_object_put(element);
	return false;
}

static struct json_object *rule_json(const struct definition_rule *rule)
{
	struct json_object *json = json_object_new_object();

	if (json_put_strings(json, "event", &rule->patterns) &&
			(!rule->filter || json_put_text(json, "filter", rule->filter)) &&
			definition_json_add_strings(json, "event-context", &rule->contexts))
		return json;
	json_object_put(json);
	return NULL;
}

static bool put_rules(struct json_object *json, const struct definition_channel *channel)
{
	struct json_object *rules = json_object_new_array();
	bool fits = rules;
	size_t i;

	for (i = 0; fits && i < channel->nr_rules; i++)
		fits = definition_json_append_item(rules, rule_json(&channel->rules[i]));
	if (fits)
		return json_put(json, "rules", rules);
	json_object_put(rules);
	return false;
}

static struct json_object *channel_json(const struct definition_channel *channel)
{
	struct json_object *json = json_object_new_object();

	if (json_put_text(json, "channel", channel->name) &&
			json_put_text(json, "mode", mode_choices[channel->mode]) &&
			(channel->threads_max ? json_put_number(json, "per-thread",
								channel->threads_max)
					      : put_flag(json, "per-thread",
								channel->per_thread)) &&
			definition_json_add_number(json, "buffer-size", channel->ring_size) &&
			definition_json_add_number(json, "block-timeout",
					channel->block_timeout_us * 1000ull) &&
			definition_json_add_strings(json, "context", &channel->contexts) &&
			definition_json_add_strings(json, "event-context", &channel->added) &&
			put_rules(json, channel))
		return json;
	json_object_put(json);
	return NULL;
}

static struct json_object *track_json(const struct definition_track *track)
{
	struct json_object *json = json_object_new_object();
	const char *name = definition_track_names[track->kind];

	if ((track->text ? json_put_text(json, name, track->text)
			 : json_put_number(json, name, track->number)) &&
			put_flag(json, "exclude", track->exclude))
		return json;
	json_object_put(json);
	return NULL;
}

static bool put_lists(struct json_object *json, const struct definition *definition)
{
	struct json_object *channels = json_object_new_array();
	struct json_object *tracks = json_object_new_array();
	bool fits = channels && tracks;
	size_t i;

	for (i = 0; fits && i < definition->nr_channels; i++)
		fits = definition_json_append_item(
				channels, channel_json(&definition->channels[i]));
	for (i = 0; fits && i < definition->nr_tracks; i++)
		fits = definition_json_append_item(tracks, track_json(&definition->tracks[i]));
	if (!fits) {
		json_object_put(channels);
		json_object_put(tracks);
		return false;
	}
	fits = json_put(json, "channels", channels);
	return json_put(json, "track", tracks) && fits;
}

static bool put_settings(struct json_object *json, const struct definition *definition)
{
	return (!definition->output || json_put_text(json, "output", definition->output)) &&
			json_put_text(json, "format", format_choices[definition->format]) &&
			definition_json_add_number(
					json, "compress", (uint64_t)definition->compress) &&
			definition_json_add_number(
					json, "memory-limit", definition->memory_limit) &&
			put_flag(json, "huge-pages", definition->huge_pages) &&
			put_flag(json, "prefault", definition->prefault) &&
			(!definition->symbols || put_flag(json, "symbols", true)) &&
			definition_json_add_number(json, "rotate-size", definition->rotate_size) &&
			definition_json_add_number(
					json, "rotate-time", definition->rotate_time_ns) &&
			definition_json_add_number(json, "retain-size", definition->retain_size) &&
			definition_json_add_number(json, "retain-age", definition->retain_age_ns) &&
			definition_json_add_number(
					json, "retain-chunks", definition->retain_chunks) &&
			definition_json_add_strings(json, "trigger", &definition->triggers) &&
			(!definition->to || json_put_text(json, "to", definition->to)) &&
			(!definition->spool ||
					definition_json_add_number(
							json, "spool", definition->spool)) &&
			(!definition->speed ||
					definition_json_add_number(
							json, "speed", definition->speed)) &&
			(!definition->send_timeout_ns ||
					definition_json_add_number(json, "send-timeout",
							definition->send_timeout_ns));
}

struct json_object *definition_json(const struct definition *definition)
{
	struct json_object *json = json_object_new_object();

	if (json_put_number(json, "version", DEFINITION_VERSION) &&
			json_put_text(json, "name", definition->name) &&
			put_settings(json, definition) && put_lists(json, definition) &&
			definition_put_probes(json, definition))
		return json;
	json_object_put(json);
	return NULL;
}
