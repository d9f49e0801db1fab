/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_RECOVERY_ADOPT_PROCESS_H
#define SIDE_RECORDER_RECOVERY_ADOPT_PROCESS_H

/*
 * Finds the process that has mapped a file.
 *
 * Callers: adopt.c. Main thread. No lock.
 */
#include <stdint.h>
#include <sys/types.h>

struct stat;

/*
 * Returns the process that has mapped this file and has the id `pid` in its own namespace, as an id
 * in the recorder's namespace; 0 if there is none, -1 if unknown. Tries `likely` first.
 */
pid_t adopt_find_mapper(const struct stat *file, uint32_t pid, pid_t likely);

#endif
