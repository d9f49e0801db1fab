/* SPDX-License-Identifier: MIT */
/*
 * The daemon: the start of the process, its requests, and forked children.
 *
 * Before main() the process identifies itself and joins the sessions that the daemon names, within
 * one second in total. Then the program runs, whether or not that succeeded.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <time.h>

#include <side/tracer-extensions.h>

#include "tracers/agent/core/control.h"
#include "protocol/protocol.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/ask.h"
#include "tracers/agent/core/control-changes.h"
#include "tracers/agent/core/control-signal.h"
#include "tracers/agent/core/control-thread.h"
#include "tracers/agent/core/debug.h"
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

#include <sys/mman.h>

#define FORK_WAIT_MS 1000 /* of a fork for a change that is under way */

struct control control;

bool control_wait(const uint32_t *word, uint32_t value, int operation, uint64_t until)
{
	uint64_t now = wire_deadline(0);
	struct timespec left;

	if (now >= until)
		return false;
	left.tv_sec = (time_t)((until - now) / 1000000000);
	left.tv_nsec = (long)((until - now) % 1000000000);
	raw_call(SYS_futex, word, operation, value, &left);
	return true;
}

/* ---- one at a time ---- */

static bool try_turn(void)
{
	uint32_t seen = CONTROL_FREE;

	/* Acquire: what the last one did. Pairs with control_give_turn(). */
	return __atomic_compare_exchange_n(&control.turn, &seen, CONTROL_TAKEN, false,
			__ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

bool control_take_turn(unsigned int timeout_ms)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t deadline;

	if (try_turn())
		return true;
	if (!timeout_ms)
		return false;
	deadline = wire_deadline(timeout_ms);
	do {
		raw_call(SYS_nanosleep, &pause, NULL);
		if (try_turn())
			return true;
	} while (wire_deadline(0) < deadline);
	return false;
}

bool control_note(void)
{
	uint32_t seen = CONTROL_TAKEN;

	/* Relaxed: the note says no more than that there is one. */
	return __atomic_compare_exchange_n(&control.turn, &seen, CONTROL_TAKEN_AND_NOTED, false,
			       __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
			seen == CONTROL_TAKEN_AND_NOTED;
}

void control_give_turn(void)
{
	/* Release: what we did. Pairs with try_turn(). */
	if (__atomic_exchange_n(&control.turn, CONTROL_FREE, __ATOMIC_RELEASE) ==
			CONTROL_TAKEN_AND_NOTED)
		control_signal_again();
}

/* ---- talking ---- */

struct control_memory *control_memory_map(void)
{
	return raw_mmap(NULL, sizeof(struct control_memory), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

void control_memory_unmap(struct control_memory *memory)
{
	if (memory)
		raw_munmap(memory, sizeof(*memory));
}

/* Its memory goes until it is used again. When that fails nothing is lost. */
void control_memory_trim(struct control_memory *memory)
{
	raw_call(SYS_madvise, memory, sizeof(*memory), MADV_DONTNEED);
}

int control_check_path(const char *socket)
{
	char directory[CONTROL_PATH_SIZE];
	const char *end = strrchr(socket, '/');

	if (!end || end == socket)
		return -EINVAL;
	memcpy(directory, socket, (size_t)(end - socket));
	directory[end - socket] = 0;
	return wire_runtime_check(directory);
}

/* Does a daemon exist that may answer? Nothing listens at a socket that refuses connections. */
static bool agent_control_daemon_exists(int error)
{
	return error != -ENOENT && error != -ECONNREFUSED && error != -EACCES && error != -EPERM &&
			error != -ENOTDIR && error != -EINVAL;
}

int control_connect(uint64_t deadline)
{
	int result = -ENOENT;
	uint32_t i;

	if (agent_rendezvous())
		return agent_rendezvous_connect(NULL, deadline);
	for (i = 0; i < control.nr_daemons; i++) {
		int ret = control_check_path(control.daemons[i]);

		if (!ret)
			ret = wire_connect(control.daemons[i], deadline);
		if (ret >= 0)
			return ret;
		/* "Not there" says less than any other reason. */
		if (result == -ENOENT)
			result = ret;
	}
	if (!agent_control_daemon_exists(result))
		agent_late_no_daemon();
	return result;
}

int control_send_arrival(int socket, struct control_memory *memory, enum wire_control mode,
		uint64_t deadline)
{
	struct wire_arrive arrive = {
			.pid = (uint32_t)raw_call(SYS_getpid),
			.control = mode,
			.control_signal = mode == WIRE_CONTROL_SIGNAL ? control.signal : 0,
			.flags = control.forked ? WIRE_ARRIVE_FORKED : 0,
			.token = control.token,
			.parent_token = control.parent_token,
			.procname = memory->names[0],
			.exe = memory->names[1],
	};
	ssize_t size;

	control_changes_asked();
	_Static_assert(sizeof(memory->names[0]) == AGENT_NAME_SIZE, "the names' room");
	agent_process_names(memory->names[0], memory->names[1]);
	size = wire_encode_arrive(memory->message, sizeof(memory->message), &arrive);
	return size < 0 ? (int)size
			: wire_send(socket, memory->message, (size_t)size, NULL, 0, deadline);
}

/*
 * A session that has not answered in time is not given up: the daemon does not count the program as
 * changed over.
 */
static uint32_t failed_state(int ret)
{
	return ret == -ETIMEDOUT ? WIRE_DONE_LATER : WIRE_DONE_PART;
}

/* The state that the process reports to the daemon after an update that returned `ret`. */
static uint32_t done_state(int ret, bool may_wait, uint64_t grace)
{
	if (may_wait) {
		/*
		 * Readers of what an exchange before this one has replaced, which could not wait.
		 */
		if (control.grace && !side_tracer_grace_passed(control.grace))
			(void)side_tracer_synchronize();
		control.grace = 0;
		return ret ? failed_state(ret) : WIRE_DONE_ALL;
	}
	if (grace)
		control.grace = grace;
	if (ret)
		return failed_state(ret);
	if (control.grace && !side_tracer_grace_passed(control.grace))
		return WIRE_DONE_READERS;
	control.grace = 0;
	return WIRE_DONE_ALL;
}

/* Behind the WELCOME: rules of its sessions. */
static int take_pushes(const char *bytes, size_t size, struct agent_wanted *wanted, uint32_t nr)
{
	while (size) {
		size_t one = wire_next(bytes, size);
		struct wire_push push;

		if (!one || wire_decode_push(bytes, one, &push) || push.session >= nr)
			return -EPROTO;
		wanted[push.session].push = push.messages;
		wanted[push.session].push_size = push.size;
		wanted[push.session].base = push.base;
		bytes += one;
		size -= one;
	}
	return 0;
}

/*
 * Sockets of sessions are named after them, but for those of static configurations, whose place
 * only the daemon knows.
 */
static bool agent_control_is_session_socket(const char *path)
{
	static const char folder[] = "/" WIRE_RUNTIME_SESSIONS "/", end[] = ".sock";
	const char *name = strrchr(path, '/');
	size_t size = strlen(agent.control.only);

	if (!agent.control.is_reserved)
		return true;
	if (!size || !name)
		return false;
	if ((size_t)(name + 1 - path) < strlen(folder) ||
			strncmp(name + 1 - strlen(folder), folder, strlen(folder)) != 0)
		return true;
	return !strncmp(name + 1, agent.control.only, size) && !strcmp(name + 1 + size, end);
}

/* Leaves out what is not for us, in a program whose events are one session's alone. */
static uint32_t keep_ours(struct agent_wanted *wanted, uint32_t nr)
{
	uint32_t kept = 0, i;

	for (i = 0; i < nr; i++)
		if (agent_control_is_session_socket(wanted[i].path))
			wanted[kept++] = wanted[i];
	return kept;
}

static int decode_welcome(const char *message, size_t size, struct wire_welcome *welcome)
{
	int ret = wire_decode_welcome(message, wire_next(message, size), welcome);

	if (ret == -EPROTONOSUPPORT)
		agent_debug("the daemon is of another release: nothing is recorded");
	if (!ret && !welcome->accepted) {
		agent_debug("the daemon refuses: %s", welcome->reason);
		ret = -EACCES;
	}
	if (!ret)
		agent_late_answered();
	return ret;
}

/* Do what the message says: *ret_update is what came of it. An error: the message is wrong. */
static int take_welcome(const char *message, size_t size, struct wire_welcome *welcome,
		bool may_wait, uint64_t *grace, int *ret_update)
{
	struct agent_wanted wanted[WIRE_WELCOME_MAX];
	struct wire_welcome_session session;
	size_t at = 0, first = wire_next(message, size);
	uint32_t nr = 0;
	int ret;

	/* The message has no more than the decoder lets through. */
	while (nr < WIRE_WELCOME_MAX && wire_welcome_next(welcome, &at, &session))
		wanted[nr++] = (struct agent_wanted){
				.path = session.path, .generation = session.generation};
	ret = take_pushes(message + first, size - first, wanted, nr);
	if (ret)
		return ret;
	nr = keep_ours(wanted, nr);
	*ret_update = agent_sessions_update(wanted, nr, may_wait, grace);
	agent_debug("%u sessions as the daemon wants them: %d", nr, *ret_update);
	return 0;
}

void control_try(const struct control_memory *memory, size_t size)
{
	struct wire_welcome welcome;
	uint64_t grace = 0;
	int ret;

	if (!decode_welcome(memory->message, size, &welcome) &&
			!take_welcome(memory->message, size, &welcome, false, &grace, &ret) && !ret)
		agent_late_applied(true);
	if (grace)
		control.grace = grace;
}

int control_welcomed(int socket, struct control_memory *memory, size_t size, bool may_wait,
		uint64_t deadline)
{
	struct wire_done done = {.token = control.token};
	struct wire_welcome welcome;
	uint64_t grace = 0;
	int ret = decode_welcome(memory->message, size, &welcome), update = 0;

	if (!ret)
		ret = take_welcome(memory->message, size, &welcome, may_wait, &grace, &update);
	if (ret || update == -EBUSY)
		return ret ? ret : update;
	control_changes_applied(!update);
	agent_late_applied(!update);
	done.serial = welcome.serial;
	done.state = done_state(update, may_wait, grace);
	ret = (int)wire_encode_done(memory->message, sizeof(memory->message), &done);
	return ret < 0 ? ret : wire_send(socket, memory->message, (size_t)ret, NULL, 0, deadline);
}

static int refresh_on(int socket, struct control_memory *memory, enum wire_control mode,
		bool may_wait, uint64_t deadline)
{
	int ret = control_send_arrival(socket, memory, mode, deadline);
	ssize_t size;

	if (ret)
		return ret;
	size = wire_receive(socket, memory->message, sizeof(memory->message), NULL, NULL, deadline);
	if (size <= 0)
		return size ? (int)size : -ECONNRESET;
	return control_welcomed(socket, memory, (size_t)size, may_wait, deadline);
}

int control_refresh(enum wire_control mode, bool may_wait, unsigned int timeout_ms)
{
	uint64_t deadline = agent_deadline_unlocked(timeout_ms);
	struct control_memory *memory = control_memory_map();
	struct agent_own own;
	int socket, ret;

	if (!memory)
		return -ENOMEM;
	agent_own_begin(&own);
	socket = control_connect(deadline);
	ret = socket < 0 ? socket : refresh_on(socket, memory, mode, may_wait, deadline);
	wire_close(socket);
	agent_own_end(&own);
	control_memory_unmap(memory);
	if (ret) {
		control_changes_applied(false);
		agent_debug("the daemon is not reached: error %d", -ret);
	}
	return ret;
}

/* Relaxed, here and below: it is only an estimate. */
void control_count_failure(int ret)
{
	/*
	 * Children of root may give up its rights, and must not write to what their parent reads.
	 */
	if (!control.hopeless_until)
		control.hopeless_until = raw_mmap(NULL, sizeof(*control.hopeless_until),
				PROT_READ | PROT_WRITE,
				(raw_call(SYS_geteuid) ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS,
				-1);
	if (!control.hopeless_until)
		return;
	__atomic_store_n(control.hopeless_until,
			ret == -ETIMEDOUT ? wire_deadline(CONTROL_HOPELESS_MS) : 0,
			__ATOMIC_RELAXED);
}

bool control_is_hopeless(void)
{
	uint64_t until = control.hopeless_until
			? __atomic_load_n(control.hopeless_until, __ATOMIC_RELAXED)
			: 0;

	return until && wire_deadline(0) < until;
}

/* ---- the arrival ---- */

static uint64_t random_token(void)
{
	uint64_t token = 0;

	raw_call(SYS_getrandom, &token, sizeof(token), 1 /* GRND_NONBLOCK */);
	return token ? token : wire_deadline(0) | 1;
}

static uint32_t chosen_mode(uint32_t *signal)
{
	const char *word = environment_get("SIDE_CONTROL");

	*signal = 0;
	if (!word || !*word)
		return boot_file(environment_get(BOOT_ENV)) ? WIRE_CONTROL_SYNC
							    : WIRE_CONTROL_THREAD;
	if (!strcmp(word, "thread"))
		return WIRE_CONTROL_THREAD;
	if (!strcmp(word, "sync"))
		return WIRE_CONTROL_SYNC;
	if (!strncmp(word, "signal:", 7)) {
		*signal = control_signal_number(word + 7);
		if (*signal)
			return WIRE_CONTROL_SIGNAL;
	}
	if (strcmp(word, "off") != 0)
		agent_debug("SIDE_CONTROL is \"%s\", which is unknown: use thread, sync, signal:NAME or off",
				word);
	return WIRE_CONTROL_OFF;
}

static void find_daemons(void)
{
	bool system;
	int i;

	for (i = 0; i < CONTROL_DAEMONS_MAX; i++) {
		char *path = control.daemons[control.nr_daemons];

		system = i == 1;
		if (wire_runtime_path(path, CONTROL_PATH_SIZE, system, WIRE_RUNTIME_AGENTS))
			continue;
		if (!control.nr_daemons || strcmp(path, control.daemons[0]) != 0)
			control.nr_daemons++;
	}
}

/* The same child whose parent's other threads did things: nothing of theirs is half done. */
static void agent_control_fork_prepare(void)
{
	if (control.mode == WIRE_CONTROL_OFF)
		return;
	control_thread_settle();
	control.forked_in_turn = control_take_turn(agent_scale_timeout(FORK_WAIT_MS));
}

static void agent_control_fork_in_parent(void)
{
	if (control.mode == WIRE_CONTROL_OFF || !control.forked_in_turn)
		return;
	control.forked_in_turn = false;
	control_give_turn();
}

static bool is_booting(void)
{
	const struct agent_session *session;

	agent_each_session(session)
		if (session->boot)
			return true;
	return false;
}

static void stay_in_touch(int arrival)
{
	if (!agent_control_daemon_exists(arrival)) {
		/* Children of a process that records without a daemon may find one. */
		agent.control.mode = control.mode =
				is_booting() ? WIRE_CONTROL_SYNC : WIRE_CONTROL_OFF;
		return;
	}
	if (control.mode == WIRE_CONTROL_THREAD) {
		control_thread_prepare();
		control_arm();
	}
}

static int agent_control_install_handlers(void)
{
	static bool handlers;
	int ret = agent_prepare();

	/* After libside's, and so before them in a fork that begins. */
	if (!ret && !handlers)
		ret = pthread_atfork(agent_control_fork_prepare, agent_control_fork_in_parent, NULL)
				? -ENOMEM
				: 0;
	handlers |= !ret;
	return ret;
}

/* In these modes no event waits, or notes that it has passed. */
static void note_unanswered(uint64_t begun)
{
	if (control.mode == WIRE_CONTROL_SYNC || control.mode == WIRE_CONTROL_SIGNAL)
		agent_late_pass(begun, false);
}

int agent_control_arrive(void)
{
	uint64_t begun = wire_deadline(0);
	int ret;

	if (getauxval(AT_SECURE))
		return -EPERM;
	control.mode = chosen_mode(&control.signal);
	if (control.mode == WIRE_CONTROL_OFF)
		return -ENOENT;
	find_daemons();
	control.pid = (int32_t)raw_call(SYS_getpid);
	control.token = random_token();
	agent.control.mode = control.mode;
	control_remember_mask();
	ret = agent_control_install_handlers();
	if (ret) {
		control.mode = WIRE_CONTROL_OFF;
		return ret;
	}
	if (control.mode == WIRE_CONTROL_SIGNAL && !control_signal_install(control.signal))
		agent.control.mode = control.mode = WIRE_CONTROL_SYNC;
	agent.control.signal = control.mode == WIRE_CONTROL_SIGNAL ? control.signal : 0;
	ret = control_refresh(control.mode, true, AGENT_CONNECT_TIMEOUT_MS);
	control_count_failure(ret);
	stay_in_touch(ret);
	note_unanswered(begun);
	return ret;
}

/* ---- requests of `side attach` ---- */

/* The daemon is a new one: the environment named another directory, or none. */
static bool know_daemon(const char *socket)
{
	uint32_t i;

	for (i = 0; i < control.nr_daemons; i++)
		if (!strcmp(control.daemons[i], socket))
			return false;
	if (control.nr_daemons == CONTROL_DAEMONS_MAX || strlen(socket) >= CONTROL_PATH_SIZE)
		return false;
	strcpy(control.daemons[control.nr_daemons++], socket);
	return true;
}

/* In control modes without a thread: ask the daemon now, where waiting is allowed. */
static int agent_control_refresh_now(const char *socket)
{
	int ret;

	/*
	 * Its next event need not do that any more; and no event may seem to have a listener
	 * because of it.
	 */
	side_tracer_disarm();
	ret = control_refresh(control.mode, true, AGENT_CONNECT_TIMEOUT_MS);
	if (ret && know_daemon(socket))
		ret = control_refresh(control.mode, true, AGENT_CONNECT_TIMEOUT_MS);
	return ret ? ret : -EALREADY;
}

/* The same where the daemon that we know is not seen any more. One that is seen is another one. */
static int agent_control_check_rendezvous(const char *path)
{
	bool is_new = !agent_rendezvous() || strcmp(agent_rendezvous(), path) != 0;
	int ret;

	side_tracer_disarm();
	if (is_new && !control_refresh(control.mode, true, AGENT_CONNECT_TIMEOUT_MS))
		return -EISCONN;
	ret = is_new ? agent_rendezvous_set(path) : 0;
	if (!ret)
		ret = control_refresh(control.mode, true, AGENT_CONNECT_TIMEOUT_MS);
	if (ret && is_new)
		(void)agent_rendezvous_set(NULL);
	return ret ? ret : -EALREADY;
}

/*
 * The process has a daemon already. Which one does not matter, unless the request names a
 * rendezvous socket.
 */
static int attached_already(const char *socket, enum agent_attach_method method)
{
	if (method == AGENT_BY_DIRECTORY)
		return -EALREADY;
	return agent_rendezvous() && !strcmp(agent_rendezvous(), socket) ? -EALREADY : -EISCONN;
}

/*
 * The socket of the daemon of this process is not reachable any more: use this rendezvous socket
 * for its sessions and for the thread.
 */
static int agent_control_move_to_rendezvous(const char *path)
{
	uint64_t deadline = wire_deadline(agent_scale_timeout(AGENT_CONNECT_TIMEOUT_MS));
	const struct timespec pause = {.tv_nsec = 1000000};
	uint32_t before = control_thread_greetings();
	int ret = agent_rendezvous_set(path);

	if (ret)
		return ret;
	/*
	 * Of two connections of a program the daemon closes the older one: the thread's, and, when
	 * that is back, ours.
	 */
	ret = control_refresh(WIRE_CONTROL_THREAD, true, AGENT_CONNECT_TIMEOUT_MS);
	control_give_turn();
	while (control_thread_greetings() == before && wire_deadline(0) < deadline)
		raw_call(SYS_nanosleep, &pause, NULL);
	while (!control_take_turn(AGENT_CONNECT_TIMEOUT_MS))
		;
	if (!ret || control_thread_greetings() != before)
		return -EALREADY;
	(void)agent_rendezvous_set(NULL);
	return ret;
}

int agent_control_attach(const char *socket, enum agent_attach_method method)
{
	const bool rendezvous = method != AGENT_BY_DIRECTORY;
	int ret;

	/* The daemon has another rendezvous socket, because the known one is gone. */
	if (rendezvous && control.attached && agent_rendezvous() &&
			strcmp(agent_rendezvous(), socket) != 0 && !control_thread_is_connected())
		(void)agent_control_detach(0);
	if (control.mode == WIRE_CONTROL_SYNC || control.mode == WIRE_CONTROL_SIGNAL)
		return rendezvous ? agent_control_check_rendezvous(socket)
				  : agent_control_refresh_now(socket);

	/* The caller cannot wait for the next event of an armed process: there may be none. */
	if (control.mode == WIRE_CONTROL_THREAD) {
		control_give_turn();
		control_thread_wake();
		while (!control_take_turn(AGENT_CONNECT_TIMEOUT_MS))
			;
	}
	if (control.mode == WIRE_CONTROL_THREAD && method == AGENT_BY_SAME_RENDEZVOUS &&
			!agent_rendezvous())
		return agent_control_move_to_rendezvous(socket);
	if (control.mode != WIRE_CONTROL_OFF)
		return attached_already(socket, method);
	if (strlen(socket) >= CONTROL_PATH_SIZE)
		return -ENAMETOOLONG;
	ret = agent_control_install_handlers();
	if (!ret)
		ret = agent_rendezvous_set(rendezvous ? socket : NULL);
	if (ret)
		return ret;
	strcpy(control.daemons[0], socket);
	control.nr_daemons = 1;
	control.pid = (int32_t)raw_call(SYS_getpid);
	control.token = random_token();
	agent.control.mode = control.mode = WIRE_CONTROL_THREAD;
	/* What we are asked to do now, we do in the turn that we have. */
	ret = control_refresh(WIRE_CONTROL_THREAD, true, AGENT_CONNECT_TIMEOUT_MS);
	/*
	 * Of two connections of a program the daemon closes the older one: a thread that was ended
	 * just now may have come once more.
	 */
	if (ret == -EPIPE || ret == -ECONNRESET)
		ret = control_refresh(WIRE_CONTROL_THREAD, true, AGENT_CONNECT_TIMEOUT_MS);
	if (ret) {
		agent.control.mode = control.mode = WIRE_CONTROL_OFF;
		(void)agent_rendezvous_set(NULL);
		return ret;
	}
	control.attached = true;
	/* From here on the thread may want it. */
	control_give_turn();
	ret = control_thread_start();
	while (!control_take_turn(AGENT_CONNECT_TIMEOUT_MS))
		;
	if (ret)
		agent.control.mode = control.mode = WIRE_CONTROL_SYNC;
	return ret;
}

int agent_control_detach(int nothing)
{
	uint64_t grace;
	int ret;

	if (!control.attached || control.mode == WIRE_CONTROL_OFF)
		return nothing;
	agent.control.mode = control.mode = WIRE_CONTROL_OFF;
	control.attached = false;
	side_tracer_disarm();
	ret = agent_sessions_update(NULL, 0, true, &grace);
	/* It sees within one of its heartbeats that it is not wanted any more. */
	control_give_turn();
	control_thread_end();
	while (!control_take_turn(AGENT_CONNECT_TIMEOUT_MS))
		;
	(void)agent_rendezvous_set(NULL);
	return ret;
}

/* ---- a forked child ---- */

bool agent_control_forked_whole(void)
{
	return control.mode == WIRE_CONTROL_OFF || control.forked_in_turn;
}

void agent_control_forked(void)
{
	uint64_t begun;
	int ret;

	if (control.mode == WIRE_CONTROL_OFF)
		return;
	control.turn = CONTROL_FREE;
	control.forked_in_turn = false;
	control.pid = (int32_t)raw_call(SYS_getpid);
	control.parent_token = control.token;
	control.token = random_token();
	control.forked = true;
	control.grace = 0;
	control_changes_applied(false);
	agent_late_forked();
	control_thread_forked();
	if (agent_is_sandboxed()) {
		control.mode = WIRE_CONTROL_OFF;
		side_tracer_disarm();
		return;
	}
	if (control.mode == WIRE_CONTROL_SIGNAL)
		side_tracer_disarm();
	/* Forked while another thread arrived: a child does not ask the loader. */
	if (control.mode == WIRE_CONTROL_THREAD && !control_thread_is_prepared())
		agent.control.mode = control.mode = WIRE_CONTROL_SYNC;
	begun = wire_deadline(0);
	/* A daemon that does not answer must not cost each child a second. */
	if (!control_is_hopeless()) {
		ret = control_refresh(control.mode, side_tracer_synchronize() == SIDE_ERROR_OK,
				AGENT_CONNECT_TIMEOUT_MS);
		control_count_failure(ret);
	}
	note_unanswered(begun);
	if (control.mode == WIRE_CONTROL_THREAD)
		control_arm();
}

void agent_control_stop(void)
{
	if (control.mode == WIRE_CONTROL_OFF)
		return;
	control.mode = WIRE_CONTROL_OFF;
	side_tracer_disarm();
}
