/* SPDX-License-Identifier: MIT */
/* The answer from a recording that has no event of the verb: one form for all of these verbs. */
#ifndef PROGRAMS_SIDE_ANSWERS_NOTHING_H
#define PROGRAMS_SIDE_ANSWERS_NOTHING_H

#include "programs/common/command.h"

/*
 * Prints "the recording has no WHAT". For a trace, a hint names the command that records what the
 * verb needs. With --json it is an object on standard output, otherwise a note. Returns an exit
 * status.
 */
int answer_print_nothing(const struct parsed *parsed, const char *what);

#endif /* PROGRAMS_SIDE_ANSWERS_NOTHING_H */
