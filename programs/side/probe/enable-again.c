/* SPDX-License-Identifier: MIT */
/*
 * Resolve the probes of a session again from the options that the session keeps with them.
 *
 * `add-context` does this to add contexts to a probe. `load` does it because session definitions
 * contain no tables: a table is valid only for the files that it was made from.
 */
#include "programs/common/command.h"
#include "enable.h"
#include "enable-pending.h"
#include "request-check.h"
#include "programs/common/message.h"
#include "programs/side/cli/shell-words.h"

#include "recorder/core/session.h"
#include "sessions/definition.h"
#include "sessions/definition-probe.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- options from the definition ---- */

static bool is_event(struct json_object *name_json, const char *name)
{
	const char *event = json_object_get_string(name_json);

	return !strcmp(event, name) ||
			(!strncmp(event, RESOLVE_PROVIDER ":", sizeof(RESOLVE_PROVIDER)) &&
					!strcmp(event + sizeof(RESOLVE_PROVIDER), name));
}

static bool has_event(struct json_object *probe, const char *name)
{
	struct json_object *events = ask_list(probe, "event");

	for (size_t i = 0; events && i < json_object_array_length(events); i++) {
		if (is_event(json_object_array_get_idx(events, i), name))
			return true;
	}
	return false;
}

static bool probe_reenable_is_selected(const struct enabling *enabling, struct json_object *probe)
{
	const struct option_uses *asked = &enabling->options->asked;
	bool named = false, found = false;

	/* The probe of the library adds it again. */
	if (*ask_text(probe, "loaded") ||
			ask_number(probe, "pid") != (uint64_t)enabling->target.pid ||
			strcmp(ask_text(probe, "exe"),
					enabling->target.exe ? enabling->target.exe : "") != 0)
		return false;
	for (size_t i = 0; i < asked->count; i++) {
		if (strcmp(asked->items[i].option->name, "event") != 0)
			continue;
		named = true;
		found |= has_event(probe, asked->items[i].text);
	}
	return found || !named;
}

/* Whether the patterns name only the return event of the probe. */
static bool is_meant_return(const struct enabling *enabling, struct json_object *events)
{
	const struct option_uses *asked = &enabling->options->asked;
	bool named = false;

	for (size_t i = 0; i < asked->count; i++) {
		if (strcmp(asked->items[i].option->name, "event") != 0)
			continue;
		if (is_event(json_object_array_get_idx(events, 0), asked->items[i].text))
			return false;
		named = true;
	}
	return named;
}

static const struct option *find_option(const char *word)
{
	const struct option *option = command_find_verb("enable-event")->options;

	if (strncmp(word, "--", 2) != 0)
		return NULL;
	while (option->name && strcmp(option->name, word + 2) != 0)
		option++;
	return option->name ? option : NULL;
}

/* Parse the options that the user wrote for the probe. Both lists have space for `count` items. */
static bool probe_reenable_read_text(
		char **args, size_t count, struct option_uses *uses, struct text_list *contexts)
{
	for (size_t i = 0; i < count; i++) {
		const struct option *option = find_option(args[i]);
		const char *text = NULL;

		if (!option || (option->argument && ++i == count))
			return false;
		if (option->argument)
			text = args[i];
		if (!strcmp(option->name, "context"))
			contexts->items[contexts->count++] = text;
		else
			uses->items[uses->count++] =
					(struct option_use){.option = option, .text = text};
	}
	return true;
}

/* The filter of the rule that records the event, so that it stays. NULL: it has none. */
static const char *find_filter(struct json_object *channels, const char *channel, const char *event)
{
	for (size_t i = 0; channels && i < json_object_array_length(channels); i++) {
		struct json_object *one = json_object_array_get_idx(channels, i),
				   *rules = ask_list(one, "rules");

		if (strcmp(ask_text(one, "channel"), channel) != 0)
			continue;
		for (size_t j = 0; rules && j < json_object_array_length(rules); j++) {
			struct json_object *rule = json_object_array_get_idx(rules, j);

			if (has_event(rule, event) && *ask_text(rule, "filter"))
				return ask_text(rule, "filter");
		}
	}
	return NULL;
}

/* Requires that the probe has an event. */
int probe_enable_again(struct enabling *enabling, struct ask *ask, struct json_object *probe,
		struct json_object *channels, const char *session)
{
	const char *event = json_object_get_string(
			json_object_array_get_idx(ask_list(probe, "event"), 0));
	size_t count, requested = enabling->contexts.count;
	char **args = shell_split(ask_text(probe, "probe"), &count);
	struct option_uses uses = {.items = calloc(count + 1, sizeof(*uses.items))};
	struct text_list contexts = {
			.items = calloc(count + requested + 1, sizeof(*contexts.items))};
	struct spec_options *specs = NULL;
	size_t nr_specs = 0;
	int status;

	enabling->channel = ask_text(probe, "channel");
	enabling->filter = find_filter(channels, enabling->channel, event);
	if (args && uses.items && contexts.items &&
			probe_reenable_read_text(args, count, &uses, &contexts)) {
		for (size_t i = 0; i < requested; i++)
			contexts.items[contexts.count++] = enabling->contexts.items[i];
		status = probe_specs_read(&uses, &contexts, &specs, &nr_specs);
	} else {
		status = message_error(COMMAND_FAILED, "enable it again",
				"cannot restore the probe `%.256s`", ask_text(probe, "probe"));
	}
	if (!status && specs) {
		specs->spec.name = event;
		status = probe_enable(enabling, ask, specs, session);
	}
	free(specs);
	free(uses.items);
	free(contexts.items);
	free(args);
	return status;
}

/* ---- add-context ---- */

/* Returns the context with the prefix for the exit; the caller frees it. */
static char *at_exit(const char *context)
{
	char *text = NULL;

	if (!strncmp(context, RESOLVE_AT_EXIT, sizeof(RESOLVE_AT_EXIT) - 1))
		return strdup(context);
	return asprintf(&text, RESOLVE_AT_EXIT "%s", context) < 0 ? NULL : text;
}

/*
 * The requested contexts are for the entry, or for the return if the patterns name only that event.
 */
static int make_of_event(struct enabling *enabling, struct ask *ask, struct json_object *probe,
		struct json_object *channels, const char *session, bool returns)
{
	const struct text_list requested = enabling->contexts;
	struct text_list changed = {.items = calloc(requested.count + 1, sizeof(*changed.items))};
	int status = COMMAND_DONE;

	for (; changed.items && returns && changed.count < requested.count; changed.count++) {
		const char *context = requested.items[changed.count];

		changed.items[changed.count] =
				resolve_is_context(context) ? at_exit(context) : strdup(context);
		if (!changed.items[changed.count])
			break;
	}
	if (!changed.items || (returns && changed.count < requested.count))
		status = message_error(COMMAND_FAILED, NULL, "out of memory");
	if (!status && returns)
		enabling->contexts = changed;
	if (!status)
		status = probe_enable_again(enabling, ask, probe, channels, session);
	enabling->contexts = requested;
	while (changed.count)
		free((void *)(uintptr_t)changed.items[--changed.count]);
	free(changed.items);
	return status;
}

/* `session` is a session of the answer to `status`. */
static int probe_reenable_add_contexts(struct enabling *enabling, struct ask *ask,
		struct json_object *session, const char *name)
{
	struct json_object *definition = NULL, *probes, *channels;
	bool found = false;
	int worst = COMMAND_DONE;

	if (!json_object_object_get_ex(session, "definition", &definition))
		definition = session;
	probes = ask_list(definition, "probes");
	channels = ask_list(definition, "channels");
	for (size_t i = 0; probes && i < json_object_array_length(probes); i++) {
		struct json_object *probe = json_object_array_get_idx(probes, i),
				   *events = ask_list(probe, "event");
		int status;

		if (!probe_reenable_is_selected(enabling, probe) || !events ||
				!json_object_array_length(events))
			continue;
		found = true;
		status = make_of_event(enabling, ask, probe, channels, name,
				is_meant_return(enabling, events));
		worst = status > worst ? status : worst;
	}
	if (found)
		return worst;
	return message_error(COMMAND_FAILED, "`side status` lists its probes",
			"the session has no such probe in this program");
}

int cmd_probe_context(const struct parsed *parsed)
{
	struct json_object *answer = NULL, *sessions;
	struct enabling enabling;
	char space[ASK_NAME_MAX];
	const char *session;
	struct ask ask;
	int status = probe_begin(&enabling, parsed);

	if (!status && !enabling.contexts.count)
		status = message_error(COMMAND_USAGE, "write `-t regs`, or see `side help probes`",
				"missing context to add");
	if (!status)
		status = probe_connect(&enabling, &ask, space, &session);
	if (!status) {
		status = ask_call(
				&ask, control_request("status", session), ASK_TIMEOUT_MS, &answer);
		sessions = status ? NULL : ask_list(answer, "sessions");
		if (!status)
			status = probe_reenable_add_contexts(&enabling, &ask,
					sessions && json_object_array_length(sessions)
							? json_object_array_get_idx(sessions, 0)
							: answer,
					session);
		json_object_put(answer);
		ask_close(&ask);
	}
	probe_finish(&enabling);
	return status;
}

/* ---- load ---- */

/* The file for which the daemon requests probes again. */
struct executed_file {
	const char *path;
	struct json_object *kept; /* enabling.kept */
};

/* Returns why the probe cannot be made again; NULL: try it. */
static const char *probe_reenable_refusal_text(struct json_object *probe, char *text, size_t space)
{
	uint64_t pid = ask_number(probe, "pid");
	const char *exe = ask_text(probe, "exe");
	struct stat status;
	uint64_t started;

	if (!pid && !*exe)
		return "it names no program";
	/* A file that does not exist is pending. */
	if (*exe && stat(exe, &status) && errno != ENOENT && errno != ENOTDIR) {
		snprintf(text, space, "cannot read the file %.256s: %s", exe, strerror(errno));
		return text;
	}
	if (!pid)
		return NULL;
	started = pid > INT_MAX ? 0 : session_process_start((pid_t)pid);
	if (!started && pid <= INT_MAX && errno != ENOENT && errno != ESRCH) {
		snprintf(text, space, "cannot inspect process %llu: %s", (unsigned long long)pid,
				strerror(errno));
		return text;
	}
	if (!started || started != ask_number(probe, "started")) {
		snprintf(text, space, "process %llu has ended", (unsigned long long)pid);
		return text;
	}
	return NULL;
}

/* `executed`: the file to which the probe applies; NULL: that of the probe. */
static int load_probe(const struct parsed *enable, struct ask *ask, struct json_object *probe,
		struct json_object *channels, const char *session,
		const struct executed_file *executed)
{
	struct json_object *events = ask_list(probe, "event");
	struct enabling enabling;
	struct parsed parsed = *enable;
	char text[320];
	const char *why;
	int status;

	/* The probe of a library adds those for files that programs have loaded. */
	if (!events || !json_object_array_length(events) || *ask_text(probe, "loaded"))
		return COMMAND_DONE;
	why = probe_reenable_refusal_text(probe, text, sizeof(text));
	if (why)
		return message_error(COMMAND_FAILED,
				"set it at another location with `side enable-event`",
				"the probe %.256s of session %s is not resolved: %s",
				json_object_get_string(json_object_array_get_idx(events, 0)),
				session, why);
	parsed.options.control.pid = ask_number(probe, "pid");
	parsed.options.control.exe = *ask_text(probe, "exe") ? ask_text(probe, "exe") : NULL;
	if (executed)
		parsed.options.control.exe = executed->path;
	status = probe_begin(&enabling, &parsed);
	if (executed)
		enabling.kept = executed->kept;
	if (!status)
		status = probe_enable_again(&enabling, ask, probe, channels, session);
	probe_finish(&enabling);
	if (status)
		message_note("the probe %.256s of session %s is not resolved",
				json_object_get_string(json_object_array_get_idx(events, 0)),
				session);
	return status;
}

int probe_load(const struct parsed *parsed, struct ask *ask, const char *session,
		struct json_object *definition)
{
	struct json_object *probes = ask_list(definition, "probes"),
			   *channels = ask_list(definition, "channels");
	struct parsed enable = *parsed;
	int worst = COMMAND_DONE;

	/* Do not take over options of `load` that do not concern probes. */
	enable.options.control = (struct control_options){.system = parsed->options.control.system,
			.no_daemon = parsed->options.control.no_daemon};
	for (size_t i = 0; probes && i < json_object_array_length(probes); i++) {
		int status = load_probe(&enable, ask, json_object_array_get_idx(probes, i),
				channels, session, NULL);

		worst = status > worst ? status : worst;
	}
	return worst;
}

/* ---- a file that is executed ---- */

bool probe_enable_is_own(const struct definition_probe *probe)
{
	return !probe->target.of_user || probe->target.access.uid == geteuid();
}

/* `json` is the definition in the answer to `status`. */
static int probe_reenable_missing(const struct parsed *parsed, struct ask *ask,
		struct json_object *json, const struct definition *definition)
{
	struct json_object *probes = ask_list(json, "probes");
	struct executed_file executed = {.path = parsed->options.control.exe};
	char file[FILE_IDENTITY_SIZE];
	int worst = COMMAND_DONE;
	bool is_any = false;

	if (!file_identity_of_path(executed.path, file))
		return message_error(COMMAND_FAILED, NULL, "cannot read the file %.256s: %s",
				executed.path, strerror(errno));
	executed.kept = probe_pending_kept(definition, executed.path);
	for (size_t i = 0; i < definition->nr_probes; i++) {
		int status;

		if (!probe_enable_is_own(&definition->probes[i]) ||
				!definition_probe_is_missing(definition, i, executed.path, file))
			continue;
		status = load_probe(parsed, ask, json_object_array_get_idx(probes, i),
				ask_list(json, "channels"), parsed->options.control.session,
				&executed);
		worst = status > worst ? status : worst;
		is_any = true;
	}
	json_object_put(executed.kept);
	if (!is_any)
		return message_error(COMMAND_FAILED, NULL,
				"a program executed another file at this path: it has another mount namespace, or the file was changed again");
	return worst;
}

/* The daemon starts this when the file is executed, or the library loaded. It has no output unless a probe fails. */
int cmd_probe_set_pending(const struct parsed *parsed)
{
	struct json_object *answer = NULL, *sessions, *json = NULL;
	struct definition *definition = NULL;
	struct error error;
	struct ask ask;
	int status = ask_connect(&ask, parsed->options.control.system, true);

	if (status)
		return status;
	status = ask_call(&ask, control_request("status", parsed->options.control.session),
			ASK_TIMEOUT_MS, &answer);
	sessions = status ? NULL : ask_list(answer, "sessions");
	if (sessions && json_object_array_length(sessions))
		json_object_object_get_ex(
				json_object_array_get_idx(sessions, 0), "definition", &json);
	if (json && definition_parse(json, &definition, &error))
		status = message_error(COMMAND_FAILED, NULL, "%s", error.text);
	if (definition)
		status = (parsed->options.control.pid ? probe_enable_loaded
						      : probe_reenable_missing)(
				parsed, &ask, json, definition);
	definition_free(definition);
	json_object_put(answer);
	ask_close(&ask);
	return status;
}
