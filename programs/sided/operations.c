/* SPDX-License-Identifier: MIT */
/*
 * An operation is a request that takes time. A verb uses some of these steps:
 *
 *     QUEUED     waits for another operation of the session
 *     RECORDER   waits for the session's process; then writes state file and serial
 *     PROGRAMS   waits until every program has sent DONE for that serial, or for the timeout
 *     LAST       sends the process a second request: to flush, to close
 *     LEAVING    after the session was removed: waits until programs have left it
 *
 * A session has one operation at a time. If it has no step after PROGRAMS, the next operation
 * begins already at that step, so that a stopped program delays only the clients that wait for it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sessions/definition-change.h"
#include "sided.h"

#define TIMEOUT_STANDARD_NS 5000000000ull
/*
 * A program that has not confirmed a change after this time is late; later changes then wait for it
 * only LATE_MS.
 */
#define LATE_AFTER_MS 5000
#define LATE_MS 300
#define TIMEOUT_MAX_NS 86400000000000ull
/* A snapshot with the states of most programs is worth more than a late one with all. */
#define LIMIT_STATE_MS 1000
#define RECORDER_MS 30000
#define FLUSH_MS 60000
#define CLOSE_MS 3600000
/*
 * More than the maximum number of programs: while they are counted, no confirmation completes the
 * count.
 */
#define COUNTING ((int64_t)1 << 40)

enum operation_step { STEP_QUEUED, STEP_RECORDER, STEP_PROGRAMS, STEP_LAST, STEP_LEAVING };

/* The steps of a verb for a session that has been started. */
struct verb_flow {
	const char *name;
	const char *ask; /* request to the session's process */
	const char *last;
	unsigned int ask_ms, last_ms;
	bool pokes;   /* programs must be notified */
	bool changes; /* changes the definition */
};

static const struct verb_flow flows[] = {
		{.name = "start", .ask = "change", .ask_ms = RECORDER_MS, .pokes = true},
		{.name = "stop",
				.ask = "change",
				.ask_ms = RECORDER_MS,
				.pokes = true,
				.last = "flush",
				.last_ms = FLUSH_MS},
		{.name = "statedump", .ask = "statedump", .ask_ms = RECORDER_MS, .pokes = true},
		{.name = "rotate", .ask = "rotate", .ask_ms = FLUSH_MS},
		{.name = "clear", .ask = "clear", .ask_ms = FLUSH_MS},
		/* The programs record their state between both requests. */
		{.name = "snapshot",
				.ask = "snapshot-begin",
				.ask_ms = FLUSH_MS,
				.pokes = true,
				.last = "snapshot",
				.last_ms = FLUSH_MS},
		/* A trigger has made the recorder begin a snapshot. */
		{.name = "snapshot-state",
				.ask = "statedump",
				.ask_ms = RECORDER_MS,
				.pokes = true,
				.last = "snapshot-finish",
				.last_ms = FLUSH_MS},
		{.name = "destroy",
				.ask = "change",
				.ask_ms = RECORDER_MS,
				.pokes = true,
				.last = "close",
				.last_ms = CLOSE_MS},
		{.name = "enable-probe",
				.ask = "change",
				.ask_ms = RECORDER_MS,
				.pokes = true,
				.changes = true,
				.last = "probes",
				.last_ms = RECORDER_MS},
};
static const struct verb_flow change_flow = {
		.name = "", .ask = "change", .ask_ms = RECORDER_MS, .pokes = true, .changes = true};

struct operation {
	struct sided_object object;
	struct operation *next;         /* in its session's queue */
	struct operation *next_waiting; /* in the list of operations that wait for programs */
	struct client *client;          /* a reference, or NULL; the client can be closed */
	struct session_entry *entry;    /* a reference; NULL: the session was removed */
	const struct verb_flow *flow;
	char *verb;
	struct json_object *request;
	struct definition *change; /* the new definition */
	bool active;               /* the new state */
	bool first;                /* this is the first start */
	bool changed;
	enum operation_step step;
	uint64_t timeout_ms;
	uint64_t serial;
	int64_t left; /* programs that have not confirmed yet */
	int64_t late; /* late programs among these */
	bool is_hurried;
	bool waits_for_exec; /* the helper does not watch its files yet; counted in `left` */
	struct timer timer;
	struct json_object *answer; /* of the session's process */
	struct json_object *pending, *unchanged;
	bool is_incomplete; /* out of memory: a member of the answer is missing */
	int table;          /* descriptor of the probe table in the request, or -1 */
	uint32_t number;    /* the number of that table */
	uid_t uid;          /* of the client */
	uid_t scope;        /* of the programs that the session records */
	gid_t gid;
};

static void operation_start(struct daemon *daemon, struct operation *operation);

static const struct verb_flow *find_flow(const char *verb)
{
	size_t i;

	for (i = 0; i < sizeof(flows) / sizeof(*flows); i++)
		if (!strcmp(flows[i].name, verb))
			return &flows[i];
	return &change_flow;
}

/* ---- the end ---- */

/* Lets the next operation of the session begin. */
static void release_session(struct daemon *daemon, struct operation *operation)
{
	struct session_entry *entry = operation->entry;
	struct operation *next;

	if (!entry || entry->operation != operation)
		return;
	next = entry->queue;
	ref_set(daemon, entry->operation, next);
	if (next) {
		entry->queue = next->next;
		next->next = NULL;
		operation_start(daemon, next);
	}
}

static void stop_waiting(struct daemon *daemon, struct operation *operation)
{
	struct operation **at = &daemon->waiting;

	loop_cancel(daemon, &operation->timer);
	while (*at && *at != operation)
		at = &(*at)->next_waiting;
	if (*at)
		*at = operation->next_waiting;
}

static void operation_destroy(struct daemon *daemon, struct sided_object *object)
{
	struct operation *operation = container_of(object, struct operation, object);

	ref_set(daemon, operation->client, NULL);
	ref_set(daemon, operation->entry, NULL);
	definition_free(operation->change);
	json_object_put(operation->request);
	json_object_put(operation->answer);
	json_object_put(operation->pending);
	json_object_put(operation->unchanged);
	free(operation->verb);
	handover_close(operation->table);
	free(operation);
}

static void operation_free(struct daemon *daemon, struct operation *operation)
{
	stop_waiting(daemon, operation);
	object_close(daemon, &operation->object);
}

static void operation_set_error(
		struct daemon *daemon, struct operation *operation, const struct error *error)
{
	struct client *client = operation->client;

	if (!client)
		log_about(daemon, operation->uid, "a snapshot of a session has no state dump: %s",
				error->text);
	release_session(daemon, operation);
	operation_free(daemon, operation);
	if (client)
		client_fail(daemon, client, error);
}

/* Adds the members of the process's answer, except "ok". */
static bool operation_merge_answer(struct json_object *answer, struct json_object *from)
{
	if (!from)
		return true;
	json_object_object_foreach(from, name, value)
	{
		if (strcmp(name, "ok") != 0 && !json_put(answer, name, json_object_get(value)))
			return false;
	}
	return true;
}

/* For a probe of a file: whether programs are attached to when they execute it. */
static bool operation_put_exec(struct daemon *daemon, const struct operation *operation,
		struct json_object *answer)
{
	struct json_object *exe;

	return !operation->entry || strcmp(operation->verb, "enable-probe") != 0 ||
			!json_object_object_get_ex(operation->request, "exe", &exe) ||
			!json_object_is_type(exe, json_type_string) ||
			json_put(answer, "exec",
					exec_attach_json(daemon, operation->entry,
							json_object_get_string(exe)));
}

/* Returns NULL if out of memory. */
static struct json_object *operation_make_answer(
		struct daemon *daemon, const struct operation *operation)
{
	struct json_object *answer = json_object_new_object();
	const struct session_entry *entry = operation->entry;

	if (!operation->is_incomplete && json_put_flag(answer, "ok", true) &&
			operation_merge_answer(answer, operation->answer) &&
			(!operation->flow->pokes ||
					json_put_number(answer, "programs",
							programs_count(daemon,
									operation->scope))) &&
			json_put_flag(answer, "changed", operation->changed) &&
			operation_put_exec(daemon, operation, answer) &&
			(!entry ||
					(json_put_text(answer, "session",
							 entry->definition->name) &&
							json_put_number(answer, "generation",
									entry->generation))) &&
			(!entry || !entry->output ||
					json_put_text(answer, "output", entry->output)) &&
			json_put(answer, "pending",
					operation->pending ? json_object_get(operation->pending)
							   : json_object_new_array()) &&
			json_put(answer, "unchanged",
					operation->unchanged ? json_object_get(operation->unchanged)
							     : json_object_new_array()))
		return answer;
	json_object_put(answer);
	return NULL;
}

static void operation_finish(struct daemon *daemon, struct operation *operation)
{
	struct client *client = operation->client;
	struct json_object *answer = !client || client->object.is_closed
			? NULL
			: operation_make_answer(daemon, operation);

	release_session(daemon, operation);
	operation_free(daemon, operation);
	if (client)
		client_answer(daemon, client, answer);
}

/* ---- programs ---- */

static void programs_done(struct daemon *daemon, struct operation *operation);

static void out_of_time(struct daemon *daemon, struct timer *timer)
{
	struct operation *operation = container_of(timer, struct operation, timer);

	json_object_put(operation->pending);
	operation->pending = programs_pending(daemon, operation->serial, operation->scope);
	operation->is_incomplete |= !operation->pending;
	if (operation->left > 0 && !operation->is_hurried && operation->timeout_ms >= LATE_AFTER_MS)
		programs_be_late(daemon, operation->serial, operation->scope);
	programs_done(daemon, operation);
}

/* If only late programs have not confirmed, shortens the timeout. */
static void hurry(struct daemon *daemon, struct operation *operation, uint64_t timeout_ms)
{
	if (operation->is_hurried || operation->left > operation->late || timeout_ms <= LATE_MS)
		return;
	operation->is_hurried = true;
	loop_timer(daemon, &operation->timer, LATE_MS, out_of_time);
}

static void operation_notify_programs(struct daemon *daemon, struct operation *operation,
		enum operation_step step, uint64_t timeout_ms)
{
	size_t late = 0;

	operation->step = step;
	operation->serial = ++daemon->serial;
	runtime_publish(daemon);
	operation->left = COUNTING;
	operation->next_waiting = daemon->waiting;
	daemon->waiting = operation;
	operation->late = COUNTING;
	operation->is_hurried = false;
	operation->waits_for_exec = exec_attach_update(daemon);
	operation->left += operation->waits_for_exec;
	operation->left += (int64_t)programs_poke(daemon, operation->scope, &late) - COUNTING;
	operation->late += (int64_t)late - COUNTING;
	if (operation->left <= 0) {
		programs_done(daemon, operation);
		return;
	}
	loop_timer(daemon, &operation->timer, timeout_ms, out_of_time);
	hurry(daemon, operation, timeout_ms);
}

void operations_switched(struct daemon *daemon, const struct sided_program *program, uint64_t after,
		uint64_t until)
{
	struct operation *operation = daemon->waiting, *next;

	for (; operation; operation = next) {
		next = operation->next_waiting;
		if (operation->serial <= after || operation->serial > until ||
				!is_in_scope(operation->scope, program->uid))
			continue;
		operation->left--;
		operation->late -= program_is_late(program, operation->serial);
		/* Use a timer, because the caller's list must not change here. */
		if (!operation->left)
			loop_timer(daemon, &operation->timer, 0, out_of_time);
		else if (operation->left < COUNTING / 2)
			hurry(daemon, operation, operation->timeout_ms);
	}
}

void operations_exec_ready(struct daemon *daemon, uint64_t serial)
{
	for (struct operation *operation = daemon->waiting; operation;
			operation = operation->next_waiting) {
		if (!operation->waits_for_exec || operation->serial > serial)
			continue;
		operation->waits_for_exec = false;
		operation->left--;
		if (!operation->left)
			loop_timer(daemon, &operation->timer, 0, out_of_time);
		else
			hurry(daemon, operation, operation->timeout_ms);
	}
}

/* ---- the session's process ---- */

static void session_gone(struct daemon *daemon, struct operation *operation)
{
	struct session_entry *entry = operation->entry;

	if (!operation->answer)
		operation->answer = json_object_new_object();
	if ((entry->output && !json_put_text(operation->answer, "output", entry->output)) ||
			!json_put_text(operation->answer, "session", entry->definition->name))
		operation->is_incomplete = true;
	/*
	 * Remove the output directory if it existed only for sending; rmdir() fails if it is not
	 * empty.
	 */
	if (entry->output && definition_is_spooled(entry->definition))
		rmdir(entry->output);
	ref_set(daemon, operation->entry, NULL);
	ref_set(daemon, entry->operation, NULL);
	operation->changed = true;
	session_remove(daemon, entry);
	/* Programs that did not confirm the last change will not confirm this one. */
	operation_notify_programs(daemon, operation, STEP_LEAVING,
			operation->pending && json_object_array_length(operation->pending)
					? 0
					: operation->timeout_ms);
}

static void recorder_failed(
		struct daemon *daemon, struct operation *operation, const struct error *error)
{
	struct session_entry *entry = operation->entry;

	if (operation->first && entry->state == SESSION_STARTING) {
		entry->state = SESSION_DEFINED;
		entry->active = false;
	}
	/*
	 * A session that cannot start must not remain for ever: its state directory is left for
	 * `side recover`.
	 */
	if (!strcmp(operation->verb, "destroy") && entry->error) {
		log_about(daemon, entry->uid,
				"the session %s is destroyed without its recorder; unwritten data stays in %s",
				entry->definition->name, entry->state_dir);
		operation->changed = true;
		session_gone(daemon, operation);
		return;
	}
	operation_set_error(daemon, operation, error);
}

static void last_done(struct daemon *daemon, struct session_entry *entry, struct sided_object *user,
		struct json_object *answer, const struct error *error)
{
	struct operation *operation = container_of(user, struct operation, object);

	(void)entry;
	if (error) {
		recorder_failed(daemon, operation, error);
		return;
	}
	json_object_put(operation->answer);
	operation->answer = json_object_get(answer);
	if (strcmp(operation->verb, "destroy") != 0) {
		operation_finish(daemon, operation);
		return;
	}
	session_gone(daemon, operation);
}

static void ask_last(struct daemon *daemon, struct operation *operation)
{
	struct json_object *request = json_object_new_object();

	operation->step = STEP_LAST;
	if (!json_put_text(request, "verb", operation->flow->last) ||
			(operation->number &&
					!json_put_number(request, "table", operation->number))) {
		json_object_put(request);
		request = NULL;
	}
	worker_ask(daemon, operation->entry, request, operation->flow->last_ms, last_done,
			&operation->object);
}

static void programs_done(struct daemon *daemon, struct operation *operation)
{
	stop_waiting(daemon, operation);
	if (operation->step != STEP_LEAVING && operation->flow->last && operation->entry)
		ask_last(daemon, operation);
	else
		operation_finish(daemon, operation);
}

/* Stores the result of the process as the new state of the session. */
static void commit(struct daemon *daemon, struct operation *operation, struct json_object *answer)
{
	struct session_entry *entry = operation->entry;
	struct definition *old = entry->definition;
	struct error error;

	json_number(answer, "generation", UINT64_MAX, &entry->generation, &error);
	if (operation->change) {
		entry->definition = operation->change;
		operation->change = NULL;
		definition_free(old);
	}
	entry->active = operation->active;
	session_save(daemon, entry);
	tables_prune(daemon, entry);
}

static void recorder_done(struct daemon *daemon, struct session_entry *entry,
		struct sided_object *user, struct json_object *answer, const struct error *error)
{
	struct operation *operation = container_of(user, struct operation, object);
	uint64_t before = entry->generation;

	if (error) {
		recorder_failed(daemon, operation, error);
		return;
	}
	operation->answer = json_object_get(answer);
	commit(daemon, operation, answer);
	push_take(daemon, entry, before, answer);
	operation->changed = true;
	if (!operation->flow->pokes) {
		operation_finish(daemon, operation);
		return;
	}
	operation->unchanged = programs_unchanged(daemon, operation->scope);
	operation->is_incomplete |= !operation->unchanged;
	/*
	 * The remaining steps do not use the session: the next operation can begin, and the session
	 * can be removed.
	 */
	if (!operation->flow->last)
		release_session(daemon, operation);
	operation_notify_programs(daemon, operation, STEP_PROGRAMS, operation->timeout_ms);
}

static void ask_recorder(struct daemon *daemon, struct operation *operation, const char *verb)
{
	const struct session_entry *entry = operation->entry;
	struct json_object *request = json_object_new_object();
	const struct definition *definition =
			operation->change ? operation->change : entry->definition;

	operation->step = STEP_RECORDER;
	if (!json_put_text(request, "verb", verb) ||
			(!strcmp(verb, "change") &&
					(!json_put(request, "definition",
							 definition_json(definition)) ||
							!json_put_flag(request, "active",
									operation->active)))) {
		json_object_put(request);
		request = NULL;
	}
	worker_ask(daemon, operation->entry, request, operation->flow->ask_ms, recorder_done,
			&operation->object);
}

/* ---- start of an operation ---- */

static void begin_first(struct daemon *daemon, struct operation *operation)
{
	struct session_entry *entry = operation->entry;
	struct error error;

	if (session_settle(daemon, entry, &error)) {
		operation_set_error(daemon, operation, &error);
		return;
	}
	operation->first = true;
	entry->state = SESSION_STARTING;
	entry->active = operation->active = true;
	ask_recorder(daemon, operation, "hello");
}

/* Starts an operation on a session that was never started. */
static void begin_defined(struct daemon *daemon, struct operation *operation)
{
	struct session_entry *entry = operation->entry;
	struct error error;

	if (!strcmp(operation->verb, "start")) {
		begin_first(daemon, operation);
	} else if (operation->flow->changes) {
		commit(daemon, operation, operation->request);
		operation_finish(daemon, operation);
	} else if (!strcmp(operation->verb, "destroy")) {
		ref_set(daemon, operation->entry, NULL);
		ref_set(daemon, entry->operation, NULL);
		operation->changed = true;
		session_remove(daemon, entry);
		operation_finish(daemon, operation);
	} else {
		error_set_kind(&error, ERROR_USAGE, -EINVAL, "run `side start` first",
				"the session %s has not been started", entry->definition->name);
		operation_set_error(daemon, operation, &error);
	}
}

static int prepare_change(struct daemon *daemon, struct operation *operation, struct error *error)
{
	const struct session_entry *entry = operation->entry;
	int ret = definition_copy(entry->definition, &operation->change, error);
	bool is_pending;
	size_t i;

	if (!ret)
		ret = definition_change(operation->change, operation->verb, operation->request,
				entry->state != SESSION_DEFINED, &operation->changed, error);
	if (ret || !operation->change || strcmp(operation->verb, "enable-probe") != 0)
		return ret;
	/* A pending probe has no table. */
	is_pending = operation->change->last_table == entry->definition->last_table;
	operation->number = is_pending ? 0 : operation->change->last_table;
	/* The system's daemon probes only processes that the requester could probe without it. */
	for (i = 0; daemon->system && operation->uid && i < operation->change->nr_probes; i++) {
		struct definition_probe *probe = &operation->change->probes[i];

		/* The new probe is the last one. */
		if (i + 1 < operation->change->nr_probes)
			continue;
		probe->target.of_user = true;
		probe->target.access = (struct access){
				.uid = operation->uid, .has_gid = true, .gid = operation->gid};
	}
	return is_pending ? 0
			  : table_store(daemon, entry, operation->number, operation->table, error);
}

static void operation_start(struct daemon *daemon, struct operation *operation)
{
	struct session_entry *entry = operation->entry;
	struct error error;

	operation->active = entry->active;
	if (operation->flow->changes) {
		if (prepare_change(daemon, operation, &error)) {
			operation_set_error(daemon, operation, &error);
			return;
		}
		if (!operation->changed) {
			operation_finish(daemon, operation);
			return;
		}
	}
	if (!strcmp(operation->verb, "stop") || !strcmp(operation->verb, "destroy"))
		operation->active = false;
	if (entry->state == SESSION_DEFINED) {
		begin_defined(daemon, operation);
		return;
	}
	if (!strcmp(operation->verb, "start")) {
		operation->active = true;
		if (entry->active) {
			operation_finish(daemon, operation);
			return;
		}
	}
	/* A stopped session need not be stopped. */
	if (operation->flow->last && !operation->flow->changes && !entry->active)
		ask_last(daemon, operation);
	else
		ask_recorder(daemon, operation, operation->flow->ask);
}

static int operation_parse_timeout(struct operation *operation, struct error *error)
{
	uint64_t ns = TIMEOUT_STANDARD_NS;
	int ret = json_number(operation->request, "timeout", TIMEOUT_MAX_NS, &ns, error);

	operation->timeout_ms = (ns + 999999) / 1000000;
	if (!strcmp(operation->verb, "snapshot") && operation->timeout_ms > LIMIT_STATE_MS)
		operation->timeout_ms = LIMIT_STATE_MS;
	return ret;
}

/* A session has one operation at a time. */
static void operation_enqueue(
		struct daemon *daemon, struct session_entry *entry, struct operation *operation)
{
	struct operation **end = &entry->queue;

	if (!entry->operation) {
		ref_set(daemon, entry->operation, operation);
		operation_start(daemon, operation);
		return;
	}
	while (*end)
		end = &(*end)->next;
	*end = operation;
}

/* Returns NULL if out of memory. */
static struct operation *operation_new(
		struct daemon *daemon, struct session_entry *entry, const char *verb)
{
	struct operation *operation = calloc(1, sizeof(*operation));

	if (operation)
		operation->verb = strdup(verb);
	if (!operation || !operation->verb) {
		free(operation);
		return NULL;
	}
	object_init(&operation->object, operation_destroy);
	ref_set(daemon, operation->entry, entry);
	operation->timer.owner = &operation->object;
	operation->table = -1;
	operation->scope = session_scope(daemon, entry);
	operation->flow = find_flow(verb);
	return operation;
}

void operation_begin(struct daemon *daemon, struct client *client, struct session_entry *entry,
		const char *verb, struct json_object *request)
{
	struct operation *operation = operation_new(daemon, entry, verb);
	struct error error;

	if (!operation) {
		error_set_no_memory(&error);
		client_fail(daemon, client, &error);
		return;
	}
	ref_set(daemon, operation->client, client);
	operation->table = frame_take_fd(&client->in);
	operation->uid = client->peer.uid;
	operation->gid = client->peer.gid;
	operation->request = json_object_get(request);
	if (operation_parse_timeout(operation, &error)) {
		operation_free(daemon, operation);
		client_fail(daemon, client, &error);
		return;
	}
	operation_enqueue(daemon, entry, operation);
}

void operation_begin_state(struct daemon *daemon, struct session_entry *entry)
{
	struct operation *operation = operation_new(daemon, entry, "snapshot-state");

	/* The recorder finishes the snapshot without a state dump. */
	if (!operation)
		return;
	operation->uid = entry->uid;
	operation->gid = entry->gid;
	operation->timeout_ms = LIMIT_STATE_MS;
	operation_enqueue(daemon, entry, operation);
}

/* ---- removed sessions ---- */

static void forget_entry(
		struct daemon *daemon, struct session_entry *entry, struct operation *operation)
{
	for (; operation; operation = operation->next_waiting)
		if (operation->entry == entry)
			ref_set(daemon, operation->entry, NULL);
}

void operations_refuse(struct daemon *daemon, struct session_entry *entry)
{
	struct error error;

	forget_entry(daemon, entry, daemon->waiting);
	error_set_kind(&error, ERROR_NOT_FOUND, -ENOENT, NULL,
			"the session %s was destroyed meanwhile", entry->definition->name);
	while (entry->queue) {
		struct operation *operation = entry->queue;

		entry->queue = operation->next;
		ref_set(daemon, operation->entry, NULL);
		operation_set_error(daemon, operation, &error);
	}
	ref_set(daemon, entry->operation, NULL);
}

void operations_close(struct daemon *daemon)
{
	struct session_entry *entry;
	struct operation *operation;

	for (entry = daemon->sessions; entry; entry = entry->next) {
		if (entry->operation)
			operation_free(daemon, entry->operation);
		ref_set(daemon, entry->operation, NULL);
		while ((operation = entry->queue)) {
			entry->queue = operation->next;
			operation_free(daemon, operation);
		}
	}
	while (daemon->waiting)
		operation_free(daemon, daemon->waiting);
}
