/* SPDX-License-Identifier: MIT */
/*
 * Set probes in running programs: `enable-event` with `--pid` or `--exe`. enable-again.c uses parts
 * of it.
 *
 * This process resolves the spec, with the rights of the user. The daemon gets the table and sends
 * it to the selected programs (sessions/client.h). A program without an agent gets one first, as by
 * `side attach`.
 */
#include "programs/common/ask.h"
#include "programs/common/command.h"
#include "executable.h"
#include "enable.h"
#include "enable-pending.h"
#include "global.h"
#include "list.h"
#include "request-check.h"
#include "results.h"
#include "programs/common/message.h"

#include "recorder/core/session.h"

#include <json-c/json.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the command line ---- */

static int check_name(const char *name)
{
	if (name && (!*name || strpbrk(name, "*?[]\\@!, \t\n") || strlen(name) > 200))
		return message_error(COMMAND_USAGE,
				"write a name such as slow_request or server:request",
				"cannot use `%.128s` as the name of the probe's event", name);
	return COMMAND_DONE;
}

/* Refuses a file that no agent can be loaded into. The kernel can watch most of these files. */
static int check_joins(const char *file)
{
	static const char hint[] = "use `--global`: the kernel watches the file";
	char *why = session_never_meets(file);
	int status = COMMAND_DONE;

	if (why)
		status = message_error(COMMAND_FAILED, hint, "cannot set the probe: %.*s",
				(int)strcspn(why, "\n"), why);
	else if (session_is_foreign(file))
		status = message_error(COMMAND_FAILED, NULL,
				"cannot set the probe: %.256s has another C library than the GNU C library, or is for another processor",
				file);
	free(why);
	return status;
}

static int find_exe(struct enabling *enabling)
{
	const struct control_options *options = enabling->options;
	struct probe_exe exe;
	int status;

	enabling->is_pending =
			!options->global.on && probe_pending_path(options->exe, enabling->exe);
	if (enabling->is_pending)
		return COMMAND_DONE;
	status = probe_exe_find(options->exe, &exe);
	if (status)
		return status;
	/*
	 * A session identifies programs of other namespaces by their paths there, which may be
	 * other files here.
	 */
	if (exe.pid && !options->global.on)
		return message_error(COMMAND_FAILED,
				"use `--global` (the kernel watches the file) or `--pid PID` (probes in one process)",
				"cannot probe all processes that run %.256s: the file is in another mount namespace",
				options->exe);
	snprintf(enabling->exe, sizeof(enabling->exe), "%s", exe.path);
	enabling->files_of = exe.runs;
	return options->global.on ? COMMAND_DONE : check_joins(enabling->exe);
}

static int probe_enable_check_options(struct enabling *enabling)
{
	const struct control_options *options = enabling->options;
	int status = COMMAND_DONE;

	if (options->global.on && !options->exe && !options->pid)
		return message_error(COMMAND_USAGE,
				"write `--exe FILE`, or `--pid PID` of a process that runs it",
				"missing option `--exe FILE`: a global probe needs the file to probe");
	if (!options->global.on && !options->pid == !options->exe)
		return message_error(COMMAND_USAGE, "write `--pid PID` or `--exe FILE`",
				options->pid ? "cannot use `--pid` with `--exe`: `--pid` probes one process, `--exe` all processes that run a file"
					     : "missing option: `--pid PID` or `--exe FILE`");
	if (options->global.on && options->pending)
		return message_error(COMMAND_USAGE, "leave `--pending` out",
				"cannot use `--pending` with `--global`: the kernel watches files that exist");
	if (options->pid > INT_MAX)
		return message_error(COMMAND_USAGE, NULL, "`--pid` is not the number of a process");
	if (options->exclude.count || options->loglevel || options->loglevel_only || options->all)
		return message_error(COMMAND_USAGE, "leave it out",
				"cannot use `--exclude`, `--loglevel` or `--all` for a probe: it has one event");
	if (options->exe)
		status = find_exe(enabling);
	else if (options->global.on)
		enabling->files_of = (pid_t)options->pid;
	if (status)
		return status;
	enabling->target.pid = (pid_t)options->pid;
	enabling->target.exe = options->exe ? enabling->exe : NULL;
	enabling->target.debuginfod = options->debuginfod;
	return COMMAND_DONE;
}

/* ---- the request ---- */

void probe_add_asked(struct json_object *request, const struct option_uses *asked)
{
	for (size_t i = 0; i < asked->count; i++) {
		const struct option_use *use = &asked->items[i];

		/* The options of add-context contain patterns, which the probe's events replace. */
		if (use->option->kind == OPTION_TEXT)
			ask_add(request, use->option->name, json_object_new_string(use->text));
		else if (use->option->kind == OPTION_TIME)
			ask_add(request, use->option->name,
					json_object_new_int64((int64_t)use->number));
	}
}

int probe_add_events(struct json_object *request, int table)
{
	struct probe_table_view view;
	int status = probe_table_view_open(table, &view);

	if (status)
		return status;
	for (uint32_t i = 0; i < probe_table_nr_events(&view.table); i++) {
		struct probe_table_event event;
		char name[600];

		probe_table_event(&view.table, i, &event);
		snprintf(name, sizeof(name), "%.250s:%.300s", event.provider, event.name);
		ask_add_text(request, "event", name);
	}
	probe_table_view_close(&view);
	return COMMAND_DONE;
}

static int add_target(struct json_object *request, const struct enabling *enabling)
{
	const struct probe_target *target = &enabling->target;
	uint64_t started = 0;
	int status = COMMAND_DONE;

	if (target->pid) {
		if (enabling->of_library)
			started = enabling->of_library->started;
		else
			status = probe_started(target->pid, &started);
		ask_add(request, "pid", json_object_new_int64(target->pid));
		ask_add(request, "started", json_object_new_int64((int64_t)started));
	} else {
		ask_add(request, "exe", json_object_new_string(target->exe));
		if (*enabling->file)
			ask_add(request, "file", json_object_new_string(enabling->file));
		if (enabling->kept)
			ask_add(request, "keep", json_object_get(enabling->kept));
	}
	return status;
}

static void enable_add_text(struct json_object *request, const char *name, const char *text)
{
	ask_add(request, name, json_object_new_string(text));
}

static int make_request(const struct enabling *enabling, const struct spec_options *spec,
		const char *session, struct json_object **ret_request)
{
	char *text = probe_spec_text(spec);
	int status;

	*ret_request = control_request("enable-probe", session);
	if (!*ret_request || !text) {
		free(text);
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	}
	ask_add(*ret_request, "probe", json_object_new_string(text));
	free(text);
	status = add_target(*ret_request, enabling);
	probe_add_asked(*ret_request, &enabling->options->asked);
	if (enabling->channel)
		ask_add(*ret_request, "channel", json_object_new_string(enabling->channel));
	if (enabling->filter)
		ask_add(*ret_request, "filter", json_object_new_string(enabling->filter));
	for (size_t i = 0; i < enabling->contexts.count; i++) {
		if (!resolve_is_context(enabling->contexts.items[i]))
			ask_add_text(*ret_request, "event-context", enabling->contexts.items[i]);
	}
	if (enabling->of_library) {
		enable_add_text(*ret_request, "loaded", enabling->of_library->loaded.path);
		enable_add_text(*ret_request, "loaded-file", enabling->of_library->file);
		/* The program waits. */
		ask_add(*ret_request, "timeout", json_object_new_int64(0));
	}
	if (enabling->library)
		enable_add_text(*ret_request, "library", enabling->library);
	if (enabling->is_unloaded)
		ask_add(*ret_request, "unloaded", json_object_new_boolean(true));
	if (!status && enabling->is_pending)
		probe_add_pending(*ret_request, &spec->spec);
	else if (!status && enabling->is_unloaded)
		probe_add_later_events(*ret_request, &spec->spec);
	else if (!status)
		status = probe_add_events(*ret_request, enabling->table);
	if (status) {
		json_object_put(*ret_request);
		*ret_request = NULL;
	}
	return status;
}

/* `modes`: the programs that must be made to check their sessions (request-check.h). */
static int probe_enable_send_request(struct enabling *enabling, struct ask *ask,
		const struct spec_options *spec, const char *session, struct json_object *modes)
{
	struct json_object *request, *answer;
	int status = make_request(enabling, spec, session, &request), checked;

	if (status)
		return status;
	status = ask_call_with(ask, request, enabling->table, ASK_TIMEOUT_MS + 10000, &answer);
	if (status)
		return status;
	checked = probe_check(enabling->parsed, ask, session, modes, answer);
	if (enabling->parsed->common.json)
		status = ask_print_json(enabling->parsed->verb->name, answer);
	else if (enabling->is_unloaded)
		probe_report_later(
				answer, spec->spec.name, "no process has loaded the library yet");
	else
		status = probe_report(answer, enabling->table);
	if (ask_pending(answer) && !status)
		status = COMMAND_PENDING;
	json_object_put(answer);
	return checked ? checked : status;
}

int probe_enable_of_library(struct enabling *enabling, struct ask *ask,
		const struct spec_options *spec, const char *session)
{
	const struct probe_target target = {.pid = enabling->of_library->loaded.pid,
			.loaded = enabling->of_library->loaded.path,
			.is_glob = enabling->of_library->is_glob};
	struct json_object *request, *answer = NULL;
	int status = probe_resolve(&target, &spec->spec, &enabling->table);

	if (!status)
		status = make_request(enabling, spec, session, &request);
	if (!status)
		status = ask_call_with(
				ask, request, enabling->table, ASK_TIMEOUT_MS + 10000, &answer);
	json_object_put(answer);
	if (enabling->table >= 0)
		close(enabling->table);
	enabling->table = -1;
	return status;
}

/* Finds LIB of a spec with `--pending`, and whether any file of it has the location. */
static int enable_find_library(struct enabling *enabling, const struct spec_options *spec)
{
	struct probe_table_view view;
	int status;

	if (!spec->is_pending)
		return COMMAND_DONE;
	enabling->library = resolve_library(&spec->spec);
	if (!enabling->library)
		return message_error(COMMAND_USAGE, "write `--function LIBRARY:NAME`",
				"cannot use `--pending`: the location names no library");
	status = probe_table_view_open(enabling->table, &view);
	if (status)
		return status;
	enabling->is_unloaded = !probe_table_nr_probes(&view.table);
	probe_table_view_close(&view);
	return COMMAND_DONE;
}

/* Attach the agent. Only then is it known whether the program's control mode requires a check. */
static int enable_attach(struct enabling *enabling, struct ask *ask, struct json_object **modes)
{
	int status = command_attach_daemon(enabling->parsed, enabling->target.pid);

	json_object_put(*modes);
	*modes = NULL;
	return status ? status : probe_modes(ask, &enabling->target, modes);
}

/* Store the spec in the session. The daemon has it resolved when a program executes the file. */
static int probe_enable_later(struct enabling *enabling, struct ask *ask,
		const struct spec_options *spec, const char *session)
{
	struct json_object *request, *answer;
	int status = make_request(enabling, spec, session, &request);

	if (!status)
		status = ask_call(ask, request, ASK_TIMEOUT_MS + 10000, &answer);
	if (status)
		return status;
	if (enabling->parsed->common.json)
		status = ask_print_json(enabling->parsed->verb->name, answer);
	else
		probe_pending_report(answer, &spec->spec, enabling->exe);
	json_object_put(answer);
	return status;
}

/* Resolve the spec, attach the agent, send the request. */
int probe_enable(struct enabling *enabling, struct ask *ask, const struct spec_options *spec,
		const char *session)
{
	struct json_object *modes = NULL;
	int status;

	if (enabling->of_library)
		return probe_enable_of_library(enabling, ask, spec, session);
	if (enabling->is_pending)
		return probe_enable_later(enabling, ask, spec, session);
	enabling->target.pending =
			spec->is_pending ? PROBE_PENDING_ACCEPTED : PROBE_PENDING_OFFERED;
	/* Before it is read: a file that is replaced meanwhile has to be read again. */
	if (enabling->target.exe)
		file_identity_of_path(enabling->target.exe, enabling->file);
	status = probe_resolve(&enabling->target, &spec->spec, &enabling->table);
	if (!status)
		status = enable_find_library(enabling, spec);
	if (!status && enabling->target.pid)
		status = probe_sees_proc(enabling->target.pid,
				"use `side enable-event NAME --global --exe FILE`: the kernel watches the location");
	if (!status)
		status = probe_modes(ask, &enabling->target, &modes);
	if (!status)
		status = probe_enable_choose(enabling, ask, spec, session);
	/* A program that is in `modes` already has the agent. */
	if (!status && enabling->target.pid && !json_object_array_length(modes))
		status = enable_attach(enabling, ask, &modes);
	if (!status)
		status = probe_enable_send_request(enabling, ask, spec, session, modes);
	if (!status || status == COMMAND_PENDING) {
		int watched = probe_enable_watch(enabling, ask, session);

		status = watched ? watched : status;
	}
	json_object_put(modes);
	if (enabling->kernel.table >= 0)
		close(enabling->kernel.table);
	enabling->kernel.table = -1;
	if (enabling->table >= 0)
		close(enabling->table);
	enabling->table = -1;
	free(enabling->library);
	enabling->library = NULL;
	return status;
}

/* ---- the verbs ---- */

int probe_begin(struct enabling *enabling, const struct parsed *parsed)
{
	int status;

	*enabling = (struct enabling){.parsed = parsed,
			.options = &parsed->options.control,
			.table = -1,
			.kernel.table = -1};
	status = probe_global_check(&enabling->options->global);
	if (!status)
		status = probe_enable_check_options(enabling);
	if (!status)
		status = probe_contexts(&enabling->options->contexts,
				parsed->verb->id == VERB_ADD_CONTEXT ? parsed->operands : NULL,
				&enabling->contexts);
	return status;
}

void probe_finish(struct enabling *enabling)
{
	free(enabling->contexts.items);
}

int probe_connect(const struct enabling *enabling, struct ask *ask, char buffer[ASK_NAME_MAX],
		const char **ret_session)
{
	int status = ask_connect(ask, enabling->options->system, enabling->options->no_daemon);

	if (status)
		return status;
	status = ask_which(ask, NULL, enabling->options->session, buffer, ret_session);
	if (status)
		ask_close(ask);
	return status;
}

int cmd_probe_enable(const struct parsed *parsed)
{
	struct spec_options *specs = NULL;
	struct enabling enabling;
	char buffer[ASK_NAME_MAX];
	const char *session;
	struct ask ask;
	size_t count;
	int status = probe_begin(&enabling, parsed);

	if (!status && parsed->operand_count > 1)
		status = message_error(COMMAND_USAGE, "write one command for each probe",
				"a probe has one event, but %d names are given",
				parsed->operand_count);
	if (!status)
		status = check_name(parsed->operands[0]);
	if (!status)
		status = probe_specs_read(
				&enabling.options->probes, &enabling.contexts, &specs, &count);
	if (!status && count > 1)
		status = message_error(COMMAND_USAGE, "write one command for each of them",
				"a probe has one LOCATION, but %zu are given", count);
	if (!status) {
		specs->spec.name = parsed->operands[0];
		specs->spec.kernel = enabling.options->global.on;
		specs->spec.forced = enabling.options->global.forced;
		specs->no_uprobe = enabling.options->global.never;
		specs->is_pending = enabling.options->pending;
		status = probe_connect(&enabling, &ask, buffer, &session);
		if (!status) {
			status = enabling.options->global.on
					? probe_enable_global(&enabling, &ask, specs, session)
					: probe_enable(&enabling, &ask, specs, session);
			ask_close(&ask);
		}
	}
	free(specs);
	probe_finish(&enabling);
	if (!status)
		status = output_flush(stdout);
	return status;
}
