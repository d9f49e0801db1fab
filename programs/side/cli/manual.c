/* SPDX-License-Identifier: MIT */
/* Prints the table as manual pages in mdoc: side(1), and one page for each verb. */
#include "programs/common/command.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define MANUAL_WIDTH 78
#define MANUAL_DATE "November 21, 2026"

/* State of the current line. mdoc expects short lines, and each sentence on its own line. */
struct manual_page {
	FILE *out;
	unsigned int column;
};

static void manual_end_line(struct manual_page *page)
{
	if (page->column)
		putc('\n', page->out);
	page->column = 0;
}

static size_t manual_print_escaped(char *to, const char *from, size_t length, bool *code)
{
	size_t used = 0;

	for (size_t i = 0; i < length; i++) {
		const char *form = NULL;

		if (from[i] == '`') {
			*code = !*code;
			form = *code ? "\\fB" : "\\fR";
		} else if (from[i] == '\\') {
			form = "\\e";
		} else if (from[i] == '-' &&
				(*code || i == 0 || !isalnum((unsigned char)from[i - 1]))) {
			form = "\\-";
		} else if (from[i] == '\'' && *code) {
			form = "\\(aq";
		}
		if (form)
			used += (size_t)sprintf(to + used, "%s", form);
		else
			to[used++] = from[i];
	}
	to[used] = '\0';
	return used;
}

static bool manual_ends_sentence(const char *word, size_t length)
{
	while (length && strchr(")`\"", word[length - 1]))
		length--;
	return length && strchr(".!?", word[length - 1]) &&
			!(length >= 3 && word[length - 2] == '.');
}

#define WORD_MAX 512

static void manual_print_text(struct manual_page *page, const char *text)
{
	bool code = false;

	while (*text) {
		size_t length = strcspn(text, " "), size;
		char word[WORD_MAX];

		if (length > sizeof(word) / 6)
			length = sizeof(word) / 6;
		size = manual_print_escaped(word, text, length, &code);
		if (page->column && page->column + size + 1 > MANUAL_WIDTH)
			manual_end_line(page);
		if (page->column) {
			putc(' ', page->out);
			page->column++;
		} else if (*word == '.' || *word == '\'') {
			fputs("\\&", page->out);
		}
		fputs(word, page->out);
		page->column += (unsigned int)size;
		if (!code && manual_ends_sentence(text, length))
			manual_end_line(page);
		text += length;
		text += *text == ' ';
	}
	manual_end_line(page);
}

static void manual_print_line(struct manual_page *page, const char *literal)
{
	bool code = true;
	char escaped[WORD_MAX * 2];

	manual_print_escaped(escaped, literal,
			strlen(literal) > WORD_MAX / 3 ? WORD_MAX / 3 : strlen(literal), &code);
	fprintf(page->out, "%s%s\n", *escaped == '.' || *escaped == '\'' ? "\\&" : "", escaped);
}

static void manual_print_paragraphs(struct manual_page *page, const char *const *all, bool first)
{
	for (; *all; all++) {
		if (!first)
			fputs(".Pp\n", page->out);
		first = false;
		manual_print_text(page, *all);
	}
}

static void manual_print_option_argument(struct manual_page *page, const struct option *option)
{
	if (option->optional)
		fprintf(page->out, " Ns Oo Ns = Ns Ar %s Oc", option->argument);
	else if (option->argument)
		fprintf(page->out, " Ar %s", option->argument);
}

static void manual_print_options(struct manual_page *page, const struct option *option)
{
	fputs(".Bl -tag -width Ds\n", page->out);
	for (; option->name; option++) {
		fputs(".It ", page->out);
		if (option->letter) {
			fprintf(page->out, "Fl %c ", option->letter);
			if (option->argument)
				fprintf(page->out, "Ar %s ", option->argument);
			fputs(", ", page->out);
		}
		fprintf(page->out, "Fl -%s", option->name);
		manual_print_option_argument(page, option);
		putc('\n', page->out);
		manual_print_text(page, option->sentence);
		if (option->standard) {
			char standard[256];

			snprintf(standard, sizeof(standard), "Default: %s.", option->standard);
			manual_print_text(page, standard);
		}
	}
	fputs(".El\n", page->out);
}

static void manual_print_terms(struct manual_page *page, const struct term *term)
{
	if (!term)
		return;
	fputs(".Bl -tag -width Ds\n", page->out);
	for (; term->word; term++) {
		char escaped[WORD_MAX];
		bool code = true;

		manual_print_escaped(escaped, term->word, strlen(term->word), &code);
		fprintf(page->out, ".It \\fB%s\\fR\n", escaped);
		manual_print_text(page, term->sentence);
	}
	fputs(".El\n", page->out);
}

static void manual_print_examples(struct manual_page *page, const struct example *example)
{
	fputs(".Sh EXAMPLES\n", page->out);
	for (bool first = true; example->command; example++, first = false) {
		if (!first)
			fputs(".Pp\n", page->out);
		manual_print_text(page, example->sentence);
		fputs(".Bd -literal -offset indent\n", page->out);
		manual_print_line(page, example->command);
		fputs(".Ed\n", page->out);
	}
}

/* Prints the summary of a verb in the form of .Nd: no capital letter first, no full stop. */
static void manual_print_description(
		struct manual_page *page, const char *name, const char *summary)
{
	fprintf(page->out, ".Sh NAME\n.Nm %s\n.Nd %c%.*s\n", name, tolower((unsigned char)*summary),
			(int)(strlen(summary + 1) - (summary[strlen(summary) - 1] == '.')),
			summary + 1);
}

static void manual_begin_page(struct manual_page *page, const char *name)
{
	fputs(".\\\" SPDX-License-Identifier: MIT\n", page->out);
	fputs(".\\\" Made from programs/side/cli/table.c.\n", page->out);
	fputs(".Dd " MANUAL_DATE "\n.Dt ", page->out);
	for (; *name; name++)
		putc(toupper((unsigned char)*name), page->out);
	fputs(" 1\n.Os\n", page->out);
}

static void manual_print_topic(
		struct manual_page *page, const char *name, const char *title, bool whole)
{
	const struct topic *topic = command_find_topic(name);

	fprintf(page->out, ".Sh %s\n", title);
	if (whole)
		manual_print_paragraphs(page, topic->paragraphs, true);
	manual_print_terms(page, topic->terms);
}

static const struct term *manual_find_terms(const struct topic *topic)
{
	return strcmp(topic->name, "contexts") ? topic->terms : command_context_terms();
}

/* Prints a topic that has no section of its own. */
static void manual_print_subsection(struct manual_page *page, const struct topic *topic)
{
	static const char *const placed[] = {
			"patterns", "json", "environment", "exit-status", NULL};

	for (size_t i = 0; placed[i]; i++) {
		if (!strcmp(placed[i], topic->name))
			return;
	}
	fprintf(page->out, ".Ss %c%s\n", toupper((unsigned char)*topic->name), topic->name + 1);
	manual_print_paragraphs(page, topic->paragraphs, true);
	manual_print_terms(page, manual_find_terms(topic));
}

/* Prints references to the pages of all verbs, sorted by name. */
static void manual_print_references(struct manual_page *page)
{
	const char *last = "", *separator = "";

	for (;;) {
		const char *next = NULL;

		for (const struct verb *verb = command_verbs; verb->name; verb++) {
			if (verb->id != VERB_HELP && strcmp(verb->name, last) > 0 &&
					(!next || strcmp(verb->name, next) < 0))
				next = verb->name;
		}
		if (!next)
			break;
		fprintf(page->out, "%s.Xr side-%s 1", separator, next);
		separator = " ,\n";
		last = next;
	}
	putc('\n', page->out);
}

static void manual_print_side(struct manual_page *page)
{
	manual_begin_page(page, "side");
	manual_print_description(page, "side", command_summary);
	fputs(".Sh SYNOPSIS\n.Nm\n.Ar VERB\n.Op Ar OPTION ...\n.Op Ar ARGUMENT ...\n", page->out);
	fputs(".Nm\n.Fl -version\n.Sh DESCRIPTION\n", page->out);
	manual_print_paragraphs(page, command_introduction, true);
	fputs(".Pp\nThe verbs are:\n.Bl -tag -width Ds\n", page->out);
	for (const struct verb *verb = command_verbs; verb->name; verb++) {
		fprintf(page->out, ".It Ic %s\n", verb->name);
		manual_print_text(page, verb->summary);
		if (verb->id != VERB_HELP)
			fprintf(page->out, "See\n.Xr side-%s 1 .\n", verb->name);
	}
	fputs(".El\n.Pp\nEvery verb has these options:\n", page->out);
	manual_print_options(page, command_common_options);
	fputs(".Ss Patterns\n", page->out);
	manual_print_paragraphs(page, command_find_topic("patterns")->paragraphs, true);
	manual_print_terms(page, command_find_topic("patterns")->terms);
	for (const struct topic *topic = command_topics; topic->name; topic++)
		manual_print_subsection(page, topic);
	fputs(".Ss JSON\n", page->out);
	manual_print_paragraphs(page, command_find_topic("json")->paragraphs, true);
	manual_print_terms(page, command_find_topic("json")->terms);
	manual_print_topic(page, "environment", "ENVIRONMENT", true);
	manual_print_topic(page, "exit-status", "EXIT STATUS", false);
	manual_print_examples(page, command_examples);
	fputs(".Sh SEE ALSO\n", page->out);
	manual_print_references(page);
}

/* Prints "[--] COMMAND", with placeholders in italics. */
static void manual_print_operands(struct manual_page *page, const char *text)
{
	unsigned int column = 0;

	if (!*text)
		return;
	while (*text) {
		size_t upper = 0;

		while (isupper((unsigned char)text[upper]) || (upper && text[upper] == '.'))
			upper++;
		if (upper) {
			column += (unsigned int)upper + 6;
			fprintf(page->out, "\\fI%.*s\\fR", (int)upper, text);
			text += upper;
		} else if (*text == ' ' && column > MANUAL_WIDTH - 24) {
			putc('\n', page->out);
			column = 0;
			text++;
		} else {
			column += 2;
			fprintf(page->out, "%s%c", *text == '-' ? "\\" : "", *text);
			text++;
		}
	}
	putc('\n', page->out);
}

static void manual_print_verb(struct manual_page *page, const struct verb *verb)
{
	char name[64];

	snprintf(name, sizeof(name), "side-%s", verb->name);
	manual_begin_page(page, name);
	manual_print_description(page, name, verb->summary);
	fprintf(page->out, ".Sh SYNOPSIS\n.Nm side %s\n", verb->name);
	for (const struct option *option = verb->options; option->name; option++) {
		if (option->letter)
			fprintf(page->out, ".Op Fl %c", option->letter);
		else
			fprintf(page->out, ".Op Fl -%s", option->name);
		manual_print_option_argument(page, option);
		putc('\n', page->out);
	}
	manual_print_operands(page, verb->operands);
	fputs(".Sh DESCRIPTION\n", page->out);
	manual_print_paragraphs(page, verb->paragraphs, true);
	if (verb->options->name) {
		fputs(".Pp\nThe options are:\n", page->out);
		manual_print_options(page, verb->options);
	}
	fputs(".Pp\nEvery verb has these options:\n", page->out);
	manual_print_options(page, command_common_options);
	manual_print_topic(page, "exit-status", "EXIT STATUS", false);
	manual_print_examples(page, verb->examples);
	fputs(".Sh SEE ALSO\n.Xr side 1", page->out);
	for (const char *const *also = verb->see_also; *also; also++)
		fprintf(page->out, " ,\n.Xr side-%s 1", *also);
	putc('\n', page->out);
}

int manual_print(FILE *out, const char *name)
{
	struct manual_page page = {.out = out};

	if (!strcmp(name, "side")) {
		manual_print_side(&page);
	} else if (!strncmp(name, "side-", 5) && command_find_verb(name + 5)) {
		manual_print_verb(&page, command_find_verb(name + 5));
	} else {
		return -ENOENT;
	}
	return 0;
}
