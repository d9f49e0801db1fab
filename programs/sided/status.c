/* SPDX-License-Identifier: MIT */
/*
 * Answers status, list and top. Only the process of a session has its statistics: a query asks the
 * processes of the selected sessions, and is answered when all have answered, or after a timeout
 * with the answers received so far.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sided.h"

#define QUERY_MS 3000

/*
 * The query of one client. It ends when all processes have answered, even if the client is closed
 * by then.
 */
struct query {
	struct sided_object object;
	struct client *client; /* a reference */
	struct daemon *daemon;
	struct json_object *sessions;
	bool for_top;       /* of a subscription: no request waits for the answer */
	bool whole;         /* one session was selected, or the answer is for top */
	bool is_answered;   /* later answers of sessions are ignored */
	bool is_incomplete; /* out of memory: the client gets an error */
	unsigned int left;
	struct timer timer;
};

/* One session in a query. */
struct status_query {
	struct sided_object object;
	struct query *query;       /* a reference */
	struct json_object *about; /* its object in query->sessions */
};

static void query_destroy(struct daemon *daemon, struct sided_object *object)
{
	struct query *query = container_of(object, struct query, object);

	json_object_put(query->sessions);
	ref_set(daemon, query->client, NULL);
	free(query);
}

static void question_destroy(struct daemon *daemon, struct sided_object *object)
{
	struct status_query *question = container_of(object, struct status_query, object);

	json_object_put(question->about);
	ref_set(daemon, question->query, NULL);
	free(question);
}

static bool sided_status_add_state(struct json_object *about, const struct session_entry *entry)
{
	return json_put_text(about, "name", entry->definition->name) &&
			json_put_text(about, "state", session_state_word(entry)) &&
			(!entry->output || json_put_text(about, "output", entry->output)) &&
			json_put_number(about, "generation", entry->generation) &&
			json_put_number(about, "uid", entry->uid) &&
			json_put_number(about, "restarts", worker_restarts(entry)) &&
			json_put_number(about, "missed-starts", entry->nr_unrecorded) &&
			json_put_number(about, "other-releases", entry->nr_foreign) &&
			json_put_number(about, "recorder", (uint64_t)worker_pid(entry)) &&
			json_put_number(about, "channels", entry->definition->nr_channels) &&
			(!entry->error || json_put_text(about, "error", entry->error));
}

/* Adds the session to the list `sessions`. Returns NULL if out of memory. */
static struct json_object *sided_status_describe_session(
		struct json_object *sessions, const struct session_entry *entry, bool whole)
{
	struct json_object *about = json_object_new_object();

	if (sided_status_add_state(about, entry) &&
			(!whole ||
					json_put(about, "definition",
							definition_json(entry->definition))) &&
			sessions && !json_object_array_add(sessions, about))
		return about;
	json_object_put(about);
	return NULL;
}

static bool sided_status_add_time(struct json_object *answer)
{
	return json_put_number(answer, "time", clock_realtime_ns());
}

static bool put_sessions(struct json_object *answer, struct json_object *sessions)
{
	return json_put_flag(answer, "ok", true) &&
			json_put(answer, "sessions", json_object_get(sessions));
}

/* Adds members about the whole daemon. */
static bool put_programs(struct json_object *answer, const struct query *query)
{
	uid_t scope = peer_scope(query->daemon, &query->client->peer);
	struct json_object *closed = rendezvous_closed_json(query->daemon);

	/* "closed-doors" is the former name, until the next release. */
	return json_put(answer, "closed-rendezvous", closed) &&
			json_put(answer, "closed-doors", json_object_get(closed)) &&
			json_put_number(answer, "programs", programs_count(query->daemon, scope));
}

/* Returns NULL if out of memory. */
static struct json_object *sided_status_make_answer(const struct query *query)
{
	struct json_object *answer = json_object_new_object();

	if (!query->is_incomplete && put_sessions(answer, query->sessions) &&
			(query->for_top ? sided_status_add_time(answer)
					: put_programs(answer, query)))
		return answer;
	json_object_put(answer);
	return NULL;
}

static void next_time(struct daemon *daemon, struct timer *timer);

static void query_answer(struct query *query)
{
	struct client *client = query->client;
	struct json_object *answer;

	if (query->is_answered || client->object.is_closed)
		return;
	query->is_answered = true;
	answer = sided_status_make_answer(query);
	if (!query->for_top) {
		client_answer(query->daemon, client, answer);
		return;
	}
	client->is_asking = false;
	if (client_send(query->daemon, client, answer))
		loop_timer(query->daemon, &client->interval_timer, client->interval_ms, next_time);
	json_object_put(answer);
}

static void query_late(struct daemon *daemon, struct timer *timer)
{
	(void)daemon;
	query_answer(container_of(timer, struct query, timer));
}

static void query_less(struct query *query)
{
	if (--query->left)
		return;
	loop_cancel(query->daemon, &query->timer);
	query_answer(query);
	object_close(query->daemon, &query->object);
}

/* Adds why the probe could not be set in the library that was loaded last. */
static bool sided_status_add_load(const struct daemon *daemon, const struct session_entry *entry,
		struct json_object *json)
{
	struct json_object *table = NULL;
	const struct definition *definition = entry->definition;
	const char *why = NULL;

	if (!json_object_object_get_ex(json, "library", NULL) ||
			!json_object_object_get_ex(json, "table", &table))
		return true;
	for (size_t i = 0; i < definition->nr_probes; i++)
		if (definition->probes[i].table == (uint32_t)json_object_get_int64(table))
			why = pending_load_failure(daemon, entry, &definition->probes[i]);
	return !why || json_put_text(json, "why", why);
}

/*
 * Adds to each probe of a file what happened when it was executed: why the probe could not be
 * resolved, and whether programs were attached to.
 */
static bool sided_status_add_execs(struct daemon *daemon, const struct session_entry *entry,
		struct json_object *answer)
{
	struct json_object *probes, *exe;
	size_t nr, i;

	if (!json_object_object_get_ex(answer, "probes", &probes) ||
			!json_object_is_type(probes, json_type_array))
		return true;
	nr = json_object_array_length(probes);
	for (i = 0; i < nr; i++) {
		struct json_object *probe = json_object_array_get_idx(probes, i);
		const char *file, *why;

		if (!sided_status_add_load(daemon, entry, probe))
			return false;
		if (!json_object_object_get_ex(probe, "exe", &exe))
			continue;
		file = json_object_get_string(exe);
		why = pending_failure(daemon, entry, file);
		if ((why && !json_put_text(probe, "why", why)) ||
				!json_put(probe, "exec", exec_attach_json(daemon, entry, file)))
			return false;
	}
	return true;
}

static void sided_status_merge_statistics(struct daemon *daemon, struct session_entry *entry,
		struct sided_object *user, struct json_object *answer, const struct error *error)
{
	const struct status_query *question = container_of(user, struct status_query, object);
	struct query *query = question->query;

	if (error) {
		/* Report the error instead of the statistics. */
		if (!json_put_text(question->about, "error", error->text))
			query->is_incomplete = true;
	} else {
		/* The short form has no probes. */
		if (query->whole)
			query->is_incomplete |= !sided_status_add_execs(daemon, entry, answer);
		json_object_object_foreach(answer, name, value)
		{
			bool is_long = json_object_is_type(value, json_type_array);

			/* The short form has sums, but no lists. */
			if (strcmp(name, "ok") != 0 && (query->whole || !is_long) &&
					!json_put(question->about, name, json_object_get(value)))
				query->is_incomplete = true;
		}
	}
	query_less(query);
}

static void ask_session(struct query *query, struct session_entry *entry)
{
	struct json_object *about = sided_status_describe_session(
					   query->sessions, entry, query->whole),
			   *request;
	struct status_query *question = NULL;

	if (!about)
		query->is_incomplete = true;
	if (!about || !worker_is_ready(entry))
		return;
	question = calloc(1, sizeof(*question));
	request = json_object_new_object();
	if (!question || !json_put_text(request, "verb", "status")) {
		query->is_incomplete = true;
		free(question);
		json_object_put(request);
		return;
	}
	*question = (struct status_query){.about = json_object_get(about)};
	object_init(&question->object, question_destroy);
	ref_set(query->daemon, question->query, query);
	query->left++;
	worker_ask(query->daemon, entry, request, 30000, sided_status_merge_statistics,
			&question->object);
	/* From here on, worker_ask() holds the reference. */
	object_put(query->daemon, &question->object);
}

static void query_begin(
		struct daemon *daemon, struct client *client, const char *session, bool for_top)
{
	struct query *query = calloc(1, sizeof(*query));
	struct session_entry *entry, *next;
	struct error error;

	if (!query && for_top) {
		loop_timer(daemon, &client->interval_timer, client->interval_ms, next_time);
		return;
	}
	if (!query) {
		error_set_no_memory(&error);
		client_fail(daemon, client, &error);
		return;
	}
	*query = (struct query){.daemon = daemon,
			.sessions = json_object_new_array(),
			.for_top = for_top,
			.whole = session || for_top,
			.left = 1};
	object_init(&query->object, query_destroy);
	ref_set(daemon, query->client, client);
	query->timer.owner = &query->object;
	client->is_asking |= for_top;
	loop_timer(daemon, &query->timer, QUERY_MS, query_late);
	for (entry = daemon->sessions; entry; entry = next) {
		next = entry->next;
		if (session_permits(daemon, &client->peer, entry) &&
				(!session || !strcmp(session, entry->definition->name)))
			ask_session(query, entry);
	}
	query_less(query);
}

void status_begin(struct daemon *daemon, struct client *client, const char *session)
{
	query_begin(daemon, client, session, false);
}

void status_list(struct daemon *daemon, struct client *client, const char *session)
{
	struct json_object *sessions = json_object_new_array(), *answer = json_object_new_object();
	struct session_entry *entry;
	bool is_whole = sessions;

	for (entry = daemon->sessions; entry && is_whole; entry = entry->next)
		if (session_permits(daemon, &client->peer, entry) &&
				(!session || !strcmp(session, entry->definition->name)))
			is_whole = sided_status_describe_session(sessions, entry, session);
	is_whole = is_whole && put_sessions(answer, sessions) &&
			(session ||
					json_put(answer, "processes",
							programs_json(daemon,
									peer_scope(daemon,
											&client->peer))));
	json_object_put(sessions);
	if (!is_whole) {
		json_object_put(answer);
		answer = NULL;
	}
	client_answer(daemon, client, answer);
}

/* ---- top ---- */

static void next_time(struct daemon *daemon, struct timer *timer)
{
	struct client *client = container_of(timer, struct client, interval_timer);

	if (client->top_session && !session_find(daemon, client->top_session)) {
		client_close(daemon, client);
		return;
	}
	/* Send no update to a client that has not read the last one. */
	if (client->out.first)
		loop_timer(daemon, &client->interval_timer, client->interval_ms, next_time);
	else
		query_begin(daemon, client, client->top_session, true);
}

void status_top(struct daemon *daemon, struct client *client, const char *session,
		uint64_t interval_ns)
{
	struct json_object *answer = json_object_new_object();
	char *name = session ? strdup(session) : NULL;

	if (!json_put_flag(answer, "ok", true) || (session && !name)) {
		json_object_put(answer);
		free(name);
		client_answer(daemon, client, NULL);
		return;
	}
	free(client->top_session);
	client->top_session = name;
	client->interval_ms = (interval_ns + 999999) / 1000000;
	client->subscribed = true;
	if (!client->is_asking)
		loop_timer(daemon, &client->interval_timer, 0, next_time);
	client_answer(daemon, client, answer);
}
