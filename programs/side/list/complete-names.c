/* SPDX-License-Identifier: MIT */
/*
 * The verb `complete`: prints names of running objects, for the completion of shells.
 *
 * A failure prints no message, because it would appear in the line that the user is typing. It
 * never starts a daemon.
 */
#include "programs/common/ask.h"
#include "programs/common/command.h"
#include "programs/side/processes/descriptions.h"
#include "programs/side/processes/process.h"
#include "programs/side/processes/running.h"
#include "programs/common/message.h"

#include "base/nearest/nearest.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 2000

/* Prints a member of each element, one on each line. */
static void complete_names_print_members(struct json_object *list, const char *member)
{
	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *element = json_object_array_get_idx(list, i);
		const char *text = json_object_is_type(element, json_type_string)
				? json_object_get_string(element)
				: ask_text(element, member);
		char printable[512];

		if (*text)
			puts(format_printable(text, printable, sizeof(printable)));
	}
}

static void complete_names_print_answer(const struct parsed *parsed, const char *verb,
		const char *session, const char *list, const char *member)
{
	struct json_object *request = control_request(verb, session), *answer = NULL;
	struct error error;
	struct ask ask;

	if (request && !ask_connect_silently(&ask, parsed->options.control.system, NULL)) {
		if (!control_call(ask.client, request, TIMEOUT_MS, &answer, &error))
			complete_names_print_members(ask_list(answer, list), member);
		json_object_put(answer);
		ask_close(&ask);
	}
	json_object_put(request);
}

static void complete_names_print_channels(const struct parsed *parsed)
{
	struct json_object *answer = NULL, *request, *definition = NULL;
	const char *name = parsed->options.control.session;
	struct error error;
	char buffer[ASK_NAME_MAX];
	struct ask ask;

	if (ask_connect_silently(&ask, parsed->options.control.system, NULL))
		return;
	if (!name && current_read_silently(&ask, buffer))
		name = buffer;
	request = name ? control_request("status", name) : NULL;
	if (request && !control_call(ask.client, request, TIMEOUT_MS, &answer, &error)) {
		struct json_object *sessions = ask_list(answer, "sessions");

		if (sessions && json_object_array_length(sessions) &&
				json_object_object_get_ex(json_object_array_get_idx(sessions, 0),
						"definition", &definition))
			complete_names_print_members(ask_list(definition, "channels"), "channel");
	}
	json_object_put(answer);
	json_object_put(request);
	ask_close(&ask);
}

static void complete_names_print_events(void)
{
	struct listing listing = {.patterns = NULL};
	size_t count = 0;
	pid_t *pids;

	if (!running_find(&pids, &count)) {
		for (size_t i = 0; i < count; i++)
			process_list(&listing, pids[i], true);
		listing_sort(&listing);
		listing_print(&listing, stdout, LISTING_NAMES, false);
	}
	listing_free(&listing);
	free(pids);
}

static void complete_names_print_programs(bool names)
{
	char name[RUNNING_NAME_MAX];
	size_t count = 0;
	pid_t *pids;

	if (!running_find(&pids, &count)) {
		for (size_t i = 0; i < count; i++) {
			if (names)
				puts(running_name(pids[i], name));
			else
				printf("%ld\n", (long)pids[i]);
		}
	}
	free(pids);
}

int cmd_complete(const struct parsed *parsed)
{
	static const char *const names[] = {"sessions", "channels", "events", "processes", "pids"};
	const char *name = parsed->operands[0];
	char hint[NEAREST_TEXT_SIZE];
	struct nearest nearest;

	if (!strcmp(name, "sessions")) {
		complete_names_print_answer(parsed, "list", NULL, "sessions", "name");
	} else if (!strcmp(name, "channels")) {
		complete_names_print_channels(parsed);
	} else if (!strcmp(name, "events")) {
		complete_names_print_events();
	} else if (!strcmp(name, "processes")) {
		complete_names_print_programs(true);
	} else if (!strcmp(name, "pids")) {
		complete_names_print_programs(false);
	} else {
		nearest_begin(&nearest, name);
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			nearest_offer(&nearest, names[i]);
		return message_error(COMMAND_USAGE,
				nearest_text(&nearest, "side complete ", hint, sizeof(hint))
						? hint
						: "use sessions, channels, events, processes or pids",
				"unknown kind of names `%.128s`", name);
	}
	return output_flush(stdout);
}
