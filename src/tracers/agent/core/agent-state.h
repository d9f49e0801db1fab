/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_AGENT_STATE_H
#define SIDE_TRACERS_AGENT_CORE_AGENT_STATE_H

/*
 * struct agent: the structs of all parts of the core that have state for other parts.
 *
 * A session is one consumer. It has channels (rings and rules), and a channel has events: one
 * struct agent_event with a callback of its own for each session, channel and event. Sessions are
 * independent: an error of one does not affect the others.
 *
 * The agent prints nothing unless SIDE_DEBUG is set, waits for nothing without a bound, and stops
 * when anything fails. Its memory is mapped pages, never malloc(), because the program's malloc()
 * may be what is being traced. All work except callbacks (record.h) happens under libside's event
 * lock (in notifications and updates) or when there is only one thread (in a forked child), so it
 * needs no lock of its own.
 */
#include "tracers/agent/core/control-state.h"
#include "tracers/agent/core/debug.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/rules.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/update.h"
#include "tracers/agent/core/wait.h"

struct agent {
	struct agent_process process;
	struct agent_update update;
	struct agent_rules rules;
	struct agent_control control;
	struct agent_own_process own_process;
	struct agent_wait wait;
	struct agent_debug debug;
};

extern struct agent agent __attribute__((visibility("hidden")));

#endif
