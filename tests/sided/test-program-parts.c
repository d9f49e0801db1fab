/* SPDX-License-Identifier: MIT */
/*
 * Programs: their arrival, which changes wait for them, when they get their signal, and how lists
 * show them. The test includes programs.c, and plays the loop, connections, operations, rendezvous
 * sockets and the files of /proc.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../called.h"
#include "../resources.h"
#include "failing-json.h"
#include "played-loop.h"
#include "recorder/core/peer.h"
#include "protocol/protocol.h"

#define UID 47
#define PID 1234
#define SOCKET 1000

static struct daemon daemon_of_test;
static bool has_no_memory, is_ready_of_test = true;
static int process_error;
static struct sided_agent agents_of_test[6];

static const char *loop_name(const struct sided_watch *watch)
{
	assert_non_null(watch->owner);
	return "process";
}

/* ---- Neighbours ---- */

void operations_switched(struct daemon *daemon, const struct sided_program *program, uint64_t after,
		uint64_t until)
{
	(void)daemon;
	called("switched(%d,%llu,", program->pid, (unsigned long long)after);
	called(until == UINT64_MAX ? "all) " : "%llu) ", (unsigned long long)until);
}

void rendezvous_left(struct daemon *daemon, struct sided_program *program)
{
	(void)daemon;
	called("door_left(%llu) ", (unsigned long long)program->token);
}

void rendezvous_entered(
		struct daemon *daemon, struct sided_program *program, struct rendezvous *rendezvous)
{
	(void)daemon;
	called("door(%llu,%d) ", (unsigned long long)program->token, rendezvous != NULL);
}

void agent_close(struct daemon *daemon, struct sided_agent *agent)
{
	(void)daemon;
	called("agent_close(%d,%d) ", (int)(agent - agents_of_test), agent->program != NULL);
}

void agent_welcome(struct daemon *daemon, struct sided_agent *agent)
{
	(void)daemon;
	called("welcome(%d) ", (int)(agent - agents_of_test));
}

void program_remember(const struct daemon *daemon, struct sided_program *program)
{
	(void)daemon;
	called("remember(%llu) ", (unsigned long long)program->token);
}

void program_forget(const struct daemon *daemon, struct sided_program *program)
{
	(void)daemon;
	called("forget(%llu) ", (unsigned long long)program->token);
}

bool worker_is_ready(const struct session_entry *entry)
{
	return entry->nr_unrecorded != 7 && is_ready_of_test;
}

/* ---- Files and calls of programs.c ---- */

/* Files of /proc: the text of each, NULL without such a file. */
static const char *status_of_test, *comm_of_test;
static int file_error;          /* the error of opening any file */
static int read_error;          /* the error of reading it, after its text */
static bool has_many_groups;    /* their line exceeds 4 KiB */
static unsigned int files_open; /* streams that have not been closed */
static uid_t uid_of_test = UID;

struct played_file {
	const char *text;
	size_t at, groups;
};

static ssize_t file_read(void *cookie, char *to, size_t size)
{
	struct played_file *file = cookie;
	size_t done = 0;

	while (done < size && file->groups) {
		static const char group[] = "70000 ";

		to[done++] = group[(--file->groups) % 6 == 5 ? 0 : 5 - file->groups % 6];
	}
	while (done < size && file->text[file->at])
		to[done++] = file->text[file->at++];
	if (!done && read_error) {
		errno = read_error;
		return -1;
	}
	return (ssize_t)done;
}

static int file_close(void *cookie)
{
	files_open--;
	free(cookie);
	return 0;
}

static FILE *file_open(const char *path, const char *mode)
{
	static const cookie_io_functions_t functions = {.read = file_read, .close = file_close};
	const char *text = NULL;
	struct played_file *file;

	assert_string_equal(mode, "re");
	if (!strcmp(path, "/proc/1234/status"))
		text = status_of_test;
	else if (!strcmp(path, "/proc/77/comm"))
		text = comm_of_test;
	if (file_error || !text) {
		errno = file_error ? file_error : ENOENT;
		return NULL;
	}
	file = malloc(sizeof(*file));
	assert_non_null(file);
	*file = (struct played_file){.text = text, .groups = has_many_groups ? 6000 : 0};
	files_open++;
	return fopencookie(file, mode, functions);
}

static int file_stat(const char *path, struct stat *ret_status)
{
	called("stat(%s) ", path);
	if (uid_of_test == (uid_t)-1)
		return -1;
	ret_status->st_uid = uid_of_test;
	return 0;
}

static void played_call(long number, int fd, uint32_t signal, const void *info, unsigned int flags)
{
	assert_int_equal(number, SYS_pidfd_send_signal);
	assert_true(fd >= 0 && !info && !flags);
	called("signal(%u) ", signal);
}

static int process_open(int socket, const struct ucred *cred)
{
	int fd;

	called("open(%d,%d,%u) ", socket, cred->pid, cred->uid);
	if (process_error)
		return process_error;
	fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	assert_true(fd >= 0);
	return fd;
}

#define calloc(count, size) (has_no_memory ? NULL : calloc(count, size))
#define malloc(size) (has_no_memory ? NULL : malloc(size))
#define fopen(path, mode) file_open(path, mode)
#define stat(path, status) file_stat(path, status)
#define syscall(number, fd, signal, info, flags) played_call(number, fd, signal, info, flags)
#define peer_open_process(socket, cred) process_open(socket, cred)
#include "programs/sided/programs.c"
#undef calloc
#undef malloc
#undef fopen
#undef stat
#undef syscall
#undef peer_open_process

static void agent_destroy(struct daemon *daemon, struct sided_object *object)
{
	(void)daemon;
	assert_null(((struct sided_agent *)(void *)object)->program);
}

/* Connection `index` of a process. */
static struct sided_agent *agent_of(unsigned int index, pid_t pid, uid_t uid)
{
	struct sided_agent *agent = &agents_of_test[index];

	*agent = (struct sided_agent){
			.watch.fd = SOCKET + (int)index, .peer = {.pid = pid, .uid = uid}};
	object_init(&agent->object, agent_destroy);
	return agent;
}

static void begin(void)
{
	daemon_of_test = (struct daemon){.uid = 5, .serial = 20, .max_programs = 100};
	assert_int_equal(programs_open(&daemon_of_test), 0);
	is_ready_of_test = true;
	uid_of_test = UID;
	status_of_test = comm_of_test = NULL;
	*calls = '\0';
}

/* Ends the remaining programs, and the first `nr` connections. */
static void end(unsigned int nr)
{
	programs_close(&daemon_of_test);
	for (unsigned int i = 0; i < nr; i++)
		object_close(&daemon_of_test, &agents_of_test[i].object);
	objects_free_unused(&daemon_of_test);
	assert_int_equal(objects_left(), 0);
	assert_int_equal(files_open, 0);
	*calls = '\0';
}

static const struct wire_arrive arrive_of_test = {.pid = PID,
		.control = WIRE_CONTROL_THREAD,
		.token = 8,
		.procname = "name",
		.exe = "/bin/exe"};

static struct sided_program *come_as(struct sided_agent *agent, uint64_t token, uint32_t control)
{
	struct wire_arrive arrive = arrive_of_test;
	const char *reason = NULL;
	struct sided_program *program;

	arrive.token = token;
	arrive.control = control;
	arrive.control_signal = control == WIRE_CONTROL_SIGNAL ? 34 : 0;
	program = program_arrive(&daemon_of_test, agent, &arrive, &reason);
	assert_non_null(program);
	return program;
}

/* ---- Arriving ---- */

static void check_list(struct json_object *list, const char *expected)
{
	assert_non_null(list);
	assert_string_equal(
			json_object_to_json_string_ext(list,
					JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
			expected);
	json_object_put(list);
}

static void test_arrive(void **state)
{
	unsigned int before = resources_descriptors();
	struct sided_agent *agent;
	struct sided_program *program;
	const char *reason = "none";
	size_t memory = 0;

	(void)state;
	for (int round = 0; round < 6; round++) {
		begin();
		agent = agent_of(0, PID, UID);
		program = come_as(agent, 8, WIRE_CONTROL_THREAD);
		assert_called("open(1000,1234,47) watch(process,1) door(8,0) forget(8) ");
		assert_true(program->pid == PID && program->uid == UID && program->token == 8 &&
				program->since == 20 && !program->done && !program->late &&
				program->control == WIRE_CONTROL_THREAD &&
				!program->control_signal);
		assert_string_equal(program->name, "name");
		assert_string_equal(program->exe, "/bin/exe");
		assert_true(program->agent == agent && agent->program == program);
		assert_int_equal(program->object.nr_refs, 3);
		assert_true(program->again.owner == &program->object &&
				!program->again.base.is_set);
		assert_int_equal(agent->object.nr_refs, 2);
		assert_int_equal(shares_used(&daemon_of_test.program_shares, UID), 1);
		assert_true(daemon_of_test.programs[PID % PROGRAM_BUCKETS] == program);
		/*
		 * The same program over another connection, through a rendezvous socket. A change
		 * waits for it since its first connection.
		 */
		daemon_of_test.serial = 25;
		agent_of(1, PID, UID)->rendezvous = (struct rendezvous *)(void *)&daemon_of_test;
		assert_ptr_equal(program_arrive(&daemon_of_test, &agents_of_test[1],
						 &arrive_of_test, &reason),
				program);
		assert_called("door(8,1) forget(8) agent_close(0,0) ");
		assert_true(program->since == 20 && program->agent == &agents_of_test[1] &&
				!agent->program && agents_of_test[1].program == program);
		assert_int_equal(shares_used(&daemon_of_test.program_shares, UID), 1);
		/* A program without a connection begins with the present rules. */
		program_disconnected(&daemon_of_test, &agents_of_test[1]);
		assert_called("switched(1234,20,all) ");
		assert_true(!program->agent && !agents_of_test[1].program);
		program_disconnected(&daemon_of_test, &agents_of_test[1]);
		assert_called("");
		come_as(&agents_of_test[1], 8, WIRE_CONTROL_THREAD);
		assert_true(program->since == 25);
		*calls = '\0';
		/* Another program of the process, by exec. */
		agent_of(2, PID, UID);
		program = come_as(&agents_of_test[2], 9, WIRE_CONTROL_SYNC);
		assert_called("forget(8) switched(1234,25,all) door_left(8) agent_close(1,0) release(process) "
			      "open(1002,1234,47) watch(process,1) door(9,0) remember(9) ");
		assert_true(program->token == 9 && !program->next &&
				daemon_of_test.programs[PID % PROGRAM_BUCKETS] == program);
		assert_int_equal(shares_used(&daemon_of_test.program_shares, UID), 1);
		/* The same token of another user. */
		agent_of(3, PID, UID + 1);
		program = come_as(&agents_of_test[3], 9, WIRE_CONTROL_SIGNAL);
		assert_called("forget(9) switched(1234,25,all) door_left(9) agent_close(2,0) release(process) "
			      "open(1003,1234,48) watch(process,1) door(9,0) remember(9) ");
		assert_true(program->uid == UID + 1 && program->control_signal == 34);
		assert_int_equal(shares_used(&daemon_of_test.program_shares, UID), 0);
		assert_int_equal(shares_used(&daemon_of_test.program_shares, UID + 1), 1);
		/* The process ends. */
		program->watch.ready(&daemon_of_test, &program->watch, EPOLLIN);
		assert_called("forget(9) switched(1234,25,all) door_left(9) agent_close(3,0) release(process) ");
		assert_null(daemon_of_test.programs[PID % PROGRAM_BUCKETS]);
		program_close(&daemon_of_test, program);
		assert_called("");
		end(4);
		/* The first rounds fill the caches of malloc(): seven blocks of a size. */
		if (round > 2)
			assert_int_equal(resources_memory(), memory);
		memory = resources_memory();
	}
	assert_int_equal(resources_descriptors(), before);
}

static void check_refused(struct sided_agent *agent, const char *expected)
{
	const char *reason = "none";

	*calls = '\0';
	assert_null(program_arrive(&daemon_of_test, agent, &arrive_of_test, &reason));
	assert_string_equal(reason, expected);
	assert_null(agent->program);
	objects_free_unused(&daemon_of_test);
	assert_int_equal(objects_left(), 1);
	assert_null(daemon_of_test.programs[PID % PROGRAM_BUCKETS]);
}

static void test_refused(void **state)
{
	static const char full[] = "the daemon has too many programs",
			  unwatched[] = "the process cannot be watched";
	unsigned int before = resources_descriptors();
	struct sided_agent *agent;

	(void)state;
	begin();
	agent = agent_of(0, PID, UID);
	has_no_memory = true;
	check_refused(agent, full);
	has_no_memory = false;
	process_error = -ESRCH;
	check_refused(agent, unwatched);
	assert_called("open(1000,1234,47) ");
	process_error = 0;
	failing_watch = "process";
	check_refused(agent, unwatched);
	assert_called("open(1000,1234,47) watch(process,1) ");
	failing_watch = NULL;
	assert_int_equal(shares_used(&daemon_of_test.program_shares, UID), 0);
	/* The share of the user has no program left, and then one. */
	shares_charge(&daemon_of_test.program_shares, UID,
			shares_left(&daemon_of_test.program_shares, UID));
	check_refused(agent, full);
	assert_called("");
	shares_give_back(&daemon_of_test.program_shares, UID, 1);
	come_as(agent, 8, WIRE_CONTROL_THREAD);
	end(1);
	/* The last program of a user. */
	begin();
	shares_free(&daemon_of_test.program_shares);
	shares_init(&daemon_of_test.program_shares, 100000, LIMIT_PROGRAM_FLOORS, 1);
	agent = agent_of(0, PID, UID);
	shares_charge(&daemon_of_test.program_shares, UID, 16384);
	check_refused(agent, full);
	shares_give_back(&daemon_of_test.program_shares, UID, 1);
	come_as(agent, 8, WIRE_CONTROL_THREAD);
	end(1);
	assert_int_equal(resources_descriptors(), before);
}

/* Processes that the daemon cannot see: their tokens and users identify them. */
static void test_unseen(void **state)
{
	struct sided_program *programs[3];

	(void)state;
	begin();
	programs[0] = come_as(agent_of(0, 0, UID), 8, WIRE_CONTROL_THREAD);
	assert_called("door(8,0) forget(8) ");
	programs[1] = come_as(agent_of(1, 0, UID), 9, WIRE_CONTROL_THREAD);
	programs[2] = come_as(agent_of(2, 0, UID + 1), 8, WIRE_CONTROL_THREAD);
	assert_called("door(9,0) forget(9) door(8,0) forget(8) ");
	assert_true(daemon_of_test.programs[0] == programs[2] && programs[2]->next == programs[1] &&
			programs[1]->next == programs[0] && !programs[0]->next);
	assert_true(programs[0]->watch.fd == -1);
	assert_int_equal(programs_count(&daemon_of_test, SCOPE_ALL), 3);
	assert_int_equal(programs_count(&daemon_of_test, UID), 2);
	assert_int_equal(programs_count(&daemon_of_test, UID + 2), 0);
	check_list(programs_json(&daemon_of_test, UID + 1),
			"[{\"pid\":0,\"uid\":48,\"name\":\"name\",\"exe\":\"/bin/exe\",\"control\":\"thread\",\"armed\":false}]");
	/* One of them connects again. */
	assert_ptr_equal(come_as(agent_of(3, 0, UID), 8, WIRE_CONTROL_THREAD), programs[0]);
	assert_called("door(8,0) forget(8) agent_close(0,0) ");
	/* Such a program is kept as long as its connection. */
	program_disconnected(&daemon_of_test, &agents_of_test[1]);
	assert_called("switched(0,20,all) door_left(9) ");
	assert_true(programs[2]->next == programs[0] && !programs[0]->next);
	program_disconnected(&daemon_of_test, &agents_of_test[2]);
	assert_true(daemon_of_test.programs[0] == programs[0]);
	assert_int_equal(programs_count(&daemon_of_test, SCOPE_ALL), 1);
	end(4);
}

static void test_names(void **state)
{
	struct wire_arrive arrive = arrive_of_test;
	struct sided_agent *agent;
	struct sided_program *program;
	const char *reason = "none";

	(void)state;
	begin();
	agent = agent_of(0, PID, UID);
	arrive.procname = "side-control";
	program = program_arrive(&daemon_of_test, agent, &arrive, &reason);
	assert_string_equal(program->name, "exe");
	arrive.exe = "/\x1f \x7e\x7f\x80z";
	program_arrive(&daemon_of_test, agent, &arrive, &reason);
	assert_string_equal(program->exe, "/? ~??z");
	assert_string_equal(program->name, "exe");
	arrive.procname = "other";
	program_arrive(&daemon_of_test, agent, &arrive, &reason);
	assert_string_equal(program->name, "other");
	program_close(&daemon_of_test, program);
	arrive.procname = "side-control";
	arrive.exe = "plain";
	program = program_arrive(&daemon_of_test, agent, &arrive, &reason);
	assert_string_equal(program->name, "plain");
	end(1);
}

static void test_restore(void **state)
{
	unsigned int before = resources_descriptors();
	struct sided_program facts = {.pid = PID,
			.uid = UID,
			.token = 8,
			.control = WIRE_CONTROL_SIGNAL,
			.control_signal = 35,
			.since = 3,
			.done = 4,
			.remembered = true};
	struct sided_program *program;
	int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

	(void)state;
	begin();
	facts.name = strdup("name");
	facts.exe = strdup("exe");
	failing_watch = "process";
	assert_int_equal(program_restore(&daemon_of_test, &facts, fd), -EIO);
	failing_watch = NULL;
	objects_free_unused(&daemon_of_test);
	assert_int_equal(objects_left(), 0);
	assert_string_equal(facts.name, "name");
	has_no_memory = true;
	assert_int_equal(program_restore(&daemon_of_test, &facts, fd), -ENOMEM);
	has_no_memory = false;
	shares_charge(&daemon_of_test.program_shares, UID,
			shares_left(&daemon_of_test.program_shares, UID));
	assert_int_equal(program_restore(&daemon_of_test, &facts, fd), -ENOSPC);
	assert_null(daemon_of_test.programs[PID % PROGRAM_BUCKETS]);
	assert_true(fcntl(fd, F_GETFD) >= 0);
	shares_give_back(&daemon_of_test.program_shares, UID, 1);
	*calls = '\0';
	assert_int_equal(program_restore(&daemon_of_test, &facts, fd), 0);
	assert_called("watch(process,1) ");
	program = daemon_of_test.programs[PID % PROGRAM_BUCKETS];
	assert_true(program && !program->next && program->watch.fd == fd && !program->since &&
			!program->done && program->token == 8 && program->control_signal == 35 &&
			program->remembered && program->name == facts.name &&
			program->exe == facts.exe);
	assert_int_equal(shares_left(&daemon_of_test.program_shares, UID), 0);
	program->watch.ready(&daemon_of_test, &program->watch, EPOLLIN);
	assert_called("forget(8) switched(1234,0,all) door_left(8) release(process) ");
	end(0);
	assert_int_equal(resources_descriptors(), before);
}

/* Each program is found and removed among others of its bucket. */
static void test_buckets(void **state)
{
	static const pid_t pids[] = {6, 6 + PROGRAM_BUCKETS, 6 + 2 * PROGRAM_BUCKETS};

	(void)state;
	begin();
	for (unsigned int i = 0; i < 3; i++)
		come_as(agent_of(i, pids[i], UID), 10 + i, WIRE_CONTROL_THREAD);
	assert_int_equal(programs_count(&daemon_of_test, UID), 3);
	for (unsigned int i = 0; i < 3; i++)
		assert_true(program_is_reachable(&daemon_of_test, pids[i]));
	assert_false(program_is_reachable(&daemon_of_test, 7));
	assert_false(program_is_reachable(&daemon_of_test, 6 + 3 * PROGRAM_BUCKETS));
	program_close(&daemon_of_test, agents_of_test[1].program);
	assert_true(program_is_reachable(&daemon_of_test, pids[0]));
	assert_false(program_is_reachable(&daemon_of_test, pids[1]));
	assert_true(program_is_reachable(&daemon_of_test, pids[2]));
	/* Without a connection, only programs in control mode thread send requests. */
	agents_of_test[0].program->control = WIRE_CONTROL_SYNC;
	program_disconnected(&daemon_of_test, &agents_of_test[0]);
	program_disconnected(&daemon_of_test, &agents_of_test[2]);
	assert_false(program_is_reachable(&daemon_of_test, pids[0]));
	assert_true(program_is_reachable(&daemon_of_test, pids[2]));
	end(3);
}

/* ---- Switching over ---- */

static struct sided_program *signalled(void)
{
	struct sided_program *program;

	begin();
	program = come_as(agent_of(0, PID, UID), 8, WIRE_CONTROL_SIGNAL);
	program_disconnected(&daemon_of_test, &agents_of_test[0]);
	assert_called("open(1000,1234,47) watch(process,1) door(8,0) remember(8) ");
	return program;
}

#define CATCHES "Name:\tSigCgt:\nSigIgn:\t0000000200000000\nSigCgt:\t0000000200000001\nCapInh:\t0\n"
#define CATCHES_NOT \
	"SigIgn:\tffffffffffffffff\nSigCgt:\tfffffffdffffffff\nCapInh:\tffffffffffffffff\n"

static void test_signal(void **state)
{
	struct sided_program *program = signalled();
	size_t late = 3;

	(void)state;
	daemon_of_test.serial = 21;
	status_of_test = CATCHES;
	assert_int_equal(programs_poke(&daemon_of_test, SCOPE_ALL, NULL), 1);
	assert_called("signal(34) timer(1000) ");
	assert_int_equal(program->control, WIRE_CONTROL_SIGNAL);
	/* Again while a request waits. */
	loop_expire(&daemon_of_test, &program->again);
	assert_called("");
	loop_timer(&daemon_of_test, &program->again, 1, ask_again);
	daemon_of_test.waiting = (struct operation *)(void *)&daemon_of_test;
	loop_expire(&daemon_of_test, &program->again);
	assert_called("timer(1) signal(34) timer(1000) ");
	program->done = 21;
	loop_expire(&daemon_of_test, &program->again);
	assert_called("");
	/* Again without a request, if the program requests it. */
	daemon_of_test.waiting = NULL;
	program->agains = 1;
	loop_timer(&daemon_of_test, &program->again, 1, ask_again);
	loop_expire(&daemon_of_test, &program->again);
	assert_called("timer(1) signal(34) timer(1000) ");
	/* A user in thousands of groups, whose line is before that of the signals. */
	has_many_groups = true;
	loop_expire(&daemon_of_test, &program->again);
	assert_called("signal(34) timer(1000) ");
	has_many_groups = false;
	/* The daemon cannot read the file now: it sends no signal, and tries again. */
	for (int i = 0; i < 6; i++) {
		static const int lacks[] = {EMFILE, ENFILE, ENOMEM};

		(i < 3 ? &file_error : &read_error)[0] = lacks[i % 3];
		status_of_test = i < 3 ? CATCHES : CATCHES_NOT;
		loop_expire(&daemon_of_test, &program->again);
		assert_called("timer(1000) ");
		assert_int_equal(programs_poke(&daemon_of_test, SCOPE_ALL, NULL), 1);
		assert_called("timer(1000) ");
		assert_int_equal(program->control, WIRE_CONTROL_SIGNAL);
		file_error = read_error = 0;
	}
	/* Results that show that the program has no handler. */
	for (int i = 0; i < 4; i++) {
		status_of_test = i == 3 ? CATCHES_NOT : i == 2 ? "" : CATCHES_NOT;
		file_error = i == 0 ? ENOENT : 0;
		read_error = i == 1 ? ESRCH : 0;
		program->agains = 1;
		loop_expire(&daemon_of_test, &program->again);
		assert_called("switched(1234,21,all) ");
		assert_int_equal(program->control, WIRE_CONTROL_SYNC);
		file_error = read_error = 0;
		program->control = WIRE_CONTROL_SIGNAL;
		assert_int_equal(programs_poke(&daemon_of_test, SCOPE_ALL, NULL), 0);
		assert_called("switched(1234,21,20) ");
		assert_int_equal(program->control, WIRE_CONTROL_SYNC);
		program->control = WIRE_CONTROL_SIGNAL;
		loop_timer(&daemon_of_test, &program->again, 1, ask_again);
		*calls = '\0';
	}
	/* No change waits for the program, late or not. */
	program->late = 5;
	assert_int_equal(programs_poke(&daemon_of_test, SCOPE_ALL, &late), 0);
	assert_int_equal(late, 3);
	program->late = 0;
	program->control = WIRE_CONTROL_SIGNAL;
	*calls = '\0';
	/* It is connected: the connection gets the change, and changes wait for it. */
	come_as(&agents_of_test[0], 8, WIRE_CONTROL_SIGNAL);
	*calls = '\0';
	status_of_test = CATCHES_NOT;
	assert_int_equal(programs_poke(&daemon_of_test, SCOPE_ALL, NULL), 1);
	assert_called("welcome(0) ");
	assert_int_equal(program->control, WIRE_CONTROL_SYNC);
	assert_int_equal(programs_poke(&daemon_of_test, SCOPE_ALL, NULL), 1);
	assert_called("welcome(0) ");
	loop_expire(&daemon_of_test, &program->again);
	assert_called("welcome(0) ");
	program_disconnected(&daemon_of_test, &agents_of_test[0]);
	loop_timer(&daemon_of_test, &program->again, 1, ask_again);
	*calls = '\0';
	loop_expire(&daemon_of_test, &program->again);
	assert_called("");
	end(1);
}

/* Root's daemon sends no signal to a process that has changed to another user. */
static void test_other_user(void **state)
{
	struct sided_program *program = signalled();
	int fd;

	(void)state;
	status_of_test = CATCHES;
	daemon_of_test.any_user = true;
	assert_int_equal(programs_poke(&daemon_of_test, SCOPE_ALL, NULL), 1);
	assert_called("stat(/proc/1234) signal(34) timer(1000) ");
	uid_of_test = 0;
	assert_int_equal(programs_poke(&daemon_of_test, SCOPE_ALL, NULL), 1);
	assert_called("stat(/proc/1234) timer(1000) ");
	uid_of_test = (uid_t)-1;
	assert_int_equal(programs_poke(&daemon_of_test, SCOPE_ALL, NULL), 1);
	assert_called("stat(/proc/1234) timer(1000) ");
	/* Without a pidfd, and with descriptor 0. */
	daemon_of_test.any_user = false;
	fd = program->watch.fd;
	program->watch.fd = -1;
	assert_int_equal(programs_poke(&daemon_of_test, SCOPE_ALL, NULL), 1);
	assert_called("timer(1000) ");
	program->watch.fd = 0;
	assert_int_equal(programs_poke(&daemon_of_test, SCOPE_ALL, NULL), 1);
	assert_called("signal(34) timer(1000) ");
	program->watch.fd = fd;
	end(1);
}

static void test_poke(void **state)
{
	size_t late = 3;

	(void)state;
	begin();
	come_as(agent_of(0, 0, UID), 8, WIRE_CONTROL_THREAD);
	come_as(agent_of(1, PROGRAM_BUCKETS - 1, UID + 1), 9, WIRE_CONTROL_THREAD);
	come_as(agent_of(2, 1, UID + 1), 10, WIRE_CONTROL_THREAD);
	come_as(agent_of(3, 2, UID + 1), 11, WIRE_CONTROL_THREAD);
	program_disconnected(&daemon_of_test, &agents_of_test[3]);
	*calls = '\0';
	daemon_of_test.serial = 22;
	assert_int_equal(programs_poke(&daemon_of_test, SCOPE_ALL, &late), 3);
	assert_called("welcome(0) welcome(2) welcome(1) ");
	assert_int_equal(late, 3);
	assert_int_equal(programs_poke(&daemon_of_test, UID + 1, &late), 2);
	assert_called("welcome(2) welcome(1) ");
	assert_int_equal(programs_poke(&daemon_of_test, UID + 2, &late), 0);
	/* The programs of a user become late, but not those with serial 22. */
	agents_of_test[2].program->done = 22;
	programs_be_late(&daemon_of_test, 22, UID + 1);
	assert_int_equal(agents_of_test[1].program->late, 22);
	assert_true(!agents_of_test[0].program->late && !agents_of_test[2].program->late);
	assert_false(program_is_late(agents_of_test[0].program, 23));
	assert_false(program_is_late(agents_of_test[1].program, 22));
	assert_true(program_is_late(agents_of_test[1].program, 23));
	daemon_of_test.serial = 23;
	*calls = '\0';
	assert_int_equal(programs_poke(&daemon_of_test, SCOPE_ALL, &late), 3);
	assert_int_equal(late, 4);
	/* A late program remains late since its first change. */
	programs_be_late(&daemon_of_test, 23, SCOPE_ALL);
	assert_int_equal(agents_of_test[0].program->late, 23);
	assert_int_equal(agents_of_test[1].program->late, 22);
	assert_int_equal(agents_of_test[2].program->late, 23);
	*calls = '\0';
	end(4);
}

static void done(struct sided_program *program, uint32_t state, uint64_t serial)
{
	const struct wire_done message = {.token = 8, .serial = serial, .state = state};

	program_done(&daemon_of_test, program, &message);
}

static void test_done(void **state)
{
	struct session_entry live = {.state = SESSION_LIVE, .nr_unrecorded = 7},
			     defined = {.state = SESSION_DEFINED,
					     .nr_unrecorded = 7,
					     .next = &live};
	struct sided_program *program;

	(void)state;
	begin();
	program = come_as(agent_of(0, PID, UID), 8, WIRE_CONTROL_THREAD);
	*calls = '\0';
	daemon_of_test.serial = 30;
	done(program, WIRE_DONE_ALL, 24);
	assert_called("switched(1234,20,24) ");
	assert_true(program->done == 24 && program->known == 24);
	done(program, WIRE_DONE_ALL, 24);
	done(program, WIRE_DONE_ALL, 23);
	assert_called("");
	assert_true(program->done == 24 && program->known == 24);
	/*
	 * Its readers still run: the daemon asks again after 5, 10, 20 ms and so on, up to one
	 * second.
	 */
	for (unsigned int i = 0; i < 10; i++) {
		char text[32];

		done(program, i % 2 ? WIRE_DONE_READERS : WIRE_DONE_LATER, 25);
		(void)snprintf(text, sizeof(text), "timer(%u) ", i < 8 ? 5u << i : 1000);
		assert_called(text);
	}
	assert_true(program->agains == 10 && program->done == 24);
	loop_expire(&daemon_of_test, &program->again);
	assert_called("welcome(0) ");
	done(program, WIRE_DONE_READERS, 25);
	*calls = '\0';
	/* Six answers about sessions whose recorder is missing. */
	for (unsigned int i = 0; i < 2; i++) {
		program->agains = 0;
		for (unsigned int k = 0; k < 6; k++)
			done(program, WIRE_DONE_PART, 25);
		assert_int_equal(program->agains, 6);
		*calls = '\0';
		daemon_of_test.sessions = &defined;
		/* A recorder that does not answer: the daemon asks the program again. */
		done(program, WIRE_DONE_PART, 25);
		assert_called("timer(320) ");
		live.nr_unrecorded = 0;
		done(program, WIRE_DONE_PART, 25 + i);
		if (!i)
			assert_called("cancel switched(1234,24,25) ");
		else
			assert_called("cancel switched(1234,25,26) ");
		assert_true(!program->agains && program->done == 25 + i && program->known == 24);
		live.nr_unrecorded = 7;
		daemon_of_test.sessions = NULL;
	}
	/* A program is late until it has done the change for which it was late. */
	program->late = 28;
	done(program, WIRE_DONE_ALL, 27);
	assert_true(program->late == 28 && program->known == 27);
	done(program, WIRE_DONE_ALL, 28);
	assert_true(!program->late);
	*calls = '\0';
	/* In control mode signal, the daemon asks until the program has the newest change. */
	program->control = WIRE_CONTROL_SIGNAL;
	loop_timer(&daemon_of_test, &program->again, 1, ask_again);
	done(program, WIRE_DONE_ALL, 29);
	assert_called("timer(1) switched(1234,28,29) ");
	done(program, WIRE_DONE_ALL, 30);
	assert_called("cancel switched(1234,29,30) ");
	end(1);
}

/* ---- Lists ---- */

static struct json_object *pending_list(void)
{
	return programs_pending(&daemon_of_test, 31, SCOPE_ALL);
}

static struct json_object *unchanged_list(void)
{
	return programs_unchanged(&daemon_of_test, SCOPE_ALL);
}

static struct json_object *whole_list(void)
{
	return programs_json(&daemon_of_test, SCOPE_ALL);
}

static void check_failures(struct json_object *(*list)(void))
{
	for (unsigned int i = 1;; i++) {
		struct json_object *value;

		failing_json = i;
		value = list();
		if (failing_json) {
			failing_json = 0;
			json_object_put(value);
			assert_true(i > 5);
			return;
		}
		assert_null(value);
	}
}

#define PENDING(why) "[{\"pid\":1234,\"name\":\"name\",\"why\":\"" why "\"}]"

static void test_lists(void **state)
{
	struct sided_program *program;

	(void)state;
	begin();
	daemon_of_test.serial = 30;
	program = come_as(agent_of(0, PID, UID), 8, WIRE_CONTROL_THREAD);
	check_list(pending_list(), PENDING("not answering"));
	status_of_test = "Name:\tx\nState:\tS (sleeping)\nTracerPid:\t0\n";
	check_list(pending_list(), PENDING("not answering"));
	status_of_test = "Name:\tx\nState:\tT (stopped)\nTracerPid:\t0\n";
	check_list(pending_list(), PENDING("stopped by a signal"));
	status_of_test = "Name:\tx\nState:\tt (tracing stop)\nTracerPid:\t0\n";
	check_list(pending_list(), PENDING("stopped by a signal"));
	status_of_test = "Name:\tx\nState: \t D (disk sleep)\nTracerPid:\t0\n";
	check_list(pending_list(), PENDING("waiting for a device"));
	status_of_test = "Name:\tx\nState:\tt (tracing stop)\nTracerPid:\t77\n";
	check_list(pending_list(), PENDING("being debugged by 77 (unknown)"));
	comm_of_test = "a name of more than 40 characters, of which 40 are used\nx";
	check_list(pending_list(),
			PENDING("being debugged by 77 (a name of more than 40 characters, of wh)"));
	comm_of_test = "gdb\n";
	check_list(pending_list(), PENDING("being debugged by 77 (gdb)"));
	assert_int_equal(files_open, 0);
	check_failures(pending_list);
	/*
	 * Changes before its arrival, changes of other users, and completed changes are not
	 * pending.
	 */
	check_list(programs_pending(&daemon_of_test, 30, SCOPE_ALL), "[]");
	check_list(programs_pending(&daemon_of_test, 31, UID + 1), "[]");
	check_list(programs_pending(&daemon_of_test, 31, UID),
			PENDING("being debugged by 77 (gdb)"));
	program->done = 31;
	check_list(pending_list(), "[]");
	program->done = 30;
	check_list(pending_list(), PENDING("being debugged by 77 (gdb)"));
	check_list(unchanged_list(), "[]");
	program->control = WIRE_CONTROL_SYNC;
	check_list(unchanged_list(), "[]");
	check_list(whole_list(),
			"[{\"pid\":1234,\"uid\":47,\"name\":\"name\",\"exe\":\"/bin/exe\",\"control\":\"sync\",\"armed\":false}]");
	program_disconnected(&daemon_of_test, &agents_of_test[0]);
	check_list(pending_list(), "[]");
	check_list(unchanged_list(), PENDING("control mode sync"));
	check_list(programs_unchanged(&daemon_of_test, UID + 1), "[]");
	check_failures(unchanged_list);
	free(program->exe);
	program->exe = NULL;
	program->control = WIRE_CONTROL_THREAD;
	check_list(unchanged_list(), "[]");
	check_list(whole_list(),
			"[{\"pid\":1234,\"uid\":47,\"name\":\"name\",\"exe\":\"\",\"control\":\"thread\",\"armed\":true}]");
	check_failures(whole_list);
	free(program->name);
	program->name = NULL;
	program->control = WIRE_CONTROL_SIGNAL;
	status_of_test = comm_of_test = NULL;
	check_list(pending_list(), "[{\"pid\":1234,\"name\":\"\",\"why\":\"not answering\"}]");
	check_list(whole_list(),
			"[{\"pid\":1234,\"uid\":47,\"name\":\"\",\"exe\":\"\",\"control\":\"signal\",\"armed\":false}]");
	program->control = WIRE_NR_CONTROLS;
	check_list(programs_json(&daemon_of_test, UID),
			"[{\"pid\":1234,\"uid\":47,\"name\":\"\",\"exe\":\"\",\"control\":\"off\",\"armed\":false}]");
	check_list(programs_json(&daemon_of_test, UID + 1), "[]");
	end(1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_arrive),
			cmocka_unit_test(test_refused),
			cmocka_unit_test(test_unseen),
			cmocka_unit_test(test_names),
			cmocka_unit_test(test_restore),
			cmocka_unit_test(test_buckets),
			cmocka_unit_test(test_signal),
			cmocka_unit_test(test_other_user),
			cmocka_unit_test(test_poke),
			cmocka_unit_test(test_done),
			cmocka_unit_test(test_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
