/* SPDX-License-Identifier: MIT */
/* Lists of names that are looked up: files may have any number of them. */
#include "diff.h"

#include <stdlib.h>
#include <string.h>

bool names_start(struct names *names, uint32_t nr)
{
	*names = (struct names){.names = calloc(nr ? nr : 1, sizeof(*names->names))};
	return names->names != NULL;
}

void names_add(struct names *names, char *text, size_t size)
{
	names->names[names->nr] = (struct name){text, text ? size : 0, names->nr};
	names->nr++;
}

static int compare_text(const struct name *one, const char *text, size_t size)
{
	size_t shorter = one->size < size ? one->size : size;
	int order = shorter ? memcmp(one->text, text, shorter) : 0;

	return order ? order : one->size < size ? -1 : one->size > size;
}

static int compare(const void *one, const void *other)
{
	const struct name *a = one, *b = other;
	int order = compare_text(a, b->text, b->size);

	return order ? order : a->index < b->index ? -1 : a->index > b->index;
}

void names_sort(struct names *names)
{
	qsort(names->names, names->nr, sizeof(*names->names), compare);
}

const struct name *names_find(const struct names *names, const char *text, size_t size)
{
	uint32_t low = 0, high = names->nr;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (compare_text(&names->names[middle], text, size) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == names->nr || compare_text(&names->names[low], text, size))
		return NULL;
	return &names->names[low];
}

void names_free(struct names *names)
{
	for (uint32_t i = 0; i < names->nr; i++)
		free(names->names[i].text);
	free(names->names);
}
