/* SPDX-License-Identifier: MIT */
/*
 * Names of events that are apart. Functions of several files, or of several types, may have the same one; then the second is numbered
 * 2, and so on. Found by a hash, and each name knows the last number that was given to one like it: there may be as
 * many as a program has functions.
 */
#include "parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/inside/hash.h"

#define PLAIN_MAX 200 /* of a name that is numbered */

struct apart_name {
	char name[EVENT_NAME_MAX];
	unsigned int number; /* the last one of those like it */
};

/* Where it stands, or would. */
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
