/* SPDX-License-Identifier: MIT */
/* Reads the user's selection of events: SIDE_USER_EVENTS, or the file that it names. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracers/user-events/user-events.h"

static bool user_events_config_set_error(
		char *reason, size_t capacity, const char *what, const char *text)
{
	(void)snprintf(reason, capacity, "%s \"%.120s\"", what, text);
	return false;
}

static bool user_events_config_read_encoding(const char *text, enum kernel_encoding *ret_encoding)
{
	if (!strcmp(text, "auto"))
		*ret_encoding = KERNEL_AUTO;
	else if (!strcmp(text, "native"))
		*ret_encoding = KERNEL_NATIVE;
	else if (!strcmp(text, "eventheader"))
		*ret_encoding = KERNEL_EVENTHEADER;
	else
		return false;
	return true;
}

static bool user_events_config_add_pattern(
		struct kernel_config *config, const char *text, char *reason, size_t capacity)
{
	struct pattern_error error;
	struct pattern *larger = reallocarray(
			config->patterns, config->nr_patterns + 1, sizeof(*config->patterns));

	if (!larger)
		return user_events_config_set_error(reason, capacity, "out of memory for", text);
	config->patterns = larger;
	if (pattern_parse(text, &larger[config->nr_patterns], &error)) {
		pattern_error_text(reason, capacity, text, &error);
		return false;
	}
	config->nr_patterns++;
	return true;
}

/* Add the patterns of a list. Modifies the text. */
static bool user_events_config_add_patterns(
		struct kernel_config *config, char *text, char *reason, size_t capacity)
{
	const char *pattern;
	char *remainder, *word;

	for (word = strtok_r(text, ", \t", &remainder); word;
			word = strtok_r(NULL, ", \t", &remainder)) {
		pattern = !strcmp(word, "1") || !strcmp(word, "all") ? "*" : word;
		if (!user_events_config_add_pattern(config, pattern, reason, capacity))
			return false;
	}
	return true;
}

static bool user_events_config_read_line(
		struct kernel_config *config, char *line, char *reason, size_t capacity)
{
	char *value;

	line += strspn(line, " \t");
	line[strcspn(line, "\r\n")] = '\0';
	if (!*line || *line == '#')
		return true;
	value = line + strcspn(line, " \t");
	if (*value)
		*value++ = '\0';
	value += strspn(value, " \t");
	if (!strcmp(line, "events"))
		return user_events_config_add_patterns(config, value, reason, capacity);
	if (!strcmp(line, "encoding"))
		return user_events_config_read_encoding(value, &config->encoding) ||
				user_events_config_set_error(reason, capacity,
						"unknown encoding, expected auto, native or eventheader:",
						value);
	return user_events_config_set_error(
			reason, capacity, "unknown keyword, expected events or encoding:", line);
}

static bool user_events_config_read_file(
		struct kernel_config *config, const char *path, char *reason, size_t capacity)
{
	FILE *file = fopen(path, "re");
	char line[2048];
	bool good = true;

	if (!file)
		return user_events_config_set_error(reason, capacity, strerror(errno), path);
	while (good && fgets(line, sizeof(line), file))
		good = user_events_config_read_line(config, line, reason, capacity);
	(void)fclose(file);
	return good;
}

bool kernel_config_read(const char *text, const char *encoding, struct kernel_config *ret_config,
		char *reason, size_t capacity)
{
	char *copy;
	bool good;

	memset(ret_config, 0, sizeof(*ret_config));
	if (*text == '/') {
		good = user_events_config_read_file(ret_config, text, reason, capacity);
	} else {
		copy = strdup(text);
		good = copy ? user_events_config_add_patterns(ret_config, copy, reason, capacity)
			    : user_events_config_set_error(
					      reason, capacity, "out of memory for", text);
		free(copy);
	}
	if (good && !ret_config->nr_patterns)
		good = user_events_config_set_error(reason, capacity, "no events in", text);
	/* The environment variable has precedence over the file. */
	if (good && encoding && *encoding &&
			!user_events_config_read_encoding(encoding, &ret_config->encoding))
		good = user_events_config_set_error(reason, capacity,
				"unknown encoding, expected auto, native or eventheader:",
				encoding);
	return good;
}
