/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_ASK_H
#define SIDE_TRACERS_AGENT_CORE_ASK_H

/*
 * Questions to all sessions at once, before the exchanges that take libside's event lock.
 *
 * Callers: the start (process.c) and the update of sessions, without the event lock. Never in a
 * callback of an event, nor in a sandbox.
 */
#include <stdbool.h>
#include <stdint.h>

struct agent_wanted;

/*
 * Send each session the question in `asked` with the token, and wait for the first answers.
 * `is_explicit`: there is no rendezvous socket between. An exchange takes the connection over and
 * sets `asked` to AGENT_ASK_NOTHING; agent_ask_drop() closes the other connections.
 */
void agent_ask(struct agent_wanted *wanted, uint32_t nr, bool is_explicit, uint64_t deadline);
void agent_ask_drop(struct agent_wanted *wanted, uint32_t nr);

#endif
