/* SPDX-License-Identifier: MIT */
/*
 * Limits of the daemon for its clients, programs and session processes: the last permitted value,
 * and one more.
 */
#include <stdio.h>
#include <stdlib.h>

int sided_main(int argc, char **argv);

#define main sided_main
#include "programs/sided/main.c"
#undef main
#include "programs/sided/session-process.c"
#include "programs/sided/handover.c"
#include "programs/sided/workers.c"
#undef PAUSE_MS
#include "programs/sided/agents.c"

#include <ftw.h>
#include <grp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "../check.h"
#include "../resources.h"
#include "recorder/core/session.h"
#include "protocol/protocol.h"

#define MS UINT64_C(1000000)

static char work[] = "/tmp/side-limits-XXXXXX";
static struct daemon the_daemon;

/* Returns whether the text is the expected one. */
static bool is(const char *found, const char *expected)
{
	if (found && !strcmp(found, expected))
		return true;
	fprintf(stderr, "%s instead of %s\n", found ? found : "nothing", expected);
	return false;
}

static const char *in_work(const char *name)
{
	static char paths[4][256];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, 256, "%s/%s", work, name);
	return path;
}

/* Redirects standard error, to discard the messages of the daemon. */
static int mute(void)
{
	int old = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	CHECK(old >= 0 && null >= 0 && dup2(null, STDERR_FILENO) == STDERR_FILENO);
	close(null);
	return old;
}

static void unmute(int old)
{
	CHECK(dup2(old, STDERR_FILENO) == STDERR_FILENO);
	close(old);
}

static void begin(void)
{
	const struct sided_options options = {.runtime = in_work("run"), .boot = "/none"};
	struct error error;
	int old = mute();

	the_daemon = (struct daemon){.lock_fd = -1,
			.serial = 1,
			.control_listener.fd = -1,
			.agents_listener.fd = -1,
			.signals.fd = -1,
			.group = (gid_t)-1};
	set_user(&the_daemon);
	sided_raise_file_limit(&the_daemon);
	CHECK(!open_daemon(&the_daemon, &options, &error));
	unmute(old);
}

static void stop_now(struct daemon *daemon, struct timer *timer)
{
	(void)timer;
	daemon->stop = true;
}

/* One round of the loop, without waiting. */
static void one_turn(void)
{
	static struct timer stopper;

	the_daemon.stop = false;
	loop_timer(&the_daemon, &stopper, 0, stop_now);
	CHECK(!loop_run(&the_daemon));
}

static int connect_to(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", in_work(name));
	CHECK(fd >= 0 && !connect(fd, (struct sockaddr *)&address, sizeof(address)));
	return fd;
}

static int dial(const char *name)
{
	int fd = connect_to(name);

	one_turn();
	return fd;
}

static bool is_hung_up(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0 || errno == ECONNRESET;
}

/* Returns whether the timer, set since `before`, expires after this time. */
static bool ends_after(const struct timer *timer, uint64_t before, uint64_t ms)
{
	return timer->base.is_set && timer->base.deadline >= before + ms * MS &&
			timer->base.deadline <= loop_now() + ms * MS;
}

static struct session_entry *add_entry(const char *name)
{
	struct definition *definition = NULL;
	struct session_entry *entry = NULL;
	struct error error;

	CHECK(!definition_create(name, &definition, &error));
	CHECK(!session_add(&the_daemon, definition, &entry, &error));
	return entry;
}

/* ---- shares ---- */

/* Users take one after the other until none can take more. Returns how many they have together. */
static uint64_t take_all(struct shares *shares)
{
	uint64_t all = 0, before;

	do {
		before = all;
		for (uid_t uid = 1; uid <= 40; uid++)
			all += shares_take(shares, uid, 1);
	} while (all != before);
	return all;
}

static void test_shares(void)
{
	struct daemon daemon = {.uid = 7, .max_programs = 20000};

	CHECK(!clients_open(&daemon) && !rendezvous_open_all(&daemon) && !programs_open(&daemon));
	CHECK(take_all(&daemon.client_shares) == LIMIT_CLIENTS && LIMIT_CLIENTS == 256);
	CHECK(take_all(&daemon.rendezvous_shares) == LIMIT_RENDEZVOUS && LIMIT_RENDEZVOUS == 1024);
	/* The daemon's user has a floor before it takes anything; 16 users have one. */
	CHECK(daemon.client_shares.nr_floors == 16 && daemon.rendezvous_shares.nr_floors == 16 &&
			daemon.program_shares.nr_floors == 16);
	clients_close(&daemon);
	rendezvous_close_all(&daemon);
	programs_close(&daemon);
}

/* ---- connections of the command line ---- */

static void send_number(struct client *client)
{
	struct json_object *number = json_object_new_int(7);

	(void)client_send(&the_daemon, client, number);
	json_object_put(number);
}

/* The peer's socket is full, and one message of 1 byte waits. */
static struct client *fill(int fd)
{
	struct client *client = the_daemon.clients;

	CHECK(client && !client->next);
	(void)fd;
	while (!client->out.first)
		send_number(client);
	return client;
}

static void test_unread(void)
{
	struct resources before = resources_now();
	uint64_t then = loop_now();
	int fd = dial("run/control.sock"), old;
	struct client *client = fill(fd);
	size_t size = client->out.size;

	CHECK(LIMIT_WAITING == 16 << 20 && LIMIT_WAITING_MS == 30000);
	CHECK(ends_after(&client->timer, then, 30000));
	/* A client that does not read gets no more time for another message. */
	then = client->timer.base.deadline;
	send_number(client);
	CHECK(client->timer.base.deadline == then && client->out.size == 2 * size);
	client->out.size = LIMIT_WAITING - size;
	send_number(client);
	CHECK(the_daemon.clients == client && client->out.size == LIMIT_WAITING);
	client->out.size = LIMIT_WAITING - size + 1;
	send_number(client);
	CHECK(!the_daemon.clients);
	close(fd);
	/* The deadline passes. */
	fd = dial("run/control.sock");
	client = fill(fd);
	old = mute();
	client->timer.expired(&the_daemon, &client->timer);
	unmute(old);
	CHECK(!the_daemon.clients);
	close(fd);
	one_turn();
	CHECK(resources_now().descriptors == before.descriptors);
}

static struct json_object *request_as(int fd, uid_t uid, const char *text)
{
	struct json_object *request = json_tokener_parse(text), *answer = NULL;
	uid_t own = the_daemon.clients->peer.uid;
	struct frame_in in = {.fd = -1};
	struct error error;

	CHECK(request);
	the_daemon.clients->peer.uid = uid;
	the_daemon.clients->busy = true;
	verb_take(&the_daemon, the_daemon.clients, request);
	the_daemon.clients->peer.uid = own;
	json_object_put(request);
	CHECK(frame_receive(&in, fd, FRAME_ANSWER_MAX, &answer, &error) == 1);
	frame_in_free(&in);
	return answer;
}

/* Members of the group have 192 sessions together: user 9 has 1, and others have the remainder. */
static void test_sessions_of_members(void)
{
	static const char create[] = "{\"version\":1,\"verb\":\"create\",\"session\":\"new\"}";
	int fd = dial("run/control.sock");
	struct error error;
	struct json_object *answer;
	char name[32];

	the_daemon.system = true;
	add_entry("root");
	for (unsigned int i = 0; i < 191; i++) {
		snprintf(name, sizeof(name), "s%u", i);
		add_entry(name)->uid = i ? 1 + i % 5 : 9;
	}
	answer = request_as(fd, 9, create);
	CHECK(answer && !json_answer(answer, &error) && session_find(&the_daemon, "new")->uid == 9);
	json_object_put(answer);
	session_find(&the_daemon, "new")->uid = 8;
	answer = request_as(fd, 9, "{\"version\":1,\"verb\":\"create\",\"session\":\"newer\"}");
	CHECK(answer && json_answer(answer, &error) == -EREMOTEIO && error.kind == ERROR_BUSY);
	CHECK(is(error.text,
			"cannot create a session: user 9 has 1 of at most 64, all members of the group 192 of at most 192"));
	CHECK(is(error.hint, "`side destroy NAME`"));
	json_object_put(answer);
	/* Root can create more. */
	answer = request_as(fd, 0, "{\"version\":1,\"verb\":\"create\",\"session\":\"newer\"}");
	CHECK(answer && !json_answer(answer, &error) && the_daemon.nr_sessions == 194);
	json_object_put(answer);
	while (the_daemon.sessions)
		session_remove(&the_daemon, the_daemon.sessions);
	/* One of them has 64. */
	for (unsigned int i = 0; i < 63; i++) {
		snprintf(name, sizeof(name), "s%u", i);
		add_entry(name)->uid = 9;
	}
	add_entry("other")->uid = 8;
	answer = request_as(fd, 9, create);
	CHECK(answer && !json_answer(answer, &error) && the_daemon.nr_sessions == 65);
	json_object_put(answer);
	answer = request_as(fd, 9, "{\"version\":1,\"verb\":\"create\",\"session\":\"newer\"}");
	CHECK(answer && json_answer(answer, &error) == -EREMOTEIO && error.kind == ERROR_BUSY);
	CHECK(is(error.text,
			"cannot create a session: user 9 has 64 of at most 64, all members of the group 65 of at most 192"));
	json_object_put(answer);
	while (the_daemon.sessions)
		session_remove(&the_daemon, the_daemon.sessions);
	the_daemon.system = false;
	close(fd);
	one_turn();
	one_turn();
	CHECK(!the_daemon.clients);
}

/* A user may hand over 8 messages at a time; those of other users do not count. */
static void test_handovers(void)
{
	static struct handover others[9];
	struct resources before = resources_now();
	struct handover *begun;
	int pair[2], fd;

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
	for (unsigned int i = 0; i < 9; i++) {
		others[i] = (struct handover){.uid = i < 7 ? 31
						: i == 7   ? 32
							   : 31,
				.next = i ? &others[i - 1] : NULL};
		CHECK(!sem_init(&others[i].has_two, 0, 0));
	}
	the_daemon.handovers = &others[8];
	CHECK(handover_begin(&the_daemon, pair[0], 31) == -EBUSY);
	CHECK(the_daemon.handovers == &others[8]);
	/* 7 of this user, and 1 of another one. */
	the_daemon.handovers = &others[7];
	fd = handover_begin(&the_daemon, pair[0], 31);
	CHECK(fd >= 0);
	begun = the_daemon.handovers;
	CHECK(begun->next == &others[7] && begun->uid == 31);
	while (!atomic_load(&begun->is_done))
		sched_yield();
	begun->next = NULL;
	CHECK(!free_done(&the_daemon, 31) && !the_daemon.handovers);
	close(fd);
	close(pair[0]);
	close(pair[1]);
	CHECK(resources_now().descriptors == before.descriptors);
}

/* ---- programs ---- */

/* The 513th silent connection ends the oldest one of the user with most of them. */
static void test_strangers(void)
{
	struct resources before = resources_now();
	uint64_t then = loop_now();
	int fds[3] = {dial("run/agents.sock")};

	CHECK(LIMIT_UNIDENTIFIED == 512 && LIMIT_UNIDENTIFIED_MS == 3000);
	CHECK(the_daemon.nr_unidentified == 1 &&
			ends_after(&the_daemon.unidentified->timer, then, 3000));
	the_daemon.nr_unidentified = 511;
	fds[1] = dial("run/agents.sock");
	CHECK(the_daemon.nr_unidentified == 512 && !is_hung_up(fds[0]));
	fds[2] = dial("run/agents.sock");
	CHECK(the_daemon.nr_unidentified == 512 && is_hung_up(fds[0]) && !is_hung_up(fds[1]) &&
			!is_hung_up(fds[2]));
	the_daemon.nr_unidentified = 2;
	/* The deadline passes. */
	the_daemon.unidentified->timer.expired(&the_daemon, &the_daemon.unidentified->timer);
	CHECK(the_daemon.nr_unidentified == 1 && is_hung_up(fds[2]) && !is_hung_up(fds[1]));
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	while (the_daemon.unidentified)
		one_turn();
	one_turn();
	CHECK(!the_daemon.nr_unidentified && resources_now().descriptors == before.descriptors);
}

static unsigned char message[WIRE_MESSAGE_MAX];

static int arrive(void)
{
	const struct wire_arrive arrive = {.pid = 77,
			.control = WIRE_CONTROL_THREAD,
			.token = 5,
			.procname = "program",
			.exe = "/bin/program"};
	int fd = dial("run/agents.sock");
	ssize_t size = wire_encode_arrive(message, sizeof(message), &arrive);

	CHECK(size > 0 && send(fd, message, (size_t)size, MSG_NOSIGNAL) == size);
	one_turn();
	return fd;
}

static bool has_welcome(int fd, struct wire_welcome *ret_welcome)
{
	ssize_t size = recv(fd, message, sizeof(message), MSG_DONTWAIT);

	return size > 0 && !wire_decode_welcome(message, (size_t)size, ret_welcome);
}

static struct sided_program *only_program(void)
{
	struct sided_program *program =
			the_daemon.programs[(unsigned int)getpid() % PROGRAM_BUCKETS];

	CHECK(program && !program->next && programs_count(&the_daemon, SCOPE_ALL) == 1);
	return program;
}

static void end_programs(void)
{
	programs_close(&the_daemon);
	CHECK(!programs_open(&the_daemon));
	one_turn();
}

static void test_programs_of_user(void)
{
	struct wire_welcome welcome;
	struct shares *shares = &the_daemon.program_shares;
	int fd;

	CHECK(LIMIT_PROGRAMS_OF_USER == 16384);
	/* The machine's limit of descriptors may permit fewer. */
	shares_free(shares);
	shares_init(shares, 100000, LIMIT_PROGRAM_FLOORS, 1);
	shares_charge(shares, geteuid(), 16383);
	fd = arrive();
	CHECK(has_welcome(fd, &welcome) && welcome.accepted);
	CHECK(shares_used(shares, geteuid()) == 16384);
	close(fd);
	end_programs();
	shares_free(shares);
	shares_init(shares, 100000, LIMIT_PROGRAM_FLOORS, 1);
	shares_charge(shares, geteuid(), 16384);
	fd = arrive();
	CHECK(has_welcome(fd, &welcome) && !welcome.accepted);
	CHECK(is(welcome.reason, "the daemon has too many programs"));
	CHECK(is_hung_up(fd) && !programs_count(&the_daemon, SCOPE_ALL));
	close(fd);
	end_programs();
}

/* A new program waits for the process of a session, and then runs. */
static void test_held(void)
{
	struct session_entry *entry = add_entry("one");
	struct wire_welcome welcome;
	uint64_t then = loop_now();
	struct sided_agent *agent;
	int fd;

	entry->state = SESSION_LIVE;
	entry->active = true;
	/* There was no recorder when this process started. */
	entry->absent = 1;
	fd = arrive();
	agent = only_program()->agent;
	CHECK(LIMIT_HOLD_MS == 1500 && agent->is_delayed && ends_after(&agent->timer, then, 1500));
	CHECK(!has_welcome(fd, &welcome) && !entry->nr_unrecorded);
	loop_cancel(&the_daemon, &agent->timer);
	agent->timer.expired(&the_daemon, &agent->timer);
	CHECK(!agent->is_delayed && has_welcome(fd, &welcome) && welcome.accepted &&
			entry->nr_unrecorded == 1);
	close(fd);
	entry->state = SESSION_DEFINED;
	session_remove(&the_daemon, entry);
	end_programs();
}

/*
 * A program that joins some of its sessions only is asked 6 times, each time after twice the pause.
 */
static void test_parts_done(void)
{
	struct wire_done done = {.token = 5, .serial = 1, .state = WIRE_DONE_PART};
	int fd = arrive();
	struct sided_program *program = only_program();
	static const unsigned int in_ms[] = {5, 10, 20, 40, 80, 160, 320, 640, 1000, 1000};

	for (unsigned int i = 0; i < 6; i++) {
		uint64_t then = loop_now();

		program_done(&the_daemon, program, &done);
		CHECK(program->agains == i + 1 && !program->done &&
				ends_after(&program->again, then, in_ms[i]));
	}
	program_done(&the_daemon, program, &done);
	CHECK(!program->agains && program->done == 1 && !program->known &&
			!program->again.base.is_set);
	/* Its readers are asked for ever. */
	done.state = WIRE_DONE_READERS;
	for (unsigned int i = 0; i < 10; i++) {
		uint64_t then = loop_now();

		program_done(&the_daemon, program, &done);
		CHECK(program->agains == i + 1 && ends_after(&program->again, then, in_ms[i]));
	}
	close(fd);
	end_programs();
}

/*
 * Processes with the agent of another release are counted once, as long as the daemon stores them:
 * the last 64.
 */
static void test_releases(void)
{
	static struct daemon daemon;
	struct peer peer = {.pid = 1};

	for (pid_t i = 1; i <= 64; i++) {
		peer.pid = 0x7f000000 + i;
		CHECK(!sided_agent_is_counted(&daemon, &peer) &&
				sided_agent_is_counted(&daemon, &peer));
	}
	peer.pid = 0x7f000001;
	CHECK(sided_agent_is_counted(&daemon, &peer));
	peer.pid = 0x7f000041;
	CHECK(!sided_agent_is_counted(&daemon, &peer));
	peer.pid = 0x7f000001;
	CHECK(!sided_agent_is_counted(&daemon, &peer));
	peer.pid = 0x7f000003;
	CHECK(sided_agent_is_counted(&daemon, &peer));
}

/* A flood of connections of one kind: 32 in each round of the loop. */
static void test_accepts(void)
{
	static const char *const names[] = {"run/control.sock", "run/agents.sock"};
	struct resources before = resources_now();
	int fds[2][33];

	for (unsigned int kind = 0; kind < 2; kind++) {
		for (unsigned int i = 0; i < 33; i++)
			fds[kind][i] = connect_to(names[kind]);
	}
	for (unsigned int round = 0; round < 2; round++) {
		unsigned int nr = 0;

		one_turn();
		for (const struct client *client = the_daemon.clients; client;
				client = client->next)
			nr++;
		CHECK(nr == 32 + round && the_daemon.nr_unidentified == 32 + round);
	}
	for (unsigned int i = 0; i < 33; i++) {
		close(fds[0][i]);
		close(fds[1][i]);
	}
	while (the_daemon.unidentified || the_daemon.clients)
		one_turn();
	one_turn();
	CHECK(resources_now().descriptors == before.descriptors);
}

/* ---- session processes ---- */

static unsigned int nr_failed;

static void note_failure(struct daemon *daemon, struct session_entry *entry,
		struct sided_object *user, struct json_object *answer, const struct error *error)
{
	(void)daemon;
	(void)user;
	CHECK(!answer && !strcmp(entry->definition->name, "one") && error->kind == ERROR_FAILED);
	CHECK(is(error->text, "the process that records the session one ended repeatedly"));
	CHECK(is(error->hint, "see the daemon's log"));
	nr_failed++;
}

/*
 * A request is made 4 times. Each early death of the process doubles the pause before the next one
 * starts.
 */
static void test_deaths(void)
{
	static const unsigned int pauses[] = {100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000};
	struct session_entry *entry = add_entry("one");
	struct sided_worker *worker = get_worker(&the_daemon, entry);
	struct sided_object *user = &entry->object;
	struct worker_call *call = calloc(1, sizeof(*call));

	CHECK(worker && call);
	*call = (struct worker_call){.done = note_failure, .user = user, .attempts = 3};
	object_get(user);
	worker->calls = call;
	worker->end = &call->next;
	for (unsigned int i = 0; i < 9; i++) {
		uint64_t then = loop_now();

		worker->begun = then;
		call->attempts = i < 8 ? 3 : 4;
		worker_died(&the_daemon, worker);
		CHECK(worker->failures == i + 1 && worker->restarts == i + 1 &&
				ends_after(&worker->restart, then, pauses[i]));
		CHECK(nr_failed == (i == 8) && !worker->calls == (i == 8));
	}
	/* A process that has run for more than 30 seconds does not count as failed early. */
	worker->begun = loop_now() - 25000 * MS;
	worker_died(&the_daemon, worker);
	CHECK(worker->failures == 10);
	worker->begun = loop_now() - 30000 * MS - 1;
	worker_died(&the_daemon, worker);
	CHECK(!worker->failures && worker->restarts == 11 && pause_of(worker) == 50);
	loop_cancel(&the_daemon, &worker->restart);
	session_remove(&the_daemon, entry);
	objects_free_unused(&the_daemon);
}

/* Users whose programs caused messages: 15, and all further ones together. */
static void test_users(void)
{
	static struct recording recording;

	for (uid_t uid = 100; uid < 117; uid++)
		for (unsigned int i = 0; i < 3; i++)
			count_message(&recording, uid);
	count_message(&recording, 114);
	count_message(&recording, 115);
	CHECK(recording.others[0].uid == 100 && recording.others[0].nr == 3);
	CHECK(recording.others[14].uid == 114 && recording.others[14].nr == 4);
	CHECK(recording.others[15].uid == LINES_OTHERS && recording.others[15].nr == 7);
}

/* Connections that a session's process has not received. */
static void test_passed(void)
{
	struct resources before = resources_now();
	struct session_entry *entry = add_entry("one");
	struct sided_worker *worker = get_worker(&the_daemon, entry);
	int pair[2], size = 4096;

	CHECK(worker && LIMIT_QUEUED == 256 << 10);
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair));
	CHECK(!setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)));
	CHECK(!loop_watch(&the_daemon, &worker->watch, pair[0], EPOLLIN, NULL));
	CHECK(!worker_pass(&the_daemon, entry, pair[1]));
	worker->state = WORKER_READY;
	while (!worker->out.size)
		CHECK(worker_pass(&the_daemon, entry, STDERR_FILENO));
	worker->out.size = LIMIT_QUEUED;
	CHECK(worker_pass(&the_daemon, entry, STDERR_FILENO) && worker->out.size > LIMIT_QUEUED);
	worker->out.size = LIMIT_QUEUED + 1;
	CHECK(!worker_pass(&the_daemon, entry, STDERR_FILENO) &&
			worker->out.size == LIMIT_QUEUED + 1);
	worker->state = WORKER_AWAY;
	close(pair[1]);
	session_remove(&the_daemon, entry);
	objects_free_unused(&the_daemon);
	CHECK(resources_now().descriptors == before.descriptors);
}

static void test_lines(void)
{
	struct log_line_budget *lines = &the_daemon.lines;
	int old = mute();

	/* A new minute begins. */
	sided_report_suppressed(&the_daemon, NULL);
	CHECK(!lines->users[0].nr);
	for (unsigned int i = 0; i < 240; i++)
		log_about(&the_daemon, geteuid(), "line %u", i);
	unmute(old);
	CHECK(lines->users[0].uid == geteuid() && lines->users[0].nr == 240 &&
			!lines->users[0].suppressed);
	old = mute();
	log_about(&the_daemon, geteuid(), "line");
	unmute(old);
	CHECK(lines->users[0].nr == 240 && lines->users[0].suppressed == 1);
	loop_cancel(&the_daemon, &the_daemon.suppressed);
	old = mute();
	sided_report_suppressed(&the_daemon, NULL);
	unmute(old);
	CHECK(!lines->users[0].nr && !lines->users[0].suppressed);
}

/* 100 messages are kept, 60 of a minute are logged. */
static void test_messages(void)
{
	struct json_object *request = json_object_new_object(), *answer = json_object_new_object();
	static struct recording recording;
	struct error error;
	int old = mute();

	/* The request has no definition: the limits apply already. */
	CHECK(request && answer && take_open(&recording, request, answer, &error));
	json_object_put(request);
	json_object_put(answer);
	for (unsigned int i = 1; i <= 101; i++) {
		keep_message(&recording, i % 2 ? "odd" : "even", i % 3 ? NULL : "hint");
		if (recording.lines.users[0].suppressed != (i > 60 ? i - 60 : 0) ||
				recording.messages.count != (i > 100 ? 100 : i) ||
				recording.hints.count != recording.messages.count ||
				recording.nr_unkept != (i > 100)) {
			unmute(old);
			fprintf(stderr, "message %u\n", i);
			abort();
		}
	}
	unmute(old);
	CHECK(recording.owner == geteuid() && recording.lines.users[0].nr == 60);
	CHECK(is(recording.messages.items[98], "odd") && is(recording.messages.items[99], "even"));
	CHECK(is(recording.hints.items[98], "hint") && is(recording.hints.items[99], ""));
	strings_free(&recording.messages);
	strings_free(&recording.hints);
}

/* ---- groups of a client ---- */

static void test_groups(void)
{
	static gid_t groups[4097];
	int status;
	pid_t pid;

	if (geteuid())
		return;
	for (unsigned int i = 0; i < 4097; i++)
		groups[i] = 10000 + i;
	pid = fork();
	if (!pid) {
		struct peer peer;
		int pair[2];

		for (unsigned int nr = 4096; nr <= 4097; nr++) {
			CHECK(!setgroups(nr, groups));
			CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
			CHECK(!runtime_peer(pair[0], &peer) && peer.pid == getpid());
			CHECK(runtime_peer_in_group(pair[0], &peer, 10000 + 4095) == (nr == 4096));
			CHECK(runtime_peer_in_group(pair[0], &peer, 10000) == (nr == 4096));
			CHECK(!runtime_peer_in_group(pair[0], &peer, 10000 + 4096));
			CHECK(runtime_peer_in_group(pair[0], &peer, peer.gid));
			CHECK(!runtime_peer_in_group(pair[0], &peer, (gid_t)-1));
		}
		_exit(0);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	(void)status;
	(void)kind;
	(void)where;
	return remove(path);
}

int main(int argc, char **argv)
{
	(void)argv;
	/* The process of a session executes this program, not the test. */
	if (argc > 1)
		return 1;
	umask(077);
	CHECK(mkdtemp(work));
	alarm(100);
	test_shares();
	begin();
	test_unread();
	test_sessions_of_members();
	test_handovers();
	test_strangers();
	test_programs_of_user();
	test_held();
	test_parts_done();
	test_releases();
	test_accepts();
	test_deaths();
	test_users();
	test_passed();
	test_lines();
	test_messages();
	test_groups();
	close_daemon(&the_daemon);
	CHECK(!objects_left());
	CHECK(!nftw(work, remove_one, 16, FTW_DEPTH | FTW_PHYS));
	return 0;
}
