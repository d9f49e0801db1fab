/* SPDX-License-Identifier: MIT */
/* Parses options and files from left to right. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Options without a letter. */
enum { OPTION_CHECK = 256, OPTION_DIFF, OPTION_STRICT, OPTION_FORMATS, OPTION_DEPTH };

/* The `-` makes getopt_long() return files in their order among the options. */
static const char letters[] = "-ade:f:hi:jlm:o:p:rvV";

static const struct option known[] = {
		{"all", no_argument, NULL, 'a'},
		{"check", no_argument, NULL, OPTION_CHECK},
		{"diff", no_argument, NULL, OPTION_DIFF},
		{"dynamic-link", no_argument, NULL, 'd'},
		{"event", required_argument, NULL, 'e'},
		{"format", required_argument, NULL, 'f'},
		{"help", no_argument, NULL, 'h'},
		{"ignore", required_argument, NULL, 'i'},
		{"json", no_argument, NULL, 'j'},
		{"link", no_argument, NULL, 'l'},
		{"list-formats", no_argument, NULL, OPTION_FORMATS},
		{"match", required_argument, NULL, 'm'},
		{"max-depth", required_argument, NULL, OPTION_DEPTH},
		{"output", required_argument, NULL, 'o'},
		{"provider", required_argument, NULL, 'p'},
		{"recursive", no_argument, NULL, 'r'},
		{"strict", no_argument, NULL, OPTION_STRICT},
		{"verbose", no_argument, NULL, 'v'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0},
};

static const char *const formats[] = {
		[FORM_JSON] = "json",
		[FORM_TEXT] = "text",
		[FORM_SEXPR] = "s-expr",
};

static void readside_options_print_help(void)
{
	fputs("Usage: readside [OPTION]... FILE...\n"
	      "       readside --check [--strict] [OPTION]... FILE...\n"
	      "       readside --diff [OPTION]... OLD NEW\n"
	      "\n"
	      "List the events of programs, libraries, object files and archives without running\n"
	      "them, check them, or compare two versions. An option applies to the files after it.\n"
	      "\n"
	      "  -f, --format FORMAT   Print json (the default), text or s-expr.\n"
	      "  -j, --json            Print one line for each event, with its whole description.\n"
	      "  -p, --provider GLOB   List events of these providers. Can be given several times.\n"
	      "  -e, --event PATTERN   List events that match, as in `side list`. Can be given\n"
	      "                        several times.\n"
	      "  -o, --output PATH     Append to this file.\n"
	      "      --check           Report mistakes in events. Exit status 1 if there are any.\n"
	      "      --strict          With --check: warnings count as mistakes.\n"
	      "      --diff            Report whether readers of OLD's events can read those of\n"
	      "                        NEW. Exit status 1 if they cannot.\n"
	      "\n"
	      "Choice of files:\n"
	      "  -r, --recursive       Search directories within directories.\n"
	      "      --max-depth N     Search at most N levels.\n"
	      "  -a, --all             In directories: include names that begin with a dot.\n"
	      "  -l, --link            In directories: follow symbolic links.\n"
	      "  -m, --match GLOB      In directories: list only files with these names.\n"
	      "  -i, --ignore GLOB     In directories: skip files and directories with these names.\n"
	      "  -d, --dynamic-link    Also list the libraries that files need.\n"
	      "\n"
	      "  -v, --verbose         Report each file that is skipped.\n"
	      "      --list-formats    Print the names of the formats and exit.\n"
	      "  -h, --help            Print this help and exit.\n"
	      "  -V, --version         Print the version and exit.\n",
			stdout);
}

static enum readside_step readside_options_usage_error(const char *text)
{
	message_error("%s", text);
	return STEP_USAGE;
}

static enum readside_step readside_options_usage_error_hint(const char *hint, const char *text)
{
	message_error_hint(hint, "%s", text);
	return STEP_USAGE;
}

static enum readside_step readside_options_add_pattern(
		struct readside_options *options, const char *text)
{
	struct pattern *patterns = reallocarray(
			options->patterns, options->nr_patterns + 1, sizeof(*patterns));
	struct pattern_error error;
	char sentence[1024];

	if (!patterns)
		return readside_options_usage_error("out of memory");
	options->patterns = patterns;
	if (pattern_parse(text, &patterns[options->nr_patterns], &error)) {
		pattern_error_text(sentence, sizeof(sentence), text, &error);
		return readside_options_usage_error(sentence);
	}
	options->nr_patterns++;
	return STEP_FILE;
}

static enum readside_step readside_options_add_provider(
		struct readside_options *options, const char *glob)
{
	const char **providers = reallocarray(
			options->providers, options->nr_providers + 1, sizeof(*providers));

	if (!providers)
		return readside_options_usage_error("out of memory");
	options->providers = providers;
	providers[options->nr_providers++] = glob;
	return STEP_FILE;
}

static enum readside_step readside_options_set_format(
		struct readside_options *options, const char *text)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (!strcmp(text, formats[i])) {
			options->form = (enum form_kind)i;
			return STEP_FILE;
		}
	}
	message_error_hint("use json, text or s-expr", "unknown format `%s`", text);
	return STEP_USAGE;
}

static enum readside_step readside_options_set_depth(
		struct readside_options *options, const char *text)
{
	unsigned long depth;
	char *end;

	errno = 0;
	depth = strtoul(text, &end, 10);
	if (errno || *end || text[0] < '0' || text[0] > '9' || depth > UINT_MAX) {
		message_error_hint("give a number, as in `--max-depth=3`", "`%s` is not a depth",
				text);
		return STEP_USAGE;
	}
	options->walk.max_depth = (unsigned int)depth;
	return STEP_FILE;
}

/* Options that print something and exit. Returns STEP_FILE for any other option. */
static enum readside_step readside_options_answer_question(int option)
{
	switch (option) {
	case 'h': readside_options_print_help(); return STEP_LEAVE;
	case 'V': puts("readside " SIDE_VERSION); return STEP_LEAVE;
	case OPTION_FORMATS:
		for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
			puts(formats[i]);
		return STEP_LEAVE;
	default: return STEP_FILE;
	}
}

static enum readside_step readside_options_parse(
		struct readside_options *options, int option, const char *argument)
{
	switch (option) {
	case 'a': options->walk.all = true; break;
	case 'd': options->walk.dynamic = true; break;
	case 'e': return readside_options_add_pattern(options, argument);
	case 'f': return readside_options_set_format(options, argument);
	case 'i': options->walk.ignore = argument; break;
	case 'j': options->form = FORM_EXACT; break;
	case 'l': options->walk.links = true; break;
	case 'm': options->walk.match = argument; break;
	case 'o': options->output = argument; break;
	case 'p': return readside_options_add_provider(options, argument);
	case 'r': options->walk.recursive = true; break;
	case OPTION_DEPTH: return readside_options_set_depth(options, argument);
	case '?':
	case ':':
		/* getopt_long() has already printed the error. */
		return STEP_USAGE;
	default: /* handled by options_scan() */ break;
	}
	return STEP_FILE;
}

static bool readside_options_add_output(struct readside_options *options, const char *path)
{
	const char **outputs =
			reallocarray(options->outputs, options->nr_outputs + 1, sizeof(*outputs));

	if (!outputs)
		return false;
	options->outputs = outputs;
	outputs[options->nr_outputs++] = path;
	return true;
}

enum readside_step options_scan(int argc, char **argv, struct readside_options *ret_options)
{
	size_t nr_files = 0;
	int option;

	*ret_options = (struct readside_options){.walk = {.max_depth = UINT_MAX}};
	optind = 0;
	while ((option = getopt_long(argc, argv, letters, known, NULL)) != -1) {
		if (option == '?' || option == ':')
			return STEP_USAGE;
		if (readside_options_answer_question(option) == STEP_LEAVE)
			return STEP_LEAVE;
		if (option == OPTION_CHECK)
			ret_options->mode = MODE_CHECK;
		else if (option == OPTION_DIFF)
			ret_options->mode = MODE_DIFF;
		else if (option == OPTION_STRICT)
			ret_options->strict = true;
		else if (option == 'v')
			ret_options->verbose = true;
		else if (option == 'o' && !readside_options_add_output(ret_options, optarg))
			return readside_options_usage_error("out of memory");
		nr_files += option == 1;
	}
	nr_files += (size_t)(argc - optind);
	optind = 0;
	if (!nr_files)
		return readside_options_usage_error_hint("name a file, as in `readside ./program`",
				"missing operand: a file to read");
	if (ret_options->mode == MODE_DIFF && nr_files != 2)
		return readside_options_usage_error_hint(
				"`readside --diff OLD NEW`", "--diff compares two files");
	return STEP_FILE;
}

enum readside_step options_next(
		int argc, char **argv, struct readside_options *options, const char **ret_path)
{
	int option;

	/* options_scan() set optind to 0, so getopt_long() starts again. */
	while (!options->is_end && (option = getopt_long(argc, argv, letters, known, NULL)) != -1) {
		enum readside_step step;

		if (option == 1) {
			*ret_path = optarg;
			return STEP_FILE;
		}
		step = readside_options_parse(options, option, optarg);
		if (step != STEP_FILE)
			return step;
	}
	/*
	 * After `--` come files, even if they look like options. getopt_long() would parse them
	 * again.
	 */
	options->is_end = true;
	if (optind >= argc)
		return STEP_END;
	*ret_path = argv[optind++];
	return STEP_FILE;
}

void options_free(struct readside_options *options)
{
	free(options->patterns);
	free(options->providers);
	free(options->outputs);
}
