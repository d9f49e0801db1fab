/* SPDX-License-Identifier: MIT */
/*
 * The conversion of record values to values of an expression: labels, numbers of 128 bits, members,
 * elements, and the possible fields of a class.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/where-path.c"

static struct ctf_type u32 = {.kind = CTF_INTEGER, .size = 32},
		       s32 = {.kind = CTF_INTEGER, .size = 32, .is_signed = true},
		       real = {.kind = CTF_FLOAT, .size = 64}, text = {.kind = CTF_STRING};

/* All labels of a value, with "," between them. */
static const char *labels_of(const struct filter_value *value)
{
	static char found[200];
	const char *label;
	size_t size = 0, sum = 0;
	uint32_t at = 0;

	*found = '\0';
	while ((label = where_label(NULL, value, &at, &size))) {
		assert_int_equal(size, strlen(label));
		strcat(found, label);
		strcat(found, ",");
		sum += size;
	}
	assert_true(sum < sizeof(found));
	return found;
}

static void test_labels(void **unused)
{
	struct ctf_label labels[] = {{"a", 1, 3}, {"b", 3, 5}, {"m", (uint64_t)-2, (uint64_t)-1}};
	struct ctf_type type = {.kind = CTF_ENUM, .size = 32, .labels = labels, .label_count = 3};
	struct ctf_value from = {.type = &type, .u = 3};
	struct filter_value value;

	(void)unused;
	assert_true(plain_scalar(&from, &value));
	assert_true(value.kind == FILTER_INT && value.is_unsigned);
	assert_string_equal(labels_of(&value), "a,b,");
	for (uint64_t i = 0; i < 7; i++) {
		static const char *const expected[] = {"", "a,", "a,", "a,b,", "b,", "b,", ""};

		from.u = i;
		assert_true(plain_scalar(&from, &value));
		assert_string_equal(labels_of(&value), expected[i]);
	}
	from.u = UINT64_MAX;
	assert_true(plain_scalar(&from, &value));
	assert_string_equal(labels_of(&value), "m,");
	/* Signed: from a negative to a positive number. */
	type.is_signed = true;
	labels[2].end = 1;
	for (int64_t i = -3; i < 3; i++) {
		static const char *const expected[] = {"", "m,", "m,", "m,", "a,m,", "a,"};

		from.s = i;
		assert_true(plain_scalar(&from, &value));
		assert_false(value.is_unsigned);
		assert_string_equal(labels_of(&value), expected[i + 3]);
	}
	/* Integers have none. */
	type.kind = CTF_INTEGER;
	assert_true(plain_scalar(&from, &value));
	assert_null(value.labels);
	type.kind = CTF_ENUM;
	type.label_count = 0;
	assert_true(plain_scalar(&from, &value));
	assert_null(value.labels);
}

static void test_labels_of_descriptions(void **unused)
{
	struct view_label labels[] = {{"a", 1, 3}, {"m", (uint64_t)-2, 1}};
	struct view_show element = {.kind = VIEW_SHOW_INTEGER},
			 show = {.kind = VIEW_SHOW_ENUM,
					 .element = &element,
					 .labels = labels,
					 .label_count = 2};
	struct ctf_value from = {.type = &s32};
	struct filter_value value;

	(void)unused;
	for (int64_t i = -3; i < 5; i++) {
		static const char *const expected[] = {
				"", "m,", "m,", "m,", "a,m,", "a,", "a,", ""};

		from.s = i;
		assert_true(where_path_format_scalar(&show, &from, &value));
		assert_string_equal(labels_of(&value), expected[i + 3]);
	}
	/* A number of more than 64 signed bits is not compared. */
	from.type = &u32;
	from.u = UINT64_MAX;
	assert_true(where_path_format_scalar(&show, &from, &value));
	assert_string_equal(labels_of(&value), "m,");
	element.kind = VIEW_SHOW_INT128;
	assert_string_equal(labels_of(&value), "");
	value.is_unsigned = false;
	assert_string_equal(labels_of(&value), "m,");
	filter_value_unsigned(&value, INT64_MAX);
	labels[0].end = INT64_MAX;
	value.labels = &show;
	assert_string_equal(labels_of(&value), "a,");
	/* Bits of bitmaps. */
	element.kind = VIEW_SHOW_INTEGER;
	show.kind = VIEW_SHOW_BITMAP;
	labels[0] = (struct view_label){"low", 0, 1};
	labels[1] = (struct view_label){"high", 62, 63};
	for (int i = 0; i < 5; i++) {
		static const uint64_t numbers[] = {1, 2, 4, UINT64_C(1) << 62, UINT64_C(1) << 63};
		static const char *const expected[] = {"low,", "low,", "", "high,", "high,"};

		from.u = numbers[i];
		assert_true(where_path_format_scalar(&show, &from, &value));
		assert_string_equal(labels_of(&value), expected[i]);
	}
	from.u = UINT64_MAX;
	assert_true(where_path_format_scalar(&show, &from, &value));
	assert_string_equal(labels_of(&value), "low,high,");
	labels[0] = (struct view_label){"backwards", 3, 2};
	labels[1] = (struct view_label){"beyond", 64, 70};
	assert_string_equal(labels_of(&value), "");
	labels[0] = (struct view_label){"one", 2, 2};
	labels[1] = (struct view_label){"all", 63, 64};
	assert_string_equal(labels_of(&value), "one,all,");
	/* Labels of a type that is not an integer. */
	element.kind = VIEW_SHOW_STRING;
	from = (struct ctf_value){.type = &text, .text = "x", .size = 1, .is_text = true};
	assert_false(where_path_format_scalar(&show, &from, &value));
}

static void test_numbers(void **unused)
{
	struct ctf_member low = {.name = "_lo"}, high = {.name = "_hi"};
	struct ctf_type pair = {.kind = CTF_STRUCT, .member_count = 2};
	static const struct {
		uint64_t low, high;
		bool is_signed, is_wide, is_unsigned;
	} cases[] = {{5, 0, false, false, true}, {UINT64_MAX, 0, false, false, true},
			{5, 1, false, true, true}, {5, 0, true, false, false},
			{(uint64_t)-5, UINT64_MAX, true, false, false},
			{(uint64_t)-5, 0, true, false, true}, {5, UINT64_MAX, true, true, false},
			{5, UINT64_MAX, false, true, true}};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		for (int order = 0; order < 2; order++) {
			struct ctf_value values[3] = {{.type = &pair, .count = 2, .span = 3},
					{.type = cases[i].is_signed && order ? &s32 : &u32,
							.member = order ? &high : &low,
							.u = order ? cases[i].high : cases[i].low,
							.span = 1},
					{.type = cases[i].is_signed && !order ? &s32 : &u32,
							.member = order ? &low : &high,
							.u = order ? cases[i].low : cases[i].high,
							.span = 1}};
			struct view_show show = {.kind = VIEW_SHOW_INT128};
			struct filter_value value;

			assert_true(where_path_format_scalar(&show, values, &value));
			assert_int_equal(value.kind, cases[i].is_wide ? FILTER_WIDE : FILTER_INT);
			assert_int_equal(value.u, cases[i].low);
			assert_int_equal(value.is_unsigned, cases[i].is_unsigned);
			if (cases[i].is_wide)
				assert_int_equal(value.high, cases[i].high);
		}
	}
}

static void test_scalars(void **unused)
{
	struct view_show show = {.kind = VIEW_SHOW_BOOL};
	struct ctf_value from = {.type = &u32, .u = 7};
	struct filter_value value;

	(void)unused;
	assert_true(where_path_format_scalar(&show, &from, &value));
	assert_true(value.kind == FILTER_INT && value.u == 1 && value.is_unsigned);
	from.u = 0;
	assert_true(where_path_format_scalar(&show, &from, &value));
	assert_int_equal(value.u, 0);
	from = (struct ctf_value){.type = &real, .f = 2.5};
	show.kind = VIEW_SHOW_FLOAT;
	assert_true(where_path_format_scalar(&show, &from, &value));
	assert_true(value.kind == FILTER_DOUBLE && value.f == 2.5);
	assert_true(plain_scalar(&from, &value));
	assert_true(value.kind == FILTER_DOUBLE && value.f == 2.5);
	from = (struct ctf_value){.type = &text, .text = "abc", .size = 2, .is_text = true};
	show.kind = VIEW_SHOW_STRING;
	assert_true(where_path_format_scalar(&show, &from, &value));
	assert_true(value.kind == FILTER_STRING && value.size == 2 && !memcmp(value.text, "ab", 2));
	assert_true(plain_scalar(&from, &value));
	assert_int_equal(value.size, 2);
	show.kind = VIEW_SHOW_LIST;
	assert_false(where_path_format_scalar(&show, &from, &value));
	from.is_text = false;
	assert_false(plain_scalar(&from, &value));
	assert_true(where_same_name("a", "a"));
	assert_true(where_same_name("_a", "a"));
	assert_true(where_same_name("_a", "_a"));
	assert_false(where_same_name("a", "_a"));
	assert_false(where_same_name("xa", "a"));
}

/* struct { u32 a; u32 _b[3]; variant { u32 c; struct {} none; } v; } */
static struct ctf_type array = {.kind = CTF_SEQUENCE, .element = &u32},
		       nothing = {.kind = CTF_STRUCT};
static struct ctf_member options[] = {
		{.name = "c", .type = &u32}, {.name = "none", .type = &nothing}};
static struct ctf_type variant = {.kind = CTF_VARIANT, .members = options, .member_count = 2};
static struct ctf_member members[] = {{.name = "a", .type = &u32}, {.name = "_b", .type = &array},
		{.name = "v", .type = &variant}};
static struct ctf_type structure = {.kind = CTF_STRUCT, .members = members, .member_count = 3};

static bool load(const struct ctf_value *values, const char *name, int index, enum filter_ask ask,
		uint64_t *number)
{
	const struct filter_step steps[] = {{.name = name}, {.index = (uint32_t)index}};
	struct filter_value value = {.u = 999};
	bool found = plain_load(values, steps, index < 0 ? 1 : 2, ask, &value);

	*number = value.u;
	return found;
}

static void test_members(void **unused)
{
	struct ctf_value values[] = {{.type = &structure, .count = 3, .span = 8},
			{.type = &u32, .member = &members[0], .u = 11, .span = 1},
			{.type = &array, .member = &members[1], .count = 3, .span = 4},
			{.type = &u32, .u = 21, .span = 1}, {.type = &u32, .u = 22, .span = 1},
			{.type = &u32, .u = 23, .span = 1},
			{.type = &variant, .member = &members[2], .count = 1, .span = 2},
			{.type = &u32, .member = &options[0], .u = 31, .span = 1}};
	uint64_t number;

	(void)unused;
	assert_true(load(values, "a", -1, FILTER_ASK_VALUE, &number));
	assert_int_equal(number, 11);
	for (int i = 0; i < 3; i++) {
		assert_true(load(values, "b", i, FILTER_ASK_VALUE, &number));
		assert_int_equal(number, 21 + i);
	}
	assert_false(load(values, "b", 3, FILTER_ASK_VALUE, &number));
	assert_false(load(values, "b", -1, FILTER_ASK_VALUE, &number));
	assert_true(load(values, "b", -1, FILTER_ASK_PRESENCE, &number));
	assert_int_equal(number, 999);
	assert_true(load(values, "b", -1, FILTER_ASK_LENGTH, &number));
	assert_int_equal(number, 3);
	assert_false(load(values, "a", -1, FILTER_ASK_LENGTH, &number));
	assert_false(load(values, "a", 0, FILTER_ASK_VALUE, &number));
	assert_true(load(values, "v", -1, FILTER_ASK_VALUE, &number));
	assert_int_equal(number, 31);
	assert_false(load(values, "x", -1, FILTER_ASK_PRESENCE, &number));
	/* No option of the variant is chosen. */
	values[7].type = &nothing;
	assert_false(load(values, "v", -1, FILTER_ASK_PRESENCE, &number));
	assert_null(inner_at(values, 3));
	assert_ptr_equal(inner_at(values, 2), &values[6]);
	assert_ptr_equal(inner_at(values, 0), &values[1]);
}

static bool may_have(const char *first, const char *second, int index)
{
	const struct filter_step steps[] = {
			{.name = first}, {.name = second, .index = (uint32_t)index}};

	return plain_may_have(&structure, steps, !first ? 0 : !second && index < 0 ? 1 : 2);
}

static void test_types(void **unused)
{
	(void)unused;
	assert_true(may_have(NULL, NULL, -1));
	assert_true(may_have("a", NULL, -1));
	assert_false(may_have("a", NULL, 0));
	assert_false(may_have("a", "c", 0));
	assert_true(may_have("b", NULL, 7));
	assert_false(may_have("b", "c", 0));
	assert_true(may_have("v", NULL, -1));
	assert_false(may_have("v", "c", 0));
	assert_false(may_have("x", NULL, -1));
	/* A structure as an option, after an option that is not one. */
	options[1].type = &structure;
	assert_true(may_have("v", "a", 0));
	assert_false(may_have("v", "x", 0));
	options[1].type = &nothing;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_labels),
			cmocka_unit_test(test_labels_of_descriptions),
			cmocka_unit_test(test_numbers),
			cmocka_unit_test(test_scalars),
			cmocka_unit_test(test_members),
			cmocka_unit_test(test_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
