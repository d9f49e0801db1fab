/* SPDX-License-Identifier: MIT */
/* The events of a running process, read from its memory while it goes on. */
#ifndef SIDE_CMD_PROCESS_H
#define SIDE_CMD_PROCESS_H

#include <sys/types.h>

struct listing;

/* Adds what it finds; says what went wrong and returns an exit status. */
int process_list(struct listing *listing, pid_t pid);

#endif /* SIDE_CMD_PROCESS_H */
