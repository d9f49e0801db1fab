/* SPDX-License-Identifier: MIT */
/*
 * `side run`: executes a command whose programs join the sessions of the daemon before main(), also
 * programs that do not use libside.
 */
#include "run-reports.h"

#include "programs/common/ask.h"
#include "programs/common/command.h"
#include "programs/common/message.h"

#include "protocol/protocol.h"
#include "recorder/core/libraries.h"
#include "recorder/core/session.h"
#include "recorder/spawn.h"

#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the sessions ---- */

/* `session` NULL: any. Prints a note if none records yet. */
static int run_note_state(struct json_object *answer, const char *session)
{
	struct json_object *sessions = ask_list(answer, "sessions");
	size_t nr = sessions ? json_object_array_length(sessions) : 0;
	char hint[160];

	if (!nr)
		return message_error(COMMAND_FAILED,
				"`side create` makes one\n`side record COMMAND` needs none",
				"cannot run the command: the daemon has no session");
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(ask_text(json_object_array_get_idx(sessions, i), "state"), "active"))
			return COMMAND_DONE;
	if (!session) {
		message_note_hint("`side start` starts one",
				"the command is not recorded yet: no session is active");
		return COMMAND_DONE;
	}
	snprintf(hint, sizeof(hint), "`side start %.64s` starts it", session);
	message_note_hint(hint, "the command is not recorded yet: session %.64s is not active",
			session);
	return COMMAND_DONE;
}

static int run_check_sessions(const struct control_options *options)
{
	struct json_object *answer = NULL;
	struct ask ask;
	int status = ask_connect_only(&ask, options->system);

	if (status)
		return status;
	status = ask_call(&ask,
			control_request(options->session ? "status" : "list", options->session),
			ASK_TIMEOUT_MS, &answer);
	if (!status)
		status = run_note_state(answer, options->session);
	json_object_put(answer);
	ask_close(&ask);
	return status;
}

/* ---- the command ---- */

/* Reports the command itself if no agent can be loaded into it. True if `ret_file` is the file. */
static bool run_note_command(const char *name, char ret_file[PATH_MAX])
{
	char path[PATH_MAX], *why = session_never_meets(name),
			     *hint = why ? strchr(why, '\n') : NULL;
	bool is_noted = why && session_program(name, path) >= 0 && realpath(path, ret_file);

	if (hint)
		*hint++ = '\0';
	if (why)
		message_note_hint(hint, "not recorded: %s", why);
	free(why);
	return is_noted;
}

static void run_start_reports(const char *name)
{
	char file[PATH_MAX], socket[RUN_REPORTS_PATH_SIZE];
	int ret = run_reports_start(run_note_command(name, file) ? file : NULL, socket);

	if (ret)
		message_note("programs that cannot be recorded are not reported: %s",
				strerror(-ret));
	else
		setenv(WIRE_REPORT_ENV, socket, 1);
}

static int run_set_environment(const struct control_options *options)
{
	struct error error = {.kind = ERROR_NONE};
	char *preload = NULL;

	if (libraries_preload(options->wrappers.items, options->wrappers.count, &preload, &error))
		return message_library_error(&error);
	if (setenv("LD_PRELOAD", preload, 1) ||
			(options->session && setenv("SIDE_AGENT_SESSION", options->session, 1))) {
		free(preload);
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	}
	free(preload);
	spawn_let_sanitizer_be_second();
	return COMMAND_DONE;
}

int cmd_run(const struct parsed *parsed)
{
	const struct control_options *options = &parsed->options.control;
	struct error error = {.kind = ERROR_NONE};
	char path[PATH_MAX];
	int status, code;

	status = run_check_sessions(options);
	if (status)
		return status;
	if (session_program(parsed->operands[0], path) == -ENOENT) {
		(void)spawn_exec_error(&error, parsed->operands[0], ENOENT);
		return message_error_status(COMMAND_NOT_FOUND, &error);
	}
	status = run_set_environment(options);
	if (status)
		return status;
	run_start_reports(parsed->operands[0]);
	fflush(NULL);
	execvp(parsed->operands[0], parsed->operands);
	code = errno;
	(void)spawn_exec_error(&error, parsed->operands[0], code);
	return message_error_status(
			code == ENOENT ? COMMAND_NOT_FOUND : COMMAND_NOT_EXECUTABLE, &error);
}
