/* SPDX-License-Identifier: MIT */
/*
 * What a consumer wants: its channels and their rules, checked and kept. They were checked by who
 * sent them; what does not pass here comes from a liar, who is left alone.
 */
#include <errno.h>
#include <string.h>

#include "agent/agent.h"

/* Parse `nr` names of contexts that stand in a row. */
static int keep_contexts(struct agent_session *session, const char *names, uint32_t nr,
		const struct context_spec **result)
{
	struct context_error error;
	struct context_spec *specs;
	uint32_t i;

	*result = NULL;
	if (!nr)
		return 0;
	specs = agent_memory_take(&session->memory, nr * sizeof(*specs));
	if (!specs)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		if (context_parse(names, &specs[i], &error)) {
			agent_debug("context \"%s\": %s", names, error.text);
			return -EPROTO;
		}
		names += strlen(names) + 1;
	}
	*result = specs;
	return 0;
}

static int keep_set(struct agent_session *session, const struct context_spec *specs, uint32_t nr,
		const struct context_set **result)
{
	ssize_t size = context_set_size(specs, nr);
	struct context_set *set;
	void *memory;
	int ret;

	if (size < 0)
		return (int)size;
	memory = agent_memory_take(&session->memory, (size_t)size);
	if (!memory)
		return -ENOMEM;
	ret = context_set_build(specs, nr, memory, (size_t)size, &set);
	*result = set;
	return ret;
}

int agent_take_channel(struct agent_session *session, const struct wire_channel *from)
{
	struct agent_channel *channel = &session->channels[from->index];
	int ret;

	channel->session = session;
	channel->index = from->index;
	channel->nr_rules = from->nr_rules;
	channel->rules_end = &channel->rules;
	channel->nr_contexts = from->nr_contexts;
	channel->ring_memory = from->ring_memory;
	strcpy(channel->name, from->name);
	ret = keep_contexts(session, from->contexts, from->nr_contexts, &channel->contexts);
	if (!ret && from->nr_contexts)
		ret = keep_set(session, channel->contexts, channel->nr_contexts,
				&channel->context_set);
	return ret;
}

static int keep_patterns(struct agent_session *session, const struct wire_rule *from,
		struct agent_rule *rule)
{
	const char *text = from->patterns;
	struct pattern_error error;
	uint32_t i;

	rule->nr_patterns = from->nr_patterns;
	rule->patterns = agent_memory_take(
			&session->memory, from->nr_patterns * sizeof(*rule->patterns));
	if (!rule->patterns)
		return -ENOMEM;
	for (i = 0; i < from->nr_patterns; i++) {
		if (pattern_parse(text, &rule->patterns[i], &error))
			return -EPROTO;
		text += strlen(text) + 1;
	}
	return 0;
}

/* ---- filters ---- */

struct named_contexts {
	struct context_spec *specs;
	uint32_t nr;
};

static int name_context(void *user, const char *name)
{
	struct named_contexts *named = user;
	struct context_error error;

	if (named->nr == CONTEXT_SET_MAX)
		return -E2BIG;
	/* One that is not known has no value, and select.c finds no index for it. */
	if (!context_parse(name, &named->specs[named->nr], &error))
		named->nr++;
	else
		agent_debug("context \"%s\" of a filter: %s", name, error.text);
	return 0;
}

/* The values of the contexts that a filter names. */
static bool load_context(void *user, int index, const void *caller, struct filter_value *value)
{
	return context_set_load(user, (size_t)index, caller, value);
}

static int keep_filter(struct agent_session *session, const struct wire_rule *from,
		struct agent_rule *rule)
{
	struct named_contexts named = {0};
	const struct context_set *set = NULL;
	const char *why;
	void *program;
	int ret;

	if (!from->filter_size)
		return 0;
	if (filter_verify(from->filter, from->filter_size, &why)) {
		agent_debug("a filter is damaged: %s", why);
		return -EPROTO;
	}
	program = agent_memory_take(&session->memory, from->filter_size);
	named.specs = agent_memory_take(&session->memory, CONTEXT_SET_MAX * sizeof(*named.specs));
	if (!program || !named.specs)
		return -ENOMEM;
	memcpy(program, from->filter, from->filter_size);
	ret = filter_each_context(program, from->filter_size, name_context, &named);
	if (!ret)
		ret = keep_set(session, named.specs, named.nr, &set);
	if (ret)
		return ret;
	rule->filter = program;
	rule->filter_size = from->filter_size;
	rule->filter_specs = named.specs;
	rule->nr_filter_specs = named.nr;
	rule->filter_contexts.load = load_context;
	/* It is handed back to context_set_load(), which only reads it. */
	memcpy(&rule->filter_contexts.user, &set, sizeof(set));
	return 0;
}

int agent_take_rule(struct agent_session *session, const struct wire_rule *from)
{
	struct agent_channel *channel = &session->channels[from->channel];
	struct agent_rule *rule = agent_memory_take(&session->memory, sizeof(*rule));
	int ret;

	if (!rule)
		return -ENOMEM;
	rule->nr_contexts = from->nr_contexts;
	ret = keep_patterns(session, from, rule);
	if (!ret)
		ret = keep_contexts(session, from->contexts, from->nr_contexts, &rule->contexts);
	if (!ret)
		ret = keep_filter(session, from, rule);
	if (ret)
		return ret;
	*channel->rules_end = rule;
	channel->rules_end = &rule->next;
	return 0;
}
