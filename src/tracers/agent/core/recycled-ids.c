/* SPDX-License-Identifier: MIT */
/*
 * Ids of events that were unregistered, by a hash of their descriptions.
 *
 * A library that is loaded again and again gets the same ids. The consumer knows them, so nothing
 * is sent, its metadata does not grow, and ids do not run out.
 *
 * Each channel has an open-addressing table in mapped pages. The key is a 128-bit hash of the
 * encoded description and the names of the contexts. All functions need libside's event lock.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tracers/agent/core/recycled-ids.h"
#include "base/inside/raw.h"

#include <sys/mman.h>

struct agent_recycled_id {
	struct agent_hash hash;
	uint32_t id;
	bool used;
};

static uint64_t mix(uint64_t value)
{
	value ^= value >> 32;
	value *= 0xd6e8feb86659fd93u;
	value ^= value >> 29;
	value *= 0x9fb21c651e98df25u;
	return value ^ value >> 32;
}

struct agent_hash agent_hash(const void *bytes, size_t size)
{
	struct agent_hash hash = {0x9e3779b97f4a7c15u + size, 0xc2b2ae3d27d4eb4fu ^ size};
	const unsigned char *at = bytes;

	while (size) {
		size_t part = size < 8 ? size : 8;
		uint64_t word = 0;

		memcpy(&word, at, part);
		hash.low = mix(hash.low ^ word);
		hash.high = mix(hash.high + word * 0x2545f4914f6cdd1du);
		at += part;
		size -= part;
	}
	return hash;
}

static struct agent_recycled_id *home(
		struct agent_recycled_id *spares, size_t size, struct agent_hash hash)
{
	return &spares[hash.low & (size - 1)];
}

static struct agent_recycled_id *recycled_ids_next_slot(
		struct agent_recycled_id *spares, size_t size, struct agent_recycled_id *recycled)
{
	return ++recycled == spares + size ? spares : recycled;
}

static void recycled_ids_insert(struct agent_recycled_id *spares, size_t size,
		const struct agent_recycled_id *added)
{
	struct agent_recycled_id *at = home(spares, size, added->hash);

	while (at->used)
		at = recycled_ids_next_slot(spares, size, at);
	*at = *added;
}

/* At most half full, so that a search ends soon. */
static bool recycled_ids_ensure_capacity(struct agent_recycled_ids *all)
{
	size_t capacity = all->capacity, new_capacity = capacity ? capacity * 2 : 1024;
	struct agent_recycled_id *spares;
	size_t i;

	if (all->nr_used < capacity / 2)
		return true;
	spares = raw_mmap(NULL, new_capacity * sizeof(*spares), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (!spares)
		return false;
	for (i = 0; i < capacity; i++)
		if (all->table[i].used)
			recycled_ids_insert(spares, new_capacity, &all->table[i]);
	if (all->table)
		raw_munmap(all->table, capacity * sizeof(*all->table));
	all->table = spares;
	all->capacity = new_capacity;
	return true;
}

/* Without memory an id is simply not used again. */
void agent_recycled_ids_put(struct agent_recycled_ids *ids, struct agent_hash hash, uint32_t id)
{
	struct agent_recycled_id added = {.hash = hash, .id = id, .used = true};

	if (!recycled_ids_ensure_capacity(ids))
		return;
	recycled_ids_insert(ids->table, ids->capacity, &added);
	ids->nr_used++;
}

/* Close the gap: move an entry that follows it, and that belongs at or before the gap, into it. */
static void recycled_ids_remove(struct agent_recycled_ids *all, struct agent_recycled_id *gap)
{
	struct agent_recycled_id *table = all->table, *at = gap;
	size_t capacity = all->capacity;

	for (;;) {
		size_t distance, to_gap;

		at = recycled_ids_next_slot(table, capacity, at);
		if (!at->used)
			break;
		distance = (size_t)(at - home(table, capacity, at->hash)) & (capacity - 1);
		to_gap = (size_t)(at - gap) & (capacity - 1);
		if (distance < to_gap)
			continue;
		*gap = *at;
		gap = at;
	}
	gap->used = false;
	all->nr_used--;
}

bool agent_recycled_ids_take(
		struct agent_recycled_ids *ids, struct agent_hash hash, uint32_t *ret_id)
{
	struct agent_recycled_id *at;

	if (!ids->nr_used)
		return false;
	for (at = home(ids->table, ids->capacity, hash); at->used;
			at = recycled_ids_next_slot(ids->table, ids->capacity, at)) {
		if (at->hash.low != hash.low || at->hash.high != hash.high)
			continue;
		*ret_id = at->id;
		recycled_ids_remove(ids, at);
		return true;
	}
	return false;
}

void agent_recycled_ids_forget(struct agent_recycled_ids *ids)
{
	if (ids->table)
		raw_munmap(ids->table, ids->capacity * sizeof(*ids->table));
	*ids = (struct agent_recycled_ids){0};
}
