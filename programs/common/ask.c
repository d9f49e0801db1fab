/* SPDX-License-Identifier: MIT */
/*
 * Requests to the daemon: connection, answers, and programs that have not switched to the new rules
 * yet.
 */
#include "ask.h"

#include "command.h"
#include "message.h"

#include "sessions/json.h"
#include "sessions/text.h"
#include "base/nearest/nearest.h"

#include "protocol/runtime.h"

#include <dirent.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define SILENT_TIMEOUT_MS 2000
#define MESSAGES_PRINTED 10

/* ---- the connection ---- */

/*
 * True if the socket is outside this user's own runtime directory: it belongs to the system's
 * daemon.
 */
static bool ask_is_elsewhere(const struct control_client *client)
{
	char own[PATH_MAX];

	return wire_runtime_path(own, sizeof(own), false, WIRE_RUNTIME_CONTROL) ||
			strcmp(own, control_path(client)) != 0;
}

static void ask_print_started(struct ask *ask)
{
	struct json_object *request = control_request("ping", NULL), *answer = NULL;
	struct error error;

	if (!request || control_call(ask->client, request, ASK_TIMEOUT_MS, &answer, &error))
		message_note("started the daemon sided, which records sessions; it does not find programs that started before it");
	else
		message_note("started the daemon sided (process %" PRIu64
			     "), which records sessions; it does not find programs that started before it",
				ask_number(answer, "pid"));
	json_object_put(answer);
	json_object_put(request);
}

/* A killed daemon leaves the definitions of its sessions in files, which the next daemon reads. */
bool ask_kept_sessions(bool system, char *names, size_t size)
{
	static const char suffix[] = ".json";
	char path[PATH_MAX];
	struct dirent *file;
	size_t used = 0;
	DIR *list = wire_runtime_path(path, sizeof(path), system, WIRE_RUNTIME_STATE)
			? NULL
			: opendir(path);

	*names = 0;
	while (list && (file = readdir(list))) {
		size_t length = strlen(file->d_name);

		if (length < sizeof(suffix) ||
				strcmp(file->d_name + length - sizeof(suffix) + 1, suffix) != 0 ||
				used + length + 4 > size)
			continue;
		used += (size_t)snprintf(names + used, size - used, "%s%.*s", used ? ", " : "",
				(int)(length - sizeof(suffix) + 1), file->d_name);
	}
	if (list)
		closedir(list);
	return used;
}

int ask_connect_only(struct ask *ask, bool system)
{
	char kept[1024], shown[2048], hint[2200];
	struct error error = {.kind = ERROR_NONE};

	if (!ask_connect_silently(ask, system, &error))
		return COMMAND_DONE;
	if (error.kind != ERROR_NOT_FOUND || !ask_kept_sessions(system, kept, sizeof(kept)))
		return message_library_error(&error);
	snprintf(hint, sizeof(hint), "%s starts it and restores its sessions: %s",
			system ? "`systemctl start sided`" : "`side daemon`",
			format_printable(kept, shown, sizeof(shown)));
	return message_error(COMMAND_FAILED, hint, "%s", error.text);
}

int ask_connect(struct ask *ask, bool system, bool no_daemon)
{
	enum control_where where = system ? CONTROL_SYSTEM : CONTROL_ANY;
	struct error error = {.kind = ERROR_NONE};
	int ret;

	*ask = (struct ask){.no_daemon = no_daemon};
	ret = control_connect(where, false, &ask->client, &error);
	if (ret && error.kind == ERROR_NOT_FOUND && !no_daemon && !system) {
		ret = control_connect(CONTROL_USER, true, &ask->client, &error);
		if (!ret)
			ask_print_started(ask);
	}
	if (ret) {
		ask->client = NULL;
		return message_library_error(&error);
	}
	ask->system = ask_is_elsewhere(ask->client);
	return COMMAND_DONE;
}

int ask_connect_silently(struct ask *ask, bool system, struct error *error)
{
	struct error ignored;

	*ask = (struct ask){.no_daemon = true};
	if (control_connect(system ? CONTROL_SYSTEM : CONTROL_ANY, false, &ask->client,
			    error ? error : &ignored)) {
		ask->client = NULL;
		return COMMAND_FAILED;
	}
	ask->system = ask_is_elsewhere(ask->client);
	return COMMAND_DONE;
}

void ask_close(struct ask *ask)
{
	if (ask->client)
		control_close(ask->client);
	ask->client = NULL;
}

static bool is_request_cut_off;

void ask_add(struct json_object *request, const char *name, struct json_object *value)
{
	if (value && !json_object_object_add(request, name, value))
		return;
	is_request_cut_off = true;
	json_object_put(value);
}

bool ask_is_cut_off(void)
{
	return is_request_cut_off;
}

int ask_call(struct ask *ask, struct json_object *request, int timeout_ms,
		struct json_object **ret_answer)
{
	return ask_call_with(ask, request, -1, timeout_ms, ret_answer);
}

/* ---- "did you mean" ---- */

static void ask_offer_members(struct nearest *nearest, struct json_object *list, const char *member)
{
	for (size_t i = 0; list && i < json_object_array_length(list); i++)
		nearest_offer(nearest, ask_text(json_object_array_get_idx(list, i), member));
}

/* The channels of the first session of an answer to `status`. */
static struct json_object *ask_find_channels(struct json_object *answer)
{
	struct json_object *sessions = ask_list(answer, "sessions"), *definition = NULL;

	if (!sessions || !json_object_array_length(sessions) ||
			!json_object_object_get_ex(json_object_array_get_idx(sessions, 0),
					"definition", &definition))
		return NULL;
	return ask_list(definition, "channels");
}

/* Puts the nearest session or channel into the hint of an error that reports an unknown one. */
static void ask_suggest_nearest(struct ask *ask, struct json_object *request, struct error *error)
{
	const bool is_session = !strncmp(error->text, "there is no session ", 20);
	const bool is_channel = strstr(error->text, " has no channel ") != NULL;
	const char *name = ask_text(request, is_session ? "session" : "channel");
	struct json_object *query, *answer = NULL;
	struct error ignored;
	struct nearest nearest;

	if (error->kind != ERROR_NOT_FOUND || (!is_session && !is_channel) || !*name)
		return;
	query = is_session ? control_request("list", NULL)
			   : control_request("status", ask_text(request, "session"));
	nearest_begin(&nearest, name);
	if (query && !control_call(ask->client, query, SILENT_TIMEOUT_MS, &answer, &ignored))
		ask_offer_members(&nearest,
				is_session ? ask_list(answer, "sessions")
					   : ask_find_channels(answer),
				is_session ? "name" : "channel");
	if (nearest.count)
		nearest_text(&nearest, is_session ? "" : "--channel ", error->hint,
				sizeof(error->hint));
	json_object_put(answer);
	json_object_put(query);
}

int ask_call_with(struct ask *ask, struct json_object *request, int fd, int timeout_ms,
		struct json_object **ret_answer)
{
	struct error error = {.kind = ERROR_NONE};
	int ret;

	*ret_answer = NULL;
	if (!request || is_request_cut_off) {
		is_request_cut_off = false;
		json_object_put(request);
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	}
	ret = control_call_with(ask->client, request, fd, timeout_ms, ret_answer, &error);
	if (ret)
		ask_suggest_nearest(ask, request, &error);
	json_object_put(request);
	return ret ? message_library_error(&error) : COMMAND_DONE;
}

/* ---- answers ---- */

const char *ask_renamed(struct json_object *object, const char *name, const char *former)
{
	return json_object_object_get_ex(object, name, NULL) ? name : former;
}

const char *ask_text(struct json_object *object, const char *name)
{
	struct json_object *member = NULL;
	const char *text;

	if (!json_object_object_get_ex(object, name, &member) || !member)
		return "";
	text = json_object_get_string(member);
	return text ? text : "";
}

uint64_t ask_number(struct json_object *object, const char *name)
{
	struct json_object *member = NULL;
	int64_t number;

	if (!json_object_object_get_ex(object, name, &member))
		return 0;
	number = json_object_get_int64(member);
	return number < 0 ? 0 : (uint64_t)number;
}

bool ask_flag(struct json_object *object, const char *name)
{
	struct json_object *member = NULL;

	return json_object_object_get_ex(object, name, &member) && json_object_get_boolean(member);
}

struct json_object *ask_list(struct json_object *object, const char *name)
{
	struct json_object *member = NULL;

	if (!json_object_object_get_ex(object, name, &member) ||
			!json_object_is_type(member, json_type_array))
		return NULL;
	return member;
}

static void ask_print_user_counts(struct json_object *session)
{
	struct json_object *users = ask_list(session, "messages-of-users");
	size_t count = users ? json_object_array_length(users) : 0;

	for (size_t i = 0; i < count; i++) {
		struct json_object *user = json_object_array_get_idx(users, i);
		uint64_t nr = ask_number(user, "count");
		char name[32] = "other users";

		if (json_object_object_get_ex(user, "uid", NULL))
			snprintf(name, sizeof(name), "user %" PRIu64, ask_number(user, "uid"));
		message_note("%" PRIu64
			     " more message%s about programs of %s: see the daemon's log",
				nr, nr == 1 ? "" : "s", name);
	}
}

void ask_print_messages(struct json_object *session)
{
	struct json_object *messages = ask_list(session, "messages");
	struct json_object *hints = ask_list(session, "message-hints");
	size_t count = messages ? json_object_array_length(messages) : 0;
	uint64_t more = ask_number(session, "messages-unkept");

	for (size_t i = 0; i < count && i < MESSAGES_PRINTED; i++) {
		const char *text = json_object_get_string(json_object_array_get_idx(messages, i));
		const char *hint = hints
				? json_object_get_string(json_object_array_get_idx(hints, i))
				: NULL;

		message_note_hint(hint, "%s", text ? text : "");
	}
	if (count > MESSAGES_PRINTED)
		more += count - MESSAGES_PRINTED;
	if (more)
		message_note_hint("`--json` prints the first 100", "%" PRIu64 " more message%s",
				more, more == 1 ? "" : "s");
	ask_print_user_counts(session);
}

void ask_add_text(struct json_object *request, const char *name, const char *text)
{
	struct json_object *list = ask_list(request, name), *value;

	if (!list) {
		ask_add(request, name, json_object_new_array());
		/* NULL if the array could not be added. */
		list = ask_list(request, name);
	}
	value = json_object_new_string(text);
	if (list && value && !json_object_array_add(list, value))
		return;
	json_object_put(value);
	is_request_cut_off = true;
}

int ask_pending(struct json_object *answer)
{
	struct json_object *pending = ask_list(answer, "pending"),
			   *unchanged = ask_list(answer, "unchanged");
	size_t count = pending ? json_object_array_length(pending) : 0;
	char hint[128];

	for (size_t i = 0; unchanged && i < json_object_array_length(unchanged); i++) {
		struct json_object *process = json_object_array_get_idx(unchanged, i);

		snprintf(hint, sizeof(hint),
				"run `side attach --daemon -p %" PRIu64
				"`: the program then makes the change",
				ask_number(process, "pid"));
		message_note_hint(hint, "%s (process %" PRIu64 ") is unchanged: %s",
				ask_text(process, "name"), ask_number(process, "pid"),
				ask_text(process, "why"));
	}
	for (size_t i = 0; i < count; i++) {
		struct json_object *process = json_object_array_get_idx(pending, i);

		message_error(COMMAND_PENDING, "it makes the change when it continues",
				"%s (process %" PRIu64 ") has not made the change yet: %s",
				ask_text(process, "name"), ask_number(process, "pid"),
				ask_text(process, "why"));
	}
	return count ? COMMAND_PENDING : COMMAND_DONE;
}

int ask_print_json(const char *type, struct json_object *answer)
{
	struct json_object *line = json_object_new_object();
	bool is_whole = json_put(line, "schema", json_object_new_int(OUTPUT_JSON_SCHEMA)) &&
			json_put_text(line, "type", type);
	struct control_text text = {.made = NULL};

	json_object_object_foreach(answer, name, value)
	{
		if (!strcmp(name, "ok") || !is_whole)
			continue;
		/* json_object_get() returns NULL for NULL: the member is then null. */
		is_whole = !json_object_object_add(line, name, json_object_get(value));
		if (!is_whole)
			json_object_put(value);
	}
	is_whole = is_whole && !control_text_print(line, JSON_C_TO_STRING_PLAIN, &text);
	if (is_whole)
		puts(text.text);
	control_text_free(&text);
	json_object_put(line);
	return is_whole ? COMMAND_DONE : message_error(COMMAND_FAILED, NULL, "out of memory");
}
