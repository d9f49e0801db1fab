/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_CONTROL_DAEMON_H
#define SIDE_TRACERS_AGENT_CORE_CONTROL_DAEMON_H

/*
 * Messages between this process and the daemon: the process arrives, and the daemon answers with
 * its sessions.
 *
 * Callers: the control*.c files. The functions need the turn (control-state.h) unless they state
 * otherwise.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracers/agent/core/control-state.h"

/* This process, with a new token. */
void control_identify(void);
/* Does an error of control_connect() leave open that a daemon exists and may answer? */
bool control_daemon_exists(int error);
/* Returns a socket or a negative errno. */
int control_connect(uint64_t deadline);
int control_send_arrival(int socket, struct control_memory *memory, enum wire_control mode,
		uint64_t deadline);
/* `size` bytes of memory->message are a WELCOME: do what it says, and answer. */
int control_welcomed(int socket, struct control_memory *memory, size_t size, bool may_wait,
		uint64_t deadline);
/*
 * The same without an answer, and without waiting for any lock: the message stays for
 * control_welcomed().
 */
void control_try(const struct control_memory *memory, size_t size);
/*
 * Set the function that is called after each update that may wait, before the answer. Called with
 * the turn, with no lock, where the loader may be called.
 */
void agent_control_on_update(void (*update)(void));
/* All of it on a connection of its own. */
int control_refresh(enum wire_control mode, bool may_wait, unsigned int timeout_ms);

/*
 * Count a daemon that exists and does not answer; and has it failed for so long that events and
 * children do not wait for it?
 */
void control_count_failure(int error);
bool control_is_hopeless(void);
/*
 * Without the turn: the wait of the start, or of a forked child, which began at this time, has
 * ended. Note that for the modes in which no event waits.
 */
void control_note_unanswered(uint64_t begun);

#endif
