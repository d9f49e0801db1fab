/* SPDX-License-Identifier: MIT */
/* Prints the table as text on a terminal: `side --help`, `side VERB --help`, `side help`. */
#include "programs/common/command.h"
#include "programs/common/message.h"

#include <string.h>

#define HELP_WIDTH 80
#define HELP_INDENT 2
#define HELP_TEXT_INDENT 6

static const char *const bold[] = {"", "\033[1m"};
static const char *const plain[] = {"", "\033[0m"};

static void help_print_heading(FILE *out, const char *text, bool color)
{
	fprintf(out, "%s%s%s\n", bold[color], text, plain[color]);
}

static void help_indent(FILE *out, unsigned int columns)
{
	fprintf(out, "%*s", (int)columns, "");
}

/* Prints text from column `left` on, wrapped. Does not break text between back quotes. */
static void help_wrap_text(FILE *out, const char *text, unsigned int left, unsigned int column)
{
	bool quoted = false;

	while (*text) {
		size_t length = 0;

		while (text[length] && (text[length] != ' ' || quoted))
			quoted ^= text[length++] == '`';
		if (column > left && column + 1 + length > HELP_WIDTH) {
			putc('\n', out);
			column = 0;
		}
		if (column < left) {
			help_indent(out, left - column);
			column = left;
		} else if (column > left) {
			putc(' ', out);
			column++;
		}
		fwrite(text, length, 1, out);
		column += (unsigned int)length;
		text += length;
		text += *text == ' ';
	}
	putc('\n', out);
}

static void help_print_paragraphs(FILE *out, const char *const *text, unsigned int left)
{
	for (; *text; text++) {
		help_wrap_text(out, *text, left, 0);
		putc('\n', out);
	}
}

static void help_print_options(FILE *out, const struct option *options, bool color)
{
	for (; options->name; options++) {
		char text[1024];

		help_indent(out, HELP_INDENT);
		fputs(bold[color], out);
		if (options->letter)
			fprintf(out, "-%c, ", options->letter);
		fprintf(out, "--%s%s", options->name, plain[color]);
		if (options->optional)
			fprintf(out, "[=%s]", options->argument);
		else if (options->argument)
			fprintf(out, "%s%s", options->kind == OPTION_CHOICE ? "=" : " ",
					options->argument);
		putc('\n', out);
		if (options->standard)
			snprintf(text, sizeof(text), "%s Default: %s.", options->sentence,
					options->standard);
		else
			snprintf(text, sizeof(text), "%s", options->sentence);
		help_wrap_text(out, text, HELP_TEXT_INDENT, 0);
	}
}

static void help_print_examples(FILE *out, const struct example *examples, bool color)
{
	help_print_heading(out, "Examples", color);
	for (; examples->command; examples++) {
		help_indent(out, HELP_INDENT);
		fprintf(out, "%s%s%s\n", bold[color], examples->command, plain[color]);
		help_wrap_text(out, examples->sentence, HELP_TEXT_INDENT, 0);
	}
}

static void help_print_terms(FILE *out, const struct term *terms, bool color)
{
	for (; terms && terms->word; terms++) {
		help_indent(out, HELP_INDENT);
		fprintf(out, "%s%s%s\n", bold[color], terms->word, plain[color]);
		help_wrap_text(out, terms->sentence, HELP_TEXT_INDENT, 0);
	}
}

/* Prints the verbs by group, in the order of the table. */
static void help_print_verbs(FILE *out, bool color)
{
	static const char *const titles[] = {
			[VERBS_FIRST] = "Most used",
			[VERBS_RECORD] = "Record",
			[VERBS_READ] = "Traces",
			[VERBS_SESSIONS] = "Sessions: many programs at once, through the daemon",
			[VERBS_SYSTEM] = "System",
	};

	for (const struct verb *verb = command_verbs; verb->name; verb++) {
		if (verb == command_verbs || verb->group != verb[-1].group)
			help_print_heading(out, titles[verb->group], color);
		fprintf(out, "  %s%-15s%s  %s\n", bold[color], verb->name, plain[color],
				verb->summary);
		if (verb->group != verb[1].group || !verb[1].name)
			fputs("\n", out);
	}
}

void help_print_overview(FILE *out, bool color)
{
	fprintf(out, "%sside%s: %s\n\n", bold[color], plain[color], command_summary);
	help_print_heading(out, "Usage", color);
	fputs("  side VERB [OPTION...] [ARGUMENT...]\n  side --version\n\n", out);
	help_print_paragraphs(out, command_introduction, 0);
	help_print_verbs(out, color);
	help_print_heading(out, "Options of every verb", color);
	help_print_options(out, command_common_options, color);
	fputs("\n", out);
	help_print_examples(out, command_examples, color);
	fputs("\n", out);
	help_print_heading(out, "Topics", color);
	for (const struct topic *topic = command_topics; topic->name; topic++)
		fprintf(out, "  %s%-12s%s  %s\n", bold[color], topic->name, plain[color],
				topic->summary);
	fputs("\n`side VERB --help` and `side help TOPIC` have the details.\n", out);
}

void help_print_verb(FILE *out, const struct verb *verb, bool color)
{
	fprintf(out, "%sside %s%s: %s\n\n", bold[color], verb->name, plain[color], verb->summary);
	help_print_heading(out, "Usage", color);
	fprintf(out, "  side %s [OPTION...] %s\n\n", verb->name, verb->operands);
	help_print_paragraphs(out, verb->paragraphs, 0);
	if (verb->options->name) {
		help_print_heading(out, "Options", color);
		help_print_options(out, verb->options, color);
		fputs("\n", out);
	}
	help_print_heading(out, "Options of every verb", color);
	help_print_options(out, command_common_options, color);
	fputs("\n", out);
	help_print_examples(out, verb->examples, color);
}

void help_print_topic(FILE *out, const struct topic *topic, bool color)
{
	fprintf(out, "%s%s%s: %s\n\n", bold[color], topic->name, plain[color], topic->summary);
	help_print_paragraphs(out, topic->paragraphs, 0);
	help_print_terms(out,
			strcmp(topic->name, "contexts") ? topic->terms : command_context_terms(),
			color);
}

static void help_print_json_options(FILE *out, const struct option *options)
{
	static const char *const kinds[] = {
			[OPTION_FLAG] = "flag",
			[OPTION_TEXT] = "text",
			[OPTION_LIST] = "list",
			[OPTION_SIZE] = "size",
			[OPTION_NUMBER] = "number",
			[OPTION_TIME] = "time",
			[OPTION_CHOICE] = "choice",
	};

	for (const struct option *option = options; option->name; option++) {
		fprintf(out, "%s{\"name\":\"--%s\",\"kind\":\"%s\"", option == options ? "" : ",",
				option->name, kinds[option->kind]);
		if (option->letter)
			fprintf(out, ",\"letter\":\"-%c\"", option->letter);
		if (option->former_name)
			fprintf(out, ",\"former_name\":\"--%s\"", option->former_name);
		if (option->former_letter)
			fprintf(out, ",\"former_letter\":\"-%c\"", option->former_letter);
		if (option->argument)
			fprintf(out, ",\"argument\":\"%s\"%s", option->argument,
					option->optional ? ",\"optional\":true" : "");
		if (option->standard) {
			fputs(",\"default\":", out);
			print_json_string(out, option->standard);
		}
		if (option->choices) {
			fputs(",\"choices\":[", out);
			for (size_t i = 0; option->choices[i]; i++)
				fprintf(out, "%s\"%s\"", i ? "," : "", option->choices[i]);
			fputs("]", out);
		}
		fputs(",\"help\":", out);
		print_json_string(out, option->sentence);
		fputs("}", out);
	}
}

void help_print_json(FILE *out, const struct verb *verb)
{
	fprintf(out, "{\"schema\":%d,\"type\":\"verb\",\"name\":\"%s\",\"operands\":",
			OUTPUT_JSON_SCHEMA, verb->name);
	print_json_string(out, verb->operands);
	fputs(",\"summary\":", out);
	print_json_string(out, verb->summary);
	fputs(",\"options\":[", out);
	help_print_json_options(out, verb->options);
	if (verb->options->name)
		fputs(",", out);
	help_print_json_options(out, command_common_options);
	fputs("],\"examples\":[", out);
	for (const struct example *example = verb->examples; example->command; example++) {
		fprintf(out, "%s{\"command\":", example == verb->examples ? "" : ",");
		print_json_string(out, example->command);
		fputs(",\"help\":", out);
		print_json_string(out, example->sentence);
		fputs("}", out);
	}
	fputs("]}\n", out);
}
