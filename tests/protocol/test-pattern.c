/* SPDX-License-Identifier: MIT */
/*
 * Patterns: a table of matches, one of refused texts with the column of the error, and arbitrary
 * text does no harm.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fnmatch.h>
#include <stdio.h>

#include "fuzz-target.h"

static struct pattern parsed(const char *text)
{
	struct pattern pattern;
	struct pattern_error error = {0};

	if (pattern_parse(text, &pattern, &error))
		fail_msg("\"%s\" column %u: %s", text, error.column, error.reason);
	return pattern;
}

static void globs(void **state)
{
	static const struct {
		const char *pattern, *provider, *event;
		unsigned int level;
		bool matches;
	} rows[] = {
			{"app:start", "app", "start", 6, true},
			{"app:start", "app", "started", 6, false},
			{"app:start", "xapp", "start", 6, false},
			{"app", "app", "anything", 6, true},
			{"app", "app2", "anything", 6, false},
			{"app*", "app2", "anything", 6, true},
			{"*", "", "", 6, true},
			{"*:open*", "libc", "openat", 6, true},
			{"*:open*", "libc", "reopen", 6, false},
			{"lib?:*", "libc", "x", 6, true},
			{"lib?:*", "lib", "x", 6, false},
			{"a:?", "a", "\xc3\xa9", 6, true}, /* é */
			{"a:?", "a", "\xf0\x9f\x90\xa7", 6, true},
			{"a:??", "a", "\xc3\xa9", 6, false},
			{"a:[a-c]x", "a", "bx", 6, true},
			{"a:[a-c]x", "a", "dx", 6, false},
			{"a:[!a-c]x", "a", "dx", 6, true},
			{"a:[^a-c]x", "a", "bx", 6, false},
			{"a:[]]x", "a", "]x", 6, true},
			{"a:[!]]x", "a", "]x", 6, false},
			{"a:[a-]x", "a", "-x", 6, true},
			{"a:[\\]-\\]]x", "a", "]x", 6, true},
			{"a:\\*", "a", "*", 6, true},
			{"a:\\*", "a", "b", 6, false},
			{"a:b\\@c", "a", "b@c", 6, true},
			{"a:b[@]c", "a", "b@c", 6, true},
			{"*:*a*b*c", "p", "xxaxxbxxbxxc", 6, true},
			{"*:*a*b*c", "p", "xxaxxcxxb", 6, false},
			{"ns::cls:ev", "ns::cls", "ev", 6, true},
			{"*:ev", "ns::cls", "ev", 6, true},
			{"app@WARNING", "app", "x", 4, true},
			{"app@WARNING", "app", "x", 0, true},
			{"app@WARNING", "app", "x", 5, false},
			{"app:*@=INFO", "app", "x", 6, true},
			{"app:*@=INFO", "app", "x", 5, false},
			{"app:*@warn", "app", "x", 4, true},
			{"@ERR", "any", "x", 3, true},
			{"@3", "any", "x", 4, false},
			{"@=7", "any", "x", 7, true},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pattern pattern = parsed(rows[i].pattern);

		if (pattern_matches(&pattern, rows[i].provider, rows[i].event, rows[i].level) !=
				rows[i].matches)
			fail_msg("\"%s\" against \"%s:%s\" level %u", rows[i].pattern,
					rows[i].provider, rows[i].event, rows[i].level);
	}
}

static void refusals_point_at_the_column(void **state)
{
	static const struct {
		const char *pattern;
		unsigned int column;
		const char *part;
	} rows[] = {
			{"", 1, "missing name"},
			{"!", 2, "missing name"},
			{":x", 1, "provider"},
			{"!:x", 2, "provider"},
			{"app:", 5, "event name"},
			{"app:@INFO", 5, "event name"},
			{"app:[ab", 5, "not closed"},
			{"app:[", 5, "not closed"},
			{"app:x[b-a]", 6, "range"},
			{"app:x\\", 6, "missing character after"},
			{"app:*@LOUD", 7, "unknown log level"},
			{"app:*@", 7, "unknown log level"},
			{"app:*@=", 8, "unknown log level"},
			{"app:*@8", 7, "unknown log level"},
	};
	char sentence[400];
	char text[600];
	struct pattern pattern;
	struct pattern_error error;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_not_equal(pattern_parse(rows[i].pattern, &pattern, &error), 0);
		if (error.column != rows[i].column || !strstr(error.reason, rows[i].part))
			fail_msg("\"%s\": column %u, %s", rows[i].pattern, error.column,
					error.reason);
	}
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	assert_int_not_equal(pattern_parse(text, &pattern, &error), 0);
	text[PATTERN_TEXT_MAX] = 0;
	assert_int_equal(pattern_parse(text, &pattern, &error), 0);

	pattern_parse("app:[ab", &pattern, &error);
	pattern_error_text(sentence, sizeof(sentence), "app:[ab", &error);
	assert_string_equal(sentence,
			"pattern \"app:[ab\", column 5: a set that is not closed by \"]\"");
}

static void sets(void **state)
{
	struct pattern both[] = {parsed("app:*"), parsed("!app:noise*"), parsed("db:*@WARNING")};
	struct pattern only_not[] = {parsed("!app:noise*")};

	(void)state;
	assert_true(pattern_set_wants(NULL, 0, "any", "thing", 7));
	assert_true(pattern_set_wants(both, 3, "app", "start", 7));
	assert_false(pattern_set_wants(both, 3, "app", "noise1", 7));
	assert_true(pattern_set_wants(both, 3, "db", "fail", 3));
	assert_false(pattern_set_wants(both, 3, "db", "ok", 6));
	assert_false(pattern_set_wants(both, 3, "net", "x", 0));
	assert_true(pattern_set_wants(only_not, 1, "net", "x", 0));
	assert_false(pattern_set_wants(only_not, 1, "app", "noise", 0));
}

static uint32_t random_next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33);
}

static void random_text(char *text, size_t size, const char *alphabet, uint64_t *seed)
{
	size_t length = random_next(seed) % size;
	size_t i;

	for (i = 0; i < length; i++)
		text[i] = alphabet[random_next(seed) % strlen(alphabet)];
	text[length] = 0;
}

/* For patterns that both support (ASCII, `*`, `?`, sets), the C library's fnmatch() must agree. */
static void agrees_with_fnmatch(void **state)
{
	unsigned long rounds = getenv("SIDE_TEST_LONG") ? 5000000 : 200000;
	uint64_t seed = 42;
	unsigned long compared = 0;
	unsigned long i;

	(void)state;
	for (i = 0; i < rounds; i++) {
		char text[14], event[10], joined[20], glob[20];
		struct pattern pattern;
		struct pattern_error error;

		random_text(text, sizeof(text), "aab*?[]!-\\", &seed);
		random_text(event, sizeof(event), "aab-]!", &seed);
		snprintf(glob, sizeof(glob), "p:%s", text);
		snprintf(joined, sizeof(joined), "p:%s", event);
		if (pattern_parse(glob, &pattern, &error))
			continue;
		compared++;
		if (pattern_matches(&pattern, "p", event, 6) != !fnmatch(glob, joined, 0))
			fail_msg("\"%s\" against \"%s\"", glob, joined);
	}
	assert_true(compared > rounds / 4);
}

static void any_text_does_no_harm(void **state)
{
	unsigned long rounds = getenv("SIDE_TEST_LONG") ? 5000000 : 200000;
	uint64_t seed = 7;
	unsigned long good = 0;
	unsigned long i;

	(void)state;
	for (i = 0; i < rounds; i++) {
		char text[24];

		random_text(text, sizeof(text), "ap:*?[]!^-\\@=INFO47\xc3\xa9", &seed);
		good += fuzz_pattern((const uint8_t *)text, strlen(text));
	}
	assert_true(good > rounds / 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(globs),
			cmocka_unit_test(refusals_point_at_the_column),
			cmocka_unit_test(sets),
			cmocka_unit_test(agrees_with_fnmatch),
			cmocka_unit_test(any_text_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
