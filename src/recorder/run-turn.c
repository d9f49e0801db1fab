/* SPDX-License-Identifier: MIT */
/*
 * Turns of the main loop: handles connections and messages of agents, exits of processes, signals,
 * and the end of the command.
 *
 * SIGINT and SIGQUIT from a terminal reach the command as well, so after the first one the recorder
 * waits for the command; a second one ends the recording at once. SIGTERM and SIGHUP are forwarded
 * to the command, and a second one also ends the recording. SIGUSR1 requests a snapshot of
 * overwrite rings, and SIGUSR2, if there are chunks, the end of a chunk.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/connection.h"
#include "recorder/core/channels.h"
#include "recorder/core/exit-status.h"
#include "recorder/core/instance.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/core/watch.h"
#include "recorder/drain.h"
#include "recorder/loading.h"
#include "recorder/run-turn.h"
#include "recorder/session-state.h"

/* Consecutive turns in which exits wait for messages. */
#define MESSAGE_TURNS_MAX 64

static void handle_snapshot(struct session *session)
{
	if (channels_any_overwrites(session))
		drain_snapshot(session);
	else
		report(session, false, "cannot make a snapshot: no channel has `--mode overwrite`");
}

static void handle_signals(struct session *session)
{
	struct signalfd_siginfo info;

	while (read(session->loop.signals.fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue; /* only wakes the loop: record_run_has_ended() */
		if (info.ssi_signo == SIGUSR1) {
			if (session->mode == SESSION_RECORD)
				handle_snapshot(session);
			continue;
		}
		if (info.ssi_signo == SIGUSR2) {
			session_rotate(session);
			continue;
		}
		if (++session->loop.interrupts > 1) {
			session->loop.interrupted = session->command.status == -1;
			/*
			 * Release: the reason of the stop. Pairs with the acquires in is_called()
			 * and drain_thread().
			 */
			atomic_store_explicit(&session->drain.stop, true, memory_order_release);
		} else if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP ||
				(session->loop.pass_on && info.ssi_code <= 0)) {
			if (session->command.status == -1)
				kill(session->command.pid, (int)info.ssi_signo);
		}
	}
}

static void handle_command_end(struct session *session)
{
	int status;

	if (waitpid(session->command.pid, &status, 0) != session->command.pid)
		status = 0;
	session->command.status = status;
	close(session->command.watch.fd);
	session->command.watch.fd = -1;
}

static void handle_watch(struct session *session, struct recorder_watch *watch)
{
	if (watch->fd < 0)
		return; /* closed by an earlier event of the same batch */
	switch (watch->kind) {
	case WATCH_LISTENER: connection_accept(session); break;
	case WATCH_SIGNALS: handle_signals(session); break;
	case WATCH_COMMAND: handle_command_end(session); break;
	case WATCH_CONNECTION: connection_ready(session, (struct connection *)(void *)watch); break;
	case WATCH_LOADING: loading_ready(session); break;
	case WATCH_PEER: connection_peer_exited(session, watch); break;
	case WATCH_INSTANCE:
		crash_check(session, (struct instance *)(void *)watch);
		instance_end(session, (struct instance *)(void *)watch);
		break;
	}
}

static bool record_run_is_keyword(const struct recorder_watch *watch)
{
	return watch->kind == WATCH_LISTENER || watch->kind == WATCH_CONNECTION;
}

/*
 * Runs one turn. Exits are handled after messages: a process may have sent messages before it
 * exited, even on a connection that is accepted only in this turn. The exits then wait for the next
 * turn, where epoll reports them again. MESSAGE_TURNS_MAX limits the wait, so that a flood of
 * messages cannot delay exits for ever.
 */
int run_turn(struct session *session, int timeout_ms)
{
	struct recorder_watch *ready[EVENT_LOOP_BATCH];
	bool spoke = false;
	unsigned int nr, i;
	int pass, ret;

	session->loop.ready = ready;
	session->loop.nr_ready = 0;
	ret = event_loop_turn(&session->loop.events, timeout_ms);
	nr = session->loop.nr_ready;
	session->loop.ready = NULL;
	if (ret)
		return ret;
	for (pass = 0; pass < 2; pass++) {
		if (pass == 1 && spoke && ++session->loop.message_turns < MESSAGE_TURNS_MAX)
			break;
		if (pass == 1)
			session->loop.message_turns = 0;
		for (i = 0; i < nr; i++) {
			struct recorder_watch *watch = ready[i];
			bool is_death;

			if (!watch)
				continue;
			spoke |= record_run_is_keyword(watch);
			is_death = watch->kind == WATCH_INSTANCE || watch->kind == WATCH_COMMAND ||
					watch->kind == WATCH_PEER;
			if (is_death != (pass == 1))
				continue;
			/*
			 * Handle each event once. Its connection may be closed by then, but its
			 * memory remains valid.
			 */
			ready[i] = NULL;
			handle_watch(session, watch);
		}
	}
	connections_expire(session);
	connections_free_closed(session);
	return (int)nr;
}

sigset_t session_signals(const struct session *session)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGCHLD};
	sigset_t signals;
	size_t i;

	sigemptyset(&signals);
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaddset(&signals, numbers[i]);
	if (session->rotation.chunks)
		sigaddset(&signals, SIGUSR2);
	return signals;
}

static int record_run_watch_signals(struct session *session)
{
	sigset_t ours = session_signals(session);

	session->loop.signals.kind = WATCH_SIGNALS;
	session->loop.signals.fd = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
	return session->loop.signals.fd < 0 ? -errno : watch_add(session, &session->loop.signals);
}

int run_begin(struct session *session)
{
	int ret;

	if (session->loop.begun)
		return 0;
	session->loop.begun = true;
	ret = record_run_watch_signals(session);
	if (!ret)
		ret = watch_add(session, &session->command.watch);
	if (!ret && session->mode == SESSION_RECORD)
		ret = drain_start(session);
	return ret;
}
