/* SPDX-License-Identifier: MIT */
/* Sorted lists of names: files may have any number of them, so lookups must be fast. */
#include "diff.h"
#include "base/inside/search.h"

#include <stdlib.h>
#include <string.h>

bool names_start(struct diff_names *names, uint32_t nr)
{
	*names = (struct diff_names){.names = calloc(nr ? nr : 1, sizeof(*names->names))};
	if (!names->names)
		message_out_of_memory();
	return names->names != NULL;
}

void names_add(struct diff_names *names, char *text, size_t size)
{
	names->names[names->nr] = (struct diff_name){text, text ? size : 0, names->nr, 0};
	names->nr++;
}

static int readside_names_compare_text(const struct diff_name *one, const char *text, size_t size)
{
	size_t shorter = one->size < size ? one->size : size;
	int order = shorter ? memcmp(one->text, text, shorter) : 0;

	return order ? order : one->size < size ? -1 : one->size > size;
}

static int readside_names_compare_entries(const void *one, const void *other)
{
	const struct diff_name *a = one, *b = other;
	int order = readside_names_compare_text(a, b->text, b->size);

	return order ? order : a->index < b->index ? -1 : a->index > b->index;
}

void names_sort(struct diff_names *names)
{
	qsort(names->names, names->nr, sizeof(*names->names), readside_names_compare_entries);
}

/* Returns the index of the first entry with this text, or names->nr. */
static uint32_t names_search(const struct diff_names *names, const char *text, size_t size)
{
	uint32_t low = search_leading(i, names->nr,
			readside_names_compare_text(&names->names[i], text, size) < 0);

	return low < names->nr && !readside_names_compare_text(&names->names[low], text, size)
			? low
			: names->nr;
}

const struct diff_name *names_find(const struct diff_names *names, const char *text, size_t size)
{
	uint32_t i = names_search(names, text, size);

	return i < names->nr ? &names->names[i] : NULL;
}

/* The first entry of a text counts the paired ones. */
const struct diff_name *names_pair(struct diff_names *names, const char *text, size_t size)
{
	uint32_t first = names_search(names, text, size), i;

	if (first == names->nr)
		return NULL;
	i = first + names->names[first].nr_paired;
	if (i >= names->nr || readside_names_compare_text(&names->names[i], text, size))
		return NULL;
	names->names[first].nr_paired++;
	return &names->names[i];
}

void names_unpair(struct diff_names *names)
{
	for (uint32_t i = 0; i < names->nr; i++)
		names->names[i].nr_paired = 0;
}

void names_free(struct diff_names *names)
{
	for (uint32_t i = 0; i < names->nr; i++)
		free(names->names[i].text);
	free(names->names);
}
