/* SPDX-License-Identifier: MIT */
/*
 * Ids of events that are gone, by what was said about them. A library that is loaded again and again
 * gets the ids it had: the consumer knows them, so nothing is sent, its metadata does not grow, and
 * ids do not run out.
 *
 * An open-addressing table in mapped pages, keyed by 128 bits of hash of the encoded description.
 * Used under libside's event lock only.
 */
#include <errno.h>
#include <string.h>

#include "agent/agent.h"
#include "wire/raw.h"

#include <sys/mman.h>

struct spare {
	struct agent_hash hash;
	uint32_t id;
	bool used;
};

static struct spare *table;
static size_t room; /* a power of two, or 0 */
static size_t nr_used;

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

static struct spare *home(struct spare *spares, size_t size, struct agent_hash hash)
{
	return &spares[hash.low & (size - 1)];
}

static struct spare *next(struct spare *spares, size_t size, struct spare *spare)
{
	return ++spare == spares + size ? spares : spare;
}

static void insert(struct spare *spares, size_t size, const struct spare *added)
{
	struct spare *at = home(spares, size, added->hash);

	while (at->used)
		at = next(spares, size, at);
	*at = *added;
}

/* At most half full, so that a search ends soon. */
static bool make_room(void)
{
	size_t new_room = room ? room * 2 : 1024;
	struct spare *spares;
	size_t i;

	if (nr_used < room / 2)
		return true;
	spares = raw_mmap(NULL, new_room * sizeof(*spares), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (!spares)
		return false;
	for (i = 0; i < room; i++)
		if (table[i].used)
			insert(spares, new_room, &table[i]);
	if (table)
		raw_munmap(table, room * sizeof(*table));
	table = spares;
	room = new_room;
	return true;
}

/* Without memory an id is simply not used again. */
void agent_spare_put(struct agent_hash hash, uint32_t id)
{
	struct spare added = {.hash = hash, .id = id, .used = true};

	if (!make_room())
		return;
	insert(table, room, &added);
	nr_used++;
}

/* Close the gap: what stands behind it and could not get its place may move up. */
static void take_out(struct spare *gap)
{
	struct spare *at = gap;

	for (;;) {
		size_t distance, to_gap;

		at = next(table, room, at);
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
	nr_used--;
}

bool agent_spare_take(struct agent_hash hash, uint32_t *id)
{
	struct spare *at;

	if (!nr_used)
		return false;
	for (at = home(table, room, hash); at->used; at = next(table, room, at)) {
		if (at->hash.low != hash.low || at->hash.high != hash.high)
			continue;
		*id = at->id;
		take_out(at);
		return true;
	}
	return false;
}

void agent_spare_forget(void)
{
	if (table)
		raw_munmap(table, room * sizeof(*table));
	table = NULL;
	room = nr_used = 0;
}
