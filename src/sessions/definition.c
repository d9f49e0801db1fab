/* SPDX-License-Identifier: MIT */
/* Copies and checks definitions, and converts them for the session library. */
#include "sessions/definition.h"
#include "sessions/json.h"

#include "relay/send.h"
#include "recorder/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Rules of a channel without rules: a pattern that matches no event. */
static const char *const nothing[] = {"!*"};
static const struct session_rule no_events = {.patterns = nothing, .nr_patterns = 1};
static const struct session_channel standard = {
		.name = SESSION_CHANNEL_NAME,
		.rules = &no_events,
		.nr_rules = 1,
};

/* Copies through the JSON form, so that no second list of members can be incomplete. */
int definition_copy(
		const struct definition *from, struct definition **ret_copy, struct error *error)
{
	struct json_object *json = definition_json(from);
	int ret;

	*ret_copy = NULL;
	if (!json)
		return error_set_no_memory(error);
	ret = definition_parse(json, ret_copy, error);
	json_object_put(json);
	return ret;
}

/* ---- for the session library ---- */

/* The session's types point to const texts. */
static const char *const *texts(const struct definition_strings *strings)
{
	return (const char *const *)strings->items;
}

/* Makes an array of the rule's contexts and of those added to its channel later. */
static const char *const *all_contexts(const struct definition_channel *channel,
		const struct definition_rule *rule, size_t *ret_count)
{
	size_t i;
	const char **all;

	*ret_count = channel->added.count + rule->contexts.count;
	all = calloc(*ret_count + 1, sizeof(*all));
	for (i = 0; all && i < channel->added.count; i++)
		all[i] = channel->added.items[i];
	for (i = 0; all && i < rule->contexts.count; i++)
		all[channel->added.count + i] = rule->contexts.items[i];
	return all;
}

static bool view_rules(const struct definition_channel *channel, bool symbols,
		struct session_channel *view, struct session_rule **ret_rules)
{
	size_t i;

	*ret_rules = calloc(channel->nr_rules + 2, sizeof(**ret_rules));
	if (!*ret_rules)
		return false;
	view->rules = *ret_rules;
	if (!channel->nr_rules) {
		view->rules = &no_events;
		view->nr_rules = 1;
	}
	for (i = 0; i < channel->nr_rules; i++) {
		const struct definition_rule *rule = &channel->rules[i];
		struct session_rule *to = &(*ret_rules)[i];

		to->patterns = texts(&rule->patterns);
		to->nr_patterns = rule->patterns.count;
		to->filter = rule->filter;
		to->contexts = all_contexts(channel, rule, &to->nr_contexts);
		if (!to->contexts)
			return false;
		view->nr_rules++;
	}
	/* Its contexts are NULL, so there is nothing to free. */
	if (symbols)
		(*ret_rules)[view->nr_rules++] = session_symbols_rule;
	return true;
}

static bool view_channel(const struct definition_channel *channel, bool symbols,
		struct session_channel *ret_view, struct session_rule **ret_rules)
{
	*ret_view = (struct session_channel){
			.name = channel->name,
			.mode = channel->mode,
			.per_thread = channel->per_thread,
			.threads_max = channel->threads_max,
			.ring_size = channel->ring_size,
			.block_timeout_us = channel->block_timeout_us,
			.contexts = texts(&channel->contexts),
			.nr_contexts = channel->contexts.count,
	};
	return view_rules(channel, symbols, ret_view, ret_rules);
}

int definition_options(const struct definition *definition, struct definition_view *ret_view,
		struct error *error)
{
	size_t nr = definition->nr_channels, i;
	bool any = false;

	*ret_view = (struct definition_view){
			.options =
					{
							.mode = SESSION_RECORD,
							.output = definition->output,
							.memory_limit = definition->memory_limit,
							.format = definition->format,
							.compress = definition->compress,
							.huge_pages = definition->huge_pages,
							.prefault = definition->prefault,
							.rotation = {.size = definition->rotate_size,
									.period_ns = definition->rotate_time_ns},
							.retention = {.size = definition->retain_size,
									.age_ns = definition->retain_age_ns,
									.count = definition->retain_chunks},
							.snapshot_on = texts(&definition->triggers),
							.nr_snapshot_on =
									definition->triggers.count,
							.nr_channels = nr ? nr : 1,
					},
			.channels = calloc(nr + 1, sizeof(*ret_view->channels)),
			.rules = calloc(nr + 1, sizeof(struct session_rule *)),
	};
	ret_view->options.channels = nr ? ret_view->channels : &standard;
	for (i = 0; ret_view->channels && ret_view->rules && i < nr; i++) {
		bool symbols = definition->symbols && !any && definition->channels[i].nr_rules;

		any |= symbols;
		if (!view_channel(&definition->channels[i], symbols, &ret_view->channels[i],
				    &ret_view->rules[i]))
			break;
	}
	if (ret_view->channels && ret_view->rules && i == nr)
		return 0;
	definition_view_free(ret_view);
	return error_set_no_memory(error);
}

void definition_view_free(struct definition_view *view)
{
	size_t i, k;

	for (i = 0; view->rules && view->rules[i]; i++) {
		/* free() takes no pointer to const; this struct owns the arrays. */
		for (k = 0; k < view->channels[i].nr_rules; k++)
			free((void *)(uintptr_t)view->rules[i][k].contexts);
		free(view->rules[i]);
	}
	free(view->rules);
	free(view->channels);
	*view = (struct definition_view){.channels = NULL};
}

static bool may_snapshot(const struct definition *definition)
{
	for (size_t i = 0; i < definition->nr_channels; i++)
		if (definition->channels[i].mode == SESSION_OVERWRITE)
			return true;
	return false;
}

static int check_sending(const struct definition *definition, struct error *error)
{
	bool ctf1_only;
	int ret;

	if (!definition->to)
		return definition->spool || definition->speed || definition->send_timeout_ns
				? error_set_kind(error, ERROR_USAGE, -EINVAL, "add `--to URL`",
						  "cannot use `--spool`, `--speed` or `--send-timeout` without `--to`")
				: 0;
	ret = url_check(definition->to, &ctf1_only, error);
	if (ret)
		return ret;
	if (!strstr(definition->to, "://") && *definition->to != '/')
		return error_set_kind(error, ERROR_USAGE, -EINVAL,
				"write a URL or an absolute path",
				"the daemon cannot send to `%.200s`", definition->to);
	if (ctf1_only && definition->format != SESSION_FORMAT_CTF1)
		return error_set_kind(error, ERROR_USAGE, -EINVAL, "leave `--format` out",
				"a relay daemon accepts only CTF 1.8");
	return 0;
}

int definition_check(const struct definition *definition, struct error *error)
{
	struct definition_view view;
	int ret = check_sending(definition, error);

	if (!ret)
		ret = definition_options(definition, &view, error);

	if (ret)
		return ret;
	/*
	 * The channel for snapshots can be added later; the start refuses the definition if it was
	 * not.
	 */
	if (!may_snapshot(definition))
		view.options.nr_snapshot_on = 0;
	ret = session_check(&view.options, error);
	definition_view_free(&view);
	return ret;
}
