/* SPDX-License-Identifier: MIT */
/*
 * Handles the requests of the command line: checks the members of each verb, and calls the function
 * for it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sessions/definition-change.h"
#include "sided.h"

#define OF_EVERY_REQUEST "version", "verb", "session"
#define PROTOCOL_VERSION 1

struct request {
	struct daemon *daemon;
	struct client *client;
	struct json_object *json;
	const char *verb;
	const char *session;
	struct error error;
};

/*
 * Sends an answer with "ok". `is_whole`: the answer has all of its members; otherwise the client
 * gets an error. Returns the result of client_answer().
 */
static int answer_ok(struct request *request, struct json_object *answer, bool is_whole)
{
	if (!is_whole || !json_put_flag(answer, "ok", true)) {
		json_object_put(answer);
		answer = NULL;
	}
	return client_answer(request->daemon, request->client, answer);
}

/* ---- sessions ---- */

/* Fails if the session belongs to another user of the group. */
static int check_permitted(struct request *request, const struct session_entry *entry)
{
	if (session_permits(request->daemon, &request->client->peer, entry))
		return 0;
	return error_set_kind(&request->error, ERROR_PERMISSION, -EPERM,
			"`side create NAME` creates your own session",
			"the session %s belongs to user %u", entry->definition->name,
			(unsigned int)entry->uid);
}

/*
 * A member of the group can name only a new directory directly in the daemon's directory: nothing
 * that exists, and nothing in the directory of another session.
 */
static int check_output(struct request *request, const struct definition *definition)
{
	const char *output = definition->output, *base = request->daemon->output;
	size_t size;

	if (!output || !request->daemon->system || !request->client->peer.uid)
		return 0;
	if (!base)
		base = "/var/lib/side";
	size = strlen(base);
	if (!strncmp(output, base, size) && output[size] == '/' && output[size + 1] &&
			output[size + 1] != '.' && !strchr(output + size + 1, '/'))
		return 0;
	return error_set_kind(&request->error, ERROR_PERMISSION, -EPERM, "leave --output out",
			"cannot write traces to %s: the system's daemon writes those of user %u to new directories in %s only",
			output, (unsigned int)request->client->peer.uid, base);
}

/* Leaves some sessions for root, and for other members. */
static int check_number(struct request *request)
{
	const struct session_entry *entry = request->daemon->sessions;
	uid_t uid = request->client->peer.uid;
	unsigned int own = 0, of_members = 0;

	if (!request->daemon->system || !uid)
		return 0;
	for (; entry; entry = entry->next) {
		own += entry->uid == uid;
		of_members += entry->uid != 0;
	}
	if (own < LIMIT_SESSIONS_OF_USER && of_members < LIMIT_SESSIONS_OF_MEMBERS)
		return 0;
	return error_set_kind(&request->error, ERROR_BUSY, -EBUSY, "`side destroy NAME`",
			"cannot create a session: user %u has %u of at most %d, all members of the group %u of at most %d",
			(unsigned int)uid, own, LIMIT_SESSIONS_OF_USER, of_members,
			LIMIT_SESSIONS_OF_MEMBERS);
}

static int sided_verb_add_session(struct request *request, struct definition *definition)
{
	struct session_entry *entry = NULL;
	struct json_object *answer;
	int ret = check_output(request, definition);

	if (!ret)
		ret = check_number(request);
	if (!ret)
		ret = definition_check(definition, &request->error);
	if (!ret)
		ret = session_add(request->daemon, definition, &entry, &request->error);
	if (ret) {
		definition_free(definition);
		return ret;
	}
	if (request->daemon->system) {
		entry->uid = request->client->peer.uid;
		entry->gid = request->client->peer.gid;
	}
	session_save(request->daemon, entry);
	answer = json_object_new_object();
	/*
	 * The client does not know that this session exists: remove it, so that the client can
	 * create it again.
	 */
	if (answer_ok(request, answer, json_put_text(answer, "session", entry->definition->name)))
		session_remove(request->daemon, entry);
	return 0;
}

static int need_name(struct request *request)
{
	if (request->session)
		return 0;
	return error_set_kind(&request->error, ERROR_USAGE, -EINVAL, NULL,
			"the request has no \"session\"");
}

static int take_create(struct request *request)
{
	char name[SESSION_DATED_NAME_SIZE];
	struct definition *definition = NULL;
	bool changed;
	int ret;

	if (!request->session)
		session_dated_name(request->daemon, name);
	ret = definition_create(
			request->session ? request->session : name, &definition, &request->error);
	if (ret)
		return ret;
	ret = definition_change(
			definition, "create", request->json, false, &changed, &request->error);
	if (ret) {
		definition_free(definition);
		return ret;
	}
	return sided_verb_add_session(request, definition);
}

static int rename_definition(struct request *request, struct definition *definition)
{
	char *name;

	if (!request->session)
		return 0;
	if (!definition_is_name(request->session))
		return error_set_kind(&request->error, ERROR_USAGE, -EINVAL, NULL,
				"\"%.80s\" is not a valid name of a session", request->session);
	name = strdup(request->session);
	if (!name)
		return error_set_no_memory(&request->error);
	free(definition->name);
	definition->name = name;
	return 0;
}

/* A loaded definition contains no tables: the user must enable its probes again. */
static void forget_tables(struct definition *definition)
{
	size_t i;

	for (i = 0; i < definition->nr_probes; i++)
		definition->probes[i].table = 0;
	definition->last_table = 0;
}

static int sided_verb_load_session(struct request *request)
{
	static const char *const members[] = {OF_EVERY_REQUEST, "definition", "force", NULL};
	struct definition *definition = NULL;
	struct session_entry *entry = NULL;
	struct json_object *json;
	bool force = false;
	int ret = json_only(request->json, members, "this request", &request->error);

	if (!ret)
		ret = json_flag(request->json, "force", &force, &request->error);
	if (!ret && !json_object_object_get_ex(request->json, "definition", &json))
		ret = error_set_kind(&request->error, ERROR_USAGE, -EINVAL, NULL,
				"the request has no \"definition\"");
	if (!ret)
		ret = definition_parse(json, &definition, &request->error);
	if (ret)
		return ret;
	forget_tables(definition);
	ret = rename_definition(request, definition);
	if (ret) {
		definition_free(definition);
		return ret;
	}
	entry = session_find(request->daemon, definition->name);
	/* A session that was never started contains no data that could be lost. */
	if (entry && force && session_permits(request->daemon, &request->client->peer, entry) &&
			entry->state == SESSION_DEFINED && !entry->operation)
		session_remove(request->daemon, entry);
	return sided_verb_add_session(request, definition);
}

static int take_save(struct request *request)
{
	static const char *const members[] = {OF_EVERY_REQUEST, NULL};
	struct json_object *answer, *list;
	struct session_entry *entry = NULL;
	bool is_whole;
	int ret = json_only(request->json, members, "this request", &request->error);

	if (ret)
		return ret;
	entry = request->session ? session_find(request->daemon, request->session) : NULL;
	if (request->session && !entry)
		return error_set_kind(&request->error, ERROR_NOT_FOUND, -ENOENT,
				"`side list` lists the sessions", "there is no session %.80s",
				request->session);
	if (entry && check_permitted(request, entry))
		return -EPERM;
	answer = json_object_new_object();
	list = json_object_new_array();
	is_whole = list;
	for (entry = request->daemon->sessions; entry && is_whole; entry = entry->next) {
		struct json_object *definition;

		if ((request->session && strcmp(request->session, entry->definition->name) != 0) ||
				!session_permits(request->daemon, &request->client->peer, entry))
			continue;
		definition = definition_json(entry->definition);
		is_whole = definition && !json_object_array_add(list, definition);
		if (!is_whole)
			json_object_put(definition);
	}
	is_whole = json_put(answer, "definitions", list) && is_whole;
	answer_ok(request, answer, is_whole);
	return 0;
}

/* ---- operations ---- */

static int take_operation(struct request *request)
{
	static const char *const members[] = {OF_EVERY_REQUEST, "timeout", NULL};
	struct session_entry *entry = NULL;
	int ret = need_name(request);

	/* Other verbs check their members when they change the definition. */
	if (!ret && !definition_is_change(request->verb))
		ret = json_only(request->json, members, "this request", &request->error);
	if (ret)
		return ret;
	entry = session_find(request->daemon, request->session);
	if (!entry)
		return error_set_kind(&request->error, ERROR_NOT_FOUND, -ENOENT,
				"`side list` lists the sessions; `side create` creates one",
				"there is no session %.80s", request->session);
	ret = check_permitted(request, entry);
	if (ret)
		return ret;
	operation_begin(request->daemon, request->client, entry, request->verb, request->json);
	return 0;
}

/* ---- status ---- */

static int take_ping(struct request *request)
{
	static const char *const members[] = {"version", "verb", NULL};
	struct json_object *answer;
	int ret = json_only(request->json, members, "this request", &request->error);

	if (ret)
		return ret;
	answer = json_object_new_object();
	answer_ok(request, answer,
			json_put_text(answer, "version", SIDE_VERSION) &&
					json_put_number(answer, "pid", (uint64_t)getpid()) &&
					json_put_flag(answer, "system", request->daemon->system));
	return 0;
}

/* ---- rendezvous sockets ---- */

/*
 * The daemon of root can read every process, but a client may get information only about processes
 * of its own user.
 */
static int sided_verb_check_process(struct request *request, uint64_t pid)
{
	const struct peer *peer = &request->client->peer;
	char path[32];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/%u", (unsigned int)pid);
	if (stat(path, &status))
		return error_set_kind(&request->error, ERROR_NOT_FOUND, -ESRCH, NULL,
				"there is no process %u", (unsigned int)pid);
	if (!peer->uid || status.st_uid == peer->uid || request->daemon->uid == peer->uid)
		return 0;
	return error_set_kind(&request->error, ERROR_PERMISSION, -EPERM, "be root",
			"the process %u belongs to another user", (unsigned int)pid);
}

static int sided_verb_add_rendezvous(
		struct request *request, uint64_t pid, uint64_t started, const char *path)
{
	int fd = frame_take_fd(&request->client->in), ret;

	if (fd < 0)
		return error_set_kind(&request->error, ERROR_USAGE, -EINVAL, NULL,
				"a rendezvous socket is missing in the request");
	ret = rendezvous_add(
			request->daemon, request->client->peer.uid, (pid_t)pid, started, path, fd);
	if (!ret)
		return 0;
	return error_set_kind(&request->error, ERROR_FAILED, ret, NULL,
			"the daemon cannot use the rendezvous socket %s of process %u: %s", path,
			(unsigned int)pid, strerror(-ret));
}

/*
 * Returns whether there is a rendezvous socket for the view of this process. A request with a path
 * contains a descriptor, which becomes such a socket.
 */
static int sided_verb_take_rendezvous(struct request *request)
{
	static const char *const members[] = {"version", "verb", "pid", "path", NULL};
	const char *path = NULL;
	struct json_object *answer;
	uint64_t pid = 0, started;
	int ret = json_only(request->json, members, "this request", &request->error);

	if (!ret)
		ret = json_number(request->json, "pid", INT32_MAX, &pid, &request->error);
	if (!ret)
		ret = json_text(request->json, "path", &path, &request->error);
	if (ret)
		return ret;
	/*
	 * Read it before the check: data that is read later must be of the process that was
	 * checked.
	 */
	started = session_process_start((pid_t)pid);
	ret = sided_verb_check_process(request, pid);
	if (!ret && path)
		ret = sided_verb_add_rendezvous(request, pid, started, path);
	if (ret)
		return ret;
	answer = json_object_new_object();
	answer_ok(request, answer,
			json_put_text(answer, "path",
					rendezvous_of_process(request->daemon, (pid_t)pid)) &&
					json_put_flag(answer, "known",
							program_is_reachable(request->daemon,
									(pid_t)pid)));
	return 0;
}

static int check_looking(struct request *request)
{
	static const char *const members[] = {OF_EVERY_REQUEST, "interval", NULL};
	const struct session_entry *entry;
	int ret = json_only(request->json, members, "this request", &request->error);

	if (ret || !request->session)
		return ret;
	entry = session_find(request->daemon, request->session);
	if (entry)
		return check_permitted(request, entry);
	return error_set_kind(&request->error, ERROR_NOT_FOUND, -ENOENT,
			"`side list` lists the sessions", "there is no session %.80s",
			request->session);
}

static int sided_verb_answer_status(struct request *request)
{
	int ret = check_looking(request);

	if (!ret)
		status_begin(request->daemon, request->client, request->session);
	return ret;
}

static int sided_verb_answer_list(struct request *request)
{
	int ret = check_looking(request);

	if (!ret)
		status_list(request->daemon, request->client, request->session);
	return ret;
}

static int take_top(struct request *request)
{
	uint64_t interval = 1000000000;
	int ret = check_looking(request);

	if (!ret)
		ret = json_number(request->json, "interval", 3600000000000ull, &interval,
				&request->error);
	if (ret)
		return ret;
	if (interval < 10000000)
		return error_set_kind(&request->error, ERROR_USAGE, -EINVAL, NULL,
				"an interval must be 10ms or longer");
	status_top(request->daemon, request->client, request->session, interval);
	return 0;
}

static const struct verb {
	const char *name;
	int (*take)(struct request *request);
} verbs[] = {
		{"ping", take_ping},
		{"rendezvous", sided_verb_take_rendezvous},
		{"door", sided_verb_take_rendezvous}, /* the former name, until the next release */
		{"create", take_create},
		{"load", sided_verb_load_session},
		{"save", take_save},
		{"status", sided_verb_answer_status},
		{"list", sided_verb_answer_list},
		{"top", take_top},
		{"start", take_operation},
		{"stop", take_operation},
		{"destroy", take_operation},
		{"statedump", take_operation},
		{"rotate", take_operation},
		{"clear", take_operation},
		{"snapshot", take_operation},
		{"enable-event", take_operation},
		{"disable-event", take_operation},
		{"enable-probe", take_operation},
		{"disable-probe", take_operation},
		{"enable-channel", take_operation},
		{"disable-channel", take_operation},
		{"add-context", take_operation},
		{"track", take_operation},
		{"untrack", take_operation},
};

static int sided_verb_parse_request(struct request *request)
{
	uint64_t version = 0;
	size_t i;
	int ret = json_number(request->json, "version", UINT32_MAX, &version, &request->error);

	if (!ret)
		ret = json_text(request->json, "verb", &request->verb, &request->error);
	if (!ret)
		ret = json_text(request->json, "session", &request->session, &request->error);
	if (ret)
		return ret;
	if (version != PROTOCOL_VERSION)
		return error_set_kind(&request->error, ERROR_USAGE, -EPROTONOSUPPORT,
				"use the `side` that came with this daemon",
				"this daemon has version %d of the protocol, and the request version %llu",
				PROTOCOL_VERSION, (unsigned long long)version);
	for (i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (request->verb && !strcmp(verbs[i].name, request->verb))
			return verbs[i].take(request);
	return error_set_kind(&request->error, ERROR_USAGE, -EINVAL, NULL, "unknown verb \"%.60s\"",
			request->verb ? request->verb : "");
}

void verb_take(struct daemon *daemon, struct client *client, struct json_object *json)
{
	struct request request = {.daemon = daemon, .client = client, .json = json};

	if (sided_verb_parse_request(&request))
		client_fail(daemon, client, &request.error);
}
