/* SPDX-License-Identifier: MIT */
/*
 * Changes of the sessions of this process while the program runs.
 *
 * One update holds libside's event lock all the time, so no batch of events appears or disappears
 * meanwhile, and a fork finds it complete or not begun. The update collects everything that it
 * replaces and begins one grace period for all of it. When that has passed, the memory is freed: by
 * this update if it may wait, otherwise by a later one.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <side/tracer-extensions.h>

#include "tracers/agent/core/update.h"
#include "protocol/protocol.h"
#include "ring/ring.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/ask.h"
#include "tracers/agent/core/batch.h"
#include "tracers/agent/core/debug.h"
#include "tracers/agent/core/event.h"
#include "tracers/agent/core/exchange.h"
#include "tracers/agent/core/instances.h"
#include "tracers/agent/core/join.h"
#include "tracers/agent/core/late.h"
#include "tracers/agent/core/mappings.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/probes-part.h"
#include "tracers/agent/core/recovery.h"
#include "tracers/agent/core/recycled-ids.h"
#include "tracers/agent/core/renew.h"
#include "tracers/agent/core/replaced.h"
#include "tracers/agent/core/rules.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/wait.h"
#include "base/inside/raw.h"

#define LOCK_TRIES 50 /* of a change that may not wait for the lock, a millisecond each */

/* ---- sessions that refused this process ---- */

static struct agent_declined *find_declined(const char *path)
{
	uint32_t i;

	for (i = 0; i < agent.update.nr_declined; i++)
		if (!strcmp(agent.update.declined[i].path, path))
			return &agent.update.declined[i];
	return NULL;
}

static void forget_declined(struct agent_declined *declined)
{
	*declined = agent.update.declined[--agent.update.nr_declined];
}

#define RETRY_FIRST_S 5
#define RETRY_LAST_S 60

static bool agent_update_is_due(const struct agent_declined *declined)
{
	return declined->due && wire_deadline(0) >= declined->due;
}

bool agent_declined_due(void)
{
	uint32_t i;

	for (i = 0; i < agent.update.nr_declined; i++)
		if (agent_update_is_due(&agent.update.declined[i]))
			return true;
	return false;
}

static uint64_t next_pause(uint64_t pause_s)
{
	if (!pause_s)
		return RETRY_FIRST_S;
	return pause_s < RETRY_LAST_S / 2 ? pause_s * 2 : RETRY_LAST_S;
}

/* `pause_s`: before the session is asked again; 0: it is not. */
static void remember_declined(const struct agent_wanted *wanted, uint64_t pause_s)
{
	struct agent_declined *declined = find_declined(wanted->path);

	if (!declined && agent.update.nr_declined == WIRE_WELCOME_MAX)
		return;
	if (!declined)
		declined = &agent.update.declined[agent.update.nr_declined++];
	declined->generation = wanted->generation;
	declined->pause_s = pause_s;
	declined->due = pause_s ? wire_deadline((unsigned int)pause_s * 1000) : 0;
	strcpy(declined->path, wanted->path);
}

/* ---- one session ---- */

static struct agent_session *agent_update_find_session(const char *path)
{
	struct agent_session *session;

	agent_each_session(session)
		if (!strcmp(session->path, path))
			return session;
	return NULL;
}

static const struct agent_wanted *find_wanted(
		const struct agent_wanted *wanted, uint32_t nr, const char *path)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		if (!strcmp(wanted[i].path, path))
			return &wanted[i];
	return NULL;
}

static void agent_update_leave_session(struct agent_session *session)
{
	agent_debug("leaving %s", session->path);
	agent_hang_up(session);
	agent_recovery_end(session);
	agent_probes_leave(session);
	session->state = AGENT_SESSION_LEFT;
	agent.process.nr_sessions--;
	agent_batches_leave(session);
}

static int agent_update_join_session(struct agent_wanted *wanted, bool may_wait)
{
	struct agent_declined *declined = find_declined(wanted->path);
	uint64_t pause_s = declined ? declined->pause_s : 0;
	int ret;

	/* decide_question() has asked it already, or it is asked now. */
	if (declined && declined->generation == wanted->generation && !wanted->asked &&
			!agent_update_is_due(declined))
		return 0;
	if (declined)
		forget_declined(declined);
	ret = agent_session_join(wanted, false, may_wait);
	if (ret == -EACCES || ret == -EUSERS) {
		remember_declined(wanted, ret == -EUSERS ? next_pause(pause_s) : 0);
		return 0;
	}
	if (!ret && agent_update_find_session(wanted->path)->incomplete)
		ret = -EIO;
	if (!ret)
		agent_late_report(agent_update_find_session(wanted->path));
	return ret;
}

static bool same_rules(
		const struct agent_session *session, const struct agent_generation *generation)
{
	const struct agent_hash *a = &session->generation->hash, *b = &generation->hash;

	return !session->incomplete && a->low == b->low && a->high == b->high;
}

/* -EACCES: the session wants us to leave it. */
static int agent_update_refresh(
		struct agent_session *session, struct agent_wanted *wanted, bool may_wait)
{
	struct agent_generation *generation;
	bool is_new = false;
	int ret = wanted->error ? wanted->error : agent_refresh(session, wanted, &generation);

	if (wanted->error == -ETIMEDOUT && wanted->asked)
		agent_stalled_note(session->path);

	if (ret && ret != -EALREADY)
		return ret;
	session->gone = false;
	if (ret) {
		agent_probes_begin();
		return 0;
	}
	if (same_rules(session, generation)) {
		agent_generation_free(generation);
	} else {
		ret = agent_batches_renew(session, generation);
		if (session->generation != generation) {
			agent_generation_free(generation);
			session->incomplete = true;
		}
		is_new = !ret;
	}
	agent_hang_up(session);
	agent_probes_update(session, may_wait);
	if (is_new)
		agent_late_report(session);
	return ret;
}

static bool is_up_to_date(const struct agent_session *session, const struct agent_wanted *wanted,
		bool may_wait)
{
	return session->config.generation == wanted->generation && !session->gone &&
			!session->incomplete && !session->orphaned &&
			!(session->probes_due && may_wait);
}

/*
 * Choose the question to the session before the change takes the lock, and fill in the input of
 * agent_ask().
 */
static void decide_question(struct agent_wanted *wanted, bool may_wait)
{
	const struct agent_session *session = agent_update_find_session(wanted->path);
	const struct agent_declined *declined = session ? NULL : find_declined(wanted->path);

	if (session &&
			(session->list_only || session->boot ||
					is_up_to_date(session, wanted, may_wait) ||
					(!session->orphaned &&
							agent_may_take_push(session, wanted))))
		return;
	if (declined && declined->generation == wanted->generation &&
			!agent_update_is_due(declined))
		return;
	wanted->retries = declined && declined->pause_s;
	if (agent_is_stalled(wanted->path)) {
		wanted->error = -ETIMEDOUT;
		return;
	}
	wanted->asked = session && !session->orphaned ? AGENT_ASK_REFRESH : AGENT_ASK_HELLO;
	wanted->token = session && !session->orphaned ? session->token : agent_new_token();
	if (session)
		wanted->known = agent_known_generation(session);
}

static int agent_update_session(struct agent_wanted *wanted, bool may_wait)
{
	struct agent_session *session = agent_update_find_session(wanted->path);
	int ret = -EACCES;

	if (!session)
		return agent_update_join_session(wanted, may_wait);
	if (session->list_only)
		return 0;
	/* A daemon has adopted the session of a static configuration, and may end it. */
	if (session->boot)
		session->is_explicit = false;
	if (is_up_to_date(session, wanted, may_wait))
		return 0;
	if (!session->orphaned)
		ret = agent_update_refresh(session, wanted, may_wait);
	if (ret != -EACCES)
		return ret;
	/* It may be another one, at the same place, that knows nothing of us. */
	agent_update_leave_session(session);
	return agent_update_join_session(wanted, may_wait);
}

/* ---- all of them ---- */

static int agent_update_all(struct agent_wanted *wanted, uint32_t nr, bool may_wait)
{
	struct agent_session *session;
	int result = 0;
	uint32_t i;

	for (i = agent.update.nr_declined; i; i--)
		if (!find_wanted(wanted, nr, agent.update.declined[i - 1].path))
			forget_declined(&agent.update.declined[i - 1]);
	agent_each_session(session)
		if (!session->is_explicit && !find_wanted(wanted, nr, session->path))
			agent_update_leave_session(session);
	for (i = 0; i < nr; i++) {
		int ret = agent_update_session(&wanted[i], may_wait);

		if (ret)
			agent_debug("%s: error %d", wanted[i].path, -ret);
		/* A session that has not answered yet is the one to wait for. */
		if (ret && (!result || ret == -ETIMEDOUT))
			result = ret;
	}
	return result;
}

/* The sessions that have asked for a state dump. */
static uint32_t take_requests(uint64_t ret_keys[AGENT_SESSIONS_MAX])
{
	struct agent_session *session;
	uint32_t nr = 0;

	agent_each_session(session) {
		if (session->config.statedump <= session->dumped || session->list_only)
			continue;
		session->dumped = session->config.statedump;
		session->bases_recorded = false;
		ret_keys[nr++] = session->key;
	}
	return nr;
}

/* Not with the lock, which a dump that runs may want. */
static void request_dumps(const uint64_t *keys, uint32_t nr)
{
	if (nr)
		agent_instances_dump();
	while (nr)
		side_tracer_statedump_request(keys[--nr]);
}

/* As take_requests(), where nothing can be waited for. False: some have to be asked for once more. */
static bool try_requests(void)
{
	struct agent_session *session;
	bool all = true;

	agent_each_session(session) {
		if (session->config.statedump <= session->dumped || session->list_only)
			continue;
		if (!side_tracer_statedump_request_try(session->key)) {
			all = false;
			continue;
		}
		session->dumped = session->config.statedump;
		session->bases_recorded = false;
	}
	return all;
}

/* Nothing may be changed in a sandbox, nor beside destructors. */
static bool may_change(void)
{
	return agent.process.is_prepared && !agent_is_sandboxed() &&
			!atomic_load_explicit(&agent.process.is_exiting, memory_order_relaxed);
}

/* Where nothing may be waited for: not for the lock either. */
static bool agent_update_lock(bool may_wait)
{
	if (!may_wait)
		return side_tracer_trylock();
	side_tracer_lock();
	return true;
}

/* Wait until no thread is in a call of a replaced event, unless this is such a call itself. */
static void wait_for_calls(uint64_t *ret_grace)
{
	if (side_tracer_synchronize() != SIDE_ERROR_OK)
		return;
	*ret_grace = 0;
	side_tracer_lock();
	agent_over_free();
	side_tracer_unlock();
}

/* Pushed messages come from sessions without probes, and have none. */
static bool agent_update_may_install_probes(const struct agent_wanted *wanted, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		if (!wanted[i].push)
			return true;
	return false;
}

/* Ask these questions without the lock, then take the lock. False: the lock cannot be taken. */
static bool ask_and_lock(struct agent_wanted *wanted, uint32_t nr, bool may_wait, uint64_t deadline)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	bool any = false, locked;
	unsigned int tries;
	uint32_t i;

	if (!agent_update_lock(may_wait))
		return false;
	for (i = 0; i < nr; i++) {
		decide_question(&wanted[i], may_wait);
		any |= wanted[i].asked != AGENT_ASK_NOTHING;
	}
	if (!any)
		return true;
	side_tracer_unlock();
	agent_ask(wanted, nr, false, deadline);
	locked = agent_update_lock(may_wait);
	/* The lock was free a moment ago, and the questions are sent already. */
	for (tries = 0; !locked && tries < LOCK_TRIES; tries++) {
		raw_call(SYS_nanosleep, &pause, NULL);
		locked = agent_update_lock(may_wait);
	}
	return locked;
}

static int agent_update_apply(
		struct agent_wanted *wanted, uint32_t nr, bool may_wait, uint64_t *ret_grace)
{
	uint64_t deadline = agent_deadline_unlocked(AGENT_WAIT_MS);
	uint64_t keys[AGENT_SESSIONS_MAX];
	uint32_t nr_keys = 0;
	bool begun;
	int ret;

	if (!may_change())
		return -EPERM;
	if (may_wait && agent_update_may_install_probes(wanted, nr))
		agent_probes_rescan();
	if (!ask_and_lock(wanted, nr, may_wait, deadline))
		return -EBUSY;
	begun = agent_occasion_begins(deadline);
	agent_over_free();
	agent_bases_changed();
	ret = agent_update_all(wanted, nr, may_wait);
	if (may_wait)
		agent_probes_apply();
	*ret_grace = agent_over_begin();
	if (may_wait)
		nr_keys = take_requests(keys);
	else if (!try_requests() && !ret)
		ret = -EAGAIN;
	agent_bases_dump();
	agent_occasion_ends(begun);
	side_tracer_unlock();
	request_dumps(keys, nr_keys);
	if (may_wait && *ret_grace)
		wait_for_calls(ret_grace);
	return ret;
}

static void (*on_change)(bool after);

void agent_on_change(void (*notify)(bool after))
{
	__atomic_store_n(&on_change, notify, __ATOMIC_RELAXED);
}

int agent_sessions_update(
		struct agent_wanted *wanted, uint32_t nr, bool may_wait, uint64_t *ret_grace)
{
	/* Relaxed: code, which is there for good. */
	void (*notify)(bool after) = __atomic_load_n(&on_change, __ATOMIC_RELAXED);
	int saved_errno = errno, ret;

	*ret_grace = 0;
	if (notify && may_wait)
		notify(false);
	ret = agent_update_apply(wanted, nr, may_wait, ret_grace);
	agent_ask_drop(wanted, nr);
	if (notify && may_wait)
		notify(true);
	errno = saved_errno;
	return ret;
}

/* ---- requests of other programs ---- */

static void count_lost_in(const struct agent_batch *batch,
		const struct side_event_description *description, bool named, uint32_t cpu,
		uint64_t count)
{
	uint32_t i;

	for (i = 0; i < batch->nr_events; i++) {
		const struct agent_event *event = &batch->events[i];

		if (event->description == description && event->registered && event->recorded &&
				event->producer)
			ring_count_lost_before(event->producer, named ? event->id : AGENT_LOST_SLOT,
					named ? RING_LOST_OTHER : RING_LOST_BUSY, cpu, count);
	}
}

void agent_count_lost(const struct side_event_description *event, bool named, uint32_t cpu,
		uint64_t count)
{
	const struct agent_session *session;
	const struct agent_batch *batch;

	side_tracer_lock();
	agent_each_session(session)
		for (batch = session->batches; batch; batch = batch->next)
			count_lost_in(batch, event, named, cpu, count);
	side_tracer_unlock();
}

/* With the lock: what was begun is seen to its end. Releases it. */
static int complete(int ret)
{
	uint64_t keys[AGENT_SESSIONS_MAX], grace = agent_over_begin();
	uint32_t nr_keys = take_requests(keys);

	agent_probes_apply();
	agent_bases_dump();
	/* If no thread has called an event yet, there is nothing to wait for. */
	if (!grace)
		agent_over_free();
	side_tracer_unlock();
	request_dumps(keys, nr_keys);
	if (grace)
		wait_for_calls(&grace);
	return ret;
}

static bool is_in(const char *path)
{
	bool in;

	side_tracer_lock();
	in = agent_update_find_session(path) != NULL;
	side_tracer_unlock();
	return in;
}

int agent_session_attach(const char *path)
{
	struct agent_wanted wanted = {.path = path, .asked = AGENT_ASK_HELLO};
	uint64_t deadline = agent_deadline_unlocked(AGENT_WAIT_MS);
	struct agent_session *session;
	bool begun;
	int ret;

	if (!may_change())
		return -EPERM;
	agent_probes_rescan();
	wanted.token = agent_new_token();
	if (!is_in(path))
		agent_ask(&wanted, 1, true, deadline);
	else
		wanted.asked = AGENT_ASK_NOTHING;
	side_tracer_lock();
	begun = agent_occasion_begins(deadline);
	agent_over_free();
	agent_bases_changed();
	session = agent_update_find_session(path);
	ret = session ? -EALREADY : agent_session_join(&wanted, true, true);
	session = ret ? NULL : agent_update_find_session(path);
	agent_occasion_ends(begun);
	agent_ask_drop(&wanted, 1);
	if (session) {
		session->attached = true;
		if (session->incomplete)
			ret = -EIO;
	}
	return complete(ret);
}

int agent_session_detach(const char *path)
{
	struct agent_session *session;
	int ret = -ENOENT;

	if (!may_change())
		return -EPERM;
	side_tracer_lock();
	agent_over_free();
	agent_each_session(session) {
		if (!session->attached || (path && strcmp(session->path, path) != 0))
			continue;
		agent_update_leave_session(session);
		ret = 0;
	}
	return complete(ret);
}
