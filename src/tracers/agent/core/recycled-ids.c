/* SPDX-License-Identifier: MIT */
/*
 * Ids of events that are gone, by what was said about them. A library that is loaded again and again
 * gets the ids it had: the consumer knows them, so nothing is sent, its metadata does not grow, and
 * ids do not run out.
 *
 * An open-addressing table for each channel in mapped pages, keyed by 128 bits of hash of the encoded
 * description and the names of the event's contexts. Used under libside's event lock only.
 */
#include <errno.h>
#include <string.h>

#include "tracers/agent/core/agent.h"
#include "protocol/raw.h"

#include <sys/mman.h>

struct agent_spare {
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

static struct agent_spare *home(struct agent_spare *spares, size_t size, struct agent_hash hash)
{
	return &spares[hash.low & (size - 1)];
}

static struct agent_spare *recycled_ids_next_slot(
		struct agent_spare *spares, size_t size, struct agent_spare *spare)
{
	return ++spare == spares + size ? spares : spare;
}

static void recycled_ids_insert(
		struct agent_spare *spares, size_t size, const struct agent_spare *added)
{
	struct agent_spare *at = home(spares, size, added->hash);

	while (at->used)
		at = recycled_ids_next_slot(spares, size, at);
	*at = *added;
}

/* At most half full, so that a search ends soon. */
static bool recycled_ids_ensure_capacity(struct agent_spares *all)
{
	size_t room = all->room, new_room = room ? room * 2 : 1024;
	struct agent_spare *spares;
	size_t i;

	if (all->nr_used < room / 2)
		return true;
	spares = raw_mmap(NULL, new_room * sizeof(*spares), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (!spares)
		return false;
	for (i = 0; i < room; i++)
		if (all->table[i].used)
			recycled_ids_insert(spares, new_room, &all->table[i]);
	if (all->table)
		raw_munmap(all->table, room * sizeof(*all->table));
	all->table = spares;
	all->room = new_room;
	return true;
}

/* Without memory an id is simply not used again. */
void agent_spare_put(struct agent_spares *all, struct agent_hash hash, uint32_t id)
{
	struct agent_spare added = {.hash = hash, .id = id, .used = true};

	if (!recycled_ids_ensure_capacity(all))
		return;
	recycled_ids_insert(all->table, all->room, &added);
	all->nr_used++;
}

/* Close the gap: what stands behind it and could not get its place may move up. */
static void recycled_ids_remove(struct agent_spares *all, struct agent_spare *gap)
{
	struct agent_spare *table = all->table, *at = gap;
	size_t room = all->room;

	for (;;) {
		size_t distance, to_gap;

		at = recycled_ids_next_slot(table, room, at);
		if (!at->used)
			break;
		distance = (size_t)(at - home(table, room, at->hash)) & (room - 1);
		to_gap = (size_t)(at - gap) & (room - 1);
		if (distance < to_gap)
			continue;
		*gap = *at;
		gap = at;
	}
	gap->used = false;
	all->nr_used--;
}

bool agent_spare_take(struct agent_spares *all, struct agent_hash hash, uint32_t *id)
{
	struct agent_spare *at;

	if (!all->nr_used)
		return false;
	for (at = home(all->table, all->room, hash); at->used;
			at = recycled_ids_next_slot(all->table, all->room, at)) {
		if (at->hash.low != hash.low || at->hash.high != hash.high)
			continue;
		*id = at->id;
		recycled_ids_remove(all, at);
		return true;
	}
	return false;
}

void agent_spare_forget(struct agent_spares *all)
{
	if (all->table)
		raw_munmap(all->table, all->room * sizeof(*all->table));
	*all = (struct agent_spares){0};
}
