/* SPDX-License-Identifier: MIT */
/*
 * Field classes from descriptions: ranges compared with a list of every value, deep nesting, many
 * equal names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/ctf.h"
#include "types.h"

#include "../random.h"

static struct ctf_type *describe(struct ctf_arena *arena, const struct side_type *type, int wanted)
{
	struct side_event_field field = {.field_name = SIDE_PTR_INIT("x"), .side_type = *type};
	struct side_event_description description = {
			.struct_size = sizeof(description),
			.provider_name = SIDE_PTR_INIT("p"),
			.event_name = SIDE_PTR_INIT("e"),
			.fields = {.elements = SIDE_PTR_INIT(&field), .length = 1},
			.nr_side_type_label = _NR_SIDE_TYPE_LABEL,
			.nr_side_attr_type = _NR_SIDE_ATTR_TYPE,
	};
	struct error error = {.text = ""};
	struct ctf_type *fields = NULL;
	int ret = ctf_type_from_description(arena, &description, &fields, &error);

	if (ret != wanted)
		fail_msg("%d: %s", ret, error.text);
	if (ret)
		assert_int_not_equal(error.text[0], 0);
	return fields;
}

/* ---- ranges ---- */

/* Returns a value near the limits of 8 and 64 bits, or a small one. */
static int64_t random_bound(void)
{
	static const int64_t corners[] = {0, 127, -128, 255, 256, INT64_MAX, INT64_MIN, -1};
	int64_t corner = corners[draw64() % COUNT(corners)];
	int64_t step = (int64_t)(draw64() % 9) - 4;

	if (draw64() % 3)
		return (int64_t)(draw64() % 600) - 300;
	return (int64_t)((uint64_t)corner + (uint64_t)step);
}

/*
 * Returns the option that SIDE chooses: the first whose range has the value as a signed 64-bit
 * number; -1: none.
 */
static int chosen(const struct side_variant_option *options, uint32_t count, int64_t value)
{
	for (uint32_t i = 0; i < count; i++) {
		if (options[i].range_begin <= value && value <= options[i].range_end)
			return (int)i;
	}
	return -1;
}

/* Returns the only label of the tag that has the value. */
static const char *label_of(const struct ctf_type *tag, uint64_t value)
{
	const char *found = NULL;

	for (uint32_t i = 0; i < tag->label_count; i++) {
		const struct ctf_label *label = &tag->labels[i];
		bool hit = tag->is_signed ? (int64_t)label->begin <= (int64_t)value &&
						(int64_t)value <= (int64_t)label->end
					  : label->begin <= value && value <= label->end;

		if (!hit)
			continue;
		assert_null(found);
		found = label->text;
	}
	assert_non_null(found);
	return found;
}

static bool has_option(const struct ctf_type *variant, const char *name)
{
	for (uint32_t i = 0; i < variant->member_count; i++) {
		if (strcmp(variant->members[i].name, name) == 0)
			return true;
	}
	return false;
}

static void check_value(const struct ctf_type *fields, const struct side_variant_option *options,
		uint32_t count, uint64_t value)
{
	int wanted = chosen(options, count, (int64_t)value);
	char name[16] = "none";

	if (wanted >= 0)
		snprintf(name, sizeof(name), "o%d", wanted);
	assert_string_equal(label_of(fields->members[0].type, value), name);
	assert_true(has_option(fields->members[1].type, name));
}

static void test_tags(void **state)
{
	static const struct side_type selectors[] = {
			T_U(8, HOST), T_S(8, HOST), T_U(64, HOST), T_S(64, HOST)};
	const char *longer = getenv("SIDE_TEST_LONG");
	int rounds = longer && *longer == '1' ? 20000 : 400;

	(void)state;
	for (int round = 0; round < rounds; round++) {
		const struct side_type *selector = &selectors[round % 4];
		uint32_t count = (uint32_t)(draw64() % 12);
		struct side_type byte = T_BYTE;
		char memory[12 * sizeof(struct side_variant_option)];
		struct side_variant_option *options = (struct side_variant_option *)memory;
		char variant_memory[sizeof(struct side_type_variant)];
		struct side_type_variant *variant = (struct side_type_variant *)variant_memory;
		struct side_type type = {
				LABEL(VARIANT), .u = {.side_variant = SIDE_PTR_INIT(variant)}};
		struct ctf_arena *arena = ctf_arena_create();
		struct ctf_type *fields;

		memset(variant_memory, 0, sizeof(variant_memory));
		for (uint32_t i = 0; i < count; i++) {
			options[i].range_begin = random_bound();
			options[i].range_end = random_bound();
			memcpy((char *)&options[i] + 16, &byte, sizeof(byte));
		}
		side_ptr_set(variant->options.elements, options);
		variant->options.length = count;
		memcpy(variant_memory + offsetof(struct side_type_variant, selector), selector,
				sizeof(*selector));
		fields = describe(arena, &type, 0);
		assert_int_equal(fields->member_count, 2);
		assert_string_equal(fields->members[0].name, "__x_selector");
		assert_true(fields->members[0].hidden);
		for (int value = -300; value <= 300; value++) {
			bool eight = round % 4 < 2, is_signed = round % 2;

			if (!eight ||
					(is_signed ? value >= -128 && value <= 127
						   : value >= 0 && value <= 255))
				check_value(fields, options, count, (uint64_t)(int64_t)value);
		}
		for (uint32_t i = 0; round % 4 >= 2 && i < count; i++) {
			for (int64_t step = -1; step <= 1; step++) {
				check_value(fields, options, count,
						(uint64_t)options[i].range_begin + (uint64_t)step);
				check_value(fields, options, count,
						(uint64_t)options[i].range_end + (uint64_t)step);
			}
		}
		ctf_arena_destroy(arena);
	}
}

/* Many overlapping options must not take quadratic time. */
static void test_many_options(void **state)
{
	const uint32_t count = 200000;
	struct side_variant_option *options = calloc(count, sizeof(*options));
	char memory[sizeof(struct side_type_variant)] = {0};
	struct side_type_variant *variant = (struct side_type_variant *)memory;
	struct side_type type = {LABEL(VARIANT), .u = {.side_variant = SIDE_PTR_INIT(variant)}};
	struct side_type s64 = T_S(64, HOST), byte = T_BYTE;
	struct ctf_arena *arena = ctf_arena_create();
	struct ctf_type *fields;

	(void)state;
	for (uint32_t i = 0; i < count; i++) {
		options[i].range_begin = (int64_t)i * 3;
		options[i].range_end = (int64_t)i * 3 + 100000;
		memcpy((char *)&options[i] + 16, &byte, sizeof(byte));
	}
	side_ptr_set(variant->options.elements, options);
	variant->options.length = count;
	memcpy(memory + offsetof(struct side_type_variant, selector), &s64, sizeof(s64));
	fields = describe(arena, &type, 0);
	assert_string_equal(label_of(fields->members[0].type, 0), "o0");
	assert_string_equal(label_of(fields->members[0].type, 100000), "o0");
	assert_string_equal(label_of(fields->members[0].type, 100001), "o1");
	ctf_arena_destroy(arena);
	free(options);
}

/* ---- nesting ---- */

static void test_depth(void **state)
{
	enum { DEPTH = 200 };
	static struct side_type_optional optionals[DEPTH];
	static struct side_type types[DEPTH + 1];
	const struct side_type end = T_U(8, HOST);
	struct ctf_arena *arena = ctf_arena_create();
	char *text;
	size_t size;
	FILE *out;

	(void)state;
	types[DEPTH] = end;
	for (int i = DEPTH - 1; i >= 0; i--) {
		side_ptr_set(optionals[i].elem_type, &types[i + 1]);
		side_enum_set(types[i].type, SIDE_TYPE_OPTIONAL);
		side_ptr_set(types[i].u.side_optional, &optionals[i]);
	}
	/* 100 levels are recorded; too many and a cycle are refused with a message. */
	out = open_memstream(&text, &size);
	assert_int_equal(ctf_type_print_tsdl(describe(arena, &types[DEPTH - 100], 0), out), 0);
	fclose(out);
	assert_int_not_equal(size, 0);
	free(text);
	describe(arena, &types[0], -ELOOP);
	side_ptr_set(optionals[DEPTH - 1].elem_type, &types[0]);
	describe(arena, &types[0], -ELOOP);
	ctf_arena_destroy(arena);
}

static void test_equal_names(void **state)
{
	const uint32_t count = 100000;
	struct side_event_field *members = calloc(count, sizeof(*members));
	struct side_type_struct structure = {
			.fields = {.elements = SIDE_PTR_INIT(members), .length = count}};
	struct side_type type = T_STRUCT(&structure);
	const struct side_type byte = T_BYTE;
	struct ctf_arena *arena = ctf_arena_create();
	struct ctf_type *fields;

	(void)state;
	for (uint32_t i = 0; i < count; i++) {
		side_ptr_set(members[i].field_name, "same");
		members[i].side_type = byte;
	}
	fields = describe(arena, &type, 0)->members[0].type;
	assert_int_equal(fields->member_count, count);
	assert_string_equal(fields->members[0].name, "_same");
	assert_string_equal(fields->members[1].name, "_same_2");
	assert_string_equal(fields->members[count - 1].name, "_same_100000");
	ctf_arena_destroy(arena);
	free(members);
}

static void test_unknown_label(void **state)
{
	struct side_type type = {.type = SIDE_ENUM_INIT(60)};
	struct ctf_arena *arena = ctf_arena_create();

	(void)state;
	describe(arena, &type, -ENOTSUP);
	ctf_arena_destroy(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_tags),
			cmocka_unit_test(test_many_options),
			cmocka_unit_test(test_depth),
			cmocka_unit_test(test_equal_names),
			cmocka_unit_test(test_unknown_label),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
