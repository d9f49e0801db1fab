/* SPDX-License-Identifier: MIT */
/* Adds, finds, compares and removes the texts of an array. */
#include "sessions/strings.h"

#include <stdlib.h>
#include <string.h>

bool strings_add(struct definition_strings *strings, const char *text)
{
	char **items = realloc(strings->items, (strings->count + 1) * sizeof(*items));
	char *copy;

	if (!items)
		return false;
	strings->items = items;
	copy = strdup(text);
	if (!copy)
		return false;
	items[strings->count++] = copy;
	return true;
}

bool strings_copy(struct definition_strings *ret_copy, const struct definition_strings *from)
{
	struct definition_strings copy = {0};
	size_t i;

	for (i = 0; i < from->count; i++) {
		if (strings_add(&copy, from->items[i]))
			continue;
		strings_free(&copy);
		return false;
	}
	*ret_copy = copy;
	return true;
}

bool strings_have(const struct definition_strings *strings, const char *text)
{
	size_t i;

	for (i = 0; i < strings->count; i++)
		if (!strcmp(strings->items[i], text))
			return true;
	return false;
}

/* Compares as sets: the order of patterns does not matter. */
bool strings_same(const struct definition_strings *one, const struct definition_strings *other)
{
	size_t i;

	for (i = 0; i < one->count; i++)
		if (!strings_have(other, one->items[i]))
			return false;
	for (i = 0; i < other->count; i++)
		if (!strings_have(one, other->items[i]))
			return false;
	return true;
}

bool strings_remove(struct definition_strings *strings, const char *text)
{
	size_t i, kept = 0;
	bool found = false;

	for (i = 0; i < strings->count; i++) {
		if (strcmp(strings->items[i], text) != 0) {
			strings->items[kept++] = strings->items[i];
			continue;
		}
		free(strings->items[i]);
		found = true;
	}
	strings->count = kept;
	return found;
}

void strings_free(struct definition_strings *strings)
{
	size_t i;

	for (i = 0; i < strings->count; i++)
		free(strings->items[i]);
	free(strings->items);
	*strings = (struct definition_strings){0};
}
