/* SPDX-License-Identifier: MIT */
/*
 * The daemon: the arrival of the process, and requests of `side attach`.
 *
 * Before main() the process identifies itself and joins the sessions that the daemon names, within
 * one second in total. Then the program runs, whether or not that succeeded.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>

#include <side/tracer-extensions.h>

#include "tracers/agent/core/control.h"
#include "protocol/protocol.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/control-daemon.h"
#include "tracers/agent/core/control-fork.h"
#include "tracers/agent/core/control-signal.h"
#include "tracers/agent/core/control-thread.h"
#include "tracers/agent/core/debug.h"
#include "tracers/agent/core/exchange.h"
#include "tracers/agent/core/process.h"
#include "tracers/agent/core/rendezvous.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/update.h"
#include "tracers/agent/core/wait.h"
#include "base/environment/environment.h"
#include "protocol/boot.h"
#include "base/inside/raw.h"
#include "protocol/runtime.h"

/* ---- the arrival ---- */

static uint32_t chosen_mode(uint32_t *ret_signal)
{
	const char *word = environment_get("SIDE_CONTROL");

	*ret_signal = 0;
	if (!word || !*word)
		return boot_file(environment_get(BOOT_ENV)) ? WIRE_CONTROL_SYNC
							    : WIRE_CONTROL_THREAD;
	if (!strcmp(word, "thread"))
		return WIRE_CONTROL_THREAD;
	if (!strcmp(word, "sync"))
		return WIRE_CONTROL_SYNC;
	if (!strncmp(word, "signal:", 7)) {
		*ret_signal = control_signal_number(word + 7);
		if (*ret_signal)
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
	if (!control_daemon_exists(arrival)) {
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
	int ret = agent_prepare();

	return ret ? ret : control_fork_install();
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
	control_identify();
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
	control_note_unanswered(begun);
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
	control_identify();
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

void agent_control_stop(void)
{
	if (control.mode == WIRE_CONTROL_OFF)
		return;
	control.mode = WIRE_CONTROL_OFF;
	side_tracer_disarm();
}
