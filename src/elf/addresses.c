/* SPDX-License-Identifier: MIT */
/* A set of addresses: a hash table that is at most half full. */
#include "elf/addresses.h"

#include <errno.h>
#include <stdlib.h>

/* Where the address is, or would be. */
static uint64_t *address_set_find_slot(uint64_t *slots, size_t room, uint64_t address)
{
	size_t at = (size_t)(address * 0x9e3779b97f4a7c15 >> 32) & (room - 1);

	while (slots[at] && slots[at] != address)
		at = (at + 1) & (room - 1);
	return &slots[at];
}

bool addresses_has(const struct addresses *set, uint64_t address)
{
	return address && set->nr &&
			*address_set_find_slot(set->slots, set->room, address) == address;
}

static int address_set_grow(struct addresses *set)
{
	size_t room = set->room ? set->room * 2 : 64;
	uint64_t *slots = calloc(room, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < set->room; i++) {
		if (set->slots[i])
			*address_set_find_slot(slots, room, set->slots[i]) = set->slots[i];
	}
	free(set->slots);
	set->slots = slots;
	set->room = room;
	return 0;
}

int addresses_add(struct addresses *set, uint64_t address)
{
	uint64_t *slot;

	if (!address || addresses_has(set, address))
		return 0;
	if (set->nr >= set->room / 2 && address_set_grow(set))
		return -ENOMEM;
	slot = address_set_find_slot(set->slots, set->room, address);
	*slot = address;
	set->nr++;
	return 1;
}

void addresses_free(struct addresses *set)
{
	free(set->slots);
	*set = (struct addresses){0};
}
