/* SPDX-License-Identifier: MIT */
/* Lists the events of a running process, from its memory, without stopping it. */
#ifndef PROGRAMS_SIDE_PROCESSES_PROCESS_H
#define PROGRAMS_SIDE_PROCESSES_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

struct listing;

/*
 * Adds the events that it finds. Reports errors, and returns an exit status. `may_have_ended`: a
 * process that has exited is no failure.
 */
int process_list(struct listing *listing, pid_t pid, bool may_have_ended);

#endif /* PROGRAMS_SIDE_PROCESSES_PROCESS_H */
