/* SPDX-License-Identifier: MIT */
/*
 * Counting records by their lengths: every form of header, fixed and variable parts, signed
 * selectors, spans that end at any byte, and bytes without meaning.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctf/tally.h"
#include "ctf/type.h"

#define RECORDS_MAX 64

struct span {
	unsigned char bytes[1 << 16];
	size_t size;
	size_t ends[RECORDS_MAX]; /* of records */
	unsigned int nr;
};

struct fixture {
	struct ctf_arena *arena;
	struct ctf_tally tally;
};

static int begin(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->arena = ctf_arena_create();
	assert_non_null(f->arena);
	*state = f;
	return 0;
}

static int end(void **state)
{
	struct fixture *f = *state;

	ctf_tally_free(&f->tally);
	ctf_arena_destroy(f->arena);
	free(f);
	return 0;
}

/* ---- records ---- */

static void put(struct span *span, const void *bytes, size_t size)
{
	assert_true(span->size + size <= sizeof(span->bytes));
	memcpy(span->bytes + span->size, bytes, size);
	span->size += size;
}

static void put_number(struct span *span, uint64_t number, size_t size)
{
	uint8_t u8 = (uint8_t)number;
	uint16_t u16 = (uint16_t)number;
	uint32_t u32 = (uint32_t)number;

	switch (size) {
	case 1: put(span, &u8, 1); break;
	case 2: put(span, &u16, 2); break;
	case 4: put(span, &u32, 4); break;
	default: put(span, &number, 8); break;
	}
}

/* All bits of the time are set, so that no reader mistakes it for a part of the tag. */
static void put_header(struct span *span, uint32_t id, bool extended)
{
	uint32_t tag = extended ? 31 : id < 30 ? id : 30;
	uint32_t word = CTF_HOST_BIG_ENDIAN ? tag << 27 | 0x7ffffff : tag | ~UINT32_C(31);

	if (extended) {
		put(span, &word, 1);
		put_number(span, id, 4);
		put_number(span, UINT64_MAX, 8);
		return;
	}
	put(span, &word, 4);
	if (tag == 30)
		put_number(span, id, 2);
}

static void put_end(struct span *span)
{
	assert_true(span->nr < RECORDS_MAX);
	span->ends[span->nr++] = span->size;
}

/* Truncated at every byte: the count is the number of complete records. */
static void check(const struct ctf_tally *tally, const struct span *span)
{
	size_t size;

	for (size = 0; size <= span->size; size++) {
		/* A separate copy, so that the address sanitizer detects reads behind it. */
		unsigned char *part = malloc(size ? size : 1);
		unsigned int whole = 0;
		uint64_t count;
		bool all;

		memcpy(part, span->bytes, size);
		while (whole < span->nr && span->ends[whole] <= size)
			whole++;
		all = ctf_tally_count(tally, part, size, &count);
		free(part);
		assert_int_equal(count, whole);
		assert_int_equal(all, size == 0 || (whole && span->ends[whole - 1] == size));
	}
}

/* ---- field classes ---- */

static struct ctf_type *integer(struct fixture *f, unsigned int bits, bool is_signed)
{
	struct ctf_type *type = ctf_type_integer(f->arena, bits, is_signed);

	assert_non_null(type);
	return type;
}

struct named {
	const char *name;
	struct ctf_type *type;
};

static struct ctf_type *structure(struct fixture *f, unsigned int nr, const struct named *members)
{
	struct ctf_type *type = ctf_type_struct(f->arena, nr);

	assert_non_null(type);
	for (unsigned int i = 0; i < nr; i++)
		ctf_member_set(&type->members[i], members[i].name, members[i].type, false);
	return type;
}

#define MEMBERS(...)           \
	(const struct named[]) \
	{                      \
		__VA_ARGS__    \
	}

static void learn(struct fixture *f, uint32_t id, const struct ctf_type *context,
		const struct ctf_type *fields)
{
	const struct ctf_type *const trees[] = {context, NULL, fields};

	assert_int_equal(ctf_tally_learn(&f->tally, id, trees, 3), 0);
}

/* ---- tests ---- */

static void test_fixed(void **state)
{
	struct fixture *f = *state;
	struct ctf_type *u32 = integer(f, 32, false), *u8 = integer(f, 8, false);
	struct ctf_type *bytes = ctf_type_array(f->arena, u8, 3);
	struct span span = {.size = 0};

	learn(f, 3, NULL, structure(f, 2, MEMBERS({"_a", u32}, {"_b", bytes})));
	learn(f, 4, NULL, structure(f, 0, NULL));
	learn(f, 29, u32, structure(f, 1, MEMBERS({"_a", u8})));
	learn(f, 30, NULL, structure(f, 1, MEMBERS({"_a", u8})));
	learn(f, 70000, u32, NULL);
	for (unsigned int i = 0; i < RECORDS_MAX; i++) {
		static const uint32_t ids[] = {3, 3, 3, 4, 4, 29, 3, 30, 30, 70000};
		static const size_t sizes[] = {7, 7, 7, 0, 0, 5, 7, 1, 1, 4};
		unsigned int which = i * 7 / 3 % 10;

		put_header(&span, ids[which], i % 5 == 0 || ids[which] == 70000);
		put(&span, "\xff\x1f\x03\x1e\x04\xfe\xff", sizes[which]);
		put_end(&span);
	}
	check(&f->tally, &span);
}

static void test_variable(void **state)
{
	struct fixture *f = *state;
	struct ctf_type *string = ctf_type_string(f->arena), *u16 = integer(f, 16, false);
	struct ctf_type *strings = ctf_type_sequence(f->arena, string, "__s_length");
	struct ctf_type *numbers = ctf_type_sequence(f->arena, u16, "__n_length");
	struct ctf_type *nothing = ctf_type_sequence(f->arena, structure(f, 0, NULL), "__e_length");
	struct ctf_type *two = ctf_type_array(f->arena,
			structure(f, 2, MEMBERS({"__n_length", u16}, {"_n", numbers})), 2);
	struct span span = {.size = 0};

	learn(f, 1, string,
			structure(f, 2, MEMBERS({"_a", integer(f, 64, false)}, {"_b", string})));
	learn(f, 2, NULL,
			structure(f, 4,
					MEMBERS({"__s_length", integer(f, 8, false)},
							{"_s", strings},
							{"__e_length", integer(f, 64, false)},
							{"_e", nothing})));
	learn(f, 40, NULL, structure(f, 2, MEMBERS({"_two", two}, {"_last", u16})));
	for (unsigned int i = 0; i < 20; i++) {
		put_header(&span, 1, !i);
		put(&span, "context\0numbers!text", 16 + i % 4);
		put(&span, "", 1);
		put_end(&span);
		put_header(&span, 2, false);
		put_number(&span, i % 3, 1);
		for (unsigned int k = 0; k < i % 3; k++)
			put(&span, "s", 1 + (k & 1)), k & 1 ? (void)0 : put(&span, "", 1);
		put_number(&span, UINT64_MAX, 8); /* this many elements without bits */
		put_end(&span);
		put_header(&span, 40, false);
		for (unsigned int k = 0; k < 2; k++) {
			put_number(&span, i + k, 2);
			for (unsigned int n = 0; n < i + k; n++)
				put_number(&span, 0xffff, 2);
		}
		put_number(&span, i, 2);
		put_end(&span);
	}
	check(&f->tally, &span);
}

/*
 * One string of every length around the number of bytes that are compared at once, with bytes
 * before and after it.
 */
static void test_texts(void **state)
{
	struct fixture *f = *state;
	struct ctf_type *string = ctf_type_string(f->arena), *u64 = integer(f, 64, false);
	static const uint32_t ids[] = {5, 6, 50};
	char text[80];

	memset(text, 0xff, sizeof(text));
	learn(f, 5, integer(f, 32, false), string);
	learn(f, 6, string, u64);
	learn(f, 50, NULL, structure(f, 3, MEMBERS({"_a", u64}, {"_b", string}, {"_c", u64})));
	for (unsigned int which = 0; which < 3; which++) {
		struct span span = {.size = 0};

		for (size_t length = 0; length < 69; length++) {
			/* The longer ones twice: the same length again uses another branch. */
			const size_t repeats = length < RECORDS_MAX / 2 ? 1 : 2;

			if (span.nr + repeats > RECORDS_MAX) {
				check(&f->tally, &span);
				span.nr = 0;
				span.size = 0;
			}
			for (size_t i = 0; i < repeats; i++) {
				put_header(&span, ids[which], false);
				put(&span, text, which == 0 ? 4 : which == 1 ? 0 : 8);
				put(&span, text, length);
				put(&span, "", 1);
				put(&span, text, which ? 8 : 0);
				put_end(&span);
			}
		}
		check(&f->tally, &span);
	}
}

static void add_label(
		struct ctf_type *tag, unsigned int i, const char *text, int64_t first, int64_t last)
{
	tag->labels[i] = (struct ctf_label){text, (uint64_t)first, (uint64_t)last};
}

static void test_variants(void **state)
{
	struct fixture *f = *state;
	struct ctf_type *tag = ctf_type_enum(f->arena, integer(f, 16, true), 5);
	struct ctf_type *variant = ctf_type_variant(f->arena, 3, "__v_selector");
	struct ctf_type *string = ctf_type_string(f->arena);
	struct span span = {.size = 0};
	static const struct {
		int16_t selector;
		size_t size;
	} firings[] = {{-32768, 4}, {-2, 4}, {-1, 0}, {0, 0}, {1, 6}, {5, 6}, {6, 4}, {7, 0},
			{32767, 0}};

	tag->big_endian = !CTF_HOST_BIG_ENDIAN;
	add_label(tag, 0, "o0", INT64_MIN >> 48, -2);
	add_label(tag, 1, "o0", 6, 6);
	add_label(tag, 2, "o1", 1, 5);
	add_label(tag, 3, "none", -1, 0);
	add_label(tag, 4, "none", 7, 32767);
	ctf_member_set(&variant->members[0], "o0", integer(f, 32, false), false);
	ctf_member_set(&variant->members[1], "o1", string, false);
	ctf_member_set(&variant->members[2], "none", structure(f, 0, NULL), false);
	learn(f, 7, NULL,
			structure(f, 3,
					MEMBERS({"__v_selector", tag}, {"_v", variant},
							{"_last", integer(f, 8, false)})));
	for (unsigned int i = 0; i < 2 * sizeof(firings) / sizeof(firings[0]); i++) {
		unsigned int which = i % (sizeof(firings) / sizeof(firings[0]));
		uint16_t number = (uint16_t)firings[which].selector;

		put_header(&span, 7, false);
		put_number(&span, __builtin_bswap16(number), 2);
		put(&span, "12345", firings[which].size);
		put(&span, "\xff", 1);
		put_end(&span);
	}
	check(&f->tally, &span);
}

/* An unknown event ends the count, and the result shows that there was more. */
static void test_unknown(void **state)
{
	struct fixture *f = *state;
	struct ctf_type *bits = integer(f, 12, false);
	struct span span = {.size = 0};
	uint64_t count;

	learn(f, 1, NULL, structure(f, 1, MEMBERS({"_a", integer(f, 8, false)})));
	bits->align = 1;
	learn(f, 2, NULL, structure(f, 1, MEMBERS({"_a", bits})));
	/* Its length is not in the same structure. */
	learn(f, 3, NULL,
			structure(f, 1,
					MEMBERS({"_a",
							ctf_type_sequence(f->arena, bits,
									"__a_length")})));
	for (uint32_t id = 1; id < 5; id++) {
		span.size = 0;
		put_header(&span, 1, true);
		put(&span, "x", 1);
		put_header(&span, id, false);
		put(&span, "x", 1);
		assert_int_equal(
				ctf_tally_count(&f->tally, span.bytes, span.size, &count), id == 1);
		assert_int_equal(count, id == 1 ? 2 : 1);
	}
	assert_true(ctf_tally_count(&f->tally, NULL, 0, &count));
	assert_int_equal(count, 0);
}

static void test_nonsense(void **state)
{
	struct fixture *f = *state;
	unsigned int chance = 1;
	uint64_t count;

	test_variable(state);
	test_variants(state);
	for (unsigned int i = 0; i < 20000; i++) {
		size_t size = (unsigned int)rand_r(&chance) % 200;
		unsigned char *bytes = malloc(size + 1);

		for (size_t k = 0; k < size; k++)
			bytes[k] = (unsigned char)((unsigned int)rand_r(&chance) >> 8 &
					(k % 3 ? 0xff : 0x2f));
		(void)ctf_tally_count(&f->tally, bytes, size, &count);
		assert_true(count <= size / 4);
		free(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_setup_teardown(test_fixed, begin, end),
			cmocka_unit_test_setup_teardown(test_variable, begin, end),
			cmocka_unit_test_setup_teardown(test_texts, begin, end),
			cmocka_unit_test_setup_teardown(test_variants, begin, end),
			cmocka_unit_test_setup_teardown(test_unknown, begin, end),
			cmocka_unit_test_setup_teardown(test_nonsense, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
