/* SPDX-License-Identifier: MIT */
/* Options of a session at their limits and one beyond: each is refused with its own error. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "recorder/check.h"
#include "protocol/pattern.h"

#define PATTERNS_MAX 1024
#define TEXT_MAX 32768 /* bytes of a rule's patterns, with their ends */

/* Repeats one pattern; only the last one has another length. */
static void check_patterns(size_t nr, size_t length, size_t last, const char *expected)
{
	const char **patterns = calloc(nr, sizeof(*patterns));
	char *text = malloc(length + 1), *text_last = malloc(last + 1);
	struct session_rule rule = {.patterns = patterns, .nr_patterns = nr};
	struct session_channel channel = {.name = "c", .rules = &rule, .nr_rules = 1};
	struct session_options options = {.channels = &channel, .nr_channels = 1};
	struct error error;
	int ret;

	memset(text, 'x', length);
	text[length] = text_last[last] = '\0';
	memset(text_last, 'x', last);
	for (size_t i = 0; i < nr; i++)
		patterns[i] = i + 1 < nr ? text : text_last;
	ret = session_check(&options, &error);
	if (expected ? ret != -EINVAL || strcmp(error.text, expected) : ret) {
		fprintf(stderr, "%zu patterns of %zu bytes, the last of %zu: %d, %s\n", nr, length,
				last, ret, ret ? error.text : "accepted");
		abort();
	}
	free(text_last);
	free(text);
	free(patterns);
}

static void patterns(void)
{
	check_patterns(1, 3, 3, NULL);
	check_patterns(PATTERNS_MAX - 1, 3, 3, NULL);
	check_patterns(PATTERNS_MAX, 3, 3, NULL);
	check_patterns(PATTERNS_MAX + 1, 3, 3, "1025 patterns are more than 1024");
}

static void rule_text(void)
{
	static const char expected[] = "the patterns together are longer than 32 KiB";
	const size_t nr = TEXT_MAX / 128;

	check_patterns(nr, 127, 126, NULL);
	check_patterns(nr, 127, 127, NULL);
	check_patterns(nr, 127, 128, expected);
	check_patterns(nr + 1, 127, 1, expected);
	/* The maximal number of patterns, with the maximal length for that number. */
	check_patterns(PATTERNS_MAX, TEXT_MAX / PATTERNS_MAX - 1, TEXT_MAX / PATTERNS_MAX - 1,
			NULL);
	check_patterns(PATTERNS_MAX, TEXT_MAX / PATTERNS_MAX - 1, TEXT_MAX / PATTERNS_MAX,
			expected);
}

static void channels(void)
{
	struct session_channel all[SESSION_CHANNELS_MAX + 1];
	struct session_options options = {.channels = all};
	char names[SESSION_CHANNELS_MAX + 1][16];
	struct error error;

	for (unsigned int i = 0; i < SESSION_CHANNELS_MAX + 1; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "c%u", i);
		all[i] = (struct session_channel){.name = names[i]};
	}
	options.nr_channels = SESSION_CHANNELS_MAX;
	if (session_check(&options, &error)) {
		fprintf(stderr, "%s\n", error.text);
		abort();
	}
	options.nr_channels++;
	CHECK(session_check(&options, &error) == -EINVAL);
	CHECK(!strcmp(error.text, "33 channels are more than 32"));
}

static void compression(void)
{
	static const int levels[] = {-1, 0, SESSION_COMPRESS_MAX, SESSION_COMPRESS_MAX + 1};
	struct session_channel channel = {.name = "c"};
	struct session_options options = {.channels = &channel, .nr_channels = 1};
	struct error error;
	char expected[80];

	for (unsigned int i = 0; i < 4; i++) {
		options.compress = levels[i];
		CHECK(session_check(&options, &error) == (i == 1 || i == 2 ? 0 : -EINVAL));
		if (i == 1 || i == 2)
			continue;
		(void)snprintf(expected, sizeof(expected),
				"unknown compression level %d: levels are 1 to %d", levels[i],
				SESSION_COMPRESS_MAX);
		CHECK(!strcmp(error.text, expected));
	}
}

int main(void)
{
	compression();
	patterns();
	rule_text();
	channels();
	return 0;
}
