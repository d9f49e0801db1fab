/* SPDX-License-Identifier: MIT */
/*
 * Read `--probe`, `--function`, `--sdt`, `--arg`, `--exit` and `--ret`: their order decides which
 * location they belong to.
 */
#include "spec-options.h"

#include "programs/common/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool probe_spec_classify(const struct option *option, enum resolve_kind *ret_kind)
{
	if (!strcmp(option->name, "probe"))
		*ret_kind = RESOLVE_LOCATION;
	else if (!strcmp(option->name, "function"))
		*ret_kind = RESOLVE_FUNCTION;
	else if (!strcmp(option->name, "sdt"))
		*ret_kind = RESOLVE_MARKER;
	else
		return false;
	return true;
}

static int probe_spec_append_text(const char **items, size_t *count, const char *text)
{
	if (*count == PROBE_TABLE_FIELDS_MAX)
		return message_error(COMMAND_USAGE, "request fewer values",
				"an event has at most %d fields", PROBE_TABLE_FIELDS_MAX);
	items[(*count)++] = text;
	return COMMAND_DONE;
}

/*
 * Options that belong to one location: `--arg`, `--args`, `--exit`, `--ret`. The text that a
 * session keeps also contains `--no-uprobe` and `--pending`.
 */
static int probe_spec_add_option(struct spec_options *spec, const struct option_use *use)
{
	if (!strcmp(use->option->name, "no-uprobe")) {
		spec->no_uprobe = true;
		return COMMAND_DONE;
	}
	if (!strcmp(use->option->name, "pending")) {
		spec->is_pending = true;
		return COMMAND_DONE;
	}
	if (!strcmp(use->option->name, "exit")) {
		spec->spec.exits = true;
		return COMMAND_DONE;
	}
	if (!strcmp(use->option->name, "args"))
		return probe_spec_append_text(
				spec->arguments, &spec->spec.nr_arguments, RESOLVE_PARAMETERS);
	if (strcmp(use->option->name, "ret") != 0)
		return probe_spec_append_text(spec->arguments, &spec->spec.nr_arguments, use->text);
	spec->spec.exits = true;
	return probe_spec_append_text(spec->results, &spec->spec.nr_results, use->text);
}

static int probe_spec_add_contexts(struct spec_options *spec, const struct text_list *contexts)
{
	int status = COMMAND_DONE;

	for (size_t i = 0; contexts && i < contexts->count && !status; i++) {
		if (resolve_is_context(contexts->items[i]))
			status = probe_spec_append_text(spec->contexts, &spec->spec.nr_contexts,
					contexts->items[i]);
	}
	return status;
}

static int read_uses(const struct option_uses *uses, struct spec_options *specs, size_t *ret_count)
{
	struct spec_options common = {.spec = {.location_text = NULL}}, *now = &common;
	int status = COMMAND_DONE;

	for (size_t i = 0; i < uses->count && !status; i++) {
		enum resolve_kind kind;

		if (!probe_spec_classify(uses->items[i].option, &kind)) {
			status = probe_spec_add_option(now, &uses->items[i]);
			continue;
		}
		if (*ret_count == PROBE_SPECS_MAX)
			return message_error(COMMAND_USAGE, NULL,
					"more than %d locations are given", PROBE_SPECS_MAX);
		now = &specs[(*ret_count)++];
		*now = common;
		now->spec.kind = kind;
		now->spec.location_text = uses->items[i].text;
	}
	return status;
}

int probe_specs_read(const struct option_uses *uses, const struct text_list *contexts,
		struct spec_options **ret_specs, size_t *ret_count)
{
	int status;

	*ret_count = 0;
	*ret_specs = calloc(PROBE_SPECS_MAX, sizeof(**ret_specs));
	if (!*ret_specs)
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	status = read_uses(uses, *ret_specs, ret_count);
	if (!status && !*ret_count)
		status = message_error(COMMAND_USAGE,
				"`--function NAME`, `--probe LOCATION` or `--sdt PROVIDER:NAME`",
				"missing probe location");
	for (size_t i = 0; i < *ret_count && !status; i++) {
		struct spec_options *spec = &(*ret_specs)[i];

		status = probe_spec_add_contexts(spec, contexts);
		spec->spec.arguments = spec->arguments;
		spec->spec.results = spec->results;
		spec->spec.contexts = spec->contexts;
	}
	if (status) {
		free(*ret_specs);
		*ret_specs = NULL;
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

/*
 * Copy the text to `to`, split it there, and append its parts to the list. Returns the end of the
 * copy.
 */
static char *contexts_split(const char *text, char *to, struct text_list *each)
{
	char *remainder = strcpy(to, text), *word;

	to += strlen(to) + 1;
	while ((word = strsep(&remainder, ","))) {
		if (*word)
			each->items[each->count++] = word;
	}
	return to;
}

int probe_contexts(const struct text_list *requested, char *const *operands,
		struct text_list *ret_contexts)
{
	size_t nr_args = 1, bytes = 0;
	char *to;

	for (size_t i = 0; i < requested->count; i++) {
		nr_args += probe_spec_count_args(requested->items[i]);
		bytes += strlen(requested->items[i]) + 1;
	}
	for (char *const *operand = operands; operand && *operand; operand++) {
		nr_args += probe_spec_count_args(*operand);
		bytes += strlen(*operand) + 1;
	}
	*ret_contexts = (struct text_list){
			.items = malloc(nr_args * sizeof(*ret_contexts->items) + bytes)};
	if (!ret_contexts->items)
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	to = (char *)(ret_contexts->items + nr_args);
	for (size_t i = 0; i < requested->count; i++)
		to = contexts_split(requested->items[i], to, ret_contexts);
	for (char *const *operand = operands; operand && *operand; operand++)
		to = contexts_split(*operand, to, ret_contexts);
	return COMMAND_DONE;
}

static void print_option(FILE *out, const char *option, const char *text)
{
	char quoted[4200];

	fprintf(out, "%s %s", option, format_quoted(text, quoted, sizeof(quoted)));
}

char *probe_spec_text(const struct spec_options *spec)
{
	static const char *const options[] = {
			[RESOLVE_LOCATION] = "--probe",
			[RESOLVE_FUNCTION] = "--function",
			[RESOLVE_MARKER] = "--sdt",
	};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	print_option(out, options[spec->spec.kind], spec->spec.location_text);
	if (spec->spec.exits)
		fputs(" --exit", out);
	for (size_t i = 0; i < spec->spec.nr_arguments; i++)
		print_option(out, " --arg", spec->arguments[i]);
	for (size_t i = 0; i < spec->spec.nr_results; i++)
		print_option(out, " --ret", spec->results[i]);
	for (size_t i = 0; i < spec->spec.nr_contexts; i++)
		print_option(out, " --context", spec->contexts[i]);
	if (spec->no_uprobe)
		fputs(" --no-uprobe", out);
	if (spec->is_pending)
		fputs(" --pending", out);
	return text_stream_end(out, &text) ? text : NULL;
}
