/* SPDX-License-Identifier: MIT */
/*
 * Recorders and the requests that wait for them, in one process: the test acts as the session
 * process and as a program, and it sets the clock. So each request, each timeout and each answer is
 * compared exactly.
 */
#include "daemon.h"

#include <spawn.h>
#include <sys/syscall.h>
#include <time.h>

#include "programs/sided/workers.c"

/* ---- the clock, and the calls that start and end processes ---- */

#define PID 4711000
#define BOOT_S 500
#define BOOT_NS 250000000

static uint64_t now_ns = 7000000000000ull;
static int recorder = -1; /* the socket of the session process */
static int spawn_fd;
static int spawn_error;
static unsigned int nr_spawned;
static bool has_no_pidfd, pidfd_is_zero;
static int pidfd;
static int nr_pidfd_kills, nr_kills;
static int killed_pid;
static int epoll_error;
static pid_t reaped[4];
static unsigned int nr_reaped;

int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]);
int __real_posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *actions, int fd, int copy);
int __wrap_posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *actions, int fd, int copy);
int __wrap_kill(pid_t pid, int number);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
int __real_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event);
pid_t __wrap_waitpid(pid_t pid, int *status, int flags);
pid_t __real_waitpid(pid_t pid, int *status, int flags);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	if (clock == CLOCK_MONOTONIC) {
		time->tv_sec = (time_t)(now_ns / 1000000000);
		time->tv_nsec = (long)(now_ns % 1000000000);
		return 0;
	}
	if (clock != CLOCK_BOOTTIME)
		return __real_clock_gettime(clock, time);
	time->tv_sec = BOOT_S;
	time->tv_nsec = BOOT_NS;
	return 0;
}

int __wrap_posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *actions, int fd, int copy)
{
	CHECK(copy == 3);
	spawn_fd = fd;
	return __real_posix_spawn_file_actions_adddup2(actions, fd, copy);
}

int __wrap_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	sigset_t none, standard;
	short flags = 0;

	CHECK(actions && envp == environ && !strcmp(path, "/proc/self/exe"));
	CHECK(!strcmp(argv[0], "sided") && !strcmp(argv[1], "--session-process") && !argv[2]);
	CHECK(!posix_spawnattr_getflags(attributes, &flags) &&
			flags == (POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
	CHECK(!posix_spawnattr_getsigmask(attributes, &none) &&
			!posix_spawnattr_getsigdefault(attributes, &standard));
	for (int number = 1; number < 32; number++)
		CHECK(!sigismember(&none, number) && sigismember(&standard, number));
	nr_spawned++;
	*pid = PID + (int)nr_spawned;
	if (spawn_error)
		return spawn_error;
	if (recorder >= 0)
		close(recorder);
	recorder = fcntl(spawn_fd, F_DUPFD_CLOEXEC, 3);
	CHECK(recorder >= 0);
	return 0;
}

int __wrap_kill(pid_t pid, int number)
{
	CHECK(number == SIGKILL && pid > PID);
	killed_pid = pid;
	nr_kills++;
	return 0;
}

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (number == SYS_pidfd_open && a > PID) {
		CHECK(a == PID + (long)nr_spawned && !b);
		/* Descriptor 0 is a valid descriptor. */
		if (pidfd_is_zero)
			close(STDIN_FILENO);
		pidfd = has_no_pidfd ? -1 : memfd_create("pidfd", MFD_CLOEXEC);
		CHECK(!pidfd_is_zero || !pidfd);
		return pidfd;
	}
	if (number == SYS_pidfd_send_signal) {
		CHECK(a == pidfd && b == SIGKILL && !c && !d);
		nr_pidfd_kills++;
		return 0;
	}
	return __real_syscall(number, a, b, c, d, e, f);
}

int __wrap_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
	if (!epoll_error || operation != EPOLL_CTL_ADD)
		return __real_epoll_ctl(epoll, operation, fd, event);
	errno = epoll_error;
	epoll_error = 0;
	return -1;
}

pid_t __wrap_waitpid(pid_t pid, int *status, int flags)
{
	if (pid != -1 || flags != WNOHANG)
		return __real_waitpid(pid, status, flags);
	return nr_reaped ? reaped[--nr_reaped] : 0;
}

static unsigned int failing_puts;   /* this number of messages cannot be created */
static unsigned int failing_calloc; /* the call with this number fails; 0: none */

int __real_frame_put(struct frame_out *out, struct json_object *object);
int __wrap_frame_put(struct frame_out *out, struct json_object *object);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

int __wrap_frame_put(struct frame_out *out, struct json_object *object)
{
	if (!failing_puts)
		return __real_frame_put(out, object);
	failing_puts--;
	return -ENOMEM;
}

void *__wrap_calloc(size_t count, size_t size)
{
	return failing_calloc && !--failing_calloc ? NULL : __real_calloc(count, size);
}

/* ---- the test as session process ---- */

static struct session_entry *one(void)
{
	return session_find(&the_daemon, "one");
}

static struct sided_worker *worker(void)
{
	return one()->worker;
}

/* Returns the next request, or NULL. */
static struct json_object *request(void)
{
	struct frame_in in = {.fd = -1};
	struct error error;
	struct json_object *found = NULL;
	int ret = 0;

	for (int i = 0; i < 3 && ret != 1 && (!ret || ret == -EAGAIN); i++) {
		turn();
		ret = frame_receive(&in, recorder, FRAME_ANSWER_MAX, &found, &error);
	}
	frame_in_free(&in);
	return ret == 1 ? found : NULL;
}

static const char *plain(struct json_object *object)
{
	return json_object_to_json_string_ext(
			object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

/* Takes ownership of the object. */
static void check_json(struct json_object *object, const char *expected)
{
	check_text(object ? plain(object) : NULL, expected);
	json_object_put(object);
}

static uint64_t in_ms(const struct timer *timer)
{
	return timer->base.is_set ? (timer->base.deadline - now_ns) / 1000000 : UINT64_MAX;
}

/* Checks the request to the session process, and how long the daemon waits for the answer. */
static void check_request(const char *expected, uint64_t limit_ms)
{
	check_json(request(), expected);
	CHECK(in_ms(&worker()->timeout) == limit_ms);
}

static void check_no_request(void)
{
	CHECK(!request());
}

static void answer(const char *text)
{
	send_text(recorder, text);
	turn();
	turn();
}

static void pass_time(uint64_t ms)
{
	now_ns += ms * 1000000;
	turn();
	turn();
}

static void die(void)
{
	close(recorder);
	recorder = -1;
	turn();
	turn();
}

#define BAD "{\"ok\":false,\"kind\":\"busy\",\"error\":\"no good\",\"hint\":\"wait\"}"

/* ---- requests of a client ---- */

#define DEFINITION \
	"{\"version\":1,\"name\":\"one\",\"format\":\"ctf1\",\"channels\":[],\"track\":[]}"

static int client;

static void ask_one(const char *verb, const char *more)
{
	char text[300];

	snprintf(text, sizeof(text), GO "\"%s\",\"session\":\"one\"%s}", verb, more);
	send_text(client, text);
}

/* Checks the answer, whose "output" is that of the session. */
static void check_heard(const char *expected)
{
	struct json_object *found = hear(client);

	CHECK(found);
	if (json_object_object_get_ex(found, "output", NULL)) {
		CHECK(!one() || !strcmp(text_of(found, "output"), one()->output));
		json_object_object_del(found, "output");
	}
	check_json(found, expected);
}

/*
 * An answer of `side start` or another verb about programs. The session process reports a
 * generation after a change.
 */
static void check_done(unsigned int programs, bool changed, unsigned int generation)
{
	char expected[200], number[32];

	snprintf(number, sizeof(number), "\"generation\":%u,", generation);
	snprintf(expected, sizeof(expected),
			"{\"ok\":true,%s\"programs\":%u,\"changed\":%s,\"session\":\"one\",%s\"pending\":[],\"unchanged\":[]}",
			changed && generation ? number : "", programs, changed ? "true" : "false",
			changed && generation ? "" : number);
	check_heard(expected);
}

static void begin_session(void)
{
	the_daemon.output = strdup(in_work("traces"));
	client = dial("run/control.sock");
	check_good(ask(client, GO "\"create\",\"session\":\"one\"}"));
}

static void check_opening(bool again, bool active, unsigned int generation)
{
	struct json_object *found = request();
	char expected[900];

	CHECK(found);
	snprintf(expected, sizeof(expected),
			"{\"verb\":\"open\",\"definition\":%s,\"socket\":\"%s\",\"lock\":\"%s\",\"tables\":\"%s\",\"output\":\"%s\",\"state-directory\":\"%s\",\"again\":%s,\"active\":%s,\"boot\":false,\"any-user\":false,\"no-files\":false,\"generation\":%u}",
			DEFINITION, in_work("run/sessions/one.sock"), in_work("run/state/one.lock"),
			in_work("run/state/one.probes"), one()->output, one()->state_dir,
			again ? "true" : "false", active ? "true" : "false", generation);
	check_text(plain(found), expected);
	json_object_put(found);
	CHECK(in_ms(&worker()->timeout) == 60000);
}

/* Starts a session of generation 7, whose process waits for requests. */
static void start(void)
{
	begin_session();
	ask_one("start", "");
	check_opening(false, true, 1);
	answer("{\"ok\":true,\"generation\":6}");
	check_request("{\"verb\":\"hello\"}", 30000);
	answer("{\"ok\":true,\"generation\":7}");
	check_done(0, true, 7);
}

static void stop(void)
{
	if (one()) {
		worker_close(&the_daemon, one());
		session_remove(&the_daemon, one());
	}
	close(client);
	if (recorder >= 0)
		close(recorder);
	recorder = -1;
	turn();
	turn();
	free(the_daemon.output);
	the_daemon.output = NULL;
	nr_pidfd_kills = nr_kills = 0;
	(void)reported();
	CHECK(!the_daemon.waiting && !the_daemon.nr_sessions && !the_daemon.clients);
}

/* ---- tests ---- */

static void test_start(void)
{
	uint64_t serial = the_daemon.serial;
	char text[600];

	begin_session();
	CHECK(!one()->active && one()->state == SESSION_DEFINED && !worker_is_ready(one()) &&
			!worker_pid(one()) && !worker_restarts(one()));
	ask_one("rotate", "");
	check_answer(hear(client), "usage", "the session one has not been started",
			"run `side start` first");
	ask_one("stop", "");
	check_answer(hear(client), "usage", "the session one has not been started",
			"run `side start` first");
	ask_one("start", "");
	check_opening(false, true, 1);
	CHECK(one()->state == SESSION_STARTING && one()->active && !worker_is_ready(one()));
	CHECK(worker_pid(one()) == PID + (int)nr_spawned);
	CHECK(one()->absent ==
			BOOT_S * (uint64_t)sysconf(_SC_CLK_TCK) +
					(uint64_t)sysconf(_SC_CLK_TCK) / 4);
	check_text(session_state_word(one()), "defined");
	answer("{\"ok\":true,\"generation\":6}");
	CHECK(worker_is_ready(one()) && one()->generation == 6 && !one()->absent);
	CHECK(the_daemon.serial == serial && one()->state == SESSION_LIVE);
	check_request("{\"verb\":\"hello\"}", 30000);
	/* The request waits only for its answer. */
	check_no_request();
	answer("{\"ok\":true,\"generation\":7,\"more\":[1]}");
	check_heard("{\"ok\":true,\"generation\":7,\"more\":[1],\"programs\":0,\"changed\":true,\"session\":\"one\",\"pending\":[],\"unchanged\":[]}");
	CHECK(the_daemon.serial == serial + 1 && one()->generation == 7 &&
			!worker()->timeout.base.is_set && !worker()->calls);
	CHECK(worker()->end == &worker()->calls);
	read_text("run/state/one.json", text, sizeof(text));
	CHECK(strstr(text, "\"generation\":7") && strstr(text, "\"started\":true") &&
			strstr(text, "\"active\":true"));
	check_text(session_state_word(one()), "active");
	/* Nothing to do. */
	ask_one("start", "");
	check_done(0, false, 7);
	check_no_request();
	CHECK(the_daemon.serial == serial + 1);
	stop();
}

/* Without an answer, the session has the state before its start. */
static void test_failed_start(void)
{
	begin_session();
	ask_one("start", "");
	check_opening(false, true, 1);
	answer(BAD);
	check_answer(hear(client), "busy", "no good", "wait");
	check_text(reported(), "sided: the session one cannot be recorded: no good\n");
	CHECK(one()->state == SESSION_DEFINED && !one()->active);
	check_text(one()->error, "no good");
	check_text(session_state_word(one()), "defined");
	CHECK(is_hung_up(recorder) && !worker()->restart.base.is_set &&
			worker()->state == WORKER_AWAY);
	CHECK(!worker()->pid && worker()->process == -1 && worker()->failures == 1);
	/* The next start can succeed. */
	ask_one("start", "");
	check_opening(false, true, 1);
	answer("{\"ok\":true,\"generation\":6}");
	CHECK(!one()->error);
	check_request("{\"verb\":\"hello\"}", 30000);
	answer(BAD);
	check_answer(hear(client), "busy", "no good", "wait");
	/* The session has been opened, and stays. */
	CHECK(one()->state == SESSION_LIVE && one()->active);
	stop();
}

/* Each verb: its request, its timeout, and whether programs must act. */
static void test_verbs(void)
{
	static const struct {
		const char *verb;
		unsigned int limit_ms;
		bool pokes;
	} verbs_of_all[] = {{"statedump", 30000, true}, {"rotate", 60000, false},
			{"clear", 60000, false}};
	char expected[200];

	start();
	for (size_t i = 0; i < sizeof(verbs_of_all) / sizeof(verbs_of_all[0]); i++) {
		uint64_t serial = the_daemon.serial;

		ask_one(verbs_of_all[i].verb, "");
		snprintf(expected, sizeof(expected), "{\"verb\":\"%s\"}", verbs_of_all[i].verb);
		check_request(expected, verbs_of_all[i].limit_ms);
		answer("{\"ok\":true,\"generation\":8}");
		snprintf(expected, sizeof(expected),
				"{\"ok\":true,\"generation\":8,%s\"changed\":true,\"session\":\"one\",\"pending\":[],\"unchanged\":[]}",
				verbs_of_all[i].pokes ? "\"programs\":0," : "");
		check_heard(expected);
		CHECK(the_daemon.serial == serial + verbs_of_all[i].pokes);
		CHECK(!the_daemon.waiting && !one()->operation);
	}
	ask_one("rotate", "");
	check_request("{\"verb\":\"rotate\"}", 60000);
	answer(BAD);
	check_answer(hear(client), "busy", "no good", "wait");
	CHECK(!one()->operation);
	/* A timeout that is out of range. */
	ask_one("rotate", ",\"timeout\":86400000000001");
	check_answer(hear(client), "usage",
			"\"timeout\" is 86400000000001, which is more than 86400000000000", "");
	/* An answer without a request has no effect. */
	answer("{\"ok\":true,\"generation\":99}");
	CHECK(one()->generation == 8 && worker_is_ready(one()));
	stop();
}

#define CHANGE(active) "{\"verb\":\"change\",\"definition\":" DEFINITION ",\"active\":" active "}"

static void test_stop(void)
{
	uint64_t serial;

	start();
	serial = the_daemon.serial;
	ask_one("stop", "");
	check_request(CHANGE("false"), 30000);
	CHECK(one()->active);
	answer("{\"ok\":true,\"generation\":8}");
	CHECK(!one()->active && the_daemon.serial == serial + 1);
	check_request("{\"verb\":\"flush\"}", 60000);
	answer("{\"ok\":true,\"bytes\":47}");
	check_heard("{\"ok\":true,\"bytes\":47,\"programs\":0,\"changed\":true,\"session\":\"one\",\"generation\":8,\"pending\":[],\"unchanged\":[]}");
	check_text(session_state_word(one()), "stopped");
	/* A stopped session only writes its buffered data. */
	ask_one("stop", "");
	check_request("{\"verb\":\"flush\"}", 60000);
	answer(BAD);
	check_answer(hear(client), "busy", "no good", "wait");
	CHECK(the_daemon.serial == serial + 1);
	ask_one("start", "");
	check_request(CHANGE("true"), 30000);
	answer("{\"ok\":true,\"generation\":9}");
	check_done(0, true, 9);
	CHECK(one()->active && the_daemon.serial == serial + 2);
	stop();
}

#define TRACK \
	"{\"version\":1,\"name\":\"one\",\"format\":\"ctf1\",\"channels\":[],\"track\":[{\"pid\":5}]}"

/* A change of the definition is made if the session process accepts it. */
static void test_changes(void)
{
	static const char request_text[] =
			"{\"verb\":\"change\",\"definition\":" TRACK ",\"active\":true}";
	uint64_t serial;

	start();
	serial = the_daemon.serial;
	ask_one("track", ",\"pid\":[5]");
	check_request(request_text, 30000);
	answer(BAD);
	check_answer(hear(client), "busy", "no good", "wait");
	CHECK(!one()->definition->nr_tracks && the_daemon.serial == serial && one()->active);
	ask_one("track", ",\"pid\":[5]");
	check_request(request_text, 30000);
	answer("{\"ok\":true,\"generation\":8}");
	check_done(0, true, 8);
	CHECK(one()->definition->nr_tracks == 1 && one()->active);
	CHECK(the_daemon.serial == serial + 1);
	/* The same again changes nothing. */
	ask_one("track", ",\"pid\":[5]");
	check_done(0, false, 8);
	check_no_request();
	ask_one("untrack", ",\"pid\":[6]");
	check_answer(hear(client), "not-found", "the session one does not track pid 6",
			"`side list` shows what a session tracks");
	CHECK(!one()->operation);
	stop();
	/* Before the first start, the definition alone changes. */
	begin_session();
	ask_one("track", ",\"pid\":[5]");
	check_done(0, true, 0);
	CHECK(one()->definition->nr_tracks == 1 && !one()->worker && !one()->active);
	ask_one("destroy", "");
	check_heard("{\"ok\":true,\"programs\":0,\"changed\":true,\"pending\":[],\"unchanged\":[]}");
	CHECK(!one() && !exists("run/state/one.json"));
	stop();
}

/* ---- waiting for programs ---- */

static int program_arrives(void)
{
	int fd = dial("run/agents.sock");
	char reason[128];

	send_arrive(fd, 5, WIRE_CONTROL_THREAD, 0);
	CHECK(hear_welcome(fd, reason).accepted);
	turn();
	return fd;
}

static void program_is_notified(int fd)
{
	char reason[128];

	CHECK(hear_welcome(fd, reason).serial == the_daemon.serial);
}

static uint64_t first_ms(struct event_timer *heap)
{
	uint64_t found = UINT64_MAX;

	for (; heap; heap = heap->next) {
		uint64_t own = in_ms(container_of(heap, struct timer, base)),
			 below = first_ms(heap->child);

		if (heap != &the_daemon.suppressed.base && own < found)
			found = own;
		found = below < found ? below : found;
	}
	return found;
}

/* Returns the time until the daemon stops waiting for programs. */
static uint64_t wait_ms(void)
{
	return first_ms(the_daemon.loop.timers);
}

static void ask_dump(const char *timeout)
{
	ask_one("statedump", timeout);
	json_object_put(request());
	answer("{\"ok\":true,\"generation\":8}");
	CHECK(the_daemon.waiting);
}

/* Checks whether the answer contains the pending program. */
static void check_pending(bool is)
{
	struct json_object *found = hear(client), *list;

	CHECK(found && json_object_object_get_ex(found, "pending", &list));
	CHECK(json_object_array_length(list) == is);
	if (is) {
		struct json_object *first = json_object_array_get_idx(list, 0);

		CHECK(json_object_object_get_ex(first, "pid", NULL));
		CHECK(atoi(text_of(first, "pid")) == getpid());
	}
	check_good(found);
	CHECK(!the_daemon.waiting && !one()->operation);
}

static void test_waiting(void)
{
	int fd;

	start();
	fd = program_arrives();
	sessions_print_done(fd, 5, the_daemon.serial);
	turn();
	/* It answers at once. */
	ask_dump("");
	CHECK(wait_ms() == 5000);
	program_is_notified(fd);
	sessions_print_done(fd, 5, the_daemon.serial);
	turn();
	check_pending(false);
	/* The next request of the session need not wait for programs. */
	ask_dump(",\"timeout\":1000001");
	CHECK(wait_ms() == 2 && !one()->operation);
	pass_time(1);
	CHECK(the_daemon.waiting);
	pass_time(1);
	check_pending(true);
	CHECK(!only_program()->late);
	/* A short wait does not make the program late, one of 5 s does. */
	ask_dump(",\"timeout\":4999000000");
	CHECK(wait_ms() == 4999);
	pass_time(4999);
	check_pending(true);
	CHECK(!only_program()->late);
	ask_dump("");
	CHECK(wait_ms() == 5000);
	pass_time(5000);
	check_pending(true);
	CHECK(only_program()->late == the_daemon.serial);
	/* Then requests wait 300 ms for it, or less if they request it. */
	ask_dump("");
	CHECK(wait_ms() == 300);
	pass_time(300);
	check_pending(true);
	ask_dump(",\"timeout\":300000000");
	CHECK(wait_ms() == 300);
	pass_time(299);
	CHECK(the_daemon.waiting);
	pass_time(1);
	check_pending(true);
	ask_dump(",\"timeout\":301000000");
	CHECK(wait_ms() == 300);
	pass_time(300);
	check_pending(true);
	ask_dump(",\"timeout\":20000000");
	CHECK(wait_ms() == 20);
	pass_time(20);
	check_pending(true);
	/* It answers again. */
	sessions_print_done(fd, 5, the_daemon.serial);
	turn();
	CHECK(!only_program()->late);
	ask_dump("");
	CHECK(wait_ms() == 5000);
	/* It exits, or closes its connection. */
	close(fd);
	turn();
	turn();
	check_pending(false);
	/* No request waits for programs. */
	ask_one("statedump", "");
	json_object_put(request());
	answer("{\"ok\":true,\"generation\":8}");
	check_done(1, true, 8);
	programs_close(&the_daemon);
	CHECK(!programs_open(&the_daemon));
	stop();
}

/* Two requests wait for one program at a time, and each for its own change. */
static void test_waiting_twice(void)
{
	int fd, other;
	uint64_t serial;

	start();
	fd = program_arrives();
	sessions_print_done(fd, 5, the_daemon.serial);
	turn();
	other = dial("run/control.sock");
	ask_dump("");
	serial = the_daemon.serial;
	send_text(other, GO "\"statedump\",\"session\":\"one\"}");
	json_object_put(request());
	answer("{\"ok\":true,\"generation\":9}");
	CHECK(the_daemon.serial == serial + 1);
	sessions_print_done(fd, 5, serial);
	turn();
	{
		struct json_object *found = hear(client);

		CHECK(found && strstr(plain(found), "\"pending\":[]"));
		check_good(found);
	}
	CHECK(the_daemon.waiting);
	sessions_print_done(fd, 5, serial + 1);
	turn();
	{
		struct json_object *found = hear(other);

		CHECK(found && strstr(plain(found), "\"pending\":[]"));
		check_good(found);
	}
	CHECK(!the_daemon.waiting);
	close(other);
	close(fd);
	turn();
	programs_close(&the_daemon);
	CHECK(!programs_open(&the_daemon));
	stop();
}

#define PICTURE(serial)                                                                           \
	"{\"ok\":true,\"path\":\"snapshot-" serial                                                \
	"\",\"programs\":0,\"changed\":true,\"session\":\"one\",\"generation\":9,\"pending\":[]," \
	"\"unchanged\":[]}"

/* The programs record their state between both requests. */
static void test_snapshot(void)
{
	uint64_t serial;

	start();
	serial = the_daemon.serial;
	ask_one("snapshot", "");
	check_request("{\"verb\":\"snapshot-begin\"}", 60000);
	answer("{\"ok\":true,\"generation\":9}");
	CHECK(one()->generation == 9 && the_daemon.serial == serial + 1);
	check_request("{\"verb\":\"snapshot\"}", 60000);
	answer("{\"ok\":true,\"path\":\"snapshot-1\"}");
	check_heard(PICTURE("1"));
	/* There is no channel for it. */
	ask_one("snapshot", "");
	check_request("{\"verb\":\"snapshot-begin\"}", 60000);
	answer(BAD);
	check_answer(hear(client), "busy", "no good", "wait");
	CHECK(!one()->operation && the_daemon.serial == serial + 1);
	/* No program of a stopped session records a state. */
	one()->active = false;
	ask_one("snapshot", "");
	check_request("{\"verb\":\"snapshot\"}", 60000);
	answer("{\"ok\":true,\"path\":\"snapshot-2\"}");
	json_object_put(hear(client));
	CHECK(the_daemon.serial == serial + 1);
	stop();
}

/* ---- the queue of a session, and its end ---- */

static void test_queue(void)
{
	int others[3];

	start();
	for (int i = 0; i < 3; i++)
		others[i] = dial("run/control.sock");
	ask_one("rotate", "");
	turn();
	send_text(others[0], GO "\"clear\",\"session\":\"one\"}");
	turn();
	send_text(others[1], GO "\"destroy\",\"session\":\"one\"}");
	turn();
	send_text(others[2], GO "\"snapshot\",\"session\":\"one\"}");
	turn();
	CHECK(one()->operation && one()->queue);
	check_request("{\"verb\":\"rotate\"}", 60000);
	check_no_request();
	answer("{\"ok\":true}");
	check_good(hear(client));
	check_request("{\"verb\":\"clear\"}", 60000);
	answer("{\"ok\":true}");
	check_good(hear(others[0]));
	check_request(CHANGE("false"), 30000);
	answer("{\"ok\":true,\"generation\":8}");
	check_request("{\"verb\":\"close\"}", 3600000);
	CHECK(one() && !exists("run/state/none"));
	answer("{\"ok\":true,\"bytes\":5}");
	{
		struct json_object *found = hear(others[1]);

		CHECK(found && !one());
		check_text(text_of(found, "bytes"), "5");
		check_text(text_of(found, "session"), "one");
		CHECK(strstr(text_of(found, "output"), "/traces/one-"));
		check_text(text_of(found, "changed"), "true");
		check_text(text_of(found, "programs"), "0");
		CHECK(strstr(plain(found), "\"pending\":[],\"unchanged\":[]"));
		/* The directory of traces stays. */
		CHECK(!access(text_of(found, "output"), F_OK));
		check_good(found);
	}
	check_answer(hear(others[2]), "not-found", "the session one was destroyed meanwhile", "");
	CHECK(is_hung_up(recorder) && !exists("run/state/one.json"));
	for (int i = 0; i < 3; i++)
		close(others[i]);
	stop();
}

/*
 * A session whose process fails while it is destroyed stays; one that cannot begin again does not.
 */
static void test_destroy(void)
{
	char expected[400], state_dir[200];

	start();
	ask_one("destroy", "");
	check_request(CHANGE("false"), 30000);
	answer("{\"ok\":true,\"generation\":8}");
	check_request("{\"verb\":\"close\"}", 3600000);
	answer(BAD);
	check_answer(hear(client), "busy", "no good", "wait");
	CHECK(one() && !one()->active && !one()->operation);
	(void)reported();
	/* The process exits, and the next one cannot start. */
	die();
	pass_time(100);
	check_opening(true, false, 9);
	answer(BAD);
	check_text(session_state_word(one()), "failed");
	(void)reported();
	snprintf(state_dir, sizeof(state_dir), "%s", one()->state_dir);
	ask_one("destroy", "");
	turn();
	CHECK(in_ms(&worker()->restart) == 200);
	pass_time(200);
	json_object_put(request());
	answer(BAD);
	check_heard("{\"ok\":true,\"session\":\"one\",\"programs\":0,\"changed\":true,\"pending\":[],\"unchanged\":[]}");
	snprintf(expected, sizeof(expected),
			"sided: the session one cannot be recorded: no good\nsided: the session one is destroyed without its recorder; unwritten data stays in %s\n",
			state_dir);
	check_text(reported(), expected);
	CHECK(!one());
	stop();
}

/* The directory of a session that sends all data is removed with it. */
static void test_spooled(void)
{
	for (int spools = 0; spools < 2; spools++) {
		char output[300];

		start();
		snprintf(output, sizeof(output), "%s", one()->output);
		one()->definition->spool = spools;
		one()->definition->to = spools ? strdup("127.0.0.1:1") : NULL;
		CHECK(definition_is_spooled(one()->definition) == spools);
		CHECK(!access(output, F_OK));
		ask_one("destroy", "");
		json_object_put(request());
		/* The user has changed it. */
		answer("{\"ok\":true,\"generation\":8}");
		one()->definition->spool = spools;
		if (spools && !one()->definition->to)
			one()->definition->to = strdup("127.0.0.1:1");
		json_object_put(request());
		answer("{\"ok\":true}");
		check_good(hear(client));
		CHECK(!one() && !access(output, F_OK) == !spools);
		stop();
	}
}

/* ---- session processes that fail ---- */

static void check_printed(const char *what)
{
	char expected[300];

	snprintf(expected, sizeof(expected),
			"sided: the process %d that records the session one %s\n",
			PID + (int)nr_spawned, what);
	check_text(reported(), expected);
}

static void test_deaths(void)
{
	static const unsigned int pauses[] = {100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000};
	struct resources before;
	unsigned int restarts = 0;

	start();
	before = resources_now();
	ask_one("rotate", "");
	for (size_t i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
		uint64_t serial = the_daemon.serial;

		if (i < 4) {
			/* The request is made again: 4 times. */
			check_request("{\"verb\":\"rotate\"}", 60000);
			CHECK(worker()->calls->attempts == i + 1);
		}
		die();
		restarts++;
		check_printed("has ended");
		CHECK(nr_pidfd_kills == (int)restarts && !nr_kills);
		CHECK(worker_restarts(one()) == restarts && worker()->failures == restarts);
		CHECK(!worker_is_ready(one()) && !worker_pid(one()) && one()->absent);
		CHECK(in_ms(&worker()->restart) == pauses[i] && !worker()->timeout.base.is_set);
		check_text(session_state_word(one()), "restarting");
		if (i == 3)
			check_answer(hear(client), "failed",
					"the process that records the session one ended repeatedly",
					"see the daemon's log");
		CHECK(resources_now().descriptors == before.descriptors - 3);
		pass_time(pauses[i] - 1);
		CHECK(worker()->restart.base.is_set);
		pass_time(1);
		CHECK(!worker()->restart.base.is_set);
		check_opening(true, true, 7 + (unsigned int)i + 1);
		answer("{\"ok\":true}");
		/* The session process has no generation to report. */
		one()->generation++;
		CHECK(worker_is_ready(one()) && !one()->absent && one()->active);
		/* Programs may not have found a session process. */
		CHECK(the_daemon.serial == serial + 1);
		CHECK(resources_now().descriptors == before.descriptors);
	}
	/* A process that has lived for more than 30 s clears the earlier failures. */
	pass_time(30000);
	die();
	CHECK(in_ms(&worker()->restart) == 10000 && worker()->failures == 10);
	(void)reported();
	pass_time(10000);
	json_object_put(request());
	answer("{\"ok\":true}");
	now_ns += 30000000001ull;
	die();
	CHECK(in_ms(&worker()->restart) == 50 && worker()->failures == 0);
	stop();
}

/* A process that does not answer is killed. */
static void test_silent(void)
{
	static const char silent[] = "does not answer, and is restarted";

	start();
	ask_one("snapshot", "");
	check_request("{\"verb\":\"snapshot-begin\"}", 60000);
	pass_time(59999);
	CHECK(worker_is_ready(one()) && !nr_pidfd_kills);
	pass_time(1);
	check_printed(silent);
	CHECK(nr_pidfd_kills == 1 && is_hung_up(recorder) && !worker_is_ready(one()));
	/*
	 * Without pidfds (before Linux 5.3), by its process ID, unless another process may have it
	 * by now.
	 */
	has_no_pidfd = true;
	pass_time(50);
	check_opening(true, true, 8);
	pass_time(60000);
	check_printed(silent);
	CHECK(nr_pidfd_kills == 1 && nr_kills == 1 && killed_pid == PID + (int)nr_spawned);
	pass_time(100);
	CHECK(worker()->process == -1 && !worker()->is_reaped);
	reaped[0] = PID + (int)nr_spawned;
	reaped[1] = 4711;
	nr_reaped = 2;
	workers_reap(&the_daemon);
	CHECK(!nr_reaped && worker()->is_reaped);
	die();
	CHECK(nr_kills == 1 && nr_pidfd_kills == 1);
	pass_time(10000);
	CHECK(!worker()->is_reaped);
	nr_reaped = 1;
	reaped[0] = 4711;
	workers_reap(&the_daemon);
	CHECK(!worker()->is_reaped);
	has_no_pidfd = false;
	die();
	pidfd_is_zero = true;
	nr_kills = nr_pidfd_kills = 0;
	{
		int input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);

		pass_time(10000);
		CHECK(!worker()->process);
		die();
		CHECK(nr_pidfd_kills == 1 && !nr_kills && worker()->process == -1);
		CHECK(fcntl(STDIN_FILENO, F_GETFD) < 0 && errno == EBADF);
		CHECK(dup2(input, STDIN_FILENO) == STDIN_FILENO);
		close(input);
	}
	pidfd_is_zero = false;
	stop();
}

/* The process cannot be started. */
static void test_spawns(void)
{
	struct resources before;

	begin_session();
	before = resources_now();
	spawn_error = ENOMEM;
	ask_one("start", "");
	turn();
	turn();
	check_text(reported(),
			"sided: cannot start the process that records the session one: Cannot allocate memory\n");
	CHECK(worker()->state == WORKER_AWAY && !worker()->pid && worker()->process == -1 &&
			worker()->failures == 1 && in_ms(&worker()->restart) == 100);
	CHECK(!nr_kills && !nr_pidfd_kills);
	CHECK(resources_now().descriptors == before.descriptors);
	spawn_error = 0;
	epoll_error = ENOSPC;
	pass_time(100);
	check_text(reported(),
			"sided: cannot start the process that records the session one: No space left on device\n");
	CHECK(nr_pidfd_kills == 1 && worker()->failures == 2 && !worker()->pid &&
			worker()->process == -1 && worker()->watch.fd == -1);
	CHECK(is_hung_up(recorder));
	CHECK(resources_now().descriptors == before.descriptors + 1);
	pass_time(200);
	check_opening(false, true, 1);
	/* Its message is not an answer. */
	CHECK(send(recorder, "x", 1, 0) == 1);
	turn();
	check_printed("has ended");
	CHECK(nr_pidfd_kills == 2 && in_ms(&worker()->restart) == 400 && is_hung_up(recorder));
	stop();
}

/* ---- connections of programs, and programs without a session process ---- */

static void test_passed(void)
{
	struct frame_in in = {.fd = -1, .takes_fd = true};
	struct error error;
	struct json_object *found;
	size_t size;
	int ends[2], fd;

	begin_session();
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
	CHECK(!worker_pass(&the_daemon, one(), ends[0]));
	stop();
	start();
	size = worker()->out.size;
	CHECK(worker_pass(&the_daemon, one(), ends[0]) && !worker()->out.size && !size);
	CHECK(frame_receive(&in, recorder, FRAME_ANSWER_MAX, &found, &error) == 1);
	check_json(found, "{\"verb\":\"connection\"}");
	fd = frame_take_fd(&in);
	CHECK(fd >= 0 && write(fd, "x", 1) == 1 && !is_hung_up(ends[1]));
	close(fd);
	frame_in_free(&in);
	CHECK(!worker()->timeout.base.is_set);
	worker()->out.size = LIMIT_QUEUED + 1;
	CHECK(!worker_pass(&the_daemon, one(), ends[0]));
	worker()->out.size = LIMIT_QUEUED;
	CHECK(worker_pass(&the_daemon, one(), ends[0]));
	worker()->out.size = 0;
	close(ends[0]);
	close(ends[1]);
	json_object_put(request());
	/* What the socket does not take is sent later. */
	{
		struct json_object *text = json_object_new_object();
		unsigned int nr = 0, nr_read = 0;

		json_object_object_add(text, "verb", json_object_new_string("x"));
		for (; !worker()->out.size && nr < 10000; nr++) {
			CHECK(!frame_put(&worker()->out, text));
			sided_worker_flush(&the_daemon, worker());
			CHECK(worker()->watch.events ==
					(worker()->out.size ? EPOLLIN | EPOLLOUT : EPOLLIN));
		}
		CHECK(worker()->out.size && worker_is_ready(one()));
		json_object_put(text);
		while ((text = request())) {
			json_object_put(text);
			nr_read++;
		}
		CHECK(nr_read == nr && !worker()->out.size && worker()->watch.events == EPOLLIN);
	}
	/* The next message detects that the peer has closed the connection. */
	close(recorder);
	recorder = -1;
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
	CHECK(worker_pass(&the_daemon, one(), ends[0]) && !worker_is_ready(one()));
	CHECK(worker()->restart.base.is_set && !nr_pidfd_kills);
	close(ends[0]);
	close(ends[1]);
	stop();
}

/* ---- several requests of one session process ---- */

static struct sided_object users[4];
static char done_calls[64];
static unsigned int nr_destroyed;

static void user_destroy(struct daemon *daemon, struct sided_object *object)
{
	(void)daemon;
	CHECK(object >= users && object < users + 4);
	nr_destroyed++;
}

static void ask_as(struct sided_object *user);
static bool removes_session;

static void user_done(struct daemon *daemon, struct session_entry *entry, struct sided_object *user,
		struct json_object *found, const struct error *error)
{
	CHECK(daemon == &the_daemon && entry == one() && !found && error);
	check_text(error->text,
			removes_session && user != users ? "the session one no longer exists"
							 : "no good");
	sprintf(done_calls + strlen(done_calls), "%d,", (int)(user - users));
	if (user == users && removes_session)
		worker_close(&the_daemon, entry);
	else if (user == users)
		ask_as(&users[3]);
}

static void ask_as(struct sided_object *user)
{
	struct json_object *text = json_object_new_object();

	object_init(user, user_destroy);
	json_object_object_add(text, "verb", json_object_new_string("x"));
	worker_ask(&the_daemon, one(), text, 1000, user_done, user);
	object_put(&the_daemon, user);
}

/*
 * All waiting requests are refused if the session cannot be recorded, but not those that arrive
 * meanwhile.
 */
static void test_refused_calls(void)
{
	for (int removes = 0; removes < 2; removes++) {
		removes_session = removes;
		*done_calls = 0;
		nr_destroyed = 0;
		begin_session();
		CHECK(!session_settle(&the_daemon, one(), &(struct error){.code = 0}));
		for (int i = 0; i < 3; i++)
			ask_as(&users[i]);
		/* One of them has been cancelled. */
		object_get(&users[1]);
		users[1].is_closed = true;
		check_opening(false, false, 1);
		answer(BAD);
		check_text(done_calls, "0,2,");
		CHECK(nr_destroyed == 2 && !nr_kills && !nr_pidfd_kills);
		users[1].is_closed = false;
		object_put(&the_daemon, &users[1]);
		turn();
		CHECK(nr_destroyed == 3);
		if (!removes) {
			/* The later one waits for the next process. */
			CHECK(worker()->calls && worker()->calls->user == &users[3] &&
					!worker()->calls->next &&
					worker()->end == &worker()->calls->next);
			check_opening(false, false, 1);
			answer("{\"ok\":true,\"generation\":2}");
			check_request("{\"verb\":\"x\"}", 1000);
			answer(BAD);
			check_text(done_calls, "0,2,3,");
			CHECK(nr_destroyed == 4);
		} else {
			CHECK(!one()->worker);
		}
		stop();
	}
}

/* ---- no memory ---- */

static void test_no_memory(void)
{
	static const char cannot_ask[] =
			"sided: out of memory: cannot send a request to the process that records the session one\n";
	bool is_done = false;

	begin_session();
	ask_one("start", "");
	failing_puts = 1;
	turn();
	turn();
	check_text(reported(), cannot_ask);
	CHECK(nr_pidfd_kills == 1 && in_ms(&worker()->restart) == 100 && is_hung_up(recorder));
	CHECK(!worker()->timeout.base.is_set && worker()->state == WORKER_AWAY);
	pass_time(100);
	check_opening(false, true, 1);
	send_text(recorder, "{\"ok\":true,\"generation\":6}");
	failing_puts = 1;
	turn();
	turn();
	check_answer(hear(client), "failed", "out of memory", "");
	check_text(reported(), cannot_ask);
	CHECK(worker_is_ready(one()) && !worker()->asked && !worker()->timeout.base.is_set);
	ask_one("rotate", "");
	check_request("{\"verb\":\"rotate\"}", 60000);
	answer("{\"ok\":true}");
	check_good(hear(client));
	stop();
	/* Each allocation fails in turn. */
	for (unsigned int i = 1; !is_done; i++) {
		struct json_object *found;
		struct error error;

		CHECK(i < 30);
		begin_session();
		ask_one("start", "");
		failing_calloc = i;
		turn();
		turn();
		is_done = failing_calloc != 0;
		failing_calloc = 0;
		if (worker_pid(one())) {
			json_object_put(request());
			answer("{\"ok\":true,\"generation\":6}");
			json_object_put(request());
			answer("{\"ok\":true,\"generation\":7}");
		}
		found = hear(client);
		CHECK(found);
		if (json_answer(found, &error)) {
			check_text(error.text, "out of memory");
			CHECK(!is_done && one()->state == SESSION_DEFINED && !one()->active &&
					!one()->operation);
		}
		json_object_put(found);
		stop();
	}
}

static void test_missed(void)
{
	struct sided_program program = {.pid = getpid(), .uid = 5};
	uint64_t started = session_process_start(getpid());

	start();
	CHECK(started > 1);
	workers_count_unrecorded(&the_daemon, &program);
	CHECK(!one()->nr_unrecorded && !program.is_unrecorded);
	one()->absent = started + 1;
	workers_count_unrecorded(&the_daemon, &program);
	CHECK(!one()->nr_unrecorded && !program.is_unrecorded);
	one()->absent = started;
	one()->active = false;
	workers_count_unrecorded(&the_daemon, &program);
	one()->active = true;
	one()->state = SESSION_STARTING;
	workers_count_unrecorded(&the_daemon, &program);
	one()->state = SESSION_LIVE;
	/* Programs of other users do not belong to the session. */
	the_daemon.system = true;
	one()->uid = 6;
	workers_count_unrecorded(&the_daemon, &program);
	CHECK(!one()->nr_unrecorded && !program.is_unrecorded);
	one()->uid = 5;
	workers_count_unrecorded(&the_daemon, &program);
	CHECK(one()->nr_unrecorded == 1 && program.is_unrecorded);
	workers_count_unrecorded(&the_daemon, &program);
	CHECK(one()->nr_unrecorded == 1);
	the_daemon.system = false;
	program.is_unrecorded = false;
	program.pid = INT32_MAX;
	workers_count_unrecorded(&the_daemon, &program);
	CHECK(one()->nr_unrecorded == 1 && !program.is_unrecorded);
	one()->uid = geteuid();
	stop();
}

/* ---- status ---- */

#define ABOUT \
	"{\"name\":\"one\",\"state\":\"active\",\"generation\":7,\"uid\":%u,\"restarts\":0,\"missed-starts\":0,\"other-releases\":0,\"recorder\":%d,\"channels\":0"

/* The only session of an answer, whose "output" is that of the session. */
static void check_about(const char *more, const char *end_of_answer)
{
	struct json_object *found = hear(client), *list, *first;
	char expected[900];

	CHECK(found && json_object_object_get_ex(found, "sessions", &list) &&
			json_object_array_length(list) == 1);
	first = json_object_array_get_idx(list, 0);
	check_text(text_of(first, "output"), one()->output);
	json_object_object_del(first, "output");
	json_object_object_del(found, "time");
	snprintf(expected, sizeof(expected), "{\"ok\":true,\"sessions\":[" ABOUT "%s}]%s}",
			(unsigned int)geteuid(), worker_pid(one()), more, end_of_answer);
	check_text(plain(found), expected);
	json_object_put(found);
}

static void test_status(void)
{
	static const char all[] = ",\"closed-rendezvous\":[],\"closed-doors\":[],\"programs\":0";
	uint64_t left;

	start();
	/* A summary of all sessions, without lists. */
	send_text(client, GO "\"status\"}");
	check_request("{\"verb\":\"status\"}", 30000);
	answer("{\"ok\":true,\"records\":47,\"processes\":[1,2]}");
	check_about(",\"records\":47", all);
	ask_one("status", "");
	check_request("{\"verb\":\"status\"}", 30000);
	answer("{\"ok\":true,\"records\":47,\"processes\":[1,2]}");
	check_about(",\"definition\":" DEFINITION ",\"records\":47,\"processes\":[1,2]", all);
	send_text(client, GO "\"status\"}");
	json_object_put(request());
	answer(BAD);
	check_about(",\"error\":\"no good\"", all);
	CHECK(wait_ms() > 3000);
	/* After 3 s the answer has the known values. A late answer is ignored. */
	send_text(client, GO "\"status\"}");
	json_object_put(request());
	left = wait_ms();
	CHECK(left == 3000);
	pass_time(2999);
	pass_time(1);
	check_about("", all);
	answer("{\"ok\":true,\"records\":47}");
	CHECK(!is_hung_up(client) && errno == EAGAIN);
	/* A session without a process. */
	die();
	(void)reported();
	send_text(client, GO "\"status\"}");
	{
		struct json_object *found = hear(client);

		CHECK(found && strstr(plain(found), "\"state\":\"restarting\"") &&
				strstr(plain(found), "\"restarts\":1,") &&
				strstr(plain(found), "\"recorder\":0,"));
		check_good(found);
	}
	stop();
	/* No session. */
	client = dial("run/control.sock");
	check_json(ask(client, GO "\"status\"}"),
			"{\"ok\":true,\"sessions\":[],\"closed-rendezvous\":[],\"closed-doors\":[],\"programs\":0}");
	stop();
}

static void test_top(void)
{
	start();
	ask_one("top", ",\"interval\":250000001");
	check_json(hear(client), "{\"ok\":true}");
	/* The first update comes at once, the next ones an interval later. */
	check_request("{\"verb\":\"status\"}", 30000);
	answer("{\"ok\":true,\"records\":47,\"processes\":[1,2]}");
	check_about(",\"definition\":" DEFINITION ",\"records\":47,\"processes\":[1,2]", "");
	CHECK(wait_ms() == 251);
	check_no_request();
	pass_time(250);
	check_no_request();
	pass_time(1);
	check_request("{\"verb\":\"status\"}", 30000);
	/* A second subscription replaces the first one, and does not ask twice. */
	ask_one("top", ",\"interval\":10000000");
	check_json(hear(client), "{\"ok\":true}");
	check_no_request();
	answer("{\"ok\":true}");
	check_about(",\"definition\":" DEFINITION, "");
	CHECK(wait_ms() == 10);
	pass_time(10);
	check_request("{\"verb\":\"status\"}", 30000);
	/* An update after 3 s without an answer. The late answer is ignored. */
	pass_time(3000);
	check_about(",\"definition\":" DEFINITION, "");
	CHECK(wait_ms() == 10);
	answer("{\"ok\":true,\"records\":47}");
	CHECK(wait_ms() == 10);
	/* The session is destroyed. */
	worker_close(&the_daemon, one());
	session_remove(&the_daemon, one());
	pass_time(10);
	CHECK(is_hung_up(client));
	stop();
}

int main(int argc, char **argv)
{
	static void (*const tests[])(void) = {test_start, test_failed_start, test_verbs, test_stop,
			test_snapshot, test_changes, test_waiting, test_waiting_twice, test_queue,
			test_destroy, test_spooled, test_deaths, test_silent, test_spawns,
			test_passed, test_missed, test_refused_calls, test_no_memory, test_status,
			test_top};
	struct resources before;

	(void)argv;
	if (argc > 1 || !make_work())
		return 1;
	alarm(100);
	begin();
	before = resources_now();
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		tests[i]();
		CHECK(resources_now().descriptors == before.descriptors);
		CHECK(!objects_left());
	}
	end();
	return 0;
}
