/* SPDX-License-Identifier: MIT */
/* Forks of a process that has a daemon: no fork within a change, and the arrival of the child. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <side/tracer-extensions.h>

#include "tracers/agent/core/control-fork.h"
#include "protocol/protocol.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/control-changes.h"
#include "tracers/agent/core/control-daemon.h"
#include "tracers/agent/core/control-state.h"
#include "tracers/agent/core/control-thread.h"
#include "tracers/agent/core/exchange.h"
#include "tracers/agent/core/late.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/wait.h"

#define FORK_WAIT_MS 1000 /* of a fork for a change that is under way */

/* The same child whose parent's other threads did things: nothing of theirs is half done. */
static void control_fork_prepare(void)
{
	if (control.mode == WIRE_CONTROL_OFF)
		return;
	control_thread_settle();
	control.forked_in_turn = control_take_turn(agent_scale_timeout(FORK_WAIT_MS));
}

static void control_fork_in_parent(void)
{
	if (control.mode == WIRE_CONTROL_OFF || !control.forked_in_turn)
		return;
	control.forked_in_turn = false;
	control_give_turn();
}

int control_fork_install(void)
{
	static bool installed;

	/* After libside's, and so before them in a fork that begins. */
	if (!installed && pthread_atfork(control_fork_prepare, control_fork_in_parent, NULL))
		return -ENOMEM;
	installed = true;
	return 0;
}

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
	control.parent_token = control.token;
	control_identify();
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
	control_note_unanswered(begun);
	if (control.mode == WIRE_CONTROL_THREAD)
		control_arm();
}
