/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CHECK_H
#define SIDE_RECORDER_CHECK_H

/*
 * Checks whether a session with these options would be accepted, for callers that store definitions
 * and start sessions later. Starts and creates nothing; does not check what only the start can show
 * (directories, memory).
 */

#include "recorder/core/session.h"

/*
 * Returns 0, or a negative errno with *error filled in: its position is in the text of a filter or
 * of contexts.
 */
int session_check(const struct session_options *options, struct error *error);

#endif
