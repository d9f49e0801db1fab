/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_JOIN_H
#define SIDE_TRACERS_AGENT_CORE_JOIN_H

/*
 * How this process joins a session, and how a forked child joins it again.
 *
 * Callers: boot-start.c, process.c and update.c, with libside's event lock or as the only thread of
 * a forked child. agent_new_token() may be called in any context.
 */
#include <stdbool.h>
#include <stdint.h>

struct agent_session;
struct agent_wanted;
struct boot_session;

/* A number that no other process and no other session has. */
uint64_t agent_new_token(void);
/* 0, or a negative errno: then nothing has changed. */
int agent_session_join(struct agent_wanted *wanted, bool is_explicit, bool may_wait);
int agent_session_join_boot(const struct boot_session *boot);
/*
 * In a forked child: become an instance of this session, or nothing. `sandboxed`: no exchange is
 * allowed. `within`: the fork interrupted a callback, which may still use the rings of the parent.
 */
void agent_session_rejoin(struct agent_session *session, bool sandboxed, bool within);

#endif
