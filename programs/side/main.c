/* SPDX-License-Identifier: MIT */
/*
 * The entry point of side: parses the command line, answers --help and --version, then runs the
 * verb or executes side-more.
 */
#include "programs/common/command.h"
#include "programs/side/cli/more.h"
#include "programs/side/cli/pager.h"
#include "programs/common/message.h"

#include "base/nearest/nearest.h"

#include <stdlib.h>
#include <string.h>

static int side_main_print_version(const struct common_options *common)
{
	if (common->json)
		printf("{\"schema\":%d,\"type\":\"version\",\"program\":\"side\",\"version\":\"%"
		       "s\"}\n",
				OUTPUT_JSON_SCHEMA, SIDE_VERSION);
	else
		printf("side %s\n", SIDE_VERSION);
	return output_flush(stdout);
}

static int side_main_print_help(const struct verb *verb, const struct common_options *common)
{
	bool color;

	pager_start(common);
	color = output_has_color(stdout, common->color);
	if (common->json && verb) {
		help_print_json(stdout, verb);
	} else if (common->json) {
		for (const struct verb *each = command_verbs; each->name; each++)
			help_print_json(stdout, each);
	} else if (verb) {
		help_print_verb(stdout, verb, color);
	} else {
		help_print_overview(stdout, color);
	}
	return output_flush(stdout);
}

int cmd_help(const struct parsed *parsed)
{
	const char *name = parsed->operands[0];
	const struct topic *topic;
	char hint[NEAREST_TEXT_SIZE];
	struct nearest nearest;

	if (!name || command_find_verb(name))
		return side_main_print_help(name ? command_find_verb(name) : NULL, &parsed->common);
	topic = command_find_topic(name);
	if (topic) {
		pager_start(&parsed->common);
		help_print_topic(stdout, topic, output_has_color(stdout, parsed->common.color));
		return output_flush(stdout);
	}
	nearest_begin(&nearest, name);
	for (const struct verb *verb = command_verbs; verb->name; verb++)
		nearest_offer(&nearest, verb->name);
	for (topic = command_topics; topic->name; topic++)
		nearest_offer(&nearest, topic->name);
	return message_error(COMMAND_USAGE,
			nearest_text(&nearest, "side help ", hint, sizeof(hint))
					? hint
					: "`side help` lists both",
			"unknown verb or topic `%.128s`", name);
}

/* `args` is the command line in its original order; parsing has reordered argv. */
static int side_main_run_verb(const struct parsed *parsed, char **args)
{
	if (parsed->common.help)
		return side_main_print_help(parsed->verb, &parsed->common);
	if (parsed->common.version)
		return side_main_print_version(&parsed->common);
	if (!parsed->verb) {
		if (!parsed->common.json)
			help_print_overview(stderr, output_has_color(stderr, parsed->common.color));
		return message_error(
				COMMAND_USAGE, "write one, as in `side record ls`", "missing verb");
	}
	switch (parsed->verb->id) {
	case VERB_ENABLE_EVENT:
	case VERB_ADD_CONTEXT:
		/* Probes in a program's code need the libraries of side-more. */
		return !parsed->options.control.kernel &&
						(parsed->options.control.pid ||
								parsed->options.control.exe ||
								parsed->options.control.probes
										.count ||
								parsed->options.control.global.on)
				? more_execute(args)
				: cmd_session(parsed);
	case VERB_DISABLE_EVENT:
		/* Programs that do not check for new rules by themselves must be attached to. */
		return parsed->options.control.pid ? more_execute(args) : cmd_session(parsed);
	case VERB_CREATE:
	case VERB_SET_SESSION:
	case VERB_START:
	case VERB_STOP:
	case VERB_DESTROY:
	case VERB_ENABLE_CHANNEL:
	case VERB_DISABLE_CHANNEL:
	case VERB_TRACK:
	case VERB_UNTRACK:
	case VERB_SNAPSHOT:
	case VERB_ROTATE:
	case VERB_CLEAR:
	case VERB_STATEDUMP: return cmd_session(parsed);
	case VERB_REGENERATE: return cmd_regenerate(parsed);
	case VERB_VERSION: return side_main_print_version(&parsed->common);
	case VERB_STATUS: return cmd_status(parsed);
	case VERB_SAVE: return cmd_save(parsed);
	case VERB_DAEMON: return cmd_daemon(parsed);
	case VERB_HELP: return cmd_help(parsed);
	default: return more_execute(args);
	}
}

int main(int argc, char **argv)
{
	struct parse_error error;
	struct parsed parsed;
	char **args = calloc((size_t)argc + 1, sizeof(*args));
	int status;

	if (args)
		memcpy(args, argv, (size_t)argc * sizeof(*args));
	status = parse_command_line(argc, argv, &parsed, &error);
	parsed.args = args;
	output_start(&parsed.common, parsed.verb ? parsed.verb->name : NULL);
	if (!args)
		status = message_error(COMMAND_FAILED, NULL, "out of memory");
	else if (status)
		status = message_error(COMMAND_USAGE, error.hint, "%s", error.message);
	else
		status = side_main_run_verb(&parsed, args);
	parsed_free(&parsed);
	free(args);
	return status;
}
