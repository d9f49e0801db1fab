/* SPDX-License-Identifier: MIT */
/* Expressions that the parser refuses, with column and message; and the programs of valid ones. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/filter.h"

static const struct {
	const char *text;
	unsigned int column;
	const char *error;
} refused[] = {
		{"", 1, "expected a value, not the end"},
		{"   ", 4, "expected a value, not the end"},
		{"a ==", 5, "expected a value, not the end"},
		{"a == 5 &&", 10, "expected a value, not the end"},
		{"== 5", 1, "expected a value, not \"==\""},
		{"a = 5", 3, "unknown operator \"=\"\ndid you mean `==`?"},
		{"a === 5", 5, "unknown operator \"=\"\ndid you mean `==`?"},
		{"a == 5)", 7, "expected an operator or the end, not \")\""},
		{"(a == 5", 8, "expected an operator or \")\", not the end"},
		{"(a == 5]", 8, "expected an operator or \")\", not \"]\""},
		{"a b", 3, "expected an operator or the end, not \"b\""},
		{"a and b", 3, "expected an operator or the end, not \"and\"\ndid you mean `&&`?"},
		{"a == 1 OR b == 2", 8,
				"expected an operator or the end, not \"OR\"\ndid you mean `||`?"},
		{"a like \"x\"", 3,
				"expected an operator or the end, not \"like\"\ndid you mean `==`?"},
		{"a 5", 3, "expected an operator or the end, not \"5\""},
		{"a \"x\"", 3, "expected an operator or the end, not a string"},
		{"a == \"x", 6, "a string without a closing \""},
		{"a == \"x\\", 8, "expected a character after the backslash"},
		{"a == \"x\\q\"", 8, "unknown escape \"\\q\"\nwrite `\\\\` for a backslash"},
		{"a == \"x\\x4\"", 8, "expected two hexadecimal digits after \\x"},
		{"a == \"\\x00\"", 7, "strings cannot contain NUL"},
		{"a == ''", 7, "expected a character between the quotes"},
		{"a == 'ab'", 6, "a character without a closing '\nwrite strings in \"\""},
		{"a == 'x", 6, "a character without a closing '\nwrite strings in \"\""},
		{"a == 0x", 8, "expected a hexadecimal digit"},
		{"a == 0b2", 8, "expected a binary digit"},
		{"a == 0b12", 9, "invalid digit in a number that is binary"},
		{"a == 018", 8, "invalid digit in a number that is octal, because it begins with 0"},
		{"a == 12x", 8, "unexpected character in a number"},
		{"a == 1.5.2", 9, "unexpected character in a number"},
		{"a == 1e", 8, "expected digits of the exponent"},
		{"a == 1e999", 6, "a number too large for a float"},
		{"a == 18446744073709551616", 6, "a number that does not fit 64 bits"},
		{"a == #", 6, "unexpected \"#\""},
		{"a == @b", 6, "unexpected \"@\""},
		{"a == b.", 8, "expected the name of a member, not the end"},
		{"a.5 == 1", 2, "expected an operator or the end, not \".5\""},
		{"a.\"b\" == 1", 3, "expected the name of a member, not a string"},
		{"a[b] == 1", 3, "expected an index, a constant number, not \"b\""},
		{"a[-1] == 1", 3, "expected an index, a constant number, not \"-\""},
		{"a[1 == 1", 5, "expected \"]\", not \"==\""},
		{"a[4294967296] == 1", 3, "an index larger than any array"},
		{"`a == 1", 1, "a name without a closing `"},
		{"$foo.bar == 1", 1, "unknown \"$foo\": use $ctx.NAME or $app.PROVIDER:NAME"},
		{"$ctxt.vpid == 1", 1,
				"unknown \"$ctxt\": use $ctx.NAME or $app.PROVIDER:NAME\ndid you mean `$ctx`?"},
		{"$ == 1", 1, "unknown \"$\": use $ctx.NAME or $app.PROVIDER:NAME"},
		{"$ctx == 1", 5, "expected a dot and the name of a context"},
		{"$ctx. == 1", 6, "expected the name of a context"},
		{"$app.x == 1", 7, "expected a colon and the name of the context"},
		{"$app. == 1", 6, "expected PROVIDER:NAME of an application's context"},
		{"$ctx.vpid.x == 1", 10, "a context has no members or elements"},
		{"$ctx.vpid[0] == 1", 10, "a context has no members or elements"},
		{"lenght(a) > 1", 1, "unknown function \"lenght\"\ndid you mean `len`?"},
		{"size(a) > 1", 1, "unknown function \"size\"\ndid you mean `len`?"},
		{"exists(a)", 1, "unknown function \"exists\"\ndid you mean `has`?"},
		{"hass(a)", 1, "unknown function \"hass\"\ndid you mean `has`?"},
		{"sqrt(a) > 1", 1, "unknown function \"sqrt\""},
		{"has()", 5, "expected a field or a context, not \")\""},
		{"has(5)", 5, "expected a field or a context, not \"5\""},
		{"has(a, b)", 6, "expected \")\" after the field, not \",\""},
		{"len(a + 1)", 7, "expected \")\" after the field, not \"+\""},
		{"\"x\"", 1, "a string is neither true nor false: compare it with something"},
		{"a == 1 && \"x\"", 11,
				"a string is neither true nor false: compare it with something"},
		{"!\"x\"", 2, "\"!\" needs a number, and this is a string"},
		{"-\"x\" == 1", 2, "\"-\" needs a number, and this is a string"},
		{"+\"x\" == 1", 2, "\"+\" needs numbers, and this is a string"},
		{"a + \"x\" == 1", 5, "\"+\" needs numbers, and this is a string"},
		{"\"x\" == 5", 5, "a string is compared with a number"},
		{"len(a) == \"x\"", 8, "a string is compared with a number"},
		{"a < \"x*\"", 5,
				"patterns are compared by == and != only\nwrite \\* and \\? for the characters"},
		{"\"a*\" == \"*b\"", 6, "two patterns are compared with each other"},
		{"1 / 0 == 1", 3, "a division by zero"},
		{"1 % 0 == 1", 3, "a division by zero"},
		{"1.5 / 0 == 1", 5, "a division by zero"},
		{"1 << -1 == 1", 3, "a shift by a negative number"},
		{"1 << 64 == 1", 3, "the result does not fit 64 bits"},
		{"a == 18446744073709551615 + 1", 27, "the result does not fit 64 bits"},
		{"a == -9223372036854775808 - 1", 27, "the result does not fit 64 bits"},
		{"1.5 & 1 == 1", 5,
				"a comparison has a higher precedence than \"&\": add parentheses"},
		{"(1.5 & 1) == 1", 6, "\"&\" needs integers, and one side is a float"},
		{"~1.5 == 1", 1, "\"~\" needs integers, and this is a float"},
		{"a < b < c", 7,
				"comparisons cannot be chained: write a < b && b < c, or add parentheses"},
		{"a == b == c", 8,
				"comparisons cannot be chained: write a < b && b < c, or add parentheses"},
		{"a == b < c", 3,
				"comparisons cannot be chained: write a < b && b < c, or add parentheses"},
		{"a & 1 == 0", 3,
				"a comparison has a higher precedence than \"&\": add parentheses"},
		{"a == 0 | b", 8,
				"a comparison has a higher precedence than \"|\": add parentheses"},
		{"!a == b", 4, "\"!\" has a higher precedence than \"==\": add parentheses"},
		{"!a & b", 4, "\"!\" has a higher precedence than \"&\": add parentheses"},
		{"a\x01", 2, "unexpected \"?\""},
};

static unsigned int failures;

static void fail(const char *text, const struct filter_error *error)
{
	fprintf(stderr, "%s: column %u: %s\n", text, error->column, error->text);
	failures++;
}

/* @expected: the text; if there is a hint, a newline and the hint. */
static bool is_error(const struct filter_error *error, const char *expected)
{
	char whole[sizeof(error->text) + sizeof(error->hint)];

	snprintf(whole, sizeof(whole), "%s%s%s", error->text, *error->hint ? "\n" : "",
			error->hint);
	return !strcmp(whole, expected);
}

static void check_refused(void)
{
	struct filter_error error;
	void *program;
	size_t size, i;

	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		if (filter_parse(refused[i].text, &program, &size, &error) != -EINVAL || program ||
				error.column != refused[i].column ||
				!is_error(&error, refused[i].error))
			fail(refused[i].text, &error);
		/* The error is optional. */
		if (filter_parse(refused[i].text, &program, &size, NULL) != -EINVAL)
			fail(refused[i].text, &error);
	}
}

static void check_accepted(void)
{
	static const char *const accepted[] = {
			"a",
			" a\t==\n5 ",
			"a==5&&b!=6||!c",
			"a == -5",
			"a == 0xFFul && b == 0b101 && c == 0755 && d == 'x' && e == '\\n'",
			"a == '\xe2\x82\xac'",
			"a == 1.5 || a == .5 || a == 5. || a == 1e3 || a == 1.5E-3",
			"`any name`.`.`[3].b[0] == 1",
			"has.len == 1 && has(len)",
			"true_ && `true` == true",
			"(a & 1) == 0 && !(a == b) && (!a) == b",
			"$ctx.perf:thread:cpu-cycles > 5 && $app.a:b-1 == 5",
			"\xc3\xa9t\xc3\xa9 == 1",
			"((((((((((a))))))))))",
			"- - - ~ ~ + + a == 1",
			"!!!!!!!!a",
			"(a < b) < c",
			"a << 3 >> 2 == 1 << 3",
			"\"abc\" == \"a*\"",
			"a == \"\\\"\\\\\\t\\x41\\*\\?\"",
			"1",
	};
	struct filter_error error;
	const char *why;
	void *program;
	size_t size, i;

	for (i = 0; i < sizeof(accepted) / sizeof(accepted[0]); i++) {
		if (filter_parse(accepted[i], &program, &size, &error))
			fail(accepted[i], &error);
		else if (filter_verify(program, size, &why))
			fail(why, &error);
		free(program);
	}
}

/* ---- limits ---- */

static char *repeat(const char *begin, const char *middle, unsigned int nr, const char *end)
{
	size_t size = strlen(middle);
	char *text = malloc(strlen(begin) + size * nr + strlen(end) + 1), *at = text;
	unsigned int i;

	at = stpcpy(at, begin);
	for (i = 0; i < nr; i++)
		at = stpcpy(at, middle);
	strcpy(at, end);
	return text;
}

static void expect_limit(char *text, int expected, unsigned int column)
{
	struct filter_error error = {.column = 0};
	void *program;
	size_t size;
	int ret = filter_parse(text, &program, &size, &error);

	if (ret != expected || (ret && error.column != column) ||
			(!ret && filter_verify(program, size, NULL))) {
		fprintf(stderr, "%.60s...: %d\n", text, ret);
		fail("a limit", &error);
	}
	free(program);
	free(text);
}

static void check_limits(void)
{
	expect_limit(repeat("a", "+a", 240, ""), 0, 0);
	expect_limit(repeat("a", "+a", 300, ""), -E2BIG, 512);
	expect_limit(repeat("", "(", 49, "a"), -EINVAL, 51);
	expect_limit(repeat("", "(", 5000, "a"), -E2BIG, 101);
	expect_limit(repeat("", "!", 5000, "a"), -E2BIG, 101);
	expect_limit(repeat("", "a+(", 15, "a)))))))))))))))"), 0, 0);
	expect_limit(repeat("", "a+(", 16, "a))))))))))))))))"), -E2BIG, 49);
	expect_limit(repeat("a == \"", "x", 1024, "\""), 0, 0);
	expect_limit(repeat("a == \"", "x", 1025, "\""), -EINVAL, 1031);
	expect_limit(repeat("", "x", 1024, ""), 0, 0);
	expect_limit(repeat("", "x", 1025, ""), -EINVAL, 1025);
	expect_limit(repeat("a", ".b", 31, ""), 0, 0);
	expect_limit(repeat("a", ".b", 32, ""), -EINVAL, 64);
	expect_limit(repeat("a", " ", 20000, ""), -E2BIG, 16385);
	expect_limit(repeat("a == 1",
				     " || a == \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"",
				     100, ""),
			-E2BIG, 0);
}

/* ---- contexts ---- */

static char contexts[256];

static int note_context(void *user, const char *name)
{
	strcat(contexts, name);
	strcat(contexts, " ");
	return !strcmp(name, user) ? 17 : 0;
}

static void check_contexts(void)
{
	struct filter_error error;
	char stop[] = "app:shop:x";
	void *program;
	size_t size;

	if (filter_parse("$ctx.vpid == 1 && a == $app.shop:x || $ctx.`odd name` == 2 || "
			 "$ctx.vpid == 3 && has($ctx.perf:thread:page-faults)",
			    &program, &size, &error)) {
		fail("contexts", &error);
		return;
	}
	if (filter_each_context(program, size, note_context, contexts) ||
			strcmp(contexts, "vpid app:shop:x odd name perf:thread:page-faults ") !=
					0) {
		fprintf(stderr, "contexts: %s\n", contexts);
		failures++;
	}
	contexts[0] = '\0';
	if (filter_each_context(program, size, note_context, stop) != 17 ||
			strcmp(contexts, "vpid app:shop:x ") != 0) {
		fprintf(stderr, "contexts until one: %s\n", contexts);
		failures++;
	}
	free(program);
}

int main(void)
{
	check_refused();
	check_accepted();
	check_limits();
	check_contexts();
	return failures != 0;
}
