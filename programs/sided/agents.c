/* SPDX-License-Identifier: MIT */
/*
 * Handles the connections of traced programs to the daemon.
 *
 * A program sends ARRIVE and gets WELCOME. When it has joined the sessions, it sends DONE. A
 * program that only passes its connection to a session sends PASS. If a program keeps its
 * connection, it gets another WELCOME after each change. The newest WELCOME contains everything, so
 * none is ever queued: if the socket does not accept it, the daemon sends the state of a later
 * time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "recorder/core/peer.h"
#include "recorder/core/session.h"
#include "sided.h"
#include "protocol/runtime.h"
#include "protocol/protocol.h"

#define PAUSE_MS 100
#define WELCOME_REMAINDER 2560 /* maximum bytes of a WELCOME in addition to its sessions */

/* ---- listening ---- */

static void sided_agents_resume_listening(struct daemon *daemon, struct timer *timer)
{
	(void)timer;
	loop_change(daemon, &daemon->control_listener, EPOLLIN);
	loop_change(daemon, &daemon->agents_listener, EPOLLIN);
	rendezvous_listen_all(daemon, true);
}

/* Returns the connection of this user that has been silent for the longest time. */
static struct sided_agent *sided_agent_oldest_unidentified(const struct daemon *daemon, uid_t uid)
{
	struct sided_agent *agent, *oldest = NULL;

	for (agent = daemon->unidentified; agent; agent = agent->next)
		if (agent->peer.uid == uid)
			oldest = agent;
	return oldest;
}

/*
 * Returns the oldest connection of the user with most of them, so that a user with few connections
 * loses none to others.
 */
static struct sided_agent *sided_agent_oldest_of_largest_user(const struct daemon *daemon)
{
	const struct sided_agent *agent;
	uint64_t most = 0;
	uid_t uid = 0;

	for (agent = daemon->unidentified; agent; agent = agent->next) {
		uint64_t used = shares_used(&daemon->unidentified_shares, agent->peer.uid);

		if (used <= most)
			continue;
		most = used;
		uid = agent->peer.uid;
	}
	return most ? sided_agent_oldest_unidentified(daemon, uid) : NULL;
}

/*
 * Call if no descriptor is free: closes the oldest silent connection of the user who has most of
 * them. If there is none, stops listening for PAUSE_MS.
 */
void loop_pause_listening(struct daemon *daemon)
{
	struct sided_agent *oldest = sided_agent_oldest_of_largest_user(daemon);

	if (oldest) {
		agent_close(daemon, oldest);
		return;
	}
	loop_change(daemon, &daemon->control_listener, 0);
	loop_change(daemon, &daemon->agents_listener, 0);
	rendezvous_listen_all(daemon, false);
	loop_timer(daemon, &daemon->relisten, PAUSE_MS, sided_agents_resume_listening);
}

/* ---- connections that have not identified themselves ---- */

static void sided_agent_set_identified(struct daemon *daemon, struct sided_agent *agent)
{
	if (!agent->at)
		return;
	*agent->at = agent->next;
	if (agent->next)
		agent->next->at = agent->at;
	agent->at = NULL;
	agent->next = NULL;
	daemon->nr_unidentified--;
	shares_give_back(&daemon->unidentified_shares, agent->peer.uid, 1);
	loop_cancel(daemon, &agent->timer);
}

static void sided_agent_set_unidentified(struct daemon *daemon, struct sided_agent *agent)
{
	agent->next = daemon->unidentified;
	agent->at = &daemon->unidentified;
	if (agent->next)
		agent->next->at = &agent->next;
	daemon->unidentified = agent;
	daemon->nr_unidentified++;
	shares_charge(&daemon->unidentified_shares, agent->peer.uid, 1);
}

static void sided_agent_destroy(struct daemon *daemon, struct sided_object *object)
{
	struct sided_agent *agent = container_of(object, struct sided_agent, object);

	(void)daemon;
	free(agent);
}

void agent_close(struct daemon *daemon, struct sided_agent *agent)
{
	if (agent->object.is_closed)
		return;
	sided_agent_set_identified(daemon, agent);
	loop_cancel(daemon, &agent->timer);
	loop_unwatch(daemon, &agent->process);
	peer_close(loop_release(daemon, &agent->watch), agent->refuses_fds);
	object_close(daemon, &agent->object);
	/* The program no longer waits: count it for sessions that have no recorder. */
	if (agent->is_delayed && agent->program)
		workers_count_unrecorded(daemon, agent->program);
	rendezvous_disconnected(daemon, agent);
	program_disconnected(daemon, agent);
}

static void sided_agent_silence_ended(struct daemon *daemon, struct timer *timer)
{
	agent_close(daemon, container_of(timer, struct sided_agent, timer));
}

/* ---- WELCOME ---- */

/* The parts of a WELCOME before they are joined. */
struct welcome_buffers {
	char sessions[WIRE_WELCOME_SESSIONS_BYTES_MAX];
	char pushes[WIRE_MESSAGE_MAX - WIRE_WELCOME_SESSIONS_BYTES_MAX - WELCOME_REMAINDER];
	size_t pushes_size;
	char message[WIRE_MESSAGE_MAX];
};

static void sided_agent_add_sessions(struct daemon *daemon, const struct sided_program *program,
		struct wire_welcome *welcome, struct welcome_buffers *buffers)
{
	struct session_entry *entry;

	for (entry = daemon->sessions; entry; entry = entry->next) {
		char path[WIRE_SESSION_PATH_MAX + 1];
		struct wire_welcome_session session = {
				.generation = entry->generation, .path = path};

		if (!session_is_present(entry) ||
				!is_in_scope(session_scope(daemon, entry), program->uid) ||
				!session_socket(daemon, entry, path, sizeof(path)) ||
				wire_welcome_add(welcome, buffers->sessions,
						sizeof(buffers->sessions), &session))
			continue;
		buffers->pushes_size += push_add(entry, program, welcome->nr_sessions - 1,
				buffers->pushes + buffers->pushes_size,
				sizeof(buffers->pushes) - buffers->pushes_size);
	}
}

static int sided_agent_send_welcome(
		struct daemon *daemon, struct sided_agent *agent, const char *refusal)
{
	static struct welcome_buffers buffers;
	struct wire_welcome welcome = {.accepted = !refusal,
			.serial = daemon->serial,
			.sessions = buffers.sessions,
			.reason = refusal ? refusal : ""};
	ssize_t size;

	buffers.pushes_size = 0;
	if (!refusal && agent->program)
		sided_agent_add_sessions(daemon, agent->program, &welcome, &buffers);
	size = wire_encode_welcome(buffers.message, sizeof(buffers.message), &welcome);
	if (size < 0)
		return (int)size;
	memcpy(buffers.message + size, buffers.pushes, buffers.pushes_size);
	return wire_send(agent->watch.fd, buffers.message, (size_t)size + buffers.pushes_size, NULL,
			0, 0);
}

void agent_welcome(struct daemon *daemon, struct sided_agent *agent)
{
	int ret;

	/* It gets the WELCOME later, with all changes. */
	if (agent->is_delayed && agent->program && pending_delays(daemon, agent->program))
		return;
	ret = sided_agent_send_welcome(daemon, agent, NULL);
	agent->is_delayed = false;
	loop_cancel(daemon, &agent->timer);
	agent->welcome_is_pending = ret == -EAGAIN || ret == -ENOBUFS;
	if (ret && !agent->welcome_is_pending) {
		agent_close(daemon, agent);
		return;
	}
	loop_change(daemon, &agent->watch,
			agent->welcome_is_pending ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

/* ---- messages of programs ---- */

/* True if the process of a session is starting (for the first time or again) and has not failed. */
static bool sided_agent_session_is_starting(const struct daemon *daemon)
{
	const struct session_entry *entry;

	for (entry = daemon->sessions; entry; entry = entry->next)
		if (session_is_present(entry) && !worker_is_ready(entry) && !entry->error)
			return true;
	return false;
}

static void sided_agent_delay_ended(struct daemon *daemon, struct timer *timer)
{
	struct sided_agent *agent = container_of(timer, struct sided_agent, timer);

	if (agent->program)
		workers_count_unrecorded(daemon, agent->program);
	agent->is_delayed = false;
	agent_welcome(daemon, agent);
}

/*
 * Delays the WELCOME if the program has pending probes, or if a session's process is starting: the
 * program would find no recorder there, and would lose its events until it is notified. All programs
 * are notified when the process is ready.
 */
static void sided_agent_welcome_when_ready(struct daemon *daemon, struct sided_agent *agent)
{
	agent->is_delayed = sided_agent_session_is_starting(daemon);
	agent->is_delayed |= agent->program && pending_begin(daemon, agent->program);
	if (agent->is_delayed) {
		loop_timer(daemon, &agent->timer, LIMIT_HOLD_MS, sided_agent_delay_ended);
		return;
	}
	if (agent->program)
		workers_count_unrecorded(daemon, agent->program);
	agent_welcome(daemon, agent);
}

void agents_continue(struct daemon *daemon)
{
	struct sided_program *program, *next;

	if (sided_agent_session_is_starting(daemon))
		return;
	for (size_t i = 0; i < PROGRAM_BUCKETS; i++) {
		for (program = daemon->programs[i]; program; program = next) {
			next = program->next;
			if (program->agent && program->agent->is_delayed &&
					!pending_begin(daemon, program))
				agent_welcome(daemon, program->agent);
		}
	}
}

/* Call if the peer violates the protocol: sends the reason, and closes only this connection. */
static void sided_agent_refuse(struct daemon *daemon, struct sided_agent *agent, const char *reason)
{
	sided_agent_send_welcome(daemon, agent, reason);
	agent_close(daemon, agent);
}

static void sided_agent_handle_arrive(
		struct daemon *daemon, struct sided_agent *agent, const void *message, size_t size)
{
	struct wire_arrive arrive;
	const char *reason = "cannot parse the message";
	struct sided_program *program = NULL;

	/* If the process has exited, its process id can belong to another program by now. */
	if (agent->process.fd >= 0 && peer_has_exited(agent->process.fd)) {
		agent_close(daemon, agent);
		return;
	}
	if (!wire_decode_arrive(message, size, &arrive))
		program = program_arrive(daemon, agent, &arrive, &reason);
	if (!program) {
		sided_agent_refuse(daemon, agent, reason);
		return;
	}
	sided_agent_set_identified(daemon, agent);
	/* The program ends with its process, and the connection ends with the program. */
	if (program->watch.fd >= 0)
		loop_unwatch(daemon, &agent->process);
	sided_agent_welcome_when_ready(daemon, agent);
}

/* Passes the connection to a session, which identifies the peer itself. */
static void sided_agent_forward(
		struct daemon *daemon, struct sided_agent *agent, const void *message, size_t size)
{
	struct session_entry *entry;
	struct wire_pass pass;

	if (wire_decode_pass(message, size, &pass))
		return;
	for (entry = daemon->sessions; entry; entry = entry->next) {
		char path[WIRE_SESSION_PATH_MAX + 1];

		if (session_is_present(entry) &&
				session_socket(daemon, entry, path, sizeof(path)) &&
				!strcmp(path, pass.path)) {
			if (!worker_pass(daemon, entry, agent->watch.fd))
				return;
			wire_send(agent->watch.fd, message, size, NULL, 0, 0);
			/*
			 * The session has a duplicate of this descriptor. If it was just killed,
			 * this close is the last one.
			 */
			peer_close_listener(
					loop_release(daemon, &agent->watch), agent->refuses_fds);
			return;
		}
	}
}

static void sided_agent_handle_done(
		struct daemon *daemon, struct sided_agent *agent, const void *message, size_t size)
{
	struct wire_done done;

	if (wire_decode_done(message, size, &done) || done.token != agent->program->token ||
			done.serial > daemon->serial)
		sided_agent_refuse(daemon, agent, "protocol error: the DONE of another program");
	else
		program_done(daemon, agent->program, &done);
}

/* True if this process was counted already, as far as the daemon remembers: an agent can retry. */
static bool sided_agent_is_counted(struct daemon *daemon, const struct peer *peer)
{
	const struct foreign_release one = {peer->pid, session_process_start(peer->pid)};
	size_t i;

	for (i = 0; i < FOREIGN_RELEASES; i++)
		if (daemon->foreign[i].pid == one.pid && daemon->foreign[i].started == one.started)
			return true;
	daemon->foreign[daemon->nr_foreign++ % FOREIGN_RELEASES] = one;
	return false;
}

/*
 * Refuses a program with the agent of another release. The layout of rings and messages differs, so
 * it is not recorded.
 */
static void sided_agent_refuse_version(
		struct daemon *daemon, struct sided_agent *agent, unsigned int version)
{
	struct session_entry *entry;

	if (version && !agent->program && !sided_agent_is_counted(daemon, &agent->peer)) {
		log_about(daemon, agent->peer.uid,
				"process %d of user %u is not recorded: its agent has version %u of the protocol, this daemon version %u; restart it with the libside of this release",
				agent->peer.pid, (unsigned int)agent->peer.uid, version,
				WIRE_PROTOCOL_VERSION);
		for (entry = daemon->sessions; entry; entry = entry->next)
			entry->nr_foreign += session_is_present(entry) &&
					is_in_scope(session_scope(daemon, entry), agent->peer.uid);
	}
	sided_agent_refuse(daemon, agent, "the daemon has another version of the protocol");
}

static void sided_agent_handle_message(
		struct daemon *daemon, struct sided_agent *agent, const void *message, size_t size)
{
	int type = wire_message_type(message, size);

	if (type == WIRE_ARRIVE && !agent->program) {
		sided_agent_handle_arrive(daemon, agent, message, size);
	} else if (type == WIRE_DONE && agent->program) {
		sided_agent_handle_done(daemon, agent, message, size);
	} else if (type == WIRE_PASS && !agent->program) {
		sided_agent_forward(daemon, agent, message, size);
		agent_close(daemon, agent);
	} else if (type == -EPROTONOSUPPORT) {
		sided_agent_refuse_version(daemon, agent, wire_message_version(message, size));
	} else if (type == WIRE_ARRIVE) {
		sided_agent_refuse(
				daemon, agent, "protocol error: a second ARRIVE on one connection");
	} else if (type == WIRE_DONE) {
		sided_agent_refuse(daemon, agent, "protocol error: DONE before ARRIVE");
	} else if (type == WIRE_PASS) {
		sided_agent_refuse(daemon, agent, "protocol error: PASS after ARRIVE");
	} else {
		sided_agent_refuse(daemon, agent,
				"protocol error: a message that is not for the daemon");
	}
}

static void sided_agent_ready(struct daemon *daemon, struct sided_watch *watch, uint32_t events)
{
	struct sided_agent *agent = container_of(watch, struct sided_agent, watch);
	static char message[WIRE_MESSAGE_MAX];
	ssize_t size;

	if (events & EPOLLOUT && agent->welcome_is_pending)
		agent_welcome(daemon, agent);
	if (agent->object.is_closed)
		return;
	/*
	 * Receive one message at a time: if there are more, the loop calls this again after all
	 * other watches.
	 */
	size = peer_receive(agent->watch.fd, message, sizeof(message), agent->refuses_fds);
	if (size == -EAGAIN)
		return;
	if (size > 0)
		sided_agent_handle_message(daemon, agent, message, (size_t)size);
	else
		agent_close(daemon, agent);
}

/* ---- new connections ---- */

/*
 * A program identifies itself at once when it connects. So in a flood of connections, silent ones
 * are closed for new ones, and new ones are not refused: a refused program would never be traced.
 */
static void sided_agent_evict_unidentified(struct daemon *daemon, uid_t uid)
{
	struct sided_agent *oldest = NULL;

	if (shares_used(&daemon->unidentified_shares, uid) >= LIMIT_UNIDENTIFIED_OF_USER)
		oldest = sided_agent_oldest_unidentified(daemon, uid);
	else if (daemon->nr_unidentified >= LIMIT_UNIDENTIFIED)
		oldest = sided_agent_oldest_of_largest_user(daemon);
	if (oldest)
		agent_close(daemon, oldest);
}

/* A connection is closed when its process exits, even if it never sent a message. */
static void sided_agent_exited(struct daemon *daemon, struct sided_watch *watch, uint32_t events)
{
	struct sided_agent *agent = container_of(watch, struct sided_agent, process);

	(void)events;
	agent_close(daemon, agent);
}

static int sided_agent_watch_process(struct daemon *daemon, struct sided_agent *agent, int socket)
{
	const struct ucred cred = {.pid = agent->peer.pid, .uid = agent->peer.uid};
	int fd = peer_open_process(socket, &cred), ret;

	/*
	 * Before Linux 6.5 there is no pidfd of a process in a pid namespace that the daemon does
	 * not see.
	 */
	if (fd < 0)
		return agent->peer.pid ? fd : 0;
	ret = loop_watch(daemon, &agent->process, fd, EPOLLIN, sided_agent_exited);
	if (ret)
		close(fd);
	return ret;
}

static int sided_agent_watch(struct daemon *daemon, struct sided_agent *agent, int fd)
{
	int ret = runtime_peer(fd, &agent->peer);

	if (!ret)
		ret = sided_agent_watch_process(daemon, agent, fd);
	if (!ret)
		ret = loop_watch(daemon, &agent->watch, fd, EPOLLIN, sided_agent_ready);
	if (ret)
		loop_unwatch(daemon, &agent->process);
	return ret;
}

static void sided_agent_accept(struct daemon *daemon, int fd, struct rendezvous *rendezvous)
{
	struct sided_agent *agent = calloc(1, sizeof(*agent));
	/* Another process has created the rendezvous socket, and can still change it. */
	bool refuses_fds = !rendezvous && daemon->agents_refuse_fds;

	if (!agent) {
		peer_close(fd, refuses_fds);
		return;
	}
	object_init(&agent->object, sided_agent_destroy);
	agent->watch.owner = agent->process.owner = agent->timer.owner = &agent->object;
	agent->watch.fd = agent->process.fd = -1;
	agent->refuses_fds = refuses_fds;
	if (sided_agent_watch(daemon, agent, fd)) {
		object_close(daemon, &agent->object);
		peer_close(fd, refuses_fds);
		return;
	}
	rendezvous_connected(daemon, agent, rendezvous);
	if (!daemon->any_user && agent->peer.uid != daemon->uid) {
		sided_agent_refuse(daemon, agent, "this daemon belongs to another user");
		return;
	}
	sided_agent_evict_unidentified(daemon, agent->peer.uid);
	sided_agent_set_unidentified(daemon, agent);
	loop_timer(daemon, &agent->timer, LIMIT_UNIDENTIFIED_MS, sided_agent_silence_ended);
}

void agents_ready(struct daemon *daemon, struct sided_watch *watch, uint32_t events)
{
	struct rendezvous *rendezvous = rendezvous_of_watch(daemon, watch);
	int i;

	(void)events;
	for (i = 0; i < ACCEPTS_AT_ONCE; i++) {
		int fd = rendezvous_accept(rendezvous, watch);

		if (fd >= 0)
			sided_agent_accept(daemon, fd, rendezvous);
		else if (errno == ENOBUFS || error_is_lack_of_resources(errno))
			return loop_pause_listening(daemon);
		else if (errno != EINTR && errno != ECONNABORTED)
			return;
	}
}

void agents_close(struct daemon *daemon)
{
	while (daemon->unidentified)
		agent_close(daemon, daemon->unidentified);
	shares_free(&daemon->unidentified_shares);
	loop_cancel(daemon, &daemon->relisten);
}
