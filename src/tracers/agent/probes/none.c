/* SPDX-License-Identifier: MIT */
/*
 * Replaces the other files on processors without probes: the agent reports that it cannot set any,
 * so no recorder sends tables.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <side/trace.h>

#include "protocol/protocol.h"
#include "tracers/agent/core/own-threads.h"
#include "tracers/agent/core/probes-part.h"

const bool agent_has_probes = false;

/* As in probe/patch/patch.h: the library exports the same symbols on all processors. */
extern uint64_t side_probe_kept __attribute__((visibility("default")));
uint64_t side_probe_kept;
extern uint64_t side_probe_traps __attribute__((visibility("default")));
uint64_t side_probe_traps;
extern uint64_t side_probe_pads __attribute__((visibility("default")));
uint64_t side_probe_pads;

/* As in core/own-threads.c, for injected code. */
extern uint64_t *side_agent_own_begin(uint64_t *ret_before) __attribute__((visibility("default")));
extern void side_agent_own_end(uint64_t before, int error) __attribute__((visibility("default")));
extern void side_agent_own_thread(void) __attribute__((visibility("default")));

uint64_t *side_agent_own_begin(uint64_t *ret_before)
{
	static uint64_t number;

	*ret_before = 0;
	return &number;
}

void side_agent_own_end(uint64_t before, int error)
{
	(void)before;
	(void)error;
}

void side_agent_own_thread(void) {}

void agent_probes_forget_loaded(struct agent_session *session)
{
	(void)session;
}

void agent_own_begin(struct agent_own *own)
{
	(void)own;
}

void agent_own_begin_start(struct agent_own *own)
{
	(void)own;
}

void agent_own_end(const struct agent_own *own)
{
	(void)own;
}

unsigned long *agent_own_control(void)
{
	static unsigned long number;

	return &number;
}

void agent_own_control_begins(void) {}

void agent_own_task_begins(void) {}

void agent_probes_rescan(void) {}

void agent_probes_watch_libraries(void (*changed)(void))
{
	(void)changed;
}

void agent_probes_on_libraries(void (*notify)(void))
{
	(void)notify;
}

void agent_probes_count_libside(void) {}

void agent_probes_begin(void) {}

int agent_probes_receive(uint64_t number, uint64_t size, int fd)
{
	(void)number;
	(void)size;
	wire_close(fd);
	return -EPROTO;
}

void agent_probes_received(void) {}

void agent_probes_update(struct agent_session *session, bool may_wait)
{
	(void)session;
	(void)may_wait;
}

void agent_probes_note_missing(struct agent_session *session)
{
	(void)session;
}

void agent_probes_leave(struct agent_session *session)
{
	(void)session;
}

void agent_probes_apply(void) {}

void agent_probes_answer(void) {}

void agent_probes_check(void) {}

bool agent_probes_due(void)
{
	return false;
}

void agent_probes_count(void) {}

void agent_probes_forked(void) {}

void agent_probes_stop_scans(void) {}

bool agent_probes_has(const struct side_event_description *event)
{
	(void)event;
	return false;
}

void agent_probes_prepare_backtraces(const struct agent_session *session)
{
	(void)session;
}

bool agent_probes_origin(struct context_origin *ret_origin)
{
	(void)ret_origin;
	return false;
}

char *agent_probes_buffer(void)
{
	return NULL;
}

void *agent_probes_filter_memory(void)
{
	return NULL;
}

void agent_probes_mark_call(const struct agent_channel *channel)
{
	(void)channel;
}

bool agent_probes_is_marked(const struct agent_channel *channel)
{
	(void)channel;
	return false;
}

const struct side_event_description *agent_probes_other(const struct agent_session *session,
		const struct side_event_description *event, bool leaves)
{
	(void)session;
	(void)event;
	(void)leaves;
	return NULL;
}

bool agent_probes_is_for(
		const struct agent_session *session, const struct side_event_description *event)
{
	(void)session;
	(void)event;
	return true;
}
