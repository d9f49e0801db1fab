/* SPDX-License-Identifier: MIT */
/*
 * Join sessions: map their rings, apply their rules, describe the events.
 *
 * A forked child joins its sessions again. It may have been forked within one of our callbacks (in
 * a visitor of the application), or by a signal handler that interrupted one. The parent's mapping
 * then stays, because the callback still uses it; the rings refuse it, and it is unmapped at the
 * end of the process.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tracers/agent/core/join.h"
#include "protocol/protocol.h"
#include "ring/ring.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/batch.h"
#include "tracers/agent/core/boot.h"
#include "tracers/agent/core/control-state.h"
#include "tracers/agent/core/debug.h"
#include "tracers/agent/core/exchange.h"
#include "tracers/agent/core/probes-part.h"
#include "tracers/agent/core/recovery.h"
#include "tracers/agent/core/renew.h"
#include "tracers/agent/core/session-end.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/unsupported.h"
#include "tracers/agent/core/wait.h"
#include "base/inside/raw.h"

uint64_t agent_new_token(void)
{
	uint64_t token = 0;

	raw_call(SYS_getrandom, &token, sizeof(token), 1 /* GRND_NONBLOCK */);
	if (!token)
		token = wire_deadline(0) ^ (uint64_t)raw_call(SYS_getpid) << 40;
	return token ? token : 1;
}

/*
 * Ask for rings and map them, one for each channel. The connection stays open for the first events.
 * On failure there are no rings.
 */
static int join_map_rings(struct agent_session *session, uint64_t parent_token,
		struct ring_producer **producers)
{
	int ring_fds[WIRE_CHANNELS_MAX];
	uint32_t i;
	int ret;

	for (i = 0; i < WIRE_CHANNELS_MAX; i++)
		producers[i] = NULL;
	/* With a connection HELLO has been sent, with its token. */
	if (session->socket < 0)
		session->token = agent_new_token();
	ret = session->boot ? agent_boot_hello(session, parent_token, ring_fds)
			    : agent_hello(session, parent_token, ring_fds);
	if (ret) {
		agent_debug("no recorder at %s: error %d", session->path, -ret);
		agent_report_limit(session, ret);
		return ret;
	}
	for (i = 0; i < session->nr_channels && !session->list_only; i++) {
		if (!ret)
			ret = ring_producer_map(ring_fds[i], &producers[i]);
		wire_close(ring_fds[i]);
	}
	if (ret) {
		agent_debug("cannot map the rings: error %d", -ret);
		agent_hang_up(session);
		agent_report_limit(session, ret);
	}
	return ret;
}

static void join_unmap_rings(struct ring_producer **producers)
{
	uint32_t i;

	for (i = 0; i < WIRE_CHANNELS_MAX; i++) {
		if (producers[i])
			ring_producer_unmap(producers[i]);
		producers[i] = NULL;
	}
}

/* ---- join ---- */

static struct agent_session *join_free_slot(void)
{
	uint32_t i = 0;

	while (i < AGENT_SESSIONS_MAX && agent.process.sessions[i].state != AGENT_SESSION_FREE)
		i++;
	return i < AGENT_SESSIONS_MAX ? &agent.process.sessions[i] : NULL;
}

/* Rings and rules; events come later. When it fails nothing is left of it. */
static int join_begin(struct agent_session *session)
{
	struct ring_producer *producers[WIRE_CHANNELS_MAX];
	int ret = join_map_rings(session, 0, producers);
	uint32_t i;

	for (i = 0; i < session->nr_channels; i++)
		session->channels[i].producer = producers[i];
	if (ret) {
		agent_session_drop(session);
		return ret;
	}
	if (!session->list_only)
		agent_recovery_begin(session);
	session->state = AGENT_SESSION_IN;
	agent.process.nr_sessions++;
	return 0;
}

static int join_with_events(struct agent_session *session, bool may_wait)
{
	int ret = join_begin(session);

	if (ret)
		return ret;
	/*
	 * Events that could not be described are not recorded. The process is in the session
	 * nevertheless.
	 */
	if (agent_batches_renew(session, session->generation))
		session->incomplete = true;
	/* A listing says goodbye on its connection, when main() begins. */
	if (!session->list_only)
		agent_hang_up(session);
	agent_probes_update(session, may_wait);
	return 0;
}

int agent_session_join(struct agent_wanted *wanted, bool is_explicit, bool may_wait)
{
	struct agent_session *session = join_free_slot();
	size_t size = strlen(wanted->path);

	if (!session)
		return -ENOSPC;
	if (!size || size >= sizeof(session->path))
		return -ENAMETOOLONG;
	*session = (struct agent_session){
			.key = agent.process.keys[session - agent.process.sessions],
			.is_explicit = is_explicit,
			.socket = -1,
	};
	memcpy(session->path, wanted->path, size);
	if (wanted->error) {
		agent_debug("no recorder at %s: error %d", session->path, -wanted->error);
		agent_report_limit(session, wanted->error);
		if (wanted->error == -ETIMEDOUT && wanted->asked && !is_explicit)
			agent_stalled_note(wanted->path);
		return wanted->error;
	}
	if (wanted->asked == AGENT_ASK_HELLO) {
		session->socket = wanted->socket;
		session->token = wanted->token;
		session->socket_is_private = agent_control_has_table();
		wanted->asked = AGENT_ASK_NOTHING;
	}
	return join_with_events(session, may_wait);
}

int agent_session_join_boot(const struct boot_session *boot)
{
	struct agent_session *session = join_free_slot();

	if (!session)
		return -ENOSPC;
	*session = (struct agent_session){
			.key = agent.process.keys[session - agent.process.sessions],
			.is_explicit = true,
			.socket = -1,
			.boot = boot,
	};
	if (!agent_boot_path(boot, session->path, sizeof(session->path)))
		return -ENAMETOOLONG;
	return join_with_events(session, true);
}

/* ---- fork ---- */

/* Records that were refused between the fork and now are losses of the child. */
static void join_count_refused(struct ring_producer *producer, struct ring_producer *old)
{
	uint64_t refused = old ? ring_producer_refused(old) : 0;

	/* The counter's loop is short: this is the time of one fork. */
	for (refused = refused > 4096 ? 4096 : refused; refused; refused--)
		ring_count_lost(producer, AGENT_LOST_SLOT, RING_LOST_NESTED);
}

void agent_session_rejoin(struct agent_session *session, bool sandboxed, bool within)
{
	struct ring_producer *producers[WIRE_CHANNELS_MAX] = {NULL};
	struct ring_producer *old[WIRE_CHANNELS_MAX] = {NULL};
	uint64_t parent_token = session->token;
	uint32_t i;

	/*
	 * The parent's descriptor, if an exchange was in progress. It can be missing in the table
	 * of this process.
	 */
	if (session->socket_is_private)
		session->socket = -1;
	agent_hang_up(session);
	agent_recovery_void(session);
	session->orphaned = true;
	if (session->gone || session->list_only)
		return;
	session->gone = sandboxed || join_map_rings(session, parent_token, producers);
	for (i = 0; i < session->nr_channels; i++) {
		old[i] = session->channels[i].producer;
		session->channels[i].producer = producers[i];
	}
	if (!session->gone) {
		/*
		 * Tables that the recorder has made since the fork, or too late for the parent. The
		 * generation does not change with them.
		 */
		agent_probes_note_missing(session);
		agent_recovery_begin(session);
		session->gone = agent_batches_send_again(session) != 0;
	}
	agent_hang_up(session);
	session->orphaned = session->gone;
	if (session->gone) {
		agent_recovery_void(session);
		join_unmap_rings(producers);
	}
	for (i = 0; i < session->nr_channels; i++) {
		session->channels[i].producer = producers[i];
		if (producers[i])
			join_count_refused(producers[i], old[i]);
	}
	agent_batches_redirect(session);
	for (i = 0; i < session->nr_channels && !within; i++)
		if (old[i])
			ring_producer_unmap(old[i]);
	agent_debug("forked: %s", session->gone ? "not recording" : "continues to record");
}
