/* SPDX-License-Identifier: MIT */
/*
 * Make programs in control modes without an agent thread check their sessions after a change of
 * probes.
 */
#include "request-check.h"

#include "programs/common/ask.h"
#include "programs/common/command.h"
#include "spec-options.h"
#include "programs/common/message.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>

static bool probe_query_process_matches(
		struct json_object *process, const struct probe_target *target)
{
	const char *control = ask_text(process, "control");

	if (strcmp(control, "sync") != 0 && strcmp(control, "signal") != 0)
		return false;
	return target->pid ? ask_number(process, "pid") == (uint64_t)target->pid
			   : target->exe && !strcmp(ask_text(process, "exe"), target->exe);
}

int probe_modes(struct ask *ask, const struct probe_target *target, struct json_object **ret_modes)
{
	struct json_object *answer, *processes;
	int status = ask_call(ask, control_request("list", NULL), ASK_TIMEOUT_MS, &answer);

	*ret_modes = NULL;
	if (status)
		return status;
	*ret_modes = json_object_new_array();
	processes = ask_list(answer, "processes");
	for (size_t i = 0; *ret_modes && processes && i < json_object_array_length(processes);
			i++) {
		struct json_object *process = json_object_array_get_idx(processes, i);

		if (probe_query_process_matches(process, target) &&
				json_object_array_add(*ret_modes, json_object_get(process)))
			json_object_put(process);
	}
	json_object_put(answer);
	return *ret_modes ? COMMAND_DONE : message_error(COMMAND_FAILED, NULL, "out of memory");
}

static void probe_check_print_later(struct json_object *process)
{
	bool by_signal = !strcmp(ask_text(process, "control"), "signal");
	char hint[128];

	snprintf(hint, sizeof(hint),
			"run `side attach --daemon -p %" PRIu64
			"`: the program then makes the change",
			ask_number(process, "pid"));
	message_note_hint(hint,
			"%s (process %" PRIu64
			") is in control mode %s: it sets and removes probes %s",
			ask_text(process, "name"), ask_number(process, "pid"),
			ask_text(process, "control"),
			by_signal ? "at its next event after the signal" : "when it starts");
}

/* The process has changed: remove it from the list of unchanged ones. */
static void drop_unchanged(struct json_object *answer, uint64_t pid)
{
	struct json_object *unchanged = ask_list(answer, "unchanged");

	for (size_t i = unchanged ? json_object_array_length(unchanged) : 0; i-- > 0;)
		if (ask_number(json_object_array_get_idx(unchanged, i), "pid") == pid)
			json_object_array_del_idx(unchanged, i, 1);
}

static struct json_object *probe_query_find_table(struct json_object *probes, uint64_t table)
{
	for (size_t i = 0; probes && i < json_object_array_length(probes); i++) {
		struct json_object *probe = json_object_array_get_idx(probes, i);

		if (ask_number(probe, "table") == table)
			return probe;
	}
	return NULL;
}

/* Get the present state of the answer's probes. */
static int request_check_renew(struct ask *ask, const char *session, struct json_object *answer)
{
	struct json_object *probes = ask_list(answer, "probes"), *status_answer, *sessions, *now;
	int status = ask_call(
			ask, control_request("status", session), ASK_TIMEOUT_MS, &status_answer);

	if (status)
		return status;
	sessions = ask_list(status_answer, "sessions");
	now = ask_list(sessions && json_object_array_length(sessions)
					? json_object_array_get_idx(sessions, 0)
					: status_answer,
			"probes");
	for (size_t i = 0; probes && i < json_object_array_length(probes); i++) {
		struct json_object *probe = probe_query_find_table(
				now, ask_number(json_object_array_get_idx(probes, i), "table"));

		if (probe && json_object_array_put_idx(probes, i, json_object_get(probe)))
			json_object_put(probe);
	}
	json_object_put(status_answer);
	return COMMAND_DONE;
}

int probe_check(const struct parsed *parsed, struct ask *ask, const char *session,
		struct json_object *modes, struct json_object *answer)
{
	size_t count = modes ? json_object_array_length(modes) : 0;
	int worst = COMMAND_DONE, status;

	for (size_t i = 0; i < count; i++) {
		struct json_object *process = json_object_array_get_idx(modes, i);

		status = command_attach_daemon(parsed, (int)ask_number(process, "pid"));
		worst = status > worst ? status : worst;
		if (status)
			probe_check_print_later(process);
		if (answer)
			drop_unchanged(answer, ask_number(process, "pid"));
	}
	status = count && answer ? request_check_renew(ask, session, answer) : COMMAND_DONE;
	return status > worst ? status : worst;
}

/* ---- disable-event ---- */

int cmd_probe_disable(const struct parsed *parsed)
{
	const struct control_options *options = &parsed->options.control;
	const struct probe_target target = {.pid = (pid_t)options->pid};
	struct json_object *modes = NULL;
	struct ask ask;
	int status = cmd_session(parsed), checked;

	if (status && status != COMMAND_PENDING)
		return status;
	checked = ask_connect(&ask, options->system, options->no_daemon);
	if (checked)
		return checked;
	checked = probe_modes(&ask, &target, &modes);
	if (!checked)
		checked = probe_check(parsed, &ask, NULL, modes, NULL);
	json_object_put(modes);
	ask_close(&ask);
	return checked ? checked : status;
}
