/* SPDX-License-Identifier: MIT */
/* Options of `record` and `trace` with which verbs that answer a question record. */
#ifndef PROGRAMS_SIDE_ANSWERS_RECORDINGS_H
#define PROGRAMS_SIDE_ANSWERS_RECORDINGS_H

#include <stdbool.h>
#include <stdint.h>

/* leaks.c: the calls of the allocator. Each list ends with NULL. */
extern const char *const recording_leaks_command[], *const recording_leaks_process[];
/* Adds the probes for a process; 0: none are needed. False: out of memory. */
bool recording_leaks_add(char ***args, uint64_t pid);

/* locks.c: the operations of locks. */
extern const char *const recording_locks_command[], *const recording_locks_process[];

#endif /* PROGRAMS_SIDE_ANSWERS_RECORDINGS_H */
