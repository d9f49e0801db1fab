/* SPDX-License-Identifier: MIT */
/* The weight and the stack of each event of a flame graph. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/flame.h"
#include "analysis/leaks-calls.h"
#include "analysis/locks-state.h"

struct flame_class {
	struct identity_class identity;
	struct calls_class calls;
	struct event_stack_class stack;
	struct leaks_form_class allocation;
	struct switches_class switches;
	struct locks_class *locks; /* NULL: not needed */
	struct pair_class pair;
	bool is_of_tracer; /* where libraries are loaded, and state dumps */
	bool has_pair;
	bool has_group; /* the group of the last record */
	uint32_t group_process;
	int64_t group_thread;
	uint32_t group;
};

/* ---- classes ---- */

void flame_class_free(void *class)
{
	struct flame_class *own = class;

	if (own->has_pair)
		pair_class_free(&own->pair);
	free(own->locks);
	free(own);
}

void *flame_class_create(void *user, struct walk_class *walk, const struct ctf_item *item)
{
	struct flame *flame = user;
	struct flame_class *class = calloc(1, sizeof(*class));

	if (!class)
		return NULL;
	class->is_of_tracer = item->trace->is_side && !strncmp(item->event->name, "side:", 5);
	event_stack_bind(&class->stack, item, walk->view);
	leaks_form_find(&class->allocation, item);
	if (flame->calls.with_cpu)
		switches_class_find(&class->switches, item);
	if (flame->options->weight == FLAME_WEIGHT_WAIT) {
		class->locks = locks_class_create(item, walk->view);
		if (!class->locks)
			goto fail;
	}
	if (flame->pairs.rule_count &&
			pair_class_make(&flame->pairs, &class->pair, item, walk->view, NULL))
		goto fail;
	class->has_pair = class->pair.begins || class->pair.ends;
	return class;
fail:
	flame_class_free(class);
	return NULL;
}

/* ---- groups ---- */

/* KEYS_NONE: out of memory. */
static uint32_t flame_group_of(
		struct flame *flame, struct flame_class *class, uint32_t process, int64_t thread)
{
	const struct flame_group key = {
			flame->options->by == FLAME_BY_THREAD ? thread : -1, process, 0};

	if (flame->options->by == FLAME_BY_NOTHING)
		return 0;
	if (class->has_group && class->group_process == process && class->group_thread == thread)
		return class->group;
	class->group = keys_add(&flame->group_keys, &key, sizeof(key));
	if (class->group == KEYS_NONE && !flame->group_keys.no_memory)
		class->group = FLAME_GROUPS_MAX;
	class->has_group = class->group != KEYS_NONE;
	class->group_process = process;
	class->group_thread = thread;
	return class->group;
}

/* ---- sites ---- */

/* *ret_site is KEYS_NONE without a stack or beyond a limit. 0 or -ENOMEM. */
static int flame_find_site(struct flame *flame, const struct flame_class *class,
		const struct ctf_item *item, uint32_t group, uint32_t *ret_site)
{
	struct stack stack;
	uint32_t key[2] = {STACK_NONE, group};

	*ret_site = KEYS_NONE;
	if (!event_stack_read(&class->stack, item, &stack))
		return 0;
	stack.symbols = flame->symbols;
	key[0] = stacks_add(&flame->stacks, &stack);
	if (key[0] == STACK_NONE)
		return flame->stacks.no_memory ? -ENOMEM : 0;
	flame->sites = keys_add_item(&flame->site_keys, flame->sites, sizeof(*flame->sites), key,
			sizeof(key), ret_site);
	if (*ret_site == KEYS_NONE)
		return flame->site_keys.no_memory ? -ENOMEM : 0;
	flame->sites[*ret_site].stack = key[0];
	flame->sites[*ret_site].group = group;
	return 0;
}

static void flame_add_weight(struct flame *flame, uint32_t site, uint64_t weight)
{
	flame->events++;
	if (site == KEYS_NONE) {
		flame->stackless++;
		flame->stackless_weight += weight;
		return;
	}
	flame->sites[site].count++;
	flame->sites[site].weight += weight;
}

static int flame_take_weight(struct flame *flame, const struct flame_class *class,
		const struct ctf_item *item, uint32_t group, uint64_t weight)
{
	uint32_t site;
	int ret = flame_find_site(flame, class, item, group, &site);

	if (!ret)
		flame_add_weight(flame, site, weight);
	return ret;
}

/* ---- weights ---- */

/* The begin of a probed call has the stack and the size; its result is not needed. */
static int flame_take_allocation(struct flame *flame, const struct flame_class *class,
		const struct ctf_item *item, uint32_t group)
{
	const struct leaks_form_class *form = &class->allocation;

	if (!form->allocates || (form->form != LEAKS_FORM_WHOLE && form->form != LEAKS_FORM_BEGIN))
		return 0;
	if (form->form == LEAKS_FORM_WHOLE &&
			((event_member_exists(&form->block) &&
					 !leaks_member_number(&form->block, item)) ||
					leaks_member_number(&form->status, item)))
		return 0; /* The allocation failed. */
	return flame_take_weight(flame, class, item, group, leaks_form_size(form, item));
}

/* The open wait of a thread. *ret_wait is NULL beyond the limit. 0 or -ENOMEM. */
static int flame_wait_of(struct flame *flame, uint32_t process, int64_t thread, uint64_t call,
		struct flame_wait **ret_wait)
{
	/* The upper 16 bits of a call's number identify a thread of its process (probe/patch). */
	const struct {
		int64_t thread;
		uint32_t process, part;
	} key = {thread, process, thread < 0 ? event_call_thread(call) : 0};
	uint32_t number;

	flame->waits = keys_add_item(&flame->wait_keys, flame->waits, sizeof(*flame->waits), &key,
			sizeof(key), &number);
	*ret_wait = number == KEYS_NONE ? NULL : &flame->waits[number];
	return number == KEYS_NONE && flame->wait_keys.no_memory ? -ENOMEM : 0;
}

static int flame_take_wait(struct flame *flame, const struct flame_class *class,
		const struct ctf_item *item, uint32_t process, int64_t thread, uint32_t group)
{
	const struct locks_class *locks = class->locks;
	struct locks_event event = {0};
	struct flame_wait *wait;
	int ret;

	if (!locks->operation || locks->operation->action != LOCKS_WAIT ||
			locks->phase == LOCKS_SINGLE || !item->timed ||
			!locks_class_read(locks, item, &event))
		return 0;
	ret = flame_wait_of(flame, process, thread, event.call, &wait);
	if (ret || !wait)
		return ret;
	if (locks->phase == LOCKS_REQUEST) {
		flame->unfinished += wait->is_open;
		*wait = (struct flame_wait){
				true, locks->operation, event.call, item->ns, KEYS_NONE};
		return flame_find_site(flame, class, item, group, &wait->site);
	}
	if (!wait->is_open || wait->operation != locks->operation || wait->call != event.call)
		return 0;
	wait->is_open = false;
	if (!gaps_overlap(&flame->gaps, item->trace->index, wait->ns, item->ns))
		flame_add_weight(flame, wait->site,
				item->ns > wait->ns ? (uint64_t)item->ns - (uint64_t)wait->ns : 0);
	return 0;
}

/* The time of a pair has the stack of its begin. */
static int flame_take_pair(struct flame *flame, const struct flame_class *class,
		const struct ctf_item *item, uint32_t process, int64_t thread, uint32_t group)
{
	uint64_t rules = class->pair.begins | class->pair.ends;
	struct pair_key key;
	int ret = 0;

	if (!class->has_pair)
		return 0;
	key = pairs_key(&flame->pairs, &class->pair, item, process, thread);
	for (; rules && !ret; rules &= rules - 1) {
		unsigned int rule = (unsigned int)__builtin_ctzll(rules);
		struct pair_open open = {.ns = item->ns,
				.process = process,
				.thread = thread,
				.trace = item->trace->index};

		if (class->pair.ends >> rule & 1 && pairs_end(&flame->pairs, rule, &key, &open))
			flame_add_weight(flame, open.scope,
					pair_duration(&flame->pairs.rules[rule], open.ns,
							item->ns));
		if (!(class->pair.begins >> rule & 1) || !key.there)
			continue;
		open.ns = item->ns;
		ret = flame_find_site(flame, class, item, group, &open.scope);
		if (!ret)
			ret = pairs_begin(&flame->pairs, rule, &key, &open);
	}
	return ret;
}

static int flame_take_call(struct flame *flame, struct flame_class *class,
		const struct ctf_item *item, uint32_t process, int64_t thread, uint32_t group)
{
	int ret;

	flame->calls.root = group;
	flame->calls.has_clock = flame->switches.has_begun &&
			switches_clock(&flame->switches, thread, item->ns, &flame->calls.clock_ns);
	flame->calls.clock_trace = flame->switches.trace;
	ret = calls_take(&flame->calls, &class->calls, item, process, thread);
	if (class->calls.kind != CALLS_NONE)
		flame->any_call = true;
	return ret;
}

static int flame_take_auto(struct flame *flame, struct flame_class *class,
		const struct ctf_item *item, uint32_t process, int64_t thread, uint32_t group)
{
	bool has_backtrace =
			event_member_exists(&class->stack.sources[EVENT_STACK_BACKTRACE].member);
	int ret = flame_take_call(flame, class, item, process, thread, group);

	flame->any_backtrace |= has_backtrace;
	/* A return has the stack of its entry, which was counted already. */
	if (ret || class->calls.kind == CALLS_RETURN || (flame->any_call && !has_backtrace))
		return ret;
	return flame_take_weight(flame, class, item, group, 1);
}

int flame_take(struct flame *flame, const struct ctf_item *item, struct walk_class *walk)
{
	struct flame_class *class = walk->user_data;
	uint32_t process = identity_process(&flame->identity, &class->identity, item), group;
	int64_t thread;

	if (class->switches.is_switch)
		return switches_take(&flame->switches, &class->switches, item);
	if (process == KEYS_NONE)
		return -ENOMEM;
	if (class->is_of_tracer)
		return 0;
	thread = identity_thread(&class->identity, item);
	group = flame_group_of(flame, class, process, thread);
	if (group == KEYS_NONE)
		return -ENOMEM;
	if (item->timed && !flame->first_ns)
		flame->first_ns = item->ns;
	if (item->timed)
		flame->last_ns = item->ns;
	if (flame->pairs.rule_count)
		return flame_take_pair(flame, class, item, process, thread, group);
	switch ((enum flame_weight)flame->options->weight) {
	case FLAME_WEIGHT_AUTO:
	case FLAME_WEIGHT_COUNT: return flame_take_auto(flame, class, item, process, thread, group);
	case FLAME_WEIGHT_TIME:
	case FLAME_WEIGHT_ON_CPU:
	case FLAME_WEIGHT_OFF_CPU:
		return flame_take_call(flame, class, item, process, thread, group);
	case FLAME_WEIGHT_BYTES: return flame_take_allocation(flame, class, item, group);
	case FLAME_WEIGHT_WAIT: return flame_take_wait(flame, class, item, process, thread, group);
	}
	return 0;
}
