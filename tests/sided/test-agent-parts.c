/* SPDX-License-Identifier: MIT */
/*
 * Connections of programs: which are accepted, the effect of each message, and the content of a
 * WELCOME. The test includes agents.c, and plays the loop, the programs, the sessions and the
 * rendezvous sockets.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../called.h"
#include "../resources.h"
#include "played-loop.h"
#include "recorder/core/peer.h"
#include "recorder/core/session.h"
#include "protocol/protocol.h"

#define UID 47
#define PID 1234

static struct daemon daemon_of_test;
static struct peer next_peer = {.pid = PID, .uid = UID, .gid = 48};
static int peer_error, process_error, send_error;
static bool has_no_memory, has_exited, takes_pass;
static int accepts[48]; /* descriptors or negative errors */
static unsigned int nr_accepts;
static struct rendezvous *accepting;
static ssize_t received; /* 0: the message in `message` */
static struct sided_program *arriving;
static unsigned char message_of_test[WIRE_MESSAGE_MAX];
static size_t message_size;
static unsigned char sent[WIRE_MESSAGE_MAX];
static size_t sent_size;

static int new_descriptor(void)
{
	int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

	assert_true(fd >= 0);
	return fd;
}

static const char *loop_name(const struct sided_watch *watch)
{
	const struct sided_agent *agent = (const struct sided_agent *)(const void *)watch->owner;

	return watch == &daemon_of_test.control_listener           ? "control"
			: watch == &daemon_of_test.agents_listener ? "agents"
			: watch == &agent->watch                   ? "socket"
								   : "process";
}

/* ---- Neighbours ---- */

int runtime_peer(int fd, struct peer *peer)
{
	assert_true(fd >= 0);
	*peer = next_peer;
	return peer_error;
}

void log_about(struct daemon *daemon, uid_t uid, const char *format, ...)
{
	char text[300];
	va_list arguments;

	(void)daemon;
	assert_int_equal(uid, next_peer.uid);
	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	called("say(%s) ", text);
}

struct sided_program *program_arrive(struct daemon *daemon, struct sided_agent *agent,
		const struct wire_arrive *arrive, const char **reason)
{
	called("arrive(%llu) ", (unsigned long long)arrive->token);
	if (!arriving) {
		*reason = "there is no place";
		return NULL;
	}
	ref_set(daemon, agent->program, arriving);
	return arriving;
}

void program_done(
		struct daemon *daemon, struct sided_program *program, const struct wire_done *done)
{
	(void)daemon;
	called("done(%llu,%llu) ", (unsigned long long)program->token,
			(unsigned long long)done->serial);
}

void program_disconnected(struct daemon *daemon, struct sided_agent *agent)
{
	called("disconnected(%d) ", agent->program != NULL);
	ref_set(daemon, agent->program, NULL);
}

bool session_socket(const struct daemon *daemon, const struct session_entry *entry, char *path,
		size_t capacity)
{
	(void)daemon;
	assert_int_equal(capacity, WIRE_SESSION_PATH_MAX + 1);
	(void)snprintf(path, capacity, "/s/%s", entry->output);
	return *entry->output != '!';
}

bool worker_is_ready(const struct session_entry *entry)
{
	return entry->nr_unrecorded != 0;
}

bool worker_pass(struct daemon *daemon, struct session_entry *entry, int fd)
{
	(void)daemon;
	assert_true(fd >= 0);
	called("pass(%s) ", entry->output);
	return takes_pass;
}

static bool is_resolving;

bool pending_begin(struct daemon *daemon, const struct sided_program *program)
{
	(void)daemon;
	(void)program;
	return is_resolving;
}

bool pending_delays(const struct daemon *daemon, const struct sided_program *program)
{
	(void)daemon;
	(void)program;
	return is_resolving;
}

void workers_count_unrecorded(struct daemon *daemon, struct sided_program *program)
{
	(void)daemon;
	called("miss(%llu) ", (unsigned long long)program->token);
}

size_t push_add(const struct session_entry *entry, const struct sided_program *program,
		uint32_t index, char *message, size_t capacity)
{
	size_t size = strlen(entry->output) + 3;
	char text[32];

	called("push(%s,%u,%llu,%zu) ", entry->output, index, (unsigned long long)program->token,
			capacity);
	(void)snprintf(text, sizeof(text), "<%s%u>", entry->output, index);
	memcpy(message, text, size);
	return size;
}

struct rendezvous *rendezvous_of_watch(const struct daemon *daemon, const struct sided_watch *watch)
{
	assert_ptr_equal(watch, &daemon->agents_listener);
	return accepting;
}

int rendezvous_accept(const struct rendezvous *rendezvous, const struct sided_watch *watch)
{
	int fd;

	assert_ptr_equal(rendezvous, accepting);
	assert_ptr_equal(watch, &daemon_of_test.agents_listener);
	fd = accepts[nr_accepts++];
	errno = fd < 0 ? -fd : 0;
	return fd < 0 ? -1 : fd;
}

void rendezvous_connected(
		struct daemon *daemon, struct sided_agent *agent, struct rendezvous *rendezvous)
{
	(void)daemon;
	(void)agent;
	called("door(%d) ", rendezvous != NULL);
}

void rendezvous_disconnected(struct daemon *daemon, struct sided_agent *agent)
{
	(void)daemon;
	assert_true(agent->object.is_closed);
	called("left ");
}

void rendezvous_listen_all(struct daemon *daemon, bool listen)
{
	(void)daemon;
	called("doors(%d) ", listen);
}

/* ---- Calls of agents.c ---- */

static ssize_t played_receive(int fd, void *message, size_t capacity, bool refuses)
{
	(void)refuses;
	assert_true(fd >= 0);
	assert_int_equal(capacity, WIRE_MESSAGE_MAX);
	if (received)
		return received < -1 ? received : received + 1;
	memcpy(message, message_of_test, message_size);
	return (ssize_t)message_size;
}

static void played_close(const char *name, int fd, bool refuses)
{
	called("%s(%d,%d) ", name, fd >= 0, refuses);
	if (fd >= 0)
		close(fd);
}

static int played_send(const void *message, size_t size)
{
	assert_true(size <= sizeof(sent));
	memcpy(sent, message, size);
	sent_size = size;
	called("send ");
	return send_error;
}

static int played_open(const struct ucred *cred)
{
	assert_true(cred->pid == next_peer.pid && cred->uid == next_peer.uid);
	return process_error ? process_error : new_descriptor();
}

#define calloc(count, size) (has_no_memory ? NULL : calloc(count, size))
#define peer_receive(fd, message, size, refuses) played_receive(fd, message, size, refuses)
#define peer_close(fd, refuses) played_close("close", fd, refuses)
#define peer_close_listener(fd, refuses) played_close("close_listener", fd, refuses)
#define peer_has_exited(fd) ((fd) >= 0 && has_exited)
#define peer_open_process(fd, cred) ((fd) >= 0 ? played_open(cred) : -1)
#define session_process_start(pid) (10000u + (unsigned int)(pid))
#define wire_send(fd, message, size, fds, nr_fds, deadline) \
	((fd) >= 0 && !(fds) && !(nr_fds) && !(deadline) ? played_send(message, size) : -EBADF)
#include "programs/sided/agents.c"
#undef calloc
#undef peer_receive
#undef peer_close
#undef peer_close_listener
#undef peer_has_exited
#undef peer_open_process
#undef session_process_start
#undef wire_send

static char *named(const char *name)
{
	return (char *)(uintptr_t)name;
}

static void end_program(struct daemon *daemon, struct sided_object *object)
{
	(void)daemon;
	(void)object;
}

static struct sided_program program_of_test = {.token = 77, .uid = UID, .watch.fd = -1};

static void begin_program(void)
{
	object_init(&program_of_test.object, end_program);
	arriving = &program_of_test;
}

static void end_of_program(void)
{
	object_close(&daemon_of_test, &program_of_test.object);
	objects_free_unused(&daemon_of_test);
	arriving = NULL;
	assert_int_equal(objects_left(), 0);
}

/* Accepts one connection, and returns it, unless it was refused. */
static struct sided_agent *come(void)
{
	nr_accepts = 0;
	accepts[0] = new_descriptor();
	accepts[1] = -EAGAIN;
	agents_ready(&daemon_of_test, &daemon_of_test.agents_listener, EPOLLIN);
	assert_int_equal(nr_accepts, 2);
	return daemon_of_test.unidentified;
}

static struct sided_agent *come_quietly(void)
{
	struct sided_agent *agent = come();

	*calls = '\0';
	return agent;
}

static void begin(void)
{
	daemon_of_test = (struct daemon){.uid = UID,
			.serial = 9,
			.control_listener = {.fd = 0, .events = EPOLLIN},
			.agents_listener = {.fd = 0, .events = EPOLLIN}};
	next_peer = (struct peer){.pid = PID, .uid = UID, .gid = 48};
	*calls = '\0';
}

static struct wire_welcome welcome_sent(void)
{
	struct wire_welcome welcome = {.accepted = false};

	assert_int_equal(wire_decode_welcome(sent, sent_size, &welcome), 0);
	return welcome;
}

static void check_refused(const char *reason)
{
	struct wire_welcome welcome = welcome_sent();

	assert_false(welcome.accepted);
	assert_int_equal(welcome.nr_sessions, 0);
	assert_string_equal(welcome.reason, reason);
}

#define GONE "cancel release(process) release(socket) close(1,0) left disconnected(0) "

/* ---- Accepting ---- */

static void test_accept(void **state)
{
	struct resources before = resources_now();
	struct sided_agent *agent;
	size_t memory = 0;

	(void)state;
	begin();
	agent = come();
	assert_called("watch(process,1) watch(socket,1) door(0) timer(3000) ");
	assert_true(agent->peer.pid == PID && agent->peer.uid == UID && agent->peer.gid == 48 &&
			!agent->refuses_fds && !agent->is_delayed && !agent->welcome_is_pending);
	assert_int_equal(shares_used(&daemon_of_test.unidentified_shares, UID), 1);
	assert_int_equal(daemon_of_test.nr_unidentified, 1);
	loop_expire(&daemon_of_test, &agent->timer);
	assert_called("release(process) release(socket) close(1,0) left disconnected(0) ");
	agent_close(&daemon_of_test, agent);
	assert_called("");
	assert_int_equal(daemon_of_test.nr_unidentified, 0);
	assert_int_equal(shares_used(&daemon_of_test.unidentified_shares, UID), 0);
	/* Its process ends. */
	agent = come_quietly();
	agent->process.ready(&daemon_of_test, &agent->process, EPOLLIN);
	assert_called(GONE);
	/* Its kernel refuses descriptors, unless another process can change the socket. */
	daemon_of_test.agents_refuse_fds = true;
	agent = come_quietly();
	assert_true(agent->refuses_fds);
	accepting = (struct rendezvous *)(void *)&before;
	agent = come();
	assert_called("watch(process,1) watch(socket,1) door(1) timer(3000) ");
	assert_false(agent->refuses_fds);
	accepting = NULL;
	agents_close(&daemon_of_test);
	assert_called(GONE
			"cancel release(process) release(socket) close(1,1) left disconnected(0) ");
	has_no_memory = true;
	assert_null(come());
	assert_called("close(1,1) ");
	has_no_memory = false;
	objects_free_unused(&daemon_of_test);
	/* The C library keeps the first ones that are freed. */
	for (int i = 0; i < 20; i++) {
		if (i == 10)
			memory = resources_memory();
		agent_close(&daemon_of_test, come_quietly());
		objects_free_unused(&daemon_of_test);
	}
	assert_int_equal(resources_memory(), memory);
	*calls = '\0';
	/* Each call that fails. */
	peer_error = -ENOTCONN;
	assert_null(come());
	assert_called("close(1,1) ");
	peer_error = 0;
	process_error = -ESRCH;
	assert_null(come());
	assert_called("close(1,1) ");
	failing_watch = "process";
	process_error = 0;
	assert_null(come());
	assert_called("watch(process,1) close(1,1) ");
	failing_watch = "socket";
	assert_null(come());
	assert_called("watch(process,1) watch(socket,1) release(process) close(1,1) ");
	failing_watch = NULL;
	/* A process that the daemon cannot see. */
	next_peer.pid = 0;
	process_error = -ESRCH;
	agent = come();
	assert_called("watch(socket,1) door(0) timer(3000) ");
	assert_int_equal(agent->process.fd, -1);
	process_error = 0;
	agents_close(&daemon_of_test);
	*calls = '\0';
	/* Another user. */
	next_peer.pid = PID;
	next_peer.uid = UID + 1;
	assert_null(come());
	assert_called("watch(process,1) watch(socket,1) door(0) send release(process) release(socket) close(1,1) left disconnected(0) ");
	check_refused("this daemon belongs to another user");
	daemon_of_test.any_user = true;
	agent = come_quietly();
	/* The next connection of a user whose share is used up. */
	shares_charge(&daemon_of_test.unidentified_shares, UID + 1, LIMIT_UNIDENTIFIED_OF_USER - 1);
	assert_non_null(come());
	assert_true(agent->object.is_closed);
	assert_called("watch(process,1) watch(socket,1) door(0) cancel release(process) release(socket) close(1,1) left disconnected(0) timer(3000) ");
	agents_close(&daemon_of_test);
	assert_null(daemon_of_test.unidentified_shares.users);
	objects_free_unused(&daemon_of_test);
	assert_int_equal(objects_left(), 0);
	assert_int_equal(resources_now().descriptors, before.descriptors);
}

static void test_accept_errors(void **state)
{
	static const struct {
		int error;
		unsigned int calls;
		const char *called;
	} cases[] = {
			{EINTR, ACCEPTS_AT_ONCE, ""},
			{ECONNABORTED, ACCEPTS_AT_ONCE, ""},
			{EAGAIN, 1, ""},
			{EINVAL, 1, ""},
			{EMFILE, 1, "change(control,0) change(agents,0) doors(0) timer(100) "},
			{ENFILE, 1, "change(control,0) change(agents,0) doors(0) timer(100) "},
			{ENOBUFS, 1, "change(control,0) change(agents,0) doors(0) timer(100) "},
			{ENOMEM, 1, "change(control,0) change(agents,0) doors(0) timer(100) "},
	};

	(void)state;
	begin();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (size_t j = 0; j < sizeof(accepts) / sizeof(accepts[0]); j++)
			accepts[j] = -cases[i].error;
		nr_accepts = 0;
		agents_ready(&daemon_of_test, &daemon_of_test.agents_listener, EPOLLIN);
		assert_int_equal(nr_accepts, cases[i].calls);
		assert_called(cases[i].called);
		if (!daemon_of_test.relisten.base.is_set)
			continue;
		loop_expire(&daemon_of_test, &daemon_of_test.relisten);
		assert_called("change(control,1) change(agents,1) doors(1) ");
	}
	loop_pause_listening(&daemon_of_test);
	*calls = '\0';
	agents_close(&daemon_of_test);
	assert_called("cancel ");
}

/* ---- Connections that have sent nothing ---- */

static void test_strangers(void **state)
{
	struct sided_agent *agents[6];

	(void)state;
	begin();
	daemon_of_test.any_user = true;
	assert_null(sided_agent_oldest_of_largest_user(&daemon_of_test));
	agents[0] = come_quietly();
	assert_ptr_equal(sided_agent_oldest_of_largest_user(&daemon_of_test), agents[0]);
	agent_close(&daemon_of_test, agents[0]);
	*calls = '\0';
	/* 5: two connections; 6: three; 7: one. */
	for (unsigned int i = 0; i < 6; i++) {
		next_peer.uid = i == 5 ? 7 : 5 + i % 2 + (i == 4);
		agents[i] = come_quietly();
	}
	assert_ptr_equal(sided_agent_oldest_unidentified(&daemon_of_test, 5), agents[0]);
	assert_ptr_equal(sided_agent_oldest_unidentified(&daemon_of_test, 6), agents[1]);
	assert_ptr_equal(sided_agent_oldest_unidentified(&daemon_of_test, 7), agents[5]);
	assert_null(sided_agent_oldest_unidentified(&daemon_of_test, 8));
	assert_ptr_equal(sided_agent_oldest_of_largest_user(&daemon_of_test), agents[1]);
	/* In the middle, at the end, at the beginning of the list. */
	sided_agent_set_identified(&daemon_of_test, agents[3]);
	assert_called("cancel ");
	assert_int_equal(daemon_of_test.nr_unidentified, 5);
	assert_int_equal(shares_used(&daemon_of_test.unidentified_shares, 6), 2);
	sided_agent_set_identified(&daemon_of_test, agents[3]);
	assert_called("");
	assert_int_equal(daemon_of_test.nr_unidentified, 5);
	/* Of two users with the same number, the one with the newest connection. */
	assert_ptr_equal(sided_agent_oldest_of_largest_user(&daemon_of_test), agents[1]);
	sided_agent_set_identified(&daemon_of_test, agents[0]);
	assert_ptr_equal(sided_agent_oldest_unidentified(&daemon_of_test, 5), agents[2]);
	sided_agent_set_identified(&daemon_of_test, agents[5]);
	assert_ptr_equal(daemon_of_test.unidentified, agents[4]);
	assert_ptr_equal(agents[4]->at, &daemon_of_test.unidentified);
	assert_ptr_equal(agents[4]->next, agents[2]);
	assert_ptr_equal(agents[2]->at, &agents[4]->next);
	assert_null(agents[0]->next);
	assert_null(agents[5]->next);
	*calls = '\0';
	/* No free descriptor: the largest user loses the oldest one. */
	loop_pause_listening(&daemon_of_test);
	assert_true(agents[1]->object.is_closed);
	assert_called(GONE);
	/* The limits of all users, and of one user. */
	shares_charge(&daemon_of_test.unidentified_shares, 5, LIMIT_UNIDENTIFIED_OF_USER - 2);
	sided_agent_evict_unidentified(&daemon_of_test, 5);
	assert_called("");
	shares_charge(&daemon_of_test.unidentified_shares, 5, 1);
	sided_agent_evict_unidentified(&daemon_of_test, 6);
	assert_called("");
	daemon_of_test.nr_unidentified = LIMIT_UNIDENTIFIED - 1;
	sided_agent_evict_unidentified(&daemon_of_test, 6);
	assert_called("");
	daemon_of_test.nr_unidentified++;
	sided_agent_evict_unidentified(&daemon_of_test, 6);
	assert_true(agents[2]->object.is_closed && !agents[4]->object.is_closed);
	assert_called(GONE);
	shares_charge(&daemon_of_test.unidentified_shares, 6, LIMIT_UNIDENTIFIED_OF_USER);
	sided_agent_evict_unidentified(&daemon_of_test, 6);
	assert_true(agents[4]->object.is_closed);
	assert_called(GONE);
	for (unsigned int i = 0; i < 6; i++)
		agent_close(&daemon_of_test, agents[i]);
	objects_free_unused(&daemon_of_test);
	assert_int_equal(objects_left(), 0);
	shares_free(&daemon_of_test.unidentified_shares);
}

/* ---- Messages ---- */

static void receive(struct sided_agent *agent)
{
	agent->watch.ready(&daemon_of_test, &agent->watch, EPOLLIN);
}

static void receive_arrive(struct sided_agent *agent)
{
	const struct wire_arrive arrive = {.pid = 5,
			.control = WIRE_CONTROL_THREAD,
			.token = 77,
			.procname = "p",
			.exe = "/e"};
	ssize_t size = wire_encode_arrive(message_of_test, sizeof(message_of_test), &arrive);

	assert_true(size > 0);
	message_size = (size_t)size;
	receive(agent);
}

static void receive_done(struct sided_agent *agent, uint64_t token, uint64_t serial)
{
	const struct wire_done done = {.token = token, .serial = serial};
	ssize_t size = wire_encode_done(message_of_test, sizeof(message_of_test), &done);

	assert_true(size > 0);
	message_size = (size_t)size;
	receive(agent);
}

static void receive_pass(struct sided_agent *agent, const char *path)
{
	const struct wire_pass pass = {.path = path};
	ssize_t size = wire_encode_pass(message_of_test, sizeof(message_of_test), &pass);

	assert_true(size > 0);
	message_size = (size_t)size;
	receive(agent);
}

static void test_arrive(void **state)
{
	struct sided_agent *agent;

	(void)state;
	begin();
	begin_program();
	/* The process has exited: the message may be from another one. */
	agent = come_quietly();
	has_exited = true;
	receive_arrive(agent);
	assert_called(GONE);
	has_exited = false;
	/* There is no process to check. */
	next_peer.pid = 0;
	process_error = -ESRCH;
	agent = come_quietly();
	has_exited = true;
	receive_arrive(agent);
	assert_called("arrive(77) cancel miss(77) send ");
	process_error = 0;
	has_exited = false;
	next_peer.pid = PID;
	agent_close(&daemon_of_test, agent);
	/* The program table is full. */
	agent = come_quietly();
	arriving = NULL;
	receive_arrive(agent);
	assert_called("arrive(77) send " GONE);
	check_refused("there is no place");
	/* A damaged message. */
	agent = come_quietly();
	receive_arrive(agent);
	*calls = '\0';
	agent = come_quietly();
	message_size--;
	((struct wire_header *)(void *)message_of_test)->size--;
	receive(agent);
	assert_called("send " GONE);
	check_refused("cannot parse the message");
	/* The program watches its process, or the connection does. */
	for (int i = 0; i < 2; i++) {
		arriving = &program_of_test;
		program_of_test.watch.fd = i - 1;
		agent = come_quietly();
		receive_arrive(agent);
		assert_called(i ? "arrive(77) cancel release(process) miss(77) send "
				: "arrive(77) cancel miss(77) send ");
		assert_true(welcome_sent().accepted && welcome_sent().serial == 9);
		assert_string_equal(welcome_sent().reason, "");
		assert_int_equal(daemon_of_test.nr_unidentified, 0);
		receive_arrive(agent);
		assert_called(i ? "send release(socket) close(1,0) left disconnected(1) "
				: "send release(process) release(socket) close(1,0) left disconnected(1) ");
		check_refused("protocol error: a second ARRIVE on one connection");
	}
	program_of_test.watch.fd = -1;
	end_of_program();
	shares_free(&daemon_of_test.unidentified_shares);
}

/* The first WELCOME waits for a starting recorder. */
static void test_held(void **state)
{
	struct session_entry entries[] = {
			{.output = named("a"), .state = SESSION_LIVE, .nr_unrecorded = 1},
			{.output = named("b"), .state = SESSION_DEFINED},
			{.output = named("c"), .state = SESSION_LIVE, .error = named("x")},
			{.output = named("d"), .state = SESSION_LIVE}};
	struct sided_agent *agent;

	(void)state;
	begin();
	begin_program();
	for (int i = 0; i < 3; i++)
		entries[i].next = &entries[i + 1];
	for (int i = 0; i < 4; i++) {
		struct session_entry *next = entries[i].next;

		entries[i].next = NULL;
		daemon_of_test.sessions = &entries[i];
		assert_int_equal(sided_agent_session_is_starting(&daemon_of_test), i == 3);
		entries[i].next = next;
	}
	daemon_of_test.sessions = entries;
	assert_true(sided_agent_session_is_starting(&daemon_of_test));
	for (int i = 0; i < 3; i++) {
		agent = come_quietly();
		receive_arrive(agent);
		assert_called("arrive(77) cancel timer(1500) ");
		assert_true(agent->is_delayed);
		daemon_of_test.sessions = NULL;
		if (i == 0) {
			loop_expire(&daemon_of_test, &agent->timer);
			assert_called("miss(77) send ");
			assert_false(agent->is_delayed);
		} else if (i == 1) {
			agent_welcome(&daemon_of_test, agent);
			assert_called("send cancel ");
			assert_false(agent->is_delayed);
		}
		agent_close(&daemon_of_test, agent);
		assert_called(i == 2 ? "cancel release(process) release(socket) close(1,0) miss(77) left disconnected(1) "
				     : "release(process) release(socket) close(1,0) left disconnected(1) ");
		daemon_of_test.sessions = entries;
	}
	/* The program has exited meanwhile. */
	agent = come_quietly();
	receive_arrive(agent);
	ref_set(&daemon_of_test, agent->program, NULL);
	*calls = '\0';
	daemon_of_test.sessions = NULL;
	loop_expire(&daemon_of_test, &agent->timer);
	assert_called("send ");
	agent->is_delayed = true;
	agent_close(&daemon_of_test, agent);
	assert_called("release(process) release(socket) close(1,0) left disconnected(0) ");
	end_of_program();
	shares_free(&daemon_of_test.unidentified_shares);
}

/* The sessions in a WELCOME, and the messages after it. */
static void test_welcome(void **state)
{
	struct session_entry entries[] = {
			{.output = named("ab"), .state = SESSION_LIVE, .generation = 3, .uid = UID},
			{.output = named("absent"), .state = SESSION_DEFINED, .generation = 4},
			{.output = named("!long"),
					.state = SESSION_LIVE,
					.generation = 5,
					.uid = UID},
			{.output = named("other"),
					.state = SESSION_LIVE,
					.generation = 6,
					.uid = UID + 1},
			{.output = named("cde"), .state = SESSION_LIVE, .generation = 7}};
	struct wire_welcome_session session;
	struct wire_welcome welcome;
	struct sided_agent *agent;
	static char reason[WIRE_MESSAGE_MAX + 1];
	char expected[200];
	size_t at = 0, capacity = WIRE_MESSAGE_MAX - WIRE_WELCOME_SESSIONS_BYTES_MAX - 2560;

	(void)state;
	begin();
	begin_program();
	daemon_of_test.system = true;
	for (int i = 0; i < 4; i++)
		entries[i].next = &entries[i + 1];
	for (int i = 0; i < 5; i++)
		entries[i].nr_unrecorded = 1;
	daemon_of_test.sessions = entries;
	agent = come_quietly();
	for (int i = 0; i < 2; i++) {
		static const char pushes[] = "<ab0><cde1>";

		receive_arrive(agent);
		(void)snprintf(expected, sizeof(expected),
				"arrive(77) cancel miss(77) push(ab,0,77,%zu) push(cde,1,77,%zu) send ",
				capacity, capacity - 5);
		assert_called(expected);
		sent_size -= strlen(pushes);
		assert_memory_equal(sent + sent_size, pushes, strlen(pushes));
		welcome = welcome_sent();
		at = 0;
		assert_int_equal(welcome.nr_sessions, 2);
		assert_true(wire_welcome_next(&welcome, &at, &session));
		assert_string_equal(session.path, "/s/ab");
		assert_int_equal(session.generation, 3);
		assert_true(wire_welcome_next(&welcome, &at, &session));
		assert_string_equal(session.path, "/s/cde");
		assert_int_equal(session.generation, 7);
		agent_close(&daemon_of_test, agent);
		agent = come_quietly();
	}
	/* A reason that is too long for a message. */
	memset(reason, 'x', sizeof(reason) - 1);
	*calls = '\0';
	assert_true(sided_agent_send_welcome(&daemon_of_test, agent, reason) < 0);
	assert_called("");
	/* A connection without a program receives no session. */
	agent_welcome(&daemon_of_test, agent);
	assert_called("send cancel ");
	assert_int_equal(welcome_sent().nr_sessions, 0);
	/* The socket is full: sent later. */
	for (int i = 0; i < 2; i++) {
		send_error = i ? -EAGAIN : -ENOBUFS;
		agent_welcome(&daemon_of_test, agent);
		assert_called("send change(socket,5) ");
		assert_true(agent->welcome_is_pending);
		send_error = 0;
		received = -EAGAIN;
		agent->watch.ready(&daemon_of_test, &agent->watch, EPOLLIN);
		assert_called("");
		agent->watch.ready(&daemon_of_test, &agent->watch, EPOLLOUT);
		assert_called("send change(socket,1) ");
		assert_false(agent->welcome_is_pending);
		agent->watch.ready(&daemon_of_test, &agent->watch, EPOLLOUT);
		assert_called("");
		received = 0;
	}
	/* The peer has closed the connection. */
	send_error = -EAGAIN;
	agent_welcome(&daemon_of_test, agent);
	send_error = -EPIPE;
	*calls = '\0';
	agent->watch.ready(&daemon_of_test, &agent->watch, EPOLLIN | EPOLLOUT);
	assert_called("send release(process) release(socket) close(1,0) left disconnected(0) ");
	send_error = 0;
	/* The end of the connection, and an error. */
	for (int i = 0; i < 2; i++) {
		agent = come_quietly();
		received = i ? -EPROTO : -1;
		receive(agent);
		assert_called(GONE);
	}
	received = 0;
	end_of_program();
	shares_free(&daemon_of_test.unidentified_shares);
}

static void test_pass(void **state)
{
	struct session_entry entries[] = {{.output = named("x"), .state = SESSION_DEFINED},
			{.output = named("!x"), .state = SESSION_LIVE},
			{.output = named("y"), .state = SESSION_LIVE},
			{.output = named("x"), .state = SESSION_LIVE}};
	struct sided_agent *agent;

	(void)state;
	begin();
	begin_program();
	for (int i = 0; i < 3; i++)
		entries[i].next = &entries[i + 1];
	daemon_of_test.sessions = entries;
	takes_pass = true;
	agent = come_quietly();
	receive_pass(agent, "/s/x");
	assert_called("pass(x) send release(socket) close_listener(1,0) cancel release(process) close(0,0) left disconnected(0) ");
	assert_int_equal(sent_size, message_size);
	assert_memory_equal(sent, message_of_test, message_size);
	agent = come_quietly();
	takes_pass = false;
	receive_pass(agent, "/s/x");
	assert_called("pass(x) " GONE);
	agent = come_quietly();
	receive_pass(agent, "/s/!x");
	assert_called(GONE);
	agent = come_quietly();
	receive_pass(agent, "/s/z");
	assert_called(GONE);
	takes_pass = true;
	agent = come_quietly();
	receive_pass(agent, "/s/x");
	*calls = '\0';
	/* A damaged message. */
	agent = come_quietly();
	((struct wire_header *)(void *)message_of_test)->size--;
	message_size--;
	receive(agent);
	assert_called(GONE);
	/* A message of a program that has arrived. */
	daemon_of_test.sessions = NULL;
	agent = come_quietly();
	receive_arrive(agent);
	*calls = '\0';
	receive_pass(agent, "/s/x");
	assert_called("send release(process) release(socket) close(1,0) left disconnected(1) ");
	check_refused("protocol error: PASS after ARRIVE");
	end_of_program();
	shares_free(&daemon_of_test.unidentified_shares);
}

static void test_done(void **state)
{
	static const struct {
		uint64_t token, serial;
	} wrong[] = {{76, 9}, {78, 9}, {77, 10}};
	const struct wire_bye bye = {.token = 77};
	struct sided_agent *agent;

	(void)state;
	begin();
	begin_program();
	agent = come_quietly();
	receive_done(agent, 77, 9);
	assert_called("send " GONE);
	check_refused("protocol error: DONE before ARRIVE");
	agent = come_quietly();
	receive_arrive(agent);
	*calls = '\0';
	receive_done(agent, 77, 9);
	assert_called("done(77,9) ");
	receive_done(agent, 77, 8);
	assert_called("done(77,8) ");
	for (int i = 0; i < 4; i++) {
		if (i < 3) {
			receive_done(agent, wrong[i].token, wrong[i].serial);
		} else {
			message_size = (size_t)wire_encode_bye(
					message_of_test, sizeof(message_of_test), &bye);
			receive(agent);
		}
		assert_called("send release(process) release(socket) close(1,0) left disconnected(1) ");
		check_refused(i < 3 ? "protocol error: the DONE of another program"
				    : "protocol error: a message that is not for the daemon");
		agent = come_quietly();
		receive_arrive(agent);
		*calls = '\0';
	}
	agent_close(&daemon_of_test, agent);
	end_of_program();
	shares_free(&daemon_of_test.unidentified_shares);
}

/*
 * An agent of another release: reported once for each process, and counted by each session that
 * would record it.
 */
static void test_versions(void **state)
{
	struct session_entry entries[] = {{.state = SESSION_LIVE, .uid = UID},
			{.state = SESSION_LIVE, .uid = UID + 1},
			{.state = SESSION_DEFINED, .uid = UID},
			{.state = SESSION_LIVE, .nr_foreign = 40}};
	static const char text[] =
			"say(process 1234 of user 47 is not recorded: its agent has version %d of the protocol, this daemon version %d; restart it with the libside of this release) send " GONE;
	struct wire_header *header = (struct wire_header *)(void *)message_of_test;
	struct peer one = {.uid = UID};
	struct sided_agent *agent;
	char expected[400];

	(void)state;
	begin();
	begin_program();
	daemon_of_test.system = true;
	for (int i = 0; i < 3; i++)
		entries[i].next = &entries[i + 1];
	agent = come_quietly();
	receive_arrive(agent);
	agent_close(&daemon_of_test, agent);
	daemon_of_test.sessions = entries;
	header->version += 3;
	for (int i = 0; i < 3; i++) {
		if (i == 2) {
			daemon_of_test.nr_foreign = 0;
			memset(daemon_of_test.foreign, 0, sizeof(daemon_of_test.foreign));
		}
		agent = come_quietly();
		receive(agent);
		(void)snprintf(expected, sizeof(expected), text, WIRE_PROTOCOL_VERSION + 3,
				WIRE_PROTOCOL_VERSION);
		assert_called(i == 1 ? "send " GONE : expected);
		check_refused("the daemon has another version of the protocol");
		assert_int_equal(entries[0].nr_foreign, 1 + i / 2);
		assert_int_equal(entries[1].nr_foreign, 0);
		assert_int_equal(entries[2].nr_foreign, 0);
		assert_int_equal(entries[3].nr_foreign, 41 + i / 2);
	}
	/* Without a version, or of a program that has arrived: not counted. */
	agent = come_quietly();
	sided_agent_refuse_version(&daemon_of_test, agent, 0);
	assert_called("send " GONE);
	daemon_of_test.nr_foreign = 0;
	memset(daemon_of_test.foreign, 0, sizeof(daemon_of_test.foreign));
	header->version -= 3;
	daemon_of_test.sessions = NULL;
	agent = come_quietly();
	receive_arrive(agent);
	*calls = '\0';
	sided_agent_refuse_version(&daemon_of_test, agent, 2);
	assert_called("send release(process) release(socket) close(1,0) left disconnected(1) ");
	assert_int_equal(daemon_of_test.nr_foreign, 0);
	/* As many processes as the daemon stores, and one more. */
	for (int i = 1; i <= FOREIGN_RELEASES; i++) {
		one.pid = i;
		assert_false(sided_agent_is_counted(&daemon_of_test, &one));
		assert_true(sided_agent_is_counted(&daemon_of_test, &one));
	}
	one.pid = 1;
	assert_true(sided_agent_is_counted(&daemon_of_test, &one));
	one.pid = FOREIGN_RELEASES + 1;
	assert_false(sided_agent_is_counted(&daemon_of_test, &one));
	one.pid = 2;
	assert_true(sided_agent_is_counted(&daemon_of_test, &one));
	one.pid = 1;
	assert_false(sided_agent_is_counted(&daemon_of_test, &one));
	/* Another process has the process ID. */
	daemon_of_test.foreign[5].started++;
	one.pid = daemon_of_test.foreign[5].pid;
	assert_false(sided_agent_is_counted(&daemon_of_test, &one));
	end_of_program();
	shares_free(&daemon_of_test.unidentified_shares);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_accept),
			cmocka_unit_test(test_accept_errors),
			cmocka_unit_test(test_strangers),
			cmocka_unit_test(test_arrive),
			cmocka_unit_test(test_held),
			cmocka_unit_test(test_welcome),
			cmocka_unit_test(test_pass),
			cmocka_unit_test(test_done),
			cmocka_unit_test(test_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
