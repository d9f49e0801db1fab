/* SPDX-License-Identifier: MIT */
/* Limits of self-describing records of kernel events. Any program may write them. */
#include "driver.h"

#include <errno.h>
#include <stdio.h>

#include "kernel-events/eventheader.h"
#include "kernel-events/eventheader-parts.h"

static uint8_t record[65536 + 64];
static size_t size;

static void put(unsigned int byte)
{
	assert_true(size < sizeof(record));
	record[size++] = (uint8_t)byte;
}

static void put16(unsigned int word)
{
	put(word & 0xff);
	put(word >> 8);
}

/* Little-endian, with an extension of metadata, which begin with the name of the event. */
static void begin(void)
{
	size = 0;
	put(2 | 4);
	for (int i = 1; i < 8; i++)
		put(0);
	put16(0);
	put16(1);
	put('e');
	put(0);
}

/* A field without a name. */
static void field(unsigned int encoding)
{
	put(0);
	put(encoding);
}

/* A structure with this number of members. */
static void structure(unsigned int members)
{
	put(0);
	put(EH_STRUCT | 0x80);
	put(members);
}

static int describe(uint32_t nr_nodes)
{
	struct ctf_arena *arena = ctf_arena_create();
	struct eventheader_class class;
	struct eventheader header;
	size_t metadata = size - 12;
	int ret;

	assert_non_null(arena);
	assert_true(metadata <= UINT16_MAX);
	record[8] = (uint8_t)metadata;
	record[9] = (uint8_t)(metadata >> 8);
	assert_int_equal(eventheader_split(record, size, &header), 0);
	ret = eventheader_parse(&header, arena, &class);
	if (!ret)
		assert_int_equal(class.nr_nodes, nr_nodes);
	ctf_arena_destroy(arena);
	return ret;
}

static int fields(uint64_t count)
{
	begin();
	for (uint64_t i = 0; i < count; i++)
		field(EH_VALUE8);
	return describe((uint32_t)count);
}

/* Nested structures around one value. */
static int levels(uint64_t count)
{
	begin();
	for (uint64_t i = 0; i < count; i++)
		structure(1);
	field(EH_VALUE8);
	return describe((uint32_t)count + 1);
}

/* The number of members is a byte without its highest bit. */
static int members(uint64_t count)
{
	begin();
	structure((unsigned int)count);
	for (uint64_t i = 0; i < count; i++)
		field(EH_VALUE8);
	return describe((uint32_t)count + 1);
}

static int members_least(uint64_t count)
{
	return members(count);
}

/* An activity has one or two identifiers. */
static int activity(uint64_t count)
{
	struct eventheader header;

	size = 0;
	put(2 | 4);
	for (int i = 1; i < 8; i++)
		put(0);
	put16((unsigned int)count);
	put16(2 | 0x8000);
	for (uint64_t i = 0; i < count; i++)
		put(1);
	put16(2);
	put16(1);
	put('e');
	put(0);
	if (eventheader_split(record, size, &header))
		return -EINVAL;
	assert_int_equal(header.activity_size, count);
	assert_int_equal(header.metadata_size, 2);
	return 0;
}

static int activity_least(uint64_t count)
{
	return activity(count);
}

static int activity_pair_least(uint64_t count)
{
	return activity(count);
}

static void test_event_headers(void **state)
{
	static const struct limit_case cases[] = {
			LIMIT_CASE(fields, EVENTHEADER_NODES_MAX, -EINVAL, ""),
			LIMIT_CASE(levels, EVENTHEADER_DEPTH_MAX, -EINVAL, ""),
			LEAST_CASE(members_least, 1, -EINVAL, ""),
			LIMIT_CASE(activity, 16, -EINVAL, ""),
			LEAST_CASE(activity_least, 16, -EINVAL, ""),
			LIMIT_CASE(activity, 32, -EINVAL, ""),
			LEAST_CASE(activity_pair_least, 32, -EINVAL, ""),
	};

	(void)state;
	limits_try(cases, sizeof(cases) / sizeof(*cases));
	assert_int_equal(members(127), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_event_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
