/* SPDX-License-Identifier: MIT */
/*
 * Implement `enable-event --global`: the event becomes a rule of the session, and side-uprobes is
 * started as the program that emits it.
 */
#include "programs/common/ask.h"
#include "programs/common/command.h"
#include "enable.h"
#include "global.h"
#include "programs/common/message.h"

#include <json-c/json.h>
#include <unistd.h>

/* The channel for the number of lost hits. */
static void probe_enable_global_add_loss_channel(struct json_object *request)
{
	struct json_object *events = ask_list(request, "event");
	char text[640];

	if (!events)
		return;
	snprintf(text, sizeof(text), "%s_lost",
			json_object_get_string(json_object_array_get_idx(events, 0)));
	ask_add_text(request, "event", text);
}

/* Add the events as rules of the session (`enable-event`), or remove them. */
static int change_rules(struct enabling *enabling, struct ask *ask, const char *session, bool on)
{
	struct json_object *request =
			control_request(on ? "enable-event" : "disable-event", session);
	struct json_object *answer = NULL;
	int status;

	if (!request)
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	status = probe_add_events(request, enabling->table);
	if (!status)
		probe_enable_global_add_loss_channel(request);
	if (on)
		probe_add_asked(request, &enabling->options->asked);
	if (status)
		json_object_put(request);
	else
		status = ask_call(ask, request, ASK_TIMEOUT_MS, &answer);
	if (!status && on && ask_pending(answer))
		status = COMMAND_PENDING;
	json_object_put(answer);
	return status;
}

static int probe_enable_global_start_recorder(
		struct enabling *enabling, struct ask *ask, const char *session)
{
	char **args = NULL;
	int status = probe_global_args(&enabling->options->global, enabling->options->pid,
			&enabling->table, 1, &args);

	if (!status)
		status = change_rules(enabling, ask, session, true);
	if (!status || status == COMMAND_PENDING) {
		int started = probe_global_start(&args, session, ask->system);

		/* No program would emit the events of this rule. */
		if (started)
			(void)change_rules(enabling, ask, session, false);
		status = started ? started : status;
	}
	probe_global_free(args);
	return status;
}

int probe_enable_global(struct enabling *enabling, struct ask *ask, const struct spec_options *spec,
		const char *session)
{
	const struct probe_target target = {.pid = enabling->files_of,
			.exe = enabling->files_of ? NULL : enabling->exe,
			.debuginfod = enabling->options->debuginfod};
	int status = COMMAND_DONE;

	for (size_t i = 0; i < enabling->contexts.count && !status; i++)
		if (!resolve_is_context(enabling->contexts.items[i]))
			status = message_error(COMMAND_USAGE, "the event has pid, tid and comm",
					"cannot record `--context %.64s` with a global probe: the kernel reads only registers and memory",
					enabling->contexts.items[i]);
	if (!status)
		status = probe_resolve(&target, &spec->spec, &enabling->table);
	if (!status)
		status = probe_enable_global_start_recorder(enabling, ask, session);
	if (enabling->table >= 0)
		close(enabling->table);
	enabling->table = -1;
	return status;
}
