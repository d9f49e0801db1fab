/* SPDX-License-Identifier: MIT */
/*
 * Parts of filters: tokens, texts in each encoding, and programs that are refused, each with its
 * reason.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <side/abi/type-description.h>

#include "../check.h"
#include "filter/filter.h"
#include "filter/lex.h"
#include "filter/program.h"
#include "filter/text.h"

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

/* ---- tokens ---- */

static void characters(void)
{
	static const struct {
		const char *text;
		uint64_t number;
		unsigned int column; /* of the error; 0: none */
		const char *error;
	} cases[] = {{"'a'", 'a', 0, ""}, {"'\\n'", '\n', 0, ""}, {"'\\x41'", 0x41, 0, ""},
			{"'\\xfF'", 0xff, 0, ""}, {"'\\\\'", '\\', 0, ""}, {"'\\''", '\'', 0, ""},
			{"'\\e'", 27, 0, ""}, {"'\xc2\x80'", 0x80, 0, ""},
			{"'\xdf\xbf'", 0x7ff, 0, ""}, {"'\xe0\xa0\x80'", 0x800, 0, ""},
			{"'\xef\xbf\xbf'", 0xffff, 0, ""}, {"'\xf0\x90\x80\x80'", 0x10000, 0, ""},
			{"'\xf4\x8f\xbf\xbf'", 0x10ffff, 0, ""}, {"'\xc1'", 0xc1, 0, ""},
			{"'\xf5'", 0xf5, 0, ""}, {"'\x80'", 0x80, 0, ""},
			{"''", 0, 2, "expected a character between the quotes"},
			{"'", 0, 2, "expected a character between the quotes"},
			{"'ab'", 0, 1, "a character without a closing '"},
			{"'a", 0, 1, "a character without a closing '"},
			{"'\xc2'", 0, 1, "a character without a closing '"},
			{"'\xe0\xa0'", 0, 1, "a character without a closing '"},
			{"'\xf0\x90\x80'", 0, 1, "a character without a closing '"},
			{"'\xc2\x80\x80'", 0, 1, "a character without a closing '"},
			{"'\\x4'", 0, 2, "expected two hexadecimal digits after \\x"},
			{"'\\xg4'", 0, 2, "expected two hexadecimal digits after \\x"},
			{"'\\x00'", 0, 2, "strings cannot contain NUL"}, {"'\\x01'", 1, 0, ""},
			{"'\\x10'", 16, 0, ""}, {"'\\q'", 0, 2, "unknown escape \"\\q\""},
			{"'\\", 0, 2, "expected a character after the backslash"}};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct filter_error error = {.column = 0};
		struct filter_lexer lexer = {.text = cases[i].text, .error = &error};
		int ret = filter_lex(&lexer);

		if (error.column != cases[i].column || strcmp(error.text, cases[i].error))
			fprintf(stderr, "%s: %u %s\n", cases[i].text, error.column, error.text);
		CHECK(ret == (cases[i].column ? -EINVAL : 0) && error.column == cases[i].column &&
				!strcmp(error.text, cases[i].error));
		if (ret)
			continue;
		CHECK(lexer.token.kind == FILTER_TOKEN_INT &&
				lexer.token.number == cases[i].number);
		CHECK(lexer.token.length == strlen(cases[i].text) && lexer.token.column == 1 &&
				lexer.at == strlen(cases[i].text));
	}
}

static void shown_tokens(void)
{
	char text[64], shown[64], wanted[64];
	struct filter_lexer lexer = {.text = text};

	/* At most 39 characters. */
	for (unsigned int size = 38; size <= 41; size++) {
		lexer.at = 0;
		memset(text, 'n', size);
		text[size] = '\0';
		CHECK(!filter_lex(&lexer));
		snprintf(wanted, sizeof(wanted), "\"%.39s\"", text);
		CHECK(!strcmp(filter_token_text(&lexer, shown, sizeof(shown)), wanted));
	}
	strcpy(text, "  \"a\"");
	lexer.at = 0;
	CHECK(!filter_lex(&lexer) &&
			!strcmp(filter_token_text(&lexer, shown, sizeof(shown)), "a string"));
	CHECK(!filter_lex(&lexer) &&
			!strcmp(filter_token_text(&lexer, shown, sizeof(shown)), "the end"));
	strcpy(text, "  'a'==");
	lexer.at = 0;
	CHECK(!filter_lex(&lexer) &&
			!strcmp(filter_token_text(&lexer, shown, sizeof(shown)), "\"'a'\""));
	CHECK(!filter_lex(&lexer) &&
			!strcmp(filter_token_text(&lexer, shown, sizeof(shown)), "\"==\""));
}

static void hints(void)
{
	struct filter_error error;

	memset(&error, 'x', sizeof(error));
	CHECK(filter_fail(&error, 7, "%d", 8) == -EINVAL && error.column == 7 &&
			!strcmp(error.text, "8") && !*error.hint);
	CHECK(filter_hint_set(&error, "hint") == -EINVAL && !strcmp(error.hint, "hint"));
	CHECK(filter_fail(NULL, 7, "%d", 8) == -EINVAL && filter_hint_set(NULL, "hint") == -EINVAL);
}

/* ---- texts ---- */

static struct filter_value sized(const char *text)
{
	return (struct filter_value){
			.kind = FILTER_STRING, .unit_size = 1, .text = text, .size = strlen(text)};
}

/* The same text with units of 1, 2 and 4 bytes, in both orders, with its size and with a NUL. */
static struct filter_value encoded(const char *text, unsigned int form, void *to)
{
	unsigned int size = 1u << form % 3,
		     order = form / 3 % 2 ? SIDE_TYPE_BYTE_ORDER_BE : SIDE_TYPE_BYTE_ORDER_LE;
	size_t length = strlen(text);
	unsigned char *bytes = to;

	memset(to, 0, (length + 1) * size);
	for (size_t i = 0; i < length; i++)
		bytes[i * size + (order == SIDE_TYPE_BYTE_ORDER_BE ? size - 1 : 0)] =
				(unsigned char)text[i];
	if (form >= 6)
		memset(bytes + length * size, 'x', size);
	return (struct filter_value){.kind = FILTER_STRING,
			.unit_size = (uint8_t)size,
			.byte_order = (uint8_t)order,
			.text = to,
			.size = form < 6 ? FILTER_TERMINATED : length * size};
}

/* A slow and simple implementation. */
static bool matches(const char *glob, const char *text)
{
	if (*glob == '*')
		return matches(glob + 1, text) || (*text && matches(glob, text + 1));
	if (!*glob || !*text)
		return !*glob && !*text;
	if (*glob == '?')
		return matches(glob + 1, text + 1);
	glob += *glob == '\\';
	return *glob == *text && matches(glob + 1, text + 1);
}

static void globs(void)
{
	static const char letters[] = "ab*?", parts[][3] = {"a", "b", "*", "?", "\\*"};
	unsigned int buffer[16];
	char text[8], glob[16];

	for (unsigned int i = 0; i < 625; i++) {
		*glob = '\0';
		for (unsigned int k = i; k; k /= 5)
			strcat(glob, parts[k % 5]);
		for (unsigned int j = 0; j < 341; j++) {
			/* 0 to 4 letters */
			unsigned int size = j < 1 ? 0
					: j < 5   ? 1
					: j < 21  ? 2
					: j < 85  ? 3
						  : 4,
				     number = j;
			struct filter_value pattern = sized(glob), string;

			for (unsigned int k = 0; k < size; k++, number /= 4)
				text[k] = letters[number % 4];
			text[size] = '\0';
			string = encoded(text, (i + j) % 12, buffer);
			CHECK(filter_text_glob(&pattern, &string) == matches(glob, text));
		}
	}
}

static void comparisons(void)
{
	static const char *const texts[] = {"", "a", "ab", "abc", "b", "ba", "\x7f"};
	unsigned int left[16], right[16];

	for (unsigned int form = 0; form < 144; form++) {
		for (size_t i = 0; i < LENGTH(texts); i++) {
			struct filter_value one = encoded(texts[i], form % 12, left),
					    wanted = sized(texts[i]);

			CHECK(filter_text_length(&one) == strlen(texts[i]));
			for (size_t k = 0; k < LENGTH(texts); k++) {
				struct filter_value other = encoded(texts[k], form / 12, right);
				int order = strcmp(texts[i], texts[k]),
				    found = filter_text_compare(&one, &other);

				CHECK((found < 0) == (order < 0) && (found > 0) == (order > 0));
				CHECK(filter_text_equals(&wanted, &other) == !order);
			}
		}
	}
}

static void other_characters(void)
{
	static const uint16_t pair[] = {'a', 0xd83d, 0xde00, 'b', 0}, lone[] = {0xd83d, 'b', 0},
			      low[] = {0xde00, 0xdc00, 0}, last[] = {0xd83d, 0};
	static const uint32_t wide[] = {'a', 0x1f600, 'b', 0};
	struct filter_value string = {.kind = FILTER_STRING,
			.unit_size = 2,
			.byte_order = SIDE_TYPE_BYTE_ORDER_HOST,
			.text = pair,
			.size = FILTER_TERMINATED};
	struct filter_value utf8 = sized("a\xf0\x9f\x98\x80"
					 "b"),
			    glob;

	CHECK(!filter_text_compare(&utf8, &string) && filter_text_length(&string) == 6);
	glob = sized("a?b");
	CHECK(filter_text_glob(&glob, &string) && filter_text_glob(&glob, &utf8));
	glob = sized("*?b");
	CHECK(filter_text_glob(&glob, &string) && filter_text_glob(&glob, &utf8));
	glob = sized("??");
	CHECK(!filter_text_glob(&glob, &string) && !filter_text_glob(&glob, &utf8));
	glob = sized("????");
	CHECK(!filter_text_glob(&glob, &string) && !filter_text_glob(&glob, &utf8));
	/* A size that ends within a pair, and within a unit. */
	string.size = 4;
	CHECK(filter_text_length(&string) == 1 + 3);
	string.size = 3;
	CHECK(filter_text_length(&string) == 1);
	string.size = 2;
	CHECK(filter_text_length(&string) == 1);
	string.size = 1;
	CHECK(filter_text_length(&string) == 0);
	string.size = FILTER_TERMINATED;
	string.text = lone;
	CHECK(filter_text_length(&string) == 3 + 1);
	string.text = low;
	CHECK(filter_text_length(&string) == 3 + 3);
	string.text = last;
	CHECK(filter_text_length(&string) == 3);
	string.unit_size = 4;
	string.text = wide;
	CHECK(!filter_text_compare(&utf8, &string) && filter_text_length(&string) == 6);
	/* No text. */
	string.text = NULL;
	glob = sized("(null)");
	CHECK(filter_text_length(&string) == 6 && filter_text_equals(&glob, &string) &&
			!filter_text_compare(&glob, &string));
	glob = sized("(n*)");
	CHECK(filter_text_glob(&glob, &string));
}

/* ---- programs ---- */

static unsigned char program[32768];
static size_t program_size;

static void put_number(size_t at, uint64_t number, unsigned int size)
{
	for (unsigned int i = 0; i < size; i++)
		program[at + i] = (unsigned char)(number >> 8 * i);
}

struct code {
	uint8_t code, flag;
	uint16_t yes, no;
	uint64_t value;
};

/* The header, the instructions and the pool. */
static void make(const struct code *codes, uint32_t nr, const void *pool, size_t size)
{
	memset(program, 0, sizeof(program));
	program_size = 16 + 16 * nr + size;
	memcpy(program, "SIDF\1", 5);
	put_number(6, nr, 2);
	put_number(8, program_size, 4);
	for (uint32_t i = 0; i < nr; i++) {
		program[16 + 16 * i] = codes[i].code;
		program[17 + 16 * i] = codes[i].flag;
		put_number(18 + 16 * i, codes[i].yes, 2);
		put_number(20 + 16 * i, codes[i].no, 2);
		put_number(24 + 16 * i, codes[i].value, 8);
	}
	memcpy(program + 16 + 16 * nr, pool, size);
}

static void expect(const char *wanted)
{
	const char *why = NULL;
	int ret = filter_verify(program, program_size, &why);

	if (strcmp(why, wanted))
		fprintf(stderr, "%s, not %s\n", why, wanted);
	CHECK(!strcmp(why, wanted) && ret == (*wanted ? -EINVAL : 0));
	CHECK(filter_verify(program, program_size, NULL) == ret);
}

static void expect_of(const char *wanted, const char *pool, size_t size, uint32_t nr,
		const struct code *codes)
{
	make(codes, nr, pool, size);
	expect(wanted);
}

#define CODES(...)                                                                  \
	sizeof((struct code[]){__VA_ARGS__}) / sizeof(struct code), (struct code[]) \
	{                                                                           \
		__VA_ARGS__                                                         \
	}
#define INT                                 \
	{                                   \
		FILTER_CODE_INT, .value = 5 \
	}
#define ACCEPT                                \
	{                                     \
		FILTER_CODE_ACCEPT, .flag = 0 \
	}
#define REJECT                                \
	{                                     \
		FILTER_CODE_REJECT, .flag = 0 \
	}
#define OF(kind)                              \
	{                                     \
		FILTER_CODE_##kind, .flag = 0 \
	}
#define TEXT(is_glob, at)                                          \
	{                                                          \
		FILTER_CODE_TEXT, .flag = (is_glob), .value = (at) \
	}
#define TEST(one, other)                                      \
	{                                                     \
		FILTER_CODE_TEST, .yes = (one), .no = (other) \
	}

static void headers(void)
{
	static const struct code accept[] = {ACCEPT};

	for (unsigned int i = 0; i < 16; i++) {
		make(accept, 1, "", 0);
		program[i] ^= 1;
		expect(i < 4 ? "it does not begin like a filter program"
						: i < 6 || i > 11 ? "its version is unknown"
						: i == 6 ? "it has no instruction, or too many"
						: i == 7 ? "its size is wrong"
							 : "its size is wrong");
	}
	make(accept, 1, "", 0);
	expect("");
	program_size--;
	expect("it is too short");
	make(accept, 1, "", 0);
	put_number(6, 2, 2);
	expect("its size is wrong");
	/* The longest one, and a byte more. */
	make(accept, 1, "", 0);
	program_size = FILTER_PROGRAM_MAX;
	put_number(8, program_size, 4);
	expect("");
	program_size++;
	put_number(8, program_size, 4);
	expect("it is too long");
}

static void most_instructions(void)
{
	static struct code codes[FILTER_INSTRUCTIONS_MAX + 1];

	for (unsigned int extra = 0; extra < 2; extra++) {
		uint32_t nr = FILTER_INSTRUCTIONS_MAX + extra;

		/* One value, negated many times. */
		for (uint32_t i = 0; i < nr; i++)
			codes[i] = (struct code)OF(NEGATE);
		codes[0] = (struct code)INT;
		codes[nr - 1] = (struct code)OF(RETURN);
		make(codes, nr, "", 0);
		expect(extra ? "it has no instruction, or too many" : "");
	}
	/* 16 values at a time, and one more. */
	for (unsigned int nr = 16; nr <= 17; nr++) {
		for (uint32_t i = 0; i < nr; i++)
			codes[i] = (struct code)INT;
		for (uint32_t i = 0; i + 1 < nr; i++)
			codes[nr + i] = (struct code)OF(ADD);
		codes[2 * nr - 1] = (struct code)OF(RETURN);
		make(codes, 2 * nr, "", 0);
		expect(nr == 16 ? "" : "it needs too many values at a time");
	}
	/* Targets in each word of the table of targets. */
	for (uint32_t at = 2; at < 200; at++) {
		for (uint32_t i = 0; i <= at; i++)
			codes[i] = (struct code)OF(NEGATE);
		codes[0] = (struct code)INT;
		codes[1] = (struct code)TEST((uint16_t)at, 2);
		codes[2] = (struct code)INT;
		codes[at - 1] = at == 2   ? codes[1]
				: at == 3 ? (struct code)ACCEPT
					  : (struct code)OF(RETURN);
		codes[at] = (struct code)ACCEPT;
		make(codes, at + 1, "", 0);
		expect("");
		codes[1].yes = 2;
		make(codes, at + 1, "", 0);
		expect(at == 2 ? "" : "an instruction cannot be reached");
	}
}

static void instructions(void)
{
	static const char pool[] = "\3\0abc\0\2\0a\\\0\0\0\0";

	expect_of("it has an unknown instruction", "", 0, CODES({.code = FILTER_NR_CODES}));
	expect_of("an instruction that does not jump has a target", "", 0,
			CODES({FILTER_CODE_ACCEPT, .yes = 1}));
	expect_of("an instruction that does not jump has a target", "", 0,
			CODES({FILTER_CODE_ACCEPT, .no = 1}));
	expect_of("", "", 0, CODES({FILTER_CODE_INT, .flag = 1}, OF(RETURN)));
	expect_of("an integer has an unknown flag", "", 0,
			CODES({FILTER_CODE_INT, .flag = 2}, OF(RETURN)));
	expect_of("a float has a flag", "", 0, CODES({FILTER_CODE_DOUBLE, .flag = 1}, OF(RETURN)));
	expect_of("", "", 0, CODES({FILTER_CODE_DOUBLE, .value = 1}, OF(RETURN)));
	expect_of("", pool, 14, CODES(TEXT(0, 0), OF(RETURN)));
	expect_of("", pool, 14, CODES(TEXT(0, 6), OF(RETURN)));
	expect_of("", pool, 14, CODES(TEXT(0, 11), OF(RETURN)));
	expect_of("a text is not within the program", pool, 14, CODES(TEXT(0, 12), OF(RETURN)));
	expect_of("a text is not within the program", pool, 14, CODES(TEXT(0, 15), OF(RETURN)));
	expect_of("a text is not within the program", pool, 14,
			CODES(TEXT(0, UINT64_MAX), OF(RETURN)));
	expect_of("a text is not within the program", pool, 5, CODES(TEXT(0, 0), OF(RETURN)));
	expect_of("", pool, 6, CODES(TEXT(0, 0), OF(RETURN)));
	/* A NUL within the text, and none after it. */
	expect_of("a text is not within the program", "\3\0a\0c\0", 6,
			CODES(TEXT(0, 0), OF(RETURN)));
	expect_of("a text is not within the program", "\3\0\0bc\0", 6,
			CODES(TEXT(0, 0), OF(RETURN)));
	expect_of("a text is not within the program", "\3\0abcd", 6, CODES(TEXT(0, 0), OF(RETURN)));
	expect_of("a text has an unknown flag", pool, 14, CODES(TEXT(2, 0), OF(RETURN)));
	expect_of("a pattern ends in a backslash", pool, 14,
			CODES(TEXT(1, 6), INT, OF(EQUAL), OF(RETURN)));
	expect_of("", pool, 14, CODES(TEXT(1, 0), INT, OF(EQUAL), OF(RETURN)));
	expect_of("", "\2\0\\a\0", 5, CODES(INT, TEXT(1, 0), OF(UNEQUAL), OF(RETURN)));
	expect_of("", "\2\0\\\\\0", 5, CODES(INT, TEXT(1, 0), OF(UNEQUAL), OF(RETURN)));
	expect_of("a pattern is used as a value", pool, 14,
			CODES(INT, TEXT(1, 0), OF(LESS), OF(RETURN)));
	expect_of("a pattern is used as a value", pool, 14, CODES(TEXT(1, 0), OF(RETURN)));
	expect_of("two patterns are compared with each other", pool, 14,
			CODES(TEXT(1, 0), TEXT(1, 0), OF(EQUAL), OF(RETURN)));
	expect_of("", pool, 14, CODES(INT, TEXT(1, 0), INT, OF(EQUAL), OF(ADD), OF(RETURN)));
	expect_of("an instruction has an operand that it does not take", "", 0,
			CODES(INT, {FILTER_CODE_NOT, .flag = 1}, OF(RETURN)));
	expect_of("an instruction has an operand that it does not take", "", 0,
			CODES(INT, {FILTER_CODE_NOT, .value = 1}, OF(RETURN)));
	/* The stack. */
	expect_of("an instruction uses a value that does not exist", "", 0,
			CODES(OF(NEGATE), OF(RETURN)));
	expect_of("an instruction uses a value that does not exist", "", 0,
			CODES(INT, OF(ADD), OF(RETURN)));
	expect_of("values are left behind", "", 0, CODES(INT, INT, OF(RETURN)));
	expect_of("it has no end", "", 0, CODES(INT));
	/* Jumps. */
	expect_of("", "", 0, CODES(INT, TEST(2, 3), ACCEPT, REJECT));
	expect_of("", "", 0,
			CODES(INT, {FILTER_CODE_TEST, .flag = 1, .yes = 3, .no = 2}, ACCEPT,
					REJECT));
	expect_of("a test has an unknown flag", "", 0,
			CODES(INT, {FILTER_CODE_TEST, .flag = 2, .yes = 2, .no = 2}, ACCEPT));
	expect_of("a test has an unknown flag", "", 0,
			CODES(INT, {FILTER_CODE_TEST, .value = 1, .yes = 2, .no = 2}, ACCEPT));
	for (unsigned int bad = 0; bad < 5; bad += bad == 1 ? 3 : 1) {
		expect_of("a jump does not lead forward within the program", "", 0,
				CODES(INT, TEST(2, bad), ACCEPT, REJECT));
		expect_of("a jump does not lead forward within the program", "", 0,
				CODES(INT, TEST(bad, 3), ACCEPT, REJECT));
	}
	expect_of("a jump leads into the middle of an expression", "", 0,
			CODES(INT, TEST(2, 3), INT, INT, OF(ADD), OF(RETURN)));
	expect_of("an instruction cannot be reached", "", 0, CODES(ACCEPT, REJECT));
	expect_of("an instruction cannot be reached", "", 0,
			CODES(INT, OF(RETURN), INT, OF(RETURN)));
}

static void paths(void)
{
	static const char damaged[] = "a path is damaged or not within the program";
	char pool[2 + 8 * (FILTER_STEPS_MAX + 1)], text[FILTER_TEXT_MAX + 16];

	expect_of("", "\0\1\0\1\0a\0", 7, CODES(OF(FIELD), OF(RETURN)));
	expect_of(damaged, "\0\1\0\1\0a\0", 6, CODES(OF(FIELD), OF(RETURN)));
	expect_of(damaged, "\0\1\0\1\0a\0", 7, CODES({FILTER_CODE_FIELD, .value = 8}, OF(RETURN)));
	expect_of(damaged, "\0\1\0\1\0a\0\0", 8,
			CODES({FILTER_CODE_FIELD, .value = 7}, OF(RETURN)));
	expect_of(damaged, "\0\0\0\1\0a\0", 7, CODES(OF(FIELD), OF(RETURN)));
	expect_of(damaged, "\0\1\2\1\0a\0", 7, CODES(OF(FIELD), OF(RETURN)));
	/* An index cannot be first. */
	expect_of(damaged, "\0\1\1\0\0\0\0", 7, CODES(OF(FIELD), OF(RETURN)));
	expect_of("", "\0\2\0\1\0a\0\1\0\0\0\0", 12, CODES(OF(FIELD), OF(RETURN)));
	expect_of(damaged, "\0\2\0\1\0a\0\1\0\0\0\0", 11, CODES(OF(FIELD), OF(RETURN)));
	expect_of(damaged, "\0\2\0\1\0a\0", 7, CODES(OF(FIELD), OF(RETURN)));
	/* A context is one name. */
	pool[0] = FILTER_CONTEXT;
	memcpy(pool + 1, "\1\0\1\0a\0", 6);
	expect_of("", pool, 7, CODES(OF(FIELD), OF(RETURN)));
	pool[0]++;
	expect_of(damaged, pool, 7, CODES(OF(FIELD), OF(RETURN)));
	pool[0]--;
	memcpy(pool + 1, "\2\0\1\0a\0\0\1\0a\0", 11);
	expect_of(damaged, pool, 12, CODES(OF(FIELD), OF(RETURN)));
	expect_of("", "\0\1\0\1\0a\0", 7,
			CODES({FILTER_CODE_FIELD, .flag = FILTER_ASK_PRESENCE}, OF(RETURN)));
	expect_of("a path has an unknown step", "\0\1\0\1\0a\0", 7,
			CODES({FILTER_CODE_FIELD, .flag = FILTER_ASK_PRESENCE + 1}, OF(RETURN)));
	for (int nr = FILTER_STEPS_MAX; nr <= FILTER_STEPS_MAX + 1; nr++) {
		pool[0] = 0;
		pool[1] = (char)nr;
		for (int i = 0; i < nr; i++)
			memcpy(pool + 2 + 5 * i, "\0\1\0a", 5);
		expect_of(nr == FILTER_STEPS_MAX ? "" : damaged, pool, 2 + 5 * (size_t)nr,
				CODES(OF(FIELD), OF(RETURN)));
	}
	for (unsigned int size = FILTER_TEXT_MAX; size <= FILTER_TEXT_MAX + 1; size++) {
		memset(text, 'n', sizeof(text));
		text[0] = (char)size;
		text[1] = (char)(size >> 8);
		text[2 + size] = '\0';
		expect_of(size == FILTER_TEXT_MAX ? "" : "a text is not within the program", text,
				size + 3, CODES(TEXT(0, 0), OF(RETURN)));
	}
}

int main(void)
{
	characters();
	shown_tokens();
	hints();
	globs();
	comparisons();
	other_characters();
	headers();
	most_instructions();
	instructions();
	paths();
	return 0;
}
