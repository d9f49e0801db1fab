/* SPDX-License-Identifier: MIT */
/*
 * Merges what was counted by stack: stacks with the same functions and lines are one, also in
 * several processes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/leaks.h"

uint32_t leaks_stack_named(struct leaks *leaks, uint32_t stack)
{
	if (stack == LEAKS_STACK_OTHERS || stack == LEAKS_STACK_NONE)
		return STACK_NONE;
	return stacks_named(&leaks->stacks, stack - 1);
}

static void leaks_group_add(struct leaks_site *group, const struct leaks_site *site)
{
	if (!group->blocks || site->oldest_ns < group->oldest_ns)
		group->oldest_ns = site->oldest_ns;
	if (site->newest_ns > group->newest_ns)
		group->newest_ns = site->newest_ns;
	group->is_shared |= site->is_shared || (group->blocks && group->image != site->image);
	group->image = site->image;
	group->allocations += site->allocations;
	group->allocated_bytes += site->allocated_bytes;
	group->blocks += site->blocks;
	group->bytes += site->bytes;
	for (unsigned int i = 0; i < LEAKS_GROWTH; i++)
		group->growth[i] += site->growth[i];
}

static int leaks_group_compare(const void *one, const void *other)
{
	const struct leaks_site *left = one, *right = other;

	if (left->bytes != right->bytes)
		return left->bytes > right->bytes ? -1 : 1;
	if (left->blocks != right->blocks)
		return left->blocks > right->blocks ? -1 : 1;
	return left->named < right->named ? -1 : left->named > right->named;
}

/* Stacks whose blocks were all freed belong to a group only if another stack of it has blocks. */
int leaks_group(struct leaks *leaks)
{
	struct keys keys = {0};
	bool failed = false;

	for (uint32_t i = 0; i < leaks->site_capacity && !failed; i++) {
		uint32_t named, number;

		if (!leaks->sites[i].blocks)
			continue;
		named = leaks_stack_named(leaks, i);
		leaks->groups = keys_add_item(&keys, leaks->groups, sizeof(*leaks->groups), &named,
				sizeof(named), &number);
		failed = number == KEYS_NONE || leaks->stacks.no_memory;
		if (failed)
			break;
		leaks_group_add(&leaks->groups[number], &leaks->sites[i]);
		leaks->groups[number].named = named;
	}
	leaks->group_count = keys.count;
	keys_free(&keys);
	if (!failed && leaks->group_count)
		qsort(leaks->groups, leaks->group_count, sizeof(*leaks->groups),
				leaks_group_compare);
	return failed ? -ENOMEM : 0;
}
