/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CHECK_H
#define SIDE_RECORDER_CHECK_H

/*
 * Would a session with these options be accepted? For who keeps definitions and begins later. Nothing is
 * started or made; what only the start can tell (directories, memory) is not asked.
 */

#include "recorder/core/session.h"

/* 0 or a negative errno value with *error filled in; error->where points into the options. */
int session_check(const struct session_options *options, struct session_error *error);

#endif
