/* SPDX-License-Identifier: MIT */
/*
 * The parts of patterns and of the file for early boot: parsed patterns byte by byte, exhausted
 * memory, names of sockets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#undef fail                   /* of cmocka */
#include "protocol/boot.c"    /* NOLINT(bugprone-suspicious-include): reaches static functions */
#include "protocol/pattern.c" /* NOLINT(bugprone-suspicious-include) */
#include "protocol/kernel-notice.h"
#define pattern_set_error context_refuse
#include "protocol/context.c" /* NOLINT(bugprone-suspicious-include) */
#undef refuse

/* ---- parsed patterns ---- */

static void assert_pattern(const struct pattern *pattern, const char *expected)
{
	static const char *const modes[] = {"any", "least", "exactly"};
	char text[PATTERN_TEXT_MAX + 64];

	snprintf(text, sizeof(text), "%s%.*s %s %u", pattern->exclude ? "!" : "",
			pattern->glob_size, pattern->glob, modes[pattern->level_mode],
			pattern->level);
	assert_string_equal(text, expected);
}

static void parsed_patterns(void **state)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {{"a:b", "a:b any 0"}, {"a", "a:* any 0"}, {"*", "*:* any 0"},
			{"!a:b", "!a:b any 0"}, {"!a", "!a:* any 0"}, {"@3", "*:* least 3"},
			{"!@=3", "!*:* exactly 3"}, {"a:b@0", "a:b least 0"},
			{"a@7", "a:* least 7"}, {"a\\@7", "a\\@7:* any 0"},
			{"a[@:]", "a[@:]:* any 0"}, {"a\\:b", "a\\:b any 0"},
			{"a:b:c@=EMERG", "a:b:c exactly 0"}, {"a@ALERT", "a:* least 1"},
			{"a@CRIT", "a:* least 2"}, {"a@ERR", "a:* least 3"},
			{"a@ERROR", "a:* least 3"}, {"a@WARNING", "a:* least 4"},
			{"a@WARN", "a:* least 4"}, {"a@NOTICE", "a:* least 5"},
			{"a@INFO", "a:* least 6"}, {"a@DEBUG", "a:* least 7"}, {"a@azinfo", NULL},
			{"a@debug", "a:* least 7"}, {"a@eMeRg", "a:* least 0"}, {"a@INF", NULL},
			{"a@INFOS", NULL}, {"a@/", NULL}, {"a@8", NULL}, {"a@00", NULL},
			{"a@1", "a:* least 1"}, {"a@==1", NULL}, {"a:[a-a]", "a:[a-a] any 0"},
			{"a:[b-a]", NULL}, {"a:[a-]", "a:[a-] any 0"}, {"a:[\\]]", "a:[\\]] any 0"},
			{"a:[a-\\z]", "a:[a-\\z] any 0"}, {"a:[a-\\", NULL}, {"a:[\\", NULL},
			{"a:[a-", NULL}, {"a:[]", NULL}, {"a:[!]", NULL},
			{"a:[!]]", "a:[!]] any 0"}, {"a:[^]]", "a:[^]] any 0"},
			{"a:[]a]", "a:[]a] any 0"}, {"[a:b", NULL}, {":", NULL}, {"a:", NULL}};
	struct pattern pattern;
	struct pattern_error why;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int ret = pattern_parse(rows[i].text, &pattern, &why);

		assert_int_equal(ret, rows[i].expected ? 0 : -EINVAL);
		if (!ret)
			assert_pattern(&pattern, rows[i].expected);
	}
}

static void refused_patterns(void **state)
{
	static const struct {
		const char *text;
		unsigned int column;
		const char *reason;
	} rows[] = {{"", 1, "missing name"}, {"!", 2, "missing name"},
			{":a", 1, "missing provider name before the \":\""},
			{"!:a", 2, "missing provider name before the \":\""},
			{"ab:", 4, "missing event name after the \":\""},
			{"ab:@3", 4, "missing event name after the \":\""},
			{"a\\", 2, "missing character after the \"\\\""},
			{"a[bc", 2, "a set that is not closed by \"]\""},
			{"ab[\\", 3, "a set that is not closed by \"]\""},
			{"a[c-b]", 2, "a range that ends before it begins"},
			{"a[c-\\", 2, "a set that is not closed by \"]\""}};
	struct pattern pattern;
	struct pattern_error why;
	char text[PATTERN_TEXT_MAX + 8], sentence[1024], expected[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(pattern_parse(rows[i].text, &pattern, &why), -EINVAL);
		assert_int_equal(why.column, rows[i].column);
		assert_string_equal(why.reason, rows[i].reason);
	}
	assert_int_equal(pattern_parse("a:*@=LOUD", &pattern, &why), -EINVAL);
	assert_int_equal(why.column, 6);
	/* 511 bytes, with and without a "!", and one more. */
	for (size_t size = PATTERN_TEXT_MAX; size <= PATTERN_TEXT_MAX + 1; size++) {
		memset(text, 'p', size);
		text[size] = '\0';
		assert_int_equal(pattern_parse(text, &pattern, &why),
				size == PATTERN_TEXT_MAX ? 0 : -EINVAL);
		text[0] = '!';
		assert_int_equal(pattern_parse(text, &pattern, &why),
				size == PATTERN_TEXT_MAX ? 0 : -EINVAL);
	}
	assert_int_equal(why.column, 512);
	assert_string_equal(why.reason, "more than 511 bytes");
	/* The message has the first 200 bytes. */
	pattern_error_text(sentence, sizeof(sentence), text, &why);
	snprintf(expected, sizeof(expected), "pattern \"%.200s\", column 512: more than 511 bytes",
			text);
	assert_string_equal(sentence, expected);
}

static void lists(void **state)
{
	static const struct {
		const char *text;
		size_t first;
	} rows[] = {{"", 0}, {"a", 1}, {"a,b", 1}, {",b", 0}, {"a\\,b,c", 4}, {"a\\", 2},
			{"[,],b", 3}, {"[,", 2}, {"a],b", 2}, {"\\[,b", 2}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(pattern_list_first(rows[i].text), rows[i].first);
}

static void patterns_of_the_kernel(void **state)
{
	static const struct {
		const char *text, *patterns[3];
	} rows[] = {{"kernel::sched:switch", {"sched:switch any 0", "sched:switch:* any 0", NULL}},
			{"sched:switch*", {"sched:switch* any 0", NULL, NULL}},
			{"kernel::sched", {"sched:* any 0", "*:sched any 0", "*:sched:* any 0"}},
			{"!kernel::sched",
					{"!sched:* any 0", "!*:sched any 0", "!*:sched:* any 0"}},
			{"!sched", {"!sched:* any 0", "!*:sched any 0", "!*:sched:* any 0"}},
			{"sys*", {"sys*:* any 0", "*:sys* any 0", NULL}},
			{"*", {"*:* any 0", "*:* any 0", NULL}},
			{"kernel::sched@3", {"sched:* least 3", NULL, NULL}}};
	struct pattern patterns[PATTERN_KERNEL_MAX];
	struct pattern_error why;
	char text[PATTERN_TEXT_MAX + 16];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int count = pattern_parse_kernel(rows[i].text, patterns, &why), expected = 0;

		for (; expected < 3 && rows[i].patterns[expected]; expected++)
			if (expected < count)
				assert_pattern(&patterns[expected], rows[i].patterns[expected]);
		assert_int_equal(count, expected);
	}
	assert_true(pattern_is_kernel("kernel::"));
	assert_true(pattern_is_kernel("!kernel::a"));
	assert_false(pattern_is_kernel("kernel:a"));
	assert_false(pattern_is_kernel("!!kernel::a"));
	/* The column counts from the begin of the user's text. */
	assert_int_equal(pattern_parse_kernel("kernel::a:", patterns, &why), -EINVAL);
	assert_int_equal(why.column, 11);
	assert_int_equal(pattern_parse_kernel("!kernel::a:", patterns, &why), -EINVAL);
	assert_int_equal(why.column, 12);
	/* 511 bytes without the prefix; longer forms of them are left out. */
	for (unsigned int size = 507; size <= 512; size++) {
		static const int counts[] = {3, 2, 2, 1, 1, -EINVAL};
		int end = snprintf(text, sizeof(text), "kernel::");

		memset(text + end, 'p', size);
		text[(unsigned int)end + size] = '\0';
		assert_int_equal(pattern_parse_kernel(text, patterns, &why), counts[size - 507]);
	}
	assert_int_equal(why.column, 512);
	assert_string_equal(why.reason, "more than 511 bytes");
}

static bool matches(const char *text, const char *provider, const char *event)
{
	struct pattern pattern;
	struct pattern_error why;

	assert_int_equal(pattern_parse(text, &pattern, &why), 0);
	return pattern_matches(&pattern, provider, event, 0);
}

static void matching(void **state)
{
	static const struct {
		const char *pattern, *event;
		bool matches;
	} rows[] = {{"a:[b-d]", "a", false}, {"a:[b-d]", "b", true}, {"a:[b-d]", "d", true},
			{"a:[b-d]", "e", false}, {"a:[!b-d]", "c", false}, {"a:[!b-d]", "e", true},
			{"a:[^b]", "b", false}, {"a:[\\b-\\d]", "c", true},
			{"a:[b\\-d]", "c", false}, {"a:[b\\-d]", "-", true}, {"a:[b-]", "-", true},
			{"a:[-b]", "-", true}, {"a:[bd]x", "dx", true}, {"a:[bd]x", "cx", false},
			{"a:[\x80-\xff]", "\xc0", true}, {"a:\\?", "?", true},
			{"a:\\?", "x", false}, {"a:?", "", false}, {"a:?", "\xbf", true},
			{"a:?", "\xc0\x80", true}, {"a:?", "\xc0\xbf", true},
			{"a:?", "\xc0\xc0", false}, {"a:?", "\xf0\x80\x80\x80", true},
			{"a:?", "\xf0\x80\x80\x80\x80", false},
			{"a:??", "\xf0\x80\x80\x80\x80", true}, {"a:?", "\xe0\x80", true},
			{"a:*b", "", false}, {"a:*", "", true}, {"a:b*c*d", "bccd", true},
			{"a:b*c*d", "bcc", false}, {"a:b*", "b", true}, {"a:bb*", "b", false}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(matches(rows[i].pattern, "a", rows[i].event), rows[i].matches);
	/* The colon is between both names. */
	assert_true(matches("a?b", "a:b", "x"));
	assert_false(matches("a:b", "a:", "b"));
	assert_true(matches("*::b", "a:", "b"));
	assert_true(matches("a[:]b:c", "a:b", "c"));
}

static void levels_and_sets(void **state)
{
	struct pattern patterns[3] = {{.glob = "a:*",
						      .glob_size = 3,
						      .level_mode = PATTERN_LEVEL_AT_LEAST,
						      .level = 4},
			{.glob = "a:x", .glob_size = 3, .exclude = true},
			{.glob = "b:*",
					.glob_size = 3,
					.level_mode = PATTERN_LEVEL_EXACTLY,
					.level = 4}};

	(void)state;
	for (unsigned int level = 3; level <= 5; level++) {
		assert_int_equal(pattern_matches(&patterns[0], "a", "y", level), level <= 4);
		assert_int_equal(pattern_matches(&patterns[2], "b", "y", level), level == 4);
		assert_int_equal(pattern_set_wants(patterns, 3, "a", "y", level), level <= 4);
		assert_int_equal(pattern_set_wants(patterns, 3, "b", "y", level), level == 4);
	}
	/*
	 * An exclusion wins before and after an inclusion. Exclusions alone want all other events.
	 */
	assert_false(pattern_set_wants(patterns, 3, "a", "x", 3));
	assert_false(pattern_set_wants(patterns, 2, "a", "x", 3));
	assert_false(pattern_set_wants(patterns + 1, 1, "a", "x", 3));
	assert_true(pattern_set_wants(patterns + 1, 1, "a", "y", 3));
	assert_false(pattern_set_wants(patterns + 1, 2, "a", "y", 3));
	assert_false(pattern_set_wants(patterns, 1, "c", "y", 3));
}

/* ---- early boot ---- */

static struct boot_error boot_why;

static struct boot_config_reader reader_of(char *memory, size_t size)
{
	return (struct boot_config_reader){.space = memory,
			.buffer_end = memory + size,
			.line = 7,
			.error = &boot_why};
}

static void memory_is_used_up(void **state)
{
	_Alignas(16) char memory[256];
	struct boot_strings strings = {.nr = 0};
	struct boot_config_reader reader;

	(void)state;
	memset(memory, 'x', sizeof(memory));
	reader = reader_of(memory, 24);
	assert_ptr_equal(boot_config_allocate(&reader, 1), memory);
	assert_int_equal(memory[0], 0);
	assert_int_equal(memory[7], 0);
	assert_int_equal(memory[8], 'x');
	assert_ptr_equal(reader.space, memory + 8);
	assert_null(boot_config_allocate(&reader, 17));
	assert_ptr_equal(boot_config_allocate(&reader, 16), memory + 8);
	assert_null(boot_config_allocate(&reader, 1));
	assert_ptr_equal(boot_config_allocate(&reader, 0), memory + 24);
	assert_int_equal(boot_config_fail_no_space(&reader), -EINVAL);
	assert_int_equal(boot_why.line, 7);
	assert_string_equal(boot_why.text, "the file is too large");
	assert_string_equal(boot_why.hint, "write it shorter");
	/* A list needs its own bytes and those of the existing entries. */
	reader = reader_of(memory, 10);
	assert_int_equal(boot_config_add_args(&reader, &strings, "!", "abc,def", 3, check_pattern),
			0);
	assert_int_equal(strings.nr, 2);
	assert_int_equal(strings.size, 10);
	assert_memory_equal(strings.texts, "!abc\0!def", 10);
	assert_ptr_equal(reader.space, memory + 16);
	strings = (struct boot_strings){.nr = 0};
	reader = reader_of(memory, 9);
	assert_int_equal(boot_config_add_args(&reader, &strings, "!", "abc,def", 3, check_pattern),
			-EINVAL);
	assert_string_equal(boot_why.text, "the file is too large");
	strings = (struct boot_strings){.nr = 1, .size = 4, .texts = "one"};
	reader = reader_of(memory, 3);
	boot_why.text[0] = '\0';
	assert_int_equal(boot_config_add_args(&reader, &strings, "", "two", 3, check_pattern),
			-EINVAL);
	assert_string_equal(boot_why.text, "the file is too large");
	reader = reader_of(memory, 8);
	assert_int_equal(boot_config_add_args(&reader, &strings, "", " \ttwo\t ", 2, check_pattern),
			0);
	assert_memory_equal(strings.texts, "one\0two", 8);
	assert_int_equal(strings.size, 8);
	assert_ptr_equal(reader.space, memory + 8);
	/* A part that is full. */
	reader = reader_of(memory, 256);
	assert_int_equal(boot_config_add_args(&reader, &strings, "", "three", 2, check_pattern),
			-EINVAL);
	assert_string_equal(boot_why.text, "more than 2 in one list");
	assert_string_equal(boot_why.hint, "shorten the list");
}

static void memory_of_structures(void **state)
{
	_Alignas(16) char memory[sizeof(struct boot_session) + sizeof(struct boot_channel) +
			sizeof(struct boot_rule) + 64];
	struct boot_config config = {.state_dir = "/p", .sessions_end = &config.sessions};
	char event[] = "event a:b", session[] = "session s";
	struct boot_config_reader reader;

	(void)state;
	/* The session, the channel that needs missing name, and the rule. */
	for (unsigned int part = 0; part < 3; part++) {
		static const size_t sizes[] = {sizeof(struct boot_session),
				sizeof(struct boot_channel), sizeof(struct boot_rule)};
		size_t size = 0;

		for (unsigned int i = 0; i <= part; i++)
			size += sizes[i];
		config = (struct boot_config){.state_dir = "/p", .sessions_end = &config.sessions};
		reader = reader_of(memory, size - 1);
		reader.config = &config;
		strcpy(session, "session s");
		strcpy(event, "event a:b");
		assert_int_equal(boot_config_parse_line(&reader, session), part ? 0 : -EINVAL);
		if (part)
			assert_int_equal(boot_config_parse_line(&reader, event), -EINVAL);
		assert_string_equal(boot_why.text, "the file is too large");
		boot_why.text[0] = '\0';
	}
	assert_int_equal(boot_buffer_size(80),
			sizeof(struct boot_config) + sizeof(struct boot_session) +
					12 *
							(sizeof(struct boot_rule) +
									sizeof(struct boot_channel) +
									64) +
					2 * 80 * 64);
}

static void bytes_of_zero(void **state)
{
	char text[] = "# one\n# t\0wo\n";
	void *space = malloc(boot_buffer_size(sizeof(text)));
	struct boot_config *config;

	(void)state;
	assert_int_equal(boot_parse(text, sizeof(text) - 1, space, &config, &boot_why), -EINVAL);
	assert_null(config);
	assert_int_equal(boot_why.line, 2);
	assert_string_equal(boot_why.text, "there is a zero byte in it");
	assert_string_equal(boot_why.hint, "write text only");
	free(space);
}

/* ---- messages ---- */

static void missed_programs(void **state)
{
	const struct wire_unrecorded unrecorded = {
			.reason = 3, .elapsed_ms = 4567, .name = "/bin/x"};
	struct wire_unrecorded got = {.name = NULL};
	_Alignas(8) char message[128];
	ssize_t size = wire_encode_unrecorded(message, sizeof(message), &unrecorded);

	(void)state;
	assert_true(size > 0);
	assert_int_equal(wire_decode_unrecorded(message, (size_t)size, &got), 0);
	assert_int_equal(got.reason, 3);
	assert_int_equal(got.elapsed_ms, 4567);
	assert_string_equal(got.name, "/bin/x");
}

static void printable_errors(void **state)
{
	const struct boot_error error = {.line = 12, .text = "a\x1f\x7f b", .hint = "c\td"};
	const struct boot_error whole = {.line = 0, .text = "text"};
	/* volatile, so that the compiler does not warn about the truncated text. */
	static const volatile size_t sizes[] = {0, 1, 2, 3, 4, 5, 6, 7};
	char text[64];

	(void)state;
	boot_error_text(text, sizeof(text), "file", &error);
	assert_string_equal(text, "file:12: a?? b; c?d");
	boot_error_text(text, sizeof(text), "file", &whole);
	assert_string_equal(text, "file: text");
	assert_null(boot_file(NULL));
	assert_null(boot_file(""));
	assert_null(boot_file("0"));
	assert_string_equal(boot_file("1"), BOOT_FILE);
	assert_string_equal(boot_file("10"), "10");
	assert_true(boot_path(text, sizes[7], "/p", "s", "b"));
	assert_string_equal(text, "/p/s/b");
	assert_false(boot_path(text, sizes[6], "/p", "s", "b"));
	assert_true(boot_path(text, sizes[5], "/p", "s", NULL));
	assert_string_equal(text, "/p/s");
	assert_false(boot_path(text, sizes[4], "/p", "s", NULL));
}

/* ---- contexts ---- */

static unsigned int distance_of(const char *one, const char *other)
{
	return context_spec_edit_distance((struct text_slice){one, strlen(one)}, other);
}

static void distances(void **state)
{
	static const struct {
		const char *one, *other;
		unsigned int distance;
	} rows[] = {{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "abd", 1},
			{"abc", "ab", 1}, {"abc", "abcd", 1}, {"abcd", "abdc", 1},
			{"abcd", "badc", 2}, {"abcdef", "fbcdea", 2}, {"AB_c", "ab-C", 0},
			{"kitten", "sitting", 3}, {"ab", "ba", 1}, {"abc", "xyz", 3},
			{"@[", "`{", 2}};
	char one[40], other[40];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(distance_of(rows[i].one, rows[i].other), rows[i].distance);
		assert_int_equal(distance_of(rows[i].other, rows[i].one), rows[i].distance);
	}
	/* Names of 32 letters are compared, longer ones are not. */
	for (unsigned int size = 32; size <= 33; size++) {
		memset(one, 'a', size);
		one[size] = '\0';
		strcpy(other, one);
		assert_int_equal(distance_of(one, other), size == 32 ? 0 : 32);
		other[31] = '\0';
		assert_int_equal(distance_of(one, other), size == 32 ? 1 : 32);
		assert_int_equal(distance_of(other, one), size == 32 ? 1 : 32);
	}
}

static void guesses(void **state)
{
	struct guess guess = guess_new((struct text_slice){"abcdef", 6});

	(void)state;
	assert_null(guess.name);
	assert_int_equal(guess.distance, 4);
	guess_consider(&guess, (struct text_slice){"abcdef", 6}, "abwxyz");
	assert_null(guess.name);
	guess_consider(&guess, (struct text_slice){"abcdef", 6}, "abcxyz");
	assert_string_equal(guess.name, "abcxyz");
	assert_int_equal(guess.distance, 3);
	guess_consider(&guess, (struct text_slice){"abcdef", 6}, "xyzdef");
	assert_string_equal(guess.name, "abcxyz");
	guess_consider(&guess, (struct text_slice){"abcdef", 6}, "abcdex");
	assert_string_equal(guess.name, "abcdex");
}

static void fields(void **state)
{
	struct context_spec spec;
	char longest[CONTEXT_NAME_MAX + 8];

	(void)state;
	context_spec_make_field(&spec, "perf_", "a-Z:z0@9[`{/");
	assert_string_equal(spec.field, "perf_a_Z_z0_9____");
	memset(longest, 'n', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	context_spec_make_field(&spec, "p", longest);
	assert_int_equal(strlen(spec.field), CONTEXT_NAME_MAX);
	assert_true(piece_is((struct text_slice){"abc", 2}, "ab"));
	assert_false(piece_is((struct text_slice){"abc", 3}, "ab"));
	assert_false(piece_is((struct text_slice){"abc", 2}, "ac"));
}

/* ---- notices to recorders of the kernel events ---- */

static void names_of_notices(void **state)
{
	struct sockaddr_un address;

	(void)state;
	memset(&address, 'x', sizeof(address));
	assert_int_equal(kernel_notice_address(&address, 3), 2 + 1 + 18);
	assert_int_equal(address.sun_family, AF_UNIX);
	assert_memory_equal(address.sun_path, "\0side-user-events-3\0\0", 20);
	assert_int_equal(address.sun_path[107], 0);
	assert_int_equal(kernel_notice_address(&address, 12), 2 + 1 + 19);
	assert_memory_equal(address.sun_path, "\0side-user-events-12\0", 21);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(parsed_patterns),
			cmocka_unit_test(refused_patterns),
			cmocka_unit_test(lists),
			cmocka_unit_test(patterns_of_the_kernel),
			cmocka_unit_test(matching),
			cmocka_unit_test(levels_and_sets),
			cmocka_unit_test(memory_is_used_up),
			cmocka_unit_test(memory_of_structures),
			cmocka_unit_test(bytes_of_zero),
			cmocka_unit_test(missed_programs),
			cmocka_unit_test(printable_errors),
			cmocka_unit_test(distances),
			cmocka_unit_test(guesses),
			cmocka_unit_test(fields),
			cmocka_unit_test(names_of_notices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
