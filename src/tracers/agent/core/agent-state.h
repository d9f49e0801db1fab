/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_AGENT_STATE_H
#define SIDE_TRACERS_AGENT_CORE_AGENT_STATE_H

/*
 * The state of the agent in this process.
 *
 * A session is one consumer. It has channels (rings and rules), and a channel has events: one struct agent_event with a callback of its
 * own for each session, channel and event. Sessions are independent: an error of one does not affect the others.
 *
 * The agent prints nothing unless SIDE_DEBUG is set, waits for nothing without a bound, and stops when anything fails. Its memory is
 * mapped pages, never malloc(), because the program's malloc() may be what is being traced. All work except callbacks (record.h) happens
 * under libside's event lock (in notifications and updates) or when there is only one thread (in a forked child), so it needs no lock of its
 * own.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "protocol/protocol.h"
#include "protocol/runtime.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/update.h"

struct agent {
	struct agent_session
			sessions[AGENT_SESSIONS_MAX]; /* those that accepted us, in any place */
	uint64_t keys[AGENT_SESSIONS_MAX];            /* libside's names for their callbacks */
	uint32_t nr_sessions;
	uint32_t nr_declined;
	struct agent_declined declined[WIRE_WELCOME_MAX];
	struct agent_generation *over, **over_end;
	atomic_bool exiting; /* destructors run: other threads may still be in callbacks */
	int seccomp;         /* mode at the start */
	uint32_t control;    /* enum wire_control, as consumers are told */
	uint32_t control_signal;
	/* The thread that somebody has made here by ptrace, as long as it does what he wants; 0: none. */
	atomic_int borrowed;
	atomic_bool stopped; /* a thread may not read clocks any more: nothing is recorded */
	bool kernel; /* our events are the kernel's: only rules that say so mean them (AGENT_KERNEL_ENV) */
	bool reserved; /* ... or those of `only` (AGENT_SESSION_ENV) */
	char only[WIRE_SESSION_NAME_MAX + 1];
	unsigned int timeout_factor; /* how many times as long to wait for answers (SIDE_TIMEOUT_FACTOR); 0: once */
	bool debug;
	bool prepared;
	struct side_tracer_handle *tracer;
};

extern struct agent agent __attribute__((visibility("hidden")));

#endif
