/* SPDX-License-Identifier: MIT */
/*
 * Exchanges of a process with the daemon: its turn, its mode, the messages, which sessions are its
 * own, requests of `side attach`, and forked children. The test includes the file, acts as the
 * daemon, and notes each call in order.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>

#include <cmocka.h>

#include <linux/futex.h>

#include <side/tracer-extensions.h>

#include "noted.h"

#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/control-changes.h"
#include "tracers/agent/core/control-daemon.h"
#include "tracers/agent/core/control-fork.h"
#include "tracers/agent/core/control-signal.h"
#include "tracers/agent/core/control-state.h"
#include "tracers/agent/core/control-thread.h"
#include "tracers/agent/core/control.h"
#include "tracers/agent/core/exchange.h"
#include "tracers/agent/core/late.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/own-threads.h"
#include "tracers/agent/core/process.h"
#include "tracers/agent/core/rendezvous.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/update.h"
#include "tracers/agent/core/wait.h"
#include "base/environment/environment.h"
#include "protocol/boot.h"
#include "base/inside/raw.h"
#include "protocol/runtime.h"
#include "protocol/protocol.h"

#define MS UINT64_C(1000000)

/* ---- what is called, in order ---- */

static uint64_t time_now, step;

static uint64_t fake_time(unsigned int timeout_ms)
{
	time_now += step;
	return time_now + timeout_ms * MS;
}

static unsigned int asked_ms;

static uint64_t fake_deadline(unsigned int timeout_ms)
{
	asked_ms = timeout_ms;
	return 4711;
}

static void (*while_sleeping)(void);
static struct timespec waited;
static uint64_t random_number = 55;
static long user_id = 1000;
static unsigned int nr_sleeps, nr_waits;

static long fake_call(long number, const long *names)
{
	switch (number) {
	case SYS_futex:
		assert_true(names[1] == FUTEX_WAIT_PRIVATE && names[2] == 7);
		waited = *(const struct timespec *)names[3];
		nr_waits++;
		return 0;
	case SYS_nanosleep:
		assert_true(((const struct timespec *)names[0])->tv_nsec == 1000000);
		nr_sleeps++;
		time_now += MS;
		if (while_sleeping)
			while_sleeping();
		return 0;
	case SYS_getpid: return 4000;
	case SYS_geteuid: return user_id;
	case SYS_getrandom:
		assert_true(names[1] == 8 && names[2] == 1);
		memcpy((void *)names[0], &random_number, 8);
		return 8;
	case SYS_madvise: note_number("advise", names[1]); return 0;
	default: abort();
	}
}

static int nr_mapped, nr_unmapped, map_flags;
static bool no_memory;

static void *fake_mmap(void *at, size_t size, int protection, int flags, int fd)
{
	if (no_memory)
		return NULL;
	map_flags = flags;
	nr_mapped += size == sizeof(struct control_memory);
	return raw_mmap(at, size, protection, flags, fd);
}

static int fake_munmap(void *at, size_t size)
{
	assert_int_equal(size, sizeof(struct control_memory));
	nr_unmapped++;
	return raw_munmap(at, size);
}

/* ---- the daemon ---- */

static struct {
	char message[2048];
	ssize_t size;
	char sent[2][2048];
	size_t sent_size[2];
	unsigned int nr_sent;
	int check, connect[4], send[2];
	unsigned int nr_connected;
	int closed;
	int socket; /* of the connection that is used */
} talk;

static int fake_check(const char *directory)
{
	note(directory);
	return talk.check;
}

static int fake_connect(const char *path, uint64_t deadline)
{
	assert_int_equal(deadline, 4711);
	note(path);
	return talk.connect[talk.nr_connected++ & 3];
}

static const char *rendezvous_path;
static int rendezvous_result;

static int fake_rendezvous_connect(const char *session, uint64_t deadline)
{
	assert_true(!session && deadline == 4711);
	note("door");
	return talk.connect[talk.nr_connected++ & 3];
}

static int fake_rendezvous_set(const char *path)
{
	note(path ? path : "no-door");
	if (!rendezvous_result)
		rendezvous_path = path;
	return rendezvous_result;
}

static int fake_send(int socket, const void *message, size_t size, const int *fds, size_t nr_fds,
		uint64_t deadline)
{
	unsigned int i = talk.nr_sent++ & 1;

	assert_true(socket == talk.socket && !fds && !nr_fds && size <= 2048 && deadline == 4711);
	memcpy(talk.sent[i], message, size);
	talk.sent_size[i] = size;
	return talk.send[i];
}

static ssize_t fake_receive(
		int socket, void *message, size_t size, int *fds, size_t *nr_fds, uint64_t deadline)
{
	assert_true(socket == talk.socket && size == WIRE_MESSAGE_MAX && !fds && !nr_fds &&
			deadline == 4711);
	if (talk.size > 0)
		memcpy(message, talk.message, (size_t)talk.size);
	return talk.size;
}

static void fake_close(int fd)
{
	talk.closed += fd >= 0;
}

/* ---- the agent ---- */

static int update_result, prepare_result, atfork_result, start_result, synchronize_result;
static uint64_t update_grace;
static uint32_t nr_wanted, greetings;
static struct agent_wanted wanted_seen[WIRE_WELCOME_MAX];
static char wanted_paths[512];
static bool waits_seen, is_secure, grace_passed = true, handler_result = true, is_prepared = true,
				   is_sandboxed, is_connected;

static int fake_update(struct agent_wanted *wanted, uint32_t nr, bool may_wait, uint64_t *grace)
{
	nr_wanted = nr;
	waits_seen = may_wait;
	*wanted_paths = '\0';
	for (uint32_t i = 0; i < nr; i++) {
		wanted_seen[i] = wanted[i];
		strcat(strcat(wanted_paths, wanted[i].path), " ");
	}
	if (!nr)
		note("update");
	*grace = update_grace;
	return update_result;
}

static void fake_names(char *comm, char *exe)
{
	strcpy(comm, "name");
	strcpy(exe, "/bin/exe");
}

static const char *control_word, *boot_word;

static const char *fake_variable(const char *name)
{
	assert_true(!strcmp(name, "SIDE_CONTROL") || !strcmp(name, "SIDE_BOOT"));
	return name[5] == 'C' ? control_word : boot_word;
}

static const char *runtime_paths[2];

static int fake_runtime(char *path, size_t size, bool is_system, const char *file)
{
	assert_true(size == CONTROL_PATH_SIZE && !strcmp(file, "agents.sock"));
	if (!runtime_paths[is_system])
		return -ENOENT;
	strcpy(path, runtime_paths[is_system]);
	return 0;
}

static int fake_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
	assert_true(prepare && parent && !child);
	note("atfork");
	return atfork_result;
}

static unsigned long fake_auxval(unsigned long type)
{
	assert_int_equal(type, AT_SECURE);
	return is_secure;
}

static struct agent_session boot_session = {.boot = (const void *)&boot_session};
static bool has_boot_session;

static struct agent_session *fake_session_after(const struct agent_session *session)
{
	return has_boot_session && !session ? &boot_session : NULL;
}

#undef raw_call
#define raw_call(...) CALL_OF_SIX(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define CALL_OF_SIX(number, a, b, c, d, e, f, ...)                                            \
	fake_call(number,                                                                     \
			(const long[]){(long)(a), (long)(b), (long)(c), (long)(d), (long)(e), \
					(long)(f)})
#define raw_mmap fake_mmap
#define raw_munmap fake_munmap
#define wire_deadline fake_time
#define agent_deadline_unlocked fake_deadline
#define wire_runtime_check fake_check
#define wire_runtime_path fake_runtime
#define wire_connect fake_connect
#define wire_send fake_send
#define wire_receive fake_receive
#define wire_close fake_close
#define agent_rendezvous() (rendezvous_path)
#define agent_rendezvous_set fake_rendezvous_set
#define agent_rendezvous_connect fake_rendezvous_connect
#define agent_sessions_update fake_update
#define agent_process_names fake_names
#define agent_prepare() (prepare_result)
#define agent_session_after fake_session_after
#define agent_own_begin(own) ((void)(own), note("own"))
#define agent_own_end(own) ((void)(own), note("end"))
#define agent_late_no_daemon() note("no-daemon")
#define agent_late_answered() note("answered")
#define agent_late_applied(all) note_number("applied", all)
#define agent_late_forked() note("late-forked")
#define agent_late_pass(begun, certain) note_number("pass", (long)(begun))
#define agent_is_sandboxed() (is_sandboxed)
#define agent_scale_timeout(ms) ((ms)*1)
#define control_changes_asked() note("asked")
#define control_changes_applied(all) note_number("changes", all)
#define control_signal_number(text) (!strcmp(text, "USR1") ? 10u : 0u)
#define control_signal_install(signal) (note_number("install", (long)(signal)), handler_result)
#define control_thread_settle() note("settle")
#define control_thread_prepare() note("prepare")
#define control_thread_is_prepared() (is_prepared)
#define control_thread_forked() note("thread-forked")
#define control_thread_greetings() (greetings)
#define control_thread_is_connected() (is_connected)
#define control_thread_wake() note("wake")
#define control_thread_start() (note("start"), start_result)
#define control_thread_end() note("stop")
#define control_arm() note("arm")
#define control_remember_mask() note("mask")
#define side_tracer_disarm() note("disarm")
#define side_tracer_synchronize() (note("synchronize"), synchronize_result)
#define side_tracer_grace_passed(grace) ((void)(grace), grace_passed)
#define environment_get fake_variable
#define pthread_atfork fake_atfork
#define getauxval fake_auxval
#include "tracers/agent/core/control-state.c"
#include "tracers/agent/core/control-daemon.c"
#include "tracers/agent/core/control-fork.c"
#include "tracers/agent/core/control.c"

static void note_again(void)
{
	note("again");
}

static void begin(void)
{
	memset(&control, 0, sizeof(control));
	control.noted = note_again;
	memset(&talk, 0, sizeof(talk));
	talk.socket = 50;
	for (int i = 0; i < 4; i++)
		talk.connect[i] = 50;
	*calls = '\0';
	time_now = 1000 * MS;
	step = 0;
	nr_sleeps = nr_waits = 0;
	nr_mapped = nr_unmapped = 0;
	no_memory = is_secure = is_sandboxed = has_boot_session = false;
	grace_passed = handler_result = is_prepared = true;
	update_result = prepare_result = atfork_result = start_result = rendezvous_result = 0;
	update_grace = 0;
	rendezvous_path = control_word = boot_word = NULL;
	runtime_paths[0] = "/own/agents.sock";
	runtime_paths[1] = "/run/side/agents.sock";
	while_sleeping = NULL;
	agent.control.mode = agent.control.signal = 0;
	synchronize_result = SIDE_ERROR_OK;
	is_connected = false;
	greetings = 0;
}

/* ---- the turn ---- */

static void free_turn(void)
{
	if (nr_sleeps == 3)
		control.turn = CONTROL_FREE;
}

static void test_turn(void **state)
{
	const uint32_t word = 7;

	(void)state;
	begin();
	assert_true(control_take_turn(0));
	assert_int_equal(control.turn, CONTROL_TAKEN);
	assert_false(control_take_turn(0));
	assert_int_equal(nr_sleeps, 0);
	assert_false(control_take_turn(5));
	assert_int_equal(nr_sleeps, 5);
	nr_sleeps = 0;
	while_sleeping = free_turn;
	assert_true(control_take_turn(5));
	assert_int_equal(nr_sleeps, 3);
	/* The thread that has the turn sees the note. */
	control_give_turn();
	are_calls("");
	assert_false(control_note());
	assert_int_equal(control.turn, CONTROL_FREE);
	assert_true(control_take_turn(0) && control_note() && control_note());
	assert_int_equal(control.turn, CONTROL_TAKEN_AND_NOTED);
	control_give_turn();
	are_calls("again");
	assert_int_equal(control.turn, CONTROL_FREE);
	/* Waits end at their deadline. */
	assert_true(control_wait(&word, 7, FUTEX_WAIT_PRIVATE, time_now + 2500 * MS));
	assert_true(waited.tv_sec == 2 && waited.tv_nsec == 500000000);
	assert_false(control_wait(&word, 7, FUTEX_WAIT_PRIVATE, time_now));
	assert_int_equal(nr_waits, 1);
	assert_true(control_wait(&word, 7, FUTEX_WAIT_PRIVATE, time_now + 1));
	assert_true(waited.tv_sec == 0 && waited.tv_nsec == 1);
}

/* ---- connections ---- */

static void test_places(void **state)
{
	char longest[CONTROL_PATH_SIZE];

	(void)state;
	begin();
	assert_int_equal(control_check_path("socket"), -EINVAL);
	assert_int_equal(control_check_path("/socket"), -EINVAL);
	are_calls("");
	talk.check = -EPERM;
	assert_int_equal(control_check_path("/a/b/socket"), -EPERM);
	are_calls("/a/b");
	for (int i = 0; i < 2; i++)
		assert_true(control_daemon_exists(i ? -ETIMEDOUT : 0));
	assert_true(!control_daemon_exists(-ENOENT) && !control_daemon_exists(-ECONNREFUSED) &&
			!control_daemon_exists(-EACCES) && !control_daemon_exists(-EPERM) &&
			!control_daemon_exists(-ENOTDIR) && !control_daemon_exists(-EINVAL));
	/* Each daemon is tried in turn. The first error other than "no such socket" is returned. */
	begin();
	assert_int_equal(control_connect(4711), -ENOENT);
	are_calls("no-daemon");
	control.nr_daemons = 2;
	strcpy(control.daemons[0], "/one/s");
	strcpy(control.daemons[1], "/two/s");
	assert_int_equal(control_connect(4711), 50);
	are_calls("/one /one/s");
	talk.connect[1] = -ENOENT;
	talk.connect[2] = 0;
	assert_int_equal(control_connect(4711), 0);
	are_calls("/one /one/s /two /two/s");
	talk.nr_connected = 0;
	talk.connect[0] = -ETIMEDOUT;
	talk.connect[1] = -EPERM;
	assert_int_equal(control_connect(4711), -ETIMEDOUT);
	are_calls("/one /one/s /two /two/s");
	talk.nr_connected = 0;
	talk.connect[0] = -ENOENT;
	assert_int_equal(control_connect(4711), -EPERM);
	are_calls("/one /one/s /two /two/s no-daemon");
	talk.check = -ENOTDIR;
	assert_int_equal(control_connect(4711), -ENOTDIR);
	are_calls("/one /two no-daemon");
	rendezvous_path = "/door";
	talk.nr_connected = 2;
	assert_int_equal(control_connect(4711), 0);
	are_calls("door");
	/* Daemons that are known: two, and a path that fits. */
	begin();
	memset(longest, 'x', sizeof(longest));
	longest[CONTROL_PATH_SIZE - 1] = '\0';
	assert_true(know_daemon(longest));
	assert_string_equal(control.daemons[0], longest);
	assert_false(know_daemon(longest));
	assert_int_equal(control.nr_daemons, 1);
	assert_true(know_daemon("/b/s") && control.nr_daemons == 2);
	assert_false(know_daemon("/c/s") || know_daemon("/b/s"));
	begin();
	assert_false(know_daemon(strcat(strcpy(talk.sent[0], longest), "x")));
	assert_int_equal(control.nr_daemons, 0);
}

static void test_memories(void **state)
{
	struct control_memory *space;

	(void)state;
	begin();
	space = control_memory_map();
	assert_true(space && nr_mapped == 1);
	control_memory_trim(space);
	are_calls("advise(73728)");
	control_memory_unmap(space);
	control_memory_unmap(NULL);
	assert_int_equal(nr_unmapped, 1);
	/*
	 * After a timeout the process waits for a while before its next attempt, and notes that in
	 * shared memory. Children of root must not write to that memory.
	 */
	begin();
	no_memory = true;
	control_count_failure(-ETIMEDOUT);
	assert_false(control_is_hopeless());
	no_memory = false;
	control_count_failure(0);
	assert_true(!control_is_hopeless() && map_flags == (MAP_SHARED | MAP_ANONYMOUS));
	control_count_failure(-EIO);
	assert_false(control_is_hopeless());
	control_count_failure(-ETIMEDOUT);
	assert_true(control_is_hopeless());
	time_now += 10000 * MS - 1;
	assert_true(control_is_hopeless());
	time_now++;
	assert_false(control_is_hopeless());
	munmap(control.hopeless_until, 8);
	control.hopeless_until = NULL;
	user_id = 0;
	control_count_failure(0);
	assert_int_equal(map_flags, MAP_PRIVATE | MAP_ANONYMOUS);
	munmap(control.hopeless_until, 8);
	control.hopeless_until = NULL;
	user_id = 1000;
	random_number = 0;
	time_now = 42;
	assert_int_equal(control_new_token(), 43);
	random_number = 55;
	assert_int_equal(control_new_token(), 55);
}

/* ---- messages ---- */

static size_t welcome_size;

static void welcomes(const char *const *paths, unsigned int nr, const char *refusal)
{
	static char sessions[1024];
	struct wire_welcome welcome = {.accepted = !refusal,
			.serial = 9,
			.sessions = sessions,
			.reason = refusal ? refusal : ""};

	for (unsigned int i = 0; i < nr; i++) {
		const struct wire_welcome_session one = {.generation = 30 + i, .path = paths[i]};

		assert_int_equal(wire_welcome_add(&welcome, sessions, sizeof(sessions), &one), 0);
	}
	talk.size = wire_encode_welcome(talk.message, sizeof(talk.message), &welcome);
	assert_true(talk.size > 0);
	welcome_size = (size_t)talk.size;
}

static uint32_t pushed_size;

/* Rules of one session: a CONFIG. */
static void pushes(uint32_t session)
{
	const struct wire_config config = {.accepted = true,
			.clock = 1,
			.max_events = 1,
			.max_description = 1,
			.max_payload = 1,
			.nr_channels = 1,
			.frequency = 1000000000,
			.generation = 1,
			.reason = ""};
	char bytes[512];
	struct wire_push push = {.base = 20 + session, .session = session, .messages = bytes};
	ssize_t size = wire_encode_config(bytes, sizeof(bytes), &config);

	assert_true(size > 0);
	push.size = pushed_size = (uint32_t)size;
	size = wire_encode_push(
			talk.message + talk.size, sizeof(talk.message) - (size_t)talk.size, &push);

	assert_true(size > 0);
	talk.size += size;
}

static const char *const three[] = {"/run/side/sessions/one.sock", "/run/side/sessions/two.sock",
		"/boot/place/one/socket"};

static uint32_t done(bool may_wait)
{
	struct wire_done reported;
	int ret = control_refresh(WIRE_CONTROL_SIGNAL, may_wait, 70);

	assert_true(!ret && talk.nr_sent == 2 && talk.closed == 1 && asked_ms == 70);
	assert_int_equal(waits_seen, may_wait);
	assert_int_equal(wire_decode_done(talk.sent[1], talk.sent_size[1], &reported), 0);
	assert_true(reported.serial == 9 && reported.token == control.token);
	talk.nr_sent = talk.closed = 0;
	return reported.state;
}

static void test_refresh(void **state)
{
	struct wire_arrive reported;

	(void)state;
	begin();
	control.nr_daemons = 1;
	strcpy(control.daemons[0], "/one/s");
	control.signal = 10;
	control.token = 77;
	control.parent_token = 66;
	control.forked = true;
	welcomes(three, 3, NULL);
	pushes(1);
	assert_int_equal(done(true), WIRE_DONE_ALL);
	are_calls("own /one /one/s asked answered changes(1) applied(1) end");
	assert_int_equal(wire_decode_arrive(talk.sent[0], talk.sent_size[0], &reported), 0);
	assert_true(reported.pid == 4000 && reported.control == WIRE_CONTROL_SIGNAL &&
			reported.control_signal == 10 && reported.flags == WIRE_ARRIVE_FORKED);
	assert_true(reported.token == 77 && reported.parent_token == 66);
	assert_string_equal(reported.procname, "name");
	assert_string_equal(reported.exe, "/bin/exe");
	assert_string_equal(wanted_paths,
			"/run/side/sessions/one.sock /run/side/sessions/two.sock /boot/place/one/socket ");
	assert_true(wanted_seen[0].generation == 30 && wanted_seen[2].generation == 32);
	assert_true(!wanted_seen[0].push && wanted_seen[1].push && wanted_seen[1].base == 21 &&
			wanted_seen[1].push_size == pushed_size);
	assert_true(nr_mapped == 1 && nr_unmapped == 1);
	/* Descriptor 0 is a connection like any other. */
	talk.socket = talk.connect[talk.nr_connected & 3] = 0;
	assert_int_equal(done(true), WIRE_DONE_ALL);
	talk.socket = 50;
	*calls = '\0';
	/* Only with that mode the signal is named. */
	control.forked = false;
	assert_int_equal(control_refresh(WIRE_CONTROL_SYNC, true, 70), 0);
	assert_int_equal(wire_decode_arrive(talk.sent[0], talk.sent_size[0], &reported), 0);
	assert_true(reported.control == WIRE_CONTROL_SYNC && !reported.control_signal &&
			!reported.flags);
}

static void fails(int expected, const char *wanted)
{
	*calls = '\0';
	nr_mapped = nr_unmapped = 0;
	assert_int_equal(control_refresh(WIRE_CONTROL_SYNC, true, 70), expected);
	are_calls(wanted);
	assert_int_equal(nr_mapped, nr_unmapped);
	talk.nr_connected = 0;
}

static void test_refresh_fails(void **state)
{
	(void)state;
	begin();
	control.token = 77;
	control.nr_daemons = 1;
	strcpy(control.daemons[0], "/one/s");
	no_memory = true;
	fails(-ENOMEM, "");
	no_memory = false;
	talk.connect[0] = -ETIMEDOUT;
	fails(-ETIMEDOUT, "own /one /one/s end changes(0)");
	talk.connect[0] = 50;
	talk.send[0] = -EPIPE;
	fails(-EPIPE, "own /one /one/s asked end changes(0)");
	talk.send[0] = 0;
	fails(-ECONNRESET, "own /one /one/s asked end changes(0)");
	talk.size = -EIO;
	fails(-EIO, "own /one /one/s asked end changes(0)");
	welcomes(three, 0, "no");
	fails(-EACCES, "own /one /one/s asked end changes(0)");
	welcomes(three, 2, NULL);
	pushes(2);
	fails(-EPROTO, "own /one /one/s asked answered end changes(0)");
	welcomes(three, 2, NULL);
	pushes(1);
	talk.size--;
	fails(-EPROTO, "own /one /one/s asked answered end changes(0)");
	welcomes(three, 2, NULL);
	talk.message[4]++;
	assert_int_equal(control_refresh(WIRE_CONTROL_SYNC, true, 70), -EPROTONOSUPPORT);
	welcomes(three, 2, NULL);
	update_result = -EBUSY;
	talk.nr_sent = 0;
	fails(-EBUSY, "own /one /one/s asked answered end changes(0)");
	assert_int_equal(talk.nr_sent, 1);
	talk.nr_sent = 0;
	update_result = -EIO;
	talk.send[1] = -EPIPE;
	fails(-EPIPE, "own /one /one/s asked answered changes(0) applied(0) end changes(0)");
}

/* The result of an update that the process reports to the daemon. */
static void test_states(void **state)
{
	(void)state;
	begin();
	control.token = 77;
	control.signal = 10;
	rendezvous_path = "/door";
	welcomes(three, 1, NULL);
	update_result = -EIO;
	assert_int_equal(done(true), WIRE_DONE_PART);
	update_result = -ETIMEDOUT;
	assert_int_equal(done(true), WIRE_DONE_LATER);
	assert_int_equal(done(false), WIRE_DONE_LATER);
	update_result = -EIO;
	assert_int_equal(done(false), WIRE_DONE_PART);
	update_result = 0;
	/* Readers still use the previous rules. */
	update_grace = 5;
	grace_passed = false;
	assert_int_equal(done(false), WIRE_DONE_READERS);
	assert_int_equal(control.grace, 5);
	update_grace = 0;
	assert_int_equal(done(false), WIRE_DONE_READERS);
	grace_passed = true;
	assert_int_equal(done(false), WIRE_DONE_ALL);
	assert_int_equal(control.grace, 0);
	*calls = '\0';
	control.grace = 5;
	assert_int_equal(done(true), WIRE_DONE_ALL);
	assert_null(strstr(calls, "synchronize"));
	control.grace = 5;
	grace_passed = false;
	assert_int_equal(done(true), WIRE_DONE_ALL);
	assert_true(strstr(calls, "synchronize") && !control.grace);
	*calls = '\0';
	assert_int_equal(done(true), WIRE_DONE_ALL);
	assert_null(strstr(calls, "synchronize"));
	grace_passed = true;
	/* Without an answer: nothing is sent. */
	{
		struct control_memory *space = control_memory_map();

		*calls = '\0';
		memcpy(space->message, talk.message, (size_t)talk.size);
		update_grace = 6;
		control_try(space, (size_t)talk.size);
		are_calls("answered applied(1)");
		assert_true(control.grace == 6 && !waits_seen && talk.nr_sent == 0);
		update_result = -EIO;
		update_grace = 0;
		control_try(space, (size_t)talk.size);
		are_calls("answered");
		assert_int_equal(control.grace, 6);
		control_try(space, 3);
		are_calls("");
		control_memory_unmap(space);
	}
}

static void test_ours(void **state)
{
	struct agent_wanted wanted[3] = {
			{.path = three[0]}, {.path = three[1]}, {.path = three[2]}};

	(void)state;
	begin();
	agent.control.is_reserved = true;
	*agent.control.only = '\0';
	for (int i = 0; i < 3; i++)
		assert_false(agent_control_is_session_socket(three[i]));
	strcpy(agent.control.only, "two");
	assert_true(agent_control_is_session_socket("/sessions/two.sock") &&
			agent_control_is_session_socket(three[1]) &&
			agent_control_is_session_socket(three[2]));
	assert_false(agent_control_is_session_socket(three[0]) ||
			agent_control_is_session_socket("two.sock"));
	assert_false(agent_control_is_session_socket("/sessions/two.socks") ||
			agent_control_is_session_socket("/sessions/twoo.sock") ||
			agent_control_is_session_socket("/sessions/tw.sock"));
	assert_true(agent_control_is_session_socket("/other/one.sock") &&
			agent_control_is_session_socket("/session/one.sock"));
	assert_int_equal(keep_ours(wanted, 3), 2);
	assert_ptr_equal(wanted[0].path, three[1]);
	assert_ptr_equal(wanted[1].path, three[2]);
	agent.control.is_reserved = false;
	assert_true(agent_control_is_session_socket(three[0]) &&
			agent_control_is_session_socket("two.sock"));
	*agent.control.only = '\0';
}

/* ---- the start of the process ---- */

static uint32_t mode_of(const char *word)
{
	uint32_t signal = 99, mode;

	control_word = word;
	mode = chosen_mode(&signal);
	assert_int_equal(signal, mode == WIRE_CONTROL_SIGNAL ? 10 : 0);
	return mode;
}

static void test_modes(void **state)
{
	(void)state;
	begin();
	assert_int_equal(mode_of(NULL), WIRE_CONTROL_THREAD);
	boot_word = "1";
	assert_int_equal(mode_of(""), WIRE_CONTROL_SYNC);
	assert_int_equal(mode_of("thread"), WIRE_CONTROL_THREAD);
	boot_word = "0";
	assert_int_equal(mode_of(""), WIRE_CONTROL_THREAD);
	assert_int_equal(mode_of("sync"), WIRE_CONTROL_SYNC);
	assert_int_equal(mode_of("signal:USR1"), WIRE_CONTROL_SIGNAL);
	assert_int_equal(mode_of("signal:USR9"), WIRE_CONTROL_OFF);
	assert_int_equal(mode_of("signal"), WIRE_CONTROL_OFF);
	assert_int_equal(mode_of("off"), WIRE_CONTROL_OFF);
	assert_int_equal(mode_of("Thread"), WIRE_CONTROL_OFF);
	/* The daemon of the own user comes first; a daemon that is named twice counts once. */
	find_daemons();
	assert_int_equal(control.nr_daemons, 2);
	assert_string_equal(control.daemons[0], "/own/agents.sock");
	assert_string_equal(control.daemons[1], "/run/side/agents.sock");
	control.nr_daemons = 0;
	runtime_paths[0] = NULL;
	find_daemons();
	assert_int_equal(control.nr_daemons, 1);
	assert_string_equal(control.daemons[0], "/run/side/agents.sock");
	control.nr_daemons = 0;
	runtime_paths[0] = runtime_paths[1];
	find_daemons();
	assert_int_equal(control.nr_daemons, 1);
}

#define TALK "own /own /own/agents.sock asked answered changes(1) applied(1) end"

static int arrive(const char *word)
{
	begin();
	control_word = word;
	runtime_paths[1] = NULL;
	welcomes(three, 1, NULL);
	return 0;
}

static void end_arrival(void)
{
	munmap(control.hopeless_until, 8);
	control.hopeless_until = NULL;
	*calls = '\0';
}

static void test_arrive(void **state)
{
	(void)state;
	begin();
	is_secure = true;
	assert_int_equal(agent_control_arrive(), -EPERM);
	arrive("off");
	assert_int_equal(agent_control_arrive(), -ENOENT);
	are_calls("");
	arrive("thread");
	atfork_result = 1;
	assert_int_equal(agent_control_arrive(), -ENOMEM);
	are_calls("mask atfork");
	assert_int_equal(control.mode, WIRE_CONTROL_OFF);
	arrive("thread");
	prepare_result = -EIO;
	assert_int_equal(agent_control_arrive(), -EIO);
	are_calls("mask");
	arrive("thread");
	assert_int_equal(agent_control_arrive(), 0);
	are_calls("mask atfork " TALK " prepare arm");
	assert_true(control.mode == WIRE_CONTROL_THREAD &&
			agent.control.mode == WIRE_CONTROL_THREAD && control.pid == 4000 &&
			control.token == 55 && asked_ms == 1000);
	end_arrival();
	arrive("sync");
	assert_int_equal(agent_control_arrive(), 0);
	are_calls("mask " TALK " pass(1000000000)");
	assert_int_equal(agent.control.mode, WIRE_CONTROL_SYNC);
	end_arrival();
	arrive("signal:USR1");
	assert_int_equal(agent_control_arrive(), 0);
	are_calls("mask install(10) " TALK " pass(1000000000)");
	assert_true(control.mode == WIRE_CONTROL_SIGNAL && agent.control.signal == 10);
	end_arrival();
	arrive("signal:USR1");
	handler_result = false;
	assert_int_equal(agent_control_arrive(), 0);
	assert_true(control.mode == WIRE_CONTROL_SYNC && agent.control.mode == WIRE_CONTROL_SYNC &&
			!agent.control.signal);
	end_arrival();
	/* No daemon: nothing more, unless there is a session of early boot. */
	arrive("thread");
	talk.connect[0] = -ENOENT;
	assert_int_equal(agent_control_arrive(), -ENOENT);
	are_calls("mask own /own /own/agents.sock no-daemon end changes(0)");
	assert_true(control.mode == WIRE_CONTROL_OFF && !agent.control.mode);
	end_arrival();
	arrive("thread");
	talk.connect[0] = -ENOENT;
	has_boot_session = true;
	assert_int_equal(agent_control_arrive(), -ENOENT);
	assert_true(control.mode == WIRE_CONTROL_SYNC && agent.control.mode == WIRE_CONTROL_SYNC);
	end_arrival();
	/* A daemon that does not answer is a daemon, too. */
	arrive("thread");
	talk.size = -ETIMEDOUT;
	assert_int_equal(agent_control_arrive(), -ETIMEDOUT);
	assert_true(control.mode == WIRE_CONTROL_THREAD && control_is_hopeless() &&
			strstr(calls, "arm"));
	end_arrival();
}

/* ---- requests of `side attach` ---- */

#define REFRESHED "own /own /own/agents.sock asked answered changes(1) applied(1) end"
#define BY_RENDEZVOUS "own door asked answered changes(1) applied(1) end"

static void attach_begin(uint32_t mode)
{
	begin();
	control.mode = mode;
	control.token = 77;
	control.signal = 10;
	control.turn = CONTROL_TAKEN;
	control.nr_daemons = 1;
	strcpy(control.daemons[0], "/own/agents.sock");
	welcomes(three, 1, NULL);
}

static void test_attach(void **state)
{
	char longest[CONTROL_PATH_SIZE + 1];

	(void)state;
	attach_begin(WIRE_CONTROL_OFF);
	assert_int_equal(agent_control_attach("/new/s", AGENT_BY_DIRECTORY), 0);
	are_calls("no-door own /new /new/s asked answered changes(1) applied(1) end start");
	assert_true(control.attached && control.mode == WIRE_CONTROL_THREAD &&
			control.pid == 4000 && control.token == 55 &&
			control.turn == CONTROL_TAKEN);
	assert_true(control.nr_daemons == 1 && agent.control.mode == WIRE_CONTROL_THREAD);
	attach_begin(WIRE_CONTROL_OFF);
	assert_int_equal(agent_control_attach("/new/s", AGENT_BY_RENDEZVOUS), 0);
	are_calls("/new/s " BY_RENDEZVOUS " start");
	attach_begin(WIRE_CONTROL_OFF);
	start_result = -EAGAIN;
	assert_int_equal(agent_control_attach("/new/s", AGENT_BY_DIRECTORY), -EAGAIN);
	assert_true(control.mode == WIRE_CONTROL_SYNC && agent.control.mode == WIRE_CONTROL_SYNC);
	/* The daemon may close the first of two connections. */
	attach_begin(WIRE_CONTROL_OFF);
	talk.connect[0] = -EPIPE;
	assert_int_equal(agent_control_attach("/new/s", AGENT_BY_DIRECTORY), 0);
	assert_int_equal(talk.nr_connected, 2);
	attach_begin(WIRE_CONTROL_OFF);
	talk.connect[0] = talk.connect[1] = -ECONNRESET;
	assert_int_equal(agent_control_attach("/new/s", AGENT_BY_RENDEZVOUS), -ECONNRESET);
	assert_true(talk.nr_connected == 2 && control.mode == WIRE_CONTROL_OFF &&
			!agent.control.mode && !control.attached && !rendezvous_path);
	attach_begin(WIRE_CONTROL_OFF);
	talk.connect[0] = -EIO;
	assert_int_equal(agent_control_attach("/new/s", AGENT_BY_DIRECTORY), -EIO);
	assert_int_equal(talk.nr_connected, 1);
	/* The longest path, and one more byte. */
	memset(longest, 'x', sizeof(longest));
	memcpy(longest, "/d/", 3);
	longest[CONTROL_PATH_SIZE] = '\0';
	attach_begin(WIRE_CONTROL_OFF);
	assert_int_equal(agent_control_attach(longest, AGENT_BY_DIRECTORY), -ENAMETOOLONG);
	are_calls("");
	longest[CONTROL_PATH_SIZE - 1] = '\0';
	assert_int_equal(agent_control_attach(longest, AGENT_BY_DIRECTORY), 0);
	assert_string_equal(control.daemons[0], longest);
	attach_begin(WIRE_CONTROL_OFF);
	prepare_result = -EIO;
	assert_int_equal(agent_control_attach("/new/s", AGENT_BY_RENDEZVOUS), -EIO);
	are_calls("");
	attach_begin(WIRE_CONTROL_OFF);
	rendezvous_result = -ENAMETOOLONG;
	assert_int_equal(agent_control_attach("/new/s", AGENT_BY_RENDEZVOUS), -ENAMETOOLONG);
	assert_int_equal(control.mode, WIRE_CONTROL_OFF);
}

static void test_attach_without_thread(void **state)
{
	(void)state;
	attach_begin(WIRE_CONTROL_SYNC);
	assert_int_equal(agent_control_attach("/new/s", AGENT_BY_DIRECTORY), -EALREADY);
	are_calls("disarm " REFRESHED);
	/* Another daemon, which was not known. */
	attach_begin(WIRE_CONTROL_SIGNAL);
	talk.connect[0] = talk.connect[1] = -ENOENT;
	assert_int_equal(agent_control_attach("/new/s", AGENT_BY_DIRECTORY), -EALREADY);
	assert_int_equal(talk.nr_connected, 3);
	assert_string_equal(control.daemons[1], "/new/s");
	attach_begin(WIRE_CONTROL_SYNC);
	talk.connect[0] = -EIO;
	assert_int_equal(agent_control_attach("/own/agents.sock", AGENT_BY_DIRECTORY), -EIO);
	assert_int_equal(talk.nr_connected, 1);
	/* At a rendezvous socket: a daemon that is known already is another daemon. */
	attach_begin(WIRE_CONTROL_SYNC);
	assert_int_equal(agent_control_attach("/door", AGENT_BY_RENDEZVOUS), -EISCONN);
	are_calls("disarm " REFRESHED);
	attach_begin(WIRE_CONTROL_SYNC);
	talk.connect[0] = -ENOENT;
	assert_int_equal(agent_control_attach("/door", AGENT_BY_RENDEZVOUS), -EALREADY);
	are_calls("disarm own /own /own/agents.sock no-daemon end changes(0) /door " BY_RENDEZVOUS);
	talk.nr_connected = 1;
	assert_int_equal(agent_control_attach("/door", AGENT_BY_RENDEZVOUS), -EALREADY);
	are_calls("disarm " BY_RENDEZVOUS);
	attach_begin(WIRE_CONTROL_SYNC);
	talk.connect[0] = talk.connect[1] = -ENOENT;
	assert_int_equal(agent_control_attach("/door", AGENT_BY_RENDEZVOUS), -ENOENT);
	assert_null(rendezvous_path);
	attach_begin(WIRE_CONTROL_SYNC);
	talk.connect[0] = -ENOENT;
	rendezvous_result = -ENAMETOOLONG;
	assert_int_equal(agent_control_attach("/door", AGENT_BY_RENDEZVOUS), -ENAMETOOLONG);
}

static void greet(void)
{
	if (nr_sleeps == 4)
		greetings++;
}

static void test_attach_with_thread(void **state)
{
	(void)state;
	attach_begin(WIRE_CONTROL_THREAD);
	assert_int_equal(agent_control_attach("/new/s", AGENT_BY_DIRECTORY), -EALREADY);
	are_calls("wake");
	assert_int_equal(control.turn, CONTROL_TAKEN);
	assert_int_equal(agent_control_attach("/door", AGENT_BY_RENDEZVOUS), -EISCONN);
	rendezvous_path = "/door";
	assert_int_equal(agent_control_attach("/door", AGENT_BY_RENDEZVOUS), -EALREADY);
	assert_int_equal(agent_control_attach("/other", AGENT_BY_SAME_RENDEZVOUS), -EISCONN);
	/* The same daemon at a rendezvous socket: the thread connects there, too. */
	attach_begin(WIRE_CONTROL_THREAD);
	while_sleeping = greet;
	assert_int_equal(agent_control_attach("/door", AGENT_BY_SAME_RENDEZVOUS), -EALREADY);
	are_calls("wake /door " BY_RENDEZVOUS);
	assert_true(nr_sleeps == 4 && control.turn == CONTROL_TAKEN);
	assert_string_equal(rendezvous_path, "/door");
	attach_begin(WIRE_CONTROL_THREAD);
	talk.connect[0] = -EIO;
	while_sleeping = greet;
	assert_int_equal(agent_control_attach("/door", AGENT_BY_SAME_RENDEZVOUS), -EALREADY);
	assert_string_equal(rendezvous_path, "/door");
	attach_begin(WIRE_CONTROL_THREAD);
	talk.connect[0] = -EIO;
	assert_int_equal(agent_control_attach("/door", AGENT_BY_SAME_RENDEZVOUS), -EIO);
	assert_true(nr_sleeps == 1000 && !rendezvous_path);
	attach_begin(WIRE_CONTROL_THREAD);
	rendezvous_result = -ENAMETOOLONG;
	assert_int_equal(agent_control_attach("/door", AGENT_BY_SAME_RENDEZVOUS), -ENAMETOOLONG);
	are_calls("wake /door");
	/* At another rendezvous socket, because its daemon has exited. */
	attach_begin(WIRE_CONTROL_THREAD);
	rendezvous_path = "/door";
	control.attached = true;
	is_connected = true;
	assert_int_equal(agent_control_attach("/other", AGENT_BY_RENDEZVOUS), -EISCONN);
	is_connected = false;
	*calls = '\0';
	assert_int_equal(agent_control_attach("/other", AGENT_BY_RENDEZVOUS), 0);
	are_calls("disarm update stop no-door /other " BY_RENDEZVOUS " start");
}

static void test_detach(void **state)
{
	(void)state;
	attach_begin(WIRE_CONTROL_THREAD);
	assert_int_equal(agent_control_detach(5), 5);
	control.attached = true;
	control.mode = WIRE_CONTROL_OFF;
	assert_int_equal(agent_control_detach(5), 5);
	are_calls("");
	control.mode = agent.control.mode = WIRE_CONTROL_THREAD;
	update_result = -EIO;
	assert_int_equal(agent_control_detach(5), -EIO);
	are_calls("disarm update stop no-door");
	assert_true(!control.attached && control.mode == WIRE_CONTROL_OFF && !agent.control.mode &&
			control.turn == CONTROL_TAKEN && waits_seen && nr_wanted == 0);
	agent_control_stop();
	are_calls("");
	control.mode = WIRE_CONTROL_SYNC;
	agent_control_stop();
	are_calls("disarm");
	assert_int_equal(control.mode, WIRE_CONTROL_OFF);
}

/* ---- forks ---- */

static void test_fork(void **state)
{
	(void)state;
	begin();
	control_fork_prepare();
	control_fork_in_parent();
	are_calls("");
	assert_true(agent_control_forked_whole());
	agent_control_forked();
	are_calls("");
	control.mode = WIRE_CONTROL_THREAD;
	assert_false(agent_control_forked_whole());
	control_fork_prepare();
	assert_true(control.forked_in_turn && control.turn == CONTROL_TAKEN &&
			agent_control_forked_whole());
	are_calls("settle");
	control_fork_in_parent();
	assert_true(!control.forked_in_turn && control.turn == CONTROL_FREE);
	control.turn = CONTROL_TAKEN;
	control_fork_prepare();
	assert_true(!control.forked_in_turn && nr_sleeps == 1000);
	control_fork_in_parent();
	assert_int_equal(control.turn, CONTROL_TAKEN);
}

#define IN_CHILD "changes(0) late-forked thread-forked"

static void child(uint32_t mode)
{
	attach_begin(mode);
	control.forked_in_turn = true;
	control.token = 44;
	control.grace = 3;
	control.pid = 1;
}

static void test_child(void **state)
{
	(void)state;
	child(WIRE_CONTROL_THREAD);
	agent_control_forked();
	are_calls(IN_CHILD " synchronize " REFRESHED " arm");
	assert_true(control.turn == CONTROL_FREE && !control.forked_in_turn &&
			control.pid == 4000 && control.parent_token == 44 && control.token == 55 &&
			control.forked && !control.grace);
	assert_true(waits_seen && asked_ms == 1000);
	end_arrival();
	child(WIRE_CONTROL_THREAD);
	synchronize_result = SIDE_ERROR_INVAL;
	is_prepared = false;
	agent_control_forked();
	are_calls(IN_CHILD " synchronize " REFRESHED " pass(1000000000)");
	assert_true(!waits_seen && control.mode == WIRE_CONTROL_SYNC &&
			agent.control.mode == WIRE_CONTROL_SYNC);
	end_arrival();
	child(WIRE_CONTROL_SIGNAL);
	agent_control_forked();
	are_calls(IN_CHILD " disarm synchronize " REFRESHED " pass(1000000000)");
	/* A daemon that did not answer the parent does not delay the child. */
	control_count_failure(-ETIMEDOUT);
	control.mode = WIRE_CONTROL_THREAD;
	agent_control_forked();
	are_calls(IN_CHILD " arm");
	end_arrival();
	child(WIRE_CONTROL_THREAD);
	is_sandboxed = true;
	agent_control_forked();
	are_calls(IN_CHILD " disarm");
	assert_int_equal(control.mode, WIRE_CONTROL_OFF);
	child(WIRE_CONTROL_SYNC);
	talk.size = -ETIMEDOUT;
	agent_control_forked();
	assert_true(control_is_hopeless());
	end_arrival();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_turn),
			cmocka_unit_test(test_places),
			cmocka_unit_test(test_memories),
			cmocka_unit_test(test_refresh),
			cmocka_unit_test(test_refresh_fails),
			cmocka_unit_test(test_states),
			cmocka_unit_test(test_ours),
			cmocka_unit_test(test_modes),
			cmocka_unit_test(test_arrive),
			cmocka_unit_test(test_attach),
			cmocka_unit_test(test_attach_without_thread),
			cmocka_unit_test(test_attach_with_thread),
			cmocka_unit_test(test_detach),
			cmocka_unit_test(test_fork),
			cmocka_unit_test(test_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
