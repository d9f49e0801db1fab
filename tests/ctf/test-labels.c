/* SPDX-License-Identifier: MIT */
/*
 * Labels, tags and contexts of described events, compared value by value with the description; and
 * each allocation fails once.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../failing-calls.h"
#include "../random.h"
#include "../abi/generate.h"
#include "base/inside/utf8.h"
#include "ctf/write/describe.h"
#include "ctf/names.h"
#include "types.h"
#include "protocol/context.h"

FAILING_DECLARE(void *, ctf_arena_alloc, struct ctf_arena *arena, size_t count, size_t size);

/* Replaces each allocation of an arena, which needs memory only for one of many. */
void *__wrap_ctf_arena_alloc(struct ctf_arena *arena, size_t count, size_t size)
{
	if (!failing_is_due("ctf_arena_alloc", ENOMEM))
		return __real_ctf_arena_alloc(arena, count, size);
	ctf_arena_fail(arena);
	return NULL;
}

/* ---- UTF-8 ---- */

/* Table 3-7 of the Unicode standard. */
static unsigned int sequence_length(const unsigned char *text, size_t size)
{
	static const struct {
		unsigned char first, last, second_first, second_last, length;
	} rows[] = {{0, 0x7f, 0, 0xff, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
			{0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
			{0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
			{0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		if (*text < rows[i].first || *text > rows[i].last)
			continue;
		if (rows[i].length == 1)
			return 1;
		if (size < rows[i].length || text[1] < rows[i].second_first ||
				text[1] > rows[i].second_last)
			return 0;
		for (unsigned int k = 2; k < rows[i].length; k++) {
			if (text[k] < 0x80 || text[k] > 0xbf)
				return 0;
		}
		return rows[i].length;
	}
	return 0;
}

static void test_utf8(void **state)
{
	static const unsigned char edges[] = {
			0, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc2, 0xff};
	unsigned char text[4];

	(void)state;
	for (unsigned int first = 0; first < 256; first++) {
		for (unsigned int i = 0; i < COUNT(edges) * COUNT(edges) * COUNT(edges); i++) {
			text[0] = (unsigned char)first;
			text[1] = edges[i % COUNT(edges)];
			text[2] = edges[i / COUNT(edges) % COUNT(edges)];
			text[3] = edges[i / COUNT(edges) / COUNT(edges)];
			for (size_t size = 1; size <= 4; size++)
				assert_int_equal(utf8_length(text, size),
						sequence_length(text, size));
		}
	}
}

static void test_text(void **state)
{
	struct ctf_arena *arena = ctf_arena_create();

	(void)state;
	assert_string_equal(ctf_describe_text(arena, "a\xc3\xa9\xff\x80z\xe2\x82", 1, HOST),
			"a\xc3\xa9\xc3\xbf\xc2\x80z\xc3\xa2\xc2\x82");
	assert_string_equal(ctf_describe_text(arena, u"\u20ac", 2, HOST), "\xe2\x82\xac");
	assert_string_equal(ctf_describe_text(arena, "", 1, HOST), "");
	for (unsigned int call = 1; call < 3; call++) {
		failing_arm(call);
		assert_null(ctf_describe_text(arena, "abc", 1, HOST));
		assert_string_equal(failing_has_failed() ? failing_name : "",
				call == 1 ? "malloc" : "ctf_arena_alloc");
	}
	ctf_arena_destroy(arena);
}

/* ---- labels ---- */

/*
 * Whether the label has the value, compared as SIDE does it: unsigned 64-bit numbers as signed
 * ones.
 */
static bool has_label(const struct ctf_type *type, uint64_t value, const char *text)
{
	for (uint32_t i = 0; i < type->label_count; i++) {
		const struct ctf_label *label = &type->labels[i];

		if (strcmp(label->text, text) != 0)
			continue;
		if (type->is_signed ? (int64_t)value >= (int64_t)label->begin &&
								(int64_t)value <=
										(int64_t)label->end
				    : value >= label->begin && value <= label->end)
			return true;
	}
	return false;
}

static struct side_enum_mappings mappings_of(const struct side_enum_mapping *all, uint32_t count)
{
	struct side_enum_mappings mappings;

	memset(&mappings, 0, sizeof(mappings));
	side_ptr_set(mappings.mappings.elements, all);
	mappings.mappings.length = count;
	return mappings;
}

static void test_labels(void **state)
{
	static const int64_t edges[] = {INT64_MIN, INT64_MIN + 1, -65537, -300, -129, -128, -127,
			-1, 0, 1, 126, 127, 128, 129, 254, 255, 256, 300, 65535, 65536,
			INT64_MAX - 1, INT64_MAX};
	static const unsigned int sizes[] = {8, 16, 64};

	(void)state;
	for (unsigned int form = 0; form < 2 * COUNT(sizes); form++) {
		struct ctf_arena *arena = ctf_arena_create();
		unsigned int size = sizes[form / 2];
		struct ctf_type *integer = ctf_type_integer(arena, size, form & 1), *type;

		for (unsigned int i = 0; i < COUNT(edges) * COUNT(edges); i++) {
			int64_t begin = edges[i / COUNT(edges)], end = edges[i % COUNT(edges)];
			const struct side_enum_mapping all[] = {
					MAPPING(3, 4, "other"), MAPPING(begin, end, "this")};
			struct side_enum_mappings mappings = mappings_of(all, 2);

			type = NULL;
			assert_int_equal(ctf_describe_labels(arena, &mappings, integer, &type), 0);
			assert_int_equal(type->kind, CTF_ENUM);
			for (unsigned int k = 0; k < COUNT(edges); k++) {
				int64_t value = edges[k];

				if (size < 64 &&
						(form & 1 ? value >> (size - 1) != value >> 63
							  : value >> size != 0))
					continue;
				assert_int_equal(has_label(type, (uint64_t)value, "this"),
						begin <= value && value <= end);
				assert_false(has_label(type, (uint64_t)value, "other"));
			}
			assert_true(has_label(type, 4, "other"));
			assert_true(type->label_count <= 3);
		}
		/* Without a label for a possible value, it is not an enumeration. */
		if (size < 64) {
			const struct side_enum_mapping none[] = {
					MAPPING(70000, 70001, "above"), MAPPING(5, 4, "wrong")};
			struct side_enum_mappings mappings = mappings_of(none, 2);

			type = NULL;
			assert_int_equal(ctf_describe_labels(arena, &mappings, integer, &type), 0);
			assert_ptr_equal(type, integer);
		}
		ctf_arena_destroy(arena);
	}
}

static void test_flags(void **state)
{
	static const struct side_enum_bitmap_mapping all[] = {
			{.range_begin = 0, .range_end = 0, .label = TEXT("lowest")},
			{.range_begin = 5, .range_end = 4, .label = TEXT("wrong")},
			{.range_begin = 3, .range_end = 6, .label = TEXT("middle")},
			{.range_begin = 7, .range_end = 7, .label = TEXT("highest")},
			{.range_begin = 7, .range_end = 8, .label = TEXT("cut")},
			{.range_begin = 8, .range_end = 9, .label = TEXT("above")}};
	static const struct ctf_label expected[] = {
			{"lowest", 0, 0}, {"middle", 3, 6}, {"highest", 7, 7}, {"cut", 7, 7}};
	struct ctf_arena *arena = ctf_arena_create();
	struct ctf_type *integer = ctf_type_integer(arena, 8, false);
	struct side_enum_bitmap_mappings mappings;
	unsigned int failures = 0;

	(void)state;
	memset(&mappings, 0, sizeof(mappings));
	side_ptr_set(mappings.mappings.elements, all);
	mappings.mappings.length = COUNT(all);
	for (bool failed = true; failed; failures++) {
		int ret;

		failing_arm(failures + 1);
		ret = ctf_describe_flags(arena, &mappings, integer);
		failed = failing_has_failed();
		assert_int_equal(ret, failed ? -ENOMEM : 0);
	}
	assert_int_equal(failures, 10);
	assert_true(integer->bitmap);
	assert_int_equal(integer->label_count, COUNT(expected));
	for (unsigned int i = 0; i < COUNT(expected); i++) {
		assert_string_equal(integer->labels[i].text, expected[i].text);
		assert_int_equal(integer->labels[i].begin, expected[i].begin);
		assert_int_equal(integer->labels[i].end, expected[i].end);
	}
	mappings.mappings.length = 0;
	assert_int_equal(ctf_describe_flags(arena, &mappings, integer), 0);
	assert_false(integer->bitmap);
	ctf_arena_destroy(arena);
}

/* ---- tags ---- */

/* The option of a value is the first one whose range has it. */
static void check_tag(unsigned int nr, struct side_variant_option *options, bool is_signed)
{
	struct ctf_arena *arena = ctf_arena_create();
	struct ctf_type *integer = ctf_type_integer(arena, 8, is_signed), *tag = NULL;
	struct side_type_variant variant;
	bool used[12] = {false};
	char name[16];

	memset(&variant, 0, sizeof(variant));
	side_ptr_set(variant.options.elements, options);
	variant.options.length = nr;
	assert_int_equal(ctf_describe_tag(arena, &variant, integer, &tag, used), 0);
	for (int value = is_signed ? -128 : 0; value < (is_signed ? 128 : 256); value++) {
		unsigned int winner = 0, found = 0;

		while (winner < nr &&
				!(options[winner].range_begin <= value &&
						value <= options[winner].range_end))
			winner++;
		snprintf(name, sizeof(name), winner < nr ? "o%u" : "none", winner);
		assert_true(has_label(tag, (uint64_t)(int64_t)value, name));
		assert_true(used[winner]);
		for (uint32_t i = 0; i < tag->label_count; i++)
			found += is_signed ? value >= (int64_t)tag->labels[i].begin &&
							value <= (int64_t)tag->labels[i].end
					   : (uint64_t)value >= tag->labels[i].begin &&
							(uint64_t)value <= tag->labels[i].end;
		assert_int_equal(found, 1);
	}
	for (unsigned int i = 0; i <= nr; i++) {
		bool is_there = false;

		snprintf(name, sizeof(name), i < nr ? "o%u" : "none", i);
		for (uint32_t k = 0; k < tag->label_count; k++) {
			const struct ctf_label *label = &tag->labels[k];

			is_there |= !strcmp(label->text, name);
			/* In the order of options, then of values; adjacent ranges are one. */
			if (k && !strcmp(label->text, label[-1].text))
				assert_true((int64_t)label->begin > (int64_t)label[-1].end + 1);
		}
		assert_int_equal(is_there, used[i]);
	}
	ctf_arena_destroy(arena);
}

static void test_tags(void **state)
{
	struct side_variant_option options[10];

	(void)state;
	memset(options, 0, sizeof(options));
	for (unsigned int round = 0; round < 3000; round++) {
		unsigned int nr = (unsigned int)(draw64() >> 20) % 10;
		int wide = round % 3 ? 400 : 20;

		for (unsigned int i = 0; i < nr; i++) {
			options[i].range_begin =
					(int)((draw64() >> 20) % (unsigned int)wide) - wide / 2;
			options[i].range_end = options[i].range_begin - 2 +
					(int)((draw64() >> 20) % (round % 2 ? 9 : 200));
		}
		check_tag(nr, options, round % 4 < 2);
	}
}

/* ---- contexts ---- */

static void print_type(const struct ctf_type *type, char *to, size_t size)
{
	size_t used = strlen(to);

	snprintf(to + used, size - used, "%d/%u/%d/%u", type->kind, type->size, type->is_signed,
			type->base);
	for (uint32_t i = 0; i < type->member_count; i++) {
		used = strlen(to);
		snprintf(to + used, size - used, "%s%s%s:", i ? " " : "{",
				type->members[i].hidden ? "-" : "", type->members[i].name);
		print_type(type->members[i].type, to, size);
	}
	used = strlen(to);
	snprintf(to + used, size - used, type->member_count ? "}" : "");
	for (uint32_t i = 0; i < type->label_count; i++) {
		used = strlen(to);
		snprintf(to + used, size - used, " %s=%d..%d", type->labels[i].text,
				(int)type->labels[i].begin, (int)type->labels[i].end);
	}
}

#define LABELS " none=0..0 int64=1..1 uint64=2..2 float64=3..3 utf8=4..4 boolean=5..5 "
#define OPTIONS \
	"{none:4/0/0/0 int64:0/64/1/10 uint64:0/64/0/10 float64:1/64/1/10 utf8:3/0/0/0 boolean:2/8/0/10 false=0..0 true=1..255}"
#define APPLICATION(name) " -__" name "_tag:2/8/0/10" LABELS "_" name ":7/0/0/0" OPTIONS

static void test_contexts(void **state)
{
	static const struct context_spec contexts[] = {{.type = CONTEXT_U32, .field = "a b"},
			{.type = CONTEXT_S32, .field = "a_b"},
			{.type = CONTEXT_APPLICATION, .field = "app"},
			{.type = CONTEXT_U64, .field = "u64"},
			{.type = CONTEXT_APPLICATION, .field = "app"},
			{.type = CONTEXT_POINTER, .field = "ip"},
			{.type = CONTEXT_STRING, .field = "name"}};
	struct ctf_arena *arena = ctf_arena_create();
	unsigned int failures = 0;
	struct ctf_type *type;
	char text[2048] = "";
	int ret;

	(void)state;
	for (bool failed = true; failed; failures++) {
		type = (struct ctf_type *)arena;
		failing_arm(failures + 1);
		ret = ctf_describe_contexts(arena, contexts, COUNT(contexts), &type);
		failed = failing_has_failed();
		assert_int_equal(ret, failed ? -ENOMEM : 0);
	}
	assert_true(failures > 20);
	assert_ptr_equal(type->labels, NULL);
	print_type(type, text, sizeof(text));
	assert_string_equal(text,
			"4/0/0/0{_a_b:0/32/0/10 _a_b_2:0/32/1/10" APPLICATION("app") " _u64:0/64/0/10" APPLICATION(
					"app_2") " _ip:0/64/0/16 _name:3/0/0/0}");
	assert_int_equal(ctf_describe_contexts(arena, contexts, 0, &type), 0);
	assert_null(type);
	ctf_arena_destroy(arena);
}

/* ---- allocations ---- */

static void test_shapes(void **state)
{
	struct ctf_arena *arena = ctf_arena_create();

	(void)state;
	for (unsigned int which = 0; which < 4; which++) {
		unsigned int failures = 0;
		const struct ctf_type *type;

		for (bool failed = true; failed; failures++) {
			failing_arm(failures + 1);
			type = which == 0            ? ctf_describe_node(arena)
					: which == 1 ? ctf_describe_bool(arena)
					: which == 2 ? ctf_describe_float128(arena)
						     : ctf_describe_int128(arena, true, true, 16);
			failed = failing_has_failed();
			assert_int_equal(type != NULL, !failed);
		}
		assert_true(failures > 3);
	}
	ctf_arena_destroy(arena);
}

/* Whichever allocation fails, the description fails with the same reason, and nothing leaks. */
static void test_descriptions(void **state)
{
	struct generator generator;

	(void)state;
	for (uint64_t seed = 1; seed < 60; seed++) {
		const struct side_event_description *description;
		struct error error = {.text = ""};
		struct ctf_type *type;
		int good;

		generator_init(&generator, seed);
		description = generate_description(&generator);
		for (unsigned int call = 1; description && call < 400; call++) {
			struct ctf_arena *arena = ctf_arena_create();
			bool failed;

			failing_arm(call);
			good = ctf_type_from_description(arena, description, &type, &error);
			failed = failing_has_failed();
			if (failed) {
				assert_int_equal(good, -ENOMEM);
				assert_string_equal(error.text,
						"out of memory for the description of an event");
			} else {
				call = 400;
			}
			ctf_arena_destroy(arena);
		}
		generator_fini(&generator);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_utf8),
			cmocka_unit_test(test_text),
			cmocka_unit_test(test_labels),
			cmocka_unit_test(test_flags),
			cmocka_unit_test(test_tags),
			cmocka_unit_test(test_contexts),
			cmocka_unit_test(test_shapes),
			cmocka_unit_test(test_descriptions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
