/* SPDX-License-Identifier: MIT */
/* A flame graph from its options to its tree. */
#include "analysis/flame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace-symbols.h"
#include "base/error.h"

/* ---- weights ---- */

#define FLAME_CPU_HINT                                                                      \
	"record with `side trace --function '*' --exit --context perf:thread:task-clock`\n" \
	"or record the kernel's events in the same session: `side enable-event -k sched:sched_switch`"

static const struct flame_weight_text {
	const char *name, *unit;
	const char *missing; /* why no event has this weight … */
	const char *hint;    /* … and how to record one */
} flame_weights[] = {
		[FLAME_WEIGHT_AUTO] = {"auto", "count",
				"no event has a stack, and there are no calls",
				"record with `--context backtrace`, or `side trace --function '*' --exit`"},
		[FLAME_WEIGHT_TIME] = {"time", "nanoseconds", "there are no calls of functions",
				"record with `side trace --function '*' --exit`, or give `--pair BEGIN END`"},
		[FLAME_WEIGHT_COUNT] = {"count", "count",
				"no event has a stack, and there are no calls",
				"record with `--context backtrace`"},
		[FLAME_WEIGHT_BYTES] = {"bytes", "bytes", "there are no calls of an allocator",
				"record with `side record -w libc --context backtrace`"},
		[FLAME_WEIGHT_WAIT] = {"wait", "nanoseconds", "no thread waits for a lock",
				"record with `side record -w pthread --context vtid,backtrace`"},
		[FLAME_WEIGHT_ON_CPU] = {"on-cpu", "nanoseconds",
				"no call has the processor time of its thread", FLAME_CPU_HINT},
		[FLAME_WEIGHT_OFF_CPU] = {"off-cpu", "nanoseconds",
				"no call has the processor time of its thread", FLAME_CPU_HINT},
};

bool flame_weight_is_time(enum flame_weight weight)
{
	return strcmp(flame_weights[weight].unit, "nanoseconds") == 0;
}

const char *flame_weight_name(enum flame_weight weight)
{
	return flame_weights[weight].name;
}

const char *flame_weight_unit(enum flame_weight weight)
{
	return flame_weights[weight].unit;
}

/* ---- the begin ---- */

int flame_prepare(struct flame *flame, const struct flame_options *options, const char *verb,
		const char *dir, const struct analysis_listener *listener, struct error *error)
{
	const struct report_walk_options walk = {
			.verb = verb,
			.dir = dir,
			.patterns = &options->patterns,
			.where = options->filter,
			.times = options->times,
			.listener = *listener,
	};
	int ret = pairs_create(
			&flame->pairs, &options->pairs, options->key, options->across, error);

	flame->options = options;
	flame->site_keys.limit = FLAME_SITES_MAX;
	flame->group_keys.limit = FLAME_GROUPS_MAX;
	flame->wait_keys.limit = FLAME_WAITS_MAX;
	flame->calls.with_cpu = options->weight == FLAME_WEIGHT_ON_CPU ||
			options->weight == FLAME_WEIGHT_OFF_CPU;
	if (!ret)
		ret = walk_prepare(&flame->walk, &walk, error);
	if (ret)
		return ret;
	if (!flame->symbols)
		flame->symbols = trace_symbols_start(
				options->debuginfod, &flame->walk.options.listener);
	return flame->symbols ? 0 : error_set_no_memory(error);
}

int flame_open(struct flame *flame, struct error *error)
{
	int ret = walk_open(&flame->walk, error);

	flame->walk.create_user_data = flame_class_create;
	flame->walk.free_user_data = flame_class_free;
	flame->walk.user = flame;
	flame->calls.gaps = &flame->gaps;
	if (flame->options->in_order && flame->options->weight == FLAME_WEIGHT_AUTO &&
			flame->options->by == FLAME_BY_NOTHING)
		flame_slices_collect(&flame->slices, &flame->calls);
	if (!ret && gaps_read(&flame->gaps, flame->walk.options.dir))
		ret = error_set_no_memory(error);
	return ret;
}

/* ---- the tree ---- */

static void flame_group_name(
		const struct flame *flame, const struct flame_group *group, char *text, size_t size)
{
	char name[512];

	identity_text(&flame->identity, group->process, name, sizeof(name));
	if (flame->options->by == FLAME_BY_PROCESS)
		snprintf(text, size, "%s", name);
	else if (group->thread < 0)
		snprintf(text, size, "%s, unknown thread", name);
	else
		snprintf(text, size, "%s, thread %" PRId64, name, group->thread);
}

/* The node of a group: the root, or a child of it. KEYS_NONE: out of memory. */
static uint32_t flame_group_node(struct flame *flame, uint32_t number)
{
	struct flame_group group;
	char name[600];

	if (flame->options->by == FLAME_BY_NOTHING)
		return FLAME_TREE_ROOT;
	if (number == FLAME_GROUPS_MAX)
		return FLAME_TREE_OTHERS;
	memcpy(&group, flame->group_keys.entries[number].bytes, sizeof(group));
	flame_group_name(flame, &group, name, sizeof(name));
	return flame_tree_child(&flame->tree, FLAME_TREE_ROOT,
			flame_tree_frame(&flame->tree, name, strlen(name), ""));
}

static int flame_add_site(struct flame *flame, const struct flame_site *site, bool is_count)
{
	uint32_t named = stacks_named(&flame->stacks, site->stack), count;
	uint32_t node = flame_group_node(flame, site->group);
	const uint32_t *frames = stacks_frames(&flame->stacks, named, &count);

	if (named == STACK_NONE)
		node = flame->stacks.no_memory ? KEYS_NONE : FLAME_TREE_OTHERS;
	while (count && node != KEYS_NONE)
		node = flame_tree_child(&flame->tree, node,
				flame_tree_stack_frame(&flame->tree,
						stacks_frame(&flame->stacks, frames[--count])));
	if (node == KEYS_NONE)
		return -ENOMEM;
	flame->tree.nodes[node].count += site->count;
	flame->tree.nodes[node].self += is_count ? site->count : site->weight;
	return 0;
}

static int flame_add_sites(struct flame *flame)
{
	bool is_count = flame->weight == FLAME_WEIGHT_COUNT;
	struct flame_node *others = &flame->tree.nodes[FLAME_TREE_OTHERS];
	int ret = 0;

	others->count += flame->stackless;
	others->self += is_count ? flame->stackless : flame->stackless_weight;
	for (uint32_t i = 0; i < flame->site_keys.count && !ret; i++)
		ret = flame_add_site(flame, &flame->sites[i], is_count);
	return ret;
}

static uint64_t flame_branch_weight(struct flame *flame, const struct calls_branch *branch)
{
	uint64_t known = branch->on_cpu_ns + branch->off_cpu_ns;

	flame->has_cpu |= known != 0;
	switch (flame->weight) {
	case FLAME_WEIGHT_COUNT: return branch->stats.calls;
	case FLAME_WEIGHT_ON_CPU:
	case FLAME_WEIGHT_OFF_CPU:
		flame->unknown_cpu_ns += branch->stats.self_ns - known;
		return flame->weight == FLAME_WEIGHT_ON_CPU ? branch->on_cpu_ns
							    : branch->off_cpu_ns;
	default: return branch->stats.self_ns;
	}
}

/* The name of a function is a part of the trace, without a NUL if it has 0 bytes in it. */
static uint32_t flame_function_frame(struct flame *flame, uint32_t function)
{
	const struct keys_entry *entry = &flame->calls.functions.entries[function];

	return flame_tree_frame(&flame->tree, (const char *)entry->bytes, entry->size, "");
}

/* Adds parents first: a branch has a larger number than its parent. */
static int flame_add_branches(struct flame *flame)
{
	const struct report_calls *calls = &flame->calls;
	uint32_t count = calls->branch_keys.count, node = FLAME_TREE_ROOT;
	uint32_t *map = malloc(((size_t)count + 1) * sizeof(*map));

	for (uint32_t i = 0; map && i < count && node != KEYS_NONE; i++) {
		const struct calls_branch *branch = &calls->branches[i];

		node = branch->parent == KEYS_NONE ? flame_group_node(flame, branch->root)
						   : map[branch->parent];
		node = flame_tree_child(
				&flame->tree, node, flame_function_frame(flame, branch->function));
		map[i] = node;
		if (node == KEYS_NONE)
			break;
		flame->tree.nodes[node].count += branch->stats.calls;
		flame->tree.nodes[node].self += flame_branch_weight(flame, branch);
		flame->events += branch->stats.calls;
	}
	free(map);
	return map && node != KEYS_NONE ? 0 : -ENOMEM;
}

/* Adds calls that are in no branch: beyond a limit, or without an entry. */
static void flame_add_other_calls(struct flame *flame)
{
	struct flame_node *others = &flame->tree.nodes[FLAME_TREE_OTHERS];
	uint64_t calls = 0, self = 0;

	flame->unfinished = 0;
	for (uint32_t i = 0; i < flame->calls.functions.count; i++) {
		flame->unfinished += flame->calls.stats[i].unfinished + flame->calls.stats[i].lost;
		calls += flame->calls.stats[i].calls;
		self += flame->calls.stats[i].self_ns;
	}
	for (uint32_t i = 0; i < flame->calls.branch_keys.count; i++) {
		calls -= flame->calls.branches[i].stats.calls;
		self -= flame->calls.branches[i].stats.self_ns;
	}
	others->count += calls;
	flame->events += calls;
	if (flame->weight == FLAME_WEIGHT_COUNT)
		others->self += calls;
	else if (flame->weight == FLAME_WEIGHT_TIME)
		others->self += self;
	else
		flame->unknown_cpu_ns += self;
}

void flame_slice_name(
		const struct flame *flame, const struct calls_slice *slice, char *text, size_t size)
{
	char name[512];

	identity_text(&flame->identity, slice->process, name, sizeof(name));
	if (slice->thread < 0)
		snprintf(text, size, "%s, unknown thread %" PRIu32, name, slice->part);
	else
		snprintf(text, size, "%s, thread %" PRId64, name, slice->thread);
}

/* Pairs and stacks have the weights of the tree only. */
static int flame_sort_slices(struct flame *flame)
{
	struct flame_slices *slices = &flame->slices;

	if (!flame->is_calls)
		flame_slices_free(slices);
	for (size_t i = 0; i < slices->nr; i++) {
		struct calls_slice *slice = &slices->items[i];

		slice->function = flame_function_frame(flame, slice->function);
		if (slice->function == KEYS_NONE)
			return -ENOMEM;
	}
	flame_slices_sort(slices);
	return 0;
}

static int flame_make_tree(struct flame *flame)
{
	int ret = flame_tree_init(&flame->tree);

	if (!ret && flame->is_calls) {
		ret = flame_add_branches(flame);
		flame_add_other_calls(flame);
	} else if (!ret) {
		ret = flame_add_sites(flame);
	}
	if (!ret)
		flame_tree_sum(&flame->tree);
	return ret;
}

/* ---- the walk ---- */

static void flame_choose_weight(struct flame *flame)
{
	bool has_pairs = flame->pairs.rule_count != 0;

	flame->weight = (enum flame_weight)flame->options->weight;
	if (flame->weight == FLAME_WEIGHT_AUTO)
		flame->weight = flame->any_call || has_pairs ? FLAME_WEIGHT_TIME
							     : FLAME_WEIGHT_COUNT;
	/* The whole stack of an event is more complete than the recorded calls around the event. */
	flame->is_calls = flame->any_call && !has_pairs &&
			!(flame->weight == FLAME_WEIGHT_COUNT && flame->any_backtrace);
	/* Discard the stacks that were counted before the first call. */
	if (flame->is_calls)
		flame->events = flame->stackless = flame->stackless_weight = 0;
}

static int flame_read_items(struct flame *flame)
{
	struct walk_class *class;
	struct ctf_item item;
	int ret = trace_symbols_read(flame->symbols, flame->walk.options.dir);

	while (!ret && (ret = walk_next(&flame->walk, &item, &class)) > 0) {
		ret = 0;
		if (class && !class->lost)
			ret = flame_take(flame, &item, class);
		else if (!class && item.kind != CTF_ITEM_LOST_PACKETS)
			flame->lost_counted += item.count;
		else if (class && !walk_lost_is_bytes(&item))
			flame->lost_reported += walk_lost_count(&item);
		if (ret)
			return ret;
	}
	flame->lost = flame->lost_reported > flame->lost_counted ? flame->lost_reported
								 : flame->lost_counted;
	calls_finish(&flame->calls);
	return ret;
}

/* If no event has a weight, reports what to record. */
static int flame_check_weight(const struct flame *flame, struct error *error)
{
	const struct flame_weight_text *text = &flame_weights[flame->options->weight];
	const char *dir = flame->walk.options.dir;
	bool has_weight = flame->events > flame->stackless;

	if (flame->switches.broken && !flame->lost)
		return error_set_kind(error, ERROR_FAILED, -ENODATA,
				"record the switches of all processes: `side enable-event -k sched:sched_switch`",
				"cannot make a flame graph of %s by %s: the switches to threads are missing",
				dir, text->name);
	if (flame->calls.with_cpu)
		has_weight = flame->any_call && flame->has_cpu;
	if (has_weight)
		return 0;
	if (flame->events && !flame->calls.with_cpu)
		return error_set_kind(error, ERROR_FAILED, -ENODATA,
				"record with `--context backtrace`",
				"cannot make a flame graph of %s: no event has a stack", dir);
	if (flame->pairs.rule_count)
		return error_set_kind(error, ERROR_FAILED, -ENODATA, NULL,
				"cannot make a flame graph of %s: no pair has a begin and an end",
				dir);
	return error_set_kind(error, ERROR_FAILED, -ENODATA, text->hint,
			"cannot make a flame graph of %s by %s: %s", dir, text->name,
			text->missing);
}

int flame_read(struct flame *flame, struct error *error)
{
	int ret = flame_read_items(flame);

	if (!ret) {
		flame_choose_weight(flame);
		ret = flame_make_tree(flame);
	}
	if (!ret)
		ret = flame_sort_slices(flame);
	for (uint32_t i = 0; i < flame->wait_keys.count; i++)
		flame->unfinished += flame->waits[i].is_open;
	if (ret)
		return error_set_kind(error, ERROR_FAILED, ret, NULL,
				"cannot continue to read %s: %s", flame->walk.options.dir,
				strerror(-ret));
	return flame_check_weight(flame, error);
}

void flame_free(struct flame *flame)
{
	walk_close(&flame->walk);
	identity_free(&flame->identity);
	stacks_free(&flame->stacks);
	flame_tree_free(&flame->tree);
	symbols_free(flame->symbols);
	calls_free(&flame->calls);
	flame_slices_free(&flame->slices);
	gaps_free(&flame->gaps);
	switches_free(&flame->switches);
	pairs_free(&flame->pairs);
	keys_free(&flame->site_keys);
	keys_free(&flame->wait_keys);
	keys_free(&flame->group_keys);
	free(flame->sites);
	free(flame->waits);
}
