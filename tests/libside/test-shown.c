/* SPDX-License-Identifier: MIT */
/*
 * What external readers find in side_registry_0: its layout, in numbers, and the registered
 * batches, each once, in slots whose ids are not reused.
 */
#include "event.h"

#include <side/debugger.h>

#define BATCHES 1000
#define PLACES 4096

#define AT(type, member, on_64, on_32)                                                             \
	_Static_assert(offsetof(struct type, member) == (sizeof(void *) == 8 ? (on_64) : (on_32)), \
			#member " of " #type)

AT(side_registry_0, struct_size, 0, 0);
AT(side_registry_0, word_size, 4, 4);
AT(side_registry_0, batch_size, 6, 6);
AT(side_registry_0, block_size, 8, 8);
AT(side_registry_0, changes, 16, 12);
AT(side_registry_0, blocks, 24, 16);
AT(side_registry_0, end, 32, 20);
AT(side_registry_block, next, 0, 0);
AT(side_registry_block, nr_batches, 8, 4);
AT(side_registry_batch, id, 0, 0);
AT(side_registry_batch, events, 8, 4);
AT(side_registry_batch, nr_events, 16, 8);

/* Copies of all slots in use. */
static struct side_registry_batch found[PLACES];
static size_t nr_found;

/* With the numbers in the object, not those of the library's own structures. */
static void find_registry(void)
{
	const struct side_registry_block *block;

	nr_found = 0;
	for (block = side_registry_0.blocks; block; block = block->next) {
		const char *place = (const char *)block + side_registry_0.block_size;

		for (uint32_t i = 0; i < block->nr_batches;
				i++, place += side_registry_0.batch_size) {
			const struct side_registry_batch *batch = (const void *)place;

			if (batch->id) {
				CHECK(nr_found < PLACES);
				found[nr_found++] = *batch;
			}
		}
	}
}

static const struct side_registry_batch *find(struct side_event_description **events)
{
	const struct side_registry_batch *batch = NULL;

	for (size_t i = 0; i < nr_found; i++) {
		if (found[i].events == events) {
			CHECK(!batch);
			batch = &found[i];
		}
	}
	return batch;
}

static struct side_event_description *arrays[BATCHES][3];
static struct side_events_register_handle *handles[BATCHES];
static uintptr_t ids[BATCHES];

static int compare_ids(const void *one, const void *other)
{
	const struct side_registry_batch *a = one, *b = other;

	return a->id < b->id ? -1 : a->id > b->id;
}

static void add_all(void)
{
	for (int i = 0; i < BATCHES; i++) {
		uintptr_t before = side_registry_0.changes;

		handles[i] = side_events_register(arrays[i], (uint32_t)(i % 4));
		CHECK(handles[i]);
		CHECK(side_registry_0.changes != before);
	}
}

static void test_all_are_there(size_t others)
{
	find_registry();
	CHECK_EQUAL(nr_found, others + BATCHES);
	for (int i = 0; i < BATCHES; i++) {
		const struct side_registry_batch *batch = find(arrays[i]);

		CHECK(batch);
		CHECK_EQUAL(batch->nr_events, i % 4);
		CHECK(batch->id != ids[i]);
		ids[i] = batch->id;
	}
	qsort(found, nr_found, sizeof(found[0]), compare_ids);
	for (size_t i = 1; i < nr_found; i++)
		CHECK(found[i - 1].id != found[i].id);
}

static size_t count_blocks(void)
{
	const struct side_registry_block *block;
	size_t nr = 0;

	for (block = side_registry_0.blocks; block; block = block->next)
		nr++;
	return nr;
}

int main(void)
{
	size_t others, blocks;

	CHECK_EQUAL(side_registry_0.struct_size, sizeof(void *) == 8 ? 32 : 20);
	CHECK_EQUAL(side_registry_0.word_size, sizeof(void *));
	CHECK(side_registry_0.batch_size >= sizeof(struct side_registry_batch));
	CHECK(side_registry_0.block_size >= sizeof(struct side_registry_block));

	/* The library's own two events; this program has none. */
	find_registry();
	others = nr_found;
	CHECK(others >= 1);
	CHECK_EQUAL(found[0].nr_events, 2);
	CHECK(!strcmp(side_ptr_get(found[0].events[0]->provider_name), "side"));

	add_all();
	test_all_are_there(others);
	blocks = count_blocks();
	CHECK(blocks > 1);
	for (int i = 0; i < BATCHES; i += 2) {
		uintptr_t before = side_registry_0.changes;

		side_events_unregister(handles[i]);
		CHECK(side_registry_0.changes != before);
	}
	find_registry();
	CHECK_EQUAL(nr_found, others + BATCHES / 2);
	for (int i = 0; i < BATCHES; i++)
		CHECK(!find(arrays[i]) == !(i % 2));
	for (int i = 1; i < BATCHES; i += 2)
		side_events_unregister(handles[i]);
	find_registry();
	CHECK_EQUAL(nr_found, others);

	/* The same slots again, with other ids. */
	add_all();
	test_all_are_there(others);
	CHECK_EQUAL(count_blocks(), blocks);

	side_exit();
	find_registry();
	CHECK_EQUAL(nr_found, 0);
	return 0;
}
