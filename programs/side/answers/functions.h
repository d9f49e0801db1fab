/* SPDX-License-Identifier: MIT */
/* The recorded calls of functions as a table: the answer of `side calls` and `side slow`. */
#ifndef PROGRAMS_SIDE_ANSWERS_FUNCTIONS_H
#define PROGRAMS_SIDE_ANSWERS_FUNCTIONS_H

#include "analysis/function-table.h"
#include "programs/common/command.h"

/* Reads the trace in `dir` and prints the table. Returns an exit status. */
int functions_answer(const struct parsed *parsed, const char *dir, enum function_table table);

#endif /* PROGRAMS_SIDE_ANSWERS_FUNCTIONS_H */
