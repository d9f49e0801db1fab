/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_CONTROL_H
#define SIDE_TRACERS_AGENT_CORE_CONTROL_H

/*
 * The daemon: how it reaches this process. The modes:
 *
 *	OFF     the agent asks no daemon
 *	SYNC    the process asks at its start, and again in a forked child; otherwise only when `side attach` makes it ask
 *	THREAD  after the start the process is armed: its next event asks the daemon and starts a thread, which keeps one
 *	        connection and does what the daemon requests on it
 *	SIGNAL  the daemon sends a signal, whose handler asks. A handler cannot set probes: for them the next event asks,
 *	        or `side attach`
 *
 * Callers: start.c and attach.c.
 */
#include "tracers/agent/core/control-state.h"

/* In the constructor, without a lock. 0 or a negative errno. */
int agent_control_arrive(void);
/* For tests. */
void agent_control_stop(void);

enum agent_attach_method {
	AGENT_BY_DIRECTORY,  /* of the daemon, with its socket */
	AGENT_BY_RENDEZVOUS, /* by the rendezvous socket (rendezvous.h) */
	/* the same: that daemon reports that this process is in contact with it */
	AGENT_BY_SAME_RENDEZVOUS,
};
/*
 * With the turn, in the thread of `side attach`. Connect to this daemon, and keep a thread for it:
 * 0, -EALREADY when the program is in contact with it, -EISCONN when it is in contact with another
 * one.
 */
int agent_control_attach(const char *socket, enum agent_attach_method method);
/*
 * Leave the daemon that the process was attached to. Returns `nothing` (-ENOENT or 0) when there is
 * none.
 */
int agent_control_detach(int nothing);

#endif
