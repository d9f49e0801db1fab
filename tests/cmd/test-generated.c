/* SPDX-License-Identifier: MIT */
/*
 * Tests the generator of documents and the texts of --help with a table that has each kind of
 * option, operand and text once. Compares its output with the reviewed files of the folder
 * `generated`.
 *
 *	test-generated FOLDER          compares all documents
 *	test-generated FOLDER write    writes them, for the next review
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"

#include "programs/common/command.h"
#include "protocol/context.h"

/* Included to test its function that wraps lines. */
#include "programs/side/cli/help.c"

/* ---- the table ---- */

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

const char command_summary[] = "Show small things";
const char *const command_introduction[] = {
		"First sentence. Second `code -x` sentence with a dash - and a co-op.",
		".dot begins this one; 'quote too. It ends (so!) Etc... goes on. A \\ and <b> *x* [y] |_#$.",
		NULL};
const struct option command_common_options[] = {
		{.letter = 'q', .name = "quiet", .sentence = "Print less. Not this."},
		{.name = "color",
				.argument = "WHEN",
				.kind = OPTION_CHOICE,
				.completion = COMPLETE_CHOICE,
				.choices = WORDS("auto", "never"),
				.standard = "`auto`",
				.sentence = "Use colours: it's [nice]."},
		{0}};
static const struct option show_options[] = {
		{.letter = 'a', .name = "all", .sentence = "Everything"},
		{.letter = 'e',
				.name = "event",
				.former_letter = 'x',
				.former_name = "old-event",
				.argument = "PATTERN",
				.kind = OPTION_LIST,
				.completion = COMPLETE_EVENT,
				.sentence = "Only these. And more."},
		{.name = "file",
				.argument = "FILE",
				.former_letter = 'F',
				.completion = COMPLETE_FILE,
				.sentence = "A file."},
		{.letter = 'd',
				.name = "directory",
				.argument = "DIR",
				.completion = COMPLETE_DIRECTORY,
				.sentence = "A place.",
				.standard = "here"},
		{.name = "tool",
				.argument = "TOOL",
				.completion = COMPLETE_COMMAND,
				.ordered = true,
				.sentence = "A tool."},
		{.name = "top",
				.argument = "N",
				.optional = true,
				.kind = OPTION_NUMBER,
				.sentence = "The first N."},
		{.name = "between",
				.argument = "TIME",
				.two = true,
				.kind = OPTION_LIST,
				.sentence = "From, to."},
		{.name = "context",
				.argument = "NAME",
				.completion = COMPLETE_CONTEXT,
				.sentence = "A context."},
		{.name = "session",
				.argument = "NAME",
				.completion = COMPLETE_SESSION,
				.sentence = "A session."},
		{.name = "channel",
				.argument = "NAME",
				.completion = COMPLETE_CHANNEL,
				.sentence = "A channel."},
		{.name = "process",
				.argument = "NAME",
				.completion = COMPLETE_PROCESS,
				.sentence = "A process."},
		{.letter = 'p',
				.name = "pid",
				.argument = "PID",
				.completion = COMPLETE_PROCESS_ID,
				.sentence = "A process."},
		{.name = "plain",
				.former_letter = 'P',
				.sentence = "A flag that had another letter."},
		{.name = "either",
				.argument = "WHAT",
				.completion = COMPLETE_COMMAND_OR_FILE,
				.sentence = "Either."},
		{.name = "verb",
				.argument = "VERB",
				.completion = COMPLETE_VERB,
				.sentence = "A verb."},
		{0}};
static const struct option no_options[] = {{0}};
const struct example command_examples[] = {
		{"side show -a 'x y'", "Show `all`."}, {".side \\ `q`", "Then this."}, {0}};
static const struct example help_examples[] = {{"side help", "Read."}, {0}};

#define VERB(verb, number, completion_kind)                                          \
	{                                                                            \
		.id = (number), .name = (verb), .group = VERBS_READ, .operands = "", \
		.operand_completion = (completion_kind), .summary = "Do " verb ".",  \
		.paragraphs = WORDS("Does " verb "."), .options = no_options,        \
		.examples = help_examples, .see_also = WORDS("show")                 \
	}

const struct verb command_verbs[] = {
		{.id = VERB_VIEW,
				.name = "show",
				.operands = "[--] COMMAND [ARGUMENT...] | FILE... | SESSION PROVIDER:NAME=VALUE | and-so ON",
				.operand_completion = COMPLETE_COMMAND,
				.command_follows = true,
				.summary = "Show what is there: `this`, and [that].",
				.paragraphs = WORDS("One.",
						"Two words of a paragraph that is longer than one line of "
						"a manual page, so that it is filled: 78 columns and not one "
						"more."),
				.options = show_options,
				.examples = command_examples,
				.see_also = WORDS("alpha", "help")},
		{.id = VERB_HELP,
				.name = "help",
				.operands = "[VERB]",
				.operand_completion = COMPLETE_VERB,
				.summary = "Explain",
				.paragraphs = WORDS("Explains."),
				.options = no_options,
				.examples = help_examples,
				.see_also = (const char *const[]){NULL}},
		VERB("zeta", VERB_LIST, COMPLETE_COMMAND_OR_FILE),
		VERB("alpha", VERB_LIST, COMPLETE_DIRECTORY),
		VERB("omega", VERB_LIST, COMPLETE_SESSION),
		VERB("beta", VERB_LIST, COMPLETE_CHANNEL), VERB("gamma", VERB_LIST, COMPLETE_EVENT),
		VERB("delta", VERB_LIST, COMPLETE_CONTEXT), VERB("eta", VERB_LIST, COMPLETE_NONE),
		VERB("iota", VERB_LIST, COMPLETE_FILE), {0}};

static const struct term two_terms[] = {
		{"one-word", "Explained."}, {"'two'", "Explained, too."}, {0}};
static const struct term context_terms[] = {{"vpid", "A process."}, {0}};
const struct topic command_topics[] = {{"patterns", "How to name", WORDS("Stars."), two_terms},
		{"json", "For programs", WORDS("Lines."), NULL},
		{"environment", "Variables", WORDS("These."), two_terms},
		{"exit-status", "How it ends", WORDS("Not printed in a section."), two_terms},
		{"contexts", "What is around", WORDS("Around."), NULL},
		{"units", "Of numbers", WORDS("K.", "M."), two_terms}, {0}};

const struct verb *command_find_verb(const char *name)
{
	for (const struct verb *verb = command_verbs; verb->name; verb++) {
		if (!strcmp(verb->name, name))
			return verb;
	}
	return NULL;
}

const struct topic *command_find_topic(const char *name)
{
	for (const struct topic *topic = command_topics; topic->name; topic++) {
		if (!strcmp(topic->name, name))
			return topic;
	}
	return NULL;
}

const struct term *command_context_terms(void)
{
	return context_terms;
}

/* ---- the names of contexts, of which some are not offered ---- */

const char *context_name(size_t index)
{
	static const char *const names[] = {"vpid", "$app.P:N", "perf:thread:", "procname"};

	return index < 4 ? names[index] : NULL;
}

const char *context_perf_name(size_t index)
{
	static const char *const names[] = {"cycles", "faults"};

	return index < 2 ? names[index] : NULL;
}

/* ---- comparison ---- */

static const char *const documents[] = {"side.1", "side-show.1", "side-help.1", "bash", "zsh",
		"side.md", "show.md", "help.md", "topic-units.md", "topic-contexts.md", "names",
		"overview.help", "overview.colour", "show.help", "show.colour", "help.help",
		"units.help", "units.colour", "contexts.help", "json.help", "show.json",
		"help.json", NULL};

/* The test has no text that JSON escapes otherwise. */
void print_json_string(FILE *out, const char *text)
{
	putc('"', out);
	for (; *text; text++)
		fprintf(out, "%s%c", strchr("\"\\", *text) ? "\\" : "", *text);
	putc('"', out);
}

/* Whether the document is a text of --help. */
static bool print_help(FILE *out, const char *page, const char *kind)
{
	bool color = kind && !strcmp(kind, ".colour");
	const struct verb *verb = command_find_verb(page);

	if (kind && !strcmp(kind, ".json"))
		help_print_json(out, verb);
	else if (!color && (!kind || strcmp(kind, ".help") != 0))
		return false;
	else if (!strcmp(page, "overview"))
		help_print_overview(out, color);
	else if (verb)
		help_print_verb(out, verb, color);
	else
		help_print_topic(out, command_find_topic(page), color);
	return true;
}

static bool wraps(unsigned int first, const char *second, unsigned int left, unsigned int column,
		const char *before, const char *between)
{
	char text[300], expected[300], *made, word[101] = "";
	size_t size;
	FILE *out = open_memstream(&made, &size);
	bool same;

	CHECK(out && first < sizeof(word));
	memset(word, 'a', first);
	snprintf(text, sizeof(text), "%s %s", word, second);
	snprintf(expected, sizeof(expected), "%s%s%s%s\n", before, word, between, second);
	help_wrap_text(out, text, left, column);
	CHECK(!fclose(out));
	same = !strcmp(made, expected);
	if (!same)
		fprintf(stderr, "made:\n%s\nexpected:\n%s\n", made, expected);
	free(made);
	return same;
}

/*
 * A line has at most 80 columns. A text in back quotes is not broken, and neither is a longer word.
 */
static void check_wrap(void)
{
	const char *left = "      ", *end = "\n      ";

	CHECK(wraps(76, "bcd", 0, 0, "", " ") && wraps(77, "bcd", 0, 0, "", "\n"));
	CHECK(wraps(70, "bcd", 6, 0, left, " ") && wraps(71, "bcd", 6, 0, left, end));
	CHECK(wraps(70, "bcd", 6, 6, "", " ") && wraps(71, "bcd", 6, 6, "", end));
	CHECK(wraps(70, "bcd", 6, 2, "    ", " ") && wraps(71, "bcd", 6, 2, "    ", end));
	/* The line begins with other text. */
	CHECK(wraps(66, "bcd", 6, 9, " ", " ") && wraps(67, "bcd", 6, 9, " ", end));
	CHECK(wraps(70, "bcd", 6, 9, " ", end) && wraps(71, "bcd", 6, 9, end, end));
	CHECK(wraps(71, "bc", 6, 9, end, " "));
	CHECK(wraps(100, "b", 6, 0, left, end) && wraps(100, "b", 0, 0, "", "\n"));
	CHECK(wraps(100, "b", 6, 6, "", end));
	CHECK(wraps(74, "`x y`", 0, 0, "", " ") && wraps(75, "`x y`", 0, 0, "", "\n"));
	CHECK(wraps(74, "`x` y", 0, 0, "", " "));
}

static void print_document(FILE *out, const char *name)
{
	char page[64];

	snprintf(page, sizeof(page), "%.*s", (int)strcspn(name, "."), name);
	if (print_help(out, page, strchr(name, '.')))
		return;
	if (!strcmp(name, "bash"))
		complete_print_bash(out);
	else if (!strcmp(name, "zsh"))
		complete_print_zsh(out);
	else if (!strcmp(name, "names"))
		markdown_print_names(out);
	else
		CHECK((strstr(name, ".md") ? markdown_print(out, page) : manual_print(out, page)) ==
				0);
}

/* Prints the first line that differs. */
static int compare(const char *path, const char *name, char *made, size_t size)
{
	static char wanted[1 << 17];
	FILE *file = fopen(path, "r");
	size_t length, same = 0, first = 0;

	CHECK(file);
	length = fread(wanted, 1, sizeof(wanted), file);
	CHECK(length < sizeof(wanted) && !fclose(file));
	while (same < length && same < size && wanted[same] == made[same]) {
		if (wanted[same++] == '\n')
			first = same;
	}
	if (same == length && same == size)
		return 0;
	wanted[length] = '\0';
	fprintf(stderr, "%s: has  %.*s\n%s: made %.*s\n", path, (int)strcspn(wanted + first, "\n"),
			wanted + first, name, (int)strcspn(made + first, "\n"), made + first);
	return 1;
}

int main(int argc, char **argv)
{
	int differing = 0;

	CHECK(argc >= 2);
	check_wrap();
	for (const char *const *name = documents; *name; name++) {
		char path[4096], *made;
		size_t size;
		FILE *out = open_memstream(&made, &size);

		CHECK(out);
		print_document(out, *name);
		CHECK(!fclose(out));
		snprintf(path, sizeof(path), "%s/%s", argv[1], *name);
		if (argc > 2) {
			CHECK((out = fopen(path, "w")) && fwrite(made, 1, size, out) == size &&
					!fclose(out));
		} else {
			differing += compare(path, *name, made, size);
		}
		free(made);
	}
	CHECK(manual_print(stdout, "side-none") == -ENOENT &&
			manual_print(stdout, "sideshow") == -ENOENT);
	CHECK(markdown_print(stdout, "none") == -ENOENT &&
			markdown_print(stdout, "topic-none") == -ENOENT);
	return differing ? 1 : 0;
}
