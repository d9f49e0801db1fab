/* SPDX-License-Identifier: MIT */
/*
 * This process as an instance of each session: it joins the sessions at its start, and lets libside
 * notify it of events.
 *
 * A forked child is a new instance, and joins the sessions that it inherits:
 *
 *   fork     The rings refuse the child, because a page of them is wiped on fork. So no record is
 *            written under the parent's name, whatever runs before our handler, and also if a bare
 *            clone() never runs it.
 *   handler  A new connection, new rings, and the same events described again (join.c); then
 *            records flow. If any of that fails, the child records nothing, and reports nothing.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include <side/tracer-extensions.h>

#include "tracers/agent/core/process.h"
#include "protocol/protocol.h"
#include "ring/ring.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/ask.h"
#include "tracers/agent/core/batch.h"
#include "tracers/agent/core/control-fork.h"
#include "tracers/agent/core/debug.h"
#include "tracers/agent/core/exchange.h"
#include "tracers/agent/core/instances.h"
#include "tracers/agent/core/join.h"
#include "tracers/agent/core/mappings.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/core/objects.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/probes-part.h"
#include "tracers/agent/core/record.h"
#include "tracers/agent/core/session-end.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/vfork.h"
#include "tracers/agent/core/wait.h"
#include "tracers/agent/context/values.h"
#include "base/inside/raw.h"

/* ---- fork ---- */

/*
 * Has this fork interrupted one of our callbacks? That callback may still use the parent's rings.
 * libside detects it, as no thread can wait for all callbacks within one. That needs system calls
 * that a sandbox may forbid.
 */
static bool within_callback(bool sandboxed)
{
	return sandboxed || side_tracer_synchronize() != SIDE_ERROR_OK;
}

static void forked_child(void)
{
	struct agent_session *session;
	int saved_errno = errno;
	bool sandboxed, within;

	bool cut_off = agent_batches_are_cut_off();

	agent_objects_forked();
	if (agent_objects_are_stuck())
		agent_probes_stop_scans();
	agent_waits_forked();
	if (cut_off)
		agent_exchanges_forked();
	sandboxed = (agent.process.nr_sessions || agent.control.mode != WIRE_CONTROL_OFF) &&
			agent_is_sandboxed();
	if ((agent.process.nr_sessions || agent.control.mode != WIRE_CONTROL_OFF) && !sandboxed)
		agent_start_begins();
	within = agent.process.nr_sessions && within_callback(sandboxed);
	if (agent.process.nr_sessions && !within)
		agent_pool_reset();
	/* Half changed by another thread of the parent's: not to be gone on with. */
	if (!agent_control_forked_whole())
		agent_each_session(session)
			session->gone = true;
	agent_each_session(session)
		agent_session_rejoin(session, sandboxed, within);
	agent_bases_forked();
	agent_probes_forked();
	agent_control_forked();
	/*
	 * If the fork cut off another thread's notification, taking the lock makes libside continue
	 * it.
	 */
	if (agent.process.nr_sessions) {
		side_tracer_lock();
		if (cut_off)
			agent_batches_forked();
		side_tracer_unlock();
	}
	agent_start_ends();
	errno = saved_errno;
}

/* ---- begin and end ---- */

static void (*call_at_exit)(void);

void agent_process_on_exit(void (*call)(void))
{
	call_at_exit = call;
}

/*
 * Runs before the destructors of libraries, because it is registered after the loader's. From here
 * on nothing is freed; callbacks work on until the last instruction of the process.
 */
static void process_exits(void)
{
	atomic_store_explicit(&agent.process.is_exiting, true, memory_order_relaxed);
	/*
	 * No system call in a sandbox. A thread that holds the lock for long would delay the end.
	 */
	if ((agent_vforked && agent_vforked != CONTEXT_SHARES_MEMORY) || !context_may_ask() ||
			!side_tracer_trylock())
		return;
	agent_probes_count();
	side_tracer_unlock();
	if (call_at_exit && agent.process.nr_sessions)
		call_at_exit();
}

static int agent_process_install_handlers(void)
{
	static bool installed;

	if (installed)
		return 0;
	/* After libside's handlers, which its initialisation has installed: see forked_child(). */
	side_init();
	if (pthread_atfork(agent_objects_fork, agent_objects_fork_done, forked_child) ||
			atexit(process_exits))
		return -ENOMEM;
	agent_objects_learn();
	installed = true;
	return 0;
}

/* ---- sandboxes ---- */

/*
 * A thread is forbidden to read clocks: its next record would be the end of the program. All of
 * them are refused from here on, in other threads too, and counted; nor is anybody spoken to,
 * because that takes clocks as well. A child that runs in our memory means only itself, and records
 * nothing.
 */
static void agent_process_is_clock_forbidden(bool forbidden)
{
	struct agent_session *session;
	uint32_t i;

	if (context_is_foreign())
		return;
	/* Relaxed: the thread itself is who must see it. */
	atomic_store_explicit(&agent.own_process.is_stopped, forbidden, memory_order_relaxed);
	/* Sessions come and go under it. */
	side_tracer_lock();
	agent_each_session(session)
		for (i = 0; i < session->nr_channels; i++)
			if (session->channels[i].producer)
				ring_producer_stop(session->channels[i].producer, forbidden);
	side_tracer_unlock();
}

/* Register functions that are called before the program enters a sandbox. */
static void watch_sandboxes(void)
{
	if (context_values_start())
		return;
	ring_ask_before_calls(context_may_ask);
	context_clock_forbidden = agent_process_is_clock_forbidden;
	context_sandbox_changes = agent_instances_sandbox;
}

/* ---- sessions ---- */

/* The recorders that the environment names. */
struct starting {
	struct agent_wanted wanted[WIRE_SESSIONS_MAX];
	char paths[WIRE_SESSIONS_MAX][WIRE_SESSION_PATH_MAX + 1];
	uint32_t nr;
};

static void start_parse(struct starting *starting, const char *paths)
{
	size_t size;

	do {
		uint32_t i = starting->nr;

		size = strcspn(paths, ":");
		if (size < sizeof(starting->paths[i])) {
			memcpy(starting->paths[i], paths, size);
			starting->paths[i][size] = 0;
			starting->wanted[i] = (struct agent_wanted){
					.path = starting->paths[i],
					.asked = size ? AGENT_ASK_HELLO : AGENT_ASK_NOTHING,
					.token = agent_new_token(),
			};
			starting->nr++;
		}
		paths += size + (paths[size] == ':');
	} while (*paths && starting->nr < WIRE_SESSIONS_MAX);
}

/*
 * As many of the sessions as there are. 0 when there is one at least, else the first one's error.
 */
static int start_sessions(struct starting *starting)
{
	int result = starting->nr ? 0 : -ENAMETOOLONG;
	uint32_t i;

	for (i = 0; i < starting->nr; i++) {
		int ret = agent_session_join(&starting->wanted[i], true, true);

		if (ret && !result)
			result = ret;
	}
	return agent.process.nr_sessions ? 0 : result;
}

bool agent_list_only(void)
{
	const struct agent_session *session;

	agent_each_session(session)
		if (session->list_only)
			return true;
	return false;
}

static int take_keys(void)
{
	uint32_t i;

	/* Of old sessions they may be used again: nothing of theirs is left then. */
	for (i = 0; i < AGENT_SESSIONS_MAX; i++)
		if (!agent.process.keys[i] &&
				side_tracer_request_key(&agent.process.keys[i]) != SIDE_ERROR_OK)
			return -ENOSPC;
	return 0;
}

int agent_prepare(void)
{
	int ret;

	if (agent.process.is_prepared)
		return 0;
	agent.own_process.seccomp = prctl(PR_GET_SECCOMP);
	ring_lease_timeout_factor(agent_scale_timeout(1));
	ret = agent_pool_create();
	if (!ret)
		ret = agent_process_install_handlers();
	if (!ret)
		ret = take_keys();
	if (ret)
		return ret;
	watch_sandboxes();
	agent.process.tracer = side_tracer_event_notification_register(agent_batches_changed, NULL);
	agent.process.is_prepared = agent.process.tracer != NULL;
	return agent.process.tracer ? 0 : -ENOMEM;
}

int agent_start(const char *paths)
{
	struct starting starting = {.nr = 0};
	uint64_t deadline = agent_deadline_unlocked(AGENT_WAIT_MS);
	int ret = agent_prepare();
	bool begun;

	if (!ret) {
		agent_probes_rescan();
		start_parse(&starting, paths);
		agent_ask(starting.wanted, starting.nr, true, deadline);
		side_tracer_lock();
		begun = agent_occasion_begins(deadline);
		ret = start_sessions(&starting);
		agent_probes_apply();
		agent_bases_dump();
		agent_occasion_ends(begun);
		side_tracer_unlock();
		agent_ask_drop(starting.wanted, starting.nr);
	}
	agent_debug(ret ? "not recording: error %d" : "recording", -ret);
	if (ret)
		agent_stop();
	return ret;
}

void agent_stop(void)
{
	struct agent_session *session;

	if (agent.process.tracer) {
		side_tracer_event_notification_unregister(agent.process.tracer);
		agent_batches_forget();
	}
	agent_each_session(session)
		agent_session_drop(session);
	agent_pool_destroy();
	agent_exchanges_stop();
	agent_memory_trim();
	agent.process.nr_sessions = agent.update.nr_declined = 0;
	agent.process.tracer = NULL;
	agent.process.is_prepared = false;
	atomic_store_explicit(&agent.own_process.is_stopped, false, memory_order_relaxed);
}
