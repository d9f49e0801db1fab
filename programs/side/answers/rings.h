/* SPDX-License-Identifier: MIT */
/* Chooses the size of the rings for a recording that answers a question. */
#ifndef PROGRAMS_SIDE_ANSWERS_RINGS_H
#define PROGRAMS_SIDE_ANSWERS_RINGS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Bytes of the ring of each CPU. `pid`: the process that is recorded; 0: a command.
 * `blocks`: a full ring makes its program wait, so that small rings lose nothing.
 *
 * Rings are part of the address space of the program. If it is limited (RLIMIT_AS), they take a
 * small part of what the limit leaves.
 */
uint64_t rings_size(uint64_t pid, bool blocks);

#endif /* PROGRAMS_SIDE_ANSWERS_RINGS_H */
