/* SPDX-License-Identifier: MIT */
/*
 * Reads the registry of a running process by the protocol of side/debugger.h: the id of a slot, the
 * slot, the descriptions, the id again. A batch that changed meanwhile is dropped without a
 * message, so each slot is read once, however busy the process is.
 *
 * The process may have written anything, so numbers are bounded and a read of a bad address fails.
 */
#include "registry.h"

#include "elf/addresses.h"
#include "descriptions.h"

#include <errno.h>
#include <stdlib.h>

/* Limits above those of any program: slots, their blocks, and pointers to events. */
#define REGISTRY_SLOTS_MAX (1u << 20)
#define BLOCKS_MAX (1u << 16)
#define EVENTS_MAX (1u << 22)

/* Limits of the struct sizes of later versions. */
#define BATCH_SIZE_MAX 1024
#define BLOCK_SIZE_MAX 4096

/* Slots and pointers of one read. */
#define SLOTS_AT_ONCE 64
#define EVENTS_AT_ONCE 32

/* Offsets in struct side_registry_0, which has two pointers at its end. */
#define REGISTRY_WORD_SIZE 4
#define REGISTRY_BATCH_SIZE 6
#define REGISTRY_BLOCK_SIZE 8
#define REGISTRY_BLOCKS(width) ((width) == 4 ? 16u : 24u)
#define REGISTRY_SIZE(width) (REGISTRY_BLOCKS(width) + (width))

struct registry_reader {
	struct listing *listing;
	const struct listing_memory *from;
	unsigned int width; /* size of a pointer */
	unsigned int batch_size, block_size;
	size_t nr_blocks, nr_slots, nr_events;
	struct listing_found *found; /* EVENTS_AT_ONCE */
	unsigned char *slots[2];     /* SLOTS_AT_ONCE, read twice */
};

/* A slot that had this id before its members were read. */
struct registry_batch {
	uint64_t slot;
	uint64_t id;
	uint64_t events;
	uint64_t nr_events;
};

static int registry_read_memory(
		const struct registry_reader *reader, uint64_t address, void *to, size_t size)
{
	return reader->from->memory.read(reader->from->memory.priv, address, to, size);
}

static bool registry_has_batch(
		const struct registry_reader *reader, const struct registry_batch *batch)
{
	unsigned char id[8];

	return !registry_read_memory(reader, batch->slot, id, reader->width) &&
			listing_pointer(reader->from, id) == batch->id;
}

/*
 * Lists some events of a batch. Returns a positive number if the batch was removed, or a negative
 * errno.
 */
static int registry_list_events(struct registry_reader *reader, const struct registry_batch *batch,
		uint64_t address, size_t nr)
{
	const struct listing_memory *from = reader->from;
	unsigned char pointers[EVENTS_AT_ONCE * 8];
	size_t nr_found = 0;
	int result = 0;

	if (registry_read_memory(reader, address, pointers, nr * reader->width)) {
		if (!registry_has_batch(reader, batch))
			return 1;
		result = listing_fail(reader->listing, "a batch of events",
				"its array is not completely readable");
		return result ? result : 1;
	}
	for (size_t i = 0; i < nr && !result; i++) {
		uint64_t event = listing_pointer(from, pointers + i * reader->width);

		if (event && !addresses_has(from->seen, event))
			result = listing_read(from, event, &reader->found[nr_found++]);
	}
	if (!result && nr_found && !registry_has_batch(reader, batch))
		result = 1;
	for (size_t i = 0; i < nr_found; i++) {
		if (result)
			visit_owned_free(reader->found[i].owned);
		else
			result = listing_add_found(
					reader->listing, from, &reader->found[i], LISTING_REGISTRY);
	}
	return result;
}

static int registry_list_batch(struct registry_reader *reader, const struct registry_batch *batch)
{
	uint64_t address = batch->events;
	uint64_t left = batch->nr_events;

	while (left) {
		size_t nr = left < EVENTS_AT_ONCE ? (size_t)left : EVENTS_AT_ONCE;
		int result;

		reader->nr_events += nr;
		if (reader->nr_events > EVENTS_MAX)
			return -E2BIG;
		result = registry_list_events(reader, batch, address, nr);
		if (result)
			return result < 0 ? result : 0;
		address += nr * reader->width;
		left -= nr;
	}
	return 0;
}

static int registry_list_slots(struct registry_reader *reader, uint64_t address, size_t nr)
{
	const struct listing_memory *from = reader->from;
	int result = 0;

	/* The first read is for the ids, the second for the other members. */
	for (size_t i = 0; i < 2 && !result; i++)
		result = registry_read_memory(
				reader, address, reader->slots[i], nr * reader->batch_size);
	for (size_t i = 0; i < nr && !result; i++) {
		const unsigned char *before = reader->slots[0] + i * reader->batch_size;
		const unsigned char *slot = reader->slots[1] + i * reader->batch_size;
		const struct registry_batch batch = {
				.slot = address + i * reader->batch_size,
				.id = listing_pointer(from, slot),
				.events = listing_pointer(from, slot + reader->width),
				.nr_events = listing_decode(from, slot + 2 * reader->width, 4),
		};

		if (batch.id && batch.id == listing_pointer(from, before))
			result = registry_list_batch(reader, &batch);
	}
	return result;
}

static int registry_list_blocks(struct registry_reader *reader, uint64_t block)
{
	while (block) {
		unsigned char head[12];
		uint64_t address = block + reader->block_size;
		size_t left;
		int result = registry_read_memory(reader, block, head, reader->width + 4);

		if (result)
			return result;
		left = listing_decode(reader->from, head + reader->width, 4);
		reader->nr_slots += left;
		if (++reader->nr_blocks > BLOCKS_MAX || reader->nr_slots > REGISTRY_SLOTS_MAX)
			return -E2BIG;
		while (left && !result) {
			size_t nr = left < SLOTS_AT_ONCE ? left : SLOTS_AT_ONCE;

			result = registry_list_slots(reader, address, nr);
			address += nr * reader->batch_size;
			left -= nr;
		}
		if (result)
			return result;
		block = listing_pointer(reader->from, head);
	}
	return 0;
}

/* Reads the object itself, and the address of its first block. */
static int registry_read_head(struct registry_reader *reader, uint64_t address, uint64_t *ret_block)
{
	unsigned char head[32];
	const struct listing_memory *from = reader->from;
	int result = registry_read_memory(reader, address, head, REGISTRY_SIZE(reader->width));

	if (result)
		return result;
	reader->batch_size = (unsigned int)listing_decode(from, head + REGISTRY_BATCH_SIZE, 2);
	reader->block_size = (unsigned int)listing_decode(from, head + REGISTRY_BLOCK_SIZE, 4);
	if (listing_decode(from, head, 4) < REGISTRY_SIZE(reader->width) ||
			listing_decode(from, head + REGISTRY_WORD_SIZE, 2) != reader->width ||
			reader->batch_size < 2 * reader->width + 4 ||
			reader->batch_size > BATCH_SIZE_MAX ||
			reader->block_size < reader->width + 4 ||
			reader->block_size > BLOCK_SIZE_MAX)
		return -EPROTO;
	*ret_block = listing_pointer(from, head + REGISTRY_BLOCKS(reader->width));
	return 0;
}

int registry_list(struct listing *listing, const struct listing_memory *from, uint64_t address)
{
	struct registry_reader reader = {
			.listing = listing,
			.from = from,
			.width = from->pointer_size,
	};
	uint64_t block = 0;
	int result = registry_read_head(&reader, address, &block);

	if (!result) {
		reader.found = calloc(EVENTS_AT_ONCE, sizeof(*reader.found));
		for (size_t i = 0; i < 2; i++)
			reader.slots[i] = calloc(SLOTS_AT_ONCE, reader.batch_size);
		result = reader.found && reader.slots[0] && reader.slots[1]
				? registry_list_blocks(&reader, block)
				: -ENOMEM;
	}
	free(reader.found);
	free(reader.slots[0]);
	free(reader.slots[1]);
	switch (result) {
	case 0:
	case -ENOMEM:
	case -E2BIG:
	case -ESRCH: return result;
	default:
		return listing_fail(listing, "the registered events",
				result == -EPROTO
						? "the registry of its libside is damaged"
						: "the registry of its libside is not completely readable");
	}
}
