/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_RENDEZVOUS_H
#define SIDE_TRACERS_AGENT_CORE_RENDEZVOUS_H

/*
 * The rendezvous socket: connections to the daemon and its sessions, for a program that does not
 * see the daemon's directory.
 *
 * Callers: control, and each part that connects to a session. agent_rendezvous_set() is called with
 * the turn (control-state.h). The others are called with any lock or none, in any thread and in
 * forked children; those that connect make system calls, so never in a sandbox.
 */

#include <stdbool.h>
#include <stdint.h>

struct agent_session;

#define AGENT_RENDEZVOUS_SIZE 108

/* The path of the socket; NULL: there is none. */
const char *agent_rendezvous(void);
int agent_rendezvous_set(const char *path);
/*
 * A connection to the daemon behind the socket (NULL) or to one of its sessions, or a negative
 * errno.
 */
int agent_rendezvous_connect(const char *session, uint64_t deadline);
/* The same for a session of ours, however it is reached. */
bool agent_session_by_rendezvous(const struct agent_session *session);
int agent_session_connect(const struct agent_session *session, uint64_t deadline);

#endif
