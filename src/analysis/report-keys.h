/* SPDX-License-Identifier: MIT */
/* A table of keys: any bytes get the numbers 0, 1, 2, … in the order of their first use. */
#ifndef SIDE_ANALYSIS_REPORT_KEYS_H
#define SIDE_ANALYSIS_REPORT_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEYS_NONE UINT32_MAX

struct keys_entry {
	uint64_t hash;
	uint8_t *bytes;
	size_t size;
};

/* All zero is an empty table. */
struct keys {
	struct keys_entry *entries;
	uint32_t *slots;   /* index in `entries` plus one; 0: free */
	uint32_t capacity; /* number of slots, a power of two */
	uint32_t count;
	uint32_t limit;   /* the largest number of keys; 0: unlimited */
	uint64_t refused; /* attempts to add a key beyond the limit, repeated ones included */
	bool no_memory;   /* a key is missing because an allocation failed */
};

uint64_t keys_hash(const void *bytes, size_t size);
/*
 * The number of a key, which is added if it is new. KEYS_NONE: the table is full, or out of memory.
 */
uint32_t keys_add(struct keys *keys, const void *bytes, size_t size);
/* KEYS_NONE: the table does not have the key. */
uint32_t keys_find(const struct keys *keys, const void *bytes, size_t size);
/*
 * The number of a key, for an array with one structure for each key. Returns the array, reallocated
 * if necessary; new structures are zero. *ret_number is KEYS_NONE if the table is full or without
 * memory.
 */
void *keys_add_item(struct keys *keys, void *items, size_t item_size, const void *key,
		size_t key_size, uint32_t *ret_number);
void keys_free(struct keys *keys);

#endif /* SIDE_ANALYSIS_REPORT_KEYS_H */
