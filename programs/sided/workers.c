/* SPDX-License-Identifier: MIT */
/*
 * The session processes: one for each started session. The daemon sends requests over a socket
 * pair, one at a time, beginning with "open". If a process dies for any reason, another one is
 * started after a pause that grows with each early exit. It adopts the session's state directory,
 * and gets the unanswered request again.
 */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "sided.h"

#define SOCKET_FD 3
#define OPEN_MS 60000
#define PAUSE_FIRST_MS 50
#define PAUSE_LAST_MS 10000
/* After this run time, earlier failures are no longer counted. */
#define HEALTHY_NS 30000000000ull
#define ATTEMPTS 4

extern char **environ;

struct worker_call {
	struct worker_call *next;
	struct json_object *request;
	unsigned int timeout_ms;
	unsigned int attempts;
	worker_done *done;
	struct sided_object *user; /* a reference */
};

enum worker_state { WORKER_AWAY, WORKER_OPENING, WORKER_READY };

struct sided_worker {
	struct sided_object object;
	struct sided_watch watch;
	struct session_entry *entry; /* a reference */
	enum worker_state state;
	pid_t pid;
	int process;    /* its pidfd, or -1 before Linux 5.3 */
	bool is_reaped; /* another process can have the process id now */
	uint64_t begun;
	unsigned int restarts, failures;
	struct frame_in in;
	struct frame_out out;
	struct worker_call *calls, **end;
	bool asked; /* the first call has been sent */
	struct timer restart, timeout;
};

static void worker_died(struct daemon *daemon, struct sided_worker *worker);

/*
 * Kills the process. The process id alone could be that of another process if this one has ended
 * and was reaped, for example by workers_reap().
 */
static void worker_kill(const struct sided_worker *worker)
{
	if (worker->process >= 0)
		(void)syscall(SYS_pidfd_send_signal, worker->process, SIGKILL, NULL, 0);
	else if (worker->pid > 0 && !worker->is_reaped)
		(void)kill(worker->pid, SIGKILL);
}

/* ---- requests ---- */

static void sided_worker_on_restart_timeout(struct daemon *daemon, struct timer *timer)
{
	struct sided_worker *worker = container_of(timer, struct sided_worker, timeout);

	log_about(daemon, worker->entry->uid,
			"the process %d that records the session %s does not answer, and is restarted",
			worker->pid, worker->entry->definition->name);
	worker_kill(worker);
	worker_died(daemon, worker);
}

static void sided_worker_flush(struct daemon *daemon, struct sided_worker *worker)
{
	int ret = frame_send(&worker->out, worker->watch.fd);

	if (ret && ret != -EAGAIN)
		worker_died(daemon, worker);
	else
		loop_change(daemon, &worker->watch, ret ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

/* Returns false if out of memory; then nothing is sent. */
static bool sided_worker_send_request(struct daemon *daemon, struct sided_worker *worker,
		struct json_object *request, unsigned int timeout_ms)
{
	if (!request || frame_put(&worker->out, request)) {
		log_about(daemon, worker->entry->uid,
				"out of memory: cannot send a request to the process that records the session %s",
				worker->entry->definition->name);
		return false;
	}
	loop_timer(daemon, &worker->timeout, timeout_ms, sided_worker_on_restart_timeout);
	sided_worker_flush(daemon, worker);
	return true;
}

/* Ends the first call, with its answer or with an error. */
static void finish_call(struct daemon *daemon, struct sided_worker *worker,
		struct json_object *answer, const struct error *error)
{
	struct worker_call *call = worker->calls;

	worker->calls = call->next;
	if (!worker->calls)
		worker->end = &worker->calls;
	worker->asked = false;
	loop_cancel(daemon, &worker->timeout);
	if (!call->user->is_closed)
		call->done(daemon, worker->entry, call->user, answer, error);
	object_put(daemon, call->user);
	json_object_put(call->request);
	free(call);
}

static void ask_next(struct daemon *daemon, struct sided_worker *worker)
{
	const struct session_entry *entry = worker->entry;
	struct error error;

	/* A call that fails can close the worker. */
	while (entry->worker == worker && worker->state == WORKER_READY && !worker->asked &&
			worker->calls) {
		struct worker_call *call = worker->calls;

		worker->asked = true;
		call->attempts++;
		if (sided_worker_send_request(daemon, worker, call->request, call->timeout_ms))
			return;
		error_set_no_memory(&error);
		finish_call(daemon, worker, NULL, &error);
	}
}

static void fail_calls(
		struct daemon *daemon, struct sided_worker *worker, const struct error *error)
{
	struct session_entry *entry = worker->entry;
	struct worker_call *last = container_of(worker->end, struct worker_call, next);
	bool more = worker->calls;

	/*
	 * Fail only the calls that exist now, not those added meanwhile. The worker can be removed
	 * with its session.
	 */
	while (more && entry->worker == worker && worker->calls) {
		more = worker->calls != last;
		finish_call(daemon, worker, NULL, error);
	}
}

/* ---- start ---- */

static int spawn(struct daemon *daemon, struct sided_worker *worker)
{
	static char name[] = "sided", option[] = "--session-process";
	char *argv[] = {name, option, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, standard;
	int ends[2], ret;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
		return -errno;
	sigemptyset(&none);
	sigfillset(&standard);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &standard);
	/*
	 * If ends[1] is SOCKET_FD already, dup2() would keep close-on-exec; posix_spawn() clears it
	 * then.
	 */
	posix_spawn_file_actions_adddup2(&actions, ends[1], SOCKET_FD);
	ret = posix_spawn(&worker->pid, "/proc/self/exe", &actions, &attributes, argv, environ);
	if (ret)
		worker->pid = 0;
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	close(ends[1]);
	/* Nothing has reaped it yet, so the process id is still its own. */
	worker->is_reaped = false;
	worker->process = ret ? -1 : (int)syscall(SYS_pidfd_open, worker->pid, 0);
	if (!ret)
		ret = -loop_watch(daemon, &worker->watch, ends[0], EPOLLIN, NULL);
	if (ret)
		close(ends[0]);
	return -ret;
}

static void worker_ready(struct daemon *daemon, struct sided_watch *watch, uint32_t events);

static void restart(struct daemon *daemon, struct timer *timer)
{
	struct sided_worker *worker = container_of(timer, struct sided_worker, restart);
	struct json_object *opening;
	int ret = spawn(daemon, worker);

	worker->begun = loop_now();
	if (ret) {
		log_about(daemon, worker->entry->uid,
				"cannot start the process that records the session %s: %s",
				worker->entry->definition->name, strerror(-ret));
		worker_kill(worker);
		worker_died(daemon, worker);
		return;
	}
	worker->watch.ready = worker_ready;
	worker->state = WORKER_OPENING;
	opening = session_opening(daemon, worker->entry);
	if (!sided_worker_send_request(daemon, worker, opening, OPEN_MS)) {
		worker_kill(worker);
		worker_died(daemon, worker);
	}
	json_object_put(opening);
}

static uint64_t pause_of(const struct sided_worker *worker)
{
	uint64_t pause = (uint64_t)PAUSE_FIRST_MS << (worker->failures < 8 ? worker->failures : 8);

	return pause < PAUSE_LAST_MS ? pause : PAUSE_LAST_MS;
}

/* The unit of start times of processes. */
static uint64_t ticks_since_boot(void)
{
	const uint64_t now = clock_boottime_ns(), frequency = (uint64_t)sysconf(_SC_CLK_TCK);

	/* In two steps, because the product of all ticks would overflow after some years. */
	return now / CLOCK_NS_PER_S * frequency + now % CLOCK_NS_PER_S * frequency / CLOCK_NS_PER_S;
}

void workers_count_unrecorded(struct daemon *daemon, struct sided_program *program)
{
	uint64_t started = program->is_unrecorded ? 0 : session_process_start(program->pid);
	struct session_entry *entry;

	for (entry = daemon->sessions; entry && started; entry = entry->next) {
		if (entry->state != SESSION_LIVE || !entry->active || !entry->absent ||
				started < entry->absent ||
				!is_in_scope(session_scope(daemon, entry), program->uid))
			continue;
		entry->nr_unrecorded++;
		program->is_unrecorded = true;
	}
}

static void sided_worker_disconnect(struct daemon *daemon, struct sided_worker *worker)
{
	if (!worker->entry->absent)
		worker->entry->absent = ticks_since_boot();
	loop_unwatch(daemon, &worker->watch);
	loop_cancel(daemon, &worker->timeout);
	loop_cancel(daemon, &worker->restart);
	frame_in_free(&worker->in);
	frame_out_free(&worker->out);
	worker->state = WORKER_AWAY;
	worker->asked = false;
	worker->pid = 0;
	if (worker->process >= 0)
		close(worker->process);
	worker->process = -1;
}

static void worker_died(struct daemon *daemon, struct sided_worker *worker)
{
	struct session_entry *entry = worker->entry;
	struct error error;
	bool healthy = loop_now() - worker->begun > HEALTHY_NS;

	sided_worker_disconnect(daemon, worker);
	worker->failures = healthy ? 0 : worker->failures + 1;
	worker->restarts++;
	if (worker->calls && worker->calls->attempts >= ATTEMPTS) {
		error_set_kind(&error, ERROR_FAILED, -EPIPE, "see the daemon's log",
				"the process that records the session %s ended repeatedly",
				entry->definition->name);
		finish_call(daemon, worker, NULL, &error);
	}
	/* The callbacks of failed calls may have removed the worker. */
	if (entry->worker == worker)
		loop_timer(daemon, &worker->restart, pause_of(worker), restart);
}

/* ---- answers ---- */

static void set_error(struct session_entry *entry, const char *text)
{
	free(entry->error);
	entry->error = text ? strdup(text) : NULL;
}

static void opened(struct daemon *daemon, struct sided_worker *worker, struct json_object *answer)
{
	struct session_entry *entry = worker->entry;
	struct error error;

	loop_cancel(daemon, &worker->timeout);
	if (!json_answer(answer, &error)) {
		bool again = entry->state == SESSION_LIVE;

		worker->state = WORKER_READY;
		entry->absent = 0;
		set_error(entry, NULL);
		json_number(answer, "generation", UINT64_MAX, &entry->generation, &error);
		entry->state = SESSION_LIVE;
		push_forget(daemon, entry);
		session_save(daemon, entry);
		if (again) {
			/* Notify programs that found no recorder when they started. */
			daemon->serial++;
			runtime_publish(daemon);
			(void)exec_attach_update(daemon);
			programs_poke(daemon, session_scope(daemon, entry), NULL);
		}
		ask_next(daemon, worker);
		return;
	}
	log_about(daemon, entry->uid, "the session %s cannot be recorded: %s",
			entry->definition->name, error.text);
	set_error(entry, error.text);
	sided_worker_disconnect(daemon, worker);
	worker->failures++;
	fail_calls(daemon, worker, &error);
	if (entry->worker == worker && entry->state == SESSION_LIVE)
		loop_timer(daemon, &worker->restart, pause_of(worker), restart);
}

static void sided_worker_handle_answer(
		struct daemon *daemon, struct sided_worker *worker, struct json_object *answer)
{
	struct error error;
	struct session_entry *entry = worker->entry;

	if (worker->state == WORKER_OPENING) {
		opened(daemon, worker, answer);
		return;
	}
	if (json_object_object_get_ex(answer, "loaded", NULL)) {
		pending_begin_load(daemon, entry, answer);
		return;
	}
	if (json_object_object_get_ex(answer, "wants-state", NULL)) {
		operation_begin_state(daemon, entry);
		return;
	}
	if (!worker->asked)
		return;
	if (json_answer(answer, &error))
		finish_call(daemon, worker, NULL, &error);
	else
		finish_call(daemon, worker, answer, NULL);
	if (entry->worker == worker)
		ask_next(daemon, worker);
}

static void worker_ready(struct daemon *daemon, struct sided_watch *watch, uint32_t events)
{
	struct sided_worker *worker = container_of(watch, struct sided_worker, watch);
	struct json_object *answer;
	struct error error;
	int ret;

	if (events & EPOLLOUT)
		sided_worker_flush(daemon, worker);
	if (watch->fd < 0)
		return;
	ret = frame_receive(&worker->in, watch->fd, FRAME_ANSWER_MAX, &answer, &error);
	if (!ret || ret == -EAGAIN)
		return;
	if (ret == 1) {
		sided_worker_handle_answer(daemon, worker, answer);
		json_object_put(answer);
		return;
	}
	log_about(daemon, worker->entry->uid,
			"the process %d that records the session %s has ended", worker->pid,
			worker->entry->definition->name);
	worker_kill(worker);
	worker_died(daemon, worker);
}

/* ---- for other parts of the daemon ---- */

static void worker_destroy(struct daemon *daemon, struct sided_object *object)
{
	struct sided_worker *worker = container_of(object, struct sided_worker, object);

	ref_set(daemon, worker->entry, NULL);
	free(worker);
}

/* Returns the worker of the session, or a new one without a process. */
static struct sided_worker *get_worker(struct daemon *daemon, struct session_entry *entry)
{
	struct sided_worker *worker = entry->worker;

	if (worker)
		return worker;
	worker = calloc(1, sizeof(*worker));
	if (!worker)
		return NULL;
	object_init(&worker->object, worker_destroy);
	worker->watch.owner = worker->restart.owner = worker->timeout.owner = &worker->object;
	worker->watch.fd = worker->process = -1;
	ref_set(daemon, worker->entry, entry);
	worker->end = &worker->calls;
	frame_out_init(&worker->out);
	entry->worker = worker;
	return worker;
}

void worker_start(struct daemon *daemon, struct session_entry *entry)
{
	struct sided_worker *worker = get_worker(daemon, entry);

	if (worker && worker->state == WORKER_AWAY && !entry->absent)
		entry->absent = ticks_since_boot();
	if (worker && worker->state == WORKER_AWAY && !worker->restart.base.is_set)
		loop_timer(daemon, &worker->restart, 0, restart);
}

void worker_ask(struct daemon *daemon, struct session_entry *entry, struct json_object *request,
		unsigned int timeout_ms, worker_done *done, struct sided_object *user)
{
	struct sided_worker *worker = get_worker(daemon, entry);
	struct worker_call *call = calloc(1, sizeof(*call));
	struct error error;

	if (!worker || !call || !request) {
		error_set_no_memory(&error);
		json_object_put(request);
		free(call);
		done(daemon, entry, user, NULL, &error);
		return;
	}
	*call = (struct worker_call){
			.request = request, .timeout_ms = timeout_ms, .done = done, .user = user};
	object_get(user);
	*worker->end = call;
	worker->end = &call->next;
	worker_start(daemon, entry);
	ask_next(daemon, worker);
}

void worker_close(struct daemon *daemon, struct session_entry *entry)
{
	struct sided_worker *worker = entry->worker;
	struct error error;

	if (!worker)
		return;
	/* The process exits when it sees the end of the connection. */
	sided_worker_disconnect(daemon, worker);
	entry->worker = NULL;
	error_set_kind(&error, ERROR_NOT_FOUND, -ENOENT, NULL, "the session %s no longer exists",
			entry->definition->name);
	while (worker->calls)
		finish_call(daemon, worker, NULL, &error);
	object_close(daemon, &worker->object);
}

bool worker_is_ready(const struct session_entry *entry)
{
	return entry->worker && entry->worker->state == WORKER_READY;
}

bool worker_pass(struct daemon *daemon, struct session_entry *entry, int fd)
{
	struct sided_worker *worker = entry->worker;
	struct json_object *request;
	bool done;

	/*
	 * Programs can make more connections than the process handles; a program without an answer
	 * retries.
	 */
	if (!worker_is_ready(entry) || worker->out.size > LIMIT_QUEUED)
		return false;
	request = json_object_new_object();
	done = json_put_text(request, "verb", "connection") &&
			!frame_put_with(&worker->out, request, fd);
	json_object_put(request);
	if (done)
		sided_worker_flush(daemon, worker);
	return done;
}

void worker_continue_load(struct daemon *daemon, struct session_entry *entry, uint64_t serial)
{
	struct sided_worker *worker = entry->worker;
	struct json_object *request;
	bool is_sent;

	/* Another process has no report of the program. */
	if (!worker_is_ready(entry))
		return;
	request = json_object_new_object();
	is_sent = json_put_text(request, "verb", "loaded") &&
			json_put_number(request, "serial", serial) &&
			!frame_put(&worker->out, request);
	json_object_put(request);
	if (is_sent)
		sided_worker_flush(daemon, worker);
}

unsigned int worker_restarts(const struct session_entry *entry)
{
	return entry->worker ? entry->worker->restarts : 0;
}

pid_t worker_pid(const struct session_entry *entry)
{
	return entry->worker ? entry->worker->pid : 0;
}

static void note_reaped(struct daemon *daemon, pid_t pid)
{
	struct session_entry *entry;

	for (entry = daemon->sessions; entry; entry = entry->next)
		if (entry->worker && entry->worker->pid == pid)
			entry->worker->is_reaped = true;
}

/* The exit of each process is handled at its socket. */
void workers_reap(struct daemon *daemon)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		note_reaped(daemon, pid);
}
