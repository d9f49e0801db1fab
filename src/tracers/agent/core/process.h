/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_PROCESS_H
#define SIDE_TRACERS_AGENT_CORE_PROCESS_H

/*
 * This process as an instance of each session: joining, forks, the end.
 *
 * agent_prepare() and agent_start() are called before main() or in the thread of `side attach`,
 * where malloc() may be called. The others need libside's event lock, except agent_list_only() and
 * agent_new_token(), which may be called in any context.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tracers/agent/core/session.h"

struct agent_wanted;
struct boot_session;
struct side_tracer_handle;

/*
 * The members are written with libside's event lock, or by the only thread of the process;
 * `is_exiting` by the exiting thread.
 */
struct agent_process {
	struct agent_session sessions[AGENT_SESSIONS_MAX]; /* in any order */
	uint64_t keys[AGENT_SESSIONS_MAX];                 /* libside's keys of their callbacks */
	uint32_t nr_sessions;
	atomic_bool is_exiting; /* destructors run: other threads may still be in callbacks */
	bool is_prepared;       /* agent_prepare() has succeeded */
	struct side_tracer_handle *tracer;
};

/* The sessions of this process. The body may leave the session that it is at. */
#define agent_each_session(session)                                    \
	for ((session) = agent_session_after(NULL); (session) != NULL; \
			(session) = agent_session_after(session))
struct agent_session *agent_session_after(const struct agent_session *session);

/* Before the first update: set up what all sessions need. May be repeated. */
int agent_prepare(void);
/*
 * Join the sessions of SIDE_AGENT_SOCKET. 0 or a negative errno, when nothing is recorded. Without
 * the event lock.
 */
int agent_start(const char *paths);
/* For tests: the program is as before, its rings are unmapped. Without the event lock. */
void agent_stop(void);
bool agent_list_only(void);
/* A number that no other process and no other session has. */
uint64_t agent_new_token(void);
/* 0, or a negative errno: then nothing has changed. */
int agent_session_join(struct agent_wanted *wanted, bool is_explicit, bool may_wait);
int agent_session_join_boot(const struct boot_session *boot);
void agent_session_drop(struct agent_session *session);

#endif
