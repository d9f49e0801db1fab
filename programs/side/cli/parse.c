/* SPDX-License-Identifier: MIT */
/*
 * Parses argv by the table.
 *
 * Long options take their argument after `=` or as the next element of argv, and must be written in
 * full, because an abbreviation that is unique today may become ambiguous. Short options may be
 * bundled, and the last one may take an argument. Options and operands may be mixed, except for
 * verbs whose operands are a command.
 */
#include "programs/common/command.h"
#include "programs/common/message.h"

#include "base/nearest/nearest.h"
#include "base/units.h"
#include "protocol/context.h"
#include "protocol/pattern.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct cmdline_parser {
	int argc;
	char **argv;
	int at;
	struct parsed *parsed;
	struct parse_error *error;
};

static int cmdline_report_error(struct cmdline_parser *parser, const char *format, ...)
		__attribute__((format(printf, 2, 3)));

static int cmdline_report_error(struct cmdline_parser *parser, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(parser->error->message, sizeof(parser->error->message), format, arguments);
	va_end(arguments);
	parser->error->verb = parser->parsed->verb;
	return -EINVAL;
}

static void cmdline_advise(struct cmdline_parser *parser, const char *format, ...)
		__attribute__((format(printf, 2, 3)));

static void cmdline_advise(struct cmdline_parser *parser, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(parser->error->hint, sizeof(parser->error->hint), format, arguments);
	va_end(arguments);
}

/* ---- the table ---- */

static const struct option *cmdline_find_name(
		const struct option *options, const char *name, size_t length)
{
	for (const struct option *option = options; option->name; option++) {
		if (strlen(option->name) == length && !strncmp(option->name, name, length))
			return option;
	}
	for (const struct option *option = options; option->name; option++) {
		const char *former = option->former_name;

		if (former && strlen(former) == length && !strncmp(former, name, length))
			return option;
	}
	return NULL;
}

static const struct option *cmdline_find_letter(const struct option *options, char letter)
{
	for (const struct option *option = options; option->name; option++) {
		if (option->letter == letter)
			return option;
	}
	for (const struct option *option = options; option->name; option++) {
		if (option->former_letter == letter)
			return option;
	}
	return NULL;
}

/* Advises the nearest options, as "--name". False if none is near. */
static bool cmdline_advise_nearest(struct cmdline_parser *parser, const char *name)
{
	const struct verb *verb = parser->parsed->verb;
	struct nearest nearest;
	char text[NEAREST_TEXT_SIZE];

	nearest_begin(&nearest, name);
	for (const struct option *option = command_common_options; option->name; option++)
		nearest_offer(&nearest, option->name);
	for (const struct option *option = verb ? verb->options : NULL; option && option->name;
			option++)
		nearest_offer(&nearest, option->name);
	if (!nearest_text(&nearest, "--", text, sizeof(text)))
		return false;
	cmdline_advise(parser, "%s", text);
	return true;
}

#define OPTION_WORD_MAX 64

static int cmdline_report_unknown(struct cmdline_parser *parser, const char *option, size_t length)
{
	const struct verb *verb = parser->parsed->verb;
	char name[OPTION_WORD_MAX + 1], whole[OPTION_WORD_MAX + 3];
	const char *habit;

	snprintf(name, sizeof(name), "%.*s", (int)(length > OPTION_WORD_MAX ? 0 : length), option);
	snprintf(whole, sizeof(whole), "--%s", name);
	habit = verb ? habits_hint(verb, whole) : NULL;
	if (habit)
		cmdline_advise(parser, "%s", habit);
	else if (!*name || !cmdline_advise_nearest(parser, name))
		cmdline_advise(parser,
				verb ? "`side %s --help` lists the options"
				     : "options of a verb follow it\n`side --help` lists the verbs",
				verb ? verb->name : "");
	if (!verb)
		return cmdline_report_error(parser, "unknown option `--%.*s`", (int)length, option);
	return cmdline_report_error(parser, "`side %s` has no option `--%.*s`", verb->name,
			(int)length, option);
}

/* ---- values ---- */

static int cmdline_parse_number(const char *text, uint64_t *ret_number)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	*ret_number = strtoull(text, &end, 10);
	return errno ? -ERANGE : *end ? -EINVAL : 0;
}

static int cmdline_parse_choice(struct cmdline_parser *parser, const struct option *option,
		const char *text, int *ret_choice)
{
	size_t used = 0;
	char choices[160] = "", suggestion[NEAREST_TEXT_SIZE];
	struct nearest nearest;

	nearest_begin(&nearest, text);
	for (int i = 0; option->choices[i]; i++) {
		if (!strcmp(option->choices[i], text)) {
			*ret_choice = i;
			return 0;
		}
		nearest_offer(&nearest, option->choices[i]);
	}
	for (int i = 0; option->choices[i] && used < sizeof(choices); i++) {
		used += (size_t)snprintf(choices + used, sizeof(choices) - used, "%s%s",
				!i                                       ? ""
						: option->choices[i + 1] ? ", "
									 : " or ",
				option->choices[i]);
	}
	if (nearest_text(&nearest, "", suggestion, sizeof(suggestion)))
		cmdline_advise(parser, "%s", suggestion);
	return cmdline_report_error(parser, "`--%s` does not accept `%.128s`: use %s", option->name,
			text, choices);
}

/* ---- lists: several patterns or contexts in one argument ---- */

/*
 * Keeps a text that the options refer to until parsed_free(). Takes ownership.
 * NULL: out of memory.
 */
static const char *cmdline_keep_text(struct cmdline_parser *parser, char *text)
{
	struct text_list *kept = &parser->parsed->kept;
	const char **items = text ? realloc(kept->items, (kept->count + 1) * sizeof(*items)) : NULL;

	if (!items) {
		free(text);
		cmdline_report_error(parser, "out of memory");
		return NULL;
	}
	kept->items = items;
	items[kept->count++] = text;
	return text;
}

/* TYPE:NAME:ADDR of probes may contain a `*`, so with a colon only counters are globs. */
static bool cmdline_is_context_glob(const char *text, size_t length)
{
	return memchr(text, '*', length) &&
			(!memchr(text, ':', length) || !strncmp(text, "perf:", 5));
}

static bool cmdline_add_context(FILE *out, const char *glob, const char *name, bool *found)
{
	if (fnmatch(glob, name, 0) != 0)
		return false;
	fprintf(out, "%s%s", *found ? "," : "", name);
	*found = true;
	return true;
}

/* Prints the names that a glob matches, separated by commas. False if there are none. */
static bool cmdline_expand_context(FILE *out, const char *glob)
{
	bool found = false;
	const char *name;

	for (size_t i = 0; (name = context_name(i)); i++) {
		if (!strchr(name, ':'))
			cmdline_add_context(out, glob, name, &found);
	}
	for (size_t i = 0; !strncmp(glob, "perf:", 5) && (name = context_perf_name(i)); i++) {
		char counter[128];

		snprintf(counter, sizeof(counter), "perf:thread:%s", name);
		cmdline_add_context(out, glob, counter, &found);
	}
	return found;
}

/*
 * Returns the list, such as "*_ns,vpid", with each glob replaced by the names that it matches.
 * NULL: after an error report.
 */
static const char *cmdline_expand_contexts(struct cmdline_parser *parser, const char *text)
{
	char *list = NULL;
	size_t size = 0;
	FILE *out;

	if (!strchr(text, '*'))
		return text;
	out = open_memstream(&list, &size);
	if (!out) {
		cmdline_report_error(parser, "out of memory");
		return NULL;
	}
	for (const char *at = text; *at; at += *at == ',') {
		const size_t length = strcspn(at, ",");
		char *glob = cmdline_is_context_glob(at, length) ? strndup(at, length) : NULL;
		const bool found = !glob || cmdline_expand_context(out, glob);

		if (!glob)
			fwrite(at, length, 1, out);
		free(glob);
		if (!found) {
			fclose(out);
			free(list);
			cmdline_advise(parser, "`side help contexts` lists them");
			cmdline_report_error(parser, "no context matches `%.*s`", (int)length, at);
			return NULL;
		}
		at += length;
		if (*at)
			putc(',', out);
	}
	if (!text_stream_end(out, &list)) {
		cmdline_report_error(parser, "out of memory");
		return NULL;
	}
	return cmdline_keep_text(parser, list);
}

static int cmdline_store_list_item(
		struct cmdline_parser *parser, struct text_list *list, const char *text)
{
	const char **items = realloc(list->items, (list->count + 1) * sizeof(*items));

	if (!items)
		return cmdline_report_error(parser, "out of memory");
	items[list->count++] = text;
	list->items = items;
	return 0;
}

static int cmdline_report_value(struct cmdline_parser *parser, const struct option *option,
		const char *text, int error, const char *what)
{
	if (error == -ERANGE)
		return cmdline_report_error(
				parser, "`--%s %.128s` is too large", option->name, text);
	return cmdline_report_error(parser, "`--%s %.128s` is not %s", option->name, text, what);
}

/* Converts the text to the C type of the option's kind, and stores it. */
static int cmdline_convert_value(struct cmdline_parser *parser, const struct option *option,
		void *value, const char *text)
{
	int error;

	if (option->kind != OPTION_FLAG && (!text || !*text)) {
		cmdline_advise(parser, "give `--%s` a %s that is not empty", option->name,
				option->argument);
		return cmdline_report_error(parser, "the %s of `--%s` is empty", option->argument,
				option->name);
	}
	switch (option->kind) {
	case OPTION_FLAG: *(bool *)value = true; return 0;
	case OPTION_TEXT: *(const char **)value = text; return 0;
	case OPTION_LIST:
		if (option->choices) {
			int ignored;

			error = cmdline_parse_choice(parser, option, text, &ignored);
			if (error)
				return error;
		}
		return cmdline_store_list_item(parser, value, text);
	case OPTION_CHOICE: return cmdline_parse_choice(parser, option, text, value);
	case OPTION_SIZE:
		error = units_parse_size(text, value);
		if (!error && *(uint64_t *)value)
			return 0;
		cmdline_advise(parser,
				"a size is a number of bytes, optionally followed by K, M or G: 512K, 4M");
		return cmdline_report_value(parser, option, text, error, "a size");
	case OPTION_NUMBER:
		error = cmdline_parse_number(text, value);
		return error ? cmdline_report_value(parser, option, text, error, "a number") : 0;
	case OPTION_TIME:
		error = option->units && *text && isdigit((unsigned char)text[strlen(text) - 1])
				? -EINVAL
				: units_parse_time(text, value);
		if (!error)
			return 0;
		cmdline_advise(parser,
				option->units ? "a time here is a number followed by us, ms, s or min: 10ms, 1s"
					      : "a time is a number of seconds, or a number followed by ns, us, ms, s, min or h: 10ms, 1s");
		return cmdline_report_value(parser, option, text, error, "a time");
	}
	return -EINVAL;
}

static int cmdline_store_use(struct cmdline_parser *parser, const struct option *option,
		struct option_uses *uses, const char *text)
{
	struct option_use use = {.option = option, .text = text};
	struct option_use *items;
	union {
		bool flag;
		const char *text;
		uint64_t number;
		int choice;
	} value = {.number = 0};
	int error = 0;

	/* A list option has no other value than its text. */
	if (option->kind == OPTION_LIST)
		error = text && *text ? 0 : cmdline_convert_value(parser, option, NULL, text);
	else if (text || !option->optional)
		error = cmdline_convert_value(parser, option, &value, text);
	if (error)
		return error;
	if (option->kind == OPTION_CHOICE)
		use.choice = value.choice;
	else if (option->kind != OPTION_TEXT && option->kind != OPTION_LIST)
		use.number = value.number;
	items = realloc(uses->items, (uses->count + 1) * sizeof(*items));
	if (!items)
		return cmdline_report_error(parser, "out of memory");
	items[uses->count++] = use;
	uses->items = items;
	return 0;
}

static int cmdline_store_value(struct cmdline_parser *parser, const struct option *option,
		void *base, const char *text);

/* Stores each pattern of a comma-separated list as a separate use of the option. */
static int cmdline_store_patterns(struct cmdline_parser *parser, const struct option *option,
		void *base, const char *text)
{
	int error = 0;

	while (*text && !error) {
		const size_t length = pattern_list_first(text);
		const char *pattern = cmdline_keep_text(parser, strndup(text, length));

		if (!pattern)
			return -EINVAL;
		if (*pattern)
			error = cmdline_store_value(parser, option, base, pattern);
		text += length + (text[length] == ',');
	}
	return error;
}

static int cmdline_store_value(struct cmdline_parser *parser, const struct option *option,
		void *base, const char *text)
{
	void *value = (char *)base + option->offset;

	if (option->completion == COMPLETE_EVENT && !option->two && text &&
			text[pattern_list_first(text)])
		return cmdline_store_patterns(parser, option, base, text);
	if (option->completion == COMPLETE_CONTEXT && text) {
		text = cmdline_expand_contexts(parser, text);
		if (!text)
			return -EINVAL;
	}
	if (option->ordered)
		return cmdline_store_use(parser, option, value, text);
	if (option->optional && !text) {
		*(uint64_t *)value = OPTION_BARE;
		return 0;
	}
	/* 0 means that the option is not given. */
	if (option->optional && option->kind == OPTION_NUMBER && !strcmp(text, "0"))
		return cmdline_report_error(parser,
				"`--%s=0` is too small: leave the option out, or write 1 or more",
				option->name);
	return cmdline_convert_value(parser, option, value, text);
}

/* ---- command line ---- */

/*
 * Finds the option among those of the verb and the common ones, and the struct that stores its
 * value.
 */
static const struct option *cmdline_find_option(struct cmdline_parser *parser, const char *name,
		size_t length, char letter, void **ret_base)
{
	const struct option *const tables[] = {
			command_common_options,
			parser->parsed->verb ? parser->parsed->verb->options : NULL,
	};
	void *const bases[] = {&parser->parsed->common, &parser->parsed->options};

	for (size_t i = 0; i < 2; i++) {
		const struct option *option = NULL;

		if (tables[i])
			option = name ? cmdline_find_name(tables[i], name, length)
				      : cmdline_find_letter(tables[i], letter);
		if (option) {
			*ret_base = bases[i];
			return option;
		}
	}
	return NULL;
}

static int cmdline_report_missing(struct cmdline_parser *parser, const struct option *option)
{
	const char *next = parser->at + 1 < parser->argc ? parser->argv[parser->at + 1] : NULL;

	cmdline_advise(parser, "write `--%s%c%s`", option->name, option->two ? ' ' : '=',
			option->argument);
	if (next)
		return cmdline_report_error(parser,
				"`--%s` needs the argument %s, but an option follows: `%.128s`",
				option->name, option->argument, next);
	return cmdline_report_error(
			parser, "`--%s` needs an argument: %s", option->name, option->argument);
}

/*
 * Takes the next element of argv as argument of an option. NULL if there is none, or if it is an
 * option of the verb.
 */
static const char *cmdline_next_arg(struct cmdline_parser *parser)
{
	const char *arg = parser->at + 1 < parser->argc ? parser->argv[parser->at + 1] : NULL;
	void *base;

	if (!arg ||
			(!strncmp(arg, "--", 2) && arg[2] &&
					cmdline_find_option(parser, arg + 2, strcspn(arg + 2, "="),
							0, &base)))
		return NULL;
	parser->at++;
	return arg;
}

static bool cmdline_number_follows(const struct cmdline_parser *parser)
{
	const char *next = parser->at + 1 < parser->argc ? parser->argv[parser->at + 1] : "";

	return *next && !next[strspn(next, "0123456789")];
}

static int cmdline_parse_long(struct cmdline_parser *parser)
{
	const char *name = parser->argv[parser->at] + 2, *text = strchr(name, '='), *second;
	size_t length = text ? (size_t)(text - name) : strlen(name);
	void *base;
	const struct option *option = cmdline_find_option(parser, name, length, 0, &base);
	int error;

	if (!option)
		return cmdline_report_unknown(parser, name, length);
	if (!option->argument) {
		if (text) {
			cmdline_advise(parser, "write `--%s` alone", option->name);
			return cmdline_report_error(parser, "`--%s` has no argument", option->name);
		}
		return cmdline_store_value(parser, option, base, NULL);
	}
	if (option->optional && !text && option->digits_follow && cmdline_number_follows(parser))
		return cmdline_store_value(parser, option, base, cmdline_next_arg(parser));
	if (option->optional)
		return cmdline_store_value(parser, option, base, text ? text + 1 : NULL);
	text = text ? text + 1 : cmdline_next_arg(parser);
	if (!text)
		return cmdline_report_missing(parser, option);
	if (!option->two)
		return cmdline_store_value(parser, option, base, text);
	second = cmdline_next_arg(parser);
	if (!second)
		return cmdline_report_missing(parser, option);
	error = cmdline_store_value(parser, option, base, text);
	return error ? error : cmdline_store_value(parser, option, base, second);
}

static int cmdline_parse_letters(struct cmdline_parser *parser)
{
	const char *letters = parser->argv[parser->at] + 1;

	for (; *letters; letters++) {
		void *base;
		const struct option *option = cmdline_find_option(parser, NULL, 0, *letters, &base);
		const char *text;
		int error;

		if (!option) {
			const struct verb *verb = parser->parsed->verb;
			const char option_text[] = {'-', *letters, '\0'};
			const char *habit = verb ? habits_hint(verb, option_text) : NULL;

			if (habit)
				cmdline_advise(parser, "%s", habit);
			else
				cmdline_advise(parser, "`side %s%s--help` lists the options%s",
						verb ? verb->name : "", verb ? " " : "",
						verb && (verb->id == VERB_LIST || verb->id == VERB_TRACE)
								? "\nput `--` before a command with options of its own"
								: "");
			if (!verb)
				return cmdline_report_error(
						parser, "unknown option `-%c`", *letters);
			return cmdline_report_error(parser, "`side %s` has no option `-%c`",
					verb->name, *letters);
		}
		if (option->argument) {
			if (option->optional)
				return cmdline_store_value(parser, option, base, NULL);
			if (letters[1])
				return cmdline_store_value(parser, option, base, letters + 1);
			text = cmdline_next_arg(parser);
			if (!text)
				return cmdline_report_missing(parser, option);
			return cmdline_store_value(parser, option, base, text);
		}
		error = cmdline_store_value(parser, option, base, NULL);
		if (error)
			return error;
	}
	return 0;
}

static int cmdline_parse_verb(struct cmdline_parser *parser)
{
	const char *name = parser->argv[parser->at];
	struct nearest nearest;
	char text[NEAREST_TEXT_SIZE];

	parser->parsed->verb = command_find_verb(name);
	if (parser->parsed->verb)
		return 0;
	nearest_begin(&nearest, name);
	for (const struct verb *verb = command_verbs; verb->name; verb++)
		nearest_offer(&nearest, verb->name);
	if (habits_hint(NULL, name))
		cmdline_advise(parser, "%s", habits_hint(NULL, name));
	else if (nearest_text(&nearest, "side ", text, sizeof(text)))
		cmdline_advise(parser, "%s", text);
	else
		cmdline_advise(parser, "`side --help` lists the verbs");
	return cmdline_report_error(parser, "unknown verb `%.128s`", name);
}

static int cmdline_check_operands(struct cmdline_parser *parser)
{
	const struct parsed *parsed = parser->parsed;
	const struct verb *verb = parsed->verb;

	if (!verb || parsed->common.help || parsed->common.version)
		return 0;
	for (int i = 0; verb->operand_completion == COMPLETE_CONTEXT && i < parsed->operand_count;
			i++) {
		const char *contexts = cmdline_expand_contexts(parser, parsed->operands[i]);

		if (!contexts)
			return -EINVAL;
		parsed->operands[i] = (char *)(uintptr_t)contexts;
	}
	if ((unsigned int)parsed->operand_count < verb->min_operands) {
		cmdline_advise(parser, "write `side %s %s`", verb->name, verb->operands);
		return cmdline_report_error(parser, "%s", verb->missing);
	}
	if (verb->max_operands && (unsigned int)parsed->operand_count > verb->max_operands) {
		cmdline_advise(parser, "write `side %s %s`", verb->name, verb->operands);
		return cmdline_report_error(parser, "`side %s` does not accept `%.128s`",
				verb->name, parsed->operands[verb->max_operands]);
	}
	return 0;
}

/*
 * True if the operand begins a command, whose arguments follow. A directory cannot be executed: it
 * is a trace for verbs that accept both, and options can follow it.
 */
static bool cmdline_begins_command(const struct verb *verb, const char *operand)
{
	struct stat status;

	return verb->command_follows &&
			(verb->operand_completion != COMPLETE_COMMAND_OR_FILE ||
					stat(operand, &status) || !S_ISDIR(status.st_mode));
}

/*
 * True if `--json` is in the command line, even if that has errors: errors are then printed as
 * JSON, too.
 */
static bool cmdline_requests_json(const struct cmdline_parser *parser)
{
	for (int i = 1; i < parser->argc; i++) {
		const struct verb *verb = parser->parsed->verb;

		if (!strcmp(parser->argv[i], "--"))
			return false;
		if (!strcmp(parser->argv[i], "--json"))
			return true;
		if (verb && i >= parser->at && *parser->argv[i] != '-' &&
				cmdline_begins_command(verb, parser->argv[i]))
			return false;
	}
	return false;
}

int parse_command_line(int argc, char **argv, struct parsed *parsed, struct parse_error *error)
{
	struct cmdline_parser parser = {
			.argc = argc, .argv = argv, .parsed = parsed, .error = error};
	int kept = 1, result = 0;

	memset(parsed, 0, sizeof(*parsed));
	memset(error, 0, sizeof(*error));
	/*
	 * Operands move to the front of argv, after argv[0]; `kept` is the number of elements
	 * there.
	 */
	for (parser.at = 1; parser.at < argc && !result; parser.at++) {
		char *arg = argv[parser.at];

		if (!strcmp(arg, "--") && parsed->verb) {
			parsed->dashes = true;
			parser.at++;
			break;
		}
		if (arg[0] == '-' && arg[1] == '-') {
			result = cmdline_parse_long(&parser);
		} else if (arg[0] == '-' && arg[1]) {
			result = cmdline_parse_letters(&parser);
		} else if (!parsed->verb) {
			result = cmdline_parse_verb(&parser);
		} else {
			if (cmdline_begins_command(parsed->verb, arg))
				break;
			argv[kept++] = arg;
		}
	}
	if (result) {
		parsed->common.json |= cmdline_requests_json(&parser);
		return result;
	}
	while (parser.at < argc)
		argv[kept++] = argv[parser.at++];
	argv[kept] = NULL;
	parsed->operands = argv + 1;
	parsed->operand_count = kept - 1;
	return cmdline_check_operands(&parser);
}

void parsed_free(struct parsed *parsed)
{
	for (size_t i = 0; i < parsed->kept.count; i++)
		free((char *)(uintptr_t)parsed->kept.items[i]);
	free(parsed->kept.items);
	parsed->kept = (struct text_list){0};
	if (!parsed->verb)
		return;
	for (const struct option *option = parsed->verb->options; option->name; option++) {
		if (option->ordered) {
			struct option_uses *uses =
					(void *)((char *)&parsed->options + option->offset);

			free(uses->items);
			*uses = (struct option_uses){0};
		} else if (option->kind == OPTION_LIST) {
			struct text_list *list =
					(void *)((char *)&parsed->options + option->offset);

			free(list->items);
			*list = (struct text_list){0};
		}
	}
}
