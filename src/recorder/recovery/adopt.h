/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_RECOVERY_ADOPT_H
#define SIDE_RECORDER_RECOVERY_ADOPT_H

/*
 * Adopts the recordings that another recorder or a program has left in a state directory, or in the
 * memory of a running program.
 *
 * Callers: the start of a live session, connections. Main thread; adopt_all() before the drain
 * thread runs. Without the session's lock.
 */
#include <stdbool.h>

#include "recorder/core/session.h"

/*
 * Adopts all folders. Reports folders that it cannot use and continues with the others. Fails only
 * if out of memory.
 */
int adopt_all(struct session *session, struct error *error);
/*
 * If programs create folders themselves, adopts new ones: scans at intervals, or at once with
 * `now`. adopt_forget() frees the list of unusable folders.
 */
void adopt_new(struct session *session, bool now);
void adopt_forget(struct session *session);

#endif
