/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_HELPER_PROCESS_H
#define SIDE_RECORDER_HELPER_PROCESS_H

/*
 * The process that watches the command from outside (struct session_companion). Without one there is nothing to wait for.
 *
 * Callers: spawn and the loop. Main thread. No lock.
 */
#include <stdbool.h>

#include "recorder/core/session.h"

/* Returns when the command may go on. */
int helper_process_hold(struct session *session, struct session_error *error);
bool helper_process_is_over(const struct session *session);
/* Waits until it is over, for a limited time. */
void helper_process_end(struct session *session);

#endif
