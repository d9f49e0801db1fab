/* SPDX-License-Identifier: MIT */
/*
 * Probes in programs that run: `enable-event` and `add-context` with `--pid` or `--exe`.
 *
 * What is wished is resolved here, with the rights of the user; the daemon gets a table and gives it to the programs
 * that are meant (control/client.h). A program that has no recorder gets one first, as by `side attach`.
 */
#include "ask.h"
#include "command.h"
#include "probe-said.h"
#include "probe-wish.h"
#include "say.h"
#include "words.h"

#include "session/session.h"

#include <json-c/json.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What one command does. */
struct enabling {
	const struct parsed *parsed;
	const struct control_options *options;
	struct probe_target target;
	char exe[PATH_MAX];
	struct text_list contexts; /* one by one */
	int table;
	const char *channel, *filter; /* of a probe that is made again; NULL: as asked */
};

/* ---- the command line ---- */

static int check_name(const char *name)
{
	if (name && (!*name || strpbrk(name, "*?[]\\@!, \t\n") || strlen(name) > 200))
		return say_error(COMMAND_USAGE,
				"write a name such as slow_request or server:request",
				"`%.128s` cannot be the name of the event that a probe makes",
				name);
	return COMMAND_DONE;
}

static int check(struct enabling *enabling)
{
	const struct control_options *options = enabling->options;

	if (!options->pid == !options->exe)
		return say_error(COMMAND_USAGE, "write `--pid PID` or `--exe FILE`",
				options->pid ? "`--pid` is a process, and `--exe` every one of a "
					       "file"
					     : "it is not said which program is to be probed");
	if (options->pid > INT_MAX)
		return say_error(COMMAND_USAGE, NULL, "`--pid` is not the number of a process");
	if (options->exclude.count || options->loglevel || options->loglevel_only || options->all)
		return say_error(COMMAND_USAGE, "leave it out",
				"a probe is one event, so `--exclude`, `--loglevel` and `--all` "
				"have no "
				"use");
	if (options->exe && !realpath(options->exe, enabling->exe))
		return say_error(COMMAND_FAILED, NULL, "there is no program %.256s", options->exe);
	enabling->target.pid = (pid_t)options->pid;
	enabling->target.exe = options->exe ? enabling->exe : NULL;
	return COMMAND_DONE;
}

/* ---- the request ---- */

static void add_asked(struct json_object *request, const struct option_uses *asked)
{
	for (size_t i = 0; i < asked->count; i++) {
		const struct option_use *use = &asked->items[i];

		/* Those of add-context have patterns, too, which the probe's events take the place of. */
		if (use->option->kind == OPTION_TEXT)
			json_object_object_add(request, use->option->name,
					json_object_new_string(use->text));
		else if (use->option->kind == OPTION_TIME)
			json_object_object_add(request, use->option->name,
					json_object_new_int64((int64_t)use->number));
	}
}

static int add_events(struct json_object *request, int table)
{
	struct probe_seen seen;
	int status = probe_see(table, &seen);

	if (status)
		return status;
	for (uint32_t i = 0; i < probe_table_nr_events(&seen.table); i++) {
		struct probe_table_event event;
		char name[600];

		probe_table_event(&seen.table, i, &event);
		snprintf(name, sizeof(name), "%.250s:%.300s", event.provider, event.name);
		ask_add_text(request, "event", name);
	}
	probe_unsee(&seen);
	return COMMAND_DONE;
}

static void add_target(struct json_object *request, const struct probe_target *target)
{
	if (target->pid) {
		json_object_object_add(request, "pid", json_object_new_int64(target->pid));
		json_object_object_add(request, "started",
				json_object_new_int64((int64_t)session_process_start(target->pid)));
	} else {
		json_object_object_add(request, "exe", json_object_new_string(target->exe));
	}
}

static int make_request(const struct enabling *enabling, const struct probe_wish *wish,
		const char *session, struct json_object **request)
{
	char *text = probe_wish_text(wish);
	int status;

	*request = control_request("enable-probe", session);
	if (!*request || !text) {
		free(text);
		return say_error(COMMAND_FAILED, NULL, "there is no memory");
	}
	json_object_object_add(*request, "probe", json_object_new_string(text));
	free(text);
	add_target(*request, &enabling->target);
	add_asked(*request, &enabling->options->asked);
	if (enabling->channel)
		json_object_object_add(
				*request, "channel", json_object_new_string(enabling->channel));
	if (enabling->filter)
		json_object_object_add(
				*request, "filter", json_object_new_string(enabling->filter));
	for (size_t i = 0; i < enabling->contexts.count; i++) {
		if (!resolve_is_context(enabling->contexts.items[i]))
			ask_add_text(*request, "event-context", enabling->contexts.items[i]);
	}
	status = add_events(*request, enabling->table);
	if (status) {
		json_object_put(*request);
		*request = NULL;
	}
	return status;
}

static int send_request(struct enabling *enabling, struct ask *ask, const struct probe_wish *wish,
		const char *session)
{
	struct json_object *request, *answer;
	int status = make_request(enabling, wish, session, &request);

	if (status)
		return status;
	status = ask_call_with(ask, request, enabling->table, ASK_PATIENCE_MS + 10000, &answer);
	if (status)
		return status;
	if (enabling->parsed->common.json)
		ask_print_json(enabling->parsed->verb->name, answer);
	else
		status = probe_said(answer, enabling->table);
	if (ask_pending(answer) && !status)
		status = COMMAND_PENDING;
	json_object_put(answer);
	return status;
}

/* Resolved, brought there, asked for. */
static int enable(struct enabling *enabling, struct ask *ask, const struct probe_wish *wish,
		const char *session)
{
	int status = probe_resolve(&enabling->target, &wish->wish, &enabling->table);

	if (!status && enabling->target.pid)
		status = command_attach_daemon(enabling->parsed, enabling->target.pid);
	if (!status)
		status = send_request(enabling, ask, wish, session);
	if (enabling->table >= 0)
		close(enabling->table);
	enabling->table = -1;
	return status;
}

/* ---- the verbs ---- */

static int begin(struct enabling *enabling, const struct parsed *parsed)
{
	int status;

	*enabling = (struct enabling){
			.parsed = parsed, .options = &parsed->options.control, .table = -1};
	status = check(enabling);
	if (!status)
		status = probe_contexts(&enabling->options->contexts,
				parsed->verb->id == VERB_ADD_CONTEXT ? parsed->operands : NULL,
				&enabling->contexts);
	return status;
}

static void finish(struct enabling *enabling)
{
	free(enabling->contexts.items);
}

static int connect_daemon(const struct enabling *enabling, struct ask *ask, char room[ASK_NAME_MAX],
		const char **session)
{
	int status = ask_connect(ask, enabling->options->system, enabling->options->no_daemon);

	if (status)
		return status;
	status = ask_which(ask, NULL, enabling->options->session, room, session);
	if (status)
		ask_close(ask);
	return status;
}

int cmd_probe_enable(const struct parsed *parsed)
{
	struct probe_wish *wishes = NULL;
	struct enabling enabling;
	char room[ASK_NAME_MAX];
	const char *session;
	struct ask ask;
	size_t count;
	int status = begin(&enabling, parsed);

	if (!status && parsed->operand_count > 1)
		status = say_error(COMMAND_USAGE, "write one command for each probe",
				"a probe makes one event, and %d names are given",
				parsed->operand_count);
	if (!status)
		status = check_name(parsed->operands[0]);
	if (!status)
		status = probe_wishes(
				&enabling.options->probes, &enabling.contexts, &wishes, &count);
	if (!status && count > 1)
		status = say_error(COMMAND_USAGE, "write one command for each of them",
				"a probe is at one PLACE, and %zu are given", count);
	if (!status) {
		wishes->wish.name = parsed->operands[0];
		status = connect_daemon(&enabling, &ask, room, &session);
		if (!status) {
			status = enable(&enabling, &ask, wishes, session);
			ask_close(&ask);
		}
	}
	free(wishes);
	finish(&enabling);
	if (!status)
		status = say_flush(stdout);
	return status;
}

/* ---- more of a probe that is there ---- */

static bool has_event(struct json_object *probe, const char *name)
{
	struct json_object *events = ask_list(probe, "event");

	for (size_t i = 0; events && i < json_object_array_length(events); i++) {
		const char *event = json_object_get_string(json_object_array_get_idx(events, i));

		if (!strcmp(event, name) ||
				(!strncmp(event, RESOLVE_PROVIDER ":", sizeof(RESOLVE_PROVIDER)) &&
						!strcmp(event + sizeof(RESOLVE_PROVIDER), name)))
			return true;
	}
	return false;
}

static bool is_meant(const struct enabling *enabling, struct json_object *probe)
{
	const struct option_uses *asked = &enabling->options->asked;
	bool named = false, found = false;

	if (ask_number(probe, "pid") != (uint64_t)enabling->target.pid ||
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

static const struct option *find_option(const char *word)
{
	const struct option *option = command_find_verb("enable-event")->options;

	if (strncmp(word, "--", 2) != 0)
		return NULL;
	while (option->name && strcmp(option->name, word + 2) != 0)
		option++;
	return option->name ? option : NULL;
}

/* What the user wrote when the probe was made; room for that many words is in both lists. */
static bool read_text(
		char **words, size_t count, struct option_uses *uses, struct text_list *contexts)
{
	for (size_t i = 0; i < count; i++) {
		const struct option *option = find_option(words[i]);
		const char *text = NULL;

		if (!option || (option->argument && ++i == count))
			return false;
		if (option->argument)
			text = words[i];
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

		if (strcmp(ask_text(one, "name"), channel) != 0)
			continue;
		for (size_t j = 0; rules && j < json_object_array_length(rules); j++) {
			struct json_object *rule = json_object_array_get_idx(rules, j);

			if (has_event(rule, event) && *ask_text(rule, "filter"))
				return ask_text(rule, "filter");
		}
	}
	return NULL;
}

static int make_again(struct enabling *enabling, struct ask *ask, struct json_object *probe,
		const char *session)
{
	size_t count, given = enabling->contexts.count;
	char **words = words_split(ask_text(probe, "probe"), &count);
	struct option_uses uses = {.items = calloc(count + 1, sizeof(*uses.items))};
	struct text_list contexts = {.items = calloc(count + given + 1, sizeof(*contexts.items))};
	struct probe_wish *wishes = NULL;
	size_t nr_wishes = 0;
	int status;

	if (words && uses.items && contexts.items && read_text(words, count, &uses, &contexts)) {
		for (size_t i = 0; i < given; i++)
			contexts.items[contexts.count++] = enabling->contexts.items[i];
		status = probe_wishes(&uses, &contexts, &wishes, &nr_wishes);
	} else {
		status = say_error(COMMAND_FAILED, "enable it again",
				"the probe `%.256s` cannot be made again",
				ask_text(probe, "probe"));
	}
	if (!status && wishes) {
		wishes->wish.name = json_object_get_string(
				json_object_array_get_idx(ask_list(probe, "event"), 0));
		status = enable(enabling, ask, wishes, session);
	}
	free(wishes);
	free(uses.items);
	free(contexts.items);
	free(words);
	return status;
}

/* Of the session as `status` has it. */
static int add_contexts(struct enabling *enabling, struct ask *ask, struct json_object *session,
		const char *name)
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

		if (!is_meant(enabling, probe) || !events || !json_object_array_length(events))
			continue;
		found = true;
		enabling->channel = ask_text(probe, "channel");
		enabling->filter = find_filter(channels, enabling->channel,
				json_object_get_string(json_object_array_get_idx(events, 0)));
		status = make_again(enabling, ask, probe, name);
		worst = status > worst ? status : worst;
	}
	if (found)
		return worst;
	return say_error(COMMAND_FAILED, "`side status` shows those that it has",
			"the session has no such probe in this program");
}

int cmd_probe_context(const struct parsed *parsed)
{
	struct json_object *answer = NULL, *sessions;
	struct enabling enabling;
	char room[ASK_NAME_MAX];
	const char *session;
	struct ask ask;
	int status = begin(&enabling, parsed);

	if (!status && !enabling.contexts.count)
		status = say_error(COMMAND_USAGE, "write `-t regs`, or see `side help probes`",
				"there is no context to add");
	if (!status)
		status = connect_daemon(&enabling, &ask, room, &session);
	if (!status) {
		status = ask_call(
				&ask, control_request("status", session), ASK_PATIENCE_MS, &answer);
		sessions = status ? NULL : ask_list(answer, "sessions");
		if (!status)
			status = add_contexts(&enabling, &ask,
					sessions && json_object_array_length(sessions)
							? json_object_array_get_idx(sessions, 0)
							: answer,
					session);
		json_object_put(answer);
		ask_close(&ask);
	}
	finish(&enabling);
	return status;
}
