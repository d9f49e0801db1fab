/* SPDX-License-Identifier: MIT */
/*
 * JSON texts, each with its exact result or error; texts of arbitrary bytes; requests that change a
 * definition, each with its answer.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/inside/utf8.h"
#include "sessions/definition-change.h"
#include "sessions/definition.h"
#include "sessions/json.h"
#include "sessions/text.h"

static struct error error;

/* ---- parsing ---- */

static const struct {
	const char *text, *wanted;
} parsed[] = {
		{"{}", "{}"},
		{"{\"a\":1}", "{\"a\":1}"},
		{" { \"a\" : 1 } ", "this is not a single JSON object"},
		{"{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":2}"},
		{"{\"a\":[]}", "{\"a\":[]}"},
		{"{\"a\":[1,2]}", "{\"a\":[1,2]}"},
		{"{\"a\":{\"b\":{}}}", "{\"a\":{\"b\":{}}}"},
		{"{\"a\":null}", "{\"a\":null}"},
		{"{\"a\":true}", "{\"a\":true}"},
		{"{\"a\":false}", "{\"a\":false}"},
		{"{\"a\":-0}", "{\"a\":0}"},
		{"{\"a\":0}", "{\"a\":0}"},
		{"{\"a\":-1}", "{\"a\":-1}"},
		{"{\"a\":9223372036854775807}", "{\"a\":9223372036854775807}"},
		{"{\"a\":9223372036854775808}", "{\"a\":9223372036854775808}"},
		{"{\"a\":18446744073709551615}", "{\"a\":18446744073709551615}"},
		{"{\"a\":18446744073709551616}", "{\"a\":18446744073709551616}"},
		{"{\"a\":-9223372036854775808}", "{\"a\":-9223372036854775808}"},
		{"{\"a\":-9223372036854775809}", "{\"a\":-9223372036854775809}"},
		{"{\"a\":1.5}", "{\"a\":1.5}"},
		{"{\"a\":1e3}", "{\"a\":1e3}"},
		{"{\"a\":1E+3}", "{\"a\":1E+3}"},
		{"{\"a\":1e-3}", "{\"a\":1e-3}"},
		{"{\"a\":0.5}", "{\"a\":0.5}"},
		{"{\"a\":\"\"}", "{\"a\":\"\"}"},
		{"{\"a\":\"x\"}", "{\"a\":\"x\"}"},
		{"{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}", "{\"a\":\"\\\"\\\\/\\b\\f\\n\\r\\t\"}"},
		{"{\"a\":\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\"}",
				"{\"a\":\"A\303\251\342\202\254\360\237\230\200\"}"},
		{"{\"a\":\"\\ud83dx\"}", "{\"a\":\"\357\277\275x\"}"},
		{"{\"a\":\"\\ud83d\\u0041\"}", "{\"a\":\"\357\277\275A\"}"},
		{"{\"a\":\"\\udc00\"}", "{\"a\":\"\357\277\275\"}"},
		{"{\"a\":\"\\u007f\\u0080\\u07ff\\u0800\\uffff\"}",
				"{\"a\":\"\177\302\200\337\277\340\240\200\357\277\277\"}"},
		{"{\"a\":\"\\u0000\"}", "{\"a\":\"\\u0000\"}"},
		{"{\"a\\u0000\":1}", "this is not JSON: byte 11: a NUL in the name of a member"},
		{"\011\015\012{}\012", "this is not a single JSON object"},
		{"", "this is not JSON: byte 1: the text ends too early"},
		{"{", "this is not JSON: byte 2: the text ends too early"},
		{"{\"", "this is not JSON: byte 3: the text ends too early"},
		{"{\"a", "this is not JSON: byte 4: the text ends too early"},
		{"{\"a\"", "this is not JSON: byte 5: the text ends too early"},
		{"{\"a\":", "this is not JSON: byte 6: the text ends too early"},
		{"{\"a\":1", "this is not JSON: byte 7: the text ends too early"},
		{"{\"a\":1,", "this is not JSON: byte 8: the text ends too early"},
		{"{\"a\":1,}", "this is not JSON: byte 8: the name of a member must be a string"},
		{"{,}", "this is not JSON: byte 2: the name of a member must be a string"},
		{"{\"a\" 1}", "this is not JSON: byte 6: a member without a colon"},
		{"{a:1}", "this is not JSON: byte 2: the name of a member must be a string"},
		{"[]", "this is not a single JSON object"},
		{"[1]", "this is not a single JSON object"},
		{"1", "this is not a single JSON object"},
		{"\"x\"", "this is not a single JSON object"},
		{"null", "this is not a single JSON object"},
		{"{}x", "this is not a single JSON object"},
		{"{} {}", "this is not a single JSON object"},
		{"{\"a\":01}", "this is not JSON: byte 7: a comma or the end was expected"},
		{"{\"a\":-}", "this is not JSON: byte 7: a number without digits"},
		{"{\"a\":+1}", "this is not JSON: byte 6: unexpected character"},
		{"{\"a\":.5}", "this is not JSON: byte 6: unexpected character"},
		{"{\"a\":1.}", "this is not JSON: byte 8: a number without digits"},
		{"{\"a\":1.e1}", "this is not JSON: byte 8: a number without digits"},
		{"{\"a\":1e}", "this is not JSON: byte 8: a number without digits"},
		{"{\"a\":1e+}", "this is not JSON: byte 9: a number without digits"},
		{"{\"a\":tru}", "this is not JSON: byte 6: unexpected character"},
		{"{\"a\":True}", "this is not JSON: byte 6: unexpected character"},
		{"{\"a\":nul}", "this is not JSON: byte 6: unexpected character"},
		{"{\"a\":[1,]}", "this is not JSON: byte 9: unexpected character"},
		{"{\"a\":[1 2]}", "this is not JSON: byte 9: a comma or the end was expected"},
		{"{\"a\":[}", "this is not JSON: byte 7: unexpected character"},
		{"{\"a\":[", "this is not JSON: byte 7: the text ends too early"},
		{"{\"a\":\"\\x\"}", "this is not JSON: byte 9: an unknown escape"},
		{"{\"a\":\"\\u12\"}",
				"this is not JSON: byte 12: an escape of no four hexadecimal digits"},
		{"{\"a\":\"\\u12g4\"}",
				"this is not JSON: byte 12: an escape of no four hexadecimal digits"},
		{"{\"a\":\"\\uG234\"}",
				"this is not JSON: byte 10: an escape of no four hexadecimal digits"},
		{"{\"a\":\"\\", "this is not JSON: byte 8: the text ends too early"},
		{"{\"a\":\"\\u", "this is not JSON: byte 9: the text ends too early"},
		{"{\"a\":\"\001\"}", "this is not JSON: byte 7: a control character in a string"},
		{"{\"a\":\"\037\"}", "this is not JSON: byte 7: a control character in a string"},
		{"{\"a\":\" \"}", "{\"a\":\" \"}"},
		{"{\"a\":\"b\012c\"}", "this is not JSON: byte 9: a control character in a string"},
		{"{\"a\":1}}", "this is not a single JSON object"},
		{"{\"a\":@}", "this is not JSON: byte 6: unexpected character"},
		{"{\"a\":\"b}", "this is not JSON: byte 9: the text ends too early"},
		{"{1:2}", "this is not JSON: byte 2: the name of a member must be a string"},
		{"{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":1}}}}}}}}}}}}}}}}",
				"this is not JSON: byte 81: nesting too deep"},
		{"{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":1}}}}}}}}}}}}}}}",
				"{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":1}}}}}}}}}}}}}}}"},
		{"{\"a\":[[[[[[[[[[[[[[1]]]]]]]]]]]]]]}", "{\"a\":[[[[[[[[[[[[[[1]]]]]]]]]]]]]]}"},
		{"{\"a\":[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]}",
				"this is not JSON: byte 21: nesting too deep"},
		{"{\"a\":\"\303\244\"}", "{\"a\":\"\303\244\"}"},
		{"{\"a\":\"b\",\"a\":\"c\"}", "{\"a\":\"c\"}"},
};

static void test_parser(void **unused)
{
	unsigned int differing = 0;

	(void)unused;
	for (size_t i = 0; i < sizeof(parsed) / sizeof(*parsed); i++) {
		size_t size = strlen(parsed[i].text);
		/* The copy ends with the text, so that a sanitizer detects a read after it. */
		char *copy = malloc(size + 1);
		struct json_object *object;
		const char *shown;

		assert_non_null(copy);
		memcpy(copy, parsed[i].text, size);
		error = (struct error){.kind = ERROR_NONE};
		object = json_read(copy, size, &error);
		shown = object ? json_object_to_json_string_ext(object,
						 JSON_C_TO_STRING_PLAIN |
								 JSON_C_TO_STRING_NOSLASHESCAPE)
			       : error.text;
		if (strcmp(shown, parsed[i].wanted) != 0) {
			print_message("<P%zu>%s</>\n", i, shown);
			differing++;
		}
		json_object_put(object);
		free(copy);
	}
	assert_int_equal(differing, 0);
	assert_null(json_read("{\"a\":\"\xff\"}", 9, &error));
	assert_string_equal(error.text, "this is not JSON: byte 7: invalid utf-8 string");
}

/* ---- members ---- */

static void test_members(void **unused)
{
	static const char *const choices[] = {"first", "second", NULL},
				 *const names[] = {"n", "t", NULL};
	static const char text[] =
			"{\"n\":7,\"t\":\"x\",\"f\":true,\"a\":[\"p\",\"q\"],\"c\":\"second\",\"z\":null,\"e\":\"\",\"w\":\"one\"}";
	struct json_object *json = json_read(text, strlen(text), &error), *array;
	struct definition_strings strings = {.count = 0}, copy;
	uint64_t number = 5;
	unsigned int choice = 9;
	const char *found = "before";
	bool flag = false;

	(void)unused;
	assert_non_null(json);
	/* A missing or null member does not change the value. */
	assert_int_equal(json_number(json, "missing", 9, &number, &error), 0);
	assert_int_equal(json_number(json, "z", 9, &number, &error), 0);
	assert_int_equal(number, 5);
	assert_int_equal(json_number(json, "n", 7, &number, &error), 0);
	assert_int_equal(number, 7);
	assert_int_equal(json_number(json, "n", 6, &number, &error), -ERANGE);
	assert_string_equal(error.text, "\"n\" is 7, which is more than 6");
	assert_int_equal(json_number(json, "t", 9, &number, &error), -EINVAL);
	assert_string_equal(error.text, "\"t\" is not an integer of 0 or more");
	assert_int_equal(json_text(json, "z", &found, &error), 0);
	assert_string_equal(found, "before");
	assert_int_equal(json_text(json, "t", &found, &error), 0);
	assert_string_equal(found, "x");
	assert_int_equal(json_text(json, "n", &found, &error), -EINVAL);
	assert_string_equal(error.text, "\"n\" is not a text");
	assert_int_equal(json_text(json, "e", &found, &error), -EINVAL);
	assert_string_equal(error.text, "\"e\" is an empty text");
	assert_int_equal(json_flag(json, "z", &flag, &error), 0);
	assert_false(flag);
	assert_int_equal(json_flag(json, "f", &flag, &error), 0);
	assert_true(flag);
	assert_int_equal(json_flag(json, "n", &flag, &error), -EINVAL);
	assert_string_equal(error.text, "\"n\" is neither true nor false");
	assert_int_equal(json_choice(json, "z", choices, &choice, &error), 0);
	assert_int_equal(choice, 9);
	assert_int_equal(json_choice(json, "c", choices, &choice, &error), 0);
	assert_int_equal(choice, 1);
	assert_int_equal(json_choice(json, "t", choices, &choice, &error), -EINVAL);
	assert_string_equal(error.text,
			"\"t\" is \"x\", which is not one of its values (\"first\", ...)");
	assert_int_equal(json_array(json, "z", 2, &array, &error), 0);
	assert_null(array);
	assert_int_equal(json_array(json, "a", 2, &array, &error), 0);
	assert_int_equal(json_object_array_length(array), 2);
	assert_int_equal(json_array(json, "a", 1, &array, &error), -E2BIG);
	assert_string_equal(error.text, "\"a\" has more than 1 elements");
	assert_int_equal(json_array(json, "n", 1, &array, &error), -EINVAL);
	assert_string_equal(error.text, "\"n\" is not an array");
	assert_int_equal(json_only(json, names, "a thing", &error), -EINVAL);
	assert_string_equal(error.text, "a thing has no member \"f\"");
	/* Words, appended to others. */
	assert_int_equal(json_get_strings(json, "a", &strings, &error), 0);
	assert_int_equal(json_get_strings(json, "w", &strings, &error), 0);
	assert_int_equal(json_get_strings(json, "z", &strings, &error), 0);
	assert_int_equal(strings.count, 3);
	assert_string_equal(strings.items[1], "q");
	assert_string_equal(strings.items[2], "one");
	assert_int_equal(json_get_strings(json, "n", &strings, &error), -EINVAL);
	assert_true(strings_copy(&copy, &strings));
	assert_true(strings_same(&copy, &strings));
	assert_true(strings_have(&copy, "p"));
	assert_false(strings_have(&copy, "r"));
	assert_false(strings_remove(&copy, "r"));
	assert_true(strings_remove(&copy, "p"));
	assert_int_equal(copy.count, 2);
	assert_string_equal(copy.items[0], "q");
	assert_false(strings_same(&copy, &strings));
	assert_false(strings_same(&strings, &copy));
	strings_free(&copy);
	assert_int_equal(copy.count, 0);
	strings_free(&strings);
	json_object_put(json);
}

/* A text of 16 KiB, and 1024 elements; then one more. */
static void test_limits(void **unused)
{
	static char text[70000];

	(void)unused;
	for (unsigned int beyond = 0; beyond < 2; beyond++) {
		struct definition_strings strings = {.count = 0};
		struct json_object *json;
		const char *found;

		strcpy(text, "{\"t\":\"");
		memset(text + 6, 'x', 16384 + beyond);
		strcpy(text + 6 + 16384 + beyond, "\"}");
		json = json_read(text, strlen(text), &error);
		assert_int_equal(json_text(json, "t", &found, &error), beyond ? -EINVAL : 0);
		if (beyond)
			assert_string_equal(error.text, "\"t\" is longer than 16 KiB");
		json_object_put(json);
		strcpy(text, "{\"t\":[\"a\"");
		for (unsigned int i = 1; i < 1024 + beyond; i++)
			strcat(text, ",\"a\"");
		strcat(text, "]}");
		json = json_read(text, strlen(text), &error);
		assert_int_equal(
				json_get_strings(json, "t", &strings, &error), beyond ? -E2BIG : 0);
		assert_int_equal(strings.count, beyond ? 0 : 1024);
		strings_free(&strings);
		json_object_put(json);
	}
}

/* ---- texts of arbitrary bytes ---- */

/* The definition of RFC 3629, by its table. */
static size_t slow_character(const unsigned char *b, size_t size)
{
	static const struct {
		unsigned char low, high, second_low, second_high, length;
	} rows[] = {{0x00, 0x7f, 0, 0, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
			{0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
			{0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
			{0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (*b < rows[i].low || *b > rows[i].high || rows[i].length > size)
			continue;
		if (rows[i].length > 1 && (b[1] < rows[i].second_low || b[1] > rows[i].second_high))
			return 0;
		for (size_t k = 2; k < rows[i].length; k++)
			if (b[k] < 0x80 || b[k] > 0xbf)
				return 0;
		return rows[i].length;
	}
	return 0;
}

static void test_characters(void **unused)
{
	static const unsigned char third[] = {0x00, 0x7f, 0x80, 0x81, 0xbf, 0xc0};

	(void)unused;
	for (unsigned int first = 0; first < 256; first++)
		for (unsigned int second = 0; second < 256; second++)
			for (unsigned int i = 0; i < 36; i++) {
				const unsigned char bytes[] = {(unsigned char)first,
						(unsigned char)second, third[i / 6], third[i % 6]};

				for (size_t size = 1; size <= 4; size++)
					if (utf8_length(bytes, size) != slow_character(bytes, size))
						fail_msg("%02x %02x %02x %02x, %zu bytes", first,
								second, bytes[2], bytes[3], size);
			}
}

/* Converts a text to JSON and back. */
static void assert_round(const char *bytes, size_t size, const char *printed)
{
	struct json_object *object = json_object_new_object(), *back, *member;
	struct control_text text;

	assert_true(json_put(object, "t", json_object_new_string_len(bytes, (int)size)));
	assert_int_equal(control_text_print(object, JSON_C_TO_STRING_PLAIN, &text), 0);
	assert_string_equal(text.text, printed);
	assert_int_equal(text.size, strlen(printed));
	back = json_read(text.text, text.size, &error);
	assert_true(json_object_object_get_ex(back, "t", &member));
	assert_int_equal(json_object_get_string_len(member), size);
	assert_memory_equal(json_object_get_string(member), bytes, size);
	json_object_put(back);
	json_object_put(object);
	control_text_free(&text);
	assert_null(text.made);
}

static void test_any_bytes(void **unused)
{
	char text[] = "a\\udc80b\\udcffc\\udc7f\\udd00\\ud83d\\udc80\\ud83d\\\\udc80\\";
	size_t size;

	(void)unused;
	assert_round("plain", 5, "{\"t\":\"plain\"}");
	assert_round("a/b", 3, "{\"t\":\"a/b\"}");
	assert_round("\xff", 1, "{\"t\":\"\\udcff\"}");
	assert_round("\x80z\xc3\xa4\xc3", 5, "{\"t\":\"\\udc80z\xc3\xa4\\udcc3\"}");
	assert_round("\x90\x89\x99\xa0\xaf\xfa", 6,
			"{\"t\":\"\\udc90\\udc89\\udc99\\udca0\\udcaf\\udcfa\"}");
	assert_round("\xe2\x82", 2, "{\"t\":\"\\udce2\\udc82\"}");
	assert_round("\xc3\xa4\xf0\x9f\x98\x80\xfe\xfe", 8,
			"{\"t\":\"\xc3\xa4\xf0\x9f\x98\x80\\udcfe\\udcfe\"}");
	/*
	 * The second half of a surrogate pair is not a byte, nor is a sequence that no encoder
	 * writes.
	 */
	size = control_text_restore(text, strlen(text));
	assert_int_equal(size, strlen(text));
	assert_string_equal(text,
			"a\x80"
			"b\xff"
			"c\\udc7f\\udd00\\ud83d\\udc80\\ud83d\\\\udc80\\");
}

/* ---- answers ---- */

static void test_answers(void **unused)
{
	static const char *const texts[] = {"{\"ok\":true}", "{\"ok\":false}", "{}",
			"{\"ok\":false,\"kind\":\"permission\",\"error\":\"no\",\"mend\":\"old\"}",
			"{\"ok\":false,\"error\":\"no\",\"mend\":\"old\",\"hint\":\"new\",\"where\":\"x > \",\"column\":4}"};
	struct error sent = {.kind = ERROR_PERMISSION,
			.text = "t",
			.hint = "m",
			.input = "w",
			.column = 3};
	struct json_object *json;

	(void)unused;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		json = json_read(texts[i], strlen(texts[i]), &error);
		error = (struct error){.kind = ERROR_NONE};
		assert_int_equal(json_answer(json, &error), i ? -EREMOTEIO : 0);
		json_object_put(json);
		if (i == 3) {
			assert_int_equal(error.kind, ERROR_PERMISSION);
			assert_string_equal(error.text, "no");
			assert_string_equal(error.hint, "old");
			assert_string_equal(error.input, "");
			assert_int_equal(error.column, 0);
		}
	}
	assert_string_equal(error.hint, "new");
	assert_string_equal(error.input, "x > ");
	assert_int_equal(error.column, 4);
	json = json_error(&sent);
	assert_string_equal(json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN),
			"{\"ok\":false,\"kind\":\"permission\",\"error\":\"t\",\"hint\":\"m\",\"mend\":\"m\",\"where\":\"w\",\"column\":3}");
	json_object_put(json);
	sent.input[0] = '\0';
	json = json_error(&sent);
	assert_false(json_object_object_get_ex(json, "column", NULL));
	json_object_put(json);
}

/* ---- requests, one after the other ---- */

static const struct {
	const char *verb;
	bool fixed;
	const char *request, *wanted;
} requests[] = {
		{"nope", false, "{}", "-22 0 2 \"nope\" does not change a definition |  |  0"},
		{"create", false, "{\"output\":\"o\"}",
				"-22 0 2 the output directory o is not an absolute path |  |  0"},
		{"create", false,
				"{\"output\":\"/o\",\"format\":\"ctf2\",\"compress\":3,\"huge-pages\":true,\"prefault\":true,\"symbols\":true,\"memory-limit\":1099511627777,\"rotate-size\":1048577,\"rotate-time\":1000000001,\"retain-size\":4194305,\"retain-age\":5000000001,\"retain-chunks\":7,\"trigger\":[\"event:app:x\"],\"to\":\"tcp://h:1\",\"spool\":70000,\"speed\":900,\"send-timeout\":3000000001}",
				"0 1 0  |  |  0"},
		{"create", false, "{\"output\":5}", "-22 0 2 \"output\" is not a text |  |  0"},
		{"create", false, "{\"format\":\"ctf3\"}",
				"-22 0 2 \"format\" is \"ctf3\", which is not one of its values (\"ctf1\", ...) |  |  0"},
		{"create", false, "{\"compress\":-1}",
				"-22 0 2 \"compress\" is not an integer of 0 or more |  |  0"},
		{"create", false, "{\"compress\":100}",
				"-34 0 2 \"compress\" is 100, which is more than 19 |  |  0"},
		{"create", false, "{\"huge-pages\":1}",
				"-22 0 2 \"huge-pages\" is neither true nor false |  |  0"},
		{"create", false, "{\"memory-limit\":9223372036854775808}",
				"-34 0 2 \"memory-limit\" is 9223372036854775808, which is more than 9223372036854775807 |  |  0"},
		{"create", false, "{\"retain-chunks\":4294967296}",
				"-34 0 2 \"retain-chunks\" is 4294967296, which is more than 4294967295 |  |  0"},
		{"create", false, "{\"retain-chunks\":1.5}",
				"-22 0 2 \"retain-chunks\" is not an integer of 0 or more |  |  0"},
		{"create", false, "{\"trigger\":[1]}", "-22 0 2 \"trigger\" is not a text |  |  0"},
		{"create", false, "{\"trigger\":\"\"}",
				"-22 0 2 \"trigger\" is an empty text |  |  0"},
		{"create", false, "{\"speed\":4294967296}",
				"-34 0 2 \"speed\" is 4294967296, which is more than 4294967295 |  |  0"},
		{"create", false, "{\"to\":\"\"}", "-22 0 2 \"to\" is an empty text |  |  0"},
		{"create", false, "{\"nope\":1}",
				"-22 0 2 this request has no member \"nope\" |  |  0"},
		{"enable-channel", false,
				"{\"channel\":\"c1\",\"mode\":\"overwrite\",\"buffer-size\":131072,\"per-thread\":5,\"context\":[\"vpid\"],\"event\":[\"a:*\"],\"filter\":\"x > 1\"}",
				"0 1 0  |  |  0"},
		{"enable-channel", false, "{\"channel\":\"c1\"}",
				"-17 0 5 the session s already has a channel \"c1\" | `enable-event` and `add-context` change what it records |  0"},
		{"enable-channel", false, "{}", "0 1 0  |  |  0"},
		{"enable-channel", false, "{\"channel\":\".c\"}",
				"-22 0 2 \".c\" is not a valid name of a channel: a name has at most 32 letters, digits, \"_\" and \"-\" |  |  0"},
		{"enable-channel", false, "{\"channel\":\"c2\",\"mode\":\"never\"}",
				"-22 0 2 \"mode\" is \"never\", which is not one of its values (\"discard\", ...) |  |  0"},
		{"enable-channel", false, "{\"channel\":\"c2\",\"block-timeout\":5000}",
				"-22 0 2 \"block-timeout\" has no effect in the channel c2: its mode is not block | write `--mode block`, or leave it out |  0"},
		{"enable-channel", false,
				"{\"channel\":\"c2\",\"mode\":\"block\",\"block-timeout\":999}",
				"-22 0 2 \"block-timeout\" is less than a microsecond |  |  0"},
		{"enable-channel", false,
				"{\"channel\":\"c2\",\"mode\":\"block\",\"block-timeout\":1000}",
				"0 1 0  |  |  0"},
		{"enable-channel", false, "{\"channel\":\"c3\",\"per-thread\":true}",
				"0 1 0  |  |  0"},
		{"enable-channel", false, "{\"channel\":\"c4\",\"per-thread\":100000}",
				"-34 0 2 \"per-thread\" is 100000, which is more than 4096 |  |  0"},
		{"enable-channel", true, "{\"channel\":\"c5\"}",
				"-16 0 5 cannot add or change channels of the session s after its start: \"c5\" | create another session, or destroy this one and create it again |  0"},
		{"enable-channel", false, "{\"channel\":\"c5\",\"context\":[\"nope\"]}",
				"-22 0 2 contexts, column 1: unknown context \"nope\": use vpid, vtid, procname, thread_name, cpu_id, ip, uid, gid, cgroup, net_ns, perf:thread:NAME, $app.PROVIDER:NAME or others | `side help contexts` lists them | nope 1"},
		{"enable-channel", false, "{\"channel\":\"c5\",\"event\":[\"a:\"]}",
				"-22 0 2 pattern \"a:\", column 3: missing event name after the \":\" |  |  0"},
		{"enable-channel", false,
				"{\"channel\":\"c5\",\"event\":[\"a\"],\"filter\":\"x >\"}",
				"-22 0 2 filter, column 4: expected a value, not the end | `side help filters` describes the syntax | x > 4"},
		{"enable-event", false, "{\"channel\":\"nope\",\"event\":[\"a\"]}",
				"0 1 0  |  |  0"},
		{"enable-event", false,
				"{\"channel\":\"c1\",\"event\":[\"b:*\"],\"event-context\":[\"vtid\"]}",
				"0 1 0  |  |  0"},
		{"enable-event", false,
				"{\"channel\":\"c1\",\"event\":[\"b:*\"],\"event-context\":[\"vtid\"]}",
				"0 0 0  |  |  0"},
		{"enable-event", false,
				"{\"channel\":\"c1\",\"event\":[\"b:*\"],\"event-context\":[\"ip\"]}",
				"0 1 0  |  |  0"},
		{"enable-event", false, "{\"channel\":\"c1\",\"event\":[\"c:\"]}",
				"-22 0 2 pattern \"c:\", column 3: missing event name after the \":\" |  |  0"},
		{"enable-event", false, "{\"channel\":\"c1\",\"event\":[\"c\"],\"filter\":\"(\"}",
				"-22 0 2 filter, column 2: expected a value, not the end | `side help filters` describes the syntax | ( 2"},
		{"enable-event", false,
				"{\"channel\":\"c1\",\"event\":[\"c\"],\"event-context\":[\"nope\"]}",
				"-22 0 2 contexts, column 1: unknown context \"nope\": use vpid, vtid, procname, thread_name, cpu_id, ip, uid, gid, cgroup, net_ns, perf:thread:NAME, $app.PROVIDER:NAME or others | `side help contexts` lists them | nope 1"},
		{"enable-event", false, "{\"channel\":\"c1\",\"event\":[\"\"]}",
				"-22 0 2 \"event\" is an empty text |  |  0"},
		{"enable-event", false, "{\"channel\":\"c1\",\"event\":7}",
				"-22 0 2 \"event\" is not an array |  |  0"},
		{"disable-event", false, "{\"channel\":\"c1\",\"event\":[\"nope:*\"]}",
				"0 1 0  |  |  0"},
		{"disable-event", false, "{\"channel\":\"c1\",\"event\":[\"!b:*\"]}",
				"-22 0 2 \"!b:*\": give the pattern to disable, without \"!\" |  |  0"},
		{"disable-event", false, "{\"channel\":\"c1\",\"event\":[\"b:x\"]}",
				"0 1 0  |  |  0"},
		{"disable-event", false, "{\"channel\":\"c1\",\"event\":[\"b:*\"]}",
				"0 1 0  |  |  0"},
		{"disable-event", false, "{\"channel\":\"nope\",\"event\":[\"b:*\"]}",
				"0 1 0  |  |  0"},
		{"disable-event", false, "{\"channel\":\"c1\",\"event\":[\"b:\"]}",
				"-22 0 2 pattern \"!b:\", column 4: missing event name after the \":\" |  |  0"},
		{"add-context", false, "{\"channel\":\"c1\",\"context\":[\"vtid\",\"procname\"]}",
				"0 1 0  |  |  0"},
		{"add-context", false, "{\"channel\":\"c1\",\"context\":[\"vtid\"]}",
				"0 0 0  |  |  0"},
		{"add-context", false, "{\"channel\":\"c1\"}",
				"-22 0 2 missing operand: the contexts to add | `side help contexts` lists them |  0"},
		{"add-context", false, "{\"channel\":\"c1\",\"context\":[\"nope\"]}",
				"-22 0 2 contexts, column 1: unknown context \"nope\": use vpid, vtid, procname, thread_name, cpu_id, ip, uid, gid, cgroup, net_ns, perf:thread:NAME, $app.PROVIDER:NAME or others | `side help contexts` lists them | nope 1"},
		{"add-context", false,
				"{\"channel\":\"c1\",\"context\":[\"ip\"],\"event\":[\"a:*\"]}",
				"0 1 0  |  |  0"},
		{"add-context", false,
				"{\"channel\":\"c1\",\"context\":[\"uid\"],\"event\":[\"nope:*\"]}",
				"-2 0 4 no events of the channel c1 were enabled with the pattern \"nope:*\" | `side list` shows the patterns that are enabled |  0"},
		{"add-context", false, "{\"channel\":\"nope\",\"context\":[\"uid\"]}",
				"0 1 0  |  |  0"},
		{"track", false, "{\"pid\":[11,12]}", "0 1 0  |  |  0"},
		{"track", false, "{\"pid\":[11]}", "0 0 0  |  |  0"},
		{"track", false,
				"{\"uid\":[3],\"gid\":[4],\"name\":[\"n*\"],\"cgroup\":[\"/c\"],\"container\":[\"k\"]}",
				"0 1 0  |  |  0"},
		{"track", false, "{\"name\":[\"m\"],\"exclude\":true}", "0 1 0  |  |  0"},
		{"track", false, "{\"pid\":[\"x\"]}",
				"-22 0 2 \"pid\" has an element that is not a number in its range |  |  0"},
		{"track", false, "{\"pid\":[-1]}",
				"-22 0 2 \"pid\" has an element that is not a number in its range |  |  0"},
		{"track", false, "{\"pid\":[4294967296]}",
				"-22 0 2 \"pid\" has an element that is not a number in its range |  |  0"},
		{"track", false, "{\"name\":[5]}", "-22 0 2 \"name\" is not a text |  |  0"},
		{"track", false, "{}", "0 0 0  |  |  0"},
		{"untrack", false, "{\"pid\":[11]}", "0 1 0  |  |  0"},
		{"untrack", false, "{\"pid\":[99]}",
				"-2 0 4 the session s does not track pid 99 | `side list` shows what a session tracks |  0"},
		{"untrack", false, "{\"name\":[\"zzz\"]}",
				"-2 0 4 the session s does not track name zzz | `side list` shows what a session tracks |  0"},
		{"untrack", false, "{\"name\":[\"m\"]}",
				"-2 0 4 the session s does not track name m | `side list` shows what a session tracks |  0"},
		{"untrack", false, "{\"name\":[\"m\"],\"exclude\":true}", "0 1 0  |  |  0"},
		{"untrack", false, "{\"uid\":[3]}", "0 1 0  |  |  0"},
		{"enable-probe", false,
				"{\"channel\":\"c1\",\"event\":[\"probe:p\"],\"probe\":\"f\",\"pid\":77,\"started\":5}",
				"0 1 0  |  |  0"},
		{"enable-probe", false,
				"{\"channel\":\"c1\",\"event\":[\"probe:q\"],\"probe\":\"f\",\"exe\":\"/bin/x\"}",
				"0 1 0  |  |  0"},
		{"enable-probe", false,
				"{\"channel\":\"c1\",\"event\":[\"probe:q\"],\"probe\":\"f\",\"exe\":\"x\"}",
				"-22 0 2 the program x is not an absolute path |  |  0"},
		{"enable-probe", false,
				"{\"channel\":\"c1\",\"event\":[\"probe:q\"],\"probe\":\"f\",\"pid\":77}", "-22 0 2 a probe must name a process (\"pid\" and \"started\"), a file (\"exe\"), or all programs |  |  0"},
		{"enable-probe", false,
				"{\"channel\":\"c1\",\"event\":[\"probe:q\"],\"probe\":\"f\",\"started\":77}",
				"-22 0 2 a probe must name a process (\"pid\" and \"started\"), a file (\"exe\"), or all programs |  |  0"},
		{"enable-probe", false,
				"{\"channel\":\"c1\",\"event\":[\"probe:q\"],\"probe\":\"f\",\"pid\":7,\"started\":5,\"exe\":\"/x\"}",
				"-22 0 2 a probe must name a process (\"pid\" and \"started\"), a file (\"exe\"), or all programs |  |  0"},
		{"enable-probe", false, "{\"channel\":\"c1\",\"event\":[],\"probe\":\"f\"}",
				"-22 0 2 a probe has 1 to 16 events: \"event\" |  |  0"},
		{"enable-probe", false,
				"{\"channel\":\"c1\",\"event\":[\"probe:a\",\"probe:b\",\"probe:c\"],\"probe\":\"f\"}",
				"0 1 0  |  |  0"},
		{"enable-probe", false, "{\"channel\":\"c1\",\"event\":[\"probe:q\"]}",
				"-22 0 2 a probe has no text: \"probe\" |  |  0"},
		{"enable-probe", false,
				"{\"channel\":\"c1\",\"event\":[\"probe:q*\"],\"probe\":\"f\"}",
				"-22 0 2 \"probe:q*\" is not a valid name for the event of a probe | write PROVIDER:NAME, or a NAME alone for probe:NAME |  0"},
		{"enable-probe", false,
				"{\"channel\":\"nope\",\"event\":[\"probe:q\"],\"probe\":\"f\"}",
				"0 1 0  |  |  0"},
		{"disable-probe", false, "{\"channel\":\"c1\",\"event\":[\"nope\"]}",
				"-2 0 4 the channel c1 has no probe \"nope\" | `side status` shows the probes of a session |  0"},
		{"disable-probe", false, "{\"channel\":\"c1\",\"event\":[\"probe:p\"],\"pid\":78}",
				"-2 0 4 the channel c1 has no probe \"probe:p\" in that process | `side status` shows the probes of a session |  0"},
		{"disable-probe", false, "{\"channel\":\"c1\",\"event\":[\"probe:p\"],\"pid\":77}",
				"0 1 0  |  |  0"},
		{"enable-probe", false,
				"{\"channel\":\"c1\",\"event\":[\"probe:q\"],\"probe\":\"g\",\"exe\":\"/bin/y\"}",
				"0 1 0  |  |  0"},
		{"disable-probe", false, "{\"channel\":\"c1\",\"event\":[\"probe:q\"]}",
				"0 1 0  |  |  0"},
		{"enable-probe", false,
				"{\"channel\":\"c2\",\"event\":[\"probe:z\"],\"probe\":\"g\",\"pid\":2147483648,\"started\":1}",
				"-34 0 2 \"pid\" is 2147483648, which is more than 2147483647 |  |  0"},
		{"enable-probe", false,
				"{\"channel\":\"c2\",\"event\":[\"probe:z\"],\"probe\":\"g\",\"pid\":2147483647,\"started\":1}",
				"0 1 0  |  |  0"},
		{"disable-probe", false, "{\"channel\":\"c1\",\"event\":[\"a:\"]}",
				"-22 0 2 pattern \"a:\", column 3: missing event name after the \":\" |  |  0"},
		{"disable-channel", false, "{\"channel\":\"nope\"}", "0 1 0  |  |  0"},
		{"disable-channel", false, "{\"channel\":\"c3\"}", "0 1 0  |  |  0"},
		{"disable-channel", false, "{\"channel\":\"c3\"}",
				"-2 0 4 the session s has no channel \"c3\" | `side status` shows the channels of a session |  0"},
		{"disable-channel", true, "{\"channel\":\"c2\"}", "0 1 0  |  |  0"},
		{"disable-channel", false, "{\"channel\":5}",
				"-22 0 2 \"channel\" is not a text |  |  0"},
		{"track", false, "{\"all\":true}", "0 1 0  |  |  0"},
		{"untrack", false, "{\"all\":true}", "0 0 0  |  |  0"},
};

static const char definition_at_the_end[] =
		"{\"version\":1,\"name\":\"s\",\"output\":\"/o\",\"format\":\"ctf2\",\"compress\":3,\"memory-limit\":1099511627777,\"huge-pages\":true,\"prefault\":true,\"symbols\":true,\"rotate-size\":1048577,\"rotate-time\":1000000001,\"retain-size\":4194305,\"retain-age\":5000000001,\"retain-chunks\":7,\"trigger\":[\"event:app:x\"],\"to\":\"tcp://h:1\",\"spool\":70000,\"speed\":900,\"send-timeout\":3000000001,\"channels\":[{\"channel\":\"c1\",\"mode\":\"overwrite\",\"per-thread\":5,\"buffer-size\":131072,\"context\":[\"vpid\",\"vtid\",\"procname\"],\"rules\":[{\"event\":[\"a:*\",\"!nope:*\",\"!b:x\",\"!b:*\"],\"filter\":\"x > 1\",\"event-context\":[\"ip\"]},{\"event\":[\"probe:a\",\"probe:b\",\"probe:c\"]}]},{\"channel\":\"ring\",\"mode\":\"discard\",\"rules\":[]},{\"channel\":\"c2\",\"mode\":\"block\",\"block-timeout\":1000,\"rules\":[]}],\"track\":[],\"tables\":6,\"probes\":[{\"event\":[\"probe:a\",\"probe:b\",\"probe:c\"],\"channel\":\"c1\",\"probe\":\"f\",\"table\":3}]}";

static void test_requests(void **unused)
{
	struct definition *definition;
	struct json_object *json;
	unsigned int differing = 0;
	const char *text;

	(void)unused;
	assert_int_equal(definition_create("s", &definition, &error), 0);
	for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
		char shown[4096];
		bool changed = false;
		int ret;

		json = json_read(requests[i].request, strlen(requests[i].request), &error);
		assert_non_null(json);
		error = (struct error){.kind = ERROR_NONE};
		ret = definition_change(definition, requests[i].verb, json, requests[i].fixed,
				&changed, &error);
		json_object_put(json);
		snprintf(shown, sizeof(shown), "%d %d %d %s | %s | %s %u", ret, changed, error.kind,
				error.text, error.hint, error.input, error.column);
		if (strcmp(shown, requests[i].wanted) != 0) {
			print_message("<R%zu>%s</>\n", i, shown);
			differing++;
		}
	}
	json = definition_json(definition);
	text = json_object_to_json_string_ext(
			json, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	if (strcmp(text, definition_at_the_end) != 0) {
		print_message("<D>%s</>\n", text);
		differing++;
	}
	json_object_put(json);
	definition_free(definition);
	assert_int_equal(differing, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_parser),
			cmocka_unit_test(test_members),
			cmocka_unit_test(test_limits),
			cmocka_unit_test(test_characters),
			cmocka_unit_test(test_any_bytes),
			cmocka_unit_test(test_answers),
			cmocka_unit_test(test_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
