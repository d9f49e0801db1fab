/* SPDX-License-Identifier: MIT */
/*
 * What a consumer asked for: its channels and their rules, checked and kept.
 *
 * An honest consumer has checked them. If they are invalid here, the consumer is hostile, and the
 * process does not join. Channels stay for the life of the session, rules until the next
 * generation.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tracers/agent/core/rules.h"
#include "filter/filter.h"
#include "protocol/pattern.h"
#include "protocol/protocol.h"
#include "ring/ring.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/debug.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/core/probes-part.h"
#include "tracers/agent/core/session.h"

/* Parse `nr` consecutive names of contexts. */
static int keep_contexts(struct agent_memory *in, const char *names, uint32_t nr,
		const struct context_spec **ret_specs)
{
	struct context_error error;
	struct context_spec *specs;
	uint32_t i;

	*ret_specs = NULL;
	if (!nr)
		return 0;
	specs = agent_memory_take(in, nr * sizeof(*specs));
	if (!specs)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		if (context_parse(names, &specs[i], &error)) {
			agent_debug("context \"%s\": %s", names, error.text);
			return -EPROTO;
		}
		names += strlen(names) + 1;
	}
	*ret_specs = specs;
	return 0;
}

static int keep_set(struct agent_memory *in, const struct context_spec *specs, uint32_t nr,
		const struct context_set **ret_set)
{
	ssize_t size = context_set_size(specs, nr);
	struct context_set *set;
	void *memory;
	int ret;

	if (size < 0)
		return (int)size;
	memory = agent_memory_take(in, (size_t)size);
	if (!memory)
		return -ENOMEM;
	ret = context_set_build(specs, nr, memory, (size_t)size, &set);
	*ret_set = set;
	return ret;
}

int agent_take_channel(struct agent_session *session, const struct wire_channel *from)
{
	struct agent_channel *channel = &session->channels[from->index];
	int ret;

	channel->session = session;
	channel->index = from->index;
	channel->nr_contexts = from->nr_contexts;
	channel->ring_memory = from->ring_memory;
	strcpy(channel->name, from->name);
	ret = keep_contexts(
			&session->memory, from->contexts, from->nr_contexts, &channel->contexts);
	if (!ret && from->nr_contexts)
		ret = keep_set(&session->memory, channel->contexts, channel->nr_contexts,
				&channel->context_set);
	return ret;
}

/* Does it name events, and not only those that it does not mean? */
static bool names_some(const struct wire_rule *from)
{
	const char *text = from->patterns;
	uint32_t i;

	for (i = 0; i < from->nr_patterns; i++, text += strlen(text) + 1)
		if (*text != '!')
			return true;
	return false;
}

static int keep_patterns(
		struct agent_memory *in, const struct wire_rule *from, struct agent_rule *rule)
{
	const char *text = from->patterns;
	struct pattern_error error;
	bool means = false;
	uint32_t i;

	rule->patterns = agent_memory_take(in,
			(agent.rules.for_kernel ? PATTERN_KERNEL_MAX : 1) * from->nr_patterns *
					sizeof(*rule->patterns));
	if (!rule->patterns)
		return -ENOMEM;
	for (i = 0; i < from->nr_patterns; i++, text += strlen(text) + 1) {
		struct pattern *next = &rule->patterns[rule->nr_patterns];
		int count = 1;

		if (pattern_is_kernel(text) != agent.rules.for_kernel)
			continue;
		if (agent.rules.for_kernel)
			count = pattern_parse_kernel(text, next, &error);
		else if (pattern_parse(text, next, &error))
			count = -EINVAL;
		if (count < 0)
			return -EPROTO;
		rule->nr_patterns += (uint32_t)count;
		means |= !next->exclude;
	}
	/* One that names only others means nothing here, unlike one that excludes some of all. */
	rule->nothing = agent.rules.for_kernel ? !means : !means && names_some(from);
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
static bool load_context(void *user, int index, const void *caller, struct filter_value *ret_value)
{
	return context_set_load(user, (size_t)index, caller, ret_value);
}

static int keep_filter(
		struct agent_memory *in, const struct wire_rule *from, struct agent_rule *rule)
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
	program = agent_memory_take(in, from->filter_size);
	named.specs = agent_memory_take(in, CONTEXT_SET_MAX * sizeof(*named.specs));
	if (!program || !named.specs)
		return -ENOMEM;
	memcpy(program, from->filter, from->filter_size);
	ret = filter_each_context(program, from->filter_size, name_context, &named);
	if (!ret)
		ret = keep_set(in, named.specs, named.nr, &set);
	if (ret)
		return ret;
	rule->filter = program;
	rule->filter_size = from->filter_size;
	rule->filter_specs = named.specs;
	rule->nr_filter_specs = named.nr;
	rule->filter_contexts.load = load_context;
	/* It is handed back to context_set_load(), which only reads it. */
	memcpy(&rule->filter_contexts.user, &set, sizeof(set));
	rule->hit_contexts = rule->filter_contexts;
	rule->hit_contexts.memory = agent_probes_filter_memory;
	return 0;
}

int agent_take_rule(struct agent_generation *generation, const struct wire_rule *from)
{
	struct agent_memory *in = &generation->memory;
	struct agent_rule *rule = agent_memory_take(in, sizeof(*rule));
	int ret;

	if (!rule)
		return -ENOMEM;
	rule->nr_contexts = from->nr_contexts;
	ret = keep_patterns(in, from, rule);
	if (!ret)
		ret = keep_contexts(in, from->contexts, from->nr_contexts, &rule->contexts);
	if (!ret)
		ret = keep_filter(in, from, rule);
	if (ret)
		return ret;
	*generation->ends[from->channel] = rule;
	generation->ends[from->channel] = &rule->next;
	return 0;
}

/* ---- generations ---- */

struct agent_generation *agent_generation_begin(void)
{
	struct agent_memory memory = {0};
	struct agent_generation *generation = agent_memory_take(&memory, sizeof(*generation));
	uint32_t i;

	if (!generation)
		return NULL;
	generation->memory = memory;
	for (i = 0; i < WIRE_CHANNELS_MAX; i++)
		generation->ends[i] = &generation->rules[i];
	return generation;
}

void agent_generation_apply(struct agent_session *session, struct agent_generation *generation)
{
	uint32_t i;

	for (i = 0; i < session->nr_channels; i++)
		session->channels[i].rules = generation->rules[i];
	session->generation = generation;
}

void agent_generation_free(struct agent_generation *generation)
{
	/* A copy, because the generation itself is in that memory. */
	struct agent_memory memory = generation->memory;

	agent_memory_free(&memory);
}

static bool agent_rules_have_context(
		const struct context_spec *specs, uint32_t nr, enum context_kind kind)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		if (specs[i].kind == kind)
			return true;
	return false;
}

bool agent_session_has_context(const struct agent_session *session, enum context_kind kind)
{
	const struct agent_rule *rule;
	uint32_t i;

	for (i = 0; i < session->nr_channels; i++) {
		const struct agent_channel *channel = &session->channels[i];

		if (agent_rules_have_context(channel->contexts, channel->nr_contexts, kind))
			return true;
		for (rule = channel->rules; rule; rule = rule->next)
			if (agent_rules_have_context(rule->contexts, rule->nr_contexts, kind))
				return true;
	}
	return false;
}
