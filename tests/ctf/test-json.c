/* SPDX-License-Identifier: MIT */
/*
 * JSON text to a tree: each escape, number and keyword, what is refused and at which position, and
 * the limits of depth and memory.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctf/read/ctf2-json.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define DEPTH_MAX 2200

static const char *begin;

static void print_value(FILE *out, const struct ctf2_json *value)
{
	const char *separator = "";

	if (value->key)
		(void)fprintf(out, "%s=", value->key);
	switch (value->kind) {
	case JSON_INTEGER:
		(void)fprintf(out, "%s%" PRIu64, value->negative ? "-" : "",
				value->negative ? 0 - value->number : value->number);
		break;
	case JSON_NUMBER: (void)fputs("number", out); break;
	case JSON_STRING: (void)fprintf(out, "'%s'", value->text); break;
	case JSON_TRUE: (void)fputs("true", out); break;
	case JSON_FALSE: (void)fputs("false", out); break;
	case JSON_NULL: (void)fputs("null", out); break;
	case JSON_OBJECT:
	case JSON_ARRAY:
		(void)fprintf(out, "%c%u:", value->kind == JSON_ARRAY ? '[' : '{', value->count);
		for (const struct ctf2_json *inner = value->first; inner; inner = inner->next) {
			(void)fputs(separator, out);
			print_value(out, inner);
			separator = ",";
		}
		(void)fputc(value->kind == JSON_ARRAY ? ']' : '}', out);
		break;
	}
	(void)fprintf(out, "@%td-%td", value->begin - begin, value->end - begin);
}

static void parse_sized(const char *text, size_t size, char *result, size_t capacity)
{
	struct ctf_arena *arena = ctf_arena_create();
	FILE *out = fmemopen(result, capacity, "w");
	/* A separate copy, so that the address sanitizer detects reads behind it. */
	char *copy = malloc(size + !size);
	struct json_error error;
	struct ctf2_json *value;

	memcpy(copy, text, size);
	begin = copy;
	value = json_parse(arena, copy, size, SIZE_MAX, &error);
	if (value)
		print_value(out, value);
	else
		(void)fprintf(out, "%td: %s", error.at - copy, error.why);
	(void)fclose(out);
	ctf_arena_destroy(arena);
	free(copy);
}

static const struct {
	const char *text, *expected;
} cases[] = {
		{"\"\\u0041\"", "'A'@0-8"},
		{"\"\\u00e9\"", "'\xc3\xa9'@0-8"},
		{"\"\\u20ac\"", "'\xe2\x82\xac'@0-8"},
		{"\"\\ud83d\\udce6\"", "'\xf0\x9f\x93\xa6'@0-14"},
		{"\"\\u0000\"", "'\xef\xbf\xbd'@0-8"},
		{"\"\\u0001\"", "'\x01'@0-8"},
		{"\"\\ud800\"", "'\xef\xbf\xbd'@0-8"},
		{"\"\\udfff\"", "'\xef\xbf\xbd'@0-8"},
		{"\"\\ue000\"", "'\xee\x80\x80'@0-8"},
		{"\"\\ud7ff\"", "'\xed\x9f\xbf'@0-8"},
		{"\"\\ud800x\"", "'\xef\xbf\xbdx'@0-9"},
		{"\"\\ud83d\\u0041\"",
				"'\xef\xbf\xbd"
				"A'@0-14"},
		{"\"\\udbff\\udfff\"", "'\xf4\x8f\xbf\xbf'@0-14"},
		{"\"\\uDBFF\\uDFFF\"", "'\xf4\x8f\xbf\xbf'@0-14"},
		{"\"\\ud800\\udc00\"", "'\xf0\x90\x80\x80'@0-14"},
		{"\"\\udc00\\ud800\"", "'\xef\xbf\xbd\xef\xbf\xbd'@0-14"},
		{"\"\\ud800\\ud800\"", "'\xef\xbf\xbd\xef\xbf\xbd'@0-14"},
		{"\"\\ud800\\udbff\"", "'\xef\xbf\xbd\xef\xbf\xbd'@0-14"},
		{"\"\\ud800\\ue000\"", "'\xef\xbf\xbd\xee\x80\x80'@0-14"},
		{"\"\\u00\"", "3: an escape sequence is wrong"},
		{"\"\\u004\"", "7: an escape sequence is wrong"},
		{"\"\\u00g0\"", "6: an escape sequence is wrong"},
		{"\"\\u00G0\"", "6: an escape sequence is wrong"},
		{"\"\\u007f\"", "'\x7f'@0-8"},
		{"\"\\u0080\"", "'\xc2\x80'@0-8"},
		{"\"\\u07ff\"", "'\xdf\xbf'@0-8"},
		{"\"\\u0800\"", "'\xe0\xa0\x80'@0-8"},
		{"\"\\uffff\"", "'\xef\xbf\xbf'@0-8"},
		{"\"\\uabcf\"", "'\xea\xaf\x8f'@0-8"},
		{"\"\\uABCF\"", "'\xea\xaf\x8f'@0-8"},
		{"\"\\u0129\"", "'\xc4\xa9'@0-8"},
		{"\"\\u00:0\"", "6: an escape sequence is wrong"},
		{"\"\\u00`0\"", "6: an escape sequence is wrong"},
		{"\"\\u00/0\"", "6: an escape sequence is wrong"},
		{"\"\\u00@0\"", "6: an escape sequence is wrong"},
		{"\"\\ud83d\\n\"", "'\xef\xbf\xbd\x0a'@0-10"},
		{"\"\\ud83d\\u12\"", "9: an escape sequence is wrong"},
		{"\"\\ud83d\\u12g4\"", "12: an escape sequence is wrong"},
		{"\"\\ud83d\\x\"", "9: an escape sequence is wrong"},
		{"\"\\ud83dud83d\"", "'\xef\xbf\xbdud83d'@0-13"},
		{"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "'\"\\/\x08\x0c\x0a\x0d\x09'@0-18"},
		{"\"\\a\"", "3: an escape sequence is wrong"},
		{"\"\\U0041\"", "3: an escape sequence is wrong"},
		{"\"\\0\"", "3: an escape sequence is wrong"},
		{"\"x\\ty\"", "'x\x09y'@0-6"},
		{"\"\\ud83d\\udce6\\ud83d\\udce7\"", "'\xf0\x9f\x93\xa6\xf0\x9f\x93\xa7'@0-26"},
		{"\"\\u1234\\u5678\"", "'\xe1\x88\xb4\xe5\x99\xb8'@0-14"},
		{"\"\\ud8ff\\udcab\"", "'\xf1\x8f\xb2\xab'@0-14"},
		{"\"\\ud800\\udfffz\"", "'\xf0\x90\x8f\xbfz'@0-15"},
		{"\"\\udbff\\udc00\"", "'\xf4\x8f\xb0\x80'@0-14"},
		{"\"\x1f\"", "1: control character in a string"},
		{"\"a\x7f\"", "'a\x7f'@0-4"},
		{"\" \"", "' '@0-3"},
		{"\"\xc3\xa9\"", "'\xc3\xa9'@0-4"},
		{"\"\x0a\"", "1: control character in a string"},
		{"\"\"", "''@0-2"},
		{"\"", "1: a string has no end"},
		{"\"a", "1: a string has no end"},
		{"\"\\\"", "1: a string has no end"},
		{"\"\\", "1: a string has no end"},
		{"\"a\\\"b\"", "'a\"b'@0-6"},
		{"\"\\u", "1: a string has no end"},
		{"\"\\u004", "1: a string has no end"},
		{"\"\\u0041", "1: a string has no end"},
		{"\"\\ud83d", "1: a string has no end"},
		{"\"\\ud83d\\", "1: a string has no end"},
		{"\"\\ud83d\\u", "1: a string has no end"},
		{"\"\\ud83d\\udce6", "1: a string has no end"},
		{"\"a\" \"b\"", "4: unexpected data after it"},
		{"0", "0@0-1"},
		{"-0", "0@0-2"},
		{"-1", "-1@0-2"},
		{"10", "10@0-2"},
		{"01", "0: a value is missing"},
		{"-01", "1: a value is missing"},
		{"00", "0: a value is missing"},
		{"7", "7@0-1"},
		{"9", "9@0-1"},
		{"90", "90@0-2"},
		{"18446744073709551615", "18446744073709551615@0-20"},
		{"18446744073709551616", "number@0-20"},
		{"18446744073709551614", "18446744073709551614@0-20"},
		{"18446744073709551610", "18446744073709551610@0-20"},
		{"18446744073709551620", "number@0-20"},
		{"184467440737095516150", "number@0-21"},
		{"9223372036854775807", "9223372036854775807@0-19"},
		{"9223372036854775808", "9223372036854775808@0-19"},
		{"-9223372036854775807", "-9223372036854775807@0-20"},
		{"-9223372036854775808", "-9223372036854775808@0-20"},
		{"-9223372036854775809", "number@0-20"},
		{"1.5", "number@0-3"},
		{"1.", "2: a value is missing"},
		{"1.e", "2: a value is missing"},
		{"1e5", "number@0-3"},
		{"1e", "2: a value is missing"},
		{"1e+", "3: a value is missing"},
		{"1e-", "3: a value is missing"},
		{"1e-5", "number@0-4"},
		{"1E+05", "number@0-5"},
		{"1e+-5", "3: a value is missing"},
		{".5", "0: a value is missing"},
		{"-", "1: a value is missing"},
		{"+1", "0: a value is missing"},
		{"1.5e3", "number@0-5"},
		{"1.0", "number@0-3"},
		{"0.5", "number@0-3"},
		{"-0.5", "number@0-4"},
		{"1a", "1: unexpected data after it"},
		{"1:", "1: unexpected data after it"},
		{"1/", "1: unexpected data after it"},
		{"-a", "1: a value is missing"},
		{"0x1", "1: unexpected data after it"},
		{"1e5.5", "3: unexpected data after it"},
		{"1.5.5", "3: unexpected data after it"},
		{"--1", "1: a value is missing"},
		{"12 ", "12@0-2"},
		{"1 2", "2: unexpected data after it"},
		{"true", "true@0-4"},
		{"false", "false@0-5"},
		{"null", "null@0-4"},
		{"tru", "0: a value is missing"},
		{"fals", "0: a value is missing"},
		{"nul", "0: a value is missing"},
		{"truee", "4: unexpected data after it"},
		{"t", "0: a value is missing"},
		{"f", "0: a value is missing"},
		{"n", "0: a value is missing"},
		{"True", "0: a value is missing"},
		{"[true,false,null]", "[3:true@1-5,false@6-11,null@12-16]@0-17"},
		{"truefalse", "4: unexpected data after it"},
		{"x", "0: a value is missing"},
		{"", "0: a value is missing"},
		{"[]", "[0:]@0-2"},
		{"[ ]", "[0:]@0-3"},
		{"[1]", "[1:1@1-2]@0-3"},
		{"[1,2]", "[2:1@1-2,2@3-4]@0-5"},
		{"[1 2]", "3: \",\" is missing"},
		{"[1,]", "3: a value is missing"},
		{"[,1]", "1: a value is missing"},
		{"[,]", "1: a value is missing"},
		{"[", "1: a value is missing"},
		{"[1", "2: \",\" is missing"},
		{"[1,", "3: a value is missing"},
		{"]", "0: a value is missing"},
		{"[1}", "2: \",\" is missing"},
		{"[[],[1],{}]", "[3:[0:]@1-3,[1:1@5-6]@4-7,{0:}@8-10]@0-11"},
		{" [ 1 , 2 ] ", "[2:1@3-4,2@7-8]@1-10"},
		{"\x09[\x0d\x0a"
		 "1]",
				"[1:1@4-5]@1-6"},
		{"\x0b"
		 "1",
				"0: a value is missing"},
		{"[1]]", "3: unexpected data after it"},
		{"[1],", "3: unexpected data after it"},
		{"{}", "{0:}@0-2"},
		{"{ }", "{0:}@0-3"},
		{"{\"a\":1}", "{1:a=1@5-6}@0-7"},
		{"{\"a\" : 1 , \"b\" : [2]}", "{2:a=1@7-8,b=[1:2@18-19]@17-20}@0-21"},
		{"{\"a\"}", "4: \":\" is missing"},
		{"{\"a\":}", "5: a value is missing"},
		{"{\"a\":1,}", "7: a name is missing"},
		{"{a:1}", "1: a name is missing"},
		{"{\"a\":1 \"b\":2}", "7: \",\" is missing"},
		{"{1:2}", "1: a name is missing"},
		{"{", "1: a name is missing"},
		{"{\"a", "2: a string has no end"},
		{"{\"a\"", "4: \":\" is missing"},
		{"{\"a\":", "5: a value is missing"},
		{"{\"a\":1", "6: \",\" is missing"},
		{"{\"a\":1,", "7: a name is missing"},
		{"{\"a\":1]", "6: \",\" is missing"},
		{"{\"\":{\"\":\"\"}}", "{1:={1:=''@8-10}@4-11}@0-12"},
		{"{\"\\u0041\\n\":\"\\t\"}", "{1:A\x0a='\x09'@12-16}@0-17"},
		{"{\"\\x\":1}", "4: an escape sequence is wrong"},
		{"{\"a\":1}}", "7: unexpected data after it"},
		{" ", "1: a value is missing"},
		{"\x0a ", "2: a value is missing"},
};

static void test_cases(void **state)
{
	char result[1024];

	(void)state;
	for (unsigned int i = 0; i < COUNT(cases); i++) {
		parse_sized(cases[i].text, strlen(cases[i].text), result, sizeof(result));
		assert_string_equal(result, cases[i].expected);
	}
}

/* A NUL is not valid in JSON, neither in a value nor after it. */
static void test_nuls(void **state)
{
	char result[64];

	(void)state;
	parse_sized("1\0", 2, result, sizeof(result));
	assert_string_equal(result, "1: unexpected data after it");
	parse_sized("\"a\0\"", 4, result, sizeof(result));
	assert_string_equal(result, "2: control character in a string");
	parse_sized("\"\\\0\"", 4, result, sizeof(result));
	assert_string_equal(result, "3: an escape sequence is wrong");
	parse_sized("\0", 1, result, sizeof(result));
	assert_string_equal(result, "0: a value is missing");
	parse_sized("[1,\0", 4, result, sizeof(result));
	assert_string_equal(result, "3: a value is missing");
}

static void test_depth(void **state)
{
	(void)state;
	for (unsigned int depth = DEPTH_MAX - 1; depth < DEPTH_MAX + 2; depth++) {
		struct ctf_arena *arena = ctf_arena_create();
		char *text = malloc(2 * DEPTH_MAX + 4);
		struct json_error error;
		struct ctf2_json *value;

		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		value = json_parse(arena, text, 2 * (size_t)depth, SIZE_MAX, &error);
		if (depth <= DEPTH_MAX) {
			assert_non_null(value);
		} else {
			assert_null(value);
			assert_string_equal(error.why, "it is nested too deep");
			assert_ptr_equal(error.at, text + DEPTH_MAX);
		}
		/* Adjacent values are not nested deeper. */
		memset(text, ' ', 2 * (size_t)depth);
		for (unsigned int i = 0; i < depth; i++)
			memcpy(text + 2 * (size_t)i, "1,", 2);
		text[0] = '[';
		text[2 * (size_t)depth - 1] = ']';
		text[1] = '1';
		assert_non_null(json_parse(arena, text, 2 * (size_t)depth, SIZE_MAX, &error));
		ctf_arena_destroy(arena);
		free(text);
	}
}

/* More memory than the limit is an error; exactly the limit is not. */
static void test_memory(void **state)
{
	static const char text[] = "[1,2]";
	struct ctf_arena *arena = ctf_arena_create(), *other = ctf_arena_create();
	struct json_error error;
	size_t one;

	(void)state;
	assert_non_null(json_parse(arena, "1", 1, SIZE_MAX, &error));
	one = ctf_arena_used(arena);
	assert_true(one >= sizeof(struct ctf2_json) && one < sizeof(struct ctf2_json) + 16);
	assert_non_null(json_parse(other, text, 5, 2 * one, &error));
	assert_int_equal(ctf_arena_used(other), 3 * one);
	ctf_arena_destroy(other);
	other = ctf_arena_create();
	assert_null(json_parse(other, text, 5, 2 * one - 1, &error));
	assert_string_equal(error.why, "it takes too much memory");
	assert_ptr_equal(error.at, text + 3);
	ctf_arena_destroy(other);
	ctf_arena_destroy(arena);
}

static void test_members(void **state)
{
	static const char text[] = "{\"a\":1,\"b\":2,\"a\":3}";
	struct ctf_arena *arena = ctf_arena_create();
	struct json_error error;
	const struct ctf2_json *object = json_parse(arena, text, strlen(text), SIZE_MAX, &error);

	(void)state;
	assert_int_equal(json_member(object, "a")->number, 3);
	assert_int_equal(json_member(object, "b")->number, 2);
	assert_null(json_member(object, "c"));
	assert_null(json_member(object->first, "a"));
	assert_null(json_member(NULL, "a"));
	ctf_arena_destroy(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_cases),
			cmocka_unit_test(test_nuls),
			cmocka_unit_test(test_depth),
			cmocka_unit_test(test_memory),
			cmocka_unit_test(test_members),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
