/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_LIBRARIES_H
#define SIDE_RECORDER_CORE_LIBRARIES_H

/*
 * Finds the agent and the wrapper libraries, and prepares the value of LD_PRELOAD.
 *
 * Callers: session_create(), and `side run`. Main thread, before the drain thread runs, so no lock
 * is needed.
 */
#include "recorder/core/session.h"

int libraries_find(struct session *session, const struct session_options *options,
		struct error *error);

/*
 * Makes the value of LD_PRELOAD for a program that joins the sessions of the daemon, with these
 * wrappers ("libc", "pthread"). It contains the value of this process, and the caller frees it.
 */
int libraries_preload(
		const char *const *wrappers, size_t nr, char **ret_preload, struct error *error);

#endif
