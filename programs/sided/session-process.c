/* SPDX-License-Identifier: MIT */
/*
 * The process that records one session: `sided --session-process`, connected to the daemon by
 * descriptor 3. It handles one request after the other, and records meanwhile. If the daemon exits,
 * it exits at once and finishes nothing: the next daemon starts it again, and it adopts its state
 * directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "recorder/core/log-limits.h"
#include "recorder/core/live.h"
#include "sided.h"

#define DAEMON_FD 3
#define TURN_MS 500
#define FLUSH_MS 50000
#define ROTATE_TURN_MS 10
#define MESSAGES_MAX 100
#define MESSAGE_USERS 16

struct recording {
	struct session *session;
	struct probes *probes; /* session-probes.c */
	struct sided_loads *loads;
	struct frame_in in;
	struct frame_out out;
	struct event_loop loop;
	struct event_source session_source, daemon_source, sender_source;
	/* What the last wait found; the round handles it in its own order. */
	bool is_daemon_ready, is_sender_ready;
	bool end;
	struct definition_strings messages; /* about the session and programs of its owner */
	struct definition_strings hints;    /* the hint of each message; empty: none */
	/* messages beyond MESSAGES_MAX, which were not stored */
	uint64_t nr_unkept;
	/*
	 * Messages about programs of other users are only logged and counted. The last entry counts
	 * for all further users.
	 */
	struct {
		uid_t uid;
		uint64_t nr;
	} others[MESSAGE_USERS];
	uid_t owner;
	struct log_line_budget lines; /* limits of the log */
	int lock_fd;                  /* held until the process exits */
	struct sender *sender;        /* NULL: the trace is not sent */
};

/* ---- sources of the loop ---- */

/* Ends the wait: each round turns the session. */
static int session_process_session_ready(
		struct event_loop *loop, struct event_source *source, uint32_t events)
{
	(void)loop;
	(void)source;
	(void)events;
	return 0;
}

static int session_process_daemon_ready(
		struct event_loop *loop, struct event_source *source, uint32_t events)
{
	(void)loop;
	(void)events;
	container_of(source, struct recording, daemon_source)->is_daemon_ready = true;
	return 0;
}

static int session_process_sender_ready(
		struct event_loop *loop, struct event_source *source, uint32_t events)
{
	(void)loop;
	(void)events;
	container_of(source, struct recording, sender_source)->is_sender_ready = true;
	return 0;
}

/* ---- messages ---- */

/*
 * Reports how many messages of the session were suppressed. Messages about programs have limits of
 * their own in report.c.
 */
static void session_process_log_suppressed(struct recording *recording, uint64_t now)
{
	uint64_t suppressed;
	uid_t uid;

	while (lines_suppressed(&recording->lines, now, &uid, &suppressed))
		log_message("suppressed %llu messages of the session: too many within a minute",
				(unsigned long long)suppressed);
}

/* Prints a message on one line of the log (docs/adr/35-one-line-a-message-in-the-log.md). */
static void session_process_log(const char *text, const char *hint)
{
	log_message("%s%s%s", text, hint ? "; " : "", hint ? hint : "");
}

static void keep_message(struct recording *recording, const char *text, const char *hint)
{
	uint64_t now = clock_monotonic_ns();

	session_process_log_suppressed(recording, now);
	if (lines_take(&recording->lines, now, recording->owner, 0))
		session_process_log(text, hint);
	if (recording->messages.count < MESSAGES_MAX &&
			strings_add(&recording->hints, hint ? hint : "")) {
		if (strings_add(&recording->messages, text))
			return;
		/* Keep both arrays at the same length: message and hint have the same index. */
		free(recording->hints.items[--recording->hints.count]);
	}
	recording->nr_unkept++;
}

static void count_message(struct recording *recording, uid_t uid)
{
	size_t i = 0;

	while (i < MESSAGE_USERS - 1 && recording->others[i].nr && recording->others[i].uid != uid)
		i++;
	recording->others[i].uid = i < MESSAGE_USERS - 1 ? uid : LINES_OTHERS;
	recording->others[i].nr++;
}

static void take_sentence(void *user, const char *text)
{
	keep_message(user, text, NULL);
}

static void take_messages(struct recording *recording)
{
	struct session_message message;

	while (session_take_message(recording->session, &message)) {
		if (message.is_about_program && message.uid != recording->owner) {
			session_process_log(message.text, message.hint);
			count_message(recording, message.uid);
		} else {
			keep_message(recording, message.text, message.hint);
		}
		free(message.text);
	}
	session_process_log_suppressed(recording, clock_monotonic_ns());
}

/* ---- tracking ---- */

_Static_assert((int)DEFINITION_NR_TRACKS == (int)SESSION_TRACK_KINDS, "the same kinds");
_Static_assert((int)DEFINITION_TRACK_CONTAINER == (int)SESSION_TRACK_CONTAINER, "the same order");

/* Returns NULL if out of memory. The definition keeps the texts. */
static struct session_track *make_tracks(const struct definition *definition)
{
	struct session_track *tracks = calloc(definition->nr_tracks + 1, sizeof(*tracks));
	size_t i;

	for (i = 0; tracks && i < definition->nr_tracks; i++)
		tracks[i] = (struct session_track){
				.kind = (enum session_track_kind)definition->tracks[i].kind,
				.exclude = definition->tracks[i].exclude,
				.text = definition->tracks[i].text,
				.number = definition->tracks[i].number,
		};
	return tracks;
}

/* ---- open ---- */

struct session_process_options {
	const char *socket, *lock, *tables, *output, *state_dir;
	bool again, active, any_user, no_files, boot;
	bool owned; /* a member of the group owns it */
	struct session_owner owner;
	uint64_t generation;
	struct definition *definition;
};

/* Gets the owner of the traces: root owns no file of the session. */
static int read_owner(struct json_object *request, struct session_process_options *opening,
		struct error *error)
{
	uint64_t uid = 0, gid = 0;
	int ret = json_number(request, "uid", UINT32_MAX - 1, &uid, error);

	if (!ret)
		ret = json_number(request, "gid", UINT32_MAX - 1, &gid, error);
	opening->owned = uid;
	opening->owner = (struct session_owner){.uid = (uid_t)uid, .gid = (gid_t)gid};
	return ret;
}

static int read_opening(struct json_object *request, struct session_process_options *opening,
		struct error *error)
{
	const struct {
		const char *name;
		const char **text;
	} texts[] = {{"socket", &opening->socket}, {"lock", &opening->lock},
			{"tables", &opening->tables}, {"output", &opening->output},
			{"state-directory", &opening->state_dir}};
	struct json_object *definition;
	size_t i;
	int ret = 0;

	for (i = 0; i < sizeof(texts) / sizeof(*texts) && !ret; i++) {
		ret = json_text(request, texts[i].name, texts[i].text, error);
		if (!ret && !*texts[i].text)
			ret = error_set_kind(error, ERROR_FAILED, -EINVAL, NULL,
					"the request has no \"%s\"", texts[i].name);
	}
	if (!ret)
		ret = json_flag(request, "again", &opening->again, error);
	if (!ret)
		ret = json_flag(request, "active", &opening->active, error);
	if (!ret)
		ret = json_flag(request, "any-user", &opening->any_user, error);
	if (!ret)
		ret = json_flag(request, "no-files", &opening->no_files, error);
	if (!ret)
		ret = json_flag(request, "boot", &opening->boot, error);
	if (!ret)
		ret = json_number(request, "generation", UINT64_MAX, &opening->generation, error);
	if (!ret)
		ret = read_owner(request, opening, error);
	if (!ret && !json_object_object_get_ex(request, "definition", &definition))
		ret = error_set_kind(error, ERROR_FAILED, -EINVAL, NULL,
				"the request has no \"definition\"");
	return ret ? ret : definition_parse(definition, &opening->definition, error);
}

static int session_process_make_directory(const char *path, struct error *error)
{
	if (!mkdir(path, 0700) || errno == EEXIST)
		return 0;
	return error_set_kind(error,
			errno == EACCES || errno == EPERM || errno == EROFS ? ERROR_PERMISSION
									    : ERROR_FAILED,
			-errno, NULL, "cannot make the directory %s: %s", path, strerror(errno));
}

/*
 * Waits for the previous process, which may just be exiting: it holds the lock until all of its
 * threads have ended.
 */
static int session_process_acquire_lock(
		struct recording *recording, const char *path, struct error *error)
{
	recording->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (recording->lock_fd < 0 || flock(recording->lock_fd, LOCK_EX))
		return error_set_kind(error, ERROR_FAILED, -errno, NULL, "cannot lock %s: %s", path,
				strerror(errno));
	return 0;
}

static const struct session_owner *owner_of(const struct session_process_options *opening)
{
	return opening->owned ? &opening->owner : NULL;
}

/* The sender inherits the lock: the next process waits until both have exited. */
static int make_sender(struct recording *recording, const struct session_process_options *opening,
		struct error *error)
{
	const int closing[] = {DAEMON_FD, event_loop_fd(&recording->loop)};
	int ret;

	if (!opening->definition->to)
		return 0;
	ret = sender_make(opening->definition, opening->output, opening->no_files,
			owner_of(opening), closing, sizeof(closing) / sizeof(*closing),
			&recording->sender);
	if (!ret)
		ret = event_source_add(&recording->loop, &recording->sender_source,
				sender_fd(recording->sender), EPOLLIN,
				session_process_sender_ready);
	if (ret)
		return error_set_kind(error, ERROR_FAILED, ret, NULL, "cannot start a sender: %s",
				strerror(-ret));
	return 0;
}

/*
 * Creates the state directory of a session of a member of the group. The member owns it, because
 * the session writes there with the member's permissions. Its parent can be entered only by root,
 * because programs must not open files of rings.
 */
static int make_state_directory(const struct session_process_options *opening, struct error *error)
{
	struct stat status;
	int ret = session_process_make_directory(opening->state_dir, error);

	if (ret)
		return ret;
	if (lstat(opening->state_dir, &status) || !S_ISDIR(status.st_mode) ||
			lchown(opening->state_dir, opening->owner.uid, opening->owner.gid))
		return error_set_kind(error, ERROR_PERMISSION, -errno, NULL,
				"cannot give the directory %s to user %u", opening->state_dir,
				(unsigned int)opening->owner.uid);
	return 0;
}

/*
 * Whether the session needs what landlock hides: with it, the kernel says of each process that it
 * ended with status 0.
 */
static bool session_process_reads_others(const struct session_process_options *opening)
{
	const struct definition *definition = opening->definition;

	for (size_t i = 0; i < definition->triggers.count; i++)
		if (!strcmp(definition->triggers.items[i], "crash"))
			return true;
	return opening->boot;
}

/* Creates the directories first, because afterwards the process can write nowhere else. */
static int session_process_prepare(struct recording *recording,
		const struct session_process_options *opening, struct error *error)
{
	char parent[512], sockets[512];
	const char *writable[] = {opening->output, parent, sockets, NULL};
	int ret = session_process_acquire_lock(recording, opening->lock, error);

	snprintf(parent, sizeof(parent), "%s", opening->state_dir);
	*strrchr(parent, '/') = 0;
	snprintf(sockets, sizeof(sockets), "%s", opening->socket);
	*strrchr(sockets, '/') = 0;
	if (!ret)
		ret = session_process_make_directory(opening->output, error);
	if (!ret)
		ret = session_process_make_directory(parent, error);
	if (!ret && opening->owned)
		ret = make_state_directory(opening, error);
	if (!ret)
		ret = make_sender(recording, opening, error);
	if (ret)
		return ret;
	ret = isolate_session(session_process_reads_others(opening) ? NULL : writable,
			opening->boot, owner_of(opening));
	if (!ret)
		return 0;
	return error_set_kind(error, ERROR_FAILED, ret, NULL,
			"cannot permit the session to write its files: %s", strerror(-ret));
}

static int become_owner(void *user)
{
	const struct session_process_options *opening = user;

	return isolate_as(&opening->owner);
}

static int session_process_open(struct recording *recording,
		struct session_process_options *opening, struct error *error)
{
	struct session_track *tracks = make_tracks(opening->definition);
	struct definition_view view = {.channels = NULL};
	struct session_live live = {
			.socket = opening->socket,
			.state_dir = opening->state_dir,
			.settled = opening->owned ? become_owner : NULL,
			.user = opening,
			.owner = opening->owner.uid,
			.any_user = opening->any_user,
			.boot = opening->boot,
			.active = opening->active,
			.generation = opening->generation,
			.track = tracks,
			.nr_track = opening->definition->nr_tracks,
	};
	int ret;

	if (!tracks)
		return error_set_no_memory(error);
	ret = probes_open(opening->tables, opening->definition, &recording->probes, error);
	if (!ret)
		ret = definition_options(opening->definition, &view, error);
	if (!ret) {
		view.options.output = opening->output;
		view.options.probes = probes_list(recording->probes, &view.options.nr_probes);
		view.options.loads = loads_use(recording->loads, recording->probes);
		view.options.rounds = sender_rounds(recording->sender);
		view.options.force = opening->again;
		ret = session_open(&view.options, &live, &recording->session, error);
		definition_view_free(&view);
	}
	free(tracks);
	return ret;
}

static int session_process_watch_fds(struct recording *recording, struct error *error)
{
	int ret = event_source_add(&recording->loop, &recording->session_source,
			session_fd(recording->session), EPOLLIN, session_process_session_ready);

	return ret ? error_set_kind(error, ERROR_FAILED, ret, NULL, "cannot wait: %s",
				     strerror(-ret))
		   : 0;
}

static int put_generation(struct json_object *answer, uint64_t generation, struct error *error)
{
	return json_put_number(answer, "generation", generation) ? 0 : error_set_no_memory(error);
}

static int take_open(struct recording *recording, struct json_object *request,
		struct json_object *answer, struct error *error)
{
	struct session_process_options opening = {.socket = NULL};
	int ret = read_opening(request, &opening, error);

	recording->owner = opening.owned ? opening.owner.uid : geteuid();
	lines_init(&recording->lines, recording->owner, LIMIT_LINES_OF_SESSION, 0, 0);
	if (!ret)
		recording->loads = loads_new(&recording->out);
	if (!ret && !recording->loads)
		ret = error_set_no_memory(error);
	if (!ret)
		ret = session_process_prepare(recording, &opening, error);
	if (!ret)
		ret = session_process_open(recording, &opening, error);
	if (!ret)
		ret = session_process_watch_fds(recording, error);
	if (!ret)
		ret = put_generation(answer, session_generation(recording->session), error);
	/* The files of an earlier recorder are consistent now. */
	if (!ret && recording->sender)
		sender_go(recording->sender);
	definition_free(opening.definition);
	return ret;
}

/* ---- the other requests ---- */

static int session_process_apply_change(struct recording *recording, struct json_object *request,
		struct json_object *answer, struct error *error)
{
	struct definition *definition = NULL;
	struct session_track *tracks;
	struct definition_view view = {.channels = NULL};
	struct json_object *json;
	uint64_t generation = 0;
	bool active = false;
	int ret = json_flag(request, "active", &active, error);

	if (!ret && json_object_object_get_ex(request, "definition", &json))
		ret = definition_parse(json, &definition, error);
	if (ret || !definition)
		return ret ? ret : error_set_no_memory(error);
	tracks = make_tracks(definition);
	ret = tracks ? definition_options(definition, &view, error) : error_set_no_memory(error);
	if (!ret) {
		ret = probes_prepare(recording->probes, recording->session, definition, error);
		if (!ret)
			ret = session_change(recording->session, view.options.channels,
					view.options.nr_channels, active, tracks,
					definition->nr_tracks, &generation, error);
		probes_settle(recording->probes, !ret);
		definition_view_free(&view);
	}
	free(tracks);
	definition_free(definition);
	if (ret)
		return ret;
	push_put(recording->session, answer);
	return put_generation(answer, generation, error);
}

static int take_hello(struct recording *recording, struct json_object *request,
		struct json_object *answer, struct error *error)
{
	(void)request;
	return put_generation(answer, session_generation(recording->session), error);
}

/* Adds the state of the table that was just requested. */
static int session_process_apply_probes(struct recording *recording, struct json_object *request,
		struct json_object *answer, struct error *error)
{
	uint64_t table = 0;
	int ret = json_number(request, "table", UINT32_MAX, &table, error);

	if (ret)
		return ret;
	return json_put(answer, "probes",
			       probes_json(recording->probes, recording->session, (uint32_t)table))
			? 0
			: error_set_no_memory(error);
}

static int take_statedump(struct recording *recording, struct json_object *request,
		struct json_object *answer, struct error *error)
{
	(void)request;
	return put_generation(answer, session_statedump(recording->session), error);
}

static bool put_messages(const struct recording *recording, struct json_object *answer)
{
	struct json_object *list = json_object_new_array();
	bool fits = list;
	size_t i;

	for (i = 0; i < MESSAGE_USERS && recording->others[i].nr && fits; i++) {
		struct json_object *user = json_object_new_object();

		fits = (recording->others[i].uid == LINES_OTHERS ||
				       json_put_number(user, "uid", recording->others[i].uid)) &&
				json_put_number(user, "count", recording->others[i].nr) &&
				!json_object_array_add(list, user);
		if (!fits)
			json_object_put(user);
	}
	fits = json_put_strings(answer, "messages", &recording->messages) && fits &&
			json_put_strings(answer, "message-hints", &recording->hints) &&
			json_put_number(answer, "messages-unkept", recording->nr_unkept);
	return json_put(answer, "messages-of-users", list) && fits;
}

static int take_flush(struct recording *recording, struct json_object *request,
		struct json_object *answer, struct error *error)
{
	int ret = session_flush(recording->session, FLUSH_MS);

	(void)request;
	if (ret)
		keep_message(recording,
				"not all records were written to the disk in time: they are written later",
				NULL);
	return session_sums(recording->session, answer) && put_messages(recording, answer)
			? 0
			: error_set_no_memory(error);
}

static int session_process_check_snapshot(int ret, struct error *error)
{
	if (ret == -EINVAL)
		return error_set_kind(error, ERROR_USAGE, ret,
				"create one with `side enable-channel --mode overwrite`",
				"cannot take a snapshot: the session has no channel with `--mode overwrite`");
	if (ret)
		return error_set_kind(error, ERROR_FAILED, ret, NULL,
				"the snapshot is not complete yet: %s", strerror(-ret));
	return 0;
}

static int take_snapshot_begin(struct recording *recording, struct json_object *request,
		struct json_object *answer, struct error *error)
{
	uint64_t generation = 0;
	int ret = session_begin_snapshot(recording->session, FLUSH_MS, &generation);

	(void)request;
	ret = session_process_check_snapshot(ret, error);
	return ret ? ret : put_generation(answer, generation, error);
}

static int take_snapshot(struct recording *recording, struct json_object *request,
		struct json_object *answer, struct error *error)
{
	uint32_t number = 0;
	uint64_t recorded = 0;
	char name[SESSION_SNAPSHOT_NAME_MAX];
	int ret = session_snapshot(recording->session, FLUSH_MS, &number, name, &recorded);

	(void)request;
	ret = session_process_check_snapshot(ret, error);
	if (ret)
		return ret;
	ret = session_snapshot_error(recording->session);
	if (ret)
		return error_set_kind(error, ERROR_FAILED, ret, NULL,
				"cannot write the snapshot: %s", strerror(-ret));
	return json_put_text(answer, "path", name) &&
					json_put_number(answer, "snapshots", number) &&
					json_put_flag(answer, "empty", !recorded) &&
					put_messages(recording, answer)
			? 0
			: error_set_no_memory(error);
}

/* The second phase of a snapshot that a trigger has begun. */
static int take_snapshot_finish(struct recording *recording, struct json_object *request,
		struct json_object *answer, struct error *error)
{
	int ret = session_finish_snapshot(recording->session, FLUSH_MS);

	(void)request;
	(void)answer;
	return session_process_check_snapshot(ret, error);
}

static int await_rotation(struct recording *recording, uint32_t number, const char *what,
		struct json_object *answer, struct error *error)
{
	uint64_t deadline = loop_now() + FLUSH_MS * 1000000ull;
	char name[128];
	int ret;

	while (!session_rotated(recording->session, number, name, sizeof(name))) {
		if (loop_now() > deadline)
			return error_set_kind(error, ERROR_FAILED, -ETIMEDOUT, NULL, "%s", what);
		ret = session_turn(recording->session, ROTATE_TURN_MS, error);
		if (ret)
			return ret;
	}
	return !answer || json_put_text(answer, "path", name) ? 0 : error_set_no_memory(error);
}

static int take_rotate(struct recording *recording, struct json_object *request,
		struct json_object *answer, struct error *error)
{
	(void)request;
	return await_rotation(recording, session_rotate(recording->session),
			"the chunk is not complete yet; it appears later", answer, error);
}

static int take_clear(struct recording *recording, struct json_object *request,
		struct json_object *answer, struct error *error)
{
	(void)request;
	(void)answer;
	/* Data that must be sent to another machine must not be dropped. */
	if (recording->sender)
		return error_set_kind(error, ERROR_USAGE, -EBUSY,
				"use `side rotate` to begin a new chunk",
				"the session is sent (--to), so it cannot be cleared");
	return await_rotation(recording, session_clear(recording->session),
			"the session is not cleared yet, because the disk is full or slow; it is cleared later",
			NULL, error);
}

static int session_process_add_statistics(struct recording *recording, struct json_object *answer,
		bool over, struct error *error)
{
	struct json_object *stats = session_stats(recording->session, over);
	bool fits = true;

	if (!stats)
		return error_set_no_memory(error);
	json_object_object_foreach(stats, name, value) fits =
			json_put(answer, name, json_object_get(value)) && fits;
	json_object_put(stats);
	if (recording->sender)
		fits = json_put(answer, "sending", sender_json(recording->sender)) && fits;
	if (probes_any(recording->probes))
		fits = json_put(answer, "probes",
				       probes_json(recording->probes, recording->session, 0)) &&
				fits;
	return fits && put_messages(recording, answer) ? 0 : error_set_no_memory(error);
}

static int session_process_answer_status(struct recording *recording, struct json_object *request,
		struct json_object *answer, struct error *error)
{
	(void)request;
	take_messages(recording);
	return session_process_add_statistics(recording, answer, false, error);
}

static int take_close(struct recording *recording, struct json_object *request,
		struct json_object *answer, struct error *error)
{
	struct error failure = {.kind = ERROR_NONE};

	(void)request;
	session_finish(recording->session);
	take_messages(recording);
	/*
	 * No data is lost: the daemon sends the request again to the process that adopts the
	 * session.
	 */
	if (session_process_add_statistics(recording, answer, true, error))
		_exit(EXIT_FAILURE);
	session_close(recording->session, true, &failure);
	recording->session = NULL;
	recording->end = true;
	if (failure.kind != ERROR_NONE)
		keep_message(recording, failure.text, *failure.hint ? failure.hint : NULL);
	if (recording->sender) {
		sender_finish(recording->sender, take_sentence, recording);
		json_put(answer, "sending", sender_json(recording->sender));
	}
	/*
	 * If out of memory, the answer has only some of the messages, and the log has all. The
	 * session is closed in any case.
	 */
	put_messages(recording, answer);
	return 0;
}

static const struct request_kind {
	const char *verb;
	bool opens;
	int (*take)(struct recording *recording, struct json_object *request,
			struct json_object *answer, struct error *error);
} kinds[] = {
		{"open", true, take_open},
		{"hello", false, take_hello},
		{"change", false, session_process_apply_change},
		{"probes", false, session_process_apply_probes},
		{"statedump", false, take_statedump},
		{"flush", false, take_flush},
		{"snapshot-begin", false, take_snapshot_begin},
		{"snapshot", false, take_snapshot},
		{"snapshot-finish", false, take_snapshot_finish},
		{"rotate", false, take_rotate},
		{"clear", false, take_clear},
		{"status", false, session_process_answer_status},
		{"close", false, take_close},
};

static int take_request(struct recording *recording, struct json_object *request,
		struct json_object *answer, struct error *error)
{
	const char *verb = "";
	size_t i;
	int ret = json_text(request, "verb", &verb, error);

	if (ret)
		return ret;
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].verb, verb) && kinds[i].opens == !recording->session)
			return kinds[i].take(recording, request, answer, error);
	return error_set_kind(
			error, ERROR_FAILED, -EINVAL, NULL, "cannot execute \"%.40s\" now", verb);
}

/* ---- the loop ---- */

static void answer_request(struct recording *recording, struct json_object *request)
{
	struct json_object *answer = json_object_new_object();
	struct error error;
	int ret = json_put_flag(answer, "ok", true)
			? take_request(recording, request, answer, &error)
			: error_set_no_memory(&error);

	if (ret) {
		json_object_put(answer);
		answer = json_error(&error);
	}
	/* Try twice: after "close", no other process has this answer. */
	if (!answer || (frame_put(&recording->out, answer) && frame_put(&recording->out, answer)))
		_exit(EXIT_FAILURE);
	json_object_put(answer);
}

/*
 * Takes a message for which the daemon waits for no answer: a connection that a program made at a
 * rendezvous socket of the daemon, or the answer to a report of a library.
 */
static bool session_process_take_notice(
		struct recording *recording, struct json_object *request, struct error *error)
{
	const char *verb = NULL;
	int fd;

	if (json_text(request, "verb", &verb, error) || !verb)
		return false;
	if (!strcmp(verb, "loaded") && recording->loads) {
		loads_continue(recording->loads, request);
		return true;
	}
	if (strcmp(verb, "connection") != 0)
		return false;
	fd = frame_take_fd(&recording->in);
	if (fd >= 0 && recording->session)
		session_take_connection(recording->session, fd);
	else if (fd >= 0)
		close(fd);
	return true;
}

static void hear_daemon(struct recording *recording)
{
	struct error error;
	struct json_object *request;
	int ret = frame_receive(&recording->in, DAEMON_FD, FRAME_ANSWER_MAX, &request, &error);

	if (!ret || ret == -EAGAIN)
		return;
	/* The daemon has exited: finish nothing; the next process adopts everything. */
	if (ret != 1)
		_exit(EXIT_SUCCESS);
	if (!session_process_take_notice(recording, request, &error))
		answer_request(recording, request);
	json_object_put(request);
}

static void send_answers(struct recording *recording)
{
	int ret = frame_send(&recording->out, DAEMON_FD);

	if (ret && ret != -EAGAIN)
		_exit(EXIT_SUCCESS);
	/* After an error, no request would arrive any more: the next process adopts everything. */
	if (event_source_change(&recording->loop, &recording->daemon_source,
			    ret ? EPOLLIN | EPOLLOUT : EPOLLIN))
		_exit(EXIT_FAILURE);
}

/* Without a sender this process exits, too: the daemon starts both again, and no data is lost. */
static void hear_sender(struct recording *recording)
{
	if (sender_hear(recording->sender, take_sentence, recording))
		return;
	log_message("the sending process has ended");
	_exit(EXIT_FAILURE);
}

/* A trigger has begun a snapshot. If memory is exhausted, it has no state dump. */
static void request_state(struct recording *recording)
{
	struct json_object *message = json_object_new_object();

	if (json_put_flag(message, "wants-state", true))
		(void)frame_put(&recording->out, message);
	json_object_put(message);
}

static int session_process_run_once(struct recording *recording)
{
	struct error error;

	recording->is_daemon_ready = recording->is_sender_ready = false;
	/* Nothing is ready if the wait fails; the session is turned nevertheless. */
	(void)event_loop_turn(&recording->loop, recording->session ? TURN_MS : -1);
	if (recording->session && session_turn(recording->session, 0, &error)) {
		log_message("%s", error.text);
		return EXIT_FAILURE;
	}
	if (recording->is_sender_ready)
		hear_sender(recording);
	if (recording->is_daemon_ready)
		hear_daemon(recording);
	if (recording->session && session_wants_state(recording->session))
		request_state(recording);
	if (recording->session)
		take_messages(recording);
	send_answers(recording);
	return 0;
}

/* Closes the lock last: the process that gets it must not find other resources of this one. */
static void end_recording(struct recording *recording)
{
	frame_in_free(&recording->in);
	frame_out_free(&recording->out);
	strings_free(&recording->messages);
	strings_free(&recording->hints);
	probes_close(recording->probes);
	loads_free(recording->loads);
	sender_free(recording->sender);
	event_loop_close(&recording->loop);
	if (recording->lock_fd >= 0)
		close(recording->lock_fd);
}

int session_process(void)
{
	struct recording recording = {.lock_fd = -1};
	int status = 0;

	/* The daemon handles the signals of a terminal. */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	prctl(PR_SET_NAME, "sided-session");
	/*
	 * Also kills the process while it waits for the disk. If the daemon has exited before this
	 * call, the socket shows it.
	 */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	frame_out_init(&recording.out);
	recording.in.takes_fd = true;
	if (event_loop_open(&recording.loop) || fcntl(DAEMON_FD, F_SETFD, FD_CLOEXEC) ||
			event_source_add(&recording.loop, &recording.daemon_source, DAEMON_FD,
					EPOLLIN, session_process_daemon_ready)) {
		log_message("do not use --session-process: the daemon uses it");
		end_recording(&recording);
		return EXIT_FAILURE;
	}
	while (!status && !(recording.end && !recording.out.first))
		status = session_process_run_once(&recording);
	/* After a failure, another process adopts the session unchanged. */
	if (!status)
		end_recording(&recording);
	return status;
}
