/* SPDX-License-Identifier: MIT */
/* Exchange messages with the daemon, and update the sessions as it answers. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <side/tracer-extensions.h>

#include "tracers/agent/core/control-daemon.h"
#include "protocol/protocol.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/control-changes.h"
#include "tracers/agent/core/debug.h"
#include "tracers/agent/core/exchange.h"
#include "tracers/agent/core/late.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/own-threads.h"
#include "tracers/agent/core/rendezvous.h"
#include "tracers/agent/core/update.h"
#include "tracers/agent/core/wait.h"
#include "base/inside/raw.h"
#include "protocol/runtime.h"

#include <sys/mman.h>

#define CONTROL_HOPELESS_MS 10000 /* after an arrival that timed out: no event and no child waits */

static uint64_t control_new_token(void)
{
	uint64_t token = 0;

	raw_call(SYS_getrandom, &token, sizeof(token), 1 /* GRND_NONBLOCK */);
	return token ? token : wire_deadline(0) | 1;
}

void control_identify(void)
{
	control.pid = (int32_t)raw_call(SYS_getpid);
	control.token = control_new_token();
}

/* Nothing listens at a socket that refuses connections. */
bool control_daemon_exists(int error)
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
	if (!control_daemon_exists(result))
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

static int decode_welcome(const char *message, size_t size, struct wire_welcome *ret_welcome)
{
	int ret = wire_decode_welcome(message, wire_next(message, size), ret_welcome);

	if (ret == -EPROTONOSUPPORT)
		agent_debug("the daemon is of another release: nothing is recorded");
	if (!ret && !ret_welcome->accepted) {
		agent_debug("the daemon refuses: %s", ret_welcome->reason);
		ret = -EACCES;
	}
	if (!ret)
		agent_late_answered();
	return ret;
}

/* Do what the message says: *ret_update is what came of it. An error: the message is wrong. */
static int take_welcome(const char *message, size_t size, struct wire_welcome *welcome,
		bool may_wait, uint64_t *ret_grace, int *ret_update)
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
	*ret_update = agent_sessions_update(wanted, nr, may_wait, ret_grace);
	agent_debug("joined %u sessions of the daemon: %d", nr, *ret_update);
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

static void (*on_update)(void);

void agent_control_on_update(void (*update)(void))
{
	on_update = update;
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
	if (may_wait && on_update)
		on_update();
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
		agent_debug("cannot reach the daemon: error %d", -ret);
	}
	return ret;
}

/* Relaxed, here and below: it is only an estimate. */
void control_count_failure(int error)
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
			error == -ETIMEDOUT ? wire_deadline(CONTROL_HOPELESS_MS) : 0,
			__ATOMIC_RELAXED);
}

bool control_is_hopeless(void)
{
	uint64_t until = control.hopeless_until
			? __atomic_load_n(control.hopeless_until, __ATOMIC_RELAXED)
			: 0;

	return until && wire_deadline(0) < until;
}

void control_note_unanswered(uint64_t begun)
{
	if (control.mode == WIRE_CONTROL_SYNC || control.mode == WIRE_CONTROL_SIGNAL)
		agent_late_pass(begun, false);
}
