/* SPDX-License-Identifier: MIT */
/*
 * Parses and matches patterns of event names.
 *
 * The parser checks everything, so matching cannot fail: each set is closed, and each "\" is
 * followed by a byte.
 */
#include "protocol/pattern.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int pattern_set_error(
		struct pattern_error *error, const char *text, const char *at, const char *reason)
{
	error->column = (unsigned int)(at - text) + 1;
	error->reason = reason;
	return -EINVAL;
}

/* ---- parsing ---- */

static const struct {
	const char *name;
	uint8_t level;
} level_names[] = {
		{"EMERG", 0},
		{"ALERT", 1},
		{"CRIT", 2},
		{"ERR", 3},
		{"ERROR", 3},
		{"WARNING", 4},
		{"WARN", 4},
		{"NOTICE", 5},
		{"INFO", 6},
		{"DEBUG", 7},
};

static bool pattern_is_same_word(const char *word, const char *upper)
{
	for (; *word && *upper; word++, upper++) {
		char c = *word >= 'a' && *word <= 'z' ? (char)(*word - 'a' + 'A') : *word;

		if (c != *upper)
			return false;
	}
	return !*word && !*upper;
}

static int pattern_parse_level(const char *word)
{
	size_t i;

	if (word[0] >= '0' && word[0] <= '7' && !word[1])
		return word[0] - '0';
	for (i = 0; i < sizeof(level_names) / sizeof(level_names[0]); i++)
		if (pattern_is_same_word(word, level_names[i].name))
			return level_names[i].level;
	return -1;
}

/*
 * Returns the byte after the set that starts at `set` (a '['), or NULL and sets *ret_reason. A ']'
 * directly after the opening is a literal.
 */
static const char *pattern_set_end(const char *set, const char **ret_reason)
{
	const char *at = set + 1;
	bool first = true;

	*ret_reason = "a set that is not closed by \"]\"";
	if (*at == '!' || *at == '^')
		at++;
	for (; *at; first = false) {
		unsigned char low;

		if (*at == ']' && !first)
			return at + 1;
		if (*at == '\\' && !*++at)
			return NULL;
		low = (unsigned char)*at++;
		if (*at != '-' || at[1] == ']' || !at[1])
			continue;
		at++;
		if (*at == '\\' && !*++at)
			return NULL;
		if ((unsigned char)*at++ < low) {
			*ret_reason = "a range that ends before it begins";
			return NULL;
		}
	}
	return NULL;
}

/* The end of the glob (at the '@' or at the end of the text), and its colon. */
struct glob_scan {
	const char *end;
	const char *colon;
};

static int pattern_scan_glob(const char *text, const char *glob, struct glob_scan *ret_scan,
		struct pattern_error *error)
{
	const char *at = glob;

	*ret_scan = (struct glob_scan){0};
	while (*at && *at != '@') {
		if (*at == '[') {
			const char *reason;
			const char *end = pattern_set_end(at, &reason);

			if (!end)
				return pattern_set_error(error, text, at, reason);
			at = end;
			continue;
		}
		if (*at == '\\' && !*++at)
			return pattern_set_error(
					error, text, at - 1, "missing character after the \"\\\"");
		if (*at == ':' && !ret_scan->colon)
			ret_scan->colon = at;
		at++;
	}
	ret_scan->end = at;
	return 0;
}

size_t pattern_list_first(const char *text)
{
	bool set = false;
	size_t i;

	for (i = 0; text[i]; i++) {
		if (text[i] == '\\' && text[i + 1])
			i++;
		else if (text[i] == '[')
			set = true;
		else if (text[i] == ']')
			set = false;
		else if (text[i] == ',' && !set)
			break;
	}
	return i;
}

int pattern_parse(const char *text, struct pattern *ret_pattern, struct pattern_error *error)
{
	const char *glob = text;
	struct glob_scan scan;
	int level;
	int ret;

	memset(ret_pattern, 0, sizeof(*ret_pattern));
	if (*glob == '!') {
		ret_pattern->exclude = true;
		glob++;
	}
	if (!*glob)
		return pattern_set_error(error, text, glob, "missing name");
	if (strlen(text) > PATTERN_TEXT_MAX)
		return pattern_set_error(
				error, text, text + PATTERN_TEXT_MAX, "more than 511 bytes");
	ret = pattern_scan_glob(text, glob, &scan, error);
	if (ret)
		return ret;
	if (scan.colon == glob)
		return pattern_set_error(
				error, text, glob, "missing provider name before the \":\"");
	if (scan.colon && scan.colon + 1 == scan.end)
		return pattern_set_error(
				error, text, scan.end, "missing event name after the \":\"");

	ret_pattern->glob_size = (uint16_t)(scan.end - glob);
	memcpy(ret_pattern->glob, glob, ret_pattern->glob_size);
	if (!ret_pattern->glob_size)
		ret_pattern->glob[ret_pattern->glob_size++] = '*';
	if (!scan.colon) {
		ret_pattern->glob[ret_pattern->glob_size++] = ':';
		ret_pattern->glob[ret_pattern->glob_size++] = '*';
	}
	if (!*scan.end)
		return 0;

	ret_pattern->level_mode = PATTERN_LEVEL_AT_LEAST;
	scan.end++;
	if (*scan.end == '=') {
		ret_pattern->level_mode = PATTERN_LEVEL_EXACTLY;
		scan.end++;
	}
	level = pattern_parse_level(scan.end);
	if (level < 0)
		return pattern_set_error(error, text, scan.end,
				"unknown log level: the levels are EMERG, ALERT, CRIT, ERR, WARNING, NOTICE, INFO, DEBUG (a literal \"@\" is written \"\\@\")");
	ret_pattern->level = (uint8_t)level;
	return 0;
}

/* ---- events of the kernel ---- */

bool pattern_is_kernel(const char *text)
{
	return !strncmp(text + (*text == '!'), PATTERN_KERNEL, sizeof(PATTERN_KERNEL) - 1);
}

int pattern_parse_kernel(const char *text, struct pattern ret_patterns[PATTERN_KERNEL_MAX],
		struct pattern_error *error)
{
	const char *sign = *text == '!' ? "!" : "", *name = text + (*text == '!');
	char pattern_text[PATTERN_TEXT_MAX + 1];
	struct pattern_error ignored;
	int count = 1;
	size_t size;

	if (pattern_is_kernel(text))
		name += sizeof(PATTERN_KERNEL) - 1;
	size = strlen(name);
	if (snprintf(pattern_text, sizeof(pattern_text), "%s%s", sign, name) >=
			(int)sizeof(pattern_text))
		return pattern_set_error(
				error, text, text + PATTERN_TEXT_MAX, "more than 511 bytes");
	if (pattern_parse(pattern_text, &ret_patterns[0], error)) {
		error->column += (unsigned int)(strlen(text) - strlen(pattern_text));
		return -EINVAL;
	}
	if (strchr(name, '@'))
		return count;
	/* If "*:NAME" does not fit, NAME is longer than any event name and can be ignored. */
	if (!strchr(name, ':') &&
			snprintf(pattern_text, sizeof(pattern_text), "%s*:%s", sign, name) <
					(int)sizeof(pattern_text) &&
			!pattern_parse(pattern_text, &ret_patterns[count], &ignored))
		count++;
	if (size && name[size - 1] != '*' &&
			snprintf(pattern_text, sizeof(pattern_text), "%s%s%s:*", sign,
					strchr(name, ':') ? "" : "*:", name) <
					(int)sizeof(pattern_text) &&
			!pattern_parse(pattern_text, &ret_patterns[count], &ignored))
		count++;
	return count;
}

void pattern_error_text(
		char *buffer, size_t size, const char *text, const struct pattern_error *error)
{
	snprintf(buffer, size, "pattern \"%.200s\", column %u: %s", text, error->column,
			error->reason);
}

/* ---- matching ---- */

/* "provider:event" without concatenating it. */
struct event_name {
	const char *provider;
	const char *event;
	size_t provider_size;
	size_t size;
};

static unsigned char pattern_byte_at(const struct event_name *subject, size_t index)
{
	if (index < subject->provider_size)
		return (unsigned char)subject->provider[index];
	if (index == subject->provider_size)
		return ':';
	return (unsigned char)subject->event[index - subject->provider_size - 1];
}

/*
 * Returns the size of the UTF-8 character at `index`: the byte and the continuation bytes after it.
 */
static size_t pattern_character_size(const struct event_name *subject, size_t index)
{
	size_t size = 1;

	if (pattern_byte_at(subject, index) < 0xc0)
		return 1;
	while (index + size < subject->size && size < 4 &&
			(pattern_byte_at(subject, index + size) & 0xc0) == 0x80)
		size++;
	return size;
}

/* True if `byte` is in the set at `*at` (its '['). Moves `*at` behind the set. */
static bool pattern_set_contains(const char **at, unsigned char byte)
{
	const char *set = *at + 1;
	bool negated = *set == '!' || *set == '^';
	bool found = false;
	bool first = true;

	set += negated;
	for (; *set != ']' || first; first = false) {
		unsigned char low, high;

		set += *set == '\\';
		low = high = (unsigned char)*set++;
		if (*set == '-' && set[1] != ']') {
			set++;
			set += *set == '\\';
			high = (unsigned char)*set++;
		}
		found |= byte >= low && byte <= high;
	}
	*at = set + 1;
	return found != negated;
}

/*
 * Matches one element of the pattern that is not '*'. Returns the number of matched bytes of the
 * event name; 0: no match.
 */
static size_t pattern_step(const char **at, const struct event_name *subject, size_t index)
{
	switch (**at) {
	case '?': (*at)++; return pattern_character_size(subject, index);
	case '[': return pattern_set_contains(at, pattern_byte_at(subject, index));
	case '\\': (*at)++; break;
	}
	return (unsigned char)*(*at)++ == pattern_byte_at(subject, index);
}

/* Only the last '*' is retried, so the time is at most the product of both lengths. */
static bool pattern_glob_matches(
		const char *glob, const char *end, const struct event_name *subject)
{
	const char *star = NULL;
	size_t star_index = 0;
	size_t index = 0;

	for (;;) {
		size_t matched = 0;

		if (glob < end && *glob == '*') {
			star = ++glob;
			star_index = index;
			continue;
		}
		if (index == subject->size && glob == end)
			return true;
		if (index < subject->size && glob < end)
			matched = pattern_step(&glob, subject, index);
		if (matched) {
			index += matched;
			continue;
		}
		if (!star || star_index == subject->size)
			return false;
		glob = star;
		index = ++star_index;
	}
}

bool pattern_matches(const struct pattern *pattern, const char *provider, const char *event,
		unsigned int level)
{
	struct event_name subject = {.provider = provider, .event = event};

	if (pattern->level_mode == PATTERN_LEVEL_AT_LEAST && level > pattern->level)
		return false;
	if (pattern->level_mode == PATTERN_LEVEL_EXACTLY && level != pattern->level)
		return false;
	subject.provider_size = strlen(provider);
	subject.size = subject.provider_size + 1 + strlen(event);
	return pattern_glob_matches(pattern->glob, pattern->glob + pattern->glob_size, &subject);
}

bool pattern_set_wants(const struct pattern *patterns, size_t nr_patterns, const char *provider,
		const char *event, unsigned int level)
{
	bool wanted = false;
	bool any_include = false;
	size_t i;

	for (i = 0; i < nr_patterns; i++) {
		bool matches;

		any_include |= !patterns[i].exclude;
		if (wanted && !patterns[i].exclude)
			continue;
		matches = pattern_matches(&patterns[i], provider, event, level);
		if (matches && patterns[i].exclude)
			return false;
		wanted |= matches;
	}
	return wanted || !any_include;
}
