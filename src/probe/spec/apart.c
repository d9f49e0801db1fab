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

struct apart_name {
	char name[EVENT_NAME_MAX];
	unsigned int number; /* last number used for this name */
};

/* Returns the table entry of the name, or the free entry where it belongs. */
static uint32_t *spec_split_find_slot(const struct apart *apart, const char *name)
{
	size_t at = hash_fnv1a_32_text(HASH_FNV1A_32_BEGIN, name) & (apart->capacity - 1);

	while (apart->table[at] && strcmp(apart->names[apart->table[at] - 1].name, name) != 0)
		at = (at + 1) & (apart->capacity - 1);
	return &apart->table[at];
}

bool apart_begin(struct apart *apart, size_t most)
{
	*apart = (struct apart){.capacity = 16};
	while (apart->capacity < most * 2)
		apart->capacity *= 2;
	apart->names = calloc(most, sizeof(*apart->names));
	apart->table = calloc(apart->capacity, sizeof(*apart->table));
	return apart->names && apart->table;
}

void apart_take(struct apart *apart, char name[EVENT_NAME_MAX])
{
	uint32_t *at = spec_split_find_slot(apart, name);

	if (*at) {
		struct apart_name *like = &apart->names[*at - 1];
		char plain[PLAIN_MAX + 1];

		snprintf(plain, sizeof(plain), "%.*s", PLAIN_MAX, name);
		for (; *at; at = spec_split_find_slot(apart, name))
			snprintf(name, EVENT_NAME_MAX, "%s_%u", plain, ++like->number);
	}
	*at = (uint32_t)++apart->count;
	apart->names[apart->count - 1].number = 1;
	snprintf(apart->names[apart->count - 1].name, EVENT_NAME_MAX, "%s", name);
}

void apart_end(struct apart *apart)
{
	free(apart->names);
	free(apart->table);
}
