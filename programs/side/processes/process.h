/* SPDX-License-Identifier: MIT */
/* The events of a running process, read from its memory while it goes on. */
#ifndef PROGRAMS_SIDE_PROCESSES_PROCESS_H
#define PROGRAMS_SIDE_PROCESSES_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

struct listing;

/* Adds the objects that it finds. Reports an error, and returns an exit status. `may_have_ended`: a process that has exited is no failure. */
int process_list(struct listing *listing, pid_t pid, bool may_have_ended);

#endif /* PROGRAMS_SIDE_PROCESSES_PROCESS_H */
