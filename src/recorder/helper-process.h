/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_HELPER_PROCESS_H
#define SIDE_RECORDER_HELPER_PROCESS_H

/*
 * The helper that observes the command from outside (struct session_helper). If the session has
 * none, the functions return at once.
 *
 * Callers: spawn and the main loop. Main thread. No lock.
 */
#include <stdbool.h>

#include "recorder/core/session.h"

/* Returns 0 when the command can continue, or a negative errno. */
int helper_process_hold(struct session *session, struct error *error);
bool helper_process_is_over(const struct session *session);
/* Waits until the helper has finished, for a limited time. */
void helper_process_end(struct session *session);

#endif
