/* SPDX-License-Identifier: MIT */
/* `--probe`, `--function`, `--sdt`, `--arg`, `--exit`, `--ret`: options whose order says what belongs to what. */
#include "probe-wish.h"

#include "say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool probe_spec_classify(const struct option *option, enum resolve_kind *kind)
{
	if (!strcmp(option->name, "probe"))
		*kind = RESOLVE_PLACE;
	else if (!strcmp(option->name, "function"))
		*kind = RESOLVE_FUNCTION;
	else if (!strcmp(option->name, "sdt"))
		*kind = RESOLVE_MARKER;
	else
		return false;
	return true;
}

static int probe_spec_append_text(const char **items, size_t *count, const char *text)
{
	if (*count == PROBE_TABLE_FIELDS_MAX)
		return say_error(COMMAND_USAGE, "ask for less", "an event has at most %d fields",
				PROBE_TABLE_FIELDS_MAX);
	items[(*count)++] = text;
	return COMMAND_DONE;
}

/* `--arg`, `--args`, `--exit`, `--ret`: of one place. What a session has written down says `--no-uprobe`, too. */
static int probe_spec_add_option(struct probe_wish *wish, const struct option_use *use)
{
	if (!strcmp(use->option->name, "no-uprobe")) {
		wish->no_uprobe = true;
		return COMMAND_DONE;
	}
	if (!strcmp(use->option->name, "exit")) {
		wish->wish.exits = true;
		return COMMAND_DONE;
	}
	if (!strcmp(use->option->name, "args"))
		return probe_spec_append_text(
				wish->arguments, &wish->wish.nr_arguments, RESOLVE_PARAMETERS);
	if (strcmp(use->option->name, "ret") != 0)
		return probe_spec_append_text(wish->arguments, &wish->wish.nr_arguments, use->text);
	wish->wish.exits = true;
	return probe_spec_append_text(wish->results, &wish->wish.nr_results, use->text);
}

static int probe_spec_add_contexts(struct probe_wish *wish, const struct text_list *contexts)
{
	int status = COMMAND_DONE;

	for (size_t i = 0; contexts && i < contexts->count && !status; i++) {
		if (resolve_is_context(contexts->items[i]))
			status = probe_spec_append_text(wish->contexts, &wish->wish.nr_contexts,
					contexts->items[i]);
	}
	return status;
}

static int read_uses(const struct option_uses *uses, struct probe_wish *wishes, size_t *count)
{
	struct probe_wish common = {.wish = {.said = NULL}}, *now = &common;
	int status = COMMAND_DONE;

	for (size_t i = 0; i < uses->count && !status; i++) {
		enum resolve_kind kind;

		if (!probe_spec_classify(uses->items[i].option, &kind)) {
			status = probe_spec_add_option(now, &uses->items[i]);
			continue;
		}
		if (*count == PROBE_WISHES_MAX)
			return say_error(COMMAND_USAGE, NULL, "there are more than %d locations",
					PROBE_WISHES_MAX);
		now = &wishes[(*count)++];
		*now = common;
		now->wish.kind = kind;
		now->wish.said = uses->items[i].text;
	}
	return status;
}

int probe_wishes(const struct option_uses *uses, const struct text_list *contexts,
		struct probe_wish **wishes, size_t *count)
{
	int status;

	*count = 0;
	*wishes = calloc(PROBE_WISHES_MAX, sizeof(**wishes));
	if (!*wishes)
		return say_error(COMMAND_FAILED, NULL, "out of memory");
	status = read_uses(uses, *wishes, count);
	if (!status && !*count)
		status = say_error(COMMAND_USAGE,
				"`--function NAME`, `--probe LOCATION` or `--sdt PROVIDER:NAME`",
				"missing probe location");
	for (size_t i = 0; i < *count && !status; i++) {
		struct probe_wish *wish = &(*wishes)[i];

		status = probe_spec_add_contexts(wish, contexts);
		wish->wish.arguments = wish->arguments;
		wish->wish.results = wish->results;
		wish->wish.contexts = wish->contexts;
	}
	if (status) {
		free(*wishes);
		*wishes = NULL;
	}
	return status;
}

static size_t probe_spec_count_args(const char *text)
{
	size_t count = 1;

	for (; *text; text++)
		count += *text == ',';
	return count;
}

/* Puts a copy of the text at `to`, and its words into the list; what is behind the copy. */
static char *split(const char *text, char *to, struct text_list *each)
{
	char *rest = strcpy(to, text), *word;

	to += strlen(to) + 1;
	while ((word = strsep(&rest, ","))) {
		if (*word)
			each->items[each->count++] = word;
	}
	return to;
}

int probe_contexts(const struct text_list *given, char *const *operands, struct text_list *each)
{
	size_t words = 1, bytes = 0;
	char *to;

	for (size_t i = 0; i < given->count; i++) {
		words += probe_spec_count_args(given->items[i]);
		bytes += strlen(given->items[i]) + 1;
	}
	for (char *const *operand = operands; operand && *operand; operand++) {
		words += probe_spec_count_args(*operand);
		bytes += strlen(*operand) + 1;
	}
	*each = (struct text_list){.items = malloc(words * sizeof(*each->items) + bytes)};
	if (!each->items)
		return say_error(COMMAND_FAILED, NULL, "out of memory");
	to = (char *)(each->items + words);
	for (size_t i = 0; i < given->count; i++)
		to = split(given->items[i], to, each);
	for (char *const *operand = operands; operand && *operand; operand++)
		to = split(*operand, to, each);
	return COMMAND_DONE;
}

static void print_option(FILE *out, const char *option, const char *text)
{
	char quoted[4200];

	fprintf(out, "%s %s", option, say_quoted(text, quoted, sizeof(quoted)));
}

char *probe_wish_text(const struct probe_wish *wish)
{
	static const char *const options[] = {
			[RESOLVE_PLACE] = "--probe",
			[RESOLVE_FUNCTION] = "--function",
			[RESOLVE_MARKER] = "--sdt",
	};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	print_option(out, options[wish->wish.kind], wish->wish.said);
	if (wish->wish.exits)
		fputs(" --exit", out);
	for (size_t i = 0; i < wish->wish.nr_arguments; i++)
		print_option(out, " --arg", wish->arguments[i]);
	for (size_t i = 0; i < wish->wish.nr_results; i++)
		print_option(out, " --ret", wish->results[i]);
	for (size_t i = 0; i < wish->wish.nr_contexts; i++)
		print_option(out, " --context", wish->contexts[i]);
	if (wish->no_uprobe)
		fputs(" --no-uprobe", out);
	return say_text_end(out, &text) ? text : NULL;
}
