/* SPDX-License-Identifier: MIT */
/* The calls of a trace in the order of time, for a profile of each thread. */
#include "analysis/flame-slices.h"

#include <errno.h>
#include <stdlib.h>

static int flame_slices_add(void *user, const struct calls_slice *slice)
{
	struct flame_slices *slices = user;

	if (slices->is_full)
		return 0;
	if (slices->nr == FLAME_SLICES_MAX) {
		flame_slices_free(slices);
		slices->is_full = true;
		return 0;
	}
	if (slices->nr == slices->capacity) {
		size_t capacity = slices->capacity ? slices->capacity * 2 : 1024;
		struct calls_slice *items =
				reallocarray(slices->items, capacity, sizeof(*slices->items));

		if (!items)
			return -ENOMEM;
		slices->items = items;
		slices->capacity = capacity;
	}
	slices->items[slices->nr++] = *slice;
	return 0;
}

void flame_slices_collect(struct flame_slices *slices, struct report_calls *calls)
{
	calls->end = flame_slices_add;
	calls->end_user = slices;
}

static int flame_slices_compare_numbers(uint64_t one, uint64_t other)
{
	return (one > other) - (one < other);
}

bool flame_slices_is_same_thread(const struct calls_slice *one, const struct calls_slice *other)
{
	return one->process == other->process && one->thread == other->thread &&
			one->part == other->part;
}

/* By thread, then by time. Of calls that begin together, the outer one is first. */
static int flame_slices_compare(const void *one, const void *other)
{
	const struct calls_slice *a = one, *b = other;
	int ret = flame_slices_compare_numbers(a->process, b->process);

	if (!ret)
		ret = (a->thread > b->thread) - (a->thread < b->thread);
	if (!ret)
		ret = flame_slices_compare_numbers(a->part, b->part);
	if (!ret)
		ret = (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
	if (!ret)
		ret = flame_slices_compare_numbers(a->depth, b->depth);
	return ret ? ret : flame_slices_compare_numbers(a->duration_ns, b->duration_ns);
}

void flame_slices_sort(struct flame_slices *slices)
{
	if (slices->nr)
		qsort(slices->items, slices->nr, sizeof(*slices->items), flame_slices_compare);
	for (size_t i = 0; i < slices->nr; i++) {
		const int64_t begin_ns = slices->items[i].begin_ns;

		if (!i || begin_ns < slices->first_ns)
			slices->first_ns = begin_ns;
	}
}

void flame_slices_free(struct flame_slices *slices)
{
	free(slices->items);
	*slices = (struct flame_slices){.items = NULL};
}
