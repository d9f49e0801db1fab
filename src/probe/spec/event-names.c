/* SPDX-License-Identifier: MIT */
/*
 * Number the names of events that would otherwise be equal.
 *
 * A spec that makes an event of each function can find functions with one name in several files, or
 * with several parameter types. The second one gets the suffix _2, and so on. A program can have
 * tens of thousands of functions, so names are found by a hash, and each name keeps the last number
 * that was used for it.
 */
#include "parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/inside/hash.h"

#define PLAIN_MAX 200 /* length at which a name is cut before its number */

struct event_name_entry {
	char name[EVENT_NAME_MAX];
	unsigned int number; /* last number used for this name */
};

/* Returns the table entry of the name, or the free entry where it belongs. */
static uint32_t *event_names_find_entry(const struct event_names *names, const char *name)
{
	size_t at = hash_fnv1a_32_text(HASH_FNV1A_32_BEGIN, name) & (names->capacity - 1);

	while (names->table[at] && strcmp(names->entries[names->table[at] - 1].name, name) != 0)
		at = (at + 1) & (names->capacity - 1);
	return &names->table[at];
}

bool event_names_begin(struct event_names *names, size_t most)
{
	*names = (struct event_names){.capacity = 16};
	while (names->capacity < most * 2)
		names->capacity *= 2;
	names->entries = calloc(most, sizeof(*names->entries));
	names->table = calloc(names->capacity, sizeof(*names->table));
	return names->entries && names->table;
}

void event_names_add(struct event_names *names, char name[EVENT_NAME_MAX])
{
	uint32_t *at = event_names_find_entry(names, name);

	if (*at) {
		struct event_name_entry *like = &names->entries[*at - 1];
		char plain[PLAIN_MAX + 1];

		snprintf(plain, sizeof(plain), "%.*s", PLAIN_MAX, name);
		for (; *at; at = event_names_find_entry(names, name))
			snprintf(name, EVENT_NAME_MAX, "%s_%u", plain, ++like->number);
	}
	*at = (uint32_t)++names->count;
	names->entries[names->count - 1].number = 1;
	snprintf(names->entries[names->count - 1].name, EVENT_NAME_MAX, "%s", name);
}

void event_names_end(struct event_names *names)
{
	free(names->entries);
	free(names->table);
}
