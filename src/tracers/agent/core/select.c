/* SPDX-License-Identifier: MIT */
/*
 * One event of one channel.
 *
 * A rule applies to an event if its patterns match and its filter, if it has one, can be linked to
 * the event. The event is recorded if any of its rules accepts it. A rule without a filter always
 * does, so the filters of the other rules are not evaluated. The records have the contexts of all
 * rules.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <side/trace.h>

#include "tracers/agent/core/select.h"
#include "filter/filter.h"
#include "protocol/pattern.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/debug.h"
#include "tracers/agent/core/event.h"
#include "tracers/agent/core/library-events.h"
#include "tracers/agent/core/probes-part.h"
#include "tracers/agent/core/record.h"
#include "tracers/agent/core/rules.h"
#include "tracers/agent/core/session.h"

/* Filters of one event at most; more rules than that with filters: the last ones do not count. */
#define FILTERS_MAX UINT8_MAX

/* Memory that is only counted when there is none. */
struct select_arena {
	char *memory;
	size_t used;
};

static void *agent_select_allocate(struct select_arena *arena, size_t size)
{
	void *taken = arena->memory ? arena->memory + arena->used : NULL;

	arena->used += (size + 15) / 16 * 16;
	return taken;
}

/* Our own events are for those who ask for them: `side:…`, whatever follows, but not `*`. */
static bool names_ours(const struct agent_rule *rule)
{
	static const char provider[] = "side:";
	uint32_t i;

	for (i = 0; i < rule->nr_patterns; i++)
		if (!rule->patterns[i].exclude &&
				!memcmp(rule->patterns[i].glob, provider, sizeof(provider) - 1))
			return true;
	return false;
}

static bool agent_select_rule_matches(
		const struct agent_rule *rule, const struct side_event_description *event)
{
	if (rule->nothing || (base_is_event(event) && !names_ours(rule)))
		return false;
	/* Losses of kernel events concern each rule for kernel events. */
	if (agent.rules.for_kernel && !strcmp(side_ptr_get(event->provider_name), "side_kernel"))
		return true;
	return pattern_set_wants(rule->patterns, rule->nr_patterns,
			side_ptr_get(event->provider_name), side_ptr_get(event->event_name),
			(unsigned int)side_enum_get(event->loglevel));
}

bool agent_wants(const struct agent_channel *channel, const struct side_event_description *event)
{
	const struct agent_rule *rule;

	for (rule = channel->rules; rule; rule = rule->next)
		if (agent_select_rule_matches(rule, event))
			return agent_probes_is_for(channel->session, event);
	return false;
}

/* ---- filters ---- */

static int resolve_context(void *user, const char *name)
{
	const struct agent_rule *rule = user;
	struct context_error error;
	struct context_spec spec;
	uint32_t i;

	if (context_parse(name, &spec, &error))
		return -1;
	for (i = 0; i < rule->nr_filter_specs; i++)
		if (context_same(&spec, &rule->filter_specs[i]))
			return (int)i;
	return -1;
}

static struct filter_names names_of(const struct agent_rule *rule)
{
	struct filter_names names = {.resolve = resolve_context};

	/* Read only. */
	memcpy(&names.user, &rule, sizeof(rule));
	return names;
}

/*
 * The bytes that linking the rule's filter needs, or a negative errno: the event can never match.
 */
static ssize_t link_size(const struct agent_rule *rule, const struct side_event_description *event)
{
	struct filter_names names = names_of(rule);
	struct filter_error error;
	ssize_t size = filter_link_size(rule->filter, rule->filter_size, event, &names, &error);

	if (size < 0)
		agent_debug("cannot apply a filter to %s:%s: %s%s%s",
				side_ptr_get(event->provider_name), side_ptr_get(event->event_name),
				error.text, *error.hint ? "; " : "", error.hint);
	return size;
}

/*
 * Does the rule's filter select calls by their entries, and is this event an end of them? Then the
 * return of a selected call is recorded, too, though it lacks the fields of the filter.
 */
static bool selects_calls(const struct agent_channel *channel, const struct agent_rule *rule,
		const struct side_event_description *event, bool leaves)
{
	const struct side_event_description *other =
			rule->filter ? agent_probes_other(channel->session, event, leaves) : NULL;

	return other && agent_select_rule_matches(rule, event) &&
			agent_select_rule_matches(rule, other) &&
			link_size(rule, leaves ? other : event) >= 0;
}

/* Does the rule apply to this event? */
static bool is_for(const struct agent_channel *channel, const struct agent_rule *rule,
		const struct side_event_description *event)
{
	return agent_select_rule_matches(rule, event) &&
			(!rule->filter || link_size(rule, event) >= 0 ||
					selects_calls(channel, rule, event, true));
}

/* With what link_size() says. False: it cannot be linked after all. Counting: true. */
static bool link_filter(const struct agent_channel *channel, const struct agent_rule *rule,
		const struct side_event_description *event, size_t size, struct select_arena *arena,
		struct agent_filter *ret_filter)
{
	struct filter_names names = names_of(rule);
	struct filter_error error;
	struct filter *filter;
	void *memory = agent_select_allocate(arena, size);

	if (!memory)
		return true;
	if (filter_link(rule->filter, rule->filter_size, event, &names, memory, size, &filter,
			    &error))
		return false;
	*ret_filter = (struct agent_filter){.filter = filter,
			.selects_calls = selects_calls(channel, rule, event, false),
			.contexts = agent_probes_has(event) ? &rule->hit_contexts
							    : &rule->filter_contexts};
	return true;
}

/* Link all filters. False: one that was counted before cannot be linked. */
static bool link_filters(const struct agent_channel *channel,
		const struct side_event_description *description, uint32_t nr,
		struct select_arena *arena, struct agent_event *event)
{
	struct agent_filter *filters = agent_select_allocate(arena, nr * sizeof(*filters)), none;
	const struct agent_rule *rule;
	uint32_t i = 0;

	for (rule = channel->rules; rule && i < nr; rule = rule->next) {
		ssize_t size = rule->filter && agent_select_rule_matches(rule, description)
				? link_size(rule, description)
				: -1;

		if (size < 0)
			continue;
		if (!link_filter(channel, rule, description, (size_t)size, arena,
				    filters ? &filters[i] : &none))
			return false;
		i++;
	}
	if (filters) {
		event->filters = filters;
		event->nr_filters = (uint8_t)i;
	}
	return true;
}

/* ---- contexts ---- */

static bool is_among(const struct context_spec *spec, const struct context_spec *specs, uint32_t nr)
{
	while (nr--)
		if (context_same(spec, &specs[nr]))
			return true;
	return false;
}

/*
 * The contexts of an event that are not the channel's. `ret_found` has room for as many as a set
 * may have. Returns their number.
 */
static uint32_t find_extra(const struct agent_channel *channel,
		const struct side_event_description *description,
		const struct context_spec *ret_found[CONTEXT_SET_MAX])
{
	const struct agent_rule *rule;
	uint32_t nr = 0;
	uint32_t i, k;

	for (rule = channel->rules; rule; rule = rule->next) {
		if (!rule->nr_contexts || !is_for(channel, rule, description))
			continue;
		for (i = 0; i < rule->nr_contexts; i++) {
			const struct context_spec *spec = &rule->contexts[i];

			for (k = 0; k < nr && !context_same(spec, ret_found[k]); k++)
				;
			if (k < nr || is_among(spec, channel->contexts, channel->nr_contexts))
				continue;
			if (nr + channel->nr_contexts < CONTEXT_SET_MAX)
				ret_found[nr++] = spec;
			else
				agent_debug("too many contexts: %s is left out", spec->name);
		}
	}
	return nr;
}

/* The channel's contexts and the event's, as one set. */
static bool build_contexts(const struct agent_channel *channel,
		const struct side_event_description *description, struct select_arena *arena,
		struct agent_event *event)
{
	/* Too much for a stack that is not ours; all this happens under libside's event lock. */
	static struct context_spec all[CONTEXT_SET_MAX];
	const struct context_spec *found[CONTEXT_SET_MAX];
	uint32_t nr_extra = find_extra(channel, description, found);
	uint32_t nr = channel->nr_contexts + nr_extra;
	struct context_spec *specs;
	struct context_set *set;
	ssize_t size;
	void *memory;
	uint32_t i;

	if (!nr_extra) {
		if (arena->memory)
			event->contexts = channel->context_set;
		return true;
	}
	for (i = 0; i < nr; i++)
		all[i] = i < channel->nr_contexts ? channel->contexts[i]
						  : *found[i - channel->nr_contexts];
	size = context_set_size(all, nr);
	specs = agent_select_allocate(arena, nr_extra * sizeof(*specs));
	memory = agent_select_allocate(arena, size < 0 ? 0 : (size_t)size);
	if (size < 0 || !memory)
		return size >= 0;
	memcpy(specs, all + channel->nr_contexts, nr_extra * sizeof(*specs));
	if (context_set_build(all, nr, memory, (size_t)size, &set))
		return false;
	event->contexts = set;
	event->extra = specs;
	event->nr_extra = nr_extra;
	return true;
}

/* ---- */

size_t agent_select(const struct agent_channel *channel, struct side_event_description *description,
		struct agent_event *event, char *memory)
{
	struct select_arena arena = {.memory = memory};
	const struct agent_rule *rule;
	uint32_t nr = 0;

	for (rule = channel->rules; rule; rule = rule->next) {
		bool of_calls = selects_calls(channel, rule, description, true);

		if (!is_for(channel, rule, description))
			continue;
		event->of_calls |= of_calls;
		event->selects_calls |= selects_calls(channel, rule, description, false);
		event->always |= !rule->filter;
		nr += nr < FILTERS_MAX && rule->filter &&
				(!of_calls || link_size(rule, description) >= 0);
	}
	if (!nr && !event->always && !event->of_calls)
		return 0;
	/* So that 0 means no. */
	agent_select_allocate(&arena, 1);
	event->of_calls &= !event->always;
	if (nr && (!event->always || event->selects_calls) &&
			!link_filters(channel, description, nr, &arena, event))
		return 0;
	if (!build_contexts(channel, description, &arena, event))
		return 0;
	if (memory) {
		event->of_probe = agent_probes_has(description);
		agent_record_choose(event);
	}
	return arena.used;
}
