/* SPDX-License-Identifier: MIT */
/* Reads the static configuration of early boot; boot.h describes the format. */
#include "protocol/boot.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "protocol/context.h"
#include "protocol/pattern.h"
#include "protocol/runtime.h"
#include "protocol/protocol.h"

#define ALIGNMENT sizeof(void *)
#define CHANNEL_NAME_MAX 32
#define THREADS_MAX 4096
#define BLOCK_MAX_US 3600000000u
#define RING_SIZE_MAX (UINT64_C(1) << 30)
/* Largest number of copies of each byte: lines of one list are copied into one contiguous list. */
#define COPIES 2

struct boot_config_reader {
	struct boot_config *config;
	struct boot_session *session;
	struct boot_channel *channel;
	struct boot_rule *rule;
	char *space, *buffer_end;
	unsigned int line;
	struct boot_error *error;
};

/* ---- errors ---- */

static int boot_config_set_error(struct boot_config_reader *reader, const char *hint,
		const char *format, ...) __attribute__((format(printf, 3, 4)));

static int boot_config_set_error(
		struct boot_config_reader *reader, const char *hint, const char *format, ...)
{
	va_list arguments;

	reader->error->line = reader->line;
	va_start(arguments, format);
	vsnprintf(reader->error->text, sizeof(reader->error->text), format, arguments);
	va_end(arguments);
	snprintf(reader->error->hint, sizeof(reader->error->hint), "%s", hint);
	return -EINVAL;
}

/* Text of the file is printed to terminals. */
static void make_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

void boot_error_text(char *buffer, size_t size, const char *file, const struct boot_error *error)
{
	char where[16] = "";

	if (error->line)
		snprintf(where, sizeof(where), "%u: ", error->line);
	snprintf(buffer, size, "%s:%s%s%s%s%s", file, *where ? "" : " ", where, error->text,
			*error->hint ? "; " : "", error->hint);
	make_printable(buffer);
}

/* ---- memory ---- */

size_t boot_buffer_size(size_t size)
{
	/* Each structure has its own line, of eight bytes at least ("event *\n"). */
	const size_t most = sizeof(struct boot_rule) + sizeof(struct boot_channel) + 64;

	return sizeof(struct boot_config) + sizeof(struct boot_session) + (size / 8 + 2) * most +
			COPIES * size * 64;
}

static void *boot_config_allocate(struct boot_config_reader *reader, size_t size)
{
	char *taken = reader->space;

	size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (size > (size_t)(reader->buffer_end - taken))
		return NULL;
	reader->space += size;
	memset(taken, 0, size);
	return taken;
}

static int boot_config_fail_no_space(struct boot_config_reader *reader)
{
	return boot_config_set_error(reader, "write it shorter", "the file is too large");
}

/* ---- values ---- */

/* Read digits and a unit. False: no number, or too large. */
static bool boot_config_read_number(
		const char *text, uint64_t max, uint64_t *ret_number, const char **ret_unit)
{
	uint64_t value = 0;

	if (*text < '0' || *text > '9')
		return false;
	for (; *text >= '0' && *text <= '9'; text++) {
		unsigned int digit = (unsigned int)(*text - '0');

		if (value > (max - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*ret_number = value;
	*ret_unit = text;
	return value <= max;
}

static int boot_config_parse_size(struct boot_config_reader *reader, const char *value,
		uint64_t least, uint64_t most, uint64_t *ret_size)
{
	static const char units[] = "KMG";
	const char *unit, *found;
	unsigned int shift = 0;

	if (!boot_config_read_number(value, most, ret_size, &unit))
		return boot_config_set_error(reader, "use a size like 256K or 1M",
				"\"%.40s\" is not a size, or too large", value);
	if (*unit) {
		found = strchr(units, *unit >= 'a' ? *unit - 'a' + 'A' : *unit);
		if (!found || unit[1])
			return boot_config_set_error(reader, "use a size like 256K or 1M",
					"\"%.40s\" has an unknown unit", value);
		shift = (unsigned int)(found - units + 1) * 10;
	}
	if (*ret_size > most >> shift || *ret_size << shift < least)
		return boot_config_set_error(reader, "use a size between them",
				"\"%.40s\" is not between %llu and %llu bytes", value,
				(unsigned long long)least, (unsigned long long)most);
	*ret_size <<= shift;
	return 0;
}

static int take_time(struct boot_config_reader *reader, const char *value, uint32_t *ret_us)
{
	static const struct {
		const char *name;
		uint64_t us;
	} units[] = {{"us", 1}, {"ms", 1000}, {"s", 1000000}, {"min", 60000000}};
	uint64_t number;
	const char *unit;
	size_t i;

	if (!boot_config_read_number(value, BLOCK_MAX_US, &number, &unit))
		return boot_config_set_error(reader, "use a time like 10ms or 1s",
				"\"%.40s\" is not a time, or too long", value);
	for (i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(unit, units[i].name) != 0)
			continue;
		if (!number || number > BLOCK_MAX_US / units[i].us)
			return boot_config_set_error(reader, "use a time between 1us and 1h",
					"%.40s is not between 1us and 1h", value);
		*ret_us = (uint32_t)(number * units[i].us);
		return 0;
	}
	return boot_config_set_error(
			reader, "use us, ms, s or min", "\"%.40s\" has an unknown unit", value);
}

/* Accept only an absolute path without blanks and control characters, which can be printed and
   followed. */
static int boot_config_check_path(struct boot_config_reader *reader, const char *value)
{
	const char *at;

	if (*value != '/')
		return boot_config_set_error(reader, "begin it with a \"/\"",
				"\"%.80s\" is not an absolute path", value);
	for (at = value; *at; at++)
		if ((unsigned char)*at <= ' ' || *at == 0x7f)
			return boot_config_set_error(reader, "choose another directory",
					"the path %.80s has blanks or control characters in it",
					value);
	return 0;
}

/* ---- lists ---- */

static int check_pattern(struct boot_config_reader *reader, const char *word)
{
	struct pattern pattern;
	struct pattern_error why;

	if (!pattern_parse(word, &pattern, &why))
		return 0;
	return boot_config_set_error(reader, "`side help patterns` describes them",
			"the pattern \"%.60s\": column %u: %s", word, why.column, why.reason);
}

static int check_context(struct boot_config_reader *reader, const char *word)
{
	struct context_spec spec;
	struct context_error why;

	if (!context_parse(word, &spec, &why))
		return 0;
	return boot_config_set_error(reader, "`side help contexts` lists them",
			"the context \"%.60s\": %.160s", word, why.text);
}

/* Append a string, with `before` in front of it. */
static int boot_config_add_arg(struct boot_config_reader *reader, struct boot_strings *strings,
		const char *before, const char *word, size_t size, char **end)
{
	size_t whole = strlen(before) + size + 1;
	char *to = *end;

	if (whole > (size_t)(reader->buffer_end - to))
		return boot_config_fail_no_space(reader);
	memcpy(to, before, strlen(before));
	memcpy(to + strlen(before), word, size);
	to[whole - 1] = 0;
	*end = to + whole;
	strings->size += whole;
	strings->nr++;
	return 0;
}

static size_t trimmed(const char **word, size_t size)
{
	while (size && (**word == ' ' || **word == '\t')) {
		(*word)++;
		size--;
	}
	while (size && ((*word)[size - 1] == ' ' || (*word)[size - 1] == '\t'))
		size--;
	return size;
}

static int boot_config_add_args(struct boot_config_reader *reader, struct boot_strings *strings,
		const char *before, const char *value, uint32_t most,
		int (*check)(struct boot_config_reader *, const char *))
{
	char *copy = reader->space, *end = copy;
	int ret = 0;

	/* A list is contiguous: copy the strings of earlier lines first. */
	if (strings->size > (size_t)(reader->buffer_end - end))
		return boot_config_fail_no_space(reader);
	if (strings->size)
		memcpy(end, strings->texts, strings->size);
	end += strings->size;
	while (!ret) {
		size_t size = strcspn(value, ","), kept;
		const char *word = value, *begin = end;

		kept = trimmed(&word, size);
		if (!kept)
			return boot_config_set_error(reader,
					"remove the comma, or add what is missing",
					"there is an empty element in the list");
		if (strings->nr == most)
			return boot_config_set_error(reader, "shorten the list",
					"more than %u in one list", most);
		ret = boot_config_add_arg(reader, strings, before, word, kept, &end);
		if (!ret)
			ret = check(reader, begin);
		if (!value[size])
			break;
		value += size + 1;
	}
	strings->texts = copy;
	reader->space += (size_t)(end - copy + (long)ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	return ret;
}

/* ---- sessions, channels, rules ---- */

static struct boot_channel *boot_config_add_channel(
		struct boot_config_reader *reader, const char *name)
{
	struct boot_channel *channel = boot_config_allocate(reader, sizeof(*channel));
	struct boot_session *session = reader->session;

	if (!channel)
		return NULL;
	channel->name = name;
	channel->ring_size = BOOT_RING_SIZE;
	channel->rules_end = &channel->rules;
	*session->channels_end = channel;
	session->channels_end = &channel->next;
	session->nr_channels++;
	reader->channel = channel;
	reader->rule = NULL;
	return channel;
}

static int need_session(struct boot_config_reader *reader, const char *word)
{
	if (reader->session)
		return 0;
	return boot_config_set_error(reader, "write a line `session NAME` before it",
			"%s belongs to a session", word);
}

/* The default channel needs no name. */
static int need_channel(struct boot_config_reader *reader, const char *word)
{
	int ret = need_session(reader, word);

	if (ret || reader->channel)
		return ret;
	return boot_config_add_channel(reader, "ring") ? 0 : boot_config_fail_no_space(reader);
}

static int need_no_rule(struct boot_config_reader *reader, const char *word)
{
	int ret = need_channel(reader, word);

	if (ret || !reader->rule)
		return ret;
	return boot_config_set_error(reader, "write it before the channel's first event",
			"%s belongs to a channel, not to an event", word);
}

static int need_rule(struct boot_config_reader *reader, const char *word)
{
	if (reader->rule)
		return 0;
	return boot_config_set_error(reader, "write a line `event PATTERN` before it",
			"%s belongs to an event", word);
}

/* ---- keywords ---- */

static int boot_config_take_state_dir(struct boot_config_reader *reader, const char *value)
{
	if (reader->config->state_dir)
		return boot_config_set_error(
				reader, "keep one of them", "the state directory is given twice");
	if (reader->session)
		return boot_config_set_error(reader, "write it before the first session",
				"\"state-directory\" must come before the first session");
	reader->config->state_dir = value;
	return boot_config_check_path(reader, value);
}

static int boot_config_parse_session(struct boot_config_reader *reader, const char *value)
{
	struct boot_config *config = reader->config;
	struct boot_session *session;

	if (!config->state_dir)
		return boot_config_set_error(reader,
				"write a line `state-directory /run/side/boot` first",
				"the state directory for the rings is missing");
	if (!wire_session_name_valid(value))
		return boot_config_set_error(reader,
				"use 1 to 64 letters, digits, \"_\", \".\" and \"-\"",
				"\"%.80s\" is not a valid name of a session", value);
	if (strlen(config->state_dir) + strlen(value) + sizeof("//" BOOT_SOCKET) - 1 >
			BOOT_SOCKET_MAX)
		return boot_config_set_error(reader, "choose a shorter one",
				"state directory and session together are too long for a socket's name");
	for (session = config->sessions; session; session = session->next)
		if (!strcmp(session->name, value))
			return boot_config_set_error(reader, "give one of them another name",
					"there are two sessions %s", value);
	if (config->nr_sessions == BOOT_SESSIONS_MAX)
		return boot_config_set_error(reader, "use fewer sessions", "more than %d sessions",
				BOOT_SESSIONS_MAX);
	session = boot_config_allocate(reader, sizeof(*session));
	if (!session)
		return boot_config_fail_no_space(reader);
	session->name = value;
	session->channels_end = &session->channels;
	*config->sessions_end = session;
	config->sessions_end = &session->next;
	config->nr_sessions++;
	reader->session = session;
	reader->channel = NULL;
	reader->rule = NULL;
	return 0;
}

static int take_output(struct boot_config_reader *reader, const char *value)
{
	int ret = need_session(reader, "output");

	if (!ret && reader->session->output)
		return boot_config_set_error(
				reader, "keep one of them", "the session's output is given twice");
	if (!ret)
		reader->session->output = value;
	return ret ? ret : boot_config_check_path(reader, value);
}

static int take_memory_limit(struct boot_config_reader *reader, const char *value)
{
	int ret = need_session(reader, "memory-limit");

	return ret ? ret
		   : boot_config_parse_size(reader, value, 1 << 20, UINT64_C(1) << 50,
				     &reader->session->memory_limit);
}

static bool boot_config_is_channel_name(const char *name)
{
	static const char allowed[] =
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	size_t size = strlen(name);

	return size && size <= CHANNEL_NAME_MAX && *name != '-' && strspn(name, allowed) == size;
}

static int boot_config_parse_channel(struct boot_config_reader *reader, const char *value)
{
	const struct boot_channel *channel;
	int ret = need_session(reader, "channel");

	if (ret)
		return ret;
	if (!boot_config_is_channel_name(value))
		return boot_config_set_error(reader, "use 1 to 32 letters, digits, \"_\" and \"-\"",
				"\"%.80s\" is not a valid name of a channel", value);
	for (channel = reader->session->channels; channel; channel = channel->next)
		if (!strcmp(channel->name, value))
			return boot_config_set_error(reader, "give one of them another name",
					"there are two channels %s", value);
	if (reader->session->nr_channels == WIRE_CHANNELS_MAX)
		return boot_config_set_error(reader, "use fewer channels",
				"a session has at most %d channels", WIRE_CHANNELS_MAX);
	return boot_config_add_channel(reader, value) ? 0 : boot_config_fail_no_space(reader);
}

static int take_mode(struct boot_config_reader *reader, const char *value)
{
	static const char *const strings[] = {"discard", "overwrite", "block"};
	unsigned int i;
	int ret = need_no_rule(reader, "mode");

	if (ret)
		return ret;
	for (i = 0; i < sizeof(strings) / sizeof(*strings); i++)
		if (!strcmp(value, strings[i])) {
			reader->channel->mode = (enum boot_mode)i;
			return 0;
		}
	return boot_config_set_error(reader, "use discard, overwrite or block",
			"\"%.40s\" is not a mode", value);
}

static int take_buffer_size(struct boot_config_reader *reader, const char *value)
{
	uint64_t size = 0;
	int ret = need_no_rule(reader, "buffer-size");

	if (!ret)
		ret = boot_config_parse_size(
				reader, value, BOOT_RING_SIZE_MIN, RING_SIZE_MAX, &size);
	if (!ret)
		reader->channel->ring_size = UINT64_C(1) << (63 - __builtin_clzll(size));
	return ret;
}

static int take_per_thread(struct boot_config_reader *reader, const char *value)
{
	const char *unit;
	uint64_t number;
	int ret = need_no_rule(reader, "per-thread");

	if (ret)
		return ret;
	if (!boot_config_read_number(value, THREADS_MAX, &number, &unit) || *unit || !number)
		return boot_config_set_error(reader,
				"set how many threads have rings at one time, like 64",
				"\"%.40s\" is not a number from 1 to %d", value, THREADS_MAX);
	reader->channel->threads_max = (uint32_t)number;
	return 0;
}

static int take_block_timeout(struct boot_config_reader *reader, const char *value)
{
	int ret = need_no_rule(reader, "block-timeout");

	return ret ? ret : take_time(reader, value, &reader->channel->block_timeout_us);
}

static int boot_config_parse_context(struct boot_config_reader *reader, const char *value)
{
	int ret = need_channel(reader, "context");

	if (ret)
		return ret;
	return boot_config_add_args(reader,
			reader->rule ? &reader->rule->contexts : &reader->channel->contexts, "",
			value, WIRE_CONTEXTS_MAX, check_context);
}

static int boot_config_parse_event(struct boot_config_reader *reader, const char *value)
{
	struct boot_rule *rule;
	int ret = need_channel(reader, "event");

	if (ret)
		return ret;
	if (reader->channel->nr_rules == WIRE_RULES_MAX)
		return boot_config_set_error(reader, "write several patterns in one line",
				"a channel has at most %d rules", WIRE_RULES_MAX);
	rule = boot_config_allocate(reader, sizeof(*rule));
	if (!rule)
		return boot_config_fail_no_space(reader);
	rule->line = reader->line;
	*reader->channel->rules_end = rule;
	reader->channel->rules_end = &rule->next;
	reader->channel->nr_rules++;
	reader->rule = rule;
	return boot_config_add_args(
			reader, &rule->patterns, "", value, WIRE_PATTERNS_MAX, check_pattern);
}

static int take_exclude(struct boot_config_reader *reader, const char *value)
{
	int ret = need_rule(reader, "exclude");

	return ret ? ret
		   : boot_config_add_args(reader, &reader->rule->patterns, "!", value,
				     WIRE_PATTERNS_MAX, check_pattern);
}

static int boot_config_parse_filter(struct boot_config_reader *reader, const char *value)
{
	int ret = need_rule(reader, "filter");

	if (!ret && reader->rule->filter)
		return boot_config_set_error(reader, "join them with &&, or write a second event",
				"the event has two filters");
	if (ret)
		return ret;
	reader->rule->filter = value;
	reader->rule->filter_line = reader->line;
	return 0;
}

static const struct {
	const char *word;
	int (*take)(struct boot_config_reader *reader, const char *value);
} known[] = {
		{"state-directory", boot_config_take_state_dir},
		{"place", boot_config_take_state_dir}, /* the former name, until the next release */
		{"session", boot_config_parse_session},
		{"output", take_output},
		{"memory-limit", take_memory_limit},
		{"channel", boot_config_parse_channel},
		{"mode", take_mode},
		{"buffer-size", take_buffer_size},
		{"per-thread", take_per_thread},
		{"block-timeout", take_block_timeout},
		{"context", boot_config_parse_context},
		{"event", boot_config_parse_event},
		{"exclude", take_exclude},
		{"filter", boot_config_parse_filter},
};

/* ---- lines ---- */

static int boot_config_parse_line(struct boot_config_reader *reader, char *line)
{
	char *value, *end = line + strlen(line);
	size_t i;

	while (end > line && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		*--end = 0;
	line += strspn(line, " \t");
	if (!*line || *line == '#')
		return 0;
	value = line + strcspn(line, " \t");
	if (*value)
		*value++ = 0;
	value += strspn(value, " \t");
	for (i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (strcmp(known[i].word, line) != 0)
			continue;
		if (*value)
			return known[i].take(reader, value);
		return boot_config_set_error(reader, "write it in the same line",
				"missing value after \"%s\"", line);
	}
	return boot_config_set_error(reader,
			"known keywords: state-directory, session, output, memory-limit, channel, mode, buffer-size, per-thread, block-timeout, context, event, exclude and filter",
			"unknown keyword \"%.40s\"", line);
}

static int check_whole(struct boot_config_reader *reader)
{
	const struct boot_channel *channel;
	const struct boot_session *session;

	reader->line = 0;
	if (!reader->config->sessions)
		return boot_config_set_error(reader,
				"write `state-directory DIR`, `session NAME` and `event PATTERN`",
				"the file has no session");
	for (session = reader->config->sessions; session; session = session->next) {
		if (!session->channels)
			return boot_config_set_error(reader, "write a line `event PATTERN`",
					"the session %s has no event to record", session->name);
		for (channel = session->channels; channel; channel = channel->next)
			if (!channel->rules)
				return boot_config_set_error(reader, "write a line `event PATTERN`",
						"the channel %s of the session %s has no event to record",
						channel->name, session->name);
	}
	return 0;
}

static int boot_config_parse(struct boot_config_reader *reader, char *text, size_t size)
{
	char *line = text;
	int ret = 0;

	if (size > BOOT_SIZE_MAX)
		return boot_config_set_error(reader, "shorten the file",
				"the file has more than %u bytes", BOOT_SIZE_MAX);
	reader->config = boot_config_allocate(reader, sizeof(*reader->config));
	if (!reader->config)
		return boot_config_fail_no_space(reader);
	reader->config->sessions_end = &reader->config->sessions;
	text[size] = 0;
	while (line < text + size && !ret) {
		char *end = memchr(line, '\n', (size_t)(text + size - line));

		reader->line++;
		end = end ? end : text + size;
		if (memchr(line, 0, (size_t)(end - line)))
			return boot_config_set_error(
					reader, "write text only", "there is a zero byte in it");
		*end = 0;
		ret = boot_config_parse_line(reader, line);
		line = end + 1;
	}
	return ret ? ret : check_whole(reader);
}

int boot_parse(char *text, size_t size, void *space, struct boot_config **ret_config,
		struct boot_error *error)
{
	struct boot_config_reader reader = {.space = space, .error = error};
	int ret;

	*error = (struct boot_error){.line = 0};
	*ret_config = NULL;
	reader.buffer_end = reader.space + boot_buffer_size(size);
	ret = boot_config_parse(&reader, text, size);
	make_printable(error->text);
	if (!ret)
		*ret_config = reader.config;
	return ret;
}

/* ---- names ---- */

const char *boot_file(const char *value)
{
	if (!value || !*value || !strcmp(value, "0"))
		return NULL;
	return strcmp(value, "1") != 0 ? value : BOOT_FILE;
}

bool boot_path(char *path, size_t space, const char *state_dir, const char *session,
		const char *name)
{
	int size = snprintf(path, space, "%s/%s%s%s", state_dir, session, name ? "/" : "",
			name ? name : "");

	return size > 0 && (size_t)size < space;
}
