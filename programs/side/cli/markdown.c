/* SPDX-License-Identifier: MIT */
/*
 * Prints the table as pages of the reference in Markdown (MyST): one for `side`, for each verb and
 * for each topic.
 */
#include "programs/common/command.h"

#include <errno.h>
#include <string.h>

/* Escapes text outside code spans, so that it does not become markup. */
static void markdown_print_text(FILE *out, const char *text)
{
	bool code = false;

	for (; *text; text++) {
		code ^= *text == '`';
		if (!code && strchr("\\*_[]<>|#$", *text))
			putc('\\', out);
		putc(*text, out);
	}
}

static void markdown_print_paragraphs(FILE *out, const char *const *all)
{
	for (; *all; all++) {
		markdown_print_text(out, *all);
		fputs("\n\n", out);
	}
}

static void markdown_print_option_argument(
		FILE *out, const struct option *option, const char *before)
{
	if (option->optional)
		fprintf(out, "[=%s]", option->argument);
	else if (option->argument)
		fprintf(out, "%s%s", before, option->argument);
}

static void markdown_print_options(FILE *out, const struct option *option)
{
	for (; option->name; option++) {
		if (option->letter) {
			fprintf(out, "`-%c", option->letter);
			markdown_print_option_argument(out, option, " ");
			fputs("`, ", out);
		}
		fprintf(out, "`--%s", option->name);
		markdown_print_option_argument(
				out, option, option->kind == OPTION_CHOICE ? "=" : " ");
		fputs("`\n: ", out);
		markdown_print_text(out, option->sentence);
		if (option->standard) {
			fputs(" Default: ", out);
			markdown_print_text(out, option->standard);
			putc('.', out);
		}
		fputs("\n\n", out);
	}
}

static void markdown_print_terms(FILE *out, const struct term *term)
{
	for (; term && term->word; term++) {
		fprintf(out, "`%s`\n: ", term->word);
		markdown_print_text(out, term->sentence);
		fputs("\n\n", out);
	}
}

static void markdown_print_examples(FILE *out, const struct example *example)
{
	fputs("## Examples\n\n", out);
	for (; example->command; example++) {
		markdown_print_text(out, example->sentence);
		fprintf(out, "\n\n```sh\n%s\n```\n\n", example->command);
	}
}

static void markdown_print_side(FILE *out)
{
	fprintf(out, "# side\n\n%s.\n\n```text\nside VERB [OPTION...] [ARGUMENT...]\nside --version\n```\n\n",
			command_summary);
	markdown_print_paragraphs(out, command_introduction);
	fputs("## Verbs\n\n", out);
	for (const struct verb *verb = command_verbs; verb->name; verb++) {
		fprintf(out, "[`%s`](%s.md)\n: ", verb->name, verb->name);
		markdown_print_text(out, verb->summary);
		fputs("\n\n", out);
	}
	fputs("## Topics\n\n", out);
	for (const struct topic *topic = command_topics; topic->name; topic++) {
		fprintf(out, "[`%s`](topic-%s.md)\n: ", topic->name, topic->name);
		markdown_print_text(out, topic->summary);
		fputs("\n\n", out);
	}
	fputs("## Options of every verb\n\n", out);
	markdown_print_options(out, command_common_options);
	markdown_print_examples(out, command_examples);
}

static void markdown_print_verb(FILE *out, const struct verb *verb)
{
	fprintf(out, "# side %s\n\n", verb->name);
	markdown_print_text(out, verb->summary);
	fprintf(out, "\n\n```text\nside %s [OPTION...] %s\n```\n\n", verb->name, verb->operands);
	markdown_print_paragraphs(out, verb->paragraphs);
	if (verb->options->name) {
		fputs("## Options\n\n", out);
		markdown_print_options(out, verb->options);
	}
	fputs("All verbs have the [options of `side`](side.md#options-of-every-verb).\n\n", out);
	markdown_print_examples(out, verb->examples);
	if (*verb->see_also)
		fputs("## See also\n\n", out);
	for (const char *const *also = verb->see_also; *also; also++)
		fprintf(out, "- [side %s](%s.md)\n", *also, *also);
}

static void markdown_print_topic(FILE *out, const struct topic *topic)
{
	fprintf(out, "# Topic: %s\n\n", topic->name);
	markdown_print_text(out, topic->summary);
	fprintf(out, "\n\n`side help %s` prints this page.\n\n", topic->name);
	markdown_print_paragraphs(out, topic->paragraphs);
	markdown_print_terms(out,
			strcmp(topic->name, "contexts") ? topic->terms : command_context_terms());
}

int markdown_print(FILE *out, const char *name)
{
	if (!strcmp(name, "side"))
		markdown_print_side(out);
	else if (!strncmp(name, "topic-", 6) && command_find_topic(name + 6))
		markdown_print_topic(out, command_find_topic(name + 6));
	else if (command_find_verb(name))
		markdown_print_verb(out, command_find_verb(name));
	else
		return -ENOENT;
	return 0;
}

void markdown_print_names(FILE *out)
{
	fputs("side\n", out);
	for (const struct verb *verb = command_verbs; verb->name; verb++)
		fprintf(out, "%s\n", verb->name);
	for (const struct topic *topic = command_topics; topic->name; topic++)
		fprintf(out, "topic-%s\n", topic->name);
}
