/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_CONTROL_CHANGES_H
#define SIDE_TRACERS_AGENT_CORE_CONTROL_CHANGES_H

/*
 * Whether a session has changed since the last exchange with the daemon, without a question to the
 * daemon.
 */
#include <stdbool.h>

enum control_changes { CONTROL_CHANGES_UNKNOWN, CONTROL_UNCHANGED, CONTROL_CHANGED };

/*
 * With the turn (control-state.h): before the question, and when its answer has been applied;
 * false: not all of it, or there was none.
 */
void control_changes_asked(void);
void control_changes_applied(bool all);
/*
 * Any context, without a lock: compares with the last question whose answer was applied. Makes
 * system calls, so never in a sandbox.
 */
enum control_changes control_changes(void);

#endif
