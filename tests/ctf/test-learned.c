/* SPDX-License-Identifier: MIT */
/*
 * How the records of an event are counted: which properties of each field class the counter stores,
 * the limits, and what it keeps without memory.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../failing-calls.h"
#include "ctf/tally-steps.h"
#include "ctf/tally.h"
#include "ctf/type.h"

#define BYTES_MAX (1u << 30)

static struct ctf_arena *arena;
static struct ctf_tally tally;

static uint32_t known_of(uint32_t id, const struct ctf_type *one, const struct ctf_type *other)
{
	const struct ctf_type *const trees[] = {NULL, one, other};

	assert_int_equal(ctf_tally_learn(&tally, id, trees, 3), 0);
	return tally.classes[id].known;
}

static struct ctf_type *integer(unsigned int size)
{
	return ctf_type_integer(arena, size, false);
}

static struct ctf_type *pair(struct ctf_type *one, const char *name, struct ctf_type *other)
{
	struct ctf_type *type = ctf_type_struct(arena, 2);

	ctf_member_set(&type->members[0], name, one, true);
	ctf_member_set(&type->members[1], "other", other, false);
	return type;
}

static struct ctf_type *variant(void)
{
	struct ctf_type *tag = ctf_type_enum(arena, integer(8), 4), *type;

	tag->labels[0] = (struct ctf_label){"b", 5, 9};
	tag->labels[1] = (struct ctf_label){"unknown", 10, 11};
	tag->labels[2] = (struct ctf_label){"a", 0, 0};
	tag->labels[3] = (struct ctf_label){"b", 2, 3};
	type = ctf_type_variant(arena, 2, "tag");
	ctf_member_set(&type->members[0], "a", ctf_type_string(arena), false);
	ctf_member_set(&type->members[1], "b", integer(32), false);
	return pair(tag, "tag", type);
}

static void test_kinds(void **state)
{
	struct ctf_type *string = ctf_type_string(arena), *wide = ctf_type_string(arena), *odd;

	(void)state;
	assert_int_equal(known_of(0, NULL, NULL), CTF_TALLY_BYTES);
	assert_int_equal(known_of(1, integer(32), integer(16)), CTF_TALLY_BYTES + 6);
	assert_int_equal(tally.nr_steps, 0);
	assert_int_equal(known_of(2, string, NULL), CTF_TALLY_TEXT);
	assert_int_equal(tally.nr_steps, 1);
	assert_int_equal(known_of(3, integer(8), string), CTF_TALLY_TEXT);
	assert_int_equal(tally.steps[1].before, 1);
	assert_int_equal(known_of(4, string, integer(64)), CTF_TALLY_TEXT);
	assert_int_equal(tally.nr_steps, 4);
	assert_int_equal(tally.steps[3].before, 8);
	assert_int_equal(tally.steps[3].kind, CTF_STEP_BYTES);
	assert_int_equal(known_of(5, string, string), CTF_TALLY_FLAT);
	assert_int_equal(known_of(6, string, pair(integer(8), "x", string)), CTF_TALLY_FLAT);
	assert_int_equal(
			known_of(7,
					pair(integer(16), "n",
							ctf_type_sequence(arena, integer(32), "n")),
					NULL),
			CTF_TALLY_FLAT);
	assert_int_equal(tally.steps[tally.nr_steps - 1].kind, CTF_STEP_RUN);
	assert_int_equal(tally.steps[tally.nr_steps - 1].count, 4);
	assert_int_equal(tally.steps[tally.nr_steps - 1].size, 2);
	assert_int_equal(known_of(8, pair(integer(16), "n", ctf_type_sequence(arena, string, "n")),
					 NULL),
			CTF_TALLY_STEPS);
	/* The name is that of another field. */
	assert_int_equal(known_of(9, pair(integer(16), "m", ctf_type_sequence(arena, string, "n")),
					 NULL),
			0);
	wide->encoding = CTF_UTF16LE;
	assert_int_equal(known_of(10, wide, NULL), 0);
	for (unsigned int i = 0; i < 5; i++) {
		odd = integer(i == 4 ? 24 : 32);
		odd->leb128 = i == 0;
		odd->reversed = i == 1;
		odd->align = i == 2 ? 16 : 8;
		assert_int_equal(known_of(11, odd, NULL), i == 3 ? CTF_TALLY_BYTES + 4 : 0);
	}
	/* Arrays: bytes of a fixed size, and others. */
	assert_int_equal(known_of(12, ctf_type_array(arena, integer(16), 7), integer(8)),
			CTF_TALLY_BYTES + 15);
	assert_int_equal(known_of(13, ctf_type_array(arena, string, 7), NULL), CTF_TALLY_STEPS);
	assert_int_equal(known_of(14, ctf_type_array(arena, string, 0), NULL), CTF_TALLY_BYTES);
	ctf_tally_free(&tally);
	assert_int_equal(tally.nr_classes, 0);
	assert_null(tally.steps);
}

static void test_options(void **state)
{
	static const struct {
		uint64_t begin, last;
	} expected[] = {{0, 0}, {2, 3}, {5, 9}};

	(void)state;
	for (uint32_t id = 0; id < 50; id++) {
		uint32_t steps = tally.nr_steps, options = tally.nr_options;

		assert_int_equal(known_of(id, variant(), NULL), CTF_TALLY_STEPS);
		assert_int_equal(tally.nr_options, options + 3);
		assert_int_equal(tally.steps[steps].first, options);
		assert_int_equal(tally.steps[steps].count, 3);
		assert_int_equal(tally.steps[steps].end, tally.nr_steps);
		for (unsigned int i = 0; i < 3; i++) {
			assert_int_equal(tally.options[options + i].begin, expected[i].begin);
			assert_int_equal(tally.options[options + i].last, expected[i].last);
		}
		/* An event that the counter does not store leaves nothing behind. */
		steps = tally.nr_steps;
		options = tally.nr_options;
		assert_int_equal(known_of(id + 100, variant(), integer(24)), 0);
		assert_int_equal(tally.nr_steps, steps);
		assert_int_equal(tally.nr_options, options);
	}
	assert_int_equal(tally.options_capacity, 256);
	assert_int_equal(tally.nr_options, 150);
	ctf_tally_free(&tally);
}

static void test_limits(void **state)
{
	struct ctf_type *u8 = integer(8), *u16 = integer(16);
	static const struct {
		uint32_t id, nr;
	} ids[] = {{0, 64}, {63, 64}, {64, 128}, {127, 128}, {1000, 1024}};

	(void)state;
	for (unsigned int i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		assert_int_equal(known_of(ids[i].id, u8, NULL), CTF_TALLY_BYTES + 1);
		assert_int_equal(tally.nr_classes, ids[i].nr);
		assert_int_equal(tally.classes[ids[i].nr - 2].known, 0);
	}
	assert_int_equal(known_of(1, ctf_type_array(arena, u8, BYTES_MAX), NULL),
			CTF_TALLY_BYTES + BYTES_MAX);
	assert_int_equal(known_of(1, ctf_type_array(arena, u8, BYTES_MAX + 1), NULL), 0);
	assert_int_equal(known_of(1, ctf_type_array(arena, u16, BYTES_MAX / 2), NULL),
			CTF_TALLY_BYTES + BYTES_MAX);
	assert_int_equal(known_of(1, ctf_type_array(arena, u16, BYTES_MAX / 2 + 1), NULL), 0);
	assert_int_equal(known_of(1, ctf_type_array(arena, u8, BYTES_MAX), u8), 0);
	/* More bytes than 32 bits can count. */
	assert_int_equal(known_of(1, ctf_type_array(arena, integer(64), 1u << 29), NULL), 0);
	assert_int_equal(known_of(1, ctf_type_array(arena, integer(64), (1u << 29) + 1), u8), 0);
	assert_int_equal(known_of(1, ctf_type_array(arena, ctf_type_struct(arena, 0), UINT64_MAX),
					 u8),
			CTF_TALLY_BYTES + 1);
	assert_int_equal(
			known_of(1, ctf_type_array(arena, ctf_type_string(arena), BYTES_MAX), NULL),
			CTF_TALLY_STEPS);
	assert_int_equal(known_of(1, ctf_type_array(arena, ctf_type_string(arena), BYTES_MAX + 1),
					 NULL),
			0);
	ctf_tally_free(&tally);
}

static void test_depth(void **state)
{
	struct ctf_type *type = integer(8);

	(void)state;
	for (unsigned int depth = 1; depth <= CTF_DEPTH_MAX; depth++) {
		struct ctf_type *outer = ctf_type_struct(arena, 1);

		ctf_member_set(&outer->members[0], "m", type, false);
		type = outer;
		if (depth < CTF_DEPTH_MAX - 2)
			continue;
		assert_int_equal(known_of(1, type, NULL),
				depth < CTF_DEPTH_MAX ? CTF_TALLY_BYTES + 1 : 0);
	}
	ctf_tally_free(&tally);
}

static void test_failures(void **state)
{
	const struct ctf_type *const trees[] = {variant()};
	unsigned int calls = 0;

	(void)state;
	for (bool failed = true; failed;) {
		int ret;

		failing_arm(++calls);
		ret = ctf_tally_learn(&tally, 5, trees, 1);
		failed = failing_has_failed();
		assert_int_equal(ret, failed ? -ENOMEM : 0);
		if (failed)
			assert_int_equal(tally.nr_steps + tally.nr_options, 0);
		if (failed && tally.nr_classes)
			assert_int_equal(tally.classes[5].known, 0);
		if (failed)
			ctf_tally_free(&tally);
	}
	assert_int_equal(calls, 5);
	assert_int_equal(tally.classes[5].known, CTF_TALLY_STEPS);
	ctf_tally_free(&tally);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_kinds),
			cmocka_unit_test(test_options),
			cmocka_unit_test(test_limits),
			cmocka_unit_test(test_depth),
			cmocka_unit_test(test_failures),
	};
	int ret;

	arena = ctf_arena_create();
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	ctf_arena_destroy(arena);
	return ret;
}
