/* SPDX-License-Identifier: MIT */
/*
 * The verbs with one request to the daemon: create, start, enable-event, track, snapshot and so on.
 *
 * The result of a verb is on standard output (the path of a snapshot; with --json the whole
 * answer), messages are on standard error.
 */
#include "programs/common/ask.h"
#include "programs/common/command.h"
#include "kernel-session.h"
#include "losses.h"
#include "programs/side/cli/more.h"
#include "programs/common/message.h"
#include "request.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Operations that write to the disk have no limit. */
static int sessions_get_timeout(enum verb_id verb, struct json_object *request)
{
	uint64_t timeout = ask_number(request, "timeout") / 1000000;

	switch (verb) {
	case VERB_STOP:
	case VERB_DESTROY:
	case VERB_SNAPSHOT:
	case VERB_ROTATE: return CONTROL_FOREVER;
	default:
		return timeout > INT_MAX - ASK_TIMEOUT_MS ? CONTROL_FOREVER
							  : (int)timeout + ASK_TIMEOUT_MS;
	}
}

/* ---- output ---- */

static void sessions_print_output(
		const char *sentence, const char *name, struct json_object *answer)
{
	const char *output = ask_text(answer, "output");
	char quoted[4096];

	if (*output)
		message_note("session %s %s: side view %s", name, sentence,
				format_quoted(output, quoted, sizeof(quoted)));
}

static void sessions_print_changed(const char *name, const char *what, struct json_object *answer)
{
	if (json_object_object_get_ex(answer, "changed", NULL) && !ask_flag(answer, "changed"))
		message_note("session %s: nothing to change", name);
	else
		message_note("session %s %s", name, what);
}

static void sessions_report_losses(struct json_object *answer)
{
	struct json_object *losses = ask_list(answer, "losses");

	for (size_t i = 0; losses && i < json_object_array_length(losses); i++) {
		struct json_object *loss = json_object_array_get_idx(losses, i);
		char process[256], event[512], count[FORMAT_NUMBER_MAX];

		fprintf(stderr, "  %s%s%s  %s  %s (%s)\n",
				format_printable(ask_text(loss, "process"), process,
						sizeof(process)),
				*ask_text(loss, "ring") ? "/" : "", ask_text(loss, "ring"),
				*ask_text(loss, "event") ? format_printable(ask_text(loss, "event"),
									   event, sizeof(event))
							 : "events with unknown names",
				ask_flag(loss, "in_bytes")
						? format_size(ask_number(loss, "count"), count)
						: format_number(ask_number(loss, "count"), count),
				ask_text(loss, "reason"));
	}
}

/*
 * A loss is no note, so --quiet does not suppress it. For a running session, and for processes that
 * ended long ago, only the traces contain the reasons.
 */
static void sessions_report_lost(struct json_object *answer)
{
	struct json_object *list = ask_list(answer, "losses");
	struct lost_sums losses = {.verb = LOST_OF_SESSION};

	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *loss = json_object_array_get_idx(list, i);

		if (!ask_flag(loss, "in_bytes"))
			lost_add(&losses, ask_text(loss, "reason"), ask_number(loss, "count"));
	}
	lost_end(&losses, ask_number(answer, "lost"));
	lost_print(&losses);
}

/*
 * Prints the number of snapshots, which contain the events of a flight recorder while its programs
 * run.
 */
static void sessions_print_snapshots(struct json_object *answer)
{
	const uint64_t snapshots = ask_number(answer, "snapshots");
	char number[FORMAT_NUMBER_MAX], events[FORMAT_NUMBER_MAX];

	if (snapshots)
		message_note("%s snapshot%s %s%s", format_number(snapshots, number),
				snapshots == 1 ? " has" : "s have",
				format_events(ask_number(answer, "snapshot-recorded"), events),
				snapshots == 1 ? "" : " in all");
}

/* Prints the statistics so far: the session may be started again. */
static void sessions_report_stopped(const char *name, struct json_object *answer)
{
	char events[FORMAT_NUMBER_MAX], size[FORMAT_NUMBER_MAX];

	ask_print_messages(answer);
	sessions_print_output("is stopped; see it with", name, answer);
	if (!json_object_object_get_ex(answer, "recorded", NULL))
		return;
	if (!ask_number(answer, "snapshots") || ask_number(answer, "recorded"))
		message_note("it has recorded %s, %s",
				format_events(ask_number(answer, "recorded"), events),
				format_size(ask_number(answer, "bytes"), size));
	sessions_print_snapshots(answer);
	sessions_report_lost(answer);
}

/*
 * Counts the processes with events, as `side report` does. The daemon lists recent processes, and
 * only counts the others.
 */
static uint64_t sessions_count_recorded(struct json_object *answer)
{
	struct json_object *processes = ask_list(answer, "processes");
	uint64_t count = ask_number(answer, "seen");

	for (size_t i = 0; processes && i < json_object_array_length(processes) && count; i++) {
		struct json_object *process = json_object_array_get_idx(processes, i);

		count -= json_object_object_get_ex(process, "recorded", NULL) &&
				!ask_number(process, "recorded") && !ask_number(process, "lost");
	}
	return count;
}

static void sessions_print_destroyed(const char *name, struct json_object *answer)
{
	/* Includes processes that ended earlier. */
	uint64_t seen = sessions_count_recorded(answer);
	char size[FORMAT_NUMBER_MAX], events[FORMAT_NUMBER_MAX], number[FORMAT_NUMBER_MAX],
			quoted[4096];

	ask_print_messages(answer);
	if (!seen)
		message_note("session %s is destroyed; it recorded nothing", name);
	else if (access(ask_text(answer, "output"), F_OK) && errno == ENOENT)
		message_note("session %s is destroyed; it recorded %s from %s %s, %s", name,
				format_events(ask_number(answer, "recorded"), events),
				format_number(seen, number), seen == 1 ? "process" : "processes",
				format_size(ask_number(answer, "bytes"), size));
	else
		message_note("session %s is destroyed; it recorded %s from %s %s, %s, in %s", name,
				format_events(ask_number(answer, "recorded"), events),
				format_number(seen, number), seen == 1 ? "process" : "processes",
				format_size(ask_number(answer, "bytes"), size),
				format_quoted(ask_text(answer, "output"), quoted, sizeof(quoted)));
	sessions_report_lost(answer);
	if (ask_number(answer, "lost") && !output_is_silent())
		sessions_report_losses(answer);
}

/* Prints what was delivered. Returns 0 or an exit status. */
static int sessions_print_sent(struct json_object *answer)
{
	struct json_object *sending = NULL;
	char packets[FORMAT_NUMBER_MAX], bytes[FORMAT_NUMBER_MAX], text[4200];

	if (!json_object_object_get_ex(answer, "sending", &sending))
		return COMMAND_DONE;
	message_note("delivered %s packet%s, %s, to %s",
			format_number(ask_number(sending, "packets"), packets),
			ask_number(sending, "packets") == 1 ? "" : "s",
			format_size(ask_number(sending, "bytes"), bytes),
			format_printable(ask_text(sending, "to"), text, sizeof(text)));
	if (ask_number(sending, "dropped-packets"))
		fprintf(stderr, "%s lost %s event%s in %s packet%s: the receiver did not answer, and the spool was full\n",
				message_label(true),
				format_number(ask_number(sending, "dropped-events"), bytes),
				ask_number(sending, "dropped-events") == 1 ? "" : "s",
				format_number(ask_number(sending, "dropped-packets"), packets),
				ask_number(sending, "dropped-packets") == 1 ? "" : "s");
	if (!ask_flag(sending, "failed"))
		return COMMAND_DONE;
	return message_error(COMMAND_FAILED, NULL,
			"not everything was delivered: the recorded data is in %s",
			format_printable(ask_text(answer, "output"), text, sizeof(text)));
}

static void sessions_print_enabled(
		const struct parsed *parsed, const char *name, struct json_object *answer)
{
	char what[256] = "records all events from now on";
	bool some = parsed->operand_count > 0;

	if (some)
		snprintf(what, sizeof(what), "records %.128s%s from now on", parsed->operands[0],
				parsed->operand_count > 1 ? " and others" : "");
	sessions_print_changed(name, what, answer);
}

/* Prints the absolute path: the daemon's path may be relative to the output of the session. */
static void sessions_print_path(struct json_object *answer)
{
	const char *path = ask_text(answer, "path"), *output = ask_text(answer, "output");

	if (*path == '/' || !*output)
		puts(path);
	else
		printf("%s%s%s\n", output, *path ? "/" : "", path);
}

/*
 * Prints a note if the process does not exist, because that is a mistake: unlike a name or a user,
 * a process ID cannot be known in advance.
 */
static void sessions_note_missing_process(const char *text, const char *name)
{
	unsigned long pid;
	char path[64];

	errno = 0;
	pid = strtoul(text, NULL, 10);
	snprintf(path, sizeof(path), "/proc/%lu", pid);
	if (errno || !pid || access(path, F_OK))
		message_note_hint("`side track --name NAME` selects programs that start later",
				"session %s: there is no process %.32s", name, text);
}

static void sessions_note_missing_processes(const struct option_uses *uses, const char *name)
{
	if (access("/proc/self", F_OK))
		return;
	for (size_t i = 0; i < uses->count; i++) {
		char *list, *next, *item;

		if (strcmp(uses->items[i].option->name, "pid") != 0)
			continue;
		list = next = strdup(uses->items[i].text);
		while ((item = strsep(&next, ",")))
			if (*item)
				sessions_note_missing_process(item, name);
		free(list);
	}
}

/*
 * Prints the path only if the snapshot has events, because a directory without a trace cannot be
 * opened. The messages name programs whose events are missing.
 */
static void sessions_print_snapshot(const char *name, struct json_object *answer)
{
	ask_print_messages(answer);
	if (ask_flag(answer, "empty"))
		message_note("session %s: the snapshot is empty: no event is in the buffers of its programs",
				name);
	else
		sessions_print_path(answer);
}

/* A snapshot is complete without the states of programs that are stopped. */
static void sessions_print_missing_states(struct json_object *answer)
{
	struct json_object *pending = ask_list(answer, "pending");

	for (size_t i = 0; pending && i < json_object_array_length(pending); i++) {
		struct json_object *process = json_object_array_get_idx(pending, i);

		message_note("the snapshot has no state dump of %s (process %" PRIu64 "): %s",
				ask_text(process, "name"), ask_number(process, "pid"),
				ask_text(process, "why"));
	}
}

static void sessions_print_recording(const char *name, struct json_object *answer)
{
	sessions_print_output("records; view it with", name, answer);
	if (json_object_object_get_ex(answer, "programs", NULL) && !ask_number(answer, "programs"))
		message_note_hint(
				"programs that started before the daemon join with `side attach --daemon -p PID`",
				"session %s: no running program has joined", name);
}

static void sessions_print_done(
		const struct parsed *parsed, const char *name, struct json_object *answer)
{
	switch (parsed->verb->id) {
	case VERB_CREATE:
		message_note_hint("add events with `side enable-event`, then `side start` it",
				"created session %s", name);
		break;
	case VERB_START: sessions_print_recording(name, answer); break;
	case VERB_STOP: sessions_report_stopped(name, answer); break;
	case VERB_DESTROY: sessions_print_destroyed(name, answer); break;
	case VERB_ENABLE_EVENT: sessions_print_enabled(parsed, name, answer); break;
	case VERB_DISABLE_EVENT:
		sessions_print_changed(name, "no longer records these events", answer);
		break;
	case VERB_ENABLE_CHANNEL:
		sessions_print_changed(name, "now has this channel", answer);
		break;
	case VERB_DISABLE_CHANNEL:
		sessions_print_changed(name, "no longer records into this channel", answer);
		break;
	case VERB_ADD_CONTEXT:
		sessions_print_changed(name, "records these contexts from now on", answer);
		break;
	case VERB_TRACK:
		sessions_print_changed(name, "applies the new tracking rules from now on", answer);
		sessions_note_missing_processes(&parsed->options.control.asked, name);
		break;
	case VERB_UNTRACK:
		sessions_print_changed(name, "applies the new tracking rules from now on", answer);
		break;
	case VERB_STATEDUMP:
		message_note("requested a state dump from the programs of session %s", name);
		break;
	case VERB_CLEAR: message_note("deleted what session %s had recorded", name); break;
	case VERB_SNAPSHOT: sessions_print_snapshot(name, answer); break;
	case VERB_ROTATE: sessions_print_path(answer); break;
	default: break;
	}
}

/* The exit status of sending. With --json the answer contains the details. */
static int sessions_sent_status(const struct parsed *parsed, struct json_object *answer)
{
	struct json_object *sending = NULL;

	if (!parsed->common.json)
		return sessions_print_sent(answer);
	return json_object_object_get_ex(answer, "sending", &sending) && ask_flag(sending, "failed")
			? COMMAND_FAILED
			: COMMAND_DONE;
}

/* ---- one session ---- */

/* Kernel events need side-kernel. */
static int sessions_prepare(struct ask *ask, const struct parsed *parsed, const char *name,
		struct json_object *request)
{
	switch (parsed->verb->id) {
	case VERB_ENABLE_EVENT:
		return parsed->options.control.kernel ? kernel_session_prepare(ask, parsed, request)
						      : COMMAND_DONE;
	case VERB_START: (void)kernel_session_ensure(ask, name); return COMMAND_DONE;
	case VERB_ROTATE:
	case VERB_SNAPSHOT: kernel_session_drain(ask); return COMMAND_DONE;
	default: return COMMAND_DONE;
	}
}

static void sessions_refresh_kernel(struct ask *ask, const struct parsed *parsed)
{
	if ((parsed->verb->id == VERB_ENABLE_EVENT || parsed->verb->id == VERB_DISABLE_EVENT) &&
			parsed->options.control.kernel)
		(void)kernel_session_refresh(ask);
}

static bool sessions_has_filter(const struct option_uses *uses)
{
	for (size_t i = 0; i < uses->count; i++)
		if (!strcmp(uses->items[i].option->name, "filter"))
			return true;
	return false;
}

/* The events of a wrapper are in no other library, so they are explained without programs, too. */
static bool sessions_names_wrapper(const struct parsed *parsed)
{
	for (int i = 0; i < parsed->operand_count; i++)
		if (strstr(parsed->operands[i], "libc:") || strstr(parsed->operands[i], "pthread:"))
			return parsed->verb->id == VERB_ENABLE_EVENT;
	return false;
}

/* Notes patterns and filters that fit no event of the connected programs, and wrappers. */
static void sessions_explain_events(const struct parsed *parsed, struct json_object *answer)
{
	const struct control_options *options = &parsed->options.control;

	if (parsed->verb->id == VERB_START && parsed->args && !output_is_silent() &&
			ask_number(answer, "programs"))
		more_explain(parsed->args);
	if (parsed->verb->id != VERB_ENABLE_EVENT && parsed->verb->id != VERB_DISABLE_EVENT)
		return;
	if (options->kernel || !parsed->args || output_is_silent() ||
			(!ask_number(answer, "programs") && !sessions_names_wrapper(parsed)))
		return;
	if (parsed->operand_count || options->loglevel || options->loglevel_only ||
			sessions_has_filter(&options->asked))
		more_explain(parsed->args);
}

static int sessions_request_one(struct ask *ask, const struct parsed *parsed, const char *name)
{
	struct json_object *request, *answer;
	int status = session_request(parsed, name, &request), wait;

	if (status)
		return status;
	wait = sessions_get_timeout(parsed->verb->id, request);
	status = sessions_prepare(ask, parsed, name, request);
	if (status) {
		json_object_put(request);
		return status;
	}
	status = ask_call(ask, request, wait, &answer);
	if (status)
		return status;
	sessions_refresh_kernel(ask, parsed);
	if (!name)
		name = ask_text(answer, "session");
	if (parsed->verb->id == VERB_CREATE)
		current_try_write(ask, name);
	if (parsed->verb->id == VERB_DESTROY)
		current_forget(ask, name, !parsed->options.control.all);
	if (parsed->common.json)
		status = ask_print_json(parsed->verb->name, answer);
	else
		sessions_print_done(parsed, name, answer);
	sessions_explain_events(parsed, answer);
	if (parsed->verb->id == VERB_DESTROY && !status)
		status = sessions_sent_status(parsed, answer);
	if (parsed->verb->id == VERB_SNAPSHOT)
		sessions_print_missing_states(answer);
	else if (ask_pending(answer) && !status)
		status = COMMAND_PENDING;
	json_object_put(answer);
	return status;
}

/* Selects the session, after a check that it exists. */
static int sessions_set_current(struct ask *ask, const struct parsed *parsed)
{
	struct json_object *answer;
	int status = ask_call(ask, control_request("status", parsed->operands[0]), ASK_TIMEOUT_MS,
			&answer);

	json_object_put(answer);
	if (!status)
		status = current_write(ask, parsed->operands[0]);
	if (!status && parsed->common.json)
		printf("{\"schema\":%d,\"type\":\"set-session\",\"session\":\"%s\"}\n",
				OUTPUT_JSON_SCHEMA, parsed->operands[0]);
	else if (!status)
		message_note("session %s is the current one", parsed->operands[0]);
	return status;
}

/* ---- several sessions ---- */

static int sessions_destroy_all(struct ask *ask, const struct parsed *parsed)
{
	struct json_object *answer, *sessions;
	int worst = ask_call(ask, control_request("status", NULL), ASK_TIMEOUT_MS, &answer);
	size_t count;

	if (worst)
		return worst;
	sessions = ask_list(answer, "sessions");
	count = sessions ? json_object_array_length(sessions) : 0;
	if (!count)
		message_note("there are no sessions");
	for (size_t i = 0; i < count; i++) {
		int status = sessions_request_one(ask, parsed,
				ask_text(json_object_array_get_idx(sessions, i), "name"));

		worst = status > worst ? status : worst;
	}
	json_object_put(answer);
	return worst;
}

static int sessions_destroy(struct ask *ask, const struct parsed *parsed)
{
	const struct control_options *options = &parsed->options.control;
	char buffer[ASK_NAME_MAX];
	const char *name;
	int worst = COMMAND_DONE;

	if (options->all && (parsed->operand_count || options->session))
		return message_error(COMMAND_USAGE, "leave one of them out",
				"cannot use `--all` with the name of a session");
	if (options->all)
		return sessions_destroy_all(ask, parsed);
	if (parsed->operand_count > 1 && options->session)
		return message_error(COMMAND_USAGE, "leave one of them out",
				"cannot use `--session` with the name of another session");
	if (parsed->operand_count < 2) {
		worst = ask_which(ask, parsed->operands[0], options->session, buffer, &name);
		return worst ? worst : sessions_request_one(ask, parsed, name);
	}
	for (int i = 0; i < parsed->operand_count; i++) {
		int status = sessions_request_one(ask, parsed, parsed->operands[i]);

		worst = status > worst ? status : worst;
	}
	return worst;
}

static int sessions_request(struct ask *ask, const struct parsed *parsed)
{
	const struct control_options *options = &parsed->options.control;
	char buffer[ASK_NAME_MAX];
	const char *name;
	int status;

	if (parsed->verb->id == VERB_SET_SESSION)
		return sessions_set_current(ask, parsed);
	if (parsed->verb->id == VERB_DESTROY)
		return sessions_destroy(ask, parsed);
	/* Without a name, the daemon chooses one. */
	if (parsed->verb->id == VERB_CREATE)
		return sessions_request_one(ask, parsed, parsed->operands[0]);
	status = ask_which(ask, session_request_nr_names(parsed) ? parsed->operands[0] : NULL,
			options->session, buffer, &name);
	return status ? status : sessions_request_one(ask, parsed, name);
}

/* Reports errors of the command line before a daemon is started for it. */
static int sessions_check_options(const struct parsed *parsed)
{
	struct json_object *request;
	int status = session_request(parsed, "x", &request);

	if (!status)
		json_object_put(request);
	return status;
}

int cmd_session(const struct parsed *parsed)
{
	const struct control_options *options = &parsed->options.control;
	struct ask ask;
	int status = sessions_check_options(parsed), printed;

	if (!status)
		status = ask_connect(&ask, options->system, options->no_daemon);
	if (status)
		return status;
	status = sessions_request(&ask, parsed);
	ask_close(&ask);
	printed = output_flush(stdout);
	return status ? status : printed;
}

/* The name of lttng, with the object to regenerate as operand. */
int cmd_regenerate(const struct parsed *parsed)
{
	const char *what = parsed->operands[0];
	struct parsed statedump = *parsed;

	if (!strcmp(what, "metadata"))
		return message_error(COMMAND_USAGE, NULL,
				"not needed: the metadata of a trace is complete at any time, and the clock is measured again when a trace ends");
	if (strcmp(what, "statedump") != 0)
		return command_unknown_word(parsed->verb, what,
				(const char *const[]){"statedump", "metadata", NULL},
				"did you mean `side regenerate statedump`?");
	statedump.verb = command_find_verb("statedump");
	statedump.operands++;
	statedump.operand_count--;
	return cmd_session(&statedump);
}
