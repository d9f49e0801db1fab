/* SPDX-License-Identifier: MIT */
/*
 * The verb `system`: lets every program that is started from now on join the sessions of the daemon,
 * by a line in /etc/ld.so.preload.
 */
#include "installation.h"
#include "preload-file.h"
#include "state.h"

#include "programs/common/ask.h"
#include "programs/common/command.h"
#include "programs/common/message.h"

#include "protocol/runtime.h"
#include "sessions/json.h"

#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYSTEM_TIMEOUT_MS 5000

/* ---- on and off ---- */

static int system_check_user(const char *word)
{
	char hint[64];

	if (!geteuid())
		return COMMAND_DONE;
	snprintf(hint, sizeof(hint), "`sudo side system %s`", word);
	return message_error(COMMAND_NOT_PERMITTED, hint,
			"cannot change " PRELOAD_FILE ": only root may do that");
}

static int system_fail_mixed(struct error *error)
{
	return error_set_kind(error, ERROR_BUSY, -EUCLEAN,
			"edit " PRELOAD_FILE ": give the library a line of its own, or remove it",
			"cannot change " PRELOAD_FILE
			": it names libside-system.so beside other text in a line");
}

/* The line is there. A program that now fails or prints something has it removed again. */
static int system_verify(const struct installation *installation, struct error *error)
{
	struct installation real = {.directory = installation->directory};
	struct error undo;
	struct preload_file file;
	int ret = installation_check_loads(&real, error);

	if (!ret)
		return 0;
	error_add_context(error, "programs would be disturbed");
	if (preload_file_read(&file, &undo) || preload_file_remove(&file, &undo))
		error_set_hint(error, "`side system off`, or `rm " PRELOAD_FILE "`");
	preload_file_free(&file);
	return ret;
}

/* With the lock. */
static int system_add(
		const struct installation *installation, bool *ret_was_on, struct error *error)
{
	struct installation none = {.directory = installation->directory};
	struct preload_file file;
	struct preload_line line;
	int ret = preload_file_read(&file, error);

	if (ret)
		return ret;
	*ret_was_on = preload_file_find(&file, 0, &line);
	if (preload_file_is_mixed(&file))
		ret = system_fail_mixed(error);
	else if (*ret_was_on &&
			(line.size != strlen(installation->line) ||
					memcmp(file.text + line.at, installation->line,
							line.size) != 0))
		ret = error_set_kind(error, ERROR_BUSY, -EEXIST, "`side system off` first",
				"another installation of side is on: %.*s", (int)line.size,
				file.text + line.at);
	/* First without the line: a fault that exists already is not ours. */
	if (!ret && !*ret_was_on)
		ret = installation_check_loads(&none, error);
	if (!ret && !*ret_was_on)
		ret = installation_check_loads(installation, error);
	if (!ret && !*ret_was_on)
		ret = preload_file_add(&file, installation->line, error);
	preload_file_free(&file);
	return ret || *ret_was_on ? ret : system_verify(installation, error);
}

static int system_change(int (*change)(const struct installation *installation, bool *ret_same,
					 struct error *error),
		const struct installation *installation, bool *ret_same, struct error *error)
{
	int lock, ret = preload_file_lock(&lock, error);

	if (ret)
		return ret;
	ret = change(installation, ret_same, error);
	close(lock);
	return ret;
}

static int system_on(void)
{
	struct installation installation;
	struct error error = {.kind = ERROR_NONE};
	bool was_on = false;
	int ret = installation_find(&installation, &error);

	if (!ret)
		ret = installation_check_trust(&installation, &error);
	if (!ret)
		ret = system_change(system_add, &installation, &was_on, &error);
	if (ret) {
		error_add_context(&error, "cannot turn it on");
		installation_free(&installation);
		return message_library_error(&error);
	}
	if (was_on)
		message_note("it is on already: nothing to change");
	else
		message_note_hint(
				"`side system off` undoes it; if programs do not start: `rm " PRELOAD_FILE
				"`",
				PRELOAD_FILE " has the line %s", installation.line);
	installation_free(&installation);
	return COMMAND_DONE;
}

static int system_remove(const struct installation *unused, bool *ret_was_off, struct error *error)
{
	struct preload_file file;
	struct preload_line line;
	int ret = preload_file_read(&file, error);

	(void)unused;
	if (ret)
		return ret;
	*ret_was_off = !preload_file_find(&file, 0, &line);
	if (preload_file_is_mixed(&file))
		ret = system_fail_mixed(error);
	else if (!*ret_was_off)
		ret = preload_file_remove(&file, error);
	preload_file_free(&file);
	return ret;
}

static int system_off(void)
{
	struct error error = {.kind = ERROR_NONE};
	bool was_off = false;
	int ret = system_change(system_remove, NULL, &was_off, &error);

	if (ret) {
		error_add_context(&error, "cannot turn it off");
		return message_library_error(&error);
	}
	if (was_off)
		message_note("it is off already: nothing to change");
	return COMMAND_DONE;
}

/* ---- status ---- */

/* A probe of a session that programs of this file get; "*": programs of all files. */
static bool system_add_probe(
		struct json_object *wanted, const char *session, struct json_object *probe)
{
	const char *exe = ask_text(probe, "exe");
	struct json_object *entry;

	if (ask_number(probe, "pid"))
		return true;
	entry = json_object_new_object();
	if (json_put_text(entry, "session", session) &&
			json_put_text(entry, "exe", *exe ? exe : "*") &&
			json_put_text(entry, "probe", ask_text(probe, "probe")) &&
			!json_object_array_add(wanted, entry))
		return true;
	json_object_put(entry);
	return false;
}

static bool system_add_session(
		struct control_client *client, struct json_object *wanted, const char *session)
{
	struct json_object *request = control_request("list", session), *answer = NULL;
	struct json_object *sessions, *definition = NULL, *probes;
	bool is_whole = request && !control_call(client, request, SYSTEM_TIMEOUT_MS, &answer, NULL);

	sessions = is_whole ? ask_list(answer, "sessions") : NULL;
	if (sessions && json_object_array_length(sessions) == 1)
		(void)json_object_object_get_ex(
				json_object_array_get_idx(sessions, 0), "definition", &definition);
	probes = definition ? ask_list(definition, "probes") : NULL;
	for (size_t i = 0; probes && is_whole && i < json_object_array_length(probes); i++)
		is_whole = system_add_probe(wanted, session, json_object_array_get_idx(probes, i));
	json_object_put(answer);
	json_object_put(request);
	return is_whole;
}

/* Adds "daemon" and "wanted". Without a daemon, or the right to ask it, these are null. */
static bool system_add_daemon(struct json_object *object)
{
	struct json_object *request, *answer = NULL, *sessions = NULL, *wanted;
	/* With the variable, there is no daemon of the system. */
	const bool is_system = !getenv(WIRE_RUNTIME_ENV);
	struct ask ask;
	bool is_whole;

	if (ask_connect_silently(&ask, is_system, NULL))
		/* null */
		return !json_object_object_add(object, "daemon", NULL) &&
				!json_object_object_add(object, "wanted", NULL);
	wanted = json_object_new_array();
	request = control_request("list", NULL);
	is_whole = wanted && request &&
			!control_call(ask.client, request, SYSTEM_TIMEOUT_MS, &answer, NULL);
	sessions = is_whole ? ask_list(answer, "sessions") : NULL;
	for (size_t i = 0; sessions && is_whole && i < json_object_array_length(sessions); i++)
		is_whole = system_add_session(ask.client, wanted,
				ask_text(json_object_array_get_idx(sessions, i), "name"));
	is_whole = is_whole && json_put_text(object, "daemon", control_path(ask.client)) &&
			json_put(object, "wanted", json_object_get(wanted));
	json_object_put(wanted);
	json_object_put(answer);
	json_object_put(request);
	ask_close(&ask);
	return is_whole;
}

static struct json_object *system_make_status(const struct system_state *state)
{
	struct json_object *object = json_object_new_object();
	bool is_whole = json_put_flag(object, "on", state->is_on || state->is_mixed);

	if (is_whole && state->is_on)
		is_whole = json_put_text(object, "line", state->line) &&
				json_put_text(object, "file", state->file) &&
				json_put_flag(object, "exists", state->exists) &&
				json_put_flag(object, "loads", state->loads);
	if (is_whole && *state->problem.text)
		is_whole = json_put_text(object, "problem", state->problem.text);
	if (is_whole && system_add_daemon(object))
		return object;
	json_object_put(object);
	return NULL;
}

static void system_print_wanted(struct json_object *status)
{
	struct json_object *wanted = ask_list(status, "wanted");
	const size_t nr = wanted ? json_object_array_length(wanted) : 0;
	char exe[PATH_MAX], probe[1024];

	if (!nr)
		puts("wanted   nothing: no session has a probe for programs that start later");
	for (size_t i = 0; i < nr; i++) {
		struct json_object *entry = json_object_array_get_idx(wanted, i);

		printf("%-7s  session %s: %s: %s\n", i ? "" : "wanted", ask_text(entry, "session"),
				format_printable(ask_text(entry, "exe"), exe, sizeof(exe)),
				format_printable(ask_text(entry, "probe"), probe, sizeof(probe)));
	}
}

static void system_print_status(const struct system_state *state, struct json_object *status)
{
	const char *daemon = ask_text(status, "daemon");

	printf("system   %s\n", state->is_on || state->is_mixed ? "on" : "off");
	if (state->is_on) {
		printf("line     %s\n", state->line);
		printf("library  %s: %s\n", state->file,
				state->loads                    ? "each loader loads it"
						: state->exists ? "not each loader loads it"
								: "it does not exist");
	}
	printf("daemon   %s\n", *daemon ? daemon : "none answers");
	if (*daemon)
		system_print_wanted(status);
}

static int system_report(const struct system_state *state)
{
	struct json_object *status = system_make_status(state);
	struct error problem = state->problem;
	int ret = COMMAND_DONE;

	if (!status)
		return message_error(COMMAND_FAILED, NULL,
				"cannot show the state: the daemon does not answer, or memory is missing");
	if (output_is_json())
		ret = ask_print_json("system", status);
	else
		system_print_status(state, status);
	json_object_put(status);
	if (ret)
		return ret;
	ret = output_flush(stdout);
	if (!ret && state->is_on && !state->loads) {
		error_set_hint(&problem, "`side system off`");
		error_add_context(&problem, "programs may print errors when they start");
		return message_library_error(&problem);
	}
	return ret;
}

static int system_status(void)
{
	struct error error = {.kind = ERROR_NONE};
	struct system_state state;
	int ret;

	if (system_state_read(&state, &error))
		return message_library_error(&error);
	ret = system_report(&state);
	system_state_free(&state);
	return ret;
}

int cmd_system(const struct parsed *parsed)
{
	const char *word = parsed->operands[0];
	int status;

	if (!strcmp(word, "status"))
		return system_status();
	if (strcmp(word, "on") != 0 && strcmp(word, "off") != 0)
		return command_unknown_word(parsed->verb, word,
				(const char *const[]){"on", "off", "status", NULL},
				"did you mean `side system status`?");
	status = system_check_user(word);
	if (status)
		return status;
	return strcmp(word, "on") ? system_off() : system_on();
}
