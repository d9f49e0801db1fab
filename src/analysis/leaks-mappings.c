/* SPDX-License-Identifier: MIT */
/* A sorted table of mappings: adds whole mappings, and removes parts of them. */
#include "analysis/leaks-mappings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The index of the first mapping that ends behind the address. */
static size_t leaks_mappings_search(
		const struct leaks_mappings *mappings, uint32_t image, uint64_t address)
{
	size_t low = 0, high = mappings->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct leaks_mapping *item = &mappings->items[middle];

		if (item->image < image || (item->image == image && item->end <= address))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool leaks_mappings_is_within(
		const struct leaks_mappings *mappings, size_t at, uint32_t image, uint64_t address)
{
	return at < mappings->count && mappings->items[at].image == image &&
			mappings->items[at].begin < address;
}

/* Makes space for one more mapping at an index. False: the table is full, or out of memory. */
static bool leaks_mappings_insert(struct leaks_mappings *mappings, size_t at, int *ret_error)
{
	if (mappings->count == LEAKS_MAPPINGS_MAX) {
		mappings->refused++;
		return false;
	}
	if (mappings->count == mappings->capacity) {
		size_t capacity = mappings->capacity ? mappings->capacity * 2 : 64;
		struct leaks_mapping *items =
				reallocarray(mappings->items, capacity, sizeof(*items));

		if (!items) {
			*ret_error = -ENOMEM;
			return false;
		}
		mappings->items = items;
		mappings->capacity = capacity;
	}
	memmove(&mappings->items[at + 1], &mappings->items[at],
			(mappings->count - at) * sizeof(*mappings->items));
	mappings->count++;
	return true;
}

static void leaks_mappings_drop(struct leaks_mappings *mappings, size_t at)
{
	mappings->count--;
	memmove(&mappings->items[at], &mappings->items[at + 1],
			(mappings->count - at) * sizeof(*mappings->items));
}

int leaks_mappings_remove(struct leaks_mappings *mappings, uint32_t image, uint64_t begin,
		uint64_t end,
		void (*removed)(void *user, const struct leaks_mapping *mapping, uint64_t bytes,
				bool is_whole),
		void *user)
{
	size_t at = leaks_mappings_search(mappings, image, begin);
	int ret = 0;

	while (!ret && leaks_mappings_is_within(mappings, at, image, end)) {
		struct leaks_mapping *item = &mappings->items[at], old = *item;
		uint64_t from = begin > old.begin ? begin : old.begin;
		uint64_t to = end < old.end ? end : old.end;

		removed(user, &old, to - from, from == old.begin && to == old.end);
		if (from == old.begin && to == old.end) {
			leaks_mappings_drop(mappings, at);
			continue;
		}
		if (from > old.begin)
			item->end = from;
		else
			item->begin = to;
		if (from > old.begin && to < old.end &&
				leaks_mappings_insert(mappings, at + 1, &ret)) {
			mappings->items[at + 1] = old;
			mappings->items[at + 1].begin = to;
		}
		at++;
	}
	return ret;
}

int leaks_mappings_add(struct leaks_mappings *mappings, const struct leaks_mapping *mapping)
{
	size_t at = leaks_mappings_search(mappings, mapping->image, mapping->begin);
	int ret = 0;

	if (leaks_mappings_insert(mappings, at, &ret))
		mappings->items[at] = *mapping;
	return ret;
}

const struct leaks_mapping *leaks_mappings_find(
		const struct leaks_mappings *mappings, uint32_t image, uint64_t address)
{
	size_t at = leaks_mappings_search(mappings, image, address);

	return leaks_mappings_is_within(mappings, at, image, address + 1) ? &mappings->items[at]
									  : NULL;
}

void leaks_mappings_free(struct leaks_mappings *mappings)
{
	free(mappings->items);
	*mappings = (struct leaks_mappings){0};
}
