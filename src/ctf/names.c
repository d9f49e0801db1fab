/* SPDX-License-Identifier: MIT */
/* Chooses unique names for the members of a structure. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/inside/hash.h"
#include "ctf/names.h"

struct ctf_name_entry {
	const char *name;
	uint32_t next; /* The next suffix to try, so that n equal names need n steps, not n². */
};

int ctf_names_init(struct ctf_names *names, struct ctf_arena *arena, uint32_t count)
{
	uint64_t size = 8;

	while (size < (uint64_t)count * 2)
		size *= 2;
	names->arena = arena;
	names->mask = (uint32_t)(size - 1);
	names->table = calloc(size, sizeof(*names->table));
	return names->table ? 0 : -ENOMEM;
}

void ctf_names_free(struct ctf_names *names)
{
	free(names->table);
	names->table = NULL;
}

static struct ctf_name_entry *names_find(struct ctf_names *names, const char *name)
{
	uint64_t hash = hash_fold_64(hash_fnv1a_64_text(HASH_FNV1A_64_BEGIN, name));
	uint32_t at = (uint32_t)hash & names->mask;

	while (names->table[at].name && strcmp(names->table[at].name, name) != 0)
		at = (at + 1) & names->mask;
	return &names->table[at];
}

/*
 * Babeltrace shows names without their first underscore, and refuses a member whose TSDL name
 * equals the shown name of an earlier member. So a name with one underscore more or less is also
 * used. `longer` is the name with a leading underscore.
 */
static bool names_clash(struct ctf_names *names, const char *longer)
{
	return names_find(names, longer)->name || names_find(names, longer + 1)->name ||
			(longer[1] == '_' && names_find(names, longer + 2)->name);
}

const char *ctf_names_reserve(struct ctf_names *names, const char *name)
{
	struct ctf_name_entry *entry = names_find(names, name), *other;
	size_t size = strlen(name) + 13;
	char *longer = ctf_arena_alloc(names->arena, size, 1);
	uint32_t suffix = entry->name ? entry->next : 2;

	if (!longer)
		return NULL;
	snprintf(longer, size, "_%s", name);
	while (names_clash(names, longer))
		snprintf(longer, size, "_%s_%" PRIu32, name, suffix++);
	if (entry->name)
		entry->next = suffix;
	other = names_find(names, longer + 1);
	other->name = longer + 1;
	other->next = 2;
	return longer + 1;
}

const char *ctf_name_escape(struct ctf_arena *arena, const char *name)
{
	size_t size = strlen(name);
	char *escaped;

	if (!size)
		return "_unnamed";
	escaped = ctf_arena_alloc(arena, size + 2, 1);
	if (!escaped)
		return NULL;
	escaped[0] = '_';
	for (size_t i = 0; i < size; i++) {
		char c = name[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
				(c >= '0' && c <= '9') || c == '_';

		escaped[i + 1] = plain ? c : '_';
	}
	return escaped;
}
