/* SPDX-License-Identifier: MIT */
/* A set of addresses: a hash table that is at most half full. */
#include "elf/addresses.h"

#include <errno.h>
#include <stdlib.h>

/* The slot of the address, or the free slot for it. */
static uint64_t *address_set_find_slot(uint64_t *slots, size_t capacity, uint64_t address)
{
	size_t at = (size_t)(address * 0x9e3779b97f4a7c15 >> 32) & (capacity - 1);

	while (slots[at] && slots[at] != address)
		at = (at + 1) & (capacity - 1);
	return &slots[at];
}

bool addresses_has(const struct addresses *set, uint64_t address)
{
	return address && set->nr &&
			*address_set_find_slot(set->slots, set->capacity, address) == address;
}

static int address_set_grow(struct addresses *set)
{
	size_t capacity = set->capacity ? set->capacity * 2 : 64;
	uint64_t *slots = calloc(capacity, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < set->capacity; i++) {
		if (set->slots[i])
			*address_set_find_slot(slots, capacity, set->slots[i]) = set->slots[i];
	}
	free(set->slots);
	set->slots = slots;
	set->capacity = capacity;
	return 0;
}

int addresses_add(struct addresses *set, uint64_t address)
{
	uint64_t *slot;

	if (!address || addresses_has(set, address))
		return 0;
	if (set->nr >= set->capacity / 2 && address_set_grow(set))
		return -ENOMEM;
	slot = address_set_find_slot(set->slots, set->capacity, address);
	*slot = address;
	set->nr++;
	return 1;
}

void addresses_free(struct addresses *set)
{
	free(set->slots);
	*set = (struct addresses){0};
}
