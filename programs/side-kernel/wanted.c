/* SPDX-License-Identifier: MIT */
/* Asks the daemon for the patterns of its sessions that select events of the kernel. */
#include "kernel.h"

#include "programs/common/ask.h"
#include "protocol/pattern.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 5000

/* True if there is a choice with the same pattern and filter. */
static bool side_kernel_spec_contains(
		const struct side_kernel_selection *wanted, const char *text, const char *filter)
{
	for (size_t i = 0; i < wanted->nr; i++) {
		const struct kernel_record_choice *choice = &wanted->choices[i];

		if (!strcmp(choice->pattern, text) && !choice->expression == !filter &&
				(!filter || !strcmp(choice->expression, filter)))
			return true;
	}
	return false;
}

static void side_kernel_spec_add_pattern(
		struct side_kernel_selection *wanted, const char *text, const char *filter)
{
	struct kernel_record_choice *choices;
	struct pattern patterns[PATTERN_KERNEL_MAX];
	struct pattern_error ignored;

	/*
	 * Ignore excluding patterns: another rule may select the event. The agent evaluates them.
	 */
	if (*text == '!' || !pattern_is_kernel(text) ||
			pattern_parse_kernel(text, patterns, &ignored) < 0)
		return;
	if (side_kernel_spec_contains(wanted, text, filter))
		return;
	choices = reallocarray(wanted->choices, wanted->nr + 1, sizeof(*choices));
	if (!choices)
		return;
	wanted->choices = choices;
	/* If out of memory for the filter, select the event without one. */
	choices[wanted->nr] = (struct kernel_record_choice){
			.pattern = strdup(text), .expression = filter ? strdup(filter) : NULL};
	if (choices[wanted->nr].pattern)
		wanted->nr++;
	else
		free((void *)(uintptr_t)choices[wanted->nr].expression);
}

static void side_kernel_spec_add_channel(
		struct side_kernel_selection *wanted, struct json_object *channel)
{
	struct json_object *rules = ask_list(channel, "rules");

	for (size_t i = 0; rules && i < json_object_array_length(rules); i++) {
		struct json_object *rule = json_object_array_get_idx(rules, i);
		struct json_object *texts = ask_list(rule, "event");
		const char *filter = ask_text(rule, "filter");

		for (size_t j = 0; texts && j < json_object_array_length(texts); j++)
			side_kernel_spec_add_pattern(wanted,
					json_object_get_string(json_object_array_get_idx(texts, j)),
					*filter ? filter : NULL);
	}
}

/* Request the session's status, which contains its definition. */
static void side_kernel_spec_add_session(
		struct side_kernel_selection *wanted, struct ask *ask, const char *name)
{
	struct json_object *request = control_request("status", name), *answer = NULL, *sessions,
			   *definition, *channels;
	struct error error;

	if (request && !control_call(ask->client, request, TIMEOUT_MS, &answer, &error)) {
		sessions = ask_list(answer, "sessions");
		for (size_t i = 0; sessions && i < json_object_array_length(sessions); i++) {
			definition = NULL;
			if (!json_object_object_get_ex(json_object_array_get_idx(sessions, i),
					    "definition", &definition))
				continue;
			channels = ask_list(definition, "channels");
			for (size_t j = 0; channels && j < json_object_array_length(channels); j++)
				side_kernel_spec_add_channel(
						wanted, json_object_array_get_idx(channels, j));
		}
		json_object_put(answer);
	}
	json_object_put(request);
}

void wanted_ask(struct side_kernel_selection *ret_wanted)
{
	struct json_object *request, *answer = NULL, *sessions;
	struct error error;
	struct ask ask;

	*ret_wanted = (struct side_kernel_selection){.nr = 0};
	if (ask_connect_silently(&ask, false, &error))
		return;
	request = control_request("status", NULL);
	if (request && !control_call(ask.client, request, TIMEOUT_MS, &answer, &error)) {
		ret_wanted->is_reached = true;
		sessions = ask_list(answer, "sessions");
		for (size_t i = 0; sessions && i < json_object_array_length(sessions); i++)
			side_kernel_spec_add_session(ret_wanted, &ask,
					ask_text(json_object_array_get_idx(sessions, i), "name"));
		json_object_put(answer);
	}
	json_object_put(request);
	ask_close(&ask);
}

void wanted_free(struct side_kernel_selection *wanted)
{
	/* side_kernel_spec_add_pattern() allocated these; free() takes no pointer to const. */
	for (size_t i = 0; i < wanted->nr; i++) {
		free((void *)(uintptr_t)wanted->choices[i].pattern);
		free((void *)(uintptr_t)wanted->choices[i].expression);
	}
	free(wanted->choices);
	*wanted = (struct side_kernel_selection){.nr = 0};
}

bool selection_socket_dir(char *path, size_t size)
{
	struct error error;
	struct ask ask;

	if (ask_connect_silently(&ask, false, &error))
		return false;
	(void)snprintf(path, size, "%s", control_path(ask.client));
	ask_close(&ask);
	if (!strrchr(path, '/'))
		return false;
	*strrchr(path, '/') = 0;
	return true;
}
