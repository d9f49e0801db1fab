/* SPDX-License-Identifier: MIT */
/* Creates and frees definitions and their parts (definition-memory.h). */
#include "sessions/definition-memory.h"
#include "protocol/runtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool definition_is_name(const char *name)
{
	return wire_session_name_valid(name);
}

int definition_create(const char *name, struct definition **ret_definition, struct error *error)
{
	*ret_definition = NULL;
	if (!definition_is_name(name))
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"\"%.80s\" is not a valid name of a session: a name has 1 to %d letters, digits, \"_\", \".\" and \"-\", and does not begin with \".\" or \"-\"",
				name, DEFINITION_NAME_MAX);
	*ret_definition = calloc(1, sizeof(**ret_definition));
	if (*ret_definition)
		(*ret_definition)->name = strdup(name);
	if (*ret_definition && (*ret_definition)->name)
		return 0;
	definition_free(*ret_definition);
	*ret_definition = NULL;
	return error_set_no_memory(error);
}

void definition_rule_free(struct definition_rule *rule)
{
	strings_free(&rule->patterns);
	strings_free(&rule->contexts);
	free(rule->filter);
}

void definition_channel_free(struct definition_channel *channel)
{
	size_t i;

	for (i = 0; i < channel->nr_rules; i++)
		definition_rule_free(&channel->rules[i]);
	free(channel->rules);
	free(channel->name);
	strings_free(&channel->contexts);
	strings_free(&channel->added);
}

void definition_probe_free(struct definition_probe *probe)
{
	strings_free(&probe->events);
	free(probe->channel);
	free(probe->text);
	free(probe->target.exe);
	free(probe->file);
	free(probe->library);
	free(probe->loaded);
	free(probe->loaded_file);
}

void definition_free(struct definition *definition)
{
	size_t i;

	if (!definition)
		return;
	for (i = 0; i < definition->nr_channels; i++)
		definition_channel_free(&definition->channels[i]);
	for (i = 0; i < definition->nr_tracks; i++)
		free(definition->tracks[i].text);
	free(definition->channels);
	free(definition->tracks);
	strings_free(&definition->triggers);
	for (i = 0; i < definition->nr_probes; i++)
		definition_probe_free(&definition->probes[i]);
	free(definition->probes);
	free(definition->to);
	free(definition->output);
	free(definition->name);
	free(definition);
}

/* ---- channels, rules, tracked processes and probes ---- */

struct definition_channel *definition_find_channel(
		const struct definition *definition, const char *name)
{
	size_t i;

	for (i = 0; i < definition->nr_channels; i++)
		if (!strcmp(definition->channels[i].name, name))
			return &definition->channels[i];
	return NULL;
}

struct definition_channel *definition_add_channel(struct definition *definition, const char *name)
{
	struct definition_channel *channels = realloc(
			definition->channels, (definition->nr_channels + 1) * sizeof(*channels));
	char *copy = strdup(name);

	if (channels)
		definition->channels = channels;
	if (!channels || !copy) {
		free(copy);
		return NULL;
	}
	channels += definition->nr_channels++;
	*channels = (struct definition_channel){.name = copy};
	return channels;
}

struct definition_rule *definition_add_rule(struct definition_channel *channel)
{
	struct definition_rule *rules =
			realloc(channel->rules, (channel->nr_rules + 1) * sizeof(*rules));

	if (!rules)
		return NULL;
	channel->rules = rules;
	rules += channel->nr_rules++;
	*rules = (struct definition_rule){.filter = NULL};
	return rules;
}

void definition_remove_rule(struct definition_channel *channel, size_t index)
{
	definition_rule_free(&channel->rules[index]);
	channel->nr_rules--;
	memmove(&channel->rules[index], &channel->rules[index + 1],
			(channel->nr_rules - index) * sizeof(*channel->rules));
}

struct definition_track *definition_add_track(struct definition *definition)
{
	struct definition_track *tracks =
			realloc(definition->tracks, (definition->nr_tracks + 1) * sizeof(*tracks));

	if (!tracks)
		return NULL;
	definition->tracks = tracks;
	tracks += definition->nr_tracks++;
	*tracks = (struct definition_track){.text = NULL};
	return tracks;
}

struct definition_probe *definition_add_probe(struct definition *definition, struct error *error)
{
	struct definition_probe *probes;

	if (definition->nr_probes == DEFINITION_PROBES_MAX) {
		error_set_kind(error, ERROR_USAGE, -E2BIG, "disable probes",
				"the session %s has %d probes, which is the limit",
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
