/* SPDX-License-Identifier: MIT */
/*
 * Report a session that this process joined only after events that the session may have wanted.
 *
 * An event of an armed process, or the start of a process, waits for the daemon and the recorders
 * with a bound. If the wait ends in vain, the event passes without them. Note the time then, and
 * report it to each session that is joined, or whose rules are applied, later. The note ends with
 * the exchange that applies what the daemon wants; of an incomplete one, for the sessions that have
 * answered.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <side/abi/event-description.h>

#include "tracers/agent/core/late.h"
#include "protocol/protocol.h"
#include "tracers/agent/core/event.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/unsupported.h"
#include "tracers/agent/core/wait.h"
#include "base/inside/raw.h"

/* Times of the monotonic clock; 0: never. */
static struct {
	uint64_t since;     /* when the first event that passed began its wait, ... */
	uint64_t last;      /* ... and the last one */
	uint32_t reason;    /* enum wire_missed_reason */
	bool is_certain;    /* the daemon had published a change; otherwise not known */
	uint64_t complete;  /* the last exchange that applied all sessions */
	uint64_t partial;   /* the last one that applied some */
	uint64_t answered;  /* the last answer of the daemon */
	uint64_t no_daemon; /* the last time that no daemon existed */
} late;

/* Relaxed, here and below: each word is a time, and none of them stands for other memory. */
static void late_set(uint64_t *time)
{
	__atomic_store_n(time, wire_deadline(0), __ATOMIC_RELAXED);
}

static uint64_t late_get(const uint64_t *time)
{
	return __atomic_load_n(time, __ATOMIC_RELAXED);
}

void agent_late_forked(void)
{
	late.since = late.last = 0;
}

void agent_late_answered(void)
{
	late_set(&late.answered);
}

void agent_late_no_daemon(void)
{
	late_set(&late.no_daemon);
}

void agent_late_applied(bool all)
{
	late_set(all ? &late.complete : &late.partial);
}

void agent_late_pass(uint64_t begun, bool is_certain)
{
	uint64_t since = late_get(&late.since);

	if (late_get(&late.complete) >= begun ||
			(!is_certain && late_get(&late.no_daemon) >= begun))
		return;
	__atomic_store_n(&late.last, begun, __ATOMIC_RELAXED);
	/* A note that has not ended has the earlier time. */
	if (since > late_get(&late.complete))
		return;
	__atomic_store_n(&late.is_certain, is_certain, __ATOMIC_RELAXED);
	__atomic_store_n(&late.reason,
			late_get(&late.answered) >= begun ? WIRE_UNRECORDED_LATE_RECORDER
							  : WIRE_UNRECORDED_LATE_DAEMON,
			__ATOMIC_RELAXED);
	__atomic_store_n(&late.since, begun, __ATOMIC_RELAXED);
}

/* 0: no event has passed that this session can miss. */
static uint64_t late_since(const struct agent_session *session)
{
	uint64_t since = late_get(&late.since), partial = late_get(&late.partial);

	if (!since || since <= late_get(&late.complete))
		return 0;
	/* Without a daemon there was no session. */
	if (!__atomic_load_n(&late.is_certain, __ATOMIC_RELAXED) &&
			since <= late_get(&late.no_daemon))
		return 0;
	if (since > partial || agent_was_stalled(session->path))
		return since;
	/* The session is new since the incomplete exchange. */
	since = late_get(&late.last);
	return since > partial ? since : 0;
}

/* Base events are not the program's, and probes record nothing before the session sets them. */
static bool late_is_wanted(const struct agent_session *session)
{
	const struct agent_batch *batch;
	uint32_t i;

	for (batch = session->batches; batch; batch = batch->next)
		for (i = 0; i < batch->nr_events; i++) {
			const struct agent_event *event = &batch->events[i];

			if (event->registered && !event->of_probe &&
					strcmp(side_ptr_get(event->description->provider_name),
							"side") != 0)
				return true;
		}
	return false;
}

void agent_late_report(const struct agent_session *session)
{
	uint64_t since = session->list_only || session->boot ? 0 : late_since(session);
	uint64_t elapsed_ms;

	if (!since || !late_is_wanted(session))
		return;
	elapsed_ms = (wire_deadline(0) - since) / 1000000;
	agent_report_late_start(session, __atomic_load_n(&late.reason, __ATOMIC_RELAXED),
			elapsed_ms < UINT32_MAX ? (uint32_t)elapsed_ms : UINT32_MAX);
}
