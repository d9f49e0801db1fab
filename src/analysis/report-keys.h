/* SPDX-License-Identifier: MIT */
/* Keys (any bytes) become the numbers 0, 1, 2, … in the order in which they are first seen. */
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
	uint32_t *slots;   /* Entry + 1, 0: free. */
	uint32_t capacity; /* How many slots: a power of two. */
	uint32_t count;
	uint32_t limit;   /* No more keys than these; 0: as many as there is memory for. */
	uint64_t refused; /* Keys over the limit (some may be the same). */
	bool no_memory;   /* A key is missing for lack of memory. */
};

uint64_t keys_hash(const void *bytes, size_t size);
/* The number of a key, new or not. KEYS_NONE: the table is full, or no memory. */
uint32_t keys_add(struct keys *keys, const void *bytes, size_t size);
/* KEYS_NONE: not there. */
uint32_t keys_find(const struct keys *keys, const void *bytes, size_t size);
/*
 * The number of a key, in an array of as many zeroed structures as there are keys. Returns the array, which is reallocated.
 * *ret_number is KEYS_NONE if the table is full or without memory.
 */
void *keys_add_item(struct keys *keys, void *items, size_t item_size, const void *key,
		size_t key_size, uint32_t *ret_number);
void keys_free(struct keys *keys);

#endif /* SIDE_ANALYSIS_REPORT_KEYS_H */
