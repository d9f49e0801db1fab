/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_RECOVERY_ADOPT_PROCESS_H
#define SIDE_RECORDER_RECOVERY_ADOPT_PROCESS_H

/*
 * Finds the process that has a file mapped.
 *
 * Callers: adopt.c. Main thread. No lock.
 */
#include <stdint.h>
#include <sys/types.h>

struct stat;

/*
 * The process that has this file mapped and is `pid` in its own namespace, as the recorder sees it; 0: there is none, -1: unknown. `likely`
 * is tried first.
 */
pid_t adopt_find_mapper(const struct stat *file, uint32_t pid, pid_t likely);

#endif
