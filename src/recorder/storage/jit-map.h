/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_STORAGE_JIT_MAP_H
#define SIDE_RECORDER_STORAGE_JIT_MAP_H

/*
 * Reads the names of functions that a process has generated, so that they are in its file `.maps`.
 *
 * Callers: trace.c. Drain thread, or the only thread that uses the instance; without the session's
 * lock, which it takes.
 */

struct instance;
struct session;

void jit_map_read(struct session *session, struct instance *instance);

#endif
