/* SPDX-License-Identifier: MIT */
/* A hash table of keys that only grows: open addressing, linear probing. */
#include <stdlib.h>
#include <string.h>

#include "analysis/report-keys.h"

/* Reads a word at a time, mixed as in the finalizer of MurmurHash. */
uint64_t keys_hash(const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	uint64_t hash = UINT64_C(0x9e3779b97f4a7c15) ^ size, word;

	while (size) {
		size_t part = size < 8 ? size : 8;

		word = 0;
		memcpy(&word, at, part);
		hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
		hash ^= hash >> 32;
		at += part;
		size -= part;
	}
	hash *= UINT64_C(0xc4ceb9fe1a85ec53);
	return hash ^ hash >> 29;
}

static uint32_t report_keys_capacity_for(uint32_t count)
{
	uint32_t capacity = 64;

	while (capacity < count * 2)
		capacity *= 2;
	return capacity;
}

/* The slot of the key, or the free slot where it belongs. */
static uint32_t *find_slot(const struct keys *keys, uint64_t hash, const void *bytes, size_t size)
{
	uint32_t mask = keys->capacity - 1;

	for (uint32_t at = (uint32_t)hash & mask;; at = (at + 1) & mask) {
		const struct keys_entry *entry;

		if (!keys->slots[at])
			return &keys->slots[at];
		entry = &keys->entries[keys->slots[at] - 1];
		if (entry->hash == hash && entry->size == size &&
				(!size || memcmp(entry->bytes, bytes, size) == 0))
			return &keys->slots[at];
	}
}

/* Makes space for one more key. */
static int report_keys_grow(struct keys *keys)
{
	uint32_t capacity = report_keys_capacity_for(keys->count + 1), count = keys->count;
	struct keys_entry *entries;
	uint32_t *slots;

	if (keys->slots && capacity == keys->capacity)
		return 0;
	entries = realloc(keys->entries, (capacity / 2 + 1) * sizeof(*entries));
	if (!entries)
		return -1;
	keys->entries = entries;
	slots = calloc(capacity, sizeof(*slots));
	if (!slots)
		return -1;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = (uint32_t)entries[i].hash & (capacity - 1);

		while (slots[at])
			at = (at + 1) & (capacity - 1);
		slots[at] = i + 1;
	}
	free(keys->slots);
	keys->slots = slots;
	keys->capacity = capacity;
	return 0;
}

uint32_t keys_find(const struct keys *keys, const void *bytes, size_t size)
{
	uint32_t *slot;

	if (!keys->slots)
		return KEYS_NONE;
	slot = find_slot(keys, keys_hash(bytes, size), bytes, size);
	return *slot ? *slot - 1 : KEYS_NONE;
}

uint32_t keys_add(struct keys *keys, const void *bytes, size_t size)
{
	uint64_t hash = keys_hash(bytes, size);
	uint32_t *slot = NULL;
	uint8_t *copy;

	if (keys->slots) {
		slot = find_slot(keys, hash, bytes, size);
		if (*slot)
			return *slot - 1;
	}
	if ((keys->limit && keys->count >= keys->limit) || keys->count >= UINT32_MAX / 4) {
		keys->refused++;
		return KEYS_NONE;
	}
	copy = malloc(size + 1);
	if (!copy || report_keys_grow(keys)) {
		free(copy);
		keys->no_memory = true;
		return KEYS_NONE;
	}
	if (size)
		memcpy(copy, bytes, size);
	copy[size] = '\0'; /* A NUL after the key lets callers read texts. */
	keys->entries[keys->count] = (struct keys_entry){hash, copy, size};
	keys->count++;
	/* The table has grown for this count, so that the slot is searched only now. */
	slot = find_slot(keys, hash, bytes, size);
	*slot = keys->count;
	return keys->count - 1;
}

void *keys_add_item(struct keys *keys, void *items, size_t item_size, const void *key,
		size_t key_size, uint32_t *ret_number)
{
	uint32_t count = keys->count;
	char *grown = items;

	*ret_number = keys_find(keys, key, key_size);
	if (*ret_number != KEYS_NONE)
		return items;
	if (!(count & (count - 1)) && !(keys->limit && count >= keys->limit)) {
		size_t capacity = count ? (size_t)count * 2 : 1;

		grown = realloc(items, capacity * item_size);
		if (!grown) {
			keys->no_memory = true;
			return items;
		}
		memset(grown + count * item_size, 0, (capacity - count) * item_size);
	}
	*ret_number = keys_add(keys, key, key_size);
	return grown;
}

void keys_free(struct keys *keys)
{
	for (uint32_t i = 0; i < keys->count; i++)
		free(keys->entries[i].bytes);
	free(keys->entries);
	free(keys->slots);
	*keys = (struct keys){0};
}
