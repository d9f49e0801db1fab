/* SPDX-License-Identifier: MIT */
/*
 * The programs that can be traced, by the process id that the kernel reports. A program is in one
 * of these states:
 *
 *   connected  It keeps its connection (or is arriving). The daemon sends it changes, and waits
 *              for its DONE or for the end of the connection.
 *   armed      It has control mode thread, but no connection. It asks before its next event, so it
 *              need not be notified.
 *   signal     It gets a signal, connects, sends DONE, and disconnects. While it is connected it is
 *              not notified: a later change needs another signal.
 *   sync       It has connected once; the daemon cannot notify it any more.
 *
 * Its pidfd reports its exit. An exec starts another program in the process: it connects with
 * another token and replaces the former program.
 *
 * A program and its connection refer to each other: program_connect() makes that link, once for
 * each connection. sided_program_disconnect() ends it when one of the two is closed, or when the
 * program has another connection.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "recorder/core/peer.h"
#include "sided.h"
#include "protocol/protocol.h"

/*
 * First and longest interval at which a program with active readers is asked again; the interval
 * doubles each time.
 */
#define AGAIN_FIRST_MS 5
#define AGAIN_LAST_MS 1000
#define PARTS_MAX 6
/*
 * While an operation waits, a signal is sent again: the daemon's queue of connections may have been
 * full.
 */
#define SIGNAL_AGAIN_MS 1000

static struct sided_program **sided_program_hash_bucket(struct daemon *daemon, pid_t pid)
{
	return &daemon->programs[(unsigned int)pid % PROGRAM_BUCKETS];
}

/* True if changes wait for this program. */
static bool is_awaited(const struct sided_program *program)
{
	return program->agent || program->control == WIRE_CONTROL_SIGNAL;
}

/* Returns the last change that the program has confirmed, or with which it has started. */
static uint64_t switched_to(const struct sided_program *program)
{
	return program->since > program->done ? program->since : program->done;
}

static void sided_program_disconnect(struct daemon *daemon, struct sided_program *program)
{
	if (!program->agent)
		return;
	ref_set(daemon, program->agent->program, NULL);
	ref_set(daemon, program->agent, NULL);
}

static void program_destroy(struct daemon *daemon, struct sided_object *object)
{
	struct sided_program *program = container_of(object, struct sided_program, object);

	(void)daemon;
	free(program->name);
	free(program->exe);
	free(program);
}

static void program_close(struct daemon *daemon, struct sided_program *program)
{
	struct sided_program **at = sided_program_hash_bucket(daemon, program->pid);
	struct sided_agent *agent = program->agent;

	if (program->object.is_closed)
		return;
	while (*at != program)
		at = &(*at)->next;
	*at = program->next;
	shares_give_back(&daemon->program_shares, program->uid, 1);
	if (is_awaited(program))
		operations_switched(daemon, program, switched_to(program), UINT64_MAX);
	sided_program_disconnect(daemon, program);
	rendezvous_left(daemon, program);
	if (agent)
		agent_close(daemon, agent);
	loop_unwatch(daemon, &program->watch);
	loop_cancel(daemon, &program->again);
	object_close(daemon, &program->object);
}

static void program_ended(struct daemon *daemon, struct sided_watch *watch, uint32_t events)
{
	struct sided_program *program = container_of(watch, struct sided_program, watch);

	(void)events;
	program_forget(daemon, program);
	program_close(daemon, program);
}

/* ---- new programs ---- */

/*
 * All processes of pid namespaces that the daemon does not see have process id 0, so their token
 * and user must match.
 */
static bool sided_program_belongs_to(
		const struct sided_program *program, const struct peer *peer, uint64_t token)
{
	return program->pid == peer->pid &&
			(peer->pid || (program->token == token && program->uid == peer->uid));
}

static struct sided_program *sided_program_find(
		struct daemon *daemon, const struct peer *peer, uint64_t token)
{
	struct sided_program *program = *sided_program_hash_bucket(daemon, peer->pid);

	while (program && !sided_program_belongs_to(program, peer, token))
		program = program->next;
	return program;
}

/* A program without a pidfd ends with its connection. */
static int sided_program_watch_process(
		struct daemon *daemon, struct sided_program *program, int socket)
{
	const struct ucred cred = {.pid = program->pid, .uid = program->uid};
	int fd, ret;

	if (!program->pid)
		return 0;
	fd = peer_open_process(socket, &cred);
	if (fd < 0)
		return fd;
	ret = loop_watch(daemon, &program->watch, fd, EPOLLIN, program_ended);
	if (ret)
		close(fd);
	return ret;
}

static void program_init(struct sided_program *program)
{
	object_init(&program->object, program_destroy);
	program->watch = (struct sided_watch){.fd = -1, .owner = &program->object};
	program->again = (struct timer){.owner = &program->object};
}

static struct sided_program *program_new(
		struct daemon *daemon, const struct sided_agent *agent, const char **ret_reason)
{
	const struct peer *peer = &agent->peer;
	struct sided_program *program;

	*ret_reason = "the daemon has too many programs";
	if (!shares_left(&daemon->program_shares, peer->uid) ||
			shares_used(&daemon->program_shares, peer->uid) >= LIMIT_PROGRAMS_OF_USER)
		return NULL;
	program = calloc(1, sizeof(*program));
	if (!program)
		return NULL;
	program_init(program);
	program->pid = peer->pid;
	program->uid = peer->uid;
	if (sided_program_watch_process(daemon, program, agent->watch.fd)) {
		*ret_reason = "the process cannot be watched";
		object_close(daemon, &program->object);
		return NULL;
	}
	program->next = *sided_program_hash_bucket(daemon, program->pid);
	*sided_program_hash_bucket(daemon, program->pid) = program;
	shares_charge(&daemon->program_shares, program->uid, 1);
	return program;
}

int programs_open(struct daemon *daemon)
{
	shares_init(&daemon->program_shares, daemon->max_programs, LIMIT_PROGRAM_FLOORS, 1);
	return shares_keep(&daemon->program_shares, daemon->uid) ? 0 : -ENOMEM;
}

int program_restore(struct daemon *daemon, const struct sided_program *facts, int pidfd)
{
	struct sided_program *program;

	if (!shares_left(&daemon->program_shares, facts->uid))
		return -ENOSPC;
	program = malloc(sizeof(*program));
	if (!program)
		return -ENOMEM;
	*program = *facts;
	program_init(program);
	/* It is unknown which changes the program has: this makes it ask again. */
	program->since = program->done = 0;
	if (loop_watch(daemon, &program->watch, pidfd, EPOLLIN, program_ended)) {
		/* The descriptors remain the caller's. */
		program->name = program->exe = NULL;
		object_close(daemon, &program->object);
		return -EIO;
	}
	program->next = *sided_program_hash_bucket(daemon, program->pid);
	*sided_program_hash_bucket(daemon, program->pid) = program;
	shares_charge(&daemon->program_shares, program->uid, 1);
	return 0;
}

/* Names come from the program: replaces characters that cannot be printed. */
static void sided_program_set_name(char **name, const char *text)
{
	char *copy = strdup(text), *at;

	if (!copy)
		return;
	for (at = copy; *at; at++)
		if ((unsigned char)*at < ' ' || (unsigned char)*at >= 0x7f)
			*at = '?';
	free(*name);
	*name = copy;
}

/* If a thread of the agent connects, procname is the thread's name, not the program's. */
static void set_names(struct sided_program *program, const struct wire_arrive *arrive)
{
	const char *slash = strrchr(arrive->exe, '/');
	bool is_thread = !strcmp(arrive->procname, "side-control");

	sided_program_set_name(&program->exe, arrive->exe);
	if (!is_thread)
		sided_program_set_name(&program->name, arrive->procname);
	else if (!program->name)
		sided_program_set_name(&program->name, slash ? slash + 1 : arrive->exe);
}

static void program_connect(
		struct daemon *daemon, struct sided_program *program, struct sided_agent *agent)
{
	struct sided_agent *former = program->agent;

	sided_program_disconnect(daemon, program);
	ref_set(daemon, program->agent, agent);
	ref_set(daemon, agent->program, program);
	if (former)
		agent_close(daemon, former);
}

struct sided_program *program_arrive(struct daemon *daemon, struct sided_agent *agent,
		const struct wire_arrive *arrive, const char **ret_reason)
{
	struct sided_program *program = sided_program_find(daemon, &agent->peer, arrive->token);

	if (program && (program->token != arrive->token || program->uid != agent->peer.uid)) {
		program_forget(daemon, program);
		program_close(daemon, program);
		program = NULL;
	}
	if (!program) {
		program = program_new(daemon, agent, ret_reason);
		if (!program)
			return NULL;
		program->token = arrive->token;
	}
	/* A program that was not awaited starts with the current rules. */
	if (!is_awaited(program))
		program->since = daemon->serial;
	program->control = arrive->control;
	program->control_signal = arrive->control_signal;
	set_names(program, arrive);
	rendezvous_entered(daemon, program, agent->rendezvous);
	if (program->control == WIRE_CONTROL_SIGNAL || program->control == WIRE_CONTROL_SYNC)
		program_remember(daemon, program);
	else
		program_forget(daemon, program);
	program_connect(daemon, program, agent);
	return program;
}

void program_disconnected(struct daemon *daemon, struct sided_agent *agent)
{
	struct sided_program *program = agent->program;

	if (!program)
		return;
	sided_program_disconnect(daemon, program);
	/*
	 * The program asks for its rules before its next event, or never: in both cases changes do
	 * not wait for it.
	 */
	if (!is_awaited(program))
		operations_switched(daemon, program, switched_to(program), UINT64_MAX);
	if (!program->pid)
		program_close(daemon, program);
}

/* ---- the process in /proc ---- */

/* Gets the value of a line of /proc/PID/status, or "". */
static void status_line(const char *text, const char *name, char *ret_value, size_t capacity)
{
	const char *line = strstr(text, name);

	*ret_value = 0;
	if (line) {
		line += strlen(name);
		line += strspn(line, " \t");
		snprintf(ret_value, capacity, "%.*s", (int)strcspn(line, "\n"), line);
	}
}

static size_t sided_program_read_file(const char *path, char *text, size_t capacity)
{
	FILE *file = fopen(path, "re");
	size_t size = file ? fread(text, 1, capacity - 1, file) : 0;

	text[size] = 0;
	if (file)
		fclose(file);
	return size;
}

/*
 * Returns whether the program has a handler for its signal: 1 or 0, or a negative errno if the
 * daemon cannot read that now.
 */
static int catches_signal(const struct sided_program *program)
{
	static const char name[] = "SigCgt:";
	char path[64], line[128];
	FILE *file;
	int error = 0, ret = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", program->pid);
	file = fopen(path, "re");
	if (!file)
		return error_is_lack_of_resources(errno) ? -errno : 0;
	/*
	 * The line of groups precedes that of signals and may exceed the buffer. It is then read in
	 * pieces, none of which begins with the name.
	 */
	while (!ret && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			ret = strtoull(line + strlen(name), NULL, 16) >>
							(program->control_signal - 1) &
					1;
	if (ferror(file))
		error = errno;
	fclose(file);
	return error_is_lack_of_resources(error) ? -error : ret;
}

/* ---- switching to new rules ---- */

/*
 * True if the process still runs as its user. A program that has changed its user by an exec did
 * not request the signal. Needed for root's daemon, because the kernel does not restrict root's
 * signals.
 */
static bool is_its_users(const struct sided_program *program)
{
	struct stat status;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", program->pid);
	return !stat(path, &status) && status.st_uid == program->uid;
}

static void send_signal(const struct daemon *daemon, const struct sided_program *program)
{
	if (program->watch.fd >= 0 && (!daemon->any_user || is_its_users(program)))
		syscall(SYS_pidfd_send_signal, program->watch.fd, program->control_signal, NULL, 0);
}

static void ask_again(struct daemon *daemon, struct timer *timer);

/*
 * Sends the signal, and repeats it until the program has switched. The signal would terminate a
 * program without a handler: that program is treated as if it had arrived in control mode sync, and
 * changes up to `until` no longer wait for it. Returns whether changes wait for the program.
 */
static bool sided_program_notify_by_signal(
		struct daemon *daemon, struct sided_program *program, uint64_t until)
{
	int ret = catches_signal(program);

	if (!ret) {
		program->control = WIRE_CONTROL_SYNC;
		if (!is_awaited(program))
			operations_switched(daemon, program, switched_to(program), until);
		return false;
	}
	if (ret > 0)
		send_signal(daemon, program);
	loop_timer(daemon, &program->again, SIGNAL_AGAIN_MS, ask_again);
	return true;
}

static void ask_again(struct daemon *daemon, struct timer *timer)
{
	struct sided_program *program = container_of(timer, struct sided_program, again);

	if (program->control != WIRE_CONTROL_SIGNAL) {
		if (program->agent)
			agent_welcome(daemon, program->agent);
	} else if (program->agains || (daemon->waiting && switched_to(program) < daemon->serial)) {
		(void)sided_program_notify_by_signal(daemon, program, UINT64_MAX);
	}
}

static bool recorders_are_ready(const struct daemon *daemon)
{
	const struct session_entry *entry;

	for (entry = daemon->sessions; entry; entry = entry->next)
		if (session_is_present(entry) && !worker_is_ready(entry))
			return false;
	return true;
}

/*
 * True if the program must be asked again, because its readers still run or a session did not
 * answer it. The process of that session may just be exiting, which the daemon notices later: a
 * program that has the old rules has not switched. If it fails repeatedly while every session
 * answers the daemon, another request would not help.
 */
static bool is_unfinished(
		struct daemon *daemon, const struct sided_program *program, uint32_t state)
{
	if (state == WIRE_DONE_PART)
		return program->agains < PARTS_MAX || !recorders_are_ready(daemon);
	return state == WIRE_DONE_READERS || state == WIRE_DONE_LATER;
}

void program_done(
		struct daemon *daemon, struct sided_program *program, const struct wire_done *done)
{
	uint64_t before = switched_to(program);

	if (is_unfinished(daemon, program, done->state)) {
		uint64_t in_ms = AGAIN_FIRST_MS << (program->agains < 8 ? program->agains : 8);

		program->agains++;
		loop_timer(daemon, &program->again, in_ms < AGAIN_LAST_MS ? in_ms : AGAIN_LAST_MS,
				ask_again);
		return;
	}
	program->agains = 0;
	if (done->state == WIRE_DONE_ALL && done->serial > program->known)
		program->known = done->serial;
	if (program->control != WIRE_CONTROL_SIGNAL || done->serial >= daemon->serial)
		loop_cancel(daemon, &program->again);
	if (done->serial <= program->done)
		return;
	program->done = done->serial;
	operations_switched(daemon, program, before, program->done);
	if (switched_to(program) >= program->late)
		program->late = 0;
}

bool program_is_late(const struct sided_program *program, uint64_t serial)
{
	return program->late && program->late < serial;
}

void programs_be_late(struct daemon *daemon, uint64_t serial, uid_t scope)
{
	struct sided_program *program;
	size_t i;

	for (i = 0; i < PROGRAM_BUCKETS; i++)
		for (program = daemon->programs[i]; program; program = program->next)
			if (is_awaited(program) && is_in_scope(scope, program->uid) &&
					switched_to(program) < serial && !program->late)
				program->late = daemon->serial;
}

/* Returns the number of notified programs; *late: how many of them are late. */
size_t programs_poke(struct daemon *daemon, uid_t scope, size_t *late)
{
	struct sided_program *program, *next;
	size_t count = 0, before, i;

	for (i = 0; i < PROGRAM_BUCKETS; i++) {
		for (program = daemon->programs[i]; program; program = next) {
			next = program->next;
			if (!is_awaited(program) || !is_in_scope(scope, program->uid))
				continue;
			before = count;
			/* No operation has counted the program for the new serial yet. */
			if (program->control == WIRE_CONTROL_SIGNAL &&
					sided_program_notify_by_signal(
							daemon, program, daemon->serial - 1)) {
				count++;
			} else if (program->agent) {
				count++;
				agent_welcome(daemon, program->agent);
			}
			if (late && count > before)
				*late += program_is_late(program, daemon->serial);
		}
	}
	return count;
}

/* ---- reasons ---- */

static void name_tracer(const char *tracer, char *why, size_t capacity)
{
	char path[64], name[64] = "";

	snprintf(path, sizeof(path), "/proc/%.20s/comm", tracer);
	sided_program_read_file(path, name, sizeof(name));
	name[strcspn(name, "\n")] = 0;
	snprintf(why, capacity, "being debugged by %.20s (%.40s)", tracer,
			*name ? name : "unknown");
}

static void find_reason(const struct sided_program *program, char *why, size_t capacity)
{
	char path[64], text[4096], state[32], tracer[32];

	snprintf(path, sizeof(path), "/proc/%d/status", program->pid);
	sided_program_read_file(path, text, sizeof(text));
	status_line(text, "\nState:", state, sizeof(state));
	status_line(text, "\nTracerPid:", tracer, sizeof(tracer));
	if (*tracer && strcmp(tracer, "0") != 0)
		name_tracer(tracer, why, capacity);
	else if (*state == 'T' || *state == 't')
		snprintf(why, capacity, "stopped by a signal");
	else if (*state == 'D')
		snprintf(why, capacity, "waiting for a device");
	else
		snprintf(why, capacity, "not answering");
}

/* ---- as lists ---- */

static struct json_object *with_reason(const struct sided_program *program, const char *why)
{
	struct json_object *object = json_object_new_object();

	if (json_put_number(object, "pid", (uint64_t)program->pid) &&
			json_put_text(object, "name", program->name ? program->name : "") &&
			json_put_text(object, "why", why))
		return object;
	json_object_put(object);
	return NULL;
}

static const char *sided_program_control_name(const struct sided_program *program)
{
	static const char *const names[WIRE_NR_CONTROLS] = {"off", "sync", "thread", "signal"};

	return names[program->control < WIRE_NR_CONTROLS ? program->control : 0];
}

static struct json_object *program_json(const struct sided_program *program)
{
	struct json_object *object = json_object_new_object();

	if (json_put_number(object, "pid", (uint64_t)program->pid) &&
			json_put_number(object, "uid", program->uid) &&
			json_put_text(object, "name", program->name ? program->name : "") &&
			json_put_text(object, "exe", program->exe ? program->exe : "") &&
			json_put_text(object, "control", sided_program_control_name(program)) &&
			json_put_flag(object, "armed",
					!program->agent && program->control == WIRE_CONTROL_THREAD))
		return object;
	json_object_put(object);
	return NULL;
}

/* Selects the programs of a list, and makes the element of each. */
struct program_list {
	bool (*has)(const struct sided_program *program, uint64_t serial);
	struct json_object *(*element)(const struct sided_program *program);
};

/* Returns NULL if out of memory. */
static struct json_object *make_list(struct daemon *daemon, uint64_t serial, uid_t scope,
		const struct program_list *kind)
{
	struct json_object *list = json_object_new_array(), *element;
	const struct sided_program *program;
	size_t i;

	for (i = 0; list && i < PROGRAM_BUCKETS; i++) {
		for (program = daemon->programs[i]; program; program = program->next) {
			if (!is_in_scope(scope, program->uid) || !kind->has(program, serial))
				continue;
			element = kind->element(program);
			if (element && !json_object_array_add(list, element))
				continue;
			json_object_put(element);
			json_object_put(list);
			return NULL;
		}
	}
	return list;
}

static bool sided_program_is_pending(const struct sided_program *program, uint64_t serial)
{
	return is_awaited(program) && program->since < serial && program->done < serial;
}

static struct json_object *pending_json(const struct sided_program *program)
{
	char why[128];

	find_reason(program, why, sizeof(why));
	return with_reason(program, why);
}

static bool is_unchanged(const struct sided_program *program, uint64_t serial)
{
	(void)serial;
	return !program->agent && program->control == WIRE_CONTROL_SYNC;
}

static struct json_object *unchanged_json(const struct sided_program *program)
{
	return with_reason(program, "control mode sync");
}

static bool is_any(const struct sided_program *program, uint64_t serial)
{
	(void)program;
	(void)serial;
	return true;
}

struct json_object *programs_pending(struct daemon *daemon, uint64_t serial, uid_t scope)
{
	static const struct program_list pending = {sided_program_is_pending, pending_json};

	return make_list(daemon, serial, scope, &pending);
}

struct json_object *programs_unchanged(struct daemon *daemon, uid_t scope)
{
	static const struct program_list unchanged = {is_unchanged, unchanged_json};

	return make_list(daemon, 0, scope, &unchanged);
}

struct json_object *programs_json(struct daemon *daemon, uid_t scope)
{
	static const struct program_list all = {is_any, program_json};

	return make_list(daemon, 0, scope, &all);
}

size_t programs_count(struct daemon *daemon, uid_t scope)
{
	size_t count = 0;

	for (size_t i = 0; i < PROGRAM_BUCKETS; i++)
		for (const struct sided_program *program = daemon->programs[i]; program;
				program = program->next)
			count += is_in_scope(scope, program->uid);
	return count;
}

bool program_is_reachable(struct daemon *daemon, pid_t pid)
{
	const struct sided_program *program = *sided_program_hash_bucket(daemon, pid);

	while (program && program->pid != pid)
		program = program->next;
	return program && (program->agent || program->control == WIRE_CONTROL_THREAD);
}

void programs_close(struct daemon *daemon)
{
	size_t i;

	for (i = 0; i < PROGRAM_BUCKETS; i++)
		while (daemon->programs[i])
			program_close(daemon, daemon->programs[i]);
	shares_free(&daemon->program_shares);
}
