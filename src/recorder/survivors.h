/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_SURVIVORS_H
#define SIDE_RECORDER_SURVIVORS_H

/*
 * Counts processes of the command that still run when the command has ended.
 *
 * Callers: the main loop (run.c). Main thread. No lock.
 */
struct session;

unsigned int survivors_count(const struct session *session);

#endif
